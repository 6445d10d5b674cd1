#!/usr/bin/env python3
"""Commands that are ended while they wait for a pipe or a compiler: the message of --time-limit names their work at that point, and
neither it nor a signal leaves files or programs. Output paths that are symbolic links."""
import json
import os
import pty
import signal
import subprocess
import sys
import tempfile
import time

from tile_runner import PATIENCE, call, fail

KERNEL = """kernel copy(i32 n, const f32 *a, f32 *c) grid(1) warps(1)
{
    global f32 A[n] = a, C[n] = c;
    C[0 +: n] = A[0 +: n];
}
"""
CUDA = "__global__ void k(float *a) { a[threadIdx.x] = 1; }\n"
RUN = ["run", "k.tile", "--set", "n=4"]
CHECK_CUDA = ["check", "k.cu", "--arg", "f32[32]:zero", "--block", "32", "--compiler", "./slow/clang"]


def make(folder):
    for name, text in (("k.tile", KERNEL.replace("0 +: n", "0 +: 32")), ("k.cu", CUDA), ("slow/clang", "#!/bin/sh\necho $$ >pid\nsleep 600\n")):
        os.makedirs(os.path.dirname(f"{folder}/{name}"), exist_ok=True)
        with open(f"{folder}/{name}", "w") as out:
            out.write(text)
    os.chmod(f"{folder}/slow/clang", 0o755)
    os.mkfifo(f"{folder}/pipe")
    os.mkdir(f"{folder}/tmp")


