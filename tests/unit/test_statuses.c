/* Each status comes with a message. */
#include "api_helper.h"
#include "tilewright_gpu.h"
#include "tilewright_look.h"
#include "tilewright_sim.h"
#include "tilewright_tuning.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static unsigned seen; /* the statuses seen, a bit each */

/* Checks that the call failed with this status, and that the context has a message that is not
 * empty. */
static void says(struct fixture *f, tw_status status, tw_status expected)
{
    const char *text = tw_context_messages(f->ctx);
    tw_message m = tw_message_init();
    if (status != expected)
        fail_msg("%s, not %s: %s", tw_status_name(status), tw_status_name(expected), text);
    assert_true(strlen(text) > strlen("error: \n"));
    assert_true(tw_context_message(f->ctx, 0, &m) && *m.text);
    seen |= 1u << status;
}

static const char effects[] = "kernel k(i32 n, f32 *c) grid(1) warps(1)\n"
                              "{\n"
                              "    global f32 C[4] = c;\n"
                              "    assume(n < 8);\n"
                              "    C[n] = 2;\n"
                              "    while (n == 3) C[0] = 1;\n"
                              "    ensures C == 3.0;\n"
                              "}\n";

static bool cancelled(void *user)
{
    return *(bool *)user;
}

static void runs_that_fail(void **state)
{
    struct fixture *f = *state;
    float c[4] = {0};
    tw_array x = array(c, TW_F32, 1, 4, 0);
    load(f, effects);
    says(f, tw_launch_prepare(f->launch), TW_BAD_ARGUMENT);
    says(f, tw_launch_run(f->launch), TW_BAD_ARGUMENT);
    says(f, tw_launch_set(f->launch, "m", integer(1)), TW_NOT_FOUND);
    says(f, tw_launch_array(f->launch, "n", &x), TW_BAD_ARGUMENT);
    says(f, tw_launch_verify(f->launch, NULL), TW_BAD_ARGUMENT);
    succeed(f, tw_launch_array(f->launch, "c", &x));
    succeed(f, tw_launch_set(f->launch, "n", integer(9)));
    says(f, tw_launch_run(f->launch), TW_NOT_ASSUMED);
    succeed(f, tw_launch_set(f->launch, "n", integer(7)));
    says(f, tw_launch_run(f->launch), TW_FAULT);
    succeed(f, tw_launch_set(f->launch, "n", integer(1)));
    succeed(f, tw_launch_run(f->launch));
    assert_string_equal(tw_context_messages(f->ctx), "");
    says(f, tw_launch_verify(f->launch, NULL), TW_WRONG_VALUES);
    says(f, tw_launch_value(f->launch, "x", &(tw_value){0}), TW_NOT_FOUND);
    says(f, tw_launch_shape(f->launch, "x", &(tw_array){.size = sizeof(tw_array)}), TW_NOT_FOUND);
    const char *text;
    says(f, tw_launch_show(f->launch, "no_pass", &text), TW_NOT_FOUND);
    says(f, tw_launch_show_stage(f->launch, TW_STAGE_PTX, &text), TW_BAD_ARGUMENT);
    says(f, tw_launch_simulate(f->launch, NULL, NULL), TW_BAD_ARGUMENT);
    double ms;
    says(f, tw_launch_time(f->launch, 0, &ms), TW_BAD_ARGUMENT);
}

static void a_wrong_nan(void **state)
{
    struct fixture *f = *state;
    float c[4] = {0};
    tw_array x = array(c, TW_F32, 1, 4, 0);
    load(f, "kernel k(f32 *c) grid(1) warps(1)\n"
            "{\n"
            "    global f32 C[4] = c;\n"
            "    reg f32 t[4] = C / C;\n"
            "    C = t;\n"
            "    ensures C == 1.0;\n"
            "}\n");
    succeed(f, tw_launch_array(f->launch, "c", &x));
    succeed(f, tw_launch_run(f->launch));
    refused(f, tw_launch_verify(f->launch, NULL), TW_WRONG_VALUES, "is NaN where both are 0");
}

