/* A family's variants for a build: those that ship, and their order at sizes.
 *
 * Pure functions of numbers, as predict.h. A *point* has sizes and the order of the shipped
 * variants there. A launch of the built program takes the order of the nearest point, so a build
 * adds points until the nearest one has the right winner. */
#ifndef TW_STORE_SHIP_H
#define TW_STORE_SHIP_H

#include "base/arena.h"
#include "store/predict.h"

/* Chooses at most `most` variants, one after the other, so that the time over all sizes is least:
 * the geometric mean of the ratios of the fastest chosen variant to the fastest of all.
 *
 * times: by place and variant, places * variants numbers; 0: the variant has no time there. A place
 * where no chosen variant has a time counts as 16 times the fastest. chosen: receives the variants
 * in the order of their choice, `most` numbers; one without a time is never chosen. mean: receives the
 * geometric mean. Returns the number of chosen variants: fewer than `most` if no other one makes the
 * time less. */
int ship_choose(const float *times, int places, int variants, int most, int *chosen, double *mean);

/* Does the same for a table, which has all places: variants that later ones make useless are removed,
 * and others may take their places. (A build also serves places that are not among these.) */
int ship_choose_few(const float *times, int places, int variants, int most, int *chosen,
                    double *mean);

/* Puts the usable variants into `order`, the best first, at most `most`: the choice of predict_best,
 * then its choice among the others, and so on; those without a result at the end, in their own
 * order. Returns their number. */
int ship_order(const struct predict_table *t, const int64_t *sizes, struct predict_facts *facts,
               int most, int *order);

/* Returns the geometric mean for chosen variants, as ship_choose does. */
double ship_mean(const float *times, int places, int variants, const int *chosen, int count);

struct ship_point {
    const int64_t *sizes;
    const int *order;
    const int *octaves; /* of the sizes, by octaves_256 */
};

struct ship_points {
    int size_count, variant_count;
    VEC(struct ship_point) list;
};

/* Adds a point; copies the numbers. */
void ship_add(struct arena *a, struct ship_points *p, const int64_t *sizes, const int *order);

/* Returns the point with these sizes, else the nearest one, as aot_choice.c.in finds it; -1: there is
 * none. */
int ship_nearest(const struct ship_points *p, const int64_t *sizes);

/* A box of sizes, bounds included, at least 1. */
struct ship_space {
    const int64_t *least, *most;
};

/* Puts the order of the variants at these sizes into `order`: all of them, or the first alone. */
typedef void ship_order_at(void *user, const int64_t *sizes, bool all, int *order);

/* Adds points of a grid: powers of two within the space, and its bounds. Each is taken as it is,
 * and changed so that its divisors are those of one of the points that are there. A point is added
 * if the nearest one has another winner. Coarse grids come first. It ends after `most` points, or if
 * the nearest points of the whole grid have the right winners. */
void ship_fill(struct arena *a, struct ship_points *p, const struct ship_space *space, int most,
               ship_order_at *order_at, void *user);

#endif
