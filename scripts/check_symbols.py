#!/usr/bin/env python3
"""Checks that a library exports only tw_ names.

check_symbols.py LIBRARY… (.so: the names that it exports; .a: the names that a program would link to)
"""
import subprocess
import sys


def exported(path):
    options = ["-D"] if ".so" in path or path.endswith(".dylib") else []
    listing = subprocess.run(["nm", *options, "--defined-only", "--extern-only", path], capture_output=True, text=True, check=True).stdout
    for line in listing.splitlines():
        parts = line.split()
        if len(parts) == 3 and parts[1] not in "Vv":
            yield parts[2]


def main():
    status = 0
    for path in sys.argv[1:]:
        names = list(exported(path))
        strangers = [n for n in names if not n.startswith(("tw_", "_init", "_fini", "__", "_edata", "_end", "TILEWRIGHT_"))]
        if strangers or not any(n.startswith("tw_") for n in names):
            print(f"{path}: {len(names)} names, not ours: {', '.join(strangers[:20]) or 'none'}")
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
