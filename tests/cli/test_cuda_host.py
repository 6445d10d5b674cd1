#!/usr/bin/env python3
"""A program with a host part: clang, with small versions of the toolkit's headers, compiles it to the same kernels as nvcc."""
import os
import shutil
import sys
import tempfile

from tile_runner import call, cuda_compiler, expect

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "cuda")


def check(tool, folder):
    for compiler in ("clang", "nvcc"):
        if not cuda_compiler(compiler):
            print(f"there is no {compiler}: host_part.cu is not compiled by it")
            continue
        how = ["host_part.cu", "--compiler", compiler, "--kernel"]
        mix = [*how, "mix", "--block", "32", "--arg", "i32[32]:zero", "--arg", "u64[1]:zero", "--arg", "f16[32]:ones"]
        done = call([tool, "run", *mix], cwd=folder)
        if "No available targets" in done.err or "host compiler" in done.err:
            print(f"{compiler} makes no PTX here")
            continue
        expect(done.status == 0 and "0 o: [35, 37, 39, 41" in done.out and "1 u: [8]" in done.out and "2 h: [3.5, 3.5" in done.out, done)
        done = call([tool, "check", *mix[:8], "i32[32]:=-1", *mix[9:]], cwd=folder)
        expect(done.status == 1 and "host_part.cu:18:" in done.err and "trap: assertion `o[t] >= 0` failed" in done.err, done)
        steps = [*how, "two_steps", "--grid", "3", "--block", "32", "--arg", "i32[96]:none", "--arg", "i32[96]:none"]
        expect(call([tool, "check", *steps, "--cooperative"], cwd=folder).status == 0, steps)
        done = call([tool, "check", *steps], cwd=folder)
        expect(done.status == 1 and "host_part.cu:36:5: error: trap: " in done.err and "--cooperative" in done.err, done)
    if cuda_compiler("clang"):
        with open(f"{folder}/needs.cu", "w") as out:
            out.write("#include <cub/cub.cuh>\n__global__ void k() {}\n")
        done = call([tool, "check", "needs.cu", "--compiler", "clang", "--block", "1"], cwd=folder)
        expect(done.status == 2 and "--compiler nvcc" in done.err, done)


def main():
    tool = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(os.path.join(HERE, "host_part.cu"), folder)
        check(tool, folder)


if __name__ == "__main__":
    main()
