#!/usr/bin/env python3
"""Array files: every type is written and read back, and every kind of damaged file is refused. A false header must cost no memory."""
import json
import os
import re
import resource
import signal
import subprocess
import struct
import sys
import tempfile

import numpy as np

from tile_runner import call, fail

COPY = """
type T = {f64, f32, f16, i64, i32, i16, i8, u64, u32, u16, u8, bool};
kernel copy(i32 n, const T *a, T *c) grid(cdiv(n, 16)) warps(1)
{
    global T A[n] = a, C[n] = c;
    C[block.x * 16 +: 16] = A[block.x * 16 +: 16];
}
"""
TYPES = ["f8", "f4", "f2", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1", "b1"]


def run(tool, folder, *options):
    return call([tool, "run", "copy.tile", "--in", "a=a.npy", *options], cwd=folder)


def test_types(tool, folder):
    for kind in TYPES:
        a = np.arange(37).astype(kind)
        if a.dtype.kind == "i":
            a[0] = np.iinfo(a.dtype).min
        if a.dtype.kind in "iu":
            a[1] = np.iinfo(a.dtype).max
        np.save(f"{folder}/a.npy", a)
        result = run(tool, folder, "--out", "c=c.npy")
        if result.status != 0:
            fail(f"{kind}: {result}")
        c = np.load(f"{folder}/c.npy")
        if c.dtype != a.dtype or not np.array_equal(a, c):
            fail(f"{kind}: {a} came back as {c}")


def test_versions(tool, folder):
    for version in ((1, 0), (2, 0), (3, 0)):
        with open(f"{folder}/a.npy", "wb") as out:
            np.lib.format.write_array(out, np.arange(3, dtype="f4"), version=version)
        result = run(tool, folder)
        if result.status != 0 or "c: [0.0, 1.0, 2.0]\n" not in result.out:
            fail(f"version {version}: {result}")


def test_printing(tool, folder):
    values = [0.1, 1e-5, 1e16, 123456792, -0.0, np.inf, np.nan, 100]
    np.save(f"{folder}/a.npy", np.array(values, "f4"))
    result = run(tool, folder)
    if "c: [0.1, 1e-05, 1e+16, 123456792.0, -0.0, inf, nan, 100.0]\n" not in result.out:
        fail(f"printing: {result}")


def test_printing_rows(tool):
    """An array with axes is printed by rows; JSON has its shape and a flat list."""
    command = [tool, "run", os.path.abspath("kernels/matmul/batched.tile"), "--set", "m=2,n=3,k=4,batch=2", "--fill", "iota"]
    rows = ("c: f32[2][2][3]\n[[[  42.0,   48.0,   54.0],\n  [ 114.0,  136.0,  158.0]],\n"
            " [[ 642.0,  680.0,  718.0],\n  [ 906.0,  960.0, 1014.0]]]\n")
    result = call(command)
    if rows not in result.out:
        fail(f"rows: {result}")
    c = json.loads(call([*command, "--json"]).out)["arrays"]["c"]
    if c["shape"] != [2, 2, 3] or c["values"] != [42, 48, 54, 114, 136, 158, 642, 680, 718, 906, 960, 1014]:
        fail(f"rows as JSON: {c}")
    for m, n, expected in ((3, 1, "[[14.0],\n [38.0],\n [62.0]]"), (1, 2, "[[28.0, 34.0]]"), (0, 2, "c: f32[0][2]\n[]\n")):
        result = call([tool, "run", "kernels/matmul/shared.tile", "--set", f"m={m},n={n},k=4", "--fill", "iota"])
        if expected not in result.out:
            fail(f"{m}×{n}: {result}")


def header(text, data=b"", version=1, length=None):
    text = text.encode() + b"\n"
    size = struct.pack("<H" if version == 1 else "<I", len(text) if length is None else length)
    return b"\x93NUMPY" + bytes([version, 0]) + size + text + data


def good(descr="'<f4'", order="False", shape="(2,)"):
    return f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}"


