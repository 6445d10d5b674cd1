#!/usr/bin/env python3
"""Checks that the simulator, layouts and explanations of python/tilewright.py agree with the program's --json.

test_python_simulator.py TILEWRIGHT"""
import contextlib
import io
import json
import os
import re
import subprocess
import sys
import tempfile

from tile_runner import PATIENCE, expect, fail

TILED, RACY_LINE = "kernels/sgemm/tiled.tile", 16
KERNELS = (  # file, kernel, sizes, choices
    (TILED, "sgemm_tiled", {"m": 40, "n": 33, "k": 40}, {"T": 16}),
    ("kernels/matmul/shared.tile", "matmul_v1", {"m": 40, "n": 33, "k": 40}, {}),
    ("kernels/matmul/async.tile", "matmul_v3", {"m": 128, "n": 128, "k": 128}, {}),
)


def settings(sizes, choices):
    """Returns the options --set, --tune and --type: a choice that is a word is a type, a number is a tuned value."""
    types = {name: value for name, value in choices.items() if isinstance(value, str)}
    tunes = {name: value for name, value in choices.items() if name not in types}
    return [word for option, given in (("--set", sizes), ("--tune", tunes), ("--type", types)) if given
            for word in (option, ",".join(f"{name}={value}" for name, value in given.items()))]


def said(*command):
    """Returns the object that the program prints with --json."""
    done = subprocess.run([TOOL, *command, "--json"], capture_output=True, text=True, timeout=PATIENCE)
    return json.loads(done.stdout)


def plain(x):
    """Returns records as dicts, as in JSON."""
    return json.loads(json.dumps(x, default=dict))


def same(got, want, what):
    if got != want:
        fail(f"{what}\nPython:  {got}\n--json: {want}")


def arrays(m, n, k):
    random = np.random.default_rng(1)
    return {"a": random.random((m, k), "f4"), "b": random.random((k, n), "f4"), "c": np.zeros((m, n), "f4")}


def racy():
    lines = open(TILED).read().splitlines(True)
    return "".join(lines[:RACY_LINE - 1] + lines[RACY_LINE:])


def without_zeros(line):
    return {name: value for name, value in line.items() if value != 0}


def test_counters():
    names = re.findall(r"X\((\w+), +(?:SUM|MOST),", open("include/tilewright_sim.h").read())
    for path, name, sizes, choices in KERNELS:
        given = arrays(**sizes)
        ran = tw.load(path)[name].simulate(**given, **choices)
        expect(np.allclose(given["c"], given["a"] @ given["b"], rtol=1e-4), f"{path}: values")
        expect(not ran.findings and ran.failures == 0 and ran.ended is None and ran.report == "", ran)
        counted = said("run", f"{path}:{name}", "--device", "sim", *settings(sizes, choices), "--fill", "rand", "--counters")["counters"]
        expect([n for n in ran.counters if n not in ("instructions", "lines")] == names, ran.counters)
        expect(all(getattr(ran.counters, n) == counted[n] for n in names), ran.counters)
        got = plain(ran.counters)
        expect(set(names) <= set(got["lines"][0]), "a line has all counters")
        got["lines"] = [without_zeros(line) for line in got["lines"]]
        same(got, counted, f"{path}: counters")
        expect(ran.counters.warp_instructions == ran.warp_instructions > 0, ran)


