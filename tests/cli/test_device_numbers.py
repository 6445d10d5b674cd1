#!/usr/bin/env python3
"""`device.sms` and `device.clusters`: the engine's threads, a GPU's multiprocessors, those of the simulated GPU; --sms sets them."""
import ctypes
import json
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
CLUSTERS = """kernel count(i32 *c) grid(2 * device.clusters) warps(1) cluster(2) target(sm_90a)
{
    global i32 C[4] = c;
    atomic_add(C[0], 1);
    if (block.x == 0) {
        C[1] = device.clusters;
        C[2] = device.sms;
    }
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


def test_clusters(tool, folder):
    """The driver of the tests has 4 multiprocessors, 3 of them for clusters. Another number of multiprocessors counts as all for clusters."""
    open(f"{folder}/clusters.tile", "w").write(CLUSTERS)
    for wanted, options in (([2, 1, 4], []), ([8, 4, 9], ["--sms", "9"]), ([8, 4, 8], ["--set", "device.sms=8"]), ([2, 1, 1], ["--sms", "1"]),
                            ([10, 5, 4], ["--set", "device.clusters=5"]), ([6, 3, 8], ["--set", "device.sms=8,device.clusters=3"])):
        for device in ("cuda", "cpu", "sim:sm_90a")[:1 if not options or options == ["--set", "device.clusters=5"] else 3]:
            result = call([tool, "run", f"{folder}/clusters.tile", "--device", device, "--fill", "c=zero", "--out", f"c={folder}/c.npy", *options],
                          env=dict(os.environ, TILEWRIGHT_CUDA_DRIVER=os.environ["FAKE_CUDA"], FAKE_CUDA_SM="90"))
            expect(result.status == 0, result)
            found = list(np.load(f"{folder}/c.npy")[:3])
            expect(found == wanted, f"{device} {options}: {found}")


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


def started(folder, name, sm, arrays, scalars=(), tail=(), failing=""):
    """Runs the only function of the shipped C on the driver of the tests, whose function `failing` fails; returns the last array."""
    library = f"{folder}/{name}{sm}{failing}.so"
    subprocess.run([os.environ.get("CC", "cc"), "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", f"{folder}/{name}.c", "-o", library, "-ldl", "-lpthread"], check=True)
    os.environ["TILEWRIGHT_CUDA_DRIVER"] = os.environ["FAKE_CUDA"]
    os.environ["FAKE_CUDA_SM"] = sm
    driver, made = ctypes.CDLL(os.environ["FAKE_CUDA"]), ctypes.CDLL(library)
    driver.fake_cuda_fail(failing.encode(), ctypes.c_long(1), 801)
    module, context, places = ctypes.c_void_p(), ctypes.c_void_p(), [ctypes.c_void_p() for _ in arrays]

    def do(function, *arguments):
        status = function(*arguments)
        expect(status == 0, f"{function}: status {status}")

    do(getattr(made, f"{name}_load"), 0, ctypes.byref(module))
    do(driver.cuDevicePrimaryCtxRetain, ctypes.byref(context), 0)
    do(driver.cuCtxSetCurrent, context)
    for place, array in zip(places, arrays):
        do(driver.cuMemAlloc_v2, ctypes.byref(place), ctypes.c_size_t(array.nbytes))
        do(driver.cuMemcpyHtoDAsync_v2, place, ctypes.c_void_p(array.ctypes.data), ctypes.c_size_t(array.nbytes), None)
    do(getattr(made, f"{name}_launch"), module, None, *scalars, *places, *tail)
    do(driver.cuMemcpyDtoHAsync_v2, ctypes.c_void_p(arrays[-1].ctypes.data), places[-1], ctypes.c_size_t(arrays[-1].nbytes), None)
    do(driver.cuCtxSynchronize)
    getattr(made, f"{name}_unload")(module)
    return list(arrays[-1])


def shipped(tool, folder, text, device, failing=""):
    """Builds the kernel, and returns the array that it computes."""
    open(f"{folder}/k.tile", "w").write(text)
    built = call([tool, "build", f"{folder}/k.tile", "--device", device, "--no-cubin", "--out", folder])
    expect(built.status == 0, built)
    return started(folder, "count", device[3:5], [np.zeros(4, "i4")], failing=failing)


def test_shipped(tool, folder):
    """Shipped C launches as many blocks as the driver of the tests has multiprocessors."""
    found = shipped(tool, folder, KERNEL, "sm_80")
    expect(found == [4, 4004, 4004, 4004], found)


def test_shipped_clusters(tool, folder):
    """Shipped C asks the driver how many clusters run at the same time. Clusters have 3 of the 4 multiprocessors."""
    found = shipped(tool, folder, CLUSTERS, "sm_90a")
    expect(found == [2, 1, 4, 0], found)
    found = shipped(tool, folder, CLUSTERS, "sm_90a", failing="cuOccupancyMaxActiveClusters")
    expect(found == [4, 2, 4, 0], found)
    header = open(f"{folder}/count.h").read()
    expect("device_sms i32, computed here: the GPU's multiprocessors\n" in header and
           "device_clusters i32, computed here: the clusters that the GPU runs at the same time\n" in header, header)


def test_shipped_family(tool, folder):
    """Each kernel of a family gets the numbers of the device that it names. They claim to compute the same, and tell by the result who did."""
    members = (("plain", "grid(n)", 1), ("fills", "grid(device.sms)", "device.sms"),
               ("clustered", "cluster(2) grid(2 * device.clusters)", "(device.clusters * 100 + device.sms)"))
    for name, head, added in members:
        open(f"{folder}/{name}.tile", "w").write(f"""kernel {name}(i32 n, const i32 *a, i32 *c) {head} warps(1) target(sm_90a)
{{
    global i32 A[n] = a, C[n] = c;
    for (i32 i = block.x; i < n; i += grid.x)
        C[i] = A[i] + {added};
    ensures C == A + 1;
}}
""")
    names = [name for name, _, _ in members]
    open(f"{folder}/adds.tile", "w").write("family adds { %s }\n" % " ".join(f'"{name}.tile";' for name in names))
    with open(f"{folder}/adds.table", "w") as table:
        print(json.dumps({"family": "adds", "device": "NVIDIA H200", "types": "", "version": "1.0.0", "sizes": ["n"],
                          "variants": [{"kernel": name, "tune": ""} for name in names]}), file=table)
        for fastest, n in enumerate((16, 256, 4096)):
            print(json.dumps({"at": [n], "us": [1 if i == fastest else 2 for i in range(3)]}), file=table)
    built = call([tool, "build", f"{folder}/adds.tile", "--device", "sm_90a", "--no-cubin", "--out", folder, "--set", "n=1..4096"])
    expect(built.status == 0, built)
    for n, added in ((16, 1), (256, 4), (4096, 104)):
        found = started(folder, "adds", "90", [np.arange(n, dtype="i4"), np.zeros(n, "i4")], [ctypes.c_int32(n)], [None, ctypes.c_size_t(0)])
        expect(found == [i + added for i in range(n)], f"n = {n}: {found[:8]}")


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
    tests = [test_devices, test_clusters, test_texts, test_build]
    if "-fsanitize" not in os.environ.get("CFLAGS", ""):  # this Python cannot load libraries with sanitizers
        tests += [test_python, test_shipped, test_shipped_clusters, test_shipped_family]
    for test in tests:
        with tempfile.TemporaryDirectory() as folder:
            test(tool, folder)
    print("ok")


if __name__ == "__main__":
    main()
