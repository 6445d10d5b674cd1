/* `device.clusters` on a GPU: the driver's number, or one that follows from `device.sms`. The driver of
 * the tests has 4 multiprocessors, of which clusters have 3. */
#include "cuda_helper.h"
#include "family_helper.h"

#include "tilewright_entry.h"
#include "tilewright_family.h"
#include "tilewright_gpu.h"

#include <stdlib.h>
#include <string.h>

static const char count_text[] =
    "tune BLOCKS = {2, 4};\n"
    "kernel count(i32 *c) grid(BLOCKS * device.clusters) warps(1) cluster(BLOCKS) target(sm_90a)\n"
    "{\n"
    "    global i32 C[2] = c;\n"
    "    atomic_add(C[0], 1);\n"
    "    if (block.x == 0)\n"
    "        C[1] = device.clusters;\n"
    "}\n";

static const char asks[] = "cuOccupancyMaxActiveClusters";

struct counting_blocks {
    struct fixture *f;
    int32_t c[2]; /* blocks that ran, device.clusters */
    long asked;   /* before the test */
};

static void open_count(struct counting_blocks *x, struct fixture *f)
{
    *x = (struct counting_blocks){.f = f, .asked = driver.fake_cuda_calls(asks)};
    setenv("FAKE_CUDA_SM", "90", 1);
    load(f, count_text);
    aim_at_gpu(f);
}

static void expect_clusters(struct counting_blocks *x, int clusters, int blocks)
{
    memset(x->c, 0, sizeof x->c);
    tw_array c = array(x->c, TW_I32, 1, 2, 1);
    succeed(x->f, tw_launch_array(x->f->launch, "c", &c));
    succeed(x->f, tw_launch_run(x->f->launch));
    assert_int_equal(x->c[1], clusters);
    assert_int_equal(x->c[0], clusters * blocks);
}

static long asked(const struct counting_blocks *x)
{
    return driver.fake_cuda_calls(asks) - x->asked;
}

static void the_driver_is_asked_once_for_a_size(void **state)
{
    struct counting_blocks x;
    open_count(&x, *state);
    expect_clusters(&x, 1, 2); /* of 3 multiprocessors; all 4 would be 2 clusters */
    assert_int_equal(asked(&x), 1);
    expect_clusters(&x, 1, 2);
    assert_int_equal(asked(&x), 1);
    succeed(x.f, tw_launch_tune(x.f->launch, "BLOCKS", tw_int(4)));
    expect_clusters(&x, 1, 4); /* no cluster fits, but the launch takes place */
    assert_int_equal(asked(&x), 2);
}

static void the_caller_may_give_the_number(void **state)
{
    struct counting_blocks x;
    open_count(&x, *state);
    succeed(x.f, tw_launch_set(x.f->launch, "device.sms", tw_int(9)));
    expect_clusters(&x, 4, 2);
    succeed(x.f, tw_launch_tune(x.f->launch, "BLOCKS", tw_int(4)));
    expect_clusters(&x, 2, 4);
    succeed(x.f, tw_launch_set(x.f->launch, "device.sms", tw_int(3)));
    expect_clusters(&x, 1, 4);
    succeed(x.f, tw_launch_set(x.f->launch, "device.clusters", tw_int(5)));
    expect_clusters(&x, 5, 4);
    assert_int_equal(asked(&x), 0);
}

static void without_an_answer_clusters_fill_the_device(void **state)
{
    struct counting_blocks x;
    open_count(&x, *state);
    driver.fake_cuda_fail(asks, 1, 801);
    expect_clusters(&x, 2, 2);
    assert_int_equal(asked(&x), 1);
}

static void an_old_driver_is_not_asked(void **state)
{
    struct counting_blocks x;
    setenv("TILEWRIGHT_CUDA_DRIVER", TW_FAKE_CUDA_OLD, 1);
    open_count(&x, *state);
    expect_clusters(&x, 2, 2);
}

/* Compiling for the CPU, or for a target that the GPU does not run, opens no GPU. */
static void other_targets_open_no_gpu(void **state)
{
    struct fixture *f = *state;
    int32_t c[2] = {0};
    long opened = driver.fake_cuda_calls("cuDevicePrimaryCtxRetain");
    static const char *const targets[] = {"cpu", "sm_90a"};
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        tw_kernel *k;
        if (i == 0)
            load(f, count_text);
        succeed(f, tw_kernel_for_target(tw_module_kernel_at(f->module, 0), targets[i], &k));
        tw_launch_free(f->launch);
        succeed(f, tw_launch_new(k, &f->launch));
        tw_array to = array(c, TW_I32, 1, 2, 1);
        succeed(f, tw_launch_array(f->launch, "c", &to));
        succeed(f, tw_launch_prepare(f->launch)); /* the GPU has compute capability 8.0 */
    }
    assert_int_equal(driver.fake_cuda_calls("cuDevicePrimaryCtxRetain"), opened);
}

