#!/usr/bin/env python3
"""An `explain` command prints every figure of the lessons on tiled products, with the right value.

Each row: the lesson's text, the command, and a pattern that a line of its output matches. If the lesson's figure is a measured speed,
the predicted interval contains it (INTERVALS).
"""
import json
import re
import sys
import tempfile

import numpy as np

from tile_runner import call, expect, fail

K1024 = ["--set", "m=1024,n=1024,k=1024"]
H200, H100 = ["--device", "h200"], ["--device", "h100"]
NAIVE, TILED, TRANSPOSED = (f"kernels/sgemm/{name}.tile" for name in ("naive", "tiled", "transposed"))

FIGURES = [
    ("naive 1024³ f32: 2·1024³ element loads, 8.59 GB, counted by thread",
     [NAIVE, *K1024, *H200], r"by thread: each thread's own elements +8\.59 GB"),
    ("its intensity: 0.25 FLOP/B", [NAIVE, *K1024, *H200], r"by thread: .* 8\.59 GB +4\.19 MB +8\.59 GB +0\.25 "),
    ("a warp's loads coalesce: 5.37 GB of sectors with 32×32 blocks", [NAIVE, *K1024, *H200], r"by warp, an element at a time +5\.37 GB"),
    ("4.29 GB with 16×16", [NAIVE, *K1024, *H200, "--tune", "T=16"], r"by warp, an element at a time +4\.29 GB"),
    ("coalesced: A 1 sector (broadcast)", [NAIVE, *K1024, *H200], r"14  global load  +\d+ .* 1 sector a warp"),
    ("and B 4 sectors a warp", [NAIVE, *K1024, *H200], r"14  global load  +4 .* 4 sectors a warp"),
    ("at 0.25 FLOP/B an H100's memory allows 1.25 % of its peak", [NAIVE, *K1024, *H100], r"by thread: .* 83\d GFLOP/s, 1\.25 % of peak"),
    ("tiled 1024³: 537 MB for T = 16", [TILED, *K1024, *H200, "--tune", "T=16"], r"by thread: each thread's own elements +537 MB +4\.19 MB"),
    ("268 MB for T = 32", [TILED, *K1024, *H200, "--tune", "T=32"], r"by thread: each thread's own elements +268 MB +4\.19 MB"),
    ("134 MB for tiles of 64 × 64", ["kernels/sgemm/register_tiled.tile", *K1024, *H200], r"by thread: each thread's own elements +134 MB"),
    ("intensity T/4: 4 FLOP/B at T = 16, 8 at 32", ["--compare", "naive,tiled", "--sweep", "T=16,32", *K1024, *H200], r"tiled T=32 .* 268 MB .* 8\.00 "),
    ("T/4 at T = 16", ["--compare", "naive,tiled", "--sweep", "T=16,32", *K1024, *H200], r"tiled T=16 .* 537 MB .* 4\.00 "),
    ("T/2 in types of two bytes: 32 at T = 64", ["kernels/matmul/shared.tile", "--sweep", "T=f32,f16", *K1024, *H200], r"shared T=f16 .* 32\.0 "),
    ("T/4 in f32: 16 at T = 64", ["kernels/matmul/shared.tile", "--sweep", "T=f32,f16", *K1024, *H200], r"shared T=f32 .* 16\.0 "),
    ("compulsory intensity 2MNK / 4(MK + KN + MN), 171: the same of the naive kernel", [NAIVE, *K1024, *H200], r"compulsory: each array once .* 171 "),
    ("and of the tiled one", [TILED, *K1024, *H200], r"compulsory: each array once .* 171 "),
    ("traffic 2MNK → 2MNK/T: -97 % at T = 32", ["--compare", "naive,tiled", *K1024, *H200], r"tiled .* 268 MB +-97 %"),
    ("2 KB of shared memory and 256 threads a block at T = 16", [TILED, "--sweep", "T=16,32,64", *H200], r"tiled T=16 .* 2 KiB +256 "),
    ("8 KB and 1024 threads at T = 32", [TILED, "--sweep", "T=16,32,64", *H200], r"tiled T=32 .* 8 KiB +1024 "),
    ("32 KB and 4096 threads at T = 64, which cannot launch", [TILED, "--sweep", "T=16,32,64", *H200],
     r"tiled T=64 .* 32 KiB +4096 +cannot launch: 4096 threads a block, the limit is 1024"),
    ("134 MB and 16 FLOP/B at T = 64 all the same", [TILED, "--sweep", "T=16,32,64", *H200],
     r"tiled T=64 .* 134 MB +-75 % +16\.0 +- +- "),
    ("ridge of an H100 SXM in f32: 20, reached by T/4 at T = 80", H100, r"f32 .* 20\.0 +160 +80 "),
    ("in bf16: 295, reached by T/2 at T = 590, with f32 operands at 1181", H100, r"f16, bf16 .* 295 +2362 +1181 +590 "),
    ("0.25 FLOP/B on a ridge of 20: 1.25 % of the peak", H100, r"f32 .* 1\.25 %"),
    ("0.17 % on a ridge of 150", [*H100, "--ridge", "150"], r"--ridge .* 150 .* 0\.17 %"),
    ("an H200's memory would allow the tiled kernel 38 TFLOP/s (stores counted too)", [TILED, *K1024, *H200], r"by thread: .* 37\.8 TFLOP/s"),
    ("and the naive one 1.2", [NAIVE, *K1024, *H200], r"by thread: .* 1\.20 TFLOP/s"),
    ("plain tiled: no bank conflicts", [TILED, *K1024, *H200], r"bank conflicts: none"),
    ("Bs[tx][k] is 32-way at T = 32", [TRANSPOSED, *K1024, *H200, "--tune", "T=32,PAD=0"], r"21  shared load .* 32-way conflict"),
    ("8-way at T = 16", [TRANSPOSED, *K1024, *H200, "--tune", "T=16,PAD=0"], r"21  shared load .* 8-way conflict"),
    ("T+1 cures it at T = 32", [TRANSPOSED, *K1024, *H200, "--tune", "T=32,PAD=1"], r"bank conflicts: none"),
    ("at T = 16 padding makes the tile's store 2-way", [TRANSPOSED, *K1024, *H200, "--tune", "T=16,PAD=1"], r"18  shared store .* 2-way conflict"),
]

