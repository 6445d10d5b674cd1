/* Ops that combine elements, as reductions and atomics do. */
#include "tile/tile.h"

#include <math.h>

enum op op_of_reduction(enum op op)
{
    static const enum op combining[] = {OP_ADD, OP_MAX, OP_MIN, OP_OR, OP_AND};
    return combining[op - OP_REDUCE_SUM];
}

const char *op_scan_name(enum op op)
{
    static const char *const names[OP_COUNT] = {
        [OP_ADD] = "add", [OP_MUL] = "mul", [OP_MIN] = "min", [OP_MAX] = "max",
        [OP_AND] = "and", [OP_OR] = "or",   [OP_XOR] = "xor"};
    return names[op];
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
    if (is_float) {
        v.i = 0;
        dtype_store_f64(t, &ones, v.f); /* the greatest number, if casts give no infinity */
        v.f = dtype_load_f64(t, &ones);
    } else {
        v.f = 0;
    }
    return v;
}
