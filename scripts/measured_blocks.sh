#!/bin/sh
# Rewrites the blocks of docs/performance.md that a measurement prints: the table of `./dev bench -s 512 --threads 1` ("table"), and, if
# the page has such a block, every figure of bench/cpu.py ("cpu.md"). Run it on an idle machine, after ./dev bench has fetched the
# libraries; read the diff.
set -eu
cd "$(dirname "$0")/.."
page=docs/performance.md
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
build/tilewright bench -s 512 --threads 1 >"$folder/table"
if grep -q '^<!-- output: cpu.md -->' $page; then
    python3 bench/cpu.py || echo "measured_blocks.sh: bench/cpu.py has failed, see above" >&2
    sed -n '3,$p' build/bench/cpu.md >"$folder/cpu.md" # less its title
fi
awk -v folder="$folder" '
    function paste(file, line) { while ((getline line < file) > 0) print line }
    /^<!-- output: / {
        fence = $3 !~ /[.]md$/
        print
        print fence ? "```text" : ""
        paste(folder "/" $3)
        print fence ? "```" : ""
        skip = 1
        next
    }
    /^<!-- end -->/ { skip = 0 }
    !skip { print }
' $page >"$folder/page.md"
cat "$folder/page.md" >$page
