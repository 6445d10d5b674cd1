#!/usr/bin/env python3
"""Compares tile-level kernels without products made through thread IR with those that src/lower makes, on the simulator.

    test_tiles.py TILEWRIGHT [FILE:KERNEL...]

Without names: the kernels with `warps(…)`, without roles and `dot`, of the folders in FOLDERS, each at a multiple of 16 and at another
size. The arrays have to be the same, bit by bit, and so have the rows that the kernel prints. ptxas has nothing to say about the PTX, and spills nothing. There are at most as many
warp instructions, wavefronts of shared memory, sectors of global memory and bytes of shared memory as src/lower makes; tiles_more.csv lists the kernels that
have more, with the ratios and the reasons, which are those of REASONS. A kernel that thread IR does not take is one of NOT_TAKEN, with the reason in its message.

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
from test_threads import ROOT, call
from tile_runner import fail

FOLDERS = ("kernels", "puzzles", "tests/parity", "tests/golden", "tests/sync")
NOT_TAKEN = {}
# Reasons for more instructions, wavefronts or sectors: the kinds of instructions that grow most by it, or the figure
REASONS = {
    "elements of 8 and 16 bits one at a time": ("move", "convert"),
    "the address of each access by itself": ("integer",),
    "loops that are not unrolled as far": ("control", "compare"),
    "a load in each arm of a choice": ("global_sectors",),
}
SIZES = (32, 37, 16, 9, 8, 5, 64)
SLACK = 0.02  # a listed ratio is at most this much above the measured one


def candidates():
    for top in FOLDERS:
        for folder, _, files in sorted(os.walk(top)):
            for name in sorted(files):
                path = os.path.join(folder, name)
                if name.endswith(".tile") and "/wrong" not in folder and name != "starter.tile":
                    text = open(path).read()
                    if re.search(r"\bwarps *\(", text) and not text.startswith("// BROKEN"):
                        yield path


def without_products(tool, path):
    """Yields PATH:KERNEL of each tile-level kernel that compiles for sm_80 and has no `dot`."""
    listed = call(tool, ["show", path, "--kernels", "--json"])
    for kernel in json.loads(listed.stdout) if listed.returncode == 0 else []:
        name = f"{path}:{kernel['kernel']}"
        shown = call(tool, ["show", name, "--after", "copiers", "--device", "sm_80"])
        if kernel["thread_level"] or shown.returncode or "dot(" in re.sub("//.*", "", shown.stdout):
            continue
        if call(tool, ["show", name, "--stage", "ptx", "--device", "sm_80"]).returncode == 0:
            yield name


def parameters(name):
    """Returns the text of each parameter of the kernel."""
    path, _, kernel = name.partition(":")
    text = re.sub("//.*", "", open(path).read())
    start = re.search(rf"kernel\s+{kernel}\s*(?:<[^>]*>)?\s*\(", text).end()
    depth, parts = 0, [""]
    for c in text[start:]:
        depth += (c == "(") - (c == ")")
        if depth < 0:
            return parts
        if c == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += c
    return parts


def signature(name):
    """Returns the sizes without a default, and the arrays that the kernel writes."""
    sizes, outputs = [], []
    for parameter in parameters(name):
        declared = parameter.split("=")[0]
        found = re.search(r"(\w+)\s*$", declared)
        if found and "*" not in declared and "=" not in parameter:
            sizes.append(found.group(1))
        elif found and "*" in declared and "const" not in declared:
            outputs.append(found.group(1))
    return sizes, outputs


def assembles(name, ptx, folder):
    """Returns what is wrong with the PTX."""
    ptxas = shutil.which("ptxas", path=os.environ["PATH"] + ":/usr/local/cuda/bin")
    if not ptxas:
        return []
    file = f"{folder}/{re.sub(r'[^a-z0-9]', '_', name)}"
    open(file, "w").write(ptx)
    done = subprocess.run([ptxas, "-arch=sm_80", "-v", file, "-o", f"{file}.cubin"], capture_output=True, text=True)
    messages = re.sub(r"(?m)^ptxas info.*\n?|^ +\d+ bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n?", "", done.stderr)
    return [f"ptxas: {messages}"] if done.returncode or messages.strip() else []


def ratios(old, new):
    """Returns how many times the instructions, wavefronts and sectors there are."""
    return [b / a if a else 1.0 if b == 0 else float(b) for a, b in zip(old[0], new[0])]


def judge(old, new, most):
    """Returns the faults of the figures and arrays of thread IR, compared with those of src/lower."""
    faults = [] if old[2] == new[2] and old[2] else ["other arrays or printed rows"]
    for what, ratio, limit in zip(test_threads.FIGURES, ratios(old, new), most):
        if ratio > limit:
            faults.append(f"{ratio:.3f} times the {what}, more than {limit}")
    return faults


def grown(old, new):
    """Returns what the reasons have to explain: the kind of instructions that grew most, if there are more, and the other figures that grew."""
    found = {name for name, ratio in zip(test_threads.FIGURES[1:], ratios(old, new)[1:]) if ratio > 1}
    if new[0][0] > old[0][0]:
        found.add(max(sorted(new[1]), key=lambda kind: new[1][kind] - old[1].get(kind, 0)))
    return found


def judge_reasons(reasons, found, known=REASONS):
    """Returns the faults of a kernel's reasons: each explains something, and all is explained."""
    faults = [f"the reason `{reason}` explains nothing that grew: {sorted(found)}" for reason in reasons if not found & set(known.get(reason, ()))]
    return faults + [f"no reason explains more `{x}`" for x in sorted(found) if not any(x in known.get(reason, ()) for reason in reasons)]


