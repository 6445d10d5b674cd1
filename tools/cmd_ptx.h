/* `run` and `check` of PTX and CUDA C: k.ptx, k.cu. */
#ifndef TW_CMD_PTX_H
#define TW_CMD_PTX_H

#include "tool.h"

int run_ptx(const struct command *self, const struct options *given);
int check_ptx(const struct command *self, const struct options *given);

/* Whether an option that is for PTX and CUDA C alone is given; then after a message. */
bool has_ptx_options(const struct options *o, const char *file);

/* --suppress: the text of the file, NULL without the option. false: a message has been printed. The caller frees. */
bool read_suppressions(const struct options *o, char **text);

#define OPTION_STEP_LIMIT                                                                          \
    {                                                                                              \
        .name = "step-limit", .values = 1, .value = "N",                                           \
        .help = "the simulator ends a run after N warp instructions"                               \
    }
#define OPTION_SUPPRESS                                                                            \
    {                                                                                              \
        .name = "suppress", .values = 1, .value = "FILE",                                          \
        .help = "findings to let pass: lines `kind [place [place]]`, a place is\nfile:line or a "  \
                "function's name, '*' in it any text"                                              \
    }
#define OPTION_COUNTERS                                                                            \
    {                                                                                              \
        .name = "counters",                                                                        \
        .help = "what the hardware counts: instructions, wavefronts of shared memory,\nsectors "   \
                "of global memory, in all and by line"                                             \
    }

#endif
