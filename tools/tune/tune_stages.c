/* The order of the measurements of one problem.
 *
 * Every candidate gets a short sample, the most promising first: the model's order, or the order of
 * the nearest problem that is done. The better third, and all that are near the best, get longer
 * samples. The few that are nearest are timed again in turn, in rounds, until noise no longer hides
 * which one is the fastest, or the time is over. */
#include "tune/tune.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 12, ROUNDS_BEFORE_DROPPING = 4, MORE_SAMPLES = 3, FEW = 4 };
static const double near_sample = 1.3;    /* times the best: after the short samples, take more */
static const double near_long = 1.15;     /* the same, if a run takes longer than a sample */
static const double too_far = 1.03;       /* times the best: dropped after some rounds */
static const double slow_ms = 200;        /* a run of this length is its own sample */
static const double hopeless = 1.5;       /* times the best at two sizes that are within … */
static const double near_octaves = 3;     /* … so far: not compiled for this size alone */
static const double sampled_share = 0.85; /* of a problem's time, until the finals */

/* Times that differ between one problem and many. */
struct lengths {
    double first_ms, more_ms, final_ms; /* of samples */
    double near_best;                   /* times the best: finalists */
    double final_seconds;               /* at least, and … */
    double final_share;                 /* … of the problem's time until then */
};
static const struct lengths alone = {2, 2, 10, 1.15, 2, 0.5};
static const struct lengths among_many = {0.1, 1, 2, 1.05, 0.3, 0};

static struct lengths lengths_of(const struct tuning *t)
{
    struct lengths l = t->problem_count * t->type_count > 1 ? among_many : alone;
    if (!t->on_gpu)
        l.first_ms = l.more_ms;
    return l;
}

/* --- ranks --- */

static const double *sorted; /* qsort has no argument for it */

static int compare(const void *a, const void *b)
{
    int i = *(const int *)a, j = *(const int *)b;
    double x = sorted[i], y = sorted[j];
    return x != y ? (x > y) - (x < y) : (i > j) - (i < j);
}

/* Sorts candidates by `values`, which are by candidate. */
static void sort_by(const double *values, int *list, int count)
{
    sorted = values;
    qsort(list, (size_t)count, sizeof *list, compare);
}

/* Returns the least sample. Disturbances only lengthen a measurement, so of few samples the
 * shortest is the best estimate. */
static double least_ms(const struct trial *x)
{
    double least = x->sample_count ? x->samples[0] : x->ms;
    for (int i = 1; i < x->sample_count; i++)
        least = fmin(least, x->samples[i]);
    return least;
}

/* Writes the measured candidates into p->list, by their least samples. Returns the best one's. */
static double rank(const struct tuning *t, struct problem *p)
{
    double *values = need_memory((size_t)(t->candidate_count + 1) * sizeof *values);
    p->list_count = 0;
    for (int i = 0; i < t->candidate_count; i++) {
        values[i] = least_ms(&p->trials[i]);
        if (p->trials[i].state == TRIAL_MEASURED)
            p->list[p->list_count++] = i;
    }
    sort_by(values, p->list, p->list_count);
    double best = p->list_count ? values[p->list[0]] : 0;
    free(values);
    return best;
}

/* --- the order of the first samples --- */

static double octaves(int64_t a, int64_t b)
{
    return a > 0 && b > 0 ? log2((double)a / (double)b) : 0;
}

/* Returns the distance of two problems' sizes, in octaves. */
static double distance(const struct shape *a, const struct shape *b)
{
    double m = octaves(a->m, b->m), n = octaves(a->n, b->n), k = octaves(a->k, b->k),
           batch = octaves(a->batch, b->batch);
    return sqrt(m * m + n * n + k * k + batch * batch);
}

/* Returns whether the problem's times are known: it is done, or the store had all of them. */
static bool is_known(const struct problem *p)
{
    return p->best >= 0 && (p->stage == STAGE_DONE || p->order_count == 0);
}

/* Returns the problem that is known, other than `problem` and `except`, and whose sizes are nearest; -1: none.
 * candidate: it was measured there; -1: any. */
static int nearest_known(const struct tuning *t, int problem, int candidate, int except)
{
    double least = INFINITY;
    int found = -1;
    for (int i = 0; i < t->problem_count; i++) {
        const struct problem *p = &t->problems[i];
        double d = distance(&p->shape, &t->problems[problem].shape);
        bool measured = candidate < 0 || p->trials[candidate].state == TRIAL_MEASURED;
        if (is_known(p) && i != problem && i != except && measured && d < least) {
            least = d;
            found = i;
        }
    }
    return found;
}

