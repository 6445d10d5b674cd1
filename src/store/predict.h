/* The choice among variants from times that were measured at other sizes.
 *
 * A pure function of numbers: no devices, no kernels, no memory. */
#ifndef TW_STORE_PREDICT_H
#define TW_STORE_PREDICT_H

#include <stdbool.h>
#include <stdint.h>

enum { PREDICT_SIZES = 64 }; /* most sizes of a table */

/* The times of all variants at some sizes. */
struct predict_row {
    const int64_t *sizes; /* in the order of the table's */
    const float *us;      /* microseconds by variant; 0: not measured, or it failed */
};

/* Facts of a variant, for the sizes that are asked and for each row. */
struct predict_facts {
    bool usable;  /* it may be chosen */
    double model; /* microseconds by the model at the sizes asked; 0: not known */
    const double
        *models; /* the same at each row's sizes, on the device that was measured; NULL: not
                           * known */
};

struct predict_table {
    int size_count, variant_count, row_count;
    const struct predict_row *rows;
};

struct predicted {
    int variant;     /* -1: none is usable, or no row has a time of a usable one */
    bool exact;      /* a row has these sizes and a time of the variant */
    int nearest;     /* the nearest row; -1: none */
    double distance; /* to that row in octaves: the root of the sum of squares of log2 ratios */
    double us;       /* measured if exact, else estimated */
    int compared;    /* number of usable variants with a time in a row that counted */
};

/* Chooses for `sizes`. facts: by variant. If a row has these sizes, its fastest usable variant
 * wins. Else the rows near the sizes are averaged: of each variant the logarithm of its time
 * divided by the row's least and, if the model knows the variant, by the model's time. The model's
 * time at the asked sizes turns that into a prediction again. Equal variants: the first. */
struct predicted predict_best(const struct predict_table *t, const int64_t *sizes,
                              const struct predict_facts *facts);

#endif
