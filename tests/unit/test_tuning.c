/* Tuning: classes of sizes, keys of programs, occupancy; the store, expected values, tuned
 * launches; memory that runs out at every allocation. */
#include "api_helper.h"
#include "arena_helper.h"

#include "model/occupancy.h"
#include "store/model.h"
#include "tilewright_tuning.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- classes --- */

static const char *class_text(int64_t v, bool is_static)
{
    struct text out;
    text_init(&out, &arena);
    tune_size_range_add(&out, "m", tune_size_range_of(v, is_static));
    return out.data;
}

static void sizes_fall_in_classes(void **state)
{
    (void)state;
    assert_string_equal(class_text(4096, true), "m=4096");
    assert_string_equal(class_text(4096, false), "m=4096..8191/16");
    assert_string_equal(class_text(8191, false), "m=4096..8191");
    assert_string_equal(class_text(8192, false), "m=8192..16383/16");
    assert_string_equal(class_text(1, false), "m=1");
    assert_string_equal(class_text(3, false), "m=2..3");
    assert_string_equal(class_text(0, false), "m=0");
    assert_string_equal(class_text(-5, false), "m=-5");
    struct size_range most = tune_size_range_of(INT64_MAX, false);
    assert_true(most.low == INT64_C(1) << 62 && most.high == INT64_MAX);
}

static void classes_read_back(void **state)
{
    (void)state;
    const char *at = "m=4096..8191/16,n=4096,k=-5";
    char name[64];
    int64_t low, high;
    int divisor;
    assert_true(tw_shape_next(&at, name, &low, &high, &divisor));
    assert_string_equal(name, "m");
    assert_true(low == 4096 && high == 8191 && divisor == 16);
    assert_true(tw_shape_next(&at, name, &low, &high, &divisor));
    assert_true(low == 4096 && high == 4096 && divisor == 1);
    assert_true(tw_shape_next(&at, name, &low, &high, &divisor));
    assert_true(low == -5 && high == -5);
    assert_false(tw_shape_next(&at, name, &low, &high, &divisor));
    at = "m=12x";
    assert_false(tw_shape_next(&at, name, &low, &high, &divisor));
}

static void distances_are_in_powers_of_two(void **state)
{
    (void)state;
    assert_true(tune_shape_distance("m=256..511/16,n=64", "m=256..511/16,n=64") == 0);
    assert_true(tune_shape_distance("m=256..511/16,n=64", "m=1024..2047,n=64") == 3);
    assert_true(tune_shape_distance("m=256..511,n=64", "m=256..511,n=128") == 1);
    assert_true(tune_shape_distance("m=256..511", "k=256..511") < 0);
    assert_true(tune_shape_distance("m=256..511", "m=256..511,n=1") < 0);
    assert_true(tune_shape_distance("m=0", "m=1") < 0);
}

/* --- programs --- */

static uint64_t id_of(const char *text, const char *kernel)
{
    struct source source = {.name = "t.tile", .text = text, .length = strlen(text)};
    return program_id(&arena, &(const struct source *){&source}, 1, kernel);
}

static void programs_differ_by_what_they_do(void **state)
{
    (void)state;
    static const char one[] = "tune B = {1, 2};\nconst i32 C = 3;\n"
                              "kernel a(i32 m) grid(m) warps(1) { x = B; }\n"
                              "kernel b(i32 m) grid(m) warps(1) { x = 1; }\n";
    static const char reworded[] = "// said otherwise\ntune B = {1, 2, 3};\nconst i32 C = 3 ;\n"
                                   "kernel a(i32 m)\n  grid(m) warps(1)\n{ x = B; /* so */ }\n"
                                   "kernel b(i32 m) grid(m) warps(2) { if (m) { x = 2; } }\n";
    assert_true(id_of(one, "a") == id_of(reworded, "a"));
    assert_true(id_of(one, "b") != id_of(reworded, "b"));
    assert_true(id_of(one, "a") != id_of(one, "b"));
    assert_true(id_of("const i32 C = 3;", "a") != id_of("const i32 C = 4;", "a"));
    assert_true(id_of("const i32 AB = 3;", "a") != id_of("const i32 A B = 3;", "a"));
    static const char with_family[] = "tune B = {1, 2};\nconst i32 C = 3;\n"
                                      "family f { \"x.tile\"; \"y.tile\": z; }\n"
                                      "kernel a(i32 m) grid(m) warps(1) { x = B; }\n";
    assert_true(id_of(one, "a") == id_of(with_family, "a"));
    id_of("family f {", "a");
    id_of("family f", "a");
    id_of("kernel b(", "a"); /* the text ends in the middle */
    id_of("tune B = {", "a");
}

