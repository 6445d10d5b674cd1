/* The public call that explains a launch: refused calls, the answer if nothing can be launched,
 * and figures of a small product that can be checked by hand. */
#include "tilewright.h"
#include "tilewright_model.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static const char program[] =
    "tune T = {16, 64};\n"
    "kernel product(i32 m, i32 n, i32 k, const f32 *a, const f32 *b, f32 *c)\n"
    "    grid(cdiv(n, T), cdiv(m, T)) threads(T, T)\n"
    "{\n"
    "    global f32 A[m][k] = a, B[k][n] = b, C[m][n] = c;\n"
    "    i32 row = block.y * T + thread.y, col = block.x * T + thread.x;\n"
    "    f32 sum = 0;\n"
    "    if (row < m && col < n) {\n"
    "        for (i32 p = 0; p < k; p++)\n"
    "            sum += A[row][p] * B[p][col];\n"
    "        C[row][col] = sum;\n"
    "    }\n"
    "    ensures C == dot(A, B);\n"
    "}\n";

struct fixture {
    tw_context *ctx;
    tw_module *module;
    tw_launch *launch;
};

static tw_launch *launch_for(struct fixture *f, const char *target, int size)
{
    static const char *const sizes[] = {"m", "n", "k"};
    tw_kernel *k;
    tw_launch *l;
    assert_int_equal(tw_kernel_for_target(tw_module_kernel(f->module, "product"), target, &k),
                     TW_OK);
    assert_int_equal(tw_launch_new(k, &l), TW_OK);
    for (int i = 0; i < 3; i++)
        assert_int_equal(tw_launch_set(l, sizes[i], tw_int(size)), TW_OK);
    return l;
}

static int set_up(void **state)
{
    static struct fixture f;
    f = (struct fixture){0};
    *state = &f;
    if (tw_context_new(NULL, &f.ctx) != TW_OK ||
        tw_module_from_text(f.ctx, "p.tile", program, strlen(program), &f.module) != TW_OK)
        return -1;
    f.launch = launch_for(&f, "sm_90", 64);
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    tw_context_free(f->ctx);
    return 0;
}

static void refuses_with_the_way_out(void **state)
{
    struct fixture *f = *state;
    tw_explanation x = tw_explanation_init();
    tw_explain_options o = {.size = sizeof o, .gpu = "RTX 9999"};
    assert_int_equal(tw_launch_explain(f->launch, &o, &x), TW_NOT_FOUND);
    assert_non_null(strstr(tw_context_messages(f->ctx), "RTX 9999"));
    assert_non_null(strstr(tw_context_messages(f->ctx), "H200 SXM"));
    o.gpu = "RTX 4090";
    assert_int_equal(tw_launch_explain(f->launch, &o, &x), TW_BAD_ARGUMENT);
    assert_int_equal(tw_launch_explain(f->launch, NULL, NULL), TW_BAD_ARGUMENT);
    assert_int_equal(tw_launch_explain(NULL, NULL, &x), TW_BAD_ARGUMENT);
    tw_launch *host = launch_for(f, "cpu", 64);
    assert_int_equal(tw_launch_explain(host, NULL, &x), TW_BAD_ARGUMENT);
    assert_non_null(strstr(tw_context_messages(f->ctx), "tw_kernel_for_target"));
}

static void says_what_is_too_much(void **state)
{
    struct fixture *f = *state;
    tw_explanation x = tw_explanation_init();
    tw_launch_tune(f->launch, "T", tw_int(64));
    assert_int_equal(tw_launch_explain(f->launch, NULL, &x), TW_OK);
    assert_false(x.launches);
    assert_string_equal(x.why_not, "cannot launch: 4096 threads a block, the limit is 1024");
    assert_string_equal(tw_context_messages(f->ctx), "");
    /* The work of a block is counted nevertheless, but no such block is run. */
    const tw_traffic *l2 = &x.traffic[TW_AT_L2], *hbm = &x.traffic[TW_AT_HBM];
    assert_true(x.blocks == 1 && x.sampled_blocks == 1 && x.shared_bytes == 0);
    assert_true(x.flops == 2 * 64.0 * 64 * 64 && x.flops_executed == x.flops);
    assert_true(l2->read_by_thread == 2 * 4 * 64.0 * 64 * 64 && l2->moved.high == 0);
    assert_true(hbm->compulsory == 3 * 4 * 64.0 * 64 && hbm->moved.high == 0);
    assert_true(x.access_count > 0 && x.roof_count == 0 && x.seconds.high == 0 && !x.verdict);
    assert_int_equal(tw_launch_prepare(f->launch), TW_BAD_PROGRAM);
    assert_non_null(strstr(tw_context_messages(f->ctx), "4096 threads a block"));
    tw_launch_tune(f->launch, "T", tw_int(16));
    tw_explain_options o = {.size = sizeof o, .registers = 300};
    assert_int_equal(tw_launch_explain(f->launch, &o, &x), TW_OK);
    assert_true(x.launches && x.registers == 255 && x.resident_blocks == 1);
}

