/* Constant values: wrapping, rounding, division, shifts, lazy evaluation; helpers of build,
 * walk, ops. */
#include "tile/tile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

static jmp_buf failed;
static struct arena arena;
static struct kernel *k;

static int set_up(void **state)
{
    (void)state;
    arena_init(&arena, &allocator_libc, &failed);
    k = kernel_new(&arena, "k", LOC_NONE);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    arena_free(&arena);
    return 0;
}

static struct literal lit_i(int64_t i)
{
    return (struct literal){.i = i};
}

static struct literal lit_f(double f)
{
    return (struct literal){.is_float = true, .f = f};
}

static int64_t int2(enum op op, enum dtype t, int64_t a, int64_t b)
{
    struct literal args[] = {lit_i(a), lit_i(b)}, out = lit_f(0);
    assert_true(eval_op(op, t, args, 2, &out));
    assert_false(out.is_float);
    return out.i;
}

static int64_t int1(enum op op, enum dtype t, int64_t a)
{
    struct literal args[] = {lit_i(a)}, out = lit_f(0);
    assert_true(eval_op(op, t, args, 1, &out));
    assert_false(out.is_float);
    return out.i;
}

static double float_op(enum op op, enum dtype t, double a, double b, double c)
{
    struct literal args[] = {lit_f(a), lit_f(b), lit_f(c)}, out = lit_i(0);
    assert_true(eval_op(op, t, args, op_table[op].arity, &out));
    assert_true(out.is_float);
    return out.f;
}

static void integers_wrap(void **state)
{
    (void)state;
    assert_int_equal(int2(OP_ADD, DT_I32, INT32_MAX, 1), INT32_MIN);
    assert_int_equal(int2(OP_SUB, DT_U32, 0, 1), 0xffffffff);
    assert_int_equal(int2(OP_MUL, DT_I16, 300, 300), (int16_t)(90000 - 65536));
    assert_int_equal(int2(OP_MUL, DT_U8, 16, 17), 16);
    assert_true(int2(OP_ADD, DT_I64, INT64_MAX, 1) == INT64_MIN);
    assert_true(int2(OP_MUL, DT_I64, INT64_MIN, -1) == INT64_MIN);
    assert_int_equal(int1(OP_NEG, DT_I8, -128), -128);
    assert_int_equal(int1(OP_ABS, DT_I32, INT32_MIN), INT32_MIN);
    assert_int_equal(int1(OP_NEG, DT_U16, 1), 65535);
    assert_int_equal(int1(OP_SQUARE, DT_I8, 12), -112);
    assert_int_equal(int1(OP_INVERT, DT_U8, 5), 250);
    assert_int_equal(int1(OP_INVERT, DT_BOOL, 1), 0);
    assert_int_equal(int2(OP_ADD, DT_BOOL, 1, 1), 2); /* bool counts as i32 */
    struct literal three[] = {lit_i(100), lit_i(2), lit_i(100)}, out;
    assert_true(eval_op(OP_FMA, DT_I8, three, 3, &out));
    assert_int_equal(out.i, 44);
}

static void integer_division(void **state)
{
    (void)state;
    struct literal zero[] = {lit_i(1), lit_i(0)}, out;
    const enum op dividing[] = {OP_DIV, OP_REM, OP_CDIV};
    for (int i = 0; i < 3; i++) {
        assert_false(eval_op(dividing[i], DT_I32, zero, 2, &out));
        assert_false(eval_op(dividing[i], DT_U64, zero, 2, &out));
    }
    assert_int_equal(int2(OP_DIV, DT_I32, -7, 2), -3);
    assert_int_equal(int2(OP_REM, DT_I32, -7, 2), -1);
    assert_int_equal(int2(OP_REM, DT_I32, 7, -2), 1);
    assert_int_equal(int2(OP_DIV, DT_I32, INT32_MIN, -1), INT32_MIN);
    assert_int_equal(int2(OP_REM, DT_I32, INT32_MIN, -1), 0);
    assert_true(int2(OP_DIV, DT_I64, INT64_MIN, -1) == INT64_MIN);
    assert_int_equal(int2(OP_REM, DT_I64, INT64_MIN, -1), 0);
    assert_true(int2(OP_DIV, DT_U64, -1, 2) == INT64_MAX);
    assert_int_equal(int2(OP_REM, DT_U64, -1, 10), 5);
    assert_int_equal(int2(OP_CDIV, DT_I32, 7, 2), 4);
    assert_int_equal(int2(OP_CDIV, DT_I32, 8, 2), 4);
    assert_int_equal(int2(OP_CDIV, DT_I32, -7, 2), -3);
    assert_int_equal(int2(OP_CDIV, DT_I32, -7, -2), 4);
    assert_int_equal(int2(OP_CDIV, DT_I32, INT32_MAX, 2), 1 << 30); /* no intermediate overflow */
    assert_true((uint64_t)int2(OP_CDIV, DT_U64, -1, 2) == 0x8000000000000000u);
}

