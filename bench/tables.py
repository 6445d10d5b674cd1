#!/usr/bin/env python3
"""Makes the tables of the families that ship, for the GPU or the CPU of this machine, with one command, from the repository's root:

    bench/tables.py [FAMILY…] [--device cuda] [--types f16,f32] [--budget 170s] [--out FOLDER]

For each family it runs `tilewright tune` over the sizes of bench/suite and bench/table_sizes.txt and writes kernels/FAMILY.table (or
FOLDER/FAMILY.table); results of other devices and types in the file stay. bench/choices.py judges the choices that follow from a table.
"""
import argparse
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SUITES = {"matmul": ["squares", "llm", "deep_k", "ragged"], "matmul_nt": ["llm", "squares"], "matmul_batched": ["batched"]}
MORE = {"matmul": "bench/table_sizes.txt", "matmul_nt": "bench/table_sizes.txt"}
TYPES = {"matmul": "f16,f32", "matmul_nt": "f16", "matmul_batched": "f16,f32"}
# A CPU takes seconds for the largest sizes, and tiles for which a GPU has no registers.
MOST_FLOPS = {"cuda": {"f32": 2 * 8192**3}, "cpu": {None: 2 * 2048**3}}
CPU_OPTIONS = ["--tune", "BK=32,256,512", "--tune", "WAVE=264"]


def sizes_of(family, device, dtype):
    """Returns the lines "m n k [batch]" to measure."""
    files = [f"bench/suite/{name}.txt" for name in SUITES[family]] + ([MORE[family]] if family in MORE and device == "cuda" else [])
    most = MOST_FLOPS[device].get(dtype, MOST_FLOPS[device].get(None, float("inf")))
    lines = []
    for path in files:
        for text in open(path):
            numbers = [int(x) for x in text.split("#")[0].split()]
            flops = 2
            for number in numbers:
                flops *= number
            if numbers and flops <= most and numbers not in lines:
                lines.append(numbers)
    return [" ".join(map(str, x)) for x in lines]


def main():
    os.chdir(ROOT)
    parser = argparse.ArgumentParser(description="Makes the tables of the families that ship.")
    parser.add_argument("families", nargs="*", default=list(SUITES), metavar="FAMILY")
    parser.add_argument("--device", choices=list(MOST_FLOPS), default="cuda")
    parser.add_argument("--types", help="element types (f16,f32; of matmul_nt f16)")
    parser.add_argument("--budget", default="170s", help="for a family and type (170s)")
    parser.add_argument("--threads", help="threads of the CPU engine")
    parser.add_argument("--out", default="kernels", help="folder of the tables (kernels)")
    parser.add_argument("--known", action="store_true", help="measure only the variants that the tables name")
    parser.add_argument("--tool", default="build/tilewright", help="the program (build/tilewright)")
    options = parser.parse_args()
    status = 0
    for family in options.families:
        if family not in SUITES:
            parser.error(f"there is no family '{family}'; there are {', '.join(SUITES)}")
        for dtype in (options.types or TYPES[family]).split(","):
            with tempfile.NamedTemporaryFile("w", suffix=".txt") as sizes:
                sizes.write("\n".join(sizes_of(family, options.device, dtype)) + "\n")
                sizes.flush()
                path = os.path.join(options.out, f"{family}.table")
                command = [options.tool, "tune", f"kernels/{family}.tile", "--suite", sizes.name, "--device", options.device, "--type", dtype,
                           "--table", path, "--budget", options.budget]
                command += ["--known"] if options.known else []
                command += CPU_OPTIONS if options.device == "cpu" else []
                command += ["--threads", options.threads] if options.threads else []
                status |= subprocess.run(command).returncode
    return 1 if status else 0


if __name__ == "__main__":
    sys.exit(main())
