"""Shared functions of the tests of CUDA programs on the simulator: building them with nvcc, running them on the libraries."""
import os
import shutil
import sys

from tile_runner import CUDA_COMPILERS, call, expect

HERE = os.path.dirname(os.path.abspath(__file__))
SKIPPED = 77


def libraries(tool, name):
    """Returns the path of a library in the folder beside the program; ends the test as skipped if this build has none."""
    path = os.path.join(os.path.dirname(os.path.abspath(tool)), "app", name)
    if os.path.exists(path):
        return path
    print("skipped: this build has no libraries for CUDA programs")
    sys.exit(SKIPPED)


def nvcc():
    """Returns the path of nvcc; ends the test as skipped if there is none."""
    for name in CUDA_COMPILERS["nvcc"]:
        if shutil.which(name):
            return shutil.which(name)
    print("skipped: there is no nvcc to build CUDA programs with")
    sys.exit(SKIPPED)


def ptx_alone(compute="compute_80"):
    """Returns the options of nvcc that leave the program no machine code."""
    return ["-cudart", "shared", "-gencode", f"arch={compute},code={compute}"]


def build(folder, source, *options, name=None):
    """Builds a program of this folder with nvcc into `folder`; returns its path."""
    program = os.path.join(folder, name or os.path.splitext(source)[0])
    done = call([nvcc(), "-lineinfo", "-o", program, *options, source], cwd=HERE)
    expect(done.status == 0, done)
    return program


def symbols(library):
    """Returns the names that a library exports, without versions."""
    done = call(["nm", "-D", "--defined-only", library])
    expect(done.status == 0, done)
    words = [line.split() for line in done.out.splitlines()]
    return {w[-1].split("@")[0] for w in words if w[-2] != "A"}
