#!/usr/bin/env python3
"""`tilewright check -- PROGRAM`: its options, its warnings and notes, and the status of the program itself. run_twins.py has the findings."""
import concurrent.futures
import json
import os
import re
import sys
import tempfile
import xml.etree.ElementTree

from app_runner import HERE, build, libraries, nvcc, ptx_alone
from tile_runner import call, expect

BUILT = {"block_race": 80, "stream_race": 80, "host_faults": 80, "outside": 80, "wide_grid": 80, "cooperative_grid": 80, "missing_barrier": 80,
         "one_sums_all": 80, "default_stream": 80, "stages_ahead": 80, "cluster_neighbour": 90,
         "tensor_tile": 90, "partial_warp_sum": 80,
         "host_latch": 80}  # of programs/, with the target of their PTX


def check_options(tool, folder):
    race = os.path.join(folder, "block_race")
    streams = os.path.join(folder, "stream_race")

    def run(*words):
        return call([tool, "check", *words])

    same = run("--kernel", "count_plain", "--launch", "1", "--", race, "broken")
    expect(same.status == 1 and "error: race: " in same.err, same)
    first = run("--launch", "1", "--kernel", "fill", "--", streams, "broken")
    expect(first.status == 0, first)
    for skipped, status in (("0", 1), ("1", 0), ("2", 1)):  # the race is of both launches; without any, nothing is checked
        after = run("--skip", skipped, "--", streams, "broken")
        expect(after.status == status and ("error: stream-race: " in after.err) == (skipped == "0"), after)
    for words, said in ((["--kernel", "nosuch"], "is of the kernel nosuch"), (["--launch", "99"], "has number 99"),
                        (["--skip", "2"], "comes after the first 2"), (["--kernel", "fill", "--skip", "9"], "is of the kernel fill and comes after the first 9")):
        none = run(*words, "--", streams, "clean")
        expect(none.status == 1 and f"error: not-launched: no launch {said}, so nothing was checked" in none.err, none)
        expect("2 launches, of fill, twice" in none.err, none)
    with open(f"{folder}/known", "w") as f:
        f.write("race count_plain\nsame-value\nstream-race main # known\n")
    for program in (race, streams):
        let = run("--suppress", f"{folder}/known", "--", program, "broken")
        expect(let.status == 0 and let.err == "", let)
    listed = run("--json", "--", streams, "broken")
    expect([json.loads(listed.out)["findings"][0][side]["call"] for side in ("first", "second")] == ["cudaLaunchKernel"] * 2, listed)
    printed = re.search(r"^(/.*/stream_race\.cu:8):9: note: ", run("--", streams, "broken").err, re.MULTILINE)
    expect(printed, "the line of a kernel is not printed with its whole path")
    for line, status in (("stream-race stream_race.cu:8", 0), (f"stream-race {printed.group(1)}", 0), ("stream-race twice", 0), ("stream-race thrice", 1), ("stream-race *.cu:15", 0), ("stream-race m*n", 0), ("stream-race stream_race.cu:9", 1),
                         ("stream-race mai", 1), ("host-race", 1)):
        with open(f"{folder}/one", "w") as f:
            f.write(line)
        let = run("--suppress", f"{folder}/one", "--", streams, "broken")
        expect(let.status == status, f"{line}: {let}")
    with open(f"{folder}/stale", "w") as f:
        f.write("# some are for faults that the program has not\nhost-race poll\nrace count_plain\nleak\n\nstream-race main\nout-of-bounds x.cu:3\n")
    stale = run("--verbose", "--suppress", f"{folder}/stale", "--", streams, "broken")
    notes = re.findall(r"note: unused-suppression: (\S+): '(.*)' lets no finding of this run pass", stale.err)
    expect(stale.status == 0 and notes == [(f"{folder}/stale:{n}", text) for n, text in
                                                   ((2, "host-race poll"), (3, "race count_plain"), (4, "leak"), (7, "out-of-bounds x.cu:3"))], stale)
    stale = run("--verbose", "--suppress", f"{folder}/stale", "--", race, "broken")
    expect(":3: '" not in stale.err and stale.err.count("unused-suppression") == 4, stale)
    with open(f"{folder}/unknown", "w") as f:
        f.write("# known\nrace\n\nnosuch main\nleak main too # known\n")
    unknown = run("--suppress", f"{folder}/unknown", "--", race, "clean")
    expect(unknown.status == 1 and f"{folder}/unknown:4: no finding is called 'nosuch'; of calls there are stream-race, " in unknown.err, unknown)
    expect("; of launches race, " in unknown.err and unknown.err.count("error: ") == 2, unknown)
    expect(f"{folder}/unknown:5: after 'leak', a place or the end of the line: 'too' is more" in unknown.err, unknown)
    for given in (["--"], ["--limit", "--", streams], [streams, "--quick"], ["--", "--json", streams], ["--device", "sim:nosuch", "--", streams]):
        wrong = run(*given)
        said = {1: "which PROGRAM? It comes after --", 2: f"unknown option --quick; `tilewright check -- {streams} --quick` gives it to the program",
                3: "option --limit needs N" if given[0] == "--limit" else "--json cannot be started: options of tilewright come before the --",
                4: "--device sim:nosuch: a GPU by name"}[len(given)]
        expect(wrong.status == 2 and said in wrong.err, wrong)
    for device in ("sim", "sim:sm_80", "sim:h100"):
        expect(run("--strict", "--device", device, "--", streams, "clean").status == 0, device)
    verbose = run("--verbose", "--", streams, "clean")
    expect(verbose.status == 0 and "stream_race: ok (2 launches)" in verbose.err, verbose)
    for threads, said in (("1", "ok (2 launches)"), ("2", "ok (2 launches; a second thread looked for races in 2)")):
        verbose = run("--verbose", "--threads", threads, "--", streams, "clean")
        expect(verbose.status == 0 and said in verbose.err, verbose)
    for name in ("mine.cu", "mine.py"):
        with open(f"{folder}/{name}", "w"):
            pass
    for words, said in ((["--grid", "2", "--", race], "--grid is not for programs: the program launches"),
                        (["--time-limit", "5", "--", race], "--time-limit is not for programs: start it by `timeout SECONDS"),
                        (["--json", "--fill", "rand", "--", race], "--fill is not for programs\n"),
                        (["--", f"{folder}/none"], "none cannot be started: No such file or directory"),
                        (["--", f"{folder}/mine.cu"], f"mine.cu is a source file: build the program (`nvcc -g -lineinfo -o {folder}/mine {folder}/mine.cu`),"
                         f" and write `tilewright check -- {folder}/mine`; without the --, `tilewright check {folder}/mine.cu` takes one of"),
                        (["--", f"{folder}/mine.py", "a"], f"mine.py is a script: write `tilewright check -- python3 {folder}/mine.py`"),
                        (["--device", "nosuch", "--", race], "--device nosuch: a GPU by name"),
                        (["--device", "sm_70", "--", race], "(sm_90); `tilewright explain --devices` lists them"),
                        (["--suppress", f"{folder}/none", "--", race], "none: No such file or directory"),
                        (["--", "/bin/true"], "never opened the CUDA libraries")):
        refused = run(*words)
        expect(refused.status == 2 and said in refused.err, refused)
    started = run("--json", "--", "sh", "-c", f"{streams} clean && {streams} broken; {race} clean")
    report = json.loads(started.out)
    expect(started.status == 1 and report["launches"] == 5 and report["program_status"] == 0, started)
    expect([f["launch"] for x in report["findings"] if x["kind"] == "stream-race" for f in (x["first"], x["second"])] == [1, 2], started)
    here = call([os.path.abspath(tool), "check", "--", "block_race"], cwd=folder)
    expect(here.status == 2 and "write ./ before a program of this folder" in here.err, here)
    older = run("--device", "sm_80", "--", race, "clean")
    expect(older.status == 0, older)


