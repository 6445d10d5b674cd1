/* Limits the time and memory of a judgement, and interrupts it. */
#ifndef TW_LEARN_ALLOWANCE_H
#define TW_LEARN_ALLOWANCE_H

#include "learn/learn_problems.h"

#include <signal.h>
#include <stddef.h>

enum { ALLOWANCE_SIGNALS = 3 };

struct allowance {
    double run_until, all_until; /* processor time, in seconds; run_until 0: no run */
    size_t bytes;                /* that the library holds */
    bool out_of_time, out_of_memory;
    struct sigaction before[ALLOWANCE_SIGNALS];
    bool shows_work; /* on the terminal, if it takes long */
};

/* Starts the clock. From now on Ctrl-C ends the judgement, which then leaves no files. */
void allowance_begin(struct allowance *a);
/* Restores the signals, and raises one that has arrived. */
void allowance_end(struct allowance *a);
/* Returns whether a signal has arrived. */
bool allowance_broken_off(void);
void allowance_begin_run(struct allowance *a);
void allowance_end_run(struct allowance *a);
/* Callbacks for tw_config, `cancelled` and `resize`; the user is a struct allowance. */
bool allowance_is_over(void *user);
void *allowance_resize(void *user, void *ptr, size_t old_size, size_t size);
/* If the allowance is used up, replaces the problems by that one, because the interrupted steps
 * report little. */
void allowance_explain(const struct allowance *a, struct problems *problems);

#endif
