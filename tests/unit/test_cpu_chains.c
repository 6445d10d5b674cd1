/* Chains of elementwise operations run strip by strip. They are compared with the plain way, an
 * operation at a time over whole tiles: the same bits with every set of routines, and the same
 * faults. */
#include "cpu_helper.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { FLOATS = 20000 };

struct outcome {
    struct cpu_fault fault;
    int line;
    float c[FLOATS];
};

/* Runs with parameters i32 n, f32 a and c, f16 h, i32 q, each of FLOATS elements. */
static void run_once(const char *text, int64_t n, const struct routine_set *set, bool plain,
                     struct outcome *out)
{
    struct cpu_run r;
    const struct given given[] = {{"n", n}, {NULL, 0}};
    cpu_open_plain(&r, text, given, set, plain);
    float *a = cpu_array(&r, "a", FLOATS * sizeof *a), *c = cpu_array(&r, "c", sizeof out->c);
    uint16_t *h = cpu_array(&r, "h", FLOATS * sizeof *h);
    int32_t *q = cpu_array(&r, "q", FLOATS * sizeof *q);
    for (int i = 0; i < FLOATS; i++) {
        a[i] = (float)(i * 37 % 211) / 32 - 3;
        c[i] = (float)(i % 17);
        q[i] = i * 29 % 101 - 50;
        dtype_store_f64(DT_F16, &h[i], (double)(i * 13 % 97) / 16 - 3);
    }
    cpu_go(&r, 1);
    out->fault = r.fault;
    out->line = r.line;
    memcpy(out->c, c, sizeof out->c);
    cpu_close(&r);
}

static bool same_values(const float *x, const float *y)
{
    for (int i = 0; i < FLOATS; i++)
        if (memcmp(&x[i], &y[i], sizeof *x) != 0 && !(isnan(x[i]) && isnan(y[i])))
            return false;
    return true;
}

static enum cpu_fault_kind expect_same(const char *text, int64_t n)
{
    struct outcome *plain = calloc(1, sizeof *plain), *got = calloc(1, sizeof *got);
    assert_true(plain && got);
    run_once(text, n, routine_set_at(0), true, plain);
    for (int s = 0; routine_set_at(s); s++) {
        run_once(text, n, routine_set_at(s), false, got);
        if (plain->fault.kind != got->fault.kind || plain->line != got->line ||
            strcmp(plain->fault.message, got->fault.message) != 0)
            fail_msg("n = %d, %s: line %d: %s, not line %d: %s\n%s", (int)n,
                     routine_set_at(s)->name, got->line, got->fault.message, plain->line,
                     plain->fault.message, text);
        if (!same_values(plain->c, got->c))
            fail_msg("n = %d, %s: other values\n%s", (int)n, routine_set_at(s)->name, text);
    }
    enum cpu_fault_kind kind = plain->fault.kind;
    free(plain);
    free(got);
    return kind;
}

#define KERNEL(body)                                                                               \
    "kernel k(i32 n, const f32 *a, const f16 *h, const i32 *q, f32 *c) grid(1) warps(1)\n{\n"      \
    "    global f32 A[130][140] = a, L[3][6000] = a, V[n] = a, C[130][140] = c, D[n][20] = "       \
    "c;\n"                                                                                         \
    "    global f32 O[19000] = c, W[9000] = c strides(2), B[4][5][60] = a;\n"                      \
    "    global f16 H[130][140] = h;\n    global i32 Q[130][140] = q;\n" body "}\n"

