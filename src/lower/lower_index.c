/* Index arithmetic: tiles of integers and bool made of iota, scalars and pure ops alone.
 *
 * Their elements are values (lower_value.h): equal ones are one, constants stay in immediates, what
 * does not change in a loop is computed before it, what follows from ranges is known. A tile
 * declared so has no registers until one is asked for.
 */
#include "lower/lower_tile_own.h"

enum { MOST_REGISTERS = 512 };

static bool elementwise(enum op op)
{
    switch (op_table[op].class) {
    case CLASS_ARITH:
    case CLASS_COMPARE:
    case CLASS_LOGIC:
    case CLASS_BITWISE: return true;
    default: return op == OP_CAST || op == OP_BITS || op == OP_WHERE || op == OP_SELECT;
    }
}

static bool is_scalar_index(const struct expr *e)
{
    if (e->op == OP_ACCESS || !(op_table[e->op].flags & OP_PURE))
        return false;
    for (int i = 0; i < e->count; i++)
        if (e->args[i]->type.rank > 0 || !is_scalar_index(e->args[i]))
            return false;
    return true;
}

/* A new one is empty. */
static struct tile_symbol *tile_symbol(struct lower *l, const struct sym *sym)
{
    struct tiles *t = tiles_of(l);
    struct tile_symbol *s = pointer_map_get(&t->symbols, sym);
    if (s)
        return s;
    s = arena_new(l->arena, struct tile_symbol);
    s->layout = plan_keep(&l->layouts, plan_symbol(&l->layouts, sym));
    pointer_map_put(l->arena, &t->symbols, sym, s);
    return s;
}

static bool leaves_unchanged(struct lower *l, const struct tile_symbol *s)
{
    for (size_t i = 0; i < s->leaves.count; i++)
        if (symbol_value(l, s->leaves.data[i].sym) != s->leaves.data[i].value)
            return false;
    return true;
}

/* Could it be index arithmetic? */
static bool tile_is_index(struct lower *l, const struct expr *e)
{
    if (dtype_is_float(e->type.dtype))
        return false;
    if (e->type.rank == 0)
        return is_scalar_index(e);
    if (e->op == OP_REF)
        return e->sym->storage == ST_REG && tile_symbol(l, e->sym)->definition;
    if (e->op == OP_IOTA)
        return true;
    if (!elementwise(e->op) && op_table[e->op].class != CLASS_SHAPE)
        return false;
    for (int i = 0; i < e->count; i++)
        if (!tile_is_index(l, e->args[i]))
            return false;
    return true;
}

/* --- Evaluation --- */

static const struct value **spread(struct lower *l, const struct value *v, int32_t registers)
{
    const struct value **out = arena_array(l->arena, const struct value *, registers);
    for (int32_t r = 0; r < registers; r++)
        out[r] = v;
    return out;
}

static const struct value **iota(struct lower *l, const struct expr *e, const struct layout *layout)
{
    int32_t registers = plan_registers(layout);
    const struct value **out = arena_array(l->arena, const struct value *, registers);
    int axis = 0;
    for (int i = 0; i < e->type.rank; i++)
        axis = e->type.extent[i] != 1 ? i : axis;
    for (int32_t r = 0; r < registers; r++)
        out[r] = tile_coordinate_of(l, layout, axis, r);
    return out;
}

static const struct value **symbol_values(struct lower *l, const struct sym *sym,
                                          const struct layout *layout)
{
    struct tile_symbol *s = tile_symbol(l, sym);
    if (!s->definition)
        return NULL;
    if (s->layout == layout)
        return s->values;
    return leaves_unchanged(l, s) ? tile_values(l, s->definition, layout) : NULL;
}

static bool is_shift(const struct expr *e)
{
    return e->op == OP_SHL || e->op == OP_SHR;
}

