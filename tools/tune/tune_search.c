/* The parent process: gives jobs to its children.
 *
 * All candidates are estimated at all problems. Then the children compile them, those of the first
 * problem first, in the order of their estimates; meanwhile, a separate process verifies and times
 * the compiled ones, one at a time (tune_stages.c). While the programs of a problem are still being
 * compiled, that process measures the next problem's. Each measurement is stored at once. */
#include "tune/tune.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

static const double long_seconds = 1; /* the cut-off measurement is named if longer */

struct search {
    struct tuning *tuning;
    struct job *todo; /* for compiling processes, from `next` on; then programs to compile */
    int todo_count, next, room;
    int to_measure, measured, compiled, failed;
    bool compiles; /* programs are compiled */
    bool fills;    /* a table is completed, also after the budget */
    bool broken;   /* a process cannot start, or storing fails */
};

static volatile sig_atomic_t stop_asked;

static void ask_to_stop(int signal_number)
{
    (void)signal_number;
    stop_asked = 1;
}

static bool is_over(const struct search *s)
{
    const struct tuning *t = s->tuning;
    bool late = t->budget > 0 && !s->fills && seconds_now() > t->started + t->budget;
    return s->broken || stop_asked || late;
}

/* --- what came out --- */

/* Refusals by a target or a launch are not worth storing: a new run would find them at once. */
static bool is_worth_storing(tw_status status)
{
    return status == TW_OK || status == TW_WRONG_VALUES || status == TW_FAULT ||
           status == TW_CANCELLED || status == TW_UNSUPPORTED;
}

static void fail_trial(struct search *s, int problem, const struct answer *a)
{
    struct tuning *t = s->tuning;
    struct trial *x = trial_at(t, problem, a->job.candidate);
    x->state = a->status == TW_BAD_PROGRAM ? TRIAL_REFUSED : TRIAL_FAILED;
    x->status = a->status;
    free(x->why);
    x->why = need_text("%s", a->why);
    s->failed += x->state == TRIAL_FAILED;
    if (is_worth_storing(a->status) && !a->on_zeros)
        keep_result(t, problem, a->job.candidate);
    t->problems[problem].best = problem_fastest(t, &t->problems[problem], -1);
}

/* Marks all trials of a program that is refused, or wrong. */
static void fail_build(struct search *s, const struct answer *a)
{
    struct tuning *t = s->tuning;
    int member = t->candidates[a->job.candidate].member;
    int facts = t->problems[a->job.problem].facts[member];
    build_at(t, a->job.problem, a->job.candidate)->state = BUILD_BAD;
    for (int i = 0; i < t->problem_count; i++) {
        const struct trial *x = trial_at(t, i, a->job.candidate);
        if (t->problems[i].facts[member] == facts &&
            (x->state == TRIAL_NEW || x->state == TRIAL_PROMISING))
            fail_trial(s, i, a);
    }
}

static void fail(struct search *s, const struct answer *a)
{
    bool timed = a->job.kind == JOB_TIME || a->job.kind == JOB_VERIFY ||
                 (a->job.kind == JOB_MEASURE && (!a->job.verify || a->verified));
    if (timed)
        fail_trial(s, a->job.problem, a);
    else
        fail_build(s, a);
}

static void take_answer(struct search *s, const struct answer *a)
{
    struct tuning *t = s->tuning;
    struct trial *x = trial_at(t, a->problem, a->job.candidate);
    struct build *b = build_at(t, a->problem, a->job.candidate);
    s->compiled += a->job.kind == JOB_COMPILE;
    if (a->verified) {
        b->verified = true;
        b->occupancy = a->occupancy;
    }
    t->problems[a->problem].verified |= a->judged;
    if (a->status != TW_OK) {
        fail(s, a);
        return;
    }
    switch (a->job.kind) {
    case JOB_ESTIMATE:
        x->estimate = a->estimate;
        if (x->state == TRIAL_NEW)
            x->state = TRIAL_PROMISING;
        break;
    case JOB_COMPILE: b->state = BUILD_READY; break;
    case JOB_MEASURE: s->measured++; /* fall through */
    case JOB_TIME: stage_take(t, a); break;
    case JOB_VERIFY: break;
    }
}

/* --- processes --- */

static void add_todo(struct search *s, const struct job *job)
{
    if (s->todo_count == s->room) {
        s->room = s->room ? 2 * s->room : 64;
        s->todo = need_more_memory(s->todo, (size_t)s->room * sizeof *s->todo);
    }
    s->todo[s->todo_count++] = *job;
}

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
        add_todo(s, &p->jobs[i]);
    p->job_count = 0;
    if (count == 0)
        return;
    struct answer a = {.job = at, .problem = at.problem, .status = status};
    snprintf(a.why, sizeof a.why, "%s", why);
    take_answer(s, &a);
}

