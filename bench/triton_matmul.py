#!/usr/bin/env python3
"""Times a matrix product in Triton with the fastest configuration of a list. Prints one line of JSON.

    bench/triton_matmul.py M N K [--type f16|bf16|f32|tf32]

Inputs are those of `tilewright bench --device cuda`: uniform, scaled by 1/sqrt(K). triton.testing.do_bench measures the time: its
launches follow each other, and it clears the cache before each. 64 rows of the result are compared with a product in double precision.
Status 3: Triton, PyTorch or a GPU is missing.
"""
import argparse
import json
import sys

try:
    import torch
    import triton
    import triton.language as tl
except ImportError as absent:
    print(f"no Triton to compare with: {absent}", file=sys.stderr)
    sys.exit(3)

TYPES = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32, "tf32": torch.float32}
# Rows, columns and depth of a block's tile, warps, stages.
SHAPES = [(128, 256, 64, 8, 3), (256, 128, 64, 8, 3), (128, 128, 64, 4, 4), (128, 128, 32, 4, 4), (128, 64, 32, 4, 4),
          (64, 128, 32, 4, 4), (64, 64, 32, 4, 3), (64, 256, 32, 4, 4), (16, 64, 128, 4, 5), (16, 128, 128, 4, 4)]


@triton.autotune([triton.Config({"BM": bm, "BN": bn, "BK": bk}, num_warps=warps, num_stages=stages)
                  for bm, bn, bk, warps, stages in SHAPES], key=["m", "n", "k"])
@triton.jit
def product(a, b, c, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr, PRECISION: tl.constexpr):
    # Blocks run in groups of GROUP rows of tiles, so that blocks that run at the same time share the data that they read.
    rows, columns = tl.cdiv(m, BM), tl.cdiv(n, BN)
    block = tl.program_id(0)
    first = block // (GROUP * columns) * GROUP
    height = min(rows - first, GROUP)
    row = first + block % height
    column = block % (GROUP * columns) // height
    i, j, p = row * BM + tl.arange(0, BM), column * BN + tl.arange(0, BN), tl.arange(0, BK)
    at_a, at_b = a + i[:, None] * k + p[None, :], b + p[:, None] * n + j[None, :]
    sum = tl.zeros((BM, BN), tl.float32)
    for at in range(0, k, BK):
        x = tl.load(at_a, (i[:, None] < m) & (at + p[None, :] < k), 0.0)
        y = tl.load(at_b, (at + p[:, None] < k) & (j[None, :] < n), 0.0)
        sum = tl.dot(x, y, sum, input_precision=PRECISION)
        at_a += BK
        at_b += BK * n
    tl.store(c + i[:, None] * n + j[None, :], sum.to(c.dtype.element_ty), (i[:, None] < m) & (j[None, :] < n))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("sizes", nargs=3, type=int, metavar=("M", "N", "K"))
    parser.add_argument("--type", default="f16", choices=TYPES)
    options = parser.parse_args()
    if not torch.cuda.is_available():
        print("no GPU for Triton", file=sys.stderr)
        return 3
    m, n, k = options.sizes
    a, b = (((torch.rand(shape, device="cuda") - 0.5) / k**0.5).to(TYPES[options.type]) for shape in ((m, k), (k, n)))
    c = torch.empty((m, n), device="cuda", dtype=a.dtype)

    def start():
        grid = lambda config: (triton.cdiv(m, config["BM"]) * triton.cdiv(n, config["BN"]),)
        product[grid](a, b, c, m, n, k, GROUP=8, PRECISION="ieee" if options.type == "f32" else "tf32")

    start()
    want = a[:64].double() @ b.double()
    tolerance = {"f16": 1e-2, "bf16": 5e-2, "f32": 1e-4, "tf32": 1e-2}[options.type] * float(want.abs().max())
    ms = triton.testing.do_bench(start, return_mode="median")
    print(json.dumps({"name": f"Triton {triton.__version__}", "dtype": options.type, "m": m, "n": n, "k": k, "ms": ms,
                      "tflops": 2e-9 * m * n * k / ms, "ok": float((c[:64].double() - want).abs().max()) <= tolerance,
                      "config": str(product.best_config)}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
