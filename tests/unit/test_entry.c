/* Entries: the variant that a start takes, the calls that it costs, the arguments that it
 * refuses; from many threads. */
#include "cuda_helper.h"

#include "api/entry_table.h"
#include "tilewright_entry.h"
#include "tilewright_gpu.h"
#include "tilewright_tuning.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

static const char scale_text[] =
    "type T = {f32, f16};\n"
    "kernel scale(i32 n, f32 by, const T *a, T *c) grid(cdiv(n, 64)) warps(1)\n"
    "{\n"
    "    global T A[n] = a, C[n] = c;\n"
    "    C[block.x * 64 +: 64] = (T) (A[block.x * 64 +: 64] * by);\n"
    "}\n";

enum { LENGTH = 4096 };

struct entry_fixture {
    struct fixture *f;
    tw_entry *entry;
    char *a, *c; /* on the device, LENGTH floats each */
    float host[LENGTH];
    tw_error error; /* error of the latest start that failed */
};

static void open_entry(struct entry_fixture *x, struct fixture *f, const char *text)
{
    void *address;
    x->f = f;
    x->error = tw_error_init();
    load(f, text);
    aim_at_gpu(f);
    succeed(f, tw_entry_new(f->launch, &x->entry));
    for (int i = 0; i < LENGTH; i++)
        x->host[i] = (float)(i % 61) - 30;
    succeed(f, tw_device_allocate(f->ctx, sizeof x->host, &address));
    x->a = address;
    succeed(f, tw_device_allocate(f->ctx, sizeof x->host, &address));
    x->c = address;
    succeed(f, tw_device_copy_in(f->ctx, x->a, x->host, sizeof x->host, NULL));
}

static void started(struct entry_fixture *x, tw_status status)
{
    if (status != TW_OK)
        fail_msg("%s: %s", tw_status_name(status), x->error.text);
}

static void not_started(struct entry_fixture *x, tw_status status, tw_status expected,
                        const char *why)
{
    if (status != expected || x->error.status != expected || !strstr(x->error.text, why))
        fail_msg("got %s: %s\nexpected …%s…", tw_status_name(status), x->error.text, why);
}

static tw_status scale(struct entry_fixture *x, int n, float by, int offset)
{
    tw_value args[] = {tw_int(n), tw_float((double)by), tw_pointer(x->a + 4 * offset),
                       tw_pointer(x->c + 4 * offset)};
    return tw_entry_start(x->entry, args, 4, NULL, &x->error);
}

static void expect_scaled(struct entry_fixture *x, int n, float by, int offset)
{
    float c[LENGTH];
    succeed(x->f, tw_device_copy_out(x->f->ctx, c, x->c, sizeof c, NULL));
    for (int i = 0; i < n; i++)
        assert_true(c[offset + i] == x->host[offset + i] * by);
}

static void a_start_is_one_call_of_the_driver(void **state)
{
    struct entry_fixture x;
    open_entry(&x, *state, scale_text);
    started(&x, scale(&x, 100, 2, 0));
    expect_scaled(&x, 100, 2, 0);
    long calls = driver.fake_cuda_calls(NULL), launches = driver.fake_cuda_calls("cuLaunchKernel");
    long allocations = x.f->memory.calls;
    started(&x, scale(&x, 1001, 3, 0));
    assert_int_equal(driver.fake_cuda_calls(NULL), calls + 1);
    assert_int_equal(driver.fake_cuda_calls("cuLaunchKernel"), launches + 1);
    assert_int_equal(x.f->memory.calls, allocations);
    expect_scaled(&x, 1001, 3, 0);
    started(&x, scale(&x, 64, 5, 0));
    expect_scaled(&x, 64, 5, 0);
    calls = driver.fake_cuda_calls(NULL);
    started(&x, scale(&x, 0, 3, 0)); /* no blocks: nothing to launch */
    assert_int_equal(driver.fake_cuda_calls(NULL), calls);
}

/* Multiples of 16, multiples of 8 and addresses of less than 16 bytes get variants of their own, and correct
 * ones. */
static void facts_choose_the_variant(void **state)
{
    struct entry_fixture x;
    open_entry(&x, *state, scale_text);
    const struct {
        int n, offset, variants;
    } starts[] = {{100, 0, 1}, {33, 0, 1},   {160, 0, 2}, {320, 0, 2}, {100, 1, 3},
                  {160, 3, 4}, {1000, 4, 5}, {999, 2, 5}, {48, 1, 5},  {40, 4, 5}};
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
        started(&x, scale(&x, starts[i].n, (float)i + 1, starts[i].offset));
        expect_scaled(&x, starts[i].n, (float)i + 1, starts[i].offset);
        assert_int_equal(tw_entry_variants(x.entry), starts[i].variants);
    }
}

