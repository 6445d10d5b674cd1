#!/usr/bin/env python3
"""`run --profile`: exact counts in JSON, the keys that docs/profile.md lists, a flame graph that is well-formed, and what it refuses."""
import glob
import json
import os
import re
import sys
import tempfile
import xml.etree.ElementTree as xml

from tile_runner import call, expect, fail

M, N, K = 300, 600, 81  # tiles are as large as joined blocks, so none are joined
SUM = """kernel total(i32 n, const f32 *a, f32 *out) grid(n) warps(1)
{
    global f32 A[n] = a, Out[1] = out;
    print("<once>");
    atomic_add(Out[0], A[block.x]);
}
"""
VIEW = """kernel view(i32 m, i32 n, const f32 *a, const f32 *b, f32 *c) grid(cdiv(m, 16), cdiv(n, 16)) warps(4)
{
    global f32 A[m][16] = a, B[16][n] = b, C[m][n] = c;
    i32 i = block.x * 16, j = block.y * 16;
    reg f32 y[16][16] = B[0 +: 16][j +: 16];
    C[i +: 16][j +: 16] = dot(A[i +: 16][0 +: 16] else 0.0, y);
    ensures C == dot(A, B);
}
"""
WORK = {"runs", "seconds", "share", "flops", "read_bytes", "written_bytes"}
KEYS = {
    "profile": {"instructions", "launches", "blocks", "bound_blocks", "seconds", "plain_seconds", "thread_seconds", "profiler_seconds",
                "flops", "read_bytes", "written_bytes", "array_bytes", "threads", "lines", "kinds", "steps", "products", "slow", "roofs"},
    "threads": {"busy_seconds", "blocks"},
    "lines": WORK | {"file", "line", "text"},
    "kinds": WORK | {"kind", "title"},
    "steps": WORK | {"file", "line", "column", "text", "kind", "title", "operation"},
    "roofs": {"processor", "threads", "kept", "f32", "f64", "bf16", "i8", "bandwidth", "cache_bytes", "limits"},
    "limits": {"name", "work", "rate", "least_seconds", "share"},
    "products": {"file", "line", "column", "type", "runs", "seconds", "packing_seconds", "flops", "left", "right"},
    "slow": {"code", "file", "line", "column", "cause_line", "reason", "way_out"},
}


def check_keys(profile, document):
    expect(set(profile) == KEYS["profile"], f"keys of the profile: {sorted(profile)}")
    for name in ("threads", "lines", "kinds", "steps", "products", "slow"):
        for entry in profile[name]:
            expect(set(entry) == KEYS[name], f"keys of {name}: {sorted(entry)}")
    roofs = profile["roofs"]
    expect(set(roofs) == KEYS["roofs"], f"keys of the roofs: {sorted(roofs)}")
    for limit in roofs["limits"]:
        expect(set(limit) == KEYS["limits"], f"keys of the limits: {sorted(limit)}")
        expect(abs(limit["work"] / limit["rate"] - limit["least_seconds"]) <= 1e-6 * limit["least_seconds"], limit)
    for key in set().union(*KEYS.values()):
        expect(f"`{key}`" in document, f"docs/profile.md does not list the key {key}")


def check_product(tool, root, document):
    command = [tool, "run", f"{root}/kernels/matmul/tuned.tile", "--set", f"m={M},n={N},k={K}", "--fill", "rand", "--tune",
               "BM=128,BN=512,BK=32", "--profile", "--verify", "--json"]
    result = call(command)
    expect(result.status == 0, result)
    got = json.loads(result.out)
    profile = got["profile"]
    expect(got["ok"], got)
    check_keys(profile, document)
    blocks = (3, 2)
    expect(profile["flops"] == 2 * M * N * K, profile["flops"])
    expect(profile["written_bytes"] == 4 * M * N, profile["written_bytes"])
    expect(profile["read_bytes"] == 4 * K * (M * blocks[1] + N * blocks[0]), profile["read_bytes"])
    expect(profile["array_bytes"] == 4 * (M * K + K * N + M * N), profile["array_bytes"])
    expect(profile["blocks"] == blocks[0] * blocks[1], profile["blocks"])
    product, = profile["products"]
    calls = blocks[0] * blocks[1] * 3
    for side in ("left", "right"):
        expect(set(product[side]) == {"plain", "shared", "in_place", "own"}, product)
        expect(sum(product[side].values()) == calls and product[side]["plain"] == 0, product)
    for list_ in ("lines", "kinds", "steps"):
        expect(abs(sum(part["share"] for part in profile[list_]) - 1) < 1e-6, f"shares of {list_}")
        expect(sum(part["flops"] for part in profile[list_]) == profile["flops"], f"FLOPs of {list_}")
    expect(profile["slow"] == [], profile["slow"])
    text = call([*command[:-1], "--threads", "1"]).out
    for wanted in ("profile of matmul_v2: ", "1 thread,", "29.2 MFLOP", "acc += dot(ra, rb);", "product: ", "left operand: "):
        expect(wanted in text, f"no `{wanted}` in: {text}")


def check_caches(sizes):
    """The sizes are those of one core's caches."""
    for path in glob.glob("/sys/devices/system/cpu/cpu0/cache/index*/"):
        level, kind, size = (open(path + name).read().strip() for name in ("level", "type", "size"))
        if kind != "Instruction" and int(level) <= len(sizes):
            expect(sizes[int(level) - 1] == int(size[:-1]) * {"K": 1 << 10, "M": 1 << 20}[size[-1]], f"{path}: {size}, {sizes}")


