/* Launches on a caller's threads (tw_config.parallel): pools that run tasks one after the other, in
 * any order, on fewer threads than tasks, on as many, and on threads that launch themselves. Every
 * pool gives the values of one thread. */
#include "api_helper.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 256, MOST_TASKS = 16 };

/* A product whose panels workers share, and blocks that wait for lower ones. */
static const char text[] = "kernel product(const f32 *a, f32 *c) grid(2, 2) warps(1)\n"
                           "{\n"
                           "    global f32 A[256][256] = a, C[256][256] = c;\n"
                           "    reg f32 acc[128][128] = 0;\n"
                           "    for (i32 p = 0; p < 256; p += 64) {\n"
                           "        reg f32 ra[128][64] = A[block.x * 128 +: 128][p +: 64];\n"
                           "        reg f32 rb[64][128] = A[p +: 64][block.y * 128 +: 128];\n"
                           "        acc += dot(ra, rb);\n"
                           "    }\n"
                           "    C[block.x * 128 +: 128][block.y * 128 +: 128] = acc;\n"
                           "}\n"
                           "kernel in_turn(const f32 *a, f32 *c) grid(24) warps(1)\n"
                           "{\n"
                           "    global f32 A[65536] = a, C[65536] = c;\n"
                           "    global i32 turn[1] = 0;\n"
                           "    lock(turn[0], block.x);\n"
                           "    C[0] = C[0] * 0.5 + A[block.x];\n"
                           "    unlock(turn[0], block.x + 1);\n"
                           "}\n";

/* --- a caller's pools --- */

typedef void task_fn(void *argument, int index);

struct pool {
    int threads; /* 0: the tasks run on the calling thread */
    int step;    /* the next task is this many further on, modulo a prime */
    atomic_int calls, tasks, most;
    task_fn *task;
    void *argument;
    int count;
    atomic_int next;
};

enum { PRIME = 17 }; /* above MOST_TASKS */

static void *take_tasks(void *user)
{
    struct pool *p = user;
    int index;
    while ((index = atomic_fetch_add(&p->next, 1)) < PRIME) {
        index = index * p->step % PRIME;
        if (index < p->count)
            p->task(p->argument, index);
    }
    return NULL;
}

static void pool_run(void *user, int tasks, task_fn *task, void *argument)
{
    struct pool *p = user;
    pthread_t threads[MOST_TASKS];
    atomic_fetch_add(&p->calls, 1);
    atomic_fetch_add(&p->tasks, tasks);
    if (tasks > atomic_load(&p->most))
        atomic_store(&p->most, tasks);
    p->task = task;
    p->argument = argument;
    p->count = tasks;
    atomic_store(&p->next, 0);
    for (int i = 0; i < p->threads; i++)
        if (pthread_create(&threads[i], NULL, take_tasks, p) != 0)
            abort();
    if (p->threads == 0)
        take_tasks(p);
    for (int i = 0; i < p->threads; i++)
        pthread_join(threads[i], NULL);
}

/* --- launches --- */

struct values {
    float a[SIDE * SIDE], product[SIDE * SIDE], in_turn[SIDE * SIDE];
};

static void launch(tw_context *ctx, int kernel, float *a, float *c)
{
    tw_module *m;
    tw_launch *l;
    int rank = kernel == 0 ? 2 : 1, rows = kernel == 0 ? SIDE : SIDE * SIDE;
    tw_array in = array(a, TW_F32, rank, rows, SIDE), out = array(c, TW_F32, rank, rows, SIDE);
    if (tw_module_from_text(ctx, "k.tile", text, strlen(text), &m) != TW_OK ||
        tw_launch_new(tw_module_kernel_at(m, kernel), &l) != TW_OK ||
        tw_launch_array(l, "a", &in) != TW_OK || tw_launch_array(l, "c", &out) != TW_OK ||
        tw_launch_run(l) != TW_OK)
        fail_msg("%s", tw_context_messages(ctx));
}

static void compute(const tw_config *config, struct values *v)
{
    tw_context *ctx;
    for (int i = 0; i < SIDE * SIDE; i++)
        v->a[i] = (float)(i * 37 % 101) / 64 - 0.5f;
    memset(v->product, 0, sizeof v->product);
    memset(v->in_turn, 0, sizeof v->in_turn);
    assert_int_equal(tw_context_new(config, &ctx), TW_OK);
    launch(ctx, 0, v->a, v->product);
    launch(ctx, 1, v->a, v->in_turn);
    tw_context_free(ctx);
}

