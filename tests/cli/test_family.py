#!/usr/bin/env python3
"""Commands on families: declared ones, folders, files with several kernels; their members; names of what ships."""
import json
import os
import sys
import tempfile

from tile_runner import call, expect

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
ROWS = """type T = {f32, f16};
tune BM = {16, 8, 32};
kernel rows(i32 m, static i32 n, static i32 k, const T *a, const T *b, T *c)
    grid(cdiv(m, BM), cdiv(n, 16)) warps(1)
{
    global T A[m][k] = a, B[k][n] = b, C[m][n] = c;
    i32 i = block.x * BM, j = block.y * 16;
    reg f32 acc[BM][16] = 0;
    for (i32 p = 0; p < k; p += 8) {
        reg T ra[BM][8] = A[i +: BM][p +: 8], rb[8][16] = B[p +: 8][j +: 16];
        acc += dot(ra, rb);
    }
    C[i +: BM][j +: 16] = (T) acc;
    ensures C == dot(A, B);
}
"""
COLUMNS = """type T = {f16, f32};
tune BN = {32, 16};
kernel columns(i32 m, i32 n, i32 k, const T *a, const T *b, T *c)
    grid(cdiv(n, BN), cdiv(m, 8)) warps(1)
{
    global T X[m][k] = a, Y[k][n] = b;
    global T Z[m][n] = c;
    i32 i = block.y * 8, j = block.x * BN;
    reg f32 acc[8][BN] = 0;
    for (i32 p = 0; p < k; p += 16) {
        reg T rx[8][16] = X[i +: 8][p +: 16], ry[16][BN] = Y[p +: 16][j +: BN];
        acc += dot(rx, ry);
    }
    Z[i +: 8][j +: BN] = (T) acc;
    ensures Z == dot(X, Y);
}
"""
SUMS = """type T = {f32, f16};
kernel sums(i32 m, i32 n, i32 k, const T *a, const T *b, T *c)
    grid(cdiv(m, 8), cdiv(n, 16), 2) warps(1)
{
    global T A[m][k] = a, B[k][n] = b, C[m][n] = c;
    global f32 sum[m][n] = 0;
    global i32 count[cdiv(m, 8)][cdiv(n, 16)] = 0;
    i32 i = block.x * 8, j = block.y * 16, half = cdiv(k, 2);
    reg f32 acc[8][16] = 0;
    for (i32 p = block.z * half; p < min(k, (block.z + 1) * half); p += 1)
        acc += dot(A[i +: 8][p +: 1], B[p +: 1][j +: 16]);
    atomic_add(sum[i +: 8][j +: 16], acc);
    if (arrive(count[block.x][block.y]) == 1)
        C[i +: 8][j +: 16] = (T) sum[i +: 8][j +: 16];
    ensures C == dot(A, B);
}
"""
TABLE = """{"family":"products","device":"NVIDIA H200","types":"T=f32","sizes":["m","n","k"],"variants":[{"kernel":"rows","tune":"BM=8"},{"kernel":"columns","tune":"BN=16"}]}
{"at":[16,64,64],"us":[2.5,3.5]}
{"at":[256,64,64],"us":[9.5,3.75]}
"""
SIZES = ["--set", "m=3,n=5,k=7", "--fill", "rand"]


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as out:
        out.write(text)


def write_family(folder):
    write(f"{folder}/products.table", TABLE)
    write(f"{folder}/parts/rows.tile", ROWS)
    write(f"{folder}/more/sums.tile", SUMS)
    write(f"{folder}/sums.tile", 'family sums {\n    "more/sums.tile";\n    "parts/rows.tile";\n}\n')
    write(f"{folder}/parts/columns.tile", COLUMNS)
    write(f"{folder}/both.tile", ROWS + COLUMNS.replace("type T = {f16, f32};\n", ""))
    write(f"{folder}/products.tile", 'family products {\n    "parts/rows.tile";\n    "parts/columns.tile": columns;\n}\n')
    write(f"{folder}/two.tile", 'family a {\n    "parts/rows.tile";\n}\nfamily b {\n    "parts/columns.tile";\n}\n')


