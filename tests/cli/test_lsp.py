#!/usr/bin/env python3
"""`lsp`: the session's rules, texts in UTF-16, diagnostics, quick fixes, hover, names, completion, formatting; damaged messages.
test_lsp_neovim.py tries the same through an editor."""
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import urllib.parse

from lsp_client import Server
from tile_runner import PATIENCE, expect

URI = "file:///tmp/a%20b/t.tile"
STAGES = open("kernels/matmul/stages.tile").read()
WIDE = """kernel k(i32 n, const f32 *a, f32 *c) grid(1) warps(1)
{
    global f32 A[n] = a, C[n] = c;
    /* é😀 */ int x = 3; // é😀
    C[x] = A[x];
    reg f32 t[16] = A[0 +: 8];
}
"""


def offset(text, position):
    """Returns the place in the text, in characters, of a position in UTF-16 units."""
    lines = text.split("\n")
    units = 0
    for i, c in enumerate(lines[position["line"]] + "\n"):
        if units >= position["character"]:
            break
        units += len(c.encode("utf-16-le")) // 2
    return sum(len(line) + 1 for line in lines[:position["line"]]) + i


def part(text, found):
    return text[offset(text, found["start"]):offset(text, found["end"])]


def edited(text, edits):
    for e in sorted(edits, key=lambda e: -offset(text, e["range"]["start"])):
        text = text[:offset(text, e["range"]["start"])] + e["newText"] + text[offset(text, e["range"]["end"]):]
    return text


def position(text, word, nth=0, more=0):
    """Returns the position of the nth `word`."""
    at = [m.start() for m in re.finditer(re.escape(word), text)][nth] + more
    line = text.count("\n", 0, at)
    start = text.rfind("\n", 0, at) + 1
    return line, len(text[start:at].encode("utf-16-le")) // 2


def test_session(tool):
    s = Server(tool)
    answer = s.ask("textDocument/hover", textDocument={"uri": URI}, position={"line": 0, "character": 0})
    expect(answer["error"]["code"] == -32002, answer)
    can = s.initialize()["capabilities"]
    expect(can["textDocumentSync"]["change"] == 2 and can["positionEncoding"] == "utf-16" and can["hoverProvider"], can)
    for method, params, code in (("initialize", {}, -32600), ("no/such", {}, -32601),
                                 ("textDocument/hover", {"textDocument": {"uri": URI}, "position": {"line": 0, "character": 0}}, -32602),
                                 ("textDocument/hover", {}, -32602)):
        answer = s.ask(method, **params)
        expect(answer["error"]["code"] == code and answer["error"]["message"], f"{method}: {answer}")
    s.open(URI, "")
    for where in (None, {"line": -1, "character": 0}, {"line": 0.5, "character": 0}, {"line": "0", "character": 0}, 7):
        answer = s.ask("textDocument/hover", textDocument={"uri": URI}, position=where)
        expect(answer["error"]["code"] == -32602, f"{where}: {answer}")
    expect(s.at("hover", URI, 99, 99) is None, "hover past the end")
    s.send(method="$/cancelRequest", params={"id": 1})
    s.send(id=77, result=None)
    expect(s.end() == 0, "status of a session that is shut down")
    s = Server(tool)
    s.initialize()
    s.notify("exit")
    expect(s.process.wait(PATIENCE) == 1, "status of an exit without a shutdown")
    s = Server(tool)
    s.initialize()
    s.process.stdin.close()
    expect(s.process.wait(PATIENCE) == 1, "status of an input that ends")
    s = Server(tool)
    s.initialize()
    s.result("shutdown")
    answer = s.ask("textDocument/hover", textDocument={"uri": URI}, position={"line": 0, "character": 0})
    expect(answer["error"]["code"] == -32600, answer)
    s.notify("exit")
    expect(s.process.wait(PATIENCE) == 0, "status")


