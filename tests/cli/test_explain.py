#!/usr/bin/env python3
"""`explain`: its pages, tables, diagrams and JSON; refused arguments; docs/explain.md has every field."""
import json
import math
import os
import re
import resource
import shutil
import sys
import tempfile
import xml.etree.ElementTree as xml

from growth import instructions
from tile_runner import call, expect, fail

TILED = "kernels/sgemm/tiled.tile"
SMALL = ["--set", "m=128,n=128,k=128", "--device", "h200"]
SWEPT = ["--set", "n=128,k=128", "--device", "h200"] # with a sweep of m
SVG = "{http://www.w3.org/2000/svg}"


def explain(tool, *arguments, status=0, cwd=None, env=None):
    result = call([tool, "explain", *arguments], cwd=cwd, env=env)
    expect(result.status == status, f"explain {arguments}: expected status {status}: {result}")
    return result


def refused(tool, arguments, *said, status=2):
    result = explain(tool, *arguments, status=status)
    for text in said:
        expect(text in result.err and not result.out, f"explain {arguments}: no '{text}': {result}")


def test_refused(tool, folder):
    refused(tool, [], "which FILE?", "--device GPU")
    refused(tool, ["no/such.tile"], "no/such.tile")
    refused(tool, ["nave"], "did you mean 'naive'?")
    refused(tool, [TILED + ":sgemm_tilde"], "sgemm_tiled")
    refused(tool, [TILED, "--device", "h20"], "--device h20: the model knows no such GPU", "H200 SXM")
    refused(tool, [TILED, "--device", "h2000"], "did you mean 'H200 SXM'?")
    refused(tool, [TILED, "--device", "zzz"], "there are 'A100 SXM 80GB', 'H100 SXM'")
    refused(tool, [TILED, "--device", "RTX 4900"], "did you mean 'RTX 4090'?", "`tilewright explain --devices` has their short names")
    refused(tool, [TILED, "--device", "h200", "--device", "4090"], "--device h200, --device 4090: one GPU at a time")
    refused(tool, [TILED, "--set", "q=1"], "--set q: sgemm_tiled has no scalar parameter 'q'; there are 'm', 'n' and 'k'")
    refused(tool, [TILED, "--tune", "U=8"], "--tune U: sgemm_tiled has no tuned value 'U'")
    refused(tool, ["--compare", ","], "--compare ,: expected names of kernels, or files")
    refused(tool, ["--compare", ""], "expected names of kernels, or files")
    refused(tool, [TILED, "--sweep", "T"], "--sweep T: expected NAME=VALUE,VALUE…")
    refused(tool, [TILED, "--sweep", "T=16,,32"], "--sweep T=16,,32: expected NAME=VALUE,VALUE…")
    refused(tool, [TILED, "--sweep", "Q=1,2"], "--sweep Q: there is no tuned value, size, type or constant of that name; there are 'T', 'm', 'n' and 'k'")
    refused(tool, [TILED, "--sweep", "T=16..64"], "--sweep T=16..64: expected a number")
    refused(tool, [TILED, "--sweep", "m=64,x"], "--sweep m=x: `x` is not a number")
    refused(tool, [TILED, "--sweep", "m=64,1.5"], "--sweep m=1.5: `m` is of type i32")
    refused(tool, [TILED, "--sweep", "T=16", "--sweep", "T=32"], "--sweep T=32: `T` is swept twice", "--sweep T=16,32")
    refused(tool, [TILED, "--sweep", "k=16", "--set", "m=16,k=32"], "--sweep k, --set k: which values is `k` to have?")
    refused(tool, [TILED, "--sweep", "T=16", "--tune", "T=32"], "--sweep T, --tune T: which values is `T` to have?")
    refused(tool, ["auto", "--sweep", "T=f16,f3"], "--sweep: unknown type 'f3'; did you mean 'f32'?")
    refused(tool, ["naive", "--type", "f16"], "--type f16: sgemm_naive has no type variable, so no array can be of that type")
    refused(tool, ["--compare", "naive,tiled", "--type", "f16"], "--type f16: none of the kernels has a type variable")
    explain(tool, "--compare", "naive,auto", "--type", "f16", *SMALL)
    with open(f"{folder}/outside.tile", "w") as out:
        out.write(COPY.replace("A[i];", "A[i + 1];"))
    refused(tool, [f"{folder}/outside.tile"], "cannot be simulated: read of 4 bytes", "outside.tile:4:23", "outside.tile` says more of it", status=1)
    with open(f"{folder}/endless.tile", "w") as out:
        out.write("kernel endless(i32 n, f32 *y) grid(1) warps(1)\n{\n    global f32 Y[n] = y;\n    i32 i = 0;\n    while (i < n)\n        Y[i] = 1;\n}\n")
    result = explain(tool, f"{folder}/endless.tile", "--step-limit", "10000", status=1)
    expect("does not end within 10000 warp instructions" in result.err and f"({folder}/endless.tile:5:5)" in result.err, result)
    expect("(--step-limit N lets " in result.err and "says more" not in result.err, result)
    refused(tool, [TILED, "--step-limit", "0"], "--step-limit 0: expected an integer from 1")
    refused(tool, [TILED, "--ridge", "150"], "--ridge is for a GPU alone")
    refused(tool, ["--device", "h100", "--set", "m=1"], "--set is for a kernel: which FILE?")
    refused(tool, ["--device", "h100", "--ridge", "none"], "--ridge none: expected a number of FLOPs a byte")
    refused(tool, ["--devices", TILED], "--devices takes no other option than --json")
    refused(tool, [TILED, "--registers", "7"], "--registers 7: expected an integer from 16 to 255")
    refused(tool, [TILED, *SMALL, "--svg", f"{folder}/no/such.svg"], "cannot write", "no/such.svg")
    refused(tool, ["--compare", f"{TILED},kernels/cuda/block_sum.ptx"], "explained by themselves")
    refused(tool, ["kernels/cuda/block_sum.ptx", "--sweep", "T=1,2"], "is for .tile files")
    for more in ([], ["--set", "m=8"]):
        refused(tool, ["kernels/cuda/block_sum.ptx", TILED, *more], "To compare with a .tile kernel, explain each by itself")
    refused(tool, [TILED, "--grid", "2"], "is for PTX and CUDA C")
    told = json.loads(explain(tool, "nave", "--json", status=2).out)
    expect(told["status"] == "TW_NO_FILE" and "naive" in told["messages"][0]["text"], told)


