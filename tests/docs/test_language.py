#!/usr/bin/env python3
"""Runs every Tilewright source block of the documents.

    test_language.py TILEWRIGHT FILE.md… [--bless]

A block that opens with ```tile is a whole module: `tilewright check` must accept it, and each `// run: ARGUMENTS` line in it runs the
kernel that follows, verified if it has an `ensures`. A block that opens with ```tile error must be refused, and one with ```tile
warning must get a warning; the ```text block after it is the message, with the file shown as example.tile; --bless rewrites those.
"""
import os
import re
import shlex
import subprocess
import sys
import tempfile

BLOCK = re.compile(r"^```tile( error| warning)?\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.M | re.S)


def call(tool, *arguments, cwd):
    done = subprocess.run([tool, *arguments], cwd=cwd, capture_output=True, text=True, timeout=500)
    return done.returncode, done.stdout, done.stderr


def kernels_with_runs(text):
    """Returns (kernel name, arguments) for each run line; the kernel is the next one in the text."""
    pending = []
    for line in text.splitlines():
        if line.startswith("// run:"):
            pending.append(line[len("// run:"):])
        match = re.match(r"kernel (\w+)", line)
        if match:
            for arguments in pending:
                yield match.group(1), arguments
            pending = []


def main():
    bless = "--bless" in sys.argv
    tool, *files = [a for a in sys.argv[1:] if a != "--bless"]
    tool = os.path.abspath(tool)
    blocks = failed = 0
    for file in files:
        text = open(file).read()

        def visit(match):
            nonlocal blocks, failed
            blocks += 1
            is_error, source, message = match.groups()
            line = text.count("\n", 0, match.start()) + 1
            with tempfile.TemporaryDirectory() as folder:
                with open(os.path.join(folder, "example.tile"), "w") as out:
                    out.write(source)
                # the simulator would report these as errors
                static = ["--no-run"] if is_error else []
                status, printed, said = call(tool, "check", *static, "example.tile", cwd=folder)
                if is_error:
                    if (status == 0) == (is_error == " error"):
                        print(f"{file}:{line}: should be refused (or warned of), and is not")
                        failed += 1
                    elif bless:
                        body = match.group(0)[: match.group(0).index("```\n", 8) + 4]
                        return f"{body}\n```text\n{said}```\n"
                    elif said != (message or ""):
                        print(f"{file}:{line}: the message differs:\n--- document\n{message}--- compiler\n{said}")
                        failed += 1
                    return match.group(0)
                if status != 0:
                    print(f"{file}:{line}: check gives {status}:\n{printed}{said}")
                    failed += 1
                for kernel, arguments in kernels_with_runs(source):
                    verify = ["--verify"] if "ensures" in source else []
                    status, printed, said = call(tool, "run", f"example.tile:{kernel}", *shlex.split(arguments), *verify, cwd=folder)
                    if status != 0:
                        print(f"{file}:{line}: {kernel}{arguments} gives {status}:\n{printed}{said}")
                        failed += 1
            return match.group(0)

        new = BLOCK.sub(visit, text)
        if bless and new != text:
            with open(file, "w") as out:
                out.write(new)
    print(f"{blocks} blocks, {failed} failures")
    return 1 if failed or not blocks else 0


if __name__ == "__main__":
    sys.exit(main())
