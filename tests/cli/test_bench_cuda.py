#!/usr/bin/env python3
"""`bench --device cuda` on a driver and a cuBLAS that run on the host: rows, libraries, values, suites, statuses."""
import json
import os
import re
import sys
import tempfile

from tile_runner import call, expect, fail

ALL_TYPES = ["f16", "bf16", "f32", "tf32", "i8", "e4m3"]
FILES = [f"kernels/matmul/{name}.tile" for name in ("shared", "int8", "fp8", "tf32")]
SMALL = ["-m", "64", "-n", "48", "-k", "72"]
QUICK = ["--rounds", "2", "--seconds", "0.0001"]


def bench(tool, status, *arguments, **variables):
    before = dict(os.environ)
    os.environ.update(variables)
    result = call([tool, "bench", "--device", "cuda", *arguments, *QUICK])
    os.environ.clear()
    os.environ.update(before)
    if result.status != status:
        fail(f"bench {arguments} with {variables}: expected status {status}: {result}")
    return json.loads(result.out) if "--json" in arguments else result.out + result.err


def check_types(tool):
    """Every type has a kernel; each is compared with both libraries, except 8-bit floats, which cublasGemmEx does not take."""
    result = bench(tool, 0, *FILES, *SMALL, "--type", "all", "--json")
    rows = {r["dtype"]: r for r in result["rows"]}
    expect(list(rows) == ALL_TYPES, list(rows))
    for dtype, row in rows.items():
        libraries = {l["name"].split()[0]: l for l in row["libraries"]}
        expect(row["result"] == "PASS" and "ensures" in row["compared"] and "cuBLASLt" in row["compared"], row)
        expect(row["copies"] > 3 and row["ms"] > 0 and row["tflops"] > 0 and row["runs"] > 1, row)
        expect(row["started_as"] == "graph", row)
        expect(libraries["cuBLASLt"]["ms"] > 0, row)
        expect(("ms" in libraries["cuBLAS"]) == (dtype != "e4m3"), row)
        narrow = dtype in ("i8", "e4m3")
        expect(("[n][k]" in libraries["cuBLASLt"].get("note", "")) == narrow, row)
        best = min(l["ratio"] for l in libraries.values() if "ms" in l)
        expect(row["ratio"] == best and row["peer_ms"] > 0, row)
    expect(len(result["means"]) == len(ALL_TYPES), result["means"])


def check_values(tool):
    """A value that differs from the library's is a failure; a broken kernel fails, too."""
    said = bench(tool, 1, "kernels/matmul/shared.tile", *SMALL, FAKE_CUBLAS_WRONG="1")
    expect("FAIL" in said and "off by" in said and "compared with cuBLASLt" in said, said)
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/wrong.tile"
        with open("kernels/matmul/shared.tile") as source, open(path, "w") as out:
            out.write(source.read().replace("(T) acc;", "(T) (acc + 1);"))
        expect("FAIL" in bench(tool, 1, path, *SMALL), "a wrong kernel passes")


def check_samples(tool):
    """Without `ensures`, as at large sizes, samples are compared with double precision, and with the library's elements."""
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/silent.tile"
        with open("kernels/matmul/shared.tile") as source:
            text = source.read().replace("ensures C == dot(A, B);", "")
        for wrong in False, True:
            with open(path, "w") as out:
                out.write(text.replace("p < k;", "p < k - 16;") if wrong else text)
            row = bench(tool, wrong, path, *SMALL, "--type", "f16", "--json")["rows"][0]
            expect(row["result"] == ("FAIL" if wrong else "PASS") and "double precision" in row["compared"], row)


def check_turns(tool):
    """Kernels of one product take turns with the same libraries, on the same arrays; one that gets B transposed takes its own."""
    files = [f"kernels/matmul/{name}.tile" for name in ("shared", "nt", "stages", "batched")]
    with tempfile.TemporaryDirectory() as folder:
        log = f"{folder}/log"
        rows = bench(tool, 0, *files, *SMALL, "--type", "f16", "--json", FAKE_CUDA_LOG=log)["rows"]
        with open(log) as calls:
            uploads = len(re.findall("^cuMemcpyHtoDAsync_v2$", calls.read(), re.M))
    expect(all(r["result"] == "PASS" and "cuBLASLt" in r["compared"] for r in rows), rows)
    times = [tuple(l["ms"] for l in r["libraries"]) for r in rows]
    expect(times[0] == times[2] == times[3] and len(times[0]) == 2, times)
    said = bench(tool, 0, *files, *SMALL, "--type", "f16")
    names = re.findall(r"^f16 .* (matmul_\w+|cuBLAS|cuBLASLt) ", said, re.M)
    expect(names == ["matmul_v1", "matmul_nt", "cuBLAS", "cuBLASLt", "matmul_v4", "matmul_batched", "cuBLAS", "cuBLASLt"], said)
    more = bench(tool, 0, *files[:1], *SMALL, "--type", "f16", "--json", FAKE_CUDA_L2=str(1 << 22))["rows"][0]["copies"]
    expect(more > 3 * rows[0]["copies"] and uploads < 2 * more, (more, uploads)) # copies are made on the device


