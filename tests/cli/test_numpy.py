#!/usr/bin/env python3
"""`run` compared with NumPy: tiny, ragged, long and large sizes; element types; a tolerance derived from the type and K."""
import os
import sys
import tempfile

import numpy as np

from tile_runner import call, fail

SIZES = [(1, 1, 1), (3, 5, 7), (127, 129, 131), (64, 1, 300), (512, 512, 512)]  # m, n, k
SHARED = "kernels/matmul/shared.tile"
EPSILON = {"f2": 2.0**-11, "f4": 2.0**-24}


def product(a, b):
    """Returns a · b in float64, and the greatest error of a result summed in f32 and rounded once to the type."""
    want = a.astype("f8") @ b.astype("f8")
    size = np.abs(a.astype("f8")) @ np.abs(b.astype("f8"))
    k = a.shape[1]
    return want, (k + 2) * EPSILON["f4"] * size + EPSILON[a.dtype.str[1:]] * np.abs(want) + 2.0**-24


def run_product(tool, folder, target, a, b, *options):
    files = {name: os.path.join(folder, name + ".npy") for name in "abc"}
    np.save(files["a"], a)
    np.save(files["b"], b)
    result = call([tool, "run", target, "--in", f"a={files['a']}", "--in", f"b={files['b']}", "--out", f"c={files['c']}", *options])
    if result.status != 0:
        fail(f"{target} {a.shape} · {b.shape} {a.dtype}: {result}")
    return np.load(files["c"])


def compare(got, want, allowed, what):
    worst = np.max(np.abs(got.astype("f8") - want) - allowed)
    if got.shape != want.shape or not worst <= 0:
        fail(f"{what}: shape {got.shape}, beyond the tolerance by {worst}")


def test_products(tool, folder, random):
    for m, n, k in SIZES:
        for kind in ("f4", "f2"):
            a = ((random.random((m, k)) - 0.5) / np.sqrt(k)).astype(kind)
            b = ((random.random((k, n)) - 0.5) / np.sqrt(k)).astype(kind)
            got = run_product(tool, folder, SHARED, a, b)
            compare(got, *product(a, b), f"{SHARED} {m}×{n}×{k} {kind}")


def test_bf16(tool, folder, random):
    """NumPy has no bf16: the arrays are f4, rounded here so that the conversion loses nothing."""
    def rounded(x):
        return (x.astype("f4").view("u4") & np.uint32(0xFFFF0000)).view("f4")
    a, b = rounded(random.random((33, 20)) - 0.5), rounded(random.random((20, 17)) - 0.5)
    got = run_product(tool, folder, SHARED, a, b, "--type", "T=bf16")
    want, allowed = product(a, b)
    if got.dtype != np.float32:
        fail(f"bf16 results come as {got.dtype}")
    compare(got, want, allowed + 2.0**-8 * np.abs(want), "bf16")


def test_single_block(tool, folder):
    a = np.array([[0, 1], [2, 3]], "f4")
    files = {name: os.path.join(folder, name + ".npy") for name in "ab"}
    np.save(files["a"], a)
    np.save(files["b"], np.ascontiguousarray(a.T))
    result = call([tool, "run", "kernels/single_block/single_block.tile", "--in", f"a={files['a']}", "--in", f"b={files['b']}", "--verify"])
    if result.status != 0 or "out: f32[2][2]\n[[ 1.0,  3.0],\n [ 3.0, 13.0]]\n" not in result.out:
        fail(f"single block: {result}")


def test_softmax(tool, folder, random):
    x = random.standard_normal((5, 37)).astype("f4")
    np.save(os.path.join(folder, "x.npy"), x)
    result = call([tool, "run", "kernels/fused/softmax.tile", "--in", f"x={folder}/x.npy", "--out", f"y={folder}/y.npy"])
    if result.status != 0:
        fail(f"softmax: {result}")
    e = np.exp(x.astype("f8") - x.max(axis=1, keepdims=True))
    compare(np.load(f"{folder}/y.npy"), e / e.sum(axis=1, keepdims=True), np.full(x.shape, 1e-6), "softmax")


def main():
    tool = os.path.abspath(sys.argv[1])
    random = np.random.default_rng(7)
    with tempfile.TemporaryDirectory() as folder:
        test_products(tool, folder, random)
        test_bf16(tool, folder, random)
        test_single_block(tool, folder)
        test_softmax(tool, folder, random)


if __name__ == "__main__":
    main()