static const char *const texts[] = {
    /* broadcast rows, columns and scalars: short rows, long ones, three axes */
    KERNEL("    reg f32 x[37][40] = A[0 +: 37][0 +: 40], y[1][40] = A[0 +: 1][0 +: 40], z[37][1] = "
           "A[0 +: 37][0 +: 1];\n    f32 s = V[2];\n"
           "    reg f32 r[37][40] = exp2(x - z) * y + s / (x * x + 1);\n"
           "    C[2 +: 37][3 +: 40] = r;\n"),
    KERNEL("    reg f32 x[3][1500] = L[0 +: 3][0 +: 1500], y[1500] = L[0][0 +: 1500], z[3][1] = "
           "L[0 +: 3][0 +: 1];\n"
           "    reg f32 r[3][1500] = max(x * z, y) - where(x > y, z, 0.5);\n"
           "    O[0 +: 4500] = reshape(r, 4500);\n"),
    KERNEL("    reg f32 x[4][5][48] = B[0 +: 4][0 +: 5][0 +: 48], y[5][1] = A[0 +: 5][0 +: 1], "
           "z[4][1][48] = B[0 +: 4][0 +: 1][0 +: 48], w[4][5][1] = B[0 +: 4][0 +: 5][0 +: 1];\n"
           "    reg f32 r[4][5][48] = (x + y) * z - w;\n"
           "    O[0 +: 960] = reshape(r, 960);\n"),
    KERNEL("    reg f32 x[1][1] = A[0 +: 1][0 +: 1], y[7][1] = A[0 +: 7][0 +: 1], r[7][1] = y * x "
           "+ 1;\n"
           "    C[0 +: 7][0 +: 1] = r;\n"),
    /* types */
    KERNEL("    reg f16 x[9][130] = H[0 +: 9][0 +: 130];\n    reg f32 y[9][130] = A[0 +: 9][0 +: "
           "130];\n    reg i32 z[9][130] = Q[0 +: 9][0 +: 130];\n"
           "    reg f16 r[9][130] = (f16)((f32) x * y) + x * x - (f16) z;\n"
           "    C[0 +: 9][0 +: 130] = (f32) r * (f32)((i8)(z * 5)) + (f32)(z >> 2);\n"),
    KERNEL("    reg f32 x[9][130] = A[0 +: 9][0 +: 130];\n    reg i32 z[9][130] = Q[0 +: 9][0 +: "
           "130];\n"
           "    reg f64 w[9][130] = (f64) x / 3 + (f64) z;\n"
           "    C[0 +: 9][0 +: 130] = where(x > 1 && z < 7 || !(w > 2), (f32) w, -x);\n"),
    KERNEL("    reg i32 z[9][130] = Q[0 +: 9][0 +: 130], y[9][130] = z * 3 - 1;\n"
           "    C[0 +: 9][0 +: 130] = (f32)(y / 7 + (z & 15) % 3 + (y << 1));\n"),
    KERNEL("    reg i32 z[9][130] = Q[0 +: 9][0 +: 130], y[9][130] = (z + 1) / (z * z + 1);\n"
           "    C[0 +: 9][0 +: 130] = (f32) y;\n"),
    KERNEL("    reg i32 z[9][130] = Q[0 +: 9][0 +: 130], y[9][130] = 1 + 100 / z;\n"
           "    C[0 +: 9][0 +: 130] = (f32) y;\n"), /* divides by 0 */
    /* a row still in its view, broadcast over rows of a type that is computed in another type */
    KERNEL("    global f16 R[9][300] = h;\n    reg f16 g[300] = R[7], x[4][300] = R[0 +: 4];\n"
           "    x = x + g;\n    g = g * 2;\n    O[0 +: 1200] = reshape((f32) (x + g), 1200);\n"),
    KERNEL("    global f16 R[9][300] = h;\n    reg f16 g[300] = R[7];\n    reg f32 x[3][300] = "
           "L[0 +: 3][0 +: 300], y[3][300] = x * (f32) g;\n    g = g * 2;\n"
           "    O[0 +: 900] = reshape(y + (f32) g, 900);\n"),
    /* in place */
    KERNEL("    reg f32 x[30][77] = A[0 +: 30][0 +: 77], y[77] = A[9][0 +: 77];\n"
           "    x = where(x > y, x * 2, -x);\n    x = x / sum(x, axis = 1);\n"
           "    x = x * x + trans(reshape(x, 77, 30)) + x;\n    C[0 +: 30][0 +: 77] = x;\n"),
    /* stores to memory: clipped, strided, with a row's element, over memory that is read */
    KERNEL(
        "    reg f32 x[32][64] = A[0 +: 32][0 +: 64];\n    D[n - 20 +: 32][5 +: 64] = x * 2 + 1;\n"
        "    D[-3 +: 32][-60 +: 64] = -x;\n    D[n + 1 +: 32][0 +: 64] = x + 7;\n"),
    KERNEL("    reg f32 x[700] = L[1][0 +: 700];\n    W[0 +: 700] = x * 3;\n"
           "    C[n][4 +: 130] = exp(L[0][3 +: 130]) + 1;\n    C[60][60 +: 700] = x - 1;\n"),
    KERNEL("    O[1 +: 3000] = O[0 +: 3000] + 1;\n    O[4000 +: 3000] = O[4001 +: 3000] * 2;\n"
           "    O[9000 +: 500] = O[9000 +: 500] * 2 - V[0 +: 500];\n"),
    KERNEL("    reg f32 x[600] = V[0 +: 600];\n    O[0 +: 600] = x * V[n - 300 +: 600];\n"
           "    O[1000 +: 600] = x + (V[-1 +: 600] else 5);\n"
           "    O[2000 +: 600] = (V[n - 9 +: 600] else 7) + (V[n + 9 +: 600] else 8) * x;\n"
           "    reg f32 t[5][40] = A[0 +: 5][0 +: 40];\n    C[20 +: 5][0 +: 40] = t * V[n - 30 +: "
           "40];\n"),
    KERNEL("    reg f32 x[300] = V[0 +: 300];\n    C[n * 9][0 +: 130] = x[0 +: 130] * 2;\n"),
    KERNEL("    reg f32 x[60] = V[0 +: 60];\n    C[3 +: 60][7] = x * 2;\n    C[3 +: 60][11] = x;\n"
           "    D[n - 40 +: 60][9] = x + 1;\n    C[70 +: 17][0] = V[1 +: 17] - x[0 +: 17];\n"),
    KERNEL("    reg f32 x[300] = V[0 +: 300];\n    O[n * 60 +: 300 inside] = x * 2;\n"),
    KERNEL("    shared f32 s[24][96] = A[0 +: 24][0 +: 96];\n    reg f32 x[24][96] = s * s;\n    s "
           "= x - s;\n"
           "    sync();\n    C[0 +: 24][0 +: 96] = s + 1;\n"),
    /* into reductions */
    KERNEL("    reg f32 x[37][40] = A[0 +: 37][0 +: 40], y[40] = A[0][0 +: 40], z[3][1500] = L[0 "
           "+: 3][0 +: 1500];\n"
           "    C[0 +: 37][0 +: 1] = sum(x * x, axis = 1);\n    O[9000] = sum(x * y);\n"
           "    O[9001] = max(x - y);\n    O[9002] = sum(exp2(z) * 0.5);\n"
           "    C[40 +: 3][0 +: 1] = max(z * z - 1, axis = 1);\n    O[9003] = min(abs(z) - 2);\n"
           "    C[0 +: 1][50 +: 40] = sum(x * y, axis = 0);\n"),
    KERNEL("    reg f16 x[20][600] = (f16) L[0][0 +: 600] + H[0 +: 20][3 +: 1];\n"
           "    reg i32 z[37][40] = Q[0 +: 37][0 +: 40];\n    O[0] = sum(x * x);\n    O[1] = (f32) "
           "sum(z * z);\n"
           "    O[2] = any(z > 49) ? 1 : 2;\n    O[3] = all(z * z >= 0) ? 1 : 2;\n"
           "    O[4] = (f32) sum(z > 3);\n    O[5] = (f32) max(x + 1);\n"
           "    C[50 +: 20][0 +: 1] = sum((f32) x * 2, axis = 1);\n"),
    /* one value a row, as left or right operand, and functions of a difference */
    KERNEL("    reg f32 x[3][1500] = L[0 +: 3][0 +: 1500], z[3][1] = L[0 +: 3][7 +: 1];\n"
           "    f32 s = V[3] + 4;\n"
           "    reg f32 r[3][1500] = (s + (z - x) * s) / (z * z + 0.3) - exp(x - max(x, axis = 1)) "
           "/ s;\n"
           "    r = r * 0.5 + exp2(s - x) - (x - s) * exp2(x - s) + s / z;\n"
           "    O[0 +: 4500] = reshape(r, 4500);\n"
           "    O[4500 +: 4500] = reshape(exp(x - z) - s - (z + z), 4500);\n"),
    /* scaled, multiplied and added; sums of products; all of it on partly masked tiles */
    KERNEL("    reg f32 x[3][1500] = L[0 +: 3][0 +: 1500], z[3][1] = L[0 +: 3][7 +: 1];\n"
           "    f32 s = V[3] + 4;\n    reg f32 y[1500] = L[1][3 +: 1500];\n"
           "    reg f32 r[3][1500] = x * s * y + x - (y * (x * z) + x) * (x * s * (x * s) + y);\n"
           "    r = r + ((x - z) * y + x * z * (x * s)) + fma(x * s, y, x * s);\n"
           "    O[0 +: 4500] = reshape(r, 4500);\n    C[0 +: 3][0 +: 1] = sum(x * r, axis = 1);\n"
           "    C[4 +: 3][0 +: 1] = sum(z * r, axis = 1);\n    O[9000] = sum(r * r);\n"
           "    O[9001] = sum(y * s) + sum(y * L[0][9 +: 1500]) + sum((y + s) * (y - s));\n"),
    /* scaled and multiplied, at once or with an operation in between, last and in a reduction */
    KERNEL("    reg f32 x[3][1500] = L[0 +: 3][0 +: 1500];\n"
           "    f32 s = V[3] + 4;\n    reg f32 y[1500] = L[1][3 +: 1500];\n"
           "    reg f32 r[3][1500] = 0.5 * x * (1 + tanh(s * x * x * y));\n"
           "    r = r * s * (exp(y * s) * (x * s)) + y * s * (y * s);\n"
           "    O[0 +: 4500] = reshape(r, 4500);\n"
           "    O[4500 +: 4500] = reshape(x * s * (y * 3), 4500);\n"
           "    O[9000] = sum(y * s * y) + max(y * 2 * y);\n"
           "    O[9001] = sum(s * y * exp(y));\n"),
    KERNEL("    reg f32 x[600] = V[n - 300 +: 600] else 3, y[600] = V[0 +: 600];\n"
           "    f32 s = V[3] + 4;\n    O[0 +: 600] = x * s * V[2 +: 600] + V[-1 +: 600];\n"
           "    O[600] = sum(x * y);\n    O[601] = sum(x * V[n - 9 +: 600]) + sum(s * V[7 +: "
           "600]);\n"),
    /* rows that are read in place until they are assigned: whole ones, clipped, strided,
     * outside; read by reductions, by steps that are not chains, stored to memory of other tiles */
    KERNEL("    reg f32 x[1000] = L[1][7 +: 1000];\n    x = exp(x - max(x));\n"
           "    O[3 +: 1000] = x / sum(x);\n"),
    KERNEL("    reg f32 x[600] = V[n - 300 +: 600] else -5;\n    reg f32 y[600] = V[-3 +: 600];\n"
           "    f32 least = min(x);\n    bool some = any(x > 2);\n    y = y + x * least;\n"
           "    x = where(some, x - y, x);\n    O[0 +: 600] = x;\n    O[1000 +: 600] = y;\n"),
    KERNEL("    reg f32 x[300] = W[5 +: 300], y[300] = O[0 +: 300], z[300] = L[2][0 +: 300];\n"
           "    reg f32 t[20][15] = reshape(y, 20, 15), u[600] = repeat(z, 2);\n"
           "    f32 one = sum(x[0 +: 16]) + max(y[150 +: 150]);\n    x = x * one;\n    y = "
           "scan(add, y, axis = 0);\n    z += y;\n"
           "    O[0 +: 300] = x + y - z;\n    O[600 +: 300] = reshape(t, 300) + u[100 +: 300];\n"),
    KERNEL("    reg f32 x[2][300];\n    x = 0;\n    for (i32 r = 0; r < 3; r++) {\n"
           "        reg f32 v[300] = L[r][r * 9 +: 300];\n        x = x + v;\n"
           "        v = n > 100 ? v : v * 2;\n        O[r * 300 +: 300] = v;\n    }\n"
           "    O[1000 +: 600] = reshape(x, 600);\n"),
    KERNEL("    reg f32 x[300] = L[n / 100][0 +: 300];\n    x = x * 2;\n    O[0 +: 300] = x;\n"),
    KERNEL(
        "    reg f32 y[300] = L[2][9 +: 300], x[300] =\n        L[n / 100]\n        [0 +: 300];\n"
        "    y = y + 1;\n    x = x * 2;\n    O[0 +: 300] = x + y;\n"),
    KERNEL("    reg f32 x[300] = L[1][0 +: 300];\n    f32 some = sum(x[7 +: 16]);\n"
           "    x = x * some;\n    O[0 +: 300] = x;\n"),
    /* a difference and the sum of its squares: one step, unless an operation lies in between */
    KERNEL("    reg f32 x[600] = V[3 +: 600];\n    x = x - sum(x) / 600;\n"
           "    O[600] = rsqrt(sum(x * x) / 600);\n    O[0 +: 600] = x;\n"),
    KERNEL("    reg f32 x[1531] = L[1][5 +: 1531], y[300] = 1;\n    y = V[n - 200 +: 300] - 1.5;\n"
           "    O[0] = sum(y * y);\n    x = x - y[7 +: 1];\n    O[1] = sum(x * x);\n"
           "    O[2 +: 1531] = x;\n    O[2000 +: 300] = y;\n"),
    KERNEL("    reg f32 x[300] = L[2][0 +: 300], y[300] = L[0][0 +: 300];\n    f32 s = 0;\n"
           "    x = x - 2;\n    for (i32 i = 0; i < 3; i++) {\n        s += sum(x * x);\n"
           "        x = x * y;\n    }\n    O[0] = s;\n    if (n > 100)\n        y = y - s;\n"
           "    O[1] = sum(y * y);\n    y = y - 1;\n    x = y - 3;\n    O[2] = sum(y * y) + sum(x "
           "* y);\n"
           "    O[3 +: 300] = x + y;\n"),
    KERNEL("    reg f32 x[2][300], y[300] = L[2][0 +: 300];\n    x = A[0 +: 2][0 +: 1] - 2;\n"
           "    O[0] = sum(x * x);\n    y = 2 - y;\n    O[1] = sum(y * y);\n    y = y - A[0][0 +: "
           "1];\n"
           "    O[2] = max(y * y);\n    O[3 +: 300] = y;\n"),
    /* rows of several strips, whose leaves are tiles, repeatedly */
    KERNEL("    reg f32 x[1531], y[1531] = 1;\n    for (i32 r = 0; r < 3; r++) {\n"
           "        x = L[r][5 +: 1531] * 2;\n        y = x * y - r;\n"
           "        O[r * 1531 +: 1531] = y + x;\n        O[9000 + r] = sum(y * x + y);\n    }\n"),
    /* an axis of one element, whose stride is never used */
    KERNEL("    global f32 one[1][n] = a strides(4611686018427387904, 1);\n"
           "    reg f32 x[60] = one[0][0 +: 60];\n    x = x - max(x);\n    O[0 +: 60] = x;\n"),
    /* one element too far: along an axis of rows; along the row */
    KERNEL("    reg f32 x[300] = L[n / 80 + 2][0 +: 300];\n    x = x * 2;\n    O[0 +: 300] = x;\n"),
    KERNEL("    reg f32 x[60] = V[n - 59 +: 60], y[60] = V[n - 60 +: 60];\n    x = x * y + 1;\n"
           "    D[n - 1] = x[0 +: 20];\n    D[n / 80 + 78][0 +: 20] = y[0 +: 20] * 2;\n"
           "    x = where(V[-3 +: 60] == 0, 1, 2);\n    O[3000 +: 60] = x;\n"),
    /* empty rows, one after another */
    KERNEL("    global f32 N[9][n - 80] = a strides(4, 1);\n    for (i32 r = 0; r < 3; r++) {\n"
           "        reg f32 v[1024] = N[2 - r][0 +: 1024] else 1;\n        v = exp(v) + v;\n"
           "        O[r * 1024 +: 1024] = v;\n    }\n"),
    /* more operands than a chain has slots for */
    KERNEL("    reg f32 x[9][70] = A[0 +: 9][0 +: 70];\n"
           "    x = x * 1.01 + (x * 2.02 - (x * 3.03 + (x * 4.04 - (x * 5.05 + (x * 6.06 - (x * "
           "7.07 + (x * 8.08 - (x * 9.09 + (x * 1.1 - (x * 1.2 + (x * 1.3 - (x * 1.4 + (x * 1.5 - "
           "(x * 1.6 + (x * 1.7 - (x * 1.8 + (x * 1.9 - (x * 2.1 + (x * 2.2 - (x * 2.3 + (x * 2.4 "
           "- (x * 2.5 + (x * 2.6 - (x * 2.7 + (x * 2.8 - (x * 2.9 + (x * 3.1 - (x * 3.2 + (x * "
           "3.3 - (x * 3.4 + x))))))))))))))))))))))))))))));\n"
           "    C[0 +: 9][0 +: 70] = x;\n"),
};

