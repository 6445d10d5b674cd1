/* Implements --why ARRAY[I][J]: shows the writes, reads and products that an element's value
 * comes from. */
#ifndef TW_WHY_H
#define TW_WHY_H

#include "cli/tool.h"
#include "tilewright_sim.h"

struct why {
    char *array; /* NULL: --why is not given */
    int64_t index[TW_MAX_RANK];
    int rank;
    char *report; /* after the run, as text or JSON; NULL: none yet */
};

/* Reads the options. Returns STATUS_OK, or another status after printing a message. The caller
 * calls why_free in either case. */
int why_read(struct why *w, const struct options *o);
void why_free(struct why *w);
/* Adds the question about the element of this array to the trace options. name: the array's
 * parameter; `array` NULL: there is none of the asked name; the kernel has those of `names`. */
int why_ask(const struct why *w, const char *name, const tw_array *array, const char *names,
            const struct options *o, tw_trace_options *to);
/* Returns whether another block wrote the element last; `to` then traces that block in another
 * run. */
bool why_elsewhere(const tw_why *found, tw_trace_options *to);
/* Saves the answer, because another run discards it. */
void why_keep(struct why *w, const tw_why *found, const tw_trace_options *asked, bool json);

#define OPTION_WHY                                                                                 \
    {                                                                                              \
        .name = "why", .values = 1, .value = "ARRAY[I][J]",                                        \
        .help = "sim: which reads, writes and products the element's value comes from, in order"   \
    }

#endif
