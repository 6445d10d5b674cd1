/* Starts of a family: the entry that the sizes choose, its cost, refused variants, captures, from
 * many threads. */
#include "family_helper.h"

#include "api/family.h"
#include "api/family_cache.h"
#include "cuda_helper.h"
#include "tilewright_gpu.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Kernels that claim to compute the same, and do not: each adds a number of its own, so that the
 * result tells which one ran. Format: name, number. */
static const char adds_text[] =
    "tune B = {16, 32};\n"
    "kernel %s(i32 n, const f32 *a, f32 *c, i32 times = 1) grid(cdiv(n, B)) warps(1)\n"
    "{\n"
    "    global f32 A[n] = a, C[n] = c;\n"
    "    C[block.x * B +: B] = A[block.x * B +: B] + %d * times;\n"
    "    ensures C == A + times;\n"
    "}\n";

/* `one` is the fastest up to 64 elements, `two` above. */
static const char adds_table[] =
    "{\"family\":\"adds\",\"device\":\"x\",\"types\":\"\",\"sizes\":[\"n\",\"times\"],\"variants\":"
    "["
    "{\"kernel\":\"one\",\"tune\":\"B=16\"},{\"kernel\":\"two\",\"tune\":\"B=32\"}]}\n"
    "{\"at\":[16,1],\"us\":[1,2]}\n{\"at\":[64,1],\"us\":[2,3]}\n"
    "{\"at\":[256,1],\"us\":[5,3]}\n{\"at\":[1024,1],\"us\":[9,4]}\n";

/* The same with a tensor copy, and without one. */
static const char copies_text[] =
    "kernel one(i32 m, i32 n, const f32 *a, f32 *c) grid(cdiv(m, 64)) warps(8) target(sm_90a)\n"
    "{\n"
    "    global f32 A[m][n] = a, C[m][n] = c;\n"
    "    shared f32 s[64][32];\n"
    "    mbarrier full[1](1);\n"
    "    warps(0 +: 4) {\n"
    "        one_thread {\n"
    "            expect(full[0], bytes(s));\n"
    "            async(full[0]) s = A[block.x * 64 +: 64][0 +: 32];\n"
    "        }\n"
    "    }\n"
    "    warps(4 +: 4) {\n"
    "        wait(full[0]);\n"
    "        C[block.x * 64 +: 64][0 +: 32] = s + 1;\n"
    "    }\n"
    "    ensures C == A + 1;\n"
    "}\n";
static const char copies_not_text[] =
    "kernel two(i32 m, i32 n, const f32 *a, f32 *c) grid(cdiv(m, 64)) warps(4)\n"
    "{\n"
    "    global f32 A[m][n] = a, C[m][n] = c;\n"
    "    C[block.x * 64 +: 64][0 +: 32] = A[block.x * 64 +: 64][0 +: 32] + 2;\n"
    "    ensures C == A + 1;\n"
    "}\n";
static const char copies_table[] =
    "{\"family\":\"adds\",\"device\":\"x\",\"types\":\"\",\"sizes\":[\"m\",\"n\"],\"variants\":["
    "{\"kernel\":\"one\",\"tune\":\"\"},{\"kernel\":\"two\",\"tune\":\"\"}]}\n"
    "{\"at\":[16,32],\"us\":[1,2]}\n";

enum { LENGTH = 2048 };

struct starting {
    struct fixture *f;
    tw_family *family;
    bool on_gpu;
    float host[LENGTH], result[LENGTH];
    void *a, *c;
    tw_error error;
};

static void put_adds(void)
{
    put_file("one.tile", adds_text, "one", 1);
    put_file("two.tile", adds_text, "two", 2);
    put_file("adds.tile", "family adds { \"one.tile\"; \"two.tile\"; }\n");
    put_file("x.table", "%s", adds_table);
}

static void open_family(struct starting *x, void **state, const char *target)
{
    x->f = *state;
    x->error = tw_error_init();
    x->on_gpu = strcmp(target, "cpu") != 0;
    succeed(x->f, tw_family_from_file(x->f->ctx, file_path("adds.tile"), NULL, target, &x->family));
    succeed(x->f, tw_family_add_table(x->family, file_path("x.table"), "x"));
    for (int i = 0; i < LENGTH; i++)
        x->host[i] = (float)(i % 61);
    x->a = x->host;
    x->c = x->result;
    if (!x->on_gpu)
        return;
    succeed(x->f, tw_device_allocate(x->f->ctx, sizeof x->host, &x->a));
    succeed(x->f, tw_device_allocate(x->f->ctx, sizeof x->host, &x->c));
    succeed(x->f, tw_device_copy_in(x->f->ctx, x->a, x->host, sizeof x->host, NULL));
}

