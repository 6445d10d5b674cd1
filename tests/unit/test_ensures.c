/* The oracle: results that it accepts and refuses, for each operation, shape and special value. */
#include "ensures_helper.h"

#include <math.h>
#include <stdio.h>

/* --- exact values must be met exactly --- */

static void test_copy_is_exact(void **state)
{
    struct fixture *f = *state;
    float a[3] = {1, 2, 3}, b[3] = {0}, c[3] = {1, 2, 3};
    give_int(f, 3);
    give(f, a);
    give(f, b);
    give(f, c);
    assert_true(holds(f, ELEMENTWISE("f32", "A")));
    assert_int_equal(f->report.checked, 3);
    c[1] = nextafterf(2, 3);
    assert_false(holds(f, ELEMENTWISE("f32", "A")));
    assert_string_equal(f->report.view, "C");
    assert_int_equal(f->report.rank, 1);
    assert_int_equal(f->report.at[0], 1);
    assert_true(f->report.want == 2);
    assert_true(f->report.tolerance == 0);
    assert_non_null(f->report.loc.source);
}

static void test_sum_has_rounding(void **state)
{
    struct fixture *f = *state;
    float a[2] = {1, 0}, b[2] = {0x1p-24f, 0}, c[2] = {1, 0};
    give_int(f, 2);
    give(f, a);
    give(f, b);
    give(f, c);
    assert_true(holds(f, ELEMENTWISE("f32", "A + B")));
    c[0] = 1 + 0x1p-20f;
    assert_false(holds(f, ELEMENTWISE("f32", "A + B")));
    c[0] = 1;
    c[1] = 1e-30f; /* 0 + 0 is exact */
    assert_false(holds(f, ELEMENTWISE("f32", "A + B")));
}

static void test_integers_wrap(void **state)
{
    struct fixture *f = *state;
    int8_t a[4] = {100, -128, 7, -7}, b[4] = {100, -1, 2, 2};
    int8_t c[4] = {-56, 127, 9, -5};
    give_int(f, 4);
    give(f, a);
    give(f, b);
    give(f, c);
    assert_true(holds(f, ELEMENTWISE("i8", "A + B")));
    c[3] = -4;
    assert_false(holds(f, ELEMENTWISE("i8", "A + B")));
    assert_true(f->report.want == -5 && f->report.got == -4);
}

static void test_large_integers_are_told_apart(void **state)
{
    struct fixture *f = *state;
    int64_t a[1] = {INT64_MAX - 1}, b[1] = {1}, c[1] = {INT64_MAX};
    give_int(f, 1);
    give(f, a);
    give(f, b);
    give(f, c);
    assert_true(holds(f, ELEMENTWISE("i64", "A + B")));
    c[0]--;
    assert_false(holds(f, ELEMENTWISE("i64", "A + B")));
}

static void test_unsigned(void **state)
{
    struct fixture *f = *state;
    uint32_t a[2] = {0xffffffffu, 7}, b[2] = {2, 9}, c[2] = {0xffffffffu / 2, 0};
    give_int(f, 2);
    give(f, a);
    give(f, b);
    give(f, c);
    assert_true(holds(f, ELEMENTWISE("u32", "A / B")));
    uint32_t d[2] = {0xffffffffu, 9};
    f->args[3].data = d;
    assert_true(holds(f, ELEMENTWISE("u32", "max(A, B)")));
}

static void test_division_by_zero_cannot_be_evaluated(void **state)
{
    struct fixture *f = *state;
    int32_t a[2] = {1, 2}, b[2] = {1, 0}, c[2] = {1, 0};
    give_int(f, 2);
    give(f, a);
    give(f, b);
    give(f, c);
    assert_false(evaluate(f, ELEMENTWISE("i32", "A / B")));
    assert_non_null(strstr(f->report.message, "zero"));
}

/* --- comparisons near the edge --- */

