/* Elementwise ops as PTX, compared bit by bit with the routines of the CPU engine; with
 * TW_TEST_GPU in the environment they run on this machine's GPU. */
#include "scalar_helper.h"

#include "cpu/routines/routines.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLES = 1200, BYTES = 8 };
static const int target_list[] = {80, 86, 89, 90, 100, 120};

/* --- numbers --- */

static uint64_t state = 1;

static uint64_t random_bits(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return state ^ state >> 29;
}

static const double floats[] = {0,
                                -0.0,
                                1,
                                -1,
                                0.5,
                                1.5,
                                2.5,
                                -2.5,
                                0.1,
                                3,
                                1e-3,
                                65504,
                                65520,
                                1e5,
                                -32769,
                                127.5,
                                -128.5,
                                255.7,
                                2147483647,
                                -2147483649.0,
                                1e10,
                                0x1p63,
                                -0x1p63,
                                1e30,
                                1e-30,
                                0x1p-24,
                                0x1p-126,
                                0x1p-149,
                                0x1.8p-134,
                                0x1p-1074,
                                0x1.fffffep127,
                                1e300,
                                7,
                                1e-40};
static const int64_t integers[] = {
    0,         1,         -1,        2,          3,       -3,        7,         8,
    31,        32,        33,        63,         64,      100,       127,       128,
    255,       -128,      32767,     -32768,     65535,   INT32_MAX, INT32_MIN, UINT32_MAX,
    INT64_MAX, INT64_MIN, 0x1000001, 0x80000001, 1 << 24, 65536};

static double some_float(size_t i)
{
    size_t count = sizeof floats / sizeof floats[0];
    if (i < count)
        return floats[i];
    switch (i - count) {
    case 0: return (double)INFINITY;
    case 1: return -(double)INFINITY;
    case 2: return (double)NAN;
    default: break;
    }
    double v = (double)(int64_t)random_bits() * 0x1p-63;
    return i % 3 ? v * 100 : ldexp(v, (int)(random_bits() % 80) - 40);
}

static void some_element(enum dtype t, void *at, size_t i)
{
    size_t count = sizeof integers / sizeof integers[0];
    if (dtype_is_float(t) && i % 11 == 10) { /* any bits */
        uint64_t bits = random_bits();
        if (t == DT_TF32)
            bits &= 0xffffe000;
        memcpy(at, &bits, dtype_size(t));
    } else if (dtype_is_float(t)) {
        dtype_store_f64(t, at, some_float(i));
    } else {
        int64_t v = i < count ? integers[i] : (int64_t)(random_bits() >> random_bits() % 64);
        v = dtype_wrap(t, v);
        memcpy(at, &v, dtype_size(t)); /* low bytes first */
    }
}

/* Fills so that every special value meets every other, then with random values. */
static void fill(enum dtype t, void *array, int which)
{
    size_t side = 37, size = dtype_size(t);
    for (size_t i = 0; i < SAMPLES; i++) {
        size_t k = which == 0 ? i % side : which == 1 ? i / side : (i * 7 + i / side) % side;
        some_element(t, (char *)array + i * size, i < side * side ? k : i);
    }
}

static bool same(enum dtype t, const void *a, const void *b)
{
    if (dtype_is_float(t) && isnan(dtype_load_f64(t, a)) && isnan(dtype_load_f64(t, b)))
        return true;
    return memcmp(a, b, dtype_size(t)) == 0;
}

static const char *shown(enum dtype t, const void *at)
{
    static char text[4][64];
    static int next;
    char *to = text[next++ & 3];
    if (dtype_is_float(t))
        snprintf(to, sizeof text[0], "%a", dtype_load_f64(t, at));
    else
        snprintf(to, sizeof text[0], "%" PRId64, dtype_load_i64(t, at));
    return to;
}

static uint64_t arrays[SUBJECT_ARGS][SAMPLES], got[SAMPLES], expected[SAMPLES];

