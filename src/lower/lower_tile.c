/* Tile expressions, evaluated on demand: the use of a tile names the layout.
 *
 * An elementwise op asks its operands for the layout of its result, without the axes that they do
 * not have: an operand that is broadcast is computed once for all the registers that read it. So a
 * whole expression needs no exchange between threads; where a leaf of it is held otherwise (a sum
 * of products, a slice that is best loaded in another layout), that leaf is converted.
 *
 * Two elements of 16 bits go through an op together where the target has such an instruction.
 */
#include "lower/lower_tile_own.h"

#include <string.h>

/* --- Operands of elementwise ops --- */

struct operand {
    enum dtype type; /* as the op takes it */
    bool scalar;
    const struct value *value; /* scalar */
    struct ptx_operand one, pair;
    bool one_known, pair_known;
    struct regtile tile;
    const int32_t *map;
    struct ptx_operand *element; /* NULL: not taken apart yet */
};

static struct regtile cast_tile(struct lower *l, const struct regtile *x, enum dtype to);

static struct operand operand_from(struct lower *l, const struct expr *e,
                                   const struct layout *wanted, enum dtype t)
{
    struct operand s = {.type = t, .scalar = e->type.rank == 0};
    if (s.scalar) {
        s.value = scalar_eval(l, e);
        if (e->type.dtype != t)
            s.value = value_apply1(l, OP_CAST, t, s.value);
        return s;
    }
    const struct layout *own = plan_operand_layout(&l->layouts, wanted, &e->type);
    s.tile = tile_eval(l, e, own);
    if (e->type.dtype != t)
        s.tile = cast_tile(l, &s.tile, t);
    s.map = plan_operand_registers(&l->layouts, wanted, own, &e->type);
    return s;
}

/* Returns the operand's element that register r of the result reads. */
static struct ptx_operand element_of(struct lower *l, struct operand *s, int32_t r)
{
    if (s->scalar && !s->one_known) {
        s->one = value_operand(l, s->value);
        s->one_known = true;
    }
    if (s->scalar)
        return s->one;
    if (!s->element)
        s->element = tile_elements(l, &s->tile);
    return s->element[s->map[r]];
}

/* The word that the result's registers r and r + 1 read. */
static struct ptx_operand pair_of(struct lower *l, struct operand *s, int32_t r, int32_t registers)
{
    if (s->scalar && !s->pair_known) {
        struct ptx_operand one = value_register(l, s->value), both[2] = {one, one};
        s->pair = op_pack(l, s->type, both);
        s->pair_known = true;
    }
    if (s->scalar)
        return s->pair;
    int32_t e[2] = {s->map[r], r + 1 < registers ? s->map[r + 1] : -1};
    return tile_word(l, &s->tile, e, 2);
}

/* --- Elementwise ops --- */

enum { MOST_OPERANDS = 4 };

static bool by_pairs(struct lower *l, enum op op, const struct layout *wanted, struct operand *in,
                     int count, struct regtile *out)
{
    enum dtype t = in[0].type;
    if (tile_per_word(t) != 2 || !dtype_is_float(t))
        return false;
    *out = (struct regtile){.dtype = t, .layout = wanted, .elements = plan_registers(wanted)};
    out->words = (out->elements + 1) / 2;
    out->word = arena_array(l->arena, struct ptx_operand, out->words);
    for (int w = 0; w < out->words; w++) {
        struct ptx_operand args[MOST_OPERANDS];
        for (int i = 0; i < count; i++)
            args[i] = pair_of(l, &in[i], 2 * w, out->elements);
        if (!op_emit_pair(l, op, t, args, count, &out->word[w]))
            return false;
    }
    return true;
}

static struct regtile elementwise(struct lower *l, enum op op, enum dtype result, enum dtype t,
                                  const struct layout *wanted, struct operand *in, int count)
{
    struct regtile out;
    if (result == t && by_pairs(l, op, wanted, in, count, &out))
        return out;
    int32_t registers = plan_registers(wanted);
    struct ptx_operand *e = arena_array(l->arena, struct ptx_operand, registers);
    for (int32_t r = 0; r < registers; r++) {
        struct ptx_operand args[MOST_OPERANDS];
        for (int i = 0; i < count; i++)
            args[i] = element_of(l, &in[i], r);
        e[r] = op_emit(l, op, result, t, args, count);
    }
    return tile_of_elements(l, result, wanted, e);
}

