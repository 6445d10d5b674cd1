#!/usr/bin/env python3
"""Usage: help, versions, misspelt names, statuses, the stream of each text, JSON that parses."""
import glob
import json
import os
import re
import sys
import tempfile
import threading

from tile_runner import call, cuda_compiler, fail

COMMANDS = ["run", "check", "bench", "tune", "explain", "show", "build", "new", "fmt", "lsp", "learn", "play", "devices", "help", "version"]
SHARED = "kernels/matmul/shared.tile"
TWO = """
kernel one(f32 *c) grid(1) warps(1) { global f32 C[4] = c; C[0 +: 4] = 1.0; ensures C == 1.0; }
kernel two(f32 *c) grid(1) warps(1) { global f32 C[4] = c; C[0 +: 4] = 2.0; ensures C == 3.0; }
kernel three(i32 n, f32 *c) grid(1) warps(1) { global f32 C[n] = c; C[0 +: 4] = 3.0; }
"""


def expect(tool, arguments, status, out=None, err=None, cwd=None, given=None):
    result = call([tool, *arguments], cwd=cwd, given=given)
    if result.status != status:
        fail(f"{arguments}: expected status {status}: {result}")
    for text, stream, name in ((out, result.out, "output"), (err, result.err, "error")):
        if text == "" and stream:
            fail(f"{arguments}: expected no {name}: {result}")
        if text and text not in stream:
            fail(f"{arguments}: no '{text}' in {name}: {result}")
    return result


def test_help(tool):
    expect(tool, [], 2, out="", err="usage:")
    overview = expect(tool, ["help"], 0, err="").out
    for name in COMMANDS:
        if f"\n  {name} " not in overview:
            fail(f"help does not list {name}")
        text = expect(tool, ["help", name], 0, out=f"usage: tilewright {name}", err="").out
        if name not in ("help", "version") and "Examples:" not in text:
            fail(f"help {name} has no examples")
        expect(tool, [name, "--help"], 0, out=text)
    expect(tool, ["--help"], 0, out="usage:")
    expect(tool, ["help", "build"], 0, out="default: the kernel's name, of\n                             several kernels that of the first FILE)")
    expect(tool, ["version"], 0, out="tilewright 1.", err="")
    expect(tool, ["--version"], 0, out="tilewright 1.")


def test_bind(tool):
    """Processors of the engine's threads."""
    softmax = ["kernels/fused/softmax.tile", "--set", "rows=8,cols=20"]
    expect(tool, ["bench", *softmax, "--threads", "1", "--warmup", "0", "--repeat", "1", "--bind", "all"], 0, err="")
    may = sorted(os.sched_getaffinity(0))
    last = next(p for p, after in zip(may, [*may[1:], None]) if after != p + 1)
    first = f"{may[0]}-{last}" if last > may[0] else str(last)  # of the ranges that the message names
    for command in ["run", "bench"]:
        for wrong in ["7-", "x", "", "0;1", "1-0"]:
            expect(tool, [command, *softmax, "--bind", wrong], 1, out="", err=f"--bind {wrong}: expected `all`, or processors such as 0-7,16; this "
                   f"process may use {first}")
        for wrong in ["0-99999", f"{may[-1] + 1}"]:
            expect(tool, [command, *softmax, "--bind", wrong], 1, out="", err=f"--bind {wrong}: it names a processor that this process may not use; "
                   f"it may use {first}")
    for device in ["sim", "sim:h200", "cuda"]:
        for option in [["--bind", "all"], ["--machine-bits"]]:
            expect(tool, ["run", *softmax, "--device", device, *option], 2, out="", err=f"{option[0]} is of the CPU engine")
    expect(tool, ["bench", "--device", "sim", "--bind", "all"], 2, err="--bind is not for --device sim")


