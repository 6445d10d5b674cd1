/* Elements of tables. A table is an array of the module in global memory, which nothing writes: lanes
 * with indices of their own read it through the cache at once, where .const would take them in turn.
 *
 * An index outside becomes the nearest one inside, so that a look-up may be computed where its value
 * is not wanted. The CPU engine and the simulator find such an index (tile/claims.c).
 */
#include "lower/lower_emit.h"

#include <assert.h>

static const struct sym *table_of(const struct lower *l, int64_t number)
{
    const struct sym *s = l->kernel->symbols;
    while (s->storage != ST_TABLE || s->index != number)
        s = s->next;
    return s;
}

static struct ptx_variable *table_variable(struct lower *l, const struct sym *s)
{
    const char *name = arena_printf(l->arena, "%s$%s", l->kernel->name, s->name);
    struct ptx_variable *v = ptx_find_variable(l->b.module, name);
    size_t size = dtype_size(s->type.dtype), count = (size_t)s->type.extent[0];
    if (v)
        return v;
    uint8_t *bytes = arena_alloc(l->arena, count * size);
    for (size_t i = 0; i < count; i++)
        literal_store(s->type.dtype, bytes + i * size, &s->table[i]);
    return ptx_bytes(&l->b, MOD_GLOBAL, name, bytes, count * size, 16);
}

static struct ptx_operand load(struct lower *l, enum dtype t, struct ptx_operand from)
{
    enum ptx_mod reg = lower_register_type(t);
    struct ptx_operand at = ptx_at(from, 0);
    if (t == DT_BOOL) {
        struct ptx_operand byte = NEW(l, MOD_B32, "ld.global.nc.u8", at);
        return NEW(l, MOD_PRED, "setp.ne.s32", byte, ptx_int(0));
    }
    switch (dtype_size(t)) {
    case 1:
        return dtype_is_signed(t) ? NEW(l, reg, "ld.global.nc.s8", at)
                                  : NEW(l, reg, "ld.global.nc.u8", at);
    case 2:
        if (dtype_is_float(t))
            return NEW(l, reg, "ld.global.nc.b16", at);
        return dtype_is_signed(t) ? NEW(l, reg, "ld.global.nc.s16", at)
                                  : NEW(l, reg, "ld.global.nc.u16", at);
    default: return NEW_OF(l, reg, reg, "ld.global.nc.*", at);
    }
}

struct ptx_operand lookup_emit(struct lower *l, struct ptx_operand number, struct ptx_operand index)
{
    assert(number.kind == PTX_IMMEDIATE);
    const struct sym *s = table_of(l, (int64_t)number.bits);
    const enum dtype t = s->type.dtype;
    struct ptx_operand base = NEW(l, MOD_B64, "mov.u64", ptx_address_of(table_variable(l, s), 0));
    struct ptx_operand at = NEW(l, MOD_B32, "max.s32", index, ptx_int(0));
    at = NEW(l, MOD_B32, "min.s32", at, ptx_int(s->type.extent[0] - 1));
    return load(l, t, NEW(l, MOD_B64, "mad.wide.s32", at, ptx_int((int64_t)dtype_size(t)), base));
}
