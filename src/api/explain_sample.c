#include "api/explain_sample.h"

#include <math.h>
#include <string.h>

/* Blocks are alike if they differ by at most this share of their work. */
static const double alike = 0.005;

/* Some places along an axis, in order, with the samples found there; other axes are at 0. */
struct place {
    struct sample *sample;
    int64_t at;
    double weight;
};
struct axis {
    VEC(struct place) places;
};

static struct sample *run_at(struct sampling *s, const int64_t at[3])
{
    for (size_t i = 0; i < s->all.count; i++)
        if (memcmp(s->all.data[i]->at, at, sizeof s->all.data[i]->at) == 0)
            return s->all.data[i];
    struct sample *new = arena_new(s->arena, struct sample);
    memcpy(new->at, at, sizeof new->at);
    if (!s->run(s->user, new))
        return NULL;
    for (size_t i = 0; i < s->statements; i++)
        new->sum += new->executed[i];
    s->done += new->sum;
    vec_push(s->arena, &s->all, new);
    return new;
}

static double difference(const struct sampling *s, const struct sample *a, const struct sample *b)
{
    double sum = 0;
    for (size_t i = 0; i < s->statements; i++)
        sum += fabs(a->executed[i] - b->executed[i]);
    return sum > alike * fmin(a->sum, b->sum) ? sum : 0;
}

/* Runs the block at a place and inserts the place in order. */
static bool look_at(struct sampling *s, struct axis *a, int number, int64_t where)
{
    int64_t at[3] = {0};
    at[number] = where;
    struct place new = {.sample = run_at(s, at), .at = where};
    if (!new.sample)
        return false;
    vec_push(s->arena, &a->places, new);
    size_t i = a->places.count - 1;
    for (; i > 0 && a->places.data[i - 1].at > where; i--)
        a->places.data[i] = a->places.data[i - 1];
    a->places.data[i] = new;
    return true;
}

/* Finds the gap between two places with the most unknown work. Returns the index of its first
 * place; -1: no gap is left. */
static int worst_gap(const struct sampling *s, const struct axis *a, double *unknown)
{
    int worst = -1;
    *unknown = 0;
    for (size_t i = 0; i + 1 < a->places.count; i++) {
        const struct place *p = &a->places.data[i], *q = p + 1;
        double here = (double)(q->at - p->at - 1) * difference(s, p->sample, q->sample);
        if (here > *unknown) {
            *unknown = here;
            worst = (int)i;
        }
    }
    return worst;
}

/* Returns the work of all blocks of the axis, interpolated between the places. */
static double total(const struct axis *a)
{
    double sum = 0;
    for (size_t i = 0; i + 1 < a->places.count; i++) {
        const struct place *p = &a->places.data[i], *q = p + 1;
        sum += (double)(q->at - p->at) * (p->sample->sum + q->sample->sum) / 2;
    }
    return sum;
}

/* Sets the weights. The blocks in a gap are like its ends: all like the first if the ends are
 * alike, else half like each. */
static void weigh(const struct sampling *s, struct axis *a)
{
    for (size_t i = 0; i < a->places.count; i++)
        a->places.data[i].weight += 1;
    for (size_t i = 0; i + 1 < a->places.count; i++) {
        struct place *p = &a->places.data[i], *q = p + 1;
        double between = (double)(q->at - p->at - 1);
        bool same = difference(s, p->sample, q->sample) == 0;
        p->weight += same ? between : between / 2;
        q->weight += same ? 0 : between / 2;
    }
    size_t kept = 0;
    for (size_t i = 1; i < a->places.count; i++) {
        const struct place p = a->places.data[i];
        if (difference(s, a->places.data[kept].sample, p.sample) == 0)
            a->places.data[kept].weight += p.weight;
        else
            a->places.data[++kept] = p;
    }
    a->places.count = kept + 1;
}

/* Chooses the places of an axis. Only the last block may be ragged, so the block before it comes
 * first in a gap that ends with it. */
static bool find_places(struct sampling *s, struct axis *a, int number)
{
    enum { MOST_PLACES = 24 };
    static const double small = 0.02;
    int64_t extent = s->extent[number];
    bool only = s->extent[0] * s->extent[1] * s->extent[2] == extent;
    if (!look_at(s, a, number, 0) || (extent > 1 && !look_at(s, a, number, extent - 1)))
        return false;
    for (int64_t i = 1; i < 4 && extent > 4 && s->done < s->most / 2; i++)
        if ((only || i == 2) && !look_at(s, a, number, extent * i / 4))
            return false;
    for (double unknown; a->places.count < MOST_PLACES && s->done < s->most;) {
        int gap = worst_gap(s, a, &unknown);
        if (gap < 0 || unknown < small * total(a))
            break;
        int64_t from = a->places.data[gap].at, to = a->places.data[gap + 1].at;
        if (!look_at(s, a, number, to == extent - 1 ? to - 1 : from + (to - from) / 2))
            return false;
    }
    weigh(s, a);
    return true;
}

static bool whole_axis(struct sampling *s, struct axis *a, int number)
{
    for (int64_t i = 0; i < s->extent[number]; i++) {
        struct place p = {.at = i, .weight = 1};
        vec_push(s->arena, &a->places, p);
    }
    return true;
}

bool explain_sample_grid(struct sampling *s)
{
    struct axis axes[3] = {0};
    for (int i = 0; i < 3; i++)
        if (!(i == 2 && s->all_z ? whole_axis : find_places)(s, &axes[i], i))
            return false;
    for (size_t y = 0; y < axes[1].places.count; y++)
        for (size_t x = 0; x < axes[0].places.count; x++)
            for (size_t z = 0; z < axes[2].places.count; z++) {
                const struct place *p[3] = {&axes[0].places.data[x], &axes[1].places.data[y],
                                            &axes[2].places.data[z]};
                struct sample *found = run_at(s, (int64_t[]){p[0]->at, p[1]->at, p[2]->at});
                if (!found)
                    return false;
                found->stands_for = p[0]->weight * p[1]->weight * p[2]->weight;
            }
    return true;
}
