#include "base/dtype.h"

#include "base/float_bits.h"

#include <math.h>
#include <string.h>

const struct dtype_info dtype_table[DT_COUNT] = {
#define DTYPE(id, name, kind, bits, numpy, roundoff) {name, DK_##kind, bits, numpy, roundoff},
#include "base/dtype.def"
#undef DTYPE
};

enum dtype dtype_by_name(const char *name, size_t length)
{
    for (int t = 0; t < DT_COUNT; t++)
        if (strlen(dtype_table[t].name) == length && memcmp(dtype_table[t].name, name, length) == 0)
            return (enum dtype)t;
    return DT_NONE;
}

enum dtype dtype_join(enum dtype a, enum dtype b)
{
    if (a == DT_BOOL)
        a = DT_I32;
    if (b == DT_BOOL)
        b = DT_I32;
    if (a == b)
        return a;
    if (dtype_is_float(a) != dtype_is_float(b))
        return dtype_is_float(a) ? a : b;
    int bits_a = dtype_table[a].bits, bits_b = dtype_table[b].bits;
    if (bits_a != bits_b)
        return bits_a > bits_b ? a : b;
    if (dtype_is_float(a)) /* neither type holds the other, or f32 holds tf32 */
        return bits_a == 8 ? DT_F16 : DT_F32;
    return dtype_table[a].kind == DK_UINT ? a : b;
}

/* Returns the binary digits of the largest integer of type t. */
static int integer_digits(enum dtype t)
{
    return dtype_table[t].bits - (dtype_table[t].kind == DK_SINT);
}

/* Returns the exponent of the largest finite value of type t. */
static int exponent_range(enum dtype t)
{
    switch (t) {
    case DT_F64: return 1023;
    case DT_F16:
    case DT_E5M2: return 15;
    case DT_E4M3: return 8;
    default: return 127;
    }
}

bool dtype_holds(enum dtype to, enum dtype from)
{
    if (to == from || from == DT_BOOL)
        return true;
    if (to == DT_BOOL)
        return false;
    if (!dtype_is_float(from)) {
        if (dtype_is_float(to)) /* 65535 exceeds f16, whose largest value is 65504 */
            return integer_digits(from) <= exponent_range(to);
        if (dtype_is_signed(from) && !dtype_is_signed(to))
            return false;
        return integer_digits(from) <= integer_digits(to);
    }
    if (!dtype_is_float(to))
        return false;
    /* At equal exponents, fewer digits would round the largest values to infinity (f32 to bf16). */
    return exponent_range(to) > exponent_range(from) ||
           (exponent_range(to) == exponent_range(from) &&
            dtype_table[to].roundoff <= dtype_table[from].roundoff);
}

int64_t dtype_wrap(enum dtype t, int64_t v)
{
    switch (t) {
    case DT_I32: return (int32_t)(uint32_t)v;
    case DT_I16: return (int16_t)(uint16_t)v;
    case DT_I8: return (int8_t)(uint8_t)v;
    case DT_U32: return (int64_t)(uint32_t)v;
    case DT_U16: return (uint16_t)v;
    case DT_U8: return (uint8_t)v;
    case DT_BOOL: return v != 0;
    default: return v;
    }
}

/* --- 16-bit floats --- */

float f16_to_f32(uint16_t bits)
{
    uint32_t sign = (uint32_t)(bits & 0x8000u) << 16;
    uint32_t rest = bits & 0x7fffu;
    if (rest >= 0x7c00u) /* infinity, NaN: made quiet */
        return f32_from_bits(sign | 0x7f800000u | (rest & 0x3ffu) << 13 |
                             (rest > 0x7c00u ? 0x400000u : 0u));
    if (rest >= 0x400u)
        return f32_from_bits(sign | ((rest << 13) + ((127u - 15u) << 23)));
    float magnitude = (float)rest * 0x1p-24f; /* subnormal: exact */
    return f32_from_bits(sign | f32_bits(magnitude));
}

uint16_t f32_to_f16(float value)
{
    uint32_t bits = f32_bits(value);
    uint32_t sign = bits >> 16 & 0x8000u;
    bits &= 0x7fffffffu;
    if (bits > 0x7f800000u)
        return (uint16_t)(sign | 0x7e00u | (bits >> 13 & 0x3ffu));
    if (bits >= 0x477ff000u) /* 65520 and more round to infinity */
        return (uint16_t)(sign | 0x7c00u);
    if (bits < 0x38800000u) { /* below 2^-14: the addition aligns and rounds */
        float aligned = f32_from_bits(bits) + 0.5f;
        return (uint16_t)(sign | (f32_bits(aligned) - f32_bits(0.5f)));
    }
    uint32_t odd = bits >> 13 & 1u;
    return (uint16_t)(sign | ((bits - ((127u - 15u) << 23) + 0xfffu + odd) >> 13));
}

