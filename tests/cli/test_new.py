#!/usr/bin/env python3
"""`new`: every template runs, verifies and checks clean under a name that the user chooses; no file is overwritten; names are checked."""
import os
import re
import shlex
import sys
import tempfile

from tile_runner import call, expect

WORDS = re.compile(r'\{"from", "([^"]*)"')


def result(tool, folder, status, *arguments):
    found = call([tool, *arguments], cwd=folder)
    expect(found.status == status, f"{arguments}: expected status {status}: {found}")
    return found


def test_template(tool, folder, template):
    """The commands that `new` prints work as printed, and no check is left out."""
    made = result(tool, folder, 0, "new", f"sub/my_{template}", "--from", template).out
    text = open(f"{folder}/sub/my_{template}.tile").read()
    expect(f"kernel my_{template}(" in text and " ensures " in text, text)
    expect(max(map(len, text.split("\n"))) <= 120, f"{template} has long lines")
    commands = re.findall(r"^    tilewright (.*)$", made, re.M)
    expect([shlex.split(c)[0] for c in commands] == ["run", "check", "explain"], made)
    for command in commands:
        expect(f"//     tilewright {command}\n" in text, f"{command} is not in the file")
        result(tool, folder, 0, *shlex.split(command))
    file = f"sub/my_{template}.tile"
    result(tool, folder, 0, "check", file, "--strict")
    for target in ("sm_80", "sm_90"):
        result(tool, folder, 0, "show", file, "--stage", "ptx", "--target", target)
    run = shlex.split(commands[0])
    types = ["f32", "f16", "bf16"] if "type T" in text else []
    for more in (["--device", "sim"], *(["--type", t] for t in types)):
        expect("verified" in result(tool, folder, 0, *run, *more).out, f"{run} {more}")
    ones = [re.sub(r"\b([mnk]|width)=\d+", r"\1=1", word) for word in run]
    expect("verified" in result(tool, folder, 0, *ones).out, ones)


def test_refusals(tool, folder):
    result(tool, folder, 0, "new", "kept")
    with open(f"{folder}/kept.tile", "w") as out:
        out.write("mine")
    said = result(tool, folder, 2, "new", "kept.tile").err
    expect("kept.tile exists already" in said and open(f"{folder}/kept.tile").read() == "mine", said)
    for name, why in (("my-kernel", "write my_kernel.tile"), ("2d", "write k2d.tile"), ("for", "'for' cannot name a kernel"),
                      ("", "NAME is the kernel's name"), ("int", "'int' cannot name a kernel: it is a word of C"),
                      ("no/such/folder/x", "there is no folder `no/such/folder`: make it first (mkdir -p no/such/folder)")):
        said = result(tool, folder, 2, "new", name).err
        expect(why in said, f"new {name}: {said}")
    for arguments, why in (([], "which NAME?"), (["a", "b"], "one NAME at a time"), (["--list", "a"], "--list takes no NAME"),
                           (["a", "--from", "row"], "did you mean 'rows'?")):
        said = result(tool, folder, 2, "new", *arguments).err
        expect(why in said, f"new {arguments}: {said}")
    left = sorted(os.listdir(folder))
    expect(left == ["kept.tile", "sub"], f"left over: {left}")


def main():
    tool = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(f"{folder}/sub")
        listed = result(tool, folder, 0, "new", "--list").out
        templates = re.findall(r"^(\w+) +\w.*\.$", listed, re.M)
        expect(templates == WORDS.search(open("tools/cli/help_forms.c").read())[1].split(), listed)
        for template in templates:
            test_template(tool, folder, template)
        test_refusals(tool, folder)


if __name__ == "__main__":
    main()
