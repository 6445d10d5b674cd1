#!/usr/bin/env python3
"""The page of the suites, docs/suite.md: bench/gpu.py suite on a driver that runs on the host, and bench/suite_page.py on made-up reports:
every row, the figures, and reports that are refused."""
import copy
import json
import os
import re
import shutil
import sys
import tempfile

from tile_runner import call, expect

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
EMPTY = "# Suites\n\n<!-- suite -->\nold\n<!-- end -->\n\nThe end.\n"
SIZES = [["llm", 16, 4096, 4096, 1], ["llm", 1, 64, 128, 1], ["squares", 1024, 1024, 1024, 1], ["batched", 64, 64, 64, 512]]


def row(dtype, size, ratio, chosen="result"):
    return {"kernel": "matmul_v6", "config": "BM=64,BN=64", "config_from": "best as measured", "chosen": {"by": chosen}, "dtype": dtype, "result": "PASS",
            **dict(zip(("class", "m", "n", "k", "batch"), size)), "ms": 0.25, "tflops": 100.0, "gbytes_per_second": 1500.0, "ratio": ratio,
            "peer": "cuBLASLt 13.1.0"}


def made_up():
    rows = [row(dtype, size, 0.5 * (i + 1), "nearest" if i == 1 else "result") for dtype in ("f16", "f32") for i, size in enumerate(SIZES)]
    return {"kind": "suite", "rows": rows, "sizes": SIZES, "types": ["f16", "f32"], "date": "2030-01-31", "machine": None, "rounds": 3,
            "round_seconds": 0.1, "device": "NVIDIA H200, 132 multiprocessors", "blas": "cuBLAS 13.1.0", "version": "tilewright 9.9"}


def write_page(folder, status, *parts):
    """Runs suite_page.py on reports of these parts. Returns the page and the message."""
    paths = []
    for part in parts:
        paths.append(f"{folder}/report{len(paths)}.json")
        with open(paths[-1], "w") as out:
            json.dump({"parts": {"suite": part}}, out)
    with open(f"{folder}/suite.md", "w") as out:
        out.write(EMPTY)
    result = call([sys.executable, "bench/suite_page.py", *paths, "--page", f"{folder}/suite.md", "--tool", sys.argv[1]])
    expect(result.status == status, result)
    with open(f"{folder}/suite.md") as page:
        return page.read(), result.err


def can_draw():
    return shutil.which("node") and os.path.exists("web/node_modules")


def check_page(folder):
    part = made_up()
    page, said = write_page(folder, 0 if can_draw() else 1, part)
    expect(can_draw() or "npm ci" in said, said)
    expect(page.startswith("# Suites\n\n<!-- suite -->\nMeasured on NVIDIA H200 on 2030-01-31: ") and page.endswith("<!-- end -->\n\nThe end.\n"), page)
    lines = re.findall(r"^\| \w+ \| f(?:16|32) \|.*$", page, re.M)
    expect(len(lines) == 2 * len(SIZES) and lines[1] == "| llm | f16 | 1 | 64 | 128 | 1 | `matmul_v6` BM=64,BN=64 | nearest | 0.25 | 100 | "
           "1500 | 1.000 | cuBLASLt |", lines)
    expect("| llm | 2 | 0.707 | 0.707 |" in page and "| all | 4 | 1.107 | 1.107 |" in page, page)
    expect("cuBLAS 13.1.0" in page and "tilewright 9.9" in page and "old" not in page, page)


def check_figures(folder):
    if not can_draw():
        print("no node, or no web/node_modules: the figures are not drawn")
        return
    for dtype in "f16", "f32":
        with open(f"{folder}/figures/suite-{dtype}.svg") as picture:
            svg = picture.read()
        points = re.findall(r'<circle cx="[\d.]+" cy="([\d.]+)" r="4" class="([^"]*)"', svg)
        expect(len(points) == len(SIZES), svg)
        expect(["predicted" in c for _, c in points] == [False, True, False, False], points)
        expect(["faster" in c for _, c in points] == [False, True, True, True], points)
        heights = [float(y) for y, _ in points] # ratios 0.5, 1, 1.5, 2
        expect(abs((heights[0] - heights[1]) - (heights[1] - heights[3])) < 0.1 and heights[2] < heights[1], heights)
        expect("16×4096×4096" in svg and "1024³" in svg and "512 of 64³" in svg and f"{dtype} on NVIDIA H200, 2030-01-31" in svg, svg)
        expect("prefers-color-scheme:dark" in svg, svg)


