#!/usr/bin/env python3
"""Checks that programs are refused with the exact message.

    run_errors.py TILEWRIGHT FILE.tile… [--bless]

`tilewright check FILE.tile --no-run` must print the text of FILE.err, and end with status 1 (a race) or 2; with
0 if there are only warnings. A comment "// command: run --fill rand" selects another command."""
import os
import shlex

from tile_runner import arguments, call, comments, compare, fail


def main():
    tool, files, bless = arguments()
    for path in files:
        text = open(path, errors="surrogateescape").read()
        command = shlex.split((comments(text, "command") or ["check --no-run"])[0])
        name = os.path.basename(path)
        result = call([tool, command[0], name, *command[1:]], cwd=os.path.dirname(os.path.abspath(path)))
        wanted = [1, 2] if "error: " in result.err or result.err.startswith("tilewright: ") else [0]
        if result.status not in wanted:
            fail(f"{path}: status {result.status}, expected {wanted}: {result}")
        if not result.err:
            fail(f"{path}: nothing on standard error: {result}")
        compare(os.path.splitext(path)[0] + ".err", result.err, bless)


if __name__ == "__main__":
    main()
