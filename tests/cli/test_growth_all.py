#!/usr/bin/env python3
"""Work and memory are proportional to the program, for each kind of thing that a program can have in any number (tests/python/growth.py).
test_growth.py counts the work of some kinds, this test that of all others. Valgrind counts the instructions; without it, only the
memory is measured."""
import sys
import tempfile

from growth import FACTOR, KINDS, MOST, QUICK, command, kernels, peak_memory, too_much

# Numbers of things that take many times the memory that Python needs to start a command.
MEMORY = {"kernels": 1000, "loops of one counter": 2500, "register tiles": 2500, "views": 2500, "stores": 1000, "shared tiles": 1500}
CHECKED = 40  # kernels
# Their first hundreds are compared with each other, so fewer things would show a larger growth.
LARGE = ["stores", "views on a GPU"]


def memory_too_much(tool):
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        for kind, n in MEMORY.items():
            small, large = (peak_memory(command(tool, folder, kind, count)) for count in (n, FACTOR * n))
            if large > FACTOR * MOST * small:
                lines.append(f"{kind}: {small} KiB for {n}, {large} KiB for {FACTOR * n}")
        for arguments in (["check"], ["build", "-o", folder]):
            peak = []
            for count in (CHECKED, FACTOR * CHECKED):
                with open(f"{folder}/k{count}.tile", "w") as out:
                    out.write(kernels(count))
                peak.append(peak_memory([tool, arguments[0], f"{folder}/k{count}.tile", *arguments[1:]]))
            most = 2 if arguments == ["check"] else FACTOR  # one kernel after the other
            if peak[1] > most * peak[0]:
                lines.append(f"{arguments[0]}: {peak[0]} KiB for {CHECKED} kernels, {peak[1]} KiB for {FACTOR * CHECKED}")
    return lines


def main():
    tool = sys.argv[1]
    small = [kind for kind in KINDS if kind not in QUICK + LARGE]
    found = memory_too_much(tool) + (too_much(tool, small, 125) or []) + (too_much(tool, LARGE, 250) or [])
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
