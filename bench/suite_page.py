#!/usr/bin/env python3
"""Writes docs/suite.md and its figures from what `bench/gpu.py suite` has measured:

    bench/suite_page.py REPORT.json… [--page docs/suite.md]

REPORT.json is build/bench/report.json; of several, the rows of later ones replace those of earlier ones. The tables replace the lines
between `<!-- suite -->` and `<!-- end -->`. The page stays as it is, with status 1, if a size of the suites has no row for one of the types,
if a value was wrong, or if a row has no library to compare with. Node draws the figures, if web/node_modules is there.
"""
import argparse
import json
import math
import os
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PAGE = "docs/suite.md"
BEGIN, END = "<!-- suite -->\n", "<!-- end -->\n"
CHOSEN = {"result": "measured", "nearest": "nearest", "model": "model"}
SHOWN = 8  # faults that a message names


class Refused(Exception):
    """The reason why the page is not written."""


def key_of(row):
    return row["dtype"], row.get("class", ""), row["m"], row["n"], row["k"], row["batch"]


def says(key):
    dtype, group, m, n, k, batch = key
    return f"{group} {m}x{n}x{k}" + (f" batch {batch}" if batch > 1 else "") + f" {dtype}"


def fault_of(row):
    if row["result"] not in ("PASS",):
        return row.get("why") or row["result"]
    return None if row.get("ratio") else "no library was measured"


def complete(part):
    """Returns the rows in the order of the suites, by type; Refused if some are missing or not right."""
    rows = {key_of(row): row for row in part["rows"] if "m" in row}
    wanted = [(dtype, *size) for dtype in part["types"] for size in part["sizes"]]
    faults = [f"{says(key)}: " + (fault_of(rows[key]) if key in rows else "not measured")
              for key in wanted if key not in rows or fault_of(rows[key])]
    if faults:
        more = [f"and {len(faults) - SHOWN} more"] if len(faults) > SHOWN else []
        raise Refused("; ".join(faults[:SHOWN] + more))
    return [rows[key] for key in wanted]


def merged(parts):
    """Returns one part with the rows of all."""
    devices = {part["device"] for part in parts}
    if len(devices) > 1:
        raise Refused("the reports are of several devices: " + "; ".join(sorted(map(str, devices))))
    result = {**parts[-1], "rows": [row for part in parts for row in part["rows"]]}
    for name in "types", "sizes":
        result[name] = list(dict.fromkeys(tuple(x) if name == "sizes" else x for part in parts for x in part[name]))
    return result


def mean(rows):
    return math.exp(sum(math.log(row["ratio"]) for row in rows) / len(rows))


def number(value):
    return f"{value:.4g}" if value < 1000 else f"{value:.0f}"


def table(titles, rows):
    return ["| " + " | ".join(titles) + " |", "|" + "---|" * len(titles), *("| " + " | ".join(map(str, row)) + " |" for row in rows), ""]


def cells(row):
    variant = f"`{row['kernel']}`" + (f" {row['config']}" if row.get("config") else "")
    return [row["class"], row["dtype"], row["m"], row["n"], row["k"], row["batch"], variant,
            CHOSEN.get(row.get("chosen", {}).get("by"), row["config_from"]), number(row["ms"]), number(row["tflops"]),
            number(row["gbytes_per_second"]), f"{row['ratio']:.3f}", row["peer"].split()[0]]


def mean_rows(rows, types):
    groups = list(dict.fromkeys(row["class"] for row in rows))
    for group in [*groups, "all"]:
        chosen = [[row for row in rows if row["dtype"] == dtype and group in (row["class"], "all")] for dtype in types]
        yield [group, len(chosen[0]), *(f"{mean(x):.3f}" if x else "-" for x in chosen)]


def block(part):
    rows, types = complete(part), part["types"]
    device = part["device"].split(",")[0]
    text = [f"Measured on {device} on {part['date']}: {part['machine'] or part['device']}; {part['blas']}; {part['version']};",
            f"{part['rounds']} round{'s' * (part['rounds'] != 1)} of {part['round_seconds']:g} s.", "",
            "Geometric means of the speed, compared with the faster library:", "",
            *table(["class", "sizes", *types], mean_rows(rows, types))]
    for dtype in types:
        text += [f"## {dtype}", "", f"<!-- figure: suite type={dtype} as=suite-{dtype} -->", "",
                 *table(["class", "type", "m", "n", "k", "batch", "variant", "chosen", "ms", "TFLOP/s", "GB/s", "speed", "compared with"],
                        (cells(row) for row in rows if row["dtype"] == dtype))]
    return "\n".join(text)


def write(part, page):
    """Writes the tables into the page; Refused leaves it as it is."""
    tables = block(part)
    with open(page) as old:
        text = old.read()
    head, begin, rest = text.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not begin or not end:
        raise Refused(f"{page} has no lines {BEGIN.strip()} and {END.strip()}")
    with open(page + ".new", "w") as out:
        out.write(head + begin + tables + end + tail)
    os.replace(page + ".new", page)


def draw(tool, page):
    """Draws the page's figures. Returns what is missing, or None."""
    if not shutil.which("node") or not os.path.exists(os.path.join(ROOT, "web/node_modules")):
        return f"the figures are not drawn: `node scripts/figures.mjs {tool} {page}` draws them after `npm ci` in web"
    done = subprocess.run(["node", os.path.join(ROOT, "scripts/figures.mjs"), tool, page], capture_output=True, text=True)
    return None if done.returncode == 0 else done.stderr.strip() or done.stdout.strip()


def main():
    parser = argparse.ArgumentParser(description="Writes docs/suite.md from reports of bench/gpu.py suite.")
    parser.add_argument("reports", nargs="+", metavar="REPORT.json")
    parser.add_argument("--page", default=os.path.join(ROOT, PAGE), help=f"the page to write ({PAGE})")
    parser.add_argument("--tool", default=os.path.join(ROOT, "build/tilewright"), help="the program (build/tilewright)")
    options = parser.parse_args()
    parts = []
    for path in options.reports:
        with open(path) as report:
            part = json.load(report)["parts"].get("suite")
        if not part or not part.get("rows"):
            parser.exit(1, f"suite_page.py: {path} has no part suite\n")
        parts.append(part)
    try:
        write(merged(parts), options.page)
    except Refused as why:
        parser.exit(1, f"suite_page.py: the page is not written: {why}\n")
    missing = draw(options.tool, options.page)
    if missing:
        parser.exit(1, f"suite_page.py: {missing}\n")


if __name__ == "__main__":
    sys.exit(main())
