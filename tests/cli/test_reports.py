#!/usr/bin/env python3
"""Reports of `run`, `check` and `bench`: exact numbers, the line of a wrong value, the sizes that ran, misspelt names, endless runs."""
import json
import os
import resource
import sys
import tempfile

import numpy as np

from tile_runner import call, expect, fail

PROGRAMS = """
kernel wrong(i32 n, const f32 *a, f32 *c) grid(cdiv(n, 16)) warps(1)
{
    global f32 A[n] = a, C[n] = c;
    C[block.x * 16 +: 16] = A[block.x * 16 +: 16] + 1.0;
    ensures C == A;
}
kernel unset(i32 n, const f32 *a, f32 *c) grid(cdiv(n, 16)) warps(1)
{
    global f32 A[n] = a, C[n] = c;
    reg f32 x[16]; if (n > 100000) x = 0;
    C[block.x * 16 +: 16] = A[block.x * 16 +: 16] + x;
    ensures C == A;
}
kernel forever(i32 n, f32 *c) grid(1) warps(1)
{
    global f32 C[n] = c;
    i32 x = 0;
    while (x >= 0)
        x = (x + 1) & 65535;
    C[0 +: 16] = (f32) x;
}
kernel outside(i32 n, f32 *c) grid(1) threads(32)
{
    global f32 C[n] = c;
    C[n + thread.x] = 1.0;
}
kernel halves(i32 n, f32 *c) grid(1) warps(1)
{
    global f32 C[n] = c;
    assume(n > 3000 && n % 97 == 96);
    C[0 +: 16] = 1.0;
}
kernel batch(i32 z, i32 m, i32 n, i32 k, const f32 *a, const f32 *b, f32 *c) grid(z) warps(1)
{
    global f32 A[z][m][k] = a, B[z][k][n] = b, C[z][m][n] = c;
    C[block.x][0 +: 4][0 +: 4] = A[block.x][0 +: 4][0 +: 4] + B[block.x][0 +: 4][0 +: 4];
}
"""
COPY = """
type T = {i64, u64, f64, f32, i32, bool};
kernel copy(i32 n, const T *a, T *c) grid(cdiv(n, 16)) warps(1)
{
    global T A[n] = a, C[n] = c;
    C[block.x * 16 +: 16] = A[block.x * 16 +: 16];
    ensures C == A;
}
"""
# A shared tile with an index that depends on data: it is unknown if the two accesses meet.
UNDECIDED = """
kernel undecided(i32 n, const i32 *x, f32 *c) grid(1) threads(32)
{
    global i32 X[n] = x;
    global f32 C[32] = c;
    shared f32 s[64];
    s[thread.x] = 1.0;
    s[32 + X[0]] = 2.0;
    sync();
    C[thread.x] = s[thread.x];
}
"""
# No view gives the length of d.
VIEWLESS = """
kernel viewless(i32 n, const f32 *d, f32 *c) grid(1) warps(1)
{
    global f32 C[n] = c;
    C[0 +: 16] = 1.0;
}
"""
# Two warnings: one of the file, one of the blocks' accesses.
WARNED = """
tune unused = {1, 2};
kernel warned(i32 n, const f32 *a, f32 *c) grid(cdiv(n, 16), 4) warps(1)
{
    global f32 A[n] = a, C[n] = c;
    C[block.x * 16 +: 16] += A[block.x * 16 +: 16];
}
"""
# With R = 512 it runs on the CPU alone.
LARGE = """
tune R = {512, 16};
kernel large(const f32 *a, f32 *c) grid(1) warps(4)
{
    global f32 A[512][512] = a, C[512][512] = c;
    reg f32 t[R][R] = A[0 +: R][0 +: R];
    C[0 +: R][0 +: R] = t + 1.0;
}
"""
NEGATIVE = """
kernel negative(i32 n, const f32 *a, f32 *c) grid(n - 10) warps(1)
{
    global f32 A[16] = a, C[16] = c;
    C[0 +: 16] = A[0 +: 16];
}
"""
HOPPER = """
kernel copies(const f32 *a, f32 *c) grid(1) warps(4)
{
    global f32 A[64][16] = a, C[64][16] = c;
    shared f32 s[64][16];
    mbarrier full(1);
    one_thread {
        expect(full, bytes(s));
        async(full) s = A[0 +: 64][0 +: 16];
    }
    wait(full);
    C[0 +: 64][0 +: 16] = s + 1;
    ensures C == A + 1;
}
"""
HOPPER_LARGE = HOPPER.replace("warps(4)", "warps(4) target(sm_90a)").replace("s[64][16]", "s[64][16], more[256][256]").replace(
    "    wait(full);", "    more[0] = 1;\n    wait(full);\n    sync();").replace("s + 1;", "s + more[0][0];")
