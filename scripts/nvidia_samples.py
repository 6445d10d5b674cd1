#!/usr/bin/env python3
"""NVIDIA's public CUDA samples under `tilewright check`: fetches them at one commit, builds those that need nothing but nvcc, and runs each.

    nvidia_samples.py TILEWRIGHT [--from FOLDER] [--into FOLDER] [--only PATTERN] [--seconds N]

--from: a checkout that is there already, instead of fetching. --into: folder for the programs and their reports (default samples); each sample has a
folder in it, where it runs. --only: a regular expression of the samples' folders. A line says for each sample what came of it; the status is 1 if one
failed or was not clean. The CMake file of a sample says what it needs. The samples stay outside of this repository: they have their own licence.
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
# Names in the CMake file of a sample that needs another library or a window.
NEEDS = re.compile(r"CUDA::(\w+)|\b(OpenGL|GLUT|GLEW|EGL|Vulkan|MPI|FreeImage|OpenMP|NVSCI\w*|NVVM|DIRECTX\w*|X11)\b", re.IGNORECASE)
RUNTIME = {"cudart", "cudart_static", "toolkit", "cuda_driver"}
PTX = ["-gencode", "arch=compute_90,code=compute_90"]
WAIVED = 2  # the status of a sample that finds that this GPU cannot run it


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


def cmake_of(folder):
    """Returns the text of a sample's CMake file, without comments and with the values of its variables."""
    with open(os.path.join(folder, "CMakeLists.txt"), encoding="utf-8", errors="replace") as f:
        text = re.sub(r"#.*", "", f.read())
    for name, value in re.findall(r"\bset\(\s*(\w+)\s+([^)]*)\)", text):
        text = text.replace(f"${{{name}}}", value)
    return text


def other_needs(cmake):
    """Returns the names of the other libraries in a CMake file."""
    found = {first or second for first, second in NEEDS.findall(cmake)}
    return sorted(name for name in found if name.lower() not in RUNTIME)


def nvcc(*words):
    """Returns None, or the first error."""
    done = run(["nvcc", "-std=c++17", "-lineinfo", *PTX, *words])
    errors = [line for line in (done.stderr + done.stdout).splitlines() if "error" in line or "undefined" in line]
    return None if done.returncode == 0 else (errors or ["nvcc failed"])[0]


def add_files(folder, cmake, into, common):
    """Copies the data of a sample, and compiles the modules that it loads itself, as its CMake file says. Returns None, or the first error."""
    for copied in re.findall(r"copy(?:_if_different)?\s+\$\{CMAKE_CURRENT_SOURCE_DIR\}/(\S+)", cmake):
        path = os.path.join(folder, copied.strip('"'))
        if not os.path.exists(path):
            return f"{path} is not there"
        shutil.copy(path, into)
    if os.path.isdir(f"{folder}/data"):
        shutil.copytree(f"{folder}/data", f"{into}/data", dirs_exist_ok=True)
    module = r'-o\s+"?\$\{CMAKE_CURRENT_BINARY_DIR\}/([\w.]+)"?\s+(-fatbin|-ptx)\s+"?\$\{CMAKE_CURRENT_SOURCE_DIR\}/([\w.]+)'
    for made, form, source in re.findall(module, cmake):
        wrong = nvcc(f"-I{common}", "-o", f"{into}/{made}", form, f"{folder}/{source}")
        if wrong:
            return wrong
    return None


def build(folder, cmake, common, program):
    """Returns None, or the first error."""
    listed = re.search(r"\badd_executable\(\s*\S+([^)]*)\)", cmake).group(1).split()
    sources = [os.path.join(folder, name) for name in listed if re.search(r"\.(cu|cpp|cc|c)$", name)]
    parts = ["-rdc=true"] if re.search(r"CUDA_SEPARABLE_COMPILATION\s+ON", cmake) else []
    links = ["-lcuda"] if "CUDA::cuda_driver" in cmake else []
    into = os.path.dirname(program)
    return add_files(folder, cmake, into, common) or nvcc("--extended-lambda", *parts, f"-I{common}", "-o", program, *sources, *links)


def check(tool, program, seconds):
    """Runs a program in its folder. Returns what came of it, "ok" if nothing was found."""
    with subprocess.Popen([tool, "check", "--", program], cwd=os.path.dirname(program), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          errors="replace", start_new_session=True) as started:
        try:
            out, err = started.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(started.pid, signal.SIGKILL)  # the sample, too
            return f"not done after {seconds} s"
    with open(f"{program}.txt", "w", encoding="utf-8") as f:
        f.write(out + err)
    kinds = sorted(set(re.findall(r"^(?:\S+: )?error: ([a-z-]+): ", err, re.MULTILINE)))
    if started.returncode == WAIVED and not kinds and "tilewright: " not in err:
        return "left out: it says that it needs another GPU"
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
    listed = sorted(glob.glob(f"{root}/Samples/*/*/CMakeLists.txt") + glob.glob(f"{root}/cpp/*/*/CMakeLists.txt"))
    if not listed:
        sys.exit(f"nvidia_samples.py: {root} has no CMake files of samples (Samples/*/*/CMakeLists.txt): those before CUDA 12.8 have none")
    samples = [(os.path.dirname(f), cmake_of(os.path.dirname(f))) for f in listed if re.search(given.only, os.path.dirname(f))]
    samples = [(folder, cmake) for folder, cmake in samples if "add_executable(" in cmake]
    if not samples:
        sys.exit(f"nvidia_samples.py: {root} has no sample `{given.only}`")
    clean = failed = 0
    for folder, cmake in samples:
        name, needs = os.path.basename(folder), other_needs(cmake)
        program = os.path.abspath(os.path.join(given.into, name, name))
        os.makedirs(os.path.dirname(program), exist_ok=True)
        said = f"left out: it needs {', '.join(needs)}" if needs else build(folder, cmake, f"{root}/Common", program)
        if said and not needs:
            said = f"not built: {said}"
        said = said or check(os.path.abspath(given.tool), program, given.seconds)
        clean += said == "ok"
        failed += said != "ok" and not said.startswith("left out: ")
        print(f"{name}: {said}", flush=True)
    print(f"{clean} ok, {failed} not, {len(samples) - clean - failed} left out")
    sys.exit(failed != 0)


if __name__ == "__main__":
    main()
