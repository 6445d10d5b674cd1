#!/usr/bin/env python3
"""The kernels with roles, kernels/hopper and examples/hopper.tile, run on the CPU against their `ensures`: tiny and ragged sizes, one block and
several, more blocks than tiles, every configuration; and at small sizes on the simulator. Tests of all kernels that compile for several targets leave these out."""
import os
import sys
import tempfile

from kernel_space import configurations, kernels
from tile_runner import call, fail

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PRODUCTS = [(1, 8, 8), (17, 8, 16), (130, 264, 72), (256, 256, 256), (1, 520, 200), (300, 136, 64)]  # k, n: multiples of 8, as tensor copies need
# B as [n][k], B as [k][n], pairs of blocks
ROLES = ("kernels/hopper/matmul_roles.tile", "kernels/hopper/matmul_roles_kn.tile", "kernels/hopper/matmul_cluster.tile")
RAGGED = "kernels/hopper/ragged_roles.tile", [(1, 1, 1), (17, 7, 15), (130, 263, 75), (300, 135, 67)]  # rows may begin anywhere
WIDE = [(1, 8, 16), (17, 16, 16), (130, 264, 144), (129, 520, 208)]  # k: multiples of 16
# Factors, sums, how they are summed: units of warpgroups, other than those of 16-bit types.
UNITS = [("tf32", "tf32", "f32", "")] + [(a, b, "i32", "") for a in ("i8", "u8") for b in ("i8", "u8")] + [
    (a, b, "f32", sums) for a in ("e4m3", "e5m2") for b in ("e4m3", "e5m2") for sums in ("", " sum(unit)", " sum(promoted 96)")]
SMALL = ("kernels/hopper/matmul_f8_roles.tile", "kernels/hopper/matmul_f8_unit_roles.tile")
STEPS = ("kernels/hopper/matmul_tensor.tile", "kernels/hopper/matmul_warpgroup.tile")  # without roles
ATTENTION = [(1, 1, 0), (17, 130, 0), (130, 17, 1), (129, 257, 1), (256, 256, 0)]


def verify(tool, path, sizes, *options, device="cpu"):
    result = call([tool, "run", os.path.join(ROOT, path), "--device", device, "--set", sizes, "--fill", "rand", "--verify", *options])
    if result.status != 0 or "verified: " not in result.out:
        fail(f"{path} at {sizes} {options}: {result}")


def unit_program(a, b, total, sums, k=256):
    """Two products into one tile of sums. With promoted sums, a warpgroup has two blocks of them, and the second product adds to them in the unit."""
    rows = 128 if "promoted" in sums else 64
    second = " sum(unit)" if "promoted" in sums else sums
    return f"""kernel k(i32 m, const {a} *a, const {b} *b, {total} *c) grid(cdiv(m, {rows})) warps(4) target(sm_90a)
{{
    global {a} A[m][{k}] = a;
    global {b} B[96][{k}] = b;
    global {total} C[m][96] = c;
    shared {a} sa[2][{rows}][{k // 2}];
    shared {b} sb[2][96][{k // 2}];
    mbarrier full(1);
    reg {total} acc[{rows}][96] = 0;
    one_thread {{
        expect(full, bytes(sa) + bytes(sb));
        for (i32 s = 0; s < 2; s++) {{
            async(full) sa[s] = A[block.x * {rows} +: {rows}][s * {k // 2} +: {k // 2}];
            async(full) sb[s] = B[0 +: 96][s * {k // 2} +: {k // 2}];
        }}
    }}
    wait(full);
    dot_async(acc, sa[0], trans(sb[0])){sums};
    dot_async(acc, sa[1], trans(sb[1])){second};
    dot_wait(0);
    C[block.x * {rows} +: {rows}][0 +: 96] = acc;
    ensures C == dot(A, trans(B));
}}
"""


