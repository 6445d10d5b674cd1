#!/usr/bin/env python3
"""compute-sanitizer's four tools find nothing in any kernel.

    sanitize.py TILEWRIGHT GPU_KERNELS GPU_RANDOM [-j N] [-k TEXT] [--sanitizer COMMAND] [--few] [--within SECONDS] [--list]

Runs each file of kernels/ in its default configuration, with every type, on small shapes, none of them even (gpu_kernels -s small);
the kernels of kernels/hopper likewise, on a GPU of compute capability 9.0, with rows that the copy engine takes; random tile programs
(gpu_random); and every kernel of tests/parity with the arguments of its comments. Each runs under memcheck,
racecheck, initcheck and synccheck, N processes (one a core) at a time. -k: only cases with this text. --few: one file, one tool each in
turn. --within: starts runs, in an order by chance, only for that time; those left out are counted. --list prints the commands. Without a GPU or compute-sanitizer (or COMMAND in
its place) a message names what is missing, with status 77.
"""
import argparse
import concurrent.futures
import glob
import math
import os
import random
import re
import shlex
import shutil
import subprocess
import sys
import time

from test_gpu import ROOT, has_gpu, kernels, parity_cases
from tile_runner import fail

TOOLS = ["memcheck", "racecheck", "initcheck", "synccheck"]
SKIPPED = 77
TIMEOUT = 600
# output of a tool that found nothing: its name, and a count of 0
QUIET = re.compile(r"=========( COMPUTE-SANITIZER| [A-Z ]*SUMMARY: 0 .*)?$")


# Sizes of kernels/hopper that cut tiles, by parameter. Rows are multiples of 16 bytes in every type.
HOPPER = {"m": 200, "n": 272, "k": 208, "activate": 1, "residual": 1, "heads": 2, "nq": 200, "nk": 144, "causal": 1, "scale": 0.125}


def hopper_commands(given):
    for path in sorted(glob.glob("kernels/hopper/*.tile")):
        for kernel in kernels(path):
            names = set(re.findall(r"\b(?:i32|i64|f32|bool)\s+(\w+)", re.search(rf"^kernel {kernel.name}\((.*?)\)\n", open(path).read(), re.M | re.S)[1]))
            sizes = ",".join(f"{name}={value}" for name, value in HOPPER.items() if name in names)
            for dtype in kernel.types:
                yield (f"{path} {dtype or ''}", [given.tool, "run", f"{path}:{kernel.name}", "--set=" + sizes, *(["--type=" + dtype] if dtype else []),
                                                 "--fill=rand", "--verify", "--device=cuda"])


def commands(given):
    """Returns (name, command) for each run under each tool."""
    for path in sorted(set(glob.glob("kernels/*/*.tile")) - set(glob.glob("kernels/hopper/*.tile"))):  # for sm_90a alone
        if not re.search(r"^kernel ", open(path).read(), re.M):
            continue  # functions for others to import
        yield path, [given.kernels, "-j", "0", "-c", "default", "-s", "small", path]
    yield from hopper_commands(given)
    for first in range(1, 81, 20):
        yield f"random programs {first} to {first + 19}", [given.random, "-j", "0", "-s", str(first), "20"]
    for case in parity_cases():
        yield str(case), [given.tool, "run", case.name, *case.arguments, "--device=cuda"]


def findings(given, tool, name, command):
    """Returns None, or the tool's findings."""
    words = [*given.sanitizer.split(), f"--tool={tool}", "--error-exitcode=9", *command]
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=TIMEOUT, errors="replace")
    except subprocess.TimeoutExpired:
        return f"{tool}: {name}: did not end"
    out = done.stdout + done.stderr
    said = [line for line in out.split("\n") if line.startswith("=========")]
    if done.returncode == 0 and all(map(QUIET.match, said)) and any("SUMMARY: 0 " in line for line in said):
        return None
    if done.returncode == 2 and refused(done.stderr):
        return None
    return f"{tool}: {name}: status {done.returncode}\n{out.strip()[-2500:]}"


def refused(text):
    """Returns true if the compiler refused this GPU and named other values: nothing was run."""
    return "note: with these tuned values it fits" in text or re.search(r"error: sm_\d+\w* has no `e[45]m[23]`|which are for sm_90a; this is", text)


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("tool")
    parser.add_argument("kernels")
    parser.add_argument("random")
    parser.add_argument("-j", type=int, default=os.cpu_count())
    parser.add_argument("-k", default="")
    parser.add_argument("--sanitizer", default="compute-sanitizer")
    parser.add_argument("--few", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--within", type=float, default=math.inf)
    given = parser.parse_args()
    given.tool, given.kernels, given.random = map(os.path.abspath, (given.tool, given.kernels, given.random))
    return given


def main():
    given = arguments()
    os.chdir(ROOT)
    if given.list:
        for _name, command in commands(given):
            print(shlex.join(command))
        return
    if not has_gpu(given.tool):
        print("skipped: there is no GPU")
        sys.exit(SKIPPED)
    if not shutil.which(given.sanitizer.split()[0]):
        print("skipped: there is no compute-sanitizer in the PATH (it comes with the CUDA toolkit)")
        sys.exit(SKIPPED)
    work = [(tool, *what) for what in commands(given) for tool in TOOLS if given.k in what[0]]
    if given.few:
        work = work[::len(TOOLS) + 1]
    if given.within < math.inf:
        random.shuffle(work)
    end, left_out = time.monotonic() + given.within, []

    def one(what):
        if time.monotonic() < end:
            return findings(given, *what)
        left_out.append(what)
        return None

    with concurrent.futures.ThreadPoolExecutor(given.j) as pool:
        problems = [p for p in pool.map(one, work) if p]
    print(f"{len(work) - len(left_out)} runs under compute-sanitizer, {len(problems)} with findings; {len(left_out)} left out")
    if problems:
        fail("\n\n".join(problems[:20]) + "\n" + "\n".join(p.split("\n")[0] for p in problems[20:]))


if __name__ == "__main__":
    main()
