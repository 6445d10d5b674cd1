#!/usr/bin/env python3
"""`tilewright build --device cpu`: all kernels give the engine's bits, at small and ragged sizes; the C compiles without a warning and the header
as C++; errors have the engine's words; the library has no compiler in it; one pair of files runs on the driver of the tests (FAKE_CUDA) and the CPU."""
import ctypes
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

import numpy as np
from tile_runner import call, fail

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path += [os.path.join(ROOT, "tests/cli"), os.path.join(ROOT, "python")]
os.chdir(ROOT)
from test_probe_kernels import SIZES  # noqa: E402

CC = os.environ.get("CC", "cc")
FLAGS = os.environ.get("CFLAGS", "").split()
STRICT = ["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror"]
NUMPY = {"f64": "f8", "f32": "f4", "tf32": "f4", "f16": "u2", "bf16": "u2", "e4m3": "u1", "e5m2": "u1", "i64": "i8", "i32": "i4", "i16": "i2",
         "i8": "i1", "u64": "u8", "u32": "u4", "u16": "u2", "u8": "u1", "bool": "u1"}
UNKNOWN_SHAPE = 1 << 16


def run(command, status=0, **options):
    result = call(command, **{"cwd": ROOT, **options})
    if result.status != status:
        fail(f"{' '.join(command)}: expected status {status}: {result}")
    return result


def library_of(tool):
    return os.path.join(os.path.dirname(tool), "libtilewright_cpu.a")


def compiled(tool, folder, name):
    """Compiles NAME.c with every compiler, and returns it as a shared library."""
    source, library = f"{folder}/{name}.c", f"{folder}/{name}.so"
    include = ["-I", os.path.join(ROOT, "include")]
    for compiler in filter(shutil.which, ("gcc", "clang")):
        run([compiler, *STRICT, "-O2", *include, "-c", source, "-o", f"{folder}/x.o"])
    run([CC, *FLAGS, *STRICT, *include, "-shared", "-fPIC", source, "-o", library, library_of(tool), "-lm", "-lpthread"])
    return ctypes.CDLL(library)


# --- all kernels ---

class Function:
    """A function of NAME.h, as its comment and prototype say."""

    def __init__(self, comment, name, parameters):
        self.name = name
        self.kernel = re.search(r"Kernel `(\w+)`", comment).group(1)
        self.c_types = [p.strip() for p in parameters.split(",")[2:]]
        self.params = []  # name, type, shape, is written, derived
        for line in re.findall(r"^ \*   (\w+ +\w+(?:\[|,|;|$| \().*|\w+ +\w+)$", comment, re.M):
            match = re.match(r"(\w+) +(\w+)((?:\[[^\]]*\])*)(.*)", line)
            if match and match.group(2) in NUMPY:
                derived = re.search(r"computed here: (.*?)(?:; default.*)?$", match.group(4))
                self.params.append((match.group(1), match.group(2), re.findall(r"\[([^\]]*)\]", match.group(3)),
                                    " read" in match.group(4) or " written" in match.group(4), derived and derived.group(1)))


def functions_of(header):
    text = open(header).read()
    for match in re.finditer(r"/\* (Kernel `.*?) \*/\n\w+ (\w+)\((.*?)\);", text, re.S):
        yield Function(match.group(1), match.group(2), re.sub(r"\s+", " ", match.group(3)))


