/* The parent process: gives jobs to its children.
 *
 * All candidates are estimated. Then the children compile them in the order of their estimates;
 * meanwhile, a separate process verifies and times the compiled ones, one at a time. At the end,
 * the best few are timed again in turn, while nothing else runs. Each measurement is stored at
 * once. */
#include "tune.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 12, ROUNDS_BEFORE_DROPPING = 4 };
static const double near_enough = 1.15; /* times the best: up to here, time again */
static const double too_far = 1.03;     /* times the best: dropped after some rounds */
static const double final_sample_ms = 10;
static const double final_share = 0.5; /* of the time until then, and at least … */
static const double final_seconds = 2;
static const double first_share = 0.85; /* of the budget, until the finals */
static const double long_seconds = 1;   /* the cut-off measurement is named if longer */

struct search {
    struct tuning *tuning;
    int *order; /* candidates to measure, the most promising first */
    int order_count;
    struct job *todo; /* for compiling processes, from `next` on */
    int todo_count, next;
    int estimated, compiled, measured, failed;
    int best; /* -1: none */
    double deadline;
    bool anew;   /* new samples replace the candidate's old ones */
    bool broken; /* a process cannot start, or storing fails */
};

static volatile sig_atomic_t stop_asked;

static void ask_to_stop(int signal_number)
{
    (void)signal_number;
    stop_asked = 1;
}

static bool is_over(const struct search *s)
{
    return s->broken || stop_asked || (s->deadline > 0 && seconds_now() > s->deadline);
}

static struct candidate *candidate_at(const struct search *s, int index)
{
    return &s->tuning->candidates.list[index];
}

/* --- what came out --- */

static void add_samples(struct candidate *c, const double *samples, int count)
{
    c->samples =
        need_more_memory(c->samples, (size_t)(c->sample_count + count) * sizeof *c->samples);
    memcpy(c->samples + c->sample_count, samples, (size_t)count * sizeof *samples);
    c->sample_count += count;
    c->ms = median_of(c->samples, c->sample_count);
}

static void store(struct search *s, const struct candidate *c)
{
    struct tuning *t = s->tuning;
    tw_tuned row = t->key;
    row.tune = c->text;
    row.status = c->status;
    row.why = c->why ? c->why : "";
    row.milliseconds = c->status == TW_OK ? c->ms : 0;
    row.samples = c->sample_count;
    tw_status status = t->store ? tw_store_put(t->store, &row) : TW_OK;
    if (status == TW_OK)
        return;
    progress_clear(&t->progress);
    complain_library(NULL, t->program.ctx, status);
    s->broken = true;
}

/* Refusals by a target or a launch are not worth storing: a new run would find them at once. */
static bool is_worth_storing(tw_status status)
{
    return status == TW_OK || status == TW_WRONG_VALUES || status == TW_FAULT ||
           status == TW_CANCELLED || status == TW_UNSUPPORTED;
}

static void find_best(struct search *s)
{
    s->best = -1;
    for (int i = 0; i < s->tuning->candidates.count; i++) {
        const struct candidate *c = candidate_at(s, i);
        if (c->state == CANDIDATE_MEASURED && (s->best < 0 || c->ms < candidate_at(s, s->best)->ms))
            s->best = i;
    }
}

static void fail_candidate(struct search *s, const struct answer *a)
{
    struct candidate *c = candidate_at(s, a->job.index);
    c->state = a->status == TW_BAD_PROGRAM ? CANDIDATE_REFUSED : CANDIDATE_FAILED;
    c->status = a->status;
    free(c->why);
    c->why = need_text("%s", a->why);
    s->failed += c->state == CANDIDATE_FAILED;
    if (is_worth_storing(a->status) && !a->on_zeros)
        store(s, c);
    find_best(s);
}