/* Returns the candidate's time divided by the best one. */
static double ratio_at(const struct problem *p, int candidate)
{
    return p->trials[candidate].ms / p->trials[p->best].ms;
}

bool stage_skips(struct tuning *t, int problem, int candidate)
{
    struct problem *p = &t->problems[problem];
    struct trial *x = &p->trials[candidate];
    int near[2] = {-1, -1};
    near[0] = nearest_known(t, problem, candidate, -1);
    near[1] = near[0] < 0 ? -1 : nearest_known(t, problem, candidate, near[0]);
    if (p->fills || t->exhaustive || t->known || near[1] < 0)
        return false;
    for (int i = 0; i < 2; i++)
        if (distance(&t->problems[near[i]].shape, &p->shape) > near_octaves ||
            ratio_at(&t->problems[near[i]], candidate) < hopeless)
            return false;
    x->state = TRIAL_SKIPPED;
    x->why = need_text("not compiled: at least %g times as slow as the best at the nearest sizes",
                       hopeless);
    return true;
}

void stage_order(struct tuning *t, int problem)
{
    struct problem *p = &t->problems[problem];
    int near = nearest_known(t, problem, -1, -1);
    const struct problem *other = near >= 0 ? &t->problems[near] : NULL;
    double *values = need_memory((size_t)(t->candidate_count + 1) * sizeof *values);
    double least = INFINITY;
    for (int i = 0; i < p->order_count; i++)
        least = fmin(least, p->trials[p->order[i]].estimate.cost);
    for (int i = 0; i < p->order_count; i++) {
        int c = p->order[i];
        const struct trial *there = other ? &other->trials[c] : NULL;
        values[c] = there && there->state == TRIAL_MEASURED
                        ? ratio_at(other, c)
                        : p->trials[c].estimate.cost / (least > 0 ? least : 1);
    }
    sort_by(values, p->order, p->order_count);
    free(values);
}

/* --- stages --- */

static struct job job_for(const struct tuning *t, int problem, int candidate, enum job_kind kind)
{
    const struct trial *x = trial_at(t, problem, candidate);
    return (struct job){
        .kind = kind, .candidate = candidate, .problem = problem, .count = 1, .known_ms = x->ms};
}

static bool is_late(const struct tuning *t, double until)
{
    return t->budget > 0 && until > 0 && seconds_now() > until;
}

/* Gives the next candidate of the order that is compiled and not yet measured. */
static enum next next_sample(struct tuning *t, int problem, struct job *out)
{
    struct problem *p = &t->problems[problem];
    bool waits = false, late = !p->fills && is_late(t, p->sampled_until);
    for (int i = 0; i < p->order_count; i++) {
        int c = p->order[i];
        const struct build *b = build_at(t, problem, c);
        if (p->trials[c].state != TRIAL_PROMISING || p->trials[c].why)
            continue;
        p->cut = late && t->known;
        if (late)
            return NEXT_DONE;
        if (b->state == BUILD_READY) {
            *out = job_for(t, problem, c, JOB_MEASURE);
            out->verify = !b->verified;
            out->count = t->on_gpu ? 2 : 1;
            out->ms = lengths_of(t).first_ms;
            out->known_ms = 0;
            out->best_ms = p->best >= 0 ? p->trials[p->best].ms : 0;
            return NEXT_JOB;
        }
        waits = true;
    }
    return waits ? NEXT_WAITS : NEXT_DONE;
}

static bool has_few_samples(const struct trial *x)
{
    int count = x->sample_count ? x->sample_count : x->stored_samples;
    return count < MORE_SAMPLES && x->ms < slow_ms;
}

/* Chooses the candidates that get longer samples. */
static void begin_more(const struct tuning *t, struct problem *p)
{
    double best = rank(t, p);
    double nearby = best < lengths_of(t).more_ms ? near_sample : near_long;
    int third = best < lengths_of(t).more_ms ? (p->list_count + 2) / 3 : 1, kept = 0;
    for (int i = 0; i < p->list_count; i++) {
        const struct trial *x = &p->trials[p->list[i]];
        bool good = i < third || least_ms(x) <= nearby * best || t->exhaustive || t->known;
        if (good && has_few_samples(x))
            p->list[kept++] = p->list[i];
    }
    p->list_count = kept;
    p->at = 0;
}

