#!/usr/bin/env python3
"""Compares thread-level kernels made by way of thread IR with those that src/lower makes, on the simulator.

    compare_threads.py TILEWRIGHT [FILE...]

Without files: the kernels, examples and solutions of puzzles that have `threads(…)` and one kernel. Prints for each the warp instructions, wavefronts of
shared memory, sectors of global memory and registers by ptxas, of src/lower and of thread IR, and the kinds of instructions whose number differs.
The arrays have to be the same, bit by bit. A kernel that thread IR does not take yet is listed with the reason.
"""
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")


def call(tool, arguments, by_threads):
    environment = {k: v for k, v in os.environ.items() if k != "TW_EMIT"}
    if by_threads:
        environment["TW_EMIT"] = "1"
    return subprocess.run([tool, *arguments], capture_output=True, text=True, env=environment)


def candidates():
    for top in ("kernels", "examples", "puzzles"):
        for folder, _, files in sorted(os.walk(os.path.join(ROOT, top))):
            for name in sorted(files):
                path = os.path.join(folder, name)
                if name.endswith(".tile") and "/wrong" not in folder and name != "starter.tile" and re.search(r"\bthreads *\(", open(path).read()):
                    yield os.path.relpath(path, ROOT)


def signature(path):
    """Returns the sizes without a default, and the arrays that the kernel writes."""
    text = re.search(r"kernel\s+\w+\s*\(([^)]*)\)", open(os.path.join(ROOT, path)).read()).group(1)
    sizes, outputs = [], []
    for parameter in text.split(","):
        name = re.search(r"(\w+)\s*$", parameter.split("=")[0]).group(1)
        if "*" not in parameter and "=" not in parameter:
            sizes.append(name)
        elif "*" in parameter and "const" not in parameter:
            outputs.append(name)
    return sizes, outputs


def registers(tool, path, by_threads, folder):
    with open(f"{folder}/k.ptx", "w") as out:
        out.write(call(tool, ["show", path, "--stage", "ptx", "--device", "sm_80"], by_threads).stdout)
    said = subprocess.run(["ptxas", "-arch=sm_80", "-v", f"{folder}/k.ptx", "-o", f"{folder}/k.cubin"], capture_output=True, text=True).stderr
    spilled = re.search(r"(\d+) bytes spill stores", said)
    return re.search(r"Used (\d+)", said).group(1) + (f" ({spilled.group(1)} spilled)" if spilled and spilled.group(1) != "0" else "")


def number(text, name):
    return int((re.search(rf"^{name} +(\d+)", text, re.M) or ["", "0"])[1])


def compare(tool, path, folder):
    sizes, outputs = signature(path)
    shown = call(tool, ["show", path, "--stage", "ptx", "--device", "sm_80"], True)
    if shown.returncode:
        return float("inf"), f"{path}: {(re.search('error: (.*)', shown.stderr + shown.stdout) or ['', f'status {shown.returncode}'])[1]}"
    for size in (100, 64, 37, 16, 9, 8, 5):
        base = ["run", path, "--fill", "rand"] + (["--set", ",".join(f"{n}={size}" for n in sizes)] if sizes else [])
        if call(tool, base + ["--device", "cpu"], False).returncode == 0:
            break
    results = []
    for by_threads in (False, True):
        keep = [x for name in outputs for x in ("--out", f"{name}={folder}/{name}{by_threads}.npy")]
        results.append(call(tool, base + ["--device", "sim", "--counters"] + keep, by_threads))
    same = all(r.returncode == 0 for r in results) and all(
        open(f"{folder}/{n}False.npy", "rb").read() == open(f"{folder}/{n}True.npy", "rb").read() for n in outputs)
    old, new = (r.stdout for r in results)
    kinds = [dict(re.findall(r"^  (\w+) +(\d+)$", text, re.M)) for text in (old, new)]
    changed = {k: int(kinds[1].get(k, 0)) - int(kinds[0].get(k, 0)) for k in sorted({**kinds[0], **kinds[1]}) if kinds[0].get(k) != kinds[1].get(k)}
    ratio = number(new, "warp_instructions") / max(1, number(old, "warp_instructions"))
    figures = [f"{number(old, name)}:{number(new, name)}" for name in ("warp_instructions", "shared_wavefronts", "global_sectors")]
    held = ":".join(registers(tool, path, b, folder) for b in (False, True))
    return ratio, f"{ratio:.3f} {path} {' '.join(figures)} registers {held} {changed}{'' if same else ' DIFFERENT RESULTS'}"


def main():
    tool = os.path.abspath(sys.argv[1])
    os.chdir(ROOT)
    with tempfile.TemporaryDirectory() as folder:
        rows = [compare(tool, path, folder) for path in sys.argv[2:] or candidates()]
    for _, row in sorted(rows, key=lambda r: -r[0]):
        print(row)


if __name__ == "__main__":
    main()
