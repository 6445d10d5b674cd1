#!/usr/bin/env python3
"""Wrong values whose cause is zeros read past an edge: the note names the slice, the reduction and the way out. The
kernel that follows the advice is clean, and wrong values of another cause have no such note."""
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
print(f"{len(CASES)} kernels, {failures} failures")
sys.exit(failures > 0)
