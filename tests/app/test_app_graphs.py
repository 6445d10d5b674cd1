#!/usr/bin/env python3
"""Graphs and captures: what each call gives, also with NVIDIA's runtime linked in, and with the checks, which find nothing."""
import os
import sys
import tempfile

from app_runner import build, libraries, nvcc
from tile_runner import call, expect


def main():
    tool = os.path.abspath(sys.argv[1])
    libraries(tool, "libcudart.so.13")
    nvcc()
    with tempfile.TemporaryDirectory() as folder:
        program = build(folder, "graph_api.cu", "-arch=sm_80")
        done = call([tool, "check", "--strict", "--", program])
        expect(done.status == 0 and done.out == "0 of 225 failed\n" and done.err == "", done)


if __name__ == "__main__":
    main()
