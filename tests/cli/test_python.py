#!/usr/bin/env python3
"""Tests python/tilewright.py: values, errors, threads, the end of the interpreter, a GPU (tests/cuda), the examples."""
import ctypes
import glob
import os
import re
import subprocess
import sys
import tempfile

from tile_runner import PATIENCE, fail

PRELUDE = """
import sys
sys.path.insert(0, "python")
import ctypes, threading
import numpy as np
import tilewright as tw
shared = tw.load("kernels/matmul/shared.tile")["matmul_v1"]
random = np.random.default_rng(1)
a, b = random.random((40, 33), "f4"), random.random((33, 48), "f4")
c = np.empty((40, 48), "f4")
def need(truth, what=""):
    if not truth: sys.exit(f"line {sys._getframe(1).f_lineno}: {what}")
def refused(kind, text, call):
    try: call()
    except kind as error:
        need(text in str(error), f"{error!r} does not say {text!r}")
        return error
    sys.exit(f"line {sys._getframe(1).f_lineno}: not refused: {text}")
def capsule(array, device=1, address=None, versioned=False, readonly=False):
    "What __dlpack__ gives of a C-contiguous NumPy array."
    shape = (ctypes.c_int64 * array.ndim)(*array.shape)
    tensor = tw._DLTensor(address or array.ctypes.data, device, 0, array.ndim, 2, 32, 1, shape, None, 0)
    whole = tw._DLVersioned(1, 0, None, None, int(readonly), tensor) if versioned else tensor
    kept.append((shape, whole, array))
    make = ctypes.pythonapi.PyCapsule_New
    make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    return make(ctypes.addressof(whole), b"dltensor_versioned" if versioned else b"dltensor", None)
kept = []
class Lends:
    "An array that offers DLPack alone."
    def __init__(self, array, device=1, address=None, **how):
        self.array, self.device, self.address, self.how = array, device, address, how
    def __dlpack__(self, stream=None, max_version=None):
        self.stream = stream
        return capsule(self.array, self.device, self.address, **self.how)
    def __dlpack_device__(self): return self.device, 0
"""