/* The type that operands are joined in, DT_NONE: each as it is. */
static enum dtype operand_type(const struct expr *e)
{
    enum dtype t = e->args[0]->type.dtype;
    switch (op_table[e->op].class) {
    case CLASS_COMPARE: return dtype_join(t, e->args[1]->type.dtype);
    case CLASS_LOGIC: return DT_BOOL;
    case CLASS_ARITH: return e->type.dtype;
    case CLASS_BITWISE: return is_shift(e) ? op_shift_type(e) : e->type.dtype;
    default: return DT_NONE;
    }
}

/* Operand i of e as values in its own layout, of the type that the op takes; map: register by
 * register. */
static const struct value **operand(struct lower *l, const struct expr *e, int i,
                                    const struct layout *layout, const int32_t **map)
{
    const struct expr *a = e->args[i];
    const struct layout *own = plan_operand_layout(&l->layouts, layout, &a->type);
    const struct value **v = tile_values(l, a, own);
    enum dtype t = operand_type(e), from = a->type.dtype;
    if (i == 0 && (e->op == OP_WHERE || e->op == OP_SELECT))
        t = DT_BOOL;
    *map = plan_operand_registers(&l->layouts, layout, own, &a->type);
    if (!v || t == DT_NONE || t == from)
        return v;
    int32_t registers = plan_registers(own);
    const struct value **out = arena_array(l->arena, const struct value *, registers);
    for (int32_t r = 0; r < registers; r++)
        out[r] = value_apply1(l, OP_CAST, t, v[r]);
    return out;
}

static const struct value **apply(struct lower *l, const struct expr *e,
                                  const struct layout *layout)
{
    int32_t registers = plan_registers(layout);
    enum dtype result = is_shift(e) ? op_shift_type(e) : e->type.dtype;
    const struct value **out = arena_array(l->arena, const struct value *, registers);
    const struct value **arg[3];
    const int32_t *map[3];
    for (int i = 0; i < e->count; i++)
        if (!(arg[i] = operand(l, e, i, layout, &map[i])))
            return NULL;
    for (int32_t r = 0; r < registers; r++) {
        const struct value *v[3];
        for (int i = 0; i < e->count; i++)
            v[i] = arg[i][map[i][r]];
        out[r] = value_apply(l, e->op, result, v, e->count);
        if (result != e->type.dtype)
            out[r] = value_apply1(l, OP_CAST, e->type.dtype, out[r]);
    }
    return out;
}

/* Registers of e that e's own extents make the same are one; here they are apart again. */
static const struct value **values_of(struct lower *l, const struct expr *e,
                                      const struct layout *layout)
{
    const struct layout *source;
    if (e->type.rank == 0)
        return spread(l, scalar_eval(l, e), plan_registers(layout));
    if (e->op == OP_REF)
        return symbol_values(l, e->sym, layout);
    if (e->op == OP_IOTA)
        return iota(l, e, layout);
    if (elementwise(e->op))
        return apply(l, e, layout);
    if (e->op == OP_BROADCAST)
        return tile_values(l, e->args[0], layout);
    source = plan_shape_source(&l->layouts, e, layout);
    return source ? tile_values(l, e->args[0], source) : NULL;
}

const struct value **tile_values(struct lower *l, const struct expr *e, const struct layout *layout)
{
    if (plan_registers(layout) > MOST_REGISTERS || !tile_is_index(l, e))
        return NULL;
    const struct layout *own = plan_operand_layout(&l->layouts, layout, &e->type);
    const struct value **v = values_of(l, e, own);
    if (!v || own == layout)
        return v;
    const int32_t *map = plan_operand_registers(&l->layouts, layout, own, &e->type);
    int32_t registers = plan_registers(layout);
    const struct value **out = arena_array(l->arena, const struct value *, registers);
    for (int32_t r = 0; r < registers; r++)
        out[r] = v[map[r]];
    return out;
}

struct regtile tile_of_values(struct lower *l, enum dtype t, const struct layout *layout,
                              const struct value *const *values)
{
    int32_t registers = plan_registers(layout);
    struct ptx_operand *e = arena_array(l->arena, struct ptx_operand, registers);
    for (int32_t r = 0; r < registers; r++)
        e[r] = value_register(l, values[r]);
    return tile_of_elements(l, t, layout, e);
}

