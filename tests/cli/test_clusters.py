#!/usr/bin/env python3
"""Clusters that the static check refuses, tests/errors/clusters_races.tile: the simulator finds a fault of each in some order of
warps. And the CPU engine's and the simulator's `device.clusters`, and a grid of no whole clusters."""
import json
import os
import re
import sys
import tempfile

from tile_runner import call, expect, fail

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
COUNT = """kernel count(i32 *c) grid(2 * device.clusters) warps(1) cluster(2) target(sm_90a)
{
    global i32 C[2] = c;
    atomic_add(C[0], 1);
    if (block.x == 0)
        C[1] = device.clusters;
}
"""
ODD = "kernel odd(i32 n, i32 *c) grid(n) warps(1) cluster(2) target(sm_90a)\n{\n    global i32 C[1] = c;\n}\n"


def is_found(tool, folder, size):
    for copies in ("late", "early"):
        for seed in ("0", "1", "2"):
            done = call([tool, "run", "k.tile", "--device", "sim:sm_90a", "--despite", "race", "--set", f"n={size}", "--fill", "rand",
                         "--copies", copies, "--seed", seed], cwd=folder)
            if "error: " in done.err:
                return True
    return False


def check_broken(tool, folder):
    text = open(f"{ROOT}/tests/errors/clusters_races.tile").read()
    for part in re.split(r"\n(?=// )", text)[1:]:
        name = re.search(r"kernel (\w+)", part).group(1)
        with open(f"{folder}/k.tile", "w") as out:
            out.write(part)
        refused = call([tool, "check", "k.tile", "--no-run", "--no-sim"], cwd=folder)
        expect(refused.status == 1 and "error: " in refused.err, f"{name}: {refused}")
        # On a GPU, a thread that has ended counts as one that has come to the cluster's barrier. The simulator begins all blocks
        # of a cluster at once.
        if name not in ("one_alone", "begins_early") and not is_found(tool, folder, 600 if "[128][64]" in part else 4):
            fail(f"the simulator finds no fault of {name}")


def check_launches(tool, folder):
    with open(f"{folder}/count.tile", "w") as out:
        out.write(COUNT)
    with open(f"{folder}/odd.tile", "w") as out:
        out.write(ODD)
    for sms, clusters in ((1, 1), (2, 1), (5, 2), (8, 4)):
        done = call([tool, "run", "count.tile", "--device", "cpu", "--sms", str(sms), "--fill", "c=zero"], cwd=folder)
        expect(done.status == 0 and f"c: [{2 * clusters}, {clusters}]" in done.out, f"{sms} multiprocessors: {done}")
    for device in ("cpu", "sim:sm_90a"):
        refused = call([tool, "run", "odd.tile", "--device", device, "--set", "n=3", "--fill", "c=zero"], cwd=folder)
        expect(refused.status != 0 and "round the extent up, cdiv(…, 2) * 2" in refused.err, refused)


FENCED = """kernel fenced(i32 n, const f16 *a, f16 *c) grid(2 * n) warps(4) cluster(2) target(sm_90a)
{
    global f16 A[2 * n][64][64] = a, C[2 * n][64][64] = c;
    shared f16 s[64][64];
    cluster_sync();
    peer(s, 1 - cluster.rank) = A[block.x][:][:];
    cluster_sync();
    async C[block.x][:][:] = s;
    store_wait(0);
    cluster_sync();
}
"""


def check_fence(tool, folder):
    """A background store reads what the peer has stored: its fence is for the memory of all blocks."""
    with open(f"{folder}/fenced.tile", "w") as out:
        out.write(FENCED)
    done = call([tool, "show", "fenced.tile", "--device", "sm_90a", "--stage", "ptx"], cwd=folder)
    expect(re.search(r"st\.shared::cluster.*fence\.proxy\.async\.shared::cluster;.*barrier\.cluster\.arrive.*cp\.async\.bulk", done.out, re.S), done)
    done = call([tool, "show", "fenced.tile", "--device", "sm_90a", "--stage", "layout"], cwd=folder)
    expect(re.search(r" s +st\.shared::cluster\.b32 +64 ", done.out), done)


def check_explained(tool):
    """The rest of a cluster runs with a block that is sampled, and is not counted. With clusters and without,
    each block has two tiles."""
    counts = []
    for name in ("roles", "cluster"):
        done = call([tool, "explain", f"{ROOT}/kernels/hopper/matmul_{name}.tile", "--device", "h100", "--set", "m=3072,n=1408,k=64",
                     "--tune", "BM=128,BN=128", "--json"])
        expect(done.status == 0, done)
        counts.append(json.loads(done.out)["kernels"][0]["flops_executed"])
    expect(counts[0] == counts[1] == 2 * 3072 * 1408 * 64, counts)


def main():
    with tempfile.TemporaryDirectory() as folder:
        check_broken(sys.argv[1], folder)
        check_launches(sys.argv[1], folder)
        check_fence(sys.argv[1], folder)
    check_explained(sys.argv[1])
    print("ok")


if __name__ == "__main__":
    main()
