/* The part of a family that a build ships: variants, and the sizes at which it has their order. */
#ifndef TW_FAMILY_SHIP_H
#define TW_FAMILY_SHIP_H

#include "api/family.h"
#include "store/ship.h"

/* A choice of variants, under the family's lock with its view made. */
struct family_ship {
    tw_family *family;
    struct arena *arena;
    /* The caller's sets of sizes. */
    const tw_size_set *sets;
    int set_count;
    int most; /* variants to choose */
    /* The variants of the results, or each member with its default values; by column of the view or
     * by member. */
    int count, buildable;
    struct family_variant **variants; /* NULL: it cannot be built */
    /* The chosen ones. */
    int chosen_count;
    int *chosen;               /* indices into `variants` */
    int *place;                /* by variant: its index in `chosen`; -1: not chosen */
    struct ship_points points; /* orders of indices into `chosen` */
    int measured;              /* points whose order is measured, not predicted */
    int *by;                   /* room for an order of `variants`, */
    double *costs;             /* their costs, */
    bool *taken;               /* and marks */
    double mean; /* geometric mean of the fastest chosen variant's time to the fastest of all */
};

/* Returns true if the caller's set `index` gives all values that the kernel has compiled in. -1: no
 * set; the kernel then has no static parameter that asks for a value. */
bool family_ship_set_serves(const struct family_ship *s, const struct lang_kernel *info, int index);
/* Returns true if the range gives one value for a parameter of the kernel that is compiled in. */
bool family_ship_is_static(const struct lang_kernel *info, const tw_size_range *range);
/* Returns true if the kernel has no static parameters apart from fixed ones. */
bool family_ship_serves_all(const struct lang_kernel *info);

/* Returns a value for size `index` of the family, as it may be at a launch of the kernel. */
int64_t family_ship_usual_size(const struct family_ship *s, const struct lang_kernel *info,
                               int index);

/* Chooses variants and points. chosen_count is 0 if none can be built. Within a call: allocates. */
void family_ship(struct family_ship *s);

#endif
