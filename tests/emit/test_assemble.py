#!/usr/bin/env python3
"""What the kernels that ship become on a GPU.

    test_assemble.py TILEWRIGHT [--all] [--bless] [-j N]

Every kernel × type × tuned configuration × target is lowered and assembled with ptxas; a warning is an error. The quick run
takes the defaults of every type on the targets of the table and on one other, and every fourth configuration, with target and type
going round; --all takes the whole product. The goldens' PTX is assembled too. The defaults' registers, spills, shared memory and instruction counts must be those
of kernels.csv (--bless writes it) where ptxas is of the version it was made with: a change of the code shows in the difference.
Shared accesses of the tile-level kernels must have the fewest wavefronts, and accesses of global memory, whose rows all
divide by 16 bytes here, must be 16 bytes wide. Without ptxas nothing is assembled, which is said.
"""
import concurrent.futures
import csv
import glob
import io
import os
import re
import shutil
import subprocess
import sys
import tempfile

from kernel_space import configurations, kernels
from tile_runner import PATIENCE, comments, compare, fail

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "scripts"))
import sass  # noqa: E402

TARGETS = ["sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120"]
TABLED = ["sm_80", "sm_90"]
OTHERS = [target for target in TARGETS if target not in TABLED]
EACH = 4  # the quick run takes one in four of the configurations that are no defaults
STATICS = {"d": 64, "causal": "true", "cols": 1024, "group": 8, "c": 64, "r": 3, "s": 3, "f": 64}  # others: 4096
RUN_TIME = {"m": 4096, "n": 4096, "k": 4096, "rows": 4096, "heads": 16, "batch": 4, "nq": 2048, "nk": 2048,
            "groups": 8, "most": 256, "pages": 1024, "h": 32, "w": 32, "stride": 1, "pad": 1}
# Views of vectors and columns: a thread has less than 16 bytes of them, or their elements lie apart.
NARROW = {"argmax": ["At"], "column_sums": ["Y"], "gemv": ["X", "Y"], "count_bytes": ["so_far", "Count"],
          "int8_scaled": ["RowScale"], "row_sums": ["Y"], "softmax_lengths": ["Length"],
          "matmul_split_ahead": ["sum"], "matmul_nt_split": ["sum"], "matmul_split_sum": ["sum"], "paged_attention": ["Table"]}
COLUMNS = ["kernel", "type", "target", "registers", "spill_bytes", "shared_bytes", "instructions", "loop", "loop_products",
           "loop_address", "loop_shared", "loop_global", "wavefronts", "least"]


class Case:
    def __init__(self, kernel, dtype, tuned, target, is_default):
        self.kernel, self.type, self.tuned, self.target, self.is_default = kernel, dtype, tuned, target, is_default

    def scalars(self):
        """Returns the names of the parameters that are no arrays."""
        text = re.sub(r"//.*", "", open(self.kernel.path).read())
        start = re.search(rf"^kernel\s+{self.kernel.name}\s*\((.*?)\)\s*grid", text, re.M | re.S).group(1)
        return [re.split(r"\s*=", p.strip())[0].split()[-1] for p in start.split(",") if p.strip() and "*" not in p]

    def options(self):
        values = {n: STATICS.get(n, RUN_TIME.get(n)) for n in self.scalars()}
        given = ["--set=" + ",".join(f"{n}={v}" for n, v in values.items() if v is not None)]
        if self.type:
            given.append("--type=" + self.type)
        if self.tuned:
            given.append("--tune=" + ",".join(f"{n}={v}" for n, v in self.tuned.items()))
        return given + ["--target=" + self.target]

    def __str__(self):
        return f"{self.kernel.path}:{self.kernel.name} {' '.join(self.options())}"


