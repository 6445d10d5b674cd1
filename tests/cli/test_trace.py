#!/usr/bin/env python3
"""`run --trace`: one block's accesses, order, values and registers, compared with `explain`, `run --out` and `show`."""
import json
import os
import sys
import tempfile

import numpy as np

from tile_runner import call, expect, fail
from trace_reader import AGAIN, NO_EVENT, Trace

TILED, NAIVE = "kernels/sgemm/tiled.tile", "kernels/sgemm/naive.tile"
V1, V3, V4 = "kernels/matmul/shared.tile", "kernels/matmul/async.tile", "kernels/matmul/stages.tile"

EDITED = """
kernel edited(i32 n, const f32 *x, f32 *y) grid(cdiv(n, 64)) threads(64)
{
    global f32 X[n] = x, Y[n] = y;
    shared f32 s[64];
    i32 t = thread.x, i = block.x * 64 + t;
    s[t] = X[i];
    sync();
    f32 total = 0;
    for (i32 q = 0; q < 4; q++)
        total += s[(t + 16 * q) % 64] * 2;
    Y[i] = total;
}
"""

SCATTERED = """
.version 8.0
.target sm_80
.address_size 64
.visible .entry scattered(.param .u64 x)
{
    .shared .align 16 .b8 s[4096];
    .reg .b32 %r<5>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [x];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd2, %r1, 8;
    add.s64 %rd3, %rd1, %rd2;
    mov.u32 %r2, s;
    mad.lo.s32 %r3, %r1, 128, %r2;
    cp.async.ca.shared.global [%r3], [%rd3], 4;
    cp.async.wait_all;
    ret;
}
"""


LOOPS = """
kernel loops(i32 n, f32 *c) grid(1) threads(32)
{
    global f32 C[32] = c;
    shared f32 s[32];
    i32 t = thread.x;
    unroll for (i32 i = 0; i < 2; i++)
        unroll for (i32 j = 0; j < 3; j++) {
            sync();
            s[(t + 1) % 32] = C[t];
        }
    for (i32 d = n; d > 0; d /= 2) {
        sync();
        f32 x = t < d ? s[t + d] : 0;
        sync();
        s[t] += x;
    }
    for (i32 i = 0; i < 6; i++) {
        if (i == 1)
            i += 2;
        sync();
        s[t] += 1;
    }
    for (i32 a = 0; a < n / 8; a++)
        for (i32 b = a; b < 3; b++) {
            if (t < 16 && a == 1)
                return;
            C[t] = C[t] * s[t];
        }
}
"""


def sizes(**given):
    return ["--set", ",".join(f"{name}={value}" for name, value in given.items())]


class Runner:
    def __init__(self, tool, root, folder):
        self.tool, self.root, self.folder = tool, root, folder

    def path(self, name):
        return os.path.join(self.folder, name)

    def run(self, file, options, trace="t.trace", status=0):
        got = call([self.tool, "run", file, "--device", "sim", "--trace", self.path(trace), *options], cwd=self.root)
        expect(got.status == status, f"run {file} {options}: {got}")
        return Trace(self.path(trace)) if trace.endswith(".trace") else got

    def explain(self, file, options):
        got = call([self.tool, "explain", file, "--device", "a100", "--json", *options], cwd=self.root)
        expect(got.status == 0, f"explain {file} {options}: {got}")
        return json.loads(got.out)["kernels"][0]


def counts_are_explained(r, file, options):
    """Bytes by thread and request, wavefronts, sectors and FLOPs of the only block equal those of `explain`."""
    t = r.run(file, [*options, "--fill", "rand"])
    e = r.explain(file, options)
    expect(e["blocks"] == 1 and not t.head["truncated"], f"{file}: one block, all of it")
    level = {x["level"]: x for x in e["traffic"]}
    for space, name, unit in (("global", "L2", 32), ("shared", "shared", 128)):
        x = level[name]
        expect(t.by_thread(space) == x["by_thread"], f"{file} {name}: {t.by_thread(space)} {x}")
        by_request = x["read_by_request"] + x["written_by_request"]
        expect(t.units(space) * unit == by_request, f"{file} {name}: {t.units(space) * unit} {x}")
    expect(t.flops() == e["flops_executed"] == t.head["flops"], f"{file}: FLOPs {t.flops()} {e['flops_executed']}")
    return t, e


def replays(r, file, options, outputs):
    """The writes over the initial arrays give what `run --out` gives."""
    files = [f"{name}={r.path(name + '.npy')}" for name in outputs]
    t = r.run(file, [*options, *(x for f in files for x in ("--out", f))])
    _, arrays = t.replay()
    for name in outputs:
        want = np.load(r.path(name + ".npy"))
        index = [a["name"] for a in t.head["arrays"]].index(name)
        a = t.head["arrays"][index]
        expect(arrays[index] is not None, f"{file}: {name} is in the trace")
        if a["type"] == "f16":
            want = want.astype(np.float16)
        expect(a["shape"] == list(want.shape), f"{file}: {a}")
        expect(arrays[index].tobytes() == want.tobytes(), f"{file}: {name} differs")
    return t