def check_notes(tool, folder):
    """What is a warning or a note: an error that the program ignored, and a leak."""
    program = os.path.join(folder, "host_faults")
    broken = call([tool, "check", "--verbose", "--", program, "broken"])
    said = "warning: api-error: cudaFuncGetAttributes failed (invalid device function), and the program went on with cudaMemcpy and never called"
    expect(said in broken.err and "note: leak: allocation 2 was never freed" in broken.err, broken)
    clean = call([tool, "check", "--verbose", "--strict", "--", program, "clean"])
    apart = call([tool, "check", "--", os.path.join(folder, "default_stream"), "broken"])
    expect("note: stream 1 was created with cudaStreamNonBlocking, so it and the default stream do not wait for each other" in apart.err, apart)
    equal = call([tool, "check", "--", os.path.join(folder, "stages_ahead"), "broken"])
    expect("note: the bytes end up as block (0,0,0) thread (0,0,0) or as block (0,0,0) thread (0,0,0) left them" in equal.err, equal)
    expect(clean.status == 0 and "leak" not in clean.err and "api-error" not in clean.err, clean)


def check_causes(tool, folder):
    """A read of what a race leaves unwritten names the race; the same read without the race does not. PTX without lines says how to get them."""
    program = build(folder, "unwritten.cu", *ptx_alone())
    note, found = " causes this\n", "error: uninitialised: element "
    raced = call([tool, "check", "--", program, "race"])
    places = re.findall(r"(\S+): error: race: |note: the race at (\S+) causes this\n", raced.err)
    expect(raced.err.count(found) == 1 and len(places) == 2 and places[0][0] == places[1][1], raced)
    for what in ("alone", "elsewhere"):
        other = call([tool, "check", "--", program, what])
        expect(found in other.err and note not in other.err, other)
    expect("error: race: " in other.err, other)
    plain = call([nvcc(), "-o", f"{folder}/no_lines", *ptx_alone(), os.path.join(HERE, "unwritten.cu")])
    expect(plain.status == 0, plain)
    without, way_out = call([tool, "check", "--", f"{folder}/no_lines", "race"]), "`nvcc -lineinfo` adds them"
    expect("module.ptx:" in without.err and without.err.count(way_out) == 1 and way_out not in raced.err, without)