static void compare(const struct subject *s, int target)
{
    size_t size = dtype_size(s->result);
    for (size_t i = 0; i < SAMPLES; i++) {
        const char *g = (const char *)got + i * size, *e = (const char *)expected + i * size;
        if (same(s->result, g, e))
            continue;
        print_error("%s for sm_%d, element %zu:", s->name, target, i);
        for (int k = 0; k < s->count; k++)
            print_error(" %s",
                        shown(s->arg[k], (const char *)arrays[k] + i * dtype_size(s->arg[k])));
        fail_msg(" gives %s, not %s", shown(s->result, g), shown(s->result, e));
    }
}

/* --- results of the CPU engine --- */

static void convert(enum dtype to, enum dtype from, void *out, const void *in)
{
    routine_set_at(0)->convert->convert[to][from](out, in, SAMPLES);
}

static uint64_t widened[SUBJECT_ARGS][SAMPLES], computed[SAMPLES];

static void oracle(const struct subject *s)
{
    const struct routine_set *set = routine_set_at(0);
    const void *x[SUBJECT_ARGS] = {arrays[0], arrays[1], arrays[2]};
    enum compute c = routine_compute_of(s->t);
    enum dtype wide = routine_compute_dtype(c);
    elementwise_fn *f = routine_elementwise(set, s->op, c);
    if (s->op == OP_FMA && s->t == DT_F16)
        f = set->elementwise->fma_f16;
    if (s->op == OP_FMA && s->t == DT_BF16)
        f = set->elementwise->fma_bf16;
    if (s->op == OP_FMA && (s->t == DT_F16 || s->t == DT_BF16))
        wide = s->t;
    assert_non_null(f);
    for (int i = 0; i < s->count && wide != s->t; i++) {
        convert(wide, s->t, widened[i], arrays[i]);
        x[i] = widened[i];
    }
    enum dtype result = s->result == DT_BOOL ? DT_BOOL : wide;
    f(computed, x[0], x[1], x[2], SAMPLES);
    if (result != s->result)
        convert(s->result, result, expected, computed);
    else
        memcpy(expected, computed, sizeof expected);
}

/* --- ops of one type --- */

static const enum op all_ops[] = {
    OP_NEG,   OP_NOT,   OP_INVERT, OP_MUL,  OP_DIV,  OP_REM,      OP_ADD, OP_SUB,    OP_SHL,
    OP_SHR,   OP_LT,    OP_GT,     OP_LE,   OP_GE,   OP_EQ,       OP_NE,  OP_AND,    OP_XOR,
    OP_OR,    OP_LAND,  OP_LOR,    OP_FMA,  OP_MIN,  OP_MAX,      OP_ABS, OP_SQUARE, OP_CLIP,
    OP_ROUND, OP_FLOOR, OP_CEIL,   OP_SQRT, OP_CDIV, OP_POW2_CEIL};

/* Returns true if the target has the type: 8-bit floats begin with sm_89. */
static bool has_type(const struct bench *b, enum dtype t)
{
    return b->target.number >= 89 || (t != DT_E4M3 && t != DT_E5M2);
}

static bool takes(enum op op, enum dtype t)
{
    bool integer = dtype_is_int(t), is_float = dtype_is_float(t);
    switch (op_table[op].class) {
    case CLASS_LOGIC: return t == DT_BOOL;
    case CLASS_BITWISE: return integer || (t == DT_BOOL && op != OP_SHL && op != OP_SHR);
    case CLASS_FLOAT: return is_float;
    case CLASS_COMPARE: return true;
    default: return op == OP_CDIV || op == OP_POW2_CEIL ? integer : t != DT_BOOL;
    }
}

static struct subject subject_of(struct bench *b, enum op op, enum dtype t)
{
    struct subject s = {
        .emit = emit_op, .op = op, .t = t, .result = t, .count = op_table[op].arity};
    s.name = arena_printf(&b->arena, "%s_%s", op_table[op].id, dtype_table[t].name);
    s.arg[0] = s.arg[1] = s.arg[2] = t;
    if (op_table[op].class == CLASS_COMPARE)
        s.result = DT_BOOL;
    return s;
}

/* Division by 0 is undefined. */
static void avoid_zero(const struct subject *s)
{
    size_t size = dtype_size(s->t);
    for (size_t i = 0; i < SAMPLES; i++) {
        char *at = (char *)arrays[1] + i * size;
        if (dtype_is_int(s->t) && dtype_load_i64(s->t, at) == 0)
            *at = 5;
    }
}