static void statics_choose_the_variant(void **state)
{
    struct fixture *f = *state;
    struct entry_fixture x;
    open_entry(&x, f, api_matmul);
    tw_value args[] = {tw_int(M),       tw_int(N),       tw_int(K),
                       tw_pointer(x.a), tw_pointer(x.a), tw_pointer(x.c)};
    started(&x, tw_entry_start(x.entry, args, 6, NULL, &x.error));
    args[0] = tw_int(7);
    started(&x, tw_entry_start(x.entry, args, 6, NULL, &x.error));
    assert_int_equal(tw_entry_variants(x.entry), 1);
    args[1] = tw_int(9);
    started(&x, tw_entry_start(x.entry, args, 6, NULL, &x.error));
    assert_int_equal(tw_entry_variants(x.entry), 2);
    args[2] = tw_int(3);
    started(&x, tw_entry_start(x.entry, args, 6, NULL, &x.error));
    assert_int_equal(tw_entry_variants(x.entry), 3);
    float c[7 * 9];
    succeed(f, tw_device_copy_out(f->ctx, c, x.c, sizeof c, NULL));
    for (int i = 0; i < 7; i++)
        for (int j = 0; j < 9; j++) {
            float want = 0;
            for (int p = 0; p < 3; p++)
                want += x.host[i * 3 + p] * x.host[p * 9 + j];
            assert_true(c[i * 9 + j] == want);
        }
}

/* Types and tuned values are those that the launch had when the entry was made; the launch and
 * its module may be freed. */
static void an_entry_outlives_its_launch(void **state)
{
    struct fixture *f = *state;
    struct entry_fixture x = {.error = tw_error_init()};
    load(f, scale_text);
    aim_at_gpu(f);
    succeed(f, tw_launch_type(f->launch, "T", TW_F16));
    succeed(f, tw_entry_new(f->launch, &x.entry));
    tw_launch_free(f->launch);
    tw_module_free(f->module);
    void *memory;
    unsigned short halves[64], out[64];
    for (int i = 0; i < 64; i++)
        tw_dtype_store(TW_F16, &halves[i], i);
    succeed(f, tw_device_allocate(f->ctx, sizeof halves, &memory));
    succeed(f, tw_device_copy_in(f->ctx, memory, halves, sizeof halves, NULL));
    tw_value args[] = {tw_int(50), tw_float(0.5), tw_pointer(memory), tw_pointer(memory)};
    started(&x, tw_entry_start(x.entry, args, 4, NULL, &x.error));
    succeed(f, tw_device_copy_out(f->ctx, out, memory, sizeof out, NULL));
    for (int i = 0; i < 64; i++)
        assert_true(tw_dtype_load(TW_F16, &out[i]) == (i < 50 ? i * 0.5 : i));
    tw_entry_free(x.entry); /* before its context or with it */
}

