#include "bench/bench_cpu_rounds.h"
#include "cli/tool.h"

#include <stdlib.h>
#include <time.h>

enum { BATCH_MOST = 1000 };
static const double waking_counts = 0.02; /* seconds of a run: beyond, wake-up time is
                                            * negligible */
static const double batch_seconds =
    0.001;                            /* of a contender's runs in a round, if one run takes less */
static const long pause_ns = 2000000; /* longer than a worker spins (peers.c) */

static bool run_once(struct cpu_contender *t)
{
    t->failed = !t->run(t);
    return !t->failed;
}

static int64_t batch_of(const struct cpu_contender *t)
{
    double runs = t->seconds > 0 ? batch_seconds / t->seconds : 1;
    return runs < 1 ? 1 : runs > BATCH_MOST ? BATCH_MOST : (int64_t)runs;
}

/* Times a contender once. Returns the milliseconds of one run; 0: it failed. */
static double time_contender(struct cpu_contender *t, bool pause)
{
    int64_t done = 0, batch = batch_of(t);
    if (t->seconds > 0 && t->seconds < waking_counts && !run_once(t))
        return 0;
    double start = seconds_now();
    while (done < batch && run_once(t))
        done++;
    t->seconds = (seconds_now() - start) / (double)batch;
    if (pause)
        nanosleep(&(struct timespec){.tv_nsec = pause_ns}, NULL);
    return t->failed ? 0 : 1e3 * t->seconds;
}

static bool kernels_left(const struct cpu_rounds *x)
{
    for (int i = 0; i < x->count; i++)
        if (x->list[i]->is_kernel && !x->list[i]->failed)
            return true;
    return false;
}

static void take_round(struct cpu_rounds *x, int64_t round)
{
    bool warm = round < x->warmup;
    for (int i = 0; i < x->count; i++) {
        struct cpu_contender *t = x->list[(i + round) % x->count];
        if (t->failed)
            continue;
        progress_step(x->progress, "%s: %s %lld", t->name, warm ? "warm-up" : "round",
                      (long long)(warm ? round + 1 : round + 1 - x->warmup));
        double ms = time_contender(t, x->pause);
        if (!warm)
            t->ms[x->rounds] = ms;
    }
    x->rounds += !warm;
}

void cpu_rounds_time(struct cpu_rounds *x)
{
    double begin = seconds_now();
    for (int i = 0; i < x->count; i++)
        x->list[i]->ms = need_memory((size_t)x->repeat * sizeof(double));
    for (int64_t round = 0; round < x->warmup + x->repeat && kernels_left(x); round++) {
        bool late = seconds_now() - begin > x->time_limit;
        if (late && (round < x->warmup ? round > 0 : x->rounds >= LEAST_ROUNDS))
            continue;
        take_round(x, round);
    }
}

void cpu_rounds_close(struct cpu_rounds *x)
{
    for (int i = 0; i < x->count; i++)
        free(x->list[i]->ms);
    free(x->list);
}

static double median_ratio(const struct cpu_rounds *x, const struct cpu_contender *a,
                           const struct cpu_contender *b)
{
    double *v = need_memory((size_t)(x->rounds + 1) * sizeof *v);
    for (int i = 0; i < x->rounds; i++)
        v[i] = b ? b->ms[i] / a->ms[i] : a->ms[i];
    double found = median_of(v, x->rounds);
    free(v);
    return found;
}

double cpu_contender_ms(const struct cpu_rounds *x, const struct cpu_contender *t)
{
    return median_ratio(x, t, NULL);
}

double cpu_contender_least_ms(const struct cpu_rounds *x, const struct cpu_contender *t)
{
    double least = x->rounds ? t->ms[0] : 0;
    for (int i = 1; i < x->rounds; i++)
        least = t->ms[i] < least ? t->ms[i] : least;
    return least;
}

double cpu_contender_ratio(const struct cpu_rounds *x, const struct cpu_contender *a,
                           const struct cpu_contender *b)
{
    return median_ratio(x, a, b);
}
