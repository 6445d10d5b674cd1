/* The oracle's error bounds: products, long sums and random expressions that were computed in the
 * types themselves pass, and an omitted step is found. */
#include "ensures_helper.h"

#include <math.h>
#include <stdio.h>

/* --- matrices --- */

#define MATMUL(T)                                                                                  \
    "kernel k(i32 m, i32 n, i32 k, const " T " *a, const " T " *b, " T " *c) grid(1) warps(1)\n"   \
    "{\n"                                                                                          \
    "    global " T " A[m][k] = a, B[k][n] = b, C[m][n] = c;\n"                                    \
    "    ensures C == dot(A, B);\n"                                                                \
    "}\n"

static uint32_t next_random(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

static float random_float(uint32_t *seed)
{
    return (float)next_random(seed) * 0x1p-23f - 1;
}

enum { M = 13, N = 7, K = 300 };

static void test_dot(void **state)
{
    struct fixture *f = *state;
    static float a[M * K], b[K * N], c[M * N];
    uint32_t seed = 1;
    for (int i = 0; i < M * K; i++)
        a[i] = random_float(&seed);
    for (int i = 0; i < K * N; i++)
        b[i] = random_float(&seed);
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            float sum = 0;
            for (int p = 0; p < K; p++)
                sum += a[i * K + p] * b[p * N + j];
            c[i * N + j] = sum;
        }
    give_int(f, M);
    give_int(f, N);
    give_int(f, K);
    give(f, a);
    give(f, b);
    give(f, c);
    assert_true(holds(f, MATMUL("f32")));
    assert_int_equal(f->report.checked, M * N);
    assert_true(f->report.max_error > 0 && f->report.tolerance < 0.05);
    c[3 * N + 2] -= a[3 * K + 100] * b[100 * N + 2]; /* omits a product */
    assert_false(holds(f, MATMUL("f32")));
    assert_int_equal(f->report.rank, 2);
    assert_int_equal(f->report.at[0], 3);
    assert_int_equal(f->report.at[1], 2);
}

/* --- sums of 8-bit floats in the unit of warpgroups --- */

#define SMALL_PRODUCT(statement)                                                                   \
    "kernel k(const e4m3 *a, const e4m3 *b, f32 *c) grid(1) warps(4) target(sm_90a)\n"             \
    "{\n"                                                                                          \
    "    global e4m3 A[64][512] = a, B[64][512] = b;\n"                                            \
    "    global f32 C[64][64] = c;\n"                                                              \
    "    shared e4m3 sa[64][128], sb[64][128];\n"                                                  \
    "    reg f32 acc[64][64] = 0;\n"                                                               \
    "    " statement "\n"                                                                          \
    "    dot_wait(0);\n"                                                                           \
    "    ensures C == dot(A, trans(B));\n"                                                         \
    "}\n"

enum { SMALL = 64, SMALL_K = 512, STEP = 32, UNIT_BITS = 14 };

static double truncated(double v, int exponent)
{
    double grid = ldexp(1, exponent - UNIT_BITS);
    return trunc(v / grid) * grid;
}

/* Adds the products of one instruction as the unit does: all terms are cut to the bits of the largest one. */
static double add_in_unit(double sum, const uint8_t *a, const uint8_t *b)
{
    double term[STEP + 1] = {sum}, total = 0;
    int most = -1000, exponent;
    for (int i = 0; i < STEP; i++)
        term[i + 1] = dtype_load_f64(DT_E4M3, &a[i]) * dtype_load_f64(DT_E4M3, &b[i]);
    for (int i = 0; i <= STEP; i++) {
        frexp(term[i], &exponent);
        most = term[i] != 0 && exponent > most ? exponent : most;
    }
    for (int i = 0; i <= STEP; i++)
        total += truncated(term[i], most);
    return total;
}

