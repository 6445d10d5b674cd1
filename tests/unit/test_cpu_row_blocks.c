/* Blocks of rows whose steps are bound to a frame (row_blocks.c), compared with the plain way:
 * the same bits with every set of routines, on one worker and on several, wherever rows lie. */
#include "cpu_helper.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST = 1 << 17 };

struct outcome {
    struct cpu_fault fault;
    int line;
    bool bound; /* the program is of a kind that can be bound */
    float c[MOST], d[MOST];
    int32_t p[MOST];
};

static void run_once(const char *text, int64_t n, const struct routine_set *set, bool plain,
                     int threads, struct outcome *out)
{
    struct cpu_run r;
    const struct given given[] = {{"n", n}, {NULL, 0}};
    cpu_open_plain(&r, text, given, set, plain);
    out->bound = r.program->row_blocks_bytes > 0;
    float *a = cpu_array(&r, "a", MOST * sizeof *a), *c = cpu_array(&r, "c", sizeof out->c),
          *d = cpu_array(&r, "d", sizeof out->d);
    uint16_t *h = cpu_array(&r, "h", MOST * sizeof *h);
    int32_t *q = cpu_array(&r, "q", MOST * sizeof *q), *p = cpu_array(&r, "p", sizeof out->p);
    for (int i = 0; i < MOST; i++) {
        a[i] = (float)(i * 37 % 211) / 32 - 3;
        c[i] = (float)(i % 17);
        q[i] = i * 29 % 101 - 50;
        dtype_store_f64(DT_F16, &h[i], (double)(i * 13 % 97) / 16 - 3);
    }
    cpu_go(&r, threads);
    out->fault = r.fault;
    out->line = r.line;
    memcpy(out->c, c, sizeof out->c);
    memcpy(out->d, d, sizeof out->d);
    memcpy(out->p, p, sizeof out->p);
    cpu_close(&r);
}

static bool same_values(const float *x, const float *y)
{
    for (int i = 0; i < MOST; i++)
        if (memcmp(&x[i], &y[i], sizeof *x) != 0 && !(isnan(x[i]) && isnan(y[i])))
            return false;
    return true;
}

static struct outcome plain, got;
static bool of_the_kind; /* all programs since its last reset were bound */

static enum cpu_fault_kind expect_same_up_to(const char *text, int64_t n, int most_threads)
{
    if (TW_TEST_RACES_ONLY) {
        run_once(text, n, NULL, false, most_threads, &got);
        of_the_kind &= got.bound;
        return got.fault.kind;
    }
    run_once(text, n, routine_set_at(0), true, 1, &plain);
    for (int s = 0; routine_set_at(s); s++)
        for (int threads = 1; threads <= most_threads; threads += 2) {
            run_once(text, n, routine_set_at(s), false, threads, &got);
            of_the_kind &= got.bound;
            if (plain.fault.kind != got.fault.kind || plain.line != got.line ||
                strcmp(plain.fault.message, got.fault.message) != 0)
                fail_msg("%s: line %d: %s, not line %d: %s\n%s", routine_set_at(s)->name, got.line,
                         got.fault.message, plain.line, plain.fault.message, text);
            /* if a launch faults, other blocks may have ended or not */
            if (plain.fault.kind == CPU_OK &&
                !(same_values(plain.c, got.c) && same_values(plain.d, got.d) &&
                  memcmp(plain.p, got.p, sizeof plain.p) == 0))
                fail_msg("%s, %d workers: other values\n%s", routine_set_at(s)->name, threads,
                         text);
        }
    return plain.fault.kind;
}

static enum cpu_fault_kind expect_same(const char *text, int64_t n)
{
    return expect_same_up_to(text, n, 3);
}

#define HEAD(grid)                                                                                 \
    "kernel k(i32 n, const f32 *a, const f16 *h, const i32 *q, f32 *c, f32 *d, i32 *p) " grid      \
    " warps(1)\n{\n"
#define KERNEL(body)                                                                               \
    HEAD("grid(n)")                                                                                \
    "    global f32 X[n][700] = a, Z[n][1500] = a, G[1500] = a, Y[n][700] = c, W[n][1500] = c, "   \
    "S[n] = d;\n    global f16 H[n][700] = h;\n    global i32 Q[n][700] = q;\n"                    \
    "    f32 half = 0.5;\n" body "}\n"

