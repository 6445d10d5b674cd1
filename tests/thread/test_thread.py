#!/usr/bin/env python3
"""Thread IR as text: programs print and read back the same, faults are found, and ptxas takes the PTX without a message. A product of warps gives
NumPy's values on the simulator, which finds no race in it.

    test_thread.py TILEWRIGHT

$THREAD_TEXT is tests/thread/thread_text.c.
"""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

import numpy as np

from tile_runner import fail

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
HEAD = "kernel f(u64 %out, u32 %n) threads 128 target sm_90a {\n"
FLYING = """    shared bf16 a[8192] at 0
    %d = descriptor a[0], 16, 1024
    %none = undefined.f32 * 32
    %s1 = product.f32.bf16 %none, %d, %d, 0, 0
"""
# A body, and a part of the message; None: the program is right.
CASES = [
    ("%a = add.u32 %n, 1\n store.u32 %out, %a, 0, %a", None),
    ("%a = add.u32 %n, %m", "no value has this name"),
    ("%n = add.u32 %n, 1", "a value has this name already"),
    ("%a = add.f32 %n, 1", "expected a value or a constant of the operation's type"),
    ("%a = add.u32 %n, 1.5", "expected a value or a constant of the operation's type"),
    ("%a = add.u32 %n", "the operation has more operands"),
    ("%a = add.u32 %n, 1, 2", "the operation has fewer operands"),
    ("%a = frobnicate.u32 %n", "expected an operation"),
    ("%a = add %n, 1", "`add` needs a type after it"),
    ("add.u32 %n, 1", "this operation has one result"),
    ("%a = barrier 0, 0", "this operation has no result"),
    ("%a = eq.u32 %n, 1\n if %a { %b = add.u32 %n, 1 }\n %c = add.u32 %b, 1", "is not defined in every run that comes here"),
    ("%a = eq.u32 %n, 1\n %b = if %a { %c = add.u32 %n, 1 yield %c }", "an `if` with results needs an `else`"),
    ("%a = eq.u32 %n, 1\n %b = if %a { %c = add.u32 %n, 1 yield %c } else { %e = neg.f32 1.0 yield %e }", "the value's type is not that"),
    ("%a = eq.u32 %n, 1\n %b = if %a { %c = add.u32 %n, 1 yield %c } else { %e = add.u32 %n, 2 yield %e }", None),
    ("if %n { }", "expected a predicate"),
    ("loop (%i: u32 = 0) { %j = add.u32 %i, 1 }", "has to end with `continue`"),
    ("loop (%i: u32 = 0) { continue }", "the number of values is not that of their destinations"),
    ("loop (%i: u32 = 0.5) { continue %i }", "the value's type is not that of its destination"),
    ("loop (%i: u32 = 0) { break\n copy_out_commit continue %i }", "this operation is never reached"),
    ("%a = loop (%i: u32 = 0) { continue %i }", "as many results are needed as values leave it"),
    ("break", "there is no loop around this"),
    ("yield %n", "`yield` is not in an `if`"),
    ("shared f32 x[4] at 0\n shared f32 y[4] at 8", "the array lies on `x`"),
    ("shared f32 x[4] at 2", "does not begin at a multiple"),
    ("shared f32 x[4] at 0\n store_shared.f32 x[4], 1.0", "this element is outside of the array"),
    ("shared f32 x[4] at 0\n mbarrier_arrive x[0]", "expected an mbarrier"),
    ("roles { warps 0, 8 { } }", "a role's warps are not warps of the block"),
    ("roles { warps 0, 2 { } warps 1, 2 { } }", "two roles have the same warp"),
    ("roles { warps 0, 4 registers 30 { } }", "a multiple of 8 from 24 to 240"),
    ("roles { warps 0, 2 registers 32 { } }", "whole warpgroups"),
    ("%g = undefined.f32 * 8\n %h = undefined.f32 * 4\n %x = add.f32 %g, %h", "the groups have different lengths"),
    ("%g = undefined.f32 * 8\n %x = part.f32 %g, 1, 4, 2", None),
    ("%g = undefined.f32 * 8\n %x = part.f32 %g, 2, 4, 2", "the part ends after the group"),
    (FLYING + "%c = product_commit.f32 %s1\n %w = product_wait.f32 %c, 0\n %x = reduce_add.f32 %w\n store.f32 %out, %n, 0, %x", None),
    (FLYING + "%x = reduce_add.f32 %s1", "expected a value or a constant"),
    (FLYING + "%c = product_commit.f32 %s1\n %x = add.f32 %none, 1.0", "a product has taken it"),
    (FLYING + "%c = product_commit.f32 %s1\n %w = product_wait.f32 %c, 0\n %v = product_wait.f32 %c, 0", "a product has taken it"),
    (FLYING + "%c = product_commit.f32 %s1\n %w = product_wait.f32 %c, 1", "may still be under way"),
    (FLYING + "%c = product_commit.f32 %s1\n %e = undefined.f32 * 32\n %s2 = product.f32.bf16 %e, %d, %d, 0, 0\n"
              "%k = product_commit.f32 %s2\n %w = product_wait.f32 %c, 1\n %v = product_wait.f32 %k, 0", None),
    (FLYING + "loop () { %s2 = product_commit.f32 %s1 continue }", "would be taken in each turn of the loop"),
    ("%g = load.f32 %out, %n, 0 * 4\n store.f32 %out, %n, 4, %g", None),
    ("%g = load.f32 %out, %n, 0 * 3", "one instruction moves 4, 8 or 16 bytes"),
    ("shared f16 a[64] at 0\n %g = load_matrix.f16 a[%n], 1 * 8\n store_shared.f16 a[%n], %g", None),
    ("shared f16 a[64] at 0\n %g = load_matrix.f16 a[%n], 1 * 16", "one instruction moves 4, 8 or 16 bytes"),
    ("shared f16 a[64] at 0\n copy_async a[%n], %out, %n, 0, 12", "one copy has 4, 8 or 16 bytes"),
    ("%a = undefined.f16 * 8\n %b = undefined.f16 * 4\n %c = undefined.f32 * 4\n %d = mma.f32.f16 %c, %a, %b", None),
    ("%a = undefined.f16 * 4\n %b = undefined.f16 * 4\n %c = undefined.f32 * 4\n %d = mma.f32.f16 %c, %a, %b", "8 elements of the left factor"),
    ("%e = undefined.f32 * 6\n %d = convert.u64.u32 %n\n %s = product.f32.bf16 %e, %d, %d, 0, 0", "4 to 128 sums"),
]