static void compute_on(struct pool *p, int tasks, struct values *v)
{
    tw_config config = tw_config_init();
    config.threads = tasks;
    config.parallel = pool_run;
    config.parallel_user = p;
    compute(&config, v);
}

static struct values expected;

static int compute_expected(void **state)
{
    (void)state;
    tw_config config = tw_config_init();
    config.threads = 1;
    compute(&config, &expected);
    return 0;
}

static void expect_values(const struct values *v)
{
    assert_memory_equal(v->product, expected.product, sizeof v->product);
    assert_memory_equal(v->in_turn, expected.in_turn, sizeof v->in_turn);
}

static void any_pool_gives_the_values_of_one_thread(void **state)
{
    static const int threads[] = {0, 1, 2, 3, MOST_TASKS};
    static const int steps[] = {1, PRIME - 1, 5}; /* forwards, backwards, mixed */
    (void)state;
    for (size_t t = 0; t < sizeof threads / sizeof *threads; t++)
        for (size_t s = 0; s < sizeof steps / sizeof *steps; s++)
            for (int tasks = 2; tasks <= MOST_TASKS; tasks *= 2) {
                static struct values v;
                struct pool p = {.threads = threads[t], .step = steps[s]};
                compute_on(&p, tasks, &v);
                expect_values(&v);
                assert_int_equal(p.calls, 2);
                assert_true(p.most <= tasks);
                /* the first grid has 4 blocks, the second one 24 */
                assert_int_equal(p.tasks, (tasks < 4 ? tasks : 4) + tasks);
            }
}

/* A launch of one block, and a context of one thread, run on the calling thread. */
static void one_task_needs_no_pool(void **state)
{
    static struct values v;
    struct pool p = {.threads = 2, .step = 1};
    (void)state;
    compute_on(&p, 1, &v);
    expect_values(&v);
    assert_int_equal(p.calls, 0);
}

struct nested {
    struct pool inner;
    struct values v;
};

static void launch_within(void *user, int index)
{
    struct nested *n = &((struct nested *)user)[index];
    n->inner = (struct pool){.threads = index, .step = 1};
    compute_on(&n->inner, 4, &n->v);
}

/* Threads of a caller's pool launch themselves, each with a context of its own. */
static void tasks_of_a_pool_launch(void **state)
{
    enum { LAUNCHES = 3 };
    struct nested *nested = calloc(LAUNCHES, sizeof *nested);
    struct pool outer = {.threads = LAUNCHES, .step = 1};
    (void)state;
    assert_non_null(nested);
    pool_run(&outer, LAUNCHES, launch_within, nested);
    for (int i = 0; i < LAUNCHES; i++)
        expect_values(&nested[i].v);
    free(nested);
}

/* --- the context's own pool, bound to processors --- */

static void expect_refused(const char *bind, tw_status wanted)
{
    tw_context *ctx;
    tw_config config = tw_config_init();
    config.bind = bind;
    assert_int_equal(tw_context_new(&config, &ctx), wanted);
    assert_null(ctx);
}

static void threads_are_bound(void **state)
{
#ifdef __linux__
    static struct values v;
    static const char *const bad[] = {"",   "x",  "0-",    "-1",   "1-0",  "0,",
                                      ",0", "0 ", "99999", "1023", "all,0"};
    (void)state;
    for (int threads = 0; threads <= 5; threads++) {
        tw_config config = tw_config_init();
        config.threads = threads;
        config.bind = "all";
        compute(&config, &v);
        expect_values(&v);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        expect_refused(bad[i], TW_BAD_ARGUMENT);
    tw_context *ctx;
    tw_config both = tw_config_init();
    both.bind = "all";
    both.parallel = pool_run;
    assert_int_equal(tw_context_new(&both, &ctx), TW_BAD_ARGUMENT);
#else
    (void)state;
    expect_refused("all", TW_UNSUPPORTED);
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_pool_gives_the_values_of_one_thread),
        cmocka_unit_test(one_task_needs_no_pool),
        cmocka_unit_test(tasks_of_a_pool_launch),
        cmocka_unit_test(threads_are_bound),
    };
    return cmocka_run_group_tests(tests, compute_expected, NULL);
}
