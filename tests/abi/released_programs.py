#!/usr/bin/env python3
"""Programs of released versions run with the library that was just built, and twins of the present headers that scripts/check_abi.py must
catch or accept.

    released_programs.py LIBRARY    (with CC, CFLAGS, FAKE_CUDA in the environment)
"""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "..", "..", "scripts"))
import check_abi  # noqa: E402
import public_headers  # noqa: E402

# (the change in words, header, old text, new text, message of check_abi.py; None: accepted)
TWINS = (
    ("a function is removed", "tilewright.h", "TW_API tw_status tw_launch_check(tw_launch *l);", "", "function tw_launch_check was removed"),
    ("a function has another parameter", "tilewright_gpu.h", "tw_launch_ready(tw_launch *l, void *stream);",
     "tw_launch_ready(tw_launch *l, void *stream, int flags);", "tw_launch_ready was"),
    ("a function returns another type", "tilewright.h", "TW_API size_t tw_dtype_size(", "TW_API int tw_dtype_size(", "tw_dtype_size was"),
    ("a status has another number", "tilewright.h", "X(TW_FAULT, 5,", "X(TW_FAULT, 12,", "TW_FAULT was 5, and is 12"),
    ("a value of an enum is removed", "tilewright.h", "TW_ON_HOST, TW_ON_DEVICE", "TW_ON_DEVICE = 1", "TW_ON_HOST was 0, and was removed"),
    ("codes are in another order", "tilewright.h", "    X(TW_CODE_SYNTAX,", "    X(TW_CODE_NEW, \"new\", \"new\") \\\n    X(TW_CODE_SYNTAX,",
     "TW_CODE_SYNTAX was 1, and is 2"),
    ("a field is removed", "tilewright.h", "    double max_error;", "    //", "tw_verdict.max_error was removed"),
    ("a field is new in the middle", "tilewright.h", "    double max_error;", "    double new_error; double max_error;", "tw_verdict.max_error moved"),
    ("a field is new in the padding", "tilewright.h", "    bool ok;", "    bool ok, new_one;", "tw_verdict.new_one is new at offset"),
    ("a field has another type of the same size", "tilewright.h", "    double max_error;", "    int64_t max_error;", "tw_verdict.max_error was `double max_error`"),
    ("a field is longer", "tilewright_entry.h", "    char text[1024];", "    char text[2048];", "tw_error.text moved"),
    ("a struct is removed", "tilewright_gpu.h", "tw_launch_attributes", "tw_launch_hints", "struct tw_launch_attributes was removed"),
    ("a value grows", "tilewright.h", "    tw_value_kind kind;\n    union {", "    tw_value_kind kind;\n    union { double pair[2];", "tw_value never changes"),
    ("an element of a plain array grows", "tilewright_sim.h", "} tw_sim_finding;\n", "    int64_t new_one;\n} tw_sim_finding;\n",
     "tw_sim_finding never changes"),
    ("an element of a plain array of counters grows", "tilewright_sim.h", "} tw_line_counters;\n", "    int64_t new_one;\n} tw_line_counters;\n",
     "tw_line_counters never changes"),
    ("an initialiser is removed", "tilewright.h", "TW_SIZED(tw_verdict);", "", "inline function tw_verdict_init was removed"),
    ("a changing header changes", "tilewright_sim.h", "    int64_t failures;", "    int failures;", "tw_sim_result.failures moved"),
    ("a field is new at the end", "tilewright.h", "} tw_verdict;\n", "    double new_error;\n} tw_verdict;\n", None),
    ("a field is new at the end of a struct that one pointer gives", "tilewright_sim.h", "} tw_why;\n", "    int64_t new_one;\n} tw_why;\n", None),
    ("a function is new", "tilewright.h", "TW_API tw_status tw_launch_check(", "TW_API int tw_new(void);\nTW_API tw_status tw_launch_check(", None),
    ("a status is new", "tilewright.h", "    X(TW_CANCELLED, 9,", "    X(TW_NEW, 12, \"new\") \\\n    X(TW_CANCELLED, 9,", None),
    ("the major version differs, a field has another name", "tilewright.h", '#define TW_VERSION "1.0.0"',
     '#define TW_VERSION "2.0.0"\n#define max_error worst_error', None),
    ("the minor version differs, a field of a changing header has another name", "tilewright.h", '#define TW_VERSION "1.0.0"',
     '#define TW_VERSION "1.1.0"\n#define failures failed', None),
    ("the minor version differs, a field of a stable header has another name", "tilewright.h", '#define TW_VERSION "1.0.0"',
     '#define TW_VERSION "1.1.0"\n#define max_error worst_error', "tw_verdict.max_error was removed"),
)


def run(command, **more):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300, **more)


def check_program(version, frozen, library, folder):
    """Compiles and runs the version's program."""
    source, program = os.path.join(HERE, version, "program.c"), os.path.join(folder, f"program-{version}")
    text = open(source).read()
    for what, declared in (("function", frozen.functions), ("struct", frozen.structs)):
        unused = [name for name, (header, _) in declared.items() if header in check_abi.STABLE and not re.search(rf"\b{name}(_init)?\b", text)]
        if unused:
            yield f"{source} does not use {what} {', '.join(unused)}"
    done = run([*os.environ.get("CC", "cc").split(), *os.environ.get("CFLAGS", "").split(), "-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror",
                "-I", os.path.join(HERE, version), source, library, f"-Wl,-rpath,{os.path.dirname(library)}", "-o", program])
    if done.returncode == 0:
        done = run([program, folder], env={**os.environ, "TILEWRIGHT_CUDA_DRIVER": os.environ["FAKE_CUDA"]})
    if done.returncode != 0 or f"as in {version}" not in done.stdout:
        yield f"{source}: status {done.returncode}\n{done.stdout}"


def check_twins(folder):
    """Compares the present headers with twins of them."""
    present = check_abi.Headers(public_headers.FOLDER)
    for number, (what, header, old, new, expected) in enumerate(TWINS):
        twin = os.path.join(folder, f"twin{number}")
        shutil.copytree(public_headers.FOLDER, twin)
        with open(os.path.join(twin, header), "r+") as file:
            text = file.read()
            if old not in text:
                yield f"{what}: {header} has no `{old}`"
                continue
            file.seek(0)
            file.truncate()
            file.write(text.replace(old, new))
        found = list(check_abi.differences(present, check_abi.Headers(twin)))
        if (not any(expected in line for line in found)) if expected else found:
            yield f"{what}: check_abi.py says {found}, expected {expected or 'nothing'}"


def main():
    library = os.path.abspath(sys.argv[1])
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        versions = [os.path.basename(path) for path in sorted(glob.glob(os.path.join(HERE, "[0-9]*")))]
        if not versions:
            wrong.append("there is no released version")
        present = check_abi.Headers(public_headers.FOLDER)
        for version in versions:
            frozen = check_abi.Headers(os.path.join(HERE, version))
            wrong += check_abi.differences(frozen, present, library)
            if frozen.version[0] == present.version[0]:
                wrong += check_program(version, frozen, library, folder)
        wrong += check_twins(folder)
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
