/* Products: the division of the work, and proof that the emitted instructions compute the
 * product: they are executed here on small integers, for all threads of the block. Elements
 * outside masks are poisoned. */
#include "lower/lower_dot_factor.h"
#include "lower_program.h"

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
    struct lower_options options;
    struct kernel kernel;
    struct lowered out;
    struct lower l;
    struct dot_plan plan;
};

static void bench_open(struct bench *b, int sm, int warps)
{
    memset(b, 0, sizeof *b);
    arena_init(&b->arena, NULL, &out_of_memory);
    b->target = *target_find((struct ptx_target){.number = (uint8_t)sm});
    b->options.target = &b->target;
    b->kernel.warps = warps;
    b->l = (struct lower){.arena = &b->arena,
                          .kernel = &b->kernel,
                          .options = &b->options,
                          .target = &b->target,
                          .out = &b->out,
                          .warps = warps,
                          .threads = 32 * warps};
    ptx_build_start(&b->l.b, &b->arena, b->target.ptx);
    ptx_begin_kernel(&b->l.b, "product");
}

static void bench_close(struct bench *b)
{
    ptx_end(&b->l.b);
    arena_free(&b->arena);
}

static void choose(struct bench *b, int m, int n, int k, enum dtype factor, enum dtype sum,
                   bool chained)
{
    struct plan_product p = {
        .m = m, .n = n, .k = k, .factor = factor, .sum = sum, .a = factor, .b = factor};
    plan_choose_unit(&b->target, &p);
    assert_true(plan_lay_out(&b->l.layouts, &p, chained, &b->plan));
}

/* --- The division --- */

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
    assert_string_equal(b.plan.instruction, instruction);
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

/* --- Executing the emitted code --- */

enum { POISON = 1000003, PER_WORD = 4 };

/* Registers by number, thread, and element within the register. */
struct machine {
    struct bench *b;
    int64_t *cells;
};

static int64_t *cell(struct machine *s, uint32_t reg, int thread, int element)
{
    return &s->cells[((int64_t)reg * s->b->l.threads + thread) * PER_WORD + element];
}

static int64_t left_value(int32_t i, int32_t j)
{
    return (i * 7 + j * 3) % 11 - 5;
}
static int64_t right_value(int32_t i, int32_t j)
{
    return (i * 5 + j * 2) % 13 - 6;
}

static void fill(struct machine *s, const struct regtile *t, int64_t (*value)(int32_t, int32_t))
{
    int per_word = tile_per_word(t->dtype);
    for (int thread = 0; thread < s->b->l.threads; thread++)
        for (int e = 0; e < t->elements; e++) {
            int32_t at[LAYOUT_OUTS];
            bool inside = layout_element(t->layout, e, thread % 32, thread / 32, at);
            *cell(s, t->word[e / per_word].reg, thread, e % per_word) = !inside ? POISON
                                                                        : value
                                                                            ? value(at[0], at[1])
                                                                            : 0;
        }
}

struct matrix {
    int64_t at[16 * 32];
};

static void gather(struct machine *s, const struct ptx_operand *o, const struct layout *fragment,
                   int warp, struct matrix *out, bool back)
{
    int elements = layout_in_extent(fragment, AXIS_REG), per_word = elements / (int)o->count;
    for (int lane = 0; lane < 32; lane++)
        for (int e = 0; e < elements; e++) {
            int32_t at[LAYOUT_OUTS];
            layout_element(fragment, e, lane, 0, at);
            int64_t *held = cell(s, o->elements[e / per_word].reg, warp * 32 + lane, e % per_word);
            int64_t *entry = &out->at[at[0] * layout_out_extent(fragment, AXIS_D1) + at[1]];
            *(back ? held : entry) = *(back ? entry : held);
        }
}

static void execute_mma(struct machine *s, const struct ptx_instruction *ins)
{
    const struct mma_shape *p = &s->b->plan.mma.shape;
    struct layout fa, fb, fc;
    struct matrix a, b, c;
    assert_true(layout_mma(*p, MATRIX_A, &fa) && layout_mma(*p, MATRIX_B, &fb) &&
                layout_mma(*p, MATRIX_C, &fc));
    for (int warp = 0; warp < s->b->l.warps; warp++) {
        gather(s, &ins->operands[1], &fa, warp, &a, false);
        gather(s, &ins->operands[2], &fb, warp, &b, false);
        gather(s, &ins->operands[3], &fc, warp, &c, false);
        for (int i = 0; i < p->m; i++)
            for (int j = 0; j < p->n; j++)
                for (int q = 0; q < p->k; q++)
                    c.at[i * p->n + j] += a.at[i * p->k + q] * b.at[q * p->n + j];
        gather(s, &ins->operands[0], &fc, warp, &c, true);
    }
}

static void execute_fma(struct machine *s, const struct ptx_instruction *ins)
{
    const struct ptx_operand *o = ins->operands;
    for (int t = 0; t < s->b->l.threads; t++)
        *cell(s, o[0].reg, t, 0) =
            *cell(s, o[1].reg, t, 0) * *cell(s, o[2].reg, t, 0) + *cell(s, o[3].reg, t, 0);
}

static void execute_prmt(struct machine *s, const struct ptx_instruction *ins)
{
    const struct ptx_operand *o = ins->operands;
    for (int t = 0; t < s->b->l.threads; t++)
        for (int byte = 0; byte < 4; byte++) {
            int from = (int)(o[3].bits >> 4 * byte & 7);
            *cell(s, o[0].reg, t, byte) = *cell(s, o[1 + from / 4].reg, t, from % 4);
        }
}