def check_refused(tool, folder):
    """An error of a launch that the program never asks for is found with its reason."""
    program = build(folder, "refused_launches.cu", *ptx_alone())
    for number, why in enumerate(("its grid is 0 x 1 x 1, and no size may be 0",
                                  "its grid is 1 x 70000 x 1, and the limit is 2147483647 x 65535 x 65535",
                                  "its blocks, 64 x 32 x 1, have 2048 threads, and the limit is 1024",
                                  "its blocks are 1 x 1 x 65, and the third size is at most 64",
                                  "it asks for 70000 bytes of dynamic shared memory, and the kernel is allowed 49152; cudaFuncSetAttribute with ",
                                  "it asks for 70000 bytes of dynamic shared memory",
                                  "its blocks, 2147483648 x 2147483648 x 2, have 9223372036854775808 threads, and the limit is 1024")):
        done = call([tool, "check", "--", program, str(number)])
        expect(done.status == 1 and done.err.count("a launch failed") == 1, done)
        expect(f"error: api-error: a launch failed (invalid argument), and the program never called cudaGetLastError: {why}" in done.err, done)


def check_errors(tool, folder):
    """Bad accesses of a kernel, and its own end, are errors of the program's next calls, as on a GPU. Accesses may be let pass. None is a finding of
    calls."""
    program = build(folder, "bad_access.cu", *ptx_alone())
    for what, kind, error in (("outside", "out-of-bounds", "cudaErrorIllegalAddress"), ("misaligned", "misaligned", "cudaErrorMisalignedAddress"),
                              ("assert", "trap", "cudaErrorAssert"), ("trap", "trap", "cudaErrorLaunchFailure")):
        done = call([tool, "check", "--", program, what])
        expect(done.status == 1 and f"error: {kind}: " in done.err and "api-error" not in done.err, done)
        expect(done.out == f"{error} {error} {error}\n", done)
    with open(f"{folder}/accesses", "w") as f:
        f.write("out-of-bounds\n")
    done = call([tool, "check", "--suppress", f"{folder}/accesses", "--", program, "outside"])
    expect(done.status == 0 and done.out == "cudaSuccess cudaSuccess cudaSuccess\n" and done.err == "", done)


