#include "cli/product.h"
#include "cli/target.h"

#include <math.h>
#include <string.h>

bool takes_extent(tw_kernel *k, const char *name)
{
    tw_param p = tw_param_init();
    for (int i = 0; tw_kernel_param(k, i, &p) == TW_OK; i++)
        if (!p.is_pointer && !is_float_type(p.dtype) && strcmp(p.name, name) == 0)
            return true;
    return false;
}

/* Returns 1 if the last two axes are `row` and `column`, -1 if they are in the other order, else
 * 0. */
static int has_axes(const tw_param *p, const char *row, const char *column)
{
    if (p->rank != 2 && !(p->rank == 3 && strcmp(p->dims[0], "batch") == 0))
        return 0;
    const char *first = p->dims[p->rank - 2], *second = p->dims[p->rank - 1];
    if (strcmp(first, row) == 0 && strcmp(second, column) == 0)
        return 1;
    return strcmp(first, column) == 0 && strcmp(second, row) == 0 ? -1 : 0;
}

bool find_product(tw_kernel *k, struct product_of *out)
{
    int arrays = 0, rank = 0;
    tw_param p = tw_param_init();
    *out = (struct product_of){.a = -1, .b = -1, .c = -1};
    for (int i = 0; tw_kernel_param(k, i, &p) == TW_OK; i++) {
        if (!p.is_pointer)
            continue;
        arrays++;
        if (p.rank < 2)
            continue; /* a bias */
        int a = has_axes(&p, "m", "k"), b = has_axes(&p, "k", "n"), c = has_axes(&p, "m", "n");
        int *place = p.is_const && a ? &out->a : p.is_const && b ? &out->b : &out->c;
        if (*place >= 0 || (!p.is_const && c != 1) || (p.is_const && !a && !b) ||
            (rank && rank != p.rank))
            return false;
        *place = arrays - 1;
        rank = p.rank;
        out->a_turned |= p.is_const && a < 0;
        out->b_turned |= p.is_const && !a && b < 0;
    }
    out->batched = rank == 3;
    out->alone = arrays == 3;
    return out->a >= 0 && out->b >= 0 && out->c >= 0;
}

/* Does not shrink 8-bit floats with K, because they hold few values below 1/100. */
double product_scale(int64_t k, tw_dtype dtype)
{
    return k > 0 && tw_dtype_size(dtype) > 1 ? 1 / sqrt((double)k) : 1;
}