static void what_is_wrong_is_named(void **state)
{
    struct fixture *f = *state;
    struct entry_fixture x;
    open_entry(&x, f, scale_text);
    tw_value good[] = {tw_int(50), tw_float(2), tw_pointer(x.a), tw_pointer(x.c)};
    tw_value args[4];
    for (int pass = 0; pass < 2; pass++) { /* before the variant exists, and after */
        not_started(&x, tw_entry_start(x.entry, good, 3, NULL, &x.error), TW_BAD_ARGUMENT,
                    "kernel `scale` takes 4 arguments (n, by, a, c); 3 were given");
        memcpy(args, good, sizeof args);
        args[1] = tw_int(2);
        not_started(&x, tw_entry_start(x.entry, args, 4, NULL, &x.error), TW_BAD_ARGUMENT,
                    "argument 2, `by` (f32): an integer was given, expected a float");
        args[1] = tw_float(1e300);
        not_started(&x, tw_entry_start(x.entry, args, 4, NULL, &x.error), TW_BAD_ARGUMENT,
                    "`by` = 1e+300 is beyond the range of f32");
        memcpy(args, good, sizeof args);
        args[2] = tw_int(0);
        not_started(&x, tw_entry_start(x.entry, args, 4, NULL, &x.error), TW_BAD_ARGUMENT,
                    "argument 3, `a` (f32 *): an integer was given, expected an address on "
                    "the device");
        args[2].kind = (tw_value_kind)0;
        not_started(&x, tw_entry_start(x.entry, args, 4, NULL, &x.error), TW_BAD_ARGUMENT,
                    "a value without a kind");
        args[2] = tw_pointer(x.a + 2);
        not_started(&x, tw_entry_start(x.entry, args, 4, NULL, &x.error), TW_BAD_ARGUMENT,
                    "is not a multiple of 4");
        args[2] = tw_pointer(NULL);
        not_started(&x, tw_entry_start(x.entry, args, 4, NULL, &x.error), TW_BAD_ARGUMENT,
                    "argument 3, `a` is NULL, but view `A` reaches over 50 elements");
        args[0] = tw_int(0);
        started(&x, tw_entry_start(x.entry, args, 4, NULL, &x.error)); /* it has no elements */
        memcpy(args, good, sizeof args);
        args[0] = tw_int((int64_t)1 << 32);
        not_started(&x, tw_entry_start(x.entry, args, 4, NULL, &x.error), TW_BAD_ARGUMENT,
                    "`n` = 4294967296 does not fit i32");
        args[0] = tw_int(-5);
        not_started(&x, tw_entry_start(x.entry, args, 4, NULL, &x.error), TW_BAD_ARGUMENT,
                    "-5 elements long");
        started(&x, tw_entry_start(x.entry, good, 4, NULL, &x.error));
    }
    assert_int_equal(tw_entry_start(NULL, good, 4, NULL, NULL), TW_BAD_ARGUMENT);
    x.error = tw_error_init();
    not_started(&x, tw_entry_start(NULL, good, 4, NULL, &x.error), TW_BAD_ARGUMENT, "`e` is NULL");
    assert_int_equal(tw_entry_start(x.entry, good, 3, NULL, NULL), TW_BAD_ARGUMENT);
    tw_error none = {0};
    assert_int_equal(tw_entry_start(x.entry, good, 4, NULL, &none), TW_OK); /* is not filled */
    assert_int_equal(tw_entry_start(x.entry, good, 3, NULL, &none), TW_BAD_ARGUMENT);
    assert_true(none.status == TW_OK && none.size == 0);
    assert_int_equal(tw_entry_start(x.entry, NULL, 4, NULL, &x.error), TW_BAD_ARGUMENT);
    refused(f, tw_entry_new(f->launch, NULL), TW_BAD_ARGUMENT, "`out` is NULL");
}

static const char columns_text[] =
    "kernel columns(static bool more, static i32 n, i32 m, const f32 *a, f32 *c) "
    "grid(1, n, m) warps(1)\n"
    "{\n"
    "    global f32 A[n] = a, C[n] = c;\n"
    "    C[block.y] = more ? A[block.y] : 1.0;\n"
    "}\n";

static void a_grid_is_too_large_or_negative(void **state)
{
    struct entry_fixture x;
    open_entry(&x, *state, columns_text);
    tw_value args[] = {tw_int(0), tw_int(7), tw_int(1), tw_pointer(x.a), tw_pointer(x.c)};
    for (int s = 0; s < 2; s++) /* static at compile time, and given at the start */
        for (int pass = 0; pass < 2; pass++) {
            args[1] = tw_int(s ? 7 : 65536);
            args[2] = tw_int(s ? 65536 : 1);
            not_started(&x, tw_entry_start(x.entry, args, 5, NULL, &x.error), TW_BAD_ARGUMENT,
                        "a grid of 65536 blocks along");
            args[1] = tw_int(7);
            args[2] = tw_int(1);
            started(&x, tw_entry_start(x.entry, args, 5, NULL, &x.error));
        }
    args[3] = tw_pointer(NULL);
    args[2] = tw_int(0); /* no blocks */
    started(&x, tw_entry_start(x.entry, args, 5, NULL, &x.error));
    args[2] = tw_int(-1);
    not_started(&x, tw_entry_start(x.entry, args, 5, NULL, &x.error), TW_BAD_ARGUMENT,
                "the grid of columns has -1 blocks along z");
    args[2] = tw_int(1); /* `a` is not used if `more` is false */
    started(&x, tw_entry_start(x.entry, args, 5, NULL, &x.error));
    args[0] = tw_int(1);
    not_started(&x, tw_entry_start(x.entry, args, 5, NULL, &x.error), TW_BAD_ARGUMENT,
                "`a` is NULL");
}

