"""Growth of a command's work with its program: counted instructions and memory, for N and four times N of one thing."""
import os
import re
import shutil
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor

FACTOR = 4
MOST = 1.1  # largest growth, as a multiple of FACTOR: doubled tables and longer numbers cost a little

HEAD = """kernel k(i32 n, const f32 *a, f32 *c) grid(cdiv(n, 32)) warps(1)
{
    global f32 A[n] = a, C[n] = c;
    i32 i = block.x * 32;
"""
THREADS = HEAD.replace("warps(1)", "threads(32)").replace("* 32;", "* 32 + thread.x;")
DOTS = """kernel k(i32 n, const f16 *a, f32 *c) grid(cdiv(n, 32)) warps(1)
{
    global f16 A[n][16] = a;
    global f32 C[n][16] = c;
    reg f16 x[16][16] = A[0 +: 16][:];
    reg f32 acc[16][16] = 0;
"""
COPY = "    C[i +: 32] = A[i +: 32];\n"


def each(n, text):
    """Returns the text n times, with its number in place of @."""
    return "".join(text.replace("@", str(number)) for number in range(n))


def kernel(body, ahead="", head=HEAD):
    return f"{ahead}{head}{body}}}\n"


def summed(body, n):
    """Returns a kernel that adds up the body for each x."""
    return kernel("    i32 x = n;\n" + each(n, body) + "    C[i +: 32] = (f32) x;\n")


def kernels(n):
    return each(n, kernel("    C[i +: 32] = A[i +: 32];\n    ensures C == A;\n").replace("kernel k(", "kernel k@("))


def parameters(n):
    return kernel("    i32 x = 0;\n" + each(n, "    x += p@;\n") + "    C[i +: 32] = (f32) x;\n",
                  head=HEAD.replace("(i32 n", "(" + each(n, "i32 p@, ") + "i32 n"))


def pointers(n):
    return kernel(each(n, "    global f32 P@[n] = p@;\n    P@[0 +: 32] = 0;\n") + COPY,
                  head=HEAD.replace("(i32 n", "(i32 n" + each(n, ", f32 *p@")))


