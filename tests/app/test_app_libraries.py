#!/usr/bin/env python3
"""The libraries beside the driver and the runtime: products by cuBLAS, with `--stub` and without; what libcublas and libcublasLt export; programs
that name a library by a path of their own; programs that compile and link kernels while they run."""
import os
import re
import sys
import tempfile

from app_runner import HERE, build, libraries, nvcc, symbols
from tile_runner import call, expect


def listed(name, macros):
    with open(os.path.join(HERE, f"../../src/blas/blas_{name}.def")) as f:
        return set(re.findall(rf"^(?:{macros})\((\w+)", f.read(), re.M))


def check_exports(folder):
    products = listed("gemm", r"(?:PLAIN|STRIDED|LISTED)(?:_EX)?")
    copies = {name + form for name in listed("copy", "VECTOR|MATRIX") for form in ("", "_64", "Async", "Async_64")}
    blas = products | {name + "_64" for name in products} | copies | listed("calls", "CALL") | listed("missing", "MISSING")
    for version in ("12", "13"):
        for name, wanted in (("cublas", blas), ("cublasLt", listed("lt_missing", "MISSING"))):
            soname = f"lib{name}.so.{version}"
            found = symbols(os.path.join(folder, soname)) - {soname}
            expect(found == wanted and len(found) > 150, f"{soname}: {found ^ wanted}")


def check_path(tool, folder):
    """A path that does not exist, so that nothing but the stand-in can open."""
    program = build(folder, "by_path.c", "-cudart", "none", "-Xlinker", "-ldl")
    for name in ("libcuda.so", "libcuda.so.1"):
        done = call([tool, "check", "--verbose", "--", program, f"{folder}/{name}"])
        expect(done.status == 0 and done.out == "13000\n" and "by_path: ok (0 launches)" in done.err, done)
    done = call([tool, "check", "--", program, f"{folder}/libother.so.1"])
    expect(done.status != 0 and "libother.so.1: cannot open" in done.out, done)


def has_header(name):
    """Returns whether the compiler has a header of a library that not every toolkit has; says so if it has none."""
    there = os.path.exists(os.path.join(os.path.dirname(os.path.realpath(nvcc())), "../include", name))
    if not there:
        print(f"not run: a program with {name}, which is not installed")
    return there


def check_compilers(tool, folder):
    """NVRTC and nvJitLink ask the driver for what this one does not have; programs that use them are clean all the same."""
    if has_header("nvrtc.h"):
        program = build(folder, "compiled_later.cu", "-lnvrtc", "-lcuda", name="compiled")
        done = call([tool, "check", "--strict", "--", program])
        expect(done.status == 0 and done.out == "0\n" and done.err == "", done)
        done = call([tool, "check", "--", program, "code"])
        expect(done.status == 1 and done.out == "209\n" and "error: no-ptx: a module is machine code alone" in done.err, done)
        expect("static-runtime" not in done.err, done)
    if has_header("nvJitLink.h"):
        done = call([tool, "check", "--strict", "--", build(folder, "linked_later.cu", "-lnvJitLink", name="linked_later")])
        expect(done.status == 0 and done.out == "1 device\n" and done.err == "", done)


def check_products(tool, folder):
    if not has_header("cublas_v2.h"):
        return
    check_copies(tool, folder)
    program = build(folder, "product.cu", "-cudart", "shared", "-gencode", "arch=compute_80,code=compute_80", "-lcublas")

    def run(what, *options):
        done = call([tool, "check", *options, "--", program, what])
        expect(done.status == 1, done)  # one call of the program is none of products
        expect("error: not-supported: cublasSdot_v2 is not supported: of cuBLAS, --stub has products" in done.err, done)
        return done

    done = run("clean", "--stub")
    expect(done.out == "CUBLAS_STATUS_SUCCESS, right, CUBLAS_STATUS_NOT_SUPPORTED\n" and done.err.count("error: ") == 1, done)
    done = run("small", "--stub")
    expect("error: outside-copy: a product writes bytes 280 to 419 of allocation 3, which has 419 bytes" in done.err, done)
    expect("cublasSgemmStridedBatched was called at main+0x" in done.err, done)
    done = run("early", "--stub")
    expect("of fill, in stream 1 and cublasSgemmStridedBatched in stream 2 use byte 0 of allocation 1" in done.err, done)
    done = run("clean")
    expect("error: not-supported: cublasGemmEx is not supported: with --stub, products of matrices run on the host" in done.err, done)


def check_copies(tool, folder):
    """cublasSetVector and the others against plain copies; a vector that is too long, and a copy before the work that fills the matrix."""
    program = build(folder, "blas_copies.cu", "-cudart", "shared", "-gencode", "arch=compute_80,code=compute_80", "-lcublas")
    done = call([tool, "check", "--strict", "--", program, "clean"])
    expect(done.status == 0 and done.out == "right\n" and done.err == "", done)
    done = call([tool, "check", "--", program, "long"])
    expect(done.status == 1 and "error: outside-copy: " in done.err and "cublasSetVector was called at main+0x" in done.err, done)
    expect("CUBLAS_STATUS_MAPPING_ERROR" in done.out, done)
    done = call([tool, "check", "--", program, "early"])
    expect(done.status == 1 and "error: stream-race: launch 1, of fill, in stream 1 and cublasGetMatrixAsync in stream 2" in done.err, done)


def main():
    tool = os.path.abspath(sys.argv[1])
    library = libraries(tool, "libcublas.so.13")
    check_exports(os.path.dirname(library))
    nvcc()
    with tempfile.TemporaryDirectory() as folder:
        check_path(tool, folder)
        check_compilers(tool, folder)
        check_products(tool, folder)


if __name__ == "__main__":
    main()
