#!/bin/sh
# Rewrites the two blocks of README.md that are output: what the compiler says of the kernel without its barrier, and the
# table of ./dev bench -s 512 --threads 1. Run it on a machine that does nothing else; read the diff.
set -eu
cd "$(dirname "$0")/.."
tool=$PWD/build/tilewright
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
awk '!gone && /^ *sync\(\);/ { gone = 1; next } { print }' kernels/matmul/shared.tile >"$folder/shared.tile"
(cd "$folder" && "$tool" check shared.tile >message 2>&1) || true
"$tool" bench -s 512 --threads 1 >"$folder/table"
awk -v folder="$folder" '
    function paste(file, line) { while ((getline line < file) > 0) print line }
    /^<!-- output: / { print; print "```text"; paste(folder "/" $3); print "```"; skip = 1; next }
    /^<!-- end -->/ { skip = 0 }
    !skip { print }
' README.md >"$folder/README.md"
cat "$folder/README.md" >README.md
