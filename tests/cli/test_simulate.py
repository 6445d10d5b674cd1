#!/usr/bin/env python3
"""`run` and `check` on the simulator: .tile, .ptx and, if a compiler is installed, .cu."""
import json
import os
import re
import shlex
import sys
import tempfile

import numpy as np

from tile_runner import CUDA_COMPILERS, call, cuda_compiler, fail

HEAD = ".version 7.0\n.target sm_80\n.address_size 64\n"

# out[i] = in[i] + in[n - 1 - i] through shared memory; the barrier can be left out, and the bound be wrong by one
MIRROR = HEAD + """
.visible .entry mirror(.param .u64 in, .param .u64 out, .param .u32 n)
{
    .reg .b32 %r<8>; .reg .b64 %rd<8>; .reg .f32 %f<4>; .reg .pred %p;
    .shared .align 4 .b8 tile[512];
    ld.param.u64 %rd1, [in];
    ld.param.u64 %rd2, [out];
    ld.param.u32 %r1, [n];
    mov.u32 %r2, %tid.x;
    mov.u32 %r3, tile;
    setp.COMPARE.u32 %p, %r2, %r1;
    @!%p bra wait;
    mul.wide.u32 %rd3, %r2, 4;
    add.s64 %rd4, %rd1, %rd3;
    ld.global.f32 %f1, [%rd4];
    shl.b32 %r4, %r2, 2;
    add.s32 %r4, %r3, %r4;
    st.shared.f32 [%r4], %f1;
wait:
    BARRIER
    @!%p bra done;
    sub.s32 %r5, %r1, %r2;
    sub.s32 %r5, %r5, 1;
    shl.b32 %r5, %r5, 2;
    add.s32 %r5, %r3, %r5;
    ld.shared.f32 %f2, [%r5];
    add.f32 %f3, %f1, %f2;
    add.s64 %rd5, %rd2, %rd3;
    st.global.f32 [%rd5], %f3;
done:
    ret;
}
"""
CLEAN = MIRROR.replace("COMPARE", "lt").replace("BARRIER", "bar.sync 0;")
RACY = MIRROR.replace("COMPARE", "lt").replace("BARRIER", "")
OUTSIDE = MIRROR.replace("COMPARE", "le").replace("BARRIER", "bar.sync 0;")

ENDLESS = HEAD + """
.visible .entry spin(.param .u32 n)
{
    .reg .b32 %r<4>; .reg .pred %p;
    ld.param.u32 %r1, [n];
again:
    add.s32 %r2, %r2, 1;
    setp.ne.s32 %p, %r1, 0;
    @%p bra again;
    ret;
}
"""
TURNS = """kernel spin(i32 n, f32 *out) grid(1) threads(32)
{
    global f32 Out[n] = out;
    i32 i = 0;
    while (i < n)
        i = i + 1 - 1;
    Out[0] = i;
}
"""
DEADLOCK = HEAD + """
.visible .entry stuck()
{
    .reg .b32 %r<2>; .reg .pred %p;
    mov.u32 %r1, %tid.x;
    setp.lt.u32 %p, %r1, 32;
    @%p bra second;
    barrier.sync 1, 64;
    ret;
second:
    barrier.sync 2, 64;
    ret;
}
"""
# Thread 0 waits for a flag that thread 32 sets after a barrier.
FLAG = HEAD + """
.global .u32 ready;
.visible .entry late()
{
    .reg .b32 %r<4>; .reg .pred %p;
    mov.u32 %r1, %tid.x;
    setp.ne.u32 %p, %r1, 0;
    @%p bra there;
again:
    ld.acquire.gpu.global.u32 %r2, [ready];
    setp.ne.u32 %p, %r2, 1;
    @%p bra again;
there:
    barrier.sync 0;
    setp.ne.u32 %p, %r1, 32;
    @%p bra done;
    st.release.gpu.global.u32 [ready], 1;
done:
    ret;
}
"""
# A struct passed to a function and back, and the results of vprintf, malloc and an indirect call: all of it in .param memory
CALLS = HEAD + """
.extern .func (.param .b32 status) vprintf(.param .b64 format, .param .b64 arguments);
.extern .func (.param .b64 memory) malloc(.param .b64 bytes);
.extern .func free(.param .b64 memory);
.global .align 1 .b8 hello[11] = {104, 101, 108, 108, 111, 32, 37, 100, 10, 0, 0};
.func (.param .align 8 .b8 swapped[8]) swap(.param .align 8 .b8 pair[8])
{
    .reg .b32 %r<3>;
    ld.param.v2.b32 {%r1, %r2}, [pair];
    st.param.b32 [swapped], %r2;
    st.param.b32 [swapped+4], %r1;
    ret;
}
.visible .entry calls(.param .u64 out)
{
    .local .align 8 .b8 depot[8];
    .reg .b32 %r<12>; .reg .b64 %rd<16>; .reg .pred %p;
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, %tid.x;
    mov.b64 %rd2, depot;
    cvta.local.u64 %rd3, %rd2;
    STORE
    mov.b64 %rd4, hello;
    cvta.global.u64 %rd5, %rd4;
    {
    .param .b64 format; .param .b64 arguments; .param .b32 status;
    st.param.b64 [format], %rd5;
    st.param.b64 [arguments], %rd3;
    call.uni (status), vprintf, (format, arguments);
    ld.param.b32 %r2, [status];
    }
    setp.lt.u32 %p, %r1, 40;
    @!%p bra done;
    {
    .param .align 8 .b8 pair[8]; .param .align 8 .b8 back[8];
    st.param.v2.b32 [pair], {%r1, %r2};
    call (back), swap, (pair);
    ld.param.v2.b32 {%r3, %r4}, [back];
    }
    {
    .param .b64 bytes; .param .b64 memory;
    mov.b64 %rd6, 16;
    st.param.b64 [bytes], %rd6;
    call (memory), malloc, (bytes);
    ld.param.b64 %rd7, [memory];
    }
    st.u32 [%rd7], %r4;
    ld.u32 %r5, [%rd7];
    {
    .param .b64 memory;
    st.param.b64 [memory], %rd7;
    call free, (memory);
    }
    mul.wide.u32 %rd8, %r1, 4;
    add.s64 %rd9, %rd1, %rd8;
    add.s32 %r6, %r5, %r3;
    ld.local.u32 %r7, [depot];
    add.s32 %r6, %r6, %r7;
    st.global.u32 [%rd9], %r6;
done:
    ret;
}
"""
# assert(threadIdx.x < 2), line 7 of a.cu
ASSERTS = HEAD + """
.extern .func __assertfail(.param .b64 message, .param .b64 file, .param .b32 line, .param .b64 function, .param .b64 size);
.global .align 1 .b8 said[16] = {SAID};
.global .align 1 .b8 file[5] = {FILE};
.visible .entry asserts()
{
    .reg .b32 %r<3>; .reg .b64 %rd<5>; .reg .pred %p;
    mov.u32 %r1, %tid.x;
    setp.lt.u32 %p, %r1, 2;
    @%p bra fine;
    mov.b64 %rd1, said;
    cvta.global.u64 %rd2, %rd1;
    mov.b64 %rd3, file;
    cvta.global.u64 %rd4, %rd3;
    call __assertfail, (%rd2, %rd4, 7, %rd4, 1);
fine:
    ret;
}
"""
for word, text in (("SAID", "threadIdx.x < 2"), ("FILE", "a.cu")):
    ASSERTS = ASSERTS.replace("{" + word + "}", "{" + ", ".join(str(b) for b in text.encode() + b"\0") + "}")
