/* Text for the host. */
#include "nvptx/nvptx_own.h"

/* Returns an operand in a register. */
static struct ptx_operand in_register(struct nvptx *n, const struct thread_operand *o, enum dtype t)
{
    const struct ptx_operand x = nvptx_scalar(n, o, t);
    if (x.kind == PTX_REGISTER)
        return x;
    struct ptx_operand to = nvptx_new_register(&n->scalars, t);
    nvptx_move(&n->scalars, t, to, x);
    return to;
}

static struct ptx_operand print_value(struct nvptx *n, const struct thread_operation *op,
                                      struct ptx_operand at)
{
    const enum dtype t = op->types[0], wide = nvptx_print_type(t);
    struct ptx_operand x = in_register(n, &op->operands.data[1], t);
    if (t == DT_BOOL)
        return nvptx_print_bool(&n->printer, at, x);
    if (t != wide)
        x = nvptx_cast(&n->scalars, wide, t, x);
    return nvptx_print_number(&n->printer, at, t, x);
}

static void claim(struct nvptx *n, const struct thread_operation *op)
{
    const struct thread_operand *o = op->operands.data;
    struct ptx_operand values[NVPTX_CLAIM_VALUES];
    for (int i = 0; i < NVPTX_CLAIM_VALUES; i++)
        values[i] = in_register(n, &o[2 + i], DT_U64);
    nvptx_print_claim(&n->printer, o[0].integer != 0, o[1].text, values);
}

/* Returns the operation's result. */
static struct ptx_operand emit(struct nvptx *n, const struct thread_operation *op)
{
    const struct thread_operand *o = op->operands.data;
    switch (op->op) {
    case THREAD_PRINT_ROW: return nvptx_print_row(&n->printer, o[0].integer);
    case THREAD_PRINT_ROW_SHARED:
        return nvptx_print_shared(&n->printer, nvptx_element_address(n, &o[0]));
    case THREAD_PRINT_TEXT:
        return nvptx_print_text(&n->printer, nvptx_scalar(n, &o[0], DT_U64), o[1].text);
    default: return print_value(n, op, nvptx_scalar(n, &o[0], DT_U64));
    }
}

void nvptx_print(struct nvptx *n, const struct thread_operation *op)
{
    const struct thread_operand *o = op->operands.data;
    switch (op->op) {
    case THREAD_CLAIM: claim(n, op); break;
    case THREAD_PRINT_SHOW: nvptx_print_show(&n->printer, nvptx_scalar(n, &o[0], DT_U64)); break;
    case THREAD_PRINT_STORE: {
        const struct ptx_operand line = nvptx_scalar(n, &o[0], DT_U64);
        nvptx_print_store(&n->printer, line, o[1].integer, op->types[0],
                          in_register(n, &o[2], op->types[0]));
        break;
    }
    case THREAD_PRINT_FORMAT:
        nvptx_print_format(&n->printer, nvptx_scalar(n, &o[0], DT_U64), o[1].text);
        break;
    default: {
        const struct ptx_operand from = emit(n, op);
        nvptx_set_result(n, MOD_B64, nvptx_registers_of(n, op->results.data[0])->word[0], from);
        break;
    }
    }
}