def test_damaged(tool):
    """Each damaged message gets an error, and the session goes on."""
    s = Server(tool)
    s.initialize()
    deep = "[" * 100000
    for text, code in (("{", -32700), ("[1 2]", -32700), ('{"a": "\\x"}', -32700), ('{"a": 01}', -32700), ("nul", -32700), (deep, -32700),
                       ('"\x01"', -32700), ("{}", -32600), ("[]", -32600), ("7", -32600), ('{"method": 3, "id": 1}', -32600)):
        s.send_text(text)
        answer = s.next_where(lambda m: "error" in m)
        expect(answer["error"]["code"] == code and answer["id"] == (1 if '"id"' in text else None), f"{text[:40]}: {answer}")
    for header in (b"Content-Length: x\r\n\r\n", b"Content-Length: -4\r\n\r\n", b"Content-Length: 99999999999999999999\r\n\r\n",
                   b"Nonsense\r\n\r\n", b"X: " + b"y" * 10000 + b"\r\n\r\n"):
        s.send_bytes(header)
        answer = s.next_where(lambda m: "error" in m)
        expect(answer["error"]["code"] == -32700 and answer["id"] is None, answer)
    body = b'{"jsonrpc": "2.0", "id": "\\ud83d\\ude00", "method": "no"}'
    s.send_bytes(b"content-type: x\r\nCONTENT-LENGTH:%d\r\n\r\n" % len(body) + body)
    answer = s.next_where(lambda m: m.get("id") == "😀")
    expect(answer["error"]["code"] == -32601, answer)
    expect(s.end() == 0, "status after damaged messages")


def test_random_damage(tool):
    """Messages with bytes changed: the server answers or ends, and never crashes."""
    chance = random.Random(11)
    messages = [json.dumps({"jsonrpc": "2.0", "id": 1, "method": m, "params": {
        "textDocument": {"uri": URI, "text": WIDE, "version": 2}, "position": {"line": 3, "character": 9}, "range": {
            "start": {"line": 3, "character": 0}, "end": {"line": 4, "character": 1}}, "contentChanges": [
                {"text": "x", "range": {"start": {"line": 1, "character": 1}, "end": {"line": 2, "character": 0}}}]}})
                for m in ("initialize", "textDocument/didOpen", "textDocument/didChange", "textDocument/hover", "textDocument/completion",
                          "textDocument/codeAction", "textDocument/documentSymbol", "textDocument/formatting", "textDocument/definition")]
    for _ in range(40):
        stream = b""
        for message in [messages[0], messages[1].replace('"id": 1, ', ""), *chance.choices(messages, k=8)]:
            data = bytearray((message.replace('"id": 1, ', "") if "/did" in message else message).encode())
            for _ in range(chance.choice((0, 0, 1, 3))):
                data[chance.randrange(len(data))] = chance.choice((34, 44, 48, 92, 123, 125, 0, 255, chance.randrange(256)))
            stream += b"Content-Length: %d\r\n\r\n" % (len(data) + chance.choice((0, 0, 0, -1, 2))) + data
        done = subprocess.run([tool, "lsp"], input=stream, capture_output=True, timeout=PATIENCE)
        expect(done.returncode in (0, 1) and not done.stderr, f"{done.returncode} {done.stderr.decode()[-2000:]}\n{stream}")


