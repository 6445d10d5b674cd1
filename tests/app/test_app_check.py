#!/usr/bin/env python3
"""`tilewright check -- PROGRAM`: each program of programs/ has a fault of the kinds that its first line names, which is found with its place and
its launch; its clean twin is silent. Options for programs; the status of the program itself."""
import concurrent.futures
import glob
import json
import os
import re
import sys
import tempfile

from app_runner import HERE, build, libraries, nvcc
from tile_runner import call, expect

PTX_ALONE = ["-cudart", "shared", "-gencode", "arch=compute_80,code=compute_80"]
OF_HOST = {"double-free", "outside-copy", "wrong-direction"}  # found in calls, not in launches


def kinds_of(source):
    """Returns the kinds of findings in the first line: "// race, leak: what is wrong"."""
    with open(source) as f:
        return re.match(r"// ([a-z, -]+): ", f.readline())[1].split(", ")


def check_twins(tool, folder, source):
    name = os.path.splitext(os.path.basename(source))[0]
    program = build(folder, os.path.relpath(source, HERE), *PTX_ALONE, name=name)
    clean = call([tool, "check", "--strict", "--", program, "clean"])
    expect(clean.status == 0 and clean.err == "", f"{name}: {clean}")
    broken = call([tool, "check", "--json", "--", program, "broken"])
    report = json.loads(broken.out)
    found = {f["kind"]: f for f in report["findings"] if f["fails"]}
    expect(broken.status == 1 and not report["ok"] and report["ended"], f"{name}: {broken}")
    for kind in kinds_of(source):
        expect(kind in found, f"{name}: no {kind} in {sorted(found)}")
        text = found[kind]["text"]
        expect(f"at main+0x" in text and f" in {name}" in text, f"{name}: {text}")
        expect(kind in OF_HOST or re.search(rf"{name}[.]cu:\d+:\d+: |cudaMemcpyAsync", text), f"{name}: {text}")


def check_options(tool, folder):
    race = os.path.join(folder, "block_race")
    streams = os.path.join(folder, "stream_race")

    def run(*words):
        return call([tool, "check", *words])

    other = run("--kernel", "twice", "--", race, "broken")
    expect(other.status == 0 and other.err == "", other)
    same = run("--kernel", "count_plain", "--launch", "1", "--", race, "broken")
    expect(same.status == 1 and "error: race: " in same.err, same)
    second = run("--launch", "2", "--", race, "broken")
    expect(second.status == 0, second)
    with open(f"{folder}/known", "w") as f:
        f.write("race count_plain\nsame-value\nstream-race main\n")
    for program in (race, streams):
        let = run("--suppress", f"{folder}/known", "--", program, "broken")
        expect(let.status == 0 and let.err == "", let)
    verbose = run("--verbose", "--", streams, "clean")
    expect(verbose.status == 0 and "stream_race: ok (2 launches)" in verbose.err, verbose)
    for words, said in ((["--grid", "2", "--", race], "--grid is not for programs"),
                        (["--", f"{folder}/none"], "none cannot be started: No such file or directory"),
                        (["--", "/bin/true"], "never opened the CUDA libraries")):
        refused = run(*words)
        expect(refused.status == 2 and said in refused.err, refused)
    older = run("--device", "sm_80", "--", race, "clean")
    expect(older.status == 0, older)


def main():
    tool = os.path.abspath(sys.argv[1])
    libraries(tool, "libcudart.so.13")
    nvcc()
    sources = sorted(glob.glob(os.path.join(HERE, "programs", "*.cu")))
    expect(len(sources) >= 12, sources)
    with tempfile.TemporaryDirectory() as folder:
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for done in [pool.submit(check_twins, tool, folder, source) for source in sources]:
                done.result()
        check_options(tool, folder)


if __name__ == "__main__":
    main()
