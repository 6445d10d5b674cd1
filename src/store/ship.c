#include "store/ship.h"

#include "base/octaves.h"

#include <math.h>
#include <string.h>

/* --- the variants --- */

/* The ratio to the fastest that counts for a place where no chosen variant has a time. */
#define MISSING_RATIO 16.0

/* A variant is worth shipping if it lowers the mean by more than this factor. */
#define WORTH 1.0001
/* A variant is useless if the mean without it is at most this times greater. */
#define USELESS 1.000001

struct choosing {
    const float *times;
    int places, variants;
};

static float fastest(const struct choosing *c, int place)
{
    const float *times = c->times + (ptrdiff_t)place * c->variants;
    float least = 0;
    for (int v = 0; v < c->variants; v++)
        if (times[v] > 0 && (least <= 0 || times[v] < least))
            least = times[v];
    return least;
}

/* Returns the logarithm of the ratio of the fastest chosen variant to the fastest. more: a variant
 * that is chosen too; -1: none. */
static double ratio_at(const struct choosing *c, int place, const int *chosen, int count, int more)
{
    const float *times = c->times + (ptrdiff_t)place * c->variants;
    float least = more < 0 ? 0 : times[more], best = fastest(c, place);
    for (int i = 0; i < count; i++)
        if (times[chosen[i]] > 0 && (least <= 0 || times[chosen[i]] < least))
            least = times[chosen[i]];
    return best <= 0 ? 0
                     : log(least > 0 ? fmin((double)(least / best), MISSING_RATIO) : MISSING_RATIO);
}

static double mean_with(const struct choosing *c, const int *chosen, int count, int more)
{
    double sum = 0;
    for (int p = 0; p < c->places; p++)
        sum += ratio_at(c, p, chosen, count, more);
    return c->places ? exp(sum / c->places) : 1;
}

static bool has_time(const struct choosing *c, int variant)
{
    int p = 0;
    while (p < c->places && c->times[(ptrdiff_t)p * c->variants + variant] <= 0)
        p++;
    return p < c->places;
}

/* Adds variants one after the other while they make the time less. Returns their number. */
static int add_choices(const struct choosing *c, int most, int *chosen, int count, double *mean)
{
    while (c->places > 0 && count < most) {
        int best = -1;
        double least = *mean / WORTH;
        for (int v = 0; v < c->variants; v++) {
            if (!has_time(c, v))
                continue;
            double now = mean_with(c, chosen, count, v);
            if (now >= least)
                continue;
            best = v;
            least = now;
        }
        if (best < 0)
            break;
        chosen[count++] = best;
        *mean = least;
    }
    return count;
}

/* Removes variants that later ones have made useless. Returns the number of the others. */
static int drop_useless(const struct choosing *c, int *chosen, int count, double mean)
{
    for (int i = count - 1; i >= 0 && count > 1; i--) {
        int dropped = chosen[i];
        size_t after = (size_t)(count - i - 1) * sizeof *chosen;
        memmove(chosen + i, chosen + i + 1, after);
        if (mean_with(c, chosen, count - 1, -1) <= mean * USELESS) {
            count--;
            continue;
        }
        memmove(chosen + i + 1, chosen + i, after);
        chosen[i] = dropped;
    }
    return count;
}

int ship_choose(const float *times, int places, int variants, int most, int *chosen, double *mean)
{
    const struct choosing c = {times, places, variants};
    *mean = MISSING_RATIO;
    return add_choices(&c, most, chosen, 0, mean);
}

int ship_choose_few(const float *times, int places, int variants, int most, int *chosen,
                    double *mean)
{
    const struct choosing c = {times, places, variants};
    int count = ship_choose(times, places, variants, most, chosen, mean);
    int left = drop_useless(&c, chosen, count, *mean);
    if (left == count)
        return count;
    *mean = mean_with(&c, chosen, left, -1);
    return add_choices(&c, most, chosen, left, mean);
}

double ship_mean(const float *times, int places, int variants, const int *chosen, int count)
{
    const struct choosing c = {times, places, variants};
    return mean_with(&c, chosen, count, -1);
}

/* --- their order --- */

int ship_order(const struct predict_table *t, const int64_t *sizes, struct predict_facts *facts,
               int most, int *order)
{
    int count = 0, ordered;
    for (int v; count < most && (v = predict_best(t, sizes, facts).variant) >= 0; count++) {
        order[count] = v;
        facts[v].usable = false;
    }
    ordered = count;
    for (int v = 0; v < t->variant_count && count < most; v++)
        if (facts[v].usable)
            order[count++] = v;
    for (int i = 0; i < ordered; i++)
        facts[order[i]].usable = true;
    return count;
}

/* --- points --- */

void ship_add(struct arena *a, struct ship_points *p, const int64_t *sizes, const int *order)
{
    int *octaves = arena_array(a, int, p->size_count);
    for (int s = 0; s < p->size_count; s++)
        octaves[s] = octaves_256(sizes[s]);
    struct ship_point point = {
        arena_copy(a, sizes, (size_t)p->size_count * sizeof *sizes),
        arena_copy(a, order, (size_t)p->variant_count * sizeof *order),
        octaves,
    };
    vec_push(a, &p->list, point);
}

