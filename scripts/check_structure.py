#!/usr/bin/env python3
"""Checks that the tree keeps its order.

    check_structure.py [ROOT]

Errors: an include against the order of the folders; in tools/, an include of ours other than the public headers and tools/ itself, a use of another
command's file, and a file of tools/cli for one command; two files of one name (test data aside); files of a room that call each other in a circle; a name for other files without a prefix of its folder; numbers read or printed
in the host program's locale; a search for words in messages; a pass that docs/structure.md does not list, or in another order; files of src/ and
tools/ of more than 800 lines. Warnings: other files of more than 1000 lines, functions of more than 75.
"""
import os
import re
import subprocess
import sys
from collections import defaultdict

# The folders that each folder of src/ may include, apart from itself and base. Dependency order, lowest first: base < {layout, facts} < tile <
# {synccheck, lang}, base < ptx < sass, ptx < target < {sim, thread}, sass < sim < model, thread < nvptx, {tile, layout, target} < plan < aot, {plan,
# nvptx} < emit, tile < cpu < oracle, base < cuda, all < api.
BELOW = {
    "base": set(),
    "layout": {"base"},
    "facts": {"base"},
    "tile": {"base", "layout", "facts"},
    "synccheck": {"base", "tile"},
    "lang": {"base", "layout", "tile"},
    "ptx": {"base"},
    "sass": {"base", "ptx"},
    "target": {"base", "ptx"},
    "sim": {"base", "ptx", "sass", "target"},
    "thread": {"base", "facts", "ptx", "target"},
    "nvptx": {"base", "ptx", "target", "thread"},
    "model": {"base", "ptx", "sim", "target"},
    "plan": {"base", "layout", "facts", "tile", "ptx", "target"},
    "emit": {"base", "layout", "facts", "tile", "ptx", "target", "plan", "thread", "nvptx"},
    "aot": {"base", "layout", "facts", "tile", "ptx", "target", "plan"},
    "cpu": {"base", "layout", "tile"},
    "oracle": {"base", "tile", "cpu"},
    "cuda": {"base", "ptx", "target"},
    "store": {"base", "layout", "tile", "lang"},
    "driver": {"base", "ptx", "target", "sim"},
    "runtime": {"driver"},
    "blas": {"base", "driver"},
    "audit": set(),
}
# The folders of tools/ that each folder may include, apart from itself and cli: `explain --device cpu` runs a kernel, completions list puzzles.
TOOLS_BELOW = {"check": {"app", "ptx"}, "cli": {"learn"}, "explain": {"ptx", "run"}, "run": {"app", "ptx"}, "show": {"ptx"}}
# A name that other files of src/ can use begins with a prefix of its room: the room's own name, the name of one of its files, or one of these nouns,
# which no other room has as a prefix. So every name says where it is defined.
NOUNS = {
    "base": "allocator vec diagnostic bf16 e4m3 e5m2 f16 f32 f64 json text number shown",
    "target": "copier",
    "tile": "expr stmt stmts kernel literal type sym pass op launch_sizes launch_derived size verifier weights parts",
    "synccheck": "sync",
    "lang": "node token",
    "store": "tune",
    "cpu": "step exec routine dot magnitude",
    "oracle": "ensures",
    "sim": "race",
    "nvptx": "math",
    "api": "launch choice gpu host simulator tunes",
    "driver": "elf fat dwarf",
}
# Names that interfaces of others prescribe: the public headers, NVIDIA's libraries, the loader's.
PRESCRIBED = {
    "api": re.compile(r"tw_\w+"),
    "driver": re.compile(r"cu[A-Z]\w+"),
    "runtime": re.compile(r"(__)?cu(da)?[A-Z]\w+"),
    "blas": re.compile(r"cublas(Lt|Xt)?[A-Z]\w+"),
    "audit": re.compile(r"la_\w+"),
    "base": re.compile(r"environ"),
}
WRITTEN_FOR_NAMES = re.compile(r"/\*.*?\*/|^[ \t]*#(?:[^\n\\]|\\.|\\\n)*", re.S | re.M)
OUTSIDE = re.compile(r"^(?!static\b|typedef\b|__extension__|_Static_assert\b|[A-Z_]*INLINED?\b)"
                     r"[A-Za-z_][\w \*]*?[ \*](?:ROUTINE\()?(\w+)\)?(?=\(|\[| = |;)", re.M)
