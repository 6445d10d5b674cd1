/* Numbers of 16 bits, alone and in pairs, for clang: cuda_fp16.h and cuda_bf16.h include this file once for their type. Names and meaning are those of the
 * CUDA Math API, "Half Precision Intrinsics" and "Bfloat16 Precision Intrinsics". PTX for sm_80 has fma, min and max of bfloat16 and no sum or
 * product, so these are an fma, which rounds once; for half it gives the same.
 *
 *   TW_T, TW_T2         the type and its pairs        TW_N, TW_N2   how names of functions call them
 *   TW_N_TO_N2          both names with a 2 between     TW_PTX_TYPE   how PTX calls the type
 *   TW_TO_FLOAT(bits)   conversion of bits            TW_ONE, TW_INFINITY   bits of these numbers */
/* clang-format off */
#ifndef TILEWRIGHT_16_BITS
#define TILEWRIGHT_16_BITS
#define TW_M __host__ __device__ __forceinline__ __attribute__((nodebug)) /* a member */
#define TW_PASTED(a, b, c) a##b##c
#define TW_NAME(a, b, c) TW_PASTED(a, b, c)
/* Converts to float by truncation, and sets the last bit if bits were lost. A second rounding, to the
 * type of 16 bits, then has the result of one rounding. */
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
#endif

struct TW_T {
    unsigned short bits;
    TW_T() = default;
    TW_M TW_T(float f) { asm("cvt.rn." TW_PTX_TYPE ".f32 %0, %1;" : "=h"(bits) : "f"(f)); }
    TW_M TW_T(double d) : TW_T(tw_to_odd(d)) {}
    TW_M TW_T(int i) : TW_T((double)i) {}
    TW_M TW_T(unsigned i) : TW_T((double)i) {}
    TW_M TW_T(short i) : TW_T((float)i) {}
    TW_M TW_T(unsigned short i) : TW_T((float)i) {}
    TW_M TW_T(unsigned long long i) : TW_T(tw_to_odd(i)) {}
    TW_M TW_T(long long i)
        : TW_T(i < 0 ? -tw_to_odd(0 - (unsigned long long)i) : tw_to_odd((unsigned long long)i)) {}
    TW_M TW_T(long i) : TW_T((long long)i) {}
    TW_M TW_T(unsigned long i) : TW_T((unsigned long long)i) {}
    TW_M operator float() const { return TW_TO_FLOAT(bits); }
    TW_M static TW_T tw_of(unsigned short b) { TW_T r; r.bits = b; return r; }
    TW_M TW_T &operator+=(TW_T b);
    TW_M TW_T &operator-=(TW_T b);
    TW_M TW_T &operator*=(TW_T b);
    TW_M TW_T &operator/=(TW_T b);
};
struct __attribute__((aligned(4))) TW_T2 {
    TW_T x, y;
    TW_T2() = default;
    TW_M constexpr TW_T2(TW_T a, TW_T b) : x(a), y(b) {}
    TW_M TW_T2 &operator+=(TW_T2 b);
    TW_M TW_T2 &operator-=(TW_T2 b);
    TW_M TW_T2 &operator*=(TW_T2 b);
    TW_M TW_T2 &operator/=(TW_T2 b);
};

/* --- conversion and data movement --- */

