#!/usr/bin/env python3
"""Compares thread-level kernels made through thread IR with those that src/lower makes, on the simulator.

    test_threads.py TILEWRIGHT [FILE...]

Without files: the kernels that have `threads(…)` of the folders in candidates(), each at a multiple of 16 and at another size. The arrays have to be the same, bit by bit, and so have the rows that the kernel prints. There are at most as many wavefronts
of shared memory, sectors of global memory, and bytes of shared memory. The warp instructions are at most those that src/lower makes; MORE lists
the kernels that have more. Prints for each kernel these figures of src/lower and of thread IR, and the kinds of instructions whose number differs; a
kernel that thread IR does not take is listed with the reason, which is one of NOT_TAKEN.

$BY_THREADS is the tool with threads_main.c.
"""
import json
import os
import re
import subprocess
import sys
import tempfile

from tile_runner import fail

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
FIGURES = ("warp_instructions", "shared_wavefronts", "global_sectors")
# The kernels that thread IR does not take, and the reason in its message.
NOT_TAKEN = {}
# At most this number of instructions for one that src/lower makes.
MORE = {
    "kernels/single_block/blocks_of_3x3.tile": 1.03,  # `p + x < size` in each iteration: src/lower compares p with size - x
    "puzzles/16_tiled_8x8_by_3x3/solution.tile": 1.03,  # the same
    "tests/parity/division.tile": 1.10,  # warps beyond the edge compute, too: no branch
    "tests/parity/integers_that_wrap.tile:compared": 1.05,  # no limits of parameters from --set
    "tests/parity/tables.tile:outside_of_threads": 1.30,  # warps beyond the edge compute, too: no branch
    "tests/parity/written_loops.tile:continues": 3.44,  # a loop with `continue` in an arm within an arm is not written out
    "tests/sync/forms.tile:tree_sum": 1.22,  # predicates, no branch: warps without a sum execute it
}


def call(tool, arguments):
    return subprocess.run([tool, *arguments], capture_output=True, text=True)


def candidates():
    for top in ("kernels", "examples", "puzzles", "bench", "tools", "tests/parity", "tests/golden", "tests/sync", "docs/tutorial"):
        for folder, _, files in sorted(os.walk(top)):
            for name in sorted(files):
                path = os.path.join(folder, name)
                if not name.endswith(".tile") or "/wrong" in folder or name == "starter.tile":
                    continue
                text = open(path).read()
                if re.search(r"\bthreads *\(", text) and not text.startswith("// BROKEN"):
                    yield path


def thread_level(tool, path):
    """Yields PATH:KERNEL of each thread-level kernel that compiles, or PATH if the file has one kernel."""
    listed = call(tool, ["show", path, "--kernels", "--json"])
    kernels = json.loads(listed.stdout) if listed.returncode == 0 else []
    for kernel in kernels:
        name = path if len(kernels) == 1 else f"{path}:{kernel['kernel']}"
        if kernel["thread_level"] and call(tool, ["show", name, "--stage", "ptx", "--device", "sm_80"]).returncode == 0:
            yield name


def signature(name):
    """Returns the sizes without a default, and the arrays that the kernel writes."""
    path, _, kernel = name.partition(":")
    text = re.search(rf"kernel\s+{kernel or r'[^ (<]+'}\s*(?:<[^>]*>)?\s*\(([^)]*)\)", open(path).read()).group(1)
    sizes, outputs = [], []
    for parameter in text.split(","):
        found = re.search(r"(\w+)\s*$", parameter.split("=")[0])
        if found and "*" not in parameter and "=" not in parameter:
            sizes.append(found.group(1))
        elif found and "*" in parameter and "const" not in parameter:
            outputs.append(found.group(1))
    return sizes, outputs


def printed_rows(text):
    """Returns what a kernel printed, ordered by block and thread: rows of one thread come in their order, those of several in any."""
    return sorted(re.findall(r"^block \(.*", text, re.M), key=lambda row: re.match(r"block \S+( thread \S+)?", row)[0])


def run(tool, arguments, outputs, folder, device="sim"):
    """Runs on the simulator. Returns the figures, the instructions by kind, and the bytes of the arrays with the rows that are printed."""
    keep = [x for name in outputs for x in ("--out", f"{name}={folder}/{name}.npy")]
    done = call(tool, arguments + ["--device", device, "--counters"] + keep)
    if done.returncode:
        fail(f"{tool} {' '.join(arguments)}: {done.stdout}{done.stderr}")
    figures = [int((re.search(rf"^{name} +(\d+)", done.stdout, re.M) or ["", "0"])[1]) for name in FIGURES]
    kinds = {name: int(n) for name, n in re.findall(r"^  (\w+) +(\d+)$", done.stdout, re.M)}
    return figures, kinds, [open(f"{folder}/{name}.npy", "rb").read() for name in outputs] + printed_rows(done.stdout)