# Measured on an H200 at 1024³, in TFLOP/s.
INTERVALS = [("6.2: a coalesced naive kernel", NAIVE, 6.2), ("9.1: the tiled one, 32 × 32", TILED, 9.1)]


def explain(tool, *arguments):
    result = call([tool, "explain", *arguments])
    expect(result.status == 0 and not result.err, f"explain {arguments}: {result}")
    return result.out


def kernel(tool, *arguments):
    return json.loads(explain(tool, *arguments, "--json"))["kernels"][0]


def across(folder):
    """Writes the naive kernel with its rows along thread.x: a warp's accesses to A and C are not coalesced."""
    with open(NAIVE, encoding="utf-8") as file:
        text = file.read()
    turned = text.replace("block.y * T + thread.y, col = block.x * T + thread.x", "block.x * T + thread.x, col = block.y * T + thread.y")
    expect(turned != text, text)
    with open(f"{folder}/across.tile", "w", encoding="utf-8") as file:
        file.write(turned.replace("grid(cdiv(n, T), cdiv(m, T))", "grid(cdiv(m, T), cdiv(n, T))"))
    return f"{folder}/across.tile"


def test_figures(tool):
    printed = {}
    for figure, command, pattern in FIGURES:
        key = tuple(command)
        if key not in printed:
            printed[key] = explain(tool, *command)
        if not re.search(pattern, printed[key]):
            fail(f"{figure}: `explain {' '.join(command)}` has no line /{pattern}/:\n{printed[key]}")


def test_intervals(tool):
    """The measured speeds lie in the intervals. A verdict from the memory's roof alone is wrong: both speeds are above it or far from it."""
    for figure, file, measured in INTERVALS:
        k = kernel(tool, file, *K1024, *H200)
        low, _, high = k["flops_per_second"]
        expect(low <= measured * 1e12 <= high, f"{figure}: predicted {low / 1e12:.2f} to {high / 1e12:.2f} TFLOP/s")
        roofs = {roof["name"]: roof for roof in k["roofs"]}
        expect({"HBM", "L2", "shared", "issue"} <= roofs.keys(), f"{figure}: {roofs.keys()}")
        expect(k["bound"] != "HBM" and roofs["HBM"]["flops"] > high, f"{figure}: {k['bound']}, {roofs['HBM']}")


