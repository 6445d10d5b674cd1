/* The engine's short cuts (affine indices as strides, unrolled loops, rectangles of lanes,
 * values made in place), compared with the plain way, with every set of routines: the same bits,
 * the same faults. */
#include "cpu_helper.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { ARRAY = 4096 };

struct outcome {
    struct cpu_fault fault;
    int line;
    unsigned char c[ARRAY];
    char printed[sizeof((struct cpu_run *)0)->printed];
};

static void run_once(const char *text, int64_t n, const struct routine_set *set, bool plain,
                     struct outcome *out)
{
    struct cpu_run r;
    const struct given given[] = {{"n", n}, {NULL, 0}};
    cpu_open_plain(&r, text, given, set, plain);
    for (const struct param *p = r.kernel->params; p; p = p->next) {
        unsigned char *data = p->sym->is_pointer ? cpu_array(&r, p->sym->name, ARRAY) : NULL;
        for (size_t i = 0; i < ARRAY && p->sym->is_pointer && p->sym->is_const; i++)
            data[i] = (unsigned char)(i * 37 % 113);
    }
    cpu_go(&r, 1);
    out->fault = r.fault;
    out->line = r.line;
    memcpy(out->c, r.args[r.kernel->param_count - 1].data, ARRAY);
    memcpy(out->printed, r.printed, sizeof out->printed);
    cpu_close(&r);
}

static bool same_fault(const struct cpu_fault *x, const struct cpu_fault *y)
{
    return x->kind == y->kind && memcmp(x->block, y->block, sizeof x->block) == 0 &&
           memcmp(x->thread, y->thread, sizeof x->thread) == 0 &&
           strcmp(x->message, y->message) == 0;
}

/* Runs the text each way; returns its fault. */
static struct cpu_fault expect_same(const char *text, int64_t n)
{
    struct outcome *plain = calloc(1, sizeof *plain), *got = calloc(1, sizeof *got);
    assert_true(plain && got);
    run_once(text, n, routine_set_at(0), true, plain);
    for (int s = 0; routine_set_at(s); s++)
        for (int way = 0; way < 2; way++) {
            run_once(text, n, routine_set_at(s), way == 0, got);
            if (!same_fault(&plain->fault, &got->fault) || plain->line != got->line)
                fail_msg("n = %d: plain: line %d: %s (%d %d); %s%s: line %d: %s (%d %d)\n%s",
                         (int)n, plain->line, plain->fault.message, plain->fault.thread[0],
                         plain->fault.thread[1], routine_set_at(s)->name, way ? "" : ", plain",
                         got->line, got->fault.message, got->fault.thread[0], got->fault.thread[1],
                         text);
            if (memcmp(plain->c, got->c, ARRAY) != 0 || strcmp(plain->printed, got->printed) != 0)
                fail_msg("n = %d, %s%s: other values\n%s", (int)n, routine_set_at(s)->name,
                         way ? "" : ", plain", text);
        }
    struct cpu_fault fault = plain->fault;
    free(plain);
    free(got);
    return fault;
}

#define PRODUCT(body)                                                                              \
    "kernel k(i32 n, const f32 *a, f32 *c) grid(cdiv(n, 8), cdiv(n, 4)) threads(8, 4)\n{\n"        \
    "    global f32 A[n][n] = a, B[n][n] = a, C[n][n] = c;\n"                                      \
    "    shared f32 as[4][8], bs[8][9];\n"                                                         \
    "    i32 tx = thread.x, ty = thread.y;\n"                                                      \
    "    i32 row = block.y * 4 + ty, col = block.x * 8 + tx;\n" body "}\n"

