/* Launches of kernels whose parameters are tensor maps: what a launch encodes, how often, and what
 * it refuses. By names, through entries, in the simulator. */
#include "cuda_helper.h"
#include "map_helper.h"

#include "base/tensor_map.h"
#include "tilewright_entry.h"
#include "tilewright_gpu.h"
#include "tilewright_model.h"
#include "tilewright_sim.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static const char move_text[] =
    "kernel move(i32 m, i32 n, i32 step, i32 blocks, const f16 *a, f16 *c, u8 *codes)\n"
    "    grid(blocks) warps(1)\n"
    "{\n"
    "    global f16 A[m][n] = a + 8 strides(step, 1), C[m][n] = c, W[64][72];\n"
    "    global u8 Codes[3072] = codes;\n"
    "    W[0 +: 16][0 +: 16] = A[0 +: 16][0 +: 16];\n"
    "    C[0 +: 16][0 +: 16] = W[0 +: 16][0 +: 16];\n"
    "    Codes[0 +: 32] = 0;\n"
    "}\n";
static const struct map_program two = {
    .map = {"A", "C"}, .scalar = "n", .box = {16, 64}, .swizzle = 128};

enum { HALVES = 1 << 16, CODES = 3072 };

struct maps_fixture {
    struct fixture *f;
    tw_entry *entry;
    char *a, *c, *codes; /* on the device */
    uint8_t got[CODES];
    tw_error error;
};

static void open_maps(struct maps_fixture *x, struct fixture *f, const struct map_program *p)
{
    void *address;
    *x = (struct maps_fixture){.f = f, .error = tw_error_init()};
    map_programs(p);
    load(f, move_text);
    aim_at_gpu(f);
    succeed(f, tw_device_allocate(f->ctx, 2 * HALVES, &address));
    x->a = address;
    succeed(f, tw_device_allocate(f->ctx, 2 * HALVES, &address));
    x->c = address;
    succeed(f, tw_device_allocate(f->ctx, CODES, &address));
    x->codes = address;
}

static void give(struct maps_fixture *x, int m, int n, int step, char *c)
{
    tw_launch *l = x->f->launch;
    tw_array a = tw_device_array(x->a, TW_F16, HALVES), to = tw_device_array(c, TW_F16, m, n),
             codes = tw_device_array(x->codes, TW_U8, CODES);
    succeed(x->f, tw_launch_set(l, "step", tw_int(step)));
    succeed(x->f, tw_launch_set(l, "m", tw_int(m)));
    succeed(x->f, tw_launch_set(l, "n", tw_int(n)));
    succeed(x->f, tw_launch_set(l, "blocks", tw_int(1)));
    succeed(x->f, tw_launch_array(l, "a", &a));
    succeed(x->f, tw_launch_array(l, "c", &to));
    succeed(x->f, tw_launch_array(l, "codes", &codes));
}

static long encoded(void)
{
    return driver.fake_cuda_calls("cuTensorMapEncodeTiled");
}

static struct tensor_map map_at(struct maps_fixture *x, int i)
{
    struct tensor_map map;
    succeed(x->f, tw_device_copy_out(x->f->ctx, x->got, x->codes, CODES, NULL));
    assert_true(tensor_map_decode(x->got + (size_t)i * TENSOR_MAP_BYTES, &map));
    return map;
}

static void expect_map(struct maps_fixture *x, int i, const char *address, int m, int n, int step)
{
    struct tensor_map map = map_at(x, i);
    assert_true(map.address == (uintptr_t)address);
    assert_true(map.rank == 2 && map.type == DT_F16 && map.swizzle == SWIZZLE_128B);
    assert_true(map.extents[0] == (uint64_t)n && map.extents[1] == (uint64_t)m);
    assert_true(map.strides[1] == 2 * (uint64_t)step);
    assert_true(map.box[0] == 64 && map.box[1] == 16 && map.steps[0] == 1 && map.steps[1] == 1);
}

/* --- by names --- */

