#!/usr/bin/env python3
"""`device.sms` and `device.clusters`: the engine's threads, a GPU's multiprocessors, those of the simulated GPU; --sms sets them."""
import ctypes
import os
import shutil
import subprocess
import sys
import tempfile

import numpy as np
from tile_runner import call, call_on, expect

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
KERNEL = """kernel count(i32 *c) grid(device.sms) warps(1)
{
    global i32 C[4] = c;
    atomic_add(C[0], 1);
    if (block.x == 0)
        C[1 +: 3] = device.sms + device.clusters * 1000;
}
"""
IN_FN = """fn i32 twice() { return 2 * device.sms; }
kernel k(i32 *c) grid(twice()) warps(1)
{
    global i32 C[1] = c;
    C[0] = device.cores;
}
"""


def counted(tool, folder, *options, **environment):
    """Returns the blocks that ran; fails unless `device.sms` and `device.clusters` have this number."""
    open(f"{folder}/k.tile", "w").write(KERNEL)
    result = call([tool, "run", f"{folder}/k.tile", "--fill", "c=zero", "--out", f"c={folder}/c.npy", *options], env=dict(os.environ, **environment))
    expect(result.status == 0, result)
    blocks, number = np.load(f"{folder}/c.npy")[:2]
    expect(number == blocks * 1001, f"{options}: {blocks} blocks, C[1] is {number}")
    return blocks


def test_devices(tool, folder):
    for wanted, options in ((3, ["--device", "cpu", "--threads", "3"]), (5, ["--device", "cpu", "--sms", "5"]), (7, ["--set", "device.sms=7,device.clusters=7"]),
                            (132, ["--device", "sim:sm_90"]), (108, ["--device", "sim:sm_80"]), (6, ["--device", "sim", "--sms", "6"])):
        blocks = counted(tool, folder, *options)
        expect(blocks == wanted, f"{options}: {blocks} blocks, not {wanted}")
    blocks = counted(tool, folder, "--device", "cuda", TILEWRIGHT_CUDA_DRIVER=os.environ["FAKE_CUDA"])
    expect(blocks == 4, f"the driver of the tests has 4 multiprocessors, {blocks} blocks ran")


def test_texts(tool, folder):
    shown = call_on(folder, KERNEL, [tool, "show", "k.tile"], 0).out
    expect("grid(device.sms)" in shown and "device.clusters * 1000" in shown and "count(i32 *c)" in shown, shown)
    expect(call_on(folder, shown, [tool, "show", "k.tile"], 0).out == shown, "the printed kernel reads back as another one")
    for value in ("0", "-1", "x", "1.5"):
        result = call([tool, "run", f"{folder}/k.tile", "--sms", value])
        expect(result.status == 2 and f"--sms {value}: expected a number of multiprocessors, 1 or more" in result.err, result)
    errors = call_on(folder, IN_FN, [tool, "show", "k.tile"], 2).err
    expect("`device.sms` is for kernels, and this is a fn" in errors and "`device` has sms and clusters, no `cores`" in errors, errors)


def test_build(tool, folder):
    """C asks the driver; the program for the CPU is refused with the way out."""
    open(f"{folder}/k.tile", "w").write(KERNEL)
    built = call([tool, "build", f"{folder}/k.tile", "--device", "sm_80", "--no-cubin", "--out", folder])
    expect(built.status == 0, built)
    header, source = open(f"{folder}/count.h").read(), open(f"{folder}/count.c").read()
    expect("device_sms i32, computed here: the GPU's multiprocessors" in header and "void *stream, int32_t *c);" in header, header)
    expect("AOT_MULTIPROCESSORS, m->handle" in source, "the source does not ask for the multiprocessors")
    for compiler in filter(shutil.which, ("gcc", "clang")):
        subprocess.run([compiler, "-std=c11", "-Wall", "-Wextra", "-Werror", "-c", f"{folder}/count.c", "-o", f"{folder}/x.o"], check=True)
    refused = call([tool, "build", f"{folder}/k.tile", "--device", "cpu", "--out", folder])
    expect(refused.status == 2 and "let the caller give the number: `i32 sms` in the parameter list" in refused.err, refused)


def test_shipped(tool, folder):
    """Shipped C launches as many blocks as the driver of the tests has multiprocessors."""
    open(f"{folder}/k.tile", "w").write(KERNEL)
    call([tool, "build", f"{folder}/k.tile", "--device", "sm_80", "--no-cubin", "--out", folder])
    subprocess.run([os.environ.get("CC", "cc"), "-shared", "-fPIC", f"{folder}/count.c", "-o", f"{folder}/count.so", "-ldl", "-lpthread"], check=True)
    os.environ["TILEWRIGHT_CUDA_DRIVER"] = os.environ["FAKE_CUDA"]
    driver, shipped = ctypes.CDLL(os.environ["FAKE_CUDA"]), ctypes.CDLL(f"{folder}/count.so")
    module, context, array, zeros, found = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p(), np.zeros(4, "i4"), np.zeros(4, "i4")
    steps = [(shipped.count_load, 0, ctypes.byref(module)), (driver.cuDevicePrimaryCtxRetain, ctypes.byref(context), 0), (driver.cuCtxSetCurrent, context),
             (driver.cuMemAlloc_v2, ctypes.byref(array), ctypes.c_size_t(16)),
             (driver.cuMemcpyHtoDAsync_v2, array, ctypes.c_void_p(zeros.ctypes.data), ctypes.c_size_t(16), None), (shipped.count_launch, module, None, array),
             (driver.cuMemcpyDtoHAsync_v2, ctypes.c_void_p(found.ctypes.data), array, ctypes.c_size_t(16), None), (driver.cuCtxSynchronize,)]
    for function, *arguments in steps:
        status = function(*arguments)
        expect(status == 0, f"{function}: status {status}")
    expect(list(found) == [4, 4004, 4004, 4004], found)
    shipped.count_unload(module)


def test_python(tool, folder):
    os.environ.setdefault("TILEWRIGHT_LIBRARY", os.path.join(os.path.dirname(tool), "libtilewright.so"))
    sys.path.insert(0, os.path.join(ROOT, "python"))
    import tilewright
    open(f"{folder}/k.tile", "w").write(KERNEL)
    kernel, c = tilewright.load(f"{folder}/k.tile")["count"], np.zeros(4, "i4")
    for numbers in ({}, {}, {"device.sms": 9, "device.clusters": 9}):
        c[0] = 0
        kernel(c, **numbers)
        expect(c[1] == c[0] * 1001 and c[0] == numbers.get("device.sms", c[0]), f"{numbers}: {c}")


def main():
    tool = os.path.abspath(sys.argv[1])
    tests = [test_devices, test_texts, test_build]
    if "-fsanitize" not in os.environ.get("CFLAGS", ""):  # this Python cannot load libraries with sanitizers
        tests += [test_python, test_shipped]
    for test in tests:
        with tempfile.TemporaryDirectory() as folder:
            test(tool, folder)
    print("ok")


if __name__ == "__main__":
    main()
