/* Products that `bench` times: sizes from the command line, and suites of sizes. */
#ifndef TW_SHAPES_H
#define TW_SHAPES_H

#include "cli/tool.h"

struct shape {
    char group[24]; /* suite's group: "squares", "llm"; "": command line */
    int64_t m, n, k, batch;
};

struct shapes {
    struct shape *list;
    int count;
    bool batched; /* some products have a batch */
};

/* Collects the sizes of -s, --dims, --batch, --all-sizes, -m -n -k (lists: every combination)
 * and --suite NAME or FILE. A suite is a text: "m n k [batch]" a line, '#' starts a comment.
 * NAME means bench/suite/NAME.txt as source_path() finds it; "all" means every file there.
 * Returns STATUS_OK, or another status after printing a message. The caller frees `list`. */
int shapes_gather(struct shapes *x, const struct command *self, const struct options *given);

/* clang-format off */
#define OPTION_SUITE                                                                               \
    {.name = "suite", .values = 1, .value = "NAME",                                                \
     .help = "sizes of a suite that ships (squares, llm, ragged, deep_k, batched; all),\n" \
             "or of a file of lines \"m n k [batch]\", in that order (--dims: M K N)"}
#define OPTION_EXTENT(letter_, name_)                                                              \
    {.name = name_, .letter = letter_, .values = 1, .value = "LIST",                               \
     .help = "one value of this size, or several: 16,64,128"}
/* clang-format on */

#endif
