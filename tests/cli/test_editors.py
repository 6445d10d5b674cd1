#!/usr/bin/env python3
"""editors/: the files are those that scripts/editors.py writes from the compiler's tables, and highlight every word of the language: in
Vim if it is installed, by VS Code's patterns, and by tree-sitter's grammar, which accepts every kernel."""
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

from tile_runner import PATIENCE, fail

EDITORS = "scripts/editors.py"
# An argument's name and a cache hint are words in their own places, and ordinary names elsewhere.
WHERE = {"argument": "{} = 1", "hint": "hint({})", "function": "{}(x)", "effect": "{}(x)"}
DUMP = """
const say = (type) => (...members) => ({type, members: members.map(plain)});
const plain = (x) => typeof x === "string" ? {type: "STRING", value: x} : x instanceof RegExp ? {type: "PATTERN", value: x.source} : x;
const same = (x) => plain(x);
Object.assign(globalThis, {choice: say("CHOICE"), seq: say("SEQ"), repeat: (x) => ({type: "REPEAT", content: plain(x)}),
  optional: (x) => ({type: "CHOICE", members: [plain(x), {type: "BLANK"}]}), field: (name, x) => plain(x),
  prec: Object.assign((n, x) => plain(x), {right: same, left: same}), token: (x) => ({type: "TOKEN", content: plain(x)}),
  grammar: (g) => {
    const $ = new Proxy({}, {get: (_, name) => ({type: "SYMBOL", name})});
    const rules = Object.fromEntries(Object.entries(g.rules).map(([name, rule]) => [name, plain(rule($))]));
    for (const name of JSON.stringify(rules).matchAll(/"SYMBOL","name":"(\\w+)"/g))
      if (!rules[name[1]]) throw `no rule ${name[1]}`;
    console.log(JSON.stringify({word: g.word($).name, rules}));
    return g;
  }});
require(process.argv[1]);
"""


