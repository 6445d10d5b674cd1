/* Contenders timed in turn on the CPU.
 *
 * A round gives each a turn: a run that wakes its threads and brings its data near, unless it takes
 * so long that this is nothing, then as many as take a millisecond, one at least. The next
 * round starts with the next one, so that none always follows the same. Between turns of several
 * threads is a pause in which the workers of the last one go to sleep. What counts is the median
 * over the rounds, and of two contenders the median of their ratio within each round. */
#ifndef TW_BENCH_TURNS_H
#define TW_BENCH_TURNS_H

#include "progress.h"

#include <stdint.h>

struct turn {
    bool (*run)(struct turn *t); /* once; false: it takes no part from there on */
    void *user;
    const char *name;
    bool is_kernel; /* rounds go on while one of these takes part */

    bool failed;
    double *ms;     /* of one run, by round; turns_close frees */
    double seconds; /* of its latest run */
};
struct turns {
    struct turn **list;
    int count;
    int64_t warmup, repeat; /* rounds; only the later ones count */
    double time_limit;      /* past it there are LEAST_ROUNDS of them at least */
    bool pause;
    struct progress *progress;
    int rounds; /* that count, by now */
};
enum { LEAST_ROUNDS = 3 };

void turns_time(struct turns *x);
void turns_close(struct turns *x); /* frees the list too */
double turn_ms(const struct turns *x, const struct turn *t);
double turn_least_ms(const struct turns *x, const struct turn *t);
/* Of b's time over a's: how fast a is beside b. */
double turn_ratio(const struct turns *x, const struct turn *a, const struct turn *b);

#endif
