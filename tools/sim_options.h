/* The options --copies, --step-limit, --suppress, --same-value and --volatile of runs on the
 * simulator. */
#ifndef TW_SIM_OPTIONS_H
#define TW_SIM_OPTIONS_H

#include "tool.h"

struct sim_options {
    tw_sim_options options;
    char *suppressions; /* the text of the file of --suppress */
};

/* STATUS_OK, or a status after a message; sim_options_free in either case. */
int sim_options_read(struct sim_options *s, const struct options *o);
void sim_options_free(struct sim_options *s);

#define OPTION_COPIES                                                                              \
    {                                                                                              \
        .name = "copies", .values = 1, .value = "WHEN",                                            \
        .help = "sim: asynchronous copies land early (default), or late, when waited for"          \
    }
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
#define OPTION_SAME_VALUE                                                                          \
    {                                                                                              \
        .name = "same-value", .values = 1, .value = "WHAT",                                        \
        .help = "unordered writes of the same value are a warning (default), an\nerror, or "       \
                "ignored: WHAT is warning, error or ignore"                                        \
    }
#define OPTION_VOLATILE                                                                            \
    {                                                                                              \
        .name = "volatile", .values = 1, .value = "WHAT",                                          \
        .help = "volatile accesses that nothing orders: warning (default), error, or\n"            \
                "ignore, which lets volatile writes of different values pass too"                  \
    }
#define OPTION_COUNTERS                                                                            \
    {                                                                                              \
        .name = "counters",                                                                        \
        .help = "what the hardware counts: instructions, wavefronts of shared memory,\nsectors "   \
                "of global memory, in all and by line"                                             \
    }

#endif