ENTRY = re.compile(r"^(?:CONTEXT_)?ENTRY\((\w+),(\s*)\(", re.M)  # defines a function: src/driver/driver.h, src/runtime/runtime.h
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.M)
NO_CALL = re.compile(r'/\*.*?\*/|"(?:\\.|[^"\\\n])*"|^[ \t]*#[ \t]*include[^\n]*', re.S | re.M)
USED = re.compile(r"(?<![.\w])(?<!->)(?<!struct )(?<!enum )[A-Za-z_]\w+")
PUBLIC = re.compile(r"tilewright(_\w+)?\.h")  # include/
FUNCTION_LINES, FILE_LINES = 75, 1000
SOURCE_LINES = 800  # of a file of src/ or tools/
SHARED_NAMES = {"CMakeLists.txt", "engine.ts", "README.md", ".gitignore", ".clang-format"}


def sources(root, *tops):
    for top in tops:
        for folder, folders, files in os.walk(os.path.join(root, top)):
            at_root = os.path.normpath(folder) == root  # `build` is a command of tools/, too
            folders[:] = sorted(f for f in folders if not f.startswith((".", "build-", "__")) and not (at_root and f == "build"))
            for name in sorted(files):
                yield os.path.relpath(os.path.join(folder, name), root)


def tracked(root):
    """Returns the project's own files, or None if git does not know them."""
    done = subprocess.run(["git", "-C", root, "ls-files"], capture_output=True, text=True)
    return done.stdout.splitlines() if done.returncode == 0 else None


def line_of(text, at):
    return text.count("\n", 0, at) + 1


def check_includes(root, errors):
    for path in sources(root, "src"):
        if not path.endswith((".c", ".h", ".def")):
            continue
        text = open(os.path.join(root, path)).read()
        room = path.split("/")[1]
        for match in INCLUDE.finditer(text):
            target = match.group(1)
            place = f"{path}:{line_of(text, match.start())}"
            if PUBLIC.fullmatch(target):
                if room != "api":
                    errors.append(f"{place}: only src/api includes public headers")
                continue
            other = target.split("/")[0] if "/" in target else room
            if not os.path.exists(os.path.join(root, "src", target)):
                errors.append(f"{place}: {target} is not written from src/ (\"{room}/…\")")
            elif room == "api" or other == room or other in BELOW.get(room, set()):
                continue
            else:
                errors.append(f"{place}: {room} must not include {target}: {other} is not below it")


def check_tools(root, errors):
    users = defaultdict(set)  # the folders that include each header of tools/cli
    for path in sources(root, "tools", "web/engine"):
        text = open(os.path.join(root, path)).read()
        folder = path.split("/")[1]
        for match in INCLUDE.finditer(text):
            target = match.group(1)
            place = f"{path}:{line_of(text, match.start())}"
            other = target.split("/")[0]
            found = os.path.exists(os.path.join(root, "tools", target))
            if found and other == "cli" and os.path.splitext(path)[0] != os.path.splitext(os.path.join("tools", target))[0]:
                users[target].add(folder)
            if not path.startswith("tools") or PUBLIC.fullmatch(target):
                continue
            if not found:
                errors.append(f"{place}: tools include the public headers alone, not {target}")
            elif "/" in target and other not in {folder, "cli"} | TOOLS_BELOW.get(folder, set()):
                errors.append(f"{place}: {folder} must not include {target}: what several commands share is in tools/cli")
    for target, folders in sorted(users.items()):
        if len(folders) == 1 and folders.isdisjoint({"cli", "engine"}):
            errors.append(f"tools/{target} has users in tools/{folders.pop()} alone: it belongs there")


def check_names(root, errors):
    seen = defaultdict(list)
    for path in tracked(root) or sources(root, "."):
        path = os.path.normpath(path)
        # names that editors and compilers look for; each puzzle has the same files; headers of released versions
        if path.startswith(("editors/", "puzzles/", "web/engine/posix/", "tests/abi/")):
            continue
        if not path.startswith("tests/") or path.endswith((".c", ".h", ".py")):
            seen[os.path.basename(path)].append(path)
    for name, paths in sorted(seen.items()):
        if len(paths) > 1 and name not in SHARED_NAMES:
            errors.append(f"{name} is the name of several files: {', '.join(paths)}")


