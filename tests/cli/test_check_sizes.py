#!/usr/bin/env python3
"""Mistakes that show at few sizes: `check` chooses the sizes that find them."""
import json
import os
import sys
import tempfile

from tile_runner import call_on, fail

# A product with a bias, so that an omitted step of K shows; tiles of 128 are not the default.
LINEAR = """tune (BM, BN) = {{(64, 64), (32, 32), (128, 64)}};
tune BK = {{16, 32}};

kernel linear(i32 m, i32 n, i32 k, const f32 *x, const f32 *w, const f32 *bias, f32 *y)
    grid(cdiv(m, BM), cdiv(n, BN)) warps(4)
{{
    global f32 X[m][k] = x, W[k][n] = w, Bias[n] = bias, Y[m][n] = y;
    shared f32 sx[BM][BK], sw[BK][BN];
    i32 i = block.x * {stride}, j = block.y * BN;
    reg f32 acc[BM][BN] = 0;
    for (i32 p = 0; p < {end}; p += BK) {{
        sx = X[i +: BM][p +: BK];
        sw = W[p +: BK][j +: BN];
        sync();
        acc += dot(sx, sw);
        sync();
    }}
    acc += Bias[j +: BN];
    Y[i +: BM][j +: BN] = max(acc, 0);
    ensures Y == max(dot(X, W) + Bias, 0);
}}
"""
# Two blocks copy the same rows, the last block those that are then missing.
OVERLAP = """kernel rows(i32 m, const f32 *a, f32 *c) grid(cdiv(m, 128)) warps(4)
{
    global f32 A[m][16] = a, C[m][16] = c;
    i32 i = block.x * 64;
    C[i +: 128][0 +: 16] = A[i +: 128][0 +: 16];
    if (block.x == grid.x - 1)
        C[i + 128 +: 512][0 +: 16] = A[i + 128 +: 512][0 +: 16];
    ensures C == A;
}
"""
# Threads of one block may write the same value.
ONE_BLOCK = """kernel same(i32 n, f32 *c) grid(1) threads(64)
{
    global f32 C[1] = c;
    C[0] = (f32) n;
    ensures C[0] == (f32) n;
}
"""
# Blocks of 256 elements and more: `check` takes sizes of several blocks.
STRIDE = """kernel twice(i32 n, const f32 *a, f32 *c) grid(cdiv(n, {tile})) warps(2)
{{
    global f32 A[n] = a, C[n] = c;
    i32 i = block.x * {stride};
    C[i +: {tile}] = A[i +: {tile}] * 2;
    ensures C == A * 2;
}}
"""
# The first thread of each block adds to an element of its row.
FIRST = """kernel first(i32 rows, i32 n, const f32 *a, f32 *c) grid(rows, cdiv(n, 256)) threads(256)
{{
    global f32 A[rows][n] = a, C[rows] = c;
    i32 i = block.y * 256;
    if (thread.x == 0 && i < n)
        {add};
}}
"""
# `ensures` has no value if a row has one element.
UNBIASED = """kernel unbiased(i32 rows, i32 cols, const f32 *x, f32 *y) grid(rows) warps(1)
{{{assumes}
    global f32 X[rows][cols] = x, Y[rows] = y;
    f32 sum_of = 0;
    for (i32 i = 0; i < cols; i += 64)
        sum_of += sum(X[block.x][i +: 64]);
    Y[block.x] = sum_of / (f32) (cols - 1);
    ensures for (i32 r < rows) Y[r] == sum(X[r]) / (f32) (cols - 1);
}}
"""
# Rows longer than the slice are cut off, which usual sizes do not show.
FIXED = """kernel shares(i32 rows, i32 cols, const f32 *x, f32 *y) grid(rows) warps(4)
{{{assumes}
    global f32 X[rows][cols] = x, Y[rows][cols] = y;
    reg f32 v[{most}] = exp(X[block.x][0 +: {most}] else -inf);
    Y[block.x][0 +: {most}] = v / sum(v);
    ensures Y == exp(X) / sum(exp(X), axis = 1);
}}
"""


