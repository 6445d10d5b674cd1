#!/usr/bin/env python3
"""Limits of time: text to runnable program under 2 ms for every shipped kernel; text to PTX under 5 ms for each of its types on each
target, with the default and the largest tuned values, and under 8.5 ms for the kernels of kernels/hopper, whose roles are checked against
each other step by step; V1 at 512³ and the naive kernel at 256³ under a second on one core; and no kernel
for threads slower than the naive loops in C."""
import glob
import json
import os
import shlex
import subprocess
import sys
import tempfile

from counted_time import counted_time

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
TARGETS = ["sm_80", "sm_90", "sm_100", "sm_120"]
VALUES = {"d": 64, "causal": 1, "cols": 1024, "heads": 16, "nq": 2048, "nk": 2048, "r": 2, "s": 2, "stride": 2, "pad": 2}  # others: 4096
RUN_LIMIT, PTX_LIMIT, ROLES_PTX_LIMIT = 2.0, 5.0, 8.5  # ms
RUNS, MORE_RUNS, ROUNDS = 3, 20, 2


def built(tool, folder, name):
    """Builds a program of this folder with the library next to the tool; returns its path."""
    library = os.path.join(os.path.dirname(os.path.abspath(tool)), "libtilewright.a")
    program = os.path.join(folder, name)
    subprocess.run([*shlex.split(os.environ.get("CC", "cc")), "-O2", "-D_POSIX_C_SOURCE=200809L",
                    "-I", os.path.join(ROOT, "include"), os.path.join(ROOT, "tests", "cli", name + ".c"),
                    library, "-lm", "-ldl", "-lpthread", "-o", program], check=True)
    return program


def timed(*command):
    """Returns (milliseconds, name) for each line of output."""
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    return [(float(line.split(" ", 1)[0]), line.split(" ", 1)[1]) for line in lines]


def kernel_files():
    """Files of kernels; kernels/lib has functions alone."""
    return sorted(set(glob.glob(os.path.join(ROOT, "kernels", "*", "*.tile"))) - set(glob.glob(os.path.join(ROOT, "kernels", "lib", "*"))))


def ptx_limit(what):
    return ROLES_PTX_LIMIT if "/kernels/hopper/" in what else PTX_LIMIT


def least_times(limit_of, program, files, arguments_of):
    """Returns the least times of `program RUNS ARGUMENTS… FILE…`, by name. A time over the limit gets more runs, because the machine may
    have been busy; if it remains over the limit, its instructions decide. arguments_of(name) returns ARGUMENTS for that name alone, and
    its file; arguments_of(None) those for all."""
    least = {what: ms for ms, what in timed(program, str(RUNS), *arguments_of(None), *files)}
    for _ in range(ROUNDS):
        for what in [what for what, ms in least.items() if ms >= limit_of(what)]:
            (ms, _what), = timed(program, str(MORE_RUNS), *arguments_of(what))
            least[what] = min(least[what], ms)
    for what in [what for what, ms in least.items() if ms >= limit_of(what)]:
        least[what] = min(least[what], counted_time(program, *arguments_of(what)))
    return least


def compile_times(tool):
    with tempfile.TemporaryDirectory() as folder:
        return least_times(lambda what: RUN_LIMIT, built(tool, folder, "speed"), kernel_files(), lambda path: [path] if path else [])


def ptx_times(tool):
    values = ",".join(f"{name}={value}" for name, value in VALUES.items())

    def arguments_of(what):
        if not what:
            return [",".join(TARGETS), values, ""]
        return [what.split()[2], values, what, what.split(":")[0]]

    with tempfile.TemporaryDirectory() as folder:
        return least_times(ptx_limit, built(tool, folder, "speed_ptx"), kernel_files(), arguments_of)


def slower_than_c(tool):
    """Returns lines of bench/cpu_loops.c, built as in docs/cpu-engine.md, that are slower than its first. Normally all are ten times as
    fast, so load on the machine does not explain it."""
    library = os.path.join(os.path.dirname(os.path.abspath(tool)), "libtilewright.a")
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "cpu_loops")
        subprocess.run([*shlex.split(os.environ.get("CC", "cc")), "-O3", "-march=native", "-Iinclude", "bench/cpu_loops.c", library,
                        "-lm", "-ldl", "-lpthread", "-o", program], check=True, cwd=ROOT)
        lines = subprocess.run([program, "256"], check=True, cwd=ROOT, capture_output=True, text=True).stdout.splitlines()
    ms = [float(line.split()[2]) for line in lines]
    return [line for line, taken in zip(lines, ms) if taken > ms[0]]


def run_time(tool, kernel, size):
    done = subprocess.run([tool, "bench", os.path.join(ROOT, "kernels", kernel), "-s", str(size), "--threads", "1",
                           "--warmup", "1", "--repeat", "3", "--json"], check=True, capture_output=True, text=True)
    return json.loads(done.stdout)["rows"][0]["ms"]


def main():
    tool = sys.argv[1]
    slow = [f"{path}: {ms:.2f} ms to compile" for path, ms in compile_times(tool).items() if ms >= RUN_LIMIT]
    slow += [f"{what}: {ms:.2f} ms from text to PTX" for what, ms in ptx_times(tool).items() if ms >= ptx_limit(what)]
    for kernel, size in (("matmul/shared.tile", 512), ("sgemm/naive.tile", 256)):
        ms = run_time(tool, kernel, size)
        if ms >= 1000:
            slow.append(f"{kernel} at {size}: {ms:.0f} ms")
    slow += slower_than_c(tool)
    print("\n".join(slow))
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
