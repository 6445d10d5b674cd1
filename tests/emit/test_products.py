#!/usr/bin/env python3
"""Compares tile-level kernels with products made through thread IR with those that src/lower makes, on the simulator.

    test_products.py TILEWRIGHT [FILE:KERNEL...]

Without names: the kernels with `warps(…)` and `dot`, without roles, of the folders in test_tiles.FOLDERS and of tiles/products.tile, each at the sizes of SIZES_OF, or at
a multiple of 16 and at another size. The arrays have to be the same, bit by bit. There are at most as many warp instructions, wavefronts of
shared memory, sectors of global memory and bytes of shared memory as src/lower makes. In the PTX for the first sizes the main loop, which is the loop with the
fewest instructions for each product, has at most as many, for each product or in all, and by ptxas no more bytes are spilled.
products_more.csv lists the kernels that have more, with the ratios, the bytes spilled, and the reasons, which are those of REASONS. A kernel that thread IR does not take is
one of NOT_TAKEN, with the reason in its message.

$BY_THREADS is the tool with threads_main.c.
"""
import concurrent.futures
import csv
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

import test_threads
import test_tiles
from test_threads import ROOT, call
from tile_runner import fail

NOT_TAKEN = {}
DEVICE, DEVICE_OF = "sm_80", {"kernels/matmul/fp8.tile:matmul_f8": "sm_89"}
SIZES_OF = {
    "kernels/fused/attention.tile:attention": ("heads=1,nq=64,nk=64,d=32,causal=0,scale=0.2", "heads=2,nq=37,nk=37,d=16,causal=1,scale=0.2"),
    "kernels/recipes/convolution.tile:convolution": ("n=1,h=6,w=6,c=32,r=3,s=3,f=16", "n=1,h=5,w=7,c=9,r=2,s=2,f=5"),
}
OF_MEMORY = ("shared_wavefronts", "global_sectors", "spills")
REASONS = {
    "moves between groups and registers": ("move",),
    "elements of 8 and 16 bits one at a time": ("move", "convert", "bits", "f16"),
    "the address of each access by itself": ("integer",),
    "conditions of accesses that are certainly inside or outside": ("integer", "compare", "global", "async"),
    "loops that are not unrolled as far": ("control",),
    "barriers before and after each exchange": ("barrier",),
    "exchanges through shared memory, not by shuffles": ("shared_wavefronts",),
    "registers for the addresses of each access": ("spills",),
}
REASONS = {reason: grown if grown[0] in OF_MEMORY else (*grown, "loop") for reason, grown in REASONS.items()}
FIGURES = ("instructions", "wavefronts", "sectors", "loop", "spills")
SLACK = 0.1  # a listed ratio is at most this much above the measured one
STEP = 32  # bytes: those that are spilled are rounded up to a multiple


def with_products(tool, path):
    """Yields PATH:KERNEL of each tile-level kernel that compiles and has a `dot`."""
    listed = call(tool, ["show", path, "--kernels", "--json"])
    for kernel in json.loads(listed.stdout) if listed.returncode == 0 else []:
        name = f"{path}:{kernel['kernel']}"
        device = DEVICE_OF.get(name, DEVICE)
        shown = call(tool, ["show", name, "--after", "copiers", "--device", device])
        if kernel["thread_level"] or shown.returncode or "dot(" not in re.sub("//.*", "", shown.stdout):
            continue
        if call(tool, ["show", name, "--stage", "ptx", "--device", device]).returncode == 0:
            yield name


def accepted(tool, name, sizes):
    """Returns the values of sizes of at most two runs that the kernel's claims allow."""
    found = []
    for values in SIZES_OF.get(name) or [",".join(f"{n}={size}" for n in sizes) for size in test_tiles.SIZES]:
        if len(found) < 2 and values not in found and call(tool, ["run", name, "--fill", "rand", *to_set(values), "--device", "cpu"]).returncode == 0:
            found.append(values)
    return found


def to_set(values):
    return ["--set", values] if values else []


def show(tool, name, values):
    return call(tool, ["show", name, *to_set(values), "--stage", "ptx", "--device", DEVICE_OF.get(name, DEVICE)])


def main_loop(ptx):
    """Returns the instructions, and those for each product, of the loop that has the fewest for each product; 0, 0: no loop has products."""
    lines, labels, best = [line.strip() for line in ptx.split("\n")], {}, (0, 0)
    for i, line in enumerate(lines):
        if line.endswith(":"):
            labels[line[:-1]] = i
        to = re.search(r"\bbra\S* +(\S+);", line)
        start = labels.get(to[1]) if to else None
        if start is None:
            continue
        body = [x for x in lines[start + 1 : i + 1] if x and not x.endswith(":") and not x.startswith((".", "{", "}", "//"))]
        counts = [sum(bool(re.match(rf"(@!?%\w+ +)?{kind}", x)) for x in body) for kind in ("mma", "fma", r"mad\.lo\.s")]
        products = next(filter(None, counts), 0)  # without mma, fma are products; without these, mad of integers
        if products and (not best[1] or len(body) / products < best[1]):
            best = len(body), len(body) / products
    return best


def spilled(name, ptx, folder):
    """Returns the bytes that ptxas spills; -1: it refuses the program."""
    ptxas = shutil.which("ptxas", path=os.environ["PATH"] + ":/usr/local/cuda/bin")
    if not ptxas:
        return 0
    handle, file = tempfile.mkstemp(dir=folder)
    with os.fdopen(handle, "w") as out:
        out.write(ptx)
    done = subprocess.run([ptxas, f"-arch={DEVICE_OF.get(name, DEVICE)}", "-v", file, "-o", f"{file}.cubin"], capture_output=True, text=True)
    return sum(map(int, re.findall(r"(\d+) bytes spill", done.stderr))) if done.returncode == 0 else -1


