/* f32 and f64 arithmetic: PTX ISA, floating-point-instructions and
 * mixed-precision-floating-point-instructions.
 *
 * To nearest, the host computes: its operations are IEEE 754's, as the GPU's are. The differences
 * are added: a NaN result of f32 arithmetic is 0x7fffffff, .ftz, .sat. f64 arithmetic passes a NaN
 * operand on, made quiet. Other roundings are computed exactly and rounded once (sim_exact.h), lane
 * by lane.
 *
 * .ftz looks at a result before rounding: a value below the smallest normal value becomes zero,
 * even if it would round up to that value. */
#include "base/arithmetic.h"
#include "sim/sim_exact.h"
#include "sim/sim_value.h"

#include <math.h>

/* --- f32, to nearest --- */

static inline uint32_t add_f32(uint32_t a, uint32_t b)
{
    return sim_f32_canonical(f32_bits(f32_from_bits(a) + f32_from_bits(b)));
}
static inline uint32_t mul_f32(uint32_t a, uint32_t b)
{
    return sim_f32_canonical(f32_bits(f32_from_bits(a) * f32_from_bits(b)));
}
static inline uint32_t fma_f32(uint32_t a, uint32_t b, uint32_t c)
{
    return sim_f32_canonical(
        f32_bits(fma_once(f32_from_bits(a), f32_from_bits(b), f32_from_bits(c))));
}
static inline uint32_t div_f32(uint32_t a, uint32_t b)
{
    return sim_f32_canonical(f32_bits(f32_from_bits(a) / f32_from_bits(b)));
}
#define MINUS 0x80000000u
#define FLUSH(a) sim_f32_flush(a)
#define SATURATE(a) sim_f32_saturate(a)

SIM_BINARY(add_f32_rn, uint32_t, uint32_t, uint32_t, add_f32(a, b))
SIM_BINARY(add_f32_sat, uint32_t, uint32_t, uint32_t, SATURATE(add_f32(a, b)))
/* A subnormal sum is exact, so its value before rounding needs no test. */
SIM_BINARY(add_f32_ftz, uint32_t, uint32_t, uint32_t, FLUSH(add_f32(FLUSH(a), FLUSH(b))))
SIM_BINARY(sub_f32_rn, uint32_t, uint32_t, uint32_t, add_f32(a, b ^ MINUS))
SIM_BINARY(sub_f32_sat, uint32_t, uint32_t, uint32_t, SATURATE(add_f32(a, b ^ MINUS)))
SIM_BINARY(sub_f32_ftz, uint32_t, uint32_t, uint32_t, FLUSH(add_f32(FLUSH(a), FLUSH(b ^ MINUS))))
SIM_BINARY(mul_f32_rn, uint32_t, uint32_t, uint32_t, mul_f32(a, b))
SIM_BINARY(mul_f32_sat, uint32_t, uint32_t, uint32_t, SATURATE(mul_f32(a, b)))
SIM_TERNARY(fma_f32_rn, uint32_t, uint32_t, uint32_t, uint32_t, fma_f32(a, b, c))
SIM_TERNARY(fma_f32_sat, uint32_t, uint32_t, uint32_t, uint32_t, SATURATE(fma_f32(a, b, c)))
SIM_BINARY(div_f32_rn, uint32_t, uint32_t, uint32_t, div_f32(a, b))
SIM_UNARY(rcp_f32_rn, uint32_t, uint32_t, div_f32(0x3f800000u, a))
SIM_UNARY(sqrt_f32_rn, uint32_t, uint32_t, sim_f32_canonical(f32_bits(sqrtf(f32_from_bits(a)))))

