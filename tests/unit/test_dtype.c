/* Element types: the 16-bit floats over all patterns and rounding boundaries, joins, wrapping. */
#include "base/dtype.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

/* A 16-bit format, with its values computed slowly, from the definition. */
struct format {
    int fraction, bias;
    float (*to_f32)(uint16_t bits);
    uint16_t (*from_f32)(float v);
    uint16_t (*from_f64)(double v);
};
static const struct format formats[] = {
    {10, 15, f16_to_f32, f32_to_f16, f64_to_f16},
    {7, 127, bf16_to_f32, f32_to_bf16, f64_to_bf16},
};
enum { FORMATS = 2 };

static double value_of(const struct format *f, unsigned bits)
{
    int exponent = (int)(bits >> f->fraction & (0x7fffu >> f->fraction));
    double fraction = ldexp((double)(bits & ((1u << f->fraction) - 1)), -f->fraction);
    double sign = bits & 0x8000u ? -1 : 1;
    if (exponent == (int)(0x7fffu >> f->fraction))
        return fraction != 0 ? (double)NAN : sign * (double)INFINITY;
    if (exponent == 0)
        return sign * ldexp(fraction, 1 - f->bias);
    return sign * ldexp(1 + fraction, exponent - f->bias);
}

static unsigned infinity_of(const struct format *f)
{
    return 0x8000u - (1u << f->fraction);
}

static void widening_all_patterns(void **state)
{
    (void)state;
    for (int i = 0; i < FORMATS; i++) {
        const struct format *f = &formats[i];
        for (unsigned bits = 0; bits < 0x10000u; bits++) {
            double want = value_of(f, bits);
            float got = f->to_f32((uint16_t)bits);
            if (isnan(want)) {
                assert_true(isnan(got));
                continue;
            }
            assert_true((double)got == want);
            assert_int_equal(!!signbit(got), bits >> 15);
        }
    }
}

static void there_and_back_all_patterns(void **state)
{
    (void)state;
    for (int i = 0; i < FORMATS; i++) {
        const struct format *f = &formats[i];
        unsigned quiet = 1u << (f->fraction - 1);
        for (unsigned bits = 0; bits < 0x10000u; bits++) {
            float wide = f->to_f32((uint16_t)bits);
            unsigned want = isnan(wide) ? bits | quiet : bits;
            assert_int_equal(f->from_f32(wide), want);
            assert_int_equal(f->from_f64((double)wide), want);
        }
    }
}

/* Between two neighbours: the middle rounds to the even one, values next to the middle to the
 * nearer. */
static void rounding_at_every_boundary(void **state)
{
    (void)state;
    for (int i = 0; i < FORMATS; i++) {
        const struct format *f = &formats[i];
        for (unsigned low = 0; low < infinity_of(f); low++) {
            unsigned high = low + 1, even = low & 1 ? high : low;
            double a = value_of(f, low), b = 2 * a - (low ? value_of(f, low - 1) : 0);
            if (high < infinity_of(f))
                b = value_of(f, high);
            double middle = a + (b - a) / 2; /* exact */
            float narrow = (float)middle;    /* exact, except for half of the least bf16 */
            for (unsigned sign = 0; sign <= 0x8000u; sign += 0x8000u) {
                double s = sign ? -1 : 1;
                assert_int_equal(f->from_f64(s * middle), sign | even);
                assert_int_equal(f->from_f64(s * nextafter(middle, 0)), sign | low);
                assert_int_equal(f->from_f64(s * nextafter(middle, b)), sign | high);
                if ((double)narrow != middle)
                    continue;
                assert_int_equal(f->from_f32((float)s * narrow), sign | even);
                assert_int_equal(f->from_f32((float)s * nextafterf(narrow, 0)), sign | low);
                assert_int_equal(f->from_f32((float)s * nextafterf(narrow, (float)b)), sign | high);
            }
        }
    }
}

