/* Reports the results of tuning: a table of the best candidates of one problem, or a line for each
 * of many, and the fate of the other candidates. */
#include "cli/table.h"
#include "tune/tune.h"

#include <stdlib.h>
#include <string.h>

enum { ROWS = 10, REASONS = 6 };

/* --- noise --- */

static const double close_enough = 1.05;

static bool has_few_samples(const struct trial *x)
{
    return x->sample_count > 0 && trial_noise(x) < 0;
}

/* --- the table of one problem --- */

static const char *kernel_of(const struct tuning *t, int candidate)
{
    return tw_kernel_name(t->members[t->candidates[candidate].member].kernel);
}

struct widths {
    int kernel, values;
};

static void widen(int *width, const char *text)
{
    *width = (int)strlen(text) > *width ? (int)strlen(text) : *width;
}

static void add_row(struct cells *c, const struct tuning *t, int candidate, int rank,
                    const struct trial *best, struct widths w)
{
    char text[32];
    const struct problem *p = &t->problems[0];
    const struct trial *x = &p->trials[candidate];
    double noise = trial_noise(x);
    snprintf(text, sizeof text, "%d", rank);
    cells_add(c, "rank", 4, false, text);
    if (t->member_count > 1)
        cells_add(c, "kernel", w.kernel, true, kernel_of(t, candidate));
    cells_add(c, "values", w.values, true, t->candidates[candidate].text);
    snprintf(text, sizeof text, "%.4g", x->ms);
    cells_add(c, "ms", 10, false, text);
    snprintf(text, sizeof text, noise < 0 ? "-" : "%.1f %%", 100 * noise / x->ms);
    cells_add(c, "noise", 6, false, text);
    cells_add_number(c, "of best", 7, 3, x->ms / best->ms);
    snprintf(text, sizeof text, p->operations > 0 ? "%.4g" : "-", p->operations / x->ms * 1e-9);
    cells_add(c, "TFLOP/s", 8, false, text);
    if (t->on_gpu)
        cells_add_number(c, "blocks/SM", 9, 0, trial_resident(t, 0, candidate));
    snprintf(text, sizeof text, x->sample_count ? "%d" : "stored", x->sample_count);
    cells_add(c, "samples", 7, false, text);
}

static void print_table(const struct tuning *t, const int *order, int count)
{
    struct widths w = {6, 6};
    for (int i = 0; i < count; i++) {
        widen(&w.values, t->candidates[order[i]].text);
        widen(&w.kernel, kernel_of(t, order[i]));
    }
    for (int i = 0; i < count; i++) {
        struct cells c = {0};
        add_row(&c, t, order[i], i + 1, &t->problems[0].trials[order[0]], w);
        if (i == 0)
            cells_header(stdout, &c);
        cells_row(stdout, &c);
    }
}

/* Prints whether the order of the first ranks is significant. */
static void print_noise(const struct problem *p, const int *order, int measured)
{
    const struct trial *all = p->trials;
    int alike = trials_within_noise(p, order, measured);
    if (alike > 1)
        printf("the first %d differ by no more than their noise: each of them may be the fastest\n",
               alike);
    else if (measured > 1 && all[order[1]].ms < close_enough * all[order[0]].ms &&
             (has_few_samples(&all[order[0]]) || has_few_samples(&all[order[1]])))
        printf("the first two are close, and timed too few times to say that one is faster\n");
}

/* --- the others --- */

/* Counts the trials with the state, or those of them that were measured earlier. */
static int count_state(const struct tuning *t, enum trial_state state, bool stored)
{
    int n = 0;
    for (int i = 0; i < t->problem_count; i++)
        for (int c = 0; c < t->candidate_count; c++) {
            const struct trial *x = trial_at(t, i, c);
            bool meant = t->problems[i].facts[t->candidates[c].member] >= 0;
            n += meant && x->state == state && (!stored || x->stored);
        }
    return n;
}

/* A trial by its number, over all problems. */
static const struct trial *trial_number(const struct tuning *t, int number)
{
    return trial_at(t, number / t->candidate_count, number % t->candidate_count);
}

/* Counts the trials from number `first` to `end` - 1 that have the state of trial `of`, for the
 * same reason. */