def order_is_sound(t, file):
    time = t.column("time").astype(np.int64)
    expect((np.diff(time) >= 0).all(), f"{file}: times go up")
    expect(time[-1] <= t.head["time"], f"{file}: {time[-1]} {t.head['time']}")
    for i in t.events("arrive"):
        expect(t.site(i)["op"].startswith("bar"), f"{file}: {t.site(i)}")
    expect(len(t.events("exit")) == t.head["warps"], f"{file}: each warp leaves once")
    for i in t.events("read", "write"):
        expect(1 <= t.column("least")[i] <= max(1, int(t.column("units")[i])), f"{file}: event {i}")


def lesson(r):
    """tiled.tile at 2 x 2 x 6 with T = 2, as in the drawing of the second lesson."""
    options = [*sizes(m=2, n=2, k=6), "--tune", "T=2", "--fill", "iota"]
    t = replays(r, TILED, options, ["c"])
    order_is_sound(t, TILED)
    expect(t.flops() == 2 * 2 * 2 * 6, f"{t.flops()} FLOPs")
    turns = t.events("turn")
    expect([int(t.column("base")[i]) for i in turns] == [0, 1, 2], "three turns of K")
    expect([bool(t.column("flags")[i] & AGAIN) for i in turns] == [True, True, False], "the last one leaves")
    expect(t.head["loops"][0]["text"] == "for (i32 p = 0; p < k; p += T)", str(t.head["loops"]))
    a = np.arange(12, dtype=np.float32).reshape(2, 6)
    b = np.arange(12, dtype=np.float32).reshape(6, 2)
    sums = [words[0, :4].copy().view("<f4").reshape(2, 2) for _, _, words in t.snapshots("sum")]
    expect(len(sums) == 4, f"{len(sums)} snapshots: three turns and the end")
    for step, got in enumerate(sums):
        upto = min(2 * step + 2, 6)
        expect((got == a[:, :upto] @ b[:upto]).all(), f"sum after turn {step}: {got}")
    texts = {s["text"] for s in t.head["sites"]}
    expect({"A[row][p + tx]", "as[ty][tx]", "as[ty][q]", "bs[q][tx]", "C[row][col]"} <= texts, str(texts))
    compute = [s for s in t.head["sites"] if s["op"].startswith("fma")][0]
    expect((compute["text"], compute["line"], compute["column"]) == ("sum += as[ty][q] * bs[q][tx]", 18, 13), str(compute))
    phases = {(s["text"], s["space"]): s["phase"] for s in t.head["sites"]}
    expect(phases["as[ty][tx]", "shared"] == "load" and phases["as[ty][q]", "shared"] == "compute", str(phases))
    expect(phases["sync()", None] == "sync" and phases["C[row][col]", "global"] == "store", str(phases))


def lines_of_ptx(r):
    shown = call([r.tool, "show", V1, "--stage", "ptx", "--type", "f16", *sizes(m=64, n=64, k=64)], cwd=r.root).out
    lines = shown.split("\n")
    t = r.run(V1, ["--type", "f16", *sizes(m=64, n=64, k=64), "--fill", "rand"])
    for s in t.head["sites"]:
        expect(s["op"] in lines[s["ptx"] - 1], f"{s}: {lines[s['ptx'] - 1]}")
    registers = t.head["variables"][0]["registers"]
    expect(all(name in shown for name in registers) and len(registers) == 32, str(registers))


def tile_snapshots(r):
    """The sum of V1 at the end, read from registers through `elements`, is the product."""
    a, b = np.ones((64, 64), "<f4"), np.arange(64 * 64, dtype="<f4").reshape(64, 64) % 8
    np.save(r.path("a.npy"), a.astype("<f2"))
    np.save(r.path("b.npy"), b.astype("<f2"))
    t = r.run(V1, ["--type", "f16", "--in", f"a={r.path('a.npy')},b={r.path('b.npy')}"])
    v = t.head["variables"][0]
    expect(v["name"] == "acc" and v["shape"] == [64, 64] and v["word_bytes"] == 4, str(v))
    warps, words = t.head["warps"], len(v["registers"])
    elements = t.column("elements")[v["elements"] :][: warps * 32 * words].reshape(warps, 32, words)
    acc = np.full(64 * 64, np.nan, "<f4")
    for event, warp, values in t.snapshots("acc"):
        if t.kinds[event] == "exit":
            acc[elements[warp]] = values.copy().view("<f4")[:, :, 0].T
    expect((acc.reshape(64, 64) == a @ b).all(), "acc is the product")
    shared = t.head["shared"]
    expect([x["name"] for x in shared] == ["sa", "sb"] and shared[0]["places"] is not None, str(shared))
    places = t.column("places")[shared[0]["places"] :][: 64 * 16]
    expect(len(set(places.tolist())) == 64 * 16, "each element of sa has a place of its own")
    scratch = [s for s in t.head["sites"] if s["space"] == "shared" and s["variable"] is None]
    expect(scratch and all(s["phase"] == "store" for s in scratch), "the epilogue's memory belongs to no tile")


