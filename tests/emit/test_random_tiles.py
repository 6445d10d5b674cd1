#!/usr/bin/env python3
"""Random programs of tiles, products among them, by thread IR give the bits that src/lower's PTX gives, on the simulator.

    test_random_tiles.py TILEWRIGHT [PROGRAMS [FIRST]]

$BY_THREADS is the tool with threads_main.c, $RANDOM_TEXT tests/emit/random_text.c. A program that differs is printed.
"""
import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile

from test_threads import call
from tile_runner import fail

DEVICES = ("sim:sm_89", "sim:sm_90")  # in turn


def result(tool, path, outputs, device, folder):
    """Returns the bytes of the arrays, or what the tool says."""
    own = tempfile.mkdtemp(dir=folder)
    keep = [x for name in outputs for x in ("--out", f"{name}={own}/{name}.npy")]
    done = call(tool, ["run", f"{path}:t", "--fill", "rand", "--device", device, *keep])
    return [open(f"{own}/{name}.npy", "rb").read() for name in outputs] if done.returncode == 0 else done.stderr or f"status {done.returncode}"


def judge(old, new):
    """Returns the fault of a result; None: it is right."""
    return None if old == new and isinstance(old, list) else new if isinstance(new, str) else "other bits"


def compare(tool, kind, number, folder):
    text = subprocess.run([os.environ["RANDOM_TEXT"], kind, str(number)], capture_output=True, text=True, check=True).stdout
    path = os.path.join(folder, f"{kind}{number}.tile")
    with open(path, "w") as file:
        file.write(text)
    parameters = re.search(r"kernel t\(([^)]*)\)", text)[1].split(",")
    outputs = [p.split("*")[1].strip() for p in parameters if "*" in p and "const " not in p]
    device = DEVICES[number % len(DEVICES)]
    fault = judge(*(result(x, path, outputs, device, folder) for x in (tool, os.environ["BY_THREADS"])))
    return fault and f"{kind} {number}, {device}: {fault}\n{text}"


def main():
    tool = os.path.abspath(sys.argv[1])
    if "BY_THREADS" not in os.environ:
        print("the linker here makes no such tool")
        return
    if judge([b"1"], [b"1"]) or not judge([b"1"], [b"2"]) or not judge([b"1"], "error") or not judge("error", "error"):
        fail("a fault is not found")
    programs, first = (int(x) for x in (*sys.argv[2:], *("60", "1")[len(sys.argv) - 2 :]))
    every = [(kind, n) for kind in ("products", "tiles") for n in range(first, first + programs)]
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(2) as pool:
        faults = [x for x in pool.map(lambda p: compare(tool, *p, folder), every) if x]
    print(f"{len(every)} programs, {len(faults)} of them wrong")
    if faults:
        fail("\n".join(faults[:3]))


if __name__ == "__main__":
    main()
