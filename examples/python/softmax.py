#!/usr/bin/env python3
"""Softmax of each row, by a kernel written here; and the exceptions for the faults of a kernel.

PYTHONPATH=python python3 examples/python/softmax.py
"""
import sys

try:
    import numpy as np
except ModuleNotFoundError:
    sys.exit(f"softmax.py needs NumPy, which {sys.executable} does not have (python3 -m pip install numpy)")

import tilewright

SOFTMAX = """
kernel softmax(i32 rows, static i32 cols, const f32 *x, f32 *y) grid(rows) warps(4)
{
    global f32 X[rows][cols] = x, Y[rows][cols] = y;
    reg f32 v[cols] = X[block.x];

    v = exp(v - max(v));
    Y[block.x] = v / sum(v);
}
"""


def main():
    softmax = tilewright.compile(SOFTMAX, "softmax.tile")["softmax"]
    headers = ["rows", "cols", "name", "latency (ms)", "GB/s"]
    rows = []
    for m, n in [(1024, 128), (1024, 1000), (256, 4096)]:
        x = np.random.randn(m, n).astype(np.float32)
        y = np.empty_like(x)
        softmax(x=x, y=y)  # rows and cols follow from the arrays

        e = np.exp(x - x.max(axis=1, keepdims=True))
        assert tilewright.allclose(y, e / e.sum(axis=1, keepdims=True), rtol=1e-5, atol=1e-7)
        latency = tilewright.bench(lambda: softmax(m, n, x, y))
        rows.append([m, n, "softmax", latency, 2 * x.nbytes / latency * 1e-6])
    print(tilewright.table(headers, rows))

    print("\nWith `maximum`, which takes two values, in place of `max`, it does not compile:")
    try:
        tilewright.compile(SOFTMAX.replace("max(v)", "maximum(v)"), "softmax.tile")["softmax"].check()
    except tilewright.CompileError as error:
        print(error)


if __name__ == "__main__":
    main()
