/* Cubins on disk: a look-up finds them by everything that they depend on, never takes a damaged
 * one, and the cache keeps within its size. */
#include "cuda/cuda_cache.h"

#include "base/platform.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static struct arena arena;
static jmp_buf failed;
static char folder[64];

static const char text[] = ".version 8.0\n.target sm_80\n";
static const struct cuda_cache_source usual = {.compiler = "0.1.0",
                                               .ptx = text,
                                               .ptx_length = sizeof text - 1,
                                               .assembler = "13000",
                                               .target = "sm_90"};

static int set_up(void **state)
{
    arena_init(&arena, &allocator_libc, &failed);
    strcpy(folder, "/tmp/tw-test-XXXXXX");
    unsetenv("TILEWRIGHT_CACHE_MIB");
    if (!mkdtemp(folder))
        return -1;
    *state = cuda_cache_open(&allocator_libc, folder);
    return *state ? 0 : -1;
}

static const char *within(const char *name)
{
    return arena_printf(&arena, "%s/%s", folder, name);
}

static int tear_down(void **state)
{
    cuda_cache_close(*state);
    struct platform_files files = platform_list_files(&arena, folder);
    for (size_t i = 0; i < files.list.count; i++)
        remove(within(files.list.data[i].name));
    rmdir(folder);
    arena_free(&arena);
    return 0;
}

/* Returns the path of the only file. */
static const char *only_file(void)
{
    struct platform_files files = platform_list_files(&arena, folder);
    assert_int_equal(files.list.count, 1);
    return within(files.list.data[0].name);
}

static void expect(struct cuda_cache *c, const struct cuda_cache_key *key, const char *cubin)
{
    size_t length = 0;
    const char *found = cuda_cache_find(c, &arena, key, &length);
    if (!cubin) {
        assert_null(found);
        return;
    }
    assert_non_null(found);
    assert_int_equal((uintptr_t)found % 16, 0);
    assert_int_equal(length, strlen(cubin) + 1);
    assert_string_equal(found, cubin);
}

static void put(struct cuda_cache *c, const struct cuda_cache_key *key, const char *cubin)
{
    cuda_cache_store(c, &arena, key, cubin, strlen(cubin) + 1);
}

static void what_was_stored_is_found(void **state)
{
    struct cuda_cache *c = *state;
    struct cuda_cache_key key = cuda_cache_key(&usual);
    expect(c, &key, NULL);
    put(c, &key, "machine code");
    expect(c, &key, "machine code");
    struct cuda_cache *other = cuda_cache_open(&allocator_libc, folder);
    expect(other, &key, "machine code");
    cuda_cache_close(other);
    struct cuda_cache_state look = cuda_cache_look(c, &arena);
    assert_string_equal(look.folder, folder);
    assert_int_equal(look.files, 1);
    assert_int_equal(look.limit, (int64_t)1 << 30);
    assert_null(look.trouble);
}

static void all_that_matters_is_in_the_key(void **state)
{
    struct cuda_cache *c = *state;
    struct cuda_cache_key key = cuda_cache_key(&usual);
    put(c, &key, "machine code");
    struct cuda_cache_source others[] = {usual, usual, usual, usual};
    others[0].compiler = "0.1.1";
    others[1].ptx_length--;
    others[2].assembler = "12080";
    others[3].target = "sm_80";
    for (int i = 0; i < 4; i++) {
        struct cuda_cache_key other = cuda_cache_key(&others[i]);
        expect(c, &other, NULL);
    }
    expect(c, &key, "machine code");
}

static void overwrite(const char *path, const char *data, size_t length)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, length, f), length);
    fclose(f);
}

/* Every byte matters, and so does each length. */
static void a_damaged_file_counts_as_absent(void **state)
{
    struct cuda_cache *c = *state;
    struct cuda_cache_key key = cuda_cache_key(&usual);
    put(c, &key, "machine code");
    const char *path = only_file(), *why;
    size_t length;
    char *whole = platform_read_file(&arena, path, &length, &why);
    for (size_t i = 0; i < length; i++) {
        whole[i] ^= 0x10;
        overwrite(path, whole, length);
        expect(c, &key, NULL);
        whole[i] ^= 0x10;
    }
    for (size_t shorter = 0; shorter < length; shorter++) {
        overwrite(path, whole, shorter);
        expect(c, &key, NULL);
    }
    overwrite(path, whole, length + 1); /* the '\0' after the bytes read */
    expect(c, &key, NULL);
    put(c, &key, "machine code");
    assert_string_equal(only_file(), path);
    expect(c, &key, "machine code");
}