static enum next next_more(struct tuning *t, int problem, struct job *out)
{
    struct problem *p = &t->problems[problem];
    while (p->at < p->list_count && p->trials[p->list[p->at]].state != TRIAL_MEASURED)
        p->at++;
    if (p->at >= p->list_count)
        return NEXT_DONE;
    if (is_late(t, p->sampled_until)) {
        p->cut = t->known;
        return NEXT_DONE;
    }
    *out = job_for(t, problem, p->list[p->at++], JOB_TIME);
    out->count = MORE_SAMPLES;
    out->ms = lengths_of(t).more_ms;
    out->anew = true;
    return NEXT_JOB;
}

/* --- the finals --- */

/* Chooses the candidates near the best, and at least a few. With --known all have their samples,
 * which are for predictions: there are no finals. */
static void begin_finals(const struct tuning *t, struct problem *p)
{
    const struct lengths l = lengths_of(t);
    double best = rank(t, p), now = seconds_now();
    double share = l.final_share * (now - p->began);
    int most = (int)t->finalists, count = p->list_count;
    int chosen = count < FEW ? count : FEW;
    while (chosen < count && chosen < most &&
           least_ms(&p->trials[p->list[chosen]]) <= l.near_best * best)
        chosen++;
    p->list_count = t->exhaustive ? count : most < chosen ? most : chosen;
    for (int i = 0; i < p->list_count; i++)
        p->trials[p->list[i]].finalist = true;
    if (!p->measured || t->known)
        p->list_count = 0;
    p->finals_until = now + fmax(share, l.final_seconds);
    p->at = p->round = 0;
}

/* Returns the noise, or 0 if there are too few samples. */
static double noise_of(const struct trial *x)
{
    return fmax(trial_noise(x), 0);
}

static const struct trial *fastest(const struct problem *p)
{
    const struct trial *best = &p->trials[p->list[0]];
    for (int i = 1; i < p->list_count; i++)
        if (p->trials[p->list[i]].ms < best->ms)
            best = &p->trials[p->list[i]];
    return best;
}

/* Drops the candidates that are slower by more than noise. */
static void drop_far(struct problem *p)
{
    const struct trial *best = fastest(p);
    int kept = 0;
    for (int i = 0; i < p->list_count; i++) {
        const struct trial *x = &p->trials[p->list[i]];
        if (x->ms - noise_of(x) <= too_far * best->ms + noise_of(best))
            p->list[kept++] = p->list[i];
    }
    p->list_count = kept;
}

/* Returns whether the best of the list is faster than all others by more than noise. */
static bool is_separated(const struct problem *p)
{
    const struct trial *best = fastest(p);
    int slower = 0;
    for (int i = 0; i < p->list_count; i++) {
        const struct trial *x = &p->trials[p->list[i]];
        slower += x->ms - noise_of(x) > best->ms + noise_of(best);
    }
    return slower == p->list_count - 1;
}

static void drop_failed(struct problem *p)
{
    int kept = 0;
    for (int i = 0; i < p->list_count; i++)
        if (p->trials[p->list[i]].state == TRIAL_MEASURED)
            p->list[kept++] = p->list[i];
    p->list_count = kept;
}

/* Ends a round: each candidate of the list was timed once. */
static void end_round(const struct tuning *t, struct problem *p)
{
    drop_failed(p);
    p->at = 0;
    p->round++;
    if (!t->exhaustive && p->round >= ROUNDS_BEFORE_DROPPING && p->list_count > 0)
        drop_far(p);
    bool done = p->round >= ROUNDS_BEFORE_DROPPING && p->list_count > 0 && is_separated(p);
    if (!t->exhaustive && (done || seconds_now() > p->finals_until))
        p->round = ROUNDS;
}

/* Returns the fastest of the finalists; -1: all failed. */
static int fastest_finalist(const struct tuning *t, const struct problem *p)
{
    int best = -1;
    for (int i = 0; i < t->candidate_count; i++) {
        const struct trial *x = &p->trials[i];
        if (x->finalist && x->state == TRIAL_MEASURED && (best < 0 || x->ms < p->trials[best].ms))
            best = i;
    }
    return best;
}

/* Begins more rounds, with the winner and the other candidates whose earlier time beats the
 * winner's new time, for instance because the device has become slower. */
static void challenge(const struct tuning *t, struct problem *p)
{
    int winner = fastest_finalist(t, p);
    p->list_count = p->at = p->round = 0;
    for (int i = 0; i < t->candidate_count && winner >= 0; i++) {
        struct trial *x = &p->trials[i];
        if (x->state != TRIAL_MEASURED || x->finalist || x->ms >= p->trials[winner].ms)
            continue;
        x->finalist = true;
        p->list[p->list_count++] = i;
    }
    if (p->list_count > 0)
        p->list[p->list_count++] = winner;
}