def show(tool, case, stage):
    command = [tool, "show", f"{case.kernel.path}:{case.kernel.name}", f"--stage={stage}", *case.options()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    if done.returncode:
        raise RuntimeError(f"{case}: {done.stderr.strip()}")
    return done.stdout


def refused_for_size(text):
    return "bytes of shared memory" in text and "error" in text


def assemble(tool, case, folder, number):
    """Assembles one case; the figures of a default one, else None."""
    try:
        ptx = show(tool, case, "ptx")
    except RuntimeError as problem:
        if not case.is_default and refused_for_size(str(problem)):
            return None  # a configuration that this target has no room for, and the compiler says so
        raise
    source, cubin = (os.path.join(folder, f"{number}.{end}") for end in ("ptx", "cubin"))
    with open(source, "w") as out:
        out.write(ptx)
    level = "-O3" if case.is_default else "-O1"
    done = subprocess.run(["ptxas", level, "-v", "-arch=" + case.target, source, "-o", cubin], capture_output=True, text=True)
    said = done.stdout + done.stderr
    if done.returncode or re.search(r"warning|error", said, re.I):
        raise RuntimeError(f"{case}: {said.strip()[:1500]}")
    figures = measure(tool, case, said, cubin) if case.is_default else None
    os.remove(source)
    os.remove(cubin)
    return figures


def measure(tool, case, said, cubin):
    def number(pattern):
        return sum(int(n) for n in re.findall(pattern, said))
    code = next(iter(sass.read(cubin).values()))
    body = sass.main_loop(code)
    kinds = sass.summary(body)
    layout = show(tool, case, "layout")
    shared = int(re.search(r"(\d+) bytes of shared memory", layout).group(1))
    accesses = layout.partition("\nshared memory")[2]
    waves = [(int(w), int(l)) for w, l in re.findall(r" (\d+) +(\d+)(?:  conflicts)?$", accesses, re.M)]
    if shared and not case.kernel.thread_level and not waves:
        raise RuntimeError(f"{case}: no wavefronts in the layout:\n{layout[-800:]}")
    if not case.kernel.thread_level:
        check_widths(case, layout.partition("\nglobal memory")[2])
    return {
        "kernel": case.kernel.name, "type": case.type or "", "target": case.target,
        "registers": number(r"Used (\d+) registers"),
        "spill_bytes": number(r"(\d+) bytes spill stores") + number(r"(\d+) bytes stack frame"),
        "shared_bytes": shared, "instructions": len(code), "loop": len(body),
        "loop_products": kinds["matrix"] or kinds["multiply-add"], "loop_address": kinds["address"],
        "loop_shared": kinds["shared"], "loop_global": kinds["global"],
        "wavefronts": sum(w for w, _ in waves), "least": sum(l for _, l in waves),
    }


def bytes_of(instruction):
    """Of "ld.global.nc.v4.b32", "cp.async 16"; None: no access of global memory."""
    if instruction.startswith("cp.async"):
        return int(instruction.split()[1])
    parts = instruction.split(".")
    if parts[1] != "global":
        return None
    vector = next((int(p[1:]) for p in parts if re.fullmatch(r"v\d", p)), 1)
    return vector * int(re.search(r"\d+$", parts[-1]).group()) // 8


def check_widths(case, accesses):
    found = re.findall(r"(\w+) +((?:cp\.async \d+|(?:ld|st|atom|red)\.[\w.]+)) ", accesses)
    widths = {(view, i): bytes_of(i) for view, i in found if bytes_of(i)}
    narrow = [f"{i} of {view}" for (view, i), width in widths.items()
              if width < 16 and view not in NARROW.get(case.kernel.name, ())]
    if narrow or not widths:
        raise RuntimeError(f"{case}: of 16 bytes could be: {', '.join(narrow) or 'nothing found'}\n{accesses}")


def golden_cases():
    for name in sorted(os.listdir(os.path.join(ROOT, "tests", "golden"))):
        path = os.path.join("tests", "golden", name)
        if name.startswith("ptx_") and name.endswith(".tile"):
            yield from ((path, given) for given in comments(open(path).read(), "show") if "--stage ptx" in given)


def assemble_golden(tool, path, given, folder, number):
    done = subprocess.run([tool, "show", path, *given.split()], capture_output=True, text=True, timeout=PATIENCE)
    source = os.path.join(folder, f"golden{number}.ptx")
    with open(source, "w") as out:
        out.write(done.stdout)
    arch = re.search(r"^\.target (\w+)", done.stdout, re.M).group(1)
    said = subprocess.run(["ptxas", "-arch=" + arch, source, "-o", source + ".cubin"], capture_output=True, text=True)
    if said.returncode or re.search(r"warning|error", said.stdout + said.stderr, re.I):
        raise RuntimeError(f"{path} {given}: {(said.stdout + said.stderr).strip()[:1500]}")


def has_type(target, dtype):
    return dtype not in ("e4m3", "e5m2") or int(target[3:]) >= 89


def quick_pairs(kernel, is_default, turn):
    """The types and targets that the quick run takes of a configuration; `turn` counts the configurations before it."""
    if is_default:
        return [(t, s) for n, t in enumerate(kernel.types) for s in (*TABLED, OTHERS[(turn + n) % len(OTHERS)])]
    if turn % EACH:
        return []
    turn //= EACH
    types = kernel.types
    return [(types[turn % len(types)], TARGETS[turn // len(types) % len(TARGETS)])]


def cases(everything):
    turn = 0
    for path in sorted(set(glob.glob("kernels/*/*", root_dir=ROOT)) - set(glob.glob("kernels/hopper/*", root_dir=ROOT))):  # for sm_90a alone
        for kernel in kernels(path):
            for i, tuned in enumerate(configurations(kernel)):
                every = [(t, s) for t in kernel.types for s in TARGETS]
                pairs = every if everything else quick_pairs(kernel, i == 0, turn)
                turn += 1
                for dtype, target in pairs:
                    if has_type(target, dtype):
                        yield Case(kernel, dtype, tuned, target, i == 0)


def check_inner_loop(tool, folder):
    """V4 at 128 x 128 x 32 with 4 warps, f16: machine instructions for each mma, and of those for addresses."""
    values = {"BM": "128", "BN": "128", "BK": "32", "WARPS": "4", "STAGES": "3"}
    kernel = next(iter(kernels("kernels/matmul/stages.tile")))
    for number, target in enumerate(TABLED):
        figures = assemble(tool, Case(kernel, "f16", values, target, True), folder, f"inner{number}")
        each, address = (figures[k] / figures["loop_products"] for k in ("loop", "loop_address"))
        if each > 1.6 or address > 0.2:
            raise RuntimeError(f"{target}: {each:.3f} instructions for an mma, {address:.3f} of them for addresses")


def check_figures(rows):
    problems = []
    for row in rows:
        name = f"{row['kernel']} {row['type']} {row['target']}"
        if row["spill_bytes"]:
            problems.append(f"{name}: {row['spill_bytes']} bytes of spills and local memory")
        if row["wavefronts"] > row["least"]:
            problems.append(f"{name}: {row['wavefronts']} wavefronts of shared memory where {row['least']} would do")
    if problems:
        fail("\n".join(problems))


def version():
    text = subprocess.run(["ptxas", "--version"], capture_output=True, text=True).stdout
    return re.search(r"V([\d.]+)", text).group(1)


def table(rows):
    out = io.StringIO()
    out.write(f"# Defaults of every kernel, as ptxas {version()} assembles them. Written by test_assemble.py --bless.\n")
    writer = csv.DictWriter(out, COLUMNS, lineterminator="\n")
    writer.writeheader()
    for row in sorted(rows, key=lambda r: (r["kernel"], r["type"], r["target"])):
        writer.writerow(row)
    return out.getvalue()


def main():
    tool = os.path.abspath(sys.argv[1])
    if not shutil.which("ptxas"):
        print("skipped: there is no ptxas")
        return
    jobs = int(sys.argv[sys.argv.index("-j") + 1]) if "-j" in sys.argv else os.cpu_count()
    os.chdir(ROOT)
    rows, problems = [], []
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        work = [pool.submit(assemble, tool, case, folder, i) for i, case in enumerate(cases("--all" in sys.argv))]
        work += [pool.submit(assemble_golden, tool, *case, folder, i) for i, case in enumerate(golden_cases())]
        for future in work:
            try:
                row = future.result()
                if row:
                    rows.append(row)
            except RuntimeError as problem:
                problems.append(str(problem))
        try:
            check_inner_loop(tool, folder)
        except RuntimeError as problem:
            problems.append(str(problem))
    if problems:
        fail("\n\n".join(problems[:40]) + f"\n{len(problems)} of {len(work)} cases")
    check_figures(rows)
    path = os.path.join(HERE, "kernels.csv")
    ours = [r for r in rows if r["target"] in TABLED]
    made_with = re.search(r"ptxas ([\d.]+)", open(path).readline()).group(1) if os.path.exists(path) else version()
    if "--bless" in sys.argv or made_with == version():
        compare(path, table(ours), "--bless" in sys.argv)
    else:
        print(f"kernels.csv was made with ptxas {made_with}; this is {version()}: not compared")
    print(f"{len(work)} cases assembled")


if __name__ == "__main__":
    main()
