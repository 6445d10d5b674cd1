/* The work of the children: estimate, compile, verify, time. */
#include "tensor.h"
#include "tune.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SAMPLES = 3, MOST_RUNS = 1000 };
static const double sample_ms = 2;    /* target length of a sample */
static const double slow_ms = 200;    /* from here on one sample is enough … */
static const double near_best = 1.15; /* … unless within this factor of the best */
static const double hopeless = 3;     /* times the best: two samples are enough */

struct worker {
    const struct tuning *tuning;
    struct answer answer;
    bool on_device; /* the arrays for timing are on the GPU */
};

static void say(struct worker *w, tw_status status)
{
    const tw_context *ctx = w->tuning->program.ctx;
    tw_message m = {.size = sizeof m, .text = tw_status_text(status)};
    tw_context_message(ctx, 0, &m);
    w->answer.status = status;
    if (m.file)
        snprintf(w->answer.why, sizeof w->answer.why, "%s:%d: %s", m.file, m.line, m.text);
    else
        snprintf(w->answer.why, sizeof w->answer.why, "%s", m.text);
}

static bool apply(struct worker *w, tw_launch *l)
{
    const struct tuning *t = w->tuning;
    tw_status s = candidate_apply(&t->candidates.list[w->answer.job.index], t->kernel, l);
    if (s != TW_OK)
        say(w, s);
    return s == TW_OK;
}

static void estimate(struct worker *w)
{
    const struct tuning *t = w->tuning;
    w->answer.estimate = tw_estimate_init();
    tw_status s = tw_launch_estimate(t->launch, t->multiprocessors, &w->answer.estimate);
    if (s != TW_OK)
        say(w, s);
}

/* Compiles into the cache of assembled kernels, from which the measuring process loads the
 * result. */
static void compile(struct worker *w)
{
    tw_status s = tw_launch_assemble(w->tuning->launch);
    if (s != TW_OK)
        say(w, s);
}

/* Runs at the sizes for verification, each time with the same inputs, and judges the values. */
static bool verify(struct worker *w)
{
    const struct tuning *t = w->tuning;
    struct operands x = t->judged_arrays.count ? t->judged_arrays : t->arrays;
    if (!apply(w, t->judged))
        return false;
    operands_start(&x, t->given);
    tw_status s = tw_launch_run(t->judged);
    if (s == TW_OK && t->expected)
        s = tw_launch_verify_by(t->judged, t->expected, NULL);
    if (s != TW_OK)
        say(w, s);
    if (s == TW_WRONG_VALUES)
        w->answer.on_zeros =
            operands_right_on_zeros(&x, t->judged, t->given, w->answer.why, sizeof w->answer.why);
    return s == TW_OK;
}

/* Copies each array to the GPU, in this process alone; the copies end with the process. */
static bool place_arrays(struct worker *w)
{
    const struct tuning *t = w->tuning;
    tw_context *ctx = t->program.ctx;
    tw_status s = TW_OK;
    for (int i = 0; i < t->arrays.count && s == TW_OK && !w->on_device; i++) {
        tw_array x = t->arrays.list[i].array;
        const void *from = x.data;
        size_t bytes = tensor_bytes(&x);
        x.place = TW_ON_DEVICE;
        s = tw_device_allocate(ctx, bytes ? bytes : 1, &x.data);
        if (s == TW_OK)
            s = tw_device_copy_in(ctx, x.data, from, bytes, NULL);
        if (s == TW_OK)
            s = tw_launch_array(t->launch, t->arrays.list[i].param.name, &x);
    }
    w->on_device = s == TW_OK;
    if (s != TW_OK)
        say(w, s);
    return s == TW_OK;
}

static int runs_for(double ms)
{
    double runs = ms > 0 ? ceil(sample_ms / ms) : 1;
    return runs < 1 ? 1 : runs > MOST_RUNS ? MOST_RUNS : (int)runs;
}

static bool take_sample(struct worker *w, int runs)
{
    double ms;
    tw_status s = tw_launch_time(w->tuning->launch, runs, &ms);
    if (s != TW_OK) {
        say(w, s);
        return false;
    }
    w->answer.samples[w->answer.sample_count++] = ms;
    return true;
}

static double least_sample(const struct answer *a)
{
    double least = a->samples[0];
    for (int i = 1; i < a->sample_count; i++)
        least = fmin(least, a->samples[i]);
    return least;
}

/* Compares the least of all samples so far, because a single sample may have been disturbed. */
static bool is_slower(const struct answer *a, double times)
{
    return a->job.best_ms > 0 && least_sample(a) > times * a->job.best_ms;
}

/* Measures a candidate. A first run determines the number of runs per sample. The first run
 * itself counts as a sample if it is long enough, or so slow that another run must confirm it. */
static void measure(struct worker *w)
{
    struct answer *a = &w->answer;
    if (!verify(w) || !take_sample(w, 1))
        return;
    a->occupancy = tw_occupancy_init();
    if (w->on_device)
        tw_launch_occupancy(w->tuning->launch, &a->occupancy);
    if (a->samples[0] >= slow_ms) {
        if (is_slower(a, near_best))
            take_sample(w, 1);
        return;
    }
    int runs = runs_for(a->samples[0]);
    if (a->samples[0] <= sample_ms || !is_slower(a, hopeless))
        a->sample_count = 0;
    while (a->sample_count < SAMPLES) {
        if (!take_sample(w, runs) || (a->sample_count > 1 && is_slower(a, hopeless)))
            return;
        runs = runs_for(least_sample(a));
    }
}

static void do_job(struct worker *w)
{
    bool times = w->answer.job.kind == JOB_MEASURE || w->answer.job.kind == JOB_TIME;
    if (times && w->tuning->on_gpu && !place_arrays(w))
        return;
    if (!apply(w, w->tuning->launch))
        return;
    switch (w->answer.job.kind) {
    case JOB_ESTIMATE: estimate(w); break;
    case JOB_COMPILE: compile(w); break;
    case JOB_MEASURE: measure(w); break;
    case JOB_TIME: take_sample(w, w->answer.job.runs); break;
    }
}

static bool read_job(int in, struct job *job)
{
    size_t held = 0;
    while (held < sizeof *job) {
        ssize_t got = read(in, (char *)job + held, sizeof *job - held);
        if (got == 0 || (got < 0 && errno != EINTR))
            return false;
        held += got > 0 ? (size_t)got : 0;
    }
    return true;
}

static bool write_answer(int out, const struct answer *a)
{
    ssize_t put;
    do
        put = write(out, a, sizeof *a); /* below PIPE_BUF: written whole or not at all */
    while (put < 0 && errno == EINTR);
    return put == sizeof *a;
}

void tune_work(const struct tuning *t, int in, int out, bool measures)
{
    struct worker w = {.tuning = t};
    struct job job;
    while (read_job(in, &job)) {
        w.answer = (struct answer){.job = job};
        do_job(&w);
        /* a GPU fault persists in the process */
        w.answer.leaves = measures && t->on_gpu && w.answer.status == TW_FAULT;
        if (!write_answer(out, &w.answer) || w.answer.leaves)
            return;
    }
}
