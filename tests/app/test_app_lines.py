#!/usr/bin/env python3
"""The lines of the host's calls, which findings name if the program has debug information: of each version, compressed, with inlined functions, and in
shared objects. Without it, or if it is damaged, the places are functions."""
import concurrent.futures
import json
import os
import re
import shutil
import sys
import tempfile
import xml.etree.ElementTree

from app_runner import HERE, build, libraries, nvcc, ptx_alone
from tile_runner import call, expect

SOURCE = os.path.join(HERE, "lines.cu")
BUILT = {
    "plain": ["-g"],
    "optimised": ["-g", "-O3"],
    "dwarf4": ["-g", "-O2", "-Xcompiler", "-gdwarf-4"],
    "wide": ["-g", "-O2", "-Xcompiler", "-gdwarf64"],
    "packed": ["-g", "-O2", "-Xcompiler", "-gz=zlib"],
    "fixed": ["-g", "-O2", "-Xcompiler", "-no-pie", "-Xlinker", "-no-pie"],
    "shared": ["-g", "-O2", "-Xcompiler", "-fPIC"],
    "none": ["-O2"],
    "split": ["-g", "-O2", "-Xcompiler", "-gsplit-dwarf"],
}
CLANG = {"clang": ["-g", "-O2", "-ccbin", "clang++"]}
WITHOUT = ("none", "split")


def marked_lines():
    with open(SOURCE) as f:
        return {m.group(1): number for number, line in enumerate(f, 1) if (m := re.search(r"// line: (\w+)", line))}


def make(folder, name, options):
    if name != "shared":
        return build(folder, "lines.cu", *ptx_alone(), *options, name=name)
    library = build(folder, "lines.cu", *ptx_alone(), *options, "-shared", "-Dmain=run_lines", name="liblines.so")
    with open(f"{folder}/shared.cpp", "w") as f:
        f.write("int run_lines();\nint main()\n{\n    return run_lines();\n}\n")
    program = f"{folder}/{name}"
    done = call(["g++", "-o", program, f"{folder}/shared.cpp", library, f"-Wl,-rpath,{folder}"])
    expect(done.status == 0, done)
    return program


def check_report(tool, program):
    """Each finding has the exact line of its call."""
    done = call([tool, "check", "--json", "--", program])
    found = json.loads(done.out)["findings"]
    kinds = [f["kind"] for f in found]
    expect(kinds == ["uninitialised"] * 3 + ["invalid-free", "outside-copy"], f"{program}: {done}")
    for name, f in zip(("plain", "inner", "generic", "freed", "copied"), found):
        expect(f["site_line"] == f"{SOURCE}:{LINES[name]}", f"{program}: {name}: {f}")
        expect(f"lines.cu:{LINES[name]} (" in f["text"], f"{program}: {f['text']}")
        expect(re.search(rf"by cudaMalloc at \S*lines[.]cu:{LINES['made']} \(\S+\+0x\w+ in ", f["text"]), f"{program}: {f['text']}")
        expect(re.fullmatch(r".+\+0x[0-9a-f]+ in [\w.]+", f["site"]), f)


def check_without(tool, program):
    """Without lines the places are functions; nothing else changes."""
    done = call([tool, "check", "--json", "--", program])
    found = [f for f in json.loads(done.out)["findings"] if f["kind"] != "no-lines"]
    expect(len(found) == 5 and not any("site_line" in f for f in found), f"{program}: {done}")
    expect(all(re.search(r"by cudaMalloc at \S+\+0x", f["text"]) for f in found), f"{program}: {done}")


def check_damaged(tool, folder):
    """A damaged section: no lines of it, and the findings are there."""
    for section in ("debug_line", "debug_info", "debug_abbrev", "debug_line_str", "debug_rnglists"):
        for name, data in (("zeros", bytes(1000)), ("ones", b"\xff" * 1000), ("empty", b""), ("long", b"\xff\xff\xff\xff" + b"\xf0" * 12)):
            with open(f"{folder}/bytes", "wb") as f:
                f.write(data)
            program = f"{folder}/damaged"
            done = call(["objcopy", "--update-section", f".{section}={folder}/bytes", f"{folder}/optimised", program])
            expect(done.status == 0, done)
            done = call([tool, "check", "--json", "--", program])
            found = json.loads(done.out)["findings"]
            expect(len(found) == 5, f"{section}, {name}: {done}")
            if section in ("debug_line", "debug_info", "debug_abbrev"):
                expect(not any("site_line" in f for f in found), f"{section}, {name}: {done}")


