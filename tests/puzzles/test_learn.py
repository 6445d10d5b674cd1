#!/usr/bin/env python3
"""Tests `learn`: its output, the files that it writes and those that it never overwrites, its progress; attempts to get around the judge fail."""
import json
import os
import re
import resource
import shutil
import signal
import stat
import subprocess
import sys
import tempfile

from tile_runner import call, cuda_compiler, expect, fail

MAP, PRODUCT = "01_map.tile", "14_single_block_matmul.tile"
LINE = "    // Yours: one line."
EXPECTED = "expected:\n        0     1\n  0   1.0   3.0\n  1   3.0  13.0\n"  # output for the first case of puzzle 14
FIRST = "# tilewright learn: puzzle, then what was done with it\n"  # first line of a file of progress


class Learner:
    """A folder with a learner's files, and progress of its own."""

    def __init__(self, tool, folder):
        self.tool, self.folder = os.path.abspath(tool), folder
        self.progress = f"{folder}/data/tilewright/learn"
        self.environment = {name: value for name, value in os.environ.items() if name != "TILEWRIGHT_LEARN"}
        self.environment["XDG_DATA_HOME"] = f"{folder}/data"

    def learn(self, *words, status=0, out=(), err="", **environment):
        result = call([self.tool, "learn", *words], cwd=self.folder, env={**self.environment, **environment})
        if result.status != status:
            fail(f"learn {words}: expected status {status}: {result}")
        for text in [out] if isinstance(out, str) else out:
            expect(text in result.out, f"learn {words}: no '{text}' in {result}")
        expect(err in result.err if err else not result.err, f"learn {words}: '{err}' on standard error: {result}")
        return result.out

    def judge(self, *words):
        result = call([self.tool, "learn", *words, "--json"], cwd=self.folder, env=self.environment)
        expect(result.status in (0, 1) and not result.err, f"learn {words}: {result}")
        return json.loads(result.out)

    def write(self, name, text):
        with open(f"{self.folder}/{name}", "w") as file:
            file.write(text)

    def read(self, name):
        with open(f"{self.folder}/{name}") as file:
            return file.read()

    def solution(self, puzzle, language="tile", name="solution"):
        root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        with open(f"{root}/puzzles/{puzzle}/{name}.{language}") as file:
            return file.read()


def test_unsolved(learner):
    """The first call writes the file, prints the text and judges the starter; the values are those of the lesson."""
    out = learner.learn("14", out=["Matmul in a single block", f"Your file: {PRODUCT}", "never written"])
    expect("\nout (* is wrong):\n        0     1\n  0  *0.0  *0.0\n  1  *0.0  *0.0\n" + EXPECTED in out, out)
    expect(sorted(os.listdir(learner.folder)) == [PRODUCT, "data"], os.listdir(learner.folder))
    again = learner.learn("14", status=1, out=EXPECTED)
    expect("Your file" not in again and "one thread for each" not in again, again)
    learner.learn("single_block_matmul", "--text", status=1, out=["one thread for each", EXPECTED])


def test_kept_file(learner):
    """An existing file is never overwritten, whatever it holds and however often `learn` runs."""
    for text in "", "no kernel at all\n", learner.solution("01_map").replace("+ 10", "+ 11"):
        learner.write(MAP, text)
        for words in (["1"], ["1", "--text"], ["1", "--hint"], ["1", "--solution"], ["1", "--reset"], ["--reset"]):
            call([learner.tool, "learn", *words], cwd=learner.folder, env=learner.environment)
        expect(learner.read(MAP) == text, f"{MAP} was changed: {learner.read(MAP)}")
    os.remove(f"{learner.folder}/{MAP}")
    os.mkdir(f"{learner.folder}/{MAP}")
    learner.learn("1", status=2, err="cannot read")
    os.rmdir(f"{learner.folder}/{MAP}")
    os.symlink("nowhere", f"{learner.folder}/{MAP}")
    call([learner.tool, "learn", "1"], cwd=learner.folder, env=learner.environment)
    expect(os.path.islink(f"{learner.folder}/{MAP}") and not os.path.exists(f"{learner.folder}/nowhere"), "a link was written over")
    os.remove(f"{learner.folder}/{MAP}")


def test_folder(learner):
    os.mkdir(f"{learner.folder}/mine")
    learner.learn("1", "--folder", "mine", out="Your file: mine/01_map.tile")
    learner.write("mine/01_map.tile", learner.solution("01_map"))
    learner.learn("1", "--folder", "mine/", out="passed")
    learner.learn("28", "--folder", "mine", out="`tilewright explain mine/28_occupancy.tile --device a100")
    learner.learn("29", "--folder", "mine", out="    tilewright run mine/29_slow_kernel.tile --device sim")
    expect(not os.path.exists(f"{learner.folder}/{MAP}"), "it was written here")
    learner.learn("1", "--folder", "no/such", status=2, out="Map: one thread", err="cannot be written")  # without the folder, it prints the text at least
    learner.learn("2", "--folder", "new", "--text", out=["Your file: new/02_zip.tile.", "`tilewright learn 2 --folder new` judges it"])
    if cuda_compiler():
        learner.learn("2", "--cuda", out="`tilewright learn 2 --cuda` judges it")


def test_passing(learner):
    """The counters, the next puzzle, and a list that shows the progress."""
    learner.write("mine.tile", learner.solution("01_map"))
    second = json.loads(learner.learn("--json"))[1]
    learner.learn("map", "mine.tile", out=["passed", f"Next: {second['puzzle']}, {second['title']}: `tilewright learn {second['puzzle']}`\n"])
    learner.write("mine.tile", learner.solution("14_single_block_matmul"))
    out = learner.learn("14", "mine.tile", out=["passed", "global_loads", "barriers"])
    expect(re.search(r"global_loads +(\d+) +\1\n", out), out)
    out = learner.learn(out=["  1  passed  map ", " 14  passed  single_block_matmul  Matmul"])
    listed = {row["name"]: row for row in json.loads(learner.learn("--json"))}
    expect(listed["map"]["passed"] and listed["single_block_matmul"]["passed"] and f"{sum(r['passed'] for r in listed.values())} of" in out, out)
    for row in listed.values():  # passes all puzzles except the first, then the first
        with open(learner.progress, "a") as file:
            file.write(f"{row['puzzle']:02}_{row['name']} passed\n" if row["name"] != "map" else "")
    learner.learn("1", "--reset")
    learner.learn("14", "mine.tile", out="Next: 1, Map")
    learner.write("mine.tile", learner.solution("01_map"))
    learner.learn("1", "mine.tile", out="all are passed")
    learner.write("mine.tile", learner.solution("01_map").replace("+ 10;\n\n", "+ 11;\n\n"))
    learner.learn("map", "mine.tile", status=1, out="Not yet: wrong values.\nOut[0] is 11, and should be 10.\n")
    learner.write("mine.tile", learner.solution("01_map").replace("+ 10;\n\n", "+ 11;\n    print(\"x\", i);\n"))
    said = json.loads(call([learner.tool, "learn", "1", "mine.tile", "--json"], cwd=learner.folder, env=learner.environment).out)
    expect("x" in said["printed"] and not any(isinstance(text, str) and text.endswith("\n") for text in said.values()), said)
    expect("passed" in learner.learn().split("\n")[0], "passed puzzles remain passed")
    learner.learn("1", "--reset")
    expect("passed" not in learner.learn().split("\n")[0], "it was forgotten")
    learner.learn("--reset")
    learner.learn(out="0 of ")