int ship_nearest(const struct ship_points *p, const int64_t *sizes)
{
    enum { OTHER_DIVISOR = (2 * 256) * (2 * 256) };
    size_t bytes = (size_t)p->size_count * sizeof *sizes;
    int64_t least = 0;
    int nearest = -1, octaves[PREDICT_SIZES];
    for (size_t i = 0; i < p->list.count; i++)
        if (memcmp(p->list.data[i].sizes, sizes, bytes) == 0)
            return (int)i;
    for (int s = 0; s < p->size_count; s++)
        octaves[s] = octaves_256(sizes[s]);
    for (size_t i = 0; i < p->list.count; i++) {
        const struct ship_point *at = &p->list.data[i];
        int64_t distance = 0;
        for (int s = 0; s < p->size_count; s++) {
            int d = octaves[s] - at->octaves[s];
            distance +=
                d * d + (size_divisor(sizes[s]) == size_divisor(at->sizes[s]) ? 0 : OTHER_DIVISOR);
        }
        if (nearest >= 0 && distance >= least)
            continue;
        nearest = (int)i;
        least = distance;
    }
    return nearest;
}

/* --- the grid --- */

enum { MOST_LOOKS = 20000, MOST_PATTERNS = 16, COARSEST = 8 /* octaves */ };

struct grid {
    struct arena *arena;
    struct ship_points *points;
    const struct ship_space *space;
    int most, looks;
    int pattern_count;
    int (*patterns)[PREDICT_SIZES]; /* the divisors of sizes */
    int *order;
    ship_order_at *order_at;
    void *user;
};

static void find_patterns(struct grid *g)
{
    const struct ship_points *p = g->points;
    size_t bytes = (size_t)p->size_count * sizeof **g->patterns;
    for (size_t i = 0; i < p->list.count && g->pattern_count < MOST_PATTERNS; i++) {
        int *own = g->patterns[g->pattern_count], same = 0;
        for (int s = 0; s < p->size_count; s++)
            own[s] = size_divisor(p->list.data[i].sizes[s]);
        while (memcmp(g->patterns[same], own, bytes) != 0)
            same++;
        g->pattern_count += same == g->pattern_count;
    }
}

/* Returns the size, or one next to it with this divisor. */
static int64_t with_divisor(int64_t size, int wanted, int64_t least, int64_t most)
{
    int64_t below = size - size % 16, changed = size;
    if (size_divisor(size) == wanted)
        return size;
    if (wanted == 16)
        changed = below >= least ? below : below <= most - 16 ? below + 16 : size;
    else if (wanted == 8)
        changed = below + 8;
    else
        changed = size < most ? size + 1 : size - 1;
    return changed < least || changed > most ? size : changed;
}

static bool full(const struct grid *g)
{
    return g->looks >= MOST_LOOKS || (int)g->points->list.count >= g->most;
}

static void look_at(struct grid *g, const int64_t *sizes)
{
    struct ship_points *p = g->points;
    int nearest = ship_nearest(p, sizes);
    g->looks++;
    g->order_at(g->user, sizes, false, g->order);
    if (nearest >= 0 && p->list.data[nearest].order[0] == g->order[0])
        return;
    g->order_at(g->user, sizes, true, g->order);
    ship_add(g->arena, p, sizes, g->order);
}

static void look_at_all(struct grid *g, const int64_t *sizes)
{
    int64_t changed[PREDICT_SIZES];
    int count = g->points->size_count;
    if (g->pattern_count == 0)
        look_at(g, sizes);
    for (int i = 0; i < g->pattern_count && !full(g); i++) {
        for (int s = 0; s < count; s++)
            changed[s] =
                with_divisor(sizes[s], g->patterns[i][s], g->space->least[s], g->space->most[s]);
        look_at(g, changed);
    }
}

/* Returns the size after this one: the next power of two whose exponent `step` divides, or `most`. */
static int64_t next_size(int64_t size, int step, int64_t most)
{
    for (int e = 0; e < 62; e += step)
        if ((int64_t)1 << e > size)
            return (int64_t)1 << e < most ? (int64_t)1 << e : most;
    return most;
}

static void look_at_grid(struct grid *g, int step)
{
    const struct ship_space *space = g->space;
    int64_t sizes[PREDICT_SIZES];
    int count = g->points->size_count, s;
    memcpy(sizes, space->least, (size_t)count * sizeof *sizes);
    if (full(g))
        return;
    do { /* once if there are no sizes */
        look_at_all(g, sizes);
        for (s = 0; s < count && sizes[s] == space->most[s]; s++)
            sizes[s] = space->least[s];
        if (s < count)
            sizes[s] = next_size(sizes[s], step, space->most[s]);
    } while (s < count && !full(g));
}

void ship_fill(struct arena *a, struct ship_points *p, const struct ship_space *space, int most,
               ship_order_at *order_at, void *user)
{
    struct grid g = {.arena = a,
                     .points = p,
                     .space = space,
                     .most = most,
                     .order = arena_array(a, int, p->variant_count + 1),
                     .order_at = order_at,
                     .user = user};
    g.patterns = arena_alloc_array(a, MOST_PATTERNS, sizeof *g.patterns);
    find_patterns(&g);
    for (int step = COARSEST; step > 1; step /= 2)
        look_at_grid(&g, step);
    for (size_t before = SIZE_MAX; p->list.count != before && !full(&g);) {
        before = p->list.count; /* a point that is added may be the nearest of sizes seen before */
        look_at_grid(&g, 1);
    }
}
