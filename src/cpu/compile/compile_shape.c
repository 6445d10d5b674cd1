/* Compiles operations on a tile as a whole: reductions, scans, changes of shape. */
#include "cpu/compile/compile.h"

#include <math.h>

/* --- reductions --- */

/* Stores the first result of an exclusive scan: the op's neutral element in the stored type,
 * represented in the type `computed`. */
static void scan_start(enum op op, enum dtype stored, enum dtype computed, void *start)
{
    const struct literal neutral = op_neutral(op, stored);
    if (neutral.is_float)
        dtype_store_f64(computed, start, neutral.f);
    else
        dtype_store_i64(computed, start, neutral.i);
}

/* Splits x into [outer][n][inner] around the axis; axis -1: n is all of x. */
static void split_at_axis(struct reduce_detail *d, const struct value *x, int axis)
{
    d->outer = d->n = 1;
    d->inner = x->lanes;
    for (int i = 0; i < x->rank; i++) {
        size_t n = (size_t)x->extent[i];
        if (axis < 0 || i == axis)
            d->n *= n;
        else if (i < axis)
            d->outer *= n;
        else
            d->inner *= n;
    }
}

static void emit_reduction(struct compiler *c, const struct expr *e, struct reduce_detail *d,
                           const struct value *to, const struct value *x)
{
    split_at_axis(d, x, e->axis);
    struct instr *in = compile_add_step(c, d->scan ? step_scan : step_reduce);
    in->detail = d;
    in->dst = to->at;
    in->a = x->at;
}

/* Emits the reduction of a row that may be in a view. */
static void emit_row_reduction(struct compiler *c, const struct expr *e, struct reduce_detail *d,
                               const struct value *to, const struct slot *row)
{
    emit_reduction(c, e, d, to, &row->value);
    struct instr *in = &c->code.data[c->code.count - 1];
    in->step = step_reduce_row;
    in->a = row->shown_at;
}

struct value compile_reduce(struct compiler *c, const struct expr *e, const struct value *into)
{
    if (compile_row_sum(c, e))
        return *compile_row_sum(c, e);
    bool scan = e->op == OP_SCAN;
    bool truth = e->op == OP_REDUCE_ANY || e->op == OP_REDUCE_ALL;
    enum compute compute = truth ? COMPUTE_BOOL : routine_compute_of(e->type.dtype);
    enum dtype computed = routine_compute_dtype(compute);
    struct reduce_detail *d = arena_new(c->arena, struct reduce_detail);
    const struct reduce_routines *routines = routine_reductions(c->set, compute);
    const int which = scan ? REDUCTION_SUM : (int)e->op - OP_REDUCE_SUM;
    d->reduce = scan ? NULL : routines->reduce[which][compute];
    d->scan = scan ? routine_scan(e->scan_op, compute) : NULL;
    d->exclusive = scan && e->exclusive;
    if (d->exclusive)
        scan_start(e->scan_op, e->type.dtype, computed, &d->start);
    if (!d->reduce && !d->scan) {
        compile_error(c, "%s is not available for %s", op_table[e->op].text,
                      dtype_table[e->type.dtype].name);
        return (struct value){.lanes = 1};
    }
    (void)into; /* operands may lie there */
    struct value result =
        compile_value_of_type(c, &e->type, compile_expr_varying(c, e) ? c->lanes : 1);
    uint32_t top = c->top;
    struct value x, to = result;
    if (computed != result.dtype)
        to = compile_value_new(c, computed, result.rank, result.extent, result.lanes);
    const struct slot *row =
        scan || e->args[0]->type.dtype != computed ? NULL : compile_row_as_shown(c, e->args[0]);
    if (row) {
        emit_row_reduction(c, e, d, &to, row);
    } else if (!compile_reduce_takes_chain(c, e)) {
        x = compile_value_convert(c, compile_expr(c, e->args[0], NULL), computed);
        emit_reduction(c, e, d, &to, &x);
    } else {
        struct chain_reduction chain = {d->reduce, routines->add[which][compute],
                                        routines->end[which][compute]};
        if (!compile_chain_reduce(c, e, &chain, &to, &x))
            emit_reduction(c, e, d, &to, &x);
    }
    compile_value_transfer(c, &result, &to);
    c->top = top;
    return result;
}

/* --- shapes --- */

static void add_axis(struct copy_detail *d, int64_t extent, int64_t dst, int64_t src)
{
    if (extent == 1)
        return;
    int i = d->nest.rank++;
    d->nest.extent[i] = extent;
    d->nest.dst[i] = dst;
    d->nest.src[i] = src;
}

