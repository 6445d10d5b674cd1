/* Integer arithmetic: PTX ISA, integer-arithmetic-instructions and
 * extended-precision-integer-arithmetic-instructions.
 *
 * Sums and products wrap, so signed and unsigned ones of a width share a handler. Results that
 * PTX leaves to the machine are those of NVIDIA's GPUs: quotients and remainders of a division
 * by zero have all bits set. */
#include "sim/sim_value.h"

#if defined(__SIZEOF_INT128__)
__extension__ typedef unsigned __int128 wide_u64;
__extension__ typedef __int128 wide_s64;
#else
#error "the simulator needs a 128-bit integer type"
#endif

/* --- sums and products --- */

SIM_BINARY(add_16, uint16_t, uint16_t, uint16_t, a + b)
SIM_BINARY(add_32, uint32_t, uint32_t, uint32_t, a + b)
SIM_BINARY(add_64, uint64_t, uint64_t, uint64_t, a + b)
SIM_PAIRS2(add_16x2, uint16_t, a + b)
SIM_BINARY(sub_16, uint16_t, uint16_t, uint16_t, a - b)
SIM_BINARY(sub_32, uint32_t, uint32_t, uint32_t, a - b)
SIM_BINARY(sub_64, uint64_t, uint64_t, uint64_t, a - b)

static inline int32_t clamp_s32(int64_t v)
{
    return (int32_t)(v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : v);
}
SIM_BINARY(add_sat_s32, int32_t, int32_t, int32_t, clamp_s32((int64_t)a + b))
SIM_BINARY(sub_sat_s32, int32_t, int32_t, int32_t, clamp_s32((int64_t)a - b))

/* Return the high half of a product. */
static inline uint64_t high_u64(uint64_t a, uint64_t b)
{
    return (uint64_t)((wide_u64)a * b >> 64);
}
static inline uint64_t high_s64(int64_t a, int64_t b)
{
    return (uint64_t)((wide_s64)a * b >> 64);
}
static inline uint32_t high_u32(uint32_t a, uint32_t b)
{
    return (uint32_t)((uint64_t)a * b >> 32);
}
static inline uint32_t high_s32(int32_t a, int32_t b)
{
    return (uint32_t)((uint64_t)((int64_t)a * b) >> 32);
}
static inline uint16_t high_u16(uint16_t a, uint16_t b)
{
    return (uint16_t)((uint32_t)a * b >> 16);
}
static inline uint16_t high_s16(int16_t a, int16_t b)
{
    return (uint16_t)((uint32_t)(a * b) >> 16);
}

SIM_BINARY(mul_lo_16, uint16_t, uint16_t, uint16_t, (uint32_t)a *b)
SIM_BINARY(mul_lo_32, uint32_t, uint32_t, uint32_t, a *b)
SIM_BINARY(mul_lo_64, uint64_t, uint64_t, uint64_t, a *b)
SIM_BINARY(mul_hi_u16, uint16_t, uint16_t, uint16_t, high_u16(a, b))
SIM_BINARY(mul_hi_s16, uint16_t, int16_t, int16_t, high_s16(a, b))
SIM_BINARY(mul_hi_u32, uint32_t, uint32_t, uint32_t, high_u32(a, b))
SIM_BINARY(mul_hi_s32, uint32_t, int32_t, int32_t, high_s32(a, b))
SIM_BINARY(mul_hi_u64, uint64_t, uint64_t, uint64_t, high_u64(a, b))
SIM_BINARY(mul_hi_s64, uint64_t, int64_t, int64_t, high_s64(a, b))
SIM_BINARY(mul_wide_u16, uint32_t, uint16_t, uint16_t, (uint32_t)a *b)
SIM_BINARY(mul_wide_s16, int32_t, int16_t, int16_t, a *b)
SIM_BINARY(mul_wide_u32, uint64_t, uint32_t, uint32_t, (uint64_t)a *b)
SIM_BINARY(mul_wide_s32, int64_t, int32_t, int32_t, (int64_t)a *b)