def test_show_kernels(tool):
    """`show --kernels` lists a kernel's parameters, as text and as JSON."""
    expect(tool, ["show", SHARED, "--kernels"], 0, out="matmul", err="")
    found = json.loads(expect(tool, ["show", "-", "--kernels", "--json"], 0, given=TWO, err="").out)
    if [k["kernel"] for k in found] != ["one", "two", "three"] or [k["ensures"] for k in found] != [True, True, False]:
        fail(f"the kernels of a file: {found}")
    if [(p["name"], p["array"], p["type"], p["shape"]) for p in found[2]["parameters"]] != [
            ("n", False, "i32", []), ("c", True, "f32", ["n"])]:
        fail(f"parameters: {found[2]}")
    tiled = json.loads(expect(tool, ["show", "kernels/sgemm/tiled.tile", "--kernels", "--json"], 0).out)[0]
    if tiled["tune"] != [{"name": "T", "group": tiled["tune"][0]["group"], "values": [32, 16, 8]}] or not tiled["thread_level"]:
        fail(f"tuned values: {tiled}")
    typed = json.loads(expect(tool, ["show", "kernels/matmul/tuned.tile", "--kernels", "--json"], 0).out)[0]
    if "f16" not in typed["types"][0]["choices"]:
        fail(f"types: {typed}")
    text = open("kernels/sgemm/padded.tile").read().split("\n")
    shown = json.loads(expect(tool, ["show", "kernels/sgemm/padded.tile", "--kernels", "--json"], 0).out)[0]

    def at(e):
        return text[e["line"] - 1][e["column"] - 1 : e["column"] - 1 + e["length"]]

    bs = shown["shared"][1]
    if bs["name"] != "bs" or [at(e) for e in bs["extents"]] != ["T", "T + 1"] or not bs["by_element"] or [
            [at(e) for e in x] for x in bs["elements"]] != [["ty", "tx"], ["q", "tx"]]:
        fail(f"shared arrays: {bs}")
    ptx = ["show", "kernels/cuda/block_sum.ptx"]
    expect(tool, [*ptx, "--kernels"], 0, out="block_sum  (_Z9block_sumPKfPfi)\n  const float *in\n  float *out\n  int n\n", err="")
    found = json.loads(expect(tool, [*ptx, "--kernels", "--json"], 0, err="").out)
    if [(k["called"], k["whole_name"], k["block"], [p["type"] for p in k["parameters"]]) for k in found] != [
            ("block_sum", "block_sum", [], [".u64", ".u64", ".u32"])]:
        fail(f"kernels of PTX: {found}")
    expect(tool, ptx, 2, err="is PTX: --kernels lists its kernels")
    expect(tool, ["show", "kernels/cuda/block_sum.cu"], 2, err="is CUDA C: --kernels lists its kernels; `tilewright check`, `run` and `explain` take it")


def test_no_stages(tool):
    """`show --after pipeline` gives the reason that a program is unchanged."""
    auto = ["show", "kernels/matmul/auto.tile", "--after", "pipeline"]
    expect(tool, auto, 0, out="pipeline(3) for", err="a CPU runs the loop as it is written, without stages, so this pass changes nothing; what a GPU gets: --device sm_80\n")
    expect(tool, [*auto, "--device", "sm_80"], 0, out="async_commit()", err="")
    expect(tool, [*auto, "--json"], 0, err="")
    expect(tool, ["show", SHARED, "--after", "pipeline", "--device", "sm_80"], 0, err="`matmul_v1` has no loop with pipeline(n), so this pass changes nothing\n")
    expect(tool, ["show", SHARED, "--stage", "ptx", "--device", "cpu"], 2, err="--stage ptx shows what a GPU gets: say --device sm_90")


def test_signed_zeros(tool, folder):
    """A value of -0.0 is not 0.0, neither compiled into a program nor as a tuned value."""
    open(f"{folder}/zero.tile", "w").write("tune F = {0.0, -0.0};\nkernel zero(i32 n, static f32 s = -0.0, f32 *o) grid(1) warps(1)\n"
                                           "{ global f32 O[1] = o; O[0] = 1 / s + 1 / F; }\n")
    given = [f"{folder}/zero.tile", "--set"]
    expect(tool, ["run", *given, "n=1,s=-0.0"], 0, out="nan")
    expect(tool, ["run", *given, "n=1,s=-0.0", "--tune", "F=-0.0"], 0, out="-inf")
    expect(tool, ["run", *given, "n=1,s=-0", "--tune", "F=-0.0"], 0, out="-inf")
    expect(tool, ["run", *given, "n=1,s=0.0"], 2, err="`s` is set to 0, but this program is for `s = -0`")
    tuned = expect(tool, ["tune", *given, "n=1", "--tune", "F=-0.0", "--no-store", "--json"], 0).out
    found = [c["tune"]["F"] for c in json.loads(tuned)["candidates"]]
    if [str(f) for f in found] != ["-0.0"]:
        fail(f"--tune F=-0.0 takes {found}")


