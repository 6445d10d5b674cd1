/* Expressions on register tiles in the layouts of the plan. An operation on tiles is
 * one operation for each register. */
#include "emit/emit_fragment.h"
#include "plan/plan_layouts.h"

#include <assert.h>

/* --- operations --- */

static struct fragment operate(struct emit *m, const struct expr *e, const struct layout *wanted)
{
    struct fragment args[EMIT_MOST_ARGS], out = emit_fragment_new(m, e->type.dtype, wanted);
    if (!emit_is_of_elements(e)) {
        emit_missing(m, e->loc, arena_printf(m->arena, "`%s` of tiles", op_table[e->op].text),
                     NULL);
        return out;
    }
    for (int i = 0; i < e->count; i++)
        args[i] = emit_fragment(m, e->args[i], wanted);
    if (e->op == OP_CAST && !m->failed)
        return emit_fragment_cast(m, &args[0], e->type.dtype);
    for (int32_t r = 0; r < out.count && !m->failed; r++) {
        struct scalar one[EMIT_MOST_ARGS] = {0};
        for (int i = 0; i < e->count; i++)
            one[i] = args[i].v[r];
        out.v[r] = emit_of_elements(m, e, one);
    }
    return out;
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

static struct fragment of_symbol(struct emit *m, const struct expr *e)
{
    if (e->sym->storage == ST_ARRAY)
        return of_array(m, e);
    if (!m->by_threads) {
        const struct expr whole = {
            .op = OP_REF, .type = e->sym->type, .loc = e->loc, .sym = e->sym};
        return emit_fragment_of_role(m, &whole);
    }
    const struct variable *v = emit_variable(m, e->sym);
    struct fragment f = {.dtype = e->sym->type.dtype, .layout = plan_symbol(m->layouts, e->sym)};
    f.count = emit_registers(f.layout);
    f.each = emit_registers_of_slot(m, e->sym);
    assert(v && v->count * f.each == f.count);
    f.groups = arena_room(m->arena, ((size_t)v->count + 1) * sizeof *f.groups);
    for (int i = 0; i < v->count; i++)
        f.groups[i] = v->slots[i].o;
    if (f.each == 1)
        emit_fragment_apart(m, &f);
    return f;
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

/* Returns whether the expression is emitted as the groups of a role's tile: its elements stay in their threads. */
static bool is_of_role(const struct emit *m, const struct expr *e)
{
    switch (e->op) {
    case OP_ACCESS: return !m->by_threads && e->sym->storage != ST_REG;
    case OP_REDUCE_SUM:
    case OP_REDUCE_MAX:
    case OP_REDUCE_MIN:
    case OP_REDUCE_ANY:
    case OP_REDUCE_ALL:
    case OP_SCAN:
    case OP_TRANS:
    case OP_RESHAPE:
    case OP_REPEAT:
    case OP_REPEAT_INTERLEAVE: return false;
    default: return !m->by_threads;
    }
}

static struct fragment own(struct emit *m, const struct expr *e, const struct layout *wanted)
{
    if (is_of_role(m, e)) {
        const struct fragment tile = emit_fragment_of_role(m, e);
        return emit_fragment_convert(m, &tile, wanted);
    }
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
    case OP_REDUCE_SUM:
    case OP_REDUCE_MAX:
    case OP_REDUCE_MIN:
    case OP_REDUCE_ANY:
    case OP_REDUCE_ALL: f = emit_fragment_reduce(m, e); break;
    case OP_TRANS:
    case OP_RESHAPE:
    case OP_REPEAT:
    case OP_REPEAT_INTERLEAVE: return shape(m, e, wanted);
    default:
        if (op_is_atomic(e->op))
            return emit_fragment_atomic(m, e, wanted);
        return operate(m, e, wanted);
    }
    return emit_fragment_convert(m, &f, wanted);
}

struct fragment emit_fragment_expr(struct emit *m, const struct expr *e,
                                   const struct layout *layout)
{
    const struct layout *wanted = plan_keep(m->layouts, layout);
    const bool is_scalar = e->type.rank == 0;
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