def check_without_library(tool):
    """Samples alone find wrong elements: in the last row and column, in the last matrix."""
    with tempfile.TemporaryDirectory() as folder:
        for name, sizes, at in (("shared", ["-m", "70", "-n", "90", "-k", "80"], "block.x == cdiv(m, BM) - 1 && block.y == cdiv(n, BN) - 1"),
                                ("batched", ["-m", "33", "-n", "20", "-k", "24", "--batch", "5"], "block.z == batch - 1")):
            with open(f"kernels/matmul/{name}.tile") as source:
                text = re.sub(r"ensures [^;]*;", "", source.read())
            for wrong in False, True:
                with open(f"{folder}/{name}.tile", "w") as out:
                    out.write(text.replace("(T) acc;", f"(T) (({at}) ? acc + 0.25 : acc);") if wrong else text)
                row, = bench(tool, wrong, f"{folder}/{name}.tile", *sizes, "--type", "f16", "--json", TILEWRIGHT_CUBLAS="/nowhere")["rows"]
                expect(row["result"] == ("FAIL" if wrong else "PASS") and row["compared"].endswith("elements in double precision"), row)


def check_shapes(tool):
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/few.txt", "w") as out:
            out.write("# a comment\n16 16 16\n\n24 8 40 2  # two of them\n")
        result = bench(tool, 0, "kernels/matmul/shared.tile", "kernels/matmul/batched.tile", "--suite",
                       f"{folder}/few.txt", "--json")
        rows = [(r["kernel"], r["class"], r["m"], r["n"], r["k"], r["batch"]) for r in result["rows"]]
        expect(rows == [("matmul_v1", "few", 16, 16, 16, 1), ("matmul_batched", "few", 16, 16, 16, 1),
                        ("matmul_batched", "few", 24, 8, 40, 2)], rows)
        expect(result["means"][0]["class"] == "few" and result["means"][0]["sizes"] == 2, result["means"])
        with open(f"{folder}/bad.txt", "w") as out:
            out.write("16 16 16\n16 x\n")
        expect("bad.txt:2" in bench(tool, 2, "--suite", f"{folder}/bad.txt"), "the line is not named")
    lists = bench(tool, 0, "kernels/matmul/shared.tile", "-m", "8,16", "-n", "8", "-k", "8,24", "--json")["rows"]
    expect([(r["m"], r["k"]) for r in lists] == [(8, 8), (8, 24), (16, 8), (16, 24)], lists)


def check_graphs(tool):
    """Runs that cannot be recorded are started one by one, for all contenders."""
    arguments = "kernels/matmul/shared.tile", *SMALL, "--json"
    with tempfile.TemporaryDirectory() as folder:
        log, made = f"{folder}/log", 0
        for started in "graph", "launches":
            failing = {"FAKE_CUDA_FAIL": f"cuGraphInstantiateWithFlags:{made}:801"} if made else {} # the last one
            row, = bench(tool, 0, *arguments, FAKE_CUDA_LOG=log, **failing)["rows"]
            expect(row["started_as"] == started and row["result"] == "PASS" and len(row["libraries"]) == 2, row)
            with open(log) as calls:
                text = calls.read()
            os.remove(log)
            made, freed = (len(re.findall(rf"^{name}$", text, re.M)) for name in ("cuGraphInstantiateWithFlags", "cuGraphExecDestroy"))
            expect(made > 4 and freed == made - bool(failing), (made, freed))


def check_triton(tool):
    """A message if Triton is absent; a row if a python3 prints one."""
    arguments = "kernels/matmul/shared.tile", *SMALL, "--triton"
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}:{os.environ['PATH']}"
        for line, status in ("no Triton to compare with", 3), ('{"name": "Triton 9.9", "ms": 0.5, "ok": true}', 0):
            with open(f"{folder}/python3", "w") as script:
                script.write(f"#!/bin/sh\necho '{line}'\nexit {status}\n")
            os.chmod(f"{folder}/python3", 0o755)
            row, = bench(tool, 0, *arguments, "--json", PATH=path)["rows"]
            expect(row["triton"].get("note") == line if status else row["triton"]["ms"] == 0.5, row)
            said = bench(tool, 0, *arguments, PATH=path)
            expect(("0.5000" in said and "Triton 9.9" in said) != bool(status), said)
        row, = bench(tool, 0, "kernels/matmul/int8.tile", *SMALL, "--triton", "--json", PATH=path)["rows"]
        expect("f16, bf16" in row["triton"]["note"], row)