static void shifts_clamp(void **state)
{
    (void)state;
    assert_int_equal(int2(OP_SHL, DT_I32, 1, 31), INT32_MIN);
    assert_int_equal(int2(OP_SHL, DT_I32, 1, 32), 0);
    assert_int_equal(int2(OP_SHL, DT_I32, 1, -1), 0);
    assert_int_equal(int2(OP_SHL, DT_U8, 255, 7), 128);
    assert_int_equal(int2(OP_SHR, DT_I32, -8, 1), -4);
    assert_int_equal(int2(OP_SHR, DT_I32, -8, 32), -1);
    assert_int_equal(int2(OP_SHR, DT_I32, -8, -1), -1);
    assert_int_equal(int2(OP_SHR, DT_I32, 8, 99), 0);
    assert_int_equal(int2(OP_SHR, DT_U32, 0xffffffff, 31), 1);
    assert_int_equal(int2(OP_SHR, DT_U32, 0xffffffff, 32), 0);
    assert_true(int2(OP_SHR, DT_I64, INT64_MIN, 64) == -1);
    assert_true(int2(OP_SHR, DT_U64, -1, 63) == 1);
    assert_int_equal(int2(OP_SHL, DT_I8, 1, 256), 0); /* the amount is not wrapped to i8 */
}

static void integer_choices(void **state)
{
    (void)state;
    assert_int_equal(int2(OP_MIN, DT_I64, -1, 1), -1);
    assert_int_equal(int2(OP_MIN, DT_U64, -1, 1), 1);
    assert_true(int2(OP_MAX, DT_U64, -1, 1) == -1);
    assert_int_equal(int2(OP_LT, DT_I64, -1, 0), 1);
    assert_int_equal(int2(OP_LT, DT_U64, -1, 0), 0);
    assert_int_equal(int2(OP_GE, DT_I32, 3, 3), 1);
    assert_int_equal(int1(OP_POW2_CEIL, DT_I32, -5), 1);
    assert_int_equal(int1(OP_POW2_CEIL, DT_I32, 1), 1);
    assert_int_equal(int1(OP_POW2_CEIL, DT_I32, 33), 64);
    assert_int_equal(int1(OP_POW2_CEIL, DT_I32, 64), 64);
    struct literal clip[] = {lit_i(9), lit_i(0), lit_i(5)}, out;
    assert_true(eval_op(OP_CLIP, DT_I32, clip, 3, &out));
    assert_int_equal(out.i, 5);
    struct literal where[] = {lit_i(0), lit_i(7), lit_i(8)};
    assert_true(eval_op(OP_WHERE, DT_I32, where, 3, &out));
    assert_int_equal(out.i, 8);
}

static uint64_t next_random(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return *seed ^ *seed >> 29;
}