def check_counts(tool, folder):
    """`run`: the counters of each kernel; its faults; no checks."""
    streams = call([tool, "run", "--json", "--", os.path.join(folder, "stream_race"), "broken"])
    kernels = json.loads(streams.out)["kernels"]
    expect(streams.status == 0 and [k["kernel"] for k in kernels] == ["fill", "twice"], streams)
    expect(kernels[1]["launches"] == 1 and kernels[1]["global_sectors"] == 250, kernels)
    outside = call([tool, "run", "--", os.path.join(folder, "outside"), "broken"])
    expect(outside.status == 1 and "outside.cu:8:9: error: out-of-bounds: read of 4 bytes" in outside.err, outside)
    expect("an illegal memory access was encountered" in outside.out and "\nadd " in outside.out, outside)


def check_bytes(tool, folder):
    """The bytes of a race: each of the 127 threads beside the first one writes 4 that this one reads."""
    done = call([tool, "check", "--json", "--", os.path.join(folder, "one_sums_all"), "broken"])
    (race,) = (f["finding"] for f in json.loads(done.out)["findings"] if f["kind"] == "race")
    expect((race["count"], race["bytes"]) == (127, 508), race)


def check_sample(tool, folder):
    """Blocks that begin late are sampled, unless the limit is 0 or blocks may wait for each other."""
    program, wide = os.path.join(folder, "wide_grid"), os.path.join(folder, "cooperative_grid")
    done = call([tool, "check", "--limit", "1000", "--", program, "clean"])
    expect(done.status == 0 and re.search(r"warning: sampled: (\d+) of 2000 blocks were watched", done.err), done)
    expect(call([tool, "check", "--strict", "--limit", "1000", "--", program, "clean"]).status == 1, done)
    apart = call([tool, "check", "--", wide, "broken"])
    expect("note: the launch is cooperative: grid.sync() between the two accesses orders them" in apart.err, apart)
    for full in ([tool, "check", "--limit", "0", "--", program, "clean"], [tool, "check", "--limit", "1", "--", wide, "clean"]):
        done = call(full)
        expect(done.status == 0 and done.err == "", done)


