/* Expressions on register tiles in the layouts of the plan. An operation on tiles is
 * one operation for each register. */
#include "emit/emit_fragment.h"
#include "plan/plan_layouts.h"

#include <assert.h>

/* --- operations --- */

/* Returns how many registers the operands have in each group, if some have groups, all of these of one number; else 1. */
static int32_t together(const struct fragment *args, int count)
{
    int32_t each = 1;
    for (int i = 0; i < count; i++) {
        if (args[i].groups && each > 1 && args[i].each != each)
            return 1;
        each = args[i].groups ? args[i].each : each;
    }
    return each;
}

/* Returns group g of an operand, or its only value. */
static struct scalar group_of(struct emit *m, const struct fragment *f, int32_t g, int32_t each)
{
    if (!f->groups && emit_fragment_is_uniform(f))
        return f->v[0];
    for (int32_t r = g * each; !f->groups && f->dtype == DT_BOOL && r < (g + 1) * each; r++)
        f->v[r].o = emit_predicate(m, f->v[r]);
    return (struct scalar){emit_fragment_part(m, f, g * each, each), f->dtype};
}

/* Operates on whole groups: one operation of thread IR for each. */
static struct fragment operate_on_groups(struct emit *m, const struct expr *e,
                                         const struct fragment *args, int32_t each,
                                         const struct layout *wanted)
{
    struct fragment out = {.dtype = e->type.dtype, .layout = wanted, .each = each};
    out.count = emit_registers(wanted);
    out.groups = arena_array(m->arena, struct thread_operand, out.count / each + 1);
    for (int32_t g = 0; g < out.count / each && !m->failed; g++) {
        struct scalar one[EMIT_MOST_ARGS] = {0};
        for (int i = 0; i < e->count; i++)
            one[i] = group_of(m, &args[i], g, each);
        out.groups[g] = emit_of_elements(m, e, one).o;
    }
    for (int32_t g = 0; g < out.count / each && !m->failed; g++) {
        const struct thread_operand *o = &out.groups[g]; /* it may have folded to one element */
        if (o->kind != THREAD_VALUE || o->value->type.count == 1)
            out.groups[g] = emit_splat(m, out.dtype, *o, each);
    }
    return out;
}

static struct fragment operate_on(struct emit *m, const struct expr *e, struct fragment *args,
                                  const struct layout *wanted)
{
    struct fragment out = emit_fragment_new(m, e->type.dtype, wanted);
    for (int i = 0; i < e->count; i++)
        emit_fragment_apart(m, &args[i]);
    for (int32_t r = 0; r < out.count && !m->failed; r++) {
        struct scalar one[EMIT_MOST_ARGS] = {0};
        for (int i = 0; i < e->count; i++)
            one[i] = args[i].v[r];
        out.v[r] = emit_of_elements(m, e, one);
    }
    return out;
}

static struct fragment operate(struct emit *m, const struct expr *e, const struct layout *wanted)
{
    struct fragment args[EMIT_MOST_ARGS];
    if (!emit_is_of_elements(e)) {
        emit_missing(m, e->loc, arena_printf(m->arena, "`%s` of tiles", op_table[e->op].text),
                     m->roles ? emit_way_out(e->op) : NULL);
        return emit_fragment_new(m, e->type.dtype, wanted);
    }
    for (int i = 0; i < e->count; i++) {
        args[i] = emit_fragment_grouped(m, e->args[i], wanted);
        if (!m->roles)
            emit_fragment_apart(m, &args[i]);
    }
    if (m->failed)
        return emit_fragment_new(m, e->type.dtype, wanted);
    if (e->op == OP_CAST)
        return emit_fragment_cast(m, &args[0], e->type.dtype);
    const int32_t each = m->roles && e->op != OP_LOOKUP ? together(args, e->count) : 1;
    return each > 1 ? operate_on_groups(m, e, args, each, wanted) : operate_on(m, e, args, wanted);
}