static void take_answer(struct search *s, const struct answer *a)
{
    struct candidate *c = candidate_at(s, a->job.index);
    s->estimated += a->job.kind == JOB_ESTIMATE;
    s->compiled += a->job.kind == JOB_COMPILE;
    if (a->status != TW_OK) {
        fail_candidate(s, a);
        return;
    }
    switch (a->job.kind) {
    case JOB_ESTIMATE:
        c->estimate = a->estimate;
        if (c->state == CANDIDATE_NEW)
            c->state = CANDIDATE_PROMISING;
        break;
    case JOB_COMPILE: c->state = CANDIDATE_READY; break;
    case JOB_MEASURE:
        c->state = CANDIDATE_MEASURED;
        c->status = TW_OK;
        c->occupancy = a->occupancy;
        add_samples(c, a->samples, a->sample_count);
        s->measured++;
        store(s, c);
        find_best(s);
        break;
    case JOB_TIME:
        c->sample_count = s->anew ? 0 : c->sample_count;
        add_samples(c, a->samples, a->sample_count);
        break;
    }
}

/* --- processes --- */

static bool start(struct search *s, struct process *p)
{
    if (p->pid > 0 || process_start(p, s->tuning))
        return true;
    progress_clear(&s->tuning->progress);
    complain(NULL, "no process can be started: %s", strerror(errno));
    s->broken = true;
    return false;
}

/* Handles the end of a process: its oldest job caused the end; the other jobs are queued again. */
static void take_end(struct search *s, struct process *p, tw_status status, const char *why)
{
    struct job at = p->jobs[0];
    int count = p->job_count;
    for (int i = 1; i < count; i++)
        s->todo[s->todo_count++] = p->jobs[i];
    p->job_count = 0;
    if (count == 0)
        return;
    struct answer a = {.job = at, .status = status};
    snprintf(a.why, sizeof a.why, "%s", why);
    take_answer(s, &a);
}

static void take_from(struct search *s, struct process *p)
{
    struct answer a = {0};
    char *ended = NULL;
    if (!process_take(p, &a, &ended))
        take_end(s, p, TW_FAULT, ended);
    else
        take_answer(s, &a);
    free(ended);
    if (p->pid > 0 && p->job_count == 0 && a.leaves)
        process_kill(p);
}

static void stop_late(struct search *s, struct process *p)
{
    const struct tuning *t = s->tuning;
    if (p->pid == 0 || p->job_count == 0 || seconds_now() - p->since < t->timeout)
        return;
    char *why =
        need_text("%s took more than %g s",
                  p->jobs[0].kind == JOB_ESTIMATE || p->jobs[0].kind == JOB_COMPILE ? "compiling"
                                                                                    : "measuring",
                  t->timeout);
    process_kill(p);
    take_end(s, p, TW_CANCELLED, why);
    free(why);
}

static void show_progress(const struct search *s)
{
    struct tuning *t = s->tuning;
    char best[200] = "";
    if (s->best >= 0)
        snprintf(best, sizeof best, "; best %.4g ms (%s)", candidate_at(s, s->best)->ms,
                 candidate_at(s, s->best)->text);
    progress_step(&t->progress, "%s: %d of %d measured, %d compiled, %d failed%s; %.0f s",
                  tw_kernel_name(t->kernel), s->measured, s->order_count, s->compiled, s->failed,
                  best, seconds_now() - t->started);
}

/* Waits for answers, at most a tenth of a second. */
static void wait_for_answers(struct search *s)
{
    struct tuning *t = s->tuning;
    struct pollfd *list = need_memory((size_t)t->process_count * sizeof *list);
    for (int i = 0; i < t->process_count; i++)
        list[i] = (struct pollfd){.fd = t->processes[i].pid ? t->processes[i].from : -1,
                                  .events = POLLIN};
    if (poll(list, (nfds_t)t->process_count, 100) > 0)
        for (int i = 0; i < t->process_count; i++)
            if (list[i].revents && t->processes[i].pid)
                take_from(s, &t->processes[i]);
    free(list);
    for (int i = 0; i < t->process_count; i++)
        stop_late(s, &t->processes[i]);
    show_progress(s);
}

static void add_todo(struct search *s, enum job_kind kind, int index)
{
    s->todo[s->todo_count++] = (struct job){.kind = kind, .index = index};
}

/* Gives compile jobs to the processes that have few. */
static void give_todo(struct search *s)
{
    struct tuning *t = s->tuning;
    for (int ahead = 1; ahead <= JOBS_AHEAD; ahead++)
        for (int i = 1; i < t->process_count && s->next < s->todo_count; i++) {
            struct process *p = &t->processes[i];
            if (p->job_count >= ahead)
                continue;
            if (!start(s, p))
                return;
            if (process_give(p, &s->todo[s->next]))
                s->next++;
        }
}

