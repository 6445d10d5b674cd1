#!/usr/bin/env python3
"""scripts/check_structure.py finds a planted fault of each kind, and none in the same tree without it."""
import os
import subprocess
import sys
import tempfile

from tile_runner import fail

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SCRIPT = os.path.join(ROOT, "scripts", "check_structure.py")
SOUND = {
    "include/tilewright.h": "",
    "src/base/text.h": "void text_add(void);\n",
    "src/base/text.c": '#include "base/text.h"\n\nvoid text_add(void)\n{\n}\n',
    "src/ptx/ptx_print.c": "void ptx_print(void)\n{\n}\n",
    "src/ptx/ptx_parse.c": "void ptx_parse(void)\n{\n    ptx_print();\n}\n",
    "src/ptx/ptx_lines.c": "void ptx_lines(void)\n{\n    ptx_parse();\n}\n",
    "tools/show/cmd_show.c": '#include "tilewright.h"\n#include "cli/json.h"\n',
    "tools/run/cmd_run.c": '#include "cli/json.h"\n',
    "tools/run/run.h": "",
    "tools/cli/json.h": "",
    "tools/cli/json.c": '#include "cli/json.h"\n',
    "tools/explain/cmd_explain.c": '#include "run/run.h"\n',
    "build/text.c": "",  # what a build writes has no rules
    "build-test/text.c": "",
    "src/api/pass_order.c": 'static const struct pass pass_order_list[] = {\n    {EVERY_KERNEL, "fold", pass_fold, ""},\n'
                         '    {WITHOUT_ROLES, "rows", pass_rows,\n     ""},\n};\n',
    "src/plan/plan_passes.c": 'static const struct plan_pass plan_pass_list[] = {\n    {"units", plan_units, "", false},\n};\n',
    "docs/structure.md": "3. `api/pass_order.c`: `fold`,\n   `rows`. Each is a file.\n5. They write their decisions into the program\n   (`units`: the units).\n",
}
# (the file, what it holds, a part of the message)
FAULTS = [
    ("src/ptx/ptx_print.c", "void ptx_print(void)\n{\n    ptx_lines();\n}\n",
     "src/ptx: 3 files call each other in a circle: ptx_lines.c uses ptx_parse of ptx_parse.c; ptx_parse.c uses ptx_print of ptx_print.c; "
     "ptx_print.c uses ptx_lines of ptx_lines.c"),
    ("src/base/text.c", '#include "ptx/ptx_print.c"\n', "src/base/text.c:1: base must not include ptx/ptx_print.c: ptx is not below it"),
    ("src/ptx/ptx_print.c", '#include "text.h"\n', "src/ptx/ptx_print.c:1: text.h is not written from src/"),
    ("src/ptx/ptx_print.c", '#include "tilewright.h"\n', "src/ptx/ptx_print.c:1: only src/api includes public headers"),
    ("tools/show/cmd_show.c", '#include "base/text.h"\n', "tools/show/cmd_show.c:1: tools include the public headers alone, not base/text.h"),
    ("tools/show/cmd_show.c", '#include "cli/json.h"\n#include "run/run.h"\n',
     "tools/show/cmd_show.c:2: show must not include run/run.h: what several commands share is in tools/cli"),
    ("tools/show/cmd_show.c", "", "tools/cli/json.h has users in tools/run alone: it belongs there"),
    ("src/sim/text.c", "", "text.c is the name of several files: src/base/text.c, src/sim/text.c"),
    ("tools/build/text.c", "", "text.c is the name of several files: src/base/text.c, tools/build/text.c"),
    ("src/ptx/ptx_lines.c", "void write_lines(void)\n{\n}\n", "src/ptx/ptx_lines.c:1: write_lines has no prefix of ptx"),
    ("src/ptx/ptx_lines.c", "static double f(void)\n{\n    return strtod(s, e);\n}\n", "src/ptx/ptx_lines.c:3: strtod follows the host program's locale"),
    ("src/ptx/ptx_lines.c", 'static void f(void)\n{\n    snprintf(s, 9, "%g", x);\n}\n', "src/ptx/ptx_lines.c:3: snprintf has the decimal point"),
    ("src/ptx/ptx_lines.c", 'static bool f(void)\n{\n    return strstr(messages, "race");\n}\n', "ptx_lines.c:3: strstr(messages, …) looks for words"),
    ("docs/structure.md", SOUND["docs/structure.md"].replace("`fold`,\n   ", ""),
     "docs/structure.md lists the passes rows; src/api/pass_order.c has fold, rows"),
    ("docs/structure.md", SOUND["docs/structure.md"].replace("`fold`,\n   `rows`", "`rows`, `fold`"), "lists the passes rows, fold; src/api/pass_order.c"),
    ("docs/structure.md", SOUND["docs/structure.md"].replace("units", "copiers"), "lists the passes copiers; src/plan/plan_passes.c has units"),
    ("src/plan/plan_passes.c", SOUND["src/plan/plan_passes.c"].replace("};", '    {"copiers", plan_copiers, "", true},\n};'),
     "lists the passes units; src/plan/plan_passes.c has units, copiers"),
    ("docs/structure.md", "3. `api/pass_order.c` has all.\n", "lists the passes (none); src/api/pass_order.c has fold, rows"),
    ("src/ptx/ptx_lines.c", "\n" * 800, "src/ptx/ptx_lines.c: 801 lines; the most are 800"),
    ("src/ptx/ptx_lines.c", "static void f(void)\n{\n" + "    g();\n" * 80 + "}\n", "warning: src/ptx/ptx_lines.c:1: a function of 80 lines"),
]


def said_of(files):
    with tempfile.TemporaryDirectory() as folder:
        for path, text in files.items():
            os.makedirs(os.path.dirname(f"{folder}/{path}"), exist_ok=True)
            with open(f"{folder}/{path}", "w") as out:
                out.write(text)
        return subprocess.run([sys.executable, SCRIPT, folder], capture_output=True, text=True)


def main():
    sound = said_of(SOUND)
    if sound.returncode or sound.stdout or sound.stderr:
        fail(f"a sound tree is refused: {sound}")
    for path, text, wanted in FAULTS:
        said = said_of({**SOUND, path: text})
        if wanted not in said.stdout or said.stderr or (said.returncode == 0) != wanted.startswith("warning"):
            fail(f"{path} with {text[:200]!r}: no '{wanted}' in: {said}")


if __name__ == "__main__":
    main()
