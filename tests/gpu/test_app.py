#!/usr/bin/env python3
"""The CUDA programs of tests/app give the same on the GPU here as on the simulator: what they print, and their status. It skips programs for newer GPUs.

    test_app.py TILEWRIGHT
"""
import glob
import os
import re
import shutil
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(os.path.dirname(HERE), "app"))
from app_runner import build, libraries, nvcc  # noqa: E402
from run_twins import read_head  # noqa: E402
from tile_runner import call, expect  # noqa: E402

APP = os.path.join(os.path.dirname(HERE), "app")
SKIPPED = 77
# Other programs than those of programs/: sources, options of nvcc, argument. A wrong access beyond an array is an error on the simulator alone.
OTHERS = [(["runtime_api.cu"], [], "clean"), (["graph_api.cu"], [], "clean"), (["bad_access.cu"], [], "misaligned"),
          (["linked_main.cu", "linked_part.cu"], ["-rdc=true"], "clean"), (["hostile.cu"], [], "threads")]


def capability():
    """Returns the compute capability of the first GPU, such as 90; ends the test as skipped if there is none."""
    if shutil.which("nvidia-smi"):
        done = call(["nvidia-smi", "--query-gpu=compute_cap", "--format=csv,noheader"])
        if done.status == 0 and re.match(r"\d+\.\d\n", done.out):
            return int(done.out.split("\n")[0].replace(".", ""))
    print("skipped: there is no GPU")
    sys.exit(SKIPPED)


def compare(library, program, argument, differing):
    """Runs the program on the simulator, then on the GPU. The memory that it takes of the host may differ."""
    on_host, here = (call([program, argument], env=environment) for environment in ({**os.environ, "LD_PRELOAD": library}, None))
    texts = [re.sub(r"\d+ KiB", "KiB", done.out) for done in (on_host, here)]
    if texts[0] != texts[1] or on_host.status != here.status:
        differing.append(f"{os.path.basename(program)} {argument}: on the GPU: {here}\non the simulator: {on_host}")


def main():
    tool = os.path.abspath(sys.argv[1])
    have = capability()
    library = libraries(tool, "libcudart.so.13")
    nvcc()
    runs = [([os.path.relpath(p, APP)], [], "clean") for p in sorted(glob.glob(f"{APP}/programs/*.cu"))] + OTHERS
    differing, compared = [], 0
    with tempfile.TemporaryDirectory() as folder:
        for sources, options, argument in runs:
            _, wanted, own = read_head(os.path.join(APP, sources[0]))
            if wanted > have:
                print(f"skipped: {sources[0]} is for compute capability {wanted}")
                continue
            name = os.path.splitext(os.path.basename(sources[0]))[0]
            program = build(folder, *sources, *options, *own, "-gencode", f"arch=compute_{wanted},code=compute_{wanted}", name=name)
            compare(library, program, argument, differing)
            compared += 1
    expect(compared > 20, f"only {compared} programs were compared")
    expect(not differing, "\n".join(differing))
    print(f"{compared} programs")


if __name__ == "__main__":
    main()
