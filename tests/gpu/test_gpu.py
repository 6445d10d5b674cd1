#!/usr/bin/env python3
"""Kernels on this machine's GPU give the right values, run by the command-line program.

    test_gpu.py TILEWRIGHT [--few] [--small] [-j N] [-k TEXT]

Every kernel of kernels/ runs in its default configuration, with each type and each shape, ragged and tiny ones too, on random numbers,
and is compared with its own `ensures`. Every kernel of tests/parity runs with its comments (run_parity.py); one without `ensures` must
give the same as the CPU engine, so kernels whose results may round differently need an `ensures`. -k: only cases with that text. --few:
the first type in all shapes, the others in one; --small: no products of more than 8 million steps. Without a GPU a message tells that,
with status 77. gpu_kernels runs all configurations.

A driver that executes PTX on the host works as well (tests/cuda), with its own checks on.
"""
import concurrent.futures
import glob
import os
import re
import shlex
import subprocess
import sys

from kernel_space import kernels
from run_parity import kernels as parity_kernels
from tile_runner import PATIENCE, comments, fail

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MATMUL = [(1, 1, 1), (3, 5, 7), (127, 129, 131), (64, 1, 300), (1, 257, 16), (256, 256, 96), (256, 256, 256), (384, 192, 1024),
          (130, 264, 72)]
MOST_SMALL = 8 << 20
SHAPES = {
    "attention": [dict(heads=2, nq=q, nk=k, d=d, causal=c, scale=0.125)
                  for q, k, d, c in [(64, 64, 64, "false"), (130, 77, 64, "true"), (1, 200, 32, "false"), (256, 256, 128, "true")]],
    "softmax": [dict(rows=r, cols=c) for r, c in [(1, 1), (5, 33), (7, 1000), (3, 4096)]],
    "layer_norm": [dict(rows=r, cols=c) for r, c in [(1, 2), (5, 33), (7, 1000), (3, 4096)]],
    **{name: [dict(rows=r, cols=c) for r, c in [(1, 1), (13, 333), (70, 1000)]]
       for name in ("softmax_lengths", "argmax", "row_sums", "column_sums")},
    **{name: [dict(n=n) for n in (1, 30001, 300000)] for name in ("sum_all", "count_bytes")},
    "small_products": [dict(batch=b) for b in (1, 13, 1000)],
    "grouped_products": [dict(groups=g, most=m, n=n, k=k) for g, m, n, k in [(9, 5, 7, 9), (9, 67, 75, 70), (9, 128, 64, 96)]],
    "paged_attention": [dict(batch=9, heads=h, group=g, d=d, pages=9, most=7, scale=0.125) for h, g, d in [(1, 3, 32), (2, 8, 64)]],
    "convolution": [dict(n=n, h=h, w=w, c=c, r=r, s=s, f=f, stride=t, pad=1)
                    for n, h, w, c, r, s, f, t in [(1, 5, 7, 3, 3, 2, 5, 1), (2, 9, 8, 40, 3, 3, 70, 2), (1, 16, 16, 64, 1, 1, 64, 1)]],
    **{name: [dict(batch=b, m=m, n=n, k=k) for b, m, n, k in [(1, 3, 5, 7), (300, 5, 16, 48), (3, 65, 72, 40), (2, 127, 129, 131), (9, 512, 384, 160)]]
       for name in ("matmul_batched_waves", "matmul_batched_ahead")},
    **{name: [dict(m=m, n=n, k=k) for m, n, k in [(1, 1, 1), (3, 5, 700), (65, 140, 501), (16, 48, 2304), (1, 257, 4099), (384, 192, 1024)]]
       for name in ("matmul_nt_split", "matmul_split_ahead", "matmul_split_sum", "matmul_split_parts")},
    "single_block": [{}],
    "tiled_3x3": [dict(size=s) for s in (1, 3, 8, 9)],
}
refused = []
SKIPPED = 77


def shapes(kernel, small):
    if kernel.name in SHAPES:
        return SHAPES[kernel.name]
    return [dict(m=m, n=n, k=k, batch=2) for m, n, k in MATMUL if not small or m * n * k <= MOST_SMALL]


class Case:
    def __init__(self, name, arguments, wanted=()):
        self.name, self.arguments, self.wanted = name, arguments, list(wanted)

    def __str__(self):
        return f"{self.name} {' '.join(self.arguments)}"