def check_refused(folder):
    missing, wrong, alone = made_up(), made_up(), made_up()
    del missing["rows"][5]
    wrong["rows"][2].update(result="FAIL", why="C[0][0] is off")
    del alone["rows"][0]["ratio"]
    for part, why in ((missing, "llm 1x64x128 f32: not measured"), (wrong, "squares 1024x1024x1024 f16: C[0][0] is off"),
                      (alone, "llm 16x4096x4096 f16: no library")):
        page, said = write_page(folder, 1, part)
        expect(page == EMPTY and why in said, said)
    other = {**made_up(), "device": "another GPU"}
    page, said = write_page(folder, 1, made_up(), other)
    expect(page == EMPTY and "several devices" in said, said)


def check_merged(folder):
    """Rows of later reports replace those of earlier ones, and fill gaps."""
    first, second = made_up(), made_up()
    del first["rows"][3]
    second["rows"] = [copy.deepcopy(second["rows"][3]), row("f16", SIZES[0], 0.75)]
    page, _ = write_page(folder, 0 if can_draw() else 1, first, second)
    expect("| llm | f16 | 16 | 4096 | 4096 | 1 | `matmul_v6` BM=64,BN=64 | measured | 0.25 | 100 | 1500 | 0.750 |" in page, page)


def write_families(folder):
    """Families of products and of batches; the table of the first has times at one of the sizes, in f16."""
    for name, kernels in (("products", ("shared", "stages")), ("batches", ("batched",))):
        with open(f"{folder}/{name}.tile", "w") as out:
            out.write(f"family {name} {{\n" + "".join(f'    "{ROOT}/kernels/matmul/{kernel}.tile";\n' for kernel in kernels) + "}\n")
    head = {"family": "products", "device": "simulator", "types": "T=f16", "version": "1.2.0", "sizes": ["m", "n", "k"],
            "variants": [{"kernel": "matmul_v1", "tune": "", "resident": 1},
                         {"kernel": "matmul_v4", "tune": "BM=64,BN=128,BK=32,WARPS=4,STAGES=3", "resident": 1}]}
    with open(f"{folder}/products.table", "w") as out:
        out.write(json.dumps(head) + "\n" + json.dumps({"at": [16, 16, 16], "us": [9, 5]}) + "\n")


def check_gpu(tool, folder):
    """The whole command, at tiny sizes."""
    write_families(folder)
    with open(f"{folder}/few.txt", "w") as suite:
        suite.write("# m n k\n16 16 16\n24 8 40\n")
    with open(f"{folder}/many.txt", "w") as suite:
        suite.write("16 16 16 3\n")
    with open(f"{folder}/table.txt", "w") as table:
        table.write(f"suite {folder}/products.tile f16,f32 {folder}/few.txt best\nsuite {folder}/batches.tile f16,f32 {folder}/many.txt best\n")
    with open(f"{folder}/suite.md", "w") as out:
        out.write(EMPTY)
    command = [sys.executable, "bench/gpu.py", "suite", "--tool", tool, "--out", folder, "--page", f"{folder}/suite.md", "--configurations",
               f"{folder}/table.txt", "--rounds", "1", "--seconds", "0.0001"]
    done = call(command)
    expect(done.status == 0, done)
    with open(f"{folder}/suite.md") as page:
        text = page.read()
    expect(len(re.findall(r"^\| (?:few|many) \| f(?:16|32) \|", text, re.M)) == 6 and "`matmul_batched`" in text, text)
    expect("| few | f16 | 16 | 16 | 16 | 1 | `matmul_v4` BM=64,BN=128,BK=32,WARPS=4,STAGES=3 | measured |" in text, text)
    expect(re.search(r"^\| few \| f16 \| 24 \| 8 \| 40 \| 1 \| `matmul_v4` .* \| nearest \|", text, re.M), text)
    expect(re.search(r"^\| many \| f32 \| 16 \| 16 \| 16 \| 3 \| `matmul_batched` .* \| model \|", text, re.M), text)
    with open(f"{folder}/report.json") as report:
        rows = json.load(report)["parts"]["suite"]["rows"]
    expect(len(rows) == 6 and all(r["result"] == "PASS" for r in rows), rows)
    with open(f"{folder}/suite.md", "w") as out:
        out.write(EMPTY)
    done = call(["env", "FAKE_CUBLAS_WRONG=1", *command])
    with open(f"{folder}/suite.md") as page:
        expect(done.status == 1 and "is not written" in done.out and page.read() == EMPTY, done)


def main():
    tool = os.path.abspath(sys.argv[1])
    os.environ.update({"TILEWRIGHT_CUDA_DRIVER": os.environ["FAKE_CUDA"], "FAKE_CUDA_SM": "90", "TILEWRIGHT_CUBLAS": os.environ["FAKE_CUBLAS"]})
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TILEWRIGHT_CACHE"] = f"{folder}/cache"
        check_page(folder)
        check_figures(folder)
        check_refused(folder)
        check_merged(folder)
        check_gpu(tool, folder)


if __name__ == "__main__":
    main()
