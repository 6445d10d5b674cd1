#!/usr/bin/env python3
"""For the ladder's kernels, the simulator's counters equal those of the profiler on an H200 (tests/sim/ladder-counters.csv).

Runs 256 cubed; with --all also 512 cubed. The readings count asynchronous copies among the loads of global memory."""
import csv
import json
import os
import sys

from tile_runner import call, fail

# The simulator's counters, each with the columns of the readings whose sum it equals.
COUNTERS = {
    "shared_wavefronts": ["shared_wavefronts"],
    "shared_wavefronts_ideal": ["shared_wavefronts_ideal"],
    "shared_loads": ["shared_loads"],
    "shared_stores": ["shared_stores"],
    "global_stores": ["global_store_requests"],
    "global_requests": ["global_load_requests", "global_store_requests"],
    "global_sectors": ["global_load_sectors", "global_store_sectors"],
}
# Its blocks wait for each other, so the number of polls depends on time.
POLLS = "split_k"


def compare(tool, row):
    name, size = row["kernel"], row["size"]
    file = next(f for f in (f"kernels/{d}/{name}.tile" for d in ("sgemm", "matmul")) if os.path.exists(f))
    result = call([tool, "run", file, "--set", f"m={size},n={size},k={size}", "--fill", "rand", "--device", "sim", "--sm", "sm_90",
                   "--counters", "--json"], timeout=600)
    if result.status:
        fail(f"{file}: {result}")
    counters = json.loads(result.out)["counters"]
    for counter, columns in COUNTERS.items():
        if name == POLLS and counter in ("global_requests", "global_sectors"):
            continue
        read = sum(int(row[column]) for column in columns)
        if counters[counter] != read:
            fail(f"{file} at {size}: {counter} {counters[counter]}, on the GPU {read}")


def main():
    tool, rows = os.path.abspath(sys.argv[1]), 0
    with open("tests/sim/ladder-counters.csv") as file:
        for row in csv.DictReader(file):
            if row["size"] == "256" or "--all" in sys.argv:
                compare(tool, row)
                rows += 1
    if rows < 14:
        fail(f"{rows} readings only")


if __name__ == "__main__":
    main()
