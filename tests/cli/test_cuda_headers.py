#!/usr/bin/env python3
"""The small versions of the toolkit's headers: a program gives the same values by clang with them as by nvcc with NVIDIA's, right programs have no
findings, and a planted fault is found at its line."""
import os
import shutil
import sys
import tempfile

import numpy
from tile_runner import CUDA_COMPILERS, call, cuda_compiler, expect

UPDATES = ["--grid", "2", "--block", "32", "--arg", "i32[10]:zero", "--arg", "u64[2]:zero", "--arg", "f32[2]:zero", "--arg", "u8[8]:zero",
           "--arg", "i16[2]:zero", "--arg", "f64[1]:zero"]
MESSAGE = ["--grid", "2", "--block", "32", "--cooperative", "--arg", "i32[32]:zero", "--arg", "i32[1]:zero", "--arg", "i32[32]:zero"]
HALVES = ["--block", "32", *["--arg", "f16[1024]:rand"] * 3, "--arg", "f32[1024]:rand", "--arg", "f16[24576]:zero", "--arg", "f32[24576]:zero"]
BFLOATS = ["--block", "32", *["--arg", "bf16[1024]:rand"] * 2, "--arg", "f32[1024]:rand", "--arg", "f32[12288]:zero"]
BYTES = ["--block", "32", "--arg", "i8[2048]:rand", "--arg", "u8[2048]:rand", "--arg", "i32[1024]:iota", "--arg", "i32[24576]:zero"]
DOUBLES = ["--block", "32", *["--arg", "f64[1024]:rand"] * 3, "--arg", "f64[4096]:zero"]
STAGED = ["--block", "128", "--arg", "f16[256]:ones", "--arg", "f16[1024]:iota", "--arg", "f32[1024]:none"]
REDUCTIONS = ["--block", "64", "--arg", "i32[64]:rand", "--arg", "i32[448]:zero", "--arg", "u64[64]:zero", "--arg", "f32[64]:zero", "--arg", "f64[64]:zero",
              "--arg", "i32[1]:zero", "--arg", "i32[1]:zero"]
