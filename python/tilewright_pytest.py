"""A plug-in of pytest that checks PTX, from any compiler, in tests on machines without a GPU.

    pytest -p tilewright_pytest [--tilewright PROGRAM]

    def test_scale(check_ptx):
        ptx = scale.inspect_asm(signature)      # Numba
        ptx = scale.warmup(...).asm["ptx"]      # Triton
        check_ptx(ptx, grid=4, block=256, args=[numpy.ones(1000, "float32"), "f32[1000]:none", "i32:1000"])

The fixture runs `tilewright check` on one launch. The test fails with the findings if there are any.
"""
import os
import subprocess
import tempfile

import pytest


def pytest_addoption(parser):
    parser.addoption("--tilewright", default="tilewright", metavar="PROGRAM", help="the tilewright that check_ptx runs")


def _sizes(value):
    return ",".join(str(v) for v in value) if isinstance(value, (list, tuple)) else str(value)


def _argument(value, folder, number):
    """Returns a word for --arg: a text as it is, an array as a file, a number of NumPy with its type, None as a null pointer."""
    if value is None:
        return "null"
    if isinstance(value, str):
        return value
    if not hasattr(value, "__array_interface__"):
        raise TypeError(f"argument {number} is {value!r}: write a number with its type, as \"i32:{value}\" or numpy.int32({value})")
    import numpy  # only a caller with arrays has it
    if numpy.ndim(value) == 0 and value.dtype.kind in "iuf":
        return f"{value.dtype.kind}{8 * value.dtype.itemsize}:{value}"
    path = os.path.join(folder, f"argument_{number}.npy")
    numpy.save(path, value)
    return f"@{path}"


def check(ptx, grid=1, block=1, args=(), kernel=None, shared=0, options=(), program="tilewright"):
    """Checks one launch of a kernel in PTX: its text, its bytes, or the path of a file (a pathlib.Path). `options` are further options of
    `tilewright check`. Raises AssertionError with the findings, ValueError if the launch is wrong, or RuntimeError if
    there is no such program."""
    if isinstance(ptx, os.PathLike):
        with open(ptx, "rb") as f:
            ptx = f.read()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "module.ptx")
        with open(path, "wb") as f:
            f.write(ptx if isinstance(ptx, bytes) else ptx.encode())
        words = [word for i, value in enumerate(args) for word in ("--arg", _argument(value, folder, i))]
        chosen = ["--kernel", kernel] if kernel else []
        dynamic = ["--shared", str(shared)] if shared else []
        command = [program, "check", path, *chosen, "--grid", _sizes(grid), "--block", _sizes(block), *dynamic, *words, *options]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        except OSError as e:
            raise RuntimeError(f"{program} cannot be started ({e.strerror}): put its folder on PATH, or name it by --tilewright PROGRAM") from e
    said = (done.stderr + done.stdout).replace(f"{folder}/", "")
    if done.returncode == 1:
        raise AssertionError(f"tilewright found:\n{said}")
    if done.returncode:
        raise ValueError(f"tilewright cannot check this launch:\n{said}")


@pytest.fixture
def check_ptx(request):
    """Returns the function `check` of this module, for the program of --tilewright."""
    def checked(ptx, **launch):
        return check(ptx, program=request.config.getoption("--tilewright"), **launch)
    return checked
