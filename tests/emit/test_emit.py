#!/usr/bin/env python3
"""Kernels with roles, products and copies in the background compute on the simulator what they compute on the CPU, without races,
and their PTX assembles.

    test_emit.py TILEWRIGHT [PROGRAMS [SEED [cuda]]]

The programs of this folder, whose second line has their sizes, and random ones: a producer with one to three stages, one or two warpgroups or
replicas, factors of both orders, an epilogue of random operations. A program that differs is printed. With
cuda the GPU takes the place of the simulator.
"""
import glob
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

try:
    import numpy as np
except ImportError:
    np = None  # the programs run all the same

from tile_runner import call, fail

FOLDER = os.path.dirname(os.path.abspath(__file__))


def run(tool, folder, path, sizes, outputs, device):
    """Returns the arrays of a run."""
    command = [tool, "run", path, "--device", device, "--set", sizes, "--fill", "rand"]
    for name in outputs:
        command += ["--out", f"{name}={folder}/{device}_{name}.npy"]
    if device.startswith("sim"):
        command += ["--despite", "race"]
    result = call(command)
    if result.status != 0 or "race:" in result.err:
        fail(f"{path} at {sizes} on {device}: {result}\n{open(path).read()}")
    return [np.load(f"{folder}/{device}_{name}.npy") if np else None for name in outputs]


def as_numbers(x):
    """bf16 is kept as its bits."""
    return (x.astype(np.uint32) << 16).view(np.float32) if x.dtype.kind in "Vu" and x.dtype.itemsize == 2 else x.astype(np.float64)


def compare(tool, folder, path, sizes, outputs, tolerance, device):
    of_cpu, of_sim = (run(tool, folder, path, sizes, outputs, place) for place in ("cpu", device))
    for name, a, b in zip(outputs, of_cpu, of_sim):
        if a is None:
            continue
        a, b = as_numbers(a), as_numbers(b)
        apart = np.abs(a - b) > tolerance * (1 + np.abs(a))
        if apart.any() or (np.isnan(a) != np.isnan(b)).any():
            at = tuple(int(i) for i in np.argwhere(apart)[0]) if apart.any() else "NaN"
            fail(f"{path} at {sizes}: {name}{at} differs: {a[at]} on the CPU, {b[at]} on {device}\n{open(path).read()}")


def assemble(tool, folder, path):
    """Each message of ptxas counts."""
    ptxas = shutil.which("ptxas", path=os.environ["PATH"] + ":/usr/local/cuda/bin")
    if not ptxas:
        return
    result = call([tool, "show", path, "--stage", "ptx"])
    with open(f"{folder}/k.ptx", "w") as out:
        out.write(result.out)
    done = subprocess.run([ptxas, "-arch=sm_90a", "-v", f"{folder}/k.ptx", "-o", f"{folder}/k.cubin"], capture_output=True, text=True)
    if done.returncode or re.search(r"\(C\d+\)|warning", done.stderr):
        fail(f"{path}: ptxas: {done.stderr}\n{result.out}")


def check_files(tool):
    """The PTX of a kernel that calls functions of another file names each file once."""
    path = os.path.join(FOLDER, "..", "..", "kernels", "hopper", "matmul_roles.tile")
    names = re.findall(r'^\.file \d+ "(.*)"', call([tool, "show", path, "--stage", "ptx"]).out, re.M)
    if len(names) != 2 or len(set(names)) != 2:
        fail(f"the files of {path} in its PTX: {names}")


# --- random programs ---

