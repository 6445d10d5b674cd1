#!/usr/bin/env python3
"""`tilewright build FAMILY --device cpu`: the function takes the variant that the library takes, and gives its bits; one pair of files has the
tables of a GPU and of the CPU; the C compiles without a warning."""
import ctypes
import json
import os
import re
import shutil
import sys
import tempfile

import numpy as np
from test_build_cpu import FLAGS, Options, ROOT, compiled, message_of, run
from test_build_family import COLUMNS, PARTS, ROWS, TIMES, header, rows_of, write
from tile_runner import call, fail

FAKE = os.environ["FAKE_CUDA"]
DRIVER = ("cuInit", "cuDevicePrimaryCtxRetain", "cuCtxPushCurrent_v2", "cuMemAlloc_v2", "cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2",
          "cuStreamSynchronize")


def saying(text):
    """Makes each block at the origin print its kernel and tuned value."""
    kernel, tuned = re.search(r"kernel (\w+)", text).group(1), re.search(r"tune (\w+)", text).group(1)
    said = f'    if (block.x == 0 && block.y == 0 && block.z == 0)\n        print("{kernel} {tuned}", {tuned});\n'
    return text.replace("    i32 i = block", said + "    i32 i = block", 1)


def make_family(folder):
    for name, text in (("rows", ROWS), ("columns", COLUMNS), ("parts", PARTS)):
        write(folder, f"{name}.tile", saying(text))
    write(folder, "products.tile", 'family products { "rows.tile"; "columns.tile"; "parts.tile"; }\n')


def build(tool, folder, *options, file="products.tile", status=0):
    return run([tool, "build", f"{folder}/{file}", "--out", folder, *options], status)


def header_text(folder):
    return re.sub(r"\n \* +", " ", open(f"{folder}/products.h").read())


# --- the function ---

class Module:
    """A loaded NAME.so on the CPU, and what its kernels printed."""

    def __init__(self, tool, folder, name):
        self.functions, self.name, self.printed, self.module = compiled(tool, folder, name), name, [], ctypes.c_void_p()
        self.print = Options._fields_[4][1](lambda user, text, length: self.printed.append(ctypes.string_at(text, length).decode()))
        options = Options(size=ctypes.sizeof(Options), threads=2, print=self.print)
        if getattr(self.functions, f"{name}_load_cpu")(ctypes.byref(options), ctypes.byref(self.module)) != 0:
            fail(f"{name}_load_cpu: {message_of(self.functions, name)}")

    def start(self, types, sizes, arrays, workspace=False):
        self.printed.clear()
        arguments = [ctypes.c_int32(v) for v in sizes] + [ctypes.c_void_p(a.ctypes.data) for a in arrays]
        if workspace:
            needed = getattr(self.functions, f"{self.name}_{types}_workspace")
            needed.restype = ctypes.c_size_t
            if needed(self.module, *arguments[:len(sizes)]) != 0:
                fail(f"{self.name}_{types}_workspace: the CPU needs none")
            arguments += [None, ctypes.c_size_t(0)]
        return getattr(self.functions, f"{self.name}_{types}")(self.module, None, *arguments)

    def variant(self):
        said = re.search(r"(\w+ \w+) = (\d+)", "".join(self.printed))
        return said and f"{said.group(1)}={said.group(2)}"


def factors(types, shapes, seed=3):
    rng = np.random.default_rng(seed)
    arrays = [rng.standard_normal(shape).astype("f4") for shape in shapes]
    if types == "bf16":
        return [(a.view("u4") >> 16).astype("u2") for a in arrays]
    return [a.astype({"f32": "f4", "f16": "f2"}[types]) for a in arrays]


