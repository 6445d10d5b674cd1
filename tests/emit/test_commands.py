#!/usr/bin/env python3
"""Compares what commands say of kernels made through thread IR with what they say of those that src/lower makes.

    test_commands.py TILEWRIGHT [FILE:KERNEL...]

Without names: the kernels of FOLDERS without roles. For each kernel:

- `show --stage layout --json`: the tiles with their layouts, the scalars and the accesses are the same;
- `show --stage ptx`: it is refused with the same words, or not at all;
- `check` of programs that copy in the background finds the same races, or none;
- `run --device sim --trace`: the trace has the same loops of the program with as many iterations of each warp, the same variables,
  and accesses of the same places of the program.

There are at most as many bytes of shared memory. DIFFERENT lists the kernels for which something else differs, with the reason, which is
one of REASONS. Names of registers and estimates of their number differ. Kernels that thread IR does not take are those of test_threads.py
and test_tiles.py.

$BY_THREADS is the tool with threads_main.c.
"""
import collections
import concurrent.futures
import json
import os
import re
import struct
import sys
import tempfile

import test_threads
import test_tiles
from test_threads import ROOT, call
from tile_runner import fail

FOLDERS = ("kernels", "puzzles", "tests/golden")
NOT_TAKEN = {*test_threads.NOT_TAKEN, *test_tiles.NOT_TAKEN}
# What differs for each reason.
NEEDED = "a value that nothing needs has no register, and is not loaded"
PLACE = "accesses to scratch are at the place of their statement, not of the access before them"
BYTES = "two bytes are one element of 16 bits"
REASONS = {
    NEEDED: {"scalars", "variables", "places"},
    PLACE: {"places"},
    BYTES: {"accesses"},
}
DIFFERENT = {
    "kernels/fused/linear_gelu.tile:linear_gelu": NEEDED,
    "kernels/matmul/async.tile:matmul_v3": NEEDED,
    "kernels/matmul/auto.tile:matmul_auto": NEEDED,
    "kernels/matmul/int8.tile:matmul_i8": NEEDED,
    "kernels/matmul/nt.tile:matmul_nt_i8": NEEDED,
    "kernels/matmul/read_ahead.tile:matmul_v6": NEEDED,
    "kernels/matmul/registers.tile:matmul_v0": NEEDED,
    "kernels/matmul/shared.tile:matmul_v1": NEEDED,
    "kernels/matmul/split_k.tile:matmul_v5": NEEDED,
    "kernels/matmul/stages.tile:matmul_v4": NEEDED,
    "kernels/matmul/tuned.tile:matmul_v2": NEEDED,
    "kernels/recipes/gemv.tile:gemv": PLACE,
    "kernels/recipes/int8_scaled.tile:int8_scaled": PLACE,
    "kernels/recipes/paged_attention.tile:paged_attention": PLACE,
    "kernels/recipes/w8a16.tile:w8a16": BYTES,
    "tests/golden/barriers.tile:ordered": NEEDED,
    "tests/golden/join.tile:joined": PLACE,
    "tests/golden/join_kept.tile:kept": PLACE,
    "tests/golden/ptx_reduce.tile:rows": PLACE,
    "tests/golden/rows.tile:rows": PLACE,
}


def candidates(tool):
    for top in FOLDERS:
        for folder, _, files in sorted(os.walk(top)):
            for name in sorted(files):
                path = os.path.join(folder, name)
                if not name.endswith(".tile") or "/wrong" in folder or name == "starter.tile":
                    continue
                listed = call(tool, ["show", path, "--kernels", "--json"])
                text = re.sub("//.*", "", open(path).read())
                for kernel in json.loads(listed.stdout) if listed.returncode == 0 else []:
                    if re.search(rf"kernel\s+{kernel['kernel']}\b", text):  # not one that a family imports
                        yield f"{path}:{kernel['kernel']}"


# --- layouts ---


def layouts(tool, name):
    """Returns the tiles, the scalars and the accesses; or the message."""
    shown = call(tool, ["show", name, "--stage", "layout", "--device", "sm_80", "--json"])
    if shown.returncode:
        return {"refused": re.sub(r"about \d+ registers", "about N registers", shown.stderr)}
    report = json.loads(shown.stdout)
    for tile in report["tiles"]:
        for key in ("registers", "in_register"):
            tile.pop(key, None)
    for access in report["accesses"]:
        access["instruction"] = re.sub(r"\.[bsu](32|64)$", r".b\1", access["instruction"])
    tiles = [json.dumps(tile) for tile in report["tiles"] if tile["kind"] != "scalar"]
    scalars = sorted(tile["name"] for tile in report["tiles"] if tile["kind"] == "scalar")
    return {"tiles": tiles, "scalars": scalars, "accesses": sorted(json.dumps(a) for a in report["accesses"]), "block": report["block"], "shared_bytes": report["shared_bytes"]}


# --- traces ---