/* The type in which the op takes its operands. */
static enum dtype joined_type(const struct expr *e)
{
    enum dtype t = e->type.dtype;
    switch (op_table[e->op].class) {
    case CLASS_COMPARE: return dtype_join(e->args[0]->type.dtype, e->args[1]->type.dtype);
    case CLASS_LOGIC: return DT_BOOL;
    default: return e->op == OP_SHL || e->op == OP_SHR ? op_shift_type(e) : t;
    }
}

static struct regtile eval_elementwise(struct lower *l, const struct expr *e,
                                       const struct layout *wanted)
{
    struct operand in[MOST_OPERANDS];
    enum dtype t = joined_type(e);
    for (int i = 0; i < e->count; i++) {
        enum dtype own = e->args[i]->type.dtype;
        in[i] =
            operand_from(l, e->args[i], wanted, e->op == OP_PHILOX || e->op == OP_LOOKUP ? own : t);
    }
    if (e->op == OP_PHILOX || e->op == OP_LOOKUP)
        t = in[0].type;
    bool is_shift = e->op == OP_SHL || e->op == OP_SHR;
    enum dtype result = is_shift ? t : e->type.dtype;
    struct regtile out = elementwise(l, e->op, result, t, wanted, in, e->count);
    return result == e->type.dtype ? out : cast_tile(l, &out, e->type.dtype);
}

/* --- Casts --- */

static struct regtile cast_tile(struct lower *l, const struct regtile *x, enum dtype to)
{
    struct regtile out = {.dtype = to, .layout = x->layout, .elements = x->elements};
    struct ptx_operand *e = tile_elements(l, x);
    if (x->dtype == to)
        return *x;
    if (x->dtype == DT_F32 && dtype_is_float(to) && tile_per_word(to) == 2) {
        out.words = (out.elements + 1) / 2;
        out.word = arena_array(l->arena, struct ptx_operand, out.words);
        for (int w = 0; w < out.words; w++) {
            int high = 2 * w + 1 < out.elements ? 2 * w + 1 : 2 * w;
            out.word[w] = op_cast_pair(l, to, e[2 * w], e[high]);
        }
        return out;
    }
    struct ptx_operand *cast = arena_array(l->arena, struct ptx_operand, x->elements);
    for (int r = 0; r < x->elements; r++)
        cast[r] = op_cast(l, to, x->dtype, e[r]);
    return tile_of_elements(l, to, x->layout, cast);
}

static struct regtile eval_conversion(struct lower *l, const struct expr *e,
                                      const struct layout *wanted)
{
    struct regtile x = tile_eval(l, e->args[0], wanted);
    return cast_tile(l, &x, e->type.dtype);
}

/* Words of several elements are in a .b32 each, whatever the type: they stay. */
static struct regtile eval_bits(struct lower *l, const struct expr *e, const struct layout *wanted)
{
    struct regtile x = tile_eval(l, e->args[0], wanted);
    enum dtype to = e->type.dtype, from = x.dtype;
    x.dtype = to;
    if (from == to || (tile_per_word(from) > 1 && tile_per_word(to) > 1))
        return x;
    x.dtype = from;
    struct ptx_operand *in = tile_elements(l, &x);
    struct ptx_operand *out = arena_array(l->arena, struct ptx_operand, x.elements);
    for (int r = 0; r < x.elements; r++)
        out[r] = op_bits(l, to, from, in[r]);
    return tile_of_elements(l, to, wanted, out);
}

/* --- Choices --- */

/* The condition of `where` for each register: a value where it is index arithmetic, else a
 * predicate. */
struct condition {
    const struct value **values;
    const int32_t *map;
    struct operand operand;
};

