/* The choice of a family's variants for a build.
 *
 * Candidates are the variants of the results by which the family chooses, or, without results, its
 * members with their default values. A *place* is a size at which they are compared: the measured
 * sizes within the caller's sets; if there are none, sizes of a grid, with the times 1.1^rank. */
#include "api/family_ship.h"

#include <math.h>
#include <string.h>

/* Points of a built table at most, apart from the measured ones; sizes that are compared without
 * measured ones. */
enum { MOST_POINTS = 512, MOST_PLACES = 256 };

/* Sizes where neither the caller nor results give bounds. */
enum { LEAST_SIZE = 1, MOST_SIZE = 16384 };

/* --- static parameters --- */

static bool asks_for_value(const struct lang_param *p)
{
    return p->is_static && !p->has_value && !p->derived;
}

bool family_ship_serves_all(const struct lang_kernel *info)
{
    for (int p = 0; p < info->param_count; p++)
        if (info->params[p].is_static && !info->params[p].has_value)
            return false;
    return true;
}

static const tw_size_range *range_of(const tw_size_set *set, const char *name)
{
    for (int i = 0; set && i < set->count; i++)
        if (strcmp(set->ranges[i].param, name) == 0)
            return &set->ranges[i];
    return NULL;
}

bool family_ship_is_static(const struct lang_kernel *info, const tw_size_range *range)
{
    for (int p = 0; p < info->param_count; p++)
        if (strcmp(info->params[p].name, range->param) == 0)
            return info->params[p].is_static && !info->params[p].has_value &&
                   range->least == range->most;
    return false;
}

bool family_ship_set_serves(const struct family_ship *s, const struct lang_kernel *info, int index)
{
    const tw_size_set *set = index < 0 ? NULL : &s->sets[index];
    for (int p = 0; p < info->param_count; p++) {
        if (!asks_for_value(&info->params[p]))
            continue;
        const tw_size_range *range = range_of(set, info->params[p].name);
        if (!range || range->least != range->most)
            return false;
    }
    return true;
}

/* Returns true if the values that the set compiles in, and the kernel's fixed ones, are these
 * sizes. */
static bool has_values(const struct family_ship *s, const struct lang_kernel *info, int index,
                       const int64_t *sizes)
{
    const tw_family *f = s->family;
    for (int i = 0; i < f->size_count; i++) {
        const struct lang_param *p = &info->params[f->size_param[i]];
        if (p->is_static &&
            sizes[i] != (p->has_value ? p->value.i : range_of(&s->sets[index], p->name)->least))
            return false;
    }
    return true;
}

/* Returns true if the variant is built for these sizes. */
static bool serves(const struct family_ship *s, const struct family_variant *v,
                   const int64_t *sizes)
{
    const struct lang_kernel *info = s->family->members[v->member].kernel->info;
    for (int i = -1; i < s->set_count; i++)
        if (family_ship_set_serves(s, info, i) && has_values(s, info, i, sizes))
            return true;
    return false;
}

/* Returns true if the variant is built for some sizes. */
static bool is_buildable(const struct family_ship *s, const struct family_variant *v)
{
    const struct lang_kernel *info = s->family->members[v->member].kernel->info;
    bool some = false;
    for (int i = -1; i < s->set_count; i++)
        some = some || family_ship_set_serves(s, info, i);
    return some && !v->refused && family_takes(s->family, v->member);
}

/* --- sizes --- */

/* Returns true if the caller asked for these sizes. */
static bool is_asked(const struct family_ship *s, const int64_t *sizes)
{
    const tw_family *f = s->family;
    const struct lang_kernel *info = f->members[0].kernel->info;
    for (int j = 0; j < s->set_count; j++) {
        bool within = true;
        for (int i = 0; i < f->size_count; i++) {
            const tw_size_range *r = range_of(&s->sets[j], info->params[f->size_param[i]].name);
            within = within && (!r || (r->least <= sizes[i] && sizes[i] <= r->most));
        }
        if (within)
            return true;
    }
    return s->set_count == 0;
}

/* Returns the bounds of a set; index -1: of all sizes. */
static struct ship_space space_of(const struct family_ship *s, int index)
{
    const tw_family *f = s->family;
    const struct predict_table *t = &f->view.table;
    int64_t *least = arena_array(s->arena, int64_t, f->size_count);
    int64_t *most = arena_array(s->arena, int64_t, f->size_count);
    for (int i = 0; i < f->size_count; i++) {
        const char *name = f->members[0].kernel->info->params[f->size_param[i]].name;
        const tw_size_range *r = index < 0 ? NULL : range_of(&s->sets[index], name);
        int64_t low = t->row_count ? INT64_MAX : LEAST_SIZE, high = t->row_count ? 0 : MOST_SIZE;
        for (int row = 0; row < t->row_count; row++) {
            int64_t size = t->rows[row].sizes[i];
            low = size < low ? size : low;
            high = size > high ? size : high;
        }
        low = r && r->least != INT64_MIN ? r->least : low;
        least[i] = low > LEAST_SIZE ? low : LEAST_SIZE;
        high = r && r->most != INT64_MAX ? r->most : high;
        most[i] = high > least[i] ? high : least[i];
    }
    return (struct ship_space){least, most};
}

