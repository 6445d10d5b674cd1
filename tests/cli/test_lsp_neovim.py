#!/usr/bin/env python3
"""The language server in Neovim, started by editors/nvim: diagnostics, quick fix, hover, definition, completion and formatting on a
shipped kernel. Skipped without Neovim."""
import json
import os
import shutil
import subprocess
import sys
import tempfile

from tile_runner import PATIENCE, expect

PLUGINS = "set rtp^=editors/vim,editors/nvim"


def main():
    tool, program = os.path.abspath(sys.argv[1]), shutil.which("nvim")
    if not program:
        print("skipped: Neovim is not installed (on Debian the package neovim)")
        sys.exit(77)
    text = open("kernels/matmul/shared.tile").read()
    brace = text.index("{\n", text.index("kernel")) + 2
    text = text[:brace] + "    /* é😀 */ int x = 3; // é😀\n" + text[brace:]
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/a b é.tile", "w") as out:
            out.write(text)
        given = {"TILE_FILE": f"{folder}/a b é.tile", "TILE_TOOL": tool, "TILE_RESULT": f"{folder}/result.json", "HOME": folder,
                 "XDG_STATE_HOME": folder, "XDG_CACHE_HOME": folder}
        done = subprocess.run([program, "--headless", "-i", "NONE", "-u", "NONE", "--cmd", PLUGINS, "-c", "luafile tests/cli/neovim_session.lua"],
                              env={**os.environ, **given}, capture_output=True, text=True, timeout=PATIENCE)
        expect(os.path.exists(given["TILE_RESULT"]), f"no result: {done.returncode} {done.stdout} {done.stderr}")
        found = json.load(open(given["TILE_RESULT"]))
    expect("error" not in found, f"{found} {done.stderr}")
    expect(found["diagnostic1"][1:] == ["int", 1] and "write `i32`" in found["diagnostic1"][0], found)
    expect(found["fix"] == "write `i32`" and found["fixed"] == "    /* é😀 */ i32 x = 3; // é😀", found)
    expect("reg f32 acc[" in found["hover"] and "on sm_80" in found["hover"] and "elements a thread" in found["hover"], found["hover"])
    expect("reg f32 acc[" in found["definition"][0] and found["definition"][1] == "acc", found)
    expect("reg f32 acc[" in found["completion"][0] and found["completion"][1] == "dot(…)" and found["completion"][2] == "", found)
    expect(found["formatted"].startswith("        sync(); ") and found["formatted"].endswith("// é😀"), found)


if __name__ == "__main__":
    main()
