#!/usr/bin/env python3
"""Builds the library for AArch64, and runs tests of the CPU engine's NEON routines under QEMU. If a compiler for AArch64, its C library or
QEMU is missing, a message names it, with status 77.

    test_aarch64.py PROGRAM    builds in the folder aarch64 next to PROGRAM
"""
import os
import shutil
import subprocess
import sys
import tempfile

from tile_runner import fail

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
COMPILER, SKIPPED = "aarch64-linux-gnu-gcc", 77
TESTS = ["routines", "dot_integers", "cpu", "cpu_chains"]


def skip(why):
    print(f"skipped: {why}")
    sys.exit(SKIPPED)


def need_tools():
    for names in [COMPILER], ["qemu-aarch64", "qemu-aarch64-static"]:
        if not any(map(shutil.which, names)):
            skip(f"no {names[0]}")
    with tempfile.TemporaryDirectory() as folder:
        linked = subprocess.run([COMPILER, "-x", "c", "-", "-o", f"{folder}/a"], input="int main(void) { return 0; }",
                                capture_output=True, text=True)
    if linked.returncode != 0:
        skip(f"{COMPILER} has no C library: {linked.stderr}")


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    if done.returncode != 0:
        fail(f"{' '.join(command)}: status {done.returncode}\n{done.stdout}{done.stderr}")


def main():
    need_tools()
    build = os.path.join(os.path.dirname(os.path.abspath(sys.argv[1])), "aarch64")
    # The routines have the flags of a release; with them, the rest would take longer to compile than the tests take.
    run("cmake", "-S", ".", "-B", build, "-G", "Ninja", f"-DCMAKE_TOOLCHAIN_FILE={ROOT}/cmake/aarch64.cmake",
        "-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_C_FLAGS_RELEASE=-O0", "-DTILEWRIGHT_UNIT_TESTS=ON")
    run("cmake", "--build", build, "-j", "2", "--target", "tests_unit")
    run("ctest", "--test-dir", build, "--output-on-failure", "--no-tests=error", "-j", "2", "-R", f"^unit[.]({'|'.join(TESTS)})$")


main()
