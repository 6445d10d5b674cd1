#!/usr/bin/env python3
"""Work is proportional to the program: four times as many kernels, names, loops, views or tiles take four times the instructions.
`growth_all` tries all kinds of things, listed in tests/python/growth.py. Skipped without valgrind, which counts."""
import sys

from growth import QUICK, too_much


def main():
    found = too_much(sys.argv[1], QUICK, 150)
    if found is None:
        print("skipped: valgrind is not here")
        return 77
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