def kernel_case(kernel, shape, dtype):
    given = ["--fill", "rand", "--verify"]
    names = set(re.findall(r"\w+", open(kernel.path).read()))
    values = {n: v for n, v in shape.items() if n in names}
    if values:
        given.append("--set=" + ",".join(f"{n}={v}" for n, v in values.items()))
    if dtype:
        given.append("--type=" + dtype)
    return Case(f"{kernel.path}:{kernel.name}", given)


def kernel_cases(few=False, small=False):
    for path in sorted(set(glob.glob("kernels/*/*.tile")) - set(glob.glob("kernels/hopper/*.tile"))):  # for sm_90a alone
        for kernel in kernels(path):
            for t, dtype in enumerate(kernel.types):
                every = shapes(kernel, small)
                some = every if t == 0 or not few else [every[t % len(every)]]
                yield from (kernel_case(kernel, shape, dtype) for shape in some)


def parity_cases():
    for name in sorted(os.listdir("tests/parity")):
        path = f"tests/parity/{name}"
        text = open(path).read() if name.endswith(".tile") else ""
        if not text or comments(text, "expect-error"):
            continue
        for kernel, before, body in parity_kernels(text):
            if comments(before, "expect-fault"):
                continue  # faults of the program: the CPU engine and the simulator find them
            verify = ["--verify"] if re.search(r"^\s*ensures\b", body, re.M) else []
            for given in comments(before, "run") or ["--fill rand"]:
                yield Case(f"{path}:{kernel}", [*shlex.split(given), *verify], wanted=comments(before, "expect-output"))


def run(tool, case):
    command = [tool, "run", case.name, *case.arguments, "--device=cuda"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        return f"{case}: did not end"
    lacks = re.search(r"error: sm_(\d+)\w* has no `e[45]m[23]`", done.stderr)
    if lacks and int(lacks[1]) < 89:
        refused.append(str(case))  # a GPU without 8-bit floats must refuse it
        return None
    own = re.search(r"which are for sm_90a; this is sm_(\d+)", done.stderr)
    if own and int(own[1]) < 90:
        return None  # such a GPU must refuse Hopper's kernels
    if done.returncode == 2 and "note: with these tuned values it fits" in done.stderr:
        refused.append(str(case))  # it does not fit this GPU, and the compiler names values that do
        return None
    if done.returncode != 0:
        return f"{case}: status {done.returncode}\n{(done.stderr + done.stdout).strip()[-1500:]}"
    for text in case.wanted:
        if text not in done.stdout:
            return f"{case}: '{text}' is not printed:\n{done.stdout[-1500:]}"
    if "--verify" not in case.arguments:
        return same_as_cpu(tool, case, done.stdout)
    return None


def same_as_cpu(tool, case, out):
    """Compares kernels without `ensures` by the output that they print. Blocks run in any order, so only lines of the same thread must
    keep their order."""
    host = subprocess.run([tool, "run", case.name, *case.arguments], capture_output=True, text=True, timeout=PATIENCE)
    if by_printer(host.stdout) == by_printer(out):
        return None
    return f"{case}: on the GPU\n{out[-800:]}\non the CPU\n{host.stdout[-800:]}"


def by_printer(text):
    """Sorts the lines of `print` by block and thread; lines of the same thread, and all other lines, keep their order."""
    printer = re.compile(r"block \(\d+(?:,\d+)*\)(?: thread \(\d+(?:,\d+)*\))?")

    def place(line):
        found = printer.match(line)
        return found.group() if found else ""

    return sorted(text.splitlines(), key=place)


def has_gpu(tool):
    return "cuda " in subprocess.run([tool, "devices"], capture_output=True, text=True).stdout


def main():
    tool = os.path.abspath(sys.argv[1])
    os.chdir(ROOT)
    if not has_gpu(tool):
        print("skipped: there is no GPU")
        sys.exit(SKIPPED)
    jobs = int(sys.argv[sys.argv.index("-j") + 1]) if "-j" in sys.argv else os.cpu_count()
    text = sys.argv[sys.argv.index("-k") + 1] if "-k" in sys.argv else ""
    work = [c for c in [*kernel_cases("--few" in sys.argv, "--small" in sys.argv), *parity_cases()] if text in str(c)]
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        problems = [p for p in pool.map(lambda case: run(tool, case), work) if p]
    print(f"{len(work)} runs on the GPU, {len(problems)} wrong, {len(refused)} refused")
    if len(refused) > 5 + len(work) / 20:  # few of many
        fail("too many are refused:\n" + "\n".join(refused))
    if problems:
        fail("\n\n".join(problems[:30]) + ("\n" + "\n".join(p.split("\n")[0] for p in problems[30:]) if problems[30:] else ""))


if __name__ == "__main__":
    main()