def test_lists(tool):
    """A space in place of the comma of a list."""
    for command, given, meant in (("run", ("--set", "rows=5", "cols=100"), "--set rows=5,cols=100"),
                                  ("explain", ("--set=rows=5,", "cols=100"), "--set rows=5,cols=100"),
                                  ("run", ("--in", "a=A.npy", "b=B.npy"), "--in a=A.npy,b=B.npy"),
                                  ("check", ("--fill", "x=rand", "y=zero"), "--fill x=rand,y=zero"),
                                  ("tune", ("--tune", "BK=8,16", "BM=64"), "--tune BK=8,16,BM=64")):
        expect(tool, [command, SHARED, *given], 2, out="",
               err=f"`{given[-1]}` is separate from {given[0].split('=')[0]}: one word takes them all, {meant}\n")
    expect(tool, ["check", "--no-run", "--set", "m=8", SHARED], 0)
    for words in ([SHARED, "--in", "a", "../A.npy"], ["--in", "a", "../A.npy", SHARED]):
        expect(tool, ["run", *words], 2, out="", err="--in a: expected NAME=FILE, --in a=../A.npy\n")
    expect(tool, ["run", SHARED, "--in", "a", "b=B.npy"], 2, out="", err="--in a: expected NAME=FILE\n")
    expect(tool, ["run", "--out", "c", SHARED], 2, out="", err="--out c: expected NAME=FILE\n")


def test_environment(tool):
    """Every variable that the program reads is in `help`, and in the document of the command line."""
    overview = expect(tool, ["help"], 0).out
    with open("docs/command-line.md") as text:
        document = text.read()
    sources = glob.glob("src/**/*.[ch]", recursive=True) + glob.glob("tools/**/*.[ch]", recursive=True)
    read = {name for path in sources for name in re.findall(r'(?:getenv|variable)\("(\w+)"\)|"(TILEWRIGHT_[A-Z_]+)"', open(path).read())}
    read = {called or named for called, named in read}
    if len(read) < 10 or not {"TILEWRIGHT_STORE", "TMPDIR"} <= read:
        fail(f"the sources look at {read}")
    for name in sorted(read):
        if f"`{name}`" not in document:
            fail(f"docs/command-line.md does not list {name}")
        if name.startswith("TILEWRIGHT_") and f"\n  {name} " not in overview:
            fail(f"help does not list {name}")


def test_bench_options(tool):
    """Options that `help bench` marks as CPU or GPU are refused for the other; the rest work for both."""
    text, both = expect(tool, ["help", "bench"], 0).out.split("Options:")[1], set()
    for name, value, words in re.findall(r"\n  (?:-\w, |    )--([\w-]+)((?: [A-Z]\S*)*) +(.*)", text):
        where = "CPU" if name == "threads" else words.split(":")[0]
        given = [SHARED, f"--{name}", *["1"] * len(value.split())]
        if where == "GPU":
            expect(tool, ["bench", *given], 2, out="", err=f"--{name} needs --device cuda")
        elif where == "CPU":
            expect(tool, ["bench", *given, "--device", "cuda"], 2, out="", err=f"--{name} is not for --device cuda")
        else:
            both.add(name)
    if both != {"size", "dims", "all-sizes", "repeat", "m", "n", "k", "batch", "suite", "device", "ensures", "set", "sms", "best", "tune", "tuned", "store", "type", "fill", "json", "import-path"}:
        fail(f"neither marked as CPU nor as GPU: {both}")


def test_examples(tool):
    """The examples of `help` parse: they have no unknown option."""
    for name in COMMANDS:
        for line in call([tool, "help", name]).out.split("Examples:")[-1].splitlines():
            words = line.split()
            if ".cu " in line and not cuda_compiler():
                continue
            if words[:1] == ["tilewright"] and "--" in words:  # a program that is not here
                expect(tool, words[1:], 2, err="cannot be started")
            elif words[:1] == ["tilewright"] and "*" not in line and words[1] in ("help", "devices", "show", "check"):
                expect(tool, words[1:], 0)


