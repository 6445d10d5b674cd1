#!/usr/bin/env python3
"""Launches of CUDA C kernels: structs, shared and partly written arrays, cooperative grids, kernels that are refused one by one, the
user's lines in place of inlined lines of toolkit headers. Uses stored PTX of nvcc, and nvcc itself if it is installed."""
import json
import os
import re
import shutil
import sys
import tempfile

from tile_runner import call, cuda_compiler, fail

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "cuda")
NESTED = ["--kernel", "nested", "--block", "4", "--arg", "{i8:1, {x=f32[4]:iota, i16:2}, f64:3, i32:{7,8,9}}", "--arg"]
SHIFT = ["--kernel", "shift", "--grid", "2", "--block", "32"]
STEPS = ["--kernel", "two_steps", "--grid", "2", "--block", "32", "--arg", "i32[64]:none", "--arg", "i32[64]:none"]
WEIGH = ["--kernel", "weigh", "--block", "8", "--arg"]
FILL = ["--kernel", "fill", "--block", "8", "--arg"]

# command, options, status, expected texts, unexpected texts
CASES = [
    # structs
    ("check", FILL + ["{i32[8]:zero, i32:8}"], 0, [], ["error"]),
    ("run", FILL + ["{i32[8]:zero, i32:8}"], 0, ["0.0 v.0: [0, 1, 2, 3, 4, 5, 6, 7]"], []),
    ("run", FILL + ["{data=i32[8]:zero, n=i32:3}"], 0, ["0.0 v.data: [0, 1, 2, 0, 0, 0, 0, 0]"], []),
    ("run", FILL + ["{at:0, i32[8]:none, at:8, i32:8, pad:4}"], 0, ["[0, 1, 2, 3, 4, 5, 6, 7]"], []),
    ("check", FILL + ["{data=i32[7]:none, n=i32:8}"], 1, ["launches.cu:", "out-of-bounds", "'v.data' (28 bytes)"], []),
    ("check", FILL + ["{null, i32:8}"], 1, ["out-of-bounds"], []),
    ("check", FILL + ["i32[8]:zero"], 2, ["v is a struct of 16 bytes; its fields go in braces, as {i32[8]:zero, i32:8}"], []),
    ("check", FILL + ["{data=i32[8]:zero}"], 2, ["v has 16 bytes, aligned to 8; these fields make 8 (0: data pointer)"], []),
    ("check", FILL + ["{i32[8]:zero, i32:8, i64:0}"], 2, ["make 24 (0: pointer, 8: i32, 16: i64)"], []),
    ("check", FILL + ["{i32[8]:zero, i32:8"], 2, ["expected '}' after the fields"], []),
    ("check", FILL + ["{i32[8]:zero, at:4, i32:8}"], 2, ["`at:4`: the fields before it end at byte 8"], []),
    ("check", FILL + ["{i32[8]:zero, align:3, i32:8}"], 2, ["an alignment is a power of two"], []),
    ("check", FILL + ["{i32[8]:zero, i8:200}"], 2, ["the type does not hold that value"], []),
    ("check", FILL + ["{i32[8]:zero, }"], 2, ["a field is missing"], []),
    ("check", FILL + ["{i32[8]:zero, pad:99999}"], 2, ["expected a number of bytes"], []),
    ("run", NESTED + ["{f32:0, f32:0, f32:0.5, f32:0}", "--arg", "i32[4]:none"], 0,
     ["0.1.0 d.1.x: [0.5, 3.5, 6.5, 9.5]", "2 flags: [12, 12, 12, 12]"], []),
    ("run", NESTED + ["f32:{0,0,0.25,0}", "--arg", "i32[4]:none"], 0, ["[0.25, 3.25, 6.25, 9.25]"], []),
    ("check", NESTED + ["f32:{0,0,0.25}", "--arg", "i32[4]:none"], 2, ["shift has 16 bytes", "these fields make"], []),
    ("run", ["--kernel", "fill_packed", "--block", "4", "--arg", "{i8:1, i32[4]:none, i16:5}"], 0, ["[6, 6, 6, 6]"], []),
    # bytes that no field covers
    ("check", FILL + ["{data=i32[8]:zero, pad:8}"], 1, ["launches.cu:30:", "uninitialised: byte 8 of v is read, and the launch gives it no value",
                                                         "what follows from it decides a branch"], []),
    ("check", FILL + ["{data=i32[8]:zero, bytes:0800, pad:6}"], 1, ["byte 10 of v is read"], []),
    ("check", NESTED[:5] + ["{at:8, {x=f32[4]:iota, i16:2}, f64:3, i32:{7,8,9}}", "--arg", "f32:{0,0,0,0}", "--arg", "i32[4]:none"], 1,
     ["byte 0 of d is read"], []),
    ("check", NESTED[:5] + ["{i8:1, {x=f32[4]:iota, pad:2}, f64:3, i32:{7,8,9}}", "--arg", "f32:{0,0,0,0}", "--arg", "i32[4]:none"], 1,
     ["byte 16 of d is read"], []),
    ("check", WEIGH + ["{n=i32:8, in=f32[8]:iota, tag=i16:1}", "--arg", "f32[8]:none"], 1, ["launches.cu:", "byte 4 of s is read"], []),
    ("check", WEIGH + ["{n=i32:8, alpha=f32:2, in=f32[8]:iota, tag=i16:1}", "--arg", "f32[8]:none"], 0, [], ["error"]),
    ("check", WEIGH + ["{n=i32:8, bytes:00000000, in=f32[8]:iota, tag=i16:1}", "--arg", "f32[8]:none"], 0, [], ["error"]),
    ("check", ["--kernel", "keep", "--block", "4", "--arg", "{n=i32:8, alpha=f32:2, in=f32[8]:iota, tag=i16:1}", "--arg", "u8[96]:none"],
     0, [], ["error"]), # padding is copied
    # bytes without a type
    ("run", FILL + ["{i32[8]:zero, bytes:0300000000000000}"], 0, ["0.0 v.0: [0, 1, 2, 0, 0, 0, 0, 0]"], []),
    ("run", FILL + ["{data=i32[8]:zero, n=bytes:@three.bin, pad:4}"], 0, ["0.0 v.data: [0, 1, 2, 0, 0, 0, 0, 0]"], []),
    ("run", NESTED + ["bytes:00000000000000000000803E00000000", "--arg", "i32[4]:none"], 0, ["[0.25, 3.25, 6.25, 9.25]"], []),
    ("run", SHIFT + ["--arg", "i32[64]:iota", "--arg", "i32[64]:zero", "--arg", "bytes:@three.bin"], 0, ["1 out: [1, 2, 0, "], []),
    ("check", FILL + ["bytes:00000000000000000300000000000000"], 1, ["launches.cu:", "out-of-bounds"], []),
    ("check", FILL + ["bytes:0300"], 2, ["v has 16 bytes, aligned to 8; these fields make 2 (0: bytes[2])"], []),
    ("check", FILL + ["{i32[8]:zero, bytes:030}"], 2, ["`bytes:030`: expected two hexadecimal digits for each byte"], []),
    ("check", FILL + ["bytes:0g"], 2, ["`bytes:0g`: expected two hexadecimal digits for each byte"], []),
    ("check", FILL + ["bytes:"], 2, ["`bytes:`: expected two hexadecimal digits for each byte"], []),
    ("check", FILL + ["bytes:@not.there"], 2, ["cannot read `not.there`: No such file"], []),
    ("check", FILL + ["bytes:@long.bin"], 2, ["cannot read `long.bin`: a kernel's parameters have fewer bytes"], []),
    # null pointers
    ("check", SHIFT + ["--arg", "null", "--arg", "i32[64]:none", "--arg", "i32:1"], 0, [], ["error"]),
    ("check", SHIFT + ["--arg", "null", "--arg", "i32[64]:none", "--arg", "i32:2"], 1, ["launches.cu:51:", "out-of-bounds"], []),
    ("check", SHIFT + ["--arg", "i32[64]:iota", "--arg", "i32[64]:none", "--arg", "null"], 2, ["has 4 bytes"], []),
    # one array for two parameters
    ("check", SHIFT + ["--arg", "i32[64]:iota", "--arg", "i32[64]:none", "--arg", "i32:64"], 0, [], ["error"]),
    ("check", SHIFT + ["--arg", "i32[64]:iota", "--arg", "=0", "--arg", "i32:64"], 1,
     ["launches.cu:51:9: error: race: read and write of element", "of in (also out) in global memory"], []),
    ("check", SHIFT + ["--arg", "i32[128]:iota", "--arg", "=in+64", "--arg", "i32:64"], 0, [], ["error"]),
    ("check", SHIFT + ["--arg", "i32[128]:iota", "--arg", "=0+32", "--arg", "i32:64"], 1, ["error: race"], []),
    ("check", SHIFT + ["--arg", "=1", "--arg", "i32[64]:none", "--arg", "i32:64"], 2, ["no array before it is argument `1`"], []),
    ("check", SHIFT + ["--arg", "i32[64]:iota", "--arg", "=0+65", "--arg", "i32:64"], 2, ["an element of the array, from 0 to 64"], []),
    # partly written, several axes
    ("check", SHIFT + ["--arg", "i32[100]:iota[64]", "--arg", "i32[64]:none", "--arg", "i32:64"], 0, [], ["error"]),
    ("check", SHIFT + ["--arg", "i32[100]:iota[63]", "--arg", "i32[64]:none", "--arg", "i32:64"], 1,
     ["uninitialised: element 63 of in in global memory is read and was never written"], []),
    ("check", SHIFT + ["--arg", "i32[8x8]:=5[64]", "--arg", "i32[2x4][8]:none", "--arg", "i32:64"], 0, [], ["error"]),
    ("check", SHIFT + ["--arg", "i32[8x8]:none[3]", "--arg", "=0", "--arg", "i32:64"], 2, ["`none` has no number of elements"], []),
    ("check", SHIFT + ["--arg", "i32[8x8]:iota[65]", "--arg", "=0", "--arg", "i32:64"], 2, ["how many of the 64 elements"], []),
    ("check", SHIFT + ["--arg", "i32[8x]:iota", "--arg", "=0", "--arg", "i32:64"], 2, ["f32[64x64]"], []),
    # elements of another type than the name of the kernel or its source says
    ("run", ["--kernel", "scale", "--block", "8", "--arg", "f64[8]:iota", "--arg", "f32[1]:ones", "--arg", "i32:8"], 0,
     ["warning: values is float*, and its array has elements of f64: --arg f32[…]"], ["factor is"]),
    ("run", ["--kernel", "scale", "--block", "8", "--arg", "i32[8]:iota", "--arg", "f16[4]:ones", "--arg", "i32:8"], 0,
     ["values is float*", "factor is const float*, and its array has elements of f16"], []),
    ("run", SHIFT + ["--arg", "u32[64]:iota", "--arg", "u8[256]:zero", "--arg", "i32:64"], 0, [], ["warning"]),
    ("run", SHIFT + ["--arg", "i16[128]:iota", "--arg", "i32[64]:zero", "--arg", "i32:64"], 0, ["in is const int*, and its array has elements of i16"], []),
    # cooperative grids
    ("check", STEPS + ["--cooperative"], 0, [], ["error"]),
    ("run", STEPS + ["--cooperative"], 0, ["1 b: [63, 62, 61"], []),
    ("check", STEPS, 1, ["launches.cu:58:5: error: trap: ", "only a cooperative launch has (--cooperative)",
                         "cooperative_groups.h:180:13: note: in this header"], []),
    ("check", STEPS[:2] + ["--grid", "5000", "--block", "1024", "--cooperative"] + STEPS[6:], 2, ["no GPU runs more than 296"], []),
    # each broken kernel is refused by itself
    ("check", ["--kernel", "bad", "--block", "1"], 1, ["launches.cu:69:5: error: misaligned: ", "offset 1 of 'table'"], []),
    ("check", ["--kernel", "good", "--block", "4", "--arg", "i32[4]:none"], 0, [], ["error"]),
    ("check", ["--kernel", "sample", "--block", "4", "--arg", "u64:0", "--arg", "f32[4]:none"], 2,
     ["error: textures and surfaces are not supported: tex", "note: this is near line 74 of "], []),
    # lines and names
    ("check", ["--kernel", "tally", "--grid", "2", "--block", "32", "--arg", "i32[1]:zero"], 1,
     ["launches.cu:80:9: error: scope: ", "element 0 of n", "sm_60_atomic_functions.hpp:300:3: note: in this header"], []),
    ("check", ["--kernel", "put_all", "--grid", "2", "--block", "32", "--arg", "i32[2]:zero"], 1,
     ["launches.cu:86:5: error: scope: ", "launches.cu:91:5: note: called from here", "element 1 of cells"], []),
    ("check", ["--kernel", "scale", "--block", "32", "--arg", "f32[8]:iota", "--arg", "f32[1]:none", "--arg", "i32:7"], 1,
     ["element 0 of factor"], ["out-of-bounds"]),
    ("check", ["--kernel", "scale", "--block", "32", "--arg", "f32[8]:iota", "--arg", "f32[1]:none", "--arg", "f32:7"], 2,
     ["count is int, and f32 is given: --arg i32:"], []),
]