/* Returns true if a product or fma of flushed operands rounded up to the smallest normal value. */
static bool rounded_up_to_normal(uint32_t a, uint32_t b, uint32_t c)
{
    struct sim_exact sum =
        sim_exact_sum(sim_exact_product(sim_exact_of(SIM_AS_F32, a), sim_exact_of(SIM_AS_F32, b)),
                      sim_exact_of(SIM_AS_F32, c), SIM_RN);
    return sim_exact_tiny(sum, SIM_AS_F32);
}
#define FLUSHED_PRODUCT(name, operand_c, x, c)                                                     \
    SIM_HANDLER(name)                                                                              \
    {                                                                                              \
        uint32_t *d = sim_lanes(w, op, 0), edge = 0, results[SIM_LANES];                           \
        SIM_OPERAND(uint32_t, pa, 1)                                                               \
        SIM_OPERAND(uint32_t, pb, 2)                                                               \
        operand_c for (int i = 0; i < SIM_LANES; i++)                                              \
        {                                                                                          \
            results[i] = FLUSH(x);                                                                 \
            edge |= (results[i] & ~MINUS) == 0x00800000u;                                          \
        }                                                                                          \
        if (edge)                                                                                  \
            for (int i = 0; i < SIM_LANES; i++)                                                    \
                if ((results[i] & ~MINUS) == 0x00800000u &&                                        \
                    rounded_up_to_normal(FLUSH(pa[i]), FLUSH(pb[i]), c))                           \
                    results[i] &= MINUS;                                                           \
        for (int i = 0; i < SIM_LANES; i++)                                                        \
            d[i] = mask & sim_bit[i] ? results[i] : d[i];                                          \
        return true;                                                                               \
    }
FLUSHED_PRODUCT(mul_f32_ftz, , mul_f32(FLUSH(pa[i]), FLUSH(pb[i])), 0)
FLUSHED_PRODUCT(fma_f32_ftz, SIM_OPERAND(uint32_t, pc, 3),
                fma_f32(FLUSH(pa[i]), FLUSH(pb[i]), FLUSH(pc[i])), FLUSH(pc[i]))

/* Two values in a register of 64 bits. */
SIM_BINARY_LOOP(add_f32x2_rn, 2 * SIM_LANES, uint32_t, uint32_t, uint32_t, add_f32(a, b))
SIM_BINARY_LOOP(sub_f32x2_rn, 2 * SIM_LANES, uint32_t, uint32_t, uint32_t, add_f32(a, b ^ MINUS))
SIM_BINARY_LOOP(mul_f32x2_rn, 2 * SIM_LANES, uint32_t, uint32_t, uint32_t, mul_f32(a, b))
SIM_TERNARY_LOOP(fma_f32x2_rn, 2 * SIM_LANES, uint32_t, uint32_t, uint32_t, uint32_t,
                 fma_f32(a, b, c))

/* --- f64, to nearest --- */

/* Returns the result r of a, b, c if it is not a NaN. Otherwise returns the NaN operand, made
 * quiet (b before a before c), or the NaN of an invalid operation if no operand is a NaN. */
static inline uint64_t nan_of(uint64_t r, uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t nan = sim_f64_nan(c) ? sim_f64_quiet(c) : 0xfff8000000000000u;
    nan = sim_f64_nan(a) ? sim_f64_quiet(a) : nan;
    nan = sim_f64_nan(b) ? sim_f64_quiet(b) : nan;
    return sim_f64_nan(r) ? nan : r;
}
static inline uint64_t add_f64(uint64_t a, uint64_t b)
{
    return nan_of(f64_bits(f64_from_bits(a) + f64_from_bits(b)), a, b, 0);
}
static inline uint64_t sub_f64(uint64_t a, uint64_t b)
{
    return nan_of(f64_bits(f64_from_bits(a) - f64_from_bits(b)), a, b, 0);
}
static inline uint64_t mul_f64(uint64_t a, uint64_t b)
{
    return nan_of(f64_bits(f64_from_bits(a) * f64_from_bits(b)), a, b, 0);
}
static inline uint64_t div_f64(uint64_t a, uint64_t b)
{
    return nan_of(f64_bits(f64_from_bits(a) / f64_from_bits(b)), b, a, 0); /* a's NaN first */
}
static inline uint64_t fma_f64(uint64_t a, uint64_t b, uint64_t c)
{
    return nan_of(f64_bits(fma(f64_from_bits(a), f64_from_bits(b), f64_from_bits(c))), a, b, c);
}
static inline uint64_t sqrt_f64(uint64_t a)
{
    return nan_of(f64_bits(sqrt(f64_from_bits(a))), a, 0, 0);
}
#define ONE_F64 0x3ff0000000000000u
SIM_BINARY(add_f64_rn, uint64_t, uint64_t, uint64_t, add_f64(a, b))
SIM_BINARY(sub_f64_rn, uint64_t, uint64_t, uint64_t, sub_f64(a, b))
SIM_BINARY(mul_f64_rn, uint64_t, uint64_t, uint64_t, mul_f64(a, b))
SIM_BINARY(div_f64_rn, uint64_t, uint64_t, uint64_t, div_f64(a, b))
SIM_TERNARY(fma_f64_rn, uint64_t, uint64_t, uint64_t, uint64_t, fma_f64(a, b, c))
SIM_UNARY(rcp_f64_rn, uint64_t, uint64_t, div_f64(ONE_F64, a))
SIM_UNARY(sqrt_f64_rn, uint64_t, uint64_t, sqrt_f64(a))