static bool is_busy(const struct search *s, int from)
{
    for (int i = from; i < s->tuning->process_count; i++)
        if (s->tuning->processes[i].job_count > 0)
            return true;
    return false;
}

/* --- estimates --- */

static void estimate_all(struct search *s)
{
    for (int i = 0; i < s->tuning->candidates.count; i++)
        add_todo(s, JOB_ESTIMATE, i);
    while ((s->next < s->todo_count || is_busy(s, 1)) && !is_over(s)) {
        give_todo(s);
        wait_for_answers(s);
    }
}

/* Drops candidates that compile to the same program as an earlier one, which is measured. */
static void drop_copies(struct search *s)
{
    const struct candidates *all = &s->tuning->candidates;
    for (int i = 0; i < all->count; i++) {
        struct candidate *c = &all->list[i];
        for (int j = 0; j < i && c->state == CANDIDATE_PROMISING; j++) {
            const struct candidate *other = &all->list[j];
            bool taken = other->state == CANDIDATE_PROMISING || other->state == CANDIDATE_MEASURED;
            if (!taken || other->estimate.program != c->estimate.program)
                continue;
            c->state = CANDIDATE_SAME;
            c->why = need_text("the same program as %s", other->text);
        }
    }
}

static const struct candidate *sorted; /* qsort has no argument for it */

static int compare_costs(const void *a, const void *b)
{
    int i = *(const int *)a, j = *(const int *)b;
    double x = sorted[i].estimate.cost, y = sorted[j].estimate.cost;
    return x != y ? (x > y) - (x < y) : (i > j) - (i < j);
}

static void put_in_order(struct search *s)
{
    const struct candidates *all = &s->tuning->candidates;
    for (int i = 0; i < all->count; i++)
        if (all->list[i].state == CANDIDATE_PROMISING)
            s->order[s->order_count++] = i;
    sorted = all->list;
    qsort(s->order, (size_t)s->order_count, sizeof *s->order, compare_costs);
}

/* --- measuring --- */

/* Starts the compiling processes. The CPU's programs compile where they run, because that takes
 * too little time for separate processes. */
static void begin_compiling(struct search *s)
{
    for (int i = 0; i < s->order_count; i++)
        if (s->tuning->on_gpu)
            add_todo(s, JOB_COMPILE, s->order[i]);
        else
            candidate_at(s, s->order[i])->state = CANDIDATE_READY;
    if (s->tuning->on_gpu)
        give_todo(s);
}

static int next_ready(const struct search *s)
{
    for (int i = 0; i < s->order_count; i++)
        if (candidate_at(s, s->order[i])->state == CANDIDATE_READY)
            return s->order[i];
    return -1;
}

static void give_measurement(struct search *s)
{
    struct process *p = &s->tuning->processes[0];
    int index = next_ready(s);
    if (p->job_count > 0 || index < 0 || !start(s, p))
        return;
    double best = s->best >= 0 ? candidate_at(s, s->best)->ms : 0;
    process_give(p, &(struct job){.kind = JOB_MEASURE, .index = index, .best_ms = best});
}

static void measure_all(struct search *s)
{
    while ((s->next < s->todo_count || is_busy(s, 0) || next_ready(s) >= 0) && !is_over(s)) {
        give_todo(s);
        give_measurement(s);
        wait_for_answers(s);
    }
    for (int i = 1; i < s->tuning->process_count; i++)
        process_kill(&s->tuning->processes[i]);
}

/* Ends the measurements that still run when the budget is over, and names the long ones, so that
 * the finals need not wait. Such a candidate may be slow or never end; only --timeout marks it
 * as failed. */
static void end_unfinished(struct search *s)
{
    struct process *p = &s->tuning->processes[0];
    double took = seconds_now() - p->since;
    if (stop_asked || s->broken || p->job_count == 0 || took < long_seconds)
        return;
    struct candidate *c = candidate_at(s, p->jobs[0].index);
    if (c->state == CANDIDATE_READY && !c->why)
        c->why = need_text("not done after %.1f s of measuring, when the budget ended (--timeout "
                           "ends one sooner)",
                           took);
    process_kill(p);
    p->job_count = 0;
}

