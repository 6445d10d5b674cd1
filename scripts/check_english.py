#!/usr/bin/env python3
"""Finds turns of phrase that need a second reading, and says what to write instead.

    check_english.py [ROOT]            the finished parts of the tree: UNFINISHED, COMMENTS and MESSAGES below
    check_english.py --all FILE…       files, finished or not

Prints FILE:LINE: "the phrase": what to write; status 1 if there is any. It reads the prose of Markdown (without code and links' targets), the
comments of sources, and the texts in string literals of sources. To add a part of the tree, correct what `--all` finds there and change its list.
"""
import fnmatch
import os
import re
import subprocess
import sys

# Finished parts, as patterns of paths from the root, one a line; * also matches folders. Documents are finished unless they are listed.
UNFINISHED = [
]
COMMENTS = [
    "CMakeLists.txt",
    "bench/*",
    "cmake/*",
    "editors/*",
    "examples/*",
    "include/*",
    "kernels/*",
    "python/*",
    "scripts/*",
    "src/base/*",
    "src/cpu/*",
    "src/lang/*",
    "src/layout/*",
    "src/aot/*",
    "src/api/*",
    "src/audit/*",
    "src/blas/*",
    "src/cuda/*",
    "src/driver/*",
    "src/emit/*",
    "src/facts/*",
    "src/model/*",
    "src/nvptx/*",
    "src/oracle/*",
    "src/plan/*",
    "src/ptx/*",
    "src/runtime/*",
    "src/sass/*",
    "src/sim/*",
    "src/store/*",
    "src/synccheck/*",
    "src/target/*",
    "src/thread/*",
    "src/tile/*",
    "tests/CMakeLists.txt",
    "tests/abi/*.py",
    "tests/aot/*",
    "tests/cli/*",
    "tests/cross/*",
    "tests/cublas/*",
    "tests/cuda/*",
    "tests/errors/*",
    "tests/fuzz/*.[ch]",
    "tests/golden/*",
    "tests/gpu/*",
    "tests/model/*",
    "tests/parity/*",
    "tests/peers/*",
    "tests/ptx/*",
    "tests/puzzles/*.py",
    "tests/python/*",
    "tests/sim/*",
    "tests/sync/*",
    "tests/unit/*",
    "tests/values/*",
    "tests/web/*",
    "tools/*",
    "web/*",
]
MESSAGES = [
    "examples/*",
    "src/*",
    "tools/*",
    "web/*",
]

