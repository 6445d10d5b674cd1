#!/usr/bin/env python3
"""Rates `tune`: the split-K kernel on this machine's GPU, compared with an exhaustive search.

    tune_split_k.py TILEWRIGHT [--set m=…,n=…,k=…] [--seconds 60] [--within 1.02] [OPTIONS OF tune…]

Tunes with an empty store and an empty cache of kernels, then times every configuration as long as a finalist, in turn. Fails if the
tuner took more seconds, or if its winner is slower than the best by more than that factor.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

KERNEL = "kernels/matmul/split_k.tile"


def tune(tool, folder, options):
    environment = {**os.environ, "TILEWRIGHT_STORE": f"{folder}/tuned.db", "TILEWRIGHT_CACHE": f"{folder}/cache"}
    start = time.time()
    done = subprocess.run([tool, "tune", KERNEL, "--device", "cuda", "--json", *options], env=environment, stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"tune: status {done.returncode}\n{done.stdout}")
    return json.loads(done.stdout), time.time() - start


def measured(report):
    return {json.dumps(c["tune"]): c["ms"] for c in report["candidates"] if c["result"] == "measured"}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tool")
    parser.add_argument("--set", default="m=512,n=512,k=8192")
    parser.add_argument("--type", default="f16")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--within", type=float, default=1.02)
    given, others = parser.parse_known_args()
    options = ["--set", given.set, "--type", given.type, *others]
    with tempfile.TemporaryDirectory() as folder:
        report, seconds = tune(given.tool, folder, options)
        every, long = tune(given.tool, folder, [*options, "--again", "--exhaustive"])
    results = {}
    for c in report["candidates"]:
        results[c["result"]] = results.get(c["result"], 0) + 1
    found, best = measured(report), measured(every)
    winner = min(found, key=found.get)
    first = min(best, key=best.get)
    ratio = best[winner] / best[first]
    print(f"{report['device']}: {report['kernel']} {report['types']} {report['sizes']}: {len(report['candidates'])} configurations, {results}")
    print(f"tuned in {seconds:.1f} s: {winner} {found[winner]:.5f} ms")
    print(f"exhaustive in {long:.1f} s: {first} {best[first]:.5f} ms; there the winner takes {best[winner]:.5f} ms, {ratio:.4f} of the best")
    print("spread of the two measurements of each:", " ".join(f"{best[c] / found[c]:.3f}" for c in sorted(found, key=found.get)[:12] if c in best))
    if seconds > given.seconds or ratio > given.within:
        sys.exit(f"limits: {given.seconds} s, {given.within} of the best")


if __name__ == "__main__":
    main()
