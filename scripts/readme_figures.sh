#!/bin/sh
# Rewrites the blocks of README.md that are output: what the compiler says of the kernel without its barrier ("message"), the
# table of ./dev bench -s 512 --threads 1 ("table"), and where there is such a block every figure of bench/cpu.py ("cpu.md"). Run it
# on a machine that does nothing else, after ./dev bench has fetched the libraries; read the diff.
set -eu
cd "$(dirname "$0")/.."
tool=$PWD/build/tilewright
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
awk '!gone && /^ *sync\(\);/ { gone = 1; next } { print }' kernels/matmul/shared.tile >"$folder/shared.tile"
(cd "$folder" && "$tool" check shared.tile >message 2>&1) || true
"$tool" bench -s 512 --threads 1 >"$folder/table"
if grep -q '^<!-- output: cpu.md -->' README.md; then
    python3 bench/cpu.py || echo "readme_figures.sh: bench/cpu.py has failed, see above" >&2
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
' README.md >"$folder/README.md"
cat "$folder/README.md" >README.md
