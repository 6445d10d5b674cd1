#!/usr/bin/env python3
"""bench/gpu.py on a driver and a cuBLAS that run on the host: parts, the report, absent libraries, statuses."""
import glob
import json
import os
import shutil
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../bench"))
from gpu import Line  # noqa: E402
from tile_runner import call, expect, fail

TABLE = """# part kernel type sizes values
small  kernels/matmul/s[hp]*[e_][dk].tile f16   64x48x32    -
small  kernels/matmul/auto.tile      f16   64x48x32    BM=64,BN=128
small  kernels/matmul/nosuch.tile    f16   64x48x32    -
few    kernels/matmul/shared.tile    f16   {folder}/few.txt -
nvcc   -                             f32   32x32x32    -
triton -                             f16   64x64x64    -
launch  -                            -     -           -
compile kernels/matmul/[rs]h*.tile   -     -           -
wrong  kernels/matmul/auto.tile      f16   64x48x32    NOSUCH=7
"""


def nvcc():
    return shutil.which("nvcc", path=os.environ["PATH"] + ":/usr/local/cuda/bin")


def gpu(tool, folder, status, *parts):
    """Returns the report of the parts, as JSON and as text."""
    result = call([sys.executable, "bench/gpu.py", *parts, "--tool", tool, "--out", folder, "--configurations", f"{folder}/table.txt",
                   "--sgemm", f"{folder}/sgemm.ptx", "--rounds", "1", "--seconds", "0.0001"])
    if result.status != status:
        fail(f"gpu.py {parts}: expected status {status}: {result}")
    with open(f"{folder}/report.json") as report, open(f"{folder}/report.md") as text:
        return json.load(report)["parts"], text.read()


def check_bench(tool, folder):
    parts, text = gpu(tool, folder, 0, "small")
    rows = parts["small"]["rows"]
    expect([(r["kernel"], r["result"]) for r in rows] ==
           [("matmul_v1", "PASS"), ("matmul_v5", "PASS"), ("matmul_auto", "PASS"), ("kernels/matmul/nosuch.tile", "skipped")], rows)
    expect("BM=64,BN=128" in rows[2]["config"] and rows[2]["config_from"] == "--tune", rows[2])
    mean, = parts["small"]["means"]
    expect(mean["sizes"] == 1 and mean["ratio"] == max(r["ratio"] for r in rows[:3]), mean)
    expect("| f16 | 64 | 48 | 32 | matmul_v1 |" in text and text.count("| cuBLAS 13") == 1 and "nosuch.tile is not here" in text, text)


def check_suite(tool, folder):
    with open(f"{folder}/few.txt", "w") as suite:
        suite.write("# m n k\n16 16 16\n24 8 40\n")
    parts, _ = gpu(tool, folder, 0, "few")
    expect([(r["class"], r["m"]) for r in parts["few"]["rows"]] == [("few", 16), ("few", 24)], parts)
    expect(parts["few"]["means"][0]["sizes"] == 2, parts["few"]["means"])


def check_failing(tool, folder):
    parts, text = gpu(tool, folder, 1, "wrong")
    expect(not parts["wrong"]["ok"] and "NOSUCH" in parts["wrong"]["rows"][0]["why"], parts)
    result = call([sys.executable, "bench/gpu.py", "nosuch", "--tool", tool])
    expect(result.status == 2 and "there are" in result.err, result)
    absent = call(["env", "FAKE_CUDA_DEVICES=0", sys.executable, "bench/gpu.py", "--tool", tool, "--out", folder])
    expect(absent.status == 2 and absent.out == "" and absent.err.startswith("tilewright: no GPU to run on: ") and absent.err.count("\n") == 1, absent)
    shown = call([sys.executable, "bench/gpu.py", "--help"])
    expect(shown.status == 0 and "parts: prepare, ladder, " in " ".join(shown.out.split()), shown)


def check_nvcc(tool, folder):
    if not nvcc():
        return
    made = call([nvcc(), "-O3", "-arch=sm_90", "-ptx", "bench/cuda/sgemm.cu", "-o", f"{folder}/sgemm.ptx"])
    expect(made.status == 0, made)
    parts, text = gpu(tool, folder, 0, "nvcc", "triton")
    rows = parts["nvcc"]["rows"]
    expect(len(rows) == 7 and all(r["ms"] > 0 and r["nvcc_ms"] > 0 for r in rows), rows)
    expect("skipped" in parts["triton"] or parts["triton"]["rows"][0]["ok"], parts["triton"])


