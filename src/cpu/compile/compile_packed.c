/* Decides which tiles are packed (packed.h), and compiles their fills.
 *
 * A tile is packed if the kernel only fills it whole (or one of its stages whole) from const
 * views or from other such tiles, or if its only fill is a declaration with weights
 * (tile/weights.h), and if the kernel only reads it whole in `dot`, always as the same operand
 * and with the same orientation. A mention of any other kind keeps it an ordinary tile. */
#include "base/float_bits.h"
#include "cpu/compile/compile.h"

/* --- mentions --- */

/* Returns whether e names a whole tile of two axes: a tile of two axes, or one stage of a tile,
 * selected by leading indices. */
static bool names_tile(const struct expr *e)
{
    if ((e->op != OP_REF && e->op != OP_ACCESS) || access_peer(e))
        return false;
    const struct sym *s = e->sym;
    if (s->storage != ST_SHARED && s->storage != ST_REG)
        return false;
    for (int i = 0; i < e->indices; i++)
        if (e->index[i].kind != IX_ELEMENT)
            return false;
    return s->type.rank - e->indices == 2 && !e->otherwise;
}

/* Returns whether e has two slices of a read-only view and single elements along its other axes. */
static bool is_view_part(const struct expr *e)
{
    int slices = 0;
    if (e->op != OP_ACCESS || e->sym->storage != ST_VIEW || !e->sym->is_const || !e->sym->base ||
        e->otherwise)
        return false;
    for (int i = 0; i < e->indices; i++) {
        slices += e->index[i].kind == IX_SLICE;
        if (e->index[i].kind != IX_SLICE && e->index[i].kind != IX_ELEMENT)
            return false;
    }
    int rank = 0;
    while (rank < MAX_RANK && e->sym->dims[rank])
        rank++;
    return slices == 2 && e->indices == rank && e->type.dtype == e->sym->type.dtype;
}

static struct packed_use *use_of(const struct compiler *c, const struct expr *e)
{
    return &compile_slot_of(c, e->sym)->packed;
}

/* --- how the kernel uses the tiles --- */

struct survey {
    struct compiler *c;
    bool changed; /* some answer has changed since the walk began */
    bool last;    /* no more uses will be found: a tile without a known use is refused */
};

static void refuse(struct survey *s, const struct sym *sym, enum cpu_slow why, struct loc at)
{
    struct packed_use *use = &compile_slot_of(s->c, sym)->packed;
    if (use->refused)
        return;
    s->changed = use->refused = true;
    use->why = why;
    use->why_at = at;
}

static void survey_value(struct survey *s, const struct expr *e);

static void survey_indices(struct survey *s, const struct expr *e)
{
    for (int i = 0; i < e->indices; i++)
        survey_value(s, e->index[i].value);
    survey_value(s, e->otherwise);
}

/* Notes a use by `dot`. The first use decides how the tile is packed; the others must agree. */
static void note_use(struct survey *s, const struct expr *tile, const struct packed_form *form)
{
    struct packed_use *use = use_of(s->c, tile);
    if (!use->used) {
        use->used = s->changed = true;
        use->form = *form;
    }
    if (use->form.side != form->side || use->form.turned != form->turned ||
        use->form.to != form->to || use->form.group != form->group ||
        use->form.flipped != form->flipped)
        refuse(s, tile->sym, CPU_SLOW_TWO_FORMS, tile->loc);
}

static bool fits_i16(enum dtype t)
{
    return dtype_is_byte_int(t) || t == DT_I16;
}

/* Returns the expression below casts that keep the values of 8-bit integers and of floats of 16 bits
 * or less: the operands of a mixed product are cast to i16, or to f32. */
