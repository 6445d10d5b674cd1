#!/usr/bin/env python3
"""The kernels of tests/parity with `warps(n)` compute the same with an mbarrier in them, with which they are emitted as kernels with roles.

    test_forms.py TILEWRIGHT

REFUSED are the kernels that have no code there: each is refused at a place in the source, with a way out.
"""
import glob
import os
import re
import shlex
import sys
import tempfile

from run_parity import kernels
from tile_runner import call, comments, fail

HERE = os.path.dirname(os.path.abspath(__file__))
PARITY = os.path.join(HERE, "..", "parity")
HEAD = re.compile(r"^kernel\s+\w+.*?\n\{\n", re.M | re.S)
REFUSED = {
    "lock`": ["arrive:wait_for_all", "arrive:in_turn", "semaphores:turns", "workspace:sum_in_turn"],
    "print": ["print_formats:one_block", "print_tiles:tiles", "print_values:show_values"],
    "an array": ["arrays_as_tiles:parts"],
    "a tile of": ["functions_any_shape:cubes", "random_numbers:noise", "shapes:shapes"],
}


def with_mbarrier(head):
    text = head.group(0)
    if "warps(" not in text or "target(" in text:
        return text
    return text.replace("\n{\n", " target(sm_90a)\n{\n    mbarrier unused_one(1);\n")


def run(tool, path, name, before, body):
    """Returns how many runs were compared."""
    key = f"{os.path.basename(path)[:-5]}:{name}"
    wanted = [what for what, names in REFUSED.items() if key in names]
    verify = ["--verify"] if re.search(r"^\s*ensures\b", body, re.M) else []
    runs = [given for given in comments(before, "run") or ["--fill rand"] if "--device" not in given]
    for given in runs:
        result = call([tool, "run", f"{path}:{name}", "--device", "sim", *shlex.split(given), *verify])
        if wanted and (result.status != 2 or wanted[0] not in result.err or "note:" not in result.err):
            fail(f"{key} {given} is to be refused because of {wanted[0]}: {result}")
        if not wanted and result.status != 0:
            fail(f"{key} {given}: {result}")
    return 0 if wanted else len(runs)


def main():
    tool, done = sys.argv[1], 0
    with tempfile.TemporaryDirectory() as folder:
        for path in sorted(glob.glob(f"{PARITY}/*.tile")):
            with open(path) as file:
                text = HEAD.sub(with_mbarrier, file.read())
            changed = os.path.join(folder, os.path.basename(path))
            with open(changed, "w") as out:
                out.write(re.sub(r'import "(?!/)', f'import "{PARITY}/', text))
            for name, before, body in kernels(text):
                if "unused_one" in body and not comments(before, "expect-fault"):
                    done += run(tool, changed, name, before, body)
    if done < 80:
        fail(f"only {done} runs were compared")
    print(f"{done} runs")


if __name__ == "__main__":
    main()
