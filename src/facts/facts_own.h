/* Shared by the files of src/facts. */
#ifndef TW_FACTS_OWN_H
#define TW_FACTS_OWN_H

#include "facts/facts.h"

/* The lowest bit that is 1; 0 has none and gives 0. */
static inline uint64_t facts_lowest_bit(uint64_t v)
{
    return v & (0 - v);
}

/* All bits up to the highest that is 1. */
static inline uint64_t facts_filled(uint64_t v)
{
    for (int shift = 1; shift < 64; shift *= 2)
        v |= v >> shift;
    return v;
}

/* Tightens the parts of *f by each other. Returns true if some number has all of them. */
bool facts_tighten(struct facts *f);
/* Returns f for a number that is also rest + modulus · i, modulus > 0. */
struct facts facts_with_residue(struct facts f, int64_t modulus, int64_t rest);
/* Returns f for a number whose other bits are 0. */
struct facts facts_with_ones(struct facts f, uint64_t ones);
/* Returns the power of two by which the number's last bits are known: rest modulo that. */
int64_t facts_power(const struct facts *f);

#endif
