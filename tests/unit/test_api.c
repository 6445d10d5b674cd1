/* The public interface: results of each call, and refused calls with their messages. */
#include "api_helper.h"

#include "api/objects.h"
#include "tilewright_look.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const matmul_text = api_matmul;

static void give_inputs(struct fixture *f)
{
    tw_array a = array(f->a, TW_F32, 2, M, K), b = array(f->b, TW_F32, 2, K, N);
    succeed(f, tw_launch_array(f->launch, "a", &a));
    succeed(f, tw_launch_array(f->launch, "b", &b));
}

static void give_all(struct fixture *f)
{
    tw_array c = array(f->c, TW_F32, 2, M, N);
    give_inputs(f);
    succeed(f, tw_launch_array(f->launch, "c", &c));
}

/* --- tables --- */

static void test_names(void **state)
{
    (void)state;
    assert_string_equal(tw_status_name(TW_BAD_ARGUMENT), "TW_BAD_ARGUMENT");
    assert_string_equal(tw_status_text(TW_OK), "success");
    assert_string_equal(tw_dtype_name(TW_BF16), "bf16");
    assert_string_equal(tw_dtype_name(TW_DTYPE_NONE), "none");
    assert_int_equal(tw_dtype_from_name("u16"), TW_U16);
    assert_int_equal(tw_dtype_from_name("u17"), TW_DTYPE_NONE);
    assert_int_equal(tw_dtype_size(TW_I64), 8);
    assert_string_equal(tw_dtype_numpy(TW_F16), "f2");
    uint16_t half;
    tw_dtype_store(TW_F16, &half, 1.5);
    assert_true(tw_dtype_load(TW_F16, &half) == 1.5);
    assert_non_null(tw_pass_name(0));
    assert_null(tw_pass_name(1000));
    tw_device device = tw_device_init();
    assert_true(tw_device_at(0, &device));
    size_t length = strlen(device.model);
    assert_true(length && device.model[0] != ' ' && device.model[length - 1] != ' ');
    assert_null(strstr(device.model, "  "));
    assert_string_equal(device.name, "cpu");
    assert_true(device.cores >= 1);
    if (tw_device_at(1, &device))
        assert_string_equal(device.name, "cuda");
    assert_false(tw_device_at(2, &device));
    assert_false(tw_device_at(0, NULL));
}

static void test_threads_are_counted_from_0(void **state)
{
    (void)state;
    tw_context *ctx = (tw_context *)1;
    assert_int_equal(tw_context_new(&(tw_config){.size = sizeof(tw_config), .threads = -1}, &ctx),
                     TW_BAD_ARGUMENT);
    assert_null(ctx);
    assert_int_equal(tw_context_new(NULL, NULL), TW_BAD_ARGUMENT);
}

/* --- modules --- */