int64_t family_ship_usual_size(const struct family_ship *s, const struct lang_kernel *info,
                               int index)
{
    const struct lang_param *p = &info->params[s->family->size_param[index]];
    if (p->has_value)
        return p->value.i;
    for (int i = 0; i < s->set_count; i++) {
        const tw_size_range *r = range_of(&s->sets[i], p->name);
        if (r && r->most != INT64_MAX)
            return r->most;
    }
    return MOST_SIZE;
}

/* --- the order at some sizes --- */

/* Puts the usable columns of the results into `order`; returns their number. */
static int order_by_results(struct family_ship *s, const struct family_sizes *sizes, int most,
                            int *order)
{
    tw_family *f = s->family;
    family_mark(f, sizes, s->place);
    for (int c = 0; c < s->count; c++)
        f->view.facts[c].usable =
            f->view.facts[c].usable && s->place[c] >= 0 && serves(s, s->variants[c], sizes->size);
    return ship_order(&f->view.table, sizes->size, f->view.facts, most, order);
}

/* Puts the members into `order` by the cost of their default values; returns their number. */
static int order_by_model(struct family_ship *s, const struct family_sizes *sizes, int *order)
{
    double *costs = s->costs;
    int count = 0;
    for (int m = 0; m < s->count; m++) {
        if (s->place[m] < 0 || !serves(s, s->variants[m], sizes->size))
            continue;
        double model, cost = family_cost(s->family, m, sizes, &model);
        int at = count;
        if (cost < 0)
            continue;
        for (; at > 0 && costs[at - 1] > cost; at--) {
            costs[at] = costs[at - 1];
            order[at] = order[at - 1];
        }
        costs[at] = cost;
        order[at] = m;
        count++;
    }
    return count;
}

/* ship_order_at of the chosen variants; those that do not serve the sizes come last. */
static void order_at(void *user, const int64_t *sizes, bool all, int *order)
{
    struct family_ship *s = user;
    tw_family *f = s->family;
    struct family_sizes at = {0};
    int *by = s->by, count = 0;
    memset(s->taken, 0, (size_t)s->count * sizeof *s->taken);
    memcpy(at.size, sizes, (size_t)f->size_count * sizeof *sizes);
    family_derive(f, &at);
    int usable = f->view.group ? order_by_results(s, &at, all ? s->count : 1, by)
                               : order_by_model(s, &at, by);
    for (int i = 0; i < usable; i++) {
        order[count++] = s->place[by[i]];
        s->taken[by[i]] = true;
    }
    for (int v = 0; v < s->count; v++)
        if (s->place[v] >= 0 && !s->taken[v])
            order[count++] = s->place[v];
}

/* --- candidates and places --- */

static void find_candidates(struct family_ship *s)
{
    tw_family *f = s->family;
    const struct family_group *g = f->view.group;
    s->count = g ? (int)g->columns.count : f->member_count;
    s->variants = arena_array(s->arena, struct family_variant *, s->count + 1);
    s->chosen = arena_array(s->arena, int, s->count + 1);
    s->place = arena_array(s->arena, int, s->count + 1);
    s->by = arena_array(s->arena, int, s->count + 1);
    s->costs = arena_array(s->arena, double, s->count + 1);
    s->taken = arena_array(s->arena, bool, s->count + 1);
    s->buildable = 0;
    for (int i = 0; i < s->count; i++) {
        struct family_variant *v = g ? f->variants.data[g->columns.data[i]] : f->members[i].plain;
        bool usable = v && (g || !f->members[i].refused) && is_buildable(s, v);
        s->variants[i] = usable ? v : NULL;
        s->place[i] = s->variants[i] ? i : -1;
        s->buildable += s->variants[i] != NULL;
    }
}

/* Returns the times of all candidates at the measured sizes that the caller asked for. */
static float *measured_times(const struct family_ship *s, int *places)
{
    const struct predict_table *t = &s->family->view.table;
    struct arena *scratch = &s->family->ctx->scratch;
    float *times = arena_array(scratch, float, (size_t)t->row_count *(size_t)s->count + 1);
    *places = 0;
    for (int r = 0; r < t->row_count; r++) {
        float *at = times + (ptrdiff_t)*places * s->count;
        bool any = false;
        if (!is_asked(s, t->rows[r].sizes))
            continue;
        for (int v = 0; v < s->count; v++) {
            bool here = s->variants[v] && serves(s, s->variants[v], t->rows[r].sizes);
            at[v] = here ? t->rows[r].us[v] : 0;
            any = any || at[v] > 0;
        }
        *places += any;
    }
    return times;
}