static void a_launch_encodes_its_views(void **state)
{
    struct maps_fixture x;
    open_maps(&x, *state, &two);
    long before = encoded();
    give(&x, 101, 64, 80, x.c);
    succeed(x.f, tw_launch_start(x.f->launch, NULL));
    expect_map(&x, 0, x.a + 16, 101, 64, 80);
    expect_map(&x, 1, x.c, 101, 64, 64);
    assert_int_equal(encoded(), before + 2);
    long calls = driver.fake_cuda_calls(NULL);
    succeed(x.f, tw_launch_start(x.f->launch, NULL));
    assert_int_equal(encoded(), before + 2);
    assert_int_equal(driver.fake_cuda_calls("cuLaunchKernel"), 2);
    assert_true(driver.fake_cuda_calls(NULL) - calls <= 4);
    give(&x, 101, 64, 80, x.c + 256); /* only C moves */
    succeed(x.f, tw_launch_start(x.f->launch, NULL));
    expect_map(&x, 0, x.a + 16, 101, 64, 80);
    expect_map(&x, 1, x.c + 256, 101, 64, 64);
    assert_int_equal(encoded(), before + 3);
}

static void arrays_of_the_host_are_staged(void **state)
{
    struct maps_fixture x;
    open_maps(&x, *state, &two);
    static uint16_t a[102 * 80], c[102 * 64];
    give(&x, 102, 64, 80, x.c);
    tw_array from = array(a, TW_F16, 1, 102 * 80, 0), to = array(c, TW_F16, 2, 102, 64),
             codes = array(x.got, TW_U8, 1, CODES, 0);
    succeed(x.f, tw_launch_array(x.f->launch, "a", &from));
    succeed(x.f, tw_launch_array(x.f->launch, "c", &to));
    succeed(x.f, tw_launch_array(x.f->launch, "codes", &codes));
    succeed(x.f, tw_launch_run(x.f->launch));
    struct tensor_map map;
    assert_true(tensor_map_decode(x.got, &map));
    assert_true(map.address % 16 == 0 && map.extents[1] == 102);
    refused(x.f, tw_launch_start(x.f->launch, NULL), TW_BAD_ARGUMENT, "is on the host");
}

static void a_view_without_elements_is_zeros(void **state)
{
    struct maps_fixture x;
    static uint8_t ones[CODES], zeros[2 * TENSOR_MAP_BYTES];
    open_maps(&x, *state, &two);
    memset(ones, 1, sizeof ones);
    succeed(x.f, tw_device_copy_in(x.f->ctx, x.codes, ones, CODES, NULL));
    give(&x, 0, 17, 17, x.c);
    long before = encoded();
    succeed(x.f, tw_launch_start(x.f->launch, NULL));
    succeed(x.f, tw_device_copy_out(x.f->ctx, x.got, x.codes, CODES, NULL));
    assert_memory_equal(x.got, zeros, sizeof zeros);
    assert_int_equal(encoded(), before);
}

static void a_view_that_no_map_describes_is_refused(void **state)
{
    struct maps_fixture x;
    open_maps(&x, *state, &two);
    give(&x, 30, 17, 24, x.c);
    refused(x.f, tw_launch_start(x.f->launch, NULL), TW_BAD_ARGUMENT,
            "`C` has rows of 34 bytes along axis 0; tensor copies need rows of a multiple of 16 "
            "bytes");
    refused(x.f, tw_launch_run(x.f->launch), TW_BAD_ARGUMENT,
            "pad the rows, or take a kernel without tensor copies");
    refused(x.f, tw_launch_ready(x.f->launch, NULL), TW_BAD_ARGUMENT, "`C` has rows of 34 bytes");
    give(&x, 30, 16, 20, x.c);
    refused(x.f, tw_launch_start(x.f->launch, NULL), TW_BAD_ARGUMENT, "`A` has rows of 40 bytes");
    give(&x, 30, 16, 24, x.c + 2);
    refused(x.f, tw_launch_start(x.f->launch, NULL), TW_BAD_ARGUMENT, "`C` begins at address 0x");
    give(&x, 1, 17, 20, x.c); /* one row has no next one */
    succeed(x.f, tw_launch_start(x.f->launch, NULL));
}