def judge_program(name, ptx, most, folder):
    """Returns the faults of the PTX of thread IR (ptx[1]), compared with that of src/lower (ptx[0]); the ratio of the main loops; the bytes
    spilled, if they are more. most: the same two."""
    before, after = (spilled(name, text, folder) for text in ptx)
    more = -(-after // STEP) * STEP if after > before else 0
    loops = [main_loop(text) for text in ptx]
    # A loop may have several steps in one iteration, or no products whose factors are certainly zeros.
    ratio = round(min(b / a for a, b in zip(*loops)), 3) if loops[0][0] else 1.0
    faults = ["ptxas refuses the program"] if after < 0 else [f"{after} bytes spilled, not {before}"] if more > most[1] else []
    return faults + ([f"{ratio:.3f} times the main loop, more than {most[0]}"] if ratio > most[0] else []), ratio, more


def compare(tool, name, folder, most, reasons):
    """Returns a line about the kernel, whether it is as it has to be, and the greatest ratios."""
    tools = (tool, os.environ["BY_THREADS"])
    sizes, outputs = test_tiles.signature(name)
    shown = show(tools[1], name, "")
    if shown.returncode or name in NOT_TAKEN:
        said = (re.search("error: (.*)", shown.stderr + shown.stdout) or ["", f"status {shown.returncode}"])[1]
        return f"not taken: {name}: {said}", NOT_TAKEN.get(name, "no reason") in said, None
    faults, greatest, changed, found, loop, spills = [], [0.0, 0.0, 0.0], {}, set(), 0.0, 0
    faults += test_threads.shared_faults(tool, name, shown.stdout, DEVICE_OF.get(name, DEVICE))
    own = tempfile.mkdtemp(dir=folder)
    for values in accepted(tool, name, sizes) if outputs else []:
        if not loop:
            more, loop, spills = judge_program(name, [show(x, name, values).stdout for x in tools], most[3:], folder)
            faults += more
            found |= ({"loop"} if loop > 1 else set()) | ({"spills"} if spills else set())
        base = ["run", name, "--fill", "rand", *to_set(values)]
        old, new = (test_threads.run(x, base, outputs, own, f"sim:{DEVICE_OF.get(name, DEVICE)}") for x in tools)
        faults += [f"{values}: {x}" for x in test_tiles.judge(old, new, most)]
        greatest = [max(a, b) for a, b in zip(greatest, test_tiles.ratios(old, new))]
        found |= test_tiles.grown(old, new)
        changed = {k: new[1].get(k, 0) - old[1].get(k, 0) for k in sorted({**old[1], **new[1]}) if old[1].get(k) != new[1].get(k)}
    greatest = [*greatest, loop, spills]
    if greatest[0]:
        faults += [f"the listed {what} {a} is needlessly high: {b:.3f}" for what, a, b in zip(FIGURES, most, greatest) if a > max(what != "spills", b + SLACK)]
        faults += test_tiles.judge_reasons(reasons, found, REASONS)
    figures = " ".join(f"{x:.3f}" for x in greatest)
    return f"{figures} {name} {changed} {'; '.join(faults)}", not faults, greatest


LOOP = "mov.u32 %a, %b;\nloop:\n.loc 1 2 3\n@%p fma.rn.f32 %a, %b, %c, %d;\nfma.rn.f32 %a, %b, %c, %d;\n@%p bra loop;\nother:\nmov.u32 %a, %b;\nbra other;\n"


def check_judge():
    """Each fault is found."""
    if main_loop(LOOP) != (3, 1.5) or main_loop(LOOP.replace("fma", "add")) != (0, 0):
        fail("the main loop is another one")
    with tempfile.TemporaryDirectory() as folder:
        longer = LOOP.replace("@%p fma", "mov.u32 %e, %f;\n@%p fma")
        if not any("main loop" in x for x in judge_program("x", [LOOP, longer], (1, 0), folder)[0]):
            fail("a longer main loop is not found")
        if shutil.which("ptxas") and "ptxas refuses the program" not in judge_program("x", [LOOP, LOOP], (1, 0), folder)[0]:
            fail("ptxas takes a broken program")


def listed():
    with open(os.path.join(ROOT, "tests/emit/products_more.csv")) as file:
        return {
            row["kernel"]: ([float(row[x]) for x in FIGURES], row["reasons"].split("; "))
            for row in csv.DictReader(file)
        }


def main():
    tool = os.path.abspath(sys.argv[1])
    if "BY_THREADS" not in os.environ:
        print("the linker here makes no such tool")
        return
    os.chdir(ROOT)
    check_judge()
    limits = listed()
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(2) as pool:
        names = sys.argv[2:] or [name for path in [*test_tiles.candidates(), "tests/emit/tiles/products.tile"] for name in with_products(tool, path)]
        rows = list(pool.map(lambda name: compare(tool, name, folder, *limits.get(name, ((1, 1, 1, 1, 0), []))), names))
    for row, _, _ in sorted(rows, reverse=True):
        print(row)
    compared = sum(bool(greatest and greatest[0]) for _, _, greatest in rows)
    print(f"{len(rows)} kernels: {sum(g is not None for _, _, g in rows)} taken, {compared} of them compared")
    unknown = [] if sys.argv[2:] else [name for name in [*limits, *NOT_TAKEN, *DEVICE_OF, *SIZES_OF] if name not in names]
    if unknown or (compared < 50 and not sys.argv[2:]) or not all(right for _, right, _ in rows):
        fail("\n".join([row for row, right, _ in rows if not right] + unknown) or "kernels are missing")


if __name__ == "__main__":
    main()
