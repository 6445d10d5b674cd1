#!/usr/bin/env python3
"""NVIDIA's public CUDA samples under `tilewright check`: fetches them at one commit, builds those that need nothing but nvcc, and runs each.

    nvidia_samples.py TILEWRIGHT [--from FOLDER] [--into FOLDER] [--only PATTERN] [--seconds N]

--from: a checkout that is there already, instead of fetching. --into: folder for the programs and their reports (default samples). A line says for each
sample what came of it; the status is 1 if one failed or was not clean. The samples stay outside of this repository: they have their own licence.
"""
import argparse
import glob
import os
import re
import shutil
import signal
import subprocess
import sys

SOURCE = "https://github.com/NVIDIA/cuda-samples.git"
COMMIT = "35a407d5799a3022e4f7340b28a6856bf87d977d"
# Names in the CMake file of a sample that needs another library, a window, or several GPUs.
NEEDS = re.compile(r"CUDA::(\w+)|\b(OpenGL|GLUT|GLEW|EGL|Vulkan|MPI|FreeImage|OpenMP|NVSCI\w*|NVVM|DIRECTX\w*|X11)\b", re.IGNORECASE)
RUNTIME = {"cudart", "cudart_static", "toolkit"}


def run(command, **options):
    return subprocess.run(command, capture_output=True, text=True, errors="replace", check=False, **options)


def fetch(into):
    """Fetches the one commit. Returns its folder."""
    folder = os.path.join(into, "cuda-samples")
    if not os.path.isdir(os.path.join(folder, ".git")):
        run(["git", "init", "-q", folder])
    for command in (["fetch", "-q", "--depth", "1", SOURCE, COMMIT], ["checkout", "-q", "FETCH_HEAD"]):
        done = run(["git", "-C", folder, *command])
        if done.returncode:
            sys.exit(f"nvidia_samples.py: git {' '.join(command)}: {done.stderr.strip()}; --from names a checkout that is there already")
    return folder


def other_needs(folder):
    """Returns the names of the other libraries in the CMake file of a sample."""
    with open(os.path.join(folder, "CMakeLists.txt"), encoding="utf-8", errors="replace") as f:
        found = {first or second for first, second in NEEDS.findall(f.read())}
    return sorted(name for name in found if name.lower() not in RUNTIME)


def build(folder, common, program):
    """Returns None, or the first error."""
    sources = sorted(glob.glob(f"{folder}/*.cu") + glob.glob(f"{folder}/*.cpp"))
    done = run(["nvcc", "-std=c++17", "--extended-lambda", "-lineinfo", "-cudart", "shared", "-gencode", "arch=compute_90,code=compute_90",
                f"-I{common}", "-o", program, *sources])
    errors = [line for line in (done.stderr + done.stdout).splitlines() if "error" in line or "undefined" in line]
    return None if done.returncode == 0 else (errors or ["nvcc failed"])[0]


def check(tool, program, folder, seconds):
    """Runs a program in its folder. Returns what came of it, "ok" if nothing was found."""
    with subprocess.Popen([tool, "check", "--", program], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace",
                          start_new_session=True) as started:
        try:
            out, err = started.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(started.pid, signal.SIGKILL)  # the sample, too
            return f"not done after {seconds} s"
    with open(f"{program}.txt", "w", encoding="utf-8") as f:
        f.write(out + err)
    kinds = sorted(set(re.findall(r"^(?:\S+: )?error: ([a-z-]+): ", err, re.MULTILINE)))
    return "ok" if started.returncode == 0 else f"status {started.returncode}, {', '.join(kinds) or 'no finding'}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tool")
    parser.add_argument("--from", dest="checkout")
    parser.add_argument("--into", default="samples")
    parser.add_argument("--only", default="")
    parser.add_argument("--seconds", type=int, default=120)
    given = parser.parse_args()
    if not shutil.which("nvcc"):
        sys.exit("nvidia_samples.py: there is no nvcc on PATH")
    os.makedirs(given.into, exist_ok=True)
    root = os.path.abspath(given.checkout or fetch(given.into))
    folders = [os.path.dirname(f) for f in sorted(glob.glob(f"{root}/Samples/*/*/CMakeLists.txt")) if re.search(given.only, os.path.dirname(f))]
    if not folders:
        sys.exit(f"nvidia_samples.py: {root}/Samples has no sample `{given.only}`")
    clean = failed = 0
    for folder in folders:
        name, needs = os.path.basename(folder), other_needs(folder)
        program = os.path.abspath(os.path.join(given.into, name))
        said = f"left out: it needs {', '.join(needs)}" if needs else build(folder, f"{root}/Common", program)
        if said and not needs:
            said = f"not built: {said}"
        said = said or check(os.path.abspath(given.tool), program, folder, given.seconds)
        clean += said == "ok"
        failed += said != "ok" and not needs
        print(f"{name}: {said}", flush=True)
    print(f"{clean} ok, {failed} not, {len(folders) - clean - failed} left out")
    sys.exit(failed != 0)


if __name__ == "__main__":
    main()