def test_judgements_in_json(learner):
    """The JSON has the sizes of every case, the arrays of shown cases (with --open also those of a hidden case that failed), counters with limits,
    lamps and marks."""
    def judged(text, *more):
        learner.write("mine.tile", text)
        return json.loads(call([learner.tool, "learn", "14", "mine.tile", "--json", *more], cwd=learner.folder, env=learner.environment).out)

    solution = learner.solution("14_single_block_matmul")
    starter = learner.solution("14_single_block_matmul", name="starter")
    begun = judged(starter)
    out, a = begun["case_list"][0]["arrays"][:2]
    expect(out["shape"] == [2, 2] and out["unwritten"] == out["wrong"] == [0, 1, 2, 3] and out["expected"] == [1, 3, 3, 13], out)
    expect("expected" not in a and a["values"] == [0, 1, 2, 3], a)
    expect([c["state"] for c in begun["case_list"]] == ["failed"] + 6 * ["not tried"] and begun["case_list"][3]["tune"] == {"SIZE": 5, "TPB": 8}, begun)

    broken = judged(solution.replace("f32 acc", "f32 akk"))
    expect(broken["lamps"][0] == {"lamp": "compiles", "state": "failed", "says": "it does not compile."} and broken["lamps"][4]["state"] == "not reached", broken["lamps"])
    expect(broken["case_list"][0]["arrays"][0]["values"] is None and broken["case_list"][0]["arrays"][0]["expected"] == [1, 3, 3, 13], broken)

    turned = solution.replace("Out[i][j] = acc", "Out[j][i] = acc")
    expect([c["arrays"] for c in judged(turned)["case_list"][1:]] == 6 * [[]], "hidden cases keep their arrays")
    opened = judged(turned, "--open")["case_list"][1]
    expect(opened["state"] == "failed" and opened["arrays"][0]["wrong"] == [1, 2] and not opened["arrays"][0]["unwritten"], opened)

    twice = {c["counter"]: c for c in judged(solution.replace("sync();", "sync(); sync();"))["counters"]}["barriers"]
    expect((twice["here"], twice["beyond"], twice["relation"]) == ({"answer": 2, "solution": 1, "limit": 1}, True, "<="), twice)
    dear = judged(solution.replace("f32 acc = 0;", "f32 acc = 0; if (SIZE == 31) acc = acc * 2 + acc * acc;"))
    expect(dear["passed"] and not dear["at_solution"], dear)
    row = json.loads(learner.learn("--json"))[13]
    expect((row["passed"], row["at_solution"], row["passed_in_cuda"]) == (True, False, False), row)
    fine = judged(solution)
    expect(fine["at_solution"] and all(c["answer"] <= c["limit"] for c in fine["counters"] if c["limit"] is not None and c["relation"] == "<="), fine)
    with open(learner.progress) as file:
        expect("14_single_block_matmul passed at-solution tries=" in file.read(), "the file of progress has it")
    learner.learn("--reset")


def test_texts_in_json(learner):
    """The JSON has a puzzle's text and starter without writing a file, its hints by number, its solution, and the fix for an answer."""
    text = json.loads(learner.learn("14", "--text", "--json"))
    expect("Puzzle" not in text["text"] and text["starter"] == learner.solution("14_single_block_matmul", name="starter"), text)
    expect(text["hints"] == 3 and "__global__" in text["starter_cuda"], text)
    expect(not os.path.exists(os.path.join(learner.folder, "14_single_block_matmul.tile")), "no file is written")
    hint = json.loads(learner.learn("14", "--hint", "2", "--json"))
    expect((hint["puzzle"], hint["hint"], hint["hints"]) == (14, 2, 3) and len(hint["text"]) > 20, hint)
    ours = json.loads(learner.learn("14", "--solution", "--json"))
    expect(ours["solution"] == learner.solution("14_single_block_matmul") and "__syncthreads" in ours["solution_cuda"] and ours["text"], ours)
    row = json.loads(learner.learn("--json"))[13]
    expect(row["hints_given"] == 2 and row["solution_shown"], row)
    learner.learn("--reset")
    lacking = learner.solution("14_single_block_matmul").replace("    sync();\n", "")
    learner.write("mine.tile", lacking)
    done = call([learner.tool, "learn", "14", "mine.tile", "--json"], cwd=learner.folder, env=learner.environment)
    judged = json.loads(done.out)
    expect(judged["code"] == "race" and [a["what"] for a in judged["accesses"]] == ["read", "write"], judged)
    expect([e["insert"] for e in judged["fix"]] == ["    sync();\n"], judged["fix"])
    expect([lamp["state"] for lamp in judged["lamps"]] == ["on", "on", "failed", "not reached", "not reached"], judged["lamps"])
    expect(judged["lamps"][2]["says"] == judged["words"] and judged["lamps"][3]["says"] is None, judged["lamps"])
    learner.learn("--reset")


def test_hints(learner):
    learner.learn("14", "--hint", out="Hint 1 of 3")
    learner.learn("14", "--hint", out="Hint 2 of 3")
    learner.learn("14", "--hint", "1", out="Hint 1 of 3")
    learner.learn("14", "--hint", out="Hint 3 of 3")
    learner.learn("14", "--hint", out="Hint 3 of 3, the last, again")
    for number in "0", "4", "x", "-1":
        learner.learn("14", "--hint", "--", number, status=2, err="has hints 1 to 3")
    expect("a hint" not in learner.learn("14"), "there is none left")
    learner.learn("14", "--solution", out=["kernel single_block", "The copies fill"])
    learner.learn("14", "--solution", "--cuda", out="__global__")
    row = [row for row in json.loads(learner.learn("--json")) if row["puzzle"] == 14][0]
    expect(row["hints_given"] == 3 and row["solution_shown"] and not row["passed"], row)
    learner.learn("--reset")