def check_packed(tool, folder):
    """Compressed sections that are damaged are a note; the findings are there."""
    done = call(["readelf", "-SW", f"{folder}/packed"])
    row = re.search(r"\.debug_line +PROGBITS +\w+ (\w+) (\w+) ", done.out)
    with open(f"{folder}/packed", "rb") as f:
        data = bytearray(f.read())
    begin, size = int(row.group(1), 16), int(row.group(2), 16)
    data[begin + 40:begin + size] = bytes(size - 40)
    with open(f"{folder}/torn", "wb") as f:
        f.write(data)
    os.chmod(f"{folder}/torn", 0o755)
    check_without(tool, f"{folder}/torn")
    done = call([tool, "check", "--verbose", "--", f"{folder}/torn"])
    expect(done.err.count(f"note: no-lines: the compressed lines of {folder}/torn are damaged") == 1, done)


def check_files(tool, folder):
    """SARIF has each line as a place, relative to the present folder if it is below that; JUnit has it in the text."""
    sarif, junit = f"{folder}/found.sarif", f"{folder}/found.xml"
    call([tool, "check", "--sarif", sarif, "--junit", junit, "--", f"{folder}/plain"], cwd=HERE)
    with open(sarif) as f:
        results = json.load(f)["runs"][0]["results"]

    def places(result):
        listed = result["locations"] + result.get("relatedLocations", [])
        return [(p["physicalLocation"]["artifactLocation"]["uri"], p["physicalLocation"]["region"]["startLine"]) for p in listed]

    expect(places(results[3]) == [("lines.cu", LINES["freed"])], results[3])
    expect(places(results[4]) == [("lines.cu", LINES["copied"])], results[4])
    expect(results[4]["locations"][0]["logicalLocations"][0]["fullyQualifiedName"].startswith("main+0x"), results[4])
    expect(places(results[0])[0][0] == "lines.cu" and places(results[0])[-1] == ("lines.cu", LINES["plain"]), results[0])
    cases = [case for case in xml.etree.ElementTree.parse(junit).getroot() if case.find("failure") is not None]
    texts = [case.find("failure").text for case in cases]
    expect((cases[3].get("file"), cases[3].get("line")) == ("lines.cu", str(LINES["freed"])), cases[3].attrib)
    expect((cases[0].get("file"), int(cases[0].get("line"))) == places(results[0])[0], cases[0].attrib)
    expect(len(texts) == 5 and f" at lines.cu:{LINES['freed']} (" in texts[3], texts)


def check_suppressed(tool, folder):
    """A line of --suppress may name the line of a call."""
    for line, found in ((f"invalid-free lines.cu:{LINES['freed']}", False), (f"invalid-free lines.cu:{LINES['freed'] + 1}", True),
                        ("invalid-free main*", False)):
        with open(f"{folder}/known", "w") as f:
            f.write(line)
        done = call([tool, "check", "--json", "--suppress", f"{folder}/known", "--", f"{folder}/plain"])
        expect(any(f["kind"] == "invalid-free" for f in json.loads(done.out)["findings"]) == found, f"{line}: {done}")


def check_moved(tool, folder):
    """A program that the shell finds on the path, and that has no name of a file."""
    done = call(["sh", "-c", f"PATH={folder}:$PATH; exec {tool} check --json -- sh -c plain"], cwd="/")
    found = json.loads(done.out)["findings"]
    expect(found[3]["site_line"] == f"{SOURCE}:{LINES['freed']}", done)


LINES = marked_lines()


def main():
    tool = os.path.abspath(sys.argv[1])
    libraries(tool, "libcudart.so.13")
    nvcc()
    built = {**BUILT, **(CLANG if shutil.which("clang++") else {})}
    with tempfile.TemporaryDirectory() as folder:
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            programs = dict(zip(built, pool.map(lambda name: make(folder, name, built[name]), built)))
        for name, program in programs.items():
            (check_without if name in WITHOUT else check_report)(tool, program)
        check_damaged(tool, folder)
        check_packed(tool, folder)
        check_files(tool, folder)
        check_suppressed(tool, folder)
        check_moved(tool, folder)


if __name__ == "__main__":
    main()