# name: (program of n things, arguments of the command: FILE is replaced by the program)
SHOW = ["show", "FILE"]
PTX = ["show", "FILE", "--stage", "ptx", "--target", "sm_90"]
RUN = ["run", "FILE", "--set", "n=64", "--fill", "rand"]
KINDS = {
    "kernels": (kernels, ["show", "FILE:k0"]),
    "kernels checked": (kernels, ["check", "FILE", "--no-run"]),
    "constants": (lambda n: kernel("    i32 x = 0;\n" + each(n, "    x += c@;\n") + "    C[i +: 32] = (f32) x;\n",
                                   each(n, "const i32 c@ = @;\n")), RUN),
    "types": (lambda n: kernel(each(n, "    T@ x@ = (T@) n;\n") + COPY, each(n, "type T@ = {f32, f16};\n")), PTX),
    "types not used": (lambda n: kernel(COPY, each(n, "type T@ = {f32, f16};\n")), SHOW),
    "fns": (lambda n: each(n, "fn i32 g@(i32 x)\n{\n    return x + @;\n}\n") + summed("    x += g@(x);\n", n), PTX),
    "calls of one fn": (lambda n: "fn i32 g(i32 x)\n{\n    i32 y = x / 3;\n    return x + y;\n}\n" + summed("    x += g(x);\n", n), PTX),
    "tuned names": (lambda n: kernel("    i32 x = 0;\n" + each(n, "    x += t@;\n") + "    C[i +: 32] = (f32) x;\n",
                                     each(n, "tune t@ = {@, 7};\nrequire(t@ > 0);\n").replace("{0,", "{1,")), SHOW),
    "tuned values": (lambda n: kernel("    C[i +: 32] = A[i +: 32] + (f32) T;\n", f"tune T = {{{', '.join(map(str, range(n)))}}};\n"), SHOW),
    "requirements": (lambda n: kernel("    C[i +: 32] = A[i +: 32] + (f32) T;\n", "tune T = {1, 2};\n" + each(n, "require(T < @ + 5);\n")), SHOW),
    "assertions": (lambda n: kernel(COPY + each(n, "    static_assert(T < @ + 5);\n"), "const i32 T = 1;\n"), SHOW),
    "parameters": (parameters, PTX),
    "pointers": (pointers, RUN),
    "pointers on a GPU": (pointers, PTX),
    "statements": (lambda n: summed("    x = x * 3 + @;\n", n), PTX),
    "statements of a line": (lambda n: summed(" x = x * 3 + @;", n), PTX),
    "scopes": (lambda n: summed("    {\n        i32 t = x * 3;\n        x = t + @;\n    }\n", n), PTX),
    "loops of one counter": (lambda n: summed("    for (i32 p = 0; p < n; p++) x += 1;\n", n), SHOW),
    "loops": (lambda n: summed("    for (i32 p@ = 0; p@ < n; p@++) x += 1;\n", n), PTX),
    "loops run": (lambda n: summed("    for (i32 p = 0; p < n; p++) x += 1;\n", n), RUN),
    "loops of a thread": (lambda n: kernel("    f32 x = 0;\n" + each(n, "    for (i32 p = 0; p < n; p++) x += A[p];\n") + "    C[i] = x;\n",
                                           head=THREADS), PTX),
    "while": (lambda n: summed("    while (x < n) x += 1;\n", n), RUN),
    "if": (lambda n: summed("    if (n > @) x += @;\n", n), PTX),
    "if of a thread": (lambda n: kernel("    f32 x = 0;\n" + each(n, "    if (i > @) x += @;\n") + "    C[i] = x;\n", head=THREADS), RUN),
    "scalars": (lambda n: kernel(each(n, "    i32 x@ = n / (@ + 1);\n") + "    i32 y = 0;\n" + each(n, "    y += x@;\n") + "    C[i +: 32] = (f32) y;\n"), PTX),
    "register tiles": (lambda n: kernel(each(n, "    reg f32 x@[32] = A[i + @ +: 32];\n") + f"    C[i +: 32] = x{n - 1};\n"), PTX),
    "register tiles run": (lambda n: kernel(each(n, "    reg f32 x@[32] = A[i + @ +: 32];\n") + f"    C[i +: 32] = x{n - 1};\n"), RUN),
    "shared tiles": (lambda n: kernel(each(n, "    {\n        shared f32 s[32];\n        s = A[i + @ +: 32];\n        sync();\n        C[i + @ +: 32] = s;\n    }\n")), RUN),
    "freed tiles": (lambda n: kernel(each(n, "    shared f32 s@[32];\n    s@ = A[i +: 32];\n    sync();\n    C[i +: 32] = s@;\n    free(s@);\n")), RUN),
    "barriers": (lambda n: kernel("    shared f32 s[32];\n" + each(n, "    s = A[i + @ +: 32];\n    sync();\n    C[i +: 32] = s;\n    sync();\n")), PTX),
    "copies": (lambda n: kernel("    shared f32 s[32];\n" + each(n, "    async s = A[i + @ +: 32];\n    async_commit();\n    async_wait(0);\n    sync();\n"
                                                                    "    C[i +: 32] = s;\n    sync();\n")), PTX),
    "stores": (lambda n: kernel(each(n, "    C[i +: 32] = A[i +: 32] + @;\n")), PTX),
    "stores run": (lambda n: kernel(each(n, "    C[i +: 32] = A[i +: 32] + @;\n")), RUN),
    "elements": (lambda n: kernel(each(n, "    C[i + 32 * @] = A[i + 32 * @];\n"), head=THREADS), PTX),
    "elements run": (lambda n: kernel(each(n, "    C[i] = A[i] + @;\n"), head=THREADS), RUN),
    "views": (lambda n: kernel(each(n, "    global f32 A@[n] = a;\n") + each(n, "    C[i +: 32] = A@[i +: 32];\n")), RUN),
    "views on a GPU": (lambda n: kernel(each(n, "    global f32 A@[n] = a;\n") + each(n, "    C[i +: 32] = A@[i +: 32];\n")), PTX),
    "workspace": (lambda n: kernel(each(n, "    global f32 W@[n];\n    W@[i +: 32] = A[i +: 32];\n") + COPY), RUN),
    "arrays": (lambda n: kernel(each(n, "    f32 x@[4] = 0;\n") + each(n, "    x@[n & 3] = 1;\n") + "    C[i] = x0[n & 3];\n", head=THREADS), PTX),
    "products": (lambda n: kernel("    acc += dot(x, x);\n" * n + "    C[0 +: 16][:] = acc;\n", head=DOTS), PTX),
    "reductions": (lambda n: kernel("    f32 x = 0;\n    reg f32 t[32] = A[i +: 32];\n" + each(n, "    x += sum(t + @);\n") + "    C[i +: 32] = x;\n"), PTX),
    "functions": (lambda n: kernel("    f32 x = A[i];\n" + each(n, "    x = sin(x) + @;\n") + "    C[i] = x;\n", head=THREADS), PTX),
    "atomics": (lambda n: kernel(each(n, "    atomic_add(C[@], 1);\n"), head=THREADS), PTX),
    "locks": (lambda n: kernel("    global i32 turn[1] = 0;\n" + each(n, "    lock(turn[0], @);\n    C[i +: 32] = 0;\n    unlock(turn[0], @ + 1);\n")), PTX),
    "texts": (lambda n: kernel(COPY + each(n, "    print(\"text @\", n);\n")), PTX),
    "assume": (lambda n: kernel(each(n, "    assume(n > @);\n") + COPY), PTX),
    "ensures": (lambda n: kernel(COPY + "    ensures C == A;\n" * n), SHOW),
    "terms": (lambda n: kernel("    i32 x = n" + each(n, " + @ * n") + ";\n    C[i +: 32] = (f32) x;\n"), PTX),
    "terms of tiles": (lambda n: kernel("    C[i +: 32] = A[i +: 32]" + each(n, " + A[i + @ +: 32]") + ";\n"), PTX),
    "factors": (lambda n: kernel("    f32 y = A[i];\n    C[i] = y" + each(n, " * (y + @)") + ";\n", head=THREADS), RUN),
    "conditions": (lambda n: kernel("    if (n > 0" + each(n, " && n != @ + 1") + ")\n        C[i +: 32] = 1;\n"), RUN),
    "clusters": (lambda n: f"kernel k(f32 *c) grid({32 * n}) warps(1) cluster(2) target(sm_90a)\n{{\n    global f32 C[{32 * n}] = c;\n    mbarrier full(1);\n"
                           "    cluster_sync();\n    C[block.x] = 1;\n    cluster_sync();\n}\n", ["run", "FILE", "--device", "sim", "--despite", "race"]),
    "errors": (lambda n: kernel(each(n, "    C[i +: 32] = q@;\n")), SHOW),
}
# One kind of each: modules, names, loops, views at a launch, plans of tiles, clusters that run.
QUICK = ["kernels", "fns", "loops of one counter", "views", "register tiles", "clusters"]


