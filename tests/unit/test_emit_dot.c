/* Products: the division of the work between warps, lanes and registers, and the instructions that it gives.
 * test_emit_products.c compares values. */
#include "emit_program.h"
#include "plan/plan_layouts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static jmp_buf out_of_memory;

struct bench {
    struct arena arena;
    struct target target;
    struct kernel kernel;
    struct lowered out;
    struct layouts l;
    struct dot_plan plan;
};

static void bench_open(struct bench *b, int sm, int warps)
{
    memset(b, 0, sizeof *b);
    arena_init(&b->arena, NULL, &out_of_memory);
    b->target = *target_find((struct ptx_target){.number = (uint8_t)sm});
    b->kernel.warps = warps;
    b->l = (struct layouts){.arena = &b->arena,
                            .kernel = &b->kernel,
                            .target = &b->target,
                            .out = &b->out,
                            .warps = warps,
                            .threads = 32 * warps};
}

static void bench_close(struct bench *b)
{
    arena_free(&b->arena);
}

static void choose(struct bench *b, int m, int n, int k, enum dtype factor, enum dtype sum,
                   bool chained)
{
    struct plan_product p = {
        .m = m, .n = n, .k = k, .factor = factor, .sum = sum, .a = factor, .b = factor};
    plan_choose_unit(&b->target, &p, false);
    assert_true(plan_lay_out(&b->l, &p, chained, &b->plan));
}

/* --- The division --- */

static const char *matrix_type(enum dtype t)
{
    switch ((int)t) {
    case DT_I8: return "s8";
    case DT_U8: return "u8";
    case DT_I32: return "s32";
    default: return dtype_table[t].name;
    }
}

/* Returns the name of the instruction that computes a product. */
static const char *instruction_of(struct arena *a, const struct dot_plan *p)
{
    const struct mma_shape *s = &p->mma.shape;
    const char *sum = matrix_type(p->sum);
    return arena_printf(a, "mma.sync.aligned.m%dn%dk%d.row.col.%s.%s.%s.%s", s->m, s->n, s->k, sum,
                        matrix_type(p->a_type), matrix_type(p->b_type), sum);
}

static void assert_mma(int m, int n, int k, enum dtype t, int warps, bool chained, int warps_m,
                       int warps_n, const char *instruction)
{
    struct bench b;
    bench_open(&b, 80, warps);
    enum dtype sum = t == DT_F64 ? DT_F64 : dtype_is_float(t) ? DT_F32 : DT_I32;
    choose(&b, m, n, k, t, sum, chained);
    assert_int_equal(b.plan.kind, DOT_MMA);
    assert_int_equal(b.plan.mma.warps_m, warps_m);
    assert_int_equal(b.plan.mma.warps_n, warps_n);
    assert_string_equal(instruction_of(&b.arena, &b.plan), instruction);
    bench_close(&b);
}

static void test_matrix_units(void **state)
{
    (void)state;
    const char *f16 = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32";
    const char *bf16 = "mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32";
    const char *u8 = "mma.sync.aligned.m16n8k32.row.col.s32.u8.u8.s32";
    const char *f64 = "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64";
    assert_mma(128, 128, 32, DT_F16, 4, false, 2, 2, f16);
    assert_mma(128, 64, 32, DT_F16, 4, false, 2, 2, f16);
    assert_mma(64, 128, 16, DT_F16, 4, false, 2, 2, f16);
    assert_mma(128, 128, 32, DT_F16, 8, false, 4, 2, f16);
    assert_mma(128, 64, 64, DT_F16, 4, true, 4, 1, f16);
    assert_mma(64, 64, 64, DT_F16, 4, true, 4, 1, f16);
    assert_mma(64, 64, 64, DT_F16, 8, true, 4, 2, f16);
    assert_mma(16, 8, 16, DT_F16, 4, false, 1, 1, f16);
    assert_mma(48, 80, 16, DT_F16, 3, false, 3, 1, f16);
    assert_mma(32, 32, 8, DT_BF16, 2, false, 2, 1, bf16);
    assert_mma(64, 64, 64, DT_U8, 2, false, 2, 1, u8);
    assert_mma(32, 32, 32, DT_F64, 4, false, 2, 2, f64);
}

static void assert_fma(int m, int n, enum dtype t, int warps, int rows, int columns, int vector_m,
                       int vector_n)
{
    struct bench b;
    bench_open(&b, 80, warps);
    choose(&b, m, n, 16, t, t, false);
    const struct fma_tiling *f = &b.plan.fma;
    int32_t step_m = f->vector_m * f->lanes_m * f->warps_m;
    int32_t step_n = f->vector_n * f->lanes_n * f->warps_n;
    assert_int_equal(b.plan.kind, DOT_FMA);
    assert_int_equal((m + step_m - 1) / step_m * f->vector_m, rows);
    assert_int_equal((n + step_n - 1) / step_n * f->vector_n, columns);
    assert_int_equal(f->vector_m, vector_m);
    assert_int_equal(f->vector_n, vector_n);
    bench_close(&b);
}