def value_of(text, sizes):
    return int(eval(text.replace("/", "//"), {"cdiv": lambda a, b: -(-a // b), "max": max, "min": min}, dict(sizes)))


def filled(rng, dtype, count):
    """Returns quarters of small numbers; integers are 0 or 1, so that they are valid as indices."""
    if dtype in ("f64", "f32", "tf32"):
        return (rng.integers(-8, 9, count) / 4).astype(NUMPY[dtype])
    if dtype == "f16":
        return (rng.integers(-8, 9, count) / 4).astype("f2").view("u2")
    if dtype == "bf16":
        return ((rng.integers(-8, 9, count) / 4).astype("f4").view("u4") >> 16).astype("u2")
    if dtype in ("e4m3", "e5m2"):
        return rng.choice(np.array([0, 0x38, 0x30, 0xB8], "u1"), count)
    return rng.integers(0, 2, count).astype(NUMPY[dtype])


def arguments_of(function, sizes, seed=1):
    """Returns values by parameter: arrays, and numbers for scalars."""
    rng, values = np.random.default_rng(seed), dict(sizes)
    for name, dtype, _, is_array, derived in function.params:
        if not is_array and not derived:
            values.setdefault(name, 1)
        if derived:
            values[name] = value_of(derived, values)
    for name, dtype, shape, is_array, derived in function.params:
        if is_array:
            extents = [value_of(e, {k: v for k, v in values.items() if not isinstance(v, np.ndarray)}) for e in shape]
            count = int(np.prod(extents)) if extents else UNKNOWN_SHAPE
            values[name] = filled(rng, dtype, count).reshape(extents or [count])
    return values


def start(library, function, module, values):
    arguments = []
    for name, dtype, _, is_array, derived in function.params:
        if is_array:
            arguments.append(values[name].ctypes.data_as(ctypes.c_void_p))
        elif not derived:
            kind = {"f64": ctypes.c_double, "f32": ctypes.c_float, "i64": ctypes.c_int64, "u64": ctypes.c_uint64, "bool": ctypes.c_bool}
            arguments.append(kind.get(dtype, ctypes.c_int32)(values[name]))
    return getattr(library, function.name)(module, None, *arguments)


def message_of(library, name):
    text = getattr(library, f"{name}_message")
    text.restype = ctypes.c_char_p
    return text().decode()


def sizes_of(short, kernel):
    text = next(SIZES[key] for key in (f"{short}:{kernel}", short, short.split("/")[0] + "/") if key in SIZES)
    return {k: float(v) if "." in v else int(v) for k, v in (s.split("=") for s in text.split(",") if s)}


def by_engine(tilewright, path, function, values):
    """Runs the kernel by the library on copies of the arrays, which it returns."""
    arrays = {n: tilewright.view(values[n].copy(), t) for n, t, _, is_array, _ in function.params if is_array}
    given = {n: arrays.get(n, values.get(n)) for n, _, _, _, derived in function.params if not derived}
    tilewright.load(path)[function.kernel](**given)
    return {n: getattr(a, "array", a) for n, a in arrays.items()}


def module_of(library, name):
    module = ctypes.c_void_p()
    if getattr(library, f"{name}_load_cpu")(None, ctypes.byref(module)) != 0:
        fail(f"{name}_load_cpu: {message_of(library, name)}")
    return module


def check_equal_builds(folder, name, build):
    """Builds again. Each process has its memory at other addresses, so the files differ if image.def names no row for a pointer."""
    again = tempfile.mkdtemp(dir=folder)
    run([*build, "--out", again])
    for file in (f"{name}.c", f"{name}.h"):
        if open(f"{folder}/{file}").read() != open(f"{again}/{file}").read():
            fail(f"{file}: two builds differ: a pointer or padding of a struct is without its row in image.def or image_gaps.def")


def check_kernels(tool, folder, path):
    """Builds a file twice, and compares each of its functions with the engine."""
    import tilewright
    short = path[len("kernels/"):-len(".tile")]
    name = "k_" + short.replace("/", "_")
    statics = re.findall(r"static \w+ (\w+)(?!\w| =)", open(path).read())
    kernels = re.findall(r"^kernel (\w+)", open(path).read(), re.M)
    constants = {n: int(v) for n, v in re.findall(r"^(?:tune |const i32 )(\w+) = \{?(\d+)", open(path).read(), re.M)}
    known = {k: v for kernel in kernels for k, v in sizes_of(short, kernel).items()}
    sets = ["--set", ",".join(f"{s}={known[s]}" for s in dict.fromkeys(statics) if s in known)] if any(s in known for s in statics) else []
    build = [tool, "build", path, "--device", "cpu", "--name", name, *sets]
    run([*build, "--out", folder])
    check_equal_builds(folder, name, build)
    library, checked = compiled(tool, folder, name), 0
    module = module_of(library, name)
    for function in functions_of(f"{folder}/{name}.h"):
        values = arguments_of(function, {**constants, **sizes_of(short, function.kernel)})
        before = {n: a.copy() for n, a in values.items() if isinstance(a, np.ndarray)}
        try:
            expected = by_engine(tilewright, path, function, values)
        except tilewright.Error as error:
            expected = str(error)
        status = start(library, function, module, values)
        if isinstance(expected, str):
            if status == 0:
                fail(f"{path}:{function.name}: the engine fails, the function does not: {expected}")
            continue
        if status != 0:
            fail(f"{path}:{function.name}: {message_of(library, name)}")
        if all(before[parameter].tobytes() == array.tobytes() for parameter, array in expected.items()):
            fail(f"{path}:{function.name}: the engine writes nothing")
        for parameter, array in expected.items():
            if array.tobytes() != values[parameter].tobytes():
                fail(f"{path}:{function.name}: `{parameter}` differs from the engine's")
        checked += 1
    getattr(library, f"{name}_unload")(module)
    return checked


def test_kernels(tool, folder):
    os.environ.setdefault("TILEWRIGHT_LIBRARY", os.path.join(os.path.dirname(tool), "libtilewright.so"))
    checked = 0
    for path in sorted(set(glob.glob("kernels/*/*.tile")) - set(glob.glob("kernels/hopper/*.tile"))):  # test_roles: they are refused
        if re.search(r"^kernel ", open(path).read(), re.M):
            checked += check_kernels(tool, folder, path)
    if checked < 40:
        fail(f"only {checked} functions were compared with the engine")


# --- errors ---

WRONG = """
kernel outside(i32 n, i32 at, f32 *x) grid(1) threads(32)
{
    global f32 X[n] = x;
    X[thread.x + at] = 1;
}

kernel assumed(i32 n, f32 *x) grid(1) warps(1)
{
    global f32 X[n] = x;
    f32 sum = 0;
    for (i32 i = 0; i < 2; i++) {
        assume(n - i > 3);
        sum += 1;
    }
    X[0 +: 16] = sum;
}

kernel printed(i32 n, f32 *x) grid(1) warps(1)
{
    global f32 X[n] = x;
    print("n", n);
    X[0 +: 16] = 2;
}
"""
OK, BAD_ARGUMENT, BAD_SIZE, NOT_ASSUMED, MISALIGNED, FAULT = 0, 5, 7, 8, 9, 13


class Options(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("threads", ctypes.c_int), ("parallel", ctypes.c_void_p), ("parallel_user", ctypes.c_void_p),
                ("print", ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)), ("print_user", ctypes.c_void_p),
                ("cancelled", ctypes.c_void_p), ("cancelled_user", ctypes.c_void_p)]


def test_errors(tool, folder):
    """Statuses and messages; print() reaches the caller."""
    open(f"{folder}/wrong.tile", "w").write(WRONG)
    run([tool, "build", f"{folder}/wrong.tile", "--target", "cpu", "--out", folder])
    library, printed = compiled(tool, folder, "wrong"), []
    options = Options(size=ctypes.sizeof(Options), threads=2,
                      print=Options._fields_[4][1](lambda user, text, length: printed.append(ctypes.string_at(text, length).decode())))
    module = ctypes.c_void_p()
    library.wrong_load_cpu(ctypes.byref(options), ctypes.byref(module))
    x = np.zeros(64, "f4")
    at = x.ctypes.data
    cases = [("outside", (40, 0, at), OK, ""), ("outside", (40, 20, at), FAULT, "index 40 is outside axis 0 of X (extent 40)"),
             ("outside", (-1, 0, at), BAD_SIZE, "is the length of an array and negative"), ("outside", (40, 0, None), BAD_ARGUMENT, "`x` is NULL"),
             ("outside", (40, 0, at + 2), MISALIGNED, "the kernel needs an address that 4 divides"), ("assumed", (16, at), OK, ""),
             ("assumed", (4, at), NOT_ASSUMED, "assume(n - i > 3) does not hold: n = 4, i = 1"), ("printed", (16, at), OK, "")]
    for name, arguments, status, words in cases:
        typed = [ctypes.c_void_p(a) if i == len(arguments) - 1 else ctypes.c_int32(a) for i, a in enumerate(arguments)]
        got = getattr(library, f"wrong_{name}")(module, None, *typed)
        if got != status or (status != OK and words not in message_of(library, "wrong")):
            fail(f"{name}{arguments}: status {got}, expected {status}: {message_of(library, 'wrong')}")
    if "n = 16" not in "".join(printed):
        fail(f"print(): {printed}")
    library.wrong_unload(module)
    if shutil.which("g++"):
        open(f"{folder}/x.cc", "w").write('#include "tilewright_cpu.h"\n#include "wrong.h"\nint main() { return WRONG_OK + TW_CPU_OK; }\n')
        run(["g++", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-I", "include", "-c", f"{folder}/x.cc", "-o", f"{folder}/x.o"])


ROLES = """
kernel waits(i32 n, i32 *x) grid(1) warps(4) target(sm_90a)
{
    global i32 X[n] = x;
    mbarrier full(1);
    arrive(full);
    X[0] = n;
}
"""


def test_roles(tool, folder):
    """A kernel with mbarriers runs in the engine, and is refused with the way out here."""
    open(f"{folder}/roles.tile", "w").write(ROLES)
    result = run([tool, "build", f"{folder}/roles.tile", "--device", "cpu", "--out", folder], status=2)
    if "has roles, mbarriers or tensor copies" not in result.err or "`tilewright run --device cpu` and tw_load run it" not in result.err:
        fail(f"a kernel with mbarriers: {result}")


def test_object(tool, folder):
    """--object finds tilewright_cpu.h, from any folder."""
    run([tool, "build", os.path.abspath("kernels/fused/softmax.tile"), "--device", "cpu", "--set", "cols=64", "--object"], cwd=folder)
    if not os.path.exists(f"{folder}/softmax.o"):
        fail("--object makes none for the CPU")


# --- the library ---

def defined(*paths):
    lines = subprocess.run(["nm", "--defined-only", *paths], capture_output=True, text=True, check=True).stdout.split("\n")
    return {w[2] for w in (line.split() for line in lines) if len(w) == 3 and w[1] in "TtDdBbRr"}


def test_symbols(tool, folder):
    """The program of the errors has no function of the compiler."""
    objects = os.path.join(os.path.dirname(tool), "CMakeFiles/tilewright_objects.dir/src")
    compiler = [o for part in ("lang", "tile", "plan", "emit", "thread", "nvptx", "tune", "ptx", "sim") for o in glob.glob(f"{objects}/{part}/*.o")]
    names = {n for n in defined(*compiler) if re.match(r"(lang|plan|emit|thread|nvptx|pass|ptx|sim|kernel)_", n)}
    if len(names) < 100 or "lang_parse" not in names:
        fail(f"only {len(names)} names of the compiler were found below {objects}")
    found = defined(f"{folder}/wrong.so") & names
    if found or "cpu_launch" not in defined(f"{folder}/wrong.so"):
        fail(f"a program with libtilewright_cpu.a has {sorted(found)[:9]}")


def test_either(tool, folder):
    """The example: one pair of files on the CPU, and on a GPU if there is one."""
    path = f"{os.path.dirname(tool)}{os.pathsep}{os.environ['PATH']}"
    run(["sh", "examples/either/either.sh", folder, "--no-cubin"], env=dict(os.environ, PATH=path))
    for driver, place in ((os.environ.get("FAKE_CUDA"), "GPU"), ("/nowhere", "CPU")):
        if driver:
            shown = run([f"{folder}/either"], env=dict(os.environ, TILEWRIGHT_CUDA_DRIVER=driver)).out
            if shown != f"on the {place}: PASS\n":
                fail(f"examples/either: {shown}")


def test_either_without_library(tool, folder):
    """The example says that the library is missing, and where it looks for it."""
    alone = f"{folder}/alone"
    os.mkdir(alone)
    shutil.copy(tool, alone)
    path = f"{alone}{os.pathsep}{os.environ['PATH']}"
    result = run(["sh", "examples/either/either.sh", folder], 1, env=dict(os.environ, PATH=path, PKG_CONFIG_LIBDIR="/nowhere", PKG_CONFIG_PATH=""))
    if "libtilewright_cpu.a is not next to" not in result.err or "dev build)" not in result.err:
        fail(f"examples/either without the library: {result}")


def main():
    tool = os.path.abspath(sys.argv[1])
    tests = [test_errors, test_roles, test_object, test_symbols, test_either, test_either_without_library, test_kernels]
    if any("-fsanitize" in flag for flag in FLAGS):  # this Python cannot load a library with sanitizers
        tests = [test_either]
    with tempfile.TemporaryDirectory() as folder:
        for test in tests:
            test(tool, folder)
    print("ok")


if __name__ == "__main__":
    main()
