#!/usr/bin/env python3
"""`tilewright build FAMILY`: one function that takes the fastest variant at its sizes, on the driver library of the tests."""
import json
import os
import re
import shutil
import sys
import tempfile

from tile_runner import call, fail

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
FAKE = os.environ["FAKE_CUDA"]
CC = os.environ.get("CC", "cc")
FLAGS = os.environ.get("CFLAGS", "").split()
STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]

HEAD = """type T = {%s};
tune %s;
kernel %s(i32 m, %si32 n, %si32 k, const T *a, const T *b, T *c)
"""
ROWS = HEAD % ("f32, f16", "BM = {16, 8}", "rows", "static ", "static ") + """    grid(cdiv(m, BM), cdiv(n, 16)) warps(1)
{
    global T A[m][k] = a, B[k][n] = b, C[m][n] = c;
    i32 i = block.x * BM, j = block.y * 16;
    reg f32 acc[BM][16] = 0;
    for (i32 p = 0; p < k; p += 8)
        acc += dot(A[i +: BM][p +: 8], B[p +: 8][j +: 16]);
    C[i +: BM][j +: 16] = (T) acc;
    ensures C == dot(A, B);
}
"""
COLUMNS = HEAD % ("f32, f16", "BN = {32, 16, 8}", "columns", "", "") + """    grid(cdiv(n, BN), cdiv(m, 8)) warps(1)
{
    global T A[m][k] = a, B[k][n] = b, C[m][n] = c;
    i32 i = block.y * 8, j = block.x * BN;
    reg f32 acc[8][BN] = 0;
    for (i32 p = 0; p < k; p += 16)
        acc += dot(A[i +: 8][p +: 16], B[p +: 16][j +: BN]);
    C[i +: 8][j +: BN] = (T) acc;
    ensures C == dot(A, B);
}
"""
PARTS = HEAD % ("f32", "BM = {16}", "parts", "", "") + """    grid(cdiv(m, BM), cdiv(n, 16), 2) warps(1)
{
    global T A[m][k] = a, B[k][n] = b, C[m][n] = c;
    global f32 sum[m][n] = 0 clean;
    global i32 count[cdiv(m, BM)][cdiv(n, 16)] = 0 clean;
    i32 i = block.x * BM, j = block.y * 16;
    reg f32 acc[BM][16] = 0;
    for (i32 p = block.z * 8; p < k; p += 16)
        acc += dot(A[i +: BM][p +: 8], B[p +: 8][j +: 16]);
    atomic_add(sum[i +: BM][j +: 16], acc);
    if (arrive(count[block.x][block.y]) == 0)
        return;
    C[i +: BM][j +: 16] = (T) sum[i +: BM][j +: 16];
    sum[i +: BM][j +: 16] = 0;
    count[block.x][block.y] = 0;
    ensures C == dot(A, B);
}
"""
VARIANTS = [("rows", "BM=8"), ("rows", "BM=16"), ("columns", "BN=32"), ("columns", "BN=16"), ("columns", "BN=8"), ("parts", "BM=16")]
# rows BM=8 is the fastest for few rows, columns BN=32 for many, parts for a long sum, columns BN=8 for sizes that 16 does not divide.
TIMES = {(16, 64, 64): [10, 12, 30, 20, 25, 40], (64, 64, 64): [25, 15, 22, 24, 30, 45], (128, 64, 64): [60, 30, 20, 28, 35, 50], (16, 64, 512): [None, None, 60, 50, 55, 20],
         (17, 65, 63): [None, None, 40, 30, 20, 50],
         (24, 72, 72): [None, None, 20, 10, 15, 30], (1024, 256, 256): [None, None, 100, 140, 190, 200]}