BLOCK_SUM = ["--block", "128", "--arg", "i32[128]:iota", "--arg", "i32[1]:none"]
STAGES = ["--block", "64", "--arg", "f32[256]:iota", "--arg", "f32[64]:none", "--arg", "i32:4"]
SPLIT = ["--block", "64", "--arg", "i32[64]:iota", "--arg", "i32[192]:none"]
COPIES = ["--block", "64", "--arg", "f32[256]:iota", "--arg", "f32[64]:none", "--arg", "i32[23]:none", "--arg", "i8[24]:iota"]
PLACES = ["--block", "32", "--arg", "i32[1]:zero", "--arg", "i32[32]:zero", "--arg", "i32[64]:zero", "--arg", "i32[64]:zero", "--arg", "i64[32]:zero"]
HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "cuda")
# file, kernel, options of the launch, the arrays to compare and their first values
VALUES = [
    ("bf16.cu", "numbers", ["--block", "32", "--arg", "f32[32]:rand", "--arg", "f32[896]:none", "--arg", "i32[32]:none"], {"o": [], "i": []}),
    ("bf16.cu", "numbers", ["--block", "32", "--arg", "f32[32]:special", "--arg", "f32[896]:none", "--arg", "i32[32]:none"], {"o": [], "i": []}),
    ("bf16.cu", "sums", ["--grid", "2", "--block", "32", "--arg", "bf16[1]:zero", "--arg", "bf16[2]:zero"], {"sum": [32], "pairs": [64, 16]}),
    ("bf16.cu", "neighbours", ["--block", "64", "--arg", "bf16[64]:iota", "--arg", "bf16[64]:none"], {"o": [64, 63, 62]}),
    ("bf16.cu", "compare", ["--block", "32", "--arg", "f16[32]:iota", "--arg", "u64[32]:none"], {"o": [22 << 40, 30 << 40]}),
    ("fp16.cu", "numbers", ["--block", "32", "--arg", "f32[32]:rand", "--arg", "f32[1024]:none", "--arg", "i32[32]:none"], {"o": [], "i": []}),
    ("fp16.cu", "numbers", ["--block", "32", "--arg", "f32[32]:special", "--arg", "f32[1024]:none", "--arg", "i32[32]:none"], {"o": [], "i": []}),
    ("fp16.cu", "sums", ["--grid", "2", "--block", "32", "--arg", "f16[1]:zero", "--arg", "f16[2]:zero"], {"sum": [32], "pairs": [64, 16]}),
    ("fp16.cu", "neighbours", ["--block", "64", "--arg", "f16[128]:iota", "--arg", "f16[128]:none"], {"o": [127, 128, 125]}),
    ("atomic.cu", "updates", UPDATES, {"i": [1952, -63, 63, 128, 9, 255, 0, 1, 32, 32], "u": [2**39, 2**64 - 1], "f": [32, -31.5], "b": [16, 16, 16, 16, 0, 3, 0, 0], "s": [-64], "d": [16]}),
    ("atomic.cu", "message", MESSAGE, {"o": [32, 31, 30]}),
    ("atomic.cu", "fences", [*MESSAGE[:2], "--block", "1", *MESSAGE[4:]], {"o": [7]}),
    ("wmma.cu", "halves", HALVES, {"d": [], "e": []}),
    ("wmma.cu", "bfloats", BFLOATS, {"d": []}),
    ("wmma.cu", "bytes", BYTES, {"d": []}),
    ("wmma.cu", "doubles", DOUBLES, {"d": []}),
    ("wmma.cu", "short_floats", ["--block", "32", "--arg", "f32[256]:rand", "--arg", "f32[256]:none"], {"d": []}),
    ("wmma.cu", "staged", STAGED, {"d": [7680, 7696, 7712]}),
    ("tiles.cu", "reductions", REDUCTIONS, {"o": [], "u": [496 << 40], "f": [14], "d": [7.75], "total": [], "most": []}),
    ("tiles.cu", "block_sum", BLOCK_SUM, {"o": [8128]}),
    ("tiles.cu", "stages", STAGES, {"o": [636, 632, 628]}),
    ("tiles.cu", "places", PLACES, {"count": [11], "place": [0, 0, 0, 1], "sum": [166], "moved": [], "wide": [3 << 40]}),
    ("block_barrier.cu", "split", SPLIT, {"o": [63, 63, 65]}),
    ("block_barrier.cu", "copies", COPIES, {"o": [259, 251, 259], "bytes": [23, 22, 21]}),
    ("block_barrier.cu", "drops", ["--block", "64", "--arg", "i32[32]:none"], {"o": [94, 92, 90]}),
]
# file, kernel, options of the launch, expected texts of a check without RIGHT
FAULTS = [
    ("bf16.cu", "neighbours", ["--block", "64", "--arg", "bf16[64]:iota", "--arg", "bf16[64]:none"],
     ["bf16.cu:40:", "error: race: ", "of s in shared memory", "bf16.cu:36:"]),
    ("fp16.cu", "neighbours", ["--block", "64", "--arg", "f16[128]:iota", "--arg", "f16[128]:none"],
     ["fp16.cu:39:", "error: race: ", "of s in shared memory", "fp16.cu:35:"]),
    ("atomic.cu", "message", MESSAGE, ["atomic.cu:65:", "error: race: ", "of data in global memory", "atomic.cu:56:"]),
    ("atomic.cu", "fences", [*MESSAGE[:2], "--block", "1", *MESSAGE[4:]], ["atomic.cu:83:", "error: ", "data", "atomic.cu:73:"]),
    ("wmma.cu", "staged", STAGED, ["wmma.cu:89:", "error: race: ", "of sa in shared memory", "wmma.cu:79:"]),
    ("tiles.cu", "block_sum", BLOCK_SUM, ["tiles.cu:46:", "error: race: ", "of parts in shared memory", "tiles.cu:51:"]),
    ("tiles.cu", "stages", STAGES, ["tiles.cu:71:", "error: async-race: ", "of ring", "tiles.cu:66:"]),
    ("tiles.cu", "places", PLACES, ["tiles.cu:97:", "error: deadlock: ", "tiles.cu:93:"]),
    ("block_barrier.cu", "split", SPLIT, ["block_barrier.cu:25:", "error: race: ", "of s in shared memory", "block_barrier.cu:17:"]),
    ("block_barrier.cu", "copies", COPIES, ["block_barrier.cu:42:", "error: async-race: ", "of all in shared memory", "block_barrier.cu:47:"]),
]