def copies(r):
    for file, late in ((V3, False), (V4, False), (V4, True)):
        options = ["--type", "f16", *sizes(m=128, n=128, k=128), "--fill", "rand"]
        t = r.run(file, [*options, *(["--copies", "late"] if late else [])])
        order_is_sound(t, file)
        rows = t.column("copies").reshape(-1, 8)
        expect(len(rows) == len(t.events("issue")) > 0, f"{file}: {len(rows)} copies")
        for issue, commit, land, read, write, wait, _, size in rows.tolist():
            kinds = [t.kinds[i] for i in (issue, land, write)]
            expect(kinds == ["issue", "land", "write"] and issue < land < write, f"{file}: {kinds}")
            expect(read == NO_EVENT or land < read < write, f"{file}: {land} {read} {write}")
            expect(wait != NO_EVENT and t.kinds[wait] == "wait" and issue < wait, f"{file}: {wait}")
            expect(not late or land > commit, f"{file}: lands at {land}, late")
            expect(size in (0, 512), f"{file}: {size} bytes")
    stages = {s["text"] for s in t.head["sites"]}
    expect("async sa[0] = A[i +: BM][0 +: BK]" in stages or any(x and x.startswith("async sa[") for x in stages),
           str(stages))


def copies_land_between(r):
    """--copies N: a copy lands N instructions of the warp after its issue, or at the wait."""
    options = ["--type", "f16", *sizes(m=64, n=64, k=64), "--fill", "rand"]
    early = None
    for number in ("early", "1", "30", "100", "100000", "late"):
        t = r.run(V4, [*options, "--copies", number])
        order_is_sound(t, number)
        rows = t.column("copies").reshape(-1, 8)
        times = t.column("time")
        waits = [int(times[wait] - times[land]) for _, _, land, _, _, wait, _, _ in rows.tolist()]
        expect(min(waits) >= 0, f"--copies {number}: one lands after its wait")
        expect(early is None or sum(waits) <= early, f"--copies {number}: no later than with fewer")
        early = sum(waits)
    expect(early == 0, "late: at the wait")


