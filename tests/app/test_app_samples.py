#!/usr/bin/env python3
"""scripts/nvidia_samples.py with a folder in the form of NVIDIA's samples: a clean one, one with a fault, one that does not compile, one that needs another
library, one that does not end; wrong calls. The samples themselves are for those who have the network."""
import glob
import os
import shutil
import sys
import tempfile

from app_runner import HERE, libraries, nvcc
from tile_runner import call, expect

SCRIPT = os.path.join(HERE, "../../scripts/nvidia_samples.py")


def add_sample(root, name, source, cmake=""):
    folder = f"{root}/Samples/0_Introduction/{name}"
    os.makedirs(folder)
    with open(f"{folder}/CMakeLists.txt", "w") as f:
        f.write(f"add_executable({name} {name}.cu)\ntarget_link_libraries({name} PRIVATE CUDA::cudart)\n{cmake}")
    with open(f"{folder}/{name}.cu", "w") as f:
        f.write(source)


def runs(link, program):
    """Returns whether a process, by its /proc/N/exe, runs a program."""
    try:
        return os.path.realpath(link) == os.path.realpath(program)
    except OSError:  # it has ended
        return False


def main():
    tool = os.path.abspath(sys.argv[1])
    libraries(tool, "libcudart.so.13")
    compiler = os.path.dirname(nvcc())
    where = {**os.environ, "PATH": f"{compiler}:{os.environ['PATH']}"}
    with open(os.path.join(HERE, "programs/scan.cu")) as f:
        scan = f.read()
    with tempfile.TemporaryDirectory() as folder:
        root = f"{folder}/cuda-samples"
        os.makedirs(f"{root}/Common")
        shutil.copy(os.path.join(HERE, "programs/app_check.h"), f"{root}/Common")
        add_sample(root, "scan", scan)
        add_sample(root, "racyScan", scan.replace("is_broken(argc, argv)", "argc"))
        add_sample(root, "unfinished", "int main() { return nothing; }\n")
        add_sample(root, "simpleCUBLAS", "", "target_link_libraries(simpleCUBLAS PRIVATE CUDA::cublas)\n")
        done = call([sys.executable, SCRIPT, tool, "--from", root, "--into", f"{folder}/built"], env=where)
        lines = dict(line.split(": ", 1) for line in done.out.splitlines()[:-1])
        expect(done.status == 1 and lines["scan"] == "ok" and lines["simpleCUBLAS"] == "left out: it needs cublas", done)
        expect(lines["racyScan"].startswith("status 1, race") and lines["unfinished"].startswith("not built: "), done)
        expect(done.out.splitlines()[-1] == "1 ok, 2 not, 1 left out", done)
        done = call([sys.executable, SCRIPT, tool, "--from", root, "--into", f"{folder}/built", "--only", "/scan$"], env=where)
        expect(done.status == 0 and done.out == "scan: ok\n1 ok, 0 not, 0 left out\n", done)
        add_sample(root, "endless", "#include <unistd.h>\nint main() { for (;;) sleep(1); }\n")
        done = call([sys.executable, SCRIPT, tool, "--from", root, "--into", f"{folder}/built", "--only", "/endless$", "--seconds", "1"], env=where)
        expect(done.status == 1 and done.out.startswith("endless: not done after 1 s\n"), done)
        left = [p for p in glob.glob("/proc/[0-9]*/exe") if runs(p, f"{folder}/built/endless")]
        expect(not left, left)
        done = call([sys.executable, SCRIPT, tool, "--from", root, "--into", f"{folder}/built", "--only", "nosuch"], env=where)
        expect(done.status == 1 and "has no sample `nosuch`" in done.err, done)


if __name__ == "__main__":
    main()
