#!/usr/bin/env python3
"""--watch: a command runs again when a file that it read is saved. The test reads the command's output through pipes, saves a file when
the command prints that it watches, and waits for the next run: it measures no time."""
import os
import pty
import queue
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading

import numpy as np
from tile_runner import call, fail

HANGS = 120  # seconds until a test gives up

ADD = """kernel add(i32 n, const f32 *a, f32 *c) grid(cdiv(n, 4)) warps(1)
{
    global f32 A[n] = a, C[n] = c;
    f32 x[4] = A[4 * block.x +: 4];
    C[4 * block.x +: 4] = x + %s;
    ensures C == A + %s;
}
"""
WATCHES = re.compile(r"^\d\d:\d\d:\d\d status (\d+), watching (.*) \(Ctrl-C ends\)$")
SAVED = re.compile(r"^\d\d:\d\d:\d\d saved: (.*)$")


class Watch:
    """A command that watches. Each run ends with its status, the files and the text of both streams."""

    def __init__(self, tool, folder, *words, terminal=False):
        self.lines, self.words, out = queue.Queue(), words, subprocess.PIPE
        if terminal:
            self.screen, out = pty.openpty()
        self.process = subprocess.Popen([tool, *words], cwd=folder, stdout=out, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
                                        env={**os.environ, "TERM": "xterm"})
        if terminal:
            os.close(out)
        streams = [(self.process.stderr.readline, "err"), (self.process.stdout.readline if not terminal else self.read_screen, "out")]
        for read, name in streams:
            threading.Thread(target=self.pass_on, args=(read, name), daemon=True).start()

    def read_screen(self):
        try:
            return os.read(self.screen, 65536)
        except OSError:  # the other end is closed
            return b""

    def pass_on(self, read, name):
        for line in iter(read, b""):
            self.lines.put((name, line.decode()))
        self.lines.put((name, None))

    def run(self):
        """Returns the next run, up to the line that it watches. Its earlier output is in the pipe by then."""
        said = {"out": "", "err": ""}
        while True:
            name, line = self.lines.get(timeout=HANGS)
            if line is None:
                fail(f"{self.words} ended: {said}")
            found = WATCHES.match(line.rstrip("\n")) if name == "err" else None
            if found:
                break
            said[name] += line
        return int(found.group(1)), found.group(2), said

    def end(self, status):
        self.process.send_signal(signal.SIGINT)
        if self.process.wait(timeout=HANGS) != status:
            fail(f"{self.words} ended with {self.process.returncode}, the last run with {status}")


def write(path, text):
    with open(path, "w") as file:
        file.write(text)


def replace(path, text):
    write(path + "~", text)
    os.replace(path + "~", path)


def expect(what, ok, found):
    if not ok:
        fail(f"{what}: {found}")


def saved(run):
    return next((SAVED.match(line).group(1) for line in run[2]["err"].split("\n") if SAVED.match(line)), None)


def test_run(tool, folder):
    """Saves in place, by a rename, through another link; arrays; a mistake in the program."""
    path = f"{folder}/add.tile"
    write(path, ADD % ("1.0", "1.0"))
    np.save(f"{folder}/a.npy", np.arange(4, dtype="f4"))
    w = Watch(tool, folder, "run", "add.tile", "--in", "a=a.npy", "--verify", "--out", "c=c.npy", "--watch")
    first = w.run()
    expect("the first run", first[0] == 0 and first[1] == "add.tile and a.npy" and saved(first) is None, first)
    for save in (write, replace):
        save(path, ADD % ("2.0", "3.0"))
        run = w.run()
        expect(f"wrong values, {save}", run[0] == 1 and saved(run) == "add.tile", run)
        save(path, ADD % ("2.0", "2.0"))
        expect("right again", w.run()[0] == 0, run)
    np.save(f"{folder}/a.npy", np.full(4, 7, "f4"))
    run = w.run()
    expect("another array", run[0] == 0 and saved(run) == "a.npy" and (np.load(f"{folder}/c.npy") == 9).all(), run)
    write(path, "kernel add(")
    run = w.run()
    expect("a program that does not compile", run[0] == 2 and "add.tile:1:" in run[2]["err"], run)
    os.link(path, f"{folder}/link.tile")  # no event in the folder names add.tile
    os.makedirs(f"{folder}/elsewhere", exist_ok=True)
    os.rename(f"{folder}/link.tile", f"{folder}/elsewhere/link.tile")
    write(f"{folder}/elsewhere/link.tile", ADD % ("4.0", "4.0"))
    run = w.run()
    expect("saved by another name", run[0] == 0 and saved(run) == "add.tile", run)
    os.remove(path)
    while not w.lines.get(timeout=HANGS)[1].startswith("add.tile is gone; waiting"):
        pass
    write(path, ADD % ("4.0", "5.0"))
    expect("removed, and written again", w.run()[0] == 1, "")
    w.end(1)