static void blocks_of_rows_are_as_the_plain_way(void **state)
{
    static const char *const texts[] = {
        /* softmax and norms, of one strip and of several, of a part of the row */
        KERNEL("    reg f32 v[700] = X[block.x];\n    v = exp(v - max(v));\n"
               "    Y[block.x] = v / sum(v);\n"),
        KERNEL("    reg f32 v[1500] = Z[block.x];\n    v = exp(v - max(v));\n"
               "    W[block.x] = v / sum(v);\n"),
        KERNEL("    reg f32 v[300] = X[block.x][13 +: 300];\n    v = v - sum(v) / 300;\n"
               "    f32 s = rsqrt(sum(v * v) / 300 + 0.01);\n"
               "    Y[block.x][1 +: 300] = v * s * G[0 +: 300] + G[7 +: 300];\n"),
        KERNEL(
            "    reg f32 v[1500] = Z[block.x];\n    v = v - sum(v) / 1500;\n"
            "    f32 s = rsqrt(sum(v * v) / 1500 + 0.01);\n    W[block.x] = v * s * G + half;\n"),
        KERNEL("    reg f32 v[700] = X[block.x];\n    f32 s = rsqrt(sum(v * v) / 700 + 0.01);\n"
               "    Y[block.x] = v * s * G[0 +: 700];\n"),
        /* one value a row */
        KERNEL("    reg f32 v[700] = X[block.x];\n    f32 m = max(v);\n"
               "    S[block.x] = m + log(sum(exp(v - m)));\n    Y[block.x] = v;\n"),
        /* rows by a copy of block.x, several rows, constants, types */
        KERNEL("    i32 r = block.x;\n    reg f32 v[700] = X[r] * G[0 +: 700] + X[0];\n"
               "    Y[r] = v * tanh(v) + half;\n"),
        KERNEL("    reg f16 v[700] = H[block.x];\n    reg i32 w[700] = Q[block.x];\n"
               "    Y[block.x] = (f32) (v * (f16) w) + X[block.x] / (X[n - 1 - (n - 1)] + 4);\n"),
        KERNEL("    reg f32 v[700] = X[block.x], w[700] = v;\n    v = v * half;\n"
               "    w = w + v * max(w);\n    Y[block.x] = where(v > w, v, w - 1);\n"),
        KERNEL("    Y[block.x] = X[block.x];\n"),
        KERNEL("    Y[block.x] = exp2(Q[block.x] / half - 1.5) * sum(X[block.x]) + half;\n"),
        KERNEL("    i32 r = block.x;\n    r = r / 2 + 1;\n    Y[block.x] = X[r] * 2;\n"),
        KERNEL("    i32 r = block.x, s = r;\n    Y[s] = X[r][0 +: 700] * (f32) r + 1;\n"),
        KERNEL("    Y[block.x][block.x +: 300] = X[block.x][block.x +: 300] * 2;\n"),
        KERNEL("    reg f32 v[700] = X[block.x];\n    f32 s = G[block.x] * max(v);\n"
               "    v = v * s;\n    Y[block.x] = v;\n    S[block.x] = s;\n"),
        /* block.x is stored, the block before the end; a row that is read twice */
        HEAD("grid(n)") "    global i32 C[n] = p;\n    C[block.x] = block.x;\n}\n",
        HEAD("grid(3, n)") "    global i32 C[n][3] = p;\n"
                           "    C[block.y][block.x] = block.y * 3 + block.x;\n}\n",
        KERNEL("    Y[block.x] = X[block.x] * 2;\n    return;\n    Y[block.x] = X[block.x] * 3;\n"),
        KERNEL(
            "    reg f32 v[700] = X[block.x];\n    Y[block.x] = X[block.x] * max(X[block.x]) - v;\n"
            "    S[block.x] = sum(X[block.x]);\n"),
        /* an axis of one element, whose stride is arbitrary */
        HEAD("grid(1, n)") "    global f32 X[1][1][300] = a strides(1152921504606846976, "
                           "1152921504606846976, 1);\n"
                           "    global f32 Y[n][300] = c, Z[1][300] = a "
                           "strides(-23058430092136939, 1);\n"
                           "    Y[block.y] = X[block.x][block.x] * 2 + Z[block.x];\n}\n",
        /* two rows stored, the second over the first */
        KERNEL("    reg f32 v[700] = X[block.x] + 1;\n    Y[block.x] = v * v;\n"
               "    S[block.x] = sum(v);\n    Y[block.x] = Y[block.x] / 3;\n"),
        /* more axes of the grid */
        HEAD("grid(9, n)") "    global f32 X[n][9][300] = a, Y[n][9][300] = c, G[9][300] = d;\n"
                           "    reg f32 v[300] = X[block.y][block.x];\n    v = exp(v - max(v));\n"
                           "    Y[block.y][block.x] = v / sum(v) + G[block.x];\n}\n",
        HEAD("grid(9, n)") "    global f32 X[n][9][320] = a, Y[n][9][320] = c;\n"
                           "    reg f32 v[320] = X[block.y][block.x];\n    v = exp(v - max(v));\n"
                           "    Y[block.y][block.x] = v / sum(v);\n}\n",
        HEAD("grid(3, 5, 7)") "    global f32 X[7][3][5][400] = a, Y[5][7][3][400] = c;\n"
                              "    Y[block.y][block.z][block.x] = X[block.z][block.x][block.y] * 2 "
                              "+ block.y;\n}\n",
        /* rows with gaps, and backwards */
        HEAD("grid(n)") "    global f32 X[n][300] = a strides(411, 1), Y[n][300] = c strides(303, "
                        "1);\n"
                        "    reg f32 v[300] = X[block.x];\n    v = v - max(v);\n    Y[block.x] = v "
                        "* v + 1;\n}\n",
    };
    (void)state;
    of_the_kind = true;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        assert_int_equal(expect_same(texts[i], 40), CPU_OK);
        assert_int_equal(expect_same(texts[i], 3), CPU_OK);
        if (!of_the_kind)
            fail_msg("not of the kind that is bound:\n%s", texts[i]);
    }
}

