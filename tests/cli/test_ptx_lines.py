#!/usr/bin/env python3
"""Instructions that the compiler invented have line 0: reports and counters show them at the line before."""
import json
import os
import sys
import tempfile

from tile_runner import call, fail

SOURCE = """__global__ void k(int *out)
{
    __shared__ int s[64];
    s[threadIdx.x] = 1;
    out[threadIdx.x] = s[63 - threadIdx.x];
}
"""
PTX = """.version 7.0
.target sm_80
.address_size 64
.file 1 "k.cu"
.visible .entry k(.param .u64 out)
{
    .reg .b32 %r<5>; .reg .b64 %rd<3>;
    .shared .align 4 .b8 s[256];
    .loc 1 0 0
    ld.param.u64 %rd1, [out];
    .loc 1 4 5
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, s;
    mad.lo.u32 %r3, %r1, 4, %r2;
    .loc 1 0 0
    st.shared.u32 [%r3], 1;
    .loc 1 5 24
    sub.u32 %r4, 252, %r3;
    .loc 1 0 5
    ld.shared.u32 %r4, [%r4];
    mad.wide.u32 %rd2, %r1, 4, %rd1;
    st.global.u32 [%rd2], %r4;
    .loc 1 6 1
    ret;
}
"""


def main():
    tool = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        for name, text in (("k.cu", SOURCE), ("k.ptx", PTX)):
            with open(os.path.join(folder, name), "w") as out:
                out.write(text)
        launch = ["k.ptx", "--block", "64", "--arg", "i32[64]:none"]
        said = call([tool, "check", *launch], cwd=folder)
        if said.status != 1 or "k.cu:4:5: " not in said.err or "k.cu:5:24: " not in said.err or ":0:" in said.err:
            fail(f"a race: {said}")
        if "s[threadIdx.x] = 1;" not in said.err:
            fail(f"the source's line is shown: {said}")
        counted = json.loads(call([tool, "run", *launch, "--counters", "--json"], cwd=folder).out)["counters"]
        lines = [(line["file"], line["line"]) for line in counted["lines"]]
        if lines != [("k.cu", 4), ("k.cu", 5), ("k.cu", 6), ("k.ptx", 10)]:
            fail(f"counters by line: {lines}")


if __name__ == "__main__":
    main()
