#!/usr/bin/env python3
"""bench/kernel_table.py with a driver that executes PTX on the host, and with a profiler that gives 75 for every metric.

    table_on_host.py TILEWRIGHT
"""
import os
import stat
import subprocess
import sys
import tempfile

from tile_runner import fail

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROFILER = """#!{python}
import sys
if "--query-metrics" in sys.argv:
    print("Device TEST\\nsm__pipe_fma_cycles_active  Counter\\nsmsp__issue_active  Counter")
else:
    names = sys.argv[sys.argv.index("--metrics") + 1].split(",")
    for row in (["ID", *names], ["", *["%"] * len(names)], ["0", *["75.0"] * len(names)]):
        print(",".join(f'"{{cell}}"' for cell in row))
"""


def table(tool, profiler=None):
    words = [sys.executable, os.path.join(ROOT, "bench", "kernel_table.py"), tool, "-k", "single_block/single"]
    path = os.environ["PATH"]
    done = subprocess.run(words, capture_output=True, text=True, env={**os.environ, "PATH": f"{profiler}:{path}" if profiler else path})
    lines = [line for line in done.stdout.split("\n") if line.startswith("| `single_block/single_block` | f32 |")]
    if done.returncode or len(lines) != 2:
        fail(f"status {done.returncode}:\n{done.stdout}{done.stderr}")
    return lines


def expect(line, *wanted):
    for text in wanted:
        if text not in line:
            fail(f"no '{text}' in: {line}")


def main():
    tool = os.path.abspath(sys.argv[1])
    resources, counters = table(tool)
    expect(resources, "| 9 |", "32 of 64", "HBM 0 %")
    expect(counters, "6 / –")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "ncu")
        with open(path, "w") as file:
            file.write(PROFILER.format(python=sys.executable))
        os.chmod(path, stat.S_IRWXU)
        resources, counters = table(tool, folder)
    expect(resources, "fma 75 %")
    expect(counters, "6 / 75", "3 / 150")


if __name__ == "__main__":
    main()