/* --- occupancy --- */

static void blocks_share_a_multiprocessor(void **state)
{
    (void)state;
    struct occupancy_limits h100 = {132, 228 * 1024, 65536, 2048, 32};
    struct block_needs needs = {.registers = 32, .threads = 128, .blocks = 1000};
    assert_int_equal(model_occupancy_blocks(&h100, &needs), 16); /* threads */
    needs.threads = 32;
    assert_int_equal(model_occupancy_blocks(&h100, &needs), 32); /* blocks */
    needs.threads = 256;
    needs.registers = 255;
    assert_int_equal(model_occupancy_blocks(&h100, &needs), 1); /* registers */
    needs.registers = 32;
    needs.shared = 75 * 1024;
    assert_int_equal(model_occupancy_blocks(&h100, &needs), 3); /* shared memory */
    needs.shared = 76 * 1024;
    assert_int_equal(model_occupancy_blocks(&h100, &needs), 2);
}

static void idle_multiprocessors_cost(void **state)
{
    (void)state;
    struct occupancy_limits h100 = {132, 228 * 1024, 65536, 2048, 32};
    struct block_needs few = {.registers = 128, .threads = 128, .blocks = 16};
    struct block_needs enough = few, tail = few;
    enough.blocks = 132;
    tail.blocks = 133 * 4;
    assert_true(model_occupancy_cost(&h100, &few) > 5 * model_occupancy_cost(&h100, &enough));
    assert_true(model_occupancy_cost(&h100, &tail) > 1.5 * model_occupancy_cost(&h100, &enough));
}

/* --- the store --- */

static char path[64];

static int set_up(void **state)
{
    snprintf(path, sizeof path, "/tmp/test_tuning.%ld.db", (long)getpid());
    return arena_set_up(state) || api_setup(state);
}

static int tear_down(void **state)
{
    char name[96];
    static const char *const behind[] = {"", "-wal", "-shm"};
    int status = api_teardown(state);
    for (int i = 0; i < 3; i++) {
        snprintf(name, sizeof name, "%s%s", path, behind[i]);
        unlink(name);
    }
    return arena_tear_down(state) || status;
}

static tw_tuned row(const char *kernel, const char *sizes, const char *tune, double ms)
{
    return (tw_tuned){.size = sizeof(tw_tuned),
                      .device = "d",
                      .kernel = kernel,
                      .program = "p",
                      .types = "T=f32",
                      .shape = "m=16..31",
                      .sizes = sizes,
                      .tune = tune,
                      .milliseconds = ms};
}