def test_usage(learner):
    for words, text in (["99"], "there is no puzzle '99'"), (["mapp"], "did you mean 'map'?"), (["1", "a", "b"], "too many words: 'b'"), \
            (["--hint"], "of which puzzle?"), (["1", "--hint", "--solution"], "--hint or --solution"), (["1", "--hnit"], "--hint"), \
            (["1", "none.tile"], "cannot read `none.tile`"), (["1", "x.tile", "--folder", "y"], "--folder"), (["1", "--reset", "--json"], "--json"), \
            (["--text"], "for which puzzle?"), (["--reset", "--cuda"], "for which puzzle?"), (["1", "--hint", "--text"], "--text is for judging"), \
            (["1", "x.tile", "--cuda"], "does not end in .cu"), (["22", "--solution", "--cuda"], "not for CUDA C"), (["22", "--cuda"], "not for CUDA C"), \
            (["01_map.tile"], "`tilewright learn 1 01_map.tile` judges it"), (["1", "/dev/zero"], "too large"):
        learner.learn(*words, status=2, err=text)
    with open(f"{learner.folder}/bytes.tile", "wb") as file:
        file.write(b"kernel\0map")
    learner.learn("1", "bytes.tile", status=2, err="not text")
    learner.learn("1", out=["you have not changed it yet", "gives a hint (there are 2).\n"])
    learner.learn("1", "--hint", out="Hint 1")
    learner.learn("1", status=1, out="gives a hint (there is 1 more).\n")
    learner.write(MAP, "")
    learner.learn("1", status=1, out=["move the file away: `tilewright learn 1` then writes the starter"])
    learner.write("own.tile", "")
    learner.learn("1", "own.tile", status=1, out=["`tilewright learn 1` writes the starter to 01_map.tile, unless that file is there"])
    os.remove(f"{learner.folder}/own.tile")


def test_progress(learner):
    """The place of the progress, the message if it cannot be written, and damaged files."""
    learner.write("mine.tile", learner.solution("01_map"))
    elsewhere = f"{learner.folder}/else/where"
    learner.learn("1", "mine.tile", out="passed", TILEWRIGHT_LEARN=elsewhere)
    expect(os.path.exists(elsewhere), "it is not where TILEWRIGHT_LEARN says")
    learner.learn("1", "mine.tile", out="passed", err="progress is not kept", TILEWRIGHT_LEARN="/dev/null/learn")
    if os.geteuid() != 0:  # root may read everything
        os.chmod(elsewhere, 0o200)
        learner.learn("1", "mine.tile", out="passed", err="progress cannot be read", TILEWRIGHT_LEARN=elsewhere)
        os.chmod(elsewhere, 0o600)
    learner.learn("1", "--hint", out=["Hint 1", "`tilewright learn 1 --hint 2` gives the second"], TILEWRIGHT_LEARN="/dev/null")
    os.makedirs(os.path.dirname(learner.progress), exist_ok=True)
    for text in "\0\0\0", "01_map\n", "01_map passed tries=x hints=-7\n\n\n# 14\n 14 15\n" + "x" * 100000 + "\n":
        with open(learner.progress, "w") as file:
            file.write(FIRST + text)
        learner.learn(out=" of ")
        learner.learn("1", "--hint", out="Hint")
        learner.learn("1", "mine.tile", out="passed")
    with open(learner.progress, "w"):
        pass
    learner.learn("1", "mine.tile", out="passed")
    expect("01_map passed" in learner.read("data/tilewright/learn"), "an empty file is none of others")
    learner.learn("--reset")


def test_progress_of_others(learner):
    """A file that does not hold progress, for example an array named by mistake, is not overwritten, and a message says this."""
    learner.write("mine.tile", learner.solution("01_map"))
    for text in "\0\0\0", "01_map passed\n", "\x93NUMPY\1\0v\0{'descr': '<f4'", "\n" + FIRST:
        learner.write("theirs", text)
        theirs = {"TILEWRIGHT_LEARN": f"{learner.folder}/theirs"}
        learner.learn(out="0 of ", err="it is not a file of progress, which begins with `# tilewright learn`", **theirs)
        learner.learn("1", "mine.tile", out="passed", err="progress is not kept: ", **theirs)
        learner.learn("1", "--hint", out="Hint 1", err="move it away", **theirs)
        learner.learn("--reset", status=1, err="move it away", **theirs)
        expect(learner.read("theirs") == text, f"theirs: {learner.read('theirs')!r}")


def test_progress_at_once(learner):
    """Many learners with one file: every result remains, also one that is added while a long judgement runs."""
    def passed(): return [row["name"] for row in json.loads(learner.learn("--json")) if row["passed"]]
    def start(*words): return subprocess.Popen([learner.tool, "learn", *words], cwd=learner.folder, env=learner.environment, stdout=subprocess.DEVNULL)
    names = "01_map", "02_zip", "03_guards", "04_map_2d", "05_broadcast"
    for number, name in enumerate(names, 1):
        learner.write(f"{number}.tile", learner.solution(name))
    for _ in range(4):
        for child in [start(str(number), f"{number}.tile") for number in range(1, len(names) + 1)]:
            expect(child.wait() == 0, "not passed")
        expect(len(passed()) == len(names), f"{passed()} were passed, of {names}")
        learner.learn("--reset", out="Forgotten: all puzzles")
    learner.write("endless.tile", learner.solution("01_map").replace("Out[i] =", "while (A[0] == A[0]) i = i + 0;\n    Out[i] ="))
    child = start("1", "endless.tile")
    learner.learn("2", "2.tile", out="passed")
    expect(child.poll() is None, "the long judgement was short")
    expect(child.wait() == 1 and passed() == ["zip"], f"{passed()}")
    learner.learn("2", "--reset", out="Forgotten: ")
    expect(not passed() and os.listdir(f"{learner.folder}/data/tilewright") == ["learn"], os.listdir(f"{learner.folder}/data/tilewright"))


def test_progress_elsewhere(learner):
    """A link to the file of progress remains a link; a path that is not a file is not replaced; without a known place, nothing is stored."""
    learner.write("mine.tile", learner.solution("01_map"))
    for target in "there", "new":
        link = f"{learner.folder}/link_{target}"
        os.symlink(target, link)
        if target == "there":
            learner.write(target, FIRST + "02_zip passed tries=1 hints=0\n")
            os.chmod(f"{learner.folder}/{target}", 0o640)
        learner.learn("1", "mine.tile", out="passed", TILEWRIGHT_LEARN=link)
        expect(os.path.islink(link) and "01_map passed at-solution tries=1" in learner.read(target), f"{link}: {learner.read(target)}")
    expect("02_zip passed" in learner.read("there") and os.stat(f"{learner.folder}/there").st_mode & 0o777 == 0o640, learner.read("there"))
    os.mkfifo(f"{learner.folder}/pipe")
    os.symlink("pipe", f"{learner.folder}/to_pipe")
    for name in "pipe", "to_pipe", "data_folder":
        if name == "data_folder":
            os.mkdir(f"{learner.folder}/{name}")
        before = os.lstat(f"{learner.folder}/{name}")
        learner.learn(out="0 of ", TILEWRIGHT_LEARN=f"{learner.folder}/{name}")
        learner.learn("1", "mine.tile", out="passed", err="not a regular file", TILEWRIGHT_LEARN=f"{learner.folder}/{name}")
        expect(os.path.samestat(before, os.lstat(f"{learner.folder}/{name}")), f"{name} was replaced")
    learner.learn("1", "mine.tile", out="passed", TILEWRIGHT_LEARN="/dev/null")
    learner.learn(out="0 of ", TILEWRIGHT_LEARN="/dev/null")
    expect(stat.S_ISCHR(os.stat("/dev/null").st_mode), "/dev/null was replaced")
    nowhere = {"TILEWRIGHT_LEARN": "", "XDG_DATA_HOME": "", "HOME": ""}
    learner.learn(out="Progress is not kept: none of TILEWRIGHT_LEARN, XDG_DATA_HOME and HOME says where.", **nowhere)
    learner.learn("1", "--hint", out="Hint 1", err="none of TILEWRIGHT_LEARN, XDG_DATA_HOME and HOME says where", **nowhere)


