/* Times contenders in turn on the CPU.
 *
 * A round gives each contender a turn. A turn starts with a run that wakes its threads and loads
 * its data into the caches; it is left out if a run takes so long that these effects are
 * negligible. Then come as many runs as take a millisecond, at least one. The next round starts
 * with the next contender, so that no contender always follows the same one. Between turns of
 * several threads is a pause in which the workers of the previous turn go to sleep. The result
 * is the median over the rounds; the result for two contenders is the median of their ratio
 * within each round. */
#ifndef TW_BENCH_TURNS_H
#define TW_BENCH_TURNS_H

#include "progress.h"

#include <stdint.h>

struct turn {
    bool (*run)(struct turn *t); /* runs once; false: it drops out */
    void *user;
    const char *name;
    bool is_kernel; /* rounds go on while such a contender takes part */

    bool failed;
    double *ms;     /* of one run, by round; turns_close frees */
    double seconds; /* of its latest run */
};
struct turns {
    struct turn **list;
    int count;
    int64_t warmup, repeat; /* rounds; the warm-up is not timed */
    double time_limit;      /* after it, rounds stop at LEAST_ROUNDS */
    bool pause;
    struct progress *progress;
    int rounds; /* timed so far */
};
enum { LEAST_ROUNDS = 3 };

void turns_time(struct turns *x);
void turns_close(struct turns *x); /* frees the list too */
double turn_ms(const struct turns *x, const struct turn *t);
double turn_least_ms(const struct turns *x, const struct turn *t);
/* Returns the median, over the rounds, of b's time divided by a's: the relative speed of a. */
double turn_ratio(const struct turns *x, const struct turn *a, const struct turn *b);

#endif
