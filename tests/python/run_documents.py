#!/usr/bin/env python3
"""Runs the commands that a document shows.

    run_documents.py TILEWRIGHT FILE.md…

In a ```sh block each line is a command (a trailing backslash continues it; text after " #" is a comment). If lines start with "$ ", the
lines between them are the command's output: standard output, then standard error; "…" stands in for any text within a line, and a line
"…" for any lines. A comment line above the block, <!-- status 1 -->, gives the expected status. Commands run in a folder that looks
like a checkout, with build/ the build under test. Not run: ./dev, git, sudo and package managers, which set up the machine and are run
in other ways; commands on CUDA C if no compiler for it is installed, and CUDA programs without nvcc or in a build without their libraries. .gitignore must list the files that commands leave in the folder.

The GPU of the documents is the driver library of the tests (tests/cuda).

A comment line <!-- file: mine/NAME --> above a block makes it a file for the commands that follow.

A ```c block that holds "int main" is compiled as example.c, linked with the static library and run. A command `cc …` is run with the
build's compiler and flags.
"""
import fnmatch
import os
import re
import subprocess
import sys
import tempfile

from tile_runner import PATIENCE, arguments, cuda_compiler, fail, not_ignored

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BLOCK = re.compile(r"(?:^<!-- (?:status (\d+)|file: (\S+)) -->\n)?^```(\w+)\n(.*?)^```$", re.M | re.S)
NOT_RUN = ("./dev", "git ", "cd ", "sudo ", "apt", "dnf ", "pacman ", "cmake ", "ctest ", "tests/", "PYTHONPATH=")


def split_commands(block):
    """Returns (command, expected lines or None) for each command of a block."""
    prompted = any(line.startswith("$ ") for line in block.splitlines())
    found = []
    continued = False
    for line in block.splitlines():
        if continued:
            found[-1][0] += "\n" + line
        elif prompted and not line.startswith("$ "):
            if found:
                found[-1][1].append(line)
            continue
        elif line.strip() and not line.startswith("#"):
            found.append([line[2:] if prompted else line, []])
        else:
            continue
        continued = line.endswith("\\")
    return [(command, lines if prompted and lines else None) for command, lines in found]


def pattern(lines):
    """Returns a regular expression for the expected output."""
    parts = []
    for line in lines:
        if line.strip() in ("…", "..."):
            parts.append(r"(?:.*\n)*?")
        else:
            parts.append(r".*?".join(re.escape(p) for p in re.split("…|\\.\\.\\.", line.rstrip())) + r"[ ]*\n")
    return "".join(parts)


def make_checkout(folder, tool):
    """Fills the folder with links to the files of ROOT and to the build. It leaves out the files that readers of
    the documents made in ROOT, because a command that writes one again would write through the link."""
    with open(os.path.join(ROOT, ".gitignore")) as file:
        made = [line.strip().strip("/") for line in file if line.startswith("/")]
    for name in os.listdir(ROOT):
        if not name.startswith((".", "build")) and not any(fnmatch.fnmatch(name, pattern) for pattern in made):
            os.symlink(os.path.join(ROOT, name), os.path.join(folder, name))
    for name in "build", "build-test":
        os.symlink(os.path.dirname(tool), os.path.join(folder, name))


def is_program(command):
    """Returns true for a command that builds or runs a CUDA program."""
    return "nvcc " in command or re.search(r"tilewright \w+ .*-- ", command)


def run_commands(path, line, block, status, folder, environment):
    for command, lines in split_commands(block):
        if is_program(command) and not (cuda_compiler("nvcc") and os.path.exists(f"{folder}/build/app")):
            continue
        if command.lstrip().startswith(NOT_RUN) or (".cu " in command and not cuda_compiler()):
            continue
        if command.startswith("cc "):
            command = " ".join([os.environ.get("CC", "cc"), os.environ.get("CFLAGS", ""), command[3:]])
        done = subprocess.run(["sh", "-c", command], cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              timeout=PATIENCE)
        if done.returncode != status:
            fail(f"{path}:{line}: $ {command}\nstatus {done.returncode}, expected {status}\n{done.stdout}")
        if lines is not None and not re.fullmatch(pattern(lines), done.stdout):
            fail(f"{path}:{line}: $ {command}\nprints\n{done.stdout}\nthe document says\n" + "\n".join(lines))


def run_program(path, line, block, folder, environment):
    with open(os.path.join(folder, "example.c"), "w") as out:
        out.write(block)
    compiler = os.environ.get("CC", "cc")
    flags = os.environ.get("CFLAGS", "").split()
    for command in ([compiler, *flags, "-std=c17", "-Wall", "-Iinclude", "example.c", "build/libtilewright.a", "-lm", "-lpthread", "-ldl", "-o", "example"],
                    ["./example"]):
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=PATIENCE)
        if done.returncode != 0:
            fail(f"{path}:{line}: {' '.join(command)}: status {done.returncode}\n{done.stdout}{done.stderr}")


def main():
    tool, files, _ = arguments()
    environment = dict(os.environ, PATH=os.pathsep.join([os.path.dirname(tool), os.path.dirname(sys.executable), os.environ["PATH"],
                                                          "/usr/local/cuda/bin"]),
                       TILEWRIGHT_CUDA_DRIVER=os.environ["FAKE_CUDA"])
    environment.pop("TILEWRIGHT_PTXAS", None)  # a reader has the real ptxas or none, unless the document sets this variable
    for path in files:
        text = open(path).read()
        with tempfile.TemporaryDirectory() as folder:
            make_checkout(folder, tool)
            checkout = [*os.listdir(folder), "tuned.db", "learnt"]
            environment["TILEWRIGHT_STORE"] = os.path.join(folder, "tuned.db") # not the user's own
            environment["TILEWRIGHT_LEARN"] = os.path.join(folder, "learnt")
            for match in BLOCK.finditer(text):
                status, file, kind, block = match.groups()
                line = text.count("\n", 0, match.start()) + 1
                if file:
                    os.makedirs(os.path.join(folder, os.path.dirname(file)), exist_ok=True)
                    with open(os.path.join(folder, file), "w") as out:
                        out.write(block)
                elif kind == "sh":
                    run_commands(path, line, block, int(status or 0), folder, environment)
                elif kind == "c" and "int main" in block:
                    run_program(path, line, block, folder, environment)
            left = not_ignored(folder, checkout)
            if left:
                fail(f"{path}: its commands write {' '.join(left)}, which .gitignore does not have")


if __name__ == "__main__":
    main()
