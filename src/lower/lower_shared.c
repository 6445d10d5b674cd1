/* Shared tiles: where they are, and their way to and from registers.
 *
 * A part of a tile (a stage, a slice) is a layout of its own with a base, where the indices that
 * choose it only add to the place. Then registers are moved by whatever is cheapest: vectors,
 * ldmatrix, stmatrix. What has no such form (gathers, slices that reach past the edge or start
 * anywhere in a swizzle) is moved element by element, which is right for every layout.
 */
#include "lower/lower_memory_own.h"

#include "layout/layout_swizzle.h"
#include "lower/lower_memory.h"
#include "plan/plan_layouts.h"

#include <assert.h>

static const struct value *shared_window(struct lower *l)
{
    struct memory *m = l->memory;
    struct home home;
    if (m->window_made)
        return m->window;
    m->window_made = true;
    home_enter(l, &home);
    ptx_emit(&l->b, "mov.u32", m->window_register, ptx_address_of(l->shared, 0));
    home_leave(l, &home);
    return m->window;
}

/* Address in bytes (i32) of a shared tile's first element. */
static const struct value *shared_base(struct lower *l, const struct sym *s)
{
    l->memory->room.tiles_used = l->memory->room.barriers;
    return value_affine(l, shared_window(l), 1, s->offset);
}

const struct value *scratch_address(struct lower *l, int64_t offset)
{
    return value_affine(l, shared_window(l), 1, offset);
}

static const struct value *as_i32(struct lower *l, const struct value *v)
{
    return value_dtype(v) == DT_I32 ? v : value_apply1(l, OP_CAST, DT_I32, v);
}

const struct value *shared_address(struct lower *l, const struct sym *s,
                                   const struct value *const *index)
{
    const struct layout *memory = plan_shared(&l->layouts, s);
    const struct value *counter[LAYOUT_INS] = {NULL};
    for (int i = 0; i < s->type.rank; i++) {
        int in = layout_in_index(memory, AXIS_DIM(i));
        if (in >= 0)
            counter[in] = as_i32(l, index[i]);
    }
    const struct value *at = layout_value(l, memory, counter, (int64_t)dtype_size(s->type.dtype));
    return value_add(l, shared_base(l, s), at);
}

/* --- parts --- */

static const struct value *index_adds(struct lower *l, const struct layout *memory,
                                      enum layout_axis axis, const struct value *start,
                                      int64_t length, int64_t scale)
{
    struct layout runs = *memory, apart = *memory;
    const struct value *counter[LAYOUT_INS] = {NULL};
    int in = layout_in_index(memory, axis), digits = 0, linear = -1;
    layout_runs(&runs);
    layout_demote(&apart);
    for (int d = 0; d < runs.digit_count; d++)
        if (runs.digits[d].in == in) {
            linear = d;
            digits++;
        }
    start = as_i32(l, start);
    if (digits == 0)
        return value_int(l, DT_I32, 0);
    if (digits == 1 && !runs.digits[linear].xor [0])
        return value_affine(l, start, runs.digits[linear].add[0] * scale, 0);
    const int64_t divisor = value_divisor(start);
    if (!layout_own_digits(&apart, in, length, divisor == INT64_MAX ? 0 : divisor))
        return NULL;
    apart.flip[0] = apart.offset[0] = 0;
    counter[in] = start;
    return layout_value(l, &apart, counter, scale);
}

