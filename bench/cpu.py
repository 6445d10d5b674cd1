#!/usr/bin/env python3
"""Measures every figure of the CPU engine on this machine, with one command, from the repository's root:

    bench/cpu.py [PART…] [--quick] [--out FOLDER]

Parts are the first column of bench/configurations_cpu.txt; by default all of them run, in the table's order. That takes about eight minutes, with
--quick (no sizes from 2048 on, fewer rounds) less than one. Each figure is printed with its goal, the least value that meets it, and PASS, "short
of the goal" or SHORT. FOLDER (build/bench) gets cpu.md and cpu.json, rewritten after each part.

Kernels, libraries and copies take turns within a run of `tilewright bench`. Both numbers of a ratio come from one run, so changes of the machine's
speed cancel out. Two parts differ: the loops in C of `threads` run before and after the kernels, and `flat` has a run for each size. Figures are
medians; --least takes the least times, for a machine that is busy. The program must be built; helpers are compiled with `cc`. The report names
each library or compiler that is missing. Status 1: a value was wrong, or a part failed; a figure that is only slow leaves status 0.
"""
import glob
import json
import os
import re
import shutil
import sys
import time

import cpu_torch
from gpu import ROOT, build_helper, check_options, common_options, number, read_table, run, said_of, table

LARGE = 2048  # --quick leaves out this size and larger ones


class Line:
    """A line of the table."""

    def __init__(self, text):
        self.part, self.pattern, self.type, self.sizes, self.values = text.split()
        self.files = [] if self.pattern == "-" else sorted(glob.glob(self.pattern))

    def extents(self):
        return [int(x) for x in self.sizes.split("x")] if re.fullmatch(r"\d+x\d+x\d+", self.sizes) else None

    def setting(self, name):
        return int(dict(text.split("=") for text in self.sizes.split(","))[name])

    def is_large(self):
        return bool(self.extents()) and max(self.extents()) >= LARGE

    def arguments(self):
        """Returns the options of `tilewright bench`."""
        chosen = {"-": [], "tuned": ["--tuned"]}.get(self.values, ["--tune", self.values])
        extents = self.extents()
        sizes = [x for pair in zip(("-m", "-n", "-k"), map(str, extents)) for x in pair] if extents else ["--set", self.sizes]
        return [*self.files, "--type", self.type, *sizes, *chosen]


class Failed(Exception):
    """A run that printed no report."""


def bench(options, arguments, threads, *more):
    """Returns the report of `tilewright bench`. Raises Failed."""
    rounds = ["--warmup", "2", "--repeat", "7", "--budget", "2"] if options.quick else ["--warmup", "3", "--repeat", "101", "--budget", "5"]
    done = run([options.tool, "bench", "--json", *arguments, "--threads", str(threads), *rounds, *more])
    try:
        report = json.loads(done.stdout)
    except ValueError:
        raise Failed(said_of(done)) from None
    if "rows" not in report:  # the run could not begin
        raise Failed(said_of(done))
    if options.least:
        for row in report["rows"]:
            by_least(row)
    options.rows += [{**row, "threads": threads} for row in report["rows"]]
    return report


def by_least(row):
    """Returns a row with times and ratios from the least time of each contender instead of its medians."""
    if "ms" not in row:
        return
    for rate in "gflops", "gbytes_per_second":
        if rate in row:
            row[rate] *= row["ms"] / row["least_ms"]
    row["ms"] = row["least_ms"]
    for peer in row["peers"]:
        if "ms" in peer:
            peer["ms"], peer["ratio"] = peer["least_ms"], peer["least_ms"] / row["ms"]
    best = min((p for p in row["peers"] if p.get("ok")), key=lambda p: p["ratio"], default=None)
    if best:
        row["peer"], row["peer_ms"], row["ratio"] = best["name"], best["ms"], best["ratio"]


# --- figures ---