UNARY = ["-({})", "abs({})", "square({})", "tanh({})", "sigmoid({})", "clip({}, -3, 2)", "where({} > 1, (f32) 0.5, {})", "exp2({} * 0.1)"]
BINARY = ["({} + {})", "({} - {})", "({} * {})", "min({}, {})", "max({}, {})", "where({0} < {1}, {1}, {0} * 2)", "fma({}, 0.5, {})"]
LEAVES = ["acc", "acc", "rowmax", "rowsum", "bias", "residual", "0.25", "(f32) iota(1, BN)", "(f32) iota(BM, 1)"]
# leaves for which threads exchange elements; few of them, because their programs are long
EXCHANGED = {
    "colmax": "reg f32 colmax[1][BN] = max(acc, axis = 0);",
    "colsum": "reg f32 colsum[1][BN] = sum(acc, axis = 0) * 0.01;",
    "total": "f32 total = sum(acc) * 0.001;",
    "largest": "i32 largest = max((i32) (residual * 1000));",
    "scanned": "reg f32 scanned[BM][BN] = scan(add, acc, axis = 1) * 0.01 + scan(max, residual, axis = 0, exclusive = true);",
    "turned": "reg f32 turned[BM][BN] = trans(reshape(acc, BN, BM));",
    "doubled": "reg f32 doubled[BM][BN] = repeat_interleave(acc[0 +: BM / 2][BN / 2 +: BN / 2], 2, 2);",
    "multiplied": "reg f32 multiplied[BM][BN] = 0.1 * dot(R[i +: BM][j +: 24], trans(R[i + 1 +: BN][j +: 24]));",
    "negative": "reg bool negative[BM][BN] = !(residual >= 0);",
}


def expression(choose, depth):
    if depth == 0:
        leaf = choose.choice(LEAVES + list(EXCHANGED) if choose.random() < 0.3 else LEAVES)
        return {"largest": "(f32) largest * 0.001", "negative": "where(negative, -1, 0.5)"}.get(leaf, leaf)
    if choose.random() < 0.4:
        x = expression(choose, depth - 1)
        return choose.choice(UNARY).format(x, x)
    return choose.choice(BINARY).format(expression(choose, depth - 1), expression(choose, depth - 1))


