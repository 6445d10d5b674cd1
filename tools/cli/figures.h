/* Formats figures for people: three digits, and a unit with its prefix (a power of 1000, unless
 * the unit is KiB or MiB). */
#ifndef TW_FIGURES_H
#define TW_FIGURES_H

#include "tilewright.h"
#include "tilewright_model.h"

struct figure {
    char text[128];
};

struct figure figure_plain(double v);                  /* "0.25", "19.7", "295" */
struct figure figure_unit(double v, const char *unit); /* "8.59 GB", "67.0 TFLOP/s" */
struct figure figure_kib(double bytes);                /* "8 KiB"; without decimals if whole */
struct figure figure_mib(double bytes);
struct figure figure_seconds(double v);    /* "346 µs" */
struct figure figure_percent(double part); /* of 1: "1.25 %" */
struct figure figure_change(double part);  /* "+25 %", "-97 %" */
/* Returns the middle, and the ends if they differ: "1.20 GB (1.10 to 1.40)". */
struct figure figure_range(tw_range r, const char *unit);
struct figure figure_range_seconds(tw_range r);
/* Returns the value rounded to three digits, as figures show it. */
double three_digits(double v);

#endif