static struct condition condition_of(struct lower *l, const struct expr *e,
                                     const struct layout *wanted)
{
    struct condition c = {.values = NULL};
    const struct layout *own = plan_operand_layout(&l->layouts, wanted, &e->type);
    if (e->type.dtype == DT_BOOL)
        c.values = tile_values(l, e, own);
    c.map = plan_operand_registers(&l->layouts, wanted, own, &e->type);
    if (!c.values)
        c.operand = operand_from(l, e, wanted, DT_BOOL);
    return c;
}

/* 1: holds, 0: does not, -1: a predicate decides. */
static int known_condition(const struct condition *c, int32_t r)
{
    int64_t known;
    if (c->values && value_known(c->values[c->map[r]], &known))
        return known != 0;
    return -1;
}

static bool same_condition(struct lower *l, struct condition *c, int32_t r, int32_t s)
{
    if (c->values)
        return c->values[c->map[r]] == c->values[c->map[s]];
    return element_of(l, &c->operand, r).reg == element_of(l, &c->operand, s).reg;
}

static struct ptx_operand predicate_of(struct lower *l, struct condition *c, int32_t r)
{
    return c->values ? value_operand(l, c->values[c->map[r]]) : element_of(l, &c->operand, r);
}

/* Words of several elements that have one condition. */
static bool whole_words(struct lower *l, struct condition *c, enum dtype t, int32_t registers)
{
    int per_word = tile_per_word(t);
    if (per_word == 1)
        return false;
    for (int32_t r = 0; r < registers; r++)
        if (r % per_word && !same_condition(l, c, r, r - 1))
            return false;
    return true;
}

static struct ptx_operand choose(struct lower *l, struct condition *c, int32_t r, enum dtype t,
                                 struct ptx_operand a, struct ptx_operand b)
{
    int known = known_condition(c, r);
    return known == 1 ? a : known == 0 ? b : tile_select(l, t, predicate_of(l, c, r), a, b);
}

static struct regtile choose_words(struct lower *l, struct condition *c, const struct expr *e,
                                   const struct layout *wanted)
{
    struct regtile a = tile_eval(l, e->args[1], wanted), b = tile_eval(l, e->args[2], wanted);
    int per_word = tile_per_word(a.dtype);
    struct regtile out = a;
    out.word = arena_array(l->arena, struct ptx_operand, a.words);
    for (int w = 0; w < a.words; w++)
        out.word[w] = choose(l, c, w * per_word, DT_U32, a.word[w], b.word[w]);
    return out;
}

/* Masks of tiles that reach past an edge hold for most tiles as a whole: one branch then, in place
 * of a choice for each register. */
enum { WORTH_A_BRANCH = 16 };

static const struct value *holds_for_all(struct lower *l, const struct condition *c,
                                         const struct expr *e, int32_t registers)
{
    int unknown = 0;
    for (int32_t r = 0; c->values && r < registers; r++)
        unknown += known_condition(c, r) < 0;
    return unknown >= WORTH_A_BRANCH ? tile_surely(l, e) : NULL;
}

/* Takes the first operand, and the other one where the condition is false: a branch skips that part if
 * the condition holds for all elements. */
static struct regtile choose_unless_all(struct lower *l, struct condition *c,
                                        const struct value *all, const struct expr *e,
                                        const struct layout *wanted)
{
    enum dtype t = e->type.dtype;
    struct regtile a = tile_eval(l, e->args[1], wanted), out = tile_new(l, t, wanted);
    struct operand b = operand_from(l, e->args[2], wanted, t);
    struct ptx_label *end = ptx_new_label(&l->b, "whole");
    struct scope scope;
    tile_move(l, &out, &a);
    struct ptx_operand holds = value_operand(l, all);
    ptx_when(ptx_branch(&l->b, end), holds);
    scope_open(l, &scope);
    for (int32_t r = 0; r < out.elements; r++) {
        int known = known_condition(c, r);
        if (known == 1)
            continue;
        struct ptx_operand other = element_of(l, &b, r);
        if (known < 0)
            other = tile_select(l, t, predicate_of(l, c, r), out.word[r], other);
        op_move(l, t, out.word[r], other);
    }
    scope_close(l, &scope);
    ptx_place(&l->b, end);
    return out;
}