/* A view of workspace is in the memory of the launch's stream. */
static void workspace_has_a_map_for_each_stream(void **state)
{
    static const struct map_program of_workspace = {
        .map = {"W", "W"}, .box = {64, 64}, .swizzle = 128};
    struct maps_fixture x;
    void *stream;
    open_maps(&x, *state, &of_workspace);
    succeed(x.f, tw_stream_new(x.f->ctx, &stream));
    give(&x, 16, 16, 16, x.c);
    succeed(x.f, tw_launch_start(x.f->launch, NULL));
    uint64_t first = map_at(&x, 0).address;
    assert_true(first && map_at(&x, 1).address == first);
    succeed(x.f, tw_launch_start(x.f->launch, stream));
    succeed(x.f, tw_stream_wait(x.f->ctx, stream));
    assert_true(map_at(&x, 1).address != first && map_at(&x, 1).strides[1] == 144);
    succeed(x.f, tw_launch_start(x.f->launch, NULL));
    assert_true(map_at(&x, 0).address == first);
    succeed(x.f, tw_stream_free(x.f->ctx, stream));
}

/* --- what the driver refuses --- */

static void an_old_driver_has_no_maps(void **state)
{
    struct maps_fixture x;
    setenv("TILEWRIGHT_CUDA_DRIVER", TW_FAKE_CUDA_OLD, 1);
    open_maps(&x, *state, &two);
    give(&x, 103, 64, 64, x.c);
    refused(x.f, tw_launch_start(x.f->launch, NULL), TW_UNSUPPORTED,
            "it copies with tensor maps: those need a driver for CUDA 12.0");
}

static void the_driver_may_refuse_a_map(void **state)
{
    static const struct map_program wide = {.map = {"A", "C"}, .box = {16, 64}, .swizzle = 32};
    struct maps_fixture x;
    open_maps(&x, *state, &two);
    give(&x, 104, 64, 64, x.c);
    driver.fake_cuda_fail("cuTensorMapEncodeTiled", 1, 1);
    refused(x.f, tw_launch_start(x.f->launch, NULL), TW_FAULT,
            "encoding a tensor map: CUDA_ERROR_INVALID_VALUE");
    driver.fake_cuda_fail("", 0, 0);
    succeed(x.f, tw_launch_start(x.f->launch, NULL));
    expect_map(&x, 1, x.c, 104, 64, 64);
    map_programs(&wide);
    tw_launch_free(x.f->launch);
    x.f->launch = NULL;
    open_maps(&x, *state, &wide);
    give(&x, 104, 64, 64, x.c);
    refused(x.f, tw_launch_start(x.f->launch, NULL), TW_UNSUPPORTED,
            "the box has 128 bytes along axis 0, and the swizzle at most 32");
}

/* --- clusters --- */

static const struct map_program clustered = {
    .map = {"A", "C"}, .scalar = "m", .box = {16, 64}, .swizzle = 128, .cluster = 2};

static void a_kernel_has_its_own_clusters(void **state)
{
    struct maps_fixture x;
    setenv("FAKE_CUDA_SM", "90", 1);
    open_maps(&x, *state, &clustered);
    give(&x, 105, 64, 64, x.c);
    long before = driver.fake_cuda_calls("cuLaunchKernelEx");
    refused(x.f, tw_launch_start(x.f->launch, NULL), TW_UNSUPPORTED,
            "1 blocks along x are not a multiple of the cluster's 2");
    succeed(x.f, tw_launch_set(x.f->launch, "blocks", tw_int(4)));
    succeed(x.f, tw_launch_start(x.f->launch, NULL));
    assert_int_equal(driver.fake_cuda_calls("cuLaunchKernelEx"), before + 1);
    tw_launch_attributes four = {.size = sizeof four, .cluster = {4, 1, 1}};
    refused(x.f, tw_launch_start_with(x.f->launch, NULL, &four), TW_BAD_ARGUMENT,
            "it is to run in clusters of 4 x 1 x 1 blocks, and was compiled for 2 x 1 x 1");
    four.cluster[0] = 2;
    succeed(x.f, tw_launch_start_with(x.f->launch, NULL, &four));
    assert_int_equal(driver.fake_cuda_calls("cuLaunchKernelEx"), before + 2);
}