/* Sums are promoted after `each` elements of k. */
static void multiply_small(const uint8_t *a, const uint8_t *b, float *c, int each)
{
    for (int at = 0; at < SMALL * SMALL; at++) {
        const uint8_t *row = &a[at / SMALL * SMALL_K], *column = &b[at % SMALL * SMALL_K];
        float all = 0;
        for (int k = 0; k < SMALL_K; k += each) {
            double sum = 0;
            for (int p = k; p < k + each; p += STEP)
                sum = add_in_unit(sum, &row[p], &column[p]);
            all += (float)sum;
        }
        c[at] = all;
    }
}

static void test_sums_in_the_unit_have_fewer_bits(void **state)
{
    struct fixture *f = *state;
    static uint8_t a[SMALL * SMALL_K], b[SMALL * SMALL_K];
    static float c[SMALL * SMALL];
    uint32_t seed = 7;
    for (int i = 0; i < SMALL * SMALL_K; i++) { /* of both signs, from 1/16 to 4 */
        a[i] = (uint8_t)((next_random(&seed) & 0x80) | (0x18 + next_random(&seed) % 48));
        b[i] = (uint8_t)((next_random(&seed) & 0x80) | (0x18 + next_random(&seed) % 48));
    }
    give(f, a);
    give(f, b);
    give(f, c);
    multiply_small(a, b, c, SMALL_K);
    assert_true(holds(f, SMALL_PRODUCT("dot_async(acc, sa, trans(sb)) sum(unit);")));
    double in_unit = f->report.tolerance;
    assert_false(holds(f, SMALL_PRODUCT("")));
    multiply_small(a, b, c, 4 * STEP);
    assert_true(holds(f, SMALL_PRODUCT("dot_async(acc, sa, trans(sb));")));
    assert_true(f->report.tolerance < in_unit);
    assert_false(holds(f, SMALL_PRODUCT("")));
    c[100] += 200;
    assert_false(holds(f, SMALL_PRODUCT("dot_async(acc, sa, trans(sb));")));
}

static void test_dot_of_f16_sums_in_f32(void **state)
{
    struct fixture *f = *state;
    static uint16_t a[M * K], b[K * N], c[M * N];
    uint32_t seed = 2;
    for (int i = 0; i < M * K; i++)
        a[i] = f32_to_f16(random_float(&seed));
    for (int i = 0; i < K * N; i++)
        b[i] = f32_to_f16(random_float(&seed));
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            float sum = 0;
            for (int p = 0; p < K; p++)
                sum += f16_to_f32(a[i * K + p]) * f16_to_f32(b[p * N + j]);
            c[i * N + j] = f32_to_f16(sum);
        }
    give_int(f, M);
    give_int(f, N);
    give_int(f, K);
    give(f, a);
    give(f, b);
    give(f, c);
    assert_true(holds(f, MATMUL("f16")));
    /* Sums in f16 have larger errors than that. */
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            uint16_t sum = 0;
            for (int p = 0; p < K; p++)
                sum = f32_to_f16(f16_to_f32(sum) +
                                 f16_to_f32(a[i * K + p]) * f16_to_f32(b[p * N + j]));
            c[i * N + j] = sum;
        }
    assert_false(holds(f, MATMUL("f16")));
}

static void test_dot_of_integers(void **state)
{
    struct fixture *f = *state;
    int8_t a[2 * 2] = {127, 127, -128, 1}, b[2 * 2] = {127, 2, 127, 3};
    int32_t c[2 * 2] = {32258, 635, -16129, -253};
    give_int(f, 2);
    give(f, a);
    give(f, b);
    give(f, c);
    assert_true(holds(f, "kernel k(i32 m, const i8 *a, const i8 *b, i32 *c) grid(1) warps(1)\n"
                         "{\n"
                         "    global i8 A[m][m] = a, B[m][m] = b;\n"
                         "    global i32 C[m][m] = c;\n"
                         "    ensures C == dot(A, B);\n"
                         "}\n"));
}

