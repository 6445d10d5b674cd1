/* Runs a program of sizes (size_step.h). */
#ifndef TW_SIZE_RUN_H
#define TW_SIZE_RUN_H

#include "tile/size_step.h"

static const int64_t size_least[] = {INT64_MIN, INT32_MIN, INT16_MIN, INT8_MIN, 0,
                                     0,         0,         0,         INT64_MIN};
static const int64_t size_most[] = {INT64_MAX,  INT32_MAX, INT16_MAX, INT8_MAX, UINT32_MAX,
                                    UINT16_MAX, UINT8_MAX, 1,         INT64_MAX};
static const uint8_t size_bits[] = {64, 32, 16, 8, 32, 16, 8, 1, 64};

static int size_fits(int type, int64_t v)
{
    return v >= size_least[type] && v <= size_most[type];
}

static int size_less(int type, int64_t a, int64_t b)
{
    return type == SIZE_U64 ? (uint64_t)a < (uint64_t)b : a < b;
}

static enum size_error size_product(int type, int64_t a, int64_t b, int64_t *out)
{
    *out = (int64_t)((uint64_t)a * (uint64_t)b);
    if (type == SIZE_U64)
        return a != 0 && (uint64_t)*out / (uint64_t)a != (uint64_t)b ? SIZE_OVERFLOWS : SIZE_FITS;
    if (a >= INT32_MIN && a <= INT32_MAX && b >= INT32_MIN && b <= INT32_MAX)
        return SIZE_FITS;
    if ((a == -1 && b == INT64_MIN) || (b == -1 && a == INT64_MIN))
        return SIZE_OVERFLOWS;
    return a != 0 && a != -1 && *out / a != b ? SIZE_OVERFLOWS : SIZE_FITS;
}

static enum size_error size_quotient(int op, int type, int64_t a, int64_t b, int64_t *out)
{
    int64_t rest;
    if (b == 0)
        return SIZE_BY_ZERO;
    if (type == SIZE_U64) {
        *out = (int64_t)((uint64_t)a / (uint64_t)b);
        rest = (int64_t)((uint64_t)a % (uint64_t)b);
        *out += op == SIZE_CDIV && rest != 0;
    } else if (b == -1) {
        *out = (int64_t)(0 - (uint64_t)a);
        rest = 0;
        if (a == INT64_MIN && op != SIZE_REM)
            return SIZE_OVERFLOWS;
    } else {
        *out = a / b;
        rest = a % b;
        *out += op == SIZE_CDIV && rest != 0 && (rest < 0) == (b < 0);
    }
    *out = op == SIZE_REM ? rest : *out;
    return SIZE_FITS;
}

static int64_t size_shifted_right(int type, int64_t a, int64_t by)
{
    uint64_t sign = a < 0 && type != SIZE_U64 ? UINT64_MAX : 0;
    return (int64_t)((((uint64_t)a ^ sign) >> by) ^ sign);
}

/* Shifts. To the right, an amount that is negative or too large shifts all bits out. */
static enum size_error size_shift(int op, int type, int64_t a, int64_t by, int64_t *out)
{
    int all = by < 0 || by >= size_bits[type];
    if (op == SIZE_SHL) {
        *out = all ? 0 : (int64_t)((uint64_t)a << by);
        return all || size_shifted_right(type, *out, by) != a ? SIZE_OVERFLOWS : SIZE_FITS;
    }
    *out = size_shifted_right(type, a, all ? 63 : by);
    if (all && type == SIZE_U64)
        *out = 0;
    return SIZE_FITS;
}

static enum size_error size_binary(int op, int type, int64_t a, int64_t b, int64_t *out)
{
    uint64_t ua = (uint64_t)a, ub = (uint64_t)b;
    switch (op) {
    case SIZE_ADD:
        *out = (int64_t)(ua + ub);
        if (type == SIZE_U64)
            return ua + ub < ua ? SIZE_OVERFLOWS : SIZE_FITS;
        return ((ua ^ (uint64_t)*out) & (ub ^ (uint64_t)*out)) >> 63 ? SIZE_OVERFLOWS : SIZE_FITS;
    case SIZE_SUB:
        *out = (int64_t)(ua - ub);
        if (type == SIZE_U64)
            return ua < ub ? SIZE_OVERFLOWS : SIZE_FITS;
        return ((ua ^ ub) & (ua ^ (uint64_t)*out)) >> 63 ? SIZE_OVERFLOWS : SIZE_FITS;
    case SIZE_MUL: return size_product(type, a, b, out);
    case SIZE_DIV:
    case SIZE_REM:
    case SIZE_CDIV: return size_quotient(op, type, a, b, out);
    case SIZE_SHL:
    case SIZE_SHR: return size_shift(op, type, a, b, out);
    case SIZE_LESSER: *out = size_less(type, b, a) ? b : a; break;
    case SIZE_GREATER: *out = size_less(type, a, b) ? b : a; break;
    case SIZE_AND: *out = a & b; break;
    case SIZE_OR: *out = a | b; break;
    case SIZE_XOR: *out = a ^ b; break;
    case SIZE_LT: *out = size_less(type, a, b); break;
    case SIZE_GT: *out = size_less(type, b, a); break;
    case SIZE_LE: *out = !size_less(type, b, a); break;
    case SIZE_GE: *out = !size_less(type, a, b); break;
    case SIZE_EQ: *out = a == b; break;
    default: *out = a != b; break;
    }
    return SIZE_FITS;
}

