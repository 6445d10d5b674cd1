/* What a judgement may take of time and memory, and what breaks it off. */
#ifndef TW_LEARN_ALLOWANCE_H
#define TW_LEARN_ALLOWANCE_H

#include "learn_problems.h"

#include <signal.h>
#include <stddef.h>

enum { ALLOWANCE_SIGNALS = 3 };

struct allowance {
    double run_until, all_until; /* of the processor's time, in seconds; run_until 0: no run */
    size_t bytes;                /* that the library holds */
    bool out_of_time, out_of_memory;
    struct sigaction before[ALLOWANCE_SIGNALS];
    bool shows_work; /* on the terminal, while it takes long */
};

/* Time begins, and Ctrl-C ends a judgement, which then leaves no files behind. */
void allowance_begin(struct allowance *a);
/* Signals are as before; one that has come is raised. */
void allowance_end(struct allowance *a);
/* Whether a signal has come. */
bool allowance_broken_off(void);
void allowance_begin_run(struct allowance *a);
void allowance_end_run(struct allowance *a);
/* Of tw_config, with a struct allowance as user: `cancelled` and `resize`. */
bool allowance_is_over(void *user);
void *allowance_resize(void *user, void *ptr, size_t old_size, size_t size);
/* Where it ran out, that is what is wrong: what broke off for it says little of itself. */
void allowance_explain(const struct allowance *a, struct problems *problems);

#endif