static float random_float(uint64_t *seed)
{
    uint32_t bits = (uint32_t)(next_random(seed) >> 32);
    if (next_random(seed) & 1) /* near 1, so that sums round */
        bits = (bits & 0x80ffffffu) | 0x3f000000u;
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static void check_float(double got, float want)
{
    if (isnan(want))
        assert_true(isnan(got));
    else
        assert_true(got == (double)want && !signbit(got) == !signbit(want));
}

/* Compares with the machine's own f32 arithmetic. */
static void f32_rounds_once(void **state)
{
    (void)state;
    uint64_t seed = 7;
    for (int i = 0; i < 200000; i++) {
        float a = random_float(&seed), b = random_float(&seed), c = random_float(&seed);
        double x = (double)a, y = (double)b, z = (double)c;
        check_float(float_op(OP_ADD, DT_F32, x, y, z), a + b);
        check_float(float_op(OP_SUB, DT_F32, x, y, z), a - b);
        check_float(float_op(OP_MUL, DT_F32, x, y, z), a * b);
        check_float(float_op(OP_DIV, DT_F32, x, y, z), a / b);
        check_float(float_op(OP_REM, DT_F32, x, y, z), fmodf(a, b));
        check_float(float_op(OP_SQRT, DT_F32, x, y, z), sqrtf(a));
        check_float(float_op(OP_FMA, DT_F32, x, y, z), fmaf(a, b, c));
    }
}

static void fma_of_small_types_rounds_once(void **state)
{
    (void)state;
    /* The product is half way between two values; a part too small for a double decides. */
    double a = 1 + 0x1p-10, tie;
    assert_true(float_op(OP_FMA, DT_F16, a, 0x1p-11, 1) == 1 + 0x1p-10);
    assert_true(float_op(OP_FMA, DT_F16, 1, 0x1p-11, 1) == 1);
    a = 1 + 0x1p-4;
    tie = a * a; /* bf16: 1 + 16/128 + 1/256 */
    assert_true(float_op(OP_FMA, DT_BF16, a, a, 0) == tie - 0x1p-8);
    assert_true(float_op(OP_FMA, DT_BF16, a, a, 0x1p-60) == tie + 0x1p-8);
    assert_true(float_op(OP_FMA, DT_BF16, a, a, -0x1p-60) == tie - 0x1p-8);
    assert_true(float_op(OP_FMA, DT_BF16, a, -a, -0x1p-60) == -tie - 0x1p-8);
    a = 1 + 0x1p-12;
    tie = a * a; /* f32 */
    assert_true(float_op(OP_FMA, DT_F32, a, a, 0) == tie - 0x1p-24);
    assert_true(float_op(OP_FMA, DT_F32, a, a, 0x1p-80) == tie + 0x1p-24);
    assert_true(float_op(OP_FMA, DT_F32, a, a, -0x1p-80) == tie - 0x1p-24);
    assert_true(float_op(OP_FMA, DT_F64, 0x1.0000000000001p0, 0x1.0000000000001p0, -1) ==
                fma(0x1.0000000000001p0, 0x1.0000000000001p0, -1));
}

/* Every op on f16 must give an f16 value: rounding it again changes nothing. */
static void results_are_values_of_the_type(void **state)
{
    (void)state;
    const enum op ops[] = {OP_ADD, OP_MUL,  OP_DIV,   OP_EXP,   OP_TANH,    OP_RSQRT, OP_ERF,
                           OP_SIN, OP_ERFC, OP_EXPM1, OP_LOG1P, OP_SIGMOID, OP_POW};
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        double v = float_op(ops[i], DT_F16, 0.333251953125, 0.7001953125, 0);
        assert_true((double)f16_to_f32(f64_to_f16(v)) == v);
        v = float_op(ops[i], DT_BF16, 0.333984375, 0.69921875, 0);
        assert_true((double)bf16_to_f32(f64_to_bf16(v)) == v);
    }
    assert_true(float_op(OP_ADD, DT_F16, 2048, 1, 0) == 2048);
    assert_true(isinf(float_op(OP_MUL, DT_F16, 300, 300, 0)));
}