ODD_GRID = """
kernel copy(i32 n, const f16 *a, f16 *c) grid(device.sms / 4 + 2) warps(4) cluster(2) target(sm_90a)
{
    global f16 A[n][64] = a, C[n][64] = c;
    for (i32 i = block.x; i < n; i += grid.x)
        C[i +: 1][:] = A[i +: 1][:];
    ensures C == A;
}
"""
SHARED = "kernels/matmul/shared.tile"
QUICK = ["--warmup", "0", "--repeat", "1"]


class Program:
    def __init__(self, tool, folder):
        self.tool, self.folder = tool, folder

    def __call__(self, *arguments, status=0, out=(), err=(), not_in=()):
        result = call([self.tool, *arguments], cwd=self.folder)
        if result.status != status:
            fail(f"{arguments}: expected status {status}: {result}")
        for text in (out,) if isinstance(out, str) else out:
            if text not in result.out:
                fail(f"{arguments}: no '{text}' in the output: {result}")
        for text in (err,) if isinstance(err, str) else err:
            if text not in result.err:
                fail(f"{arguments}: no '{text}' in the errors: {result}")
        for text in (not_in,) if isinstance(not_in, str) else not_in:
            if text in result.out + result.err:
                fail(f"{arguments}: prints '{text}': {result}")
        return result

    def json(self, *arguments, status=0):
        return json.loads(self(*arguments, "--json", status=status).out)


def test_bench_sizes(run):
    rows = run.json("bench", SHARED, "--set", "m=48,n=32,k=16", *QUICK)["rows"]
    if (rows[0]["m"], rows[0]["n"], rows[0]["k"]) != (48, 32, 16):
        fail(f"sizes that ran: {rows[0]}")
    flops = rows[0]["gflops"] * rows[0]["ms"] * 1e6
    if abs(flops - 2 * 48 * 32 * 16) > 1:
        fail(f"operations: {flops}")
    run("bench", SHARED, "--set", "m=48,n=32,k=16", "-s", "64", status=2, err="twice")
    run("bench", SHARED, "--set", "m=48", *QUICK, status=1, out=["needs --set n=…,k=…", "median of 1 round after 0"],
        err="nothing was measured: matmul_v1: needs --set n=…,k=…")
    batch = run.json("bench", "programs.tile:batch", "-s", "8", "--set", "z=3", *QUICK)["rows"]
    if len(batch) != 1 or "gflops" in batch[0] or batch[0]["peer"] != "copy" or batch[0]["sizes"] != "z = 3, m = 8, n = 8, k = 8":
        fail(f"a batch does not count as a product: {batch}")
    run("bench", "programs.tile:batch", "-s", "8", "--set", "z=3", *QUICK, out="GB/s", not_in=["BLAS", "gflops"])


