/* Times contenders on the CPU in rounds: each round times every contender once.
 *
 * A contender starts with a run that wakes its threads and loads its data into the caches; that run
 * is left out if runs take so long that these effects are negligible. Then come as many runs as
 * take a millisecond, at least one. The next round starts with the next contender, so that no
 * contender always follows the same one. After a contender with several threads is a pause in
 * which its workers go to sleep. The result is the median over the rounds; the result for two
 * contenders is the median of their ratio within each round. */
#ifndef TW_BENCH_TURNS_H
#define TW_BENCH_TURNS_H

#include "cli/progress.h"

#include <stdint.h>

struct cpu_contender {
    bool (*run)(struct cpu_contender *t); /* runs once; false: it drops out */
    void *user;
    const char *name;
    bool is_kernel; /* rounds go on while such a contender takes part */

    bool failed;
    double *ms;     /* of one run, by round; cpu_rounds_close frees */
    double seconds; /* of its latest run */
};
struct cpu_rounds {
    struct cpu_contender **list;
    int count;
    int64_t warmup, repeat; /* rounds; the warm-up is not timed */
    double time_limit;      /* after it, rounds stop at LEAST_ROUNDS */
    bool pause;
    struct progress *progress;
    int rounds; /* timed so far */
};
enum { LEAST_ROUNDS = 3 };

void cpu_rounds_time(struct cpu_rounds *x);
void cpu_rounds_close(struct cpu_rounds *x); /* frees the list too */
double cpu_contender_ms(const struct cpu_rounds *x, const struct cpu_contender *t);
double cpu_contender_least_ms(const struct cpu_rounds *x, const struct cpu_contender *t);
/* Returns the median, over the rounds, of b's time divided by a's: the relative speed of a. */
double cpu_contender_ratio(const struct cpu_rounds *x, const struct cpu_contender *a,
                           const struct cpu_contender *b);

#endif
