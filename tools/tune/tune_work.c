/* The work of the children: estimate, compile, verify, time. */
#include "tune/tune.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const double near_best = 1.3; /* times the best: a slower single sample is confirmed */

struct worker {
    struct tuning *tuning;
    struct answer answer;
    struct timer *timer;
    int out;
};

static void say(struct worker *w, tw_status status)
{
    const tw_context *ctx = w->tuning->ctx;
    tw_message m = {.size = sizeof m, .text = tw_status_text(status)};
    tw_context_message(ctx, 0, &m);
    w->answer.status = status;
    if (m.file)
        snprintf(w->answer.why, sizeof w->answer.why, "%s:%d: %s", m.file, m.line, m.text);
    else
        snprintf(w->answer.why, sizeof w->answer.why, "%s", m.text);
}

static bool write_answer(int out, const struct answer *a)
{
    ssize_t put;
    do
        put = write(out, a, sizeof *a); /* below PIPE_BUF: written whole or not at all */
    while (put < 0 && errno == EINTR);
    return put == sizeof *a;
}

static int member_of(const struct worker *w)
{
    return w->tuning->candidates[w->answer.job.candidate].member;
}

/* Returns the launch of the job's member, with the candidate and the sizes of a problem; NULL: that
 * fails, and the answer tells why. */
static tw_launch *apply(struct worker *w, int problem)
{
    const struct tuning *t = w->tuning;
    int member = member_of(w);
    tw_launch *l = t->members[member].launch;
    tw_status s = problem_set(t, problem, member, l);
    if (s == TW_OK)
        s = candidate_apply(t, w->answer.job.candidate, l);
    if (s == TW_OK)
        return l;
    say(w, s);
    return NULL;
}

/* Estimates the candidate at the problems with the same facts, each in an answer of its own. The
 * caller writes the last one. A refusal applies to all of them. */
static void estimate(struct worker *w)
{
    const struct tuning *t = w->tuning;
    struct answer *a = &w->answer;
    int member = member_of(w), facts = t->problems[a->job.problem].facts[member];
    int last = a->job.problem;
    for (int i = last; i < t->problem_count; i++)
        last = t->problems[i].facts[member] == facts ? i : last;
    for (int i = a->job.problem; i <= last && a->status == TW_OK; i++) {
        if (t->problems[i].facts[member] != facts)
            continue;
        tw_launch *l = apply(w, i);
        a->problem = i;
        a->estimate = tw_estimate_init();
        tw_status s = l ? tw_launch_estimate(l, t->multiprocessors, &a->estimate) : a->status;
        if (l && s != TW_OK)
            say(w, s);
        a->more = s == TW_OK && i < last;
        if (a->more)
            write_answer(w->out, a);
    }
}

/* Compiles into the cache of assembled kernels, from which the measuring process loads the
 * result. */
static void compile(struct worker *w)
{
    tw_launch *l = apply(w, w->answer.job.problem);
    tw_status s = l ? tw_launch_assemble(l) : TW_OK;
    if (s != TW_OK)
        say(w, s);
}

/* --- verifying --- */

/* Judges the values of a run of the candidate with the arrays of `j`. */
static bool judge(struct worker *w, struct judged *j)
{
    const struct tuning *t = w->tuning;
    struct answer *a = &w->answer;
    a->judged = j->expected != NULL;
    tw_status s = j->expected ? tw_launch_verify_by(j->launch, j->expected, NULL) : TW_OK;
    if (s != TW_OK)
        say(w, s);
    if (s == TW_WRONG_VALUES && candidate_apply(t, a->job.candidate, j->launch) == TW_OK)
        a->on_zeros =
            operands_right_on_zeros(&j->arrays, j->launch, t->given, a->why, sizeof a->why);
    return s == TW_OK;
}

static bool is_made(struct worker *w, const struct judged *j)
{
    struct answer *a = &w->answer;
    if (j->status == TW_OK)
        return true;
    a->status = j->status;
    snprintf(a->why, sizeof a->why, "%s", j->why);
    return false;
}

