#!/usr/bin/env python3
"""Measures every figure of one GPU, with one command, from the repository's root:

    bench/gpu.py [PART…] [--out FOLDER]

Parts are the first column of bench/configurations.txt; by default all of them run, in the table's order. FOLDER (build/bench) gets report.md
and report.json, rewritten after each part, so an interrupted run keeps the parts that it finished. Before a part is timed, its kernels are
compiled by one process a core (16 at most), which leaves the machine code in the cache on disk.

The program must be built. Two helpers are compiled with `cc`, and bench/cuda/sgemm.cu with `nvcc -O3`, unless FOLDER has them and they are
newer than their sources; so `bench/gpu.py prepare --arch sm_90` makes them on a machine without a GPU. The report names what is missing
(kernels, cuBLAS, ptxas, Triton). Status 1: a value was wrong, or a part failed; 2: there is no GPU.

The part suite also writes docs/suite.md and its figures (bench/suite_page.py, which writes them from report.json of another machine).
"""
import argparse
import concurrent.futures
import glob
import json
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

import suite_page

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PROCESSES, SHAPES_A_PROCESS = 16, 4  # that compile
TABLE = "bench/configurations.txt"
STORE = "build/bench/tuned.db"  # written by the part tune


class Line:
    """A line of the table."""

    def __init__(self, text):
        self.part, self.pattern, self.type, self.sizes, self.values = text.split()
        self.files = [] if self.pattern == "-" else sorted(glob.glob(self.pattern))
        self.is_suite = self.sizes != "-" and not re.fullmatch(r"\d+x\d+x\d+", self.sizes)

    def shape(self):
        return self.sizes.split("x")

    def arguments(self, dtype=None):
        """Options of `tilewright bench --device cuda`, without the sizes. dtype: one of the line's types."""
        chosen = {"-": [], "best": ["--best"], "tuned": ["--tuned", "--store", STORE]}.get(self.values, ["--tune", self.values])
        if self.values.startswith("set:"):
            chosen = ["--set", self.values[4:]]
        types = [x for each in (dtype or self.type).split("+") for x in ("--type", each)]
        return [*self.files, *types, *chosen]

    def suites(self):
        """Files of the line's suites."""
        named = f"bench/suite/{'*' if self.sizes == 'all' else self.sizes}.txt"
        return sorted(glob.glob(named)) or [self.sizes]

    def size_arguments(self):
        return ["--suite", self.sizes] if self.is_suite else [x for pair in zip(("-m", "-n", "-k"), self.shape()) for x in pair]


def read_table(path, make=Line):
    with open(path) as table:
        return [make(text) for text in table if text.split() and not text.startswith("#")]


def run(command, **more):
    return subprocess.run(command, capture_output=True, text=True, **more)


def said_of(done):
    """Returns the message of a program that failed, as one line."""
    return "; ".join(done.stderr.split("\n")).strip("; ")[-400:] or f"status {done.returncode}"


# --- building helpers ---

def is_newer(path, source):
    return os.path.exists(path) and os.path.getmtime(path) >= os.path.getmtime(source)


def build_helper(options, name, optimised=("-O2",), compiler=None):
    """Builds bench/NAME.c if needed. Returns the program, or None and what is missing. compiler: $CC by default."""
    source, path = f"bench/{name}.c", os.path.join(options.out, name)
    library = os.path.join(os.path.dirname(options.tool), "libtilewright.a")
    compiler = compiler or shutil.which(os.environ.get("CC", "cc"))
    if is_newer(path, source) and (is_newer(path, library) or not compiler):
        return path, None
    if not compiler:
        return None, f"no C compiler for {source}"
    done = run([compiler, *os.environ.get("CFLAGS", "").split(), *optimised, "-Iinclude", source, library, "-lm", "-lpthread", "-ldl", "-o", path])
    return (path, None) if done.returncode == 0 else (None, said_of(done))


def build_sgemm(options):
    source, path = "bench/cuda/sgemm.cu", options.sgemm or os.path.join(options.out, "sgemm.cubin")
    if options.sgemm or is_newer(path, source):
        return path, None
    nvcc = shutil.which("nvcc", path=os.environ["PATH"] + ":/usr/local/cuda/bin")
    if not nvcc:
        return None, f"no nvcc for {source}"
    done = run([nvcc, "-O3", f"-arch={options.arch}", "-cubin", source, "-o", path])
    return (path, None) if done.returncode == 0 else (None, said_of(done))