static void products_are_the_same(void **state)
{
    static const char *const texts[] = {
        PRODUCT("    if (row < n && col < n) {\n        f32 sum = 0;\n"
                "        for (i32 p = 0; p < n; p++)\n            sum += A[row][p] * B[p][col];\n"
                "        C[row][col] = sum;\n    }\n"),
        PRODUCT("    f32 sum = 0;\n    for (i32 p = 0; p < n; p += 8) {\n"
                "        as[ty][tx] = row < n && p + tx < n ? A[row][p + tx] : 0;\n"
                "        bs[ty][tx] = p + ty < n && col < n ? B[p + ty][col] : 0;\n"
                "        bs[ty + 4][tx] = p + ty + 4 < n && col < n ? B[p + ty + 4][col] : 0;\n"
                "        sync();\n"
                "        unroll for (i32 q = 0; q < 8; q++)\n"
                "            sum += as[ty][q] * bs[q][tx];\n        sync();\n    }\n"
                "    if (row < n && col < n)\n        C[row][col] = sum;\n"),
        PRODUCT("    f32 v[2][4] = 0, w[4] = A[row][col +: 4] else 3;\n"
                "    unroll for (i32 y = 0; y < 2; y++)\n"
                "        unroll for (i32 x = y; x < 4; x++)\n"
                "            v[y][x] += w[3 - x] * v[y][3 - x] + w[x];\n"
                "    C[row][col] = v[0][1] + v[1][3];\n"),
    };
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        for (int64_t n = 1; n < 30; n += n < 7 ? 1 : 5)
            expect_same(texts[i], n);
}

/* Blocks with few rows and many columns, which are read in place: aligned and not, converted, in a
 * box of fewer lanes, with a sum of several rows in one thread. */
#define WIDE(type, threads, body)                                                                  \
    "kernel k(i32 n, const " type " *a, f32 *c) grid(2) threads(" threads ")\n{\n"                 \
    "    global " type " A[n + 6][4] = a, B[n][70] = a;\n    global f32 C[7][70] = c;\n"           \
    "    i32 row = block.x * 3 + thread.y, x = thread.x;\n" body "}\n"
#define COLUMNS(type, threads, most)                                                               \
    WIDE(type, threads,                                                                            \
         "    if (x < " most ") {\n        f32 sum = 0;\n        for (i32 p = 0; p < n; p++)\n"    \
         "            sum += (f32) A[row + p][1] * (f32) B[p][x];\n"                               \
         "        C[row][x] = sum;\n    }\n")

static void wide_products_are_the_same(void **state)
{
    static const char *const texts[] = {
        COLUMNS("f32", "70", "70"),
        COLUMNS("f16", "70", "70"),
        COLUMNS("bf16", "70", "70"),
        COLUMNS("f16", "70, 3", "67"),
        COLUMNS("f32", "70, 3", "70"),
        WIDE("f32", "66",
             "    f32 v[2] = 0;\n    for (i32 p = 0; p < n; p++)\n"
             "        unroll for (i32 y = 0; y < 2; y++)\n"
             "            v[y] += A[row + y][p & 3] * B[p][x + 3];\n"
             "    C[row][x] = v[0];\n    C[row + 1][x] = v[1];\n"),
        WIDE("f16", "66",
             "    f32 v[2] = 0;\n    for (i32 p = 0; p < n; p++)\n"
             "        unroll for (i32 y = 0; y < 2; y++)\n"
             "            v[y] += (f32) A[p][y] * (f32) B[p][x + 3];\n"
             "    C[row][x] = v[0];\n    C[row + 1][x] = v[1];\n"),
    };
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        for (int64_t n = 1; n < 12; n += n < 6 ? 1 : 4)
            assert_int_equal(expect_same(texts[i], n).kind, CPU_OK);
}

#define SMALL(threads, body)                                                                       \
    "kernel k(i32 n, const i32 *a, const i16 *h, "                                                 \
    "const f64 *d, i32 *c) grid(2) threads(" threads ")\n{\n"                                      \
    "    global i32 A[n][16] = a, C[n][16] = c, L[1000] = c;\n"                                    \
    "    global i16 H[600] = h;\n    global f64 D[n][4] = d strides(4, 1);\n"                      \
    "    shared i32 s[16][16];\n"                                                                  \
    "    i32 x = thread.x, y = thread.y, z = thread.z;\n" body "}\n"

