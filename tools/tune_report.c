/* Reports the results of tuning: a table of the best candidates, and the fate of the others. */
#include "product.h"
#include "table.h"
#include "tune.h"

#include <stdlib.h>
#include <string.h>

enum { ROWS = 10, REASONS = 6 };

/* Returns 2·m·n·k for each product of matrices, or 0 if the kernel computes none. */
static double product_operations(const struct tuning *t)
{
    static const char *const extents[] = {"m", "n", "k", "batch"};
    struct product_of product;
    double operations = 2;
    tw_value v;
    if (!find_product(t->kernel, &product))
        return 0;
    for (int i = 0; i < (product.batched ? 4 : 3); i++) {
        if (tw_launch_value(t->launch, extents[i], &v) != TW_OK || v.kind == TW_FLOAT)
            return 0;
        operations *= (double)v.i;
    }
    return operations;
}

static const struct candidate *sorted; /* qsort has no argument for it */

static int compare(const void *a, const void *b)
{
    const struct candidate *x = &sorted[*(const int *)a], *y = &sorted[*(const int *)b];
    bool has_x = x->state == CANDIDATE_MEASURED, has_y = y->state == CANDIDATE_MEASURED;
    if (has_x != has_y)
        return has_y - has_x;
    if (has_x && x->ms != y->ms)
        return (x->ms > y->ms) - (x->ms < y->ms);
    return x - y < 0 ? -1 : x > y;
}

/* Returns the indices of all candidates, the measured ones first, by time. The caller frees. */
static int *ranking(const struct tuning *t, int *measured)
{
    const struct candidates *all = &t->candidates;
    int *order = need_memory((size_t)(all->count + 1) * sizeof *order);
    *measured = 0;
    for (int i = 0; i < all->count; i++) {
        order[i] = i;
        *measured += all->list[i].state == CANDIDATE_MEASURED;
    }
    sorted = all->list;
    qsort(order, (size_t)all->count, sizeof *order, compare);
    return order;
}

/* Returns the blocks per multiprocessor, by the driver or else by the estimate. */
static int resident(const struct candidate *c)
{
    return c->occupancy.blocks > 0 ? c->occupancy.blocks : c->estimate.resident;
}

/* --- noise --- */

static const double close_enough = 1.05;

static bool has_few_samples(const struct candidate *c)
{
    return c->sample_count > 0 && candidate_noise(c) < 0;
}

/* Returns how many of the first ranks are statistically as fast as the first, whose notches
 * overlap: at least 1. */
static int within_noise(const struct tuning *t, const int *order, int measured)
{
    const struct candidate *best = &t->candidates.list[order[0]];
    double of_best = candidate_noise(best);
    int count = measured > 0;
    while (count && count < measured && of_best >= 0) {
        const struct candidate *c = &t->candidates.list[order[count]];
        double own = candidate_noise(c);
        if (own < 0 || c->ms - own > best->ms + of_best)
            break;
        count++;
    }
    return count;
}

/* --- for people --- */

static void add_row(struct cells *c, const struct tuning *t, const struct candidate *x, int rank,
                    const struct candidate *best, int width)
{
    char text[32];
    double operations = product_operations(t), noise = candidate_noise(x);
    snprintf(text, sizeof text, "%d", rank);
    cells_add(c, "rank", 4, false, text);
    cells_add(c, "values", width, true, x->text);
    snprintf(text, sizeof text, "%.4g", x->ms);
    cells_add(c, "ms", 10, false, text);
    snprintf(text, sizeof text, noise < 0 ? "-" : "%.1f %%", 100 * noise / x->ms);
    cells_add(c, "noise", 6, false, text);
    cells_add_number(c, "of best", 7, 3, x->ms / best->ms);
    snprintf(text, sizeof text, operations > 0 ? "%.4g" : "-", operations / x->ms * 1e-9);
    cells_add(c, "TFLOP/s", 8, false, text);
    if (t->on_gpu)
        cells_add_number(c, "blocks/SM", 9, 0, resident(x));
    snprintf(text, sizeof text, x->sample_count ? "%d" : "stored", x->sample_count);
    cells_add(c, "samples", 7, false, text);
}