def test_members(tool, folder):
    """FAMILY:KERNEL is a kernel in its own file; FILE:FAMILY is one of several families."""
    for member in ("products.tile:columns", "parts:columns", "both.tile:columns", "parts/columns.tile"):
        got = call([tool, "run", member, *SIZES, "--type", "f16", "--verify", "--json"], cwd=folder)
        expect(got.status == 0 and json.loads(got.out)["kernel"] == "columns", f"{member}: {got}")
    got = call([tool, "run", "products.tile:colums", *SIZES], cwd=folder)
    expect(got.status == 2 and "the family `products` has no kernel 'colums'; did you mean 'columns'?" in got.err, got)
    got = call([tool, "show", "two.tile"], cwd=folder)
    expect(got.status == 2 and "two.tile has 2 families: say which" in got.err, got)
    got = call([tool, "show", "two.tile:b"], cwd=folder)
    expect(got.status == 0 and got.out.startswith("family b\n") and "parts/columns.tile" in got.out, got)


def test_show(tool, folder):
    """`show FAMILY` lists the kernels with their files and what differs between them."""
    for family, name in (("products.tile", "products"), ("parts", "parts"), ("both.tile", "both")):
        got = call([tool, "show", family], cwd=folder)
        lines = [" ".join(line.split()) for line in got.out.splitlines()]
        expect(got.status == 0 and lines[0] == f"family {name}" and "i32 n" in lines, got)
        rows = next(line for line in lines if line.startswith("rows"))
        expect(rows.endswith("static n, k; tune BM; T = {f32, f16}"), got)
        got = json.loads(call([tool, "show", family, "--json"], cwd=folder).out)
        expect(got["family"] == name and got["file"] == family, got)
        kernels = {k["kernel"]: k for k in got["kernels"]}
        expect(set(kernels) == {"rows", "columns"} and kernels["rows"]["static"] == ["n", "k"], got)
        expect(kernels["columns"]["types"] == [{"name": "T", "choices": ["f16", "f32"] if family != "both.tile" else ["f32", "f16"]}], got)
        expect(os.path.exists(f"{folder}/{kernels['rows']['file']}"), got)
        got = call([tool, "show", family, "--kernels"], cwd=folder)
        expect("tune BN = {32, 16}" in got.out and "tune BM = {16, 8, 32}" in got.out, got)


def test_check(tool, folder):
    """`check FAMILY` checks that the kernels agree, and then each of them."""
    got = call([tool, "check", "products.tile", "--json"], cwd=folder)
    expect(got.status == 0 and [(k["kernel"], k["ok"]) for k in json.loads(got.out)] == [("rows", True), ("columns", True)], got)
    write(f"{folder}/parts/columns.tile", COLUMNS.replace("k; p += 16", "k - 1; p += 16"))
    got = call([tool, "check", "parts", "--json"], cwd=folder)
    found = {k["kernel"]: k for k in json.loads(got.out)}
    expect(got.status == 1 and found["rows"]["ok"] and not found["columns"]["ok"], got)
    expect(found["columns"]["file"] == "parts/columns.tile", got)
    write(f"{folder}/parts/columns.tile", COLUMNS.replace("i32 k,", "i64 k,"))
    got = call([tool, "check", "products.tile"], cwd=folder)
    expect(got.status == 2 and "parts/columns.tile:3:" in got.err and "is `i64 k`, and in `rows`" in got.err, got)
    got = call([tool, "check", "parts"], cwd=folder)
    expect(got.status == 2 and "`parts` is a folder, and its kernels are not a family" in got.err and "parts/*.tile" in got.err, got)
    expect("is `i64 k`" in got.err or "is `i32 k`" in got.err, got)
    write(f"{folder}/parts/columns.tile", COLUMNS)
    got = call([tool, "check", "products.tile", "--tune", "BK=3"], cwd=folder)
    expect(got.status == 2 and "none of the kernels has a tuned value 'BK'" in got.err, got)


