#!/usr/bin/env python3
"""`./dev` with stand-ins for the programs that it builds with: refused arguments, and the counts and messages of `./dev test` for a few
tests that run under ctest alone."""
import fcntl
import os
import re
import shutil
import subprocess
import tempfile

from tile_runner import PATIENCE, expect

STAND_IN = """#!/bin/sh
echo "$0 $*" >>"${0%/*}/calls"
"""
SKIPPED = 'add_test({0} "sh" "-c" "echo skipped: {1}; exit 77")\nset_tests_properties({0} PROPERTIES SKIP_RETURN_CODE 77)\n'
SILENT = SKIPPED.replace("echo skipped: {1}; ", "")
PASSES, FAILS = 'add_test({} "true")\n', 'add_test({} "sh" "-c" "echo it went wrong; exit 1")\n'


def write(path, text, mode=0o644):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as out:
        out.write(text)
    os.chmod(path, mode)


def make(folder):
    """Makes a tree with `dev`, and stand-ins for the build programs that log their calls."""
    shutil.copy("dev", f"{folder}/dev")
    for name in ("cmake", "ninja", "cc", "python", "apt-get"):
        write(f"{folder}/bin/{name}", STAND_IN, 0o755)


def environment(folder, **variables):
    return {**os.environ, "PATH": f"{folder}/bin:{os.environ['PATH']}", "CC": f"{folder}/bin/cc", "PYTHON": f"{folder}/bin/python",
            **variables}


def dev(folder, *words, **variables):
    return subprocess.run([f"{folder}/dev", *words], env=environment(folder, **variables), capture_output=True, text=True,
                          timeout=PATIENCE, stdin=subprocess.DEVNULL)


def test(folder, quick, more, *options, **variables):
    """Runs `./dev test` on these tests; those of `more` have the label that leaves them out."""
    labelled = "".join(f"{line}\n" + re.sub(r"add_test\((\S+).*", r"set_tests_properties(\1 PROPERTIES LABELS more)\n", line)
                       if line.startswith("add_test") else f"{line}\n" for line in more.splitlines())
    write(f"{folder}/build-test/CTestTestfile.cmake", quick + labelled)
    return dev(folder, "test", *options, **variables)


def test_refused(folder):
    """Unknown arguments are refused before anything is built or installed."""
    for words, why, variables in (("build", "CC is 'nocc', and there is no such program", {"CC": "nocc"}),
                                  ("demo", "CC is 'nocc'", {"CC": "nocc"}),
                                  ("demo extra --x", "demo does not take: extra --x", {}),
                                  ("build debug asan", "build does not take: asan", {}),
                                  ("fmt --chek", "fmt does not take: --chek", {}),
                                  ("test --coverag", "test does not take: --coverag; it takes --all, --within, --coverage or --bless", {}),
                                  ("test --all -R x --timout 5", "test does not take: --timout; it takes --all", {}),
                                  ("test --coverage -j 2 --al", "test does not take: --al; it takes --all", {}),
                                  ("test parity", "test does not take: parity; tests whose names have it in them are -R parity", {}),
                                  ("test -R a --all", "--all comes first", {}),
                                  ("test -V -R", "test: -R needs a value", {}),
                                  ("test --within", "test --within takes a number of minutes", {}),
                                  ("test --within soon", "test --within takes a number of minutes", {}),
                                  ("test --within 5 -R a", "test --within 5 does not take: -R a", {}),
                                  ("test --bless -R a", "test --bless does not take: -R a", {})):
        done = dev(folder, *words.split(), **variables)
        expect(done.returncode == 2 and done.stderr.startswith("dev: ") and why in done.stderr and not done.stdout, done)
    for words in ("test --help", "test -h", "build --help", "play --help", "fmt -h"):
        done = dev(folder, *words.split())
        expect(done.returncode == 0 and done.stdout.startswith("./dev demo ") and not done.stderr, done)
    expect(not os.path.exists(f"{folder}/bin/calls"), "something was called")


def test_demo(folder):
    """Libraries are timed on one thread: with more, they spin while other programs use the cores, and the table would measure that."""
    write(f"{folder}/build/tilewright", '#!/bin/sh\necho "$*"\n[ "$1" != check ]\n', 0o755)
    write(f"{folder}/kernels/matmul/shared.tile", "    sync();\n    sync();\n")
    done = dev(folder, "demo", TILEWRIGHT_BLAS="", TILEWRIGHT_BLIS="", TILEWRIGHT_ONEDNN="")
    expect(done.returncode == 0 and "\nbench -s 256 -m 127 -n 129 -k 131 --threads 1 " in done.stdout and "\ncheck shared.tile\n" in done.stdout, done)
    expect("latency(ms)  the median" in done.stdout and "/peer        the speed, divided" in done.stdout and done.stdout.endswith("Next: docs/tutorial; puzzles: build/tilewright learn\n"), done)
    with open(f"{folder}/bin/calls") as calls:
        expect("cmake --build --preset release --target tilewright\n" in calls.read(), "the demo builds more than the program")


def test_python(folder):
    """A message names the python3 used, if it is not the first one."""
    write(f"{folder}/bin/python3", "#!/bin/sh\nexit 1\n", 0o755)
    done = test(folder, PASSES.format("a"), PASSES.format("b"), PYTHON="")
    os.remove(f"{folder}/bin/python3")
    said = f"python3 is {folder}/bin/python3, which has no numpy; used here: "
    missing = "numpy" in done.stderr and done.returncode == 2  # no other python3 of this machine has it
    expect(missing or re.search("^" + re.escape(said) + r"/.*/python3\n", done.stderr, re.M), done)
    expect("which has no numpy" not in test(folder, PASSES.format("a"), PASSES.format("b")).stderr, "the one that is given")