static struct regtile eval_where(struct lower *l, const struct expr *e, const struct layout *wanted)
{
    struct condition c = condition_of(l, e->args[0], wanted);
    int32_t registers = plan_registers(wanted);
    enum dtype t = e->type.dtype;
    const struct value *all =
        tile_per_word(t) == 1 ? holds_for_all(l, &c, e->args[0], registers) : NULL;
    int64_t known;
    if (all && !value_known(all, &known))
        return choose_unless_all(l, &c, all, e, wanted);
    if (whole_words(l, &c, t, registers))
        return choose_words(l, &c, e, wanted);
    struct operand a = operand_from(l, e->args[1], wanted, t);
    struct operand b = operand_from(l, e->args[2], wanted, t);
    struct ptx_operand *out = arena_array(l->arena, struct ptx_operand, registers);
    for (int32_t r = 0; r < registers; r++) {
        struct ptx_operand other = element_of(l, &b, r), one = element_of(l, &a, r);
        out[r] = choose(l, &c, r, t, one, other);
    }
    return tile_of_elements(l, t, wanted, out);
}

/* Cheap enough to be computed even where it is not chosen, and without effect. */
static bool is_light(const struct expr *e, int *budget)
{
    enum op_class class = op_table[e->op].class;
    if (e->op == OP_ACCESS || e->op == OP_DOT || e->op == OP_SCAN || class == CLASS_REDUCE ||
        class == CLASS_FLOAT || !(op_table[e->op].flags & OP_PURE) || --*budget < 0)
        return false;
    for (int i = 0; i < e->count; i++)
        if (!is_light(e->args[i], budget))
            return false;
    return true;
}

static void forget_done(struct lower *l, size_t count);

static void eval_arm(struct lower *l, const struct expr *e, const struct regtile *into)
{
    struct scope scope;
    struct tiles *tiles = tiles_of(l);
    size_t done = tiles->done.count, reduced = tiles->reduced.count;
    scope_open(l, &scope);
    struct regtile v = tile_eval(l, e, into->layout);
    tile_move(l, into, &v);
    scope_close(l, &scope);
    forget_done(l, done);
    tiles->reduced.count = reduced;
}

/* One condition for the whole tile, the same in all threads. */
static struct regtile eval_select(struct lower *l, const struct expr *e,
                                  const struct layout *wanted)
{
    int budget = 6;
    struct guard g = guard_of(l, scalar_eval(l, e->args[0]));
    if (g.always || g.never)
        return tile_eval(l, e->args[g.always ? 1 : 2], wanted);
    if (is_light(e->args[1], &budget) && is_light(e->args[2], &budget)) {
        struct regtile a = tile_eval(l, e->args[1], wanted), b = tile_eval(l, e->args[2], wanted);
        struct regtile out = a;
        enum dtype t = tile_per_word(a.dtype) > 1 ? DT_U32 : a.dtype;
        out.word = arena_array(l->arena, struct ptx_operand, a.words);
        for (int w = 0; w < a.words; w++)
            out.word[w] = tile_select(l, t, g.predicate, a.word[w], b.word[w]);
        return out;
    }
    struct regtile out = tile_new(l, e->type.dtype, wanted);
    struct ptx_label *other = ptx_new_label(&l->b, "else"), *end = ptx_new_label(&l->b, "endif");
    struct sync_arms arms;
    sync_enter_arms(l, &arms);
    ptx_when(ptx_branch(&l->b, other), ptx_not(g.predicate));
    eval_arm(l, e->args[1], &out);
    ptx_branch(&l->b, end);
    ptx_place(&l->b, other);
    sync_next_arm(l, &arms);
    eval_arm(l, e->args[2], &out);
    ptx_place(&l->b, end);
    sync_leave_arms(l, &arms);
    return out;
}

/* --- Leaves --- */

