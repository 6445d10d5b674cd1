#!/usr/bin/env python3
"""`run --despite race`: a kernel that `check` refuses runs on the simulator, in given orders of warps or in the worst one found, and the
report tells the effect of the race. Lesson 2's example: without its first barrier the tiled product of ones gives 18 instead of 32."""
import json
import os
import re
import sys
import tempfile

from tile_runner import call, expect

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
TILED = open(f"{ROOT}/kernels/sgemm/tiled.tile").read().split("\n")
SIZES = ["--device", "sim", "--tune", "T=16", "--set", "m=32,n=32,k=32"]


def run(tool, folder, *options, fill="ones"):
    done = call([tool, "run", "k.tile", *SIZES, "--fill", fill, *options], cwd=folder)
    return done, json.loads(done.out) if "--json" in options else None


def check_first_barrier(tool, folder):
    done, _ = run(tool, folder)
    expect(done.status == 2 and "other threads may still be writing" in done.err, f"refused without the option: {done}")
    done, _ = run(tool, folder, "--despite", "race")
    expect(done.status == 0 and "c: f32[32][32] from 18 to 32, mean 25" in done.out, done)
    expect(re.search(r"it then gets 0, not the 1 of ", done.err) and "error: race: " in done.err, done)
    done, found = run(tool, folder, "--despite", "race", "--json", "--verify", "--order", "7,6,5:10")
    expect(done.status == 1 and found["order"] == "7,6,5:10" and found["order_seed"] == 0, found)
    race = found["findings"][0]
    expect(race["kind"] == "race" and [a["variable"] for a in race["accesses"]] in (["as"] * 2, ["bs"] * 2), race)
    expect(race["accesses"][0]["index"] == race["accesses"][1]["index"], race)
    wrong = found["wrong"][0]
    expect(wrong["view"] == "C" and wrong["shape"] == [32, 32] and len(wrong["cells"]) == wrong["wrong"] > 0, wrong)
    expect(all(c["want"] == 32 and c["got"] < 32 and c["written"] for c in wrong["cells"]), wrong["cells"][:3])
    turn = found["in_turn"][0]
    expect(turn["array"] == "c" and turn["elements"] == 1024 and len(turn["cells"]) == turn["differ"] > 0, turn)
    cells = {tuple(c["at"]): c["got"] for c in turn["cells"]}
    other = {tuple(c["at"]): c["got"] for c in wrong["cells"]}
    expect(all(other.get(at, 32) == got for at, got in cells.items()), "the same run in both")
    done, again = run(tool, folder, "--despite", "race", "--json", "--verify", "--seed", "3")
    _, twice = run(tool, folder, "--despite", "race", "--json", "--verify", "--seed", "3")
    expect(again["order"] is None and again["order_seed"] == 3 and again["wrong"] == twice["wrong"], again)


def check_second_barrier(tool, folder):
    """Only an order that lets a warp run ahead shows it; the search finds the worst one."""
    done, found = run(tool, folder, "--despite", "race", "--json", "--verify", "--order", "worst", fill="rand")
    most = found["wrong"][0]["wrong"]
    expect(done.status == 1 and most > 0, found)
    for order in ("0", "15", "1,0"):
        _, other = run(tool, folder, "--despite", "race", "--json", "--verify", "--order", order, fill="rand")
        expect(sum(w["wrong"] for w in other.get("wrong", [])) <= most, f"{order}: {other}")
    _, whole = run(tool, folder, "--despite", "race", "--json", "--verify", "--order", "0", fill="rand")
    _, most_steps = run(tool, folder, "--despite", "race", "--json", "--verify", "--order", "0:9223372036854775807", fill="rand")
    expect(whole["wrong"] == most_steps["wrong"], most_steps)
    done, _ = run(tool, folder, "--despite", "race", "--order", "worst", "--repeat", "2", fill="rand")
    expect("median of 2 runs" in done.out and "time: 0 ms" not in done.out, done)


def check_usage(tool, folder):
    for options, words in [
        (["--despite", "bounds"], "expected race"),
        (["--despite", "race", "--order", "a"], "expected warps"),
        (["--despite", "race", "--order", "1,"], "expected warps"),
        (["--despite", "race", "--order", "32"], "expected warps"),
        (["--despite", "race", "--order", "4294967296"], "expected warps"),
        (["--despite", "race", "--order", "1", "--seed", "2"], "two orders"),
        (["--order", "worst"], "goes with --despite race"),
    ]:
        done, _ = run(tool, folder, *options)
        expect(done.status == 2 and words in done.err, f"{options}: {done}")
    done = call([tool, "run", "k.tile", *SIZES[2:], "--despite", "race"], cwd=folder)
    expect(done.status == 2 and "is for --device sim" in done.err, done)


def check_update(tool, folder):
    """Threads that update one element need an atomic operation; no barrier helps."""
    text = ["kernel count(const u8 *x, i32 *h) grid(1) threads(64)", "{", "    global u8 X[64] = x;", "    global i32 H[256] = h;",
            "    H[X[thread.x]] += 1;", "}"]
    with open(os.path.join(folder, "k.tile"), "w") as out:
        out.write("\n".join(text))
    done = call([tool, "check", "k.tile"], cwd=folder)
    expect(done.status == 1 and "no barrier helps: an atomic operation reads and writes at once (`atomic_add(x[i], v)`" in done.err, done)
    expect("only a barrier" not in done.err, done)


STUCK = """kernel dead(i32 n, const f32 *a, f32 *c) grid(1) warps(8) target(sm_90a)
{
    global f32 A[64][16] = a, C[64][16] = c;
    shared f32 s[2][64][16];
    mbarrier full[2](1), empty[2](1) ready;
    warps(0 +: 4) {
        one_thread {
            for (i32 p = 0; p < 4; p++) {
                wait(empty[p % 2]);
                expect(full[p % 2], bytes(s[0]));
                async(full[p % 2]) s[p % 2] = A[0 +: 64][0 +: 16];
            }
        }
    }
    warps(4 +: 4) {
        for (i32 p = 0; p < 4; p++) {
            wait(full[p % 2]);
            if (p < n)
                arrive(empty[p % 2]);
        }
    }
}
"""


def check_mbarriers(tool, folder):
    """A deadlock of roles names the mbarriers that they wait for, what these lack, and who waits where."""
    with open(os.path.join(folder, "k.tile"), "w") as out:
        out.write(STUCK)
    done = call([tool, "run", "k.tile", "--set", "n=1", "--fill", "rand", "--device", "sim", "--despite", "race"], cwd=folder)
    for line in ("the threads that still run wait for phases of mbarriers that will not complete",
                 "warp 0 waits in k.tile:9:17 for empty[1], whose phase lacks 4 of 4 arrivals\n",
                 "warps 4 to 7 wait in k.tile:17:13 for full[1], whose phase lacks 1 of 1 arrival\n"):
        expect(done.status == 1 and line in done.err, done)


def main():
    tool = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        for line, check in ((16, check_first_barrier), (19, check_second_barrier), (16, check_usage)):
            with open(os.path.join(folder, "k.tile"), "w") as out:
                out.write("\n".join(TILED[: line - 1] + TILED[line:]))
            check(tool, folder)
        check_update(tool, folder)
        check_mbarriers(tool, folder)


if __name__ == "__main__":
    main()