def check_prefixes(root, errors):
    rooms = defaultdict(set)  # of each prefix
    paths = [p for p in sources(root, "src") if p.endswith((".c", ".h"))]
    for path in paths:
        room, name = path.split("/")[1], os.path.basename(path)
        rooms[name.split(".")[0]].add(room)
    for room in BELOW.keys() | {"api"}:
        rooms[room] = {room}
    for room, nouns in NOUNS.items():
        for noun in nouns.split():
            rooms[noun] = {room}
    for path in paths:
        room = path.split("/")[1]
        text = open(os.path.join(root, path)).read()
        text = WRITTEN_FOR_NAMES.sub(lambda m: re.sub(r"[^\n]", " ", m.group(0)), text)
        for match in OUTSIDE.finditer(ENTRY.sub(r"int \1(\2", text)):
            name = match.group(1)
            words = name.split("_")
            prefixes = ("_".join(words[:n]) for n in range(1, len(words) + 1))
            named = any(room in rooms.get(p, ()) for p in prefixes) or room in PRESCRIBED and PRESCRIBED[room].fullmatch(name)
            if not named and not name.isupper() and not re.match(r"(struct|enum|union) \w+;", match.group(0) + ";"):
                errors.append(f"{path}:{line_of(text, match.start())}: {name} has no prefix of {room}: its name, a file's or a noun of NOUNS "
                              "in scripts/check_structure.py")


def calls_in(root, room):
    """Returns the names that each file of a room uses of each other one, headers by includes."""
    texts = {p: open(os.path.join(root, p)).read() for p in sources(root, os.path.join("src", room)) if p.endswith((".c", ".h"))}
    calls = {p: defaultdict(set) for p in texts}
    homes = defaultdict(set)  # of each name
    for path, text in texts.items():
        for match in OUTSIDE.finditer(ENTRY.sub(r"int \1(\2", WRITTEN_FOR_NAMES.sub("", text))) if path.endswith(".c") else ():
            if not match.group(1).isupper() and not re.match(r"(struct|enum|union) \w+$", match.group(0)):
                homes[match.group(1)].add(path)
    for path, text in texts.items():
        for name in set(USED.findall(NO_CALL.sub("", text))) if path.endswith(".c") else ():
            for home in homes[name] if name in homes and path not in homes[name] else ():
                calls[path][home].add(name)
        for target in INCLUDE.findall(text):
            if os.path.join("src", target) in texts:
                calls[path][os.path.join("src", target)].add("#include")
    return calls


def shortest_circle(calls, start):
    """Returns the files of the shortest way from a file back to it; None: there is none."""
    before, ways = {}, [start]
    for path in ways:
        for other in sorted(calls[path]):
            if other == start:
                circle = [path]
                while circle[-1] != start:
                    circle.append(before[circle[-1]])
                return circle[::-1]
            if other not in before:
                before[other] = path
                ways.append(other)
    return None


# The files of a room call each other in one direction only: no file calls another one that calls it, directly or through others.
def check_circles(root, errors):
    for room in sorted(BELOW.keys() | {"api"}):
        calls = calls_in(root, room)
        circles = [c for c in (shortest_circle(calls, path) for path in sorted(calls)) if c]
        if circles:
            circle = min(circles, key=len)
            steps = (f"{os.path.basename(a)} uses {', '.join(sorted(calls[a][b]))} of {os.path.basename(b)}"
                     for a, b in zip(circle, circle[1:] + circle[:1]))
            errors.append(f"src/{room}: {len(circle)} files call each other in a circle: {'; '.join(steps)}")


# A host program may have called setlocale(), which changes how C's library reads numbers and letters. The command-line program never calls it, so
# tools/ may use printf and strtod.
OF_THE_LOCALE = re.compile(r"\b(strto(?:d|f|ld)|ato[f]|is(?:alpha|alnum|digit|space|print|punct|upper|lower)|to(?:upper|lower)|"
                           r"strcoll|setlocale|uselocale|newlocale|localeconv)\s*\(")
PRINTS = re.compile(r"\b(v?s?n?f?printf|s?scanf)\s*\(([^;]*?);", re.S)
FLOATS = re.compile(r'"[^"]*?(?<!%)(?:%%)*%[-+ #0]*[0-9*]*(?:\.[0-9*]*)?[lL]?[fFeEgGaA](?![a-z_])')
CHANGES_IT = re.compile(r"\b(setlocale|uselocale|newlocale)\s*\(")