def test_killed(learner):
    """A killed process leaves the old progress or the new, but never a part and never an empty file."""
    learner.write("mine.tile", learner.solution("01_map"))
    learner.learn("1", "mine.tile", out="passed")
    for attempt in range(40):
        child = subprocess.Popen([learner.tool, "learn", "1", "mine.tile"], cwd=learner.folder, env=learner.environment, stdout=subprocess.DEVNULL)
        try:
            child.wait(0.001 * (attempt % 20))
        except subprocess.TimeoutExpired:
            child.send_signal(signal.SIGKILL)
            child.wait()
        with open(learner.progress) as file:
            expect(re.search(r"^01_map passed(?: at-solution)? tries=\d+ hints=0$", file.read(), re.M), "progress was lost")
    learner.learn("--reset")


def test_interrupted(learner):
    """Ctrl-C leaves no other file next to the progress or in the folder for temporary files."""
    os.makedirs(f"{learner.folder}/tmp")
    learner.environment["TMPDIR"] = f"{learner.folder}/tmp"
    good = learner.solution("01_map", "cu" if cuda_compiler() else "tile")
    name = "mine.cu" if cuda_compiler() else "mine.tile"
    learner.write(name, good)
    for attempt in range(12):
        child = subprocess.Popen([learner.tool, "learn", "1", name], cwd=learner.folder, env=learner.environment, stdout=subprocess.DEVNULL)
        try:
            child.wait(0.03 * (attempt + 1))
        except subprocess.TimeoutExpired:
            child.send_signal(signal.SIGINT)
            expect(child.wait() in (0, -signal.SIGINT), f"status {child.returncode}")
        expect(not os.listdir(f"{learner.folder}/tmp"), os.listdir(f"{learner.folder}/tmp"))


def rejected(learner, name, text, reason, **more):
    learner.write(name, text)
    verdict = learner.judge(more.pop("puzzle", "1"), name)
    for key, value in {"passed": False, "reason": reason, **more}.items():
        expect(verdict[key] == value, f"{name}: {key} should be {value}: {json.dumps(verdict, indent=2)}\n{text}")
    return verdict


def test_evasions(learner):
    """Answers are compared with the puzzle's own `ensures`, at the puzzle's own sizes."""
    good = learner.solution("01_map")
    wrong = good.replace("    Out[i] = A[i] + 10;", "    Out[i] = 0;")
    rejected(learner, "ensures.tile", wrong.replace("ensures Out == A + 10", "ensures Out == A * 0"), "values")
    learner.write("own.tile", good.replace("ensures Out == A + 10", "ensures Out == A + 10 + 0"))
    learner.learn("1", "own.tile", out=["passed", "Your `ensures` is not the starter's"])
    learner.write("own.tile", good.replace("ensures Out == A + 10", "ensures Out  ==\nA + 10 /* ten */"))
    expect("Your `ensures`" not in learner.learn("1", "own.tile", out="passed"), "it is the starter's")
    rejected(learner, "no_ensures.tile", wrong.replace("    ensures Out == A + 10;\n", ""), "values")
    rejected(learner, "size.tile", good.replace("tune SIZE = {4};", "const i32 SIZE = 4;"), "signature")
    rejected(learner, "shape.tile", good.replace("A[SIZE] = a, Out[SIZE]", "A[2] = a, Out[2]").replace("Out[i] =", "if (i < 2) Out[i] ="), "signature")
    rejected(learner, "name.tile", good.replace("kernel map", "kernel mop"), "signature")
    rejected(learner, "param.tile", good.replace("f32 *out, const f32 *a", "f32 *out, f32 *a"), "signature")
    rejected(learner, "order.tile", good.replace("f32 *out, const f32 *a", "const f32 *a, f32 *out"), "signature")
    rejected(learner, "type.tile", good.replace("const f32 *a", "const f64 *a").replace("    global f32 A[SIZE] = a, Out[SIZE] = out;",
             "    global f64 A[SIZE] = a;\n    global f32 Out[SIZE] = out;").replace("A[i] + 10", "(f32) A[i] + 10"), "signature")
    rejected(learner, "more.tile", good.replace("const f32 *a)", "const f32 *a, i32 n)"), "signature")
    rejected(learner, "threads.tile", good.replace("threads(SIZE)", "threads(2 * SIZE)").replace("Out[i] =", "if (i < SIZE) Out[i] ="), "launch")
    rejected(learner, "blocks.tile", good.replace("grid(1)", "grid(2)"), "launch")
    rejected(learner, "tiles.tile", good.replace("threads(SIZE)", "warps(1)").replace("    i32 i = thread.x;\n", "").replace("Out[i] = A[i]", "Out[0 +: SIZE] = A[0 +: SIZE]"),
             "signature")
    rejected(learner, "endless.tile", good.replace("Out[i] =", "while (A[0] == A[0]) i = i + 0;\n    Out[i] ="), "endless", values_right=None)
    rejected(learner, "assume.tile", good.replace("Out[i] =", "assume(A[0] == 0);\n    Out[i] ="), "fault")
    rejected(learner, "divide.tile", good.replace("Out[i] =", "i = i / thread.y;\n    Out[i] ="), "fault")
    for text in "/", "//", "/*", "/* /", '"', '"\n"', "'", "a / b /* \" */ // \"", good + "/*", good + '"', "/" * 10000, "\n" * 10000:
        learner.write("odd.tile", text)
        expect(learner.judge("1", "odd.tile")["reason"] in ("compile", "signature"), f"{text!r}: {learner.judge('1', 'odd.tile')}")
    learner.write("comments.tile", '// a / b " /*\n' + good.replace("+ 10", "/* \" / // */ / 1 + 10"))
    learner.learn("1", "comments.tile", out="passed")
    hidden = 'print("\\"", 1); pipeline(3) for (i32 p = 0; p < k; p += BK) {'
    loop = re.sub(r"\n    for \(", lambda _: "\n    " + hidden.split(" for ")[0] + " for (", learner.solution("22_first_tile_matmul").replace("tile_matmul", "pipelined"))
    expect("pipeline(3)" in loop, loop)
    rejected(learner, "quoted.tile", loop, "word", puzzle="23")
    for ending in "tile", "cu":
        for text in "", " ", "\n// nothing\n", "/* kernel map */\n\t// yet", "// no end", "/* no end":
            why = ": it has blanks and comments alone" if text else ""
            verdict = rejected(learner, f"empty.{ending}", text, "signature")
            expect(verdict["message"] == f"error: empty.{ending} is empty{why}", verdict)
    counters = learner.judge("1", "empty.tile")["counters"]
    expect(counters[0]["counter"] == "global_sectors" and all(c["answer"] is c["solution"] is None for c in counters), "nothing was counted")
    rejected(learner, "syntax.tile", good.replace("+ 10;", "+ ;"), "compile", line=9, file="syntax.tile")
    rejected(learner, "nothing_else.tile", "kernel map(f32 *out, const f32 *a) grid(1) threads(4) { }", "signature")
    learner.write("defaults.tile", good.replace("{4}", "{8, 16}"))
    learner.learn("1", "defaults.tile", out="passed")
    learner.write("helper.tile", good.replace("A[i] + 10", "more(A[i])").replace("kernel map", "fn f32 more(f32 x)\n{\n    return x + 10;\n}\n\nkernel map"))
    learner.learn("1", "helper.tile", out="passed")