def run(program, *words):
    return subprocess.run([program, *words], capture_output=True, text=True)


def check_case(program, folder, body, wanted):
    path = f"{folder}/case.thread"
    with open(path, "w") as file:
        file.write(HEAD + body + "\n}\n")
    done = run(program, path)
    if wanted is None:
        if done.returncode:
            fail(f"refused:\n{body}\n{done.stdout}")
        check_text(program, folder, path)
        check_assembled(program, folder, path)
    elif done.returncode != 1 or wanted not in done.stdout:
        fail(f"no message `{wanted}` for\n{body}\n{done.stdout}")


def check_text(program, folder, path):
    printed = run(program, path)
    if printed.returncode:
        fail(f"{path}: {printed.stdout}{printed.stderr}")
    again = f"{folder}/again.thread"
    with open(again, "w") as file:
        file.write(printed.stdout)
    if run(program, again).stdout != printed.stdout:
        fail(f"{path} does not read back as it was printed")


def check_assembled(program, folder, path):
    """A message of ptxas says that products wait for each other, or that the registers of roles are ignored."""
    done = run(program, "--ptx", path)
    if done.returncode:
        fail(f"{path}: {done.stdout}")
    ptxas = shutil.which("ptxas", path=os.environ["PATH"] + ":/usr/local/cuda/bin")
    if not ptxas:
        return
    with open(f"{folder}/out.ptx", "w") as file:
        file.write(done.stdout)
    target = re.search(r"^\.target (\w+)", done.stdout, re.M).group(1)
    done = run(ptxas, f"-arch={target}", "-v", f"{folder}/out.ptx", "-o", f"{folder}/out.cubin")
    if done.returncode or re.search(r"\(C\d+\)|warning", done.stderr) or " 0 bytes spill stores, 0 bytes spill loads" not in done.stderr:
        fail(f"{path}: ptxas: {done.stderr}")


def check_values(program, tool, folder):
    """A product whose block copies ahead by cp.async and multiplies by mma."""
    path = f"{folder}/matmul.ptx"
    with open(path, "w") as file:
        file.write(run(program, "--ptx", f"{TESTS}/thread/matmul_f16.thread").stdout)
    m, n, k = 256, 128, 160
    rng = np.random.default_rng(1)
    a, b = (rng.standard_normal(shape).astype(np.float16) for shape in ((m, k), (n, k)))
    np.save(f"{folder}/a.npy", a)
    np.save(f"{folder}/b.npy", b)
    launch = ["--grid", f"{n // 128},{m // 128}", "--block", "256", "--shared", "65536", "--arg", f"@{folder}/a.npy", "--arg", f"@{folder}/b.npy",
              "--arg", f"f16[{m}x{n}]:none", "--arg", f"i32:{n}", "--arg", f"i32:{k}"]
    done = run(tool, "run", path, *launch, "--out", f"2={folder}/c.npy")
    if done.returncode:
        fail(done.stdout + done.stderr)
    got, wanted = np.load(f"{folder}/c.npy").astype(np.float32), a.astype(np.float32) @ b.astype(np.float32).T
    wrong = np.abs(got - wanted) > 2 ** -10 * np.abs(wanted) + 1e-3
    if wrong.any():
        fail(f"matmul_f16: {wrong.sum()} wrong values, the first at {np.argwhere(wrong)[0]}")
    done = run(tool, "check", path, *launch)
    if done.returncode:
        fail(done.stdout + done.stderr)


def main():
    program = os.environ["THREAD_TEXT"]
    with tempfile.TemporaryDirectory() as folder:
        for body, wanted in CASES:
            check_case(program, folder, body, wanted)
        check_values(program, os.path.abspath(sys.argv[1]), folder)
        files = sorted(glob.glob(f"{TESTS}/hopper/*.thread") + glob.glob(f"{TESTS}/thread/*.thread"))
        if not files:
            fail("there are no programs")
        for path in files:
            check_text(program, folder, path)
            check_assembled(program, folder, path)


if __name__ == "__main__":
    main()