static void chains_are_as_the_plain_way(void **state)
{
    int faults = 0;
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        for (int64_t n = 80; n < 900; n += 410)
            faults += expect_same(texts[i], n) != CPU_OK;
    assert_int_equal(faults, 10);
}

/* --- at random --- */

struct formula {
    char text[4096];
    size_t length;
    const char *const *leaves; /* NULL: the usual ones */
    uint32_t count;
};

static void put(struct formula *f, const char *text)
{
    size_t length = strlen(text);
    assert_true(f->length + length < sizeof f->text);
    memcpy(f->text + f->length, text, length + 1);
    f->length += length;
}

static void put_expression(struct formula *f, uint32_t *seed, int depth)
{
    static const char *const leaves[] = {"x", "y", "row", "col", "s", "1.5", "(f32) z", "(f32) w"};
    static const char *const heads[] = {
        "(",  "(",    "(",    "(",     "min(",        "max(",       "where(x < row, ",
        "(-", "abs(", "exp(", "exp2(", "(f32)(f16)(", "(f32)(i32)("};
    static const char *const middles[] = {" + ", " - ", " * ", " / ", ", ", ", ", ", "};
    if (depth == 0 || cpu_draw(seed, 6) == 0) {
        const uint32_t usual = sizeof leaves / sizeof *leaves;
        put(f, f->leaves ? f->leaves[cpu_draw(seed, f->count)] : leaves[cpu_draw(seed, usual)]);
        return;
    }
    uint32_t form = cpu_draw(seed, sizeof heads / sizeof *heads);
    put(f, heads[form]);
    put_expression(f, seed, depth - 1);
    if (form < sizeof middles / sizeof *middles) {
        put(f, middles[form]);
        put_expression(f, seed, depth - 1);
    }
    put(f, ")");
}

