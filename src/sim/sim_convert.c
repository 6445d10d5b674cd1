/* Conversions: PTX ISA, data-movement-and-conversion-instructions-cvt and -cvt-pack.
 *
 * Common ones have loops of their own. The others go through convert(), which converts any type
 * to any other, lane by lane; registers may be wider than the types. A NaN becomes the one that
 * NVIDIA's GPUs give: f32 and narrower types have one NaN, f64 keeps sign and fraction. */
#include "base/dtype.h"
#include "sim/sim_exact.h"
#include "sim/sim_half.h"

#include <math.h>

/* --- the conversion, in op->imm --- */

enum kind { SIGNED, UNSIGNED, FLOAT, NO_KIND };
struct how {
    uint8_t from_kind, from_bits, to_kind, to_bits;
    uint8_t from, to;       /* enum sim_format, of floats */
    uint8_t source, result; /* bytes of a lane's registers */
    uint8_t rounding;       /* enum sim_rounding */
    bool integral;          /* .rni and similar */
    bool ftz, sat, relu, satfinite;
    bool random;
};

/* Describes one element of a type: kind, bits and format. */
static bool describe(enum ptx_mod type, uint8_t *kind, uint8_t *bits, uint8_t *format)
{
    static const struct {
        uint16_t type;
        uint8_t kind, bits, format;
    } types[] = {
#define INTEGERS(bits) {MOD_U##bits, UNSIGNED, bits, 0}, {MOD_S##bits, SIGNED, bits, 0}
#define FLOATS(TYPE, bits)                                                                         \
    {                                                                                              \
        MOD_##TYPE, FLOAT, bits, SIM_AS_##TYPE                                                     \
    }
#define PAIRS(TYPE, bits)                                                                          \
    {                                                                                              \
        MOD_##TYPE##X2, FLOAT, bits, SIM_AS_##TYPE                                                 \
    }
        INTEGERS(8),      INTEGERS(16),    INTEGERS(32),    INTEGERS(64),
        FLOATS(F64, 64),  FLOATS(F32, 32), FLOATS(F16, 16), FLOATS(BF16, 16),
        FLOATS(TF32, 32), PAIRS(F16, 16),  PAIRS(BF16, 16), PAIRS(E4M3, 8),
        PAIRS(E5M2, 8),   PAIRS(E2M3, 8),  PAIRS(E3M2, 8),  PAIRS(E2M1, 4),
#undef INTEGERS
#undef FLOATS
#undef PAIRS
    };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].type == type) {
            *kind = types[i].kind;
            *bits = types[i].bits;
            *format = types[i].format;
            return true;
        }
    return false;
}

/* --- any to any --- */

static uint64_t low_bits(int bits)
{
    return bits >= 64 ? UINT64_MAX : ((uint64_t)1 << bits) - 1;
}
static int64_t sign_extended(uint64_t v, int bits)
{
    uint64_t sign = (uint64_t)1 << (bits - 1);
    return (int64_t)(((v & low_bits(bits)) ^ sign) - sign);
}

/* Extends the low bits of a register to an integer of 64 bits, with the type's sign. */
static uint64_t integer_in(const struct how *h, uint64_t raw)
{
    return h->from_kind == SIGNED ? (uint64_t)sign_extended(raw, h->from_bits)
                                  : raw & low_bits(h->from_bits);
}
/* Extends the result's low bits to 64 bits, as a wide register holds them. */
static uint64_t integer_out(const struct how *h, uint64_t v)
{
    return h->to_kind == SIGNED ? (uint64_t)sign_extended(v, h->to_bits) : v & low_bits(h->to_bits);
}

static uint64_t integer_to_integer(const struct how *h, uint64_t v)
{
    if (h->sat) {
        bool minus = h->from_kind == SIGNED && (int64_t)v < 0;
        uint64_t most = low_bits(h->to_kind == SIGNED ? h->to_bits - 1 : h->to_bits);
        if (!minus)
            v = v > most ? most : v;
        else if (h->to_kind == UNSIGNED)
            v = 0;
        else
            v = (int64_t)v < -(int64_t)most - 1 ? ~most : v;
    }
    return integer_out(h, v);
}

