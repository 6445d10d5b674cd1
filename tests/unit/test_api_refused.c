/* The public interface: refused calls and faults, with their messages. */
#include "api_helper.h"

#include "api/objects.h"
#include "tilewright_entry.h"
#include "tilewright_look.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const matmul_text = api_matmul;

/* --- refused calls --- */

static void test_sizes_in_conflict(void **state)
{
    struct fixture *f = *state;
    load(f, matmul_text);
    give_all(f);
    tw_array b = array(f->b, TW_F32, 2, K - 1, N);
    succeed(f, tw_launch_array(f->launch, "b", &b));
    refused(f, tw_launch_run(f->launch), TW_BAD_ARGUMENT,
            "`k` is 10 by `a` (axis 1) but 9 by `b` (axis 0)");
    give_all(f);
    succeed(f, tw_launch_set(f->launch, "m", integer(18)));
    refused(f, tw_launch_run(f->launch), TW_BAD_ARGUMENT, "`m` is set to 18");
    succeed(f, tw_launch_set(f->launch, "m", integer(M)));
    succeed(f, tw_launch_run(f->launch));
}

static void test_sizes_missing(void **state)
{
    struct fixture *f = *state;
    load(f, matmul_text);
    tw_array a = array(f->a, TW_F32, 2, M, K);
    succeed(f, tw_launch_array(f->launch, "a", &a));
    refused(f, tw_launch_prepare(f->launch), TW_BAD_ARGUMENT, "`n` (static i32) is not set");
    succeed(f, tw_launch_set(f->launch, "n", integer(N)));
    succeed(f, tw_launch_prepare(f->launch));
    succeed(f, tw_launch_array(f->launch, "a", NULL));
    refused(f, tw_launch_prepare(f->launch), TW_BAD_ARGUMENT, "`m` (i32) is not set");
}

static void test_types(void **state)
{
    struct fixture *f = *state;
    static uint16_t half[M * K];
    load(f, matmul_text);
    give_all(f);
    tw_array a = array(half, TW_F16, 2, M, K);
    succeed(f, tw_launch_array(f->launch, "a", &a));
    refused(f, tw_launch_run(f->launch), TW_BAD_ARGUMENT,
            "`a` is f16, so T = f16; `b` is f32, expected f16");
    succeed(f, tw_launch_type(f->launch, "T", TW_F32));
    refused(f, tw_launch_run(f->launch), TW_BAD_ARGUMENT,
            "T is set to f32; `a` is f16, expected f32");
    refused(f, tw_launch_type(f->launch, "T", TW_I8), TW_BAD_ARGUMENT,
            "i8 is none of T = {f32, f16}");
    a.dtype = TW_BF16;
    give_all(f);
    succeed(f, tw_launch_run(f->launch));
}

static void test_unlisted_type(void **state)
{
    struct fixture *f = *state;
    load(f, matmul_text);
    tw_array a = array(f->a, TW_I32, 2, M, K);
    succeed(f, tw_launch_array(f->launch, "a", &a));
    refused(f, tw_launch_prepare(f->launch), TW_BAD_ARGUMENT, "`a` is i32, but T = {f32, f16}");
}

/* A program may ignore the failure of tw_launch_array: later messages do not call that array
 * missing. */
static void test_a_refused_array_is_not_called_missing(void **state)
{
    struct fixture *f = *state;
    load(f, matmul_text);
    give_all(f);
    tw_array c = array(f->c, TW_F32, 1, M * N, 0);
    refused(f, tw_launch_array(f->launch, "c", &c), TW_BAD_ARGUMENT, "expected T[m][n]");
    refused(f, tw_launch_run(f->launch), TW_BAD_ARGUMENT,
            "tw_launch_array refused one: `c` is f32[399], expected T[m][n]");
    tw_array a = array(NULL, TW_F32, 2, M, K);
    refused(f, tw_launch_array(f->launch, "a", &a), TW_BAD_ARGUMENT, "has no data");
    refused(f, tw_launch_prepare(f->launch), TW_BAD_ARGUMENT,
            "tw_launch_array refused one: the array given for `a` (T[m][k]) has no data");
    succeed(f, tw_launch_array(f->launch, "c", NULL));
    give_inputs(f);
    refused(f, tw_launch_run(f->launch), TW_BAD_ARGUMENT, "no array was given for `c`");
    assert_null(strstr(tw_context_messages(f->ctx), "refused"));
    give_all(f);
    succeed(f, tw_launch_run(f->launch));
}

