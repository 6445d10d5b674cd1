/* Integers, bits, comparison and selection: each instruction on generated operands compared with
 * plain C, with full and partial masks, compiled for any machine and for AVX2. */
#include "value_decoder.h"

__extension__ typedef unsigned __int128 u128;
__extension__ typedef __int128 s128;

#define REF(name, ...)                                                                             \
    static void name(uint64_t *r, const uint64_t *x)                                               \
    {                                                                                              \
        __VA_ARGS__;                                                                               \
    }
/* The operands as signed numbers of 16, 32 and 64 bits. */
#define H(i) ((int64_t)(int16_t)x[i])
#define W(i) ((int64_t)(int32_t)x[i])
#define L(i) ((s128)(int64_t)x[i])
#define UH(i) (x[i] & 0xffff)
#define UW(i) (x[i] & 0xffffffff)

static int64_t clamp(int64_t v, int64_t least, int64_t most)
{
    return v < least ? least : v > most ? most : v;
}

/* --- sums and products --- */

REF(add, r[0] = x[0] + x[1])
REF(sub, r[0] = x[0] - x[1])
REF(add_sat, r[0] = (uint64_t)clamp(W(0) + W(1), INT32_MIN, INT32_MAX))
REF(sub_sat, r[0] = (uint64_t)clamp(W(0) - W(1), INT32_MIN, INT32_MAX))
REF(add_16x2, r[0] = ((x[0] + x[1]) & 0xffff) | ((x[0] >> 16) + (x[1] >> 16)) << 16)
REF(mul_lo, r[0] = x[0] * x[1])
REF(mul_hi_u16, r[0] = UH(0) * UH(1) >> 16)
REF(mul_hi_s16, r[0] = (uint64_t)(H(0) * H(1)) >> 16)
REF(mul_hi_u32, r[0] = UW(0) * UW(1) >> 32)
REF(mul_hi_s32, r[0] = (uint64_t)(W(0) * W(1)) >> 32)
REF(mul_hi_u64, r[0] = (uint64_t)((u128)x[0] * x[1] >> 64))
REF(mul_hi_s64, r[0] = (uint64_t)((u128)(L(0) * L(1)) >> 64))
REF(mul_wide_u16, r[0] = UH(0) * UH(1))
REF(mul_wide_s16, r[0] = (uint64_t)(H(0) * H(1)))
REF(mul_wide_u32, r[0] = UW(0) * UW(1))
REF(mul_wide_s32, r[0] = (uint64_t)(W(0) * W(1)))
#define PLUS(name)                                                                                 \
    static void mad_##name(uint64_t *r, const uint64_t *x)                                         \
    {                                                                                              \
        name(r, x);                                                                                \
        r[0] += x[2];                                                                              \
    }
PLUS(mul_lo)
PLUS(mul_hi_u16)
PLUS(mul_hi_s16)
PLUS(mul_hi_u32)
PLUS(mul_hi_s32)
PLUS(mul_hi_u64)
PLUS(mul_hi_s64)
PLUS(mul_wide_u16)
PLUS(mul_wide_s16)
PLUS(mul_wide_u32)
PLUS(mul_wide_s32)
REF(mad_hi_sat, r[0] = (uint64_t)clamp((W(0) * W(1) >> 32) + W(2), INT32_MIN, INT32_MAX))
#define S24(i) ((int64_t)((uint64_t)x[i] << 40) >> 40)
#define U24(i) (x[i] & 0xffffff)
REF(mul24_lo_u, r[0] = U24(0) * U24(1))
REF(mul24_hi_u, r[0] = U24(0) * U24(1) >> 16)
REF(mul24_lo_s, r[0] = (uint64_t)(S24(0) * S24(1)))
REF(mul24_hi_s, r[0] = (uint64_t)(S24(0) * S24(1) >> 16))
PLUS(mul24_lo_u)
PLUS(mul24_hi_u)
PLUS(mul24_lo_s)
PLUS(mul24_hi_s)
REF(mad24_hi_sat,
    r[0] = (uint64_t)clamp((int32_t)(S24(0) * S24(1) >> 16) + W(2), INT32_MIN, INT32_MAX))

