/* Constants: evaluates ops as every executor does, one element at a time.
 *
 * Integers are kept in 64 bits and wrapped to their type after each op. Floats are kept as
 * doubles: a sum, difference, product, quotient or square root of values with at most 24 digits,
 * rounded to double and then to the type, equals the result rounded once (53 >= 2 * 24 + 2;
 * Figueroa, "When is double rounding innocuous?", 1995). fma needs more care. */
#include "base/arithmetic.h"
#include "base/real.h"
#include "tile/tile.h"

#include <math.h>
#include <string.h>

static struct literal int_literal(int64_t i)
{
    return (struct literal){.i = i};
}

static struct literal float_literal(double f)
{
    return (struct literal){.is_float = true, .f = f};
}

static double round_to(enum dtype t, double v)
{
    switch (t) {
    case DT_F32: return (double)(float)v;
    case DT_TF32: return (double)f32_to_tf32((float)v);
    case DT_E4M3: return (double)e4m3_to_f32(f32_to_e4m3((float)v));
    case DT_E5M2: return (double)e5m2_to_f32(f32_to_e5m2((float)v));
    case DT_F16: return (double)f16_to_f32(f64_to_f16(v));
    case DT_BF16: return (double)bf16_to_f32(f64_to_bf16(v));
    default: return v;
    }
}

/* Returns the type in which arithmetic on t is done. */
static enum dtype arithmetic_type(enum dtype t)
{
    return t == DT_BOOL ? DT_I32 : t;
}

static bool is_unsigned(enum dtype t)
{
    return dtype_table[t].kind == DK_UINT;
}

/* --- conversions --- */

static double int_to_float(enum dtype to, enum dtype from, int64_t v)
{
    uint64_t element = 0, u = (uint64_t)v;
    if (from == DT_U64 && v < 0) {
        if (to == DT_F64)
            return (double)u;
        /* The value is halved and keeps the lost bit in its last one, so 63 bits round as the 64
         * would. */
        dtype_store_i64(to, &element, (int64_t)(u >> 1 | (u & 1)));
        return 2 * dtype_load_f64(to, &element);
    }
    dtype_store_i64(to, &element, v);
    return dtype_load_f64(to, &element);
}

struct literal eval_cast(enum dtype to, enum dtype from, const struct literal *x)
{
    if (dtype_is_float(from)) {
        double v = x->is_float ? x->f : (double)x->i;
        if (dtype_is_float(to))
            return float_literal(round_to(to, v));
        uint64_t element = 0;
        dtype_store_f64(to, &element, v);
        return int_literal(dtype_load_i64(to, &element));
    }
    if (dtype_is_float(to))
        return float_literal(int_to_float(to, from, x->i));
    return int_literal(dtype_wrap(to, x->i));
}

static bool eval_bits(enum dtype to, enum dtype from, const struct literal *x, struct literal *out)
{
    if (dtype_size(to) != dtype_size(from))
        return false;
    uint64_t element = 0;
    if (dtype_is_float(from))
        dtype_store_f64(from, &element, x->f);
    else
        dtype_store_i64(from, &element, x->i);
    if (to == DT_BOOL)
        return false; /* only the bits 0 and 1 would be valid */
    *out = dtype_is_float(to) ? float_literal(dtype_load_f64(to, &element))
                              : int_literal(dtype_load_i64(to, &element));
    return true;
}

/* Returns x as an executor holds a value of type t. */
static struct literal as_type(enum dtype t, const struct literal *x)
{
    return eval_cast(t, x->is_float ? DT_F64 : t == DT_U64 ? DT_U64 : DT_I64, x);
}

/* --- integers --- */

static bool int_less(enum dtype t, int64_t a, int64_t b)
{
    return is_unsigned(t) ? (uint64_t)a < (uint64_t)b : a < b;
}

/* Divides; b is not 0. */
static int64_t int_divide(enum dtype t, int64_t a, int64_t b)
{
    if (is_unsigned(t))
        return (int64_t)((uint64_t)a / (uint64_t)b);
    return b == -1 ? (int64_t)(0 - (uint64_t)a) : a / b;
}

static int64_t int_remainder(enum dtype t, int64_t a, int64_t b)
{
    if (is_unsigned(t))
        return (int64_t)((uint64_t)a % (uint64_t)b);
    return b == -1 ? 0 : a % b;
}