def test_numbers(run):
    def values(a):
        np.save(f"{run.folder}/a.npy", a)
        return run.json("run", "copy.tile", "--in", "a=a.npy")["arrays"]["c"]["values"]
    for kind, numbers in (("i8", [-2**63, 2**63 - 1, 123456789012345678]), ("u8", [2**64 - 1, 0]), ("i4", [123456789, -2**31])):
        if values(np.array(numbers, kind)) != numbers:
            fail(f"{kind} {numbers} is printed as {values(np.array(numbers, kind))}")
    for kind in ("f4", "f8"):
        a = np.random.default_rng(3).standard_normal(20).astype(kind)
        if not np.array_equal(np.array(values(a), kind), a):
            fail(f"{kind} does not read back")
    if values(np.array([np.nan, np.inf, -np.inf, 0.1], "f4")) != ["nan", "inf", "-inf", 0.1]:
        fail("nan and inf are texts, 0.1 is short")
    if values(np.array([True, False])) != [True, False]:
        fail("bool")


def test_verdicts(run):
    sizes = ["--set", "m=0x10,n=7,k=300", "--fill", "rand", "--verify"]
    run("run", SHARED, *sizes, out=["verified: 112 elements, largest error", "% of its tolerance (error "])
    got = run.json("run", SHARED, *sizes)
    if not got["worst_error"] <= got["tolerance"] or not got["worst_error"] <= got["max_error"] or len(got["at"]) != 2 or not got["ok"]:
        fail(f"verdict: {got}")
    run("run", "kernels/single_block/single_block.tile", "--fill", "zero", "--verify", out="verified: 4 elements, each exactly")
    run("run", "kernels/fused/softmax.tile", "--set", "rows=1,cols=1", "--fill", "iota", "--verify", out="1 element,")
    wrong = ["programs.tile:6:5: error: C[0] is ", "\n        ensures C == A;\n", "^~~", "wrong values in wrong with n = "]
    run("run", "programs.tile:wrong", "--set", "n=3", "--fill", "rand", "--verify", status=1, err=wrong)
    run("check", "programs.tile:wrong", status=1, err=wrong, not_in="NaN")
    run("bench", "programs.tile:wrong", "--set", "n=3", *QUICK, status=1, out=["FAIL", "programs.tile:6: C[0] is "])
    run("bench", "programs.tile:outside", "--set", "n=3", *QUICK, status=1, out="programs.tile:26: ")
    for command in (["run", "programs.tile:unset", "--set", "n=3", "--fill", "rand", "--verify"], ["check", "programs.tile:unset"]):
        run(*command, status=1, err=["C[0] is nan, expected", "`x` may have no value here, and is NaN then: give it one where it is declared"], not_in="-nan")
    run("check", "programs.tile:unset", status=1, err="programs.tile:12:53: note: `x` may have no value here")


def test_failures_in_json(run):
    for arguments, status in ((["programs.tile:wrong"], 2), (["no.tile"], 2), (["programs.tile"], 2), (["programs.tile:wrong", "--seed", "x"], 2),
                              (["programs.tile:outside", "--set", "n=1"], 1), (["programs.tile:wrong", "--in", "a=no.npy"], 2),
                              (["programs.tile:wrong", "--set", "n=3", "--fill", "rand", "--verify"], 1)):
        got = run.json("run", *arguments, status=status)
        if got["ok"] or not got["status"].startswith("TW_") or got["status"] == "TW_OK" or not got["messages"][0]["text"]:
            fail(f"{arguments}: {got}")
    for missing in (["no.tile"], ["programs.tile:wrong", "--in", "a=no.npy"]):
        expect(run.json("run", *missing, status=2)["status"] == "TW_NO_FILE", missing)
    for command in ("bench", "tune", "explain"):
        got = run.json(command, "no.tile", status=2)
        expect(got["status"] == "TW_NO_FILE" and "no.tile" in got["messages"][0]["text"], f"{command}: {got}")
        got = run.json(command, SHARED, "--set", "zz=3", status=2)
        expect(got["status"] == "TW_BAD_ARGUMENT" and "zz" in got["messages"][0]["text"], f"{command}: {got}")
    for wrong in "--set zz=3", "--set m=x", "--set m", "--set m=1.5", "--tune X", "--tune X=1", "--type Q=f32", "--fill c=x", "--fill zz=zero":
        got = run.json("check", SHARED, *wrong.split(), status=2)
        expect(len(got) == 1 and not got[0]["ok"] and wrong.split()[1].split("=")[0] in got[0]["findings"][0]["text"], f"{wrong}: {got}")
    got = run.json("check", f"{SHARED}:nobody", status=2)
    expect(not got[0]["ok"] and "no kernel `nobody`" in got[0]["findings"][0]["text"], got)
    got = run.json("run", "programs.tile:outside", "--set", "n=1", status=1)
    if got["messages"][0]["line"] != 26 or got["status"] != "TW_FAULT":
        fail(f"the place of a fault: {got}")
    got = run.json("run", "programs.tile:outside", "--set", "n=1", "--device", "sim", status=1)
    access = got["findings"][0]["accesses"][0]
    if got["findings"][0]["kind"] != "out-of-bounds" or (access["line"], access["block"]) != (26, 0) or access["thread"] is None:
        fail(f"the access of a fault in the simulator: {got}")


