"""The public headers of the library: tilewright.h and the tilewright_*.h of its further parts. tilewright_cpu.h is of libtilewright_cpu.a."""
import glob
import os

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "include")


def paths(folder=FOLDER):
    """Returns the headers, tilewright.h first; one that includes another comes after it."""
    names = sorted(os.path.basename(path) for path in glob.glob(os.path.join(folder, "tilewright*.h")))
    names = [name for name in names if name != "tilewright_cpu.h"]
    names.sort(key=lambda name: (name != "tilewright.h", name == "tilewright_model.h"))
    return [os.path.join(folder, name) for name in names]


def text(folder=FOLDER):
    """Returns all headers as one text."""
    parts = []
    for path in paths(folder):
        with open(path) as file:
            parts.append(file.read())
    return "".join(parts)