# --- parts ---

def suite_shapes(path):
    with open(path) as suite:
        return [text.split("#")[0] for text in suite if text.split("#")[0].strip()]


def warm(options, lines):
    """Compiles the kernels of the lines, with all cores."""
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(min(os.cpu_count(), PROCESSES)) as pool:
        for number, line in enumerate(lines):
            shapes = ([shape for path in line.suites() for shape in suite_shapes(path)] if line.is_suite else
                      [" ".join(line.shape()) + "\n"])
            for at in range(0, len(shapes), SHAPES_A_PROCESS):
                path = os.path.join(folder, f"{number}_{at}.txt")
                with open(path, "w") as out:
                    out.writelines(text.rstrip("\n") + "\n" for text in shapes[at:at + SHAPES_A_PROCESS])
                for file in line.files:
                    pool.submit(run, [options.tool, "bench", "--device", "cuda", "--load", file, *line.arguments()[len(line.files):],
                                      "--suite", path])


def bench(options, line, dtype=None, sizes=None):
    """Returns the report of `bench` on a line, or why there is none. dtype: one of its types; sizes: options, in place of the line's."""
    if not line.files:
        return {"skipped": f"{line.pattern} is not here"}
    command = [options.tool, "bench", "--device", "cuda", "--json", *line.arguments(dtype), *(sizes or line.size_arguments()),
               "--repeat", str(options.rounds), "--seconds", str(options.seconds)]
    done = run(command)
    try:
        report = json.loads(done.stdout)
    except ValueError:
        report = {}
    return {**report, "status": done.returncode} if "rows" in report else {"failed": said_of(done)}


def part_bench(options, lines):
    warm(options, [line for line in lines if line.files])
    result = {"kind": "bench", "rows": []}
    for line in lines:
        said = bench(options, line)
        asked = {"kernel": line.pattern, "dtype": line.type, "sizes": line.sizes, "config": line.values}
        for key in "failed", "skipped":
            if key in said:
                result["rows"].append({**asked, "result": key, "why": said[key]})
        result["rows"] += said.get("rows", [])
        result.setdefault("device", said.get("device"))
        result.setdefault("blas", said.get("blas") or said.get("blas_missing"))
    result["ok"] = all(row["result"] not in ("FAIL", "failed") for row in result["rows"])
    result["means"] = means(result["rows"])
    return result


def means(rows):
    """Returns, for each class and type, the geometric mean over its sizes of the fastest kernel's speed relative to the faster library's."""
    best = {}
    for row in rows:
        if row.get("ratio") and row["result"] != "FAIL":
            size = (row.get("class", ""), row["dtype"]), tuple(row[x] for x in ("m", "n", "k", "batch"))
            best[size] = max(best.get(size, 0), row["ratio"])
    groups = {}
    for (group, _), ratio in best.items():
        groups.setdefault(group, []).append(math.log(ratio))
    return [{"class": name, "dtype": dtype, "sizes": len(logs), "ratio": math.exp(sum(logs) / len(logs))}
            for (name, dtype), logs in groups.items()]


def skipped(why):
    return {"ok": True, "skipped": why}


def suite_sizes(lines):
    """Returns [class, m, n, k, batch] of every size of the lines' suites."""
    files = dict.fromkeys(path for line in lines for path in line.suites())
    sizes = ((os.path.splitext(os.path.basename(path))[0], *map(int, shape.split())) for path in files for shape in suite_shapes(path))
    return [[*size, 1][:5] for size in sizes]


