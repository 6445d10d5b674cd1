/* Computes the effect of an op on one number and its error. See ensures.c for the model,
 * Higham's chapter 3 for the sums; the functions use the mean value theorem: |f(x + d) - f(x)|
 * <= |d| max |f'|. */
#include "oracle/ensures_internal.h"

#include "base/arithmetic.h"
#include "base/real.h"
#include <math.h>

double oracle_float_unit(enum dtype t)
{
    return dtype_table[t].roundoff + 0x1p-53;
}

double oracle_float_step(enum dtype t)
{
    switch (t) {
    case DT_F64: return 0x1p-1074;
    case DT_F32: return 0x1p-149;
    case DT_TF32: return 0x1p-136;
    case DT_E4M3: return 0x1p-9;
    case DT_E5M2: return 0x1p-16;
    case DT_F16: return 0x1p-24;
    case DT_BF16: return 0x1p-133;
    default: return 0;
    }
}

double oracle_float_overflow(enum dtype t)
{
    switch (t) {
    case DT_F32: return 0x1.ffffffp127;
    case DT_TF32: return 0x1.ffep127;
    case DT_E4M3: return 464;
    case DT_E5M2: return 61440;
    case DT_F16: return 65520;
    case DT_BF16: return 0x1.ffp127;
    default: return INFINITY;
    }
}

double oracle_float_saturated(enum dtype t, double v)
{
    double largest = t == DT_E4M3 ? 448 : t == DT_E5M2 ? 57344 : INFINITY;
    return fabs(v) > largest ? copysign(largest, v) : v;
}

/* Returns the type of an operand. Operands of arithmetic on bool are i32. */
static enum dtype operand_dtype(enum op op, enum dtype t, const enum dtype *from, int count, int i)
{
    switch (op_table[op].class) {
    case CLASS_ARITH:
    case CLASS_FLOAT: return t;
    case CLASS_BITWISE: return (op == OP_SHL || op == OP_SHR) && i == 1 ? DT_NONE : t;
    case CLASS_COMPARE: return dtype_join(from[0], from[count - 1]);
    case CLASS_OWN: return op == OP_WHERE && i > 0 ? t : DT_NONE;
    default: return DT_NONE;
    }
}

struct rule oracle_rule_for(enum op op, enum dtype t, const enum dtype *from, int count)
{
    struct rule r = {.op = op, .type = t, .overflow = INFINITY, .count = count};
    if (dtype_is_float(t)) {
        r.unit = oracle_float_unit(t);
        r.half_step = oracle_float_step(t) / 2;
        r.overflow = oracle_float_overflow(t);
    }
    for (int i = 0; i < count; i++) {
        r.from[i] = from[i];
        r.in[i] = operand_dtype(op, t, from, count, i);
        r.converts = r.converts || (r.in[i] != DT_NONE && r.in[i] != from[i]);
    }
    for (int i = count; i < RULE_OPERANDS; i++)
        r.in[i] = r.from[i] = DT_NONE;
    return r;
}

static bool converts_exactly(enum dtype to, enum dtype from)
{
    if (to == DT_NONE || to == from || !dtype_is_float(to))
        return true;
    if (dtype_is_float(from))
        return dtype_holds(to, from) && dtype_table[to].roundoff <= dtype_table[from].roundoff;
    return ldexp(1, dtype_table[from].bits) * dtype_table[to].roundoff <= 1;
}

bool oracle_rule_keeps_exact(const struct rule *r)
{
    for (int i = 0; i < RULE_OPERANDS; i++)
        if (r->in[i] != DT_NONE && !converts_exactly(r->in[i], r->from[i]))
            return false;
    if (!dtype_is_float(r->type))
        return !op_divides(r->op);
    switch (r->op) {
    case OP_NEG:
    case OP_ABS:
    case OP_MIN:
    case OP_MAX:
    case OP_CLIP:
    case OP_WHERE:
    case OP_SELECT:
    case OP_REM:
    case OP_ROUND:
    case OP_FLOOR:
    case OP_CEIL: return true;
    case OP_BITS: return true;
    case OP_CAST: return converts_exactly(r->type, r->from[0]);
    default: return false;
    }
}