float bf16_to_f32(uint16_t bits)
{
    uint32_t wide = (uint32_t)bits << 16;
    if ((wide & 0x7fffffffu) > 0x7f800000u)
        wide |= 0x400000u;
    return f32_from_bits(wide);
}

uint16_t f32_to_bf16(float value)
{
    uint32_t bits = f32_bits(value);
    if ((bits & 0x7fffffffu) > 0x7f800000u)
        return (uint16_t)(bits >> 16 | 0x40u);
    return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

/* Returns v as a 16-bit float with `fraction` bits of fraction, rounded once, to nearest even. */
static uint16_t f64_to_half(double v, int fraction)
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    uint64_t sign = bits >> 48 & 0x8000u;
    uint64_t infinity = 0x8000u - (1u << fraction);
    int exponent = (int)(bits >> 52 & 0x7ff) - 1023;
    uint64_t digits = bits & 0xfffffffffffffu;
    if (exponent == 1024 && digits)
        return (uint16_t)(sign | infinity | 1u << (fraction - 1) | digits >> (52 - fraction));
    if (exponent == 1024)
        return (uint16_t)(sign | infinity);
    if (exponent == -1023) /* subnormal doubles are far below the smallest value */
        return (uint16_t)sign;
    digits |= 1ull << 52;
    int lowest = 2 - (1 << (14 - fraction)); /* exponent of the smallest normal value */
    int shift = 52 - fraction + (exponent < lowest ? lowest - exponent : 0);
    if (shift > 54)
        return (uint16_t)sign; /* less than half of the smallest */
    uint64_t kept = digits >> shift, dropped = digits & ((1ull << shift) - 1);
    uint64_t half = 1ull << (shift - 1);
    kept += dropped > half || (dropped == half && (kept & 1));
    if (exponent > lowest) /* the leading one in `kept` counts as one exponent */
        kept += (uint64_t)(exponent - lowest) << fraction;
    return (uint16_t)(sign | (kept < infinity ? kept : infinity));
}

uint16_t f64_to_f16(double value)
{
    return f64_to_half(value, 10);
}

uint16_t f64_to_bf16(double value)
{
    return f64_to_half(value, 7);
}

/* --- formats of matrix units --- */

float f32_to_tf32(float value)
{
    uint32_t bits = f32_bits(value);
    if ((bits & 0x7fffffffu) > 0x7f800000u)
        return f32_from_bits(0x7fffe000u);
    return f32_from_bits((bits + 0x1000u) & 0xffffe000u);
}

/* Returns the value of an 8-bit float with `fraction` bits of fraction. bias: 127 minus the type's
 * bias; least: its smallest value. */
static float small_to_f32(uint32_t bits, int fraction, uint32_t bias, float least)
{
    uint32_t sign = (bits & 0x80u) << 24, rest = bits & 0x7fu;
    if (rest >> fraction)
        return f32_from_bits(sign | ((rest << (23 - fraction)) + (bias << 23)));
    return f32_from_bits(sign | f32_bits((float)rest * least));
}

float e4m3_to_f32(uint8_t bits)
{
    if ((bits & 0x7fu) == 0x7fu)
        return f32_from_bits(0x7fc00000u);
    return small_to_f32(bits, 3, 120, 0x1p-9f);
}

float e5m2_to_f32(uint8_t bits)
{
    uint32_t rest = bits & 0x7fu;
    if (rest > 0x7cu)
        return f32_from_bits(0x7fc00000u);
    if (rest == 0x7cu)
        return f32_from_bits((bits & 0x80u) << 24 | 0x7f800000u);
    return small_to_f32(bits, 2, 112, 0x1p-16f);
}

/* align: the power of two whose last bit has the weight of the type's smallest value. */
static uint8_t f32_to_small(float value, int fraction, uint32_t bias, float align, uint32_t largest)
{
    uint32_t bits = f32_bits(value), sign = bits >> 24 & 0x80u, result;
    int shift = 23 - fraction;
    bits &= 0x7fffffffu;
    if (bits > 0x7f800000u)
        return 0x7f;
    if (bits < (bias + 1) << 23)
        result = f32_bits(f32_from_bits(bits) + align) - f32_bits(align);
    else
        result = (bits - (bias << 23) + (1u << (shift - 1)) - 1 + (bits >> shift & 1u)) >> shift;
    return (uint8_t)(sign | (result < largest ? result : largest));
}

uint8_t f32_to_e4m3(float value)
{
    return f32_to_small(value, 3, 120, 0x1p14f, 0x7e);
}