static void sums_and_products(void **state)
{
    (void)state;
    value_check("add.u16 %h0, %h1, %h2;", add);
    value_check("add.s32 %r0, %r1, %r0;", add);
    value_check("add.u64 %d0, %d0, %d2;", add);
    value_check("add.s32 %r0, %r1, -7;", add);
    value_check("add.sat.s32 %r0, %r1, %r2;", add_sat);
    value_check("add.u16x2 %r0, %r1, %r2;", add_16x2);
    value_check("sub.s16 %h0, %h1, %h2;", sub);
    value_check("sub.u32 %r0, %r1, %r2;", sub);
    value_check("sub.s64 %d0, %d1, %d2;", sub);
    value_check("sub.sat.s32 %r0, %r1, %r2;", sub_sat);
    value_check("mul.lo.u16 %h0, %h1, %h2;", mul_lo);
    value_check("mul.lo.s32 %r0, %r1, %r2;", mul_lo);
    value_check("mul.lo.u64 %d0, %d1, %d2;", mul_lo);
    value_check("mul.hi.u16 %h0, %h1, %h2;", mul_hi_u16);
    value_check("mul.hi.s16 %h0, %h1, %h2;", mul_hi_s16);
    value_check("mul.hi.u32 %r0, %r1, %r2;", mul_hi_u32);
    value_check("mul.hi.s32 %r0, %r1, %r2;", mul_hi_s32);
    value_check("mul.hi.u64 %d0, %d1, %d2;", mul_hi_u64);
    value_check("mul.hi.s64 %d0, %d1, %d2;", mul_hi_s64);
    value_check("mul.wide.u16 %r0, %h1, %h2;", mul_wide_u16);
    value_check("mul.wide.s16 %r0, %h1, %h2;", mul_wide_s16);
    value_check("mul.wide.u32 %d0, %r1, %r2;", mul_wide_u32);
    value_check("mul.wide.s32 %d0, %r1, %r2;", mul_wide_s32);
    value_check("mad.lo.u16 %h0, %h1, %h2, %h3;", mad_mul_lo);
    value_check("mad.lo.s32 %r0, %r1, %r2, %r3;", mad_mul_lo);
    value_check("mad.lo.u64 %d0, %d1, %d2, %d3;", mad_mul_lo);
    value_check("mad.hi.u16 %h0, %h1, %h2, %h3;", mad_mul_hi_u16);
    value_check("mad.hi.s16 %h0, %h1, %h2, %h3;", mad_mul_hi_s16);
    value_check("mad.hi.u32 %r0, %r1, %r2, %r3;", mad_mul_hi_u32);
    value_check("mad.hi.s32 %r0, %r1, %r2, %r3;", mad_mul_hi_s32);
    value_check("mad.hi.u64 %d0, %d1, %d2, %d3;", mad_mul_hi_u64);
    value_check("mad.hi.s64 %d0, %d1, %d2, %d3;", mad_mul_hi_s64);
    value_check("mad.wide.u16 %r0, %h1, %h2, %r3;", mad_mul_wide_u16);
    value_check("mad.wide.s16 %r0, %h1, %h2, %r3;", mad_mul_wide_s16);
    value_check("mad.wide.u32 %d0, %r1, %r2, %d3;", mad_mul_wide_u32);
    value_check("mad.wide.s32 %d0, %r1, %r2, %d3;", mad_mul_wide_s32);
    value_check("mad.hi.sat.s32 %r0, %r1, %r2, %r3;", mad_hi_sat);
    value_check("mul24.lo.u32 %r0, %r1, %r2;", mul24_lo_u);
    value_check("mul24.hi.u32 %r0, %r1, %r2;", mul24_hi_u);
    value_check("mul24.lo.s32 %r0, %r1, %r2;", mul24_lo_s);
    value_check("mul24.hi.s32 %r0, %r1, %r2;", mul24_hi_s);
    value_check("mad24.lo.u32 %r0, %r1, %r2, %r3;", mad_mul24_lo_u);
    value_check("mad24.hi.u32 %r0, %r1, %r2, %r3;", mad_mul24_hi_u);
    value_check("mad24.lo.s32 %r0, %r1, %r2, %r3;", mad_mul24_lo_s);
    value_check("mad24.hi.s32 %r0, %r1, %r2, %r3;", mad_mul24_hi_s);
    value_check("mad24.hi.sat.s32 %r0, %r1, %r2, %r3;", mad24_hi_sat);
}

/* --- the carry --- */

static void long_sum(uint64_t *r, u128 sum, int bits, bool writes)
{
    r[0] = (uint64_t)sum;
    if (writes)
        r[7] = (uint64_t)(sum >> bits) & 1;
}
REF(add_cc, long_sum(r, (u128)UW(0) + UW(1), 32, true))
REF(addc, long_sum(r, (u128)UW(0) + UW(1) + x[7], 32, false))
REF(addc_cc, long_sum(r, (u128)UW(0) + UW(1) + x[7], 32, true))
REF(addc_cc_64, long_sum(r, (u128)x[0] + x[1] + x[7], 64, true))
REF(sub_cc, long_sum(r, (u128)UW(0) - UW(1), 32, true))
REF(subc, long_sum(r, (u128)UW(0) - UW(1) - x[7], 32, false))
REF(subc_cc, long_sum(r, (u128)UW(0) - UW(1) - x[7], 32, true))
REF(subc_cc_64, long_sum(r, (u128)x[0] - x[1] - x[7], 64, true))
REF(mad_lo_cc, long_sum(r, (u128)(uint32_t)(x[0] * x[1]) + UW(2), 32, true))
REF(madc_hi, long_sum(r, (u128)(UW(0) * UW(1) >> 32) + UW(2) + x[7], 32, false))
REF(madc_hi_cc_s32,
    long_sum(r, (u128)(uint32_t)((uint64_t)(W(0) * W(1)) >> 32) + UW(2) + x[7], 32, true))
REF(madc_lo_cc_64, long_sum(r, (u128)(x[0] * x[1]) + x[2] + x[7], 64, true))
REF(madc_hi_cc_s64,
    long_sum(r, (u128)(uint64_t)((u128)(L(0) * L(1)) >> 64) + x[2] + x[7], 64, true))

static void carries(void **state)
{
    (void)state;
    value_check("add.cc.u32 %r0, %r1, %r2;", add_cc);
    value_check("addc.s32 %r0, %r1, %r2;", addc);
    value_check("addc.cc.u32 %r0, %r1, %r2;", addc_cc);
    value_check("addc.cc.u64 %d0, %d1, %d2;", addc_cc_64);
    value_check("sub.cc.u32 %r0, %r1, %r2;", sub_cc);
    value_check("subc.u32 %r0, %r1, %r2;", subc);
    value_check("subc.cc.u32 %r0, %r1, %r2;", subc_cc);
    value_check("subc.cc.u64 %d0, %d1, %d2;", subc_cc_64);
    value_check("mad.lo.cc.u32 %r0, %r1, %r2, %r3;", mad_lo_cc);
    value_check("madc.hi.u32 %r0, %r1, %r2, %r3;", madc_hi);
    value_check("madc.hi.cc.s32 %r0, %r1, %r2, %r3;", madc_hi_cc_s32);
    value_check("madc.lo.cc.u64 %d0, %d1, %d2, %d3;", madc_lo_cc_64);
    value_check("madc.hi.cc.s64 %d0, %d1, %d2, %d3;", madc_hi_cc_s64);
}

