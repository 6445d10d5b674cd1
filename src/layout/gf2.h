/* Linear algebra over GF(2): a vector is the bits of a word, a sum is an exclusive or.
 *
 * A space is kept in echelon form, with a row for each leading bit, so every query is one pass
 * over at most 64 rows. The tag of a row records which inserted vectors add up to it; solving
 * needs that. */
#ifndef TW_GF2_H
#define TW_GF2_H

#include <stdbool.h>
#include <stdint.h>

struct gf2_space {
    uint64_t row[64]; /* row[b] has b as its highest bit; 0: no such row */
    uint64_t tag[64]; /* the inserted vectors whose sum row[b] is */
    int rank;
};

void gf2_init(struct gf2_space *s);
/* Adds v to the space. Returns false, and leaves the space unchanged, if v was already in it. */
bool gf2_insert(struct gf2_space *s, uint64_t v, uint64_t tag);
bool gf2_contains(const struct gf2_space *s, uint64_t v);
/* Sets *tag to the inserted vectors whose sum is v. Returns false if v is not in the space. */
bool gf2_solve(const struct gf2_space *s, uint64_t v, uint64_t *tag);
int gf2_rank(const uint64_t *vectors, int count);

static inline int gf2_highest(uint64_t v) /* -1 for 0 */
{
    int bit = -1;
    for (int step = 32; step > 0; step /= 2)
        if (v >> step) {
            v >>= step;
            bit += step;
        }
    return bit + (v != 0);
}
static inline int gf2_count(uint64_t v)
{
    int n = 0;
    for (; v; v &= v - 1)
        n++;
    return n;
}

#endif