def test_race():
    """Refused, watched, mended."""
    kernel = tw.compile(racy(), "racy.tile")["sgemm_tiled"]
    given = {name: np.ones((32, 32), "f4") for name in "abc"}
    try:
        kernel.simulate(**given, T=16)
        fail("a kernel that races was simulated")
    except tw.RaceError as error:
        refused = error.messages[0]
    edit = tw.Edit(RACY_LINE, 1, 0, "        sync();\n")
    read, written = refused.accesses
    expect((refused.code, refused.fix) == ("race", (edit,)), refused)
    expect((read.what, read.line, read.column, written.what, written.line, written.column) == ("read", 17, 20, "write", 14, 9), refused)
    ran = kernel.simulate(**given, T=16, despite_races=True)
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/racy.tile", "w") as out:
            out.write(racy())
        shown = said("run", f"{folder}/racy.tile", "--device", "sim", "--despite", "race", "--tune", "T=16", "--set", "m=32,n=32,k=32",
                     "--fill", "ones")
    races = [f for f in ran.findings if f.code == "race"]
    expect(ran.failures == len(ran.findings) and len(races) == 2 and races[0].fix == (edit,) and races[1].fix == (edit,), ran)
    for got, want in zip(races, shown["findings"]):
        same((got.code, got.text, got.count, list(got.steps)), (want["kind"], want["message"], want["count"], want["steps"]), "a finding")
        same([(a.line, a.column, a.what, a.variable, list(a.index), a.thread, a.warp, a.block, a.space) for a in got.accesses],
             [tuple(a[key] for key in "line column what variable index thread warp block space".split()) for a in want["accesses"]],
             "accesses")
        expect(got.shown.startswith("racy.tile:") and got.shown in ran.report, got)
    expect(kernel.simulate(**given, T=16, despite_races=True, order=[7, 6, 5, 4, 3, 2, 1, 0]).failures, "in another order")
    mended = tw.compile(tw.apply_fix(racy(), races[0].fix), "racy.tile")["sgemm_tiled"]
    expect(tw.apply_fix(racy(), races[0].fix) == open(TILED).read(), "the fix is the line that was there")
    ran = mended.simulate(**given, T=16)
    expect(ran.failures == 0 and (given["c"] == 32).all(), ran)
    again = kernel.with_(T=16)
    for call in (lambda: again.check("sm_80"), lambda: again.simulate(**given)):  # races were allowed only in the run with despite_races
        refuses(tw.RaceError, "`as` is read here", call)


def test_findings():
    wild = tw.compile("kernel wild(i32 n, f32 *c) grid(1) warps(1) { global f32 C[8] = c; C[n +: 1] = 1.0; }", "wild.tile")["wild"]
    waits = tw.compile("kernel waits(i32 n, f32 *c) grid(1) warps(1) { global f32 C[8] = c; i32 x = 0; while (n > 4) x = x + 1; C[0] = x; }")["waits"]
    claims = tw.compile("kernel claims(i32 n, f32 *c) grid(1) warps(1) { global f32 C[8] = c; assume(n > 4); C[0] = n; }")["claims"]
    c = np.zeros(8, "f4")
    ran = waits.simulate(5, c, step_limit=1000)
    expect([f.code for f in ran.findings] == ["endless"] and ran.ended, ran)
    refuses(tw.TimeLimit, "its time_limit", lambda: waits.simulate(5, c, time_limit=0.05))
    expect(waits.simulate(3, c).failures == 0, "after a time limit")
    checks = "races", "barriers", "memory"
    expect([f.code for f in claims.simulate(3, c, watch=checks).findings] == ["assume"], "a claim")
    expect(claims.simulate(3, c).failures == 0 and claims.simulate(3, c, watch=()).counters is None, "claims are not checked with counters")
    ran = wild.simulate(100, c, suppressions="out-of-bounds")
    expect(ran.counters.global_stores <= 1 and all(f.suppressed for f in ran.findings), ran)


def test_layouts():
    of_warpgroups = "kernels/matmul/tuned.tile", "matmul_v2", {"n": 64, "k": 64}, {"T": "f16", "BM": 128, "BN": 64}
    for target, (path, name, sizes, choices) in (*(("sm_80", kernel) for kernel in KERNELS), ("sm_90a", of_warpgroups)):
        found = tw.load(path)[name].layouts(target, **sizes, **choices)
        same(plain(found), said("show", f"{path}:{name}", "--stage", "layout", "--target", target, *settings(sizes, choices)), f"{path}: layouts")
        expect(found.tiles[0].name and found.accesses[0].instruction, found)


