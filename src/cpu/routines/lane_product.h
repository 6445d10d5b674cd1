/* Products over lanes (compile_product.c, exec_product.c).
 *
 * sum[..] += a[..] * b[..], for all turns of a nest of loops, all elements of a value and all
 * lanes at once. Its axes, outermost first, are: loops, elements, lanes along z, y, x. */
#ifndef TW_LANE_PRODUCT_H
#define TW_LANE_PRODUCT_H

#include "cpu/program.h"
#include "tile/products.h"

enum {
    PRODUCT_AXES = PRODUCT_LOOPS + MAX_RANK + 3,
    PRODUCT_PANEL = 8192 /* least number of elements of each panel that operands are packed into */
};

/* for (i32 i = start; i < bound; i += step), step > 0 */
struct product_loop {
    uint32_t start, bound; /* i32 in the frame */
    int64_t step;
    bool inclusive; /* i <= bound */
};

struct product_operand {
    const struct access *access; /* NULL: the operand is a value in the frame */
    uint32_t at;                 /* offset of that value */
    /* Growth of each index of the access for one more turn, element or lane along each axis; for
     * a value in the frame only [0] is used: its step in elements. */
    int64_t step[MAX_RANK][PRODUCT_AXES];
    uint32_t size; /* bytes of an element */
    int size_index;
    convert_fn *convert; /* to the type of the sum; NULL: none */
};

struct lane_product {
    uint32_t number; /* index in the program */
    int axes, loops;
    int loop[PRODUCT_LOOPS];        /* indices in products_detail.loop */
    int64_t extent[PRODUCT_AXES];   /* of the axes that are not loops */
    uint32_t sum;                   /* in the frame */
    int64_t sum_step[PRODUCT_AXES]; /* elements */
    struct product_operand operand[2];
    dot_fn *dot;
    size_t width; /* see dot_strides.panel */
    elementwise_fn *fma;
    uint32_t size;
    int size_index;
};

/* The statements of a nest of loops; none of them reads a sum of another one. */
struct products_detail {
    int loops, count;
    const struct product_loop *loop;
    const struct lane_product *product;
    uint32_t panel[4]; /* rows, columns, sums; elements before they are converted */
    int64_t room;      /* elements of each panel */
};

/* Computes the steps, in elements of a row, from a lane to the next one along z, y, x: the order
 * of a product's axes. */
static inline void lane_steps(const struct cpu_program *p, int64_t *step)
{
    step[0] = (int64_t)p->threads[0] * p->threads[1];
    step[1] = p->threads[0];
    step[2] = 1;
}

/* Plans the products of a launch: the part that is the same for all blocks. */
void exec_plan_products(struct arena *a, struct launch_state *l);

#endif