static void open_adds(struct starting *x, void **state, const char *target)
{
    put_adds();
    open_family(x, state, target);
}

static tw_status start(struct starting *x, int n)
{
    tw_value args[] = {tw_int(n), tw_pointer(x->a), tw_pointer(x->c)};
    return tw_family_start(x->family, args, 3, NULL, &x->error);
}

static void started(struct starting *x, tw_status status)
{
    if (status != TW_OK)
        fail_msg("%s: %s", tw_status_name(status), x->error.text);
}

static void not_started(struct starting *x, tw_status status, tw_status expected, const char *why)
{
    if (status != expected || x->error.status != expected || !strstr(x->error.text, why))
        fail_msg("got %s: %s\nexpected …%s…", tw_status_name(status), x->error.text, why);
}

/* Checks that the kernel that adds `added` ran with n elements. */
static void expect_added(struct starting *x, int n, int added)
{
    if (x->on_gpu)
        succeed(x->f, tw_device_copy_out(x->f->ctx, x->result, x->c, sizeof x->host, NULL));
    for (int i = 0; i < n; i++)
        if (x->result[i] != x->host[i] + (float)added)
            fail_msg("element %d of %d: %g added", i, n, (double)(x->result[i] - x->host[i]));
}

static void sizes_choose_the_kernel(struct starting *x)
{
    static const int sizes[] = {16, 256, 33, 1000, 1, 64, 2048, 16, 256, 1000};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        started(x, start(x, sizes[i]));
        expect_added(x, sizes[i], sizes[i] <= 64 ? 1 : 2);
    }
    tw_value args[] = {tw_int(16), tw_pointer(x->a), tw_pointer(x->c), tw_int(3)};
    started(x, tw_family_start(x->family, args, 4, NULL, &x->error));
    expect_added(x, 16, 3);
}

/* At sizes where the copy engine does not take a view, the next variant runs. */
static void views_without_a_map_choose_another(void **state)
{
    struct starting x;
    setenv("FAKE_CUDA_SM", "90", 1);
    put_file("one.tile", "%s", copies_text);
    put_file("two.tile", "%s", copies_not_text);
    put_file("adds.tile", "family adds { \"one.tile\"; \"two.tile\"; }\n");
    put_file("x.table", "%s", copies_table);
    open_family(&x, state, "cuda");
    static const int columns[] = {32, 30, 28, 31, 32};
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        tw_value args[] = {tw_int(17), tw_int(columns[i]), tw_pointer(x.a), tw_pointer(x.c)};
        started(&x, tw_family_start(x.family, args, 4, NULL, &x.error));
        expect_added(&x, 17 * columns[i], columns[i] % 4 == 0 ? 1 : 2);
    }
}

static void on_the_host(void **state)
{
    struct starting x;
    open_adds(&x, state, "cpu");
    sizes_choose_the_kernel(&x);
}

static void on_a_gpu(void **state)
{
    struct starting x;
    open_adds(&x, state, "cuda");
    sizes_choose_the_kernel(&x);
}

static void a_warm_start_is_one_call_of_the_driver(void **state)
{
    struct starting x;
    open_adds(&x, state, "cuda");
    started(&x, start(&x, 48));
    started(&x, start(&x, 480));
    long calls = driver.fake_cuda_calls(NULL), allocations = x.f->memory.calls;
    for (int i = 0; i < 4; i++)
        started(&x, start(&x, i % 2 ? 48 : 480));
    assert_int_equal(driver.fake_cuda_calls(NULL), calls + 4);
    assert_int_equal(x.f->memory.calls, allocations);
}

/* A program with endlessly new sizes neither grows nor compiles again. */
static void new_sizes_cost_no_memory(void **state)
{
    struct starting x;
    open_adds(&x, state, "cpu");
    for (int n = 1; n <= LENGTH; n++)
        started(&x, start(&x, n));
    long live = x.f->memory.live;
    for (int times = 2; times < 8; times++)
        for (int n = 1; n <= LENGTH; n += 3) {
            tw_value args[] = {tw_int(n), tw_pointer(x.a), tw_pointer(x.c), tw_int(times)};
            started(&x, tw_family_start(x.family, args, 4, NULL, &x.error));
        }
    assert_true(x.f->memory.live < live + (64 << 10)); /* of what one call needs meanwhile */
    sizes_choose_the_kernel(&x);
}

