/* The runtime for GPUs, on a driver without one: arrays in place, streams, events, captures,
 * workspace. */
#include "cuda_helper.h"
#include "tilewright_gpu.h"
#include "tilewright_sim.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void give_arrays(struct fixture *f, const tw_array *a, const tw_array *b, const tw_array *c)
{
    succeed(f, tw_launch_array(f->launch, "a", a));
    succeed(f, tw_launch_array(f->launch, "b", b));
    succeed(f, tw_launch_array(f->launch, "c", c));
}

static void expect_product(const struct fixture *f, const float *c)
{
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            float want = 0;
            for (int p = 0; p < K; p++)
                want += f->a[i * K + p] * f->b[p * N + j];
            assert_true(fabsf(c[i * N + j] - want) < 1e-4f);
        }
}

/* Makes a launch of the product with arrays on the device. */
static tw_array product_on_device(struct fixture *f)
{
    load(f, api_matmul);
    aim_at_gpu(f);
    tw_array a = on_device(f, f->a, TW_F32, M, K), b = on_device(f, f->b, TW_F32, K, N);
    tw_array c = on_device(f, f->c, TW_F32, M, N);
    give_arrays(f, &a, &b, &c);
    return c;
}

static void fetch(struct fixture *f, const tw_array *c, void *stream)
{
    succeed(f, tw_device_copy_out(f->ctx, f->c, c->data, sizeof f->c, stream));
}

static void test_host_arrays(void **state)
{
    struct fixture *f = *state;
    load(f, api_matmul);
    aim_at_gpu(f);
    tw_array a = array(f->a, TW_F32, 2, M, K), b = array(f->b, TW_F32, 2, K, N);
    tw_array c = array(f->c, TW_F32, 2, M, N);
    give_arrays(f, &a, &b, &c);
    succeed(f, tw_launch_run(f->launch));
    expect_product(f, f->c);
    succeed(f, tw_launch_verify(f->launch, NULL));
}

static void test_arrays_in_place(void **state)
{
    struct fixture *f = *state;
    tw_array c = product_on_device(f);
    long allocations = driver.fake_cuda_calls("cuMemAlloc_v2");
    succeed(f, tw_launch_run(f->launch));
    succeed(f, tw_launch_verify(f->launch, NULL));
    double ms = 0;
    succeed(f, tw_launch_time(f->launch, 3, &ms));
    assert_true(ms > 0);
    assert_int_equal(driver.fake_cuda_calls("cuMemAlloc_v2"), allocations);
    fetch(f, &c, NULL);
    expect_product(f, f->c);
}

static void test_start_in_a_stream(void **state)
{
    struct fixture *f = *state;
    tw_array c = product_on_device(f);
    void *stream, *from, *to;
    double ms = -1;
    succeed(f, tw_stream_new(f->ctx, &stream));
    succeed(f, tw_event_new(f->ctx, &from));
    succeed(f, tw_event_new(f->ctx, &to));
    succeed(f, tw_launch_ready(f->launch, stream));
    succeed(f, tw_event_record(f->ctx, from, stream));
    long calls = driver.fake_cuda_calls(NULL);
    long queries = driver.fake_cuda_calls("cuCtxGetCurrent");
    succeed(f, tw_launch_start(f->launch, stream));
    queries = driver.fake_cuda_calls("cuCtxGetCurrent") - queries;
    assert_int_equal(driver.fake_cuda_calls(NULL) - calls - queries, 1);
    succeed(f, tw_event_record(f->ctx, to, stream));
    succeed(f, tw_event_elapsed(f->ctx, from, to, &ms));
    assert_true(ms > 0);
    succeed(f, tw_stream_wait(f->ctx, stream));
    fetch(f, &c, stream);
    expect_product(f, f->c);
    succeed(f, tw_event_free(f->ctx, from));
    succeed(f, tw_stream_free(f->ctx, stream));
    refused(f, tw_stream_free(f->ctx, stream), TW_BAD_ARGUMENT, "is not of this context");
    refused(f, tw_device_free(f->ctx, stream), TW_BAD_ARGUMENT, "is not of this context");
    succeed(f, tw_device_free(f->ctx, c.data));
}