class Figure:
    """A number and its goal. `most`: the goal is an upper limit."""

    def __init__(self, name, value, goal, floor, note="", most=False):
        self.name, self.value, self.goal, self.floor, self.note, self.most = name, value, goal, floor, note, most

    def verdict(self):
        if self.value is None:
            return "not measured"
        met = [self.value <= x if self.most else self.value >= x for x in (self.goal, self.floor)]
        return "PASS" if met[0] else "short of the goal" if met[1] else "SHORT"

    def cells(self):
        sign = "≤ " if self.most else ""
        floor = "" if self.floor == self.goal else f"{sign}{self.floor:g}"
        return [self.name, number(self.value, 3), f"{sign}{self.goal:g}", floor, self.verdict(), self.note]

    def as_json(self):
        return {"figure": self.name, "value": self.value, "goal": self.goal, "floor": self.floor, "at_most": self.most,
                "verdict": self.verdict(), "note": self.note}


def peer_of(row, title):
    """Returns the library's part of a row; None unless it was timed and right."""
    return next((p for p in row["peers"] if p["name"].startswith(title) and p.get("ok")), None)


def described(row):
    if "ms" not in row:
        return f"{row['kernel']}: {row.get('why', row['result'])}"
    return f"{' '.join([row['kernel'], row.get('config', '')]).strip()}: {number(row['ms'])} ms"


def on(threads):
    return f"{threads} thread" + ("s" if threads > 1 else "")


def one_row(options, line, threads, *more):
    if not line.files:
        raise Failed(f"{line.pattern} is not here")
    row = bench(options, line.arguments(), threads, *more)["rows"][0]
    if "ms" not in row:
        raise Failed(described(row))
    return row