/* --- quotients, magnitudes, extremes, dot products --- */

REF(div_u16, r[0] = UH(1) ? UH(0) / UH(1) : UINT64_MAX)
REF(div_u32, r[0] = UW(1) ? UW(0) / UW(1) : UINT64_MAX)
REF(div_u64, r[0] = x[1] ? x[0] / x[1] : UINT64_MAX)
REF(div_s16, r[0] = H(1) ? (uint64_t)(H(0) / H(1)) : UINT64_MAX)
REF(div_s32, r[0] = W(1) ? (uint64_t)(W(0) / W(1)) : UINT64_MAX)
REF(div_s64, r[0] = L(1) ? (uint64_t)(L(0) / L(1)) : UINT64_MAX)
REF(rem_u16, r[0] = UH(1) ? UH(0) % UH(1) : UINT64_MAX)
REF(rem_u32, r[0] = UW(1) ? UW(0) % UW(1) : UINT64_MAX)
REF(rem_u64, r[0] = x[1] ? x[0] % x[1] : UINT64_MAX)
REF(rem_s16, r[0] = H(1) ? (uint64_t)(H(0) % H(1)) : UINT64_MAX)
REF(rem_s32, r[0] = W(1) ? (uint64_t)(W(0) % W(1)) : UINT64_MAX)
REF(rem_s64, r[0] = L(1) ? (uint64_t)(L(0) % L(1)) : UINT64_MAX)
REF(sad_u16, r[0] = x[2] + (UH(0) > UH(1) ? UH(0) - UH(1) : UH(1) - UH(0)))
REF(sad_s16, r[0] = x[2] + (uint64_t)llabs(H(0) - H(1)))
REF(sad_s32, r[0] = x[2] + (uint64_t)llabs(W(0) - W(1)))
REF(sad_u64, r[0] = x[2] + (x[0] > x[1] ? x[0] - x[1] : x[1] - x[0]))
REF(sad_s64, r[0] = x[2] + (uint64_t)(L(0) > L(1) ? L(0) - L(1) : L(1) - L(0)))
REF(abs_s16, r[0] = (uint64_t)llabs(H(0)))
REF(abs_s32, r[0] = (uint64_t)llabs(W(0)))
REF(abs_s64, r[0] = (uint64_t)(L(0) < 0 ? -L(0) : L(0)))
REF(neg, r[0] = 0 - x[0])
REF(min_u16, r[0] = UH(0) < UH(1) ? UH(0) : UH(1))
REF(max_s16, r[0] = (uint64_t)(H(0) > H(1) ? H(0) : H(1)))
REF(min_s32, r[0] = (uint64_t)(W(0) < W(1) ? W(0) : W(1)))
REF(max_u32, r[0] = UW(0) > UW(1) ? UW(0) : UW(1))
REF(min_u64, r[0] = x[0] < x[1] ? x[0] : x[1])
REF(max_s64, r[0] = (uint64_t)(L(0) > L(1) ? L(0) : L(1)))
REF(max_relu, r[0] = (uint64_t)clamp(W(0) > W(1) ? W(0) : W(1), 0, INT32_MAX))
static void min_relu_s16x2(uint64_t *r, const uint64_t *x)
{
    for (int i = 0; i < 32; i += 16) {
        int16_t a = (int16_t)(x[0] >> i), b = (int16_t)(x[1] >> i), low = a < b ? a : b;
        r[0] = (i ? r[0] : 0) | (uint64_t)(uint16_t)(low < 0 ? 0 : low) << i;
    }
}
static void max_u16x2(uint64_t *r, const uint64_t *x)
{
    for (int i = 0; i < 32; i += 16) {
        uint64_t a = x[0] >> i & 0xffff, b = x[1] >> i & 0xffff;
        r[0] = (i ? r[0] : 0) | (a > b ? a : b) << i;
    }
}
static void dot4(uint64_t *r, const uint64_t *x, bool sa, bool sb)
{
    int64_t sum = (int64_t)x[2];
    for (int i = 0; i < 32; i += 8) {
        uint8_t a = (uint8_t)(x[0] >> i), b = (uint8_t)(x[1] >> i);
        sum += (sa ? (int8_t)a : a) * (sb ? (int8_t)b : b);
    }
    r[0] = (uint64_t)sum;
}
REF(dp4a_uu, dot4(r, x, false, false))
REF(dp4a_us, dot4(r, x, false, true))
REF(dp4a_su, dot4(r, x, true, false))
REF(dp4a_ss, dot4(r, x, true, true))
static void dot2(uint64_t *r, const uint64_t *x, bool sa, bool sb, int first)
{
    int64_t sum = (int64_t)x[2];
    for (int i = 0; i < 2; i++) {
        uint16_t a = (uint16_t)(x[0] >> 16 * i);
        uint8_t b = (uint8_t)(x[1] >> 8 * (i + first));
        sum += (int64_t)(sa ? (int16_t)a : a) * (sb ? (int8_t)b : b);
    }
    r[0] = (uint64_t)sum;
}
REF(dp2a_lo_us, dot2(r, x, false, true, 0))
REF(dp2a_hi_ss, dot2(r, x, true, true, 2))
REF(dp2a_hi_su, dot2(r, x, true, false, 2))