/* Blocks that cannot be bound to the launch run step by step: rows that reach past an edge, or
 * are not contiguous; elements at any place; stores over rows that are read; more blocks than
 * rows. */
static void others_run_step_by_step(void **state)
{
    static const char *const texts[] = {
        KERNEL("    reg f32 v[800] = X[block.x][0 +: 800];\n    v = v - max(v);\n"
               "    Y[block.x][0 +: 800] = v * 2;\n"),
        KERNEL("    reg f32 v[600] = X[block.x][-3 +: 600] else 7;\n    v = v * v;\n"
               "    Y[block.x][200 +: 600] = v + 1;\n"),
        HEAD("grid(n)") "    global f32 X[700][n] = a, Y[n][700] = c;\n"
                        "    Y[block.x] = X[0 +: 700][block.x] * 2;\n}\n",
        HEAD("grid(n)") "    global f32 A[n][700] = a, C[n][700] = c;\n    reg i32 t[700] = "
                        "block.x;\n"
                        "    C[block.x] = A[block.x][t[:]];\n}\n",
        HEAD("grid(n)") "    global f32 A[n][700] = a, C[n][700] = c;\n    reg i32 t[300] = "
                        "block.x;\n"
                        "    reg f32 v[300] = A[block.x][t[:]];\n    v = v * 2;\n"
                        "    C[block.x][0 +: 300] = v;\n}\n",
        HEAD(
            "grid(n)") "    global f32 A[n][700] = a, C[n][700] = c;\n    reg i32 t[300] = iota() "
                       "* 2;\n"
                       "    reg f32 v[300] = A[block.x][0 +: 300];\n    C[block.x][t[:]] = v;\n}\n",
        HEAD("grid(n)") "    global f32 X[n][300] = c, Y[n][300] = c;\n"
                        "    Y[block.x] = X[block.x] * 2;\n}\n",
        HEAD("grid(n)") "    global f32 C[n][700] = c;\n"
                        "    C[block.x][1 +: 300] = C[block.x][0 +: 300] + 1;\n}\n",
    };
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_int_equal(expect_same(texts[i], 40), CPU_OK);
    assert_int_equal(
        expect_same(HEAD("grid(n + 3)") "    global f32 X[n][300] = a, Y[n][300] = c;\n"
                                        "    Y[block.x] = X[block.x] * 2;\n}\n",
                    40),
        CPU_BOUNDS);
    /* a race, except on one worker: the stored value is read one element further on */
    assert_int_equal(expect_same_up_to(HEAD("grid(9)") "    global f32 C[n] = c;\n"
                                                       "    C[1 +: 300] = C[0 +: 300] + 1;\n}\n",
                                       400, 1),
                     CPU_OK);
}

