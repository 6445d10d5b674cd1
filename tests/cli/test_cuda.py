#!/usr/bin/env python3
"""`--device cuda`, on a driver without a GPU (tests/cuda/fake_cuda.h)."""
import os
import re
import sys
import tempfile

from tile_runner import call, fail


def main():
    tool = sys.argv[1]
    environment = dict(os.environ, TILEWRIGHT_CUDA_DRIVER=os.environ["FAKE_CUDA"])

    def expect(arguments, status, *texts, **more):
        done = call([tool, *arguments.split()], env=dict(environment, **more))
        for text in texts:
            if done.status != status or not re.search(text, done.out + done.err):
                fail(f"{arguments}: expected status {status} and /{text}/, got {done}")

    product = "run kernels/matmul/stages.tile --device cuda --set m=33,n=40,k=17 --fill rand --verify"
    expect("devices", 0, r"cuda +simulator, .*compute capability 8\.0, CUDA 13\.0")
    expect(product, 0, "verified: 1320 elements")
    expect(product, 2, "no GPU to run on: cuInit: CUDA_ERROR_NO_DEVICE", FAKE_CUDA_DEVICES="0")
    expect(product, 2, "no GPU to run on: TILEWRIGHT_CUDA_DRIVER names /not/there, which cannot be loaded .*No such file",
           TILEWRIGHT_CUDA_DRIVER="/not/there")
    expect("devices", 0, "cuda +no GPU to run on: .*No such file", TILEWRIGHT_CUDA_DRIVER="/not/there")
    expect("devices -v", 0, "cuda +no GPU to run on: cuInit: CUDA_ERROR_NO_DEVICE", FAKE_CUDA_DEVICES="0")
    expect(product, 2, "libm.so.6 is not a CUDA driver: it has no cuInit", TILEWRIGHT_CUDA_DRIVER="libm.so.6")
    two = {"FAKE_CUDA_DEVICES": "2"}
    second = product.replace("--device cuda", "--device cuda:1")
    expect("devices", 0, r"(?m)^cuda +simulator, .*\ncuda:1 +simulator 1, ", **two)
    expect("devices --json", 0, r'"name": ?"cuda:1"', **two)
    expect(second, 0, "verified: 1320 elements", **two)
    expect(second, 2, "no GPU to run on: there is no GPU 1: the driver sees 1, counted from 0")
    expect(second.replace("cuda:1", "cuda:x"), 2, "`cuda:x` is not the GPU of this context", **two)
    expect("show kernels/matmul/stages.tile --stage ptx --target cuda:1", 0, "sm_80", **two)
    expect("run kernels/cuda/block_sum.ptx --device cuda:1 --block 256 --arg f32[1000]:ones --arg f32[1]:none --arg i32:1000",
           0, "", **two)
    expect(product, 2, "compute capability 7.5; kernels are made for 8.0", FAKE_CUDA_SM="75")

    with tempfile.TemporaryDirectory() as folder:
        dirty = os.path.join(folder, "dirty.tile")
        with open(dirty, "w") as out:
            out.write("tune W = {1, 2};\nkernel k(i32 n, const f32 *a, f32 *c) grid(4) warps(W)\n{\n    global f32 A[n] = a, C[n] = c;\n"
                      "    global i32 turn[1] = 0 clean;\n    lock(turn[0], block.x);\n    C[block.x * 16 +: 16] = A[block.x * 16 +: 16];\n"
                      "    unlock(turn[0], block.x + 1);\n    ensures C == A;\n}\n")
        left = r"dirty.tile:5:16: error: (inside: )?`turn\[0\]` is 4 after the launch, and not 0"
        for device in ("cpu", "sim", "cuda"):
            expect(f"run {dirty} --device {device} --set n=64 --fill rand --verify", 1, left, "store 0 where the last block is done with it")
        expect(f"bench {dirty} --device cuda --set n=64", 1, r"`turn\[0\]` is 4 after the launch")
        expect(f"tune {dirty} --device cuda --set n=64 --store {folder}/s.db", 1, r"`turn\[0\]` is 4 after the launch")

    with tempfile.TemporaryDirectory() as folder:
        cache = {"TILEWRIGHT_CACHE": os.path.join(folder, "kept"), "TILEWRIGHT_CACHE_MIB": "8"}
        expect("devices -v", 0, r"cache +/.*/kept, 0 kernels, 0\.0 of 8 MiB\n", **cache)
        for _ in range(2):
            expect(product, 0, "verified: 1320 elements", **cache)
            expect("devices -v", 0, r"cache +/.*/kept, 1 kernel, 0\.\d of 8 MiB\n", **cache)
        expect("devices --verbose", 0, r"cache +off\n", TILEWRIGHT_CACHE="")
        open(os.path.join(folder, "file"), "w").close()
        expect("devices -v", 0, "nothing can be kept: Not a directory",
               TILEWRIGHT_CACHE=os.path.join(folder, "file", "kept"))


if __name__ == "__main__":
    main()