def test_print(learner):
    """Printing is shown and does not count as work; other effects in a print do."""
    good = learner.solution("01_map")
    def counted(name):
        counter = learner.judge("1", name)["counters"][0]
        return counter["answer"] - counter["solution"]
    for before in 'print("i", i);', 'if (i > 0)\n        print("i", i);\n    else\n        print("i",\n              i);', 'if (i < 4) print("i;)", /* ) */ i) ;':
        learner.write("print.tile", good.replace("    Out[i] =", f"    {before}\n    Out[i] ="))
        learner.learn("1", "print.tile", out=["thread (3,0) i", "passed"])
        expect(counted("print.tile") == 0, f"{before} counts")
    learner.write("print.tile", good.replace("    Out[i] =", "    if (SIZE > 7)\n        print(\"i\", i);\n    Out[i] ="))
    learner.learn("1", "print.tile", out="passed")  # no print in the first case
    expect(counted("print.tile") == 0, "it counts")
    learner.write("print.tile", good.replace("    Out[i] =", "    print(\"i\", i);\n    Out[i] = 1 +"))
    learner.learn("1", "print.tile", status=1, out=["thread (3,0) i = 3\n", "wrong values"])
    often = "f32 all = 0;\n    for (i32 q = 0; q < SIZE; q++)\n        all += A[q];\n    print(\"i\", i);\n    Out[i] = all * 0 +"
    verdict = rejected(learner, "often.tile", good.replace("    Out[i] =", f"    {often}"), "global_sectors", line=13)
    expect("take it out first" not in learner.learn("1", "often.tile", status=1), verdict)
    if not cuda_compiler():
        return
    good = learner.solution("01_map", "cu")
    learner.write("print.cu", good.replace("    out[i]", '    printf("i = %d, %g\\n", i, a[i]);\n    out[i]'))
    learner.learn("1", "print.cu", out=["i = 3, 3\n", "passed"])
    expect(counted("print.cu") == 0, "it counts")
    learner.write("work.cu", good.replace("out[i] = a[i] + 10", 'printf("%g", out[i] = a[i] + 0 * a[(i + 1) % SIZE] + 10)'))
    learner.learn("1", "work.cu", status=1, out=["counted: remove it first"])


def test_drawn(learner):
    """The sizes of a random case depend on the answer, and are the same each time it is judged."""
    listed = learner.solution("01_map").replace("Out[i] =", "if (SIZE <= 7 || SIZE == 32 || SIZE == 67 || SIZE == 256 || SIZE == 1024)\n        Out[i] =")
    drawn = set()
    for number in range(8):
        text = f"{listed}// {number}\n"
        sizes = [rejected(learner, "listed.tile", text, "values", case_is="hidden")["sizes"] for _ in range(2)]
        expect(sizes[0] == sizes[1] and 7 < int(sizes[0].split(" = ")[1]) <= 300, f"{sizes}")
        drawn.add(sizes[0])
    expect(len(drawn) > 4, f"they are drawn for each answer: {drawn}")


def test_inputs(learner):
    """The arrays of a case, written for `run`, give the judge's values; a random case belongs to the answer or to the values of --set."""
    answer = learner.solution("14_single_block_matmul", name="wrong/result_turned")
    judged = rejected(learner, "turned.tile", answer, "values", puzzle="14", case_is="hidden", case=2)
    open_ = "`tilewright learn 14 --open` shows the arrays of this case.\n"
    expect(open_ in learner.learn("14", "turned.tile", status=1), "the way to a hidden case's arrays")
    expect(open_ not in learner.learn("14", "turned.tile", "--open", status=1), "the arrays are there")
    learner.learn("14", "--inputs", "no/folder", status=1, err="no/folder/a.npy")
    text = learner.learn("14", "turned.tile", "--inputs", "case 2", "--case", "2")
    expect(text.startswith("puzzle 14, case 2 of 7, hidden. A run on its arrays:\ntilewright run turned.tile --tune SIZE=2,TPB=3"), text)
    expect(" --in 'a=case 2/a.npy' --in 'b=case 2/b.npy'\n" in text, f"words of a shell: {text}")
    files = [f"{name}=case 2/{name}.npy" for name in "ab"]
    result = call([learner.tool, "run", "turned.tile", "--tune", "SIZE=2,TPB=3", "--in", files[0], "--in", files[1], "--verify"], cwd=learner.folder)
    expect(result.status == 1 and judged["wrong_values"].split(",")[0] in result.err, f"{judged['wrong_values']}: {result}")
    listed = json.loads(learner.learn("14", "--inputs", "other", "--json"))
    expect(listed == {"puzzle": 14, "case": 1, "cases": 7, "case_is": "shown", "set": {}, "tune": {"SIZE": 2, "TPB": 3}, "type": {},
                      "inputs": {"a": "other/a.npy", "b": "other/b.npy"}}, listed)

    drawn = [json.loads(learner.learn(*words, "--inputs", "other", "--case", "9", "--json"))["set"]["n"] for words in (["3"], ["3", "turned.tile"])]
    expect(drawn[0] != drawn[1], f"drawn from the starter and from an answer: {drawn}")
    learner.learn("3", "--inputs", "other", "--case", "9", "--set", "n=7,TPB=32", out="run 03_guards.tile --set n=7 --tune TPB=32 --in a=other/a.npy\n")
    expect(os.path.getsize(f"{learner.folder}/other/a.npy") == 128 + 7 * 4, "seven floats after the head")
    learner.learn("19", "--inputs", "codes", out="--in table=codes/table.npy --in code=codes/code.npy --in mate=codes/mate.npy\n")
    for words, said in ((["--case", "0"], "--case 0"), (["--case", "10"], "puzzle 3 has cases 1 to 9"), (["--set", "n"], "expected NAME=VALUE"),
                        (["--set", "n=x"], "n=x: expected a number"), (["--set", "q=1"], "has no tuned value `q`"), (["--set", "n=7"], "not a list of its 7 elements")):
        learner.learn("3", "--inputs", "other", *words, status=2, err=said)
    learner.learn("3", "--case", "2", status=2, err="--case goes with --inputs FOLDER")
    learner.learn("3", "--inputs", "", status=2, err="--inputs: into which folder?")
    learner.learn("3", "--inputs", "other", "--hint", status=2, err="takes --hint or --inputs")


