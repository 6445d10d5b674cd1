#!/usr/bin/env python3
"""Text of files, stores and other programs is shown without characters that a terminal obeys: escape sequences, control characters, marks
that turn the direction of text, broken UTF-8. Letters of any alphabet remain. JSON remains JSON."""
import json
import os
import pty
import re
import sqlite3
import subprocess
import sys
import tempfile

from tile_runner import call, expect, fail

ESCAPE, CSI, TURN = "\x1b[31m", "\u009b31m", "\u202e"
HARMFUL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")

PTX = """.version 7.8
.target sm_80
.address_size 64
.file 1 "FILE"
.extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);
.global .align 8 .b8 text[9] = {104, 27, 91, 51, 49, 109, 105, 10, 0};
.visible .entry k(.param .u64 p0)
{
.reg .b64 %rd<4>; .reg .b32 %r<2>;
.loc 1 1 1
ld.param.u64 %rd1, [p0]; cvta.to.global.u64 %rd1, %rd1;
mov.u64 %rd2, text; cvta.global.u64 %rd2, %rd2;
{
.param .b64 f; .param .b64 a; .param .b32 r;
st.param.b64 [f], %rd2; st.param.b64 [a], 0;
call (r), vprintf, (f, a);
}
ACCESS
ret;
}
"""
TILE = """
kernel k(i32 n, f32 *a) grid(1) warps(1)
{
    global f32 A[n] = a;
    STATEMENT
    A[0 +: 32] = 1;
}
"""


def clean(result, *shown):
    """Checks that the output has these texts and nothing harmful."""
    text = result.out + result.err
    found = HARMFUL.search(text)
    if found:
        fail(f"{found.group()!r} is printed: {text!r}")
    for part in shown:
        if part not in text:
            fail(f"{part!r} is not in {text!r}")


def write(folder, name, text):
    path = os.path.join(folder, name)
    with open(path, "wb") as out:
        out.write(text if isinstance(text, bytes) else text.encode())
    return path


def test_ptx(tool, folder):
    name = f"é{ESCAPE}{CSI}{TURN}.cu"
    write(folder, "k.ptx", PTX.replace("FILE", name).replace("ACCESS", "st.global.u32 [%rd1+1000000], 7;"))
    argument = ["--block", "32", "--arg", "f32[4]:zero"]
    for command in (["check", "-v"], ["check", "--counters"], ["run"], ["run", "--device", "sim"]):
        result = call([tool, command[0], "k.ptx", *argument, *command[1:]], cwd=folder)
        if command[0] == "run": # in a pipe, the program's own output is not changed
            result.out = result.out.replace("h\x1b[31mi\n", "")
        if result.status == 2:
            continue
        expect(result.status == 1, result)
        clean(result, "é\\x1b[31m\\u009b31m\\u202e.cu")
    result = call([tool, "check", "k.ptx", *argument, "--json"], cwd=folder)
    clean(result)
    found = [x["file"] for x in json.loads(result.out)["findings"] if x.get("file")] if "findings" in json.loads(result.out) else []
    expect(all(x == name for x in found), result)


def test_source(tool, folder):
    write(folder, "k.tile", TILE.replace("STATEMENT", f"x{TURN}y = 1; // {ESCAPE} é".encode().decode()))
    clean(call([tool, "check", "k.tile"], cwd=folder), "é")
    write(folder, "k.tile", TILE.encode().replace(b"STATEMENT", b"x = \x9b\xff \x1b[2J\x07;"))
    clean(call([tool, "check", "k.tile"], cwd=folder), "k.tile:5:")
    result = call([tool, "check", "--json", "k.tile"], cwd=folder)
    clean(result)
    json.loads(result.out)
    path = f"a{ESCAPE}{TURN}.tile" # names of files are shown like other text
    write(folder, path, TILE.replace("STATEMENT", "x = 1;"))
    for options in ([], ["--json"]):
        clean(call([tool, "check", *options, path], cwd=folder))
    clean(call([tool, "run", f"no{ESCAPE}"], cwd=folder), "no\\x1b[31m")