static int64_t int_divide_up(enum dtype t, int64_t a, int64_t b)
{
    int64_t quotient = int_divide(t, a, b), rest = int_remainder(t, a, b);
    bool same_side = is_unsigned(t) || (rest < 0) == (b < 0);
    return rest != 0 && same_side ? (int64_t)((uint64_t)quotient + 1) : quotient;
}

/* Shifts as PTX does: an amount that is negative, or at least the width, shifts all bits out. */
static int64_t int_shift(enum op op, enum dtype t, int64_t a, int64_t amount)
{
    bool all = amount < 0 || amount >= dtype_table[t].bits;
    if (op == OP_SHL)
        return all ? 0 : (int64_t)((uint64_t)a << amount);
    if (is_unsigned(t))
        return all ? 0 : (int64_t)((uint64_t)a >> amount);
    uint64_t sign = a < 0 ? UINT64_MAX : 0; /* C leaves >> of a negative number to the compiler */
    return (int64_t)(((uint64_t)a ^ sign) >> (all ? 63 : amount) ^ sign);
}

static int64_t int_pow2_ceil(enum dtype t, int64_t x)
{
    if (int_less(t, x, 1))
        return 1;
    uint64_t power = 1;
    while (power && power < (uint64_t)x)
        power <<= 1;
    return (int64_t)power;
}

static bool int_unary(enum op op, enum dtype t, int64_t a, int64_t *out)
{
    switch (op) {
    case OP_NEG: *out = (int64_t)(0 - (uint64_t)a); return true;
    case OP_ABS: *out = int_less(t, a, 0) ? (int64_t)(0 - (uint64_t)a) : a; return true;
    case OP_SQUARE: *out = (int64_t)((uint64_t)a * (uint64_t)a); return true;
    case OP_POW2_CEIL: *out = int_pow2_ceil(t, a); return true;
    default: return false;
    }
}

static bool int_binary(enum op op, enum dtype t, int64_t a, int64_t b, int64_t *out)
{
    if ((op == OP_DIV || op == OP_REM || op == OP_CDIV) && b == 0)
        return false;
    uint64_t ua = (uint64_t)a, ub = (uint64_t)b;
    switch (op) {
    case OP_ADD: *out = (int64_t)(ua + ub); return true;
    case OP_SUB: *out = (int64_t)(ua - ub); return true;
    case OP_MUL: *out = (int64_t)(ua * ub); return true;
    case OP_DIV: *out = int_divide(t, a, b); return true;
    case OP_REM: *out = int_remainder(t, a, b); return true;
    case OP_CDIV: *out = int_divide_up(t, a, b); return true;
    case OP_MIN: *out = int_less(t, b, a) ? b : a; return true;
    case OP_MAX: *out = int_less(t, a, b) ? b : a; return true;
    default: return false;
    }
}

static bool int_ternary(enum op op, enum dtype t, const struct literal *x, int64_t *out)
{
    if (op == OP_FMA) {
        *out = (int64_t)((uint64_t)x[0].i * (uint64_t)x[1].i + (uint64_t)x[2].i);
        return true;
    }
    if (op != OP_CLIP)
        return false;
    int64_t raised = int_less(t, x[0].i, x[1].i) ? x[1].i : x[0].i;
    *out = int_less(t, x[2].i, raised) ? x[2].i : raised;
    return true;
}

static bool int_arith(enum op op, enum dtype t, const struct literal *args, int count,
                      struct literal *out)
{
    int64_t value;
    bool known = count == 1   ? int_unary(op, t, args[0].i, &value)
                 : count == 2 ? int_binary(op, t, args[0].i, args[1].i, &value)
                              : int_ternary(op, t, args, &value);
    if (known)
        *out = int_literal(dtype_wrap(t, value));
    return known;
}

static bool int_bitwise(enum op op, enum dtype t, const struct literal *args, struct literal *out)
{
    int64_t a = args[0].i, value;
    bool shift = op == OP_SHL || op == OP_SHR;
    if (dtype_is_float(t) || (shift && t == DT_BOOL))
        return false;
    switch (op) {
    case OP_INVERT: value = t == DT_BOOL ? !a : ~a; break;
    case OP_AND: value = a & args[1].i; break;
    case OP_OR: value = a | args[1].i; break;
    case OP_XOR: value = a ^ args[1].i; break;
    case OP_SHL:
    case OP_SHR: value = int_shift(op, t, a, args[1].i); break;
    default: return false;
    }
    *out = int_literal(dtype_wrap(t, value));
    return true;
}

