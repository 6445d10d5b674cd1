/* The seam to the system: threads run every task, files are whole or untouched. */
#include "base/platform.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/inotify.h>
#endif

static jmp_buf failed;
static struct arena arena;
static char folder[64];

static int set_up(void **state)
{
    (void)state;
    arena_init(&arena, &allocator_libc, &failed);
    strcpy(folder, "/tmp/tw-test-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

/* Counts the entries of the folder; removes them if `remove_them`. */
static int entries(bool remove_them)
{
    int count = 0;
    DIR *dir = opendir(folder);
    for (struct dirent *e; dir && (e = readdir(dir));) {
        if (e->d_name[0] == '.')
            continue;
        count++;
        if (remove_them)
            remove(arena_printf(&arena, "%s/%s", folder, e->d_name));
    }
    if (dir)
        closedir(dir);
    return count;
}

static int tear_down(void **state)
{
    (void)state;
    entries(true);
    rmdir(folder);
    arena_free(&arena);
    return 0;
}

static const char *path_of(const char *name)
{
    return arena_printf(&arena, "%s/%s", folder, name);
}

static void count_index(void *user, int index)
{
    atomic_int *counts = user;
    atomic_fetch_add(&counts[index], 1);
}

static void expect_each_once(struct platform_pool *pool, int count)
{
    static atomic_int counts[700];
    for (int i = 0; i < 700; i++)
        atomic_store(&counts[i], 0);
    platform_pool_run(pool, count, count_index, counts);
    for (int i = 0; i < 700; i++)
        assert_int_equal(atomic_load(&counts[i]), i < count);
}

static void a_pool_runs_each_task_once(void **state)
{
    (void)state;
    const int threads[] = {1, 2, 5, 300}, sizes[] = {0, 1, 2, 16, 256, 257, 700};
    for (size_t t = 0; t < sizeof threads / sizeof *threads; t++) {
        struct platform_pool *pool = platform_pool_new(&allocator_libc, threads[t]);
        for (int again = 0; again < 50; again++)
            for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
                expect_each_once(pool, sizes[s]);
        platform_pool_free(pool);
    }
}

struct meeting {
    struct platform_pool *pool;
    atomic_int here, inside;
};

static void count_inside(void *user, int index)
{
    (void)index;
    atomic_fetch_add((atomic_int *)user, 1);
}

/* Two tasks that need one another to end; each gives the pool more tasks meanwhile. */
static void meet(void *user, int index)
{
    struct meeting *m = user;
    (void)index;
    atomic_fetch_add(&m->here, 1);
    while (atomic_load(&m->here) < 2)
        platform_yield();
    platform_pool_run(m->pool, 5, count_inside, &m->inside);
}

static void tasks_run_at_the_same_time(void **state)
{
    (void)state;
    struct meeting m = {.pool = platform_pool_new(&allocator_libc, 2)};
    for (int i = 0; i < 20; i++) {
        atomic_store(&m.here, 0);
        platform_pool_run(m.pool, 2, meet, &m);
    }
    assert_int_equal(atomic_load(&m.inside), 20 * 2 * 5);
    platform_pool_free(m.pool);
}

static void expect_success(pid_t child)
{
    int status = 1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

/* A forked process has no threads of the pool, and starts its own. */
static void a_pool_survives_a_fork(void **state)
{
    (void)state;
    if (TW_TEST_NO_FORK)
        skip();
    struct platform_pool *pool = platform_pool_new(&allocator_libc, 3);
    expect_each_once(pool, 16);
    pid_t child = fork();
    if (child == 0) {
        atomic_int count = 0;
        platform_pool_run(pool, 16, count_inside, &count);
        platform_pool_free(pool);
        _exit(atomic_load(&count) == 16 ? 0 : 1);
    }
    expect_success(child);
    platform_pool_free(pool);
}

/* Two threads of a forked process that use the pool at the same time restart it once. */
static void threads_of_a_fork_meet_in_a_pool(void **state)
{
    (void)state;
    if (TW_TEST_NO_FORK)
        skip();
    struct platform_pool *pool = platform_pool_new(&allocator_libc, 3);
    expect_each_once(pool, 16);
    for (int i = 0; i < 20; i++) {
        pid_t child = fork();
        if (child == 0) {
            struct meeting m = {.pool = pool};
            struct platform_pool *starters = platform_pool_new(&allocator_libc, 2);
            platform_pool_run(starters, 2, meet, &m);
            platform_pool_free(starters);
            platform_pool_free(pool);
            _exit(atomic_load(&m.inside) == 2 * 5 ? 0 : 1);
        }
        expect_success(child);
    }
    platform_pool_free(pool);
}

static void add_digit(void *user)
{
    int *number = user;
    *number = *number * 10 + *number % 10 + 1;
}

struct gate {
    atomic_bool open;
};

static void wait_at(void *user)
{
    struct gate *g = user;
    while (!atomic_load(&g->open))
        platform_yield();
}

/* A forked process has neither the queue's thread nor the jobs of its parent. */
static void a_queue_survives_a_fork(void **state)
{
    (void)state;
    if (TW_TEST_NO_FORK)
        skip();
    struct gate gate = {false};
    int number = 0;
    struct platform_queue *q = platform_queue_new(&allocator_libc);
    struct platform_job before = {.run = wait_at, .user = &gate};
    struct platform_job after = {.run = add_digit, .user = &number};
    platform_queue_add(q, &before);
    pid_t child = fork();
    if (child == 0) {
        alarm(300); /* ends a hang */
        platform_queue_wait(q, NULL);
        bool forgotten = !platform_job_waiting(q, &before);
        platform_queue_add(q, &after);
        platform_queue_wait(q, &after);
        platform_queue_free(q);
        _exit(forgotten && number == 1 ? 0 : 1);
    }
    expect_success(child);
    assert_true(platform_job_waiting(q, &before));
    atomic_store(&gate.open, true);
    platform_queue_free(q);
}

static void a_queue_keeps_the_order(void **state)
{
    (void)state;
    int number = 0;
    struct platform_queue *q = platform_queue_new(&allocator_libc);
    struct platform_job jobs[4];
    for (int i = 0; i < 4; i++) {
        jobs[i] = (struct platform_job){.run = add_digit, .user = &number};
        platform_queue_add(q, &jobs[i]);
    }
    platform_queue_wait(q, &jobs[3]);
    assert_int_equal(number, 1234);
    assert_false(platform_job_waiting(q, &jobs[0]));
    platform_queue_wait(q, NULL);
    platform_queue_free(q);
}

static void cores_and_clock(void **state)
{
    (void)state;
    assert_true(platform_cores() >= 1);
    double before = platform_seconds();
    platform_yield();
    assert_true(platform_seconds() >= before);
}

static void a_file_is_written_read_and_replaced(void **state)
{
    (void)state;
    const char *path = path_of("k.npy"), *why = NULL;
    const char data[] = "one\0two";
    size_t length = 0;
    assert_true(platform_write_file(&arena, path, data, sizeof data, &why));
    char *back = platform_read_file(&arena, path, &length, &why);
    assert_int_equal(length, sizeof data);
    assert_memory_equal(back, data, sizeof data);
    assert_int_equal(back[length], '\0');

    assert_int_equal(chmod(path, 0640), 0);
    size_t large = 100000;
    char *many = arena_alloc(&arena, large);
    memset(many, 'x', large);
    assert_true(platform_write_file(&arena, path, many, large, &why));
    back = platform_read_file(&arena, path, &length, &why);
    assert_int_equal(length, large);
    assert_memory_equal(back, many, large);
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0640);
    assert_true(platform_write_file(&arena, path, NULL, 0, &why));
    assert_string_equal(platform_read_file(&arena, path, &length, &why), "");
    assert_int_equal(length, 0);
    assert_int_equal(entries(false), 1); /* no other file is left */
}

static void a_link_keeps_being_one(void **state)
{
    (void)state;
    const char *path = path_of("target"), *linked = path_of("link"), *why = NULL;
    size_t length;
    assert_true(platform_write_file(&arena, path, "a", 1, &why));
    assert_int_equal(symlink(path, linked), 0);
    assert_true(platform_write_file(&arena, linked, "b", 1, &why));
    assert_string_equal(platform_read_file(&arena, path, &length, &why), "b");
    struct stat info;
    assert_int_equal(lstat(linked, &info), 0);
    assert_true(S_ISLNK(info.st_mode));
}

static void failures_say_why_and_leave_nothing(void **state)
{
    (void)state;
    size_t length;
    const char *why = NULL;
    assert_null(platform_read_file(&arena, path_of("absent"), &length, &why));
    assert_non_null(why);
    why = NULL;
    assert_null(platform_read_file(&arena, folder, &length, &why)); /* a folder */
    assert_non_null(why);
    why = NULL;
    assert_false(platform_write_file(&arena, path_of("no/such"), "x", 1, &why));
    assert_non_null(why);
    why = NULL;
    assert_false(platform_write_file(&arena, folder, "x", 1, &why));
    assert_non_null(why);
    assert_int_equal(entries(false), 0);
}

static void devices_are_written_to_not_replaced(void **state)
{
    (void)state;
    const char *why = NULL;
    size_t length;
    struct stat info;
    assert_true(platform_write_file(&arena, "/dev/null", "x", 1, &why));
    assert_int_equal(stat("/dev/null", &info), 0);
    assert_true(S_ISCHR(info.st_mode));
    assert_non_null(platform_read_file(&arena, "/dev/null", &length, &why));
    assert_int_equal(length, 0);
    why = NULL;
    if (access("/dev/full", W_OK) == 0)
        assert_false(platform_write_file(&arena, "/dev/full", "x", 1, &why));
}

/* The text of a program is limited, because a device may have no end. */
static void texts_are_limited(void **state)
{
    (void)state;
    const char *why = NULL;
    size_t length;
    assert_null(platform_read_text(&arena, "/dev/zero", 1 << 20, false, &length, &why));
    assert_string_equal(why, "it has more than 1 MiB");
    assert_null(platform_read_text(&arena, "/dev/zero", 1 << 20, true, &length, &why));
    assert_string_equal(why, "it is a device or a pipe");
    assert_true(platform_write_file(&arena, path_of("text"), "four", 4, &why));
    assert_non_null(platform_read_text(&arena, path_of("text"), 1 << 20, true, &length, &why));
    assert_null(platform_read_text(&arena, path_of("text"), 3, true, &length, &why));
    unlink(path_of("text"));
}

static int allocations_left;

static void *scarce_resize(void *user, void *ptr, size_t old_size, size_t size)
{
    if (size && allocations_left-- <= 0)
        return NULL;
    return allocator_libc.resize(user, ptr, old_size, size);
}

static int lowest_free_descriptor(void)
{
    int fd = dup(0);
    close(fd);
    return fd;
}

static void memory_that_runs_out_closes_the_file(void **state)
{
    (void)state;
    const char *path = path_of("big"), *why = NULL;
    char *many = arena_alloc(&arena, 300000);
    assert_true(platform_write_file(&arena, path, many, 300000, &why));
    const struct allocator scarce = {scarce_resize, NULL, NULL};
    jmp_buf out;
    struct arena a;
    arena_init(&a, &scarce, &out);
    allocations_left = 0;
    int before = lowest_free_descriptor();
    volatile bool ran_out = false;
    size_t length;
    if (setjmp(out) == 0)
        platform_read_file(&a, path, &length, &why);
    else
        ran_out = true;
    assert_true(ran_out);
    assert_ptr_equal(a.out_of_memory, &out);
    assert_int_equal(lowest_free_descriptor(), before);
    arena_free(&a);
}

static void expect_text(const char *path, const char *want)
{
    size_t length;
    const char *why;
    char *text = platform_read_file(&arena, path, &length, &why);
    assert_non_null(text);
    assert_string_equal(text, want);
}

static void several_are_written_or_none(void **state)
{
    (void)state;
    const char *why = NULL;
    int bad = -1;
    struct platform_output files[] = {{path_of("a"), "one", 3}, {path_of("b"), "two", 3}};
    assert_true(platform_write_files(&arena, files, 2, &bad, &why));
    assert_int_equal(symlink("a", path_of("link")), 0);
    files[0].path = path_of("link");
    files[0].data = "ONE";
    assert_true(platform_write_files(&arena, files, 2, &bad, &why));
    expect_text(path_of("a"), "ONE");
    struct stat info;
    assert_int_equal(lstat(path_of("link"), &info), 0);
    assert_true(S_ISLNK(info.st_mode));
    mkdir(path_of("folder"), 0700);
    files[0].data = "lost";
    files[1].path = path_of("folder");
    assert_false(platform_write_files(&arena, files, 2, &bad, &why));
    assert_int_equal(bad, 1);
    assert_string_equal(why, "Is a directory");
    expect_text(path_of("a"), "ONE");
    assert_int_equal(entries(false), 4); /* a, b, link, folder: no temporary file is left */
}

#ifdef __linux__
/* A reader that opens the file at any moment finds the old content or the new one. */
static void a_path_is_never_without_a_file(void **state)
{
    (void)state;
    const char *why = NULL;
    int bad;
    struct platform_output file = {path_of("a"), "one", 3};
    assert_true(platform_write_files(&arena, &file, 1, &bad, &why));
    int seen = inotify_init1(IN_NONBLOCK);
    assert_true(inotify_add_watch(seen, folder, IN_MOVED_FROM | IN_DELETE) >= 0);
    assert_true(platform_write_files(&arena, &file, 1, &bad, &why));
    _Alignas(struct inotify_event) char events[4096];
    ssize_t length = read(seen, events, sizeof events);
    assert_true(length > 0); /* the temporary file took the name */
    for (const char *at = events; at < events + length;) {
        const struct inotify_event *e = (const struct inotify_event *)(const void *)at;
        assert_string_not_equal(e->name, "a");
        at += sizeof *e + e->len;
    }
    close(seen);
}
#endif

/* Memory keeps its content, whatever its place and size, even if it holds no whole large page. */
static void large_pages_change_nothing(void **state)
{
    static const size_t sizes[] = {0, 1, 5000, LARGE_PAGE - 1, LARGE_PAGE, 2 * LARGE_PAGE + 1};
    enum { FIRST = 4097 };
    unsigned char *memory = malloc(3 * LARGE_PAGE);
    (void)state;
    assert_non_null(memory);
    for (size_t i = 0; i < 3 * LARGE_PAGE; i++)
        memory[i] = (unsigned char)(i / 7);
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        platform_prefer_large_pages(memory + FIRST, sizes[s]);
    for (size_t i = 0; i < 3 * LARGE_PAGE; i++)
        if (memory[i] != (unsigned char)(i / 7))
            fail_msg("byte %zu", i);
    free(memory);
}

static void libraries(void **state)
{
    (void)state;
    assert_null(platform_library("libno_such_library.so"));
    void *self = platform_library(NULL);
    assert_non_null(self);
    assert_non_null(platform_symbol(self, "malloc"));
    assert_null(platform_symbol(self, "tw_no_such_symbol"));
}

/* --- stacks --- */

struct recursion {
    struct platform_stack *stack;
    int sum, outside;
};

static int sum_to(volatile int n)
{
    volatile char room[1000];
    room[0] = 1;
    return n == 0 ? 0 : sum_to(n - 1) + room[0];
}

static void count_outside(void *user)
{
    struct recursion *r = user;
    r->outside += sum_to(10);
}

static void count_deeply(void *user)
{
    struct recursion *r = user;
    platform_stack_leave(r->stack, count_outside, r);
    r->sum += sum_to(20000);
    platform_stack_leave(r->stack, count_outside, r);
}

static void a_stack_is_as_large_as_it_was_made(void **state)
{
    (void)state;
    struct recursion r = {platform_stack_new(&allocator_libc, 64 << 20), 0, 0};
    assert_non_null(r.stack);
    for (int i = 1; i <= 3; i++) {
        assert_true(platform_stack_call(r.stack, count_deeply, &r));
        assert_int_equal(r.sum, i * 20000);
        assert_int_equal(r.outside, i * 20);
    }
    size_t used = platform_stack_used(r.stack);
    assert_true(used == 0 || used > 20000 * 1000);
    platform_stack_free(r.stack);
    platform_stack_free(NULL);
}

static void add_100(void *user)
{
    *(int *)user += sum_to(100);
}

static void a_thread_runs_alone(void **state)
{
    (void)state;
    int count = 0;
    assert_true(platform_run_thread(1 << 20, add_100, &count));
    assert_int_equal(count, 100);
}

/* --- instructions --- */

#if defined(__x86_64__)
/* The compiler's functions know names of instructions, and whether the system saves their registers. */
static void instructions_are_the_compilers(void **state)
{
    (void)state;
    __builtin_cpu_init();
    bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
              __builtin_cpu_supports("bmi2");
    bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
              __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
              __builtin_cpu_supports("avx512vl");
    bool vnni = v4 && __builtin_cpu_supports("avx512vnni");
    assert_int_equal(platform_x86_has(X86_INTEL), __builtin_cpu_is("intel") != 0);
    assert_int_equal(platform_x86_has(X86_AMD), __builtin_cpu_is("amd") != 0);
    assert_int_equal(platform_x86_has(X86_V3), v3);
    assert_int_equal(platform_x86_has(X86_V4), v4);
    assert_int_equal(platform_x86_has(X86_VNNI), vnni);
    assert_int_equal(platform_x86_has(X86_BF16), vnni && __builtin_cpu_supports("avx512bf16"));
    assert_false(platform_x86_has(X86_INTEL | X86_AMD));
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
#if defined(__x86_64__)
        cmocka_unit_test(instructions_are_the_compilers),
#endif
        cmocka_unit_test(a_stack_is_as_large_as_it_was_made),
        cmocka_unit_test(a_thread_runs_alone),
        cmocka_unit_test(a_pool_runs_each_task_once),
        cmocka_unit_test(tasks_run_at_the_same_time),
        cmocka_unit_test(a_pool_survives_a_fork),
        cmocka_unit_test(threads_of_a_fork_meet_in_a_pool),
        cmocka_unit_test(a_queue_keeps_the_order),
        cmocka_unit_test(a_queue_survives_a_fork),
        cmocka_unit_test(cores_and_clock),
        cmocka_unit_test_setup_teardown(a_file_is_written_read_and_replaced, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_link_keeps_being_one, set_up, tear_down),
        cmocka_unit_test_setup_teardown(failures_say_why_and_leave_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(devices_are_written_to_not_replaced, set_up, tear_down),
        cmocka_unit_test_setup_teardown(texts_are_limited, set_up, tear_down),
        cmocka_unit_test_setup_teardown(memory_that_runs_out_closes_the_file, set_up, tear_down),
        cmocka_unit_test_setup_teardown(several_are_written_or_none, set_up, tear_down),
#ifdef __linux__
        cmocka_unit_test_setup_teardown(a_path_is_never_without_a_file, set_up, tear_down),
#endif
        cmocka_unit_test(large_pages_change_nothing),
        cmocka_unit_test(libraries),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