uint8_t f32_to_e5m2(float value)
{
    return f32_to_small(value, 2, 112, 0x1p7f, 0x7b);
}

/* --- one element --- */

double dtype_load_f64(enum dtype t, const void *p)
{
    uint16_t half;
    float single;
    double wide;
    switch (t) {
    case DT_F64: memcpy(&wide, p, sizeof wide); return wide;
    case DT_F32:
    case DT_TF32: memcpy(&single, p, sizeof single); return (double)single;
    case DT_E4M3: return (double)e4m3_to_f32(*(const uint8_t *)p);
    case DT_E5M2: return (double)e5m2_to_f32(*(const uint8_t *)p);
    case DT_F16: memcpy(&half, p, sizeof half); return (double)f16_to_f32(half);
    case DT_BF16: memcpy(&half, p, sizeof half); return (double)bf16_to_f32(half);
    case DT_U64: return (double)(uint64_t)dtype_load_i64(t, p);
    default: return (double)dtype_load_i64(t, p);
    }
}

/* Returns v truncated to an integer of type t. Values outside the range give its nearest end; NaN
 * gives 0. */
static int64_t saturate(enum dtype t, double v)
{
    if (t == DT_BOOL)
        return v != 0;
    if (isnan(v))
        return 0;
    bool is_signed = dtype_table[t].kind == DK_SINT;
    int digits = dtype_table[t].bits - is_signed;
    double end = ldexp(1.0, digits); /* one past the largest */
    uint64_t largest = UINT64_MAX >> (64 - digits);
    if (v >= end)
        return (int64_t)largest;
    if (is_signed)
        return v <= -end ? -(int64_t)largest - 1 : (int64_t)v;
    return v <= 0 ? 0 : (int64_t)(uint64_t)v;
}

void dtype_store_f64(enum dtype t, void *p, double v)
{
    uint16_t half;
    float single;
    switch (t) {
    case DT_F64: memcpy(p, &v, sizeof v); return;
    case DT_F32:
        single = (float)v;
        memcpy(p, &single, sizeof single);
        return;
    case DT_TF32:
        single = f32_to_tf32((float)v);
        memcpy(p, &single, sizeof single);
        return;
    case DT_E4M3: *(uint8_t *)p = f32_to_e4m3((float)v); return;
    case DT_E5M2: *(uint8_t *)p = f32_to_e5m2((float)v); return;
    case DT_F16:
        half = f64_to_f16(v);
        memcpy(p, &half, sizeof half);
        return;
    case DT_BF16:
        half = f64_to_bf16(v);
        memcpy(p, &half, sizeof half);
        return;
    default: dtype_store_i64(t, p, saturate(t, v)); return;
    }
}

int64_t dtype_load_i64(enum dtype t, const void *p)
{
    int64_t wide = 0;
    if (dtype_is_float(t))
        return saturate(DT_I64, dtype_load_f64(t, p));
    uint8_t byte;
    uint16_t half;
    uint32_t word;
    switch (dtype_table[t].bits) {
    case 8: memcpy(&byte, p, sizeof byte); return dtype_wrap(t, byte);
    case 16: memcpy(&half, p, sizeof half); return dtype_wrap(t, half);
    case 32: memcpy(&word, p, sizeof word); return dtype_wrap(t, word);
    default: memcpy(&wide, p, sizeof wide); return wide;
    }
}

/* Returns an integer as a double that keeps "inexact" in its last bit, so that rounding it again to
 * a narrower type gives the same as rounding v once. */
static double f64_odd(int64_t v)
{
    uint64_t magnitude = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
    if (magnitude >> 53) {
        uint64_t dropped = magnitude & 0x7ff;
        magnitude = (magnitude & ~(uint64_t)0x7ff) | (dropped ? 0x800u : 0u);
    }
    return v < 0 ? -(double)magnitude : (double)magnitude;
}

void dtype_store_i64(enum dtype t, void *p, int64_t v)
{
    if (t == DT_F64) {
        dtype_store_f64(t, p, (double)v);
        return;
    }
    if (dtype_is_float(t)) {
        dtype_store_f64(t, p, f64_odd(v));
        return;
    }
    uint64_t wide = (uint64_t)dtype_wrap(t, v);
    uint8_t byte = (uint8_t)wide;
    uint16_t half = (uint16_t)wide;
    uint32_t word = (uint32_t)wide;
    switch (dtype_table[t].bits) {
    case 8: memcpy(p, &byte, sizeof byte); return;
    case 16: memcpy(p, &half, sizeof half); return;
    case 32: memcpy(p, &word, sizeof word); return;
    default: memcpy(p, &wide, sizeof wide); return;
    }
}
