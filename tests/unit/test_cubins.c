/* A text is assembled once for all launches, entries and PTX programs, in contexts and processes
 * that share a folder. Uses the driver without a GPU, whose cubin is the text. */
#include "cuda_helper.h"
#include "tilewright_entry.h"
#include "tilewright_gpu.h"
#include "tilewright_sim.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char twice_text[] =
    "kernel twice(i32 n, const f32 *a, f32 *c) grid(cdiv(n, 32)) warps(1)\n"
    "{\n"
    "    global f32 A[n] = a, C[n] = c;\n"
    "    C[block.x * 32 +: 32] = A[block.x * 32 +: 32] * 2;\n"
    "}\n";

static char folder[64], assembler_log[80];

static int cache_setup(void **state)
{
    strcpy(folder, "/tmp/tw-test-XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    int result = cuda_setup(state);
    snprintf(assembler_log, sizeof assembler_log, "%s.log", folder);
    setenv("TILEWRIGHT_CACHE", folder, 1);
    setenv("TILEWRIGHT_PTXAS", TW_TEST_ROOT "/tests/cuda/fake_ptxas", 1);
    setenv("FAKE_PTXAS_LOG", assembler_log, 1);
    return result;
}

/* Returns the path of the only file of the folder, NULL if there is none; removes it if
 * `remove_it`. */
static const char *only_file(bool remove_it)
{
    static char path[512];
    bool found = false;
    DIR *dir = opendir(folder);
    for (struct dirent *e; dir && (e = readdir(dir));) {
        if (e->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        found = true;
        if (remove_it)
            remove(path);
    }
    if (dir)
        closedir(dir);
    return found ? path : NULL;
}

static int cache_teardown(void **state)
{
    only_file(true);
    rmdir(folder);
    remove(assembler_log);
    unsetenv("FAKE_PTXAS_LOG");
    setenv("TILEWRIGHT_CACHE", "", 1);
    return cuda_teardown(state);
}

/* A context of its own, like that of another process. */
struct session {
    tw_context *ctx;
    tw_launch *launch;
    float a[50], c[50];
};

static void open_session(struct session *s, const char *cache)
{
    tw_config config = {.size = sizeof config, .cache = cache, .threads = 1};
    tw_module *m;
    tw_kernel *k;
    memset(s, 0, sizeof *s);
    assert_int_equal(tw_context_new(&config, &s->ctx), TW_OK);
    assert_int_equal(tw_module_from_text(s->ctx, "t", twice_text, strlen(twice_text), &m), TW_OK);
    assert_int_equal(tw_kernel_for_target(tw_module_kernel_at(m, 0), "cuda", &k), TW_OK);
    assert_int_equal(tw_launch_new(k, &s->launch), TW_OK);
    for (int i = 0; i < 50; i++)
        s->a[i] = (float)i;
    tw_array a = array(s->a, TW_F32, 1, 50, 0), c = array(s->c, TW_F32, 1, 50, 0);
    assert_int_equal(tw_launch_array(s->launch, "a", &a), TW_OK);
    assert_int_equal(tw_launch_array(s->launch, "c", &c), TW_OK);
}

static void run(struct session *s)
{
    if (tw_launch_run(s->launch) != TW_OK)
        fail_msg("%s", tw_context_messages(s->ctx));
    for (int i = 0; i < 50; i++)
        assert_true(s->c[i] == 2 * s->a[i]);
}

/* Returns the number of calls of ptxas. */
static long assembled(void)
{
    long lines = 0;
    FILE *f = fopen(assembler_log, "r");
    for (int c; f && (c = getc(f)) != EOF;)
        lines += c == '\n';
    if (f)
        fclose(f);
    return lines;
}

/* Runs the test's kernel in a new context; returns the number of calls of ptxas. */
static long assembled_by_a_run(const char *cache)
{
    struct session s;
    long before = assembled();
    open_session(&s, cache);
    run(&s);
    tw_context_free(s.ctx);
    return assembled() - before;
}

static void the_second_context_assembles_nothing(void **state)
{
    (void)state;
    assert_int_equal(assembled_by_a_run(NULL), 1);
    assert_non_null(only_file(false));
    assert_int_equal(assembled_by_a_run(NULL), 0);
    setenv("TILEWRIGHT_CACHE", "", 1);
    assert_int_equal(assembled_by_a_run(folder), 0); /* the configuration names the folder */
    assert_int_equal(assembled_by_a_run(NULL), 0);   /* no folder: the driver takes the text */
}

static void without_a_cache_the_driver_takes_the_text(void **state)
{
    (void)state;
    struct session s;
    tw_cache cache = tw_cache_init();
    assert_int_equal(assembled_by_a_run(""), 0);
    assert_null(only_file(false));
    open_session(&s, "");
    assert_int_equal(tw_context_cache(s.ctx, &cache), TW_OK);
    assert_null(cache.folder);
    tw_context_free(s.ctx);
}

static void another_driver_has_its_own(void **state)
{
    (void)state;
    assert_int_equal(assembled_by_a_run(NULL), 1);
    setenv("FAKE_CUDA_VERSION", "13010", 1);
    assert_int_equal(assembled_by_a_run(NULL), 1);
    assert_int_equal(assembled_by_a_run(NULL), 0);
    setenv("FAKE_CUDA_SM", "90", 1);
    assert_int_equal(assembled_by_a_run(NULL), 1);
    unsetenv("FAKE_CUDA_VERSION");
    unsetenv("FAKE_CUDA_SM");
    assert_int_equal(assembled_by_a_run(NULL), 0);
}

static void a_damaged_file_is_replaced(void **state)
{
    (void)state;
    assert_int_equal(assembled_by_a_run(NULL), 1);
    FILE *f = fopen(only_file(false), "r+b");
    fseek(f, -1, SEEK_END);
    fputc('!', f);
    fclose(f);
    assert_int_equal(assembled_by_a_run(NULL), 1);
    assert_int_equal(assembled_by_a_run(NULL), 0);
    assert_int_equal(truncate(only_file(false), 90), 0);
    assert_int_equal(assembled_by_a_run(NULL), 1);
    assert_int_equal(assembled_by_a_run(NULL), 0);
}

/* If the driver refuses a file of the cache, it is assembled again. If ptxas refuses the text or
 * is missing, the driver gets the text. */
static void refusals_have_a_way_out(void **state)
{
    (void)state;
    enum { INVALID_IMAGE = 200 };
    setenv("FAKE_PTXAS_FAIL", "1", 1);
    assert_int_equal(assembled_by_a_run(NULL), 1);
    assert_null(only_file(false));
    unsetenv("FAKE_PTXAS_FAIL");
    setenv("TILEWRIGHT_PTXAS", "", 1);
    assert_int_equal(assembled_by_a_run(NULL), 0);
    assert_null(only_file(false));
    setenv("TILEWRIGHT_PTXAS", TW_TEST_ROOT "/tests/cuda/fake_ptxas", 1);
    assert_int_equal(assembled_by_a_run(NULL), 1);
    driver.fake_cuda_fail("cuModuleLoadDataEx", 1, INVALID_IMAGE);
    assert_int_equal(assembled_by_a_run(NULL), 1);
    assert_int_equal(assembled_by_a_run(NULL), 0);
}

static void assembling_ahead_loads_nothing(void **state)
{
    (void)state;
    struct session s;
    long loads = driver.fake_cuda_calls("cuModuleLoadDataEx");
    long before = assembled();
    open_session(&s, NULL);
    assert_int_equal(tw_launch_assemble(s.launch), TW_OK);
    assert_int_equal(tw_launch_assemble(s.launch), TW_OK);
    assert_int_equal(driver.fake_cuda_calls("cuModuleLoadDataEx"), loads);
    assert_int_equal(assembled(), before + 1);
    tw_cache cache = tw_cache_init();
    assert_int_equal(tw_context_cache(s.ctx, &cache), TW_OK);
    assert_string_equal(cache.folder, folder);
    assert_int_equal(cache.kernels, 1);
    assert_true(cache.bytes > 0 && cache.limit_bytes == (int64_t)1 << 30);
    assert_null(cache.trouble);
    tw_context_free(s.ctx);
    assert_int_equal(assembled_by_a_run(NULL), 0);
}

static void ahead_without_sizes(void **state)
{
    (void)state;
    struct session s;
    open_session(&s, NULL);
    tw_launch_array(s.launch, "a", NULL);
    tw_launch_array(s.launch, "c", NULL);
    assert_int_equal(tw_launch_assemble(s.launch), TW_BAD_ARGUMENT); /* is it a multiple of 16? */
    tw_launch_set(s.launch, "n", integer(50));
    assert_int_equal(tw_launch_assemble(s.launch), TW_OK);
    tw_context_free(s.ctx);
    assert_int_equal(assembled_by_a_run(NULL), 0);
}

static void entries_and_launches_share(void **state)
{
    (void)state;
    struct session s;
    tw_entry *entry;
    void *memory;
    assert_int_equal(assembled_by_a_run(NULL), 1);
    long before = assembled();
    open_session(&s, NULL);
    assert_int_equal(tw_entry_new(s.launch, &entry), TW_OK);
    assert_int_equal(tw_device_allocate(s.ctx, 200, &memory), TW_OK);
    assert_int_equal(tw_device_fill(s.ctx, memory, 0, 200, NULL), TW_OK);
    tw_value args[] = {tw_int(50), tw_pointer(memory), tw_pointer(memory)};
    assert_int_equal(tw_entry_start(entry, args, 3, NULL, NULL), TW_OK);
    assert_int_equal(assembled(), before);
    tw_context_free(s.ctx);
}

static void programs_of_others_are_kept_too(void **state)
{
    (void)state;
    static const char ptx[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
                              ".visible .entry nothing()\n{\n    ret;\n}\n";
    long before = assembled();
    for (int i = 0; i < 2; i++) {
        tw_context *ctx;
        tw_ptx *p;
        assert_int_equal(tw_context_new(NULL, &ctx), TW_OK);
        assert_int_equal(tw_ptx_from_text(ctx, "n.ptx", ptx, strlen(ptx), &p), TW_OK);
        assert_int_equal(
            tw_ptx_run(p, &(tw_ptx_launch){.size = sizeof(tw_ptx_launch), .kernel = "nothing"},
                       NULL),
            TW_OK);
        tw_context_free(ctx);
    }
    assert_int_equal(assembled(), before + 1);
}

static void what_goes_wrong_shows(void **state)
{
    (void)state;
    struct session s;
    char file[80], below[96];
    tw_cache cache = tw_cache_init();
    snprintf(file, sizeof file, "%s/file", folder);
    snprintf(below, sizeof below, "%s/cache", file);
    fclose(fopen(file, "w"));
    assert_int_equal(assembled_by_a_run(below), 1);
    assert_int_equal(assembled_by_a_run(below), 1);
    open_session(&s, below);
    assert_int_equal(tw_context_cache(s.ctx, &cache), TW_OK);
    assert_string_equal(cache.trouble, "Not a directory");
    tw_context_free(s.ctx);
}

/* With and without a cache, a failure gives a status and leaks nothing. */
static void memory_may_run_out(void **state)
{
    struct fixture *f = *state;
    tw_context_free(f->ctx);
    tw_status status = TW_NO_MEMORY;
    for (long at = 0; status != TW_OK; at++) {
        f->ctx = NULL;
        f->memory.calls = 0;
        f->memory.fail_from = at;
        tw_module *m;
        tw_kernel *k;
        tw_launch *l;
        only_file(true);
        status = tw_context_new(&f->config, &f->ctx);
        if (status == TW_OK)
            status = tw_module_from_text(f->ctx, "t", twice_text, strlen(twice_text), &m);
        if (status == TW_OK)
            status = tw_kernel_for_target(tw_module_kernel_at(m, 0), "cuda", &k);
        if (status == TW_OK)
            status = tw_launch_new(k, &l);
        if (status == TW_OK)
            status = tw_launch_set(l, "n", integer(50));
        if (status == TW_OK)
            status = tw_launch_assemble(l);
        assert_true(status == TW_OK || status == TW_NO_MEMORY);
        f->memory.fail_from = -1;
        tw_context_free(f->ctx);
        assert_int_equal(f->memory.live, 0);
        assert_int_equal(driver.fake_cuda_live(-1), 0);
    }
    assert_int_equal(tw_context_new(&f->config, &f->ctx), TW_OK);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, cache_setup, cache_teardown)
    const struct CMUnitTest tests[] = {
        TEST(the_second_context_assembles_nothing),
        TEST(without_a_cache_the_driver_takes_the_text),
        TEST(another_driver_has_its_own),
        TEST(a_damaged_file_is_replaced),
        TEST(refusals_have_a_way_out),
        TEST(assembling_ahead_loads_nothing),
        TEST(ahead_without_sizes),
        TEST(entries_and_launches_share),
        TEST(programs_of_others_are_kept_too),
        TEST(what_goes_wrong_shows),
        TEST(memory_may_run_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
