/* Errors on a GPU: the message for each result of the driver, a context that a kernel's fault
 * has destroyed, and a session in which each call, and each allocation of the host, fails in
 * turn. */
#include "cuda_helper.h"
#include "tilewright_gpu.h"
#include "tilewright_sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static tw_array vector(void *address, int64_t length)
{
    return tw_device_array(address, TW_F32, length);
}

static const char double_text[] = "kernel twice(i32 n, const f32 *x, f32 *y) grid(1) warps(1)\n"
                                  "{\n"
                                  "    global f32 X[n] = x, Y[n] = y;\n"
                                  "    Y[0 +: 32] = 2 * X[0 +: 32];\n"
                                  "}\n";
/* A kernel with workspace: the sum goes through memory of the launch's own. */
static const char total_text[] = "kernel total(i32 n, const f32 *x, f32 *y) grid(1) warps(1)\n"
                                 "{\n"
                                 "    global f32 X[n] = x, Y[n] = y;\n"
                                 "    global f32 sums[1] = 0;\n"
                                 "    sums[0 +: 1] = sums[0 +: 1] + sum(X[0 +: 32]);\n"
                                 "    Y[0 +: 1] = sums[0 +: 1];\n"
                                 "}\n";

/* --- messages --- */

static void give_arrays(struct fixture *f, const tw_array *x, const tw_array *y)
{
    succeed(f, tw_launch_array(f->launch, "x", x));
    succeed(f, tw_launch_array(f->launch, "y", y));
}

/* Makes a launch of `twice` with arrays of the host. */
static void twice(struct fixture *f)
{
    load(f, double_text);
    aim_at_gpu(f);
    tw_array x = array(f->a, TW_F32, 1, 32, 0), y = array(f->c, TW_F32, 1, 32, 0);
    give_arrays(f, &x, &y);
}

struct saying {
    const char *function;
    int result;
    tw_status status;
    const char *texts[3];
};

#define NEW_PROCESS "the GPU's context of this process is lost: start a new process"

static const struct saying sayings[] = {
    {"cuMemAlloc_v2",
     2,
     TW_NO_MEMORY,
     {"allocating 128 bytes, of 1073741824 that are free: CUDA_ERROR_OUT_OF_MEMORY",
      "free arrays"}},
    {"cuMemcpyHtoDAsync_v2",
     1,
     TW_FAULT,
     {"copying to the GPU: CUDA_ERROR_INVALID_VALUE", "the address, the size or the setting"}},
    {"cuInit", 3, TW_UNSUPPORTED, {"CUDA_ERROR_NOT_INITIALIZED", "fork before"}},
    {"cuInit", 100, TW_UNSUPPORTED, {"CUDA_ERROR_NO_DEVICE", "CUDA_VISIBLE_DEVICES"}},
    {"cuDevicePrimaryCtxRetain",
     46,
     TW_UNSUPPORTED,
     {"no GPU to run on", "another process has the GPU to itself"}},
    {"cuMemAlloc_v2", 201, TW_FAULT, {"CUDA_ERROR_INVALID_CONTEXT", "destroyed or reset"}},
    {"cuModuleLoadDataEx",
     209,
     TW_UNSUPPORTED,
     {"assembled for another GPU", "it is for sm_80, and the GPU is of compute capability 8.0"}},
    {"cuModuleLoadDataEx", 218, TW_UNSUPPORTED, {"the driver's assembler does not accept"}},
    {"cuModuleLoadDataEx", 221, TW_UNSUPPORTED, {"libnvidia-ptxjitcompiler"}},
    {"cuModuleLoadDataEx",
     222,
     TW_UNSUPPORTED,
     {"the driver is too old", "this driver (CUDA 13.0) reads up to 9.0",
      "needed is one for CUDA"}},
    {"cuEventRecord", 400, TW_FAULT, {"a stream, event or module is not of this GPU"}},
    {"cuLaunchKernel",
     701,
     TW_FAULT,
     {"kernel `twice` on simulator: starting twice (1 x 1 x 1 blocks of 32 threads with 40 "
      "registers "
      "each and ",
      "take smaller tiles"}},
    {"cuLaunchKernel", 720, TW_FAULT, {"cannot run all blocks of this cooperative grid"}},
    {"cuLaunchKernel", 900, TW_FAULT, {"before the capture", "tw_launch_ready"}},
    {"cuEventSynchronize",
     700,
     TW_FAULT,
     {"a kernel accessed memory outside of its arrays", "the kernel started last is twice",
      NEW_PROCESS}},
    {"cuEventSynchronize", 702, TW_FAULT, {"longer than a GPU with a display allows", NEW_PROCESS}},
    {"cuEventSynchronize", 714, TW_FAULT, {"a kernel's stack", NEW_PROCESS}},
    {"cuEventSynchronize", 715, TW_FAULT, {"an instruction that does not exist", NEW_PROCESS}},
    {"cuEventSynchronize", 716, TW_FAULT, {"not aligned to the access", NEW_PROCESS}},
    {"cuEventSynchronize", 717, TW_FAULT, {"an address of another space", NEW_PROCESS}},
    {"cuEventSynchronize", 718, TW_FAULT, {"to an address without a program", NEW_PROCESS}},
    {"cuEventSynchronize", 719, TW_FAULT, {"a kernel failed", "compute-sanitizer", NEW_PROCESS}},
    {"cuEventSynchronize", 709, TW_FAULT, {"destroyed or reset by another part"}},
    {"cuEventSynchronize", 999, TW_FAULT, {"dmesg"}},
    {"cuEventSynchronize", 4711, TW_FAULT, {"unknown error (no description)"}},
};