TWO = HEAD + "".join(f".visible .entry {name}(.param .u32 n)\n{{\n    ret;\n}}\n" for name in ("first", "second"))

SUM = """
__global__ void sum(const float *in, float *out, int n)
{
    __shared__ float partial[256];
    int t = threadIdx.x;
    float mine = 0;
    for (int i = t; i < n; i += blockDim.x)
        mine += in[i];
    partial[t] = mine;
    __syncthreads();
    for (int stride = blockDim.x / 2; stride > 0; stride /= 2) {
        if (t < stride)
            partial[t] += partial[t + stride];
        BARRIER
    }
    if (t == 0)
        *out = partial[0];
}
"""


class Simulator:
    def __init__(self, tool, folder):
        self.tool, self.folder = tool, folder

    def write(self, name, text):
        with open(os.path.join(self.folder, name), "w") as out:
            out.write(text)

    def call(self, *words):
        return call([self.tool, *words], cwd=self.folder)

    def expect(self, words, status, *needles):
        """Checks the command's status, and that each text occurs somewhere in its output."""
        result = self.call(*words)
        text = result.out + result.err
        missing = [n for n in needles if n not in text]
        if result.status != status or missing:
            fail(f"{' '.join(words)}: expected status {status}, missing {missing}: {result}")
        return result

    def json(self, words, status):
        result = self.call(*words, "--json")
        if result.status != status:
            fail(f"{' '.join(words)} --json: expected status {status}: {result}")
        try:
            return json.loads(result.out)
        except ValueError as wrong:
            fail(f"{' '.join(words)} --json: {wrong}: {result}")


def arguments(n=100):
    return ["--block", "128", "--arg", f"f32[{n}]:iota", "--arg", f"f32[{n}]:none", "--arg", f"i32:{n}"]


def test_run(s):
    s.write("mirror.ptx", CLEAN)
    s.expect(["run", "mirror.ptx", *arguments(4)], 0, "1 out: [3.0, 3.0, 3.0, 3.0]")
    x = np.random.rand(8, 16).astype("f4")
    np.save(os.path.join(s.folder, "x.npy"), x)
    s.expect(["run", "mirror.ptx:mirror", "--block", "128", "--arg", "@x.npy", "--arg", "f32[128]:zero", "--arg", "u32:0x80",
              "--out", "1=y.npy", "--device", "sim", "--seed", "7", "--copies", "late"], 0)
    y = np.load(os.path.join(s.folder, "y.npy"))
    if not np.array_equal(y, x.ravel() + x.ravel()[::-1]):
        fail(f"mirror: {y}")
    found = s.json(["run", "mirror.ptx", *arguments(), "--counters"], 0)
    counters = found["counters"]
    # 4 warps: a load, a store, a barrier; 100 of 128 threads work on 4 bytes each
    wanted = {"global_loads": 4, "global_stores": 4, "global_sectors": 26, "block_sectors": 26, "shared_wavefronts": 8, "shared_wavefronts_ideal": 8}
    if {k: counters[k] for k in wanted} != wanted or counters["warp_instructions"] != found["warp_instructions"]:
        fail(f"counters {counters}")
    for key in ("warp_instructions", "shared_wavefronts", "shared_wavefronts_ideal", "global_sectors", "global_requests", "async_bytes"):
        if key not in counters:
            fail(f"no counter {key}")
    if sum(line.get("global_loads", 0) for line in counters["lines"]) != 4 or found["findings"] != [] or not found["ok"]:
        fail(f"run --json: {found}")
    if [a["changed"] for a in found["arguments"] if "changed" in a] != [False, True]:
        fail(f"run --json: {found['arguments']}")