static void test_kernel_describes_itself(void **state)
{
    struct fixture *f = *state;
    load(f, matmul_text);
    tw_kernel *k = tw_module_kernel(f->module, "matmul");
    assert_non_null(k);
    assert_int_equal(tw_module_kernel_count(f->module), 1);
    assert_true(tw_kernel_has_ensures(k));
    assert_false(tw_kernel_thread_level(k));
    assert_int_equal(tw_kernel_param_count(k), 6);
    tw_param p = tw_param_init();
    succeed(f, tw_kernel_param(k, 1, &p));
    assert_true(p.is_static && !p.is_pointer && p.dtype == TW_I32);
    succeed(f, tw_kernel_param(k, 3, &p));
    assert_true(p.is_pointer && p.is_const && p.rank == 2);
    assert_int_equal(p.dtype, TW_DTYPE_NONE);
    assert_string_equal(p.type_name, "T");
    assert_string_equal(p.dims[1], "k");
    assert_int_equal(tw_kernel_param(k, 6, &p), TW_BAD_ARGUMENT);
    tw_tune t = tw_tune_init();
    assert_int_equal(tw_kernel_tune_count(k), 3);
    succeed(f, tw_kernel_tune(k, 1, &t));
    assert_string_equal(t.name, "BN");
    assert_int_equal(t.count, 3);
    assert_int_equal(t.values[1].i, 8);
    tw_type type = tw_type_init();
    assert_int_equal(tw_kernel_type_count(k), 1);
    succeed(f, tw_kernel_type(k, 0, &type));
    assert_int_equal(type.choices[1], TW_F16);
    const char *violated;
    assert_true(tw_kernel_allows(k, (tw_value[]){tw_int(16), tw_int(16), tw_int(16)}, &violated));
    assert_null(violated);
    assert_false(tw_kernel_allows(k, (tw_value[]){tw_int(32), tw_int(8), tw_int(16)}, &violated));
    assert_non_null(strstr(violated, "BM * BK"));
    assert_false(tw_kernel_allows(k, (tw_value[]){tw_int(16), {.f = 16}, tw_int(16)}, &violated));
    assert_null(violated);
    assert_non_null(strstr(tw_context_messages(f->ctx),
                           "`BN` is given a value of no kind: make the value with tw_int()"));
    assert_false(
        tw_kernel_allows(k, (tw_value[]){tw_int(16), tw_int(16), tw_float(16)}, &violated));
    assert_non_null(strstr(tw_context_messages(f->ctx), "tuned value `BK` takes a 32-bit integer"));
}

static void test_float_tunes(void **state)
{
    struct fixture *f = *state;
    load(f, "tune S = {0.5, 2.0};\nrequire(S < 2.0);\n"
            "kernel k(f32 *c) grid(1) warps(1) { global f32 C[4] = c; C[0 +: 4] = S; }\n");
    tw_kernel *k = tw_module_kernel(f->module, "k");
    const char *violated;
    assert_true(tw_kernel_allows(k, (tw_value[]){tw_float(0.5)}, &violated));
    assert_true(
        tw_kernel_allows(k, (tw_value[]){tw_int(1)}, &violated)); /* as tw_launch_tune accepts it */
    assert_false(tw_kernel_allows(k, (tw_value[]){tw_int(2)}, &violated));
    assert_string_equal(violated, "S < 2.0");
    assert_false(tw_kernel_allows(k, &(tw_value){.f = 0.5}, &violated));
    assert_null(violated);
    assert_non_null(strstr(tw_context_messages(f->ctx), "make the value with tw_float()"));
}

static void test_unknown_kernel(void **state)
{
    struct fixture *f = *state;
    load(f, matmul_text);
    assert_null(tw_module_kernel(f->module, "matmull"));
    assert_non_null(strstr(tw_context_messages(f->ctx), "did you mean `matmul`"));
    tw_message m = tw_message_init();
    assert_true(tw_context_message(f->ctx, 0, &m));
    assert_int_equal(m.severity, TW_ERROR);
    assert_true(tw_context_message(f->ctx, 1, &m));
    assert_int_equal(m.severity, TW_NOTE);
    assert_false(tw_context_message(f->ctx, 2, &m));
}

static void test_bad_program(void **state)
{
    struct fixture *f = *state;
    const char *text = "kernel k(i32 n) grid(1) warps(1)\n{\n    i32 x = ;\n}\n";
    tw_module *m = (tw_module *)1;
    refused(f, tw_module_from_text(f->ctx, "bad.tile", text, strlen(text), &m), TW_BAD_PROGRAM,
            "bad.tile:3:");
    assert_null(m);
    tw_message message = tw_message_init();
    assert_true(tw_context_message(f->ctx, 0, &message));
    assert_string_equal(message.file, "bad.tile");
    assert_int_equal(message.line, 3);
}

/* The `shown` parts of all messages, joined, are the whole text, including the count of errors
 * past the limit. */