static void wrong_arguments_are_refused(void **state)
{
    struct starting x;
    open_adds(&x, state, "cpu");
    tw_value args[] = {tw_int(16), tw_pointer(x.a), tw_pointer(x.c), tw_int(1), tw_int(1)};
    for (int warm = 0; warm < 2; warm++) {
        not_started(&x, tw_family_start(x.family, args, 2, NULL, &x.error), TW_BAD_ARGUMENT,
                    "takes 4 arguments; 2 were given");
        not_started(&x, tw_family_start(x.family, args, 5, NULL, &x.error), TW_BAD_ARGUMENT,
                    "5 were given");
        args[0] = tw_float(16);
        not_started(&x, tw_family_start(x.family, args, 3, NULL, &x.error), TW_BAD_ARGUMENT,
                    "argument 1, `n` (i32): a float was given");
        args[0] = tw_int(16);
        args[1] = tw_int(1);
        not_started(&x, tw_family_start(x.family, args, 3, NULL, &x.error), TW_BAD_ARGUMENT,
                    "argument 2, `a` (f32 *)");
        args[1] = tw_pointer(NULL);
        not_started(&x, tw_family_start(x.family, args, 3, NULL, &x.error), TW_BAD_ARGUMENT,
                    "argument 2, `a` is NULL");
        args[1] = tw_pointer(x.a);
        started(&x, tw_family_start(x.family, args, 3, NULL, &x.error));
    }
    not_started(&x, tw_family_start(x.family, NULL, 3, NULL, &x.error), TW_BAD_ARGUMENT,
                "tw_family_start: `arguments` is NULL");
    not_started(&x, tw_family_ready(NULL, args, 3, NULL, &x.error), TW_BAD_ARGUMENT,
                "tw_family_ready: `f` is NULL");
    assert_int_equal(tw_family_start(x.family, args, 1, NULL, NULL), TW_BAD_ARGUMENT);
}

static void a_started_family_does_not_change(void **state)
{
    struct starting x;
    open_adds(&x, state, "cpu");
    tw_value args[] = {tw_int(16), tw_pointer(x.a), tw_pointer(x.c)};
    started(&x, tw_family_ready(x.family, args, 3, NULL, &x.error));
    refused(x.f, tw_family_type(x.family, "T", TW_F32), TW_UNSUPPORTED, "was started");
    refused(x.f, tw_family_add_table(x.family, file_path("x.table"), NULL), TW_UNSUPPORTED,
            "its types and results do not change any more");
    assert_true(x.family->has_view); /* a refused change costs the next start nothing */
    started(&x, start(&x, 16));
    expect_added(&x, 16, 1);
}

/* A kernel that the target refuses is left out; if all are, the error has the reason. */
static void refused_variants_are_left_out(void **state)
{
    struct starting x;
    char large[1000];
    put_adds();
    snprintf(large, sizeof large, adds_text, "one", 1);
    char *at = strstr(large, "    C[block");
    put_file("one.tile", "%.*s    shared f32 s[1 << 20];\n    s[:] = 0;\n    sync();\n%s",
             (int)(at - large), large, at);
    open_family(&x, state, "cuda");
    started(&x, start(&x, 16));
    expect_added(&x, 16, 2);
    started(&x, start(&x, 17));
    expect_added(&x, 17, 2);
    snprintf(large, sizeof large, adds_text, "two", 2);
    at = strstr(large, "    C[block");
    put_file("two.tile", "%.*s    shared f32 s[1 << 20];\n    s[:] = 0;\n    sync();\n%s",
             (int)(at - large), large, at);
    open_family(&x, state, "cuda");
    for (int i = 0; i < 2; i++)
        not_started(&x, start(&x, 16), TW_BAD_PROGRAM, "shared memory");
}

