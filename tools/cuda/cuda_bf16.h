/* cuda_bf16.h for clang: numbers of type bfloat16, alone and in pairs. Names and meaning are those of
 * the CUDA Math API, "Bfloat16 Precision Intrinsics". PTX for sm_80 has fma, min and max of this
 * type and no sum or product, so that these are an fma, which rounds once. */
/* clang-format off */
#ifndef TILEWRIGHT_CUDA_BF16_H
#define TILEWRIGHT_CUDA_BF16_H

#define TW_M __host__ __device__ __forceinline__ __attribute__((nodebug)) /* a member */
/* A conversion to float that cuts off sets the last bit, so that a second rounding, to bfloat16,
 * gives what one rounding would. */
TW_HD float tw_to_odd(double d)
{
    float f;
    unsigned bits;
    asm("cvt.rz.f32.f64 %0, %1;" : "=f"(f) : "d"(d));
    __builtin_memcpy(&bits, &f, 4);
    bits |= d == d && (double)f != d;
    __builtin_memcpy(&f, &bits, 4);
    return f;
}
TW_HD float tw_to_odd(unsigned long long i)
{
    unsigned long long dropped = i >> 40 ? i & 0xffff : 0; /* a double holds the other bits */
    return tw_to_odd((double)((i ^ dropped) | (dropped != 0) << 15));
}
struct __nv_bfloat16 {
    unsigned short bits;
    __nv_bfloat16() = default;
    TW_M __nv_bfloat16(float f) { asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(f)); }
    TW_M __nv_bfloat16(double d) : __nv_bfloat16(tw_to_odd(d)) {}
    TW_M __nv_bfloat16(int i) : __nv_bfloat16((double)i) {}
    TW_M __nv_bfloat16(unsigned i) : __nv_bfloat16((double)i) {}
    TW_M __nv_bfloat16(short i) : __nv_bfloat16((float)i) {}
    TW_M __nv_bfloat16(unsigned short i) : __nv_bfloat16((float)i) {}
    TW_M __nv_bfloat16(unsigned long long i) : __nv_bfloat16(tw_to_odd(i)) {}
    TW_M __nv_bfloat16(long long i)
        : __nv_bfloat16(i < 0 ? -tw_to_odd(0 - (unsigned long long)i) : tw_to_odd((unsigned long long)i)) {}
    TW_M __nv_bfloat16(long i) : __nv_bfloat16((long long)i) {}
    TW_M __nv_bfloat16(unsigned long i) : __nv_bfloat16((unsigned long long)i) {}
    TW_M operator float() const
    {
        float f;
        unsigned wide = (unsigned)bits << 16;
        __builtin_memcpy(&f, &wide, 4);
        return f;
    }
    TW_M __nv_bfloat16 &operator+=(__nv_bfloat16 b);
    TW_M __nv_bfloat16 &operator-=(__nv_bfloat16 b);
    TW_M __nv_bfloat16 &operator*=(__nv_bfloat16 b);
    TW_M __nv_bfloat16 &operator/=(__nv_bfloat16 b);
};
struct __attribute__((aligned(4))) __nv_bfloat162 {
    __nv_bfloat16 x, y;
    __nv_bfloat162() = default;
    TW_M constexpr __nv_bfloat162(__nv_bfloat16 a, __nv_bfloat16 b) : x(a), y(b) {}
    TW_M __nv_bfloat162 &operator+=(__nv_bfloat162 b);
    TW_M __nv_bfloat162 &operator-=(__nv_bfloat162 b);
    TW_M __nv_bfloat162 &operator*=(__nv_bfloat162 b);
    TW_M __nv_bfloat162 &operator/=(__nv_bfloat162 b);
};
typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;

/* --- conversion and data movement --- */

