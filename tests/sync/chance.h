/* Seeded random numbers (splitmix64), the same everywhere. */
#ifndef TW_TEST_CHANCE_H
#define TW_TEST_CHANCE_H

#include <stdbool.h>
#include <stdint.h>

struct chance {
    uint64_t state;
};

static inline uint32_t chance_next(struct chance *r)
{
    uint64_t z = r->state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (uint32_t)(z >> 32);
}

/* 0 … n - 1 */
static inline int below(struct chance *r, int n)
{
    return (int)(chance_next(r) % (uint32_t)n);
}

static inline bool percent(struct chance *r, int p)
{
    return below(r, 100) < p;
}

#endif
