/* Functions of <math.h> as PTX: their distance from the true value. */
#include "scalar_helper.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static uint64_t state = 1;

static uint64_t random_bits(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return state ^ state >> 29;
}

/* --- distances --- */

/* Returns the distance of a result from the true value, in units in the last place of t;
 * infinite if only one is a number, or only one is infinite. */
static double distance(enum dtype t, double result, long double truth)
{
    int digits = t == DT_F32 ? FLT_MANT_DIG : DBL_MANT_DIG;
    int least = t == DT_F32 ? FLT_MIN_EXP : DBL_MIN_EXP, exponent;
    long double most = t == DT_F32 ? (long double)FLT_MAX : (long double)DBL_MAX;
    if (isnan(truth) || isnan(result))
        return isnan(truth) && isnan(result) ? 0 : HUGE_VAL;
    if (fabsl(truth) > most) /* rounds to infinity, or nearly */
        truth = copysignl(ldexpl(1, t == DT_F32 ? 128 : 1024), truth);
    long double value = (long double)result;
    if (isinf(result))
        value = copysignl(ldexpl(1, t == DT_F32 ? 128 : 1024), value);
    frexpl(truth, &exponent);
    exponent = exponent < least || truth == 0 ? least : exponent;
    return (double)(fabsl(value - truth) / ldexpl(1, exponent - digits));
}

/* --- the functions, and the arguments to try --- */

static long double rsqrt_truth(long double x)
{
    return 1 / sqrtl(x);
}

static long double sigmoid_truth(long double x)
{
    return 1 / (1 + expl(-x));
}

static const struct function {
    enum op op;
    long double (*truth)(long double);
    double low, high; /* the range of most arguments */
    double f32, f64;  /* units allowed */
} functions[] = {
    {OP_EXP, expl, -104, 89, 1.5, 1.5},    {OP_EXP2, exp2l, -150, 129, 1, 1.5},
    {OP_LOG, logl, 0, 4, 1.5, 1.5},        {OP_LOG2, log2l, 0, 4, 1.5, 1.5},
    {OP_SIN, sinl, -7, 7, 1.5, 1.5},       {OP_COS, cosl, -7, 7, 1.5, 1.5},
    {OP_TANH, tanhl, -10, 10, 1.8, 1.8},   {OP_ERF, erfl, -5, 5, 1.8, 1.5},
    {OP_RSQRT, rsqrt_truth, 0, 100, 1, 1}, {OP_SQRT, sqrtl, 0, 100, 0.5, 0.5},
    {OP_ERFC, erfcl, -4, 11, 5, 3.5},      {OP_EXPM1, expm1l, -3, 3, 1.5, 2},
    {OP_LOG1P, log1pl, -0.9, 3, 1.5, 1.5}, {OP_SIGMOID, sigmoid_truth, -90, 30, 3.2, 2.5},
};

enum { SAMPLES = 20000 };
static double arguments[SAMPLES], results[SAMPLES];

static const double special[] = {0,
                                 -0.0,
                                 1,
                                 -1,
                                 0.5,
                                 -0.5,
                                 2,
                                 3,
                                 1e-3,
                                 1e-8,
                                 0x1p-126,
                                 0x1p-149,
                                 0x1p-1022,
                                 0x1p-1074,
                                 0x1p127,
                                 0x1p1023,
                                 -745,
                                 -746,
                                 709.7,
                                 709.8,
                                 88.72,
                                 88.73,
                                 -103.9,
                                 -104,
                                 -87.5,
                                 128,
                                 127.9999,
                                 -126,
                                 -149,
                                 -150,
                                 1024,
                                 -1074,
                                 105615,
                                 105616,
                                 1e5,
                                 1e6,
                                 1e10,
                                 1e22,
                                 1e30,
                                 0x1.921fb6p+0,
                                 0x1.921fb54442d18p+0,
                                 0x1.6ac5b262ca1ffp+849,
                                 0x1.fffffep127,
                                 16367173 * 0x1p72,
                                 0.65,
                                 0.9,
                                 4,
                                 6,
                                 20};