static void numbers_win_over_nan(void **state)
{
    (void)state;
    const double nan_value = (double)NAN;
    assert_true(float_op(OP_MIN, DT_F32, nan_value, 2, 0) == 2);
    assert_true(float_op(OP_MAX, DT_F32, 2, nan_value, 0) == 2);
    assert_true(isnan(float_op(OP_MAX, DT_F32, nan_value, nan_value, 0)));
    assert_true(signbit(float_op(OP_MIN, DT_F32, 0.0, -0.0, 0)));
    assert_false(signbit(float_op(OP_MAX, DT_F32, -0.0, 0.0, 0)));
    assert_true(float_op(OP_CLIP, DT_F32, 7, -1, 1) == 1);
    assert_true(float_op(OP_CLIP, DT_F32, nan_value, -1, 1) == -1);
    struct literal args[] = {lit_f(nan_value), lit_f(nan_value)}, out;
    assert_true(eval_op(OP_EQ, DT_F32, args, 2, &out) && out.i == 0);
    assert_true(eval_op(OP_NE, DT_F32, args, 2, &out) && out.i == 1);
    assert_true(eval_op(OP_LE, DT_F32, args, 2, &out) && out.i == 0);
    assert_true(float_op(OP_ROUND, DT_F32, 2.5, 0, 0) == 2);
    assert_true(float_op(OP_ROUND, DT_F32, -3.5, 0, 0) == -4);
    assert_true(isinf(float_op(OP_DIV, DT_F32, 1, 0, 0)));
}

static void not_foldable(void **state)
{
    (void)state;
    struct literal args[] = {lit_f(1), lit_f(2), lit_f(3)}, out;
    assert_false(eval_op(OP_SHL, DT_F32, args, 2, &out));
    assert_false(eval_op(OP_CDIV, DT_F32, args, 2, &out));
    assert_false(eval_op(OP_ADD, DT_F32, args, 1, &out));
    assert_false(eval_op(OP_REDUCE_SUM, DT_F32, args, 1, &out));
    assert_false(eval_op(OP_PHILOX, DT_U32, args, 2, &out));
    assert_false(eval_op(OP_LITERAL, DT_I32, args, 0, &out));
    assert_false(eval_op(OP_SYNC, DT_I32, args, 0, &out));
}

static void casts(void **state)
{
    (void)state;
    struct literal x = lit_f(-1.75);
    assert_int_equal(eval_cast(DT_I32, DT_F32, &x).i, -1);
    assert_int_equal(eval_cast(DT_U8, DT_F32, &x).i, 0);
    assert_int_equal(eval_cast(DT_BOOL, DT_F32, &x).i, 1);
    x = lit_f((double)NAN);
    assert_int_equal(eval_cast(DT_I64, DT_F32, &x).i, 0);
    assert_int_equal(eval_cast(DT_BOOL, DT_F32, &x).i, 1); /* NaN is not 0 */
    x = lit_f(1e10);
    assert_int_equal(eval_cast(DT_I32, DT_F64, &x).i, INT32_MAX);
    assert_true(isinf(eval_cast(DT_F16, DT_F64, &x).f));
    x = lit_i(300);
    assert_int_equal(eval_cast(DT_I8, DT_I32, &x).i, 44);
    x = lit_i(16777217);
    assert_true(eval_cast(DT_F32, DT_I32, &x).f == 16777216);
    x = lit_i(-1);
    assert_true(eval_cast(DT_F32, DT_U64, &x).f == 0x1p64);
    assert_true(eval_cast(DT_F64, DT_U64, &x).f == 0x1p64);
    assert_true(eval_cast(DT_F32, DT_I64, &x).f == -1);
    uint64_t middle = (1ull << 63) + (1ull << 39) + 1; /* just above the middle of two f32 */
    x = lit_i((int64_t)middle);
    assert_true(eval_cast(DT_F32, DT_U64, &x).f == 0x1.000002p63);
}

static struct expr *num(int64_t v)
{
    return expr_int(k, DT_I32, v, LOC_NONE);
}

static struct expr *binary(enum op op, enum dtype t, struct expr *a, struct expr *b)
{
    return expr_binary(k, op, type_scalar(t), LOC_NONE, a, b);
}

