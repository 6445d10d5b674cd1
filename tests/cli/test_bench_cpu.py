#!/usr/bin/env python3
"""bench/cpu.py with libraries of plain loops: parts, figures and verdicts, the report, absent libraries, statuses."""
import glob
import importlib.util
import json
import os
import re
import sys
import tempfile

from tile_runner import call, expect, fail

sys.path.insert(0, "bench")
sys.dont_write_bytecode = True
import cpu

TABLE = """# part kernel type sizes values
f32       kernels/matmul/tuned.tile      f32  32x32x32    BM=16,BN=16
f32       kernels/matmul/tuned.tile      f32  32x32x32    BM=32,BN=32
f32       kernels/matmul/tuned.tile      f32  32x32x2048  -
ragged    kernels/matmul/tuned.tile      f32  33x35x37    -
ladder    kernels/matmul/tuned.tile      f32  32x32x32    -
ladder    kernels/matmul/stages.tile     f32  32x32x32    -
types     kernels/matmul/tuned.tile      f32  32x32x32    BM=16,BN=16
types     kernels/matmul/tuned.tile      bf16 32x32x32    BM=32,BN=32
types     kernels/matmul/tuned.tile      f16  32x32x32    -
gelu      bench/linear.tile              f32  32x32x64    -
gelu      kernels/fused/linear_gelu.tile f32  32x32x64    -
rows      kernels/fused/softmax.tile     f32  rows=8,cols=20 -
attention kernels/matmul/stages.tile     f32  32x32x32    -
attention kernels/fused/attention.tile   f32  heads=16,nq=32,nk=32,d=16,causal=false,scale=0.25 BM=16,BN=16
threads   kernels/sgemm/*.tile           f32  32x32x32    -
flat      kernels/matmul/stages.tile     f32  16x16x16    -
flat      kernels/matmul/stages.tile     f32  32x32x32    -
scaling   kernels/matmul/tuned.tile      f32  32x32x32    -
scaling   kernels/fused/softmax.tile     f32  rows=8,cols=20 -
stream    kernels/matmul/direct.tile     f32  1x64x96     BM=16
stream    kernels/recipes/w4a16.tile     f16  1x64x96     -
tiles     bench/tiles/row_norm.tile      -    rows=9,cols=20 ROWS=4/8,COLS=16/32
tiles     kernels/matmul/stages.tile     f32  m=33,n=35,k=37 BM=16/32,BN=16
launch    -                              -    -           -
"""


def figures(tool, folder, status, *parts, **environment):
    """Returns the figures of the parts by name, and the whole output."""
    command = [sys.executable, "bench/cpu.py", "--quick", *parts, "--tool", tool, "--out", folder, "--configurations", f"{folder}/table.txt"]
    result = call(command, env=dict(os.environ, **environment))
    if result.status != status:
        fail(f"cpu.py {parts}: expected status {status}: {result}")
    with open(f"{folder}/cpu.json") as report:
        report = json.load(report)
    return {f["figure"]: f for f in report["figures"]}, report, result.out