static bool is_nan(enum sim_format format, uint64_t bits)
{
    return (bits & (sim_format_sign(format) - 1)) > sim_format_infinity(format) ||
           (format == SIM_AS_E4M3 && (bits & 0x7f) == 0x7f);
}
static bool is_infinite(enum sim_format format, uint64_t bits)
{
    return format != SIM_AS_E4M3 &&
           (bits & (sim_format_sign(format) - 1)) == sim_format_infinity(format);
}

/* Clamps a value of the format to [0, 1]; NaN and -0 become 0. */
static uint64_t saturated(enum sim_format format, uint64_t bits)
{
    uint64_t one = sim_exact_round(sim_exact_integer(false, 1), format, SIM_RN);
    if ((bits & sim_format_sign(format)) || is_nan(format, bits))
        return 0;
    return bits > one ? one : bits;
}

static uint64_t integer_to_float(const struct how *h, uint64_t v)
{
    bool minus = h->from_kind == SIGNED && (int64_t)v < 0;
    uint64_t r = sim_exact_round(sim_exact_integer(minus, minus ? 0 - v : v),
                                 (enum sim_format)h->to, (enum sim_rounding)h->rounding);
    return h->sat ? saturated((enum sim_format)h->to, r) : r;
}

static uint64_t float_to_integer(const struct how *h, uint64_t bits)
{
    enum sim_format from = (enum sim_format)h->from;
    if (h->ftz)
        bits = sim_f32_flush((uint32_t)bits);
    /* NaN gives 0, but the lowest value if f64 or a 64-bit integer takes part. */
    if (is_nan(from, bits)) {
        bool wide = from == SIM_AS_F64 || h->to_bits == 64;
        return integer_out(h, wide ? (uint64_t)1 << (h->to_bits - 1) : 0);
    }
    bool minus = bits & sim_format_sign(from);
    uint64_t most = low_bits(h->to_kind == SIGNED ? h->to_bits - 1 : h->to_bits);
    uint64_t least = h->to_kind == SIGNED ? most + 1 : 0; /* its magnitude */
    uint64_t limit = minus ? least : most;
    if (is_infinite(from, bits))
        return integer_out(h, minus ? 0 - limit : limit);
    struct sim_exact x =
        sim_exact_integral(sim_exact_of(from, bits), (enum sim_rounding)h->rounding);
    uint64_t magnitude;
    if (x.exponent > 64 && x.digits)
        magnitude = limit;
    else
        magnitude = x.digits << x.exponent > limit ? limit : (uint64_t)(x.digits << x.exponent);
    return integer_out(h, minus ? 0 - magnitude : magnitude);
}

/* Converts a NaN. */
static uint64_t nan_to_float(const struct how *h, uint64_t bits)
{
    enum sim_format from = (enum sim_format)h->from, to = (enum sim_format)h->to;
    static const int fraction[SIM_FORMATS] = {
        [SIM_AS_F64] = 52, [SIM_AS_F32] = 23, [SIM_AS_F16] = 10, [SIM_AS_BF16] = 7};
    switch (to) {
    case SIM_AS_F64:
    case SIM_AS_F32:
    case SIM_AS_F16:
    case SIM_AS_BF16: break;
    case SIM_AS_TF32: return 0x7fffe000u >> 13;
    case SIM_AS_E4M3:
    case SIM_AS_E5M2: return 0x7f;
    default: return sim_format_infinity(to) - 1; /* a format without NaN: the largest value */
    }
    if (from == to && to == SIM_AS_F32)
        return h->ftz || h->integral ? 0x7fffffffu : bits;
    if (from == to && to == SIM_AS_F64)
        return h->integral ? sim_f64_quiet(bits) : bits;
    if (from == SIM_AS_BF16 && to == SIM_AS_F32 && !h->ftz)
        return bits << 16;
    if (h->ftz && from == SIM_AS_F32)
        bits = 0x7fffffffu;
    if (from != SIM_AS_F64 && to != SIM_AS_F64)
        return sim_format_sign(to) - 1;
    /* the result has the sign and the top of the fraction, and is quiet */
    bool minus = bits & sim_format_sign(from);
    uint64_t top = bits & low_bits(fraction[from]);
    int wider = fraction[to] - fraction[from];
    top = wider >= 0 ? top << wider : top >> -wider;
    return (minus ? sim_format_sign(to) : 0) | sim_format_infinity(to) | top |
           (uint64_t)1 << (fraction[to] - 1);
}