/* A value of a static with which a kernel does not compile leaves it out for that call alone. */
static void a_bad_static_spoils_no_other(void **state)
{
    struct starting x;
    put_adds();
    put_file("one.tile", "kernel one(static i32 n, const f32 *a, f32 *c, i32 times = 1)\n"
                         "    grid(1) warps(1)\n{\n    global f32 A[n] = a, C[n] = c;\n"
                         "    C[0 +: n] = A[0 +: n] + times;\n    ensures C == A + times;\n}\n");
    put_file("adds.tile", "family adds { \"one.tile\"; }\n");
    open_family(&x, state, "cpu");
    for (int i = 0; i < 2; i++) {
        assert_int_not_equal(start(&x, 0), TW_OK);
        x.error = tw_error_init();
        started(&x, start(&x, 16 + i));
        expect_added(&x, 16 + i, 1);
    }
}

static void starts_are_captured(void **state)
{
    struct starting x;
    void *stream, *graph, *exec;
    open_adds(&x, state, "cuda");
    tw_value args[] = {tw_int(16), tw_pointer(x.a), tw_pointer(x.c)};
    succeed(x.f, tw_stream_new(x.f->ctx, &stream));
    for (int known = 0; known < 2; known++) {
        assert_int_equal(driver.cuStreamBeginCapture_v2(stream, 0), 0);
        not_started(&x, tw_family_start(x.family, args, 3, stream, &x.error), TW_BAD_ARGUMENT,
                    "call tw_family_ready before the capture");
        assert_int_equal(driver.cuStreamEndCapture(stream, &graph), 0);
        driver.cuGraphDestroy(graph);
        started(&x, tw_family_ready(x.family, args, 3, stream, &x.error));
        assert_int_equal(driver.cuStreamBeginCapture_v2(stream, 0), 0);
        started(&x, tw_family_start(x.family, args, 3, stream, &x.error));
        assert_int_equal(driver.cuStreamEndCapture(stream, &graph), 0);
        assert_int_equal(driver.cuGraphInstantiateWithFlags(&exec, graph, 0), 0);
        assert_int_equal(driver.cuGraphLaunch(exec, stream), 0);
        expect_added(&x, known ? 256 : 16, known ? 2 : 1);
        driver.cuGraphExecDestroy(exec);
        driver.cuGraphDestroy(graph);
        args[0] = tw_int(256); /* of the other kernel */
    }
    assert_int_equal(driver.cuStreamBeginCapture_v2(stream, 0), 0);
    args[0] = tw_int(512); /* a new choice of a program that is ready */
    started(&x, tw_family_start(x.family, args, 3, stream, &x.error));
    assert_int_equal(driver.cuStreamEndCapture(stream, &graph), 0);
    driver.cuGraphDestroy(graph);
    tw_stream_free(x.f->ctx, stream);
}

/* --- threads --- */

enum { THREADS = 8 };

struct worker {
    pthread_t thread;
    tw_family *family;
    int number;
    const float *a;
    float c[LENGTH];
    tw_status status;
    tw_error error;
    bool wrong;
};

static void *work(void *user)
{
    struct worker *w = user;
    w->error = tw_error_init();
    for (int i = 0; i < 300 && w->status == TW_OK && !w->wrong; i++) {
        int n = 1 + (i * 37 + w->number * 11) % 700;
        tw_value args[] = {tw_int(n), tw_pointer(w->a), tw_pointer(w->c)};
        w->status = tw_family_start(w->family, args, 3, NULL, &w->error);
        float added = w->c[n - 1] - w->a[n - 1];
        w->wrong = w->status == TW_OK && added != 1 && added != 2;
    }
    return NULL;
}

/* With the usual memory, because that of the fixture is for one thread. */
static void threads_start_many_sizes(void **state)
{
    static struct worker workers[THREADS];
    static float a[LENGTH];
    (void)state;
    tw_context *ctx;
    tw_family *family;
    put_adds();
    assert_int_equal(tw_context_new(NULL, &ctx), TW_OK);
    assert_int_equal(tw_family_from_file(ctx, file_path("adds.tile"), NULL, NULL, &family), TW_OK);
    assert_int_equal(tw_family_add_table(family, file_path("x.table"), "x"), TW_OK);
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){.family = family, .number = i, .a = a};
        assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    tw_choice choice = tw_choice_init();
    tw_value args[] = {tw_int(256), tw_pointer(NULL), tw_pointer(NULL)};
    for (int i = 0; i < 100; i++) /* and the owner's thread goes on */
        assert_int_equal(tw_family_choose(family, args, 3, &choice, NULL), TW_OK);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(workers[i].thread, NULL);
        if (workers[i].status != TW_OK || workers[i].wrong)
            fail_msg("thread %d: %s", i, workers[i].error.text);
    }
    tw_context_free(ctx);
}