/* --- helpers --- */

static double larger(double a, double b)
{
    return a > b ? a : b; /* no NaN gets here */
}

/* Returns an error that is not NaN: NaN becomes infinite. */
static double settled(double error)
{
    return error >= 0 ? error : INFINITY;
}

/* Returns |x| times the error of y. If x is infinite and y is surely not 0, the product stays
 * infinite, so the error is 0. */
static double scaled(double x, double y, double y_error)
{
    if (y_error == 0 || x == 0)
        return 0;
    if (isinf(x))
        return fabs(y) > y_error ? 0 : INFINITY;
    return fabs(x) * y_error;
}

/* Returns v with `error` from the operands and one rounding to the rule's type. */
static struct number rule_round(const struct rule *r, double v, double error)
{
    error = settled(error);
    if (!isfinite(v))
        return (struct number){.v = oracle_float_saturated(r->type, v),
                               .error = isfinite(error) ? 0 : INFINITY};
    if (v != 0 || error != 0)
        error += r->unit * (fabs(v) + error) + r->half_step;
    if (!r->is_root && fabs(v) + error >= r->overflow)
        error = INFINITY;
    return (struct number){.v = v, .error = error};
}

static struct number unrounded(double v, double error)
{
    return (struct number){.v = v, .error = isnan(v) && isfinite(error) ? 0 : settled(error)};
}

double oracle_number_real(enum dtype t, struct number x)
{
    if (dtype_is_float(t))
        return x.v;
    return t == DT_U64 ? (double)(uint64_t)x.i : (double)x.i;
}

enum truth oracle_number_truth(enum dtype t, struct number x)
{
    if (x.error == 0)
        return dtype_is_float(t) ? x.v != 0 : x.i != 0;
    return fabs(oracle_number_real(t, x)) > x.error ? YES : MAYBE;
}

static struct number from_truth(enum truth t)
{
    return (struct number){.i = t == YES, .error = t == MAYBE};
}

/* Returns the interval around `a` that holds both a and b, because a kernel may have either. */
static struct number either(enum dtype t, struct number a, struct number b)
{
    double va = oracle_number_real(t, a), vb = oracle_number_real(t, b);
    double away = va == vb ? 0 : fabs(va - vb);
    a.error = larger(a.error, settled(away + b.error));
    return a;
}

/* --- sums --- */

#define CONFIDENCE 8.0       /* lambda of Higham and Mary */
#define PARTS_AT_LEAST 0.125 /* least partial sum that is assumed, as a part of sum |x| */

double oracle_sum_error(double terms, double unit, const struct magnitudes *m)
{
    double reach = larger(m->runs, PARTS_AT_LEAST * m->size);
    if (terms <= CONFIDENCE * CONFIDENCE || m->alike || !(reach < m->size))
        reach = m->size;
    double likely = CONFIDENCE * sqrt(terms) * reach;
    bool linear = m->alike || !(likely < terms * m->size);
    return unit * (linear ? terms * m->size : likely);
}

bool oracle_sum_may_overflow(double v, double size, double overflow)
{
    /* the terms of the other sign are less than size * 2^-20, so their sum does not overflow */
    bool one_sign = fabs(v) >= size * (1 - 0x1p-20) && size < overflow * 0x1p20;
    return size >= overflow && !one_sign;
}

/* --- casts --- */

static int64_t saturated(enum dtype to, double v)
{
    uint64_t element = 0;
    dtype_store_f64(to, &element, v);
    return dtype_load_i64(to, &element);
}

static struct number float_to_int(enum dtype to, struct number x)
{
    struct number out = {.i = saturated(to, x.v)};
    if (x.error == 0)
        return out;
    struct number low = {.i = saturated(to, x.v - x.error)};
    struct number high = {.i = saturated(to, x.v + x.error)};
    double at = oracle_number_real(to, out);
    out.error = isfinite(x.error)
                    ? larger(oracle_number_real(to, high) - at, at - oracle_number_real(to, low))
                    : INFINITY;
    return out;
}

