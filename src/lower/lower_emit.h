/* What the files of elementwise ops share. */
#ifndef TW_LOWER_EMIT_H
#define TW_LOWER_EMIT_H

#include "lower/lower_op.h"

/* An instruction whose first operand is a new register of PTX type `type`: that register. */
struct ptx_operand emit_new(struct lower *l, enum ptx_mod type, const char *mnemonic,
                            const uint16_t *types, const struct ptx_operand *sources, size_t count);
#define NEW(l, type, mnemonic, ...)                                                                \
    emit_new((l), (type), (mnemonic), NULL, PTX_OPERANDS(__VA_ARGS__))
/* For each `*` in the mnemonic the type `each`. */
#define NEW_OF(l, type, each, mnemonic, ...)                                                       \
    emit_new((l), (type), (mnemonic), PTX_TYPES((uint16_t)(each), (uint16_t)(each)),               \
             PTX_OPERANDS(__VA_ARGS__))

/* yes where p, else no; of PTX type `type`. */
static inline struct ptx_operand emit_select(struct lower *l, enum ptx_mod type,
                                             struct ptx_operand p, struct ptx_operand yes,
                                             struct ptx_operand no)
{
    return NEW_OF(l, type, type, "selp.*", yes, no, p);
}

static inline bool is_half(enum dtype t)
{
    return t == DT_F16 || t == DT_BF16;
}
/* The formats of matrix units: computed in f32. tf32 has an .f32 register, the others a byte in a
 * .b32, zeros above. */
static inline bool is_matrix_format(enum dtype t)
{
    return t == DT_TF32 || is_byte_float(t);
}
static inline bool is_small(enum dtype t)
{
    return dtype_is_int(t) && dtype_table[t].bits < 32;
}
static inline bool is_wide(enum dtype t)
{
    return dtype_table[t].bits == 64;
}

/* --- lower_cast.c --- */

/* A .b32 cut to the bits of a small integer and extended again; of other types x itself. */
struct ptx_operand emit_narrow(struct lower *l, enum dtype t, struct ptx_operand x);

/* --- lower_math.c: functions of <math.h>; t is DT_F32 or DT_F64 --- */

struct ptx_operand math_emit(struct lower *l, enum op op, enum dtype t, struct ptx_operand x);
/* sin or cos; huge: x may lie beyond 100000. */
struct ptx_operand math_sin_f32(struct lower *l, struct ptx_operand x, bool cosine, bool huge);
struct ptx_operand math_rem(struct lower *l, enum dtype t, struct ptx_operand x,
                            struct ptx_operand y); /* fmod; lower_math_rem.c */
struct ptx_operand math_pow(struct lower *l, enum dtype t, struct ptx_operand x,
                            struct ptx_operand y); /* lower_math_pow.c */

/* --- lower_lookup.c --- */

/* The element at `index` (an i32) of the table whose symbol has that number; the first or last one
 * where the index is outside. */
struct ptx_operand lookup_emit(struct lower *l, struct ptx_operand number,
                               struct ptx_operand index);

/* --- lower_random.c --- */

/* args: seed and offset as u64, the word (0 if count is 2) as u32. */
struct ptx_operand random_emit(struct lower *l, const struct ptx_operand *args, int count);

#endif
