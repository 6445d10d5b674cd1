#!/usr/bin/env python3
"""The kernels with roles become machine code as they are written: every configuration and type of kernels/hopper, assembled with ptxas.

ptxas says when it makes warpgroup products wait for each other, and when it ignores the registers of a role: such a message is an error. So are
spills. Without ptxas nothing is assembled, which is said.
"""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

from kernel_space import configurations, kernels
from tile_runner import call, fail

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SIZES = {"m": 4096, "n": 4096, "k": 4096, "heads": 16, "nq": 2048, "nk": 2048}
STATICS = {"causal": ("true", "false"), "activate": ("true", "false"), "residual": ("true", "false")}


def settings(kernel):
    """Returns the values of scalars to compile with: the sizes, and each value of the static bools."""
    text = open(kernel.path).read()
    found = [",".join(f"{name}={value}" for name, value in SIZES.items() if re.search(rf"\bi32 {name}[,)]", text))]
    for name, values in STATICS.items():
        if re.search(rf"static bool {name}\b", text):
            found = [f"{given},{name}={value}" for given in found for value in values]
    return found


def cases():
    for path in sorted(glob.glob("kernels/hopper/*.tile", root_dir=ROOT)):
        for kernel in kernels(path):
            for i, tuned in enumerate(configurations(kernel)):
                for dtype in kernel.types[:None if i == 0 else 1]:
                    for given in settings(kernel)[:None if i == 0 else 1]:
                        options = ["--set", given] + (["--type", dtype] if dtype else [])
                        options += ["--tune", ",".join(f"{n}={v}" for n, v in tuned.items())] if tuned else []
                        yield f"{kernel.path}:{kernel.name}", options


def assemble(tool, name, options, folder):
    made = call([tool, "show", name, "--stage", "ptx", "--device", "sm_90a", *options])
    if made.status:
        fail(f"{name} {options}: {made}")
    source = os.path.join(folder, "kernel.ptx")
    with open(source, "w") as file:
        file.write(made.out)
    done = subprocess.run(["ptxas", "-v", "-arch=sm_90a", source, "-o", source + ".cubin"], capture_output=True, text=True)
    said = done.stdout + done.stderr
    spilled = max(int(n) for n in re.findall(r"(\d+) bytes spill (?:stores|loads)", said) or [-1])
    if done.returncode or re.search(r"\(C\d+\)|warning|error", said) or spilled != 0:
        fail(f"{name} {options}: {said}")


def main():
    tool = os.path.abspath(sys.argv[1])
    if not shutil.which("ptxas"):
        print("skipped: there is no ptxas")
        return
    os.chdir(ROOT)
    count = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, options in cases():
            assemble(tool, name, options, folder)
            count += 1
    print(f"ok, {count} cases" if count else fail("no kernel was found"))


if __name__ == "__main__":
    main()
