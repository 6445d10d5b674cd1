/* Compiles accesses: loads, stores, asynchronous copies, atomics, locks. */
#include "cpu/atomic_ops.h"
#include "cpu/compile/compile.h"

static bool only_elements(const struct access *a)
{
    for (int i = 0; i < a->rank; i++)
        if (a->axis[i].kind != IX_ELEMENT)
            return false;
    return true;
}

bool compile_access_alias(struct compiler *c, const struct expr *e, struct value *out)
{
    const struct sym *s = e->sym;
    int64_t at = 0, step = 1;
    if (s->storage != ST_ARRAY && s->storage != ST_REG)
        return false;
    for (int i = s->type.rank - 1; i >= 0; i--) {
        struct literal index;
        if (i < e->indices) {
            if (e->index[i].kind != IX_ELEMENT ||
                !compile_expr_constant(c, e->index[i].value, &index) || index.i < 0 ||
                index.i >= s->type.extent[i])
                return false;
            at += index.i * step;
        }
        step *= s->type.extent[i];
    }
    compile_row_load(c, s);
    *out = compile_slot_of(c, s)->value;
    out->at += (uint32_t)((size_t)at * out->lanes * dtype_size(out->dtype));
    out->rank = e->type.rank;
    memcpy(out->extent, e->type.extent, sizeof out->extent);
    return out->lanes > 0;
}

/* --- loads --- */

/* Compiles the `else` of a load, before the load: one value for the elements beyond the edge, or
 * a tile that the load then overwrites where it is inside. */
static void compile_otherwise(struct compiler *c, const struct expr *e, struct access *a,
                              const struct value *to)
{
    struct value otherwise =
        compile_value_convert(c, compile_expr(c, e->otherwise, NULL), e->sym->type.dtype);
    a->otherwise = otherwise.at;
    a->otherwise_lanes = otherwise.lanes;
    a->guarded = only_elements(a);
    if (otherwise.lanes > 1)
        a->lanes = c->lanes;
    if (otherwise.rank > 0) {
        compile_value_transfer(c, to, &otherwise);
        a->keep = true;
    }
}

struct value compile_load(struct compiler *c, const struct expr *e, const struct value *into)
{
    struct value to;
    if (compile_access_alias(c, e, &to))
        return compile_value_convert(c, to, e->type.dtype);
    struct value wanted = {.dtype = e->sym->type.dtype, .rank = e->type.rank};
    wanted.lanes = compile_expr_varying(c, e) ? c->lanes : 1;
    memcpy(wanted.extent, e->type.extent, sizeof wanted.extent);
    if (into && into->dtype == wanted.dtype && compile_value_same_shape(into, &wanted))
        to = *into;
    else
        to = compile_value_new(c, wanted.dtype, wanted.rank, wanted.extent, wanted.lanes);
    uint32_t top = c->top;
    struct access *a = compile_access_new(c, e);
    if (e->otherwise)
        compile_otherwise(c, e, a, &to);
    step_fn *step = step_load;
    if (a->lanes == 1 && compile_loads_row(c, a))
        a->prefetch = compile_row_prefetch_new(c);
    if (a->lanes > 1)
        step = compile_note_strided(c, a, false) ? step_load_strided : step_load_lanes;
    struct instr *in = compile_add_step(c, step);
    in->detail = a;
    in->dst = to.at;
    in->mask = c->mask;
    c->top = top;
    return compile_value_convert(c, to, e->type.dtype);
}

static bool has_even_lanes(const struct compiler *c, const struct expr *e)
{
    int64_t step[3];
    for (int i = 0; i < e->indices; i++) {
        const struct expr *index = e->index[i].value;
        if (e->index[i].kind == IX_GATHER || (index && !compile_expr_affine(c, index, step)))
            return false;
    }
    return compile_expr_varying(c, e);
}

bool compile_load_masked(struct compiler *c, const struct expr *e, uint32_t mask,
                         const struct value *to, const struct value *rest)
{
    if (c->plain || e->op != OP_ACCESS || e->otherwise || !has_even_lanes(c, e) ||
        (e->sym->storage != ST_VIEW && e->sym->storage != ST_SHARED) || to->lanes != c->lanes ||
        to->dtype != e->sym->type.dtype || to->dtype != e->type.dtype || to->rank != e->type.rank ||
        (rest && (rest->lanes > 1 || rest->rank > 0 || rest->dtype != to->dtype)))
        return false;
    uint32_t top = c->top;
    struct access *a = compile_access_new(c, e);
    compile_note_strided(c, a, false);
    a->rest = rest ? rest->at : NO_SLOT;
    a->spare = compile_value_new(c, to->dtype, to->rank, to->extent, to->lanes).at;
    struct instr *in = compile_add_step(c, step_load_masked);
    in->detail = a;
    in->dst = to->at;
    in->mask = mask;
    c->top = top;
    return true;
}

/* --- stores --- */