def test_diagnostics(tool):
    s = Server(tool)
    s.initialize()
    s.open(URI, WIDE)
    found = s.diagnostics(URI, 1)
    expect([(d["severity"], d["code"], d["source"], part(WIDE, d["range"])) for d in found][:1] == [(1, "foreign", "tilewright", "int")], found)
    expect("write `i32`" in found[0]["message"], found)
    fixes = s.result("textDocument/codeAction", textDocument={"uri": URI}, range=found[0]["range"], context={"diagnostics": found})
    expect(len(fixes) == 1 and fixes[0]["kind"] == "quickfix" and fixes[0]["title"] == "write `i32`", fixes)
    fixed = edited(WIDE, fixes[0]["edit"]["changes"][URI])
    expect(fixed == WIDE.replace("int", "i32"), fixed)
    start = {"line": 0, "character": 0}
    expect(s.result("textDocument/codeAction", textDocument={"uri": URI}, range={"start": start, "end": start}, context={}) == [], "far fixes")

    # a change of a range, to the right of characters of two bytes and of two units
    line, character = position(WIDE, "int")
    s.change(URI, 2, {"range": {"start": {"line": line, "character": character}, "end": {"line": line, "character": character + 3}}, "text": "i32"})
    found = s.diagnostics(URI, 2)
    expect([part(fixed, d["range"]) for d in found] == ["A[0 +: 8]"] and "shapes do not match" in found[0]["message"], found)
    note = found[0]["relatedInformation"][0]
    expect(note["message"] == "declared here" and note["location"]["uri"] == URI and part(fixed, note["location"]["range"]) == "t", note)

    # two changes at once, the second in the text that the first makes
    s.change(URI, 3, {"range": {"start": {"line": 5, "character": 0}, "end": {"line": 6, "character": 0}}, "text": ""},
             {"range": {"start": {"line": 3, "character": 26}, "end": {"line": 3, "character": 31}}, "text": "// 😀"})
    expect(s.diagnostics(URI, 3) == [], "a right text")
    s.change(URI, 4, {"text": "kernel k() grid(1) threads(1)\r\n{\r\n    i32 é = 1;\r\n}\r\n"})
    found = s.diagnostics(URI, 4)
    expect(found and found[0]["range"]["start"] == {"line": 2, "character": 8}, found)

    # impossible changes are left out
    s.change(URI, 5, {"range": {"start": {"line": 9, "character": 0}, "end": {"line": 1, "character": 0}}, "text": "x"}, {"text": 5}, {})
    expect(s.diagnostics(URI, 5) == found, "changes that cannot be made")

    # races, and a feature that the device lacks, which is a warning
    race = "kernel r(f32 *c) grid(1) threads(64)\n{\n    global f32 C[64] = c;\n    shared f32 s[64];\n    s[thread.x] = 1;\n    C[thread.x] = s[63 - thread.x];\n}\n"
    s.change(URI, 6, {"text": race})
    found = s.diagnostics(URI, 6)
    expect(len(found) == 1 and found[0]["code"] == "race" and part(race, found[0]["range"]).startswith("s["), found)
    large = "kernel l(f32 *c) grid(1) warps(1)\n{\n    global f32 C[64] = c;\n    shared f32 s[300][300];\n    s = 0;\n    sync();\n    C[0 +: 64] = s[0][0 +: 64];\n}\n"
    s.change(URI, 7, {"text": large})
    found = s.diagnostics(URI, 7)
    expect(found and all(d["severity"] == 2 for d in found) and "sm_90 has 232448" in found[-1]["message"], found)

    # an empty list when the document closes
    s.notify("textDocument/didSave", textDocument={"uri": URI})
    s.notify("textDocument/didClose", textDocument={"uri": URI})
    expect(s.diagnostics(URI, 7) == [], "diagnostics of a document that is closed")
    expect(s.ask("textDocument/documentSymbol", textDocument={"uri": URI})["error"]["code"] == -32602, "a document that is closed")
    expect(s.end() == 0, "status")


def test_newer_text(tool):
    """The server answers while it checks a text; a newer text ends the check, and the old one gets no diagnostics."""
    s = Server(tool)
    s.initialize()
    head, kernel = STAGES[:STAGES.index("kernel")], STAGES[STAGES.index("kernel"):]
    slow = head + "\n".join(kernel.replace("matmul_v4", f"k{i}") for i in range(400))
    s.open(URI, slow)
    hover = s.at("hover", URI, *position(slow, "acc", 1))
    expect("reg f32 acc[BM][BN] = 0" in hover["contents"]["value"], hover)
    expect("sm_90" not in hover["contents"]["value"], f"the whole text is checked already: {hover}")
    s.change(URI, 2, {"text": STAGES})
    expect(s.diagnostics(URI, 2) == [] and not [m for m in s.kept if m.get("method") == "textDocument/publishDiagnostics"], s.kept)
    expect(s.end() == 0, "status")