VALUES = """
shared(40, 48, 33, a, b, c)
need(tw.allclose(c, a @ b))
found = shared.verify(40, 48, 33, a, b, c)
need(found.checked == 40 * 48 and found.undecided == 0 and 0 < found.max_error <= found.tolerance, found)
for call in (lambda: shared(a=a, b=b, c=c), lambda: shared.with_(n=48, k=33)(40, a, b, c),
             lambda: shared(40, 48, 33, c=c, a=a, b=b), lambda: shared(40, 48, 33, Lends(a), Lends(b), Lends(c, versioned=True)),
             lambda: shared.with_(T="f32")(40, 48, 33, memoryview(a.copy()), b, memoryview(c))):
    c[:] = 0
    call()
    need(tw.allclose(c, a @ b))
profile = shared.profile(40, 48, 33, a, b, c, runs=2)
need(profile.flops == 2 * 2 * 40 * 48 * 33 and profile.launches == 2 and profile.products[0].type == "f32", profile)
need(abs(sum(part.share for part in profile.lines) - 1) < 1e-6 and profile.lines[0].text and profile.reasons == [], profile.reasons)
need(sum(profile.products[0].left) == profile.products[0].runs > 0 and tw.allclose(c, a @ b), profile.products)
h = [x.astype("f2") for x in (a, b, c)]
shared(40, 48, 33, *h)
need(tw.allclose(h[2], h[0].astype("f4") @ h[1].astype("f4"), rtol=1e-2))
bits = [(x.view("u4") >> 16).astype("u2") for x in (a, b)]
out = np.zeros((40, 48), "u2")
shared(40, 48, 33, *[tw.view(x, "bf16") for x in (*bits, out)])
wide = lambda x: (x.astype("u4") << 16).view("f4")
need(tw.allclose(wide(out), wide(bits[0]) @ wide(bits[1]), rtol=1e-2))
tuned = tw.load("kernels/matmul/tuned.tile")["matmul_v2"]
need(tuned.tune["BK"] == [16, 32] and tuned.types == {"T": ["f32", "f16", "bf16"]}, tuned.tune)
need(repr(tuned.tune) == "<tune (BM, BN) = {(128, 128), (128, 64), (64, 128)}; BK = {16, 32}; WARPS = {4, 8}>", tuned.tune)
need(tuned.tune_groups == [("BM", "BN"), ("BK",), ("WARPS",)] == tuned.with_(BM=64).tune_groups, tuned.tune_groups)
need(all("by name" in text for text in (tw.Kernel.__doc__, tw.Kernel.__call__.__doc__)))
need(all("T=f16" in repr(shared.with_(T=t)) for t in (np.float16, np.dtype("f2"), h[0].dtype, "float16", "torch.float16")))
need("matmul_v1" in tw.compile(open("kernels/matmul/shared.tile", "rb").read()))
need([p.name for p in tuned.params if p.is_static] == ["n", "k"] and tuned.params[3].shape == ("m", "k"))
tuned(40, 48, 33, a, b, c, BM=64, BN=128)
need(tw.allclose(c, a @ b) and "BM=64" in repr(tuned.with_(BM=64)))
tf32 = tw.load("kernels/matmul/tf32.tile")
k = tf32[next(iter(tf32))]
k(40, 48, 33, a, b, c)
need(tw.allclose(c, a @ b, rtol=1e-2))
one = tw.compile("kernel one(f64 by, u64 n, bool twice, f64 *y) grid(1) warps(1)"
                 "{ global f64 Y[4] = y; Y[0 +: 4] = (twice ? 2 : 1) * by; print(n); }")["one"]
y = np.zeros(4)
one(0.1, 2**64 - 1, True, y)
need((y == 0.2).all(), y)
import os, tempfile
with tempfile.TemporaryDirectory() as folder:
    def write(name, text):
        with open(os.path.join(folder, name), "w") as out: out.write(text)
    write("part.tile", "fn i32 number(i32 n) { return 7; }")
    write("k.tile", 'import "part.tile"; kernel k(i32 n, i32 *c) grid(1) warps(1) { global i32 C[n] = c; C[0] = number(n); }')
    k, out = tw.load(os.path.join(folder, "k.tile"))["k"], np.zeros(1, "i4")
    write("part.tile", "fn i32 number(i32 n) { return 8; }")
    k(1, out)  # an entry has the texts that the module read
    need(out[0] == 7 and tw.load(os.path.join(folder, "k.tile"))["k"].show().count("= 8") == 1, out)
    os.remove(os.path.join(folder, "part.tile"))
    refused(tw.CompileError, "there is no file `part.tile`", lambda: tw.load(os.path.join(folder, "k.tile")))
every = tw.compile("kernel every(i32 n, static i32 half = (n + 1) / 2, const f32 *x, f32 *y, f32 by = 2, i32 step = 2)"
                   " grid(cdiv(half, 32)) warps(1) { global f32 X[n] = x, Y[half] = y, Each[half] = x strides(step);"
                   " Y[block.x * 32 +: 32] = Each[block.x * 32 +: 32] * by; }")["every"]
need([(p.name, p.default, p.derived) for p in every.params if p.derived or p.default is not None]
     == [("half", None, "(n + 1) / 2"), ("by", 2.0, None), ("step", 2, None)], every.params)
x, y = np.arange(51, dtype="f4"), np.zeros(26, "f4")
for given, by in (((), 2), ((3,), 3), ((4, 2), 4)):
    every(51, x, y, *given)
    need((y == x[::2] * by).all(), (given, y))
every(x=x, y=y, by=-1)
need((y == -x[::2]).all(), y)
refused(TypeError, "takes 3 to 5 arguments (n, x, y, by, step); 2 were given", lambda: every(51, x))
refused(tw.ArgumentError, "`half` is set to 20, but it is 26 (`(n + 1) / 2` with n = 51): leave it out", lambda: every(x=x, y=y, half=20))
refused(tw.ArgumentError, "`half` is 26 (`(n + 1) / 2` with n = 51), but it is 25 by `y` (axis 0)", lambda: every(x=x, y=y[:25]))
for kind, code in (("u64", "u8"), ("u32", "u4"), ("i16", "i2"), ("u8", "u1"), ("i8", "i1")):
    of_kind = tw.compile("kernel k(i32 n, " + kind + " w = (" + kind + ") n + 1, f64 by = 0.5, f64 *y) grid(1) warps(1)"
                         " { global f64 Y[1] = y; Y[0] = (f64) w * by; }")["k"]
    y = np.zeros(1)
    of_kind(n=41, y=y)
    need(y[0] == 21, (kind, y))
    refused(tw.ArgumentError, "`w` is set to 7, but it is 42", lambda: of_kind(n=41, y=y, w=7))
import array
z = array.array("d", [0] * 4)
one(0.25, 0, np.bool_(False), z)
need(list(z) == [0.25] * 4, z)
need("ld.shared" in shared.ptx("sm_80", m=64, n=64, k=64) and "kernel matmul_v1" in shared.show("check", n=8, k=8))
need(shared.check() is None)
need(tw.cdiv(7, 2) == 4 and tw.bench(lambda: shared(a=a, b=b, c=c), 1, 3) > 0)
need(not tw.allclose(c, c + 1) and not tw.allclose(c, c[1:]))
need(tw.table(["m", "name"], [[1, "x"], [10, "yy"]]) == " m  name\\n 1  x\\n10  yy", tw.table(["m", "name"], [[1, "x"], [10, "yy"]]))
try:
    import torch
    t = [torch.from_numpy(x.copy()) for x in (a, b, c)]
    t[2].zero_()
    shared(40, 48, 33, *t)
    need(tw.allclose(t[2], a @ b))
    h = [x.to(torch.bfloat16) for x in t]
    shared(40, 48, 33, *h)
    need(tw.allclose(h[2], h[0].float() @ h[1].float(), rtol=1e-2))
    refused(ValueError, "argument 4 of matmul_v1, `a` (T[m][k]), is not row-major", lambda: shared(33, 48, 40, t[0].T, t[1], t[2]))
    refused(tw.ArgumentError, "the kernel may write it: pass t = it.contiguous(), and copy that back afterwards, it.copy_(t)", lambda: shared(40, 48, 33, t[0], t[1], t[2].T.contiguous().T))
except ImportError:
    pass
"""

SIGNED_ZEROS = """
z = tw.compile("tune F = {1.0, 0.0, -0.0}; kernel z(static f32 s, f32 *o) grid(1) warps(1) "
               "{ global f32 O[2] = o; O[0] = 1 / s; O[1] = 1 / F; }")["z"]
o, inf = np.zeros(2, "f4"), float("inf")
for s, f, want in ((0.0, 0.0, (inf, inf)), (-0.0, 0.0, (-inf, inf)), (0.0, -0.0, (inf, -inf)), (-0.0, -0.0, (-inf, -inf))):
    for call in (lambda: z(s, o, F=f), lambda: z.with_(F=f)(s, o), lambda: z(o=o, s=s, F=f), lambda: z.with_(F=f)(s=s, o=o)):
        call()
        need(tuple(o) == want, (s, f, o))
"""

