#include "tile/lookup.h"

/* Adds the indices that the condition compares, in order. Returns false for a condition of another
 * form, which a pass may have made. */
static bool add_compared(const struct expr *e, struct lookup_index *out, int *count)
{
    if (e->op == OP_LAND)
        return add_compared(e->args[0], out, count) && add_compared(e->args[1], out, count);
    if (e->op == OP_GE)
        return true; /* index >= 0 comes with index < extent */
    int64_t extent;
    if (e->op != OP_LT || e->axis < 1 || *count == MAX_RANK || !eval_int(e->args[1], NULL, &extent))
        return false;
    out[(*count)++] =
        (struct lookup_index){.value = e->args[0], .axis = e->axis - 1, .extent = extent};
    return true;
}

int lookup_indices(const struct expr *lookup, struct lookup_index out[MAX_RANK])
{
    const struct expr *index = lookup->args[1];
    int count = 0;
    if (index->op == OP_WHERE && lookup->axis > 0 && add_compared(index->args[0], out, &count) &&
        count > 0)
        return count;
    out[0] = (struct lookup_index){
        .value = index, .extent = lookup->sym->type.extent[0], .is_whole = true};
    return 1;
}

const char *lookup_place(struct arena *a, const struct expr *lookup, const struct lookup_index *x)
{
    const char *name = lookup->sym->name;
    if (x->is_whole || lookup->axis == 1)
        return arena_printf(a, "the table %s (%lld values)", name, (long long)x->extent);
    return arena_printf(a, "axis %d of the table %s (extent %lld)", x->axis, name,
                        (long long)x->extent);
}
