/* The CPU engine: the meaning of kernels, lanes and masks, and every kind of fault. */
#include "cpu_helper.h"
#include "tilewright.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define GIVEN(...) ((const struct given[]){__VA_ARGS__, {NULL, 0}})

static void fill_iota(float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] = (float)i;
}

/* Runs the text once and expects that fault, at that line, with these words in its message. */
static void expect_fault(const char *text, const struct given *given, enum cpu_fault_kind kind,
                         int line, const char *words)
{
    struct cpu_run r;
    cpu_open(&r, text, given);
    for (const struct param *p = r.kernel->params; p; p = p->next)
        if (p->sym->is_pointer)
            cpu_array(&r, p->sym->name, 256);
    assert_int_equal(cpu_go(&r, 1), kind);
    assert_int_equal(r.fault.kind, kind);
    if (!strstr(r.fault.message, words))
        fail_msg("\"%s\" is not in \"%s\"", words, r.fault.message);
    assert_int_equal(r.line, line);
    cpu_close(&r);
}

/* --- bounds --- */

static void an_element_outside_is_a_fault(void **state)
{
    struct cpu_run r;
    (void)state;
    cpu_open(&r,
             "kernel k(i32 n, const f32 *a, f32 *c) grid(2) threads(4, 2)\n{\n"
             "    global f32 A[2][n] = a, C[2][8] = c;\n"
             "    i32 x = block.x * 4 + thread.x;\n"
             "    C[thread.y][x] = A[thread.y][x];\n}\n",
             GIVEN({"n", 5}));
    cpu_array(&r, "a", 2 * 5 * 4);
    cpu_array(&r, "c", 2 * 8 * 4);
    assert_int_equal(cpu_go(&r, 2), CPU_BOUNDS);
    assert_string_equal(r.fault.message, "index 5 is outside axis 1 of A (extent 5)");
    assert_int_equal(r.line, 5);
    assert_int_equal(r.fault.block[0], 1);
    assert_int_equal(r.fault.thread[0], 1);
    assert_int_equal(r.fault.thread[1], 0);
    cpu_close(&r);
}

static void a_uniform_element_outside_is_a_fault(void **state)
{
    (void)state;
    expect_fault("kernel k(i32 n, f32 *c) grid(1) warps(1)\n{\n"
                 "    global f32 C[4] = c;\n    C[n] = 1;\n}\n",
                 GIVEN({"n", -1}), CPU_BOUNDS, 4, "index -1 is outside axis 0 of C (extent 4)");
    expect_fault("kernel k(i32 n, f32 *c) grid(1) threads(4)\n{\n"
                 "    global f32 C[4] = c;\n    f32 v[3] = 0;\n"
                 "    v[thread.x] = 1;\n    C[thread.x] = v[0];\n}\n",
                 GIVEN({"n", 0}), CPU_BOUNDS, 5, "index 3 is outside axis 0 of v (extent 3)");
}

static void a_broken_promise_is_a_fault(void **state)
{
    (void)state;
    expect_fault("kernel k(i32 n, f32 *c) grid(1) warps(1)\n{\n"
                 "    global f32 C[8] = c;\n    C[n +: 4 inside] = 1;\n}\n",
                 GIVEN({"n", 5}), CPU_BOUNDS, 4, "marked `inside`");
    expect_fault("kernel k(i32 n, f32 *c) grid(1) warps(1)\n{\n    assume(n % 4 == 0);\n}\n",
                 GIVEN({"n", 5}), CPU_ASSUME, 3, "assume(n % 4 == 0) does not hold: n = 5");
}

static void slices_reach_past_the_edges(void **state)
{
    struct cpu_run r;
    (void)state;
    cpu_open(&r,
             "kernel k(i32 at, const f32 *a, f32 *c, f32 *d) grid(1) warps(1)\n{\n"
             "    global f32 A[3][4] = a, C[5][6] = c, D[3][4] = d;\n"
             "    C = A[at +: 5][at +: 6] else 9;\n"
             "    D[at +: 5][at +: 6] = A[at +: 5][at +: 6] + 1;\n}\n",
             GIVEN({"at", -1}));
    float *a = cpu_array(&r, "a", 48), *c = cpu_array(&r, "c", 120), *d = cpu_array(&r, "d", 48);
    fill_iota(a, 12);
    assert_int_equal(cpu_go(&r, 1), CPU_OK);
    for (int i = 0; i < 5; i++)
        for (int j = 0; j < 6; j++) {
            bool inside = i >= 1 && i < 4 && j >= 1 && j < 5;
            float want = inside ? a[(i - 1) * 4 + j - 1] : 9;
            assert_true(c[i * 6 + j] == want);
        }
    for (int i = 0; i < 12; i++)
        assert_true(d[i] == a[i] + 1);
    r.args[0].scalar.i = INT32_MAX;
    assert_int_equal(cpu_go(&r, 1), CPU_OK);
    assert_true(c[0] == 9);
    cpu_close(&r);
}

/* --- arguments --- */

static const char scale_text[] =
    "kernel k(i64 m, i64 n, const f32 *a, f32 *c) grid(1) warps(1)\n{\n"
    "    global f32 A[m][n] = a, C[m][n] = c strides(n + 1, 1);\n"
    "    C[0 +: 4][0 +: 4] = A[0 +: 4][0 +: 4] * 2;\n}\n";

static void expect_refused(int64_t m, int64_t n, size_t bytes, const char *words)
{
    struct cpu_run r;
    cpu_open(&r, scale_text, GIVEN({"m", m}, {"n", n}));
    cpu_array(&r, "a", bytes);
    cpu_array(&r, "c", bytes);
    assert_int_equal(cpu_go(&r, 1), CPU_BAD_ARGUMENT);
    if (!strstr(r.fault.message, words))
        fail_msg("\"%s\" is not in \"%s\"", words, r.fault.message);
    cpu_close(&r);
}

static void sizes_must_have_values(void **state)
{
    (void)state;
    struct cpu_run r;
    cpu_open(&r,
             "kernel k(i32 n, f32 *c) grid(cdiv(8, n)) warps(1)\n{\n"
             "    global f32 C[8] = c;\n    C[0 +: 8] = 1;\n}\n",
             GIVEN({"n", 0}));
    cpu_array(&r, "c", 32);
    assert_int_equal(cpu_go(&r, 1), CPU_BAD_ARGUMENT);
    assert_string_equal(r.fault.message, "`cdiv(8, n)` divides by zero");
    cpu_close(&r);
}

