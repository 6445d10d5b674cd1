#!/usr/bin/env python3
"""Kernels on the GPU that is here give the values that they should.

    test_gpu.py TILEWRIGHT [--all] [--sanitize] [-j N] [-k TEXT]

Every kernel of kernels/ × type × shape, ragged and tiny ones too, and every tuned configuration at one shape, is run on the
GPU and compared with its own `ensures`; every kernel of tests/parity with its comments (run_parity.py), and where it has
no `ensures` with what the CPU engine computes, which is to be the same: what may round differently says so by `ensures`.
--all: every configuration with every type. --sanitize: the default configurations once more under compute-sanitizer's four
tools. -k: only cases with that text. --few: of the tuned configurations three, the first, the middle and the last; the
default one with the first type in all shapes, with the others in one. Without a GPU nothing is run, which is said.

A driver that executes PTX on the host serves as well (tests/cuda), with its own checks on.
"""
import concurrent.futures
import os
import re
import shlex
import shutil
import subprocess
import sys

from kernel_space import configurations, kernels
from run_parity import kernels as parity_kernels
from tile_runner import comments, fail

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MATMUL = [(1, 1, 1), (3, 5, 7), (127, 129, 131), (64, 1, 300), (1, 257, 16), (256, 256, 256), (384, 192, 1024), (130, 264, 72)]
SHAPES = {
    "attention": [dict(heads=2, nq=q, nk=k, d=d, causal=c, scale=0.125)
                  for q, k, d, c in [(64, 64, 64, "false"), (130, 77, 64, "true"), (1, 200, 32, "false"), (256, 256, 128, "true")]],
    "softmax": [dict(rows=r, cols=c) for r, c in [(1, 1), (5, 33), (7, 1000), (3, 4096)]],
    "layer_norm": [dict(rows=r, cols=c) for r, c in [(1, 2), (5, 33), (7, 1000), (3, 4096)]],
    "single_block": [{}],
    "tiled_3x3": [dict(size=s) for s in (1, 3, 8, 9)],
}
refused = []
TOOLS = ["memcheck", "racecheck", "initcheck", "synccheck"]


def shapes(kernel):
    if kernel.name in SHAPES:
        return SHAPES[kernel.name]
    return [dict(m=m, n=n, k=k) for m, n, k in MATMUL]


class Case:
    def __init__(self, name, arguments, wanted=()):
        self.name, self.arguments, self.wanted = name, arguments, list(wanted)

    def __str__(self):
        return f"{self.name} {' '.join(self.arguments)}"


def kernel_case(kernel, shape, dtype, tuned):
    given = ["--fill", "rand", "--verify"]
    names = set(re.findall(r"\w+", open(kernel.path).read()))
    values = {n: v for n, v in shape.items() if n in names}
    if values:
        given.append("--set=" + ",".join(f"{n}={v}" for n, v in values.items()))
    if dtype:
        given.append("--type=" + dtype)
    if tuned:
        given.append("--tune=" + ",".join(f"{n}={v}" for n, v in tuned.items()))
    return Case(f"{kernel.path}:{kernel.name}", given)


def kernel_cases(everything, few=False):
    for folder in sorted(os.listdir("kernels")):
        for name in sorted(os.listdir(f"kernels/{folder}")):
            for kernel in kernels(f"kernels/{folder}/{name}"):
                turn = 0
                space = list(configurations(kernel))
                for i, tuned in enumerate(space):
                    if few and i not in (0, len(space) // 2, len(space) - 1):
                        continue
                    for t, dtype in enumerate(kernel.types):
                        if i > 0 and not everything and t != turn % len(kernel.types):
                            continue
                        all_shapes = shapes(kernel)
                        one = [all_shapes[(turn + t) % len(all_shapes)]]
                        some = all_shapes if i == 0 and not (few and t) else one
                        yield from (kernel_case(kernel, shape, dtype, tuned) for shape in some)
                    turn += 1


def parity_cases():
    for name in sorted(os.listdir("tests/parity")):
        path = f"tests/parity/{name}"
        text = open(path).read()
        if not name.endswith(".tile") or comments(text, "expect-error"):
            continue
        for kernel, before, body in parity_kernels(text):
            if comments(before, "expect-fault"):
                continue  # faults of the program: the CPU engine and the simulator find them
            verify = ["--verify"] if re.search(r"^\s*ensures\b", body, re.M) else []
            for given in comments(before, "run") or ["--fill rand"]:
                yield Case(f"{path}:{kernel}", [*shlex.split(given), *verify], wanted=comments(before, "expect-output"))


def run(tool, case, prefix=()):
    command = [*prefix, tool, "run", case.name, *case.arguments, "--device=cuda"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    except subprocess.TimeoutExpired:
        return f"{case}: did not end"
    lacks = re.search(r"error: sm_(\d+)\w* has no `e[45]m[23]`", done.stderr)
    if lacks and int(lacks[1]) < 89:
        refused.append(str(case))  # a GPU without 8-bit floats: the refusal is what is wanted
        return None
    if done.returncode == 2 and "note: with these tuned values it fits" in done.stderr:
        refused.append(str(case))  # this GPU has no room for it, and the compiler names values with which it has
        return None
    if done.returncode != 0:
        return f"{case}: status {done.returncode}\n{(done.stderr + done.stdout).strip()[-1500:]}"
    for text in case.wanted:
        if text not in done.stdout:
            return f"{case}: '{text}' is not printed:\n{done.stdout[-1500:]}"
    if not prefix and "--verify" not in case.arguments:
        return same_as_cpu(tool, case, done.stdout)
    return None


def same_as_cpu(tool, case, out):
    """Kernels without `ensures` print what they wrote."""
    host = subprocess.run([tool, "run", case.name, *case.arguments], capture_output=True, text=True, timeout=300)
    if host.stdout == out:
        return None
    return f"{case}: on the GPU\n{out[-800:]}\non the CPU\n{host.stdout[-800:]}"


def main():
    tool = os.path.abspath(sys.argv[1])
    os.chdir(ROOT)
    if "cuda " not in subprocess.run([tool, "devices"], capture_output=True, text=True).stdout:
        print("skipped: there is no GPU")
        return
    jobs = int(sys.argv[sys.argv.index("-j") + 1]) if "-j" in sys.argv else min(8, os.cpu_count())
    text = sys.argv[sys.argv.index("-k") + 1] if "-k" in sys.argv else ""
    cases = [*kernel_cases("--all" in sys.argv, "--few" in sys.argv), *parity_cases()]
    work = [c for c in cases if text in str(c)]
    prefixes = {c: [()] for c in work}
    if "--sanitize" in sys.argv and shutil.which("compute-sanitizer"):
        seen = set()
        for case in work:
            if case.name not in seen:
                prefixes[case] += [("compute-sanitizer", "--error-exitcode=9", f"--tool={t}") for t in TOOLS]
            seen.add(case.name)
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        results = [pool.submit(run, tool, c, p) for c in work for p in prefixes[c]]
        problems = [r for r in (future.result() for future in results) if r]
    print(f"{len(results)} runs on the GPU, {len(problems)} wrong, {len(refused)} refused")
    if len(refused) > 5 + len(results) / 20:  # few of many
        fail("too many are refused:\n" + "\n".join(refused))
    if problems:
        fail("\n\n".join(problems[:30]) + ("\n" + "\n".join(p.split("\n")[0] for p in problems[30:]) if problems[30:] else ""))


if __name__ == "__main__":
    main()
