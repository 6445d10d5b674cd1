#!/bin/sh
# Translates a kernel to C for the CPU and for NVIDIA GPUs, and the C to a program that chooses when it runs.
set -eu
here=$(dirname "$0") folder=${1:-.}
root=$here/../..
[ $# -eq 0 ] || shift
command -v tilewright >/dev/null 2>&1 || PATH=$root/build:$PATH # one that was built here and not installed
program=$(command -v tilewright) || {
    echo "either.sh: tilewright is not in \$PATH, and $root/build has none: build it there (./dev build) or install it" >&2
    exit 1
}
library=$(dirname "$program")/libtilewright_cpu.a include=$root/include
if [ ! -e "$library" ]; then # it is not next to the program, but installed
    library=$(pkg-config --variable=libdir tilewright-cpu 2>/dev/null)/libtilewright_cpu.a || library=
    include=$(pkg-config --variable=includedir tilewright-cpu 2>/dev/null) || include=
fi
if [ ! -e "$library" ]; then
    echo "either.sh: libtilewright_cpu.a is not next to $program, and pkg-config knows no tilewright-cpu" >&2
    echo "  build both ($root/dev build), or install Tilewright and set PKG_CONFIG_PATH" >&2
    exit 1
fi
tilewright build "$root/kernels/fused/softmax.tile" --name rows --out "$folder" --device cpu,sm_80 --set cols=64 "$@"
${CC:-cc} ${CFLAGS:-} -std=c11 -O2 -Wall -Wextra -I"$folder" -I"$include" \
    "$here/either.c" "$folder/rows.c" -o "$folder/either" "$library" -ldl -lm -lpthread
