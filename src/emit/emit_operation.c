/* Operations of the language on scalars and on groups. */
#include "emit/emit_own.h"

#include <math.h>
#include <string.h>

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

/* For sums of floats it is -0, because -0 + x is x for every x. For min and max it is NaN, because a number and a NaN give the
 * number. */
struct scalar emit_idle(enum op op, enum dtype t)
{
    struct literal v = op_neutral(op, t);
    if (dtype_is_float(t) && op == OP_ADD)
        v.f = -0.0;
    if (dtype_is_float(t) && (op == OP_MIN || op == OP_MAX))
        v.f = (double)NAN;
    return v.is_float ? (struct scalar){thread_real(v.f), t} : emit_constant(t, v.i);
}

struct scalar emit_scan_start(const struct expr *scan, enum dtype t)
{
    return scan->exclusive ? emit_neutral(scan->scan_op, t) : emit_idle(scan->scan_op, t);
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

struct scalar emit_apply_scalars(struct emit *m, const struct expr *e, struct scalar *args)
{
    enum dtype t = joined_type(e);
    bool shift = e->op == OP_SHL || e->op == OP_SHR;
    struct thread_operand operands[3], result;
    if (e->op == OP_WHERE || e->op == OP_SELECT) {
        const struct scalar c = emit_as(m, args[0], DT_BOOL);
        if (c.o.kind != THREAD_VALUE)
            return emit_as(m, args[c.o.integer ? 1 : 2], e->type.dtype);
        const struct scalar yes = emit_as(m, args[1], e->type.dtype);
        return emit_select(m, c, yes, emit_as(m, args[2], e->type.dtype));
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

/* --- elements of tables --- */

static struct thread_operand constant_of(const struct literal *l)
{
    return l->is_float ? thread_real(l->f) : thread_integer(l->i);
}

static const struct thread_object *table_of(struct emit *m, const struct sym *s)
{
    const uint32_t count = (uint32_t)s->type.extent[0];
    bool added;
    struct number_entry *entry = number_map_entry(m->arena, &m->objects, (uintptr_t)s, &added);
    if (!added)
        return (const struct thread_object *)(uintptr_t)entry->value;
    struct thread_operand *values = arena_array(m->arena, struct thread_operand, count);
    for (uint32_t i = 0; i < count; i++)
        values[i] = constant_of(&s->table[i]);
    const struct thread_object *o = thread_new_table(&m->b, s->name, s->type.dtype, count, values);
    entry->value = (uintptr_t)o;
    return o;
}

/* Loads an element of a table. An index outside becomes the nearest one inside, so that a look-up may also be computed where
 * its value is not used. */
static struct scalar load_from_table(struct emit *m, const struct expr *e, struct scalar index)
{
    const enum dtype t = e->sym->type.dtype;
    const int64_t last = e->sym->type.extent[0] - 1;
    if (dtype_size(index.dtype) < 4)
        index = emit_as(m, index, DT_I32);
    index = emit_op2(m, THREAD_MAX, index.dtype, index, emit_constant(index.dtype, 0));
    index = emit_op2(m, THREAD_MIN, index.dtype, index, emit_constant(index.dtype, last));
    if (index.o.kind == THREAD_INTEGER)
        return (struct scalar){constant_of(&e->sym->table[index.o.integer]), t};
    const struct thread_operand table =
        thread_use(THREAD_ADD_OP(&m->b, THREAD_TABLE, DT_NONE, DT_NONE,
                                 thread_element(table_of(m, e->sym), thread_integer(0), 0)));
    return (struct scalar){
        thread_use(THREAD_ADD_OP(&m->b, THREAD_LOAD_CONST, t, DT_NONE, table,
                                 emit_as(m, index, DT_U32).o, thread_integer(0))),
        t};
}

/* --- elements of tiles and arrays --- */

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
    case OP_LOOKUP: return emit_as(m, load_from_table(m, e, args[1]), e->type.dtype);
    case OP_BITS:
    case OP_PHILOX: return typed(m, e, args);
    case OP_CAST: return emit_as(m, args[0], e->type.dtype);
    default: return emit_as(m, emit_apply_scalars(m, e, args), e->type.dtype);
    }
}