def check_trace(tool, folder):
    """The command of each launch repeats its finding."""
    where = os.path.join(folder, "trace")

    def repeat():
        return call(["/bin/sh", "./launches"], cwd=where, env={"PATH": os.path.dirname(tool)})

    broken = call([tool, "check", "--trace", where, "--", os.path.join(folder, "missing_barrier"), "broken"])
    kinds = re.findall(r"error: ([\w-]+): ", broken.err)
    expect(kinds[0] == "race", broken)
    with open(f"{folder}/a_file", "w"):
        pass
    for wrong in ("/proc/none", f"{folder}/a_file"):
        done = call([tool, "check", "--trace", wrong, "--", os.path.join(folder, "stream_race"), "clean"])
        expect(done.status == 1 and f"error: trace: {wrong} cannot be written: " in done.err and done.err.count("error: ") == 1, done)
    with open(f"{where}/calls") as calls, open(f"{where}/launches") as launches:
        log, commands = calls.read(), launches.read()
    expect("cudaMalloc allocation 1, 2048 bytes" in log and "launch 1 of sum, stream 0, at main+0x" in log, log)
    done = repeat()
    expect(done.status == 1 and "missing_barrier.cu:12:13: error: race: " in done.err, f"{commands}{done}")
    expect(commands.startswith("# launch 1 of sum, stream 0, at main+0x"), commands)
    for name, said in (("cluster_neighbour", "error: race: read and write of element 0 of mine"), ("tensor_tile", "error: async-race: ")):
        call([tool, "check", "--trace", where, "--", os.path.join(folder, name), "broken"])
        done = repeat()
        expect(done.status == 1 and said in done.err, done)
    values = build(folder, "traced_values.cu", *ptx_alone())
    done = call([tool, "check", "--trace", where, "--", values])
    expect(done.status == 0, done)
    symbol = "_ZN4kept7compareILi1EEEvfdfdff6__half5mixed"
    for name in ("compare", symbol):
        done = call([tool, "check", "--kernel", name, "--", values])
        expect(done.status == 0, done)
    done = call([tool, "check", "--kernel", "kept::compare<1>", "--", values])
    said = f"the program made 1 launch, of compare ({symbol}); --kernel takes a name without namespaces and template arguments, or a symbol"
    expect(done.status == 1 and said in done.err, done)
    with open(f"{where}/launches") as launches:
        commands = launches.read()
    for given in ("f32:0.333333343", "f64:0.10000000000000001", "bytes:000080ff", "bytes:4523c17f"):
        expect(f" --arg '{given}'" in commands, commands)
    done = repeat()
    expect(done.status == 0 and done.err == "", f"{commands}{done}")
    with open(f"{where}/launches", "w") as launches:
        launches.write(commands.replace("bytes:4523c17f", "f32:nan"))
    expect("error: trap: " in repeat().err, "another NaN is not found")


def check_files(tool, folder):
    """SARIF and JUnit: each finding with its level and place; a file that cannot be written."""
    sarif, junit = f"{folder}/found.sarif", f"{folder}/found.xml"
    call([tool, "check", "--sarif", sarif, "--junit", junit, "--", os.path.join(folder, "missing_barrier"), "broken"])
    with open(sarif) as f:
        run = json.load(f)["runs"][0]
    rules = run["tool"]["driver"]["rules"]
    expect(len(rules) == len({r["ruleId"] for r in run["results"]}), rules)
    expect(all(rules[r["ruleIndex"]]["id"] == r["ruleId"] for r in run["results"]), run)
    about = {rule["id"]: rule["shortDescription"]["text"] for rule in rules}
    expect(about["race"] == "accesses of the same bytes that nothing orders", rules)
    race = next(r for r in run["results"] if r["ruleId"] == "race")
    place = race["locations"][0]
    expect(race["level"] == "error" and "error: race: " in race["message"]["text"] and race["relatedLocations"], run)
    expect(place["physicalLocation"]["artifactLocation"]["uri"].endswith("missing_barrier.cu"), place)
    expect(place["physicalLocation"]["region"]["startLine"] == 12, place)
    expect(place["logicalLocations"][0]["fullyQualifiedName"].startswith("main+0x"), place)
    for words in ([], ["--verbose"]):  # hosts of code refuse a file with a result that has no place
        call([tool, "check", *words, "--sarif", sarif, "--", os.path.join(folder, "host_faults"), "broken"])
        with open(sarif) as f:
            results = json.load(f)["runs"][0]["results"]
        for result in results:
            at = result["locations"][0]["physicalLocation"]
            expect(at["artifactLocation"]["uri"].endswith("/host_faults") and at["region"] == {"startLine": 1}, result)
        expect(any(r["level"] == "note" for r in results) == bool(words), results)
    call([tool, "check", "--sarif", sarif, "--", os.path.join(folder, "stream_race"), "broken"])
    with open(sarif) as f:
        race = json.load(f)["runs"][0]["results"][0]
    places = race["locations"] + race["relatedLocations"]
    expect([p["physicalLocation"]["region"]["startLine"] for p in places] == [8, 15], places)
    suite = xml.etree.ElementTree.parse(junit).getroot()
    failed = {case.get("name") for case in suite if case.find("failure") is not None}
    expect("race" in failed and int(suite.get("failures")) == len(failed) and int(suite.get("tests")) == len(suite), failed)
    call([tool, "check", "--junit", junit, "--", os.path.join(folder, "missing_barrier"), "clean"])
    suite = xml.etree.ElementTree.parse(junit).getroot()
    expect(len(suite) == 1 and suite.get("failures") == "0", suite.attrib)
    for option in ("--sarif", "--junit"):
        done = call([tool, "check", option, f"{folder}/none/file", "--", os.path.join(folder, "missing_barrier"), "broken"])
        expect(done.status == 2 and f"{option} {folder}/none/file: No such file or directory" in done.err, done)
        expect("error: race" not in done.err, "the program ran before its report was refused")
    call([tool, "check", "--sarif", sarif, "--junit", junit, "--", "true", "one", "and two"])  # a program without CUDA
    with open(sarif) as f:
        began = json.load(f)["runs"][0]["invocations"][0]
    expect(began["commandLine"] == "true one 'and two'" and not began["executionSuccessful"], began)
    suite = xml.etree.ElementTree.parse(junit).getroot()
    expect(suite.get("failures") == "1" and "nothing was checked" in suite[1].find("failure").get("message"), suite.attrib)