/* Chooses between two tiles by one condition. */
static struct fragment choose(struct emit *m, const struct expr *e, const struct layout *wanted)
{
    const enum dtype t = e->type.dtype;
    struct scalar c = emit_as(m, emit_scalar(m, e->args[0]), DT_BOOL);
    if (c.o.kind != THREAD_VALUE) {
        const struct fragment known = emit_fragment(m, e->args[c.o.integer ? 1 : 2], wanted);
        return emit_fragment_cast(m, &known, t);
    }
    struct fragment out = emit_fragment_new(m, t, wanted);
    emit_settle(m);
    const struct choice choice = emit_choice(m, c);
    for (int i = 1; i <= 2; i++) {
        emit_choice_arm(m, &choice);
        const struct fragment arm = emit_fragment(m, e->args[i], wanted);
        for (int32_t r = 0; r < out.count; r++)
            out.v[r] = emit_as(m, arm.v[r], t);
        emit_settle(m);
        emit_choice_give(m, out.v, out.count);
    }
    emit_choice_end(m, &choice, (struct thread_type){.dtype = t, .count = 1}, out.v, out.count);
    return out;
}

static struct fragment count(struct emit *m, const struct expr *e, const struct layout *wanted)
{
    struct fragment f = emit_fragment_new(m, e->type.dtype, wanted);
    const struct spots s = emit_spots(m, wanted);
    int axis = 0;
    while (axis + 1 < e->type.rank && e->type.extent[axis] == 1)
        axis++;
    for (int32_t r = 0; r < f.count; r++) {
        const struct coordinate c = emit_spot(m, &s, axis, r);
        f.v[r] = emit_as(
            m, emit_op2(m, THREAD_ADD, DT_I32, c.thread, emit_constant(DT_I32, c.more)), f.dtype);
    }
    return f;
}

/* --- leaves --- */

/* An array, or a part of it, which each thread has whole. */
static struct fragment of_array(struct emit *m, const struct expr *e)
{
    struct fragment f = emit_fragment_new(m, e->type.dtype, plan_everywhere(m->layouts, &e->type));
    const struct scalar *x = emit_elements(m, e);
    for (int32_t r = 0; r < f.count; r++)
        f.v[r] = x[r];
    return f;
}

/* Returns sums, or zeros if they do not count. */
static struct fragment counted(struct emit *m, const struct fragment *sums,
                               struct thread_operand counts)
{
    struct fragment f = *sums;
    if (counts.kind != THREAD_VALUE)
        return counts.integer ? f : emit_fragment_new(m, f.dtype, f.layout);
    for (int32_t i = 0; i < f.count / f.each; i++)
        f.groups[i] = thread_use(THREAD_ADD_OP(&m->b, THREAD_SELECT, f.dtype, DT_NONE, counts,
                                               f.groups[i], thread_integer(0)));
    return f;
}

static struct fragment of_symbol(struct emit *m, const struct expr *e)
{
    if (e->sym->storage == ST_ARRAY)
        return of_array(m, e);
    const struct variable *v = emit_variable(m, e->sym);
    struct fragment f = {.dtype = e->sym->type.dtype, .layout = plan_symbol(m->layouts, e->sym)};
    if (v && v->flight > 0) {
        emit_error(m, e->loc, "`%s` is used while a product may still add to it", v->sym->name);
        diag_note(m->diag, e->loc, "wait for the product before: `dot_wait(0)`");
        return emit_fragment_new(m, f.dtype, f.layout);
    }
    const int slots = v->count - v->sums;
    f.count = emit_registers(f.layout);
    f.each = f.count / slots;
    assert(slots * f.each == f.count);
    f.groups = arena_room(m->arena, ((size_t)slots + 1) * sizeof *f.groups);
    for (int i = 0; i < slots; i++)
        f.groups[i] = v->slots[i].o;
    if (f.each == 1)
        emit_fragment_apart(m, &f);
    return v->sums ? counted(m, &f, v->slots[slots].o) : f;
}

/* A constant part of a register tile, axis by axis. */
static struct fragment part(struct emit *m, const struct expr *e)
{
    struct fragment f = of_symbol(m, e);
    for (int i = 0; i < e->indices && !m->failed; i++) {
        struct layout l;
        int64_t start = 0;
        if (e->index[i].kind != IX_SLICE)
            continue;
        emit_fragment_apart(m, &f);
        if (!eval_int(e->index[i].value, NULL, &start) ||
            !layout_slice_out(f.layout, AXIS_DIM(i), (int32_t)start, (int32_t)e->index[i].extent,
                              &l)) {
            emit_error(m, e->loc, "a slice of a register tile begins at a constant");
            return f;
        }
        struct fragment out = emit_fragment_new(m, f.dtype, plan_keep(m->layouts, &l));
        int32_t *source = arena_array(m->arena, int32_t, out.count + 1);
        layout_slice_registers(f.layout, plan_register_places(m->layouts, f.layout), &l,
                               AXIS_DIM(i), (int32_t)start, source);
        for (int32_t r = 0; r < out.count; r++)
            out.v[r] = source[r] >= 0 ? f.v[source[r]] : out.v[r];
        f = out;
    }
    return f;
}

