#!/usr/bin/env python3
"""scripts/tutorial.py --check finds errors in a page: a right page passes, and each of its broken twins is refused for its own reason;
without --check the script writes the page right."""
import os
import shutil
import subprocess
import sys
import tempfile

import run_documents
from tile_runner import arguments, fail

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "scripts", "tutorial.py")
PAGE = """# A page

<!-- given: 16: a size -->

Sizes are 16. It takes 168 requests, of 8,192 sectors 0.25 KB, "wrong" not at all; see [below](#below), `01_map`.
<!-- numbers
run: tilewright run kernels/sgemm/naive.tile --device sim --set m=16,n=16,k=16 --fill zero --tune T=16 --counters --json
two: echo 2 kernels
168 = run.counters.global_requests + two.number("{} kernels") - 2
8,192 = 2 * 16 ** 3
0.25 = 256 / 1024
"wrong" = "wrong"
true = run.counters.global_sectors > 64
-->

## Below

<!-- source: kernels/sgemm/naive.tile 3-3 -->
```c
tune T = {32, 16, 8};
```

<!-- diff: kernels/sgemm/naive.tile docs/tutorial/files/naive_no_guard.tile -->
```diff
 
-    if (row < m && col < n) {
+    if (col < n) {
         f32 sum = 0;
```

<!-- part: two … three -->
```sh
$ echo one; echo two; echo three; echo four
…
two
three
…
```

<!-- status 2 -->
<!-- keep: error -->
<!-- hide: \\d+ threads -->
```sh
$ tilewright run kernels/sgemm/tiled.tile --tune T=64 --set m=1,n=1,k=1 --fill zero
kernels/sgemm/tiled.tile:5:34: error: … a block; there may be up to 1024
…
```
"""
# (old text, new text, message; None: the script writes the page right again)
TWINS = (
    ("takes 168 requests", "takes 1681 requests", "does not say 168"),
    ("Sizes are 16.", "Sizes are 17.", "where does 17 come from?"),
    ("168 = run", "169 = run", "does not say 169"),
    ("It takes 168", "It takes 68", "does not say 168"),
    ("2 * 16 ** 3", "2 * 16 ** 4", None),
    ("{32, 16, 8}", "{32, 16}", None),
    ("up to 1024\n", "up to 1025\n", None),
    ("+    if (col < n) {", "+    if (row < n) {", None),
    ("part: two … three", "part: two … one", "has no part two … one"),
    ("\ntwo\nthree\n", "\ntwo\n", None),
    ("files/naive_no_guard.tile", "files/naive_guard.tile", "No such file"),
    ("kernels/sgemm/naive.tile docs", "docs/tutorial/files/naive_no_guard.tile docs", "do not differ"),
    ("<!-- status 2 -->\n", "", "status 2, expected 0"),
    ("<!-- keep: error -->", "<!-- keep: nothing like it -->", "prints no line like"),
    ("<!-- keep: error -->", "<!-- keep: error|nothing (like|as) it -->", "prints no line like nothing (like|as) it"),
    ("](#below)", "](#above)", "no heading for #above"),
    ("](#below)", "](nowhere.md)", "nowhere.md is not there"),
    ("`01_map`", "`01_mop`", "there is no puzzle 01_mop"),
    ("sectors > 64", "sectors < 64", "it is false"),
    ("run.counters.global_requests", "run.counters.global_request", "there is no `global_request`"),
    ("0.25 = 256 / 1024", "0.25 : 256", "neither NAME: COMMAND nor NUMBER"),
    ("{} kernels", "{} files", "does not print"),
    ("--counters --json", "--json", "there is no `counters`"),
)


def run(tool, path, *options):
    done = subprocess.run([sys.executable, SCRIPT, tool, path, *options], capture_output=True, text=True)
    if done.returncode not in (0, 1):
        fail(f"{options}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.returncode, done.stdout


def test_made_by_readers(tool):
    """A page's commands do not see files that a reader made in the checkout, because they would write through the link."""
    root, run_documents.ROOT = run_documents.ROOT, tempfile.mkdtemp()
    shutil.copy(os.path.join(root, ".gitignore"), run_documents.ROOT)
    for name in ("docs", "mine"):
        os.mkdir(os.path.join(run_documents.ROOT, name))
    for name in ("roofline.svg", "01_map.tile", "README.md"):
        open(os.path.join(run_documents.ROOT, name), "w").close()
    with tempfile.TemporaryDirectory() as folder:
        run_documents.make_checkout(folder, tool)
        if sorted(os.listdir(folder)) != ["README.md", "build", "build-test", "docs"]:
            fail(f"a checkout has {sorted(os.listdir(folder))}")
    shutil.rmtree(run_documents.ROOT)
    run_documents.ROOT = root


def main():
    tool, _, _ = arguments()
    test_made_by_readers(tool)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "page.md")

        def write(text):
            with open(path, "w") as file:
                file.write(text)

        write(PAGE)
        status, said = run(tool, path, "--check")
        if status != 0:
            fail(f"the page should pass:\n{said}")
        if said != "1 page says what the program does\n":
            fail(f"messages about a right page: {said}")
        write(PAGE.replace("{32, 16, 8}", "{32, 16}"))
        run(tool, path, "--help")
        if open(path).read() != PAGE.replace("{32, 16, 8}", "{32, 16}"):
            fail("--help writes")
        for old, new, reason in TWINS:
            if PAGE.count(old) < 1:
                fail(f"the page has no {old}")
            write(PAGE.replace(old, new))
            status, said = run(tool, path, "--check")
            if status != 1 or (reason or "and should be") not in said:
                fail(f"{old} -> {new}: status {status}, expected: {reason}\n{said}")
            if reason is None:
                run(tool, path)
                status, said = run(tool, path, "--check")
                if status != 0:
                    fail(f"{old} -> {new} is not mended:\n{said}")


if __name__ == "__main__":
    main()