def check_tuned(tool):
    """The values that `tune` has stored for these sizes, for the nearest ones, or else the defaults."""
    with tempfile.TemporaryDirectory() as folder:
        store = ["--store", f"{folder}/tuned.db"]
        tuned = call([tool, "tune", "kernels/matmul/auto.tile", "--device", "cuda", "--set", "m=64,n=48,k=72", "--tune",
                      "BM=64,BK=32,WARPS=4,STAGES=3", *store])
        expect(tuned.status == 0, tuned)
        rows = bench(tool, 0, "kernels/matmul/auto.tile", "kernels/matmul/async.tile", "-m", "64,512", "-n", "48", "-k", "72", "--json",
                     "--tuned", *store)["rows"]
        got = [(r["kernel"], r["m"], "BM=64,BN=128,BK=32" in r["config"], r["config_from"]) for r in rows]
        expect(got == [("matmul_auto", 64, True, "tuned"), ("matmul_v3", 64, False, "default"),
                       ("matmul_auto", 512, True, "tuned for the nearest sizes"), ("matmul_v3", 512, False, "default")], got)


def check_others(tool):
    said = bench(tool, 0, "kernels/matmul/shared.tile", *SMALL, TILEWRIGHT_CUBLAS="/nowhere")
    expect("/nowhere" in said and "PASS" in said, said)
    said = bench(tool, 0, "kernels/fused/softmax.tile", "--set", "rows=8,cols=20")
    expect("softmax" in said and "PASS" in said and "in turn" not in said and "compared with no library" in said, said)
    said = bench(tool, 0, "kernels/matmul/auto.tile", *SMALL, "--tune", "BM=64,BN=128")
    expect("BM=64,BN=128" in said and "--tune" in said, said)
    bench(tool, 2, "kernels/matmul/shared.tile", "-m", "8")
    bench(tool, 2, "kernels/matmul/shared.tile", "--suite", "nosuch")
    bench(tool, 2, "kernels/matmul/shared.tile", "--type", "f17", *SMALL)
    said = bench(tool, 2, "kernels/matmul/shared.tile", *["--type", "all"] * 3, *SMALL)
    expect("at most 16 types" in said, said)
    bench(tool, 2, "kernels/matmul/shared.tile", "--warmup", "3", *SMALL)
    second = bench(tool, 0, "kernels/matmul/shared.tile", *SMALL, "--device", "cuda:1", FAKE_CUDA_DEVICES="2", TILEWRIGHT_CUBLAS="/nowhere")
    expect("simulator 1" in second and "PASS" in second, second)
    first = bench(tool, 0, "kernels/matmul/shared.tile", *SMALL, "--device", "cuda:0", "--json", FAKE_CUDA_DEVICES="2", TILEWRIGHT_CUBLAS="/nowhere")
    expect(first["device"].startswith("simulator,") and first["rows"][0]["copies"] > 3, first)
    said = bench(tool, 2, "kernels/matmul/shared.tile", *SMALL, "--device", "cuda:x")
    expect("tilewright devices" in said, said)
    no_gpu = bench(tool, 2, "kernels/matmul/shared.tile", *SMALL, FAKE_CUDA_DEVICES="0")
    expect("GPU" in no_gpu, no_gpu)
    said = bench(tool, 1, "kernels/matmul/int8.tile", *SMALL, "--type", "f16")
    expect("nothing was measured: no kernel takes these types and sizes" in said, said)
    skipped = bench(tool, 1, "kernels/matmul/fp8.tile", *SMALL, FAKE_CUDA_SM="80")
    expect("nothing was measured: matmul_f8: " in skipped and "sm_89" in skipped, skipped)
    if call([tool, "bench", "-m", "8"]).status != 2:
        fail("-m without --device cuda")


def main():
    tool = os.path.abspath(sys.argv[1])
    os.environ.update({"TILEWRIGHT_CUDA_DRIVER": os.environ["FAKE_CUDA"], "FAKE_CUDA_SM": "90",
                       "TILEWRIGHT_CUBLAS": os.environ["FAKE_CUBLAS"]})
    check_types(tool)
    check_values(tool)
    check_samples(tool)
    check_turns(tool)
    check_without_library(tool)
    check_shapes(tool)
    check_graphs(tool)
    check_triton(tool)
    check_tuned(tool)
    check_others(tool)


if __name__ == "__main__":
    main()
