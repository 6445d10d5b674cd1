"""Shared functions of the runners: calling the program, reading comments of .tile files, comparing with a golden."""
import difflib
import os
import re
import shutil
import subprocess
import sys

PATIENCE = 500  # longest time of a program in seconds: only a hang takes longer, on any machine; a test has more (tests/CMakeLists.txt)


class Result:
    def __init__(self, status, out, err):
        self.status, self.out, self.err = status, out, err

    def __str__(self):
        return f"status {self.status}\n--- standard output\n{self.out}--- standard error\n{self.err}"


def call(command, cwd=None, env=None, timeout=PATIENCE, given=None):
    """Runs the program with the text `given` on standard input; returns its result. A crash (a signal, a sanitizer) always fails the test."""
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, timeout=timeout, input=given and given.encode())
    result = Result(done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace"))
    if done.returncode < 0 or "Sanitizer" in result.err or "internal error" in result.err:
        fail(f"{' '.join(map(str, command))} crashed: {result}")
    return result


def call_on(folder, text, command, status):
    """Writes the text to k.tile in the folder and runs the command there; returns its result. Any other status
    than the given one fails the test."""
    with open(f"{folder}/k.tile", "w") as out:
        out.write(text)
    result = call(command, cwd=folder)
    if result.status != status:
        fail(f"{command[1:]}: status {result.status}, not {status}: {result}\n{text}")
    return result


# The places where tools/cli/cuda_source.c looks for the compilers.
CUDA_COMPILERS = {"nvcc": ["nvcc", "/usr/local/cuda/bin/nvcc"], "clang": ["clang", *[f"clang-{n}" for n in range(20, 13, -1)]]}


def cuda_compiler(*kinds):
    """Returns true if one of the given compilers ("nvcc", "clang") can compile CUDA C here; without arguments, if
    any can."""
    return any(shutil.which(name) for kind in kinds or CUDA_COMPILERS for name in CUDA_COMPILERS[kind])


def fail(text):
    print(text)
    sys.exit(1)


def expect(condition, what):
    """Fails, printing the actual value, unless the condition holds."""
    if not condition:
        fail(str(what))


def not_ignored(folder, besides=()):
    """Returns the files that a document's command left in the folder and that .gitignore does not list, so a user
    might commit them. The folder looks like a checkout. Without git, returns none."""
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    if not shutil.which("git"):
        return []
    shutil.copy(f"{root}/.gitignore", f"{folder}/.gitignore")
    there = {"cwd": folder, "env": {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}}
    subprocess.run(["git", "init", "-q"], check=True, capture_output=True, **there)
    shown = subprocess.run(["git", "status", "--porcelain", "-uall"], check=True, capture_output=True, text=True, **there).stdout
    return sorted({line[3:] for line in shown.splitlines()} - {".gitignore", *besides})


def comments(text, word):
    """Returns the texts after "// word:"."""
    return re.findall(rf"^// {word}: *(.*?) *$", text, re.M)


def compare(path, got, bless):
    """Compares got with the file at path; `bless` writes it instead."""
    want = open(path).read() if os.path.exists(path) else None
    if got == want:
        return
    if bless:
        with open(path, "w") as out:
            out.write(got)
        print(f"written: {path}")
        return
    if want is None:
        fail(f"{path} is missing (--bless writes it); it would be:\n{got}")
    lines = difflib.unified_diff(want.splitlines(True), got.splitlines(True), path, "what came out")
    fail("".join(lines) + "\n(--bless rewrites it)")


def arguments():
    """Returns (program, files, bless) from the command line."""
    bless = "--bless" in sys.argv
    tool, *files = [a for a in sys.argv[1:] if a != "--bless"]
    return os.path.abspath(tool), files, bless