/* Takes axis i of the tile out of the layout, or cuts it; its start is added to the base. */
static bool cut_axis(struct lower *l, const struct place *p, int i, struct shared_part *part)
{
    const struct sym *s = p->access->sym;
    enum layout_axis axis = AXIS_DIM(i);
    struct layout cut;
    int64_t known, extent = s->type.extent[i], length = 1;
    const struct value *start = p->axis[i].start;
    bool element = p->axis[i].kind == IX_ELEMENT;
    if (p->axis[i].kind == IX_GATHER)
        return false;
    if (!element)
        length = p->access->type.extent[p->axis[i].tile_axis];
    bool is_known = value_known(start, &known);
    if (is_known && (known < 0 || known > extent - length))
        return false;
    if (!is_known) {
        bool inside = element || p->axis[i].inside ||
                      (value_least(start) >= 0 && value_greatest(start) <= extent - length);
        const struct value *adds = inside ? index_adds(l, &part->memory, axis, start, length,
                                                       (int64_t)dtype_size(s->type.dtype))
                                          : NULL;
        if (!adds)
            return false;
        part->base = value_add(l, part->base, adds);
        known = 0;
    }
    if (element)
        return layout_in_index(&part->memory, axis) < 0 ||
               (layout_fix(&part->memory, axis, (int32_t)known, &cut) &&
                (part->memory = cut, true));
    if (length == extent)
        return true;
    if (!layout_slice_in(&part->memory, axis, (int32_t)known, (int32_t)length, &cut))
        return false;
    part->memory = cut;
    return true;
}

bool shared_part_of(struct lower *l, const struct place *place, struct shared_part *out)
{
    const struct sym *s = place->access->sym;
    enum layout_axis map[AXIS_COUNT];
    struct layout renamed;
    layout_copy(&out->memory, plan_shared(&l->layouts, s));
    out->base = shared_base(l, s);
    for (int a = 0; a < AXIS_COUNT; a++)
        map[a] = (enum layout_axis)a;
    for (int i = 0; i < place->rank; i++) {
        if (!cut_axis(l, place, i, out))
            return false;
        if (place->axis[i].tile_axis >= 0)
            map[AXIS_DIM(i)] = AXIS_DIM(place->axis[i].tile_axis);
    }
    layout_rename(&out->memory, map, &renamed);
    layout_copy(&out->memory, &renamed);
    out->alignment = power_of_two_in(value_divisor(out->base));
    return true;
}

bool shared_choose_access(struct lower *l, const struct layout *regs,
                          const struct shared_part *part, enum dtype t, bool store,
                          struct access *how)
{
    struct shared_wish wish = {.bits = dtype_table[t].bits, .count = 1};
    struct shared_choice choice = {.cost = 0};
    unsigned kinds = 1u << ACCESS_LANES;
    bool whole_warps = layout_in_extent(regs, AXIS_LANE) == LAYOUT_LANES && t != DT_BOOL;
    if (whole_warps && part->alignment == VECTOR_BYTES && (!store || lower_has(l, TARGET_STMATRIX)))
        kinds |= 1u << ACCESS_MATRIX | 1u << ACCESS_MATRIX_TRANS;
    wish.access[0] =
        (struct shared_access){.regs = regs, .kinds = kinds, .most = part->alignment, .weight = 1};
    if (!layout_rate_shared(&wish, &part->memory, &choice))
        return false;
    *how = choice.access[0];
    return true;
}

/* --- matrices --- */

int32_t matrix_register(const struct access *how, int32_t reg, int matrix)
{
    return reg + (matrix & 1) * how->matrix[0] + (matrix >> 1) * how->matrix[1];
}

static const char *const matrix_names[2][2][3] = {
    {{"ldmatrix.sync.aligned.m8n8.x1.shared.b16", "ldmatrix.sync.aligned.m8n8.x2.shared.b16",
      "ldmatrix.sync.aligned.m8n8.x4.shared.b16"},
     {"ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16",
      "ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16",
      "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16"}},
    {{"stmatrix.sync.aligned.m8n8.x1.shared.b16", "stmatrix.sync.aligned.m8n8.x2.shared.b16",
      "stmatrix.sync.aligned.m8n8.x4.shared.b16"},
     {"stmatrix.sync.aligned.m8n8.x1.trans.shared.b16",
      "stmatrix.sync.aligned.m8n8.x2.trans.shared.b16",
      "stmatrix.sync.aligned.m8n8.x4.trans.shared.b16"}}};

static const char *mnemonic(const struct access *how, bool store)
{
    return matrix_names[store][how->kind == ACCESS_MATRIX_TRANS][how->matrices / 2];
}

const char *matrix_name(struct lower *l, const struct access *how, bool store)
{
    return arena_printf(l->arena, "%s.x%d%s", store ? "stmatrix" : "ldmatrix", how->matrices,
                        how->kind == ACCESS_MATRIX_TRANS ? ".trans" : "");
}

