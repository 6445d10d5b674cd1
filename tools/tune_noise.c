/* Decides how much of a difference between two candidates is noise. */
#include "tune.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLES_LEAST = 4 };

static int compare_samples(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

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
    qsort(list, (size_t)x->sample_count, sizeof *list, compare_samples);
    double spread = quantile(list, x->sample_count, 0.75) - quantile(list, x->sample_count, 0.25);
    free(list);
    return 1.57 * spread / sqrt(x->sample_count);
}