def test_steps(folder):
    """The progress of a build: off a terminal, a line for each tenth. A failed build shows the error and the path of its log."""
    cmake = f"{folder}/bin/cmake"
    write(cmake, "#!/bin/sh\n[ \"$1\" != --build ] || seq 1 200 | sed 's,.*,[&/200] Building C object x.c.o,'\n", 0o755)
    done = dev(folder, "build")
    expect(done.returncode == 0 and "building build (log: build/dev.log)\n[20/200]\n[40/200]\n" in done.stderr, done)
    write(cmake, "#!/bin/sh\n[ \"$1\" != --build ] || { echo '[1/2] Building C object x.c.o'; echo 'x.c:1: error: y'; exit 1; }\n", 0o755)
    done = dev(folder, "build")
    expect(done.returncode == 1 and done.stderr.endswith("log)\nx.c:1: error: y\n"), done)
    write(cmake, STAND_IN, 0o755)


def test_lock(folder):
    """A second ./dev in the tree waits until the first one has ended."""
    if not shutil.which("flock"):
        return
    with open(f"{folder}/build-test/dev.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        waiting = subprocess.Popen([f"{folder}/dev", "test"], env=environment(folder), stderr=subprocess.PIPE, stdout=subprocess.PIPE,
                                   text=True, stdin=subprocess.DEVNULL)
        said = waiting.stderr.readline()
        expect(said == "another ./dev uses build-test: waiting until it ends\n" and waiting.poll() is None, said)
        fcntl.flock(lock, fcntl.LOCK_UN)
    out, said = waiting.communicate(timeout=PATIENCE)
    expect(waiting.returncode == 0 and out.endswith("\n2 passed, 0 failed\n"), (out, said))


def test_within(folder, plain):
    """It runs the groups that fit into the minutes, and names the others."""
    write(f"{folder}/build-test/CTestTestfile.cmake", plain)
    write(f"{folder}/build/CTestTestfile.cmake", PASSES.format("size"))
    done = dev(folder, "test", "--within", "10")
    expect(done.returncode == 0 and done.stdout.endswith("\n3 passed, 0 failed\n"), done)
    expect(re.search(r"^  left out: asan: .* \(about 14 min\)\n  left out: long: ", done.stdout, re.M) and
           "left out: more" not in done.stdout and "all of them: ./dev test --all\n" in done.stdout, done)


def main():
    with tempfile.TemporaryDirectory() as folder:
        make(folder)
        test_refused(folder)
        test_python(folder)
        test_demo(folder)
        plain = PASSES.format("a") + PASSES.format("b")
        done = test(folder, plain, PASSES.format("c"))
        expect(done.returncode == 0 and done.stdout.endswith("\n2 passed, 0 failed\n"), done)
        line = r"^running 2 tests of build-test on \d+ cores \(log: build-test/ctest.log\); about \d+ min, "
        expect(re.search(line, done.stderr, re.M) and "\nleft out: 1 tests that take long" in done.stderr, done)
        test_lock(folder)
        test_within(folder, plain)
        test_steps(folder)
        # Skipped tests do not count as passed; they are named with the reason.
        done = test(folder, plain + SKIPPED.format("gpu.x", "there is no GPU") + SILENT.format("y") + SKIPPED.format("z", "no QEMU"), "")
        expect(done.returncode == 0 and done.stdout.endswith("\n2 passed, 0 failed, 3 skipped\n"), done)
        expect(re.search(r"^build-test: 2 passed, time .*\n  skipped: gpu\.x: there is no GPU\n"
                         r"  skipped: y: it does not say why\n  skipped: z: no QEMU\n", done.stdout, re.M), done)
        # A failure is printed whole, and the skipped tests with it.
        done = test(folder, plain + FAILS.format("bad") + SKIPPED.format("z", "no QEMU"), "")
        expect(done.returncode == 1 and done.stdout.endswith("\n2 passed, 1 failed, 1 skipped\n"), done)
        expect("it went wrong" in done.stdout and "z: no QEMU" in done.stdout, done)
        # A selection includes tests of every tier.
        done = test(folder, plain, PASSES.format("c"), "-R", "^[bc]$")
        expect(done.returncode == 0 and done.stdout.endswith("\n2 passed, 0 failed\n"), done)
        expect("running 2 tests of build-test on" in done.stderr and " min" not in done.stderr, done)
        # No test was run, or all were skipped: no success.
        for options in (["-R", "nosuch"], ["-R", "^z$"]):
            done = test(folder, plain + SKIPPED.format("z", "no QEMU"), "", *options)
            expect(done.returncode == 1 and "\n0 passed, 0 failed" in "\n" + done.stdout, done)
            expect(("dev: no test is selected by: -R nosuch (" in done.stderr) == ("nosuch" in options), done)
        # Options of ctest, with values and without.
        done = test(folder, plain + PASSES.format("c"), "", "-E", "^a$", "-j", "-V", "-j2", "--timeout", "9", "--repeat", "until-fail:2", "-LE", "x")
        expect(done.returncode == 0 and done.stdout.endswith("\n2 passed, 0 failed\n"), done)


if __name__ == "__main__":
    main()