def hovered(s, text, word, nth=0, more=0):
    found = s.at("hover", URI, *position(text, word, nth, more))
    return found["contents"]["value"] if found else None


def test_hover(tool):
    s = Server(tool)
    s.initialize(device="sm_80")
    s.open(URI, STAGES)
    expect(s.diagnostics(URI, 1) == [], "a kernel that ships")
    for word, nth, wanted in (
            ("acc +", 0, ["reg f32 acc[BM][BN] = 0", "f32[128][128] on sm_80: 128 elements a thread", "layout("]),
            ("sa[s], sb", 0, ["shared T sa[STAGES][BM][BK]", "24576 bytes of shared memory", "read of shared memory on sm_80: ld.shared", "wavefronts (at least"]),
            ("sa[t] =", 0, ["write of shared memory on sm_80: cp.async 4"]),
            ("C[i", 0, ["global T C[m][n] = c", "write of global memory on sm_80: st.global"]),
            ("matmul_v4", 0, ["kernel matmul_v4(", "128 threads a block on sm_80", "registers a thread"]),
            ("BK]", 0, ["tune BK = {16, 32}"]), ("n, BN", 0, ["static i32 n"]), ("T *a", 0, ["type T = {f32, f16, bf16}"]),
            ("i +:", 0, ["i32 i = block.x * BM"]),
            ("dot(", 0, ["dot(a, b) or dot(a, b, c) = c + a·b"]), ("cdiv", 0, ["cdiv(a, b)", "integer division rounded up"])):
        got = hovered(s, STAGES, word, nth)
        expect(got and all(text in got for text in wanted), f"hover over {word}: {got}")
    expect(hovered(s, STAGES, "= {") is None and hovered(s, STAGES, "// V4", 0, 4) is None, "hover over nothing")
    expect(s.end() == 0, "status")
    s = Server(tool, "--device", "cpu")
    s.initialize(device="sm_12")
    warned = s.next_where(lambda m: m.get("method") == "window/showMessage")
    expect("no device 'sm_12'" in warned["params"]["message"] and "taken is cpu" in warned["params"]["message"], warned)
    s.open(URI, STAGES)
    expect(s.diagnostics(URI, 1) == [] and "layout" not in hovered(s, STAGES, "acc +"), "layouts on the CPU")
    expect(s.end() == 0, "status")