def test_names(run):
    for command in ("check", "bench"):
        run(command, SHARED, "kernels/matmul/tuned.tile", "--tune", "BMM=64", status=2, err="did you mean 'BM'")
        run(command, SHARED, "--set", "mm=4", status=2, err="did you mean 'm'")
        run(command, SHARED, "--set", "q=4", status=2, err="'q'; there are 'm', 'n' and 'k'")
        run(command, SHARED, "kernels/matmul/tuned.tile", "--tune", "bm=64", status=2, err="did you mean 'BM'")
        run(command, SHARED, "--type", "U=f16", status=2, err="type variable 'U'")
        run(command, "kernels/matmul/tuned.tile", "--tune", "BM=abc", status=2, err="BM=abc")
        run(command, "none.tile", status=2, err="none.tile has no kernel")
    for command in ("run", "check", "bench", "show"):
        run(command, SHARED, "--tune", "BM=32", status=2, err="`BM` is a constant of kernels/matmul/shared.tile, 64")
        run(command, "binary.tile", status=2, err="binary.tile is not a program")
        run(command, "main.c", status=2, err="main.c is C by its name, and tile kernels are wanted here\n")
    for command in ("tune", "bench", "build"):
        said = run(command, "kernels/cuda/transpose.cu", status=2, err="is CUDA C, and this command takes tile kernels, FILE.tile; `tilewright check`, `run` and `explain` take PTX and CUDA C\n")
        if said.err.count("\n") > 2:
            fail(f"more than is of use: {said}")
    if "has no kernel" not in run.json("check", "none.tile", status=2)[0]["findings"][-1]["text"]:
        fail("check --json of a file without kernels")


def test_sizes(run):
    said = run("run", SHARED, "--set", "m=-1,n=4,k=4", "--fill", "rand", status=2, err="error: axis 0 of `A`, `m`, is -1 elements long\n").err
    if said.count("error:") != 1:
        fail(f"one size, one error: {said}")
    with open(f"{run.folder}/parts.tile", "w") as f:
        f.write("kernel parts(i32 n, i32 by, f32 *c) grid(cdiv(n, by)) warps(1)\n{\n    global f32 C[n / (by - 4)] = c;\n    C[0 +: 8] = 1;\n}\n")
    for device in ("cpu", "sim"):
        run("run", "parts.tile", "--device", device, "--set", "n=8,by=0", "--fill", "rand", status=2, err="`cdiv(n, by)` divides by zero with n = 8, by = 0\n")
        run("run", "parts.tile", "--device", device, "--set", "n=8,by=4", "--fill", "rand", status=2, err="`n / (by - 4)` divides by zero with n = 8, by = 4\n")
        run("run", "negative.tile", "--device", device, "--set", "n=3", "--fill", "rand", status=2,
            err=["negative.tile:2:", "the grid of negative has -7 blocks along x"])


