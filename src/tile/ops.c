#include "tile/ops.h"
#include <string.h>

/* The flags under the names that ops.def uses. */
enum {
    PURE = OP_PURE,
    SYNC = OP_SYNC_FLAG,
    MEMORY = OP_MEMORY,
    LAZY = OP_LAZY,
    APPROX = OP_APPROX
};

const struct op_info op_table[OP_COUNT] = {
#define OP(id, text, form, arity, class, flags)                                                    \
    {#id, text, FORM_##form, arity, CLASS_##class, flags},
#include "tile/ops.def"
#undef OP
};

bool op_is_elementwise(enum op op)
{
    switch (op_table[op].class) {
    case CLASS_ARITH:
    case CLASS_COMPARE:
    case CLASS_LOGIC:
    case CLASS_FLOAT:
    case CLASS_BITWISE: return true;
    default: return false;
    }
}

bool op_keeps_place(enum op op)
{
    return op_is_elementwise(op) || op == OP_CAST || op == OP_BITS || op == OP_WHERE ||
           op == OP_PHILOX || op == OP_LOOKUP;
}

int op_precedence(enum op op)
{
    switch (op) {
    case OP_LOR: return 1;
    case OP_LAND: return 2;
    case OP_OR: return 3;
    case OP_XOR: return 4;
    case OP_AND: return 5;
    case OP_EQ:
    case OP_NE: return 6;
    case OP_LT:
    case OP_GT:
    case OP_LE:
    case OP_GE: return 7;
    case OP_SHL:
    case OP_SHR: return 8;
    case OP_ADD:
    case OP_SUB: return 9;
    case OP_MUL:
    case OP_DIV:
    case OP_REM: return 10;
    default: return 0;
    }
}

enum op op_by_text(const char *text, enum op_form form, int arity)
{
    for (int op = 0; op < OP_COUNT; op++) {
        const struct op_info *info = &op_table[op];
        if (info->form == form && (arity < 0 || info->arity < 0 || info->arity == arity) &&
            info->text[0] && strcmp(info->text, text) == 0)
            return (enum op)op;
    }
    return OP_COUNT;
}

const char *op_device_number_text(enum device_number n)
{
    static const char *const texts[] = {NULL, "device.sms", "device.clusters"};
    return texts[n];
}
