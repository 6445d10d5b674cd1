/* Launches on the host as an engine makes them: with its own threads, without waiting, and
 * through entries from many threads. */
#include "api_helper.h"
#include "tilewright_entry.h"
#include "tilewright_gpu.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LENGTH = 1024, BLOCK = 64 };

static const char text[] =
    "kernel scale(i32 n, f32 by, const f32 *a, f32 *c) grid(cdiv(n, 64)) warps(1)\n"
    "{\n"
    "    global f32 A[n] = a, C[n] = c;\n"
    "    assume(n < 2000);\n"
    "    C[block.x * 64 +: 64] = A[block.x * 64 +: 64] * by;\n"
    "    ensures C == A * by;\n"
    "}\n";

/* A context that allocates from libc, so several threads may use it. */
struct engine {
    tw_context *ctx;
    tw_module *module;
    tw_launch *launch;
    float a[LENGTH], c[LENGTH];
    atomic_int parallel_calls, tasks;
};

static void ok(struct engine *e, tw_status status)
{
    if (status != TW_OK)
        fail_msg("%s: %s", tw_status_name(status), tw_context_messages(e->ctx));
}

static void says(struct engine *e, tw_status status, tw_status expected, const char *why)
{
    const char *said = tw_context_messages(e->ctx);
    if (status != expected || !strstr(said, why))
        fail_msg("got %s: %s\nexpected …%s…", tw_status_name(status), said, why);
}

static tw_launch *new_launch(struct engine *e, float *c, double by)
{
    tw_launch *l;
    tw_array a = array(e->a, TW_F32, 1, LENGTH, 0), out = array(c, TW_F32, 1, LENGTH, 0);
    ok(e, tw_launch_new(tw_module_kernel_at(e->module, 0), &l));
    ok(e, tw_launch_array(l, "a", &a));
    ok(e, tw_launch_array(l, "c", &out));
    ok(e, tw_launch_set(l, "by", tw_float(by)));
    return l;
}

static void open_engine(struct engine *e, const tw_config *config)
{
    memset(e, 0, sizeof *e);
    assert_int_equal(tw_context_new(config, &e->ctx), TW_OK);
    ok(e, tw_module_from_text(e->ctx, "scale.tile", text, strlen(text), &e->module));
    for (int i = 0; i < LENGTH; i++)
        e->a[i] = (float)(i % 61) - 30;
    e->launch = new_launch(e, e->c, 2);
}

static void expect_scaled(const struct engine *e, const float *c, int n, float by)
{
    for (int i = 0; i < n; i++)
        assert_true(c[i] == e->a[i] * by);
}

/* --- threads --- */

/* Runs the tasks backwards, one at a time, as an engine does that has no free threads. */
static void run_backwards(void *user, int tasks, void (*task)(void *argument, int index),
                          void *argument)
{
    struct engine *e = user;
    atomic_fetch_add(&e->parallel_calls, 1);
    atomic_fetch_add(&e->tasks, tasks);
    for (int i = tasks - 1; i >= 0; i--)
        task(argument, i);
}

static void an_engine_has_threads_of_its_own(void **state)
{
    (void)state;
    struct engine e;
    tw_config config = {
        .size = sizeof config, .threads = 3, .parallel = run_backwards, .parallel_user = &e};
    open_engine(&e, &config);
    ok(&e, tw_launch_run(e.launch));
    expect_scaled(&e, e.c, LENGTH, 2);
    assert_int_equal(atomic_load(&e.parallel_calls), 1);
    assert_int_equal(atomic_load(&e.tasks), 3);
    ok(&e, tw_launch_verify(e.launch, NULL));
    tw_context_free(e.ctx);
}

static void a_pool_gives_the_same(void **state)
{
    (void)state;
    for (int threads = 0; threads < 6; threads++) {
        struct engine e;
        open_engine(&e, &(tw_config){.size = sizeof(tw_config), .threads = threads});
        for (int i = 0; i < 100; i++) {
            memset(e.c, 0, sizeof e.c);
            ok(&e, tw_launch_run(e.launch));
            expect_scaled(&e, e.c, LENGTH, 2);
        }
        tw_context_free(e.ctx);
    }
}

