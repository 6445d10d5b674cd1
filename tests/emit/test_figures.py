#!/usr/bin/env python3
"""Holds the figures of every kernel without roles: what it executes on the simulator, and what ptxas makes of it.

    test_figures.py TILEWRIGHT [--bless] [FILE:KERNEL...]

Without names: the kernels of FOLDERS and FILES, each at two sizes that its claims allow, a multiple of 16 and another one. figures.csv has the warp
instructions, the wavefronts of shared memory and the sectors of global memory of each run; the bytes of shared memory of a block; the instructions of
the main loop, which is the loop with the fewest instructions for each product; and the bytes that ptxas spills, where it is of the version of the table.
No figure may grow. A figure that has fallen must be blessed, so that it cannot grow again unseen; --bless writes the table, with names their rows. ptxas
has nothing to say about the PTX. On the values: the tests of the kernels, of tests/parity and of random programs compare them with the CPU engine's.
"""
import concurrent.futures
import csv
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

from tile_runner import fail

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
TABLE = "tests/emit/figures.csv"
FOLDERS = ("kernels", "examples", "puzzles", "bench", "tools", "tests/parity", "tests/golden", "tests/sync", "docs/tutorial")
FILES = ("tests/emit/tiles/products.tile",)
DEVICE, DEVICE_OF = "sm_80", {"kernels/matmul/fp8.tile:matmul_f8": "sm_89"}
# Values of parameters, where one size for all is refused or is much work.
SIZES_OF = {
    "kernels/fused/attention.tile:attention": ("heads=1,nq=64,nk=64,d=32,causal=0,scale=0.2", "heads=2,nq=37,nk=37,d=16,causal=1,scale=0.2"),
    "kernels/recipes/convolution.tile:convolution": ("n=1,h=6,w=6,c=32,r=3,s=3,f=16", "n=1,h=5,w=7,c=9,r=2,s=2,f=5"),
}
EVEN, OTHER = (64, 32, 16, 8), (37, 100, 9, 5)
RUN_FIGURES = {"instructions": "warp_instructions", "wavefronts": "shared_wavefronts", "sectors": "global_sectors"}
COLUMNS = ("kernel", "values", *RUN_FIGURES, "shared_bytes", "loop", "spills")
VERSION = "release 13.0"  # of the ptxas whose spills the table has
LEAST = 330  # rows: fewer mean that kernels are missing


def call(tool, arguments):
    return subprocess.run([tool, *arguments], capture_output=True, text=True)


def device_of(name):
    return DEVICE_OF.get(name, DEVICE)


def files():
    for top in FOLDERS:
        for folder, _, names in sorted(os.walk(top)):
            for name in sorted(names):
                path = os.path.join(folder, name)
                if name.endswith(".tile") and "/wrong" not in folder and name != "starter.tile":
                    yield path
    yield from FILES


def kernels(tool, path):
    """Yields PATH:KERNEL of each kernel without roles that compiles."""
    with open(path) as file:
        text = re.sub("//.*", "", file.read())
    if open(path).read().startswith("// BROKEN"):
        return
    listed = call(tool, ["show", path, "--kernels", "--json"])
    for kernel in json.loads(listed.stdout) if listed.returncode == 0 else []:
        name = f"{path}:{kernel['kernel']}"
        of_file = re.search(rf"kernel\s+{kernel['kernel']}\b", text)  # not one that a family imports
        if of_file and call(tool, ["show", name, "--stage", "ptx", "--device", device_of(name)]).returncode == 0:
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


def sizes(name):
    """Returns the parameters that need a value."""
    found = [re.search(r"(\w+)\s*$", p) for p in parameters(name) if "*" not in p and "=" not in p]
    return [f.group(1) for f in found if f]


def values_of(tool, name):
    """Returns the values of sizes of at most two runs that the kernel's claims allow."""
    names, found = sizes(name), []
    given = [SIZES_OF.get(name, ())] if name in SIZES_OF else [[",".join(f"{n}={size}" for n in names) for size in some] for some in (EVEN, OTHER)]
    for choices in ([[x] for x in given[0]] if name in SIZES_OF else given if names else given[:1]):
        taken = next((v for v in choices if call(tool, ["run", name, "--fill", "rand", *to_set(v), "--device", "cpu"]).returncode == 0), None)
        if taken is not None:
            found.append(taken)
    return found


def to_set(values):
    return ["--set", values] if values else []


def main_loop(ptx):
    """Returns the instructions of the loop that has the fewest for each product; 0: no loop has products."""
    lines, labels, best, least = [line.strip() for line in ptx.split("\n")], {}, 0, 0
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
        if products and (not best or len(body) / products < least):
            best, least = len(body), len(body) / products
    return best


def assembler():
    return shutil.which("ptxas", path=os.environ["PATH"] + ":/usr/local/cuda/bin")


