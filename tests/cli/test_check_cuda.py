#!/usr/bin/env python3
"""`check` of CUDA C and PTX: its time limits and --strict, barriers and shuffles that not all threads reach, and the hints for options
and launches. Uses stored PTX of nvcc, and a compiler of CUDA C if one is installed."""
import json
import os
import re
import shutil
import sys
import tempfile

from tile_runner import call, cuda_compiler, fail

HERE = os.path.dirname(os.path.abspath(__file__))
SUM = [os.path.join(HERE, "../../kernels/cuda/block_sum.ptx"), "--block", "256", "--arg", "f32[1000]:ones", "--arg", "f32[1]:none", "--arg", "i32:1000"]
BRANCHES = ["--kernel", "branches", "--block", "64", "--arg", "f32[64]:iota"]
ROUNDS = ["--kernel", "rounds", "--block", "64", "--arg", "f32[256]:zero", "--arg", "i32:3"]
SPINS = ["--kernel", "spins", "--block", "32", "--arg", "i32[1]:zero", "--arg", "i32:4", "--arg", "i32:0"]
SHUFFLES = ["--kernel", "part_shuffles", "--block", "32", "--arg", "f32[32]:zero"]

# An option None is the first of these limits, in seconds, that a busy machine has not reached before the launch begins.
LIMITS = ["0.5", "2", "8", "32"]
# command, options, status, expected texts, unexpected texts
CASES = [
    # warps at different barriers
    ("check", BRANCHES, 0, ["warning: warps-apart: warps meet at different barriers, barriers.cu:1", "allowed by PTX, undefined in CUDA C++"], ["error"]),
    ("check", BRANCHES + ["--strict"], 1, ["warning: warps-apart"], ["error"]),
    ("check", ROUNDS, 1, ["barriers.cu:26:9 and barriers.cu:29:5: allowed by PTX", "last barrier passed: barriers.cu:26:9 (number 3)",
                          "last barrier passed: barriers.cu:29:5 (number 3)", "the warps passed their last barrier together, each at another place"], []),
    # lanes that do not come
    ("check", SHUFFLES, 1, ["barriers.cu:38:9: error: deadlock: lanes 0x000fffff of a warp wait in shfl for lanes 0xfff00000, which do not come",
                            "barriers.cu:39:5: note: wait by block (0,0,0) thread (20,0,0)", "give the lanes that come"], ["divergent-barrier"]),
    ("run", SHUFFLES, 1, ["barriers.cu:38:9: error: deadlock: lanes 0x000fffff"], []),
    # a loop without an end
    ("check", SPINS + ["--time-limit", None], 1, ["`spins` did not end within {limit} s", "was at barriers.cu:4"], []),
    ("run", SPINS + ["--time-limit", None], 1, ["was at barriers.cu:4"], []),
    # options
    ("check", BRANCHES + ["--device", "h100"], 0, ["warps-apart"], []),
    ("check", BRANCHES + ["-DX=1"], 2, ["unknown option -DX; for the compiler of CUDA C: --compiler-arg=-DX=1"], []),
    ("check", ["--kernel", "bounded", "--block", "512", "--arg", "f32[8]:zero", "--arg", "i32:8"], 2,
     ["does not take blocks of 512 x 1 x 1 threads: it has at most 256 (.maxntid; __launch_bounds__ in CUDA C)"], []),
    ("check", ["--kernel", "bounded"], 2, ["placeholders, put yours in: tilewright check", "--block 256 --arg 'f32[1024]:zero' --arg i32:32",
                                           "(--block 256 is the limit of the kernel's __launch_bounds__)"], []),
]


def check(tool, folder, cases):
    for command, options, status, said, unsaid in cases:
        for limit in LIMITS if None in options else ["0"]:
            done = call([tool, command, "barriers.ptx", *[limit if o is None else o for o in options]], cwd=folder)
            shown = re.sub(r"\s+", " ", done.out + done.err)
            missing = [t for t in said if t.replace("{limit}", limit) not in shown] + [f"not {t}" for t in unsaid if t in shown]
            if done.status == status and not missing:
                break
        else:
            fail(f"{command} barriers.ptx {options}: expected status {status} and {missing}, got {done}")


def check_limits(tool):
    """A check that the user's own limit cuts short fails, wherever the limit falls."""
    for first in (0.4, 0.5, 0.6, 0.7):
        for limit in (f"{first * 2 ** i:g}" for i in range(6)): # a busy machine may not have begun with the runs
            options = [*SUM, "--seeds", "50000", "--time-limit", limit]
            done = call([tool, "check", *options])
            if done.status != 1 or f"time is up (--time-limit {limit})" not in done.err:
                fail(f"{options}: {done}")
            if re.search(rf"error: .*time is up \(--time-limit {limit}\) after \d+ of 100000 runs", done.err):
                break
        else:
            fail(f"{options}: {done}")
    done = call([tool, "check", *options, "--json"])
    found = json.loads(done.out)
    if done.status != 1 or found["ok"] or found["planned_runs"] != 100000 or [f["code"] for f in found["findings"]] != ["cancelled"]:
        fail(f"{options}: {done}")
    done = call([tool, "check", *SUM, "--strict"])
    if done.status or done.err:
        fail(f"--strict of a clean kernel: {done}")