static void test_where_admits_both_sides_within_the_error(void **state)
{
    struct fixture *f = *state;
    /* A * A compared with B: equal up to rounding in the first element, far apart in the others */
    float a[3] = {1.1f, 1, 2}, b[3] = {1.1f * 1.1f, 3, 3}, c[3] = {10, 10, 20};
    const char *text = ELEMENTWISE("f32", "where(A * A <= B, 10, 20)");
    give_int(f, 3);
    give(f, a);
    give(f, b);
    give(f, c);
    assert_true(holds(f, text));
    c[0] = 20;
    assert_true(holds(f, text));
    c[0] = 31;
    assert_false(holds(f, text));
    c[0] = 10;
    c[1] = 20;
    assert_false(holds(f, text));
}

static void test_exact_comparisons_are_decided(void **state)
{
    struct fixture *f = *state;
    float a[3] = {-1, 0, 1e-30f}, b[3] = {0}, c[3] = {0, 0, 1e-30f};
    const char *text = ELEMENTWISE("f32", "max(A, 0)");
    give_int(f, 3);
    give(f, a);
    give(f, b);
    give(f, c);
    assert_true(holds(f, text));
    c[2] = 0;
    assert_false(holds(f, text));
}

/* For exact values the first maximum is right, NaN ignored; for sums only a clear winner is
 * judged. */
static void test_places_of_extremes(void **state)
{
    static const char text[] = "kernel k(i32 m, const f32 *a, i32 *c) grid(1) warps(1)\n"
                               "{\n"
                               "    global f32 A[m][4] = a;\n"
                               "    global i32 C[m][1] = c;\n"
                               "    ensures C == %s;\n"
                               "}\n";
    struct fixture *f = *state;
    float a[4][4] = {{1, 3, 3, 2}, {NAN, -1, -2, NAN}, {NAN, NAN, NAN, NAN}, {0, -0.0f, 0, 0}};
    int32_t c[4] = {1, 1, 0, 0};
    char program[512];
    give_int(f, 4);
    give(f, a);
    give(f, c);
    snprintf(program, sizeof program, text, "argmax(A, axis = 1)");
    assert_true(holds(f, program));
    c[0] = 2; /* equal, but later */
    assert_false(holds(f, program));
    c[0] = 0;
    c[1] = 2;
    snprintf(program, sizeof program, text, "argmin(A, axis = 1)");
    assert_true(holds(f, program));
    float b[24][4];
    int32_t best[24];
    for (int i = 0; i < 24; i++) { /* two close ones, in one row only */
        best[i] = i % 3;
        for (int j = 0; j < 4; j++)
            b[i][j] = j == best[i] ? 5 : (float)j;
    }
    b[7][3] = nextafterf(5, 0);
    f->count = 0;
    give_int(f, 24);
    give(f, b);
    give(f, best);
    best[7] = 3;
    snprintf(program, sizeof program, text, "argmax(A + 1, axis = 1)");
    assert_true(holds(f, program));
    assert_int_equal(f->report.undecided, 1);
    best[8] = 1;
    assert_false(holds(f, program));
}

static void test_half_or_more_undecided_is_no_verdict(void **state)
{
    struct fixture *f = *state;
    float a[2] = {1.1f, 1.3f}, b[2] = {1.1f * 1.1f, 1.3f * 1.3f}, c[2] = {5, 6};
    give_int(f, 2);
    give(f, a);
    give(f, b);
    give(f, c);
    assert_false(evaluate(f, ELEMENTWISE("f32", "1 / (A * A - B)")));
    assert_non_null(strstr(f->report.message, "rounding"));
}

/* --- NaN, infinity, overflow --- */

static void test_nan_and_infinity(void **state)
{
    struct fixture *f = *state;
    float a[3] = {-1, 0, INFINITY}, b[3] = {0}, c[3] = {NAN, -INFINITY, INFINITY};
    const char *text = ELEMENTWISE("f32", "log(A)");
    give_int(f, 3);
    give(f, a);
    give(f, b);
    give(f, c);
    assert_true(holds(f, text));
    c[0] = 0;
    assert_false(holds(f, text));
    c[0] = NAN;
    c[1] = INFINITY;
    assert_false(holds(f, text));
    c[1] = -INFINITY;
    c[2] = NAN;
    assert_false(holds(f, text));
    assert_true(isinf(f->report.max_error));
}