def check_cmake(tool, folder):
    """tilewright_add_cuda_check: a test that passes, one that fails; wrong calls."""
    where = f"{folder}/project"
    os.mkdir(where)

    def configure(calls):
        with open(f"{where}/CMakeLists.txt", "w") as f:
            f.write(f"""cmake_minimum_required(VERSION 3.20)
project(app NONE)
enable_testing()
include({os.path.join(HERE, "../../cmake/tilewright-check.cmake")})
add_executable(app IMPORTED)
set_target_properties(app PROPERTIES IMPORTED_LOCATION {folder}/missing_barrier)
{calls}
""")
        return call(["cmake", "-B", f"{where}/build", f"-DTILEWRIGHT_PROGRAM={tool}", where])

    done = configure("tilewright_add_cuda_check(app ARGUMENTS clean OPTIONS --strict)\ntilewright_add_cuda_check(app NAME bad ARGUMENTS broken)")
    expect(done.status == 0, done)
    done = call(["ctest", "--test-dir", f"{where}/build"])
    expect(re.search(r"app.check \.+ +Passed", done.out) and re.search(r"bad \.+\*\*\*Failed", done.out), done)
    for wrong, said in (("app clean", "write ARGUMENTS or OPTIONS before it"), ("other", "there is no target of that name")):
        done = configure(f"tilewright_add_cuda_check({wrong})")
        expect(done.status != 0 and said in re.sub(r"\s+", " ", done.err), done)


def check_linked(tool, folder):
    """Modules that are linked on the device: their static functions of one name are told apart."""
    for name, options in (("linked", ptx_alone()), ("linked_static", ["-arch=sm_90"])):
        program = build(folder, "linked_main.cu", "linked_part.cu", "-rdc=true", *options, name=name)
        clean = call([tool, "check", "--strict", "--", program, "clean"])
        expect(clean.status == 0 and clean.out == "1808\n" and clean.err == "", clean)
        broken = call([tool, "check", "--", program, "broken"])
        expect(broken.status == 1 and "linked_part.cu:15:9: error: race: read and write of element 0" in broken.err, broken)


def check_overlap(tool, folder):
    """The attribute that lets kernels overlap has no effect on GPUs whose kernels do not."""
    program = build(folder, "overlap.cu", *ptx_alone())
    older = call([tool, "check", "--strict", "--device", "sm_80", "--", program])
    expect(older.status == 0 and older.err == "", older)
    done = call([tool, "check", "--", program])
    expect(done.status == 1 and "launch 2 may begin before the previous kernel has ended" in done.err, done)


