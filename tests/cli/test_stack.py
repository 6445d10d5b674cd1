#!/usr/bin/env python3
"""Every command needs at most 256 KiB of stack, as `ulimit -s 256` sets: long and nested programs work or are refused."""
import os
import resource
import sys
import tempfile

from tile_runner import call, fail

STACK = 256 << 10
HEAD = """kernel k(i32 n, const f32 *a, f32 *c) grid(cdiv(n, 32)) warps(1)
{
    global f32 A[n] = a, C[n] = c;
    i32 i = block.x * 32;
"""
PROGRAMS = {
    "sum": f"{HEAD}    C[i +: 32] = A[i +: 32] * (f32) (n{' + n' * 1500});\n    ensures C == A * (f32) (n{' + n' * 1500});\n}}\n",
    "nested": f"{HEAD}    C[i +: 32] = A[i +: 32] + {'(1 + ' * 240}1{')' * 240};\n    ensures C == A + 241;\n}}\n",
    "constants": "const i32 c0 = 1;\n" + "".join(f"const i32 c{i} = c{i - 1} + 1;\n" for i in range(1, 2001)) +
                 f"{HEAD}    C[i +: 32] = A[i +: 32] + (f32) c2000;\n    ensures C == A + (f32) c2000;\n}}\n",
}
COMMANDS = (["show"], ["show", "--stage", "ptx", "--target", "sm_90"], ["check"], ["run", "--set", "n=64", "--fill", "rand", "--verify"],
            ["run", "--set", "n=64", "--fill", "rand", "--device", "sim"], ["explain", "--set", "n=64"], ["build", "-o", "."])
DEEP = f"{HEAD}    C[i +: 32] = {'(' * 5000}1{')' * 5000};\n}}\n"


def main():
    tool = os.path.abspath(sys.argv[1])
    resource.setrlimit(resource.RLIMIT_STACK, (STACK, resource.getrlimit(resource.RLIMIT_STACK)[1]))
    with tempfile.TemporaryDirectory() as folder:
        for name, text in PROGRAMS.items():
            with open(f"{folder}/{name}.tile", "w") as out:
                out.write(text)
            for command in COMMANDS:
                result = call([tool, command[0], f"{name}.tile", *command[1:]], cwd=folder)
                if result.status != 0:
                    fail(f"{name}: {' '.join(command)}: {result}")
        with open(f"{folder}/deep.tile", "w") as out:
            out.write(DEEP)
        result = call([tool, "show", "deep.tile"], cwd=folder)
        if result.status != 2 or "nested more than 256 levels deep" not in result.err:
            fail(f"deep: {result}")


if __name__ == "__main__":
    main()
