#!/usr/bin/env python3
"""Writes the structs of python/tilewright.py from those of the public headers: those that the Python file uses, and those they point
to.

    python_structs.py            writes them
    python_structs.py --check    status 1 if the Python file differs from the headers
"""
import os
import re
import sys

import public_headers
from generated import write_or_check

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
PYTHON = os.path.join(ROOT, "python", "tilewright.py")
BEGIN, END = "# structs: scripts/python_structs.py writes them\n", "# end of structs\n"
USED = ("config message error param value tune type verdict tuned device layouts sim_options sim_result explain_options "
        "explanation choice profile slow_path").split()
POINTED_BY_TEXT = {"tw_counted"}  # the file reads the JSON with the same content
STRUCT = re.compile(r"^typedef struct (tw_\w+) \{\n(.*?)^\} \1;", re.M | re.S)
FUNCTION = re.compile(r"\(\*(\w+)\)\([^;]*$", re.S)
NUMBERS = {"bool": "c_bool", "char": "ctypes.c_char", "int": "c_int", "unsigned": "c_uint", "double": "c_double", "size_t": "c_size_t",
           "int32_t": "c_int32", "int64_t": "c_int64", "uint32_t": "c_uint32", "uint64_t": "c_uint64"}


class Header:
    def __init__(self, text):
        plain = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
        # A union becomes its first member here, because ctypes does not pass unions by value.
        plain = re.sub(r"union \{\s*([^;]*;).*?\};", r"\1", plain, flags=re.S)
        self.structs = dict(STRUCT.findall(plain))
        self.enums = set(re.findall(r"^typedef enum (tw_\w+) ", plain, re.M))
        self.constants = dict(re.findall(r"\b(TW_\w+) = (\d+)", plain))
        self.watch = [(n.lower(), v) for n, v in re.findall(r"TW_WATCH_(\w+) = (\d+)", plain) if n not in ("CHECKS", "ALL")]
        for names in re.findall(r"^enum \{ (TW_AT_\w+, .*?) \};", plain, re.M):  # counted from 0
            self.constants.update((name, str(i)) for i, name in enumerate(names.split(", ")))

    def number(self, kind):
        return "c_int" if kind in self.enums else NUMBERS.get(kind)

    def ctype(self, kind, stars):
        """Returns (type in Python, struct that must be defined before it or None)."""
        if kind == "char" and stars:
            return ("c_char_p" if stars == 1 else "POINTER(c_char_p)"), None
        if kind in self.structs and kind not in POINTED_BY_TEXT:
            return "POINTER(" * stars + class_of(kind) + ")" * stars, kind
        number = self.number(kind)
        if stars:
            return (f"POINTER({number})" if number else "c_void_p"), None
        return number, None

    def fields(self, struct):
        """Returns (name, type, struct needed) of each field."""
        for declaration in self.structs[struct].split(";"):
            function = FUNCTION.search(declaration)
            if function:
                yield function.group(1), "c_void_p", None
                continue
            words = re.match(r"\s*(?:const\s+)?(\w+)\s*(.*)", declaration, re.S)
            for name in re.split(r",\s*", words.group(2)) if words else ():
                stars, bare = name.count("*"), re.sub(r"\bconst\b|[*\s]", "", name)
                name, *extents = re.split(r"[\[\]]+", bare.rstrip("]"))
                kind, needed = self.ctype(words.group(1), stars)
                for extent in extents:
                    kind = f"{kind} * {self.constants.get(extent, extent)}"
                yield name, kind, needed


def class_of(struct):
    """tw_sim_options is _SimOptions."""
    return "".join(["_", *(word.capitalize() for word in struct.split("_")[1:])])


def in_order(header, names):
    """Returns the structs in an order in which each comes after those that it has or points to."""
    order = []

    def add(struct):
        for _, _, needed in header.fields(struct):
            if needed and needed not in order:
                add(needed)
        if struct not in order:
            order.append(struct)

    for name in names:
        add(f"tw_{name}")
    return order


def lines_of(entries, before, after, indent):
    """Returns lines of entries, each filled up to 110 columns."""
    line = before
    for i, entry in enumerate(entries):
        last = i == len(entries) - 1
        text = entry + (after if last else ",")
        if line.strip() and not line.endswith(("[", "{")) and len(line) + 1 + len(text) > 110:
            yield line
            line = indent
        line += text if line.endswith(("[", "{")) or line == indent else " " + text
    yield line


def text_of(header):
    for struct in in_order(header, USED):
        fields = [f'("{name}", {kind})' for name, kind, _ in header.fields(struct)]
        base = "_Sized" if fields[0].startswith('("size"') else "ctypes.Structure"
        yield f"class {class_of(struct)}({base}):"
        yield from lines_of(fields, "    _fields_ = [", "]", " " * 16)
        yield from ("", "")
    yield from lines_of([f'"{name}": {value}' for name, value in header.watch], "_WATCH = {", "}", " " * 10)


def main():
    header = Header(public_headers.text())
    with open(PYTHON) as file:
        old = file.read()
    written = "\n".join(text_of(header)) + "\n"
    new = old[: old.index(BEGIN)] + BEGIN + "\n\n" + written + "\n" + old[old.index(END) :]
    return write_or_check(PYTHON, old, new, "include/")


if __name__ == "__main__":
    sys.exit(main())
