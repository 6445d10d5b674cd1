#include "learn/learn_limits.h"
#include "learn/learn_counters.h"
#include "learn/learn_text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void limits_take(tw_counted **to, const tw_counted *counted)
{
    counted_free(*to);
    *to = counted_copy(counted);
}

void limits_free(struct limits *l)
{
    counted_free(l->of_solution);
    counted_free(l->of_answer);
    answer_end(&l->silent);
}

/* --- without prints --- */

static bool open_silent(struct answer *silent, const struct answer *a, tw_kernel *solution)
{
    struct problems problems = {0};
    answer_begin(silent, a->language, NULL, answer_text_without_prints(a->text, a->language),
                 a->ctx);
    silent->simulated_only = true;
    silent->compiler = a->compiler;
    bool opened =
        a->language == LANGUAGE_CUDA || answer_open(silent, tw_kernel_name(solution), &problems);
    problems_free(&problems);
    return opened;
}

void limits_count_silently(struct limits *l, const struct answer *a, struct case_at_hand *at,
                           int64_t step_limit)
{
    struct problems problems = {0};
    tw_sim_result result = tw_sim_result_init();
    struct answer_run how = {.watch = TW_WATCH_COUNTERS, .step_limit = step_limit};
    if (!l->silent.text)
        l->is_silent = open_silent(&l->silent, a, at->kernel);
    case_arrays_start(&at->arrays, 0);
    l->is_silent = l->is_silent && answer_take(&l->silent, at, &problems) == STATUS_OK &&
                   !problems.count && answer_run(&l->silent, &how, &result, &problems) &&
                   !problems.count && tw_launch_verify(at->launch, NULL) == TW_OK;
    if (l->is_silent)
        limits_take(&l->of_answer, result.counted);
    problems_free(&problems);
}

void limits_count_warps(struct limits *l, struct answer *a, struct answer *solution)
{
    l->warps_of_answer = answer_resident_warps(l->is_silent ? &l->silent : a);
    l->warps_of_solution = answer_resident_warps(solution);
}

/* --- against their bounds --- */

/* Finds the counts of a counter. Returns false if there is none of that name. */
static bool counts_of(const struct limits *l, const char *name, struct counts *out)
{
    if (strcmp(name, "resident_warps") == 0) {
        *out = (struct counts){.answer = l->warps_of_answer, .solution = l->warps_of_solution};
        return true;
    }
    return counter_total(l->of_answer, name, &out->answer) &&
           counter_total(l->of_solution, name, &out->solution);
}

static void beyond(const struct limits *all, const struct answer *a, const struct counter_limit *l,
                   int64_t have, double bound, int64_t of_solution, struct problems *problems)
{
    const struct answer *counted = all->is_silent ? &all->silent : a;
    int line = l->at_least ? 0
                           : counter_line(all->of_answer, l->counter, counted->path, counted->text,
                                          have - of_solution);
    bool of_warps = strcmp(l->counter, "barriers") == 0;
    char *message = need_text(
        "%s%s: %lld here, at %s %.0f %s (the solution: %lld)%s%s", l->counter,
        of_warps ? ", each counted once a warp" : "", (long long)have,
        l->at_least ? "least" : "most", l->at_least ? ceil(bound) : floor(bound),
        l->at_least ? "needed" : "allowed", (long long)of_solution, *l->why ? "; " : "", l->why);
    char *text = answer_message(a, line, message);
    if (line)
        problems_add_at(problems, REASON_LIMIT, a->path, line, text);
    else
        problems_add(problems, REASON_LIMIT, text);
    problems->list[problems->count - 1].counter = need_text("%s", l->counter);
    free(message);
}

/* Returns whether the counter exceeds its limit. A default limit is relative to the solution's
 * count, and does not apply if that is 0. */
static bool is_beyond(const struct counter_limit *l, int64_t have, double bound,
                      int64_t of_solution)
{
    if (l->by_default && !of_solution)
        return false;
    return l->at_least ? (double)have < bound : (double)have > bound;
}

/* Rounds a limit to a whole number, because counters are whole numbers. */
static int64_t whole_limit(const struct counted *c, double limit)
{
    return (int64_t)(c->at_least ? ceil(limit) : floor(limit));
}

static void count(struct counted *c, const struct counts *here)
{
    struct counts *all = &c->all, first = *here;
    if (here->limit != HUGE_VAL)
        first.limit = (double)whole_limit(c, here->limit);
    if (!c->known) {
        *all = first;
    } else {
        all->answer = counter_joined(c->counter, all->answer, first.answer);
        all->solution = counter_joined(c->counter, all->solution, first.solution);
        if (first.limit == HUGE_VAL || all->limit == HUGE_VAL)
            all->limit = HUGE_VAL;
        else
            all->limit =
                (double)counter_joined(c->counter, (int64_t)all->limit, (int64_t)first.limit);
    }
    c->here = *here;
    c->known = true;
}

char *limits_check(const struct limits *all, const struct answer *a, const struct case_at_hand *at,
                   bool defaults, int *beyond_default, struct judgement *out)
{
    *beyond_default = -1;
    for (int i = 0; i < at->cases->limit_count && all->of_answer && all->of_solution; i++) {
        const struct counter_limit *l = &at->cases->limits[i];
        struct counts n;
        double bound;
        if (!counts_of(all, l->counter, &n))
            return need_text("there is no counter %s", l->counter);
        int64_t have = n.answer, of_solution = n.solution;
        const char *wrong = case_formula(at, l->formula, (double)of_solution, &bound);
        if (wrong)
            return need_text("%s", wrong);
        bool is_too_far = is_beyond(l, have, bound, of_solution);
        if (is_too_far && l->by_default && *beyond_default < 0)
            *beyond_default = i;
        if (is_too_far && (defaults || !l->by_default))
            beyond(all, a, l, have, bound, of_solution, &out->problems);
        bool applies = !l->by_default || of_solution;
        struct counts here = {have, of_solution, applies ? bound : HUGE_VAL};
        count(&out->counters[i], &here);
        out->counters[i].beyond = is_too_far && (defaults || !l->by_default);
    }
    return NULL;
}
