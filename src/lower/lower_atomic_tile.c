/* Atomics on the elements of a tile: one for each element, even if several threads hold it; none for
 * elements outside.
 *
 * If the old values are not used, sums go in vectors where the target has them: from sm_90 on up to
 * 16 bytes of f32, and pairs of f16.
 */
#include "lower/lower_emit.h"
#include "lower/lower_memory_own.h"
#include "lower/lower_memory.h"
#include "plan/plan_layouts.h"
#include "plan/plan.h"

#include <string.h>

/* The values of an argument, by register of `layout`. */
static struct ptx_operand *operand_elements(struct lower *l, const struct expr *e, enum dtype t,
                                            const struct layout *layout)
{
    int32_t count = layout_in_extent(layout, AXIS_REG);
    struct ptx_operand *out = arena_array(l->arena, struct ptx_operand, count);
    if (e->type.rank == 0) {
        struct ptx_operand one = value_register(l, scalar_eval(l, e));
        if (e->type.dtype != t)
            one = op_cast(l, t, e->type.dtype, one);
        for (int32_t reg = 0; reg < count; reg++)
            out[reg] = one;
        return out;
    }
    const struct layout *own = plan_operand_layout(&l->layouts, layout, &e->type);
    const int32_t *source = plan_operand_registers(&l->layouts, layout, own, &e->type);
    struct regtile tile = tile_eval(l, e, own);
    struct ptx_operand *element = tile_elements(l, &tile);
    for (int32_t i = 0; e->type.dtype != t && i < tile.elements; i++)
        element[i] = op_cast(l, t, e->type.dtype, element[i]);
    for (int32_t reg = 0; reg < count; reg++)
        out[reg] = element[source[reg]];
    return out;
}

static const struct layout *layout_for(struct lower *l, const struct expr *e)
{
    const struct expr *target = e->args[0], *value = e->args[1];
    const struct layout *natural = NULL;
    if (type_same_shape(&value->type, &target->type))
        natural = plan_natural(&l->layouts, value);
    if (!natural)
        natural = plan_blocked(&l->layouts, &target->type, 0);
    return target->sym->storage == ST_VIEW ? plan_view(&l->layouts, target, natural, true)
                                           : natural;
}

struct walk {
    struct lower *l;
    const struct expr *e;
    enum dtype t;
    const struct layout *layout;
    struct places *places;
    const struct value *first; /* condition of the first holders; NULL: all */
    struct ptx_operand *args[2];
};

static struct walk walk_open(struct lower *l, const struct expr *e)
{
    struct walk w = {.l = l, .e = e, .t = e->args[0]->type.dtype, .layout = layout_for(l, e)};
    for (int i = 1; i < e->count; i++)
        w.args[i - 1] = operand_elements(l, e->args[i], w.t, w.layout);
    w.places = places_open(l, e->args[0], w.layout);
    lower_line(l, e->loc);
    if (w.places->shared)
        sync_shared_write(l, e->args[0], w.layout);
    else
        sync_view(l, e->args[0], w.layout, true);
    w.first = tile_is_first_holder(l, w.layout);
    return w;
}

/* The guard of an element; `never` too for a copy of another register's. */
static struct guard guard_at(struct walk *w, const struct element_place *at)
{
    if (at->never || at->copy)
        return (struct guard){.never = true};
    const struct value *condition = both(w->l, w->first, at->inside);
    return guard_of(w->l, condition);
}

/* --- sums in vectors --- */

/* Elements that one instruction adds. */
static int vector_elements(const struct walk *w)
{
    struct lower *l = w->l;
    if (w->e->op != OP_ATOMIC_ADD || w->places->shared)
        return 1;
    if (w->t == DT_F32)
        return lower_has(l, TARGET_RED_VECTORS) ? 4 : 1;
    if (w->t == DT_F16 || (w->t == DT_BF16 && lower_has(l, TARGET_BF16_ARITHMETIC)))
        return lower_has(l, TARGET_RED_VECTORS) ? 8 : 2;
    return 1;
}

static const char *vector_name(struct lower *l, int count, bool half)
{
    return arena_printf(l->arena, "red.global.add%s%s.*", half ? ".noftz" : "",
                        count == 4   ? ".v4"
                        : count == 2 ? ".v2"
                                     : "");
}

static void add_vector(struct walk *w, const struct vector *v, int32_t reg,
                       struct ptx_operand address, struct guard guard)
{
    struct lower *l = w->l;
    struct ptx_operand part[8], word[4];
    bool half = is_half(w->t);
    int count = half ? v->elements / 2 : v->elements;
    enum ptx_mod type = !half ? MOD_F32 : w->t == DT_F16 ? MOD_F16X2 : MOD_BF16X2;
    for (int e = 0; e < v->elements; e++)
        part[e] = w->args[0][vector_register(v, reg, e)];
    for (int i = 0; i < count; i++)
        word[i] = half ? op_pack(l, w->t, part + 2 * i) : part[i];
    struct ptx_operand from = count == 1 ? word[0] : ptx_vector(&l->b, word, (size_t)count);
    guard_apply(
        ptx_emit_for(&l->b, PTX_TYPES((uint16_t)type), vector_name(l, count, half), address, from),
        guard);
}