static void test_empty(void **state)
{
    struct fixture *f = *state;
    float a[1] = {1}, b[1] = {1}, c[4] = {0, 0, 0, 0};
    give_int(f, 2);
    give_int(f, 2);
    give_int(f, 0);
    give(f, a);
    give(f, b);
    give(f, c);
    assert_true(holds(f, MATMUL("f32")));
    assert_int_equal(f->report.checked, 4);
    c[3] = 1e-20f;
    assert_false(holds(f, MATMUL("f32")));
    f->args[0].scalar.i = 0;
    assert_true(holds(f, MATMUL("f32")));
    assert_int_equal(f->report.checked, 0);
}

/* --- long sums: a right kernel passes in any order of addition; one that loses a step fails --- */

enum { SIDE = 8, LONG_K = 32768 };

struct long_product {
    float a[SIDE * LONG_K], b[LONG_K * SIDE], c[SIDE * SIDE];
    uint16_t a16[SIDE * LONG_K], b16[LONG_K * SIDE];
    int k;
    const char *dtype; /* type of a and b */
};

/* Fills with values from `low` to `low` + 1, as the type holds them. */
static void fill_long(struct long_product *x, int k, const char *dtype, float low, uint32_t seed)
{
    x->k = k;
    x->dtype = dtype;
    for (int i = 0; i < SIDE * k; i++) {
        float *values[2] = {&x->a[i], &x->b[i]};
        uint16_t *bits[2] = {&x->a16[i], &x->b16[i]};
        for (int j = 0; j < 2; j++) {
            *values[j] = low + 0.5f + random_float(&seed) / 2;
            bool half = strcmp(dtype, "f16") == 0;
            *bits[j] = half ? f32_to_f16(*values[j]) : f32_to_bf16(*values[j]);
            if (strcmp(dtype, "f32") != 0)
                *values[j] = half ? f16_to_f32(*bits[j]) : bf16_to_f32(*bits[j]);
        }
    }
}

/* Computes c from steps 0 to `steps` of k, in `parts` sums: of neighbours, or interleaved. */
static void multiply_long(struct long_product *x, int steps, int parts, bool interleaved)
{
    for (int at = 0; at < SIDE * SIDE; at++) {
        float total = 0;
        for (int part = 0; part < parts; part++) {
            float sum = 0;
            for (int i = part; i < steps; i += parts) {
                int p = interleaved ? i : i / parts + part * (steps / parts);
                sum = fmaf(x->a[at / SIDE * x->k + p], x->b[p * SIDE + at % SIDE], sum);
            }
            total += sum;
        }
        x->c[at] = total;
    }
}

static bool long_holds(struct fixture *f, struct long_product *x)
{
    char text[512];
    bool wide = strcmp(x->dtype, "f32") == 0;
    snprintf(text, sizeof text,
             "kernel k(i32 m, i32 k, const %s *a, const %s *b, f32 *c) grid(1) warps(1)\n{\n"
             "    global %s A[m][k] = a, B[k][m] = b;\n    global f32 C[m][m] = c;\n"
             "    ensures C == dot(A, B);\n}\n",
             x->dtype, x->dtype, x->dtype);
    f->count = 0;
    give_int(f, SIDE);
    give_int(f, x->k);
    size_t bytes = (size_t)SIDE * (size_t)x->k * (wide ? 4 : 2);
    void *a = wide ? (void *)x->a : (void *)x->a16, *b = wide ? (void *)x->b : (void *)x->b16;
    f->args[f->count++] = (struct cpu_argument){.data = a, .bytes = bytes};
    f->args[f->count++] = (struct cpu_argument){.data = b, .bytes = bytes};
    give(f, x->c);
    return holds(f, text);
}

static void expect_right(struct fixture *f, struct long_product *x)
{
    static const int parts[] = {1, 2, 16, 256};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        for (int interleaved = 0; interleaved < 2; interleaved++) {
            multiply_long(x, x->k, parts[i], interleaved);
            if (!long_holds(f, x))
                fail_msg("K = %d of %s in %d parts: got %.9g, expected %.9g within %.3g", x->k,
                         x->dtype, parts[i], f->report.got, f->report.want, f->report.tolerance);
        }
}

