#!/usr/bin/env python3
"""Programs that would take for ever: they are refused with a message that names the limit, or --time-limit ends them.

The test reads no clock: its own time limit ends a command that does not end."""
import os
import sys
import tempfile

from tile_runner import call, fail

HEAD = "kernel k(i32 n, const f32 *a, f32 *c) grid(1) warps(1)\n{\n    global f32 A[n] = a, C[n] = c;\n"
SUM = " + ".join(f"t{i}" for i in range(5))
TUNED = "".join(f"tune t{i} = {{{', '.join(map(str, range(1, 17)))}}};\n" for i in range(5))
SPACE = f"{TUNED}require({SUM} == 81);\n{HEAD}    C[0 +: 1] = (f32) ({SUM});\n}}\n"
# Intervals do not show that this is never true.
HASHED = f"{TUNED}require(({SUM} ^ t0 * t1) % 128 == 127 && (t1 ^ t2) == 64);\n{HEAD}    C[0 +: 1] = (f32) ({SUM});\n}}\n"
UNROLLED = HEAD + "    i32 x = 0;\n    " + " ".join(f"unroll for (i32 q{i} = 0; q{i} < 2; q{i}++)" for i in range(16)) + " x += n;\n    C[0 +: 1] = (f32) x;\n}\n"
RANGES = HEAD + "    C[0 +: 1] = 0;\n    ensures for (i32 h < 1000000, i32 g < 1000000) C[0] == 0;\n}\n"
LONG_RANGES = RANGES.replace("1000000, i32 g", "30000, i32 g").replace("g < 1000000", "g < 30000")
FOR_EVER = HEAD + "    for (i32 p = 0; p < n; p += 0)\n        C[p] = A[p];\n}\n"
RING = """kernel k(i32 n, const f32 *a, f32 *c) grid(cdiv(n, 8)) warps(2)
{
    global f32 A[n][n] = a, C[n][n] = c;
    shared f32 s[2][8][8];
    i32 i = block.x * 8;
    async s[0] = A[i +: 8][0 +: 8]; async_commit();
    for (i32 p = 0, t = 0; p < n; p += 8, t = 1 - t) {
        if (p + 8 < n) async s[1 - t] = A[i +: 8][p + 8 +: 8];
        async_commit();
        async_wait(1); sync();
        C[i +: 8][p +: 8] = s[t];
        sync();
    }
}
"""


def of_parameters(count):
    """Returns a kernel with an array and `count` values: 4 * count + 8 bytes of parameters."""
    values = ", ".join(f"i32 a{i}" for i in range(count))
    return f"kernel k({values}, i32 *o) grid(1) warps(1)\n{{\n    global i32 O[1] = o;\n    O[0] = a0 + a{count - 1};\n}}\n"


def expect(tool, text, arguments, status, *said):
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/k.tile", "w") as out:
            out.write(text)
        result = call([tool, arguments[0], "k.tile", *arguments[1:]], cwd=folder)
        if result.status != status or any(words not in result.err for words in said) or (not said and result.err):
            fail(f"{' '.join(arguments)}: {result}\nof {text[:200]}, not {status} and {said}")


def main():
    tool = os.path.abspath(sys.argv[1])
    none = "no listed values of kernel `k` are allowed by its `require`s"
    for command in (["show"], ["check"], ["check", "--no-run"], ["show", "--stage", "ptx", "--target", "sm_90"]):
        expect(tool, SPACE, command, 2, none)
    expect(tool, HASHED, ["check", "--time-limit", "0.02"], 1, "time is up (--time-limit", "searching for tuned values")
    expect(tool, UNROLLED, ["show", "--stage", "ptx", "--target", "sm_90"], 2, "more than 16384 copies of loop bodies", "leave `unroll` out of the outer ones")
    expect(tool, RANGES, ["check", "--no-sim"], 1, "ranges over more than 1000000000 values of its indices")
    run = ["run", "--set", "n=4", "--fill", "rand"]
    expect(tool, LONG_RANGES, [*run, "--verify", "--time-limit", "0.1"], 1, "--time-limit")
    expect(tool, LONG_RANGES, ["check", "--time-limit", "0.1"], 1, "--time-limit")
    expect(tool, FOR_EVER, [*run, "--time-limit", "0.1"], 1, "`k` did not end within 0.1 s (--time-limit)")
    expect(tool, FOR_EVER, ["check", "--time-limit", "0.1"], 1, "`k` did not end within 0.1 s with n = 1 (--time-limit)")
    expect(tool, RING, ["check", "--no-run"], 0)
    too_many = ["parameters of `k` take 32768 bytes, and GPUs have 32764", "pass values in an array"]
    for command in (["show", "--stage", "ptx", "--target", "sm_90"], ["build", "--target", "sm_90", "--no-cubin"]):
        expect(tool, of_parameters(8188), command, 0)
        expect(tool, of_parameters(8189), command, 2, *too_many)
    expect(tool, of_parameters(8189), ["check"], 2, "error: no GPU takes this", *too_many)
    waves = open(f"{os.path.dirname(os.path.abspath(__file__))}/../../kernels/matmul/waves.tile").read()
    last_wait = waves.rindex("async_wait(0);")
    missing = waves[:last_wait] + waves[last_wait + len("async_wait(0);"):]
    expect(tool, missing, ["check", "--no-run"], 1, "the copy into `sa` may still be under way when the kernel ends", "and 95 more")


if __name__ == "__main__":
    main()
