#!/usr/bin/env python3
"""run --probe and --break: intermediate values, compared with plain Python and between the CPU engine and the simulator."""
import json
import os
import pty
import select
import subprocess
import sys
import tempfile

from tile_runner import call, fail

SUM = """kernel sums(i32 n, const i32 *a, i32 *c) grid(cdiv(n, 4), 2) warps(1)
{
    global i32 A[n] = a, C[2][n] = c;
    shared i32 s[4];
    i32 from = block.x * 4;
    s = A[from +: 4];
    sync();
    reg i32 t[4] = s;

    // a comment
    for (i32 k = 0; k < 3; k++) {
        t = t + k;
        for (i32 q = 0; q < 2; q++)
            t = t * 2 + block.y;
    }
    C[block.y][from +: 4] = t - 1;
}
"""
THREADS = """kernel each(i32 n, const f32 *a, f32 *c) grid(cdiv(n, 8)) threads(8)
{
    global f32 A[n] = a, C[n] = c;
    i32 i = block.x * 8 + thread.x;
    f32 v = 0;
    if (i < n) {
        for (i32 k = 0; k <= thread.x; k++)
            v += A[i] + k;
        C[i] = v * 2;
    }
}
"""
# A function that is called several times, and one of another file with statements at the same lines.
CALLS = """import "other.tile";
fn f32 twice(f32 x)
{
    f32 t = x + 1;
    t = t * 2;
    return t;
}
kernel calls(i32 n, const f32 *a, f32 *c) grid(cdiv(n, 8)) threads(8)
{
    global f32 A[n] = a, C[n] = c;
    i32 i = block.x * 8 + thread.x;
    if (i < n) {
        f32 r = other(A[i]);
        f32 u = twice(r) + twice(twice(r));
        C[i] = u;
    }
}
"""
OTHER = CALLS[CALLS.index("fn"):CALLS.index("kernel")].replace("twice", "other")
WIDE = """kernel wide(i32 n, const f16 *a, f16 *c) grid(1) warps(2)
{
    global f16 A[32][48] = a, C[32][48] = c;
    reg f16 x[32][48] = A[0 +: 32][0 +: 48];
    x = x + 1;
    C[0 +: 32][0 +: 48] = x;
}
"""


def run(tool, folder, *words, status=0):
    done = call([tool, "run", *words], cwd=folder)
    if done.status != status:
        fail(f"{words}: expected status {status}: {done}")
    return done


def both(tool, folder, *words, status=0):
    """Checks that the CPU engine and the simulator, for two targets, print the same text, and returns it."""
    found = [run(tool, folder, *words, "--device", device, status=status) for device in ("cpu", "sim", "sim:sm_90")]
    for other in found[1:]:
        if (other.out, other.err) != (found[0].out, found[0].err):
            fail(f"{words}: cpu {found[0]}, sim {other}")
    return found[0]


def expect(what, found, want):
    if found != want:
        fail(f"{what}: {found}, expected {want}")


def probes(tool, folder, *words):
    text = both(tool, folder, *words).out
    found = [json.loads(run(tool, folder, *words, "--json", "--device", device).out) for device in ("cpu", "sim")]
    expect(f"JSON of {words}", found[0]["probes"], found[1]["probes"])
    return text, found[0]


def test_tile_level(tool, folder):
    given = ["sums.tile", "--set", "n=8", "--fill", "iota", "--in-block", "1,1"]
    text, found = probes(tool, folder, *given, "--probe", "s,t,from")
    want, t = [("from", 5, {}, 1, 4), ("s", 6, {}, 1, [4, 5, 6, 7]), ("t", 8, {}, 1, [4, 5, 6, 7])], [4, 5, 6, 7]
    for k in range(3):
        t = [x + k for x in t]
        want.append(("t", 12, {"k": k}, 2 + 3 * k, t))
        for q in range(2):
            t = [2 * x + 1 for x in t]
            want.append(("t", 14, {"k": k, "q": q}, 3 + 3 * k + q, t))
    expect("values", [(p["name"], p["line"], p["counters"], p["step"], p["value"]) for p in found["probes"]], want)
    expect("block and type", {(*p["block"], p["type"]) for p in found["probes"]}, {(1, 1, 0, "i32")})
    if "sums.tile:14 block (1,1,0) k = 0, q = 1 step 4: t = i32[4] [19, 23, 27, 31]\n" not in text:
        fail(f"text: {text}")
    _, found = probes(tool, folder, *given, "--probe", "C,k,t[1:3]")
    expect("a stored value, a counter, a part", [(p["name"], p["value"]) for p in found["probes"] if p["name"] != "t"][-2:], [("k", 2), ("C", [x - 1 for x in t])])
    expect("the part", [p["value"] for p in found["probes"] if p["name"] == "t"][-1], t[1:3])
    plain = json.loads(run(tool, folder, *given[:-2], "--json").out)["arrays"]
    expect("the outputs", found["arrays"], plain)