static void quotients_and_extremes(void **state)
{
    (void)state;
    value_check("div.u16 %h0, %h1, %h2;", div_u16);
    value_check("div.u32 %r0, %r1, %r2;", div_u32);
    value_check("div.u64 %d0, %d1, %d2;", div_u64);
    value_check("div.s16 %h0, %h1, %h2;", div_s16);
    value_check("div.s32 %r0, %r1, %r2;", div_s32);
    value_check("div.s32 %r0, %r1, -1;", div_s32);
    value_check("div.s64 %d0, %d1, %d2;", div_s64);
    value_check("div.s64 %d0, %d1, -1;", div_s64);
    value_check("rem.u16 %h0, %h1, %h2;", rem_u16);
    value_check("rem.u32 %r0, %r1, %r2;", rem_u32);
    value_check("rem.u64 %d0, %d1, %d2;", rem_u64);
    value_check("rem.s16 %h0, %h1, %h2;", rem_s16);
    value_check("rem.s32 %r0, %r1, %r2;", rem_s32);
    value_check("rem.s64 %d0, %d1, %d2;", rem_s64);
    value_check("rem.s64 %d0, %d1, -1;", rem_s64);
    value_check("sad.u16 %h0, %h1, %h2, %h3;", sad_u16);
    value_check("sad.s16 %h0, %h1, %h2, %h3;", sad_s16);
    value_check("sad.s32 %r0, %r1, %r2, %r3;", sad_s32);
    value_check("sad.u64 %d0, %d1, %d2, %d3;", sad_u64);
    value_check("sad.s64 %d0, %d1, %d2, %d3;", sad_s64);
    value_check("abs.s16 %h0, %h1;", abs_s16);
    value_check("abs.s32 %r0, %r1;", abs_s32);
    value_check("abs.s64 %d0, %d1;", abs_s64);
    value_check("neg.s16 %h0, %h1;", neg);
    value_check("neg.s32 %r0, %r1;", neg);
    value_check("neg.s64 %d0, %d1;", neg);
    value_check("min.u16 %h0, %h1, %h2;", min_u16);
    value_check("max.s16 %h0, %h1, %h2;", max_s16);
    value_check("min.s32 %r0, %r1, %r2;", min_s32);
    value_check("max.u32 %r0, %r1, %r2;", max_u32);
    value_check("min.u64 %d0, %d1, %d2;", min_u64);
    value_check("max.s64 %d0, %d1, %d2;", max_s64);
    value_check("max.relu.s32 %r0, %r1, %r2;", max_relu);
    value_check("min.relu.s16x2 %r0, %r1, %r2;", min_relu_s16x2);
    value_check("max.u16x2 %r0, %r1, %r2;", max_u16x2);
    value_check("dp4a.u32.u32 %r0, %r1, %r2, %r3;", dp4a_uu);
    value_check("dp4a.u32.s32 %r0, %r1, %r2, %r3;", dp4a_us);
    value_check("dp4a.s32.u32 %r0, %r1, %r2, %r3;", dp4a_su);
    value_check("dp4a.s32.s32 %r0, %r1, %r2, %r3;", dp4a_ss);
    value_check("dp2a.lo.u32.s32 %r0, %r1, %r2, %r3;", dp2a_lo_us);
    value_check("dp2a.hi.s32.s32 %r0, %r1, %r2, %r3;", dp2a_hi_ss);
    value_check("dp2a.hi.s32.u32 %r0, %r1, %r2, %r3;", dp2a_hi_su);
}

/* --- bits --- */

static uint64_t bit(uint64_t v, int64_t i, int bits)
{
    return i >= 0 && i < bits ? v >> i & 1 : 0;
}
REF(and, r[0] = x[0] & x[1])
REF(or, r[0] = x[0] | x[1])
REF(xor, r[0] = x[0] ^ x[1])
REF(not, r[0] = ~x[0])
REF(cnot, r[0] = x[0] == 0)
REF(lop3, r[0] = 0;
    for (int i = 0; i < 32; i++) r[0] |=
    (x[3] >> (bit(x[0], i, 32) << 2 | bit(x[1], i, 32) << 1 | bit(x[2], i, 32)) & 1) << i)
