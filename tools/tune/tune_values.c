/* Runs that judge programs: arrays, and the values that `ensures` expects.
 *
 * `ensures` judges the values of every candidate. The expected values for some facts are computed
 * once: those of the first problem before the measuring process is forked, others when a program
 * with these facts is first verified. If that would take too long at the sizes to tune for, the
 * run-time sizes that are axes of arrays are made smaller. The judged program is the same, because
 * only static values and the divisibility of sizes by 16 are compiled in. Among many candidates
 * and sizes, a run has some tiles of most kernels and a partial one; at the end the winner of each
 * problem is judged again at the problem's own sizes. */
#include "tune/tune.h"

#include <stdlib.h>
#include <string.h>

enum { LEAST_SIZE = 272 }; /* some tiles of most kernels, and a partial one */

/* The most that a run may take. */
struct limits {
    double work;    /* product of all sizes */
    double results; /* compared elements */
};
static const struct limits usual = {4e9, 2e6}; /* about a second on a few cores */
static const struct limits of_winner = {2e9, 2e6};
static const struct limits small = {2.5e7, 3e5};

static bool is_axis(tw_kernel *k, const char *name)
{
    tw_param p = tw_param_init();
    for (int i = 0; tw_kernel_param(k, i, &p) == TW_OK; i++)
        for (int d = 0; p.is_pointer && d < p.rank; d++)
            if (strcmp(p.dims[d], name) == 0)
                return true;
    return false;
}

static double work(tw_launch *l, tw_kernel *k)
{
    double product = 1;
    tw_param p = tw_param_init();
    tw_value v;
    for (int i = 0; tw_kernel_param(k, i, &p) == TW_OK; i++)
        if (!p.is_pointer && is_axis(k, p.name) && tw_launch_value(l, p.name, &v) == TW_OK &&
            v.kind != TW_FLOAT && v.i > 0)
            product *= (double)v.i;
    return product;
}

static double results(tw_launch *l, tw_kernel *k)
{
    double elements = 0;
    tw_param p = tw_param_init();
    tw_array a = tw_array_init();
    for (int i = 0; tw_kernel_param(k, i, &p) == TW_OK; i++)
        if (p.is_pointer && !p.is_const && tw_launch_shape(l, p.name, &a) == TW_OK) {
            double own = 1;
            for (int d = 0; d < a.rank; d++)
                own *= (double)a.shape[d];
            elements += own;
        }
    return elements;
}

/* Halves the largest size that is not compiled in. Returns false if no size can be smaller. */
static bool shrink(tw_launch *l, tw_kernel *k)
{
    tw_param p = tw_param_init();
    tw_value v, largest = {.i = LEAST_SIZE + 8}; /* the least multiple of 8 alone */
    char name[64] = "";
    for (int i = 0; tw_kernel_param(k, i, &p) == TW_OK; i++) {
        if (p.is_pointer || p.is_static || p.derived || !is_axis(k, p.name) ||
            tw_launch_value(l, p.name, &v) != TW_OK || v.kind == TW_FLOAT || v.i <= largest.i)
            continue;
        largest = v;
        snprintf(name, sizeof name, "%s", p.name);
    }
    if (!*name)
        return false;
    int64_t facts = largest.i % 8 ? 1 : largest.i % 16 ? 8 : 0;
    largest.i = largest.i / 2 > LEAST_SIZE ? largest.i / 2 : LEAST_SIZE;
    largest.i = facts == 1 ? largest.i | 1 : largest.i / 16 * 16 + facts;
    return tw_launch_set(l, name, largest) == TW_OK;
}

static bool is_large(tw_launch *l, tw_kernel *k, const struct limits *most)
{
    return work(l, k) > most->work || results(l, k) > most->results;
}

/* --- making one --- */

/* Notes the library's message as the reason why the run cannot be made. The parent prints it. */
static bool fail(const struct tuning *t, struct judged *j, tw_status s)
{
    tw_message m = {.size = sizeof m, .text = tw_status_text(s)};
    tw_context_message(t->ctx, 0, &m);
    j->status = s;
    snprintf(j->why, sizeof j->why, "%s", m.text);
    if (!t->in_child)
        complain_library(NULL, t->ctx, s);
    return false;
}

/* Makes the launch at the problem's sizes. */
static bool make_launch(const struct tuning *t, struct judged *j, int problem, int candidate)
{
    int member = t->candidates[candidate].member;
    const struct member *m = &t->members[member];
    tw_launch_free(j->launch);
    j->launch = NULL;
    tw_status s = tw_launch_new(m->kernel, &j->launch);
    if (s == TW_OK && member_settings(t, m, j->launch) != STATUS_OK)
        s = TW_BAD_ARGUMENT;
    if (s == TW_OK)
        s = problem_set(t, problem, member, j->launch);
    if (s == TW_OK)
        s = candidate_apply(t, candidate, j->launch);
    j->own = true;
    return s == TW_OK || fail(t, j, s);
}

/* Makes the launch, at sizes within the limits if the kernel accepts such sizes. */
static bool choose_sizes(const struct tuning *t, struct judged *j, int problem, int candidate,
                         const struct limits *most)
{
    tw_kernel *k = t->members[t->candidates[candidate].member].kernel;
    if (!make_launch(t, j, problem, candidate))
        return false;
    while (is_large(j->launch, k, most) && shrink(j->launch, k))
        j->own = false;
    return j->own || tw_launch_prepare(j->launch) == TW_OK ||
           make_launch(t, j, problem, candidate); /* the kernel refuses smaller sizes */
}

static bool make_operands(const struct tuning *t, struct judged *j, tw_kernel *k)
{
    tw_status s = operands_make(&j->arrays, j->launch, k, 1, 1);
    if (s == TW_OK)
        return true;
    if (s != TW_NO_MEMORY || t->in_child || !operands_say_no_memory(&j->arrays, NULL))
        return fail(t, j, s);
    j->status = s;
    return false;
}

/* Computes the expected values. The verdict on arrays that no kernel has written does not
 * matter, but the computation yields the values. */
static bool find_expected(const struct tuning *t, struct judged *j, tw_kernel *k)
{
    if (!tw_kernel_has_ensures(k))
        return true;
    tw_status s = tw_expected_new(t->ctx, &j->expected);
    if (s == TW_OK)
        s = tw_launch_verify_by(j->launch, j->expected, NULL);
    if (s == TW_OK || s == TW_WRONG_VALUES)
        return true;
    if (s != TW_UNSUPPORTED)
        return fail(t, j, s);
    fail(t, j, s);
    if (!t->in_child)
        complain_more(NULL, "values are not verified");
    j->status = TW_OK;
    tw_expected_free(j->expected);
    j->expected = NULL;
    return true;
}

static struct judged *judged_make(const struct tuning *t, int problem, int candidate,
                                  const struct limits *most)
{
    struct judged *j = need_memory(sizeof *j);
    tw_kernel *k = t->members[t->candidates[candidate].member].kernel;
    if (choose_sizes(t, j, problem, candidate, most) && make_operands(t, j, k))
        find_expected(t, j, k);
    return j;
}

struct judged *judged_for(struct tuning *t, int problem, int candidate)
{
    struct facts *f = &t->facts[t->problems[problem].facts[t->candidates[candidate].member]];
    if (!f->judged) {
        f->judged = judged_make(t, problem, candidate, t->many ? &small : &usual);
        f->judged->facts = (int)(f - t->facts);
    }
    return f->judged;
}

struct judged *judged_own(struct tuning *t, int problem, int candidate)
{
    return judged_make(t, problem, candidate, &of_winner);
}