def check_locale(root, errors):
    for path in sources(root, "src", "tools"):
        if not path.endswith((".c", ".h")) or path == os.path.join("src", "base", "number.c"):
            continue
        text = open(os.path.join(root, path)).read()
        text = re.sub(r"/\*.*?\*/", lambda m: re.sub(r"[^\n]", " ", m.group(0)), text, flags=re.S)
        for match in (CHANGES_IT if path.startswith("tools") else OF_THE_LOCALE).finditer(text):
            errors.append(f"{path}:{line_of(text, match.start())}: {match.group(1)} follows the host program's locale; "
                          "base/number.h and base/text.h have what does not")
        for match in () if path.startswith("tools") else PRINTS.finditer(text):
            if FLOATS.search(match.group(2)):
                errors.append(f"{path}:{line_of(text, match.start())}: {match.group(1)} has the decimal point of the host program's "
                              "locale; number_format has '.'")


# Messages are for people: a program decides by a status, a tw_code or a field. It may compare whole texts, to print each one once.
SEARCHES = re.compile(r"\b(str(?:case)?str|strn(?:case)?cmp|strpbrk|strchr|strspn|ends_with)\s*\(([^;{}]*)")
OF_MESSAGES = re.compile(r"\b(tw_context_messages|tw_status_text|messages?|rendered|shown|shown_notes|why|why_not|advice|hint|report|"
                         r"checked|undecided|not_simulated|m\.text|(?:finding|problem)->text)\b")


def check_messages(root, errors):
    for path in sources(root, "src", "tools"):
        if not path.endswith((".c", ".h")):
            continue
        text = open(os.path.join(root, path)).read()
        for match in SEARCHES.finditer(text):
            where = match.group(2).split(",")[0].strip()
            if OF_MESSAGES.search(where):
                errors.append(f"{path}:{line_of(text, match.start())}: {match.group(1)}({where}, …) looks for words in a message; "
                              "decide by its status, its tw_code or a field")


# A table of passes; the lists of passes in docs/structure.md: the sentence or the brackets that begin with these words.
PASSES = [
    ("src/api/pass_order.c", re.compile(r'^    \{\w+, "(\w+)", \w+', re.M), re.compile(r"`api/pass_order\.c`: (.*?)\.(?=\s)", re.S)),
    ("src/plan/plan_passes.c", re.compile(r'^    \{"(\w+)", plan_\w+', re.M), re.compile(r"write their decisions into the program\s+\((.*?)\)", re.S)),
]


def check_passes(root, errors):
    page = os.path.join("docs", "structure.md")
    for table, row, words in PASSES:
        names = row.findall(open(os.path.join(root, table)).read())
        place = words.search(open(os.path.join(root, page)).read())
        listed = re.findall(r"`(\w+)`", place.group(1)) if place else []
        if listed != names or not names:
            errors.append(f"{page} lists the passes {', '.join(listed) or '(none)'}; {table} has {', '.join(names) or '(none)'}")


def check_sizes(root, errors, warnings):
    for path in sources(root, "src", "include", "tools", "tests", "bench", "web/engine"):
        if not path.endswith((".c", ".h")):
            continue
        lines = open(os.path.join(root, path)).read().split("\n")
        if len(lines) > SOURCE_LINES and path.startswith(("src", "tools")):
            errors.append(f"{path}: {len(lines)} lines; the most are {SOURCE_LINES}: what are its two subjects?")
        elif len(lines) > FILE_LINES:
            warnings.append(f"{path}: {len(lines)} lines; what are its two subjects?")
        start = None
        for number, line in enumerate(lines, 1):
            if line == "{":
                start = number
            elif line.startswith("}") and start:
                if number - start - 1 > FUNCTION_LINES and not line.startswith("};"):
                    warnings.append(f"{path}:{start - 1}: a function of {number - start - 1} lines")
                start = None


def main():
    root = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(__file__), ".."))
    errors, warnings = [], []
    check_includes(root, errors)
    check_tools(root, errors)
    check_names(root, errors)
    check_prefixes(root, errors)
    check_circles(root, errors)
    check_locale(root, errors)
    check_messages(root, errors)
    check_passes(root, errors)
    check_sizes(root, errors, warnings)
    for text in warnings:
        print(f"warning: {text}")
    for text in errors:
        print(f"error: {text}")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
