#!/usr/bin/env python3
"""One finding for each cause: pairs of lines that one missing barrier leaves unordered are listed under the first of them, reads of
unwritten memory under the race, and races come before their possible consequences; each access in JSON has its place, thread and
element."""
import json
import os
import shutil
import sys
import tempfile

from tile_runner import call, expect, fail

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "cuda")
RACE = """kernel racy(i32 n, const f32 *a, f32 *b) grid(1) warps(1)
{
    global f32 A[n] = a, B[n] = b;
    shared f32 s[64];
    s = A[0 +: 64];
    reg f32 x[64] = s;
    B[0 +: 64] = x;
}
"""
AFTER = """.version 7.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 out)
{
    .reg .b32 %r<5>; .reg .b64 %rd<4>;
    .shared .align 4 .b8 s[256];
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, s;
    mad.lo.u32 %r3, %r1, 4, %r2;
    st.shared.u32 [%r3], %r1;
    sub.u32 %r4, 252, %r3;
    ld.shared.u32 %r4, [%r4];
    mad.wide.u32 %rd2, %r4, 4, %rd1;
    st.global.u32 [%rd2+4], %r4;
    ret;
}
"""


def found_in(tool, folder, *options):
    done = call([tool, "check", *options, "--json"], cwd=folder)
    return done, json.loads(done.out)["findings"]


def check_groups(tool, folder):
    launch = ["phases.ptx", "--kernel", "phases", "--block", "64", "--arg", "f32[64]:iota", "--arg", "f32[64]:none"]
    said = call([tool, "check", *launch], cwd=folder)
    for text in ("error: race: ", "note: 2 more pairs of lines for the same reason:", "note: of this comes:",
                 " of a in shared memory is read and was never written"):
        if said.status != 1 or text not in said.err:
            fail(f"{text}: {said}")
    expect(said.err.count("error:") == 1, f"one finding: {said}")
    _, found = found_in(tool, folder, *launch)
    expect([f["kind"] for f in found] == ["race"], found)
    expect(sorted(f["kind"] for f in found[0]["also"]) == ["race"] * 2, found)
    expect({f["kind"] for f in found[0]["consequences"]} == {"uninitialised"}, found)
    for one in [found[0], *found[0]["also"]]:
        expect(len(one["accesses"]) == 2, one)
        for access in one["accesses"]:
            expect(access["file"] == "phases.cu" and access["line"] >= 6 and "thread" in access and
                   access["element"].startswith("element "), access)
    # a line that races with itself does not miss a barrier
    twice = ["phases.ptx", "--kernel", "twice", "--block", "64", "--arg", "f32[64]:none", "--arg", "i32[64]:iota"]
    _, found = found_in(tool, folder, *twice)
    races = [f for f in found if f["kind"] == "race"]
    expect(len(races) == 2 and sorted(len(f["also"]) for f in races) == [0, 1], found)


def check_order(tool, folder):
    with open(f"{folder}/after.ptx", "w") as out:
        out.write(AFTER)
    done, found = found_in(tool, folder, "after.ptx", "--block", "64", "--arg", "i32[64]:none")
    kinds = [f["kind"] for f in found]
    expect(done.status == 1 and kinds[0] == "race" and "out-of-bounds" in kinds, found)
    notes = [n["text"] for f in found if f["kind"] == "out-of-bounds" for n in f["notes"]]
    expect(notes in (["the race at after.ptx:12 may cause this"], ["the race at after.ptx:14 may cause this"]), found)


def check_tile(tool, folder):
    with open(f"{folder}/racy.tile", "w") as out:
        out.write(RACE)
    done = call([tool, "check", "racy.tile", "--json"], cwd=folder)
    found = json.loads(done.out)[0]["findings"]
    expect(done.status == 1 and found[0]["kind"] == "race" and len(found[0]["accesses"]) >= 2, f"{done}")
    expect({(a["file"], a["line"]) for a in found[0]["accesses"]} == {("racy.tile", 5), ("racy.tile", 6)}, found[0])


def main():
    tool = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(os.path.join(HERE, "phases.cu"), folder)
        with open(os.path.join(HERE, "phases.ptx")) as given, open(f"{folder}/phases.ptx", "w") as out:
            out.write(given.read().replace("tests/cli/cuda/phases.cu", "phases.cu"))
        check_groups(tool, folder)
        check_order(tool, folder)
        check_tile(tool, folder)


if __name__ == "__main__":
    main()
