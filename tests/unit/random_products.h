/* Kernels of one product: of the formats of matrix units, from shared memory, transposed or not,
 * from registers, cast on the way. One block; a view of the whole of each parameter. */
#ifndef RANDOM_PRODUCTS_H
#define RANDOM_PRODUCTS_H

#include "base/dtype.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where a factor comes from. */
enum place { IN_SHARED, IN_SHARED_TRANSPOSED, IN_MEMORY, PLACES };

struct factors {
    const char *a, *b;       /* as memory has them */
    const char *as_a, *as_b; /* what they are cast to; "": nothing */
};

enum { PRODUCT_SINGLES = 8, PRODUCT_BYTES = 14 };
extern const struct factors product_singles[PRODUCT_SINGLES]; /* tf32 in them */
extern const struct factors product_bytes[PRODUCT_BYTES];     /* for targets from sm_89 on */

struct product {
    int m, n, k, warps;
    const struct factors *f;
    enum place a, b;
    bool loop; /* into a sum, twice */
};

/* Writes `text` and gives it back. */
const char *product_write(char *text, size_t size, const struct product *p);
struct product product_random(uint64_t *seed, const struct factors *f);

/* Sums of their products are exact in f32, what casts round is not a number of tf32 or e4m3: the
 * left ones of f32 have up to 14 bits, the right ones are near 1, 2 and 3. */
double product_number(enum dtype t, int param, uint64_t *seed);

#endif