SIM_TERNARY(mad_lo_16, uint16_t, uint16_t, uint16_t, uint16_t, (uint32_t)a *b + c)
SIM_TERNARY(mad_lo_32, uint32_t, uint32_t, uint32_t, uint32_t, a *b + c)
SIM_TERNARY(mad_lo_64, uint64_t, uint64_t, uint64_t, uint64_t, a *b + c)
SIM_TERNARY(mad_hi_u16, uint16_t, uint16_t, uint16_t, uint16_t, high_u16(a, b) + c)
SIM_TERNARY(mad_hi_s16, uint16_t, int16_t, int16_t, uint16_t, high_s16(a, b) + c)
SIM_TERNARY(mad_hi_u32, uint32_t, uint32_t, uint32_t, uint32_t, high_u32(a, b) + c)
SIM_TERNARY(mad_hi_s32, uint32_t, int32_t, int32_t, uint32_t, high_s32(a, b) + c)
SIM_TERNARY(mad_hi_u64, uint64_t, uint64_t, uint64_t, uint64_t, high_u64(a, b) + c)
SIM_TERNARY(mad_hi_s64, uint64_t, int64_t, int64_t, uint64_t, high_s64(a, b) + c)
SIM_TERNARY(mad_wide_u16, uint32_t, uint16_t, uint16_t, uint32_t, (uint32_t)a *b + c)
SIM_TERNARY(mad_wide_s16, uint32_t, int16_t, int16_t, uint32_t, (uint32_t)(a *b) + c)
SIM_TERNARY(mad_wide_u32, uint64_t, uint32_t, uint32_t, uint64_t, (uint64_t)a *b + c)
SIM_TERNARY(mad_wide_s32, uint64_t, int32_t, int32_t, uint64_t, (uint64_t)((int64_t)a *b) + c)

#if !defined(SIM_V3) /* seldom */
SIM_TERNARY(mad_hi_sat_s32, int32_t, int32_t, int32_t, int32_t,
            clamp_s32((int64_t)(int32_t)high_s32(a, b) + c))

/* Multiplies the low 24 bits of each factor; the product has 48 bits. .lo: its bits 0 to 31,
 * .hi: its bits 16 to 47. */
static inline uint64_t product_u24(uint32_t a, uint32_t b)
{
    return (uint64_t)(a & 0xffffffu) * (b & 0xffffffu);
}
static inline int64_t product_s24(uint32_t a, uint32_t b)
{
    return (int64_t)((int32_t)(a << 8) >> 8) * ((int32_t)(b << 8) >> 8);
}
SIM_BINARY(mul24_lo_u32, uint32_t, uint32_t, uint32_t, product_u24(a, b))
SIM_BINARY(mul24_hi_u32, uint32_t, uint32_t, uint32_t, product_u24(a, b) >> 16)
SIM_BINARY(mul24_lo_s32, uint32_t, uint32_t, uint32_t, product_s24(a, b))
SIM_BINARY(mul24_hi_s32, uint32_t, uint32_t, uint32_t, (uint64_t)product_s24(a, b) >> 16)
SIM_TERNARY(mad24_lo_u32, uint32_t, uint32_t, uint32_t, uint32_t, product_u24(a, b) + c)
SIM_TERNARY(mad24_hi_u32, uint32_t, uint32_t, uint32_t, uint32_t, (product_u24(a, b) >> 16) + c)
SIM_TERNARY(mad24_lo_s32, uint32_t, uint32_t, uint32_t, uint32_t, (uint64_t)product_s24(a, b) + c)
SIM_TERNARY(mad24_hi_s32, uint32_t, uint32_t, uint32_t, uint32_t,
            ((uint64_t)product_s24(a, b) >> 16) + c)
SIM_TERNARY(mad24_hi_sat_s32, int32_t, uint32_t, uint32_t, int32_t,
            clamp_s32((int64_t)(int32_t)(uint32_t)((uint64_t)product_s24(a, b) >> 16) + c))

/* --- the carry, a predicate in slot 5 --- */

enum { CARRY = 5 };

/* Defines a handler. `x` computes the lane's `result` and its carry in `over`, from a, b, c and
 * the incoming carry `in`. */
#define CARRYING(name, T, third, x)                                                                \
    SIM_HANDLER(name)                                                                              \
    {                                                                                              \
        T *d = sim_lanes(w, op, 0);                                                                \
        SIM_OPERAND(T, pa, 1)                                                                      \
        SIM_OPERAND(T, pb, 2)                                                                      \
        SIM_OPERAND(T, pc, third)                                                                  \
        uint32_t *carry = sim_predicate(w, op, CARRY), flags = 0;                                  \
        for (int i = 0; i < SIM_LANES; i++) {                                                      \
            const T a = pa[i], b = pb[i], c = pc[i];                                               \
            const T in = op->small & READS_CARRY ? *carry >> i & 1 : 0;                            \
            T result, over;                                                                        \
            x;                                                                                     \
            (void)c;                                                                               \
            flags |= over ? sim_bit[i] : 0;                                                        \
            d[i] = mask & sim_bit[i] ? result : d[i];                                              \
        }                                                                                          \
        if (op->small & WRITES_CARRY)                                                              \
            sim_set_predicate(carry, flags, mask);                                                 \
        return true;                                                                               \
    }