REF(lop3_or, lop3(r, x); r[1] = r[0] != 0 || x[4])
REF(lop3_and, lop3(r, x); r[1] = r[0] != 0 && x[4])
static uint64_t shifted_left(uint64_t v, uint64_t by, int bits)
{
    return by >= (uint64_t)bits ? 0 : v << by;
}
REF(shl_16, r[0] = shifted_left(x[0], x[1], 16))
REF(shl_32, r[0] = shifted_left(x[0], x[1], 32))
REF(shl_64, r[0] = shifted_left(x[0], x[1], 64))
REF(shr_u16, r[0] = x[1] > 15 ? 0 : x[0] >> x[1])
REF(shr_u32, r[0] = x[1] > 31 ? 0 : x[0] >> x[1])
REF(shr_u64, r[0] = x[1] > 63 ? 0 : x[0] >> x[1])
REF(shr_s16, r[0] = (uint64_t)(H(0) >> (x[1] > 15 ? 15 : x[1])))
REF(shr_s32, r[0] = (uint64_t)(W(0) >> (x[1] > 31 ? 31 : x[1])))
REF(shr_s64, r[0] = (uint64_t)((int64_t)x[0] >> (x[1] > 63 ? 63 : x[1])))
#define BOTH (x[1] << 32 | x[0])
REF(shf_l_clamp, r[0] = x[2] >= 32 ? x[0] : BOTH << x[2] >> 32)
REF(shf_l_wrap, r[0] = BOTH << x[2] % 32 >> 32)
REF(shf_r_clamp, r[0] = x[2] >= 32 ? x[1] : BOTH >> x[2])
REF(shf_r_wrap, r[0] = BOTH >> x[2] % 32)
static void prmt(uint64_t *r, const uint64_t *x, const char *bytes)
{
    /* bytes: for each value of c's low two bits, from the highest byte down; NULL: c selects
     * them */
    r[0] = 0;
    for (int i = 0; i < 4; i++) {
        uint64_t select =
            bytes ? (uint64_t)(bytes[(x[2] & 3) * 5 + 3 - (uint64_t)i] - '0') : x[2] >> 4 * i & 15;
        uint64_t byte = BOTH >> (select & 7) * 8 & 0xff;
        if (select & 8)
            byte = byte & 0x80 ? 0xff : 0;
        r[0] |= byte << 8 * i;
    }
}
REF(prmt_c, prmt(r, x, NULL))
REF(prmt_f4e, prmt(r, x, "3210 4321 5432 6543"))
REF(prmt_b4e, prmt(r, x, "5670 6701 7012 0123"))
REF(prmt_rc8, prmt(r, x, "0000 1111 2222 3333"))
REF(prmt_ecl, prmt(r, x, "3210 3211 3222 3333"))
REF(prmt_ecr, prmt(r, x, "0000 1110 2210 3210"))
REF(prmt_rc16, prmt(r, x, "1010 3232 1010 3232"))
static int highest(uint64_t v)
{
    for (int i = 63; i >= 0; i--)
        if (v >> i & 1)
            return i;
    return -1;
}
REF(popc, r[0] = 0; for (int i = 0; i < 64; i++) r[0] += x[0] >> i & 1)
REF(clz_32, r[0] = (uint64_t)(31 - highest(x[0])))
REF(clz_64, r[0] = (uint64_t)(63 - highest(x[0])))
REF(brev_32, r[0] = 0; for (int i = 0; i < 32; i++) r[0] |= bit(x[0], i, 32) << (31 - i))
REF(brev_64, r[0] = 0; for (int i = 0; i < 64; i++) r[0] |= bit(x[0], i, 64) << (63 - i))
REF(bfind_u32, r[0] = (uint64_t)highest(x[0]))
REF(bfind_s32, r[0] = (uint64_t)highest(W(0) < 0 ? UW(0) ^ UINT32_MAX : x[0]))
REF(bfind_s64, r[0] = (uint64_t)highest(L(0) < 0 ? ~x[0] : x[0]))
REF(bfind_amount_u64, r[0] = x[0] ? (uint64_t)(63 - highest(x[0])) : UINT64_MAX)
REF(bfind_amount_s32, bfind_s32(r, x); if ((int64_t)r[0] >= 0) r[0] = 31 - r[0])
static void fns(uint64_t *r, const uint64_t *x)
{
    int64_t base = (int64_t)(x[1]), n = W(2), step = n < 0 ? -1 : 1, seen = 0;
    r[0] = UINT64_MAX;
    if (n == 0 && base < 32 && (x[0] >> base & 1))
        r[0] = (uint64_t)base;
    for (int64_t i = base; n != 0 && i >= 0 && i < 32; i += step)
        if ((x[0] >> i & 1) && ++seen == n * step) {
            r[0] = (uint64_t)i;
            return;
        }
}
/* GPUs use all of these numbers of 64-bit fields unchanged. */
static int64_t field_number(uint64_t x, int bits)
{
    return (int64_t)(bits == 64 ? x & UINT32_MAX : x & 0xff);
}
/* Executes bfe bit by bit, as the PTX ISA defines it. */
static void bfe(uint64_t *r, const uint64_t *x, int bits, bool is_signed)
{
    int64_t at = field_number(x[1], bits), length = field_number(x[2], bits);
    int64_t last = at + length - 1 < bits - 1 ? at + length - 1 : bits - 1;
    uint64_t fill = is_signed && length ? bit(x[0], last, bits) : 0;
    r[0] = 0;
    for (int i = 0; i < bits; i++)
        r[0] |= (i < length && at + i < bits ? bit(x[0], at + i, bits) : fill) << i;
}
REF(bfe_u32, bfe(r, x, 32, false))
REF(bfe_s32, bfe(r, x, 32, true))
REF(bfe_u64, bfe(r, x, 64, false))
REF(bfe_s64, bfe(r, x, 64, true))
static void bfi(uint64_t *r, const uint64_t *x, int bits)
{
    int64_t at = field_number(x[2], bits), length = field_number(x[3], bits);
    r[0] = x[1];
    for (int i = 0; i < length && at + i < bits; i++)
        r[0] = (r[0] & ~(1ull << (at + i))) | bit(x[0], i, bits) << (at + i);
}
REF(bfi_32, bfi(r, x, 32))
REF(bfi_64, bfi(r, x, 64))
/* Executes bmsk as the PTX ISA defines it. */
static void bmsk(uint64_t *r, const uint64_t *x, bool clamps)
{
    uint32_t a = x[0] & 31, b = x[1] & 31, sum = a + b;
    uint32_t mask0 = UINT32_MAX << a, mask1 = sum >= 32 ? 0 : UINT32_MAX << sum;
    bool over = sum >= 32;
    if (clamps && x[0] >= 32) {
        over = true;
        mask0 = 0;
    }
    over = over || (clamps && x[1] >= 32);
    if (over)
        mask1 = 0;
    else if (b == 0)
        mask1 = UINT32_MAX;
    r[0] = mask0 & ~mask1;
}
REF(bmsk_clamp, bmsk(r, x, true))
REF(bmsk_wrap, bmsk(r, x, false))
static void szext(uint64_t *r, const uint64_t *x, bool clamps, bool is_signed)
{
    uint64_t n = clamps ? (x[1] > 32 ? 32 : x[1]) : x[1] % 32, sign = n ? x[0] >> (n - 1) & 1 : 0;
    r[0] = x[0] & ((1ull << n) - 1);
    if (is_signed && sign)
        r[0] |= ~((1ull << n) - 1);
}
REF(szext_clamp_u32, szext(r, x, true, false))
REF(szext_wrap_u32, szext(r, x, false, false))
REF(szext_clamp_s32, szext(r, x, true, true))
REF(szext_wrap_s32, szext(r, x, false, true))