def check_all(tool, folder):
    """Every part has its figures; the printed table and the stored one agree."""
    found, report, text = figures(tool, folder, 0)
    expect(report["failed"] == {}, report["failed"])
    parts = ["f32 32x32x32, 1 thread / oneDNN", "f32 32x32x32, 1 thread / OpenBLAS", "f32 33x35x37, 1 thread / OpenBLAS",
             "matmul_v2 32x32x32 / fastest library", "matmul_v4 32x32x32 / fastest library", "bf16 / f32 rate", "f16 / f32 rate",
             "GELU fused 32x32x64 / plain product's time", "softmax of rows = 8, cols = 20, 1 thread / copy", "attention / f32 product's rate",
             "sgemm_naive 32x32x32, GFLOP/s", "time over 2mnk, largest / least",
             "matmul_direct f32 1x64x96, 1 thread / reading the weights", "w4a16 f16 1x64x96, 1 thread / reading the weights",
             "row_norm, rows=9,cols=20, 1 thread: longest / shortest time of 4 tiles",
             "matmul_v4, m=33,n=35,k=37, 1 thread: longest / shortest time of 2 tiles",
             "launch of 16x16x16, 1-thread, µs"]
    for threads in cpu.thread_counts()[1:]:
        parts += [f"matmul_v2 32x32x32, {threads} threads, parallel efficiency",
                  f"softmax of rows = 8, cols = 20, {threads} threads, speed-up / that of the copy"]
    for name in parts:
        expect(name in found and found[name]["value"] > 0, f"no {name} in {list(found)}")
        expect(found[name]["verdict"] in ("PASS", "short of the goal", "SHORT") and name in text, found[name])
    expect(not any("2048" in name for name in found), list(found))  # --quick
    expect("heads = 2," in found["attention / f32 product's rate"]["note"], found["attention / f32 product's rate"])
    with open(f"{folder}/cpu.md") as kept:
        expect(kept.read().count("\n| ") == len(found) + 1, found)  # and the heads
    expect(re.search(r"^ +value +goal +at least  figure", text, re.M), text)
    expect("OpenBLAS 9.8.7 (SkylakeX); BLIS 7.6.5; oneDNN 2.6.3" in text, text)


def check_loops(tool, folder):
    """The loops in C, if they are built."""
    found, _, _ = figures(tool, folder, 0, "threads")
    naive = found["sgemm_naive 32x32x32 / naive loops in C"]
    expect((naive["value"] is None) == (not os.path.exists("bench/cpu_loops.c")), naive)
    expect(naive["value"] or naive["verdict"] == "not measured", naive)


def check_absent_and_wrong(tool, folder):
    nothing = {"TILEWRIGHT_BLAS": "", "TILEWRIGHT_BLIS": "", "TILEWRIGHT_ONEDNN": ""}
    found, _, text = figures(tool, folder, 0, "f32", "types", **nothing)
    expect(found["f32 32x32x32, 1 thread / oneDNN"]["verdict"] == "not measured" and "$TILEWRIGHT_ONEDNN is empty" in text, text)
    expect(found["f16 / f32 rate"]["value"] > 0, found)
    found, _, text = figures(tool, folder, 1, "ladder", FAKE_PEERS_WRONG="cblas")
    expect("oneDNN" in found["matmul_v2 32x32x32 / fastest library"]["note"] and "wrong: matmul_v2" in text, text)
    result = call([sys.executable, "bench/cpu.py", "nosuch", "--tool", tool])
    expect(result.status == 2 and "there are f32, ragged" in result.err, result)
    result = call([sys.executable, "bench/cpu.py", "--tool", f"{folder}/nosuch"])
    expect(result.status == 2 and "nosuch; ./dev build makes it" in result.err, result)
    with open(f"{folder}/table.txt", "w") as table:
        table.write("f32 kernels/matmul/tuned.tile f32 32x32x32 NOSUCH=7\nragged kernels/no.tile f32 32x32x32 -\n")
    _, report, _ = figures(tool, folder, 1)
    expect("NOSUCH" in report["failed"]["f32"] and "no.tile is not here" in report["failed"]["ragged"], report["failed"])


def check_torch(tool, folder):
    """The comparison with PyTorch; a Python without it names what is missing."""
    with open(f"{folder}/table.txt", "w") as table:
        table.write("torch kernels/matmul/tuned.tile f32 33x35x37 -\ntorch kernels/matmul/tuned.tile bf16 33x35x37 BM=16,BN=16\n")
    with open(f"{folder}/torch.py", "w") as module:
        module.write("raise ImportError('none here')\n")
    found, _, _ = figures(tool, folder, 0, "torch", PYTHONPATH=folder)
    expect([(f["verdict"], f["note"]) for f in found.values()] == [("not measured", "no PyTorch: none here")], found)
    os.remove(f"{folder}/torch.py")
    if not importlib.util.find_spec("torch") or glob.glob(f"{os.path.dirname(tool)}/libtilewright.[sd]*") == []:
        return
    found, report, _ = figures(tool, folder, 0, "torch")
    expect([f["value"] > 0 for f in found.values()] == [True] * 2 * len({1, cpu.thread_counts()[-1]}), report)