static const struct expr *without_widening(const struct expr *e)
{
    if (e->op != OP_CAST)
        return e;
    enum dtype to = e->type.dtype, from = e->args[0]->type.dtype;
    bool wider = dtype_is_int(to) && !dtype_is_byte_int(to) && (from == DT_U8 || to != DT_U16);
    bool exact = to == DT_F32 && dtype_is_float(from) && dtype_size(from) < dtype_size(to);
    return (dtype_is_byte_int(from) && wider) || exact ? e->args[0] : e;
}

/* Returns whether both operands are bf16, and not converted to f32 first, whose steps are added in
 * order. */
static bool are_bf16(const struct expr *dot)
{
    return dot->args[0]->type.dtype == DT_BF16 && dot->args[1]->type.dtype == DT_BF16;
}

const struct expr *dot_tile(const struct expr *dot, int index)
{
    const struct expr *e = without_widening(dot->args[index]);
    return e->op == OP_TRANS ? without_widening(e->args[0]) : e;
}

struct dot_grouping dot_grouping(const struct compiler *c, const struct expr *dot)
{
    const struct routine_set *set = c->set;
    const int64_t depth = dot->args[0]->type.extent[1];
    const enum dtype left = dot_tile(dot, 0)->type.dtype, right = dot_tile(dot, 1)->type.dtype;
    const enum dtype sum = dot->type.dtype,
                     computed = routine_compute_dtype(routine_compute_of(sum));
    if (are_bf16(dot) && depth % 2 == 0 && computed == DT_F32)
        return (struct dot_grouping){2, set->dot_bf16, set->dot_bf16 ? DT_BF16 : DT_F32, false};
    dot_fn *routine = left == DT_U8 ? set->dot_u8 : set->dot_i8;
    dot_fn *alike = left == DT_U8 ? set->dot_u8_u8 : set->dot_i8_i8;
    bool flipped = (left == right) != set->takes_one_sign;
    if (left == right && alike) {
        routine = alike;
        flipped = false;
    }
    bool integers = (sum == DT_I32 || sum == DT_U32) && fits_i16(left) && fits_i16(right);
    if (integers && dtype_is_byte_int(left) && dtype_is_byte_int(right) && depth % 4 == 0 &&
        routine)
        return (struct dot_grouping){4, routine, left, flipped};
    if (integers && depth % 2 == 0 && set->dot_i16)
        return (struct dot_grouping){2, set->dot_i16, DT_I16, false};
    return (struct dot_grouping){1, NULL, computed, false};
}

bool packed_takes_type(const struct compiler *c, const struct expr *dot, const struct expr *tile)
{
    enum compute compute = routine_compute_of(dot->type.dtype);
    bool floats = compute == COMPUTE_F32 || compute == COMPUTE_F64;
    return dot_grouping(c, dot).routine ||
           (floats && routine_compute_of(tile->type.dtype) == compute);
}

const struct packed_use *packed_use_of(const struct compiler *c, const struct expr *e)
{
    return names_tile(e) ? use_of(c, e) : NULL;
}

static void survey_operand(struct survey *s, const struct expr *dot, enum packed_side side)
{
    const struct expr *e = dot->args[side == PACKED_LEFT ? 0 : 1];
    bool turned = without_widening(e)->op == OP_TRANS;
    const struct expr *tile = dot_tile(dot, side == PACKED_LEFT ? 0 : 1);
    const struct dot_grouping g = dot_grouping(s->c, dot);
    if (!packed_takes_type(s->c, dot, tile) || !names_tile(tile)) {
        survey_value(s, e);
        return;
    }
    struct packed_form form = {.side = side, .turned = turned, .from = tile->type.dtype};
    form.group = g.group;
    form.flipped = g.flipped && side == PACKED_RIGHT;
    form.to = g.group == 4 ? form.from : g.to;
    form.repeat = 1;
    bool depth_first = (side == PACKED_RIGHT) != turned;
    form.lines = tile->type.extent[depth_first ? 1 : 0];
    form.depth = tile->type.extent[depth_first ? 0 : 1];
    note_use(s, tile, &form);
    survey_indices(s, tile);
}

