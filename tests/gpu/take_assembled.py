#!/usr/bin/env python3
"""Counters as assembled, compared with the profiler on this machine's GPU.

    take_assembled.py TILEWRIGHT [TARGET]

Needs ncu. For the kernels of tests/cli/test_ptx_assembled.py, it prints the bounds that `run --counters` gives for TARGET (sm_90), and
next to them ncu's readings of the same launch. Ends with 1 if a reading is outside its bounds.
"""
import json
import subprocess
import sys

from take_counters import METRICS, profile

KERNELS = ("tests/gpu/scalars.ptx", "tests/gpu/columns.ptx")
LAUNCH = ["--block", "256", "--arg", "f32[1024]:iota", "--arg", "f32[1024]:none"]


def bounds(tool, path, target):
    command = [tool, "run", path, "--sm", target, *LAUNCH, "--counters", "--json"]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)["counters"]["as_assembled"]


def readings(tool, path):
    """Returns ncu's metrics by the names of our counters."""
    read = profile([tool, "run", path, *LAUNCH, "--device", "cuda"])
    if not read:
        sys.exit(f"{path}: no readings")
    by_name = {name: int(text) if text else 0 for name, text in zip(METRICS, read)}
    by_name["bank_conflicts"] = by_name["shared_wavefronts"] - by_name["shared_wavefronts_ideal"]
    for what in ("requests", "sectors"):
        by_name[f"global_{what}"] = sum(by_name[n] for n in (f"global_load_{what}", f"global_store_{what}", f"copy_{what}"))
    return by_name


def main():
    tool, target = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "sm_90"
    outside = 0
    for path in KERNELS:
        found, read = bounds(tool, path, target), readings(tool, path)
        print(f"{path}: {found['assembler'] or 'by the rules alone'}, {'exact' if found['exact'] else 'between bounds'}")
        for name in ("shared_loads", "shared_stores", "shared_wavefronts", "shared_wavefronts_ideal", "bank_conflicts",
                     "global_requests", "global_sectors"):
            low, high = found[name]
            fits = low <= read[name] and (high is None or read[name] <= high)
            outside += not fits
            print(f"  {name:26} {low:8} to {high if high is not None else '?':>8}  ncu {read[name]:8}  {'' if fits else 'OUTSIDE'}")
    sys.exit(1 if outside else 0)


if __name__ == "__main__":
    main()