/* --- floats --- */

static double float_fma(enum dtype t, double a, double b, double c)
{
    if (t == DT_F64)
        return fma(a, b, c);
    return add_to_odd(a * b, c); /* 48 digits: the product is exact */
}

/* Returns the minimum as PTX does: a number wins over NaN, and -0 is less than +0. */
static double float_least(double a, double b)
{
    if (isnan(a) || isnan(b))
        return isnan(a) ? b : a;
    if (a == b)
        return signbit(a) ? a : b;
    return a < b ? a : b;
}

static double float_most(double a, double b)
{
    return -float_least(-a, -b);
}

static bool float_arith(enum op op, enum dtype t, const struct literal *args, struct literal *out)
{
    double a = args[0].f, b = args[1].f, c = args[2].f, value;
    switch (op) {
    case OP_NEG: value = -a; break;
    case OP_ABS: value = fabs(a); break;
    case OP_SQUARE: value = a * a; break;
    case OP_ADD: value = a + b; break;
    case OP_SUB: value = a - b; break;
    case OP_MUL: value = a * b; break;
    case OP_DIV: value = a / b; break;
    case OP_REM: value = fmod(a, b); break; /* fmod is always exact */
    case OP_MIN: value = float_least(a, b); break;
    case OP_MAX: value = float_most(a, b); break;
    case OP_CLIP: value = float_least(float_most(a, b), c); break;
    case OP_FMA: value = float_fma(t, a, b, c); break;
    case OP_POW: value = real_pow(a, b); break;
    default: return false;
    }
    *out = float_literal(round_to(t, value));
    return true;
}

/* Computes a function in double and rounds the result. An executor's own result may differ in
 * the last place. */
static bool float_function(enum op op, enum dtype t, double x, struct literal *out)
{
    double value;
    switch (op) {
    case OP_EXP: value = real_exp(x); break;
    case OP_EXP2:
    case OP_EXP2_APPROX: value = real_exp2(x); break;
    case OP_LOG: value = real_log(x); break;
    case OP_LOG2: value = real_log2(x); break;
    case OP_SIN: value = real_sin(x); break;
    case OP_COS: value = real_cos(x); break;
    case OP_TANH: value = real_tanh(x); break;
    case OP_ERF: value = real_erf(x); break;
    case OP_ERFC: value = real_erfc(x); break;
    case OP_EXPM1: value = real_expm1(x); break;
    case OP_LOG1P: value = real_log1p(x); break;
    case OP_SIGMOID: value = real_sigmoid(x); break;
    case OP_SQRT: value = sqrt(x); break;
    case OP_RSQRT: value = 1 / sqrt(x); break;
    case OP_ROUND: value = nearbyint(x); break;
    case OP_FLOOR: value = floor(x); break;
    case OP_CEIL: value = ceil(x); break;
    default: return false;
    }
    *out = float_literal(round_to(t, value));
    return true;
}

/* --- any type --- */

static bool compare(enum op op, enum dtype t, const struct literal *args, struct literal *out)
{
    bool less, equal, greater;
    if (dtype_is_float(t)) {
        less = args[0].f < args[1].f;
        equal = args[0].f == args[1].f;
        greater = args[0].f > args[1].f;
    } else {
        less = int_less(t, args[0].i, args[1].i);
        equal = args[0].i == args[1].i;
        greater = int_less(t, args[1].i, args[0].i);
    }
    switch (op) {
    case OP_LT: *out = int_literal(less); return true;
    case OP_GT: *out = int_literal(greater); return true;
    case OP_LE: *out = int_literal(less || equal); return true;
    case OP_GE: *out = int_literal(greater || equal); return true;
    case OP_EQ: *out = int_literal(equal); return true;
    case OP_NE: *out = int_literal(!equal); return true; /* a NaN differs from itself */
    default: return false;
    }
}

static bool is_true(const struct literal *x)
{
    return x->is_float ? x->f != 0 : x->i != 0;
}