static void test_start_wants_arrays_on_the_device(void **state)
{
    struct fixture *f = *state;
    product_on_device(f);
    tw_array c = array(f->c, TW_F32, 2, M, N);
    succeed(f, tw_launch_array(f->launch, "c", &c));
    refused(f, tw_launch_start(f->launch, NULL), TW_BAD_ARGUMENT, "`c` is on the host");
    succeed(f, tw_launch_run(f->launch)); /* which takes both */
    expect_product(f, f->c);
}

static void test_misaligned_array(void **state)
{
    struct fixture *f = *state;
    float a[1 + M * K] = {0};
    product_on_device(f);
    memcpy(a + 1, f->a, sizeof f->a);
    tw_array whole = on_device(f, a, TW_F32, 1, 1 + M * K);
    tw_array part = tw_device_array((char *)whole.data + 4, TW_F32, M, K);
    succeed(f, tw_launch_array(f->launch, "a", &part));
    succeed(f, tw_launch_run(f->launch));
    succeed(f, tw_launch_verify(f->launch, NULL));
}

static void test_host_kernel_refuses_device_array(void **state)
{
    struct fixture *f = *state;
    product_on_device(f);
    tw_launch *l;
    succeed(f, tw_launch_new(tw_module_kernel_at(f->module, 0), &l));
    tw_array a = on_device(f, f->a, TW_F32, M, K);
    refused(f, tw_launch_array(l, "a", &a), TW_BAD_ARGUMENT, "`a` is on a GPU");
    refused(f, tw_launch_start(l, NULL), TW_BAD_ARGUMENT, "for the host");
    refused(f, tw_launch_simulate(f->launch, NULL, NULL), TW_BAD_ARGUMENT, "is on a GPU");
    tw_launch_free(l);
}

static void test_occupancy(void **state)
{
    struct fixture *f = *state;
    tw_occupancy o = tw_occupancy_init();
    product_on_device(f);
    succeed(f, tw_launch_occupancy(f->launch, &o));
    assert_int_equal(o.threads, 32);
    assert_true(o.blocks > 0 && o.registers > 0 && o.shared_bytes > 0);
}

/* --- several devices --- */

/* Two contexts in one thread, each on its GPU: neither changes the other's device. */
static void test_two_devices(void **state)
{
    struct fixture *f = *state;
    setenv("FAKE_CUDA_DEVICES", "2", 1);
    struct fixture second = *f;
    second.config.device = 1;
    succeed(&second, tw_context_new(&second.config, &second.ctx));
    second.launch = NULL;
    tw_array a = product_on_device(f), b = product_on_device(&second);
    for (int i = 0; i < 2; i++) {
        succeed(f, tw_launch_start(f->launch, NULL));
        succeed(&second, tw_launch_start(second.launch, NULL));
    }
    fetch(f, &a, NULL);
    fetch(&second, &b, NULL);
    expect_product(f, f->c);
    expect_product(&second, second.c);
    void *stream;
    succeed(f, tw_stream_new(f->ctx, &stream));
    refused(&second, tw_stream_free(second.ctx, stream), TW_BAD_ARGUMENT, "is not of this context");
    tw_kernel *k = tw_module_kernel_at(second.module, 0);
    succeed(&second, tw_kernel_for_target(k, "cuda:1", &k));
    refused(&second, tw_kernel_for_target(k, "cuda:0", &k), TW_BAD_ARGUMENT,
            "`cuda:0` is not the GPU of this context, which is `cuda:1`");
    tw_context_free(second.ctx);
    tw_device d = tw_device_init();
    assert_true(tw_device_at(2, &d) && d.ordinal == 1 && strcmp(d.name, "cuda:1") == 0);
    assert_false(tw_device_at(3, &d));
}

/* After each call, the program's own CUDA context is current again. */
static void test_context_of_the_program(void **state)
{
    struct fixture *f = *state;
    void *own, *now;
    setenv("FAKE_CUDA_DEVICES", "2", 1);
    assert_int_equal(driver.cuInit(0), 0);
    assert_int_equal(driver.cuDevicePrimaryCtxRetain(&own, 1), 0);
    assert_int_equal(driver.cuCtxSetCurrent(own), 0);
    tw_array c = product_on_device(f);
    succeed(f, tw_launch_run(f->launch));
    assert_int_equal(driver.cuCtxGetCurrent(&now), 0);
    assert_ptr_equal(now, own);
    fetch(f, &c, NULL);
    expect_product(f, f->c);
    assert_int_equal(driver.cuCtxSetCurrent(NULL), 0);
    assert_int_equal(driver.cuDevicePrimaryCtxRelease_v2(1), 0);
}