# Each needs a fence between threads' stores and a tensor copy of that memory: through another view of the array, by atomics, in the block
# that arrives last, after an atomic in a condition, and before a copy that stores over them. The last one updates an element in turn.
ORDERED = """
kernel other_view(i32 n, const f16 *a, f16 *p, f16 *c) grid(2) warps(4) cooperative target(sm_90a)
{
    global f16 A[n][64] = a, C[n][64] = c, P[n][64] = p, Q[n][64] = p;
    global i32 count[1] = 0;
    shared f16 s[64][64];
    mbarrier full(1);
    P[block.x * 64 +: 64][:] = A[block.x * 64 +: 64][:];
    arrive(count[0]);
    lock(count[0], 2);
    one_thread { expect(full, bytes(s)); async(full) s = Q[64 - block.x * 64 +: 64][:]; }
    wait(full);
    C[64 - block.x * 64 +: 64][:] = s;
}
kernel atomics(i32 n, const i32 *a, i32 *p, i32 *c) grid(2) warps(4) cooperative target(sm_90a)
{
    global i32 A[n][32] = a, C[n][32] = c, P[n][32] = p;
    global i32 count[1] = 0;
    shared i32 s[64][32];
    mbarrier full(1);
    atomic_max(P[0 +: 64][:], A[block.x * 64 +: 64][:]);
    arrive(count[0]);
    lock(count[0], 2);
    one_thread { expect(full, bytes(s)); async(full) s = P[0 +: 64][:]; }
    wait(full);
    C[block.x * 64 +: 64][:] = s;
}
kernel last_block(i32 n, const f16 *a, f16 *c) grid(2) warps(4) target(sm_90a)
{
    global f16 A[n][64] = a, C[n][64] = c, P[128][64];
    global i32 count[1] = 0;
    shared f16 s[128][64];
    mbarrier full(1);
    P[block.x * 64 +: 64][:] = A[block.x * 64 +: 64][:];
    if (arrive(count[0]) == 1) {
        one_thread { expect(full, bytes(s)); async(full) s = P[:][:]; }
        wait(full);
        C[0 +: 128][:] = s;
    }
}
kernel condition(i32 n, i32 *c) grid(1) warps(4) target(sm_90a)
{
    global i32 C[n][32] = c, P[64][32] = 0;
    shared i32 s[64][32];
    mbarrier full(1);
    if (atomic_add(P[0][0], 1) == 0) {
        one_thread { expect(full, bytes(s)); async(full) s = P[:][:]; }
        wait(full);
        C[0 +: 64][:] = s;
    }
}
kernel stored_twice(i32 n, f16 *c) grid(1) warps(4) target(sm_90a)
{
    global f16 C[64][64] = c;
    shared f16 s[64][64];
    C[:][:] = 0;
    s = 1;
    sync();
    one_thread { async C[0 +: 64][0 +: 64] = s; store_wait(0); }
}
kernel in_turn(i32 n, const i32 *a, i32 *c) grid(2) warps(4) cooperative target(sm_90a)
{
    global i32 A[n] = a, C[n] = c, turn[1] = 0, total[1] = 0;
    mbarrier full(1);
    warps(0 +: 1) { one_thread { expect(full, 0); } }
    warps(1 +: 2) {
        lock(turn[0], block.x);
        total[0] += A[block.x];
        C[block.x] = total[0];
        unlock(turn[0], block.x + 1);
    }
}
"""


