#!/usr/bin/env python3
"""Runs and verifies the kernels of a file by the comments above each, and compares the simulator's values with the CPU engine's.
The simulator watches for races.

    run_parity.py TILEWRIGHT FILE.tile…

    // run: --set m=5 --fill rand     runs the kernel that follows with these arguments, and verifies it if it has an `ensures`;
                                      without any, `--fill rand`; with a --device, there alone
    // any-order: NAME                the values of this array depend on the order of threads
    // expect-output: TEXT            each run must print TEXT
    // expect-error: TEXT             `check` must refuse the file (status 1 or 2) with TEXT in the message
    // expect-fault: TEXT             each run must end with status 1 and TEXT in the message
Comments precede the kernel that they are for; expect-error is for the whole file. Each kernel must pass the static checks too.
"""
import os
import re
import shlex
import tempfile

try:
    import numpy as np
except ImportError:
    np = None  # the kernels run all the same

from tile_runner import arguments, call, comments, fail

SIMULATORS = "sim:sm_80", "sim:sm_90"  # the first that takes the kernel

KERNEL = re.compile(r"^kernel\s+(\w+)", re.M)


def kernels(text):
    """Returns (name, comments before it, its text) for each kernel."""
    starts = [m.start() for m in KERNEL.finditer(text)]
    begin = 0
    for i, start in enumerate(starts):
        end = starts[i + 1] if i + 1 < len(starts) else len(text)
        body_end = text.find("\n}\n", start)
        body_end = body_end + 3 if body_end >= 0 else end
        yield KERNEL.match(text, start).group(1), text[begin:start], text[start:body_end]
        begin = body_end


def expect_error(tool, path, wanted):
    result = call([tool, "check", os.path.basename(path)], cwd=os.path.dirname(path))
    if result.status not in (1, 2):
        fail(f"{path} should be refused: {result}")
    for text in wanted:
        if text not in result.err:
            fail(f"{path}: no '{text}' in the message: {result}")


def differ(a, b):
    """Integers have the same bits; the engines may sum floats in different orders."""
    if a.tobytes() == b.tobytes():
        return False
    if a.dtype.kind in "iub":
        return True
    allowed = 1e-12 if a.dtype == np.float64 else 1e-5
    a, b = a.astype(np.float64), b.astype(np.float64)
    with np.errstate(invalid="ignore"):
        near = np.isfinite(a) & np.isfinite(b) & (np.abs(a - b) <= allowed * (1 + np.abs(a)))
    return not (near | (a == b) | np.isnan(a) & np.isnan(b)).all()


def compare_engines(tool, kernel, given, names):
    """names: of the arrays that the kernel writes."""
    with tempfile.TemporaryDirectory() as folder:

        def run(device):
            outputs = [x for name in names for x in ("--out", f"{name}={folder}/{name}.npy")]
            watched = ["--despite", "race"] if device != "cpu" else []
            result = call([tool, "run", kernel, *shlex.split(given), "--device", device, *watched, *outputs])
            return result, [np.load(f"{folder}/{name}.npy") if np and result.status == 0 else None for name in names]

        on_cpu, (on_simulator, there) = run("cpu")[1], run(SIMULATORS[0])
        if on_simulator.status == 2:
            on_simulator, there = run(SIMULATORS[1])
        if on_simulator.status != 0 or "error: race" in on_simulator.err:
            fail(f"{kernel} {given} on the simulator: {on_simulator}")
        for name, a, b in zip(names, on_cpu, there):
            if np and differ(a, b):
                fail(f"{kernel} {given}: {name} is\n{b}\non the simulator, not\n{a}")


def run_kernel(tool, path, name, before, body):
    faults, outputs = comments(before, "expect-fault"), comments(before, "expect-output")
    written = [name for kind, name in re.findall(r"(const )?\b\w+ \*(\w+)", body[: body.index("{")]) if not kind]
    names = [name for name in written if name not in comments(before, "any-order")]
    verify = ["--verify"] if re.search(r"^\s*ensures\b", body, re.M) and not faults else []
    for given in comments(before, "run") or ["--fill rand"]:
        result = call([tool, "run", f"{path}:{name}", *shlex.split(given), *verify])
        if result.status != (1 if faults else 0):
            fail(f"{name} {given}: {result}")
        for text in outputs:
            if text not in result.out:
                fail(f"{name} {given}: '{text}' is not printed: {result}")
        if "--device" not in given and not faults:
            compare_engines(tool, f"{path}:{name}", given, names)
        for text in faults:
            if text not in result.err:
                fail(f"{name} {given}: no '{text}' in the message: {result}")


def main():
    tool, files, _ = arguments()
    for path in files:
        text = open(path).read()
        wanted = comments(text, "expect-error")
        if wanted:
            expect_error(tool, os.path.abspath(path), wanted)
            continue
        found = list(kernels(text))
        if not found:
            fail(f"{path} has no kernel")
        result = call([tool, "check", path, "--no-run"])
        if result.status != 0:
            fail(f"check {path}: {result}")
        for name, before, body in found:
            run_kernel(tool, path, name, before, body)


if __name__ == "__main__":
    main()
