#!/usr/bin/env python3
"""Tests a puzzle and its judge: the solution and the other right answers pass, the starter does not, and every wrong answer is rejected for
the reason that it states.

    puzzle.py TOOL puzzles/NN_name [--compiler | --record]

The folder compiled has the PTX that clang made of the answers in CUDA C (compiler/clang). --compiler: the installed compilers make the
PTX, and only these answers are judged; --record: clang makes the PTX and writes it to tests/puzzles/compiled."""
import glob
import json
import os
import re
import shutil
import sys
import tempfile

from tile_runner import CUDA_COMPILERS, call, cuda_compiler, expect, fail

WRONG_LEAST, COLUMNS = 4, 128
HERE = os.path.dirname(os.path.abspath(__file__))
REJECTED = re.compile(r"// rejected: (\w+)(?: at line (\d+))?(?: with a (hidden|shown) case)?(?:: .*)?$")


def judge(tool, number, path, environment):
    result = call([tool, "learn", number, path, "--json"], env=environment)
    if result.status not in (0, 1) or not result.out:
        fail(f"{path}: {result}")
    verdict = json.loads(result.out)
    expect(verdict["passed"] == (result.status == 0), f"{path}: {result}")
    return verdict


def shown(verdict):
    return {key: verdict[key] for key in ("reason", "line", "other_line", "case", "case_is", "sizes", "message", "wrong_values")}


def check_wrong(path, verdict, wrong):
    with open(path) as text:
        first = text.readline().rstrip("\n")
    stated = REJECTED.match(first)
    if not stated:
        wrong.append(f"{path}: it begins with '{first}', not with `// rejected: REASON [at line N] [with a hidden case]: …`")
        return
    reason, line, case = stated.groups()
    if verdict["passed"]:
        wrong.append(f"{path}: passed, and should not: {first}")
    elif verdict["reason"] != reason or (line and int(line) not in (verdict["line"], verdict["other_line"])) \
            or (case and verdict["case_is"] != case):
        wrong.append(f"{path}: {first}\n    but the judge says {json.dumps(shown(verdict), indent=4)}")


def check_text(folder):
    with open(f"{folder}/puzzle.md") as file:
        text = file.read()
    expect(text.startswith("# "), f"{folder}/puzzle.md begins with no title")
    expect(re.search(r"^## Hint$", text, re.M) and re.search(r"^## Solution$", text, re.M), f"{folder}/puzzle.md: `## Hint`, `## Solution`")
    expect("```" in text, f"{folder}/puzzle.md has no diagram")
    for number, line in enumerate(text.split("\n"), 1):
        expect(len(line) <= COLUMNS, f"{folder}/puzzle.md:{number}: {len(line)} columns")
        expect(not line.startswith("## ") or line in ("## Hint", "## Solution"), f"{folder}/puzzle.md:{number}: {line}")


def environment_of(mode, puzzle, folder):
    """Returns the environment of the judge, with a file of progress of its own and the compiler that the mode needs."""
    environment = {**os.environ, "TILEWRIGHT_LEARN": f"{folder}/progress"}
    if mode != "--compiler":
        environment["PATH"] = f"{HERE}/compiler:{os.environ['PATH']}"
    if mode == "--record":
        clang = next(filter(None, map(shutil.which, CUDA_COMPILERS["clang"])), None)
        expect(clang, "clang is not installed")
        environment["TW_RECORD"] = clang
        shutil.rmtree(f"{HERE}/compiled/{puzzle}", ignore_errors=True)
    return environment


def main():
    tool, folder, mode = os.path.abspath(sys.argv[1]), sys.argv[2].rstrip("/"), "".join(sys.argv[3:])
    expect(mode in ("", "--compiler", "--record"), f"{mode}?")
    number = os.path.basename(folder)[:2]
    wrong = []
    check_text(folder)
    with tempfile.TemporaryDirectory() as own:
        environment = environment_of(mode, os.path.basename(folder), own)
        for ending in ["cu"] if mode == "--compiler" else ["tile", "cu"]:
            answers = glob.glob(f"{folder}/wrong/*.{ending}")
            if ending == "cu" and not os.path.exists(f"{folder}/solution.cu"):
                expect(not answers, f"{folder} has wrong answers in CUDA C, and no solution")
                continue
            if ending == "cu" and mode == "--compiler" and not cuda_compiler():
                print("no compiler of CUDA C here: the .cu files are left out")
                continue
            expect(ending == "cu" or len(answers) >= WRONG_LEAST, f"{folder} has {len(answers)} wrong answers, and needs {WRONG_LEAST}")
            right = sorted(glob.glob(f"{folder}/right/*.{ending}"))
            for path in [f"{folder}/solution.{ending}", *right, f"{folder}/starter.{ending}", *sorted(answers)]:
                verdict = judge(tool, number, path, environment)
                if path.startswith(f"{folder}/solution.") or path in right:
                    if not verdict["passed"]:
                        wrong.append(f"{path}: {json.dumps(shown(verdict), indent=4)}")
                elif path.startswith(f"{folder}/starter."):
                    if verdict["passed"] or not verdict["is_starter"] or verdict["reason"] in ("compile", "signature"):
                        wrong.append(f"{path}: the starter {json.dumps(shown(verdict), indent=4)}")
                else:
                    check_wrong(path, verdict, wrong)
    if wrong:
        fail("\n".join(wrong))


main()