def test_hopper(tool, folder):
    """Large products of 16-bit elements take the kernel with roles where its target is, unless no tensor map has rows of these sizes."""
    for family, kernel in (("matmul", "matmul_v12_kn"), ("matmul_nt", "matmul_v12")):
        for device, dtype, size, takes in (("h200", "f16", 8192, True), ("h100", "bf16", 8192, True), ("h200", "f16", 8188, False),
                                           ("a100", "f16", 8192, False), ("h200", "f32", 8192, False)):
            got = call([tool, "show", family, "--device", device, "--type", dtype, "--set", f"m={size},n={size},k={size}"], cwd=folder)
            expect(got.status == 0 and (f"chosen: {kernel} " in got.out) == takes, f"{family} {device} {dtype} {size}: {got.out[:300]}")
        for size, tile in ((512, "BM=64,BN=64"), (1024, "BM=128,BN=64"), (4096, "BM=128,BN=256")):  # small products have small tiles
            got = call([tool, "show", family, "--device", "h200", "--type", "f16", "--set", f"m={size},n={size},k={size}"], cwd=folder)
            expect(f"chosen: {kernel} {tile}," in got.out, f"{family} {size}: {got.out[:300]}")
        got = call([tool, "run", f"{family}:{kernel}", "--device", "sim:sm_90", "--set", "m=70,n=72,k=40", "--sms", "2", "--fill", "rand", "--verify"],
                   cwd=folder)
        expect(got.status == 0 and "verified: " in got.out, got)
        got = call([tool, "run", family, "--device", "sim", "--set", "m=70,n=72,k=40", "--type", "f16", "--fill", "rand", "--verify"], cwd=folder)
        expect(got.status == 0 and "verified: " in got.out and kernel not in got.out, got)


def test_names(tool, folder):
    """A name that is not a file is that of what ships, wherever the command runs."""
    tile = call([tool, "show", "waves:matmul_v7", "--set", "n=64,k=64"], cwd=folder)
    expect(tile.status == 0 and "kernel matmul_v7(" in tile.out, tile)
    got = call([tool, "check", "wafes"], cwd=folder)
    expect(call([tool, "explain", "matmul_roles", "--set", "m=128,n=256,k=64"], cwd=folder).status == 0, "a kernel of kernels/hopper by its name")
    expect(call([tool, "show", "gemv", "--kernels"], cwd=folder).status == 0, "a kernel of kernels/recipes by its name")
    expect(got.status == 2 and "wafes: there is no such file, and no kernel or family of that name ships; did you mean 'waves'?" in got.err, got)
    got = call([tool, "run", "matmul", "--set", "m=3,n=33,k=7", "--type", "f16", "--fill", "rand", "--verify", "--device", "sim"], cwd=folder)
    expect(got.status == 0 and got.out.startswith("chosen: matmul_") and "verified: 99 elements" in got.out, got)
    got = call([tool, "check", "matmul:matmul_v7", "--no-run"], cwd=folder)
    expect(got.status == 0 and not got.err, got)
    write(f"{folder}/waves", "kernel mine(f32 *c) grid(1) warps(1) { global f32 C[1] = c; C = 1; }\n")
    got = call([tool, "show", "waves"], cwd=folder)
    expect(got.status == 0 and "kernel mine(" in got.out, got)


def chosen(tool, folder, *words, status=0, **environment):
    """Runs a family and returns (the line that names the choice, the member of --json)."""
    command = [tool, "run", "products.tile", "--fill", "rand", "--verify", *words]
    environment = {**os.environ, "TILEWRIGHT_STORE": f"{folder}/none.db", **environment}
    plain = call(command, cwd=folder, env=environment)
    expect(plain.status == status, f"{words}: {plain}")
    got = json.loads(call([*command, "--json"], cwd=folder, env=environment).out)
    expect(got["ok"] and got["kernel"] == got["chosen"]["kernel"], got)
    return plain.out.splitlines()[0], got["chosen"]