static struct fragment access(struct emit *m, const struct expr *e, const struct layout *wanted)
{
    const struct layout *own = wanted;
    if (e->sym->storage == ST_REG)
        return part(m, e);
    if (e->sym->storage == ST_VIEW)
        own = plan_keep(m->layouts, plan_view(m->layouts, e, wanted, false));
    else if (e->sym->storage != ST_SHARED)
        return of_symbol(m, e);
    return emit_fragment_load(m, e, own, false);
}

/* --- shapes --- */

static struct fragment shape(struct emit *m, const struct expr *e, const struct layout *wanted)
{
    const struct expr *arg = e->args[0];
    struct layout memory, from;
    if (arg->type.rank == 0)
        return emit_fragment(m, arg, wanted);
    const struct layout *source = plan_shape_source(m->layouts, e, wanted);
    struct fragment f = source ? emit_fragment(m, arg, source) : emit_fragment_natural(m, arg);
    if (source) {
        f.layout = wanted;
        return f;
    }
    plan_shape_through_memory(e, &memory, &from);
    return m->failed ? emit_fragment_new(m, f.dtype, wanted)
                     : emit_fragment_through(m, &f, &memory, &from, wanted);
}

/* --- any expression --- */

static struct fragment own(struct emit *m, const struct expr *e, const struct layout *wanted)
{
    const struct expr *again = emit_index_value(m, e);
    if (again && plan_symbol(m->layouts, e->sym) != wanted)
        return emit_fragment(m, again, wanted);
    struct fragment f;
    switch (e->op) {
    case OP_REF: f = of_symbol(m, e); break;
    case OP_ACCESS: f = access(m, e, wanted); break;
    case OP_SELECT: return choose(m, e, wanted);
    case OP_IOTA: return count(m, e, wanted);
    case OP_BROADCAST: return emit_fragment(m, e->args[0], wanted);
    case OP_SCAN: f = emit_fragment_scan(m, e, wanted); break;
    case OP_DOT: f = emit_fragment_dot(m, e); break;
    case OP_TRANS:
    case OP_RESHAPE:
    case OP_REPEAT:
    case OP_REPEAT_INTERLEAVE: return shape(m, e, wanted);
    default:
        if (op_is_atomic(e->op))
            return emit_fragment_atomic(m, e, wanted);
        if (!op_is_reduction(e->op))
            return operate(m, e, wanted);
        f = emit_fragment_reduce(m, e);
    }
    return emit_fragment_convert(m, &f, wanted);
}

struct fragment emit_fragment_expr(struct emit *m, const struct expr *e,
                                   const struct layout *layout)
{
    const struct layout *wanted = plan_keep(m->layouts, layout);
    const bool is_scalar = e->type.rank == 0;
    m->failed |=
        m->roles && !is_scalar && !m->failed && !plan_role_holds(m->layouts, &e->type, e->loc);
    const struct layout *of_own =
        m->failed || is_scalar ? wanted : plan_operand_layout(m->layouts, wanted, &e->type);
    struct fragment x = {0};
    if (!m->failed && !is_scalar)
        x = own(m, e, of_own);
    if (!m->failed && !is_scalar && of_own == wanted)
        return x;
    struct fragment out = emit_fragment_new(m, e->type.dtype, wanted);
    if (m->failed)
        return out;
    const struct scalar one = is_scalar ? emit_scalar(m, e) : emit_constant(out.dtype, 0);
    const int32_t *registers =
        is_scalar ? NULL : plan_operand_registers(m->layouts, wanted, of_own, &e->type);
    emit_fragment_apart(m, &x);
    for (int32_t r = 0; r < out.count; r++)
        out.v[r] = is_scalar ? one : x.v[registers[r]];
    return out;
}
