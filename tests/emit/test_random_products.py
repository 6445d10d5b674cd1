#!/usr/bin/env python3
"""Random products of tiles by thread IR give the bits that src/lower's PTX gives, on the simulator.

    test_random_products.py TILEWRIGHT [PROGRAMS [FIRST]]

$BY_THREADS is the tool with threads_main.c, $PRODUCT_TEXT tests/emit/product_text.c. A program that differs is printed.
"""
import concurrent.futures
import os
import subprocess
import sys
import tempfile

from test_threads import call
from tile_runner import fail

DEVICES = ("sim:sm_89", "sim:sm_90")  # in turn


def result(tool, path, device, folder):
    """Returns the bytes of the product, or what the tool says."""
    out = os.path.join(tempfile.mkdtemp(dir=folder), "c.npy")
    done = call(tool, ["run", f"{path}:t", "--fill", "rand", "--device", device, "--out", f"c={out}"])
    return open(out, "rb").read() if done.returncode == 0 else done.stderr or f"status {done.returncode}"


def judge(old, new):
    """Returns the fault of a result; None: it is right."""
    return None if old == new and isinstance(old, bytes) else new if isinstance(new, str) else "other bits"


def compare(tool, number, folder):
    text = subprocess.run([os.environ["PRODUCT_TEXT"], str(number)], capture_output=True, text=True, check=True).stdout
    path = os.path.join(folder, f"{number}.tile")
    with open(path, "w") as file:
        file.write(text)
    device = DEVICES[number % len(DEVICES)]
    fault = judge(*(result(x, path, device, folder) for x in (tool, os.environ["BY_THREADS"])))
    return fault and f"program {number}, {device}: {fault}\n{text}"


def main():
    tool = os.path.abspath(sys.argv[1])
    if "BY_THREADS" not in os.environ:
        print("the linker here makes no such tool")
        return
    if judge(b"1", b"1") or not judge(b"1", b"2") or not judge(b"1", "error") or not judge("error", "error"):
        fail("a fault is not found")
    programs, first = (int(x) for x in (*sys.argv[2:], *("120", "1")[len(sys.argv) - 2 :]))
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(2) as pool:
        faults = [x for x in pool.map(lambda n: compare(tool, n, folder), range(first, first + programs)) if x]
    print(f"{programs} products, {len(faults)} of them wrong")
    if faults:
        fail("\n".join(faults[:3]))


if __name__ == "__main__":
    main()
