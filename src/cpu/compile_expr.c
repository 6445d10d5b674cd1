/* Compiles expressions: every operation becomes a step over the whole value. */
#include "cpu/compile.h"
#include "tile/lookup.h"

/* --- facts known at compile time --- */

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
    for (int i = 0; i < e->count && !varies; i++)
        varies = compile_expr_varying(c, e->args[i]);
    for (int i = 0; i < e->indices && !varies; i++)
        varies = compile_expr_varying(c, e->index[i].value);
    varies = varies || compile_expr_varying(c, e->otherwise);
    if (of_chain)
        number_map_find(c->varying, (uintptr_t)e)->value = varies;
    return varies;
}

static uint32_t expr_lanes(const struct compiler *c, const struct expr *e)
{
    return compile_expr_varying(c, e) ? c->lanes : 1;
}

bool compile_expr_harmless(const struct compiler *c, const struct expr *e)
{
    struct literal divisor;
    if (!e)
        return true;
    if (e->op == OP_ACCESS || !(op_table[e->op].flags & OP_PURE))
        return false;
    if (op_divides(e->op) && !dtype_is_float(e->type.dtype) &&
        !(compile_expr_constant(c, e->args[1], &divisor) && divisor.i != 0))
        return false;
    if (e->op == OP_REF && (e->sym->storage == ST_SHARED || e->sym->storage == ST_VIEW))
        return false;
    for (int i = 0; i < e->count; i++)
        if (!compile_expr_harmless(c, e->args[i]))
            return false;
    return true;
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

/* --- copies and conversions --- */

static struct value convert_into(struct compiler *c, struct value v, const struct value *to)
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
    return convert_into(c, v, &to);
}

void compile_value_transfer(struct compiler *c, const struct value *dst, const struct value *src)
{
    struct value from = *src;
    if (dst->at == from.at && dst->dtype == from.dtype && compile_value_same_shape(dst, &from))
        return;
    if (from.dtype != dst->dtype && compile_value_same_shape(dst, &from)) {
        convert_into(c, from, dst);
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
    if (e->op == OP_FMA && (t == DT_F16 || t == DT_BF16)) {
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

bool compile_needs_divisor_check(const struct compiler *c, const struct expr *e)
{
    struct literal constant;
    return op_divides(e->op) &&
           !dtype_is_float(routine_compute_dtype(routine_compute_of(e->type.dtype))) &&
           !(compile_expr_constant(c, e->args[1], &constant) && constant.i != 0);
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
    convert_into(c, compile_expr(c, e->args[0], NULL), &to);
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

struct value compile_expr(struct compiler *c, const struct expr *e, const struct value *into)
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
    case OP_REDUCE_SUM:
    case OP_REDUCE_MAX:
    case OP_REDUCE_MIN:
    case OP_REDUCE_ANY:
    case OP_REDUCE_ALL:
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
        v = op_is_atomic(e->op) ? compile_atomic(c, e, true) : compile_operation(c, e, into);
        break;
    }
    c->loc = outer;
    return v;
}
