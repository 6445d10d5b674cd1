/* The C interface on a GPU, end to end: errors that only a real driver can find. test_runtime.py
 * runs it, also on the driver without a GPU.
 *
 *   runtime session   streams, early starts, workspace, graphs, families, attributes, DLPack, memory
 *   runtime fault     a kernel's fault, which destroys the process's context */
#include "tilewright.h"
#include "tilewright_entry.h"
#include "tilewright_family.h"
#include "tilewright_gpu.h"

#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static tw_context *ctx;

#define FAIL(...)                                                                                  \
    (fprintf(stderr, "%s:%d: ", __FILE__, __LINE__), fprintf(stderr, __VA_ARGS__), exit(1))
#define NEED(call)                                                                                 \
    do {                                                                                           \
        tw_status status_ = (call);                                                                \
        if (status_ != TW_OK)                                                                      \
            FAIL("%s: %s: %s\n", #call, tw_status_name(status_), tw_context_messages(ctx));        \
    } while (0)

static void expect(tw_status got, tw_status wanted, const char *text)
{
    const char *said = tw_context_messages(ctx);
    if (got != wanted || !strstr(said, text))
        FAIL("got %s: %s\nexpected %s: …%s…\n", tw_status_name(got), said, tw_status_name(wanted),
             text);
}

/* --- the driver, as another part of the program calls it --- */

static int (*begin_capture)(void *stream, int mode);
static int (*end_capture)(void *stream, void **graph);
static int (*instantiate)(void **out, void *graph, unsigned long long flags);
static int (*launch_graph)(void *graph, void *stream);

static void find(void *library, const char *name, void *function)
{
    void *found = dlsym(library, name);
    if (!found)
        FAIL("the driver has no %s\n", name);
    memcpy(function, &found, sizeof found);
}

static void find_driver(void)
{
    const char *path = getenv("TILEWRIGHT_CUDA_DRIVER");
    void *library = dlopen(path && *path ? path : "libcuda.so.1", RTLD_NOW);
    if (!library)
        FAIL("%s\n", dlerror());
    find(library, "cuStreamBeginCapture_v2", &begin_capture);
    find(library, "cuStreamEndCapture", &end_capture);
    find(library, "cuGraphInstantiateWithFlags", &instantiate);
    find(library, "cuGraphLaunch", &launch_graph);
}

/* --- kernels --- */

static const char text[] =
    "kernel twice(i32 n, const f32 *x, f32 *y) grid(n / 32) warps(1)\n"
    "{\n"
    "    global f32 X[n] = x, Y[n] = y;\n"
    "    Y[block.x * 32 +: 32] = 2 * X[block.x * 32 +: 32];\n"
    "}\n"
    "kernel total(i32 n, const f32 *x, f32 *y) grid(4) warps(1)\n"
    "{\n"
    "    global f32 X[n] = x, Y[1] = y;\n"
    "    global f32 sums[1] = 0;\n"
    "    global i32 turn[1] = 0;\n"
    "    reg f32 t[32] = X[block.x * 32 +: 32];\n"
    "    lock(turn[0], block.x);\n"
    "    reg f32 s[1] = sums[0 +: 1] + sum(t);\n"
    "    sums[0 +: 1] = s;\n"
    "    Y[0 +: 1] = s;\n"
    "    unlock(turn[0], block.x + 1);\n"
    "}\n"
    "kernel next(i32 n, i32 steps, const f32 *x, f32 *y) grid(n / 32) warps(1)\n"
    "{\n"
    "    global f32 X[n] = x, Y[n] = y;\n"
    "    reg f32 t[32] = X[n - 32 - block.x * 32 +: 32];\n"
    "    for (i32 i = 0; i < steps; i++)\n"
    "        t += 1 / (f32) steps;\n"
    "    Y[block.x * 32 +: 32] = t;\n"
    "}\n";
enum { N = 128 };
static float x[N], y[N];

static tw_launch *launch_of(const char *name, const tw_array *from, const tw_array *to)
{
    static tw_module *module;
    tw_kernel *kernel;
    tw_launch *l;
    if (!module)
        NEED(tw_module_from_text(ctx, "runtime.tile", text, strlen(text), &module));
    NEED(tw_kernel_for_target(tw_module_kernel(module, name), "cuda", &kernel));
    NEED(tw_launch_new(kernel, &l));
    NEED(tw_launch_array(l, "x", from));
    NEED(tw_launch_array(l, "y", to));
    return l;
}

static tw_array on_gpu(const float *data, int64_t count)
{
    tw_array a = {
        .size = sizeof a, .dtype = TW_F32, .rank = 1, .shape = {count}, .place = TW_ON_DEVICE};
    NEED(tw_device_allocate(ctx, (size_t)count * sizeof *data, &a.data));
    NEED(tw_device_copy_in(ctx, a.data, data, (size_t)count * sizeof *data, NULL));
    return a;
}

static void fetch(const tw_array *a, void *stream)
{
    memset(y, 0, sizeof y);
    NEED(tw_device_copy_out(ctx, y, a->data, (size_t)a->shape[0] * sizeof *y, stream));
}

static void expect_twice(const tw_array *a, void *stream)
{
    fetch(a, stream);
    for (int i = 0; i < N; i++)
        if (y[i] != 2 * x[i])
            FAIL("element %d is %g, expected %g\n", i, (double)y[i], (double)(2 * x[i]));
}

static void expect_total(const tw_array *a, void *stream)
{
    float total = 0;
    for (int i = 0; i < N; i++)
        total += x[i];
    fetch(a, stream);
    if (y[0] != total)
        FAIL("the total is %g, expected %g\n", (double)y[0], (double)total);
}

/* --- a session --- */

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Two streams at once, each with workspace of its own. */
static void streams(void)
{
    enum { STARTS = 200 };
    tw_array from = on_gpu(x, N), to[2] = {on_gpu(y, 1), on_gpu(y, 1)};
    tw_launch *l[2] = {launch_of("total", &from, &to[0]), launch_of("total", &from, &to[1])};
    void *stream[2];
    for (int i = 0; i < 2; i++) {
        NEED(tw_stream_new(ctx, &stream[i]));
        NEED(tw_launch_ready(l[i], stream[i]));
    }
    double before = seconds();
    for (int i = 0; i < STARTS; i++)
        NEED(tw_launch_start(l[i % 2], stream[i % 2]));
    printf("a start with workspace takes %.2f us\n", 1e6 * (seconds() - before) / STARTS);
    for (int i = 0; i < 2; i++)
        expect_total(&to[i], stream[i]);
}

static void starts(void)
{
    enum { STARTS = 1000 };
    tw_array from = on_gpu(x, N), to = on_gpu(y, N);
    tw_launch *l = launch_of("twice", &from, &to);
    tw_occupancy o = tw_occupancy_init();
    NEED(tw_launch_ready(l, NULL));
    double before = seconds();
    for (int i = 0; i < STARTS; i++)
        NEED(tw_launch_start(l, NULL));
    printf("a start takes %.2f us\n", 1e6 * (seconds() - before) / STARTS);
    expect_twice(&to, NULL);
    NEED(tw_launch_occupancy(l, &o));
    printf("%d registers, %d blocks at a time\n", o.registers, o.blocks);
    if (o.registers < 1 || o.blocks < 1 || o.threads != 32)
        FAIL("the occupancy is wrong\n");
}

/* Launches that may begin early, each of which reads what other blocks of the one before have written: by the way
 * in which a program starts a launch, and by an entry. They take so long that the GPU is never idle between them. */
static void chain(bool is_gpu)
{
    enum { LONG = 64 * 32, STARTS = 100 };
    const int steps = is_gpu ? 8192 : 4; /* powers of two: all sums are exact */
    float *zeros = calloc(LONG, sizeof *zeros), *out = calloc(LONG, sizeof *out);
    tw_array a[2] = {on_gpu(zeros, LONG), on_gpu(zeros, LONG)};
    tw_launch *l[2] = {launch_of("next", &a[0], &a[1]), launch_of("next", &a[1], &a[0])};
    tw_entry *e;
    NEED(tw_entry_new(l[0], &e));
    for (int i = 0; i < 2; i++) {
        NEED(tw_launch_set(l[i], "steps", tw_int(steps)));
        NEED(tw_launch_ready(l[i], NULL));
    }
    for (int i = 0; i < STARTS; i++)
        NEED(tw_launch_start(l[i % 2], NULL));
    for (int i = 0; i < STARTS; i++) {
        tw_value given[] = {tw_int(LONG), tw_int(steps), tw_pointer(a[i % 2].data),
                            tw_pointer(a[1 - i % 2].data)};
        NEED(tw_entry_start(e, given, 4, NULL, NULL));
    }
    NEED(tw_device_copy_out(ctx, out, a[0].data, LONG * sizeof *out, NULL));
    for (int i = 0; i < LONG; i++)
        if (out[i] != 2 * STARTS)
            FAIL("after %d launches element %d is %g\n", 2 * STARTS, i, (double)out[i]);
    tw_entry_free(e);
    free(zeros);
    free(out);
}

/* Captured in the strictest mode, and replayed. */
static void graphs(void)
{
    tw_array from = on_gpu(x, N), to = on_gpu(y, 1);
    tw_launch *l = launch_of("total", &from, &to);
    void *stream, *graph, *ready;
    NEED(tw_stream_new(ctx, &stream));
    NEED(tw_launch_ready(l, stream));
    if (begin_capture(stream, 0))
        FAIL("the capture cannot be begun\n");
    NEED(tw_launch_start(l, stream));
    NEED(tw_launch_start(l, stream));
    if (end_capture(stream, &graph) || instantiate(&ready, graph, 0))
        FAIL("the capture was lost\n");
    for (int i = 0; i < 3; i++)
        if (launch_graph(ready, stream))
            FAIL("the graph cannot be launched\n");
    NEED(tw_stream_wait(ctx, stream));
    expect_total(&to, stream);
}

struct helper {
    tw_launch *launch;
    void *stream;
    tw_status status;
};

static void *make_ready(void *user)
{
    struct helper *h = user;
    h->status = tw_launch_ready(h->launch, h->stream);
    return NULL;
}

/* While this thread captures, another loads a program, a new one because its array has a lower
 * alignment, and allocates the workspace of a stream. */
static void beside_a_capture(void)
{
    tw_array from = on_gpu(x, N), to = on_gpu(y, 2);
    to = tw_device_array((char *)to.data + sizeof *y, TW_F32, 1);
    struct helper h = {.launch = launch_of("total", &from, &to)};
    void *stream, *graph;
    pthread_t thread;
    NEED(tw_stream_new(ctx, &stream));
    NEED(tw_stream_new(ctx, &h.stream));
    if (begin_capture(stream, 0) || pthread_create(&thread, NULL, make_ready, &h))
        FAIL("the capture or the thread cannot be begun\n");
    pthread_join(thread, NULL);
    NEED(h.status);
    if (end_capture(stream, &graph))
        FAIL("the capture was lost\n");
    NEED(tw_launch_start(h.launch, h.stream));
    expect_total(&to, h.stream);
}

/* The product of x as m x k and as k x n, for a family of all sizes that the arrays hold. */
static void expect_product(const tw_array *c, int m, int n, int k, void *stream)
{
    fetch(c, stream);
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            float sum = 0;
            for (int p = 0; p < k; p++)
                sum += x[i * k + p] * x[p * n + j];
            if (fabsf(y[i * n + j] - sum) > 1e-3f * (1 + fabsf(sum)))
                FAIL("%d x %d x %d: c[%d][%d] is %g, not %g\n", m, n, k, i, j, (double)y[i * n + j],
                     (double)sum);
        }
}

