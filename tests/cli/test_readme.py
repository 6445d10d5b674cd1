#!/usr/bin/env python3
"""README.md and docs/first-kernel.md show the kernel that they name, word for word; the C program of docs/howto/from-c.md builds with an
installed library."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

from tile_runner import PATIENCE, fail

LISTING = re.compile(r"`(kernels/[^`]*\.tile)`.*?^```c\n(.*?)^```$", re.M | re.S)
PROGRAM = re.compile(r"^```c\n(#include.*?)^```$", re.M | re.S)
PKG_CONFIG = re.compile(r"`(cc [^`]*\$\(pkg-config[^`]*)`")


def test_listing(page):
    """Checks that the first listing of the page is the kernel named above it."""
    found = LISTING.search(open(page).read())
    if not found:
        fail(f"{page}: no listing found")
    path, listing = found.groups()
    if open(path).read() != listing:
        fail(f"{page} does not show {path} as it is")


def run(command, **options):
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, **options)
    if done.returncode != 0:
        fail(f"{command}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def test_installed(text, build):
    """Checks the command with pkg-config, for a library installed into a folder."""
    if not shutil.which("pkg-config") or not shutil.which("cmake"):
        return
    with tempfile.TemporaryDirectory() as folder:
        run(["cmake", "--install", build, "--prefix", f"{folder}/usr"])
        found = [os.path.join(at, "") for at, _, files in os.walk(folder) if "tilewright.pc" in files]
        libraries = os.path.dirname(os.path.dirname(found[0]))
        with open(f"{folder}/example.c", "w") as out:
            out.write(PROGRAM.search(text).group(1))
        os.symlink(os.path.abspath("kernels"), f"{folder}/kernels")
        compiler = " ".join([os.environ.get("CC", "cc"), os.environ.get("CFLAGS", "")])
        command = compiler + " -Wall -Wextra -Werror" + PKG_CONFIG.search(text).group(1)[2:]
        environment = dict(os.environ, PKG_CONFIG_PATH=found[0], LD_LIBRARY_PATH=libraries)
        run(["sh", "-c", command], cwd=folder, env=environment)
        out = run(["./example"], cwd=folder, env=environment)
        if out != "success: c = 4, 10\n":
            fail(f"the installed library's example prints {out}")


def main():
    test_listing("README.md")
    test_listing("docs/first-kernel.md")
    test_installed(open("docs/howto/from-c.md").read(), os.path.dirname(os.path.abspath(sys.argv[1])))


if __name__ == "__main__":
    main()