/* More rows, calls, or places of rows than the bound form has room for. */
static void large_kernels_run_step_by_step(void **state)
{
    enum { ROOM = 1 << 14 };
    char *text = malloc(ROOM);
    (void)state;
    assert_non_null(text);
    of_the_kind = true;
    for (int rows = 1; rows <= 20; rows++)
        for (int times = 1; times <= 40; times += 13) {
            int at = sprintf(text, HEAD("grid(n)") "    reg f32 s[300] = 0;\n");
            for (int i = 0; i < rows; i++)
                at += sprintf(text + at, "    global f32 X%d[n][300] = a + %d;\n", i, 100 * i);
            at += sprintf(text + at, "    global f32 C[n][300] = c;\n");
            for (int i = 0; i < times; i++)
                at += sprintf(text + at, "    s = s * X%d[block.x] + X%d[block.x];\n", i % rows,
                              (i + 1) % rows);
            sprintf(text + at, "    C[block.x] = s;\n}\n");
            assert_int_equal(expect_same_up_to(text, 12, 1), CPU_OK);
        }
    assert_true(of_the_kind);
    free(text);
}

static bool third_time(void *user)
{
    int *asked = user;
    return ++*asked >= 3;
}

/* Returns the number of blocks that run in a launch that is cancelled at the third query. */
static int blocks_run(int across, int rows, int columns)
{
    struct cpu_run r;
    char text[512];
    int asked = 0, run = 0;
    const struct given given[] = {{"n", rows}, {NULL, 0}};
    size_t bytes = (size_t)rows * (size_t)columns * sizeof(float);
    snprintf(text, sizeof text,
             "const i32 W = %d, A = %d;\n"
             "kernel k(i32 n, const f32 *a, f32 *c) grid(A, n / A) warps(1)\n{\n"
             "    global f32 X[n / A][A][W] = a, Y[n / A][A][W] = c;\n"
             "    Y[block.y][block.x] = X[block.y][block.x] + 1;\n}\n",
             columns, across);
    cpu_open(&r, text, given);
    cpu_array(&r, "a", bytes);
    const float *c = cpu_array(&r, "c", bytes);
    r.options.cancelled = third_time;
    r.options.cancelled_user = &asked;
    assert_int_equal(cpu_go(&r, 1), CPU_CANCELLED);
    for (int i = 0; i < rows; i++)
        run += c[i * columns] != 0;
    cpu_close(&r);
    return run;
}

/* A cancelled launch stops soon: after two long blocks, or after at most 300 short ones. */
static void cancelling_does_not_take_long(void **state)
{
    (void)state;
    assert_int_equal(blocks_run(40, 40, 70000), 2);
    assert_in_range(blocks_run(1000, 1000, 300), 2, 300);
    assert_in_range(blocks_run(1, 100, 6000), 2, 25);
    assert_in_range(blocks_run(2, 200, 20000), 2, 10); /* short axes */
}

/* Rows of views that the kernel does not write are not loaded, whatever it stores meanwhile; but
 * they are loaded if the caller gave the same array for a view that it writes. */
static void rows_of_const_views_are_read_where_they_lie(void **state)
{
    static const char text[] = "kernel k(i32 n, const f32 *a, f32 *c) grid(n) warps(1)\n{\n"
                               "    global f32 X[n][300] = a, Y[n][300] = c;\n"
                               "    reg f32 v[300] = X[block.x];\n    Y[block.x] = v * 2;\n"
                               "    for (i32 j = 0; j < 2; j++)\n        Y[block.x] = (Y[block.x] "
                               "+ v) * max(X[block.x]);\n"
                               "    Y[block.x] = Y[block.x] - sum(v) - X[block.x];\n}\n";
    enum { ROWS = 12, COUNT = ROWS * 300 };
    (void)state;
    for (int same = 0; same < 2; same++) {
        float results[2][COUNT];
        for (int short_cuts = 0; short_cuts < 2; short_cuts++) {
            struct cpu_run r;
            const struct given given[] = {{"n", ROWS}, {NULL, 0}};
            cpu_open_plain(&r, text, given, NULL, !short_cuts);
            int loads = 0;
            for (size_t i = 0; i < r.program->count; i++)
                loads += r.program->code[i].step == step_load;
            assert_int_equal(loads, short_cuts ? 2 : 5); /* loads of Y; of X, too */
            float *a = cpu_array(&r, "a", COUNT * sizeof *a);
            float *c = cpu_array(&r, "c", COUNT * sizeof *c);
            for (int i = 0; i < COUNT; i++)
                a[i] = (float)(i * 37 % 211) / 32 - 3;
            r.args[1].data = same ? c : a;
            memcpy(c, a, COUNT * sizeof *c);
            assert_int_equal(cpu_go(&r, 1), CPU_OK);
            memcpy(results[short_cuts], c, sizeof results[0]);
            r.args[1].data = a;
            cpu_close(&r);
        }
        assert_memory_equal(results[0], results[1], sizeof results[0]);
    }
}

