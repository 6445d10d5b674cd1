#!/usr/bin/env python3
"""Writes the index of ops in docs/language.md from the compiler's own table.

    ops_table.py            writes it
    ops_table.py --check    status 1 if the document differs from the table
"""
import os
import re
import sys

from generated import write_or_check

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
PAGE = os.path.join(ROOT, "docs", "language.md")
BEGIN, END = "<!-- ops: scripts/ops_table.py writes this -->\n", "<!-- end of ops -->\n"
ROW = re.compile(r'^OP\((\w+), "([^"]*)", (\w+), (-?\d+), (\w+), ([\w |]+)\)[ \t]*(?:/\*(.*?)\*/)?', re.M | re.S)
RESULTS = {
    "ARITH": "operands joined, broadcast",
    "COMPARE": "`bool`, broadcast",
    "LOGIC": "`bool`",
    "FLOAT": "float kept, integers `f32`",
    "BITWISE": "integers",
    "REDUCE": "an axis becomes 1, or a scalar",
    "SHAPE": "same elements",
    "EFFECT": "a statement",
    "OWN": "",
}


def entries():
    """Returns (name, form, how it is written, result, note) of each op that programs write."""
    with open(os.path.join(ROOT, "src", "tile", "ops.def")) as file:
        table = file.read()
    table = table[table.index("/* leaves */") :]
    for name, text, form, arity, kind, _flags, note in ROW.findall(table):
        if form == "LEAF" or not text:
            continue
        count = int(arity)
        operands = ["a", "b", "c"][:count] if count >= 0 else ["…"]
        shape = {
            "PREFIX": f"{text}a",
            "INFIX": f"a {text} b",
            "CALL": f"{text}({', '.join(operands)})",
        }.get(form, {"SELECT": "c ? a : b", "CAST": "(T) x", "BITS": "bits<T>(x)", "LOOKUP": "table[i]"}.get(name, text))
        if kind == "REDUCE":
            shape = f"{text}(x [, axis = n])"
        yield text, form, shape, RESULTS[kind], re.sub(r"\s+", " ", note).strip()


def rows():
    for _, _, shape, result, note in entries():
        yield "| `{}` | {} | {} |".format(shape.replace("|", "\\|"), result, note.replace("|", "\\|"))


def main():
    with open(PAGE) as file:
        page = file.read()
    table = BEGIN + "| op | result | |\n|---|---|---|\n" + "\n".join(rows()) + "\n" + END
    start, end = page.index(BEGIN), page.index(END) + len(END)
    new = page[:start] + table + page[end:]
    return write_or_check(PAGE, page, new, "src/tile/ops.def")


if __name__ == "__main__":
    sys.exit(main())
