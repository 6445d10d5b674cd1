#!/usr/bin/env python3
"""`check` and `run --verify` print the number of wrong elements, the number of those that were never written, and their places."""
import json
import os
import re
import sys
import tempfile

from tile_runner import call_on, fail

ROWS = """kernel rows(i32 m, i32 n, const f32 *a, f32 *c) grid(cdiv(m, 64)) warps(4)
{{
    global f32 A[m][n] = a, C[m][n] = c;
    i32 i = block.x * {stride};
    for (i32 j = {from_}; j < n; j += 32)
        C[i +: {tile}][j +: 32] = {value};
    ensures C == 2 * A;
}}
"""
ELEMENTS = """kernel f(i32 n, const {type} *a, {type} *o) grid(cdiv(n, 64)) threads(64)
{{
    global {type} A[n] = a, O[n] = o;
    i32 i = block.x * 64 + thread.x;
    if (i < n)
        {body}
    ensures O == {value};
}}
"""
BATCHES = """kernel f(i32 b, i32 m, i32 n, const f32 *a, f32 *o) grid(b) warps(4)
{
    global f32 A[b][m][n] = a, O[b][m][n] = o;
    for (i32 i = 0; i < m - 2; i++)
        for (i32 j = 0; j < n; j += 32)
            O[block.x][i][j +: 32] = A[block.x][i][j +: 32];
    ensures O == A;
}
"""
RACES = """kernel total(i32 n, const f32 *a, f32 *o) grid(cdiv(n, 64)) threads(64)
{
    global f32 A[n] = a, O[1] = o;
    i32 i = block.x * 64 + thread.x;
    if (i == 0)
        O[0] = 0;
    if (i < n)
        O[0] += A[i];
    ensures O == reshape(sum(A), 1);
}
"""
SMALL = """kernel t(i32 m, i32 n, f32 *o, const f32 *a) grid(1) threads(16, 16)
{
    global f32 A[m][n] = a, O[m][n] = o;
    i32 x = thread.x, y = thread.y;
    if (x < n && y < m && (x != 2 || y != 1))
        O[y][x] = x == 0 && y == 2 ? 7 : A[y][x] + 1;
    ensures O == A + 1;
}
"""
ADVICE = "are there enough blocks in `grid`"


def rows(stride=64, tile=64, value="2 * A[i +: {t}][j +: 32]", from_=0):
    return ROWS.format(stride=stride, tile=tile, value=value.format(t=tile), from_=from_)


def elements(body, value="A", type="f32"):
    return ELEMENTS.format(body=body, value=value, type=type)