static void views_must_fit_their_arrays(void **state)
{
    (void)state;
    expect_refused(4, 4, 60, "a: view A needs 64 bytes, but the array has 60");
    expect_refused(4, 4, 64, "c: view C needs 76 bytes, but the array has 64");
    expect_refused(-1, 4, 64, "negative extent -1");
    expect_refused(INT64_MAX, INT64_MAX, 64, "larger than memory");
    expect_refused((int64_t)1 << 32, (int64_t)1 << 31, 64, "larger than memory");
}

static void empty_views_and_grids_are_fine(void **state)
{
    struct cpu_run r;
    (void)state;
    cpu_open(&r, scale_text, GIVEN({"m", 0}, {"n", 4}));
    assert_int_equal(cpu_go(&r, 1), CPU_OK);
    cpu_close(&r);
    cpu_open(&r,
             "kernel k(i32 n, f32 *c) grid(cdiv(n, 4)) threads(4)\n{\n"
             "    global f32 C[n] = c;\n    C[thread.x] = 1;\n}\n",
             GIVEN({"n", 0}));
    assert_int_equal(cpu_go(&r, 2), CPU_OK);
    cpu_close(&r);
}

/* --- division --- */

static void dividing_by_zero_is_a_fault_where_it_happens(void **state)
{
    struct cpu_run r;
    (void)state;
    expect_fault("kernel k(i32 n, i32 *c) grid(1) warps(1)\n{\n"
                 "    global i32 C[1] = c;\n    C[0] = 7 / n;\n}\n",
                 GIVEN({"n", 0}), CPU_DIVIDE, 4, "divided by zero");
    expect_fault(
        "kernel k(i32 n, i32 *c) grid(1) warps(1)\n{\n"
        "    global i32 C[4][8] = c;\n    reg i32 d[4][8] = 8 * iota(4, 1) + iota(1, 8) - n;\n"
        "    C[0 +: 4][0 +: 8] = 7 / d;\n}\n",
        GIVEN({"n", 13}), CPU_DIVIDE, 5, "zero, element [1][5] of the divisor");
    cpu_open(&r,
             "kernel k(i32 n, i32 *c) grid(1) threads(8)\n{\n"
             "    global i32 C[8] = c;\n    i32 d = thread.x - n;\n"
             "    C[thread.x] = d != 0 ? 100 / d : -1;\n"
             "    if (d != 0 && 100 % d == 0)\n        C[thread.x] += 1000 / d;\n}\n",
             GIVEN({"n", 3}));
    const int32_t *c = cpu_array(&r, "c", 32);
    assert_int_equal(cpu_go(&r, 1), CPU_OK);
    assert_int_equal(c[3], -1);
    assert_int_equal(c[5], 50 + 500);
    assert_int_equal(c[6], 33);
    cpu_close(&r);
    expect_fault("kernel k(i32 n, i32 *c) grid(1) threads(8)\n{\n"
                 "    global i32 C[8] = c;\n    C[thread.x] = 7 % (thread.x - n);\n}\n",
                 GIVEN({"n", 3}), CPU_DIVIDE, 4, "divided by zero");
}

/* --- lanes --- */

static int32_t steps_of(int32_t n)
{
    int32_t steps = 0;
    for (int32_t v = n; v != 1; steps++)
        v = v % 2 == 0 ? v / 2 : 3 * v + 1;
    return steps;
}

static void lanes_leave_loops_one_by_one(void **state)
{
    struct cpu_run r;
    (void)state;
    cpu_open(&r,
             "kernel k(i32 n, i32 *c, i32 *d) grid(cdiv(n, 32)) threads(32)\n{\n"
             "    global i32 C[n] = c, D[n] = d;\n    i32 at = block.x * 32 + thread.x;\n"
             "    if (at >= n)\n        return;\n"
             "    i32 v = at + 1, steps = 0;\n"
             "    while (v != 1) {\n        v = v % 2 == 0 ? v / 2 : 3 * v + 1;\n        "
             "steps++;\n    }\n"
             "    C[at] = steps;\n"
             "    i32 sum = 0;\n"
             "    for (i32 i = 0; i < 40; i++) {\n"
             "        if (i % 3 == at % 3)\n            continue;\n"
             "        if (i > at)\n            break;\n"
             "        sum += i;\n"
             "        if (sum > 300) {\n            D[at] = -sum;\n            return;\n        }\n"
             "    }\n"
             "    D[at] = sum;\n}\n",
             GIVEN({"n", 70}));
    const int32_t *c = cpu_array(&r, "c", 280), *d = cpu_array(&r, "d", 280);
    assert_int_equal(cpu_go(&r, 2), CPU_OK);
    for (int32_t at = 0; at < 70; at++) {
        int32_t sum = 0;
        assert_int_equal(c[at], steps_of(at + 1));
        for (int32_t i = 0; i < 40 && sum <= 300; i++) {
            if (i % 3 == at % 3)
                continue;
            if (i > at)
                break;
            sum += i;
        }
        assert_int_equal(d[at], sum > 300 ? -sum : sum);
    }
    cpu_close(&r);
}

static void resting_lanes_touch_nothing(void **state)
{
    struct cpu_run r;
    (void)state;
    cpu_open(&r,
             "kernel k(i32 n, const f32 *a, f32 *c) grid(1) threads(16)\n{\n"
             "    global f32 A[n] = a, C[n] = c;\n    i32 i = thread.x;\n"
             "    f32 left = i > 0 && i < n ? A[i - 1] : -1;\n"
             "    f32 v[2] = 5;\n"
             "    if (i < n) {\n        v[i % 2] = A[i];\n        C[i] = left + v[0] + v[1];\n    "
             "}\n}\n",
             GIVEN({"n", 6}));
    float *a = cpu_array(&r, "a", 24);
    const float *c = cpu_array(&r, "c", 24);
    fill_iota(a, 6);
    assert_int_equal(cpu_go(&r, 1), CPU_OK);
    for (int i = 0; i < 6; i++)
        assert_true(c[i] == (i > 0 ? a[i - 1] : -1) + a[i] + 5);
    cpu_close(&r);
}

