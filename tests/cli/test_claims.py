#!/usr/bin/env python3
"""The simulator checks the claims of a program: `assume`, and slices marked `inside` by hand. Each claim has a clean twin without a
message, and a broken one that `run --device sim` and `check` report at the user's line with the values."""
import json
import os
import sys
import tempfile

from tile_runner import call, expect

WARPS = """kernel k(i32 n, const f32 *a, f32 *c) grid(cdiv(n, 32)) warps(2)
{{
    global f32 A[n] = a, C[n] = c;
    i32 i = block.x * 32;
{body}
}}
"""
THREADS = WARPS.replace("warps(2)", "threads(32)").replace("* 32;", "* 32 + thread.x;")
COPY = "    C[i +: 32] = A[i +: 32];\n"

# name: (head, body, n of a clean run, n of a broken one, kind, line, message)
TWINS = {
    "assume of a parameter": (WARPS, "    assume(n % 4 == 0);\n" + COPY, 68, 70, "assume", 5, "assume(n % 4 == 0) does not hold: n = 70"),
    "assume of two names": (WARPS, "    assume(n >= i + 32);\n" + COPY, 64, 70, "assume", 5, "assume(n >= i + 32) does not hold: n = 70, i = 64"),
    "assume in a loop": (WARPS, "    for (i32 p = 0; p < n; p += 32)\n        assume(p + 32 <= n);\n" + COPY, 64, 70, "assume", 6,
                         "assume(p + 32 <= n) does not hold: p = 64, n = 70"),
    "assume of memory": (WARPS, "    assume(A[i] < 1.5);\n" + COPY, 32, None, "assume", 5, None),
    "assume of a float": (WARPS, "    f32 x = (f32) n * 0.5;\n    assume(x < 33.0);\n" + COPY, 64, 67, "assume", 6, "does not hold: x = 33.5"),
    "assume of a thread": (THREADS, "    if (i < n) {\n        assume(i < 40);\n        C[i] = A[i];\n    }\n", 40, 41, "assume", 6,
                           "assume(i < 40) does not hold: i = 40"),
    "slice that is read": (WARPS, "    C[i +: 32] = A[i +: 32 inside];\n", 64, 70, "inside", 5,
                           "the slice 64 +: 32 is marked `inside` but reaches outside axis 0 of A (extent 70)"),
    "slice that is written": (WARPS, "    C[i +: 32 inside] = A[i +: 32];\n", 64, 70, "inside", 5, "the slice 64 +: 32 is marked `inside`"),
    "slice below 0": (WARPS, "    C[i - n + 32 +: 32 inside] = A[i +: 32];\n", 32, 70, "inside", 5, "the slice -38 +: 32 is marked `inside`"),
    "slice of a thread": (THREADS, "    if (i < n / 4) C[i * 4 +: 4] = A[i * 4 + n / 66 +: 4 inside];\n", 64, 68, "inside", 5,
                          "the slice 65 +: 4 is marked `inside`"),
    "slice of a copy": (WARPS, "    shared f32 s[32];\n    async s = A[i +: 32 inside];\n    async_commit();\n    async_wait(0);\n    sync();\n"
                               "    C[i +: 32] = s;\n", 64, 70, "inside", 6, "the slice 64 +: 32 is marked `inside`"),
    "slice of a pipeline": (WARPS, "    reg f32 x[32] = 0;\n    pipeline(2) for (i32 p = 0; p < n; p += 32) {\n        shared f32 s[32] = A[p +: 32 inside];\n"
                                   "        x += s;\n    }\n    C[i +: 32] = x;\n", 64, 70, "inside", 7, "the slice 64 +: 32 is marked `inside`"),
    "slice of one arm": (WARPS, "    C[i +: 32] = i + 32 <= n ? A[i +: 32 inside] : A[i +: 32] * 1;\n", 70, None, "inside", 5, None),
    "slice of an arm that reads": (WARPS, "    C[i +: 32] = n > 99999 ? A[(i32) A[99999] +: 32 inside] : A[i +: 32] * 1;\n", 70, None, "inside",
                                   5, None),
    "slice of the wrong arm": (WARPS, "    C[i +: 32] = i + 32 > n ? A[i +: 32 inside] : A[i +: 32];\n", 64, 70, "inside", 5,
                               "the slice 64 +: 32 is marked `inside`"),
}

# Faults that the CPU engine, which `check` runs first, does not see: its tuned values differ, and its blocks run in turn.
CHECKED_INSIDE = """tune(cpu) W = {{1}};
tune W = {{{width}}};
kernel k(i32 n, const f32 *a, f32 *c) grid(n) warps(1)
{{
    global f32 A[n] = a, C[n] = c;
    reg f32 x[W] = A[block.x +: W inside];
    C[block.x] = max(x);
}}
"""
TURN = """kernel k(i32 n, f32 *c) grid(n) warps(1)
{{
    global f32 C[n] = c;
    global i32 turn[1] = 0;
    i32 t = atomic_add(turn[0], 1);
    assume({claim});
    C[block.x] = 1;
}}
"""


def run(tool, folder, text, n):
    with open(f"{folder}/k.tile", "w") as out:
        out.write(text)
    return call([tool, "run", "k.tile", "--set", f"n={n}", "--fill", "rand", "--device", "sim"], cwd=folder)


def check(tool, folder, text):
    with open(f"{folder}/k.tile", "w") as out:
        out.write(text)
    return call([tool, "check", "k.tile", "--json"], cwd=folder)


def on_sim(tool, folder):
    for name, (head, body, clean, broken, kind, line, said) in TWINS.items():
        text = head.format(body=body)
        result = run(tool, folder, text, clean)
        expect(result.status == 0 and not result.err, f"{name}, clean: {result}")
        if broken is None:
            continue
        result = run(tool, folder, text, broken)
        expect(result.status == 1 and f"k.tile:{line}:" in result.err and f"error: {kind}: " in result.err and said in result.err,
               f"{name}, broken: {result}")
        counted = call([tool, "run", "k.tile", "--set", f"n={clean}", "--fill", "rand", "--device", "sim", "--counters"], cwd=folder)
        expect("claim" not in counted.out, f"{name}: the counted instructions are those of a GPU: {counted}")
        shown = call([tool, "show", "k.tile", "--stage", "ptx", "--target", "sm_90"], cwd=folder)
        expect(shown.status == 0 and "$claim" not in shown.out, f"{name}: a GPU checks nothing: {shown}")


def in_check(tool, folder):
    for text, kind, line in ((CHECKED_INSIDE, "inside", 6), (TURN, "assume", 6)):
        good, bad = ({"width": 1}, {"width": 2}) if kind == "inside" else ({"claim": "t < n"}, {"claim": "t == block.x"})
        result = check(tool, folder, text.format(**good))
        expect(result.status == 0, f"{kind}, clean: {result}")
        result = check(tool, folder, text.format(**bad))
        expect(result.status == 1, f"{kind}, broken: {result}")
        findings = [f for report in json.loads(result.out) for f in report["findings"]]
        expect(any(f.get("kind") == kind and f.get("line") == line for f in findings), f"{kind}, broken: {findings}")


def main():
    tool = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        on_sim(tool, folder)
        in_check(tool, folder)


if __name__ == "__main__":
    main()