static void try_op(struct bench *b, enum op op, enum dtype t)
{
    struct subject s = subject_of(b, op, t);
    const void *args[SUBJECT_ARGS] = {arrays[0], arrays[1], arrays[2]};
    for (int i = 0; i < s.count; i++)
        fill(t, arrays[i], i);
    if (op_divides(op))
        avoid_zero(&s);
    const struct ptx_function *f = bench_add(b, &s);
    bench_run(b, f, &s, got, args, SAMPLES, 0);
    oracle(&s);
    compare(&s, b->target.number);
}

static void ops_of_all_types(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < 2; i++) {
        struct bench b;
        bench_open(&b, i ? 90 : 80);
        for (size_t k = 0; k < sizeof all_ops / sizeof all_ops[0]; k++)
            for (enum dtype t = 0; t < DT_COUNT; t++)
                if (has_type(&b, t) && takes(all_ops[k], t))
                    try_op(&b, all_ops[k], t);
        bench_close(&b);
    }
}

/* --- casts --- */

static struct ptx_operand emit_cast(struct nvptx_scalars *out, const struct subject *s,
                                    const struct ptx_operand *args)
{
    return nvptx_cast(out, s->result, s->arg[0], args[0]);
}

static void casts(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < 2; i++) {
        struct bench b;
        bench_open(&b, i ? 90 : 80);
        for (enum dtype from = 0; from < DT_COUNT; from++)
            for (enum dtype to = 0; to < DT_COUNT; to++) {
                struct subject s = {.emit = emit_cast, .result = to, .arg = {from}, .count = 1};
                const void *args[1] = {arrays[0]};
                s.name = arena_printf(&b.arena, "%s_from_%s", dtype_table[to].name,
                                      dtype_table[from].name);
                if (to == from || !has_type(&b, to) || !has_type(&b, from))
                    continue;
                fill(from, arrays[0], 0);
                bench_run(&b, bench_add(&b, &s), &s, got, args, SAMPLES, 0);
                convert(to, from, expected, arrays[0]);
                compare(&s, b.target.number);
            }
        bench_close(&b);
    }
}

static struct ptx_operand emit_bits(struct nvptx_scalars *out, const struct subject *s,
                                    const struct ptx_operand *args)
{
    return nvptx_bits(out, s->result, s->arg[0], args[0]);
}

static void bits_keep_their_bits(void **unused)
{
    (void)unused;
    struct bench b;
    bench_open(&b, 80);
    for (enum dtype from = 0; from < DT_BOOL; from++)
        for (enum dtype to = 0; to < DT_BOOL; to++) {
            struct subject s = {.emit = emit_bits, .result = to, .arg = {from}, .count = 1};
            const void *args[1] = {arrays[0]};
            if (dtype_size(to) != dtype_size(from))
                continue;
            s.name = arena_printf(&b.arena, "%s_bits_of_%s", dtype_table[to].name,
                                  dtype_table[from].name);
            fill(from, arrays[0], 0);
            bench_run(&b, bench_add(&b, &s), &s, got, args, SAMPLES, 0);
            memcpy(expected, arrays[0], sizeof expected);
            compare(&s, 80);
        }
    bench_close(&b);
}

/* --- where, constants, words --- */

static void where_of_all_types(void **unused)
{
    (void)unused;
    struct bench b;
    bench_open(&b, 80);
    for (enum dtype t = 0; t < DT_COUNT; t++) {
        struct subject s = {.emit = emit_op, .op = OP_WHERE, .t = t, .result = t, .count = 3};
        const void *args[3] = {arrays[0], arrays[1], arrays[2]};
        s.name = arena_printf(&b.arena, "where_%s", dtype_table[t].name);
        s.arg[0] = DT_BOOL;
        s.arg[1] = s.arg[2] = t;
        fill(DT_BOOL, arrays[0], 2);
        fill(t, arrays[1], 0);
        fill(t, arrays[2], 1);
        bench_run(&b, bench_add(&b, &s), &s, got, args, SAMPLES, 0);
        size_t size = dtype_size(t);
        for (size_t i = 0; i < SAMPLES; i++) {
            const uint64_t *from = ((const uint8_t *)arrays[0])[i] ? arrays[1] : arrays[2];
            memcpy((char *)expected + i * size, (const char *)from + i * size, size);
        }
        compare(&s, 80);
    }
    bench_close(&b);
}

