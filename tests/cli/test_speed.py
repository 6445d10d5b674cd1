#!/usr/bin/env python3
"""How long things may take: text to runnable program under 2 ms for every kernel that ships; V1 at 512³ and the naive kernel at
256³ under a second on one core."""
import glob
import json
import os
import shlex
import subprocess
import sys
import tempfile

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))


def compile_times(tool):
    library = os.path.join(os.path.dirname(os.path.abspath(tool)), "libtilewright.a")
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "speed")
        subprocess.run([*shlex.split(os.environ.get("CC", "cc")), "-O2", "-D_POSIX_C_SOURCE=200809L",
                        "-I", os.path.join(ROOT, "include"), os.path.join(ROOT, "tests", "cli", "speed.c"),
                        library, "-lm", "-ldl", "-lpthread", "-o", program], check=True)
        kernels = sorted(glob.glob(os.path.join(ROOT, "kernels", "*", "*.tile")))
        lines = subprocess.run([program, *kernels], check=True, capture_output=True, text=True).stdout.splitlines()
    return [(float(line.split(" ", 1)[0]), line.split(" ", 1)[1]) for line in lines]


def run_time(tool, kernel, size):
    done = subprocess.run([tool, "bench", os.path.join(ROOT, "kernels", kernel), "-s", str(size), "--threads", "1",
                           "--warmup", "1", "--repeat", "3", "--json"], check=True, capture_output=True, text=True)
    return json.loads(done.stdout)["rows"][0]["ms"]


def main():
    tool = sys.argv[1]
    slow = [f"{path}: {ms:.2f} ms to compile" for ms, path in compile_times(tool) if ms >= 2]
    for kernel, size in (("matmul/shared.tile", 512), ("sgemm/naive.tile", 256)):
        ms = run_time(tool, kernel, size)
        if ms >= 1000:
            slow.append(f"{kernel} at {size}: {ms:.0f} ms")
    print("\n".join(slow))
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
