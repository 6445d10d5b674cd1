#!/usr/bin/env python3
"""run_twins.py TOOL FILE.cu: a CUDA program of programs/. Started with `broken`, it has a fault of each kind that its first line names, which
`tilewright check` finds with its place and its launch, the same with any number of threads; started with `clean`, it is silent, and the values are
right."""
import json
import os
import re
import sys
import tempfile

from app_runner import HERE, build, libraries, nvcc, ptx_alone
from tile_runner import call, expect

OF_HOST = {"double-free", "outside-copy", "wrong-direction", "bad-tensor-map", "invalid-free", "unfreed", "not-device-memory", "not-host-memory",
           "api-error", "bad-mapping"}  # found in calls, not in launches
OF_HOST_TOO = {"use-after-free", "deadlock"}  # found in either


def read_head(source):
    """Returns the kinds of findings, the compute capability, and options of nvcc that the first line of a program names: "// race, leak (compute_90)
    [-std=c++17]: what is wrong"."""
    with open(source) as f:
        named = re.match(r"// ([a-z, -]+?)(?: \(compute_(\d+)\))?(?: \[(.+?)\])?: ", f.readline())
    kinds, compute, options = named.groups() if named else ("", None, None)
    return kinds.split(", "), int(compute or 80), (options or "").split()


def places_of(kind, name, code):
    """Returns a pattern of the places that a finding of this kind may have: a line of the program, of a library of headers that it includes, or of the
    PTX that it loads; the call, if the finding is of one."""
    places = [rf"{name}[.]cu:\d+:\d+: ", r"cudaMem\w+Async|cudaGraphAdd"]
    if re.search(r"#include <(cub|thrust)/", code):
        places.append(r"/include/\S+:\d+:\d+: ")
    if "cudaLibraryLoadData(" in code:
        places.append(r"module[.]ptx:\d+:")
    if kind in OF_HOST_TOO:
        places.append(r"note: cu\w+ was called at \w+\+0x")
    return "|".join(places)


def what_is_said(done, code):
    """Returns the text that each number of threads gives. Host threads launch in any order, so then only the kinds of findings are equal."""
    if "std::thread" in code:
        return str(sorted({f["kind"] for f in json.loads(done.out)["findings"]}))
    return re.sub(r"at most \d+ KiB", "", str(done))


def check_twins(tool, folder, source):
    name = os.path.splitext(os.path.basename(source))[0]
    kinds, compute, options = read_head(source)
    with open(source) as f:
        code = f.read()
    program = build(folder, os.path.relpath(source, HERE), *ptx_alone(f"compute_{compute}"), *options, name=name)
    clean = call([tool, "check", "--strict", "--", program, "clean"])
    expect(clean.status == 0 and clean.err == "", f"{name}: {clean}")
    broken = call([tool, "check", "--json", "--", program, "broken"])
    said = {what_is_said(call([tool, "check", "--threads", n, "--json", "--", program, "broken"]), code) for n in "123"}
    expect(len(said) == 1, f"{name}: --threads changes what is said: {said}")
    report = json.loads(broken.out)
    found = {f["kind"]: f for f in report["findings"] if f["fails"]}
    expect(broken.status == 1 and not report["ok"] and report["ended"], f"{name}: {broken}")
    for kind in kinds:
        expect(kind in found, f"{name}: no {kind} in {sorted(found)}")
        text = found[kind]["text"]
        expect(re.search(rf"at \w+\+0x.* in {name}", text), f"{name}: {text}")
        expect(kind in OF_HOST or re.search(places_of(kind, name, code), text), f"{name}: {text}")


def main():
    tool = os.path.abspath(sys.argv[1])
    libraries(tool, "libcudart.so.13")
    nvcc()
    with tempfile.TemporaryDirectory() as folder:
        check_twins(tool, folder, sys.argv[2])


if __name__ == "__main__":
    main()