def test_choice(tool, folder):
    """A run takes the fastest variant measured at its sizes, one predicted from others, or the model's choice."""
    small, large, between = (f"m={m},n=64,k=64" for m in (16, 256, 300))
    line, got = chosen(tool, folder, "--set", small, "--device", "sim:h200")
    expect(line == "chosen: rows BM=8, 0.0025 ms at these sizes on NVIDIA H200", line)
    expect(got == {"kernel": "rows", "tune": "BM=8", "types": "T=f32", "by": "result", "device": "NVIDIA H200", "nearest": small,
                   "distance": 0, "milliseconds": 0.0025, "compared": 2, "result_types": None, "by_hand": None}, got)
    line, got = chosen(tool, folder, "--set", between, "--device", "sim:h200")
    expect(line.startswith("chosen: columns BN=16, estimated 0.00") and line.endswith(f" ms from {large}"), line)
    expect(got["by"] == "nearest" and 0.2 < got["distance"] < 3, got)
    line, got = chosen(tool, folder, "--set", small, "--device", "sim:h100")
    expect(line == f"chosen: rows BM=8, by the model: no results for H100 SXM, so from those of NVIDIA H200 at {small}", line)
    expect(got["by"] == "model" and got["device"] == "NVIDIA H200", got)
    for more in ((), ("--device", "sim:h200")):  # other types have no results
        line, got = chosen(tool, folder, "--set", small, "--type", "f16", *more)
        expect(": no results for " in line and got["device"] is None and got["types"] == "T=f16", line)
    expect(", estimated 0.00" in line and " ms from the work of one block: no results for it on " in line, line)
    line, got = chosen(tool, folder, "--set", small, "--device", "sim:h200", "--tune", "BM=16")
    expect(line.startswith("chosen: rows BM=8,") and line.endswith(" on NVIDIA H200; --tune replaces its values by BM=16"), line)
    expect(got["tune"] == "BM=8" and got["by_hand"] == "BM=16", got)
    refused = call([tool, "run", "products.tile", "--fill", "rand", "--set", small, "--device", "sim:h200", "--tune", "BN=16"], cwd=folder)
    expect(refused.status == 2 and "the choice is `rows`" in refused.err and "that has it: `columns`" in refused.err, refused)
    for wrong, said in ((("--tune", "BK=1"), "none of the kernels has a tuned value 'BK'"), (("--type", "i8"), "lists i8 for `T`"),
                        (("--set", "q=1"), "none of the kernels has a scalar parameter 'q'"), (("--store", "none.db"), "none.db")):
        refused = call([tool, "run", "products.tile", "--fill", "rand", "--set", small, *wrong], cwd=folder)
        expect(refused.status == 2 and said in refused.err, f"{wrong}: {refused}")
    refused = call([tool, "run", "products.tile", "--fill", "rand", "--set", "m=1,n=1", "--json"], cwd=folder)
    expect(refused.status == 2 and "give it with --set k=…" in refused.err and json.loads(refused.out)["kernel"] is None, refused)


def test_two_families(tool, folder):
    """A name after the colon is a family of the file, or a kernel of any of its families."""
    write(f"{folder}/sums.tile_only.tile", "kernel sum_only(i32 n, const f32 *a, f32 *c) grid(n) warps(1)\n{\n    global f32 A[n] = a, C[n] = c;\n"
          "    C[block.x +: 1] = A[block.x +: 1] + 1;\n    ensures C == A + 1;\n}\n")
    write(f"{folder}/several.tile", 'family products { "parts/rows.tile"; "parts/columns.tile"; }\nfamily adds { "sums.tile_only.tile"; }\n')
    for name, first in (("products", "family products"), ("adds", "family adds")):
        got = call([tool, "show", f"several.tile:{name}"], cwd=folder)
        expect(got.status == 0 and got.out.startswith(first), got)
    for name in ("rows", "columns", "sum_only"):
        got = call([tool, "check", f"several.tile:{name}", "--no-run", "--json"], cwd=folder)
        expect(got.status == 0 and [k["kernel"] for k in json.loads(got.out)] == [name], got)
    got = call([tool, "show", "several.tile:cells"], cwd=folder)
    expect(got.status == 2 and "several.tile has no family 'cells', and none of its families (`products`, `adds`) has that kernel" in got.err, got)
    got = call([tool, "show", "several.tile"], cwd=folder)
    expect(got.status == 2 and "several.tile has 2 families: say which" in got.err, got)