def grid_of(variant, m, n):
    tile = int(re.search(r"\d+", variant).group())
    up = lambda a, b: -(-a // b)
    return {"rows": f"{up(m, tile)} {up(n, 16)} 1", "columns": f"{up(n, tile)} {up(m, 8)} 1",
            "parts": f"{up(m, 16)} {up(n, 16)} 2"}[variant.split()[0]]


def header(device, types="T=f32", variants=VARIANTS):
    return json.dumps({"family": "products", "device": device, "types": types, "version": "1.2.0", "sizes": ["m", "n", "k"],
                       "variants": [{"kernel": k, "tune": t, "resident": 4} for k, t in variants]}) + "\n"


def rows_of(times):
    return "".join(json.dumps({"at": list(at), "us": us}) + "\n" for at, us in times.items())


def write(folder, name, text):
    open(f"{folder}/{name}", "w").write(text)


def make_family(folder):
    for name, text in (("rows.tile", ROWS), ("columns.tile", COLUMNS), ("parts.tile", PARTS),
                       ("products.tile", 'family products { "rows.tile"; "columns.tile"; "parts.tile"; }\n'),
                       ("products.table", header("simulator") + rows_of(TIMES))):
        write(folder, name, text)


def build(tool, folder, *options, status=0, file="products.tile", **settings):
    result = call([tool, "build", f"{folder}/{file}", "--output", folder, *options], cwd=ROOT, **settings)
    if result.status != status:
        fail(f"build {options}: expected status {status}: {result}")
    return result


def refused(tool, folder, options, *texts):
    said = build(tool, folder, *options, status=2).err
    for text in texts:
        if text not in said:
            fail(f"build {options}: no '{text}' in {said}")


def link(folder):
    command = [CC, *FLAGS, "-std=c11", *STRICT, "-g", f"-I{folder}", "-DPRODUCTS_LINK_CUDA", f"{HERE}/family_program.c", f"{folder}/products.c",
               FAKE, f"-Wl,-rpath,{os.path.dirname(FAKE)}", "-Wl,--wrap=cuLaunchKernel,--wrap=cuLaunchKernelEx",
               "-o", f"{folder}/products", "-lm", "-lpthread"]
    result = call(command)
    if result.status != 0:
        fail(f"the program does not link: {result}")


def run(folder, expected, **environment):
    """Runs the program at sizes, and compares the variant that each took."""
    result = call([f"{folder}/products", *expected], env=dict(os.environ, **environment))
    lines = result.out.split("\n")
    for line, (sizes, variant) in zip(lines, expected.items()):
        m, n, k = (int(v) for v in sizes.split("+")[0].split(","))
        grid = re.search(r"grid (\d+ \d+ \d+)", line)
        if not grid or grid.group(1) != grid_of(variant, m, n) or not line.endswith("PASS"):
            fail(f"{sizes}: expected {variant}, not `{line}`")
        if ("parts" in variant) != (", 0 bytes" not in line):
            fail(f"{sizes}: the workspace of another variant: {line}")
    if result.status != 0 or "threads: PASS" not in result.out:
        fail(f"the program: {result}")


def library_choices(tool, folder, sizes):
    """Returns the variants that the library takes."""
    chosen = {}
    for at in sizes:
        m, n, k = at.split(",")
        result = call([tool, "run", f"{folder}/products.tile", "--type", "f32", "--set", f"m={m},n={n},k={k}", "--fill", "rand", "--device",
                       "cuda", "--json"], env=dict(os.environ, TILEWRIGHT_CUDA_DRIVER=FAKE))
        if result.status != 0:
            fail(f"run at {at}: {result}")
        choice = json.loads(result.out)["chosen"]
        chosen[at] = f"{choice['kernel']} {choice['tune']}"
    return chosen


def test_choice(tool, folder):
    """Measured sizes take their winner; others what the library predicts. A variant without a version for the sizes leaves them to the
    next."""
    said = build(tool, folder, "--type", "f32", "--set", "m=1..4096,n=64,k=64", "--set", "m=1..4096,n=65,k=63", "--set",
                 "m=16,n=64,k=512", "--variants", "6", "--no-cubin")
    text = open(f"{folder}/products.h").read()
    for part in ("Family `products` of ", "with T = f32", "as measured on simulator", "rows; n = 64, k = 64; m divisible by 16: BM = 8",
                 "in geometric mean 1.000 times the least time"):
        if part not in text.replace("\n *     ", " "):
            fail(f"no '{part}' in products.h:\n{text}")
    if "those of simulator choose" not in said.err:
        fail(f"the results are of a GPU that was not asked for, without a word: {said.err}")
    link(folder)
    run(folder, {"16,64,64": "rows BM=8", "128,64,64": "columns BN=32", "16,64,512": "parts BM=16", "17,65,63": "columns BN=8",
                 "160,64,64": "columns BN=32", "33,65,63": "columns BN=8", "1,1,1": "columns BN=8",
                 "24,72,72": "columns BN=16", "24,72,88": "columns BN=16", "128,64,64+4": "columns BN=32"},
        FAKE_CUDA_CHECK="1")
    between = library_choices(tool, folder, [f"{m},{n},{k}" for n, k in ((64, 64), (65, 63)) for m in (2, 9, 32, 33, 64, 256, 257)])
    if len(set(between.values())) < 3:
        fail(f"the sizes between the measured ones show little: {between}")
    run(folder, between)
    result = call([f"{folder}/products", "16,64,64+1", "-1,64,64"])
    if "16 divides" not in result.out.replace("that 16", "16") or "negative" not in result.out:
        fail(f"wrong launches: {result}")


def test_unaligned(tool, folder):
    build(tool, folder, "--type", "f32", "--set", "n=64,k=64", "--variants", "6", "--unaligned", "--no-cubin")
    link(folder)
    run(folder, {"16,64,64+1": "rows BM=8", "128,64,64+3": "columns BN=32", "16,64,64": "rows BM=8"})


def test_variants(tool, folder):
    """Few variants: those that cost the least time; one of them serves all sizes. Static kernels need values."""
    said = build(tool, folder, "--type", "f32", "--variants", "1", "--no-cubin").err
    text = open(f"{folder}/products.h").read()
    if "`rows` is left out: it has static parameters" not in said or "rows;" in text or "1 of 4 kernels" not in text:
        fail(f"a family without --set: {said}\n{text}")
    link(folder)
    run(folder, {"16,64,64": "columns BN=16", "1000,17,33": "columns BN=16"})
    build(tool, folder, "--type", "f32", "--set", "m=16,n=64,k=64", "--variants", "1", "--no-cubin")
    link(folder)
    run(folder, {"16,64,64": "columns BN=16"})  # rows is faster there, but serves no other sizes
    build(tool, folder, "--type", "f32", "--set", "m=16,n=64,k=64", "--variants", "2", "--no-cubin")
    link(folder)
    run(folder, {"16,64,64": "rows BM=8", "17,64,64": "rows BM=8", "16,64,65": "columns BN=16"})


def test_devices(tool, folder):
    """A table of each GPU; the program takes that of its GPU, else the first of its target."""
    others = {(16, 64, 64): [50, 50, 10, 50, 50, 50], (128, 64, 64): [50, 50, 10, 50, 50, 50]}
    write(folder, "more.table", header("NVIDIA H200") + rows_of(others) + header("NVIDIA A100-SXM4-80GB") + rows_of(TIMES))
    said = build(tool, folder, "--type", "f32", "--set", "n=64,k=64", "--device", "h200,a100", "--table", f"{folder}/more.table", "--no-cubin")
    if said.err:
        fail(f"both GPUs have results: {said.err}")
    text = open(f"{folder}/products.h").read()
    if "sm_90, as measured on NVIDIA H200" not in text or "sm_80, as measured on NVIDIA A100-SXM4-80GB" not in text:
        fail(f"two tables: {text}")
    link(folder)
    run(folder, {"16,64,64": "rows BM=8", "128,64,64": "columns BN=32"}, FAKE_CUDA_SM="86")
    run(folder, {"16,64,64": "columns BN=32", "128,64,64": "columns BN=32"}, FAKE_CUDA_SM="90")
    run(folder, {"16,64,64": "columns BN=32", "128,64,64": "columns BN=32"}, FAKE_CUDA_SM="90", FAKE_CUDA_VERSION="12020")
    write(folder, "more.table", header("simulator") + rows_of(TIMES) + header("NVIDIA H200") + rows_of(others))
    said = build(tool, folder, "--type", "f32", "--set", "n=64,k=64", "--device", "h100", "--table", f"{folder}/more.table", "--no-cubin")
    if "no results of the family `products` with T = f32 for NVIDIA H100 80GB HBM3: those of NVIDIA H200 choose" not in said.err:
        fail(f"another GPU's results: {said.err}")
    said = build(tool, folder, "--type", "f32", "--set", "n=64,k=64", "--device", "cuda", "--no-cubin",
                 env=dict(os.environ, TILEWRIGHT_CUDA_DRIVER=FAKE))
    if said.err or "as measured on simulator" not in open(f"{folder}/products.h").read():
        fail(f"the GPU that is here: {said.err}")


def test_stored(tool, folder):
    """Lines of --tuned and results of a store count as those of a table."""
    lines = [{"kernel": "columns", "types": {"T": "f16"}, "device": "NVIDIA H200", "class": {"m": [16, 31, 16]}, "sizes": {"k": 64, "m": 16, "n": 64},
              "tune": {"BN": 8}, "ms": 0.001, "version": "1.2.0"}]
    lines += [dict(lines[0], device="a \"GPU\"", ms=0.5), dict(lines[0], kernel="other"), dict(lines[0], program="0123456789abcdef"),
              dict(lines[0], ms=0), dict(lines[0], target="cpu")]
    write(folder, "tuned.jsonl", "".join(json.dumps(line) + "\n" for line in lines))
    said = build(tool, folder, "--type", "f16", "--device", "h200", "--tuned", f"{folder}/tuned.jsonl", "--no-cubin").err
    text = open(f"{folder}/products.h").read()
    if "as measured on NVIDIA H200" not in text or "columns: BN = 8" not in text or "those of" in said:
        fail(f"lines of --tuned: {said}\n{text}")
    for line, why in ((3, "its kernel is not built"), (4, "its `program` is another text"), (5, "a family chooses by `device`, `sizes` and `ms`"),
                      (6, "measured on the CPU")):
        if f"tuned.jsonl:{line}: left out: {why}" not in said and f"tuned.jsonl:{line}: left out: it was {why}" not in said:
            fail(f"line {line}: {said}")
    fake = dict(os.environ, TILEWRIGHT_CUDA_DRIVER=FAKE)
    store = ["--store", f"{folder}/tuned.db"]
    if call([tool, "tune", f"{folder}/columns.tile", "--list", *store]).status != 0:
        return  # no SQLite
    tuned = call([tool, "tune", f"{folder}/columns.tile", "--type", "f16", "--set", "m=16,n=64,k=64", "--device", "cuda", *store], env=fake)
    if tuned.status != 0:
        fail(f"tune: {tuned}")
    said = build(tool, folder, "--type", "f16", "--device", "cuda", *store, "--no-cubin", env=fake).err
    if "as measured on simulator" not in open(f"{folder}/products.h").read() or "the model" in said:
        fail(f"a store: {said}")


def test_close_sizes(tool, folder):
    """Measured sizes that differ by one, each with its own winner."""
    times = {(m, 64, 64): [20, 10, 30, 40][m % 2:m % 2 + 3] for m in (48, 49, 50, 51, 435, 436, 437, 438, 439, 440, 441)}
    write(folder, "close.tile", 'family products { "columns.tile"; }\n')
    write(folder, "close.table", header("simulator", variants=VARIANTS[2:5]) + rows_of(times))
    build(tool, folder, "--type", "f32", "--set", "m=1..441,n=64,k=64", "--table", f"{folder}/close.table", "--no-cubin", file="close.tile")
    link(folder)
    bodies = [re.search(rf"\nstatic (?:inline )?int {name}\(int64_t size\)\n(\{{.*?\n\}})\n", open(path).read(), re.S).group(1)
              for name, path in (("aot_octaves", f"{folder}/products.c"), ("octaves_256", f"{ROOT}/src/base/octaves.h"))]
    if bodies[0].split() != bodies[1].split():
        fail(f"the program and the library compute other octaves: {bodies}")
    run(folder, {f"{m},64,64": "columns BN=32" if m % 2 else "columns BN=16" for m, _, _ in times})


def test_without_sizes(tool, folder):
    """A family without integer parameters: the program compiles, and has one point."""
    write(folder, "fixed.tile", "kernel fixed(const f32 *a, f32 *b) grid(2) warps(1)\n{\n    global f32 A[128] = a, B[128] = b;\n"
                                "    B[block.x * 64 +: 64] = A[block.x * 64 +: 64];\n    ensures B == A;\n}\n")
    write(folder, "fixeds.tile", 'family fixeds { "fixed.tile"; }\n')
    build(tool, folder, "--no-cubin", file="fixeds.tile")
    result = call([CC, *FLAGS, "-std=c11", *STRICT, "-c", f"{folder}/fixeds.c", "-o", f"{folder}/x.o"])
    if result.status != 0:
        fail(f"a family without sizes does not compile: {result}")


def test_model(tool, folder):
    """Without results, the model chooses among the defaults."""
    said = build(tool, folder, "--type", "f16", "--set", "n=64,k=64", "--no-cubin")
    text = open(f"{folder}/products.h").read()
    if "there are no results of the family `products` with T = f16" not in said.err or "by the model" not in text:
        fail(f"a family without results: {said.err}\n{text}")
    if "parts" in text:
        fail(f"parts does not list f16: {text}")


def test_c(tool, folder):
    """All compilers, C and C++, several types and a kernel next to the family."""
    write(folder, "copy.tile", "kernel copy(i32 n, const f32 *a, f32 *b) grid(cdiv(n, 64)) warps(1)\n{\n    global f32 A[n] = a, B[n] = b;\n"
                               "    B[block.x * 64 +: 64] = A[block.x * 64 +: 64];\n}\n")
    build(tool, folder, f"{folder}/copy.tile", "--name", "products", "--set", "n=64,k=64", "--no-cubin")
    for compiler in [CC] + [c for c in ("gcc", "clang") if shutil.which(c)]:
        for standard in ("c11", "gnu17"):
            result = call([compiler, *FLAGS, f"-std={standard}", *STRICT, "-O2", "-c", f"{folder}/products.c", "-o", f"{folder}/x.o"])
            if result.status != 0:
                fail(f"{compiler} -std={standard}: {result}")
    text = open(f"{folder}/products.h").read()
    for name in ("products_f32(", "products_f16(", "products_copy("):
        if name not in text:
            fail(f"no {name}…) in products.h: {text}")
    if shutil.which("g++"):
        write(folder, "x.cc", '#include "products.h"\nint main() { return PRODUCTS_OK; }\n')
        result = call(["g++", *STRICT, "-c", f"{folder}/x.cc", "-o", f"{folder}/x.o"])
        if result.status != 0:
            fail(f"as C++: {result}")


def test_refused(tool, folder):
    refused(tool, folder, ["--set", "q=4"], "'q'")
    refused(tool, folder, ["--set", "n=64..1"], "--set n=64..1: expected an integer, or a range LEAST..MOST")
    refused(tool, folder, ["--set", "n=a"], "expected an integer, or a range")
    refused(tool, folder, ["--variants", "0"], "variants")
    refused(tool, folder, ["--type", "i8"], "--type i8: no kernel has that")
    refused(tool, folder, ["--table", "/nowhere"], "/nowhere")
    write(folder, "bad.table", "{}\n")
    refused(tool, folder, ["--table", f"{folder}/bad.table"], "bad.table:1:1")
    # A variant that the target refuses leaves the choice to the others.
    large = header("simulator", variants=[("rows", "BM=16"), ("columns", "BN=16384")]) + rows_of({(16, 64, 64): [20, 1]})
    write(folder, "large.table", large)
    said = build(tool, folder, "--type", "f32", "--set", "n=64,k=64", "--table", f"{folder}/large.table", "--no-cubin").err
    if "`columns BN=16384` is left out: " not in said or "BN = 16384" in open(f"{folder}/products.h").read():
        fail(f"a variant that does not fit: {said}")


def main():
    tool = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        make_family(folder)
        test_choice(tool, folder)
        test_unaligned(tool, folder)
        test_variants(tool, folder)
        test_devices(tool, folder)
        test_stored(tool, folder)
        test_close_sizes(tool, folder)
        test_without_sizes(tool, folder)
        test_model(tool, folder)
        test_c(tool, folder)
        test_refused(tool, folder)


if __name__ == "__main__":
    main()