static void logic_and_shifts(void **state)
{
    (void)state;
    value_check("and.b16 %h0, %h1, %h2;", and);
    value_check("and.b64 %d0, %d1, %d2;", and);
    value_check("or.b32 %r0, %r1, %r2;", or);
    value_check("xor.b32 %r0, %r1, 255;", xor);
    value_check("not.b16 %h0, %h1;", not );
    value_check("not.b64 %d0, %d1;", not );
    value_check("cnot.b16 %h0, %h1;", cnot);
    value_check("cnot.b32 %r0, %r1;", cnot);
    value_check("cnot.b64 %d0, %d1;", cnot);
    value_check("and.pred %p0, %p1, !%p2;", and);
    value_check("or.pred %p0, !%p0, %p2;", or);
    value_check("xor.pred %p0, %p1, %p2;", xor);
    value_check("not.pred %p0, %p1;", not );
    for (int table = 0; table < 256; table++) {
        char text[64];
        snprintf(text, sizeof text, "lop3.b32 %%r0, %%r1, %%r2, %%r3, %d;", table);
        value_check_rounds(text, lop3, 2);
    }
    value_check("lop3.or.b32 %r0|%p0, %r1, %r2, %r3, 42, %p1;", lop3_or);
    value_check("lop3.and.b32 %r0|%p0, %r1, %r2, %r3, 128, !%p1;", lop3_and);
    value_check("lop3.and.b32 _|%p0, %r1, %r2, %r3, 128, !%p0;", lop3_and);
    value_check("shl.b16 %h0, %h1, %r2;", shl_16);
    value_check("shl.b32 %r0, %r1, %r2;", shl_32);
    value_check("shl.b32 %r0, %r1, 5;", shl_32);
    value_check("shl.b64 %d0, %d1, %r2;", shl_64);
    value_check("shr.u16 %h0, %h1, %r2;", shr_u16);
    value_check("shr.b32 %r0, %r1, %r2;", shr_u32);
    value_check("shr.u64 %d0, %d1, %r2;", shr_u64);
    value_check("shr.s16 %h0, %h1, %r2;", shr_s16);
    value_check("shr.s32 %r0, %r1, %r2;", shr_s32);
    value_check("shr.s64 %d0, %d1, %r2;", shr_s64);
    value_check("shf.l.clamp.b32 %r0, %r1, %r2, %r3;", shf_l_clamp);
    value_check("shf.l.wrap.b32 %r0, %r1, %r2, %r3;", shf_l_wrap);
    value_check("shf.r.clamp.b32 %r0, %r1, %r2, %r3;", shf_r_clamp);
    value_check("shf.r.wrap.b32 %r0, %r1, %r2, %r3;", shf_r_wrap);
}

static void bytes_and_fields(void **state)
{
    (void)state;
    value_check("prmt.b32 %r0, %r1, %r2, %r3;", prmt_c);
    value_check("prmt.b32.f4e %r0, %r1, %r2, %r3;", prmt_f4e);
    value_check("prmt.b32.b4e %r0, %r1, %r2, %r3;", prmt_b4e);
    value_check("prmt.b32.rc8 %r0, %r1, %r2, %r3;", prmt_rc8);
    value_check("prmt.b32.ecl %r0, %r1, %r2, %r3;", prmt_ecl);
    value_check("prmt.b32.ecr %r0, %r1, %r2, %r3;", prmt_ecr);
    value_check("prmt.b32.rc16 %r0, %r1, %r2, %r3;", prmt_rc16);
    value_check("popc.b32 %r0, %r1;", popc);
    value_check("popc.b64 %r0, %d1;", popc);
    value_check("clz.b32 %r0, %r1;", clz_32);
    value_check("clz.b64 %r0, %d1;", clz_64);
    value_check("brev.b32 %r0, %r1;", brev_32);
    value_check("brev.b64 %d0, %d1;", brev_64);
    value_check("bfind.u32 %r0, %r1;", bfind_u32);
    value_check("bfind.u64 %r0, %d1;", bfind_u32);
    value_check("bfind.s32 %r0, %r1;", bfind_s32);
    value_check("bfind.s64 %r0, %d1;", bfind_s64);
    value_check("bfind.shiftamt.u64 %r0, %d1;", bfind_amount_u64);
    value_check("bfind.shiftamt.s32 %r0, %r1;", bfind_amount_s32);
    value_check("fns.b32 %r0, %r1, %r2, %r3;", fns);
    for (int n = -3; n < 4; n++) {
        char text[64];
        snprintf(text, sizeof text, "fns.b32 %%r0, %%r1, %d, %d;", n * n, n);
        value_check_rounds(text, fns, 10);
    }
    value_check("bfe.u32 %r0, %r1, %r2, %r3;", bfe_u32);
    value_check("bfe.s32 %r0, %r1, %r2, %r3;", bfe_s32);
    value_check("bfe.u64 %d0, %d1, %r2, %r3;", bfe_u64);
    value_check("bfe.s64 %d0, %d1, %r2, %r3;", bfe_s64);
    value_check("bfe.s64 %d0, %d1, %r2, 40;", bfe_s64);
    value_check("bfi.b32 %r0, %r1, %r2, %r3, %r4;", bfi_32);
    value_check("bfi.b64 %d0, %d1, %d2, %r3, %r4;", bfi_64);
    value_check("bfi.b64 %d0, %d1, %d2, 33, %r4;", bfi_64);
    value_check("bmsk.clamp.b32 %r0, %r1, %r2;", bmsk_clamp);
    value_check("bmsk.wrap.b32 %r0, %r1, %r2;", bmsk_wrap);
    value_check("szext.clamp.u32 %r0, %r1, %r2;", szext_clamp_u32);
    value_check("szext.wrap.u32 %r0, %r1, %r2;", szext_wrap_u32);
    value_check("szext.clamp.s32 %r0, %r1, %r2;", szext_clamp_s32);
    value_check("szext.wrap.s32 %r0, %r1, %r2;", szext_wrap_s32);
}