static void test_arrays_by_themselves(void **state)
{
    struct fixture *f = *state;
    load(f, matmul_text);
    tw_array a = array(f->a, TW_F32, 1, M * K, 0);
    refused(f, tw_launch_array(f->launch, "a", &a), TW_BAD_ARGUMENT, "expected T[m][k]");
    a = array(NULL, TW_F32, 2, M, K);
    refused(f, tw_launch_array(f->launch, "a", &a), TW_BAD_ARGUMENT, "has no data");
    a = array((char *)f->a + 1, TW_F32, 2, M, K);
    refused(f, tw_launch_array(f->launch, "a", &a), TW_BAD_ARGUMENT, "aligned");
    a = array(f->a, TW_F32, 2, M, K);
    a.bytes = sizeof f->a;
    succeed(f, tw_launch_array(f->launch, "a", &a));
    a.bytes--;
    char needs[80];
    snprintf(needs, sizeof needs, "has %zu bytes, f32[%d][%d] needs %zu", a.bytes, M, K,
             sizeof f->a);
    refused(f, tw_launch_array(f->launch, "a", &a), TW_BAD_ARGUMENT, needs);
    a = array(f->a, TW_F32, 2, -1, K);
    refused(f, tw_launch_array(f->launch, "a", &a), TW_BAD_ARGUMENT, "negative");
    a = array(f->a, TW_F32, 2, INT64_MAX, INT64_MAX);
    refused(f, tw_launch_array(f->launch, "a", &a), TW_BAD_ARGUMENT, "larger");
    a = array(f->a, TW_F32, 0, 0, 0);
    refused(f, tw_launch_array(f->launch, "a", &a), TW_BAD_ARGUMENT, "axes");
    a = array(f->a, (tw_dtype)77, 2, M, K);
    refused(f, tw_launch_array(f->launch, "a", &a), TW_BAD_ARGUMENT, "element type");
}

/* Queries about the result of tw_module_kernel if there is no such kernel. */
static void test_no_kernel(void **state)
{
    struct fixture *f = *state;
    tw_param param = tw_param_init();
    load(f, matmul_text);
    tw_kernel *none = tw_module_kernel(f->module, "nothing");
    assert_null(none);
    assert_null(tw_kernel_name(none));
    assert_null(tw_kernel_target(none));
    assert_false(tw_kernel_has_ensures(none) || tw_kernel_thread_level(none));
    assert_int_equal(tw_kernel_param_count(none), 0);
    assert_int_equal(tw_kernel_tune_count(none), 0);
    assert_int_equal(tw_kernel_type_count(none), 0);
    assert_int_equal(tw_kernel_param(none, 0, &param), TW_BAD_ARGUMENT);
    tw_written written = tw_written_init();
    assert_int_equal(tw_kernel_written(none, &written), TW_BAD_ARGUMENT);
}

static void test_unknown_names(void **state)
{
    struct fixture *f = *state;
    load(f, matmul_text);
    tw_array a = array(f->a, TW_F32, 2, M, K);
    refused(f, tw_launch_array(f->launch, "x", &a), TW_NOT_FOUND, "`a`, `b`, `c`");
    refused(f, tw_launch_array(f->launch, "m", &a), TW_BAD_ARGUMENT, "is a scalar parameter");
    refused(f, tw_launch_set(f->launch, "a", integer(1)), TW_BAD_ARGUMENT, "is an array");
    refused(f, tw_launch_set(f->launch, "BM", integer(1)), TW_BAD_ARGUMENT, "is a tuned value");
    refused(f, tw_launch_tune(f->launch, "BMM", integer(1)), TW_NOT_FOUND, "did you mean");
    refused(f, tw_launch_type(f->launch, "S", TW_F32), TW_NOT_FOUND, "`T`");
    tw_value v;
    assert_int_equal(tw_launch_value(f->launch, "zz", &v), TW_NOT_FOUND);
    refused(f, tw_launch_value(f->launch, "m", &v), TW_BAD_ARGUMENT, "is not set");
    refused(f, tw_launch_show(f->launch, "fould", &(const char *){NULL}), TW_NOT_FOUND, "`fold`");
}