static struct number to_float(enum dtype to, enum dtype from, struct number x, bool is_root)
{
    struct rule r = {.op = OP_CAST,
                     .type = to,
                     .is_root = is_root,
                     .unit = oracle_float_unit(to),
                     .half_step = oracle_float_step(to) / 2,
                     .overflow = oracle_float_overflow(to)};
    double v = oracle_number_real(from, x);
    bool exact = dtype_is_float(from)
                     ? converts_exactly(to, from)
                     : fabs(v) * dtype_table[to].roundoff <= 1 && fabs(v) < r.overflow;
    if (exact)
        return unrounded(v, x.error);
    if (!is_root && fabs(v) - x.error >= r.overflow) /* it surely overflows, and this cast is
                                                      * what the program wrote */
        return (struct number){.v = oracle_float_saturated(to, copysign(INFINITY, v))};
    return rule_round(&r, v, x.error);
}

static bool within(enum dtype t, double low, double high)
{
    if (t == DT_U64)
        return low >= 0 && high < 0x1p64;
    if (t == DT_I64)
        return low >= -0x1p63 && high < 0x1p63;
    return (double)dtype_wrap(t, (int64_t)low) == low &&
           (double)dtype_wrap(t, (int64_t)high) == high;
}

static struct number int_to_int(enum dtype to, enum dtype from, struct number x)
{
    double v = oracle_number_real(from, x);
    struct number out = {.i = dtype_wrap(to, x.i), .error = x.error};
    if (x.error != 0 && !(x.error < 0x1p62 && within(to, v - x.error, v + x.error)))
        out.error = INFINITY;
    return out;
}

struct number oracle_number_cast(enum dtype to, enum dtype from, struct number x)
{
    if (to == from)
        return x;
    if (to == DT_BOOL)
        return from_truth(oracle_number_truth(from, x));
    if (dtype_is_float(to))
        return to_float(to, from, x, false);
    return dtype_is_float(from) ? float_to_int(to, x) : int_to_int(to, from, x);
}

static struct number reinterpreted(enum dtype to, enum dtype from, struct number x)
{
    uint64_t element = 0;
    if (dtype_is_float(from))
        dtype_store_f64(from, &element, x.v);
    else
        dtype_store_i64(from, &element, x.i);
    struct number out = {.error = x.error == 0 ? 0 : INFINITY};
    if (dtype_is_float(to))
        out.v = dtype_load_f64(to, &element);
    else
        out.i = dtype_load_i64(to, &element);
    return out;
}

/* --- comparisons and logic --- */

static enum truth decided(enum op op, bool less, bool equal, bool greater)
{
    switch (op) {
    case OP_LT: return less;
    case OP_GT: return greater;
    case OP_LE: return less || equal;
    case OP_GE: return greater || equal;
    case OP_EQ: return equal;
    default: return !equal;
    }
}

static struct number compared(const struct rule *r, const struct number *x)
{
    enum dtype t = r->in[0];
    double error = x[0].error + x[1].error;
    if (error == 0 && !dtype_is_float(t)) {
        bool is_unsigned = dtype_table[t].kind == DK_UINT;
        bool less = is_unsigned ? (uint64_t)x[0].i < (uint64_t)x[1].i : x[0].i < x[1].i;
        bool equal = x[0].i == x[1].i;
        return from_truth(decided(r->op, less, equal, !less && !equal));
    }
    double a = oracle_number_real(t, x[0]), b = oracle_number_real(t, x[1]);
    if (error != 0 && !(fabs(a - b) > error) && !isnan(a) && !isnan(b))
        return from_truth(MAYBE);
    return from_truth(decided(r->op, a<b, a == b, a> b));
}

static enum truth truth_and(enum truth a, enum truth b)
{
    if (a == NO || b == NO)
        return NO;
    return a == YES && b == YES ? YES : MAYBE;
}

static enum truth truth_not(enum truth a)
{
    return a == MAYBE ? MAYBE : a == YES ? NO : YES;
}