/* 64³ in blocks of 16 × 16: a warp covers two rows of a block. */
static void counts_follow_by_hand(void **state)
{
    struct fixture *f = *state;
    tw_explanation x = tw_explanation_init();
    const double n = 64, bytes = 4 * n * n * n;
    assert_int_equal(tw_launch_explain(f->launch, NULL, &x), TW_OK);
    assert_true(x.launches && x.blocks == 16 && x.threads == 256);
    assert_string_equal(x.gpu.target, "sm_90");
    assert_true(x.flops == 2 * n * n * n && x.flops_executed == x.flops);
    const tw_traffic *l2 = &x.traffic[TW_AT_L2], *hbm = &x.traffic[TW_AT_HBM];
    assert_true(l2->by_thread == 2 * bytes + 4 * n * n);
    /* Each block reads 16 rows and 16 columns, once through L1. */
    assert_true(l2->read.middle == 16 * 2 * 16 * n * 4);
    assert_true(l2->written.middle == 4 * n * n);
    assert_true(hbm->read.middle == 2 * 4 * n * n && hbm->compulsory == 3 * 4 * n * n);
    assert_true(x.seconds.low <= x.seconds.middle && x.seconds.middle <= x.seconds.high);
    assert_true(x.roof_count > 0 && x.seconds.low >= x.roofs[0].seconds.middle);
    assert_true(strlen(x.verdict) > 0 && strlen(x.advice) > 0);
    for (int i = 0; i < x.line_count; i++) {
        double ideal = 0;
        for (int k = 0; k < x.access_count; k++)
            ideal += x.accesses[k].line == x.lines[i].line ? x.accesses[k].units_ideal : 0;
        assert_true(ideal > 0 && x.lines[i].sectors_ideal == ideal && ideal <= x.lines[i].sectors);
    }
}

/* Two loads of one line have different columns. */
static void accesses_have_their_place(void **state)
{
    struct fixture *f = *state;
    tw_explanation x = tw_explanation_init();
    assert_int_equal(tw_launch_explain(f->launch, NULL, &x), TW_OK);
    assert_int_equal(x.access_count, 3);
    static const int columns[] = {20, 32, 9}; /* A[row][p], B[p][col], C[row][col] */
    for (int i = 0; i < 3; i++) {
        assert_int_equal(x.accesses[i].column, columns[i]);
        assert_true(!x.accesses[i].copy && x.accesses[i].store == (i == 2));
    }
}

/* Ragged sizes: the useful work is less than that of whole blocks. */
static void edges_have_blocks_of_their_own(void **state)
{
    struct fixture *f = *state;
    tw_explanation x = tw_explanation_init();
    const double n = 50;
    tw_launch *l = launch_for(f, "sm_80", 50);
    assert_int_equal(tw_launch_explain(l, NULL, &x), TW_OK);
    assert_string_equal(x.gpu.name, "A100 SXM 80GB");
    assert_true(x.blocks == 16 && x.flops == 2 * n * n * n && x.flops_executed == x.flops);
    assert_true(x.traffic[TW_AT_L2].by_thread == 4 * (2 * n * n * n + n * n));
    assert_true(x.sampled_blocks >= 4 && x.sampled_blocks < x.blocks);
}

static void arrays_are_left_alone(void **state)
{
    struct fixture *f = *state;
    static float a[64 * 64], c[64 * 64];
    tw_explanation x = tw_explanation_init();
    tw_array in = {.size = sizeof in, .data = a, .dtype = TW_F32, .rank = 2, .shape = {64, 64}},
             out = in;
    out.data = c;
    a[0] = c[0] = c[64 * 64 - 1] = 7;
    assert_int_equal(tw_launch_array(f->launch, "a", &in), TW_OK);
    assert_int_equal(tw_launch_array(f->launch, "c", &out), TW_OK);
    assert_int_equal(tw_launch_explain(f->launch, NULL, &x), TW_OK);
    assert_true(a[0] == 7 && c[0] == 7 && c[64 * 64 - 1] == 7);
}

static void nothing_takes_no_time(void **state)
{
    struct fixture *f = *state;
    tw_explanation x = tw_explanation_init();
    tw_launch *l = launch_for(f, "sm_90", 0);
    assert_int_equal(tw_launch_explain(l, NULL, &x), TW_OK);
    assert_true(x.launches && x.blocks == 0 && x.roof_count == 0 && x.seconds.middle == 0);
    assert_non_null(x.verdict);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(refuses_with_the_way_out),       TEST(says_what_is_too_much),
        TEST(counts_follow_by_hand),          TEST(accesses_have_their_place),
        TEST(edges_have_blocks_of_their_own), TEST(arrays_are_left_alone),
        TEST(nothing_takes_no_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