static void doubles_are_rounded_once(void **state)
{
    (void)state;
    /* Just above the middle: rounding through f32 first would give the middle, and then the even
     * neighbour. */
    double above = 1 + 0x1p-11 + 0x1p-40;
    assert_int_equal(f64_to_f16(above), 0x3c01);
    assert_int_equal(f32_to_f16((float)above), 0x3c00);
    above = 1 + 0x1p-8 + 0x1p-40;
    assert_int_equal(f64_to_bf16(above), 0x3f81);
    assert_int_equal(f32_to_bf16((float)above), 0x3f80);
    double below = 1 + 3 * 0x1p-11 - 0x1p-40;
    assert_int_equal(f64_to_f16(below), 0x3c01);
    assert_int_equal(f32_to_f16((float)below), 0x3c02);
}

static void extremes(void **state)
{
    (void)state;
    assert_int_equal(f64_to_f16(65519.999), 0x7bff);
    assert_int_equal(f64_to_f16(65520), 0x7c00);
    assert_int_equal(f64_to_f16(-1e300), 0xfc00);
    assert_int_equal(f64_to_f16(0x1p-25), 0);
    assert_int_equal(f64_to_f16(-0x1.00001p-25), 0x8001);
    assert_int_equal(f64_to_f16(-0x1p-1074), 0x8000);
    assert_int_equal(f64_to_bf16(0x1p-1074), 0);
    assert_int_equal(f64_to_bf16((double)INFINITY), 0x7f80);
    assert_int_equal(f64_to_bf16((double)NAN) & 0x7fff, 0x7fc0);
    assert_int_equal(f32_to_bf16(0x1.fffffep127f), 0x7f80);
    uint64_t signalling = 0x7ff0000000000001u;
    double v;
    memcpy(&v, &signalling, sizeof v);
    assert_true(isnan(f16_to_f32(f64_to_f16(v))));
}

static void names(void **state)
{
    (void)state;
    assert_int_equal(dtype_by_name("bf16", 4), DT_BF16);
    assert_int_equal(dtype_by_name("f16x", 3), DT_F16);
    assert_int_equal(dtype_by_name("f1", 2), DT_NONE);
    assert_int_equal(dtype_by_name("", 0), DT_NONE);
    for (int t = 0; t < DT_COUNT; t++)
        assert_int_equal(dtype_by_name(dtype_table[t].name, strlen(dtype_table[t].name)), t);
}

static void joins(void **state)
{
    (void)state;
    assert_int_equal(dtype_join(DT_F16, DT_F32), DT_F32);
    assert_int_equal(dtype_join(DT_F16, DT_BF16), DT_F32);
    assert_int_equal(dtype_join(DT_F16, DT_I64), DT_F16);
    assert_int_equal(dtype_join(DT_U32, DT_I32), DT_U32);
    assert_int_equal(dtype_join(DT_U32, DT_I64), DT_I64);
    assert_int_equal(dtype_join(DT_U8, DT_I16), DT_I16);
    assert_int_equal(dtype_join(DT_BOOL, DT_BOOL), DT_I32);
    assert_int_equal(dtype_join(DT_BOOL, DT_I8), DT_I32);
    assert_int_equal(dtype_join(DT_BOOL, DT_F16), DT_F16);
    for (int a = 0; a < DT_COUNT; a++)
        for (int b = 0; b < DT_COUNT; b++)
            assert_int_equal(dtype_join((enum dtype)a, (enum dtype)b),
                             dtype_join((enum dtype)b, (enum dtype)a));
}

/* Returns the largest or smallest value as a double; 64-bit values are rounded, which makes no
 * difference here. */
static double end_of(enum dtype t, bool largest)
{
    int bits = dtype_table[t].bits;
    switch (dtype_table[t].kind) {
    case DK_BOOL: return largest;
    case DK_SINT: return largest ? ldexp(1, bits - 1) - 1 : -ldexp(1, bits - 1);
    case DK_UINT: return largest ? ldexp(1, bits) - 1 : 0;
    default: break;
    }
    double top = t == DT_F64    ? 0x1.fffffffffffffp1023
                 : t == DT_F32  ? 0x1.fffffep127
                 : t == DT_F16  ? 65504
                 : t == DT_E4M3 ? 448
                 : t == DT_E5M2 ? 57344
                 : t == DT_TF32 ? 0x1.ffcp127
                                : value_of(&formats[1], 0x7f7f);
    return largest ? top : -top;
}