static void test_long_dot(void **state)
{
    struct fixture *f = *state;
    static struct long_product x;
    static const char *const dtypes[] = {"f32", "f16", "bf16"};
    for (int k = 8192; k <= LONG_K; k *= 4)
        for (int t = 0; t < 3; t++) {
            fill_long(&x, k, dtypes[t], -0.5f, 7u + (uint32_t)t);
            expect_right(f, &x);
            multiply_long(&x, k - 1, 1, true); /* without the last step */
            assert_false(long_holds(f, &x));
            multiply_long(&x, k - 16, 1, true); /* the last tile */
            assert_false(long_holds(f, &x));
            multiply_long(&x, k, 1, true);
            for (int i = 0; i < SIDE * SIDE; i++)
                x.c[i] += 0.4f;
            assert_false(long_holds(f, &x));
        }
}

static void test_long_dot_of_one_sign(void **state)
{
    struct fixture *f = *state;
    static struct long_product x;
    for (int k = 8192; k <= LONG_K; k *= 4) {
        fill_long(&x, k, "f32", 0, 11);
        expect_right(f, &x);
        multiply_long(&x, k - 16, 1, true);
        assert_false(long_holds(f, &x));
        fill_long(&x, k, "bf16", 0, 12);
        expect_right(f, &x);
    }
    for (int i = 0; i < SIDE * LONG_K; i++) /* all roundings go in one direction */
        x.a[i] = x.b[i] = 0.3f;
    x.dtype = "f32";
    expect_right(f, &x);
}

/* Neighbours cancel, and terms 16 apart do not: the worst case for interleaved sums. */
static void test_long_dot_of_alternating_signs(void **state)
{
    struct fixture *f = *state;
    static struct long_product x;
    fill_long(&x, LONG_K, "f32", 0.5f, 13);
    for (int i = 0; i < SIDE * LONG_K; i++)
        x.a[i] *= i % 2 ? -1.0f : 1.0f;
    expect_right(f, &x);
    for (int i = 0; i < SIDE * LONG_K; i++) /* the halves cancel */
        x.a[i] = fabsf(x.a[i]) * (i % LONG_K < LONG_K / 2 ? 1.0f : -1.0f);
    expect_right(f, &x);
}

static void test_long_sum(void **state)
{
    struct fixture *f = *state;
    static float a[LONG_K], b[1], c[LONG_K];
    uint32_t seed = 5;
    float total = 0;
    for (int i = 0; i < LONG_K; i++) {
        a[i] = random_float(&seed) / 2;
        c[i] = total += a[i];
    }
    give_int(f, LONG_K);
    give(f, a);
    give(f, b);
    give(f, c);
    const char *scan = ELEMENTWISE("f32", "scan(add, A, axis = 0)");
    if (!holds(f, scan))
        fail_msg("at %d: got %.9g, expected %.9g within %.3g", (int)f->report.at[0], f->report.got,
                 f->report.want, f->report.tolerance);
    c[LONG_K - 1] -= 0.4f;
    assert_false(holds(f, scan));
    float sum[1] = {total};
    f->args[3] = (struct cpu_argument){.data = sum, .bytes = sizeof sum};
    const char *text = "kernel k(i32 m, const f32 *a, const f32 *b, f32 *c) grid(1) warps(1)\n{\n"
                       "    global f32 A[m] = a, C[1] = c;\n    ensures C[0] == sum(A);\n}\n";
    assert_true(holds(f, text));
    sum[0] += 0.4f;
    assert_false(holds(f, text));
}

/* --- the bounds hold: random expressions computed in f32, each op rounded --- */

struct generated {
    char text[512];
    float value[16]; /* for 16 elements */
};