/* Refuses all tiles that an expression mentions in another way than as an operand of `dot`. */
static void survey_value(struct survey *s, const struct expr *e)
{
    if (!e)
        return;
    if (e->op == OP_DOT && e->type.rank == 2) {
        survey_operand(s, e, PACKED_LEFT);
        survey_operand(s, e, PACKED_RIGHT);
        for (int i = 2; i < e->count; i++)
            survey_value(s, e->args[i]);
        return;
    }
    if ((e->op == OP_REF || e->op == OP_ACCESS) && e->sym)
        refuse(s, e->sym, CPU_SLOW_TILE_READ, e->loc);
    for (int i = 0; i < e->count; i++)
        survey_value(s, e->args[i]);
    survey_indices(s, e);
}

/* Returns the reason for which the fill of a tile keeps it from being packed. */
static enum cpu_slow why_not_filled(const struct expr *target, const struct expr *value)
{
    bool is_view = value->op == OP_ACCESS && value->sym->storage == ST_VIEW;
    if (!is_view)
        return CPU_SLOW_TILE_COMPUTED;
    return names_tile(target) && !value->sym->is_const ? CPU_SLOW_VIEW_WRITTEN : CPU_SLOW_TILE_PART;
}

/* Reads the value of a tile as weights; NULL: it is none. The result is kept, because reading takes
 * longer than the rest of the compilation of a small kernel. */
static const struct weights *weights_of(struct compiler *c, struct packed_use *use,
                                        const struct expr *value)
{
    struct weights w;
    if (use->value != value) {
        use->value = value;
        use->weights = NULL;
        if (weights_read(value, &w)) {
            struct weights *kept = arena_new(c->arena, struct weights);
            *kept = w;
            use->weights = kept;
        }
    }
    return use->weights;
}

/* Surveys the declaration of a right operand with weights. false: it is another one. */
static bool survey_weights(struct survey *s, const struct expr *target, const struct expr *value)
{
    struct packed_use *to = use_of(s->c, target);
    const struct weights *w = target->sym->storage == ST_REG &&
                                      type_same_shape(&target->type, &value->type) &&
                                      target->type.dtype == value->type.dtype
                                  ? weights_of(s->c, to, value)
                                  : NULL;
    if (!w)
        return false;
    to->unpacks = !weights_are_codes(w);
    if (to->unpacks && to->used && (to->form.side != PACKED_RIGHT || to->form.turned))
        return false;
    to->codes = w->codes->type.dtype;
    to->repeat = w->repeat;
    survey_indices(s, w->codes);
    for (int i = 0; i < w->scales; i++)
        survey_indices(s, w->scale[i]);
    return true;
}

/* Surveys target = value, where the target may be packed. */
static void survey_fill(struct survey *s, const struct expr *target, const struct expr *value,
                        bool declares)
{
    struct packed_use *to = use_of(s->c, target);
    if (to->repeat > 0 && !declares)
        refuse(s, target->sym, CPU_SLOW_TILE_COMPUTED, value->loc);
    bool alike = type_same_shape(&target->type, &value->type) &&
                 target->type.dtype == value->type.dtype; /* the value is not broadcast */
    survey_indices(s, target);
    if (alike && names_tile(target) && is_view_part(value)) {
        survey_indices(s, value);
        return;
    }
    if (declares && survey_weights(s, target, value))
        return;
    bool copies = alike && names_tile(target) && names_tile(value) && target->sym != value->sym;
    if (copies && to->used && !to->refused) {
        note_use(s, value, &to->form);
        survey_indices(s, value);
        if (use_of(s->c, value)->refused)
            refuse(s, target->sym, use_of(s->c, value)->why, use_of(s->c, value)->why_at);
        return;
    }
    if (copies && !to->used && !to->refused && !s->last)
        return; /* not known yet: a later walk visits it again */
    refuse(s, target->sym, why_not_filled(target, value), value->loc);
    survey_value(s, value);
}