/* --- attributes --- */

static void test_start_with_attributes(void **state)
{
    struct fixture *f = *state;
    setenv("FAKE_CUDA_SM", "90", 1);
    tw_array c = product_on_device(f);
    long launches = driver.fake_cuda_calls("cuLaunchKernelEx");
    succeed(f, tw_launch_start_with(f->launch, NULL, NULL));
    succeed(f, tw_launch_start_with(
                   f->launch, NULL,
                   &(tw_launch_attributes){sizeof(tw_launch_attributes), {1, 0, 1}, 0, false}));
    /* A kernel for 9.0 waits itself for the kernels before it, so it may begin early. */
    assert_int_equal(driver.fake_cuda_calls("cuLaunchKernelEx"), launches + 2);
    tw_launch_attributes all = {sizeof all, {2, 1, 1}, -1, true}; /* a grid of 2 x 2 blocks */
    succeed(f, tw_launch_start_with(f->launch, NULL, &all));
    assert_int_equal(driver.fake_cuda_calls("cuLaunchKernelEx"), launches + 3);
    fetch(f, &c, NULL);
    expect_product(f, f->c);
    tw_launch_attributes odd = {.size = sizeof odd, .cluster = {1, 3, 1}};
    refused(f, tw_launch_start_with(f->launch, NULL, &odd), TW_UNSUPPORTED,
            "2 blocks along y are not a multiple of the cluster's 3");
    odd.cluster[1] = 17;
    refused(f, tw_launch_start_with(f->launch, NULL, &odd), TW_BAD_ARGUMENT, "1 to 16 blocks");
}

/* Graphs of drivers before CUDA 12.3 cannot hold a launch that begins early. */
static void test_start_without_early(void **state)
{
    struct fixture *f = *state;
    setenv("FAKE_CUDA_SM", "90", 1);
    setenv("FAKE_CUDA_VERSION", "12020", 1);
    tw_array c = product_on_device(f);
    long launches = driver.fake_cuda_calls("cuLaunchKernelEx");
    succeed(f, tw_launch_start(f->launch, NULL));
    assert_int_equal(driver.fake_cuda_calls("cuLaunchKernelEx"), launches);
    fetch(f, &c, NULL);
    expect_product(f, f->c);
}

/* Checks that clusters are refused, and that optional attributes are left out. */
static void expect_no_clusters(struct fixture *f, const char *why)
{
    tw_array c = product_on_device(f);
    tw_launch_attributes all = {sizeof all, {2, 1, 1}, -1, true};
    refused(f, tw_launch_start_with(f->launch, NULL, &all), TW_UNSUPPORTED, why);
    all.cluster[0] = 0;
    succeed(f, tw_launch_start_with(f->launch, NULL, &all));
    fetch(f, &c, NULL);
    expect_product(f, f->c);
}

static void test_attributes_of_an_old_gpu(void **state)
{
    expect_no_clusters(*state, "clusters of 2 blocks: those need a GPU of compute capability 9.0");
}

static void test_attributes_of_an_old_driver(void **state)
{
    setenv("FAKE_CUDA_SM", "90", 1);
    setenv("TILEWRIGHT_CUDA_DRIVER", TW_FAKE_CUDA_OLD, 1);
    expect_no_clusters(*state, "clusters of 2 blocks: those need a driver for CUDA 11.8");
}

/* Writes the number of each block plus 100 times its rank in its cluster. */
static const char cluster_text[] = ".version 8.0\n.target sm_90\n.address_size 64\n"
                                   ".visible .entry numbers(.param .u64 out)\n"
                                   "{\n"
                                   "    .reg .b32 %r<4>;\n"
                                   "    .reg .b64 %rd<4>;\n"
                                   "    ld.param.u64 %rd1, [out];\n"
                                   "    mov.u32 %r1, %ctaid.x;\n"
                                   "    mul.wide.u32 %rd2, %r1, 4;\n"
                                   "    add.s64 %rd3, %rd1, %rd2;\n"
                                   "    mov.u32 %r2, %cluster_ctarank;\n"
                                   "    mad.lo.u32 %r3, %r2, 100, %r1;\n"
                                   "    st.global.u32 [%rd3], %r3;\n"
                                   "    ret;\n"
                                   "}\n";