def test_threads(tool, folder):
    given = ["each.tile", "--set", "n=11", "--fill", "ones", "--probe", "v"]
    _, found = probes(tool, folder, *given, "--in-block", "1")
    want = [(thread, 1, 0.0) for thread in range(8)]
    for step in range(3):
        want += [(t, step + 2, sum(1.0 + k for k in range(step + 1))) for t in range(3) if step <= t]
    expect("all threads", [(p["thread"][0], p["step"], p["value"]) for p in found["probes"]], want)
    text, found = probes(tool, folder, *given, "--in-block", "1", "--in-thread", "2")
    expect("one thread", [p["value"] for p in found["probes"]], [0.0, 1.0, 3.0, 6.0])
    said = both(tool, folder, *given, "--in-block", "7", status=2).err
    if "there is no block (7,0,0) to show: the grid has (2,1,1) blocks" not in said:
        fail(f"no block: {said}")
    text, found = probes(tool, folder, "each.tile", "--set", "n=0", "--fill", "ones", "--probe", "v")
    if not text.startswith("block (0,0,0) assigned none of these names (--in-block") or found["probes"]:
        fail(f"no blocks: {text}")
    text, found = probes(tool, folder, *given, "--probe-rows", "3")
    expect("a limit", (len(found["probes"]), found["probes_left_out"]), (3, 8 + sum(range(1, 9)) - 3))
    if "… 41 more (--probe-rows N shows N of them)" not in text:
        fail(f"the limit is not said: {text}")


def test_wide(tool, folder):
    """Long axes are abbreviated; a part is shown whole."""
    given = ["wide.tile", "--set", "n=1", "--fill", "ones"]
    _, found = probes(tool, folder, *given, "--probe", "x")
    value = found["probes"][-1]["value"]
    expect("abbreviated", (len(value), value[4], value[0]), (9, "…", [2.0] * 4 + ["…"] + [2.0] * 4))
    _, found = probes(tool, folder, *given, "--probe", "x[3:5][7:47]")
    expect("a part", found["probes"][-1]["value"], [[2.0] * 40] * 2)
    _, found = probes(tool, folder, *given, "--probe", "x[31:32][47]")
    expect("an element", found["probes"][-1]["value"], [[2.0]])
    for part, said in (("x[0:2]", "`x` has 2 axes here, and a part of 1 is asked for"), ("x[0:2][40:49]", "[40:49] is not inside its axis 1")):
        if said not in both(tool, folder, *given, "--probe", part, status=2).err:
            fail(f"{part}: {run(tool, folder, *given, '--probe', part, status=2)}")


