#!/usr/bin/env python3
"""libcuda.so.1 of this project: what it exports; a program that calls the driver, with its faults and without."""
import os
import re
import sys
import tempfile

from app_runner import HERE, build, libraries, nvcc, ptx_alone, symbols
from tile_runner import call, expect

EXPECTED = "major 9, sum 14850, rotated 1 0\n"


def test_exports(library):
    """It exports the entry points of the table, and no other name."""
    listed = set()
    for table in ("calls", "missing"):
        with open(os.path.join(HERE, f"../../src/driver/driver_{table}.def")) as f:
            listed.update(re.findall(r"^(?:CALL\(\w+,\s*|MISSING\()(\w+)[,)]", f.read(), re.M))
    found = symbols(library)
    expect(len(listed) > 100 and found == listed, f"missing: {listed - found}, not listed: {found - listed}")


def test_program(folder, library):
    kernels = f"{folder}/kernels.ptx"
    done = call([nvcc(), "-ptx", "-lineinfo", "-o", kernels, "driver_kernels.cu"], cwd=HERE)
    expect(done.status == 0, done)
    program = build(folder, "driver_api.c", "-cudart", "none", "-Xlinker", library)

    def run(what, status=0, out=EXPECTED):
        done = call([program, kernels, what], env={"LD_LIBRARY_PATH": os.path.dirname(library)})
        expect(done.status == status and done.out == out, done)
        return done.err

    expect(run("clean") == "", "findings of a program without faults")
    race = run("race")
    expect(re.search(r"driver_kernels.cu:18:5: error: race: write and read of element 1 of s", race), race)
    expect(re.search(r"note: launch 2, of rotate, in the default stream, at rotate\+0x|at main\+0x", race), race)
    freed = run("freed")
    expect("error: use-after-free: a copy reads allocation 1, which was freed" in freed, freed)
    expect("cuMemcpyDtoH was called at main+0x" in freed and "freed by cuMemFree at main+0x" in freed, freed)
    outside = run("outside", 3, "cuLaunchKernel(f, 2, 1, 1, 64, 1, 1, 0, NULL, arguments, NULL): CUDA_ERROR_ILLEGAL_ADDRESS\n")
    expect("driver_kernels.cu:9:9: error: out-of-bounds: read of 4 bytes" in outside, outside)
    expect("400 bytes by cuMemAlloc at main+0x" in outside, outside)


def test_leaks(folder, tool):
    """--verbose lists the addresses and the memory that the program leaves."""
    program = build(folder, "programs/virtual_mapping.cu", *ptx_alone(), "-lcuda", name="mapping")
    done = call([tool, "check", "--verbose", "--", program, "broken"])
    for leak in ("leak: reservation 1 was never freed", "leak: physical memory 1, 4194304 bytes by cuMemCreate at create+0x"):
        expect(leak in done.err, done)
    expect("in mapping, is still mapped" in done.err, done)
    expect("error: bad-mapping: reservation 2 was freed\n" in done.err and "note: it was freed by cuMemAddressFree at main+0x" in done.err, done)
    done = call([tool, "check", "--verbose", "--", program, "clean"])
    expect(done.status == 0 and "leak" not in done.err, done)


def main():
    tool = os.path.abspath(sys.argv[1])
    library = libraries(tool, "libcuda.so.1")
    nvcc()
    test_exports(library)
    with tempfile.TemporaryDirectory() as folder:
        test_program(folder, library)
        test_leaks(folder, tool)


if __name__ == "__main__":
    main()