/* The instructions take .b32 alone; floats go through such a register. */
static bool needs_words(enum dtype t)
{
    return lower_register_type(t) == MOD_F32;
}

void matrix_load(struct lower *l, const struct access *how, const struct transfer *t, int32_t reg,
                 struct ptx_operand address, struct guard guard)
{
    struct ptx_operand word[4], *target[4];
    enum dtype type = needs_words(t->tile.dtype) ? DT_F32 : DT_U32;
    int per = tile_per_word(t->tile.dtype);
    for (int i = 0; i < how->matrices; i++) {
        target[i] = &t->tile.word[matrix_register(how, reg, i) / per];
        word[i] = needs_words(t->tile.dtype) ? ptx_reg(&l->b, MOD_B32) : *target[i];
        if (!guard.always && !t->keep)
            op_move(l, type, *target[i], type == DT_F32 ? ptx_f32(0) : ptx_int(0));
    }
    if (guard.never)
        return;
    guard_apply(ptx_emit(&l->b, mnemonic(how, false),
                         ptx_vector(&l->b, word, (size_t)how->matrices), address),
                guard);
    for (int i = 0; i < how->matrices && needs_words(t->tile.dtype); i++)
        guard_apply(ptx_emit(&l->b, "mov.b32", *target[i], word[i]), guard);
}

static void matrix_store(struct lower *l, const struct access *how, const struct regtile *t,
                         int32_t reg, struct ptx_operand address, struct guard guard)
{
    struct ptx_operand word[4];
    int per = tile_per_word(t->dtype);
    for (int i = 0; i < how->matrices; i++) {
        word[i] = t->word[matrix_register(how, reg, i) / per];
        if (needs_words(t->dtype)) {
            struct ptx_operand bits = ptx_reg(&l->b, MOD_B32);
            ptx_emit(&l->b, "mov.b32", bits, word[i]);
            word[i] = bits;
        }
    }
    guard_apply(ptx_emit(&l->b, mnemonic(how, true), address,
                         ptx_vector(&l->b, word, (size_t)how->matrices)),
                guard);
}

/* --- whole tiles --- */

struct way {
    const struct layout *regs;
    struct access how;
    struct pointers pointers;
    struct vector vector;
};

static bool way_open(struct lower *l, const struct layout *regs, const struct shared_part *part,
                     enum dtype t, const struct access *how, struct way *w)
{
    struct layout composed;
    w->regs = regs;
    w->how = *how;
    if (!layout_compose(&part->memory, regs, &composed) ||
        !pointers_open(l, &w->pointers, part->base, &composed, (int64_t)dtype_size(t), how))
        return false;
    w->vector = (struct vector){.elements = how->elements, .bits = how->vector_bits};
    for (int b = 0; b < how->vector_bits; b++)
        w->vector.weight[b] = how->vector[b];
    return true;
}

static void note(struct lower *l, struct loc loc, const struct sym *s, const struct way *w,
                 const char *name, bool store, enum dtype t)
{
    bool matrix = w->how.kind != ACCESS_LANES;
    memory_note(l, (struct lower_access){.loc = loc,
                                         .sym = s,
                                         .shared = true,
                                         .store = store,
                                         .how = name,
                                         .bytes = matrix ? w->how.matrices * 4
                                                         : w->how.elements * (int)dtype_size(t),
                                         .instructions = w->how.instructions,
                                         .wavefronts = w->how.wavefronts,
                                         .least = w->how.least});
}

static struct guard mask_of(struct lower *l, const struct layout *regs, int32_t reg,
                            const struct value *also)
{
    return guard_of(l, both(l, also, tile_inside_of(l, regs, reg)));
}

