/* Ops that combine elements, as reductions and atomics do. */
#include "tile/tile.h"

#include <math.h>

enum op op_of_reduction(enum op op)
{
    switch (op) {
    case OP_REDUCE_SUM: return OP_ADD;
    case OP_REDUCE_MAX: return OP_MAX;
    case OP_REDUCE_MIN: return OP_MIN;
    case OP_REDUCE_ANY: return OP_OR;
    default: return OP_AND;
    }
}

struct literal op_neutral(enum op op, enum dtype t)
{
    bool is_float = dtype_is_float(t), is_signed = dtype_is_signed(t);
    int bits = t == DT_BOOL ? 1 : dtype_table[t].bits;
    uint64_t ones = bits == 64 ? UINT64_MAX : ((uint64_t)1 << bits) - 1;
    int64_t most = (int64_t)(is_signed ? ones >> 1 : ones);
    struct literal v = {.is_float = is_float};
    switch (op) {
    case OP_MUL:
        v.i = 1;
        v.f = 1;
        break;
    case OP_MIN:
        v.i = most;
        v.f = (double)INFINITY;
        break;
    case OP_MAX:
        v.i = is_signed ? -most - 1 : 0;
        v.f = -(double)INFINITY;
        break;
    case OP_AND: v.i = is_signed ? -1 : (int64_t)ones; break;
    default: break;
    }
    if (is_float)
        v.i = 0;
    else
        v.f = 0;
    return v;
}
