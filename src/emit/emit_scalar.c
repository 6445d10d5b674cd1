/* Scalar expressions. Arithmetic wraps as the language says. All operands of `&&`, `||` and `?:` are evaluated, unless an
 * operand that the program may skip reads memory. */
#include "emit/emit_own.h"
#include "nvptx/nvptx_scalars.h"

#include <string.h>

/* --- operations of the language --- */

/* Returns the operation of thread IR for an operation of the language. Functions have the same name in both. */
static enum thread_opcode opcode_of(enum op op)
{
    static const enum thread_opcode infix[OP_COUNT] = {
        [OP_ADD] = THREAD_ADD, [OP_SUB] = THREAD_SUB,    [OP_MUL] = THREAD_MUL,
        [OP_DIV] = THREAD_DIV, [OP_REM] = THREAD_REM,    [OP_AND] = THREAD_AND,
        [OP_OR] = THREAD_OR,   [OP_XOR] = THREAD_XOR,    [OP_SHL] = THREAD_SHL,
        [OP_SHR] = THREAD_SHR, [OP_NEG] = THREAD_NEG,    [OP_LAND] = THREAD_AND,
        [OP_LOR] = THREAD_OR,  [OP_INVERT] = THREAD_NOT, [OP_LT] = THREAD_LT,
        [OP_LE] = THREAD_LE,   [OP_GT] = THREAD_GT,      [OP_GE] = THREAD_GE,
        [OP_EQ] = THREAD_EQ,   [OP_NE] = THREAD_NE,      [OP_NOT] = THREAD_NOT,
    };
    if (op_table[op].form == FORM_CALL)
        return thread_opcode_of(op_table[op].text, strlen(op_table[op].text));
    return infix[op] ? infix[op] : THREAD_OPS;
}

bool emit_apply(struct emit *m, enum op op, enum dtype t, const struct thread_operand *args,
                int count, struct thread_operand *result)
{
    enum thread_opcode code = opcode_of(op);
    if (code == THREAD_OPS || count > 3)
        return false;
    *result = thread_use(thread_add_counted(&m->b, code, t, DT_NONE, 0, args, (size_t)count));
    return true;
}

struct scalar emit_pair(struct emit *m, enum op op, enum dtype t, struct scalar a, struct scalar b)
{
    struct thread_operand both[] = {a.o, b.o};
    struct scalar result = {a.o, t};
    if (!dtype_is_float(t))
        return emit_op2(m, opcode_of(op), t, a, b);
    emit_apply(m, op, t, both, 2, &result.o);
    return result;
}

struct scalar emit_neutral(enum op op, enum dtype t)
{
    const struct literal v = op_neutral(op, t);
    return v.is_float ? (struct scalar){thread_real(v.f), t} : emit_constant(t, v.i);
}

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
    if (c.o.kind != THREAD_VALUE)
        return c.o.integer ? yes : no;
    return emit_of_value(
        THREAD_ADD_OP(&m->b, THREAD_SELECT, e->type.dtype, DT_NONE, c.o, yes.o, no.o),
        e->type.dtype);
}

static enum dtype joined_type(const struct expr *e)
{
    enum dtype t = e->args[0]->type.dtype;
    if (e->op == OP_SHL || e->op == OP_SHR)
        return e->type.dtype;
    if (e->op == OP_LAND || e->op == OP_LOR)
        return DT_BOOL;
    for (int i = 1; i < e->count; i++)
        t = dtype_join(t, e->args[i]->type.dtype);
    return t;
}

