#!/usr/bin/env python3
"""Inputs that prove something: random integers are limited only where the kernel uses them as indices, starts of rows ascend by themselves, and
`run --verify` and `check` name arrays whose values are all equal. Reports of wrong values name the second run, and call no element unwritten
that is written."""
import os
import sys
import tempfile

from tile_runner import call_on, fail

# Without KEEP, a GPU gets zeros.
SCALED = """tune(cpu) KEEP = {{1}};
tune KEEP = {{{keep}}};
kernel product(i32 m, i32 n, i32 k, const i8 *a, const i8 *b, const {type} *s, f32 *c) grid(cdiv(m, 16), cdiv(n, 16)) warps(1)
{{
    global i8 A[m][k] = a, B[k][n] = b;
    global {type} S[m][1] = s;
    global f32 C[m][n] = c;
    i32 i = block.x * 16, j = block.y * 16;
    i32 acc[16][16] = 0;
    for (i32 p = 0; p < k; p += 32)
        acc += dot(A[i +: 16][p +: 32], B[p +: 32][j +: 16]);
    C[i +: 16][j +: 16] = (f32) (acc * KEEP) * (f32) S[i +: 16][0 +: 1];
    ensures C == (f32) dot(A, B) * (f32) S;
}}
"""
RAGGED = """kernel soft(i32 rows, i32 total, const {type} *start, const f32 *x, f32 *y) grid(rows) threads(32)
{{
    global {type} Start[rows + 1] = start;
    global f32 X[total] = x, Y[total] = y;
    {type} lo = Start[block.x], hi = Start[block.x + 1];
    f32 s = 0;
    for ({type} i = lo; i < hi; i++)
        s += exp(X[i]);
    for ({type} i = lo + thread.x; i < hi; i += 32)
        Y[i] = {value};
    ensures for (i32 r < rows, i32 i < Start[r + 1] - Start[r])
        Y[Start[r] + i] == exp(X[Start[r] + i]) / sum(where(iota(total) >= Start[r] && iota(total) < Start[r + 1], exp(X), 0));
}}
"""
# Each use of `Number` limits it by the extent of what it indexes: {extent}.
USES = """kernel uses(i32 n, i32 few, const i32 *number, const i32 *a, i32 *o) grid(cdiv(n, 32)) threads(32)
{{
    global i32 Number[n] = number, A[few] = a, O[n] = o;
    const i32 five[5] = {{0, 1, 2, 3, 4}};
    i32 t = block.x * 32 + thread.x;
    if (t >= n)
        return;
    i32 v = 0, at = Number[t];
    {use}
    O[t] = v * 0 + Number[t];
    ensures O == Number;
}}
"""
ONE_VALUE = """kernel pick(i32 n, const i32 *number, const f32 *x, f32 *y) grid(cdiv(n, 32)) threads(32)
{
    global i32 Number[n] = number;
    global f32 X[1] = x, Y[n] = y;
    i32 t = block.x * 32 + thread.x;
    if (t < n)
        Y[t] = X[Number[t]];
    ensures Y == X[Number];
}
"""
ONLY_TRUE = """kernel positive(i32 n, const f32 *x, bool *y) grid(cdiv(n, 32)) threads(32)
{
    global f32 X[n] = x;
    global bool Y[n] = y;
    i32 t = block.x * 32 + thread.x;
    if (t < n)
        Y[t] = X[t] * 0 == 0;
    ensures Y == (X * 0 == 0);
}
"""
HISTOGRAM = """kernel histogram(i32 n, const u8 *x, i32 *h) grid(1) threads(256)
{
    global u8 X[n] = x;
    global i32 H[256] = h;
    shared i32 own[256];
    own[thread.x] = 0;
    sync();
    for (i32 i = thread.x; i < n; i += 256)
        atomic_add(own[(i32) X[i]], 1);
    sync();
    atomic_add(H[thread.x], own[thread.x]);
    ensures for (i32 v < 256) H[v] == sum((i32) (X == (u8) v));
}
"""
FLAGS = """kernel flags(i32 n, const f32 *x, bool *y) grid(cdiv(n, 32)) threads(32)
{{
    global f32 X[n] = x;
    global bool Y[n] = y;
    i32 t = block.x * 32 + thread.x;
    if (t < n{written})
        Y[t] = X[t] > 0.0;
    ensures Y == (X {compare} 0.0);
}}
"""