static void random_chains_are_as_the_plain_way(void **state)
{
    static const int shapes[][2] = {{37, 40}, {5, 513}, {64, 16}, {2, 1024},
                                    {130, 3}, {1, 700}, {3, 511}, {20, 140}};
    (void)state;
    for (uint32_t at = 1; at <= 120; at++) {
        struct formula f = {.length = 0};
        uint32_t seed = at * 7919;
        put_expression(&f, &seed, 5);
        const int *e = shapes[cpu_draw(&seed, sizeof shapes / sizeof *shapes)];
        char text[24576];
        snprintf(text, sizeof text,
                 "const i32 M = %d;\nconst i32 N = %d;\n"
                 "kernel k(i32 n, const f32 *a, const f16 *h, const i32 *q, f32 *c)\n"
                 "    grid(1) warps(1)\n{\n"
                 "    global f32 A[M][N] = a, B[M][N] = a + 1000, C[n][N] = c, V[n] = a;\n"
                 "    global f32 S[M][1] = c + 8000, R[1][N] = c + 9000, T[3] = c + 18000;\n"
                 "    global f16 H[M][N] = h;\n    global i32 Q[M][N] = q;\n"
                 "    reg f32 x[M][N] = A, y[M][N] = B, row[N] = B[0];\n"
                 "    reg f32 col[M][1] = A[0 +: M][0 +: 1];\n"
                 "    reg f16 z[M][N] = H;\n    reg i32 w[M][N] = Q;\n    f32 s = V[0];\n"
                 "    C[1 +: M][0 +: N] = %s + x;\n    S = sum(%s + x, axis = 1);\n"
                 "    R = max(%s + x, axis = 0);\n    T[0] = sum(%s + x);\n    y = %s + y;\n"
                 "    T[1] = min(y);\n    C[1 +: M][1 +: N] = y * V[0 +: N];\n}\n",
                 e[0], e[1], f.text, f.text, f.text, f.text, f.text);
        assert_int_equal(expect_same(text, 1 + e[0] / 2), CPU_OK);
    }
}

