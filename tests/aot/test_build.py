#!/usr/bin/env python3
"""`tilewright build`: its output compiles without a warning, links with other modules, runs on the driver library of the tests (FAKE_CUDA)
with the right values, and reports errors. The header of one kernel is a golden (--bless)."""
import ctypes
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

from tile_runner import call, compare, fail

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
FAKE = os.environ.get("FAKE_CUDA")
FAKE_PTXAS = os.environ.pop("TILEWRIGHT_PTXAS", None)  # its output is for FAKE_CUDA alone
CC = os.environ.get("CC", "cc")
FLAGS = os.environ.get("CFLAGS", "").split()
STRICT = ["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
STATICS = "n=64,k=64,cols=64,d=64,causal=true,group=8,c=16,r=3,s=3,f=32"
ODD = ["tests/aot/odd.tile", "--set", "workspace=16,scale=1.5,on=true,large=1024,rows=20"]


def run(command, status=0, **options):
    result = call(command, cwd=ROOT, **options)
    if result.status != status:
        fail(f"{' '.join(command)}: expected status {status}: {result}")
    return result


def refused(tool, arguments, *texts, status=2, **options):
    result = run([tool, "build", *arguments], status, **options)
    for text in texts:
        if text not in result.err:
            fail(f"build {' '.join(arguments)}: no '{text}' in {result}")
    if result.out:
        fail(f"build {' '.join(arguments)}: expected no output: {result}")


def sets_of(path):
    """Returns --set with a value for each static parameter of a file: that of STATICS, else 16. Derived ones need none."""
    names = re.findall(r"static \w+ (\w+)(?!\w| =)", open(path).read())
    known = dict(s.split("=") for s in STATICS.split(","))
    found = [f"{name}={known.get(name, 16)}" for name in dict.fromkeys(names)]
    return ["--set", ",".join(found)] if found else []


def compilers():
    found = [[CC, *FLAGS, *STRICT]]
    found += [[c, *STRICT, "-O2"] for c in ("gcc", "clang") if shutil.which(c)]
    return found


def test_kernels(tool, folder):
    """All kernels: C without warnings, and a header that also compiles as C++."""
    for path in sorted(glob.glob(os.path.join(ROOT, "kernels/*/*.tile"))):
        if "/hopper/" in path:
            continue  # for sm_90a alone
        if "\nkernel " not in open(path).read():
            continue  # a file for others to import
        name = os.path.basename(path).split(".")[0]
        targets = ["--target", "sm_89,sm_90"] if name == "fp8" else []  # the first targets with 8-bit floats
        run([tool, "build", path, "--name", f"k_{name}", "--output", folder, *sets_of(path), *targets])
        source = f"{folder}/k_{name}.c"
        run([CC, *FLAGS, *STRICT, "-c", source, "-o", f"{folder}/x.o"])
        symbols = run(["nm", "--defined-only", "--extern-only", f"{folder}/x.o"]).out.split("\n")
        strangers = [s for s in symbols if s and f" k_{name}_" not in s and not re.search(r" _*(asan|odr|ubsan)", s)]
        if strangers:
            fail(f"{path}: other names than k_{name}_… are shown: {strangers}")
    for compiler in compilers():
        run([*compiler, "-c", source, "-o", f"{folder}/x.o"])
        run([*compiler, f"-DK_{name.upper()}_LINK_CUDA", "-c", source, "-o", f"{folder}/x.o"])
    if shutil.which("g++"):
        open(f"{folder}/x.cc", "w").write(f'#include "k_{name}.h"\nint main() {{ return K_{name.upper()}_OK; }}\n')
        run(["g++", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-c", f"{folder}/x.cc", "-o", f"{folder}/x.o"])


def test_odd_values(tool, folder):
    """Static floats that C has no constant for; names with another meaning in C++."""
    path = f"{folder}/values.tile"
    open(path, "w").write("kernel values(static f32 s, static f64 d, i32 n, i32 requires, i32 co_await, f32 *x) grid(cdiv(n, 16)) warps(1)\n"
                          "{\n    global f32 X[n] = x;\n    X[block.x * 16 +: 16] = s + (f32) d + (f32) (requires + co_await);\n}\n")
    run([tool, "build", path, "--set", "s=inf,d=nan", "--set", "s=-inf,d=inf", "--set", "s=1,d=-2", "--output", folder])
    for compiler in compilers():
        run([*compiler, "-c", f"{folder}/values.c", "-o", f"{folder}/x.o"])
    source = open(f"{folder}/values.c").read()
    for text in ("aot_f32_bits(s) == UINT32_C(0x7f800000) /* inf */", "aot_f64_bits(d) == UINT64_C(0x7ff8000000000000) /* nan */",
                 "UINT32_C(0xff800000) /* -inf */", "UINT32_C(0x3f800000) /* 1.0 */", "UINT64_C(0xc000000000000000) /* -2.0 */"):
        if text not in source:
            fail(f"no '{text}' in values.c")
    if shutil.which("g++"):
        open(f"{folder}/x.cc", "w").write('#include "values.h"\nint main() { return VALUES_OK; }\n')
        run(["g++", "-std=c++20", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-c", f"{folder}/x.cc", "-o", f"{folder}/x.o"])


def test_defaults(tool, folder):
    """A default of 0 does not ask that 16 divides the caller's value."""
    path = f"{folder}/shifted.tile"
    open(path, "w").write("kernel shifted(i32 m, const f32 *a, f32 *c, i32 shift = 0) grid(cdiv(m, 128)) warps(1)\n{\n"
                          "    global f32 A[m] = a, C[m] = c;\n    C[block.x * 128 +: 128] = A[block.x * 128 + shift +: 128];\n}\n")
    run([tool, "build", path, "--output", folder])
    text = open(f"{folder}/shifted.h").read()
    for part in (" *   sm_80; m divisible by 16; shift divisible by 16\n", " *   sm_80; m divisible by 16\n", " *   sm_80\n"):
        if part not in text:
            fail(f"no '{part}' in shifted.h:\n{text}")
    run([tool, "build", "kernels/recipes/convolution.tile", "--type", "f32", "--set", "c=64,r=3,s=3,f=64", "--output", folder])
    if "pad divisible" in open(f"{folder}/convolution.h").read():
        fail("a convolution takes only pads that 16 divides")


HEADERS = ("assert", "complex", "ctype", "errno", "float", "inttypes", "iso646", "limits", "math", "pthread", "setjmp", "signal", "stdbool",
           "stdio", "stdlib", "string", "time", "unistd", "sys/stat", "wchar")


def test_names(tool, folder):
    """Any name of the language works as a name in C, after any header, in every standard of C and in C++."""
    run([tool, "build", "tests/aot/nasty_names.tile", "--set", "assert=-0.0,INT64_MIN=-9223372036854775808", "--no-cubin",
         "--output", folder])
    includes = "".join(f"#include <{h}.h>\n" for h in HEADERS)
    open(f"{folder}/user.c", "w").write(includes + '#include "NAN.h"\nint main(void) { return NAN_OK; }\n')
    strict = [f for f in STRICT if not f.startswith("-std")]
    for standard in ("c11", "gnu17"):
        for source in ("NAN.c", "user.c"):
            run([CC, *FLAGS, f"-std={standard}", *strict, "-c", f"{folder}/{source}", "-o", f"{folder}/x.o"])
    run([CC, *FLAGS, "-std=gnu11", *strict, "-include", "complex.h", "-include", "unistd.h", "-c", f"{folder}/NAN.c", "-o",
         f"{folder}/x.o"])
    if shutil.which("g++"):
        run(["g++", "-std=gnu++20", *strict, "-x", "c++", "-c", f"{folder}/user.c", "-o", f"{folder}/x.o"])


def test_file_names(tool, folder):
    """NAME.h does not hide <math.h>, and NAME_OK does not clash with a macro of <unistd.h>."""
    os.makedirs(f"{folder}/named")
    for kernel, name in (("math", "kernel_math"), ("Signal", "kernel_Signal"), ("_k", "kernel__k"), ("aot", "kernel_aot"),
                         ("x", "kernel_x"), ("register", "register")):
        open(f"{folder}/one.tile", "w").write(f"kernel {kernel}(f32 *o) grid(1) warps(1)\n{{\n    global f32 O[1] = o;\n"
                                              "    O[0] = 1.0;\n}\n")
        run([tool, "build", f"{folder}/one.tile", "--output", f"{folder}/named"])
        open(f"{folder}/user.c", "w").write(f'#include <unistd.h>\n#include "{name}.h"\nint main(void) {{ return {name.upper()}_OK; }}\n')
        for source in (f"{folder}/named/{name}.c", f"{folder}/user.c"):
            run([CC, *FLAGS, *STRICT, f"-I{folder}/named", "-c", source, "-o", f"{folder}/x.o"])


def test_signed_zeros(tool, folder):
    open(f"{folder}/signs.tile", "w").write("kernel signs(static f32 s, static f64 d, f32 *o) grid(1) warps(1)\n{\n    global f32 O[1] = o;\n"
                                            "    O[0] = (1 / s > 0 ? 1.0 : 2.0) + (1 / d > 0 ? 10.0 : 20.0) + (s == s ? 0.0 : 100.0);\n}\n")
    zeros = [f"s={s}0.0,d={d}0.0" for s in ("", "-") for d in ("", "-")]
    run([tool, "build", f"{folder}/signs.tile", *[a for z in [*zeros, "s=nan,d=0.0"] for a in ("--set", z)], "--output", folder])
    run([CC, *FLAGS, *STRICT, f"-I{folder}", "-DSIGNS_LINK_CUDA", "tests/aot/signed_zero.c", f"{folder}/signs.c", FAKE,
         f"-Wl,-rpath,{os.path.dirname(FAKE)}", "-o", f"{folder}/signs", "-lm", "-lpthread"])
    shown = run([f"{folder}/signs"]).out.split("\n")
    if shown[0] != "11 21 12 22 112" or "nothing was built" not in shown[1]:
        fail(f"signed zeros: {shown}")


def test_header(tool, folder, bless):
    run([tool, "build", "kernels/matmul/split_k.tile", "--type", "f16", "--set", "n=512,k=512", "--set", "n=512,k=2048",
         "--output", folder])
    header = re.sub(r"tilewright [0-9.]+ of", "tilewright … of", open(f"{folder}/matmul_v5.h").read())
    compare(os.path.join(HERE, "header.golden"), header, bless)


def make_program(tool, folder, driver, *targets):
    """Builds three modules into one program, one of them linked with the driver."""
    path = os.path.dirname(tool) + os.pathsep + os.environ["PATH"]
    run(["sh", "examples/shipped/build.sh", folder, *targets], env=dict(os.environ, PATH=path))
    run([tool, "build", *ODD, "--unaligned", "--output", folder, *targets])
    run([tool, "build", "kernels/sgemm/tiled.tile", "--output", folder, *targets])
    run([CC, *FLAGS, *STRICT, "-g", f"-I{folder}", "-DODD_LINK_CUDA", "tests/aot/program.c", f"{folder}/odd.c", f"{folder}/scores.c",
         f"{folder}/sgemm_tiled.c", driver, f"-Wl,-rpath,{os.path.dirname(driver)}", "-o", f"{folder}/program", "-ldl", "-lm", "-lpthread"])


def run_program(folder, driver, **settings):
    environment = dict(os.environ, TILEWRIGHT_CUDA_DRIVER=driver, **settings)
    shown = run([f"{folder}/scores"], env=environment).out
    if shown.count("PASS") != 6 or "there is cols = 64" not in shown:
        fail(f"examples/shipped: {shown}")
    if "PASS" not in run([f"{folder}/program"], env=environment).out:
        fail("tests/aot/program.c: no PASS")


def test_program(tool, folder):
    """As PTX of one target and of several, on GPUs of several kinds; a GPU that refuses the machine code gets the PTX."""
    make_program(tool, folder, FAKE, "--target", "sm_80,sm_90,sm_120", "--no-cubin")
    for capability in (80, 86, 90, 100, 121):
        run_program(folder, FAKE, FAKE_CUDA_SM=str(capability))
    make_program(tool, folder, FAKE, "--target", "sm_80")
    run_program(folder, FAKE)
    make_program(tool, folder, FAKE)
    run_program(folder, FAKE, FAKE_CUDA_CHECK="1")


def test_gpu(tool, folder):
    """The same on this machine's GPU, if it has one."""
    try:
        driver, count = ctypes.CDLL("libcuda.so.1"), ctypes.c_int()
    except OSError:
        return
    if driver.cuInit(0) != 0 or driver.cuDeviceGetCount(ctypes.byref(count)) != 0 or count.value == 0:
        return
    maps = open("/proc/self/maps").read()
    path = re.search(r"(/\S*libcuda\.so\S*)", maps).group(1)
    for targets in ([], ["--target", "sm_80,sm_90"]):
        make_program(tool, folder, path, *targets)
        run_program(folder, path)
    print(f"on {count.value} GPU(s): PASS")


def test_driver(folder):
    """Every call of the driver fails once, and there is a message and no crash; also no driver, no GPU, a driver that is too old."""
    log = f"{folder}/calls"
    environment = dict(os.environ, TILEWRIGHT_CUDA_DRIVER=FAKE)
    run([f"{folder}/scores"], env=dict(environment, FAKE_CUDA_LOG=log))
    calls = re.findall(r"^(cu\w+)$", open(log).read(), re.M)
    for name in sorted(set(calls) - {"cuCtxPopCurrent_v2", "cuModuleUnload", "cuMemFree_v2", "cuDevicePrimaryCtxRelease_v2",
                                     "cuGetErrorName", "cuGetErrorString", "cuDeviceGetAttribute", "cuDeviceGetName"}):
        last = name == "cuCtxPushCurrent_v2"  # the call of the unload, which returns no status
        for n in range(1, calls.count(name) + 1 - last):
            result = call([f"{folder}/scores"], env=dict(environment, FAKE_CUDA_FAIL=f"{name}:{n}:2"))
            if result.status != 1 or not result.err.startswith("scores: "):
                fail(f"{name} fails at call {n}: {result}")
    for settings, text in (({"FAKE_CUDA_DEVICES": "0"}, "there is no GPU"), ({"FAKE_CUDA_SM": "75"}, "built for sm_80; GPU 0"),
                           ({"TILEWRIGHT_CUDA_DRIVER": "/nowhere"}, "there is no NVIDIA driver")):
        result = call([f"{folder}/scores"], env=dict(environment, **settings))
        if result.status != 1 or text not in result.err:
            fail(f"{settings}: {result}")


def sizes_of(source):
    text = open(source).read()
    return [len(re.findall(p, text, re.M)) for p in (r"^static const char \*const aot_ptx_\d+", r"^static const unsigned char aot_cubin_\d+")]


def test_targets(tool, folder):
    """PTX of the lowest target, machine code of each; without an assembler PTX of each."""
    build = [tool, "build", "kernels/matmul/auto.tile", "--type", "f16", "--set", "n=64,k=64", "--output", folder]
    source = f"{folder}/matmul_auto.c"
    run(build)
    if sizes_of(source) != [1, 0]:
        fail(f"the default has {sizes_of(source)} images of PTX and machine code")
    run([*build, "--target", "sm_80,sm_90", "--no-cubin"])
    if sizes_of(source) != [2, 0]:
        fail(f"two targets have {sizes_of(source)} images of PTX and machine code")
    result = run([*build, "--target", "sm_90", "--target", "sm_80"])
    has = shutil.which("ptxas") or os.path.exists("/usr/local/cuda/bin/ptxas")
    if sizes_of(source) != ([1, 2] if has else [2, 0]) or (not has and "there is no ptxas" not in result.err):
        fail(f"two targets have {sizes_of(source)} images of PTX and machine code: {result}")
    result = run([*build, "--target", "sm_80,sm_90"], env=dict(os.environ, TILEWRIGHT_PTXAS=""))
    if sizes_of(source) != [2, 0] or "there is no ptxas" not in result.err:
        fail(f"no assembler is asked for: {result}")
    if FAKE_PTXAS:
        refused(tool, [*build[2:], "--target", "sm_80"], f"{FAKE_PTXAS} does not take the PTX for sm_80", status=1,
                env=dict(os.environ, TILEWRIGHT_PTXAS=FAKE_PTXAS, FAKE_PTXAS_FAIL="1"))
    run([*build, "--object"])
    if not os.path.exists(f"{folder}/matmul_auto.o"):
        fail("--object makes none")
    refused(tool, [*build[2:], "--object"], "$CC names no-such-cc, which is not here", status=1, env=dict(os.environ, CC="no-such-cc -O0"))
    refused(tool, [*build[2:], "--object"], "does not compile", status=1, env=dict(os.environ, CC=f"{CC} '-DX=a b' -Dint=@"))
    run([*build, "--object"], env=dict(os.environ, CC=f"{CC} -O0 '-DX=a b'"))


def rows_of(header):
    return re.findall(r"^ \*   (sm_.*)$", open(header).read().replace("\n *     ", " "), re.M)


def test_tuned(tool, folder):
    """Tuned values by class, device and target; values that do not fit a kernel are skipped or refused."""
    lines = ['# comment',
             '{"kernel": "matmul_auto", "types": {"T": "f16"}, "class": {"m": [1, 128], "n": [64, 64]}, "tune": {"BM": 128, "BN": 64, "BK": 32}}',
             '{"kernel": "matmul_auto", "device": "NVIDIA H200", "target": "sm_90", "class": {"m": [129, null, 16]}, '
             '"tune": {"BM": 64, "BN": 128}, "ms": 0.1, "sizes": [1, {"a": "]"}]}',
             '{"kernel": "matmul_auto", "target": "sm_80", "class": {"m": [1, 64, 16]}, "tune": {"BM": 64, "BN": 128}}',
             '{"kernel": "other", "tune": {"X": 1}}', '']
    path = f"{folder}/tuned.jsonl"
    open(path, "w").write("\n".join(lines))
    build = ["kernels/matmul/auto.tile", "--type", "f16", "--set", "n=64,k=64", "--set", "n=128,k=64", "--output", folder,
             "--target", "sm_80,sm_90", "--no-cubin", "--tuned", path]
    run([tool, "build", *build])
    rows = rows_of(f"{folder}/matmul_auto.h")
    tail = ", WARPS = 4, STAGES = 3"
    first = ": BM = 128, BN = 64, BK = 32" + tail
    for_h200 = "m from 129; m divisible by 16: BM = 64, BN = 128, BK = 16" + tail
    default = ": BM = 128, BN = 128, BK = 16" + tail
    small = "m from 1 to 64; m divisible by 16: BM = 64, BN = 128, BK = 16" + tail
    want = [f"sm_80; n = 64, k = 64; {small}", f"sm_80; n = 64, k = 64; m from 1 to 128{first}", f"sm_80; n = 64, k = 64{default}",
            f"sm_80; n = 128, k = 64; {small}", f"sm_80; n = 128, k = 64{default}",
            f"sm_90 (NVIDIA H200); n = 64, k = 64; {for_h200}", f"sm_90; n = 64, k = 64; m from 1 to 128{first}",
            f"sm_90; n = 64, k = 64{default}", f"sm_90 (NVIDIA H200); n = 128, k = 64; {for_h200}", f"sm_90; n = 128, k = 64{default}"]
    if rows != want:
        fail("rows of tuned values:\n" + "\n".join(rows) + "\nexpected\n" + "\n".join(want))
    for line, text in (('{"kernel": "matmul_auto", "tune": {"X": 1}}', "tuned.jsonl:1: kernel `matmul_auto` has no tuned value `X`"),
                       ('{"kernel": "matmul_auto", "class": {"q": [1, 2]}, "tune": {"BM": 64}}', "no scalar parameter `q`"),
                       ('{"kernel": "matmul_auto", "tune": {"BM": "x"}}', "tuned.jsonl:1:42: a tuned value is a number\n"),
                       ('{"kernel": "matmul_auto"}', "`kernel` and `tune` must be there"), ('{"kernel": 1}', "tuned.jsonl:1:12: expected a string"),
                       ('{"kernel": "matmul_auto", "class": {"m": 3}, "tune": {}}', "expected `[`"), ('{"ms": [1', "ends within a value"),
                       ('{"kernel": "matmul_auto", "clas": {"m": [1, 2]}, "tune": {"BM": 64}}', "tuned.jsonl:1:34: there is no such member"),
                       ('{"kernel": "matmul_auto", "types": {"U": "f16"}, "tune": {"BM": 64}}', "has no type variable `U`"),
                       ('{"kernel": "matmul_auto", "target": "sm_80", "tune": {"BM": 2048}}', "takes 208896 bytes"),
                       ('{"kernel": "matmul_auto", "target": "sm_80", "tune": {"BM": 2048}}', "with the tuned values of")):
        open(path, "w").write(line + "\n")
        refused(tool, build, text)
    import sqlite3
    store = sqlite3.connect(f"{folder}/kept.db")
    store.execute("create table t (x)")
    store.commit()
    refused(tool, [*build[:-1], f"{folder}/kept.db"], f"kept.db: a store, not lines of JSON: `tilewright tune --export json --store {folder}/kept.db > tuned.jsonl`")
    refused(tool, [*build, "--tuned", "/nowhere"], "cannot read `/nowhere`: No such file")


def test_tuned_unused(tool, folder):
    """A message names each line of the file that has no effect, with the reason."""
    path = f"{folder}/unused.jsonl"
    build = [tool, "build", "kernels/matmul/auto.tile", "--type", "f16", "--set", "n=64,k=64", "--output", folder, "--target", "sm_80",
             "--no-cubin", "--tuned", path]
    host = json.loads(run([tool, "devices", "--json"]).out)[0]["description"]
    rest = '"tune": {"BM": 64, "BN": 128}'
    for line, text in (('"kernel": "matmul_aut"', "its kernel is not built"), ('"kernel": "matmul_auto", "target": "sm_90"', "its target is not built"),
                       ('"kernel": "matmul_auto", "types": {"T": "f8"}', "its types are not built"),
                       ('"kernel": "matmul_auto", "class": {"n": [1, 63]}', "no version that is built is of its class"),
                       ('"kernel": "matmul_auto", "program": "0123456789abcdef"', "its `program` is another text"),
                       ('"kernel": "matmul_auto", "target": "cpu"', "measured on the CPU"),
                       (f'"kernel": "matmul_auto", "device": {json.dumps(host + ", on 2 threads")}', "measured on the CPU"), (None, "no line with tuned values")):
        open(path, "w").write(f"# one line\n{{{line}, {rest}}}\n" if line else "")
        said = subprocess.run(build, capture_output=True, text=True, check=True).stderr
        if (f"{path}:2: left out: " if line else path) not in said or text not in said:
            fail(f"{line}: expected a note `{text}`, not\n{said}")
        if len(rows_of(f"{folder}/matmul_auto.h")) != 1:
            fail(f"{line} counts")


def test_tuned_exported(tool, folder):
    """Results of `tune` go from the store to a build, if they are of this text and of a GPU."""
    store, path = f"{folder}/tuned.db", f"{folder}/exported.jsonl"
    kernel = "kernels/matmul/auto.tile"
    usual = dict(os.environ, TILEWRIGHT_STORE=store)
    if subprocess.run([tool, "tune", kernel, "--list"], env=usual, capture_output=True).returncode != 0:
        return  # no SQLite
    run([tool, "tune", kernel, "--set", "m=16,n=16,k=16", "--type", "f16", "--tune", "BM=64,BN=64", "--store", store, "--budget", "20s"])
    exported = run([tool, "tune", kernel, "--export", "json", "--store", store]).out
    line = json.loads(exported)
    if line["target"] != "cpu":
        fail(f"exported as {line}")
    del line["target"]
    line["device"] = "NVIDIA H200"
    open(path, "w").write(exported + json.dumps(line) + "\n")
    built = subprocess.run([tool, "build", kernel, "--type", "f16", "--set", "n=16,k=16", "--output", folder, "--tuned", path],
                           capture_output=True, text=True, check=True)
    if "exported.jsonl:1: left out: it was measured on the CPU" not in built.stderr or ":2:" in built.stderr:
        fail(f"an exported file: {built.stderr}")
    if not any("NVIDIA H200" in row and "BM = 64, BN = 64" in row for row in rows_of(f"{folder}/matmul_auto.h")):
        fail("an exported line does not count")


def test_refused(tool, folder):
    auto = "kernels/matmul/auto.tile"
    refused(tool, [], "which FILE?")
    refused(tool, [auto], "`n` is static", "`k` is static", "--set n=")
    refused(tool, [auto, "--set", "n=64"], "`k` is static")
    refused(tool, [auto, "--set", "m=4"], "`m` is given to each launch of matmul_auto", "(`n`, `k`)")
    refused(tool, [auto, "--set", "a=4"], "no scalar parameter 'a'")
    refused(tool, [auto, "--set", "n=64,k=64", "--set", "k=8"], "with other parameters and without them")
    refused(tool, [auto, "--set", "n=64,n=65"], "two values at once")
    refused(tool, [auto, "--set", "n"], "expected NAME=VALUE")
    refused(tool, [auto, "--set", "kk=64"], "'kk'")
    refused(tool, [auto, "--target", "sm_70", "--set", "n=64,k=64"], "there is no target `sm_70`")
    refused(tool, [auto, "--type", "i8", "--set", "n=64,k=64"], "--type i8: no kernel has that (T of matmul_auto: f32, f16, bf16)")
    refused(tool, [auto, "--type", "f16,U=f16", "--set", "n=64,k=64"], "--type U=f16: no kernel has that")
    refused(tool, [auto, "--name", "3d", "--set", "n=64,k=64"], "cannot start the names of C")
    refused(tool, ["kernels/matmul/stages.tile", "--set", "n=64,k=64", "--target", "sm_86", "--type", "f32", "--tune",
                   "BK=32,STAGES=5"], "sm_86 has 101376", "with these tuned values it fits")
    refused(tool, [auto, auto, "--name", "x", "--set", "n=64,k=64", "--output", f"{folder}/missing"], "missing`: make it first",
            status=1)
    refused(tool, ["tests/aot/same_names.tile", "--name", "x"], "would be called `x_load`, as a name of the header itself")
    for kernels in ([""], [":sums", ":sums_workspace"]):  # in the file's order, and in another
        files = [f"tests/aot/same_workspace.tile{kernel}" for kernel in kernels]
        refused(tool, [*files, "--name", "x"], "would be called `x_sums_workspace`, as one for `sums")
    again = f"{folder}/again.tile"
    shutil.copy("kernels/sgemm/tiled.tile", again)
    # one kernel of a file does not compile: the others are written
    two = f"{folder}/two.tile"
    kernel = "kernel %s(i32 n, const f32 *a, f32 *b) grid(cdiv(n, 64)) warps(2)\n{\n    global f32 A[n] = a, B[n] = b;\n" \
             "    i32 i = block.x * 64;\n    %s\n    B[i +: 64] = A[i +: 64] + 1;\n}\n"
    open(two, "w").write(kernel % ("good", "") + kernel % ("bad", "shared f32 s[400][400]; B[i] = s[0][0];"))
    said = run([tool, "build", two, "--output", folder], 2)
    header = open(f"{folder}/two.h").read()
    if "`bad` is left out" not in said.err or "two_good" not in header or "bad" in header:
        fail(f"the good one of two kernels: {said}\n{header}")
    refused(tool, [f"{two}:bad", "--output", folder], "640000 bytes of shared memory")
    refused(tool, ["kernels/sgemm/tiled.tile", again, "--name", "two"], "as one for `sgemm_tiled` of kernels/sgemm/tiled.tile",
            "note: build them apart, or give one kernel another name")
    refused(tool, ["tests/aot/odd.tile:names", "kernels/sgemm/tiled.tile", "--name", "names", "--set", "workspace=16", "--tune", "Q=1"],
            "none of the kernels has a tuned value 'Q'")


def test_both_or_none(tool, folder):
    place = f"{folder}/both"
    os.makedirs(f"{place}/sgemm_tiled.c")
    open(f"{place}/sgemm_tiled.h", "w").write("kept")
    refused(tool, ["kernels/sgemm/tiled.tile", "--output", place], "sgemm_tiled.c cannot be written: Is a directory", status=1)
    if sorted(os.listdir(place)) != ["sgemm_tiled.c", "sgemm_tiled.h"] or open(f"{place}/sgemm_tiled.h").read() != "kept":
        fail(f"half of the files was written: {os.listdir(place)}")
    os.rmdir(f"{place}/sgemm_tiled.c")
    os.chmod(f"{place}/sgemm_tiled.h", 0o640)
    for _ in range(2):
        run([tool, "build", "kernels/sgemm/tiled.tile", "--output", place])
    if sorted(os.listdir(place)) != ["sgemm_tiled.c", "sgemm_tiled.h"] or os.stat(f"{place}/sgemm_tiled.h").st_mode & 0o777 != 0o640:
        fail(f"files are not replaced as they were: {os.listdir(place)}")


def main():
    bless = "--bless" in sys.argv
    tool = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        test_kernels(tool, folder)
        test_odd_values(tool, folder)
        test_defaults(tool, folder)
        test_names(tool, folder)
        test_file_names(tool, folder)
        test_signed_zeros(tool, folder)
        test_header(tool, folder, bless)
        test_program(tool, folder)
        test_driver(folder)
        test_gpu(tool, folder)
        test_targets(tool, folder)
        test_tuned(tool, folder)
        test_tuned_unused(tool, folder)
        test_tuned_exported(tool, folder)
        test_refused(tool, folder)
        test_both_or_none(tool, folder)


if __name__ == "__main__":
    main()