def test_check(s):
    s.write("mirror.ptx", CLEAN)
    s.write("racy.ptx", RACY)
    s.write("outside.ptx", OUTSIDE)
    silent = s.expect(["check", "mirror.ptx", *arguments()], 0)
    if silent.out or silent.err:
        fail(f"a clean kernel is talked about: {silent}")
    s.expect(["check", "mirror.ptx", *arguments(), "-v"], 0, "mirror: ok (8 runs")
    result = s.expect(["check", "racy.ptx", *arguments()], 1, "error: race:", "st.shared.f32", "ld.shared.f32", " of tile)", "seed 0")
    if result.out:
        fail(f"findings go to standard error: {result}")
    found = s.json(["check", "racy.ptx", *arguments()], 1)
    races = [f for f in found["findings"] if f["kind"] == "race"]
    if found["ok"] or len(races) != 1 or len(races[0]["accesses"]) != 2 or not races[0]["message"]:
        fail(f"check --json of a race: {found}")
    lines = [RACY.splitlines()[a["line"] - 1] for a in races[0]["accesses"]]
    if sorted(line.split()[0] for line in lines) != ["ld.shared.f32", "st.shared.f32"]:
        fail(f"the lines of a race: {lines}")
    s.expect(["check", "outside.ptx", *arguments()], 1, "out-of-bounds", "ld.global.f32")
    found = s.json(["check", "outside.ptx", *arguments(), "--counters"], 1)
    if "out-of-bounds" not in [f["kind"] for f in found["findings"]] or "counters" not in found:
        fail(f"check --json out of bounds: {found}")
    s.expect(["check", "mirror.ptx", "--block", "128", "--arg", "f32[100]:none", "--arg", "f32[100]:none", "--arg", "i32:100"], 1,
             "uninitialised")
    s.write("dynamic.ptx", CLEAN.replace(".visible", ".extern .shared .align 4 .b8 tile[];\n.visible", 1).replace("    .shared .align 4 .b8 tile[512];\n", ""))
    s.expect(["check", "dynamic.ptx", *arguments(), "--shared", "512"], 0)
    for command in ("run", "check"):
        s.expect([command, "dynamic.ptx", *arguments()], 1, "'tile' is as long as the launch says, and it says 0 (--shared BYTES)")
    s.write("pass.txt", "# known\nrace racy.ptx:*\nuninitialised mirror # read too early\n")
    s.expect(["check", "racy.ptx", *arguments(), "--suppress", "pass.txt"], 0)
    s.write("named.ptx", RACY.replace("mirror", "_Z6mirrorPKfPfi"))
    for name in ("mirror", "_Z6mirrorPKfPfi", "*irrorPK*"):
        s.write("pass.txt", f"race {name}\nuninitialised {name}\n")
        s.expect(["check", "named.ptx", *arguments(), "--suppress", "pass.txt"], 0)
    s.write("pass.txt", "raec\n")
    s.expect(["check", "racy.ptx", *arguments(), "--suppress", "pass.txt"], 2, "pass.txt:1:1", "raec")
    s.expect(["check", "racy.ptx", *arguments(), "--suppress", "nowhere.txt"], 2, "nowhere.txt")


ONE_WORD = HEAD + """
.visible .entry pick(.param .u64 out, .param .u32 n)
{
    .reg .b32 %r<4>; .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [out];
    ld.param.u32 %r1, [n];
    mov.u32 %r2, %tid.x;
    and.b32 %r1, %r1, %r2;
    HOW.global.u32 [%rd1], %r1;
    ret;
}
"""


def test_severities(s):
    """All threads write one word: one value with n = 0, different ones with n = 1."""
    s.write("weak.ptx", ONE_WORD.replace("HOW", "st"))
    s.write("volatile.ptx", ONE_WORD.replace("HOW", "st.volatile"))
    launch = ["--block", "32", "--arg", "i32[1]:none", "--arg"]
    for file, option, same, different in (("weak.ptx", "same-value", "same-value", "race"),
                                          ("volatile.ptx", "volatile", "volatile", "volatile-race")):
        one, two = [file, *launch, "i32:0"], [file, *launch, "i32:1"]
        for how, status in (([], 0), (["warning"], 0), (["error"], 1)):
            how = how and [f"--{option}", *how]
            said = s.expect(["check", *one, *how], status, f"{'error' if status else 'warning'}: {same}: unordered")
            found = s.json(["check", *one, *how], status)["findings"]
            if [(f["kind"], f["severity"]) for f in found] != [(same, "error" if status else "warning")]:
                fail(f"{how}: {found} {said}")
            s.expect(["check", *two, *how], 1, f"error: {different}: ")
        if s.expect(["check", *one, f"--{option}", "ignore"], 0).err:
            fail(f"{option} is not ignored")
        s.expect(["check", *two, f"--{option}", "ignore"], 0 if option == "volatile" else 1)
        s.expect(["check", *one, f"--{option}", "never"], 2, f"--{option} never: expected warning, error or ignore")


OUTSIDE_ITS_MASK = HEAD + """
.visible .entry half()
{
    .reg .b32 %r<4>; .reg .pred %p;
    mov.u32 %r1, %tid.x;
    setp.gt.u32 %p, %r1, 16;
    @%p bra done;
    bar.warp.sync 0xffff;
done:
    ret;
}
"""


def test_masks(s):
    s.write("half.ptx", OUTSIDE_ITS_MASK)
    s.expect(["check", "half.ptx", "--block", "32"], 1, "half.ptx:11:", "error: warp-sync: lanes 0x00010000 are not in the mask 0x0000ffff")
    found = s.json(["check", "half.ptx", "--block", "32"], 1)["findings"]
    if [f["kind"] for f in found] != ["warp-sync"] or found[0]["accesses"][0]["lane"] != 16:
        fail(f"check --json of a lane outside its mask: {found}")
    s.write("masks.txt", "warp-sync half\n")
    s.expect(["check", "half.ptx", "--block", "32", "--suppress", "masks.txt"], 0)
    s.expect(["run", "half.ptx", "--block", "32"], 1, "lane 16 is not in its mask 0x0000ffff")


def test_steps(s):
    """Whichever warp takes the last step, even one that then waits for the others, the message names a line of the loop."""
    text = open("kernels/matmul/shared.tile").read().replace("p += BK", "p += 0")
    first = 1 + text[:text.index("for (i32 p")].count("\n")
    s.write("steps.tile", text)
    for steps in (30000, 30050, 60000, 100000, 100007):
        said = s.expect(["run", "steps.tile", "--set", "m=130,n=67,k=75", "--fill", "rand", "--device", "sim", "--step-limit", str(steps)], 1, "still run by")
        line = re.match(r"steps.tile:(\d+):\d+: error: endless: ", said.err)
        if not line or not first <= int(line[1]) <= first + 6:
            fail(f"{steps} steps: {said}")