ERRORS = """
def of_a(array): return lambda: shared(40, 48, 33, array, b, c)
text = open("kernels/matmul/shared.tile").read()
tuned = tw.load("kernels/matmul/tuned.tile")["matmul_v2"]
numbers = tw.compile("type T = {f32, i32}; kernel numbers(f32 h, bool flag, T v, f32 *y) grid(1) warps(1) "
                     "{ global f32 Y[40][48] = y; Y[0][0 +: 4] = flag ? h : (f32) v; }")["numbers"]
sealed = c.copy(); sealed.flags.writeable = False
steps = np.lib.stride_tricks.as_strided
for kind, expected, call in [
    (ValueError, "argument 4 of matmul_v1, `a` (T[m][k]), is not row-major and contiguous: shape (40, 33) has strides (4, 160); pass numpy.ascontiguousarray", of_a(np.asfortranarray(a))),
    (ValueError, "`a`", of_a(np.zeros((80, 33), "f4")[::2])),
    (tw.ArgumentError, "argument 6 of matmul_v1, `c` (T[m][n]), is not row-major and contiguous: shape (40, 48) has strides (196, 4), and the kernel may write it: "
     "pass t = numpy.ascontiguousarray(…), and copy that back afterwards, …[...] = t", lambda: shared(40, 48, 33, a, b, np.zeros((40, 49), "f4")[:, :48])),
    (ValueError, "strides (4, 160), and the kernel may write it: pass t = a contiguous copy, and copy that back afterwards", lambda: shared(40, 48, 33, a, b, memoryview(np.zeros((48, 40), "f4").T))),
    (tw.ArgumentError, "argument 4 of matmul_v1, `a` (T[m][k]), has the other byte order (>f4)", of_a(a.astype(">f4"))),
    (ValueError, "`a` (T[m][k]), has elements of type complex64, which there is none of here", of_a(a.astype("c8"))),
    (ValueError, "`a` is f64, but T = {f32, f16, bf16}", of_a(a.astype("f8"))),
    (ValueError, "`a` is f16, so T = f16; `b` is f32, expected f16", of_a(a.astype("f2"))),
    (ValueError, "`m` is set to 40, but it is 41 by `a` (axis 0)", of_a(np.zeros((41, 33), "f4"))),
    (ValueError, "`a` is f32[1320], expected T[m][k]", of_a(a.reshape(-1))),
    (ValueError, "`a` has 7 axes", of_a(a.reshape(1, 1, 1, 1, 1, 40, 33))),
    (ValueError, "argument 6 of matmul_v1, `c` (T[m][n]), is read-only", lambda: shared(40, 48, 33, a, b, sealed)),
    (ValueError, "`c` (T[m][n]), is read-only", lambda: shared(40, 48, 33, a, b, Lends(c, versioned=True, readonly=True))),
    (ValueError, "`a` (T[m][k]), is on a device of DLPack's type 10", of_a(Lends(a, 10))),
    (TypeError, "`a` (T[m][k]), is a list, expected an array", of_a([1.0])),
    (TypeError, "argument 3 of matmul_v1, `k` (i32), is 33.0, expected a whole number", lambda: shared(40, 48, 33.0, a, b, c)),
    (ValueError, "`m` = 4294967296 does not fit i32", lambda: shared(2**32, 48, 33, a, b, c)),
    (ValueError, "argument 1 of matmul_v1, `m` (i32), is 18446744073709551616, expected a whole number that fits", lambda: shared(2**64, 48, 33, a, b, c)),
    (TypeError, "argument 1 of matmul_v1, `m` (i32), is an array f32[40][33], expected a whole number; matmul_v1 takes (m, n, k, a, b, c)", lambda: shared(a, b, c, 40, 48, 33)),
    (TypeError, "`m` (i32), is '40', expected a whole number", lambda: shared("40", 48, 33, a, b, c)),
    (TypeError, "`h` (f32), is '0.25', expected a number", lambda: numbers("0.25", True, 1, c)),
    (TypeError, "`h` (f32), is 'a', expected a number", lambda: numbers("a", True, 1, c)),
    (TypeError, "`h` (f32), is b'3', expected a number", lambda: numbers(b"3", True, 1, c)),
    (TypeError, "`h` (f32), is an array f32[40][48], expected a number", lambda: numbers(c, True, 1, c)),
    (ValueError, "`h` (f32), is 100000", lambda: numbers(10**400, True, 1, c)),
    (TypeError, "`flag` (bool), is 'no', expected a number, 0 or 1", lambda: numbers(0.25, "no", 1, c)),
    (TypeError, "`flag` (bool), is [], expected a number, 0 or 1", lambda: numbers(0.25, [], 1, c)),
    (TypeError, "`v` (T), is 'x', expected a number", lambda: numbers(0.25, True, "x", c)),
    (TypeError, "`v` (T), is an array f32[40][48], expected a number", lambda: numbers(0.25, True, c, c)),
    (TypeError, "takes 6 arguments (m, n, k, a, b, c); 5 were given", lambda: shared(40, 48, 33, a, b)),
    (TypeError, "3 were given. Arrays given by name have the sizes with them: matmul_v1(a=…, b=…, c=…)", lambda: shared(a, b, c)),
    (TypeError, "takes 5 arguments (m, n, a, b, c); 3 were given. Arrays given by name have the sizes with them: matmul_v1(a=…, b=…, c=…)", lambda: shared.with_(k=33)(a, b, c)),
    (TypeError, "is given `a` twice", lambda: shared(40, 48, 33, a, b, c, a=a)),
    (TypeError, "has no parameter, tuned value or type `BQ`; there are m, n, k, a, b, c, T", lambda: shared(40, 48, 33, a, b, c, BQ=1)),
    (ValueError, "no array was given for `c`", lambda: shared(a=a, b=b)),
    (ValueError, "no array was given for `b`", lambda: shared(40, 48, 33, a, None, c)),
    (ValueError, "no array was given for `b`", lambda: shared(a=a, b=None, c=c)),
    (ValueError, "f64 is none of T = {f32, f16, bf16}", lambda: shared(40, 48, 33, a, b, c, T="f64")),
    (ValueError, "there is no element type f31; there are f64, f32", lambda: shared.with_(T="f31")),
    (ValueError, "there is no element type float; there are f64, f32", lambda: shared.with_(T=float)),
    (TypeError, "tuned value `BM` of matmul_v2 is '64', expected a number, such as 128 or 64", lambda: tuned.with_(BM="64")),
    (TypeError, "tuned value `BM` of matmul_v2 is [64], expected a number", lambda: tuned(40, 48, 33, a, b, c, BM=[64])),
    (ValueError, "tuned value `BM` of matmul_v2 is 18446744073709551680, expected a number", lambda: tuned.with_(BM=2**64 + 64)),
    (TypeError, "load: `path` is 5, expected the path of a .tile file", lambda: tw.load(5)),
    (TypeError, "compile: `text` is a list, expected the text of a program; load(path) reads a file", lambda: tw.compile(["x"])),
    (tw.CompileError, "kernels/matmul/tuned.tile:9:18: error: division by zero", lambda: tuned(40, 48, 33, a, b, c, BM=0)),
    (tw.CompileError, "note: `BM` was set to 0, which is not in its list", lambda: tuned(40, 48, 33, a, b, c, BM=0)),
    (ValueError, "there is no device 'gpu'", lambda: shared.with_(device="gpu")),
    (ValueError, "`stream` is for a GPU", lambda: shared(40, 48, 33, a, b, c, stream=1)),
    (ValueError, "elements of 4 bytes cannot be taken as bf16", lambda: tw.view(a, "bf16")),
    (tw.Unsupported, "no GPU to run on", lambda: shared.with_(device="cuda")(40, 48, 33, a, b, c)),
    (KeyError, "has no kernel 'matmul'; there are: matmul_v1", lambda: tw.load("kernels/matmul/shared.tile")["matmul"]),
    (KeyError, "did you mean `matmul_v1`?", lambda: tw.load("kernels/matmul/shared.tile")["matmul_v2"]),
    (TypeError, "are m, n, k, a, b, c, BM, BN, BK, WARPS, T; did you mean `WARPS`?",
     lambda: tw.load("kernels/matmul/tuned.tile")["matmul_v2"].with_(WARP=4)),
    (ValueError, "threads=-1: expected how many, or 0 for one a core", lambda: tw.compile(text, threads=-1)),
    (ValueError, "threads=-1: ", lambda: tw.load("kernels/matmul/shared.tile", threads=-1)),
    (FileNotFoundError, "no/such.tile", lambda: tw.load("no/such.tile")),
]:
    need(not str(refused(kind, expected, call)).startswith("error"), expected)
broken = refused(tw.CompileError, "^~~", tw.compile(text.replace("dot(ra", "dor(ra"), "mine.tile")["matmul_v1"].check)
misspelt = refused(tw.CompileError, "mine.tile:10:5: error", lambda: tw.compile(text.replace("global", "globl"), "mine.tile"))
said = misspelt.messages[0]
need(said.code and said.length == 5 and said.fix == (tw.Edit(10, 5, 5, "global"),), said)
first = broken.messages[0]
need((first.severity, first.file, first.line) == ("error", "mine.tile", 20) and "dor" in first.text, first)
racy = tw.compile(text.replace("sync();", "", 1))["matmul_v1"]
refused(tw.RaceError, "put `sync()` between the two", lambda: racy(40, 48, 33, a, b, c))
refused(tw.RaceError, "while other threads may still be writing", racy.check)
wrong = tw.compile("kernel w(f32 *c) grid(1) warps(1) { global f32 C[4] = c; C[0 +: 4] = 2.0; ensures C == 3.0; }")["w"]
zero = refused(tw.CompileError, "`BM` was set to 0", lambda: tuned(40, 48, 33, a, b, c, BM=0))
need([m.severity for m in zero.messages] == ["error", "note"], zero)
error = refused(tw.WrongValues, "C[0] is 2, expected 3", lambda: wrong.verify(np.zeros(4, "f4")))
need(error.verdict.at == (0,) and error.verdict.got == 2)
square = np.ones((64, 64), "f4")
overlap = "overlaps array `a`, which is an operand of a product: bytes 0 to 16383 of `c` are bytes 0 to 16383 of `a`"
for call in (shared, shared.verify):
    refused(tw.ArgumentError, overlap, lambda: call(a=square, b=square.copy(), c=square))
shared(64, 64, 64, square, square, np.empty_like(square))
refused(tw.ArgumentError, "has the address of array `a`", lambda: shared(64, 64, 64, square, square.copy(), square))
need((square == 1).all())
shared.with_(overlap=True)(64, 64, 64, square, np.eye(64, dtype="f4"), square)
rows = tw.compile("kernel rows(i32 m, const f32 *x, f32 *y) grid(m) warps(1) { global f32 X[m][64] = x, Y[m][64] = y; "
                  "reg f32 r[1][64] = X[block.x +: 1][0 +: 64]; Y[block.x +: 1][0 +: 64] = r / (sum(abs(r), axis = 1) + 1); "
                  "ensures Y == X / (sum(abs(X), axis = 1) + 1); }")["rows"]
place = random.random((64, 64), "f4")
wanted = place / (place.sum(1, keepdims=True) + 1)
need(rows.verify(x=place, y=place).checked == 64 * 64 and tw.allclose(place, wanted), "in place")
for name in ("shared", "matmul"):
    missing = refused(KeyError, f"has no kernel {name!r}; there are: matmul_v1", lambda: tw.load("kernels/matmul/shared.tile")[name])
    need(type(missing) is tw.NotFound and isinstance(missing, tw.ArgumentError), missing)
both = refused(ValueError, "`n` is set to 5, but it is 4 by `a` (axis 0)", lambda: tw.compile(
    "kernel w(i32 n, const f32 *a, f32 *c) grid(1) warps(1) { global f32 A[n] = a, C[n] = c; C[0 +: 4] = A[0 +: 4]; }")["w"](5, np.ones(4, "f4"), np.ones(4, "f4")))
need(str(both).count("is set to 5") == 1 == len(both.messages), both)
refused(tw.Unsupported, "has no `ensures`", lambda: tw.compile("kernel w(f32 *c) grid(1) warps(1) { global f32 C[4] = c; C[0 +: 4] = 2.0; }")["w"].verify(np.zeros(4, "f4")))
out = tw.compile("kernel w(i32 n, f32 *c) grid(1) warps(1) { global f32 C[n] = c; assume(n < 4); C[0 +: 4] = 2.0; }")["w"]
refused(tw.NotAssumed, "", lambda: out(5, np.zeros(5, "f4")))
shared(40, 48, 33, a, b, c)
need(tw.allclose(c, a @ b), "after errors")
c[:] = 0
shared(None, 48, None, a, b, c) # None: left out
need(tw.allclose(c, a @ b), "sizes that follow")
unseen = tw.compile("kernel w(f32 *u, f32 *c) grid(1) warps(1) { global f32 C[4] = c; C[0 +: 4] = 2.0; }")["w"]
unseen(None, four := np.zeros(4, "f4"))
need((four == 2).all(), "an array without a view")
module = tw.load(b"kernels/matmul/shared.tile") # paths are what open() takes
need(module.name == "kernels/matmul/shared.tile" and "matmul_v1" in module and "matmul" not in module and 1 not in module)
"""