/* A type holds another if it holds both ends of it. */
static void holds_is_about_range(void **state)
{
    (void)state;
    for (int to = 0; to < DT_COUNT; to++) {
        for (int from = 0; from < DT_COUNT; from++) {
            bool fits = !dtype_is_float((enum dtype)from) || dtype_is_float((enum dtype)to);
            for (int end = 0; end < 2 && fits; end++) {
                double v = end_of((enum dtype)from, end);
                if (!dtype_is_float((enum dtype)to)) {
                    fits = v >= end_of((enum dtype)to, false) && v <= end_of((enum dtype)to, true);
                } else {
                    uint64_t element = 0;
                    dtype_store_f64((enum dtype)to, &element, v);
                    double there = dtype_load_f64((enum dtype)to, &element);
                    bool saturates =
                        fabs(v) > end_of((enum dtype)to, true) && dtype_table[to].bits == 8;
                    fits = isfinite(there) && !saturates;
                }
            }
            assert_int_equal(dtype_holds((enum dtype)to, (enum dtype)from), fits);
        }
    }
    assert_true(dtype_holds(DT_F32, DT_I32));
    assert_true(dtype_holds(DT_I32, DT_U8));
    assert_false(dtype_holds(DT_U32, DT_I32));
    assert_false(dtype_holds(DT_F16, DT_F32));
    assert_false(dtype_holds(DT_BF16, DT_F32));
    assert_false(dtype_holds(DT_F16, DT_U16));
}

/* Returns a value of an 8-bit format by its definition: bias, fraction bits, and whether its top
 * exponent is for numbers too. */
static double small_value(unsigned bits, int fraction, int bias, bool has_infinity)
{
    unsigned rest = bits & 0x7f, exponent = rest >> fraction, top = 0x7fu >> fraction;
    double digits = ldexp((double)(rest & ((1u << fraction) - 1)), -fraction);
    double sign = bits & 0x80 ? -1 : 1;
    if (has_infinity ? exponent == top : rest == 0x7f)
        return has_infinity && digits == 0 ? sign * (double)INFINITY : (double)NAN;
    return sign * (exponent ? ldexp(1 + digits, (int)exponent - bias) : ldexp(digits, 1 - bias));
}

static void small_formats(void **state)
{
    (void)state;
    static const struct {
        int fraction, bias;
        bool has_infinity;
        unsigned largest;
        float (*to_f32)(uint8_t bits);
        uint8_t (*from_f32)(float v);
    } small[] = {{3, 7, false, 0x7e, e4m3_to_f32, f32_to_e4m3},
                 {2, 15, true, 0x7b, e5m2_to_f32, f32_to_e5m2}};
    for (int f = 0; f < 2; f++) {
        for (unsigned bits = 0; bits < 256; bits++) {
            double want =
                small_value(bits, small[f].fraction, small[f].bias, small[f].has_infinity);
            float got = small[f].to_f32((uint8_t)bits);
            assert_true(isnan(want) ? isnan(got) : (double)got == want);
            unsigned rest = bits & 0x7f, back = small[f].from_f32(got);
            if (rest <= small[f].largest)
                assert_int_equal(back, bits);
            else
                assert_int_equal(back & 0x7f, isnan(want) ? 0x7f : small[f].largest);
            if (rest >= small[f].largest)
                continue;
            float next = small[f].to_f32((uint8_t)(bits + 1)), middle = (got + next) / 2;
            unsigned even = bits & 1 ? bits + 1 : bits;
            assert_int_equal(small[f].from_f32(middle), even);
            assert_int_equal(small[f].from_f32(nextafterf(middle, got)), bits);
            assert_int_equal(small[f].from_f32(nextafterf(middle, next)), bits + 1);
        }
        assert_int_equal(small[f].from_f32(1e30f), small[f].largest);
        assert_int_equal(small[f].from_f32(-INFINITY), 0x80 | small[f].largest);
    }
    assert_true(f32_to_tf32(1 + 0x1p-11f) == 1 + 0x1p-10f); /* a tie goes away from zero */
    assert_true(f32_to_tf32(-1 - 0x1p-11f) == -1 - 0x1p-10f);
    assert_true(f32_to_tf32(1 + 0x1.fep-12f) == 1);
    assert_true(isnan(f32_to_tf32(NAN)) && isinf(f32_to_tf32(INFINITY)));
    assert_int_equal(dtype_join(DT_E4M3, DT_E5M2), DT_F16);
    assert_int_equal(dtype_join(DT_TF32, DT_F16), DT_TF32);
    assert_int_equal(dtype_join(DT_TF32, DT_F32), DT_F32);
}

