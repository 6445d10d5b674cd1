#!/usr/bin/env python3
"""Every variant that a shipped table names gives right values on the CPU and on the simulator, at ragged sizes, with K split where the kernel does
that. --all: at more sizes."""
import glob
import json
import sys

from tile_runner import call, expect

# k is deep enough for several parts in the split kernels.
SIZES = {"matmul": ["m=33,n=72,k=1104"], "matmul_nt": ["m=33,n=72,k=1104"], "matmul_batched": ["batch=3,m=33,n=72,k=100"]}
MORE = {"matmul": ["m=1,n=1,k=1", "m=130,n=40,k=2304", "m=64,n=144,k=96"], "matmul_nt": ["m=1,n=1,k=1", "m=130,n=40,k=2304"],
        "matmul_batched": ["batch=1,m=1,n=1,k=1", "batch=2,m=80,n=64,k=64"]}
COPIED = ("matmul_v12", "matmul_v12_kn")  # by tensor copies: rows of multiples of 16 bytes


def variants(path):
    """Returns (family, types, kernel, tuned values, whether only a CPU has it) of each variant, once."""
    found = []
    for text in open(path):
        line = json.loads(text)
        for v in line.get("variants", []):
            one = line["family"], line["types"], v["kernel"], v["tune"], " core" in line["device"]
            if one not in found:
                found.append(one)
    return found


def main():
    tool, *rest = sys.argv[1:]
    counted = 0
    for path in sorted(glob.glob("kernels/*.table")):
        for family, types, kernel, tune, of_cpu in variants(path):
            for sizes in SIZES[family] + (MORE[family] if "--all" in rest and kernel not in COPIED else []):
                for device in ("cpu",) if of_cpu else ("cpu", "sim:sm_90"):
                    done = call([tool, "run", f"kernels/{family}.tile:{kernel}", "--set", sizes, "--type", types, "--tune", tune, "--fill", "rand",
                                 "--device", device, "--verify"])
                    expect(done.status == 0 and "verified: " in done.out, f"{kernel} {tune} {types} at {sizes} on {device}: {done.out[-300:]}{done.err[-500:]}")
                    counted += 1
    expect(counted > 0, "no table ships a variant")
    print(f"{counted} runs are right")


main()
