/* The cores that a process may use, and a pool that respects them (src/base/platform_cores.c,
 * platform_pool.c). tests/unit/test_platform.c checks that each task runs once. */
#define _GNU_SOURCE /* sched_getaffinity */
#include "base/platform.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* --- control groups --- */

struct group_file {
    const char *path, *text; /* text NULL: a folder */
};

static void write_files(const char *root, const struct group_file *files)
{
    char path[256];
    for (const struct group_file *f = files; f->path; f++) {
        snprintf(path, sizeof path, "%s/%s", root, f->path);
        if (!f->text) {
            assert_int_equal(mkdir(path, 0700), 0);
            continue;
        }
        FILE *out = fopen(path, "w");
        assert_non_null(out);
        fputs(f->text, out);
        fclose(out);
    }
}

static void remove_files(const char *root, const struct group_file *files)
{
    char path[256];
    int count = 0;
    while (files[count].path)
        count++;
    while (count-- > 0) {
        snprintf(path, sizeof path, "%s/%s", root, files[count].path);
        assert_int_equal(remove(path), 0);
    }
}

static void expect_cores(const struct group_file *files, int cores)
{
    char root[] = "/tmp/tw-test-XXXXXX", groups[64];
    assert_non_null(mkdtemp(root));
    write_files(root, files);
    snprintf(groups, sizeof groups, "%s/groups", root);
    assert_int_equal(platform_group_cores(groups, root), cores);
    remove_files(root, files);
    assert_int_equal(rmdir(root), 0);
}

#define FILES(...)                                                                                 \
    (const struct group_file[])                                                                    \
    {                                                                                              \
        __VA_ARGS__,                                                                               \
        {                                                                                          \
            NULL, NULL                                                                             \
        }                                                                                          \
    }

static void groups_grant_cores(void **state)
{
    (void)state;
    struct group_file own = {"groups", "0::/a/b\n"}, a = {"a", NULL}, b = {"a/b", NULL};
    expect_cores(FILES({"other", ""}), INT_MAX);
    expect_cores(FILES(own), INT_MAX);
    expect_cores(FILES(own, a, b, {"a/b/cpu.max", "max 100000\n"}), INT_MAX);
    expect_cores(FILES(own, a, b, {"a/b/cpu.max", "300000 100000\n"}), 3);
    expect_cores(FILES(own, a, b, {"a/b/cpu.max", "300001 100000\n"}), 4);
    expect_cores(FILES(own, a, b, {"a/b/cpu.max", "20000 100000\n"}), 1);
    expect_cores(FILES(own, a, b, {"a/b/cpu.max", "-5 100000\n"}), INT_MAX);
    expect_cores(FILES(own, a, b, {"a/b/cpu.max", "100000 0\n"}), INT_MAX);
    expect_cores(FILES(own, a, b, {"a/b/cpu.max", "100000"}), INT_MAX);
    /* a group around the process's group grants less */
    expect_cores(
        FILES(own, a, {"a/cpu.max", "150000 50000\n"}, b, {"a/b/cpu.max", "800000 100000\n"}), 3);
    /* within a container, its group is the root */
    expect_cores(FILES(own, {"cpu.max", "250000 100000\n"}), 3);
}

static void groups_of_the_first_version_grant_cores(void **state)
{
    (void)state;
    struct group_file own = {"groups", "3:cpuset:/c\n2:cpu,cpuacct:/a\n1:name=systemd:/\n0::/\n"};
    struct group_file cpu = {"cpu", NULL}, a = {"cpu/a", NULL};
    expect_cores(FILES(own, cpu, a, {"cpu/a/cpu.cfs_quota_us", "350000\n"},
                       {"cpu/a/cpu.cfs_period_us", "100000\n"}),
                 4);
    expect_cores(FILES(own, cpu, a, {"cpu/a/cpu.cfs_quota_us", "-1\n"},
                       {"cpu/a/cpu.cfs_period_us", "100000\n"}),
                 INT_MAX);
    expect_cores(FILES({"groups", "3:cpuset:/a\n"}, cpu, a, {"cpu/a/cpu.cfs_quota_us", "350000\n"},
                       {"cpu/a/cpu.cfs_period_us", "100000\n"}),
                 INT_MAX);
}

