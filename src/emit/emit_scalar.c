/* Scalar expressions. Arithmetic wraps as the language says. All operands of `&&`, `||` and `?:` are evaluated, unless an
 * operand that the program may skip reads memory. */
#include "emit/emit_own.h"

/* --- operations of the language --- */

static void note_read(void *user, struct expr **at)
{
    *(bool *)user |= (*at)->op == OP_ACCESS;
}

static bool reads_memory(const struct expr *e)
{
    struct expr *root = (struct expr *)e;
    bool reads = false;
    expr_walk(&root, note_read, &reads);
    return reads;
}

/* Emits a branch that evaluates only one of two expressions, because the other one may read outside of a view. An expression
 * that is NULL is a bool: true for `yes`, false for `no`. */
static struct scalar branch(struct emit *m, struct scalar c, const struct expr *yes,
                            const struct expr *no, enum dtype t)
{
    const struct expr *arms[] = {yes, no};
    if (c.o.kind != THREAD_VALUE) {
        const struct expr *known = arms[!c.o.integer];
        return known ? emit_as(m, emit_scalar(m, known), t) : c;
    }
    emit_settle(m);
    const struct choice choice = emit_choice(m, c);
    struct scalar v;
    for (int i = 0; i < 2; i++) {
        emit_choice_arm(m, &choice);
        v = arms[i] ? emit_as(m, emit_scalar(m, arms[i]), t) : emit_constant(DT_BOOL, i == 0);
        emit_settle(m);
        emit_choice_give(m, &v, 1);
    }
    emit_choice_end(m, &choice, (struct thread_type){.dtype = t, .count = 1}, &v, 1);
    return v;
}

static struct scalar choose(struct emit *m, const struct expr *e)
{
    struct scalar c = emit_as(m, emit_scalar(m, e->args[0]), DT_BOOL);
    if (reads_memory(e->args[1]) || reads_memory(e->args[2]))
        return branch(m, c, e->args[1], e->args[2], e->type.dtype);
    struct scalar yes = emit_scalar(m, e->args[1]), no = emit_scalar(m, e->args[2]);
    return emit_select(m, c, yes, no);
}

/* Returns whether the expression is a remainder that is known to be 0. */
static bool leaves_nothing(struct emit *m, const struct expr *e, struct scalar by)
{
    if (e->op != OP_REM || !dtype_is_int(e->type.dtype) || by.o.kind != THREAD_INTEGER ||
        by.o.integer <= 0)
        return false;
    const struct facts f = emit_facts_of(m, e->args[0]);
    const bool power = (by.o.integer & (by.o.integer - 1)) == 0; /* so it divides 2^64, too */
    return facts_divisor(&f) % by.o.integer == 0 &&
           (e->type.dtype != DT_U64 || f.least >= 0 || power);
}

static struct scalar apply(struct emit *m, const struct expr *e)
{
    struct scalar args[3] = {0};
    if (e->count < 1 || e->count > 3) {
        emit_missing(m, e->loc, op_table[e->op].text, emit_way_out(e->op));
        return emit_constant(e->type.dtype, 0);
    }
    bool both = e->op == OP_LAND;
    if ((both || e->op == OP_LOR) && reads_memory(e->args[1]))
        return branch(m, emit_as(m, emit_scalar(m, e->args[0]), DT_BOOL), both ? e->args[1] : NULL,
                      both ? NULL : e->args[1], DT_BOOL);
    for (int i = 0; i < e->count; i++)
        args[i] = emit_scalar(m, e->args[i]);
    return leaves_nothing(m, e, args[1]) ? emit_constant(e->type.dtype, 0)
                                         : emit_apply_scalars(m, e, args);
}

/* Emits an operation whose operands have types of their own. */
static struct scalar of_elements(struct emit *m, const struct expr *e)
{
    struct scalar args[EMIT_MOST_ARGS] = {0};
    for (int i = e->op == OP_LOOKUP; i < e->count; i++)
        args[i] = emit_scalar(m, e->args[i]);
    return emit_of_elements(m, e, args);
}

/* --- leaves --- */

static struct scalar special(struct emit *m, enum thread_opcode first, int axis)
{
    struct thread_value *v = thread_add_counted(&m->b, (enum thread_opcode)((int)first + axis),
                                                DT_NONE, DT_NONE, 0, NULL, 0);
    return emit_as(m, emit_of_value(v, DT_U32), DT_I32);
}

static struct scalar of_literal(const struct expr *e)
{
    enum dtype t = e->type.dtype;
    if (dtype_is_float(t))
        return (struct scalar){
            thread_real(e->literal.is_float ? e->literal.f : (double)e->literal.i), t};
    return emit_constant(t, e->literal.i);
}

static struct scalar of_symbol(struct emit *m, const struct expr *e)
{
    const struct sym *s = e->sym;
    const struct variable *v = emit_variable(m, s);
    const struct number_entry *fixed = number_map_find(&m->fixed, (uintptr_t)s);
    if (v && v->count == 1)
        return (struct scalar){v->slots[0].o, s->type.dtype};
    if (fixed)
        return *(const struct scalar *)(uintptr_t)fixed->value;
    if (s->has_value || s->storage == ST_CONST)
        return (struct scalar){s->value.is_float ? thread_real(s->value.f)
                                                 : thread_integer(s->value.i),
                               s->type.dtype};
    emit_missing(m, e->loc, arena_printf(m->arena, "`%s`", s->name), emit_way_out(e->op));
    return emit_constant(s->type.dtype, 0);
}

/* Returns whether a comparison of integers, or an index of the block, has the same value in every run. *out: that value. */
static bool is_certain(struct emit *m, const struct expr *e, struct scalar *out)
{
    const bool compares = e->op >= OP_LT && e->op <= OP_NE &&
                          dtype_is_int(e->args[0]->type.dtype) &&
                          dtype_is_int(e->args[1]->type.dtype);
    if (!compares && e->op != OP_BLOCK)
        return false;
    const struct facts f = emit_facts_of(m, e);
    *out = emit_constant(e->type.dtype, f.least);
    return f.least == f.greatest;
}

struct scalar emit_scalar_expr(struct emit *m, const struct expr *e)
{
    struct scalar own;
    if (is_certain(m, e, &own) || m->by_threads->scalar(m, e, &own))
        return own;
    switch (e->op) {
    case OP_LITERAL: return of_literal(e);
    case OP_REF: return of_symbol(m, e);
    case OP_BLOCK: return special(m, THREAD_CTAID_X, e->axis);
    case OP_GRID: return special(m, THREAD_NCTAID_X, e->axis);
    case OP_CLUSTER: return special(m, THREAD_CLUSTERID_X, e->axis); /* the rank, too */
    case OP_CAST: return emit_as(m, emit_scalar(m, e->args[0]), e->type.dtype);
    case OP_SELECT:
    case OP_WHERE: return choose(m, e);
    case OP_THREAD: return special(m, THREAD_TID_X, e->axis);
    case OP_LOOKUP:
    case OP_BITS:
    case OP_PHILOX: return of_elements(m, e);
    default:
        if (op_is_elementwise(e->op))
            return apply(m, e);
        break;
    }
    emit_missing(m, e->loc,
                 op_table[e->op].text[0] ? arena_printf(m->arena, "`%s`", op_table[e->op].text)
                                         : "this value",
                 emit_way_out(e->op));
    return emit_constant(e->type.dtype, 0);
}