/* Checks the elements of the sum that a thread has, and its vectors. */
static void test_multiply_adds(void **state)
{
    (void)state;
    assert_fma(128, 128, DT_F32, 4, 8, 16, 4, 4);
    assert_fma(128, 128, DT_F32, 8, 8, 8, 4, 4);
    assert_fma(128, 64, DT_F32, 4, 8, 8, 4, 4);
    assert_fma(64, 64, DT_F32, 4, 4, 8, 4, 4);
    assert_fma(64, 64, DT_F32, 8, 4, 4, 4, 4);
    assert_fma(7, 7, DT_F32, 1, 1, 2, 1, 2);
}

/* --- Pairs of bytes --- */

/* Tries factors of bytes in shared memory, transposed or not. */
static void bytes(int m, int n, int k, int warps, bool left_transposed, bool right_transposed,
                  bool a_paired, bool b_paired)
{
    struct bench b;
    struct expr access = {.op = OP_ACCESS};
    struct plan_source source[2] = {{&access, left_transposed, &access, DT_I8},
                                    {&access, right_transposed, &access, DT_I8}};
    bench_open(&b, 80, warps);
    choose(&b, m, n, k, DT_I8, DT_I32, false);
    plan_pair_bytes(&b.l, &b.plan, source);
    assert_int_equal(b.plan.a_paired, a_paired);
    assert_int_equal(b.plan.b_paired, b_paired);
    bench_close(&b);
}

static void test_bytes(void **state)
{
    (void)state;
    bytes(64, 64, 64, 4, false, false, false, true);
    bytes(64, 64, 64, 4, true, true, true, false);
    bytes(96, 160, 32, 4, true, false, true, true);
    bytes(32, 32, 48, 2, true, false, true, true);
    bytes(32, 32, 32, 8, false, false, false, false); /* eight columns a warp */
    bytes(16, 16, 32, 8, true, true, false, false);
    bytes(40, 24, 32, 2, true, false, false, false); /* odd extents */
}

/* --- The instructions for a program's products --- */

/* c = dot(LEFT, RIGHT) of shared tiles a [64][32] and b [32][64]; at [32][64] and bt [64][32]
 * are the transposed ones. */
static const char program_text_of[] =
    "kernel product(const %s *p, const %s *q, %s *r) grid(1) warps(4)\n"
    "{\n"
    "    global %s P[64][64] = p;\n"
    "    global %s Q[64][64] = q;\n"
    "    global %s R[64][64] = r;\n"
    "    shared %s a[64][32], at[32][64];\n"
    "    shared %s b[32][64], bt[64][32];\n"
    "    a = P[0 +: 64][0 +: 32];\n"
    "    at = P[0 +: 32][0 +: 64];\n"
    "    b = Q[0 +: 32][0 +: 64];\n"
    "    bt = Q[0 +: 64][0 +: 32];\n"
    "    sync();\n"
    "    R[0 +: 64][0 +: 64] = dot(%s, %s);\n"
    "}\n";

struct wanted {
    const char *a, *b, *sum, *left, *right;
    const char *text;
    int count;
};

static void assert_emitted(const struct wanted *w)
{
    struct program p = {.statics = 0, .divisor = 16};
    struct lowered out;
    char text[2048];
    snprintf(text, sizeof text, program_text_of, w->a, w->b, w->sum, w->a, w->b, w->sum, w->a, w->b,
             w->left, w->right);
    program_open(&p, text);
    if (!program_check(&p, 0) || !program_emit(&p, "sm_80", &out))
        fail_msg("%s", program_messages(&p));
    const char *ptx = emitted_text(&p, &out);
    if (occurrences(ptx, w->text) != w->count)
        fail_msg("dot(%s, %s) of %s and %s: %d times %s", w->left, w->right, w->a, w->b,
                 occurrences(ptx, w->text), w->text);
    if (has_assembler())
        assert_null(assemble(&p, "sm_80", ptx));
    program_free(&p);
}

static void test_programs(void **state)
{
    (void)state;
    static const struct wanted wanted[] = {
        /* a warp has 32 x 32 of the sum: 2 x 4 instructions, twice along k */
        {"f16", "f16", "f32", "a", "b", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", 16},
        {"f16", "f16", "f32", "a", "b", "m8n8.x4.trans.shared", 4},
        {"f16", "f16", "f32", "a", "trans(bt)", "m8n8.x4.shared", 8},
        {"f16", "f16", "f32", "trans(at)", "b", "m8n8.x4.trans.shared", 8},
        {"bf16", "bf16", "f32", "a", "b", "f32.bf16.bf16.f32", 16},
        /* the common type is i16, but the product is of bytes */
        {"i8", "u8", "i32", "a", "b", "mma.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32", 8},
        {"i8", "i8", "i32", "a", "b", "m8n8.x4.trans.shared", 2},
        {"i8", "i8", "i32", "a", "b", "prmt", 8},
        {"i8", "i8", "i32", "a", "trans(bt)", "prmt", 0},
        /* cast as fragments */
        {"f16", "i8", "f32", "a", "(f16) b", "f32.f16.f16.f32", 16},
        {"f16", "f32", "f32", "a", "b", "fma.rn.f32", 32 * 32},
        {"f32", "f32", "f32", "a", "b", "ld.shared.v4.f32", 32 / 4 * 4 + 32 * 2},
        {"f64", "f64", "f64", "a", "b", "mma.sync.aligned.m8n8k4.row.col.f64", 4 * 4 * 8},
    };
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        assert_emitted(&wanted[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_matrix_units), cmocka_unit_test(test_multiply_adds),
        cmocka_unit_test(test_bytes), cmocka_unit_test(test_programs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
