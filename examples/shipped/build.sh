#!/bin/sh
# Translates kernels to C, and the C to a program. `tilewright` is needed here, but not on machines that
# run the program.
set -eu
here=$(dirname "$0") folder=${1:-.}
root=$here/../..
[ $# -eq 0 ] || shift
command -v tilewright >/dev/null 2>&1 || PATH=$root/build:$PATH # one that was built here and not installed
# a family, of which each launch takes the fastest kernel, and a kernel
tilewright build "$root/kernels/matmul.tile" "$root/kernels/fused/softmax.tile" \
    --name scores --out "$folder" --type f32 --variants 4 --set m=1..512,n=64,k=256 --set m=1..512,n=64,k=512 \
    --set cols=64 "$@"
${CC:-cc} ${CFLAGS:-} -std=c11 -O2 -Wall -Wextra -I"$folder" \
    "$here/probabilities.c" "$folder/scores.c" -o "$folder/scores" -ldl -lm