static void test_messages_as_shown(void **state)
{
    struct fixture *f = *state;
    char text[4096] = "kernel k(f32 *c) grid(1) threads(64)\n{\n    global f32 C[64] = c;\n";
    static char joined[1 << 16];
    for (int i = 0; i < 30; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text),
                 "shared f32 s%d[64];\ns%d[thread.x] = 1;\nC[thread.x] = s%d[63 - thread.x];\n", i,
                 i, i);
    strcat(text, "}\n");
    tw_module *module;
    tw_message m = tw_message_init(), last = {.text = ""};
    assert_int_equal(tw_module_from_text(f->ctx, "k.tile", text, strlen(text), &module), TW_OK);
    tw_launch *l;
    assert_int_equal(tw_launch_new(tw_module_kernel_at(module, 0), &l), TW_OK);
    assert_int_equal(tw_launch_check(l), TW_UNSYNCHRONISED);
    for (int i = 0; tw_context_message(f->ctx, i, &m); i++) {
        last = m;
        if (m.severity == TW_NOTE) {
            assert_null(m.shown);
            continue;
        }
        size_t shown = strlen(m.shown), notes = strlen(m.shown_notes);
        assert_true(notes < shown);
        assert_string_equal(m.shown + shown - notes, m.shown_notes);
        assert_true(strlen(joined) + shown < sizeof joined);
        strcat(joined, m.shown);
    }
    assert_string_equal(joined, tw_context_messages(f->ctx));
    assert_int_equal(last.severity, TW_NOTE);
    assert_string_equal(last.text, "... and 10 more errors");
    assert_int_equal(last.code, TW_CODE_RACE);
}

/* The fix of a message, and the accesses of a race. */
static void test_message_parts(void **state)
{
    struct fixture *f = *state;
    const char *text = "kernel k(f32 *c) grid(1) threads(64)\n{\n    global f32 C[64] = c;\n"
                       "    shared float s[64];\n    s[thread.x] = 1;\n"
                       "    C[thread.x] = s[63 - thread.x];\n}\n";
    tw_module *m;
    tw_message message = tw_message_init();
    assert_int_equal(tw_module_from_text(f->ctx, "k.tile", text, strlen(text), &m), TW_BAD_PROGRAM);
    assert_true(tw_context_message(f->ctx, 0, &message));
    assert_string_equal(tw_code_name(message.code), "foreign");
    assert_int_equal(message.length, 5);
    assert_int_equal(message.edit_count, 1);
    assert_int_equal(message.edits[0]->line, 4);
    assert_int_equal(message.edits[0]->column, 12);
    assert_int_equal(message.edits[0]->remove, 5);
    assert_string_equal(message.edits[0]->insert, "f32");
    char *better = strdup(text);
    memcpy(strstr(better, "float"), "f32  ", 5);
    load(f, better);
    tw_launch *l;
    assert_int_equal(tw_launch_new(tw_module_kernel(f->module, "k"), &l), TW_OK);
    assert_int_equal(tw_launch_check(l), TW_UNSYNCHRONISED);
    assert_true(tw_context_message(f->ctx, 0, &message));
    assert_int_equal(message.code, TW_CODE_RACE);
    assert_int_equal(message.access_count, 2);
    assert_string_equal(message.accesses[0]->what, "read");
    assert_string_equal(message.accesses[1]->what, "write");
    assert_int_equal(message.accesses[1]->line, 5);
    assert_string_equal(message.accesses[0]->variable, "s");
    assert_int_equal(message.accesses[0]->rank, 1);
    assert_int_equal(message.accesses[0]->index[0], message.accesses[1]->index[0]);
    assert_int_equal(message.accesses[0]->thread + message.accesses[1]->thread, 63);
    assert_string_equal(message.edits[0]->insert, "    sync();\n");
    assert_int_equal(message.edits[0]->line, 6);
    tw_launch_free(l);
    free(better);
}

static void test_missing_file(void **state)
{
    struct fixture *f = *state;
    tw_module *m;
    refused(f, tw_module_from_file(f->ctx, "no/such.tile", &m), TW_NO_FILE, "no/such.tile");
}

