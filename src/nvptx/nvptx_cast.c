/* Conversions between element types.
 *
 * PTX ISA, cvt: floats to integers are truncated (.rzi) and saturated by the instruction; NaN
 * becomes 0 only where source and result have at most 32 bits, else the sign bit alone, which is
 * mended here.
 */
#include "nvptx/nvptx_scalars_own.h"

#include <assert.h>

struct ptx_operand nvptx_narrow(struct nvptx_scalars *out, enum dtype t, struct ptx_operand x)
{
    switch (t) {
    case DT_I8: return NEW(out, MOD_B32, "cvt.s32.s8", x);
    case DT_I16: return NEW(out, MOD_B32, "cvt.s32.s16", x);
    case DT_E4M3:
    case DT_E5M2:
    case DT_U8: return NEW(out, MOD_B32, "and.b32", x, ptx_int(0xff));
    case DT_U16: return NEW(out, MOD_B32, "and.b32", x, ptx_int(0xffff));
    default: return x;
    }
}

static struct ptx_operand moved(struct nvptx_scalars *out, enum ptx_mod type, struct ptx_operand x)
{
    return NEW_OF(out, type, type, "mov.*", x);
}

/* --- integers to integers --- */

/* Returns whether every value of `from` is one of `to`, so that the register stays as it is. */
static bool is_within(enum dtype to, enum dtype from)
{
    int bits = dtype_table[from].bits, room = dtype_table[to].bits;
    if (dtype_is_signed(from))
        return dtype_is_signed(to) && bits <= room;
    return bits < room || (bits == room && !dtype_is_signed(to));
}

static struct ptx_operand integer_to_integer(struct nvptx_scalars *out, enum dtype to,
                                             enum dtype from, struct ptx_operand x)
{
    if (x.kind == PTX_IMMEDIATE)
        return moved(out, nvptx_register_of(to), ptx_int(dtype_wrap(to, (int64_t)x.bits)));
    if (is_wide(to)) {
        if (is_wide(from))
            return moved(out, MOD_B64, x);
        return dtype_is_signed(from) ? NEW(out, MOD_B64, "cvt.s64.s32", x)
                                     : NEW(out, MOD_B64, "cvt.u64.u32", x);
    }
    if (is_wide(from))
        x = NEW(out, MOD_B32, "cvt.u32.u64", x);
    else if (!is_small(to) || is_within(to, from))
        return moved(out, MOD_B32, x);
    return nvptx_narrow(out, to, x);
}

/* --- integers to floats --- */

/* The type that cvt reads: small integers are extended already. */
static enum ptx_mod integer_name(enum dtype t)
{
    if (is_wide(t))
        return dtype_is_signed(t) ? MOD_S64 : MOD_U64;
    return dtype_is_signed(t) ? MOD_S32 : MOD_U32;
}

/* A float with its last bit set where `inexact`: rounding it again rounds as if once ("round to
 * odd": Boldo and Melquiond, "Emulation of FMA and correctly rounded sums", 2008). */
static struct ptx_operand make_odd(struct nvptx_scalars *out, struct ptx_operand x,
                                   struct ptx_operand inexact)
{
    struct ptx_operand bits = NEW(out, MOD_B32, "mov.b32", x);
    struct ptx_operand odd = NEW(out, MOD_B32, "or.b32", bits, ptx_int(1));
    return NEW(out, MOD_F32, "mov.b32", nvptx_select(out, MOD_B32, inexact, odd, bits));
}

/* bf16 before sm_90: through a f32 with all that rounding needs. */
static struct ptx_operand integer_to_bf16(struct nvptx_scalars *out, enum dtype from,
                                          struct ptx_operand x)
{
    enum ptx_mod name = integer_name(from), bits = nvptx_register_of(from);
    if (is_small(from))
        return nvptx_cast(out, DT_BF16, DT_F32, nvptx_cast(out, DT_F32, from, x));
    struct ptx_operand cut = NEW_OF(out, MOD_F32, name, "cvt.rz.f32.*", x);
    struct ptx_operand back = NEW_OF(out, bits, name, "cvt.rzi.*.f32", cut);
    struct ptx_operand inexact = NEW_OF(out, MOD_PRED, bits, "setp.ne.*", back, x);
    return nvptx_cast(out, DT_BF16, DT_F32, make_odd(out, cut, inexact));
}

static struct ptx_operand integer_to_float(struct nvptx_scalars *out, enum dtype to,
                                           enum dtype from, struct ptx_operand x)
{
    if (to == DT_BF16 && !nvptx_has(out, TARGET_BF16_ARITHMETIC))
        return integer_to_bf16(out, from, x);
    return nvptx_new(out, nvptx_register_of(to), "cvt.rn.*.*",
                     PTX_TYPES((uint16_t)nvptx_type_of(to), (uint16_t)integer_name(from)), &x, 1);
}

/* --- floats to integers --- */