def check(tool, program, folder, cases):
    for command, options, status, said, unsaid in cases:
        done = call([tool, command, program, *options], cwd=folder)
        shown = re.sub(r"\s+", " ", done.out + done.err)
        missing = [text for text in said if text not in shown] + [f"not {text}" for text in unsaid if text in shown]
        if done.status != status or missing:
            fail(f"{command} {program} {options}: expected status {status} and {missing}, got {done}")


def check_files(tool, folder):
    """JSON, --out by path and by name, --suppress by either place, a GPU."""
    nested = ["launches.ptx", *NESTED, "f32:{0,0,0.5,0}", "--arg", "i32[4]:none"]
    said = json.loads(call([tool, "run", *nested, "--json"], cwd=folder).out)["arguments"]
    if said[0]["type"] != "struct" or said[0]["bytes"] != 48 or said[0]["arrays"][0]["values"] != [0.5, 3.5, 6.5, 9.5]:
        fail(f"the struct as JSON: {said}")
    for name in ("0.1.0=x.npy", "d.1.x=x.npy"):
        done = call([tool, "run", *nested, "--out", name], cwd=folder)
        if done.status or not os.path.exists(f"{folder}/x.npy") or "d.1.x" in done.out:
            fail(f"--out {name}: {done}")
        os.remove(f"{folder}/x.npy")
    done = call([tool, "run", "launches.ptx", *FILL, "{@y.npy, i32:8}"], cwd=folder)
    if done.status != 2 or "y.npy" not in done.err:
        fail(f"no such file: {done}")
    tally = ["launches.ptx", "--kernel", "tally", "--grid", "2", "--block", "32", "--arg", "i32[1]:zero"]
    found = json.loads(call([tool, "check", *tally, "--json"], cwd=folder).out)["findings"][0]
    if (found["file"], found["line"]) != ("launches.cu", 80) or found["accesses"][0]["header"]["line"] != 300:
        fail(f"places as JSON: {found}")
    for place in ("launches.cu:80", "sm_60_atomic_functions.hpp:300"):
        with open(f"{folder}/pass.txt", "w") as out:
            out.write(f"scope {place}\n")
        done = call([tool, "check", *tally, "--suppress", "pass.txt"], cwd=folder)
        if done.status:
            fail(f"suppressed by {place}: {done}")
    gpu = dict(os.environ, TILEWRIGHT_CUDA_DRIVER=os.environ["FAKE_CUDA"])
    with open(f"{folder}/launches.ptx") as whole, open(f"{folder}/plain.ptx", "w") as out: # the driver loads a program as a whole
        out.write(re.sub(r"(?m)^.*\btex\.2d.*$", "", whole.read()))
    shared = ["plain.ptx", *SHIFT, "--arg", "i32[16]:iota", "--arg", "=0+8", "--arg", "i32:5"]
    for options, text in ((["plain.ptx", *nested[1:]], "0.1.0 d.1.x: [0.5, 3.5, 6.5, 9.5]"),
                          (["plain.ptx", *STEPS, "--cooperative"], "1 b: [63, 62, 61"),
                          (shared, "[0, 1, 2, 3, 4, 5, 6, 7, 1, 2, 3, 4, 12, 13, 14, 15]")):
        done = call([tool, "run", *options, "--device", "cuda"], cwd=folder, env=gpu)
        if done.status or text not in done.out:
            fail(f"on a GPU: {options}: {done}")