static struct regtile way_load(struct lower *l, struct way *w, struct transfer x, struct loc loc,
                               const struct sym *s)
{
    enum dtype t = x.tile.dtype;
    for (int32_t reg = 0; reg < x.tile.elements; reg++) {
        if (!layout_access_base(w->regs, &w->how, reg))
            continue;
        struct guard guard = mask_of(l, w->regs, reg, NULL);
        struct ptx_operand address = value_address(l, pointers_at(l, &w->pointers, reg));
        if (w->how.kind == ACCESS_LANES)
            transfer_in(l, &x, IN_SHARED, reg, address, guard);
        else
            matrix_load(l, &w->how, &x, reg, address, guard);
    }
    const char *name = w->how.kind == ACCESS_LANES ? transfer_name(l, &x, IN_SHARED, false)
                                                   : matrix_name(l, &w->how, false);
    note(l, loc, s, w, name, false, t);
    return transfer_finish(l, &x);
}

static void way_store(struct lower *l, struct way *w, const struct regtile *t, struct loc loc,
                      const struct sym *s)
{
    struct transfer x = transfer_store(l, t, &w->vector);
    const struct value *first = w->how.kind == ACCESS_LANES ? tile_is_first_holder(l, w->regs)
                                                            : tile_is_first_warp(l, w->regs);
    for (int32_t reg = 0; reg < t->elements; reg++) {
        if (!layout_access_base(w->regs, &w->how, reg))
            continue;
        struct guard guard = mask_of(l, w->regs, reg, first);
        if (guard.never)
            continue;
        struct ptx_operand address = value_address(l, pointers_at(l, &w->pointers, reg));
        if (w->how.kind == ACCESS_LANES)
            transfer_out(l, &x, IN_SHARED, reg, address, guard);
        else
            matrix_store(l, &w->how, t, reg, address, guard);
    }
    const char *name = w->how.kind == ACCESS_LANES ? transfer_name(l, &x, IN_SHARED, true)
                                                   : matrix_name(l, &w->how, true);
    note(l, loc, s, w, name, true, t->dtype);
}

/* --- element by element --- */

static const struct vector single = {.elements = 1};

static void note_elements(struct lower *l, const struct places *p, const struct transfer *t,
                          bool store)
{
    int64_t count = 0;
    for (int32_t reg = 0; reg < t->tile.elements; reg++)
        count += transfer_moves(t, reg);
    memory_note(l, (struct lower_access){.loc = p->access->loc,
                                         .sym = p->sym,
                                         .shared = true,
                                         .store = store,
                                         .how = transfer_name(l, t, IN_SHARED, store),
                                         .bytes = (int)dtype_size(t->tile.dtype),
                                         .instructions = count * l->warps});
}

static struct regtile load_elements(struct lower *l, const struct expr *access,
                                    const struct layout *wanted)
{
    struct places *p = places_open(l, access, wanted);
    const struct value *otherwise = access->otherwise ? scalar_eval(l, access->otherwise) : NULL;
    struct transfer t = transfer_load(l, access->sym->type.dtype, wanted, &single, otherwise);
    for (int32_t reg = 0; reg < t.tile.elements; reg++) {
        if (!transfer_moves(&t, reg))
            continue;
        struct element_place e = places_at(l, p, reg);
        struct guard guard = places_guard(l, &e);
        transfer_in(l, &t, IN_SHARED, reg, value_address(l, e.address), guard);
    }
    note_elements(l, p, &t, false);
    return transfer_finish(l, &t);
}

static void store_elements(struct lower *l, const struct expr *access, const struct regtile *value)
{
    struct places *p = places_open(l, access, value->layout);
    struct transfer t = transfer_store(l, value, &single);
    const struct value *first = tile_is_first_holder(l, value->layout);
    for (int32_t reg = 0; reg < t.tile.elements; reg++) {
        struct element_place e = places_at(l, p, reg);
        const struct value *condition = both(l, first, e.inside);
        struct guard guard = guard_of(l, condition);
        if (!e.never && !e.copy && !guard.never)
            transfer_out(l, &t, IN_SHARED, reg, value_address(l, e.address), guard);
    }
    note_elements(l, p, &t, true);
}

/* --- what the others call --- */

