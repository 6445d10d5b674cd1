#!/usr/bin/env python3
"""Compares explain with readings of a GPU that were not used to make the model: held_out.py TOOL GPU READINGS KERNELS [SHARE]

The readings are milliseconds or bytes, as the columns tell. SHARE of them must be near (0.9).
"""
import csv
import json
import os
import subprocess
import sys

MOST_OFF, LEAST_SHARE, LEAST_ROWS = 0.35, 0.9, 39
L2_OFF, HBM_OFF = 0.15, 0.25


def explained(tool, gpu, kernels, row):
    values = [["--set", v] for v in row["set"].split()] + [["--tune", v] for v in row["tune"].split()]
    types = [["--type", row["dtype"]]] if row["dtype"] != "-" else []
    arguments = [word for pair in values + types for word in pair]
    path = os.path.join(kernels, row["kernel"] + ".tile")
    out = subprocess.run([tool, "explain", path, "--device", gpu, "--json", *arguments], capture_output=True, text=True).stdout
    return json.loads(out)["kernels"][0]


def case(row):
    return f"{row['kernel']:22} {row['dtype']:4} {row['set']} {row['tune']}"


def time_is_near(x, row):
    off = x["seconds"][1] * 1e3 / float(row["ms"]) - 1
    print(f"{case(row)}: {float(row['ms']):.4f} ms, {100 * off:+.0f}%")
    return {f"time within {MOST_OFF:.0%}": abs(off) <= MOST_OFF}


def bytes_are_near(x, row):
    l2, hbm = (next(t["read"] for t in x["traffic"] if t["level"] == level) for level in ("L2", "HBM"))
    l2_read, hbm_read = float(row["l2_read"]), float(row["hbm_read"])
    off, hbm_off = l2[1] / l2_read - 1, hbm[1] / hbm_read - 1
    inside = 0.98 * hbm[0] <= hbm_read <= 1.02 * hbm[2]
    print(f"{case(row)}: L2 {100 * off:+.0f}%, HBM {100 * hbm_off:+.0f}%{' (in its range)' if inside else ''}")
    return {f"L2's bytes within {L2_OFF:.0%}": abs(off) <= L2_OFF,
            f"HBM's bytes within {HBM_OFF:.0%}, or in their range": abs(hbm_off) <= HBM_OFF or inside}


def main():
    tool, gpu, readings, kernels, *share = sys.argv[1:]
    least = float(share[0]) if share else LEAST_SHARE
    near, rows, judge = {}, 0, None
    with open(readings) as file:
        for row in csv.DictReader(line for line in file if not line.startswith("#")):
            judge = time_is_near if "ms" in row else bytes_are_near
            for what, good in judge(explained(tool, gpu, kernels, row), row).items():
                near[what] = near.get(what, 0) + good
            rows += 1
    for what, count in near.items():
        print(f"{what}: {count} of {rows}")
    sys.exit(rows < LEAST_ROWS or any(count < least * rows for count in near.values()))


if __name__ == "__main__":
    main()
