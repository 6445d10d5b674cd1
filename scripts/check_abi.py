#!/usr/bin/env python3
"""Compares the public headers with those of a released version: the library must still have what programs were compiled with.

    check_abi.py FROZEN [PRESENT] [--library FILE]    status 1 if something was removed, moved or renumbered
    check_abi.py --freeze                             copies the present headers to tests/abi/VERSION

FROZEN and PRESENT are folders with tilewright*.h; PRESENT is include/ by default. The library must export each function.
Both versions are preprocessed and compiled to tables of sizes, offsets and values. Stable headers may change when the major
version does, the others when the major or the minor version does (docs/versions.md). Additions pass: functions, values, and
fields at the end of a struct. A struct that a field of another one points to never grows: it is an element of an array, whose
next element a program finds by the size that it knows. Structs with a `size`, and those in SINGLE, are not such elements.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile

import public_headers

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
STABLE = {"tilewright.h", "tilewright_entry.h", "tilewright_gpu.h", "tilewright_build.h"}
FIXED = {"tw_value", "tw_size_range"}  # callers pass them by value, or in arrays
SINGLE = {"tw_counted", "tw_why"}  # a field points to one of them, and not to an array
MARK = re.compile(r'^# \d+ "(.*?)".*$')
STRUCT = re.compile(r"typedef struct (tw_\w+) \{(.*?)\} \1;", re.S)
ENUM = re.compile(r"\benum(?: tw_\w+)? \{(.*?)\}", re.S)
FUNCTION = re.compile(r'__attribute__\(\(visibility\("default"\)\)\)\s+([^;{]*?\b(tw_\w+)\(.*?\));', re.S)
INLINE = re.compile(r"static inline [^;{]*?\b(tw_\w+)\(")


def words(text):
    """Returns the text with single blanks, and none next to punctuation."""
    return re.sub(r"\s*([^\w\s])\s*", r"\1", re.sub(r"\s+", " ", text.strip()))


def members(body):
    """Returns (name, declaration) of each field; a union's members are fields of their own."""
    body = re.sub(r"union\s*\{(.*?)\};", r"\1", body, flags=re.S)
    for declaration in (" ".join(d.split()) for d in body.split(";")):
        if not declaration:
            continue
        callback = re.search(r"\(\*(\w+)\)\(", declaration)
        if callback:
            yield callback.group(1), words(declaration)
            continue
        first, *more = re.split(r",\s*", declaration)
        kind = re.match(r"(.*?)[\s*]+(?:const\s+)?\w+(?:\[.*)?$", first).group(1)
        for one in [first, *(f"{kind} {name}" for name in more)]:
            yield re.search(r"(\w+)(?:\[[^\]]*\])*$", one).group(1), words(one)


class Headers:
    """The declarations of one version of the headers, by header."""

    def __init__(self, folder):
        self.folder = folder
        self.names = [os.path.basename(path) for path in public_headers.paths(folder)]
        text = open(os.path.join(folder, "tilewright.h")).read()
        self.version = tuple(map(int, re.search(r'#define TW_VERSION "(\d+)\.(\d+)\.(\d+)"', text).groups()))
        self.structs, self.enums, self.functions, self.inlines, self.macros = {}, {}, {}, {}, {}
        for header, part in self.preprocessed().items():
            self.structs.update((name, (header, dict(members(body)))) for name, body in STRUCT.findall(part))
            for body in ENUM.findall(part):
                names = re.findall(r"(?:^|,)\s*(TW_\w+)", body)
                self.enums.update((name, header) for name in names)
            self.functions.update((name, (header, words(text))) for text, name in FUNCTION.findall(part))
            self.inlines.update((name, header) for name in INLINE.findall(part))
        for header in self.names:
            text = open(os.path.join(folder, header)).read()
            self.macros.update((name, header) for name in re.findall(r"^#define (\w+)\(", text, re.M))
        self.table = self.measured()

    def compiler(self, *options, **more):
        command = [*os.environ.get("CC", "cc").split(), "-std=c11", "-I", self.folder, *options]
        return subprocess.run(command, check=True, capture_output=True, text=True, **more).stdout

    def all_included(self):
        return "".join(f'#include "{name}"\n' for name in self.names)

    def preprocessed(self):
        """Returns {header: its text without comments and macros}."""
        parts, header = {name: [] for name in self.names}, None
        for line in self.compiler("-E", "-x", "c", "-", input=self.all_included()).splitlines():
            mark = MARK.match(line)
            if mark:
                header = os.path.basename(mark.group(1))
            elif header in parts:
                parts[header].append(line)
        return {name: "\n".join(lines) for name, lines in parts.items()}

    def measured(self):
        """Returns {name: numbers}: (size,) of "tw_x", (offset, size) of "tw_x.field", (value,) of "TW_X"."""
        lines = [self.all_included(), "#include <stdio.h>\nint main(void)\n{\n"]
        for struct, (_, fields) in self.structs.items():
            lines.append(f'    printf("{struct} %zu\\n", sizeof({struct}));\n')
            lines += [f'    printf("{struct}.{field} %zu %zu\\n", offsetof({struct}, {field}), sizeof((({struct} *)0)->{field}));\n'
                      for field in fields]
        lines += [f'    printf("{name} %lld\\n", (long long){name});\n' for name in self.enums]
        lines.append("    return 0;\n}\n")
        with tempfile.TemporaryDirectory() as folder:
            source, program = os.path.join(folder, "table.c"), os.path.join(folder, "table")
            with open(source, "w") as file:
                file.writelines(lines)
            self.compiler(source, "-o", program)
            rows = subprocess.run([program], check=True, capture_output=True, text=True).stdout.split("\n")
        return {row.split()[0]: tuple(map(int, row.split()[1:])) for row in rows if row}