def test_page(tool):
    page = explain(tool, TILED, *SMALL).out
    for part in ("Work", "Global memory, counted in six ways", "Bytes at each level", "Roofs", "Accesses by line", "Limits", "Predicted", "Verdict", "To change", "Notes"):
        expect(f"\n{part}" in page, f"no {part}: {page}")
    expect("(null)" not in page and "nan" not in page and "inf" not in page, page)
    other = explain(tool, TILED, *SMALL[:2], "--device", "4090").out
    expect("\nGDDR6X " in other and "   GDDR6X " in other and "HBM" not in other, other)
    expect("\n  binds: latency\n" in page and not re.search(r"^\*", page, re.M) and "not set" not in page, page)
    expect("m=1024,n=1024,k=1024: not set" in explain(tool, TILED, "--device", "h200").out, "assumed sizes are not said")
    loads = explain(tool, "kernels/sgemm/naive.tile", *SMALL).out
    for load in ("1 sector a warp   A[row][p]: sum += ", "4 sectors a warp  B[p][col]: sum += ", "4 sectors a warp  C[row][col] = sum;"):
        expect(load in loads, loads)
    copies = explain(tool, "kernels/matmul/async.tile", *SMALL, "--type", "f16").out
    expect("bank conflicts: of copies past L1 alone, 768 of " in copies and "16 wavefronts a copy, 4 would do  async sa" in copies and "-way conflict" not in copies, copies)
    expect("(24 a thread" in page and "as given" in explain(tool, TILED, *SMALL, "--registers", "40").out, page)


def test_conflicts_as_counted(tool):
    """The page has the bank conflicts of `run --counters`, and those that are left if an assembler merges accesses."""
    launch = ["--block", "256", "--arg", "f32[1024]:iota", "--arg", "f32[1024]:none"]
    counted = json.loads(call([tool, "run", "tests/gpu/scalars.ptx", *launch, "--counters", "--json"]).out)["counters"]
    page = explain(tool, "tests/gpu/scalars.ptx", *launch).out
    expect("bank conflicts: none\n  (if an assembler merges neighbouring accesses. As written they lose 192 of 256: " in page, page)
    expect("no conflict if merged (4-way as written)\n" in page and " text\n" not in page, page)
    told = json.loads(explain(tool, "tests/gpu/scalars.ptx", *launch, "--json").out)["kernels"][0]
    written = told["wavefronts_as_written"], told["wavefronts_ideal_as_written"]
    expect(written == (counted["shared_wavefronts"], counted["shared_wavefronts_ideal"]), told)
    expect(told["shared_wavefronts"] == counted["as_assembled"]["shared_wavefronts"][0], told)
    expect({a["ways_as_written"] for a in told["accesses"] if a["space"] == "shared"} == {4}, told["accesses"])
    copies = [*SMALL, "--type", "f16"]
    counted = json.loads(call([tool, "run", "kernels/matmul/async.tile", *copies, "--fill", "rand", "--device", "sim", "--counters", "--json"]).out)["counters"]
    told = json.loads(explain(tool, "kernels/matmul/async.tile", *copies, "--json").out)["kernels"][0]
    lost = told["shared_wavefronts"] - told["shared_wavefronts_ideal"]
    expect(lost == counted["bank_conflicts"] == told["copy_wavefronts"] - told["copy_wavefronts_ideal"], f"{lost}: {counted}")


def test_first_lines(tool):
    """The bottleneck and the best change come first; every line has facts."""
    page = explain(tool, TILED, "--device", "h200").out
    order = [page.index(f"\n{part}") for part in ("Verdict", "To change", "Predicted", "Work", "Roofs", "Limits", "Notes")]
    expect(order == sorted(order) and page[:order[0]].count("\n") <= 5, page)
    verdict = re.search(r"\nVerdict    It is bound by wavefronts of shared memory and L1: this alone takes ([\d.]+) µs of the ([\d.]+) µs\. Next: .*, [\d.]+ µs\.\n", page)
    expect(verdict and float(verdict[1]) > 0.85 * float(verdict[2]), page)
    expect("L1 has none of the sectors" in page and "the last wave: 87.9 % of its places have a block" in page, page)
    naive = explain(tool, "naive", "--device", "h200").out
    expect("bound by wavefronts of L1:" in naive and re.search(r"\n\*  L1 +\d", naive) and "L1, shared" not in naive, naive)
    expect("of 1024, no shared memory\n" in naive and "0 KiB" not in naive, naive)
    held = explain(tool, "stages", "--type", "f16", "--set", "m=1024,n=1024,k=1024", "--device", "h100").out
    expect("busy for 5" not in held and "busy for 6" not in held, held)


def test_last_wave(tool):
    """Occupancy, and the part of the last wave that is full, in tables and JSON."""
    table = explain(tool, "naive", "tiled", "--device", "h200").out
    expect(re.search(r"\nnaive .* 100 % +87\.9 % +- +1024  L1\ntiled .* 100 % +87\.9 % +8 KiB +1024  L1, shared\n", table), table)
    k = json.loads(explain(tool, "tiled", "--device", "h200", "--json").out)["kernels"][0]
    places = k["resident_blocks"] * 132
    expect(k["last_wave"] == (k["blocks"] % places or places) / places, k)
    many = explain(tool, "naive", "--sweep", "k=1,4096", "--set", "m=1024,n=1024", "--device", "h200").out
    expect("-100 %" not in many and "×" in many, many)
    few = explain(tool, "naive", "--sweep", "k=4096,1", "--set", "m=1024,n=1024", "--device", "h200").out
    expect("-100 %" not in few and "÷" in few, few)


def test_large_copy(tool):
    """A copy of arrays far larger than L2 moves each byte between L2 and DRAM, and is predicted to take that time."""
    for n in (2 ** 26, 2 ** 28):
        told = json.loads(explain(tool, "docs/tutorial/files/copy.tile", "--device", "h100", "--set", f"n={n}", "--tune", "ROOM=1", "--json").out)
        k = told["kernels"][0]
        written = k["traffic"][3]["written"][1]
        expect(0.99 < written / (4 * n) < 1.01, k)
        expect(k["seconds"][1] >= 8 * n / told["gpu"]["memory_bandwidth"], k)


def test_names(tool):
    """The beginning of a name selects a GPU."""
    for given, meant in (("RTX 3060", "'RTX 3060 Laptop'?"), ("geforce rtx 3090 ti", "'RTX 3090'?"), ("l40", "'L40S'?"), ("h20", "'H200 SXM'?"), ("A100 PCIe", "'A100 SXM 80GB'?"),
                         ("H100 NVL", "'H100 SXM'?"), ("rtx 30", "'RTX 3060 Laptop' or 'RTX 3090'?"), ("h1", "'H100 SXM' or 'H100 PCIe'?")):
        refused(tool, [TILED, "--device", given], f"(`tilewright explain --devices` has their short names); did you mean {meant}")
    for given, meant in (("rtx 40", "RTX 4090"), ("h100 p", "H100 PCIe"), ("H100PCI", "H100 PCIe"), ("NVIDIA B", "B200"), ("l40s", "L40S")):
        expect(explain(tool, "--device", given).out.startswith(f"{meant}: "), f"{given} is {meant}")