static void emit_rearrangement(struct compiler *c, struct copy_detail *d, const struct value *to,
                               const struct value *from)
{
    if (to->lanes > 1)
        add_axis(d, to->lanes, 1, from->lanes > 1 ? 1 : 0);
    exec_nest_settle(&d->nest);
    d->copy = c->set->memory->copy_once[size_index(to->dtype)];
    struct instr *in = compile_add_step(c, step_copy);
    in->detail = d;
    in->dst = to->at;
    in->a = from->at;
}

static void compile_trans(struct compiler *c, const struct value *to, const struct value *from)
{
    struct copy_detail *d = arena_new(c->arena, struct copy_detail);
    int64_t dst[MAX_RANK], src[MAX_RANK];
    int rank = to->rank;
    compile_dense_strides(to->rank, to->extent, to->lanes, dst);
    compile_dense_strides(from->rank, from->extent, from->lanes, src);
    for (int i = 0; i < rank; i++) {
        int other = i == rank - 1 ? rank - 2 : i == rank - 2 ? rank - 1 : i;
        add_axis(d, to->extent[i], dst[i], src[other]);
    }
    emit_rearrangement(c, d, to, from);
}

/* Compiles repeat (copies outside, the operand's axis inside) or repeat_interleave (the other
 * way round). */
static void compile_repeat(struct compiler *c, enum op op, const struct value *to,
                           const struct value *from)
{
    struct copy_detail *d = arena_new(c->arena, struct copy_detail);
    int64_t dst[MAX_RANK], src[MAX_RANK];
    compile_dense_strides(to->rank, to->extent, to->lanes, dst);
    compile_dense_strides(from->rank, from->extent, from->lanes, src);
    for (int i = 0; i < to->rank; i++) {
        int own = i - (to->rank - from->rank);
        int64_t extent = own >= 0 ? from->extent[own] : 1, step = own >= 0 ? src[own] : 0;
        int64_t copies = to->extent[i] / extent;
        if (op == OP_REPEAT) {
            add_axis(d, copies, dst[i] * extent, 0);
            add_axis(d, extent, dst[i], step);
        } else {
            add_axis(d, extent, dst[i] * copies, step);
            add_axis(d, copies, dst[i], 0);
        }
    }
    emit_rearrangement(c, d, to, from);
}

static struct value compile_iota(struct compiler *c, const struct expr *e, const struct value *into)
{
    struct value v = {.dtype = DT_I32, .rank = e->type.rank, .lanes = 1};
    memcpy(v.extent, e->type.extent, sizeof v.extent);
    if (into && into->dtype == DT_I32 && compile_value_same_shape(into, &v))
        v = *into;
    else
        v = compile_value_new(c, DT_I32, v.rank, v.extent, 1);
    struct iota_detail *d = arena_new(c->arena, struct iota_detail);
    *d = (struct iota_detail){1, 1, 1};
    int axis = -1;
    for (int i = 0; i < v.rank; i++)
        if (v.extent[i] > 1)
            axis = i;
    for (int i = 0; i < v.rank; i++)
        *(i < axis ? &d->outer : i == axis ? &d->n : &d->inner) *= (size_t)v.extent[i];
    struct instr *in = compile_add_step(c, step_iota);
    in->detail = d;
    in->dst = v.at;
    return compile_value_convert(c, v, e->type.dtype);
}

/* Compiles an operation that only changes the type or the shape of the same elements. */
static struct value compile_alias(struct compiler *c, const struct expr *e)
{
    struct value v = compile_expr(c, e->args[0], NULL);
    if (e->type.dtype == DT_BOOL)
        v = compile_value_convert(c, v, DT_BOOL);
    v.dtype = e->type.dtype;
    v.rank = e->type.rank;
    memcpy(v.extent, e->type.extent, sizeof v.extent);
    return v;
}

struct value compile_shape(struct compiler *c, const struct expr *e, const struct value *into)
{
    if (e->op == OP_IOTA)
        return compile_iota(c, e, into);
    if (e->op == OP_BITS || e->op == OP_RESHAPE)
        return compile_alias(c, e);
    /* Never use *into: it may hold operands. */
    struct value to = compile_value_of_type(c, &e->type, compile_expr_varying(c, e) ? c->lanes : 1);
    uint32_t top = c->top;
    struct value from = compile_expr(c, e->args[0], NULL);
    if (e->op == OP_TRANS)
        compile_trans(c, &to, &from);
    else if (e->op == OP_BROADCAST)
        compile_value_transfer(c, &to, &from);
    else
        compile_repeat(c, e->op, &to, &from);
    c->top = top;
    return to;
}
