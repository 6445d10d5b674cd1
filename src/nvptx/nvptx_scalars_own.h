/* Helpers that the files of elementwise operations share. */
#ifndef TW_NVPTX_SCALARS_OWN_H
#define TW_NVPTX_SCALARS_OWN_H

#include "nvptx/nvptx_scalars.h"
#include "target/targets.h"

#define NEW(s, type, mnemonic, ...)                                                                \
    nvptx_new((s), (type), (mnemonic), NULL, PTX_OPERANDS(__VA_ARGS__))
/* For each `*` in the mnemonic the type `each`. */
#define NEW_OF(s, type, each, mnemonic, ...)                                                       \
    nvptx_new((s), (type), (mnemonic), PTX_TYPES((uint16_t)(each), (uint16_t)(each)),              \
              PTX_OPERANDS(__VA_ARGS__))

static inline bool nvptx_has(const struct nvptx_scalars *out, enum target_feature feature)
{
    return target_number_has(out->build->module->target.number, feature);
}

/* yes where p, else no; of PTX type `type`. */
static inline struct ptx_operand nvptx_select(struct nvptx_scalars *out, enum ptx_mod type,
                                              struct ptx_operand p, struct ptx_operand yes,
                                              struct ptx_operand no)
{
    return NEW_OF(out, type, type, "selp.*", yes, no, p);
}

/* Notes that the operation has no code on the target. Returns `instead`, so that emission can go on. */
static inline struct ptx_operand nvptx_without_code(struct nvptx_scalars *out,
                                                    struct ptx_operand instead)
{
    out->without_code = true;
    return instead;
}

/* --- nvptx_cast.c --- */

/* A .b32 cut to the bits of a small integer and extended again; of other types x itself. */
struct ptx_operand nvptx_narrow(struct nvptx_scalars *out, enum dtype t, struct ptx_operand x);

/* --- nvptx_math.c: functions of <math.h>; t is DT_F32 or DT_F64 --- */

struct ptx_operand math_emit(struct nvptx_scalars *out, enum thread_opcode op, enum dtype t,
                             struct ptx_operand x);
/* sin or cos; huge: x may lie beyond 100000. */
struct ptx_operand math_sin_f32(struct nvptx_scalars *out, struct ptx_operand x, bool cosine,
                                bool huge);
struct ptx_operand math_rem(struct nvptx_scalars *out, enum dtype t, struct ptx_operand x,
                            struct ptx_operand y); /* fmod; nvptx_math_rem.c */
struct ptx_operand math_pow(struct nvptx_scalars *out, enum dtype t, struct ptx_operand x,
                            struct ptx_operand y); /* nvptx_math_pow.c */

#endif