static void test_module_outlives_its_free(void **state)
{
    struct fixture *f = *state;
    load(f, matmul_text);
    tw_module_free(f->module);
    give_all(f);
    succeed(f, tw_launch_run(f->launch));
    tw_launch_free(f->launch);
}

/* --- running --- */

struct wrong_seen {
    int count;
    tw_wrong last;
    bool named; /* by view and parameter */
};

static void see_wrong(void *user, const tw_wrong *w)
{
    struct wrong_seen *seen = user;
    seen->count++;
    seen->last = *w;
    seen->named = strcmp(w->view, "C") == 0 && strcmp(w->param, "c") == 0;
}

static void check_each_wrong(struct fixture *f)
{
    struct wrong_seen seen = {0};
    refused(f, tw_launch_each_wrong(f->launch, see_wrong, &seen), TW_WRONG_VALUES, "C[2][5]");
    assert_int_equal(seen.count, 2);
    assert_true(seen.named);
    assert_int_equal(seen.last.rank, 2);
    assert_int_equal(seen.last.extent[0], M);
    assert_int_equal(seen.last.extent[1], N);
    assert_int_equal(seen.last.at[0] * N + seen.last.at[1], seen.last.element);
    assert_true(fabs(seen.last.got - (double)f->c[seen.last.element]) == 0);
    refused(f, tw_launch_each_wrong(f->launch, NULL, NULL), TW_BAD_ARGUMENT, "`each` is NULL");
}

static void test_run_and_verify(void **state)
{
    struct fixture *f = *state;
    load(f, matmul_text);
    give_all(f);
    succeed(f, tw_launch_run(f->launch));
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            float sum = 0;
            for (int p = 0; p < K; p++)
                sum += f->a[i * K + p] * f->b[p * N + j];
            assert_true(fabsf(sum - f->c[i * N + j]) < 1e-4f);
        }
    tw_verdict v = tw_verdict_init();
    succeed(f, tw_launch_verify(f->launch, &v));
    assert_true(v.ok);
    assert_int_equal(v.checked, M * N);
    f->c[2 * N + 5] += 1;
    refused(f, tw_launch_verify(f->launch, &v), TW_WRONG_VALUES, "C[2][5]");
    assert_false(v.ok);
    assert_string_equal(v.view, "C");
    assert_int_equal(v.at[1], 5);
    f->c[0] += 0.5f;
    check_each_wrong(f);
    f->c[2 * N + 5] = 0;
}

static void test_a_forgotten_kernel_is_compiled_again(void **state)
{
    struct fixture *f = *state;
    tw_kernel *other;
    load(f, matmul_text);
    tw_kernel *k = tw_module_kernel(f->module, "matmul");
    succeed(f, tw_kernel_for_target(k, "sm_90", &other));
    give_all(f);
    long before = f->memory.live;
    succeed(f, tw_launch_run(f->launch));
    long compiled = f->memory.live;
    tw_kernel_forget(other); /* of any target: removes all */
    assert_true(compiled - f->memory.live > (compiled - before) / 2);
    succeed(f, tw_launch_run(f->launch));
    tw_verdict v = tw_verdict_init();
    succeed(f, tw_launch_verify(f->launch, &v));
    assert_true(v.ok);
    tw_kernel_forget(NULL);
}

/* If an output overwrites inputs, the values are wrong whatever the kernel computes, and the
 * report says that. */