def test_ends(s):
    s.write("endless.ptx", ENDLESS)
    s.write("stuck.ptx", DEADLOCK)
    spin = ["endless.ptx", "--block", "32", "--arg", "i32:1"]
    s.expect(["run", *spin, "--step-limit", "10000"], 1, "does not end", "10000")
    s.expect(["check", *spin, "--step-limit", "10000"], 1, "does not end")
    s.expect(["check", *spin, "--time-limit", "0.3"], 1, "0.3 s", "--time-limit")
    s.expect(["run", *spin, "--time-limit", "0.3"], 1, "`spin` did not end within 0.3 s (--time-limit)")
    s.write("endless.tile", TURNS)
    for device in ("cpu", "sim"):
        late = ["run", "endless.tile", "--set", "n=3", "--device", device, "--time-limit", "0.2"]
        s.expect(late, 1, "tilewright: `spin` did not end within 0.2 s (--time-limit)")
        if s.json(late, 1)["status"] != "TW_CANCELLED":
            fail(f"{late}: its status")
    test_steps(s)
    s.expect(["run", "endless.tile", "--set", "n=3", "--device", "cuda", "--time-limit", "9"], 2, "what runs on a GPU cannot be ended")
    found = s.json(["check", *spin, "--step-limit", "10000"], 1)
    where = [(a["line"], a["does"]) for f in found["findings"] for a in f["accesses"]]
    if [f["kind"] for f in found["findings"]] != ["endless"] or where != [(10, "still run")]:
        fail(f"endless: {found}")
    s.expect(["check", "stuck.ptx", "--block", "64"], 1, "deadlock")
    s.expect(["run", "stuck.ptx", "--block", "64"], 1, "error: deadlock: every thread waits")
    if s.json(["run", "stuck.ptx", "--block", "64"], 1)["ok"]:
        fail("a deadlock is ok")


LOCK = """kernel turns(i32 n, f32 *out) grid(3) threads(64)
{
    global f32 Out[n] = out;
    global i32 turn[2][2] = 0;
    lock(turn[1][0], 0);
    if (thread.x == 0)
        Out[block.x] = block.x;
    unlock(turn[1][0], block.x + 1);
}
"""


def test_waits(s):
    """A thread waits in a loop for an element that no thread changes: the report has the line, the element's name, its value, and the
    other waiting threads."""
    s.write("lock.tile", LOCK)
    said = s.expect(["run", "lock.tile", "--set", "n=3", "--fill", "zero", "--device", "sim"], 1,
                    "lock.tile:5:5: error: deadlock: this waits for turn[1][0] to change, but it is 1, and no thread will change it",
                    "    lock(turn[1][0], 0);", "wait by block (1,0,0) thread (0,0,0)", " (turn[1][0])\n",
                    "threads that wait for memory: 2; at barriers: 126\n")
    if "0xfffffffe" in said.err:
        fail(f"a deadlock of locks: {said}")
    found = s.json(["run", "lock.tile", "--set", "n=3", "--fill", "zero", "--device", "sim"], 1)
    if "turn[1][0]" not in json.dumps(found):
        fail(f"a deadlock of locks in JSON: {found}")
    s.write("late.ptx", FLAG)
    for command in ("run", "check"):
        said = s.expect([command, "late.ptx", "--block", "64"], 1, "late.ptx:13:5: error: deadlock: this waits for element 0 of ready to change,"
                        " but it is 0, and no thread will change it", "threads that wait for memory: 1; at barriers: 63\n")
        if "barrier 0 waits" in said.err:
            fail(f"{command}: the barrier is not the cause: {said}")


def test_calls(s):
    """A call writes memory: arguments and results of functions, and of those that the machine provides."""
    launch = ["--block", "48", "--arg", "i32[48]:zero"]
    s.write("calls.ptx", CALLS.replace("STORE", "st.local.u32 [depot], %r1;"))
    s.expect(["check", "calls.ptx", *launch], 0)
    values = s.json(["run", "calls.ptx", *launch], 0)["arguments"][0]["values"]
    if values != [2 * i + 1 if i < 40 else 0 for i in range(48)]:
        fail(f"calls: {values}")
    # the store and the load, by two warps; not the parameters and results of functions
    counters = s.json(["run", "calls.ptx", *launch, "--counters"], 0)["counters"]
    if counters["local_accesses"] != 4:
        fail(f"local accesses: {counters['local_accesses']}")
    whole = CALLS.replace("STORE", "st.local.u32 [depot], %r1;")
    s.write("freed.ptx", whole.replace("    mul.wide.u32 %rd8", "    ld.u32 %r5, [%rd7];\n    mul.wide.u32 %rd8"))
    s.expect(["check", "freed.ptx", *launch], 1, "offset 0 of 'malloc' (16 bytes), which was freed", "free() it after its last use")
    s.write("calls.ptx", CALLS.replace("STORE", ""))
    found = s.json(["check", "calls.ptx", *launch], 1)["findings"]
    if [f["kind"] for f in found] != ["uninitialised"] or "ld.local.u32" not in found[0]["accesses"][0]["instruction"]:
        fail(f"what no call wrote: {found}")
    s.write("asserts.ptx", ASSERTS)
    s.expect(["check", "asserts.ptx", "--block", "2"], 0)
    s.expect(["run", "asserts.ptx", "--block", "3"], 1, "assertion `threadIdx.x < 2` failed (a.cu:7, a.cu)", "asserts.ptx:18:5: error: trap", "thread (2,0,0)")
    s.expect(["check", "asserts.ptx", "--block", "3"], 1, "trap: assertion `threadIdx.x < 2` failed (a.cu:7, a.cu)")


def entry(name):
    return (f".visible .entry {name}(.param .u64 {name}_param_0, .param .u32 {name}_param_1)\n"
            "{\n    ret;\n}\n")


HISTOGRAM = """kernel hist(i32 n, const i32 *a) grid(1) threads(256)
{
    global i32 A[n] = a;
    shared i32 s[16];
    i32 i = thread.x;
    if (i < n)
        atomic_add(s[A[i]], 1);
}
"""