static void survey_effect(struct survey *s, const struct expr *e)
{
    if (e->op != OP_FREE)
        survey_value(s, e);
}

static void survey_stmt(void *user, struct stmt *st)
{
    struct survey *s = user;
    struct expr whole = {.op = OP_REF};
    const struct expr *target = st->target;
    if (st->kind == STMT_ENSURES)
        return;
    if (st->kind == STMT_DECL) {
        whole.sym = st->sym;
        whole.type = st->sym->type;
        target = st->value ? &whole : NULL;
    }
    if (st->kind == STMT_EFFECT)
        survey_effect(s, st->value);
    else if (target && (target->sym->storage == ST_SHARED || target->sym->storage == ST_REG))
        survey_fill(s, target, st->value, st->kind == STMT_DECL);
    else
        survey_value(s, st->value);
    if (target && target != &whole && target->sym->storage == ST_VIEW)
        survey_indices(s, target);
    survey_value(s, st->condition);
}

/* --- grid axes that an index depends on --- */

static unsigned block_axes(const struct compiler *c, const struct expr *e)
{
    unsigned axes = 0;
    if (!e)
        return 0;
    if (e->op == OP_BLOCK)
        return 1u << e->axis;
    if (e->op == OP_REF && e->sym->storage == ST_SCALAR)
        return compile_slot_of(c, e->sym)->block_axes;
    for (int i = 0; i < e->count; i++)
        axes |= block_axes(c, e->args[i]);
    return axes;
}

static void survey_axes(void *user, struct stmt *st)
{
    struct survey *s = user;
    const struct sym *sym = st->kind == STMT_DECL                                 ? st->sym
                            : st->kind == STMT_ASSIGN && st->target->op == OP_REF ? st->target->sym
                                                                                  : NULL;
    if (!sym || sym->storage != ST_SCALAR)
        return;
    struct slot *slot = compile_slot_of(s->c, sym);
    unsigned axes = slot->block_axes | block_axes(s->c, st->value);
    s->changed |= axes != slot->block_axes;
    slot->block_axes = axes;
}

/* --- packed tiles --- */

/* Limit of the rows that a block packs for itself: about the size of the second-level cache. A
 * larger tile is packed for all blocks, before its product. */
#define MOST_OWN_BYTES ((size_t)1 << 20)

/* Returns whether a product can pack such a tile while it multiplies. */
static bool packs_on_the_way(const struct compiler *c, const struct packed_form *form)
{
    const struct dot_routines *dot = c->set->dot;
    enum compute compute = routine_compute_of(form->to);
    bool same = form->from == form->to;
    bool halves = dot->has_halves && form->from == DT_F16 && form->to == DT_F32;
    bool whole = form->side == PACKED_LEFT || (size_t)form->lines % dot->width[compute] == 0;
    return dot->packs[compute] && (same || halves) && form->group == 1 && whole;
}

/* Returns the bytes that a product needs to pack a left operand for its own block alone. */
static size_t own_bytes(const struct packed_form *form)
{
    size_t depth = (size_t)form->depth < DOT_MOST_DEPTH ? DOT_MOST_DEPTH : (size_t)form->depth;
    return (size_t)form->lines * LEFT_STEP(depth) * dtype_size(form->to);
}

static void lay_tile(struct compiler *c, struct slot *slot)
{
    struct packed_tile *t = arena_new(c->arena, struct packed_tile);
    const struct type *type = &slot->sym->type;
    t->form = slot->packed.form;
    if (slot->packed.repeat > 0) {
        t->form.from = slot->packed.codes;
        t->form.repeat = slot->packed.repeat;
    }
    t->stages = 1;
    for (int i = 0; i + 2 < type->rank; i++)
        t->stages *= type->extent[i];
    int64_t width = (int64_t)dot_panel_width(c->set, &t->form), lines = t->form.lines;
    if (t->form.side == PACKED_RIGHT)
        lines = (lines + width - 1) / width * width;
    t->bytes = (size_t)(lines * t->form.depth) * dtype_size(t->form.to);
    t->states = c->program->packed_states;
    c->program->packed_states += (uint32_t)t->stages;
    t->at = compile_memory_new(c, t->bytes * (size_t)t->stages);
    t->on_the_way = packs_on_the_way(c, &t->form) &&
                    (t->form.side == PACKED_RIGHT || own_bytes(&t->form) <= MOST_OWN_BYTES);
    slot->packed.tile = t;
}

