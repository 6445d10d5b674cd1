/* The simulator's counters, by the names that puzzles give them. */
#ifndef TW_LEARN_COUNTERS_H
#define TW_LEARN_COUNTERS_H

#include "tilewright.h"
#include "tilewright_sim.h"

/* A copy of what a run counted; counted_free in any case. NULL gives NULL. */
tw_counted *counted_copy(const tw_counted *c);
void counted_free(tw_counted *c);
/* In all; "barriers" and the other kinds of instructions too. false: there is no such counter. */
bool counter_total(const tw_counted *c, const char *name, int64_t *out);
/* Joins a counter of two runs: their sum, or the greater one of a depth, a mean or a maximum,
 * or the smaller one of resident_warps. */
int64_t counter_joined(const char *name, int64_t a, int64_t b);
/* The line of the file to which most of it goes; 0: that is not known. `text` is what is in the file:
 * of barriers it is a line that has one. Kinds of instructions are not counted by line, so it is the
 * line with most instructions. */
int counter_line(const tw_counted *c, const char *name, const char *file, const char *text);

#endif