def start(tool, folder, command):
    return subprocess.Popen([tool, *command], cwd=folder, env={**os.environ, "TMPDIR": f"{folder}/tmp"}, stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def expect_nothing_left(folder, command):
    if os.listdir(f"{folder}/tmp"):
        fail(f"{command} left {os.listdir(f'{folder}/tmp')}")
    with open(f"{folder}/pid") as file:
        child = int(file.read())
    for _ in range(int(PATIENCE * 10)):
        try:
            os.kill(child, 0)
        except ProcessLookupError:
            return
        with open(f"/proc/{child}/stat") as file:
            if file.read().split(")")[1].split()[0] == "Z":  # ended; its parent is the process that adopts orphans
                return
        time.sleep(0.1)
    fail(f"{command} left the compiler running")


def test_limits(tool, folder):
    limit = ["--time-limit", "0.2"]
    waiting = [([*RUN, "--in", "a=pipe"], "reading pipe"), (["check", "pipe"], "reading pipe"), (["show", "pipe"], "reading pipe"),
               (["explain", "pipe"], "reading pipe"), (["build", "pipe"], "reading pipe"), (CHECK_CUDA, "running ./slow/clang")]
    running = [(command, says, start(tool, folder, command + limit)) for command, says in waiting]
    for command, says, process in running:
        said = process.communicate(timeout=PATIENCE)
        if process.returncode != 1 or said[1] != f"tilewright: time is up (--time-limit 0.2): {says}\n":
            fail(f"{command}: {process.returncode} {said}")
    expect_nothing_left(folder, CHECK_CUDA)


def test_json(tool, folder):
    """With --json the status tells it, and earlier results remain."""
    limit = ["--json", "--time-limit", "0.3"]
    waiting = [([*RUN, "--in", "a=pipe"], "reading pipe"), (["check", "k.tile", "pipe"], "reading pipe"), (["explain", "pipe"], "reading pipe"),
               (["show", "pipe"], "reading pipe"), (["run", *CHECK_CUDA[1:]], "running ./slow/clang"), (CHECK_CUDA, "running ./slow/clang")]
    running = [(command, says, start(tool, folder, command + limit)) for command, says in waiting]
    for command, says, process in running:
        said, status = json.loads(process.communicate(timeout=PATIENCE)[0]), process.returncode
        report = said[-1] if isinstance(said, list) else said
        message = (report.get("findings") or report["messages"])[0]
        if status != 1 or report["status"] != "TW_CANCELLED" or report["ok"] or report["kernel"] or message["code"] != "cancelled" or \
                message["text"] != f"time is up (--time-limit 0.3): {says}":
            fail(f"{command}: {status} {said}")
    done = call([tool, "check", "k.tile", *limit[:1]], cwd=folder)
    if [k["status"] for k in json.loads(done.out)] != ["TW_OK"]:
        fail(f"check: {done}")
    endless = ["check", "endless.tile", "--fill", "c=zero", *limit]
    done = call([tool, *endless], cwd=folder)
    if done.status != 1 or [k["status"] for k in json.loads(done.out)] != ["TW_CANCELLED"]:
        fail(f"{endless}: {done}")


def test_status(tool, folder):
    """A command that a limit of the library ends has status 1, too."""
    with open(f"{folder}/endless.tile", "w") as out:
        out.write("kernel endless(i32 n, f32 *c) grid(1) warps(1)\n{\n    global f32 C[n] = c;\n"
                  "    for (i32 p = 0; p < n; p += 0)\n        C[p] = 1;\n}\n")
    done = call([tool, "explain", "endless.tile", "--set", "n=32", "--step-limit", "100000000000", "--time-limit", "0.3"], cwd=folder)
    if done.status != 1 or "time is up (--time-limit)" not in done.err:
        fail(f"explain: {done}")
    auto = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../kernels/matmul/auto.tile")
    for command in (["build", auto, "--set", "n=4096,k=4096", "--no-cubin"], ["explain", auto], ["check", auto, auto]):
        done = call([tool, *command, "--time-limit", "0.0001"], cwd=folder)
        if done.status != 1 or "time is up (--time-limit" not in done.err:
            fail(f"{command}: {done}")


def test_signals(tool, folder):
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        os.unlink(f"{folder}/pid")
        process = start(tool, folder, CHECK_CUDA)
        for _ in range(int(PATIENCE * 10)):
            if os.path.exists(f"{folder}/pid") and os.path.getsize(f"{folder}/pid"):
                break
            time.sleep(0.1)
        process.send_signal(number)
        process.communicate(timeout=PATIENCE)
        if process.returncode != -number:
            fail(f"signal {number}: {process.returncode}")
        expect_nothing_left(folder, CHECK_CUDA)


def test_shown(tool, folder):
    """On a terminal a line names long work, and is erased before anything else is printed."""
    here, there = pty.openpty()
    process = subprocess.Popen([tool, "run", "endless.tile", "--set", "n=32", "--time-limit", "2.5"], cwd=folder, stdout=there, stderr=there,
                               env={**os.environ, "TERM": "xterm"})
    os.close(there)
    said = b""
    try:
        while data := os.read(here, 4096):
            said += data
    except OSError:  # the terminal is closed
        pass
    os.close(here)
    if process.wait() != 1 or b"\r\x1b[Krunning endless: 1 s" not in said or b"\r\x1b[Ktilewright: `endless` did not end" not in said:
        fail(f"on a terminal: {said}")


def test_links(tool, folder):
    """A link to a file that does not exist yet is followed; links in a circle are refused."""
    run = ["run", "k.tile", "--set", "n=32", "--fill", "a=iota"]
    for link, target in (("out.npy", "made.npy"), ("far.npy", "none/made.npy"), ("circle.npy", "circle.npy"), ("copy.h", "made.h")):
        os.symlink(target, f"{folder}/{link}")
    for link, status in (("out.npy", 0), ("far.npy", 1), ("circle.npy", 1)):
        done = call([tool, *run, "--out", f"c={link}"], cwd=folder)
        if (done.status == 0) != (status == 0) or not os.path.islink(f"{folder}/{link}"):
            fail(f"--out through {link}: {done}")
    done = call([tool, "build", "k.tile", "--no-cubin"], cwd=folder)
    if done.status or not os.path.islink(f"{folder}/copy.h"):
        fail(f"build through a link: {done}")
    for made in ("made.npy", "made.h"):
        if not os.path.exists(f"{folder}/{made}"):
            fail(f"{made} is not there")


def main():
    tool = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        make(folder)
        test_limits(tool, folder)
        test_status(tool, folder)
        test_json(tool, folder)
        test_signals(tool, folder)
        test_links(tool, folder)
        test_shown(tool, folder)
    print("ok")


if __name__ == "__main__":
    main()
