/* Scalars as values of thread IR: operations that fold constants, casts. */
#include "emit/emit_own.h"

struct scalar emit_constant(enum dtype t, int64_t v)
{
    return (struct scalar){thread_integer(v), t};
}

static bool is_integer(const struct scalar *v, int64_t *number)
{
    *number = v->o.integer;
    return v->o.kind == THREAD_INTEGER && !dtype_is_float(v->dtype);
}

/* --- folding --- */

static bool fold(enum thread_opcode op, enum dtype t, int64_t a, int64_t b, int64_t *out)
{
    bool wide = dtype_table[t].bits == 64;
    switch (op) {
    case THREAD_ADD: *out = dtype_wrap(t, (int64_t)((uint64_t)a + (uint64_t)b)); return true;
    case THREAD_SUB: *out = dtype_wrap(t, (int64_t)((uint64_t)a - (uint64_t)b)); return true;
    case THREAD_MUL: *out = dtype_wrap(t, (int64_t)((uint64_t)a * (uint64_t)b)); return true;
    case THREAD_LT: *out = a < b; return !wide || dtype_is_signed(t);
    case THREAD_LE: *out = a <= b; return !wide || dtype_is_signed(t);
    case THREAD_GT: *out = a > b; return !wide || dtype_is_signed(t);
    case THREAD_GE: *out = a >= b; return !wide || dtype_is_signed(t);
    case THREAD_EQ: *out = a == b; return true;
    case THREAD_NE: *out = a != b; return true;
    case THREAD_AND: *out = a & b; return true;
    case THREAD_OR: *out = a | b; return true;
    case THREAD_XOR: *out = a ^ b; return true;
    case THREAD_MIN: *out = a < b ? a : b; return !wide || dtype_is_signed(t);
    case THREAD_MAX: *out = a > b ? a : b; return !wide || dtype_is_signed(t);
    case THREAD_DIV: *out = b > 0 && a >= 0 ? a / b : 0; return b > 0 && a >= 0;
    case THREAD_REM: *out = b > 0 && a >= 0 ? a % b : 0; return b > 0 && a >= 0;
    default: return false;
    }
}

/* Returns whether an integer stays the same if the operation combines it with 0. */
static bool adds_bits(enum thread_opcode op)
{
    return op == THREAD_ADD || op == THREAD_OR || op == THREAD_XOR;
}

struct scalar emit_op2(struct emit *m, enum thread_opcode op, enum dtype t, struct scalar a,
                       struct scalar b)
{
    int64_t x, y, z;
    enum dtype result = thread_is_comparison(op) ? DT_BOOL : t;
    bool first = is_integer(&a, &x), second = is_integer(&b, &y);
    if (first && second && fold(op, t, x, y, &z))
        return emit_constant(result, z);
    if (second && y == 0 && (op == THREAD_SUB || op == THREAD_SHL || adds_bits(op)))
        return a;
    if (second && y == 1 && (op == THREAD_MUL || op == THREAD_DIV))
        return a;
    if (first && (x == 0 ? adds_bits(op) : x == 1 && op == THREAD_MUL))
        return b;
    if (t == DT_BOOL && (first || second) && (op == THREAD_AND || op == THREAD_OR)) {
        bool number = first ? x != 0 : y != 0;
        return number == (op == THREAD_OR) ? emit_constant(DT_BOOL, number) : first ? b : a;
    }
    return emit_of_value(THREAD_ADD_OP(&m->b, op, t, DT_NONE, a.o, b.o), result);
}

struct scalar emit_by(struct emit *m, enum thread_opcode op, struct scalar a, int64_t b)
{
    return emit_op2(m, op, DT_U32, a, emit_constant(DT_U32, b));
}

void emit_and(struct emit *m, struct scalar *a, struct scalar b)
{
    *a = emit_op2(m, THREAD_AND, DT_BOOL, *a, b);
}

struct scalar emit_elected(const struct emit *m)
{
    return (struct scalar){thread_use(m->place.elected), DT_BOOL};
}

/* --- casts --- */

struct thread_operand emit_cast(struct emit *m, enum dtype to, enum dtype from,
                                struct thread_operand v)
{
    if (to == from)
        return v;
    if (to == DT_BOOL)
        return thread_use(THREAD_ADD_OP(&m->b, THREAD_NE, from, DT_NONE, v, thread_integer(0)));
    if (from == DT_BOOL && v.kind == THREAD_VALUE && v.value->type.count == 1)
        return thread_use(THREAD_ADD_OP(&m->b, THREAD_SELECT, to, DT_NONE, v, thread_integer(1),
                                        thread_integer(0)));
    return thread_use(THREAD_ADD_OP(&m->b, THREAD_CONVERT, to, from, v));
}