static int count_alike(const struct tuning *t, int of, int first, int end)
{
    const struct trial *x = trial_number(t, of);
    int n = 0;
    for (int i = first; i < end; i++) {
        const struct trial *other = trial_number(t, i);
        n += other->state == x->state && other->why && x->why && strcmp(other->why, x->why) == 0;
    }
    return n;
}

static void print_reason(const struct tuning *t, int number)
{
    char *name = candidate_name(t, number % t->candidate_count);
    const struct problem *p = &t->problems[number / t->candidate_count];
    const char *sizes = p->keys[t->candidates[number % t->candidate_count].member].sizes;
    print_text(stdout, "  %s%s%s%s%s\n", name, t->problem_count > 1 ? " at " : "",
               t->problem_count > 1 ? sizes : "", *name || t->problem_count > 1 ? ": " : "",
               trial_number(t, number)->why);
    free(name);
}

static void print_some(const struct tuning *t, enum trial_state state, const char *what)
{
    int count = count_state(t, state, false), shown = 0, lines = 0;
    int all = t->problem_count * t->candidate_count;
    if (count == 0)
        return;
    printf("%d %s:\n", count, what);
    for (int i = 0; i < all && lines < REASONS; i++) {
        if (trial_number(t, i)->state != state || count_alike(t, i, 0, i) > 0)
            continue;
        int alike = count_alike(t, i, i + 1, all);
        print_reason(t, i);
        if (alike > 0)
            printf("    %d other%s for the same reason (--json lists all)\n", alike,
                   alike > 1 ? "s" : "");
        shown += 1 + alike;
        lines++;
    }
    if (count > shown)
        printf("  and %d more (--json lists all)\n", count - shown);
}

/* Prints the candidates that the budget cut off. */
static void print_unfinished(const struct tuning *t)
{
    for (int i = 0; i < t->problem_count; i++)
        for (int c = 0; c < t->candidate_count; c++) {
            const struct trial *x = trial_at(t, i, c);
            if (x->state != TRIAL_PROMISING || !x->why)
                continue;
            char *name = candidate_name(t, c);
            print_text(stdout, "%s%s%s\n", name, *name ? ": " : "", x->why);
            free(name);
        }
}

/* --- the lines of many problems --- */

/* Returns the width of the column of sizes. */
static int sizes_width(const struct tuning *t)
{
    int width = 5;
    for (int i = 0; i < t->problem_count; i++)
        widen(&width, tune_problem_key(t, &t->problems[i])->sizes);
    return width;
}

static int kernel_width(const struct tuning *t)
{
    int width = 6;
    for (int i = 0; i < t->member_count; i++)
        widen(&width, tw_kernel_name(t->members[i].kernel));
    return width;
}

static void line_cells(const struct tuning *t, const struct problem *p, struct cells *c)
{
    char text[64] = "-";
    int best = p->best, second = problem_fastest(t, p, best);
    double ms = best >= 0 ? p->trials[best].ms : 0;
    cells_add(c, "sizes", sizes_width(t), true, tune_problem_key(t, p)->sizes);
    cells_add(c, "kernel", kernel_width(t), true, best >= 0 ? kernel_of(t, best) : "-");
    if (best >= 0)
        snprintf(text, sizeof text, "%.4g", ms);
    cells_add(c, "ms", 10, false, text);
    snprintf(text, sizeof text, p->operations > 0 && ms > 0 ? "%.4g" : "-",
             p->operations / ms * 1e-9);
    cells_add(c, "TFLOP/s", 8, false, text);
    cells_add_number(c, "second", 6, 3, second >= 0 ? p->trials[second].ms / ms : 0);
    cells_add_number(c, "seconds", 7, 2, p->seconds);
    cells_add(c, "values", 6, true, best >= 0 ? t->candidates[best].text : "");
}

void report_problem(struct tuning *t, int problem)
{
    struct cells c = {0};
    if (t->to_json || t->problem_count == 1)
        return;
    progress_clear(&t->progress);
    line_cells(t, &t->problems[problem], &c);
    if (!t->headed)
        cells_header(stdout, &c);
    t->headed = true;
    cells_row(stdout, &c);
    fflush(stdout);
}

/* --- all of it --- */

