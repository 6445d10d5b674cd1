"""How the programs of tests/thread are launched. PRODUCTS: name -> how a launch computes C [m][n], f32 or f16 as A and B."""
from collections import namedtuple

# rows, columns: of C, of a block. by_columns: neighbouring blocks are side by side. transposed: B is [n][k]. twin: the kernel that the compiler makes
# the same program of, and its tuned values.
Product = namedtuple("Product", "rows columns by_columns transposed dtype threads shared twin")
PRODUCTS = {
    "matmul_f16": Product(128, 128, True, True, "f16", 256, 65536, None),
    "matmul_ahead": Product(128, 256, False, False, "f16", 256, 98304,
                            ("read_ahead.tile:matmul_v6", {"BM": 128, "BN": 256, "WARPS": 8, "BK": 32, "STAGES": 4})),
    "matmul_f32": Product(128, 64, False, False, "f32", 128, 49152,
                          ("stages.tile:matmul_v4", {"BM": 128, "BN": 64, "BK": 16, "WARPS": 4, "STAGES": 4})),
}

ATTENTION_SHARED = 65536  # bytes; attention_warps.thread: 128 rows of Q a block, 256 threads
LOG2E = 1.4426950408889634


def grid(product, m, n):
    blocks = [m // product.rows, n // product.columns]
    return tuple(reversed(blocks)) if product.by_columns else tuple(blocks)