static void expressions_with_names(void **state)
{
    (void)state;
    int64_t v = 0;
    struct sym *bm = sym_new(k, "BM", ST_CONST, type_scalar(DT_I32), LOC_NONE);
    bm->value = lit_i(64);
    struct sym *m = sym_new(k, "m", ST_PARAM, type_scalar(DT_I32), LOC_NONE);
    struct sym *n = sym_new(k, "n", ST_PARAM, type_scalar(DT_I32), LOC_NONE);
    n->is_static = true;
    assert_int_equal(m->index, 0);
    assert_int_equal(n->index, 1);
    struct expr *ref_m = expr_ref(k, m, LOC_NONE);
    struct expr *grid = binary(OP_CDIV, DT_I32, ref_m, expr_ref(k, bm, LOC_NONE));
    assert_false(eval_int(grid, NULL, &v));
    struct literal values[] = {lit_i(130), lit_i(0)};
    bool known[] = {true, false};
    struct scalar_env env = {values, known, 2};
    assert_true(eval_int(grid, &env, &v));
    assert_int_equal(v, 3);
    assert_false(eval_int(expr_ref(k, n, LOC_NONE), &env, &v));
    n->has_value = true;
    n->value = lit_i(8);
    assert_true(eval_int(expr_ref(k, n, LOC_NONE), &env, &v));
    assert_int_equal(v, 8);
    env.count = 0;
    assert_false(eval_int(ref_m, &env, &v));
    struct sym *local = sym_new(k, "x", ST_SCALAR, type_scalar(DT_I32), LOC_NONE);
    assert_false(eval_int(expr_ref(k, local, LOC_NONE), NULL, &v));
    assert_false(eval_int(expr_float(k, DT_F32, 1, LOC_NONE), NULL, &v)); /* no integer */
}

static void lazy_operands(void **state)
{
    (void)state;
    int64_t v = -1;
    struct expr *bad = binary(OP_EQ, DT_BOOL, binary(OP_DIV, DT_I32, num(1), num(0)), num(1));
    struct expr *yes = expr_int(k, DT_BOOL, 1, LOC_NONE), *no = expr_int(k, DT_BOOL, 0, LOC_NONE);
    assert_true(eval_int(binary(OP_LAND, DT_BOOL, no, bad), NULL, &v) && v == 0);
    assert_true(eval_int(binary(OP_LOR, DT_BOOL, yes, bad), NULL, &v) && v == 1);
    assert_false(eval_int(binary(OP_LAND, DT_BOOL, yes, bad), NULL, &v));
    assert_false(eval_int(binary(OP_LAND, DT_BOOL, bad, no), NULL, &v));
    assert_true(eval_int(binary(OP_LAND, DT_BOOL, num(2), num(4)), NULL, &v) && v == 1);
    struct expr *select = expr_new(k, OP_SELECT, type_scalar(DT_I32), LOC_NONE, 3);
    select->args[0] = no;
    select->args[1] = bad;
    select->args[2] = num(5);
    assert_true(eval_int(select, NULL, &v) && v == 5);
    select->args[0] = yes;
    assert_false(eval_int(select, NULL, &v));
}

static void operands_are_joined(void **state)
{
    (void)state;
    struct literal out;
    int64_t v;
    struct expr *minus = num(-1), *wide = expr_int(k, DT_U64, 1, LOC_NONE);
    /* -1 as u64 is the largest: the comparison is that of C. */
    assert_true(eval_int(binary(OP_LT, DT_BOOL, minus, wide), NULL, &v) && v == 0);
    struct expr *small = expr_int(k, DT_U8, 255, LOC_NONE);
    assert_true(eval_int(binary(OP_ADD, DT_I32, small, num(1)), NULL, &v) && v == 256);
    assert_true(eval_int(binary(OP_ADD, DT_U8, small, expr_int(k, DT_U8, 1, LOC_NONE)), NULL, &v));
    assert_int_equal(v, 0);
    struct expr *tenth = expr_float(k, DT_F32, 0.1, LOC_NONE); /* rounded to its type */
    assert_true(eval_scalar(tenth, NULL, &out) && out.f == (double)0.1f);
    struct expr *root = expr_unary(k, OP_SQRT, type_scalar(DT_F32), LOC_NONE, num(2));
    assert_true(eval_scalar(root, NULL, &out) && out.f == (double)sqrtf(2));
    struct expr *one = expr_float(k, DT_F32, 1, LOC_NONE);
    struct expr *bits = expr_unary(k, OP_BITS, type_scalar(DT_U32), LOC_NONE, one);
    assert_true(eval_int(bits, NULL, &v) && v == 0x3f800000);
    bits = expr_unary(k, OP_BITS, type_scalar(DT_BF16), LOC_NONE,
                      expr_int(k, DT_I16, 0x3fc0, LOC_NONE));
    assert_true(eval_scalar(bits, NULL, &out) && out.f == 1.5);
    struct expr *shifted = binary(OP_SHL, DT_I32, num(1), expr_int(k, DT_I64, 1ll << 32, LOC_NONE));
    assert_true(eval_int(shifted, NULL, &v) && v == 0);
    struct expr *block = expr_new(k, OP_BLOCK, type_scalar(DT_I32), LOC_NONE, 0);
    assert_false(eval_int(binary(OP_ADD, DT_I32, block, num(1)), NULL, &v));
}