static void rows_are_found_and_replaced(void **state)
{
    struct fixture *f = *state;
    tw_store *s;
    int count;
    succeed(f, tw_store_open(f->ctx, path, &s));
    assert_string_equal(tw_store_path(s), path);
    tw_tuned slow = row("k", "m=17", "B=1", 3), fast = row("k", "m=17", "B=2", 1),
             other = row("j", "m=17", "B=1", 2), wrong = row("k", "m=17", "B=3", 0);
    wrong.status = TW_WRONG_VALUES;
    wrong.why = "it's wrong";
    succeed(f, tw_store_put(s, &slow));
    succeed(f, tw_store_put(s, &wrong));
    succeed(f, tw_store_put(s, &fast));
    succeed(f, tw_store_put(s, &other));
    slow.milliseconds = 2.5;
    succeed(f, tw_store_put(s, &slow));
    succeed(f, tw_store_find(s, NULL, &count));
    assert_int_equal(count, 4);
    succeed(f, tw_store_find(s, &(tw_tuned){.size = sizeof(tw_tuned), .kernel = "k"}, &count));
    assert_int_equal(count, 3);
    assert_string_equal(tw_store_at(s, 0)->tune, "B=2");
    assert_true(tw_store_at(s, 1)->milliseconds == 2.5 && tw_store_at(s, 1)->measured > 0);
    assert_string_equal(tw_store_at(s, 2)->why, "it's wrong");
    assert_string_equal(tw_store_at(s, 2)->version, tw_version());
    assert_true(tw_store_at(s, 3) == NULL && tw_store_at(s, -1) == NULL);
    succeed(f, tw_store_forget(s, &(tw_tuned){.size = sizeof(tw_tuned), .kernel = "k"}, &count));
    assert_int_equal(count, 3);
    tw_store_close(s);
    succeed(f, tw_store_open(f->ctx, path, &s)); /* and it still exists, closed with the context */
    succeed(f, tw_store_find(s, NULL, &count));
    assert_int_equal(count, 1);
}

static void rows_are_put_together(void **state)
{
    struct fixture *f = *state;
    tw_store *s, *other;
    int count;
    succeed(f, tw_store_open(f->ctx, path, &s));
    succeed(f, tw_store_open(f->ctx, path, &other));
    tw_tuned one = row("k", "m=17", "B=1", 3), two = row("k", "m=17", "B=2", 1), bad = one;
    succeed(f, tw_store_put_all(s, (const tw_tuned *const[]){&one, &two, &one}, 3));
    succeed(f, tw_store_put_all(s, NULL, 0));
    succeed(f, tw_store_find(other, NULL, &count));
    assert_int_equal(count, 2);
    assert_string_equal(tw_store_at(other, 0)->tune, "B=2");
    bad.size = 1;
    two.milliseconds = 0.5;
    assert_int_equal(tw_store_put_all(s, (const tw_tuned *const[]){&two, &bad}, 2),
                     TW_BAD_ARGUMENT);
    assert_int_equal(tw_store_put_all(s, (const tw_tuned *const[]){&two, NULL}, 2),
                     TW_BAD_ARGUMENT);
    assert_int_equal(tw_store_put_all(s, NULL, 1), TW_BAD_ARGUMENT);
    assert_int_equal(tw_store_put_all(NULL, NULL, 0), TW_BAD_ARGUMENT);
    succeed(f, tw_store_find(other, NULL, &count));
    assert_true(count == 2 && tw_store_at(other, 0)->milliseconds == 1);
}

static void stores_that_are_none(void **state)
{
    struct fixture *f = *state;
    tw_store *s;
    refused(f, tw_store_open_existing(f->ctx, "no/such/tuned.db", &s), TW_NO_FILE,
            "there is no store no/such/tuned.db");
    refused(f, tw_store_open(f->ctx, "no/such/tuned.db", &s), TW_NO_FILE, "this user may write");
    setenv("TILEWRIGHT_STORE", "no/such/tuned.db", 1);
    refused(f, tw_store_open_existing(f->ctx, NULL, &s), TW_NOT_FOUND, "nothing is stored yet");
    unsetenv("TILEWRIGHT_STORE");
    refused(f, tw_store_open_existing(f->ctx, path, NULL), TW_BAD_ARGUMENT, "`out` is NULL");
    assert_true(access("no", F_OK) != 0);
    FILE *out = fopen(path, "w");
    for (int i = 0; i < 400; i++)
        fputs("no store ", out);
    fclose(out);
    refused(f, tw_store_open(f->ctx, path, &s), TW_NO_FILE, "move it away");
    assert_null(s);
    refused(f, tw_store_open(f->ctx, "/dev/null/tuned.db", &s), TW_NO_FILE, "/dev/null/tuned.db");
    setenv("TILEWRIGHT_SQLITE", "/no/such.so", 1);
    refused(f, tw_store_open(f->ctx, path, &s), TW_UNSUPPORTED, "TILEWRIGHT_SQLITE");
    unsetenv("TILEWRIGHT_SQLITE");
    refused(f, tw_store_open(f->ctx, path, NULL), TW_BAD_ARGUMENT, "`out` is NULL");
}

