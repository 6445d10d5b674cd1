#!/usr/bin/env python3
"""`show --json`: layouts, PTX and passes have the contents of the text, and the place of their source."""
import json
import os
import re
import sys

from tile_runner import call, expect

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
KERNELS = [
    ("kernels/sgemm/naive.tile", []),
    ("kernels/sgemm/tiled.tile", ["--tune", "T=16"]),
    ("kernels/sgemm/register_tiled.tile", []),
    ("kernels/matmul/shared.tile", ["--type", "f16", "--set", "m=64,n=64,k=64"]),
    ("kernels/matmul/stages.tile", ["--type", "bf16", "--set", "m=256,n=256,k=256"]),
    ("kernels/matmul/auto.tile", ["--type", "f16", "--target", "sm_90"]),
    ("kernels/matmul/int8.tile", []),
    ("kernels/fused/softmax.tile", ["--set", "rows=64,cols=64"]),
]


def show(tool, file, *options):
    got = call([tool, "show", file, *options], cwd=ROOT)
    expect(got.status == 0, f"show {file} {options}: {got}")
    return got.out


def drawn(text):
    """Returns {name: rows of cells} of the register tiles in `show --stage layout`."""
    tiles, rows = {}, None
    for line in text.split("\n"):
        head = re.match(r"reg \w+ (\w+)\[.*\](?:, .*)?$", line)
        if head:
            rows = tiles.setdefault(head.group(1), [])
        elif not line:
            rows = None
        elif rows is not None and re.match(r" *\d+ \| ", line):
            rows.append(line.split("|", 1)[1])
    return tiles


def check_layouts(tool, file, options):
    shown = json.loads(show(tool, file, "--stage", "layout", "--json", *options))
    text = show(tool, file, "--stage", "layout", *options)
    ptx = show(tool, file, "--stage", "ptx", *options)
    picture = drawn(text)
    expect(f"{shown['block'][0]} x {shown['block'][1]} x" in text, f"{file}: {shown['block']}")
    for t in shown["tiles"]:
        count = 1
        for extent in t["shape"]:
            count *= extent
        where = f"{file} {t['name'] or t['what']}"
        for register in t.get("registers", []):
            expect(re.search(re.escape(register.rstrip("0123456789")) + r"<\d+>", ptx), f"{where}: {register}")
        if t["kind"] == "scalar":
            expect(len(t["registers"]) == 1, where)
            continue
        expect(f"\n  {t['layout']}\n" in text, f"{where}: {t['layout']}")
        if t["kind"] == "shared":
            expect(len(set(t["places"])) == len(t["places"]) == count, f"{where}: places differ")
            expect(max(t["places"]) < t["bytes"] or t["bits"] < 8, f"{where}: {max(t['places'])} of {t['bytes']}")
            continue
        expect(len(t["threads"]) == len(t["numbers"]) == count, f"{where}: {count} elements")
        expect(all(0 <= x < 32 * 32 for x in t["threads"]), f"{where}: each element is held")
        expect(max(t["numbers"]) < t["held"], where)
        registers = t["registers"]
        expect(not registers or len(registers) * t["in_register"] >= t["held"], f"{where}: {len(registers)} registers")
        rows = picture.get(t["name"], []) if len(t["shape"]) == 2 else []
        for i, row in enumerate(rows):
            for k, cell in enumerate(re.findall(r"T(\d+):R(\d+)", row)):
                element = i * t["shape"][1] + k
                got = (t["threads"][element] % 32, t["numbers"][element])
                expect(got == tuple(map(int, cell)), f"{where}[{i}][{k}]: {got}, drawn {cell}")
    for a in shown["accesses"]:
        expect(a["instruction"] in text and (a["tile"] is None or a["tile"] in text), f"{file}: {a}")
    return shown


def check_ptx(tool, file, options):
    shown = json.loads(show(tool, file, "--stage", "ptx", "--json", *options))
    text = show(tool, file, "--stage", "ptx", *options)
    lines = [x["text"] for x in shown["lines"]]
    expect(lines == text.rstrip("\n").split("\n"), f"{file}: the lines are the text's")
    at, count = (0, 0), 0
    for x in shown["lines"]:
        loc = re.match(r" *\.loc \d+ (\d+) (\d+)", x["text"])
        at = tuple(map(int, loc.groups())) if loc else at
        if "instruction" not in x:
            expect(not re.match(r"    [@a-z]", x["text"]), f"{file}: {x}")
            continue
        count += 1
        expect((x["line"], x["column"]) == at and x["instruction"] in x["text"], f"{file}: {x} {at}")
        width = re.search(r"\b(?:ld|st)\.(?:global|shared)[.a-z]*?(?:\.v(\d))?\.[bfsu](\d+) ", x["text"])
        if width:
            expect(x["bytes"] == int(width.group(1) or 1) * int(width.group(2)) // 8, f"{file}: {x}")
        if "cp.async.c" in x["text"] and "commit" not in x["text"]:
            expect(x["bytes"] in (4, 8, 16), f"{file}: {x}")
    expect(sum(shown["instructions"].values()) == count, f"{file}: {shown['instructions']}")
    return shown


def check_passes(tool, file, options):
    shown = json.loads(show(tool, file, "--json", *options))
    before = None
    for p in shown["passes"]:
        text = show(tool, file, "--after", p["name"], *options)
        expect(p["text"] == text, f"{file} after {p['name']}")
        expect(p["changed"] == (before is not None and before != text), f"{file} after {p['name']}")
        before = text
        lines = text.split("\n")
        body = lines.index("{") + 1
        own = [s["shown"] - 1 for s in p["statements"]]
        expect(own == sorted(own) and own[0] == body, f"{file} after {p['name']}: {own}")
        for number, line in enumerate(lines[body:-2], body):
            closes = re.fullmatch(r" *(\}( else.*| while.*)?|// .*)", line)
            expect(closes or number in own, f"{file} after {p['name']}, line {number + 1}: {line!r}")
        for s in p["statements"]:
            marked = "// added by the compiler" in lines[s["shown"] - 1]
            expect(s["added"] or not marked, f"{file} after {p['name']}: {s}")
    for name in ("fold", "plan"):
        one = json.loads(show(tool, file, "--after", name, "--json", *options))
        expect(one["passes"] == [p for p in shown["passes"] if p["name"] == name], f"{file}: {name} alone")
    return shown


def main():
    tool = os.path.abspath(sys.argv[1])
    for file, options in KERNELS:
        check_layouts(tool, file, options)
        check_ptx(tool, file, options)
        check_passes(tool, file, options)
    v1 = check_layouts(tool, "kernels/matmul/shared.tile", ["--type", "f16"])
    acc = [t for t in v1["tiles"] if t["name"] == "acc"][0]
    element = 1 * 64 + 0
    expect((acc["threads"][element], acc["registers"][acc["numbers"][element]]) == (4, "%f0"), "T4:R0 of row 1")
    auto = check_passes(tool, "kernels/matmul/auto.tile", ["--type", "f16", "--target", "sm_90"])
    pipeline = [p for p in auto["passes"] if p["name"] == "pipeline"][0]
    expect(pipeline["changed"] and any(s["added"] for s in pipeline["statements"]), "stages are added")
    bad = call([tool, "show", "no.tile", "--json"], cwd=ROOT)
    expect(bad.status == 2 and json.loads(bad.out)["status"] == "TW_NO_FILE", str(bad))


main()