THREADS = """
tuned = tw.load("kernels/matmul/tuned.tile")["matmul_v2"]
wrong = []
def work(seed):
    mine = np.random.default_rng(seed)
    for i in range(12):
        m, n, k = 8 + 8 * (i % 3), 16 * (1 + seed % 4), 40
        x, y, z = mine.random((m, k), "f4"), mine.random((k, n), "f4"), np.empty((m, n), "f4")
        try:
            tuned(m, n, k, x, y, z, BK=(16, 32)[i % 2])
            if not tw.allclose(z, x @ y): wrong.append((seed, i))
        except Exception as error: wrong.append(error)
        try: tuned(m + 1, n, k, x, y, z)
        except tw.ArgumentError as error:
            if f"set to {m + 1}" not in str(error): wrong.append(error)
threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
for t in threads: t.start()
for t in threads: t.join()
need(not wrong, wrong)
import os
child = os.fork()
if child == 0:
    shared(40, 48, 33, a, b, c)
    os._exit(0 if tw.allclose(c, a @ b) else 1)
need(os.waitpid(child, 0)[1] == 0, "a forked process")
import multiprocessing
def part(seed):
    x = np.full((40, 33), seed, "f4")
    shared(40, 48, 33, x, b, c)
    return tw.allclose(c, x @ b)
stop = threading.Event()
def busy():
    while not stop.is_set(): work(1)
other = threading.Thread(target=busy)
other.start()
with multiprocessing.get_context("fork").Pool(2) as pool: # forked while that thread is in the library
    need(all(pool.map(part, range(6))), "a pool of processes")
stop.set()
other.join()
import gc
for i in range(50): # modules go with their kernels
    tw.compile(f"kernel k{i}(f32 *c) grid(1) warps(1) {{ global f32 C[4] = c; C[0 +: 4] = {i}.0; }}")[f"k{i}"](np.zeros(4, "f4"))
gc.collect()
# The interpreter ends while a daemon thread is in a kernel, and with objects alive.
large = [random.random((1024, 1024), "f4") for _ in range(3)]
ran = threading.Event()
def forever():
    while True:
        shared(1024, 1024, 1024, *large)
        ran.set()
threading.Thread(target=forever, daemon=True).start()
ran.wait() # it is in its second call, or about to be
print("ended")
"""

