/* The caller can end long calls: tw_config.cancelled returns true at some query of every phase,
 * and the call returns TW_CANCELLED with a message about its work at that point. No test looks
 * at a clock. The last tests are about limits that need no caller. */
#include "tilewright.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* --- a caller that counts the queries --- */

struct caller {
    tw_context *ctx;
    tw_module *module;
    tw_kernel *kernel;
    tw_launch *launch;
    long asked, yes_at; /* 0: never */
    char *text;
    float a[64], c[64];
};

static bool cancelled(void *user)
{
    struct caller *c = user;
    c->asked++;
    return c->yes_at > 0 && c->asked >= c->yes_at;
}

static void caller_open(struct caller *c)
{
    *c = (struct caller){0};
    tw_config config = {
        .size = sizeof config, .threads = 1, .cancelled = cancelled, .cancelled_user = c};
    assert_int_equal(tw_context_new(&config, &c->ctx), TW_OK);
}

static void caller_close(struct caller *c)
{
    tw_context_free(c->ctx);
    free(c->text);
}

static void expect(struct caller *c, tw_status got, tw_status wanted)
{
    if (got != wanted)
        fail_msg("%s, not %s: %s", tw_status_text(got), tw_status_text(wanted),
                 tw_context_messages(c->ctx));
}

/* Returns `count` copies of `line`, with the copy's number in place of %d. */
static char *repeated(const char *before, const char *line, int count, const char *after)
{
    size_t room = strlen(before) + (strlen(line) + 32) * (size_t)count + strlen(after) + 1;
    char *text = malloc(room), *at = text;
    at += sprintf(at, "%s", before);
    for (int i = 0; i < count; i++)
        at += snprintf(at, strlen(line) + 32, line, i, i, i);
    sprintf(at, "%s", after);
    return text;
}

typedef tw_status call_fn(struct caller *c);

/* Makes the call whole, then cancels it at its first, a middle and its last query, and makes it
 * whole again. */
static void end_everywhere(struct caller *c, call_fn *call, call_fn *again, tw_status whole,
                           const char *doing)
{
    c->asked = c->yes_at = 0;
    expect(c, call(c), whole);
    long questions = c->asked - 1; /* a call goes on counting where the one before it ended */
    assert_true(questions >= 3);
    bool said = false;
    for (int part = 0; part < 3; part++) {
        if (again)
            expect(c, again(c), TW_OK);
        c->asked = 0;
        c->yes_at = part == 0 ? 1 : part == 1 ? questions / 2 : questions;
        expect(c, call(c), TW_CANCELLED);
        assert_int_equal(c->asked, c->yes_at);
        assert_non_null(strstr(tw_context_messages(c->ctx), "error: cancelled"));
        said = said || strstr(tw_context_messages(c->ctx), doing);
        c->yes_at = 0;
    }
    assert_true(said);
    if (again)
        expect(c, again(c), TW_OK);
    expect(c, call(c), whole);
}

/* --- phases --- */

static tw_status read_text(struct caller *c)
{
    tw_module_free(c->module);
    c->module = NULL;
    return tw_module_from_text(c->ctx, "long.tile", c->text, strlen(c->text), &c->module);
}

/* Opens a new module and launch, so that nothing is kept from the call before. */
static tw_status open_launch(struct caller *c, const char *target)
{
    long yes_at = c->yes_at;
    c->yes_at = 0;
    tw_launch_free(c->launch);
    c->launch = NULL;
    tw_status s = read_text(c);
    if (s == TW_OK)
        s = tw_kernel_for_target(tw_module_kernel_at(c->module, 0), target, &c->kernel);
    if (s == TW_OK)
        s = tw_launch_new(c->kernel, &c->launch);
    if (s == TW_OK)
        s = tw_launch_set(c->launch, "n", tw_int(64));
    c->yes_at = yes_at;
    return s;
}

static tw_status open_on_cpu(struct caller *c)
{
    return open_launch(c, "cpu");
}

static tw_status open_on_gpu(struct caller *c)
{
    return open_launch(c, "sm_90");
}

static tw_status prepare(struct caller *c)
{
    return tw_launch_prepare(c->launch);
}

static tw_status check(struct caller *c)
{
    return tw_launch_check(c->launch);
}

static tw_status verify(struct caller *c)
{
    return tw_launch_verify(c->launch, NULL);
}

#define HEAD                                                                                       \
    "kernel k(i32 n, const f32 *a, f32 *c) grid(1) warps(1)\n"                                     \
    "{\n    global f32 A[n] = a, C[n] = c;\n"

static void texts_are_read(void **state)
{
    (void)state;
    struct caller c;
    caller_open(&c);
    c.text = repeated("", "const i32 X%d = %d + 1;\n", 2000, HEAD "    C[0 +: 64] = 1;\n}\n");
    end_everywhere(&c, read_text, NULL, TW_OK, "reading the program");
    caller_close(&c);
}

static void kernels_are_compiled(void **state)
{
    (void)state;
    struct caller c;
    caller_open(&c);
    c.text = repeated(HEAD, "    C[%d] = A[%d] + %d;\n", 60, "}\n");
    expect(&c, open_on_cpu(&c), TW_OK);
    end_everywhere(&c, prepare, open_on_cpu, TW_OK, "compiling");
    expect(&c, open_on_gpu(&c), TW_OK);
    end_everywhere(&c, prepare, open_on_gpu, TW_OK, "compiling");
    caller_close(&c);
}

