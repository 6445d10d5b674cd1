#!/usr/bin/env python3
"""The verdict of `ensures` on wrong kernels, and on sizes and places that an array holds.

    test_ensures.py TILEWRIGHT
"""
import re
import tempfile

from tile_runner import arguments, call, call_on, expect, fail

# A kernel, its sizes, and wrong versions of it: each must be found.
BROKEN = [
    ("convolution", "n=2,h=5,w=6,c=5,r=3,s=2,f=4,stride=2,pad=1", [
        ("stride - pad, left", "stride, left"),
        ("tap % s", "tap / s"),
        ("z < w, (", "z <= w, ("),
        ("(image * h + y)", "(image * w + y)")]),
    ("paged_attention", "batch=9,heads=2,group=4,d=16,pages=9,most=9,scale=8", [
        ("* PAGE + at % PAGE", "* PAGE + at / PAGE"),
        ("min(Length[b], most * PAGE)", "most * PAGE"),
        ("/ PAGE] * PAGE", "/ PAGE + 1] * PAGE"),
        ("STEP < end", "STEP < end + STEP"),
        ("acc * old +", "acc +")]),
    ("w4a16", "m=5,n=7,k=70", [
        ("(iota() & 1) * 4", "(1 - (iota() & 1)) * 4"),
        ("& 15) - 8", "& 15) - 7"),
        ("Scale[p / GROUP", "Scale[p / GROUP / 2")]),
    ("grouped_products", "groups=9,most=9,n=5,k=40", [("iota(BM, 1) < rows", "iota(BM, 1) <= rows")]),
    ("argmax", "rows=5,cols=700", [("j + argmax", "argmax"), ("else nan", "else 2")]),
]

PLACES = """
kernel k(i32 n, i32 m, const f32 *x, const i32 *t, f32 *y) grid(1) warps(1)
{
    global f32 X[n] = x, Y[m] = y;
    global i32 T[m] = t;
    for (i32 i = 0; i < m; i++)
        Y[i] = T[i] >= 0 && T[i] < n ? X[T[i]] : 0;
    ENSURES
}
"""


def check_broken(tool, folder):
    for name, sizes, changes in BROKEN:
        path = f"kernels/recipes/{name}.tile"
        text = open(path).read()
        run = [tool, "run", "k.tile", "--set", sizes, "--fill", "rand", "--verify"]
        if "*length" in text:
            run += ["--fill", "length=extreme"]  # 0, or as long as the array allows
        call_on(folder, text, run, 0)
        for old, new in changes:
            body, ensures = text.rsplit("\n    ensures", 1)
            expect(old in body, f"{name}: no {old}")
            result = call_on(folder, body.replace(old, new, 1) + "\n    ensures" + ensures, run, 1)
            expect("wrong values in" in result.err, f"{name}, {old} -> {new}: {result}")


def check_places(tool, folder):
    run = [tool, "run", "k.tile", "--set", "n=3,m=8", "--fill", "rand", "--verify"]
    call_on(folder, PLACES.replace("ENSURES", "ensures Y == X[T];"), run, 0)
    result = call_on(folder, PLACES.replace("ENSURES", "ensures for (i32 i < m) Y[i] == X[T[i] + 2];"), run, 1)
    expect(re.search(r"element \d of axis 0 of `X` is outside \(0 to 2\)", result.err), result)
    result = call_on(folder, PLACES.replace("ENSURES", "ensures for (i32 i < m) Y[0 +: T[i] - 9] == 0;"), run, 1)
    expect("a length is -" in result.err, result)
    result = call_on(folder, PLACES.replace("ENSURES", "ensures Y[0 +: n] == X[0 +: n + 1];"), run, 1)
    expect("`Y` is f32[3] here, but the expression is f32[4]" in result.err, result)


def check_printed(tool, folder):
    """Checks that a slice with a length given at the launch, as `show` prints it, compiles again to the same text."""
    sizes = ["--set", "n=70,r=5,pad=2"]
    call_on(folder, open("tests/parity/ensures_sizes.tile").read(), [tool, "check", "k.tile", "--no-run"], 0)
    shown = call([tool, "show", "k.tile:smooth", *sizes], cwd=folder)
    expect(shown.status == 0 and "+ iota(" in shown.out, shown)
    call_on(folder, shown.out, [tool, "run", "k.tile", *sizes, "--fill", "rand", "--verify"], 0)


def main():
    tool, _, _ = arguments()
    with tempfile.TemporaryDirectory() as folder:
        check_places(tool, folder)
        check_printed(tool, folder)
        check_broken(tool, folder)


if __name__ == "__main__":
    main()
