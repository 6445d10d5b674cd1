#!/usr/bin/env python3
"""Counters as assembled: nvcc's PTX of tests/gpu/scalars.cu, whose accesses the assembler merges, and of columns.cu, whose accesses it
does not merge. The counts here were made by hand from the listing of the machine code:

    scalars   of 256 threads each warp has 4 loads of global memory, one STS.128, one LDS.128, a store
    columns   each warp has 4 LDG, 4 STS, 4 LDS, 4 STG, all of 32 bits

    dots      of 512 threads each warp has, in each of 64 rounds, 16 LDS.128 and 8 LDS; PTX has 72 loads in a loop of its own

Without ptxas the bounds are those of the rules alone, and contain the same counts.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

from tile_runner import call, fail

WARPS = 8
LAUNCH = ["--block", "256", "--arg", "f32[1024]:iota", "--arg", "f32[1024]:none"]
# 128 bits a lane, next to each other: 512 bytes, 4 wavefronts; the lanes of columns.cu's loads are all in one bank
SCALARS = {"shared_loads": WARPS, "shared_stores": WARPS, "shared_wavefronts": WARPS * (4 + 4), "shared_wavefronts_ideal": WARPS * (4 + 4),
           "bank_conflicts": 0, "global_loads": WARPS * 4, "global_stores": WARPS, "global_requests": WARPS * 5, "global_sectors": WARPS * 5 * 4}
COLUMNS = {"shared_loads": WARPS * 4, "shared_stores": WARPS * 4, "shared_wavefronts": WARPS * 4 * (1 + 32),
           "shared_wavefronts_ideal": WARPS * 4 * 2, "bank_conflicts": WARPS * 4 * 31, "global_loads": WARPS * 4,
           "global_stores": WARPS * 4, "global_requests": WARPS * 8, "global_sectors": WARPS * 8 * 4}
LISTED = {"scalars": {"LDG": 4, "STG": 1, "LDS.128": 1, "STS.128": 1}, "columns": {"LDG": 4, "STG": 4, "LDS": 4, "STS": 4}}


def program(*names):
    found = (shutil.which(n) or shutil.which(n, path="/usr/local/cuda/bin") for n in names)
    return next((p for p in found if p), None)


def counters(tool, *words):
    result = call([tool, *words, *LAUNCH, "--counters", "--json"])
    if result.status:
        fail(f"{words}: {result}")
    return json.loads(result.out)["counters"]


def check(name, counted, by_hand, exact, assembled):
    found = counted["as_assembled"]
    if found["exact"] != exact or bool(found["assembler"]) != assembled:
        fail(f"{name}: exact {found['exact']}, by {found['assembler']}")
    for key, value in by_hand.items():
        low, high = found[key]
        if not low <= value <= high or high != counted[key]:
            fail(f"{name}: {key} is {value} in the machine code, {counted[key]} in PTX, said to be {low} to {high}")
        if exact and low != high:
            fail(f"{name}: {key} {low} to {high} is exact?")
    if [line["line"] for line in found["lines"]] != ([] if exact else [7, 11]):
        fail(f"{name}: {found['lines']}")
    if not exact and {line["why"] for line in found["lines"]} != {"merged" if assembled else "may be merged"}:
        fail(f"{name}: {found['lines']}")


def check_unrolled(tool, assembled):
    """The assembler unrolls the inner loop; no access is lost."""
    launch = ["--block", "512", "--arg", "f32[1024]:rand", "--arg", "f32[1024]:rand", "--arg", "f32[4096]:none", "--arg", "i32:512"]
    for target in ("sm_80", "sm_90"):
        done = call([tool, "run", "tests/gpu/dots.ptx", "--sm", target, *launch, "--counters", "--json"])
        counted = json.loads(done.out)["counters"]
        if counted["shared_loads"] != 16 * 64 * 72:
            fail(f"dots: {counted['shared_loads']} loads in PTX")
        if assembled and counted["as_assembled"]["shared_loads"] != [16 * 64 * 24, 16 * 64 * 72]:
            fail(f"dots {target}: {counted['as_assembled']}")
        if assembled and counted["as_assembled"]["bank_conflicts"] != [0, counted["bank_conflicts"]]:
            fail(f"dots {target}: the bound of conflicts is not the count of the PTX: {counted['as_assembled']}")


def check_text(tool, path, lines):
    text = call([tool, "run", path, "--sm", "sm_90", *LAUNCH, "--counters"]).out
    if len(re.findall(r"^as assembled ", text, re.M)) != lines:
        fail(f"{path}: {text}")


def check_listing(name, target):
    """The machine code has the instructions that are counted by hand above."""
    ptxas, lister = program("ptxas"), program("nvdisasm", "cuobjdump")
    if not ptxas or not lister:
        print("there is no nvdisasm nor cuobjdump: no listing")
        return
    with tempfile.TemporaryDirectory() as folder:
        cubin = os.path.join(folder, "k.cubin")
        subprocess.run([ptxas, f"-arch={target}", f"tests/gpu/{name}.ptx", "-o", cubin], check=True)
        option = "-c" if "nvdisasm" in lister else "-sass"
        text = subprocess.run([lister, option, cubin], capture_output=True, text=True, check=True).stdout
    found = {}
    for mnemonic in re.findall(r"\*/\s+(?:@\S+ )?((?:LD|ST)[SG]\S*) ", text):
        key = mnemonic.replace(".E", "")
        found[key] = found.get(key, 0) + 1
    if found != LISTED[name]:
        fail(f"{name} for {target}: {found}")


def main():
    tool = os.path.abspath(sys.argv[1])
    os.environ.pop("TILEWRIGHT_PTXAS", None)  # a ptxas that makes no machine code
    assembled = bool(program("ptxas"))
    if not assembled:
        print("there is no ptxas: bounds by the rules alone")
    check_unrolled(tool, assembled)
    for name, by_hand, exact in (("scalars", SCALARS, False), ("columns", COLUMNS, True)):
        path = f"tests/gpu/{name}.ptx"
        for target in ("sm_80", "sm_90"):
            check(f"{name} {target}", counters(tool, "run", path, "--sm", target), by_hand, exact, assembled)
            check_listing(name, target)
        check(f"{name}, checked", counters(tool, "check", path), by_hand, exact, assembled)
        # older than the program's target: ptxas refuses it
        check(f"{name} alone", counters(tool, "run", path, "--sm", "sm_75"), by_hand, exact, False)
        check_text(tool, path, 0 if exact else 1)
        if program("nvcc"):
            check(f"{name}.cu", counters(tool, "run", f"tests/gpu/{name}.cu", "--compiler", "nvcc"), by_hand, exact, assembled)


if __name__ == "__main__":
    main()