BROKEN = {  # content of the file: a part of the message
    "empty": (b"", "is not a .npy file"),
    "garbage": (b"garbage, not an array at all", "is not a .npy file"),
    "magic": (b"\x93NUMPY", "is not a .npy file"),
    "version": (b"\x93NUMPY\x09\x00\x10\x00" + b" " * 16, "version 9"),
    "cut in the header": (header(good(), length=500), "header"),
    "long header": (header(good(), version=2, length=2**31), "header"),
    "no dictionary": (header("hello"), "header"),
    "open dictionary": (header("{'descr': '<f4', "), "header"),
    "missing shape": (header("{'descr': '<f4', 'fortran_order': False}"), "header"),
    "cut short": (header(good(), b"1234567"), "cut short"),
    "lying shape": (header(good(shape="(1000000000000, 1000000)"), b"12345678"), "cut short"),
    "overflowing shape": (header(good(shape="(9223372036854775, 20000)"), b"12345678"), "cut short"),
    "negative shape": (header(good(shape="(-1,)"), b"12345678"), "shape"),
    "many axes": (header(good(shape="(1, 1, 1, 1, 1, 1, 1)"), b"1234"), "axes"),
    "big-endian": (header(good("'>f4'"), b"12345678"), "big-endian"),
    "objects": (header(good("'|O'"), b"12345678"), "Python objects"),
    "complex": (header(good("'<c8'"), b"1234567812345678"), "complex"),
    "texts": (header(good("'<U2'"), b"1234567812345678"), "texts"),
    "structured": (header(good("[('x', '<f4')]"), b"12345678"), "structured"),
    "long double": (header(good("'<f16'"), b"1" * 32), "unknown type"),
    "Fortran": (header(good(order="True", shape="(2, 1)"), b"12345678"), "Fortran"),
}


def test_broken(tool, folder):
    for name, (content, text) in BROKEN.items():
        with open(f"{folder}/a.npy", "wb") as out:
            out.write(content)
        result = run(tool, folder)
        if result.status != 2 or text not in result.err or "a.npy" not in result.err:
            fail(f"{name}: expected '{text}': {result}")


def test_archive(tool, folder):
    """Several arrays in a file: the message gives the command that takes one out, and the test runs it."""
    for save in (np.savez, np.savez_compressed):
        save(f"{folder}/a.npy.npz", x=np.ones(3, "f4"), NAME=np.arange(3, dtype="f4"))
        os.replace(f"{folder}/a.npy.npz", f"{folder}/a.npy")
        result = run(tool, folder)
        said = re.fullmatch(r"tilewright: a.npy is a .npz file, a zip of .npy files: (numpy.save\(.*\)) takes one out\n", result.err)
        if result.status != 2 or not said:
            fail(f"an archive: {result}")
        subprocess.run([sys.executable, "-c", f"import numpy; {said.group(1)}"], cwd=folder, check=True)
        if np.load(f"{folder}/NAME.npy").tolist() != [0, 1, 2]:
            fail("another array is taken out")


def test_misfits(tool, folder):
    """A valid file for the wrong parameter: the message names the parameter and the expected array."""
    cases = [(np.zeros((2, 2), "f4"), ["`a`"]), (np.zeros((), "f4"), ["`a`"])]
    for a, texts in cases:
        np.save(f"{folder}/a.npy", a)
        result = run(tool, folder)
        if result.status != 2 or any(t not in result.err for t in texts):
            fail(f"misfit {a.shape}: {result}")
    np.save(f"{folder}/a.npy", np.zeros(3, "f4"))
    for options, text in ((["--type", "T=f16"], "f16"), (["--set", "n=4"], "`n`"), (["--in", "x=a.npy"], "'x'"), (["--out", "a=b.npy"], "const"),
                          (["--in", "c=missing.npy"], "missing.npy"), (["--out", "c=no/where.npy"], "cannot write `no/where.npy`"), (["--out", "c=."], "directory")):
        result = run(tool, folder, *options)
        if result.status != 2 or text not in result.err:
            fail(f"{options}: expected '{text}': {result}")
    full = run(tool, folder, "--out", "c=/dev/full")
    if full.status != 1 or "cannot write `/dev/full`: No space left" not in full.err:
        fail(f"a device that is full: {full}")
    if any(".part-" in f for f in os.listdir(folder)):
        fail("a half-written file was left")


def test_interrupted(tool, folder):
    """If the program ends while it writes, the old file remains, and no other file is left."""
    np.save(f"{folder}/a.npy", np.zeros(1 << 20, "f4"))
    np.save(f"{folder}/kept.npy", np.ones(3, "f4"))
    done = subprocess.run([tool, "run", "copy.tile", "--in", "a=a.npy", "--out", "c=kept.npy"], cwd=folder, capture_output=True,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20)))
    if done.returncode != -signal.SIGXFSZ:
        fail(f"a file larger than allowed: {done}")
    if any(".part-" in f for f in os.listdir(folder)) or np.load(f"{folder}/kept.npy").tolist() != [1, 1, 1]:
        fail(f"files that the ended program left: {os.listdir(folder)}")