/* SQLite would store these in no file. */
static void names_of_no_file(void **state)
{
    struct fixture *f = *state;
    static const char *const names[] = {"", ":memory:"};
    for (int i = 0; i < 2; i++) {
        tw_store *s;
        refused(f, tw_store_open(f->ctx, names[i], &s), TW_NO_FILE, "names no file");
        assert_null(s);
        refused(f, tw_store_open_existing(f->ctx, names[i], &s), TW_NO_FILE, "names no file");
        setenv("TILEWRIGHT_STORE", ":memory:", 1);
        refused(f, tw_store_open(f->ctx, NULL, &s), TW_NO_FILE, "names no file");
        unsetenv("TILEWRIGHT_STORE");
    }
}

/* XDG Base Directory Specification: a relative path counts as unset. */
static void stores_of_no_home(void **state)
{
    struct fixture *f = *state;
    const char *names[] = {"HOME", "XDG_DATA_HOME", "TILEWRIGHT_STORE"};
    char *before[3];
    tw_store *s;
    for (int i = 0; i < 3; i++) {
        before[i] = getenv(names[i]) ? strdup(getenv(names[i])) : NULL;
        unsetenv(names[i]);
    }
    for (int i = 0; i < 3; i++) { /* unset; a relative folder; and a relative home */
        if (i > 0)
            setenv(names[2 - i], "somewhere", 1);
        refused(f, tw_store_open(f->ctx, NULL, &s), TW_NO_FILE, "name a store with --store");
        refused(f, tw_store_open_existing(f->ctx, NULL, &s), TW_NOT_FOUND, "no place for a store");
        assert_true(access("somewhere", F_OK) != 0 && access("tuned.db", F_OK) != 0);
    }
    setenv("HOME", "/no/such", 1);
    refused(f, tw_store_open_existing(f->ctx, NULL, &s), TW_NOT_FOUND,
            "there is no /no/such/.local/share/tilewright/tuned.db");
    setenv("XDG_DATA_HOME", "/no/data", 1);
    refused(f, tw_store_open_existing(f->ctx, NULL, &s), TW_NOT_FOUND,
            "there is no /no/data/tilewright/tuned.db");
    for (int i = 0; i < 3; i++) {
        if (before[i])
            setenv(names[i], before[i], 1);
        else
            unsetenv(names[i]);
        free(before[i]);
    }
}

/* --- launches --- */

static void set_sizes(struct fixture *f, int64_t m, int64_t n, int64_t k)
{
    succeed(f, tw_launch_set(f->launch, "m", integer(m)));
    succeed(f, tw_launch_set(f->launch, "n", integer(n)));
    succeed(f, tw_launch_set(f->launch, "k", integer(k)));
}

/* Returns the launch's key with these tuned values. */
static tw_tuned key_of(struct fixture *f, const char *tune, double ms)
{
    tw_tuned key = tw_tuned_init();
    succeed(f, tw_launch_tuning_key(f->launch, "d", &key));
    key.tune = tune;
    key.milliseconds = ms;
    return key;
}

static int64_t tuned_value(struct fixture *f, const char *name)
{
    tw_value v = {0};
    succeed(f, tw_launch_value(f->launch, name, &v));
    return v.i;
}