static void test_overflow_of_the_view(void **state)
{
    struct fixture *f = *state;
    uint16_t a[2] = {f32_to_f16(300), f32_to_f16(255)}, b[2] = {f32_to_f16(300), f32_to_f16(257)};
    uint16_t c[2] = {f32_to_f16(INFINITY), f32_to_f16(65504)}; /* 255 * 257 = 65535 */
    const char *text = ELEMENTWISE("f16", "A * B");
    give_int(f, 2);
    give(f, a);
    give(f, b);
    give(f, c);
    assert_true(holds(f, text));
    c[1] = f32_to_f16(INFINITY);
    assert_true(holds(f, text));
    c[0] = f32_to_f16(65504); /* 90000 cannot round to 65504 */
    assert_false(holds(f, text));
    c[0] = f32_to_f16(-INFINITY);
    assert_false(holds(f, text));
}

/* An explicit cast overflows in its own type, even if the view could hold the value. */
static void test_overflow_of_a_cast(void **state)
{
    struct fixture *f = *state;
    float a[2] = {1e5f, 1}, b[2] = {0}, c[2] = {INFINITY, 1};
    const char *text = ELEMENTWISE("f32", "(f16) A");
    give_int(f, 2);
    give(f, a);
    give(f, b);
    give(f, c);
    assert_true(holds(f, text));
    c[0] = 1e5f;
    assert_false(holds(f, text));
}

/* A kernel may get an infinity in an intermediate value, and then NaN, where doubles do not. */
static void test_overflow_on_the_way(void **state)
{
    struct fixture *f = *state;
    static float a[40], b[40], c[40];
    for (int i = 0; i < 40; i++) {
        a[i] = i == 0 ? 3e30f : (float)i / 40;
        c[i] = cosf(a[i] * a[i]);
    }
    assert_true(isnan(c[0]));
    give_int(f, 40);
    give(f, a);
    give(f, b);
    give(f, c);
    assert_true(holds(f, ELEMENTWISE("f32", "cos(A * A)")));
    assert_int_equal(f->report.undecided, 1);
    c[1] = NAN;
    assert_false(holds(f, ELEMENTWISE("f32", "cos(A * A)")));
}

/* 3e38 + 3e38 - 3e38 is infinite in one order and 3e38 in another. */
static void test_overflow_of_a_part_of_a_sum(void **state)
{
    struct fixture *f = *state;
    static float a[40 * 3] = {3e38f, 3e38f, -3e38f, 3e38f, 3e38f, 3e38f}, b[3] = {1, 1, 1}, c[40];
    c[0] = c[1] = INFINITY;
    give_int(f, 40);
    give(f, a);
    give(f, b);
    give(f, c);
#define ROWS_OF_THREE(expression)                                                                  \
    "kernel k(i32 m, const f32 *a, const f32 *b, f32 *c) grid(1) warps(1)\n{\n"                    \
    "    global f32 A[m][3] = a, B[3][1] = b, C[m][1] = c;\n    ensures C == " expression ";\n}\n"
    for (int i = 0; i < 2; i++) {
        assert_true(holds(f, ROWS_OF_THREE("dot(A, B)")));
        assert_int_equal(f->report.undecided, 1);
        assert_true(holds(f, ROWS_OF_THREE("sum(A, axis = 1)")));
        c[0] = 3e38f;
    }
    c[1] = 3e38f; /* 9e38 is infinite in any order */
    assert_false(holds(f, ROWS_OF_THREE("dot(A, B)")));
    assert_false(holds(f, ROWS_OF_THREE("sum(A, axis = 1)")));
}

/* A division by zero is allowed where `where` does not choose its result. */
static void test_division_by_zero_that_is_not_chosen(void **state)
{
    struct fixture *f = *state;
    int32_t a[2] = {7, 7}, b[2] = {2, 0}, c[2] = {3, -1};
    give_int(f, 2);
    give(f, a);
    give(f, b);
    give(f, c);
    assert_true(holds(f, ELEMENTWISE("i32", "where(B != 0, A / B, -1)")));
    assert_int_equal(f->report.undecided, 0);
    c[1] = 0;
    assert_false(holds(f, ELEMENTWISE("i32", "where(B != 0, A / B, -1)")));
}

/* --- a kernel does not pass if nothing was judged --- */