def test_explanations():
    path, name, sizes, choices = KERNELS[0]
    found = plain(tw.load(path)[name].explain("h200", **sizes, **choices))
    whole = said("explain", path, "--device", "h200", *settings(sizes, choices))
    want = whole["kernels"][0]
    same(found["gpu"], whole["gpu"], "the GPU")
    one_name = [key for key in found if key in want and key not in ("traffic", "accesses", "flops_per_second")]
    expect({"grid", "occupancy", "roofs", "lines", "seconds", "bound", "verdict", "advice", "notes"} <= set(one_name), one_name)
    for key in one_name:
        same(found[key], want[key], key)
    same([dict(level, level=level.pop("name")) for level in found["traffic"]], want["traffic"], "traffic")
    same([(a["line"], a["column"], a["ways"], a["lanes"]["mask"]) for a in found["accesses"]],
         [(a["line"], a["column"], a["ways"], a["lanes"]["mask"]) for a in want["accesses"]], "accesses")
    expect(tw.load(path)[name].explain("h200", **sizes, T=64).launches is False, "what cannot be launched")
    same(plain(tw.gpus()), said("explain", "--devices"), "GPUs")
    same([name for name, _ in tw.passes()], [p["name"] for p in said("show", path)["passes"]][1:], "passes")


def bytes_of(path):
    with open(path, "rb") as file:
        return file.read()


def files_of(given, folder):
    """Writes arrays to files; returns the options --in that name them."""
    for array, values in given.items():
        np.save(f"{folder}/{array}.npy", values)
    return [word for array in given for word in ("--in", f"{array}={folder}/{array}.npy")]


def test_traces():
    """A trace equals the program's file byte for byte; so does the path of a value."""
    path, name, sizes, choices = KERNELS[0]
    with tempfile.TemporaryDirectory() as folder:
        for end in ("trace", "json"):
            given = arrays(**sizes)
            want = said("run", path, "--device", "sim", *settings(sizes, choices), *files_of(given, folder), "--trace", f"{folder}/a.{end}",
                        "--trace-block", "1,2", "--why", "c[33][20]")["why"]
            ran = tw.load(path)[name].simulate(**given, **choices, trace=f"{folder}/b.{end}", trace_block=(1, 2), why="c[33][20]")
            expect(bytes_of(f"{folder}/a.{end}") == bytes_of(f"{folder}/b.{end}"), f"a trace as .{end} is not what the program writes")
        expect(not any(file.endswith(".part") for file in os.listdir(folder)), os.listdir(folder))
    why = plain(ran.why)
    for key in ("thread", "products", "global_reads", "global_writes", "shared_reads", "shared_writes", "complete"):
        same(why[key], want[key], key)
    steps, way = ([(s["time"], s["kind"], s["elements"]) for s in found] for found in (why["steps"], want["path"]))
    same(steps, way, "its steps")
    expect(why["block"] == [1, 2, 0], why["block"])


def test_copies():
    """Asynchronous copies land at the time that the option `copies` sets."""
    path, name, sizes, _ = KERNELS[2]
    traces = set()
    with tempfile.TemporaryDirectory() as folder:
        for copies in ("early", 3, "late"):
            given = arrays(**sizes)
            said("run", path, "--device", "sim", *settings(sizes, {}), *files_of(given, folder), "--trace", f"{folder}/a", "--copies", str(copies))
            tw.load(path)[name].simulate(**given, trace=f"{folder}/b", copies=copies)
            traces.add(bytes_of(f"{folder}/b"))
            expect(bytes_of(f"{folder}/a") == bytes_of(f"{folder}/b"), f"copies={copies}")
    expect(len(traces) == 3, "copies land at three times")


def refuses(kind, text, call):
    try:
        call()
    except kind as error:
        expect(text in str(error), f"{error!r} does not say {text!r}")
    else:
        fail(f"not refused: {text}")