/* --- the finals --- */

/* Returns the least sample. Disturbances only lengthen a measurement, so of few samples the
 * shortest is the best estimate. */
static double least_ms(const struct candidate *c)
{
    double least = c->sample_count ? c->samples[0] : c->ms;
    for (int i = 1; i < c->sample_count; i++)
        least = fmin(least, c->samples[i]);
    return least;
}

static int compare_times(const void *a, const void *b)
{
    double x = least_ms(&sorted[*(const int *)a]), y = least_ms(&sorted[*(const int *)b]);
    return (x > y) - (x < y);
}

/* Chooses the candidates near the best, and at least a few. */
static int choose_finalists(const struct search *s, int *list)
{
    const struct candidates *all = &s->tuning->candidates;
    int count = 0, most = (int)s->tuning->finalists;
    for (int i = 0; i < all->count; i++)
        if (all->list[i].state == CANDIDATE_MEASURED)
            list[count++] = i;
    sorted = all->list;
    qsort(list, (size_t)count, sizeof *list, compare_times);
    int few = count < 4 ? count : 4, near = few;
    while (near < count && near < most &&
           least_ms(&all->list[list[near]]) <= near_enough * least_ms(&all->list[list[0]]))
        near++;
    return s->tuning->exhaustive ? count : most < near ? most : near;
}

static int final_runs(double ms)
{
    double runs = ms > 0 ? ceil(final_sample_ms / ms) : 1;
    return runs > 1000 ? 1000 : (int)runs;
}

/* Takes one sample. Returns false if the time is over or the candidate failed. */
static bool time_again(struct search *s, int index)
{
    struct candidate *c = candidate_at(s, index);
    struct process *p = &s->tuning->processes[0];
    if (!start(s, p) ||
        !process_give(p,
                      &(struct job){.kind = JOB_TIME, .index = index, .runs = final_runs(c->ms)}))
        return false;
    while (p->job_count > 0 && !is_over(s))
        wait_for_answers(s);
    return p->job_count == 0 && c->state == CANDIDATE_MEASURED;
}

/* Returns the noise, or 0 if there are too few samples. */
static double noise_of(const struct candidate *c)
{
    return fmax(candidate_noise(c), 0);
}

/* Drops the candidates that are slower by more than noise. */
static int drop_far(const struct search *s, int *list, int count)
{
    const struct candidate *best = candidate_at(s, list[0]);
    int kept = 0;
    for (int i = 1; i < count; i++)
        if (candidate_at(s, list[i])->ms < best->ms)
            best = candidate_at(s, list[i]);
    for (int i = 0; i < count; i++) {
        const struct candidate *c = candidate_at(s, list[i]);
        if (c->ms - noise_of(c) <= too_far * best->ms + noise_of(best))
            list[kept++] = list[i];
    }
    return kept;
}

/* Times the finalists in turn, so that all see the device in the same state; only samples of
 * these rounds enter the median. Returns how many finalists are left. */
static int play_round(struct search *s, int round, int *list, int count)
{
    s->anew = round == 0;
    for (int i = 0; i < count && !is_over(s); i++)
        if (!time_again(s, list[i]))
            list[i--] = list[--count];
    bool drops = !s->tuning->exhaustive && round + 1 >= ROUNDS_BEFORE_DROPPING && count > 0;
    return drops ? drop_far(s, list, count) : count;
}

static void play_rounds(struct search *s, int *list, int count, double until)
{
    const struct tuning *t = s->tuning;
    for (int round = 0; round < ROUNDS && count > 1 && !is_over(s); round++) {
        count = play_round(s, round, list, count);
        if (!t->exhaustive && seconds_now() > until)
            break;
    }
}

static bool is_listed(int index, const int *list, int count)
{
    for (int i = 0; i < count; i++)
        if (list[i] == index)
            return true;
    return false;
}

/* Returns the fastest in the list; -1: all failed. */
static int fastest_of(const struct search *s, const int *list, int count)
{
    int best = -1;
    for (int i = 0; i < count; i++) {
        const struct candidate *c = candidate_at(s, list[i]);
        if (c->state == CANDIDATE_MEASURED && (best < 0 || c->ms < candidate_at(s, best)->ms))
            best = list[i];
    }
    return best;
}