TUNED = """
k = tw.load("kernels/matmul/tuned.tile")["matmul_v2"]
refused(tw.ArgumentError, "no tuned values are stored", lambda: k.tuned(640, 48, 33, np.zeros((640, 33), "f4"), b, np.zeros((640, 48), "f4")))
best = k.tuned(40, 48, 33, a, b, c)
need(all(name in repr(best) for name in ("BM=", "BN=", "BK=", "WARPS=")), best)
best(40, 48, 33, a, b, c)
need(tw.allclose(c, a @ b))
need(repr(k.tuned(640, 48, 33, np.zeros((640, 33), "f4"), b, np.zeros((640, 48), "f4"), nearest=True)) == repr(best))
"""

GPU = """
need([name for name, _ in tw.devices()] == ["cpu", "cuda", "cuda:1"], tw.devices())
da, db, dc = tw.to_device(a), tw.to_device(b), tw.empty((40, 48))
shared(40, 48, 33, da, db, dc)
need(tw.allclose(dc, a @ b))
need(shared.verify(40, 48, 33, da, db, dc).checked == 40 * 48)
shared.with_(device="cuda")(40, 48, 33, a, b, c)
need(tw.allclose(c, a @ b))
need(tw.bench(lambda: shared(40, 48, 33, da, db, dc), 1, 3) > 0)
need((tw.empty((40, 33), "tf32").copy_from(a).numpy() == a).all(), "tf32 is kept in the bits of f32")

class Spy: # which stream each start is given
    def __init__(self, native): self.native, self.streams, self.waited = native, [], []
    def __getattr__(self, name): return getattr(self.native, name)
    def tw_entry_start(self, entry, arguments, count, stream, error):
        self.streams.append(stream)
        return self.native.tw_entry_start(entry, arguments, count, stream, error)
    def tw_launch_start(self, launch, stream):
        self.streams.append(stream)
        return self.native.tw_launch_start(launch, stream)
    def tw_stream_wait(self, context, stream):
        if stream is not None: self.waited.append(stream) # None: for all copies
        return self.native.tw_stream_wait(context, stream)
spy = tw._loaded = shared.module._context(0).native = Spy(tw._loaded)
context = tw._gpu_context(0)
streams = []
for _ in range(2):
    out = ctypes.c_void_p()
    need(spy.tw_stream_new(context.handle, ctypes.byref(out)) == 0)
    streams.append(out.value)

class Interface: # CuPy's way
    def __init__(self, array, **more):
        self.__cuda_array_interface__ = dict(array.__cuda_array_interface__, **more)
zero = np.zeros((40, 48), "f4")
def runs(stream, call):
    dc.copy_from(zero)
    spy.streams.clear()
    call()
    need(spy.streams == [stream], spy.streams)
    need(tw.allclose(dc, a @ b))
runs(0, lambda: shared(40, 48, 33, Interface(da), Interface(db), Interface(dc)))
runs(streams[0], lambda: shared(40, 48, 33, Interface(da, stream=streams[0]), db, dc))
runs(streams[1], lambda: shared(40, 48, 33, Interface(da, stream=streams[0]), db, dc, stream=streams[1]))
runs(streams[1], lambda: shared(a=da, b=db, c=dc, stream=streams[1])) # sizes follow from the arrays
runs(streams[0], lambda: shared(a=Interface(da, stream=streams[0]), b=db, c=dc))
spy.waited.clear()
shared.with_(device="cuda")(40, 48, 33, a, db, c, stream=streams[0]) # copies, when what is in the stream is done
need(spy.waited == [streams[0]] and tw.allclose(c, a @ b), spy.waited)
class Stream: cuda_stream = streams[0]
runs(streams[0], lambda: shared(40, 48, 33, da, db, dc, stream=Stream()))
lent = [Lends(x, 2, y.address) for x, y in ((a, da), (b, db), (c, dc))]
runs(0, lambda: shared(40, 48, 33, *lent))
need(lent[0].stream == 1, "the owner is told in which stream it is used")

import types # PyTorch's ways, where there is none
fake = types.ModuleType("torch")
class Tensor:
    def __init__(self, array): self.array, self.shape, self.is_cuda = array, array.shape, True
    dtype = "torch.float32"
    def is_contiguous(self): return True
    def data_ptr(self): return self.array.address
    def get_device(self): return self.array.gpu
Tensor.__module__ = "torch"
fake._C = types.SimpleNamespace(_cuda_getCurrentRawStream=lambda device: streams[1])
real, sys.modules["torch"] = sys.modules.get("torch"), fake
runs(streams[1], lambda: shared(40, 48, 33, *map(Tensor, (da, db, dc))))
runs(streams[0], lambda: shared(40, 48, 33, *map(Tensor, (da, db, dc)), stream=streams[0]))
del sys.modules["torch"]

for kind, text, call in [
    (ValueError, "`a` is on cuda, `b` is on cuda, `c` is on cpu: put them on one device", lambda: shared(40, 48, 33, da, db, c)),
    (ValueError, "`n` is set to 48, but it is 33 by `c` (axis 1)", lambda: shared(40, 48, 33, da, db, da)),
    (ValueError, "`a` is on cuda, `b` is on cuda, `c` is on cuda, and the kernel is to run on the cpu", lambda: shared.with_(device="cpu")(40, 48, 33, da, db, dc)),
    (ValueError, "`a` is on cuda, `b` is on cuda:1", lambda: shared(40, 48, 33, da, tw.to_device(b, "cuda:1"), dc)),
    (ValueError, "a copy needs an array on the host with shape (40, 33)", lambda: da.copy_to(c)),
    (ValueError, "`a` (T[m][k]), is not row-major", lambda: shared(40, 48, 33, Interface(da, strides=(4, 160)), db, dc)),
    (ValueError, "strides (4, 160), and the copy writes it: pass t = numpy.ascontiguousarray(…), and copy that back", lambda: da.copy_to(np.zeros((40, 33), "f4", "F"))),
    (ValueError, "`c` (T[m][n]), is read-only", lambda: shared(40, 48, 33, da, db, Interface(dc, data=(dc.address, True)))),
    (ValueError, "`c` (T[m][n]), is masked", lambda: shared(40, 48, 33, da, db, Interface(dc, mask=dc))),
]:
    refused(kind, text, call)
second = [tw.to_device(x, "cuda:1") for x in (a, b, c)]
shared(40, 48, 33, *second)
need(tw.allclose(second[2], a @ b), "on the second GPU")

wrong = []
def work(seed): # entries start from any thread
    x, y = random.random((8, 16), "f4"), random.random((16, 16 + 16 * (seed % 2)), "f4")
    dx, dy, dz = tw.to_device(x), tw.to_device(y), tw.empty((8, y.shape[1]))
    for _ in range(5):
        shared(8, y.shape[1], 16, dx, dy, dz)
    if not tw.allclose(dz, x @ y): wrong.append(seed)
threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
for t in threads: t.start()
for t in threads: t.join()
need(not wrong, wrong)
scale = tw.compile("kernel scale(i32 n, f32 by, const f32 *x, f32 *y) grid(n) warps(1)"
                   "{ global f32 X[n][32] = x, Y[n][32] = y; Y[block.x +: 1][0 +: 32] = X[block.x +: 1][0 +: 32] * by; }")["scale"]
x = tw.to_device(np.arange(64, dtype="f4").reshape(2, 32))
scale(2, 0.5, x, x)
need((x.numpy() == np.arange(64).reshape(2, 32) / 2).all())
print("ended")
"""