/* --- entries --- */

static tw_status start_entry(struct maps_fixture *x, int m, int n, int step, int blocks, char *c,
                             void *stream)
{
    tw_value args[] = {tw_int(m),        tw_int(n),     tw_int(step),        tw_int(blocks),
                       tw_pointer(x->a), tw_pointer(c), tw_pointer(x->codes)};
    return tw_entry_start(x->entry, args, 7, stream, &x->error);
}

static void open_entry(struct maps_fixture *x, struct fixture *f, const struct map_program *p)
{
    open_maps(x, f, p);
    succeed(f, tw_entry_new(f->launch, &x->entry));
}

static void started(struct maps_fixture *x, tw_status status)
{
    if (status != TW_OK)
        fail_msg("%s: %s", tw_status_name(status), x->error.text);
}

static void not_started(struct maps_fixture *x, tw_status status, const char *why)
{
    if (status != TW_BAD_ARGUMENT || x->error.code != TW_CODE_ARGUMENT ||
        !strstr(x->error.text, why))
        fail_msg("%s: %s", tw_status_name(status), x->error.text);
}

/* A start with the same arrays is one call of the driver and no allocation. */
static void an_entry_keeps_its_maps(void **state)
{
    struct maps_fixture x;
    open_entry(&x, *state, &two);
    started(&x, start_entry(&x, 32, 64, 80, 1, x.c, NULL));
    expect_map(&x, 0, x.a + 16, 32, 64, 80);
    started(&x, start_entry(&x, 48, 64, 80, 1, x.c, NULL));
    expect_map(&x, 1, x.c, 48, 64, 64);
    long calls = driver.fake_cuda_calls(NULL), allocations = x.f->memory.calls;
    for (int i = 0; i < 10; i++)
        started(&x, start_entry(&x, i % 2 ? 48 : 32, 64, 80, 1, x.c, NULL));
    assert_int_equal(driver.fake_cuda_calls(NULL), calls + 10);
    expect_map(&x, 1, x.c, 48, 64, 64);
    calls = driver.fake_cuda_calls(NULL);
    started(&x, start_entry(&x, 48, 64, 96, 1, x.c + 512, NULL));
    assert_int_equal(driver.fake_cuda_calls(NULL), calls + 3); /* two maps, one launch */
    assert_int_equal(x.f->memory.calls, allocations);
    expect_map(&x, 0, x.a + 16, 48, 64, 96);
    expect_map(&x, 1, x.c + 512, 48, 64, 64);
}

static void an_entry_refuses_views_without_a_map(void **state)
{
    struct maps_fixture x;
    open_entry(&x, *state, &two);
    not_started(&x, start_entry(&x, 30, 17, 24, 1, x.c, NULL),
                "`C` has rows of 34 bytes along axis 0; tensor copies need rows of a multiple of "
                "16 bytes");
    assert_non_null(strstr(x.error.text, "pad the rows, or"));
    not_started(&x, start_entry(&x, 31, 17, 24, 1, x.c, NULL), "`C` has rows of 34 bytes");
    started(&x, start_entry(&x, 0, 17, 24, 1, x.c, NULL));
    started(&x, start_entry(&x, 31, 24, 24, 1, x.c, NULL));
    expect_map(&x, 1, x.c, 31, 24, 24);
}

static void an_entry_starts_clusters(void **state)
{
    struct maps_fixture x;
    setenv("FAKE_CUDA_SM", "90", 1);
    open_entry(&x, *state, &clustered);
    started(&x, start_entry(&x, 32, 64, 64, 4, x.c, NULL));
    long calls = driver.fake_cuda_calls(NULL), with = driver.fake_cuda_calls("cuLaunchKernelEx");
    started(&x, start_entry(&x, 32, 64, 64, 4, x.c, NULL));
    assert_int_equal(driver.fake_cuda_calls(NULL), calls + 1);
    assert_int_equal(driver.fake_cuda_calls("cuLaunchKernelEx"), with + 1);
    tw_status status = start_entry(&x, 32, 64, 64, 3, x.c, NULL);
    assert_int_equal(status, TW_FAULT);
    assert_non_null(strstr(x.error.text, "3 blocks along x are not a multiple of the cluster's 2"));
}