static void test_few_may_be_undecided(void **state)
{
    struct fixture *f = *state;
    static float a[100], b[100], c[100];
    for (int i = 0; i < 100; i++)
        c[i] = i < 5 ? 12345 : 0.5f;
    for (int i = 0; i < 100; i++)
        a[i] = i < 5 ? 3e20f : 1; /* squared it overflows */
    const char *text = ELEMENTWISE("f32", "1 / (1 + A * A)");
    give_int(f, 100);
    give(f, a);
    give(f, b);
    give(f, c);
    assert_true(holds(f, text));
    assert_int_equal(f->report.undecided, 5);
    a[5] = 3e20f;
    assert_false(evaluate(f, text));
    assert_non_null(strstr(f->report.message, "6 of 100 elements of `C`"));
    c[50] = 2; /* wrong elements are reported nevertheless */
    assert_false(holds(f, text));
    assert_int_equal(f->report.at[0], 50);
}

static void test_nothing_compared_is_no_verdict(void **state)
{
    struct fixture *f = *state;
    float a[4] = {1, 2, 3, 4}, b[4], c[4] = {1, 2, 3, 4};
    give_int(f, 4);
    give(f, a);
    give(f, b);
    give(f, c);
#define OUTSIDE(what)                                                                              \
    "kernel k(i32 m, const f32 *a, const f32 *b, f32 *c) grid(1) warps(1)\n{\n"                    \
    "    global f32 A[m] = a, C[m] = c;\n    ensures " what ";\n}\n"
    assert_false(evaluate(f, OUTSIDE("C[10 +: 4] == A")));
    assert_non_null(strstr(f->report.message, "no element of `C`"));
    assert_false(evaluate(f, OUTSIDE("for (i32 i < m - 4) C[i] == A[i]")));
    assert_true(holds(f, OUTSIDE("C[2 +: 4] == A[2 +: 4]")));
    assert_int_equal(f->report.checked, 2);
    f->args[0].scalar.i = 0;
    assert_true(holds(f, OUTSIDE("C == A")));
}

/* --- shapes, one expression each: A is 2×3 with 1 … 6, the result is given --- */

static void check_shape(struct fixture *f, const char *shape, const char *expression,
                        const float *want, int count)
{
    float a[6] = {1, 2, 3, 4, 5, 6}, c[24];
    char text[1024];
    snprintf(text, sizeof text,
             "kernel k(i32 m, i32 n, const f32 *a, f32 *c) grid(1) warps(1)\n"
             "{\n"
             "    global f32 A[m][n] = a, C%s = c;\n"
             "    ensures C == %s;\n"
             "}\n",
             shape, expression);
    memcpy(c, want, sizeof *want * (size_t)count);
    f->count = 0;
    give_int(f, 2);
    give_int(f, 3);
    give(f, a);
    f->args[f->count++] = (struct cpu_argument){.data = c, .bytes = sizeof *c * (size_t)count};
    if (!holds(f, text))
        fail_msg("%s: at %d got %g, expected %g", expression, (int)f->report.at[0], f->report.got,
                 f->report.want);
    c[count - 1] += 1;
    if (holds(f, text))
        fail_msg("%s: a wrong value was not seen", expression);
}

#define SHAPE(f, shape, expression, ...)                                                           \
    check_shape(f, shape, expression, (const float[]){__VA_ARGS__},                                \
                (int)(sizeof((const float[]){__VA_ARGS__}) / sizeof(float)))

