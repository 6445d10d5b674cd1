#include "bench/bench_launch.h"

#include <string.h>

/* Sets the family's type variables: those that list `dtype`, then those of --type NAME=TYPE. */
static void set_types(const struct bench_entry *e, const struct options *rest, tw_dtype dtype)
{
    tw_type t = tw_type_init();
    for (int i = 0; tw_kernel_type(e->kernel, i, &t) == TW_OK; i++) {
        tw_family_type(e->family, t.name, t.choices[0]);
        if (dtype != TW_DTYPE_NONE)
            tw_family_type(e->family, t.name, dtype);
        size_t length = strlen(t.name);
        for (const struct option_use *u = NULL; (u = options_next(rest, "type", u));)
            if (strncmp(u->values[0], t.name, length) == 0 && u->values[0][length] == '=')
                tw_family_type(e->family, t.name, tw_dtype_from_name(u->values[0] + length + 1));
    }
}

static void describe(struct bench_row *row, const struct bench_entry *e, const tw_choice *c)
{
    static const enum bench_from from[] = {[TW_BY_RESULT] = BENCH_BEST_RESULT,
                                           [TW_BY_NEAREST] = BENCH_BEST_NEAREST,
                                           [TW_BY_MODEL] = BENCH_BEST_MODEL};
    const char *file = NULL;
    for (int i = 0; i < tw_family_kernel_count(e->family); i++)
        if (tw_family_kernel(e->family, i) == c->kernel)
            file = tw_family_file(e->family, i);
    row->kernel = tw_kernel_name(c->kernel);
    row->file = file ? file : row->file;
    row->from = from[c->by];
    row->choice = (struct bench_choice){.family = tw_family_name(e->family),
                                        .by = c->by,
                                        .distance = c->distance,
                                        .ms = c->milliseconds,
                                        .compared = c->compared};
    snprintf(row->choice.device, sizeof row->choice.device, "%s", c->device ? c->device : "");
    snprintf(row->choice.nearest, sizeof row->choice.nearest, "%s", c->nearest ? c->nearest : "");
}

/* Chooses by a launch of the first kernel, which gives the sizes. */
static tw_status choose(const struct bench_entry *e, const struct options *rest,
                        const struct shape *shape, tw_dtype dtype, tw_choice *out, int *status)
{
    tw_launch *sizes;
    tw_status s = tw_launch_new(e->kernel, &sizes);
    if (s != TW_OK)
        return s;
    *status = bench_set_up(sizes, e->kernel, e->program, rest, shape, dtype);
    if (*status == STATUS_OK)
        s = tw_family_choose_for(e->family, sizes, out);
    tw_launch_free(sizes);
    return s;
}

static tw_status launch_best(const struct bench_entry *e, const struct options *rest,
                             const struct shape *shape, tw_dtype dtype, struct bench_row *row,
                             tw_kernel **kernel, tw_launch **launch, int *status)
{
    tw_choice c = tw_choice_init();
    set_types(e, rest, dtype);
    tw_status s = choose(e, rest, shape, dtype, &c, status);
    if (s != TW_OK || *status != STATUS_OK)
        return s;
    *kernel = c.kernel;
    describe(row, e, &c);
    s = tw_family_launch(e->family, &c, launch);
    if (s == TW_OK)
        *status = bench_set_up(*launch, c.kernel, e->program, rest, shape, dtype);
    return s;
}

tw_status bench_launch(const struct bench_entry *e, const struct options *rest,
                       const struct shape *shape, tw_dtype dtype, struct bench_row *row,
                       tw_kernel **kernel, tw_launch **launch, int *status)
{
    *kernel = e->kernel;
    *launch = NULL;
    *status = STATUS_OK;
    row->kernel = e->best ? tw_family_name(e->family) : tw_kernel_name(e->kernel);
    row->file = e->file;
    if (e->best)
        return launch_best(e, rest, shape, dtype, row, kernel, launch, status);
    tw_status s = tw_launch_new(e->kernel, launch);
    if (s == TW_OK)
        *status = bench_set_up(*launch, e->kernel, e->program, rest, shape, dtype);
    if (s == TW_OK && *status == STATUS_OK)
        *status = bench_take_tuned(*launch, e->kernel, e->program, rest, &row->from);
    return s;
}
