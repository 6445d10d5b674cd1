#!/usr/bin/env python3
"""Compares small kernels after passes with their goldens.

    run_golden.py TILEWRIGHT FILE.tile… [--bless]

Each comment "// show: --after PASS …" is a call of `tilewright show FILE`; FILE.golden holds their output, one
after the other. Printed programs must compile again; layouts and PTX (--stage) need not."""
import os
import shlex
import tempfile

from tile_runner import arguments, call, comments, compare, fail


def main():
    tool, files, bless = arguments()
    for path in files:
        text = open(path).read()
        name = os.path.basename(path)
        got = ""
        for given in comments(text, "show") or [""]:
            result = call([tool, "show", name, *shlex.split(given)], cwd=os.path.dirname(os.path.abspath(path)))
            if result.status != 0:
                fail(f"show {path} {given}: {result}")
            got += f"// show {given}".rstrip() + "\n" + result.out
            if "--stage" in given:
                continue
            with tempfile.TemporaryDirectory() as folder:
                again_path = os.path.join(folder, name)
                with open(again_path, "w") as out:
                    out.write(result.out)
                again = call([tool, "show", again_path, "--after", "check"])
                if again.status != 0:
                    fail(f"{path} {given}: the shown program does not compile: {again}\n{result.out}")
        compare(os.path.splitext(path)[0] + ".golden", got, bless)


if __name__ == "__main__":
    main()
