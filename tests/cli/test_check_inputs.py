#!/usr/bin/env python3
"""`check` runs with inputs of one sign and with extreme integers, at sizes that a kernel compares with constants, and reports the cases
that it did not try. Correct kernels pass, above all those that use integers as indices."""
import json
import os
import sys
import tempfile

from tile_runner import call_on, fail

# The extreme of a row begins with a value that need not be an element's.
ROWS = """kernel rows(i32 m, i32 n, const {type} *a, {type} *o) grid(m) warps(1)
{{
    global {type} A[m][n] = a, O[m] = o;
    {type} t = {start};
    for (i32 j = 0; j < n; j += 64)
        t = {op}(t, {op}(A[block.x +: 1][j +: 64] else {beyond}));
    O[block.x] = t;
    ensures O == reshape({op}(A, axis = 1), m);
}}
"""
# A thread-level kernel over the whole array.
WHOLE = """kernel whole(i32 n, const f32 *a, f32 *o) grid(1) threads(64)
{
    assume(n > 60);
    global f32 A[n] = a, O[1] = o;
    shared f32 s[64];
    i32 t = thread.x;
    f32 m = 0;
    for (i32 i = t; i < n; i += 64)
        m = max(m, A[i]);
    s[t] = m;
    sync();
    for (i32 d = 32; d > 0; d /= 2) {
        if (t < d)
            s[t] = max(s[t], s[t + d]);
        sync();
    }
    if (t == 0)
        O[0] = s[0];
    ensures O == max(A);
}
"""
# An index that the data gives, without a guard.
OUTSIDE = """kernel outside(i32 n, i32 m, const i32 *x, const f32 *a, f32 *b) grid(cdiv(n, 128)) threads(128)
{
    global i32 X[n] = x; global f32 A[m] = a, B[n] = b;
    i32 i = block.x * 128 + thread.x;
    if (i < n)
        B[i] = A[X[i]];
}
"""
# The first element has none before it.
BEFORE = """kernel before(i32 n, const f32 *a, f32 *b) grid(cdiv(n, 128)) threads(128)
{{
    global f32 A[n] = a, B[n] = b;
    i32 i = block.x * 128 + thread.x;
    if (i < n)
        B[i] = i > 0 ? A[i - 1] : 0;
    ensures for (i32 j < n) B[j] == {};
}}
"""
# An index must lie in its array, while a value may be any number.
GATHER = """kernel gather(i32 n, const i32 *number, const i32 *a, i32 *o) grid(cdiv(n, 32)) threads(32)
{{
    global i32 Number[n] = number, A[n] = a, O[n] = o;
    i32 i = block.x * 32 + thread.x;
    if (i < n)
        O[i] = {value};
    ensures O == A[Number];
}}
"""
# The sum of two i32 may wrap.
MEAN = """kernel mean(i32 n, const i32 *a, const i32 *b, i32 *o) grid(cdiv(n, 32)) warps(1)
{{
    global i32 A[n] = a, B[n] = b, O[n] = o;
    i32 i = block.x * 32;
    O[i +: 32] = {value};
    ensures O == (i32) (((i64) A + (i64) B) / 2);
}}
"""
# Branches for a single size, or a single value of another parameter.
SIZE = """kernel size(i32 n, i32 mode, const f32 *a, f32 *o) grid(cdiv(n, 32)) warps(1)
{{
    global f32 A[n] = a, O[n] = o;
    i32 i = block.x * 32;
    O[i +: 32] = A[i +: 32];
    if ({condition})
        O[i +: 32] = 0;
    ensures O == A;
}}
"""
# Two views of one array; the second reaches farther than the one that gives the array's shape.
VIEWS = """kernel views(i32 n, const f32 *a, f32 *c) grid(cdiv(n, 4)) warps(2)
{
    global f32 A[n][n] = a, X[n] = c, Y[n] = c + n;
    i32 i = block.x * 4;
    X[i +: 4] = A[0][i +: 4];
    Y[i +: 4] = 2;
    ensures X == A[0];
    ensures Y == 2;
}
"""
# Rows by their starts: each block writes one element too many, if there is a row after its own.
STARTS = """kernel rows(i32 rows, i32 total, const i32 *start, const f32 *x, f32 *y) grid(rows) threads(32)
{{
    global i32 Start[rows] = start;
    global f32 X[total] = x, Y[total] = y;
    i32 lo = Start[block.x], hi = block.x + 1 < rows ? Start[block.x + 1] : total;
    assume(lo <= hi);
    for (i32 i = lo + thread.x; i < min(lo < hi ? {end} : hi, total); i += 32)
        Y[i] = X[i] * 2 + {value};
}}
"""
# The values of a block are wrong if its row begins right before the next one.
STARTS_SUM = """kernel sums(i32 rows, i32 total, const i32 *start, const f32 *x, f32 *y) grid(rows) warps(1)
{{
    global i32 Start[rows] = start;
    global f32 X[total] = x, Y[rows] = y;
    i32 next = Start[min(block.x + 1, rows - 1)];
    Y[block.x] = next == Start[block.x] + 1 && next > 20 ? {value} : X[0];
    ensures for (i32 r < rows) Y[r] == X[0];
}}
"""
# `ensures` reads outside X if a start lies before the first one.
STARTS_READ = """kernel widths(i32 rows, i32 total, const i32 *start, const f32 *x, f32 *y) grid(rows) warps(1)
{
    global i32 Start[rows] = start;
    global f32 X[total] = x, Y[rows] = y;
    i32 n = Start[block.x] - Start[0];
    f32 v = n >= 0 && n < total ? X[n] : 0;
    Y[block.x] = v;
    ensures for (i32 r < rows) Y[r] == X[Start[r] - Start[0]];
}
"""
NO_ENSURES = "kernel bare(i32 n, f32 *o) grid(1) warps(1) { global f32 O[n] = o; O[0 +: 32] = 1; }\n"
NOT_RUN = "kernel never(i32 n, f32 *o) grid(1) warps(1) { assume(n > 10000000); global f32 O[n] = o; O[0 +: 32] = 1; ensures O[0] == 1; }\n"
UNDECIDED = """kernel unknown(i32 n, const i32 *a, i32 *o) grid(1) threads(32)
{
    global i32 A[32] = a, O[32] = o;
    shared i32 s[256];
    i32 t = thread.x;
    s[A[t] * 32 + t] = t;
    sync();
    O[t] = s[A[t] * 32 + t];
    ensures O[0] == 0;
}
"""