def turns(r):
    """Iterations are those of the source, however the compiler changes the loop, and its bounds are numbers."""
    stages = ["--type", "f16", *sizes(m=128, n=128, k=128), "--fill", "rand"]
    unrolled = r.path("unrolled.tile")
    with open(os.path.join(r.root, TILED), encoding="utf-8") as file:
        text = file.read()
    with open(unrolled, "w", encoding="utf-8") as file:
        file.write(text.replace("    for (i32 p = 0; p < k;", "    unroll for (i32 p = 0; p < 128;"))
    steps = r.path("steps.tile")
    with open(steps, "w", encoding="utf-8") as file:
        file.write(text.replace("    for (i32 p = 0; p < k; p += T) {", "    i32 last = cdiv(k, T) - 1;\n"
                                "    for (i32 z = last; z >= 0; z--) {\n        i32 p = z * T;"))
    square = [*sizes(m=32, n=32, k=128), "--fill", "rand"]
    for file, options, variable, bounds in (
        (TILED, square, "p", (0, 128, 32)),
        (unrolled, square, "p", (0, 128, 32)),
        (steps, square, "z", (3, -1, -1)),
        ("kernels/sgemm/double_buffered.tile", square, "p", (0, 128, 32)),
        (V3, stages, "p", (0, 128, 16)),
        (V4, stages, "p", (0, 128, 16)),
        (V4, [*stages, "--tune", "STAGES=5"], "p", (0, 128, 16)),
        (V4, stages[2:], "p", (0, 128, 16)),
    ):
        t = r.run(file, options)
        loops = [i for i, x in enumerate(t.head["loops"]) if x["variable"] == variable]
        expect(len(loops) == 1, f"{file}: {t.head['loops']}")
        loop = t.head["loops"][loops[0]]
        expect((loop["from"], loop["to"], loop["step"]) == bounds, f"{file}: {loop}")
        expect(loop["text"].startswith(("for (", "unroll for (")) and loop["text"].endswith(")"), str(loop))
        count = -(-(bounds[1] - bounds[0]) // bounds[2])
        for warp in range(t.head["warps"]):
            ends = [i for i in t.events("turn") if t.column("stride")[i] == loops[0] and t.column("warp")[i] == warp]
            expect([int(t.column("base")[i]) for i in ends] == list(range(count)), f"{file}: turns of warp {warp}")
            expect([bool(t.column("flags")[i] & AGAIN) for i in ends] == [True] * (count - 1) + [False], f"{file}: the last")
    inner = [x["loops"] for x in r.run(TILED, square).head["sites"] if x["line"] == 18 and x["space"] == "shared"]
    expect({n for loops in inner for _, n in loops[1:]} == set(range(32)), f"each read is in a turn of q: {inner}")
    naive = r.run(NAIVE, [*sizes(m=16, n=16, k=50), "--fill", "rand"])
    ends = [int(naive.column("base")[i]) for i in naive.events("turn") if naive.column("warp")[i] == 0]
    expect(ends == [15, 31, 47, 48, 49], f"a loop that goes several turns at a time: {ends}")
    expect([a["view"] for a in r.run(V4, stages).head["arrays"]] == ["A", "B", "C"], "arrays have their names of the source")


def many_loops(r):
    """Iterations begin again whenever a loop does; the trace has bounds only if the loop alone changes its variable."""
    path = r.path("loops.tile")
    with open(path, "w", encoding="utf-8") as file:
        file.write(LOOPS)
    t = r.run(path, [*sizes(n=16), "--fill", "rand"])
    told = [(x["variable"], x["from"], x["to"], x["step"]) for x in t.head["loops"]]
    expect(told == [("i", 0, 2, 1), ("j", 0, 3, 1), (None, None, None, None), ("i", None, None, None), ("a", 0, 2, 1), ("b", None, None, None)], str(told))
    ends = [(int(t.column("stride")[i]), int(t.column("base")[i]), bool(t.column("flags")[i] & AGAIN)) for i in t.events("turn")]
    inner = [(1, 0, True), (1, 1, True), (1, 2, False)]
    expect(ends[:8] == [*inner, (0, 0, True), *inner, (0, 1, False)], str(ends))
    expect(ends[8:13] == [(2, n, n < 4) for n in range(5)], f"d is 16, 8, 4, 2 and 1: {ends}")
    expect(ends[13:17] == [(3, n, n < 3) for n in range(4)], f"i is 0, 3, 4 and 5: {ends}")
    expect([n for loop, n, _ in ends[17:] if loop == 5] == [0, 1, 2, 0, 1], f"b without the lanes that return: {ends}")
    wide = r.path("wide.tile")
    with open(wide, "w", encoding="utf-8") as file:
        sums = [f"    i32 b{i} = {' + '.join([f'b{i - 1}'] * 16)};\n" for i in range(1, 9)]
        file.write("kernel wide(f32 *c) grid(1) threads(32)\n{\n    global f32 C[32] = c;\n    i32 b0 = block.x;\n" + "".join(sums) +
                   "    for (i32 i = b1; i < b8; i++)\n        C[i] = 1;\n}\n")
    loop = r.run(wide, ["--fill", "rand"]).head["loops"][0]
    expect((loop["variable"], loop["from"], loop["to"]) == ("i", None, None), f"an expression that is too large: {loop}")


def lanes_are_traced(r):
    """Each access of `explain` has the lanes of a request that the trace has."""
    for file, options in (("kernels/sgemm/transposed.tile", ["--tune", "T=32,PAD=0", *sizes(m=32, n=32, k=32)]),
                          ("kernels/sgemm/transposed.tile", ["--tune", "T=16,PAD=1", *sizes(m=16, n=16, k=16)]),
                          (V1, ["--type", "f16", *sizes(m=64, n=64, k=64)])):
        t, e = r.run(file, [*options, "--fill", "rand"]), r.explain(file, options)
        arrays = {a["name"]: a["address"] for a in t.head["arrays"]}
        traced = {}
        for i in t.events("read", "write"):
            s = t.site(i)
            base = 0 if s["space"] == "shared" else t.head["arrays"][s["variable"]]["address"]
            at = [t.address(i, lane) - base if lane in t.lanes(i) else -1 for lane in range(32)]
            key = (s["line"], s["column"], s["space"], t.kinds[i] == "write", int(t.column("warp")[i]), *at)
            traced[key] = (int(t.column("units")[i]), int(t.column("least")[i]), s["variable"])
        for a in e["accesses"]:
            x = a["lanes"]
            key = (a["line"], a["column"], a["space"], a["store"], x["warp"], *x["addresses"])
            expect(key in traced, f"{file}: {a}")
            unit = "wavefronts" if a["space"] == "shared" else "sectors"
            expect(traced[key][:2] == (x[unit], x[unit + "_ideal"]), f"{file}: {a} {traced[key]}")
            expect(a["space"] == "shared" or x["array"] in arrays, f"{file}: {a}")
            expect(x["bytes_used"] <= 32 * a["bytes"] and bin(x["mask"]).count("1") == 32, f"{file}: {a}")
    bad = [a for a in r.explain("kernels/sgemm/transposed.tile", ["--tune", "T=32,PAD=0", *sizes(m=32, n=32, k=32)])["accesses"]
           if a["ways_by_element"] == 32 and a["store"]]
    banks = {address // 4 % 32 for address in bad[0]["lanes"]["addresses"]}
    expect(len(bad) == 1 and bad[0]["lanes"]["array"] == "bs" and len(banks) == 1, f"one bank: {bad}")


def wavefronts_are_told(r):
    """For each access to shared memory, the number of wavefronts is the number that its lanes need."""
    with open(r.path("scattered.ptx"), "w", encoding="utf-8") as file:
        file.write(SCATTERED)
    for file, options in (
        ("kernels/sgemm/transposed.tile", [*sizes(m=64, n=64, k=64)]),
        ("kernels/sgemm/register_tiled.tile", [*sizes(m=128, n=128, k=64)]),
        (V1, ["--type", "f16", *sizes(m=64, n=64, k=64)]),
        (V4, ["--type", "f16", *sizes(m=128, n=128, k=128)]),
        (r.path("scattered.ptx"), ["--block", "32", "--arg", "f32[64]:rand"]),
    ):
        t = r.run(file, [*options, "--fill", "rand"] if file.endswith(".tile") else options)
        served, rows = {}, t.column("rows").reshape(-1, 32)
        told = dict(zip(t.column("served_event"), t.column("served_row")))
        site, mask, units = t.column("site"), t.column("mask"), t.column("units")
        expect(len(told) < t.count / 4, f"{file}: {len(told)} of {t.count} events tell of wavefronts")
        for i in t.events("read") + t.events("write"):
            if t.site(i)["space"] != "shared":
                continue
            if i in told:
                served[site[i]] = told[i]
            row = served.get(site[i], 0)
            lanes = {int(rows[row - 1][n]) if row else 0 for n in range(32) if mask[i] >> n & 1} - {-1}
            expect(lanes == set(range(units[i])), f"{file}: event {i}: {lanes}, {units[i]} wavefronts")
        for a in r.explain(file, options)["accesses"]:
            told = a["lanes"]["wavefront_of"]
            expect(max(told, default=-1) + 1 == a["lanes"].get("wavefronts", 0), f"{file}: {a}")


def windows(r):
    options = [*sizes(m=64, n=64, k=64), "--fill", "rand"]
    whole = r.run(TILED, options)
    half = r.run(TILED, [*options, "--trace-events", "1000"])
    expect(half.head["truncated"] and half.count == 1000 and half.head["total"] == whole.count, "the first 1000")
    expect((half.column("base") == whole.column("base")[:1000]).all(), "of the same events")
    start = int(whole.column("time")[2000])
    later = r.run(TILED, [*options, "--trace-from", str(start)])
    first = whole.count - later.count
    expect(not later.head["truncated"] and later.column("time")[0] >= start, "from a time on")
    expect((later.column("base") == whole.column("base")[first:]).all(), "of the same events")
    expect((later.replay()[0] == whole.replay()[0]).all(), "with shared memory as it was then")
    other = r.run(TILED, [*options, "--in-block", "1,1"])
    expect(other.head["traced"] == [1, 1, 0] and other.count == whole.count, "another block")
    c = [a for a in other.head["arrays"] if a["name"] == "c"][0]
    lowest = min(other.address(i, 0) for i in other.events("write") if other.site(i)["space"] == "global")
    expect(lowest - c["address"] == 4 * (32 * 64 + 32), "its part of C")
    seeded = r.run(TILED, [*options, "--seed", "7"])
    expect(seeded.head["seed"] == 7 and sorted(seeded.kinds) == sorted(whole.kinds), "another order")
    expect(list(seeded.column("warp")) != list(whole.column("warp")), "another order of warps")


def faults(r):
    """A run that ends in a fault leaves the trace up to that point, with the fault as an event of its block."""
    path = r.path("outside.tile")
    with open(os.path.join(r.root, TILED), encoding="utf-8") as file:
        text = file.read()
    with open(path, "w", encoding="utf-8") as file:
        file.write(text.replace("    if (row < m && col < n)\n", ""))
    options = [*sizes(m=40, n=64, k=32), "--fill", "rand"]
    t = r.run(path, [*options, "--in-block", "0,1"], status=1)
    at = t.events("fault")
    expect(len(at) == 1 and t.head["ended"], f"{at} {t.head['ended']}")
    fault = t.head["fault"]
    expect(fault == {"block": [0, 1, 0], "warp": int(t.column("warp")[at[0]]), "lane": 0, "event": at[0]}, str(fault))
    expect(t.site(at[0])["text"] == "C[row][col]" and t.lanes(at[0])[0] == fault["lane"], str(t.site(at[0])))
    expect(t.column("time")[at[0]] == t.head["time"], "the last step of the block")
    other = r.run(path, options, status=1).head["fault"]
    expect((other["block"], other["event"]) == ([0, 1, 0], None), f"in another block: {other}")
    expect(r.run(TILED, options).head["fault"] is None, "none in the right program")


def refusals(r):
    small = [*sizes(m=8, n=8, k=8), "--fill", "rand"]
    for options, says in (
        ([TILED, *small, "--trace", r.path("x")], "--trace is for --device sim: add `--device sim` to this command"),
        ([TILED, *small, "--device", "sim", "--in-block", "0"], "--in-block goes with --probe, --break or --trace"),
        ([TILED, *small, "--device", "sim", "--trace", r.path("x"), "--in-block", "a"], "expected the block's index"),
        ([TILED, *small, "--device", "sim", "--trace", r.path("x"), "--in-block", "3,0"], "there is no block 3,0,0"),
        ([TILED, *small, "--device", "sim", "--trace", r.path("no/x")], "cannot write"),
    ):
        got = call([r.tool, "run", *options], cwd=r.root)
        expect(got.status != 0 and says in got.err, f"{options}: {got}")


def perfetto(r):
    r.run(V4, ["--type", "f16", *sizes(m=128, n=128, k=128), "--fill", "rand"], trace="t.json")
    with open(r.path("t.json"), encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    names = {e["args"]["name"] for e in events if e["ph"] == "M"}
    expect({"warp 0", "warp 3"} <= names, str(names))
    begun = [e for e in events if e["ph"] == "b"]
    expect(len(begun) == sum(e["ph"] == "e" for e in events) == 160, f"{len(begun)} copies")
    expect(any(e["ph"] == "X" and e["cat"] == "compute" and "flops" in e["args"] for e in events), "products")


def of_ptx(r):
    t = r.run("kernels/cuda/block_sum.ptx", ["--block", "256", "--arg", "f32[1000]:ones", "--arg", "f32[1]:zero",
                                             "--arg", "i32:1000"])
    order_is_sound(t, "block_sum.ptx")
    with open(os.path.join(r.root, "kernels/cuda/block_sum.ptx"), encoding="utf-8") as file:
        lines = file.read().split("\n")
    for s in t.head["sites"]:
        expect(s["op"] in lines[s["ptx"] - 1], f"{s}: {lines[s['ptx'] - 1]}")
    expect(not t.head["variables"] and len(t.head["arrays"]) == 2, str(t.head["arrays"]))
    last = [a for a in t.replay()[1] if len(a) == 4][0]
    expect(t.head["ended"] is None and last.view("<f4")[0] in (1000, 256), str(last.view("<f4")))


def why(r, file, cell, options):
    got = call([r.tool, "run", file, "--device", "sim", "--json", "--why", cell, *options], cwd=r.root)
    expect(got.status == 0, f"--why {cell} of {file}: {got}")
    return json.loads(got.out)["why"]


def elements(path, kind, array):
    return {e for s in path["path"] if s["kind"] == kind for e in s["elements"] if e.startswith(array + "[")}


def provenance(r):
    """The path of an element of a product contains a row of A, a column of B, and their products."""
    lesson = why(r, TILED, "c[0][1]", [*sizes(m=2, n=2, k=6), "--tune", "T=2", "--fill", "iota"])
    expect((lesson["shared_reads"], lesson["products"], lesson["thread"]) == (12, 6, 1), str(lesson))
    expect(elements(lesson, "read", "a") == {f"a[0][{q}]" for q in range(6)}, "row 0 of A")
    expect(elements(lesson, "read", "b") == {f"b[{q}][1]" for q in range(6)}, "column 1 of B")
    expect(sum(s["kind"] == "release" for s in lesson["path"]) == 6, "two barriers a turn")
    expect(all(s["races"] is None for s in lesson["path"]), "no races")
    times = [s["time"] for s in lesson["path"]]
    expect(times == sorted(times) and lesson["path"][-1]["elements"] == ["c[0][1]"], "in order, to the element")
    text = call([r.tool, "run", TILED, "--device", "sim", "--why", "c[0][1]", *sizes(m=2, n=2, k=6), "--tune", "T=2",
                 "--fill", "iota"], cwd=r.root).out
    expect("c[0][1], by thread 1 of block 0,0,0: 6 products, 12 elements read of shared memory" in text, text)
    expect(why(r, TILED, "C[0][1]", [*sizes(m=2, n=2, k=6), "--tune", "T=2", "--fill", "iota"])["path"] == lesson["path"], "C, the view of c")
    for file, size, (i, k), more in (
        (V1, 64, (5, 9), ["--type", "f16"]),
        (V4, 128, (77, 101), ["--type", "bf16"]),
        (V3, 128, (127, 0), ["--type", "f16", "--copies", "late"]),
        ("kernels/matmul/tf32.tile", 64, (7, 11), []),
        ("kernels/matmul/int8.tile", 64, (7, 11), []),
        ("kernels/sgemm/register_tiled.tile", 128, (40, 50), ["--seed", "5"]),
        (TILED, 64, (40, 50), []),
    ):
        x = why(r, file, f"c[{i}][{k}]", [*sizes(m=size, n=size, k=size), "--fill", "rand", *more])
        expect(x["complete"] and x["products"] == size, f"{file}: {x['products']} products")
        expect(elements(x, "read", "a") == {f"a[{i}][{q}]" for q in range(size)}, f"{file}: row {i}")
        expect(elements(x, "read", "b") == {f"b[{q}][{k}]" for q in range(size)}, f"{file}: column {k}")
        expect(all(s["races"] is None for s in x["path"]), f"{file}: no races")
    expect(x["block"] == [1, 1, 0], f"the block that wrote it: {x['block']}")
    other = why(r, TILED, "a[0][0]", [*sizes(m=8, n=8, k=8), "--fill", "rand"])
    expect(other["thread"] == -1 and other["path"] == [], str(other))
    asks = [r.tool, "run", TILED, "--device", "sim", "--fill", "rand", "--trace", r.path("why.bin")]
    got = call([*asks, "--why", "c[40][50]", "--in-block", "0,0", *sizes(m=64, n=64, k=8)], cwd=r.root)
    expect("c[40][50]: block 1,1,0 wrote it, not the one of --in-block" in got.out, str(got))
    for cell, says, *more in (("c", "expected an element"), ("c[0][8]", "no such element"), ("d[0][0]", "no array `d`; it has `a`, `b`, `c`"),
                              ("c[0][0]", "--trace-from leaves some out", "--trace-from", "9"),
                              ("c[0][0]", "--trace-events leaves some out", "--trace-events", "9")):
        got = call([*asks, "--why", cell, *sizes(m=8, n=8, k=8), *more], cwd=r.root)
        expect(got.status == 2 and says in got.err, f"--why {cell}: {got}")


TOTAL = """
kernel total(i32 n, const f32 *x, f32 *y) grid(cdiv(n, 32)) threads(32)
{
    global f32 X[n] = x, Y[1] = y;
    i32 i = block.x * 32 + thread.x;
    if (i < n)
        atomic_add(Y[0], X[i]);
}
"""


def other_blocks(r):
    """The path names the write of another block that it continues from, by a number that finds its event."""
    total = r.path("total.tile")
    with open(total, "w", encoding="utf-8") as file:
        file.write(TOTAL)
    for file, cell, options, line in (
        (total, "y[0]", [*sizes(n=96), "--fill", "iota"], 7),
        ("kernels/matmul/split_k.tile", "c[5][7]", [*sizes(m=64, n=64, k=128), "--fill", "rand"], 30),
    ):
        x = why(r, file, cell, options)
        writers = [w for s in x["path"] for w in s["writers"]]
        expect(writers and all(w["block"] != x["block"] and w["line"] == line for w in writers), f"{file}: {writers}")
        w = writers[-1]
        t = r.run(file, [*options, "--in-block", ",".join(map(str, w["block"]))])
        event = [i for i in t.events("write", "update") if t.site(i)["space"] == "global"][w["write"]]
        expect(t.site(event)["line"] == line and t.column("warp")[event] == w["warp"], f"{file}: {t.site(event)}")
        expect(w["lane"] in t.lanes(event), f"{file}: lane {w['lane']}")
        # Every step has its event, arithmetic included.
        t = r.run(file, [*options, "--in-block", ",".join(map(str, x["block"]))])
        for s in x["path"]:
            expect(t.kinds[s["event"]] == s["kind"] and t.column("warp")[s["event"]] == s["warp"], f"{file}: {s}")
            expect(t.site(s["event"])["line"] == s["line"] and t.column("time")[s["event"]] >= s["time"], f"{file}: {s}")
    alone = why(r, TILED, "c[0][1]", [*sizes(m=64, n=64, k=8), "--fill", "rand"])
    expect(all(not s["writers"] for s in alone["path"]), "a product has one writer of each element")


def racy(r):
    """Without its barriers, the kernel gives the values of the traced order of warps."""
    shown = call([r.tool, "show", TILED, "--stage", "ptx", *sizes(m=32, n=32, k=64)], cwd=r.root).out
    with open(r.path("racy.ptx"), "w", encoding="utf-8") as file:
        file.write("\n".join(line for line in shown.split("\n") if "bar.sync" not in line))
    arrays = ["f32[32][64]:iota", "f32[64][32]:iota", "f32[32][32]:zero"]
    arguments = [x for a in ["i32:32", "i32:32", "i32:64", *arrays] for x in ("--arg", a)]
    t = r.run(r.path("racy.ptx"), ["--block", "32,32", "--seed", "3", "--shared", "8192", *arguments,
                                   "--out", f"5={r.path('racy.npy')}"])
    a, b = (np.arange(2048, dtype="<f4").reshape(shape) for shape in ((32, 64), (64, 32)))
    got = np.load(r.path("racy.npy"))
    c = [x for x in t.replay()[1] if len(x) == 4096][-1]
    expect(c.tobytes() == got.tobytes(), "the racy values are the run's")
    expect(not np.allclose(got, a @ b), "and wrong")
    i, k = np.argwhere(~np.isclose(got, a @ b))[0]
    x = why(r, r.path("racy.ptx"), f"c[{i}][{k}]", ["--block", "32,32", "--seed", "3", "--shared", "8192", *arguments])
    pairs = [(s["event"], s["races"]) for s in x["path"] if s["kind"] == "read" and s["races"] is not None]
    expect(pairs, f"the path of c[{i}][{k}] holds the racing pair")
    for read, write in pairs:
        expect(t.kinds[read] == "read" and t.kinds[write] == "write", f"{t.kinds[read]} {t.kinds[write]}")
        expect(t.column("warp")[read] != t.column("warp")[write], "of two warps")
    with open(os.path.join(r.root, TILED), encoding="utf-8") as file:
        lines = file.read().split("\n")
    del lines[15]  # the first sync()
    with open(r.path("racy.tile"), "w", encoding="utf-8") as file:
        file.write("\n".join(lines))
    x = why(r, r.path("racy.tile"), "c[0][0]", [*sizes(m=32, n=32, k=64), "--fill", "rand", "--despite", "race", "--order", "3,0"])
    lines = {s["line"] for s in x["path"] if s["races"] is not None}
    expect(17 in lines, f"line 17 reads what another warp has not written yet: {lines}")


def main():
    tool, root = os.path.abspath(sys.argv[1]), os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    with tempfile.TemporaryDirectory() as folder:
        r = Runner(tool, root, folder)
        lesson(r)
        small = sizes(m=64, n=64, k=64)
        for file, options, flops in (
            (TILED, [*sizes(m=32, n=32, k=64)], 2 * 32 * 32 * 64),
            (TILED, [*sizes(m=16, n=16, k=16), "--tune", "T=16"], 2 * 16**3),
            (NAIVE, [*sizes(m=16, n=16, k=32)], None),
            (V1, ["--type", "f16", *small], 2 * 64**3),
            (V3, ["--type", "f16", *sizes(m=128, n=128, k=64)], 2 * 128 * 128 * 64),
            (V4, ["--type", "f16", *sizes(m=128, n=128, k=64)], 2 * 128 * 128 * 64),
        ):
            t, e = counts_are_explained(r, file, options)
            order_is_sound(t, file)
            expect(t.flops() == (flops or e["flops"]), f"{file}: {t.flops()} FLOPs")
        replays(r, TILED, [*sizes(m=32, n=32, k=64), "--fill", "rand"], ["c"])
        replays(r, V1, ["--type", "f16", *small, "--fill", "rand"], ["c"])
        edited = r.path("edited.tile")
        with open(edited, "w", encoding="utf-8") as file:
            file.write(EDITED)
        t = replays(r, edited, [*sizes(n=64), "--fill", "rand"], ["y"])
        expect([v["name"] for v in t.head["variables"]] == ["total"], str(t.head["variables"]))
        lines_of_ptx(r)
        tile_snapshots(r)
        copies(r)
        copies_land_between(r)
        turns(r)
        many_loops(r)
        lanes_are_traced(r)
        wavefronts_are_told(r)
        windows(r)
        faults(r)
        refusals(r)
        perfetto(r)
        of_ptx(r)
        provenance(r)
        other_blocks(r)
        racy(r)
        large = r.run(TILED, [*sizes(m=256, n=256, k=256), "--fill", "rand"])
        expect(large.size < 450_000, f"tiled at 256: {large.count} events, {large.size} bytes")


main()