static const char *const small_texts[] = {
    /* every lane stores to the same element, to its neighbours' elements, backwards */
    SMALL("8, 4", "    C[y][0] = A[y][x];\n    C[y][3] = x;\n"),
    SMALL("8, 4", "    L[x + y] = A[y][x];\n    L[100 - x * 2 - y] = A[y][x];\n"),
    SMALL("8, 4", "    L[x + 8 * y] = A[3 - y][7 - x];\n"),
    SMALL("4, 2, 3", "    L[x + 4 * (y + 2 * z)] = A[y][x + 4 * z];\n    L[z * 7] = x;\n"),
    /* types and slices */
    SMALL("8, 4", "    i16 v[3] = H[x * 3 + y * 24 +: 3];\n    L[x + 8 * y] = v[0] - v[2];\n"),
    SMALL("4, 4", "    L[(x + 4 * y) * 3 +: 3] = A[y][x * 2 +: 3];\n"),
    SMALL("4, 2",
          "    f64 e[2] = D[y][x - 1 +: 2] else 5;\n    L[x + 4 * y] = e[1] > e[0] ? 1 : 2;\n"),
    SMALL(
        "16",
        "    i32 v = x > 3 ? A[block.x][x - 3] : 7;\n    L[x] = v;\n    L[x * 2 + 50 +: 4] = v;\n"),
    SMALL("8", "    L[x * 4 +: 2] = A[1][x +: 2];\n    L[x * 4 + 40 +: 3] = A[1][x +: 3];\n"),
    /* masks: rectangles, other shapes, lanes that leave one by one */
    SMALL("8, 4", "    if (x > 1 && x < 6 && y < 3)\n        C[y][x + n] = A[y][x - 2];\n"),
    SMALL("8, 4", "    if (x > 1 && x < n && y < 3)\n        C[y][x] = A[y][x - 2];\n"),
    SMALL("8, 4", "    if ((x + y) % 2 == 0)\n        C[y][x] = A[y][x] + A[y + 1][x];\n"),
    SMALL("8, 4",
          "    if (x < 5) {\n        i32 v[2] = x, w = y;\n        w += A[y][x];\n"
          "        v[0] += w;\n        v[1] = v[0] + v[1];\n        C[y][x] = v[1];\n    }\n"),
    SMALL("16",
          "    i32 i = x, t = 0;\n    while (i < 40) {\n        if (i == 20)\n            break;\n"
          "        t += A[i / 16][x];\n        i += x + 1;\n    }\n    L[x] = t;\n"),
    SMALL("16", "    for (i32 i = x; i < 30; i += 16) {\n        i32 j = i + 2;\n"
                "        L[j] = A[block.x][x] + i;\n    }\n"),
    SMALL("16", "    if (x > 9)\n        return;\n    L[x] = A[1][x];\n    C[3][x * 2] += 4;\n"),
    SMALL("8, 4", "    i32 v[8] = 1;\n    v[x] = y;\n    L[x + 8 * y] = v[x] + v[7 - x] + v[y];\n"),
    /* the same number of lanes as a rectangle, or a rectangle and more */
    SMALL("8, 4", "    if (y == 0 && x > 0 && x < 4 || y == 1 && (x == 0 || x == 2 || x == 3))\n"
                  "        C[y][x] = A[y][x] + 1;\n"),
    SMALL("8, 4", "    if (y == 0 && x > 0 && x < 7 || y == 1 && x > 0 && x < 4)\n"
                  "        C[y][x] = A[y][x] + 1;\n"),
    /* counters that are unrolled, or not */
    SMALL("8", "    i32 t = 0;\n    unroll for (i32 i = 5; i < n; i += 2)\n        t += A[1][i];\n"
               "    unroll for (u8 i = 250; i > 249; i++)\n        t = t * 3 + (i32) i;\n"
               "    unroll for (i32 i = 3; i < 3; i++)\n        t = 0;\n    L[x] = t;\n"),
    SMALL(
        "8",
        "    i32 t = 0;\n    unroll for (i32 i = 0; i < 6; i++) {\n"
        "        unroll for (i32 j = i; j >= 0; j--)\n            t += A[i % 4][j * 2 + x / 8];\n"
        "        i32 i_1 = i * 2;\n        t += i_1;\n        if (t > 300)\n            t -= 17;\n"
        "    }\n    L[x] = t;\n"),
    SMALL("8", "    i32 t = 0;\n    unroll for (i32 i = 0; i < 9; i++) {\n        if (i == n)\n"
               "            break;\n        t += A[0][i];\n    }\n"
               "    unroll for (i32 i = 0; i < 9; i++) {\n        t += i;\n        i += 1;\n    }\n"
               "    L[x] = t;\n    print(\"t\", t, x);\n"),
    /* faults */
    SMALL("8, 4", "    C[y][x] = A[y * 2][x * 3 - 4];\n"),
    SMALL("8, 4", "    C[y][x + n] = 1;\n    C[n - y][x] = 1;\n"),
    SMALL("8, 4", "    if (x > 2)\n        C[y][x * 3] = A[y * n][x];\n"),
    SMALL("16", "    i32 i = x + 2147483640;\n    L[x] = i;\n    L[i] = 1;\n"),
    SMALL("16", "    i32 i = x * 1073741824 * 2;\n    L[i + x] = x;\n"),
    SMALL("8, 4", "    s[x][y] = x;\n    sync();\n    L[x + 8 * y] = s[y + 4][x + 3 * n];\n"),
    SMALL("8, 4", "    f64 e[2] = D[y][x +: 2 inside];\n    L[x] = e[0] > 1 ? 1 : 0;\n"),
    SMALL("16", "    global i32 Z[4294967296] = c strides(0);\n"
                "    i32 i = x * 1000000 + 2140000000;\n    L[x] = Z[i];\n"),
    /* an asynchronous copy that has not completed */
    SMALL("8, 4", "    async s = A[0 +: 16][0 +: 16];\n    async_wait(0);\n    sync();\n"
                  "    L[x + 8 * y] = s[y][x];\n"),
    SMALL("8, 4", "    async s = A[0 +: 16][0 +: 16];\n    if (n > 4)\n        L[x] = s[y][x];\n"
                  "    async_wait(0);\n"),
    SMALL("8, 4", "    atomic_add(L[x + y * n], 1);\n    atomic_max(C[1][2 * x +: 2], y);\n"),
};