def test_break(tool, folder):
    given = ["sums.tile", "--set", "n=8", "--fill", "iota", "--in-block", "1,1", "--json"]
    runs = [json.loads(run(tool, folder, *given, "--break", "14:4", "--device", d).out) for d in ("cpu", "sim")]
    found = runs[0]["stop"]
    expect("of both", runs[1]["stop"], found)
    expect("the place", (found[0]["line"], found[0]["counters"], found[0]["name"]), (14, {"k": 1, "q": 1}, None))
    expect("live names", {p["name"]: p["value"] for p in found[1:]}, {"n": 8, "from": 4, "s": [4, 5, 6, 7], "t": [2 * (2 * (2 * x + 1) + 1) + 2 + 1 for x in (4, 5, 6, 7)]})
    expect("no arrays", "arrays" in runs[0], False)
    text = both(tool, folder, *given[:-1], "--break", "9").out
    if not text.startswith("stopped before sums.tile:11 block (1,1,0) (line 9 has no statement)\n  n = i32 8\n  from = i32 4\n  s = i32[4] [4, 5, 6, 7]\n  t = i32[4] [4, 5, 6, 7]\n"):
        fail(text)
    text = both(tool, folder, "each.tile", "--set", "n=11", "--fill", "ones", "--break", "8:2", "--in-thread", "3").out
    if text != "stopped before each.tile:8 block (0,0,0) thread (3,0,0) k = 1\n  n = i32 11\n  i = i32 3\n  v = f32 1.0\n":
        fail(text)
    for line, times in ((4, 3), (5, 3), (14, 1), (15, 1)):  # once for each call of the function
        calls = ["calls.tile", "--set", "n=8", "--fill", "ones", "--break"]
        both(tool, folder, *calls, f"{line}:{times}")
        if line == 5 and "  t = f32 " not in both(tool, folder, *calls, f"{line}:{times}").out:
            fail("a stop of a later call has no `t`")
        said = f"--break {line}:{times + 1}: block 0,0,0 came to it {times} time"
        if said not in both(tool, folder, *calls, f"{line}:{times + 1}", status=1).err:
            fail(f"not: {said}")
    _, found = probes(tool, folder, *calls[:-1], "--in-thread", "3", "--probe", "t")
    expect("the function's name in each call", [(p["name"], p["step"], p["value"]) for p in found["probes"]],
           [("t", i + 1, float(v)) for i, v in enumerate((2, 4, 5, 10, 5, 10, 11, 22))])
    for words, said in ((["--probe", "t[0:1]"], "`t` has 0 axes here"), (["--break", "4", "--in-block", "0,5"], "there is no block (0,5,0) to show: the grid has (1,1,1) blocks"),
                        (["--break", "4", "--in-thread", "8"], "there is no thread (8,0,0) to show: a block has (8,1,1) threads"),
                        (["--probe", "t", "--in-thread", "0,99999999999"], "there is no thread (0,2147483647,0)")):
        if said not in both(tool, folder, *calls[:-1], *words, status=2).err:
            fail(f"{words}: {run(tool, folder, *calls[:-1], *words, status=2)}")
    for words, status, said in ((["--break", "14:7"], 1, "--break 14:7: block 1,1,0 came to it 6 times"), (["--break", "99"], 2, "has no statement at line 99 or after it"),
                                (["--break", "x"], 2, "expected a line, or LINE:N"), (["--break", "14:99999999999999999999"], 2, "expected a line, or LINE:N"), (["--probe", "tt"], 2, "kernel `sums` assigns no `tt`; did you mean `t`?"), (["--probe", "A"], 2, "kernel `sums` assigns no `A`\n"),
                                (["--probe", "t,t[0:2]"], 2, "--probe t is given twice: a run shows one part of a name"), (["--probe", "t[a]"], 2, "expected names, as acc,k or acc[0:4][0:4]"), (["--in-thread", "1"], 2, "--in-thread goes with --probe or --break")):
        if said not in both(tool, folder, *given[:-1], *words, status=status).err:
            fail(f"{words}: {run(tool, folder, *given[:-1], *words, status=status)}")


# Threads that store tiles of the block, slices of their own, elements by an atomic, and twice to one view.
BLOCK = """kernel block_tiles(i32 n, const f32 *a, i32 *count, f32 *c, f32 *d) grid(1) threads(96)
{
    global f32 A[n] = a, C[96] = c, D[96] = d;
    global i32 Count[1] = count;
    shared f32 s[96], u[96], never[4];
    i32 t = thread.x;
    s = A[0 +: 96] * 2;
    sync();
    if (t < 24) {
        f32 v[4] = s[t * 4 +: 4];
        u[t * 4 +: 4] = v;
        u[t * 4 +: 2] = 0;
    }
    sync();
    f32 x = u[95 - t];
    C[atomic_add(Count[0], 1)] = A[0];
    D[t] = x * 2;
    D[95 - t] = u[t] * 2;
}
"""
TILE = """kernel counted(i32 n, const f32 *a, i32 *count, f32 *c) grid(1) warps(2)
{
    global f32 A[n] = a, C[32] = c;
    global i32 Count[8] = count;
    shared i32 s[8];
    for (i32 k = 0; k < 3; k++) {
        s = atomic_add(Count[0 +: 8], iota(8));
        sync();
    }
    C[0 +: 32] = A[0 +: 32];
    C[atomic_add(Count[0], 1)] = A[atomic_add(Count[0], 1)];
    f32 x = A[1];
    C[2] = x * 2;
    C[3] = x * 3;
}
"""


