#!/usr/bin/env python3
"""A copier that a program states.

    test_copiers.py TILEWRIGHT

Each copier shows in the PTX, and the values are the same on the CPU engine and on the simulator.
"""
import os
import re
import sys
import tempfile

from tile_runner import call_on, expect

COPY = """\
kernel copy(i32 n, const f32 *a, f32 *c) grid(cdiv(n, 64)) warps(2)
{
    assume(n % 64 == 0);
    global f32 A[n] = a, C[n] = c;
    shared f32 s[64];
    async s = A[block.x * 64 +: 64]HOW;
    async_wait(0);
    sync();
    reg f32 x[64] = s;
    C[block.x * 64 +: 64] = x * 2.0;
    ensures C == A * 2.0;
}
"""
# Without a word, lanes copy 16 bytes each.
STATED = {
    "": r"cp\.async\.cg\.shared\.global .*, 16;",
    " by(cp.async.8)": r"cp\.async\.ca\.shared\.global .*, 8;",
    " by(cp.async.4)": r"cp\.async\.ca\.shared\.global .*, 4;",
    " by(ld.64)": r"ld\.global\.nc\.v2\.",
    " by(ld.32)": r"ld\.global\.nc\.[a-z]\d+ ",
}


def main():
    tool = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        for how, instruction in STATED.items():
            text = COPY.replace("HOW", how)
            ptx = call_on(folder, text, [tool, "show", "k.tile", "--stage=ptx", "--target=sm_80"], 0).out
            expect(re.search(instruction, ptx), f"{how}: no {instruction} in\n{ptx}")
            expect(("cp.async.c" in ptx) == ("ld" not in how), f"{how}: {ptx}")
            for device in ("cpu", "sim"):
                call_on(folder, text, [tool, "run", "k.tile", "--set=n=256", "--fill=rand", "--verify", f"--device={device}"], 0)


if __name__ == "__main__":
    main()
