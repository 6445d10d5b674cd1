#!/usr/bin/env python3
"""Families in python/tilewright.py: values, choices, errors, threads, a GPU (tests/cuda)."""
import os
import subprocess
import sys
import tempfile

from test_family import write_family
from test_python import run
from tile_runner import PATIENCE

VALUES = """
f = tw.family("products.tile")
need(repr(f) == "<tilewright.Family products(m, n, k, a, b, c): rows, columns>", f)
need(f.types == {"T": ["f32", "f16"]} and f.tune == {} and f.has_ensures and not any(p.is_static for p in f.params), f.params)
a, b = random.random((16, 64), "f4"), random.random((64, 64), "f4")
c = np.empty((16, 64), "f4")
for call in (lambda: f(16, 64, 64, a, b, c), lambda: f(16, 64, 64, a, b, c), lambda: f(a=a, b=b, c=c), lambda: f.with_(n=64, k=64)(16, a, b, c),
             lambda: f(16, 64, 64, a, b, c, T="f32"), lambda: f(16, 64, 64, a, b, c, time_limit=60)):
    c[:] = 0
    call()
    need(tw.allclose(c, a @ b))
need(f.verify(16, 64, 64, a, b, c).checked == 16 * 64)
h = [x.astype("f2") for x in (a, b, c)]
f(16, 64, 64, *h)
need(tw.allclose(h[2], a @ b, rtol=1e-2))
need(f.choose(16, 64, 64, *h).types == {"T": "f16"} and f.choose(a=a, b=b).types == {"T": "f32"})
need(list(f.kernels) == ["rows", "columns"] and f.kernels is f.with_(T="f16").kernels)
f.kernels["rows"].with_(BM=32)(16, 64, 64, a, b, c)
both = tw.family("both.tile")
need(both.name == "both" and tw.family("parts").name == "parts" and tw.family("two.tile", "b").kernels.keys() == {"columns"})
both(16, 64, 64, a, b, c)
need(tw.allclose(c, a @ b))
need("matmul_split_parts" in tw.family("matmul").kernels)
"""

CHOICES = """
f = tw.family("products.tile")
found = f.choose(16, 64, 64, T="f32", device="h200")
need(dict(found) == {"kernel": "rows", "variant": "rows BM=8", "tune": {"BM": 8}, "types": {"T": "f32"}, "by": "result", "device": "NVIDIA H200",
                     "nearest": "m=16,n=64,k=64", "distance": 0, "milliseconds": 0.0025, "compared": 2,
                     "result_types": None}, found)
need(f.choose(300, 64, 64, device="h200").by == "nearest" and f.choose(300, 64, 64, device="h200").tune == {"BN": 16})
need(f.choose(16, 64, 64, device="sim:h100").by == "model" and f.choose(16, 64, 64, device="h100").device == "NVIDIA H200")
need(f.choose(16, 64, 64).by == "model" and f.choose(16, 64, 64).device is None)
need("columns for sm_90" in f.ptx("h200", m=256, n=64, k=64) and "kernel rows(" in f.ptx("h200", m=16, n=64, k=64) + f.show(m=16, n=64, k=64))
need(f.explain("h200", m=256, n=64, k=64).kernel == "columns" and f.explain("h200", m=16, n=64, k=64).kernel == "rows")
a, b = random.random((256, 64), "f4"), random.random((64, 64), "f4")
c = np.zeros((256, 64), "f4")
need(f.simulate(a=a, b=b, c=c, device="sim:h200").failures == 0 and tw.allclose(c, a @ b))
need(f.check(m=16, n=64, k=64) is None)
f.add_table("products.table", "NVIDIA H200")
need(f.choose(256, 64, 64).variant == "columns BN=16" and f.choose(256, 64, 64).by == "result")
c[:] = 0
f(256, 64, 64, a, b, c)
need(tw.allclose(c, a @ b))
other = tw.family("products.tile", store=False)
need(other.choose(256, 64, 64).by == "model")
sums = tw.family("sums.tile")
need(sums.choose(16, 32, 24).kernel == "sums" and tw.family("sums.tile", same_bits=True).choose(16, 32, 24).kernel == "rows")
"""

STORED = """
need(tw.family("products.tile").choose(16, 64, 64, T="f32").by == "result")
need(tw.family("products.tile", store=False).choose(16, 64, 64, T="f32").by == "model")
import os
need(tw.family("products.tile", store=os.environ["TILEWRIGHT_STORE"]).choose(20, 64, 64, T="f32").by == "nearest")
"""