def test_build_folder(tool, folder):
    """`build` refuses a folder that is missing before it compiles."""
    write(f"{folder}/broken.tile", "kernel broken(i32 n, f32 *c) grid(1) warps(1)\n{\n    global f32 C[n] = c;\n    C[0] = nothing;\n}\n")
    got = call([tool, "build", "broken.tile", "--out", "missing"], cwd=folder)
    expect(got.status == 1 and "there is no folder `missing`" in got.err and "nothing" not in got.err, got)


def test_inputs(tool, folder):
    """Sizes and types that follow from arrays count for the choice."""
    first = call([tool, "run", "parts/columns.tile", "--set", "m=16,n=64,k=64", "--type", "f32", "--fill", "rand", "--out", "c=square.npy"], cwd=folder)
    expect(first.status == 0, first)
    write(f"{folder}/twice.tile", """kernel twice(i32 m, i32 n, const f32 *a, f32 *c)
    grid(m) warps(1)
{
    global f32 A[m][n] = a, C[n][n] = c;
    C[block.x * 4 +: 4][0 +: 64] = A[block.x +: 1][0 +: 64] + 0;
}
""")
    grown = call([tool, "run", "twice.tile", "--in", "a=square.npy", "--out", "c=large.npy"], cwd=folder)
    expect(grown.status == 0, grown)
    line, got = chosen(tool, folder, "--in", "a=square.npy,b=large.npy", "--device", "sim:h200")
    expect(got["by"] == "result" and got["nearest"] == "m=16,n=64,k=64", line)


def test_store(tool, folder):
    """Results that `tune` stored for a member count without --tuned."""
    store = f"{folder}/tuned.db"
    tuned = call([tool, "tune", "products.tile:columns", "--set", "m=16,n=64,k=64", "--type", "f32", "--budget", "5", "--store", store], cwd=folder)
    if tuned.status == 2 and "SQLite" in tuned.err:
        return
    expect(tuned.status == 0, tuned)
    for given in ({"TILEWRIGHT_STORE": store}, {}):
        words = () if given else ("--store", "tuned.db")
        line, got = chosen(tool, folder, "--set", "m=16,n=64,k=64", "--type", "f32", *words, **given)
        expect(got["kernel"] == "columns" and got["by"] == "result" and got["compared"] > 0, line)
        line, got = chosen(tool, folder, "--set", "m=20,n=64,k=64", "--type", "f32", *words, **given)
        expect(got["kernel"] == "columns" and got["by"] == "nearest", line)


def test_gpu(tool, folder):
    """The driver library of the tests is a GPU without results."""
    fake = os.path.join(os.path.dirname(tool), "tests", "libfake_cuda.so")
    line, got = chosen(tool, folder, "--set", "m=16,n=64,k=64", "--device", "cuda", TILEWRIGHT_CUDA_DRIVER=fake)
    expect(got["by"] == "model" and "no results for simulator, so from those of NVIDIA H200" in line, line)