static struct number logical(const struct rule *r, const struct number *x)
{
    enum truth a = oracle_number_truth(r->from[0], x[0]);
    if (r->op == OP_NOT || r->op == OP_INVERT)
        return from_truth(truth_not(a));
    enum truth b = oracle_number_truth(r->from[1], x[1]);
    switch (r->op) {
    case OP_LAND:
    case OP_AND: return from_truth(truth_and(a, b));
    case OP_XOR: return from_truth(a == MAYBE || b == MAYBE ? MAYBE : a != b);
    default: return from_truth(truth_not(truth_and(truth_not(a), truth_not(b))));
    }
}

/* --- minimum and maximum, any type --- */

bool oracle_number_below(enum dtype t, struct number a, struct number b)
{
    if (dtype_is_float(t))
        return a.v < b.v;
    return dtype_table[t].kind == DK_UINT ? (uint64_t)a.i < (uint64_t)b.i : a.i < b.i;
}

/* Returns the minimum or maximum; of a number and a NaN it is the number. |max(a, b) - max(a',
 * b')| <= max(|a - a'|, |b - b'|), and if one is surely above the other only its own error
 * counts. */
static struct number extreme(enum dtype t, bool want_max, struct number a, struct number b)
{
    if (dtype_is_float(t) && (isnan(a.v) || isnan(b.v)))
        return isnan(a.v) ? b : a;
    bool take_b = want_max ? oracle_number_below(t, a, b) : oracle_number_below(t, b, a);
    struct number chosen = take_b ? b : a, other = take_b ? a : b;
    double apart = fabs(oracle_number_real(t, a) - oracle_number_real(t, b));
    if (!(apart > a.error + b.error))
        chosen.error = larger(chosen.error, other.error);
    return chosen;
}

/* --- integers --- */

static bool int_exact(const struct rule *r, const struct number *x, int count, struct number *out)
{
    struct literal args[RULE_OPERANDS], result;
    for (int i = 0; i < count; i++)
        args[i] = (struct literal){.i = x[i].i};
    if (!eval_op(r->op, r->type, args, count, &result))
        return false;
    out->i = result.i;
    out->error = 0;
    return true;
}

/* Returns the error of an integer result whose operands are not exact; it is infinite if the
 * result might wrap. */
static double int_error(const struct rule *r, const struct number *x, double result)
{
    double a = oracle_number_real(r->type, x[0]), ea = x[0].error;
    double b = r->count > 1 ? oracle_number_real(r->type, x[1]) : 0,
           eb = r->count > 1 ? x[1].error : 0;
    double ec = r->count > 2 ? x[2].error : 0, error;
    switch (r->op) {
    case OP_NEG:
    case OP_ABS: error = ea; break;
    case OP_ADD:
    case OP_SUB: error = ea + eb; break;
    case OP_SQUARE: error = (2 * fabs(a) + ea) * ea; break;
    case OP_MUL: error = fabs(a) * eb + fabs(b) * ea + ea * eb; break;
    case OP_FMA: error = fabs(a) * eb + fabs(b) * ea + ea * eb + ec; break;
    case OP_DIV:
    case OP_CDIV: error = eb == 0 && b != 0 ? ea / fabs(b) + 1 : INFINITY; break;
    default: return INFINITY;
    }
    return error < 0x1p62 && within(r->type, result - error, result + error) ? error : INFINITY;
}

static bool int_apply(const struct rule *r, const struct number *x, int count, struct number *out)
{
    if (r->op == OP_MIN || r->op == OP_MAX) {
        *out = extreme(r->type, r->op == OP_MAX, x[0], x[1]);
        return true;
    }
    if (r->op == OP_CLIP) {
        *out = extreme(r->type, false, extreme(r->type, true, x[0], x[1]), x[2]);
        return true;
    }
    if (!int_exact(r, x, count,
                   out)) { /* division by zero: there is no value, but `where` may discard it */
        *out = (struct number){.error = INFINITY};
        return op_divides(r->op);
    }
    bool exact = true;
    for (int i = 0; i < count; i++)
        exact = exact && x[i].error == 0;
    if (!exact)
        out->error = int_error(r, x, oracle_number_real(r->type, *out));
    return true;
}

/* --- floats --- */

static struct number product(const struct rule *r, struct number a, struct number b)
{
    double error = scaled(a.v, b.v, b.error) + scaled(b.v, a.v, a.error) + a.error * b.error;
    return rule_round(r, a.v * b.v, error);
}

