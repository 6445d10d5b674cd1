#!/usr/bin/env python3
"""`check` runs once with wide inputs: kernels that overflow or lose digits there are wrong, and correct kernels pass."""
import json
import os
import re
import sys
import tempfile

from tile_runner import call_on, fail

# Without the maximum, exp overflows.
SOFTMAX = """type T = {{f32, f16, bf16}};

kernel softmax(i32 rows, static i32 cols, const T *x, T *y) grid(rows) warps(4)
{{
    const i32 W = pow2_ceil(cols);
    global T X[rows][cols] = x, Y[rows][cols] = y;
    reg f32 v[W] = (f32) (X[block.x][0 +: W] else -inf);
    v = exp({v});
    Y[block.x][0 +: W] = (T) (v / sum(v));
    ensures for (i32 r < rows) Y[r] == exp((f32) X[r] - max((f32) X[r])) / sum(exp((f32) X[r] - max((f32) X[r])));
}}
"""
# The variance in two passes, or from two sums.
NORM = """kernel norm(i32 rows, static i32 cols, const f32 *x, f32 *y) grid(rows) warps(4)
{{
    const i32 W = pow2_ceil(cols);
    global f32 X[rows][cols] = x, Y[rows][cols] = y;
    reg f32 v[W] = X[block.x][0 +: W];
    reg i32 column[W] = iota();
    f32 mean = sum(v) / cols;
    f32 variance = {variance};
    Y[block.x][0 +: W] = (v - mean) * rsqrt(variance + 0.00001);
    ensures for (i32 r < rows) Y[r] == (X[r] - sum(X[r]) / cols) * rsqrt(sum(square(X[r] - sum(X[r]) / cols)) / cols + 0.00001);
}}
"""
TWO_PASSES = NORM.format(variance="sum(square(where(column < cols, v - mean, 0))) / cols")
TWO_SUMS = NORM.format(variance="sum(v * v) / cols - mean * mean")
# Two formulas of one function; one loses digits for large inputs.
SILU = """kernel silu(i32 n, const f32 *x, f32 *y) grid(cdiv(n, 256)) threads(256)
{
    global f32 X[n] = x, Y[n] = y;
    i32 i = block.x * 256 + thread.x;
    if (i < n)
        Y[i] = 0.5 * X[i] * (1 + tanh(0.5 * X[i]));
    ensures Y == X / (1 + exp(-X));
}
"""
SIGN = """kernel widen(i32 n, const i8 *x, i32 *y) grid(cdiv(n, 256)) threads(256)
{
    global i8 X[n] = x;
    global i32 Y[n] = y;
    i32 i = block.x * 256 + thread.x;
    if (i < n)
        Y[i] = (i32) (u8) X[i];
    ensures Y == (i32) X;
}
"""
# Integers may be indices, so they remain small.
GATHER = """kernel gather(i32 m, i32 n, const i32 *at, const f32 *x, f32 *y) grid(n) threads(32)
{
    global i32 At[n] = at;
    global f32 X[m] = x, Y[n] = y;
    if (thread.x == 0)
        Y[block.x] = X[At[block.x]];
    ensures Y == X[At];
}
"""
# For large inputs every intermediate value is infinite, or may be.
GROWS = """kernel grows(i32 n, const f32 *x, f32 *y) grid(cdiv(n, 256)) threads(256)
{
    global f32 X[n] = x, Y[n] = y;
    i32 i = block.x * 256 + thread.x;
    if (i < n)
        Y[i] = 1 / (exp(4 * X[i]) * exp(-4 * X[i]));
    ensures Y == 1 / (exp(4 * X) * exp(-4 * X));
}
"""


def main():
    tool = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:

        def run(text, *arguments, status):
            return call_on(folder, text, [tool, arguments[0], "k.tile", *arguments[1:]], status)

        overflows = SOFTMAX.format(v="v")
        for right in (SOFTMAX.format(v="v - max(v)"), TWO_PASSES, SILU, GATHER):
            run(right, "check", status=0)
        for type in ("f32", "f16", "bf16"):
            found = json.loads(run(overflows, "check", "--type", type, "--json", status=1).out)[0]["findings"]
            if len(found) != 1 or found[0]["with"] != f"rows = 130, cols = 67, T = {type}, wide inputs":
                fail(f"{type}: {found}")
            sizes = ["--set", "rows=130,cols=67", "--type", type]
            run(overflows, "run", *sizes, "--fill", "rand", "--verify", status=0)
            if found[0]["text"] not in run(overflows, "run", *sizes, "--fill", "wide", "--verify", status=1).err:
                fail(f"{type}: other inputs: {found}")
        for text in (overflows, TWO_SUMS, SIGN):
            err = run(text, "check", status=1).err
            if err.count("wrong values in") != 1 or "wide inputs (`run --fill wide`): floats up to ±100" not in err or "say --fill x=rand" not in err or "no value" in err:
                fail(f"which inputs: {err}")
            run(text, "check", "--fill", "x=rand", status=0)
        unjudged = "grows: not decided whether values are right of wide inputs: k.tile:7: `ensures` cannot be evaluated: for "
        if run(GROWS, "check", status=0).out or unjudged not in run(GROWS, "check", "-v", status=0).out:
            fail("wide inputs of which nothing can be said")
        found = json.loads(run(GROWS, "check", "--json", status=0).out)[0]
        if not re.search(r"may give anything \(with n = \d+\)$", found["undecided"]) or not found["ok"]:
            fail(f"wide inputs of which nothing can be said: {found}")
        if "are wrong, within elements" not in run(SIGN, "check", status=1).err:
            fail("how much is wrong of wide inputs")


if __name__ == "__main__":
    main()