/* Executes it; returns the number of mma or fma. */
static int execute(struct machine *s)
{
    int count = 0;
    for (size_t i = 0; i < s->b->l.b.function->body.count; i++) {
        const struct ptx_statement *st = &s->b->l.b.function->body.data[i];
        if (st->kind != PTX_AT_INSTRUCTION)
            continue;
        if (st->instruction->op == PTX_PRMT)
            execute_prmt(s, st->instruction);
        else if (st->instruction->op == PTX_MMA)
            execute_mma(s, st->instruction);
        else
            execute_fma(s, st->instruction);
        count += st->instruction->op != PTX_PRMT;
    }
    return count;
}

static void check_sum(struct machine *s, const struct regtile *c)
{
    const struct dot_plan *p = &s->b->plan;
    char *seen = calloc((size_t)(p->m * p->n), 1);
    for (int thread = 0; thread < s->b->l.threads; thread++)
        for (int e = 0; e < c->elements; e++) {
            int32_t at[LAYOUT_OUTS];
            if (!layout_element(p->c, e, thread % 32, thread / 32, at))
                continue;
            int64_t sum = 0;
            for (int32_t q = 0; q < p->k; q++)
                sum += left_value(at[0], q) * right_value(q, at[1]);
            assert_int_equal(*cell(s, c->word[e].reg, thread, 0), sum);
            seen[at[0] * p->n + at[1]] = 1;
        }
    for (int32_t i = 0; i < p->m * p->n; i++)
        assert_true(seen[i]);
    free(seen);
}

static struct dot_factor factor(struct bench *b, enum dtype t, bool right)
{
    const struct dot_plan *p = &b->plan;
    bool paired = right ? p->b_paired : p->a_paired;
    const struct layout *fragment = right ? p->fragment_b : p->fragment_a;
    const struct layout *read = paired ? (right ? p->b : p->a) : fragment;
    struct dot_factor f = {.source.type = t,
                           .written = t,
                           .type = t,
                           .layout = fragment,
                           .right = right,
                           .paired = paired,
                           .deep = p->mma.shape.k / 16,
                           .raw = tile_new(&b->l, t, read)};
    f.element = arena_array(&b->arena, struct ptx_operand, f.raw.elements + 3);
    f.word = arena_array(&b->arena, struct ptx_operand, f.raw.elements + 3);
    f.unpacked = arena_array(&b->arena, bool, f.raw.elements + 3);
    f.has_element = arena_array(&b->arena, bool, f.raw.elements + 3);
    f.has_word = arena_array(&b->arena, bool, f.raw.elements + 3);
    f.half = arena_array(&b->arena, struct ptx_operand, 2 * (f.raw.elements + 3));
    f.has_half = arena_array(&b->arena, bool, f.raw.elements + 3);
    return f;
}

/* Emits the product of the plan and executes it; returns the number of instructions. */
static int run(struct bench *b, enum dtype t)
{
    struct machine s = {.b = b};
    struct dot_factor left = factor(b, t, false), right = factor(b, t, true);
    struct regtile sum = tile_new(&b->l, b->plan.sum, b->plan.c);
    if (b->plan.kind == DOT_MMA)
        dot_emit_mma(&b->l, &b->plan, &left, &right, &sum, NULL);
    else
        dot_emit_fma(&b->l, &b->plan, &left, &right, &sum, NULL);
    s.cells = calloc(b->l.b.function->registers.count * (size_t)(b->l.threads * PER_WORD),
                     sizeof *s.cells);
    fill(&s, &left.raw, left_value);
    fill(&s, &right.raw, right_value);
    fill(&s, &sum, NULL);
    int count = execute(&s);
    check_sum(&s, &sum);
    free(s.cells);
    return count;
}

static int product(int sm, int m, int n, int k, enum dtype t, enum dtype sum, int warps,
                   bool chained)
{
    struct bench b;
    bench_open(&b, sm, warps);
    choose(&b, m, n, k, t, sum, chained);
    int count = run(&b, t);
    bench_close(&b);
    return count;
}

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
    plan_pair_bytes(&b.l.layouts, &b.plan, source);
    assert_int_equal(b.plan.a_paired, a_paired);
    assert_int_equal(b.plan.b_paired, b_paired);
    run(&b, DT_I8);
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

static void test_products(void **state)
{
    (void)state;
    assert_int_equal(product(80, 128, 128, 32, DT_F16, DT_F32, 4, false), 64);
    assert_int_equal(product(80, 64, 64, 32, DT_F32, DT_F32, 4, false), 4 * 8 * 32);
    assert_int_equal(product(80, 16, 8, 16, DT_F16, DT_F32, 4, false), 1);
    assert_int_equal(product(80, 64, 128, 64, DT_I8, DT_I32, 4, true), 32);
    product(80, 48, 80, 16, DT_F16, DT_F32, 4, false);
    product(80, 48, 80, 16, DT_F16, DT_F32, 3, true);
    product(80, 80, 176, 24, DT_BF16, DT_F32, 6, false);
    product(80, 24, 40, 12, DT_F64, DT_F64, 2, false);
    product(90, 24, 40, 32, DT_F64, DT_F64, 2, false);
    product(90, 24, 40, 12, DT_F64, DT_F64, 2, false);
    product(80, 7, 7, 7, DT_F32, DT_F32, 2, false);
    product(80, 1, 48, 5, DT_I32, DT_I32, 4, false);
    product(80, 33, 17, 3, DT_I64, DT_I64, 3, true);
    product(80, 96, 80, 8, DT_F32, DT_F32, 12, false);
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
    if (!program_check(&p, 0) || !program_lower(&p, "sm_80", &out))
        fail_msg("%s", program_messages(&p));
    const char *ptx = lowered_text(&p, &out);
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
        cmocka_unit_test(test_products), cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_programs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