/* --- What holds for a whole tile --- */

/* The least or greatest element of an integer tile, as if nothing had wrapped (i64); NULL: not
 * known. */
static const struct value *extreme(struct lower *l, const struct expr *e, bool greatest)
{
    if (e->type.rank == 0)
        return is_scalar_index(e) && dtype_is_int(e->type.dtype) ? value_index(l, scalar_eval(l, e))
                                                                 : NULL;
    if (e->op == OP_IOTA)
        return value_int(l, DT_I64, greatest ? type_elements(&e->type) - 1 : 0);
    if (e->op == OP_REF) {
        const struct tile_symbol *s = tile_symbol(l, e->sym);
        return s->definition && leaves_unchanged(l, s) ? extreme(l, s->definition, greatest) : NULL;
    }
    if (op_table[e->op].class == CLASS_SHAPE)
        return extreme(l, e->args[0], greatest);
    if (e->op != OP_ADD && e->op != OP_SUB)
        return NULL;
    const struct value *a = extreme(l, e->args[0], greatest);
    const struct value *b = a ? extreme(l, e->args[1], (e->op == OP_SUB) != greatest) : NULL;
    return !b ? NULL : e->op == OP_ADD ? value_add(l, a, b) : value_sub(l, a, b);
}

static const struct value *all_of(struct lower *l, const struct value *a, const struct value *b)
{
    return a && b ? value_apply2(l, OP_AND, DT_BOOL, a, b) : NULL;
}

/* Does e (from its least to its greatest element) fit i32, so that nothing has wrapped? */
static const struct value *unwrapped(struct lower *l, const struct expr *e)
{
    const struct value *least = extreme(l, e, false), *greatest = extreme(l, e, true);
    if (e->type.dtype != DT_I32 || !least || !greatest)
        return NULL;
    return all_of(l, value_apply2(l, OP_GE, DT_BOOL, least, value_int(l, DT_I64, INT32_MIN)),
                  value_apply2(l, OP_LE, DT_BOOL, greatest, value_int(l, DT_I64, INT32_MAX)));
}

static const struct value *surely_ordered(struct lower *l, const struct expr *e)
{
    bool less = e->op == OP_LT || e->op == OP_LE;
    const struct expr *small = e->args[less ? 0 : 1], *large = e->args[less ? 1 : 0];
    const struct value *fits = all_of(l, unwrapped(l, small), unwrapped(l, large));
    if (!fits)
        return NULL;
    enum op op = e->op == OP_LT || e->op == OP_GT ? OP_LT : OP_LE;
    return all_of(l, fits,
                  value_apply2(l, op, DT_BOOL, extreme(l, small, true), extreme(l, large, false)));
}

const struct value *tile_surely(struct lower *l, const struct expr *e)
{
    const struct value *a, *b;
    if (e->type.dtype != DT_BOOL || !tile_is_index(l, e))
        return NULL;
    if (e->type.rank == 0)
        return scalar_eval(l, e);
    switch (e->op) {
    case OP_LAND:
    case OP_AND:
        a = tile_surely(l, e->args[0]);
        return a ? all_of(l, a, tile_surely(l, e->args[1])) : NULL;
    case OP_LOR:
    case OP_OR:
        a = tile_surely(l, e->args[0]);
        b = tile_surely(l, e->args[1]);
        return !a ? b : !b ? a : value_apply2(l, OP_OR, DT_BOOL, a, b);
    case OP_LT:
    case OP_LE:
    case OP_GT:
    case OP_GE: return surely_ordered(l, e);
    default: return NULL;
    }
}

/* --- Declarations --- */

