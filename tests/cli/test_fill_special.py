#!/usr/bin/env python3
"""--fill special: the values that it gives in each float type; kernels that treat NaN and infinity like their `ensures` pass `check`, and
their broken twins are caught with these inputs alone; elements that the order of a sum decides are not judged."""
import itertools
import json
import os
import sys
import tempfile

import numpy as np

from tile_runner import call, call_on, expect, fail

COPY = """kernel copy(i32 m, i32 n, const TYPE *a, TYPE *c) grid(m) warps(1)
{
    global TYPE A[m][n] = a, C[m][n] = c;
    C[block.x][0 +: 128] = A[block.x][0 +: 128];
}
"""
LARGEST = {"f64": np.finfo("f8").max, "f32": np.finfo("f4").max, "f16": 65504.0, "bf16": 0xff * 2.0**120, "tf32": 0x7ff * 2.0**117, "e4m3": 448.0, "e5m2": 57344.0}
LEAST = {"f64": 2.0**-1074, "f32": 2.0**-149, "f16": 2.0**-24, "bf16": 2.0**-126, "tf32": 2.0**-136, "e4m3": 2.0**-9, "e5m2": 2.0**-16}

ROWS = """kernel k(i32 rows, i32 cols, const f32 *x, f32 *y) grid(rows) warps(1)
{
    assume(cols <= 1024);
    global f32 X[rows][cols] = x, Y[rows][1] = y;
    reg f32 v[1024] = X[block.x][0 +: 1024] else FILL;
    Y[block.x][0] = VALUE;
    ensures Y == WANTED;
}
"""
#         filling, value, its twin that is wrong for special inputs alone, `ensures`
TWINS = (("-inf", "max(v)", "max(max(v), -1000)", "max(X, axis = 1)"),
         ("nan", "(f32) argmax(v)", None, "(f32) argmax(X, axis = 1)"),
         ("-inf", None, "(f32) argmax(v)", "(f32) argmax(X, axis = 1)"),
         ("0", "sum(v)", "sum(clip(v, -1000, 1000))", "sum(X, axis = 1)"),
         ("0", "sum(where(v < 0, 0, v))", "sum(max(v, 0))", "sum(where(X < 0, 0, X), axis = 1)"),
         ("0", "any(v != v) ? 1.0 : 0.0", "0", "where(sum(where(X != X, 1, 0), axis = 1) > 0, 1.0, 0.0)"))

VALUES = """kernel k(i32 m, const f32 *x, f32 *y) grid(m) warps(1)
{
    global f32 X[m] = x, Y[m] = y;
    i32 r = block.x;
    f32 v = X[r];
    Y[r] = VALUE;
    ensures Y == WANTED;
}
"""

# Elements for which the order of the sum decides are not judged. The twin is wrong in the others.
PRODUCT = """kernel k(i32 n, const f32 *a, const f32 *b, f32 *c) grid(cdiv(n, 32)) warps(1)
{
    global f32 A[n][n] = a, B[n][n] = b, C[n][n] = c;
    for (i32 j = 0; j < n; j += 32) {
        reg f32 t[32][32] = 0;
        for (i32 k = 0; k < n; k += 32)
            t += dot(A[block.x * 32 +: 32][k +: 32], B[k +: 32][j +: 32]);
        C[block.x * 32 +: 32][j +: 32] = t;
    }
    ensures C == dot(A, B);
}
"""


def check_values(tool, folder, t):
    """All special values occur, whole rows of -inf and of NaN too, and rows without any."""
    options = ["--set", "m=96,n=100", "--fill", "special", "--out", "c=c.npy"]
    call_on(folder, COPY.replace("TYPE", t), [tool, "run", "k.tile", *options], 0)
    got = np.load(f"{folder}/c.npy").astype("f8")
    ordinary = np.isfinite(got) & (np.abs(got) <= 0.5) & (np.abs(got) > LEAST[t])
    saturates = t in ("e4m3", "e5m2")  # an infinity is stored as the largest number
    wanted = {"infinite": np.isinf(got).any() or saturates, "NaN": np.isnan(got).any(), "-0": (np.signbit(got) & (got == 0)).any(),
              "largest": (np.abs(got) == LARGEST[t]).any(), "least": (np.abs(got) == LEAST[t]).any(),
              "all -inf": (got == -np.inf).all(axis=1).any() or saturates, "all NaN": np.isnan(got).all(axis=1).any(),
              "ordinary rows": ordinary.all(axis=1).any() or saturates}
    expect(all(wanted.values()), f"{t}: {wanted}")
    again = call([tool, "run", "k.tile", *options, "--device", "sim:sm_89"], cwd=folder)
    expect(again.status == 0 and np.array_equal(np.load(f"{folder}/c.npy").astype("f8"), got, equal_nan=True), f"{t} on sim: {again}")


def check_nans(tool, folder):
    """A verdict counts the elements that are NaN on both sides, and says if they are nearly all."""
    for value, wanted, fill, said in (("v", "X", "rand", None), ("v", "X", "special", "; NaN on both sides: "),
                                      ("v * nan", "X * nan", "rand", "; all are NaN on both sides, so no value was tested"),
                                      ("r > 0 ? nan : v", "where(iota(m) > 0, nan, X)", "rand", "; NaN on both sides: 98, so few values were tested")):
        text = VALUES.replace("VALUE", value).replace("WANTED", wanted)
        for device in ("cpu", "sim"):
            done = call_on(folder, text, [tool, "run", "k.tile", "--set", "m=99", "--fill", fill, "--verify", "--device", device], 0)
            expect(said in done.out if said else "NaN" not in done.out, done)
        found = json.loads(call_on(folder, text, [tool, "run", "k.tile", "--set", "m=99", "--fill", fill, "--verify", "--json"], 0).out)
        expect((found["nans"] > 0) == bool(said), found)


def main():
    tool = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        for t in LARGEST:
            check_values(tool, folder, t)
        check_nans(tool, folder)
        for (filling, right, wrong, wanted), (value, status) in itertools.product(TWINS, (("right", 0), ("wrong", 1))):
            value = right if value == "right" else wrong
            if value is None:
                continue
            text = ROWS.replace("FILL", filling).replace("VALUE", value).replace("WANTED", wanted)
            call_on(folder, text, [tool, "check", "k.tile", "--no-sim"], 0)
            for fill in ("special", "x=special"):
                result = call_on(folder, text, [tool, "check", "k.tile", "--fill", fill], status)
                if status and "wrong values in" not in result.err:
                    fail(f"{value}: {result}")
        call_on(folder, PRODUCT, [tool, "check", "k.tile", "--fill", "special"], 0)
        wrong = call_on(folder, PRODUCT.replace("t += dot", "t = dot"), [tool, "check", "k.tile", "--fill", "special"], 1)
        expect("wrong values in" in wrong.err, wrong)
        lists = ["--fill", "zero,x=special", "--set", "rows=9,cols=5"]
        text = ROWS.replace("FILL", "-inf").replace("VALUE", "max(v)").replace("WANTED", "max(X, axis = 1)")
        call_on(folder, text, [tool, "run", "k.tile", *lists, "--verify"], 0)
        for arguments in (["check", "k.tile", "--fill", "specials"], ["check", "k.tile", "--fill", "a=specials"], ["run", "k.tile", "--fill", "specials"]):
            result = call_on(folder, PRODUCT, [tool, *arguments], 2)
            expect("expected [NAME=]rand, zero, iota, ones, wide, negative, positive, extreme, special or starts" in result.err, result)


main()