/* Returns whether the expression is a remainder that is known to be 0. */
static bool leaves_nothing(struct emit *m, const struct expr *e, struct scalar by)
{
    if (e->op != OP_REM || !dtype_is_int(e->type.dtype) || by.o.kind != THREAD_INTEGER ||
        by.o.integer <= 0)
        return false;
    const struct facts f = emit_facts_of(m, e->args[0]);
    return facts_divisor(&f) % by.o.integer == 0;
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

struct scalar emit_apply_scalars(struct emit *m, const struct expr *e, struct scalar *args)
{
    enum dtype t = joined_type(e);
    bool shift = e->op == OP_SHL || e->op == OP_SHR;
    struct thread_operand operands[3], result;
    if (e->op == OP_WHERE || e->op == OP_SELECT) {
        struct scalar c = emit_as(m, args[0], DT_BOOL);
        if (c.o.kind != THREAD_VALUE)
            return emit_as(m, args[c.o.integer ? 1 : 2], e->type.dtype);
        struct scalar yes = emit_as(m, args[1], e->type.dtype);
        struct scalar no = emit_as(m, args[2], e->type.dtype);
        return emit_of_value(
            THREAD_ADD_OP(&m->b, THREAD_SELECT, e->type.dtype, DT_NONE, c.o, yes.o, no.o),
            e->type.dtype);
    }
    for (int i = 0; i < e->count; i++) {
        args[i] = shift && i == 1 ? emit_shift_amount(m, args[i]) : emit_as(m, args[i], t);
        operands[i] = args[i].o;
    }
    if (e->op == OP_NOT)
        return emit_not(m, emit_as(m, args[0], DT_BOOL));
    enum thread_opcode code = opcode_of(e->op);
    if (e->count == 2 && code != THREAD_OPS &&
        (!dtype_is_float(t) || args[0].o.kind == THREAD_VALUE))
        return emit_op2(m, code, t, args[0], args[1]);
    if (!emit_apply(m, e->op, t, operands, e->count, &result)) {
        emit_missing(
            m, e->loc,
            arena_printf(m->arena, "`%s` of %s", op_table[e->op].text, dtype_table[t].name),
            emit_way_out(e->op));
        return emit_constant(e->type.dtype, 0);
    }
    return (struct scalar){result, e->type.dtype};
}

/* Emits bits or philox, whose operands have types of their own. */
static struct scalar typed(struct emit *m, const struct expr *e, const struct scalar *args)
{
    const bool random = e->op == OP_PHILOX;
    const enum dtype types[THREAD_TYPES] = {e->type.dtype, random ? DT_U64 : args[0].dtype,
                                            DT_NONE};
    const struct thread_operand o[] = {args[0].o, args[1].o,
                                       e->count > 2 ? args[2].o : thread_integer(0)};
    return emit_of_value(
        thread_add_typed(&m->b, random ? THREAD_PHILOX : THREAD_BITS, types, 0, o, random ? 3 : 1),
        e->type.dtype);
}

bool emit_is_of_elements(const struct expr *e)
{
    const bool has_code = op_is_elementwise(e->op) || e->op == OP_WHERE || e->op == OP_CAST ||
                          e->op == OP_BITS || e->op == OP_PHILOX || e->op == OP_LOOKUP;
    return has_code && e->count >= 1 && e->count <= EMIT_MOST_ARGS;
}

struct scalar emit_of_elements(struct emit *m, const struct expr *e, struct scalar *args)
{
    switch (e->op) {
    case OP_LOOKUP: return emit_lookup_of(m, e, args[1]);
    case OP_BITS:
    case OP_PHILOX: return typed(m, e, args);
    case OP_CAST: return emit_as(m, args[0], e->type.dtype);
    default: return emit_as(m, emit_apply_scalars(m, e, args), e->type.dtype);
    }
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

struct scalar emit_scalar(struct emit *m, const struct expr *e)
{
    struct scalar own;
    if (m->by_threads && (is_certain(m, e, &own) || m->by_threads->scalar(m, e, &own)))
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
    case OP_ACCESS:
        if (e->sym->storage == ST_VIEW)
            return emit_view_element(m, e);
        if (e->sym->storage == ST_SHARED)
            return emit_shared_element(m, e);
        break;
    case OP_LOOKUP: return (struct scalar){emit_lookup(m, e).part[0], e->type.dtype};
    case OP_BITS:
    case OP_PHILOX: return (struct scalar){emit_typed(m, e).part[0], e->type.dtype};
    case OP_REDUCE_SUM:
    case OP_REDUCE_MAX:
    case OP_REDUCE_MIN:
    case OP_REDUCE_ANY:
    case OP_REDUCE_ALL: return (struct scalar){emit_reduce(m, e).part[0], e->type.dtype};
    default:
        if (op_is_elementwise(e->op))
            return apply(m, e);
        if (op_is_atomic(e->op))
            return emit_view_atomic(m, e, true);
        break;
    }
    emit_missing(m, e->loc,
                 op_table[e->op].text[0] ? arena_printf(m->arena, "`%s`", op_table[e->op].text)
                                         : "this value",
                 emit_way_out(e->op));
    return emit_constant(e->type.dtype, 0);
}