static double argument_at(const struct function *f, size_t i)
{
    size_t count = sizeof special / sizeof special[0];
    if (i < count)
        return special[i];
    switch (i - count) {
    case 0: return HUGE_VAL;
    case 1: return -HUGE_VAL;
    case 2: return (double)NAN;
    default: break;
    }
    double chance = (double)(random_bits() >> 11) * 0x1p-53;
    if (i % 4 == 3) /* any size */
        return (i & 4 ? -1 : 1) * ldexp(1 + chance, (int)(random_bits() % 2100) - 1075);
    if (i % 4 == 2)
        return (i & 4 ? -1 : 1) * ldexp(1 + chance, (int)(random_bits() % 300) - 150);
    return f->low + chance * (f->high - f->low);
}

static void read_results(enum dtype t)
{
    static float narrow[SAMPLES];
    memcpy(narrow, results, sizeof narrow);
    for (size_t i = 0; t == DT_F32 && i < SAMPLES; i++)
        results[i] = (double)narrow[i];
}

static void try_function(const struct function *f, enum dtype t, int slip, double allowed)
{
    static float narrow[SAMPLES];
    struct bench b;
    struct subject s = {.name = "function",
                        .emit = emit_op,
                        .op = f->op,
                        .t = t,
                        .result = t,
                        .arg = {t},
                        .count = 1};
    const void *args[1] = {t == DT_F32 ? (void *)narrow : (void *)arguments};
    double worst = 0, where = 0;
    bench_open(&b, 80);
    for (size_t i = 0; i < SAMPLES; i++) {
        arguments[i] = argument_at(f, i);
        narrow[i] = (float)arguments[i];
        if (t == DT_F32)
            arguments[i] = (double)narrow[i];
    }
    bench_run(&b, bench_add(&b, &s), &s, results, args, SAMPLES, slip);
    read_results(t);
    for (size_t i = 0; i < SAMPLES; i++) {
        double far = distance(t, results[i], f->truth((long double)arguments[i]));
        if (far > worst) {
            worst = far;
            where = arguments[i];
        }
    }
    if (getenv("TW_TEST_SHOW"))
        print_message("%s %s: %.3f at %a\n", op_table[f->op].text, t == DT_F32 ? "f32" : "f64",
                      worst, where);
    if (getenv("TW_TEST_GPU"))
        allowed = fmax(allowed, 2);
    if (worst > allowed)
        fail_msg("%s of %s is wrong by %.2f units at %a", op_table[f->op].text,
                 t == DT_F32 ? "f32" : "f64", worst, where);
    bench_close(&b);
}

static void f32_functions(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++)
        try_function(&functions[i], DT_F32, 0, functions[i].f32);
}

static void f64_functions(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++)
        try_function(&functions[i], DT_F64, 0, functions[i].f64);
}

/* The special function unit has its largest permitted error. */
static void with_a_rough_unit(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++)
        try_function(&functions[i], DT_F32, 1, functions[i].f32 + 1.5);
}

/* --- pow --- */

static double exponents[SAMPLES];

/* Returns a logarithm to base 2 close to the largest or the least result, or to the least that is not
 * subnormal: within 4 in one half of the samples, within 2^-16 in the other. */
static double near_an_end(size_t i, enum dtype t, double part)
{
    int least = t == DT_F32 ? -126 : -1022;
    int ends[] = {-least + 2, least, least + 1 - (t == DT_F32 ? FLT_MANT_DIG : DBL_MANT_DIG)};
    return ends[i % 3] + ldexp(part, i % 2 ? 2 : -16);
}

/* Chooses a pair for sample i: special values first, then powers of usual size, and some close to
 * an end of the range. */