/* Rounds to tf32, ties away from zero. Works on the bits, for infinity and NaN too. */
static uint64_t to_tf32_away(uint32_t bits)
{
    uint32_t rest = ((bits & 0x7fffffffu) + 0x1000u) & 0xffffe000u;
    return ((bits & 0x80000000u) | (rest > 0x7fffe000u ? 0x7fffe000u : rest)) >> 13;
}

/* Rounds a number or infinity to the type. `random`: random bits of .rs. */
static uint64_t number_to_float(const struct how *h, uint64_t bits, uint32_t random)
{
    enum sim_format from = (enum sim_format)h->from, to = (enum sim_format)h->to;
    enum sim_rounding rounding = (enum sim_rounding)h->rounding;
    if (is_infinite(from, bits)) {
        bool minus = bits & sim_format_sign(from);
        bool none = to >= SIM_AS_E4M3;
        return (minus ? sim_format_sign(to) : 0) | (sim_format_infinity(to) - (none ? 1 : 0));
    }
    struct sim_exact x = sim_exact_of(from, bits);
    if (h->integral)
        return sim_exact_round(sim_exact_integral(x, rounding), to, SIM_RN);
    if (h->random)
        return sim_exact_round_random(x, to, to == SIM_AS_F16 ? random & 0x1fff : random & 0xffff,
                                      to == SIM_AS_F16 ? 13 : 16);
    if (h->ftz && to == SIM_AS_F32 && sim_exact_tiny_rounded(x, to, rounding))
        return x.negative ? sim_format_sign(to) : 0;
    return sim_exact_round(x, to, rounding);
}

static uint64_t float_to_float(const struct how *h, uint64_t bits, uint32_t random)
{
    enum sim_format from = (enum sim_format)h->from, to = (enum sim_format)h->to;
    /* GPUs do not flush an f32 operand that becomes f16; rounding away from 0 shows that */
    if (h->ftz && from == SIM_AS_F32 && to != SIM_AS_F16)
        bits = sim_f32_flush((uint32_t)bits);
    uint64_t r;
    bool nan = is_nan(from, bits);
    if (to == SIM_AS_TF32 && h->rounding == SIM_RNA)
        r = to_tf32_away((uint32_t)bits);
    else if (to == SIM_AS_E4M3 && from == SIM_AS_F32)
        r = f32_to_e4m3(f32_from_bits((uint32_t)bits));
    else if (to == SIM_AS_E5M2 && from == SIM_AS_F32)
        r = f32_to_e5m2(f32_from_bits((uint32_t)bits));
    else if (nan)
        r = nan_to_float(h, bits);
    else
        r = number_to_float(h, bits, random);
    uint64_t sign = sim_format_sign(to), infinity = sim_format_infinity(to);
    if (h->satfinite && to == SIM_AS_TF32 && h->rounding == SIM_RNA && (r & infinity) == infinity)
        r--; /* of a NaN too */
    else if (h->satfinite && is_infinite(to, r) && to < SIM_AS_E4M3)
        r--;
    if (h->relu && (r & sign) && !nan)
        r = 0;
    if (h->sat)
        r = saturated(to, r);
    return r;
}

