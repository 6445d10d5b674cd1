#!/usr/bin/env python3
"""CUDA C in files of any name: nvcc passes paths to a shell, which must not interpret them; findings name the path given. Runs a stand-in
for nvcc that does the same, and nvcc itself if it is installed."""
import os
import shutil
import sys
import tempfile

from tile_runner import call, fail

NVCC = shutil.which("nvcc") or shutil.which("/usr/local/cuda/bin/nvcc")
FILES = ["k$x.cu", "a `touch pwned` b.cu", "$(touch pwned).cu", 'quote".cu', "it's.cu", "a;touch pwned.cu", "\u00e9 & >.cu", "back\\slash.cu",
         "d$(touch pwned)/k.cu"]
SOURCE = '#include "value.h"\n__global__ void k(float *a) { a[threadIdx.x + 1] = VALUE; }\n'
STAND_IN = """#!/bin/sh
# As nvcc: a command line with the path, and with what it is short for.
for word; do
    [ "$before" = -o ] && out=$word
    before=$word
done
eval ": \\"$word\\" \\"$(realpath "$word")\\" \\"$out\\""
[ -n "$REFUSES" ] && { echo "$word(2): error: no"; exit 2; }
exec cp "$PTX" "$out"
"""
PTX = """.version 7.0
.target sm_80
.address_size 64
.file 1 "PATH"
.visible .entry k(.param .u64 a)
{
    .reg .b32 %r<3>; .reg .b64 %rd<3>;
    .loc 1 2 51
    ld.param.u64 %rd1, [a];
    mov.u32 %r1, %tid.x;
    mad.wide.u32 %rd2, %r1, 4, %rd1;
    st.global.u32 [%rd2+4], %r1;
    ret;
}
"""


def check(tool, folder, path, compiler, **environment):
    said = call([tool, "check", path, "--compiler", compiler, "--block", "32", "--arg", "f32[32]:none"], cwd=folder,
                env=dict(os.environ, **environment))
    if any("pwned" in files for _, _, files in os.walk(folder)):
        fail(f"{path}: a shell has read it: {said}")
    return said


def expect(truth, said):
    if not truth:
        fail(said)


def main():
    tool = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as other:
        stand_in = f"{other}/nvcc"
        with open(stand_in, "w") as out:
            out.write(STAND_IN)
        os.chmod(stand_in, 0o755)
        for path in FILES:
            os.makedirs(os.path.dirname(f"{folder}/{path}"), exist_ok=True)
            with open(f"{folder}/{path}", "w") as out:
                out.write(SOURCE)
            with open(os.path.join(os.path.dirname(f"{folder}/{path}"), "value.h"), "w") as out:
                out.write("#define VALUE 1\n")
            with open(f"{other}/k.ptx", "w") as out:
                out.write(PTX.replace("PATH", f"{folder}/{path}".replace("\\", "\\\\").replace('"', '\\"').replace("\u00e9", "\\303\\251")))
            said = check(tool, folder, path, stand_in, PTX=f"{other}/k.ptx")
            expect(said.status == 1 and f"{path}:2:51: error: out-of-bounds" in said.err, said)
            said = check(tool, folder, path, stand_in, PTX=f"{other}/k.ptx", REFUSES="1")
            expect(said.status == 2 and f"{path}(2): error: no\n" in said.err, said)
        for path in FILES[:3] + FILES[-1:] if NVCC else []:
            said = check(tool, folder, path, NVCC)
            expect(said.status == 1 and f"{path}:2:" in said.err, said)
        said = check(tool, folder, FILES[0], stand_in, PTX=f"{other}/k.ptx", TMPDIR=f"{folder}/d$(touch pwned)")
        expect(said.status == 1, said)


if __name__ == "__main__":
    main()