def main():
    tool = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:

        def call(text, command, *options, status=0):
            result = call_on(folder, text, [tool, command, "k.tile", *options], status)
            return result.out + result.err

        def expect(said, *texts, absent=()):
            for text in texts:
                if text not in said:
                    fail(f"expected '{text}': {said}")
            for text in absent:
                if text in said:
                    fail(f"unexpected '{text}': {said}")

        sizes = ("--set", "m=40,n=33,k=40", "--fill", "rand", "--verify")
        for type in ("i8", "u8", "i32"):
            right, zeros = (SCALED.format(type=type, keep=keep) for keep in (1, 0))
            expect(call(right, "run", *sizes), "verified: 1320 elements", absent=("from 0 to 0", "every value"))
            call(right, "check", "--strict")
            expect(call(zeros, "check", "--strict", status=1), "C[0][0] is 0, expected ", absent=("with small ones",))

        for type in ("i32", "i64"):
            right = RAGGED.format(type=type, value="exp(X[i]) / s")
            call(right, "check", "--strict")
            expect(call(right, "run", "--set", "rows=5,total=9", "--fill", "rand", "--verify"), "verified: 9 elements")
            for value in ("1", "exp(X[i])", "i == hi - 1 && i > lo ? 1 : exp(X[i]) / s"):
                call(RAGGED.format(type=type, value=value), "check", "--strict", status=1)
        starts = "kernel copy(i32 n, const i32 *a, i32 *o) grid(1) warps(1) { global i32 A[n] = a, O[n] = o; O[0 +: 32] = A[0 +: 32]; ensures O == A; }\n"
        said = call(starts, "run", "--set", "n=9", "--fill", "a=starts", "--verify")
        values = [int(v) for v in said.split("[")[1].split("]")[0].split(",")]
        if values != sorted(values) or values[0] != 0 or values[-1] != 9 or len(set(values)) < 3:
            fail(f"starts: {said}")

        for use, most in (("", 8), ("v = A[at];", 3), ("v = A[Number[t]];", 3), ("v = five[at];", 5), ("for (i32 j = 0; j < at; j++) v += A[j];", 3),
                          ("if (at > 0) v = 1;", 8), ("v = at * 2;", 8), ("i32 w = at; if (w > 1) w = 1; else v = A[w];", 3)):
            said = call(USES.format(use=use), "run", "--set", "n=60,few=3", "--fill", "rand", "--verify")
            found = {int(v) for v in said.split("[")[1].split("]")[0].split(",")}
            if found != set(range(most)):
                fail(f"{use}: expected all integers below {most}: {said}")

        expect(call(ONE_VALUE, "run", "--set", "n=5", "--fill", "rand", "--verify"), "every value of `number` is 0: ", "every value of `y` is ")
        expect(call(ONLY_TRUE, "run", "--set", "n=5", "--fill", "rand", "--verify"), "every value of `y` is True: ", absent=("`x` is",))
        for options, status in (((), 0), (("--strict",), 1)):
            expect(call(ONLY_TRUE, "check", *options, status=status), "positive: every value of `y` is True in all runs")
        expect(call(ONLY_TRUE, "check", "--strict", "--json", status=1), '"uniform": "y"')
        call(ONE_VALUE, "check", "--strict")

        said = call(HISTOGRAM, "run", "--set", "n=100", "--fill", "rand", "--verify", status=1)
        expect(said, "this is of a second run, which began with other values in `h`", absent=("of `H` are never written",))
        expect(call(HISTOGRAM, "check", status=1), absent=("of `H` are never written",))
        call(HISTOGRAM, "check", "--strict", "--fill", "h=zero")

        for command in (("run", "--set", "n=50", "--fill", "rand", "--verify"), ("check",)):
            said = call(FLAGS.format(written="", compare="<="), *command, status=1)
            expect(said, "wrong values in flags", absent=("never written:", "are never written"))
        said = call(FLAGS.format(written=" && t != 7", compare=">"), "run", "--set", "n=50", "--fill", "rand", "--verify", status=1)
        expect(said, "Y[7] is ", "1 of 50 elements of `Y` is never written")


if __name__ == "__main__":
    main()
