#!/usr/bin/env python3
"""Writes the highlighting of .tile files in editors/, and the words that the language server completes (tools/lsp/lsp_words.def), from the
compiler's own tables.

    editors.py            writes them
    editors.py --check    status 1 if they differ from the tables
    editors.py --words    the language's words by kind, as JSON
"""
import json
import os
import re
import sys

import ops_table

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
STORAGE = ["global", "shared", "reg", "static", "const", "async"]
DECLARES = ["import", "kernel", "fn", "type", "tune", "require", "ensures", "static_assert", "typeof"]
CONSTANTS = ["true", "false", "inf", "nan"]


def source(path):
    with open(os.path.join(ROOT, "src", path)) as file:
        return file.read()


def strings_of(path, start):
    """Returns the string literals of the table that begins with the regular expression, to its brace."""
    text = source(path)
    table = text[re.search(start, text).end():]
    return re.findall(r'"(\w+)"', table[:re.search(r"\};", table).start()])


def keywords():
    text = source("lang/scan.h")
    return re.findall(r'X\(\w+, "(\w+)"\)', text[text.index("#define KEYWORDS"):text.index("#define PUNCTUATORS")])


def calls(effects):
    """Returns the names of ops that are written as calls: statements, or values."""
    rows = re.findall(r'^OP\(\w+, "(\w+)", CALL, -?\d+, (\w+),', source("tile/ops.def"), re.M)
    return list(dict.fromkeys(name for name, kind in rows if (kind == "EFFECT") == effects))


def words():
    known = keywords()
    special = {*STORAGE, *DECLARES, *CONSTANTS}
    missing = special - set(known)
    if missing:
        sys.exit(f"editors.py knows words that the language has not: {sorted(missing)}")
    return {
        "control": [w for w in known if w not in special],  # a new keyword is one of these unless said above
        "storage": [w for w in known if w in STORAGE],
        "declares": [*(w for w in known if w in DECLARES), *re.findall(r'at_word\(p, "(\w+)"\)', source("lang/parse_family.c"))],
        "constant": [w for w in known if w in CONSTANTS],
        "type": re.findall(r'^DTYPE\(\w+, "(\w+)"', source("base/dtype.def"), re.M),
        "attribute": strings_of("lang/parse_kernel.c", r"attribute_names\[\] = \{"),
        "modifier": strings_of("lang/parse_expr.c", r'words\[\] = \{(?="inside)'),
        "hint": strings_of("lang/check_stmt.c", r"hints\[\] = \{"),
        "argument": strings_of("lang/check_call.c", r"names\[\] = \{(?=\"axis\", \"exclusive)"),
        "index": strings_of("lang/check_access.c", r"\} bases\[\] = \{"),
        "function": [*calls(False), "bits", "bytes"],
        "effect": calls(True),
    }


# --- Vim ---

VIM_GROUPS = {"control": "Statement", "storage": "StorageClass", "declares": "Structure", "constant": "Constant", "type": "Type",
              "attribute": "PreProc", "modifier": "Keyword", "hint": "Constant", "argument": "Identifier", "index": "Special",
              "function": "Function", "effect": "Keyword"}


def vim(table):
    lines = ['" Tile kernels. Written by scripts/editors.py of Tilewright.', 'if exists("b:current_syntax")', "  finish", "endif", ""]
    for kind, names in table.items():
        lines.append(f"syn keyword tile{kind.capitalize()} {' '.join(names)}")
    lines += [
        r'syn match tileNumber "\<\d\+\>"',
        r'syn match tileNumber "\<0[xX]\x\+\>"',
        r'syn match tileFloat "\<\d\+\.\d*\([eE][-+]\=\d\+\)\="',
        r'syn match tileFloat "\.\d\+\([eE][-+]\=\d\+\)\=\>"',
        r'syn match tileFloat "\<\d\+[eE][-+]\=\d\+\>"',
        r'syn match tileSlice "+:"',
        r'syn region tileString start=+"+ skip=+\\.+ end=+"+ oneline',
        "syn keyword tileTodo contained TODO FIXME XXX",
        r'syn match tileComment "//.*$" contains=tileTodo,@Spell',
        r'syn region tileComment start="/\*" end="\*/" contains=tileTodo,@Spell',
        "",
    ]
    groups = {**VIM_GROUPS, "number": "Number", "float": "Float", "slice": "Operator", "string": "String", "todo": "Todo", "comment": "Comment"}
    lines += [f"hi def link tile{kind.capitalize()} {group}" for kind, group in groups.items()]
    return "\n".join([*lines, "", 'let b:current_syntax = "tile"', ""])


# --- TextMate: VS Code and others ---

SCOPES = {"control": "keyword.control", "storage": "storage.modifier", "declares": "keyword.declaration", "constant": "constant.language",
          "type": "storage.type", "attribute": "keyword.other.attribute", "modifier": "keyword.other", "hint": "constant.other",
          "argument": "variable.parameter", "index": "variable.language", "function": "support.function", "effect": "keyword.other.statement"}