static struct ptx_operand float_to_integer(struct nvptx_scalars *out, enum dtype to,
                                           enum dtype from, struct ptx_operand x)
{
    if (from == DT_BF16)
        return float_to_integer(out, to, DT_F32, nvptx_cast(out, DT_F32, from, x));
    static const uint16_t names[DT_COUNT] = {
        [DT_I64] = MOD_S64, [DT_I32] = MOD_S32, [DT_I16] = MOD_S16, [DT_I8] = MOD_S8,
        [DT_U64] = MOD_U64, [DT_U32] = MOD_U32, [DT_U16] = MOD_U16, [DT_U8] = MOD_U8,
    };
    enum ptx_mod reg = nvptx_register_of(to);
    struct ptx_operand y = nvptx_new(out, reg, "cvt.rzi.*.*",
                                     PTX_TYPES(names[to], (uint16_t)nvptx_type_of(from)), &x, 1);
    if (!is_wide(to) && !is_wide(from))
        return y;
    struct ptx_operand number = NEW_OF(out, MOD_PRED, nvptx_type_of(from), "setp.num.*", x, x);
    return nvptx_select(out, reg, number, y, ptx_int(0));
}

/* --- floats to floats --- */

static struct ptx_operand f64_to_bf16_emit(struct nvptx_scalars *out, struct ptx_operand x)
{
    if (nvptx_has(out, TARGET_BF16_ARITHMETIC))
        return NEW(out, MOD_B16, "cvt.rn.bf16.f64", x);
    struct ptx_operand cut = NEW(out, MOD_F32, "cvt.rz.f32.f64", x);
    struct ptx_operand back = NEW(out, MOD_F64, "cvt.f64.f32", cut);
    struct ptx_operand inexact = NEW(out, MOD_PRED, "setp.ne.f64", back, x);
    return nvptx_cast(out, DT_BF16, DT_F32, make_odd(out, cut, inexact));
}

static struct ptx_operand float_to_float(struct nvptx_scalars *out, enum dtype to, enum dtype from,
                                         struct ptx_operand x)
{
    bool widens = dtype_table[to].bits > dtype_table[from].bits;
    if (from == DT_BF16 && to == DT_F32)
        return NEW(out, MOD_F32, "cvt.f32.bf16", x);
    if (from == DT_BF16 || (from == DT_F16 && to == DT_BF16)) {
        enum dtype middle = DT_F32;
        return float_to_float(out, to, middle, float_to_float(out, middle, from, x));
    }
    if (from == DT_F64 && to == DT_BF16)
        return f64_to_bf16_emit(out, x);
    return nvptx_new(out, nvptx_register_of(to), widens ? "cvt.*.*" : "cvt.rn.*.*",
                     PTX_TYPES((uint16_t)nvptx_type_of(to), (uint16_t)nvptx_type_of(from)), &x, 1);
}

/* --- formats of matrix units, through f32 --- */

static enum ptx_mod two_bytes(enum dtype t)
{
    return t == DT_E4M3 ? MOD_E4M3X2 : MOD_E5M2X2;
}

/* sm_89 converts these two at a time, through f16. */
static struct ptx_operand byte_to_f32(struct nvptx_scalars *out, enum dtype from,
                                      struct ptx_operand x)
{
    struct ptx_operand half[2];
    for (int i = 0; i < 2; i++)
        half[i] = ptx_reg(out->build, MOD_B16);
    struct ptx_operand byte = NEW(out, MOD_B16, "cvt.u16.u32", x);
    struct ptx_operand pair = NEW_OF(out, MOD_B32, two_bytes(from), "cvt.rn.f16x2.*", byte);
    ptx_emit(out->build, "mov.b32", ptx_vector(out->build, half, 2), pair);
    return NEW(out, MOD_F32, "cvt.f32.f16", half[0]);
}

static struct ptx_operand f32_to_byte(struct nvptx_scalars *out, enum dtype to,
                                      struct ptx_operand x)
{
    struct ptx_operand pair =
        NEW_OF(out, MOD_B16, two_bytes(to), "cvt.rn.satfinite.*.f32", ptx_f32(0), x);
    return NEW(out, MOD_B32, "cvt.u32.u16", pair);
}

static struct ptx_operand from_format(struct nvptx_scalars *out, enum dtype to, enum dtype from,
                                      struct ptx_operand x)
{
    struct ptx_operand f32 = from == DT_TF32 ? moved(out, MOD_F32, x) : byte_to_f32(out, from, x);
    return to == DT_F32 ? f32 : nvptx_cast(out, to, DT_F32, f32);
}

static struct ptx_operand to_format(struct nvptx_scalars *out, enum dtype to, enum dtype from,
                                    struct ptx_operand x)
{
    struct ptx_operand f32 = from == DT_F32 ? x : nvptx_cast(out, DT_F32, from, x);
    if (to != DT_TF32)
        return f32_to_byte(out, to, f32);
    return NEW(out, MOD_B32, "cvt.rna.tf32.f32", f32);
}

/* --- bool --- */