struct scalar emit_as(struct emit *m, struct scalar v, enum dtype t)
{
    if (v.dtype == t)
        return v;
    if (v.o.kind != THREAD_VALUE) {
        struct literal from = {
            .is_float = dtype_is_float(v.dtype), .i = v.o.integer, .f = v.o.real};
        if (from.is_float && v.o.kind == THREAD_INTEGER)
            from.f = (double)v.o.integer;
        struct literal to = eval_cast(t, v.dtype, &from);
        return (struct scalar){to.is_float ? thread_real(to.f) : thread_integer(to.i), t};
    }
    return (struct scalar){emit_cast(m, t, v.dtype, v.o), t};
}

struct scalar emit_shift_amount(struct emit *m, struct scalar v)
{
    enum { MOST = 64 };
    if (dtype_size(v.dtype) < sizeof(int64_t))
        return emit_as(m, v, DT_U32);
    if (v.o.kind != THREAD_VALUE)
        return emit_constant(DT_U32, v.o.integer >= 0 && v.o.integer < MOST ? v.o.integer : MOST);
    v = emit_as(m, v, DT_U64);
    v.o = thread_use(THREAD_ADD_OP(&m->b, THREAD_MIN, DT_U64, DT_NONE, v.o, thread_integer(MOST)));
    return emit_as(m, v, DT_U32);
}

struct thread_operand emit_u32(struct emit *m, struct scalar v)
{
    return emit_as(m, v, DT_U32).o;
}

struct thread_operand emit_predicate(struct emit *m, struct scalar v)
{
    if (v.o.kind == THREAD_VALUE)
        return v.o;
    return thread_use(THREAD_ADD_OP(&m->b, v.o.integer ? THREAD_EQ : THREAD_NE, DT_U32, DT_NONE,
                                    m->place.lane.o, m->place.lane.o));
}

struct scalar emit_select(struct emit *m, struct scalar condition, struct scalar yes,
                          struct scalar no)
{
    if (condition.o.kind != THREAD_VALUE)
        return condition.o.integer ? yes : no;
    if (yes.dtype == DT_BOOL && (yes.o.kind != THREAD_VALUE || no.o.kind != THREAD_VALUE)) {
        yes = emit_op2(m, THREAD_AND, DT_BOOL, condition, yes); /* a constant has no register */
        no = emit_op2(m, THREAD_AND, DT_BOOL, emit_not(m, condition), no);
        return emit_op2(m, THREAD_OR, DT_BOOL, yes, no);
    }
    return emit_of_value(
        THREAD_ADD_OP(&m->b, THREAD_SELECT, yes.dtype, DT_NONE, condition.o, yes.o, no.o),
        yes.dtype);
}

struct scalar emit_value_of(struct emit *m, struct scalar v)
{
    if (v.o.kind == THREAD_VALUE)
        return v;
    const struct scalar any = {emit_predicate(m, emit_constant(DT_BOOL, 1)), DT_BOOL};
    return emit_select(m, any, v, v);
}

/* --- bools --- */

static enum thread_opcode opposite(enum thread_opcode op)
{
    switch (op) {
    case THREAD_EQ: return THREAD_NE;
    case THREAD_NE: return THREAD_EQ;
    case THREAD_LT: return THREAD_GE;
    case THREAD_GE: return THREAD_LT;
    case THREAD_GT: return THREAD_LE;
    case THREAD_LE: return THREAD_GT;
    default: return THREAD_OPS;
    }
}

/* Returns whether the operation is a comparison that has an opposite. */
static bool is_opposed(const struct thread_operation *op)
{
    return op && opposite(op->op) != THREAD_OPS && !dtype_is_float(op->types[0]);
}

/* Negates a bool. A comparison of integers becomes the opposite comparison. */
struct scalar emit_not(struct emit *m, struct scalar v)
{
    const struct thread_operation *from = thread_definition(&m->b, &v.o);
    if (v.o.kind != THREAD_VALUE)
        return emit_constant(DT_BOOL, !v.o.integer);
    if (is_opposed(from))
        return emit_of_value(THREAD_ADD_OP(&m->b, opposite(from->op), from->types[0], DT_NONE,
                                           from->operands.data[0], from->operands.data[1]),
                             DT_BOOL);
    if (from && (from->op == THREAD_AND || from->op == THREAD_OR)) {
        const struct thread_operand *o = from->operands.data;
        const struct scalar second = {o[1], DT_BOOL};
        if (is_opposed(thread_definition(&m->b, &o[0])) &&
            is_opposed(thread_definition(&m->b, &o[1]))) {
            const struct scalar first = emit_not(m, (struct scalar){o[0], DT_BOOL});
            return emit_op2(m, from->op == THREAD_AND ? THREAD_OR : THREAD_AND, DT_BOOL, first,
                            emit_not(m, second));
        }
    }
    return emit_of_value(THREAD_ADD_OP(&m->b, THREAD_NOT, DT_BOOL, DT_NONE, v.o), DT_BOOL);
}