/* Refuses a tile that each replica of a role declares: a tile is packed in one place. */
static void refuse_declared(void *user, struct stmt *st)
{
    if (st->kind == STMT_DECL)
        refuse(user, st->sym, CPU_SLOW_REPLICATED, st->loc);
}

void packed_survey(struct compiler *c)
{
    struct survey s = {.c = c};
    for (const struct stmt *st = c->kernel->body; st; st = st->next)
        if (st->kind == STMT_ROLE && st->role->replicas > 1)
            stmt_walk(st->body, refuse_declared, &s);
    s.changed = !c->plain && c->lanes == 1;
    while (s.changed) {
        s.changed = false;
        stmt_walk(c->kernel->body, survey_stmt, &s);
        stmt_walk(c->kernel->body, survey_axes, &s);
        if (!s.changed && !s.last)
            s.changed = s.last = true;
    }
    size_t own = 0;
    for (size_t i = 0; i < c->slot_count; i++) {
        struct slot *slot = &c->slots[i];
        if (!slot->packed.used || slot->packed.refused)
            continue;
        lay_tile(c, slot);
        const struct packed_tile *tile = slot->packed.tile;
        bool packs = tile->on_the_way && tile->form.side == PACKED_LEFT;
        if (packs && own_bytes(&tile->form) > own)
            own = own_bytes(&tile->form);
    }
    c->program->own_left_at = compile_memory_new(c, own);
    c->program->packed_at =
        compile_memory_new(c, c->program->packed_states * sizeof(struct packed_state));
}

const struct packed_tile *packed_tile_of(const struct compiler *c, const struct expr *e)
{
    bool names = (e->op == OP_REF || e->op == OP_ACCESS) && e->sym->storage != ST_VIEW;
    return names ? compile_slot_of(c, e->sym)->packed.tile : NULL;
}

/* Decides whether the product packs its right operand on its way. A row of a panel of f16 is one
 * cache line; if the first block of rows is too small to pack such a panel, packing all panels
 * in advance, row by row, is faster. */
void packed_for_product(struct compiler *c, const struct expr *right, size_t m)
{
    if (!packed_tile_of(c, right))
        return;
    struct packed_tile *tile = compile_slot_of(c, right->sym)->packed.tile;
    const struct dot_routines *dot = c->set->dot;
    size_t blocks = (m + dot->rows - 1) / dot->rows;
    if (tile->form.from != tile->form.to && m / blocks < dot->packing_rows)
        tile->on_the_way = false;
}

/* --- fills --- */

static bool plans_alike(const struct packed_plan *a, const struct packed_plan *b)
{
    bool alike = !a->weights && !b->weights && a->access->view == b->access->view &&
                 a->access->rank == b->access->rank &&
                 memcmp(&a->form, &b->form, sizeof a->form) == 0;
    for (int i = 0; i < a->access->rank && alike; i++)
        alike = a->access->axis[i].kind == b->access->axis[i].kind &&
                a->access->axis[i].extent == b->access->axis[i].extent;
    return alike;
}