/* Parts of views in formulas: inside, past edges, before the first row and column, transposed, with
 * rows that run backwards, and of the memory that the chain stores to. */
static void random_parts_are_as_the_plain_way(void **state)
{
    static const char *const leaves[] = {"A[0 +: M][0 +: N]",
                                         "A[n +: M][3 +: N]",
                                         "(A[2 +: M][n +: N] else 3)",
                                         "A[-1 +: M][-2 +: N]",
                                         "A[n - 9 +: M][-3 +: N]",
                                         "(A[M +: M][0 +: N] else s)",
                                         "(f32) H[1 +: M][n +: N]",
                                         "(f32) Q[0 +: M][5 +: N]",
                                         "(f32) H[n +: M][0 +: N]",
                                         "U[2 +: M][1 +: N]",
                                         "D[1 +: M][1 +: N]",
                                         "C[0 +: M][1 +: N]",
                                         "C[n +: M][0 +: N]",
                                         "row",
                                         "s",
                                         "1.5"};
    static const int shapes[][2] = {{37, 40}, {5, 513}, {64, 33},  {2, 1024}, {12, 31},
                                    {1, 700}, {3, 511}, {20, 140}, {130, 32}, {2, 1500}};
    (void)state;
    for (uint32_t at = 1; at <= 120; at++) {
        struct formula f = {.leaves = leaves, .count = sizeof leaves / sizeof *leaves};
        uint32_t seed = at * 15485863;
        put_expression(&f, &seed, 4);
        const int *e = shapes[cpu_draw(&seed, sizeof shapes / sizeof *shapes)];
        char text[24576];
        snprintf(text, sizeof text,
                 "const i32 M = %d;\nconst i32 N = %d;\n"
                 "kernel k(i32 n, const f32 *a, const f16 *h, const i32 *q, f32 *c)\n"
                 "    grid(1) warps(1)\n{\n"
                 "    global f32 A[M + 4][N + 5] = a, U[M + 3][N + 2] = a strides(1, M + 3);\n"
                 "    global f32 D[M + 2][N + 2] = a + (M + 1) * (N + 2) strides(-N - 2, 1);\n"
                 "    global f32 C[M + 3][N + 4] = c, S[M][1] = c + 9000, T[3] = c + 18000;\n"
                 "    global f16 H[M + 2][N + 6] = h;\n    global i32 Q[M + 2][N + 7] = q;\n"
                 "    reg f32 row[N] = A[1][0 +: N], x[M][N] = A[3 +: M][0 +: N], y[M][N];\n    "
                 "f32 s = A[1][1];\n"
                 "    for (i32 i = 0; i < 2; i++) {\n"
                 "        y = %s + A[i * 2 +: M][1 +: N];\n"
                 "        C[i +: M][0 +: N] = %s + y;\n    }\n"
                 "    S = sum(%s * A[1 +: M][0 +: N], axis = 1);\n"
                 "    T[0] = sum(%s + A[2 +: M][n +: N]);\n    T[1] = max(y);\n}\n",
                 e[0], e[1], f.text, f.text, f.text, f.text);
        assert_int_equal(expect_same(text, (int64_t)cpu_draw(&seed, 9)), CPU_OK);
    }
}

