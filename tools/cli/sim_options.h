/* Options of simulated runs: --order, --copies, --step-limit, --suppress, --same-value and
 * --volatile. */
#ifndef TW_SIM_OPTIONS_H
#define TW_SIM_OPTIONS_H

#include "cli/tool.h"
#include "tilewright_sim.h"

struct sim_options {
    tw_sim_options options;
    char *suppressions; /* text of the file of --suppress */
    tw_sim_turn *order; /* of --order */
};

enum { MOST_TURNS = 4096 }; /* of --order */
/* Reads a list "3,0:5,1" of warps, each with the number of instructions that it may execute,
 * into s->options. */
bool sim_order_read(struct sim_options *s, const char *text);
/* Returns the order as text that sim_order_read reads; the caller frees. */
char *sim_order_text(const tw_sim_options *o);
/* Reads the options. Returns STATUS_OK, or another status after printing a message. The caller
 * calls sim_options_free in either case. */
int sim_options_read(struct sim_options *s, const struct options *o);
void sim_options_free(struct sim_options *s);

#define OPTION_COPIES                                                                              \
    {                                                                                              \
        .name = "copies", .values = 1, .value = "WHEN",                                            \
        .help = "sim: asynchronous copies land early (default), or late, when waited for, or N\n"  \
                "instructions of the warp after they were issued, if that is before"               \
    }
#define OPTION_ORDER                                                                               \
    {                                                                                              \
        .name = "order", .values = 1, .value = "W,…",                                              \
        .help = "sim: warps of a block in the order of their turns; W:N may do N instructions,\n"  \
                "W goes on until it waits for others; worst, with --despite race: the one of\n"    \
                "several that leaves the most wrong values"                                        \
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