def check_maps(tool, folder):
    """Each limit of a tensor map is found, with its place; a map of one kind does not serve the copies of the other."""
    program = build(folder, "tensor_map_api.cu", *ptx_alone("compute_90"))
    done = call([tool, "check", "--", program])
    expect(done.status == 1 and done.out == "0 of 108 failed\n", done)
    expect(done.err.count("error: bad-tensor-map: ") == 38 and done.err.count("error: not-supported: ") == 10 and done.err.count("error: ") == 48, done)
    expect(done.err.count("error: bad-tensor-map: the extent of axis 1 is 9223372036854775807: ") == 2, done)
    mixed = call([tool, "check", "--", program, "mixed"])
    expect(mixed.status == 1 and "the instruction copies windows (im2col), and the tensor map is one of tiles" in mixed.err, mixed)


def check_undefined(tool, folder):
    """A call of a function that the program lacks is refused by the function's name."""
    done = call([tool, "check", "--", build(folder, "undefined_call.cu", "-rdc=true", *ptx_alone())])
    said = "error: not-simulated: the program has no definition of the function `twice`: link the object file that has it"
    expect(done.status == 1 and done.out == "801\n" and said in done.err, done)


def check_warp_sum(tool, folder):
    """If the lanes of a sum are missing in several shuffles of a line, the finding names the first shuffle and counts all: 8 + 8 + 4 + 2 + 1 lanes."""
    done = call([tool, "check", "--", os.path.join(folder, "partial_warp_sum"), "broken"])
    said = "lane 0 takes the value of lane 16, which does not take part in the shuffle: what it gets is undefined [23 times]"
    expect(done.status == 1 and done.err.count("error: ") == 1 and said in done.err, done)


def check_latch(tool, folder):
    """A kernel that waits for the host has the reason why it waits forever; one that waits for another thread of its grid has not."""
    said = "note: the host cannot write this memory meanwhile"
    for which, count in (("broken", 1), ("device", 0)):
        done = call([tool, "check", "--", os.path.join(folder, "host_latch"), which])
        expect(done.status == 1 and "error: deadlock: " in done.err and done.err.count(said) == count, done)


def check_nested(tool, folder):
    """A kernel that launches another one is refused by name."""
    program = build(folder, "nested_launch.cu", "-rdc=true", "-arch=sm_80", "-lcudadevrt")
    done = call([tool, "check", "--", program])
    expect(done.status == 1 and done.out == "7 cudaErrorNotSupported\n", done)
    expect("error: not-simulated: kernels that launch kernels are not supported; let the host launch them" in done.err, done)


