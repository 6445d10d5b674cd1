#!/usr/bin/env python3
"""Attention, verified by the kernel's own `ensures`, with the fastest of its tuned values on this machine.

PYTHONPATH=python python3 examples/python/attention.py
"""
import itertools
import math
import os
import sys

try:
    import numpy as np
except ModuleNotFoundError:
    sys.exit(f"attention.py needs NumPy, which {sys.executable} does not have (python3 -m pip install numpy)")

import tilewright

KERNELS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "kernels")


def main():
    attention = tilewright.load(os.path.join(KERNELS, "fused", "attention.tile"))["attention"]
    heads, nq, nk, d = 4, 200, 200, 64
    scale = 1 / math.sqrt(d)
    q, k, v = (np.random.randn(heads, n, d).astype(np.float32) for n in (nq, nk, nk))
    o = np.empty_like(q)

    found = attention.verify(heads, nq, nk, d, True, scale, q, k, v, o)
    print(f"causal: {found.checked} elements, the largest error is {found.max_error:.1e}")

    attention(heads, nq, nk, d, False, scale, q, k, v, o)
    scores = q @ k.transpose(0, 2, 1) * scale
    weights = np.exp(scores - scores.max(axis=2, keepdims=True))
    assert tilewright.allclose(o, weights / weights.sum(axis=2, keepdims=True) @ v)

    rows = []
    for warps, size in itertools.product(attention.tune["WARPS"], range(len(attention.tune["BM"]))):
        chosen = attention.with_(WARPS=warps, **{name: attention.tune[name][size] for name in ("BM", "BN")})
        latency = tilewright.bench(lambda: chosen(heads, nq, nk, d, False, scale, q, k, v, o), repeat=5)
        rows.append([attention.tune["BM"][size], attention.tune["BN"][size], warps, latency])
    print(tilewright.table(["BM", "BN", "WARPS", "latency (ms)"], sorted(rows, key=lambda row: row[-1])))


if __name__ == "__main__":
    main()