/* For the tables of accesses: "red.global.add.v4.f32". A loop counts as one. */
static void note(struct walk *w, const char *how, int elements, int64_t count)
{
    memory_note(w->l, (struct lower_access){.loc = w->e->loc,
                                            .sym = w->places->sym,
                                            .shared = w->places->shared,
                                            .store = true,
                                            .how = how,
                                            .bytes = elements * (int)dtype_size(w->t),
                                            .instructions = count * w->l->warps});
}

/* false: not in vectors. */
static bool add_vectors(struct walk *w)
{
    struct lower *l = w->l;
    int most = vector_elements(w);
    if (most == 1)
        return false;
    int bytes = most * (int)dtype_size(w->t),
        stated = plan_copier_of(l->target, w->e->args[0]).bytes;
    struct vector v = places_vector(l, w->places, stated < bytes ? stated : bytes);
    if (v.elements == 1)
        return false;
    struct access a = vector_access(&v, w->t);
    int32_t count = layout_in_extent(w->layout, AXIS_REG), emitted = 0;
    for (int32_t reg = 0; reg < count; reg++) {
        if (!layout_access_base(w->layout, &a, reg))
            continue;
        struct element_place at = places_at(l, w->places, reg);
        struct guard guard = guard_at(w, &at);
        if (guard.never)
            continue;
        add_vector(w, &v, reg, value_address(l, at.address), guard);
        emitted++;
    }
    int words = v.elements / (is_half(w->t) ? 2 : 1);
    const char *type = w->t == DT_F32 ? "f32" : w->t == DT_F16 ? "f16x2" : "bf16x2";
    const char *name = vector_name(l, words, is_half(w->t));
    note(w, arena_printf(l->arena, "%.*s%s", (int)strlen(name) - 1, name, type), v.elements,
         emitted);
    return true;
}

/* --- one by one --- */

static bool act(struct walk *w, int32_t reg, struct ptx_operand *old)
{
    struct lower *l = w->l;
    struct ptx_operand args[2] = {w->args[0][reg]};
    struct element_place at = places_at(l, w->places, reg);
    struct guard guard = guard_at(w, &at);
    if (w->args[1])
        args[1] = w->args[1][reg];
    if (old) {
        struct literal zero = {.is_float = dtype_is_float(w->t)};
        *old = value_copy(l, value_literal(l, w->t, zero));
    }
    if (guard.never)
        return false;
    atomic_emit(l, w->e->op, w->t, w->places->shared, value_address(l, at.address), args, guard,
                old);
    return true;
}

/* All registers; old: NULL, or where their old values go. */
static void act_on_all(struct walk *w, struct ptx_operand *old)
{
    int32_t count = layout_in_extent(w->layout, AXIS_REG), emitted = 0;
    for (int32_t reg = 0; reg < count; reg++)
        emitted += act(w, reg, old ? &old[reg] : NULL);
    const char *op = op_table[w->e->op].text + strlen("atomic_");
    const char *how =
        arena_printf(w->l->arena, "%s.%s.%s.%s", old ? "atom" : "red",
                     w->places->shared ? "shared" : "global", op, dtype_table[w->t].name);
    note(w, how, 1, emitted);
}

/* The first holders have the old values. They go through scratch memory to all threads that use them. */
static struct regtile spread(struct walk *w, const struct regtile *old, const struct layout *wanted)
{
    struct lower *l = w->l;
    struct layout rows;
    const struct type *type = &w->e->args[0]->type;
    plan_rows(type, &rows);
    int64_t bytes = type_elements(type) * (int64_t)dtype_size(w->t);
    const struct value *base = scratch_address(l, scratch_take(l, bytes));
    struct regtile all = tile_new(l, w->t, wanted);
    shared_put(l, base, &rows, NULL, old);
    barrier_emit(l);
    shared_get(l, base, &rows, NULL, &all);
    scratch_done(l);
    return all;
}

struct regtile atomic_tile(struct lower *l, const struct expr *e, const struct layout *wanted,
                           bool result_wanted)
{
    struct walk w = walk_open(l, e);
    if (!result_wanted) {
        if (!add_vectors(&w))
            act_on_all(&w, NULL);
        return (struct regtile){.dtype = w.t};
    }
    int32_t count = layout_in_extent(w.layout, AXIS_REG);
    struct ptx_operand *old = arena_array(l->arena, struct ptx_operand, count);
    act_on_all(&w, old);
    struct regtile tile = tile_of_elements(l, w.t, w.layout, old);
    if (!wanted)
        return tile;
    if (!w.first && layout_free_extent(w.layout, AXIS_REG) == 1)
        return tile_convert(l, &tile, wanted);
    return spread(&w, &tile, wanted);
}