static const char bits_text[] =
    "kernel bits(i32 a, i32 b, i32 c, i32 d, i32 e, i32 f, i32 g, static i32 s, i32 *out) grid(1) "
    "warps(1)\n"
    "{\n"
    "    global i32 Out[1] = out;\n"
    "    Out[0] = a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + s;\n"
    "}\n";

static void start_bits(struct entry_fixture *x, int facts, int s)
{
    tw_value args[9];
    int32_t want = s, got;
    for (int i = 0; i < 7; i++) {
        int value = (facts >> i & 1) ? 16 * (i + 1) : 5 * i + 1;
        value += value % 16 == 0 && !(facts >> i & 1);
        want += (i + 1) * value;
        args[i] = tw_int(value);
    }
    args[7] = tw_int(s);
    args[8] = tw_pointer(x->c);
    started(x, tw_entry_start(x->entry, args, 9, NULL, &x->error));
    succeed(x->f, tw_device_copy_out(x->f->ctx, &got, x->c, sizeof got, NULL));
    assert_int_equal(got, want);
}

/* 128 combinations of facts: 64 have variants of their own, the others share one. Another value
 * of the static adds one more. */
static void variants_have_a_limit(void **state)
{
    struct entry_fixture x;
    open_entry(&x, *state, bits_text);
    for (int facts = 127; facts > 127 - 64; facts--)
        start_bits(&x, facts, 1);
    assert_int_equal(tw_entry_variants(x.entry), 64);
    for (int pass = 0; pass < 2; pass++)
        for (int facts = 0; facts < 128; facts++)
            start_bits(&x, facts, 1);
    assert_int_equal(tw_entry_variants(x.entry), 65);
    for (int facts = 0; facts < 128; facts += 9)
        start_bits(&x, facts, 2);
    assert_int_equal(tw_entry_variants(x.entry), 66);
    long calls = driver.fake_cuda_calls(NULL);
    start_bits(&x, 77, 2);
    assert_int_equal(driver.fake_cuda_calls(NULL) - calls, 4); /* a launch, three for the copy */
}

/* The variant without facts may be among the first 64. */
static void the_variant_without_facts_is_made_once(void **state)
{
    struct entry_fixture x;
    open_entry(&x, *state, bits_text);
    x.c += 4; /* an address not divisible by 16 either */
    start_bits(&x, 0, 1);
    x.c -= 4;
    for (int facts = 127; facts > 127 - 63; facts--)
        start_bits(&x, facts, 1);
    assert_int_equal(tw_entry_variants(x.entry), 64);
    for (int facts = 0; facts < 128; facts++)
        start_bits(&x, facts, 1);
    assert_int_equal(tw_entry_variants(x.entry), 64);
}

static void the_table_is_full_at_last(void **state)
{
    (void)state;
    static struct entry_table table;
    static struct entry_item items[ENTRY_VARIANTS + 1];
    static struct entry_key keys[ENTRY_VARIANTS + 1];
    for (int i = 0; i <= ENTRY_VARIANTS; i++) {
        keys[i] = (struct entry_key){.words = 2, .word = {(uint64_t)i % 4, (uint64_t)i / 4}};
        items[i].word = keys[i].word;
        assert_null(entry_find(&table, &keys[i]));
        assert_int_equal(entry_put(&table, &items[i], &keys[i]), i < ENTRY_VARIANTS);
    }
    for (int i = 0; i < ENTRY_VARIANTS; i++)
        assert_ptr_equal(entry_find(&table, &keys[i]), &items[i]);
    assert_null(entry_find(&table, &keys[ENTRY_VARIANTS]));
}

/* --- threads --- */

enum { THREADS = 8, STARTS = 40 };

struct worker {
    struct entry_fixture *x;
    int number;
    tw_status status;
    tw_error error;
    pthread_t thread;
};

/* Uses a part of the arrays of its own, with sizes and alignments of all kinds. */
static void *work(void *user)
{
    struct worker *w = user;
    char *a = w->x->a + w->number * 2048, *c = w->x->c + w->number * 2048;
    for (int i = 0; i < STARTS && w->status == TW_OK; i++) {
        int n = 1 + (i * 37 + w->number * 11) % 300, shift = (i + w->number) % 5;
        tw_value args[] = {tw_int(i == STARTS - 1 ? 300 : n), tw_float(2),
                           tw_pointer(a + 4 * shift), tw_pointer(c + 4 * shift)};
        w->status = tw_entry_start(w->x->entry, args, 4, NULL, &w->error);
    }
    return NULL;
}