def test_files(run):
    np.save(f"{run.folder}/A.npy", np.ones((2, 3), "f4"))
    np.save(f"{run.folder}/B.npy", np.ones((3, 2), "f4"))
    run("run", SHARED, "--in", "a=A.npy,b=B.npy", out="c: f32[2][2]\n[[3.0, 3.0],\n [3.0, 3.0]]\n")
    run("run", SHARED, "--in", "a=no.npy", "--in", "a=A.npy", "--in", "b=B.npy", out="3.0")
    run("run", SHARED, "--in", "q=A.npy", status=2, err="no array 'q'; there are 'a', 'b' and 'c'")
    run("run", SHARED, "--in", "aa=A.npy", status=2, err="did you mean 'a'")
    run("run", SHARED, "--out", "c=-", status=2, err="standard output")
    run("run", SHARED, "--in", "a=A.npy", "--fill", "b=ones", "--set", "n=2", "--fill", "rand", "--fill", "zero", out="3.0")
    run("run", "copy.tile", "--set", "n=2", "--fill", "ones", "--fill", "zero", "--type", "f64", "--type", "f32", out="c: [0.0, 0.0]")
    np.save(f"{run.folder}/D.npy", np.ones((2, 3), "f8"))
    run("run", SHARED, "--in", "a=D.npy", "--in", "b=B.npy", status=2,
        err=["D.npy holds f64, but `a` of matmul_v1 takes T = {f32, f16, bf16}", 'numpy.save("D.npy", a.astype("f4"))'])
    run("run", SHARED, "--set", "m=2000000000,n=2000000000,k=2000000000", "--fill", "rand", status=2, err=["no memory for `a`", "GB"])
    # memory that cannot be allocated is found before any array is filled
    run("run", SHARED, "--set", "m=100000000,n=100000000,k=1", "--fill", "rand", status=2, err=["no memory for `c`", "4e+07 GB", "ahead of it take 0.8 GB"])
    if resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss > 390_000:  # KiB of the largest child process so far; each of the two arrays is 0.4 GB
        fail("arrays are filled though one of them cannot be had")


def test_check(run):
    run("check", "programs.tile:batch", "-v", out="no `ensures`: no values compared")
    run("check", SHARED, "-v", out="matmul_v1: ok (", not_in=["no values", "not decided"])
    run("check", SHARED, "-v", "--no-run", out="configurations; not run)", not_in="0 runs")
    run("check", "undecided.tile", "-v", "--no-run",
        out="not decided whether accesses to shared memory race: it depends on values that are not known here whether accesses of `s` in lines 7 and 8 meet")
    run("check", "viewless.tile", "-v", out="viewless: not run (1 configuration looked at)",
        err="viewless is not run: `d` has no `global` view", not_in=["no sizes tried", "0 runs"])
    if "`d`" not in run.json("check", "viewless.tile")[0]["not_run"] or run.json("check", SHARED)[0]["not_run"]:
        fail("check --json of a kernel that is not run")
    run("check", "programs.tile:halves", "-v", err="no sizes tried suit it (--set gives others): ")
    run("check", "programs.tile:forever", "--time-limit", "0.3", status=1, err=["`forever` did not end within 0.3 s with n = 1 (--time-limit)",
        "note: `tilewright run programs.tile:forever --set n=1 --device sim --step-limit 100000` says at which line"])


def test_warnings(run):
    """`check` prints its warnings with all options, and they are not failures."""
    of_kernel, of_file = "4 blocks update the same elements of `C` here", "`unused` is used by no kernel"
    for options in ((), ("-v",)):
        run("check", "warned.tile", "--no-run", *options, err=["warned.tile:6:5: warning: " + of_kernel, of_file])
    whole, kernel = run.json("check", "warned.tile", "--no-run")
    for said, name, text, line in ((whole, None, of_file, 2), (kernel, "warned", of_kernel, 6)):
        [found] = said["findings"]
        expect(said["ok"] and said["kernel"] == name and found["severity"] == "warning" and found["line"] == line, said)
        expect(text in found["message"] and found["notes"], found)