static void threads_have_slices_of_their_own(void **state)
{
    struct cpu_run r;
    (void)state;
    cpu_open(&r,
             "kernel k(i32 n, const f32 *a, f32 *c) grid(1) threads(4)\n{\n"
             "    global f32 A[n] = a, C[n] = c;\n    i32 at = thread.x * 3 - 1;\n"
             "    f32 v[3] = A[at +: 3] else 50;\n"
             "    f32 total = sum(v);\n    v = v + total;\n"
             "    C[at +: 3] = v;\n}\n",
             GIVEN({"n", 9}));
    float *a = cpu_array(&r, "a", 36);
    const float *c = cpu_array(&r, "c", 36);
    fill_iota(a, 9);
    assert_int_equal(cpu_go(&r, 1), CPU_OK);
    const float want[9] = {51, 52, 2 + 9, 3 + 9, 4 + 9, 5 + 18, 6 + 18, 7 + 18, 8 + 108};
    assert_memory_equal(c, want, sizeof want);
    cpu_close(&r);
}

/* Products of an array of the block and an array of a thread, for types whose steps the routines
 * add in groups. */
static void threads_multiply_arrays_of_their_own(void **state)
{
    static const char form[] =
        "kernel k(i32 n, const %s *a, const %s *b, %s *c) grid(cdiv(n, 4)) threads(4)\n{\n"
        "    global %s A[3][8] = a, B[8][n] = b;\n    global %s C[3][n] = c;\n"
        "    %s rows[3][8], column[8][1];\n    i32 j = block.x * 4 + thread.x;\n"
        "    for (i32 i = 0; i < 24; i++)\n        rows[i / 8][i %% 8] = A[i / 8][i %% 8];\n"
        "    for (i32 p = 0; p < 8; p++)\n        column[p][0] = j < n ? B[p][j] : 0;\n"
        "    %s sums[3][1] = dot(rows, column);\n"
        "    for (i32 i = 0; i < 3 && j < n; i++)\n        C[i][j] = sums[i][0];\n}\n";
    static const char *const types[][2] = {{"i8", "i32"}, {"u8", "i32"}, {"bf16", "f32"}};
    enum { N = 6 };
    (void)state;
    for (size_t t = 0; t < 3; t++) {
        const char *type = types[t][0], *sum = types[t][1];
        bool bytes = t < 2;
        char text[1000];
        struct cpu_run r;
        snprintf(text, sizeof text, form, type, type, sum, type, sum, type, sum);
        cpu_open(&r, text, GIVEN({"n", N}));
        void *operand[] = {cpu_array(&r, "a", bytes ? 24 : 48),
                           cpu_array(&r, "b", bytes ? 8 * N : 16 * N)};
        void *c = cpu_array(&r, "c", 3 * N * 4);
        for (int i = 0; i < 8 * N; i++)
            for (int x = 0; x < (i < 24 ? 2 : 1); x++)
                tw_dtype_store(tw_dtype_from_name(type),
                               (char *)operand[1 - x] + i * (bytes ? 1 : 2), i);
        assert_int_equal(cpu_go(&r, 1), CPU_OK);
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < N; j++) {
                int want = 0;
                for (int p = 0; p < 8; p++)
                    want += (i * 8 + p) * (p * N + j);
                double got = tw_dtype_load(tw_dtype_from_name(sum), (char *)c + (i * N + j) * 4);
                assert_int_equal((int)got, want);
            }
        cpu_close(&r);
    }
}

/* Checks that a kernel gives the same results if the variance pass is the only pass that it goes
 * through. */
static void passes_are_not_needed(void **state)
{
    static const char text[] =
        "const i32 T = 4;\n"
        "kernel k(static i32 n, const f32 *a, f32 *c) grid(cdiv(n, T)) warps(1)\n{\n"
        "    global f32 A[n][n] = a, C[n][n] = c;\n    shared f32 s[T][8], t[8][8];\n"
        "    i32 i = block.x * T;\n    reg f32 acc[T][8] = 0;\n"
        "    for (i32 p = 0; p < n; p += 8) {\n"
        "        s = A[i +: T][p +: 8];\n        t = A[p +: 8][0 +: 8];\n        sync();\n"
        "        acc += dot(s, t);\n        sync();\n    }\n"
        "    C[i +: T][0 +: 8] = acc * 2 + 1;\n}\n";
    float first[49] = {0};
    (void)state;
    for (int raw = 0; raw < 2; raw++) {
        struct cpu_run r;
        (raw ? cpu_open_raw : cpu_open)(&r, text, GIVEN({"n", 7}));
        r.args[0].scalar.i = 7;
        fill_iota(cpu_array(&r, "a", sizeof first), 49);
        const float *c = cpu_array(&r, "c", sizeof first);
        assert_int_equal(cpu_go(&r, 1), CPU_OK);
        if (!raw)
            memcpy(first, c, sizeof first);
        assert_memory_equal(first, c, sizeof first);
        cpu_close(&r);
    }
    assert_true(first[0] == 2 * (0 * 0 + 1 * 7 + 2 * 14 + 3 * 21 + 4 * 28 + 5 * 35 + 6 * 42) + 1);
}

/* --- uninitialised memory --- */

static void unwritten_tiles_are_poison(void **state)
{
    struct cpu_run r;
    (void)state;
    cpu_open(&r,
             "kernel k(f32 *c) grid(1) warps(1)\n{\n"
             "    global f32 C[4] = c, W[1];\n    global i32 Z[1] = 0;\n    shared f32 s[1];\n"
             "    reg f32 x[1];\n    if (grid.x > 1) x = 0;\n"
             "    C[0 +: 1] = s;\n    C[1 +: 1] = x;\n    C[2] = W[0];\n    C[3] = Z[0];\n}\n",
             NULL);
    const float *c = cpu_array(&r, "c", 16);
    assert_int_equal(cpu_go(&r, 1), CPU_OK);
    assert_true(isnan(c[0]) && isnan(c[1]) && isnan(c[2]) && c[3] == 0);
    cpu_close(&r);
    /* earlier contents do not show either: in the loop's last iteration, or in the last block */
    static const char *const texts[] = {
        "kernel k(f32 *c) grid(1) warps(1)\n{\n    global f32 C[4] = c;\n"
        "    for (i32 i = 0; i < 4; i++) {\n        shared f32 s[1];\n"
        "        if (i % 2 == 0) s = i;\n        sync();\n        C[i +: 1] = s;\n"
        "        sync();\n    }\n}\n",
        "kernel k(f32 *c) grid(4) threads(1)\n{\n    global f32 C[4] = c;\n"
        "    shared f32 s[1];\n    if (block.x % 2 == 0)\n        s[0] = block.x;\n"
        "    C[block.x] = s[0];\n}\n"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        cpu_open(&r, texts[i], NULL);
        c = cpu_array(&r, "c", 16);
        assert_int_equal(cpu_go(&r, 1), CPU_OK);
        assert_true(c[0] == 0 && isnan(c[1]) && c[2] == 2 && isnan(c[3]));
        cpu_close(&r);
    }
}

