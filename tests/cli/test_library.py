#!/usr/bin/env python3
"""The shared library as an engine links it: its size, its dependencies, its exports with their version, the cost of a launch. The library for the
CPU: its size, the first call of a kernel. The table of statuses in docs/embedding.md."""
import os
import re
import shlex
import subprocess
import sys
import tempfile

from counted_time import counted_instructions, counted_time

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "scripts"))
import public_headers  # noqa: E402

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
MOST_BYTES = 2_660_000  # stripped
MOST_CPU_BYTES = 600_000  # of libtilewright_cpu.a in a program that uses all of it, stripped
LAUNCH_LIMIT = 5.0  # microseconds, of a product of 16 x 16 x 16
# What the first call of a small kernel compiled ahead of time takes: the time of a page fault is about that of 10,000 instructions. Both together
# take 33 to 60 microseconds on processors of 2023, most of them for the faults.
FIRST_CALL_FAULTS, FIRST_CALL_INSTRUCTIONS = 16, 80_000
ROUNDS, BATCH = 5, 100  # BATCH: launches, as in bench/launch_cpu.c
C_LIBRARY = r"linux-vdso|linux-gate|libc\.|libm\.|libpthread\.|libdl\.|ld-linux|ld-musl|ld64"


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def stripped_bytes(library, folder):
    path = os.path.join(folder, "stripped.so")
    subprocess.run([os.environ.get("STRIP", "strip"), "-o", path, library], check=True)
    return os.path.getsize(path)


def cpu_bytes(library, folder):
    """Returns the bytes of a stripped shared library that has all of libtilewright_cpu.a."""
    path = os.path.join(folder, "cpu.so")
    subprocess.run([*shlex.split(os.environ.get("CC", "cc")), "-shared", "-o", path, "-Wl,--whole-archive", library, "-Wl,--no-whole-archive",
                    "-Wl,-z,noseparate-code,--gc-sections,-z,pack-relative-relocs", "-lm", "-lpthread"], check=True)
    return stripped_bytes(path, folder)


def strangers(library):
    """Returns the libraries that it is linked to, except the C library."""
    lines = [line.strip() for line in output("ldd", library).splitlines()]
    return [line for line in lines if line and not re.search(C_LIBRARY, line)]


def unversioned(library):
    """Returns exported names that are not tw_… with the version of CMake's map."""
    lines = [line.split() for line in output("nm", "-D", "--defined-only", library).splitlines()]
    return [parts[-1] for parts in lines if parts[1] != "A" and not re.fullmatch(r"tw_\w+@@TILEWRIGHT_1\.0", parts[-1])]


def declared():
    return set(re.findall(r"^TW_API [^;]*?\b(tw_\w+)\(", public_headers.text(), re.M))


def exported(library):
    return {line.split()[-1].partition("@")[0] for line in output("nm", "-D", "--defined-only", library).splitlines()} - {"TILEWRIGHT_1.0"}


def launch_times(library, folder):
    """Returns {way: least microseconds}. A way over the limit gets more rounds, because the machine may have been busy; if it remains over
    the limit, its instructions decide."""
    program = os.path.join(folder, "launch_cpu")
    subprocess.run([*shlex.split(os.environ.get("CC", "cc")), "-O2", "-D_POSIX_C_SOURCE=200809L", "-I", os.path.join(ROOT, "include"),
                    os.path.join(ROOT, "bench", "launch_cpu.c"), library, "-Wl,-rpath," + os.path.dirname(library),
                    "-o", program], check=True)
    least = {}
    for _ in range(ROUNDS):
        for words in map(str.split, output(program).splitlines()):
            least[words[0]] = min(float(words[-2]), least.get(words[0], float(words[-2])))
        if max(least.values()) < LAUNCH_LIMIT:
            break
    for way in [way for way, us in least.items() if us >= LAUNCH_LIMIT]:
        least[way] = min(least[way], 1e3 * counted_time(program, way) / BATCH)
    return least


def first_call(tool, folder):
    """Returns the page faults and the instructions of the first call of a kernel that was compiled ahead of time for the CPU."""
    program = os.path.join(folder, "first_call")
    output(tool, "build", os.path.join(ROOT, "kernels/fused/softmax.tile"), "--device", "cpu", "--name", "rows", "--set", "cols=64", "--out", folder)
    subprocess.run([*shlex.split(os.environ.get("CC", "cc")), "-O2", "-D_POSIX_C_SOURCE=200809L", "-I", folder, "-I", os.path.join(ROOT, "include"),
                    os.path.join(ROOT, "bench", "first_call.c"), os.path.join(folder, "rows.c"),
                    os.path.join(os.path.dirname(tool), "libtilewright_cpu.a"), "-lm", "-lpthread", "-o", program], check=True)
    faults = min(int(re.search(r"page faults of call 1: (\d+)", output(program)).group(1)) for _ in range(5))
    return faults, counted_instructions(program, runs=(0, 1))


def undocumented():
    """Returns rows of the table of statuses that docs/embedding.md does not have word for word."""
    with open(os.path.join(ROOT, "include", "tilewright.h")) as header, open(os.path.join(ROOT, "docs", "embedding.md")) as page:
        rows = re.findall(r'X\((TW_\w+), (\d+), "(.*?)"\)', header.read())
        lines = page.read().splitlines()
    return [name for name, value, text in rows if f"| `{name}` | {value} | {text} |" not in lines]


def main():
    library = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(sys.argv[1])), "libtilewright.so"))
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        size = stripped_bytes(library, folder)
        if size > MOST_BYTES:
            wrong.append(f"{size} bytes stripped; at most {MOST_BYTES}")
        cpu = cpu_bytes(os.path.join(os.path.dirname(library), "libtilewright_cpu.a"), folder)
        if cpu > MOST_CPU_BYTES:
            wrong.append(f"libtilewright_cpu.a: {cpu} bytes stripped; at most {MOST_CPU_BYTES}")
        faults, instructions = first_call(os.path.abspath(sys.argv[1]), folder)
        if faults > FIRST_CALL_FAULTS or (instructions or 0) > FIRST_CALL_INSTRUCTIONS:
            wrong.append(f"the first call of a kernel for the CPU takes {faults} page faults and {instructions} instructions; at most "
                         f"{FIRST_CALL_FAULTS} and {FIRST_CALL_INSTRUCTIONS}")
        wrong += [f"needs {line}" for line in strangers(library)]
        wrong += [f"exports {name}" for name in unversioned(library)]
        wrong += [f"{name} is declared and not exported" for name in sorted(declared() - exported(library))]
        wrong += [f"{name} is exported and not declared" for name in sorted(exported(library) - declared())]
        wrong += [f"docs/embedding.md: no row of {name}" for name in undocumented()]
        wrong += [f"{way}: {us} us" for way, us in launch_times(library, folder).items() if us >= LAUNCH_LIMIT]
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