static void find_leaves(struct lower *l, struct tile_symbol *s, const struct expr *e)
{
    if (e->op == OP_REF && e->sym->storage == ST_SCALAR) {
        struct tile_leaf leaf = {e->sym, symbol_value(l, e->sym)};
        vec_push(l->arena, &s->leaves, leaf);
    }
    if (e->op == OP_REF && e->sym->storage == ST_REG) {
        const struct tile_symbol *other = tile_symbol(l, e->sym);
        for (size_t i = 0; i < other->leaves.count; i++)
            vec_push(l->arena, &s->leaves, other->leaves.data[i]);
    }
    for (int i = 0; i < e->count; i++)
        find_leaves(l, s, e->args[i]);
}

static bool any_fleeting(const struct value *const *values, int32_t count)
{
    for (int32_t r = 0; r < count; r++)
        if (value_is_fleeting(values[r]))
            return true;
    return false;
}

/* A word that is a register of a tile that is assigned again must be copied. */
static bool is_of_fixed(struct lower *l, struct ptx_operand word)
{
    const struct tiles *t = tiles_of(l);
    return word.reg < t->fixed.count && t->fixed.data[word.reg] > 0;
}

/* Counts the words of a tile that is fixed from here on, or (by -1) no more. */
static void count_fixed(struct lower *l, const struct tile_symbol *s, int by)
{
    struct tiles *t = tiles_of(l);
    for (int w = 0; s->fixed && w < s->tile.words; w++) {
        while (t->fixed.count <= s->tile.word[w].reg)
            vec_push(l->arena, &t->fixed, 0);
        t->fixed.data[s->tile.word[w].reg] += by;
    }
}

static void fix(struct lower *l, struct tile_symbol *s)
{
    bool was_fixed = s->fixed;
    s->fixed = true;
    if (!was_fixed)
        count_fixed(l, s, 1);
}

static struct regtile own_registers(struct lower *l, const struct regtile *t)
{
    struct regtile out = *t;
    out.word = arena_copy(l->arena, t->word, (size_t)t->words * sizeof *t->word);
    for (int w = 0; w < t->words; w++)
        if (is_of_fixed(l, t->word[w])) {
            out.word[w] = tile_new_word(l, t->dtype);
            op_move(l, tile_per_word(t->dtype) > 1 ? DT_U32 : t->dtype, out.word[w], t->word[w]);
        }
    return out;
}

void tile_declare(struct lower *l, const struct sym *sym, const struct expr *value)
{
    struct tile_symbol *s = tile_symbol(l, sym);
    const struct layout *layout = s->layout;
    count_fixed(l, s, -1);
    *s = (struct tile_symbol){.layout = layout};
    if (!value)
        return;
    const struct value **values = NULL;
    if (tile_is_index(l, value) && value->type.dtype == sym->type.dtype &&
        value->type.rank == sym->type.rank)
        values = tile_values(l, value, layout);
    if (values && !any_fleeting(values, plan_registers(layout))) {
        s->definition = value;
        s->values = values;
        find_leaves(l, s, value);
        return;
    }
    struct regtile tile = tile_eval(l, value, layout);
    s->tile = own_registers(l, &tile);
    s->written = true;
}

struct regtile *tile_of_symbol(struct lower *l, const struct sym *sym)
{
    struct tile_symbol *s = tile_symbol(l, sym);
    if (s->written)
        return &s->tile;
    bool has_values = s->values != NULL;
    struct regtile tile = has_values ? tile_of_values(l, sym->type.dtype, s->layout, s->values)
                                     : tile_new(l, sym->type.dtype, s->layout);
    count_fixed(l, s, -1);
    s->tile = tile;
    count_fixed(l, s, 1);
    if (!has_values) {
        s->written = true;
        fix(l, s);
    }
    return &s->tile;
}

void tile_assign(struct lower *l, const struct sym *sym, const struct expr *value)
{
    struct tile_symbol *s = tile_symbol(l, sym);
    fix(l, s);
    struct regtile *to = tile_of_symbol(l, sym), from = tile_eval(l, value, s->layout);
    tile_move(l, to, &from);
}
