/* Ranks the candidates by their times, and decides how much of a difference is noise. */
#include "tune/tune.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLES_LEAST = 4 };

/* Returns the value below which the fraction `part` of the sorted samples lies; interpolates
 * between two samples if necessary. */
static double quantile(const double *list, int count, double part)
{
    double at = part * (count - 1);
    int below = (int)at, above = below + 1 < count ? below + 1 : below;
    return list[below] + (at - below) * (list[above] - list[below]);
}

/* Returns half the notch of a box plot: 1.57 times the interquartile range over the square root
 * of the count. If two notches do not overlap, the medians differ in 19 cases of 20 (McGill,
 * Tukey, Larsen: "Variations of Box Plots", 1978). */
double trial_noise(const struct trial *x)
{
    if (x->sample_count < SAMPLES_LEAST)
        return -1;
    size_t size = (size_t)x->sample_count * sizeof(double);
    double *list = need_memory(size);
    memcpy(list, x->samples, size);
    qsort(list, (size_t)x->sample_count, sizeof *list, compare_doubles);
    double spread = quantile(list, x->sample_count, 0.75) - quantile(list, x->sample_count, 0.25);
    free(list);
    return 1.57 * spread / sqrt(x->sample_count);
}

/* --- ranks --- */

static const struct trial *sorted; /* qsort has no argument for it */

static int compare(const void *a, const void *b)
{
    const struct trial *x = &sorted[*(const int *)a], *y = &sorted[*(const int *)b];
    bool has_x = x->state == TRIAL_MEASURED, has_y = y->state == TRIAL_MEASURED;
    if (has_x != has_y)
        return has_y - has_x;
    if (has_x && x->ms != y->ms)
        return (x->ms > y->ms) - (x->ms < y->ms);
    return x - y < 0 ? -1 : x > y;
}

int *trials_ranking(const struct tuning *t, const struct problem *p, int *measured)
{
    int *order = need_memory((size_t)(t->candidate_count + 1) * sizeof *order);
    for (int i = 0; i < t->candidate_count; i++)
        order[i] = i;
    *measured = problem_count(t, p, TRIAL_MEASURED);
    sorted = p->trials;
    qsort(order, (size_t)t->candidate_count, sizeof *order, compare);
    return order;
}

int trial_resident(const struct tuning *t, int problem, int candidate)
{
    if (t->problems[problem].facts[t->candidates[candidate].member] < 0)
        return 0;
    int loaded = build_at(t, problem, candidate)->occupancy.blocks;
    return loaded > 0 ? loaded : trial_at(t, problem, candidate)->estimate.resident;
}

int trials_within_noise(const struct problem *p, const int *order, int measured)
{
    const struct trial *best = &p->trials[order[0]];
    double of_best = trial_noise(best);
    int count = measured > 0;
    while (count && count < measured && of_best >= 0) {
        const struct trial *x = &p->trials[order[count]];
        double own = trial_noise(x);
        if (own < 0 || x->ms - own > best->ms + of_best)
            break;
        count++;
    }
    return count;
}
