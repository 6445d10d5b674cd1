/* The functions of base/real.h compared with the C library's of long double, in units in the
 * last place, and their values at infinities, NaN and zeros. */
#include "base/real.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static uint64_t state_of_random = 1;

/* Returns a number from 0 to 1: SplitMix64 (Steele, Lea, Flood 2014). */
static double random_part(void)
{
    uint64_t z = state_of_random += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

static double unit_of(long double v)
{
    double d = fabs((double)v);
    return d < DBL_MIN ? 0x1p-1074 : d == INFINITY ? INFINITY : nextafter(d, INFINITY) - d;
}

struct function {
    const char *name;
    double (*own)(double);
    long double (*exact)(long double);
    double low, high, most; /* range of arguments; greatest error in units in the last place */
    bool scales;            /* arguments are powers of two in that range, times a part */
};

static long double exact_sigmoid(long double x)
{
    return 1 / (1 + expl(-x));
}

static const struct function functions[] = {
    {"exp", real_exp, expl, -708, 709.7, 0.6, false},
    {"exp", real_exp, expl, -1, 1, 0.6, false},
    {"exp", real_exp, expl, -745, -708, 1, false},
    {"exp2", real_exp2, exp2l, -1022, 1023.9, 0.6, false},
    {"exp2", real_exp2, exp2l, -1, 1, 0.6, false},
    {"exp2", real_exp2, exp2l, -1074, -1022, 1, false},
    {"expm1", real_expm1, expm1l, -5, 5, 1.4, false},
    {"expm1", real_expm1, expm1l, -100, 0, 1.4, true},
    {"expm1", real_expm1, expm1l, -1, -0.9, 1.2, false},
    {"expm1", real_expm1, expm1l, 0.9, 1.1, 1.4, false},
    {"log", real_log, logl, 0.3, 3, 0.8, false},
    {"log", real_log, logl, -1074, 1023, 0.8, true},
    {"log2", real_log2, log2l, 0.3, 3, 0.8, false},
    {"log2", real_log2, log2l, -1074, 1023, 0.8, true},
    {"log1p", real_log1p, log1pl, -0.99, 5, 2.5, false},
    {"log1p", real_log1p, log1pl, -100, 100, 2.5, true},
    {"sin", real_sin, sinl, -10, 10, 0.8, false},
    {"sin", real_sin, sinl, -30, 60, 0.8, true},
    {"cos", real_cos, cosl, -10, 10, 0.8, false},
    {"cos", real_cos, cosl, -30, 60, 0.8, true},
    {"tanh", real_tanh, tanhl, -22, 22, 2.5, false},
    {"tanh", real_tanh, tanhl, -0.07, 0.07, 2.5, false},
    {"tanh", real_tanh, tanhl, -100, 0, 2.5, true},
    {"erf", real_erf, erfl, -7, 7, 1, false},
    {"erf", real_erf, erfl, -100, 0, 1, true},
    {"erfc", real_erfc, erfcl, -7, 7, 2.5, false},
    {"erfc", real_erfc, erfcl, 5, 26.5, 2.5, false},
    {"erfc", real_erfc, erfcl, 26.5, 27.5, 2.5, false},
    {"erfc", real_erfc, erfcl, -100, 0, 2.5, true},
    {"sigmoid", real_sigmoid, exact_sigmoid, -30, 30, 2, false},
    {"sigmoid", real_sigmoid, exact_sigmoid, -746, -700, 2, false},
    {"sigmoid", real_sigmoid, exact_sigmoid, -100, 5, 2, true},
};

static void errors_are_small(void **state)
{
    enum { EACH = 20000 };
    (void)state;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        const struct function *f = &functions[i];
        for (int n = 0; n < EACH; n++) {
            double at = f->low + random_part() * (f->high - f->low);
            double x = f->scales ? ldexp(1 + random_part(), (int)floor(at)) : at;
            double got = f->own(x);
            long double want = f->exact(x);
            double off = (double)fabsl((long double)got - want) / unit_of(want);
            if (!(off <= f->most))
                fail_msg("%s(%a) is %a: off by %.3f units", f->name, x, got, off);
        }
    }
}

/* Tries bases and exponents of all sizes whose power does not overflow, and bases close to 1
 * with large exponents. */
static void powers_are_exact(void **state)
{
    enum { EACH = 100000 };
    (void)state;
    for (int n = 0; n < EACH; n++) {
        double x = n % 2 ? ldexp(1 + random_part(), (int)(random_part() * 2000) - 1000)
                         : 1 + ldexp(random_part() - 0.5, -(int)(random_part() * 40));
        double y = (random_part() - 0.5) * 2 * 745 / fabs(log(x));
        double got = real_pow(x, y);
        long double want = powl(x, y);
        double off = (double)fabsl((long double)got - want) / unit_of(want);
        if (!(off <= (fabsl(want) < 4 * DBL_MIN ? 1 : 0.8)) && !(isinf(got) && want > DBL_MAX))
            fail_msg("pow(%a, %a) is %a: off by %.3f units", x, y, got, off);
    }
}