static void test_scalars_fit_their_type(void **state)
{
    struct fixture *f = *state;
    static const char text[] =
        "kernel k(i8 x, bool y, f16 z, static i32 n, f32 *c) grid(1) warps(1)\n"
        "{\n"
        "    global f32 C[n] = c;\n"
        "    C[0 +: 16] = y ? (f32) x : (f32) z;\n"
        "}\n";
    float c[3];
    load(f, text);
    tw_array out = array(c, TW_F32, 1, 3, 0);
    succeed(f, tw_launch_array(f->launch, "c", &out));
    refused(f, tw_launch_set(f->launch, "x", integer(128)), TW_BAD_ARGUMENT,
            "`x` = 128 does not fit i8");
    refused(f, tw_launch_set(f->launch, "y", integer(2)), TW_BAD_ARGUMENT,
            "`y` = 2 does not fit bool");
    refused(f, tw_launch_set(f->launch, "z", tw_float(1e6)), TW_BAD_ARGUMENT,
            "beyond the range of f16");
    refused(f, tw_launch_set(f->launch, "x", tw_float(51)), TW_BAD_ARGUMENT,
            "`x` is i8; 51.0 is a float: use tw_int()");
    refused(f, tw_launch_set(f->launch, "x", (tw_value){.f = 51}), TW_BAD_ARGUMENT,
            "`x` is given a value without a kind: make the value with tw_int()");
    refused(f, tw_launch_set(f->launch, "z", tw_pointer(&out)), TW_BAD_ARGUMENT,
            "`z` is given an address: make the value with tw_float()");
    refused(f, tw_launch_run(f->launch), TW_BAD_ARGUMENT, "`x` (i8) is not set");
    refused(f, tw_launch_run(f->launch), TW_BAD_ARGUMENT,
            "`z` (f16) is not set, and no array says a float: set it");
    succeed(f, tw_launch_set(f->launch, "x", integer(-7)));
    succeed(f, tw_launch_set(f->launch, "y", integer(0)));
    succeed(f, tw_launch_set(f->launch, "z", tw_float(0.1)));
    succeed(f, tw_launch_run(f->launch));
    assert_true(c[0] == f16_to_f32(f32_to_f16(0.1f)) && c[2] == c[0]);
    succeed(f, tw_launch_set(f->launch, "y", integer(1)));
    succeed(f, tw_launch_run(f->launch));
    assert_true(c[1] == -7);
}

static void test_computed_axes(void **state)
{
    struct fixture *f = *state;
    static const char text[] = "kernel k(i32 n, const f32 *x, f32 *c) grid(1) warps(1)\n"
                               "{\n"
                               "    global f32 X[n] = x, C[2 * n + 1] = c;\n"
                               "    C[0 +: 16] = 1;\n"
                               "}\n";
    float x[3] = {0}, c[8];
    load(f, text);
    tw_array in = array(x, TW_F32, 1, 3, 0), out = array(c, TW_F32, 1, 8, 0),
             shape = tw_array_init();
    succeed(f, tw_launch_array(f->launch, "x", &in));
    succeed(f, tw_launch_shape(f->launch, "c", &shape));
    assert_int_equal(shape.shape[0], 7);
    succeed(f, tw_launch_array(f->launch, "c", &out));
    refused(f, tw_launch_run(f->launch), TW_BAD_ARGUMENT, "`c` is f32[8], expected f32[7]");
    out.shape[0] = 7;
    succeed(f, tw_launch_array(f->launch, "c", &out));
    succeed(f, tw_launch_run(f->launch));
    assert_true(c[6] == 1);
}

static void test_strided_view(void **state)
{
    struct fixture *f = *state;
    static const char text[] =
        "kernel k(i32 m, i32 n, i64 ld, const f32 *x, f32 *c) grid(1) warps(1)\n"
        "{\n"
        "    global f32 X[m][n] = x strides(ld, 1), C[m][n] = c;\n"
        "    C[0 +: 4][0 +: 4] = X[0 +: 4][0 +: 4];\n"
        "    ensures C == X;\n"
        "}\n";
    float x[9] = {1, 2, 3, 4, 5, 6, 7, 8, 9}, c[4];
    load(f, text);
    tw_array in = array(x, TW_F32, 1, 9, 0), out = array(c, TW_F32, 2, 2, 2);
    succeed(f, tw_launch_array(f->launch, "x", &in));
    succeed(f, tw_launch_array(f->launch, "c", &out));
    succeed(f, tw_launch_set(f->launch, "ld", integer(5)));
    succeed(f, tw_launch_run(f->launch));
    assert_true(c[0] == 1 && c[1] == 2 && c[2] == 6 && c[3] == 7);
    succeed(f, tw_launch_verify(f->launch, NULL));
    succeed(f, tw_launch_set(f->launch, "ld", integer(8)));
    refused(f, tw_launch_run(f->launch), TW_BAD_ARGUMENT, "`x` has 9 elements");
    in = array(x, TW_F32, 3, (int64_t)1 << 62, 4); /* and none */
    succeed(f, tw_launch_array(f->launch, "x", &in));
    refused(f, tw_launch_prepare(f->launch), TW_BAD_ARGUMENT, "`x` has 0 elements");
    succeed(f, tw_launch_set(f->launch, "ld", integer(-3)));
    refused(f, tw_launch_prepare(f->launch), TW_BAD_ARGUMENT,
            "view `X` begins 3 elements before `x`");
    succeed(f, tw_launch_set(f->launch, "ld", integer(INT64_MAX)));
    refused(f, tw_launch_prepare(f->launch), TW_BAD_ARGUMENT, "view `X` is larger than memory");
}