def test_intervals(tool):
    """The text names the GPUs on which the model was compared with measurements."""
    for device, measured in ("h200", True), ("h100", True), ("h100 pcie", False), ("3060", False), ("b200", False):
        page = explain(tool, TILED, *SMALL[:2], "--device", device).out
        low, high = re.search(r"Predicted .*? \(([\d.]+) to ([\d.]+)\)", page).groups()
        expect((float(high) / float(low) > 2.5) != measured and ("No time was measured on the " in page) != measured, page)


def test_constants(tool, folder):
    """A sweep also accepts a constant of the file, not of a kernel, a comment or a parameter."""
    with open(TILED) as file:
        tiled = file.read()
    text = re.sub(r"\ntune T = .*\n", "\n// const i32 T = 5;\nconst i32 U = (3, 4)[0] + 1, T = 32; /* T = 7 */\n".replace("(3, 4)[0]", "max(1, 2)"), tiled)
    with open(f"{folder}/lone.tile", "w") as file:
        file.write(text.replace("    shared f32 as", "    const i32 V = 1;\n    shared f32 as"))
    expect("tune" not in text, text)
    both = [explain(tool, path, "--sweep", "T=8,16,32", "--device", "h200", "--json").out for path in (f"{folder}/lone.tile", TILED)]
    lone, tuned = (json.loads(out)["kernels"] for out in both)
    expect([k["name"] for k in lone] == ["lone T=8", "lone T=16", "lone T=32"], lone)
    expect([k["seconds"] for k in lone] == [k["seconds"] for k in tuned] and [k["threads"] for k in lone] == [64, 256, 1024], lone)
    refused(tool, [f"{folder}/lone.tile", "--sweep", "V=1,2"], "--sweep V: there is no tuned value, size, type or constant of that name; "
            "there are 'm', 'n', 'k', 'U' and 'T'")
    refused(tool, [f"{folder}/lone.tile", "--sweep", "T=8,x"], "--sweep T=x: `x` is not a number, true or false")
    refused(tool, [f"{folder}/lone.tile", "--sweep", "T=8,2.5"], f"(the text is that of {folder}/lone.tile with --sweep T=2.5)")


SCALED = """kernel scaled(i32 n, f32 s, f64 d, f16 h, const f32 *a, f32 *c) grid(cdiv(n, 64)) threads(64)
{
    global f32 A[n] = a, C[n] = c;
    i32 i = block.x * 64 + thread.x;
    if (i < n)
        C[i] = A[i] * s + (f32) d + (f32) h;
}
"""


def test_svg_alone(tool, folder):
    """The roofline of a GPU alone."""
    explain(tool, "--device", "h100", "--svg", f"{folder}/gpu.svg")
    svg = open(f"{folder}/gpu.svg").read()
    expect("Roofline of the H100 SXM" in svg and svg.count('class="roof ') == 6 and svg.count('class="ceiling"') == 4, svg)
    expect("f16 tensor 989 TFLOP/s" in svg and "Kernels" not in svg and "inf" not in svg and "nan" not in svg, svg)
    refused(tool, ["--device", "h100", "--svg", f"{folder}/no/such.svg"], "cannot write")


def test_ptx(tool, folder):
    """The PTX of a kernel, launched by hand, is explained like the kernel."""
    done = call([tool, "show", TILED, "--stage", "ptx", "--target", "sm_90"])
    with open(f"{folder}/tiled.ptx", "w") as out:
        out.write(done.out)
    n = 96
    arrays = [word for fill in ("ones", "ones", "none") for word in ("--arg", f"f32[{n}x{n}]:{fill}")]
    launch = ["--grid", "3,3", "--block", "32,32", "--shared", "8192", *3 * ["--arg", f"i32:{n}"], *arrays]
    ptx = json.loads(explain(tool, f"{folder}/tiled.ptx", "--device", "h100", *launch, "--json").out)["kernels"][0]
    tile = json.loads(explain(tool, TILED, "--device", "h100", "--set", f"m={n},n={n},k={n}", "--tune", "T=32", "--json").out)["kernels"][0]
    expect((ptx["kernel"], ptx["name"]) == ("sgemm_tiled", "sgemm_tiled"), ptx)
    for key in tile:
        if key not in ("name", "kernel", "file", "set", "tune", "accesses", "lines", "notes"):
            expect(ptx[key] == tile[key], f"{key}: {ptx[key]}, of the kernel {tile[key]}")
    page = explain(tool, f"{folder}/tiled.ptx", "--device", "h100", *launch).out
    expect(page.startswith("sgemm_tiled, ") and "Verdict" in page, page)
    refused(tool, [f"{folder}/tiled.ptx", "--device", "h100", "--grid", "3,3"], "takes 6 arguments")


def test_charts(tool, folder):
    """T walks up the memory roof if bytes are counted by thread; bars of speeds and of traffic."""
    sizes = ["--device", "h100", "--set", "m=128,n=128,k=128"]
    done = explain(tool, TILED, *sizes, "--sweep", "T=16,32,64", "--svg", f"{folder}/walk.svg", "--by", "thread", "--json")
    rows = json.loads(done.out)["kernels"]
    intensities = [{way["way"]: way["intensity"] for way in row["ways"]} for row in rows]
    expect([list(by) for by in intensities] == [["thread", "element", "request", "l2", "memory", "compulsory"]] * 3, intensities)
    expect([round(by["thread"]) for by in intensities] == [4, 7, 13], intensities)
    expect(rows[2]["why_not"] and not rows[2]["launches"] and rows[0]["occupancy"] == 1, rows[2]["why_not"])
    walk = open(f"{folder}/walk.svg").read()
    expect(walk.count('class="roof ') == 2 and walk.count('"hollow r0"') == 1 and "counted by thread" in walk and "nan" not in walk, walk)
    for chart, words in (("ladder", "% of peak"), ("traffic", "each thread&#39;s elements")):
        explain(tool, TILED, *sizes, "--svg", f"{folder}/{chart}.svg", "--chart", chart)
        svg = open(f"{folder}/{chart}.svg").read()
        expect(words.replace("&#39;", "'") in svg.replace("&#39;", "'") and "nan" not in svg and svg.endswith("</svg>\n"), svg)
    refused(tool, [TILED, "--chart", "ladder"], "is for --svg")
    refused(tool, [TILED, "--svg", f"{folder}/x.svg", "--chart", "pie"], "expected roofline")
    refused(tool, [TILED, "--svg", f"{folder}/x.svg", "--by", "hand"], "expected thread")