def textmate(table):
    patterns = [
        {"name": "comment.line.double-slash.tile", "match": "//.*$"},
        {"name": "comment.block.tile", "begin": "/\\*", "end": "\\*/"},
        {"name": "string.quoted.double.tile", "begin": '"', "end": '"|$',
         "patterns": [{"name": "constant.character.escape.tile", "match": "\\\\."}]},
        {"match": "\\b(kernel)\\s+([A-Za-z_]\\w*)",
         "captures": {"1": {"name": "keyword.declaration.tile"}, "2": {"name": "entity.name.function.tile"}}},
    ]
    behind = {"argument": "(?=\\s*=[^=])", "hint": "(?=\\s*\\))"}  # ordinary names elsewhere
    for kind, names in table.items():
        patterns.append({"name": f"{SCOPES[kind]}.tile", "match": f"\\b({'|'.join(names)})\\b{behind.get(kind, '')}"})
    patterns += [
        {"name": "constant.numeric.float.tile", "match": "\\b\\d+\\.\\d*([eE][-+]?\\d+)?|\\.\\d+([eE][-+]?\\d+)?\\b|\\b\\d+[eE][-+]?\\d+\\b"},
        {"name": "constant.numeric.integer.tile", "match": "\\b(0[xX][0-9A-Fa-f]+|\\d+)\\b"},
        {"name": "entity.name.function.call.tile", "match": "\\b[A-Za-z_]\\w*(?=\\s*\\()"},
        {"name": "keyword.operator.slice.tile", "match": "\\+:"},
        {"name": "keyword.operator.tile", "match": "[-+*/%&|^~!<>=?]+"},
    ]
    grammar = {"name": "Tile kernel", "scopeName": "source.tile", "fileTypes": ["tile"], "patterns": patterns}
    return json.dumps(grammar, indent=2) + "\n"


# --- tree-sitter: the grammar is written by hand; the kinds of words are generated ---

CAPTURES = {"control": "keyword", "storage": "keyword.storage", "declares": "keyword", "constant": "constant.builtin",
            "attribute": "attribute", "modifier": "keyword", "hint": "constant.builtin"}
SPLIT = {"kernel": "keyword.function", "fn": "keyword.function"}


def highlights(table):
    def quoted(names):
        return " ".join(f'"{name}"' for name in names)

    lines = ["; Written by scripts/editors.py of Tilewright. Later patterns count.", "(identifier) @variable"]
    lines += ["(call name: (identifier) @function.call)", "(kernel name: (identifier) @function)", "(function name: (identifier) @function)"]
    for kind in ("function", "effect"):
        lines.append(f"((call name: (identifier) @function.builtin)\n  (#any-of? @function.builtin {quoted(table[kind])}))")
    lines.append(f"((member object: (identifier) @variable.builtin)\n  (#any-of? @variable.builtin {quoted(table['index'])}))")
    lines.append(f"((identifier) @variable.parameter\n  (#any-of? @variable.parameter {quoted(table['argument'])}))")
    lines.append("(primitive_type) @type.builtin")
    for kind, capture in CAPTURES.items():
        lines.append(f"[{quoted(n for n in table[kind] if n not in SPLIT)}] @{capture}")
    lines += [f'"{name}" @{capture}' for name, capture in SPLIT.items()]
    lines += ["(comment) @comment", "(string) @string", "(integer) @number", "(float) @number.float", "(operator) @operator",
              '["(" ")" "[" "]" "{" "}"] @punctuation.bracket', '["," ";"] @punctuation.delimiter']
    return "\n".join(lines) + "\n"


def grammar_words(table):
    """Returns the part of words.js that grammar.js uses."""
    literal = {kind: table[kind] for kind in ("type", *CAPTURES)}
    return "// Written by scripts/editors.py of Tilewright.\nmodule.exports = " + json.dumps(literal, indent=2) + ";\n"


# --- the language server ---

SERVER_KINDS = {"control": "KEYWORD", "storage": "KEYWORD", "declares": "KEYWORD", "constant": "VALUE", "type": "TYPE",
                "attribute": "ATTRIBUTE", "modifier": "KEYWORD", "hint": "VALUE", "argument": "KEYWORD", "index": "VALUE"}


def server_words(table):
    rows = [(kind, name, "", "", "") for group, kind in SERVER_KINDS.items() for name in table[group]]
    rows += [("OP", name, shape, result.replace("`", ""), note) for name, form, shape, result, note in ops_table.entries()
             if form == "CALL" or name in table["function"]]
    lines = ["LSP_WORD({}, {})".format(kind, ", ".join(json.dumps(x, ensure_ascii=False) for x in row)) for kind, *row in rows]
    return "\n".join(["/* Written by scripts/editors.py: kind, word, and of an op its row in the index of ops. */", *lines, ""])


def files():
    table = words()
    return {"editors/vim/syntax/tile.vim": vim(table), "editors/vscode/syntaxes/tile.tmLanguage.json": textmate(table),
            "editors/tree-sitter-tile/words.js": grammar_words(table),
            "editors/tree-sitter-tile/queries/highlights.scm": highlights(table), "tools/lsp/lsp_words.def": server_words(table)}


def main():
    if "--words" in sys.argv:
        print(json.dumps(words(), indent=2))
        return 0
    stale = []
    for path, text in files().items():
        path = os.path.join(ROOT, path)
        if "--check" not in sys.argv:
            with open(path, "w") as out:
                out.write(text)
        elif not os.path.exists(path) or open(path).read() != text:
            stale.append(os.path.relpath(path, ROOT))
    if stale:
        print(f"{', '.join(stale)}: not what the compiler's tables say: run scripts/editors.py")
    return int(bool(stale))


if __name__ == "__main__":
    sys.exit(main())