/* --- launches that do not wait --- */

struct order {
    atomic_int next;
    int place[8];
    tw_status status[8];
    tw_launch *launch[8];
};

static void note(void *user, tw_launch *l, tw_status status)
{
    struct order *o = user;
    int at = atomic_fetch_add(&o->next, 1);
    o->launch[at] = l;
    o->status[at] = status;
}

static void begun_launches_end_in_order(void **state)
{
    (void)state;
    struct engine e;
    struct order order = {.next = 0};
    static float c[4][LENGTH];
    tw_launch *l[4];
    open_engine(&e, &(tw_config){.size = sizeof(tw_config), .threads = 2});
    ok(&e, tw_launch_wait(e.launch)); /* nothing was begun */
    for (int i = 0; i < 4; i++) {
        l[i] = new_launch(&e, c[i], i + 1);
        ok(&e, tw_launch_begin(l[i], note, &order));
    }
    ok(&e, tw_launch_wait(l[3]));
    for (int i = 0; i < 4; i++) {
        expect_scaled(&e, c[i], LENGTH, (float)i + 1);
        assert_ptr_equal(order.launch[i], l[i]);
        assert_int_equal(order.status[i], TW_OK);
        ok(&e, tw_launch_wait(l[i]));
    }
    ok(&e, tw_launch_verify(l[2], NULL));
    ok(&e, tw_launch_begin(l[0], NULL, NULL)); /* again, without a callback */
    tw_context_free(e.ctx);                    /* waits */
}

/* A launch whose callback waits: tests what goes on meanwhile. */
struct gate {
    pthread_mutex_t lock;
};

static void pass_gate(void *user, tw_launch *l, tw_status status)
{
    struct gate *g = user;
    (void)l, (void)status;
    pthread_mutex_lock(&g->lock);
    pthread_mutex_unlock(&g->lock);
}

static void the_context_is_free_meanwhile(void **state)
{
    (void)state;
    struct engine e;
    struct gate gate = {.lock = PTHREAD_MUTEX_INITIALIZER};
    tw_module *other;
    float *c = calloc(LENGTH, sizeof *c);
    open_engine(&e, NULL);
    pthread_mutex_lock(&gate.lock);
    ok(&e, tw_launch_begin(e.launch, pass_gate, &gate));
    says(&e, tw_launch_begin(e.launch, NULL, NULL), TW_BAD_ARGUMENT, "tw_launch_wait");
    ok(&e, tw_module_from_text(e.ctx, "again", text, strlen(text), &other));
    ok(&e, tw_launch_prepare(new_launch(&e, c, 5)));
    ok(&e, tw_launch_set(e.launch, "by", tw_float(3)));
    pthread_mutex_unlock(&gate.lock);
    ok(&e, tw_launch_wait(e.launch));
    expect_scaled(&e, e.c, LENGTH, 2); /* the values of when it began */
    ok(&e, tw_launch_run(e.launch));
    expect_scaled(&e, e.c, LENGTH, 3);
    ok(&e, tw_launch_begin(e.launch, NULL, NULL));
    tw_module_free(e.module);
    tw_launch_free(e.launch); /* waits */
    expect_scaled(&e, e.c, LENGTH, 3);
    tw_context_free(e.ctx);
    free(c);
}

/* A forked process loses the launches of its parent, and may begin them again. */
static int try_forked(struct engine *e, tw_launch *second, const float *c)
{
    alarm(300); /* ends a hang */
    if (tw_launch_wait(second) != TW_CANCELLED || tw_launch_begin(second, NULL, NULL) != TW_OK ||
        tw_launch_wait(second) != TW_OK || tw_launch_run(e->launch) != TW_OK)
        return 1;
    expect_scaled(e, c, LENGTH, 5);
    tw_context_free(e->ctx);
    return 0;
}