static void small_programs_are_the_same(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof small_texts / sizeof *small_texts; i++)
        for (int64_t n = 4; n < 9; n++)
            expect_same(small_texts[i], n);
}

/* --- at random --- */

static int number(uint32_t *seed, int low, int high)
{
    return low + (int)cpu_draw(seed, (uint32_t)(high - low + 1));
}

static const char *index_text(uint32_t *seed, char *out, size_t size)
{
    static const char *const forms[] = {"x * %d + y * %d + %d", "%d * x - (y * %d - %d)",
                                        "-x * %d + %d * (y - z) + n + %d", "i * %d + y * %d + %d",
                                        "(i - z) * %d + %d * n + j * %d"};
    int p = number(seed, -1, 3), q = number(seed, -1, 2), s = number(seed, -2, 8);
    const char *form = forms[cpu_draw(seed, 5)];
#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#endif
    snprintf(out, size, form, p, q, s);
#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif
    return out;
}

static void random_indices_are_the_same(void **state)
{
    static const char *const shapes[] = {"8, 4", "16", "4, 2, 3", "3, 5"};
    static const char *const conditions[] = {"x < %d",
                                             "y >= %d",
                                             "(x + y) %% 3 != %d",
                                             "n > %d",
                                             "x > 1 && x < 6 && y < %d",
                                             "5 - x * 2 <= n && n < 5 && 3 * y + 1 >= %d",
                                             "n - y * 2 > x - n * 2 + x * -1 - %d",
                                             "x + 2147483645 > n && y + n * %d <= 4"};
    static const char *const places[] = {"x = thread.x, y = thread.y, z = thread.z",
                                         "x = thread.x, y = x / 4, z = x % 4",
                                         "x = thread.x & 7, y = thread.x >> 3, z = thread.x / 5"};
    static const char *const inside[] = {"A[x][y * 2 + 1]", "A[y + 1][x + z]", "A[n + 3][6 - y]"};
    int faults = 0, runs = 0;
    (void)state;
    for (uint32_t at = 1; at <= 400; at++) {
        char text[1600], index[6][64], condition[4][64];
        uint32_t seed = at * 7919;
        for (int i = 0; i < 6; i++)
            index_text(&seed, index[i], sizeof index[i]);
        for (int i = 0; i < 4; i++) {
            const char *form = conditions[cpu_draw(&seed, 8)];
#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#endif
            snprintf(condition[i], sizeof condition[i], form, number(&seed, 0, 4));
#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif
        }
        const char *shape = shapes[cpu_draw(&seed, 4)];
        uint32_t apart = strcmp(shape, "16") == 0 ? cpu_draw(&seed, 3) : 0;
        snprintf(text, sizeof text,
                 "kernel k(i32 n, const i32 *a, i32 *c) grid(1) threads(%s)\n{\n"
                 "    global i32 A[20][25] = a strides(%d, 1), C[22][40] = c;\n"
                 "    i32 %s;\n"
                 "    i32 i = x * 2 - 1, j = n - i;\n    i32 v = 7, w[2] = n;\n"
                 "    shared i32 s[20][20] = 5;\n    sync();\n"
                 "    if (%s)\n        s[x + %d * y][z * 4 + %d * y] = %s ? %s : n;\n    sync();\n"
                 "    if (%s)\n        v = A[%s][%s];\n"
                 "    w = A[%s][%s +: 2] else 9;\n    i32 u = %s ? %s : n + 3;\n"
                 "    if (%s) {\n        if (%s)\n            w = A[x][y + 4 +: 2];\n"
                 "        else\n            v = x + 2 < %d ? 4 - n : A[y + n][x];\n    }\n"
                 "    if (%s)\n        C[%s][%s] = v + w[0] * 3 + w[1] + u * 5;\n"
                 "    C[x][30 +: 10] = s[x][y +: 10];\n}\n",
                 shape, number(&seed, 25, 30), places[apart], condition[1], number(&seed, 0, 1),
                 number(&seed, 0, 2), condition[0], inside[cpu_draw(&seed, 3)], condition[0],
                 index[0], index[1], index[2], index[3], condition[2], inside[cpu_draw(&seed, 3)],
                 condition[2], condition[3], number(&seed, 1, 9), condition[1], index[4], index[5]);
        for (int64_t n = 1; n < 5; n += 3, runs++)
            faults += expect_same(text, n).kind != CPU_OK;
    }
    assert_in_range(faults, runs / 10, runs * 9 / 10);
}