TW_HD float TW_NAME(__, TW_N, 2float)(TW_T a) { return (float)a; }
TW_HD TW_T TW_NAME(__float2, TW_N, )(float f) { return TW_T(f); }
TW_HD TW_T TW_NAME(__float2, TW_N, _rn)(float f) { return TW_T(f); }
TW_HD TW_T TW_NAME(__float2, TW_N, _rz)(float f)
{ TW_T r; asm("cvt.rz." TW_PTX_TYPE ".f32 %0, %1;" : "=h"(r.bits) : "f"(f)); return r; }
/* The next number away from 0, if truncation has rounded to the wrong side. */
TW_HD TW_T TW_NAME(__float2, TW_N, _rd)(float f)
{ TW_T r = TW_NAME(__float2, TW_N, _rz)(f); r.bits = (unsigned short)(r.bits + ((float)r > f)); return r; }
TW_HD TW_T TW_NAME(__float2, TW_N, _ru)(float f)
{ TW_T r = TW_NAME(__float2, TW_N, _rz)(f); r.bits = (unsigned short)(r.bits + ((float)r < f)); return r; }
TW_HD TW_T TW_NAME(__double2, TW_N, )(double d) { return TW_T(d); }
TW_HD TW_T TW_NAME(__ushort_as_, TW_N, )(unsigned short s) { return TW_T::tw_of(s); }
TW_HD TW_T TW_NAME(__short_as_, TW_N, )(short s) { return TW_T::tw_of((unsigned short)s); }
TW_HD unsigned short TW_NAME(__, TW_N, _as_ushort)(TW_T a) { return a.bits; }
TW_HD short TW_NAME(__, TW_N, _as_short)(TW_T a) { return (short)a.bits; }
#define TW_OF_INTEGER(type, name, ptx, c)                                                          \
    TW_HD TW_T TW_NAME(__##name##2, TW_N, _rn)(type i) { return TW_T(i); }                \
    TW_HD type TW_NAME(__, TW_N, 2##name##_rn)(TW_T a)                                             \
    { type r; asm("cvt.rni." ptx ".f32 %0, %1;" : "=" c(r) : "f"((float)a)); return r; }           \
    TW_HD type TW_NAME(__, TW_N, 2##name##_rz)(TW_T a)                                             \
    { type r; asm("cvt.rzi." ptx ".f32 %0, %1;" : "=" c(r) : "f"((float)a)); return r; }           \
    TW_HD type TW_NAME(__, TW_N, 2##name##_rd)(TW_T a)                                             \
    { type r; asm("cvt.rmi." ptx ".f32 %0, %1;" : "=" c(r) : "f"((float)a)); return r; }           \
    TW_HD type TW_NAME(__, TW_N, 2##name##_ru)(TW_T a)                                             \
    { type r; asm("cvt.rpi." ptx ".f32 %0, %1;" : "=" c(r) : "f"((float)a)); return r; }
TW_OF_INTEGER(int, int, "s32", "r")
TW_OF_INTEGER(unsigned, uint, "u32", "r")
TW_OF_INTEGER(short, short, "s16", "h")
TW_OF_INTEGER(unsigned short, ushort, "u16", "h")
TW_OF_INTEGER(long long, ll, "s64", "l")
TW_OF_INTEGER(unsigned long long, ull, "u64", "l")
#undef TW_OF_INTEGER
TW_HD TW_T2 TW_NAME(make_, TW_N2, )(TW_T a, TW_T b) { return {a, b}; }
TW_HD TW_T2 TW_NAME(__halves2, TW_N2, )(TW_T a, TW_T b) { return {a, b}; }
TW_HD TW_T2 TW_NAME(__, TW_N_TO_N2, )(TW_T a) { return {a, a}; }
TW_HD TW_T2 TW_NAME(__floats2, TW_N2, _rn)(float a, float b) { return {TW_T(a), TW_T(b)}; }
TW_HD TW_T2 TW_NAME(__float2, TW_N2, _rn)(float a) { return {TW_T(a), TW_T(a)}; }
TW_HD TW_T2 TW_NAME(__float22, TW_N2, _rn)(float2 f) { return {TW_T(f.x), TW_T(f.y)}; }
TW_HD float2 TW_NAME(__, TW_N2, 2float2)(TW_T2 a) { return {(float)a.x, (float)a.y}; }
TW_HD float __low2float(TW_T2 a) { return (float)a.x; }
TW_HD float __high2float(TW_T2 a) { return (float)a.y; }
TW_HD TW_T TW_NAME(__low2, TW_N, )(TW_T2 a) { return a.x; }
TW_HD TW_T TW_NAME(__high2, TW_N, )(TW_T2 a) { return a.y; }
TW_HD TW_T2 TW_NAME(__low2, TW_N2, )(TW_T2 a) { return {a.x, a.x}; }
TW_HD TW_T2 TW_NAME(__high2, TW_N2, )(TW_T2 a) { return {a.y, a.y}; }
TW_HD TW_T2 TW_NAME(__lows2, TW_N2, )(TW_T2 a, TW_T2 b) { return {a.x, b.x}; }
TW_HD TW_T2 TW_NAME(__highs2, TW_N2, )(TW_T2 a, TW_T2 b) { return {a.y, b.y}; }
TW_HD TW_T2 __lowhigh2highlow(TW_T2 a) { return {a.y, a.x}; }

/* --- arithmetic --- */

#define TW_TWO(name)                                                                               \
    TW_HD TW_T name(TW_T a, TW_T b);                                    \
    TW_HD TW_T2 name##2(TW_T2 a, TW_T2 b) { return {name(a.x, b.x), name(a.y, b.y)}; } \
    TW_HD TW_T name(TW_T a, TW_T b)
#define TW_PTX(op)                                                                                 \
    { TW_T r; asm(op "." TW_PTX_TYPE " %0, %1, %2;" : "=h"(r.bits) : "h"(a.bits), "h"(b.bits)); return r; }
TW_TWO(__hmin) TW_PTX("min")
TW_TWO(__hmax) TW_PTX("max")
TW_TWO(__hmin_nan) TW_PTX("min.NaN")
TW_TWO(__hmax_nan) TW_PTX("max.NaN")
#undef TW_PTX
TW_HD TW_T tw_saturate(TW_T a)
{ return __hmin(__hmax(a, TW_T::tw_of(0)), TW_T::tw_of(TW_ONE)); }
#define TW_FMA(name, op, result)                                                                   \
    TW_HD TW_T __hfma##name(TW_T a, TW_T b, TW_T c)            \
    {                                                                                              \
        TW_T r;                                                                           \
        asm(op " %0, %1, %2, %3;" : "=h"(r.bits) : "h"(a.bits), "h"(b.bits), "h"(c.bits));         \
        return result;                                                                             \
    }                                                                                              \
    TW_HD TW_T2 __hfma2##name(TW_T2 a, TW_T2 b, TW_T2 c)       \
    { return {__hfma##name(a.x, b.x, c.x), __hfma##name(a.y, b.y, c.y)}; }
TW_FMA(, "fma.rn." TW_PTX_TYPE, r)
TW_FMA(_sat, "fma.rn." TW_PTX_TYPE, tw_saturate(r))
TW_FMA(_relu, "fma.rn.relu." TW_PTX_TYPE, r)
#undef TW_FMA
#define TW_ARITHMETIC(name, value)                                                                 \
    TW_TWO(__h##name) { return value; }                                                            \
    TW_HD TW_T __h##name##_rn(TW_T a, TW_T b) { return value; }         \
    TW_HD TW_T __h##name##_sat(TW_T a, TW_T b) { return tw_saturate(value); } \
    TW_HD TW_T2 __h##name##2_rn(TW_T2 a, TW_T2 b) { return __h##name##2(a, b); } \
    TW_HD TW_T2 __h##name##2_sat(TW_T2 a, TW_T2 b)                      \
    { return {__h##name##_sat(a.x, b.x), __h##name##_sat(a.y, b.y)}; }
TW_HD TW_T __hneg(TW_T a) { return TW_T::tw_of(a.bits ^ 0x8000); }
TW_HD TW_T __habs(TW_T a) { return TW_T::tw_of(a.bits & 0x7fff); }
TW_HD TW_T2 __hneg2(TW_T2 a) { return {__hneg(a.x), __hneg(a.y)}; }
TW_HD TW_T2 __habs2(TW_T2 a) { return {__habs(a.x), __habs(a.y)}; }
TW_ARITHMETIC(add, __hfma(a, TW_T::tw_of(TW_ONE), b))
TW_ARITHMETIC(sub, __hfma(b, TW_T::tw_of(0x8000 | TW_ONE), a))
TW_ARITHMETIC(mul, __hfma(a, b, TW_T::tw_of(0x8000))) /* -0: the zero that keeps a product's sign */
#undef TW_ARITHMETIC
TW_HD TW_T __hdiv(TW_T a, TW_T b) { return TW_T((float)a / (float)b); }
TW_HD TW_T2 __h2div(TW_T2 a, TW_T2 b) { return {__hdiv(a.x, b.x), __hdiv(a.y, b.y)}; }
#define TW_OPERATOR(sign, name, pairs)                                                             \
    TW_HD TW_T operator sign(TW_T a, TW_T b) { return name(a, b); }     \
    TW_HD TW_T2 operator sign(TW_T2 a, TW_T2 b) { return pairs(a, b); } \
    TW_M TW_T &TW_T::operator sign##=(TW_T b) { return *this = name(*this, b); } \
    TW_M TW_T2 &TW_T2::operator sign##=(TW_T2 b) { return *this = pairs(*this, b); }
TW_OPERATOR(+, __hadd, __hadd2)
TW_OPERATOR(-, __hsub, __hsub2)
TW_OPERATOR(*, __hmul, __hmul2)
TW_OPERATOR(/, __hdiv, __h2div)
#undef TW_OPERATOR
TW_HD TW_T operator-(TW_T a) { return __hneg(a); }
TW_HD TW_T2 operator-(TW_T2 a) { return __hneg2(a); }

/* --- comparison: with a NaN, functions whose names end in u are true, and the others false --- */

#define TW_COMPARE(name, condition)                                                                \
    TW_HD bool __h##name(TW_T p, TW_T q)                                         \
    { float a = (float)p, b = (float)q; return condition; }                                        \
    TW_HD TW_T2 __h##name##2(TW_T2 a, TW_T2 b)                          \
    { return TW_NAME(__floats2, TW_N2, _rn)(__h##name(a.x, b.x), __h##name(a.y, b.y)); }                    \
    TW_HD bool __hb##name##2(TW_T2 a, TW_T2 b) { return __h##name(a.x, b.x) && __h##name(a.y, b.y); }
#define TW_ORDER(name, sign, opposite)                                                             \
    TW_COMPARE(name, a sign b)                                                                     \
    TW_COMPARE(name##u, !(a opposite b))                                                           \
    TW_HD bool operator sign(TW_T a, TW_T b) { return (float)a sign (float)b; }
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
TW_HD bool operator==(TW_T a, TW_T b) { return __heq(a, b); }
TW_HD bool operator!=(TW_T a, TW_T b) { return __hneu(a, b); }
TW_HD bool __hisnan(TW_T a) { return (a.bits & 0x7fff) > TW_INFINITY; }
TW_HD int __hisinf(TW_T a) { return a.bits == TW_INFINITY ? 1 : a.bits == (0x8000 | TW_INFINITY) ? -1 : 0; }

/* --- mathematics: in float, then rounded --- */

#define TW_FUNCTION(name, value)                                                                   \
    TW_D TW_T h##name(TW_T a) { float x = (float)a; return TW_T(value); } \
    TW_D TW_T2 h2##name(TW_T2 a) { return {h##name(a.x), h##name(a.y)}; }
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
    TW_D TW_T name(unsigned m, TW_T v, lane l, int width = 32)                   \
    { return TW_T::tw_of((unsigned short)name(m, (unsigned)v.bits, (int)l, width)); }     \
    TW_D TW_T2 name(unsigned m, TW_T2 v, lane l, int width = 32)                 \
    {                                                                                              \
        unsigned bits = name(m, (unsigned)v.x.bits | (unsigned)v.y.bits << 16, (int)l, width);     \
        return {TW_T::tw_of((unsigned short)bits), TW_T::tw_of((unsigned short)(bits >> 16))}; \
    }
TW_SHUFFLED(__shfl_sync, int)
TW_SHUFFLED(__shfl_up_sync, unsigned)
TW_SHUFFLED(__shfl_down_sync, unsigned)
TW_SHUFFLED(__shfl_xor_sync, int)
#undef TW_SHUFFLED
#undef TW_T
#undef TW_T2
#undef TW_N
#undef TW_N2
#undef TW_N_TO_N2
#undef TW_PTX_TYPE
#undef TW_TO_FLOAT
#undef TW_ONE
#undef TW_INFINITY
