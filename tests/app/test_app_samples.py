#!/usr/bin/env python3
"""scripts/nvidia_samples.py with a folder in the form of NVIDIA's samples: a clean one, one with a fault, one that does not compile, one that needs another
library, one that does not end; one of several sources, with data and with a module that it loads; one that this GPU cannot run; wrong calls. The samples
themselves are for those who have the network."""
import glob
import os
import shutil
import sys
import tempfile

from app_runner import HERE, libraries, nvcc
from tile_runner import call, expect

SCRIPT = os.path.join(HERE, "../../scripts/nvidia_samples.py")


# A program of two sources that link on the device, and of a third in the common folder; it reads a file, and loads a module.
PARTS = {
    "parts.cu": """#include <cstdio>
#include <cuda.h>
extern __device__ int twice(int);
int common();
__global__ void fill(int *x) { *x = twice(threadIdx.x + 4); }
int main()
{
    int *x, got[2] = {0, 0};
    FILE *f = fopen("./text", "r");
    CUmodule module;
    CUfunction add;
    void *arguments[] = {&x};
    if (!f || cudaMalloc(&x, 4))
        return 3;
    fill<<<1, 1>>>(x);
    cudaMemcpy(&got[0], x, 4, cudaMemcpyDeviceToHost);
    if (cuModuleLoad(&module, "kernel64.fatbin") || cuModuleGetFunction(&add, module, "add") ||
        cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, 0, arguments, 0))
        return 4;
    cudaMemcpy(&got[1], x, 4, cudaMemcpyDeviceToHost);
    cudaFree(x);
    fclose(f);
    return !(got[0] == 8 && got[1] == 9 && common() == 5);
}
""",
    "twice.cu": "__device__ int twice(int x) { return 2 * x; }\n",
    "kernel.cu": 'extern "C" __global__ void add(int *x) { ++*x; }\n',
    "data/text": "text\n",
}
PARTS_CMAKE = """set(SOURCES
    parts.cu
    twice.cu ../../../Common/common.cpp)
add_executable(parts ${SOURCES})
set_target_properties(parts PROPERTIES CUDA_SEPARABLE_COMPILATION ON)
target_link_libraries(parts PUBLIC CUDA::cuda_driver) # not CUDA::cublas
set(FATBIN "${CMAKE_CURRENT_BINARY_DIR}/kernel64.fatbin")
set(KERNEL "${CMAKE_CURRENT_SOURCE_DIR}/kernel.cu")
add_custom_command(OUTPUT ${FATBIN} COMMAND ${CMAKE_CUDA_COMPILER} ${INCLUDES} -o ${FATBIN} -fatbin ${KERNEL})
add_custom_command(TARGET parts POST_BUILD
    COMMAND ${CMAKE_COMMAND} -E copy_if_different
    ${CMAKE_CURRENT_SOURCE_DIR}/data/text ${CMAKE_CURRENT_BINARY_DIR})
"""


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as f:
        f.write(text)


def add_sample(root, name, source, cmake="", under="Samples/0_Introduction"):
    folder = f"{root}/{under}/{name}"
    write(f"{folder}/CMakeLists.txt", f"add_executable({name} {name}.cu)\ntarget_link_libraries({name} PRIVATE CUDA::cudart)\n{cmake}")
    write(f"{folder}/{name}.cu", source)