static void random_rows_are_as_the_plain_way(void **state)
{
    static const int lengths[] = {40, 255, 256, 300, 511, 513, 1023, 1024, 1025, 1500, 2100};
    (void)state;
    for (uint32_t at = 1; at <= 90; at++) {
        struct formula f = {.length = 0}, g = {.length = 0};
        uint32_t seed = at * 104729;
        put_expression(&f, &seed, 4);
        put_expression(&g, &seed, 4);
        char text[24576];
        snprintf(text, sizeof text,
                 "const i32 N = %d;\n"
                 "kernel k(i32 n, const f32 *a, const f16 *h, const i32 *q, f32 *c)\n"
                 "    grid(1) warps(1)\n{\n"
                 "    global f32 L[3][6000] = a, V[n] = a, O[19000] = c, S[9000] = a strides(2);\n"
                 "    global f16 H[20000] = h;\n    global i32 Q[20000] = q;\n"
                 "    reg f32 x[N] = L[1][%d +: N], y[N] = V[n - 300 +: N] else -2;\n"
                 "    reg f32 row[N] = S[0 +: N], col[1] = V[0 +: 1];\n"
                 "    reg f16 z[N] = H[3 +: N];\n    reg i32 w[N] = Q[0 +: N];\n    f32 s = V[0];\n"
                 "    s = max(x);\n    x = %s + x;\n    reg f32 sum_of[1] = sum(%s - y);\n"
                 "    y = %s - sum(y);\n    z = z * z;\n    row = x + row * %s;\n"
                 "    O[0 +: N] = x + (f32) z;\n    O[3000 +: N] = y;\n    O[6000 +: N] = row;\n"
                 "    O[9000 +: 1] = sum_of;\n    O[9001] = sum(y * y);\n"
                 "    O[9002] = sum(x * row);\n    O[9003] = sum(-x * abs(x));\n}\n",
                 lengths[cpu_draw(&seed, sizeof lengths / sizeof *lengths)],
                 (int)cpu_draw(&seed, 40), f.text, g.text, g.text, f.text);
        assert_int_equal(expect_same(text, 700), CPU_OK);
    }
}