/* Returns the shape that a value must have to be stored through the access. */
static struct value stored_like(const struct expr *target, uint32_t lanes)
{
    struct value like = {.dtype = target->sym->type.dtype, .rank = target->type.rank};
    like.lanes = lanes;
    memcpy(like.extent, target->type.extent, sizeof like.extent);
    return like;
}

/* Returns whether `to = from` moves elements between a view's array and a shared tile. These are
 * different memories, so the two sides never overlap. */
static bool is_move(const struct compiler *c, const struct expr *to, const struct expr *from)
{
    enum storage here = to->sym->storage, there = from->op == OP_ACCESS ? from->sym->storage : here;
    return !c->plain && to->op == OP_ACCESS && !from->otherwise &&
           ((here == ST_SHARED && there == ST_VIEW) || (here == ST_VIEW && there == ST_SHARED)) &&
           to->sym->type.dtype == from->sym->type.dtype &&
           from->type.dtype == from->sym->type.dtype && type_same_shape(&to->type, &from->type) &&
           has_even_lanes(c, to) && has_even_lanes(c, from);
}

/* Compiles to = from, or to = condition ? from : value: emits a step that does all of it if it
 * can and then jumps to `end`; if not, it continues with the steps that follow. */
static void compile_move(struct compiler *c, const struct expr *to, const struct expr *value,
                         struct label *end)
{
    bool select = value->op == OP_SELECT && compile_expr_varying(c, value->args[0]);
    const struct expr *from = select ? value->args[1] : value;
    const struct expr *rest = select ? value->args[2] : NULL;
    if (!is_move(c, to, from) ||
        (select && (!compile_expr_harmless(c, value->args[0]) || !compile_expr_harmless(c, rest) ||
                    compile_expr_varying(c, rest) || value->type.dtype != from->type.dtype)))
        return;
    uint32_t top = c->top;
    struct move_detail *d = arena_new(c->arena, struct move_detail);
    struct access *source = compile_access_new(c, from), *target = compile_access_new(c, to);
    if (!compile_note_strided(c, source, false) || !compile_note_strided(c, target, true))
        return;
    d->from = source;
    d->to = target;
    d->yes = NO_SLOT;
    if (select) {
        d->rest = compile_value_convert(c, compile_expr(c, rest, NULL), from->type.dtype).at;
        compile_masks(c, value->args[0], &d->yes, NULL);
    }
    compile_add_jump(c, step_move, 0, end);
    struct instr *in = &c->code.data[c->code.count - 1];
    in->detail = d;
    in->mask = c->mask;
    c->top = top;
}

static void store_value(struct compiler *c, const struct expr *target, const struct expr *value);

void compile_store(struct compiler *c, const struct expr *target, const struct expr *value)
{
    struct label end = {0};
    compile_move(c, target, value, &end);
    store_value(c, target, value);
    compile_label_place(c, &end);
}

static void store_value(struct compiler *c, const struct expr *target, const struct expr *value)
{
    if (compile_sum_store(c, target) ||
        (compile_store_takes_chain(c, target, value) && compile_chain_store(c, target, value)))
        return;
    uint32_t top = c->top;
    struct value alias;
    struct value v = compile_expr(c, value, NULL);
    if (compile_access_alias(c, target, &alias)) {
        if (v.lanes > alias.lanes)
            compile_error(c, "a value that differs between threads is stored where all threads "
                             "need the same one");
        else
            compile_value_assign(c, &alias, &v);
        c->top = top;
        return;
    }
    struct access *a = compile_access_new(c, target);
    if (v.lanes > 1 && a->local_lanes == 1)
        a->lanes = c->lanes;
    struct value like = stored_like(target, a->lanes > a->local_lanes ? a->lanes : a->local_lanes);
    v = compile_value_like(c, v, &like);
    step_fn *step = step_store;
    if (a->lanes > 1)
        step = compile_note_strided(c, a, true) ? step_store_strided : step_store_lanes;
    struct instr *in = compile_add_step(c, step);
    in->detail = a;
    in->a = v.at;
    in->mask = c->mask;
    c->top = top;
}

void compile_shared_poison(struct compiler *c, const struct expr *whole)
{
    const struct access *a = compile_access_new(c, whole);
    compile_add_step(c, step_shared_poison)->detail = a;
}

/* --- asynchronous copies --- */