static void test_ptx_in_clusters(void **state)
{
    struct fixture *f = *state;
    int32_t numbers[32] = {0};
    tw_ptx *p;
    setenv("FAKE_CUDA_SM", "90", 1);
    succeed(f, tw_ptx_from_text(f->ctx, "c.ptx", cluster_text, strlen(cluster_text), &p));
    tw_ptx_argument out = {.data = numbers, .bytes = sizeof numbers, .is_array = true};
    tw_ptx_launch launch = {.size = sizeof launch,
                            .grid = {32, 1, 1},
                            .block = {1, 1, 1},
                            .cluster = {16, 1, 1},
                            .arguments = &out,
                            .argument_count = 1};
    long launches = driver.fake_cuda_calls("cuLaunchKernelEx");
    succeed(f, tw_ptx_run(p, &launch, NULL));
    assert_int_equal(driver.fake_cuda_calls("cuLaunchKernelEx"), launches + 1);
    for (int i = 0; i < 32; i++)
        assert_int_equal(numbers[i], i + 100 * (i % 16));
    launch.cluster[0] = 5;
    refused(f, tw_ptx_run(p, &launch, NULL), TW_UNSUPPORTED,
            "32 blocks along x are not a multiple");
}

/* --- workspace --- */

static tw_array text_on_device(struct fixture *f, const char *text)
{
    load(f, text);
    aim_at_gpu(f);
    tw_array a = on_device(f, f->a, TW_F32, 1, 64), c = on_device(f, f->c, TW_F32, 1, 1);
    a = tw_device_array(a.data, TW_F32, 64);
    c = tw_device_array(c.data, TW_F32, 1);
    succeed(f, tw_launch_array(f->launch, "a", &a));
    succeed(f, tw_launch_array(f->launch, "c", &c));
    return c;
}

static tw_array total_on_device(struct fixture *f)
{
    return text_on_device(f, cuda_total);
}

static void expect_total(struct fixture *f, const tw_array *c, void *stream)
{
    float got = 0, want = 0;
    for (int i = 0; i < 64; i++)
        want += f->a[i];
    succeed(f, tw_device_copy_out(f->ctx, &got, c->data, sizeof got, stream));
    assert_true(fabsf(got - want) < 1e-4f);
}

static void test_workspace_is_zeroed_in_the_stream(void **state)
{
    struct fixture *f = *state;
    tw_array c = total_on_device(f);
    void *stream;
    succeed(f, tw_stream_new(f->ctx, &stream));
    succeed(f, tw_launch_start(f->launch, stream));
    long fills = driver.fake_cuda_calls("cuMemsetD8Async");
    long allocations = driver.fake_cuda_calls("cuMemAlloc_v2");
    for (int i = 0; i < 3; i++)
        succeed(f, tw_launch_start(f->launch, stream));
    assert_int_equal(driver.fake_cuda_calls("cuMemsetD8Async") - fills, 3);
    assert_int_equal(driver.fake_cuda_calls("cuMemAlloc_v2"), allocations);
    expect_total(f, &c, stream);
    succeed(f, tw_stream_free(f->ctx, stream));
}

/* Workspace that launches leave 0, and the ticket of a lock, are zeroed once only. */
static void test_clean_workspace_is_zeroed_once(void **state)
{
    struct fixture *f = *state;
    tw_array c = text_on_device(f, cuda_clean_total);
    void *stream;
    succeed(f, tw_stream_new(f->ctx, &stream));
    long before = driver.fake_cuda_calls("cuMemsetD8Async");
    for (int i = 0; i < 3; i++) {
        succeed(f, tw_launch_start(f->launch, stream));
        expect_total(f, &c, stream);
    }
    assert_int_equal(driver.fake_cuda_calls("cuMemsetD8Async") - before, 1);
    succeed(f, tw_launch_start(f->launch, NULL)); /* another stream has another workspace */
    expect_total(f, &c, NULL);
    assert_int_equal(driver.fake_cuda_calls("cuMemsetD8Async") - before, 2);
    succeed(f, tw_stream_free(f->ctx, stream));
}

/* Makes `clean` workspace that the kernel leaves dirty: sums[0] is the total, turn[0] is 4. */
static char *dirty_total(void)
{
    static char text[1024];
    snprintf(text, sizeof text, "%s", cuda_clean_total);
    char *at = strstr(text, "(block.x + 1) % 4");
    memcpy(at, "(block.x + 1) * 1", 17);
    return text;
}