/* More maps than a start makes quickly, and maps of workspace, take the slow path. */
static void other_entries_start_slowly(void **state)
{
    static struct map_program many = {.box = {16, 64}, .swizzle = 128};
    static const struct map_program mixed = {
        .map = {"W", "C"}, .scalar = "n", .box = {16, 64}, .swizzle = 128};
    struct maps_fixture x;
    for (int i = 0; i < MAPS_MOST; i++)
        many.map[i] = i % 2 ? "C" : "A";
    open_entry(&x, *state, &many);
    started(&x, start_entry(&x, 33, 64, 80, 1, x.c, NULL));
    started(&x, start_entry(&x, 33, 64, 80, 1, x.c, NULL));
    expect_map(&x, MAPS_MOST - 1, x.c, 33, 64, 64);
    expect_map(&x, MAPS_MOST - 2, x.a + 16, 33, 64, 80);
    tw_launch_free(x.f->launch);
    x.f->launch = NULL;
    open_entry(&x, *state, &mixed);
    started(&x, start_entry(&x, 34, 64, 80, 1, x.c, NULL));
    assert_int_equal(map_at(&x, 0).strides[1], 144);
    expect_map(&x, 1, x.c, 34, 64, 64);
}

struct thread {
    struct maps_fixture *x;
    char *c;
    tw_status status;
};

static void *start_many(void *user)
{
    struct thread *t = user;
    struct maps_fixture own = *t->x; /* with an error of the thread's own */
    for (int i = 0; i < 50 && t->status == TW_OK; i++)
        t->status = start_entry(&own, 16 + 16 * (i % 3), 64, 80, 1, t->c, NULL);
    return NULL;
}