static void launches_take_what_is_stored(void **state)
{
    struct fixture *f = *state;
    tw_store *s;
    tw_tuned taken = tw_tuned_init();
    tw_tuned key = tw_tuned_init();
    tw_tune first = tw_tune_init();
    load(f, api_matmul);
    succeed(f, tw_store_open(f->ctx, path, &s));
    set_sizes(f, 100, N, K);
    tw_kernel_tune(tw_module_kernel_at(f->module, 0), 0, &first);
    char slow[64], fast[64];
    snprintf(slow, sizeof slow, "%s=%d", first.name, (int)first.values[0].i);
    snprintf(fast, sizeof fast, "%s=%d", first.name, (int)first.values[first.count - 1].i);
    refused(f, tw_launch_tuned(f->launch, s, "d", true, NULL), TW_NOT_FOUND, "no tuned values");
    key = key_of(f, slow, 2);
    succeed(f, tw_store_put(s, &key));
    key = key_of(f, fast, 1);
    succeed(f, tw_store_put(s, &key));
    succeed(f, tw_launch_tuned(f->launch, s, "d", false, &taken));
    assert_string_equal(taken.tune, fast);
    assert_int_equal(tuned_value(f, first.name), first.values[first.count - 1].i);
    load(f, api_matmul); /* values set by hand remain */
    set_sizes(f, 100, N, K);
    succeed(f, tw_launch_tune(f->launch, first.name, first.values[0]));
    succeed(f, tw_launch_tuned(f->launch, s, "d", false, NULL));
    assert_int_equal(tuned_value(f, first.name), first.values[0].i);
    set_sizes(f, 300, N, K); /* another class */
    refused(f, tw_launch_tuned(f->launch, s, "d", false, NULL), TW_NOT_FOUND, "tilewright tune");
    succeed(f, tw_launch_tuned(f->launch, s, "d", true, &taken));
    assert_string_equal(taken.sizes, "m=100,n=21,k=10");
    refused(f, tw_launch_tuned(f->launch, s, "other", true, NULL), TW_NOT_FOUND, "on other");
}

/* Damaged rows are skipped with a warning, and the next best is used. */
static void damaged_rows_are_passed_over(void **state)
{
    struct fixture *f = *state;
    static const char *const damaged[] = {"BM=32,BN=8,BK=1x",
                                          "BM=32,BN=8,BK=",
                                          "BM=32,BN=8,BK",
                                          "BM=32,,BN=8",
                                          "BM=32,BN=8,XX=8",
                                          "BM=32,BM=8",
                                          "BM=32 ,BN=8",
                                          "BM=1.5,BN=8",
                                          ",BM=32",
                                          "BM=32,BN=8,",
                                          "BM=32,BN=8,BK=99999999999999999999"};
    tw_store *s;
    tw_tuned taken = tw_tuned_init();
    tw_tuned key = tw_tuned_init();
    load(f, api_matmul);
    succeed(f, tw_store_open(f->ctx, path, &s));
    set_sizes(f, 100, N, K);
    key = key_of(f, "BM=8,BN=8,BK=16", 5);
    succeed(f, tw_store_put(s, &key));
    for (size_t i = 0; i < sizeof damaged / sizeof *damaged; i++) {
        load(f, api_matmul);
        set_sizes(f, 100, N, K);
        key = key_of(f, damaged[i], 1);
        succeed(f, tw_store_put(s, &key));
        succeed(f, tw_launch_tuned(f->launch, s, "d", false, &taken));
        assert_string_equal(taken.tune, "BM=8,BN=8,BK=16");
        assert_non_null(strstr(tw_context_messages(f->ctx), damaged[i]));
        assert_non_null(strstr(tw_context_messages(f->ctx), "is ignored"));
        succeed(
            f, tw_store_forget(s, &(tw_tuned){.size = sizeof(tw_tuned), .tune = damaged[i]}, NULL));
    }
    key = key_of(f, "BM=x", 1);
    succeed(f, tw_store_forget(s, NULL, NULL));
    succeed(f, tw_store_put(s, &key));
    refused(f, tw_launch_tuned(f->launch, s, "d", false, NULL), TW_NOT_FOUND, "no tuned values");
}

