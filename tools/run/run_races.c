/* Implements --despite race: runs a kernel that the synchronisation check refuses on the
 * simulator, in warp orders that the user chooses or in the worst of several orders. */
#include "run/run.h"

#include <stdlib.h>
#include <string.h>

/* --- differences from the run in turn --- */

static bool differs(const struct given_array *o, int64_t i)
{
    size_t size = tw_dtype_size(o->array.dtype), at = (size_t)i * size;
    return memcmp((char *)o->array.data + at, (char *)o->in_turn + at, size) != 0;
}

static int64_t count_differing(const struct run *r)
{
    int64_t count = 0;
    for (int i = 0; i < r->array_count; i++)
        for (int64_t e = 0; r->arrays[i].in_turn && e < tensor_elements(&r->arrays[i].array); e++)
            count += differs(&r->arrays[i], e);
    return count;
}

static void json_element(struct json *j, const struct given_array *o, int64_t i)
{
    int64_t at[TW_MAX_RANK], left = i;
    size_t offset = (size_t)i * tw_dtype_size(o->array.dtype);
    for (int axis = o->array.rank; axis-- > 0; left /= o->array.shape[axis])
        at[axis] = left % o->array.shape[axis];
    json_open(j, '{');
    json_put_integers(j, "at", o->array.rank, at);
    json_put_real(j, "got", tw_dtype_load(o->array.dtype, (char *)o->array.data + offset));
    json_put_real(j, "in_turn", tw_dtype_load(o->array.dtype, (char *)o->in_turn + offset));
    json_close(j, '}');
}

static void json_differing(struct json *j, const struct given_array *o)
{
    int64_t count = tensor_elements(&o->array), differing = 0;
    for (int64_t i = 0; i < count; i++)
        differing += differs(o, i);
    json_open(j, '{');
    json_put_text(j, "array", o->param.name);
    json_put_integer(j, "elements", count);
    json_put_integer(j, "differ", differing);
    json_open_list(j, "cells");
    for (int64_t i = 0, shown = 0; i < count && shown < MOST_WRONG_CELLS; i++)
        if (differs(o, i)) {
            json_element(j, o, i);
            shown++;
        }
    json_close(j, ']');
    json_close(j, '}');
}

void run_races_json(const struct run *r, struct json *j)
{
    const tw_sim_options *o = &r->sim.options;
    char *order = sim_order_text(o);
    json_put_text(j, "order", o->order_count ? order : NULL);
    json_put_integer(j, "order_seed", (int64_t)o->seed);
    json_open_list(j, "in_turn");
    for (int i = 0; i < r->array_count; i++)
        if (r->arrays[i].in_turn)
            json_differing(j, &r->arrays[i]);
    json_close(j, ']');
    free(order);
}

void run_races_say(const struct run *r)
{
    const tw_sim_options *o = &r->sim.options;
    char *order = sim_order_text(o);
    fflush(stdout);
    fputs(r->found.report, stderr);
    if (r->worst && o->order_count)
        printf("order: --order %s\n", order);
    else if (r->worst && o->seed)
        printf("order: --seed %llu\n", (unsigned long long)o->seed);
    else if (r->worst)
        puts("order: in turn, by the numbers of the warps");
    free(order);
}

/* --- the worst order --- */

static void count_one(void *user, const tw_wrong *w)
{
    (void)w;
    ++*(int64_t *)user;
}

static tw_status try_order(struct run *r, int64_t *wrong, double *seconds)
{
    run_prepare_arrays(r, false);
    tw_status s = run_launch(r, seconds);
    *wrong = 0;
    if (s == TW_OK && tw_kernel_has_ensures(r->kernel))
        tw_launch_each_wrong(r->launch, count_one, wrong);
    else if (s == TW_OK)
        *wrong = count_differing(r);
    return s;
}

struct worst {
    char *order; /* NULL: a seed */
    uint64_t seed;
    int64_t wrong;
};

static void keep_worst(struct worst *w, const struct run *r, int64_t wrong)
{
    if (wrong <= w->wrong)
        return;
    free(w->order);
    w->order = r->sim.options.order_count ? sim_order_text(&r->sim.options) : NULL;
    w->seed = r->sim.options.seed;
    w->wrong = wrong;
}

static void use_order(struct run *r, const char *order, uint64_t seed)
{
    r->sim.options.seed = seed;
    r->sim.options.order_count = 0;
    r->sim.options.order = NULL;
    if (order)
        sim_order_read(&r->sim, order);
}

enum { WARPS = 32, SEEDS = 8 };

/* Marks the warps whose races the run in turn showed. A warp that is late in that run can show
 * its race by running first. */
static void note_warps(const struct run *r, bool seen[WARPS])
{
    for (int i = 0; i < r->found.finding_count; i++)
        for (int k = 0; k < r->found.findings[i].access_count; k++) {
            int warp = r->found.findings[i].accesses[k]->thread / 32;
            if (warp >= 0 && warp < WARPS)
                seen[warp] = true;
        }
}

tw_status run_worst_order(struct run *r, double *seconds)
{
    bool seen[WARPS] = {false};
    struct worst worst = {.wrong = 0};
    int64_t wrong;
    char text[128] = "";
    use_order(r, NULL, 0);
    tw_status s = try_order(r, &wrong, seconds);
    keep_worst(&worst, r, wrong);
    run_keep_in_turn(r);
    note_warps(r, seen);
    for (int w = WARPS - 1, n = 0; w >= 0; w--) /* the last first */
        n += snprintf(text + n, sizeof text - (size_t)n, "%s%d", n ? "," : "", w);
    for (int i = -1; i < WARPS && s == TW_OK; i++) {
        if (i >= 0 && !seen[i])
            continue;
        if (i >= 0)
            snprintf(text, sizeof text, "%d", i);
        use_order(r, text, 0);
        s = try_order(r, &wrong, seconds);
        keep_worst(&worst, r, wrong);
    }
    for (uint64_t seed = 1; seed <= SEEDS && s == TW_OK; seed++) {
        use_order(r, NULL, seed);
        s = try_order(r, &wrong, seconds);
        keep_worst(&worst, r, wrong);
    }
    use_order(r, worst.order, worst.seed);
    free(worst.order);
    return s == TW_OK ? try_order(r, &wrong, seconds) : s;
}
