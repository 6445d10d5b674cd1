#!/usr/bin/env python3
"""Limits of `tilewright check -- PROGRAM` for a product by tiles: instructions of the host for each instruction of a warp on one thread, watched and
not watched, as valgrind counts them; those that an allocation adds to a launch which does not use it; and the memory that it takes for each byte that
the program allocates."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

from app_runner import SKIPPED, build, libraries
from tile_runner import call, expect

WATCHED, UNWATCHED = 850, 260  # instructions of the host for each of a warp
ALLOCATION = 20  # instructions of the host that an unused allocation adds to a launch
MEMORY = 3.0  # bytes for each byte that the program allocates
SIZES = {"u8": 1, "f32": 4, "f64": 8}  # bytes of the types of footprint.cu
WAYS = ("add", "copy", "fill", "sum", "stencil", "histogram", "scatter")  # of footprint.cu


def counted(tool, *arguments):
    """Returns the instructions that the host executes for `check` with these arguments."""
    done = subprocess.run(["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null", "--trace-children=yes", tool,
                           "check", "--threads", "1", *arguments], check=True, capture_output=True, text=True)
    return sum(int(count.replace(",", "")) for count in re.findall(r"I +refs: +([\d,]+)", done.stderr))


def warp_instructions(tool, program, n):
    """Returns the instructions that warps execute for a product of n x n values."""
    done = call([tool, "run", "--", program, "clean", str(n)])
    return int(done.out.splitlines()[-1].split()[-5])


def peak_bytes(tool, program, n):
    """Returns the most memory that a checked product of n x n values has at a time, as it prints it."""
    done = call([tool, "check", "--limit", "0", "--", program, "clean", str(n)])
    expect(done.status == 0 and done.err == "", done)
    return int(re.search(r"at most (\d+) KiB", done.out)[1]) * 1024


def check_footprints(tool, folder):
    """Checks the most memory of launches that touch all bytes of their arrays, less that of a program without launches. In arrays of 8 MB or more, an
    address that a scatter lists takes a byte more than in these, which are smaller to save time. That byte counts here, too."""
    program, size = build(folder, "footprint.cu", "-arch=sm_80"), 4 << 20

    def peak(*arguments):
        done = call([tool, "check", "--threads", "1", "--limit", "0", "--", program, *arguments])
        expect(done.status == 0 and done.err == "", done)
        return [int(n) for n in re.search(r"(\d+) bytes, at most (\d+) KiB", done.out).groups()]

    base = peak("none", "f32", "65536")[1]
    for way in WAYS:
        for dtype in SIZES:
            allocated, most = peak(way, dtype, str(size))
            longer = size // SIZES[dtype] if way == "scatter" else 0
            each = ((most - base) * 1024 + longer) / allocated
            expect(each < MEMORY, f"{way} of {dtype}: {each:.2f} bytes for each byte of the program, and {MEMORY} are the limit")


def main():
    tool = os.path.abspath(sys.argv[1])
    libraries(tool, "libcudart.so.13")
    if not shutil.which("valgrind"):
        print("skipped: there is no valgrind to count instructions with")
        sys.exit(SKIPPED)
    with tempfile.TemporaryDirectory() as folder:
        program = build(folder, os.path.join("programs", "tiled_product.cu"), "-arch=sm_80", name="tiled_product")
        small, large = 32, 128
        more = warp_instructions(tool, program, large) - warp_instructions(tool, program, small)
        for limit, options in ((WATCHED, ["--limit", "0"]), (UNWATCHED, ["--launch", "1"])):
            each, least = (counted(tool, *options, "--", program, "clean", str(n)) for n in (large, small))
            each = (each - least) / more
            expect(each < limit, f"{' '.join(options)}: {each:.0f} instructions for each of a warp, and {limit} are the limit")
        launches = build(folder, "launches.cu", "-arch=sm_80")
        allocations, count = 2000, 50
        each, least = (counted(tool, "--", launches, str(some), str(2 * count)) - counted(tool, "--", launches, str(some), str(count))
                       for some in (allocations, 1))
        each = (each - least) / (allocations * count)
        expect(each < ALLOCATION, f"{each:.0f} instructions of a launch for each allocation, and {ALLOCATION} are the limit")
        small, large = 64, 512
        each = (peak_bytes(tool, program, large) - peak_bytes(tool, program, small)) / (3 * 4 * (large**2 - small**2))
        expect(each < MEMORY, f"{each:.1f} bytes for each byte of the program, and {MEMORY} are the limit")
        check_footprints(tool, folder)


if __name__ == "__main__":
    main()