def compare(module, family, types, sizes, shapes, workspace=False):
    """Starts the function and the library's family. Returns the variants that ran."""
    import tilewright
    *inputs, c = factors(types, shapes)
    expected = np.zeros_like(c)
    c[:] = 0
    view = (lambda a: tilewright.view(a, types)) if types == "bf16" else (lambda a: a)
    status = module.start(types, sizes, [*inputs, c], workspace)
    if status != 0:
        fail(f"{module.name}_{types}{sizes}: {message_of(module.functions, module.name)}")
    family.with_(T=types)(*sizes, *(view(a) for a in (*inputs, expected)))
    if c.tobytes() != expected.tobytes() or not c.any():
        fail(f"{module.name}_{types}{sizes}: the values differ from the engine's")
    return module.variant(), family.choose(*sizes, T=types).variant


def compare_products(module, family, types, sizes, workspace=False):
    m, n, k = sizes
    return compare(module, family, types, sizes, ((m, k), (k, n), (m, n)), workspace)


# --- the tests ---

def cpu_name():
    import tilewright
    return dict(tilewright.devices())["cpu"]


def family_of(folder, tables=()):
    import tilewright
    family = tilewright.family(f"{folder}/products.tile", store=False)
    for table in tables:
        family.add_table(table)
    return family


SETS = ["--set", "m=1..4096,n=64,k=64", "--set", "m=1..4096,n=65,k=63", "--set", "m=16,n=64,k=512", "--variants", "6"]


def test_choice(tool, folder):
    """Measured sizes take their winner, and all sizes what the library takes; without results, the first kernel that takes the sizes."""
    write(folder, "cpu.table", header(cpu_name()) + rows_of(TIMES))
    said = build(tool, folder, "--device", "cpu", "--table", f"{folder}/cpu.table", *SETS).err
    text = header_text(folder)
    for part in (f"cpu, as measured on {cpu_name()} at 7 sizes", "in geometric mean 1.000 times the least time", "cpu; rows; n = 64, k = 64: BM = 8",
                 "cpu, without results: the first that takes the sizes"):
        if part not in text:
            fail(f"no '{part}' in products.h:\n{text}")
    if "products` with T = f16 for a CPU: the first kernel that takes" not in said or "T = f32" in said or "_workspace(" in text:
        fail(f"the results of f32 are of this CPU, f16 has none: {said}\n{text}")
    module, family = Module(tool, folder, "products"), family_of(folder, [f"{folder}/cpu.table"])
    winners = {(16, 64, 64): "rows BM=8", (128, 64, 64): "columns BN=32", (16, 64, 512): "parts BM=16", (17, 65, 63): "columns BN=8"}
    seen = set()
    for sizes in [*winners, *((m, n, k) for n, k in ((64, 64), (65, 63)) for m in (1, 9, 33, 64, 257))]:
        ran, chosen = compare_products(module, family, "f32", sizes)
        seen.add(ran)
        if ran != winners.get(sizes, chosen) or ran != chosen:
            fail(f"{sizes}: {ran} ran, the library takes {chosen}")
    if len(seen) < 4:
        fail(f"the sizes show little: {seen}")
    for sizes, expected in (((9, 64, 64), "rows BM=16"), ((9, 33, 70), "columns BN=32")):
        ran = compare_products(module, family, "f16", sizes)[0]
        if ran != expected:
            fail(f"f16 {sizes}: {ran} ran, expected {expected}")
    if module.start("f32", (-1, 64, 64), factors("f32", [(1, 64), (64, 64), (1, 64)])) == 0 or "negative" not in message_of(module.functions, "products"):
        fail(f"a negative size: {message_of(module.functions, 'products')}")
    module.functions.products_unload(module.module)