static void wrapping(void **state)
{
    (void)state;
    assert_int_equal(dtype_wrap(DT_I8, 200), -56);
    assert_int_equal(dtype_wrap(DT_U8, -1), 255);
    assert_int_equal(dtype_wrap(DT_I16, 0x18000), -0x8000);
    assert_int_equal(dtype_wrap(DT_U16, -1), 65535);
    assert_int_equal(dtype_wrap(DT_I32, 0x80000000), INT32_MIN);
    assert_int_equal(dtype_wrap(DT_U32, -1), 0xffffffff);
    assert_true(dtype_wrap(DT_U64, -1) == -1);
    assert_true(dtype_wrap(DT_I64, INT64_MIN) == INT64_MIN);
    assert_int_equal(dtype_wrap(DT_BOOL, 256), 1);
}

static int64_t stored(enum dtype t, double v)
{
    uint64_t element = 0;
    dtype_store_f64(t, &element, v);
    return dtype_load_i64(t, &element);
}

static void floats_to_integers_saturate(void **state)
{
    (void)state;
    assert_int_equal(stored(DT_I8, 1e9), 127);
    assert_int_equal(stored(DT_I8, -128.9), -128);
    assert_int_equal(stored(DT_I8, -2.9), -2);
    assert_int_equal(stored(DT_U8, -1), 0);
    assert_int_equal(stored(DT_U8, 255.5), 255);
    assert_int_equal(stored(DT_I32, 2147483647.5), INT32_MAX);
    assert_int_equal(stored(DT_I32, (double)NAN), 0);
    assert_true(stored(DT_I64, 0x1p63) == INT64_MAX);
    assert_true(stored(DT_I64, (double)-INFINITY) == INT64_MIN);
    assert_true((uint64_t)stored(DT_U64, 0x1p63) == 0x8000000000000000u);
    assert_true((uint64_t)stored(DT_U64, 1e30) == UINT64_MAX);
    assert_int_equal(stored(DT_BOOL, 0.25), 1);
    assert_int_equal(stored(DT_BOOL, -0.0), 0);
}

static void integers_to_floats_round_once(void **state)
{
    (void)state;
    uint64_t element = 0;
    int64_t v = (1ll << 61) + (1ll << 53) + 1; /* just above the middle of two bf16 */
    dtype_store_i64(DT_BF16, &element, v);
    assert_true(dtype_load_f64(DT_BF16, &element) == 0x1.02p61);
    v = (1ll << 61) + (1ll << 37) + 1; /* of two f32 */
    dtype_store_i64(DT_F32, &element, v);
    assert_true(dtype_load_f64(DT_F32, &element) == (double)(float)v);
    dtype_store_i64(DT_F64, &element, INT64_MIN);
    assert_true(dtype_load_f64(DT_F64, &element) == -0x1p63);
    dtype_store_i64(DT_F16, &element, INT64_MAX);
    assert_true(isinf(dtype_load_f64(DT_F16, &element)));
    dtype_store_i64(DT_U64, &element, -1);
    assert_true(dtype_load_f64(DT_U64, &element) == 0x1p64);
    float f = 1e30f;
    assert_true(dtype_load_i64(DT_F32, &f) == INT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(widening_all_patterns),
        cmocka_unit_test(there_and_back_all_patterns),
        cmocka_unit_test(rounding_at_every_boundary),
        cmocka_unit_test(doubles_are_rounded_once),
        cmocka_unit_test(extremes),
        cmocka_unit_test(names),
        cmocka_unit_test(joins),
        cmocka_unit_test(holds_is_about_range),
        cmocka_unit_test(small_formats),
        cmocka_unit_test(wrapping),
        cmocka_unit_test(floats_to_integers_saturate),
        cmocka_unit_test(integers_to_floats_round_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
