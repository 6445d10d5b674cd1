#!/usr/bin/env python3
"""The thread-level kernels against the same in CUDA C (bench/cuda/sgemm.cu), by the instructions of their main loops.

    test_nvcc.py TILEWRIGHT

Ours are lowered for sizes that are multiples of 16, and for sizes of which nothing is known, which is all that the twins
assume (but for vector_load, whose twin's rows are vectors). A step is what one trip of the loop in the source does: 32
products a thread, say; a compiled loop may do several, and how many is told by its FFMAs. Fails where ours has more than
1.03 times the instructions of nvcc's. Without nvcc or ptxas nothing is compared, which is said.
"""
import os
import shutil
import subprocess
import sys
import tempfile

from tile_runner import PATIENCE, fail

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "scripts"))
import sass  # noqa: E402

TARGETS = ["sm_80", "sm_90"]
SIZES = {"16 n": 4096, "any": 4095}
PRODUCTS = {  # of a thread in a step
    "naive": 1, "tiled": 32, "transposed": 32, "padded": 32, "double_buffered": 32, "register_tiled": 256,
    "vector_load": 128,
}
VECTORS = ["vector_load"]  # the twin takes n and k to be multiples of 4
MOST = 1.03


def call(command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    if done.returncode:
        fail(f"{' '.join(command)}: {done.stderr.strip()}")
    return done.stdout


def per_step(code, products):
    body = sass.main_loop(code)
    steps = sum(i.name == "FFMA" for i in body) // products
    if steps == 0:
        fail(f"the main loop has fewer than {products} products: {len(body)} instructions")
    return len(body) / steps


def nvcc_code(target, folder):
    cubin = os.path.join(folder, f"nvcc.{target}.cubin")
    call(["nvcc", "-O3", "-arch=" + target, "-cubin", os.path.join("bench", "cuda", "sgemm.cu"), "-o", cubin])
    return sass.read(cubin)


def our_code(tool, name, target, size, folder):
    source, cubin = (os.path.join(folder, f"{name}.{target}.{size}.{end}") for end in ("ptx", "cubin"))
    shown = call([tool, "show", f"kernels/sgemm/{name}.tile", "--stage=ptx", "--target=" + target,
                  f"--set=m={size},n={size},k={size}"])
    with open(source, "w") as out:
        out.write(shown)
    call(["ptxas", "-O3", "-arch=" + target, source, "-o", cubin])
    return next(iter(sass.read(cubin).values()))


def main():
    tool = os.path.abspath(sys.argv[1])
    for needed in ("nvcc", "ptxas"):
        if not shutil.which(needed):
            print(f"skipped: there is no {needed}")
            return
    os.chdir(ROOT)
    worse = 0
    print(f"{'instructions of a step':24}{'target':>8}{'sizes':>8}{'ours':>9}{'nvcc':>9}{'ratio':>8}")
    with tempfile.TemporaryDirectory() as folder:
        for target in TARGETS:
            theirs = nvcc_code(target, folder)
            for name, products in PRODUCTS.items():
                nvcc = per_step(theirs["sgemm_" + name], products)
                for sizes, size in SIZES.items():
                    if name in VECTORS and size % 4:
                        continue
                    ours = per_step(our_code(tool, name, target, size, folder), products)
                    over = ours > MOST * nvcc
                    worse += over
                    print(f"{name:24}{target:>8}{sizes:>8}{ours:9.2f}{nvcc:9.2f}{ours / nvcc:8.2f}{'  over' if over else ''}")
    if worse:
        fail(f"{worse} of them have more than {MOST} times the instructions of nvcc's")


if __name__ == "__main__":
    main()