/* --- comparison --- */

static double f32_of(uint64_t bits)
{
    return (double)f32_from_bits((uint32_t)bits);
}
static double f64_of(uint64_t bits)
{
    return f64_from_bits(bits);
}
static double flushed(uint64_t bits)
{
    return bits & 0x7f800000 ? f32_of(bits) : 0;
}
static double f16_of(uint64_t bits)
{
    return (double)f16_to_f32((uint16_t)bits);
}
static double bf16_of(uint64_t bits)
{
    return (double)bf16_to_f32((uint16_t)bits);
}

/* A relation of doubles, by name. */
static const char *relation;
static bool holds(double a, double b)
{
    bool unordered = a != a || b != b;
    if (!strcmp(relation, "num") || !strcmp(relation, "nan"))
        return unordered == (relation[1] == 'a');
    bool r = relation[0] == 'e'   ? a == b
             : relation[0] == 'n' ? a != b
             : relation[0] == 'l' ? (relation[1] == 't' ? a < b : a <= b)
             : relation[1] == 't' ? a > b
                                  : a >= b;
    return relation[2] == 'u' ? unordered || r : !unordered && r;
}
static bool whole(s128 a, s128 b)
{
    return !strcmp(relation, "eq")                              ? a == b
           : !strcmp(relation, "ne")                            ? a != b
           : !strcmp(relation, "lt") || !strcmp(relation, "lo") ? a < b
           : !strcmp(relation, "le") || !strcmp(relation, "ls") ? a <= b
           : !strcmp(relation, "gt") || !strcmp(relation, "hi") ? a > b
                                                                : a >= b;
}
#define SETP(name, h) REF(name, r[0] = h; r[1] = !(h))
SETP(setp_u16, whole((s128)UH(0), (s128)UH(1)))
SETP(setp_s16, whole(H(0), H(1)))
SETP(setp_u32, whole((s128)UW(0), (s128)UW(1)))
SETP(setp_s32, whole(W(0), W(1)))
SETP(setp_u64, whole((s128)x[0], (s128)x[1]))
SETP(setp_s64, whole(L(0), L(1)))
SETP(setp_f32, holds(f32_of(x[0]), f32_of(x[1])))
SETP(setp_ftz, holds(flushed(x[0]), flushed(x[1])))
SETP(setp_f64, holds(f64_of(x[0]), f64_of(x[1])))
SETP(setp_f16, holds(f16_of(x[0]), f16_of(x[1])))
SETP(setp_bf16, holds(bf16_of(x[0]), bf16_of(x[1])))
REF(setp_f32_and, r[0] = holds(f32_of(x[0]), f32_of(x[1])) && x[2];
    r[1] = !holds(f32_of(x[0]), f32_of(x[1])) && x[2])
REF(setp_s32_or, r[0] = whole(W(0), W(1)) || x[2]; r[1] = !whole(W(0), W(1)) || x[2])
REF(setp_u64_xor, r[0] = whole((s128)x[0], (s128)x[1]) != (x[2] != 0);
    r[1] = !whole((s128)x[0], (s128)x[1]) != (x[2] != 0))
REF(setp_f16x2, r[0] = holds(f16_of(x[0]), f16_of(x[1]));
    r[1] = holds(f16_of(x[0] >> 16), f16_of(x[1] >> 16)))
REF(setp_bf16x2_and, r[0] = holds(bf16_of(x[0]), bf16_of(x[1])) && x[2];
    r[1] = holds(bf16_of(x[0] >> 16), bf16_of(x[1] >> 16)) && x[2])
REF(set_u32_f32, r[0] = holds(f32_of(x[0]), f32_of(x[1])) ? UINT64_MAX : 0)
REF(set_f32_f64, r[0] = holds(f64_of(x[0]), f64_of(x[1])) ? 0x3f800000 : 0)
REF(set_s32_s32_and, r[0] = whole(W(0), W(1)) && x[2] ? UINT64_MAX : 0)
REF(set_f16_f32, r[0] = holds(f32_of(x[0]), f32_of(x[1])) ? 0x3c00 : 0)
REF(set_u16_f16, r[0] = holds(f16_of(x[0]), f16_of(x[1])) ? UINT64_MAX : 0)
REF(set_bf16x2, r[0] = (holds(bf16_of(x[0]), bf16_of(x[1])) ? 0x3f80 : 0) |
                       (holds(bf16_of(x[0] >> 16), bf16_of(x[1] >> 16)) ? 0x3f800000 : 0))
REF(set_u32_f16x2, r[0] = (holds(f16_of(x[0]), f16_of(x[1])) ? 0xffff : 0) |
                          (holds(f16_of(x[0] >> 16), f16_of(x[1] >> 16)) ? 0xffff0000 : 0))

