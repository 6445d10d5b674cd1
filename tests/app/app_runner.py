"""Shared functions of the tests of CUDA programs on the simulator: building them with nvcc, running them on the libraries."""
import concurrent.futures
import glob
import json
import os
import re
import shutil
import sys

from tile_runner import CUDA_COMPILERS, call, expect

HERE = os.path.dirname(os.path.abspath(__file__))
SKIPPED = 77


def libraries(tool, name):
    """Returns the path of a library in the folder beside the program; ends the test as skipped if this build has none."""
    path = os.path.join(os.path.dirname(os.path.abspath(tool)), "app", name)
    if os.path.exists(path):
        return path
    print("skipped: this build has no libraries for CUDA programs")
    sys.exit(SKIPPED)


def nvcc():
    """Returns the path of nvcc; ends the test as skipped if there is none."""
    for name in CUDA_COMPILERS["nvcc"]:
        if shutil.which(name):
            return shutil.which(name)
    print("skipped: there is no nvcc to build CUDA programs with")
    sys.exit(SKIPPED)


def build(folder, source, *options, name=None):
    """Builds a program of this folder with nvcc into `folder`; returns its path."""
    program = os.path.join(folder, name or os.path.splitext(source)[0])
    done = call([nvcc(), "-lineinfo", "-o", program, *options, source], cwd=HERE)
    expect(done.status == 0, done)
    return program


def symbols(library):
    """Returns the names that a library exports, without versions."""
    done = call(["nm", "-D", "--defined-only", library])
    expect(done.status == 0, done)
    words = [line.split() for line in done.out.splitlines()]
    return {w[-1].split("@")[0] for w in words if w[-2] != "A"}


# These are found in calls, not in launches.
OF_HOST = {"double-free", "outside-copy", "wrong-direction", "bad-tensor-map", "invalid-free", "unfreed", "not-device-memory", "not-host-memory"}


def ptx_alone(compute="compute_80"):
    """Returns the options of nvcc that leave the program no machine code."""
    return ["-cudart", "shared", "-gencode", f"arch={compute},code={compute}"]


def read_head(source):
    """Returns the kinds of findings, and the options to build with, of the first line: "// race, leak (compute_90): what is wrong"."""
    with open(source) as f:
        kinds, compute = re.match(r"// ([a-z, -]+?)(?: \((compute_\d+)\))?: ", f.readline()).groups()
    return kinds.split(", "), ptx_alone(*[compute] if compute else [])


def check_twins(tool, folder, source):
    name = os.path.splitext(os.path.basename(source))[0]
    kinds, options = read_head(source)
    program = build(folder, os.path.relpath(source, HERE), *options, name=name)
    clean = call([tool, "check", "--strict", "--", program, "clean"])
    expect(clean.status == 0 and clean.err == "", f"{name}: {clean}")
    broken = call([tool, "check", "--json", "--", program, "broken"])
    report = json.loads(broken.out)
    found = {f["kind"]: f for f in report["findings"] if f["fails"]}
    expect(broken.status == 1 and not report["ok"] and report["ended"], f"{name}: {broken}")
    for kind in kinds:
        expect(kind in found, f"{name}: no {kind} in {sorted(found)}")
        text = found[kind]["text"]
        expect(f"at main+0x" in text and f" in {name}" in text, f"{name}: {text}")
        expect(kind in OF_HOST or re.search(rf"{name}[.]cu:\d+:\d+: |cudaMemcpyAsync|cudaGraphAdd", text), f"{name}: {text}")


def check_programs(tool, folder, chosen):
    """Builds the programs of programs/ whose names are chosen. Each has a fault of the kinds that its first line names, which is found with its
    place and its launch; its clean twin is silent."""
    sources = [s for s in sorted(glob.glob(os.path.join(HERE, "programs", "*.cu"))) if chosen(os.path.basename(s))]
    expect(len(sources) >= 6, sources)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for done in [pool.submit(check_twins, tool, folder, source) for source in sources]:
            done.result()
