/* value_apply: constants are folded, sums become polynomials, and what the facts decide is not
 * computed. */
#include "lower/lower_value_graph.h"

#include <assert.h>

static bool all_literals(const struct value *const *args, int count)
{
    for (int i = 0; i < count; i++)
        if (!value_is_literal(args[i]))
            return false;
    return count > 0;
}

enum { MOST_FOLDED = 3 };

static const struct value *fold_literals(struct lower *l, enum op op, enum dtype t,
                                         const struct value *const *args, int count)
{
    struct literal x[MOST_FOLDED], result;
    if (count > MOST_FOLDED || !all_literals(args, count))
        return NULL;
    for (int i = 0; i < count; i++)
        x[i] = args[i]->literal;
    enum dtype from = args[0]->dtype;
    bool floats = dtype_is_float(from) && dtype_is_float(t);
    if (op == OP_CAST || (op == OP_BITS && dtype_is_int(from) && dtype_is_int(t))) {
        result = eval_cast(t, from, &x[0]);
        return value_literal(l, t, result);
    }
    if (op == OP_BITS && floats && t != from)
        return NULL; /* f16 and bf16 */
    enum dtype in = op_table[op].class == CLASS_OWN ? t : from;
    if (!eval_op(op, in, x, count, &result))
        return NULL;
    return value_literal(l, t, result);
}

/* --- integers --- */

static bool power_of_two(int64_t n, int *log)
{
    if (n <= 0 || (n & (n - 1)) != 0)
        return false;
    for (*log = 0; (int64_t)1 << *log < n; ++*log)
        ;
    return true;
}

static const struct value *shifted_left(struct lower *l, const struct value *a,
                                        const struct value *count)
{
    int64_t n;
    if (!value_known(count, &n) || n < 0 || n >= dtype_table[a->dtype].bits)
        return NULL;
    return value_mul(l, a, value_int(l, a->dtype, (int64_t)((uint64_t)1 << n)));
}

/* Sums and products. */
static const struct value *fold_sum(struct lower *l, enum op op, enum dtype t,
                                    const struct value *const *args, int count)
{
    if (!value_sums(t) || args[0]->dtype != t)
        return NULL;
    for (int i = 1; i < count; i++)
        if (args[i]->dtype != t && op != OP_SHL)
            return NULL;
    switch (op) {
    case OP_ADD: return value_add(l, args[0], args[1]);
    case OP_SUB: return value_sub(l, args[0], args[1]);
    case OP_MUL: return value_mul(l, args[0], args[1]);
    case OP_NEG: return value_affine(l, args[0], -1, 0);
    case OP_INVERT: return value_affine(l, args[0], -1, -1);
    case OP_SQUARE: return value_mul(l, args[0], args[0]);
    case OP_FMA: return value_add(l, value_mul(l, args[0], args[1]), args[2]);
    case OP_SHL: return shifted_left(l, args[0], args[1]);
    default: return NULL;
    }
}

/* a = n * quotient + rest with 0 <= rest < n, if the terms of the sum show it. */
static bool split_by(struct lower *l, const struct value *a, int64_t n,
                     const struct value **quotient, const struct value **rest)
{
    if (!value_sums(a->dtype) || !a->exact || a->facts.least < 0)
        return false;
    struct poly p = poly_of(l, a), multiples, left;
    poly_split_multiples(l, &p, n, &multiples, &left);
    struct facts f = facts_of_poly(&left), whole = facts_of_poly(&multiples);
    if (f.least < 0 || f.greatest >= n || facts_no_limit(whole.least) ||
        facts_no_limit(whole.greatest))
        return false;
    for (int i = 0; i < multiples.count; i++) {
        if (multiples.terms[i].factor % n != 0)
            return false;
        multiples.terms[i].factor /= n;
    }
    multiples.constant /= n;
    *quotient = value_of_poly(l, a->dtype, &multiples);
    *rest = value_of_poly(l, a->dtype, &left);
    return true;
}

static const struct value *fold_quotient(struct lower *l, const struct value *a, int64_t n)
{
    const struct value *quotient, *rest;
    int log;
    if (n == 1)
        return a;
    if (a->facts.least < 0 || n < 1)
        return NULL;
    if (a->facts.greatest < n)
        return value_int(l, a->dtype, 0);
    if (split_by(l, a, n, &quotient, &rest))
        return quotient;
    if (!power_of_two(n, &log))
        return NULL;
    const struct value *args[2] = {a, value_int(l, a->dtype, log)};
    if (a->kind == VALUE_OP && a->op == OP_SHR && value_is_literal(a->args[1]) &&
        a->args[1]->literal.i >= 0 && a->args[1]->literal.i < dtype_table[a->dtype].bits) {
        args[0] = a->args[0];
        args[1] = value_int(l, a->dtype, log + a->args[1]->literal.i);
        if (args[1]->literal.i >= dtype_table[a->dtype].bits)
            return value_int(l, a->dtype, 0);
    }
    return value_of_op(l, OP_SHR, a->dtype, args, 2);
}