def test_refused(run):
    """A kernel that no GPU takes is right on the CPU: a warning gives the reason. -v names a kernel that a single target does not take."""
    taken = "registers a thread, and a thread has 255"
    warning = "large.tile:3:8: warning: no GPU takes this, and it is not simulated: "
    fits = "note: with these tuned values it fits: R = 16"
    run("check", "large.tile", err=[warning, taken, fits, "in large with R = 512"])
    run("check", "large.tile", "--tune", "R=512", err=[warning, taken], not_in="is not simulated: sm_80")
    run("check", "large.tile", "--tune", "R=512", "-v", out="0 simulated",
        err=[warning, taken, fits])
    run("check", "large.tile", "--tune", "R=16", "-v", not_in=["not simulated", "warning"])
    listed = [f"large: not simulated: {target} does not take it: " for target in ("sm_80", "sm_90")]
    run("check", "large.tile", "-v", out=["2 simulated", *listed, taken, "(with R = 512)"], err=warning)
    [kernel] = run.json("check", "large.tile")
    [found] = kernel["findings"]
    expect(kernel["ok"] and found["severity"] == "warning" and found["line"] == 3 and taken in found["message"], kernel)
    expect(found["with"] == "R = 512" and fits[6:] in found["notes"][-1]["text"], found)
    expect([line[:5] for line in kernel["not_simulated"].split("\n")] == ["sm_80", "sm_90"], kernel)
    # a kernel for Hopper whose head names no target is simulated for sm_90a; the reason names the way out, and comes once
    said = run("check", "hopper.tile", "-v", out=["copies: not simulated: sm_90 does not take it"], not_in=" 0 simulated",
               err="hopper.tile:2:8: warning: simulated for sm_90a alone: ").err
    expect(said.count("which are for sm_90a and need `target(sm_90a)` in the kernel's head") == 1 and "^~~~~~" in said, said)
    # a kernel that names its target is for GPUs
    said = run("check", "hopper_large.tile", status=2, err="error: no GPU takes this, and it is not simulated: ").err
    expect(said.count("not simulated") == 1, said)
    # sizes alone are wrong
    run("check", "odd_grid.tile", status=2, err=["odd_grid.tile:2:8: error: no GPU takes these sizes, and they are not simulated: ", "its grid has 35 blocks along x", "^~~~"])
    # e4m3 begins with sm_89, so sm_90 accepts it
    f8 = ("check", "kernels/matmul/fp8.tile", "--tune", "BM=128,BN=128,BK=64")
    run(*f8, not_in="warning")
    run(*f8, "-v", out="matmul_f8: not simulated: sm_80 does not take it: sm_80 has no `e4m3`", not_in=["warning", "sm_90 does not"])
    expect(run.json("check", "copy.tile", "--type", "f32")[0]["not_simulated"] is None, "all targets take it")


def main():
    tool = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        for name, text in (("programs", PROGRAMS), ("copy", COPY), ("undecided", UNDECIDED), ("viewless", VIEWLESS), ("warned", WARNED), ("large", LARGE), ("negative", NEGATIVE), ("hopper", HOPPER), ("hopper_large", HOPPER_LARGE), ("odd_grid", ODD_GRID), ("none", "// nothing here\n"), ("binary", "\0\1\2")):
            with open(f"{folder}/{name}.tile", "w") as out:
                out.write(text)
        os.symlink(os.path.abspath("kernels"), f"{folder}/kernels")
        run = Program(tool, folder)
        for test in (test_bench_sizes, test_numbers, test_verdicts, test_failures_in_json, test_names, test_sizes, test_files, test_check, test_warnings, test_refused):
            test(run)


if __name__ == "__main__":
    main()