/* --- asynchronous copies --- */

static void copies_happen_at_the_wait(void **state)
{
    struct cpu_run r;
    (void)state;
    cpu_open(&r,
             "kernel k(f32 *a, f32 *c) grid(1) warps(1)\n{\n"
             "    global f32 A[3][4] = a, C[3][4] = c;\n    shared f32 s[3][4];\n"
             "    for (i32 i = 0; i < 3; i++) {\n        async s[i] = A[i];\n        "
             "async_commit();\n    }\n"
             "    A[0][0] = 100; A[1][0] = 200; A[2][0] = 300;\n"
             "    async_wait(2);\n    A[0][1] = -1; A[1][1] = -2;\n"
             "    sync();\n    C[0] = s[0];\n"
             "    async_wait(1);\n    A[1][2] = -3;\n    sync();\n    C[1] = s[1];\n"
             "    async_wait(0);\n    sync();\n    C[2] = s[2];\n}\n",
             NULL);
    fill_iota(cpu_array(&r, "a", 48), 12);
    const float *c = cpu_array(&r, "c", 48);
    assert_int_equal(cpu_go(&r, 1), CPU_OK);
    const float want[12] = {100, 1, 2, 3, 200, -2, 6, 7, 300, 9, 10, 11};
    assert_memory_equal(c, want, sizeof want);
    cpu_close(&r);
}

static void touching_a_copy_under_way_is_a_fault(void **state)
{
#define ASYNC_KERNEL(body)                                                                         \
    "kernel k(i32 n, const f32 *a, f32 *c) grid(1) warps(1)\n{\n"                                  \
    "    global f32 A[4][4] = a, C[4][4] = c;\n    shared f32 s[4][4], t[4][4];\n" body "}\n"
    (void)state;
    expect_fault(ASYNC_KERNEL("    async s = A;\n    C = s;\n    async_wait(0);\n"),
                 GIVEN({"n", 0}), CPU_ASYNC, 6, "the copy into s that line 5 started");
    expect_fault(ASYNC_KERNEL("    async s = A;\n    s = 1;\n    async_wait(0);\n"),
                 GIVEN({"n", 0}), CPU_ASYNC, 6, "s is used");
    expect_fault(ASYNC_KERNEL("    async s = A;\n    async s[1] = A[2];\n    async_wait(0);\n"),
                 GIVEN({"n", 0}), CPU_ASYNC, 6, "line 5");
    expect_fault(ASYNC_KERNEL("    async s = A;\n"), GIVEN({"n", 0}), CPU_ASYNC, 5,
                 "the kernel ends");
    expect_fault(ASYNC_KERNEL("    if (n == 0) {\n        shared f32 u[4][4];\n"
                              "        async u = A;\n    }\n    async_wait(0);\n"),
                 GIVEN({"n", 0}), CPU_ASYNC, 7, "u goes out of scope");
    expect_fault(ASYNC_KERNEL("    async s = A;\n    free(s);\n    async_wait(0);\n"),
                 GIVEN({"n", 0}), CPU_ASYNC, 5, "s goes out of scope");
    expect_fault(ASYNC_KERNEL("    async s = A; async_commit();\n    async t = A; async_commit();\n"
                              "    async_wait(1);\n    C = s;\n    C = t;\n    async_wait(0);\n"),
                 GIVEN({"n", 0}), CPU_ASYNC, 9, "t is used");
#undef ASYNC_KERNEL
    expect_fault("kernel k(i32 n, const f32 *a, f32 *c) grid(1) threads(4)\n{\n"
                 "    global f32 A[2][4] = a, C[4] = c;\n    shared f32 s[2][4];\n"
                 "    s[0][thread.x] = 1;\n    async s[1] = A[0];\n"
                 "    C[thread.x] = s[0][thread.x];\n    C[thread.x] = s[n][thread.x];\n"
                 "    async_wait(0);\n}\n",
                 GIVEN({"n", 1}), CPU_ASYNC, 8, "line 6");
}

/* --- blocks that wait for each other --- */

static const char turns_text[] =
    "kernel k(i32 n, i32 *c) grid(n) warps(1)\n{\n"
    "    global i32 C[n] = c, Last[1] = 0, turn[1] = 0;\n"
    "    lock(turn[0], block.x);\n"
    "    C[block.x] = Last[0] * 3 + block.x;\n    Last[0] = C[block.x];\n"
    "    unlock(turn[0], block.x + 1);\n}\n";

static void locks_order_blocks(void **state)
{
    (void)state;
    for (int threads = 1; threads <= 4; threads++) {
        struct cpu_run r;
        cpu_open(&r, turns_text, GIVEN({"n", 200}));
        const int32_t *c = cpu_array(&r, "c", 800);
        assert_int_equal(cpu_go(&r, threads), CPU_OK);
        uint32_t last = 0;
        for (uint32_t i = 0; i < 200; i++) {
            last = last * 3 + i;
            assert_int_equal((uint32_t)c[i], last);
        }
        cpu_close(&r);
    }
}