static void print_heading(const struct tuning *t)
{
    const tw_tuned *key = tune_problem_key(t, &t->problems[0]);
    const char *sizes = t->problem_count == 1 ? key->sizes : "";
    char *names = need_text("%s", t->family ? t->family : tw_kernel_name(t->members[0].kernel));
    for (int i = 1; i < t->member_count && !t->family; i++)
        append_text(&names, ", %s", tw_kernel_name(t->members[i].kernel));
    print_text(stdout, "%s on %s\n", names, key->device);
    if (*key->types || *sizes)
        print_text(stdout, "%s%s%s\n", key->types, *key->types && *sizes ? ", " : "", sizes);
    free(names);
}

void report_begin(const struct tuning *t)
{
    if (!t->to_json && t->problem_count > 1)
        print_heading(t);
}

static void print_counts(const struct tuning *t, int unmeasured)
{
    int stored = count_state(t, TRIAL_MEASURED, true), count = t->candidate_count;
    printf("%d combination%s%s: %d measured", count, count == 1 ? "" : "s",
           t->problem_count > 1 ? ", at all sizes" : "", count_state(t, TRIAL_MEASURED, false));
    if (stored > 0)
        printf(" (%d from the store)", stored);
    printf(
        ", %d failed, %d the same program as another, %d refused by the target, %d not measured; "
        "%.1f s\n",
        count_state(t, TRIAL_FAILED, false), count_state(t, TRIAL_SAME, false),
        count_state(t, TRIAL_REFUSED, false), unmeasured, seconds_now() - t->started);
    if (count_state(t, TRIAL_SKIPPED, false) > 0)
        printf("%d left out, because they were slow at the nearest sizes (--exhaustive compiles "
               "them)\n",
               count_state(t, TRIAL_SKIPPED, false));
}

static void print_best(const struct tuning *t)
{
    int measured;
    int *order = trials_ranking(t, &t->problems[0], &measured);
    print_heading(t);
    if (measured > 0) {
        print_table(t, order, measured < ROWS ? measured : ROWS);
        if (measured > ROWS)
            printf("and %d more (--json lists all)\n", measured - ROWS);
        print_noise(&t->problems[0], order, measured);
    }
    free(order);
}

static int count_forbidden(const struct tuning *t)
{
    int forbidden = 0;
    for (int i = 0; i < t->member_count; i++)
        forbidden += t->members[i].forbidden;
    return forbidden;
}

/* Returns whether the search ended before it had a time of the problem. */
static bool is_unreached(const struct tuning *t, const struct problem *p)
{
    bool waits = false;
    for (int c = 0; c < t->candidate_count; c++)
        waits |= p->facts[t->candidates[c].member] >= 0 &&
                 (p->trials[c].state == TRIAL_NEW || p->trials[c].state == TRIAL_PROMISING);
    return p->best < 0 && waits;
}

static void print_unreached(const struct tuning *t)
{
    int count = 0;
    for (int i = 0; i < t->problem_count; i++)
        count += is_unreached(t, &t->problems[i]);
    if (count > 0 && t->problem_count > 1)
        printf("%d size%s not reached%s\n", count, count == 1 ? " was" : "s were",
               t->budget > 0 ? " before the budget ended" : "");
}

static void print_report(const struct tuning *t)
{
    int unmeasured = count_state(t, TRIAL_NEW, false) + count_state(t, TRIAL_PROMISING, false);
    int measured = count_state(t, TRIAL_MEASURED, false);
    const char *kernel = tw_kernel_name(t->members[0].kernel);
    if (t->problem_count == 1)
        print_best(t);
    print_counts(t, unmeasured);
    if (t->member_count == 1 && tw_kernel_tune_count(t->members[0].kernel) == 0)
        printf("%s has no tuned values (`tune BM = {64, 128};`), so there is nothing to choose "
               "or to keep\n",
               kernel);
    if (count_forbidden(t) > 0)
        printf("%d more do not meet a `require`\n", count_forbidden(t));
    print_some(t, TRIAL_FAILED, "failed");
    print_some(t, TRIAL_REFUSED, "refused");
    print_unfinished(t);
    if (measured > 0 && t->store)
        print_text(stdout, "kept in %s\n", tw_store_path(t->store));
    print_unreached(t);
    if (t->interrupted)
        puts("interrupted");
    if (unmeasured > 0 && !t->only_stored)
        puts(t->store ? "the same command goes on with those that were not measured"
                      : "not all were measured");
}

void report_all(struct tuning *t)
{
    if (t->to_json)
        json_report(t);
    else
        print_report(t);
}