/* Returns the cache for parts in the form in which `value` reads them. */
static uint32_t plan_cache(struct compiler *c, const struct packed_tile *tile,
                           const struct access *from, const struct expr *value, bool weights)
{
    struct packed_plan plan = {.access = from, .lines_axis = -1, .weights = weights};
    memcpy(&plan.form, &tile->form, sizeof plan.form);
    bool depth_first = (plan.form.side == PACKED_RIGHT) != plan.form.turned;
    for (int i = 0; i < value->indices; i++) {
        plan.block_axes |= block_axes(c, value->index[i].value);
        if (value->index[i].kind != IX_SLICE)
            continue;
        if (plan.lines_axis < 0)
            plan.lines_axis = i;
        plan.depth_axis = i;
    }
    if (depth_first) {
        int first = plan.lines_axis;
        plan.lines_axis = plan.depth_axis;
        plan.depth_axis = first;
    }
    for (uint32_t i = 0; i < c->packed.count; i++)
        if (plans_alike(&c->packed.data[i], &plan)) {
            c->packed.data[i].block_axes |= plan.block_axes;
            return i;
        }
    vec_push(c->arena, &c->packed, plan);
    return (uint32_t)c->packed.count - 1;
}

bool packed_by_columns(const struct compiler *c)
{
    enum { X = 1, Y = 2 };
    bool found[2] = {false, false};
    for (size_t i = 0; i < c->packed.count; i++) {
        const struct packed_plan *plan = &c->packed.data[i];
        bool left = plan->form.side == PACKED_LEFT;
        if ((plan->block_axes & (X | Y)) != (left ? X : Y))
            return false;
        found[left] = true;
    }
    return found[0] && found[1];
}

enum { NARROW_BITS = 4 };

/* Finds the 4 bits of the byte that the table's values depend on, and keeps one value for each. */
static void narrow_table(struct weight_table *t)
{
    enum { VALUES = 1 << NARROW_BITS };
    float some[VALUES];
    t->shift = -1;
    for (int shift = 0; shift <= NARROW_BITS && t->shift < 0; shift += NARROW_BITS) {
        bool fits = true;
        for (int code = 0; code < CODES && fits; code++)
            fits = memcmp(&t->value[code], &t->value[(code >> shift) % VALUES << shift],
                          sizeof *t->value) == 0;
        t->shift = fits ? shift : -1;
    }
    for (int i = 0; i < VALUES && t->shift >= 0; i++)
        some[i] = t->value[i << t->shift];
    if (t->shift >= 0)
        memcpy(t->value, some, sizeof some);
}

static enum dtype same_as(const struct weight_table *t)
{
    bool is_u8 = true, is_i8 = true;
    for (int code = 0; code < CODES; code++) {
        is_u8 &= t->value[code] == (float)code;
        is_i8 &= t->value[code] == (float)(int8_t)code;
    }
    return is_u8 ? DT_U8 : is_i8 ? DT_I8 : DT_F32;
}

/* Returns the type of the scale of a step. */
static enum dtype scale_type(const struct packed_weights *w, int step)
{
    return w->scale[w->step[step].scale]->sym->type.dtype;
}

/* Returns whether the tables have integers within limits alone; -0 is none. */
static bool are_integers(const struct packed_weights *w, float least, float most)
{
    bool fits = true;
    for (int i = 0; i < 2 << NARROW_BITS; i++) {
        const float x = w->table[i % 2].value[i / 2];
        fits = fits && x >= least && x <= most && f32_bits(x) == f32_bits((float)(int)x);
    }
    return fits;
}

/* Returns whether the first steps subtract a zero point: a byte from integers, or a number of f16 from
 * others, rounded to f16. Casts may follow to the type of the weights, which has such integers. */
static bool takes_zeros(const struct packed_weights *w)
{
    const struct weight_step *s = w->step;
    const enum dtype zero = scale_type(w, 0), type = s[w->steps - 1].round;
    bool fits =
        s->op == OP_SUB && !s->turned &&
        (zero == DT_U8 ? are_integers(w, -CODES, CODES) : zero == DT_F16 && s->round == DT_F16);
    for (int i = 0; i + 1 < w->steps; i++)
        fits &= (i == 0 || s[i].op == OP_CAST) && (s[i].round == DT_F32 || s[i].round == type);
    return fits;
}

