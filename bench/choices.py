#!/usr/bin/env python3
"""Judges the choices of a family at sizes that its table does not have, without a GPU, from the repository's root:

    bench/choices.py [FAMILY] [--device h200] [--type f16]

Each row of the family's table is left out in turn. Then the program chooses for the row's sizes, and the time of its choice is compared with the
least time of the row: the loss. Prints the worst rows and the geometric mean of all.
"""
import argparse
import concurrent.futures
import json
import math
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def sections(path):
    """Returns the header and the rows of each section of a table."""
    found = []
    with open(path) as table:
        for text in table:
            line = json.loads(text)
            if "family" in line:
                found.append((line, []))
            else:
                found[-1][1].append(line)
    return found


def choice_without(options, header, rows, left_out):
    """Returns the kernel and tuned values that are chosen for a row's sizes from the other rows."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, options.family)
        with open(f"kernels/{options.family}.tile") as text, open(path + ".tile", "w") as copy:
            copy.write(text.read().replace('"matmul/', f'"{ROOT}/kernels/matmul/'))
        with open(path + ".table", "w") as table:
            for line in [header, *(row for row in rows if row is not left_out)]:
                table.write(json.dumps(line) + "\n")
        sizes = ",".join(f"{name}={value}" for name, value in zip(header["sizes"], left_out["at"]))
        done = subprocess.run([options.tool, "show", path + ".tile", "--device", options.device, "--set", sizes, "--type", options.type, "--stage",
                               "tile"], capture_output=True, text=True, env={**os.environ, "TILEWRIGHT_STORE": os.path.join(folder, "none.db")})
        found = re.search(r"chosen: (\w+)(?: (\w+=[\w=,]*\w))?", done.stdout + done.stderr)
        if not found:
            raise RuntimeError(f"{sizes}: {done.stderr.strip()[-300:]}")
        return found.group(1), found.group(2) or ""


def main():
    os.chdir(ROOT)
    parser = argparse.ArgumentParser(description="Judges a family's choices at sizes that its table does not have.")
    parser.add_argument("family", nargs="?", default="matmul", help="a family of kernels/ (matmul)")
    parser.add_argument("--device", default="h200", help="whose section of the table (h200)")
    parser.add_argument("--type", default="f16", help="of the section (f16)")
    parser.add_argument("--tool", default="build/tilewright", help="the program (build/tilewright)")
    options = parser.parse_args()
    name = re.sub(r"\W", "", options.device).lower()
    matching = [x for x in sections(f"kernels/{options.family}.table")
                if x[0]["types"] == f"T={options.type}" and name in re.sub(r"\W", "", x[0]["device"]).lower()]
    if not matching:
        parser.error(f"kernels/{options.family}.table has no section of {options.device} for {options.type}")
    header, rows = matching[0]
    variants = [(v["kernel"], v["tune"]) for v in header["variants"]]
    losses = []
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for row, chosen in zip(rows, pool.map(lambda row: choice_without(options, header, rows, row), rows)):
            least = min(us for us in row["us"] if us)
            us = row["us"][variants.index(chosen)]
            losses.append(((us or math.inf) / least, row["at"], " ".join(chosen)))
    losses.sort(reverse=True)
    for loss, at, chosen in losses[:10]:
        print(f"{loss:.3f}  {'x'.join(map(str, at)):20}  {chosen}")
    mean = math.exp(sum(math.log(loss) for loss, _, _ in losses) / len(losses))
    print(f"{len(losses)} sizes, each chosen for without its own row: {mean:.3f} times the least time (geometric mean)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