TOTAL = """kernel total(i32 n, const f32 *x, f32 *out) grid(cdiv(n, 64)) warps(1)
{
    global f32 X[n] = x, Out[3][2] = out;
    i32 i = block.x * 64;
    Out[2][1] = Out[2][1] + sum(X[i +: 64]);
}
"""


def test_elements(s):
    """Findings of a .tile kernel: its line, the element of the array, floats as numbers; and PTX that is in no file."""
    s.write("total.tile", TOTAL)
    s.expect(["check", "total.tile", "--set", "n=128"], 1,
             "total.tile:5:5: error: race: write and read of out[2][1] in global memory with no order", "4 bytes at global address 0x",
             " (out[2][1]); no barrier passed", "it then gets 0, not the ",
             "<PTX of total>:")


ALIKE = """
.version 8.0
.target sm_80
.address_size 64
.visible .entry alike()
{
    .shared .align 8 .b8 s[8];
    .reg .b32 %r<4>;
    .reg .TYPE %v<1>;
    .reg .pred %p<1>;
    mov.u32 %r1, %tid.x;
    shr.u32 %r2, %r1, 5;
    add.u32 %r2, %r2, FIRST;
    mov.b32 %v0, %r2;
    and.b32 %r1, %r1, 31;
    setp.eq.u32 %p0, %r1, 0;
    mov.u32 %r3, s;
    @%p0 st.shared.TYPE [%r3], %v0;
    ret;
}
"""


def test_values_of_races(s):
    """Values are printed as numbers; two that print alike also have their bits."""
    for kind, first, says in (
        ("f32", "0x7fc00000", r"end up as nan \(0x7fc0000[01]\) \(.*\) or as nan \(0x7fc0000[01]\) \("),
        ("f32", "0x3f800000", r"end up as 1(\.00000012)? \(block.* or as 1(\.00000012)? \(block"),
        ("s32", "-9", r"end up as -[98] \(block.* or as -[98] \(block"),
        ("u32", "4294967290", r"end up as 429496729[01] \(block.* or as 429496729[01] \(block"),
        ("b32", "7", r"end up as 0x0000000[78] \(block.* or as 0x0000000[78] \(block"),
    ):
        s.write("alike.ptx", ALIKE.replace("TYPE", kind).replace("FIRST", first))
        done = s.expect(["check", "alike.ptx", "--block", "64"], 1)
        if not re.search("the bytes " + says, done.err + done.out):
            fail(f"{kind}: {done}")


SHARED = """kernel hop(i32 n, const f32 *a, f32 *out, const i32 *to) grid(1) threads(32)
{
    global f32 A[n] = a, Out[n] = out;
    global i32 To[n] = to;
    shared f32 rows[4][8];
    i32 t = thread.x;
    WRITE
    sync();
    Out[t] = rows[3][t % 8];
    rows[min(max(To[t], 3), 3)][t % 8] = 7;
}
"""


def test_shared_elements(s):
    """A tile's element has its name, and no value is printed if both orders give the same."""
    launch = ["--set", "n=32"]
    s.write("hop.tile", SHARED.replace("WRITE", "if (t != 29) rows[t / 8][t % 8] = A[t];"))
    s.expect(["check", "hop.tile", *launch], 1, "uninitialised: rows[3][5] in shared memory is read and was never written")
    s.write("hop.tile", SHARED.replace("WRITE", "rows[t / 8][t % 8] = 7;"))
    said = s.expect(["check", "hop.tile", *launch], 1, "hop.tile:10:5", "of rows[3][0] in shared memory", " has read")
    if ", not the" in said.out + said.err:
        fail(f"equal values: {said.out}{said.err}")


def test_no_end(s):
    """Code that a compiler left out as undefined, as clang does after `for (;;) ;`."""
    head = ".version 8.0\n.target sm_80\n.address_size 64\n"
    s.write("end.ptx", head + entry("_Z3zipPKfi").replace("ret;", ""))
    s.expect(["check", "end.ptx", "--block", "32", "--arg", "f32[32]:zero", "--arg", "i32:3"], 1,
             "`zip` ends without ret or exit: its compiler assumes that no run reaches this place", "leaves undefined (block 0")
    s.write("none.cu", "void zip(float *out)\n{\n}\n")
    if cuda_compiler():
        s.expect(["check", "none.cu", "--block", "32"], 2, "none.cu has no kernel", "write `__global__` before a function")


def test_names(s):
    """Messages use the C++ name of a kernel if it is unique; its parameters have no names."""
    head = ".version 8.0\n.target sm_80\n.address_size 64\n"
    s.write("one.ptx", head + entry("_Z9block_sumPKfi"))
    s.write("more.ptx", head + "".join(map(entry, ("_Z9block_sumPKfi", "_ZN2ns5scaleEPKfi", "_Z5scaleIfEvPKfi"))))
    launch = ("--block", "32", "--arg", "f32[32]:zero")
    for words, needle, more in (
            (["run", "one.ptx", *launch], "block_sum takes 2 arguments, 1 is given", "1: int (no name)"),
            (["run", "one.ptx", *launch, "--arg", "i64:1"], "argument 1 of block_sum: it has 4 bytes (int), the value given has 8", ""),
            (["run", "one.ptx"], "how many threads has a block of block_sum?", ""),
            (["run", "more.ptx"], "--kernel block_sum", "--kernel 'ns::scale'"),
            (["run", "more.ptx", "--kernel", "scale"], "2 kernels called 'scale'", "--kernel 'scale<float>'"),
            (["run", "more.ptx", "--kernel", "blocksum"], "did you mean 'block_sum'?", "")):
        s.expect(words, 2, needle, more)
    for name in ("block_sum", "_Z9block_sumPKfi", "_ZN2ns5scaleEPKfi", "ns::scale", "scale<float>"):
        s.expect(["run", "more.ptx", "--kernel", name, *launch, "--arg", "i32:1"], 0)
    s.expect(["run", "more.ptx:scale<float>", *launch, "--arg", "i32:1"], 0)