/* Runs each case in a context of its own. */
static void test_what_is_said(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof sayings / sizeof *sayings; i++) {
        const struct saying *s = &sayings[i];
        void *own;
        cuda_setup(&own);
        struct fixture *f = own;
        bool opening = strcmp(s->function, "cuInit") == 0 || strstr(s->function, "Retain");
        void *address;
        if (!opening)
            twice(f);
        driver.fake_cuda_fail(s->function, 1, s->result);
        tw_status status =
            opening ? tw_device_allocate(f->ctx, 4, &address) : tw_launch_run(f->launch);
        for (int t = 0; t < 3 && s->texts[t]; t++)
            refused(f, status, s->status, s->texts[t]);
        cuda_teardown(&own);
    }
}

static void test_old_driver(void **state)
{
    struct fixture *f = *state;
    setenv("FAKE_CUDA_VERSION", "11080", 1);
    setenv("FAKE_CUDA_SM", "90", 1);
    twice(f);
    setenv("FAKE_CUDA_VERSION", "11000", 1);
    refused(f, tw_launch_run(f->launch), TW_UNSUPPORTED, "; it is PTX 7.8; ");
}

static void test_program_for_another_gpu(void **state)
{
    struct fixture *f = *state;
    static const char text[] = ".version 8.0\n.target sm_90\n.address_size 64\n"
                               ".visible .entry k() { ret; }\n";
    tw_ptx *p;
    succeed(f, tw_ptx_from_text(f->ctx, "k.ptx", text, strlen(text), &p));
    tw_ptx_launch launch = {.size = sizeof launch, .block = {32, 1, 1}};
    refused(f, tw_ptx_run(p, &launch, NULL), TW_UNSUPPORTED,
            "it is for sm_90, and the GPU is of compute capability 8.0");
}

/* --- a lost context --- */

/* Every call reports it at once, without calling the driver; freeing still works. */
static void test_lost_context(void **state)
{
    struct fixture *f = *state;
    void *address, *other, *stream;
    twice(f);
    succeed(f, tw_device_allocate(f->ctx, 256, &address));
    succeed(f, tw_stream_new(f->ctx, &stream));
    tw_array x = vector(address, 32), y = vector((char *)address + 128, 32);
    tw_launch *ready = f->launch;
    give_arrays(f, &x, &y);
    succeed(f, tw_launch_ready(ready, stream));
    twice(f);
    driver.fake_cuda_fail("cuStreamSynchronize", 1, 700);
    refused(f, tw_stream_wait(f->ctx, stream), TW_FAULT, NEW_PROCESS);
    long asked = driver.fake_cuda_calls("cuMemAlloc_v2");
    refused(f, tw_device_allocate(f->ctx, 64, &other), TW_FAULT,
            "an earlier call ended with CUDA_ERROR_ILLEGAL_ADDRESS; " NEW_PROCESS);
    assert_int_equal(driver.fake_cuda_calls("cuMemAlloc_v2"), asked);
    refused(f, tw_launch_run(f->launch), TW_FAULT, NEW_PROCESS);
    refused(f, tw_launch_ready(f->launch, stream), TW_FAULT, NEW_PROCESS);
    refused(f, tw_stream_wait(f->ctx, stream), TW_FAULT, NEW_PROCESS);
    refused(f, tw_launch_ready(ready, stream), TW_FAULT, NEW_PROCESS);
    refused(f, tw_device_free(f->ctx, address), TW_FAULT, NEW_PROCESS);
    refused(f, tw_device_free(f->ctx, address), TW_BAD_ARGUMENT, "is not of this context");
    refused(f, tw_stream_free(f->ctx, stream), TW_FAULT, NEW_PROCESS);
}