REDUCES = """.version 8.0
.target sm_80
.address_size 64
.visible .entry small(.param .u64 out)
.maxntid 32, 1, 1
.minnctapersm LEAST
{
    .reg .u32 %r<4>;
    .reg .u64 %rd<2>;
    .reg .f32 %f<2>;
    .shared .align 4 .b8 tile[4096];
    ld.param.u64 %rd0, [out];
    mov.u32 %r0, %tid.x;
    shl.b32 %r1, %r0, 7;
    mov.u32 %r2, tile;
    add.u32 %r3, %r2, %r1;
    st.shared.f32 [%r3], 0f00000000;
    ld.shared.f32 %f1, [%r3];
    red.global.add.f32 [%rd0], %f1;
    ret;
}
"""


def test_limits(tool, folder):
    """The report names reductions, and the fault of a small launch; the blocks that a kernel asks for limit its registers."""
    with open(f"{folder}/small.ptx", "w") as out:
        out.write(REDUCES.replace("LEAST", "1"))
    launch = [f"{folder}/small.ptx", "--arg", "f32[1]:zero", "--block", "32", "--device", "h200"]
    page = explain(tool, *launch).out
    expect("  19  global atomic add      4 " in page, page)
    expect("The launch is too small to keep this GPU busy" in page and "In a larger launch this would count: Line 17 has a store with bank conflicts, 32-way: " in page, page)
    found = json.loads(explain(tool, *launch, "--json").out)["kernels"][0]["accesses"]
    expect([(a["line"], a["store"], a["atomic"]) for a in found] == [(17, True, None), (18, False, None), (19, True, "add")], found)
    refused(tool, ["kernels/cuda/block_sum.ptx", "--block", "256", "--arg", "f32[9]:ones", "--arg", "f32[1]:zero", "--arg", "i32:1000"],
            "it cannot be simulated", "`tilewright check` with the same launch shows the place", status=1)
    with open("kernels/matmul/shared.tile") as text:
        shared = text.read()
    for least, registers in ((2, 255), (4, 128), (5, 96), (8, 64)):
        with open(f"{folder}/resident.tile", "w") as out:
            out.write(shared.replace("warps(4)", f"warps(4) resident({least})"))
        x = json.loads(explain(tool, f"{folder}/resident.tile", "--device", "h200", "--json").out)["kernels"][0]
        expect(x["resident_blocks"] >= least and x["registers"] <= registers, (least, x["registers"], x["resident_blocks"]))
        said = "(resident, launch bounds) leaves 64: the rest would be kept in memory" in " ".join(x["notes"])
        expect(said == (least == 8), x["notes"])


def test_scalars(tool, folder):
    """A float is the shortest text that reads back as the same value of its parameter's type."""
    with open(f"{folder}/scaled.tile", "w") as file:
        file.write(SCALED)
    for given, shown in (("s=1e-5,d=0.1,h=0.1", "s=1e-05 d=0.1 h=0.1"), ("s=100000,d=1e300,h=-0.5", "s=100000 d=1e+300 h=-0.5"),
                         ("s=0.1,d=0.10000000149011612,h=0", "s=0.1 d=0.10000000149011612 h=0"), ("s=16777216,d=1e16,h=1.5", "s=16777216 d=1e+16 h=1.5")):
        page = explain(tool, f"{folder}/scaled.tile", "--set", f"n=64,{given}", "--device", "h200").out
        expect(f"  n=64 {shown};" in page, page)


def test_verdicts(tool):
    """Verdicts on a short launch, and on a last wave."""
    page = explain(tool, "softmax", "--device", "h200").out
    words = " ".join(page.split())
    expect("busy for more than 1% " in explain(tool, "softmax", "--set", "rows=1,cols=32", "--device", "h200").out, "0% is not more")
    expect("3 µs are the launch itself" in words and "Give a launch more to do" in words and "asynchronously" not in words, page)
    words = " ".join(explain(tool, "auto", "--device", "3060").out.split())
    expect("The last of 2 waves of 60 blocks has 4:" in words, words)


def test_advice(tool):
    """The advised change makes it faster."""
    large = ["--type", "f16", "--set", "m=4096,n=4096,k=4096", "--device", "h200", "--json"]
    for before, advice, after in ((["registers"], "asynchronously", ["stages"]),
                                  (["tuned"], "asynchronously", ["stages"]),
                                  (["stages", "--tune", "BK=16"], "a greater BK", ["stages", "--tune", "BK=32"]),
                                  (["stages", "--tune", "BK=32"], "a greater depth", ["stages", "--tune", "BK=64,STAGES=2"]),
                                  (["stages", "--tune", "BK=32,BN=64"], "Larger tiles", ["stages", "--tune", "BK=32"])):
        first, second = (json.loads(explain(tool, *a, *large).out)["kernels"][0] for a in (before, after))
        expect(advice in first["advice"], f"{before}: {first['advice']}")
        expect(second["seconds"][1] < 0.95 * first["seconds"][1], f"{before}: {first['seconds']} {second['seconds']}")


