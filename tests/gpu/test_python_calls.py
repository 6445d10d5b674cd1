#!/usr/bin/env python3
"""python/tilewright.py on this machine's GPU, and on the driver without one: values, streams, PyTorch's tensors, a graph.

    tests/gpu/test_python_calls.py TILEWRIGHT     (PyTorch's part if it is installed)
"""
import os
import subprocess
import sys

sys.path[:0] = [os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", part) for part in ("python", "../python")]

import numpy as np

from tile_runner import expect, fail

FILES = {"matmul_v1": "shared", "matmul_v3": "async", "matmul_v4": "stages", "matmul_auto": "auto", "matmul_v5": "split_k"}


def test_values(tw, size):
    """Arrays made here, every kernel of the ladder and their family, f16 and f32, ragged."""
    m, n, k = size, size + 3, size - 5
    ladder = [(name, tw.load(f"kernels/matmul/{file}.tile")[name]) for name, file in FILES.items()]
    for name, kernel in [*ladder, ("matmul", tw.family("matmul"))]:
        for dtype in ("f4", "f2"):
            a, b = ((np.random.rand(*s) - 0.5).astype(dtype) for s in ((m, k), (k, n)))
            da, db, dc = tw.to_device(a), tw.to_device(b), tw.empty((m, n), f"f{8 * int(dtype[1])}")
            kernel(m, n, k, da, db, dc)
            want = a.astype("f8") @ b.astype("f8")
            expect(tw.allclose(dc, want, rtol=1e-2, atol=1e-2), f"{name} {dtype}")
            kernel.verify(m, n, k, da, db, dc)
            print(f"{name} {dtype}: {tw.bench(lambda: kernel(m, n, k, da, db, dc), 2, 5):.4f} ms")


def test_torch(tw, torch, kernel):
    n = 1024
    for dtype in (torch.float16, torch.bfloat16, torch.float32):
        a, b = ((torch.rand(n, n, device="cuda") - 0.5).to(dtype) for _ in range(2))
        c = torch.zeros_like(a)
        want = (a.float() @ b.float())
        kernel(n, n, n, a, b, c)
        expect(tw.allclose(c, want, rtol=2e-2, atol=2e-1), f"PyTorch's {dtype}")
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):  # earlier work in the stream is waited for, without a copy
            x = a.clone()
            for _ in range(20):
                x = x * 1.0
            c.zero_()
            kernel(n, n, n, x, b, c)
            total = c.float().sum()
        stream.synchronize()
        expect(torch.isclose(total, want.sum(), rtol=1e-2, atol=50.0).item(), f"in PyTorch's stream: {dtype}")
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream):  # which has the workspace of the kernel
            kernel(n, n, n, a, b, c)
        c.zero_()
        graph.replay()
        expect(tw.allclose(c, want, rtol=2e-2, atol=2e-1), f"in PyTorch's graph: {dtype}")
        ours, theirs = (tw.bench(f) for f in (lambda: kernel(n, n, n, a, b, c), lambda: torch.matmul(a, b, out=c)))
        print(f"PyTorch's {dtype}: {ours:.4f} ms, torch.matmul {theirs:.4f} ms")
    try:
        kernel(n, n, n, a.t(), b, c)
        fail("a transposed tensor is taken")
    except ValueError as error:
        expect("`a` (T[m][k]), is not row-major" in str(error), error)


def main():
    if "-fsanitize" in os.environ.get("CFLAGS", ""):
        return
    os.environ["TILEWRIGHT_LIBRARY"] = os.path.join(os.path.dirname(os.path.abspath(sys.argv[1])), "libtilewright.so")
    if len(sys.argv) == 2:  # a second run uses the driver without a GPU; this one the real driver
        fake = os.environ.get("FAKE_CUDA")
        if fake:
            done = subprocess.run([sys.executable, __file__, sys.argv[1], "48"], env=dict(os.environ, TILEWRIGHT_CUDA_DRIVER=fake, FAKE_CUDA_SM="90"))
            expect(done.returncode == 0, "on the driver without a GPU")
    import tilewright as tw
    try:
        tw.empty((1,))
    except tw.Unsupported as error:
        print(error)
        return
    test_values(tw, int(sys.argv[2]) if len(sys.argv) > 2 else 1000)
    if "TILEWRIGHT_CUDA_DRIVER" in os.environ:  # that driver cannot use PyTorch's arrays
        return
    try:
        import torch
    except ImportError:
        return
    if torch.cuda.is_available():
        test_torch(tw, torch, tw.load("kernels/matmul/stages.tile")["matmul_v4"])
        test_torch(tw, torch, tw.family("matmul"))


if __name__ == "__main__":
    main()
