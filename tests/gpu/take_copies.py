#!/usr/bin/env python3
"""Takes the profiler's counts for asynchronous copies whose two sides differ: the rows of tests/sim/h200-copies.csv.

    take_copies.py OUT          profiles itself with ncu
    take_copies.py --launch     the launches, one warp and one copy each

Columns as in h200-counters.csv, with both sides' offsets: g0…g31 of global memory, s0…s31 of shared memory.
"""
import csv
import io
import random
import struct
import subprocess
import sys

from gpu_driver import Driver

PTX = """.version 7.1
.target sm_80
.address_size 64
.extern .shared .align 1024 .b8 memory[];
"""
KERNEL = """
.visible .entry copy_%s(.param .u64 from, .param .u64 offsets)
{
    .reg .pred %%p<2>;
    .reg .b32 %%r<8>;
    .reg .b64 %%d<8>;
    ld.param.u64 %%d0, [from];
    ld.param.u64 %%d1, [offsets];
    mov.u32 %%r0, %%tid.x;
    mad.wide.u32 %%d2, %%r0, 8, %%d1;
    ld.global.v2.u32 {%%r1, %%r2}, [%%d2];
    setp.ne.u32 %%p0, %%r2, 0xffffffff;
    cvt.u64.u32 %%d3, %%r1;
    add.u64 %%d3, %%d3, %%d0;
    mov.u32 %%r3, memory;
    add.u32 %%r3, %%r3, %%r2;
    @%%p0 cp.async.%s.shared.global [%%r3], [%%d3], %d;
    cp.async.wait_all;
    ret;
}
"""
ACCESSES = {"cpa4": ("ca", 4), "cpa8": ("ca", 8), "cpa16": ("cg", 16), "cpaa16": ("ca", 16)}
SHARED = 160 * 1024
METRICS = ["memory_l1_wavefronts_shared", "memory_l1_wavefronts_shared_ideal", "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
           "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"]


def rows(size, row, stride):
    per = max(1, row // size)
    return [i // per * stride + i % per * size for i in range(32)]


def patterns(size):
    """Returns (name, global offsets, shared offsets); -1: the lane is off."""
    line = [i * size for i in range(32)]
    yield "linear", line, line
    yield "reversed_shared", line, line[::-1]
    yield "reversed_global", line[::-1], line
    yield "shifted_global", [x + 16 for x in line], line
    for row in (16, 32, 64, 128, 256):
        if row < size:
            continue
        for stride in (512, 4096):
            yield f"global_rows{row}_{stride}", rows(size, row, stride), line
            yield f"shared_rows{row}_{stride}", line, rows(size, row, stride)
            yield f"both_rows{row}_{stride}", rows(size, row, stride), rows(size, row, stride)
        swizzled = []
        for i in range(32):
            r, at = i * size // row, i * size % row
            swizzled.append(r * row + (at ^ ((r * 16) % row & ~(size - 1))))
        yield f"swizzled{row}", rows(size, row, 4096), swizzled
        yield f"swizzled_linear{row}", line, swizzled
    transposed = [(i % 8) * 512 + i // 8 * size for i in range(32)]
    yield "transposed", rows(size, 8 * size, 4096), transposed
    yield "transposed_padded", rows(size, 8 * size, 4096), [x + x // 512 * 4 * size for x in transposed]
    yield "spread", rows(size, 8 * size, 4096), [(i % 8) * (512 + 4 * size) + i // 8 * size for i in range(32)]
    r = random.Random(size)
    for n in range(6):
        yield f"permuted_shared{n}", line, r.sample(line, 32)
        yield f"permuted_global{n}", r.sample(line, 32), line
        yield f"random_shared{n}", line, [r.randrange(4096 // size) * size for _ in range(32)]
        yield f"random_global{n}", [r.randrange(16384 // size) * size for _ in range(32)], line
        off = [i for i in range(32) if r.random() < 0.4]
        yield f"masked{n}", rows(size, 32 if size < 32 else size, 4096), [-1 if i in off else x for i, x in enumerate(line)]


def launch_all():
    driver = Driver()
    text = PTX + "".join(KERNEL % (name, how, size) for name, (how, size) in ACCESSES.items())
    module = driver.load(text.encode())
    memory, given = driver.allocate(1 << 20), driver.allocate(256)
    for name, (_, size) in ACCESSES.items():
        function = driver.function(module, f"copy_{name}", SHARED)
        for _, sources, targets in patterns(size):
            driver.write(given, struct.pack("<64I", *[v & 0xffffffff for pair in zip(sources, targets) for v in pair]))
            driver.launch(function, 32, [memory, given], SHARED)
            driver.wait()


def main():
    if sys.argv[1] == "--launch":
        return launch_all()
    command = ["ncu", "--csv", "--page", "raw", "--section", "SourceCounters", "--metrics", ",".join(METRICS), sys.executable, __file__, "--launch"]
    done = subprocess.run(command, capture_output=True, text=True)
    counted = list(csv.DictReader(io.StringIO(done.stdout[done.stdout.find('"ID"'):])))[1:]
    wanted = [(name, p) for name, (_, size) in ACCESSES.items() for p in patterns(size)]
    if len(counted) != len(wanted):
        sys.exit(f"{len(counted)} launches counted of {len(wanted)}: {done.stdout[-1500:]} {done.stderr[-500:]}")
    with open(sys.argv[1], "w") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["access", "pattern", "wavefronts_shared", "wavefronts_ideal", "sectors_global", "requests_global",
                         *[f"g{i}" for i in range(32)], *[f"s{i}" for i in range(32)]])
        for (name, (pattern, sources, targets)), row in zip(wanted, counted):
            values = [int(float(row[m].replace(",", "") or 0)) for m in METRICS]
            values[2] -= 8  # of the offsets
            values[3] -= 1
            writer.writerow([name, pattern, *values, *sources, *targets])
    print(f"{len(wanted)} copies")
    return None


if __name__ == "__main__":
    main()