/* Statements in any order, on rows of any length. */
static void random_blocks_are_as_the_plain_way(void **state)
{
    static const char *const statements[] = {
        "v = v - max(v);",
        "v = exp2(v - max(v));",
        "v = v / (sum(abs(v)) + 1);",
        "w = v * s + w;",
        "s = rsqrt(sum(v * v) + 1);",
        "v = v * s * G;",
        "w = (X[block.x] - s) * s;",
        "s = s + sum(X[block.x] * w);",
        "D[block.x] = w / s;",
        "S[block.x] = s;",
        "v = (f32) (f16) (v + H[block.x]);",
        "w = where(w > v, w, -v);",
        "v = tanh(w - s);",
        "C[block.x] = v * s;",
    };
    static const int lengths[] = {17, 64, 128, 255, 256, 400, 512, 513, 768, 1024, 1025, 2048};
    enum { LENGTHS = sizeof lengths / sizeof *lengths, STATEMENTS = 14 };
    uint32_t seed = 5;
    (void)state;
    for (int round = 0; round < (TW_TEST_RACES_ONLY ? 12 : 60); round++) {
        char text[2048];
        int n = lengths[cpu_draw(&seed, LENGTHS)],
            at = snprintf(
                text, sizeof text,
                HEAD("grid(n)") "    global f32 X[n][%d] = a, G[%d] = a, C[n][%d] = c, "
                                "S[n] = d + 120000;\n    global f32 D[n][%d] = d strides(%d, 1);\n"
                                "    global f16 H[n][%d] = h;\n"
                                "    reg f32 v[%d] = X[block.x], w[%d] = G;\n"
                                "    f32 s = 0.5;\n",
                n, n, n, n, n + 40, n, n, n);
        for (int i = (int)cpu_draw(&seed, 7) + 1; i > 0; i--)
            at += sprintf(text + at, "    %s\n", statements[cpu_draw(&seed, STATEMENTS)]);
        sprintf(text + at, "    C[block.x] = v + w;\n}\n");
        assert_int_equal(expect_same(text, 25), CPU_OK);
    }
}

/* Rows of views of more than 8 MiB are stored past the caches; rows that do not fill whole lines
 * are stored in parts. */
