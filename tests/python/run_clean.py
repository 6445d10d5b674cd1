#!/usr/bin/env python3
"""Checks that `check` finds nothing in the shipped kernels and prints nothing.

run_clean.py TILEWRIGHT FILE.tile…"""
from tile_runner import arguments, call, fail


def main():
    tool, files, _ = arguments()
    for path in files:
        result = call([tool, "check", path, "--time-limit", "400"])  # enough for a busy machine
        if result.status != 0 or result.out or result.err:
            fail(f"check {path}: {result}")
        listed = call([tool, "check", path, "--json", "--no-run"])
        if listed.status != 0 or '"ok": true' not in listed.out:
            fail(f"check --json {path}: {listed}")


if __name__ == "__main__":
    main()
