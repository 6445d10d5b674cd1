#!/usr/bin/env python3
"""Checks the links of all Markdown in the tree, and that docs/README.md leads to every document.

    check_documents.py [ROOT]

Errors: a link to a file or a heading that does not exist; a document in docs/ that docs/README.md does not name, directly or by the
README.md of its folder.
"""
import os
import re
import subprocess
import sys

LINK = re.compile(r"\]\((?!\w+:)([^)#\s]*)(?:#([^)\s]*))?\)")
FENCE = re.compile(r"^(```|~~~).*?^\1\s*$", re.M | re.S)
CODE = re.compile(r"`[^`\n]+`")
HEADING = re.compile(r"^#{1,6} +(.*?) *$", re.M)


def markdown(root):
    done = subprocess.run(["git", "-C", root, "ls-files", "-co", "--exclude-standard", "*.md"], capture_output=True, text=True)
    if done.returncode == 0:
        return [path for path in done.stdout.splitlines() if os.path.exists(os.path.join(root, path))]
    return [os.path.relpath(os.path.join(at, name), root) for at, folders, names in os.walk(root) for name in names
            if name.endswith(".md") and not re.search(r"/(\.|build|node_modules)", at[len(root):])]


def anchors(text):
    """Returns the names of the headings in links: lower case, without punctuation, spaces as hyphens."""
    found = set()
    for heading in HEADING.findall(FENCE.sub("", text)):
        heading = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        name = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        number = 0
        while (name if not number else f"{name}-{number}") in found:
            number += 1
        found.add(name if not number else f"{name}-{number}")
    return found


def links(text):
    """Returns (line, file or "", heading or None) of each link outside of code."""
    blank = FENCE.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), text)
    for match in LINK.finditer(CODE.sub(lambda m: "`" * len(m.group()), blank)):
        yield text.count("\n", 0, match.start()) + 1, match.group(1), match.group(2)


def check(root):
    texts = {path: open(os.path.join(root, path)).read() for path in markdown(root)}
    errors, named = [], {}
    for path, text in texts.items():
        for line, file, heading in links(text):
            target = os.path.normpath(os.path.join(os.path.dirname(path), file)) if file else path
            named.setdefault(path, set()).add(target)
            if not os.path.exists(os.path.join(root, target)):
                errors.append(f"{path}:{line}: there is no {target}")
            elif heading and target in texts and heading not in anchors(texts[target]):
                errors.append(f"{path}:{line}: {target} has no heading #{heading}")
    index = os.path.join("docs", "README.md")
    reached = set(named.get(index, ()))
    for page in [page for page in reached if os.path.basename(page) == "README.md"]:
        reached |= named.get(page, set())
    for path in sorted(texts):
        if path.startswith("docs/") and path != index and path not in reached:
            errors.append(f"{index} does not lead to {path}")
    return errors


def main():
    errors = check(os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(__file__), "..")))
    for text in errors:
        print(f"error: {text}")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