static void test_wrong_values_of_arrays_that_overlap(void **state)
{
    struct fixture *f = *state;
    enum { S = 10 };
    float all[2 * S * S], far[S * S];
    for (int i = 0; i < 2 * S * S; i++)
        all[i] = (float)(i % 7) + 1;
    load(f, matmul_text);
    tw_array a = array(all, TW_F32, 2, S, S), b = array(f->b, TW_F32, 2, S, S);
    tw_array over = array(all + S * S - 1, TW_F32, 2, S, S), apart = array(far, TW_F32, 2, S, S);
    succeed(f, tw_launch_array(f->launch, "a", &a));
    succeed(f, tw_launch_array(f->launch, "b", &b));
    succeed(f, tw_launch_array(f->launch, "c", &over));
    refused(f, tw_launch_run(f->launch), TW_BAD_ARGUMENT,
            "bytes 0 to 3 of `c` are bytes 396 to 399 of `a`");
    succeed(f, tw_launch_allow_overlap(f->launch, true));
    succeed(f, tw_launch_run(f->launch));
    refused(f, tw_launch_verify(f->launch, NULL), TW_WRONG_VALUES,
            "array `c` overlaps array `a`, which the kernel reads");
    succeed(f, tw_launch_array(f->launch, "c", &apart));
    succeed(f, tw_launch_run(f->launch));
    far[0] += 100;
    refused(f, tw_launch_verify(f->launch, NULL), TW_WRONG_VALUES, "C[0][0]");
    assert_null(strstr(tw_context_messages(f->ctx), "overlaps"));
    far[0] -= 100;
    succeed(f, tw_launch_array(f->launch, "b", &a)); /* both are read */
    succeed(f, tw_launch_run(f->launch));
    succeed(f, tw_launch_verify(f->launch, NULL));
}

static void test_shape_of_an_output(void **state)
{
    struct fixture *f = *state;
    load(f, matmul_text);
    give_inputs(f);
    tw_array c = tw_array_init();
    succeed(f, tw_launch_shape(f->launch, "c", &c));
    assert_int_equal(c.dtype, TW_F32);
    assert_int_equal(c.rank, 2);
    assert_int_equal(c.shape[0], M);
    assert_int_equal(c.shape[1], N);
    tw_value v;
    succeed(f, tw_launch_value(f->launch, "k", &v));
    assert_int_equal(v.i, K);
    succeed(f, tw_launch_value(f->launch, "BM", &v));
    assert_int_equal(v.i, 16);
    refused(f, tw_launch_run(f->launch), TW_BAD_ARGUMENT, "no array was given for `c`");
}

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

static const char written_text[] = "const i32 N = 32;\n"
                                   "kernel k(f32 *c) grid(1) threads(N)\n"
                                   "{\n"
                                   "    global f32 C[N] = c;\n"
                                   "    shared f32 s[N][N + 1], whole[4], twice[2], part[8];\n"
                                   "    const i32 M = 4;\n"
                                   "    i32 t = thread.x;\n"
                                   "    for (i32 twice = 0; twice < 2; twice++)\n"
                                   "        s[t][(twice + 1) * 2] = t;\n"
                                   "    whole = 0;\n"
                                   "    async part[0 +: 4] = C[0 +: 4];\n"
                                   "    async_wait(0);\n"
                                   "    sync();\n"
                                   "    C[t] = s[0 /* row */][t] + part[0];\n"
                                   "}\n";

static void place_is(const tw_expression *e, const char *text)
{
    const char *line = written_text;
    for (int i = 1; i < e->line; i++)
        line = strchr(line, '\n') + 1;
    assert_int_equal(e->length, strlen(text));
    assert_memory_equal(line + e->column - 1, text, strlen(text));
}

