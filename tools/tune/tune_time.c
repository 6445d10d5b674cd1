/* Timed runs, in the process that measures.
 *
 * On a GPU, the entry of a build starts runs over copies of the arrays; short ones are recorded as a
 * graph (rounds.h). On the CPU, the member's launch runs, with one copy. */
#include "cli/rounds.h"
#include "tune/tune_entries.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_RUNS = 1000 };

struct timer {
    struct tuning *tuning;
    int problem;           /* the pool has its contents; -1: none */
    struct timing_gpu gpu; /* not open: its stream is NULL */
    struct entries entries;
    struct ready *ready; /* by candidate: for the problem */
    struct bound *bound; /* by member: for the problem */
    char why[300];
};

/* The arguments of a member's runs for all copies. */
struct bound {
    tw_value *values;
    int count; /* of one run */
};

/* A candidate that can be started. */
struct ready {
    struct contender *contender; /* NULL: none */
    tw_entry *entry;
    const struct bound *bound;
    void *stream;
};

struct timer *timer_new(struct tuning *t)
{
    struct timer *x = need_memory(sizeof *x);
    *x = (struct timer){.tuning = t, .problem = -1};
    x->gpu = (struct timing_gpu){.ctx = t->ctx, .l2_bytes = t->l2_bytes};
    x->ready = need_memory((size_t)(t->candidate_count + 1) * sizeof *x->ready);
    x->bound = need_memory((size_t)(t->member_count + 1) * sizeof *x->bound);
    return x;
}

static tw_status say(struct timer *x, tw_status s)
{
    tw_message m = {.size = sizeof m, .text = tw_status_text(s)};
    tw_context_message(x->tuning->ctx, 0, &m);
    if (m.file)
        snprintf(x->why, sizeof x->why, "%s:%d: %s", m.file, m.line, m.text);
    else
        snprintf(x->why, sizeof x->why, "%s", m.text);
    return s;
}

/* --- arrays --- */

static void drop_ready(struct timer *x, struct ready *r)
{
    if (r->contender)
        contender_close(&x->gpu, r->contender);
    free(r->contender);
    *r = (struct ready){0};
}

/* Drops what uses an entry that is about to be freed: a graph may contain its workspace. */
static void drop_entry(void *user, const tw_entry *entry)
{
    struct timer *x = user;
    for (int i = 0; i < x->tuning->candidate_count; i++)
        if (x->ready[i].entry == entry)
            drop_ready(x, &x->ready[i]);
}

/* Ends with the runs of another problem. */
static void leave_problem(struct timer *x)
{
    const struct tuning *t = x->tuning;
    for (int i = 0; i < t->candidate_count; i++)
        drop_ready(x, &x->ready[i]);
    for (int i = 0; i < t->member_count; i++) {
        free(x->bound[i].values);
        x->bound[i] = (struct bound){0};
    }
    x->problem = -1;
}

/* Gives the member's launch, whose candidate is applied, the sizes of the problem and its arrays. */
static tw_status enter_problem(struct timer *x, int problem, int member)
{
    struct tuning *t = x->tuning;
    tw_launch *l = t->members[member].launch;
    if (x->problem != problem)
        leave_problem(x);
    tw_status s = problem_set(t, problem, member, l);
    if (s == TW_OK && !t->pool.open)
        s = pool_open(t, l);
    if (s == TW_OK && x->problem != problem)
        s = pool_fill(t, problem, l);
    if (s == TW_OK)
        x->problem = problem;
    return s;
}

/* --- on the CPU --- */

static tw_status give_arrays(struct timer *x, int member)
{
    struct tuning *t = x->tuning;
    tw_status s = TW_OK;
    for (int i = 0; i < t->pool.count && s == TW_OK; i++) {
        tw_array a = t->pool.list[i].shapes[x->problem];
        a.data = pool_at(&t->pool, i, x->problem, 0);
        s = tw_launch_array(t->members[member].launch, t->pool.list[i].param.name, &a);
    }
    return s;
}

static int runs_for(double ms, double one)
{
    double runs = one > 0 ? ceil(ms / one) : 1;
    return runs < 1 ? 1 : runs > MOST_RUNS ? MOST_RUNS : (int)runs;
}

static tw_status sample_on_host(struct timer *x, const struct job *job, int member, double *samples,
                                int *count)
{
    tw_launch *l = x->tuning->members[member].launch;
    double one = job->known_ms;
    tw_status s = give_arrays(x, member);
    if (s == TW_OK && one <= 0)
        s = tw_launch_time(l, 1, &one);
    if (s == TW_OK && job->known_ms <= 0 && one >= job->ms) {
        samples[(*count)++] = one;
        return s;
    }
    while (s == TW_OK && *count < job->count) {
        s = tw_launch_time(l, runs_for(job->ms, one), &samples[*count]);
        *count += s == TW_OK;
    }
    return s;
}

/* --- on a GPU --- */

static bool start_entry(struct contender *c, int copy)
{
    struct ready *r = c->user;
    tw_error e = tw_error_init();
    const tw_value *values = r->bound->values + (size_t)copy * (size_t)r->bound->count;
    tw_status s = tw_entry_start(r->entry, values, r->bound->count, r->stream, &e);
    if (s != TW_OK)
        snprintf(c->why, sizeof c->why, "%.300s", e.text);
    return s == TW_OK;
}

