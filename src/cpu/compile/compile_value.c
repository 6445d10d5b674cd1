/* Values of expressions: where they are, how they are computed element by element, copied and converted. */
#include "cpu/compile/compile.h"

bool compile_expr_varying(const struct compiler *c, const struct expr *e)
{
    if (!e || c->lanes == 1 || c->first_lane)
        return false;
    if (e->op == OP_THREAD || op_is_atomic_of_thread(e->op))
        return true; /* an atomic is executed once for each thread, whatever its operands are */
    if (e->sym && (e->op == OP_REF || e->op == OP_ACCESS) && e->sym->type.varying &&
        (e->sym->storage == ST_SCALAR || e->sym->storage == ST_ARRAY))
        return true;
    bool varies = false, added = true;
    bool of_chain = e->count == 2; /* it is never a local variable, so its address may be a key */
    struct number_entry *known =
        of_chain ? number_map_entry(c->arena, c->varying, (uintptr_t)e, &added) : NULL;
    if (!added)
        return known->value;
    for (int i = 0; i < expr_children(e) && !varies; i++)
        varies = compile_expr_varying(c, expr_child(e, i));
    if (of_chain)
        number_map_find(c->varying, (uintptr_t)e)->value = varies;
    return varies;
}

static uint32_t expr_lanes(const struct compiler *c, const struct expr *e)
{
    return compile_expr_varying(c, e) ? c->lanes : 1;
}

/* --- elementwise steps --- */

/* Lays the loops of a result whose operands may have fewer axes, extents of 1, or one lane.
 * Neighbouring axes that every operand crosses evenly become one. */
static void lay_rows(struct rows_detail *d, const struct value *values)
{
    const struct value *result = &values[0];
    int64_t step[MOST_OPERANDS];
    int64_t extent[NEST_RANK], stride[MOST_OPERANDS][NEST_RANK];
    int rank = result->rank + 1;
    for (int i = 0; i < d->operands; i++) {
        const struct value *v = &values[i];
        stride[i][rank - 1] = v->lanes > 1 ? 1 : 0;
        step[i] = v->lanes;
        for (int axis = result->rank - 1; axis >= 0; axis--) {
            int own = axis - (result->rank - v->rank);
            int64_t n = own >= 0 ? v->extent[own] : 1;
            stride[i][axis] = n > 1 ? step[i] : 0;
            step[i] *= n;
        }
    }
    for (int axis = 0; axis < result->rank; axis++)
        extent[axis] = result->extent[axis];
    extent[rank - 1] = result->lanes;
    d->rank = 0;
    for (int axis = 0; axis < rank; axis++) {
        int last = d->rank - 1;
        bool merge = last >= 0;
        if (extent[axis] == 1)
            continue;
        for (int i = 0; i < d->operands && merge; i++)
            merge = d->operand[i].stride[last] == stride[i][axis] * extent[axis];
        if (!merge)
            last = d->rank++;
        d->extent[last] = merge ? d->extent[last] * extent[axis] : extent[axis];
        for (int i = 0; i < d->operands; i++)
            d->operand[i].stride[last] = stride[i][axis];
    }
    if (d->rank > 0)
        return;
    d->rank = 1;
    d->extent[0] = 1;
    for (int i = 0; i < d->operands; i++)
        d->operand[i].stride[0] = 1;
}

static bool rows_are_flat(const struct rows_detail *d)
{
    if (d->rank != 1)
        return false;
    for (int i = 0; i < d->operands; i++)
        if (d->operand[i].stride[0] != 1 || d->operand[i].convert)
            return false;
    return true;
}