/* --- faults --- */

static void test_fault_is_placed(void **state)
{
    struct fixture *f = *state;
    static const char text[] = "kernel k(i32 n, f32 *c) grid(2) threads(4)\n"
                               "{\n"
                               "    global f32 C[n] = c;\n"
                               "    C[block.x * 4 + thread.x] = 1;\n"
                               "}\n";
    float c[6];
    load(f, text);
    tw_array out = array(c, TW_F32, 1, 6, 0);
    succeed(f, tw_launch_array(f->launch, "c", &out));
    refused(f, tw_launch_run(f->launch), TW_FAULT, "test.tile:4:");
    refused(f, tw_launch_run(f->launch), TW_FAULT, "in block (1, 0, 0), thread (2, 0, 0)");
}

/* Wrong arguments of a call get a message too; an index one past the last ends a loop without a
 * message. */
static void test_arguments_that_are_missing(void **state)
{
    struct fixture *f = *state;
    tw_param param = tw_param_init();
    tw_tune tune = tw_tune_init();
    tw_type type = tw_type_init();
    load(f, matmul_text);
    tw_kernel *k = tw_module_kernel_at(f->module, 0);
    refused(f, tw_launch_set(f->launch, NULL, integer(1)), TW_BAD_ARGUMENT, "`param` is NULL");
    refused(f, tw_launch_tune(f->launch, NULL, integer(1)), TW_BAD_ARGUMENT, "`name` is NULL");
    refused(f, tw_launch_type(f->launch, NULL, TW_F32), TW_BAD_ARGUMENT, "`name` is NULL");
    refused(f, tw_launch_array(f->launch, NULL, NULL), TW_BAD_ARGUMENT, "`param` is NULL");
    refused(f, tw_launch_value(f->launch, "m", NULL), TW_BAD_ARGUMENT, "`out` is NULL");
    refused(f, tw_launch_shape(f->launch, "a", NULL), TW_BAD_ARGUMENT, "`out` is NULL");
    refused(f, tw_launch_show(f->launch, NULL, NULL), TW_BAD_ARGUMENT, "`text` is NULL");
    refused(f, tw_launch_new(k, NULL), TW_BAD_ARGUMENT, "`out` is NULL");
    refused(f, tw_module_from_file(f->ctx, NULL, NULL), TW_BAD_ARGUMENT, "`path` or `out` is NULL");
    refused(f, tw_module_from_text(f->ctx, NULL, "", 0, NULL), TW_BAD_ARGUMENT, "is NULL");
    refused(f, tw_kernel_param(k, 99, &param), TW_BAD_ARGUMENT, "there is no such index");
    refused(f, tw_kernel_tune(k, -1, &tune), TW_BAD_ARGUMENT, "there is no such index");
    refused(f, tw_kernel_type(k, 0, NULL), TW_BAD_ARGUMENT, "`out` is NULL");
    refused(f, tw_kernel_written(k, NULL), TW_BAD_ARGUMENT, "`out` is NULL");
    tw_launch_prepare(f->launch);
    int count = tw_kernel_param_count(k);
    const char *said = tw_context_messages(f->ctx);
    assert_int_equal(tw_kernel_param(k, count, &param), TW_BAD_ARGUMENT);
    assert_ptr_equal(said, tw_context_messages(f->ctx));
    assert_int_equal(tw_kernel_type(k, tw_kernel_type_count(k), &type), TW_BAD_ARGUMENT);
    assert_ptr_equal(said, tw_context_messages(f->ctx));
}