def part_suite(options, lines):
    """Columns: family, types, suites. One command for each suite and type, so that an interruption loses few rows."""
    warm(options, lines)
    types = list(dict.fromkeys(dtype for line in lines for dtype in line.type.split(",")))
    result = {"kind": "suite", "ok": False, "seconds": 0, "date": time.strftime("%Y-%m-%d"), "types": types, "sizes": suite_sizes(lines),
              "machine": options.report["machine"], "version": options.report["version"], "notes": [], "rows": []}
    options.report["parts"]["suite"] = result
    for line, dtype, path in ((line, dtype, path) for line in lines for dtype in line.type.split(",") for path in line.suites()):
        said = bench(options, line, dtype, ["--suite", path])
        why = said.get("failed") or said.get("skipped")
        result["notes"] += [f"{line.pattern} {dtype} {path}: {why}"] if why else []
        result["rows"] += said.get("rows", [])
        result.update({key: said[key] for key in ("device", "blas", "rounds", "round_seconds") if said.get(key)})
        write_json(options)
    result["means"] = means(result["rows"])
    try:
        suite_page.write(result, options.page)
        result["ok"] = True
        result["figures"] = suite_page.draw(options.tool, options.page)
    except suite_page.Refused as why:
        result["refused"] = f"{options.page} is not written: {why}"
    return result


def part_nvcc(options, lines):
    """Columns: sizes."""
    helper, why = build_helper(options, "against_nvcc")
    sgemm, why_not = build_sgemm(options)
    if why or why_not:
        return skipped(why or why_not)
    rows = []
    for line in lines:
        done = run([helper, sgemm, *line.shape(), str(100 * options.seconds)])
        if done.returncode:
            return {"ok": False, "failed": said_of(done)}
        rows += [json.loads(text) for text in done.stdout.splitlines()]
    return {"kind": "nvcc", "ok": True, "rows": rows}


def cost_lines(options, files):
    """Returns the lines that bench/launch_cost.c prints, split into words, or why there are none."""
    helper, why = build_helper(options, "launch_cost")
    if why:
        return [], why
    done = run([helper, *files])
    return [text.split() for text in done.stdout.splitlines()], said_of(done) if done.returncode else None


def part_launch(options, lines):
    words, why = cost_lines(options, [])
    if why:
        return {"ok": False, "failed": why}
    return {"kind": "launch", "ok": True, "rows": [{"call": w[0], "us": float(w[1]), "more_us": float(w[3])} for w in words]}


def part_compile(options, lines):
    """Columns: kernel."""
    files = [file for line in lines for file in line.files]
    words, why = cost_lines(options, files)
    if why:
        return {"ok": False, "failed": why}
    names = ("to_ptx_ms", "driver_ms", "cache_empty_ms", "cached_ms", "ptxas_ms", "time_over_ptxas")
    return {"kind": "compile", "ok": True,
            "rows": [{"file": w[0], **{name: None if x == "-" else float(x) for name, x in zip(names, w[1:])}}
                     for w in words if w and w[0] in files]}


def part_tune(options, lines):
    """Columns: kernel, type, sizes."""
    rows = []
    for line in lines:
        m, n, k = line.shape()
        done = run([options.tool, "tune", line.pattern, "--device", "cuda", "--type", line.type, "--set", f"m={m},n={n},k={k}",
                    "--budget", options.budget, "--store", STORE, "--json"])
        try:
            report = json.loads(done.stdout)
        except ValueError:
            report = {}
        if "kernel" not in report:
            return {"ok": False, "failed": said_of(done)}
        rows.append(report)
    return {"kind": "tune", "ok": True, "rows": rows}


def part_triton(options, lines):
    """Columns: type, sizes."""
    rows = []
    for line in lines:
        done = run([sys.executable, "bench/triton_matmul.py", *line.shape(), "--type", line.type])
        if done.returncode == 3:
            return skipped(said_of(done))
        if done.returncode:
            return {"ok": False, "failed": said_of(done)}
        rows.append(json.loads(done.stdout))
    return {"kind": "triton", "ok": all(row["ok"] for row in rows), "rows": rows}


RUNNERS = {"suite": part_suite, "nvcc": part_nvcc, "compile": part_compile, "launch": part_launch, "tune": part_tune, "triton": part_triton}


# --- the report ---

def table(titles, rows):
    return ["| " + " | ".join(titles) + " |", "|" + "---|" * len(titles),
            *("| " + " | ".join(str(cell) for cell in row) + " |" for row in rows), ""]


def number(value, digits=4):
    return "-" if value is None else f"{value:.{digits}g}"