TW_HD float __bfloat162float(__nv_bfloat16 a) { return (float)a; }
TW_HD __nv_bfloat16 __float2bfloat16(float f) { return __nv_bfloat16(f); }
TW_HD __nv_bfloat16 __float2bfloat16_rn(float f) { return __nv_bfloat16(f); }
TW_HD __nv_bfloat16 __float2bfloat16_rz(float f)
{ __nv_bfloat16 r; asm("cvt.rz.bf16.f32 %0, %1;" : "=h"(r.bits) : "f"(f)); return r; }
/* The next number away from 0, if cutting off went to the wrong side. */
TW_HD __nv_bfloat16 __float2bfloat16_rd(float f)
{ __nv_bfloat16 r = __float2bfloat16_rz(f); r.bits = (unsigned short)(r.bits + ((float)r > f)); return r; }
TW_HD __nv_bfloat16 __float2bfloat16_ru(float f)
{ __nv_bfloat16 r = __float2bfloat16_rz(f); r.bits = (unsigned short)(r.bits + ((float)r < f)); return r; }
TW_HD __nv_bfloat16 __double2bfloat16(double d) { return __nv_bfloat16(d); }
TW_HD __nv_bfloat16 __ushort_as_bfloat16(unsigned short s) { __nv_bfloat16 r; r.bits = s; return r; }
TW_HD __nv_bfloat16 __short_as_bfloat16(short s) { return __ushort_as_bfloat16((unsigned short)s); }
TW_HD unsigned short __bfloat16_as_ushort(__nv_bfloat16 a) { return a.bits; }
TW_HD short __bfloat16_as_short(__nv_bfloat16 a) { return (short)a.bits; }
#define TW_OF_INTEGER(type, name, ptx, c)                                                          \
    TW_HD __nv_bfloat16 __##name##2bfloat16_rn(type i) { return __nv_bfloat16(i); }                \
    TW_HD type __bfloat162##name##_rn(__nv_bfloat16 a)                                             \
    { type r; asm("cvt.rni." ptx ".f32 %0, %1;" : "=" c(r) : "f"((float)a)); return r; }           \
    TW_HD type __bfloat162##name##_rz(__nv_bfloat16 a)                                             \
    { type r; asm("cvt.rzi." ptx ".f32 %0, %1;" : "=" c(r) : "f"((float)a)); return r; }           \
    TW_HD type __bfloat162##name##_rd(__nv_bfloat16 a)                                             \
    { type r; asm("cvt.rmi." ptx ".f32 %0, %1;" : "=" c(r) : "f"((float)a)); return r; }           \
    TW_HD type __bfloat162##name##_ru(__nv_bfloat16 a)                                             \
    { type r; asm("cvt.rpi." ptx ".f32 %0, %1;" : "=" c(r) : "f"((float)a)); return r; }
TW_OF_INTEGER(int, int, "s32", "r")
TW_OF_INTEGER(unsigned, uint, "u32", "r")
TW_OF_INTEGER(short, short, "s16", "h")
TW_OF_INTEGER(unsigned short, ushort, "u16", "h")
TW_OF_INTEGER(long long, ll, "s64", "l")
TW_OF_INTEGER(unsigned long long, ull, "u64", "l")
#undef TW_OF_INTEGER
TW_HD __nv_bfloat162 make_bfloat162(__nv_bfloat16 a, __nv_bfloat16 b) { return {a, b}; }
TW_HD __nv_bfloat162 __halves2bfloat162(__nv_bfloat16 a, __nv_bfloat16 b) { return {a, b}; }
TW_HD __nv_bfloat162 __bfloat162bfloat162(__nv_bfloat16 a) { return {a, a}; }
TW_HD __nv_bfloat162 __floats2bfloat162_rn(float a, float b) { return {__nv_bfloat16(a), __nv_bfloat16(b)}; }
TW_HD __nv_bfloat162 __float2bfloat162_rn(float a) { return {__nv_bfloat16(a), __nv_bfloat16(a)}; }
TW_HD __nv_bfloat162 __float22bfloat162_rn(float2 f) { return {__nv_bfloat16(f.x), __nv_bfloat16(f.y)}; }
TW_HD float2 __bfloat1622float2(__nv_bfloat162 a) { return {(float)a.x, (float)a.y}; }
TW_HD float __low2float(__nv_bfloat162 a) { return (float)a.x; }
TW_HD float __high2float(__nv_bfloat162 a) { return (float)a.y; }
TW_HD __nv_bfloat16 __low2bfloat16(__nv_bfloat162 a) { return a.x; }
TW_HD __nv_bfloat16 __high2bfloat16(__nv_bfloat162 a) { return a.y; }
TW_HD __nv_bfloat162 __low2bfloat162(__nv_bfloat162 a) { return {a.x, a.x}; }
TW_HD __nv_bfloat162 __high2bfloat162(__nv_bfloat162 a) { return {a.y, a.y}; }
TW_HD __nv_bfloat162 __lows2bfloat162(__nv_bfloat162 a, __nv_bfloat162 b) { return {a.x, b.x}; }
TW_HD __nv_bfloat162 __highs2bfloat162(__nv_bfloat162 a, __nv_bfloat162 b) { return {a.y, b.y}; }
TW_HD __nv_bfloat162 __lowhigh2highlow(__nv_bfloat162 a) { return {a.y, a.x}; }