def test_static_alone(tool, folder):
    """Sizes for which nothing was built are refused."""
    write(folder, "static.tile", 'family products { "rows.tile"; }\n')
    build(tool, folder, "--device", "cpu", "--type", "f32", "--set", "n=64,k=64", file="static.tile")
    module = Module(tool, folder, "products")
    arrays = factors("f32", [(8, 64), (64, 64), (8, 64)])
    for sizes, status in (((8, 64, 64), 0), ((8, 64, 63), 6)):
        if module.start("f32", sizes, arrays) != status:
            fail(f"static sizes {sizes}: expected status {status}: {message_of(module.functions, 'products')}")
    if "nothing was built for m = 8, n = 64, k = 63; there is n = 64, k = 64" not in message_of(module.functions, "products"):
        fail(f"sizes that were not built: {message_of(module.functions, 'products')}")


def test_other_results(tool, folder):
    """Results of another CPU serve with a warning; those of a GPU do not; lines of --tuned and a store count."""
    other = "Some CPU, 64 cores, x86-64, avx2 routines"
    write(folder, "other.table", header(other) + rows_of(TIMES))
    said = build(tool, folder, "--device", "cpu", "--type", "f32", "--table", f"{folder}/other.table", *SETS).err
    if f"for {cpu_name()}: those of {other} choose" not in said:
        fail(f"results of another CPU: {said}")
    write(folder, "other.table", header("NVIDIA H200") + rows_of(TIMES))
    said = build(tool, folder, "--device", "cpu", "--type", "f32", "--table", f"{folder}/other.table", *SETS).err
    if "for a CPU: the first kernel" not in said:
        fail(f"results of a GPU: {said}")
    line = {"kernel": "columns", "types": {"T": "f32"}, "device": cpu_name(), "target": "cpu", "class": {"m": [16, 31, 16]},
            "sizes": {"k": 64, "m": 16, "n": 64}, "tune": {"BN": 8}, "ms": 0.001}
    lines = [line, dict(line, device="NVIDIA H200", target="sm_90"), dict(line, ms=0)]
    write(folder, "tuned.jsonl", "".join(json.dumps(line) + "\n" for line in lines))
    said = build(tool, folder, "--device", "cpu", "--type", "f32", "--tuned", f"{folder}/tuned.jsonl").err
    if "columns: BN = 8" not in header_text(folder) or "no results" in said or "tuned.jsonl:2: left out: its target is not built" not in said or \
            "tuned.jsonl:3: left out: a family chooses by" not in said:
        fail(f"lines of --tuned: {said}\n{header_text(folder)}")
    if call([tool, "tune", f"{folder}/columns.tile", "--list"]).status != 0:
        return  # no SQLite
    run([tool, "tune", f"{folder}/columns.tile", "--type", "f16", "--set", "m=16,n=64,k=64"])
    said = build(tool, folder, "--device", "cpu", "--type", "f16").err
    if f"as measured on {cpu_name()} at 1 sizes" not in header_text(folder) or "no results" in said:
        fail(f"the user's store: {said}\n{header_text(folder)}")


def on_gpu(module, sizes, arrays):
    """Starts products_f32 on the driver of the tests; fills the last array."""
    driver, addresses, context = ctypes.CDLL(FAKE), [], ctypes.c_void_p()
    for name in DRIVER:
        getattr(driver, name).restype = ctypes.c_int
    driver.cuInit(0)
    driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
    driver.cuCtxPushCurrent_v2(context)
    needed = module.products_f32_workspace
    needed.restype = ctypes.c_size_t
    loaded = ctypes.c_void_p()
    if module.products_load(0, ctypes.byref(loaded)) != 0:
        fail(f"products_load: {message_of(module, 'products')}")
    scalars = [ctypes.c_int32(v) for v in sizes]
    bytes_of = needed(loaded, *scalars)
    for size in [a.nbytes for a in arrays] + [bytes_of + 1]:
        addresses.append(ctypes.c_uint64())
        driver.cuMemAlloc_v2(ctypes.byref(addresses[-1]), ctypes.c_size_t(size))
    for address, a in zip(addresses, arrays[:-1]):
        driver.cuMemcpyHtoDAsync_v2(address, ctypes.c_void_p(a.ctypes.data), ctypes.c_size_t(a.nbytes), None)
    status = module.products_f32(loaded, None, *scalars, *(ctypes.c_void_p(a.value) for a in addresses), ctypes.c_size_t(bytes_of))
    if status != 0:
        fail(f"products_f32 on a GPU: {message_of(module, 'products')}")
    last = arrays[-1]
    driver.cuMemcpyDtoHAsync_v2(ctypes.c_void_p(last.ctypes.data), addresses[-2], ctypes.c_size_t(last.nbytes), None)
    driver.cuStreamSynchronize(None)
    module.products_unload(loaded)
    return bytes_of


