/* Compiles products of tiles. In a loop that only adds products to a sum, products are deferred
 * until they are deep enough (packed.h). */
#include "cpu/compile/compile.h"

#include <math.h>

/* --- products --- */

/* Returns a dense operand of a product that adds groups of steps, in the order that the routine
 * requires. */
static struct value group_operand(struct compiler *c, const struct value *v, struct dot_detail *d,
                                  int group, bool left)
{
    bool swaps = d->group == 1; /* no routine has pairs */
    if (left && !swaps)
        return *v;
    struct value to = compile_value_new(c, v->dtype, v->rank, v->extent, 1);
    if (swaps)
        compile_value_transfer(c, &to, v);
    struct instr *in = compile_add_step(c, left ? step_pair_columns : step_group_rows);
    in->detail = d;
    in->dst = to.at;
    in->a = v->at;
    in->n = (uint32_t)(left ? d->m * d->k : d->k) / (uint32_t)group;
    return to;
}

/* Describes a uniform operand: a packed tile or a dense value. */
static struct dot_operand dot_operand(struct compiler *c, const struct expr *dot,
                                      const struct dot_grouping *g, int index, struct dot_detail *d,
                                      struct value *v)
{
    const struct expr *e = dot->args[index], *tile = dot_tile(dot, index);
    struct dot_operand o = {.tile = packed_tile_of(c, tile)};
    if (index == 1)
        packed_for_product(c, tile, d->m);
    if (o.tile) {
        o.access = compile_access_new(c, tile);
        return o;
    }
    *v = compile_expr(c, e, NULL);
    enum dtype computed = routine_compute_dtype(routine_compute_of(dot->type.dtype));
    *v = compile_value_convert(c, *v,
                               d->group == 1   ? computed
                               : d->group == 4 ? tile->type.dtype
                                               : g->to);
    if (g->group > 1 && d->lanes == 1)
        *v = group_operand(c, v, d, g->group, index == 0);
    o.at = v->at;
    return o;
}

static void emit_dot(struct compiler *c, const struct value *sum, const struct value *a,
                     const struct value *b, struct dot_detail *d, enum compute compute)
{
    bool groups = d->group > 1;
    d->size = groups ? 4 / d->group : dtype_size(sum->dtype);
    d->a_lanes = a->lanes;
    d->b_lanes = b->lanes;
    if (!groups)
        d->dot = c->set->dot->dot[compute];
    d->shares = groups || c->set->dot->packs[compute];
    c->program->shares |= d->shares;
    d->width = c->set->dot->width[groups ? COMPUTE_F32 : compute];
    d->a.step = d->k;
    d->b.step = d->group * d->width;
    d->fma = routine_elementwise(c->set, OP_FMA, compute);
    if (sum->lanes > 1)
        d->spread = compile_memory_new(c, 2 * d->size * sum->lanes);
    struct instr *in = compile_add_step(c, sum->lanes > 1 ? step_dot_lanes : step_dot);
    in->detail = d;
    in->dst = sum->at;
    in->a = a->at;
    in->b = b->at;
}

static void emit_zero(struct compiler *c, const struct value *v)
{
    struct instr *in = compile_add_step(c, step_zero);
    in->dst = v->at;
    in->n = (uint32_t)compile_value_bytes(v);
}

static bool lies_in(const struct value *a, const struct value *b)
{
    return a->at >= b->at && a->at < b->at + compile_value_bytes(b);
}

