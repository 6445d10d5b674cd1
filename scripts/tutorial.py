#!/usr/bin/env python3
"""Writes the generated parts of docs/tutorial: outputs of commands, pieces of sources, numbers in sentences.

    tutorial.py [TILEWRIGHT [FILE.md…]]             writes them; read the diff
    tutorial.py [TILEWRIGHT [FILE.md…]] --check     status 1 if a page differs from the program's output

Comments in a page, which a reader does not see, name these parts:

    <!-- source: FILE FIRST-LAST -->    above a code block: those lines of a file
    <!-- diff: FILE CHANGED -->         above a ```diff block: the lines that differ, and a line above and below them. The
                                        comments that the two files begin with are left out
    <!-- status 1 -->                   above a ```sh block: the status of its commands. Each line is a command; the lines
                                        below one that begins with "$ " are its output
    <!-- part: REGEX … REGEX -->        the output from a line like the first to the next one like the second
    <!-- keep: REGEX -->                lines of the output to show; "…" replaces the others between them. Each
                                        alternative, REGEX|REGEX, must match a line
    <!-- hide: REGEX -->                text of the output that "…" replaces: times, names of machines
    <!-- given: 16 32: tile sizes … --> numbers that the whole page may use: chosen ones, not results
    <!-- numbers                        after a text: the sources of its numbers; the text begins after the last code or
    naive: tilewright run … --json          comment. A command, by name;
    8.59 = naive.counters.x / 1e9           a number as the text has it, and its value in Python (below);
    "L2" = naive.bound                      words, the same;
    true = naive.a > naive.b                other claims of the text
    -->

The Python may use fields of the JSON, or name.number("words {}") for other output; gpu(KERNEL, TYPE, COLUMN) and performance("words
{}"), numbers in docs/performance.md; said("words"), the number before them on this page.

A number of the text, outside of `code`, that is neither given nor in such a comment is an error. Commands run in a folder that looks
like a checkout and has `mine`, as docs/tutorial/README.md says; .gitignore must list the files that they leave there. Commands that
tests/python/run_documents.py does not run (./dev, git, …) are not run here if their output is not shown.
"""
import argparse
import difflib
import glob
import json
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
sys.path.insert(0, os.path.join(ROOT, "tests", "python"))
from run_documents import NOT_RUN, make_checkout, split_commands  # noqa: E402
from tile_runner import PATIENCE, not_ignored  # noqa: E402

PIECE = re.compile(
    r"(?P<asks>(?:^<!-- (?:source|diff|status|part|keep|hide)\b[^\n]*-->\n)*)^```(?P<kind>\w*)[^\n]*\n(?P<body>.*?)^```\n"
    r"|^<!-- numbers\n(?P<numbers>.*?)^-->\n"
    r"|^<!-- given: (?P<given>.*?)-->\n",
    re.M | re.S)
ASK = re.compile(r"<!-- (source|diff|status|part|keep|hide):? (.*?) *-->")
NUMBER = r"\d+(?:,\d{3})*(?:\.\d+)?"
NOT_PROSE = re.compile(r"`[^`\n]*`|\[[^\]]*\]\([^)]*\)|^#[^\n]*|<!--.*?-->", re.M | re.S)


class Wrong(Exception):
    """The faults of a page, in words."""


class Fields:
    """A JSON object whose members are attributes."""

    def __init__(self, members):
        self._members = members

    def __getattr__(self, name):
        if name not in self._members:
            raise Wrong(f"there is no `{name}` among {', '.join(self._members)}")
        return wrap(self._members[name])

    def __getitem__(self, name):
        return getattr(self, name)

    def line(self, number):
        """Returns the counters of a line of the source."""
        for row in self._members["lines"]:
            if row["line"] == number:
                return Fields(row)
        raise Wrong(f"there are no counters of line {number}")


class Text:
    """The output of a command, if it is not JSON."""

    def __init__(self, text):
        self.text = text

    def number(self, words):
        """Returns the number at the place of {} in these words of the output."""
        return number_at(words, self.text, "the command does not print")


def number_at(words, text, complaint):
    found = re.search(re.escape(words).replace(r"\{\}", f"({NUMBER})"), text)
    if not found:
        raise Wrong(f"{complaint} {words}")
    return float(found[1].replace(",", ""))