/* Each block writes a part; the last to arrive at a counter multiplies all parts of its group. */
static const char last_text[] =
    "kernel k(i32 n, i32 *c) grid(n) warps(1)\n{\n"
    "    global i32 C[8][16] = c, Part[8][cdiv(n, 8)][16], count[8] = 0;\n"
    "    i32 g = block.x % 8, p = block.x / 8, parts = (n - g + 7) / 8;\n"
    "    Part[g][p][0 +: 16] = block.x * 3 + iota(16);\n"
    "    if (arrive(count[g]) == parts - 1) {\n"
    "        reg i32 t[16] = 1;\n"
    "        for (i32 q = 0; q < parts; q++)\n            t = t * 5 + Part[g][q][0 +: 16];\n"
    "        C[g][0 +: 16] = t;\n"
    "        count[g] = 0;\n    }\n}\n";

static void the_last_block_to_arrive_sees_the_others(void **state)
{
    (void)state;
    for (int threads = 1; threads <= 8; threads += threads > 1 ? 3 : 1) {
        struct cpu_run r;
        int n = 997;
        cpu_open(&r, last_text, GIVEN({"n", n}));
        const int32_t *c = cpu_array(&r, "c", 8 * 16 * 4);
        assert_int_equal(cpu_go(&r, threads), CPU_OK);
        for (int g = 0; g < 8; g++)
            for (int e = 0; e < 16; e++) {
                uint32_t t = 1;
                for (int block = g; block < n; block += 8)
                    t = t * 5 + (uint32_t)(block * 3 + e);
                assert_int_equal((uint32_t)c[g * 16 + e], t);
            }
        cpu_close(&r);
    }
}

/* Each tenth block waits for the nine before it. */
static const char tenth_text[] =
    "kernel k(i32 n, i32 more, i32 *c) grid(n) warps(1)\n{\n"
    "    global i32 C[cdiv(n, 10)] = c, Part[n];\n    global u64 count[cdiv(n, 10)] = 0;\n"
    "    i32 g = block.x / 10;\n"
    "    if (block.x % 10 < 9) {\n"
    "        Part[block.x] = block.x * block.x;\n        arrive(count[g], 2);\n"
    "    } else {\n        lock(count[g], (u64) (18 + more));\n"
    "        for (i32 i = 0; i < 9; i++)\n            C[g] = C[g] * 3 + Part[g * 10 + i];\n"
    "    }\n}\n";

static void a_lock_waits_for_arrivals(void **state)
{
    (void)state;
    for (int threads = 1; threads <= 4; threads++) {
        struct cpu_run r;
        cpu_open(&r, tenth_text, GIVEN({"n", 400}, {"more", 0}));
        const int32_t *c = cpu_array(&r, "c", 40 * 4);
        assert_int_equal(cpu_go(&r, threads), CPU_OK);
        for (int g = 0; g < 40; g++) {
            uint32_t t = 0;
            for (uint32_t i = (uint32_t)g * 10; i < (uint32_t)g * 10 + 9; i++)
                t = t * 3 + i * i;
            assert_int_equal((uint32_t)c[g], t);
        }
        cpu_close(&r);
        cpu_open(&r, tenth_text, GIVEN({"n", 40}, {"more", 2}));
        cpu_array(&r, "c", 4 * 4);
        assert_int_equal(cpu_go(&r, threads), CPU_DEADLOCK);
        assert_int_equal(r.fault.block[0], 9);
        assert_non_null(strstr(r.fault.message, "count[0] to be 20, but it is 18"));
        cpu_close(&r);
    }
}

static void a_lock_that_no_block_can_release_is_a_deadlock(void **state)
{
    (void)state;
    for (int threads = 1; threads <= 4; threads++) {
        struct cpu_run r;
        cpu_open(&r,
                 "kernel k(i32 n, i32 *c) grid(n) warps(1)\n{\n"
                 "    global i32 C[2][1] = c;\n"
                 "    if (block.x == 20)\n        lock(C[1][0], 7);\n}\n",
                 GIVEN({"n", 40}));
        cpu_array(&r, "c", 8);
        assert_int_equal(cpu_go(&r, threads), CPU_DEADLOCK);
        assert_int_equal(r.line, 5);
        assert_int_equal(r.fault.block[0], 20);
        assert_non_null(strstr(r.fault.message, "C[1][0] to be 7, but it is 0"));
        cpu_close(&r);
    }
}

static void a_loop_that_waits_for_plain_memory_is_reported(void **state)
{
    (void)state;
    expect_fault(
        "kernel k(i32 n, i32 *c) grid(1) threads(4)\n{\n    global i32 C[4] = c;\n"
        "    if (thread.x == 1)\n        C[0] = 0;\n"
        "    while (true) {\n        i32 v = C[0];\n        if (v != 0)\n            break;\n"
        "    }\n}\n",
        GIVEN({"n", 1}), CPU_ENDLESS, 6, "waits for memory to change");
}

/* Each block waits for the next one, so all of them must run at once. */
static const char backwards_text[] =
    "kernel k(i32 n, i32 *c) grid(n) warps(1) cooperative\n{\n"
    "    global i32 C[n] = c, turn[1] = 0;\n"
    "    lock(turn[0], n - 1 - block.x);\n    C[block.x] = turn[0];\n"
    "    unlock(turn[0], n - block.x + C[0]);\n}\n";

static void cooperative_blocks_may_wait_for_higher_ones(void **state)
{
    struct cpu_run r;
    (void)state;
    cpu_open(&r, backwards_text, GIVEN({"n", 50}));
    const int32_t *c = cpu_array(&r, "c", 200);
    assert_int_equal(cpu_go(&r, 2), CPU_OK);
    for (int i = 0; i < 50; i++)
        assert_int_equal(c[i], 49 - i);
    ((int32_t *)r.args[1].data)[0] = 1; /* now each block stores 1 too much */
    assert_int_equal(cpu_go(&r, 2), CPU_DEADLOCK);
    assert_int_equal(r.fault.block[0], 0);
    cpu_close(&r);
}

static void the_first_fault_in_block_order_is_reported(void **state)
{
    (void)state;
    for (int round = 0; round < 20; round++) {
        struct cpu_run r;
        cpu_open(&r,
                 "kernel k(i32 n, i32 *c) grid(64) warps(1)\n{\n"
                 "    global i32 C[n] = c;\n    i32 x = 0;\n"
                 "    for (i32 i = 0; i < 50 * (64 - block.x); i++)\n        x += i;\n"
                 "    C[block.x] = x;\n}\n",
                 GIVEN({"n", 7}));
        cpu_array(&r, "c", 28);
        assert_int_equal(cpu_go(&r, 4), CPU_BOUNDS);
        assert_int_equal(r.fault.block[0], 7);
        cpu_close(&r);
    }
}

