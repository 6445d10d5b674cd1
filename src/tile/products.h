/* Loops of thread-level code that only sum products, as the pass `products` finds them:
 *
 *   for all turns of a nest of loops:  target[..] += factor[..] * factor[..]
 *
 * Together with the lanes of the block, and the elements of the target, the loops are the axes of a
 * product of matrices. Every index is affine in the counters of the loops. */
#ifndef TW_PRODUCTS_H
#define TW_PRODUCTS_H

#include "tile/tile.h"

enum { PRODUCT_LOOPS = 4, MOST_PRODUCT_LOOPS = 8, MOST_PRODUCTS = 8 };

/* for (i32 i = start; i < bound; i += step), step > 0. The loops do not change start and bound. */
struct product_counter {
    const struct sym *sym;
    const struct expr *start, *bound;
    int64_t step;
    bool inclusive; /* i <= bound */
};

/* Growth of each index of an access for one more turn of each loop of its sum. */
struct product_steps {
    int64_t of[MAX_RANK][PRODUCT_LOOPS];
};

struct unconverted_factor {
    const struct expr *value; /* of the sum's element type */
    /* The access that `value` is, or is a cast of; a variable that a turn loads is replaced by its
     * load. NULL: `value` does not change in the loops. */
    const struct expr *load;
    struct product_steps steps; /* of `load` */
};

/* The sum of one statement: target = fma(factor, factor, target), or the same in integers. */
struct product_sum {
    const struct expr *target; /* a scalar of each thread's own, or elements of its array */
    struct product_steps steps;
    struct unconverted_factor factor[2];
    int loops, loop[PRODUCT_LOOPS]; /* indices in products.loop, the outermost first */
};

/* No sum reads the target of another one, and nothing after the loops reads what they load. So the
 * sums may run one after another, each over all of its turns in order. */
struct products {
    int loops, sums;
    const struct product_counter *loop;
    const struct product_sum *sum;
};

/* Returns the number of turns of such a loop; -1: its counter would wrap. */
static inline int64_t counted_turns(int64_t start, int64_t bound, int64_t step, bool inclusive)
{
    int64_t reach = bound - start + (inclusive ? 1 : 0);
    int64_t turns = reach <= 0 ? 0 : (reach + step - 1) / step;
    return start + turns * step > INT32_MAX ? -1 : turns;
}

#endif
