/* Copies from global to shared memory.
 *
 * By registers: all loads, then all stores. In the background, if by(…) says so: cp.async of 16, 8 or 4
 * bytes a lane, which fills with zeros what lies beyond the edge. If the layout has no such vectors, the
 * copy is done by registers there and then (Meaning 8). Blocks whose threads are no whole warps take
 * elements in turn.
 */
#include "lower/lower_memory_own.h"

#include "lower/lower_memory.h"
#include "plan/plan_layouts.h"
#include "plan/plan.h"

#include <string.h>

static bool is_slice_of(const struct expr *e, enum storage storage)
{
    return e->op == OP_ACCESS && e->sym->storage == storage;
}

void copy_to_shared(struct lower *l, const struct stmt *s, const struct expr *target,
                    const struct expr *value)
{
    if (lower_ragged_block(l)) {
        copy_elements(l, target, value);
        return;
    }
    const struct layout *layout = plan_copy(&l->layouts, target, value);
    bool plain = is_slice_of(value, ST_VIEW) && type_same_shape(&value->type, &target->type) &&
                 value->type.dtype == target->type.dtype;
    /* what several warps would hold, one writes */
    const struct value *who = plain ? tile_is_first_warp(l, layout) : NULL;
    struct regtile t = plain ? view_load(l, value, layout, who) : tile_eval(l, value, layout);
    lower_line(l, s->loc);
    shared_store(l, target, &t);
}

/* --- asynchronous --- */

/* A copy whose lanes bring vectors straight from the view to the tile. */
struct copy {
    struct places *from;
    struct pointers to;
    struct vector vector;
    struct access how;
    int bytes; /* of a vector */
    const struct layout *layout;
    enum dtype dtype;
};

static bool same_weights(const struct vector *v, const struct access *how)
{
    for (int b = 0; b < v->bits; b++)
        if (v->weight[b] != how->vector[b])
            return false;
    return true;
}

/* The widest vectors that are neighbours both in the view and in the tile. */
static bool choose_vectors(struct copy *c, const struct shared_part *part)
{
    int size = (int)dtype_size(c->dtype), bits = dtype_table[c->dtype].bits;
    int most = c->vector.elements * size;
    most = most < part->alignment ? most : part->alignment;
    layout_access_lanes(c->layout, &part->memory, bits, most, &c->how);
    vector_narrow(&c->vector, c->how.elements);
    if (!same_weights(&c->vector, &c->how))
        vector_narrow(&c->vector, 1);
    if (c->how.elements != c->vector.elements)
        layout_access_lanes(c->layout, &part->memory, bits, c->vector.elements * size, &c->how);
    c->bytes = c->vector.elements * size;
    return c->bytes == 4 || c->bytes == 8 || c->bytes == 16;
}

static bool copy_open(struct lower *l, const struct expr *target, const struct expr *value,
                      struct copy *c)
{
    struct shared_part part;
    struct layout composed;
    struct place place = place_of(l, target);
    c->layout = plan_copy(&l->layouts, target, value);
    c->dtype = target->type.dtype;
    if (!shared_part_of(l, &place, &part))
        return false;
    c->from = places_open(l, value, c->layout);
    c->vector = places_vector(l, c->from, plan_copier_of(l->target, value).bytes);
    return choose_vectors(c, &part) && layout_compose(&part.memory, c->layout, &composed) &&
           pointers_open(l, &c->to, part.base, &composed, (int64_t)dtype_size(c->dtype), NULL);
}

/* evict_first, evict_last, evict_normal: a policy for the cache, made once; -1: none. */
static int policy_of(struct lower *l, const char *hint)
{
    static const char *const names[3] = {"evict_first", "evict_last", "evict_normal"};
    static const char *const makes[3] = {"createpolicy.fractional.L2::evict_first.b64",
                                         "createpolicy.fractional.L2::evict_last.b64",
                                         "createpolicy.fractional.L2::evict_normal.b64"};
    struct memory *m = l->memory;
    struct home home;
    for (int i = 0; hint && i < 3; i++) {
        if (strcmp(hint, names[i]) != 0)
            continue;
        if (!m->policy_made[i]) {
            m->policy[i] = ptx_reg(&l->b, MOD_B64);
            m->policy_made[i] = true;
            home_enter(l, &home);
            ptx_emit(&l->b, makes[i], m->policy[i], ptx_f32(1));
            home_leave(l, &home);
        }
        return i;
    }
    return -1;
}

/* With a predicate where the source may not be there: then zeros are written. */
static void emit_copy(struct lower *l, const struct copy *c, int32_t reg, struct ptx_operand to,
                      struct guard guard, int policy)
{
    static const char *const names[2][2] = {
        {"cp.async.ca.shared.global", "cp.async.cg.shared.global"},
        {"cp.async.ca.shared.global.L2::cache_hint", "cp.async.cg.shared.global.L2::cache_hint"}};
    bool never;
    struct ptx_operand all[5] = {to};
    size_t count = 1;
    const struct value *inside = places_edges(l, c->from, reg, &never);
    struct guard there = never ? guard_always() : guard_of(l, inside);
    never |= there.never; /* then nothing is read, wherever that were */
    all[count++] = value_address(l, never ? c->from->origin : places_at(l, c->from, reg).address);
    all[count++] = ptx_int(c->bytes);
    if (never)
        all[count++] = ptx_int(0);
    else if (!there.always)
        all[count++] = ptx_not(there.predicate);
    if (policy >= 0)
        all[count++] = l->memory->policy[policy];
    guard_apply(ptx_emit_list(&l->b, names[policy >= 0][c->bytes == 16], NULL, all, count), guard);
}

static void note(struct lower *l, const struct copy *c, const struct sym *s, struct loc loc)
{
    memory_note(l, (struct lower_access){.loc = loc,
                                         .sym = s,
                                         .shared = true,
                                         .store = true,
                                         .how = arena_printf(l->arena, "cp.async %d", c->bytes),
                                         .bytes = c->bytes,
                                         .instructions = c->how.instructions,
                                         .wavefronts = c->how.wavefronts,
                                         .least = c->how.least});
}

void copy_async(struct lower *l, const struct stmt *s)
{
    struct copy c = {.dtype = s->target->type.dtype};
    bool background = plan_copier_of(l->target, s->value).copier->to == COPIER_SHARED;
    lower_line(l, s->loc);
    if (!background || !copy_open(l, s->target, s->value, &c)) {
        copy_to_shared(l, s, s->target, s->value);
        return;
    }
    int policy = policy_of(l, s->hint);
    struct access how = vector_access(&c.vector, c.dtype);
    const struct value *first = tile_is_first_holder(l, c.layout);
    sync_view(l, s->value, c.layout, false);
    l->memory->room.tiles_used = l->memory->room.barriers;
    for (int32_t reg = 0; reg < layout_in_extent(c.layout, AXIS_REG); reg++) {
        if (!layout_access_base(c.layout, &how, reg))
            continue;
        const struct value *condition = both(l, first, tile_inside_of(l, c.layout, reg));
        struct guard guard = guard_of(l, condition);
        if (!guard.never)
            emit_copy(l, &c, reg, value_address(l, pointers_at(l, &c.to, reg)), guard, policy);
    }
    note(l, &c, s->target->sym, s->loc);
}

void copy_commit(struct lower *l)
{
    ptx_emit_plain(&l->b, "cp.async.commit_group");
}

void copy_wait(struct lower *l, int groups)
{
    if (groups == 0)
        ptx_emit_plain(&l->b, "cp.async.wait_all");
    else
        ptx_emit(&l->b, "cp.async.wait_group", ptx_int(groups));
}
