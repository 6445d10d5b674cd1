#!/usr/bin/env python3
"""Compares the cost of a kernel's call from Python with the cost of the same call through the C
interface.

    PYTHONPATH=python python3 bench/python_launch.py [CALLS]

Prints microseconds a call, the least of 20 batches. Host: the whole product of 16x16x16 on one
thread, with the same arrays in each call, with a new array in each call, and as a family. GPU, if there is one:
the time until the call returns, with the GPU idle before each batch; and the time that PyTorch, if it
is installed, takes to start an addition.
"""
import sys
import tempfile
import time

import numpy as np

import tilewright

BATCHES = 20
SMALL = """
kernel small(i32 m, i32 n, f32 by, const f32 *a, f32 *c) grid(cdiv(m, 8)) warps(1)
{
    global f32 A[m][n] = a, C[m][n] = c;
    C[0 +: 8][0 +: 32] = A[0 +: 8][0 +: 32] * by;
}
"""
PRODUCT = """
kernel product(i32 m, static i32 n, static i32 k, const f32 *a, const f32 *b, f32 *c) grid(1) warps(1)
{
    global f32 A[m][k] = a, B[k][n] = b, C[m][n] = c;
    reg f32 ra[16][16] = A[0 +: 16][0 +: 16], rb[16][16] = B[0 +: 16][0 +: 16];
    C[0 +: 16][0 +: 16] = dot(ra, rb);
    ensures C == dot(A, B);
}
"""


def microseconds(function, calls, before=lambda: None):
    best = float("inf")
    for _ in range(BATCHES):
        before()
        start = time.perf_counter()
        for _ in range(calls):
            function()
        best = min(best, time.perf_counter() - start)
    return best / calls * 1e6


def host(calls):
    product = tilewright.compile(PRODUCT, threads=1)["product"]
    a, b, c = (np.ones((16, 16), np.float32) for _ in range(3))
    others = [a, a.copy()]

    def another():
        others.reverse()
        product(16, 16, 16, others[0], b, c)

    product(16, 16, 16, a, b, c)
    start, plan = tilewright._library().tw_entry_start, next(iter(product._plans.values()))
    addresses = [x.ctypes.data for x in (a, b, c)]
    packed = plan.pack(1, 16, 1, 16, 1, 16, *[y for address in addresses for y in (3, address)])
    yield "host", "tw_entry_start", microseconds(lambda: start(plan.entry, packed, 6, None, None), calls)
    yield "host", "the same arrays again", microseconds(lambda: product(16, 16, 16, a, b, c), calls)
    yield "host", "another array each time", microseconds(another, calls)
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/product.tile", "w") as out:
            out.write(PRODUCT)
        family = tilewright.family(f"{folder}/product.tile", threads=1)
    family(16, 16, 16, a, b, c)
    start, plan = tilewright._library().tw_family_start, next(iter(family._plans.values()))
    yield "host", "tw_family_start", microseconds(lambda: start(plan.entry, packed, 6, None, None), calls)
    yield "host", "a family of that kernel", microseconds(lambda: family(16, 16, 16, a, b, c), calls)


def gpu(calls):
    small = tilewright.compile(SMALL)["small"]
    a, c = tilewright.to_device(np.ones((8, 32), np.float32)), tilewright.empty((8, 32))
    small(8, 32, 2.0, a, c)
    library, plan = tilewright._library(), next(iter(small._plans.values()))
    packed = plan.pack(1, 8, 1, 32, 2, 2.0, 3, a.address, 3, c.address)
    result = np.empty((8, 32), np.float32)

    def bare():
        library.tw_entry_start(plan.entry, packed, 5, None, None)

    def wait():
        c.copy_to(result)

    yield "cuda", "tw_entry_start", microseconds(bare, calls, wait)
    yield "cuda", "arrays made here", microseconds(lambda: small(8, 32, 2.0, a, c), calls, wait)
    try:
        import torch
        x, y = (torch.ones(8, 32, device="cuda") for _ in range(2))
    except (ImportError, RuntimeError, AssertionError):  # the last one: a PyTorch without CUDA
        return
    small(8, 32, 2.0, x, y)
    wait = torch.cuda.synchronize
    yield "cuda", "PyTorch's tensors", microseconds(lambda: small(8, 32, 2.0, x, y), calls, wait)
    yield "cuda", "torch.add, to compare", microseconds(lambda: torch.add(x, x, out=y), calls, wait)


def main():
    calls = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    rows = list(host(calls))
    if len(tilewright.devices()) > 1:
        try:
            rows += gpu(calls)
        except tilewright.Unsupported as error:
            print(error)
    print(tilewright.table(["device", "call", "microseconds"], rows))


if __name__ == "__main__":
    main()
