/* The PTX that nvcc makes of tests/ptx/cuda/, optimised and for debuggers, computes the same as
 * the host. Skipped without nvcc. */
#include "sim_helper.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants these first */
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const levels[] = {"", "-G"};
enum { LEVELS = 2 };

/* Opens a program; returns false if there is no nvcc. */
static bool open_program(struct sim_case *c, const char *name, const char *level)
{
    char command[512], path[256];
    snprintf(path, sizeof path, "%s/sim_%s%s.%ld.ptx", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp",
             name, level, (long)getpid());
    snprintf(command, sizeof command,
             "PATH=$PATH:/usr/local/cuda/bin; nvcc -ptx -arch=sm_80 %s -o %s "
             "%s/tests/ptx/cuda/%s.cu >/dev/null 2>&1",
             level, path, TW_TEST_ROOT, name);
    if (system("PATH=$PATH:/usr/local/cuda/bin; nvcc --version >/dev/null 2>&1") != 0)
        return false;
    if (system(command) != 0)
        fail_msg("%s", command);
    sim_case_open_file(c, path);
    remove(path);
    return true;
}

/* Runs `check` on a case for each level. */
static void each_level(const char *name, void (*check)(struct sim_case *c))
{
    for (int i = 0; i < LEVELS; i++) {
        struct sim_case c;
        if (!open_program(&c, name, levels[i]))
            skip();
        check(&c);
        sim_case_close(&c);
    }
}

static float small_float(uint32_t i)
{
    return (float)(i * 2654435761u >> 24) / 16 - 8;
}

static uint64_t floats(struct sim_case *c, size_t count, float *data)
{
    for (uint32_t i = 0; i < count; i++)
        data[i] = small_float(i);
    return sim_case_buffer(c, count * 4, data);
}

static void reduce(struct sim_case *c)
{
    float x[1000], sum = 0;
    uint64_t v[3] = {1000, floats(c, 1000, x), sim_case_buffer(c, 4, NULL)};
    for (int i = 0; i < 1000; i++)
        sum += x[i]; /* multiples of 1/16: exact */
    c->launch.grid[0] = 3;
    c->launch.block[0] = 128;
    c->launch.dynamic_shared = 512;
    sim_case_done(c, "reduce", 3, v);
    assert_true(*(float *)sim_host(c->sim, v[2], 4) == sum);
}

static void scan(struct sim_case *c)
{
    int32_t x[256], sum = 0;
    for (int i = 0; i < 256; i++)
        x[i] = i * i % 97 - 40;
    uint64_t v[2] = {sim_case_buffer(c, sizeof x, x), sim_case_buffer(c, sizeof x, NULL)};
    c->launch.block[0] = 256;
    sim_case_done(c, "scan", 2, v);
    for (int i = 0; i < 256; i++) {
        sum += x[i];
        assert_int_equal((int32_t)sim_case_words(c, v[1], 256)[i], sum);
    }
}

static void histogram(struct sim_case *c)
{
    uint8_t x[4000];
    uint32_t bins[256] = {0};
    for (uint32_t i = 0; i < 4000; i++)
        bins[x[i] = (uint8_t)(i * i * 2654435761u >> 25)]++;
    uint64_t v[3] = {sim_case_buffer(c, sizeof x, x), 1000, sim_case_buffer(c, sizeof bins, NULL)};
    c->launch.grid[0] = 2;
    c->launch.block[0] = 96;
    sim_case_done(c, "histogram", 3, v);
    assert_memory_equal(sim_host(c->sim, v[2], sizeof bins), bins, sizeof bins);
}

static void bitonic(struct sim_case *c)
{
    int32_t x[256];
    for (int i = 0; i < 256; i++)
        x[i] = i * 7919 % 256 - 100;
    uint64_t v = sim_case_buffer(c, sizeof x, x);
    c->launch.block[0] = 256;
    c->launch.options.seed = 9;
    sim_case_done(c, "bitonic", 1, &v);
    for (int i = 0; i < 256; i++)
        assert_int_equal((int32_t)sim_case_words(c, v, 256)[i], i - 100);
}

static void transpose(struct sim_case *c)
{
    enum { W = 70, H = 45 };
    static float x[W * H];
    uint64_t v[4] = {floats(c, W * H, x), sim_case_buffer(c, sizeof x, NULL), W, H};
    c->launch.grid[0] = 3, c->launch.grid[1] = 2;
    c->launch.block[0] = 32, c->launch.block[1] = 8;
    sim_case_done(c, "transpose", 4, v);
    const float *y = sim_host(c->sim, v[1], sizeof x);
    for (int i = 0; i < W; i++)
        for (int j = 0; j < H; j++)
            assert_true(y[i * H + j] == x[j * W + i]);
}