def test_undecided(learner):
    """A right answer may have loops that the static check cannot follow: the check then does not use its whole time limit for each of the seven
    programs."""
    good = learner.solution("10_dot")
    steps = good[good.index("    for (i32 half"):good.index("    if (t == 0)")]
    learner.write("tree.tile", good.replace(steps, """    i32 left = n;
    while (left > 1) {
        i32 half = (left + 1) / 2;
        if (t + half < left)
            part[t] += part[t + half];
        sync();
        left = half;
    }
"""))
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    learner.learn("10", "tree.tile", out="passed")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    expect(seconds < 1 or os.environ.get("TW_SLOW"), f"{seconds} s of the processor's time")


def test_hogs(learner):
    """Memory and time have limits, in the kernel and in the compiler."""
    good = learner.solution("01_map")
    for extent in 100_000_000, 3_000_000_000, 1 << 40:
        hog = good.replace("    i32 i =", f"    global f32 big[{extent}] = 0;\n    i32 i =").replace("Out[i] =", "big[i] = 0;\n    Out[i] =")
        verdict = rejected(learner, "hog.tile", hog, "fault", line=0)
        expect("more than 256 MiB" in verdict["message"], verdict)
    clang = shutil.which("clang")
    if not clang or not cuda_compiler():
        return
    learner.write("01.cu", learner.solution("01_map", "cu"))
    learner.write("clang", f"#!/bin/sh\ncase \"$*\" in *01.cu) exec sleep 100 ;; esac\nexec {clang} \"$@\"\n")
    os.chmod(f"{learner.folder}/clang", 0o755)
    learner.learn("1", "01.cu", "--compiler", f"{learner.folder}/clang", status=1, out="takes more than 10 seconds")


def test_forbidden_words(learner):
    """Forbidden words count everywhere except in comments and quotes, also in text that looks like the end of one."""
    good = learner.solution("23_pipeline")
    for before in 'print("\\"", 1);', 'print("\\\\", 1);', "/* \" */", "// \"\n", 'print("//", 1);', 'print("/*", 1);':
        rejected(learner, "word.tile", good.replace("    ensures", f"    {before} pipeline(3) for (i32 p = 0; p < k; p += BK) {{ }}\n    ensures"), "word", puzzle="23")
    for before in 'print("pipeline", 1);', 'print("\\" pipeline \\"", 1);', "// pipeline\n", "/* \" pipeline */":
        learner.write("word.tile", good.replace("    ensures", f"    if (m < 0) {{ {before} }}\n    ensures".replace("}", "\n    }")))
        expect(learner.judge("23", "word.tile")["reason"] != "word", before)
    if not cuda_compiler():
        return
    good = learner.solution("08_shared_memory", "cu")
    for before in "char c = '\"';", "int c = 1'000;", 'const char *c = R"(\")";', 'const char *c = R"x()" )x";', "char c = '\\'';", 'auto *c = u8R"(\")";', 'const char *c = "\\\\";':
        rejected(learner, "word.cu", good.replace("    __syncthreads();", f"    {before} volatile int x = 0;\n    __syncthreads();"), "word", puzzle="8")
    rejected(learner, "word.cu", "#define FOOR\n" + good.replace("    __syncthreads();", '    const char *c = FOOR"(" " volatile )"; volatile int x = 0;\n    __syncthreads();'), "word", puzzle="8")
    learner.write("word.cu", good.replace("    __syncthreads();", '    const char *c = R"(" volatile )"; (void)c; // volatile\n    __syncthreads();'))
    learner.learn("8", "word.cu", out="passed")


def test_luck(learner):
    """Right values by luck are refused, and a message gives the reason."""
    no_barrier = learner.solution("14_single_block_matmul").replace("    sync();\n", "")
    learner.write("no_barrier.tile", no_barrier)
    learner.learn("14", "no_barrier.tile", status=1, out=["no_barrier.tile:18:20: error: `as` is read here", "Not yet: a race"])
    verdict = learner.judge("14", "no_barrier.tile")
    expect((verdict["line"], verdict["other_line"]) == (18, 12), f"both accesses: {verdict}")
    early = learner.solution("08_shared_memory").replace("    sync();\n", "")
    verdict = rejected(learner, "early.tile", early, "race", puzzle="8")
    expect((verdict["line"], verdict["other_line"]) == (12, 10), f"both accesses: {verdict}")
    verdict = rejected(learner, "itself.tile", early.replace("    tile[t] = ", "    tile[0] = "), "race", puzzle="8")
    expect(verdict["other_line"] == verdict["line"] == 10, f"a statement races with itself: {verdict}")
    verdict = rejected(learner, "copy.tile", learner.solution("20_async_copies").replace("    async_wait(0);", ""), "async", puzzle="20")
    expect(verdict["other_line"] < verdict["line"] and verdict["other_line"], f"the copy: {verdict}")
    for wait in "async_wait()", "async_waits(0)":  # the cause is a compile error, not a copy
        rejected(learner, "wait.tile", learner.solution("20_async_copies").replace("async_wait(0)", wait), "compile", puzzle="20")
    if not cuda_compiler():
        return
    words = rejected(learner, "comment.cu", learner.solution("08_shared_memory", "cu").replace("    __syncthreads();\n", "    // global memory\n"), "race", puzzle="8")
    expect("A barrier between the two would" in words["words"], f"the advice is of shared memory: {words}")
    learner.write("no_barrier.cu", learner.solution("14_single_block_matmul", "cu").replace("    __syncthreads();\n", ""))
    learner.learn("14", "no_barrier.cu", status=1, out=["no_barrier.cu:15:18: error: race", "as[i][j] = a[i * SIZE + j];", "by luck"])