static void shapes_broadcast(void **state)
{
    (void)state;
    const int64_t row[] = {1, 8}, column[] = {4, 1}, line[] = {8}, other[] = {3, 8};
    const int64_t whole[] = {EXTENT_RUNTIME, 8};
    struct type a = type_tile(DT_F32, 2, row), b = type_tile(DT_F32, 2, column), out;
    assert_true(type_broadcast(&a, &b, &out));
    assert_string_equal(type_text(&arena, &out), "f32[4][8]");
    struct type c = type_tile(DT_F16, 1, line), d = type_tile(DT_F32, 2, other);
    assert_true(type_broadcast(&c, &d, &out));
    assert_string_equal(type_text(&arena, &out), "f16[3][8]");
    assert_false(type_broadcast(&b, &d, &out));
    struct type e = type_tile(DT_F32, 2, whole), s = type_scalar(DT_I32);
    assert_true(type_broadcast(&e, &d, &out));
    assert_int_equal(out.extent[0], 3);
    assert_true(type_broadcast(&e, &a, &out));
    assert_string_equal(type_text(&arena, &out), "f32[?][8]");
    assert_true(type_broadcast(&s, &s, &out));
    assert_string_equal(type_text(&arena, &out), "i32");
    assert_int_equal(type_elements(&d), 24);
    assert_int_equal(type_elements(&s), 1);
}

static void copies_are_deep_and_the_same(void **state)
{
    (void)state;
    const int64_t extents[] = {16, 16};
    struct sym *s = sym_new(k, "sa", ST_SHARED, type_tile(DT_F16, 2, extents), LOC_NONE);
    assert_int_equal(s->offset, -1);
    struct expr *x = expr_access(k, s, 2, LOC_NONE);
    x->index[0] = (struct index){.kind = IX_ELEMENT, .value = num(3)};
    x->index[1] = (struct index){.kind = IX_SLICE, .value = num(0), .extent = 4};
    x->otherwise = expr_float(k, DT_F16, (double)NAN, LOC_NONE);
    struct expr *copy = expr_copy(k, x);
    assert_true(expr_same(x, copy));
    assert_ptr_not_equal(x->index[0].value, copy->index[0].value);
    copy->index[0].value->literal.i = 4;
    assert_false(expr_same(x, copy));
    copy->index[0].value->literal.i = 3;
    copy->otherwise = NULL;
    assert_false(expr_same(x, copy));
    assert_false(
        expr_same(expr_float(k, DT_F32, 0.0, LOC_NONE), expr_float(k, DT_F32, -0.0, LOC_NONE)));
    assert_ptr_equal(expr_cast(k, x, DT_F16), x);
    assert_int_equal(expr_cast(k, x, DT_F32)->op, OP_CAST);
}

static void number_literals(void *user, struct expr **at)
{
    if ((*at)->op == OP_LITERAL)
        (*at)->literal.i = (*(int64_t *)user)++;
    else if ((*at)->op == OP_NEG)
        *at = (*at)->args[0];
}

static void walks_replace_in_order(void **state)
{
    (void)state;
    int64_t next = 0, v;
    struct expr *negative = expr_unary(k, OP_NEG, type_scalar(DT_I32), LOC_NONE, num(9));
    struct expr *root = binary(OP_SUB, DT_I32, num(9), binary(OP_MUL, DT_I32, negative, num(9)));
    root = expr_unary(k, OP_NEG, type_scalar(DT_I32), LOC_NONE, root);
    expr_walk(&root, number_literals, &next);
    assert_int_equal(next, 3);
    assert_true(eval_int(root, NULL, &v));
    assert_int_equal(v, 0 - 1 * 2);
}