def check_judge():
    """Each fault is found."""
    more = grown(([100, 20, 3], {"move": 50, "integer": 50}, []), ([110, 20, 4], {"move": 52, "integer": 58}, []))
    reasons = ["the address of each access by itself", "a load in each arm of a choice"]
    if judge_reasons(reasons, more) or not all(judge_reasons(x, more) for x in (reasons[:1], [*reasons, "loops that are not unrolled as far"], [*reasons, "no reason"])):
        fail("a wrong reason is not found")
    right = ([100, 20, 3], {}, [b"1"])
    wrong = [([101, 20, 3], {}, [b"1"]), ([100, 21, 3], {}, [b"1"]), ([100, 20, 4], {}, [b"1"]), ([100, 20, 3], {}, [b"2"])]
    if judge(right, right, (1, 1, 1)) or not all(judge(right, w, (1, 1, 1)) for w in wrong) or judge(right, wrong[0], (1.01, 1, 1)):
        fail("a fault is not found")
    if not assembles("broken", ".version 7.0\n.target sm_80\n.address_size 64\nbroken", tempfile.gettempdir()) and shutil.which("ptxas"):
        fail("ptxas takes a broken program")


def listed():
    with open(os.path.join(ROOT, "tests/emit/tiles_more.csv")) as file:
        return {
            row["kernel"]: ([float(row[x]) for x in ("instructions", "wavefronts", "sectors")], row["reasons"].split("; "))
            for row in csv.DictReader(file)
        }


def accepted(tool, name, sizes):
    """Returns the arguments of at most two runs that the kernel's claims allow."""
    bases = []
    for size in SIZES:
        base = ["run", name, "--fill", "rand"] + (["--set", ",".join(f"{n}={size}" for n in sizes)] if sizes else [])
        if len(bases) < 2 and (sizes or not bases) and call(tool, base + ["--device", "cpu"]).returncode == 0:
            bases.append(base)
    return bases


def compare(tool, name, folder, most, reasons):
    """Returns a line about the kernel, whether it is as it has to be, and the greatest ratios."""
    by_threads = os.environ["BY_THREADS"]
    shown = call(by_threads, ["show", name, "--stage", "ptx", "--device", "sm_80"])
    if shown.returncode or name in NOT_TAKEN:
        said = (re.search("error: (.*)", shown.stderr + shown.stdout) or ["", f"status {shown.returncode}"])[1]
        return f"not taken: {name}: {said}", NOT_TAKEN.get(name, "no reason") in said, None
    sizes, outputs = signature(name)
    faults, greatest, changed, found = assembles(name, shown.stdout, folder), [0.0, 0.0, 0.0], {}, set()
    faults += test_threads.shared_faults(tool, name, shown.stdout)
    own = tempfile.mkdtemp(dir=folder)
    for base in accepted(tool, name, sizes) if outputs else []:
        old, new = (test_threads.run(t, base, outputs, own) for t in (tool, by_threads))
        faults += [f"{base[-1]}: {x}" for x in judge(old, new, most)]
        greatest = [max(a, b) for a, b in zip(greatest, ratios(old, new))]
        found |= grown(old, new)
        changed = {k: new[1].get(k, 0) - old[1].get(k, 0) for k in sorted({**old[1], **new[1]}) if old[1].get(k) != new[1].get(k)}
    if greatest[0]:
        faults += [f"the listed ratio {a} is needlessly high: {b:.3f}" for a, b in zip(most, greatest) if a > max(1, b + SLACK)] + judge_reasons(reasons, found)
    figures = " ".join(f"{x:.3f}" for x in greatest)
    return f"{figures} {name} {changed} {'; '.join(faults)}", not faults, greatest


def main():
    tool = os.path.abspath(sys.argv[1])
    if "BY_THREADS" not in os.environ:
        print("the linker here makes no such tool")
        return
    os.chdir(ROOT)
    check_judge()
    limits = listed()
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(2) as pool:
        names = sys.argv[2:] or [name for path in candidates() for name in without_products(tool, path)]
        rows = list(pool.map(lambda name: compare(tool, name, folder, *limits.get(name, ((1, 1, 1), []))), names))
    for row, _, _ in sorted(rows, reverse=True):
        print(row)
    compared = sum(bool(greatest and greatest[0]) for _, _, greatest in rows)
    print(f"{len(rows)} kernels: {sum(g is not None for _, _, g in rows)} taken, {compared} of them compared")
    unknown = [] if sys.argv[2:] else [name for name in [*limits, *NOT_TAKEN] if name not in names]
    if unknown or (compared < 80 and not sys.argv[2:]) or not all(right for _, right, _ in rows):
        fail("\n".join([row for row, right, _ in rows if not right] + unknown) or "kernels are missing")


if __name__ == "__main__":
    main()