void compile_async(struct compiler *c, const struct stmt *s)
{
    uint32_t top = c->top;
    struct async_detail *d = arena_new(c->arena, struct async_detail);
    if (s->target->sym->storage == ST_VIEW) { /* a store in the background is done at once */
        compile_store(c, s->target, s->value);
        return;
    }
    if (s->barrier)
        d->barrier = compile_mbarrier_new(c, s->barrier, s->multicast);
    step_fn *step = s->barrier ? step_tensor_copy : step_async_copy;
    if (packed_tile_of(c, s->target)) {
        d->packed = packed_fill_new(c, s->target, s->value);
        d->from = d->packed->from;
        d->to = d->packed->to;
        compile_add_step(c, step)->detail = d;
        c->top = top;
        return;
    }
    struct access *from = compile_access_new(c, s->value), *to = compile_access_new(c, s->target);
    d->from = from;
    d->to = to;
    d->buffer = c->async_buffer;
    d->dtype = s->value->sym->type.dtype;
    if (s->value->otherwise) {
        struct value v =
            compile_value_convert(c, compile_expr(c, s->value->otherwise, NULL), d->dtype);
        from->otherwise = v.at;
        if (v.rank > 0 || v.lanes > 1)
            compile_error(c, "the `else` of an asynchronous copy must be a uniform scalar");
    }
    if (from->lanes > 1 || to->lanes > 1)
        compile_error(c, "an asynchronous copy needs the same addresses in all threads");
    if (d->dtype != s->target->sym->type.dtype || from->elements != to->elements)
        compile_error(c, "an asynchronous copy into %s changes type or shape",
                      s->target->sym->name);
    struct instr *in = compile_add_step(c, step);
    in->detail = d;
    c->top = top;
}

/* --- atomics --- */

/* Compiles an operand of an atomic in the element type: it has the target's shape, or is one
 * value for all elements. */
static struct value atomic_operand(struct compiler *c, const struct expr *e,
                                   const struct value *like, int64_t *step)
{
    struct value v = compile_value_convert(c, compile_expr(c, e, NULL), like->dtype);
    *step = v.rank > 0 ? 1 : 0;
    if (v.rank == 0)
        return v;
    struct value shape = *like;
    shape.lanes = v.lanes;
    return compile_value_like(c, v, &shape);
}

/* Returns the routine that adds a row of floats to memory at once: the blocks of such kernels run in
 * order. */
static elementwise_fn *atomic_row(const struct compiler *c, const struct expr *e,
                                  const struct atomic_detail *d)
{
    enum dtype t = e->args[0]->type.dtype;
    bool dense = d->value_step == 1 && d->value_lanes == 1 && d->access->lanes == 1;
    if (c->plain || e->op != OP_ATOMIC_ADD || !dense || d->old != NO_SLOT ||
        (t != DT_F32 && t != DT_F64))
        return NULL;
    return routine_elementwise(c->set, OP_ADD, routine_compute_of(t));
}

struct value compile_atomic(struct compiler *c, const struct expr *e, bool wanted)
{
    const struct expr *target = e->args[0];
    struct atomic_detail *d = arena_new(c->arena, struct atomic_detail);
    uint32_t lanes = compile_expr_varying(c, e) ? c->lanes : 1;
    struct value like = stored_like(target, lanes), old = like;
    if (wanted)
        old = compile_value_new(c, like.dtype, like.rank, like.extent, lanes);
    uint32_t top = c->top;
    struct access *a = compile_access_new(c, target);
    a->lanes = lanes;
    struct value value = atomic_operand(c, e->args[1], &like, &d->value_step);
    d->access = a;
    d->apply = cpu_atomic_op(e->op, like.dtype);
    d->value = value.at;
    d->value_lanes = value.lanes;
    d->desired = NO_SLOT;
    if (e->count > 2) {
        struct value desired = atomic_operand(c, e->args[2], &like, &d->desired_step);
        d->desired = desired.at;
        d->desired_lanes = desired.lanes;
    }
    d->old = wanted ? old.at : NO_SLOT;
    d->row = atomic_row(c, e, d);
    if (!d->apply)
        compile_error(c, "%s is not available for %s", op_table[e->op].text,
                      dtype_table[like.dtype].name);
    struct instr *in = compile_add_step(c, lanes > 1 ? step_atomic_lanes : step_atomic);
    in->detail = d;
    in->mask = c->mask;
    c->top = top;
    return old;
}

/* Compiles lock(element, v) and unlock(element, v). */
void compile_lock(struct compiler *c, const struct expr *e)
{
    uint32_t top = c->top;
    struct lock_detail *d = arena_new(c->arena, struct lock_detail);
    struct access *a = compile_access_new(c, e->args[0]);
    d->access = a;
    d->dtype = e->args[0]->sym->type.dtype;
    struct value v = compile_value_convert(c, compile_expr(c, e->args[1], NULL), d->dtype);
    d->value = v.at;
    if (a->lanes > 1 || v.lanes > 1)
        compile_error(c, "%s needs the same element and value in all threads",
                      op_table[e->op].text);
    if (dtype_size(d->dtype) < 4 || dtype_is_float(d->dtype))
        compile_error(c, "%s needs an i32, u32 or i64 element", op_table[e->op].text);
    step_fn *lock = c->roles ? step_role_lock : step_lock;
    struct instr *in = compile_add_step(c, e->op == OP_LOCK ? lock : step_unlock);
    in->detail = d;
    c->top = top;
}