/* Arguments close to multiples of pi/2, and far out: Muller, "Elementary Functions", 11.3.2. */
static void sines_of_hard_arguments(void **state)
{
    static const double worst = 6381956970095103.0 * 0x1p797;
    (void)state;
    assert_true(real_sin(worst) == 1);
    assert_true(fabs(real_cos(worst) - -4.6871659242546276e-19) < 1e-34);
    assert_true(real_sin(3.14159265358979311600) == 0x1.1a62633145c07p-53);
    assert_true(real_cos(1.57079632679489655800) == 0x1.1a62633145c07p-54);
    assert_true(real_sin(DBL_MAX) == 0x1.452fc98b34e97p-8);
}

static bool is(double v, double wanted)
{
    return isnan(wanted) ? isnan(v) : v == wanted && signbit(v) == signbit(wanted);
}

static void special_arguments(void **state)
{
    static const struct {
        double (*own)(double);
        double x, value;
    } list[] = {
        {real_exp, INFINITY, INFINITY},
        {real_exp, -INFINITY, 0},
        {real_exp, NAN, NAN},
        {real_exp, 0, 1},
        {real_exp, 710, INFINITY},
        {real_exp, -746, 0},
        {real_exp2, 1024, INFINITY},
        {real_exp2, -1074, 0x1p-1074},
        {real_exp2, 10, 1024},
        {real_exp2, NAN, NAN},
        {real_exp2, -INFINITY, 0},
        {real_expm1, -INFINITY, -1},
        {real_expm1, INFINITY, INFINITY},
        {real_expm1, -0.0, -0.0},
        {real_expm1, NAN, NAN},
        {real_log, 0, -INFINITY},
        {real_log, -0.0, -INFINITY},
        {real_log, -1, NAN},
        {real_log, INFINITY, INFINITY},
        {real_log, 1, 0},
        {real_log, NAN, NAN},
        {real_log2, 8, 3},
        {real_log2, 0x1p-1074, -1074},
        {real_log2, 0, -INFINITY},
        {real_log2, -INFINITY, NAN},
        {real_log1p, -1, -INFINITY},
        {real_log1p, -2, NAN},
        {real_log1p, INFINITY, INFINITY},
        {real_log1p, -0.0, -0.0},
        {real_sin, INFINITY, NAN},
        {real_sin, -0.0, -0.0},
        {real_sin, NAN, NAN},
        {real_cos, -INFINITY, NAN},
        {real_cos, -0.0, 1},
        {real_cos, NAN, NAN},
        {real_tanh, INFINITY, 1},
        {real_tanh, -INFINITY, -1},
        {real_tanh, -0.0, -0.0},
        {real_tanh, NAN, NAN},
        {real_erf, INFINITY, 1},
        {real_erf, -INFINITY, -1},
        {real_erf, -0.0, -0.0},
        {real_erf, NAN, NAN},
        {real_erfc, INFINITY, 0},
        {real_erfc, -INFINITY, 2},
        {real_erfc, -0.0, 1},
        {real_erfc, NAN, NAN},
        {real_sigmoid, INFINITY, 1},
        {real_sigmoid, -INFINITY, 0},
        {real_sigmoid, -0.0, 0.5},
        {real_sigmoid, NAN, NAN},
    };
    (void)state;
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        if (!is(list[i].own(list[i].x), list[i].value))
            fail_msg("row %zu: of %a it is %a", i, list[i].x, list[i].own(list[i].x));
}

/* All special values that C defines, compared with the C library. */
static void powers_of_special_values(void **state)
{
    static const double list[] = {0,
                                  -0.0,
                                  1,
                                  -1,
                                  2,
                                  -2,
                                  0.5,
                                  -0.5,
                                  3,
                                  -3,
                                  1e20,
                                  -0x1p53 - 1,
                                  INFINITY,
                                  -INFINITY,
                                  NAN,
                                  0x1p-1074,
                                  -1e300,
                                  1.5,
                                  -2.5,
                                  0x1p53,
                                  0x1p70,
                                  -0x1p70,
                                  0x1.fffffffffffffp-1};
    const size_t count = sizeof list / sizeof *list;
    (void)state;
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < count; j++) {
            double got = real_pow(list[i], list[j]), want = pow(list[i], list[j]);
            if (!is(got, want) && !(fabs(got - want) <= 1e-15 * fabs(want)))
                fail_msg("pow(%a, %a) is %a, not %a", list[i], list[j], got, want);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_are_small),         cmocka_unit_test(sines_of_hard_arguments),
        cmocka_unit_test(special_arguments),        cmocka_unit_test(powers_are_exact),
        cmocka_unit_test(powers_of_special_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
