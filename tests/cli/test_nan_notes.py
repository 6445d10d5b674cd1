#!/usr/bin/env python3
"""A wrong NaN gets a note that says what may have made it: a variable without a value, a NaN in the inputs, a maximum of -inf, a quotient, a
function of a negative number. There is no note on a cause that the kernel or the run excludes."""
import os
import sys
import tempfile

import numpy as np

from tile_runner import call, call_on, expect

KERNEL = """kernel k(i32 m, i32 n, const f32 *x, f32 *y) grid(m) warps(1)
{
    assume(n <= 32);
    global f32 X[m][n] = x, Y[m][n] = y;
    reg f32 v[1][32] = X[block.x +: 1][0 +: 32] else -inf;
BODY
    ensures Y == WANTED;
}
"""
STORE = "    Y[block.x +: 1][0 +: 32] = %s;"
NAN, INF = float("nan"), float("inf")
# A row is masked: its largest element is -inf, and `ensures` wants zeros there.
MASKED = [[-INF] * 5, [1, 2, -INF, 4, 5]]
MASKED_WANTED = "where(max(X, axis = 1) == -inf, 0, exp(X - max(X, axis = 1)))"
PLAIN = [[0.5, -1, 2, 0, 3]] * 2

NO_VALUE = "`%s` may have no value here, and is NaN then: give it one where it is declared, such as `= 0`"
SHIFTED = "` is NaN where the maximum is -inf, as in a row that is all -inf"
NOTES = ("may have no value", "has a NaN, in element", SHIFTED, "is NaN where both are 0", "operand is negative")
#        body, `ensures`, inputs, the note (None: none of NOTES), its line
CASES = (
    ("    reg f32 t[1][32];\n    if (n > 100)\n        t = v;\n" + STORE % "v + t", "X", PLAIN, NO_VALUE % "t", 9),
    ("    reg f32 t[1][32];\n    for (i32 i = 3; i < m; i++)\n        t = v / v;\n" + STORE % "v + t", "X", PLAIN, NO_VALUE % "t", 9),
    # an integer without a value is not NaN
    ("    i32 q;\n    if (n > 100)\n        q = 1;\n    reg f32 t[1][32];\n    if (n > 100)\n        t = v;\n" + STORE % "v * (f32) q + t", "X", PLAIN,
     NO_VALUE % "t", 12),
    # the launch decides that there is a value
    ("    reg f32 t[1][32];\n    if (n < 100)\n        t = v / 0;\n    for (i32 i = 0; i < m; i++)\n        t = v / t;\n" + STORE % "t - t",
     "0 * X", PLAIN, "`v / t` is NaN where both are 0", 10),
    (STORE % "exp(v - max(v, axis = 1))", MASKED_WANTED, MASKED, "`exp(v - max(v, axis = 1))" + SHIFTED, 6),
    ("    reg f32 top[1][1] = max(v, axis = 1) * 1.5;\n    reg f32 d[1][32] = v * 1.5 - top;\n" + STORE % "exp2(d)",
     MASKED_WANTED.replace("exp(X - max(X, axis = 1))", "exp2(X * 1.5 - max(X, axis = 1) * 1.5)"), MASKED, "`exp2(d)" + SHIFTED, 8),
    ("    reg f32 top[1][1] = max(v, axis = 1);\n    top = where(top == -inf, 0, top);\n" + STORE % "exp(v - top)",
     MASKED_WANTED, MASKED, "", 0),
    (STORE % "v / v", "where(X == 0, 1, X / X)", PLAIN, "`v / v` is NaN where both are 0, or both are infinite", 6),
    (STORE % "v / 2 + sqrt(v)", "where(X < 0, X / 2, X / 2 + sqrt(X))", PLAIN, "`sqrt(v)` is NaN where its operand is negative", 6),
    (STORE % "v / 3", "where(X == X, X / 3, 0)", [[1, NAN, 2, 3, 4]] * 2, "the input `x` has a NaN, in element 1 of the array", 0),
    (STORE % "v - v", "0 * where(X == inf, 0, X)", [[1, INF, 2, 3, 4]] * 2, None, 0),
    # never written: the NaN is what the array held
    ("    if (n > 100)\n    " + STORE % "v / v", "X", PLAIN, None, 0),
)


def main():
    tool = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        for body, wanted, inputs, note, line in CASES:
            np.save(f"{folder}/x.npy", np.array(inputs, "f4"))
            text = KERNEL.replace("BODY", body).replace("WANTED", wanted)
            run = [tool, "run", "k.tile", "--in", "x=x.npy", "--verify"]
            result = call_on(folder, text, run, 0 if note == "" else 1)
            there = [n for n in NOTES if n in result.err]
            if note:
                place = f"k.tile:{line}:" if line else "note: "
                lines = [shown for shown in result.err.splitlines() if note in shown]
                expect(len(there) == 1 and lines and place in lines[0], f"no `{note}` at line {line}: {result}\n{text}")
            else:
                expect(not there, f"{there}: {result}\n{text}")
            if note and "no value" not in note:  # a register without a value may hold anything on a GPU
                again = call([*run, "--device", "sim"], cwd=folder)
                expect(again.status == 1 and note in again.err, f"on sim: {again}\n{text}")


main()