/* --- arithmetic --- */

#define TW_TWO(name)                                                                               \
    TW_HD __nv_bfloat16 name(__nv_bfloat16 a, __nv_bfloat16 b);                                    \
    TW_HD __nv_bfloat162 name##2(__nv_bfloat162 a, __nv_bfloat162 b) { return {name(a.x, b.x), name(a.y, b.y)}; } \
    TW_HD __nv_bfloat16 name(__nv_bfloat16 a, __nv_bfloat16 b)
#define TW_PTX(op)                                                                                 \
    { __nv_bfloat16 r; asm(op ".bf16 %0, %1, %2;" : "=h"(r.bits) : "h"(a.bits), "h"(b.bits)); return r; }
TW_TWO(__hmin) TW_PTX("min")
TW_TWO(__hmax) TW_PTX("max")
TW_TWO(__hmin_nan) TW_PTX("min.NaN")
TW_TWO(__hmax_nan) TW_PTX("max.NaN")
#undef TW_PTX
TW_HD __nv_bfloat16 tw_saturate(__nv_bfloat16 a)
{ return __hmin(__hmax(a, __ushort_as_bfloat16(0)), __ushort_as_bfloat16(0x3f80)); }
#define TW_FMA(name, op, result)                                                                   \
    TW_HD __nv_bfloat16 __hfma##name(__nv_bfloat16 a, __nv_bfloat16 b, __nv_bfloat16 c)            \
    {                                                                                              \
        __nv_bfloat16 r;                                                                           \
        asm(op " %0, %1, %2, %3;" : "=h"(r.bits) : "h"(a.bits), "h"(b.bits), "h"(c.bits));         \
        return result;                                                                             \
    }                                                                                              \
    TW_HD __nv_bfloat162 __hfma2##name(__nv_bfloat162 a, __nv_bfloat162 b, __nv_bfloat162 c)       \
    { return {__hfma##name(a.x, b.x, c.x), __hfma##name(a.y, b.y, c.y)}; }
TW_FMA(, "fma.rn.bf16", r)
TW_FMA(_sat, "fma.rn.bf16", tw_saturate(r))
TW_FMA(_relu, "fma.rn.relu.bf16", r)
#undef TW_FMA
#define TW_ARITHMETIC(name, value)                                                                 \
    TW_TWO(__h##name) { return value; }                                                            \
    TW_HD __nv_bfloat16 __h##name##_rn(__nv_bfloat16 a, __nv_bfloat16 b) { return value; }         \
    TW_HD __nv_bfloat16 __h##name##_sat(__nv_bfloat16 a, __nv_bfloat16 b) { return tw_saturate(value); } \
    TW_HD __nv_bfloat162 __h##name##2_rn(__nv_bfloat162 a, __nv_bfloat162 b) { return __h##name##2(a, b); } \
    TW_HD __nv_bfloat162 __h##name##2_sat(__nv_bfloat162 a, __nv_bfloat162 b)                      \
    { return {__h##name##_sat(a.x, b.x), __h##name##_sat(a.y, b.y)}; }
TW_HD __nv_bfloat16 __hneg(__nv_bfloat16 a) { return __ushort_as_bfloat16(a.bits ^ 0x8000); }
TW_HD __nv_bfloat16 __habs(__nv_bfloat16 a) { return __ushort_as_bfloat16(a.bits & 0x7fff); }
TW_HD __nv_bfloat162 __hneg2(__nv_bfloat162 a) { return {__hneg(a.x), __hneg(a.y)}; }
TW_HD __nv_bfloat162 __habs2(__nv_bfloat162 a) { return {__habs(a.x), __habs(a.y)}; }
TW_ARITHMETIC(add, __hfma(a, __ushort_as_bfloat16(0x3f80), b))
TW_ARITHMETIC(sub, __hfma(b, __ushort_as_bfloat16(0xbf80), a))
TW_ARITHMETIC(mul, __hfma(a, b, __ushort_as_bfloat16(0x8000))) /* -0: the zero that keeps a product's sign */
#undef TW_ARITHMETIC
TW_HD __nv_bfloat16 __hdiv(__nv_bfloat16 a, __nv_bfloat16 b) { return __nv_bfloat16((float)a / (float)b); }
TW_HD __nv_bfloat162 __h2div(__nv_bfloat162 a, __nv_bfloat162 b) { return {__hdiv(a.x, b.x), __hdiv(a.y, b.y)}; }
#define TW_OPERATOR(sign, name, pairs)                                                             \
    TW_HD __nv_bfloat16 operator sign(__nv_bfloat16 a, __nv_bfloat16 b) { return name(a, b); }     \
    TW_HD __nv_bfloat162 operator sign(__nv_bfloat162 a, __nv_bfloat162 b) { return pairs(a, b); } \
    TW_M __nv_bfloat16 &__nv_bfloat16::operator sign##=(__nv_bfloat16 b) { return *this = name(*this, b); } \
    TW_M __nv_bfloat162 &__nv_bfloat162::operator sign##=(__nv_bfloat162 b) { return *this = pairs(*this, b); }
TW_OPERATOR(+, __hadd, __hadd2)
TW_OPERATOR(-, __hsub, __hsub2)
TW_OPERATOR(*, __hmul, __hmul2)
TW_OPERATOR(/, __hdiv, __h2div)
#undef TW_OPERATOR
TW_HD __nv_bfloat16 operator-(__nv_bfloat16 a) { return __hneg(a); }
TW_HD __nv_bfloat162 operator-(__nv_bfloat162 a) { return __hneg2(a); }

/* --- comparison: of a NaN, functions in u are true, and the others false --- */

#define TW_COMPARE(name, condition)                                                                \
    TW_HD bool __h##name(__nv_bfloat16 p, __nv_bfloat16 q)                                         \
    { float a = (float)p, b = (float)q; return condition; }                                        \
    TW_HD __nv_bfloat162 __h##name##2(__nv_bfloat162 a, __nv_bfloat162 b)                          \
    { return __floats2bfloat162_rn(__h##name(a.x, b.x), __h##name(a.y, b.y)); }                    \
    TW_HD bool __hb##name##2(__nv_bfloat162 a, __nv_bfloat162 b) { return __h##name(a.x, b.x) && __h##name(a.y, b.y); }
#define TW_ORDER(name, sign, opposite)                                                             \
    TW_COMPARE(name, a sign b)                                                                     \
    TW_COMPARE(name##u, !(a opposite b))                                                           \
    TW_HD bool operator sign(__nv_bfloat16 a, __nv_bfloat16 b) { return (float)a sign (float)b; }
TW_ORDER(lt, <, >=)
TW_ORDER(le, <=, >)
TW_ORDER(gt, >, <=)
TW_ORDER(ge, >=, <)
TW_COMPARE(eq, a == b)
TW_COMPARE(equ, !(a < b || a > b))
TW_COMPARE(ne, a < b || a > b)
TW_COMPARE(neu, a != b)
#undef TW_ORDER
#undef TW_COMPARE
TW_HD bool operator==(__nv_bfloat16 a, __nv_bfloat16 b) { return __heq(a, b); }
TW_HD bool operator!=(__nv_bfloat16 a, __nv_bfloat16 b) { return __hneu(a, b); }
TW_HD bool __hisnan(__nv_bfloat16 a) { return (a.bits & 0x7fff) > 0x7f80; }
TW_HD int __hisinf(__nv_bfloat16 a) { return a.bits == 0x7f80 ? 1 : a.bits == 0xff80 ? -1 : 0; }

/* --- mathematics: in float, then rounded --- */

#define TW_FUNCTION(name, value)                                                                   \
    TW_D __nv_bfloat16 h##name(__nv_bfloat16 a) { float x = (float)a; return __nv_bfloat16(value); } \
    TW_D __nv_bfloat162 h2##name(__nv_bfloat162 a) { return {h##name(a.x), h##name(a.y)}; }
TW_FUNCTION(exp, expf(x))
TW_FUNCTION(exp2, exp2f(x))
TW_FUNCTION(exp10, exp10f(x))
TW_FUNCTION(log, logf(x))
TW_FUNCTION(log2, log2f(x))
TW_FUNCTION(log10, log10f(x))
TW_FUNCTION(sqrt, sqrtf(x))
TW_FUNCTION(rsqrt, rsqrtf(x))
TW_FUNCTION(rcp, 1.0f / x)
TW_FUNCTION(sin, sinf(x))
TW_FUNCTION(cos, cosf(x))
TW_FUNCTION(tanh, tanhf(x))
TW_FUNCTION(floor, floorf(x))
TW_FUNCTION(ceil, ceilf(x))
TW_FUNCTION(trunc, truncf(x))
TW_FUNCTION(rint, rintf(x))
#undef TW_FUNCTION
#undef TW_TWO

/* --- lanes, atomics --- */

#define TW_SHUFFLED(name, lane)                                                                    \
    TW_D __nv_bfloat16 name(unsigned m, __nv_bfloat16 v, lane l, int width = 32)                   \
    { return __ushort_as_bfloat16((unsigned short)name(m, (unsigned)v.bits, (int)l, width)); }     \
    TW_D __nv_bfloat162 name(unsigned m, __nv_bfloat162 v, lane l, int width = 32)                 \
    {                                                                                              \
        unsigned bits = name(m, (unsigned)v.x.bits | (unsigned)v.y.bits << 16, (int)l, width);     \
        return {__ushort_as_bfloat16((unsigned short)bits), __ushort_as_bfloat16((unsigned short)(bits >> 16))}; \
    }
TW_SHUFFLED(__shfl_sync, int)
TW_SHUFFLED(__shfl_up_sync, unsigned)
TW_SHUFFLED(__shfl_down_sync, unsigned)
TW_SHUFFLED(__shfl_xor_sync, int)
#undef TW_SHUFFLED
/* sm_80 has no atomic sum of this type: tries until no other thread was in between. */
TW_D __nv_bfloat16 atomicAdd(__nv_bfloat16 *p, __nv_bfloat16 v)
{
    unsigned short seen, now;
    asm volatile("ld.relaxed.gpu.u16 %0, [%1];" : "=h"(now) : "l"(p) : "memory");
    do {
        unsigned short sum = __hadd(__ushort_as_bfloat16(seen = now), v).bits;
        asm volatile("atom.cas.b16 %0, [%1], %2, %3;" : "=h"(now) : "l"(p), "h"(seen), "h"(sum) : "memory");
    } while (now != seen);
    return __ushort_as_bfloat16(seen);
}
TW_D __nv_bfloat162 atomicAdd(__nv_bfloat162 *p, __nv_bfloat162 v)
{ return {atomicAdd(&p->x, v.x), atomicAdd(&p->y, v.y)}; } /* each half is atomic by itself */
#undef TW_M
#endif
