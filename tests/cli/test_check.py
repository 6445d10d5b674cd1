#!/usr/bin/env python3
"""`check` on broken twins of kernels/matmul/shared.tile: the right lines, once for all configurations, status 1."""
import json
import os
import sys
import tempfile

from tile_runner import call, fail


def without(text, needle, which):
    """The text less the which-th line that holds needle, and the number of that line."""
    lines = text.splitlines(True)
    found = [i for i, line in enumerate(lines) if needle in line]
    del lines[found[which]]
    return "".join(lines), found[which] + 1


def line_of(text, needle):
    return next(i for i, line in enumerate(text.splitlines(), 1) if needle in line)


def check(tool, folder, text):
    with open(f"{folder}/twin.tile", "w") as out:
        out.write(text)
    result = call([tool, "check", "twin.tile"], cwd=folder)
    listed = call([tool, "check", "twin.tile", "--json"], cwd=folder)
    return result, json.loads(listed.out)[0]["findings"]


def main():
    tool = os.path.abspath(sys.argv[1])
    text = open("kernels/matmul/shared.tile").read()
    with tempfile.TemporaryDirectory() as folder:
        for which in (0, 1):
            twin, _ = without(text, "sync();", which)
            result, findings = check(tool, folder, twin)
            if result.status != 1 or result.out or "sync()" not in result.err:
                fail(f"less sync {which}: {result}")
            lines = {f["line"] for f in findings} | {n["line"] for f in findings for n in f["notes"]}
            if not {line_of(twin, "sa = A["), line_of(twin, "ra[BM][BK] = sa")} <= lines:
                fail(f"less sync {which}: lines {lines}: {result}")
            places = [(f["line"], f["column"], f["text"]) for f in findings]
            if len(places) != len(set(places)):
                fail(f"less sync {which}: said twice: {result}")
        wrong = text.replace("dot(ra, rb);", "2 * dot(ra, rb);")
        result, findings = check(tool, folder, wrong)
        if result.status != 1 or "wrong values" not in result.err or len(findings) != 1:
            fail(f"wrong values: {result}")


if __name__ == "__main__":
    main()