def check_verdicts():
    """Above the goal, between goal and floor, below; in the other direction if less is better."""
    verdicts = [cpu.Figure("", value, 1.0, 0.9).verdict() for value in (1.0, 0.95, 0.89, None)]
    expect(verdicts == ["PASS", "short of the goal", "SHORT", "not measured"], verdicts)
    verdicts = [cpu.Figure("", value, 1.0, 1.1, most=True).verdict() for value in (1.0, 1.05, 1.2)]
    expect(verdicts == ["PASS", "short of the goal", "SHORT"], verdicts)
    row = {"ms": 4, "least_ms": 2, "gflops": 1, "peers": [{"name": "x", "ms": 2, "least_ms": 1, "ratio": 0.5, "ok": True},
                                                         {"name": "y", "ms": 1, "least_ms": 1, "ratio": 0.1, "ok": False}, {"name": "z", "note": "no"}]}
    cpu.by_least(row)
    expect((row["ms"], row["gflops"], row["peer"], row["peer_ms"], row["ratio"]) == (2, 2, "x", 1, 0.5), row)


def check_tiles(tool, line):
    """A kernel with the first and with the last of its tiles: its values are right."""
    small = {"m": 33, "n": 35, "k": 64, "rows": 9, "cols": 70, "heads": 2, "nq": 40, "nk": 40, "d": 16}
    sizes = ",".join(f"{name}={small.get(name, value)}" for name, value in (text.split("=") for text in line.sizes.split(",")))
    types = [] if line.type == "-" else ["--type", line.type]
    for place in 0, -1:
        values = ",".join(f"{name}={listed.split('/')[place]}" for name, listed in (text.split("=") for text in line.values.split(",")))
        result = call([tool, "bench", line.files[0], *types, "--set", sizes.replace("causal=1", "causal=true"), "--tune", values, "--warmup", "0",
                       "--repeat", "1", "--peers", "none", "--json"])
        expect(result.status == 0 and all(row["ok"] for row in json.loads(result.out)["rows"]), (line.pattern, str(result)))


def check_table(tool):
    """The shipped table: its kernels exist and accept its types and values, at sizes that take no time."""
    small = {"rows": 8, "cols": 20, "heads": 2, "nq": 32, "nk": 40}
    for line in cpu.read_table("bench/configurations_cpu.txt", cpu.Line):
        expect(line.pattern == "-" or glob.glob(line.pattern), f"there is no {line.pattern}")
        if not line.files or len(line.files) > 1:
            continue
        if line.part == "tiles":
            check_tiles(tool, line)
            continue
        if line.extents():
            line.sizes = "48x40x64"
        else:
            line.sizes = ",".join(f"{name}={small.get(name, value)}" for name, value in (text.split("=") for text in line.sizes.split(",")))
        result = call([tool, "bench", *line.arguments(), "--warmup", "0", "--repeat", "1", "--peers", "none", "--json"])
        expect(result.status == 0 and all(row["ok"] for row in json.loads(result.out)["rows"]), (line.part, line.pattern, str(result)))


def main():
    tool = os.path.abspath(sys.argv[1])
    fakes = os.environ["FAKE_PEERS"]
    os.environ.update({"TILEWRIGHT_BLAS": fakes, "TILEWRIGHT_BLIS": fakes, "TILEWRIGHT_ONEDNN": fakes})
    check_verdicts()
    check_table(tool)
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/table.txt", "w") as table:
            table.write(TABLE)
        check_all(tool, folder)
        check_loops(tool, folder)
        check_absent_and_wrong(tool, folder)
        check_torch(tool, folder)


if __name__ == "__main__":
    main()