/* Calls about parameters of unknown type succeed; the compiler reports the missing type. */
static void parameters_of_unknown_types(void **state)
{
    struct fixture *f = *state;
    float data[4];
    tw_array x = tw_array_init();
    load(f, "kernel k(i65 n, flot *a) grid(1) warps(1) { global f32 A[4] = a; A[0] = 1; }");
    succeed(f, tw_launch_set(f->launch, "n", integer(5)));
    refused(f, tw_launch_shape(f->launch, "a", &x), TW_BAD_PROGRAM, "there is no type `i65`");
    x = array(data, TW_F32, 1, 4, 0);
    refused(f, tw_launch_array(f->launch, "a", &x), TW_BAD_ARGUMENT, "`a` is f32[4]");
    refused(f, tw_launch_prepare(f->launch), TW_BAD_PROGRAM, "there is no type `i65`");
}

static void test_extents_do_not_wrap(void **state)
{
    struct fixture *f = *state;
    float c[1];
    load(f, "kernel k(i32 m, i32 n, f32 *c) grid(1) warps(1)\n{\n    global f32 C[m * n] = c;\n    "
            "C[0] = 1;\n}\n");
    tw_array out = array(c, TW_F32, 1, 1, 0);
    succeed(f, tw_launch_array(f->launch, "c", &out));
    succeed(f, tw_launch_set(f->launch, "m", integer(65536)));
    succeed(f, tw_launch_set(f->launch, "n", integer(65536)));
    refused(f, tw_launch_run(f->launch), TW_BAD_ARGUMENT,
            "test.tile:3:18: error: `m * n` = 65536 * 65536 overflows i32: write `(i64) m * n`");
}

/* A derived parameter that does not compile is an error of the program, whatever other arguments
 * it has. */
static void test_wrong_parameters(void **state)
{
    static const struct {
        const char *value, *message;
    } cases[] = {{"m * colz", "`colz` is not declared"},
                 {"(i64) m * n", "is i64, which `total` (i32) cannot always hold"},
                 {"m * later", "`total` follows from a parameter after it"},
                 {"1 << 40", "does not fit"}};
    struct fixture *f = *state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[300];
        snprintf(text, sizeof text,
                 "kernel k(i32 m, i32 n, i32 total = %s, f32 *c, i32 later = 1) grid(1) warps(1)\n"
                 "{\n    global f32 C[total] = c;\n    C[0] = 1;\n}\n",
                 cases[i].value);
        load(f, text);
        succeed(f, tw_launch_set(f->launch, "m", integer(2)));
        succeed(f, tw_launch_set(f->launch, "n", integer(2)));
        refused(f, tw_launch_prepare(f->launch), TW_BAD_PROGRAM, cases[i].message);
        tw_entry *entry;
        refused(f, tw_entry_new(f->launch, &entry), TW_BAD_PROGRAM, cases[i].message);
        assert_null(entry);
    }
}

/* A grid may be an i64: the launch checks the number of blocks. */
static void test_grid_of_i64(void **state)
{
    struct fixture *f = *state;
    float c[6] = {0};
    load(f, "kernel k(i32 m, i32 n, i64 total = (i64) m * n, i32 all = m * n, f32 *c) "
            "grid(cdiv(total, 2)) warps(1)\n{\n    global f32 C[total] = c;\n"
            "    C[block.x * 2 +: 2] = 1;\n}\n");
    tw_array out = array(c, TW_F32, 1, 6, 0);
    succeed(f, tw_launch_array(f->launch, "c", &out));
    succeed(f, tw_launch_set(f->launch, "m", integer(2)));
    succeed(f, tw_launch_set(f->launch, "n", integer(3)));
    succeed(f, tw_launch_run(f->launch));
    for (int i = 0; i < 6; i++)
        assert_true(c[i] == 1);
    succeed(f, tw_launch_set(f->launch, "m", integer(100000)));
    succeed(f, tw_launch_set(f->launch, "n", integer(100000)));
    refused(f, tw_launch_prepare(f->launch), TW_BAD_ARGUMENT,
            "overflows i32: declare it `i64 all = (i64) m * n`");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, api_setup, api_teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_sizes_in_conflict),
        TEST(test_sizes_missing),
        TEST(test_types),
        TEST(test_unlisted_type),
        TEST(test_a_refused_array_is_not_called_missing),
        TEST(test_arrays_by_themselves),
        TEST(test_no_kernel),
        TEST(test_unknown_names),
        TEST(test_scalars_fit_their_type),
        TEST(test_computed_axes),
        TEST(test_strided_view),
        TEST(test_fault_is_placed),
        TEST(test_arguments_that_are_missing),
        TEST(parameters_of_unknown_types),
        TEST(test_extents_do_not_wrap),
        TEST(test_wrong_parameters),
        TEST(test_grid_of_i64),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