/* A real fault: an array that is shorter than its extents. */
static void test_fault_of_a_kernel(void **state)
{
    struct fixture *f = *state;
    float small[4];
    void *stream;
    twice(f);
    succeed(f, tw_stream_new(f->ctx, &stream));
    tw_array x = vector(NULL, 32), y = vector(NULL, 32);
    succeed(f, tw_device_allocate(f->ctx, sizeof small, &x.data));
    succeed(f, tw_device_allocate(f->ctx, 128, &y.data));
    give_arrays(f, &x, &y);
    succeed(f, tw_launch_start(f->launch, stream));
    tw_status status = tw_stream_wait(f->ctx, stream);
    refused(f, status, TW_FAULT, "running the kernel: CUDA_ERROR_ILLEGAL_ADDRESS");
    refused(f, status, TW_FAULT, "the kernel started last is twice");
}

/* --- a whole session, in which each call fails in turn --- */

struct session {
    tw_context *ctx;
    tw_status status; /* status of the first call that failed */
    float x[32], y[32], z[32];
    double milliseconds;
};

/* Returns true if the session goes on to the next step. A failed call must have a message. */
static bool going_on(struct session *s, tw_status status)
{
    s->status = status;
    if (status != TW_OK && s->ctx)
        assert_true(tw_context_messages(s->ctx)[0] != '\0');
    return status == TW_OK;
}
#define STEP(call) going_on(s, call)

static bool on_host(struct session *s, tw_kernel *k)
{
    tw_launch *l;
    tw_array x = array(s->x, TW_F32, 1, 32, 0), y = array(s->y, TW_F32, 1, 32, 0);
    tw_occupancy o = tw_occupancy_init();
    return STEP(tw_launch_new(k, &l)) && STEP(tw_launch_array(l, "x", &x)) &&
           STEP(tw_launch_array(l, "y", &y)) && STEP(tw_launch_run(l)) &&
           STEP(tw_launch_time(l, 2, &s->milliseconds)) && STEP(tw_launch_occupancy(l, &o));
}

static bool in_stream(struct session *s, tw_kernel *k)
{
    tw_launch *l;
    void *x, *y, *stream, *from, *to;
    if (!STEP(tw_device_allocate(s->ctx, sizeof s->x, &x)) ||
        !STEP(tw_device_allocate(s->ctx, sizeof s->y, &y)) ||
        !STEP(tw_stream_new(s->ctx, &stream)) || !STEP(tw_event_new(s->ctx, &from)) ||
        !STEP(tw_event_new(s->ctx, &to)))
        return false;
    tw_array xs = vector(x, 32), ys = vector(y, 32);
    return STEP(tw_device_copy_in(s->ctx, x, s->x, sizeof s->x, stream)) &&
           STEP(tw_device_fill(s->ctx, y, 0, sizeof s->y, stream)) && STEP(tw_launch_new(k, &l)) &&
           STEP(tw_launch_array(l, "x", &xs)) && STEP(tw_launch_array(l, "y", &ys)) &&
           STEP(tw_launch_ready(l, stream)) && STEP(tw_event_record(s->ctx, from, stream)) &&
           STEP(tw_launch_start(l, stream)) && STEP(tw_event_record(s->ctx, to, stream)) &&
           STEP(tw_event_elapsed(s->ctx, from, to, &s->milliseconds)) &&
           STEP(tw_stream_wait(s->ctx, stream)) &&
           STEP(tw_device_copy_out(s->ctx, s->z, y, sizeof s->z, stream)) &&
           STEP(tw_event_free(s->ctx, from)) && STEP(tw_stream_free(s->ctx, stream)) &&
           STEP(tw_device_free(s->ctx, x));
}