static void test_shapes(void **state)
{
    struct fixture *f = *state;
    SHAPE(f, "[n][m]", "trans(A)", 1, 4, 2, 5, 3, 6);
    SHAPE(f, "[m][1]", "sum(A, axis = 1)", 6, 15);
    SHAPE(f, "[1][n]", "max(A, axis = 0)", 4, 5, 6);
    SHAPE(f, "[m][n]", "A - min(A)", 0, 1, 2, 3, 4, 5);
    SHAPE(f, "[m][n]", "scan(add, A, axis = 1)", 1, 3, 6, 4, 9, 15);
    SHAPE(f, "[m][n]", "scan(mul, A, axis = 0, exclusive = true)", 1, 1, 1, 1, 2, 3);
    SHAPE(f, "[2][2]", "A[0 +: 2][2 +: 2]", 3, 0, 6, 0);
    SHAPE(f, "[2][2]", "(A[0 +: 2][2 +: 2] else -1)", 3, -1, 6, -1);
    SHAPE(f, "[n]", "A[1]", 4, 5, 6);
    SHAPE(f, "[m][n]", "iota(1, n) + 10 * iota(m, 1)", 0, 1, 2, 10, 11, 12);
    SHAPE(f, "[m][n]", "where(any(A > 5, axis = 1), A, 0)", 0, 0, 0, 4, 5, 6);
    SHAPE(f, "[m][n]", "sum(A) > 20 ? A : -A", 1, 2, 3, 4, 5, 6);
    SHAPE(f, "[3][2]", "reshape(A[0 +: 2][0 +: 3], 3, 2)", 1, 2, 3, 4, 5, 6);
    SHAPE(f, "[2][4]", "repeat(A[0 +: 2][0 +: 2], 1, 2)", 1, 2, 1, 2, 4, 5, 4, 5);
    SHAPE(f, "[2][4]", "repeat_interleave(A[0 +: 2][0 +: 2], 1, 2)", 1, 1, 2, 2, 4, 4, 5, 5);
    SHAPE(f, "[2][3]", "broadcast(A[1 +: 1][0 +: 3], 2, 3)", 4, 5, 6, 4, 5, 6);
    SHAPE(f, "[m][m]", "dot(A, trans(A), trans(A[0 +: 2][0 +: 2]))", 15, 36, 34, 82);
    SHAPE(f, "[m][n]", "clip(A, 2, 4)", 2, 2, 3, 4, 4, 4);
    SHAPE(f, "[m][n]", "A % 3", 1, 2, 0, 1, 2, 0);
    SHAPE(f, "[m][n]", "round(A / 3)", 0, 1, 1, 1, 2, 2);
    SHAPE(f, "[m][n]", "bits<f32>(bits<i32>(A) ^ 0)", 1, 2, 3, 4, 5, 6);
    SHAPE(f, "[m][n]", "(f32) (i8) (A * 50)", 50, 100, 127, 127, 127, 127);
}

static void test_over_and_gather(void **state)
{
    struct fixture *f = *state;
    float x[2 * 3] = {1, 2, 3, 4, 5, 6}, c[2 * 3] = {6, 5, 4, 3, 2, 1};
    int32_t order[3] = {2, 1, 0};
    const char *text = "kernel k(i32 heads, i32 n, const f32 *x, const i32 *order, f32 *c)\n"
                       "    grid(1) warps(1)\n"
                       "{\n"
                       "    global f32 X[heads][n] = x, C[heads][n] = c;\n"
                       "    global i32 Order[n] = order;\n"
                       "    ensures for (i32 h < heads) C[heads - 1 - h] == X[h][Order[:]];\n"
                       "}\n";
    give_int(f, 2);
    give_int(f, 3);
    give(f, x);
    give(f, order);
    give(f, c);
    assert_true(holds(f, text));
    assert_int_equal(f->report.checked, 6);
    c[4] = 7;
    assert_false(holds(f, text));
    assert_int_equal(f->report.at[0], 1);
    assert_int_equal(f->report.at[1], 1);
}

static void test_strided_views(void **state)
{
    struct fixture *f = *state;
    float x[2 * 4] = {1, 2, 3, 99, 4, 5, 6, 99}, c[6] = {1, 4, 2, 5, 3, 6};
    give_int(f, 2);
    give_int(f, 3);
    give_int(f, 4);
    give(f, x);
    give(f, c);
    assert_true(holds(f, "kernel k(i32 m, i32 n, i32 ld, const f32 *x, f32 *c) grid(1) warps(1)\n"
                         "{\n"
                         "    global f32 X[m][n] = x strides(ld, 1), C[n][m] = c;\n"
                         "    ensures C == trans(X);\n"
                         "}\n"));
    f->args[2].scalar.i = 6;
    assert_false(evaluate(f, "kernel k(i32 m, i32 n, i32 ld, const f32 *x, f32 *c)\n"
                             "    grid(1) warps(1)\n"
                             "{\n"
                             "    global f32 X[m][n] = x strides(ld, 1), C[n][m] = c;\n"
                             "    ensures C == trans(X);\n"
                             "}\n"));
    assert_non_null(strstr(f->report.message, "beyond"));
}

