#!/usr/bin/env python3
"""The kernels with roles, kernels/hopper and examples/hopper.tile, run on the CPU against their `ensures`: tiny and ragged sizes, one block and
several, more blocks than tiles, every configuration; and at small sizes on the simulator. Tests of all kernels that compile for several targets leave these out."""
import os
import sys

from kernel_space import configurations, kernels
from tile_runner import call, fail

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PRODUCTS = [(1, 8, 8), (17, 8, 16), (130, 264, 72), (256, 256, 256), (1, 520, 200), (300, 136, 64)]  # k, n: multiples of 8, as tensor copies need
BOTH = ("kernels/hopper/matmul_roles.tile", "kernels/hopper/matmul_roles_kn.tile")  # B as [n][k], B as [k][n]
ATTENTION = [(1, 1, 0), (17, 130, 0), (130, 17, 1), (129, 257, 1), (256, 256, 0)]


def verify(tool, path, sizes, *options, device="cpu"):
    result = call([tool, "run", os.path.join(ROOT, path), "--device", device, "--set", sizes, "--fill", "rand", "--verify", *options])
    if result.status != 0 or "verified: " not in result.out:
        fail(f"{path} at {sizes} {options}: {result}")


def main():
    tool = sys.argv[1]
    for turn, (m, n, k) in enumerate(PRODUCTS):
        sizes, sms = f"m={m},n={n},k={k}", ["--sms", str((1, 3, 5)[turn % 3])]
        verify(tool, "examples/hopper.tile", sizes, *sms)
        for path in BOTH:
            verify(tool, path, sizes, *sms, "--type", ("bf16", "f16")[turn % 2])
    for path in BOTH:
        for turn, tuned in enumerate(configurations(next(iter(kernels(os.path.join(ROOT, path)))))):
            values = ["--tune", ",".join(f"{name}={value}" for name, value in tuned.items())]
            verify(tool, path, "m=300,n=328,k=200", *values, "--sms", str((2, 4)[turn % 2]), "--type", ("f16", "bf16")[turn // 2 % 2])
    for nq, nk, causal in ATTENTION:
        verify(tool, "kernels/hopper/attention_roles.tile", f"heads=2,nq={nq},nk={nk},causal={causal},scale=0.0884")
    for path in ("examples/hopper.tile", *BOTH):
        verify(tool, path, "m=140,n=24,k=136", "--sms", "2", device="sim:sm_90a")
    verify(tool, "kernels/hopper/attention_roles.tile", "heads=1,nq=40,nk=140,causal=1,scale=0.0884", device="sim:sm_90a")
    print("ok")


if __name__ == "__main__":
    main()
