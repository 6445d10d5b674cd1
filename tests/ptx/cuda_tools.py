#!/usr/bin/env python3
"""Reads the PTX of real compilers, prints it again, and checks that its meaning is the same.

    cuda_tools.py PROGRAM [--quick] [-j N] [NAME…]

Each cuda/*.cu is compiled by nvcc -ptx -lineinfo at three levels of optimisation, and by clang if that has a target for it; text/*.ptx
is used as it is. PROGRAM IN OUT (ptx_again.c) parses, verifies and prints; ptxas assembles both; the machine code must be equal.
--quick: a few kernels at one level. Without nvcc or ptxas nothing is tested; a message tells that, and the status is 0.

A file's first lines may have `// arch: sm_90a` (sm_80 otherwise) and `// nvcc: options`.
"""
import argparse
import concurrent.futures
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
LEVELS = {"O0": ["-Xcicc", "-O0"], "O1": ["-Xcicc", "-O1"], "O3": ["-O3"], "G": ["-G"]}
DEBUG = ["calls", "structs", "matmul_shared"]  # compiled for debuggers too: -G
NO_BITS = 8
QUICK = ["matmul_registers", "calls", "assembly", "half", "switches", "constants"]


def sections(path):
    """Returns name -> bytes of an ELF file's sections that hold code, initialised data, information for the linker and the driver
    (relocations, .nv.info) and the lines of the code."""
    data = open(path, "rb").read()
    offset, = struct.unpack_from("<Q", data, 0x28)
    size, count, names_index = struct.unpack_from("<HHH", data, 0x3A)
    headers = [struct.unpack_from("<IIQQQQIIQQ", data, offset + i * size) for i in range(count)]
    names = data[headers[names_index][4]:][:headers[names_index][5]]
    found = {}
    for name, kind, _, _, start, length, *_ in headers:
        text = names[name:names.index(b"\0", name)].decode()
        if re.match(r"\.nv\.(shared|local)", text):
            found[text] = length  # the file has no bytes for these
        elif re.match(r"\.(rela?\.)?(text|nv\.constant|nv\.global|nv\.info|rodata|debug_line)", text):
            found[text] = data[start:start + length] if kind != NO_BITS else length
    return found


def directive(text, word, default):
    match = re.search(rf"^// {word}: (.*)$", text, re.M)
    return match.group(1).split() if match else default


def run(command):
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode:
        raise RuntimeError(f"{' '.join(command[:6])} …: {result.stderr.strip()[:1500]}")
    return result.stdout + result.stderr


def compare(program, ptx, arch, folder, label):
    again = os.path.join(folder, label + ".again.ptx")
    run([program, ptx, again])
    cubins = []
    for i, text in enumerate((ptx, again)):
        cubin = os.path.join(folder, f"{label}.{i}.cubin")
        run(["ptxas", "-arch=" + arch, "-c", text, "-o", cubin])
        cubins.append(sections(cubin))
    if cubins[0] != cubins[1]:
        names = set(cubins[0]) | set(cubins[1])
        different = sorted(n for n in names if cubins[0].get(n) != cubins[1].get(n))
        raise RuntimeError(f"{label}: other machine code in {', '.join(different)}")
    if not any(name.startswith(".text") for name in cubins[0]):
        raise RuntimeError(f"{label}: no code")


def one_nvcc(program, path, level, folder):
    text = open(path).read()
    arch = directive(text, "arch", ["sm_80"])[0]
    name = os.path.splitext(os.path.basename(path))[0]
    label = f"{name}.{level}"
    ptx = os.path.join(folder, label + ".ptx")
    run(["nvcc", "-ptx", "-lineinfo", "-arch=" + arch, *LEVELS[level],
         *directive(text, "nvcc", []), path, "-o", ptx])
    compare(program, ptx, arch, folder, label)
    return label


def one_clang(program, path, level, folder):
    """Compiles CUDA without NVIDIA's headers: only kernels that need none (clang/*.cu)."""
    name = os.path.splitext(os.path.basename(path))[0]
    label = f"{name}.clang.{level}"
    ptx = os.path.join(folder, label + ".ptx")
    run(["clang", "-x", "cuda", "--cuda-device-only", "--cuda-gpu-arch=sm_80", "-nocudainc", "-nocudalib",
         "-S", "-" + level, "-gline-tables-only", "-Xclang", "-target-feature", "-Xclang", "+ptx70", path, "-o", ptx])
    compare(program, ptx, "sm_80", folder, label)
    return label


def one_text(program, path, level, folder):
    """Reads PTX that no compiler writes."""
    label = os.path.splitext(os.path.basename(path))[0] + ".text"
    arch = re.search(r"^\.target (\w+)", open(path).read(), re.M).group(1)
    compare(program, path, arch, folder, label)
    return label


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("-j", type=int, default=2)
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    missing = [tool for tool in ("nvcc", "ptxas") if not shutil.which(tool)]
    if missing:
        print("left out: no", " and no ".join(missing))
        return 0
    folder_of = {"nvcc": os.path.join(HERE, "cuda"), "clang": os.path.join(HERE, "clang")}
    jobs = []
    for compiler, function in (("nvcc", one_nvcc), ("clang", one_clang)):
        if not shutil.which(compiler):
            print("left out: no", compiler)
            continue
        for file in sorted(os.listdir(folder_of[compiler])):
            name = os.path.splitext(file)[0]
            if file.endswith(".cu") and (not args.names or name in args.names):
                if args.quick and compiler == "nvcc" and name not in QUICK:
                    continue
                levels = ["O3"] if args.quick else ["O0", "O1", "O3"]
                if compiler == "nvcc" and name in DEBUG and not args.quick:
                    levels.append("G")
                jobs += [(function, os.path.join(folder_of[compiler], file), level) for level in levels]
    texts = os.path.join(HERE, "text")
    for file in sorted(os.listdir(texts)):
        if not args.names or os.path.splitext(file)[0] in args.names:
            jobs.append((one_text, os.path.join(texts, file), ""))
    bad = 0
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(args.j) as pool:
        futures = [pool.submit(f, args.program, path, level, folder) for f, path, level in jobs]
        for future in futures:
            try:
                future.result()
            except RuntimeError as error:
                bad += 1
                print(error)
    print(f"{len(jobs) - bad} of {len(jobs)} the same")
    return 1 if bad else 0


sys.exit(main())