def spilled(name, ptx, folder):
    """Returns the bytes that ptxas spills, and what else it says; None: there is no ptxas."""
    if not assembler():
        return None, ""
    handle, file = tempfile.mkstemp(dir=folder)
    with os.fdopen(handle, "w") as out:
        out.write(ptx)
    done = subprocess.run([assembler(), f"-arch={device_of(name)}", "-v", file, "-o", f"{file}.cubin"], capture_output=True, text=True)
    said = re.sub(r"(?m)^ptxas info.*\n?|^ +\d+ bytes stack frame, .*\n?", "", done.stderr).strip()
    return sum(map(int, re.findall(r"(\d+) bytes spill", done.stderr))), said or ("" if done.returncode == 0 else "status 1")


def measure(tool, name, folder):
    """Returns rows of the table, and faults."""
    rows, faults = [], []
    for values in values_of(tool, name):
        shown = call(tool, ["show", name, *to_set(values), "--stage", "ptx", "--device", device_of(name)])
        done = call(tool, ["run", name, "--fill", "rand", *to_set(values), "--device", f"sim:{device_of(name)}", "--counters"])
        if shown.returncode or done.returncode:
            faults.append(f"{name} {values}: {shown.stderr}{done.stdout}{done.stderr}")
            continue
        spills, said = spilled(name, shown.stdout, folder)
        faults += [f"{name} {values}: ptxas: {said}"] if said else []
        figures = [int((re.search(rf"^{x} +(\d+)", done.stdout, re.M) or ["", "0"])[1]) for x in RUN_FIGURES.values()]
        shared = int((re.search(r"(\d+) bytes of dynamic shared memory", shown.stdout) or [0, 0])[1])
        rows.append(dict(zip(COLUMNS, (name, values, *figures, shared, main_loop(shown.stdout), spills))))
    return rows, faults


def judge(row, before, with_spills):
    """Returns the faults of a run's figures, compared with the table's."""
    if not before:
        return [f"{row['kernel']} {row['values']} is not in {TABLE}: bless it"]
    faults = []
    for x in COLUMNS[2:]:
        is_known = x != "spills" or with_spills and row[x] is not None
        if is_known and row[x] != int(before[x]):
            faults.append(f"{row['kernel']} {row['values']}: {row[x]} {x}, not {before[x]}" + ("" if row[x] > int(before[x]) else ": bless it"))
    return faults


def check_judge():
    """Each fault is found."""
    loop = "mov.u32 %a, %b;\nloop:\n.loc 1 2 3\n@%p fma.rn.f32 %a, %b, %c, %d;\nfma.rn.f32 %a, %b, %c, %d;\n@%p bra loop;\nother:\nmov.u32 %a, %b;\nbra other;\n"
    row = dict(zip(COLUMNS, ("k", "", 100, 20, 3, 64, 3, 0)))
    right = judge(row, row, True) == [] and judge({**row, "spills": 8}, row, False) == []
    if main_loop(loop) != 3 or main_loop(loop.replace("fma", "add")) or not right:
        fail("a right kernel is refused")
    if not all(judge({**row, x: row[x] + 1}, row, True) for x in COLUMNS[2:]) or not judge(row, None, True) or not judge({**row, "loop": 2}, row, True):
        fail("a fault is not found")


def write(rows, spills):
    out = io.StringIO()
    table = csv.DictWriter(out, COLUMNS, lineterminator="\n")
    table.writeheader()
    for row in rows:
        key = row["kernel"], row["values"]
        table.writerow({**row, "spills": row["spills"] if row["spills"] is not None else spills.get(key, 0)})
    with open(TABLE, "w") as file:
        file.write(out.getvalue())


def main():
    tool, names, bless = os.path.abspath(sys.argv[1]), [x for x in sys.argv[2:] if x != "--bless"], "--bless" in sys.argv
    os.chdir(ROOT)
    check_judge()
    before = {}
    if os.path.exists(TABLE):
        with open(TABLE) as file:
            before = {(row["kernel"], row["values"]): row for row in csv.DictReader(file)}
    version = subprocess.run([assembler(), "--version"], capture_output=True, text=True).stdout if assembler() else ""
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(2) as pool:
        names = names or [name for found in pool.map(lambda path: list(kernels(tool, path)), files()) for name in found]
        results = list(pool.map(lambda name: measure(tool, name, folder), names))
    rows, faults = [row for found, _ in results for row in found], [x for _, found in results for x in found]
    if bless and not faults:
        spills = {key: row["spills"] for key, row in before.items()}
        asked = {row["kernel"] for row in rows}
        others = [row for row in before.values() if sys.argv[3:] and row["kernel"] not in asked]
        place = {path: i for i, path in enumerate(files())}
        write(sorted(others + rows, key=lambda row: place[row["kernel"].split(":")[0]]), spills)
        print(f"wrote {len(others + rows)} rows")
        return
    faults += [x for row in rows for x in judge(row, before.get((row["kernel"], row["values"])), VERSION in version)]
    print(f"{len(rows)} runs of {len(names)} kernels")
    if not sys.argv[2:]:
        faults += [f"{key} is gone" for key in before if key not in {(row["kernel"], row["values"]) for row in rows}]
        faults += ["kernels are missing"] if len(rows) < LEAST else []
    if faults:
        fail("\n".join(faults))


if __name__ == "__main__":
    main()