/* Times the finalists in turn, so that all see the device in the same state. */
static enum next next_final(struct tuning *t, int problem, struct job *out)
{
    struct problem *p = &t->problems[problem];
    for (;;) {
        if (p->list_count > 0 && p->at >= p->list_count)
            end_round(t, p);
        bool over = p->round >= ROUNDS || p->list_count < 2 || is_late(t, p->until);
        if (!over && p->trials[p->list[p->at]].state == TRIAL_MEASURED)
            break;
        if (!over) {
            p->at++;
            continue;
        }
        if (p->challenged)
            return NEXT_DONE;
        p->challenged = true;
        challenge(t, p);
    }
    *out = job_for(t, problem, p->list[p->at++], JOB_TIME);
    out->ms = lengths_of(t).final_ms;
    out->anew = p->round == 0;
    return NEXT_JOB;
}

/* Has the winner verified. If its values are wrong, the next one becomes the winner. */
static enum next next_winner(struct tuning *t, int problem, struct job *out)
{
    struct problem *p = &t->problems[problem];
    p->best = problem_fastest(t, p, -1);
    if (!t->many || !p->measured || p->best < 0 || p->best == p->checked)
        return NEXT_DONE;
    p->checked = p->best;
    *out = job_for(t, problem, p->best, JOB_VERIFY);
    return NEXT_JOB;
}

/* --- all of them --- */

static void begin_stage(struct tuning *t, struct problem *p, enum stage stage)
{
    p->stage = p->fills ? STAGE_DONE : stage;
    if (p->fills)
        return;
    if (stage == STAGE_MORE)
        begin_more(t, p);
    else if (stage == STAGE_FINALS)
        begin_finals(t, p);
}

static enum next next_of_stage(struct tuning *t, int problem, struct job *out)
{
    switch (t->problems[problem].stage) {
    case STAGE_SAMPLE: return next_sample(t, problem, out);
    case STAGE_MORE: return next_more(t, problem, out);
    case STAGE_FINALS: return next_final(t, problem, out);
    case STAGE_WINNER: return next_winner(t, problem, out);
    case STAGE_DONE: break;
    }
    return NEXT_DONE;
}

enum next stage_next(struct tuning *t, int problem, struct job *out)
{
    struct problem *p = &t->problems[problem];
    while (p->stage != STAGE_DONE) {
        enum next n = next_of_stage(t, problem, out);
        if (n != NEXT_DONE)
            return n;
        begin_stage(t, p, (enum stage)(p->stage + 1));
    }
    return NEXT_DONE;
}

void stage_share(struct tuning *t, int problem)
{
    struct problem *p = &t->problems[problem];
    double now = seconds_now(), left = 0;
    if (p->began > 0)
        return;
    p->began = t->many ? now : t->started;
    if (t->budget == 0)
        return;
    for (int i = 0; i < t->problem_count; i++)
        left += t->problems[i].stage != STAGE_DONE;
    double share = (t->started + t->budget - p->began) / left;
    p->sampled_until = p->began + sampled_share * share;
    p->until = p->began + share;
}

bool stage_go_on(struct tuning *t)
{
    bool any = false;
    for (int i = 0; i < t->problem_count; i++) {
        struct problem *p = &t->problems[i];
        if (!p->cut)
            continue;
        p->cut = false;
        p->stage = STAGE_SAMPLE;
        p->began = p->sampled_until = p->until = 0;
        any = true;
    }
    return any;
}

void stage_take(struct tuning *t, const struct answer *a)
{
    struct problem *p = &t->problems[a->job.problem];
    struct trial *x = &p->trials[a->job.candidate];
    if (a->job.anew || a->job.kind == JOB_MEASURE)
        x->sample_count = 0;
    size_t count = (size_t)(x->sample_count + a->sample_count);
    x->samples = need_more_memory(x->samples, count * sizeof *x->samples);
    memcpy(x->samples + x->sample_count, a->samples, (size_t)a->sample_count * sizeof *x->samples);
    x->sample_count += a->sample_count;
    x->ms = median_of(x->samples, x->sample_count);
    x->state = TRIAL_MEASURED;
    x->status = TW_OK;
    p->measured = true;
    p->best = problem_fastest(t, p, -1);
    keep_result(t, a->job.problem, a->job.candidate);
}