HEADER = """#pragma once
struct pair { float *p; int n; };
template <class T, int N> __global__ void scale(const T *__restrict__ x, T *y, int n, T f)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = x[i + 1] * f;
}
template __global__ void scale<double, 4>(const double *, double *, int, double);
template __global__ void scale<float, 4>(const float *, float *, int, float);
extern "C" __global__ void plain(float4 *const v, const int *at, unsigned char c[4], struct pair s, bool b, long long k)
{
    v[at[0]].x = c[0] + s.n + b + k;
}
"""


def test_missing_arguments(s):
    """A header with kernels is CUDA C. The message about missing arguments lists their C types, and has a command that launches."""
    if not cuda_compiler():
        return
    for name in ("k.cuh", "k.h", "k.cu"):
        s.write(name, HEADER)
        done = s.expect(["check", name, "--kernel", "scale<double, 4>"], 2, "how many threads has a block of scale<double, 4>?",
                        "0: const double *x\n", "1: double *y\n", "2: int n\n", "3: double f\n")
        line = re.search("tilewright (check .*)", done.err).group(1)
        s.expect(shlex.split(line), 0)
        s.expect([*shlex.split(line)[:-8], "--arg", "f64[32]:rand", "--arg", "f64[32]:none", "--arg", "i32:32", "--arg", "f64:1"], 1,
                 f"{name}:7:", "out-of-bounds", "in scale<double, 4> with seed 0")
    s.expect(["check", "k.cu", "--kernel", "scale<double, 4>", "--block", "32", "--arg", "f64[32]:rand", "--arg", "f64[32]:none", "--arg", "i64:32", "--arg", "f64:1"], 2,
             "argument 2 of scale<double, 4>: `n` has 4 bytes (int), the value given has 8")
    s.expect(["check", "k.cu", "--kernel", "plain", "--block", "1"], 2, "0: float4 *const v\n", "1: const int *at\n", "2: unsigned char *c\n",
             "3: struct pair s\n", "5: long long k\n", "--arg 'f32[1024][4]:zero' --arg 'i32[1024]:iota' --arg 'u8[1024]:zero' --arg '{…}' --arg u8:1 --arg i64:32")
    s.write("none.h", "int zip(void);\n")
    s.expect(["run", "none.h"], 2, "none.h is C by its name")
    s.expect(["tune", "k.h"], 2, "k.h is CUDA C, and this command takes tile kernels")


# Symbols of g++ 12, and their C++ names.
SYMBOLS = {
    "_Z2tkIN2ns1BINS0_1AEEEEvPT_": ("tk<ns::B<ns::A>>", "tk<ns::B<ns::A> >"),
    "_Z2tkIPKfEvPT_": ("tk<const float *>", "tk<const float*>"),
    "_Z2tkIfEvPT_": ("tk<float>", "void tk<float>(float*)"),
    "_Z2tkIjEvPT_": ("tk<unsigned>", "tk< unsigned int >"),
    "_Z2tkIyEvPT_": ("tk<unsigned long long>",),
    "_Z2ttIN2ns1BEEvv": ("tt<ns::B>", "tt"),
    "_Z3twoIN2ns1AENS0_1BIS1_EEEvv": ("two<ns::A, ns::B<ns::A>>",),
    "_Z3twoIPfS0_Evv": ("two<float*,float*>",),
    "_Z4packIJifEEvDpT_": ("pack<int, float>", "pack"),
    "_Z5flagsILN2ns1EE1ELb1EEvv": ("flags<(ns::E)1, true>", "flags"),
    "_ZN12_GLOBAL__N_14anonEi": ("(anonymous namespace)::anon", "(anonymous namespace)::anon(int)", "anon"),
    "_ZN2ns2in4deepINS_1AEEEvT_PS3_": ("ns::in::deep<ns::A>", "in::deep<ns::A>", "deep<ns::A>"),
    "_ZN2ns2in4deepINS_1BINS_1AEEEEEvT_PS5_": ("ns::in::deep<ns::B<ns::A>>",),
    "_ZN2ns2nkEPi": ("ns::nk", "nk", "ns::nk(int*)"),
    "_ZN2ns5scaleIdLin4EEEvPT_": ("ns::scale<double, -4>",),
    "_ZN2ns5scaleIfLi4EEEvPT_": ("ns::scale<float,4>",),
    "_Z5scaleIfLi4EEvPT_": ("scale<float, 4>",),
    "_Z4overf": ("_Z4overf",),
    "_Z4overi": ("_Z4overi",),
    "_Z2fpIXadL_ZN2ns2nkEPiEEEvv": ("fp", "_Z2fpIXadL_ZN2ns2nkEPiEEEvv"),
    "_ZN3badS": ("_ZN3badS",),
    "_Z1aI": ("_Z1aI",),
    "_Z1bIS_S0_S1_E": ("_Z1bIS_S0_S1_E",),
}


def doubled(times):
    """Returns a symbol whose every argument names the one before twice: its whole name has 2 to the power of `times` letters."""
    symbol = "_Z1kI1A"
    for i in range(times):
        last = f"S{'0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ'[2 * i]}_"  # B<…> of the last iteration; S0_ is A
        symbol += f"1BI{last}{last}E"
    return symbol + "EvPf"


SYMBOLS.update({symbol: (symbol,) for symbol in (doubled(18), "_Z1kI" + "J" * 100000 + "E", "_Z1kI" + "N1AI" * 10000)})