def test_misspelt(tool):
    expect(tool, ["rnu"], 2, out="", err="did you mean 'run'")
    expect(tool, ["chekc", SHARED], 2, err="did you mean 'check'")
    expect(tool, ["frobnicate"], 2, err="tilewright help")
    expect(tool, ["run", SHARED, "--verfy"], 2, out="", err="did you mean --verify")
    expect(tool, ["run", SHARED, "--rows=1"], 2, out="", err="a parameter of a kernel: --set rows=")
    expect(tool, ["run", SHARED, "--rows-of-a"], 2, out="", err="unknown option --rows-of-a\n")
    expect(tool, ["run", SHARED, "--sed=1"], 2, err="did you mean --se")
    expect(tool, ["run", SHARED, "--seed"], 2, err="needs")
    expect(tool, ["run", SHARED, "--seed", "x"], 2, err="integer")
    small = ["--set", "m=3,n=3,k=3", "--fill", "rand"]
    expect(tool, ["run", SHARED, *small, "--seed", "-1"], 2, err="--seed -1: expected an integer from 0")
    expect(tool, ["check", "any.ptx", "--seed", "-1"], 2, err="--seed -1: expected an integer from 0")
    expect(tool, ["check", SHARED, "--copies", "late"], 2, err="tilewright: --copies is for run; check tries both")
    expect(tool, ["check", SHARED, "--verify"], 2, err="tilewright: --verify is for run\n")
    expect(tool, ["show", SHARED, "--repeat", "3"], 2, err="tilewright: --repeat is for run and bench\n")
    expect(tool, ["build", SHARED, "--json"], 2, err="tilewright: --json is for run, check, bench, tune, explain, show, learn and devices\n")
    if "--copies" in call([tool, "help", "check"]).out:
        fail("help lists an option of another command")
    for name in ("counters", "seed=3", "device=sm_90", "sm=sm_90"):
        expect(tool, ["check", SHARED, f"--{name}"], 2, err=f"tilewright: --{name.split('=')[0]} is for PTX and CUDA C, not for {SHARED}\n")
    for command, device in (("run", "gpu"), ("show", "gpu"), ("run", "CPU")):
        refused = expect(tool, [command, SHARED, "--device", device], 2, err="cuda (the GPU that is here; cuda:1 the second)")
        if "did you mean" in refused.err:
            fail(f"{device} is not a misspelt cpu: {refused}")
    for words in (["run", SHARED, *small, "--device", "90"], ["run", SHARED, *small, "--device", "sim", "--sm", "9.0"], ["show", SHARED, "--target", "90"],
                  ["build", SHARED, "--target", "90"], ["check", "kernels/cuda/block_sum.cu", "--sm", "90"], ["run", "kernels/cuda/block_sum.ptx", "--sm", "90"]):
        expect(tool, words, 2, err="; did you mean sm_90?")
    expect(tool, ["check", "kernels/cuda/block_sum.cu", "--sm", "90a"], 2, err="; did you mean sm_90a?")
    expect(tool, ["run", SHARED, *small, "--device", "sim", "--sm", "cpu"], 2, err="--device sim:cpu: the simulator runs what a GPU gets: sim:sm_80 and up")
    expect(tool, ["run", SHARED, "--verify=1"], 2, err="no value")
    expect(tool, ["run"], 2, err="FILE")
    expect(tool, ["run", "no/such.tile"], 2, err="no/such.tile")
    for command, folder, said in (("check", ".", "take all of them as */*.tile\n"), ("check", "kernels/matmul/", "all of them as kernels/matmul/*.tile\n"),
                                  ("run", "puzzles", "all of them as puzzles/*/*.tile\n"), ("explain", "include", "there is no .tile file in it: name a file\n"),
                                  ("bench", "kernels/fused", "all of them as kernels/fused/*.tile\n"), ("tune", ".", "name one of its files"), ("build", ".", "name one of its files")):
        here = "puzzles" if folder == "." else None  # the root may hold files of the person who works there
        expect(os.path.abspath(tool), [command, folder], 2, out="", err=f"`{folder}` is a folder", cwd=here)
        expect(os.path.abspath(tool), [command, folder], 2, err=said, cwd=here)
    expect(tool, ["run", SHARED + ":matmul_v2"], 2, err="matmul_v1")
    expect(tool, ["run", SHARED, "--fill", "rnd"], 2, err="rand")
    expect(tool, ["run", SHARED, "--fill", "rand", "--set", "q=1"], 2, err="'q'; there are 'm', 'n' and 'k'")
    expect(tool, ["run", SHARED, "--fill", "rand", "--set", "m"], 2, err="NAME=VALUE")
    expect(tool, ["run", SHARED, "--set", "m", "10"], 2, out="", err="tilewright: --set m: expected NAME=VALUE, --set m=10\n")
    expect(tool, ["run", SHARED, "--fill", "rand", "--set", "m=1.5"], 2, err="i32")
    expect(tool, ["run", SHARED, "--fill", "rand", "--type", "T=f61"], 2, err="did you mean 'f")
    expect(tool, ["run", SHARED, "--fill", "rand", "--type", "T=i8"], 2, err="i8")
    expect(tool, ["run", SHARED, "--fill", "rand"], 2, err="--set m=…,n=…,k=…")
    expect(tool, ["run", SHARED, "--set", "m=4,n=4,k=4"], 2, err="`a`")
    expect(tool, ["show", SHARED, "--after", "plam"], 2, err="plan")
    expect(tool, ["help", "--as", "fish"], 2, out="", err="no help as 'fish'; there are 'man', ")
    expect(tool, ["help", "--as", "zhs"], 2, out="", err="did you mean 'zsh'")
    expect(tool, ["devices", "x"], 2, out="", err="tilewright: devices takes no arguments\n")
    expect(tool, ["version", "x"], 2, out="", err="tilewright: version takes no arguments\n")


