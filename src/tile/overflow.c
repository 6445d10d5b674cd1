/* Finds integer arithmetic on known values that leaves its type. Integers of a running kernel
 * wrap; those of constants, extents and grids should not. */
#include "base/text.h"
#include "tile/tile.h"

#include <string.h>

static bool u64_leaves(enum op op, uint64_t a, uint64_t b)
{
    uint64_t ignored;
    switch (op) {
    case OP_ADD: return __builtin_add_overflow(a, b, &ignored);
    case OP_SUB: return a < b;
    case OP_MUL: return __builtin_mul_overflow(a, b, &ignored);
    case OP_SQUARE: return __builtin_mul_overflow(a, a, &ignored);
    case OP_NEG: return a != 0;
    case OP_SHL: return b >= 64 || a << b >> b != a;
    case OP_POW2_CEIL: return a > (uint64_t)1 << 63;
    default: return false;
    }
}

static int64_t pow2_ceil(int64_t x)
{
    uint64_t power = 1;
    while (x > 0 && power < (uint64_t)x)
        power <<= 1;
    return (int64_t)power; /* 2^63 becomes negative */
}

static bool leaves(enum op op, enum dtype t, int64_t a, int64_t b)
{
    int64_t exact = 0;
    bool beyond = false;
    switch (op) {
    case OP_ADD: beyond = __builtin_add_overflow(a, b, &exact); break;
    case OP_SUB: beyond = __builtin_sub_overflow(a, b, &exact); break;
    case OP_MUL: beyond = __builtin_mul_overflow(a, b, &exact); break;
    case OP_SQUARE: beyond = __builtin_mul_overflow(a, a, &exact); break;
    case OP_NEG: beyond = __builtin_sub_overflow((int64_t)0, a, &exact); break;
    case OP_ABS: beyond = a < 0 && __builtin_sub_overflow((int64_t)0, a, &exact); break;
    case OP_SHL:
        if (b < 0 || b >= dtype_table[t].bits)
            return true;
        exact = (int64_t)((uint64_t)a << b);
        beyond = exact >> b != a;
        break;
    case OP_DIV:
    case OP_CDIV: beyond = b == -1 && __builtin_sub_overflow((int64_t)0, a, &exact); break;
    case OP_POW2_CEIL:
        exact = pow2_ceil(a);
        beyond = exact < 0;
        break;
    case OP_CAST: exact = a; break;
    default: return false;
    }
    return beyond || dtype_wrap(t, exact) != exact;
}

static bool expr_leaves(const struct expr *e, const struct scalar_env *env, bool strict)
{
    int64_t a, b = 0;
    enum dtype t = e->type.dtype;
    if (e->count < 1 || e->count > 2 || t == DT_BOOL || (int)t < 0 || dtype_is_float(t))
        return false;
    if (!strict && (dtype_table[t].kind != DK_SINT || e->op == OP_CAST))
        return false;
    if (!eval_int(e->args[0], env, &a) || (e->count == 2 && !eval_int(e->args[1], env, &b)))
        return false;
    if (e->op == OP_CAST && (e->args[0]->type.dtype == DT_U64 || t == DT_U64) && a < 0)
        return e->args[0]->type.dtype != t;
    return t == DT_U64 && e->op != OP_CAST ? u64_leaves(e->op, (uint64_t)a, (uint64_t)b)
                                           : leaves(e->op, t, a, b);
}

const struct expr *eval_overflow(const struct expr *e, const struct scalar_env *env, bool strict)
{
    struct literal condition;
    if (!e)
        return NULL;
    bool chooses = e->op == OP_SELECT && eval_scalar(e->args[0], env, &condition);
    for (int i = 0; i < e->count; i++) {
        bool idle = chooses && i > 0 && (i == 1) != (condition.i != 0);
        const struct expr *inner = idle ? NULL : eval_overflow(e->args[i], env, strict);
        if (inner)
            return inner;
    }
    return expr_leaves(e, env, strict) ? e : NULL;
}

const char *expr_written(const struct expr *e, size_t *length)
{
    enum { MOST = 80 };
    const struct loc at = e->loc;
    *length = at.length;
    if (!at.source || at.length == 0 || at.length > MOST)
        return NULL;
    const char *text = at.source->text + at.offset;
    return memchr(text, '\n', at.length) ? NULL : text;
}

const char *overflow_message(struct arena *a, const struct expr *e, const char *code, size_t length,
                             const int64_t operands[2], const char *name)
{
    struct text out;
    int shown = (int)length;
    text_init(&out, a);
    text_printf(&out, "`%.*s`", shown, code);
    bool infix = e->op == OP_ADD || e->op == OP_SUB || e->op == OP_MUL;
    if (infix && operands) {
        bool is_u64 = e->type.dtype == DT_U64;
        text_printf(&out, is_u64 ? " = %llu %s %llu" : " = %lld %s %lld", (long long)operands[0],
                    op_table[e->op].text, (long long)operands[1]);
    }
    text_printf(&out, " overflows %s", dtype_table[e->type.dtype].name);
    if (infix && dtype_size(e->type.dtype) < 8 && name)
        text_printf(&out, ": declare it `i64 %s = (i64) %.*s`", name, shown, code);
    else if (infix && dtype_size(e->type.dtype) < 8)
        text_printf(&out, ": write `(i64) %.*s`", shown, code);
    return out.data;
}

const char *overflow_text(struct arena *a, const struct expr *e)
{
    struct text code;
    size_t length;
    int64_t value[2];
    const char *written = expr_written(e, &length);
    bool known = e->count == 2 && eval_int(e->args[0], NULL, &value[0]) &&
                 eval_int(e->args[1], NULL, &value[1]);
    text_init(&code, a);
    if (!written) {
        expr_print(&code, e);
        written = code.data;
        length = code.length;
    }
    return overflow_message(a, e, written, length, known ? value : NULL, NULL);
}