/* The file of another key, renamed: its content names its key. */
static void a_file_under_a_wrong_name_is_not_taken(void **state)
{
    struct cuda_cache *c = *state;
    struct cuda_cache_source other = usual;
    other.target = "sm_80";
    struct cuda_cache_key key = cuda_cache_key(&usual), wrong = cuda_cache_key(&other);
    put(c, &key, "machine code");
    const char *path = only_file();
    put(c, &wrong, "other machine code");
    struct platform_files files = platform_list_files(&arena, folder);
    for (size_t i = 0; i < files.list.count; i++)
        if (strcmp(within(files.list.data[i].name), path) != 0)
            assert_int_equal(rename(within(files.list.data[i].name), path), 0);
    expect(c, &key, NULL);
    expect(c, &wrong, NULL);
}

enum { WRITERS = 8, ROUNDS = 50, CUBIN = 40000 };

/* Writes the same file and reads it, repeatedly: each read gets a whole file. */
static int write_and_read(int writer)
{
    static char cubin[CUBIN];
    struct cuda_cache *c = cuda_cache_open(&allocator_libc, folder);
    struct cuda_cache_key key = cuda_cache_key(&usual);
    memset(cubin, 'a' + writer, sizeof cubin);
    for (int round = 0; round < ROUNDS; round++) {
        size_t length = 0;
        cuda_cache_store(c, &arena, &key, cubin, sizeof cubin);
        const char *found = cuda_cache_find(c, &arena, &key, &length);
        if (!found || length != sizeof cubin)
            return 1;
        for (size_t i = 1; i < length; i++)
            if (found[i] != found[0])
                return 1;
    }
    return 0;
}