def test_other_inputs(tool, folder):
    """An option that has no meaning for the input is refused: a report that a server waits for would be missing."""
    ptx, program = "kernels/cuda/block_sum.ptx", "is for a program (-- PROGRAM), not for"
    for option in ("junit=x", "sarif=x", "trace=x", "limit=3", "launch=3", "skip=2", "stub", "keep-going"):
        for command in ("check",) if option.split("=")[0] in ("junit", "sarif", "trace", "limit") else ("check", "run"):
            for file in (SHARED, ptx):
                expect(tool, [command, file, f"--{option}"], 2, out="", err=f"tilewright: --{option.split('=')[0]} {program} {file}\n")
    for option in ("sms=3", "tuned", "store=x", "same-bits", "profile", "svg=x"):
        expect(tool, ["run", ptx, f"--{option}"], 2, out="", err=f"tilewright: --{option.split('=')[0]} is for .tile files; ")
    for option in ("variants=3", "same-bits", "table=x", "store=x"):
        expect(tool, ["build", SHARED, f"--{option}", "--out", folder], 2, out="", err=f"tilewright: --{option.split('=')[0]} is for a family, not for {SHARED}\n")
    for option in ("threads=2", "fill=rand"):
        expect(tool, ["explain", SHARED, f"--{option}"], 2, out="", err=f"tilewright: --{option.split('=')[0]} is for --device cpu, not for a GPU\n")
    for option in ("stage=ptx", "after=join", "set=m=3", "tune=T=16", "type=f16", "same-bits"):
        expect(tool, ["show", SHARED, "--kernels", f"--{option}"], 2, out="",
               err=f"tilewright: --{option.split('=')[0]} is for the program of one kernel, not for --kernels\n")


def test_kernels(tool, folder):
    with open(f"{folder}/two.tile", "w") as out:
        out.write(TWO)
    listing = expect(tool, ["run", "two.tile"], 2, out="", err="two.tile:one", cwd=folder)
    if "two.tile:three" not in listing.err:
        fail(f"not all kernels are listed: {listing}")
    expect(tool, ["run", "two.tile:one", "--verify"], 0, out="c: [1.0, 1.0, 1.0, 1.0]\n", err="", cwd=folder)
    expect(tool, ["run", "two.tile:two", "--verify"], 1, out="c: [2.0", err="ensures", cwd=folder)
    expect(tool, ["run", "two.tile:three", "--set", "n=3", "--verify"], 2, err="ensures", cwd=folder)
    expect(tool, ["check", "two.tile"], 1, out="", err="two.tile", cwd=folder)
    expect(tool, ["check", "two.tile:one"], 0, out="", err="", cwd=folder)
    expect(tool, ["check", "two.tile:one", "--verbose"], 0, out="one: ok", cwd=folder)
    with open(f"{folder}/bad.tile", "w") as out:
        out.write("kernel k(f32 *c) grid(1) warps(1) { globl f32 C[4] = c; }\n")
    expect(tool, ["check", "bad.tile"], 2, out="", err="bad.tile:1:", cwd=folder)
    expect(tool, ["run", "bad.tile"], 2, out="", err="bad.tile:1:", cwd=folder)