static void synchronisation_is_checked(void **state)
{
    (void)state;
    struct caller c;
    caller_open(&c);
    c.text = repeated(HEAD "    shared f32 s[64];\n    i32 t = 0;\n",
                      "    if (n > %d) { s = A[0 +: 64]; t = (t + %d) %% 7; }\n    sync();\n", 40,
                      "    C[0 +: 64] = s;\n}\n");
    expect(&c, open_on_cpu(&c), TW_OK);
    end_everywhere(&c, check, open_on_cpu, TW_OK, "checking synchronisation");
    caller_close(&c);
}

static void tuned_values_are_searched(void **state)
{
    (void)state;
    struct caller c;
    caller_open(&c);
    c.text = repeated("", "tune t%d = {1, 2, 3, 4, 5, 6, 7, 8};\n", 4,
                      "require((t0 * 5 + t1 * 3 ^ t2 * 7 + t3) % 64 == 64 + t0);\n" HEAD
                      "    C[0 +: 64] = (f32) (t0 + t1 + t2 + t3);\n}\n");
    expect(&c, open_on_cpu(&c), TW_OK);
    end_everywhere(&c, prepare, open_on_cpu, TW_BAD_ARGUMENT, "searching for tuned values");
    caller_close(&c);
}

static tw_status run_on_cpu(struct caller *c)
{
    tw_array a = tw_host_array(c->a, TW_F32, 64), out = tw_host_array(c->c, TW_F32, 64);
    tw_status s = open_on_cpu(c);
    if (s == TW_OK)
        s = tw_launch_array(c->launch, "a", &a);
    if (s == TW_OK)
        s = tw_launch_array(c->launch, "c", &out);
    return s == TW_OK ? tw_launch_run(c->launch) : s;
}

static void statements_of_values_are_evaluated(void **state)
{
    (void)state;
    struct caller c;
    caller_open(&c);
    c.text = repeated(HEAD "    C[0 +: 64] = 0;\n",
                      "    ensures for (i32 h < 50, i32 g < 50) C[g] == %d - %d;\n", 1, "}\n");
    expect(&c, run_on_cpu(&c), TW_OK);
    end_everywhere(&c, verify, run_on_cpu, TW_OK, "evaluating `ensures`");
    caller_close(&c);
}

/* --- limits that need no caller --- */

static void ensures_ranges_over_so_much(void **state)
{
    (void)state;
    struct caller c;
    caller_open(&c);
    c.text = repeated(HEAD, "    C[0 +: 64] = 0;\n", 1,
                      "    ensures for (i32 h < 1000000, i32 g < 1000000) C[0] == 0;\n}\n");
    expect(&c, run_on_cpu(&c), TW_OK);
    expect(&c, verify(&c), TW_UNSUPPORTED);
    assert_non_null(strstr(tw_context_messages(c.ctx), "more than 1000000000 values"));
    caller_close(&c);
}

static void unrolled_loops_multiply(void **state)
{
    (void)state;
    struct caller c;
    caller_open(&c);
    c.text = repeated(HEAD "    i32 x = 0;\n   ", " unroll for (i32 q%d = 0; q%d < 2; q%d++)", 16,
                      " x += n;\n    C[0 +: 1] = (f32) x;\n}\n");
    expect(&c, open_on_gpu(&c), TW_OK);
    expect(&c, prepare(&c), TW_BAD_PROGRAM);
    assert_non_null(strstr(tw_context_messages(c.ctx), "more than 16384 copies of loop bodies"));
    caller_close(&c);
}

/* Sums of intervals, products and remainders show that no value can be allowed, or where allowed
 * values begin, without trying 16 to the 5th combinations. */
static void searches_leave_out_what_cannot_be(void **state)
{
    (void)state;
    static const char *const rules[] = {
        "require(t0 + t1 + t2 + t3 + t4 == 81);\n",    "require(t0 * t1 * t2 * t3 * t4 < 1);\n",
        "require(t4 % 8 + t3 / 2 > 15 && t0 > 0);\n",  "require(min(t0, max(t1, t2)) > 16);\n",
        "const i32 S = t0 + t4;\nrequire(S >= 33);\n", "require(t0 + t1 + t2 + t3 + t4 == 80);\n"};
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        struct caller c;
        char after[512];
        caller_open(&c);
        bool fits = i == 5;
        snprintf(after, sizeof after,
                 "%s" HEAD "    C[0 +: 64] = (f32) (t0 + t1 + t2 + t3 + t4);\n}\n", rules[i]);
        c.text = repeated("", "tune t%d = {1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16};\n", 5, after);
        expect(&c, open_on_cpu(&c), TW_OK);
        c.asked = 0;
        expect(&c, prepare(&c), fits ? TW_OK : TW_BAD_ARGUMENT);
        assert_in_range(c.asked, 0, 2000);
        tw_value tuned[5] = {tw_int(1), tw_int(1), tw_int(1), tw_int(1), tw_int(1)};
        bool allowed;
        int decided;
        expect(&c, tw_kernel_decides(c.kernel, tuned, &allowed, &decided), TW_OK);
        assert_false(allowed);
        assert_int_equal(decided, fits ? 1 : 0);
        caller_close(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_read),
        cmocka_unit_test(kernels_are_compiled),
        cmocka_unit_test(synchronisation_is_checked),
        cmocka_unit_test(tuned_values_are_searched),
        cmocka_unit_test(statements_of_values_are_evaluated),
        cmocka_unit_test(ensures_ranges_over_so_much),
        cmocka_unit_test(unrolled_loops_multiply),
        cmocka_unit_test(searches_leave_out_what_cannot_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
