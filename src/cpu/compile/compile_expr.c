/* Compiles expressions: every operation becomes a step over the whole value. */
#include "cpu/compile/compile.h"
#include "tile/lookup.h"

/* --- operations by class --- */

/* Compiles an operand that the routine takes as `computed`; if the operand is a cast to that
 * type, the step does the cast. */
static struct value operand(struct compiler *c, const struct expr *e, enum dtype computed)
{
    if (e->op == OP_CAST && e->type.dtype == computed && e->args[0]->type.dtype != DT_BOOL &&
        e->args[0]->op != OP_LITERAL)
        e = e->args[0];
    return compile_expr(c, e, NULL);
}

static void check_divisor(struct compiler *c, const struct value *divisor, enum dtype computed)
{
    uint32_t top = c->top;
    struct value values[3] = {
        compile_value_new(c, DT_BOOL, divisor->rank, divisor->extent, divisor->lanes), *divisor,
        compile_value_constant(c, computed, (struct literal){0})};
    enum dtype types[3] = {DT_BOOL, computed, computed};
    compile_add_elementwise(c, routine_elementwise(c->set, OP_NE, routine_compute_of(computed)), 3,
                            values, types);
    struct divisor_detail *d = arena_new(c->arena, struct divisor_detail);
    d->rank = divisor->rank;
    memcpy(d->extent, divisor->extent, sizeof d->extent);
    struct instr *in = compile_add_step(c, step_divisor);
    in->detail = d;
    in->a = values[0].at;
    in->n = (uint32_t)compile_value_elements(divisor);
    in->c = divisor->lanes;
    in->mask = divisor->lanes > 1 ? c->mask : NO_SLOT;
    c->top = top;
}

static struct value compile_operation(struct compiler *c, const struct expr *e,
                                      const struct value *into)
{
    struct value values[MOST_OPERANDS];
    struct operation o;
    if (!compile_describe_operation(c, e, &o)) {
        compile_error(c, "%s is not an operation on elements", op_table[e->op].id);
        return (struct value){.lanes = 1};
    }
    values[0] = compile_result_place(c, e, into);
    uint32_t top = c->top;
    for (int i = 1; i < o.operands; i++)
        values[i] = operand(c, e->args[i - 1], o.types[i]);
    if (compile_needs_divisor_check(c, e))
        check_divisor(c, &values[2], o.types[2]);
    compile_add_elementwise(c, o.kernel, o.operands, values, o.types);
    c->top = top;
    return values[0];
}

/* Compiles a seed or an offset to the 64 bits that philox takes. */
static struct value philox_operand(struct compiler *c, const struct expr *e)
{
    struct value v = compile_expr(c, e, NULL);
    return dtype_size(v.dtype) < 8 ? compile_value_convert(c, v, DT_U64) : v;
}

static struct value compile_philox(struct compiler *c, const struct expr *e,
                                   const struct value *into)
{
    struct value values[4] = {compile_result_place(c, e, into)};
    enum dtype types[4] = {DT_U32, DT_U64, DT_U64, DT_U32};
    uint32_t top = c->top;
    values[1] = philox_operand(c, e->args[0]);
    values[2] = philox_operand(c, e->args[1]);
    values[3] = e->count > 2 ? compile_expr(c, e->args[2], NULL)
                             : compile_value_constant(c, DT_U32, (struct literal){0});
    compile_add_elementwise(c, c->set->elementwise->philox, 4, values, types);
    c->top = top;
    return values[0];
}

/* Returns the table's values in the form that they have in memory. */
static const unsigned char *table_bytes(struct compiler *c, const struct sym *table)
{
    const size_t size = dtype_size(table->type.dtype);
    unsigned char *bytes = arena_alloc(c->arena, (size_t)table->type.extent[0] * size);
    for (int64_t i = 0; i < table->type.extent[0]; i++)
        literal_store(table->type.dtype, bytes + (size_t)i * size, &table->table[i]);
    return bytes;
}

/* Adds the indices of several axes, which the message of a fault names. */
static void add_places(struct compiler *c, const struct expr *e, struct lookup_detail *d)
{
    struct lookup_index list[MAX_RANK];
    d->combined = e->axis > 0;
    d->count = lookup_indices(e, list);
    d->places = arena_array(c->arena, struct lookup_place, d->count);
    for (int i = 0; i < d->count; i++) {
        struct lookup_place *p = &d->places[i];
        *p = (struct lookup_place){
            .at = NO_SLOT, .extent = list[i].extent, .text = lookup_place(c->arena, e, &list[i])};
        const struct expr *x = list[i].value;
        bool kept = x->op == OP_REF && (x->type.dtype == DT_I32 || x->type.dtype == DT_I64);
        if (list[i].is_whole || (x->type.rank > 0 && !kept))
            continue;
        struct value index = compile_expr(c, x, NULL);
        if (x->type.rank == 0)
            index = compile_value_convert(c, index, DT_I64);
        p->at = index.at;
        p->dtype = index.dtype;
        p->count = type_elements(&x->type);
        p->lanes = index.lanes;
    }
}