def bench_cells(row):
    size = [row.get(x, "-") for x in ("m", "n", "k")] if "m" in row else [row["sizes"], "", ""]
    ratios = {library["name"].split()[0]: library.get("ratio") for library in row.get("libraries", [])}
    said = row.get("why") or f"{row.get('config', '')} ({row.get('config_from', '')})"
    return [row["dtype"], *size, row["kernel"], number(row.get("ms")), number(row.get("tflops")), number(ratios.get("cuBLAS"), 3),
            number(ratios.get("cuBLASLt"), 3), row["result"], said]


def library_rows(rows):
    """Returns a row for each library and size: its median, compared with the first kernel at that size."""
    seen = set()
    for row in rows:
        yield bench_cells(row)
        for library in row.get("libraries", []):
            key = row["dtype"], row["m"], row["n"], row["k"], row["batch"], library["name"]
            if "ms" not in library or key in seen:
                continue
            seen.add(key)
            tflops = row["tflops"] * row["ms"] / library["ms"]
            yield [row["dtype"], row["m"], row["n"], row["k"], library["name"], number(library["ms"]), number(tflops), "", "", "",
                   library.get("note", "")]


def show_bench(part):
    text = [f"{part['device']}; {part.get('blas')}", ""] if part.get("device") else []
    text += table(["type", "m", "n", "k", "name", "latency (ms)", "tflops", "/cuBLAS", "/cuBLASLt", "check", "configuration"],
                  library_rows(part["rows"]))
    return text + (["Geometric means of the fastest kernel's speed beside the faster library:", ""] +
                   table(["class", "type", "sizes", "mean"],
                         ([m["class"] or "all", m["dtype"], m["sizes"], f"{m['ratio']:.3f}"] for m in part["means"]))
                   if part["means"] else [])


def show_suite(part):
    notes = [*part["notes"], part.get("refused"), part.get("figures")]
    return [text for note in notes if note for text in (note, "")] + show_bench(part)


def show_nvcc(part):
    return table(["kernel", "m", "n", "k", "ms", "nvcc -O3 ms", "time / nvcc", "limit"],
                 ([r["kernel"], r["m"], r["n"], r["k"], number(r["ms"]), number(r["nvcc_ms"]), f"{r['time_over_nvcc']:.3f}", r["limit"]]
                  for r in part["rows"]))


def show_launch(part):
    return table(["call", "us", "more than cuLaunchKernel", "limit"],
                 ([r["call"], f"{r['us']:.3f}", f"{r['more_us']:+.3f}", "" if r["more_us"] == 0 or r["call"] == "3_other_maps" else "+0.5"] for r in part["rows"]))


def show_compile(part):
    return table(["kernel", "text to PTX, ms", "the driver", "with an empty cache", "cached", "ptxas -O3", "text to loaded / ptxas", "limit"],
                 ([r["file"], *(number(r[x]) for x in ("to_ptx_ms", "driver_ms", "cache_empty_ms", "cached_ms", "ptxas_ms", "time_over_ptxas")),
                   1.1] for r in part["rows"]))


def show_tune(part):
    rows = []
    for r in part["rows"]:
        timed = sorted((c for c in r["candidates"] if "ms" in c), key=lambda c: c["ms"])
        best = timed[0] if timed else {}
        rows.append([r["kernel"], r["sizes"], f"{len(timed)} of {len(r['candidates'])}", f"{r['seconds']:.0f}", number(best.get("ms")),
                     ",".join(f"{k}={v}" for k, v in best.get("tune", {}).items())])
    return table(["kernel", "sizes", "timed", "seconds", "best ms", "values"], rows)


def show_triton(part):
    return table(["type", "m", "n", "k", "name", "latency (ms)", "tflops", "check", "configuration"],
                 ([r["dtype"], r["m"], r["n"], r["k"], r["name"], number(r["ms"]), number(r["tflops"]), "PASS" if r["ok"] else "FAIL", r["config"]]
                  for r in part["rows"]))


SHOW = {"bench": show_bench, "suite": show_suite, "nvcc": show_nvcc, "launch": show_launch, "compile": show_compile, "tune": show_tune, "triton": show_triton}


def show_part(name, part):
    why = [f"Skipped: {part['skipped']}", ""] if "skipped" in part else [f"**Failed**: {part['failed']}", ""] if "failed" in part else []
    return [f"## {name} ({part['seconds']:.0f} s)", "", *(why or SHOW[part["kind"]](part))]


