#!/usr/bin/env python3
"""`bench --device sim`: the simulator's speed, for each set of watched checks."""
import json
import sys

from tile_runner import call, fail

WATCHES = ["plain", "races", "barriers", "memory", "counters", "all"]


def bench(tool, status, *arguments):
    result = call([tool, "bench", "--device", "sim", *arguments])
    if result.status != status:
        fail(f"bench --device sim {arguments}: expected status {status}: {result}")
    return result.out


def main():
    tool = sys.argv[1]
    if "bench --device sim" not in call([tool, "help", "bench"]).out:
        print("built without the simulator")
        return
    speeds = json.loads(bench(tool, 0, "-s", "64", "--repeat", "2", "--json"))
    rows = speeds["rows"]
    if [r["watch"] for r in rows] != WATCHES or not speeds["cpu"] or speeds["kernel"] != "sgemm_tiled":
        fail(f"{speeds}")
    if len({r["warp_instructions"] for r in rows}) != 1:
        fail(f"the set of checks changes the run: {rows}")
    if not all(r["cpu_seconds"] > 0 and r["million_warp_instructions_per_second"] > 0 for r in rows):
        fail(f"{rows}")
    table = bench(tool, 0, "kernels/sgemm/naive.tile", "-s", "32", "--repeat", "1")
    if not all(name in table for name in WATCHES):
        fail(table)
    if call([tool, "bench", "sim", "-s", "32", "--repeat", "1"]).status:
        fail("the earlier word is not taken")
    bench(tool, 2, "-s", "1")
    bench(tool, 2, "no/such.tile")


if __name__ == "__main__":
    main()