def test_whole_names(s):
    """--kernel accepts C++ names; a name that several kernels have is listed."""
    empty = "".join(f".visible .entry {symbol}()\n{{\n ret;\n}}\n" for symbol in SYMBOLS)
    s.write("names.ptx", ".version 8.0\n.target sm_80\n.address_size 64\n" + empty)
    for symbol, names in SYMBOLS.items():
        for name in names:
            done = s.expect(["run", "names.ptx", "--block", "1", "--json", "--kernel", name], 0)
            if json.loads(done.out)["kernel"] != symbol:
                fail(f"{name} is not {symbol}: {done}")
    s.expect(["run", "names.ptx", "--block", "1", "--kernel", "over"], 2, "2 kernels called 'over'", "--kernel _Z4overi")
    done = s.expect(["run", "names.ptx", "--block", "1", "--kernel", "tk"], 2, "5 kernels called 'tk'; say which:",
                    "--kernel 'tk<const float*>'")
    if done.err.count("--kernel") != 5:
        fail(f"other kernels than those of the name: {done}")
    s.expect(["run", "names.ptx", "--block", "1", "--kernel", "ns::scale"], 2, "2 kernels called 'ns::scale'", "'ns::scale<float, 4>'")
    s.expect(["run", "names.ptx", "--block", "1", "--kernel", "tk<flaot>"], 2, "did you mean 'tk<float>'?")


def test_refused(s):
    s.write("mirror.ptx", CLEAN)
    s.write("two.ptx", TWO)
    good = arguments()

    def run(*words):
        return ["run", "mirror.ptx", "--block", "128", *words]

    def one(text):
        return run("--arg", text)

    for words, *needles in (
            (run(*good[2:4]), "mirror takes 3 arguments, 1 is given", "0: in (.u64, 8 bytes)   is given: ", "2: n (.u32, 4 bytes)", " --arg i32:32\n"),
            (run(*good[2:], "--arg", "i32:1"), "takes 3 arguments, 4 are given"),
            (run(*good[2:6], "--arg", "i64:100"), "argument 2", "`n` has 4 bytes", "has 8"),
            (run(*good[2:6], "--arg", "f32:100"), "n is .u32, and f32 is given: --arg u32:"),
            (run(*good, "--shared", "166500"), "512 bytes of static and 166500 of dynamic shared memory, and a block on sm_80 has 166912 at most"),
            (run(*good, "--shared", "240000"), "240000 bytes of dynamic shared memory", "more than 232448"),
            (run(*good[2:6], "--arg", "f32[4]:zero"), "argument 2", "the address of an array"),
            (run("--arg", "i32:1", *good[4:]), "argument 0", "`in` has 8 bytes"),
            (one("f33[4]:zero"), "--arg f33[4]:zero: there is no such type"),
            (one("float[4]:zero"), "--arg float[4]:zero: there is no such type; did you mean f32[4]:zero?"),
            (one("int:5"), "did you mean i32:5?"),
            (one("5"), "--arg 5: its type is missing: i32:5, or f32:5"),
            (one("f32[4]"), "its values are missing: f32[4]:rand, or f32[4]:none for memory that was never written"),
            (one("f32[4]:zer"), "expected rand, zero, iota, ones, wide, negative, positive, extreme, special or starts, or none"),
            (one("f32[4"), "--arg f32[4: expected TYPE:VALUE"),
            (one("f32[4:zero"), "expected TYPE[ELEMENTS]"),
            (one("f32[-4]:zero"), "expected TYPE[ELEMENTS]"),
            (one("f32[999999999999999]:zero"), "too large"),
            (one("i32:1.5"), "expected an integer"),
            (one("f32:x"), "expected a number"),
            (one("u8:256"), "does not hold"),
            (one("u8:-1"), "does not hold"),
            (one("i32[2]:=4294967296"), "does not hold"),
            (one("f32[4]:@none.npy"), "none.npy"),
            (one("@none.npy"), "none.npy"),
            (["run", "mirror.ptx", *good[2:]], "how many threads has a block of mirror?"),
            (["run", "mirror.ptx", "--block", "1,2,3,4"], "--block 1,2,3,4"),
            (["run", "mirror.ptx", "--block", "32,0"], "--block 32,0"),
            (["run", "mirror.ptx", "--block", "1024,2", *good[2:]], "1 to 1024 threads"),
            (run("--grid", "x"), "--grid x"),
            (run("--grid", "1,70000", *good[2:]), "70000"),
            (run("--shared", "-1"), "--shared -1"),
            (run("--kernel", "mirrow"), "has no kernel 'mirrow'", "'mirror'"),
            (run("--kernel", "else"), "has no kernel 'else'", "--kernel mirror"),
            (run("--out", "2=x.npy", *good[2:]), "argument 2 is not an array"),
            (run("--out", "out", *good[2:]), "INDEX=FILE"),
            (run("--out", "none=x.npy", *good[2:]), "none is not an array"),
            (run("--set", "n=1"), "--set is for .tile files"),
            (run("--device", "cpu", *good[2:]), "--device cpu"),
            (run("--copies", "soon", *good[2:]), "--copies soon"),
            (run("--copies", "0", *good[2:]), "--copies 0"),
            (["run", "two.ptx", "--block", "1", "--arg", "i32:1"], "two.ptx has 2 kernels", "--kernel first", "--kernel second"),
            (["check", "two.ptx", "mirror.ptx"], "one FILE at a time"),
            (["check", "nowhere.ptx"], "nowhere.ptx"),
            (["check", "nowhere.cu"], "nowhere.cu"),
            (["run", "nowhere.tile", "--arg", "i32:1"], "nowhere.tile")):
        s.expect(words, 2, *needles)
    s.expect(["run", "two.ptx", "--kernel", "second", "--block", "1", "--arg", "i32:1"], 0)
    found = s.json(run(*good[2:4]), 2)
    if found["ok"] or found["findings"] != [] or "3 arguments" not in found["messages"][0]["text"]:
        fail(f"a wrong launch as JSON: {found}")


def test_truncated(s):
    """A program cut short anywhere: an error with a place, or the kernel is missing."""
    for length in range(0, len(CLEAN) - 4, 61):
        s.write("cut.ptx", CLEAN[:length])
        result = s.call("check", "cut.ptx", *arguments())
        if result.status != 2 or "error" not in result.err and "has no kernel" not in result.err:
            fail(f"cut at {length}: {result}")
    s.write("unknown.ptx", CLEAN.replace("add.f32 %f3", "addd.f32 %f3"))
    s.expect(["check", "unknown.ptx", *arguments()], 2, "unknown.ptx:", "addd")


