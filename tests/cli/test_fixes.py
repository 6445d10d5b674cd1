#!/usr/bin/env python3
"""Fixes in messages: applied to the text, they remove their message.

    test_fixes.py TILEWRIGHT

Tries every fix of every program in tests/errors, one by one. Fixes turn kernels of CUDA C as users paste them (tests/pasted) into
kernels that pass `check`; the matrix products also give the right values. Every line of a kernel that is `sync();` or `async_wait(…);`
is removed in turn: if `check` reports that, its fixes make the kernel clean again."""
import collections
import glob
import json
import os
import re
import sys
import tempfile

from tile_runner import call, expect, fail

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
ROUNDS = 20
# The least number of messages with a fix, and of removed lines that the fix restores byte for byte.
MESSAGES, SAME = 80, 20
TAKEN = re.compile(r"^[ \t]*(sync\(\)|async_wait\([^)\n]*\));\n", re.M)


def found(tool, folder, text):
    path = os.path.join(folder, "k.tile")
    with open(path, "wb") as out:
        out.write(text)
    done = call([tool, "check", "k.tile", "--no-run", "--json"], cwd=folder)
    return done.status, [f for kernel in json.loads(done.out or "[]") for f in kernel["findings"]]


def apply(text, fixes):
    """Applies the changes of fixes; a change that was made already, or overlaps others, is left out."""
    starts = [0] + [i + 1 for i, byte in enumerate(text) if byte == ord("\n")]
    made = []
    for fix in fixes:
        changes = [(starts[e["line"] - 1] + e["column"] - 1, e["delete"], e["insert"].encode()) for e in fix]
        overlaps = any(a < c + d and c < a + b for a, b, _ in changes for c, d, _ in made)
        if not overlaps and not set(changes) & set(made):
            made += changes
    for at, length, insert in reversed(sorted(made, key=lambda change: change[0])):
        text = text[:at] + insert + text[at + length:]
    return text


def messages(findings):
    return collections.Counter(re.sub(r"\d+", "0", f["text"]) for f in findings)


def check_each(tool, folder):
    """Checks that the fix of each message leaves one such message less."""
    fixed = 0
    for path in sorted(glob.glob(f"{ROOT}/tests/errors/*.tile")):
        text = open(path, "rb").read()
        if b"// command:" in text:
            continue
        _, before = found(tool, folder, text)
        for finding in before:
            if not finding["fix"]:
                continue
            fixed += 1
            _, after = found(tool, folder, apply(text, [finding["fix"]]))
            said = re.sub(r"\d+", "0", finding["text"])
            if messages(after)[said] >= messages(before)[said] and len(before) < 20: # only the first 20 are printed
                fail(f"{path}: the fix of {json.dumps(finding, indent=1)}\nleaves the message: {json.dumps(after, indent=1)}")
    expect(fixed >= MESSAGES, f"{fixed} messages have fixes")
    return fixed


def check_kernels(tool, folder, chosen):
    same = other = unsaid = 0
    for path in sorted(glob.glob(f"{ROOT}/kernels/*/*.tile")):
        whole = open(path).read()
        for line in TAKEN.finditer(whole) if chosen in path else ():
            text = (whole[:line.start()] + whole[line.end():]).encode()
            status, findings = found(tool, folder, text)
            rounds = 0
            while status and rounds < ROUNDS:
                expect(any(f["fix"] for f in findings), f"{path} without {line[0]!r}: no fix of {json.dumps(findings, indent=1)}")
                text = apply(text, [f["fix"] for f in findings])
                status, findings = found(tool, folder, text)
                rounds += 1
            expect(status == 0, f"{path} without {line[0]!r}: after {rounds} rounds {json.dumps(findings, indent=1)}")
            same += text == whole.encode()
            other += rounds > 0 and text != whole.encode()
            unsaid += rounds == 0
    return same, other, unsaid


# The `ensures` of each pasted kernel, and sizes for it. tiled_whole.cu requires multiples of its tile but does not say it, so it only has
# to compile.
PASTED = {"naive": ("C == dot(A, B)", "M=37,N=41,K=29"), "tiled": ("C == dot(A, B)", "M=37,N=41,K=29"),
          "tiled_whole": ("C == dot(A, B)", "N=64"), "saxpy": None, "histogram": None, "transpose": ("out == trans(in)", "width=37,height=70")}


def check_pasted(tool, folder):
    for path in sorted(glob.glob(f"{ROOT}/tests/pasted/*.cu")):
        name = os.path.splitext(os.path.basename(path))[0]
        text = open(path, "rb").read()
        status, findings = found(tool, folder, text)
        for _ in range(ROUNDS):
            if status:
                text = apply(text, [f["fix"] for f in findings])
                status, findings = found(tool, folder, text)
        expect(status == 0, f"{name}: {json.dumps(findings, indent=1)}\n{text.decode()}")
        if name != "tiled_whole":
            done = call([tool, "check", "k.tile"], cwd=folder)
            expect(done.status == 0, f"{name}: {done}\n{text.decode()}")
        if PASTED[name]:
            ensures, sizes = PASTED[name]
            with open(os.path.join(folder, "k.tile"), "wb") as out:
                out.write(text.rstrip()[:-1] + f"    ensures {ensures};\n}}\n".encode())
            for device in ("cpu", "sim"):
                done = call([tool, "run", "k.tile", "--set", sizes, "--fill", "rand", "--verify", "--device", device], cwd=folder)
                expect(done.status == 0, f"{name} on {device}: {done}\n{text.decode()}")


def main():
    tool = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        every = "--all" in sys.argv
        print(check_each(tool, folder), "messages of tests/errors have fixes")
        check_pasted(tool, folder)
        same, other, unsaid = check_kernels(tool, folder, "" if every else "sgemm")
        print(f"{same} removed lines were restored byte for byte, {other} as other statements; {unsaid} were not reported as missing")
        expect(same >= (SAME if every else 8), "too few")


if __name__ == "__main__":
    main()
