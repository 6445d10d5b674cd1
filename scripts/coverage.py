#!/usr/bin/env python3
"""Line coverage by folder, after the tests ran in a build with --coverage.

    coverage.py BUILD [ROOT]

Reads gcov's JSON for every object of the library and prints, for each folder of src/, the lines that ran; then the files below 85%.
"""
import glob
import gzip
import json
import os
import subprocess
import sys
import tempfile
from collections import defaultdict

WANTED = 85


def reports(build):
    """Returns gcov's reports, one for each object file."""
    data = [os.path.abspath(p) for p in glob.glob(f"{build}/CMakeFiles/tilewright_*.dir/**/*.gcda", recursive=True)]
    with tempfile.TemporaryDirectory() as folder:
        for path in data:
            subprocess.run(["gcov", "--json-format", path], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
            for name in glob.glob(os.path.join(folder, "*.json.gz")):
                with gzip.open(name, "rt") as report:
                    yield json.load(report)
                os.remove(name)


def main():
    build = sys.argv[1]
    root = os.path.abspath(sys.argv[2] if len(sys.argv) > 2 else ".")
    lines = defaultdict(dict)  # file -> line -> ran
    for report in reports(build):
        for entry in report["files"]:
            path = os.path.relpath(os.path.join(report["current_working_directory"], entry["file"]), root)
            if path.startswith("src/"):
                for line in entry["lines"]:
                    number = line["line_number"]
                    lines[path][number] = lines[path].get(number, False) or line["count"] > 0
    if not lines:
        print(f"no coverage data under {build}")
        return 2
    folders = defaultdict(lambda: [0, 0])
    low = []
    for path, ran in sorted(lines.items()):
        total = folders["/".join(path.split("/")[:2])]
        total[0] += sum(ran.values())
        total[1] += len(ran)
        percent = 100 * sum(ran.values()) / len(ran)
        if percent < WANTED:
            low.append(f"  {percent:5.1f}%  {path}")
    for folder, (ran, count) in sorted(folders.items()):
        print(f"{folder:12} {100 * ran / count:5.1f}% of {count} lines")
    if low:
        print(f"files below {WANTED}%:", *low, sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