def test_names(tool):
    s = Server(tool)
    s.initialize()
    s.open(URI, STAGES)
    for word, nth, more, declared in (("BM", 3, 0, ("BM", 0)), ("s]", 0, 0, ("s =", 0)), ("sa[s], sb[s]", 0, 3, ("s = 0; p", 0)),
                                      ("acc;", 0, 3, ("acc", 0)), ("acc", 0, 1, ("acc", 0))):
        found = s.at("definition", URI, *position(STAGES, word, nth, more))
        expect((found["range"]["start"]["line"], found["range"]["start"]["character"]) == position(STAGES, *declared), f"{word}: {found}")
    expect(s.at("definition", URI, *position(STAGES, "block")) is None, "definition of block")
    outline = s.result("textDocument/documentSymbol", textDocument={"uri": URI})
    expect([o["name"] for o in outline] == ["T", "BM", "BN", "BK", "WARPS", "STAGES", "matmul_v4"], outline)
    kernel = outline[-1]
    expect(part(STAGES, kernel["range"]).startswith("kernel") and part(STAGES, kernel["range"]).endswith("}"), kernel)
    expect([c["name"] for c in kernel["children"]] == "m n k a b c A B C sa sb i j acc s p s t q".split(), kernel)
    for o in outline + kernel["children"]:
        expect(part(STAGES, o["selectionRange"]) == o["name"] and o["name"] in part(STAGES, o["range"]), o)

    broken = STAGES.replace("acc += dot(sa[s], sb[s]);", "acc += do")
    s.change(URI, 2, {"text": broken})
    labels = {}
    for item in s.at("completion", URI, *position(broken, "acc += do", 0, 9)):
        labels.setdefault(item["label"], item)
    for name, kind, detail in (("acc", 6, "reg f32 acc[BM][BN] = 0"), ("m", 6, "i32 m"), ("BM", 21, "tune (BM, BN)"), ("dot", 3, "dot(…)"),
                               ("pipeline", 14, ""), ("f16", 25, ""), ("T", 25, "type T")):
        expect(name in labels and labels[name]["kind"] == kind and detail in labels[name].get("detail", ""), f"{name}: {labels.get(name)}")
    expect("matmul_v4" not in labels, "a kernel cannot be called")
    before = {i["label"] for i in s.at("completion", URI, *position(broken, "i32 i", 0, 0))}
    expect("sa" in before and "acc" not in before and "p" not in before, "names that are not known yet")
    expect([i["label"] for i in s.at("completion", URI, *position(broken, "block.x", 0, 6))] == ["x", "y", "z"], "axes")
    expect(s.at("completion", URI, *position(broken, "several")) == [], "completion in a comment")
    expect(s.at("definition", URI, *position(broken, "acc += do"))["range"]["start"]["line"] == 15, "a name in a statement with errors")
    expect(s.end() == 0, "status")


IMPORTS = """/* import "nowhere.tile"; */ const i32 BN = 32; import "mine.tile";
import "lib/activations.tile";

kernel scaled(i32 n, const f32 *x, f32 *y) grid(1) warps(1)
{
    global f32 X[n] = x, Y[n] = y;
    reg f32 t[BN] = X[0 +: BN];
    Y[0 +: BN] = relu(twice(t)) * FACTOR;
}
"""
MINE = """import "deeper.tile";

// Doubles.
fn f32 twice(f32 x)
{
    return 2 * x;
}
"""


def test_imports(tool):
    """Names of imported files, of files that these import, of a file that the editor has not saved; errors in one."""
    with tempfile.TemporaryDirectory(prefix="a b%") as folder:
        def uri(name):
            return "file://" + urllib.parse.quote(os.path.realpath(os.path.join(folder, name)))

        for name, text in (("mine.tile", MINE), ("deeper.tile", "const f32 FACTOR = 3;\n"), ("t.tile", IMPORTS)):
            with open(os.path.join(folder, name), "w") as f:
                f.write(text)
        s = Server(tool)
        s.initialize()
        s.open(uri("t.tile"), IMPORTS)
        expect(s.diagnostics(uri("t.tile"), 1) == [], "imports")
        for word, declared, name, line in (("twice", "fn f32 twice(f32 x)", "mine.tile", 3), ("FACTOR", "const f32 FACTOR = 3", "deeper.tile", 0)):
            place = position(IMPORTS, word)
            expect(declared in s.at("hover", uri("t.tile"), *place)["contents"]["value"], f"hover over {word}")
            found = s.at("definition", uri("t.tile"), *place)
            expect(found["uri"] == uri(name) and found["range"]["start"]["line"] == line, f"{word}: {found}")
        found = s.at("definition", uri("t.tile"), *position(IMPORTS, "relu"))
        expect(found["uri"].endswith("/kernels/lib/activations.tile"), found)
        found = s.at("definition", uri("t.tile"), *position(IMPORTS, "mine.tile"))
        expect(found == {"uri": uri("mine.tile"), "range": {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}}}, found)
        expect("mine.tile" in s.at("hover", uri("t.tile"), *position(IMPORTS, "mine.tile"))["contents"]["value"], "hover over an import")
        expect(s.at("hover", uri("t.tile"), *position(IMPORTS, "nowhere")) is None, "hover over an import in a comment")
        labels = {i["label"] for i in s.at("completion", uri("t.tile"), *position(IMPORTS, "twice"))}
        expect({"twice", "FACTOR", "relu", "gelu"} <= labels, "completion of imported names")
        s.open(uri("mine.tile"), MINE.replace("twice", "doubled"))
        labels = {i["label"] for i in s.at("completion", uri("t.tile"), *position(IMPORTS, "twice"))}
        expect("doubled" in labels and "twice" not in labels, "completion from a text that is not saved")
        with open(os.path.join(folder, "mine.tile"), "w") as f:
            f.write(MINE.replace("2 * x", "2 * z"))
        s.change(uri("t.tile"), 2, {"text": IMPORTS + "\n"})
        found = s.diagnostics(uri("t.tile"), 2)
        expect(len(found) == 1 and part(IMPORTS, found[0]["range"]) == '"mine.tile"' and "mine.tile:6: " in found[0]["message"], found)
        expect(s.end() == 0, "status")


