/* Scalar expressions of a kernel as expressions of C.
 *
 * Every value is an int64_t. An operation whose value may leave the kernel's type is a call of a
 * function of aot_module.c.in, which records it. */
#include "aot/aot.h"

#include <inttypes.h>

struct printer {
    struct text *out;
    const struct aot_param *params;
};

static bool print(const struct printer *p, const struct expr *e);

static const char *type_name(enum dtype t)
{
    switch (t) {
    case DT_I8: return "AOT_I8";
    case DT_I16: return "AOT_I16";
    case DT_I32: return "AOT_I32";
    case DT_I64: return "AOT_I64";
    case DT_U8: return "AOT_U8";
    case DT_U16: return "AOT_U16";
    case DT_U32: return "AOT_U32";
    case DT_U64: return "AOT_U64";
    case DT_BOOL: return "AOT_BOOL";
    default: return NULL;
    }
}

static bool print_value(const struct printer *p, int64_t v)
{
    if (v == INT64_MIN)
        text_add(p->out, "INT64_MIN");
    else
        text_printf(p->out, v > INT32_MAX || v < INT32_MIN ? "INT64_C(%" PRId64 ")" : "%" PRId64,
                    v);
    return true;
}

static bool print_param(const struct printer *p, const struct sym *s)
{
    if (s->storage != ST_PARAM || s->is_pointer || !type_name(s->type.dtype))
        return false;
    const char *name = p->params[s->index].c_name;
    const char *form = s->type.dtype == DT_U64   ? "aot_u64(aot_p, %s)"
                       : s->type.dtype == DT_U32 ? "(int64_t)%s"
                                                 : "%s";
    text_printf(p->out, form, name);
    return true;
}

/* Prints function(p, TYPE, a, b), or function(a, b) if the value cannot leave the type. */
static bool print_call(const struct printer *p, const struct expr *e, const char *function,
                       bool typed)
{
    text_printf(p->out, "%s(", function);
    if (typed)
        text_printf(p->out, "aot_p, %s, ", type_name(e->type.dtype));
    for (int i = 0; i < e->count; i++) {
        text_add(p->out, i ? ", " : "");
        if (!print(p, e->args[i]))
            return false;
    }
    text_add(p->out, ")");
    return true;
}

static bool print_infix(const struct printer *p, const struct expr *e)
{
    text_add(p->out, "(");
    if (!print(p, e->args[0]))
        return false;
    text_printf(p->out, " %s ", op_table[e->op].text);
    if (!print(p, e->args[1]))
        return false;
    text_add(p->out, ")");
    return true;
}

static bool print_choice(const struct printer *p, const struct expr *e)
{
    text_add(p->out, "(");
    for (int i = 0; i < 3; i++) {
        text_add(p->out, i == 0 ? "" : i == 1 ? " ? " : " : ");
        if (!print(p, e->args[i]))
            return false;
    }
    text_add(p->out, ")");
    return true;
}

/* Prints before, a, between, b, after. */
static bool print_around(const struct printer *p, const char *before, const struct expr *a,
                         const char *between, const struct expr *b, const char *after)
{
    text_add(p->out, before);
    if (!print(p, a))
        return false;
    text_add(p->out, between);
    if (b && !print(p, b))
        return false;
    text_add(p->out, after);
    return true;
}

static bool print_typed_around(const struct printer *p, const struct expr *e, const char *function,
                               const char *first, const struct expr *b)
{
    text_printf(p->out, "%s(aot_p, %s, %s", function, type_name(e->type.dtype), first);
    return print_around(p, "", e->args[0], b ? ", " : "", b, ")");
}

static bool print_clip(const struct printer *p, const struct expr *e)
{
    return print_around(p, "aot_min(aot_max(", e->args[0], ", ", e->args[1], "), ") &&
           print_around(p, "", e->args[2], ")", NULL, "");
}

static bool print_op(const struct printer *p, const struct expr *e)
{
    switch (e->op) {
    case OP_ADD: return print_call(p, e, "aot_add", true);
    case OP_SUB: return print_call(p, e, "aot_sub", true);
    case OP_MUL: return print_call(p, e, "aot_mul", true);
    case OP_DIV: return print_call(p, e, "aot_div", true);
    case OP_REM: return print_call(p, e, "aot_rem", true);
    case OP_CDIV: return print_call(p, e, "aot_cdiv", true);
    case OP_SHL: return print_call(p, e, "aot_shl", true);
    case OP_POW2_CEIL: return print_call(p, e, "aot_pow2_ceil", true);
    case OP_SHR: return print_call(p, e, "aot_shr", false);
    case OP_MIN: return print_call(p, e, "aot_min", false);
    case OP_MAX: return print_call(p, e, "aot_max", false);
    case OP_NEG: return print_typed_around(p, e, "aot_sub", "0, ", NULL);
    case OP_SQUARE: return print_typed_around(p, e, "aot_mul", "", e->args[0]);
    case OP_ABS:
        if (!dtype_is_signed(e->type.dtype))
            return print(p, e->args[0]);
        text_add(p->out, "aot_max(");
        return print_typed_around(p, e, "aot_sub", "0, ", NULL) &&
               print_around(p, ", ", e->args[0], ")", NULL, "");
    case OP_CLIP: return print_clip(p, e);
    case OP_NOT: return print_around(p, "!(", e->args[0], ")", NULL, "");
    case OP_LT:
    case OP_GT:
    case OP_LE:
    case OP_GE:
    case OP_EQ:
    case OP_NE:
    case OP_AND:
    case OP_OR:
    case OP_XOR:
    case OP_LAND:
    case OP_LOR: return print_infix(p, e);
    case OP_SELECT:
    case OP_WHERE: return print_choice(p, e);
    case OP_CAST:
        if (e->type.dtype == DT_BOOL)
            return print_around(p, "(", e->args[0], " != 0)", NULL, "");
        return print_call(p, e, "aot_fit", true);
    default: return false;
    }
}

static bool print(const struct printer *p, const struct expr *e)
{
    int64_t known;
    if (e->type.rank != 0 || !type_name(e->type.dtype))
        return false;
    if (eval_int(e, NULL, &known))
        return print_value(p, known);
    return e->op == OP_REF ? print_param(p, e->sym) : print_op(p, e);
}

bool aot_expr(struct text *out, const struct expr *e, const struct aot_param *params)
{
    return print(&(struct printer){out, params}, e);
}
