#!/usr/bin/env python3
"""The public headers as programs include them: each by itself, in each standard of C and C++, without a warning; also for Windows, if
clang is installed, with the functions imported from a DLL or linked statically."""
import os
import shutil
import subprocess
import sys

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
sys.path.append(os.path.join(ROOT, "scripts"))
import public_headers  # noqa: E402

WARNINGS = "-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wundef -Werror".split()
STANDARDS = {"c": ("c11", "c17"), "c++": ("c++11", "c++17")}
WINDOWS = ["--target=x86_64-pc-windows-msvc", "-ffreestanding"]


def compiled(compiler, language, standard, text, *options):
    """Returns the standard output of the compiler, or None after printing its messages."""
    command = [*compiler.split(), "-x", language, f"-std={standard}", *WARNINGS, "-I", os.path.join(ROOT, "include"), *options, "-"]
    done = subprocess.run(command, input=text, capture_output=True, text=True)
    if done.returncode != 0:
        print(f"{' '.join(command)}\n{text}{done.stderr}")
        return None
    return done.stdout


def found(*names):
    return next((name for name in names if name and shutil.which(name.split()[0])), None)


def check_alone(compilers):
    names = [os.path.basename(path) for path in public_headers.paths()]
    texts = [f'#include "{name}"\n' for name in names] + ["".join(f'#include "{name}"\n' for name in reversed(names))]
    return [compiled(compiler, language, standard, text, "-fsyntax-only")
            for language, compiler in compilers.items() for standard in STANDARDS[language] for text in texts]


def check_windows(clang):
    text = '#include "tilewright.h"\nconst char *call(void);\nconst char *call(void) { return tw_version(); }\n'
    wrong = []
    for options, storage in (([], True), (["-DTW_STATIC"], False)):
        code = compiled(clang, "c", "c11", text, *WINDOWS, *options, "-S", "-emit-llvm", "-o", "-")
        if code is None or ("declare dllimport" in code) != storage:
            wrong.append(f"Windows {options}: tw_version is {'not ' if storage else ''}imported from a DLL")
    for language, standards in STANDARDS.items():
        for standard in standards:
            everything = "".join(f'#include "{os.path.basename(path)}"\n' for path in public_headers.paths())
            if compiled(clang, language, standard, everything, *WINDOWS, "-fsyntax-only") is None:
                wrong.append(f"Windows: {standard}")
    return wrong


def check_helpers(compiler):
    """tw_host_array itself converts extents of any integer type."""
    text = ('#include "tilewright.h"\ntw_array all(const float *x, size_t rows, unsigned columns);\n'
            "tw_array all(const float *x, size_t rows, unsigned columns)\n"
            "{\n    return tw_host_array(x, TW_F32, rows, columns);\n}\n")
    return compiled(compiler, "c", "c11", text, "-Wsign-conversion", "-fsyntax-only")


def main():
    compilers = {"c": os.environ.get("CC", "cc"), "c++": found(os.environ.get("CXX"), "g++", "clang++", "c++")}
    wrong = [] if all(out is not None for out in check_alone({k: v for k, v in compilers.items() if v})) else ["a header has warnings"]
    if check_helpers(compilers["c"]) is None:
        wrong.append("tw_host_array has warnings")
    clang = found("clang", "clang-19")
    if clang:
        wrong += check_windows(clang)
    else:
        print("skipped: Windows, there is no clang")
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