def run(program, ended="", environment=None):
    done = subprocess.run([sys.executable, "-c", PRELUDE + program], capture_output=True, text=True, timeout=PATIENCE,
                          env=dict(os.environ, **(environment or {})))
    if done.returncode != 0 or ended not in done.stdout:
        fail(f"status {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-4000:]}")
    return done.stdout


ENDING = """
import os, signal, time
spin = tw.compile("kernel spin(i32 n, f32 *c) grid(4) warps(1) { global f32 C[8] = c; i32 x = 0; while (n > 4) x = x + 1; C[block.x] = x + 1; ensures C == 1.0; }")["spin"]
c = np.zeros(8, "f4")
def interrupted(call):
    threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    try: call()
    except KeyboardInterrupt: return True
    sys.exit("not interrupted")
for call in (spin, spin.verify): # the main thread; one with a time limit; another thread
    interrupted(lambda: call(5, c))
    interrupted(lambda: call(5, c, time_limit=1000))
    error = refused(TimeoutError, "took more than 0.1 s, its time_limit", lambda: call(5, c, time_limit=0.1))
    need(isinstance(error, tw.TimeLimit) and isinstance(error, tw.Cancelled), error)
    said = []
    def ends():
        try: call(5, c, time_limit=0.1)
        except tw.TimeLimit as error: said.append(error)
    thread = threading.Thread(target=ends)
    thread.start(); thread.join()
    need(said)
spin(3, c, time_limit=1000) # nothing of it stays
spin(3, c)
need((c[:4] == 1).all() and spin.check(time_limit=1000) is None and "spin" in spin.show(time_limit=1000) and ".entry" in spin.ptx(time_limit=1000))
tw.compile("kernel k() grid(1) warps(1) { }", time_limit=1000)
for limit in (0, -1, float("nan"), "5"):
    refused((ValueError, TypeError), "", lambda: spin(3, c, time_limit=limit))
"""