static void a_forked_process_goes_on(void **state)
{
    (void)state;
    if (TW_TEST_NO_FORK)
        skip();
    struct engine e;
    struct gate gate = {.lock = PTHREAD_MUTEX_INITIALIZER};
    static float c[LENGTH];
    int status = 1;
    open_engine(&e, NULL);
    tw_launch *second = new_launch(&e, c, 5);
    pthread_mutex_lock(&gate.lock);
    ok(&e, tw_launch_begin(e.launch, pass_gate, &gate));
    ok(&e, tw_launch_begin(second, NULL, NULL));
    pid_t child = fork();
    if (child == 0)
        _exit(try_forked(&e, second, c));
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    pthread_mutex_unlock(&gate.lock);
    ok(&e, tw_launch_wait(second));
    expect_scaled(&e, c, LENGTH, 5);
    tw_context_free(e.ctx);
}

static void what_went_wrong_is_said_by_wait(void **state)
{
    (void)state;
    static float large[4096];
    struct engine e;
    struct order order = {.next = 0};
    open_engine(&e, NULL);
    tw_array x = array(large, TW_F32, 1, 4096, 0);
    ok(&e, tw_launch_array(e.launch, "a", &x));
    says(&e, tw_launch_begin(e.launch, note, &order), TW_BAD_ARGUMENT, "`n` is 4096 by `a`");
    assert_int_equal(atomic_load(&order.next), 0);
    ok(&e, tw_launch_array(e.launch, "c", &x));
    ok(&e, tw_launch_begin(e.launch, note, &order));
    says(&e, tw_launch_wait(e.launch), TW_NOT_ASSUMED, "assume(n < 2000) does not hold: n = 4096");
    assert_int_equal(order.status[0], TW_NOT_ASSUMED);
    ok(&e, tw_launch_wait(e.launch)); /* it was said */
    tw_kernel *gpu;
    tw_launch *l;
    ok(&e, tw_kernel_for_target(tw_module_kernel_at(e.module, 0), "sm_90", &gpu));
    ok(&e, tw_launch_new(gpu, &l));
    says(&e, tw_launch_begin(l, note, &order), TW_BAD_ARGUMENT, "tw_launch_start");
    assert_int_equal(tw_launch_begin(NULL, note, NULL), TW_BAD_ARGUMENT);
    assert_int_equal(tw_launch_wait(NULL), TW_BAD_ARGUMENT);
    tw_context_free(e.ctx);
}

/* --- entries --- */

static tw_error entry_error = {.size = sizeof entry_error}; /* error of the latest start */

static tw_status start(tw_entry *entry, struct engine *e, int64_t n, double by, float *c)
{
    const tw_value args[] = {tw_int(n), tw_float(by), tw_pointer(e->a), tw_pointer(c)};
    return tw_entry_start(entry, args, 4, NULL, &entry_error);
}

static void refused_by(tw_status status, tw_status expected, const char *why)
{
    if (status != expected || !strstr(entry_error.text, why))
        fail_msg("got %s: %s\nexpected …%s…", tw_status_name(status), entry_error.text, why);
}

static void an_entry_runs_by_position(void **state)
{
    (void)state;
    struct engine e;
    tw_entry *entry;
    open_engine(&e, NULL);
    ok(&e, tw_entry_new(e.launch, &entry));
    tw_launch_free(e.launch);
    const tw_value args[] = {tw_int(512), tw_float(1), tw_pointer(e.a), tw_pointer(e.c)};
    assert_int_equal(tw_entry_ready(entry, args, 4, NULL, &entry_error), TW_OK);
    assert_int_equal(tw_entry_variants(entry), 1);
    assert_int_equal(start(entry, &e, 512, 3, e.c), TW_OK);
    expect_scaled(&e, e.c, 512, 3);
    assert_int_equal(start(entry, &e, 1001, 4, e.c), TW_OK);
    expect_scaled(&e, e.c, 1001, 4);
    assert_int_equal(start(entry, &e, 0, 4, NULL), TW_OK); /* no elements */
    refused_by(start(entry, &e, 100, 4, NULL), TW_BAD_ARGUMENT,
               "argument 4, `c` is NULL, but view `C` reaches over 100 elements");
    assert_int_equal(entry_error.code, TW_CODE_ARGUMENT);
    refused_by(start(entry, &e, -1, 4, e.c), TW_BAD_ARGUMENT, "negative");
    refused_by(start(entry, &e, 3000, 4, e.c), TW_NOT_ASSUMED,
               "assume(n < 2000) does not hold: n = 3000");
    refused_by(tw_entry_start(entry, args, 3, NULL, &entry_error), TW_BAD_ARGUMENT,
               "takes 4 arguments");
    const tw_value integers[] = {args[0], args[1], tw_int(0), args[3]};
    refused_by(tw_entry_start(entry, integers, 4, NULL, &entry_error), TW_BAD_ARGUMENT,
               "`a` (f32 *): an integer was given, expected an address\n");
    refused_by(tw_entry_start(entry, NULL, 4, NULL, &entry_error), TW_BAD_ARGUMENT,
               "tw_entry_start: `arguments` is NULL");
    refused_by(tw_entry_ready(entry, NULL, 4, NULL, &entry_error), TW_BAD_ARGUMENT,
               "tw_entry_ready: `arguments` is NULL");
    refused_by(start(entry, &e, 64, 4, (float *)((char *)e.c + 2)), TW_BAD_ARGUMENT,
               "not a multiple of 4");
    tw_context_free(e.ctx);
}