static void processes_write_at_the_same_time(void **state)
{
    (void)state;
    pid_t children[WRITERS];
    for (int i = 0; i < WRITERS; i++) {
        children[i] = fork();
        if (children[i] == 0)
            _exit(write_and_read(i));
        assert_true(children[i] > 0);
    }
    for (int i = 0; i < WRITERS; i++) {
        int status;
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    only_file(); /* no temporary file is left */
}

/* A file has the folder's name, so no user can write there. */
static void without_a_folder_nothing_is_kept(void **state)
{
    (void)state;
    overwrite(within("file"), "", 0);
    struct cuda_cache *c = cuda_cache_open(&allocator_libc, within("file/cache"));
    struct cuda_cache_key key = cuda_cache_key(&usual);
    expect(c, &key, NULL);
    put(c, &key, "machine code");
    expect(c, &key, NULL);
    assert_string_equal(cuda_cache_look(c, &arena).trouble, "Not a directory");
    cuda_cache_close(c);
}

static void a_folder_that_is_read_only_is_read(void **state)
{
    struct cuda_cache *c = *state;
    struct cuda_cache_key key = cuda_cache_key(&usual);
    put(c, &key, "machine code");
    assert_int_equal(chmod(folder, 0500), 0);
    bool allowed = access(folder, W_OK) == 0; /* root may nevertheless */
    put(c, &key, "other machine code");
    expect(c, &key, allowed ? "other machine code" : "machine code");
    assert_int_equal(cuda_cache_look(c, &arena).trouble == NULL, allowed);
    assert_int_equal(chmod(folder, 0700), 0);
}

static void folders_are_made(void **state)
{
    (void)state;
    struct cuda_cache *c = cuda_cache_open(&allocator_libc, within("one/two/"));
    struct cuda_cache_key key = cuda_cache_key(&usual);
    put(c, &key, "machine code");
    expect(c, &key, "machine code");
    struct platform_files files = platform_list_files(&arena, within("one/two"));
    assert_int_equal(files.list.count, 1);
    remove(within(arena_printf(&arena, "one/two/%s", files.list.data[0].name)));
    rmdir(within("one/two"));
    rmdir(within("one"));
    cuda_cache_close(c);
}

static struct cuda_cache_key numbered(int number)
{
    struct cuda_cache_source from = usual;
    from.assembler = arena_printf(&arena, "%d", number);
    return cuda_cache_key(&from);
}

/* Sets the time of the latest use, as file systems may count in coarse steps. */
static void age(const char *path, int seconds)
{
    struct timespec times[2] = {{.tv_sec = (time_t)platform_date() - seconds}};
    times[1] = times[0];
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

/* 1 MiB in files of 64 KiB: 15 fit, and space for a sixteenth stays free. */
static void the_least_recently_used_go(void **state)
{
    (void)state;
    static char cubin[1 << 16];
    setenv("TILEWRIGHT_CACHE_MIB", "1", 1);
    struct cuda_cache *c = cuda_cache_open(&allocator_libc, folder);
    overwrite(within("notes.txt"), "mine", 4);
    for (int i = 0; i < 40; i++) {
        struct cuda_cache_key key = numbered(i), first = numbered(0);
        struct platform_files before = platform_list_files(&arena, folder);
        for (size_t f = 0; f < before.list.count; f++)
            age(within(before.list.data[f].name),
                (int)(platform_date() - before.list.data[f].used) + 10);
        size_t length;
        if (i > 0)
            assert_non_null(cuda_cache_find(c, &arena, &first, &length));
        cuda_cache_store(c, &arena, &key, cubin, sizeof cubin);
        assert_true(cuda_cache_look(c, &arena).bytes <= 1 << 20);
    }
    assert_true(cuda_cache_look(c, &arena).files >= 14);
    size_t length;
    struct cuda_cache_key latest = numbered(39), old = numbered(10);
    assert_non_null(cuda_cache_find(c, &arena, &latest, &length));
    assert_null(cuda_cache_find(c, &arena, &old, &length));
    assert_int_equal(access(within("notes.txt"), F_OK), 0);
    cuda_cache_close(c);
}

/* An old file of a killed process is removed; a file that another process writes remains. */
static void leftovers_go(void **state)
{
    struct cuda_cache *c = *state;
    struct cuda_cache_key key = cuda_cache_key(&usual);
    put(c, &key, "machine code");
    const char *old = arena_printf(&arena, "%s.77-0.tmp", only_file());
    const char *young = arena_printf(&arena, "%s.78-0.tmp", only_file());
    overwrite(old, "half", 4);
    overwrite(young, "half", 4);
    age(old, 7200);
    struct cuda_cache *other = cuda_cache_open(&allocator_libc, folder);
    put(other, &key, "machine code"); /* a cache looks for old files at its first write */
    assert_int_not_equal(access(old, F_OK), 0);
    assert_int_equal(access(young, F_OK), 0);
    cuda_cache_close(other);
}

static void settings_are_heard(void **state)
{
    struct cuda_cache_key key = cuda_cache_key(&usual);
    put(*state, &key, "machine code");
    setenv("TILEWRIGHT_CACHE", folder, 1);
    struct cuda_cache *c = cuda_cache_open(&allocator_libc, NULL);
    expect(c, &key, "machine code");
    cuda_cache_close(c);
    const char *const off[] = {"", folder};
    for (int i = 0; i < 2; i++) {
        setenv("TILEWRIGHT_CACHE", off[i], 1);
        setenv("TILEWRIGHT_CACHE_MIB", i ? "0" : "5", 1);
        c = cuda_cache_open(&allocator_libc, NULL);
        assert_false(cuda_cache_on(c));
        expect(c, &key, NULL);
        assert_null(cuda_cache_look(c, &arena).folder);
        cuda_cache_close(c);
    }
    setenv("TILEWRIGHT_CACHE_MIB", "lots", 1);
    c = cuda_cache_open(&allocator_libc, folder);
    assert_int_equal(cuda_cache_look(c, &arena).limit, (int64_t)1 << 30);
    assert_non_null(strstr(cuda_cache_look(c, &arena).trouble, "`lots`"));
    cuda_cache_close(c);
    unsetenv("TILEWRIGHT_CACHE_MIB");
    unsetenv("TILEWRIGHT_CACHE");
    setenv("XDG_CACHE_HOME", folder, 1);
    c = cuda_cache_open(&allocator_libc, NULL);
    assert_string_equal(cuda_cache_look(c, &arena).folder, within("tilewright"));
    cuda_cache_close(c);
    rmdir(within("tilewright"));
    unsetenv("XDG_CACHE_HOME");
}

struct failing {
    long calls, fail_at;
};

static void *failing_resize(void *user, void *ptr, size_t old_size, size_t size)
{
    struct failing *f = user;
    (void)old_size;
    if (size == 0) {
        free(ptr);
        return NULL;
    }
    return f->calls++ == f->fail_at ? NULL : realloc(ptr, size);
}

/* Whichever allocation fails, nothing leaks and no partial file is found. */
static void memory_may_run_out(void **state)
{
    (void)state;
    struct cuda_cache_key key = cuda_cache_key(&usual);
    static char cubin[CUBIN];
    int stored = 0;
    for (long fail_at = 0; !stored; fail_at++) {
        struct failing failing = {.fail_at = fail_at};
        struct allocator allocator = {failing_resize, &failing, NULL};
        jmp_buf out_of_memory;
        struct arena scratch;
        struct cuda_cache *volatile c = NULL;
        arena_init(&scratch, &allocator, &out_of_memory);
        if (!setjmp(out_of_memory)) {
            c = cuda_cache_open(&allocator, folder);
            if (c) {
                size_t length;
                cuda_cache_store(c, &scratch, &key, cubin, sizeof cubin);
                stored =
                    cuda_cache_find(c, &scratch, &key, &length) != NULL && length == sizeof cubin;
            }
        }
        arena_free(&scratch);
        cuda_cache_close(c);
    }
    only_file();
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(what_was_stored_is_found),
        TEST(all_that_matters_is_in_the_key),
        TEST(a_damaged_file_counts_as_absent),
        TEST(a_file_under_a_wrong_name_is_not_taken),
        TEST(processes_write_at_the_same_time),
        TEST(without_a_folder_nothing_is_kept),
        TEST(a_folder_that_is_read_only_is_read),
        TEST(folders_are_made),
        TEST(the_least_recently_used_go),
        TEST(leftovers_go),
        TEST(settings_are_heard),
        TEST(memory_may_run_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
