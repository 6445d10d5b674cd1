#!/usr/bin/env python3
"""Graphs and captures: what each call gives, also with NVIDIA's runtime linked in, and with a default stream for each thread; the checks find
nothing."""
import os
import sys
import tempfile

from app_runner import build, libraries, nvcc
from tile_runner import call, expect

OF_THREADS = {"graph_edges_api.cu", "graph_branches_api.cu"}


def main():
    tool = os.path.abspath(sys.argv[1])
    libraries(tool, "libcudart.so.13")
    nvcc()
    with tempfile.TemporaryDirectory() as folder:
        for name, target, compared in (("graph_api.cu", "sm_80", 497), ("graph_memory_api.cu", "sm_80", 177), ("graph_edges_api.cu", "sm_90", 401),
                                       ("graph_branches_api.cu", "sm_80", 190)):
            for options in ([], ["--default-stream", "per-thread"]) if name in OF_THREADS else [[]]:
                program = build(folder, name, f"-arch={target}", *options)
                done = call([tool, "check", "--strict", "--", program])
                expect(done.status == 0 and done.out == f"0 of {compared} failed\n" and done.err == "", done)
        done = call([tool, "check", "--strict", "--", build(folder, "fills.cu", "-arch=sm_80")])
        expect(done.status == 0 and done.out == "1 1 1 1 4 \n" and done.err == "", done)


if __name__ == "__main__":
    main()
