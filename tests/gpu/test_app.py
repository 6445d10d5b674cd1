#!/usr/bin/env python3
"""The CUDA programs of tests/app give the same on the GPU here as on the simulator: their standard output and status. It skips programs for newer GPUs.

    test_app.py TILEWRIGHT [-j N] [--without TEXT]

-j: programs that are built and run at a time. --without: leaves out programs with this text in a source, such as Managed.
"""
import argparse
import concurrent.futures
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(os.path.dirname(HERE), "app"))
from app_runner import build, libraries, nvcc, ptx_alone  # noqa: E402
from run_twins import read_head  # noqa: E402
from tile_runner import call, expect  # noqa: E402

APP = os.path.join(os.path.dirname(HERE), "app")
SKIPPED, PATIENCE = 77, 120
# Other programs than those of programs/: sources, options of nvcc, argument. A wrong access beyond an array is an error on the simulator alone.
OTHERS = [(["runtime_api.cu"], [], "clean"), (["graph_api.cu"], [], "clean"), (["bad_access.cu"], [], "misaligned"),
          (["linked_main.cu", "linked_part.cu"], ["-rdc=true"], "clean"), (["hostile.cu"], ["-lcuda"], "threads")]


def capability():
    """Returns the compute capability of the first GPU, such as 90; ends the test as skipped if there is none."""
    if shutil.which("nvidia-smi"):
        done = call(["nvidia-smi", "--query-gpu=compute_cap", "--format=csv,noheader"])
        if done.status == 0 and re.match(r"\d+\.\d\n", done.out):
            return int(done.out.split("\n")[0].replace(".", ""))
    print("skipped: there is no GPU")
    sys.exit(SKIPPED)


def outcome(program, argument, environment):
    """Returns the status of a run with its standard output, or that it hangs; and its standard error, where the simulator alone prints findings. The
    memory that the program takes of the host may differ."""
    try:
        done = subprocess.run([program, argument], env=environment, capture_output=True, text=True, errors="replace", timeout=PATIENCE, check=False)
    except subprocess.TimeoutExpired:
        return f"no end after {PATIENCE} s", ""
    return re.sub(r"\d+ KiB", "KiB", f"status {done.returncode}\n{done.stdout}"), done.stderr


def compare(before, program, argument, differing):
    (on_host, findings), (here, errors) = (outcome(program, argument, environment) for environment in ({**os.environ, "LD_PRELOAD": before}, None))
    if on_host != here or re.match("no end|status -", here):
        differing.append(program)
        print(f"{os.path.basename(program)} {argument}: on the GPU: {here}{errors}\non the simulator: {on_host}{findings}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tool")
    parser.add_argument("-j", type=int, default=1)
    parser.add_argument("--without")
    options = parser.parse_args()
    tool = os.path.abspath(options.tool)
    have = capability()
    before = " ".join(libraries(tool, name) for name in ("libcuda.so.1", "libcudart.so.13"))
    nvcc()
    runs = [([os.path.relpath(p, APP)], [], "clean") for p in sorted(glob.glob(f"{APP}/programs/*.cu"))] + OTHERS
    differing = []

    def judge(sources, options_of_nvcc, argument):
        """Returns why the program is left out, or None."""
        for source in sources:
            with open(os.path.join(APP, source)) as file:
                if options.without and options.without in file.read():
                    return f"{source} has '{options.without}'"
        _, wanted, own = read_head(os.path.join(APP, sources[0]))
        if wanted > have:
            return f"{sources[0]} is for compute capability {wanted}"
        name = os.path.splitext(os.path.basename(sources[0]))[0]
        program = build(folder, *sources, *options_of_nvcc, *own, *ptx_alone(f"compute_{wanted}"), name=name)
        compare(before, program, argument, differing)
        return None

    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(options.j) as pool:
        skipped = list(filter(None, pool.map(lambda run: judge(*run), runs)))
    for why in skipped:
        print(f"skipped: {why}")
    compared = len(runs) - len(skipped)
    expect(compared > 20, f"only {compared} programs were compared")
    expect(not differing, f"{len(differing)} of {compared} programs differ")
    print(f"{compared} programs")


if __name__ == "__main__":
    main()