static void take_from(struct search *s, struct process *p)
{
    struct answer a = {0};
    char *ended = NULL;
    double since = p->since;
    if (!process_take(p, &a, &ended)) {
        take_end(s, p, TW_FAULT, ended);
    } else {
        p->answered++;
        if (p->measures)
            s->tuning->problems[a.problem].seconds += seconds_now() - since;
        take_answer(s, &a);
    }
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

/* Returns the first problem that is not done; the last one if all are. */
static int current(const struct tuning *t)
{
    int i = 0;
    while (i + 1 < t->problem_count && t->problems[i].stage == STAGE_DONE)
        i++;
    return i;
}

static void show_progress(const struct search *s)
{
    struct tuning *t = s->tuning;
    int at = current(t), best = t->problems[at].best;
    char text[200] = "", part[64] = "";
    if (best >= 0) {
        char *name = candidate_name(t, best);
        snprintf(text, sizeof text, "; best %.4g ms (%s)", trial_at(t, at, best)->ms, name);
        free(name);
    }
    if (t->problem_count > 1)
        snprintf(part, sizeof part, " size %d of %d,", at + 1, t->problem_count);
    progress_step(&t->progress, "%s:%s %d of %d measured, %d compiled, %d failed%s; %.0f s",
                  t->family ? t->family : tw_kernel_name(t->members[0].kernel), part, s->measured,
                  s->to_measure, s->compiled, s->failed, text, seconds_now() - t->started);
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
    s->broken |= !keep_write(t, false);
    show_progress(s);
}

/* Chooses the next program to compile: of the first problem that still needs one, in its order.
 * Leaves out candidates that are not worth it there. */
static bool next_program(struct search *s, struct job *out)
{
    struct tuning *t = s->tuning;
    for (int i = 0; i < t->problem_count && s->compiles; i++) {
        const struct problem *p = &t->problems[i];
        for (int k = 0; k < p->order_count && p->stage == STAGE_SAMPLE; k++) {
            int c = p->order[k];
            if (p->trials[c].state != TRIAL_PROMISING || p->trials[c].why ||
                build_at(t, i, c)->state != BUILD_NEW || stage_skips(t, i, c))
                continue;
            *out = (struct job){.kind = JOB_COMPILE, .candidate = c, .problem = i};
            return true;
        }
    }
    return false;
}

/* Gives the process its next job. Returns false if there is none. */
static bool give_next(struct search *s, struct process *p)
{
    struct job job;
    bool listed = s->next < s->todo_count;
    if (listed)
        job = s->todo[s->next];
    if ((!listed && !next_program(s, &job)) || !start(s, p))
        return false;
    if (!process_give(p, &job))
        return true; /* it has ended, and another one takes its place */
    s->next += listed;
    if (job.kind == JOB_COMPILE)
        build_at(s->tuning, job.problem, job.candidate)->state = BUILD_QUEUED;
    return true;
}

/* Gives jobs to the processes that have few. */
static void give_todo(struct search *s)
{
    struct tuning *t = s->tuning;
    for (int ahead = 1; ahead <= JOBS_AHEAD; ahead++)
        for (int i = 1; i < t->process_count; i++)
            if (t->processes[i].job_count < ahead && !give_next(s, &t->processes[i]))
                return;
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
    struct tuning *t = s->tuning;
    for (int f = 0; f < t->facts_count; f++) {
        const struct member *m = &t->members[t->facts[f].member];
        for (int i = m->first; i < m->first + m->count; i++)
            add_todo(s, &(struct job){
                            .kind = JOB_ESTIMATE, .candidate = i, .problem = t->facts[f].problem});
    }
    while ((s->next < s->todo_count || is_busy(s, 1)) && !is_over(s)) {
        give_todo(s);
        wait_for_answers(s);
    }
}

/* Drops candidates that compile to the same program as an earlier one, which is measured. */
static void drop_copies(const struct tuning *t, struct problem *p)
{
    for (int i = 0; i < t->candidate_count; i++) {
        struct trial *x = &p->trials[i];
        for (int j = 0; j < i && x->state == TRIAL_PROMISING; j++) {
            const struct trial *other = &p->trials[j];
            bool taken = other->state == TRIAL_PROMISING || other->state == TRIAL_MEASURED;
            if (!taken || other->estimate.program != x->estimate.program)
                continue;
            char *name = candidate_name(t, j);
            x->state = TRIAL_SAME;
            x->same = j;
            x->why = need_text("the same program as %s", name);
            free(name);
        }
    }
}

static void put_in_order(struct search *s, int problem)
{
    struct tuning *t = s->tuning;
    struct problem *p = &t->problems[problem];
    for (int i = 0; i < t->candidate_count; i++)
        if (p->trials[i].state == TRIAL_PROMISING)
            p->order[p->order_count++] = i;
    s->to_measure += p->order_count;
    stage_order(t, problem);
}

/* --- measuring --- */

/* Lets the processes compile. The CPU's programs compile where they run, because that takes too
 * little time for separate processes. */
static void begin_compiling(struct search *s)
{
    struct tuning *t = s->tuning;
    s->compiles = t->on_gpu;
    for (int i = 0; i < t->build_count && !t->on_gpu; i++)
        if (t->builds[i].state == BUILD_NEW)
            t->builds[i].state = BUILD_READY;
    give_todo(s);
}

/* Starts the measuring process. Its judged values are made before, so that a process that replaces it
 * need not make them again. */
static bool start_measuring(struct search *s, const struct job *job)
{
    struct tuning *t = s->tuning;
    struct process *p = &t->processes[0];
    if (p->pid == 0 && job->verify && judged_for(t, job->problem, job->candidate)->status != TW_OK)
        s->broken = true;
    return !s->broken && start(s, p);
}

static void end_problem(struct search *s, int problem)
{
    struct tuning *t = s->tuning;
    struct problem *p = &t->problems[problem];
    if (p->reported)
        return;
    p->reported = true;
    if (t->many)
        report_problem(t, problem);
    for (int i = problem + 1; i < t->problem_count; i++)
        if (t->problems[i].stage == STAGE_SAMPLE)
            stage_order(t, i);
}

/* Gives the measuring process its next job. Returns false if nothing is left to measure. */
static bool give_measurement(struct search *s)
{
    struct tuning *t = s->tuning;
    struct process *p = &t->processes[0];
    bool waits = false;
    struct job job;
    if (p->job_count > 0)
        return true;
    stage_share(t, current(t));
    for (int i = 0; i < t->problem_count; i++) {
        enum next n = stage_next(t, i, &job);
        if (n == NEXT_JOB) {
            if (start_measuring(s, &job))
                process_give(p, &job);
            return true;
        }
        waits |= n == NEXT_WAITS;
        if (n == NEXT_DONE && !t->problems[i].cut)
            end_problem(s, i);
    }
    return waits;
}

/* Ends the measurement that still runs when the budget of its problem is over, and names it if it
 * is long. Such a candidate may be slow or never end; only --timeout marks it as failed. */
static void end_unfinished(struct search *s, bool now)
{
    struct tuning *t = s->tuning;
    struct process *p = &t->processes[0];
    if (stop_asked || s->broken || p->job_count == 0 || t->budget == 0 || s->fills)
        return;
    const struct problem *of = &t->problems[p->jobs[0].problem];
    double took = seconds_now() - p->since;
    bool late = now || (of->sampled_until > 0 && seconds_now() > of->sampled_until);
    late &= now || p->answered > 0; /* the first job also makes the arrays, which all need */
    if (!late || took < long_seconds)
        return;
    struct trial *x = trial_at(t, p->jobs[0].problem, p->jobs[0].candidate);
    if (x->state == TRIAL_PROMISING && !x->why)
        x->why = need_text("not done after %.1f s of measuring, when the budget ended (--timeout "
                           "ends one sooner)",
                           took);
    process_kill(p);
    p->job_count = 0;
}

static void measure_all(struct search *s)
{
    while (!is_over(s)) {
        give_todo(s);
        if (!give_measurement(s))
            break;
        wait_for_answers(s);
        end_unfinished(s, false);
    }
    end_unfinished(s, true);
}

/* Chooses the variants of a table, and measures them where they were not measured. --known has
 * measured all of them, or its budget is over. */
static void complete_table(struct search *s)
{
    struct tuning *t = s->tuning;
    table_choose(t);
    s->fills = true;
    if (!is_over(s) && !t->only_stored && !t->known && table_fill(t))
        measure_all(s);
}

/* --- all of it --- */

static void say_unverified(const struct tuning *t)
{
    for (int i = 0; i < t->member_count; i++)
        if (!tw_kernel_has_ensures(t->members[i].kernel))
            complain(NULL, "%s has no `ensures`: values are not verified",
                     tw_kernel_name(t->members[i].kernel));
}

/* Checks for a cache. Without it, the compiling processes have no place for their results. */
static void look_for_cache(const struct tuning *t)
{
    tw_cache cache = tw_cache_init();
    if (!t->on_gpu || tw_context_cache(t->ctx, &cache) != TW_OK || (cache.folder && !cache.trouble))
        return;
    complain(NULL,
             "assembled kernels are not kept%s%s (TILEWRIGHT_CACHE names a folder): each is "
             "assembled again where it is measured",
             cache.trouble ? ", " : "", cache.trouble ? cache.trouble : "");
}

static int search(struct search *s)
{
    struct tuning *t = s->tuning;
    if (!t->foreign)
        estimate_all(s);
    for (int i = 0; i < t->problem_count; i++) {
        drop_copies(t, &t->problems[i]);
        t->problems[i].best = problem_fastest(t, &t->problems[i], -1);
        put_in_order(s, i);
    }
    if (s->to_measure > 0 && !is_over(s) && !t->only_stored) {
        begin_compiling(s);
        look_for_cache(t);
        int status = pool_plan(t);
        if (status != STATUS_OK)
            return status;
        say_unverified(t);
        do
            measure_all(s);
        while (!is_over(s) && stage_go_on(t));
    }
    for (int i = 0; i < t->problem_count && !s->broken; i++)
        end_problem(s, i);
    if (t->table.wanted)
        complete_table(s);
    s->broken |= !keep_write(t, true);
    return s->broken ? STATUS_FAILED : STATUS_OK;
}

int tune_search(struct tuning *t)
{
    struct search s = {.tuning = t};
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
    t->processes = NULL;
    t->process_count = 0;
    free(s.todo);
    pool_close(t);
    return status;
}