static const struct value *fold_mask(struct lower *l, const struct value *a, uint64_t mask);

static const struct value *fold_remainder(struct lower *l, const struct value *a, int64_t n)
{
    const struct value *quotient, *rest;
    int log;
    if (n == 1 || value_is_multiple(a, n))
        return value_int(l, a->dtype, 0);
    if (a->facts.least < 0 || n < 1)
        return NULL;
    if (a->facts.greatest < n)
        return a;
    if (split_by(l, a, n, &quotient, &rest))
        return rest;
    return power_of_two(n, &log) ? fold_mask(l, a, (uint64_t)n - 1) : NULL;
}

/* a without the terms that are multiples of 2^log, which a mask of the bits below does not see. */
static const struct value *low_part(struct lower *l, const struct value *a, int log)
{
    if (a->kind != VALUE_SUM)
        return a;
    struct poly multiples, left;
    poly_split_multiples(l, &a->sum, (int64_t)1 << log, &multiples, &left);
    return value_of_poly(l, a->dtype, &left);
}

static const struct value *fold_mask(struct lower *l, const struct value *a, uint64_t mask)
{
    int log;
    if (power_of_two((int64_t)mask + 1, &log) && log < dtype_table[a->dtype].bits)
        a = low_part(l, a, log);
    if ((a->facts.ones & mask) == 0)
        return value_int(l, a->dtype, 0);
    if ((a->facts.ones & ~mask) == 0)
        return a;
    if (a->kind == VALUE_OP && a->op == OP_AND && value_is_literal(a->args[1]))
        return fold_mask(l, a->args[0], mask & (uint64_t)a->args[1]->literal.i);
    const struct value *args[2] = {a, value_int(l, a->dtype, (int64_t)mask)};
    return value_of_op(l, OP_AND, a->dtype, args, 2);
}

/* Literals last, else in order of making: a op b and b op a are one. */
static void order_args(const struct value **args)
{
    bool swap = value_is_literal(args[0]) ? !value_is_literal(args[1])
                                          : !value_is_literal(args[1]) && args[1]->id < args[0]->id;
    if (swap) {
        const struct value *first = args[0];
        args[0] = args[1];
        args[1] = first;
    }
}

/* The bits of a above those that b may have are not changed by ^ b or | b: they are added
 * behind. */
static const struct value *split_off_high(struct lower *l, enum op op, const struct value *a,
                                          const struct value *b)
{
    int log = 0;
    while (log < 62 && (b->facts.ones >> log) != 0)
        log++;
    if (a->kind != VALUE_SUM || !a->exact || a->facts.least < 0 || log >= 31)
        return NULL;
    struct poly high, low;
    poly_split_multiples(l, &a->sum, (int64_t)1 << log, &high, &low);
    struct facts f = facts_of_poly(&low);
    if ((high.count == 0 && high.constant == 0) || f.least < 0 || f.greatest >> log != 0)
        return NULL;
    const struct value *part = value_apply2(l, op, a->dtype, value_of_poly(l, a->dtype, &low), b);
    return value_add(l, value_of_poly(l, a->dtype, &high), part);
}

static const struct value *fold_xor_or(struct lower *l, enum op op, const struct value *a,
                                       const struct value *b)
{
    bool positive = a->facts.least >= 0 && b->facts.least >= 0;
    if (a == b)
        return op == OP_OR ? a : value_int(l, a->dtype, 0);
    if (value_is_literal(b) && b->literal.i == 0)
        return a;
    if (positive && (a->facts.ones & b->facts.ones) == 0)
        return value_add(l, a, b);
    if (a->kind == VALUE_OP && a->op == op && value_is_literal(b) && value_is_literal(a->args[1])) {
        const struct value *both = value_apply2(l, op, a->dtype, a->args[1], b);
        return value_apply2(l, op, a->dtype, a->args[0], both);
    }
    if (!positive)
        return NULL;
    const struct value *split = split_off_high(l, op, a, b);
    return split ? split : split_off_high(l, op, b, a);
}

