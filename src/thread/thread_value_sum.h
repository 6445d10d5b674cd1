/* Values of thread IR as sums of products (thread_sum.h) of other values, their leaves. */
#ifndef TW_THREAD_VALUE_SUM_H
#define TW_THREAD_VALUE_SUM_H

#include "thread/thread_sum.h"

struct value_info {
    const struct thread_operation *definition; /* NULL: it is an argument or a parameter */
    struct thread_value *value;
    uint32_t depth, level; /* loops and regions around it */
    const struct sum *sum; /* the latest that was asked for; NULL: none */
    bool words;            /* of that sum */
};

struct value_sums {
    struct arena *arena;
    VEC(struct value_info) info; /* by number of a value */
};

static inline bool thread_is_word(enum dtype t)
{
    return t == DT_I32 || t == DT_U32;
}

static inline bool thread_is_long(enum dtype t)
{
    return t == DT_I64 || t == DT_U64;
}

/* Notes the definition of a value, or those of a region and the regions in it. */
void thread_value_note(struct value_sums *g, struct thread_value *v,
                       const struct thread_operation *op, uint32_t depth, uint32_t level);
void thread_value_note_region(struct value_sums *g, const struct thread_region *r, uint32_t depth,
                              uint32_t level);
/* Return the number of loops, and of regions, around the innermost leaf of a term. */
uint32_t thread_value_depth(const struct value_sums *g, const struct term *t);
uint32_t thread_value_level(const struct value_sums *g, const struct term *t);
/* Returns the operand's sum. narrow: it wraps as 32 bits do. words: the operand has 32 bits, and if the sum is not narrow it is
 * an index. level: the depth of this call, 0. */
const struct sum *thread_value_sum(struct value_sums *g, const struct thread_operand *o,
                                   bool narrow, bool words, int level);

#endif