enum { READS_CARRY = 1, WRITES_CARRY = 2 };
/* a + b + in, a - b - in: at most one of the two steps wraps. */
#define WITH_CARRY(a, b)                                                                           \
    (result = (a) + (b), over = result < (b), result += in, over |= result < in)
#define WITH_BORROW(a, b) (result = (a) - (b), over = (a) < (b), over |= result < in, result -= in)
CARRYING(addc_32, uint32_t, 2, WITH_CARRY(a, b))
CARRYING(addc_64, uint64_t, 2, WITH_CARRY(a, b))
CARRYING(subc_32, uint32_t, 2, WITH_BORROW(a, b))
CARRYING(subc_64, uint64_t, 2, WITH_BORROW(a, b))
CARRYING(madc_lo_32, uint32_t, 3, WITH_CARRY(a *b, c))
CARRYING(madc_lo_64, uint64_t, 3, WITH_CARRY(a *b, c))
CARRYING(madc_hi_u32, uint32_t, 3, WITH_CARRY(high_u32(a, b), c))
CARRYING(madc_hi_s32, uint32_t, 3, WITH_CARRY(high_s32((int32_t)a, (int32_t)b), c))
CARRYING(madc_hi_u64, uint64_t, 3, WITH_CARRY(high_u64(a, b), c))
CARRYING(madc_hi_s64, uint64_t, 3, WITH_CARRY(high_s64((int64_t)a, (int64_t)b), c))
#endif

/* --- quotients --- */

