#include "learn/learn_allowance.h"
#include "cli/doing.h"

#include <stdlib.h>

/* A browser runs slower, and can only measure elapsed time; cmake/engine.cmake gives it a larger
 * allowance. */
#ifndef ALLOWANCE_SHARE
#define ALLOWANCE_SHARE 1
#endif
/* Limits of one run and of the whole judgement, which includes the compiler: seconds, and bytes
 * in addition to those of the arrays. */
enum { RUN_SECONDS = ALLOWANCE_SHARE, ALL_SECONDS = 10 * ALLOWANCE_SHARE, MOST_BYTES = 256 << 20 };

static volatile sig_atomic_t stopped_by;

static void note_signal(int number)
{
    stopped_by = number;
}

static const int signals[ALLOWANCE_SIGNALS] = {SIGINT, SIGTERM, SIGHUP};

/* Takes processor time, so that a busy machine does not make an answer wrong. */
void allowance_begin(struct allowance *a)
{
    *a = (struct allowance){.all_until = processor_seconds() + ALL_SECONDS};
    for (int i = 0; i < ALLOWANCE_SIGNALS; i++) {
        sigaction(signals[i], NULL, &a->before[i]);
        if (a->before[i].sa_handler != SIG_IGN)
            sigaction(signals[i], &(struct sigaction){.sa_handler = note_signal}, NULL);
    }
}

void allowance_end(struct allowance *a)
{
    for (int i = 0; i < ALLOWANCE_SIGNALS; i++)
        sigaction(signals[i], &a->before[i], NULL);
    if (stopped_by)
        raise(stopped_by);
}

bool allowance_broken_off(void)
{
    return stopped_by;
}

void allowance_begin_run(struct allowance *a)
{
    a->run_until = processor_seconds() + RUN_SECONDS;
}

void allowance_end_run(struct allowance *a)
{
    a->run_until = 0;
}

bool allowance_is_over(void *user)
{
    struct allowance *a = user;
    double now = processor_seconds();
    if (a->shows_work)
        doing_show();
    a->out_of_time = a->out_of_time || now > a->all_until;
    return stopped_by || a->out_of_time || (a->run_until > 0 && now > a->run_until);
}

/* Refuses memory once the time is up, so that a compilation ends too. */
void *allowance_resize(void *user, void *ptr, size_t old_size, size_t size)
{
    struct allowance *a = user;
    if (size == 0) {
        a->bytes -= old_size;
        free(ptr);
        return NULL;
    }
    if (size > old_size) {
        bool fits = size - old_size <= MOST_BYTES - a->bytes;
        a->out_of_memory = a->out_of_memory || !fits;
        if (!fits || (allowance_is_over(a) && a->out_of_time))
            return NULL;
    }
    void *new = realloc(ptr, size);
    if (new)
        a->bytes += size - old_size;
    return new;
}

void allowance_explain(const struct allowance *a, struct problems *problems)
{
    const struct problem *first = problems_first(problems);
    if (!first || (first->reason != REASON_FAULT && first->reason != REASON_ENDLESS) ||
        (!a->out_of_time && !a->out_of_memory))
        return;
    problems_free(problems);
    if (a->out_of_memory)
        problems_add(problems, REASON_FAULT,
                     need_text("error: it takes more than %d MiB of memory: views without an array "
                               "are memory of the kernel's own, as large as their extents say\n",
                               MOST_BYTES >> 20));
    else
        problems_add(problems, REASON_ENDLESS,
                     need_text("error: it takes more than %d seconds in all cases\n", ALL_SECONDS));
}