def test_targets(tool, folder):
    """A link's target is replaced and keeps its mode, by `build` too; a read-only file is refused; no array overwrites another."""
    np.save(f"{folder}/a.npy", np.zeros(3, "f4"))
    os.makedirs(f"{folder}/behind", exist_ok=True)
    build = [tool, "build", "copy.tile", "--type", "T=f32", "--output", "."]
    out = ["--out", "c=link.npy"]
    for name, command in (("link.npy", None), ("copy.c", build)):
        target = f"{folder}/behind/{name}"
        open(target, "w").close()
        os.chmod(target, 0o640)
        os.symlink(f"behind/{name}", f"{folder}/{name}")
        done = call(command, cwd=folder) if command else run(tool, folder, *out)
        mode = os.stat(target).st_mode & 0o777
        if done.status != 0 or not os.path.islink(f"{folder}/{name}") or os.path.getsize(target) == 0 or mode != 0o640:
            fail(f"{name}, a link: {oct(mode)}: {done}")
        os.chmod(target, 0o440)
        before = open(target, "rb").read()
        for path in (name, f"behind/{name}"):
            done = call(command, cwd=folder) if command else run(tool, folder, "--out", f"c={path}")
            if done.status == 0 or "Permission denied" not in done.err or open(target, "rb").read() != before:
                fail(f"{path} is read-only: {done}")
        os.chmod(target, 0o640)
        os.remove(f"{folder}/{name}")
        for f in ("copy.h", "copy.c"):
            if os.path.exists(f"{folder}/{f}"):
                os.remove(f"{folder}/{f}")
    left = [f for f in (*os.listdir(folder), *os.listdir(f"{folder}/behind")) if "part-" in f or f.endswith((".tmp", ".old"))]
    if left:
        fail(f"left: {left}")
    with open(f"{folder}/two.tile", "w") as out:
        out.write("kernel k(i32 n, f32 *a, f32 *c) grid(1) warps(1) { global f32 A[n] = a, C[n] = c; C[0 +: 8] = 2; A[0 +: 8] = 1; }\n")
    two = [tool, "run", "two.tile", "--set", "n=8"]
    os.symlink("behind", f"{folder}/also")
    np.save(f"{folder}/behind/Z.npy", np.ones(1))
    for first, second in (("Z.npy", "Z.npy"), ("Z.npy", "./Z.npy"), ("behind/Z.npy", "also/Z.npy"), ("behind/new.npy", "also/../behind/new.npy")):
        for given in (["--out", f"a={first}", "--out", f"c={second}"], ["--out", f"a={first},c={second}"]):
            done = call([*two, *given], cwd=folder)
            if done.status != 2 or f"--out c={second}: `a` goes to the same file" not in done.err or os.path.exists(f"{folder}/Z.npy"):
                fail(f"{given}: {done}")
    for given in (["--out", "a=/dev/null,c=/dev/null"], ["--out", "a=x.npy", "--out", "a=y.npy", "--out", "c=x.npy"]):
        done = call([*two, *given], cwd=folder)
        if done.status != 0:
            fail(f"{given}: {done}")
    if np.load(f"{folder}/x.npy").tolist() != [2] * 8 or np.load(f"{folder}/y.npy").tolist() != [1] * 8:
        fail("two arrays in two files")
    ptx = call([tool, "show", "two.tile", "--stage", "ptx", "--set", "n=8"], cwd=folder).out
    with open(f"{folder}/two.ptx", "w") as out:
        out.write(ptx)
    done = call([tool, "run", "two.ptx", "--arg", "i32:8", "--arg", "f32[8]:zero", "--arg", "f32[8]:zero", "--block", "32", "--out", "1=Z.npy",
                 "--out", "2=./Z.npy"], cwd=folder)
    if done.status != 2 or "goes to the same file" not in done.err:
        fail(f"of PTX: {done}")


def test_build_interrupted(tool, folder):
    """A file larger than the limit is an error of `build`, and no file is left."""
    os.makedirs(f"{folder}/small")
    done = subprocess.run([tool, "build", os.path.abspath(f"{folder}/copy.tile"), "--type", "T=f32", "--output", "."], cwd=f"{folder}/small",
                          capture_output=True, text=True, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)))
    if done.returncode not in (1, 2) or "File too large" not in done.stderr or os.listdir(f"{folder}/small"):
        fail(f"{os.listdir(f'{folder}/small')}: {done}")


def main():
    tool = os.path.abspath(sys.argv[1])
    if "CFLAGS" not in os.environ or "address" not in os.environ["CFLAGS"]:
        resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/copy.tile", "w") as out:
            out.write(COPY)
        test_types(tool, folder)
        test_versions(tool, folder)
        test_printing(tool, folder)
        test_printing_rows(tool)
        test_broken(tool, folder)
        test_archive(tool, folder)
        test_misfits(tool, folder)
        test_interrupted(tool, folder)
        test_targets(tool, folder)
        test_build_interrupted(tool, folder)


if __name__ == "__main__":
    main()