static void aim_at_total(struct fixture *f, const char *text)
{
    load(f, text);
    aim_at_gpu(f);
    tw_array a = tw_host_array(f->a, TW_F32, 64), c = tw_host_array(f->c, TW_F32, 1);
    succeed(f, tw_launch_array(f->launch, "a", &a));
    succeed(f, tw_launch_array(f->launch, "c", &c));
}

/* A launch that the caller waits for reports the dirty elements, and the memory is 0 again. */
static void test_dirty_workspace_is_found(void **state)
{
    static const char dirty[] = "`turn[0]` is 4 after the launch, and not 0";
    struct fixture *f = *state;
    double ms;
    aim_at_total(f, dirty_total());
    refused(f, tw_launch_run(f->launch), TW_FAULT, dirty);
    refused(f, tw_launch_time(f->launch, 1, &ms), TW_FAULT, dirty);
    tw_launch_free(f->launch);
    f->launch = NULL;
    tw_module_free(f->module);
    f->module = NULL;
    aim_at_total(f, cuda_clean_total);
    succeed(f, tw_launch_run(f->launch)); /* would wait for ever with a turn of 4 */
    succeed(f, tw_launch_time(f->launch, 3, &ms));
}

/* Verification finds the elements that the latest started launch left dirty. */
static void test_dirty_workspace_of_a_start_is_found(void **state)
{
    struct fixture *f = *state;
    char text[1100];
    snprintf(text, sizeof text, "%s", dirty_total());
    snprintf(strrchr(text, '}'), 32, "    ensures C[0] == sum(A);\n}\n");
    text_on_device(f, text);
    void *stream;
    succeed(f, tw_stream_new(f->ctx, &stream));
    succeed(f, tw_launch_start(f->launch, stream));
    succeed(f, tw_stream_wait(f->ctx, stream));
    refused(f, tw_launch_verify(f->launch, NULL), TW_FAULT, "`turn[0]` is 4");
    succeed(f, tw_launch_verify(f->launch, NULL));
    succeed(f, tw_launch_start(f->launch, stream)); /* the turn is 0 again */
    succeed(f, tw_stream_wait(f->ctx, stream));
    succeed(f, tw_stream_free(f->ctx, stream)); /* and its workspace */
    succeed(f, tw_launch_verify(f->launch, NULL));
}

/* --- captures --- */

static void replay(struct fixture *f, void *graph, void *stream, int times)
{
    void *ready;
    assert_int_equal(driver.cuGraphInstantiateWithFlags(&ready, graph, 0), 0);
    for (int i = 0; i < times; i++)
        assert_int_equal(driver.cuGraphLaunch(ready, stream), 0);
    succeed(f, tw_stream_wait(f->ctx, stream));
    assert_int_equal(driver.cuGraphExecDestroy(ready), 0);
    assert_int_equal(driver.cuGraphDestroy(graph), 0);
}

static void test_start_is_captured(void **state)
{
    struct fixture *f = *state;
    tw_array c = total_on_device(f);
    void *stream, *graph;
    succeed(f, tw_stream_new(f->ctx, &stream));
    succeed(f, tw_launch_ready(f->launch, stream));
    assert_int_equal(driver.cuStreamBeginCapture_v2(stream, 0), 0);
    succeed(f, tw_launch_start(f->launch, stream));
    succeed(f, tw_launch_start(f->launch, stream));
    assert_int_equal(driver.cuStreamEndCapture(stream, &graph), 0);
    float nothing = -1;
    succeed(f, tw_device_copy_in(f->ctx, c.data, &nothing, sizeof nothing, stream));
    replay(f, graph, stream, 3);
    expect_total(f, &c, stream);
}

static void test_capture_of_what_is_not_ready(void **state)
{
    struct fixture *f = *state;
    tw_array c = total_on_device(f);
    void *stream, *other, *graph;
    succeed(f, tw_stream_new(f->ctx, &stream));
    succeed(f, tw_stream_new(f->ctx, &other));
    assert_int_equal(driver.cuStreamBeginCapture_v2(stream, 0), 0);
    refused(f, tw_launch_start(f->launch, stream), TW_BAD_ARGUMENT, "call tw_launch_ready");
    assert_int_equal(driver.cuStreamEndCapture(stream, &graph), 0); /* the capture is intact */
    assert_int_equal(driver.cuGraphDestroy(graph), 0);
    succeed(f, tw_launch_ready(f->launch, other)); /* another stream's workspace cannot be used */
    assert_int_equal(driver.cuStreamBeginCapture_v2(stream, 0), 0);
    refused(f, tw_launch_start(f->launch, stream), TW_NO_MEMORY, "bytes of workspace");
    assert_int_equal(driver.cuStreamEndCapture(stream, &graph), 0);
    assert_int_equal(driver.cuGraphDestroy(graph), 0);
    succeed(f, tw_launch_start(f->launch, other));
    expect_total(f, &c, other);
}