static void lock(struct sim_case *c)
{
    for (uint64_t seed = 0; seed < 3; seed++) {
        float x[60], sum = 0;
        uint64_t v[3] = {sim_case_buffer(c, 4, NULL), sim_case_buffer(c, 4, NULL),
                         floats(c, 60, x)};
        for (uint32_t i = 0; i < 20; i++)
            sum += x[20 * seed + i]; /* the ticket continues */
        c->launch.grid[0] = 20;
        c->launch.block[0] = 40;
        c->launch.options.seed = seed;
        sim_case_done(c, "lock", 3, v);
        assert_true(*(float *)sim_host(c->sim, v[1], 4) == sum);
    }
}

static void asserts(struct sim_case *c)
{
    int32_t x[8] = {1, 2, 3, 4, 5, 6, 7, 0};
    uint64_t v = sim_case_buffer(c, sizeof x, x);
    c->launch.block[0] = 7;
    sim_case_done(c, "asserts", 1, &v);
    assert_int_equal(sim_case_words(c, v, 8)[1], 1);
    assert_int_equal(sim_case_words(c, v, 8)[3], 5);
    c->launch.block[0] = 8;
    assert_int_equal(sim_case_run(c, "asserts", 1, &v), SIM_FAULT);
    assert_non_null(strstr(sim_why(c->sim), "assertion `x[threadIdx.x] > 0` failed"));
    assert_non_null(strstr(sim_why(c->sim), "thread 7"));
}

static void local_arrays(struct sim_case *c)
{
    int32_t index[32];
    float out[32], a[24], s = 0;
    signed char b[17];
    for (int i = 0; i < 32; i++)
        index[i] = i * 37 % 200;
    uint64_t v[2] = {sim_case_buffer(c, sizeof index, index), floats(c, 32, out)};
    for (int i = 0; i < 24; i++)
        a[i] = out[i] * (float)i;
    for (int i = 0; i < 17; i++)
        b[i] = (signed char)(index[i] >> 3);
    for (int i = 0; i < 8; i++)
        s += a[index[i] % 24] + (float)b[index[i + 8] % 17];
    a[index[3] % 24] = s;
    c->launch.block[0] = 32;
    sim_case_done(c, "local_arrays", 2, v);
    const float *got = sim_host(c->sim, v[1], 128);
    for (int i = 0; i < 32; i++)
        assert_true(got[i] == a[index[i] % 24]);
}

static float switched(int v, float f)
{
    switch (v) {
    case 0: return f + 1;
    case 1: return f * f;
    case 2: return -f;
    case 3: return sqrtf(f) - 4;
    case 4: return f - 4;
    case 5: return f / 3;
    case 6: return fabsf(f);
    case 7: return floorf(f);
    case 8: return f;
    case 9: return 1 / f;
    default: return 0;
    }
}

static void switches(struct sim_case *c)
{
    int32_t x[64];
    float y[64];
    for (int i = 0; i < 64; i++)
        x[i] = i * 5 % 12;
    uint64_t v[2] = {sim_case_buffer(c, sizeof x, x), floats(c, 64, y)};
    c->launch.block[0] = 64;
    sim_case_done(c, "switches", 2, v);
    const float *got = sim_host(c->sim, v[1], sizeof y);
    for (int i = 0; i < 64; i++) {
        float wanted = switched(x[i], y[i]);
        assert_true(got[i] == wanted || (isnan(got[i]) && isnan(wanted)));
        assert_int_equal(sim_case_words(c, v[0], 64)[i], x[i] == 8 ? 99 : x[i]);
    }
}

static void copy_async(struct sim_case *c)
{
    enum { N = 6 };
    static float x[N * 256];
    for (int late = 0; late < 2; late++) {
        uint64_t v[3] = {floats(c, N * 256, x), sim_case_buffer(c, sizeof x, NULL), N};
        c->launch.block[0] = 64;
        c->launch.options.async_late = late;
        sim_case_done(c, "copy_async", 3, v);
        const float *y = sim_host(c->sim, v[1], sizeof x);
        for (int i = 0; i < N; i++)
            for (int t = 0; t < 256; t++)
                assert_true(y[i * 256 + t] == x[i * 256 + (63 - t / 4) * 4 + t % 4]);
    }
}

/* The last thread to leave drops the count to 0, which PTX leaves undefined. */
static void mbarriers(struct sim_case *c)
{
    uint64_t v = sim_case_buffer(c, 64 * 4, NULL);
    c->launch.block[0] = 64;
    assert_int_equal(sim_case_run(c, "mbarriers", 1, &v), SIM_STOPPED);
    assert_non_null(strstr(sim_why(c->sim), "no arrival would be expected at the mbarrier"));
}