void compile_add_elementwise(struct compiler *c, elementwise_fn *kernel, int operands,
                             const struct value *values, const enum dtype *computed)
{
    struct rows_detail *d = arena_new(c->arena, struct rows_detail);
    d->operands = operands;
    if (!kernel) {
        compile_error(c, "an operation is not available for %s",
                      dtype_table[values[operands - 1].dtype].name);
        return;
    }
    for (int i = 0; i < operands; i++) {
        struct row_operand *o = &d->operand[i];
        enum dtype t = values[i].dtype;
        o->at = values[i].at;
        o->size = (uint32_t)dtype_size(t);
        o->computed = (uint32_t)dtype_size(computed[i]);
        if (t != computed[i])
            o->convert = i == 0 ? c->set->convert->convert[t][computed[i]]
                                : c->set->convert->convert[computed[i]][t];
    }
    lay_rows(d, values);
    struct instr *in = compile_add_step(c, rows_are_flat(d) ? step_flat : step_rows);
    in->kernel = kernel;
    in->detail = d;
    in->n = (uint32_t)d->extent[0];
    in->dst = values[0].at;
    in->a = values[1].at;
    in->b = operands > 2 ? values[2].at : 0;
    in->c = operands > 3 ? values[3].at : 0;
}

/* Describes an operation whose result and operands are computed in one type. Comparisons are the
 * exception: their result is bytes. */
static void describe_arithmetic(const struct compiler *c, const struct expr *e, struct operation *o)
{
    enum dtype t = e->type.dtype;
    bool compares = op_table[e->op].class == CLASS_COMPARE;
    if (compares)
        t = dtype_join(e->args[0]->type.dtype, e->args[1]->type.dtype);
    if (compares && e->args[0]->type.dtype == DT_BOOL && e->args[1]->type.dtype == DT_BOOL)
        t = DT_BOOL;
    if (op_table[e->op].class == CLASS_ARITH && t == DT_BOOL)
        t = DT_I32;
    enum dtype computed = routine_compute_dtype(routine_compute_of(t));
    o->kernel = routine_elementwise(c->set, e->op, routine_compute_of(t));
    if (e->op == OP_FMA && dtype_is_half(t)) {
        o->kernel = t == DT_F16 ? c->set->elementwise->fma_f16 : c->set->elementwise->fma_bf16;
        computed = t;
    }
    for (int i = 0; i < MOST_OPERANDS; i++)
        o->types[i] = i == 0 && compares ? DT_BOOL : computed;
}

/* Describes a shift. The amount is not wrapped to the type of the shifted operand, so a wide
 * amount makes the shift wide. */
static void describe_shift(const struct compiler *c, const struct expr *e, struct operation *o)
{
    enum dtype t = e->type.dtype, amount = e->args[1]->type.dtype;
    enum dtype computed = routine_compute_dtype(routine_compute_of(t));
    if (dtype_size(amount) == 8 && dtype_size(computed) < 8)
        computed = dtype_is_signed(t) ? DT_I64 : DT_U64;
    o->kernel = routine_elementwise(c->set, e->op, routine_compute_of(computed));
    o->types[0] = o->types[1] = o->types[2] = computed;
}

bool compile_describe_operation(const struct compiler *c, const struct expr *e, struct operation *o)
{
    enum dtype t = e->type.dtype;
    o->operands = e->count + 1;
    switch (e->op) {
    case OP_SHL:
    case OP_SHR: describe_shift(c, e, o); return true;
    case OP_NOT:
    case OP_LAND:
    case OP_LOR:
        o->kernel = routine_elementwise(c->set, e->op, COMPUTE_BOOL);
        o->types[0] = o->types[1] = o->types[2] = DT_BOOL;
        return true;
    case OP_WHERE:
        o->kernel = c->set->elementwise->select[size_index(t)];
        o->types[0] = o->types[2] = o->types[3] = t;
        o->types[1] = DT_BOOL;
        return true;
    default: break;
    }
    enum op_class class = op_table[e->op].class;
    if (class != CLASS_ARITH && class != CLASS_COMPARE && class != CLASS_FLOAT &&
        class != CLASS_BITWISE)
        return false;
    describe_arithmetic(c, e, o);
    return true;
}

/* --- copies and conversions --- */