def check_explain(tool, root, folder):
    environment = {**os.environ, "TILEWRIGHT_CACHE": f"{folder}/cache"}
    kernel = [f"{root}/kernels/fused/softmax.tile", "--device", "cpu", "--set", "rows=64,cols=300"]
    first = call([tool, "explain", *kernel], env=environment)
    expect(first.status == 0 and "(measured now)" in first.out and "measured: " in first.out, first)
    expect(first.out.startswith("profile of softmax: "), first)
    expect("--out y=FILE" not in first.out, first)
    got = json.loads(call([tool, "explain", *kernel, "--json"], env=environment).out)
    names = {limit["name"].split(",")[0]: limit for limit in got["profile"]["roofs"]["limits"]}
    expect(got["profile"]["roofs"]["kept"] is True, got["profile"]["roofs"])
    check_caches(got["profile"]["roofs"]["cache_bytes"])
    expect(names["f32 arithmetic"]["work"] == 5 * 64 * 300, names)
    expect(names["arrays once"]["work"] == 2 * 4 * 64 * 300, names)
    alone = call([tool, "explain", "--device", "cpu", "--measure"], env=environment)
    expect(alone.status == 0 and "(measured now)" in alone.out and "multiply-adds: f32 " in alone.out, alone)
    expect(alone.out.startswith("roofs of ") and not alone.out.endswith("\n\n"), alone)
    three = [tool, "explain", *kernel, "--threads", "3"]
    call(three, env=environment)
    hint = re.search(r"kept; `(explain .* --measure)`", call(three, env=environment).out)
    expect(hint and "--threads 3" in hint[1], hint)
    again = call([tool, *hint[1].split()], env=environment).out
    expect("3 threads" in again and "(measured now)" in again, again)
    for options, said in ((["--sweep", "T=1,2"], "--sweep is for GPUs"), (["--registers", "3"], "--registers is for GPUs")):
        result = call([tool, "explain", *kernel, *options], env=environment)
        expect(result.status == 2 and said in result.err, result)


def check_notes(tool, folder):
    """`check -v` gives the reasons, and without -v it does not."""
    with open(f"{folder}/view.tile", "w") as out:
        out.write(VIEW)
    result = call([tool, "check", "view.tile", "-v", "--no-sim"], cwd=folder)
    expect(result.status == 0 and "line 6 on the CPU: an operand of this product is not packed" in result.out, result)
    expect("(operand-view)" in json.loads(call([tool, "check", "view.tile", "--no-sim", "--json"], cwd=folder).out)[0]["slow"], "in JSON")
    expect("on the CPU" not in call([tool, "check", "view.tile", "--no-sim"], cwd=folder).out, "without -v")


def check_flame(tool, root, folder):
    path = f"{folder}/flame.svg"
    result = call([tool, "run", f"{root}/kernels/fused/softmax.tile", "--set", "rows=64,cols=300", "--fill", "rand", "--profile", "--svg", path])
    expect(result.status == 0, result)
    top = xml.parse(path).getroot()
    name = "{http://www.w3.org/2000/svg}"
    titles = [title.text for title in top.iter(f"{name}title")]
    expect(any(title.startswith("softmax: ") and "100 % of the time, 1 run," in title for title in titles), titles)
    expect(any("Y[block.x] = v / sum(v);" in title for title in titles), titles)
    left, right = [], []
    for part in top.iter(f"{name}rect"):
        if part.get("class", "").startswith("part"):
            left.append(float(part.get("x")))
            right.append(left[-1] + float(part.get("width")))
    expect(min(left) >= 23.9 and max(right) <= 1036.1, f"parts from {min(left)} to {max(right)}")


def check_refusals(tool, root, folder):
    kernel = f"{root}/kernels/fused/softmax.tile"
    sizes = ["--set", "rows=4,cols=10", "--fill", "rand"]
    for options, said in ((["--svg", "x.svg"], "give --profile too"), (["--profile", "--device", "sim"], "--profile is of the CPU engine"),
                          (["--profile", "--probe", "v"], "one at a time"), (["--profile", "--svg", "no/such/x.svg"], "--svg no/such/x.svg")):
        result = call([tool, "run", kernel, *sizes, *options], cwd=folder)
        expect(result.status == 2 and said in result.err, f"{options}: {result}")


def check_print(tool, folder):
    with open(f"{folder}/sum.tile", "w") as out:
        out.write(SUM)
    result = call([tool, "run", "sum.tile", "--set", "n=1", "--fill", "ones", "--profile"], cwd=folder)
    expect(result.status == 0 and result.out.count("block (0,0) <once>") == 1, result)
    expect("(one-worker)" in result.out and "out: [1.0]" in result.out, result)


def check_reasons(root, document):
    """docs/profile.md has the rows of slow_paths.def."""
    with open(f"{root}/src/cpu/slow_paths.def") as file:
        rows = re.findall(r"^SLOW\(\w+,(.*?)\)\n(?=SLOW|$)", file.read(), re.M | re.S)
    expect(len(rows) > 10, rows)
    for row in rows:
        texts = [""]
        for text, comma in re.findall(r'"([^"]*)"|(,)', row):
            if comma:
                texts.append("")
            texts[-1] += text
        expect(f"| `{texts[0]}` | {texts[1]} | {texts[2]} |" in document, f"docs/profile.md lacks: {texts}")


def main():
    tool, root = os.path.abspath(sys.argv[1]), os.getcwd()
    with open(f"{root}/docs/profile.md") as file:
        document = file.read()
    check_product(tool, root, document)
    check_reasons(root, document)
    with tempfile.TemporaryDirectory() as folder:
        check_flame(tool, root, folder)
        check_refusals(tool, root, folder)
        check_print(tool, folder)
        check_explain(tool, root, folder)
        check_notes(tool, folder)


if __name__ == "__main__":
    main()
