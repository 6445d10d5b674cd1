#!/usr/bin/env python3
"""Wrong values because zeros are read past an edge: the note names the slice, the reduction and the fix. The kernel that follows the
advice is clean, and wrong values of another cause get no such note."""
import subprocess
import sys
import tempfile

TOOL = sys.argv[1]

KERNEL = """kernel f(i32 n, i32 d, const f32 *a, f32 *c) grid(n) warps(1)
{
    assume(d <= 128);
    global f32 A[n][d] = a, C[n][d] = c;
    reg f32 t[128] = A[block.x][0 +: 128]%s;
    C[block.x][0 +: 128] = %s;
    ensures C == %s;
}
"""
WHOLE = {
    "t - max(t)": "A - max(A, axis = 1)",
    "t - min(t)": "A - min(A, axis = 1)",
    "exp(t) / sum(exp(t))": "exp(A) / sum(exp(A), axis = 1)",
    "t / sum(square(t - 1))": "A / sum(square(A - 1), axis = 1)",
    "t / sum(square(where(iota(128) < d, t - 1, 0)))": "A / sum(square(A - 1), axis = 1)",
    "t - sum(t) - 1": "A - sum(A, axis = 1)",
}
#        value                     `else`         the note, or None: no note; "": clean
CASES = (("t - max(t)", "", "the `max` of line 6 counts them: write `else -inf` after it"),
         ("t - max(t)", " else -inf", ""),
         ("t - min(t)", "", "the `min` of line 6 counts them: write `else inf` after it"),
         ("t - min(t)", " else inf", ""),
         ("exp(t) / sum(exp(t))", "", "the `sum` of line 6 counts what becomes of them: write `else -inf` after it"),
         ("exp(t) / sum(exp(t))", " else -inf", ""),
         ("t / sum(square(t - 1))", "", "counts what becomes of them: mask them with `where` before it"),
         ("t / sum(square(where(iota(128) < d, t - 1, 0)))", "", ""),
         ("t - sum(t) - 1", "", None))

# Two inputs and two outputs: the note names the reduction that the wrong values come from, and the slice that this one counts.
TWO = """kernel f(i32 n, i32 d, const f32 *a, const f32 *b, f32 *c, f32 *e) grid(n) warps(1)
{
    assume(d <= 128);
    global f32 A[n][d] = a, B[n][d] = b, C[n][d] = c, E[n][d] = e;
    reg f32 t[128] = A[block.x][0 +: 128], u[128] = B[block.x][0 +: 128];
%s
    ensures C == %s;
    ensures E == %s;
}
"""
#             body, line 6 on                                                                            C, E                               the note's slice and words
TWO_CASES = (("    E[block.x][0 +: 128] = max(u) + 0 * u;\n    C[block.x][0 +: 128] = t * 2;", "A", "B * 0 + max(B, axis = 1)", None),
             ("    C[block.x][0 +: 128] = t * max(u);\n    E[block.x][0 +: 128] = u;", "A * max(B, axis = 1)", "B", "B", "`max` of line 6"),
             ("    reg f32 m[1] = max(u);\n    reg f32 s[1] = sum(t);\n    E[block.x][0 +: 128] = u * 0 + m;\n    C[block.x][0 +: 128] = t - s - 1;",
              "A - sum(A, axis = 1)", "B * 0", None),
             ("    C[block.x][0 +: 128] = 0 * t + sum(t + exp(u));\n    E[block.x][0 +: 128] = u;", "A * 0 + sum(A, axis = 1) + sum(exp(B), axis = 1)", "B",
              "B", "`sum` of line 6"),
             ("    f32 m = 0;\n    for (i32 i = 0; i < 2; i++) {\n        C[block.x][0 +: 128] = t * m;\n        m = max(u);\n    }\n"
              "    E[block.x][0 +: 128] = u;", "A * max(B, axis = 1)", "B", "B", "`max` of line 9"))

# Wrong values of another cause: the note comes only if some slice passes the edge of the launch's arrays.
BLOCKS = """kernel f(i32 n, const f32 *a, f32 *c) grid(2) warps(1)
{
    global f32 A[n] = a, C[2] = c;
    %s
    C[block.x] = max(x) + 1;
    ensures C == max(A);
}
"""
#               line 4                                                                  n without the note, with it
BLOCK_CASES = (("reg f32 x[64] = A[0 +: 64];", 64, 63), ("i32 row = block.x * 32;\n    reg f32 x[32] = A[row +: 32];", 64, 63),
               ("reg f32 x[32] = A[8 + 2 * block.x +: 32];", 42, 41), ("reg f32 x[32] = A[n - 32 +: 32];", 32, 31),
               ("reg f32 x[32] = A[1 - block.x +: 32];", 33, 32),
               ("i32 row = 0;\n    row += 1;\n    reg f32 x[32] = A[row +: 32];", None, 32))

failures = 0
with tempfile.TemporaryDirectory() as folder:
    path = f"{folder}/k.tile"
    for value, otherwise, note in CASES:
        with open(path, "w", encoding="utf-8") as f:
            f.write(KERNEL % (otherwise, value, WHOLE[value]))
        done = subprocess.run([TOOL, "check", path], capture_output=True, text=True, timeout=120, check=False)
        said = done.stdout + done.stderr
        if note == "":
            good = done.returncode == 0
        elif note is None:
            good = done.returncode == 1 and "past the edge" not in said
        else:
            good = done.returncode == 1 and note in said and "where `A[block.x][0 +: 128]` reaches past" in said
        if not good:
            failures += 1
            print(f"{value} {otherwise}: {done.returncode}\n{said}", file=sys.stderr)
    for body, c, e, *note in TWO_CASES:
        with open(path, "w", encoding="utf-8") as f:
            f.write(TWO % (body, c, e))
        done = subprocess.run([TOOL, "run", path, "--set", "n=3,d=100", "--fill", "negative", "--verify"], capture_output=True, text=True, timeout=120, check=False)
        said = done.stdout + done.stderr
        wrong = said[said.index("error: C["):] if "error: C[" in said else ""
        named = f"where `{note[0]}[block.x][0 +: 128]` reaches past" in wrong and note[1] in wrong if note[0] else "past the edge" not in wrong
        if done.returncode != 1 or not wrong or not named:
            failures += 1
            print(f"{body}: {done.returncode}\n{said}", file=sys.stderr)
    for line, *sizes in BLOCK_CASES:
        with open(path, "w", encoding="utf-8") as f:
            f.write(BLOCKS % line)
        for n, noted in zip(sizes, (False, True)):
            words = [TOOL, "run", path, "--set", f"n={n}", "--fill", "negative", "--verify"]
            done = n and subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
            if n and (done.returncode != 1 or ("past the edge" in done.stderr) != noted):
                failures += 1
                print(f"{line} {n}: {done.returncode}\n{done.stderr}", file=sys.stderr)
print(f"{len(CASES) + len(TWO_CASES) + len(BLOCK_CASES)} kernels, {failures} failures")
sys.exit(failures > 0)