/* Runs the launch with the inputs of `j`, and judges the values. */
static bool verify_by(struct worker *w, struct judged *j)
{
    const struct tuning *t = w->tuning;
    if (!is_made(w, j))
        return false;
    tw_status s = candidate_apply(t, w->answer.job.candidate, j->launch);
    operands_start(&j->arrays, t->given);
    if (s == TW_OK)
        s = tw_launch_run(j->launch);
    if (s != TW_OK)
        say(w, s);
    return s == TW_OK && judge(w, j);
}

/* The same by the entry that is timed afterwards, so that the GPU loads one program. */
static bool verify_on_gpu(struct worker *w, struct judged *j)
{
    struct answer *a = &w->answer;
    if (!is_made(w, j))
        return false;
    operands_start(&j->arrays, w->tuning->given);
    a->status = timer_run(w->timer, &a->job, j, &a->occupancy);
    if (a->status != TW_OK)
        snprintf(a->why, sizeof a->why, "%s", timer_why(w->timer));
    return a->status == TW_OK && judge(w, j);
}

/* Verifies the program. */
static bool verify(struct worker *w)
{
    struct answer *a = &w->answer;
    struct judged *j = judged_for(w->tuning, a->job.problem, a->job.candidate);
    /* The launch checks what an entry does not: workspace that the kernel must leave clean. */
    a->verified = verify_by(w, j) && (!w->tuning->on_gpu || verify_on_gpu(w, j));
    return a->verified;
}

/* Verifies the candidate at the problem's own sizes, unless its program was verified at these. */
static void verify_winner(struct worker *w)
{
    struct tuning *t = w->tuning;
    int problem = w->answer.job.problem, candidate = w->answer.job.candidate;
    const struct facts *f = &t->facts[t->problems[problem].facts[member_of(w)]];
    if (f->judged && f->judged->own && f->problem == problem)
        return;
    struct judged *j = judged_own(t, problem, candidate);
    verify_by(w, j);
    judged_free(j);
}

/* --- timing --- */

static bool take_samples(struct worker *w, const struct job *job)
{
    struct answer *a = &w->answer;
    int count;
    tw_status s = timer_sample(w->timer, job, a->samples + a->sample_count, &count);
    a->sample_count += count;
    if (s == TW_OK)
        return true;
    a->status = s;
    snprintf(a->why, sizeof a->why, "%s", timer_why(w->timer));
    return false;
}

/* Measures a candidate for the first time. A single sample that is slow is confirmed by another,
 * because it may have been disturbed. */
static void measure(struct worker *w)
{
    struct answer *a = &w->answer;
    const struct job *job = &a->job;
    if ((job->verify && !verify(w)) || !take_samples(w, job))
        return;
    if (a->sample_count > 1 || job->best_ms <= 0 || a->samples[0] <= near_best * job->best_ms)
        return;
    struct job again = *job;
    again.count = 1;
    again.known_ms = a->samples[0];
    take_samples(w, &again);
}

static void do_job(struct worker *w)
{
    switch (w->answer.job.kind) {
    case JOB_ESTIMATE: estimate(w); break;
    case JOB_COMPILE: compile(w); break;
    case JOB_MEASURE: measure(w); break;
    case JOB_TIME: take_samples(w, &w->answer.job); break;
    case JOB_VERIFY: verify_winner(w); break;
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

void tune_work(struct tuning *t, int in, int out, bool measures)
{
    t->in_child = true;
    struct worker w = {.tuning = t, .timer = timer_new(t), .out = out};
    struct job job;
    while (read_job(in, &job)) {
        w.answer = (struct answer){.job = job, .problem = job.problem};
        do_job(&w);
        /* a GPU fault persists in the process */
        w.answer.leaves = measures && t->on_gpu && w.answer.status == TW_FAULT;
        if (!write_answer(out, &w.answer) || w.answer.leaves)
            return;
    }
}