def main():
    tool = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:

        def run(text, *arguments, status=1):
            return call_on(folder, text, [tool, arguments[0], "k.tile", *arguments[1:]], status)

        def says(text, lines, sizes=None, advice=False):
            """Checks the message of `run --verify` on the CPU and the simulator, or of `check`."""
            verify = ["run", "--set", sizes, "--fill", "rand", "--verify"]
            for arguments in [verify, [*verify, "--device", "sim"]] if sizes else [["check"]]:
                err = run(text, *arguments).err
                if not all(line in err for line in lines) or (ADVICE in err) != advice:
                    fail(f"{arguments}: not said, {lines}, advice {advice}:\n{err}")

        run(rows(), "check", status=0)
        short = rows(stride=32, tile=32)
        says(short, ["    4095 of 8255 elements of `C` are never written: rows 64 to 126\n"], "m=127,n=65", advice=True)
        says(short, ["    note: 32 of 64 elements of `C` are never written: rows 32 to 63\n"], advice=True)
        says(rows(from_=32), ["    64 of 80 elements of `C` are never written: columns 0 to 31\n"], "m=2,n=40", advice=True)
        says(rows(value="A[i +: {t}][j +: 32]"), ["    all 80 elements of `C` are wrong\n"], "m=2,n=40")
        # some are written with wrong values
        some = rows(stride=32, tile=32, value="(i > 0 ? 1 : 2) * A[i +: {t}][j +: 32]")
        says(some, ["    95 of 127 elements of `C` are wrong: rows 32 to 126\n", "    63 of these are never written: rows 64 to 126\n"], "m=127,n=1", advice=True)
        says(BATCHES, ["    12 of 24 elements of `O` are never written: O[0 to 1][2 to 3][0 to 2]\n"], "b=2,m=4,n=3", advice=True)
        # with a step between them, and without
        says(elements("O[i] = i % 3 == 1 ? 1.0 : A[i];"), ["    23 of 70 elements of `O` are wrong: elements 1, 4, … 67\n"], "n=70")
        says(elements("O[i] = i == 3 || i == 4 || i == 9 ? 1.0 : A[i];"), ["    3 of 70 elements of `O` are wrong, within elements 3 to 9\n"], "n=70")
        says(elements("O[i] = i == 3 ? 1.0 : A[i];"), ["    1 of 70 elements of `O` is wrong\n"], "n=70")
        # right on zeros: only the unwritten ones are reported
        leaves = elements("if (i < 30) O[i] = 3;", "where(iota(n) < 30, 3.0, 0.0)")
        says(leaves, ["    40 of 70 elements of `O` are never written: elements 30 to 69\n", "where `o` holds zeros"], "n=70")
        adds = run(elements("O[i] += A[i];"), "check").err
        if "never written: " in adds or "are wrong" in adds:
            fail(f"read before it is written: {adds}")
        # a written byte may equal an unwritten one
        for type in ("i8", "u8"):
            bytes_ = elements(f"if (i > 5) O[i] = i % 3 == 0 ? ({type}) 255 : i % 3 == 1 ? ({type}) 67 : ({type}) 195;", f"({type}) 1", type)
            says(bytes_, ["elements of `O` are wrong", "    6 of these are never written: elements 0 to 5\n"], "n=70", advice=True)
        says(elements("if (i > 5) O[i] = i % 2 == 0 ? 0 : -61;", "(i8) 1", "i8"), ["    all 70 elements of `O` are wrong\n", "    6 of these are never written: elements 0 to 5\n"], "n=70", advice=True)
        says(elements("if (i > 70) O[i] = A[i];"), ["    no element of `O` is ever written\n"], "n=70")
        found = json.loads(run(short, "check", "--json").out)[0]["findings"][0]["wrong"]
        region = {"low": [32, 0], "high": [63, 0], "whole": True}
        cells = [found[0].pop("shape"), *found[0].pop("cells")]
        if cells[0] != [64, 1] or [c["at"] for c in cells[1:]] != [[row, 0] for row in range(32, 64)] or any(c["written"] for c in cells[1:]):
            fail(f"check --json: {cells}")
        if found != [{"view": "C", "elements": 64, "wrong": 32, "wrong_region": region, "never_written": 32, "never_written_region": region}]:
            fail(f"check --json: {found}")
        found = json.loads(run(some, "run", "--set", "m=127,n=1", "--fill", "rand", "--verify", "--json").out)["wrong"][0]
        if (found["wrong"], found["never_written"], found["wrong_region"]["low"]) != (95, 63, [32, 0]):
            fail(f"run --json: {found}")
        # small arrays are printed as matrices, right elements as dots
        head = "    `O`, wrong elements as: what it is (what it should be); -: it is never written\n"
        matrix = r"                0 +1 +2 +3\n      0 +\. +\. +\. +\.\n      1 +\. +\. +- \(1\.\d+\) +\.\n      2  7 \(0\.\d+\) +\. +\. +\.\n"
        for arguments in ["run", "--set", "m=3,n=4", "--fill", "rand", "--verify"], ["check", "--set", "m=3,n=4"]:
            err = run(SMALL, *arguments).err
            if head not in err or not re.search(matrix, err):
                fail(f"{arguments}: no matrix: {err}")
        if "what it is" in run(SMALL, "run", "--set", "m=16,n=16", "--fill", "rand", "--verify").err:
            fail("256 elements are not small")
        row = run(elements("O[i] = i == 1 ? 1.0 : A[i];"), "run", "--set", "n=3", "--fill", "rand", "--verify").err
        if not re.search(r"\n +0 +1 +2\n +0 +\. +1 \(-?0\.\d+\) +\.\n", row):
            fail(f"a vector: {row}")
        # an array that is wrong on the CPU is simulated: the report names the race, and two blocks that write the same element; no wrong
        # value twice
        raced = run(RACES, "check").err
        if raced.count("wrong values in total") != 1 or "error: race: " not in raced or "this may cause the wrong values" not in raced:
            fail(f"a race as the cause of wrong values: {raced}")
        both = run(rows(stride=32, tile=64), "check").err
        if "same-value" not in both or "two blocks write the same elements" not in both or "may cause" in both:
            fail(f"blocks that overlap: {both}")
        if "race" in run(RACES, "check", "--no-sim").err:
            fail("simulated nevertheless")


if __name__ == "__main__":
    main()
