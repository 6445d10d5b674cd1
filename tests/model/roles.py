#!/usr/bin/env python3
"""Compares explain with readings of kernels with roles: roles.py TOOL GPU READINGS KERNELS

Every prediction must be within 15% of its reading. No factor of a product may have bank conflicts, and the tensor units must be among
the two busiest parts.
"""
import csv
import json
import os
import subprocess
import sys

MOST_OFF = 0.15


def explained(tool, gpu, kernels, row):
    values = [word for v in row["set"].split() for word in ("--set", v)]
    path = os.path.join(kernels, row["kernel"] + ".tile")
    out = subprocess.run([tool, "explain", path, "--device", gpu, "--json", *values], capture_output=True, text=True, check=True).stdout
    return json.loads(out)["kernels"][0]


def faults(x, row):
    off = x["seconds"][1] * 1e3 / float(row["ms"]) - 1
    busiest = [r["name"] for r in x["roofs"][:2]]
    print(f"{row['kernel']:24} {row['set']}: {float(row['ms']):.3f} ms, {100 * off:+.0f}%, {busiest}")
    if abs(off) > MOST_OFF:
        yield f"the time is off by {off:+.0%}"
    if "tensor" not in busiest:
        yield f"the busiest parts are {busiest}"
    if any(a["space"] == "shared" and a["ways"] > 1.005 for a in x["accesses"]):
        yield "an access has bank conflicts"


def main(tool, gpu, readings, kernels):
    with open(readings, newline="") as file:
        rows = list(csv.DictReader(file))
    found = [f"{row['kernel']} {row['set']}: {fault}" for row in rows for fault in faults(explained(tool, gpu, kernels, row), row)]
    for fault in found:
        print(fault)
    return 1 if found or not rows else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