/* Adds to the finalists the other candidates whose earlier time beats the winner's new time, for
 * instance because the device has become slower. Returns how many it added. */
static int add_challengers(const struct search *s, int winner, int *finalists, int count)
{
    int added = 0;
    for (int i = 0; i < s->tuning->candidates.count; i++) {
        const struct candidate *c = candidate_at(s, i);
        if (c->state == CANDIDATE_MEASURED && c->ms < candidate_at(s, winner)->ms &&
            !is_listed(i, finalists, count))
            finalists[count + added++] = i;
    }
    return added;
}

static void store_finalists(struct search *s, const int *list, int count)
{
    for (int i = 0; i < count; i++) {
        const struct candidate *c = candidate_at(s, list[i]);
        if (c->state == CANDIDATE_MEASURED && c->sample_count > 0)
            store(s, c);
    }
}

static void hold_finals(struct search *s)
{
    size_t room = (size_t)s->tuning->candidates.count + 1;
    int *finalists = need_memory(room * sizeof *finalists),
        *list = need_memory(room * sizeof *list);
    double now = seconds_now(), share = final_share * (now - s->tuning->started);
    double until = now + (share > final_seconds ? share : final_seconds);
    int count = choose_finalists(s, finalists);
    memcpy(list, finalists, (size_t)count * sizeof *list);
    if (count > 1)
        play_rounds(s, list, count, until);
    int winner = fastest_of(s, finalists, count), more = 0;
    if (count > 1 && winner >= 0 && !is_over(s))
        more = add_challengers(s, winner, finalists, count);
    memcpy(list, finalists + count, (size_t)more * sizeof *list);
    list[more] = winner;
    if (more > 0)
        play_rounds(s, list, more + 1, until);
    store_finalists(s, finalists, count + more);
    find_best(s);
    free(finalists);
    free(list);
}

/* --- all of it --- */

static void set_deadline(struct search *s, double share)
{
    const struct tuning *t = s->tuning;
    s->deadline = t->budget > 0 ? t->started + share * t->budget : 0;
}

static int search(struct search *s)
{
    set_deadline(s, first_share);
    estimate_all(s);
    drop_copies(s);
    put_in_order(s);
    if (s->order_count == 0 || is_over(s))
        return s->broken ? STATUS_FAILED : STATUS_OK;
    begin_compiling(s);
    int status = tune_prepare_values(s->tuning, candidate_at(s, s->order[0]));
    if (status != STATUS_OK)
        return status;
    measure_all(s);
    end_unfinished(s);
    set_deadline(s, 1);
    if (s->measured > 0 && !is_over(s))
        hold_finals(s);
    end_unfinished(s);
    return s->broken ? STATUS_FAILED : STATUS_OK;
}

int tune_search(struct tuning *t)
{
    struct search s = {.tuning = t, .best = -1};
    size_t count = (size_t)t->candidates.count + 1;
    s.order = need_memory(count * sizeof *s.order);
    /* Each candidate is estimated and compiled. When a process ends, its open jobs are added
     * again: at most JOBS_AHEAD - 1 for each failure. */
    s.todo = need_memory(2 * JOBS_AHEAD * count * sizeof *s.todo);
    t->process_count = (int)t->jobs + 1;
    t->processes = need_memory((size_t)t->process_count * sizeof *t->processes);
    t->processes[0].measures = true;
    struct sigaction stop = {.sa_handler = ask_to_stop}, before_int, before_term;
    sigaction(SIGINT, &stop, &before_int);
    sigaction(SIGTERM, &stop, &before_term);
    void (*before_pipe)(int) = signal(SIGPIPE, SIG_IGN);
    progress_start(&t->progress);
    int status = search(&s);
    progress_clear(&t->progress);
    for (int i = 0; i < t->process_count; i++)
        process_kill(&t->processes[i]);
    signal(SIGPIPE, before_pipe);
    sigaction(SIGINT, &before_int, NULL);
    sigaction(SIGTERM, &before_term, NULL);
    t->interrupted = stop_asked;
    free(t->processes);
    free(s.todo);
    free(s.order);
    return status;
}
