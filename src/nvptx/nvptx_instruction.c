/* PTX types of elements, and single instructions. */
#include "nvptx/nvptx_scalars_own.h"

#include <assert.h>
#include <string.h>

enum ptx_mod nvptx_register_of(enum dtype t)
{
    switch (t) {
    case DT_F64: return MOD_F64;
    case DT_F32: return MOD_F32;
    case DT_F16:
    case DT_BF16: return MOD_B16;
    case DT_I64:
    case DT_U64: return MOD_B64;
    case DT_BOOL: return MOD_PRED;
    default: return MOD_B32;
    }
}

enum ptx_mod nvptx_type_of(enum dtype t)
{
    switch (t) {
    case DT_F64: return MOD_F64;
    case DT_F32:
    case DT_TF32: return MOD_F32;
    case DT_F16: return MOD_F16;
    case DT_BF16: return MOD_BF16;
    case DT_I64: return MOD_S64;
    case DT_U64: return MOD_U64;
    case DT_U32:
    case DT_U16:
    case DT_U8: return MOD_U32;
    case DT_BOOL: return MOD_PRED;
    default: return MOD_S32;
    }
}

struct ptx_operand nvptx_new_register(struct nvptx_scalars *out, enum dtype t)
{
    return ptx_reg(out->build, nvptx_register_of(t));
}

struct ptx_operand nvptx_new(struct nvptx_scalars *out, enum ptx_mod type, const char *mnemonic,
                             const uint16_t *types, const struct ptx_operand *sources, size_t count)
{
    struct ptx_operand all[PTX_MOST_OPERANDS];
    assert(count < PTX_MOST_OPERANDS);
    all[0] = ptx_reg(out->build, type);
    memcpy(all + 1, sources, count * sizeof *sources);
    ptx_emit_list(out->build, mnemonic, types, all, count + 1);
    return all[0];
}

void nvptx_move(struct nvptx_scalars *out, enum dtype t, struct ptx_operand to,
                struct ptx_operand from)
{
    ptx_emit_for(out->build, PTX_TYPES((uint16_t)nvptx_register_of(t)), "mov.*", to, from);
}