def test_structs(folder):
    """Each struct has the header's fields, at the same offsets; numbers are the header's."""
    sys.path.insert(0, "python")
    import tilewright
    lines = []
    for name, struct in vars(tilewright).items():
        if not (isinstance(struct, type) and issubclass(struct, ctypes.Structure)) or name.startswith("_DL") or name == "_Sized":
            continue
        c_name = "tw" + re.sub(r"([A-Z])", r"_\1", name[1:]).lower()
        lines += [f'_Static_assert(sizeof({c_name}) == {ctypes.sizeof(struct)}, "{c_name}");']
        lines += [f'_Static_assert(offsetof({c_name}, {field}) == {getattr(struct, field).offset}, "{c_name}.{field}");'
                  for field, *_ in struct._fields_]
    lines += [f'_Static_assert(TW_{d.upper()} == {i}, "{d}");' for i, d in enumerate(tilewright._DTYPES)]
    lines += [f'_Static_assert(TW{name} == {getattr(tilewright, name)}, "{name}");' for name in re.findall(
        r"_[A-Z_]+", "_OK _NO_MEMORY _BAD_ARGUMENT _BAD_PROGRAM _NO_FILE _FAULT _WRONG_VALUES _NOT_FOUND _UNSUPPORTED "
        "_CANCELLED _UNSYNCHRONISED _NOT_ASSUMED _INTEGER _FLOAT _POINTER")]
    places = "offsetof(tw_array, rank) == 24 && offsetof(tw_array, shape) == 32 && offsetof(tw_array, bytes) == 80"
    lines += [f'_Static_assert({places} && sizeof(tw_array) == 88 && sizeof(tw_value) == 16, "packed by hand");']
    with open(f"{folder}/structs.c", "w") as out:
        out.write("".join(f'#include "{os.path.basename(h)}"\n' for h in sorted(glob.glob("include/*.h"))) + "\n".join(lines) + "\nint main(void) { return 0; }\n")
    done = subprocess.run([*os.environ.get("CC", "cc").split(), "-std=c11", "-Iinclude", "-fsyntax-only", f"{folder}/structs.c"],
                          capture_output=True, text=True)
    if done.returncode != 0:
        fail(done.stderr)
    version = re.search(r'TW_VERSION "(.*?)"', open("include/tilewright.h").read()).group(1)
    if version != tilewright.__version__:
        fail(f"tilewright.py is of version {tilewright.__version__}, the library {version}")


def test_examples():
    for arguments, expected in ((["matmul.py", "-s", "64", "-s", "100"], r"m +n +k  name +latency \(ms\) +tflops\n +64 .*numpy"),
                                (["softmax.py"], r"(?s)1024 +1000  softmax.*softmax.tile:7:.*maximum"),
                                (["attention.py"], r"(?s)causal: 51200 elements.*64 +128 +8 ")):
        done = subprocess.run([sys.executable, f"examples/python/{arguments[0]}", *arguments[1:]], capture_output=True,
                              text=True, timeout=PATIENCE, env=dict(os.environ, PYTHONPATH="python"))
        if done.returncode != 0 or not re.search(expected, done.stdout):
            fail(f"{arguments}: status {done.returncode}\n{done.stdout}{done.stderr}")