/* A family starts at several sizes; a start that is ready can be captured and replayed. */
static void families(void)
{
    static const int sizes[][3] = {{8, 8, 16}, {7, 9, 11}, {16, 8, 8}};
    tw_family *f;
    tw_error e = tw_error_init();
    void *stream, *graph, *replay;
    tw_array a = on_gpu(x, N), c = on_gpu(y, N);
    NEED(tw_stream_new(ctx, &stream));
    NEED(tw_family_from_file(ctx, ROOT "/kernels/matmul.tile", NULL, "cuda", &f));
    for (int i = 0; i < 3; i++) {
        const int *s = sizes[i];
        tw_value args[] = {tw_int(s[0]),       tw_int(s[1]),       tw_int(s[2]),
                           tw_pointer(a.data), tw_pointer(a.data), tw_pointer(c.data)};
        if (tw_family_start(f, args, 6, stream, &e) != TW_OK)
            FAIL("%s\n", e.text);
        expect_product(&c, s[0], s[1], s[2], stream);
        begin_capture(stream, 0);
        if (tw_family_start(f, args, 6, stream, &e) != TW_OK)
            FAIL("%s\n", e.text);
        if (end_capture(stream, &graph) || instantiate(&replay, graph, 0))
            FAIL("the start was not captured\n");
        NEED(tw_device_copy_in(ctx, c.data, x, sizeof x, stream));
        launch_graph(replay, stream);
        expect_product(&c, s[0], s[1], s[2], stream);
    }
    tw_family_free(f);
}