static struct number quotient(const struct rule *r, struct number a, struct number b)
{
    double v = a.v / b.v;
    if (b.error == 0)
        return rule_round(r, v, a.error == 0 ? 0 : a.error / fabs(b.v));
    if (!(fabs(b.v) > b.error))
        return (struct number){.v = v, .error = INFINITY};
    return rule_round(r, v, (a.error + scaled(v, b.v, b.error)) / (fabs(b.v) - b.error));
}

/* Computes a remainder. fmod is exact; its value jumps where the quotient crosses an integer. */
static struct number remainder_of(struct number a, struct number b)
{
    double v = fmod(a.v, b.v);
    if (a.error == 0 && b.error == 0)
        return unrounded(v, 0);
    double error = a.error + fabs(trunc(a.v / b.v)) * b.error;
    bool jumps = !(fabs(v) > error && fabs(v) + error < fabs(b.v) - b.error);
    return unrounded(v, jumps ? 2 * (fabs(b.v) + b.error) : error);
}

static struct number fused(const struct rule *r, const struct number *x)
{
    struct rule inner = *r;
    inner.is_root = true;
    struct number p = product(&inner, x[0], x[1]); /* a kernel may round the product, too */
    return rule_round(r, fma(x[0].v, x[1].v, x[2].v), p.error + x[2].error);
}

static struct number stepped(double (*f)(double), struct number x)
{
    double v = f(x.v);
    if (x.error == 0)
        return unrounded(v, 0);
    return unrounded(v, larger(settled(f(x.v + x.error) - v), settled(v - f(x.v - x.error))));
}

static struct number float_arith(const struct rule *r, const struct number *x)
{
    struct number a = x[0], b = x[r->count > 1];
    switch (r->op) {
    case OP_NEG: return (struct number){.v = -a.v, .error = a.error};
    case OP_ABS: return (struct number){.v = fabs(a.v), .error = a.error};
    case OP_ADD: return rule_round(r, a.v + b.v, a.error + b.error);
    case OP_SUB: return rule_round(r, a.v - b.v, a.error + b.error);
    case OP_MUL: return product(r, a, b);
    case OP_SQUARE: return product(r, a, a);
    case OP_DIV: return quotient(r, a, b);
    case OP_REM: return remainder_of(a, b);
    case OP_FMA: return fused(r, x);
    case OP_MIN:
    case OP_MAX: return extreme(r->type, r->op == OP_MAX, a, b);
    default: return extreme(r->type, false, extreme(r->type, true, a, b), x[2]); /* clip */
    }
}

/* --- functions --- */

/* Returns the error of a logarithm: d(log x) over [x - e, x + e] is largest at the lower end. */
static double log_error(struct number x)
{
    if (x.error == 0)
        return 0;
    return x.v > x.error ? -real_log1p(-x.error / x.v) : INFINITY;
}

static double sqrt_error(struct number x, double v)
{
    if (x.error == 0)
        return 0;
    if (x.v >= x.error)
        return x.error / (v + sqrt(x.v - x.error));
    return x.v + x.error >= 0 ? INFINITY : 0; /* it may be a NaN; it surely is one */
}

/* Returns the error of the root of a value that may be 0 or slightly below. The kernel's own
 * root could then be NaN, but so could the expected one. */
static double root_error(struct number x, double v)
{
    if (x.error != 0 && x.v >= 0 && x.v < x.error)
        return larger(v, sqrt(x.v + x.error) - v);
    return sqrt_error(x, v);
}

static double rsqrt_error(struct number x, double v)
{
    if (x.error == 0)
        return 0;
    return x.v > x.error ? 1 / sqrt(x.v - x.error) - v : INFINITY;
}

/* Returns the error of functions with |f''| <= 1, for which |f'| over the interval is at most
 * |f'(x)| + e. `most`: the width of the function's range. */
static double smooth_error(struct number x, double slope, double most)
{
    double error = x.error == 0 ? 0 : x.error * (fabs(slope) + x.error);
    return error < most ? error : most;
}

