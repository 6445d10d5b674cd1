#!/usr/bin/env python3
"""`check`, `run --verify`, `bench` and `tune` of kernels that are right only if their outputs hold zeros before the launch."""
import json
import os
import sys
import tempfile

from tile_runner import call_on, fail

HEAD = """kernel f(i32 n, const f32 *a, f32 *o{more}) grid(cdiv(n, 64)) threads(64)
{{
    global f32 A[n] = a, O[n] = o;{view}
    i32 i = block.x * 64 + thread.x;
    if (i < n)
        {body}
    ensures O == {value};
}}
"""


def kernel(body, value="A", more="", view=""):
    return HEAD.format(body=body, value=value, more=more, view=view)


ADDS = kernel("O[i] += A[i];")
LEAVES = kernel("if (A[i] > 0) O[i] = A[i];", "max(A, 0)")
GREATEST = kernel("O[i] = max(O[i], abs(A[i]));", "abs(A)")
ATOMIC = kernel("atomic_add(O[i], A[i]);")
HINT = "it is right where `o` holds zeros before the launch"
# A read without consequence: only the simulator sees it.
IDLE = kernel("{ f32 v = O[i]; O[i] = A[i] + (v == 12345.0 ? 1.0 : 0.0); }")
# The caller gives arrays that `ensures` does not mention: a count that goes on.
COUNTS = kernel("{ O[i] = A[i]; N[i] += 1; }", more=", i32 *count", view="\n    global i32 N[n] = count;")


def main():
    tool = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:

        def run(text, *arguments, status):
            return call_on(folder, text, [tool, arguments[0], "k.tile", *arguments[1:]], status)

        verify = ["run", "--set", "n=70", "--fill", "rand", "--verify"]
        for text in (ADDS, LEAVES, GREATEST, ATOMIC):
            for arguments in (["check", "--no-sim"], ["check"], verify, [*verify, "--device", "sim"]):
                result = run(text, *arguments, status=1)
                if HINT not in result.err or "--fill o=zero" not in result.err:
                    fail(f"{arguments}: no word of zeros: {result}\n{text}")
            run(text, "check", "--fill", "o=zero", status=0)
            run(text, *verify, "--fill", "o=zero", status=0)
        if "read and was never written" not in run(ADDS, "check", status=1).err:
            fail("not said which access reads it")
        found = json.loads(run(ADDS, "check", "--json", status=1).out)[0]["findings"]
        if [f["kind"] for f in found] != ["wrong values", "uninitialised"] or found[1]["line"] != 6:
            fail(f"in JSON: {found}")
        # values and files are those of the run on zeros
        with_values = json.loads(run(LEAVES, *verify, "--json", "--set", "n=5", status=1).out)
        values = with_values["arrays"]["o"]["values"]
        if with_values["verified"] or not all(v >= 0 for v in values):
            fail(f"values of a run that is wrong: {with_values}")
        result = run(IDLE, "check", status=1)
        if "k.tile:6:" not in result.err or "say --fill o=zero" not in result.err:
            fail(f"a read of no consequence: {result}")
        run(COUNTS, "check", status=0)
        run(COUNTS, *verify, status=0)
        # it prints once, and the counts are kept
        result = run(kernel("{ O[i] = A[i]; print(i); }"), *verify, "--set", "n=2", status=0)
        if result.out.count("i = ") != 2:
            fail(f"printed: {result}")
        result = run(kernel("O[i] = A[i];"), *verify, "--device", "sim", "--counters", status=0)
        if "warp_instructions" not in result.out or "verified: 70 elements" not in result.out:
            fail(f"counters: {result}")
        # the caller gives one of two outputs
        both = kernel("{ O[i] += A[i]; P[i] += A[i]; }", "A;\n    ensures P == A", more=", f32 *p", view="\n    global f32 P[n] = p;")
        for arguments in (["check"], verify):
            if "where `o`, `p` hold zeros" not in run(both, *arguments, status=1).err:
                fail(f"{arguments}: two outputs")
            if "where `p` holds zeros" not in run(both, *arguments, "--fill", "o=zero", status=1).err:
                fail(f"{arguments}: one of two outputs")
            run(both, *arguments, "--fill", "o=zero", "--fill", "p=zero", status=0)
        run("kernel g(i32 n, f32 *o) grid(1) threads(1) { global f32 O[n] = o; O[0] = 0; }", "run", "--set", "n=70", "--out", "o=o.npy", status=0)
        if "where `p` holds zeros" not in run(both, *verify, "--in", "o=o.npy", status=1).err:
            fail("one of two outputs is given")
        # timed runs are verified in the same way
        sizes = ["--set", "n=5000"]
        for text in (ADDS, LEAVES):
            for arguments in (["bench", *sizes], ["tune", *sizes, "--store", "s.db"]):
                result = run(text, *arguments, status=1)
                if "right with --fill o=zero" not in result.out + result.err:
                    fail(f"{arguments}: no word of zeros: {result}\n{text}")
                run(text, *arguments, "--fill", "o=zero", status=0)
                os.path.exists(f"{folder}/s.db") and os.remove(f"{folder}/s.db")
                if "`p`" in run(text, *arguments, "--fill", "p=zero", status=2).err:
                    fail(f"{arguments}: an array that is not there")
        run(kernel("O[i] = A[i];"), "bench", *sizes, status=0)
        for wrong in ("o", "o=0", "zeros"):
            run(ADDS, "check", "--fill", wrong, status=2)
        if "`p`" in run(ADDS, "check", "--fill", "p=zero", status=2).err:
            fail("an array that is not there")


if __name__ == "__main__":
    main()