static void atomics_count_every_thread(void **state)
{
    struct cpu_run r;
    (void)state;
    cpu_open(
        &r,
        "kernel k(i32 n, i32 *c, u32 *order) grid(cdiv(n, 32)) threads(32)\n{\n"
        "    global i32 C[4] = c;\n    global u32 Order[n] = order;\n"
        "    i32 i = block.x * 32 + thread.x;\n    shared u32 s[1];\n    s[0] = 0;\n    sync();\n"
        "    if (i < n) {\n        atomic_add(C[i % 3], 1);\n        atomic_max(C[3], i);\n"
        "        Order[i] = atomic_add(s[0], 2);\n    }\n}\n",
        GIVEN({"n", 1000}));
    const int32_t *c = cpu_array(&r, "c", 16);
    const uint32_t *order = cpu_array(&r, "order", 4000);
    assert_int_equal(cpu_go(&r, 4), CPU_OK);
    assert_int_equal(c[0], 334);
    assert_int_equal(c[1], 333);
    assert_int_equal(c[2], 333);
    assert_int_equal(c[3], 999);
    for (uint32_t i = 0; i < 1000; i++)
        assert_int_equal(order[i], i % 32 * 2);
    cpu_close(&r);
}

static void float_atomics_give_the_same_bits_on_any_workers(void **state)
{
    float first = 0;
    (void)state;
    for (int threads = 1; threads <= 4; threads++) {
        struct cpu_run r;
        cpu_open(
            &r,
            "kernel k(i32 n, const f32 *a, f32 *c) grid(n) warps(1)\n{\n"
            "    global f32 A[n] = a, C[1] = c;\n    atomic_add(C[0], exp(A[block.x] / 7));\n}\n",
            GIVEN({"n", 100}));
        fill_iota(cpu_array(&r, "a", 400), 100);
        const float *c = cpu_array(&r, "c", 4);
        assert_int_equal(cpu_go(&r, threads), CPU_OK);
        first = threads == 1 ? c[0] : first;
        assert_memory_equal(&first, c, sizeof first);
        cpu_close(&r);
    }
}

static void atomics_on_tiles_and_gathers(void **state)
{
    struct cpu_run r;
    (void)state;
    cpu_open(&r,
             "kernel k(const i32 *at, i32 *c, i32 *d) grid(2) warps(1)\n{\n"
             "    global i32 At[6] = at, C[4][2] = c, D[6][2] = d;\n"
             "    reg i32 rows[6] = At, one[6][2] = 1;\n"
             "    D = atomic_add(C[rows[:]][0 +: 2], one);\n"
             "    atomic_or(C[2 +: 4][0 +: 2], 256);\n}\n",
             NULL);
    int32_t *at = cpu_array(&r, "at", 24);
    const int32_t rows[6] = {0, 1, 0, 7, -1, 0};
    memcpy(at, rows, sizeof rows);
    const int32_t *c = cpu_array(&r, "c", 32), *d = cpu_array(&r, "d", 48);
    assert_int_equal(cpu_go(&r, 1), CPU_OK);
    const int32_t want[8] = {6, 6, 2, 2, 256, 256, 256, 256};
    const int32_t old[12] = {3, 3, 1, 1, 4, 4, 0, 0, 0, 0, 5, 5};
    assert_memory_equal(c, want, sizeof want);
    assert_memory_equal(d, old, sizeof old);
    cpu_close(&r);
}

/* --- print --- */

static void values_are_printed(void **state)
{
    struct cpu_run r;
    (void)state;
    cpu_open(
        &r,
        "kernel k(f32 *c) grid(2) warps(1)\n{\n    global f32 C[1] = c;\n"
        "    reg f32 acc[2][2] = 0.1, long[40] = iota();\n"
        "    print(\"acc\", acc);\n    print(\"n\", block.x, long);\n    print(block.x + 1);\n}\n",
        NULL);
    cpu_array(&r, "c", 4);
    assert_int_equal(cpu_go(&r, 4), CPU_OK);
    assert_string_equal(r.printed,
                        "block (0,0) acc = [[0.1, 0.1], [0.1, 0.1]]\n"
                        "block (0,0) n = 0, [0.0, 1.0, 2.0, 3.0, …, 36.0, 37.0, 38.0, 39.0]\n"
                        "block (0,0) block.x + 1 = 1\n"
                        "block (1,0) acc = [[0.1, 0.1], [0.1, 0.1]]\n"
                        "block (1,0) n = 1, [0.0, 1.0, 2.0, 3.0, …, 36.0, 37.0, 38.0, 39.0]\n"
                        "block (1,0) block.x + 1 = 2\n");
    cpu_close(&r);
    cpu_open(&r,
             "kernel k(f32 *c) grid(1) threads(2, 2)\n{\n    global f32 C[1] = c;\n"
             "    if (thread.x == 1)\n        print(\"y\", thread.y);\n}\n",
             NULL);
    cpu_array(&r, "c", 4);
    assert_int_equal(cpu_go(&r, 1), CPU_OK);
    assert_string_equal(r.printed, "block (0,0) thread (1,0) y = 0\n"
                                   "block (0,0) thread (1,1) y = 1\n");
    cpu_close(&r);
}

/* --- memory --- */

struct scarce {
    int left;
};

static void *scarce_resize(void *user, void *ptr, size_t old_size, size_t size)
{
    struct scarce *s = user;
    if (size > 0 && s->left-- <= 0)
        return NULL;
    return allocator_libc.resize(NULL, ptr, old_size, size);
}