def test_either(tool, folder):
    """One pair of files: each device has its own table."""
    here = {at: us[::-1] for at, us in TIMES.items()}
    write(folder, "both.table", header("simulator") + rows_of(TIMES) + header(cpu_name()) + rows_of(here))
    build(tool, folder, "--device", "cpu,sm_80", "--no-cubin", "--type", "f32", "--table", f"{folder}/both.table", *SETS)
    text = header_text(folder)
    if "sm_80, as measured on simulator" not in text or f"cpu, as measured on {cpu_name()}" not in text:
        fail(f"two tables: {text}")
    module, family = Module(tool, folder, "products"), family_of(folder, [f"{folder}/both.table"])
    for sizes in ((16, 64, 64), (128, 64, 64), (16, 64, 512), (5, 64, 64), (33, 65, 63)):
        ran, chosen = compare_products(module, family, "f32", sizes, workspace=True)
        if ran != chosen:
            fail(f"{sizes}: {ran} ran on the CPU, the library takes {chosen}")
    os.environ["TILEWRIGHT_CUDA_DRIVER"] = FAKE
    for sizes, parts in (((16, 64, 64), False), ((16, 64, 512), True)):
        a, b, c = factors("f32", [(sizes[0], sizes[2]), (sizes[2], sizes[1]), (sizes[0], sizes[1])])
        workspace = on_gpu(module.functions, sizes, [a, b, c])
        if not np.allclose(c, a @ b, atol=1e-3) or (workspace > 0) != parts:
            fail(f"{sizes} on a GPU: another kernel or wrong values, {workspace} bytes of workspace")
    del os.environ["TILEWRIGHT_CUDA_DRIVER"]


def test_shipped(tool, folder):
    """The families that ship give the library's bits for each of their types."""
    import tilewright
    shapes = {"matmul": lambda m, n, k: ((m, k), (k, n), (m, n)), "matmul_nt": lambda m, n, k: ((m, k), (n, k), (m, n)),
              "matmul_batched": lambda b, m, n, k: ((b, m, k), (b, k, n), (b, m, n))}
    for name, shape in shapes.items():
        run([tool, "build", name, "--device", "cpu", "--out", folder])
        module, family, batch = Module(tool, folder, name), tilewright.family(name, store=False), (3,) if "batched" in name else ()
        for types in ("f32", "f16", "bf16"):
            for sizes in ((64, 64, 64), (1, 300, 200), (100, 70, 33), (256, 256, 256)):
                compare(module, family, types, (*batch, *sizes), shape(*batch, *sizes))


def main():
    tool = os.path.abspath(sys.argv[1])
    if any("-fsanitize" in flag for flag in FLAGS):  # this Python cannot load a library with sanitizers
        sys.exit(77)
    os.environ.setdefault("TILEWRIGHT_LIBRARY", os.path.join(os.path.dirname(tool), "libtilewright.so"))
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TILEWRIGHT_STORE"] = f"{folder}/tuned.db"
        for test in (test_choice, test_static_alone, test_other_results, test_either, test_shipped):
            own = f"{folder}/{test.__name__}"  # a library that is loaded again needs another path
            os.mkdir(own)
            make_family(own)
            test(tool, own)
    print("ok")


if __name__ == "__main__":
    main()