static void generate(struct generated *g, uint32_t *seed, const float *a, const float *b, int depth)
{
    static const char *const forms[] = {"(%s + %s)",
                                        "(%s - %s)",
                                        "(%s * %s)",
                                        "max(%s, %s)",
                                        "min(%s, %s)",
                                        "(%s / (square(%s) + 0.5))",
                                        "where(%s < %s, 1.5, -2.5)",
                                        "pow(abs(%s) + 0.5, %s)"};
    static const char *const functions[] = {"exp(%s)",       "tanh(%s)",  "sin(%s)",
                                            "sqrt(abs(%s))", "erf(%s)",   "log(abs(%s) + 0.25)",
                                            "erfc(%s)",      "expm1(%s)", "log1p(abs(%s))",
                                            "sigmoid(%s)"};
    enum { FUNCTIONS = sizeof functions / sizeof *functions };
    uint32_t pick = next_random(seed) % (FUNCTIONS + sizeof forms / sizeof *forms);
    if (depth == 0) {
        snprintf(g->text, sizeof g->text, "%s", pick % 2 ? "A" : "B");
        memcpy(g->value, pick % 2 ? a : b, sizeof g->value);
        return;
    }
    struct generated x, y;
    generate(&x, seed, a, b, depth - 1);
    if (pick < FUNCTIONS) {
        snprintf(g->text, sizeof g->text, functions[pick], x.text);
    } else {
        generate(&y, seed, a, b, depth - 1);
        snprintf(g->text, sizeof g->text, forms[pick - FUNCTIONS], x.text, y.text);
    }
    for (int i = 0; i < 16; i++) {
        float v = x.value[i], w = pick < FUNCTIONS ? 0 : y.value[i];
        const float results[] = {expf(v),
                                 tanhf(v),
                                 sinf(v),
                                 sqrtf(fabsf(v)),
                                 erff(v),
                                 logf(fabsf(v) + 0.25f),
                                 erfcf(v),
                                 expm1f(v),
                                 log1pf(fabsf(v)),
                                 1 / (1 + expf(-v)),
                                 v + w,
                                 v - w,
                                 v * w,
                                 fmaxf(v, w),
                                 fminf(v, w),
                                 v / (w * w + 0.5f),
                                 v < w ? 1.5f : -2.5f,
                                 powf(fabsf(v) + 0.5f, w)};
        g->value[i] = results[pick];
    }
}

static void test_bounds_hold_for_random_expressions(void **state)
{
    struct fixture *f = *state;
    uint32_t seed = 3;
    int judged = 0, seen = 0;
    for (int round = 0; round < 2000; round++) {
        float a[16], b[16], c[16];
        for (int i = 0; i < 16; i++) {
            a[i] = 3 * random_float(&seed);
            b[i] = i < 2 ? a[i] : random_float(&seed);
        }
        struct generated g;
        generate(&g, &seed, a, b, 1 + round % 3);
        memcpy(c, g.value, sizeof c);
        char text[1024];
        snprintf(text, sizeof text, ELEMENTWISE("f32", "%s"), g.text);
        f->count = 0;
        give_int(f, 16);
        give(f, a);
        give(f, b);
        give(f, c);
        if (!evaluate(f, text))
            continue; /* no verdict: exp(exp(…)) overflows */
        judged++;
        if (!f->report.ok)
            fail_msg("%s: got %.9g, expected %.9g within %.3g", g.text, f->report.got,
                     f->report.want, f->report.tolerance);
        c[7] += 1e-3f * (1 + fabsf(c[7]));
        seen += evaluate(f, text) && !f->report.ok;
        arena_free(&f->arena);
        diag_init(&f->diag, &f->arena);
    }
    assert_true(judged > 1900);
    assert_true(seen > judged * 9 / 10); /* tight enough to find an error of 1e-3 */
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, ensures_setup, ensures_teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_dot),
        TEST(test_sums_in_the_unit_have_fewer_bits),
        TEST(test_long_dot),
        TEST(test_long_dot_of_one_sign),
        TEST(test_long_dot_of_alternating_signs),
        TEST(test_long_sum),
        TEST(test_dot_of_f16_sums_in_f32),
        TEST(test_dot_of_integers),
        TEST(test_empty),
        TEST(test_bounds_hold_for_random_expressions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
