#!/usr/bin/env python3
"""`bench` on the CPU: every shipped kernel passes at small and ragged sizes; libraries to compare with, right, wrong and absent; statuses;
the report gives the reason for each case that it skips."""
import glob
import json
import os
import re
import sys
import tempfile

from tile_runner import call, expect, fail

LADDERS = sorted(glob.glob("kernels/matmul/*.tile") + glob.glob("kernels/sgemm/*.tile"))
WRONG = """
kernel wrong(i32 m, i32 n, i32 k, const f32 *a, const f32 *b, f32 *c) grid(cdiv(m, 16), cdiv(n, 16)) warps(1)
{
    global f32 A[m][k] = a, B[k][n] = b, C[m][n] = c;
    C[block.x * 16 +: 16][block.y * 16 +: 16] = 1.0;
    ensures C == dot(A, B);
}
kernel picky(i32 m, i32 n, i32 k, const f32 *a, f32 *c) grid(1) warps(1)
{
    assume(k % 16 == 0);
    global f32 A[k] = a, C[k] = c;
    for (i32 i = 0; i < k; i += 16)
        C[i +: 16] = A[i +: 16];
    ensures C == A;
}
"""
QUICK = ["--warmup", "0", "--repeat", "1", "--json"]


def bench(tool, status, *arguments, **where):
    result = call([tool, "bench", *arguments], **where)
    if result.status != status:
        if "--json" in arguments and result.out:
            fail("\n".join(str(r) for r in json.loads(result.out)["rows"] if r.get("result", "PASS") != "PASS"))
        fail(f"bench {arguments}: expected status {status}: {result}")
    return result.out


def rows_of(tool, status, *arguments, **environment):
    """Returns the report with these variables in the environment."""
    return json.loads(bench(tool, status, *arguments, *QUICK, env=dict(os.environ, **environment)))


FAKES = {"TILEWRIGHT_BLAS": os.environ["FAKE_PEERS"], "TILEWRIGHT_BLIS": os.environ["FAKE_PEERS"], "TILEWRIGHT_ONEDNN": os.environ["FAKE_PEERS"]}
NONE = {name: "" for name in FAKES}


def check_peers(tool, folder):
    """Each library is named with its core, timed on as many threads as the kernel, and compared."""
    log = f"{folder}/threads"
    report = rows_of(tool, 0, "kernels/matmul/shared.tile", "-s", "48", "--threads", "2", **FAKES, FAKE_PEERS_LOG=log)
    names = ["OpenBLAS 9.8.7 (SkylakeX)", "BLIS 7.6.5", "oneDNN 2.6.3"]
    expect([p["name"] for p in report["peers"]] == names, report["peers"])
    row, = report["rows"]
    expect([p["name"] for p in row["peers"]] == names and all(p["ms"] > 0 and p["ok"] for p in row["peers"]), row)
    best = min(row["peers"], key=lambda p: p["ratio"])
    expect((row["peer"], row["peer_ms"], row["ratio"]) == (best["name"], best["ms"], best["ratio"]), row)
    wanted = {"kernel", "device", "dtype", "m", "n", "k", "ms", "gflops", "peer", "peer_ms", "ratio", "max_error", "tolerance", "ok"}
    expect(wanted <= set(row) and row["dtype"] == "f32" and row["ok"], wanted - set(row))
    expect(row["compared"].count("all elements compared with") == 3 and "by ensures" in row["compared"], row)
    with open(log) as said:
        expect({"openblas 2", "blis 2", "openmp 2"} <= set(said.read().splitlines()), log)
    report = rows_of(tool, 0, "kernels/matmul/shared.tile", "-s", "16", **FAKES, OPENBLAS_CORETYPE="Zen")
    expect(report["peers"][0]["name"] == "OpenBLAS 9.8.7 (Zen)", report["peers"])


def check_peer_types(tool):
    """Types that only some libraries have; transposed operands, with more than the product; batches; oneDNN 2 and 3."""
    for library, name in (os.environ["FAKE_PEERS"], "oneDNN 2.6.3"), (os.environ["FAKE_PEERS_3"], "oneDNN 3.4.5"):
        fakes = {**FAKES, "TILEWRIGHT_ONEDNN": library}
        report = rows_of(tool, 0, "kernels/matmul/shared.tile", "kernels/matmul/batched.tile", "-m", "24", "-n", "40", "-k", "36", "--batch", "3",
                         "--type", "f16,bf16,f32", **fakes)
        for row in report["rows"]:
            expect(row["batch"] == 3 and row["ok"], row)
            if row["dtype"] == "f32":
                continue
            expect(row["peer"] == name and "does not multiply" in row["peers"][0]["note"], row)
        expect({"f16", "bf16"} <= {r["dtype"] for r in report["rows"]}, report["rows"])
        row, = rows_of(tool, 0, "kernels/fused/linear_gelu.tile", "--dims", "20", "30", "40", **fakes)["rows"]
        expect((row["m"], row["k"], row["n"]) == (20, 30, 40) and len([p for p in row["peers"] if p["ok"]]) == 3, row)
        expect("compared with" not in row["compared"], row)


