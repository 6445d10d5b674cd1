#!/usr/bin/env python3
"""`bench`: every kernel that ships passes at small and ragged sizes; statuses; what is skipped says why."""
import glob
import json
import os
import sys
import tempfile

from tile_runner import call, fail

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


def bench(tool, status, *arguments, cwd=None):
    result = call([tool, "bench", *arguments], cwd=cwd)
    if result.status != status:
        if "--json" in arguments and result.out:
            fail("\n".join(str(r) for r in json.loads(result.out)["rows"] if r.get("result", "PASS") != "PASS"))
        fail(f"bench {arguments}: expected status {status}: {result}")
    return result.out


def main():
    tool = os.path.abspath(sys.argv[1])
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


if __name__ == "__main__":
    main()