def test_volatile(learner):
    """Volatile and relaxed accesses order nothing, not even within a warp; fences and atomics do, and such answers pass."""
    if not cuda_compiler():
        return
    good = learner.solution("08_shared_memory", "cu")
    store, load = "    tile[t] = i < n ? a[i] : 0;\n    __syncthreads();\n", "tile[t] - tile[TPB - 1 - t]"
    expect(store in good and load in good, good)
    for kind in "volatile", "relaxed.cta":
        rejected(learner, "asm.cu", good.replace("__syncthreads()", "").replace("    if (i", f"""    float mirror;
    unsigned at = (unsigned) __cvta_generic_to_shared(&tile[TPB - 1 - t]);
    __asm__("ld.{kind}.shared.f32 %0, [%1];" : "=f"(mirror) : "r"(at));
    if (i""").replace("tile[TPB - 1 - t];\n}", "mirror;\n}"), "race", case_is="shown", puzzle="8")
    rejected(learner, "relaxed.cu", good.replace(store, """    float mine = i < n ? a[i] : 0, mirror;
    __atomic_store(&tile[t], &mine, __ATOMIC_RELAXED);
    __atomic_load(&tile[TPB - 1 - t], &mirror, __ATOMIC_RELAXED);
""").replace(load, "mine - mirror"), "race", case_is="shown", puzzle="8")
    ordered = good.replace(store, """    float mine = i < n ? a[i] : 0, mirror;
    __atomic_store(&tile[t], &mine, __ATOMIC_RELAXED);
    __syncthreads();
    __atomic_load(&tile[TPB - 1 - t], &mirror, __ATOMIC_RELAXED);
""").replace(load, "mine - mirror")
    learner.write("ordered.cu", ordered)
    learner.learn("8", "ordered.cu", out="passed")
    lock = learner.solution("01_map", "cu").replace("    out[i] = a[i] + 10;", """    __shared__ int turn, ten;
    if (i == 0)
        ten = turn = 0;
    __syncthreads();
    if (i < 2) {
        while (*(volatile int *)&turn != i) // one thread after the other
            ;
        __threadfence_block();
        ten += 5;
        __threadfence_block();
        *(volatile int *)&turn = i + 1;
    }
    __syncthreads();
    out[i] = a[i] + 10 + 0 * ten;""")
    learner.write("lock.cu", lock)
    learner.learn("1", "lock.cu", out="passed")


def test_endless(learner):
    """The judge tells endless loops, and very long ones, from threads that wait for each other; its message names a line of the loop."""
    good = learner.solution("01_map")
    for loop in "while (1) { }", "for (;;) ;", "while (A[0] == A[0])\n        i = i + 0;", "for (i32 q = 0; q < 1000000; q++)\n        Out[i] = q;":
        far = rejected(learner, "loop.tile", good.replace("    Out[i] =", f"    {loop}\n    Out[i] ="), "endless", file="loop.tile")
        expect(far["line"] in (9, 10), far)
        expect("luck" not in learner.learn("1", "loop.tile", status=1, out="it does not come to an end"), "luck")
    if not cuda_compiler():
        return
    good = learner.solution("01_map", "cu")
    far = rejected(learner, "far.cu", good.replace("    out[i]", "    for (int q = 0; q < 1000000; q++)\n        ((volatile float *)out)[i] = q;\n    out[i]"), "endless")
    expect(far["line"] in (10, 11), far)
    for text in "for (;;) ;", "*(int *)0 = 3;":  # code that clang drops
        rejected(learner, "left_out.cu", good.replace("    out[i]", f"    {text}\n    out[i]"), "endless")


def test_shown_values(learner):
    """The element that the message names belongs to the arrays shown above it."""
    learner.write("adds.tile", learner.solution("01_map").replace("= A[i] + 10;\n\n", "= Out[i] + A[i] + 1;\n\n"))
    out = learner.learn("1", "adds.tile", status=1, out="wrong values")
    shown = re.search(r"^out \(\* is wrong\): \[(.*)\]$", out, re.M).group(1).split(", ")
    expect(all(text.startswith("*") for text in shown), out)
    shown = [text.lstrip("*") for text in shown]
    element, value = re.search(r"Out\[(\d+)\] is ([-\d.]+), and should be", out, re.M).groups()
    expect(float(shown[int(element)]) == float(value), out)


def test_output_read(learner):
    """If an answer reads an unwritten output, the message says this, even if another element keeps its old value."""
    good = learner.solution("01_map")
    for text, wrong in ("Out[i] + A[i]", "Out[0] is 0, and should be 10"), ("Out[i] + A[i] + 10", "Out[0] is 205.262741, and should be 10"):
        words = rejected(learner, "reads.tile", good.replace("= A[i] + 10;\n\n", f"= {text};\n\n"), "values")["wrong_values"]
        expect(words.startswith(wrong) and words.endswith("; out is read before it is given a value"), words)
    for text, wrong in ("if (i != 1)\n        Out[i] = A[i] + 10", "1 of the 4 elements of out is never written"), ("Out[i] = A[i] + i", "Out[0] is 0, and should be 10"):
        words = rejected(learner, "other.tile", good.replace("Out[i] = A[i] + 10;\n\n", f"{text};\n\n"), "values")["wrong_values"]
        expect(words == wrong, words)
    shared = learner.solution("08_shared_memory").replace("    tile[t] = ", "    if (t > 0)\n        tile[t] = ")
    words = rejected(learner, "shared.tile", shared, "uninitialised", puzzle="8")["wrong_values"]
    expect("out is read" not in (words or ""), words)


def test_advice(learner):
    """A comment does not change the advice."""
    race = learner.solution("08_shared_memory").replace("    sync();\n", "    // from global memory\n")
    expect("A barrier between" in rejected(learner, "race.tile", race, "race", puzzle="8")["words"], "advice")
    same = learner.solution("01_map").replace("    Out[i] =", "    Out[0] = 5;\n    sync();\n    Out[i] =")
    expect(rejected(learner, "same.tile", same, "race")["words"].endswith("let one of them write it."), "same value")
    expect("luck" not in learner.learn("1", "same.tile", status=1), "luck")
    for index in "thread.x", "block.x + thread.x":
        blocks = learner.solution("06_blocks").replace("block.x * TPB + thread.x", index)
        expect("which elements are this block's?" in rejected(learner, "blocks.tile", blocks, "race", puzzle="6")["words"], index)
    turns = learner.solution("26_split_k").replace("    lock(turn[x][y], z);\n", "").replace("    unlock(turn[x][y], z + 1);\n", "")
    expect("let the blocks take turns" in rejected(learner, "turns.tile", turns, "race", puzzle="26")["words"], "a race of blocks")
    waits = learner.solution("21_double_buffering").replace("    async_wait(0);\n    for", "    for").replace("        sync();  ", "        async_wait(0);\n        sync();  ")
    words = rejected(learner, "waits.tile", waits, "async", puzzle="21")["words"]
    expect("before the kernel ends" in words and "zero times" in words and "uses" not in words, words)


def test_matrices(learner):
    """Rows and columns have numbers, and wrong elements are marked; several matrices are printed one after the other."""
    good = learner.solution("04_map_2d")
    learner.write("one.tile", good.replace("Out[y][x] = A", "Out[y][x] = y == 1 && x == 0 ? 5 : A"))
    out = learner.learn("4", "one.tile", status=1, out="out (* is wrong):\n")
    rows = re.search(r"out \(\* is wrong\):\n((?:  .*\n)+)", out).group(1).split("\n")[:-1]
    expect(len({len(row) for row in rows}) == 1 and sum(row.count("*") for row in rows) == 1 and "*5.0" in rows[2].split()[1], out)