static void running_out_of_memory_comes_back(void **state)
{
    struct cpu_run r;
    struct scarce scarce;
    const struct allocator allocator = {scarce_resize, &scarce, NULL};
    int failures = 0;
    (void)state;
    cpu_open(&r,
             "kernel k(const f32 *a, f32 *c) grid(2) warps(1)\n{\n"
             "    global f32 A[4] = a, C[4] = c, W[4];\n    shared f32 s[4];\n"
             "    async s = A;\n    async_wait(0);\n    sync();\n    W = s;\n    C = W;\n}\n",
             NULL);
    cpu_array(&r, "a", 16);
    cpu_array(&r, "c", 16);
    r.options.allocator = &allocator;
    for (int left = 0; left < 20; left++) {
        scarce.left = left;
        enum cpu_fault_kind kind = cpu_go(&r, 1);
        assert_true(kind == CPU_OK || kind == CPU_NO_MEMORY);
        failures += kind == CPU_NO_MEMORY;
    }
    assert_true(failures >= 2 && failures < 20);
    cpu_close(&r);
}

static void tiles_beyond_measure_are_refused(void **state)
{
    struct cpu_run r;
    (void)state;
    cpu_open(&r,
             "kernel k(f32 *c) grid(1) warps(1)\n{\n    global f32 C[1] = c;\n"
             "    reg f64 big[32768][32768] = 0;\n    C[0] = 1;\n}\n",
             NULL);
    assert_null(r.program);
    assert_non_null(strstr(r.why, "MiB"));
    cpu_close(&r);
}

static void floats_are_printed_plainly(void **state)
{
    struct cpu_run r;
    (void)state;
    cpu_open(
        &r,
        "kernel k() grid(1) warps(1)\n{\n"
        "    print(\"x\", 30.0, 100.0, 0.25, -0.5, 0.0, 0.0001, 123456784.0, 16777216.0);\n"
        "    print(\"y\", 1e9, 1e-5, -2.5e20, inf, (f16) 0.1, (f64) 0.1, (bf16) 3.14159);\n}\n",
        NULL);
    assert_int_equal(cpu_go(&r, 1), CPU_OK);
    assert_string_equal(
        r.printed, "block (0,0) x = 30.0, 100.0, 0.25, -0.5, 0.0, 0.0001, 123456784.0, 16777216.0\n"
                   "block (0,0) y = 1e+09, 1e-05, -2.5e+20, inf, 0.1, 0.1, 3.14\n");
    cpu_close(&r);
}

/* Checks the advice for each axis, at its lower and upper edge. */
static void a_fault_says_the_way_out(void **state)
{
    static const struct {
        const char *text, *way_out;
    } cases[] = {
        {"kernel k(i32 m, f32 *c) grid(1) threads(32)\n{\n    global f32 C[m][8] = c;\n"
         "    i32 row = thread.x;\n    C[row][0] = 1;\n}\n",
         "guard it: `if (row < m)`; or is it the wrong index?"},
        {"kernel k(i32 m, f32 *c) grid(1) threads(32)\n{\n    global f32 C[m][8] = c;\n"
         "    C[0][thread.x - 1] = 1;\n}\n",
         "guard it: `if (thread.x - 1 >= 0)`; or is it the wrong index?"},
        {"kernel k(i32 m, f32 *c) grid(1) threads(32)\n{\n    shared f32 s[8];\n"
         "    s[thread.x] = 1;\n}\n",
         "guard it: `if (thread.x < 8)`; or is it the wrong index?"},
        {"tune B = {4};\nkernel k(i32 m, f32 *c) grid(1) threads(32)\n{\n"
         "    shared f32 s[2][2 * B];\n    s[0][2 * B - thread.x] = 1;\n}\n",
         "guard it: `if (2 * B - thread.x < 2 * B)`; or is it the wrong index?"},
        {"kernel k(i32 m, f32 *c) grid(1) threads(32)\n{\n    global f32 C[m] = c;\n"
         "    C[m] = 1;\n}\n",
         "is it the wrong index? The last one is `m - 1`"},
        {"kernel k(i32 m, f32 *c) grid(1) threads(32)\n{\n    global f32 C[8][m] = c;\n"
         "    i32 x = thread.x, y = thread.x / 2;\n    if (y < m)\n"
         "        C[0][x] = 1;\n}\n",
         "`y` is below `m` here: is it meant to be `C[0][y]`?"},
        {"kernel k(i32 m, f32 *c) grid(1) threads(32)\n{\n    global f32 C[m][8] = c;\n"
         "    i32 x = thread.x, y = thread.x / 4;\n    if (y < m)\n"
         "        C[x][y] = 1;\n}\n",
         "guard it: `if (x < m)`; or is it the wrong index?"},
        {"kernel k(i32 m, f32 *c) grid(1) threads(32)\n{\n    global f32 C[m * 8] = c;\n"
         "    i32 row = thread.x, p = 1;\n    C[row*8 + p + 2] = 1;\n}\n",
         "guard both parts: `if (row < m && p + 2 < 8)`; or give `C` two axes, `C[m][8]`, and "
         "write `C[row][p + 2]`"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct cpu_run r;
        cpu_open(&r, cases[i].text, GIVEN({"m", 20}));
        cpu_array(&r, "c", 20 * 8 * 4);
        assert_int_equal(cpu_go(&r, 1), CPU_BOUNDS);
        assert_string_equal(r.fault.way_out, cases[i].way_out);
        cpu_close(&r);
    }
}

static void extents_do_not_wrap(void **state)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"kernel k(i32 m, i32 n, f32 *c) grid(1) warps(1)\n{\n    global f32 C[m * n] = c;\n    "
         "C[0] = 1;\n}\n",
         "`m * n` = 70000 * 70000 overflows i32: write `(i64) m * n`"},
        {"kernel k(i32 m, i32 n, f32 *c) grid(cdiv(m * n, 64)) warps(1)\n{\n    global f32 C[1] = "
         "c;\n    C[0] = 1;\n}\n",
         "`m * n` = 70000 * 70000 overflows i32: write `(i64) m * n`"},
        {"kernel k(i32 m, i32 n, f32 *c) grid(1) warps(1)\n{\n    global f32 C[1] = c strides(m * "
         "n + 1);\n    C[0] = 1;\n}\n",
         "`m * n` = 70000 * 70000 overflows i32: write `(i64) m * n`"},
        {"kernel k(i32 m, i32 n, f32 *c) grid(1) warps(1)\n{\n    global f32 C[pow2_ceil(n * "
         "20000)] = c;\n    C[0] = 1;\n}\n",
         "`pow2_ceil(n * 20000)` overflows i32"},
        {"kernel k(i32 m, i32 n, f32 *c) grid((i32) ((i64) m * n)) warps(1)\n{\n    global f32 "
         "C[1] = c;\n    C[0] = 1;\n}\n",
         "`(i32) ((i64) m * n)` overflows i32"},
        {"kernel k(i32 m, i32 n, f32 *c) grid(1) warps(1)\n{\n    global f32 C[(i64) m * n] = c;\n "
         "   C[0] = 1;\n}\n",
         "c: view C needs 19600000000 bytes, but the array has 4"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct cpu_run r;
        cpu_open(&r, cases[i].text, GIVEN({"m", 70000}, {"n", 70000}));
        cpu_array(&r, "c", 4);
        assert_int_equal(cpu_go(&r, 1), CPU_BAD_ARGUMENT);
        assert_string_equal(r.fault.message, cases[i].message);
        cpu_close(&r);
    }
}