def test_refused():
    kernel = tw.load(TILED)["sgemm_tiled"]
    given = arrays(32, 32, 32)
    for kind, text, options in (
            (tw.ArgumentError, "device: the simulator runs what a GPU gets", {"device": "cpu"}), (tw.ArgumentError, "device: the simulator", {"target": "cpu"}),
            (tw.NotFound, "there is no target `sm_99`", {"target": "sm_99"}),
            (TypeError, "watch: 'races' is no list", {"watch": "races"}),
            (ValueError, "watch: there is no 'race'; there are races, barriers, memory, counters, exits, outputs; did you mean `races`?",
             {"watch": ["race"]}),
            (ValueError, "seed: -1 is not from 0 to 18446744073709551615", {"seed": -1}),
            (TypeError, "seed: '1' is no whole number", {"seed": "1"}),
            (ValueError, "cannot be combined with a seed", {"order": [1, 0], "seed": 3}),
            (ValueError, "order: 40 is not from 0 to 31", {"order": [40]}),
            (TypeError, "order: 3 is no list", {"order": 3}),
            (ValueError, "copies: there is no 'soon'; there are early, late", {"copies": "soon"}),
            (ValueError, "copies: there is no 0; there are early, late", {"copies": 0}),
            (ValueError, "same_value: there is no 'no'; there are warning, error, ignore", {"same_value": "no"}),
            (TypeError, "suppressions: 3 is no text", {"suppressions": 3}),
            (ValueError, "nothing", {"suppressions": "nothing"}),
            (OSError, "/not/there/x", {"trace": "/not/there/x"}),
            (ValueError, "name its file", {"trace_block": (1,)}),
            (ValueError, "there is no block 9,9,0 to trace: the grid has 1 x 1 x 1", {"why": "c[0][0]", "trace_block": (9, 9)}),
            (ValueError, "three numbers at most", {"why": "c[0][0]", "trace_block": (0, 0, 0, 0)}),
            (ValueError, "why: 'c' is no element of an array", {"why": "c"}),
            (ValueError, "why: sgemm_tiled is given no array `d`", {"why": "d[0]"}),
            (ValueError, "why: there is no element c[32][0]; the shape of `c` is (32, 32)", {"why": "c[32][0]"}),
            (ValueError, "leave trace_from and trace_events out", {"why": "c[0][0]", "trace_events": 5}),
            (TypeError, "has no parameter, tuned value or type `bogus`", {"bogus": 1})):
        refuses(kind, text, lambda: kernel.simulate(**given, **options))
    refuses(ValueError, "no array was given for `b`", lambda: kernel.simulate(a=given["a"], c=given["c"]))
    refuses(ValueError, "is not row-major and contiguous", lambda: kernel.simulate(**{**given, "a": np.asfortranarray(given["a"])}))
    refuses(KeyError, "the model knows no GPU 'h300'; it knows A100", lambda: kernel.explain("h300"))
    refuses(ValueError, "`n` (i32) is not set", lambda: kernel.explain(m=4))
    refuses(ValueError, "the target `cpu` has none", lambda: kernel.layouts("cpu"))
    refuses(ValueError, "this one has no line 16", lambda: tw.apply_fix("kernel", [tw.Edit(16, 1, 0, "sync();\n")]))
    hopper = kernel.ptx("sm_90", m=64, n=64, k=64)
    for device in ({"device": "h100"}, {"device": "sim:sm_90"}, {"target": "sm_90"}):  # `target` is the old name of `device`
        expect(kernel.ptx(**device, m=64, n=64, k=64) == hopper and ".target sm_90" in hopper, f"{device} is another target than sm_90")
    expect(kernel.explain(gpu="h100", m=64, n=64, k=64).gpu.name == kernel.explain(device="h100", m=64, n=64, k=64).gpu.name, "the earlier word of explain")
    counting = tw.compile("kernel count(const i32 *a, i32 *c) grid(2) threads(32)\n"
                          "{ global i32 A[64] = a, C[4] = c; atomic_add(C[A[block.x * 32 + thread.x] % 4], 1); }\n")["count"]
    same({(x.store, x.atomic) for x in counting.explain("h100").accesses}, {(False, None), (True, "add")}, "atomic accesses")
    found = kernel.layouts()
    refuses(AttributeError, "there is no `register`; there are block, shared_bytes, registers, tiles, accesses; did you mean", lambda: found.register)