def test_compulsory(tool):
    """2MNK / 4(MK + KN + MN): the same for every kernel; and counted by thread, exactly the values of the lesson's formulas."""
    n = 1024
    for file, tile in ((NAIVE, 1), (TILED, 32), (TRANSPOSED, 32)):
        k = kernel(tool, file, *K1024, *H200)
        l2, hbm = (next(t for t in k["traffic"] if t["level"] == level) for level in ("L2", "HBM"))
        expect(k["flops"] == 2 * n**3, k["flops"])
        expect(hbm["compulsory"] == 3 * 4 * n * n, hbm)
        expect(l2["read_by_thread"] == 4 * 2 * n**3 / tile, l2)
        expect(l2["written_by_thread"] == 4 * n * n, l2)


def test_sums(tool, folder):
    """If rows are not multiples of 16 bytes, no assembler may join their elements: lines, roofs and levels are the sums of the accesses,
    as at other sizes."""
    for size in (250, 256):
        k = kernel(tool, across(folder), "--set", f"m={size},n={size},k={size}", *H200)
        accesses = k["accesses"]
        for line in k["lines"]:
            for name in ("requests", "sectors", "sectors_ideal"):
                total = sum(a[name] for a in accesses if a["line"] == line["line"] and a["space"] == "global")
                expect(line[name] == total, f"{size}: {name} of line {line['line']}: {line[name]}, of its accesses {total}")
        load_store = next(roof for roof in k["roofs"] if roof["name"] == "load/store")
        expect(load_store["work"][1] == sum(a["requests"] for a in accesses), f"{size}: {load_store}, {accesses}")
        l2 = next(t for t in k["traffic"] if t["level"] == "L2")
        expect(l2["by_request"] == l2["read_by_request"] + l2["written_by_request"], f"{size}: {l2}")


def test_advice(tool, folder):
    """The advice names the worst access with the figures of the list, finds it at all sizes, and gives the possible gain."""
    for size, sectors in ((1000, "31.2 sectors where 15.6"), (1023, "31.8 sectors where 4"), (1024, "32 sectors where 16")):
        page = explain(tool, across(folder), "--set", f"m={size},n={size},k={size}", *H200)
        expect(f"Line 14 has a load that is not coalesced: a warp's request touches {sectors} would do" in page, page)
        expect("; let neighbouring threads (thread.x) take neighbouring columns." in page, page)
    with open(f"{folder}/turned.tile", "w", encoding="utf-8") as file:
        file.write("""kernel turned(i32 m, i32 n, const f32 *a, f32 *b) grid(cdiv(n, 32), cdiv(m, 32)) threads(32, 32)
{
    global f32 A[m][n] = a, B[n][m] = b;
    i32 row = block.y * 32 + thread.y, col = block.x * 32 + thread.x;
    if (row < m && col < n)
        B[col][row] = A[row][col];
}
""")
    page = explain(tool, f"{folder}/turned.tile", *H200)
    expect("Line 6 has a store that is not coalesced" in page and "only move this to the load of line 6: go through shared memory" in page, page)
    k = kernel(tool, f"{folder}/turned.tile", "--set", "m=4096,n=4096", "--device", "4090")
    hbm = k["traffic"][-1]
    expect(hbm["moved"][1] >= hbm["compulsory"] == 2 * 4 * 4096**2, hbm)
    roofs = [roof["seconds"] for roof in k["roofs"]]
    expect(k["seconds"][0] >= max(r[0] for r in roofs) and k["seconds"][2] >= max(r[2] for r in roofs), k["seconds"])
    page = explain(tool, TRANSPOSED, *K1024, *H200, "--tune", "T=32,PAD=0")
    found = re.search(r"Line 21 has a load with bank conflicts, 32-way \(8-way as vectors\).* busy for (\d+) µs, not 1\.23 ms", page)
    expect(found and int(found[1]) < 400, page)
    split = ["kernels/matmul/split_k.tile", "--set", "m=512,n=512,k=8192", "--type", "f16", *H200, "--tune"]
    page = explain(tool, *split, "SPLIT=1")
    expect("and 4 warps a multiprocessor mostly wait; 116 of 132 multiprocessors have no block." in page, page)
    expect("would use the other 116: at most 7.3 times as fast" in page, page)
    page = explain(tool, *split, "SPLIT=8")
    expect("4 of 132 multiprocessors have no block." in page and "would use" not in page, page)