static uint64_t convert(const struct how *h, uint64_t raw, uint32_t random)
{
    bool to_float = h->to_kind == FLOAT;
    if (h->from_kind != FLOAT)
        return to_float ? integer_to_float(h, integer_in(h, raw))
                        : integer_to_integer(h, integer_in(h, raw));
    raw &= low_bits(h->from_bits);
    uint64_t r = to_float ? float_to_float(h, raw, random) : float_to_integer(h, raw);
    return h->to == SIM_AS_TF32 && to_float ? r << 13 : r;
}

/* --- registers of any width --- */

static uint64_t load(const uint8_t *p, int bytes, int lane)
{
    uint16_t half;
    uint32_t word;
    uint64_t wide;
    switch (bytes) {
    case 2: memcpy(&half, p + 2 * lane, sizeof half); return half;
    case 4: memcpy(&word, p + 4 * lane, sizeof word); return word;
    default: memcpy(&wide, p + 8 * lane, sizeof wide); return wide;
    }
}
static void store(uint8_t *p, int bytes, int lane, uint64_t v)
{
    uint16_t half = (uint16_t)v;
    uint32_t word = (uint32_t)v;
    switch (bytes) {
    case 2: memcpy(p + 2 * lane, &half, sizeof half); break;
    case 4: memcpy(p + 4 * lane, &word, sizeof word); break;
    default: memcpy(p + 8 * lane, &v, sizeof v); break;
    }
}

#define EACH_LANE                                                                                  \
    for (int i = 0; i < SIM_LANES; i++)                                                            \
        if (mask & sim_bit[i])

SIM_HANDLER(convert_any)
{
    const struct how *h = op->data;
    const uint8_t *a = sim_lanes(w, op, 1);
    uint8_t *d = sim_lanes(w, op, 0);
    EACH_LANE store(d, h->result, i, convert(h, load(a, h->source, i), 0));
    return true;
}
/* d = {a, b}: two f32, a in the upper half. With .rs, c has random bits; its upper half is for
 * a. */
SIM_HANDLER(convert_pair)
{
    const struct how *h = op->data;
    SIM_OPERAND(uint32_t, pa, 1)
    SIM_OPERAND(uint32_t, pb, 2)
    SIM_OPERAND(uint32_t, pc, h->random ? 3 : 2)
    uint8_t *d = sim_lanes(w, op, 0);
    EACH_LANE
    {
        uint64_t high = convert(h, pa[i], pc[i] >> 16), low = convert(h, pb[i], pc[i] & 0xffff);
        store(d, h->result, i, high << h->to_bits | low);
    }
    return true;
}
/* Converts both elements of a. */
SIM_HANDLER(convert_elements)
{
    const struct how *h = op->data;
    const uint8_t *a = sim_lanes(w, op, 1);
    uint8_t *d = sim_lanes(w, op, 0);
    EACH_LANE
    {
        uint64_t both = load(a, h->source, i);
        store(d, h->result, i,
              convert(h, both >> h->from_bits, 0) << h->to_bits | convert(h, both, 0));
    }
    return true;
}

/* Converts a power of two: a gives 2^(a - 127), 255 is NaN. */
static uint32_t bf16_of_ue8m0(uint32_t a)
{
    return a == 255 ? 0x7fff : a == 0 ? 0x40 : a << 7;
}
SIM_RARE1(ue8m0_to_bf16, uint32_t, uint16_t,
          bf16_of_ue8m0((uint32_t)a >> 8) << 16 | bf16_of_ue8m0(a & 0xffu))

/* --- loops of their own: registers as wide as the types --- */