/* --- any rounding --- */

enum operation { ADD, SUB, MUL, FMA, DIV, RCP, SQRT, OPERATIONS };
/* Bits of op->small in the handlers below. */
enum { ROUNDING = 7, FTZ = 8, SAT = 16, OPERATION = 5 /* shift */ };

static struct sim_exact exactly(enum operation operation, struct sim_exact a, struct sim_exact b,
                                struct sim_exact c, enum sim_rounding rounding)
{
    switch (operation) {
    case SUB: b.negative = !b.negative; return sim_exact_sum(a, b, rounding);
    case ADD: return sim_exact_sum(a, b, rounding);
    case MUL: return sim_exact_product(a, b);
    case FMA: return sim_exact_sum(sim_exact_product(a, b), c, rounding);
    case DIV: return sim_exact_quotient(a, b);
    case RCP: return sim_exact_quotient(sim_exact_integer(false, 1), a);
    default: return sim_exact_root(a);
    }
}

/* Computes an operation; operands that it does not have are 0. */
static uint32_t nearest_f32(enum operation operation, uint32_t a, uint32_t b, uint32_t c)
{
    switch (operation) {
    case ADD: return add_f32(a, b);
    case SUB: return add_f32(a, b ^ MINUS);
    case MUL: return mul_f32(a, b);
    case FMA: return fma_f32(a, b, c);
    case DIV: return div_f32(a, b);
    case RCP: return div_f32(0x3f800000u, a);
    default: return sim_f32_canonical(f32_bits(sqrtf(f32_from_bits(a))));
    }
}
static uint64_t nearest_f64(enum operation operation, uint64_t a, uint64_t b, uint64_t c)
{
    switch (operation) {
    case ADD: return add_f64(a, b);
    case SUB: return sub_f64(a, b);
    case MUL: return mul_f64(a, b);
    case FMA: return fma_f64(a, b, c);
    case DIV: return div_f64(a, b);
    case RCP: return div_f64(ONE_F64, a);
    default: return sqrt_f64(a);
    }
}

/* Returns true if the result may need rounding: operands are finite, there is no division by
 * zero, and a root is of a positive number. */
static bool is_regular(enum operation operation, bool finite, bool a_zero, bool b_zero,
                       bool a_minus)
{
    return finite && !(operation == DIV && b_zero) && !(operation == RCP && a_zero) &&
           !(operation == SQRT && (a_zero || a_minus));
}

static uint32_t rounded_f32(unsigned how, uint32_t a, uint32_t b, uint32_t c)
{
    enum operation operation = (enum operation)(how >> OPERATION);
    enum sim_rounding rounding = (enum sim_rounding)(how & ROUNDING);
    if (how & FTZ) {
        a = FLUSH(a);
        b = FLUSH(b);
        c = FLUSH(c);
    }
    uint32_t result = nearest_f32(operation, a, b, c);
    bool finite = (~a & 0x7f800000u) && (~b & 0x7f800000u) && (~c & 0x7f800000u);
    if (is_regular(operation, finite, !(a & ~MINUS), !(b & ~MINUS), a >> 31)) {
        struct sim_exact x =
            exactly(operation, sim_exact_of(SIM_AS_F32, a), sim_exact_of(SIM_AS_F32, b),
                    sim_exact_of(SIM_AS_F32, c), rounding);
        result = (uint32_t)sim_exact_round(x, SIM_AS_F32, rounding);
        if ((how & FTZ) && sim_exact_tiny(x, SIM_AS_F32))
            result = x.negative ? MINUS : 0;
    }
    return how & SAT ? SATURATE(result) : result;
}

static uint64_t rounded_f64(unsigned how, uint64_t a, uint64_t b, uint64_t c)
{
    enum operation operation = (enum operation)(how >> OPERATION);
    enum sim_rounding rounding = (enum sim_rounding)(how & ROUNDING);
    const uint64_t infinity = 0x7ff0000000000000u, minus = 1ull << 63;
    bool finite = (~a & infinity) && (~b & infinity) && (~c & infinity);
    if (!is_regular(operation, finite, !(a & ~minus), !(b & ~minus), a >> 63))
        return nearest_f64(operation, a, b, c);
    return sim_exact_round(exactly(operation, sim_exact_of(SIM_AS_F64, a),
                                   sim_exact_of(SIM_AS_F64, b), sim_exact_of(SIM_AS_F64, c),
                                   rounding),
                           SIM_AS_F64, rounding);
}