/* Writes the arguments of a run with one copy of the arrays. Returns their number, or 0 if a value is
 * not known. */
static int write_arguments(const struct timer *x, const struct member *m, int copy, tw_value *to)
{
    tw_param p = tw_param_init();
    int count = 0, array = 0;
    for (int i = 0; tw_kernel_param(m->kernel, i, &p) == TW_OK; i++) {
        if (p.derived)
            continue;
        if (p.is_pointer)
            to[count] = tw_pointer(pool_at(&x->tuning->pool, array++, x->problem, copy));
        else if (tw_launch_value(m->launch, p.name, &to[count]) != TW_OK)
            return 0;
        count++;
    }
    return count;
}

/* Makes the arguments of the member's runs, by position. */
static tw_status bind(struct timer *x, int member)
{
    const struct tuning *t = x->tuning;
    const struct member *m = &t->members[member];
    struct bound *b = &x->bound[member];
    int copies = t->pool.copies[x->problem], params = tw_kernel_param_count(m->kernel);
    b->values = need_memory(((size_t)copies * (size_t)params + 1) * sizeof *b->values);
    for (int copy = 0; copy < copies; copy++)
        b->count = write_arguments(x, m, copy, b->values + (size_t)copy * (size_t)b->count);
    return b->count > 0 ? TW_OK : TW_BAD_ARGUMENT;
}

/* Runs once, because a first run loads the code. */
static tw_status run_first(struct timer *x, tw_entry *entry, const struct bound *b)
{
    tw_error e = tw_error_init();
    tw_status s = tw_entry_start(entry, b->values, b->count, x->gpu.stream, &e);
    if (s != TW_OK)
        snprintf(x->why, sizeof x->why, "%.299s", e.text);
    if (s == TW_OK && (s = tw_stream_wait(x->tuning->ctx, x->gpu.stream)) != TW_OK)
        say(x, s);
    return s;
}

static int build_of(const struct tuning *t, const struct job *job)
{
    return (int)(build_at(t, job->problem, job->candidate) - t->builds);
}

static tw_status make_ready(struct timer *x, const struct job *job, int member)
{
    struct tuning *t = x->tuning;
    struct ready *r = &x->ready[job->candidate];
    struct bound *b = &x->bound[member];
    struct entry_held *h;
    if (r->contender)
        return TW_OK;
    tw_status s = b->values ? TW_OK : bind(x, member);
    if (s != TW_OK)
        return s;
    bool is_new = !x->entries.list[build_of(t, job)].entry;
    s = entries_get(&x->entries, build_of(t, job), t->members[member].launch, b->values, b->count,
                    &h, x->why);
    if (s == TW_OK && is_new)
        s = run_first(x, h->entry, b);
    if (s != TW_OK)
        return s;
    *r = (struct ready){.contender = need_memory(sizeof *r->contender),
                        .entry = h->entry,
                        .bound = b,
                        .stream = x->gpu.stream};
    *r->contender =
        (struct contender){.start = start_entry, .user = r, .copies = t->pool.copies[job->problem]};
    return s;
}

static tw_status sample_on_gpu(struct timer *x, const struct job *job, int member, double *samples,
                               int *count)
{
    tw_status s = make_ready(x, job, member);
    if (s != TW_OK)
        return s;
    struct contender *c = x->ready[job->candidate].contender;
    *count = contender_sample(&x->gpu, c, job->known_ms, job->ms, job->count, samples);
    if (*count > 0)
        return TW_OK;
    snprintf(x->why, sizeof x->why, "%.299s", c->why);
    return TW_FAULT;
}

/* --- both --- */

static tw_status open_gpu(struct timer *x)
{
    if (!x->tuning->on_gpu || x->gpu.stream)
        return TW_OK;
    if (gpu_open(&x->gpu, x->tuning->ordinal) != STATUS_OK)
        return TW_UNSUPPORTED;
    entries_open(&x->entries, x->tuning, x->gpu.stream, drop_entry, x);
    return TW_OK;
}

tw_status timer_sample(struct timer *x, const struct job *job, double *samples, int *count)
{
    const struct tuning *t = x->tuning;
    int member = t->candidates[job->candidate].member;
    x->why[0] = '\0';
    *count = 0;
    tw_status s = open_gpu(x);
    if (s == TW_OK)
        s = candidate_apply(t, job->candidate, t->members[member].launch);
    if (s == TW_OK)
        s = enter_problem(x, job->problem, member);
    if (s == TW_OK)
        s = t->on_gpu ? sample_on_gpu(x, job, member, samples, count)
                      : sample_on_host(x, job, member, samples, count);
    return s == TW_OK || *x->why ? s : say(x, s);
}

tw_status timer_run(struct timer *x, const struct job *job, struct judged *j,
                    tw_occupancy *occupancy)
{
    const struct tuning *t = x->tuning;
    tw_launch *l = t->members[t->candidates[job->candidate].member].launch;
    x->why[0] = '\0';
    tw_status s = open_gpu(x);
    if (s == TW_OK)
        s = candidate_apply(t, job->candidate, l);
    if (s == TW_OK)
        s = entries_run(&x->entries, build_of(t, job), l, j, occupancy, x->why);
    return s == TW_OK || *x->why ? s : say(x, s);
}

const char *timer_why(const struct timer *x)
{
    return x->why;
}