def test_same_bits(tool, folder):
    """--same-bits leaves out kernels that add floats in any order."""
    write(f"{folder}/sums.table", '{"family":"sums","device":"NVIDIA H200","types":"T=f32","sizes":["m","n","k"],"variants":[{"kernel":"sums","tune":""},'
                                  '{"kernel":"rows","tune":"BM=8"}]}\n{"at":[16,32,24],"us":[2,3]}\n')
    for command, more in (("run", ["--fill", "rand", "--verify"]), ("show", ["--stage", "tile"]), ("explain", [])):
        sizes = ["--set", "m=16,n=32,k=24", *more]
        got = call([tool, command, "sums.tile", *sizes], cwd=folder)
        expect(got.status == 0 and "chosen: sums" in got.out, got)
        got = call([tool, command, "sums.tile", *sizes, "--same-bits"], cwd=folder)
        expect(got.status == 0 and "chosen: rows" in got.out, got)
        got = call([tool, command, "sums.tile:rows", *sizes, "--same-bits"], cwd=folder)
        expect(got.status == 2 and "--same-bits is for a family" in got.err, got)


def test_look(tool, folder):
    """`explain` and `show` choose for the sizes that they are given, of each row."""
    sizes = ["--set", "n=64,k=64", "--type", "f32", "--device", "h200"]
    got = json.loads(call([tool, "explain", "products.tile", *sizes, "--sweep", "m=16,256", "--json"], cwd=folder).out)
    expect([(k["kernel"], k["chosen"]["by"], k["name"]) for k in got["kernels"]] ==
           [("rows", "result", "rows m=16"), ("columns", "result", "columns m=256")], got)
    got = call([tool, "explain", "products.tile", "--device", "h100"], cwd=folder)
    expect(got.status == 0 and "\n  chosen: columns BN=16, by the model: no results for H100 SXM, so from those of NVIDIA H200" in got.out, got)
    got = call([tool, "show", "products.tile", *sizes, "--set", "m=256", "--stage", "ptx"], cwd=folder)
    expect(got.out.startswith("// chosen: columns BN=16, 0.00375 ms at these sizes on NVIDIA H200\n// columns for sm_90"), got)
    got = call([tool, "show", "products.tile", "--set", "m=256,n=64,k=64", "--after", "check", "--tune", "BM=8"], cwd=folder)
    expect(got.status == 0 and "const i32 BM = 8;" in got.out, got)
    got = call([tool, "show", "products.tile"], cwd=folder)
    expect(got.out.endswith("variants with results for T=f32\n  rows BM=8\n  columns BN=16\n"), got)
    got = json.loads(call([tool, "show", "products.tile", "--type", "f16", "--json"], cwd=folder).out)
    expect(got["variants"] == [], got)


def test_shipped(tool, folder):
    """The families that ship load, and their members give the same results."""
    for family, batch in (("matmul", ""), ("matmul_nt", ""), ("matmul_batched", "batch=3,")):
        told = json.loads(call([tool, "show", family, "--json"], cwd=folder).out)
        kernels = {k["kernel"]: [c for t in k["types"] for c in t["choices"]] for k in told["kernels"]}
        expect(told["family"] == family and len(kernels) > 1, told)
        expect({t for types in kernels.values() for t in types} == {"f32", "f16", "bf16"}, told)
        copied = {k["kernel"] for k in told["kernels"] if "/hopper/" in k["file"]}  # by tensor copies, whose rows are multiples of 16 bytes
        for kernel, types in kernels.items():
            sizes = "m=3,n=24,k=304" if kernel in copied else "m=3,n=19,k=300"
            for device in ("cpu", "sim"):
                got = call([tool, "run", f"{family}:{kernel}", "--set", batch + sizes, "--type", types[0], "--fill", "rand", "--device", device,
                            "--verify"], cwd=folder)
                expect(got.status == 0 and "verified: " in got.out, f"{family}:{kernel} on {device}: {got}")


def main():
    tool = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        write_family(folder)
        for test in (test_members, test_show, test_choice, test_two_families, test_build_folder, test_inputs, test_store, test_gpu, test_same_bits, test_look, test_check, test_names, test_shipped, test_hopper):
            test(tool, folder)


if __name__ == "__main__":
    main()