static bool logic(enum op op, const struct literal *args, struct literal *out)
{
    bool a = is_true(&args[0]);
    switch (op) {
    case OP_NOT: *out = int_literal(!a); return true;
    case OP_LAND: *out = int_literal(a && is_true(&args[1])); return true;
    case OP_LOR: *out = int_literal(a || is_true(&args[1])); return true;
    default: return false;
    }
}

/* Evaluates ops with a rule of their own. Returns false if eval_op's arguments do not suffice. */
static bool own(enum op op, enum dtype t, const struct literal *args, struct literal *out)
{
    switch (op) {
    case OP_SELECT:
    case OP_WHERE: *out = as_type(t, &args[is_true(&args[0]) ? 1 : 2]); return true;
    case OP_CAST: *out = eval_cast(t, args[0].is_float ? DT_F64 : DT_I64, &args[0]); return true;
    case OP_BITS: { /* the type of a 16-bit float is not known here: f16 or bf16 */
        if (args[0].is_float && dtype_size(t) < 4)
            return false;
        bool wide = dtype_size(t) == 8;
        enum dtype of_float = wide ? DT_F64 : DT_F32;
        enum dtype of_int = wide ? DT_I64 : dtype_size(t) == 4 ? DT_I32 : DT_I16;
        return eval_bits(t, args[0].is_float ? of_float : of_int, &args[0], out);
    }
    default: return false;
    }
}

enum { MOST_OPERANDS = 3 };

bool eval_op(enum op op, enum dtype t, const struct literal *args, int count, struct literal *out)
{
    const struct op_info *info = &op_table[op];
    if (count != info->arity || count < 1 || count > MOST_OPERANDS)
        return false;
    if (info->class == CLASS_OWN)
        return own(op, t, args, out);
    if (info->class == CLASS_LOGIC)
        return logic(op, args, out);

    enum dtype in = info->class == CLASS_ARITH                         ? arithmetic_type(t)
                    : info->class == CLASS_FLOAT && !dtype_is_float(t) ? DT_F32
                                                                       : t;
    struct literal x[MOST_OPERANDS] = {0};
    for (int i = 0; i < count; i++)
        x[i] = as_type(info->class == CLASS_FLOAT ? t : in, &args[i]);
    switch (info->class) {
    case CLASS_ARITH:
        return dtype_is_float(in) ? float_arith(op, in, x, out) : int_arith(op, in, x, count, out);
    case CLASS_COMPARE: return compare(op, in, x, out);
    case CLASS_BITWISE:
        if ((op == OP_SHL || op == OP_SHR) && !args[1].is_float)
            x[1] = args[1]; /* the amount is not wrapped to the type */
        return int_bitwise(op, in, x, out);
    case CLASS_FLOAT: return float_function(op, in, eval_cast(in, t, &x[0]).f, out);
    default: return false;
    }
}

/* --- expressions --- */

static bool symbol_value(const struct sym *s, const struct scalar_env *env, struct literal *out)
{
    if (s->storage == ST_CONST || (s->storage == ST_PARAM && s->has_value)) {
        *out = s->value;
        return true;
    }
    if (s->storage != ST_PARAM || s->is_pointer || !env || !env->values || !env->known)
        return false;
    if (s->index < 0 || s->index >= env->count || !env->known[s->index])
        return false;
    *out = env->values[s->index];
    return true;
}

/* Evaluates &&, || and ?:, which skip the operands that they do not need. */
static bool eval_lazy(const struct expr *e, const struct scalar_env *env, struct literal *out)
{
    struct literal first, chosen;
    if (!eval_scalar(e->args[0], env, &first))
        return false;
    bool truth = is_true(&first);
    if (e->op != OP_SELECT && truth == (e->op == OP_LOR)) {
        *out = int_literal(truth);
        return true;
    }
    const struct expr *next = e->args[e->op == OP_SELECT && !truth ? 2 : 1];
    if (!eval_scalar(next, env, &chosen))
        return false;
    *out = e->op == OP_SELECT ? eval_cast(e->type.dtype, next->type.dtype, &chosen)
                              : int_literal(is_true(&chosen));
    return true;
}

/* Returns the type to which e's op converts its operands. */
static enum dtype operand_type(const struct expr *e)
{
    enum dtype t = e->args[0]->type.dtype;
    switch (op_table[e->op].class) {
    case CLASS_ARITH:
    case CLASS_BITWISE: return e->type.dtype;
    case CLASS_COMPARE: return e->count == 2 ? dtype_join(t, e->args[1]->type.dtype) : t;
    default: return t;
    }
}

