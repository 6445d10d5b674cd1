#!/usr/bin/env python3
"""scripts/check_english.py finds each turn of phrase that it knows, at its line, in documents, comments and messages, and nothing in plain text."""
import os
import subprocess
import sys
import tempfile

from tile_runner import fail

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SCRIPT = os.path.join(ROOT, "scripts", "check_english.py")
PLANTED = """An address that nobody
uses.|nobody
The call is made
in vain.|in vain
Reads so many of them.|so many
It is compared as far as it is known.|as far as
The word stands for a tile.|stands
A time beside cuBLAS.|beside
The line behind the loop.|behind
The line in front of the loop.|in front of
It is right, and the report says so.|says so
The list is no tree.|is no
See above. What is left is freed.|What …
See above. Of two, the first wins.|Of …
Where it fails, the call returns.|Where …
| a | Whoever asks gets an answer, and whoever waits, too. ||whoever
"""
PLAIN = """The compiler stands out of the way? No: `nobody` and [a link](behind.md) are code and a target.
Which of these is it? What is left? It is no longer so. There
is no GPU here. It stands alone.

```c
/* What stands behind this, nobody knows. */
```

| behind-the-scenes | understand, standard, hindered |
|---|---|
"""
SOURCE = """/* Of an element: who reads it, and whether
 * it stands behind another. */
const char *text = "what nobody wrote " /* fine */
                   "is said to be lost"; // Whether it is kept.
int behind = 1; /* keeps `beside` */
"""


def run(*arguments, cwd=None):
    done = subprocess.run([sys.executable, SCRIPT, *arguments], cwd=cwd, capture_output=True, text=True)
    if done.returncode not in (0, 1) or (done.returncode == 1) != bool(done.stdout.strip()):
        fail(f"status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def main():
    with tempfile.TemporaryDirectory() as folder:
        def write(name, text):
            with open(os.path.join(folder, name), "w", encoding="utf-8") as out:
                out.write(text)

        sentences, line = PLANTED.replace(" ||", " \f").rstrip("\n").split("\n"), 0
        pending = []
        for row in sentences:
            pending.append(row)
            if "|" not in row.replace("| a |", ""):
                continue
            text, phrase = "\n".join(pending).rsplit("\f" if "\f" in row else "|", 1)
            pending = []
            write("README.md", f"# A title\n\n{text}\n")
            said = run(folder)
            place = text[:text.lower().index(phrase.split(" …")[0].lower())].count("\n") + 3
            if f'README.md:{place}: "{phrase}"' not in said:
                fail(f"{text!r}: {phrase!r} is not found in line {place}:\n{said}")
        write("README.md", PLAIN)
        said = run(folder)
        if said.strip():
            fail(f"plain text is refused:\n{said}")
        write("source.c", SOURCE)
        found = [row.split(": ")[0:2] for row in run("--all", "source.c", cwd=folder).splitlines()]
        expected = [["source.c:1", '"Of …"'], ["source.c:2", '"stands"'], ["source.c:2", '"behind"'], ["source.c:3", '"nobody"'],
                    ["source.c:4", '"is said"'], ["source.c:4", '"Whether …"']]
        if sorted(found) != sorted(expected):
            fail(f"in comments and messages: {sorted(found)}, expected {sorted(expected)}")


if __name__ == "__main__":
    main()