/* A float that is compiled in is part of the key's class. */
static void static_floats_are_found_again(void **state)
{
    struct fixture *f = *state;
    tw_store *s;
    tw_tuned key = tw_tuned_init();
    tw_tuned taken = tw_tuned_init();
    load(f, "tune F = {0.25, 1.5};\n"
            "kernel k(i32 n, static f32 s, f32 *c) grid(1) warps(1)\n"
            "{ global f32 C[n] = c; C[0 +: 8] = s * F; }\n");
    succeed(f, tw_store_open(f->ctx, path, &s));
    succeed(f, tw_launch_set(f->launch, "n", integer(8)));
    succeed(f, tw_launch_set(f->launch, "s", tw_float(0.5)));
    key = key_of(f, "F=1.5", 1);
    succeed(f, tw_store_put(s, &key));
    key = key_of(f, "F=1e-07", 2);
    succeed(f, tw_store_put(s, &key));
    succeed(f, tw_launch_tuned(f->launch, s, "d", false, &taken));
    assert_string_equal(taken.tune, "F=1.5");
    succeed(f, tw_launch_set(f->launch, "s", tw_float(0.75)));
    refused(f, tw_launch_tuned(f->launch, s, "d", true, NULL), TW_NOT_FOUND, "no tuned values");
}

/* The expected values are computed at the first use, even if the outputs are wrong then; they
 * judge right and wrong results as tw_launch_verify does. */
static void values_are_expected(void **state)
{
    struct fixture *f = *state;
    tw_expected *e;
    tw_verdict v = tw_verdict_init();
    load(f, api_matmul);
    for (int i = 0; i < M * K; i++)
        f->a[i] = (float)(i % 7 - 3);
    for (int i = 0; i < K * N; i++)
        f->b[i] = (float)(i % 5 - 2);
    tw_array a = array(f->a, TW_F32, 2, M, K), b = array(f->b, TW_F32, 2, K, N),
             c = array(f->c, TW_F32, 2, M, N);
    succeed(f, tw_launch_array(f->launch, "a", &a));
    succeed(f, tw_launch_array(f->launch, "b", &b));
    succeed(f, tw_launch_array(f->launch, "c", &c));
    succeed(f, tw_expected_new(f->ctx, &e));
    for (int i = 0; i < M * N; i++)
        f->c[i] = 1e6F;
    assert_int_equal(tw_launch_verify_by(f->launch, e, &v), TW_WRONG_VALUES);
    succeed(f, tw_launch_run(f->launch));
    succeed(f, tw_launch_verify_by(f->launch, e, &v));
    assert_true(v.ok && v.checked == M * N);
    tw_verdict plain = tw_verdict_init();
    succeed(f, tw_launch_verify(f->launch, &plain));
    assert_true(plain.max_error == v.max_error && plain.tolerance == v.tolerance);
    f->c[5] += 1;
    assert_int_equal(tw_launch_verify_by(f->launch, e, &v), TW_WRONG_VALUES);
    assert_true(v.at[0] == 0 && v.at[1] == 5);
    tw_expected_free(e);
    assert_int_equal(tw_launch_verify_by(f->launch, NULL, &v), TW_BAD_ARGUMENT);
}