#define HOW op->small
SIM_RARE1(unary_f32, uint32_t, uint32_t, rounded_f32(HOW, a, 0, 0))
SIM_RARE2(binary_f32, uint32_t, uint32_t, uint32_t, rounded_f32(HOW, a, b, 0))
SIM_RARE3(ternary_f32, uint32_t, uint32_t, uint32_t, uint32_t, rounded_f32(HOW, a, b, c))
SIM_RARE1(unary_f64, uint64_t, uint64_t, rounded_f64(HOW, a, 0, 0))
SIM_RARE2(binary_f64, uint64_t, uint64_t, uint64_t, rounded_f64(HOW, a, b, 0))
SIM_RARE3(ternary_f64, uint64_t, uint64_t, uint64_t, uint64_t, rounded_f64(HOW, a, b, c))

static uint64_t both_f32(unsigned how, uint64_t a, uint64_t b, uint64_t c)
{
    return (uint64_t)rounded_f32(how, (uint32_t)(a >> 32), (uint32_t)(b >> 32), (uint32_t)(c >> 32))
               << 32 |
           rounded_f32(how, (uint32_t)a, (uint32_t)b, (uint32_t)c);
}
SIM_RARE2(binary_f32x2, uint64_t, uint64_t, uint64_t, both_f32(HOW, a, b, 0))
SIM_RARE3(ternary_f32x2, uint64_t, uint64_t, uint64_t, uint64_t, both_f32(HOW, a, b, c))