def check_parts(root, samples):
    """A sample of several files, in the folders of newer releases; broken twins of it that miss one of them."""
    for name, text in PARTS.items():
        write(f"{root}/cpp/0_Introduction/parts/{name}", text)
    write(f"{root}/cpp/0_Introduction/parts/CMakeLists.txt", PARTS_CMAKE)
    write(f"{root}/Common/common.cpp", "int common() { return 5; }\n")
    done = samples("/parts$")
    expect(done.status == 0 and done.out == "parts: ok\n1 ok, 0 not, 0 left out\n", done)
    twins = (("twice.cu", "status 1, api-error, not-simulated"), ("../../../Common/common.cpp", "not built: "), ("-o ${FATBIN}", "status 4, "),
             ("data", "not built: "))
    for i, (missing, said) in enumerate(twins):
        folder = f"{root}/cpp/0_Introduction/without{i}"
        shutil.copytree(f"{root}/cpp/0_Introduction/parts", folder)
        if missing == "data":
            shutil.rmtree(f"{folder}/data")
        else:
            write(f"{folder}/CMakeLists.txt", PARTS_CMAKE.replace(missing, ""))
        done = samples(f"/without{i}$")
        expect(done.status == 1 and done.out.startswith(f"without{i}: {said}"), done)
    expect("data/text is not there" in done.out, done)


def runs(link, program):
    """Returns whether a process, by its /proc/N/exe, runs a program."""
    try:
        return os.path.realpath(link) == os.path.realpath(program)
    except OSError:  # it has ended
        return False


def main():
    tool = os.path.abspath(sys.argv[1])
    libraries(tool, "libcudart.so.13")
    compiler = os.path.dirname(nvcc())
    where = {**os.environ, "PATH": f"{compiler}:{os.environ['PATH']}"}
    with open(os.path.join(HERE, "programs/scan.cu")) as f:
        scan = f.read()
    with tempfile.TemporaryDirectory() as folder:
        root = f"{folder}/cuda-samples"
        os.makedirs(f"{root}/Common")
        shutil.copy(os.path.join(HERE, "programs/app_check.h"), f"{root}/Common")
        add_sample(root, "scan", scan)
        add_sample(root, "racyScan", scan.replace("is_broken(argc, argv)", "argc"))
        add_sample(root, "unfinished", "int main() { return nothing; }\n")
        add_sample(root, "simpleCUBLAS", "", "target_link_libraries(simpleCUBLAS PRIVATE CUDA::cublas)\n")
        def samples(only, *options):
            return call([sys.executable, SCRIPT, tool, "--from", root, "--into", f"{folder}/built", "--only", only, *options], env=where)

        waived = "#include <cstdio>\nint main() { int n = 0; cudaGetDeviceCount(&n); puts(\"waived\"); return n < 2 ? 2 : 0; }\n"
        add_sample(root, "twoGPUs", waived)
        write(f"{root}/Samples/0_Introduction/Tegra/CMakeLists.txt", "add_subdirectory(simpleGLES)\n")
        done = samples("")
        lines = dict(line.split(": ", 1) for line in done.out.splitlines()[:-1])
        expect(done.status == 1 and lines["scan"] == "ok" and lines["simpleCUBLAS"] == "left out: it needs cublas", done)
        expect(lines["racyScan"].startswith("status 1, race") and lines["unfinished"].startswith("not built: "), done)
        expect(lines["twoGPUs"] == "left out: it says that it needs another GPU" and "Tegra" not in lines, done)
        expect(done.out.splitlines()[-1] == "1 ok, 2 not, 2 left out", done)
        done = samples("/scan$")
        expect(done.status == 0 and done.out == "scan: ok\n1 ok, 0 not, 0 left out\n", done)
        check_parts(root, samples)
        add_sample(root, "endless", "#include <unistd.h>\nint main() { for (;;) sleep(1); }\n")
        done = samples("/endless$", "--seconds", "1")
        expect(done.status == 1 and done.out.startswith("endless: not done after 1 s\n"), done)
        left = [p for p in glob.glob("/proc/[0-9]*/exe") if runs(p, f"{folder}/built/endless/endless")]
        expect(not left, left)
        done = samples("nosuch")
        expect(done.status == 1 and "has no sample `nosuch`" in done.err, done)
        done = call([sys.executable, SCRIPT, tool, "--from", f"{root}/Common", "--into", f"{folder}/built"], env=where)
        expect(done.status == 1 and "has no CMake files of samples" in done.err, done)


if __name__ == "__main__":
    main()
