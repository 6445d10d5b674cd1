#!/usr/bin/env python3
"""argmax and argmin of rows with NaN, infinities and equal elements, on cpu and sim: the index is inside the row, NaN is ignored, and if all
elements are NaN the index is 0. The shipped recipe follows the same rule over several pieces of a row."""
import itertools
import os
import sys
import tempfile

import numpy as np

from tile_runner import call, expect

ONE_TILE = """type T = {TYPE};
kernel places(i32 rows, i32 cols, const T *x, i32 *most, i32 *least) grid(cdiv(rows, 8)) warps(2)
{
    assume(cols <= 64);
    global T X[rows][cols] = x;
    global i32 Most[rows][1] = most, Least[rows][1] = least;
    i32 i = block.x * 8;
    Most[i +: 8] = argmax(X[i +: 8][0 +: 64] else LOW, axis = 1);
    Least[i +: 8] = argmin(X[i +: 8][0 +: 64] else HIGH, axis = 1);
    ensures Most == argmax(X, axis = 1);
    ensures Least == argmin(X, axis = 1);
}
"""
NAN, INF = float("nan"), float("inf")


def rows_of(cols, random):
    """Returns rows of floats: NaN, infinities and equal elements alone, at the first and the last place, and among numbers."""
    numbers = (random.integers(-9, 9, cols) / 2).tolist()
    alone = [[v] * cols for v in (NAN, -INF, INF, 2.5, -0.0)]
    ends = [row for v in (NAN, -INF, INF)
            for row in ([v] + numbers[1:], numbers[:-1] + [v], [v] + [-INF] * (cols - 1), [INF] * (cols - 1) + [v])]
    mixed = [[v if random.random() < 0.5 else w for w in numbers] for v in (NAN, -INF, INF)]
    late = [[NAN] * (cols - 1) + [v] for v in (-INF, INF, 1.0)]
    return np.array(alone + ends + mixed + late + [numbers], "f4")


def integer_rows(cols, random):
    low, high = np.iinfo("i4").min, np.iinfo("i4").max
    return np.array([[low] * cols, [high] * cols, [3] * cols, random.integers(-9, 9, cols).tolist(), [low] * (cols - 1) + [high]], "i4")


def first(row, best):
    """Returns the first place of the best number; 0 if there is none."""
    numbers = [v for v in row if v == v]
    return list(row).index(best(numbers)) if numbers else 0


def run(tool, folder, kernel, x, outputs, *options):
    np.save(f"{folder}/x.npy", x)
    files = [word for name in outputs for word in ("--out", f"{name}={folder}/{name}.npy")]
    result = call([tool, "run", kernel, "--in", f"x={folder}/x.npy", *files, "--verify", *options])
    expect(result.status == 0, f"{kernel} {options} {x.shape}: {result}")
    for name, best in outputs.items():
        got = np.load(f"{folder}/{name}.npy").ravel().tolist()
        want = [first(row, best) for row in x.tolist()]
        wrong = [(row, g, w) for row, g, w in zip(x.tolist(), got, want) if g != w]
        expect(not wrong, f"{kernel} {options}, {name}: (row, index, wanted) {wrong[:3]}")


def main():
    tool = os.path.abspath(sys.argv[1])
    random = np.random.default_rng(1)
    with tempfile.TemporaryDirectory() as folder:
        for t in ("f32", "f16", "bf16", "i32"):
            floats = t != "i32"
            text = ONE_TILE.replace("TYPE", t).replace("LOW", "nan" if floats else "-2147483648")
            with open(f"{folder}/{t}.tile", "w") as out:
                out.write(text.replace("HIGH", "nan" if floats else "2147483647"))
            for cols, device in itertools.product((1, 2, 5, 37, 64), ("cpu", "sim")):
                x = rows_of(cols, random) if floats else integer_rows(cols, random)
                run(tool, folder, f"{folder}/{t}.tile", x.astype("f2") if t == "f16" else x, {"most": max, "least": min}, "--device", device)
        for t, cols, device in itertools.product(("f32", "f16", "bf16"), (1, 5, 256, 300, 700), ("cpu", "sim")):
            x = rows_of(cols, random)
            run(tool, folder, "kernels/recipes/argmax.tile", x.astype("f2") if t == "f16" else x, {"at": max}, "--type", f"T={t}",
                "--device", device)


main()