/* Several short rows are in one strip, and operations take one value for each row: m and w. */
static void short_rows_are_as_the_plain_way(void **state)
{
    static const char *const bodies[] = {
        "C[2 +: %d][1 +: %d] = exp(x - m);\n",
        "x = exp2_approx(x - m) * w;\nC[0 +: %d][0 +: %d] = x;\n",
        "C[n +: %d][3 +: %d] = x * m * w + y;\n",
        "C[0 +: %d][0 +: %d] = (m - x) / w + (x - m) * (y + w) - w * (y / m);\n",
        "x = x / m;\nC[125 +: %d][130 +: %d] = max(x - w, y) * m;\n",
        "y = y + sum(exp(x - m), axis = 1) * x;\nC[0 +: %d][0 +: %d] = y;\n",
        "for (i32 j = 0; j < 90; j += 30) {\nx = where(column + j < 100, x, j - 7);\n"
        "y = where(column + j < 9, 3, y);\n}\nC[0 +: %d][0 +: %d] = x + y;\n",
    };
    static const int rows[] = {1, 3, 8, 21};
    static const int columns[] = {32, 63, 64, 100, 128, 140};
    (void)state;
    for (size_t b = 0; b < sizeof bodies / sizeof *bodies; b++)
        for (size_t i = 0; i < 4 * 6; i++) {
            char text[2048], body[256];
            const int m = rows[i / 6], n = columns[i % 6];
            snprintf(body, sizeof body, bodies[b], m, n);
            snprintf(text, sizeof text,
                     KERNEL("reg f32 x[%d][%d] = A[0 +: %d][0 +: %d], y[%d][%d] = x * 0.5 + 1;\n"
                            "reg f32 m[%d][1] = A[5 +: %d][7 +: 1], w[%d][1] = m * m + 2;\n"
                            "reg i32 column[1][%d] = iota();\n%s"),
                     m, n, m, n, m, n, m, m, m, n, body);
            expect_same(text, 4);
        }
}

/* More nested operations than one step has room for: into a value, memory, a reduction. */
static void deep_chains_are_as_the_plain_way(void **state)
{
    static const char *const levels[][2] = {
        {"abs(-", ")"}, {"(A[0 +: 32] + ", ")"}, {"min(max(", ", v * 0.5), exp(v) + 1)"}};
    static const char *const ends[] = {
        "C[0 +: 32] = %s;", "reg f32 x[32] = %s; C[0 +: 32] = x + v;", "C[0 +: 32] = sum(%s) + v;"};
    enum { DEEPEST = 60, ROOM = DEEPEST * 40 + 64 };
    char *deep = malloc(ROOM), *text = malloc(2 * ROOM), *statement = malloc(2 * ROOM);
    (void)state;
    assert_true(deep && text && statement);
    for (size_t l = 0; l < sizeof levels / sizeof *levels; l++)
        for (int depth = 3; depth <= DEEPEST; depth = depth * 3 / 2) {
            char *at = deep;
            for (int i = 0; i < depth; i++)
                at += sprintf(at, "%s", levels[l][0]);
            at += sprintf(at, "v");
            for (int i = 0; i < depth; i++)
                at += sprintf(at, "%s", levels[l][1]);
            for (size_t e = 0; e < sizeof ends / sizeof *ends; e++) {
                snprintf(statement, 2 * ROOM, ends[e], deep);
                snprintf(text, 2 * ROOM,
                         "kernel k(i32 n, const f32 *a, const f16 *h, const i32 *q, f32 *c) "
                         "grid(1) warps(1)\n{\n"
                         "global f32 A[n] = a, C[n] = c;\nreg f32 v[32] = A[0 +: 32];\n%s\n}\n",
                         statement);
                assert_int_equal(expect_same(text, 32), CPU_OK);
            }
        }
    free(deep);
    free(text);
    free(statement);
}

/* Stores past the caches give the right elements: views of 8 MiB and more, rows that begin
 * anywhere within a line. */