/* Takes the four bytes or two halves of a word apart, and puts them together. */
static struct ptx_operand emit_words(struct nvptx_scalars *out, const struct subject *s,
                                     const struct ptx_operand *args)
{
    struct ptx_operand e[4];
    nvptx_unpack(out, s->t, args[0], e);
    int count = 32 / dtype_table[s->t].bits;
    for (int i = 0; i < count; i++)
        e[i] = nvptx_op(out, THREAD_NEG, s->t, &e[i], 1);
    return nvptx_pack(out, s->t, e);
}

static void words(void **unused)
{
    (void)unused;
    struct bench b;
    bench_open(&b, 89);
    for (enum dtype t = 0; t < DT_BOOL; t++) {
        if (dtype_size(t) > 2)
            continue;
        struct subject s = {
            .emit = emit_words, .t = t, .result = DT_U32, .arg = {DT_U32}, .count = 1};
        const void *args[1] = {arrays[0]};
        s.name = arena_printf(&b.arena, "words_%s", dtype_table[t].name);
        for (size_t i = 0; i < SAMPLES; i++)
            ((uint32_t *)arrays[0])[i] = (uint32_t)random_bits();
        bench_run(&b, bench_add(&b, &s), &s, got, args, SAMPLES, 0);
        struct subject one = subject_of(&b, OP_NEG, t);
        size_t per = 4 / dtype_size(t);
        const struct routine_set *set = routine_set_at(0);
        convert(routine_compute_dtype(routine_compute_of(t)), t, widened[0], arrays[0]);
        routine_elementwise(set, OP_NEG, routine_compute_of(t))(computed, widened[0], NULL, NULL,
                                                                SAMPLES);
        convert(t, routine_compute_dtype(routine_compute_of(t)), expected, computed);
        for (size_t i = 0; i < SAMPLES / per * per; i++)
            if (!same(t, (char *)got + i * dtype_size(t), (char *)expected + i * dtype_size(t)))
                fail_msg("%s: element %zu", one.name, i);
    }
    bench_close(&b);
}

static struct ptx_operand emit_pair(struct nvptx_scalars *out, const struct subject *s,
                                    const struct ptx_operand *args)
{
    struct ptx_operand result;
    assert_true(nvptx_op_pair(out, opcode_of(s->op), s->t, args, &result));
    return result;
}

/* Checks that an operation on two values at once gives the bits of the operation on each alone. */
static void pairs(void **unused)
{
    (void)unused;
    static const enum op ops[] = {OP_NEG,    OP_ABS, OP_ADD, OP_SUB, OP_MUL,
                                  OP_SQUARE, OP_FMA, OP_MIN, OP_MAX, OP_CLIP};
    static const enum dtype types[] = {DT_F16, DT_BF16};
    for (int k = 0; k < 40; k++) {
        struct bench b;
        bench_open(&b, k & 1 ? 90 : 80);
        enum dtype t = types[k >> 1 & 1];
        struct subject s = subject_of(&b, ops[k / 4], t), pair = s;
        const void *args[SUBJECT_ARGS] = {arrays[0], arrays[1], arrays[2]};
        for (int i = 0; i < s.count; i++)
            fill(t, arrays[i], i);
        pair.emit = emit_pair;
        pair.result = pair.arg[0] = pair.arg[1] = pair.arg[2] = DT_U32;
        bench_run(&b, bench_add(&b, &pair), &pair, got, args, SAMPLES / 2, 0);
        assert_true(b.instructions <= (s.op == OP_CLIP ? 2 : 1) + (t == DT_BF16 && !(k & 1)));
        oracle(&s);
        compare(&s, b.target.number);
        bench_close(&b);
    }
}

static struct ptx_operand emit_narrow_pair(struct nvptx_scalars *out, const struct subject *s,
                                           const struct ptx_operand *args)
{
    return nvptx_cast_pair(out, s->t, args[0], args[1]);
}

