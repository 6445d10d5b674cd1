/* Sums of products of values, whose arithmetic wraps as that of addresses does. A sum that gets too many terms, or a product of
 * too many values, has failed. */
#ifndef TW_THREAD_SUM_H
#define TW_THREAD_SUM_H

#include "thread/thread.h"

enum { MOST_LEAVES = 3, MOST_TERMS = 12 };

/* factor * leaves */
struct term {
    int64_t factor;
    uint32_t leaf[MOST_LEAVES]; /* numbers of values, sorted; those from `count` on are 0 */
    uint32_t count;
};

/* Terms sorted by their leaves; a constant comes first. */
struct sum {
    struct term term[MOST_TERMS];
    int count;
    bool narrow; /* 32 bits */
    bool failed; /* it has too many terms */
};

/* Makes a sum 0. */
void thread_sum_clear(struct sum *s, bool narrow);
/* Add to a sum a multiple of a term, a sum or a value, a constant, a product. */
void thread_sum_add_term(struct sum *s, const struct term *t, int64_t multiple);
void thread_sum_add_scaled(struct sum *to, const struct sum *from, int64_t factor);
void thread_sum_add_constant(struct sum *s, int64_t v);
void thread_sum_add_leaf(struct sum *s, const struct thread_value *v, int64_t factor);
void thread_sum_add_product(struct sum *to, const struct sum *a, const struct sum *b);

/* Removes the constant, and returns it. */
int64_t thread_sum_take_constant(struct sum *s);

bool thread_sum_same(const struct sum *a, const struct sum *b);

#endif