/* --- processors --- */

#ifdef __linux__
enum { MOST = 256 };

static int allowed(int *processors)
{
    int count = platform_processors("all", processors, MOST);
    assert_true(count > 0);
    return count;
}

static void lists_name_processors(void **state)
{
    int all[MOST], got[MOST], count = allowed(all);
    char list[64];
    (void)state;
    snprintf(list, sizeof list, "%d", all[count - 1]);
    assert_int_equal(platform_processors(list, got, MOST), 1);
    assert_int_equal(got[0], all[count - 1]);
    snprintf(list, sizeof list, "%d-%d,%d", all[0], all[0], all[count - 1]);
    assert_int_equal(platform_processors(list, got, MOST), 2);
    assert_int_equal(got[0], all[0]);
    assert_int_equal(got[1], all[count - 1]);
    assert_int_equal(platform_processors(list, got, 1), PROCESSORS_TOO_MANY);
    static const char *const others[] = {"1023", "0-1024", "99999999999999999999", "1023,0"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_int_equal(platform_processors(others[i], got, MOST), PROCESSORS_NOT_ALLOWED);
    static const char *const malformed[] = {"", "x", "0-", "-1", "1-0", "0,", ",0", "0 ", "0;1"};
    for (size_t i = 0; i < sizeof malformed / sizeof *malformed; i++)
        assert_int_equal(platform_processors(malformed[i], got, MOST), PROCESSORS_MALFORMED);
}

struct bound {
    const int *processors;
    int count;
    pthread_t caller;
    atomic_int elsewhere, others;
};

static void look_where(void *user, int index)
{
    struct bound *b = user;
    cpu_set_t set;
    (void)index;
    if (pthread_equal(pthread_self(), b->caller))
        return;
    atomic_fetch_add(&b->others, 1);
    bool listed = false;
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) == 1)
        for (int i = 0; i < b->count; i++)
            listed |= CPU_ISSET((size_t)b->processors[i], &set);
    if (!listed)
        atomic_fetch_add(&b->elsewhere, 1);
}

/* Each thread is bound to one processor of the list, except the caller's own thread. */
static void a_pool_is_bound(void **state)
{
    enum { THREADS = 5 };
    int processors[MOST], count = allowed(processors);
    struct bound b = {.processors = processors, .count = count, .caller = pthread_self()};
    struct platform_pool *pool = platform_pool_new(&allocator_libc, THREADS);
    cpu_set_t before, after;
    (void)state;
    assert_non_null(pool);
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    platform_pool_bind(pool, processors, count);
    for (int i = 0; i < 10000 && atomic_load(&b.others) < THREADS; i++) {
        platform_pool_run(pool, THREADS, look_where, &b);
        usleep(i < 100 ? 0 : 1000); /* on a busy machine threads start late */
    }
    platform_pool_free(pool);
    assert_true(atomic_load(&b.others) >= THREADS);
    assert_int_equal(atomic_load(&b.elsewhere), 0);
    assert_int_equal(sched_getaffinity(0, sizeof after, &after), 0);
    assert_true(CPU_EQUAL(&before, &after));
}
#endif

/* --- waiting --- */

static void work(void *user, int index)
{
    double end = platform_seconds() + *(const double *)user;
    (void)index;
    while (platform_seconds() < end)
        ;
}

/* Returns the processor time that a pool takes within 50 ms after a run of long tasks. */
static double idle_time_once(int threads)
{
    double long_task = 5e-3;
    struct platform_pool *pool = platform_pool_new(&allocator_libc, threads);
    assert_non_null(pool);
    platform_pool_run(pool, threads, work, &long_task);
    clock_t before = clock();
    usleep(50000);
    double taken = (double)(clock() - before) / CLOCKS_PER_SEC;
    platform_pool_free(pool);
    return taken;
}