/* Finds the declarations of arrays in shared memory, and the uses of their elements, in a text. */
static void test_written(void **state)
{
    struct fixture *f = *state;
    tw_written w = tw_written_init();
    load(f, written_text);
    assert_int_equal(tw_kernel_written(tw_module_kernel_at(f->module, 0), &w), TW_OK);
    assert_int_equal(w.shared_count, 3);
    const tw_shared_array *s = &w.shared[0];
    assert_string_equal(s->name, "s");
    assert_true(s->line == 5 && s->column == 16 && s->rank == 2 && s->by_element);
    place_is(&s->extents[0], "N");
    place_is(&s->extents[1], "N + 1");
    assert_string_equal(s->extents[1].op, "+");
    assert_string_equal(s->extents[1].left->name, "N");
    assert_true(s->extents[1].right->is_number && s->extents[1].right->number == 1);
    assert_int_equal(s->element_count, 2);
    place_is(&s->elements[0].index[0], "t");
    place_is(&s->elements[0].index[1], "(twice + 1) * 2");
    place_is(&s->elements[1].index[0], "0");
    place_is(&s->elements[1].index[1], "t");
    assert_string_equal(w.shared[1].name, "whole");
    assert_false(w.shared[1].by_element);
    assert_string_equal(w.shared[2].name, "part");
    assert_true(!w.shared[2].by_element && w.shared[2].element_count == 1);
    assert_int_equal(w.number_count, 2);
    assert_string_equal(w.numbers[0].name, "N");
    place_is(&w.numbers[0].value, "32");
    assert_string_equal(w.numbers[1].name, "M");
    assert_int_equal(w.numbers[1].value.number, 4);
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
            "`x` is given a value of no kind: make the value with tw_int()");
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
        "kernel k(i32 m, i32 n, i32 ld, const f32 *x, f32 *c) grid(1) warps(1)\n"
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
}

/* --- tuned values --- */

static void test_tuned_values(void **state)
{
    struct fixture *f = *state;
    tw_value v;
    load(f, matmul_text);
    give_all(f);
    succeed(f, tw_launch_tune(f->launch, "BN", integer(8)));
    succeed(f, tw_launch_value(f->launch, "BM", &v));
    assert_int_equal(v.i, 32); /* of the first row with BN = 8 */
    succeed(f, tw_launch_tune(f->launch, "BK", integer(16)));
    succeed(f, tw_launch_value(f->launch, "BM", &v));
    assert_int_equal(v.i, 8); /* 32 * 16 is not allowed */
    succeed(f, tw_launch_run(f->launch));
    succeed(f, tw_launch_verify(f->launch, NULL));
    succeed(f, tw_launch_tune(f->launch, "BM", integer(4))); /* unlisted */
    succeed(f, tw_launch_run(f->launch));
    succeed(f, tw_launch_verify(f->launch, NULL));
    succeed(f, tw_launch_tune(f->launch, "BM", integer(64)));
    refused(f, tw_launch_run(f->launch), TW_BAD_ARGUMENT, "BM * BK <= 256");
    refused(f, tw_launch_tune(f->launch, "BM", tw_float(2.5)), TW_BAD_ARGUMENT, "`BM` takes");
    refused(f, tw_launch_tune(f->launch, "BM", (tw_value){.f = 8}), TW_BAD_ARGUMENT,
            "`BM` is given a value of no kind: make the value with tw_int()");
}

static void test_variants_are_kept(void **state)
{
    struct fixture *f = *state;
    load(f, matmul_text);
    tw_kernel *k = tw_module_kernel_at(f->module, 0);
    give_all(f);
    succeed(f, tw_launch_run(f->launch));
    succeed(f, tw_launch_tune(f->launch, "BK", integer(16)));
    succeed(f, tw_launch_run(f->launch));
    succeed(f, tw_launch_tune(f->launch, "BK", integer(8)));
    succeed(f, tw_launch_run(f->launch));
    assert_int_equal(k->variant_count, 2);
    for (int bm = 1; bm <= VARIANTS_KEPT + 3; bm++) {
        if (bm * 8 > 256)
            break;
        succeed(f, tw_launch_tune(f->launch, "BM", integer(bm)));
        succeed(f, tw_launch_prepare(f->launch));
    }
    succeed(f, tw_launch_tune(f->launch, "BM", integer(1)));
    for (int n = 1; n <= VARIANTS_KEPT + 3; n++) {
        succeed(f, tw_launch_array(f->launch, "b", NULL));
        succeed(f, tw_launch_array(f->launch, "c", NULL));
        succeed(f, tw_launch_set(f->launch, "n", integer(n)));
        succeed(f, tw_launch_prepare(f->launch));
    }
    assert_int_equal(k->variant_count, VARIANTS_KEPT);
}