static const double two_over_root_pi = 1.12837916709551257390, ln_2 = 0.69314718055994530942;

/* Returns the error of erfc, which falls: the larger of its change to the lower end of the
 * interval and that to the upper end. */
static double tail_error(struct number x, double v)
{
    return x.error == 0 ? 0 : larger(real_erfc(x.v - x.error) - v, v - real_erfc(x.v + x.error));
}

static double sigmoid_error(struct number x, double v)
{
    if (x.error == 0)
        return 0;
    return larger(real_sigmoid(x.v + x.error) - v, v - real_sigmoid(x.v - x.error));
}

/* Computes a function's value, and its error from the operand; its own rounding is not included. */
static double function_value(enum op op, struct number x, double *error)
{
    double v;
    switch (op) {
    case OP_EXP:
        v = real_exp(x.v);
        *error = x.error == 0 ? 0 : v * real_expm1(x.error);
        break;
    case OP_EXP2:
    case OP_EXP2_APPROX:
        v = real_exp2(x.v);
        *error = x.error == 0 ? 0 : v * real_expm1(x.error * ln_2);
        if (op == OP_EXP2_APPROX && v < 0x1p-126) /* may be 0 */
            *error += v;
        break;
    case OP_LOG:
        v = real_log(x.v);
        *error = log_error(x);
        break;
    case OP_LOG2:
        v = real_log2(x.v);
        *error = log_error(x) / ln_2;
        break;
    case OP_SIN:
        v = real_sin(x.v);
        *error = smooth_error(x, real_cos(x.v), 2);
        break;
    case OP_COS:
        v = real_cos(x.v);
        *error = smooth_error(x, real_sin(x.v), 2);
        break;
    case OP_TANH:
        v = real_tanh(x.v);
        *error = smooth_error(x, 1 - v * v, 2);
        break;
    case OP_ERF:
        v = real_erf(x.v);
        *error = smooth_error(x, two_over_root_pi * real_exp(-x.v * x.v), 2);
        break;
    case OP_ERFC:
        v = real_erfc(x.v);
        *error = tail_error(x, v);
        break;
    case OP_EXPM1:
        v = real_expm1(x.v);
        *error = x.error == 0 ? 0 : (v + 1) * real_expm1(x.error);
        break;
    case OP_LOG1P:
        v = real_log1p(x.v);
        *error = log_error((struct number){.v = 1 + x.v, .error = x.error});
        break;
    case OP_SIGMOID:
        v = real_sigmoid(x.v);
        *error = sigmoid_error(x, v);
        break;
    case OP_SQRT:
        v = sqrt(x.v);
        *error = root_error(x, v);
        break;
    default:
        v = 1 / sqrt(x.v);
        *error = rsqrt_error(x, v);
        break;
    }
    return v;
}

/* Errors, in unit roundoffs, that an executor's own function may have; ROUGH_UNITS is for
 * functions computed in several steps. */
enum { FUNCTION_UNITS = 4, ROUGH_UNITS = 8 };

static double units_of(enum op op)
{
    return op == OP_ERFC || op == OP_SIGMOID || op == OP_POW ? ROUGH_UNITS : FUNCTION_UNITS;
}

/* Returns the magnitude that a function's accuracy is relative to. A function with a zero at x
 * != 0 is accurate relative to the rounding of its operand, not to its value. */
static double accuracy_scale(enum op op, double v)
{
    switch (op) {
    case OP_LOG:
    case OP_LOG2:
    case OP_SIN:
    case OP_COS: return larger(fabs(v), 1);
    default: return fabs(v);
    }
}

static struct number function_of(const struct rule *r, struct number x)
{
    switch (r->op) {
    case OP_ROUND: return stepped(nearbyint, x);
    case OP_FLOOR: return stepped(floor, x);
    case OP_CEIL: return stepped(ceil, x);
    default: break;
    }
    double error, v = function_value(r->op, x, &error);
    if (isinf(x.error)) /* it may be infinite, or a NaN */
        return (struct number){.v = v, .error = INFINITY};
    bool exact_zero = v == 0 && x.error == 0;
    if (isfinite(v) && !exact_zero)
        error += units_of(r->op) * r->unit * (accuracy_scale(r->op, v) + error);
    return rule_round(r, v, error);
}

