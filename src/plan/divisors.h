/* Divisors of a kernel's integer scalars, found from the program itself: constants,
 * assume(n % 16 == 0), counters by their start and step. */
#ifndef TW_PLAN_DIVISORS_H
#define TW_PLAN_DIVISORS_H

#include "base/number_map.h"
#include "tile/passes.h"

struct divisors {
    struct arena *arena;
    struct number_map of; /* by symbol */
    bool changed;         /* while they are found */
    int round;
};

void divisors_find(struct divisors *d, struct arena *a, const struct kernel *k);
/* Returns a number that divides e; 0: e is 0. */
int64_t divisor_of(const struct divisors *d, const struct expr *e);
/* Returns the greatest common divisor; 0 is divided by everything. */
int64_t divisor_common(int64_t a, int64_t b);
/* Returns a divisor of the product of numbers with these divisors. */
int64_t divisor_product(int64_t a, int64_t b);

#endif