# (pattern, what to write). A space in a pattern is any white space, so a phrase may go over the end of a line.
PHRASES = [
    (r"nobody|no one(?! of)", "name the agent: no thread, no block, no program"),
    (r"whoever|whosoever", "name the agent: the caller, the thread that …"),
    (r"in vain", "say what happens: finds nothing, has no effect"),
    (r"(?:so|that) many(?! (?:that|as))", "the number, or `count`"),
    (r"as far as(?! possible)", "if, unless, up to"),
    (r"the same (?:goes )?with(?! the same)", "say it again with the noun"),
    (r"(?:say|says|said|saying) so", "name what the text says"),
    (r"(?:is|are) said", "name the one that says it: the report names, the message says"),
    (r"stands?(?![-\w]| (?:alone|out|in for))|stood", "is, are, lies; for a symbol: means; for a sample: represents"),
    (r"beside", "compared with, next to, with"),
    (r"besides", "also, in addition, apart from"),
    (r"behind", "after, below, following; of caches: on a miss of"),
    (r"in front(?: of)?", "before, above, first"),
    (r"but for(?! \w+ing)", "except for"),
    (r"had better", "should"),
    (r"by way of", "through, with"),
    (r"by custom", "usually"),
    (r"(?:it|them|him|one|errors|faults|yet) all the same", "nevertheless"),
    (r"anew", "again"),
    (r"whence|thence|hence|hither|thereof|therein|thereby|thereupon|whereupon|wherein|whereof", "so, from, in it"),
    (r"[Ss]o (?:it|they) (?:is|are|do|does|did|was|were)(?= (?:where|when|with|in|for|on|too)|[.,;:)])", "say it again with the noun and the verb"),
    (r"(?:sees?|saw) to (?:it|that)", "ensures, makes sure"),
    (r"(?:as|what|that|if|when|which|where|how|than) one (?:can|may|must|would|does|writes|sees|needs|wants)",
     "name the agent: you, the caller, the compiler"),
    (r"those who|(?:for|by|to) (?:him|her|them) who|he who", "name the agent"),
    (r"(?:is|are|was|were) no(?= \w)(?! (?:longer|more|less|fewer|better|worse|other|such|doubt|one|\w+er than))",
     "is not a, are not"),
    (r"(?:the|of|by|in|with) latter|the former", "repeat the noun"),
    (r"at home", "where it usually is"),
    (r"if nothing is said|nothing said|unless said otherwise", "by default, without this option"),
    (r"as it were|so to speak|to speak of", "leave it out"),
    (r"what is (?:asked|wanted|meant|told|read|written|given) of", "begin with the thing"),

    (r"comes? (?:to|up to) nothing|to no avail|for naught", "say what happens"),
    (r"much the same|the like of", "say in which way"),
]
# A sentence or a comment that begins with one of these hides its subject. Questions and headings may.
OPENINGS = [
    (r"Of(?! course)", "begin with the subject: X of Y …"),
    (r"Where", "If, When; or begin with the place"),
    (r"Whether", "begin with the noun: True if …, Returns whether …"),
    (r"Whose", "begin with the noun"),
    (r"What", "begin with the noun"),
    (r"Who", "begin with the noun"),
]
WORDS = [(re.compile(r"(?<![\w-])(?:" + p.replace(" ", r"\s+") + r")(?![\w-])"), plain) for p, plain in PHRASES]
# The beginning of a text, or after the end of a sentence, an emphasis or a paragraph.
STARTS = [(re.compile(r"(?:\A\s*|(?<=[.!:;])\s+|\n[ \t]*\n\s*|\n[ \t]*[-*] +)(?P<at>(?:" + p + r")\s[^.?]*)(?P<end>[.?]?)"), plain)
          for p, plain in OPENINGS]

THERE = re.compile(r"\b[Tt]here\s+\Z")  # "there is no" is plain

FENCE = re.compile(r"^[ \t]*(```|~~~).*?^[ \t]*\1[ \t]*$", re.M | re.S)
MARKUP = re.compile(r"<!--.*?-->|`[^`\n]*`|(?<=\])\([^)\n]*\)|^#+ [^\n]*|^\|[-:| ]+\|$|!\[[^\]]*\]", re.M | re.S)
BLOCK = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'|(?P<c>/\*.*?\*/)|(?P<l>(?://[^\n]*(?:\n[ \t]*(?=//))?)+)', re.S)
HASH = re.compile(r'(?P<d>"""(?:\\.|[^\\])*?""")|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|(?P<l>(?:(?<![\w$\\{])#[^\n]*(?:\n[ \t]*(?=#))?)+)', re.S)
STRING = re.compile(r'(?:"(?:\\.|[^"\\\n])*"(?:\s*(?:PRI\w+\s*)?(?="))?)+')


def blank(match):
    """Returns the same text with everything except line ends as spaces, so that places stay."""
    return re.sub(r"[^\n]", " ", match.group())


def prose(text):
    """Returns Markdown without code, targets and headings. A cell of a table is a paragraph of its own."""
    text = FENCE.sub(blank, text)
    text = MARKUP.sub(lambda m: re.sub(r"[^\n]", "`" if m.group().startswith("`") else " ", m.group()), text)
    return [(0, re.sub(r"[*_]{2}", "  ", text.replace("|", "\f")))]