/* --- sums of products, at random --- */

/* Writes an index of loop counters p, q, lanes and a constant, mostly within small arrays. */
static void product_index(uint32_t *seed, const char *counters, char *out, size_t size)
{
    int p = number(seed, 0, 3) == 0 ? number(seed, -1, 2) : number(seed, 0, 1);
    int x = number(seed, 0, 1), y = number(seed, 0, 1);
    int low = (p < 0 ? 6 : 0) + number(seed, 0, 11) / 11 * -1 + number(seed, 0, 2);
    if (counters[1] && cpu_draw(seed, 2))
        snprintf(out, size, "%c * %d + %d * x + y * %d + %c + %d", counters[0], p, x, y,
                 counters[1], low);
    else
        snprintf(out, size, "%d * x - (y * %d - %c * %d) + %d", x, -y, counters[0], p, low);
}

static void product_factor(uint32_t *seed, const char *counters, const char *type, char *out,
                           size_t size)
{
    char i[80], j[80];
    product_index(seed, counters, i, sizeof i);
    product_index(seed, counters, j, sizeof j);
    switch (cpu_draw(seed, 9)) {
    case 0: snprintf(out, size, "t"); break;
    case 1: snprintf(out, size, "(%s) n", type); break;
    case 2: snprintf(out, size, "w[%s]", i); break;
    case 3:
    case 4:
    case 5: snprintf(out, size, "s[%s][%s]", i, j); break;
    case 6: snprintf(out, size, "(%s) H[%s][%s]", type, i, j); break;
    default: snprintf(out, size, "A[%s][%s]", i, j); break;
    }
}

