#!/usr/bin/env python3
"""Runs the shipped kernels with --probe and --break: showing values does not change the results, and the CPU engine and the simulator show the same
rows. --all: every kernel, with each name alone and each line; and the kernels of tests/parity."""
import glob
import json
import os
import re
import sys

from run_parity import kernels as kernels_of
from tile_runner import call, comments, fail

PRODUCT = "m=17,n=16,k=40"
# Sizes of each kernel; a block has more than one tile of each loop.
SIZES = {
    "fused/attention": "heads=2,nq=9,nk=40,d=16,causal=1,scale=0.25", "fused/layer_norm": "rows=3,cols=50", "fused/linear_gelu": PRODUCT,
    "fused/softmax": "rows=3,cols=50", "fused/swiglu": "m=5,n=20",
    "matmul/batched": f"batch=2,{PRODUCT}", "matmul/batched_ahead": f"batch=2,{PRODUCT}", "matmul/batched_waves": f"batch=2,{PRODUCT}",
    "matmul/nt_split": "m=17,n=16,k=300", "matmul/split_ahead": "m=17,n=16,k=300", "matmul/split_parts": "m=17,n=16,k=300", "matmul/split_sum": "m=17,n=16,k=300",
    "recipes/argmax": "rows=5,cols=300", "recipes/convolution": "n=1,h=5,w=6,c=8,r=3,s=3,f=16,pad=1", "recipes/gemv": "m=20,n=70",
    "recipes/grouped_products": "groups=3,most=20,n=16,k=40", "recipes/histogram": "n=1000", "recipes/int8_scaled": PRODUCT,
    "recipes/paged_attention": "batch=2,heads=2,group=2,d=16,pages=5,most=2,scale=0.25", "recipes/reductions:row_sums": "rows=5,cols=300",
    "recipes/reductions:column_sums": "rows=40,cols=20", "recipes/reductions:sum_all": "n=1000", "recipes/rms_norm_matmul": PRODUCT,
    "recipes/small_products": "batch=3", "recipes/softmax_lengths": "rows=3,cols=40", "recipes/w4a16": "m=5,n=16,k=64", "recipes/w8a16": "m=5,n=16,k=40",
    "sgemm/register_tiled": "m=40,n=40,k=17", "sgemm/": "m=40,n=40,k=40", "single_block/blocks_of_3x3": "size=4", "single_block/": "", "matmul/": PRODUCT,
}
# Short runs of different kinds: threads and warps, own arrays, pipelines, asynchronous copies, atomics, partial sums.
QUICK = ["sgemm/register_tiled", "sgemm/vector_load", "sgemm/double_buffered", "sgemm/padded", "single_block/single_block", "matmul/auto", "matmul/stages",
         "fused/softmax", "recipes/histogram", "recipes/argmax"]
WORDS = set("i8 i16 i32 i64 u8 u16 u32 u64 f16 f32 f64 bf16 tf32 bool if else for while do return break continue".split())


class Case:
    def __init__(self, kernel, given, body, first_line):
        self.kernel, self.given, self.thread_level = kernel, given, "threads(" in body.split("{")[0]
        self.lines = range(first_line, first_line + body.count("\n"))
        code = re.sub(r"//.*", "", body[body.index("{"):])
        self.names = list(dict.fromkeys(w for w in re.findall(r"\b[A-Za-z]\w*", code) if w not in WORDS))
        declared = " ".join(re.findall(r"\b(?:global|shared|reg) \w+ ([^;]*)", code))
        self.tiles = set(re.findall(r"(?:^|, |\s)([A-Za-z]\w*)(?=\[| =|,|$)", declared))
        self.any_order = "atomic_" in body
        self.verify = bool(re.search(r"^\s*ensures\b", body, re.M))


def cases_of(path, given):
    text = open(path).read()
    for name, _, body in kernels_of(text):
        yield Case(f"{path}:{name}", given(name), body, text[:text.index(f"kernel {name}")].count("\n") + 1)


def shipped():
    for path in sorted(set(glob.glob("kernels/*/*.tile")) - set(glob.glob("kernels/hopper/*.tile"))):  # for sm_90a alone
        short = path[len("kernels/"):-len(".tile")]

        def given(name):
            sizes = next(SIZES[key] for key in (f"{short}:{name}", short, short.split("/")[0] + "/") if key in SIZES)
            return (["--set", sizes] if sizes else []) + ["--fill", "rand"]
        for case in cases_of(path, given):
            yield short, case


def parity():
    for path in sorted(glob.glob("tests/parity/*.tile")):
        text = open(path).read()
        if comments(text, "expect-error"):
            continue
        for name, before, body in kernels_of(text):
            if not comments(before, "expect-fault"):
                for given in (comments(before, "run") or ["--fill rand"])[:1]:
                    yield Case(f"{path}:{name}", given.split(), body, text[:text.index(f"kernel {name}")].count("\n") + 1)