/* Returns whether the weights have the form that few_halves_fn computes. */
static bool are_halves(const struct packed_weights *w)
{
    bool fits = w->repeat == 2 && w->steps > 0 && w->step[w->steps - 1].op == OP_MUL &&
                w->table[0].shift >= 0 && w->table[1].shift >= 0 &&
                (w->steps == 1 || takes_zeros(w));
    for (int i = 0; i < w->scales; i++)
        fits &= w->every[i] % 2 == 0;
    return fits && !dtype_is_byte_int(scale_type(w, w->steps - 1));
}

/* Returns whether the weights are integers of 8 bits times a scale of f16, rounded to f16. */
static bool are_scaled_bytes(const struct packed_weights *w)
{
    return w->steps == 1 && w->step[0].round == DT_F16 && scale_type(w, 0) == DT_F16 &&
           are_integers(w, INT8_MIN, INT8_MAX);
}

static struct packed_weights *packed_weights_new(struct compiler *c, const struct weights *from)
{
    struct packed_weights *w = arena_new(c->arena, struct packed_weights);
    w->repeat = from->repeat;
    w->scales = from->scales;
    w->steps = from->steps;
    for (int i = 0; i < from->scales; i++) {
        w->scale[i] = compile_access_new(c, from->scale[i]);
        w->every[i] = from->every[i];
    }
    for (int i = 0; i < from->steps; i++)
        w->step[i] = from->step[i];
    for (int64_t k = 0; k < from->repeat; k++) {
        struct weight_table *t = &w->table[k];
        memcpy(t->value, from->value[k], sizeof t->value);
        t->same = same_as(t);
        narrow_table(t);
    }
    w->halves = are_halves(w) && (!c->set->halves_are_bytes || are_scaled_bytes(w));
    return w;
}

struct packed_fill *packed_fill_new(struct compiler *c, const struct expr *target,
                                    const struct expr *value)
{
    struct packed_fill *fill = arena_new(c->arena, struct packed_fill);
    fill->tile = packed_tile_of(c, target);
    fill->to = compile_access_new(c, target);
    struct packed_use *use = &compile_slot_of(c, target->sym)->packed;
    const struct weights *w = use->repeat > 0 ? weights_of(c, use, value) : NULL;
    if (w) {
        fill->weights = use->unpacks ? packed_weights_new(c, w) : NULL;
        value = w->codes;
    }
    fill->from = compile_access_new(c, value);
    fill->source = packed_tile_of(c, value);
    if (!fill->source)
        fill->cache = plan_cache(c, fill->tile, fill->from, value, fill->weights != NULL);
    return fill;
}

bool compile_packed_fill(struct compiler *c, const struct expr *target, const struct expr *value)
{
    if (!packed_tile_of(c, target))
        return false;
    uint32_t top = c->top;
    struct packed_fill *fill = packed_fill_new(c, target, value);
    compile_add_step(c, fill->source ? step_packed_copy : step_packed_fill)->detail = fill;
    c->top = top;
    return true;
}

bool compile_packed_decl(struct compiler *c, const struct stmt *s)
{
    struct expr whole = {.op = OP_REF, .type = s->sym->type, .loc = s->loc, .sym = s->sym};
    const struct packed_tile *tile = packed_tile_of(c, &whole);
    if (!tile)
        return false;
    struct slot *slot = compile_slot_of(c, s->sym);
    slot->value.lanes = 1; /* the tile is declared now */
    if (s->value)
        return compile_packed_fill(c, &whole, s->value);
    struct packed_fill *fill = arena_new(c->arena, struct packed_fill);
    fill->tile = tile;
    fill->to = compile_access_new(c, &whole);
    compile_add_step(c, step_packed_clear)->detail = fill;
    return true;
}
