#include "store/predict.h"

#include "base/octaves.h"

#include <math.h>
#include <string.h>

/* Rows that are averaged, and the octaves by which a row counts as further away for each size
 * whose divisor differs: a program for multiples of 16 copies more bytes at once. */
enum { NEAREST_ROWS = 8, DIVISOR_OCTAVES = 2 };

/* The octaves at which a row's weight is a quarter of that at distance 0. */
#define WEIGHT_OCTAVES 0.7

/* The ratio to a row's fastest that counts for a variant without a time there. */
#define MISSING_RATIO 4.0

struct near_row {
    int row;
    double squared;  /* distance in octaves, */
    double weighted; /* and with the divisors */
    double least;    /* microseconds of the row's fastest usable variant */
};

static double octave(int64_t size)
{
    return size > 0 ? log2((double)size) : -1;
}

static struct near_row distance_to(const struct predict_table *t, int row, const int64_t *sizes)
{
    struct near_row n = {.row = row};
    int other = 0;
    for (int i = 0; i < t->size_count; i++) {
        double d = octave(sizes[i]) - octave(t->rows[row].sizes[i]);
        n.squared += d * d;
        other += size_divisor(sizes[i]) != size_divisor(t->rows[row].sizes[i]);
    }
    n.weighted = n.squared + other * DIVISOR_OCTAVES * DIVISOR_OCTAVES;
    return n;
}

static float least_of(const struct predict_table *t, int row, const struct predict_facts *facts)
{
    float least = 0;
    for (int v = 0; v < t->variant_count; v++) {
        float us = facts[v].usable ? t->rows[row].us[v] : 0;
        if (us > 0 && (least <= 0 || us < least))
            least = us;
    }
    return least;
}

/* Adds a row to the nearest ones, which are sorted. */
static int keep_nearest(struct near_row *near, int count, struct near_row n)
{
    int at = count < NEAREST_ROWS ? count : NEAREST_ROWS - 1;
    if (count == NEAREST_ROWS && n.weighted >= near[at].weighted)
        return count;
    while (at > 0 && near[at - 1].weighted > n.weighted) {
        near[at] = near[at - 1];
        at--;
    }
    near[at] = n;
    return count < NEAREST_ROWS ? count + 1 : count;
}

static int exact_row(const struct predict_table *t, const int64_t *sizes)
{
    size_t bytes = (size_t)t->size_count * sizeof *sizes;
    for (int r = 0; r < t->row_count; r++)
        if (memcmp(t->rows[r].sizes, sizes, bytes) == 0)
            return r;
    return -1;
}

static struct predicted fastest_of(const struct predict_table *t, int row,
                                   const struct predict_facts *facts)
{
    struct predicted p = {.variant = -1, .nearest = row, .exact = true};
    for (int v = 0; v < t->variant_count; v++) {
        float us = facts[v].usable ? t->rows[row].us[v] : 0;
        if (us <= 0)
            continue;
        p.compared++;
        if (p.variant < 0 || (double)us < p.us) {
            p.variant = v;
            p.us = (double)us;
        }
    }
    return p;
}

/* Returns the logarithm of the ratio of the model's times here and at a row; 0: not known. */
static double growth(const struct predict_facts *facts, int row)
{
    double there = facts->models ? facts->models[row] : 0;
    return there > 0 && facts->model > 0 ? log(facts->model / there) : 0;
}

/* The prediction for a variant: weighted means over the near rows. */
struct mean {
    bool measured; /* a row has a time of it */
    double ratio;  /* log of its time here divided by a scale that all variants share */
    double time;   /* log of its microseconds, of the rows that have a time; only if the model knows
                    * it */
};

static struct mean mean_of(const struct predict_table *t, const struct near_row *near, int count,
                           const struct predict_facts *facts, int variant)
{
    struct mean m = {0};
    double weights = 0, timed = 0;
    for (int i = 0; i < count; i++) {
        double us = (double)t->rows[near[i].row].us[variant];
        double weight = 1 / (1 + near[i].weighted / (WEIGHT_OCTAVES * WEIGHT_OCTAVES));
        double more = growth(facts, near[i].row);
        weight *= weight;
        m.ratio += weight * (log(us > 0 ? us / near[i].least : MISSING_RATIO) + more);
        weights += weight;
        if (us > 0) {
            m.time += weight * (log(us) + more);
            timed += weight;
        }
    }
    m.measured = timed > 0;
    m.ratio /= weights;
    m.time = m.measured ? m.time / timed : 0;
    return m;
}

/* Estimates the time of a variant that the model does not know from the nearest row that has one,
 * as if time grew with the product of the sizes. It is at least the variant's least time of all
 * near rows, because a launch itself takes time. */
static double time_of(const struct predict_table *t, const struct near_row *near, int count,
                      const int64_t *sizes, int variant)
{
    double least = INFINITY;
    for (int i = 0; i < count; i++) {
        double us = (double)t->rows[near[i].row].us[variant];
        least = us > 0 ? fmin(least, us) : least;
    }
    for (int i = 0; i < count; i++) {
        const struct predict_row *row = &t->rows[near[i].row];
        double octaves = 0;
        for (int s = 0; s < t->size_count; s++)
            octaves += octave(sizes[s]) - octave(row->sizes[s]);
        if (row->us[variant] > 0)
            return fmax((double)row->us[variant] * exp2(octaves), least);
    }
    return 0;
}

struct predicted predict_best(const struct predict_table *t, const int64_t *sizes,
                              const struct predict_facts *facts)
{
    int exact = exact_row(t, sizes), count = 0;
    struct predicted p = {.variant = -1, .nearest = -1};
    if (exact >= 0)
        p = fastest_of(t, exact, facts);
    if (p.variant >= 0)
        return p;
    struct near_row near[NEAREST_ROWS];
    for (int r = 0; r < t->row_count; r++) {
        struct near_row n = distance_to(t, r, sizes);
        n.least = (double)least_of(t, r, facts);
        if (n.least > 0)
            count = keep_nearest(near, count, n);
    }
    p = (struct predicted){.variant = -1, .nearest = count ? near[0].row : -1};
    struct mean best = {0};
    for (int v = 0; v < t->variant_count && count; v++) {
        struct mean m = {0};
        if (facts[v].usable)
            m = mean_of(t, near, count, &facts[v], v);
        p.compared += m.measured;
        if (!m.measured || (p.variant >= 0 && m.ratio >= best.ratio))
            continue;
        p.variant = v;
        best = m;
    }
    if (p.variant >= 0) {
        p.distance = sqrt(near[0].squared);
        p.us =
            facts[p.variant].model > 0 ? exp(best.time) : time_of(t, near, count, sizes, p.variant);
    }
    return p;
}
