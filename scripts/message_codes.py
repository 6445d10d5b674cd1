#!/usr/bin/env python3
"""Writes the tables of codes and counters in docs/messages.md, from TW_CODE_LIST and TW_COUNTER_LIST of the public
headers.

    message_codes.py            writes them
    message_codes.py --check    status 1 if the document differs from the headers
"""
import os
import re
import sys

import public_headers
from generated import write_or_check

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
PAGE = os.path.join(ROOT, "docs", "messages.md")
CODE = re.compile(r'X\((TW_CODE_\w+), "([^"]+)", "([^"]+)"\)')
COUNTER = re.compile(r'X\((\w+), +(?:SUM|MOST), *\\?\s*("[^"]*"(?:[ \\\n]+"[^"]*")*)\)')


def with_table(page, what, head, rows):
    begin, end = f"<!-- {what}: scripts/message_codes.py writes this -->\n", f"<!-- end of {what} -->\n"
    return page[: page.index(begin)] + begin + head + "".join(rows) + page[page.index(end) :]


def main():
    header = public_headers.text()
    with open(PAGE) as file:
        page = file.read()
    codes = (f"| `{name}` | `{code}` | {about} |\n" for code, name, about in CODE.findall(header))
    what = [(name, "".join(re.findall(r'"([^"]*)"', text))) for name, text in COUNTER.findall(header)]
    counters = (f"| `{name}` | {text} |\n" for name, text in what)
    new = with_table(page, "codes", "| `code` | in C | |\n|---|---|---|\n", codes)
    new = with_table(new, "counters", "| counter | |\n|---|---|\n", counters)
    return write_or_check(PAGE, page, new, "include/")


if __name__ == "__main__":
    sys.exit(main())