static void threads_start_at_the_same_time(void **state)
{
    struct entry_fixture x;
    struct worker workers[THREADS];
    open_entry(&x, *state, scale_text);
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){.x = &x, .number = i, .error = tw_error_init()};
        assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(workers[i].thread, NULL);
    for (int i = 0; i < THREADS; i++) {
        started(&x, workers[i].status);
        expect_scaled(&x, 300, 2, i * 512 + (STARTS - 1 + i) % 5);
    }
    assert_int_equal(tw_entry_variants(x.entry), 6); /* n % 16, n % 8, address % 16 */
}

/* Starts with too many arguments; the worker's number is the count of extra ones. */
static void *start_wrongly(void *user)
{
    struct worker *w = user;
    tw_value args[4 + THREADS + 1] = {{0}};
    for (int i = 0; i < 100 && !w->status; i++) {
        char why[32];
        int count = 5 + w->number;
        snprintf(why, sizeof why, "; %d were given", count);
        bool is_own = tw_entry_start(w->x->entry, args, count, NULL, &w->error) &&
                      strstr(w->error.text, why) && w->error.code == TW_CODE_ARGUMENT &&
                      strcmp(w->error.file, "test.tile") == 0 && w->error.line == 2;
        w->status = is_own ? TW_OK : TW_FAULT;
    }
    return NULL;
}

