"""A document of which a script writes a part: written, or with --check compared."""
import os
import sys


def write_or_check(path, old, new, source):
    """Writes the document, or compares it with --check. Returns the script's exit status: 1 if the document
    differs from `source`."""
    if "--check" in sys.argv:
        if new != old:
            print(f"{os.path.relpath(path)} does not have what {source} says: run {os.path.relpath(sys.argv[0])}")
        return int(new != old)
    with open(path, "w") as file:
        file.write(new)
    return 0