def run(command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    if done.returncode != 0:
        fail(f"{command[:2]}: {done.stdout}{done.stderr}")
    return done.stdout


def test_vim(words):
    program = shutil.which("vim")
    if not program or "+syntax" not in run([program, "--version"]):
        return
    names = [(kind, name) for kind in words for name in words[kind]]
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/words.tile", "w") as out:
            out.write("\n".join(name for _, name in names) + '\n"text"\n// TODO\n0x1F\n1.5e3\nx\n')
        ask = f"call writefile(map(range(1, line('$')), 'synIDattr(synID(v:val, 1, 1), \"name\")'), '{folder}/seen')"
        run([program, "-Nu", "NONE", "-es", "-c", "set rtp^=editors/vim", "-c", "filetype plugin on", "-c", "syntax on",
             "-c", f"edit {folder}/words.tile", "-c", ask, "-c", "qa!"])
        seen = open(f"{folder}/seen").read().split("\n")[:-1]
    for (kind, name), got in zip(names, seen):
        if got not in {"tile" + other.capitalize() for other in words if name in words[other]}:
            fail(f"vim shows {name}, of kind {kind}, as {got}")
    if seen[len(names):] != ["tileString", "tileComment", "tileNumber", "tileFloat", ""]:
        fail(f"vim: {seen[len(names):]}")


def test_textmate(words):
    grammar = json.load(open("editors/vscode/syntaxes/tile.tmLanguage.json"))
    for file in ("package.json", "language-configuration.json"):
        json.load(open(f"editors/vscode/{file}"))
    plain = [p for p in grammar["patterns"] if "match" in p and "captures" not in p]
    for kind, names in words.items():
        for name in names:
            text = WHERE.get(kind, "{}").format(name)
            start = text.index(name)
            scopes = [p["name"] for p in plain if (m := re.compile(p["match"]).match(text, start)) and m.end() == start + len(name)]
            if not scopes or scopes[0].startswith("entity"):
                fail(f"VS Code does not know {name}: {scopes}")
    for text, scope in (("12", "numeric.integer"), ("0xF", "numeric.integer"), ("1.5e-3", "numeric.float"), (".5", "numeric.float"),
                        ("// x", "comment"), ("+:", "slice"), ("mine(", "function.call")):
        first = next(p["name"] for p in plain if re.match(p["match"], text))
        if scope not in first:
            fail(f"VS Code shows {text} as {first}")


# --- tree-sitter: the grammar as written, by Earley's algorithm ---

def simple(grammar):
    """Returns rules without choices and repetitions inside, {name: [[symbol or terminal, …], …]}, and the terminals."""
    rules, terminals = {}, {}

    def pattern(rule):
        kind = rule["type"]
        if kind == "CHOICE":
            return "(?:" + "|".join(pattern(m) for m in rule["members"]) + ")"
        return re.escape(rule["value"]) if kind == "STRING" else rule["value"]

    def expand(rule):
        kind = rule["type"]
        if kind in ("STRING", "PATTERN", "TOKEN"):
            name = rule.get("value") or pattern(rule["content"])
            terminals[(kind, name)] = re.compile(re.escape(name) if kind == "STRING" else name)
            return [[(kind, name)]]
        if kind == "BLANK":
            return [[]]
        if kind == "SYMBOL":
            return [[rule["name"]]]
        if kind == "CHOICE":
            return [way for member in rule["members"] for way in expand(member)]
        if kind == "SEQ":
            ways = [[]]
            for member in rule["members"]:
                ways = [a + b for a in ways for b in expand(member)]
            return ways
        name = f"repeat{len(rules)}"
        rules[name] = None
        rules[name] = [[], *[[name, *way] for way in expand(rule["content"])]]
        return [[name]]

    for name, rule in grammar["rules"].items():
        rules[name] = expand(rule)
    return rules, terminals


def tokens(text, terminals):
    """Returns for each token the terminals that it may be: the longest match; a word may also be a keyword."""
    at, found = 0, []
    skip = re.compile(r"(?:\s+|//[^\n]*|/\*.*?\*/)*", re.S)
    while (at := skip.match(text, at).end()) < len(text):
        lengths = {key: m.end() - at for key, regex in terminals.items() if (m := regex.match(text, at))}
        longest = max(lengths.values(), default=0)
        if not longest:
            fail(f"tree-sitter has no token for {text[at:at + 20]!r}")
        found.append({key for key, length in lengths.items() if length == longest})
        at += longest
    return found


def accepts(rules, start, stream):
    """Parses by Earley (1970), with nullable rules completed when they are predicted (Aycock and Horspool, 2002)."""
    nullable = {name for name, ways in rules.items() if [] in ways}
    columns = [dict.fromkeys([(start, tuple(way), 0, 0) for way in rules[start]])]
    for i, token in enumerate([*stream, set()]):
        waiting, following, queue = {}, {}, list(columns[i])
        seen = columns[i]
        while queue:
            name, way, dot, origin = queue.pop()
            new = []
            if dot < len(way) and isinstance(way[dot], tuple):
                if way[dot] in token:
                    following[(name, way, dot + 1, origin)] = None
            elif dot < len(way):
                new = [(way[dot], tuple(w), 0, i) for w in rules[way[dot]]]
                if way[dot] in nullable:
                    new.append((name, way, dot + 1, origin))
            else:
                new = [(n, w, d + 1, o) for n, w, d, o in list(columns[origin])
                       if d < len(w) and w[d] == name]
            for item in new:
                if item not in seen:
                    seen[item] = None
                    queue.append(item)
        if i == len(stream):
            return any(n == start and d == len(w) and o == 0 for n, w, d, o in columns[i])
        columns.append(following)
        if not following:
            return False


def test_tree_sitter(words):
    for file in ("package.json", "tree-sitter.json"):
        json.load(open(f"editors/tree-sitter-tile/{file}"))
    query = open("editors/tree-sitter-tile/queries/highlights.scm").read()
    missing = [name for names in words.values() for name in names if f'"{name}"' not in query and name not in words["type"]]
    if missing:
        fail(f"queries/highlights.scm has no {missing}")
    if not shutil.which("node"):
        return
    grammar = json.loads(run(["node", "-e", DUMP, "./editors/tree-sitter-tile/grammar.js"]))
    rules, terminals = simple(grammar)
    literal = {value for kind, value in terminals if kind == "STRING"}
    missing = [name for kind in words if kind not in ("function", "effect", "argument", "index") for name in words[kind] if name not in literal]
    if missing:
        fail(f"grammar.js has no {missing}")
    for path in sorted(glob.glob("kernels/*/*.tile")):
        stream = tokens(open(path).read(), terminals)
        if not accepts(rules, "source_file", stream):
            fail(f"tree-sitter's grammar does not take {path}")
    if accepts(rules, "source_file", tokens("kernel k() grid(1) { sync(; }", terminals)):
        fail("tree-sitter's grammar takes brackets that do not close")


def test_tree_sitter_itself():
    """Tree-sitter's own generator and parser, if they are installed."""
    program = shutil.which("tree-sitter")
    if not program or not shutil.which("node"):
        return
    with tempfile.TemporaryDirectory() as folder:
        at = shutil.copytree("editors/tree-sitter-tile", f"{folder}/tree-sitter-tile")
        kernels = [os.path.abspath(path) for path in glob.glob("kernels/*/*.tile")]
        for command in ([program, "generate"], [program, "parse", "--quiet", *kernels]):
            done = subprocess.run(command, cwd=at, capture_output=True, text=True, timeout=PATIENCE)
            if done.returncode != 0:
                fail(f"{command[:2]}: {done.stdout}{done.stderr}")


STUBS = """
const path = require("path"), extension = path.resolve("editors/vscode/extension.js"), module_ = require("module");
const load = module_._load, settings = {path: "/bin/x", device: "sm_80"}, seen = [];
module_._load = (name, ...rest) => {
  if (name === "vscode") return {workspace: {getConfiguration: (s) => ({get: (key) => s === "tilewright" && settings[key]})}};
  if (name !== "vscode-languageclient/node") return load(name, ...rest);
  if (process.argv[1] === "without") throw new Error("Cannot find module");
  return {LanguageClient: class {
    constructor(...given) { seen.push(given); }
    async start() { seen.push("start"); }
    async stop() { seen.push("stop"); }
  }};
};
const {activate, deactivate} = require(extension);
activate().then(deactivate).then(() => console.log(JSON.stringify(seen)));
"""


def test_vscode_server():
    """The extension starts the server as its settings say, and does nothing if the client's module is missing."""
    if not shutil.which("node"):
        return
    package = json.load(open("editors/vscode/package.json"))
    if package["main"] != "./extension.js" or set(package["contributes"]["configuration"]["properties"]) != {"tilewright.path", "tilewright.device"}:
        fail(f"{package}")
    (_, _, server, client), *ends = json.loads(run(["node", "-e", STUBS]))
    if server["run"] != {"command": "/bin/x", "args": ["lsp"]} or client["initializationOptions"] != {"device": "sm_80"} or ends != ["start", "stop"]:
        fail(f"the extension starts {server} {client} {ends}")
    if json.loads(run(["node", "-e", STUBS, "without"])) != []:
        fail("the extension fails without its module")


def test_installing():
    """The commands of docs/install.md, for a user who has no files for the editor yet."""
    commands = re.findall(r"^\| [^|`]* \| `(mkdir [^`]*)`", open("docs/install.md").read(), re.M)
    with tempfile.TemporaryDirectory() as home:
        for command in commands:
            done = subprocess.run(["sh", "-c", command], cwd="editors", env=dict(os.environ, HOME=home), capture_output=True, text=True)
            if done.returncode != 0:
                fail(f"$ {command}\n{done.stderr}")
        made = [f"{home}/.vim/syntax/tile.vim", f"{home}/.vscode/extensions/tilewright-tile/package.json"]
        if len(commands) != len(made) or not all(map(os.path.exists, made)):
            fail(f"{commands} made {os.listdir(home)}")


def main():
    run([sys.executable, EDITORS, "--check"])
    words = json.loads(run([sys.executable, EDITORS, "--words"]))
    if not all(words.values()):
        fail(f"an empty kind of words: {words}")
    test_vim(words)
    test_textmate(words)
    test_tree_sitter(words)
    test_tree_sitter_itself()
    test_vscode_server()
    test_installing()


if __name__ == "__main__":
    main()
