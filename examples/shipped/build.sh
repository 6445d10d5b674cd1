#!/bin/sh
# Kernels to C, C to a program. `tilewright` is needed here, and nowhere that the program runs.
#
#     sh examples/shipped/build.sh [FOLDER]     from the root of a checkout; FOLDER: where it goes (.)
set -eu
here=$(dirname "$0") folder=${1:-.}
root=$here/../..
tilewright build "$root/kernels/matmul/split_k.tile" "$root/kernels/fused/softmax.tile" \
    --name scores --output "$folder" --type f32 --set n=64,k=256 --set n=64,k=512 --set cols=64
${CC:-cc} ${CFLAGS:-} -std=c11 -O2 -Wall -Wextra -I"$folder" \
    "$here/probabilities.c" "$folder/scores.c" -o "$folder/scores" -ldl -lm
