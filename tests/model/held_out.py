#!/usr/bin/env python3
"""Holds explain to readings of a GPU that the model was not made with: held_out.py TOOL GPU READINGS KERNELS"""
import csv
import json
import os
import subprocess
import sys

MOST_OFF, LEAST_SHARE = 0.35, 0.9


def predicted(tool, gpu, kernels, row):
    values = [["--set", v] for v in row["set"].split()] + [["--tune", v] for v in row["tune"].split()]
    types = [["--type", row["dtype"]]] if row["dtype"] != "-" else []
    arguments = [word for pair in values + types for word in pair]
    path = os.path.join(kernels, row["kernel"] + ".tile")
    out = subprocess.run([tool, "explain", path, "--device", gpu, "--json", *arguments], capture_output=True, text=True).stdout
    return json.loads(out)["kernels"][0]["seconds"][1] * 1e3


def main():
    tool, gpu, readings, kernels = sys.argv[1:]
    near = rows = 0
    with open(readings) as file:
        for row in csv.DictReader(line for line in file if not line.startswith("#")):
            off = predicted(tool, gpu, kernels, row) / float(row["ms"]) - 1
            near += abs(off) <= MOST_OFF
            rows += 1
            print(f"{row['kernel']:22} {row['dtype']:4} {row['set']} {row['tune']}: {float(row['ms']):.4f} ms, {100 * off:+.0f}%")
    print(f"time within {MOST_OFF:.0%}: {near} of {rows}")
    sys.exit(rows < 100 or near < LEAST_SHARE * rows)


if __name__ == "__main__":
    main()
