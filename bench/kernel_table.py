#!/usr/bin/env python3
"""Prints two tables in Markdown: for every kernel of kernels/, the resources of a multiprocessor that it needs, the work that it does, and
the unit that bounds it.

    bench/kernel_table.py TILEWRIGHT [-k TEXT] [--target sm_90] [--types f32,f16] [--out FILE]

Kernels have their default configuration; a kernel that has none of the types is measured with its first type. Registers come from ptxas,
so there are none without it; blocks and warps on a multiprocessor follow from registers, threads and shared memory. Counters are the
simulator's. With a GPU there are times, of products of 4096 cubed. With ncu there are also the profiler's counts, and the use of each
unit in percent of its peak (slots: issue slots of the warp schedulers). The busiest unit bounds the kernel; if none is as busy as BUSY,
the kernel is bound by waiting. The work of a kernel is 2·m·n·k (attention: 4·heads·nq·nk·d) operations; without ncu the bound follows
from the peaks of the data sheet (PEAKS). A dash means: not known.
"""
import argparse
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [os.path.join(ROOT, "tests", "python"), os.path.join(ROOT, "tests", "gpu")]
from kernel_space import kernels  # noqa: E402
from take_counters import METRICS, profile_metrics  # noqa: E402

COUNTED = dict(m=512, n=512, k=512, batch=1, rows=64, cols=1000, heads=1, nq=256, nk=256, d=64, causal=1, scale=0.125, size=9)
TIMED = dict(m=4096, n=4096, k=4096, batch=1, rows=16384, cols=4096, heads=16, nq=4096, nk=4096, d=64, causal=0, scale=0.125, size=9)
# Limits of one multiprocessor of compute capability 9.0: CUDA C++ Programming Guide, table of compute capabilities.
WARPS, BLOCKS, REGISTERS, REGISTER_UNIT, SHARED, SHARED_UNIT, SHARED_OWN = 64, 32, 65536, 256, 228 * 1024, 128, 1024
# Peaks of an H200 SXM, dense, from its data sheet: operations and bytes a second.
PEAKS = {"tensor": 989e12, "fma": 67e12, "HBM": 4.8e12}
BUSY = 60
UNITS = {
    "tensor": ["sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active",
               "sm__pipe_tensor_op_hmma_cycles_active.avg.pct_of_peak_sustained_active",
               "sm__pipe_tensor_op_imma_cycles_active.avg.pct_of_peak_sustained_active"],  # whole numbers
    "fma": ["sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_active"],
    "shared": ["l1tex__data_pipe_lsu_wavefronts_mem_shared.avg.pct_of_peak_sustained_elapsed"],
    "L2": ["lts__throughput.avg.pct_of_peak_sustained_elapsed"],
    "HBM": ["gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed", "dram__throughput.avg.pct_of_peak_sustained_elapsed"],
    "slots": ["smsp__issue_active.avg.pct_of_peak_sustained_active"],
}
OCCUPIED = "sm__warps_active.avg.pct_of_peak_sustained_active"
# The simulator's counters, each with the profiler's metrics that add up to it.
COUNTERS = {
    "shared_wavefronts": ["shared_wavefronts"],
    "shared_wavefronts_ideal": ["shared_wavefronts_ideal"],
    "shared_loads": ["shared_loads"],
    "shared_stores": ["shared_stores"],
    "global_requests": ["global_load_requests", "global_store_requests"],
    "global_sectors": ["global_load_sectors", "global_store_sectors"],
}


def parameters(kernel):
    """Returns the parameters as the kernel writes them."""
    text = re.sub(r"//.*", "", open(kernel.path).read())
    return re.search(rf"^kernel\s+{kernel.name}\s*\((.*?)\)\s*grid", text, re.M | re.S).group(1).split(",")


def element_type(kernel):
    """Returns the element type that the kernel reads, for a kernel without a type variable."""
    return next(p.split()[1] for p in parameters(kernel) if p.split()[0] == "const")


def settings(kernel, dtype, values):
    """Returns the options that give the kernel's parameters these values."""
    names = [p.split()[-1] for p in parameters(kernel) if "*" not in p]
    given = [f"--set={','.join(f'{n}={values[n]}' for n in names)}"] if names else []
    return given + ([f"--type={dtype}"] if dtype else [])