struct value compile_value_convert_into(struct compiler *c, struct value v, const struct value *to)
{
    struct convert_detail *d = arena_new(c->arena, struct convert_detail);
    d->convert = c->set->convert->convert[to->dtype][v.dtype];
    struct instr *in = compile_add_step(c, step_convert);
    in->detail = d;
    in->dst = to->at;
    in->a = v.at;
    in->n = (uint32_t)(compile_value_elements(&v) * v.lanes);
    return *to;
}

struct value compile_value_convert(struct compiler *c, struct value v, enum dtype t)
{
    if (v.dtype == t)
        return v;
    struct value to = compile_value_new(c, t, v.rank, v.extent, v.lanes);
    return compile_value_convert_into(c, v, &to);
}

void compile_value_transfer(struct compiler *c, const struct value *dst, const struct value *src)
{
    struct value from = *src;
    if (dst->at == from.at && dst->dtype == from.dtype && compile_value_same_shape(dst, &from))
        return;
    if (from.dtype != dst->dtype && compile_value_same_shape(dst, &from)) {
        compile_value_convert_into(c, from, dst);
        return;
    }
    from = compile_value_convert(c, from, dst->dtype);
    struct rows_detail rows = {.operands = 2};
    const struct value values[2] = {*dst, from};
    lay_rows(&rows, values);
    struct copy_detail *d = arena_new(c->arena, struct copy_detail);
    d->copy = c->set->memory->copy_once[size_index(dst->dtype)];
    d->nest.rank = rows.rank;
    for (int i = 0; i < rows.rank; i++) {
        d->nest.extent[i] = rows.extent[i];
        d->nest.dst[i] = rows.operand[0].stride[i];
        d->nest.src[i] = rows.operand[1].stride[i];
    }
    struct instr *in = compile_add_step(c, step_copy);
    in->detail = d;
    in->dst = dst->at;
    in->a = from.at;
}

struct value compile_value_like(struct compiler *c, struct value v, const struct value *like)
{
    if (v.dtype == like->dtype && compile_value_same_shape(&v, like))
        return v;
    struct value to = compile_value_new(c, like->dtype, like->rank, like->extent, like->lanes);
    compile_value_transfer(c, &to, &v);
    return to;
}

void compile_value_assign(struct compiler *c, const struct value *dst, const struct value *src)
{
    if (dst->lanes == 1 || c->mask == NO_SLOT) {
        compile_value_transfer(c, dst, src);
        return;
    }
    struct value from = compile_value_like(c, *src, dst);
    if (from.at == dst->at)
        return;
    struct blend_detail *d = arena_new(c->arena, struct blend_detail);
    d->blend = c->set->memory->blend[size_index(dst->dtype)];
    d->rows = (uint32_t)compile_value_elements(dst);
    d->size = (uint32_t)dtype_size(dst->dtype);
    struct instr *in = compile_add_step(c, step_blend);
    in->detail = d;
    in->dst = dst->at;
    in->a = from.at;
    in->mask = c->mask;
}

void compile_into(struct compiler *c, const struct expr *e, const struct value *to)
{
    uint32_t top = c->top;
    bool fits = e->type.dtype == to->dtype && expr_lanes(c, e) == to->lanes;
    struct value v = compile_expr(c, e, fits ? to : NULL);
    if (v.lanes > to->lanes)
        compile_error(
            c, "a value that differs between threads is used where all threads need the same one");
    else
        compile_value_transfer(c, to, &v);
    c->top = top;
}

struct value compile_result_place(struct compiler *c, const struct expr *e,
                                  const struct value *into)
{
    struct value wanted = {.dtype = e->type.dtype, .rank = e->type.rank};
    wanted.lanes = expr_lanes(c, e);
    memcpy(wanted.extent, e->type.extent, sizeof wanted.extent);
    if (into && into->dtype == wanted.dtype && compile_value_same_shape(into, &wanted))
        return *into;
    return compile_value_of_type(c, &e->type, wanted.lanes);
}