static bool cancel_soon(void *user)
{
    int *polls = user;
    return ++*polls > 3;
}

static void a_launch_can_be_cancelled(void **state)
{
    struct cpu_run r;
    int polls = 0;
    (void)state;
    cpu_open(&r,
             "kernel k(i32 n, i32 *c) grid(n) warps(1)\n{\n    global i32 C[n] = c;\n"
             "    C[block.x] = 1;\n}\n",
             GIVEN({"n", 1000}));
    const int32_t *c = cpu_array(&r, "c", 4000);
    r.options.cancelled = cancel_soon;
    r.options.cancelled_user = &polls;
    assert_int_equal(cpu_go(&r, 1), CPU_CANCELLED);
    assert_int_equal(c[2], 1);
    assert_int_equal(c[999], 0);
    cpu_close(&r);
}

/* Blocks run endless loops when the launch is cancelled; a fault of a lower block ends them too. */
static void endless_loops_can_be_cancelled(void **state)
{
    static const char *const loops[] = {
        "kernel k(i32 n, i32 *c) grid(n) warps(1)\n{\n    global i32 C[n] = c;\n"
        "    for (i32 i = 0; i >= 0; i = i & 7)\n        C[block.x] = i;\n}\n",
        "kernel k(i32 n, i32 *c) grid(n) threads(32)\n{\n    global i32 C[n] = c;\n"
        "    i32 i = 1;\n    while (i > 0)\n        i = (i & 7) + 1 + thread.x;\n    C[0] = "
        "i;\n}\n",
        "kernel k(i32 n, i32 *c) grid(n) warps(1) cooperative\n{\n    global i32 C[n] = c;\n"
        "    global i32 turn[1] = 0;\n    lock(turn[0], block.x);\n    i32 i = 1;\n"
        "    while (i > 0)\n        i = (i & 7) + 1;\n    unlock(turn[0], block.x + i);\n}\n",
    };
    (void)state;
    for (size_t i = 0; i < sizeof loops / sizeof loops[0]; i++) {
        struct cpu_run r;
        int polls = -20;
        cpu_open(&r, loops[i], GIVEN({"n", 3}));
        cpu_array(&r, "c", 12);
        r.options.cancelled = cancel_soon;
        r.options.cancelled_user = &polls;
        assert_int_equal(cpu_go(&r, 1), CPU_CANCELLED);
        cpu_close(&r);
    }
}

static void a_fault_ends_endless_loops_of_later_blocks(void **state)
{
    struct cpu_run r;
    (void)state;
    cpu_open(&r,
             "kernel k(i32 n, i32 *c) grid(2) warps(1)\n{\n    global i32 C[n] = c;\n"
             "    for (i32 i = 0; i < 100000 || block.x == 1; i = (i + 1) & 0xfffff)\n"
             "        C[0] = i;\n    C[n] = 1;\n}\n",
             GIVEN({"n", 1}));
    cpu_array(&r, "c", 4);
    assert_int_equal(cpu_go(&r, 2), CPU_BOUNDS);
    assert_int_equal(r.fault.block[0], 0);
    cpu_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_element_outside_is_a_fault),
        cmocka_unit_test(a_uniform_element_outside_is_a_fault),
        cmocka_unit_test(a_broken_promise_is_a_fault),
        cmocka_unit_test(slices_reach_past_the_edges),
        cmocka_unit_test(sizes_must_have_values),
        cmocka_unit_test(views_must_fit_their_arrays),
        cmocka_unit_test(empty_views_and_grids_are_fine),
        cmocka_unit_test(dividing_by_zero_is_a_fault_where_it_happens),
        cmocka_unit_test(lanes_leave_loops_one_by_one),
        cmocka_unit_test(resting_lanes_touch_nothing),
        cmocka_unit_test(threads_have_slices_of_their_own),
        cmocka_unit_test(threads_multiply_arrays_of_their_own),
        cmocka_unit_test(passes_are_not_needed),
        cmocka_unit_test(unwritten_tiles_are_poison),
        cmocka_unit_test(copies_happen_at_the_wait),
        cmocka_unit_test(touching_a_copy_under_way_is_a_fault),
        cmocka_unit_test(locks_order_blocks),
        cmocka_unit_test(the_last_block_to_arrive_sees_the_others),
        cmocka_unit_test(a_lock_waits_for_arrivals),
        cmocka_unit_test(a_lock_that_no_block_can_release_is_a_deadlock),
        cmocka_unit_test(a_loop_that_waits_for_plain_memory_is_reported),
        cmocka_unit_test(cooperative_blocks_may_wait_for_higher_ones),
        cmocka_unit_test(the_first_fault_in_block_order_is_reported),
        cmocka_unit_test(atomics_count_every_thread),
        cmocka_unit_test(float_atomics_give_the_same_bits_on_any_workers),
        cmocka_unit_test(atomics_on_tiles_and_gathers),
        cmocka_unit_test(values_are_printed),
        cmocka_unit_test(running_out_of_memory_comes_back),
        cmocka_unit_test(tiles_beyond_measure_are_refused),
        cmocka_unit_test(floats_are_printed_plainly),
        cmocka_unit_test(a_fault_says_the_way_out),
        cmocka_unit_test(extents_do_not_wrap),
        cmocka_unit_test(a_launch_can_be_cancelled),
        cmocka_unit_test(endless_loops_can_be_cancelled),
        cmocka_unit_test(a_fault_ends_endless_loops_of_later_blocks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
