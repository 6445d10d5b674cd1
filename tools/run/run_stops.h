/* The stops of run --break: values before each visit of a line. */
#ifndef TW_RUN_STOPS_H
#define TW_RUN_STOPS_H

#include "run/run_probe.h"

/* Takes over a row of a site that stops. Rows of one visit may arrive among those of others: the
 * requested thread prints its own values, and the first thread those of the block. Returns true
 * when the wanted visit is complete. */
bool run_stops_take(struct run_stops *s, const tw_launch *l, struct probe_row row);
/* Finds the wanted visit after a run whose stops are for a prompt. */
void run_stops_end(struct run_stops *s);
/* Prints the wanted visit. Requires that the run reached it. */
void run_stops_print(const struct run_probe *p);
/* Offers a prompt on the terminal that walks the recorded stops, from the wanted one on. Requires
 * that the run reached it. Returns at `quit` or the end of the input. */
void run_stops_prompt(const struct run_probe *p);
/* Returns true if input, output and messages are on a terminal. */
bool run_stops_can_prompt(void);
void run_stops_free(struct run_stops *s);

#endif
