/* Kernels of one product, in the formats of matrix units: operands from shared memory,
 * transposed or not, or from registers, with or without a cast. They have one block, and a view
 * of the whole of each parameter. */
#ifndef RANDOM_PRODUCTS_H
#define RANDOM_PRODUCTS_H

#include "base/dtype.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The place of a factor. */
enum place { IN_SHARED, IN_SHARED_TRANSPOSED, IN_MEMORY, PLACES };

struct factors {
    const char *a, *b;       /* their types in memory */
    const char *as_a, *as_b; /* the types of their casts; "": not cast */
};

enum { PRODUCT_SINGLES = 8, PRODUCT_BYTES = 14 };
extern const struct factors product_singles[PRODUCT_SINGLES]; /* tf32 in them */
extern const struct factors product_bytes[PRODUCT_BYTES];     /* for sm_89 and later */

struct product {
    int m, n, k, warps;
    const struct factors *f;
    enum place a, b;
    bool loop; /* added to a sum, twice */
    bool fma;  /* by(fma) */
};

/* Writes the kernel to `text` and returns it. */
const char *product_write(char *text, size_t size, const struct product *p);
struct product product_random(uint64_t *seed, const struct factors *f);

/* Returns numbers whose sums of products are exact in f32, but which casts to tf32 or e4m3 have
 * to round: the left ones of f32 have up to 14 bits, the right ones are near 1, 2 and 3. */
double product_number(enum dtype t, int param, uint64_t *seed);

#endif
