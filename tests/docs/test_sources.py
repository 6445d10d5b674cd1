#!/usr/bin/env python3
"""Checks that sources shown in the documents are those of the files.

    test_sources.py TILEWRIGHT [--bless]

A comment <!-- source: FILE [FIRST-LAST] --> above a block names the file, and the lines if it is a part. --bless writes the blocks.
(scripts/tutorial.py does that for docs/tutorial.)
"""
import glob
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BLOCK = re.compile(r"^<!-- source: (\S+)(?: (\d+)-(\d+))? -->\n```(\w+)\n(.*?)^```$", re.M | re.S)


def lines_of(name, first, last):
    with open(os.path.join(ROOT, name)) as file:
        lines = file.read().splitlines(True)
    return "".join(lines[int(first) - 1:int(last)] if first else lines)


def updated(text):
    """Returns the text with the contents of each block's file, and the number of blocks."""
    def block(match):
        name, first, last, kind, _ = match.groups()
        head = match.group(0).partition("```")[0]
        return f"{head}```{kind}\n{lines_of(name, first, last)}```"
    return BLOCK.subn(block, text)


def main():
    blocks, failed = 0, 0
    for path in sorted(glob.glob(f"{ROOT}/docs/**/*.md", recursive=True)):
        if "/tutorial/" in path:
            continue
        with open(path) as file:
            text = file.read()
        new, count = updated(text)
        blocks += count
        if new != text and "--bless" in sys.argv:
            with open(path, "w") as file:
                file.write(new)
        elif new != text:
            print(f"{path}: a block differs from its file; write it with --bless")
            failed = 1
    example = "<!-- source: tests/docs/test_sources.py 2-2 -->\n```py\n{}```\n"
    assert updated(example.format("old\n"))[0] == example.format(lines_of("tests/docs/test_sources.py", "2", "2"))
    print(f"{blocks} blocks")
    return failed or not blocks


if __name__ == "__main__":
    sys.exit(main())