def test_watched(tool, folder):
    """Watching changes no value: tiles of the block are shown by all threads, stores with atomics run once."""
    given = {"block": ["block.tile", "--set", "n=80", "--fill", "iota"], "tile": ["tile.tile", "--set", "n=32", "--fill", "iota"]}
    rows = {}
    for name, probed in (("block", "s,u,C,D,v,x,t"), ("tile", "s,C,x")):
        for device in ("cpu", "sim", "sim:sm_90"):
            plain = json.loads(run(tool, folder, *given[name], "--device", device, "--json").out)["arrays"]
            for words in (["--probe", probed], ["--probe", probed, "--in-thread", "41"], *(["--probe", one] for one in probed.split(","))):
                if name == "block" or "--in-thread" not in words:
                    found = json.loads(run(tool, folder, *given[name], "--device", device, "--json", "--probe-rows", "5000", *words).out)
                    expect(f"outputs of {name} on {device} with {words}", found["arrays"], plain)
                    rows[name, tuple(words)] = found["probes"]
    first = [2.0 * i for i in range(4)] + ["…"] + [0.0] * 4
    own = rows["block", ("--probe", "s,u,C,D,v,x,t", "--in-thread", "41")]
    expect("the block's tile", [p["value"] for p in own if p["name"] == "s"], [first])
    expect("its thread", ["thread" in p for p in own if p["name"] == "s"], [False])
    expect("a thread's own values", [(p["name"], p["thread"][0]) for p in own if p["name"] != "s"], [("t", 41), ("x", 41), ("C", 41), ("D", 41), ("D", 41)])
    expect("slices of threads", [(p["thread"][0], p["value"]) for p in rows["block", ("--probe", "u")]][-1], (23, 0.0))
    expect("both slices", len(rows["block", ("--probe", "u")]), 48)
    expect("old values", [p["value"] for p in rows["tile", ("--probe", "s")]], [[k * i for i in range(8)] for k in range(3)])
    expect("all stores", [p["value"] for p in rows["tile", ("--probe", "C")]][1:], [0.0, 2.0, 3.0])


def test_break_of_block(tool, folder):
    """A stop shows shared tiles where all threads come, and what a thread has where only some do."""
    given = ["block.tile", "--set", "n=80", "--fill", "iota", "--in-thread", "23", "--json", "--break"]
    for line, names in ((8, ["n", "t", "s"]), (10, ["n", "t"]), (11, ["n", "t", "v"]), (16, ["n", "t", "x", "s", "u"])):
        stops = [json.loads(run(tool, folder, *given, str(line), "--device", d).out)["stop"] for d in ("cpu", "sim", "sim:sm_90")]
        expect(f"live at {line}", [p["name"] for p in stops[0]], [None, *names])
        expect(f"devices at {line}", stops[1:], [stops[0]] * 2)
    expect("what the threads stored", stops[0][-1]["value"], [0.0, 0.0, 4.0, 6.0, "…", 0.0, 0.0, 0.0, 0.0])


class Terminal:
    """The program on a terminal of its own."""

    def __init__(self, tool, folder, *words):
        self.master, slave = pty.openpty()
        self.process = subprocess.Popen([tool, "run", *words], cwd=folder, stdin=slave, stdout=slave, stderr=slave, env={**os.environ, "NO_COLOR": "1"})
        os.close(slave)

    def answer(self, command=None):
        """The lines up to the next prompt, or to the end, after a command."""
        if command is not None:
            os.write(self.master, (command + "\n").encode())
        text = ""
        while not text.endswith("\n> "):
            if not select.select([self.master], [], [], 60)[0]:
                fail(f"no answer to {command}: {text}")
            try:
                part = os.read(self.master, 65536).decode()
            except OSError:  # the program ended
                break
            if not part:
                break
            text += part.replace("\r", "")
        lines = text.split("\n")
        return lines[1 if command is not None else 0:-1]

    def end(self):
        status = self.process.wait(60)
        os.close(self.master)
        return status