static const struct value *fold_bits(struct lower *l, enum op op, enum dtype t,
                                     const struct value *const *given)
{
    const struct value *args[2] = {given[0], given[1]};
    if (!value_sums(t) || args[0]->dtype != t || args[1]->dtype != t)
        return NULL;
    order_args(args);
    const struct value *folded = NULL;
    if (op != OP_AND)
        folded = fold_xor_or(l, op, args[0], args[1]);
    else if (args[0] == args[1])
        folded = args[0];
    else if (value_is_literal(args[1]) && args[1]->literal.i >= 0)
        folded = fold_mask(l, args[0], (uint64_t)args[1]->literal.i);
    return folded ? folded : value_of_op(l, op, t, args, 2);
}

static const struct value *fold_least(struct lower *l, enum op op, enum dtype t,
                                      const struct value *const *given)
{
    const struct value *args[2] = {given[0], given[1]};
    const struct facts *a = &args[0]->facts, *b = &args[1]->facts;
    if (args[0] == args[1])
        return args[0];
    if (!dtype_is_int(t) || t == DT_U64)
        return NULL;
    if (a->greatest <= b->least)
        return op == OP_MIN ? args[0] : args[1];
    if (b->greatest <= a->least)
        return op == OP_MIN ? args[1] : args[0];
    order_args(args);
    return value_of_op(l, op, t, args, 2);
}

static const struct value *fold_division(struct lower *l, enum op op, enum dtype t,
                                         const struct value *const *args)
{
    const struct value *a = args[0];
    int64_t n;
    if (!value_sums(t) || a->dtype != t || !value_known(args[1], &n) || n <= 0)
        return NULL;
    if (t == DT_U64 && a->facts.least < 0)
        return NULL;
    if (op == OP_REM)
        return fold_remainder(l, a, n);
    if (op == OP_DIV || value_is_multiple(a, n))
        return fold_quotient(l, a, n);
    const struct value *up = value_affine(l, a, 1, n - 1);
    /* If a itself has wrapped, the sum a + n - 1 may be another number. */
    return a->facts.least >= 0 && a->exact && up->exact ? fold_quotient(l, up, n) : NULL;
}

static const struct value *fold_shift_right(struct lower *l, enum dtype t,
                                            const struct value *const *args)
{
    int64_t n;
    if (!value_sums(t) || args[0]->dtype != t || !value_known(args[1], &n) || n < 0 || n > 61)
        return NULL;
    if (n == 0)
        return args[0];
    return args[0]->facts.least >= 0 ? fold_quotient(l, args[0], (int64_t)1 << n) : NULL;
}

/* --- casts --- */

/* Nothing is lost: the same polynomial, of another type. */
static const struct value *cast_sum(struct lower *l, enum dtype t, const struct value *a)
{
    if (!value_sums(t) || !dtype_is_int(a->dtype) || !a->exact ||
        !facts_fit(&a->facts, facts_type_of(t)))
        return NULL;
    if (dtype_table[t].bits < dtype_table[a->dtype].bits && a->kind != VALUE_SUM)
        return NULL; /* has to be cut down anyway */
    struct poly p = poly_of(l, a);
    return value_of_poly(l, t, &p);
}

static const struct value *fold_cast(struct lower *l, enum dtype t, const struct value *a)
{
    if (a->dtype == t)
        return a;
    const struct value *same = cast_sum(l, t, a);
    if (same)
        return same;
    /* An integer cut down at once. */
    bool inner = a->kind == VALUE_OP && a->op == OP_CAST && dtype_is_int(a->dtype) &&
                 dtype_is_int(a->args[0]->dtype) && dtype_is_int(t);
    if (inner && dtype_table[a->dtype].bits >= dtype_table[t].bits)
        return value_apply1(l, OP_CAST, t, a->args[0]);
    return NULL;
}

/* --- bool --- */

static enum op opposite(enum op op)
{
    switch (op) {
    case OP_LT: return OP_GE;
    case OP_GE: return OP_LT;
    case OP_GT: return OP_LE;
    case OP_LE: return OP_GT;
    case OP_EQ: return OP_NE;
    default: return OP_EQ;
    }
}

static const struct value *fold_not(struct lower *l, const struct value *a)
{
    if (a->kind != VALUE_OP)
        return NULL;
    if (a->op == OP_NOT)
        return a->args[0];
    bool compares = op_table[a->op].class == CLASS_COMPARE;
    if (!compares || dtype_is_float(a->args[0]->dtype)) /* NaN is neither */
        return NULL;
    return value_of_op(l, opposite(a->op), DT_BOOL, a->args, 2);
}