static void attributes(int capability)
{
    tw_array from = on_gpu(x, N), to = on_gpu(y, N);
    tw_launch *l = launch_of("twice", &from, &to);
    tw_launch_attributes hints = {.size = sizeof hints, .priority = -1, .overlap = true};
    tw_launch_attributes cluster = {.size = sizeof cluster, .cluster = {4, 1, 1}},
                         odd = {.size = sizeof odd, .cluster = {3, 1, 1}};
    NEED(tw_launch_start_with(l, NULL, &hints));
    expect_twice(&to, NULL);
    NEED(tw_device_fill(ctx, to.data, 0, sizeof y, NULL));
    if (capability < 90) {
        expect(tw_launch_start_with(l, NULL, &cluster), TW_UNSUPPORTED, "compute capability 9.0");
        return;
    }
    NEED(tw_launch_start_with(l, NULL, &cluster));
    expect_twice(&to, NULL);
    expect(tw_launch_start_with(l, NULL, &odd), TW_UNSUPPORTED, "not a multiple");
}

/* The first members of dlpack.h's DLManagedTensor, and its last. */
struct managed {
    void *data;
    int32_t device_type, device_id;
    int32_t rest[2];
    void *shape, *strides;
    uint64_t offset;
    void *manager;
    void (*deleter)(struct managed *self);
};