static struct value compile_lookup(struct compiler *c, const struct expr *e,
                                   const struct value *into)
{
    struct value to = compile_result_place(c, e, into);
    uint32_t top = c->top;
    struct value index = compile_value_convert(c, compile_expr(c, e->args[1], NULL), DT_I32);
    struct lookup_detail *d = arena_new(c->arena, struct lookup_detail);
    *d = (struct lookup_detail){
        .table = e->sym, .bytes = table_bytes(c, e->sym), .size = dtype_size(e->type.dtype)};
    add_places(c, e, d);
    struct instr *in = compile_add_step(c, step_lookup);
    in->detail = d;
    in->dst = to.at;
    in->a = index.at;
    in->n = (uint32_t)type_elements(&e->type);
    in->c = index.lanes;
    in->mask = index.lanes > 1 ? c->mask : NO_SLOT;
    c->top = top;
    return to;
}

static struct value compile_cast(struct compiler *c, const struct expr *e, const struct value *into)
{
    if (e->args[0]->type.dtype == e->type.dtype)
        return compile_expr(c, e->args[0], into);
    struct value to = compile_result_place(c, e, into);
    uint32_t top = c->top;
    compile_value_convert_into(c, compile_expr(c, e->args[0], NULL), &to);
    c->top = top;
    return to;
}

/* --- lazy operations on scalars --- */

/* Emits *to = e in the lanes that run under `mask`. */
static void compile_under(struct compiler *c, uint32_t mask, const struct expr *e,
                          const struct value *to)
{
    struct label skip = {0};
    uint32_t outer = c->mask, top = c->top;
    compile_add_jump(c, step_jump_none, mask, &skip);
    c->mask = mask;
    struct value v = compile_expr(c, e, NULL);
    compile_value_assign(c, to, &v);
    c->mask = outer;
    c->top = top;
    compile_label_place(c, &skip);
}

/* Compiles a selection with a uniform condition: a jump. */
static void select_by_jump(struct compiler *c, const struct expr *e, const struct value *to)
{
    struct label other = {0}, end = {0};
    struct value condition = compile_value_convert(c, compile_expr(c, e->args[0], NULL), DT_BOOL);
    compile_add_jump(c, step_jump_unless, condition.at, &other);
    compile_into(c, e->args[1], to);
    compile_add_jump(c, step_jump, 0, &end);
    compile_label_place(c, &other);
    compile_into(c, e->args[2], to);
    compile_label_place(c, &end);
}

/* Compiles a selection between a load and one value as a masked load: lanes that do not load get
 * the value. false: e is another selection. */
static bool select_load(struct compiler *c, const struct expr *e, const struct value *to)
{
    uint32_t masks[2];
    for (int side = 1; side < 3 && !c->plain; side++) {
        const struct expr *load = e->args[side], *other = e->args[3 - side];
        if (load->op != OP_ACCESS || !compile_expr_harmless(c, other) ||
            compile_expr_varying(c, other))
            continue;
        uint32_t top = c->top;
        struct value rest = compile_value_convert(c, compile_expr(c, other, NULL), to->dtype);
        compile_masks(c, e->args[0], &masks[0], side == 2 ? &masks[1] : NULL);
        bool done = compile_load_masked(c, load, masks[side - 1], to, &rest);
        c->top = top;
        if (done)
            return true;
    }
    return false;
}

static void select_by_masks(struct compiler *c, const struct expr *e, const struct value *to)
{
    uint32_t yes, no;
    if (select_load(c, e, to))
        return;
    compile_masks(c, e->args[0], &yes, &no);
    compile_under(c, yes, e->args[1], to);
    compile_under(c, no, e->args[2], to);
}

static struct value compile_select(struct compiler *c, const struct expr *e,
                                   const struct value *into)
{
    bool varying = compile_expr_varying(c, e->args[0]);
    struct expr where = *e;
    where.op = OP_WHERE;
    if (varying && compile_expr_harmless(c, e->args[1]) && compile_expr_harmless(c, e->args[2]))
        return compile_operation(c, &where, into);
    struct value to = compile_result_place(c, e, into);
    uint32_t top = c->top;
    if (varying)
        select_by_masks(c, e, &to);
    else
        select_by_jump(c, e, &to);
    c->top = top;
    return to;
}

