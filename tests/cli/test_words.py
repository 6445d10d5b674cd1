#!/usr/bin/env python3
"""One word for one thing: options that several commands have are in the table of docs/command-line.md, which names these commands; earlier
words are accepted, and listed nowhere."""
import re
import sys
import tempfile

from tile_runner import call, fail

SHARED = "kernels/matmul/shared.tile"
SMALL = ["--set", "m=3,n=3,k=3", "--fill", "rand"]
EARLIER = {  # command: earlier words
    "run": ["sm", "trace-block"], "check": ["sm"], "explain": ["sm"], "show": ["target"], "build": ["target", "output"], "play": ["export"],
    "bench": ["rounds", "time-limit"],
}


def run(tool, *words, status=0):
    result = call([tool, *words])
    if result.status != status:
        fail(f"{words}: expected status {status}: {result}")
    return result


def options_of(tool):
    """Returns the options of each command, with the word for their value."""
    names = re.findall(r"^  (\w+) ", run(tool, "help").out.split("COMMAND [OPTIONS]")[1].split("\n\n`")[0], re.M)
    return {name: dict(re.findall(r"^  (?:-\w, |    )--([\w-]+)((?: [^\s]+)?)(?=  |$)", call([tool, "help", name]).out, re.M)) for name in names}


def test_table(tool):
    """The table has each option of two or more commands, and each option whose value differs."""
    options = options_of(tool)
    text = open("docs/command-line.md").read().split("## Words")[1].split("\nTimes have")[0]
    rows = {}
    for names, commands in re.findall(r"^\| ((?:`--?[^|`]*`[, ]*)+)\| [^|]+ \| ([^|]+) \|", text, re.M):
        for name in re.findall(r"--([\w-]+)", names):
            rows[name] = set(re.findall(r"`(\w+)`", commands))
    for name in sorted({o for of in options.values() for o in of}):
        commands = {c for c, of in options.items() if name in of}
        if len(commands) > 1 and rows.get(name) != commands:
            fail(f"--{name} is of {sorted(commands)}; the table says {sorted(rows.get(name, []))}")
    for name, commands in rows.items():
        if any(name not in options[c] for c in commands):
            fail(f"the table has --{name}, which {sorted(commands)} do not have")


def test_earlier(tool):
    forms = {form: run(tool, "help", "--as", form).out for form in ("man", "bash", "zsh")}
    options = options_of(tool)
    for command, words in EARLIER.items():
        for word in words:
            if word in options[command]:
                fail(f"help {command} lists --{word}")
    for word in ("sm", "rounds", "output"):
        for form, text in forms.items():
            if re.search(rf"--{word}\b", text.replace("\\-", "-")):
                fail(f"{form} has --{word}")


def same(tool, new, earlier, status=0):
    a, b = (run(tool, *words, status=status) for words in (new, earlier))
    a, b = (re.sub(r'"(?:milliseconds|seconds)": [^,]*', "", f.out + f.err) for f in (a, b))
    if a != b:
        fail(f"{new} and {earlier} differ: {a} {b}")
    return a


def test_device(tool):
    shown = ["show", "kernels/matmul/stages.tile", "--type", "f16"]
    hopper = same(tool, [*shown, "--stage", "ptx", "--device", "sm_90"], [*shown, "--stage", "ptx", "--target", "sm_90"])
    if ".target sm_90" not in hopper or same(tool, [*shown, "--stage", "ptx", "--device", "h100"], [*shown, "--stage", "ptx", "--device", "sim:h100"]) != hopper:
        fail(f"the PTX for an H100: {hopper[:400]}")
    same(tool, [*shown, "--stage", "ptx", "--device", "sim"], [*shown, "--stage", "ptx"])
    simulated = ["run", SHARED, *SMALL, "--counters", "--json"]
    found = same(tool, [*simulated, "--device", "sim:sm_90"], [*simulated, "--device", "sim", "--sm", "sm_90"])
    if '"target": "sm_90"' not in found or same(tool, [*simulated, "--device", "sim:h100"], [*simulated, "--sm=sm_90", "--device=sim"]) != found:
        fail(f"simulated for an H100: {found}")
    for words, said in ((["run", SHARED, *SMALL, "--device", "h100"], "--device h100: a run takes the GPU that is here, --device cuda; --device sim:h100 simulates"),
                        (["run", SHARED, *SMALL, "--device", "cpu:sm_90"], "--device cpu:sm_90: cpu has no target; sim:sm_90 simulates one"),
                        (["run", SHARED, *SMALL, "--sm", "sm_90"], "--sm is a target of the simulator: --device sim:sm_90"),
                        (["run", SHARED, *SMALL, "--device", "sim:sm_80", "--sm", "sm_90"], "--device sim:sm_80, --sm sm_90: one target at a time"),
                        (["show", SHARED, "--device", "sim:cpu"], "--device sim:cpu: there are cpu, sm_80 and up"),
                        (["show", SHARED, "--stage", "ptx", "--device", "cpu"], "--stage ptx shows what a GPU gets"),
                        (["build", SHARED, "--device", "h1000"], "--device h1000: there are cpu, sm_80 and up, a GPU by name (h100)")):
        if said not in run(tool, *words, status=2).err:
            fail(f"{words}: {call([tool, *words])}")
    modelled = ["explain", "kernels/sgemm/naive.tile", "--set", "m=64,n=64,k=64", "--json"]
    if '"target": "sm_90"' not in run(tool, *modelled, "--device", "sm_90").out:
        fail("explain --device sm_90 is of another target")


def test_ptx(tool):
    launch = ["kernels/cuda/block_sum.ptx", "--block", "32", "--arg", "f32[32]:ones", "--arg", "f32[1]:none", "--arg", "i32:32"]
    same(tool, ["run", *launch, "--device", "sim:sm_90"], ["run", *launch, "--sm", "sm_90"])
    same(tool, ["check", *launch, "--device", "sm_90"], ["check", *launch, "--sm", "sm_90"])
    if "; did you mean sm_90?" not in run(tool, "check", *launch, "--device", "90", status=2).err:
        fail("no hint for a capability")


def test_files(tool):
    with tempfile.TemporaryDirectory() as folder:
        build = ["build", "kernels/sgemm/tiled.tile", "--no-cubin"]
        for words in (["--out", folder, "--device", "sm_80,h100"], ["-o", folder], ["--output", folder, "--target", "sm_80"]):
            run(tool, *build, *words)
        run(tool, "run", SHARED, *SMALL, "-o", f"c={folder}/C.npy")
        same(tool, ["run", SHARED, *SMALL, "--time-limit", "100s"], ["run", SHARED, *SMALL, "--time-limit", "100"])
        if "expected a time, as 5s, 500ms or 2m" not in run(tool, "run", SHARED, "--time-limit", "soon", status=2).err:
            fail("a time that is none")


def main():
    tool = sys.argv[1]
    test_table(tool)
    test_earlier(tool)
    test_device(tool)
    test_ptx(tool)
    test_files(tool)


if __name__ == "__main__":
    main()