/* --- check and show --- */

static void test_check(void **state)
{
    struct fixture *f = *state;
    load(f, matmul_text);
    succeed(f, tw_launch_check(f->launch));
    assert_string_equal(tw_context_messages(f->ctx), "");
}

static void test_check_finds_the_race(void **state)
{
    struct fixture *f = *state;
    char text[1024];
    snprintf(text, sizeof text, "%s", matmul_text);
    memset(strstr(text, "sync();"), ' ', strlen("sync();"));
    load(f, text);
    refused(f, tw_launch_check(f->launch), TW_UNSYNCHRONISED, "test.tile:");
    give_all(f);
    assert_int_equal(tw_launch_run(f->launch), TW_UNSYNCHRONISED);
}

static void test_check_with_statics_that_extents_need(void **state)
{
    struct fixture *f = *state;
    static const char text[] =
        "kernel k(i32 rows, static i32 cols, static i32 other, const f32 *x, f32 *y)\n"
        "    grid(rows) warps(1)\n"
        "{\n"
        "    global f32 X[rows][cols] = x, Y[rows][cols] = y;\n"
        "    const i32 W = pow2_ceil(cols);\n"
        "    reg f32 v[W] = X[block.x][0 +: W];\n"
        "    assume(cols % 64 == 0);\n"
        "    Y[block.x][0 +: W] = v / sum(v) * other;\n"
        "}\n";
    load(f, text);
    succeed(f, tw_launch_check(f->launch));
    const char *shown;
    succeed(f, tw_launch_show(f->launch, "check", &shown));
    assert_non_null(strstr(shown, "kernel k("));
}