/* A constant part of a register tile: axis by axis. */
static struct regtile part_of_tile(struct lower *l, const struct expr *e)
{
    struct regtile x = *tile_of_symbol(l, e->sym);
    for (int i = 0; i < e->indices; i++) {
        int64_t start = 0;
        struct layout part;
        if (e->index[i].kind != IX_SLICE)
            continue;
        bool known = value_known(scalar_eval(l, e->index[i].value), &start);
        if (!known || !layout_slice_out(x.layout, AXIS_DIM(i), (int32_t)start,
                                        (int32_t)e->index[i].extent, &part)) {
            lower_error(l, e->loc, "a slice of a register tile begins at a constant");
            return x;
        }
        int32_t *source = arena_array(l->arena, int32_t, plan_registers(&part));
        const int32_t *places = plan_register_places(&l->layouts, x.layout);
        layout_slice_registers(x.layout, places, &part, AXIS_DIM(i), (int32_t)start, source);
        x = tile_pick(l, &x, &part, source);
    }
    return x;
}

/* A small array that every thread of the block has whole. */
static struct regtile eval_array(struct lower *l, const struct expr *e, const struct layout *wanted)
{
    const struct layout *all = plan_everywhere(&l->layouts, &e->type);
    struct regtile x = tile_of_elements(l, e->type.dtype, all, array_eval(l, e));
    return tile_convert(l, &x, wanted);
}

static struct regtile eval_access(struct lower *l, const struct expr *e,
                                  const struct layout *wanted)
{
    struct regtile x;
    switch (e->sym->storage) {
    case ST_VIEW:
        x = view_load(l, e, plan_keep(&l->layouts, plan_view(&l->layouts, e, wanted, false)), NULL);
        break;
    case ST_SHARED: return shared_load(l, e, wanted);
    case ST_ARRAY: return eval_array(l, e, wanted);
    default: x = part_of_tile(l, e); break;
    }
    return tile_convert(l, &x, wanted);
}

static struct regtile eval_ref(struct lower *l, const struct expr *e, const struct layout *wanted)
{
    if (e->sym->storage == ST_ARRAY)
        return eval_array(l, e, wanted);
    return tile_convert(l, tile_of_symbol(l, e->sym), wanted);
}

static struct regtile eval_dot(struct lower *l, const struct expr *e, const struct layout *wanted)
{
    struct regtile x = dot_eval(l, e);
    return tile_convert(l, &x, wanted);
}

/* --- Any expression --- */

static struct regtile eval_own(struct lower *l, const struct expr *e, const struct layout *wanted)
{
    switch (e->op) {
    case OP_REF: return eval_ref(l, e, wanted);
    case OP_ACCESS: return eval_access(l, e, wanted);
    case OP_CAST: return eval_conversion(l, e, wanted);
    case OP_BITS: return eval_bits(l, e, wanted);
    case OP_WHERE: return eval_where(l, e, wanted);
    case OP_SELECT: return eval_select(l, e, wanted);
    case OP_SCAN: return scan_eval(l, e, wanted);
    case OP_DOT: return eval_dot(l, e, wanted);
    case OP_BROADCAST: return tile_eval(l, e->args[0], wanted);
    default: break;
    }
    if (op_is_atomic(e->op))
        return atomic_tile(l, e, wanted, true);
    if (op_table[e->op].class == CLASS_REDUCE)
        return reduce_eval(l, e, wanted);
    if (op_table[e->op].class == CLASS_SHAPE)
        return shape_eval(l, e, wanted);
    return eval_elementwise(l, e, wanted);
}

/* Without the axes of the layout that e does not have, then spread. */
static struct regtile eval_broadcast(struct lower *l, const struct expr *e,
                                     const struct layout *wanted)
{
    const struct value **values = tile_values(l, e, wanted);
    if (values)
        return tile_of_values(l, e->type.dtype, wanted, values);
    const struct layout *own = plan_operand_layout(&l->layouts, wanted, &e->type);
    struct regtile x = eval_own(l, e, own);
    return own == wanted ? x
                         : tile_pick(l, &x, wanted,
                                     plan_operand_registers(&l->layouts, wanted, own, &e->type));
}

static uint64_t hash_of(struct lower *l, const struct expr *e);

static uint64_t hash_with(struct lower *l, uint64_t hash, const struct expr *e)
{
    uint64_t other = e ? hash_of(l, e) : 1;
    return hash && other ? (hash ^ other) * UINT64_C(0x9e3779b97f4a7c15) | 1 : 0;
}

