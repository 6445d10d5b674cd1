/* The seam to the system: threads run every index, files are whole or untouched. */
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
#include <unistd.h>

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

/* Entries of the folder; removes them when asked. */
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

static void parallel_runs_each_index_once(void **state)
{
    (void)state;
    static atomic_int counts[700];
    const int sizes[] = {0, 1, 2, 16, 256, 257, 700};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        for (int i = 0; i < 700; i++)
            atomic_store(&counts[i], 0);
        platform_parallel(sizes[s], count_index, counts);
        for (int i = 0; i < 700; i++)
            assert_int_equal(atomic_load(&counts[i]), i < sizes[s]);
    }
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
    assert_int_equal(entries(false), 1); /* nothing is left beside it */
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
    const struct allocator scarce = {scarce_resize, NULL};
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

static void libraries(void **state)
{
    (void)state;
    assert_null(platform_library("libno_such_library.so"));
    void *self = platform_library(NULL);
    assert_non_null(self);
    assert_non_null(platform_symbol(self, "malloc"));
    assert_null(platform_symbol(self, "tw_no_such_symbol"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parallel_runs_each_index_once),
        cmocka_unit_test(cores_and_clock),
        cmocka_unit_test_setup_teardown(a_file_is_written_read_and_replaced, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_link_keeps_being_one, set_up, tear_down),
        cmocka_unit_test_setup_teardown(failures_say_why_and_leave_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(devices_are_written_to_not_replaced, set_up, tear_down),
        cmocka_unit_test_setup_teardown(memory_that_runs_out_closes_the_file, set_up, tear_down),
        cmocka_unit_test(libraries),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