def run(tool, case, *words):
    verify = ["--verify"] if case.verify and "--break" not in words else []
    return call([tool, "run", case.kernel, *case.given, *verify, *words, "--json"])


def flat(value):
    return [x for part in value for x in flat(part)] if isinstance(value, list) else [value]


def same_rows(case, some, others):
    """Returns true if two devices show the same rows, up to rounding, and except elements that the kernel does not write (nan on the CPU engine). The
    value that an atomic returns depends on the order of threads, so it is not compared."""
    if len(some) != len(others):
        return False
    for a, b in zip(some, others):
        if {**a, "value": 0} != {**b, "value": 0}:
            return False
        x, y = ([], []) if case.any_order else (flat(a.get("value")), flat(b.get("value")))
        if len(x) != len(y):
            return False
        for one, other in zip(x, y):
            numbers = isinstance(one, float) and isinstance(other, float)  # integers are exact
            if one != "nan" and one != other and not (numbers and abs(one - other) <= 1e-2 * max(1, abs(one))):
                return False
    return True


def shown(tool, case, device, *words):
    """Runs the case on a device; returns the arrays and the rows."""
    done = run(tool, case, *words, "--device", device)
    if done.status != 0:
        fail(f"{case.kernel} {words} on {device}: {done}")
    found = json.loads(done.out)
    return {name: array.get("values") for name, array in found["arrays"].items()}, found.get("probes", []), found.get("probes_left_out")


def devices_of(tool, case):
    """Returns the CPU engine, and a simulated GPU that has the kernel's types."""
    lacks = "simulates that one" in run(tool, case, "--device", "sim:sm_80", "--step-limit", "1").err
    return ["cpu", "sim:sm_90" if lacks else "sim:sm_80"]


def assigned(tool, case):
    """Returns up to 60 of the case's names that the kernel assigns: the messages of `run` name those that it does not assign."""
    names = case.names
    while names:
        done = run(tool, case, "--probe", ",".join(names[:60]), "--in-block", "99999")
        unknown = set(re.findall(r"assigns no `(\w+)`", done.err + done.out))
        if not unknown:
            return names[:60]
        names = [n for n in names if n not in unknown]
    return []


def check_names(tool, case, devices, every):
    """Shows all names together, and each view and tile by itself; with tiles of several threads, threads all together."""
    names = assigned(tool, case)
    if case.kernel.startswith("kernels/") and not names:
        fail(f"{case.kernel}: it assigns none of its names")
    tiles = [name for name in names if name in case.tiles]
    runs = [[",".join(names)] + (["--in-thread", "1"] if case.thread_level else [])] if names else []
    if case.thread_level and tiles:
        runs.append([",".join(tiles)])
    for name in tiles if every else []:
        runs += [[name], [name, "--in-thread", "1"]] if case.thread_level else [[name]]
    plain = {device: shown(tool, case, device)[0] for device in devices} if runs else {}
    for given in runs:
        words = ["--probe", *given, "--probe-rows", "2000"]
        found = {device: shown(tool, case, device, *words) for device in devices}
        for device in devices:
            if found[device][0] != plain[device]:
                fail(f"{case.kernel} {words} on {device}: other outputs than without --probe")
            if not same_rows(case, found[devices[0]][1], found[device][1]) or found[device][2] != found[devices[0]][2]:
                fail(f"{case.kernel} {words}: {devices[0]} shows {found[devices[0]][1:]}, {device} {found[device][1:]}")


def check_lines(tool, case, devices):
    for line in case.lines:
        found = []
        for device in devices:
            done = run(tool, case, "--break", str(line), "--device", device)
            stop = json.loads(done.out).get("stop", []) if done.out else []
            found.append((done.status, stop))
            if done.status and "came to it 0 times" not in done.err and "has no statement" not in done.err + done.out:
                fail(f"{case.kernel} --break {line} on {device}: {done}")
        if any(status != found[0][0] or not same_rows(case, found[0][1], stop) for status, stop in found):
            fail(f"{case.kernel} --break {line}: {found}")


def main():
    tool, every = os.path.abspath(sys.argv[1]), "--all" in sys.argv
    only = [word for word in sys.argv[2:] if word != "--all"]
    for short, case in shipped():
        if only and not any(word in case.kernel for word in only) or not only and not every and short not in QUICK:
            continue
        devices = devices_of(tool, case)
        check_names(tool, case, devices, every)
        if every or short in ("sgemm/vector_load", "matmul/auto"):
            check_lines(tool, case, devices)
    for case in parity() if every else []:
        if not only or any(word in case.kernel for word in only):
            check_names(tool, case, devices_of(tool, case), every)


if __name__ == "__main__":
    main()