/* --- entries, families --- */

static void expect_started(struct counting_blocks *x, tw_entry *e, void *c, int given, int clusters)
{
    int32_t zeros[2] = {0};
    tw_value args[] = {tw_pointer(c), tw_int(9), tw_int(5)};
    tw_error error = tw_error_init();
    succeed(x->f, tw_device_copy_in(x->f->ctx, c, zeros, sizeof zeros, NULL));
    if (tw_entry_start(e, args, given, NULL, &error) != TW_OK)
        fail_msg("%s", error.text);
    succeed(x->f, tw_device_copy_out(x->f->ctx, x->c, c, sizeof x->c, NULL));
    assert_int_equal(x->c[1], clusters);
    assert_int_equal(x->c[0], 2 * clusters);
}

static void an_entry_takes_both_numbers_last(void **state)
{
    struct counting_blocks x;
    tw_entry *e;
    void *c;
    open_count(&x, *state);
    succeed(x.f, tw_device_allocate(x.f->ctx, sizeof x.c, &c));
    succeed(x.f, tw_entry_new(x.f->launch, &e));
    for (int i = 0; i < 2; i++) { /* slowly, then quickly */
        expect_started(&x, e, c, 1, 1);
        expect_started(&x, e, c, 2, 4);
        expect_started(&x, e, c, 3, 5);
    }
    assert_int_equal(asked(&x), 1);
    tw_entry_free(e);
}

static void a_family_has_members_with_clusters(void **state)
{
    struct fixture *f = *state;
    enum { ROWS = 7, COLUMNS = 64 };
    float a[ROWS * COLUMNS], c[ROWS * COLUMNS] = {0};
    tw_family *family;
    tw_error error = tw_error_init();
    setenv("FAKE_CUDA_SM", "90", 1);
    put_file("twice.tile", "%s",
             "kernel twice(i32 n, const f32 *a, f32 *c)\n"
             "    grid(2 * device.clusters) warps(1) cluster(2) target(sm_90a)\n"
             "{\n"
             "    global f32 A[n][64] = a, C[n][64] = c;\n"
             "    for (i32 i = block.x; i < n; i += grid.x)\n"
             "        C[i][0 +: 64] = A[i][0 +: 64] * 2;\n"
             "    ensures C == A * 2;\n"
             "}\n");
    put_file("all.tile", "family all { \"twice.tile\"; }\n");
    for (int i = 0; i < ROWS * COLUMNS; i++)
        a[i] = (float)i;
    succeed(f, tw_family_from_file(f->ctx, file_path("all.tile"), NULL, "cuda", &family));
    tw_array from = on_device(f, a, TW_F32, ROWS, COLUMNS),
             to = on_device(f, c, TW_F32, ROWS, COLUMNS);
    tw_value args[] = {tw_int(ROWS), tw_pointer(from.data), tw_pointer(to.data)};
    if (tw_family_start(family, args, 3, NULL, &error) != TW_OK)
        fail_msg("%s", error.text);
    succeed(f, tw_device_copy_out(f->ctx, c, to.data, sizeof c, NULL));
    for (int i = 0; i < ROWS * COLUMNS; i++)
        assert_true(c[i] == 2 * a[i]);
}

static int gpu_setup(void **state)
{
    family_folder_make();
    return cuda_setup(state);
}

static int gpu_teardown(void **state)
{
    family_folder_remove();
    return cuda_teardown(state);
}

#define WITH_GPU(test) cmocka_unit_test_setup_teardown(test, gpu_setup, gpu_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_GPU(the_driver_is_asked_once_for_a_size),
        WITH_GPU(the_caller_may_give_the_number),
        WITH_GPU(without_an_answer_clusters_fill_the_device),
        WITH_GPU(an_old_driver_is_not_asked),
        WITH_GPU(other_targets_open_no_gpu),
        WITH_GPU(an_entry_takes_both_numbers_last),
        WITH_GPU(a_family_has_members_with_clusters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