int expr_contracted(const struct expr *e)
{
    enum dtype t = e->type.dtype;
    if ((e->op != OP_ADD && e->op != OP_SUB) || !dtype_is_float(t) || e->args[0]->type.dtype != t ||
        e->args[1]->type.dtype != t)
        return -1;
    return e->args[0]->op == OP_MUL ? 0 : e->args[1]->op == OP_MUL ? 1 : -1;
}

/* Evaluates a sum together with the product contracted with it: a * b + c, a * b - c or c - a *
 * b as one fma. */
static bool eval_contracted(const struct expr *e, int at, const struct scalar_env *env,
                            struct literal *out)
{
    const struct expr *product = e->args[at], *parts[3];
    struct literal x[3];
    parts[0] = product->args[0];
    parts[1] = product->args[1];
    parts[2] = e->args[1 - at];
    for (int i = 0; i < 3; i++) {
        if (!eval_scalar(parts[i], env, &x[i]))
            return false;
        x[i] = eval_cast(e->type.dtype, parts[i]->type.dtype, &x[i]);
    }
    if (e->op == OP_SUB)
        x[at == 0 ? 2 : 0].f = -x[at == 0 ? 2 : 0].f;
    return eval_op(OP_FMA, e->type.dtype, x, 3, out);
}

static bool eval_lookup(const struct expr *e, const struct scalar_env *env, struct literal *out)
{
    int64_t at;
    if (!eval_int(e->args[1], env, &at) || at < 0 || at >= e->sym->type.extent[0])
        return false;
    *out = e->sym->table[at];
    return true;
}

bool eval_apply(const struct expr *e, struct literal *args, struct literal *out)
{
    enum dtype first = e->args[0]->type.dtype, t = operand_type(e);
    if (e->op == OP_CAST) {
        *out = eval_cast(e->type.dtype, first, &args[0]);
        return true;
    }
    if (e->op == OP_BITS)
        return eval_bits(e->type.dtype, first, &args[0], out);
    if (e->op == OP_WHERE) {
        int chosen = is_true(&args[0]) ? 1 : 2;
        *out = eval_cast(e->type.dtype, e->args[chosen]->type.dtype, &args[chosen]);
        return true;
    }
    bool shift = e->op == OP_SHL || e->op == OP_SHR;
    if (op_table[e->op].class != CLASS_LOGIC)
        for (int i = 0; i < (shift ? 1 : e->count); i++)
            args[i] = eval_cast(t, e->args[i]->type.dtype, &args[i]);
    return eval_op(e->op, t, args, e->count, out);
}

static bool eval_operation(const struct expr *e, const struct scalar_env *env, struct literal *out)
{
    struct literal args[MOST_OPERANDS];
    if (e->op == OP_LOOKUP)
        return eval_lookup(e, env, out);
    if (e->count < 1 || e->count > MOST_OPERANDS)
        return false;
    int product = expr_contracted(e);
    if (product >= 0)
        return eval_contracted(e, product, env, out);
    for (int i = 0; i < e->count; i++)
        if (!eval_scalar(e->args[i], env, &args[i]))
            return false;
    return eval_apply(e, args, out);
}

bool eval_scalar(const struct expr *e, const struct scalar_env *env, struct literal *out)
{
    if (!e || e->type.rank != 0 || (int)e->type.dtype < 0)
        return false;
    switch (e->op) {
    case OP_LITERAL: *out = as_type(e->type.dtype, &e->literal); return true;
    case OP_REF:
        if (!symbol_value(e->sym, env, out))
            return false;
        *out = as_type(e->type.dtype, out);
        return true;
    case OP_LAND:
    case OP_LOR:
    case OP_SELECT: return eval_lazy(e, env, out);
    default: return eval_operation(e, env, out);
    }
}

bool eval_int(const struct expr *e, const struct scalar_env *env, int64_t *out)
{
    struct literal value;
    if (!e || (int)e->type.dtype < 0 || dtype_is_float(e->type.dtype) ||
        !eval_scalar(e, env, &value))
        return false;
    *out = value.i;
    return true;
}