static void test_fn_and_scalars(void **state)
{
    struct fixture *f = *state;
    float x[3] = {-1, 0, 2}, c[3];
    for (int i = 0; i < 3; i++)
        c[i] = x[i] / (1 + expf(-1.5f * x[i]));
    const char *text = "fn reg f32[N] silu(reg f32 x[N], f32 beta)\n"
                       "{\n"
                       "    return x / (1 + exp(-beta * x));\n"
                       "}\n"
                       "kernel k(i32 n, f32 beta, const f32 *x, f32 *c) grid(1) warps(1)\n"
                       "{\n"
                       "    global f32 X[n] = x, C[n] = c;\n"
                       "    ensures C == silu(X, beta);\n"
                       "}\n";
    give_int(f, 3);
    give_float(f, 1.5);
    give(f, x);
    give(f, c);
    assert_true(holds(f, text));
    c[2] *= 1.00001f;
    assert_false(holds(f, text));
}

/* The argument of a fn replaces its parameter everywhere; it is evaluated once. */
static void test_twins(void **state)
{
    struct fixture *f = *state;
    float a[4] = {1, 2, 3, 4}, c[4];
    const char *text =
        "fn reg f32[M][N] twice(reg f32 x[M][N])\n"
        "{\n"
        "    return x * x + x + 0 * exp(x) * exp(x);\n"
        "}\n"
        "kernel k(const f32 *a, f32 *c) grid(1) warps(1)\n"
        "{\n"
        "    global f32 A[2][2] = a, C[2][2] = c;\n"
        "    ensures for (i32 i < 2) C[i +: 1][0 +: 2] == twice(sum(A[i +: 1][0 +: 2]\n"
        "            * where(iota(2, 1) == i, 1, A), axis = 0));\n"
        "}\n";
    give(f, a);
    give(f, c);
    /* row 0: sums of (1, 2) * ((1, 1), (3, 4)); row 1: sums of (3, 4) * ((1, 2), (1, 1)) */
    const float sums[4] = {4, 10, 6, 12};
    for (int i = 0; i < 4; i++)
        c[i] = sums[i] * sums[i] + sums[i];
    assert_true(holds(f, text));
    c[3] += 0.01f;
    assert_false(holds(f, text));
    assert_int_equal(f->report.at[0], 1);
}

static void test_shape_mismatch_is_told(void **state)
{
    struct fixture *f = *state;
    float a[2] = {0}, c[3] = {0};
    give_int(f, 2);
    give_int(f, 3);
    give(f, a);
    give(f, c);
    assert_false(evaluate(f, "kernel k(i32 m, i32 n, const f32 *a, f32 *c) grid(1) warps(1)\n"
                             "{\n"
                             "    global f32 A[m] = a, C[n] = c;\n"
                             "    ensures C == A;\n"
                             "}\n"));
    assert_non_null(strstr(f->report.message, "f32[3]"));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, ensures_setup, ensures_teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_copy_is_exact),
        TEST(test_sum_has_rounding),
        TEST(test_integers_wrap),
        TEST(test_large_integers_are_told_apart),
        TEST(test_unsigned),
        TEST(test_division_by_zero_cannot_be_evaluated),
        TEST(test_where_admits_both_sides_within_the_error),
        TEST(test_exact_comparisons_are_decided),
        TEST(test_places_of_extremes),
        TEST(test_half_or_more_undecided_is_no_verdict),
        TEST(test_nan_and_infinity),
        TEST(test_overflow_of_the_view),
        TEST(test_overflow_of_a_cast),
        TEST(test_overflow_on_the_way),
        TEST(test_overflow_of_a_part_of_a_sum),
        TEST(test_division_by_zero_that_is_not_chosen),
        TEST(test_few_may_be_undecided),
        TEST(test_nothing_compared_is_no_verdict),
        TEST(test_shapes),
        TEST(test_over_and_gather),
        TEST(test_strided_views),
        TEST(test_fn_and_scalars),
        TEST(test_twins),
        TEST(test_shape_mismatch_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