def test_tile(s, kernels):
    tile = os.path.join(kernels, "matmul", "async.tile")
    sizes = ["--set", "m=70,n=40,k=50", "--fill", "rand", "--device", "sim"]
    s.expect(["run", tile, *sizes, "--verify"], 0, "verified")
    found = s.json(["run", tile, *sizes, "--verify", "--counters", "--sm", "sm_90", "--copies", "late", "--seed", "3"], 0)
    if found["device"] != "sim" or found["target"] != "sm_90" or not found["verified"] or not found["counters"]["async_bytes"]:
        fail(f"run .tile on sim: {found}")
    if not any(line["file"].endswith("async.tile") for line in found["counters"]["lines"]):
        fail(f"counters by line of the tile: {found['counters']}")
    s.expect(["run", tile, "--set", "m=1,n=1,k=1", "--fill", "rand", "--counters"], 2, "--counters is for --device sim")
    s.expect(["run", tile, *sizes, "--grid", "2"], 2, "--grid is for PTX")
    s.expect(["run", tile, *sizes, "--sm", "sm_75"], 2, "sm_75")
    # a fault of the plain run has its line, and the tile that the PTX's one variable holds at that point
    s.write("hist.tile", HISTOGRAM)
    s.expect(["run", "hist.tile", "--set", "n=200", "--fill", "iota", "--device", "sim"], 1,
             "hist.tile:7:9: error: out-of-bounds: write of 4 bytes outside memory: just past the end of 's' (64 bytes)",
             "            atomic_add(s[A[i]], 1);", "block (0,0,0) thread (16,0,0)", "at shared address 0x40 in 's'",
             "note: is the index right for every thread of the block, or the array too small?")
    # the static check does not know these elements; the simulator sees the race
    racy = """kernel hop(f32 *out, const f32 *a, const i32 *to) grid(1) threads(64)
{
    global f32 A[64] = a, Out[64] = out;
    global i32 To[64] = to;
    shared f32 s[64];
    s[thread.x] = A[thread.x];
    SYNC
    Out[thread.x] = s[(To[thread.x] + thread.x * thread.x) % 64];
}
"""
    s.write("hop.tile", racy.replace("SYNC", "sync();"))
    s.expect(["check", "hop.tile"], 0)
    s.write("hop.tile", racy.replace("SYNC", ""))
    s.expect(["check", "hop.tile", "--no-sim"], 0)
    s.expect(["check", "hop.tile"], 1, "hop.tile:6:", "hop.tile:8:", "race: write and read of s[", "in shared memory", "sm_80",
             "(s[", "threads of a warp do not run in step")
    found = s.json(["check", "hop.tile"], 1)[0]
    race = found["findings"][0]
    if race["kind"] != "race" or len(race["accesses"]) != 2 or not race["message"]:
        fail(f"check --json of a .tile: {found}")


def test_threads(s, kernels):
    """Commands print the same on one thread and with a second one; only times differ."""
    s.write("mirror.ptx", CLEAN)
    s.write("racy.ptx", RACY)
    s.write("outside.ptx", OUTSIDE)
    sizes = ["--fill", "rand", "--device", "sim", "--counters"]
    commands = [["run", "mirror.ptx", *arguments(), "--counters"], ["check", "racy.ptx", *arguments(), "--counters"],
                ["check", "outside.ptx", *arguments(), "--counters"],
                ["run", os.path.join(kernels, "matmul", "async.tile"), "--set", "m=70,n=40,k=50", "--copies", "late", *sizes],
                ["run", os.path.join(kernels, "fused", "softmax.tile"), "--set", "rows=40,cols=300", "--seed", "5", *sizes]]
    for words in commands:
        said = {re.sub(r'"\w*seconds": [^,}]*', "", str(s.call(*words, "--json", "--threads", n))) for n in "123"}
        if len(said) != 1 or "warp_instructions" not in said.pop():
            fail(f"{' '.join(words)}: --threads changes what is said: {said}")


def test_cuda(s):
    for compiler in CUDA_COMPILERS:
        if not cuda_compiler(compiler):
            print(f"no {compiler} here: not tried")
            continue
        launch = ["--compiler", compiler, "--block", "256", "--arg", "f32[1000]:ones", "--arg", "f32[1]:zero", "--arg", "i32:1000"]
        s.write("sum.cu", "#include <cuda_runtime.h>\n" + SUM.replace("BARRIER", "__syncthreads();"))
        s.expect(["check", "sum.cu", *launch], 0)
        s.expect(["run", "sum.cu", "--kernel", "sum", *launch], 0, "1 out: [1000.0]")
        s.write("sum.cu", SUM.replace("BARRIER", ""))
        s.expect(["check", "sum.cu", *launch], 1, "sum.cu:13:", "error: race:", "partial[t] += partial[t + stride];", "in sum with")
        s.write("sum.cu", SUM)
        s.expect(["check", "sum.cu", *launch], 2, "BARRIER", "does not compile")
        s.expect(["check", "sum.cu", *launch, "--compiler-arg=-DBARRIER=__syncthreads();"], 0)
        s.expect(["check", "sum.cu", *launch, "--compiler-arg=-DBARRIER=__syncthreads();", "--sm", "sm_2"], 2, "sm_2")
    s.write("sum.cu", SUM)
    s.expect(["check", "sum.cu", "--compiler", "ncc", "--block", "1"], 2, "ncc: there is no such program", "apt install clang")


def main():
    tool = os.path.abspath(sys.argv[1])
    kernels = os.path.abspath("kernels")
    with tempfile.TemporaryDirectory() as folder:
        s = Simulator(tool, folder)
        test_run(s)
        test_check(s)
        test_severities(s)
        test_masks(s)
        test_ends(s)
        test_waits(s)
        test_calls(s)
        test_elements(s)
        test_values_of_races(s)
        test_shared_elements(s)
        test_no_end(s)
        test_names(s)
        test_whole_names(s)
        test_missing_arguments(s)
        test_refused(s)
        test_truncated(s)
        test_tile(s, kernels)
        test_threads(s, kernels)
        test_cuda(s)


if __name__ == "__main__":
    main()
