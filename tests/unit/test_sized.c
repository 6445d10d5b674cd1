/* Structs that carry their size: programs compiled for an earlier or a later version of them. */
#include "api_helper.h"

#include <string.h>

/* Structs as a later version may have them. */
struct later_config {
    tw_config known;
    int64_t added;
};

struct later_verdict {
    tw_verdict known;
    int64_t added;
};

static const char text[] = "kernel twice(i32 n, const f32 *x, f32 *y) grid(1) warps(1)\n"
                           "{\n"
                           "    global f32 X[n] = x, Y[n] = y;\n"
                           "    Y[0 +: 32] = 2 * X[0 +: 32];\n"
                           "    ensures Y == 2 * X;\n"
                           "}\n";

/* Runs `twice` on 20 elements of f->a and f->c. */
static void run(struct fixture *f)
{
    load(f, text);
    for (int i = 0; i < 20; i++)
        f->a[i] = (float)i;
    succeed(f, tw_launch_array(f->launch, "x", &tw_host_array(f->a, TW_F32, 20)));
    succeed(f, tw_launch_array(f->launch, "y", &tw_host_array(f->c, TW_F32, 20)));
    succeed(f, tw_launch_run(f->launch));
}

static tw_status context_of(const void *config)
{
    static int other;
    tw_context *ctx = (void *)&other; /* a failed call sets it to NULL */
    tw_status status = tw_context_new(config, &ctx);
    assert_true((status == TW_OK) == (ctx != NULL));
    tw_context_free(ctx);
    return status;
}

static void configs_of_other_versions(void **state)
{
    (void)state;
    struct later_config config = {.known.size = sizeof config};
    assert_int_equal(context_of(&config), TW_OK);
    config.added = 1;
    assert_int_equal(context_of(&config), TW_UNSUPPORTED);
    config.known.size =
        offsetof(tw_config, print); /* an earlier one: `threads` is its last field */
    config.known.threads = -1;
    assert_int_equal(context_of(&config), TW_BAD_ARGUMENT);
    config.known.size = offsetof(tw_config, threads); /* and one without `threads` */
    assert_int_equal(context_of(&config), TW_OK);
    config.known.threads = 0;
    static const size_t none[] = {0, sizeof(size_t) - 1, 65537, SIZE_MAX};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        config.known.size = none[i];
        assert_int_equal(context_of(&config), TW_BAD_ARGUMENT);
    }
}

static void structs_that_are_read(void **state)
{
    struct fixture *f = *state;
    load(f, text);
    tw_array a = tw_host_array(f->a, TW_F32, 20);
    a.size = 0;
    refused(f, tw_launch_array(f->launch, "x", &a), TW_BAD_ARGUMENT,
            "tw_array.size is 0: make the struct with tw_array_init()");
    struct {
        tw_array known;
        int64_t added;
    } later = {.known = tw_host_array(f->a, TW_F32, 20)};
    later.known.size = sizeof later;
    succeed(f, tw_launch_array(f->launch, "x", &later.known));
    later.added = 1;
    refused(f, tw_launch_array(f->launch, "x", &later.known), TW_UNSUPPORTED,
            "knows 88 bytes of tw_array; the caller's 96 bytes set fields past them");
}

static void structs_that_are_filled(void **state)
{
    struct fixture *f = *state;
    run(f);
    struct later_verdict verdict = {.known.size = sizeof verdict, .added = 7};
    succeed(f, tw_launch_verify(f->launch, &verdict.known));
    assert_true(verdict.known.ok && verdict.known.checked == 20);
    assert_int_equal(verdict.known.size, sizeof verdict);
    assert_int_equal(verdict.added, 7);
    verdict.known.size = offsetof(tw_verdict, checked); /* an earlier one */
    verdict.known.ok = false;
    verdict.known.checked = -1;
    succeed(f, tw_launch_verify(f->launch, &verdict.known));
    assert_true(verdict.known.ok && verdict.known.checked == -1);
    verdict.known.size = 0;
    refused(f, tw_launch_verify(f->launch, &verdict.known), TW_BAD_ARGUMENT, "tw_verdict_init()");
    tw_message message = tw_message_init();
    assert_true(tw_context_message(f->ctx, 0, &message) && message.severity == TW_ERROR);
    message.size = 0;
    assert_false(tw_context_message(f->ctx, 0, &message));
}

/* The helpers for arrays: the rank is the number of extents, and `const` data is accepted. */
static void arrays_by_helpers(void **state)
{
    (void)state;
    static const float data[6] = {0};
    tw_array a = tw_host_array(data, TW_F32, 2, 3);
    assert_true(a.size == sizeof a && a.data == (const void *)data && a.dtype == TW_F32 &&
                a.place == TW_ON_HOST && a.rank == 2 && a.shape[0] == 2 && a.shape[1] == 3 &&
                a.shape[2] == 0 && a.bytes == 0);
    a = tw_device_array(NULL, TW_I8, 5);
    assert_true(a.place == TW_ON_DEVICE && a.rank == 1 && a.shape[0] == 5);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, api_setup, api_teardown)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(configs_of_other_versions),
        TEST(structs_that_are_read),
        TEST(structs_that_are_filled),
        cmocka_unit_test(arrays_by_helpers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