def part_of(lines, first, last):
    """Returns the lines from the first that matches `first` to the next that matches `last`, with "…" for those left out."""
    start = next((at for at, line in enumerate(lines) if first.search(line)), None)
    end = next((at for at, line in enumerate(lines) if start is not None and at > start and last.search(line)), None)
    if end is None:
        raise Wrong(f"the output has no part {first.pattern} … {last.pattern}:\n" + "\n".join(lines))
    return ["…"] * (start > 0) + lines[start:end + 1] + ["…"] * (end + 1 < len(lines))


def alternatives(regex):
    """Returns the parts of a regular expression between the "|" outside of parentheses."""
    parts, depth = [""], 0
    for token in re.findall(r"\\.|\[(?:\\.|[^\]])*\]|.", regex):
        depth += (token == "(") - (token == ")")
        if token == "|" and depth == 0:
            parts.append("")
        else:
            parts[-1] += token
    return parts


def wrap(value):
    if isinstance(value, dict):
        return Fields(value)
    return [wrap(v) for v in value] if isinstance(value, list) else value


def gpu(kernel, dtype, column):
    """Returns a number of the table "Kernel by kernel" of docs/performance.md."""
    rows = []
    for line in open(os.path.join(ROOT, "docs", "performance.md")):
        cells = [cell.strip(" `\n") for cell in line.strip().strip("|").split("|")]
        if cells[:2] == ["kernel", "type"]:
            names = cells
        elif line.startswith("|") and cells[:2] == [kernel, dtype]:
            rows.append(dict(zip(names, cells)))
    if not rows or column not in rows[0]:
        raise Wrong(f"docs/performance.md has no {column} of {kernel} {dtype}")
    return float(re.match(NUMBER, rows[0][column]).group().replace(",", ""))


def performance(words):
    """Returns the number at the place of {} in these words of docs/performance.md."""
    with open(os.path.join(ROOT, "docs", "performance.md")) as file:
        return number_at(words, file.read(), "docs/performance.md does not say")


def like(token, value):
    """Returns the value with the number of digits that the token has."""
    if token.startswith('"'):
        return f'"{value}"'
    if token in ("true", "false"):
        return str(bool(value)).lower()
    digits = len(token.partition(".")[2])
    value = round(float(value), digits) if digits else round(value)
    return f"{value:,.{digits}f}" if "," in token or value >= 10000 else f"{value:.{digits}f}"


def whole(token):
    """Returns a pattern that matches the number, or the words, and nothing longer."""
    if token.startswith('"'):
        return re.compile(re.escape(token.strip('"')))
    return re.compile(rf"(?<![\w.,]){re.escape(token)}(?!\w|[.,]\d)")


