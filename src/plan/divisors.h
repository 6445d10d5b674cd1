/* Divisors of a kernel's integer scalars, from the facts about them. */
#ifndef TW_PLAN_DIVISORS_H
#define TW_PLAN_DIVISORS_H

#include "base/arithmetic.h"
#include "tile/tile_facts.h"

/* Returns a number that divides e; 0: e is 0. */
static inline int64_t divisor_of(struct tile_facts *t, const struct expr *e)
{
    struct facts f = tile_facts_of(t, e);
    return facts_divisor(&f);
}

/* Returns a divisor of the product of numbers with these divisors. */
static inline int64_t divisor_product(int64_t a, int64_t b)
{
    const int64_t largest = 1 << 20;
    if (a > largest || b > largest) { /* powers of two are what counts */
        a = greatest_common_divisor(a, largest);
        b = greatest_common_divisor(b, largest);
    }
    return a * b;
}

#endif