def middle(options, measured, ratio):
    """Measures in three processes and returns the result with the middle ratio: the places of a process's pages change its time by up to a fifth."""
    several = sorted((measured() for _ in range(1 if options.quick else 3)), key=ratio)
    return several[len(several) // 2]


def of_size(options, lines):
    """Groups the lines by sizes, without the sizes that --quick leaves out."""
    sizes = {}
    for line in lines:
        if not (options.quick and line.is_large()):
            sizes.setdefault(line.sizes, []).append(line)
    return sizes.items()


def beside(rows, title):
    """Returns the best ratio of some rows to a library, and its row."""
    found = [(peer_of(row, title)["ratio"], row) for row in rows if peer_of(row, title)]
    return max(found, key=lambda x: x[0]) if found else (None, None)


def ratio_figure(name, rows, title, goal, floor):
    ratio, row = beside(rows, title)
    note = f"no {title}"
    if row:
        peer = peer_of(row, title)
        note = f"{described(row)}, {number(row['gflops'], 3)} GFLOP/s; {peer['name']} {number(peer['ms'])} ms"
    return Figure(f"{name} / {title}", ratio, goal, floor, note)


# --- parts: each yields figures ---

def part_f32(options, lines):
    for sizes, same in of_size(options, lines):
        for threads in options.threads:
            rows = [one_row(options, line, threads) for line in same]
            name = f"f32 {sizes}, {on(threads)}"
            yield ratio_figure(name, rows, "oneDNN", 1.0, 0.97)
            yield ratio_figure(name, rows, "OpenBLAS", 1.0, 1.0)


def part_ragged(options, lines):
    for sizes, same in of_size(options, lines):
        for threads in options.threads:
            rows = [one_row(options, line, threads) for line in same]
            yield ratio_figure(f"f32 {sizes}, {on(threads)}", rows, "OpenBLAS", 1.0, 0.95)


def part_ladder(options, lines):
    """Compares each kernel at each of its sizes with the fastest library."""
    for sizes, same in of_size(options, lines):
        for file in dict.fromkeys(line.pattern for line in same):
            rows = [one_row(options, line, 1) for line in same if line.pattern == file]
            row = max(rows, key=lambda r: r.get("ratio", 0))
            yield Figure(f"{row['kernel']} {sizes} / fastest library", row.get("ratio"), 0.9, 0.8,
                         f"{described(row)}; {row.get('peer', 'no library')}")


def steady_rates(options, lines, flops_of):
    """Returns the rates of lines as multiples of the first product's rate in f32, measured in the same turns."""
    reference = next(line for line in lines if line.extents() and line.type == "f32")
    rates = []
    for line in lines:
        beside_it = [] if line is reference else reference.files
        extents = reference.arguments()[len(reference.files):][2:8]  # the options -m M -n N -k K
        chosen = [] if line.values == "-" else ["--tune", line.values]
        if not line.files:
            raise Failed(f"{line.pattern} is not here")
        own = [] if line.extents() else ["--set", line.sizes]
        types = ",".join(dict.fromkeys(("f32", line.type)))
        files = list(dict.fromkeys([*beside_it, *line.files]))
        rows = bench(options, [*files, "--type", types, *extents, *own, *chosen], 1, "--together", "--peers", "none")["rows"]
        row = next(r for r in rows if r["file"] in line.files and r["dtype"] == line.type)
        known = next(r for r in rows if r["file"] in reference.files and r["dtype"] == "f32")
        if "ms" not in row or "ms" not in known:
            raise Failed(f"{described(row)}; {described(known)}")
        rates.append((line, row, flops_of(line) / row["ms"] * known["ms"] / flops_of(reference)))
    return rates


def product_flops(line):
    m, n, k = line.extents()
    return 2 * m * n * k


def part_types(options, lines):
    rates = steady_rates(options, lines, product_flops)
    best = {kind: max((x for x in rates if x[0].type == kind), key=lambda x: x[2]) for kind in dict.fromkeys(line.type for line in lines)}
    goals = {"bf16": (1.8, 1.5), "f16": (1.0, 1.0)}
    peaks = peak_rates(options)
    for kind, (goal, floor) in goals.items():
        if kind in best:
            _, row, rate = best[kind]
            note = f"{described(row)}, {number(row['gflops'], 3)} GFLOP/s"
            if kind == "bf16":
                note += "; " + peaks
            yield Figure(f"{kind} / f32 rate", rate / best["f32"][2], goal, floor, note)


def peak_rates(options):
    done = run([options.tool, "explain", "--device", "cpu", "--measure", "--threads", "1", "--json"])
    if done.returncode != 0:
        return said_of(done)
    roofs = json.loads(done.stdout)["roofs"]
    return "; ".join(f"peak of {kind} multiply-adds {number(roofs[kind] / 1e9, 3)} GFLOP/s" for kind in ("f32", "bf16") if roofs[kind])


def part_gelu(options, lines):
    """The first file is the plain product."""
    plain, fused = lines[0], lines[1]
    def measured():
        rows = bench(options, [*fused.arguments(), *plain.files], 1, "--together", "--peers", "none")["rows"]
        ms = {row["file"]: row for row in rows}
        a, b = ms[plain.pattern], ms[fused.pattern]
        if "ms" not in a or "ms" not in b:
            raise Failed(f"{described(a)}; {described(b)}")
        return a, b
    a, b = middle(options, measured, lambda pair: pair[1]["ms"] / pair[0]["ms"])
    yield Figure(f"GELU fused {fused.sizes} / plain product's time", b["ms"] / a["ms"], 1.05, 1.05, f"{described(b)}; {described(a)}", most=True)


def part_rows(options, lines):
    for line in lines:
        for threads in options.threads:
            row = middle(options, lambda: one_row(options, line, threads), lambda found: found.get("ratio", 0))
            yield Figure(f"{row['kernel']} of {row['sizes']}, {on(threads)} / copy", row.get("ratio"), 0.9, 0.8,
                         f"{described(row)}, {number(row['gbytes_per_second'], 3)} GB/s")


def part_attention(options, lines):
    def flops(line):
        if line.extents():
            return product_flops(line)
        heads, nq, nk, d = (line.setting(x) for x in ("heads", "nq", "nk", "d"))
        return 4 * heads * nq * nk * d
    if options.quick:
        for line in lines:
            line.sizes = line.sizes.replace("heads=16", "heads=2")
    rates = steady_rates(options, lines, flops)
    product = max(rate for line, _, rate in rates if line.extents())
    line, row, rate = max((x for x in rates if not x[0].extents()), key=lambda x: x[2])
    yield Figure("attention / f32 product's rate", rate / product, 0.6, 0.5,
                 f"{described(row)}, {number(flops(line) / row['ms'] * 1e-6, 3)} GFLOP/s; {row['sizes']}")


def loops_of(options, size):
    """Returns the milliseconds of the loops in C by name, and the reason if there are none."""
    helper, why = build_helper(options, "cpu_loops", ("-O3", "-march=native"), shutil.which("gcc"))
    if why:
        return {}, why
    done = run([helper, str(size)])
    if done.returncode:
        return {}, said_of(done)
    rows = (line.split() for line in done.stdout.splitlines())
    return {words[1]: float(words[2]) for words in rows if words[0] == "C"}, None


def part_threads(options, lines):
    """Times thread-level kernels on one core; the loops run before and after them, and the better time counts."""
    line, = lines
    size = line.extents()[0]
    before, why = loops_of(options, size)
    rows = bench(options, line.arguments(), 1, "--peers", "none")["rows"]
    after, _ = loops_of(options, size)
    loops = {name: min(ms, after.get(name, ms)) for name, ms in before.items()}
    for name, goal in ("naive", 1.0), ("tiled", 1.5):
        row = next(r for r in rows if r["kernel"] == f"sgemm_{name}")
        loop = loops.get(name) or loops.get("naive")
        beside_it = "naive" if name not in loops else name
        value = loop / row["ms"] if loop and "ms" in row else None
        yield Figure(f"sgemm_{name} {line.sizes} / {beside_it} loops in C", value, goal, goal,
                     f"{described(row)}; " + (f"{number(loop)} ms" if loop else why))
    for row in rows:
        yield Figure(f"{row['kernel']} {line.sizes}, GFLOP/s", row.get("gflops"), 10, 10, described(row))


def part_flat(options, lines):
    rows = [row for sizes, same in of_size(options, lines) for row in [one_row_flat(options, same)]]
    costs = [1 / row["gflops"] for row in rows]
    yield Figure("time over 2mnk, largest / least", max(costs) / min(costs), 1.1, 1.1,
                 ", ".join(f"{row['m']}: {number(row['gflops'], 3)} GFLOP/s" for row in rows), most=True)


def one_row_flat(options, same):
    rows = [one_row(options, line, 1, "--peers", "none") for line in same]
    return max(rows, key=lambda r: r["gflops"])


def thread_counts():
    """Returns 1, 2, 4 and so on, and the number of cores that this process may use."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return sorted({cores, *(1 << i for i in range(cores.bit_length()))})


def part_scaling(options, lines):
    """Times each line on 1 to all cores. The parallel efficiency on n threads is the time on one thread over n times the time on n threads. Memory
    limits rows, so their speed-up is compared with that of the copy."""
    for line in lines:
        if options.quick and line.is_large():
            continue
        one = None
        for threads in thread_counts():
            row = one_row(options, line, threads, *(("--peers", "none") if line.extents() else ()))
            one = one or row
            speed_up = one["ms"] / row["ms"]
            note = f"{described(one)}; on {on(threads)}: {number(row['ms'])} ms, {number(speed_up, 3)} times as fast"
            if threads == 1:
                continue
            if line.extents():
                yield Figure(f"{row['kernel']} {line.sizes}, {on(threads)}, parallel efficiency", speed_up / threads, 0.9, 0.8, note)
            else:
                yield Figure(f"{row['kernel']} of {row['sizes']}, {on(threads)}, speed-up / that of the copy", row["ratio"] / one["ratio"],
                             0.95, 0.9, f"{note}, efficiency {number(speed_up / threads, 3)}")


def part_launch(options, lines):
    helper, why = build_helper(options, "launch_cpu")
    if why:
        raise Failed(why)
    done = run([helper])
    if done.returncode:
        raise Failed(said_of(done))
    for name, us, *_ in map(str.split, done.stdout.splitlines()):
        yield Figure(f"launch of 16x16x16, {name}, µs", float(us), 5, 5, "", most=True)


# The arrays of the kernels that read weights once; the weights are the first one.
STREAMED = {"matmul_direct": "b:{t}:{k}x{n} a:{t}:{m}x{k} c:{t}:{m}x{n}", "linear": "w:{t}:{n}x{k} x:{t}:{m}x{k} y:{t}:{m}x{n}",
            "rows_of_threads": "w:{t}:{k}x{n} x:{t}:{m}x{k} y:{t}:{m}x{n}",
            "w8a16": "w:i8:{n}x{k} x:{t}:{m}x{k} scale:f32:{n} y:{t}:{m}x{n}",
            "w4a16": "w:u8:{bytes}x{n} x:{t}:{m}x{k} scale:{t}:{groups}x{n} y:{t}:{m}x{n}"}


def part_stream(options, lines):
    """Compares kernels that read large weights once with a loop that only reads as many bytes."""
    helper, why = build_helper(options, "stream_cpu", ("-O3", "-march=native"))
    if why:
        raise Failed(why)
    os.environ["RUNS"] = "10" if options.quick else "40"
    for line in lines:
        if options.quick and line.is_large():
            continue
        m, n, k = line.extents()
        name = re.search(r"^kernel (\w+)", open(line.files[0]).read(), re.M).group(1)
        arrays = STREAMED[name].format(t=line.type, m=m, n=n, k=k, bytes=k // 2, groups=k // 32).split()
        tuned = [] if line.values == "-" else line.values.split(",")
        for threads in options.threads:
            done = run([helper, line.files[0], str(threads), f"T={line.type}", f"m={m}", f"n={n}", f"k={k}", *tuned, *arrays])
            if done.returncode:
                raise Failed(said_of(done))
            kernel, loop = map(float, done.stdout.split())
            yield Figure(f"{name} {line.type} {line.sizes}, {on(threads)} / reading the weights", loop / kernel, 0.9, 0.8,
                         f"{number(kernel)} ms; reading {number(loop)} ms")


def part_torch(options, lines):
    """Compares kernels with PyTorch, on one core and on all."""
    try:
        torch, tilewright = cpu_torch.import_both(options.tool)
    except cpu_torch.Missing as why:
        yield Figure("kernels / PyTorch", None, 1.0, 0.9, str(why))
        return
    kinds = {}
    for line in lines:
        kinds.setdefault((line.type, line.sizes), []).append(line)
    for (kind, sizes), same in kinds.items():
        if options.quick and same[0].is_large():
            continue
        for threads in options.threads:
            goal, floor = (1.1, 1.0) if not same[0].extents() else (1.0, 0.9) if kind != "f32" or sizes.startswith("1x") else (1.0, 0.97)
            name = f"{kind} {sizes}, {on(threads)} / PyTorch"
            try:
                yield Figure(name, *beside_torch(torch, tilewright, same, threads, options, goal, floor))
            except cpu_torch.Missing as why:
                yield Figure(name, None, goal, floor, str(why))


def beside_torch(torch, tilewright, same, threads, options, goal, floor):
    try:
        ratio, note = cpu_torch.compare(torch, tilewright, same, threads, options)
    except ValueError as why:
        raise Failed(str(why)) from None
    return ratio, goal, floor, note


# The arrays of the kernels whose tiles are varied.
TILED = {"rms_matmul": "x:f32:{m}x{k} r:f32:{m}x{k} g:f32:{k} w:f32:{k}x{n} h:f32:{m}x{k} y:f32:{m}x{n}",
         "attention": "q:f32:{heads}x{nq}x{d} k:f32:{heads}x{nk}x{d} v:f32:{heads}x{nk}x{d} o:f32:{heads}x{nq}x{d}",
         "row_norm": "x:f32:{rows}x{cols} gain:f32:{cols} y:f32:{rows}x{cols}",
         "bias_gelu": "x:f32:{m}x{n} bias:f32:{n} y:f32:{m}x{n} turned:f32:{n}x{m}",
         "matmul_v4": "a:f32:{m}x{k} b:f32:{k}x{n} c:f32:{m}x{n}",
         "matmul_i8": "a:i8:{m}x{k} b:i8:{k}x{n} c:i32:{m}x{n}"}


def part_tiles(options, lines):
    """Times a kernel with all choices of its tiles, in turn. The values are lists: BM=32/64/128."""
    helper, why = build_helper(options, "tiles_cpu")
    if why:
        raise Failed(why)
    os.environ["RUNS"] = "3" if options.quick else "15"
    for line in lines:
        m = re.search(r"^kernel (\w+)", open(line.files[0]).read(), re.M)
        sizes = dict(text.split("=") for text in line.sizes.split(","))
        arrays = TILED[m.group(1)].format(**sizes).split()
        types = [] if line.type == "-" else [f"T={line.type}"]
        for threads in options.threads:
            done = run([helper, line.files[0], str(threads), *types, *line.sizes.split(","), *arrays, *line.values.split(",")])
            if done.returncode:
                raise Failed(said_of(done))
            choices = sorted((float(text.split()[0]), " ".join(text.split()[1:])) for text in done.stdout.splitlines())
            (least, best), (most, worst) = choices[0], choices[-1]
            yield Figure(f"{m.group(1)}, {line.sizes}, {on(threads)}: longest / shortest time of {len(choices)} tiles", most / least, 1.3, 1.6,
                         f"{worst}: {number(most)} ms; {best}: {number(least)} ms", most=True)


PARTS = {"f32": part_f32, "ragged": part_ragged, "ladder": part_ladder, "types": part_types, "gelu": part_gelu, "rows": part_rows,
         "attention": part_attention, "threads": part_threads, "flat": part_flat, "stream": part_stream, "tiles": part_tiles, "scaling": part_scaling,
         "launch": part_launch, "torch": part_torch}


# --- the whole ---

def choose_core(options):
    """Returns the device and the names of the libraries. The core type that OpenBLAS runs best as is kept for all later runs."""
    report = bench(options, ["kernels/matmul/shared.tile", "-s", "64"], 1)
    for peer in report["peers"]:
        core = re.search(r"OpenBLAS.*\((.*)\)", peer["name"])
        if core and "missing" not in peer:
            os.environ.setdefault("OPENBLAS_CORETYPE", core.group(1))
    return report["device"], [f"{p['name']}: {p['missing']}" if "missing" in p else p["name"] for p in report["peers"]]


def write_report(options, report):
    with open(os.path.join(options.out, "cpu.json"), "w") as out:
        json.dump({**report, "rows": options.rows}, out, indent=1)
    titles = ["figure", "value", "goal", "at least", "", "measured"]
    figures = [list(Figure(f["figure"], f["value"], f["goal"], f["floor"], f["note"], f["at_most"]).cells()) for f in report["figures"]]
    with open(os.path.join(options.out, "cpu.md"), "w") as out:
        out.write("\n".join(["# Figures of the CPU engine", "", f"{report['device']}; {report['version']}", "", "; ".join(report["peers"]), "",
                             *table(titles, figures), *(f"{name} failed: {why}" for name, why in report["failed"].items())]))


def read_options():
    parser = common_options("Every figure of the CPU engine.", PARTS, "bench/configurations_cpu.txt")
    parser.add_argument("--quick", action="store_true", help="sizes below 2048 and fewer rounds: about a minute")
    parser.add_argument("--least", action="store_true", help="judge by the least time of each contender: where others use the machine, too")
    return parser


def print_row(*cells):
    print("{:18}  {:>7}  {:>7}  {:>8}  {}".format(*cells), flush=True)


def run_part(options, name, lines, report):
    """Adds a part's figures to the report as they come; a part that fails keeps those that it had."""
    try:
        for figure in PARTS[name](options, lines):
            report["figures"].append(figure.as_json())
            print_row(figure.verdict(), *figure.cells()[1:4], figure.name + (f" ({figure.note})" if figure.note else ""))
    except (Failed, KeyError, StopIteration, RuntimeError) as why:
        report["failed"][name] = str(why)
        print(f"failed: {name}: {why}", flush=True)


def main():
    os.chdir(ROOT)
    parser = read_options()
    options = parser.parse_args()
    check_options(parser, options, PARTS)
    lines = read_table(options.configurations, Line)
    os.makedirs(options.out, exist_ok=True)
    options.rows = []
    options.threads = sorted({1, thread_counts()[-1]})
    started = time.time()
    try:
        device, peers = choose_core(options)
    except Failed as why:
        parser.exit(2, f"{why}\n")
    options.rows.clear()
    print(f"{device}\n{'; '.join(peers)}\n", flush=True)
    print_row("", "value", "goal", "at least", "figure (measured)")
    report = {"device": device, "peers": peers, "version": run([options.tool, "--version"]).stdout.strip(), "figures": [], "failed": {}}
    for name in options.parts or dict.fromkeys(line.part for line in lines):
        run_part(options, name, [line for line in lines if line.part == name], report)
        report["seconds"] = time.time() - started
        write_report(options, report)
    wrong = [row for row in options.rows if row["result"] == "FAIL" or any(not p.get("ok", True) for p in row["peers"])]
    for row in wrong:
        print(f"wrong: {row['kernel']}: {row.get('why') or row['peers']}")
    counts = [f["verdict"] for f in report["figures"]]
    print(f"\n{counts.count('PASS')} of {len(counts)} figures are as they are to be; {report['seconds']:.0f} s; {options.out}/cpu.md has the table")
    return 1 if wrong or report["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