static void note_kind(void *user, struct stmt *s)
{
    struct text *t = user;
    text_add_char(t, "=:a!if_w{bcre"[s->kind]);
}

static void note_roots(void *user, struct expr **root, bool is_target)
{
    struct text *t = user;
    text_printf(t, "%lld%s ", (long long)(*root)->literal.i, is_target ? "!" : "");
}

static void statements_in_program_order(void **state)
{
    (void)state;
    struct text t;
    struct stmt *loop = stmt_new(k, STMT_FOR, LOC_NONE);
    loop->init = stmt_new(k, STMT_DECL, LOC_NONE);
    loop->step = stmt_new(k, STMT_ASSIGN, LOC_NONE);
    loop->body = stmt_effect(k, OP_SYNC, LOC_NONE, NULL);
    loop->body->next = stmt_new(k, STMT_BREAK, LOC_NONE);
    loop->next = stmt_new(k, STMT_RETURN, LOC_NONE);
    text_init(&t, &arena);
    stmt_walk(loop, note_kind, &t);
    assert_int_equal(t.length, 6);
    const enum stmt_kind want[] = {STMT_FOR,   STMT_DECL,   STMT_EFFECT,
                                   STMT_BREAK, STMT_ASSIGN, STMT_RETURN};
    for (int i = 0; i < 6; i++)
        assert_int_equal(t.data[i], "=:a!if_w{bcre"[want[i]]);

    struct stmt *assign = stmt_new(k, STMT_ASSIGN, LOC_NONE);
    assign->target = num(1);
    assign->value = num(2);
    text_init(&t, &arena);
    stmt_expressions(assign, note_roots, &t);
    assert_string_equal(t.data, "2 1! ");
    assign->kind = STMT_ENSURES;
    assign->overs = 1;
    assign->bound[0] = num(3);
    text_init(&t, &arena);
    stmt_expressions(assign, note_roots, &t);
    assert_string_equal(t.data, "3 2 1 ");
}

static void the_table_of_ops(void **state)
{
    (void)state;
    assert_int_equal(op_by_text("+", FORM_INFIX, 2), OP_ADD);
    assert_int_equal(op_by_text("-", FORM_PREFIX, -1), OP_NEG);
    assert_int_equal(op_by_text("max", FORM_CALL, 2), OP_MAX);
    assert_int_equal(op_by_text("max", FORM_CALL, 1), OP_REDUCE_MAX);
    assert_int_equal(op_by_text("dot", FORM_CALL, 3), OP_DOT);
    assert_int_equal(op_by_text("", FORM_LEAF, 0), OP_COUNT);
    assert_int_equal(op_by_text("nothing", FORM_CALL, -1), OP_COUNT);
    for (int op = 0; op < OP_COUNT; op++) {
        bool infix = op_table[op].form == FORM_INFIX;
        assert_int_equal(op_precedence((enum op)op) > 0, infix);
    }
    assert_true(op_precedence(OP_MUL) > op_precedence(OP_ADD));
    k->warps = 4;
    assert_int_equal(kernel_block_threads(k), 128);
    k->threads[0] = 3;
    k->threads[1] = 5;
    assert_int_equal(kernel_block_threads(k), 15);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers_wrap),
        cmocka_unit_test(integer_division),
        cmocka_unit_test(shifts_clamp),
        cmocka_unit_test(integer_choices),
        cmocka_unit_test(f32_rounds_once),
        cmocka_unit_test(fma_of_small_types_rounds_once),
        cmocka_unit_test(results_are_values_of_the_type),
        cmocka_unit_test(numbers_win_over_nan),
        cmocka_unit_test(not_foldable),
        cmocka_unit_test(casts),
        TEST(expressions_with_names),
        TEST(lazy_operands),
        TEST(operands_are_joined),
        TEST(shapes_broadcast),
        TEST(copies_are_deep_and_the_same),
        TEST(walks_replace_in_order),
        TEST(statements_in_program_order),
        TEST(the_table_of_ops),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