/* Holds the thread that compiles `one`, once its entry is made, until another start is done. */
struct gate {
    tw_family *family;
    void *a, *c;
    atomic_bool compiles, other_is_done, waited_in_vain;
    tw_status status;
};
static _Thread_local bool is_held;

static void hold(void *user, const char *doing, int64_t done, int64_t all)
{
    struct gate *g = user;
    (void)doing, (void)done, (void)all;
    if (!is_held || !g->family->variants.data[0]->entry || atomic_load(&g->compiles))
        return;
    atomic_store(&g->compiles, true);
    for (int i = 0; i < 20000 && !atomic_load(&g->other_is_done); i++)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    atomic_store(&g->waited_in_vain, !atomic_load(&g->other_is_done));
}

static void *start_held(void *user)
{
    struct gate *g = user;
    tw_value args[] = {tw_int(16), tw_pointer(g->a), tw_pointer(g->c)};
    is_held = true;
    g->status = tw_family_start(g->family, args, 3, NULL, NULL);
    atomic_store(&g->compiles, true); /* also if it did not come to that */
    return NULL;
}

/* While one thread compiles a kernel, another starts new sizes of a kernel that is compiled. */
static void a_compilation_holds_up_no_other_kernel(void **state)
{
    static float a[LENGTH], c[LENGTH], d[LENGTH];
    struct gate g = {.a = a, .c = c};
    tw_config config = {.size = sizeof config, .threads = 1, .progress = hold, .progress_user = &g};
    tw_context *ctx;
    pthread_t slow;
    (void)state;
    put_adds();
    assert_int_equal(tw_context_new(&config, &ctx), TW_OK);
    assert_int_equal(tw_family_from_file(ctx, file_path("adds.tile"), NULL, NULL, &g.family),
                     TW_OK);
    assert_int_equal(tw_family_add_table(g.family, file_path("x.table"), "x"), TW_OK);
    tw_value args[] = {tw_int(256), tw_pointer(a), tw_pointer(d)};
    assert_int_equal(tw_family_start(g.family, args, 3, NULL, NULL), TW_OK);
    assert_int_equal(pthread_create(&slow, NULL, start_held, &g), 0);
    while (!atomic_load(&g.compiles))
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    args[0] = tw_int(512);
    assert_int_equal(tw_family_start(g.family, args, 3, NULL, NULL), TW_OK);
    atomic_store(&g.other_is_done, true);
    pthread_join(slow, NULL);
    assert_int_equal(g.status, TW_OK);
    assert_false(g.waited_in_vain);
    assert_true(c[0] == 1 && d[511] == 2);
    tw_context_free(ctx);
}

/* --- the cache --- */

struct cache_test {
    struct family_cache *cache;
    atomic_bool done;
    atomic_int wrong;
};

/* The entry that belongs to some sizes, in this test. */
static tw_entry *entry_of(int64_t m, int64_t n)
{
    return (tw_entry *)(uintptr_t)(16 * (uint64_t)(m * 1000 + n + 1));
}

static void *read_cache(void *user)
{
    struct cache_test *t = user;
    for (int64_t i = 0; !atomic_load(&t->done); i++) {
        int64_t sizes[] = {i % 100, i % 97};
        tw_entry *found = family_cache_find(t->cache, sizes);
        if (found && found != entry_of(sizes[0], sizes[1]))
            atomic_fetch_add(&t->wrong, 1);
    }
    return NULL;
}

/* Readers never see an entry of other sizes while places are overwritten. */
static void a_cache_is_read_while_it_is_written(void **state)
{
    (void)state;
    struct cache_test t = {.cache = calloc(1, family_cache_bytes(2))};
    pthread_t readers[2];
    t.cache->size_count = 2;
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&readers[i], NULL, read_cache, &t), 0);
    for (int64_t i = 0; i < 60000; i++) {
        int64_t sizes[] = {i * 7 % 100, i * 3 % 97};
        family_cache_put(t.cache, sizes, entry_of(sizes[0], sizes[1]));
        assert_ptr_equal(family_cache_find(t.cache, sizes), entry_of(sizes[0], sizes[1]));
    }
    atomic_store(&t.done, true);
    for (int i = 0; i < 2; i++)
        pthread_join(readers[i], NULL);
    assert_int_equal(atomic_load(&t.wrong), 0);
    free(t.cache);
}