def judge(path, old, new):
    """Returns the faults of the figures and arrays of thread IR, compared with those of src/lower."""
    faults, most = [], MORE.get(path, 1)
    if old[2] != new[2] or not old[2]:
        faults.append("other arrays or printed rows")
    if any(b > a for a, b in zip(old[0][1:], new[0][1:])):
        faults.append("more wavefronts or sectors")
    ratio = new[0][0] / max(1, old[0][0])
    if ratio > most:
        faults.append(f"{ratio:.3f} times the instructions, more than {most}")
    return faults


def listed_without_need(path, ratios):
    return path in MORE and all(ratio <= 1 for ratio in ratios)


def check_judge():
    """Each fault is found."""
    right = ([100, 20, 3], {}, [b"1"])
    wrong = [([101, 20, 3], {}, [b"1"]), ([100, 21, 3], {}, [b"1"]), ([100, 20, 4], {}, [b"1"]), ([100, 20, 3], {}, [b"2"])]
    needless = listed_without_need(next(iter(MORE)), [1.0, 0.9]) and not listed_without_need(next(iter(MORE)), [0.9, 1.1])
    if judge("a kernel", right, right) or not needless or not all(judge("a kernel", right, w) for w in wrong):
        fail("a fault is not found")


def shared_faults(tool, name, ptx, device="sm_80"):
    """Returns the fault of the PTX of thread IR if a block takes more shared memory than src/lower gives it."""
    old = call(tool, ["show", name, "--stage", "ptx", "--device", device]).stdout
    bytes_of = [int((re.search(r"(\d+) bytes of dynamic shared memory", text) or [0, 0])[1]) for text in (old, ptx)]
    return [f"{bytes_of[1]} bytes of shared memory, not {bytes_of[0]}"] if bytes_of[1] > bytes_of[0] else []


def sizes_of(name):
    """Returns the sizes to try. A kernel that prints gets small ones: after 16384 instructions of a warp, the simulator goes on with the
    lanes that waited longest, so where these are then decides what is counted."""
    prints = re.search(r"\bprint\(", open(name.partition(":")[0]).read())
    return (8, 5, 64) if prints else (64, 100, 37, 16, 9, 8, 5)


def compare(tool, path, folder):
    """Returns rows for two sizes, a multiple of 16 and another, and whether the kernel is as it has to be."""
    by_threads = os.environ["BY_THREADS"]
    shown = call(by_threads, ["show", path, "--stage", "ptx", "--device", "sm_80"])
    if shown.returncode or path in NOT_TAKEN:
        said = (re.search("error: (.*)", shown.stderr + shown.stdout) or ["", f"status {shown.returncode}"])[1]
        return f"not taken: {path}: {said}", NOT_TAKEN.get(path, "no reason") in said
    sizes, outputs = signature(path)
    bases = [["run", path, "--fill", "rand"] + (["--set", ",".join(f"{n}={size}" for n in sizes)] if sizes else []) for size in sizes_of(path)]
    bases = [base for base in bases if call(tool, base + ["--device", "cpu"]).returncode == 0][:2 if sizes else 1]
    rows = [compare_run(tool, path, base, outputs, folder) for base in bases]
    rows += [(f"{path}: {fault}", False) for fault in shared_faults(tool, path, shown.stdout)]
    needless = listed_without_need(path, [float(row.split()[0]) for row, right in rows if right])
    if needless:
        rows.append((f"{path}: MORE lists it without need", False))
    return "\n".join(row for row, _ in rows), bool(rows) and all(right for _, right in rows)


def compare_run(tool, path, base, outputs, folder):
    old, new = run(tool, base, outputs, folder), run(os.environ["BY_THREADS"], base, outputs, folder)
    changed = {k: new[1].get(k, 0) - old[1].get(k, 0) for k in sorted({**old[1], **new[1]}) if old[1].get(k) != new[1].get(k)}
    faults = judge(path, old, new)
    figures = " ".join(f"{a}:{b}" for a, b in zip(old[0], new[0]))
    return f"{new[0][0] / max(1, old[0][0]):.3f} {path} {base[-1]} {figures} {changed} {'; '.join(faults)}", not faults


def main():
    tool = os.path.abspath(sys.argv[1])
    if "BY_THREADS" not in os.environ:
        print("the linker here makes no such tool")
        return
    os.chdir(ROOT)
    check_judge()
    with tempfile.TemporaryDirectory() as folder:
        names = sys.argv[2:] or [name for path in candidates() for name in thread_level(tool, path)]
        rows = [compare(tool, name, folder) for name in names]
    for row, _ in sorted(rows, reverse=True):
        print(row)
    if len(rows) < 40 and not sys.argv[2:] or not all(right for _, right in rows):
        fail("\n".join(row for row, right in rows if not right) or "kernels are missing")


if __name__ == "__main__":
    main()