/* Returns the least of several times, or the first one below the limit: on a busy machine, threads are
 * late with their work. */
static double idle_time(int threads, double limit)
{
    double least = 1;
    for (int i = 0; i < 30 && least >= limit; i++) {
        double taken = idle_time_once(threads);
        least = taken < least ? taken : least;
    }
    return least;
}

/* If there are more threads than cores, threads without work sleep at once. If each of these spun
 * as long as a thread of a smaller pool does, they would take 6 ms. */
static void threads_beyond_the_cores_sleep(void **state)
{
    (void)state;
    double least = idle_time(platform_cores() + 30, 2e-3);
    if (least >= 2e-3)
        fail_msg("idle threads took %g ms", least * 1e3);
}

/* A pool with few threads spins, but not for long. */
static void idle_threads_sleep_soon(void **state)
{
    const double limit = 1e-3 * platform_cores();
    (void)state;
    assert_true(idle_time(platform_cores(), limit) < limit);
}

/* --- the start of threads --- */

static int two(void)
{
    return 2;
}

static int one(void)
{
    return 1;
}

enum { MOST_TASKS = 9 };
struct runs {
    pthread_t caller;
    atomic_int of[MOST_TASKS], by_caller;
};

static void note_run(void *argument, int index)
{
    struct runs *r = argument;
    atomic_fetch_add(&r->of[index], 1);
    atomic_fetch_add(&r->by_caller, pthread_equal(pthread_self(), r->caller) != 0);
}

/* Each task runs once, also if fewer threads start than the pool has seats. */
static void as_many_threads_start_as_cores_are_granted(void **state)
{
    static int (*const counts[])(void) = {one, two, platform_cores};
    (void)state;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        struct platform_pool *pool = platform_pool_new_soon(&allocator_libc, counts[i]);
        assert_non_null(pool);
        assert_int_equal(platform_pool_parallel(pool).cores, platform_allowed_cores());
        assert_int_equal(platform_pool_parallel(pool).threads, platform_allowed_cores());
        for (int count = 2; count <= MOST_TASKS; count++) {
            struct runs runs = {.caller = pthread_self()};
            platform_pool_run(pool, count, note_run, &runs);
            for (int t = 0; t < MOST_TASKS; t++)
                assert_int_equal(runs.of[t], t < count);
            if (counts[i] == one)
                assert_int_equal(runs.by_caller, count);
        }
        if (platform_allowed_cores() > 1) /* a pool of one thread starts none */
            assert_int_equal(platform_pool_parallel(pool).cores, counts[i]());
        platform_pool_free(pool);
    }
}

/* Callers may work alone until the threads run, or until they have worked as long as a start
 * takes. */
static void callers_work_alone_at_first(void **state)
{
    (void)state;
    for (int run = 0; run < 2; run++) {
        struct platform_pool *pool = platform_pool_new(&allocator_libc, 2);
        assert_non_null(pool);
        struct parallel parallel = platform_pool_parallel(pool);
        double first = parallel.alone(parallel.user, 0);
        assert_true(first > 0 && first < 1e-3);
        assert_true(parallel.alone(parallel.user, first / 2) == first / 2);
        assert_true(parallel.alone(parallel.user, 0) == first / 2);
        struct runs runs = {.caller = pthread_self()};
        if (run == 0)
            parallel.run(parallel.user, 2, note_run, &runs);
        else
            assert_true(parallel.alone(parallel.user, first) == 0);
        assert_true(parallel.alone(parallel.user, 0) == 0);
        platform_pool_free(pool);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_grant_cores),
        cmocka_unit_test(groups_of_the_first_version_grant_cores),
#ifdef __linux__
        cmocka_unit_test(lists_name_processors),
        cmocka_unit_test(a_pool_is_bound),
#endif
        cmocka_unit_test(as_many_threads_start_as_cores_are_granted),
        cmocka_unit_test(callers_work_alone_at_first),
        cmocka_unit_test(threads_beyond_the_cores_sleep),
        cmocka_unit_test(idle_threads_sleep_soon),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