def test_work(learner):
    """Limits that all puzzles have catch repeated work, and a single warp that does the work of all."""
    good = learner.solution("01_map")
    over = good.replace("    Out[i] =", "    for (i32 q = 0; q < 50; q++)\n        Out[i] = A[i] + q;\n    Out[i] =")
    limit = rejected(learner, "over.tile", over, "global_sectors")  # the puzzle's own limits are checked first
    expect("Out[i] = A[i] + q" in limit["message"], limit)
    blocks = learner.solution("06_blocks")
    spins = blocks.replace("    if (i < n)", "    i32 x = i;\n    for (i32 q = 0; q < 100; q++)\n        x = x * 3 + q;\n    if (i < n && x != 7)", 1)
    expect(rejected(learner, "spins.tile", spins, "warp_instructions", puzzle="6")["counters"], "work")
    one = learner.solution("09_pooling")
    one = one.replace("    if (i < n) {\n        f32 largest", "    f32 x = 0;\n    if (i < 32 && TPB > 200)\n        for (i32 q = 0; q < 60; q++)\n            x += q;\n    if (i < n && x >= 0) {\n        f32 largest")
    expect(rejected(learner, "one.tile", one, "busiest_warp", puzzle="9"), "one warp")


def test_words(learner):
    """Warnings about correct code that is probably a mistake appear together with the judge's words."""
    good = learner.solution("03_guards")
    learner.write("semicolon.tile", good.replace("if (i < n)", "if (i < n);"))
    learner.learn("3", "semicolon.tile", status=1,
                  out=["warning: this `;` is the whole body of the `if`", "guard it: `if (i < n)`; or is it the wrong index?"])
    learner.write("chain.tile", good.replace("if (i < n)", "if (0 <= i < n)"))
    learner.learn("3", "chain.tile", status=1, out="note: say `0 <= i && i < n`")
    learner.write("called.tile", good.replace("A[i] * 3", "A(i) * 3"))
    learner.learn("3", "called.tile", status=1, out="indices are in brackets: `A[i]`")
    learner.write("pointer.tile", good.replace("Out[i] = A[i]", "out[i] = A[i]"))
    learner.learn("3", "pointer.tile", status=1, out="use `Out`, its view")


def test_cuda(learner):
    if not cuda_compiler():
        return
    good = learner.solution("01_map", "cu")
    learner.learn("1", "--cuda", out="Your file: 01_map.cu")
    learner.learn("1", status=1, out="01_map.cu: case 1")  # this file exists, and 01_map.tile does not
    learner.write("01_map.cu", good)
    learner.learn("1", out="passed")
    rejected(learner, "syntax.cu", good.replace("+ 10;", "+ ;"), "compile", line=10)
    learner.write("-x.cu", good)
    learner.learn("1", "--", "-x.cu", out="passed")
    learner.write("-x.cu", good.replace("+ 10;", "+ ;"))
    learner.learn("1", "--", "-x.cu", status=1, out="-x.cu:10:")
    rejected(learner, "name.cu", good.replace("void map", "void mop"), "signature")
    learner.learn("1", "name.cu", status=1, out="it has no kernel `map`: there is `mop`\n")
    rejected(learner, "quoted.cu", '"// nothing"', "compile")
    rejected(learner, "host.cu", "void map(float *out, const float *a) { }\n", "signature")
    learner.learn("1", "host.cu", status=1, out="it has none; a kernel is `__global__ void map(")
    rejected(learner, "more.cu", good.replace("const float *a)", "const float *a, int n)"), "signature")
    for puzzle, of, kind, there, text in ("01_map", "out", "double *out", "float *", "parameter 1 of `map`, out, is `double *` here"), \
            ("01_map", "a", "const double *__restrict__ a", "float *", "parameter 2 of `map`, a, is `double *` here"), \
            ("02_zip", "b", "const int *b", "float *", "parameter 3 of `zip`, b, is `int *` here"), \
            ("03_guards", "n", "float n", "int", "parameter 1 of `guards`, n, is `float` here"), \
            ("03_guards", "n", "int *n", "int", "parameter 1 of `guards`, n, is `int *` here"), \
            ("03_guards", "n", "long n", "int", "parameter 1 of `guards`, n, is `long` here"):
        other = re.sub(rf"(const )?(float \*|int ){of}\b", kind, learner.solution(puzzle, "cu"), count=1)
        verdict = rejected(learner, "type.cu", other if "*n" not in kind else other.replace("< n", "< *n"), "signature", puzzle=puzzle[:2])
        expect(f"error: {text}, and `{there}` in the starter" == verdict["message"], verdict)
    for kind in "unsigned n", "const int n":
        learner.write("type.cu", learner.solution("03_guards", "cu").replace("int n", kind, 1))
        learner.learn("3", "type.cu", out="passed")
    learner.write("type.cu", good.replace("float *out, const float *a", "float *__restrict__ out, const volatile float *a"))
    learner.learn("1", "type.cu", out="passed")
    two = "struct two { float x, y; };\n__global__"
    learner.write("type.cu", learner.solution("02_zip", "cu").replace("__global__", two).replace("const float *b", "const two *b").replace("b[i]", "((const float *)b)[i]"))
    learner.learn("2", "type.cu", out="passed")
    learner.write("type.cu", good.replace("__global__", 'extern "C" __global__'))
    learner.learn("1", "type.cu", out="passed")
    rejected(learner, "input.cu", good.replace("const float *a)", "float *a)").replace("+ 10;", "+ 10;\n    a[i] = 0;"), "input")
    rejected(learner, "endless.cu", good.replace("    out[i]", "    while (*(volatile const float *)a == a[0])\n        ;\n    out[i]"), "endless")
    learner.write("warned.cu", good.replace("    int i", "#warning look here\n    int i"))
    learner.learn("1", "warned.cu", out=["look here", "passed"])
    rejected(learner, "include.cu", '#include "no/such.h"\n' + good, "compile")
    learner.write("unchanged.cu", learner.solution("02_zip", "cu").replace("    out[i] = a[i] + b[i];\n", ""))
    learner.learn("2", "unchanged.cu", status=1, out="\n6 of the 6 elements of out are never written.\n")
    if os.path.exists("/usr/bin/gcc"):
        learner.learn("1", "01_map.cu", "--compiler", "gcc", status=2, err="is not a compiler of CUDA C that is known here: clang, nvcc")
    learner.learn("1", "01_map.cu", "--compiler", "no/such", status=2, err="there is no such program")
    learner.write("clang", "#!/bin/sh\necho \"error: unable to create target: 'No available targets are compatible'\" >&2\nexit 1\n")
    os.chmod(f"{learner.folder}/clang", 0o755)
    learner.learn("1", "01_map.cu", "--compiler", f"{learner.folder}/clang", status=2, err="this clang makes no PTX")
    learner.learn("1", "01_map.cu", status=2, err="apt install clang", PATH="/nowhere") if not os.path.exists("/usr/local/cuda/bin/nvcc") else None


def main():
    for name, test in sorted(globals().items()):
        if name.startswith("test_"):
            with tempfile.TemporaryDirectory() as folder:
                test(Learner(sys.argv[1], folder))


main()