static void threads_encode_on_their_own(void **state)
{
    enum { THREADS = 4 };
    struct maps_fixture x;
    struct thread threads[THREADS];
    pthread_t id[THREADS];
    open_entry(&x, *state, &two);
    started(&x, start_entry(&x, 16, 64, 80, 1, x.c, NULL));
    for (int i = 0; i < THREADS; i++) {
        threads[i] = (struct thread){&x, x.c + 64 * i, TW_OK};
        assert_int_equal(pthread_create(&id[i], NULL, start_many, &threads[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(id[i], NULL);
        assert_int_equal(threads[i].status, TW_OK);
    }
    started(&x, start_entry(&x, 16, 64, 80, 1, x.c, NULL));
    expect_map(&x, 1, x.c, 16, 64, 64);
}

/* Each allocation of the host fails in turn, and none is lost. */
static void memory_may_run_out(void **state)
{
    struct maps_fixture x;
    tw_status status = TW_NO_MEMORY;
    open_entry(&x, *state, &two);
    for (int n = 0; status == TW_NO_MEMORY; n++) {
        x.f->memory.fail_from = x.f->memory.calls + n;
        status = start_entry(&x, 21, 64, 80, 1, x.c, NULL);
        x.f->memory.fail_from = -1;
    }
    started(&x, status);
    expect_map(&x, 1, x.c, 21, 64, 64);
    give(&x, 22, 64, 80, x.c);
    status = TW_NO_MEMORY;
    for (int n = 0; status == TW_NO_MEMORY; n++) {
        x.f->memory.fail_from = x.f->memory.calls + n;
        status = tw_launch_start(x.f->launch, NULL);
        x.f->memory.fail_from = -1;
    }
    succeed(x.f, status);
    expect_map(&x, 1, x.c, 22, 64, 64);
}

static void maps_are_captured(void **state)
{
    struct maps_fixture x;
    void *stream, *graph, *replay;
    open_entry(&x, *state, &two);
    started(&x, start_entry(&x, 17, 64, 80, 1, x.c, NULL));
    succeed(x.f, tw_stream_new(x.f->ctx, &stream));
    assert_int_equal(driver.cuStreamBeginCapture_v2(stream, 0), 0);
    started(&x, start_entry(&x, 19, 64, 96, 1, x.c + 1024, stream));
    assert_int_equal(driver.cuStreamEndCapture(stream, &graph), 0);
    started(&x, start_entry(&x, 17, 64, 80, 1, x.c, NULL));
    assert_int_equal(driver.cuGraphInstantiateWithFlags(&replay, graph, 0), 0);
    assert_int_equal(driver.cuGraphLaunch(replay, stream), 0);
    succeed(x.f, tw_stream_wait(x.f->ctx, stream));
    expect_map(&x, 0, x.a + 16, 19, 64, 96);
    expect_map(&x, 1, x.c + 1024, 19, 64, 64);
    driver.cuGraphExecDestroy(replay);
    driver.cuGraphDestroy(graph);
    succeed(x.f, tw_stream_free(x.f->ctx, stream));
}

/* --- a whole kernel --- */

static const char product_text[] =
    "const i32 BM = 64, BN = 64, BK = 64, S = 2;\n"
    "kernel product(i32 m, i32 n, i32 k, const f16 *a, const f16 *b, f16 *c)\n"
    "    grid(cdiv(m, BM), cdiv(n, BN)) warps(8) target(sm_90a)\n"
    "{\n"
    "    global f16 A[m][k] = a, B[k][n] = b, C[m][n] = c;\n"
    "    shared f16 sa[S][BM][BK], sb[S][BK][BN], sc[BM][BN];\n"
    "    mbarrier full[S](1), empty[S](1) ready;\n"
    "    i32 i = block.x * BM, j = block.y * BN;\n"
    "    warps(0 +: 4) {\n"
    "        one_thread {\n"
    "            i32 s = 0;\n"
    "            for (i32 p = 0; p < k; p += BK, s = (s + 1) % S) {\n"
    "                wait(empty[s]);\n"
    "                expect(full[s], bytes(sa[s]) + bytes(sb[s]));\n"
    "                async(full[s]) sa[s] = A[i +: BM][p +: BK];\n"
    "                async(full[s]) sb[s] = B[p +: BK][j +: BN];\n"
    "            }\n"
    "        }\n"
    "    }\n"
    "    warps(4 +: 4) {\n"
    "        reg f32 acc[BM][BN] = 0;\n"
    "        i32 s = 0;\n"
    "        for (i32 p = 0; p < k; p += BK, s = (s + 1) % S) {\n"
    "            wait(full[s]);\n"
    "            dot_async(acc, sa[s], sb[s]);\n"
    "            dot_wait(0);\n"
    "            arrive(empty[s]);\n"
    "        }\n"
    "        sc = (f16) acc;\n"
    "        sync();\n"
    "        async C[i +: BM][j +: BN] = sc;\n"
    "        store_wait(0);\n"
    "    }\n"
    "    ensures C == dot(A, B);\n"
    "}\n";

enum { ROWS = 71, COLUMNS = 88, DEPTH = 136 };

/* Launches on the GPU and on the simulator, with edges that are not whole boxes. */
static void a_product_is_right(void **state)
{
    struct fixture *f = *state;
    static uint16_t a[ROWS * DEPTH], b[DEPTH * COLUMNS], c[ROWS * COLUMNS];
    for (int i = 0; i < ROWS * DEPTH; i++)
        a[i] = i % 3 ? 0x3c00 : 0xbc00; /* 1, -1 */
    for (int i = 0; i < DEPTH * COLUMNS; i++)
        b[i] = i % 5 ? 0x3800 : 0x4000; /* 0.5, 2 */
    setenv("FAKE_CUDA_SM", "90", 1);
    load(f, product_text);
    static const char *const targets[] = {"cuda", "sm_90"};
    for (int t = 0; t < 2; t++) {
        tw_kernel *k;
        tw_launch_free(f->launch);
        f->launch = NULL;
        succeed(f, tw_kernel_for_target(tw_module_kernel_at(f->module, 0), targets[t], &k));
        succeed(f, tw_launch_new(k, &f->launch));
        tw_array arrays[] = {array(a, TW_F16, 2, ROWS, DEPTH), array(b, TW_F16, 2, DEPTH, COLUMNS),
                             array(c, TW_F16, 2, ROWS, COLUMNS)};
        static const char *const names[] = {"a", "b", "c"};
        memset(c, 0, sizeof c);
        for (int i = 0; i < 3; i++)
            succeed(f, tw_launch_array(f->launch, names[i], &arrays[i]));
        if (t == 0)
            succeed(f, tw_launch_run(f->launch));
        else
            succeed(f, tw_launch_simulate(f->launch, NULL, NULL));
        succeed(f, tw_launch_verify(f->launch, NULL));
    }
}

/* --- without a GPU --- */

static void the_simulator_reads_the_same_maps(void **state)
{
    struct fixture *f = *state;
    static uint16_t a[40 * 80], c[40 * 64];
    static uint8_t got[CODES];
    struct tensor_map map;
    map_programs(&two);
    load(f, move_text);
    tw_kernel *k;
    tw_launch_free(f->launch);
    succeed(f, tw_kernel_for_target(tw_module_kernel_at(f->module, 0), "sm_90", &k));
    succeed(f, tw_launch_new(k, &f->launch));
    tw_array from = array(a, TW_F16, 1, 40 * 80, 0), to = array(c, TW_F16, 2, 39, 64),
             codes = array(got, TW_U8, 1, CODES, 0);
    succeed(f, tw_launch_set(f->launch, "step", tw_int(80)));
    succeed(f, tw_launch_set(f->launch, "m", tw_int(39)));
    succeed(f, tw_launch_set(f->launch, "n", tw_int(64)));
    succeed(f, tw_launch_set(f->launch, "blocks", tw_int(1)));
    succeed(f, tw_launch_array(f->launch, "a", &from));
    succeed(f, tw_launch_array(f->launch, "c", &to));
    succeed(f, tw_launch_array(f->launch, "codes", &codes));
    succeed(f, tw_launch_simulate(f->launch, NULL, NULL));
    assert_true(tensor_map_decode(got, &map));
    assert_true(map.extents[1] == 39 && map.strides[1] == 160 && map.address % 256 == 16);
    assert_true(tensor_map_decode(got + TENSOR_MAP_BYTES, &map));
    assert_true(map.extents[0] == 64 && map.strides[1] == 128 && map.address % 256 == 0);
    to = array(c, TW_F16, 2, 39, 17);
    succeed(f, tw_launch_set(f->launch, "n", tw_int(17)));
    succeed(f, tw_launch_array(f->launch, "c", &to));
    refused(f, tw_launch_simulate(f->launch, NULL, NULL), TW_BAD_ARGUMENT,
            "`C` has rows of 34 bytes along axis 0");
    tw_explain_options options = tw_explain_options_init();
    tw_explanation e = tw_explanation_init();
    options.gpu = "h200";
    refused(f, tw_launch_explain(f->launch, &options, &e), TW_BAD_ARGUMENT,
            "`C` has rows of 34 bytes along axis 0");
}

static int teardown(void **state)
{
    map_programs(NULL);
    return cuda_teardown(state);
}

#define WITH_GPU(test) cmocka_unit_test_setup_teardown(test, cuda_setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_GPU(a_launch_encodes_its_views),
        WITH_GPU(arrays_of_the_host_are_staged),
        WITH_GPU(a_view_without_elements_is_zeros),
        WITH_GPU(a_view_that_no_map_describes_is_refused),
        WITH_GPU(workspace_has_a_map_for_each_stream),
        WITH_GPU(an_old_driver_has_no_maps),
        WITH_GPU(the_driver_may_refuse_a_map),
        WITH_GPU(a_kernel_has_its_own_clusters),
        WITH_GPU(an_entry_keeps_its_maps),
        WITH_GPU(an_entry_refuses_views_without_a_map),
        WITH_GPU(an_entry_starts_clusters),
        WITH_GPU(other_entries_start_slowly),
        WITH_GPU(threads_encode_on_their_own),
        WITH_GPU(maps_are_captured),
        WITH_GPU(a_product_is_right),
        WITH_GPU(memory_may_run_out),
        WITH_GPU(the_simulator_reads_the_same_maps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