static bool way_of_access(struct lower *l, const struct expr *access, const struct layout *regs,
                          bool store, struct way *w)
{
    struct place place;
    struct shared_part part;
    struct access how;
    enum dtype t = access->sym->type.dtype;
    for (int i = 0; i < access->indices; i++)
        if (access->index[i].kind == IX_GATHER)
            return false;
    place = place_of(l, access);
    return shared_part_of(l, &place, &part) &&
           shared_choose_access(l, regs, &part, t, store, &how) &&
           way_open(l, regs, &part, t, &how, w);
}

struct regtile shared_load(struct lower *l, const struct expr *access, const struct layout *wanted)
{
    struct way w;
    bool simple = way_of_access(l, access, wanted, false, &w);
    lower_line(l, access->loc);
    sync_shared_read(l, access, wanted);
    if (!simple)
        return load_elements(l, access, wanted);
    struct transfer x = transfer_load(l, access->sym->type.dtype, wanted, &w.vector, NULL);
    return way_load(l, &w, x, access->loc, access->sym);
}

void shared_store(struct lower *l, const struct expr *access, const struct regtile *value)
{
    struct way w;
    bool simple = way_of_access(l, access, value->layout, true, &w);
    lower_line(l, access->loc);
    sync_shared_write(l, access, value->layout);
    if (simple)
        way_store(l, &w, value, access->loc, access->sym);
    else
        store_elements(l, access, value);
}

/* The way to or from scratch. A tile that goes there in parts takes the same one for each of them. */
struct scratch_way {
    struct shared_part part;
    struct layout regs;
    enum dtype dtype;
    bool chosen; /* `how` was given */
    struct way way;
};

static bool same_access(const struct access *a, const struct access *b)
{
    bool same = a->kind == b->kind && a->bytes == b->bytes && a->elements == b->elements &&
                a->vector_bits == b->vector_bits && a->matrices == b->matrices;
    for (int i = 0; same && i < a->vector_bits; i++)
        same = a->vector[i] == b->vector[i];
    for (int i = 0; same && a->kind != ACCESS_LANES && i < 2 && a->matrices > 1 << i; i++)
        same = a->matrix[i] == b->matrix[i];
    return same;
}

static bool takes_again(const struct scratch_way *s, const struct shared_part *part,
                        const struct access *how, const struct layout *regs, enum dtype t)
{
    return s && s->part.base == part->base && s->dtype == t && s->chosen == (how != NULL) &&
           (!how || same_access(&s->way.how, how)) && layout_same(&s->regs, regs) &&
           layout_same(&s->part.memory, &part->memory);
}

static void open_scratch(struct lower *l, const struct value *base, const struct layout *memory,
                         const struct access *how, const struct layout *regs, enum dtype t,
                         bool store, struct way *w)
{
    struct shared_part part = {.base = base, .alignment = VECTOR_BYTES};
    struct access found;
    struct scratch_way **latest = store ? &l->memory->stored : &l->memory->loaded;
    layout_copy(&part.memory, memory);
    if (takes_again(*latest, &part, how, regs, t)) {
        *w = (*latest)->way;
        w->regs = regs;
        return;
    }
    if (!*latest)
        *latest = arena_new(l->arena, struct scratch_way);
    struct scratch_way *kept = *latest;
    kept->part.base = base;
    kept->dtype = t;
    kept->chosen = how != NULL;
    layout_copy(&kept->part.memory, memory);
    layout_copy(&kept->regs, regs);
    if (!how && shared_choose_access(l, regs, &part, t, store, &found))
        how = &found;
    bool good = how && way_open(l, regs, &part, t, how, w);
    assert(good && "scratch that has no pointers");
    (void)good;
    kept->way = *w;
}

void shared_put(struct lower *l, const struct value *base, const struct layout *memory,
                const struct access *how, const struct regtile *t)
{
    struct way w;
    open_scratch(l, base, memory, how, t->layout, t->dtype, true, &w);
    way_store(l, &w, t, LOC_NONE, NULL);
}

void shared_get(struct lower *l, const struct value *base, const struct layout *memory,
                const struct access *how, const struct regtile *into)
{
    struct way w;
    open_scratch(l, base, memory, how, into->layout, into->dtype, false, &w);
    way_load(l, &w, transfer_load_into(l, into, &w.vector), LOC_NONE, NULL);
}
