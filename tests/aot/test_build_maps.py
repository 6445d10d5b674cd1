#!/usr/bin/env python3
"""Built kernels with tensor maps, clusters and code for one GPU alone: their C compiles without a warning, encodes the maps as the driver does, keeps them, and refuses
what the library refuses. On the driver library of the tests; with `--gpu`, on this machine's GPU (of compute capability 9.0 or later)."""
import ctypes
import os
import re
import shutil
import sys
import tempfile

from tile_runner import call, fail

HERE = os.path.dirname(os.path.abspath(__file__))
FAKE = os.environ.get("FAKE_CUDA")
STRICT = ["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]


def run(command, **options):
    result = call(command, **options)
    if result.status != 0:
        fail(f"{' '.join(command)}: {result}")
    return result


def build(tool, folder, driver):
    top = os.path.dirname(os.path.abspath(tool))
    run([os.path.join(top, "tests", "map_builder"), folder])
    include = os.path.join(os.path.dirname(os.path.dirname(HERE)), "include")
    for compiler in {os.environ.get("CC", "cc"), "gcc", "clang"}:
        if shutil.which(compiler):
            for name in ("maps", "pairs"):
                run([compiler, *STRICT, f"-I{include}", "-O2", "-c", f"{folder}/{name}.c", "-o", f"{folder}/{name}.o"])
    run([os.environ.get("CC", "cc"), *os.environ.get("CFLAGS", "").split(), *STRICT, "-g", f"-I{include}", f"-I{folder}",
         os.path.join(HERE, "map_program.c"), f"{folder}/maps.c", f"{folder}/pairs.c", driver, f"-Wl,-rpath,{os.path.dirname(driver)}",
         os.path.join(top, "libtilewright_cpu.a"), "-o", f"{folder}/program", "-ldl", "-lm", "-lpthread"])


def run_program(folder, driver, *arguments, **settings):
    shown = run([f"{folder}/program", *arguments], env=dict(os.environ, TILEWRIGHT_CUDA_DRIVER=driver, **settings)).out
    if "PASS" not in shown:
        fail(f"{folder}/program: {shown}")


def check_header(tool, folder):
    """A header says what tensor maps need."""
    run([tool, "build", os.path.join(HERE, "copies_one.tile"), "--name", "one", "--device", "sm_90", "--no-cubin", "--output", folder])
    header = open(f"{folder}/one.h").read()
    if " *   a         f32[m][n], read; 16 divides its address; rows of a multiple of 16 bytes\n" not in header or header.count("rows of") != 1:
        fail(f"one.h: {header}")


def check_plain(tool, folder):
    """Kernels without maps ship nothing for them."""
    root = os.path.dirname(os.path.dirname(HERE))
    run([tool, "build", "kernels/sgemm/tiled.tile", "--output", folder, "--no-cubin"], cwd=root)
    source = open(f"{folder}/sgemm_tiled.c").read()
    for word in ("aot_map", "aot_hopper", "cuTensorMapEncodeTiled", "cuLaunchKernelEx", "@if", "@end"):
        if word in source:
            fail(f"sgemm_tiled.c has {word}")


def check_narrow(tool, folder):
    """A kernel for sm_90a alone does not keep the others from later GPUs."""
    run([tool, "build", os.path.join(HERE, "narrow.tile"), "--device", "sm_90", "--no-cubin", "--output", folder])
    header = open(f"{folder}/narrow.h").read()
    if "multiple of 16 bytes" in header or " *   sm_90a\n" not in header or " *   sm_90\n" not in header:
        fail(f"narrow.h: {header}")
    run([os.environ.get("CC", "cc"), *os.environ.get("CFLAGS", "").split(), *STRICT, f"-I{folder}", os.path.join(HERE, "narrow_program.c"),
         f"{folder}/narrow.c", FAKE, f"-Wl,-rpath,{os.path.dirname(FAKE)}", "-o", f"{folder}/program", "-ldl", "-lpthread"])
    run_program(folder, FAKE, FAKE_CUDA_SM="90")
    run_program(folder, FAKE, "later", FAKE_CUDA_SM="100")


def check_family(tool, folder, driver):
    """A variant with tensor copies runs where the copy engine takes its views and the GPU its code, and the next one elsewhere."""
    run([tool, "build", os.path.join(HERE, "copies.tile"), "--device", "h200", "--no-cubin", "--table", os.path.join(HERE, "copies.table"),
         "--output", folder])
    run([os.environ.get("CC", "cc"), *os.environ.get("CFLAGS", "").split(), *STRICT, f"-I{folder}", os.path.join(HERE, "copies_program.c"),
         f"{folder}/copies.c", driver, f"-Wl,-rpath,{os.path.dirname(driver)}", "-o", f"{folder}/program", "-ldl", "-lpthread"])
    run_program(folder, driver, "32", "1", "30", "2", "28", "1", "31", "2", "32", "1", FAKE_CUDA_SM="90")
    if driver == FAKE:
        run_program(folder, driver, "32", "2", "30", "2", FAKE_CUDA_SM="100")
    run([tool, "build", os.path.join(HERE, "copies.tile"), "--device", "h200", "--no-cubin", "--table", os.path.join(HERE, "copies.table"),
         "--set", "m=1..100,n=32", "--output", folder])
    if "two" in re.search(r"Programs.*?\*/", open(f"{folder}/copies.h").read(), re.S).group(0):
        fail("rows of 128 bytes need no kernel without tensor copies")


def main():
    tool = sys.argv[1]
    driver = FAKE
    if "--gpu" in sys.argv:
        ctypes.CDLL("libcuda.so.1")
        driver = re.search(r"(/\S*libcuda\.so\S*)", open("/proc/self/maps").read()).group(1)
    with tempfile.TemporaryDirectory() as folder:
        build(tool, folder, driver)
        run_program(folder, driver, FAKE_CUDA_SM="90")
        if driver == FAKE:
            run_program(folder, FAKE.replace("fake_cuda", "fake_cuda_old"), "old", FAKE_CUDA_SM="90")
            check_narrow(tool, folder)
        check_family(tool, folder, driver)
        check_header(tool, folder)
        check_plain(tool, folder)
    print("PASS")


main()