static void large_views_get_every_element(void **state)
{
    enum { ROWS = 2100, COLUMNS = 1003 };
    static const struct {
        const char *text;
        float scale, divisor; /* multiplies and divides 2 a + 1 */
    } bodies[] = {
        {"reg f32 x[1024] = A[block.x][0 +: 1024];\n    C[block.x][0 +: 1024] = x * 2 + 1;", 1, 1},
        {"reg f32 x[1003] = A[block.x];\n    x = x * 2;\n    C[block.x] = x + 1;", 1, 1},
        /* chains that end in each operation that writes past the caches, and in one that does
         * not */
        {"C[block.x] = A[block.x] + (A[block.x] + 1);", 1, 1},
        {"C[block.x] = (A[block.x] * 3 + 1) - A[block.x];", 1, 1},
        {"C[block.x] = (A[block.x] * 2 + 6) - five;", 1, 1},
        {"reg f32 x[1003] = A[block.x];\n    C[block.x] = (x + 0.5) * (x - x + 2);", 1, 1},
        {"C[block.x] = (A[block.x] + 0.5) * two;", 1, 1},
        {"reg f32 x[1003] = A[block.x];\n    C[block.x] = x * (x - x + 2) + (x - x + 1);", 1, 1},
        {"reg f32 x[1003] = A[block.x], y[1003] = x - x + 1;\n    C[block.x] = x * two * y + y;", 1,
         1},
        {"reg f32 x[1003] = A[block.x] + 0.5, y[1003] = x - x + 1;\n    C[block.x] = x * two * y;",
         1, 1},
        {"C[block.x] = (A[block.x] * 10 + 5) / five;", 1, 1},
        {"C[block.x] = (A[block.x] + 0.5) * 3e38 * 3e38 / 3;", INFINITY, 3},
        {"C[block.x] = (A[block.x] + 0.5) * 1.6155871338926322e-27 / 1e-39;", 0x1p-90f, 1e-39f},
        {"C[block.x] = (A[block.x] * 2 + 1) * 1.4349296274686127e-42 / 1.7142857;", 0x1p-139f,
         1.7142857f},
        {"C[block.x] = abs(A[block.x] * -2 - 1);", 1, 1},
        {"i32 i = block.x * 20;\n    if (block.x < 105) {\n"
         "        C[i +: 20][0 +: 250] = (A[i +: 20][0 +: 250] + 0.5) * two;\n"
         "        C[i +: 20][250 +: 81] = (A[i +: 20][250 +: 81] * 10 + 5) / five;\n"
         "        C[i +: 20][331 +: 672] = abs(A[i +: 20][331 +: 672] * -2 - 1);\n    }",
         1, 1},
        {"C[block.x] = (f32)(i32)(A[block.x] * 2 + 1);", 1, 1},
        {"if (block.x % 2 == 0)\n        C[block.x] = A[block.x] * 2 + 1;\n    else {\n"
         "        reg f32 x[1003] = A[block.x] * 2 + 1;\n        C[block.x] = x;\n    }",
         1, 1}};
    enum { BODIES = sizeof bodies / sizeof *bodies };
    (void)state;
    for (int s = 0; routine_set_at(s / BODIES); s++) {
        struct cpu_run r;
        char text[1024];
        const struct routine_set *set = routine_set_at(s / BODIES);
        const float scale = bodies[s % BODIES].scale, divisor = bodies[s % BODIES].divisor;
        const struct given given[] = {{"n", ROWS}, {NULL, 0}};
        snprintf(text, sizeof text,
                 "kernel k(i32 n, const f32 *a, f32 *c) grid(n) warps(1)\n{\n"
                 "    global f32 A[n][1003] = a, C[n][1003] = c;\n    f32 two = 2, five = 5;\n"
                 "    %s\n}\n",
                 bodies[s % BODIES].text);
        cpu_open_with(&r, text, given, set);
        float *a = cpu_array(&r, "a", ROWS * COLUMNS * sizeof *a);
        const float *c = cpu_array(&r, "c", ROWS * COLUMNS * sizeof *c);
        for (int i = 0; i < ROWS * COLUMNS; i++)
            a[i] = (float)(i % 8191);
        assert_int_equal(cpu_go(&r, 2), CPU_OK);
        for (int i = 0; i < ROWS * COLUMNS; i++)
            if (c[i] != (a[i] * 2 + 1) * scale / divisor)
                fail_msg("%s: element %d is %g\n%s", set->name, i, (double)c[i], text);
        cpu_close(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chains_are_as_the_plain_way),
        cmocka_unit_test(random_chains_are_as_the_plain_way),
        cmocka_unit_test(random_rows_are_as_the_plain_way),
        cmocka_unit_test(random_parts_are_as_the_plain_way),
        cmocka_unit_test(short_rows_are_as_the_plain_way),
        cmocka_unit_test(deep_chains_are_as_the_plain_way),
        cmocka_unit_test(large_views_get_every_element),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