def main():
    tool = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:

        def run(text, *arguments, status=0):
            return call_on(folder, text, [tool, "check", "k.tile", *arguments], status)

        def wrong(text, kind):
            found = json.loads(run(text, "--json", status=1).out)[0]["findings"]
            if len(found) != 1 or kind not in found[0]["with"]:
                fail(f"expected {kind}: {found}")

        for type, op, start, kind in (("i32", "max", "0", "negative"), ("f32", "max", "0", ""), ("f32", "min", "0", ""),
                                      ("i8", "max", "0", "negative"), ("i64", "min", "1000", ""), ("u8", "min", "0", "")):
            beyond = "0" if start == "0" else start
            wrong(ROWS.format(type=type, op=op, start=start, beyond=beyond), f"{kind} inputs" if kind else "")
        least = {"i32": "(-2147483647 - 1)", "f32": "-inf", "i8": "-128"}
        for type, start in least.items():
            run(ROWS.format(type=type, op="max", start=start, beyond=start))
        wrong(WHOLE, "negative inputs")
        wrong(WHOLE.replace("max", "min"), "positive inputs")
        run(WHOLE, "--fill", "a=rand")
        wrong(MEAN.format(value="(A[i +: 32] + B[i +: 32]) / 2"), "extreme inputs")
        run(MEAN.format(value="(i32) (((i64) A[i +: 32] + (i64) B[i +: 32]) / 2)"))
        run(GATHER.format(value="A[Number[i]]"))
        unsure = json.loads(run(OUTSIDE, "--json").out)[0]["undecided"]
        if "`x` may have indices: with iota integers, k.tile:6: index " not in unsure or " is outside axis 0 of A " not in unsure:
            fail(f"an index of the data outside: {unsure}")
        none = json.loads(run(OUTSIDE.replace("if (i < n)", "if (i < n && X[i] >= 0 && X[i] < m)"), "--json").out)[0]["undecided"]
        if none:
            fail(f"a guarded index of the data: {none}")
        for formula, hint in (("A[j - 1]", "no size helps; a condition keeps an index inside, such as `j > 0 ? A[j - 1] : 0`"), ("A[1]", "`assume(n > 1);`")):
            found = run(BEFORE.format(formula), status=1).err
            if "`ensures` cannot be evaluated: element " not in found or hint not in found:
                fail(f"{formula}: {found}")
        run(BEFORE.format("(j > 0 ? A[j - 1] : 0)"))
        wrong(GATHER.format(value="max(A[Number[i]], 0)"), "negative inputs")
        for condition, sizes in (("n == 777", "n = 777,"), ("n > 1500 && n < 1502", "n = 1501,"), ("mode == 5", "mode = 5"), ("(i64) n == 100", "n = 100,"),
                                 ("mode == 0", "mode = 0"), ("mode < 0", "mode = -1"), ("n > 5000", "n = 5001,"),
                                 ("(mode == 11 || mode == 22 || mode == 33 || mode == 44) ? false : mode == 55", "mode = 55")):
            wrong(SIZE.format(condition=condition), sizes)
        run(SIZE.format(condition="n < 0"))
        if json.loads(run(VIEWS, "--json").out)[0]["runs"] < 10:
            fail("two views of one array: not run")

        right = json.loads(run(STARTS.format(end="hi", value="0"), "--json").out)[0]
        if right["findings"] or right["simulated"] != 38:
            fail(f"starts that ascend: {right}")
        for value, status, kind in (("(f32) block.x", 1, "race"), ("0", 0, "same-value")):
            found = json.loads(run(STARTS.format(end="hi + 1", value=value), "--json", status=status).out)[0]["findings"]
            if found[0]["kind"] != kind:
                fail(f"starts that ascend: {found}")
            run(STARTS.format(end="hi + 1", value=value), "--fill", "start=zero")
        run(STARTS_SUM.format(value="X[0]"), "--strict")
        wrong(STARTS_SUM.format(value="0"), "iota inputs")
        said = run(STARTS_SUM.format(value="0"), status=1).err
        if "ascending integers are 0, 1, 2, …: --fill start=iota makes them" not in said:
            fail(f"how to repeat the run: {said}")
        said = run(STARTS_READ, status=1).err
        if "other integers than random ones: --fill start=starts gives those that ascend" not in said:
            fail(f"an `ensures` that random integers leave without a value: {said}")

        for text, said, member in ((NO_ENSURES, "bare has no `ensures`: its values are not compared", "compared"),
                                   (NOT_RUN, "never is not run, no sizes tried suit it", "not_run"),
                                   (UNDECIDED, "unknown: not decided whether accesses to shared memory race: ", "undecided")):
            for options, status in (((), 0), (("--strict",), 1)):
                result = run(text, *options, status=status)
                if result.out or result.err.count("\n") != 1 or said not in result.err:
                    fail(f"expected a line with '{said}': {result}")
                listed = json.loads(run(text, "--json", *options, status=status).out)[0]
                if listed["ok"] != (status == 0) or listed[member] in (None, True):
                    fail(f"{member}: {listed}")
        run(NO_ENSURES, "--no-run", "--strict")
        run(NO_ENSURES, "--no-sim", "--strict", status=1)
        run(UNDECIDED, "--no-run", "--strict", status=1)
        run(GATHER.format(value="A[Number[i]]"), "--no-sim", "--strict")
        run(GATHER.format(value="A[Number[i]]"), "--strict")


if __name__ == "__main__":
    main()