enum { MODE_GLOBAL, MODE_THREAD_LOCAL }; /* CUstreamCaptureMode */

struct helper {
    struct fixture *f;
    void *stream, *memory;
    tw_status allocated, ready, freed;
    int mode; /* capture mode of its thread afterwards */
};

static void *make_ready(void *user)
{
    struct helper *h = user;
    h->allocated = tw_device_allocate(h->f->ctx, 256, &h->memory);
    h->ready = tw_launch_ready(h->f->launch, h->stream);
    h->mode = MODE_THREAD_LOCAL;
    driver.cuThreadExchangeStreamCaptureMode(&h->mode);
    return NULL;
}

static void *free_memory(void *user)
{
    struct helper *h = user;
    h->freed = tw_device_free(h->f->ctx, h->memory);
    return NULL;
}

/* Runs `body` in another thread while this one captures, in the mode that forbids most; checks
 * how the capture ends. */
static void beside_a_capture(struct helper *h, void *(*body)(void *), int end)
{
    pthread_t thread;
    void *stream, *graph;
    succeed(h->f, tw_stream_new(h->f->ctx, &stream));
    assert_int_equal(driver.cuStreamBeginCapture_v2(stream, MODE_GLOBAL), 0);
    assert_int_equal(pthread_create(&thread, NULL, body, h), 0);
    pthread_join(thread, NULL);
    assert_int_equal(driver.cuStreamEndCapture(stream, &graph), end);
    if (graph)
        assert_int_equal(driver.cuGraphDestroy(graph), 0);
}

static void test_ready_during_a_capture(void **state)
{
    enum { UNDISTURBED = 0, INVALIDATED = 901 };
    struct fixture *f = *state;
    tw_array c = total_on_device(f);
    struct helper h = {.f = f};
    succeed(f, tw_stream_new(f->ctx, &h.stream));
    beside_a_capture(&h, make_ready, UNDISTURBED);
    succeed(f, h.allocated);
    succeed(f, h.ready);
    assert_int_equal(h.mode, MODE_GLOBAL); /* as it was */
    succeed(f, tw_launch_start(f->launch, h.stream));
    expect_total(f, &c, h.stream);
    beside_a_capture(&h, free_memory, INVALIDATED);
    refused(f, h.freed, TW_FAULT, "cannot be done while a stream is captured");
    succeed(f, tw_device_free(f->ctx, h.memory)); /* the memory still exists */
}

int main(void)
{
#define GPU_TEST(name) cmocka_unit_test_setup_teardown(name, cuda_setup, cuda_teardown)
    const struct CMUnitTest tests[] = {
        GPU_TEST(test_two_devices),
        GPU_TEST(test_context_of_the_program),
        GPU_TEST(test_host_arrays),
        GPU_TEST(test_arrays_in_place),
        GPU_TEST(test_start_in_a_stream),
        GPU_TEST(test_start_wants_arrays_on_the_device),
        GPU_TEST(test_misaligned_array),
        GPU_TEST(test_host_kernel_refuses_device_array),
        GPU_TEST(test_start_with_attributes),
        GPU_TEST(test_start_without_early),
        GPU_TEST(test_attributes_of_an_old_gpu),
        GPU_TEST(test_attributes_of_an_old_driver),
        GPU_TEST(test_ptx_in_clusters),
        GPU_TEST(test_occupancy),
        GPU_TEST(test_workspace_is_zeroed_in_the_stream),
        GPU_TEST(test_clean_workspace_is_zeroed_once),
        GPU_TEST(test_dirty_workspace_is_found),
        GPU_TEST(test_dirty_workspace_of_a_start_is_found),
        GPU_TEST(test_start_is_captured),
        GPU_TEST(test_capture_of_what_is_not_ready),
        GPU_TEST(test_ready_during_a_capture),
    };
    return cmocka_run_group_tests_name("cuda", tests, NULL, NULL);
}