#define WIDEN(type, A)                                                                             \
    SIM_UNARY(to_16_##type, uint16_t, A, a)                                                        \
    SIM_UNARY(to_32_##type, uint32_t, A, a)                                                        \
    SIM_UNARY(to_64_##type, uint64_t, A, a)
WIDEN(u16, uint16_t)
WIDEN(s16, int16_t)
WIDEN(u32, uint32_t)
WIDEN(s32, int32_t)
WIDEN(u64, uint64_t)
WIDEN(s64, int64_t)

#define TO_F32(type, A) SIM_UNARY(f32_of_##type, uint32_t, A, f32_bits((float)a))
TO_F32(u16, uint16_t)
TO_F32(s16, int16_t)
TO_F32(u32, uint32_t)
TO_F32(s32, int32_t)
TO_F32(u64, uint64_t)
TO_F32(s64, int64_t)
SIM_UNARY(f64_of_s32, uint64_t, int32_t, f64_bits((double)a))
SIM_UNARY(f64_of_u32, uint64_t, uint32_t, f64_bits((double)a))
SIM_UNARY(f64_of_s64, uint64_t, int64_t, f64_bits((double)a))
SIM_UNARY(f64_of_u64, uint64_t, uint64_t, f64_bits((double)a))

/* Converts an integral v; NaN becomes 0. f32 has the limits 2^31 and 2^32 exactly, and the next
 * f32 below each is in range. */
static inline uint32_t s32_of_float(float v)
{
    float inside = v >= -0x1p31f && v < 0x1p31f ? v : 0.0f;
    uint32_t r = (uint32_t)(int32_t)inside;
    return v >= 0x1p31f ? 0x7fffffffu : v < -0x1p31f ? 0x80000000u : r;
}
static inline uint32_t u32_of_float(float v)
{
    float inside = v > 0 && v < 0x1p32f ? v : 0.0f;
    return v >= 0x1p32f ? 0xffffffffu : (uint32_t)inside;
}
#define FROM_F32(how, rounded)                                                                     \
    SIM_UNARY(s32_##how, uint32_t, uint32_t, s32_of_float(rounded(f32_from_bits(a))))              \
    SIM_UNARY(u32_##how, uint32_t, uint32_t, u32_of_float(rounded(f32_from_bits(a))))
FROM_F32(rni, rintf)
FROM_F32(rzi, truncf)
FROM_F32(rmi, floorf)
FROM_F32(rpi, ceilf)

SIM_UNARY(f32_of_f16, uint32_t, uint16_t, sim_f32_canonical(sim_f16_widen(a)))
SIM_UNARY(f32_of_bf16, uint32_t, uint16_t, sim_bf16_widen(a))
SIM_UNARY(f16_of_f32, uint16_t, uint32_t, sim_f16_narrow(a))
SIM_UNARY(bf16_of_f32, uint16_t, uint32_t, sim_bf16_narrow(a))
SIM_BINARY(f16x2_of_f32, uint32_t, uint32_t, uint32_t,
           (uint32_t)sim_f16_narrow(a) << 16 | sim_f16_narrow(b))
SIM_BINARY(bf16x2_of_f32, uint32_t, uint32_t, uint32_t,
           (uint32_t)sim_bf16_narrow(a) << 16 | sim_bf16_narrow(b))
SIM_UNARY(tf32_of_f32, uint32_t, uint32_t, (uint32_t)(to_tf32_away(a) << 13))
SIM_UNARY(copy_32, uint32_t, uint32_t, a)
SIM_UNARY(copy_64, uint64_t, uint64_t, a)

#define WIDEN_ROWS(source, type)                                                                   \
    SIM_ROW(to_16_##type, CVT, MOD_U16, source), SIM_ROW(to_16_##type, CVT, MOD_S16, source),      \
        SIM_ROW(to_32_##type, CVT, MOD_U32, source), SIM_ROW(to_32_##type, CVT, MOD_S32, source),  \
        SIM_ROW(to_64_##type, CVT, MOD_U64, source), SIM_ROW(to_64_##type, CVT, MOD_S64, source)
#define TO_FLOAT_ROWS(type, TYPE, bits)                                                            \
    SIM_ROW(type##_of_u##bits, CVT, MOD_RN, MOD_##TYPE, MOD_U##bits),                              \
        SIM_ROW(type##_of_s##bits, CVT, MOD_RN, MOD_##TYPE, MOD_S##bits)
#define FROM_F32_ROWS(mod, how)                                                                    \
    SIM_ROW(s32_##how, CVT, mod, MOD_S32, MOD_F32), SIM_ROW(u32_##how, CVT, mod, MOD_U32, MOD_F32)
static const struct sim_value_row fast_rows[] = {
    WIDEN_ROWS(MOD_U16, u16),
    WIDEN_ROWS(MOD_S16, s16),
    WIDEN_ROWS(MOD_U32, u32),
    WIDEN_ROWS(MOD_S32, s32),
    WIDEN_ROWS(MOD_U64, u64),
    WIDEN_ROWS(MOD_S64, s64),
    TO_FLOAT_ROWS(f32, F32, 16),
    TO_FLOAT_ROWS(f32, F32, 32),
    TO_FLOAT_ROWS(f32, F32, 64),
    TO_FLOAT_ROWS(f64, F64, 32),
    TO_FLOAT_ROWS(f64, F64, 64),
    FROM_F32_ROWS(MOD_RNI, rni),
    FROM_F32_ROWS(MOD_RZI, rzi),
    FROM_F32_ROWS(MOD_RMI, rmi),
    FROM_F32_ROWS(MOD_RPI, rpi),
    SIM_ROW(f32_of_f16, CVT, MOD_F32, MOD_F16),
    SIM_ROW(f32_of_bf16, CVT, MOD_F32, MOD_BF16),
    SIM_ROW(f32_of_bf16, CVT, MOD_RN, MOD_F32, MOD_BF16),
    SIM_ROW(f16_of_f32, CVT, MOD_RN, MOD_F16, MOD_F32),
    SIM_ROW(bf16_of_f32, CVT, MOD_RN, MOD_BF16, MOD_F32),
    SIM_ROW(f16x2_of_f32, CVT, MOD_RN, MOD_F16X2, MOD_F32),
    SIM_ROW(bf16x2_of_f32, CVT, MOD_RN, MOD_BF16X2, MOD_F32),
    SIM_ROW(tf32_of_f32, CVT, MOD_RNA, MOD_TF32, MOD_F32),
    SIM_ROW(copy_32, CVT, MOD_F32, MOD_F32),
    SIM_ROW(copy_64, CVT, MOD_F64, MOD_F64),
    SIM_ROW(ue8m0_to_bf16, CVT, MOD_RN, MOD_BF16X2, MOD_UE8M0X2),
};

/* --- cvt.pack --- */

/* op->small: bits of an element; op->small2: signed. */
static uint32_t packed(const struct sim_op *op, int32_t a, int32_t b, uint32_t c)
{
    int bits = op->small;
    int32_t most = (int32_t)low_bits(op->small2 ? bits - 1 : bits);
    int32_t least = op->small2 ? -most - 1 : 0;
    uint32_t low = (uint32_t)(b < least ? least : b > most ? most : b) & (uint32_t)low_bits(bits);
    uint32_t high = (uint32_t)(a < least ? least : a > most ? most : a) & (uint32_t)low_bits(bits);
    uint32_t both = high << bits | low;
    return bits == 16 ? both : both | c << 2 * bits;
}
SIM_RARE2(pack_two, uint32_t, int32_t, int32_t, packed(op, a, b, 0))
SIM_RARE3(pack_three, uint32_t, int32_t, int32_t, uint32_t, packed(op, a, b, c))

static bool choose_pack(struct sim_decoder *d, const struct ptx_instruction *ins, struct sim_op *op)
{
    enum ptx_mod type = ptx_type(ins, 0);
    op->run = ins->operand_count == 4 ? pack_three : pack_two;
    if (!sim_value_operands(d, ins, op))
        return false;
    op->small = ptx_mods[type].bits;
    op->small2 = type == MOD_S16 || type == MOD_S8 || type == MOD_S4 || type == MOD_S2;
    return true;
}

/* --- choice --- */

static bool choose_rounding(const struct ptx_instruction *ins, struct how *h)
{
    static const struct {
        uint16_t mod;
        uint8_t rounding;
        bool integral, random;
    } roundings[] = {
        {MOD_NONE, SIM_RN, false, false}, {MOD_RN, SIM_RN, false, false},
        {MOD_RZ, SIM_RZ, false, false},   {MOD_RM, SIM_RM, false, false},
        {MOD_RP, SIM_RP, false, false},   {MOD_RNA, SIM_RNA, false, false},
        {MOD_RNI, SIM_RN, true, false},   {MOD_RZI, SIM_RZ, true, false},
        {MOD_RMI, SIM_RM, true, false},   {MOD_RPI, SIM_RP, true, false},
        {MOD_RS, SIM_RN, false, true},
    };
    enum ptx_mod mod = ptx_find(ins, PTX_CLASS_ROUNDING, 0);
    for (size_t i = 0; i < sizeof roundings / sizeof *roundings; i++)
        if (roundings[i].mod == mod) {
            h->rounding = roundings[i].rounding;
            h->integral = roundings[i].integral;
            h->random = roundings[i].random;
            return true;
        }
    return false;
}

static bool choose_any(struct sim_decoder *d, const struct ptx_instruction *ins, struct sim_op *op)
{
    enum ptx_mod to = ptx_type(ins, 0), from = ptx_type(ins, 1);
    struct how *h = arena_alloc(sim_decoder_arena(d), sizeof *h);
    *h = (struct how){0};
    if (!describe(to, &h->to_kind, &h->to_bits, &h->to) ||
        !describe(from, &h->from_kind, &h->from_bits, &h->from) || !choose_rounding(ins, h))
        return false;
    h->ftz = ptx_has(ins, MOD_FTZ);
    h->sat = ptx_has(ins, MOD_SAT);
    h->relu = ptx_has(ins, MOD_RELU);
    h->satfinite = ptx_has(ins, MOD_SATFINITE);
    if (!sim_value_operands(d, ins, op))
        return false;
    h->result = (uint8_t)sim_operand_bytes(d, &ins->operands[0], to);
    h->source = (uint8_t)sim_operand_bytes(d, &ins->operands[1], from);
    bool to_pair = to != PTX_TF32 && to != PTX_BF16 && ptx_mods[to].class == PTX_CLASS_PACKED;
    bool from_pair = from != PTX_BF16 && ptx_mods[from].class == PTX_CLASS_PACKED;
    if (to_pair != (from_pair || ins->operand_count > 2))
        return false;
    op->run = from_pair ? convert_elements : to_pair ? convert_pair : convert_any;
    op->data = h;
    return true;
}

/* Returns true if the registers are as wide as the types. */
static bool is_exact(struct sim_decoder *d, const struct ptx_instruction *ins)
{
    for (int i = 0; i < 2; i++) {
        enum ptx_mod type = ptx_type(ins, i);
        if (sim_operand_bytes(d, &ins->operands[i], type) * 8 != ptx_mods[type].bits)
            return false;
    }
    return true;
}

bool sim_choose_convert(struct sim_decoder *d, const struct ptx_instruction *ins, struct sim_op *op)
{
    if (ins->op == PTX_CVT_PACK)
        return choose_pack(d, ins, op);
    if (ins->op != PTX_CVT || ins->operand_count < 2)
        return false;
    if (is_exact(d, ins) &&
        sim_value_choose(d, ins, op, fast_rows, sizeof fast_rows / sizeof *fast_rows))
        return true;
    return choose_any(d, ins, op);
}