def run_json(tool, words):
    done = subprocess.run([tool, "run", *words, "--fill=rand", "--json"], capture_output=True, text=True)
    if done.returncode:
        print(" ".join(words), done.stderr.strip(), done.stdout.strip()[-600:], file=sys.stderr)
        return None
    return json.loads(done.stdout)


def resources(tool, name, given, target):
    """Returns (threads, shared bytes, registers or None) of a block."""
    done = subprocess.run([tool, "show", name, "--stage=ptx", "--device=" + target, *given], capture_output=True, text=True, check=True)
    x, y, z, shared = map(int, re.search(r"(\d+) x (\d+) x (\d+) threads(?:, (\d+) bytes)?", done.stdout).groups("0"))
    registers = None
    if shutil.which("ptxas"):
        with tempfile.NamedTemporaryFile("w", suffix=".ptx") as file:
            file.write(done.stdout)
            file.flush()
            said = subprocess.run(["ptxas", "-v", "-arch=" + target, file.name, "-o", os.devnull], capture_output=True, text=True)
            found = re.search(r"Used (\d+) registers", said.stdout + said.stderr)
            registers = int(found[1]) if found else None
    return x * y * z, shared, registers


def blocks_on_multiprocessor(threads, shared, registers):
    def up(n, unit):
        return -(-n // unit) * unit
    warps = -(-threads // 32)
    limits = [BLOCKS, WARPS // warps, SHARED // up(shared + SHARED_OWN, SHARED_UNIT)]
    if registers:
        limits.append(REGISTERS // (up(registers * 32, REGISTER_UNIT) * warps))
    return min(limits)


def operations(kernel, values):
    if kernel.name == "attention":
        return 4 * values["heads"] * values["nq"] * values["nk"] * values["d"]
    product = re.search(r"\bdot\(|\+=.*\*", open(kernel.path).read()) and kernel.name not in ("single_block", "tiled_3x3")
    return 2 * values["m"] * values["n"] * values["k"] * values["batch"] if product else None


def array_bytes(result):
    size = {"f64": 8, "i64": 8, "u64": 8, "f32": 4, "i32": 4, "u32": 4, "tf32": 4, "f16": 2, "bf16": 2, "i16": 2, "u16": 2}
    total = 0
    for array in result["arrays"].values():
        elements = 1
        for extent in array["shape"]:
            elements *= extent
        total += elements * size.get(array["type"], 1)
    return total


def available(metrics):
    """Returns the metrics that this GPU's profiler has."""
    done = subprocess.run(["ncu", "--query-metrics"], capture_output=True, text=True)
    known = set(re.findall(r"^\s*(\w+__\w+)", done.stdout, re.M))
    return [m for m in metrics if m.split(".")[0] in known] or metrics


def busy(tool, name, given, metrics):
    """Returns the use of each unit in percent and the average number of active warps, from the profiler; {} if it measures nothing."""
    read = profile_metrics([tool, "run", name, *given, "--fill=rand", "--device=cuda"], metrics) or {}
    found = {}
    for unit, names in UNITS.items():
        counted = [float(read[m]) for m in names if re.match(r"[\d.]+$", read.get(m, ""))]
        if counted:
            found[unit] = max(counted)
    if re.match(r"[\d.]+$", read.get(OCCUPIED, "")):
        found["warps"] = float(read[OCCUPIED]) * WARPS / 100
    return found


def busy_by_peaks(dtype, work, size, milliseconds):
    """Returns the use of each unit from time alone. These are lower bounds, because work and bytes are the least possible."""
    found = {"HBM": 100 * size / PEAKS["HBM"] / milliseconds * 1000}
    if work:
        unit = "tensor" if dtype in ("f16", "bf16") else "fma"
        found[unit] = 100 * work / PEAKS[unit] / milliseconds * 1000
    return found


def bound(percent):
    units = {unit: p for unit, p in percent.items() if unit != "warps"}
    if not units:
        return "–"
    unit = max(units, key=units.get)
    return f"{unit} {units[unit]:.0f} %" if units[unit] >= BUSY else f"waiting ({unit} {units[unit]:.0f} %)"


def dash(value, form="{}"):
    return "–" if value is None else form.format(value)


class Row:
    """One kernel and type: its measurements, and its lines of both tables."""

    def __init__(self, given, kernel, dtype, gpu, metrics):
        self.kernel, self.dtype = kernel, dtype
        name = f"{kernel.path}:{kernel.name}"
        self.threads, self.shared, self.registers = resources(given.tool, name, settings(kernel, dtype, TIMED), given.target)
        small, large = settings(kernel, dtype, COUNTED), settings(kernel, dtype, TIMED)
        simulated = run_json(given.tool, [name, *small, "--device=sim:" + given.target, "--counters"])
        self.simulated = simulated["counters"] if simulated else {}
        timed = run_json(given.tool, [name, *large, "--device=cuda", "--repeat=20"]) if gpu else None
        self.milliseconds = timed and timed["milliseconds"]
        self.work, self.bytes = operations(kernel, TIMED), timed and array_bytes(timed)
        self.percent, self.profiled = {}, {}
        if gpu and metrics:
            self.percent = busy(given.tool, name, large, metrics)
            self.profiled = profile_metrics([given.tool, "run", name, *small, "--fill=rand", "--device=cuda"], METRICS.values()) or {}
        elif gpu and self.milliseconds:
            self.percent = busy_by_peaks(dtype, self.work, self.bytes, self.milliseconds)

    def label(self):
        name = os.path.relpath(self.kernel.path, "kernels")[:-5] + (f":{self.kernel.name}" if len(kernels(self.kernel.path)) > 1 else "")
        return f"`{name}`", self.dtype or element_type(self.kernel)

    def resources(self):
        blocks = blocks_on_multiprocessor(self.threads, self.shared, self.registers)
        warps = blocks * -(-self.threads // 32)
        rate = None
        if self.milliseconds:
            unit = "TOP/s" if self.label()[1].startswith("i") else "TFLOP/s"
            rate = f"{self.work / self.milliseconds * 1e-9:.1f} {unit}" if self.work else f"{self.bytes / self.milliseconds * 1e-9:.2f} TB/s"
        cells = [*self.label(), self.threads, dash(self.registers), self.shared, blocks, f"{warps} of {WARPS}",
                 dash(self.percent.get("warps"), "{:.0f}"), dash(self.milliseconds, "{:.4g}"), dash(rate)]
        return cells + [dash(self.percent.get(unit), "{:.0f}") for unit in UNITS] + [bound(self.percent)]

    def counters(self):
        cells = [*self.label()]
        for name, columns in COUNTERS.items():
            read = [self.profiled.get(METRICS[c], "") for c in columns]
            there = sum(int(float(r)) for r in read if r) if any(read) else None
            here = self.simulated.get(name)
            cells.append(f"{here} =" if here == there else f"{dash(here)} / {dash(there)}")
        return cells


def table(columns, rows):
    return "\n".join("| " + " | ".join(map(str, cells)) + " |" for cells in [columns, ["---"] * len(columns), *rows])


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tool")
    parser.add_argument("-k", default="")
    parser.add_argument("--target", default="sm_90")
    parser.add_argument("--types", default="f32,f16")
    parser.add_argument("--out")
    given = parser.parse_args()
    given.tool, given.out = os.path.abspath(given.tool), given.out and os.path.abspath(given.out)
    return given


def main():
    given = arguments()
    os.chdir(ROOT)
    gpu = "cuda " in subprocess.run([given.tool, "devices"], capture_output=True, text=True).stdout
    metrics = available([m for names in UNITS.values() for m in names] + [OCCUPIED]) if gpu and shutil.which("ncu") else []
    rows = []
    for path in sorted(glob.glob("kernels/*/*.tile")):
        for kernel in kernels(path):
            asked = [dtype for dtype in kernel.types if dtype is None or dtype in given.types.split(",")]
            for dtype in asked or kernel.types[:1]:
                if given.k in path:
                    rows.append(Row(given, kernel, dtype, gpu, metrics))
    text = "\n".join([
        table(["kernel", "type", "threads", "registers", "shared bytes", "blocks", "warps", "active", "ms", "rate", *UNITS, "bound by"],
              [row.resources() for row in rows]),
        "", "simulator / profiler (=: the same):", "",
        table(["kernel", "type", *COUNTERS], [row.counters() for row in rows]), ""])
    if given.out:
        with open(given.out, "w") as file:
            file.write(text)
    else:
        print(text)


if __name__ == "__main__":
    main()