static void calls(struct sim_case *c)
{
    int32_t x[4] = {3, 5, 0, 12};
    uint64_t v[3] = {sim_case_buffer(c, sizeof x, x), sim_case_buffer(c, 8, NULL),
                     sim_case_buffer(c, 16, NULL)};
    sim_case_done(c, "calls", 3, v);
    const float *four = sim_host(c->sim, v[2], 16);
    assert_int_equal(sim_case_words(c, v[0], 4)[2], 5 + 3 - 3); /* they were swapped */
    assert_int_equal(*(uint64_t *)sim_host(c->sim, v[1], 8), 479001600);
    assert_true(four[0] == 7.5f && four[1] == 3 && four[2] == 5 && four[3] == 37.5f);
}

static void pointers(struct sim_case *c)
{
    for (uint64_t which = 0; which < 3; which++) {
        float g[64];
        uint64_t v[2] = {floats(c, 64, g), which};
        c->launch.block[0] = 32;
        sim_case_done(c, "pointers", 2, v);
        for (int i = 0; i < 32; i++)
            assert_true(((float *)sim_host(c->sim, v[0], 256))[i + 32] == g[i & 3] + (which < 2));
    }
}

static void structs(struct sim_case *c)
{
    struct inner {
        float f;
        int16_t s[3];
    } out[64];
    struct {
        char c;
        struct inner in[2];
        double d;
        long long l;
    } o = {2, {{1.5f, {1, 2, 3}}, {2.5f, {4, 5, 6}}}, 10, 77};
    uint64_t to = sim_case_buffer(c, sizeof out, NULL);
    const void *arguments[] = {&o, &to};
    c->launch.block[0] = 32;
    c->launch.kernel = "structs";
    c->launch.arguments = arguments;
    c->launch.argument_count = 2;
    if (sim_run(c->sim, &c->launch, &c->diag) != SIM_DONE)
        fail_msg("%s", sim_why(c->sim));
    memcpy(out, sim_host(c->sim, to, sizeof out), sizeof out);
    for (int i = 0; i < 32; i++) {
        assert_true(out[i].f == o.in[i & 1].f + 12);
        assert_int_equal(out[i].s[0], o.in[i & 1].s[0]);
        assert_int_equal(out[i].s[2], 77);
        assert_true(out[32 + i].f == 1.5f);
        assert_int_equal(out[32 + i].s[1], i);
    }
}

static void softmax(struct sim_case *c)
{
    float x[3 * 50];
    uint64_t v[3] = {floats(c, 150, x), sim_case_buffer(c, sizeof x, NULL), 50};
    c->launch.grid[0] = 3;
    c->launch.block[0] = 32;
    sim_case_done(c, "softmax", 3, v);
    const float *y = sim_host(c->sim, v[1], sizeof x);
    for (int r = 0; r < 3; r++) {
        double sum = 0;
        for (int i = 0; i < 50; i++)
            sum += exp((double)x[r * 50 + i]);
        for (int i = 0; i < 50; i++) {
            double wanted = exp((double)x[r * 50 + i]) / sum;
            assert_true(fabs((double)y[r * 50 + i] - wanted) < 1e-5 * wanted + 1e-9);
        }
    }
}

#define PROGRAM(name)                                                                              \
    static void run_##name(void **state)                                                           \
    {                                                                                              \
        (void)state;                                                                               \
        each_level(name##_file, name);                                                             \
    }
#define reduce_file "reduce_shared"
#define scan_file "scan_warp"
#define histogram_file "histogram"
#define bitonic_file "bitonic"
#define transpose_file "transpose"
#define lock_file "lock"
#define asserts_file "asserts"
#define local_arrays_file "local_arrays"
#define switches_file "switches"
#define copy_async_file "copy_async"
#define mbarriers_file "mbarriers"
#define calls_file "calls"
#define pointers_file "pointers"
#define structs_file "structs"
#define softmax_file "softmax"
PROGRAM(reduce)
PROGRAM(scan)
PROGRAM(histogram)
PROGRAM(bitonic)
PROGRAM(transpose)
PROGRAM(lock)
PROGRAM(asserts)
PROGRAM(local_arrays)
PROGRAM(switches)
PROGRAM(copy_async)
PROGRAM(mbarriers)
PROGRAM(calls)
PROGRAM(pointers)
PROGRAM(structs)
PROGRAM(softmax)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(run_reduce),    cmocka_unit_test(run_scan),
        cmocka_unit_test(run_histogram), cmocka_unit_test(run_bitonic),
        cmocka_unit_test(run_transpose), cmocka_unit_test(run_lock),
        cmocka_unit_test(run_asserts),   cmocka_unit_test(run_local_arrays),
        cmocka_unit_test(run_switches),  cmocka_unit_test(run_copy_async),
        cmocka_unit_test(run_mbarriers), cmocka_unit_test(run_calls),
        cmocka_unit_test(run_pointers),  cmocka_unit_test(run_structs),
        cmocka_unit_test(run_softmax),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
