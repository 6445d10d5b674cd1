/* The public interface: results of each call. */
#include "api_helper.h"

#include "api/objects.h"
#include "tilewright_look.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const matmul_text = api_matmul;

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

/* --- sums in a unit --- */

static int64_t unit_terms(struct fixture *f, const char *sums)
{
    char text[1024];
    int64_t terms = -1;
    tw_launch *l;
    snprintf(text, sizeof text,
             "kernel k(const e4m3 *a, f32 *c) grid(1) warps(4) target(sm_90a)\n{\n"
             "    global e4m3 A[64][64] = a;\n    global f32 C[64][64] = c;\n"
             "    shared e4m3 s[64][64] = A[0 +: 64][0 +: 64];\n    reg f32 acc[64][64] = 0;\n"
             "    sync();\n    fence_async();\n    %s\n    dot_wait(0);\n"
             "    C[0 +: 64][0 +: 64] = acc;\n}\n",
             sums);
    load(f, text);
    succeed(f, tw_launch_new(tw_module_kernel_at(f->module, 0), &l));
    succeed(f, tw_launch_unit_terms(l, &terms));
    assert_int_equal(tw_launch_unit_terms(l, NULL), TW_BAD_ARGUMENT);
    assert_int_equal(tw_launch_unit_terms(NULL, &terms), TW_BAD_ARGUMENT);
    tw_launch_free(l);
    return terms;
}

static void test_sums_in_a_unit(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(unit_terms(f, "dot_async(acc, s, trans(s)) sum(unit);"), INT64_MAX);
    assert_int_equal(unit_terms(f, "dot_async(acc, s, trans(s)) sum(promoted 64);"), 64);
    assert_int_equal(unit_terms(f, "dot_async(acc, s, trans(s));"), 128);
    assert_int_equal(unit_terms(f, ""), 0);
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
                           "`BN` is given a value without a kind: make the value with tw_int()"));
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
            "`BM` is given a value without a kind: make the value with tw_int()");
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

/* --- cancelling and printing --- */

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

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, api_setup, api_teardown)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_threads_are_counted_from_0),
        TEST(test_sums_in_a_unit),
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
        TEST(test_written),
        TEST(test_tuned_values),
        TEST(test_variants_are_kept),
        TEST(test_check),
        TEST(test_check_finds_the_race),
        TEST(test_check_with_statics_that_extents_need),
        TEST(test_show_compiles_again),
        TEST(undecided_synchronisation_is_explored_once),
        TEST(test_endless_loops_end),
        TEST(test_cancel),
        TEST(test_print),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