def ptx_of_nvcc(folder, file):
    """Returns the PTX that nvcc makes of the right form of the program, or None without a compiler for its host part."""
    nvcc = next(name for name in CUDA_COMPILERS["nvcc"] if shutil.which(name))
    done = call([nvcc, "-ptx", "-lineinfo", "-O3", "-arch=sm_80", "-DRIGHT", "-o", f"{file}.ptx", file], cwd=folder)
    if "host compiler" in done.err:
        print("nvcc makes no PTX here")
        return None
    expect(done.status == 0, (file, done.err))
    return f"{file}.ptx"


def values_of(tool, folder, how, row):
    """Returns the arrays after a launch, or None if clang makes no PTX here. `how` begins with the program."""
    _, kernel, options, arrays = row
    how = [*how, "--kernel", kernel, *options]
    outs = [word for name in arrays for word in ("--out", f"{name}={name}.npy")]
    done = call([tool, "run", *how, *outs], cwd=folder)
    if "No available targets" in done.err:
        print("clang makes no PTX here")
        return None
    expect(done.status == 0, (how, done.err))
    values = [numpy.load(f"{folder}/{name}.npy") for name in arrays]
    for value, first in zip(values, arrays.values()):
        expect(list(value.ravel()[: len(first)]) == first, (how, value))
    return values


def same(a, b):
    """Returns true if two arrays are equal to the bit, except that NaNs of any payload are equal."""
    if a.dtype.kind == "f":
        return a.dtype == b.dtype and a.tobytes() == b.tobytes() or numpy.array_equal(a, b, equal_nan=True)
    return numpy.array_equal(a, b)


def check(tool, folder, files):
    compilers = [name for name in ("clang", "nvcc") if cuda_compiler(name)]
    assembled = {file: ptx_of_nvcc(folder, file) for file in files} if "nvcc" in compilers else {}
    for row in VALUES:
        file, kernel, options, arrays = row
        clang = [file, "--compiler", "clang", "--compiler-arg=-DRIGHT"]
        ours = values_of(tool, folder, clang, row) if "clang" in compilers else None
        theirs = values_of(tool, folder, [assembled[file]], row) if assembled.get(file) else None
        for name, a, b in zip(arrays, ours or [], theirs or []):
            expect(same(a, b), f"{row}: {name} differs:\n{a}\n{b}\n{numpy.nonzero(a.ravel() != b.ravel())}")
        if ours:
            done = call([tool, "check", *clang, "--kernel", kernel, *options], cwd=folder)
            expect(done.status == 0, (row, done.err))
    for file, kernel, options, said in FAULTS if "clang" in compilers else []:
        done = call([tool, "check", file, "--kernel", kernel, *options, "--compiler", "clang"], cwd=folder)
        if "No available targets" not in done.err:
            expect(done.status == 1 and all(text in done.err for text in said), (file, said, done.err))


def main():
    tool = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        files = sorted({row[0] for row in VALUES + FAULTS})
        for file in files:
            shutil.copy(os.path.join(HERE, file), folder)
        check(tool, folder, files)


if __name__ == "__main__":
    main()