static void product_sums(uint32_t *seed, const char *type, char *out, size_t size)
{
    char a[200], b[200], c[200], index[80];
    int start = number(seed, 0, 1), step = number(seed, 1, 3) / 2 + 1;
    const char *unroll = cpu_draw(seed, 2) ? "unroll " : "";
    const char *limit = cpu_draw(seed, 3) ? "5" : "n + 1";
    switch (cpu_draw(seed, 6)) {
    case 0:
        product_factor(seed, "p", type, a, sizeof a);
        product_factor(seed, "p", type, b, sizeof b);
        snprintf(out, size, "%sfor (i32 p = %d; p < %s; p += %d)\n        sum += %s * %s;\n",
                 unroll, start, limit, step, a, b);
        break;
    case 1:
        product_factor(seed, "pq", type, a, sizeof a);
        product_factor(seed, "qp", type, b, sizeof b);
        snprintf(out, size,
                 "%sfor (i32 p = %d; p <= %s; p += %d)\n        %sfor (i32 q = 0; q < 3; q++)\n"
                 "            v[%s] += %s * %s;\n",
                 unroll, start, limit, step, unroll, cpu_draw(seed, 2) ? "q" : "2 - q", a, b);
        break;
    case 2:
        product_factor(seed, "p", type, a, sizeof a);
        product_index(seed, "p", index, sizeof index);
        snprintf(out, size,
                 "%sfor (i32 p = %d; %s > p; p += %d) {\n        %s u[3] = s[%s][x +: 3];\n"
                 "        v += %s * u;\n    }\n",
                 unroll, start, limit, step, type, index, a);
        break;
    case 3: /* elements loaded into arrays first, which other code may also read */
        product_index(seed, "p", index, sizeof index);
        product_factor(seed, "p", type, a, sizeof a);
        snprintf(out, size,
                 "for (i32 p = %d; p < %s; p += %d) {\n        %s e[3];\n"
                 "        %sfor (i32 q = 0; q < 3; q++)\n            e[q] = s[%s][q * 2 + x];\n"
                 "        %sfor (i32 i = 0; i < %d; i++)\n            u[i] = A[i + y][%s];\n"
                 "        %sfor (i32 q = 0; q < 3; q++)\n"
                 "            for (i32 i = 0; i < %d; i++)\n                v[q] += e[q] * u[i];\n"
                 "    }\n    %s;\n",
                 start, limit, step, type, unroll, index, unroll, cpu_draw(seed, 4) ? 2 : 1, index,
                 unroll, cpu_draw(seed, 4) ? 2 : 1, cpu_draw(seed, 3) ? "t = t" : "sum = u[1]");
        break;
    case 4: /* as above with scalars; f is read before it is loaded, or after */
        product_factor(seed, "p", type, a, sizeof a);
        product_index(seed, "p", index, sizeof index);
        snprintf(out, size,
                 "for (i32 p = %d; p < %s; p += %d) {\n        %s g;\n        g = A[%s][x];\n"
                 "        f = s[%s][y];\n        sum += %s * g;\n"
                 "        for (i32 q = %d; q < n; q++)\n            v[2] += g * f;\n%s    }\n",
                 start, limit, step, type, index, index, cpu_draw(seed, 3) ? "f" : a,
                 number(seed, -2, 2), cpu_draw(seed, 4) ? "" : "        g = s[p][0];\n");
        break;
    default:
        product_factor(seed, "p", type, a, sizeof a);
        product_factor(seed, "p", type, b, sizeof b);
        product_factor(seed, "pq", type, c, sizeof c);
        snprintf(out, size,
                 "for (i32 p = %d; p < %s; p += %d) {\n        %s g = A[p][x];\n"
                 "        sum += g * %s;\n        for (i32 q = 1; q < 4; q++)\n"
                 "            v[1] += %s * %s;\n    }\n",
                 start, limit, step, type, a, c, b);
        break;
    }
}