/* --- powers --- */

/* Returns the error of |a'|^b for |a'| up to `size`, with b exact and whole: a may be 0 or
 * change its sign. */
static double whole_power_error(double v, double size, struct number b)
{
    bool whole = b.error == 0 && trunc(b.v) == b.v && b.v >= 1;
    return whole ? real_pow(size, b.v) + fabs(v) : INFINITY;
}

/* Returns the error of a^b = e^(b log a): the exponent is off by |b| d + eb (|log a| + d), with
 * d the error of log a. */
static double power_error(struct number a, struct number b, double v)
{
    double size = fabs(a.v);
    if (a.error == 0 && b.error == 0)
        return 0;
    if (!(size > a.error) || (a.v < 0 && b.error != 0))
        return whole_power_error(v, size + a.error, b);
    double slip = a.error == 0 ? 0 : -real_log1p(-a.error / size);
    double off = fabs(b.v) * slip;
    if (b.error != 0)
        off += b.error * (fabs(real_log(size)) + slip);
    return off == 0 ? 0 : settled(fabs(v) * real_expm1(off));
}

static struct number power_of(const struct rule *r, struct number a, struct number b)
{
    double v = real_pow(a.v, b.v), error = power_error(a, b, v);
    if (isinf(error))
        return (struct number){.v = v, .error = INFINITY};
    bool exact = (b.v == 0 && b.error == 0) || (v == 0 && error == 0);
    if (isfinite(v) && !exact)
        error += units_of(r->op) * r->unit * (fabs(v) + error);
    return rule_round(r, v, error);
}

/* --- philox --- */

static struct number philox(const struct number *x)
{
    bool exact = x[0].error == 0 && x[1].error == 0 && x[2].error == 0;
    uint32_t word = philox_word((uint64_t)x[0].i, (uint64_t)x[1].i, (uint32_t)x[2].i);
    return (struct number){.i = (int64_t)word, .error = exact ? 0 : INFINITY};
}

/* --- any op --- */

static struct number chosen_by(const struct rule *r, const struct number *x)
{
    enum truth c = oracle_number_truth(r->from[0], x[0]);
    if (c == MAYBE)
        return either(r->type, x[1], x[2]);
    return x[c == YES ? 1 : 2];
}

static bool own_op(const struct rule *r, const struct number *x, struct number *out)
{
    switch (r->op) {
    case OP_CAST:
        *out = dtype_is_float(r->type) && r->type != r->from[0]
                   ? to_float(r->type, r->from[0], x[0], r->is_root)
                   : oracle_number_cast(r->type, r->from[0], x[0]);
        return true;
    case OP_BITS: *out = reinterpreted(r->type, r->from[0], x[0]); return true;
    case OP_WHERE:
    case OP_SELECT: *out = chosen_by(r, x); return true;
    case OP_PHILOX: *out = philox(x); return true;
    default: return false;
    }
}

bool oracle_rule_apply(const struct rule *r, const struct number *args, struct number *out)
{
    struct number converted[RULE_OPERANDS];
    const struct number *x = args;
    if (r->converts) {
        for (int i = 0; i < r->count; i++)
            converted[i] =
                r->in[i] == DT_NONE ? args[i] : oracle_number_cast(r->in[i], r->from[i], args[i]);
        x = converted;
    }
    switch (op_table[r->op].class) {
    case CLASS_COMPARE: *out = compared(r, x); return true;
    case CLASS_LOGIC: *out = logical(r, x); return true;
    case CLASS_FLOAT: *out = function_of(r, x[0]); return true;
    case CLASS_ARITH:
    case CLASS_BITWISE:
        if (r->type == DT_BOOL && op_table[r->op].class == CLASS_BITWISE) {
            *out = logical(r, x);
            return true;
        }
        if (!dtype_is_float(r->type))
            return int_apply(r, x, r->count, out);
        *out = r->op == OP_POW ? power_of(r, x[0], x[1]) : float_arith(r, x);
        return true;
    default: return own_op(r, x, out);
    }
}
