#!/usr/bin/env python3
"""libcudart.so.13 and .12 of this project: what they export; a program that compares what the calls give, from PTX plain and compressed; also with
NVIDIA's runtime linked in; programs without PTX, and stripped ones with the runtime inside, are refused with the way out."""
import os
import re
import sys
import tempfile

from app_runner import HERE, build, libraries, nvcc, symbols
from tile_runner import call, expect


def listed(version):
    """Returns the names in the table of entry points for a version of the library."""
    folder = os.path.join(HERE, "../../src/runtime")
    calls, missing, threads = (open(f"{folder}/runtime_{name}.def").read() for name in ("calls", "missing", "threads"))
    suffixes = {"IN_STREAM": "_ptsz", "WAITING": "_ptds"}
    own = {name + suffixes[how] for how, name in re.findall(r"^(IN_STREAM|WAITING)\((\w+),", threads, re.M)}
    return {*re.findall(rf"^(?:CALL|OF_{version})\((\w+),", calls, re.M), *re.findall(r"^MISSING\((\w+)\)", missing, re.M),
            *own, "cudaLaunchKernelExC_ptsz"}


def main():
    library = libraries(sys.argv[1], "libcudart.so.13")
    nvcc()
    for version in (12, 13):
        found = symbols(library.replace("13", str(version))) - {f"libcudart.so.{version}"}
        expect(len(found) > 90 and found == listed(version), f"libcudart.so.{version}: {found ^ listed(version)}")
    there = {"LD_LIBRARY_PATH": os.path.dirname(library)}
    with tempfile.TemporaryDirectory() as folder:
        modes = "--compress-mode" in call([nvcc(), "--help"]).out  # speed is LZ4, which older ones have by default
        for options in (["-arch=sm_80"], ["-no-compress", "--default-stream", "per-thread"], ["-compress-mode=speed"] if modes else []):
            program = build(folder, "runtime_api.cu", "-cudart", "shared", *options)
            done = call([program], env=there)
            expect(done.status == 0 and done.out.startswith("0 of ") and done.err == "", done)
        for version in ("12", "13"):
            program = build(folder, "programs/error_texts.cu", "-arch=sm_80", "-cudart", "none", "-Xlinker", library.replace("13", version), name="texts")
            done = call([program, "clean"], env=there)
            expect(done.status == 0 and done.err == "", done)
        bare = build(folder, "stray_launch.cu", "-cudart", "shared", "-gencode", "arch=compute_90,code=sm_90", name="bare")
        done = call([bare], env=there)
        expect(done.status == 3 and "error: no-ptx: " in done.err and "nvcc adds PTX with -arch=sm_90" in done.err, done)
        linked = build(folder, "stray_launch.cu", "-cudart", "shared", "-rdc=true", "-gencode", "arch=compute_90,code=sm_90", name="linked")
        done = call([linked], env=there)
        expect(done.status == 3 and "error: no-ptx: " in done.err and "nvcc adds PTX with -arch=sm_90" in done.err, done)
        static = build(folder, "runtime_api.cu", name="static")
        done = call([static], env={**there, "LD_PRELOAD": library})
        expect(done.status == 0 and done.out.startswith("0 of ") and done.err == "", done)
        stripped = build(folder, "stray_launch.cu", "-Xlinker", "-s", name="stripped")
        done = call([stripped], env={**there, "LD_PRELOAD": library})
        expect(done.status == 3 and done.err.count("error: static-runtime: ") == 1 and "`nvcc -cudart shared`" in done.err, done)
        for options in ([], ["-cudart", "shared"]):
            missing = build(folder, "missing_call.cu", *options, name="missing")
            done = call([missing], env={**there, "LD_PRELOAD": library})
            expect(done.status == 0 and done.out == "801 801 801 801 801 801 operation not supported\n", done)
            for name, way in (("cudaMallocArray", "use cudaMalloc"), ("cudaCreateTextureObject", "read the array through a pointer"),
                              ("cudaCreateSurfaceObject", "read and write the array through a pointer"),
                              ("cuTensorMapEncodeIm2colWide", "use cuTensorMapEncodeIm2col")):
                expect(f"error: not-supported: {name} is not supported: {way}" in done.err, done)
            expect("error: not-supported: a context for a part of the GPU or for graphics" in done.err, done)
            expect(done.err.count("was called at main+0x") == done.err.count("was called at ") > 0, done)
        stray = build(folder, "stray_launch.cu", "-cudart", "shared", name="stray")
        done = call([stray], env=there)
        expect(done.status == 0 and "error: api-error: a launch failed (invalid argument)" in done.err, done)
        expect("a launch was called at main+0x" in done.err, done)


if __name__ == "__main__":
    main()