static void random_products_are_the_same(void **state)
{
    static const char *const shapes[] = {"8, 4", "4, 8", "16", "4, 2, 2", "3, 5", "1, 6"};
    static const char *const conditions[] = {"x < %d", "y >= %d && x <= n", "(x + y) %% 3 != %d",
                                             "n > %d", "x > 1 && x < 6 && y < %d"};
    static const char *const xs[] = {"tid", "tid % 4", "thread.x & 7", "(tid + 1) % 4"};
    static const char *const ys[] = {"thread.y", "tid / 4", "tid >> 3", "thread.x / 4 + n"};
    static const char *const types[] = {"f32", "f32", "f64", "i32"};
    int faults = 0, runs = 0;
    (void)state;
    for (uint32_t at = 1; at <= 400; at++) {
        char text[4096], condition[64], sums[1600];
        uint32_t seed = at * 104729;
        const char *type = types[cpu_draw(&seed, 4)];
        const char *form = conditions[cpu_draw(&seed, 5)];
#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#endif
        snprintf(condition, sizeof condition, form, number(&seed, 0, 3));
#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif
        product_sums(&seed, type, sums, sizeof sums);
        const char *shape = shapes[cpu_draw(&seed, 6)];
        uint32_t apart = strcmp(shape, "16") == 0 ? 1 + cpu_draw(&seed, 3) : 0;
        snprintf(text, sizeof text,
                 "kernel k(i32 n, const i16 *h, const %s *a, %s *c) grid(1) threads(%s)\n{\n"
                 "    global %s A[20][20] = a strides(%d, 1), C[100][4] = c;\n"
                 "    global i16 H[20][30] = h;\n"
                 "    shared %s s[20][20];\n    s = A[0 +: 20][0 +: 20];\n    sync();\n"
                 "    i32 tid = thread.x, x = %s, y = %s;\n"
                 "    %s sum = (%s) x, v[3] = sum, w[12] = (%s) y, t = A[x][y];\n"
                 "    %s u[2] = 1, f = t;\n    if (%s) {\n"
                 "    %s    }\n    i32 at = x + 8 * y + 40 * thread.z;\n    C[at][3] = sum;\n"
                 "    unroll for (i32 i = 0; i < 3; i++)\n        C[at][i] = v[i];\n}\n",
                 type, type, shape, type, number(&seed, 20, 22), type, xs[apart], ys[apart], type,
                 type, type, type, cpu_draw(&seed, 2) ? "true" : condition, sums);
        for (int64_t n = 1; n < 8; n += 3, runs++)
            faults += expect_same(text, n).kind != CPU_OK;
    }
    assert_in_range(faults, runs / 20, runs * 6 / 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_are_the_same),
        cmocka_unit_test(wide_products_are_the_same),
        cmocka_unit_test(small_programs_are_the_same),
        cmocka_unit_test(random_indices_are_the_same),
        cmocka_unit_test(random_products_are_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