static void pair_at(size_t i, enum dtype t, double *x, double *y)
{
    static const double values[] = {0,           -0.0,     1,   -1,   2,        -2,
                                    0.5,         -3,       1.5, 7e30, HUGE_VAL, -HUGE_VAL,
                                    (double)NAN, 0x1p-149, 3,   1e10};
    const size_t count = sizeof values / sizeof *values;
    if (i < count * count) {
        *x = values[i % count];
        *y = values[i / count];
        return;
    }
    double chance = (double)(random_bits() >> 11) * 0x1p-53;
    double other = (double)(random_bits() >> 11) * 0x1p-53;
    int most = t == DT_F32 ? 126 : 1022;
    *x = i % 3 == 0 ? 0.5 + chance : ldexp(1 + chance, (int)(random_bits() % 250) - 125);
    *y = (other - 0.5) * 2 * (most + 10) / fabs(log2(*x));
    if (i % 5 == 0)
        *y = near_an_end(i / 5, t, other - 0.5) / log2(*x);
    if (i % 7 == 0)
        *y = nearbyint(*y);
    if (i % 14 == 0)
        *x = -*x;
}

static void try_pow(enum dtype t, int slip, double allowed)
{
    static float narrow[2][SAMPLES];
    struct bench b;
    struct subject s = {.name = "function", .emit = emit_op, .op = OP_POW, .t = t, .result = t};
    s.arg[0] = s.arg[1] = t;
    s.count = 2;
    const void *args[2] = {t == DT_F32 ? (void *)narrow[0] : (void *)arguments,
                           t == DT_F32 ? (void *)narrow[1] : (void *)exponents};
    double worst = 0;
    bench_open(&b, 80);
    for (size_t i = 0; i < SAMPLES; i++) {
        pair_at(i, t, &arguments[i], &exponents[i]);
        narrow[0][i] = (float)arguments[i];
        narrow[1][i] = (float)exponents[i];
        arguments[i] = t == DT_F32 ? (double)narrow[0][i] : arguments[i];
        exponents[i] = t == DT_F32 ? (double)narrow[1][i] : exponents[i];
    }
    bench_run(&b, bench_add(&b, &s), &s, results, args, SAMPLES, slip);
    read_results(t);
    for (size_t i = 0; i < SAMPLES; i++) {
        double far = distance(t, results[i], powl(arguments[i], exponents[i]));
        worst = far > worst ? far : worst;
        if (far > allowed)
            fail_msg("pow(%a, %a) is %a, wrong by %.2f units", arguments[i], exponents[i],
                     results[i], far);
    }
    if (getenv("TW_TEST_SHOW"))
        print_message("pow %s: %.3f\n", t == DT_F32 ? "f32" : "f64", worst);
    bench_close(&b);
}

/* Results next to the largest number are finite, though the logarithm rounds to that of infinity;
 * also if the special function unit errs. */
static void powers_next_to_infinity(void **unused)
{
    (void)unused;
    static const float x[] = {FLT_MAX, 1.844674e19f, 7131.55f, 3.1293312e-06f, 2, 0x1.fffffep63f};
    static const float y[] = {1, 2, 10, -7, 128, 2};
    const void *args[2] = {x, y};
    struct subject s = {.name = "function", .emit = emit_op, .op = OP_POW, .count = 2};
    s.t = s.result = s.arg[0] = s.arg[1] = DT_F32;
    for (int slip = 0; slip < 8; slip++) {
        struct bench b;
        bench_open(&b, 80);
        bench_run(&b, bench_add(&b, &s), &s, results, args, COUNT(x), slip);
        read_results(DT_F32);
        for (size_t i = 0; i < COUNT(x); i++) {
            long double truth = powl(x[i], y[i]);
            if (isinf(results[i]) != (truth > FLT_MAX) ||
                !(distance(DT_F32, results[i], truth) <= 2.5 + slip))
                fail_msg("with an error of %d, pow(%a, %a) is %a", slip, (double)x[i], (double)y[i],
                         results[i]);
        }
        bench_close(&b);
    }
}

static void powers(void **unused)
{
    (void)unused;
    try_pow(DT_F32, 0, 2.5);
    try_pow(DT_F32, 1, 3.5);
    try_pow(DT_F64, 0, 1.5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(f32_functions),           cmocka_unit_test(f64_functions),
        cmocka_unit_test(with_a_rough_unit),       cmocka_unit_test(powers),
        cmocka_unit_test(powers_next_to_infinity),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
