/* --why ARRAY[I][J]: which writes, reads and products an element's value comes from. */
#ifndef TW_WHY_H
#define TW_WHY_H

#include "tool.h"
#include "tilewright_sim.h"

struct why {
    char *array; /* NULL: it is not asked */
    int64_t index[TW_MAX_RANK];
    int rank;
    char *report; /* after the run: as text, or as JSON; NULL: none yet */
};

/* STATUS_OK, or a status after a message; why_free in either case. */
int why_read(struct why *w, const struct options *o);
void why_free(struct why *w);
/* Lets the trace ask about the element of this array. */
int why_ask(const struct why *w, const tw_array *array, const struct options *o,
            tw_trace_options *to);
/* Tells whether another block wrote the element last; `to` then traces that one in another run. */
bool why_elsewhere(const tw_why *found, tw_trace_options *to);
/* Keeps what was found, which another run forgets. */
void why_keep(struct why *w, const tw_why *found, const tw_trace_options *asked, bool json);

#define OPTION_WHY                                                                                 \
    {                                                                                              \
        .name = "why", .values = 1, .value = "ARRAY[I][J]",                                        \
        .help = "sim: which reads, writes and products the element's value comes from, in order"   \
    }

#endif