static void pairs_of_casts(void **unused)
{
    (void)unused;
    for (int k = 0; k < 2; k++) {
        struct bench b;
        bench_open(&b, 80);
        enum dtype t = k ? DT_F16 : DT_BF16;
        struct subject s = {.name = "pair",
                            .emit = emit_narrow_pair,
                            .t = t,
                            .result = DT_U32,
                            .arg = {DT_F32, DT_F32},
                            .count = 2};
        const void *args[2] = {arrays[0], arrays[1]};
        fill(DT_F32, arrays[0], 0);
        fill(DT_F32, arrays[1], 1);
        bench_run(&b, bench_add(&b, &s), &s, got, args, SAMPLES, 0);
        for (int side = 0; side < 2; side++) {
            convert(t, DT_F32, expected, arrays[side]);
            for (size_t i = 0; i < SAMPLES; i++)
                assert_true(same(t, (uint16_t *)got + 2 * i + side, (uint16_t *)expected + i));
        }
        bench_close(&b);
    }
}

static struct ptx_operand emit_constant(struct nvptx_scalars *out, const struct subject *s,
                                        const struct ptx_operand *args)
{
    (void)args;
    const struct literal v = op_neutral(s->op, s->t);
    struct ptx_operand to = nvptx_new_register(out, s->t);
    nvptx_move(out, s->t, to,
               v.is_float ? nvptx_real(out, s->t, v.f) : nvptx_integer(out, s->t, v.i));
    return to;
}

/* An operand that changes nothing, as a constant. */
static void neutral_elements(void **unused)
{
    (void)unused;
    static const enum op ops[] = {OP_ADD, OP_MUL, OP_MIN, OP_MAX, OP_AND, OP_OR, OP_XOR};
    struct bench b;
    bench_open(&b, 89);
    for (enum dtype t = 0; t < DT_BOOL; t++)
        for (size_t k = 0; k < sizeof ops / sizeof ops[0]; k++) {
            struct subject s = {.emit = emit_constant, .op = ops[k], .t = t, .result = t};
            if (!takes(ops[k], t))
                continue;
            s.name =
                arena_printf(&b.arena, "neutral_%s_%s", op_table[ops[k]].id, dtype_table[t].name);
            bench_run(&b, bench_add(&b, &s), &s, arrays[1], NULL, SAMPLES, 0);
            s = subject_of(&b, ops[k], t);
            fill(t, arrays[0], 0);
            oracle(&s);
            for (size_t i = 0; i < SAMPLES; i++) {
                const void *x = (char *)arrays[0] + i * dtype_size(t);
                const void *y = (char *)expected + i * dtype_size(t);
                double v = dtype_is_float(t) ? dtype_load_f64(t, x) : 1;
                bool odd = v == 0 || isnan(v) || (dtype_size(t) == 1 && isinf(v));
                if (!same(t, x, y) && !odd)
                    fail_msg("neutral %s of %s: %s became %s", op_table[ops[k]].id,
                             dtype_table[t].name, shown(t, x), shown(t, y));
            }
        }
    bench_close(&b);
}

/* --- philox --- */

static void random_numbers(void **unused)
{
    (void)unused;
    struct bench b;
    bench_open(&b, 80);
    for (int count = 2; count <= 3; count++) {
        struct subject s = {.emit = emit_op,
                            .op = OP_PHILOX,
                            .t = DT_U64,
                            .result = DT_U32,
                            .arg = {DT_U64, DT_U64, DT_U32},
                            .count = count};
        const void *args[3] = {arrays[0], arrays[1], arrays[2]};
        s.name = count == 2 ? "philox" : "philox_word";
        for (size_t i = 0; i < SAMPLES; i++) {
            arrays[0][i] = random_bits();
            arrays[1][i] = random_bits();
            ((uint32_t *)arrays[2])[i] = count == 2 ? 0 : (uint32_t)i;
        }
        bench_run(&b, bench_add(&b, &s), &s, got, args, SAMPLES, 0);
        routine_set_at(0)->elementwise->philox(expected, arrays[0], arrays[1], arrays[2], SAMPLES);
        compare(&s, 80);
    }
    bench_close(&b);
}

/* --- number of instructions --- */