static struct value compile_lazy_logic(struct compiler *c, const struct expr *e,
                                       const struct value *into)
{
    if (e->type.rank > 0 || compile_expr_harmless(c, e->args[1]))
        return compile_operation(c, e, into);
    struct value to = compile_result_place(c, e, into);
    uint32_t top = c->top;
    bool both = e->op == OP_LAND;
    if (!compile_expr_varying(c, e->args[0])) {
        struct label end = {0};
        struct value first = compile_value_convert(c, compile_expr(c, e->args[0], NULL), DT_BOOL);
        compile_value_transfer(c, &to, &first);
        compile_add_jump(c, both ? step_jump_unless : step_jump_if, to.at, &end);
        compile_into(c, e->args[1], &to);
        compile_label_place(c, &end);
    } else {
        compile_into(c, e->args[0], &to);
        uint32_t rest = compile_mask_new(c);
        compile_add_mask(c, both ? step_mask_and : step_mask_and_not, rest, c->mask, to.at);
        compile_under(c, rest, e->args[1], &to);
    }
    c->top = top;
    return to;
}

/* --- leaves --- */

static struct value compile_index(struct compiler *c, const struct expr *e)
{
    bool varying = e->op == OP_THREAD && !c->first_lane;
    struct value v = {.dtype = DT_I32, .lanes = varying ? c->lanes : 1};
    uint32_t axis = (uint32_t)e->axis;
    v.at = e->op == OP_THREAD    ? c->thread_at[axis]
           : e->op == OP_BLOCK   ? c->program->block_at + axis * 4
           : e->op == OP_CLUSTER ? c->program->cluster_at + axis * 4
                                 : c->program->grid_at + axis * 4;
    return compile_value_convert(c, v, e->type.dtype);
}

static struct value compile_ref(struct compiler *c, const struct expr *e, const struct value *into)
{
    const struct sym *s = e->sym;
    if (s->storage == ST_SHARED || s->storage == ST_VIEW)
        return compile_load(c, e, into);
    if (s->storage == ST_CONST || (s->storage == ST_PARAM && s->has_value))
        return compile_value_constant(c, e->type.dtype, s->value);
    compile_row_load(c, s);
    struct value v = compile_slot_of(c, s)->value;
    if (v.lanes == 0)
        compile_error(c, "%s is used before it is declared", s->name);
    if (c->first_lane)
        v.lanes = 1;
    return compile_value_convert(c, v, e->type.dtype);
}

struct value compile_expr_by_op(struct compiler *c, const struct expr *e, const struct value *into)
{
    struct loc outer = c->loc;
    struct value v;
    if (e->loc.source)
        c->loc = e->loc;
    if ((c->first_lane || c->unrolling > 0) && compile_known(c, e, &v)) {
        c->loc = outer;
        return v;
    }
    if (compile_is_chain(c, e)) {
        v = compile_chain(c, e, into);
        c->loc = outer;
        return v;
    }
    switch (e->op) {
    case OP_LITERAL: v = compile_value_constant(c, e->type.dtype, e->literal); break;
    case OP_REF: v = compile_ref(c, e, into); break;
    case OP_BLOCK:
    case OP_GRID:
    case OP_CLUSTER:
    case OP_THREAD: v = compile_index(c, e); break;
    case OP_ACCESS: v = compile_load(c, e, into); break;
    case OP_LAND:
    case OP_LOR: v = compile_lazy_logic(c, e, into); break;
    case OP_SELECT: v = compile_select(c, e, into); break;
    case OP_CAST: v = compile_cast(c, e, into); break;
    case OP_PHILOX: v = compile_philox(c, e, into); break;
    case OP_LOOKUP: v = compile_lookup(c, e, into); break;
    case OP_SCAN: v = compile_reduce(c, e, into); break;
    case OP_DOT: v = compile_dot(c, e, into); break;
    case OP_BITS:
    case OP_TRANS:
    case OP_RESHAPE:
    case OP_REPEAT:
    case OP_REPEAT_INTERLEAVE:
    case OP_BROADCAST:
    case OP_IOTA: v = compile_shape(c, e, into); break;
    default:
        v = op_is_atomic(e->op)      ? compile_atomic(c, e, true)
            : op_is_reduction(e->op) ? compile_reduce(c, e, into)
                                     : compile_operation(c, e, into);
        break;
    }
    c->loc = outer;
    return v;
}
