#!/usr/bin/env python3
"""A product, checked against a library's and timed with it: NumPy on the host, PyTorch on a GPU.

PYTHONPATH=python python3 examples/python/matmul.py [-s SIZE]… [--kernel NAME] [--device cuda]
"""
import argparse
import math
import os
import sys

import tilewright

MATMUL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "kernels", "matmul")
FILES = {"matmul_v0": "registers.tile", "matmul_v1": "shared.tile", "matmul_v2": "tuned.tile",
         "matmul_v3": "async.tile", "matmul_v4": "stages.tile", "matmul_auto": "auto.tile"}


def arrays(device, m, n, k):
    """Returns a, b, two results, and a function that computes one of them with the library."""
    if device == "cpu":
        try:
            import numpy as np
        except ModuleNotFoundError:
            sys.exit(f"matmul.py needs NumPy, which {sys.executable} does not have (python3 -m pip install numpy)")
        a = ((np.random.rand(m, k) - 0.5) / math.sqrt(k)).astype(np.float32)
        b = ((np.random.rand(k, n) - 0.5) / math.sqrt(k)).astype(np.float32)
        c_actual, c_expect = np.empty((m, n), np.float32), np.empty((m, n), np.float32)
        return a, b, c_actual, c_expect, ("numpy", np.matmul)
    try:
        import torch
    except ImportError:
        sys.exit(f"matmul.py: --device {device} needs PyTorch, for its arrays and to compare with: "
                 "pip install torch, or leave --device out")
    a = ((torch.rand(m, k, device=device) - 0.5) / math.sqrt(k)).to(torch.float16)
    b = ((torch.rand(k, n, device=device) - 0.5) / math.sqrt(k)).to(torch.float16)
    c_actual, c_expect = (torch.empty(m, n, device=device, dtype=torch.float16) for _ in range(2))
    return a, b, c_actual, c_expect, ("torch", torch.matmul)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("-s", "--size", type=int, action="append")
    parser.add_argument("--kernel", choices=FILES, default="matmul_v3")
    parser.add_argument("--device", default="cpu")
    given = parser.parse_args()

    matmul = tilewright.load(os.path.join(MATMUL, FILES[given.kernel]))[given.kernel]
    headers = ["m", "n", "k", "name", "latency (ms)", "tflops"]
    rows = []
    for size in given.size or [256, 512, 1024]:
        m = n = k = size
        a, b, c_actual, c_expect, (library, product) = arrays(given.device, m, n, k)
        product(a, b, out=c_expect)
        matmul(m, n, k, a, b, c_actual)
        assert tilewright.allclose(c_actual, c_expect, rtol=1e-2, atol=1e-2 / math.sqrt(k))

        for name, function in [(library, lambda: product(a, b, out=c_expect)),
                               (given.kernel, lambda: matmul(m, n, k, a, b, c_actual))]:
            latency = tilewright.bench(function, warmup=5, repeat=20)
            rows.append([m, n, k, name, latency, 2 * m * n * k / latency * 1e-9])
    print(tilewright.table(headers, rows))


if __name__ == "__main__":
    main()