def check_wrong_peers(tool):
    """Wrong values, failing calls and files that are not libraries: the report names them and never compares with them."""
    arguments = ["kernels/matmul/shared.tile", "-s", "32"]
    row, = rows_of(tool, 1, *arguments, **FAKES, FAKE_PEERS_WRONG="cblas")["rows"]
    expect(row["ok"] and row["peer"].startswith("oneDNN"), row)
    expect([p["ok"] for p in row["peers"]] == [False, False, True] and "off by 1" in row["peers"][0]["note"], row)
    row, = rows_of(tool, 0, *arguments, **FAKES, FAKE_PEERS_FAIL="dnnl")["rows"]
    expect("status 5" in row["peers"][2]["note"] and not row["peer"].startswith("oneDNN"), row)
    report = rows_of(tool, 0, *arguments, **{**NONE, "TILEWRIGHT_BLIS": "/no/such.so", "TILEWRIGHT_BLAS": os.environ["FAKE_PEERS_3"],
                                             "TILEWRIGHT_ONEDNN": "libm.so.6"})
    missing = [p["missing"] for p in report["peers"]]
    expect("told to run" in missing[0] and "/no/such.so" in missing[1] and "no product" in missing[2], missing)
    expect("peer" not in report["rows"][0] and report["rows"][0]["ok"], report)


def check_turns(tool):
    """The head names the libraries, the copy, both or nothing that kernels take turns with; if all are skipped, the last line says that."""
    shared, softmax = "kernels/matmul/shared.tile", ["kernels/fused/softmax.tile", "--set", "rows=8,cols=20"]
    for arguments, fakes, said in ((softmax, FAKES, "s), kernel and a copy in turn; inputs"), ([shared], NONE, " s); inputs"),
                                   ([shared], FAKES, "s), kernel and libraries in turn; inputs"),
                                   ([shared, *softmax], FAKES, "s), kernel and libraries, or a copy, in turn; inputs")):
        head = bench(tool, 0, *arguments, "-s", "16", *QUICK[:4], env={**os.environ, **fakes}).split("\n\n")[0]
        expect(said in head and ("/copy: the time of a copy" in head) == (softmax[0] in arguments), head)
    expect("kernel and" not in bench(tool, 0, shared, "-s", "16", *QUICK[:4], "--peers", "none").split("\n\n")[0], "no library")
    skipped = call([tool, "bench", softmax[0]])
    expect(skipped.status == 1 and skipped.err == "tilewright: nothing was measured: softmax: needs --set rows=…,cols=…\n", skipped)
    bench(tool, 0, softmax[0], shared, "-s", "16", *QUICK)  # some are not


def check_together(tool):
    """Kernels and types take turns; libraries run once for the same product."""
    report = rows_of(tool, 0, "kernels/matmul/shared.tile", "kernels/matmul/tuned.tile", "kernels/fused/softmax.tile", "--set", "rows=8,cols=20",
                     "-s", "32", "-s", "16", "--type", "f32,bf16", "--together", **FAKES)
    sizes = [(r["dtype"], r.get("m"), r["kernel"]) for r in report["rows"]]
    expect(sizes == [(t, s, k) for t in ("f32", "bf16") for s in (32, 16) for k in ("matmul_v1", "matmul_v2")] + [("f32", None, "softmax")], sizes)
    same = [r["peers"][2]["ms"] for r in report["rows"][:2]]
    expect(same[0] == same[1], same)
    softmax = report["rows"][-1]
    expect(softmax["peer"] == "copy" and softmax["ratio"] > 0 and softmax["gbytes_per_second"] > 0, softmax)


def check_endless(tool, folder):
    """An endless run fails, with the option that allows more time and the command that finds the place; the kernels after it are timed."""
    shared = "kernels/matmul/shared.tile"
    endless = f"{folder}/endless.tile"
    with open(shared) as text, open(endless, "w") as out:
        out.write(text.read().replace("p += BK", "p += 0"))
    arguments = [endless, shared, "-s", "16", "--timeout", "200ms", "--peers", "none"]
    hangs, right = rows_of(tool, 1, *arguments)["rows"]
    again = f"run {endless}:matmul_v1 --set m=16,n=16,k=16 --type f32 --fill rand --device sim --step-limit 1000000"
    why = f"one run took more than 0.2 s: --timeout 2s gives it longer; where it hangs, `tilewright {again}` says"
    expect((hangs["result"], hangs["ok"], hangs["why"]) == ("FAIL", False, why) and right["result"] == "PASS", (hangs, right))
    said = call([tool, *again.split()])
    expect(said.status == 1 and re.search(r"endless\.tile:1[5-9]:\d+: error", said.err), said)
    table = bench(tool, 1, *arguments)
    expect(f"FAIL   {why}\n" in table and table.count(" PASS ") == 1, table)
    bench(tool, 1, *arguments, "--together", *QUICK)
    for which in (["--device", "cuda", endless], ["sim"]):
        expect("--timeout" in call([tool, "bench", *which, "--timeout", "1s"]).err, which)
    expect("--timeout soon: expected a time" in call([tool, "bench", "--timeout", "soon"]).err, "a time")