def check_hostile(tool, folder):
    program = build(folder, "hostile.cu", *ptx_alone(), "-lcuda")

    def run(what, status, *options):
        done = call([tool, "check", *options, "--", program, what])
        expect(done.status == status, f"{what}: {done}")
        return done

    done = run("threads", 0, "--strict")
    expect(done.out == "0 50 100 150 200 250 300 350 \n" and done.err == "", done)
    done = run("fork", 0, "--verbose")
    expect(done.out == "100\n" and done.err.count("ok (100 launches)") == 1 and "leak" not in done.err, done)
    done = run("forked_in_kernel", 0, "--strict")
    expect(done.out == "1 3 1\n" and done.err == "", done)  # the child's cudaErrorInitializationError
    done = run("handler", 0, "--strict")
    expect(done.out == "1\n" and done.err == "", done)
    done = run("parts", 0, "--strict")
    expect(done.out == "1 0 1\n" and done.err == "", done)
    done = run("destroyed", 0, "--strict")
    expect(done.out == "0 0 400\n" and done.err == "", done)
    done = run("cut", 1)
    expect(done.out == "2 -1 0 7070708 1\n" and done.err.startswith("error: bad-mapping: file descriptor "), done)
    if os.geteuid() == 0:
        done = run("other_user", 1)
        expect(done.out == "0 1\n" and re.search(r"error: not-supported: the memory of the handle is of process \d+, whose files", done.err), done)
    done = call(["timeout", "20", tool, "check", "--strict", "--verbose", "--", program, "pages"])
    expect(done.status == 0 and done.out == "5050505 0 0\n" and "leak" not in done.err, done)
    done = run("wild", 1)
    expect(done.out == "1 1 1 1 400 21\n", done)
    for kind in ("not-device-memory", "not-host-memory", "invalid-free", "out-of-bounds"):
        expect(f"error: {kind}: " in done.err, done)
    expect(run("huge", 0).out == "2 2\n", "huge allocations")
    done = run("nowhere", 1)
    expect(done.out == "700 700 700 700\n" and "error: not-device-memory: a stream writes a value to 0x0" in done.err, done)
    expect(run("wide", 1).out == "1 1 1 1 1 1 1\n", "boxes with more bytes than there are addresses")
    done = run("endless", 1, "--step-limit", "10000")
    expect("cudaErrorLaunchTimeout" in done.out and "error: endless: " in done.err, done)
    done = run("endless_graph", 1, "--step-limit", "1000")
    expect(done.out == "cudaErrorNotSupported cudaErrorLaunchTimeout\n", done)
    expect("error: endless: the body of a while node ran 1000 times, and condition 1 is still not 0" in done.err, done)
    expect("error: not-supported: the body of a conditional node takes only kernels" in done.err, done)
    done = run("no_memory", 1)
    expect(done.out == "cudaErrorMemoryAllocation cudaErrorInvalidValue\n" and "cudaMemcpy was called at no_memory+0x" in done.err, done)
    for options in ([], ["--trace", f"{folder}/traced"]):
        done = run("no_memory_for_errors", 1, *options)
        expect(done.out == "cudaSuccess cudaErrorMemoryAllocation 100 100 cudaSuccess\n" and "error: unfreed: " in done.err, done)
    with open(f"{folder}/traced/calls") as f:
        expect(re.search(r"^cudaEventRecord event \S+, stream 0$", f.read(), re.MULTILINE), "there is a call without its place")
    for what, said in (("freed", "use-after-free: the host writes allocation 1, which was freed"),
                       ("device", "not-host-memory: the host reads or writes allocation 1, which is memory of the device")):
        done = run(what, 1)
        expect(f"error: {said}" in done.err and "note: the host is at main+0x" in done.err and "was ended by signal 11" in done.err, done)
    junit = f"{folder}/many.xml"
    done = call(["timeout", "60", tool, "check", "--junit", junit, "--", program, "many"])
    expect(done.status == 1 and xml.etree.ElementTree.parse(junit).getroot().get("failures") == "10000", done.status)
    done = run("abort", 134)
    expect("was ended by signal 6" in done.err, done)


def main():
    tool = os.path.abspath(sys.argv[1])
    libraries(tool, "libcudart.so.13")
    nvcc()
    with tempfile.TemporaryDirectory() as folder:
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for done in [pool.submit(build, folder, f"programs/{name}.cu", *ptx_alone(f"compute_{of}"), name=name) for name, of in BUILT.items()]:
                done.result()
        check_options(tool, folder)
        check_notes(tool, folder)
        check_causes(tool, folder)
        check_refused(tool, folder)
        check_errors(tool, folder)
        check_counts(tool, folder)
        check_bytes(tool, folder)
        check_sample(tool, folder)
        check_trace(tool, folder)
        check_files(tool, folder)
        check_cmake(tool, folder)
        check_linked(tool, folder)
        check_overlap(tool, folder)
        check_maps(tool, folder)
        check_undefined(tool, folder)
        check_warp_sum(tool, folder)
        check_latch(tool, folder)
        check_nested(tool, folder)
        check_hostile(tool, folder)


if __name__ == "__main__":
    main()