def command(tool, folder, kind, n):
    make, arguments = KINDS[kind]
    path = f"{folder}/{kind.replace(' ', '_')}_{n}.tile"
    with open(path, "w") as out:
        out.write(make(n))
    return [tool, *(a.replace("FILE", path) for a in arguments)]


def instructions(arguments):
    done = subprocess.run(["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null", *arguments],
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="replace")
    found = re.search(r"I +refs: +([\d,]+)", done.stderr)
    if not found:
        raise AssertionError(f"{' '.join(arguments)}: status {done.returncode}, {done.stderr[-400:]}")
    return int(found.group(1).replace(",", ""))


def peak_memory(arguments):
    """Returns the peak memory of the command in KiB; at least that of this process when it started the command."""
    process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_maxrss


def grown(tool, folder, kind, n):
    """Returns the instructions of FACTOR * n things as a multiple of FACTOR times those of n."""
    small, large = (instructions(command(tool, folder, kind, count)) for count in (n, FACTOR * n))
    return large / small / FACTOR


def too_much(tool, kinds, n):
    """Returns lines that name the kinds whose work grows by more than MOST; None without valgrind."""
    if not shutil.which("valgrind"):
        return None
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
        growth = pool.map(lambda kind: grown(tool, folder, kind, n), kinds)
        return [f"{kind}: {times:.2f} times as many instructions for each of {FACTOR * n} as for each of {n}"
                for kind, times in zip(kinds, growth) if times > MOST]