static void estimates_need_no_gpu(void **state)
{
    struct fixture *f = *state;
    tw_estimate host = tw_estimate_init();
    tw_estimate gpu = tw_estimate_init();
    tw_estimate same = tw_estimate_init();
    tw_kernel *k;
    load(f, api_matmul);
    set_sizes(f, 64, 64, 64);
    succeed(f, tw_launch_estimate(f->launch, 0, &host));
    assert_true(host.blocks > 0 && host.shared_bytes == 0 && host.cost == 0);
    succeed(f, tw_kernel_for_target(tw_module_kernel_at(f->module, 0), "sm_90", &k));
    tw_launch_free(f->launch);
    succeed(f, tw_launch_new(k, &f->launch));
    set_sizes(f, 64, 64, 64);
    succeed(f, tw_launch_estimate(f->launch, 132, &gpu));
    assert_true(gpu.registers > 0 && gpu.threads > 0 && gpu.resident > 0 && gpu.cost > 0);
    succeed(f, tw_launch_estimate(f->launch, 132, &same));
    assert_true(same.program == gpu.program && host.program != gpu.program);
    set_sizes(f, 128, 64, 64);
    succeed(f, tw_launch_estimate(f->launch, 132, &same));
    assert_true(same.program != gpu.program); /* another grid */
    assert_true(same.registers == gpu.registers && same.blocks > gpu.blocks);
    set_sizes(f, 64, 64, 64);
    succeed(f, tw_launch_estimate(f->launch, 132, &same));
    assert_true(same.program == gpu.program && same.cost == gpu.cost);
    set_sizes(f, 65, 64, 64); /* another program */
    succeed(f, tw_launch_estimate(f->launch, 132, &same));
    assert_true(same.program != gpu.program && same.blocks >= gpu.blocks);
}

/* Every allocation fails once: the call gives a status, and nothing is lost. */
static void memory_runs_out(void **state)
{
    struct fixture *f = *state;
    load(f, api_matmul);
    set_sizes(f, 64, 64, 64);
    for (long n = 0;; n++) {
        tw_store *s = NULL;
        tw_expected *e = NULL;
        tw_estimate estimate = tw_estimate_init();
        tw_tuned taken = tw_tuned_init();
        int count;
        long before = f->memory.calls;
        f->memory.fail_from = before + n;
        tw_status status = tw_store_open(f->ctx, path, &s);
        if (status == TW_OK)
            status = tw_expected_new(f->ctx, &e);
        if (status == TW_OK)
            status = tw_launch_estimate(f->launch, 0, &estimate);
        if (status == TW_OK)
            status = tw_launch_tuning_key(f->launch, "d", &taken);
        if (status == TW_OK)
            status = tw_store_put(s, &taken);
        if (status == TW_OK)
            status = tw_store_find(s, NULL, &count);
        if (status == TW_OK)
            status = tw_launch_tuned(f->launch, s, "d", true, &taken);
        f->memory.fail_from = -1;
        tw_store_close(s);
        tw_expected_free(e);
        if (status == TW_OK)
            break;
        assert_int_equal(status, TW_NO_MEMORY);
    }
}

int main(void)
{
#define ON_A_CONTEXT(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(sizes_fall_in_classes, arena_set_up, arena_tear_down),
        cmocka_unit_test(classes_read_back),
        cmocka_unit_test(distances_are_in_powers_of_two),
        cmocka_unit_test_setup_teardown(programs_differ_by_what_they_do, arena_set_up,
                                        arena_tear_down),
        cmocka_unit_test(blocks_share_a_multiprocessor),
        cmocka_unit_test(idle_multiprocessors_cost),
        ON_A_CONTEXT(rows_are_found_and_replaced),
        ON_A_CONTEXT(rows_are_put_together),
        ON_A_CONTEXT(stores_that_are_none),
        ON_A_CONTEXT(names_of_no_file),
        ON_A_CONTEXT(stores_of_no_home),
        ON_A_CONTEXT(launches_take_what_is_stored),
        ON_A_CONTEXT(damaged_rows_are_passed_over),
        ON_A_CONTEXT(static_floats_are_found_again),
        ON_A_CONTEXT(values_are_expected),
        ON_A_CONTEXT(estimates_need_no_gpu),
        ON_A_CONTEXT(memory_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