def test_pipes(tool, folder):
    """Programs that can be read only once: from standard input, from a named pipe."""
    os.environ["TILEWRIGHT_LEARN"] = f"{folder}/learnt"
    for word in ("-:one", "/dev/stdin:one"):
        expect(tool, ["run", word, "--verify"], 0, out="c: [1.0, 1.0, 1.0, 1.0]\n", err="", given=TWO)
    expect(tool, ["run", "-"], 2, out="", err="run /dev/stdin:three", given=TWO)
    expect(tool, ["check", "-:one", "-:two"], 1, err="/dev/stdin:3:77: error: C[0] is 2, expected 3", given=TWO)
    expect(tool, ["check", "/dev/stdin"], 2, out="", err="/dev/stdin:2:1: error: expected a declaration", given="\nx")
    expect(tool, ["check", "-"], 2, out="", err="/dev/stdin is machine code; `tilewright check -- /dev/stdin` runs", given="\x7fELF\x02\x01")
    expect(tool, ["check", "-"], 2, out="", err="/dev/stdin is not a program: it holds bytes that are not text", given="\0")
    expect(tool, ["show", "-:three", "--set", "n=8"], 0, out="kernel three", given=TWO)
    with open("kernels/sgemm/tiled.tile") as tiled:
        expect(tool, ["explain", "-", "--sweep", "n=64,128"], 0, out="stdin n=128", given=tiled.read())
    with open("puzzles/01_map/solution.tile") as solution:
        expect(tool, ["learn", "1", "-"], 0, out="passed", given=solution.read())
    with open(f"{folder}/empty.tile", "w"):
        expect(tool, ["check", "empty.tile"], 2, out="", err="empty.tile is empty", cwd=folder)
    expect(tool, ["check", "/dev/zero"], 2, out="", err="cannot read `/dev/zero`: File too large")
    refused = json.loads(expect(tool, ["run", "no.tile", "--json"], 2, cwd=folder).out)
    if refused["status"] != "TW_NO_FILE":
        fail(f"no file: {refused}")
    os.mkfifo(f"{folder}/fifo")
    writer = threading.Thread(target=lambda: open(f"{folder}/fifo", "w").write(TWO), daemon=True)
    writer.start()
    expect(tool, ["run", "fifo:one"], 0, out="c: [1.0", cwd=folder)


def test_kernel_named(tool, folder):
    """--kernel is for PTX; --store for --tuned."""
    with open(f"{folder}/two.tile", "w") as out:
        out.write(TWO)
    for command in ("run", "check"):
        expect(tool, [command, "two.tile", "--kernel", "two"], 2, out="", err="--kernel is for PTX and CUDA C; here it is `two.tile:two`\n", cwd=folder)
    expect(tool, ["run", "two.tile:one", "--grid", "2"], 2, err="--grid is for PTX and CUDA C, not for two.tile", cwd=folder)
    for command in ("run", "bench"):
        expect(tool, [command, "two.tile:one", "--store", "s.db"], 2, out="", err="--store is where --tuned looks: give that too", cwd=folder)


def test_json(tool, folder):
    run = json.loads(expect(tool, ["run", "two.tile:one", "--verify", "--json"], 0, cwd=folder).out)
    if run["kernel"] != "one" or run["verified"] is not True or run["arrays"]["c"]["values"] != [1, 1, 1, 1]:
        fail(f"run --json: {run}")
    json.loads(expect(tool, ["run", "two.tile:two", "--verify", "--json"], 1, cwd=folder).out)
    check = json.loads(expect(tool, ["check", "two.tile", "--json"], 1, cwd=folder).out)
    if [k["ok"] for k in check] != [True, False, True] or not check[1]["findings"]:
        fail(f"check --json: {check}")
    broken = json.loads(expect(tool, ["check", "bad.tile", "--json"], 2, cwd=folder).out)
    if broken[0]["findings"][0]["line"] != 1:
        fail(f"check --json of what does not compile: {broken}")
    devices = json.loads(expect(tool, ["devices", "--json"], 0).out)
    if devices[0]["name"] != "cpu" or devices[0]["cores"] < 1:
        fail(f"devices --json: {devices}")
    if len(devices) == 1:
        missing = {expect(tool, ["run", "two.tile:one", "--device", name], 2, out="", cwd=folder).err for name in ("cuda", "sm_90")}
        if len(missing) != 1 or not missing.pop().startswith("tilewright: no GPU to run on: "):
            fail(f"two messages for a missing GPU: {missing}")