def test_example_without_pytorch(folder):
    with open(f"{folder}/torch.py", "w") as out:
        out.write("raise ImportError('there is none')\n")
    done = subprocess.run([sys.executable, "examples/python/matmul.py", "--device", "cuda"], capture_output=True, text=True,
                          env=dict(os.environ, PYTHONPATH=f"{folder}:python"))
    if done.returncode != 1 or not done.stderr.startswith("matmul.py: --device cuda needs PyTorch"):
        fail(f"matmul.py without PyTorch: {done}")


def test_example_without_numpy(folder):
    with open(f"{folder}/numpy.py", "w") as out:
        out.write("raise ModuleNotFoundError('there is none')\n")
    for name in ("matmul.py", "softmax.py", "attention.py"):
        done = subprocess.run([sys.executable, f"examples/python/{name}"], capture_output=True, text=True,
                              env=dict(os.environ, PYTHONPATH=f"{folder}:python"))
        if done.returncode != 1 or not done.stderr.startswith(f"{name} needs NumPy, which {sys.executable} does not have"):
            fail(f"{name} without NumPy: {done}")
    os.remove(f"{folder}/numpy.py")


def test_document():
    """The first program of docs/python.md, and its error; the fields that it names of a verdict. All programs of the how-to."""
    text = open("docs/python.md").read()
    import tilewright
    verdict = re.search(r"^A `Verdict`.*?\n\n", text, re.M | re.S).group()
    missing = [field for field in tilewright.Verdict._fields if f"`{field}`" not in verdict]
    if missing:
        fail(f"docs/python.md does not say that a verdict has {missing}")
    program = re.search(r"^```python\n(.*?)^```$", text, re.M | re.S).group(1)
    error = re.search(r"<!-- python error -->\n```text\n(.*)\n```", text).group(1)
    run(program + f"\nrefused(ValueError, {error!r}, lambda: matmul(m, n, k, np.asfortranarray(a), b, c))")
    programs = re.findall(r"^```python\n(.*?)^```$", open("docs/howto/from-python.md").read(), re.M | re.S)
    if not programs:
        fail("docs/howto/from-python.md has no program")
    for program in programs:
        printed = run(program)
        shown = "".join(f"{text}\n" for text in re.findall(r"^print\(.*  # (.*)$", program, re.M))
        if printed != shown:
            fail(f"a program of docs/howto/from-python.md prints {printed!r}, the page says {shown!r}")


def test_library(library):
    """A message tells that the library is missing, or that the file is another library."""
    for path, text in (("/not/there.so", "/not/there.so"), ("libm.so.6", "is no libtilewright")):
        done = subprocess.run([sys.executable, "-c", PRELUDE], capture_output=True, text=True,
                              env=dict(os.environ, TILEWRIGHT_LIBRARY=path))
        if done.returncode != 1 or text not in done.stderr or "ImportError" not in done.stderr:
            fail(f"TILEWRIGHT_LIBRARY={path}: {done}")
    done = subprocess.run([sys.executable, "python/tilewright.py"], capture_output=True, text=True,
                          env=dict(os.environ, TILEWRIGHT_LIBRARY="/not/there.so"))
    if done.returncode != 1 or not done.stderr.startswith("tilewright.py: libtilewright.so is not found; $TILEWRIGHT_LIBRARY can") \
            or "`./dev build` makes it in a checkout" not in done.stderr:
        fail(f"python tilewright.py without a library: {done}")
    done = subprocess.run([sys.executable, "python/tilewright.py"], capture_output=True, text=True, check=True)
    if library not in done.stdout or "\ncpu " not in done.stdout:
        fail(f"python tilewright.py: {done}")


def main():
    if "-fsanitize" in os.environ.get("CFLAGS", ""):
        return  # a sanitized library cannot load into this Python
    library = os.path.join(os.path.dirname(os.path.abspath(sys.argv[1])), "libtilewright.so")
    os.environ["TILEWRIGHT_LIBRARY"] = library
    with tempfile.TemporaryDirectory() as folder:
        test_structs(folder)
        test_example_without_pytorch(folder)
        test_example_without_numpy(folder)
    test_library(library)
    run(VALUES, ended="18446744073709551615")
    run(SIGNED_ZEROS)
    run(ERRORS)
    run(THREADS, "ended")
    run(ENDING)
    with tempfile.TemporaryDirectory() as folder:
        store = {"TILEWRIGHT_STORE": f"{folder}/tuned.db"}
        subprocess.run([sys.argv[1], "tune", "kernels/matmul/tuned.tile", "--set", "m=40,n=48,k=33"], check=True, capture_output=True,
                       timeout=PATIENCE, env=dict(os.environ, **store))
        run(TUNED, environment=store)
    run(GPU, "ended", {"TILEWRIGHT_CUDA_DRIVER": os.environ["FAKE_CUDA"], "FAKE_CUDA_DEVICES": "2", "FAKE_CUDA_SM": "90"})
    test_document()
    test_examples()
    launch = subprocess.run([sys.executable, "bench/python_launch.py", "10"], capture_output=True, text=True, timeout=PATIENCE,
                            env=dict(os.environ, PYTHONPATH="python", TILEWRIGHT_CUDA_DRIVER=os.environ["FAKE_CUDA"]))
    if launch.returncode != 0 or "tw_entry_start" not in launch.stdout:
        fail(f"python_launch.py: {launch}")


if __name__ == "__main__":
    main()