def comments(text, hashes):
    found = []
    for match in (HASH if hashes else BLOCK).finditer(text):
        body = match.group("l") or match.group("d" if hashes else "c")
        if body:
            leader = r"^[ \t]*#+!?" if hashes else r"^[ \t]*(?:/\*+|\*+/|\*+|//+)"
            body = re.sub(leader, lambda m: " " * len(m.group()), body, flags=re.M)
            body = re.sub(r'\*/|"""', lambda m: " " * len(m.group()), body)
            body = re.sub(r"`[^`\n]*`|\"[^\"\n]*\"", lambda m: "`" * len(m.group()), body)
            found.append((match.start(), body))
    return found


def strings(text):
    """Returns the texts in string literals, if they have at least three words."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*", blank, text, flags=re.S)
    found = []
    for match in STRING.finditer(text):
        body = re.sub(r'"|\\[nt]', lambda m: " " * len(m.group()), match.group())
        if len(re.findall(r"[A-Za-z]{2,}", body)) >= 3:
            found.append((match.start(), re.sub(r"`[^`\n]*`", lambda m: "`" * len(m.group()), body)))
    return found


def findings(pieces):
    """Returns (position, phrase, what to write)."""
    found = []
    for start, body in pieces:
        for pattern, plain in WORDS:
            found += [(start + m.start(), m.group(), plain) for m in pattern.finditer(body)
                      if not THERE.search(body, max(0, m.start() - 40), m.start())]
        for pattern, plain in STARTS:
            for m in pattern.finditer(body):
                if m.group("end") != "?" and not re.match(r"[^:\n]{1,40}:\s*$", m.group("at"), re.M):
                    found.append((start + m.start("at"), m.group("at").split()[0] + " …", plain))
    return sorted(found)


def kinds(path, everything):
    """Returns the parts of a file to read: "prose", "comments", "strings"."""
    def among(patterns):
        return any(fnmatch.fnmatch(path, pattern) for pattern in patterns)
    if path.endswith(".md"):
        return ["prose"] if everything or not among(UNFINISHED) else []
    if not path.endswith((".c", ".h", ".def", ".cu", ".tile", ".ts", ".mjs", ".js", ".svelte", ".py", ".sh", ".cmake", ".txt")):
        return []
    return [kind for kind, patterns in (("comments", COMMENTS), ("strings", MESSAGES)) if everything or among(patterns)]


def check(path, text, everything=False):
    """Returns the lines to print for one file."""
    said = []
    for kind in kinds(path, everything):
        if kind == "prose":
            pieces = prose(text)
        elif kind == "comments":
            pieces = comments(text, path.endswith((".py", ".sh", ".cmake", ".txt")))
        else:
            pieces = strings(text) if path.endswith((".c", ".h", ".def")) else []
        said += [(at, f'{path}:{text.count(chr(10), 0, at) + 1}: "{" ".join(phrase.split())}": {plain}')
                 for at, phrase, plain in findings(pieces)]
    return [line for _, line in sorted(said)]


def files_of(root):
    done = subprocess.run(["git", "-C", root, "ls-files", "-co", "--exclude-standard"], capture_output=True, text=True)
    if done.returncode == 0:
        return done.stdout.splitlines()
    return [os.path.relpath(os.path.join(at, name), root) for at, _, names in os.walk(root) for name in names]


def main():
    everything = "--all" in sys.argv
    given = [a for a in sys.argv[1:] if a != "--all"]
    root = "." if everything else os.path.abspath(given[0] if given else os.path.join(os.path.dirname(__file__), ".."))
    said = []
    for path in given if everything else sorted(files_of(root)):
        if kinds(path, everything) and os.path.exists(os.path.join(root, path)):
            with open(os.path.join(root, path), encoding="utf-8") as file:
                said += check(path, file.read(), everything)
    print("\n".join(said))
    return 1 if said else 0


if __name__ == "__main__":
    sys.exit(main())