def check_costs(tool, folder):
    parts, text = gpu(tool, folder, 0, "launch", "compile")
    expect([r["call"] for r in parts["launch"]["rows"]] == ["cuLaunchKernel", "tw_entry_start", "tw_launch_start", "3_tensor_maps",
                                                             "3_other_maps"], parts["launch"])
    row, = parts["compile"]["rows"]
    expect(row["file"] == "kernels/matmul/shared.tile" and row["to_ptx_ms"] > 0 and row["cached_ms"] > 0, row)
    expect("| tw_entry_start |" in text and "| kernels/matmul/shared.tile |" in text, text)


def check_load(tool):
    """The resources that a kernel uses, without timing it."""
    row, = json.loads(call([tool, "bench", "--device", "cuda", "--load", "--json", "kernels/matmul/auto.tile", "-s", "4096"]).out)["rows"]
    expect(row["threads"] == 128 and row["registers"] > 0 and row["shared_bytes"] > 0 and row["blocks_at_a_time"] > 0 and "ms" not in row, row)


def check_table(tool):
    """The shipped table: every kernel exists and accepts its sizes and values."""
    with open("bench/configurations.txt") as table:
        lines = [Line(text) for text in table if text.split() and not text.startswith("#")]
    for line in lines:
        expect(line.pattern == "-" or line.files, f"there is no {line.pattern}")
        if line.part == "suite":
            check_family(tool, line.pattern, line.type, line.sizes)
        if line.is_suite or line.sizes == "-" or line.part in ("nvcc", "triton", "ladder", "threads"):  # suites, patterns
            continue
        chosen = line.arguments() if line.values != "tuned" else [*line.files, "--type", line.type]
        environment = {**os.environ, "FAKE_CUDA_SM": "90"} if line.part == "hopper" else None
        result = call([tool, "bench", "--device", "cuda", "--load", "--json", *chosen, *line.size_arguments()], env=environment)
        expect(result.status == 0, (line.part, line.pattern, line.values, str(result)))
        rows = json.loads(result.out)["rows"]
        expect(len(rows) == len(line.files) and all(row["result"] == "not checked" for row in rows), rows)


def check_family(tool, family, dtype, suite):
    """The family has a variant for every size that the suite has for it, in every type."""
    rows = json.loads(call([tool, "bench", "--device", "cuda", "--load", "--best", "--json", family, "--type", dtype, "--suite", suite]).out)["rows"]
    batched = [row["batch"] > 1 for row in rows]
    expect(rows and all(row["result"] == "not checked" and row["chosen"]["by"] for row in rows), rows)
    expect(all(batched) if suite == "batched" else not any(batched), batched)
    sizes = [line for path in glob.glob(f"bench/suite/{'*' if suite == 'all' else suite}.txt") for line in open(path) if line[0].isdigit()]
    taken = [line for line in sizes if (len(line.split("#")[0].split()) == 4) == (suite == "batched")]
    expect(len(rows) == len(dtype.split(",")) * len(taken), (len(rows), len(taken)))


UNWRITTEN = """kernel half(i32 n, const f32 *a, f32 *c) grid(cdiv(n, 64)) warps(1)
{
    global f32 A[n] = a, C[n] = c;
    C[block.x * 64 +: 32] = A[block.x * 64 +: 32] * 0;
    ensures C == A * 0;
}
"""


def check_unwritten(tool, folder):
    """Before the verified run, outputs hold values that no kernel computes, so zeros that the kernel does not write are not taken for its
    own."""
    with open(f"{folder}/half.tile", "w") as out:
        out.write(UNWRITTEN)
    for device in ("cuda", "cpu"):
        bench = [tool, "bench", f"{folder}/half.tile", "--set", "n=256", "--device", device, *([] if device == "cuda" else ["--warmup", "0", "--repeat", "1"])]
        wrong, = json.loads(call([*bench, "--json"]).out)["rows"]
        expect(wrong["result"] == "FAIL" and "C[" in wrong["why"], (device, wrong))


def main():
    tool = os.path.abspath(sys.argv[1])
    os.environ.update({"TILEWRIGHT_CUDA_DRIVER": os.environ["FAKE_CUDA"], "FAKE_CUDA_SM": "90", "TILEWRIGHT_CUBLAS": os.environ["FAKE_CUBLAS"]})
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TILEWRIGHT_CACHE"] = f"{folder}/cache"
        with open(f"{folder}/table.txt", "w") as table:
            table.write(TABLE.replace("{folder}", folder))
        check_bench(tool, folder)
        check_suite(tool, folder)
        check_failing(tool, folder)
        check_nvcc(tool, folder)
        check_costs(tool, folder)
        check_load(tool)
        check_table(tool)
        check_unwritten(tool, folder)


if __name__ == "__main__":
    main()
