#!/usr/bin/env python3
"""The table of codes in docs/messages.md, from TW_CODE_LIST of the public header.

    message_codes.py            writes it
    message_codes.py --check    status 1 if the document is not what the header says
"""
import os
import re
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
PAGE = os.path.join(ROOT, "docs", "messages.md")
BEGIN, END = "<!-- codes: scripts/message_codes.py writes this -->\n", "<!-- end of codes -->\n"
ROW = re.compile(r'X\((TW_CODE_\w+), "([^"]+)", "([^"]+)"\)')


def main():
    with open(os.path.join(ROOT, "include", "tilewright.h")) as file:
        rows = ROW.findall(file.read())
    with open(PAGE) as file:
        page = file.read()
    table = "".join(f"| `{name}` | `{code}` | {about} |\n" for code, name, about in rows)
    start, end = page.index(BEGIN), page.index(END) + len(END)
    new = page[:start] + BEGIN + "| `code` | in C | |\n|---|---|---|\n" + table + END + page[end:]
    if "--check" in sys.argv:
        if new != page:
            print("docs/messages.md does not have the codes of include/tilewright.h: run scripts/message_codes.py")
        return int(new != page)
    with open(PAGE, "w") as file:
        file.write(new)
    return 0


if __name__ == "__main__":
    sys.exit(main())