def test_imports(tool, folder):
    """Imported files, from the file's folder and from the search path; a missing one."""
    os.makedirs(f"{folder}/lib")
    write(f"{folder}/lib/far.tile", "const f32 FAR = 1.0;\n")
    write(f"{folder}/near.tile", 'import "far.tile";\nconst f32 NEAR = FAR;\n')
    write(f"{folder}/add.tile", 'import "near.tile";\n' + ADD % ("NEAR", "1.0"))
    w = Watch(tool, folder, "run", "add.tile", "-I", "lib", "--set", "n=4", "--fill", "ones", "--verify", "--watch")
    run = w.run()
    expect("with imports", run[0] == 0 and run[1] == "add.tile, near.tile and lib/far.tile", run)
    write(f"{folder}/lib/far.tile", "const f32 FAR = 2.0;\n")
    run = w.run()
    expect("the import of an import", run[0] == 1 and saved(run) == "lib/far.tile", run)
    os.remove(f"{folder}/near.tile")
    write(f"{folder}/add.tile", 'import "other.tile";\n' + ADD % ("NEAR", "1.0"))
    expect("a missing import", w.run()[0] == 2, "")
    write(f"{folder}/other.tile", "const f32 NEAR = 1.0;\n")
    run = w.run()
    expect("it is there", run[0] == 0 and saved(run) == "other.tile", run)
    w.end(0)


def test_own_output(tool, folder):
    """A file that the command itself reads and writes does not count as changed."""
    write(f"{folder}/add.tile", ADD % ("1.0", "1.0"))
    np.save(f"{folder}/x.npy", np.zeros(4, "f4"))
    w = Watch(tool, folder, "run", "add.tile", "--in", "a=x.npy", "--out", "c=x.npy", "--watch")
    expect("once", w.run()[0] == 0 and (np.load(f"{folder}/x.npy") == 1).all(), "")
    write(f"{folder}/add.tile", ADD % ("2.0", "2.0"))
    expect("twice", w.run()[0] == 0 and (np.load(f"{folder}/x.npy") == 3).all(), np.load(f"{folder}/x.npy"))
    w.end(0)


def test_during_run(tool, folder):
    """Saving a file during a run ends that run."""
    write(f"{folder}/spin.tile", "kernel spin(i32 n, f32 *c) grid(1) warps(1) { global f32 C[n] = c; "
          "for (i32 k = 0; k < 2000; k++) print(k); i32 i = 0; while (i < n) { i = i * 1; } C[0 +: 4] = 1.0; }\n")
    w = Watch(tool, folder, "run", "spin.tile", "--set", "n=4", "--watch")
    expect("it runs", w.lines.get(timeout=HANGS)[0] == "out", "its output fills a buffer")
    replace(f"{folder}/spin.tile", "kernel spin(i32 n, f32 *c) grid(1) warps(1) { global f32 C[n] = c; C[0 +: 4] = 1.0; }\n")
    run = w.run()
    expect("after the save", run[0] == 0, run)
    w.end(0)


def test_others(tool, folder):
    """show, check of several files, learn, JSON; a file that does not exist yet; a terminal."""
    for name in ("one", "two"):
        write(f"{folder}/{name}.tile", ADD % ("1.0", "1.0"))
    w = Watch(tool, folder, "check", "one.tile", "two.tile", "--no-sim", "--watch")
    run = w.run()
    expect("check", run[0] == 0 and run[1] == "one.tile and two.tile", run)
    write(f"{folder}/two.tile", ADD % ("1.0", "2.0"))
    run = w.run()
    expect("check of a wrong kernel", run[0] == 1 and saved(run) == "two.tile", run)
    w.end(1)

    w = Watch(tool, folder, "show", "late.tile", "--watch")
    run = w.run()
    expect("no file yet", run[0] == 2 and run[1] == "late.tile", run)
    write(f"{folder}/late.tile", ADD % ("1.0", "1.0"))
    run = w.run()
    expect("show", run[0] == 0 and "kernel add" in shown(w, run, "kernel add"), run)
    w.end(0)

    w = Watch(tool, folder, "learn", "1", "--watch")
    run = w.run()
    expect("the starter of puzzle 1", run[1].endswith(".tile"), run)
    shutil.copy("puzzles/01_map/solution.tile", f"{folder}/{run[1]}")
    run = w.run()
    expect("the solution of puzzle 1", run[0] == 0, run)
    w.end(0)

    w = Watch(tool, folder, "run", "one.tile", "--set", "n=4", "--fill", "rand", "--watch", terminal=True)
    expect("on a terminal", w.run()[0] == 0, "")
    write(f"{folder}/one.tile", ADD % ("2.0", "2.0"))
    text = shown(w, w.run(), "\033[2J")
    expect("the screen is cleared", "\033[2J\033[H" in text, text)
    w.end(0)


def shown(w, run, until):
    """Returns the run's standard output up to that text. It comes through another pipe, so its order with the line that ends the run is
    not defined."""
    text = run[2]["out"]
    while until not in text:
        name, line = w.lines.get(timeout=HANGS)
        text += line if name == "out" else ""
    return text


def test_refused(tool, folder):
    for words, said in ((["run", "-", "--watch"], "--watch reads a program again: name a file, not `-`"),
                        (["explain", "one.tile", "--watch"], "--watch is for run, check, show and learn")):
        done = call([tool, *words], cwd=folder)
        expect(words, done.status == 2 and said in done.err, done)
    done = call([tool, "show", "--passes", "--watch"], cwd=folder)
    expect("a command that reads no file ends", done.status == 0, done)


def main():
    tool = os.path.abspath(sys.argv[1])
    for test in (test_run, test_imports, test_own_output, test_during_run, test_others, test_refused):
        with tempfile.TemporaryDirectory() as folder:
            os.environ["TILEWRIGHT_LEARN"] = f"{folder}/learnt"
            test(tool, folder)


if __name__ == "__main__":
    main()
