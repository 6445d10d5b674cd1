#!/usr/bin/env python3
"""Runs and verifies the kernels of a file by the comments above each.

    run_parity.py TILEWRIGHT FILE.tile…

    // run: --set m=5 --fill rand     runs the kernel that follows with these arguments, and verifies it if it has an `ensures`;
                                      without any, `--fill rand`
    // expect-output: TEXT            each run must print TEXT
    // expect-error: TEXT             `check` must refuse the file (status 1 or 2) with TEXT in the message
    // expect-fault: TEXT             each run must end with status 1 and TEXT in the message
Comments precede the kernel that they are for; expect-error is for the whole file. Each kernel must pass the static checks too.
"""
import os
import re
import shlex

from tile_runner import arguments, call, comments, fail

KERNEL = re.compile(r"^kernel\s+(\w+)", re.M)


def kernels(text):
    """Returns (name, comments before it, its text) for each kernel."""
    starts = [m.start() for m in KERNEL.finditer(text)]
    begin = 0
    for i, start in enumerate(starts):
        end = starts[i + 1] if i + 1 < len(starts) else len(text)
        body_end = text.find("\n}\n", start)
        body_end = body_end + 3 if body_end >= 0 else end
        yield KERNEL.match(text, start).group(1), text[begin:start], text[start:body_end]
        begin = body_end


def expect_error(tool, path, wanted):
    result = call([tool, "check", os.path.basename(path)], cwd=os.path.dirname(path))
    if result.status not in (1, 2):
        fail(f"{path} should be refused: {result}")
    for text in wanted:
        if text not in result.err:
            fail(f"{path}: no '{text}' in the message: {result}")


def run_kernel(tool, path, name, before, body):
    faults, outputs = comments(before, "expect-fault"), comments(before, "expect-output")
    verify = ["--verify"] if re.search(r"^\s*ensures\b", body, re.M) and not faults else []
    for given in comments(before, "run") or ["--fill rand"]:
        result = call([tool, "run", f"{path}:{name}", *shlex.split(given), *verify])
        if result.status != (1 if faults else 0):
            fail(f"{name} {given}: {result}")
        for text in outputs:
            if text not in result.out:
                fail(f"{name} {given}: '{text}' is not printed: {result}")
        for text in faults:
            if text not in result.err:
                fail(f"{name} {given}: no '{text}' in the message: {result}")


def main():
    tool, files, _ = arguments()
    for path in files:
        text = open(path).read()
        wanted = comments(text, "expect-error")
        if wanted:
            expect_error(tool, os.path.abspath(path), wanted)
            continue
        found = list(kernels(text))
        if not found:
            fail(f"{path} has no kernel")
        result = call([tool, "check", path, "--no-run"])
        if result.status != 0:
            fail(f"check {path}: {result}")
        for name, before, body in found:
            run_kernel(tool, path, name, before, body)


if __name__ == "__main__":
    main()
