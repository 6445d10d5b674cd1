#!/usr/bin/env python3
"""The text of PTX, for any names of files, kernels and variables: it is ASCII that ptxas accepts (skipped without ptxas), and it reads
back with the same meaning, from us and from other compilers."""
import json
import os
import shutil
import subprocess
import sys
import tempfile

from tile_runner import call, fail

PTXAS = shutil.which("ptxas") or shutil.which("/usr/local/cuda/bin/ptxas")
PATHS = ["\u00e9 \u732b.tile", 'quote".tile', "back\\slash.tile", "tab\tend.tile", "$x`y`'z.tile", "007.tile"]
# (text of a compiler, the path that it means)
WRITTEN = [("\\303\\251.cu", "\u00e9.cu"), ("a\\042b.cu", 'a"b.cu'), ('a\\"b.cu', 'a"b.cu'), ("a\\\\b.cu", "a\\b.cu"), ("a\\134\\\\", "a\\\\"),
           ("a\\q.cu", "a\\q.cu"), ("a\\0607", "a07")]
BEYOND = """kernel k(i32 n, f32 *a) grid(1) threads(32)
{
    global f32 A[n] = a;
    A[thread.x] = 1;
}
"""
# A kernel, a scalar, a local array, and an array of the caller that all have one name.
NAMED = """kernel %(name)s(i32 %(scalar)s, const f32 *a, f32 *o) grid(1) threads(32)
{
    global f32 A[200] = a, O[32] = o;
    f32 %(array)s[200];
    for (i32 i = 0; i < 200; i++)
        %(array)s[i] = A[i];
    f32 x = %(array)s[%(scalar)s + thread.x];
    print("x", x);
    O[thread.x] = x + 1;
    ensures O == 2;
}
"""
NAMES = ["WARP_SZ", "_", "function_name", "inlined_at", "vprintf", "arguments", "text_0", "row_2", "print_float", "add", "entry", "k", "__"]


def need(truth, what):
    if not truth:
        fail(what)


def assemble(text, folder, what, assembler=PTXAS):
    need(text.isascii(), f"{what}: {ascii(text)}")
    with open(f"{folder}/assembled.ptx", "w") as out:
        out.write(text)
    if assembler:
        said = subprocess.run([assembler, "-arch=sm_80", "-O0", f"{folder}/assembled.ptx", "-o", f"{folder}/x.cubin"], capture_output=True,
                              text=True)
        need(said.returncode == 0, f"{what}: {said.stderr}")


def place_of(tool, ptx, folder, *options):
    said = call([tool, "check", ptx, "--block", "32", "--arg", "i32:4", "--arg", "f32[4]:none", "--json", *options], cwd=folder)
    found = json.loads(said.out)["findings"]
    need(said.status == (1 if found else 0), said)
    return found[0]["file"] if found else None


def test_paths(tool, folder):
    for path in PATHS:
        with open(f"{folder}/{path}", "w") as out:
            out.write(BEYOND)
        text = call([tool, "show", path, "--stage", "ptx"], cwd=folder).out
        assemble(text, folder, path)
        need(place_of(tool, "assembled.ptx", folder) == path, f"{path}: {place_of(tool, 'assembled.ptx', folder)}")


def test_other_compilers(tool, folder):
    with open(f"{folder}/beyond.tile", "w") as out:
        out.write(BEYOND)
    ours = call([tool, "show", "beyond.tile", "--stage", "ptx"], cwd=folder).out
    for written, path in WRITTEN:
        text = ours.replace('"beyond.tile"', f'"{written}"')
        assemble(text, folder, written, None if '\\"' in written else PTXAS)  # which ptxas refuses
        need(place_of(tool, "assembled.ptx", folder) == path, f"{written}: {place_of(tool, 'assembled.ptx', folder)}")
        with open(f"{folder}/known", "w") as out:
            out.write(f"* {path}:4\n")
        need(place_of(tool, "assembled.ptx", folder, "--suppress", "known") is None, f"{path} is not suppressed")


def test_names(tool, folder):
    for name in NAMES:
        for form in ({"name": name, "array": name}, {"name": name, "scalar": name}):
            with open(f"{folder}/named.tile", "w") as out:
                out.write(NAMED % {"name": "k1", "scalar": "s1", "array": "a1", **form})
            assemble(call([tool, "show", "named.tile", "--stage", "ptx"], cwd=folder).out, folder, f"{name} {form}")
        said = call([tool, "run", "named.tile", "--set", f"{name}=3", "--fill", "ones", "--device", "sim", "--verify"], cwd=folder)
        need(said.status == 0 and "verified: 32 elements" in said.out, f"{name}: {said}")


def main():
    tool = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        test_paths(tool, folder)
        test_other_compilers(tool, folder)
        test_names(tool, folder)


if __name__ == "__main__":
    main()