def check_order(tool):
    """The simulator finds no store that a copy reads without a fence, and no race."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "ordered.tile")
        with open(path, "w") as out:
            out.write(ORDERED)
        got = call([tool, "check", path, "--set", "n=128"])
        if got.status != 0 or "proxy" in got.out + got.err:
            fail(f"{got}")
        got = call([tool, "check", path, "--set", "n=128", "-v"])
        if (got.out + got.err).count(" simulated") != ORDERED.count("kernel "):
            fail(f"not all are simulated: {got}")


def check_units(tool):
    with tempfile.TemporaryDirectory() as folder:
        for turn, unit in enumerate(UNITS):
            path = os.path.join(folder, f"unit{turn}.tile")
            with open(path, "w") as out:
                out.write(unit_program(*unit))
            for device in ("cpu", "sim:sm_90a"):
                verify(tool, path, "m=100", device=device)


def check_semaphore(tool):
    """A block that does not arrive at the semaphore, or arrives twice, lets all wait for ever."""
    path, _ = RAGGED
    text = open(os.path.join(ROOT, path)).read().replace('"../lib/', f'"{ROOT}/kernels/lib/')
    for arrivals, found in (("", 0), ("arrive(copied[0]); arrive(copied[0]);", 4)):
        with tempfile.TemporaryDirectory() as folder:
            broken = os.path.join(folder, "broken.tile")
            with open(broken, "w") as out:
                out.write(text.replace("arrive(copied[0]);", arrivals))
            result = call([tool, "check", broken, "--type", "f16", "--set", "m=130,n=75,k=67", "--sms", "2"])
            if result.status != 1 or f"lock waits for copied[0] to be 2, but it is {found} and no block that could change it is left" not in result.err:
                fail(f"{arrivals}: {result}")


def main():
    tool = sys.argv[1]
    check_units(tool)
    check_semaphore(tool)
    check_order(tool)
    for turn, (m, n, k) in enumerate(PRODUCTS):
        sizes, sms = f"m={m},n={n},k={k}", ["--sms", str((1, 3, 5)[turn % 3])]
        verify(tool, "examples/hopper.tile", sizes, *sms)
        for path in ROLES:
            verify(tool, path, sizes, *sms, "--type", ("bf16", "f16")[turn % 2])
        for path in STEPS:
            verify(tool, path, sizes, "--type", ("f16", "bf16")[turn % 2])
    path, products = RAGGED
    for turn, (m, n, k) in enumerate(products):
        verify(tool, path, f"m={m},n={n},k={k}", "--sms", str((1, 3, 5)[turn % 3]), "--type", ("f16", "bf16")[turn % 2])
    for path in (*ROLES, RAGGED[0]):
        for turn, tuned in enumerate(configurations(next(iter(kernels(os.path.join(ROOT, path)))))):
            values = ["--tune", ",".join(f"{name}={value}" for name, value in tuned.items())]
            verify(tool, path, "m=300,n=328,k=200", *values, "--sms", str((2, 4)[turn % 2]), "--type", ("f16", "bf16")[turn // 2 % 2])
    for turn, (m, n, k) in enumerate(WIDE):
        sizes, sms = f"m={m},n={n},k={k}", ["--sms", str((1, 3, 5)[turn % 3])]
        any_n = f"m={m},n={n - 3 * (turn % 2)},k={k}"  # the copy engine stores C if it takes its rows
        columns = ["--tune", ("BN=256,STAGES=4", "BN=192,STAGES=5", "BN=128,STAGES=6")[turn % 3]]
        verify(tool, "kernels/hopper/matmul_tf32_roles.tile", any_n, *sms, *columns)
        verify(tool, "kernels/hopper/matmul_i8_roles.tile", any_n, *sms, *columns, "--type", ("i8", "u8")[turn % 2])
        types = ["--type", f"A8={('e4m3', 'e5m2')[turn % 2]}", "--type", f"B8={('e4m3', 'e5m2')[turn // 2]}"]
        for path in SMALL:
            for tuned in configurations(next(iter(kernels(os.path.join(ROOT, path))))):
                values = ["--tune", ",".join(f"{name}={value}" for name, value in tuned.items())] if tuned else []
                verify(tool, path, sizes, *sms, *types, *values, *(["--type", "O=f32"] if path == SMALL[0] and turn % 2 else []))
    for turn, (m, n, k) in enumerate(PRODUCTS):
        sizes = f"m={m},n={n},k={k},activate={turn % 2},residual={turn // 2 % 2}"
        verify(tool, "kernels/hopper/linear_roles.tile", sizes, "--sms", "3", "--type", ("T=bf16,U=f32", "T=f16,U=f16")[turn % 2])
    for given in ("activate=1,residual=1", "activate=0,residual=0"):
        verify(tool, "kernels/hopper/linear_roles.tile", f"m=140,n=136,k=136,{given}", "--sms", "2", device="sim:sm_90a")
    for nq, nk, causal in ATTENTION:
        verify(tool, "kernels/hopper/attention_roles.tile", f"heads=2,nq={nq},nk={nk},causal={causal},scale=0.0884")
    for path in ("examples/hopper.tile", *ROLES):
        verify(tool, path, "m=140,n=24,k=136", "--sms", "2", device="sim:sm_90a")
    verify(tool, RAGGED[0], "m=140,n=259,k=67", "--sms", "2", device="sim:sm_90a")
    for path in STEPS:
        for size in ("m=140,n=136,k=200", "m=1,n=8,k=8"):
            verify(tool, path, size, device="sim:sm_90a")
    for path in ("kernels/hopper/matmul_i8_roles.tile", "kernels/hopper/matmul_tf32_roles.tile", *SMALL):
        verify(tool, path, "m=140,n=24,k=144", "--sms", "2", device="sim:sm_90a")
    verify(tool, "kernels/hopper/attention_roles.tile", "heads=1,nq=40,nk=140,causal=1,scale=0.0884", device="sim:sm_90a")
    print("ok")


if __name__ == "__main__":
    main()