static tw_status run_session(struct counting *memory)
{
    struct session all = {.x = {1, 2, 3}}, *s = &all;
    tw_config config = {
        .size = sizeof config, .resize = counting_resize, .resize_user = memory, .threads = 1};
    tw_module *m;
    tw_kernel *k;
    bool done = STEP(tw_context_new(&config, &s->ctx)) &&
                STEP(tw_module_from_text(s->ctx, "t.tile", total_text, strlen(total_text), &m)) &&
                STEP(tw_kernel_for_target(tw_module_kernel_at(m, 0), "cuda", &k)) &&
                on_host(s, k) && in_stream(s, k);
    if (done) {
        assert_true(s->y[0] == 6);
        assert_true(s->z[0] == 6);
    }
    tw_context_free(s->ctx);
    return s->status;
}

/* Returns true for calls that clean up: they have no result. */
static bool may_fail_silently(const char *function)
{
    static const char *const names[] = {"cuCtxPopCurrent_v2",
                                        "cuCtxPushCurrent_v2",
                                        "cuCtxGetCurrent",
                                        "cuModuleUnload",
                                        "cuDevicePrimaryCtxRelease_v2",
                                        "cuCtxSetCurrent",
                                        "cuMemFree_v2",
                                        "cuStreamDestroy_v2",
                                        "cuEventDestroy_v2",
                                        "cuThreadExchangeStreamCaptureMode"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], function) == 0)
            return true;
    return false;
}

/* Makes the n-th call of the driver fail with this result, for every n. */
static void walk_driver(int result)
{
    const char *failed = "";
    long n = 0, before = driver.fake_cuda_live(-1);
    while (failed) {
        struct counting memory = {.fail_from = -1};
        driver.fake_cuda_fail("*", ++n, result);
        tw_status status = run_session(&memory);
        failed = driver.fake_cuda_failed();
        driver.fake_cuda_fail("", 0, 0);
        if (failed && status == TW_OK && !may_fail_silently(failed))
            fail_msg("call %ld, %s, failed with %d unnoticed", n, failed, result);
        assert_true(failed || status == TW_OK);
        assert_int_equal(driver.fake_cuda_live(-1), before);
        assert_int_equal(memory.live, 0);
    }
    assert_true(n > 60);
}

static void test_every_call_fails(void **state)
{
    (void)state;
    walk_driver(1);
    walk_driver(2);
    walk_driver(719);
    walk_driver(900);
    walk_driver(999);
}

/* The program has a context of its own current, which remains current. */
static void test_every_call_fails_with_another_context(void **state)
{
    (void)state;
    void *own, *now;
    setenv("FAKE_CUDA_DEVICES", "2", 1);
    assert_int_equal(driver.cuDevicePrimaryCtxRetain(&own, 1), 0);
    assert_int_equal(driver.cuCtxSetCurrent(own), 0);
    walk_driver(1);
    walk_driver(719);
    assert_int_equal(driver.cuCtxGetCurrent(&now), 0);
    assert_ptr_equal(now, own);
    assert_int_equal(driver.cuCtxSetCurrent(NULL), 0);
    assert_int_equal(driver.cuDevicePrimaryCtxRelease_v2(1), 0);
}

static void test_every_allocation_fails(void **state)
{
    (void)state;
    tw_status status = TW_NO_MEMORY;
    for (long n = 0; status != TW_OK; n++) {
        struct counting memory = {.fail_from = n};
        status = run_session(&memory);
        assert_true(status == TW_OK || status == TW_NO_MEMORY);
        assert_int_equal(driver.fake_cuda_live(-1), 0);
        assert_int_equal(memory.live, 0);
    }
}

static int prepare(void **state)
{
    int result = cuda_setup(state); /* finds the driver */
    return result ? result : cuda_teardown(state);
}

int main(void)
{
#define GPU_TEST(name) cmocka_unit_test_setup_teardown(name, cuda_setup, cuda_teardown)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_what_is_said, prepare),
        GPU_TEST(test_old_driver),
        GPU_TEST(test_program_for_another_gpu),
        GPU_TEST(test_lost_context),
        GPU_TEST(test_fault_of_a_kernel),
        cmocka_unit_test_setup(test_every_call_fails, prepare),
        cmocka_unit_test_setup(test_every_call_fails_with_another_context, prepare),
        cmocka_unit_test_setup(test_every_allocation_fails, prepare),
    };
    return cmocka_run_group_tests_name("cuda_errors", tests, NULL, NULL);
}