/* Nearly all of 2,048 sizes stay: few sets of four places get more of them. */
static void a_cache_keeps_thousands_of_sizes(void **state)
{
    (void)state;
    struct family_cache *c = calloc(1, family_cache_bytes(3));
    int kept = 0;
    c->size_count = 3;
    for (int pass = 0; pass < 2; pass++)
        for (int64_t m = 0; m < 8; m++)
            for (int64_t n = 0; n < 16; n++)
                for (int64_t k = 0; k < 16; k++) {
                    int64_t sizes[] = {16 << m, 128 * n, 4096 + 512 * k};
                    if (pass == 0)
                        family_cache_put(c, sizes, entry_of(m, 16 * n + k));
                    else
                        kept += family_cache_find(c, sizes) == entry_of(m, 16 * n + k);
                }
    assert_true(kept > 1850);
    free(c);
}

/* --- memory --- */

static void memory_may_run_out(void **state)
{
    struct starting x;
    put_adds();
    tw_status status = TW_NO_MEMORY;
    for (long at = 0; status != TW_OK; at++) {
        open_family(&x, state, "cpu");
        x.f->memory.calls = 0;
        x.f->memory.fail_from = at;
        status = start(&x, 1000);
        x.f->memory.fail_from = -1;
        if (status != TW_OK)
            not_started(&x, status, TW_NO_MEMORY, "out of memory");
        started(&x, start(&x, 1000));
        expect_added(&x, 1000, 2);
        tw_family_free(x.family);
    }
}

/* --- failures --- */

/* A call of the driver that fails leaves its variant out, or is reported; the next start works. */
static void failing_calls_of_the_driver(void **state)
{
    struct starting x;
    put_adds();
    const char *failed = "";
    for (long at = 1; failed; at++) {
        open_family(&x, state, "cuda");
        x.error = tw_error_init();
        driver.fake_cuda_fail("*", at, 1);
        tw_status status = start(&x, 16);
        failed = driver.fake_cuda_failed();
        driver.fake_cuda_fail("", 0, 0);
        if (status != TW_OK)
            not_started(&x, status, status, "CUDA_ERROR_INVALID_VALUE");
        started(&x, start(&x, 16));
        succeed(x.f, tw_device_copy_out(x.f->ctx, x.result, x.c, 16 * sizeof *x.result, NULL));
        float added = x.result[3] - x.host[3];
        assert_true(added == 1 || added == 2);
        tw_family_free(x.family);
        tw_device_free(x.f->ctx, x.a);
        tw_device_free(x.f->ctx, x.c);
    }
}

static void without_a_gpu_nothing_starts(void **state)
{
    struct starting x;
    put_adds();
    setenv("TILEWRIGHT_CUDA_DRIVER", "/no/such/library", 1);
    x.f = *state;
    tw_family *family;
    refused(x.f, tw_family_from_file(x.f->ctx, file_path("adds.tile"), NULL, "cuda", &family),
            TW_UNSUPPORTED, "no GPU to run on");
    succeed(x.f, tw_family_from_file(x.f->ctx, file_path("adds.tile"), NULL, "sm_90", &family));
    tw_value args[] = {tw_int(16), tw_pointer(&x), tw_pointer(&x)};
    x.error = tw_error_init();
    for (int i = 0; i < 2; i++)
        not_started(&x, tw_family_start(family, args, 3, NULL, &x.error), TW_UNSUPPORTED,
                    "no GPU to run on");
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

#define HOST(name) cmocka_unit_test_setup_teardown(name, family_setup, family_teardown)
#define GPU(name) cmocka_unit_test_setup_teardown(name, gpu_setup, gpu_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        HOST(on_the_host),
        GPU(on_a_gpu),
        GPU(views_without_a_map_choose_another),
        GPU(a_warm_start_is_one_call_of_the_driver),
        HOST(new_sizes_cost_no_memory),
        HOST(wrong_arguments_are_refused),
        HOST(a_started_family_does_not_change),
        GPU(refused_variants_are_left_out),
        HOST(a_bad_static_spoils_no_other),
        GPU(starts_are_captured),
        GPU(failing_calls_of_the_driver),
        HOST(without_a_gpu_nothing_starts),
        HOST(threads_start_many_sizes),
        HOST(a_compilation_holds_up_no_other_kernel),
        HOST(a_cache_is_read_while_it_is_written),
        HOST(a_cache_keeps_thousands_of_sizes),
        HOST(memory_may_run_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