struct value compile_dot(struct compiler *c, const struct expr *e, const struct value *into)
{
    enum compute compute = routine_compute_of(e->type.dtype);
    enum dtype computed = routine_compute_dtype(compute);
    struct dot_detail *d = arena_new(c->arena, struct dot_detail);
    bool defers = c->defers_dot && into;
    d->seen = into ? c->dot_seen : NULL;
    const bool starts_in_place = c->starts_in_place;
    c->defers_dot = c->starts_in_place = false;
    c->dot_seen = NULL;
    if (e->type.rank != 2 || !c->set->dot->dot[compute]) {
        compile_error(c, "dot is not available for %s of rank %d", dtype_table[e->type.dtype].name,
                      e->type.rank);
        return (struct value){.lanes = 1};
    }
    struct value result = {.dtype = e->type.dtype, .rank = e->type.rank};
    memcpy(result.extent, e->type.extent, sizeof result.extent);
    result.lanes = compile_expr_varying(c, e) ? c->lanes : 1;
    bool in_place = into && into->dtype == computed && compile_value_same_shape(into, &result);
    struct value room = in_place ? *into : compile_value_of_type(c, &e->type, result.lanes);
    uint32_t top = c->top;
    struct value a = {.at = NO_SLOT}, b = {.at = NO_SLOT};
    d->m = (size_t)result.extent[0];
    d->n = (size_t)result.extent[1];
    d->k = (size_t)e->args[0]->type.extent[1];
    d->lanes = result.lanes;
    const struct dot_grouping g = dot_grouping(c, e);
    d->group = 1;
    if (result.lanes == 1 && g.routine) {
        d->group = (size_t)g.group;
        d->flipped = g.flipped;
        d->dot = g.routine;
    }
    d->a = dot_operand(c, e, &g, 0, d, &a);
    d->b = dot_operand(c, e, &g, 1, d, &b);
    d->deferred = defers ? c->deferral->deferred : NO_SLOT;
    d->stored = defers && c->deferral->store;
    struct value sum = room;
    if (computed != room.dtype || lies_in(&a, &room) || lies_in(&b, &room))
        sum = compile_value_new(c, computed, result.rank, result.extent, result.lanes);
    if (e->count > 2) {
        const bool into_sum = starts_in_place && in_place && sum.at == room.at;
        struct value start = compile_expr(c, e->args[2], into_sum ? &sum : NULL);
        compile_value_transfer(c, &sum, &start);
    } else if (result.lanes == 1) {
        d->fresh = true;
    } else {
        emit_zero(c, &sum);
    }
    emit_dot(c, &sum, &a, &b, d, compute);
    if (defers) {
        c->deferral->value = sum;
        c->deferral->detail = d;
    }
    compile_value_transfer(c, &room, &sum);
    c->top = top;
    return room;
}

/* --- loops that defer products --- */

/* Returns whether the statement is sum = dot(tile, tile, sum) of packed tiles. */
static bool adds_tiles(const struct compiler *c, const struct stmt *s)
{
    if (s->kind != STMT_ASSIGN || s->target->op != OP_REF || s->target->sym->storage != ST_REG ||
        s->value->op != OP_DOT || s->value->count < 3 || s->value->type.rank != 2)
        return false;
    const struct expr *sum = s->value->args[2];
    if (sum->op != OP_REF || sum->sym != s->target->sym ||
        routine_compute_dtype(routine_compute_of(sum->type.dtype)) != sum->type.dtype)
        return false;
    for (int i = 0; i < 2; i++)
        if (!packed_tile_of(c, dot_tile(s->value, i)))
            return false;
    return true;
}

static bool forms_alike(const struct packed_form *x, const struct packed_form *y)
{
    return x->side == y->side && x->turned == y->turned && x->from == y->from && x->to == y->to &&
           x->group == y->group && x->flipped == y->flipped && x->lines == y->lines &&
           x->depth == y->depth;
}

/* Returns whether t adds to the sum of s, too, a product of the same form. */
static bool adds_alike(const struct compiler *c, const struct stmt *s, const struct stmt *t)
{
    if (s == t || !adds_tiles(c, t) || t->target->sym != s->target->sym)
        return s == t;
    for (int i = 0; i < 2; i++) {
        const struct packed_tile *x = packed_tile_of(c, dot_tile(s->value, i));
        if (!forms_alike(&x->form, &packed_tile_of(c, dot_tile(t->value, i))->form))
            return false;
    }
    return true;
}

bool compile_may_defer(const struct compiler *c, const struct stmt *loop, const struct stmt *s)
{
    if (!adds_tiles(c, s))
        return false;
    const struct sym *sum = s->target->sym;
    int own = 0;
    for (const struct stmt *t = loop->body; t; t = t->next)
        own += adds_alike(c, s, t) ? 2 : 0;
    return expr_mentions(loop->condition, sum) + stmt_mentions(loop->body, sum) +
               stmt_mentions(loop->step, sum) ==
           own;
}

bool compile_deferral_takes(const struct compiler *c, const struct stmt *s)
{
    const struct deferral *d = c->deferral;
    const struct stmt *t = d && d->sum ? d->loop->body : NULL;
    while (t && t != s)
        t = t->next;
    return t && adds_alike(c, d->sum, s);
}

void compile_deferral_begin(struct compiler *c, const struct stmt *loop, struct deferral *d)
{
    *d = (struct deferral){.deferred = NO_SLOT, .outer = c->deferral, .loop = loop};
    c->deferral = d;
    if (c->lanes > 1 || c->plain)
        return;
    for (const struct stmt *s = loop->body; s && !d->sum; s = s->next)
        if (compile_may_defer(c, loop, s))
            d->sum = s;
    if (!d->sum)
        return;
    bool fresh = c->fresh.loop == loop;
    d->deferred = fresh ? c->fresh.deferred : compile_memory_new(c, sizeof(struct dot_deferred));
    struct instr *in = compile_add_step(c, fresh ? step_dot_fresh : step_zero);
    in->dst = d->deferred;
    in->n = sizeof(struct dot_deferred);
    if (fresh) {
        c->fresh.loop = NULL;
        d->store = c->fresh.store;
    }
}