static void programs_that_do_not_compile(void **state)
{
    struct fixture *f = *state;
    says(f, tw_module_from_text(f->ctx, "x", "kernel", 6, &f->module), TW_BAD_PROGRAM);
    says(f, tw_module_from_text(f->ctx, "x", NULL, 6, &f->module), TW_BAD_ARGUMENT);
    says(f, tw_module_from_file(f->ctx, "no/such/file.tile", &f->module), TW_NO_FILE);
    tw_ptx *ptx;
    says(f, tw_ptx_from_text(f->ctx, "x", "ptx", 3, &ptx), TW_BAD_PROGRAM);
    says(f, tw_ptx_from_file(f->ctx, "no/such/file.ptx", &ptx), TW_NO_FILE);
    load(f, "kernel k(f32 *c) grid(1) threads(64) { shared f32 s[64]; global f32 C[64] = c;\n"
            "s[thread.x] = 1; C[thread.x] = s[63 - thread.x]; }\n");
    float c[64];
    tw_array x = array(c, TW_F32, 1, 64, 0);
    succeed(f, tw_launch_array(f->launch, "c", &x));
    says(f, tw_launch_check(f->launch), TW_UNSYNCHRONISED);
    says(f, tw_launch_run(f->launch), TW_UNSYNCHRONISED);
    says(f, tw_launch_verify(f->launch, NULL), TW_UNSUPPORTED); /* no `ensures` */
}

static void kernels_that_are_missing(void **state)
{
    struct fixture *f = *state;
    tw_kernel *k;
    tw_launch *l;
    load(f, effects);
    assert_null(tw_module_kernel(f->module, "m"));
    assert_non_null(strstr(tw_context_messages(f->ctx), "`m`"));
    says(f, tw_launch_new(tw_module_kernel(f->module, "m"), &l), TW_NOT_FOUND);
    says(f, tw_kernel_for_target(tw_module_kernel(f->module, "m"), "sm_80", &k), TW_NOT_FOUND);
    assert_null(l);
    assert_null(k);
    says(f, tw_kernel_for_target(tw_module_kernel_at(f->module, 0), "sm_1", &k), TW_NOT_FOUND);
    setenv("TILEWRIGHT_CUDA_DRIVER", "/no/such/driver.so", 1);
    says(f, tw_kernel_for_target(tw_module_kernel_at(f->module, 0), "cuda", &k), TW_UNSUPPORTED);
    void *address;
    says(f, tw_device_allocate(f->ctx, 16, &address), TW_UNSUPPORTED);
    unsetenv("TILEWRIGHT_CUDA_DRIVER");
    tw_store *s;
    says(f, tw_store_open_existing(f->ctx, "no/such.db", &s), TW_NO_FILE);
    setenv("TILEWRIGHT_STORE", "no/such.db", 1);
    says(f, tw_store_open_existing(f->ctx, NULL, &s), TW_NOT_FOUND);
    unsetenv("TILEWRIGHT_STORE");
}

static void launches_that_are_ended(void **state)
{
    struct fixture *f = *state;
    bool ask = false;
    tw_config config = f->config;
    tw_context *before = f->ctx;
    config.cancelled = cancelled;
    config.cancelled_user = &ask;
    for (int flag = 0; flag < 2; flag++) {
        assert_int_equal(tw_context_new(&config, &f->ctx), TW_OK);
        float c[4] = {0};
        tw_array x = array(c, TW_F32, 1, 4, 0);
        load(f, effects);
        succeed(f, tw_launch_array(f->launch, "c", &x));
        succeed(f, tw_launch_set(f->launch, "n", integer(3)));
        succeed(f, tw_launch_prepare(f->launch));
        ask = true;
        says(f, tw_launch_run(f->launch), TW_CANCELLED);
        ask = false; /* tw_launch_begin may ask, too */
        succeed(f, tw_launch_begin(f->launch, NULL, NULL));
        ask = true;
        says(f, tw_launch_wait(f->launch), TW_CANCELLED);
        ask = false;
        tw_context_free(f->ctx);
        config.cancelled = tw_flag_is_set;
    }
    assert_false(tw_flag_is_set(NULL));
    assert_false(tw_flag_is_set(&ask));
    f->ctx = before;
}

static void memory_that_is_out(void **state)
{
    struct fixture *f = *state;
    load(f, effects);
    f->memory.fail_from = f->memory.calls;
    tw_launch *l;
    says(f, tw_launch_new(tw_module_kernel_at(f->module, 0), &l), TW_NO_MEMORY);
    f->memory.fail_from = -1;
}

/* Runs last: checks that every status was seen. */
static void all_were_seen(void **state)
{
    (void)state;
#define SEEN(name, value, text)                                                                    \
    if (name != TW_OK && !(seen >> name & 1))                                                      \
        fail_msg("%s was not seen", #name);
    TW_STATUS_LIST(SEEN)
#undef SEEN
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, api_setup, api_teardown)
    const struct CMUnitTest tests[] = {
        TEST(runs_that_fail),
        TEST(programs_that_do_not_compile),
        TEST(kernels_that_are_missing),
        TEST(launches_that_are_ended),
        TEST(memory_that_is_out),
        TEST(a_wrong_nan),
        cmocka_unit_test(all_were_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