LARGE = """.version 7.8
.target sm_80
.address_size 64
.visible .entry large()
{
    .shared .align 4 .b8 s[65536];
    .reg .b32 %r<2>;
    mov.u32 %r1, s;
    st.shared.u32 [%r1], 0;
    ret;
}
"""


def check_shared(tool, folder):
    with open(f"{folder}/large.ptx", "w") as out:
        out.write(LARGE)
    done = call([tool, "check", "large.ptx", "--block", "32"], cwd=folder)
    if done.status != 2 or "the kernel has 65536 bytes of static" not in done.err or "`extern __shared__`, its size given by --shared" not in done.err:
        fail(f"static shared memory: {done}")


TEMPLATE = """#include "sizes.h"
template <typename T, int N>
__global__ void scale(T *x, T a, int n)
{
    for (int i = threadIdx.x; i < n && i < N; i += SIZE)
        x[i] *= a;
}
"""


def check_source(tool, folder):
    """Options and hints for a source: folders of headers, the line that makes a kernel of a template, a struct's elements."""
    if not cuda_compiler():
        print("there is no compiler of CUDA C: folders and templates were not tried")
        return
    os.mkdir(f"{folder}/inc")
    with open(f"{folder}/inc/sizes.h", "w") as out:
        out.write("#define SIZE 32\n")
    with open(f"{folder}/scale.cu", "w") as out:
        out.write(TEMPLATE)
    line = "template __global__ void scale<float, 64>(float *x, float a, int n);"
    for include in (["-Iinc"], ["-I", "inc"], ["--import-path=inc"]):
        done = call([tool, "check", "scale.cu", *include], cwd=folder)
        if done.status != 2 or f"`{line}`" not in done.err:
            fail(f"the template's line: {done}")
    with open(f"{folder}/scale.cu", "a") as out:
        out.write(line + "\n")
    launch = ["scale.cu", "-Iinc", "--block", "32", "--arg", "f32[8]:ones", "--arg", "f32:2", "--arg", "i32:8"]
    done = call([tool, "check", *launch], cwd=folder)
    if done.status or done.err:
        fail(f"-Iinc: {done}")
    for given, status in (([], 0), (["--strict"], 1)):
        for kind in ("f64[8]:ones", "i8[64]:zero", "f16[16]:ones"):
            wrong = [kind if word == "f32[8]:ones" else word for word in launch]
            done = call([tool, "check", *wrong, *given], cwd=folder)
            if done.status != status or f"has elements of {kind.split('[')[0]}: --arg f32[…]" not in done.err:
                fail(f"{wrong}: {done}")


PIPELINE = """#include <cuda/pipeline>
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void twice(const float *in, float *out, int n)
{
    __shared__ float s[2][64];
    auto g = cg::this_thread_block();
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
    auto p = cuda::make_pipeline(g, &state);
    float sum = 0;
    for (int i = 0; i <= n; i++) {
        if (i < n) {
            p.producer_acquire();
            cuda::memcpy_async(&s[i & 1][threadIdx.x], in + i * 64 + threadIdx.x, sizeof(float), p);
            p.producer_commit();
        }
        if (i > 0) {
            p.consumer_wait();
            sum += s[(i - 1) & 1][(threadIdx.x + 1) % 64];
            p.consumer_release();
        }
    }
    out[threadIdx.x] = sum;
}
"""


def check_pipeline(tool, folder):
    """The destructor of a pipeline invalidates mbarriers that other threads waited for: no race. A missing wait is one."""
    if not cuda_compiler("nvcc"):
        print("there is no nvcc: cuda::pipeline was not tried")
        return
    launch = ["--block", "64", "--arg", "f32[256]:iota", "--arg", "f32[64]:none", "--arg", "i32:4"]
    for name, text, status in (("right.cu", PIPELINE, 0), ("wrong.cu", PIPELINE.replace("p.consumer_wait();", ""), 1)):
        with open(f"{folder}/{name}", "w") as out:
            out.write(text)
        done = call([tool, "check", name, *launch], cwd=folder)
        if done.status != status or ("race: " in done.err) != (status == 1):
            fail(f"{name}: {done}")


def main():
    tool = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(os.path.join(HERE, "cuda", "barriers.cu"), folder)
        with open(os.path.join(HERE, "cuda", "barriers.ptx")) as given, open(f"{folder}/barriers.ptx", "w") as out:
            out.write(given.read().replace("tests/cli/cuda/barriers.cu", "barriers.cu"))
        check(tool, folder, CASES)
        check_limits(tool)
        check_shared(tool, folder)
        check_source(tool, folder)
        check_pipeline(tool, folder)


if __name__ == "__main__":
    main()