def main():
    tool = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:

        def check(text, *more, status):
            result = call_on(folder, text, [tool, "check", "k.tile", "--json", *more], status)
            return json.loads(result.out)[0]

        check(LINEAR.format(stride="BM", end="k"), status=0)
        for end in ("k - 1", "k - 2", "k - 4"):
            check(LINEAR.format(stride="BM", end=end), status=1)
        # a last step alone: K of one element is right by chance
        for end in ("k == 1 ? 1 : k - 1", "k < 16 ? k : k - 1"):
            found = check(LINEAR.format(stride="BM", end=f"({end})"), status=1)["findings"]
            if "k = 257" not in found[0]["with"]:
                fail(f"{end}: {found}")
        for more in ([], ["--tune", "BM=128,BN=64"]):
            found = check(LINEAR.format(stride="BN", end="k"), *more, status=1)["findings"]
            if "m = 258" not in found[0]["with"]:
                fail(f"a third block: {found}")
        found = check(OVERLAP, status=0)["findings"]
        if [f["kind"] for f in found] != ["same-value"] or found[0]["severity"] != "warning":
            fail(f"the same rows by two blocks: {found}")
        if "two blocks write the same elements" not in found[0]["notes"][-1]["text"]:
            fail(f"what to do: {found}")
        assumes = "{{\n    assume(n % 32 == 0);"
        for tile in (256, 1024):
            check(STRIDE.replace("{{", assumes).format(tile=tile, stride=tile), status=0)
            check(STRIDE.replace("{{", assumes).format(tile=tile, stride=tile // 2), status=1)
            check(STRIDE.format(tile=tile, stride=tile), status=0)
            check(STRIDE.format(tile=tile, stride=tile // 2), status=1)
        check(FIRST.format(add="atomic_add(C[block.x], A[block.x][i])"), status=0)
        found = check(FIRST.format(add="C[block.x] += A[block.x][i]"), status=1)["findings"]
        if found[0]["kind"] != "race" or found[0]["line"] != 6:
            fail(f"several blocks add: {found}")
        found = check(FIRST.replace("{{", assumes).format(add="C[block.x] += A[block.x][i]"), status=1)["findings"]
        if found[0]["kind"] != "race" or "n = 640" not in found[0]["with"]:
            fail(f"several blocks add, multiples of 32: {found}")
        # each configuration is run: one of twelve is wrong
        pairs = [(bm, bn) for bm in (128, 64, 32) for bn in (64, 32)]
        many = LINEAR.replace("(64, 64), (32, 32), (128, 64)", ", ".join(map(str, pairs)))
        for bm, bn in pairs:
            end = f"(BM == {bm} && BN == {bn} && BK == 32 ? k - 16 : k)"
            check(many.format(stride="BM", end=end), status=1)
        for most in (300, 512, 1024, 2048, 4096):
            found = check(FIXED.format(assumes="", most=most), status=1)["findings"]
            if f"cols = {most + 1}" not in found[0]["with"]:
                fail(f"a slice of {most}: {found}")
            right = check(FIXED.format(assumes=f"\n    assume(cols <= {most});", most=most), status=0)
            if right["unreached"]:
                fail(f"a slice of {most} that is whole: {right}")
        many = check(FIXED.format(assumes="", most=700000), "--no-sim", status=0)
        if "no size reached past `cols` = 700000" not in many["unreached"]:
            fail(f"a slice of 700000: {many}")
        said = call_on(folder, FIXED.format(assumes="", most=700000), [tool, "check", "k.tile", "--no-sim"], 0)
        if said.out or said.err.count("\n") != 1 or "(--set cols=700001 tries one)" not in said.err:
            fail(f"a slice of 700000: {said}")
        notes = [n["text"] for n in check(UNBIASED.format(assumes=""), status=1)["findings"][0]["notes"]]
        if not any("such as `assume(cols > 1);`; --set cols=9 checks with that one alone" in text for text in notes):
            fail(f"an `ensures` without a value: {notes}")
        check(UNBIASED.format(assumes=""), "--set", "cols=9", status=0)
        check(UNBIASED.format(assumes="\n    assume(cols > 1);"), status=0)
        found = check(ONE_BLOCK, status=0)["findings"]
        if [(f["kind"], f["severity"]) for f in found] != [("same-value", "warning")] or "two blocks" in str(found):
            fail("threads of one block")


if __name__ == "__main__":
    main()