ERRORS = """
f = tw.family("products.tile")
refused(TypeError, "family products takes 6 arguments (m, n, k, a, b, c); 2 were given", lambda: f(1, 2))
refused(TypeError, "family products has no parameter, tuned value or type `BM`", lambda: f.choose(16, 64, 64, BM=4))
refused(tw.ArgumentError, "`k` (static i32) is not set", lambda: f.choose(16, 64))
refused(tw.ArgumentError, "overlap: ", lambda: f.with_(overlap=True))
refused(tw.Unsupported, "takes stored results by itself", lambda: f.tuned(16, 64, 64))
refused(tw.ArgumentError, "no kernel of the family `products` lists i8 for `T`", lambda: f.choose(16, 64, 64, T="i8"))
for path in ("nope.tile", "parts/nope"):
    refused(FileNotFoundError, "No such file", lambda: tw.family(path))
refused(FileNotFoundError, "No such file", lambda: f.add_table("nope.table"))
refused(tw.Error, "cannot read `nope`", lambda: tw.family("nope"))
refused(tw.NotFound, "has 2 families: say which", lambda: tw.family("two.tile"))
refused(TypeError, "`path` is 7", lambda: tw.family(7))
with open("broken.table", "w") as out: out.write("[1]\\n")
error = refused(tw.CompileError, "broken.table:1", lambda: f.add_table("broken.table"))
need(f.choose(16, 64, 64).by == "model", "the family is as before")
with open("other.tile", "w") as out: out.write("kernel other(i32 m) grid(1) warps(1) { }\\n")
with open("mixed.tile", "w") as out: out.write('family mixed { "parts/rows.tile"; "other.tile"; }\\n')
refused(tw.CompileError, "other.tile:1", lambda: tw.family("mixed.tile"))
a = np.ones((16, 64), "f4")
refused(tw.ArgumentError, "`n` is set to 65, but it is 64 by `b`", lambda: f(16, 65, 64, a, np.ones((64, 64), "f4"), a))
refused(tw.ArgumentError, "overlap", lambda: f(16, 64, 64, a, np.ones((64, 64), "f4"), a))
"""

THREADS = """
f = tw.family("products.tile")
wrong = []
def calls(seed):
    for size in range(1, 60):
        m = 1 + (size * seed) % 40
        a, b = np.full((m, 16), seed, "f4"), np.ones((16, 8), "f4")
        c = np.zeros((m, 8), "f4")
        f(m, 8, 16, a, b, c)
        if not (c == 16 * seed).all(): wrong.append((seed, m))
threads = [threading.Thread(target=calls, args=(seed,)) for seed in (1, 2, 3, 5)]
for t in threads: t.start()
for t in threads: t.join()
need(not wrong, wrong)
"""

GPU = """
f = tw.family("products.tile")
a, b = random.random((256, 64), "f4"), random.random((64, 64), "f4")
da, db, dc = tw.to_device(a), tw.to_device(b), tw.empty((256, 64))
need(f.choose(256, 64, 64, da, db).by == "model" and f.choose(256, 64, 64, device="cuda").kernel == "columns")
started = []
class Spy:
    def __init__(self, native): self.native = native
    def __getattr__(self, name): return getattr(self.native, name)
    def tw_family_start(self, family, arguments, count, stream, error):
        started.append(stream)
        return self.native.tw_family_start(family, arguments, count, stream, error)
tw._loaded = Spy(tw._loaded)
for _ in range(3):
    f(256, 64, 64, da, db, dc)
need(started == [0, 0, 0] and tw.allclose(dc, a @ b), started)
c = np.zeros((256, 64), "f4")
f.with_(device="cuda")(256, 64, 64, a, b, c)  # copies
need(tw.allclose(c, a @ b))
need(f.verify(256, 64, 64, da, db, dc).checked == 256 * 64)
"""


def main():
    if "-fsanitize" in os.environ.get("CFLAGS", ""):
        return  # a sanitized library cannot load into this Python
    tool = os.path.abspath(sys.argv[1])
    root = os.getcwd()
    os.environ["TILEWRIGHT_LIBRARY"] = os.path.join(os.path.dirname(tool), "libtilewright.so")
    with tempfile.TemporaryDirectory() as folder:
        write_family(folder)
        os.environ["TILEWRIGHT_STORE"] = f"{folder}/none.db"
        os.symlink(f"{root}/python", f"{folder}/python")
        os.symlink(f"{root}/kernels", f"{folder}/kernels")
        os.chdir(folder)
        for program in (VALUES, CHOICES, ERRORS, THREADS):
            run(program)
        store = f"{folder}/tuned.db"
        subprocess.run([tool, "tune", "products.tile:columns", "--set", "m=16,n=64,k=64", "--type", "f32", "--store", store],
                       check=True, capture_output=True, timeout=PATIENCE)
        run(STORED, environment={"TILEWRIGHT_STORE": store})
        run(GPU, environment={"TILEWRIGHT_CUDA_DRIVER": os.environ["FAKE_CUDA"], "FAKE_CUDA_SM": "90"})
        os.chdir(root)


if __name__ == "__main__":
    main()