/* Returns 1.1^rank of all candidates at sizes of a grid. */
static float *ranked_times(struct family_ship *s, int *places)
{
    struct arena *scratch = &s->family->ctx->scratch;
    struct ship_points grid = {.size_count = s->family->size_count, .variant_count = s->buildable};
    for (int i = s->set_count ? 0 : -1; i < s->set_count; i++) {
        struct ship_space space = space_of(s, i);
        ship_fill(scratch, &grid, &space, MOST_PLACES, order_at, s);
    }
    *places = (int)grid.list.count;
    float *times = arena_array(scratch, float, grid.list.count *(size_t)s->count + 1);
    for (size_t p = 0; p < grid.list.count; p++)
        for (int rank = 0; rank < s->buildable; rank++) {
            int v = grid.list.data[p].order[rank];
            if (serves(s, s->variants[v], grid.list.data[p].sizes))
                times[p * (size_t)s->count + (size_t)v] = (float)pow(1.1, rank);
        }
    return times;
}

/* Returns true if the copy engine takes the variant's views at the least sizes of a space, and if one of
 * them is `also` more: then strides, which are products of sizes, are good at the others, too. */
static bool fits_from(const struct family_ship *s, const struct family_variant *v,
                      const struct ship_space *space, int more, int64_t also)
{
    struct family_sizes sizes = {0};
    for (int i = 0; i < s->family->size_count; i++)
        sizes.size[i] = space->least[i] + (i == more ? also : 0);
    family_derive(s->family, &sizes);
    return !sizes.underivable && launch_copied_views_fit(&v->copied, sizes.value);
}

/* Returns true if the copy engine takes the variant's views at all sizes that the caller asked for. */
static bool fits_all(const struct family_ship *s, const struct family_variant *v)
{
    bool fits = v->copied.count == 0 || s->set_count > 0;
    for (int i = 0; i < s->set_count && fits; i++) {
        const struct ship_space space = space_of(s, i);
        for (int size = 0; size < s->family->size_count && fits; size++)
            fits = fits_from(s, v, &space, size, 0) &&
                   fits_from(s, v, &space, size, space.least[size] < space.most[size]);
    }
    return fits;
}

static bool takes_statics(const struct family_ship *s, const struct family_variant *v)
{
    return !family_ship_serves_all(s->family->members[v->member].kernel->info);
}

/* Makes sure that a kernel is chosen which serves the sizes that no other one is built for, or does not
 * take: one without static parameters, and without views that the copy engine refuses at some size. If
 * there is none, one without static parameters. */
static void choose_for_all(struct family_ship *s, float *times, int places)
{
    int one, some = -1;
    double mean;
    bool any_fits = false;
    for (int v = 0; v < s->count; v++)
        any_fits = any_fits || (s->variants[v] && !takes_statics(s, s->variants[v]) &&
                                fits_all(s, s->variants[v]));
    for (int v = 0; v < s->count; v++) {
        const struct family_variant *variant = s->variants[v];
        if (variant && !takes_statics(s, variant) && (!any_fits || fits_all(s, variant))) {
            some = some < 0 ? v : some;
            for (int i = 0; i < s->chosen_count; i++)
                if (s->chosen[i] == v)
                    return;
            continue;
        }
        for (int p = 0; p < places; p++)
            times[(ptrdiff_t)p * s->count + v] = 0;
    }
    if (some < 0)
        return;
    if (ship_choose(times, places, s->count, 1, &one, &mean) == 1)
        some = one;
    s->chosen_count -= s->chosen_count == s->most;
    s->chosen[s->chosen_count++] = some;
}

static void choose(struct family_ship *s)
{
    int places;
    s->chosen_count = s->measured = 0;
    if (s->buildable == 0)
        return;
    float *times = measured_times(s, &places), *all = times;
    s->measured = places;
    if (places == 0)
        times = ranked_times(s, &places);
    else
        all = arena_copy(&s->family->ctx->scratch, times,
                         (size_t)places * (size_t)s->count * sizeof *times);
    s->chosen_count = ship_choose(times, places, s->count, s->most, s->chosen, &s->mean);
    choose_for_all(s, times, places);
    s->mean = ship_mean(all, s->measured, s->count, s->chosen, s->chosen_count);
    for (int v = 0; v < s->count; v++)
        s->place[v] = -1;
    for (int i = 0; i < s->chosen_count; i++)
        s->place[s->chosen[i]] = i;
}

/* --- the points --- */

static void find_points(struct family_ship *s)
{
    const struct predict_table *t = &s->family->view.table;
    int *order = arena_array(s->arena, int, s->chosen_count + 1);
    s->points =
        (struct ship_points){.size_count = s->family->size_count, .variant_count = s->chosen_count};
    for (int r = 0; r < t->row_count; r++) {
        order_at(s, t->rows[r].sizes, true, order);
        ship_add(s->arena, &s->points, t->rows[r].sizes, order);
    }
    for (int i = s->set_count ? 0 : -1; i < s->set_count; i++) {
        struct ship_space space = space_of(s, i);
        ship_fill(s->arena, &s->points, &space, t->row_count + MOST_POINTS, order_at, s);
    }
}

void family_ship(struct family_ship *s)
{
    find_candidates(s);
    choose(s);
    if (s->chosen_count)
        find_points(s);
}