def test_advice_that_counts(tool, folder):
    """Advice is about the part that binds: conflicts that memory hides cost nothing, and atomics are not copies. The memory has one name."""
    def write(name, text):
        with open(f"{folder}/{name}.tile", "w", encoding="utf-8") as file:
            file.write(text)
        return f"{folder}/{name}.tile"

    turned = write("through", """kernel through(i32 m, i32 n, const f32 *a, f32 *b) grid(cdiv(n, 32), cdiv(m, 32)) threads(32, 32)
{
    global f32 A[m][n] = a, B[n][m] = b;
    shared f32 s[32][32];
    i32 row = block.y * 32, col = block.x * 32;
    if (row + thread.y < m && col + thread.x < n)
        s[thread.y][thread.x] = A[row + thread.y][col + thread.x];
    sync();
    if (col + thread.y < n && row + thread.x < m)
        B[col + thread.y][row + thread.x] = s[thread.x][thread.y];
}
""")
    sizes = ["--set", "m=4096,n=4096", "--device", "4090"]
    page = explain(tool, turned, *sizes)
    expect("To change  It moves little more than each array once." in page, page)
    expect("The bank conflicts of line 10 (32-way) cost nothing now: shared memory and L1 are busy for only 56.9 µs of the 137 µs.\n" in page, page)
    expect("\nfrom GDDR6X (L2 misses) " in page and "DRAM" not in page, page)
    table = explain(tool, "--compare", f"{turned},{turned}", *sizes)
    low, _, high = kernel(tool, turned, *sizes)["seconds"]
    expect(f" {134.217728e-3 / high:.0f} to {134.217728e-3 / low:.0f} " in table, table)
    count = """kernel count(i32 n, const u8 *x, i32 *h) grid(cdiv(n, 256)) threads(256)
{
    global u8 X[n] = x;
    global i32 H[256] = h;
    shared i32 s[256];
    s[thread.x] = 0;
    sync();
    i32 i = block.x * 256 + thread.x;
    if (i < n)
        atomic_add(PLACE[X[i]], 1);
    sync();
    if (s[thread.x] > 0)
        atomic_add(H[thread.x], s[thread.x]);
}
"""
    for place, advice in ("H", "add up in shared memory or registers first"), ("s", "let each thread add up several elements in registers first"):
        page = explain(tool, write(f"count_{place}", count.replace("PLACE", place)), "--set", "n=100000000", *H200)
        expect(f"To change  Line 10 has an atomic operation" in page and advice in page and "asynchronously" not in page, page)
        expect("so the prediction is a lower bound" in page, page)
    expect("lower bound" not in explain(tool, turned, *sizes), "a note on atomics")


def test_elements(tool, folder):
    """Elements of any type, one at a time: for vectors of 16 bytes a lane, each access asks for 16 sectors."""
    with open(f"{folder}/copy.tile", "w", encoding="utf-8") as file:
        file.write("""type T = {f16, bf16, e4m3, i8, f32, f64, i64};
kernel copy(i32 n, const T *a, T *c) grid(cdiv(n, 2048)) warps(4)
{
    global T A[n] = a, C[n] = c;
    reg T x[2048] = A[block.x * 2048 +: 2048];
    C[block.x * 2048 +: 2048] = x;
}
""")
    for type, size in ("f16", 2), ("bf16", 2), ("e4m3", 1), ("i8", 1), ("f32", 4), ("f64", 8), ("i64", 8):
        l2 = kernel(tool, f"{folder}/copy.tile", "--type", f"T={type}", "--set", "n=65536", *H200)["traffic"][2]
        for way in "read", "written":
            expect(l2[f"{way}_by_request"] == size * 65536 and l2[f"{way}_by_element"] == 65536 / 32 * 16 * 32, f"{type}: {l2}")


def test_single_block(tool, folder):
    """A·Aᵀ of [[0, 1], [2, 3]] is [1, 3, 3, 13]."""
    a = np.array([[0, 1], [2, 3]], "f4")
    np.save(f"{folder}/a.npy", a)
    np.save(f"{folder}/b.npy", a.T.copy())
    result = call([tool, "run", "kernels/single_block/single_block.tile", "--in", f"a={folder}/a.npy", "--in", f"b={folder}/b.npy"])
    expect(result.status == 0 and [float(v) for v in re.findall(r"\d+\.\d", result.out)] == [1, 3, 3, 13], result)


def main():
    tool = sys.argv[1]
    test_figures(tool)
    test_intervals(tool)
    test_compulsory(tool)
    with tempfile.TemporaryDirectory() as folder:
        test_sums(tool, folder)
        test_advice(tool, folder)
        test_advice_that_counts(tool, folder)
        test_elements(tool, folder)
        test_single_block(tool, folder)


if __name__ == "__main__":
    main()