def read_trace(path):
    """Returns the head of a trace, and its sections by name."""
    data = open(path, "rb").read()
    length = struct.unpack_from("<I", data, 8)[0]
    head = json.loads(data[16 : 16 + length])
    start = (16 + length + 7) // 8 * 8
    kinds = {"u8": "B", "u16": "H", "u32": "I", "i32": "i"}
    sections = {s["name"]: struct.unpack_from(f"<{s['count']}{kinds[s['type']]}", data, start + s["offset"]) for s in head["sections"]}
    return head, sections


def summary(path):
    """Returns the loops, with the iterations of each warp; the variables; and the accesses' places in the program."""
    head, sections = read_trace(path)
    loops = [[loop[key] for key in ("line", "column", "text", "variable", "from", "to", "step")] for loop in head["loops"]]
    of_program = [bool(re.match(r"(unroll\S* )?(for|while|do)\b", loop[2] or "")) for loop in loops]
    turns = collections.Counter()
    for kind, loop, number, warp in zip(*(sections.get(x, ()) for x in ("kind", "stride", "base", "warp"))):
        if head["kinds"][kind] == "turn":
            turns[loop, warp] = max(turns[loop, warp], number + 1)
    iterations = sorted([*loops[loop], warp, number] for (loop, warp), number in turns.items() if of_program[loop])
    sites = {(s["line"], s["column"], s["space"], s["op"].split(".")[0]) for s in head["sites"] if s["space"]}
    return {
        "loops": sorted(json.dumps(loop) for loop, is_of in zip(loops, of_program) if is_of),
        "iterations": [json.dumps(x) for x in iterations],
        "variables": sorted(v["name"] for v in head["variables"]),
        "places": sorted(map(json.dumps, sites)),
    }


def trace(tool, name, folder):
    sizes, _ = test_tiles.signature(name)
    for base in test_tiles.accepted(tool, name, sizes)[:1]:
        path = os.path.join(folder, "trace")
        done = call(tool, base + ["--device", "sim", "--trace", path])
        if done.returncode == 0:
            return summary(path)
    return {}


def check(tool, path):
    """Returns what `check` says of races, without places in the PTX."""
    if not re.search(r"\basync\b", re.sub("//.*", "", open(path).read())):
        return {}
    return {"races": re.findall(r"^\S+: error: .*race.*", call(tool, ["check", path]).stderr, re.M)}


# --- both ways ---


def difference(old, new):
    """Returns what differs: by field, what only src/lower has and what only thread IR has."""
    found = {}
    for field in sorted({*old, *new}):
        a, b = old.get(field, []), new.get(field, [])
        if field == "shared_bytes" and b <= a or a == b:
            continue
        if isinstance(a, list) and isinstance(b, list):
            a, b = [x for x in a if x not in b], [x for x in b if x not in a]
        found[field] = a, b
    return found


def compare(tool, name, folder):
    """Returns what differs; None: thread IR does not take the kernel."""
    own = tempfile.mkdtemp(dir=folder)
    by_threads = os.environ["BY_THREADS"]
    old, new = layouts(tool, name), layouts(by_threads, name)
    if "refused" in new and "refused" not in old and {name, name.partition(":")[0]} & NOT_TAKEN:
        return None
    if "refused" not in old:
        path = name.partition(":")[0]
        old, new = ({**x, **check(t, path), **trace(t, name, own)} for x, t in ((old, tool), (new, by_threads)))
    return difference(old, new)


def judge(name, found):
    """Returns the faults: fields that differ without a reason, and a reason without need."""
    reason = DIFFERENT.get(name)
    allowed = REASONS.get(reason, set())
    faults = [f"{field}: only src/lower {str(a)[:300]}, only thread IR {str(b)[:300]}" for field, (a, b) in found.items() if field not in allowed]
    return faults + ([f"listed without need: {reason}"] if reason and not allowed & set(found) else [])


def check_judge():
    """Each fault is found."""
    one, other = {"tiles": ["a"], "shared_bytes": 32}, {"tiles": ["b"], "shared_bytes": 33}
    listed = next(iter(DIFFERENT))
    right = judge("a kernel", difference(one, {**one, "shared_bytes": 31})) == [] and judge(listed, {"variables": ("a", "b")}) == []
    if not right or len(judge("a kernel", difference(one, other))) != 2 or not judge(listed, {}) or not judge(listed, {"tiles": ("a", "b")}):
        fail("a fault is not found")


def main():
    tool = os.path.abspath(sys.argv[1])
    if "BY_THREADS" not in os.environ:
        print("the linker here makes no such tool")
        return
    os.chdir(ROOT)
    check_judge()
    names = sys.argv[2:] or list(candidates(tool))
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(2) as pool:
        rows = list(zip(names, pool.map(lambda name: compare(tool, name, folder), names)))
    taken = [(name, found) for name, found in rows if found is not None]
    faults = [f"{name}: {fault}" for name, found in taken for fault in judge(name, found)]
    print(f"{len(rows)} kernels, {len(taken)} taken, {sum(not found for _, found in taken)} the same")
    if not sys.argv[2:]:
        faults += [f"{name}: there is no such kernel" for name in DIFFERENT if name not in names]
        faults += ["kernels are missing"] if len(taken) < 150 else []
    if faults:
        fail("\n".join(faults))


if __name__ == "__main__":
    main()