def test_notebook():
    """The notebook shows the output, and the progress of tune()."""
    kernel = tw.compile("tune N = {4, 8, 16};\nkernel add(i32 n, const f32 *a, f32 *c) grid(cdiv(n, N)) warps(1)\n"
                        "{ global f32 A[n] = a, C[n] = c; require(N < 16); C[block.x * N +: N] = A[block.x * N +: N] + 1; ensures C == A + 1; }\n", "<add>.tile")["add"]
    a, c, said = np.zeros(32, "f4"), np.zeros(32, "f4"), []
    found = kernel.tune(a=a, c=c, repeat=1, progress=lambda *now: said.append(now))
    expect([t.values["N"] for t in found.trials][-1] == 16 and found.trials[-1].why and found.milliseconds > 0, found.trials)
    expect([s[:2] for s in said] == [(0, 3), (1, 3), (2, 3), (3, 3)] and said[1][2] == "N=8", said)
    found.kernel(a=a, c=c)
    expect((c == 1).all() and "N=" in repr(found.kernel) and kernel.tune["N"] == [4, 8, 16], repr(found))
    shown = kernel.simulate(a=a, c=c)
    for what, text in ((kernel, "<td>a</td>"), (found, "<th>ms</th>"), (kernel.verify(a=a, c=c), "max_error"), (shown, "global_sectors"),
                       (shown.counters, "<table>"), (kernel.explain("h100", n=32), "<table>"), (kernel.layouts(n=32), "accesses")):
        html = what._repr_html_()
        expect(text in html and "<add>" not in html and len(html) < 40000, html[:2000])
    expect(len(repr(shown)) < 200, repr(shown))


def test_options():
    """Folders of imported files, and the progress of a long call."""
    text = 'import "mine.tile";\nkernel add(i32 n, const f32 *a, f32 *c) grid(cdiv(n, 32)) warps(1)\n' \
           "{ global f32 A[n] = a, C[n] = c; C[block.x * 32 +: 32] = twice(A[block.x * 32 +: 32]); }\n"
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "mine.tile"), "w") as file:
            file.write("fn f32 twice(f32 x)\n{\n    return 2 * x;\n}\n")
        refuses(tw.CompileError, "mine.tile", lambda: tw.compile(text))
        said = []
        for path in (folder, [folder], (b"/nowhere", folder)):
            add = tw.compile(text, import_path=path, progress=lambda *now: said.append(now))["add"]
    a, c = np.ones(1 << 21, "f4"), np.zeros(1 << 21, "f4")
    add.simulate(a=a, c=c)
    expect((c == 2).all() and any(what == "simulating" and 0 < done <= total == 1 << 16 for done, total, what in said), said)
    tw.compile(text.split("\n", 1)[1].replace("twice", "exp"), import_path=None)
    for options, kind in (({"progress": 3}, TypeError), ({"import_path": "a:b"}, tw.ArgumentError), ({"import_path": ["fold\0"]}, tw.ArgumentError), ({"threads": -1}, tw.ArgumentError), ({"bind": "7-"}, tw.ArgumentError), ({"bind": 3}, TypeError)):
        refuses(kind, next(iter(options)), lambda: tw.compile(text, **options))
    refuses(tw.ArgumentError, "bind='99999': it names a processor that this process may not use; it may use ", lambda: tw.compile(text, bind="99999"))
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown):
        tw.compile(text.split("\n", 1)[1].replace("twice", "exp"), progress=True)["add"].simulate(a=a, c=c)
    expect(re.match(r"\r\d+/65536 simulating *\r", shown.getvalue()) and shown.getvalue().endswith(" \r"), repr(shown.getvalue()))


def test_document():
    """The example of docs/python.md: each print prints the text after its #."""
    page = open("docs/python.md").read()
    program = re.search(r"^## On the simulator\n.*?^```python\n(.*?)^```$", page, re.M | re.S).group(1)
    want = re.findall(r"^print\(.*\)  # (.*)$", program, re.M)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(program, {"np": np, "tilewright": tw})  # noqa: S102 (the document's own)
    same(printed.getvalue().splitlines(), want, "docs/python.md")
    expect(len(want) > 3, program)
    for kind in (tw.Access, tw.Finding, tw.Simulation):
        missing = [field for field in kind._fields if f"`{field}`" not in page]
        expect(not missing, f"docs/python.md does not say that {kind.__name__} has {missing}")


def main():
    for test in (test_counters, test_race, test_findings, test_layouts, test_explanations, test_traces, test_copies, test_refused, test_notebook, test_options, test_document):
        test()


if __name__ == "__main__":
    TOOL = os.path.abspath(sys.argv[1])
    if "-fsanitize" in os.environ.get("CFLAGS", ""):
        sys.exit(0)  # a sanitized library cannot load into this Python
    os.environ["TILEWRIGHT_LIBRARY"] = os.path.join(os.path.dirname(TOOL), "libtilewright.so")
    sys.path.insert(0, "python")
    import numpy as np
    import tilewright as tw
    main()
