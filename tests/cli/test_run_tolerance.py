#!/usr/bin/env python3
"""`run --verify` warns only if the tolerance is large compared with the values, and gives the number of values that it cannot judge."""
import json
import os
import struct
import sys
import tempfile

from tile_runner import call, fail

# The kernel omits the last element.
SUM = """kernel total(i32 n, const f32 *a, f32 *out) grid(1) threads(256)
{
    global f32 A[n] = a, Out[1] = out;
    shared f32 s[256];
    i32 t = thread.x;
    f32 v = 0;
    for (i32 i = t; i < n - 1; i += 256)
        v += A[i];
    s[t] = v;
    sync();
    for (i32 d = 128; d > 0; d /= 2) {
        if (t < d)
            s[t] += s[t + d];
        sync();
    }
    if (t == 0)
        Out[0] = s[0];
    ensures Out == reshape(sum(A), 1);
}
"""
# One element in 20 is wrong here and cannot be judged, because its square overflows.
INVERSE = """kernel inverse(i32 n, const f32 *a, f32 *out) grid(cdiv(n, 32)) threads(32)
{
    global f32 A[n] = a, Out[n] = out;
    i32 i = block.x * 32 + thread.x;
    if (i < n)
        Out[i] = A[i] > 1 ? 12345 : 0.5;
    ensures Out == 1 / (1 + A * A);
}
"""
WORD = "% of the values"


def save(path, values):
    header = "{'descr': '<f4', 'fortran_order': False, 'shape': (%d,), }" % len(values)
    with open(path, "wb") as out:
        out.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", 118) + header.ljust(117).encode() + b"\n")
        out.write(struct.pack(f"<{len(values)}f", *values))


def main():
    tool = os.path.abspath(sys.argv[1])
    root = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/sum.tile", "w") as out:
            out.write(SUM)

        def run(file, *arguments, status=0):
            result = call([tool, "run", file, "--fill", "rand", "--verify", *arguments], cwd=folder)
            if result.status != status:
                fail(f"{file} {arguments}: status {result.status}: {result}")
            return result

        if WORD in run("sum.tile", "--set", "n=10000", status=1).out:
            fail("a word where the values are wrong")
        if "the tolerance is 1.8% of the values" not in run("sum.tile", "--set", "n=100000").out:
            fail("no word of a tolerance that hides a term")
        result = json.loads(run("sum.tile", "--set", "n=100000", "--json").out)
        if not 0.017 < result["wide_tolerance"] < 0.02:
            fail(f"in JSON: {result}")
        # 1e20 and -1e20 in turn, and 1: the sum is 1, and its tolerance is that of terms of 1e20
        save(f"{folder}/large.npy", [1e20, -1e20] * 50 + [1, 0])
        said = run("sum.tile", "--in", "a=large.npy").out
        if "the tolerance is larger than the values, because this number of roundings adds up" not in said or "%" in said.split("the tolerance is")[1]:
            fail(f"a tolerance beyond the values: {said}")
        with open(f"{folder}/inverse.tile", "w") as out:
            out.write(INVERSE)
        for every, status in ((19, 1), (20, 0)):
            save(f"{folder}/a.npy", [1 if i % every else 3e20 for i in range(100)])
            result = run("inverse.tile", "--in", "a=a.npy", status=status)
            said = "verified: 95 of 100 elements, each exactly" in result.out and "not judged: 5, for which" in result.out
            if said != (status == 0) or ("6 of 100 elements" in result.err) != (status == 1):
                fail(f"one in {every}: {result}")
        result = json.loads(run("inverse.tile", "--in", "a=a.npy", "--json").out)
        if (result["checked"], result["undecided"]) != (100, 5):
            fail(f"in JSON: {result}")
        product = f"{root}/kernels/matmul/tuned.tile"
        for kind in ("f32", "f16", "bf16"):
            for sizes in ("m=30,n=40,k=4096", "m=1,n=1,k=1"):
                result = run(product, "--set", sizes, "--type", kind)
                if WORD in result.out or "verified: " not in result.out:
                    fail(f"{kind}, {sizes}: {result}")
        if "wide_tolerance" in run(product, "--set", "m=3,n=4,k=5", "--json").out:
            fail("in JSON without need")


if __name__ == "__main__":
    main()