def test_unlaunchable(tool):
    page = explain(tool, TILED, *SMALL, "--tune", "T=64").out
    expect("Verdict    cannot launch: 4096 threads a block, the limit is 1024\n" in page and "Predicted" not in page, page)
    expect("To change  Take a smaller block, or let each thread compute several results.\n\nWork\n" in page, page)
    expect(re.search(r"\n  18  shared load .* no conflict ", page) and "Roofs" not in page and "Notes" not in page, page)
    k = json.loads(explain(tool, TILED, *SMALL, "--tune", "T=64", "--json").out)["kernels"][0]
    expect(not k["launches"] and k["threads"] == 4096 and k["verdict"] == k["why_not"], k)
    expect(k["traffic"][2]["by_thread"] == 2 * 128**3 * 4 // 64 + 128**2 * 4 and k["traffic"][2]["moved"] == [0, 0, 0], k)
    large = explain(tool, TILED, "--sweep", "T=128,256", "--device", "4090").out
    expect(re.search(r"tiled T=128 .* 128 KiB +16384 .*\ntiled T=256 .* 512 KiB +65536 ", large), large)
    bytes_ = explain(tool, "kernels/matmul/stages.tile", *SMALL[:2], "--device", "3090", "--type", "f32", "--tune", "BK=32,STAGES=5").out
    expect(re.search(r"cannot launch: \d+ bytes of shared memory a block, the limit is 101376", bytes_), bytes_)
    expect("--set" not in bytes_, bytes_)
    expect("  1 block (1) of 128 threads (128)" in bytes_ and "a block: 128 threads of 1024, 160 KiB of 99 KiB" in bytes_, bytes_)


def test_too_large(tool):
    """The message names the size that makes tiles too large, even if it is a default, and a size that fits."""
    attention = ["attention", "--set", "heads=1,nq=128,nk=64,causal=0,scale=1", "--device", "h200"]
    page = explain(tool, *attention).out
    expect("(d=1024: not set" in page, page)
    said = re.search(r"Verdict    cannot launch: 524288 bytes .*\nTo change  Take smaller .* Tiles grow with d: with --set d=(\d+) it can be launched\.\n", page)
    expect(said and "Predicted" in explain(tool, *attention, "--set", f"d={said[1]}").out, page)
    expect(f"--set d={said[1]}" in explain(tool, *attention, TILED).out, said[0])


def test_not_compiled(tool, folder):
    """A combination that does not compile, or cannot be simulated, is a row of the table; if all are, it is an error."""
    arguments = ["kernels/matmul/stages.tile", "--type", "f16", "--set", "m=256,n=256,k=256", "--device", "h200"]
    result = explain(tool, *arguments, "--sweep", "BM=64,512,128", "--svg", f"{folder}/rows.svg")
    why = "does not compile: the register tiles of `matmul_v4` take 512 registers a thread, and a thread has 255"
    expect(re.search(rf"\nstages BM=64 .*\nstages BM=512 +- .* - +- +{why}\nstages BM=128 .*latency\n", result.out) and not result.err, result)
    expect("\nstages BM=512  kernels/matmul/stages.tile:10: with these tuned values it fits: BM = 128 (" in result.out, result)
    expect("does not compile" in open(f"{folder}/rows.svg").read(), "rows.svg")
    told = json.loads(explain(tool, *arguments, "--sweep", "BM=512,64", "--json").out)
    expect(told["status"] == "TW_OK" and [k["launches"] for k in told["kernels"]] == [False, True], told)
    expect(told["kernels"][0]["why_not"] == told["kernels"][0]["verdict"] == why and told["kernels"][0]["tune"]["BM"] == 512, told["kernels"][0])
    refused(tool, [*arguments, "--sweep", "BM=512,1024"], "error: the register tiles of `matmul_v4` take 512", "^~~~~~~~~")
    negative = explain(tool, TILED, "--sweep", "m=-1,64", *SWEPT)
    expect(re.search(r"\ntiled m=-1 .* axis 0 of `A`, `m`, is -1 elements long\ntiled m=64 ", negative.out), negative)
    with open(f"{folder}/some.tile", "w") as out:
        out.write(COPY.replace("i32 n,", "i32 n, i32 at,").replace("A[i];", "A[i + at];"))
    with open(f"{folder}/required.tile", "w") as out:
        out.write("tune B = {8, 16};\nrequire(B < 12);\nkernel k(static i32 n, const f32 *a, f32 *c) grid(cdiv(n, B)) warps(1)\n{\n"
                  "    global f32 A[n] = a, C[n] = c;\n    C[block.x * B +: B] = A[block.x * B +: B] * 2;\n}\n")
    required = explain(tool, f"{folder}/required.tile", "--set", "n=1000", "--sweep", "B=16,8").out
    expect("`require(B < 12)` does not hold for B = 16" in required and "required B=8" in required, required)
    result = explain(tool, f"{folder}/some.tile", "--set", "n=128", "--sweep", "at=1,0", "--device", "h200", status=1)
    expect(re.search(r"\nsome at=1 .* cannot be simulated: read of 4 bytes .*\nsome at=0 .*\n", result.out) and not result.err, result)


def test_spilling(tool):
    """A message tells that a thread needs more registers than it has."""
    rows = ["tests/errors/target_spills.tile", "--set", "n=2048", "--device", "h200", "--tune"]
    page = " ".join(explain(tool, *rows, "ROWS=15").out.split())
    expect(re.search(r"About 30\d registers a thread would be needed, and a thread has 255: the rest would be kept in memory", page), page)
    expect("would be needed" not in explain(tool, *rows, "ROWS=4").out, "of 100 registers nothing is kept in memory")


def test_nothing_to_do(tool, folder):
    page = explain(tool, TILED, "--set", "m=0", "--device", "h200").out
    expect("Roofs" not in page and "Predicted" not in page and "\n\nVerdict    It does nothing" in page and "(null)" not in page and "nan" not in page, page)
    table = explain(tool, TILED, "--sweep", "m=0,64", *SWEPT, "--svg", f"{folder}/nothing.svg").out
    expect(re.search(r"tiled m=0 +- .* nothing\n", table), table)
    expect("no FLOPs" in open(f"{folder}/nothing.svg").read(), "nothing.svg")


def test_table(tool):
    out = explain(tool, TILED, "--sweep", "T=16,32,64", *SMALL).out
    rows = [line for line in out.splitlines() if line.startswith("tiled T=")]
    expect([r.split()[1] for r in rows[:3]] == ["T=16", "T=32", "T=64"], out)
    both = json.loads(explain(tool, "--compare", "naive,transposed", "--sweep", "T=8,16", "--sweep", "PAD=0,1", *SMALL, "--json").out)["kernels"]
    names = [k["name"] for k in both]
    expect(names == ["naive T=8", "naive T=16", *(f"transposed T={t} PAD={p}" for t in (8, 16) for p in (0, 1))], names)
    sizes = json.loads(explain(tool, "naive", "--sweep", "m=64,96", *SWEPT, "--json").out)["kernels"]
    expect([k["set"]["m"] for k in sizes] == [64, 96] and sizes[0]["set"]["n"] == 128, sizes)
    table = explain(tool, "naive", "--sweep", "m=512,1024", "--device", "h200").out
    first, second = (float(g) for g in re.findall(r"naive m=\d+ +[\d.]+ .s +(\d+)", table)[:2])
    told = re.search(r"naive m=1024 .* to \d+ +([+−-]\d+) ?%", table)
    expect(told and abs(float(told[1].replace("−", "-")) - 100 * (second / first - 1)) < 1, table)
    wide = explain(tool, "auto", "--sweep", "T=f16,f32", "--set", "m=2048,n=2048,k=2048", "--device", "h200").out
    lines = [line for line in wide.splitlines() if re.match(r"kernel |auto T=.* \d+ to \d+ ", line)]
    expect(len(lines) == 3 and len({re.search("(threads| 128) ", line).end() for line in lines}) == 1, wide)
    types = json.loads(explain(tool, "registers", "--sweep", "T=f16,f32", *SMALL, "--json").out)["kernels"]
    expect(types[1]["traffic"][2]["read_by_thread"] == 2 * types[0]["traffic"][2]["read_by_thread"], types)
    files = explain(tool, TILED, "kernels/sgemm/naive.tile", *SMALL).out
    expect(re.search(r"\ntiled .*\nnaive ", files) and "changes against tiled" in files, files)


COPY = """kernel copy(i32 n, const f32 *a, f32 *b) grid(cdiv(n, 128)) threads(128) {
    global f32 A[n] = a, B[n] = b;
    i32 i = block.x * 128 + thread.x;
    if (i < n) B[i] = A[i];
}
"""


def write_copy(folder):
    with open(f"{folder}/copy.tile", "w") as out:
        out.write(COPY)
    return f"{folder}/copy.tile"


def test_table_speeds(tool, folder):
    """Changes compare FLOP/s, not times of different amounts of work; copies are rated by their bytes."""
    arguments = ["naive", "--device", "h200", "--sweep", "k=256,1024"]
    rows = json.loads(explain(tool, *arguments, "--json").out)["kernels"]
    change = rows[1]["flops_per_second"][1] / rows[0]["flops_per_second"][1] - 1
    table, said = explain(tool, *arguments).out, re.escape(f"{100 * change:+.0f} %")
    expect(re.search(rf"\nnaive k=1024 +\d+ µs +\d+ +\d+ to \d+ +{said} ", table) and abs(change) < 0.1, table)
    arguments = [write_copy(folder), "--device", "h200", "--sweep", "n=1000000,4000000"]
    rows = json.loads(explain(tool, *arguments, "--json").out)["kernels"]
    rates = [n * 8 / k["seconds"][1] / 1e9 for n, k in zip((1000000, 4000000), rows)]
    table, said = explain(tool, *arguments).out, re.escape(f"{100 * (rates[1] / rates[0] - 1):+.0f} %")
    expect(re.search(rf"\ncopy n=4000000 +[\d.]+ µs +{rates[1]:.0f} +- +\d+ to \d+ +{said} ", table), f"{rates}: {table}")
    expect("GB/s: each array once" in table, table)
    page = explain(tool, arguments[0], "--device", "h200").out
    expect(re.search(r"\nPredicted .*: [\d.]+ GB/s of what each array has once\n", page), page)
    expect(re.search(r"\ncompulsory: each array once +- +- +8.19 kB ", page), page)


def keys_of(value):
    """Returns every key, except those in `set` and `tune`, which are the kernel's names."""
    if isinstance(value, list):
        return set().union(*map(keys_of, value), set())
    if not isinstance(value, dict):
        return set()
    return set(value) | set().union(*(keys_of(v) for k, v in value.items() if k not in ("set", "tune")), set())


def test_json_documented(tool):
    document = open("docs/explain.md").read()
    named = set(re.findall(r"`(\w+)`", document.split("## JSON")[1]))
    named |= {f"{way}_{how}" for way in ("read", "written") for how in ("by_thread", "by_request", "by_element")} | {"sectors_ideal", "wavefronts_ideal"}
    printed = set()
    for arguments in ([TILED, *SMALL], [TILED, *SMALL, "--measure"], ["--device", "h100"], ["--devices"], ["--compare", "naive,tiled", *SMALL]):
        printed |= keys_of(json.loads(explain(tool, *arguments, "--json").out))
    expect(printed <= named, f"docs/explain.md does not say what these are: {sorted(printed - named)}")


def test_gpus(tool):
    listed = json.loads(explain(tool, "--devices", "--json").out)
    names = {g["name"] for g in listed}
    expect({"A100 SXM 80GB", "H100 SXM", "H100 PCIe", "H200 SXM", "B200", "L40S", "RTX 3060 Laptop", "RTX 3090", "RTX 4090", "RTX 5090"} <= names, names)
    table = explain(tool, "--devices").out
    for g in listed:
        expect(g["source"] and f"\n{g['name']} " in table, g)
        for name in [g["name"], g["name"].lower(), g["name"].lower().replace(" ", ""), *g["aliases"].split(",")]:
            alone = json.loads(explain(tool, "--device", name, "--json").out)
            expect(alone["gpu"] == g, f"{name}: {alone['gpu']['name']}")
        page = explain(tool, "--device", g["name"]).out
        expect(f" {g['l2_bandwidth'][2] / 1e12:#.3g} TB/s as designed, the rate of its roof" in page, page)
        for ridge in alone["ridges"]:
            expect(abs(ridge["ridge"] * g["memory_bandwidth"] / ridge["peak"] - 1) < 0.01, ridge)
            expect(abs(ridge["of_peak"] - min(1, 0.25 / ridge["ridge"])) < 1e-9, ridge)


def test_work(tool):
    """A product counts once, even if a function of it names it several times (gelu); --device also accepts a target."""
    k = json.loads(explain(tool, "linear_gelu", *SMALL[:2], "--device", "sm_80", "--json").out)
    expect(k["gpu"]["name"] == "A100 SXM 80GB" and k["kernels"][0]["flops"] == 2 * 128**3, k["kernels"][0]["flops"])


def points(root):
    return [e for e in root.iter(f"{SVG}path") if e.get("class", "").startswith(("mark l", "ring r"))]


def test_svg(tool, folder):
    path = f"{folder}/roofline.svg"
    explain(tool, "--compare", "naive,tiled,transposed", "--sweep", "T=16,64", *SMALL, "--svg", path)
    root = xml.parse(path).getroot()
    texts = [e.text for e in root.iter(f"{SVG}text") if "halo" not in e.get("class")]
    for text in ("naive T=16", "tiled T=16", "tiled T=64", "cannot launch", "HBM, 4.8 TB/s", "Roofs"):
        expect(text in texts, f"{text}: {texts}")
    expect(len(points(root)) == 3 + 3 + 3, f"{[e.get('class') for e in points(root)]}")
    width, height = (float(root.get(side)) for side in ("width", "height"))
    for e in root.iter(f"{SVG}text"):
        expect(0 < float(e.get("x")) < width and 0 < float(e.get("y")) < height, f"outside: {e.attrib} {e.text}")
    expect("prefers-color-scheme: dark" in next(root.iter(f"{SVG}style")).text, "one background only")
    for e in points(root):
        x, y = map(float, re.fullmatch(r"translate\(([\d.]+) ([\d.]+)\)", e.get("transform").split(" scale")[0]).groups())
        expect(84 <= x <= 660 and 84 <= y <= 524, f"a point outside of the plot: {e.attrib}")
    expect(os.listdir(folder) == ["roofline.svg"], os.listdir(folder))


def test_svg_marks(tool, folder):
    """Each of 32 kernels has a mark of its own; if there are more, a note says that marks repeat."""
    path = f"{folder}/marks.svg"
    for count, head in ((32, "Kernels, speed as predicted"), (33, "Kernels, speed as predicted; marks repeat")):
        explain(tool, "naive", "--set", "m=16,n=16", "--device", "h200", "--sweep", f"k={','.join(str(16 * i) for i in range(1, count + 1))}", "--svg", path)
        root = xml.parse(path).getroot()
        marks = [e.get("d") for e in root.iter(f"{SVG}path") if e.get("class") == "mark neutral"]
        expect(len(marks) == count and len(set(marks)) == 32, f"{len(marks)} marks, {len(set(marks))} different")
        expect(head in [e.text for e in root.iter(f"{SVG}text")], head)


def test_svg_coinciding(tool, folder):
    """Marks at the same place surround each other; if there are few kernels, each has its name next to its marks; no decade is empty."""
    for name in "one", "two", "three":
        shutil.copy(TILED, f"{folder}/{name}.tile")
    path = f"{folder}/same.svg"
    explain(tool, *(f"{folder}/{name}.tile" for name in ("one", "two", "three")), *SMALL, "--svg", path)
    root = xml.parse(path).getroot()
    drawn = [(e.get("class").split()[0], (re.findall(r"scale\(([\d.]+)\)", e.get("transform")) or ["1"])[0]) for e in points(root)]
    expect(sorted(drawn) == sorted(3 * [("mark", "1"), ("ring", "1.60"), ("ring", "2.20")]), drawn)
    names = [(float(e.get("x")), float(e.get("y"))) for e in root.iter(f"{SVG}text") if e.get("class") == "small" and e.text in ("one", "two", "three")]
    expect(len(names) == 3 and len({y for _, y in names}) == 3 and all(84 < x < 660 for x, _ in names), names)
    explain(tool, "naive", "--set", "m=1024,n=1024,k=1024", "--device", "h200", "--svg", path)
    root = xml.parse(path).getroot()
    xs = [float(e.get("transform").split()[0][10:]) for e in points(root)] + [float(re.match(r"M([\d.]+)", e.get("d"))[1]) for e in root.iter(f"{SVG}path") if e.get("class").startswith("roof r")]
    decades = [float(re.match(r"M([\d.]+) ", e.get("d"))[1]) for e in root.iter(f"{SVG}path") if e.get("class") == "grid" and " 84.0 L" in e.get("d")]
    expect(min(xs) - 84 < 100 and len(decades) >= 2, f"empty on the left: {xs} {decades}")


def test_quoted_name(tool, folder):
    path = os.path.join(folder, 'a "b\\.tile')
    shutil.copy(TILED, path)
    page = explain(tool, path, *SMALL).out
    expect("sum += as[ty][q]" in page, f"lines of a file with a quote in its name: {page}")
    ptx = call([tool, "show", path, "--stage", "ptx", "--target", "sm_90"])
    expect(ptx.status == 0 and ptx.out.count('"') == 2 and r"a \042b\134.tile" in ptx.out, ptx)


def test_f64(tool, folder):
    """Products in f64, in TFLOP/s: tensor units are twice as fast on an A100, and no faster than none on an RTX 4090."""
    with open(f"{folder}/f64.tile", "w") as out:
        out.write("""kernel product(i32 n, const f64 *a, const f64 *b, f64 *c) grid(cdiv(n, 64), cdiv(n, 64)) warps(4)
{
    global f64 A[n][n] = a, B[n][n] = b, C[n][n] = c;
    i32 i = block.y * 64, j = block.x * 64;
    reg f64 acc[64][64] = 0;
    for (i32 p = 0; p < n; p += 16)
        acc += dot(A[i +: 64][p +: 16], B[p +: 16][j +: 64]);
    C[i +: 64][j +: 64] = acc;
}""")
    for gpu, peak, times in (("a100", 19.5, 2), ("4090", 1.29, 1)):
        told = json.loads(explain(tool, f"{folder}/f64.tile", "--set", "n=1024", "--device", gpu, "--json").out)
        k = told["kernels"][0]
        expect(k["roofs"][0]["name"] == "tensor" and abs(k["roofs"][0]["rate"] / (peak * 1e12) - 1) < 0.01, k["roofs"])
        expect(k["peak"] == times * told["gpu"]["f64"] and told["gpu"]["tensor_f64"] == (times > 1) * k["peak"], told["gpu"])


def test_unlike_blocks(tool):
    """Two thirds of the blocks copy; the others wait for them and multiply."""
    told = json.loads(explain(tool, "kernels/matmul/ragged.tile", "--set", "m=1024,n=1024,k=1024", "--device", "h200", "--json").out)["kernels"][0]
    expect(0.95 < told["flops_executed"] / told["flops"] < 1.15, f"the multiplying blocks are not seen: {told}")
    expect(told["sampled_blocks"] < told["blocks"] / 4, told)
    for kernel in ("stream_k", "waves", "split_k", "split_ahead", "split_sum", "split_parts"):
        told = json.loads(explain(tool, f"kernels/matmul/{kernel}.tile", "--set", "m=1024,n=1024,k=1024", "--device", "h200", "--json").out)["kernels"][0]
        expect(0.85 < told["flops_executed"] / told["flops"] < 1.15, f"{kernel}: {told}")


def test_roles(tool):
    """Products of warpgroups: their reads of shared memory, and what blocks of a persistent grid share in L2."""
    sizes = ["--set", "m=2048,n=2048,k=2048", "--device", "h200"]
    k = json.loads(explain(tool, "kernels/hopper/matmul_roles.tile", *sizes, "--json").out)["kernels"][0]
    roofs = {r["name"]: r["work"][1] for r in k["roofs"]}
    products = 2 * 2048**3 / (2 * 64 * 256 * 16)
    expect(all(a["ways"] == 1 for a in k["accesses"]), k["accesses"])
    reads = roofs["shared"] - k["shared_wavefronts"] + k["copy_wavefronts"]
    expect(abs(reads / (80 * products) - 1) < 0.01, f"{reads} wavefronts of {products} products")
    hbm = next(t for t in k["traffic"] if t["level"] == "HBM")
    expect(hbm["moved"][1] < 1.01 * hbm["compulsory"], hbm)
    expect("wait for copies" in k["advice"], k["advice"])


DOT_IN_ROLE = """kernel product(i32 m, i32 n, i32 k, const f16 *a, const f16 *b, f32 *c)
    grid(cdiv(m, 64), cdiv(n, 64)) warps(8) target(sm_90a)
{
    global f16 A[m][k] = a, B[k][n] = b;
    global f32 C[m][n] = c;
    shared f16 sa[2][64][64], sb[2][64][64];
    mbarrier full[2](1), empty[2](1) ready;
    warps(0 +: 4) {
        one_thread {
            for (i32 p = 0, s = 0; p < k; p += 64, s = 1 - s) {
                wait(empty[s]);
                expect(full[s], bytes(sa[s]) + bytes(sb[s]));
                async(full[s]) sa[s] = A[block.x * 64 +: 64][p +: 64];
                async(full[s]) sb[s] = B[p +: 64][block.y * 64 +: 64];
            }
        }
    }
    warps(4 +: 4) {
        reg f32 acc[64][64] = 0;
        for (i32 p = 0, s = 0; p < k; p += 64, s = 1 - s) {
            wait(full[s]);
            reg f16 x[64][64] = sa[s] * 2;
            acc += dot(x, sb[s] + 1);
            arrive(empty[s]);
        }
        C[block.x * 64 +: 64][block.y * 64 +: 64] = acc;
    }
}
"""


def test_dot_in_role(tool, folder):
    """Roles without registers of their own get as many as they need, not the 255 that the launch could give: ptxas 13.0 takes 101. Factors in
    registers go through rows of shared memory that lie in different banks."""
    with open(f"{folder}/dot.tile", "w") as out:
        out.write(DOT_IN_ROLE)
    k = json.loads(explain(tool, f"{folder}/dot.tile", "--set", "m=256,n=256,k=256", "--device", "h200", "--json").out)["kernels"][0]
    expect(80 < k["registers"] < 160 and not k["registers_known"], k["registers"])
    expect(k["shared_wavefronts"] == k["shared_wavefronts_ideal"], [(a["line"], a["ways"]) for a in k["accesses"]])


def test_work_of_products(tool):
    """Explaining a step of a product by roles executes few instructions: without inputs, all its factors are zeros. Instructions are
    counted; a million is about a tenth of a millisecond."""
    if not shutil.which("valgrind"):
        return
    steps, most = 16, 6_000_000
    small, large = (instructions([tool, "explain", "kernels/hopper/matmul_roles.tile", "--set", f"m=128,n=256,k={64 * n}"])
                    for n in (steps, 2 * steps))
    expect((large - small) / steps < most, f"{(large - small) / steps} instructions for each step")


def test_larger_than_memory(tool):
    told = json.loads(explain(tool, TILED, "--set", "m=100000,n=100000,k=100", "--device", "h200", "--json").out)
    hbm = told["kernels"][0]["traffic"][-1]
    expect(hbm["compulsory"] == 4 * (100000 * 100000 + 2 * 100 * 100000), f"bytes of arrays larger than memory: {told}")
    refused(tool, [TILED, "--set", "m=200000,n=200000,k=100", "--device", "h200"], "`c` would have 160000000000 bytes", "less than 64 GiB")


def test_svg_figures(tool, folder):
    """A point marks the prediction, its line the interval, and the text gives both; copies have a time; all labels fit."""
    copy = write_copy(folder)
    path = f"{folder}/roofline.svg"
    arguments = ["naive", copy, "--device", "4090"]
    explain(tool, *arguments, "--svg", path)
    naive, copied = json.loads(explain(tool, *arguments, "--json").out)["kernels"]
    root = xml.parse(path).getroot()
    texts = [e.text for e in root.iter(f"{SVG}text") if "halo" not in e.get("class")]
    low, middle, high = (v / 1e12 for v in naive["flops_per_second"])
    said = f"{middle:.2f} TFLOP/s ({low:.2f} to {high:.{2 if high < 9.995 else 1}f})"
    expect(said in texts, f"{said}: {texts}")
    tips = [e.find(f"{SVG}title").text for e in points(root)]
    expect(len(tips) == 3 and all(tip.endswith(said) for tip in tips), tips)
    expect(any(t.startswith("FLOP/B: GDDR6X ") and ", L1/shared " in t and "e+" not in t for t in texts), texts)
    expect(any(t.startswith("no FLOPs; ") and t[10:13] in f"{copied['seconds'][1] * 1e6:.2f}" for t in texts), texts)
    expect(any(t.startswith("L1/shared 41") for t in texts), f"a roof without its name: {texts}")
    reach = next(e for e in root.iter(f"{SVG}path") if e.get("class") == "reach r0")
    bottom, top = map(float, re.fullmatch(r"M[\d.]+ ([\d.]+) V([\d.]+)", reach.get("d")).groups())
    y = float(points(root)[0].get("transform").split()[1].strip(")"))
    share = math.log(middle / low) / math.log(high / low)
    expect(abs(y - (bottom + share * (top - bottom))) < 0.2, f"{y} between {bottom} and {top}: {share}")


def test_svg_names(tool, folder):
    """Names that need escapes in XML, or are not UTF-8."""
    odd = os.path.join(folder.encode(), b"a<b>&\xff.tile")
    shutil.copy(TILED, odd)
    path = f"{folder}/odd.svg"
    done = call([tool.encode(), b"explain", odd, *(a.encode() for a in SMALL), b"--svg", path.encode()])
    expect(done.status == 0, done)
    texts = [e.text for e in xml.parse(path).getroot().iter(f"{SVG}text")]
    expect("a<b>&?" in texts, texts)


def test_svg_whole_or_not(tool, folder):
    """If the new file cannot be written, the old one remains."""
    path = f"{folder}/kept.svg"
    with open(path, "w") as out:
        out.write("kept")
    result = call(["sh", "-c", 'ulimit -f 1; trap "" XFSZ; exec "$@"', "sh", tool, "explain", TILED, *SMALL, "--svg", path])
    expect(result.status == 1 and "cannot write" in result.err and open(path).read() == "kept", result)
    expect(os.listdir(folder) == ["kept.svg"], os.listdir(folder))
    explain(tool, TILED, *SMALL, "--svg", path)
    expect(open(path).read().startswith("<?xml"), open(path).read()[:80])


def test_memory(tool):
    """Arrays without data take memory only for the parts that the sampled blocks touch: here 1 GB."""
    page = explain(tool, "naive", "--set", "m=16384,n=16384,k=64", "--device", "h200").out
    expect("Predicted" in page, page)
    most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    expect(most < 1 << 19, f"{most} KB")


def test_measure(tool):
    none = dict(os.environ, TILEWRIGHT_CUDA_DRIVER="/nowhere/libcuda.so")
    expect("\nNot measured: no GPU is here\n" in explain(tool, TILED, *SMALL, "--measure", env=none).out, "no GPU")
    fake = dict(os.environ, TILEWRIGHT_CUDA_DRIVER=os.environ["FAKE_CUDA"])
    k = json.loads(explain(tool, "naive", "--set", "m=32,n=32,k=32", "--device", "h200", "--measure", "--json", env=fake).out)
    expect(k["not_measured"] is None and k["kernels"][0]["measured_seconds"] > 0 and k["measured_on"] != "H200 SXM", k)
    expect("--device cuda: no GPU is here" in explain(tool, TILED, "--device", "cuda", status=2, env=none).err, "--device cuda")


def main():
    tool = os.path.abspath(sys.argv[1])
    for test in (test_memory, test_page, test_conflicts_as_counted, test_first_lines, test_last_wave, test_large_copy, test_names, test_intervals, test_advice, test_verdicts, test_unlaunchable, test_spilling, test_too_large, test_table, test_json_documented, test_gpus, test_work, test_measure, test_unlike_blocks, test_roles, test_work_of_products, test_larger_than_memory):
        test(tool)
    for test in (test_refused, test_f64, test_not_compiled, test_nothing_to_do, test_scalars, test_limits, test_constants, test_svg_alone, test_quoted_name, test_svg, test_svg_marks, test_svg_coinciding, test_svg_names, test_svg_whole_or_not, test_svg_figures, test_table_speeds, test_dot_in_role, test_ptx, test_charts):
        with tempfile.TemporaryDirectory() as folder:
            test(tool, folder)


if __name__ == "__main__":
    main()