HEADS = """.version 7.8
.target sm_80
.address_size 64
.visible .entry textured(.param .texref t, .param .u64 out)
{
    { ret; }
}
.visible .entry plain(.param .u64 out)
{
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [out];
    st.global.u32 [%rd1], 7;
    ret;
}
"""


def check_heads(tool, folder):
    """A parameter of an unsupported kind makes its own kernel refused, and no other."""
    with open(f"{folder}/heads.ptx", "w") as out:
        out.write(HEADS)
    for kernel, status, said in (("plain", 0, "out: [7]"), ("textured", 2, "textures and surfaces are not supported: .texref")):
        done = call([tool, "run", "heads.ptx", "--kernel", kernel, "--block", "1", "--arg", "i32[1]:zero"], cwd=folder)
        if done.status != status or said not in done.out + done.err:
            fail(f"{kernel}: {done}")


def check_compiled(tool, folder):
    """As above with PTX that nvcc makes now."""
    if not cuda_compiler("nvcc"):
        print("there is no nvcc: launches.cu is not compiled, its PTX alone was tried")
        return
    nvcc = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    done = call([nvcc, "-ptx", "-lineinfo", "-O3", "-arch=sm_80", "-o", "here.ptx", "launches.cu"], cwd=folder)
    if done.status:
        print(f"nvcc does not compile launches.cu here, its PTX alone was tried: {done}")
        return
    check(tool, "here.ptx", folder, [case for case in CASES if case[2] == 1])


def main():
    tool = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(os.path.join(HERE, "launches.cu"), folder)
        with open(os.path.join(HERE, "launches.ptx")) as given, open(f"{folder}/launches.ptx", "w") as out:
            out.write(given.read().replace("tests/cli/cuda/launches.cu", "launches.cu"))
        with open(f"{folder}/three.bin", "wb") as out:
            out.write(b"\3\0\0\0")
        with open(f"{folder}/long.bin", "wb") as out:
            out.write(bytes(40000))
        check(tool, "launches.ptx", folder, CASES)
        check_files(tool, folder)
        check_heads(tool, folder)
        check_compiled(tool, folder)


if __name__ == "__main__":
    main()
