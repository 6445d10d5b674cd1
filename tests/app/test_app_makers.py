#!/usr/bin/env python3
"""PTX by the makers that are installed here (NVRTC, CuPy, Numba, Triton), checked by the plug-in of pytest: right kernels are silent, wrong ones found.

    test_app_makers.py TILEWRIGHT

No GPU is needed. Makers that are not installed are named; without any, the test is skipped.
"""
import importlib.util
import os
import re
import sys
import tempfile
import types

import numpy
from app_runner import HERE, SKIPPED
from tile_runner import expect

if not importlib.util.find_spec("pytest"):
    sys.modules["pytest"] = types.SimpleNamespace(fixture=lambda function: function)
sys.path.insert(0, os.path.join(HERE, "../../python"))
import tilewright_pytest  # noqa: E402

N = 1000  # elements
SHIFT = r'''
extern "C" __global__ void shift(const float *a, float *b, int n, int wait)
{
    __shared__ float t[128];
    int i = blockIdx.x * 128 + threadIdx.x;
    t[threadIdx.x] = i < n ? a[i] : 0;
    if (wait)
        __syncthreads();
    if (i < n)
        b[i] = t[(threadIdx.x + 1) % 128];
}
'''
SUMS = '''
import triton
import triton.language as tl

@triton.jit
def row_sums(x, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    row = tl.program_id(0)
    tl.store(out + row, tl.sum(tl.load(x + row * n + i, mask=i < n, other=0.0), 0))

@triton.jit
def all_sums(x, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    row = tl.program_id(0)
    tl.store(out, tl.load(out) + tl.sum(tl.load(x + row * n + i, mask=i < n, other=0.0), 0))
'''


def is_found(tool, ptx, **launch):
    """Returns whether the check finds a race; no other finding may be there."""
    try:
        tilewright_pytest.check(ptx, program=tool, **launch)
    except AssertionError as e:
        expect("error: race: " in str(e), e)
        return True
    return False


def shifts(tool, ptx, kernel="shift"):
    """Checks a kernel that lacks a barrier if its last argument is 0."""
    a = numpy.arange(N, dtype="float32")
    for waits in (1, 0):
        found = is_found(tool, ptx, kernel=kernel, grid=8, block=128, args=[a, f"f32[{N}]:none", f"i32:{N}", f"i32:{waits}"])
        expect(found == (not waits), f"{kernel}, waits = {waits}: {'a race is found' if found else 'nothing is found'}")


def by_nvrtc(tool):
    from cuda.bindings import nvrtc
    _, program = nvrtc.nvrtcCreateProgram(SHIFT.encode(), b"shift.cu", 0, [], [])
    (error,) = nvrtc.nvrtcCompileProgram(program, 2, [b"--gpu-architecture=compute_80", b"-lineinfo"])
    expect(int(error) == 0, error)
    text = b" " * nvrtc.nvrtcGetPTXSize(program)[1]
    nvrtc.nvrtcGetPTX(program, text)
    shifts(tool, text.rstrip(b"\0"))


def by_cupy(tool):
    os.environ["CUPY_COMPILE_WITH_PTX"] = "1"
    from cupy.cuda import compiler
    shifts(tool, compiler.compile_using_nvrtc(SHIFT, (), "80", "shift.cu")[0])


def by_numba(tool):
    if not hasattr(numpy, "row_stack"):
        numpy.row_stack = numpy.vstack  # NumPy 2.5 has it no more, and numba-cuda 0.23 names it
    from numba import cuda, float32, int32
    from numba import types as of_numba

    def shift(a, b, n, wait):
        t = cuda.shared.array(128, dtype=float32)
        i = cuda.blockIdx.x * 128 + cuda.threadIdx.x
        t[cuda.threadIdx.x] = a[i] if i < n else float32(0)
        if wait:
            cuda.syncthreads()
        if i < n:
            b[i] = t[(cuda.threadIdx.x + 1) % 128]

    pointer = of_numba.CPointer(float32)
    ptx, _ = cuda.compile_ptx(shift, (pointer, pointer, int32, int32), cc=(8, 0))
    shifts(tool, ptx, re.search(r"\.entry (\S+?)\(", ptx)[1])


def by_triton(tool):
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/sums.py"
        with open(path, "w") as f:
            f.write(SUMS)
        spec = importlib.util.spec_from_file_location("sums", path)
        sums = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sums)
        for name in ("row_sums", "all_sums"):
            for capability in (80, 90):
                signature = {"x": "*fp32", "out": "*fp32", "n": "i32", "BLOCK": "constexpr"}
                made = triton.compile(ASTSource(fn=getattr(sums, name), signature=signature, constexprs={"BLOCK": 256}),
                                      target=GPUTarget("cuda", capability, 32))
                text = made.asm["ptx"]
                more = len(re.search(r"\.entry \S+?\(([^)]*)\)", text)[1].split(",")) - 3  # pointers that Triton adds
                found = is_found(tool, text, kernel=name, grid=4, block=32 * made.metadata.num_warps, shared=made.metadata.shared,
                                 args=[numpy.ones((4, 200), "float32"), "f32[4]:zero", "i32:200", *["null"] * more])
                expect(found == (name == "all_sums"), f"{name} for {capability}: {'a race is found' if found else 'nothing is found'}")


MAKERS = {"cuda.bindings": by_nvrtc, "cupy": by_cupy, "numba.cuda": by_numba, "triton": by_triton}


def is_installed(module):
    try:
        return importlib.util.find_spec(module) is not None
    except ImportError:  # of the package around it
        return False


def can_compile(module):
    """Numba's package may be there without NVVM."""
    if module != "numba.cuda":
        return True
    from numba.cuda.cudadrv import nvvm
    try:
        return bool(nvvm.NVVM())
    except Exception:  # each version has its own errors
        return False


def main():
    tool = os.path.abspath(sys.argv[1])
    checked = 0
    for module, check in MAKERS.items():
        if not is_installed(module) or not can_compile(module):
            print(f"left out: {module} is not installed here")
            continue
        check(tool)
        checked += 1
    if not checked:
        print("skipped: no maker of PTX is installed")
        sys.exit(SKIPPED)


if __name__ == "__main__":
    main()