def test_verify(tool, folder):
    """A verification that is impossible is refused before the run if that is known, else the run fails."""
    with open(f"{folder}/loose.tile", "w") as out:
        out.write("""kernel bare(f32 *c) grid(1) warps(1) { global f32 C[4] = c; print("%d\\n", 7); C[0 +: 4] = 2.0; }
kernel loose(const f32 *a, f32 *c) grid(1) warps(1)
{ global f32 A[64] = a, C[64] = c; C[0 +: 64] = 1 / (exp(4 * A[0 +: 64]) * exp(-4 * A[0 +: 64])); ensures C == 1 / (exp(4 * A) * exp(-4 * A)); }""")
    expect(tool, ["run", "loose.tile:bare"], 0, out="7\n", cwd=folder)
    expect(tool, ["run", "loose.tile:bare", "--verify"], 2, out="", err="--verify: kernel `bare` has no `ensures` to compare with\n", cwd=folder)
    with open(f"{folder}/wrong.tile", "w") as out:
        out.write("kernel k(i32 n, f32 *c) grid(1) warps(1) { global f32 C[4] = c; if (n > 3) { ensures C == 2.0; } C[0 +: 4] = 2.0; }")
    expect(tool, ["run", "wrong.tile", "--set", "n=4", "--verify"], 2, out="", err="wrong.tile:1:78: error: `ensures` is at the top level of a kernel", cwd=folder)
    refused = json.loads(expect(tool, ["run", "loose.tile:bare", "--verify", "--json"], 2, cwd=folder).out)
    if refused["ok"] or refused["status"] != "TW_UNSUPPORTED":
        fail(f"--verify without `ensures`: {refused}")
    expect(tool, ["run", "loose.tile:loose", "--verify", "--fill", "rand"], 0, out="verified: 64 elements", cwd=folder)
    expect(tool, ["run", "loose.tile:loose", "--verify", "--fill", "wide"], 1, out="", err="`ensures` cannot be evaluated: for ", cwd=folder)


def test_reach(tool, folder):
    """An array that the tool allocates has room for all of its views."""
    with open(f"{folder}/halves.tile", "w") as out:
        out.write("""kernel halves(i32 rows, static i32 half, f32 *x) grid(rows) warps(1)
{
    global f32 A[rows][half] = x strides(2 * half, 1), B[rows][half] = x + half strides(2 * half, 1);
    A[block.x] = 1.0;
    B[block.x] = 2.0;
}""")
    expect(tool, ["run", "halves.tile", "--set", "rows=2,half=2"], 0, out="x: [1.0, 1.0, 2.0, 2.0, 1.0, 1.0, 2.0, 2.0]\n", cwd=folder)
    expect(tool, ["check", "halves.tile"], 0, err="tilewright: halves has no `ensures`: its values are not compared\n", cwd=folder)


def test_settings(tool):
    small = ["--set", "m=20,n=24", "--set", "k=10", "--fill", "rand"]
    expect(tool, ["run", "kernels/matmul/tuned.tile", *small, "--tune", "BM=32,BN=32", "--verify"], 0, out="verified: 480 elements")
    expect(tool, ["run", SHARED, *small, "--type", "f16", "--verify", "--repeat", "3"], 0, out="median of 3 runs")
    first = expect(tool, ["run", SHARED, *small, "--seed", "5"], 0).out
    if first != expect(tool, ["run", SHARED, *small, "--seed", "5", "--threads", "1"], 0).out:
        fail("the same seed gives other values")
    if first == expect(tool, ["run", SHARED, *small, "--seed", "6"], 0).out:
        fail("another seed gives the same values")
    expect(tool, ["show", SHARED, "--set", "n=16,k=16", "--type", "f16"], 0, out="f16")
    expect(tool, ["show", "--passes"], 0, out="plan")
    # integers that fit 64 bits but not their type
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/wide.tile", "w") as out:
            out.write("""kernel wide(u64 u, i64 i, u32 v, i32 m, u64 *c, i64 *d) grid(1) warps(1)
{ global u64 C[1] = c; global i64 D[1] = d; C[0] = u; D[0] = i; }""")
        run, right = ["run", f"{folder}/wide.tile"], "u=1,i=1,v=1,m=1"
        most = expect(tool, [*run, "--set", right, "--set", "u=0xffffffffffffffff,i=-9223372036854775808"], 0, err="").out
        if most != "c: [18446744073709551615]\nd: [-9223372036854775808]\n":
            fail(f"the greatest and the least: {most}")
        for given, said in (("u=-1", "`u` is of type u64, which has no negative values"), ("u=18446744073709551616", "u64, which does not hold that"),
                            ("i=9223372036854775808", "i64, which does not hold that"), ("v=-1", "`v` = -1 does not fit u32"),
                            ("v=4294967296", "does not fit u32"), ("m=5000000000", "`m` = 5000000000 does not fit i32"), ("u=1.5", "is of type u64\n")):
            expect(tool, [*run, "--set", right, "--set", given], 2, out="", err=said)
    # an unset static that extents need
    softmax = "kernels/fused/softmax.tile"
    taken = "warning: cols = 16 is assumed: `softmax` needs it, and it is not set (--set cols=VALUE)\n"
    shown = expect(tool, ["show", softmax], 0, err=taken)
    if shown.err != taken or "warning" in shown.out:
        fail(f"which value is taken: {shown}")
    if expect(tool, ["show", softmax, "--set", "cols=16"], 0, err="").out != shown.out:
        fail("a value that is taken shows another program than one that is given")
    # a program that divides by a size of 0 compiles again
    with tempfile.TemporaryDirectory() as folder:
        printed = expect(tool, ["show", "kernels/matmul/stream_k.tile", "--set", "n=3,k=0"], 0, out="/ (grid.x & 0)").out
        with open(f"{folder}/printed.tile", "w") as out:
            out.write(printed)
        if expect(tool, ["show", f"{folder}/printed.tile"], 0).out != printed:
            fail("a printed program is printed in another way")


