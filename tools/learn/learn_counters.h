/* Counters of the simulator, by the names that puzzles use. */
#ifndef TW_LEARN_COUNTERS_H
#define TW_LEARN_COUNTERS_H

#include "tilewright.h"
#include "tilewright_sim.h"

/* Copies the counts of a run; NULL gives NULL. The caller calls counted_free in either case. */
tw_counted *counted_copy(const tw_counted *c);
void counted_free(tw_counted *c);
/* Returns a counter's total; "barriers" and the other kinds of instructions are counters too.
 * Returns false if there is no such counter. */
bool counter_total(const tw_counted *c, const char *name, int64_t *out);
/* Joins a counter of two runs: the greater value of a depth, a mean or a maximum, the smaller
 * one of resident_warps, otherwise the sum. */
int64_t counter_joined(const char *name, int64_t a, int64_t b);
/* Returns the line of the file with the largest part of the count; 0: not known. `text` is the
 * file's content. For barriers, returns a line that has one. Other kinds of instructions are not
 * counted by line; for them, returns the line with the most instructions. */
int counter_line(const tw_counted *c, const char *name, const char *file, const char *text,
                 int64_t excess);

#endif