def elements(headers):
    """The structs of plain arrays: fields of other structs point to them."""
    fields = (declaration for _, members in headers.structs.values() for declaration in members.values())
    pointed = {found.group(1) for found in (re.fullmatch(r"(?:const )?(tw_\w+)\*\w+", one) for one in fields) if found}
    return {name for name in pointed & headers.structs.keys() if name not in SINGLE and "size" not in headers.structs[name][1]}


def compare_structs(old, new, held):
    fixed = FIXED | elements(old)
    for struct, (header, fields) in old.structs.items():
        if not held(header):
            continue
        if struct not in new.structs:
            yield f"{header}: struct {struct} was removed"
            continue
        now = new.structs[struct][1]
        for field, declaration in fields.items():
            name = f"{struct}.{field}"
            if field not in now:
                yield f"{header}: {name} was removed"
            elif old.table[name] != new.table[name]:
                yield f"{header}: {name} moved: offset and size were {old.table[name]}, now {new.table[name]}"
            elif declaration != now[field]:
                yield f"{header}: {name} was `{declaration}`, now `{now[field]}`"
        end = old.table[struct][0]
        for field in now.keys() - fields.keys():
            offset = new.table[f"{struct}.{field}"][0]
            if offset < end:
                yield (f"{header}: {struct}.{field} is new at offset {offset}, within the {end} bytes that programs know: "
                       "put it at the end, after a field that fills the padding")
        if struct in fixed and old.table[struct] != new.table[struct]:
            yield f"{header}: {struct} never changes; it has {new.table[struct][0]} bytes, had {end}"


def compare_rest(old, new, held):
    for name, header in old.enums.items():
        if held(header) and old.table[name] != new.table.get(name) and not name.endswith("_COUNT"):
            is_now = f"is {new.table[name][0]}" if name in new.table else "was removed"
            yield f"{header}: {name} was {old.table[name][0]}, and {is_now}"
    for name, (header, text) in old.functions.items():
        if held(header) and new.functions.get(name, (header, None))[1] != text:
            yield f"{header}: {name} was `{text}`, now `{new.functions[name][1]}`" if name in new.functions else \
                f"{header}: function {name} was removed"
    for kind, before, now in (("inline function", old.inlines, new.inlines), ("macro", old.macros, new.macros)):
        for name, header in before.items():
            if held(header) and name not in now:
                yield f"{header}: {kind} {name} was removed"


def exported(library):
    lines = subprocess.run(["nm", "-D", "--defined-only", library], check=True, capture_output=True, text=True).stdout.splitlines()
    return {line.split()[-1].partition("@")[0] for line in lines}


def differences(old, new, library=None):
    def held(header):
        parts = 1 if header in STABLE else 2
        return old.version[:parts] == new.version[:parts]

    yield from compare_structs(old, new, held)
    yield from compare_rest(old, new, held)
    if library:
        names = exported(library)
        yield from (f"{os.path.basename(library)} does not export {name}" for name, (header, _) in old.functions.items()
                    if held(header) and name not in names)


def freeze():
    present = Headers(public_headers.FOLDER)
    folder = os.path.join(ROOT, "tests", "abi", ".".join(map(str, present.version)))
    os.makedirs(folder, exist_ok=True)
    for name in present.names:
        shutil.copy(os.path.join(public_headers.FOLDER, name), folder)
    print(f"{os.path.relpath(folder)} has the headers of {'.'.join(map(str, present.version))}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folders", nargs="*")
    parser.add_argument("--library", dest="shared_object")
    parser.add_argument("--freeze", action="store_true")
    given = parser.parse_args()
    if given.freeze:
        return freeze()
    if len(given.folders) not in (1, 2):
        parser.error("which headers? tests/abi/1.0.0, for example")
    old, new = Headers(given.folders[0]), Headers((given.folders + [public_headers.FOLDER])[1])
    found = list(differences(old, new, given.shared_object))
    print("\n".join(found))
    if found:
        print(f"programs that were compiled with {'.'.join(map(str, old.version))} no longer run. Keep the old declarations and add new "
              "ones, or raise the version in include/tilewright.h (docs/versions.md). If that version is not released yet, "
              "`scripts/check_abi.py --freeze` takes the present headers for it.")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
