/* Approximations: the .approx and .full forms of PTX ISA, floating-point-instructions, and ex2
 * and tanh of halves. Results are those of the host's functions in double precision, rounded.
 * They are within PTX's bounds, but their last bits may differ from a GPU's. Special values
 * follow PTX's tables. */
#include "sim/sim_half.h"

#include <math.h>

/* Flags of the handlers, in op->small. */
enum { FTZ = 1 };

/* Applies .ftz to the result: a subnormal becomes zero. */
static uint32_t finished(float v, bool ftz)
{
    uint32_t r = sim_f32_canonical(f32_bits(v));
    return ftz ? sim_f32_flush(r) : r;
}

static double reciprocal(double a)
{
    return 1.0 / a;
}
static double reciprocal_root(double a)
{
    return 1.0 / sqrt(a);
}

/* Defines a handler: f of an f32. */
#define APPROXIMATE(name, f)                                                                       \
    static uint32_t name##_lane(uint32_t a, bool ftz)                                              \
    {                                                                                              \
        a = ftz ? sim_f32_flush(a) : a;                                                            \
        return finished((float)f((double)f32_from_bits(a)), ftz);                                  \
    }                                                                                              \
    SIM_RARE1(name##_f32, uint32_t, uint32_t, name##_lane(a, op->small &FTZ))
APPROXIMATE(rcp, reciprocal)
APPROXIMATE(sqrt, sqrt)
APPROXIMATE(rsqrt, reciprocal_root)
APPROXIMATE(sin, sin)
APPROXIMATE(cos, cos)
APPROXIMATE(lg2, log2)
APPROXIMATE(ex2, exp2)
APPROXIMATE(tanh, tanh)

/* Defines the handlers of halves, for single values and for pairs. */
#define APPROXIMATE_HALVES(name, f, widen, narrow)                                                 \
    static uint16_t name##_lane(uint16_t a)                                                        \
    {                                                                                              \
        return narrow(f32_bits((float)f((double)widen(a))));                                       \
    }                                                                                              \
    SIM_RARE1(name, uint16_t, uint16_t, name##_lane(a))                                            \
    SIM_RARE1(name##x2, uint32_t, uint32_t,                                                        \
              (uint32_t)name##_lane((uint16_t)(a >> 16)) << 16 | name##_lane((uint16_t)a))
APPROXIMATE_HALVES(ex2_f16, exp2, sim_f16_float, sim_f16_narrow)
APPROXIMATE_HALVES(tanh_f16, tanh, sim_f16_float, sim_f16_narrow)
APPROXIMATE_HALVES(tanh_bf16, tanh, sim_bf16_float, sim_bf16_narrow)
/* Computes ex2 of bf16, which flushes. */
static uint16_t ex2_ftz_bf16_lane(uint16_t a)
{
    return sim_bf16_narrow(ex2_lane(sim_bf16_widen(a), true));
}
SIM_RARE1(ex2_ftz_bf16, uint16_t, uint16_t, ex2_ftz_bf16_lane(a))
SIM_RARE1(ex2_ftz_bf16x2, uint32_t, uint32_t,
          (uint32_t)ex2_ftz_bf16_lane((uint16_t)(a >> 16)) << 16 | ex2_ftz_bf16_lane((uint16_t)a))

/* div.approx multiplies by a reciprocal. For divisors above 2^126 that reciprocal would be
 * subnormal, and is zero. */
static inline uint32_t divided(uint32_t a, uint32_t b, bool ftz, bool full)
{
    a = ftz ? sim_f32_flush(a) : a;
    b = ftz ? sim_f32_flush(b) : b;
    uint32_t rest = b & 0x7fffffffu;
    bool vanishes = !full && rest > 0x7e800000u && rest < 0x7f800000u;
    float r = vanishes ? f32_from_bits(a) * f32_from_bits(b & 0x80000000u)
                       : f32_from_bits(a) / f32_from_bits(b);
    uint32_t bits = sim_f32_canonical(f32_bits(r));
    return ftz ? sim_f32_flush(bits) : bits;
}
SIM_BINARY(div_approx, uint32_t, uint32_t, uint32_t, divided(a, b, false, false))
SIM_BINARY(div_approx_ftz, uint32_t, uint32_t, uint32_t, divided(a, b, true, false))
SIM_BINARY(div_full, uint32_t, uint32_t, uint32_t, divided(a, b, false, true))
SIM_BINARY(div_full_ftz, uint32_t, uint32_t, uint32_t, divided(a, b, true, true))

/* Computes a coarse approximation of f64: it ignores the low word of the operand, and the low
 * word of the result is 0. */
static uint64_t coarse(uint64_t a, double (*f)(double))
{
    const uint64_t high = 0xffffffff00000000u, infinity = 0x7ff0000000000000u;
    a &= high;
    if (!(a & infinity))
        a &= 1ull << 63;
    uint64_t r = f64_bits(f(f64_from_bits(a)));
    if (sim_f64_nan(r))
        return 0x7fffffff00000000u;
    r += 0x7fffffffu + (r >> 32 & 1);
    return r & infinity ? r & high : r & 1ull << 63;
}
SIM_RARE1(rcp_coarse, uint64_t, uint64_t, coarse(a, reciprocal))
SIM_RARE1(rsqrt_coarse, uint64_t, uint64_t, coarse(a, reciprocal_root))
SIM_RARE1(rsqrt_f64, uint64_t, uint64_t, f64_bits(reciprocal_root(f64_from_bits(a))))

#define APPROX_ROWS(name, ID)                                                                      \
    SIM_ROW(name##_f32, ID, MOD_APPROX, MOD_F32),                                                  \
        SIM_ROW(name##_f32, ID, MOD_APPROX, MOD_FTZ, MOD_F32)
#define HALF_ROWS(name, ID, TYPE, ...)                                                             \
    SIM_ROW(name, ID, __VA_ARGS__, MOD_##TYPE), SIM_ROW(name##x2, ID, __VA_ARGS__, MOD_##TYPE##X2)
static const struct sim_value_row approx_rows[] = {
    APPROX_ROWS(rcp, RCP),
    APPROX_ROWS(sqrt, SQRT),
    APPROX_ROWS(rsqrt, RSQRT),
    APPROX_ROWS(sin, SIN),
    APPROX_ROWS(cos, COS),
    APPROX_ROWS(lg2, LG2),
    APPROX_ROWS(ex2, EX2),
    SIM_ROW(tanh_f32, TANH, MOD_APPROX, MOD_F32),
    HALF_ROWS(ex2_f16, EX2, F16, MOD_APPROX),
    HALF_ROWS(ex2_ftz_bf16, EX2, BF16, MOD_APPROX, MOD_FTZ),
    HALF_ROWS(tanh_f16, TANH, F16, MOD_APPROX),
    HALF_ROWS(tanh_bf16, TANH, BF16, MOD_APPROX),
    SIM_ROW(div_approx, DIV, MOD_APPROX, MOD_F32),
    SIM_ROW(div_approx_ftz, DIV, MOD_APPROX, MOD_FTZ, MOD_F32),
    SIM_ROW(div_full, DIV, MOD_FULL, MOD_F32),
    SIM_ROW(div_full_ftz, DIV, MOD_FULL, MOD_FTZ, MOD_F32),
    SIM_ROW(rcp_coarse, RCP, MOD_APPROX, MOD_FTZ, MOD_F64),
    SIM_ROW(rsqrt_coarse, RSQRT, MOD_APPROX, MOD_FTZ, MOD_F64),
    SIM_ROW(rsqrt_f64, RSQRT, MOD_APPROX, MOD_F64),
};

bool sim_choose_approx(struct sim_decoder *d, const struct ptx_instruction *ins, struct sim_op *op)
{
    if (!sim_value_choose(d, ins, op, approx_rows, sizeof approx_rows / sizeof *approx_rows))
        return false;
    op->small = ptx_has(ins, MOD_FTZ) ? FTZ : 0;
    return true;
}
