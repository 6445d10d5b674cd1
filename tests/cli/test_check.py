#!/usr/bin/env python3
"""`check` on broken twins of kernels/matmul/shared.tile: the right lines, once for all configurations, status 1."""
import json
import os
import re
import sys
import tempfile

from tile_runner import call, fail


def without(text, needle, which):
    """Returns the text without the which-th line that holds needle, and the number of that line."""
    lines = text.splitlines(True)
    found = [i for i, line in enumerate(lines) if needle in line]
    del lines[found[which]]
    return "".join(lines), found[which] + 1


def line_of(text, needle):
    return next(i for i, line in enumerate(text.splitlines(), 1) if needle in line)


def check(tool, folder, text):
    with open(f"{folder}/twin.tile", "w") as out:
        out.write(text)
    result = call([tool, "check", "twin.tile"], cwd=folder)
    listed = call([tool, "check", "twin.tile", "--json"], cwd=folder)
    return result, json.loads(listed.out)[0]["findings"]


AHEAD = """kernel k(i32 m, i32 n, const f32 *a, f32 *c) grid(1) warps(1)
{
    global f32 A[m][n] = a, C[8] = c;
    i32 end = n;
    pipeline(3) for (i32 p = 0; p < end; p += 8) {
        shared f32 s[8] = A[0][p +: 8];
        C[0 +: 8] = s;
        end -= 1;
    }
}
"""


def test_warnings_for_gpus(tool, folder):
    """A warning of a pass for GPUs alone is printed once for all targets, and the command succeeds."""
    result, findings = check(tool, folder, AHEAD)
    if result.status != 0 or result.err.count("twin.tile:5:5: warning: nothing is fetched ahead in this pipeline") != 1:
        fail(f"a warning for GPUs: {result}")
    if [(f["severity"], f["line"], f["with"]) for f in findings] != [("warning", 5, "sm_80")]:
        fail(f"a warning for GPUs in JSON: {findings}")
    quiet = call([tool, "check", "twin.tile", "--no-sim"], cwd=folder)
    if quiet.status != 0 or "warning" in quiet.err:
        fail(f"no GPU is asked: {quiet}")


def ends_late(tool, folder, text, said, *options):
    """`check` stops it; the command that the message proposes ends, and names a line of the loop."""
    with open(f"{folder}/twin.tile", "w") as out:
        out.write(text)
    for limit in (1, 2, 4, 8, 16, 32):
        result = call([tool, "check", "twin.tile", "--time-limit", str(limit), *options], cwd=folder)
        proposed = re.search(r"    note: `tilewright (run twin\.tile.*)` says at which line\n", result.err)
        slow = "is not checked to the end: time is up (--time-limit " in result.err  # a busy machine took most of the time for what was before
        if result.status != 1 or bool(proposed) == slow or proposed and f"did not end within {limit} s with {said} (--time-limit)" not in result.err:
            fail(f"a run without end: {result}")
        if proposed:
            break
    else:
        fail(f"32 s are too few: {result}")
    again = call([tool, *proposed[1].split()], cwd=folder)
    line = re.match(r"twin\.tile:(\d+):\d+: error: endless: ", again.err)
    first = line_of(text, "for (i32 p")
    if again.status != 1 or not line or not first <= int(line[1]) <= first + 6:
        fail(f"{proposed[1]}: {again}")
    return proposed[1]


def test_proposed(tool, folder, text):
    """The proposed command runs the same configuration: sizes, types, tuned values, contents of the arrays, the target."""
    ends_late(tool, folder, text.replace("p += BK", "p += 0"), "m = 1, n = 1, k = 1, T = f32")
    tuned = text.replace("p += BK", "p += STEP").replace("kernel", "tune STEP = {16, 0};\nkernel", 1)
    command = ends_late(tool, folder, tuned, "m = 70, n = 67, k = 75, T = bf16, STEP = 0", "--type", "T=bf16", "--set", "m=70", "--fill", "a=ones")
    wanted = "run twin.tile --set m=70,n=67,k=75 --type T=bf16 --tune STEP=0 --fill rand --fill a=ones --device sim --step-limit 100000"
    if command != wanted:
        fail(f"{command}, not {wanted}")
    of_gpu = tuned.replace("tune STEP = {16, 0};", "tune STEP = {16};\ntune(sm_90) STEP = {0};")
    command = ends_late(tool, folder, of_gpu, "m = 1, n = 1, k = 1, T = f16, STEP = 0, sm_90, seed 0, copies early", "--set", "m=1,n=1,k=1", "--type", "f16")
    if "--type T=f16 --tune STEP=0 --fill rand --device sim:sm_90 --seed 0 " not in command:
        fail(command)


def main():
    tool = os.path.abspath(sys.argv[1])
    text = open("kernels/matmul/shared.tile").read()
    with tempfile.TemporaryDirectory() as folder:
        test_warnings_for_gpus(tool, folder)
        test_proposed(tool, folder, text)
        for which in (0, 1):
            twin, _ = without(text, "sync();", which)
            result, findings = check(tool, folder, twin)
            if result.status != 1 or result.out or "sync()" not in result.err:
                fail(f"less sync {which}: {result}")
            lines = {f["line"] for f in findings} | {n["line"] for f in findings for n in f["notes"]}
            if not {line_of(twin, "sa = A["), line_of(twin, "ra[BM][BK] = sa")} <= lines:
                fail(f"less sync {which}: lines {lines}: {result}")
            places = [(f["line"], f["column"], f["text"]) for f in findings]
            if len(places) != len(set(places)):
                fail(f"less sync {which}: said twice: {result}")
        wrong = text.replace("dot(ra, rb);", "2 * dot(ra, rb);")
        result, findings = check(tool, folder, wrong)
        if result.status != 1 or "wrong values" not in result.err or len(findings) != 1:
            fail(f"wrong values: {result}")
        # a kernel that fails, and the sizes that show it again, whichever run finds it
        late = text.replace("acc += dot(ra, rb);", "acc += dot(ra, rb);\n        if (m == 3 && k == 7)\n            acc += 1.0;")
        result, findings = check(tool, folder, late)
        if result.status != 1 or "wrong values in matmul_v1 with m = 3, n = 5, k = 7, T = f32" not in result.err:
            fail(f"sizes of a later run: {result}")
        if findings[0]["with"] != "m = 3, n = 5, k = 7, T = f32":
            fail(f"sizes of a later run in JSON: {findings}")
        call_again = ["run", "twin.tile", "--set", "m=3,n=5,k=7", "--fill", "rand", "--verify"]
        if findings[0]["text"] not in call([tool, *call_again], cwd=folder).err:
            fail(f"another wrong value with the same sizes: {findings}")


if __name__ == "__main__":
    main()