static void large_rows_are_as_the_plain_way(void **state)
{
    static const int lengths[] = {1003, 1008, 1024};
    enum { ROWS = 2200, LENGTHS = sizeof lengths / sizeof *lengths };
    static const char *const bodies[] = {
        "v = exp(v - max(v));\n    C[block.x] = v / sum(v);",
        /* powers that are 0, subnormal, small; changed before or after; of a loaded row */
        "f32 m = max(v) + 90;\n    v = exp(v - m);\n    C[block.x] = v / (0 * sum(v) + 1.9);",
        "v = exp(v - max(v));\n    C[block.x] = v / (sum(v) * 1e-41);",
        "v = exp(v - max(v));\n    f32 by = 0 * sum(v) + 1.9;\n    v = v * 1e-36;\n"
        "    C[block.x] = v / by;",
        "f32 m = max(v) + 90;\n    v = exp(v - m);\n    f32 by = 0 * sum(v) + 1.9;\n    reg f32 "
        "w[W] = 1;\n"
        "    w = exp(w);\n    C[block.x] = v / (by + 0 * sum(w));",
        "v = v * 2;\n    v = exp(v - max(v));\n    C[block.x] = v / sum(v);",
        "v = exp(v - max(v));\n    C[block.x] = v / (0 * sum(v) + 1.9);",
        "reg f32 w[W] = exp(v - max(v));\n    C[block.x] = w / (sum(w) + max(v));",
        "v = v - sum(v) / W;\n    C[block.x] = v * rsqrt(sum(v * v) / W + 0.1) * G + V[0 +: W];",
        "v = v * 2;\n    C[block.x] = v + V[block.x +: W];",
        "C[block.x] = v;",
        "v = v * 2;\n    C[block.x] = abs(v);",
        "v = v * 2;\n    D[block.x] = v + G;",
    };
    enum { BODIES = sizeof bodies / sizeof *bodies, GAP = 8 };
    (void)state;
    for (int i = 0; i < LENGTHS * BODIES; i++) {
        float *values[2] = {NULL};
        for (int s = -1; s < 0 || routine_set_at(s); s++) {
            if (TW_TEST_RACES_ONLY && routine_set_at(s + 1))
                continue;
            struct cpu_run r;
            char text[512];
            const struct given given[] = {{"n", ROWS}, {NULL, 0}};
            int columns = lengths[i % LENGTHS];
            size_t bytes = (size_t)ROWS * (size_t)(columns + GAP) * sizeof **values;
            bytes -= bytes % CACHE_LINE;
            snprintf(text, sizeof text,
                     "const i32 W = %d;\n"
                     "kernel k(i32 n, const f32 *a, f32 *c) grid(n) warps(1)\n{\n"
                     "    global f32 A[n][W] = a, V[n * W] = a, G[W] = a, C[n][W] = c, "
                     "D[n][W] = c strides(W + 8, 1);\n    reg f32 v[W] = A[block.x];\n    %s\n}\n",
                     columns, bodies[i / LENGTHS]);
            cpu_open_plain(&r, text, given, routine_set_at(s < 0 ? 0 : s), s < 0);
            float *a = cpu_array(&r, "a", bytes), *c = cpu_array(&r, "c", bytes);
            for (size_t k = 0; k < bytes / sizeof *a; k++)
                a[k] = (float)(k * 37 % 8191) / 1024 - 4;
            for (int row = 0; row < ROWS; row += 2) /* the power of one is subnormal */
                a[row * columns + row * 7 % columns] = (float)-(80 + row % 16);
            assert_int_equal(cpu_go(&r, 2), CPU_OK);
            values[s >= 0] = malloc(bytes);
            assert_non_null(values[s >= 0]);
            memcpy(values[s >= 0], c, bytes);
            cpu_close(&r);
            if (s < 0)
                continue;
            if (values[0] && memcmp(values[0], values[1], bytes) != 0)
                fail_msg("%s: other values\n%s", routine_set_at(s)->name, text);
            free(values[1]);
        }
        free(values[0]);
    }
}

/* Fills rows of all kinds, by turns. */
static void fill_rows(float *a, int rows, int columns)
{
    for (int i = 0; i < rows * columns; i++)
        a[i] = (float)(i * 37 % 8191) / 1024 - 4;
    for (int row = 0; row < rows; row++) {
        float *x = a + row * columns;
        int some = row * 61 % columns;
        for (int k = 0; k < columns; k++)
            switch (row % 10) {
            case 1: x[k] = k == some ? 0 : -fabsf(x[k]); break; /* the maximum is 0 */
            case 2: x[k] = -INFINITY; break;                    /* no finite number at all */
            case 3: x[k] = k > some ? NAN : x[k]; break;        /* some are NaN */
            case 4: x[k] = k == some ? INFINITY : x[k]; break;  /* too large */
            case 5: x[k] = k > some ? -INFINITY : x[k]; break;  /* as a mask leaves it */
            case 6: x[k] = x[k] * 20; break;                    /* powers of all sizes */
            case 7: x[k] = k == some ? -70 : x[k]; break;       /* one is small */
            case 8: x[k] = k % 3 == 0 ? 0 : -0.0f; break;       /* zeros of both signs */
            case 9: x[k] = NAN; break;
            }
    }
}