static struct ptx_operand from_bool(struct nvptx_scalars *out, enum dtype to, struct ptx_operand p)
{
    switch (to) {
    case DT_F64: return nvptx_select(out, MOD_F64, p, ptx_f64(1), ptx_f64(0));
    case DT_F32: return nvptx_select(out, MOD_F32, p, ptx_f32(1), ptx_f32(0));
    case DT_F16: return nvptx_select(out, MOD_B16, p, ptx_int(f32_to_f16(1)), ptx_int(0));
    case DT_BF16: return nvptx_select(out, MOD_B16, p, ptx_int(f32_to_bf16(1)), ptx_int(0));
    default: return nvptx_select(out, nvptx_register_of(to), p, ptx_int(1), ptx_int(0));
    }
}

static struct ptx_operand to_bool(struct nvptx_scalars *out, enum dtype from, struct ptx_operand x)
{
    switch (from) {
    case DT_F64: return NEW(out, MOD_PRED, "setp.neu.f64", x, ptx_f64(0));
    case DT_F32: return NEW(out, MOD_PRED, "setp.neu.f32", x, ptx_f32(0));
    case DT_F16:
    case DT_BF16: return to_bool(out, DT_F32, nvptx_cast(out, DT_F32, from, x));
    default: return NEW_OF(out, MOD_PRED, nvptx_register_of(from), "setp.ne.*", x, ptx_int(0));
    }
}

/* --- all types --- */

struct ptx_operand nvptx_cast(struct nvptx_scalars *out, enum dtype to, enum dtype from,
                              struct ptx_operand x)
{
    if (x.kind != PTX_REGISTER && !(dtype_is_int(to) && dtype_is_int(from)))
        x = moved(out, nvptx_register_of(from), x);
    if (to == from)
        return moved(out, nvptx_register_of(to), x);
    if (is_matrix_format(from))
        return from_format(out, to, from, x);
    if (is_matrix_format(to))
        return to_format(out, to, from, x);
    if (to == DT_BOOL)
        return to_bool(out, from, x);
    if (from == DT_BOOL)
        return from_bool(out, to, x);
    if (dtype_is_int(from))
        return dtype_is_int(to) ? integer_to_integer(out, to, from, x)
                                : integer_to_float(out, to, from, x);
    return dtype_is_int(to) ? float_to_integer(out, to, from, x) : float_to_float(out, to, from, x);
}

/* cvt writes its first source into the upper half. */
struct ptx_operand nvptx_cast_pair(struct nvptx_scalars *out, enum dtype to, struct ptx_operand low,
                                   struct ptx_operand high)
{
    assert(dtype_is_half(to));
    return NEW_OF(out, MOD_B32, to == DT_F16 ? MOD_F16X2 : MOD_BF16X2, "cvt.rn.*.f32", high, low);
}

struct ptx_operand nvptx_cast_four(struct nvptx_scalars *out, enum dtype to,
                                   const struct ptx_operand *x)
{
    struct ptx_operand half[2];
    for (int i = 0; i < 2; i++)
        half[i] =
            NEW_OF(out, MOD_B16, two_bytes(to), "cvt.rn.satfinite.*.f32", x[2 * i + 1], x[2 * i]);
    return NEW(out, MOD_B32, "mov.b32", ptx_vector(out->build, half, 2));
}

void nvptx_halves_into(struct nvptx_scalars *out, enum dtype from, struct ptx_operand word,
                       const struct ptx_operand *to, int count)
{
    struct ptx_operand half[2];
    for (int i = 0; i < 2; i++)
        half[i] = ptx_reg(out->build, MOD_B16);
    ptx_emit(out->build, "mov.b32", ptx_vector(out->build, half, 2), word);
    for (int i = 0; i < count; i++)
        ptx_emit_for(out->build, PTX_TYPES((uint16_t)two_bytes(from)), "cvt.rn.f16x2.*", to[i],
                     half[i]);
}

void nvptx_halves(struct nvptx_scalars *out, enum dtype from, struct ptx_operand word,
                  struct ptx_operand *halves)
{
    for (int i = 0; i < 2; i++)
        halves[i] = ptx_reg(out->build, MOD_B32);
    nvptx_halves_into(out, from, word, halves, 2);
}

struct ptx_operand nvptx_bits(struct nvptx_scalars *out, enum dtype to, enum dtype from,
                              struct ptx_operand x)
{
    enum ptx_mod reg = nvptx_register_of(to);
    assert(dtype_size(to) == dtype_size(from));
    if (x.kind != PTX_REGISTER)
        x = moved(out, nvptx_register_of(from), x);
    if (from == DT_BOOL || to == DT_BOOL)
        return nvptx_cast(out, to, from, x);
    switch (dtype_size(to)) {
    case 8: return NEW(out, reg, "mov.b64", x);
    case 4: return NEW(out, reg, "mov.b32", x);
    default: break;
    }
    if (dtype_is_half(to))
        return dtype_is_half(from) ? moved(out, MOD_B16, x) : NEW(out, MOD_B16, "cvt.u16.u32", x);
    if (dtype_is_half(from))
        return dtype_is_signed(to) ? NEW(out, MOD_B32, "cvt.s32.s16", x)
                                   : NEW(out, MOD_B32, "cvt.u32.u16", x);
    return dtype_is_byte_float(to) && dtype_is_byte_float(from) ? moved(out, MOD_B32, x)
                                                                : nvptx_narrow(out, to, x);
}
