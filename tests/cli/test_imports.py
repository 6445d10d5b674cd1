#!/usr/bin/env python3
"""`import "file.tile";`: the search path, the texts that a program consists of, the places in messages and traces."""
import json
import os
import re
import sys
import tempfile

from tile_runner import call, expect

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
KERNEL = """import "part.tile";
kernel k(i32 n, f32 *c) grid(1) warps(1)
{
    global f32 C[n] = c;
    shared f32 s[32] = 0;
    C[0 +: 32] = more(s);
}
"""
PART = """fn reg f32[N] more(shared f32 s[N])
{
    reg f32 y[N] = s + %d;
    return y;
}
"""


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as out:
        out.write(text)


def test_places(tool, folder):
    """The importing file's folder comes first, then -I, then $TILEWRIGHT_PATH, then the shipped files."""
    plain = KERNEL.replace("shared f32 s[32] = 0;", "shared f32 s[32] = 0;\n    sync();")
    write(f"{folder}/own/k.tile", plain)
    places = [f"{folder}/environment", f"{folder}/second", f"{folder}/first", f"{folder}/own"]
    command = [tool, "run", f"{folder}/own/k.tile", "--set", "n=1", "-I", places[2], "-I", places[1]]
    environment = {**os.environ, "TILEWRIGHT_PATH": f"/no/such:{places[0]}"}
    missing = call(command, env=environment)
    looked = [f"{place}/part.tile" for place in reversed(places)]
    expect(missing.status == 2 and all(f"`{place}`" in missing.err for place in looked), missing)
    expect([missing.err.index(f"`{p}`") for p in looked[:3]] == sorted(missing.err.index(f"`{p}`") for p in looked[:3]), missing)
    for i, place in enumerate(places):
        write(f"{place}/part.tile", PART % i)
        got = call(command, env=environment)
        expect(got.status == 0 and f"[{float(i)}]" in got.out, f"{place}: {got}")
    write(f"{folder}/own/ships.tile", 'import "lib/activations.tile";\nkernel k(f32 *c) grid(1) warps(1)\n{\n    global f32 C[1][1] = c;\n'
                                      "    reg f32 x[1][1] = -1;\n    C = relu(x);\n}\n")
    got = call([tool, "run", f"{folder}/own/ships.tile"])
    expect(got.status == 0, got)


def test_no_regular_files(tool, folder):
    """Devices and pipes may have no end; a very long file is refused, too."""
    os.makedirs(f"{folder}/odd/folder", exist_ok=True)
    os.mkfifo(f"{folder}/odd/pipe")
    with open(f"{folder}/odd/long.tile", "wb") as out:
        out.truncate((16 << 20) + 1)
    for name, why in (("/dev/zero", "`/dev/zero`: it is a device or a pipe"), ("pipe", "odd/pipe`: it is a device or a pipe"),
                      ("folder", "odd/folder`: it is a folder"), ("long.tile", "odd/long.tile`: it has more than 16 MiB")):
        write(f"{folder}/odd/k.tile", f'import "{name}";\n' + PART)
        for command in ("check", "run"):
            got = call([tool, command, f"{folder}/odd/k.tile"])
            expect(got.status == 2 and "k.tile:1:8: error: cannot import `" in got.err and why in got.err
                   and "a regular file of at most 16 MiB" in got.err, got)


def test_folders(tool, folder):
    """The search passes by a folder that has the file's name; an import names a file."""
    write(f"{folder}/own/k.tile", KERNEL.replace("part.tile", "part").replace("s[32] = 0;", "s[32] = 0;\n    sync();"))
    os.makedirs(f"{folder}/own/part")
    write(f"{folder}/other/part", PART % 5)
    got = call([tool, "run", f"{folder}/own/k.tile", "--set", "n=1", "-I", f"{folder}/other"])
    expect(got.status == 0 and "[5.0]" in got.out, got)
    got = call([tool, "run", f"{folder}/own/k.tile", "--set", "n=1"])
    expect(got.status == 2 and "own/part`: it is a folder" in got.err and "looked for" in got.err, got)
    write(f"{folder}/own/k.tile", KERNEL.replace("part.tile", ""))
    got = call([tool, "check", f"{folder}/own/k.tile"])
    expect(got.status == 2 and 'k.tile:1:8: error: this `import` names no file: write `import "FILE.tile";`' in got.err, got)


def test_standard_input(tool, folder):
    """A program from a pipe imports from the working directory."""
    write(f"{folder}/piped/part.tile", PART % 1)
    program = KERNEL.replace("shared f32 s[32] = 0;", "shared f32 s[32] = 0;\n    sync();")
    got = call([tool, "run", "-", "--set", "n=1"], cwd=f"{folder}/piped", given=program)
    expect(got.status == 0 and "[1.0]" in got.out, got)


def test_messages(tool, folder):
    """A race, a trace and PTX have the line of the imported file."""
    write(f"{folder}/k.tile", KERNEL)
    write(f"{folder}/part.tile", PART % 1)
    found = call([tool, "check", "k.tile", "--json"], cwd=folder)
    races = [f for f in json.loads(found.out)[0]["findings"] if f["kind"] == "race"]
    expect(found.status == 1 and races, found)
    places = re.findall(r'"file": "(\w+\.tile)", "line": (\d+)', json.dumps(races))
    expect(("part.tile", "3") in places and ("k.tile", "5") in places, places)
    ptx = call([tool, "show", "k.tile", "--stage", "ptx", "--device", "sm_90", "--despite-races"], cwd=folder)
    if ptx.status != 0:
        write(f"{folder}/k.tile", KERNEL.replace("C[0", "sync();\n    C[0"))
        ptx = call([tool, "show", "k.tile", "--stage", "ptx", "--device", "sm_90"], cwd=folder)
    number = re.search(r'\.file (\d+) "part\.tile"', ptx.out)
    expect(number and re.search(rf"\.loc {number[1]} 3 ", ptx.out), ptx)
    shown = call([tool, "show", "k.tile"], cwd=folder)
    write(f"{folder}/shown.tile", shown.out)
    again = call([tool, "run", "shown.tile", "--set", "n=1"], cwd=folder)
    expect("import" not in shown.out and again.status == 0 and "[1.0]" in again.out, f"{shown}{again}")


def test_program(tool, folder):
    """A change in an import makes another program; a comment in it does not."""
    write(f"{folder}/k.tile", KERNEL.replace("C[0", "sync();\n    C[0").replace("kernel", "tune Q = {1, 2};\nrequire(Q > 0);\nkernel")
          .replace("= 0;", "= Q;"))
    texts = [PART % 1, PART % 1 + "// more\nkernel other(f32 *c) grid(1) warps(1) { }\n", PART % 2]
    programs = []
    for text in texts:
        write(f"{folder}/part.tile", text)
        store = f"{folder}/store{len(programs)}.db"
        got = call([tool, "tune", "k.tile", "--set", "n=1", "--store", store, "--budget", "1s"], cwd=folder)
        if got.status != 0 and "SQLite" in got.err:
            return
        listed = call([tool, "tune", "--export", "json", "--store", store], cwd=folder)
        found = re.findall(r'"program": ?"(\w+)"', listed.out)
        expect(got.status == 0 and found, f"{got}{listed}")
        programs.append(found[0])
    expect(programs[0] == programs[1] != programs[2], programs)


def main():
    tool = os.path.abspath(sys.argv[1])
    for test in (test_places, test_no_regular_files, test_folders, test_standard_input, test_messages, test_program):
        with tempfile.TemporaryDirectory() as folder:
            test(tool, os.path.realpath(folder))


if __name__ == "__main__":
    main()