static enum size_error size_unary(const struct size_step *step, int64_t a, int64_t *out)
{
    uint64_t power = 1;
    *out = a;
    switch (step->op) {
    case SIZE_FIT: /* a negative number fits no u64, and the upper half of u64 no other type */
        return (step->type == SIZE_U64 || step->index == SIZE_U64) && a < 0 &&
                       step->type != step->index
                   ? SIZE_OVERFLOWS
                   : SIZE_FITS;
    case SIZE_TRUTH: *out = a != 0; return SIZE_FITS;
    default: break;
    }
    while (power && size_less(step->type, 0, a) && power < (uint64_t)a)
        power <<= 1;
    *out = (int64_t)power;
    return power == 0 || (step->type != SIZE_U64 && *out < 0) ? SIZE_OVERFLOWS : SIZE_FITS;
}

/* Ends a root whose number is a. Results from `kept` on are not stored. */
static enum size_error size_end(const struct size_step *step, int64_t a, int64_t *results, int kept)
{
    int stores = step->op <= SIZE_RESULT && step->index < kept;
    if (stores)
        results[step->index] = a;
    switch (step->op) {
    case SIZE_GRID: return a < 0 ? SIZE_NEGATIVE : a > step->value ? SIZE_TOO_MANY : SIZE_FITS;
    case SIZE_EXTENT: return a < 0 ? SIZE_NEGATIVE : SIZE_FITS;
    case SIZE_RESULT: return size_fits(step->type, a) ? SIZE_FITS : SIZE_OVERFLOWS;
    case SIZE_BIT:
        if (step->index < kept && a != 0)
            results[step->index] |= (int64_t)1 << step->value;
        return SIZE_FITS;
    default: return a == 0 ? SIZE_UNMET : SIZE_FITS;
    }
}

/* Returns the number of steps that a jump leaves out, and pops what it takes. */
static int32_t size_jump(const struct size_step *step, int64_t **top)
{
    int64_t a = (*top)[-1];
    int skips = 1;
    switch (step->op) {
    case SIZE_SKIP: return step->index;
    case SIZE_UNLESS: --*top; return a == 0 ? step->index : 0;
    case SIZE_AND_THEN: skips = a == 0; break;
    default: skips = a != 0; break;
    }
    *top -= !skips;
    return skips ? step->index : 0;
}

/* Runs one step that is not arithmetic of two numbers. *next: the step after it. */
static enum size_error size_one(const struct size_step *step, int64_t **top, size_other *other,
                                const struct size_step **next)
{
    int64_t *at = *top, v;
    switch (step->op) {
    case SIZE_FIT:
    case SIZE_POW2_CEIL:
    case SIZE_TRUTH: {
        enum size_error error = size_unary(step, at[-1], &v);
        if (error == SIZE_FITS && !size_fits(step->type, v))
            error = SIZE_OVERFLOWS;
        if (error == SIZE_FITS)
            at[-1] = v;
        return error;
    }
    case SIZE_COPY:
        at[0] = at[-1];
        ++*top;
        return SIZE_FITS;
    case SIZE_SWAP:
        v = at[-1];
        at[-1] = at[-2];
        at[-2] = v;
        return SIZE_FITS;
    case SIZE_LOOKUP:
        v = at[-1];
        if (v < 0 || v >= step->index)
            return SIZE_UNKNOWN;
        at[-1] = step[1 + v].value;
        *next += step->index;
        return SIZE_FITS;
    case SIZE_OTHER:
        if (!other || !other(step, at - step->index, &v))
            return SIZE_UNKNOWN;
        *top = at - step->index + 1;
        (*top)[-1] = v;
        return SIZE_FITS;
    default: *next += size_jump(step, top); return SIZE_FITS;
    }
}

/* Runs the steps from `step` to `end`, which begin with a root. params: by parameter; integers
 * are extended by their sign, a float has the bytes of its own type. Stores the results below `kept`.
 * Returns true, or false with the first fault. */
static int size_run(const struct size_step *step, const struct size_step *end,
                    const uint64_t *params, int64_t *results, int kept, size_other *other,
                    struct size_fault *fault)
{
    int64_t stack[SIZE_DEPTH], *top = stack, a = 0, b = 0,
                               v = 0; /* `top` is the first free place */
    enum size_error error = SIZE_FITS;
    const struct size_step *next;
    while (step < end) {
        if (step->op <= SIZE_NUMBER) {
            *top++ = step->op == SIZE_PARAM ? (int64_t)params[step->index] : step->value;
            step++;
            continue;
        }
        if (step->op == SIZE_AXIS) {
            a = (int64_t)params[step->index];
            error = a < 0 ? SIZE_NEGATIVE : SIZE_FITS;
            next = step + 1;
        } else if (step->op <= SIZE_NE) {
            b = *--top;
            a = top[-1];
            error = size_binary(step->op, step->type, a, b, &v);
            if (error == SIZE_FITS && step->op <= SIZE_SHL && !size_fits(step->type, v))
                error = SIZE_OVERFLOWS;
            top[-1] = v;
            next = step + 1;
        } else if (step->op >= SIZE_GRID) {
            a = *--top;
            error = size_end(step, a, results, kept);
            next = step + 1;
        } else {
            a = top[-1];
            next = step + 1;
            error = size_one(step, &top, other, &next);
        }
        if (error != SIZE_FITS)
            break;
        step = next;
    }
    if (error != SIZE_FITS) {
        fault->error = error;
        fault->step = step;
        fault->a = a;
        fault->b = b;
    }
    return error == SIZE_FITS;
}

#endif