static void print_table(const struct tuning *t, const int *order, int count)
{
    const struct candidate *all = t->candidates.list;
    int width = 6;
    for (int i = 0; i < count; i++)
        if ((int)strlen(all[order[i]].text) > width)
            width = (int)strlen(all[order[i]].text);
    for (int i = 0; i < count; i++) {
        struct cells c = {0};
        add_row(&c, t, &all[order[i]], i + 1, &all[order[0]], width);
        if (i == 0)
            cells_header(stdout, &c);
        cells_row(stdout, &c);
    }
}

/* Prints whether the order of the first ranks is significant. */
static void print_noise(const struct tuning *t, const int *order, int measured)
{
    const struct candidate *all = t->candidates.list;
    int alike = within_noise(t, order, measured);
    if (alike > 1)
        printf("the first %d differ by no more than their noise: each of them may be the fastest\n",
               alike);
    else if (measured > 1 && all[order[1]].ms < close_enough * all[order[0]].ms &&
             (has_few_samples(&all[order[0]]) || has_few_samples(&all[order[1]])))
        printf("the first two are close, and timed too few times to say that one is faster\n");
}

static int count_state(const struct tuning *t, enum candidate_state state, bool stored)
{
    int n = 0;
    for (int i = 0; i < t->candidates.count; i++)
        n += t->candidates.list[i].state == state && (!stored || t->candidates.list[i].stored);
    return n;
}

/* Counts the candidates from `first` to `end` - 1 that have the state of candidate `of`, for the
 * same reason. */
static int count_alike(const struct tuning *t, int of, int first, int end)
{
    const struct candidate *list = t->candidates.list;
    int n = 0;
    for (int i = first; i < end; i++)
        n += list[i].state == list[of].state && list[i].why && list[of].why &&
             strcmp(list[i].why, list[of].why) == 0;
    return n;
}