def program(choose):
    """Returns a kernel's text and its sizes."""
    t, out = choose.choice(["f16", "bf16"]), choose.choice(["f32", "f16", "bf16"])
    groups, rows = choose.choice([(1, 64), (2, 128), (2, 256), (1, 128)])
    replicas = groups if choose.random() < 0.4 else 1
    columns, stages, across = choose.choice([32, 64, 128]), choose.choice([1, 2, 3]), choose.random() < 0.5
    through = out != "f32" and columns % 64 == 0 and choose.random() < 0.6
    if across:
        columns = max(columns, 64)
    warps, part = 4 * groups // replicas, rows // replicas
    head = f" for (i32 g < {replicas})" if replicas > 1 else ""
    first = f"g * {part}" if replicas > 1 else "0"
    a = f"sa[s][{'g' if replicas > 1 else '0'}]"
    down, steady = choose.random() < 0.3, stages > 1 and choose.random() < 0.4
    left = ("[k][m]", "[BK][BM]", "[p +: BK][i + {0} +: {1}]") if down else ("[m][k]", "[BM][BK]", "[i + {0} +: {1}][p +: BK]")
    a = f"trans({a})" if down else a
    factor = "sb[s]" if across else "trans(sb[s])"
    shape = ("[k][n]", "[BK][BN]", "[p +: BK][j +: BN]") if across else ("[n][k]", "[BN][BK]", "[j +: BN][p +: BK]")
    copies = "\n".join(f"                async(full[s]) sa[s][{r}] = A{left[2].format(r * part, part)};" for r in range(replicas))
    store = "C[i + first +: BM][j +: BN] = value;"
    value = expression(choose, choose.choice([1, 2, 3]))
    exchanged = "\n        ".join(text for name, text in EXCHANGED.items() if name in value)
    if exchanged and rows * columns > 1 << 14:  # shared memory is for the exchange, too
        stages, through = 1, False
    if through:
        store = f"""sc[{'g' if replicas > 1 else '0'}] = value;
            sync();
            async C[i + first +: BM][j +: BN] = sc[{'g' if replicas > 1 else '0'}];
            store_wait(0);
            sync();"""
    wait = """dot_wait(0);
            arrive(empty[s]);"""
    if stages > 1 and steady:  # the product of the turn before frees its factors
        wait = """dot_wait(1);
            if (p > 0)
                arrive(empty[before]);
            before = s;"""
    text = f"""const i32 BM = {part}, BN = {columns}, BK = 64, S = {stages};
kernel product(i32 m, i32 n, i32 k, const {t} *a, const {t} *b, const f32 *v, const {t} *r, {out} *c)
    grid(cdiv(m, {rows}), cdiv(n, BN)) warps({4 + 4 * groups}) target(sm_90a)
{{
    global {t} A{left[0]} = a, B{shape[0]} = b, R[m][n] = r;
    global f32 V[n] = v;
    global {out} C[m][n] = c;
    shared {t} sa[S][{replicas}]{left[1]}, sb[S]{shape[1]};
    shared {out} sc[{replicas if through else 1}][{'BM' if through else '1'}][{'BN' if through else '8'}];
    mbarrier full[S](1), empty[S]({groups}) ready;
    i32 i = block.x * {rows}, j = block.y * BN;
    warps(0 +: 4) {{
        one_thread {{
            i32 s = 0;
            for (i32 p = 0; p < k; p += BK, s = (s + 1) % S) {{
                wait(empty[s]);
                expect(full[s], bytes(sa[s]) + bytes(sb[s]));
{copies}
                async(full[s]) sb[s] = B{shape[2]};
            }}
        }}
    }}
    warps(4 +: {warps}){head} {{
        i32 s = 0, before = 0, first = {first};
        reg f32 acc[BM][BN] = 0;
        for (i32 p = 0; p < k; p += BK, s = (s + 1) % S) {{
            wait(full[s]);
            dot_async(acc, {a}, {factor});
            {wait}
        }}
        dot_wait(0);
        acc = acc * 0.1;
        reg f32 rowmax[BM][1] = max(acc, axis = 1), rowsum[BM][1] = sum(acc, axis = 1) * 0.01;
        reg f32 bias[1][BN] = reshape(V[j +: BN], 1, BN), residual[BM][BN] = (f32) R[i + first +: BM][j +: BN];
        {exchanged}
        reg {out} value[BM][BN] = ({out}) ({value} + 0 * acc);
        {store}
    }}
}}
"""
    m, n, k = choose.choice([8, 64, 136, 200] if down else [1, 63, 64, 130, 200]), choose.choice([8, 40, 64, 136]), choose.choice([8, 64, 72, 200])
    return text, f"m={m},n={n},k={k}"


def main():
    tool = sys.argv[1]
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 12
    choose = random.Random(int(sys.argv[3]) if len(sys.argv) > 3 else 1)
    device = sys.argv[4] if len(sys.argv) > 4 else "sim"
    check_files(tool)
    with tempfile.TemporaryDirectory() as folder:
        for path in sorted(glob.glob(f"{FOLDER}/*.tile")):
            with open(path) as file:
                text = file.read()
            outputs = re.findall(r"[(,] *\w+ \*(\w+)", re.sub(r"const \w+ \*\w+", "", text))
            for sizes in re.search(r"// sizes: (.*)", text).group(1).split():
                compare(tool, folder, path, sizes, outputs, 1e-4, device)
            assemble(tool, folder, path)
        for _ in range(count):
            text, sizes = program(choose)
            path = f"{folder}/random.tile"
            with open(path, "w") as out:
                out.write(text)
            compare(tool, folder, path, sizes, ["c"], 2e-2 if " bf16 *c)" in text else 3e-3 if " f16 *c)" in text else 1e-4, device)
            assemble(tool, folder, path)
    print(f"{count} random programs")


if __name__ == "__main__":
    main()