static void test_show_compiles_again(void **state)
{
    struct fixture *f = *state;
    load(f, matmul_text);
    give_all(f);
    for (int i = -2; i < 0 || tw_pass_name(i); i++) {
        const char *pass = i == -2 ? NULL : i == -1 ? "check" : tw_pass_name(i), *shown;
        succeed(f, tw_launch_show(f->launch, pass, &shown));
        tw_module *again;
        tw_status status = tw_module_from_text(f->ctx, "shown.tile", shown, strlen(shown), &again);
        if (status != TW_OK)
            fail_msg("after %s: %s\n%s", pass ? pass : "all", tw_context_messages(f->ctx), shown);
        tw_module_free(again);
    }
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

static bool after_a_while(void *user)
{
    int *polls = user;
    return ++*polls > 100;
}

static void test_endless_loops_end(void **state)
{
    struct fixture *f = *state;
    int polls = 0;
    tw_context_free(f->ctx);
    f->config.cancelled = after_a_while;
    f->config.cancelled_user = &polls;
    assert_int_equal(tw_context_new(&f->config, &f->ctx), TW_OK);
    load(f, "kernel k(i32 n) grid(3) warps(1)\n{\n    for (i32 i = 0; i >= 0; i = i & n)\n        "
            "i++;\n}\n");
    succeed(f, tw_launch_set(f->launch, "n", integer(7)));
    assert_int_equal(tw_launch_run(f->launch), TW_CANCELLED);
}

static void test_cancel(void **state)
{
    struct fixture *f = *state;
    tw_context_free(f->ctx);
    bool cancelled = false;
    f->config.cancelled = tw_flag_is_set;
    f->config.cancelled_user = &cancelled;
    assert_int_equal(tw_context_new(&f->config, &f->ctx), TW_OK);
    load(f, matmul_text);
    give_all(f);
    cancelled = true;
    assert_int_equal(tw_launch_run(f->launch), TW_CANCELLED);
    cancelled = false;
}

static void keep_text(void *user, const char *text, size_t length)
{
    struct fixture *f = user;
    strncat(f->printed, text, length < 100 ? length : 100);
}

static void test_print(void **state)
{
    struct fixture *f = *state;
    tw_context_free(f->ctx);
    f->config.print = keep_text;
    f->config.print_user = f;
    assert_int_equal(tw_context_new(&f->config, &f->ctx), TW_OK);
    load(f, "kernel k(i32 n) grid(1) warps(1)\n{\n    print(\"n is\", n);\n}\n");
    succeed(f, tw_launch_set(f->launch, "n", integer(42)));
    succeed(f, tw_launch_run(f->launch));
    assert_non_null(strstr(f->printed, "42"));
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

/* A sum as a tree. The arguments of the launch decide none of its steps, so it is explored once
 * for all targets and queries. */
static void undecided_synchronisation_is_explored_once(void **state)
{
    struct fixture *f = *state;
    float a[8] = {1, 2, 3, 4, 5, 6, 7, 8}, out[1];
    tw_kernel *gpu;
    tw_launch *on_gpu;
    load(f, "kernel k(i32 n, f32 *out, const f32 *a) grid(1) threads(8) {"
            "global f32 A[n] = a, Out[1] = out; shared f32 part[8]; i32 t = thread.x;"
            "part[t] = t < n ? A[t] : 0; sync();"
            "i32 half = pow2_ceil(n) / 2; while (half > 0) {"
            "if (t < half) part[t] += part[t + half]; sync(); half /= 2; }"
            "if (t == 0) Out[0] = part[0]; }");
    succeed(f, tw_kernel_for_target(tw_module_kernel_at(f->module, 0), "sm_80", &gpu));
    succeed(f, tw_launch_new(gpu, &on_gpu));
    tw_launch *launches[2] = {f->launch, on_gpu};
    for (int i = 0; i < 2; i++) {
        tw_array in = array(a, TW_F32, 1, 8, 0), result = array(out, TW_F32, 1, 1, 0);
        succeed(f, tw_launch_array(launches[i], "a", &in));
        succeed(f, tw_launch_array(launches[i], "out", &result));
        succeed(f, tw_launch_prepare(launches[i]));
        assert_non_null(tw_launch_undecided(launches[i]));
    }
    succeed(f, tw_launch_run(f->launch));
    assert_true(out[0] == 36);
    assert_int_equal(f->module->sync.explored, 1);
    tw_launch_free(on_gpu);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, api_setup, api_teardown)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_threads_are_counted_from_0),
        TEST(test_kernel_describes_itself),
        TEST(test_float_tunes),
        TEST(test_unknown_kernel),
        TEST(test_bad_program),
        TEST(test_messages_as_shown),
        TEST(test_message_parts),
        TEST(test_missing_file),
        TEST(test_module_outlives_its_free),
        TEST(test_run_and_verify),
        TEST(test_a_forgotten_kernel_is_compiled_again),
        TEST(test_wrong_values_of_arrays_that_overlap),
        TEST(test_shape_of_an_output),
        TEST(test_sizes_in_conflict),
        TEST(test_sizes_missing),
        TEST(test_types),
        TEST(test_unlisted_type),
        TEST(test_a_refused_array_is_not_called_missing),
        TEST(test_arrays_by_themselves),
        TEST(test_no_kernel),
        TEST(test_written),
        TEST(test_unknown_names),
        TEST(test_scalars_fit_their_type),
        TEST(test_computed_axes),
        TEST(test_strided_view),
        TEST(test_tuned_values),
        TEST(test_variants_are_kept),
        TEST(test_check),
        TEST(test_check_finds_the_race),
        TEST(test_check_with_statics_that_extents_need),
        TEST(test_show_compiles_again),
        TEST(test_fault_is_placed),
        TEST(test_arguments_that_are_missing),
        TEST(parameters_of_unknown_types),
        TEST(test_extents_do_not_wrap),
        TEST(test_wrong_parameters),
        TEST(test_grid_of_i64),
        TEST(undecided_synchronisation_is_explored_once),
        TEST(test_endless_loops_end),
        TEST(test_cancel),
        TEST(test_print),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