/* Mixed precision: halves become f32, exactly. */
static uint32_t f32_of_f16(uint16_t a)
{
    if ((a & 0x7fff) > 0x7c00)
        return 0x7fffffffu;
    if ((a & 0x7fff) == 0x7c00)
        return (uint32_t)(a & 0x8000) << 16 | 0x7f800000u;
    return (uint32_t)sim_exact_round(sim_exact_of(SIM_AS_F16, a), SIM_AS_F32, SIM_RN);
}
static uint32_t f32_of_bf16(uint16_t a)
{
    return (uint32_t)a << 16;
}
#define MIXED(type)                                                                                \
    SIM_RARE2(binary_##type, uint32_t, uint16_t, uint32_t,                                         \
              rounded_f32(HOW, f32_of_##type(a), b, 0))                                            \
    SIM_RARE3(ternary_##type, uint32_t, uint16_t, uint16_t, uint32_t,                              \
              rounded_f32(HOW, f32_of_##type(a), f32_of_##type(b), c))
MIXED(f16)
MIXED(bf16)

/* --- signs and properties: zeros are normal --- */

/* A NaN keeps its sign; an f32 NaN becomes the usual one. */
SIM_UNARY(abs_f32, uint32_t, uint32_t, sim_f32_canonical(a & ~MINUS))
SIM_UNARY(abs_f32_ftz, uint32_t, uint32_t, sim_f32_canonical(FLUSH(a) & ~MINUS))
SIM_UNARY(neg_f32, uint32_t, uint32_t, sim_f32_canonical(a ^ MINUS))
SIM_UNARY(neg_f32_ftz, uint32_t, uint32_t, sim_f32_canonical(FLUSH(a) ^ MINUS))
SIM_UNARY(abs_f64, uint64_t, uint64_t, sim_f64_nan(a) ? sim_f64_quiet(a) : a & ~(1ull << 63))
SIM_UNARY(neg_f64, uint64_t, uint64_t, sim_f64_nan(a) ? sim_f64_quiet(a) : a ^ (1ull << 63))
#if !defined(SIM_V3) /* seldom */
/* The magnitude of the second operand with the sign of the first. */
SIM_BINARY(copysign_f32, uint32_t, uint32_t, uint32_t, (a & MINUS) | (b & ~MINUS))
SIM_BINARY(copysign_f64, uint64_t, uint64_t, uint64_t, (a & 1ull << 63) | (b & ~(1ull << 63)))

#define PROPERTY(name, T, x)                                                                       \
    SIM_HANDLER(name)                                                                              \
    {                                                                                              \
        SIM_OPERAND(T, pa, 1)                                                                      \
        SIM_WHERE(flags, SIM_LOAD1(T), x)                                                          \
        sim_set_predicate(sim_predicate(w, op, 0), flags, mask);                                   \
        return true;                                                                               \
    }
#define PROPERTIES(type, T, INFINITY_)                                                             \
    PROPERTY(finite_##type, T, (T)(a << 1) < (T)(INFINITY_ << 1))                                  \
    PROPERTY(infinite_##type, T, (T)(a << 1) == (T)(INFINITY_ << 1))                               \
    PROPERTY(number_##type, T, (T)(a << 1) <= (T)(INFINITY_ << 1))                                 \
    PROPERTY(notanumber_##type, T, (T)(a << 1) > (T)(INFINITY_ << 1))                              \
    PROPERTY(normal_##type, T, (a & INFINITY_) != INFINITY_ && ((a & INFINITY_) || !(T)(a << 1)))  \
    PROPERTY(subnormal_##type, T, !(a & INFINITY_) && (a << 1))
PROPERTIES(f32, uint32_t, 0x7f800000u)
PROPERTIES(f64, uint64_t, 0x7ff0000000000000u)
#endif

/* --- extremes --- */

/* Returns bits that are ordered as the values are, -0 before +0. */
static inline int32_t order_f32(uint32_t a)
{
    return (int32_t)(a ^ (a >> 31 ? 0x7fffffffu : 0));
}
static inline int64_t order_f64(uint64_t a)
{
    return (int64_t)(a ^ (a >> 63 ? 0x7fffffffffffffffu : 0));
}
/* Returns the min or max: a NaN loses against a number; with `nan_wins` it wins. */
static inline uint32_t extreme_f32(uint32_t a, uint32_t b, bool max, bool nan_wins)
{
    bool first = max ? order_f32(a) > order_f32(b) : order_f32(a) < order_f32(b);
    uint32_t r = first ? a : b;
    r = sim_f32_nan(a) ? (nan_wins ? a : b) : r;
    r = sim_f32_nan(b) ? (nan_wins ? b : a) : r;
    return sim_f32_canonical(r);
}
static inline uint64_t extreme_f64(uint64_t a, uint64_t b, bool max)
{
    bool first = max ? order_f64(a) > order_f64(b) : order_f64(a) < order_f64(b);
    uint64_t r = first ? a : b;
    r = sim_f64_nan(a) ? b : r;
    r = sim_f64_nan(b) ? (sim_f64_nan(a) ? sim_f64_quiet(b) : a) : r;
    return r;
}
/* Returns the extreme of the magnitudes, with the product of the signs. */
static inline uint32_t xorsign_f32(uint32_t a, uint32_t b, bool max, bool nan_wins)
{
    uint32_t r = extreme_f32(a & ~MINUS, b & ~MINUS, max, nan_wins);
    return sim_f32_nan(r) ? r : r | ((a ^ b) & MINUS);
}
SIM_BINARY(min_f32, uint32_t, uint32_t, uint32_t, extreme_f32(a, b, false, false))
SIM_BINARY(max_f32, uint32_t, uint32_t, uint32_t, extreme_f32(a, b, true, false))
SIM_BINARY(min_f32_ftz, uint32_t, uint32_t, uint32_t, extreme_f32(FLUSH(a), FLUSH(b), false, false))
SIM_BINARY(max_f32_ftz, uint32_t, uint32_t, uint32_t, extreme_f32(FLUSH(a), FLUSH(b), true, false))
SIM_BINARY(min_f64, uint64_t, uint64_t, uint64_t, extreme_f64(a, b, false))
SIM_BINARY(max_f64, uint64_t, uint64_t, uint64_t, extreme_f64(a, b, true))

/* All other forms, by op->small. */
enum { MAXIMUM = 1, NAN_WINS = 2, MAGNITUDES = 4, XORSIGN = 32 };
static uint32_t any_extreme(unsigned how, uint32_t a, uint32_t b)
{
    if (how & FTZ) {
        a = FLUSH(a);
        b = FLUSH(b);
    }
    if (how & XORSIGN)
        return xorsign_f32(a, b, how & MAXIMUM, how & NAN_WINS);
    if (how & MAGNITUDES) {
        a &= ~MINUS;
        b &= ~MINUS;
    }
    return extreme_f32(a, b, how & MAXIMUM, how & NAN_WINS);
}
SIM_RARE2(extreme2_f32, uint32_t, uint32_t, uint32_t, any_extreme(HOW, a, b))
SIM_RARE3(extreme3_f32, uint32_t, uint32_t, uint32_t, uint32_t,
          any_extreme(HOW, any_extreme(HOW, a, b), c))

/* --- choice --- */

/* Handlers of an operation in one type: to nearest, with .ftz, with .sat, in any other way. */
struct ways {
    uint16_t op, type;
    enum operation operation;
    sim_handler *nearest, *ftz, *sat, *any;
};
static const struct ways arithmetic[] = {
    {PTX_ADD, MOD_F32, ADD, add_f32_rn, add_f32_ftz, add_f32_sat, binary_f32},
    {PTX_SUB, MOD_F32, SUB, sub_f32_rn, sub_f32_ftz, sub_f32_sat, binary_f32},
    {PTX_MUL, MOD_F32, MUL, mul_f32_rn, mul_f32_ftz, mul_f32_sat, binary_f32},
    {PTX_FMA, MOD_F32, FMA, fma_f32_rn, fma_f32_ftz, fma_f32_sat, ternary_f32},
    {PTX_MAD, MOD_F32, FMA, fma_f32_rn, fma_f32_ftz, fma_f32_sat, ternary_f32},
    {PTX_DIV, MOD_F32, DIV, div_f32_rn, NULL, NULL, binary_f32},
    {PTX_RCP, MOD_F32, RCP, rcp_f32_rn, NULL, NULL, unary_f32},
    {PTX_SQRT, MOD_F32, SQRT, sqrt_f32_rn, NULL, NULL, unary_f32},
    {PTX_ADD, MOD_F64, ADD, add_f64_rn, NULL, NULL, binary_f64},
    {PTX_SUB, MOD_F64, SUB, sub_f64_rn, NULL, NULL, binary_f64},
    {PTX_MUL, MOD_F64, MUL, mul_f64_rn, NULL, NULL, binary_f64},
    {PTX_FMA, MOD_F64, FMA, fma_f64_rn, NULL, NULL, ternary_f64},
    {PTX_MAD, MOD_F64, FMA, fma_f64_rn, NULL, NULL, ternary_f64},
    {PTX_DIV, MOD_F64, DIV, div_f64_rn, NULL, NULL, binary_f64},
    {PTX_RCP, MOD_F64, RCP, rcp_f64_rn, NULL, NULL, unary_f64},
    {PTX_SQRT, MOD_F64, SQRT, sqrt_f64_rn, NULL, NULL, unary_f64},
    {PTX_ADD, MOD_F32X2, ADD, add_f32x2_rn, NULL, NULL, binary_f32x2},
    {PTX_SUB, MOD_F32X2, SUB, sub_f32x2_rn, NULL, NULL, binary_f32x2},
    {PTX_MUL, MOD_F32X2, MUL, mul_f32x2_rn, NULL, NULL, binary_f32x2},
    {PTX_FMA, MOD_F32X2, FMA, fma_f32x2_rn, NULL, NULL, ternary_f32x2},
};

static unsigned rounding_of(const struct ptx_instruction *ins)
{
    switch ((int)ptx_find(ins, PTX_CLASS_ROUNDING, 0)) {
    case MOD_RZ: return SIM_RZ;
    case MOD_RM: return SIM_RM;
    case MOD_RP: return SIM_RP;
    default: return SIM_RN;
    }
}

/* Returns the handler of arithmetic on two types: the halves are the first operands. */
static sim_handler *mixed_handler(const struct ptx_instruction *ins, sim_handler *any)
{
    enum ptx_mod second = ptx_type(ins, 1);
    if (second == MOD_NONE)
        return any;
    if (ptx_type(ins, 0) != PTX_F32 || (second != PTX_F16 && second != PTX_BF16))
        return NULL;
    bool half = second == PTX_F16;
    return any == ternary_f32 ? (half ? ternary_f16 : ternary_bf16)
                              : (half ? binary_f16 : binary_bf16);
}

static bool choose_arithmetic(struct sim_decoder *d, const struct ptx_instruction *ins,
                              struct sim_op *op)
{
    static const uint16_t allowed[] = {MOD_RN, MOD_RZ, MOD_RM, MOD_RP, MOD_FTZ, MOD_SAT, MOD_NONE};
    const struct ways *ways = NULL;
    for (size_t i = 0; i < sizeof arithmetic / sizeof *arithmetic; i++)
        if (arithmetic[i].op == ins->op && arithmetic[i].type == ptx_type(ins, 0))
            ways = &arithmetic[i];
    if (!ways || !sim_value_only(ins, allowed))
        return false;
    unsigned rounding = rounding_of(ins);
    bool ftz = ptx_has(ins, MOD_FTZ), sat = ptx_has(ins, MOD_SAT);
    op->small = (uint16_t)(rounding | (ftz ? FTZ : 0) | (sat ? SAT : 0) |
                           (unsigned)ways->operation << OPERATION);
    op->run = mixed_handler(ins, ways->any);
    if (op->run == ways->any && rounding == SIM_RN && !(ftz && sat)) {
        sim_handler *fast = ftz ? ways->ftz : sat ? ways->sat : ways->nearest;
        op->run = fast ? fast : ways->any;
    }
    return op->run && sim_value_operands(d, ins, op);
}

static bool choose_extreme(struct sim_decoder *d, const struct ptx_instruction *ins,
                           struct sim_op *op)
{
    static const uint16_t allowed[] = {MOD_FTZ, MOD_NAN_OUT, MOD_ABS, MOD_XORSIGN, MOD_NONE};
    if (ptx_type(ins, 0) != PTX_F32 || !sim_value_only(ins, allowed))
        return false;
    op->small =
        (uint16_t)((ins->op == PTX_MAX ? MAXIMUM : 0) | (ptx_has(ins, MOD_NAN_OUT) ? NAN_WINS : 0) |
                   (ptx_has(ins, MOD_ABS) ? MAGNITUDES : 0) |
                   (ptx_has(ins, MOD_XORSIGN) ? XORSIGN : 0) | (ptx_has(ins, MOD_FTZ) ? FTZ : 0));
    op->run = ins->operand_count == 4 ? extreme3_f32 : extreme2_f32;
    return sim_value_operands(d, ins, op);
}

#define TESTP(name, mod)                                                                           \
    SIM_ROW(name##_f32, TESTP, mod, MOD_F32), SIM_ROW(name##_f64, TESTP, mod, MOD_F64)
static const struct sim_value_row float_rows[] = {
    SIM_ROW(abs_f32, ABS, MOD_F32),
    SIM_ROW(abs_f32_ftz, ABS, MOD_FTZ, MOD_F32),
    SIM_ROW(abs_f64, ABS, MOD_F64),
    SIM_ROW(neg_f32, NEG, MOD_F32),
    SIM_ROW(neg_f32_ftz, NEG, MOD_FTZ, MOD_F32),
    SIM_ROW(neg_f64, NEG, MOD_F64),
    SIM_ROW(min_f64, MIN, MOD_F64),
    SIM_ROW(max_f64, MAX, MOD_F64),
#if !defined(SIM_V3)
    SIM_ROW(copysign_f32, COPYSIGN, MOD_F32),
    SIM_ROW(copysign_f64, COPYSIGN, MOD_F64),
    TESTP(finite, MOD_FINITE),
    TESTP(infinite, MOD_INFINITE),
    TESTP(number, MOD_NUMBER),
    TESTP(notanumber, MOD_NOT_A_NUMBER),
    TESTP(normal, MOD_NORMAL),
    TESTP(subnormal, MOD_SUBNORMAL),
#endif
};
/* Rows with two operands: */
static const struct sim_value_row extreme_rows[] = {
    SIM_ROW(min_f32, MIN, MOD_F32),
    SIM_ROW(max_f32, MAX, MOD_F32),
    SIM_ROW(min_f32_ftz, MIN, MOD_FTZ, MOD_F32),
    SIM_ROW(max_f32_ftz, MAX, MOD_FTZ, MOD_F32),
};

bool sim_choose_float(struct sim_decoder *d, const struct ptx_instruction *ins, struct sim_op *op)
{
    if (ins->op == PTX_MIN || ins->op == PTX_MAX) {
        if (ins->operand_count == 3 &&
            sim_value_choose(d, ins, op, extreme_rows, sizeof extreme_rows / sizeof *extreme_rows))
            return true;
        if (choose_extreme(d, ins, op))
            return true;
    }
    return choose_arithmetic(d, ins, op) ||
           sim_value_choose(d, ins, op, float_rows, sizeof float_rows / sizeof *float_rows);
}