static void print_some(const struct tuning *t, enum candidate_state state, const char *what)
{
    int count = count_state(t, state, false), shown = 0, lines = 0;
    if (count == 0)
        return;
    printf("%d %s:\n", count, what);
    for (int i = 0; i < t->candidates.count && lines < REASONS; i++) {
        const struct candidate *c = &t->candidates.list[i];
        if (c->state != state || count_alike(t, i, 0, i) > 0)
            continue;
        int alike = count_alike(t, i, i + 1, t->candidates.count);
        print_text(stdout, "  %s%s%s\n", c->text, *c->text ? ": " : "", c->why);
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
    for (int i = 0; i < t->candidates.count; i++) {
        const struct candidate *c = &t->candidates.list[i];
        if (c->state == CANDIDATE_READY && c->why)
            print_text(stdout, "%s%s%s\n", c->text, *c->text ? ": " : "", c->why);
    }
}

static void print_report(const struct tuning *t, const int *order, int measured)
{
    int unmeasured = count_state(t, CANDIDATE_NEW, false) +
                     count_state(t, CANDIDATE_PROMISING, false) +
                     count_state(t, CANDIDATE_READY, false);
    int stored = count_state(t, CANDIDATE_MEASURED, true);
    print_text(stdout, "%s on %s\n%s%s%s\n", t->key.kernel, t->key.device, t->key.types,
               *t->key.types ? ", " : "", t->key.sizes);
    if (measured > 0) {
        print_table(t, order, measured < ROWS ? measured : ROWS);
        if (measured > ROWS)
            printf("and %d more (--json lists all)\n", measured - ROWS);
        print_noise(t, order, measured);
    }
    printf("%d combination%s: %d measured", t->candidates.count,
           t->candidates.count == 1 ? "" : "s", measured);
    if (stored > 0)
        printf(" (%d from the store)", stored);
    printf(
        ", %d failed, %d the same program as another, %d refused by the target, %d not measured; "
        "%.1f s\n",
        count_state(t, CANDIDATE_FAILED, false), count_state(t, CANDIDATE_SAME, false),
        count_state(t, CANDIDATE_REFUSED, false), unmeasured, seconds_now() - t->started);
    if (tw_kernel_tune_count(t->kernel) == 0)
        printf("%s has no tuned values (`tune BM = {64, 128};`), so there is nothing to choose "
               "or to keep\n",
               t->key.kernel);
    if (t->candidates.forbidden > 0)
        printf("%d more do not meet a `require`\n", t->candidates.forbidden);
    print_some(t, CANDIDATE_FAILED, "failed");
    print_some(t, CANDIDATE_REFUSED, "refused");
    print_unfinished(t);
    if (measured > 0 && t->store)
        print_text(stdout, "kept in %s\n", tw_store_path(t->store));
    if (t->interrupted)
        puts("interrupted");
    if (unmeasured > 0)
        puts(t->store ? "the same command goes on with those that were not measured"
                      : "not all were measured");
}

/* --- for scripts --- */

static const char *const state_names[] = {"not measured", "refused",  "same",  "not measured",
                                          "not measured", "measured", "failed"};

static void json_tuned(const struct tuning *t, const struct candidate *c, struct json *j)
{
    tw_tune tune = tw_tune_init();
    char value[32];
    json_key(j, "tune");
    json_open(j, '{');
    for (int i = 0; tw_kernel_tune(t->kernel, i, &tune) == TW_OK; i++) {
        json_key(j, tune.name);
        format_scalar(value, sizeof value, c->tuned[i], TW_DTYPE_NONE);
        json_number(j, value);
    }
    json_close(j, '}');
}

static void json_occupancy(const struct candidate *c, struct json *j)
{
    bool loaded = c->occupancy.threads > 0;
    json_key(j, "shared_bytes");
    json_integer(j, c->estimate.shared_bytes);
    json_key(j, "registers");
    json_integer(j, loaded ? c->occupancy.registers : c->estimate.registers);
    if (loaded) {
        json_key(j, "local_bytes");
        json_integer(j, c->occupancy.local_bytes);
    }
    json_key(j, "resident");
    json_integer(j, resident(c));
    json_key(j, "cost");
    json_real(j, c->estimate.cost);
}

static void json_candidate(const struct tuning *t, const struct candidate *c, struct json *j)
{
    json_open(j, '{');
    json_tuned(t, c, j);
    json_key(j, "result");
    json_string(j, state_names[c->state]);
    if (c->why) {
        json_key(j, "why");
        json_string(j, c->why);
    }
    if (c->state == CANDIDATE_MEASURED) {
        json_key(j, "ms");
        json_real(j, c->ms);
        json_key(j, "samples");
        json_integer(j, c->sample_count);
        if (candidate_noise(c) >= 0) {
            json_key(j, "noise_ms");
            json_real(j, candidate_noise(c));
        }
        json_key(j, "stored");
        json_bool(j, c->stored);
    }
    if (t->on_gpu && c->estimate.threads > 0)
        json_occupancy(c, j);
    json_close(j, '}');
}

static void json_text(struct json *j, const char *key, const char *text)
{
    json_key(j, key);
    json_string(j, text);
}

static void json_report(const struct tuning *t, const int *order, int measured)
{
    struct json j = {.out = stdout};
    json_open(&j, '{');
    json_text(&j, "kernel", t->key.kernel);
    json_text(&j, "device", t->key.device);
    json_text(&j, "program", t->key.program);
    json_text(&j, "types", t->key.types);
    json_text(&j, "shape", t->key.shape);
    json_text(&j, "sizes", t->key.sizes);
    json_text(&j, "store", t->store ? tw_store_path(t->store) : NULL);
    json_key(&j, "seconds");
    json_real(&j, seconds_now() - t->started);
    json_key(&j, "interrupted");
    json_bool(&j, t->interrupted);
    json_key(&j, "verified");
    json_bool(&j, t->expected != NULL);
    json_key(&j, "within_noise");
    json_integer(&j, within_noise(t, order, measured));
    json_key(&j, "forbidden");
    json_integer(&j, t->candidates.forbidden);
    json_key(&j, "candidates");
    json_open(&j, '[');
    for (int i = 0; i < t->candidates.count; i++)
        json_candidate(t, &t->candidates.list[order[i]], &j);
    json_close(&j, ']');
    json_close(&j, '}');
    json_end(&j);
}

void tune_report(const struct tuning *t)
{
    int measured;
    int *order = ranking(t, &measured);
    if (t->to_json)
        json_report(t, order, measured);
    else
        print_report(t, order, measured);
    free(order);
}