/* The same of equal expressions; 0 if there is an atomic in e. */
static uint64_t hash_of(struct lower *l, const struct expr *e)
{
    struct number_map *hashes = &tiles_of(l)->hashes;
    bool added;
    struct number_entry *entry = number_map_entry(l->arena, hashes, (uintptr_t)e, &added);
    if (!added)
        return entry->value;
    uint64_t bits = (uint64_t)e->literal.i ^ (uintptr_t)e->sym;
    if (e->literal.is_float)
        memcpy(&bits, &e->literal.f, sizeof bits);
    uint64_t hash = op_is_atomic(e->op) ? 0 : (((uint64_t)e->op << 8) ^ (bits * 31)) | 1;
    for (int i = 0; i < e->count; i++)
        hash = hash_with(l, hash, e->args[i]);
    for (int i = 0; i < e->indices; i++)
        hash = hash_with(l, hash, e->index[i].value);
    hash = hash_with(l, hash, e->otherwise);
    number_map_find(hashes, (uintptr_t)e)->value = hash;
    return hash;
}

/* Returns the hash of an expression that is computed, or 0 if it may not be kept. */
static uint64_t recurring_hash(struct lower *l, const struct expr *e)
{
    return e->op != OP_REF && e->op != OP_IOTA ? hash_of(l, e) : 0;
}

static const struct regtile *done_before(const struct tiles *tiles, const struct expr *e,
                                         uint64_t hash, const struct layout *wanted)
{
    const struct number_entry *last = number_map_find(&tiles->done_by_hash, hash);
    for (size_t i = last ? (size_t)last->value : 0; i > 0; i = tiles->done.data[i - 1].before) {
        const struct tile_done *d = &tiles->done.data[i - 1];
        if (d->layout == wanted && d->e->op == e->op && expr_same(d->e, e))
            return &d->tile;
    }
    return NULL;
}

static void keep_done(struct lower *l, struct tile_done *done, uint64_t hash)
{
    struct tiles *tiles = tiles_of(l);
    bool added;
    struct number_entry *last = number_map_entry(l->arena, &tiles->done_by_hash, hash, &added);
    done->before = (size_t)last->value;
    vec_push(l->arena, &tiles->done, *done);
    last->value = tiles->done.count;
}

/* Forgets all but the first tiles that were kept. */
static void forget_done(struct lower *l, size_t count)
{
    struct tiles *tiles = tiles_of(l);
    for (; tiles->done.count > count; tiles->done.count--) {
        const struct tile_done *d = &tiles->done.data[tiles->done.count - 1];
        number_map_find(&tiles->done_by_hash, recurring_hash(l, d->e))->value = d->before;
    }
}

struct regtile tile_eval(struct lower *l, const struct expr *e, const struct layout *layout)
{
    const struct layout *wanted = plan_keep(&l->layouts, layout);
    struct tiles *tiles = tiles_of(l);
    if (e->type.rank == 0)
        return tile_fill(l, e->type.dtype, wanted, value_register(l, scalar_eval(l, e)));
    if (tiles->depth == 0 && tiles->done.count > 0) {
        tiles->done.count = 0;
        tiles->done_by_hash = (struct number_map){0};
    }
    if (tiles->depth == 0)
        tiles->reduced.count = 0;
    uint64_t hash = recurring_hash(l, e);
    const struct regtile *before = hash ? done_before(tiles, e, hash, wanted) : NULL;
    if (before)
        return *before;
    tiles->depth++;
    struct tile_done done = {e, wanted, eval_broadcast(l, e, wanted), 0};
    tiles->depth--;
    if (hash)
        keep_done(l, &done, hash);
    return done.tile;
}

struct regtile tile_eval_natural(struct lower *l, const struct expr *e)
{
    const struct layout *natural = plan_natural(&l->layouts, e);
    return tile_eval(l, e, natural ? natural : plan_blocked(&l->layouts, &e->type, 0));
}

struct regtile tile_eval_shaped(struct lower *l, const struct expr *e, const struct type *type)
{
    if (type_same_shape(&e->type, type))
        return tile_eval_natural(l, e);
    struct type blocked = *type;
    blocked.dtype = e->type.dtype;
    return tile_eval(l, e, plan_blocked(&l->layouts, &blocked, 0));
}
