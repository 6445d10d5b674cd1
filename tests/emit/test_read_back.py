#!/usr/bin/env python3
"""A program that a pass prints is the program.

    test_read_back.py TILEWRIGHT [--all] [-j N]

`tilewright show --after PASS --device TARGET` prints each kernel that ships, with its types, its tuned values and a target, as
test_assemble.py lists them. Compiled again, the text must become the same PTX except for `.loc`. With the default values and its first
type it must also give the same bits on the CPU engine, and the static check must decide about both alike: it finds a race in both, or
shows that neither has one. The passes are those of read_back.def; test_read_back.c takes random programs through them. The quick run
takes a part of the cases; --all takes the whole product.
"""
import concurrent.futures
import os
import re
import sys
import tempfile

from test_assemble import ROOT, cases, refused_for_size
from tile_runner import call, expect, fail

TARGETS = ["sm_80", "sm_90"]
SMALL = {"causal": "true", "group": 2, "r": 3, "s": 3, "stride": 1, "pad": 1, "heads": 2, "batch": 2, "groups": 3, "pages": 4,
         "scale": 0.125}
RAGGED = 48  # any other size of a run
DEFINITIONS = os.path.join(ROOT, "tests", "emit", "read_back.def")


def passes():
    return re.findall(r'^READ_BACK\("(\w+)"\)', open(DEFINITIONS).read(), re.M)


def code(ptx):
    return re.sub(r"(?m)^\s*(//|\.loc|\.file).*\n", "", ptx)


def difference(before, after):
    pairs = zip(before.splitlines(), after.splitlines())
    line = next((f"`{a}`, then `{b}`" for a, b in pairs if a != b), "one is longer")
    barriers = [text.count("bar.sync") for text in (before, after)]
    return f"{line}; {barriers[0]} barriers, then {barriers[1]}"


def small_options(case):
    """Returns the case's options with sizes for a run on the host."""
    options = [option for option in case.options() if not option.startswith(("--set", "--target"))]
    sizes = ",".join(f"{name}={SMALL.get(name, RAGGED)}" for name in case.scalars())
    return [*(["--set=" + sizes] if sizes else []), *options]


class Reader:
    """Reads one case back after each pass."""

    def __init__(self, tool, case, folder):
        self.tool, self.case, self.folder = tool, case, folder
        self.source = f"{case.kernel.path}:{case.kernel.name}"
        self.problems = []

    def command(self, *arguments):
        return call([self.tool, *arguments])

    def printed(self, name, options):
        """Writes the program after the pass; returns its path, or None if the compiler refuses it."""
        shown = self.command("show", self.source, "--after", name, "--device", self.case.target, *options)
        if shown.status:
            self.problems.append(f"{self.case} after {name}: {shown.err}")
            return None
        path = os.path.join(self.folder, f"{name}.tile")
        with open(path, "w") as out:
            out.write(shown.out)
        return path

    def same_code(self):
        options = [option for option in self.case.options() if not option.startswith("--target")]
        target = "--target=" + self.case.target
        first = self.command("show", self.source, "--stage=ptx", target, *options)
        if first.status and refused_for_size(first.err):
            return
        expect(first.status == 0, f"{self.case}: {first.err}")
        for name in passes():
            path = self.printed(name, options)
            again = path and self.command("show", path, "--stage=ptx", target)
            if again and again.status:
                self.problems.append(f"{self.case} after {name} is refused: {again.err}")
            elif again and code(again.out) != code(first.out):
                self.problems.append(f"{self.case} after {name}: {difference(code(first.out), code(again.out))}")

    def same_meaning(self):
        options = small_options(self.case)
        sizes = [option for option in options if option.startswith("--set=")]
        run = ["--fill=rand", "--seed=3", "--threads=1"]
        checks = ["--no-run", "--no-sim", "--strict"]
        first = self.command("run", self.source, *options, *run)
        expect(first.status == 0, f"{self.case}: {first.err}")
        verdict = self.command("check", self.source, *options, *checks).status
        for name in passes():
            path = self.printed(name, options)
            if not path:
                continue
            again = self.command("run", path, *sizes, *run)
            if again.out != first.out:
                self.problems.append(f"{self.case} after {name} gives other values:\n{again}\n{first}")
            judged = self.command("check", path, *sizes, *checks)
            if judged.status != verdict:
                self.problems.append(f"{self.case} after {name}: status {verdict}, then {judged}")


def read_back(tool, case, folder):
    os.makedirs(folder)
    reader = Reader(tool, case, folder)
    reader.same_code()
    if case.is_default and case.type == case.kernel.types[0]:
        reader.same_meaning()
    return reader.problems


def chosen(everything):
    """Returns the cases: all for two targets, or every second configuration and each type's default, for one of them."""
    turns = {}
    found = []
    for case in cases(everything):
        if case.target not in TARGETS:
            continue
        turn = turns.setdefault((case.kernel.name, case.type, str(case.tuned)), len(turns))
        if everything or (case.is_default and case.target == TARGETS[turn % 2]) or (not case.is_default and turn % 2):
            found.append(case)
    return found


def main():
    tool = os.path.abspath(sys.argv[1])
    jobs = int(sys.argv[sys.argv.index("-j") + 1]) if "-j" in sys.argv else os.cpu_count()
    os.chdir(ROOT)
    work = chosen("--all" in sys.argv)
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        results = list(pool.map(lambda numbered: read_back(tool, numbered[1], f"{folder}/{numbered[0]}"), enumerate(work)))
    problems = [problem for found in results for problem in found]
    if problems:
        fail("\n\n".join(problems[:40]) + f"\n{len(problems)} problems in {len(work)} cases")
    print(f"{len(work)} cases read back after {', '.join(passes())}")


if __name__ == "__main__":
    main()