#define QUOTIENTS(bits)                                                                            \
    SIM_RARE2(div_u##bits, uint##bits##_t, uint##bits##_t, uint##bits##_t,                         \
              b ? (uint##bits##_t)(a / b) : (uint##bits##_t)UINT64_MAX)                            \
    SIM_RARE2(rem_u##bits, uint##bits##_t, uint##bits##_t, uint##bits##_t,                         \
              b ? (uint##bits##_t)(a % b) : (uint##bits##_t)UINT64_MAX)                            \
    SIM_RARE2(div_s##bits, uint##bits##_t, int##bits##_t, int##bits##_t,                           \
              b == 0    ? UINT64_MAX                                                               \
              : b == -1 ? 0 - (uint64_t)a                                                          \
                        : (uint64_t)(a / b))                                                       \
    SIM_RARE2(rem_s##bits, uint##bits##_t, int##bits##_t, int##bits##_t,                           \
              b == 0    ? UINT64_MAX                                                               \
              : b == -1 ? 0                                                                        \
                        : (uint64_t)(a % b))
QUOTIENTS(16)
QUOTIENTS(32)
QUOTIENTS(64)

/* --- magnitudes and extremes --- */

#define MAGNITUDES(bits)                                                                           \
    SIM_TERNARY(sad_u##bits, uint##bits##_t, uint##bits##_t, uint##bits##_t, uint##bits##_t,       \
                (uint64_t)c +                                                                      \
                    (uint64_t)(a < b ? (uint##bits##_t)(b - a) : (uint##bits##_t)(a - b)))         \
    SIM_TERNARY(sad_s##bits, uint##bits##_t, int##bits##_t, int##bits##_t, uint##bits##_t,         \
                (uint64_t)c + (a < b ? (uint64_t)b - (uint64_t)a : (uint64_t)a - (uint64_t)b))     \
    SIM_UNARY(abs_s##bits, uint##bits##_t, int##bits##_t, a < 0 ? 0 - (uint64_t)a : (uint64_t)a)   \
    SIM_UNARY(neg_s##bits, uint##bits##_t, uint##bits##_t, 0 - (uint64_t)a)                        \
    SIM_BINARY(min_u##bits, uint##bits##_t, uint##bits##_t, uint##bits##_t, a < b ? a : b)         \
    SIM_BINARY(max_u##bits, uint##bits##_t, uint##bits##_t, uint##bits##_t, a > b ? a : b)         \
    SIM_BINARY(min_s##bits, int##bits##_t, int##bits##_t, int##bits##_t, a < b ? a : b)            \
    SIM_BINARY(max_s##bits, int##bits##_t, int##bits##_t, int##bits##_t, a > b ? a : b)
MAGNITUDES(16)
MAGNITUDES(32)
MAGNITUDES(64)
#define RELU(v) ((v) < 0 ? 0 : (v))
SIM_BINARY(min_relu_s32, int32_t, int32_t, int32_t, RELU(a < b ? a : b))
SIM_BINARY(max_relu_s32, int32_t, int32_t, int32_t, RELU(a > b ? a : b))
SIM_PAIRS2(min_u16x2, uint16_t, a < b ? a : b)
SIM_PAIRS2(max_u16x2, uint16_t, a > b ? a : b)
SIM_PAIRS2(min_s16x2, int16_t, a < b ? a : b)
SIM_PAIRS2(max_s16x2, int16_t, a > b ? a : b)
SIM_PAIRS2(min_relu_s16x2, int16_t, RELU(a < b ? a : b))
SIM_PAIRS2(max_relu_s16x2, int16_t, RELU(a > b ? a : b))

/* --- dot products of bytes --- */

/* Returns byte or half number `at` of v. */
static inline uint32_t byte_of(uint32_t v, int at, bool with_sign)
{
    uint32_t byte = v >> (8 * at) & 0xff;
    return with_sign ? (byte ^ 0x80) - 0x80 : byte;
}
static inline uint32_t half_of(uint32_t v, int at, bool with_sign)
{
    uint32_t half = v >> (16 * at) & 0xffff;
    return with_sign ? (half ^ 0x8000) - 0x8000 : half;
}
#define DOT4(sa, sb)                                                                               \
    (c + byte_of(a, 0, sa) * byte_of(b, 0, sb) + byte_of(a, 1, sa) * byte_of(b, 1, sb) +           \
     byte_of(a, 2, sa) * byte_of(b, 2, sb) + byte_of(a, 3, sa) * byte_of(b, 3, sb))
/* `first`: 0 for .lo, 2 for .hi: the first byte of b that takes part. */
#define DOT2(sa, sb, first)                                                                        \
    (c + half_of(a, 0, sa) * byte_of(b, first, sb) + half_of(a, 1, sa) * byte_of(b, first + 1, sb))
#define DOTS(suffix, sa, sb)                                                                       \
    SIM_TERNARY(dp4a_##suffix, uint32_t, uint32_t, uint32_t, uint32_t, DOT4(sa, sb))               \
    SIM_TERNARY(dp2a_lo_##suffix, uint32_t, uint32_t, uint32_t, uint32_t, DOT2(sa, sb, 0))         \
    SIM_TERNARY(dp2a_hi_##suffix, uint32_t, uint32_t, uint32_t, uint32_t, DOT2(sa, sb, 2))
DOTS(uu, false, false)
DOTS(us, false, true)
DOTS(su, true, false)
DOTS(ss, true, true)

/* --- choice --- */

/* EITHER: rows of one handler for both signs of a width. BOTH: a row for each sign, with a
 * handler of its own. Other modifiers come before the type. */
#define EITHER(handler, id, bits, ...)                                                             \
    SIM_ROW(handler##_##bits, id, __VA_ARGS__ MOD_U##bits),                                        \
        SIM_ROW(handler##_##bits, id, __VA_ARGS__ MOD_S##bits)
#define BOTH(handler, id, bits, ...)                                                               \
    SIM_ROW(handler##_u##bits, id, __VA_ARGS__ MOD_U##bits),                                       \
        SIM_ROW(handler##_s##bits, id, __VA_ARGS__ MOD_S##bits)
#define SIGNED(handler, id, bits, ...) SIM_ROW(handler##_s##bits, id, __VA_ARGS__ MOD_S##bits)
#define SHORT_WIDTHS(WHICH, handler, id, ...)                                                      \
    WHICH(handler, id, 16, __VA_ARGS__), WHICH(handler, id, 32, __VA_ARGS__)
#define LONG_WIDTHS(WHICH, handler, id, ...)                                                       \
    WHICH(handler, id, 32, __VA_ARGS__), WHICH(handler, id, 64, __VA_ARGS__)
#define ALL_WIDTHS(WHICH, handler, id, ...)                                                        \
    SHORT_WIDTHS(WHICH, handler, id, __VA_ARGS__), WHICH(handler, id, 64, __VA_ARGS__)
/* All rows of a sum, an extreme, a product, with the special forms of each. */
#define SUM_ROWS(handler, id)                                                                      \
    ALL_WIDTHS(EITHER, handler, id, ), SIGNED(handler##_sat, id, 32, MOD_SAT, )
#define EXTREME_ROWS(handler, id)                                                                  \
    ALL_WIDTHS(BOTH, handler, id, ), SIGNED(handler##_relu, id, 32, MOD_RELU, ),                   \
        SIM_ROW(handler##_u16x2, id, MOD_U16X2), SIM_ROW(handler##_s16x2, id, MOD_S16X2),          \
        SIM_ROW(handler##_relu_s16x2, id, MOD_RELU, MOD_S16X2)
#define PRODUCT_ROWS(handler, id)                                                                  \
    ALL_WIDTHS(EITHER, handler##_lo, id, MOD_LO, ), ALL_WIDTHS(BOTH, handler##_hi, id, MOD_HI, ),  \
        SHORT_WIDTHS(BOTH, handler##_wide, id, MOD_WIDE, )
#define SHORT_PRODUCT_ROWS(handler, id)                                                            \
    BOTH(handler##_lo, id, 32, MOD_LO, ), BOTH(handler##_hi, id, 32, MOD_HI, )
#define DOT_ROWS(suffix, ta, tb)                                                                   \
    SIM_ROW(dp4a_##suffix, DP4A, ta, tb), SIM_ROW(dp2a_lo_##suffix, DP2A, MOD_LO, ta, tb),         \
        SIM_ROW(dp2a_hi_##suffix, DP2A, MOD_HI, ta, tb)

static const struct sim_value_row integer_rows[] = {
    SUM_ROWS(add, ADD),
    SUM_ROWS(sub, SUB),
    SIM_ROW(add_16x2, ADD, MOD_U16X2),
    SIM_ROW(add_16x2, ADD, MOD_S16X2),
    PRODUCT_ROWS(mul, MUL),
    PRODUCT_ROWS(mad, MAD),
#if !defined(SIM_V3)
    SIM_ROW(mad_hi_sat_s32, MAD, MOD_HI, MOD_SAT, MOD_S32),
    SHORT_PRODUCT_ROWS(mul24, MUL24),
    SHORT_PRODUCT_ROWS(mad24, MAD24),
    SIM_ROW(mad24_hi_sat_s32, MAD24, MOD_HI, MOD_SAT, MOD_S32),
#endif
    ALL_WIDTHS(BOTH, sad, SAD, ),
    ALL_WIDTHS(BOTH, div, DIV, ),
    ALL_WIDTHS(BOTH, rem, REM, ),
    EXTREME_ROWS(min, MIN),
    EXTREME_ROWS(max, MAX),
    ALL_WIDTHS(SIGNED, abs, ABS, ),
    ALL_WIDTHS(SIGNED, neg, NEG, ),
    DOT_ROWS(uu, MOD_U32, MOD_U32),
    DOT_ROWS(us, MOD_U32, MOD_S32),
    DOT_ROWS(su, MOD_S32, MOD_U32),
    DOT_ROWS(ss, MOD_S32, MOD_S32),
};

#if !defined(SIM_V3)
/* Rows of the same handlers with and without .cc, with and without the incoming carry. */
#define CHAIN(handler, id, id_in)                                                                  \
    LONG_WIDTHS(EITHER, handler, id, MOD_CC, ), LONG_WIDTHS(EITHER, handler, id_in, MOD_CC, ),     \
        LONG_WIDTHS(EITHER, handler, id_in, )
#define MAD_CHAIN(WHICH, handler, half)                                                            \
    LONG_WIDTHS(WHICH, handler, MAD, half, MOD_CC, ),                                              \
        LONG_WIDTHS(WHICH, handler, MADC, half, MOD_CC, ),                                         \
        LONG_WIDTHS(WHICH, handler, MADC, half, )
static const struct sim_value_row carry_rows[] = {
    CHAIN(addc, ADD, ADDC),
    CHAIN(subc, SUB, SUBC),
    MAD_CHAIN(EITHER, madc_lo, MOD_LO),
    MAD_CHAIN(BOTH, madc_hi, MOD_HI),
};
#endif

bool sim_choose_integer(struct sim_decoder *d, const struct ptx_instruction *ins, struct sim_op *op)
{
    if (sim_value_choose(d, ins, op, integer_rows, sizeof integer_rows / sizeof *integer_rows))
        return true;
#if defined(SIM_V3)
    return false;
#else
    if (!sim_value_choose(d, ins, op, carry_rows, sizeof carry_rows / sizeof *carry_rows))
        return false;
    bool reads = ins->op == PTX_ADDC || ins->op == PTX_SUBC || ins->op == PTX_MADC;
    op->small = (uint16_t)((reads ? READS_CARRY : 0) | (ptx_has(ins, MOD_CC) ? WRITES_CARRY : 0));
    op->slot[CARRY] = sim_slot_carry(d);
    return true;
#endif
}
