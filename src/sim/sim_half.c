/* f16, bf16 and pairs of them: PTX ISA, half-precision-floating-point-instructions. A NaN result
 * is 0x7fff. A pair is a register of 32 bits; handlers see its lanes as 64 elements of 16 bits,
 * and element 2i is the lower half of lane i. */
#include "sim/sim_half.h"

#define HALF_MINUS 0x8000u

/* --- plain --- */

/* Defines handlers for one value in each lane and for two. */
#define HALF1(name, x)                                                                             \
    SIM_UNARY(name, uint16_t, uint16_t, x)                                                         \
    SIM_PAIRS1(name##_x2, uint16_t, x)
#define HALF2(name, x)                                                                             \
    SIM_BINARY(name, uint16_t, uint16_t, uint16_t, x)                                              \
    SIM_PAIRS2(name##_x2, uint16_t, x)
#define HALF3(name, x)                                                                             \
    SIM_TERNARY(name, uint16_t, uint16_t, uint16_t, uint16_t, x)                                   \
    SIM_PAIRS3(name##_x2, uint16_t, x)
#define NEGATED(a) ((uint16_t)((a) ^ HALF_MINUS))

HALF2(add_f16, sim_f16_add(a, b))
HALF2(sub_f16, sim_f16_add(a, NEGATED(b)))
HALF2(mul_f16, sim_f16_mul(a, b))
HALF3(fma_f16, sim_f16_fma(a, b, c))
HALF2(add_bf16, sim_bf16_add(a, b))
HALF2(sub_bf16, sim_bf16_add(a, NEGATED(b)))
HALF2(mul_bf16, sim_bf16_mul(a, b))
HALF3(fma_bf16, sim_bf16_fma(a, b, c))
#define NUMBER(a, r, infinity) (((a)&0x7fffu) > (infinity) ? 0x7fffu : (uint16_t)(r))
HALF1(abs_f16, NUMBER(a, a & 0x7fffu, SIM_F16_INFINITY))
HALF1(neg_f16, NUMBER(a, NEGATED(a), SIM_F16_INFINITY))
HALF1(abs_bf16, NUMBER(a, a & 0x7fffu, SIM_BF16_INFINITY))
HALF1(neg_bf16, NUMBER(a, NEGATED(a), SIM_BF16_INFINITY))
HALF1(abs_f16_ftz, NUMBER(a, sim_f16_flush(a) & 0x7fffu, SIM_F16_INFINITY))
HALF1(neg_f16_ftz, NUMBER(a, NEGATED(sim_f16_flush(a)), SIM_F16_INFINITY))
HALF2(min_f16, sim_half_extreme(a, b, SIM_F16_INFINITY, false, false))
HALF2(max_f16, sim_half_extreme(a, b, SIM_F16_INFINITY, true, false))
HALF2(min_bf16, sim_half_extreme(a, b, SIM_BF16_INFINITY, false, false))
HALF2(max_bf16, sim_half_extreme(a, b, SIM_BF16_INFINITY, true, false))

/* --- with modifiers, which are in op->small --- */

enum { FTZ = 1, SAT = 2, RELU = 4, MAXIMUM = 8, NAN_WINS = 16, XORSIGN = 32 };
#define HOW op->small
#define FLUSHED(a) (HOW & FTZ ? sim_f16_flush(a) : (a))

static inline uint16_t clamped(uint16_t r, unsigned how, uint16_t infinity, uint16_t one)
{
    bool nan = (r & 0x7fffu) > infinity, minus = r & HALF_MINUS;
    if (how & RELU)
        r = minus && !nan ? 0 : r;
    if (how & SAT)
        r = minus || nan ? 0 : r > one ? one : r;
    return r;
}
/* Rounds to f16 and applies the modifiers. .ftz looks at the value before rounding: `exact` is
 * the f32 that is rounded, itself rounded to odd, so it is below 2^-14 if the exact value is. */
static inline uint16_t finish_f16(uint32_t exact, unsigned how)
{
    uint16_t r = sim_f16_narrow(exact);
    if ((how & FTZ) && (exact & 0x7fffffffu) < 0x38800000u)
        r = (uint16_t)(exact >> 16 & HALF_MINUS);
    return clamped(r, how, SIM_F16_INFINITY, 0x3c00);
}
static inline uint16_t any_add_f16(uint16_t a, uint16_t b, unsigned how)
{
    return finish_f16(f32_bits(sim_odd_sum_f32(sim_f16_float(a), sim_f16_float(b))), how);
}
static inline uint16_t any_mul_f16(uint16_t a, uint16_t b, unsigned how)
{
    return finish_f16(f32_bits(sim_f16_float(a) * sim_f16_float(b)), how);
}
static inline uint16_t any_fma_f16(uint16_t a, uint16_t b, uint16_t c, unsigned how)
{
    float product = sim_f16_float(a) * sim_f16_float(b);
    return finish_f16(f32_bits(sim_odd_sum_f32(product, sim_f16_float(c))), how);
}
HALF2(add_f16_any, any_add_f16(FLUSHED(a), FLUSHED(b), HOW))
HALF2(sub_f16_any, any_add_f16(FLUSHED(a), NEGATED(FLUSHED(b)), HOW))
HALF2(mul_f16_any, any_mul_f16(FLUSHED(a), FLUSHED(b), HOW))
HALF3(fma_f16_any, any_fma_f16(FLUSHED(a), FLUSHED(b), FLUSHED(c), HOW))
HALF3(fma_bf16_any, clamped(sim_bf16_fma(a, b, c), HOW, SIM_BF16_INFINITY, 0x3f80))

static inline uint16_t any_extreme(uint16_t a, uint16_t b, uint16_t infinity, unsigned how)
{
    if (!(how & XORSIGN))
        return sim_half_extreme(a, b, infinity, how & MAXIMUM, how & NAN_WINS);
    uint16_t r =
        sim_half_extreme(a & 0x7fffu, b & 0x7fffu, infinity, how & MAXIMUM, how & NAN_WINS);
    return r > infinity ? r : (uint16_t)(r | ((a ^ b) & HALF_MINUS));
}
HALF2(extreme_f16, any_extreme(FLUSHED(a), FLUSHED(b), SIM_F16_INFINITY, HOW))
HALF2(extreme_bf16, any_extreme(a, b, SIM_BF16_INFINITY, HOW))

/* --- choice --- */

/* Handlers of an instruction: for one value in each lane and for two; without modifiers and
 * with. */
struct half_row {
    uint16_t op;
    bool bf16;
    sim_handler *plain[2], *any[2];
};
#define BOTH(name)                                                                                 \
    {                                                                                              \
        name, name##_x2                                                                            \
    }
#define NONE                                                                                       \
    {                                                                                              \
        NULL, NULL                                                                                 \
    }
static const struct half_row half_rows[] = {
    {PTX_ADD, false, BOTH(add_f16), BOTH(add_f16_any)},
    {PTX_SUB, false, BOTH(sub_f16), BOTH(sub_f16_any)},
    {PTX_MUL, false, BOTH(mul_f16), BOTH(mul_f16_any)},
    {PTX_FMA, false, BOTH(fma_f16), BOTH(fma_f16_any)},
    {PTX_ABS, false, BOTH(abs_f16), BOTH(abs_f16_ftz)},
    {PTX_NEG, false, BOTH(neg_f16), BOTH(neg_f16_ftz)},
    {PTX_MIN, false, BOTH(min_f16), BOTH(extreme_f16)},
    {PTX_MAX, false, BOTH(max_f16), BOTH(extreme_f16)},
    {PTX_ADD, true, BOTH(add_bf16), NONE},
    {PTX_SUB, true, BOTH(sub_bf16), NONE},
    {PTX_MUL, true, BOTH(mul_bf16), NONE},
    {PTX_FMA, true, BOTH(fma_bf16), BOTH(fma_bf16_any)},
    {PTX_ABS, true, BOTH(abs_bf16), NONE},
    {PTX_NEG, true, BOTH(neg_bf16), NONE},
    {PTX_MIN, true, BOTH(min_bf16), BOTH(extreme_bf16)},
    {PTX_MAX, true, BOTH(max_bf16), BOTH(extreme_bf16)},
};

/* fma.oob gives 0 if a factor is the special NaN that tensor copies use for elements outside.
 * PTX does not give the bits of that NaN, and no simulated instruction makes it. With any other
 * NaN, .oob changes nothing (measured on a GPU). */
static const uint16_t allowed[] = {MOD_RN,  MOD_FTZ,     MOD_SAT, MOD_RELU, MOD_NAN_OUT,
                                   MOD_ABS, MOD_XORSIGN, MOD_OOB, MOD_NONE};

bool sim_choose_half(struct sim_decoder *d, const struct ptx_instruction *ins, struct sim_op *op)
{
    enum ptx_mod type = ptx_type(ins, 0);
    bool bf16 = type == PTX_BF16 || type == PTX_BF16X2;
    bool pair = type == PTX_F16X2 || type == PTX_BF16X2;
    if (!(bf16 || type == PTX_F16 || type == PTX_F16X2) || ptx_type(ins, 1) != MOD_NONE ||
        !sim_value_only(ins, allowed))
        return false;
    unsigned how = (ptx_has(ins, MOD_FTZ) ? FTZ : 0u) | (ptx_has(ins, MOD_SAT) ? SAT : 0u) |
                   (ptx_has(ins, MOD_RELU) ? RELU : 0u) |
                   (ptx_has(ins, MOD_NAN_OUT) ? NAN_WINS : 0u) |
                   (ptx_has(ins, MOD_XORSIGN) ? XORSIGN : 0u);
    for (size_t i = 0; i < sizeof half_rows / sizeof *half_rows; i++) {
        const struct half_row *row = &half_rows[i];
        if (row->op != ins->op || row->bf16 != bf16)
            continue;
        op->run = how ? row->any[pair] : row->plain[pair];
        op->small = (uint16_t)(how | (ins->op == PTX_MAX ? MAXIMUM : 0u));
        return op->run && sim_value_operands(d, ins, op);
    }
    return false;
}