/* Powers and their sum: one pass if both are of one tile. */
#define V "reg f32 v[W] = A[r];\n    "
static void powers_and_sums_are_as_the_plain_way(void **state)
{
    static const int lengths[] = {144, 256, 272, 320, 448, 512, 1008, 1024, 1040};
    static const char *const bodies[] = {
        V "v = exp(v - max(v));\n    C[r] = v / sum(v);",
        V "f32 m = max(v);\n    v = exp(v - m);\n    f32 s = sum(v);\n    reg f32 w[W] = m;\n"
          "    D[r] = w;\n    C[r] = v / s;",
        "f32 m = max(A[r][W / 2 +: W / 2]);\n    " V "v = exp(v - m);\n    C[r] = v / sum(v);",
        /* of two tiles, where the first is divided last; the sum of another row */
        V "v = exp(v - max(v));\n    f32 s = sum(v);\n    reg f32 w[W] = B[r] * 2;\n"
          "    w = exp(w - 80);\n    f32 t = sum(w);\n    D[r] = w / t;\n    C[r] = v / s;",
        V "f32 m = max(v);\n    D[r] = exp(v - m);\n    f32 s = sum(B[r]);\n    C[r] = v / s;",
        V "D[r] = exp(v - 1);\n    C[r] = v * sum(D[r]);",
        V "f32 m = max(v);\n    reg f32 w[W] = exp(v - m);\n    f32 s = sum(w), t = max(w);\n"
          "    C[r] = w / s + m * t;",
        V "v = v * 2;\n    reg f32 w[W] = exp(v - 1);\n    f32 s = sum(v);\n    C[r] = w / s;",
        "reg f32 w[W] = E[r] * 2;\n    " V "f32 m = max(v);\n    v = exp(v - m);\n"
        "    C[r] = v / sum(v) + w;",
        V "f32 m = min(v);\n    v = exp(v - m);\n    C[r] = v / sum(v);",
        V "f32 m = max(B[0]);\n    v = exp(v - m);\n    C[r] = v / sum(v) + max(A[r]);",
    };
    enum { COUNT = sizeof lengths / sizeof *lengths, BODIES = sizeof bodies / sizeof *bodies };
    enum { ROWS = 90 };
    (void)state;
    for (int i = 0; i < COUNT * BODIES * 2; i++) {
        int columns = lengths[i / 2 % COUNT];
        for (int s = -1; s < 0 || routine_set_at(s); s++)
            for (int threads = 1; threads <= (s < 0 ? 1 : 3); threads += 2) {
                if (TW_TEST_RACES_ONLY && (threads == 1 || routine_set_at(s + 1)))
                    continue;
                struct cpu_run r;
                char text[1024];
                const struct given given[] = {{"n", ROWS}, {NULL, 0}};
                size_t elements = (size_t)ROWS * (size_t)columns;
                snprintf(
                    text, sizeof text,
                    "const i32 W = %d;\nkernel k(i32 n, const f32 *a, const f32 *e, f32 *c, f32 "
                    "*d) grid(%s) warps(1)\n{\n"
                    "    global f32 A[n][W] = a, B[n][W] = a, C[n][W] = c, D[n][W] = d, "
                    "E[n][W] = e;\n    i32 r = block.%s;\n    %s\n}\n",
                    columns, i % 2 ? "1, n" : "n", i % 2 ? "y" : "x", bodies[i / 2 / COUNT]);
                cpu_open_plain(&r, text, given, routine_set_at(s < 0 ? 0 : s), s < 0);
                struct outcome *out = s < 0 ? &plain : &got;
                fill_rows(cpu_array(&r, "a", elements * sizeof(float)), ROWS, columns);
                float *e = cpu_array(&r, "e", elements * sizeof *e);
                for (size_t k = 0; k < elements; k++)
                    e[k] = (float)(k % 5) + 1;
                float *c = cpu_array(&r, "c", elements * sizeof *c),
                      *d = cpu_array(&r, "d", elements * sizeof *d);
                memset(out->c, 0, sizeof out->c);
                memset(out->d, 0, sizeof out->d);
                assert_int_equal(cpu_go(&r, threads), CPU_OK);
                memcpy(out->c, c, elements * sizeof *c);
                memcpy(out->d, d, elements * sizeof *d);
                cpu_close(&r);
                if (s >= 0 && !TW_TEST_RACES_ONLY &&
                    !(same_values(plain.c, got.c) && same_values(plain.d, got.d)))
                    fail_msg("%s, %d workers: other values\n%s", routine_set_at(s)->name, threads,
                             text);
            }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_of_rows_are_as_the_plain_way),
        cmocka_unit_test(others_run_step_by_step),
        cmocka_unit_test(large_kernels_run_step_by_step),
        cmocka_unit_test(cancelling_does_not_take_long),
        cmocka_unit_test(rows_of_const_views_are_read_where_they_lie),
        cmocka_unit_test(random_blocks_are_as_the_plain_way),
        cmocka_unit_test(large_rows_are_as_the_plain_way),
        cmocka_unit_test(powers_and_sums_are_as_the_plain_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