def test_summaries(tool, folder):
    """Arrays too long to print, with elements that are NaN or infinite."""
    with open(f"{folder}/fill.tile", "w") as out:
        out.write("""kernel fill(f64 x, f64 y, f64 z, f64 *c) grid(1) warps(1)
{ global f64 C[128] = c; C[0 +: 128] = x; C[0 +: 64] = y; C[0 +: 32] = z; }""")
    for values, summary in ((("1", "3", "5"), "from 1 to 5, mean 2.5"), (("nan",) * 3, "all 128 are not a number"),
                            (("nan", "3", "5"), "from 3 to 5, mean 4, 64 not a number"), (("1e400",) * 3, "from inf to inf, 128 infinite"),
                            (("inf", "nan", "-inf"), "from -inf to inf, 96 infinite, 32 not a number"), (("1e308",) * 3, "from 1e+308 to 1e+308")):
        given = ",".join(f"{name}={value}" for name, value in zip("xyz", values))
        expect(tool, ["run", "fill.tile", "--set", given], 0, out=f"c: f64[128] {summary} (--out c=FILE.npy keeps it)\n", cwd=folder)


def test_target_types(tool):
    """Element types that a target lacks, by name, with the place."""
    kernel = "tests/parity/dot_types.tile:dot_fp8"
    refused = expect(tool, ["show", kernel, "--stage", "ptx", "--target", "sm_80"], 2, out="", err="sm_80 has no `e4m3`: sm_89 is the first")
    if not re.search(r"dot_types\.tile:\d+:\d+: error", refused.err):
        fail(f"no place: {refused}")
    expect(tool, ["show", kernel, "--stage", "ptx", "--target", "sm_86", "--type", "F8=e5m2"], 2, err="sm_86 has no `e5m2`")
    for command in (["build", SHARED, "--set", "n=64,k=64", "--target", "sm_75"], ["show", SHARED, "--stage", "ptx", "--target", "sm_75"]):
        if "cpu" in expect(tool, command, 2, out="", err="there is no target `sm_75`\n    note: there are `cuda`, `sm_80`, ").err:
            fail(f"{command}: the CPU is proposed for a GPU")
    simulated = ["run", kernel, "--set", "n=32", "--fill", "rand", "--device", "sim", "--verify"]
    expect(tool, simulated, 2, out="", err="\n    --device sim:sm_89 simulates that one\n")
    expect(tool, [*simulated[:-2], "sim:sm_89", "--verify"], 0, out="verified")
    expect(tool, ["show", kernel, "--stage", "ptx", "--target", "sm_89"], 0, out="f32.f16.f16.f32", err="")
    expect(tool, ["show", kernel, "--stage", "ptx", "--target", "sm_120"], 0, out="f32.e4m3.e4m3.f32", err="")


def main():
    tool = os.path.abspath(sys.argv[1])
    test_help(tool)
    test_bind(tool)
    test_show_kernels(tool)
    test_lists(tool)
    test_environment(tool)
    test_bench_options(tool)
    test_examples(tool)
    test_misspelt(tool)
    with tempfile.TemporaryDirectory() as folder:
        test_other_inputs(tool, folder)
        test_kernels(tool, folder)
        test_pipes(tool, folder)
        test_kernel_named(tool, folder)
        test_json(tool, folder)
        test_summaries(tool, folder)
        test_verify(tool, folder)
        test_reach(tool, folder)
        test_signed_zeros(tool, folder)
    test_no_stages(tool)
    test_settings(tool)
    test_target_types(tool)


if __name__ == "__main__":
    main()