static int cost(enum op op, enum dtype t, int target)
{
    struct bench b;
    bench_open(&b, target);
    struct subject s = subject_of(&b, op, t);
    bench_add(&b, &s);
    bench_close(&b);
    return b.instructions;
}

static void single_instructions(void **unused)
{
    (void)unused;
    static const enum dtype types[] = {DT_F64, DT_F32, DT_F16, DT_I64, DT_I32, DT_U64, DT_U32};
    static const enum op arithmetic[] = {OP_ADD, OP_SUB, OP_MUL,    OP_FMA, OP_MIN, OP_MAX,
                                         OP_NEG, OP_ABS, OP_SQUARE, OP_LT,  OP_NE};
    static const enum op bitwise[] = {OP_AND, OP_OR, OP_XOR, OP_INVERT};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        enum dtype t = types[i];
        for (size_t k = 0; k < sizeof arithmetic / sizeof arithmetic[0]; k++)
            assert_int_equal(cost(arithmetic[k], t, 80),
                             arithmetic[k] == OP_ABS && dtype_is_signed(t) && dtype_is_int(t) ? 3
                                                                                              : 1);
        for (size_t k = 0; dtype_is_int(t) && k < sizeof bitwise / sizeof bitwise[0]; k++)
            assert_int_equal(cost(bitwise[k], t, 80), 1);
        if (dtype_is_float(t) && t != DT_F16)
            assert_int_equal(cost(OP_SQRT, t, 80), 1);
        if (dtype_is_float(t))
            assert_int_equal(cost(OP_FLOOR, t, 80), 1);
    }
    assert_int_equal(cost(OP_SHL, DT_I32, 80), 1);
    assert_int_equal(cost(OP_SHR, DT_U32, 80), 1);
    assert_int_equal(cost(OP_RSQRT, DT_F32, 80), 1);
    assert_int_equal(cost(OP_ADD, DT_BF16, 90), 1);
    assert_int_equal(cost(OP_ADD, DT_BF16, 80), 2); /* and the constant 1 */
    assert_int_equal(cost(OP_ADD, DT_I8, 80), 2);
}

/* --- the assembler accepts all of it --- */

static void add_everything(struct bench *b)
{
    static const enum op functions[] = {OP_EXP,   OP_EXP2,    OP_LOG, OP_LOG2, OP_SIN,
                                        OP_COS,   OP_TANH,    OP_ERF, OP_ERFC, OP_EXPM1,
                                        OP_LOG1P, OP_SIGMOID, OP_POW, OP_RSQRT};
    for (enum dtype t = 0; t < DT_COUNT; t++) {
        if (!has_type(b, t))
            continue;
        for (size_t k = 0; k < sizeof all_ops / sizeof all_ops[0]; k++)
            if (takes(all_ops[k], t)) {
                struct subject s = subject_of(b, all_ops[k], t);
                bench_add(b, &s);
            }
        for (size_t k = 0; dtype_is_float(t) && k < sizeof functions / sizeof functions[0]; k++) {
            struct subject s = subject_of(b, functions[k], t);
            bench_add(b, &s);
        }
        for (enum dtype to = 0; to < DT_COUNT; to++) {
            struct subject s = {.emit = emit_cast, .result = to, .arg = {t}, .count = 1};
            if (!has_type(b, to))
                continue;
            s.name =
                arena_printf(&b->arena, "to_%s_from_%s", dtype_table[to].name, dtype_table[t].name);
            bench_add(b, &s);
        }
    }
}

static void assembles(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < sizeof target_list / sizeof target_list[0]; i++) {
        struct bench b;
        bench_open(&b, target_list[i]);
        add_everything(&b);
        bench_assemble(&b);
        bench_close(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ops_of_all_types),
        cmocka_unit_test(casts),
        cmocka_unit_test(bits_keep_their_bits),
        cmocka_unit_test(where_of_all_types),
        cmocka_unit_test(words),
        cmocka_unit_test(pairs),
        cmocka_unit_test(pairs_of_casts),
        cmocka_unit_test(neutral_elements),
        cmocka_unit_test(random_numbers),
        cmocka_unit_test(single_instructions),
        cmocka_unit_test(assembles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