static void compare_as(const char *pattern, const char *how, value_reference *reference)
{
    char text[96];
    relation = how;
    snprintf(text, sizeof text, pattern, how);
    value_check_rounds(text, reference, 12);
}

struct comparison {
    const char *pattern;
    value_reference *reference;
};

static void compare_all(const struct comparison *rows, size_t count, const char *const *relations)
{
    for (; *relations; relations++)
        for (size_t i = 0; i < count; i++)
            compare_as(rows[i].pattern, *relations, rows[i].reference);
}
#define COMPARE_ALL(rows, relations) compare_all(rows, sizeof rows / sizeof *rows, relations)

static const struct comparison signed_rows[] = {
    {"setp.%s.s16 %%p0, %%h1, %%h2;", setp_s16},
    {"setp.%s.s32 %%p0|%%p1, %%r1, %%r2;", setp_s32},
    {"setp.%s.s64 %%p0, %%d1, %%d2;", setp_s64},
    {"setp.%s.u16 %%p0, %%h1, %%h2;", setp_u16},
    {"setp.%s.u32 %%p0, %%r1, 7;", setp_u32},
    {"setp.%s.u64 %%p0|%%p1, %%d1, %%d2;", setp_u64},
    {"setp.%s.or.s32 %%p0|%%p1, %%r1, %%r2, %%p0;", setp_s32_or},
    {"setp.%s.xor.u64 %%p0|%%p1, %%d1, %%d2, !%%p1;", setp_u64_xor},
    {"set.%s.and.s32.s32 %%r0, %%r1, %%r2, !%%p1;", set_s32_s32_and},
};
static const struct comparison unsigned_rows[] = {
    {"setp.%s.u16 %%p0, %%h1, %%h2;", setp_u16},
    {"setp.%s.u32 %%p0, %%r1, %%r2;", setp_u32},
    {"setp.%s.u64 %%p0, %%d1, %%d2;", setp_u64},
};
static const struct comparison float_rows[] = {
    {"setp.%s.f32 %%p0, %%r1, %%r2;", setp_f32},
    {"setp.%s.f32 _|%%p0, %%r1, %%r2;", setp_f32},
    {"setp.%s.ftz.f32 %%p0|%%p1, %%r1, %%r2;", setp_ftz},
    {"setp.%s.f64 %%p0, %%d1, %%d2;", setp_f64},
    {"setp.%s.f16 %%p0, %%h1, %%h2;", setp_f16},
    {"setp.%s.bf16 %%p0, %%h1, %%h2;", setp_bf16},
    {"setp.%s.and.f32 %%p0|%%p1, %%r1, %%r2, !%%p2;", setp_f32_and},
    {"setp.%s.f16x2 %%p0|%%p1, %%r1, %%r2;", setp_f16x2},
    {"setp.%s.and.bf16x2 %%p0|%%p1, %%r1, %%r2, %%p2;", setp_bf16x2_and},
    {"set.%s.u32.f32 %%r0, %%r1, %%r2;", set_u32_f32},
    {"set.%s.f32.f64 %%r0, %%d1, %%d2;", set_f32_f64},
    {"set.%s.f16.f32 %%h0, %%r1, %%r2;", set_f16_f32},
    {"set.%s.u16.f16 %%h0, %%h1, %%h2;", set_u16_f16},
    {"set.%s.bf16x2.bf16x2 %%r0, %%r1, %%r2;", set_bf16x2},
    {"set.%s.u32.f16x2 %%r0, %%r1, %%r2;", set_u32_f16x2},
};

static void comparisons(void **state)
{
    (void)state;
    static const char *const of_signed[] = {"eq", "ne", "lt", "le", "gt", "ge", NULL};
    static const char *const of_unsigned[] = {"lo", "ls", "hi", "hs", NULL};
    static const char *const of_floats[] = {"eq",  "ne",  "lt",  "le",  "gt",  "ge",  "equ", "neu",
                                            "ltu", "leu", "gtu", "geu", "num", "nan", NULL};
    COMPARE_ALL(signed_rows, of_signed);
    COMPARE_ALL(unsigned_rows, of_unsigned);
    COMPARE_ALL(float_rows, of_floats);
    compare_as("setp.%s.b32 %%p0, %%r1, %%r2;", "ne", setp_u32);
}

REF(selp, r[0] = x[2] ? x[0] : x[1])
REF(slct_s32, r[0] = W(2) >= 0 ? x[0] : x[1])
REF(slct_f32, r[0] = f32_of(x[2]) >= 0 ? x[0] : x[1])
REF(slct_ftz, r[0] = flushed(x[2]) >= 0 ? x[0] : x[1])

static void selection(void **state)
{
    (void)state;
    value_check("selp.b16 %h0, %h1, %h2, %p0;", selp);
    value_check("selp.b32 %r0, %r1, %r2, !%p0;", selp);
    value_check("selp.f32 %r0, %r0, %r2, %p0;", selp);
    value_check("selp.u64 %d0, %d1, %d2, %p0;", selp);
    value_check("slct.b16.s32 %h0, %h1, %h2, %r3;", slct_s32);
    value_check("slct.f32.s32 %r0, %r1, %r2, %r3;", slct_s32);
    value_check("slct.u64.f32 %d0, %d1, %d2, %r3;", slct_f32);
    value_check("slct.ftz.b32.f32 %r0, %r1, %r2, %r3;", slct_ftz);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_and_products),
        cmocka_unit_test(carries),
        cmocka_unit_test(quotients_and_extremes),
        cmocka_unit_test(logic_and_shifts),
        cmocka_unit_test(bytes_and_fields),
        cmocka_unit_test(comparisons),
        cmocka_unit_test(selection),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