def machine():
    """Returns the GPU's name, driver, clocks and power, from nvidia-smi."""
    asked = "name,driver_version,clocks.max.sm,power.limit"
    done = run(["nvidia-smi", f"--query-gpu={asked}", "--format=csv,noheader"]) if shutil.which("nvidia-smi") else None
    return done.stdout.strip() if done and done.returncode == 0 else None


def write_json(options):
    with open(os.path.join(options.out, "report.json"), "w") as out:
        json.dump(options.report, out, indent=1)


def write_report(options):
    report = options.report
    write_json(options)
    with open(os.path.join(options.out, "report.md"), "w") as out:
        out.write("\n".join(["# Figures of a GPU", "", f"{report['machine'] or ''} {report['version']}", ""] +
                            [line for name, part in report["parts"].items() for line in show_part(name, part)]))


# --- the whole ---

def parts_of(lines):
    return list(dict.fromkeys(line.part for line in lines))


def common_options(about, known, configurations, parts_help="of the table"):
    """Returns a parser of the options that gpu.py and cpu.py share."""
    parser = argparse.ArgumentParser(description=about, epilog="parts: " + ", ".join(known))
    parser.add_argument("parts", nargs="*", metavar="PART", help=parts_help)
    parser.add_argument("--out", default="build/bench", help="folder for helpers and reports (build/bench)")
    parser.add_argument("--tool", default="build/tilewright", help="the program (build/tilewright)")
    parser.add_argument("--configurations", default=configurations, help="the table")
    return parser


def check_options(parser, options, known):
    """Ends the program if it cannot begin."""
    for part in options.parts:
        if part not in known:
            parser.error(f"there is no part '{part}'; there are {', '.join(known)}")
    if not os.path.exists(options.tool):
        parser.error(f"there is no {options.tool}; ./dev build makes it")


def read_options(known):
    parser = common_options("Every figure of one GPU.", ["prepare", *known], TABLE, "of the table; prepare: only build what is needed")
    parser.add_argument("--sgemm", help="bench/cuda/sgemm.cu as nvcc made it: cubin or PTX")
    parser.add_argument("--arch", default="native", help="what nvcc makes it for (native)")
    parser.add_argument("--rounds", type=int, default=3, help="turns of kernel and libraries (3)")
    parser.add_argument("--seconds", type=float, default=0.1, help="of a turn (0.1)")
    parser.add_argument("--page", default=suite_page.PAGE, help=f"that the part suite writes ({suite_page.PAGE})")
    parser.add_argument("--budget", default="60s", help="of tuning (60s)")
    return parser


def prepare(options):
    missing = [why for _, why in (build_helper(options, "against_nvcc"), build_helper(options, "launch_cost"), build_sgemm(options)) if why]
    print("\n".join(missing) or f"{options.out} has what is needed")
    return 1 if missing else 0


def need_gpu(options, parser):
    """Ends the program with a message if there is no GPU."""
    done = run([options.tool, "bench", "--device", "cuda", "--load", "kernels/matmul/shared.tile", "-s", "64"])
    if done.returncode == 2:
        parser.exit(2, done.stderr)


def main():
    os.chdir(ROOT)
    parser = read_options(parts_of(read_table(TABLE)))
    options = parser.parse_args()
    lines = read_table(options.configurations)
    known = parts_of(lines)
    os.makedirs(options.out, exist_ok=True)
    os.makedirs(os.path.dirname(STORE), exist_ok=True)
    if options.parts == ["prepare"]:
        return prepare(options)
    check_options(parser, options, known)
    need_gpu(options, parser)
    version = run([options.tool, "--version"])
    report = options.report = {"machine": machine(), "version": version.stdout.strip(), "parts": {}}
    for name in options.parts or known:
        started = time.time()
        part = RUNNERS.get(name, part_bench)(options, [line for line in lines if line.part == name])
        part["seconds"] = time.time() - started
        report["parts"][name] = part
        write_report(options)
        print("\n".join(show_part(name, part)), flush=True)
    return 0 if all(part["ok"] for part in report["parts"].values()) else 1


if __name__ == "__main__":
    sys.exit(main())