/* op: AND or OR. */
static const struct value *fold_logic(struct lower *l, enum op op, const struct value *const *given)
{
    const struct value *args[2] = {given[0], given[1]};
    order_args(args);
    if (args[0] == args[1])
        return args[0];
    if (value_is_literal(args[1])) {
        bool decides = (args[1]->literal.i != 0) == (op == OP_OR);
        return args[decides ? 1 : 0];
    }
    return value_of_op(l, op, DT_BOOL, args, 2);
}

static const struct value *fold_choice(struct lower *l, enum dtype t,
                                       const struct value *const *args)
{
    if (value_is_literal(args[0]))
        return args[args[0]->literal.i ? 1 : 2];
    if (args[1] == args[2])
        return args[1];
    return value_of_op(l, OP_WHERE, t, args, 3);
}

static const struct value *fold_bool(struct lower *l, enum op op, const struct value *const *args)
{
    switch (op) {
    case OP_NOT:
    case OP_INVERT: return fold_not(l, args[0]);
    case OP_LAND:
    case OP_AND: return fold_logic(l, OP_AND, args);
    case OP_LOR:
    case OP_OR: return fold_logic(l, OP_OR, args);
    default: return NULL;
    }
}

/* --- all --- */

static const struct value *fold_arithmetic(struct lower *l, enum op op, enum dtype t,
                                           const struct value *const *args, int count)
{
    switch (op) {
    case OP_AND:
    case OP_OR:
    case OP_XOR: return fold_bits(l, op, t, args);
    case OP_MIN:
    case OP_MAX: return fold_least(l, op, t, args);
    case OP_DIV:
    case OP_REM:
    case OP_CDIV: return fold_division(l, op, t, args);
    case OP_SHR: return fold_shift_right(l, t, args);
    case OP_ABS: return dtype_is_int(t) && args[0]->facts.least >= 0 ? args[0] : NULL;
    default: return fold_sum(l, op, t, args, count);
    }
}

/* NULL: nothing to be done better than the op itself. */
static const struct value *value_fold(struct lower *l, enum op op, enum dtype t,
                                      const struct value *const *args, int count)
{
    const struct value *folded = fold_literals(l, op, t, args, count);
    if (folded)
        return folded;
    bool whole = dtype_is_int(t) && dtype_is_int(args[0]->dtype);
    if (op == OP_CAST || (op == OP_BITS && whole))
        return fold_cast(l, t, args[0]);
    if (op == OP_BITS)
        return args[0]->dtype == t ? args[0] : NULL;
    if (op == OP_WHERE || op == OP_SELECT)
        return fold_choice(l, t, args);
    if (op_table[op].class == CLASS_COMPARE)
        return value_compare(l, op, args[0], args[1]);
    if (args[0]->dtype == DT_BOOL)
        return t == DT_BOOL ? fold_bool(l, op, args) : NULL;
    return dtype_is_int(t) ? fold_arithmetic(l, op, t, args, count) : NULL;
}

const struct value *value_apply(struct lower *l, enum op op, enum dtype result,
                                const struct value *const *args, int count)
{
    if (count == 0)
        return value_of_op(l, op, result, args, count);
    const struct value *folded = value_fold(l, op, result, args, count);
    if (folded) {
        assert(folded->dtype == result);
        return folded;
    }
    if (op == OP_BITS && dtype_is_int(result) && dtype_is_int(args[0]->dtype))
        op = OP_CAST;
    return value_of_op(l, op, result, args, count);
}

const struct value *value_apply1(struct lower *l, enum op op, enum dtype result,
                                 const struct value *a)
{
    return value_apply(l, op, result, &a, 1);
}

const struct value *value_apply2(struct lower *l, enum op op, enum dtype result,
                                 const struct value *a, const struct value *b)
{
    const struct value *args[2] = {a, b};
    return value_apply(l, op, result, args, 2);
}

const struct value *value_bits(struct lower *l, const struct value *a, int low, int count)
{
    const struct value *down =
        low ? value_apply2(l, OP_SHR, a->dtype, a, value_int(l, a->dtype, low)) : a;
    int64_t mask = (int64_t)(((uint64_t)1 << count) - 1);
    return value_apply2(l, OP_AND, a->dtype, down, value_int(l, a->dtype, mask));
}

const struct value *value_xor(struct lower *l, const struct value *a, const struct value *b)
{
    return value_apply2(l, OP_XOR, a->dtype, a, b);
}