def check_choices(tool):
    """--peers, --all-sizes and suites; names that match nothing."""
    report = rows_of(tool, 0, "kernels/matmul/shared.tile", "-s", "16", "--peers", "blis", **FAKES)
    expect([p["name"] for p in report["peers"]] == ["BLIS 7.6.5"], report["peers"])
    report = rows_of(tool, 0, "kernels/matmul/shared.tile", "-s", "16", "--peers", "none", **FAKES)
    expect(report["peers"] == [] and report["rows"][0]["peers"] == [], report)
    result = call([tool, "bench", "-s", "16", "--peers", "blis,mkl"])
    expect(result.status == 2 and "there is no 'mkl'" in result.err, result)
    report = rows_of(tool, 0, "kernels/matmul/registers.tile", "-a", "--peers", "none")
    expect([(r["m"], r["k"], r["n"]) for r in report["rows"]] == [(512, 512, 512), (1024, 1024, 1024), (256, 384, 640), (511, 513, 1025)], report)
    result = call([tool, "bench", "kernels/matmul/int8.tile", "--type", "f32"])
    expect(result.status == 1 and "nothing was measured" in result.err, result)
    expect("--type f32: matmul_i8 takes no elements of that type" in result.err, result)
    result = call([tool, "bench", "kernels/matmul/shared.tile", "-s", "16", "--peers", "none", "--type", "f32,f64", *QUICK])
    expect(result.status == 0 and "--type f64: matmul_v1 takes no elements of that type" in result.err, result)
    expect("--type f32" not in result.err, result)
    result = call([tool, "bench", "-s", "16", "--peers", "none", "--type", "f64"])
    expect(result.status == 1 and "--type f64: no kernel here takes elements of that type" in result.err, result)


def main():
    tool = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        check_peers(tool, folder)
        check_endless(tool, folder)
    check_peer_types(tool)
    check_wrong_peers(tool)
    check_turns(tool)
    check_together(tool)
    check_choices(tool)
    os.environ.update(NONE)
    rows = json.loads(bench(tool, 0, *LADDERS, "--dims", "33", "70", "65", "-s", "64", *QUICK))["rows"]
    kernels = [r for r in rows if "result" in r]
    if len(kernels) < 2 * len(LADDERS):
        fail(f"{len(kernels)} rows for {len(LADDERS)} files and two sizes")
    for row in kernels:
        if row["result"] != "PASS" and not (row["result"] == "skipped" and row["why"]):
            fail(f"{row}")
    if not any(r["result"] == "PASS" and (r["m"], r["k"], r["n"]) == (33, 70, 65) for r in kernels):
        fail("--dims is M K N")
    table = bench(tool, 0, "kernels/matmul/shared.tile", "-s", "32", "--warmup", "1", "--repeat", "2", "--type", "f16")
    if "latency(ms)" not in table or "PASS" not in table:
        fail(table)
    other = bench(tool, 0, "kernels/fused/softmax.tile", "--set", "rows=8,cols=20", "--warmup", "0", "--repeat", "1")
    if "GB/s" not in other or "PASS" not in other or "cols = 20" not in other:
        fail(other)
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/wrong.tile", "w") as out:
            out.write(WRONG)
        rows = json.loads(bench(tool, 1, "wrong.tile", "-s", "20", *QUICK, cwd=folder))["rows"]
        rows = [r for r in rows if "result" in r]
        if rows[0]["result"] != "FAIL" or rows[1]["result"] != "skipped" or "assume" not in rows[1]["why"]:
            fail(f"{rows}")
    bench(tool, 2, "--dims", "1", "2")
    bench(tool, 2, "-s", "0")
    bench(tool, 2, "no/such.tile")
    for name, said in (("nosuch", "; there are 'all', 'batched', 'deep_k', 'llm', 'ragged' and 'squares'"), ("square", "; did you mean 'squares'?")):
        result = call([tool, "bench", "--suite", name])
        if result.status != 2 or f"there is no suite '{name}' (" not in result.err or said not in result.err:
            fail(f"--suite {name}: {result}")


if __name__ == "__main__":
    main()
