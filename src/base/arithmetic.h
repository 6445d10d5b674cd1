/* Arithmetic that several executors share bit for bit, and arithmetic on counts. */
#ifndef TW_ARITHMETIC_H
#define TW_ARITHMETIC_H

#include <math.h>
#include <stdint.h>
#include <string.h>

/* Returns a + b, rounded to odd: if the sum is not a double, the neighbour whose last bit is 1. A
 * second rounding then gives the same result as a single one. */
static inline double add_to_odd(double a, double b)
{
    double sum = a + b;
    if (!isfinite(sum))
        return sum;
    double b_part = sum - a;
    double lost = (a - (sum - b_part)) + (b - b_part);
    uint64_t bits;
    memcpy(&bits, &sum, sizeof bits);
    if (lost == 0 || (bits & 1))
        return sum;
    return nextafter(sum, lost > 0 ? INFINITY : -INFINITY);
}

/* Returns x y + z, rounded once. If the machine has no such instruction (WebAssembly), it computes
 * in f64 as add_to_odd does, without a branch, so that loops are vectorised. */
static inline float fma_once(float x, float y, float z)
{
#if defined(__wasm__)
    double product = (double)x * y, sum = product + z; /* 48 digits: the product is exact */
    double z_part = sum - product, lost = (product - (sum - z_part)) + (z - z_part);
    int64_t bits;
    memcpy(&bits, &sum, sizeof bits);
    int64_t step = (lost > 0) == (sum > 0) ? 1 : -1;
    bits += (lost > 0 || lost < 0) && !(bits & 1) ? step : 0; /* NaN: of infinities */
    memcpy(&sum, &bits, sizeof sum);
    return (float)sum;
#else
    return fmaf(x, y, z);
#endif
}

/* Returns word `word` (mod 4) of Philox-4x32-10 (Salmon et al., "Parallel random numbers: as easy
 * as 1, 2, 3", 2011). `counter` and `key` are two words each, the lower half first; the other two
 * words of the counter are 0. */
static inline uint32_t philox_word(uint64_t key, uint64_t counter, uint32_t word)
{
    uint32_t x0 = (uint32_t)counter, x1 = (uint32_t)(counter >> 32), x2 = 0, x3 = 0;
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
    for (int round = 0; round < 10; round++) {
        uint64_t p0 = (uint64_t)0xd2511f53u * x0, p1 = (uint64_t)0xcd9e8d57u * x2;
        x0 = (uint32_t)(p1 >> 32) ^ x1 ^ k0;
        x2 = (uint32_t)(p0 >> 32) ^ x3 ^ k1;
        x1 = (uint32_t)p1;
        x3 = (uint32_t)p0;
        k0 += 0x9e3779b9u;
        k1 += 0xbb67ae85u;
    }
    const uint32_t words[4] = {x0, x1, x2, x3};
    return words[word & 3];
}

/* Returns a / b, rounded up, for a >= 0 and b > 0. */
static inline int32_t divide_up(int32_t a, int32_t b)
{
    return (a + b - 1) / b;
}

/* Returns the greatest common divisor of |a| and |b|; of 0 and x it is |x|. INT64_MIN counts as
 * INT64_MAX. */
static inline int64_t greatest_common_divisor(int64_t a, int64_t b)
{
    a = a >= 0 ? a : a == INT64_MIN ? INT64_MAX : -a;
    b = b >= 0 ? b : b == INT64_MIN ? INT64_MAX : -b;
    while (b) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

#endif