static void each_thread_has_its_own_error(void **state)
{
    struct entry_fixture x;
    struct worker workers[THREADS];
    open_entry(&x, *state, scale_text);
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){.x = &x, .number = i, .error = tw_error_init()};
        assert_int_equal(pthread_create(&workers[i].thread, NULL, start_wrongly, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(workers[i].thread, NULL);
    for (int i = 0; i < THREADS; i++)
        if (workers[i].status)
            fail_msg("%s:%d: code %d: %s", workers[i].error.file, workers[i].error.line,
                     (int)workers[i].error.code, workers[i].error.text);
}

/* --- work that the first start does --- */

static void workspace_is_provided(void **state)
{
    struct entry_fixture x;
    void *stream;
    float want = 0, got;
    open_entry(&x, *state, cuda_total);
    for (int i = 0; i < 64; i++)
        want += x.host[i];
    tw_value args[] = {tw_int(64), tw_pointer(x.a), tw_pointer(x.c)};
    succeed(x.f, tw_stream_new(x.f->ctx, &stream));
    for (int i = 0; i < 3; i++) {
        started(&x, tw_entry_start(x.entry, args, 3, i == 1 ? stream : NULL, &x.error));
        succeed(x.f, tw_stream_wait(x.f->ctx, stream));
        succeed(x.f, tw_device_copy_out(x.f->ctx, &got, x.c, sizeof got, NULL));
        assert_true(got == want);
        succeed(x.f, tw_device_fill(x.f->ctx, x.c, 0, sizeof got, NULL));
    }
    assert_int_equal(tw_entry_variants(x.entry), 1);
}

static void needs_are_known(void **state)
{
    struct entry_fixture x;
    open_entry(&x, *state, cuda_total);
    tw_value args[] = {tw_int(64), tw_pointer(x.a), tw_pointer(x.c)};
    tw_occupancy o = tw_occupancy_init();
    tw_occupancy small = {.size = 1};
    int64_t bytes = 0;
    started(&x, tw_entry_occupancy(x.entry, args, 3, NULL, &o, &bytes, &x.error));
    assert_true(o.threads > 0 && o.blocks > 0 && o.registers > 0 && bytes > 0);
    assert_int_equal(tw_entry_variants(x.entry), 1);
    not_started(&x, tw_entry_occupancy(x.entry, args, 2, NULL, &o, &bytes, &x.error),
                TW_BAD_ARGUMENT, "2 were given");
    not_started(&x, tw_entry_occupancy(x.entry, args, 3, NULL, NULL, &bytes, &x.error),
                TW_BAD_ARGUMENT, "`out` is NULL");
    not_started(&x, tw_entry_occupancy(x.entry, args, 3, NULL, &o, NULL, &x.error), TW_BAD_ARGUMENT,
                "`workspace_bytes` is NULL");
    not_started(&x, tw_entry_occupancy(NULL, args, 3, NULL, &o, &bytes, &x.error), TW_BAD_ARGUMENT,
                "`e` is NULL");
    assert_int_equal(tw_entry_occupancy(x.entry, args, 3, NULL, &small, &bytes, NULL),
                     TW_BAD_ARGUMENT);
}

static void *start_total(void *user)
{
    struct worker *w = user;
    tw_value args[] = {tw_int(64), tw_pointer(w->x->a), tw_pointer(w->x->c + 4 * w->number)};
    void *own = (void *)(uintptr_t)2; /* CU_STREAM_PER_THREAD */
    for (int i = 0; i < 2 && w->status == TW_OK; i++)
        w->status = tw_entry_start(w->x->entry, args, 3, own, &w->error);
    return NULL;
}

/* Each thread has a stream of its own, though all have one name. */
static void threads_have_workspace_each(void **state)
{
    struct entry_fixture x;
    open_entry(&x, *state, cuda_total);
    struct worker here = {.x = &x, .number = 0, .error = tw_error_init()};
    struct worker there = {.x = &x, .number = 1, .error = tw_error_init()};
    long before = driver.fake_cuda_calls("cuMemAlloc_v2");
    start_total(&here);
    assert_int_equal(driver.fake_cuda_calls("cuMemAlloc_v2") - before, 2); /* one is the ticket */
    assert_int_equal(pthread_create(&there.thread, NULL, start_total, &there), 0);
    pthread_join(there.thread, NULL);
    started(&x, here.status);
    started(&x, there.status);
    assert_int_equal(driver.fake_cuda_calls("cuMemAlloc_v2") - before, 4);
}

/* A new variant cannot be compiled during a capture; a ready one can be captured and replayed. */
static void capture_after_ready(struct entry_fixture *x, const tw_value *args, int count)
{
    void *stream, *graph, *replay;
    succeed(x->f, tw_stream_new(x->f->ctx, &stream));
    driver.cuStreamBeginCapture_v2(stream, 0);
    not_started(x, tw_entry_start(x->entry, args, count, stream, &x->error), TW_BAD_ARGUMENT,
                "call tw_entry_ready before the capture");
    assert_int_equal(driver.cuStreamEndCapture(stream, &graph), 0);
    driver.cuGraphDestroy(graph);
    started(x, tw_entry_ready(x->entry, args, count, stream, &x->error));
    assert_int_equal(driver.cuStreamBeginCapture_v2(stream, 0), 0);
    started(x, tw_entry_start(x->entry, args, count, stream, &x->error));
    assert_int_equal(driver.cuStreamEndCapture(stream, &graph), 0);
    assert_int_equal(driver.cuGraphInstantiateWithFlags(&replay, graph, 0), 0);
    assert_int_equal(driver.cuGraphLaunch(replay, stream), 0);
    succeed(x->f, tw_stream_wait(x->f->ctx, stream));
    driver.cuGraphExecDestroy(replay);
    driver.cuGraphDestroy(graph);
    succeed(x->f, tw_stream_free(x->f->ctx, stream));
}

static void starts_are_captured(void **state)
{
    struct entry_fixture x;
    open_entry(&x, *state, scale_text);
    tw_value args[] = {tw_int(50), tw_float(2), tw_pointer(x.a), tw_pointer(x.c)};
    capture_after_ready(&x, args, 4);
    expect_scaled(&x, 50, 2, 0);
}

static void workspace_is_captured(void **state)
{
    struct entry_fixture x;
    open_entry(&x, *state, cuda_total);
    tw_value args[] = {tw_int(64), tw_pointer(x.a), tw_pointer(x.c)};
    capture_after_ready(&x, args, 3);
}

/* Threads whose current context is that of another device, or none. */
static void other_contexts_are_left_alone(void **state)
{
    struct entry_fixture x;
    void *other, *current;
    setenv("FAKE_CUDA_DEVICES", "2", 1);
    open_entry(&x, *state, scale_text);
    started(&x, scale(&x, 100, 2, 0));
    assert_int_equal(driver.cuDevicePrimaryCtxRetain(&other, 1), 0);
    driver.cuCtxSetCurrent(other);
    started(&x, scale(&x, 200, 3, 0));
    driver.cuCtxGetCurrent(&current);
    assert_ptr_equal(current, other);
    driver.cuCtxSetCurrent(NULL);
    started(&x, scale(&x, 200, 3, 0));
    expect_scaled(&x, 200, 3, 0);
    driver.cuDevicePrimaryCtxRelease_v2(1);
}

/* --- failures --- */

static void every_failing_call_is_reported(void **state)
{
    struct entry_fixture x;
    open_entry(&x, *state, scale_text);
    const char *failed = "";
    for (long at = 1; failed; at++) {
        tw_entry_free(x.entry);
        succeed(x.f, tw_entry_new(x.f->launch, &x.entry));
        driver.fake_cuda_fail("*", at, 1);
        tw_status status = scale(&x, 100, 2, 0);
        failed = driver.fake_cuda_failed();
        driver.fake_cuda_fail("", 0, 0);
        if (status != TW_OK)
            not_started(&x, status, status, "CUDA_ERROR_INVALID_VALUE");
        else if (failed) /* restoring the mode afterwards: its error is not reported */
            assert_string_equal(failed, "cuThreadExchangeStreamCaptureMode");
        started(&x, scale(&x, 100, 2, 0));
        expect_scaled(&x, 100, 2, 0);
    }
}

/* Derived parameters of other integer types than i32 and i64, also above INT64_MAX. */
static void derived_of_all_types(void **state)
{
    static const char text[] =
        "kernel every(i32 n, u64 all = (u64) n << 58, u64 half = all / 2, u32 d = (u32) n * 2,\n"
        "             i8 small = (i8) n, const f32 *a, f32 *c)\n"
        "    grid(cdiv(d, 128)) warps(1)\n"
        "{\n"
        "    global f32 A[n] = a, C[n] = c;\n"
        "    f32 by = (f32) (half >> 57) - (f32) small + (f32) (all >> 63) + 1;\n"
        "    C[block.x * 64 +: 64] = A[block.x * 64 +: 64] * by;\n"
        "}\n";
    struct entry_fixture x;
    open_entry(&x, *state, text);
    tw_value args[] = {tw_int(40), tw_pointer(x.a), tw_pointer(x.c)};
    started(&x, tw_entry_start(x.entry, args, 3, NULL, &x.error));
    expect_scaled(&x, 40, 2, 0); /* 40 << 58 has its highest bit set */
    args[0] = tw_int(64);
    not_started(&x, tw_entry_start(x.entry, args, 3, NULL, &x.error), TW_BAD_ARGUMENT,
                "overflows u64");
    args[0] = tw_int(-1);
    not_started(&x, tw_entry_start(x.entry, args, 3, NULL, &x.error), TW_BAD_ARGUMENT,
                "overflows u64");
}

/* Quotients by -1, shifts into the sign and casts of negative numbers overflow, too. */
static void derived_values_do_not_wrap(void **state)
{
    static const char text[] =
        "kernel every(i32 n, i32 by, i32 all = n / by, u64 size = (u64) all,\n"
        "             i64 least = (i64) by << 63, const f32 *a, f32 *c)\n"
        "    grid(cdiv(all, 64)) warps(1)\n"
        "{\n"
        "    global f32 A[all] = a, C[size] = c;\n"
        "    f32 twice = least < 0 ? 2 : 0;\n"
        "    C[block.x * 64 +: 64] = A[block.x * 64 +: 64] * twice;\n"
        "}\n";
    static const struct {
        int32_t n, by;
        const char *report;
    } wrong[] = {{INT32_MIN, -1, "`n / by` overflows i32"},
                 {40, -1, "`(u64) all` overflows u64"},
                 {40, 1, "`(i64) by << 63` overflows i64"}};
    struct entry_fixture x;
    open_entry(&x, *state, text);
    tw_value args[] = {tw_int(-40), tw_int(-1), tw_pointer(x.a), tw_pointer(x.c)};
    started(&x, tw_entry_start(x.entry, args, 4, NULL, &x.error));
    expect_scaled(&x, 40, 2, 0);
    for (int i = 0; i < 3; i++) {
        args[0] = tw_int(wrong[i].n);
        args[1] = tw_int(wrong[i].by);
        not_started(&x, tw_entry_start(x.entry, args, 4, NULL, &x.error), TW_BAD_ARGUMENT,
                    wrong[i].report);
    }
}

/* Derived parameters are not arguments; the last ones with defaults may be left out. */
static void defaults_and_derived_parameters(void **state)
{
    static const char text[] =
        "kernel every(i32 n, static i32 count = (n - 1) / step_of(n) + 1, const f32 *a, f32 *c,\n"
        "             f32 by = 2, i32 step = 1, i32 last = count / step)\n"
        "    grid(cdiv(count, 64)) warps(1)\n"
        "{\n"
        "    global f32 A[n] = a, C[last] = c;\n"
        "    C[block.x * 64 +: 64] = A[block.x * 64 +: 64] * by;\n"
        "}\n"
        "fn i32 step_of(i32 n) { return n - n / 2 * 2 + 1; }\n";
    struct entry_fixture x;
    open_entry(&x, *state, text);
    tw_value args[] = {tw_int(100), tw_pointer(x.a), tw_pointer(x.c),
                       tw_float(3), tw_int(1),       tw_int(1)};
    started(&x, tw_entry_start(x.entry, args, 3, NULL, &x.error));
    expect_scaled(&x, 100, 2, 0);
    assert_int_equal(tw_entry_variants(x.entry), 1);
    long calls = driver.fake_cuda_calls(NULL);
    started(&x, tw_entry_start(x.entry, args, 4, NULL, &x.error));
    assert_int_equal(driver.fake_cuda_calls(NULL), calls + 1);
    expect_scaled(&x, 100, 3, 0);
    args[0] = tw_int(99); /* another count, which is compiled in */
    started(&x, tw_entry_start(x.entry, args, 5, NULL, &x.error));
    expect_scaled(&x, 50, 3, 0);
    assert_int_equal(tw_entry_variants(x.entry), 2);
    not_started(&x, tw_entry_start(x.entry, args, 2, NULL, &x.error), TW_BAD_ARGUMENT,
                "takes 5 arguments (n, a, c, by, step); 2 were given");
    not_started(&x, tw_entry_start(x.entry, args, 2, NULL, &x.error), TW_BAD_ARGUMENT,
                "those from `by` on have defaults and may be left out");
    not_started(&x, tw_entry_start(x.entry, args, 6, NULL, &x.error), TW_BAD_ARGUMENT,
                "6 were given");
    args[4] = tw_int(0);
    not_started(&x, tw_entry_start(x.entry, args, 5, NULL, &x.error), TW_BAD_ARGUMENT,
                "`count / step` divides by zero with count = 50, step = 0");
    args[0] = tw_int(INT32_MIN);
    not_started(&x, tw_entry_start(x.entry, args, 5, NULL, &x.error), TW_BAD_ARGUMENT,
                "overflows i32");
    args[0] = tw_int(99);
    args[1] = tw_pointer(NULL);
    not_started(&x, tw_entry_start(x.entry, args, 4, NULL, &x.error), TW_BAD_ARGUMENT,
                "argument 2, `a` is NULL");
}

static void memory_may_run_out(void **state)
{
    struct entry_fixture x;
    open_entry(&x, *state, scale_text);
    tw_status status = TW_NO_MEMORY;
    for (long at = 0; status != TW_OK; at++) {
        tw_entry_free(x.entry);
        x.f->memory.calls = 0;
        x.f->memory.fail_from = at;
        status = tw_entry_new(x.f->launch, &x.entry);
        if (status == TW_OK)
            status = scale(&x, 100, 2, 0);
        x.f->memory.fail_from = -1;
        assert_true(status == TW_OK || status == TW_NO_MEMORY);
        if (x.entry)
            started(&x, scale(&x, 100, 2, 0));
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, cuda_setup, cuda_teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_start_is_one_call_of_the_driver),
        TEST(facts_choose_the_variant),
        TEST(statics_choose_the_variant),
        TEST(an_entry_outlives_its_launch),
        TEST(what_is_wrong_is_named),
        TEST(a_grid_is_too_large_or_negative),
        TEST(variants_have_a_limit),
        TEST(the_variant_without_facts_is_made_once),
        TEST(the_table_is_full_at_last),
        TEST(threads_start_at_the_same_time),
        TEST(each_thread_has_its_own_error),
        TEST(workspace_is_provided),
        TEST(needs_are_known),
        TEST(starts_are_captured),
        TEST(threads_have_workspace_each),
        TEST(workspace_is_captured),
        TEST(other_contexts_are_left_alone),
        TEST(every_failing_call_is_reported),
        TEST(defaults_and_derived_parameters),
        TEST(derived_of_all_types),
        TEST(derived_values_do_not_wrap),
        TEST(memory_may_run_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