def test_families(tool):
    """The files of a family are links, as imports are; a family is in the outline, and no expression can name it."""
    with tempfile.TemporaryDirectory() as folder:
        def uri(name):
            return "file://" + os.path.realpath(os.path.join(folder, name))

        text = 'family pair {\n    "one.tile";\n    "two.tile": k;\n}\n\nconst i32 family = 3;\n'
        with open(os.path.join(folder, "one.tile"), "w") as f:
            f.write("kernel k(f32 *c) grid(1) warps(1)\n{\n}\n")
        s = Server(tool)
        s.initialize()
        s.open(uri("t.tile"), text)
        found = s.diagnostics(uri("t.tile"), 1)
        expect(len(found) == 1 and part(text, found[0]["range"]) == '"two.tile"' and "there is no file `two.tile`" in found[0]["message"], found)
        place = s.at("definition", uri("t.tile"), *position(text, "one.tile"))
        expect(place["uri"] == uri("one.tile"), place)
        labels = {i["label"] for i in s.at("completion", uri("t.tile"), 5, 18)}
        expect("family" in labels and "pair" not in labels, labels)
        expect(s.end() == 0, "status")


def test_formatting(tool):
    s = Server(tool)
    s.initialize()
    messy = STAGES.replace("    ", "\t").replace(" = ", "=").replace("// zeros", "/* é😀 */ // zeros")
    s.open(URI, messy)
    formatted = subprocess.run([tool, "fmt", "-"], input=messy.encode(), capture_output=True).stdout.decode()

    def edits():
        return s.result("textDocument/formatting", textDocument={"uri": URI}, options={"tabSize": 4, "insertSpaces": True})

    expect(edited(messy, edits()) == formatted, "the edits of formatting")
    s.change(URI, 2, {"text": formatted})
    expect(edits() == [], "a text that is formatted")
    for n, text in enumerate((formatted + "\n\n", formatted[:-1], "\n" + formatted, formatted.replace("sync();", "sync( );"))):
        s.change(URI, 3 + n, {"text": text})
        expect(edited(text, edits()) == formatted, text)
    s.change(URI, 9, {"text": "kernel"})
    answer = s.ask("textDocument/formatting", textDocument={"uri": URI}, options={})
    expect(answer["error"]["code"] == -32803, answer)
    expect(s.end() == 0, "status")


def main():
    tool = os.path.abspath(sys.argv[1])
    for test in (test_session, test_damaged, test_random_damage, test_diagnostics, test_newer_text, test_hover, test_names, test_imports, test_families, test_formatting):
        test(tool)


if __name__ == "__main__":
    main()