struct starter {
    struct engine *engine;
    tw_entry *entry;
    float c[LENGTH];
    int index, wrong;
};

static void *start_often(void *user)
{
    struct starter *s = user;
    for (int round = 0; round < 200; round++) {
        int n = 16 * s->index + round % 3 * 5 + LENGTH / 2;
        float by = (float)(s->index + round % 7);
        s->wrong += start(s->entry, s->engine, n, (double)by, s->c) != TW_OK;
        for (int i = 0; i < n; i++)
            s->wrong += s->c[i] != s->engine->a[i] * by;
    }
    return NULL;
}

static void threads_start_an_entry_at_the_same_time(void **state)
{
    (void)state;
    enum { THREADS = 8 };
    static struct starter starters[THREADS];
    pthread_t threads[THREADS];
    struct engine e;
    tw_entry *entry;
    open_engine(&e, &(tw_config){.size = sizeof(tw_config), .threads = 3});
    ok(&e, tw_entry_new(e.launch, &entry));
    for (int i = 0; i < THREADS; i++) {
        starters[i] = (struct starter){.engine = &e, .entry = entry, .index = i};
        assert_int_equal(pthread_create(&threads[i], NULL, start_often, &starters[i]), 0);
    }
    for (int i = 0; i < 50; i++)
        ok(&e, tw_launch_run(e.launch));
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(starters[i].wrong, 0);
    }
    expect_scaled(&e, e.c, LENGTH, 2);
    tw_context_free(e.ctx);
}

static atomic_int calls;

static void *counted_resize(void *user, void *ptr, size_t old_size, size_t size)
{
    (void)user, (void)old_size;
    atomic_fetch_add(&calls, 1);
    if (size)
        return realloc(ptr, size);
    free(ptr);
    return NULL;
}

/* How much memory starts need at a time depends on how the pool's threads meet, so it may still
 * grow for some rounds. */
static void a_warm_start_allocates_nothing(void **state)
{
    enum { ROUNDS = 100, STARTS = 50 };
    (void)state;
    for (int threads = 1; threads <= 3; threads += 2) {
        struct engine e;
        tw_entry *entry;
        open_engine(
            &e,
            &(tw_config){.size = sizeof(tw_config), .threads = threads, .resize = counted_resize});
        ok(&e, tw_entry_new(e.launch, &entry));
        bool warm = false;
        for (int round = 0; round < ROUNDS && !warm; round++) {
            atomic_store(&calls, 0);
            for (int i = 0; i < STARTS; i++)
                assert_int_equal(start(entry, &e, LENGTH, i, e.c), TW_OK);
            warm = atomic_load(&calls) == 0;
        }
        assert_true(warm);
        tw_context_free(e.ctx);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_engine_has_threads_of_its_own),
        cmocka_unit_test(a_pool_gives_the_same),
        cmocka_unit_test(begun_launches_end_in_order),
        cmocka_unit_test(the_context_is_free_meanwhile),
        cmocka_unit_test(a_forked_process_goes_on),
        cmocka_unit_test(what_went_wrong_is_said_by_wait),
        cmocka_unit_test(an_entry_runs_by_position),
        cmocka_unit_test(threads_start_an_entry_at_the_same_time),
        cmocka_unit_test(a_warm_start_allocates_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
