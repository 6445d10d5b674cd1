#!/usr/bin/env python3
"""How many threads have a fault: each finding of counted.cu gives the number that compute-sanitizer counts as errors, as text, JSON and SARIF.
--keep-going finds the faults of launches after the first bad access."""
import json
import sys
import tempfile

from app_runner import build, libraries, nvcc, ptx_alone
from tile_runner import call, expect

# of an argument: the finding, the number for the text, `count`, `threads`, and the bytes of a race
COUNTS = {"add": ("uninitialised", "[144 times]", 144, 144, None),  # 2 * 96 values less a quarter
          "sum": ("uninitialised", "[160 times]", 160, 160, None),  # 5 reads by each of 32 threads
          "twice": ("uninitialised", "", 1, 1, None),
          "far": ("out-of-bounds", "[6 times]", 6, 6, None),  # 96 values from number 102 of 192 on
          "odd": ("misaligned", "[66 times]", 66, 66, None),
          "meet": ("divergent-barrier", "[32 threads]", 1, 32, None),  # 27 at the barrier and 5 beyond it
          "warp": ("warp-sync", "[3 threads]", 1, 3, None),
          "gather": ("race", "[95 times]", 95, None, 380)}  # all values but the thread's own


def check_counts(tool, program, what):
    kind, said, count, threads, shared = COUNTS[what]
    for jobs in "12":
        done = call([tool, "check", "--threads", jobs, "--json", "--", program, what])
        found = {f["kind"]: f for f in json.loads(done.out)["findings"] if f["fails"]}
        expect(done.status == 1 and kind in found, f"{what}: {done}")
        got = found[kind]["finding"]
        expect((got["count"], got.get("threads"), got.get("bytes")) == (count, threads, shared), f"{what}: {got}")
        first = found[kind]["text"].splitlines()[0]
        expect(first.endswith(f" {said}") if said else "[" not in first, f"{what}: {first}")


def main():
    tool = sys.argv[1]
    libraries(tool, "libcudart.so.13")
    nvcc()
    with tempfile.TemporaryDirectory() as folder:
        program = build(folder, "counted.cu", *ptx_alone())
        done = call([tool, "check", "--strict", "--", program])
        expect(done.status == 0 and done.err == "", done)
        for what in COUNTS:
            check_counts(tool, program, what)
        done = call([tool, "check", "--sarif", f"{folder}/found", "--", program, "meet"])
        with open(f"{folder}/found") as f:
            results = json.load(f)["runs"][0]["results"]
        expect([r["occurrenceCount"] for r in results if r["ruleId"] == "divergent-barrier"] == [32], results)
        done = call([tool, "check", "--", program, "two"])
        expect(done.status == 1 and done.out == 2 * "an illegal memory access was encountered\n", done)
        expect("out-of-bounds" in done.err and "misaligned" not in done.err, done)
        for command in ("check", "run"):
            done = call([tool, command, "--keep-going", "--", program, "two"])
            expect(done.status == 1 and done.out.startswith(2 * "no error\n"), done)
            expect("error: out-of-bounds: " in done.err and "error: misaligned: " in done.err, done)


if __name__ == "__main__":
    main()