static void dlpack(void)
{
    void *out;
    tw_array from = on_gpu(x, N), to = on_gpu(y, N);
    tw_launch *l = launch_of("twice", &from, &to);
    NEED(tw_device_dlpack(ctx, &from, &out));
    struct managed *m = out;
    if (m->device_type != 2 || m->data != from.data)
        FAIL("the tensor is not that of the array\n");
    NEED(tw_launch_dlpack(l, "x", m));
    NEED(tw_launch_run(l));
    expect_twice(&to, NULL);
    m->deleter(m);
}

static void memory(const tw_device *d)
{
    void *address;
    expect(tw_device_allocate(ctx, (size_t)d->memory_bytes * 2, &address), TW_NO_MEMORY,
           "that are free");
    NEED(tw_device_allocate(ctx, 1 << 20, &address)); /* it goes on */
    NEED(tw_device_free(ctx, address));
}

/* --- a fault --- */

static void fault(void)
{
    const char *lost = "the GPU's context of this process is lost: start a new process";
    tw_array nowhere = tw_device_array((void *)0x1000, TW_F32, N), to = on_gpu(y, N);
    void *address;
    tw_launch *l = launch_of("twice", &nowhere, &to);
    NEED(tw_launch_start(l, NULL));
    tw_status status = tw_stream_wait(ctx, NULL);
    printf("%s", tw_context_messages(ctx));
    expect(status, TW_FAULT, "the kernel started last is twice");
    expect(status, TW_FAULT, lost);
    expect(tw_device_allocate(ctx, 64, &address), TW_FAULT, lost);
    expect(tw_launch_run(l), TW_FAULT, lost);
}

int main(int argc, char **argv)
{
    tw_device d = tw_device_init();
    if (!tw_device_at(1, &d))
        return puts("no GPU"), 2;
    puts(d.description);
    for (int i = 0; i < N; i++)
        x[i] = (float)(i % 7);
    NEED(tw_context_new(NULL, &ctx));
    if (argc > 1 && strcmp(argv[1], "fault") == 0) {
        fault();
    } else {
        find_driver();
        starts();
        chain(!getenv("TILEWRIGHT_CUDA_DRIVER"));
        streams();
        graphs();
        beside_a_capture();
        families();
        attributes(d.capability);
        dlpack();
        memory(&d);
    }
    tw_context_free(ctx);
    puts("good");
    return 0;
}