def anchors(path):
    """Returns the names of a page's headings in links."""
    with open(path) as file:
        headings = re.findall(r"^#+ (.*)$", file.read(), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


class Page:
    def __init__(self, path, text, folder, environment):
        self.path, self.text, self.folder, self.environment = path, text, folder, environment
        self.given = {n for found in PIECE.finditer(text) if found["given"]
                      for n in re.findall(NUMBER, found["given"])}
        self.printed = {}  # outputs of the commands of "numbers"

    def run(self, command, *statuses, errors=subprocess.STDOUT):
        """Returns what a command prints: by default with the messages among it, in the order of a terminal."""
        done = subprocess.run(["sh", "-c", command], cwd=self.folder, env=self.environment, stdout=subprocess.PIPE, stderr=errors, text=True,
                              timeout=PATIENCE)
        if done.returncode not in statuses:
            expected = " or ".join(map(str, statuses))
            raise Wrong(f"$ {command}\nstatus {done.returncode}, expected {expected}\n{done.stdout}{done.stderr or ''}")
        return done.stdout

    def result(self, command):
        """Returns the JSON, or the text, that a command prints. Its status may be 1, the status of a command with findings."""
        if command not in self.printed:
            printed = self.run(command, 0, 1, errors=subprocess.PIPE)
            self.printed[command] = wrap(json.loads(printed)) if "--json" in command else Text(printed)
        return self.printed[command]

    def shown(self, asks, block):
        """Returns a ```sh block with the present output of its commands."""
        status, keep, hide, part = 0, None, None, None
        unused = []  # alternatives of `keep` that have matched no line yet
        for name, value in asks:
            if name == "status":
                status = int(value)
            elif name == "keep":
                keep = re.compile(value)
                unused = alternatives(value)
            elif name == "hide":
                hide = re.compile(value)
            elif name == "part":
                part = tuple(map(re.compile, value.split(" … ")))
        prompted = any(line.startswith("$ ") for line in block.splitlines())
        out = []
        for command, _ in split_commands(block):
            if not prompted and command.lstrip().startswith(NOT_RUN):
                continue
            printed = self.run(command, status)
            if not prompted:
                continue
            out.append(f"$ {command}")
            lines = [line.rstrip() for line in printed.splitlines()]
            if part:
                lines = part_of(lines, *part)
            if hide:
                lines = [hide.sub("…", line) for line in lines]
            if keep:
                if not any(map(keep.search, lines)):
                    raise Wrong(f"$ {command}\nprints no line like {keep.pattern}:\n" + "\n".join(lines))
                unused = [one for one in unused if not any(re.search(one, line) for line in lines)]
                lines = [line if keep.search(line) else "…" for line in lines]
                lines = [line for at, line in enumerate(lines) if line != "…" or at == 0 or lines[at - 1] != "…"]
            out += lines
        if unused:
            raise Wrong(f"{out[0]}\nprints no line like {' and none like '.join(unused)}")
        return "\n".join(out) + "\n" if prompted else block

    def source(self, where):
        """Returns lines of a file: FILE FIRST-LAST, or a whole file."""
        name, _, lines = where.partition(" ")
        text = self.lines_of(name)
        first, last = map(int, lines.split("-")) if lines else (1, len(text))
        return "".join(text[first - 1:last])

    def diff(self, names):
        """Returns the lines in which the second file differs from the first, without the comments at their beginnings."""
        first, second = (self.without_heading(name) for name in names.split())
        lines = list(difflib.unified_diff(first, second, n=1))[2:]
        if not lines:
            raise Wrong(f"{names}: the files do not differ")
        return "".join("…\n" if line.startswith("@@") else line for line in lines[1:])

    def lines_of(self, name):
        try:
            with open(os.path.join(self.folder, name)) as file:
                return file.read().splitlines(True)
        except OSError as error:
            raise Wrong(f"{name}: {error.strerror}")

    def without_heading(self, name):
        lines = self.lines_of(name)
        while lines and lines[0].startswith("//"):
            del lines[0]
        return lines

    def numbers(self, prose, comment):
        """Returns the prose and the comment with the right numbers, and the list of those numbers."""
        names = {"gpu": gpu, "performance": performance, "said": self.said, "cdiv": lambda a, b: -(-a // b),
                 "round": round, "abs": abs, "min": min, "max": max, "sum": sum, "len": len}
        lines, known = [], set()
        for line in comment.splitlines():
            command = re.fullmatch(r"(\w+): (.*)", line)
            claim = re.fullmatch(rf'({NUMBER}|".*?"|true|false) = (.*)', line)
            if command:
                names[command[1]] = self.result(command[2])
            elif claim:
                token, code = claim.groups()
                try:
                    new = like(token, eval(code, {"__builtins__": {}}, names))
                except Exception as error:  # of any kind: the page's author made the mistake
                    raise Wrong(f"{line}: {error}")
                if token in ("true", "false"):
                    if new != token:
                        raise Wrong(f"{line}: it is {new}")
                else:
                    if not whole(token).search(prose):
                        raise Wrong(f"{line}: the text in front does not say {token}")
                    prose = whole(token).sub(new.strip('"'), prose)
                    known.add(new)
                    line = f"{new} = {code}"
            elif line.strip():
                raise Wrong(f"{line}: neither NAME: COMMAND nor NUMBER = EXPRESSION")
            lines.append(line)
        return prose, "\n".join(lines) + "\n", known

    def said(self, words):
        found = re.search(rf"({NUMBER})\W*{re.escape(words)}", NOT_PROSE.sub(" ", self.text))
        if not found:
            raise Wrong(f"nowhere does the page say … {words}")
        return float(found[1].replace(",", ""))

    def links(self):
        """Returns links, and names of puzzles, that lead nowhere."""
        text = re.sub(r"^```.*?^```$|`[^`\n]*`", " ", self.text, flags=re.M | re.S)
        for target in re.findall(r"\]\((?!\w+:)([^)]*)\)", text):
            name, _, anchor = target.partition("#")
            path = os.path.join(os.path.dirname(self.path), name) if name else self.path
            if not os.path.exists(path):
                yield f"{target} is not there"
            elif anchor and anchor not in anchors(path):
                yield f"{name} has no heading for #{anchor}"
        for name in re.findall(r"`(\d\d_\w+)`", self.text):
            if not os.path.exists(os.path.join(ROOT, "puzzles", name)):
                yield f"there is no puzzle {name}"

    def unknown(self, prose, known):
        text = NOT_PROSE.sub(" ", prose)
        found = re.findall(rf"(?<![\w.]){NUMBER}", text)
        return [n for n in found if n not in known and n not in self.given]

    def written(self):
        """Returns the page as it should be, and the faults that it cannot correct."""
        out, wrong, prose, at = [], list(self.links()), "", 0

        def flush(known):
            """Ends a text whose numbers these account for."""
            nonlocal prose
            wrong.extend(f"where does {n} come from? `{prose.strip()[:70]}…`" for n in self.unknown(prose, known))
            out.append(prose)
            prose = ""

        for found in PIECE.finditer(self.text):
            prose += self.text[at:found.start()]
            at = found.end()
            piece = found.group()
            if found["given"]:
                prose += piece
                continue
            known = set()
            try:
                if found["numbers"] is not None:
                    known = set(re.findall(NUMBER, found["numbers"]))  # each fault is reported once
                    prose, comment, known = self.numbers(prose, found["numbers"])
                    piece = f"<!-- numbers\n{comment}-->\n"
                else:
                    asks = ASK.findall(found["asks"])
                    body = found["body"]
                    if dict(asks).get("source"):
                        body = self.source(dict(asks)["source"])
                    elif dict(asks).get("diff"):
                        body = self.diff(dict(asks)["diff"])
                    elif found["kind"] == "sh":
                        body = self.shown(asks, body)
                    piece = piece[:len(piece) - len(found["body"]) - len("```\n")] + body + "```\n"
            except Wrong as error:
                wrong.append(str(error))
            flush(known)
            out.append(piece)
        prose += self.text[at:]
        flush(set())
        return "".join(out), wrong


def first_difference(old, new):
    for number, (one, other) in enumerate(zip(old.splitlines() + [""], new.splitlines() + [""]), 1):
        if one != other:
            return number, one, other
    return len(old.splitlines()) + 1, "", "more"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, usage=argparse.SUPPRESS)
    parser.add_argument("tool", nargs="?", default=os.path.join(ROOT, "build", "tilewright"), metavar="TILEWRIGHT")
    parser.add_argument("pages", nargs="*", metavar="FILE.md")
    parser.add_argument("--check", action="store_true", help="write nothing")
    given = parser.parse_intermixed_args()
    check, tool = given.check, os.path.abspath(given.tool)
    pages = given.pages or sorted(glob.glob(os.path.join(ROOT, "docs", "tutorial", "*.md")))
    failed = False
    for path in pages:
        with open(path) as file:
            text = file.read()
        with tempfile.TemporaryDirectory() as folder:
            make_checkout(folder, tool)
            os.mkdir(os.path.join(folder, "mine"))  # the first page tells the reader to make it
            checkout = os.listdir(folder)
            environment = dict(os.environ, PATH=os.pathsep.join([os.path.dirname(tool), os.environ["PATH"]]),
                               TILEWRIGHT_STORE=os.path.join(folder, "build", "none.db"), LC_ALL="C.UTF-8", NO_COLOR="1")
            new, wrong = Page(path, text, folder, environment).written()
            left = not_ignored(folder, checkout)
            if left:
                wrong.append(f"its commands write {' '.join(left)}, which .gitignore does not have")
        if check and new != text:
            line, old, now = first_difference(text, new)
            wrong.append(f"line {line} is\n    {old}\nand should be\n    {now}\n(python3 scripts/tutorial.py writes it)")
        elif new != text:
            with open(path, "w") as file:
                file.write(new)
        for error in wrong:
            print(f"{os.path.relpath(path, ROOT)}: {error}")
        failed = failed or bool(wrong)
    if check and not failed:
        print(f"{len(pages)} page{'s say' if len(pages) > 1 else ' says'} what the program does")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