void compile_deferral_end(struct compiler *c, struct deferral *d)
{
    c->deferral = d->outer;
    if (!d->detail)
        return;
    if (d->store) {
        c->complete = *d;
        return;
    }
    struct instr *in = compile_add_step(c, step_dot_flush);
    in->detail = d->detail;
    in->dst = d->value.at;
    in->n = (uint32_t)compile_value_bytes(&d->value);
}

/* --- sums that begin with 0 and are stored to a view --- */

bool compile_sum_store(struct compiler *c, const struct expr *target)
{
    if (!c->complete.store || c->complete.store->target != target)
        return false;
    uint32_t top = c->top;
    struct dot_store_detail *d = arena_new(c->arena, struct dot_store_detail);
    const struct value *sum = &c->complete.value;
    *d = (struct dot_store_detail){.dot = c->complete.detail,
                                   .to = compile_access_new(c, target),
                                   .bytes = compile_value_bytes(sum)};
    enum dtype to = target->type.dtype;
    if (to != sum->dtype) {
        d->convert = c->set->convert->convert[to][sum->dtype];
        d->converted = compile_value_new(c, to, sum->rank, sum->extent, 1).at;
    }
    struct instr *in = compile_add_step(c, step_dot_store);
    in->detail = d;
    in->dst = c->complete.value.at;
    c->complete.store = NULL;
    c->top = top;
    return true;
}

/* Returns whether e is the sum, either unchanged or as f16 or bf16 if products can write these. */
static bool is_sum(const struct compiler *c, const struct expr *e, const struct sym *sum)
{
    bool halves = e->op == OP_CAST && sum->type.dtype == DT_F32 && c->set->dot->has_halves &&
                  dtype_is_half(e->type.dtype);
    if (halves)
        e = e->args[0];
    return e->op == OP_REF && e->sym == sum;
}

/* Returns the statement after the loop that stores the loop's sum, if no other statement names
 * the sum; else NULL. */
static const struct stmt *sum_store(const struct compiler *c, const struct stmt *loop,
                                    const struct sym *sum)
{
    const struct stmt *s = loop->next;
    while (s && s->kind == STMT_EFFECT && s->value->op == OP_ASYNC_WAIT)
        s = s->next;
    bool stores = s && s->kind == STMT_ASSIGN && s->target->op == OP_ACCESS &&
                  s->target->sym->storage == ST_VIEW && is_sum(c, s->value, sum) &&
                  s->target->type.dtype == s->value->type.dtype &&
                  type_same_shape(&s->target->type, &sum->type);
    return stores && stmt_mentions(loop->next, sum) == 1 ? s : NULL;
}

const struct stmt *compile_next_mention(const struct stmt *s, const struct sym *sym)
{
    for (const struct stmt *t = s->next; t; t = t->next) {
        struct stmt alone = *t;
        alone.next = NULL;
        if (stmt_mentions(&alone, sym) > 0)
            return t;
    }
    return NULL;
}

static bool is_zero(enum dtype t, const struct literal *v)
{
    return dtype_is_float(t) ? v->f == 0 && !signbit(v->f) : v->i == 0;
}

bool compile_sum_begins(struct compiler *c, const struct stmt *s, const struct value *v)
{
    struct literal start;
    if (c->fresh.loop || c->lanes > 1 || c->plain || s->sym->storage != ST_REG ||
        s->sym->type.rank != 2 || !s->value || !compile_expr_constant(c, s->value, &start) ||
        !is_zero(s->value->type.dtype, &start))
        return false;
    const struct stmt *loop = compile_next_mention(s, s->sym);
    if (!loop || (loop->kind != STMT_FOR && loop->kind != STMT_WHILE) ||
        stmt_mentions(loop->init, s->sym) > 0)
        return false;
    for (const struct stmt *t = loop->body; t; t = t->next)
        if (compile_may_defer(c, loop, t)) {
            if (t->target->sym != s->sym)
                return false;
            c->fresh.loop = loop;
            c->fresh.sum = *v;
            c->fresh.deferred = compile_memory_new(c, sizeof(struct dot_deferred));
            c->fresh.store = sum_store(c, loop, s->sym);
            return true;
        }
    return false;
}

void compile_sum_settle(struct compiler *c, const struct stmt *loop)
{
    if (c->fresh.loop != loop)
        return;
    emit_zero(c, &c->fresh.sum);
    c->fresh.loop = NULL;
}
