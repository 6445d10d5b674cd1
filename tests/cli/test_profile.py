#!/usr/bin/env python3
"""`run --profile`: exact counts in JSON, the keys that docs/profile.md lists, a flame graph that is well-formed, and what it refuses."""
import json
import os
import re
import sys
import tempfile
import xml.etree.ElementTree as xml

from tile_runner import call, expect, fail

M, N, K = 130, 70, 90
SUM = """kernel total(i32 n, const f32 *a, f32 *out) grid(n) warps(1)
{
    global f32 A[n] = a, Out[1] = out;
    print("<once>");
    atomic_add(Out[0], A[block.x]);
}
"""
WORK = {"runs", "seconds", "share", "flops", "read_bytes", "written_bytes"}
KEYS = {
    "profile": {"instructions", "launches", "blocks", "bound_blocks", "seconds", "plain_seconds", "thread_seconds", "profiler_seconds",
                "flops", "read_bytes", "written_bytes", "array_bytes", "threads", "lines", "kinds", "steps", "products", "slow"},
    "threads": {"busy_seconds", "blocks"},
    "lines": WORK | {"file", "line", "text"},
    "kinds": WORK | {"kind", "title"},
    "steps": WORK | {"file", "line", "column", "text", "kind", "title", "operation"},
    "products": {"file", "line", "column", "runs", "seconds", "packing_seconds", "flops", "left", "right"},
    "slow": {"code", "file", "line", "column", "cause_line", "reason", "way_out"},
}


def check_keys(profile, document):
    expect(set(profile) == KEYS["profile"], f"keys of the profile: {sorted(profile)}")
    for name in ("threads", "lines", "kinds", "steps", "products", "slow"):
        for entry in profile[name]:
            expect(set(entry) == KEYS[name], f"keys of {name}: {sorted(entry)}")
    for key in set().union(*KEYS.values()):
        expect(f"`{key}`" in document, f"docs/profile.md does not list the key {key}")


def check_product(tool, root, document):
    command = [tool, "run", f"{root}/kernels/matmul/tuned.tile", "--set", f"m={M},n={N},k={K}", "--fill", "rand", "--tune",
               "BM=64,BN=64,BK=32", "--profile", "--verify", "--json"]
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
    for wanted in ("profile of matmul_v2: ", "1 thread,", "1.64 MFLOP", "acc += dot(ra, rb);", "product: ", "left operand: "):
        expect(wanted in text, f"no `{wanted}` in: {text}")


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


def check_step_kinds(root):
    """Each step function of the engine has a row in step_kinds.def."""
    with open(f"{root}/src/cpu/program.h") as file:
        declared = set()
        for names in re.findall(r"^step_fn (step_[^;]*);", re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S), re.M):
            declared.update(re.findall(r"\w+", names))
    with open(f"{root}/src/cpu/step_kinds.def") as file:
        rows = re.findall(r"^STEP\((\w+),", file.read(), re.M)
    expect(len(rows) == len(set(rows)) and set(rows) == declared, f"without a row, or rows of no step: {declared.symmetric_difference(rows)}")


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
    check_step_kinds(root)
    check_product(tool, root, document)
    check_reasons(root, document)
    with tempfile.TemporaryDirectory() as folder:
        check_flame(tool, root, folder)
        check_refusals(tool, root, folder)
        check_print(tool, folder)


if __name__ == "__main__":
    main()