def test_prompt(tool, folder):
    """On a terminal --break offers a prompt that walks all stops."""
    for device in ("cpu", "sim"):
        t = Terminal(tool, folder, "sums.tile", "--set", "n=8", "--fill", "iota", "--break", "14:2", "--device", device)
        place = "before sums.tile:14 block (0,0,0) k = {}, q = {}"
        names = ["  n = i32 8", "  from = i32 0", "  s: i32[4]", "  t: i32[4]"]
        second = [f"stop 2 of 6, {place.format(0, 1)}", *names]
        expect("the first answer", t.answer()[-5:], second)
        expect("print", t.answer("print t"), ["  t = i32[4] [0, 2, 4, 6]"])
        expect("next", t.answer("next"), [f"stop 3 of 6, {place.format(1, 0)}", *names])
        expect("print later", t.answer("print t"), ["  t = i32[4] [1, 5, 9, 13]"])
        expect("previous", t.answer("p"), second)
        expect("a number", t.answer("6")[0], f"stop 6 of 6, {place.format(2, 1)}")
        expect("past the last", t.answer(""), ["the stops are 1 to 6"])
        expect("list", t.answer("list"), names)
        expect("all", t.answer("print"), [*names[:2], "  s = i32[4] [0, 1, 2, 3]", "  t = i32[4] [12, 44, 76, 108]"])
        expect("an unknown name", t.answer("print tt"), ["no 'tt' has a value here; did you mean 't'?"])
        expect("an unknown command", t.answer("step")[0], "no command 'step'; there are")
        expect("help", [line.split()[0] for line in t.answer("help")], ["next,", "previous,", "NUMBER", "print", "list,", "quit,"])
        expect("quit", t.answer("quit"), [])
        expect("status", t.end(), 0)
    open(f"{folder}/long.tile", "w").write(SUM.replace("k < 3", "k < 1500"))
    t = Terminal(tool, folder, "long.tile", "--set", "n=8", "--fill", "iota", "--break", "14:2000")
    expect("the last that is kept", t.answer()[-5][:28], "stop 2000 of 3000, before lo")
    expect("one that is not", t.answer("n"), ["stop 2001 is not recorded, as the first 2000 are; `--break 14:2001 < /dev/null` shows it"])
    expect("the first", t.answer("1")[0][:17], "stop 1 of 3000, b")
    t.answer("q")
    expect("status", t.end(), 0)
    t = Terminal(tool, folder, "long.tile", "--set", "n=8", "--fill", "iota", "--break", "14:2500")
    expect("the wanted one, past those that are kept", t.answer()[-5][:28], "stop 2500 of 3000, before lo")
    expect("the one before", t.answer("p")[0][:25], "stop 2499 is not recorded")
    t.answer("q")
    expect("status", t.end(), 0)
    wrong = SUM.replace("C[block.y][from +: 4] = t - 1;", "i32 far = n * 100;\n    C[block.y][far] = 1;")
    open(f"{folder}/wrong.tile", "w").write(wrong)
    t = Terminal(tool, folder, "wrong.tile", "--set", "n=8", "--fill", "iota", "--break", "16")
    lines = t.answer()
    if not any("outside" in line for line in lines) or not lines[-5].startswith("stop 1 of 1, before wrong.tile:16"):
        fail(f"a run that fails: {lines}")
    expect("what there was", t.answer("print t"), ["  t = i32[4] [24, 88, 152, 216]"])
    t.answer("quit")
    expect("the status of the run", t.end(), 1)


def test_kernels(tool):
    """Pipelines, asynchronous copies, products: a probe does not change the kernel's results, and --break can stop at each line."""
    for path, sizes, names in (("kernels/matmul/auto.tile", "m=17,n=16,k=40", "acc,sa,sb"), ("kernels/matmul/stages.tile", "m=17,n=16,k=40", "acc,sa"),
                               ("kernels/sgemm/tiled.tile", "m=3,n=5,k=17", "sum,as,C"), ("kernels/fused/softmax.tile", "rows=3,cols=5", "v,Y")):
        for device in ("cpu", "sim"):
            given = [path, "--set", sizes, "--fill", "rand", "--device", device, "--json"]
            plain = json.loads(run(tool, ".", *given).out)["arrays"]
            expect(f"{path} with probes on {device}", json.loads(run(tool, ".", *given, "--probe", names).out)["arrays"], plain)
    lines = len(open("kernels/sgemm/tiled.tile").read().split("\n"))
    for line in range(1, lines):
        done = call([tool, "run", "kernels/sgemm/tiled.tile", "--set", "m=3,n=5,k=17", "--fill", "rand", "--break", str(line)])
        if done.status != (0 if line <= 22 else 2):
            fail(f"--break {line}: {done}")


def test_print(tool, folder):
    """The kernel's own print() remains."""
    text = SUM.replace("    sync();\n", "    sync();\n    print(from);\n", 1)
    open(f"{folder}/printing.tile", "w").write(text)
    out = run(tool, folder, "printing.tile", "--set", "n=8", "--fill", "iota", "--probe", "from").out
    if out.count(" from = ") != 5 or "block (1,1) from = 4\n" not in out:
        fail(out)


def main():
    tool = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        for name, text in (("sums", SUM), ("each", THREADS), ("wide", WIDE), ("block", BLOCK), ("tile", TILE), ("calls", CALLS), ("other", OTHER)):
            open(f"{folder}/{name}.tile", "w").write(text)
        for test in (test_tile_level, test_threads, test_wide, test_break, test_print, test_watched, test_break_of_block, test_prompt):
            test(tool, folder)
    test_kernels(tool)


if __name__ == "__main__":
    main()
