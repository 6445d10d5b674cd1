#!/usr/bin/env python3
"""The C interface end to end, on the driver without a GPU and on this machine's GPU.

    test_runtime.py TILEWRIGHT
"""
import os
import subprocess
import sys
import tempfile

from tile_runner import call, fail

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def build(folder, library):
    program = os.path.join(folder, "runtime")
    command = [os.environ.get("CC", "cc"), *os.environ.get("CFLAGS", "").split(), "-std=gnu17", "-Wall", f"-I{ROOT}/include", f'-DROOT="{ROOT}"',
               f"{ROOT}/tests/gpu/runtime.c", library, "-lm", "-lpthread", "-ldl", "-o", program]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        fail(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    return program


def main():
    tool = os.path.abspath(sys.argv[1])
    fake = os.environ.get("FAKE_CUDA", os.path.join(os.path.dirname(tool), "tests", "libfake_cuda.so"))
    drivers = [dict(os.environ, TILEWRIGHT_CUDA_DRIVER=fake, FAKE_CUDA_SM=sm) for sm in ("80", "90")]
    if "\ncuda" in "\n" + call([tool, "devices"]).out:
        drivers.append(dict(os.environ))
    with tempfile.TemporaryDirectory() as folder:
        program = build(folder, os.path.join(os.path.dirname(tool), "libtilewright.a"))
        for environment in drivers:
            for part in ("session", "fault"):
                done = call([program, part], env=environment)
                print(part, done.out)
                if done.status:
                    fail(f"{part}: {done}")


if __name__ == "__main__":
    main()
