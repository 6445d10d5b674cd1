#!/usr/bin/env python3
"""Every example of every `help COMMAND` runs, in a folder like a checkout; every file that it writes is in .gitignore."""
import os
import subprocess
import sys
import tempfile

import numpy as np

from tile_runner import cuda_compiler, fail, not_ignored

COMMANDS = ["run", "check", "bench", "tune", "explain", "show", "build", "learn", "devices", "help"]
QUICK = {"bench": " --warmup 0 --repeat 1", "check": " --time-limit 1400"}  # the last option wins


def examples(tool):
    for name in COMMANDS:
        text = subprocess.run([tool, "help", name], capture_output=True, text=True, check=True).stdout
        lines = [line.strip() for line in text.partition("Examples:\n")[2].splitlines()]
        if not lines:
            fail(f"help {name} has no examples")
        for line in lines:
            if not line.startswith("tilewright "):
                fail(f"help {name}: an example that is not a command: {line}")
            if ".cu " in line and not cuda_compiler() or name == "tune" and "--device cuda" in line:
                continue  # slow on the simulator
            yield name, line + (" --load" if "--device cuda" in line else QUICK.get(name, ""))


def main():
    tool = os.path.abspath(sys.argv[1])
    environment = dict(os.environ, PATH=os.pathsep.join([os.path.dirname(tool), os.environ["PATH"]]),
                       TILEWRIGHT_STORE="tuned.db", TILEWRIGHT_LEARN="learnt", TILEWRIGHT_CUDA_DRIVER=os.environ["FAKE_CUDA"], FAKE_CUDA_SM="90")
    environment.pop("TILEWRIGHT_PTXAS", None)  # a ptxas that makes no machine code
    root = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.symlink(os.path.join(root, "kernels"), os.path.join(folder, "kernels"))
        np.save(f"{folder}/A.npy", np.random.default_rng(1).random((33, 20), "f4"))
        np.save(f"{folder}/B.npy", np.random.default_rng(2).random((20, 17), "f4"))
        with open(f"{folder}/app_tests", "w") as program:  # a CUDA program
            program.write(f'#!{sys.executable}\nimport ctypes\n\nctypes.CDLL("libcuda.so.1").cuInit(0)\n')
        os.chmod(f"{folder}/app_tests", 0o755)
        for _, line in examples(tool):
            done = subprocess.run(["sh", "-c", line], cwd=folder, env=environment, capture_output=True, text=True)
            if done.returncode != 0:
                fail(f"$ {line}\nstatus {done.returncode}\n{done.stdout}{done.stderr}")
        left = not_ignored(folder, ["kernels", "tuned.db", "learnt", "app_tests"])
        if left:
            fail(f"the examples write {' '.join(left)}, which .gitignore does not have")


if __name__ == "__main__":
    main()