def test_npy(tool, folder):
    write(folder, "k.tile", TILE.replace("STATEMENT", ""))
    header = f"{{'descr': '{ESCAPE}{CSI}', 'fortran_order': False, 'shape': (32,), }}".encode("latin-1")
    header += b" " * (118 - len(header) - 1) + b"\n"
    write(folder, "a.npy", b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + bytes(128))
    result = call([tool, "run", "k.tile", "--in", "a=a.npy", "--set", "n=32"], cwd=folder)
    expect(result.status == 2, result)
    clean(result)
    clean(call([tool, "run", "k.tile", "--in", "a=a.npy", "--set", "n=32", "--json"], cwd=folder))


def on_terminal(command, folder):
    """Returns the standard output of a command that runs on a terminal."""
    here, there = pty.openpty()
    subprocess.run(command, cwd=folder, stdout=there, stderr=subprocess.DEVNULL, check=False, timeout=500)
    os.close(there)
    got = b""
    try:
        while piece := os.read(here, 65536):
            got += piece
    except OSError: # all is read
        pass
    os.close(here)
    return got.decode(errors="replace").replace("\r\n", "\n")


def test_output_of_programs(tool, folder):
    """The output passes byte for byte in a pipe; a terminal gets nothing that it obeys."""
    write(folder, "k.ptx", PTX.replace("FILE", "a.cu").replace("ACCESS", ""))
    write(folder, "k.tile", TILE.replace("STATEMENT", 'print("h\\x1b[31mi é");' if False else f'print("h{ESCAPE}i é");'))
    for command, said in (([tool, "run", "k.ptx", "--block", "1", "--arg", "f32[4]:zero"], "h\x1b[31mi\n"),
                          ([tool, "run", "k.tile", "--set", "n=32"], "h\x1b[31mi é")):
        result = call(command, cwd=folder)
        if result.status == 2 and "k.tile" in command: # the language has no such string
            clean(result)
            continue
        expect(result.status == 0 and said in result.out, result)
        text = on_terminal(command, folder)
        expect(not HARMFUL.search(text) and "h\\x1b[31mi" in text, repr(text))


def test_store(tool, folder):
    store = os.path.join(folder, "store.db")
    write(folder, "k.tile", "tune W = {1, 2};\n" + TILE.replace("warps(1)", "warps(W)").replace("STATEMENT", ""))
    result = call([tool, "tune", "k.tile", "--set", "n=32", "--device", "cpu", "--store", store], cwd=folder)
    expect(result.status == 0, result)
    with sqlite3.connect(store) as db:
        for (table,) in db.execute("select name from sqlite_master where type = 'table'").fetchall():
            for column in db.execute(f"pragma table_info({table})").fetchall():
                if column[1] in ("kernel", "device", "types", "why"):
                    db.execute(f"update {table} set {column[1]} = {column[1]} || ?", (ESCAPE + CSI + TURN + "é",))
    db.close()
    for options in (["--list"], ["--export", "json"], ["--export", "c"]):
        result = call([tool, "tune", *options, "--store", store], cwd=folder)
        clean(result, *(["\\x1b[31m\\u009b31m\\u202eé"] if options == ["--list"] and result.status == 0 else []))


def test_compiler(tool, folder):
    """Messages of the CUDA C compiler, which quote the source."""
    compiler = write(folder, "clang", f"#!/bin/sh\nprintf 'k.cu:1:1: error: \\033[31m%s\\n' '{TURN}é' >&2\nexit 1\n")
    os.chmod(compiler, 0o755)
    write(folder, "k.cu", "__global__ void k() {}\n")
    result = call([tool, "check", "k.cu", "--compiler", compiler, "--block", "1"], cwd=folder)
    expect(result.status == 2, result)
    clean(result, "\\x1b[31m\\u202eé")


def main():
    tool = os.path.abspath(sys.argv[1])
    for test in (test_ptx, test_source, test_npy, test_output_of_programs, test_store, test_compiler):
        with tempfile.TemporaryDirectory() as folder:
            test(tool, folder)


main()
