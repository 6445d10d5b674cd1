#!/usr/bin/env python3
"""The plug-in of pytest: a test with a clean launch passes, one with a race fails with the finding, a wrong launch is an error that names the way out."""
import importlib.util
import os
import pathlib
import sys
import tempfile
import types

import numpy
from app_runner import HERE
from tile_runner import call, expect

ROOT = os.path.abspath(os.path.join(HERE, "../.."))
TESTS = f'''
import numpy
import pytest

with open("{ROOT}/tests/cli/cuda/launches.ptx") as f:
    PTX = f.read()
SHIFT = dict(kernel="shift", grid=2, block=32)


def test_clean(check_ptx):
    check_ptx(PTX, args=[numpy.arange(64, dtype="int32"), "i32[64]:none", "i32:64"], **SHIFT)


def test_race(check_ptx):
    check_ptx(PTX.encode(), args=["i32[64]:iota", "=0", "i32:64"], **SHIFT)


def test_wrong_launch(check_ptx):
    with pytest.raises(ValueError, match="nosuch"):
        check_ptx(PTX, kernel="nosuch", grid=(2, 1), block=[32, 1])
    with pytest.raises(TypeError, match='as "i32:64"'):
        check_ptx(PTX, args=[None, None, 64], **SHIFT)
'''


def refused(error, said, call_it):
    try:
        call_it()
    except error as e:
        expect(said in str(e), e)
        return
    expect(False, f"no {error.__name__}")


def test_fixture(tool):
    """The fixture alone, with a stand-in for pytest if there is none."""
    if not importlib.util.find_spec("pytest"):
        sys.modules["pytest"] = types.SimpleNamespace(fixture=lambda function: function)
    sys.path.insert(0, os.path.join(ROOT, "python"))
    import tilewright_pytest  # noqa: E402

    with open(f"{ROOT}/tests/cli/cuda/launches.ptx") as f:
        ptx = f.read()

    def checked(text=ptx, args=(), kernel="shift", options=()):
        tilewright_pytest.check(text, kernel=kernel, grid=(2, 1), block=32, args=args, program=tool, options=options)

    checked(args=[numpy.arange(64, dtype="int32"), "i32[64]:none", "i32:64"])
    checked(ptx.encode(), args=["i32[64]:iota", "i32[64]:none", "i32:64"])
    checked(args=["i32[64]:iota", "i32[64]:none", numpy.int32(64)])
    checked(pathlib.Path(f"{ROOT}/tests/cli/cuda/launches.ptx"), args=["i32[64]:iota", "i32[64]:none", "i32:64"], options=["--strict", "--seeds", "2"])
    refused(FileNotFoundError, "none.ptx", lambda: checked(pathlib.Path("/none.ptx")))
    refused(AssertionError, "error: out-of-bounds: ", lambda: checked(args=["i32[64]:iota", "i32[64]:none", numpy.int32(65)]))
    refused(RuntimeError, "put its folder on PATH, or name it by --tilewright", lambda: tilewright_pytest.check(ptx, program="/none/tilewright"))
    refused(AssertionError, "error: race: read and write of element", lambda: checked(args=["i32[64]:iota", "=0", "i32:64"]))
    refused(ValueError, "nosuch", lambda: checked(kernel="nosuch"))
    refused(TypeError, 'as "i32:64"', lambda: checked(args=[None, None, 64]))


def test_session(tool):
    """With pytest itself."""
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/test_kernels.py", "w") as f:
            f.write(TESTS)
        done = call([sys.executable, "-m", "pytest", "-p", "tilewright_pytest", "-p", "no:cacheprovider", "--tilewright", tool, "-v", folder],
                    env={**os.environ, "PYTHONPATH": os.path.join(ROOT, "python")})
        expect(done.status == 1 and "1 failed, 2 passed" in done.out, done)
        expect("test_race FAILED" in done.out and "error: race: read and write of element" in done.out, done)


def main():
    tool = os.path.abspath(sys.argv[1])
    has_pytest = importlib.util.find_spec("pytest")
    test_fixture(tool)
    if has_pytest:
        test_session(tool)


if __name__ == "__main__":
    main()
