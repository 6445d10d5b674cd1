/* Gaussian elimination, one vector at a time. */
#include "layout/gf2.h"

#include <assert.h>
#include <string.h>

void gf2_init(struct gf2_space *s)
{
    memset(s, 0, sizeof *s);
}

/* Returns the rest of v after adding every row that applies; adds their tags to *tag. */
static uint64_t reduce(const struct gf2_space *s, uint64_t v, uint64_t *tag)
{
    for (int bit = gf2_highest(v); bit >= 0; bit--) {
        if (!(v >> bit & 1) || !s->row[bit])
            continue;
        v ^= s->row[bit];
        *tag ^= s->tag[bit];
    }
    return v;
}

bool gf2_insert(struct gf2_space *s, uint64_t v, uint64_t tag)
{
    v = reduce(s, v, &tag);
    if (!v)
        return false;
    int bit = gf2_highest(v);
    assert(!s->row[bit] && s->rank < 64);
    s->row[bit] = v;
    s->tag[bit] = tag;
    s->rank++;
    return true;
}

bool gf2_contains(const struct gf2_space *s, uint64_t v)
{
    uint64_t tag = 0;
    return reduce(s, v, &tag) == 0;
}

bool gf2_solve(const struct gf2_space *s, uint64_t v, uint64_t *tag)
{
    *tag = 0;
    return reduce(s, v, tag) == 0;
}

/* Keeps a vector only if it is less than its sum with any vector kept before, so every highest
 * bit occurs once. */
int gf2_rank(const uint64_t *vectors, int count)
{
    uint64_t kept[64];
    int rank = 0;
    for (int i = 0; i < count; i++) {
        uint64_t v = vectors[i];
        for (int k = 0; k < rank; k++)
            v = (v ^ kept[k]) < v ? v ^ kept[k] : v;
        if (v)
            kept[rank++] = v;
    }
    return rank;
}
