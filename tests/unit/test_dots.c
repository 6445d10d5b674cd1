/* The pass dots: loops that add products without `dot` get the bits that they have as written, in all
 * spellings, for sizes that are tiny and ragged. Programs that the pass must leave alone differ from
 * those by one thing each. */
#include "cpu_helper.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void find_dot(void *user, struct expr **at)
{
    *(bool *)user |= (*at)->op == OP_DOT;
}

static void find_in(void *user, struct stmt *s)
{
    if (s->kind != STMT_ENSURES && s->value)
        expr_walk(&s->value, find_dot, user);
}

/* Returns whether the kernel has a product after the passes. */
static bool multiplies(const char *text, int64_t n)
{
    const struct given given[] = {{"n", n}, {NULL, 0}};
    struct cpu_run r;
    bool found = false;
    cpu_open(&r, text, given);
    stmt_walk(r.kernel->body, find_in, &found);
    cpu_close(&r);
    return found;
}

#define HEAD                                                                                       \
    "(i32 n, const f32 *a, const f32 *b, const f16 *h, const bf16 *g, const i8 *q, f32 *c, i32 "   \
    "*z)\n    grid(cdiv(n, 24)) warps(1)\n{\n"                                                     \
    "    global f32 X[n] = a, A[n][n] = a, W[n][n] = b, R[3][n] = a, C[n] = c, D[n][n] = c;\n"     \
    "    global f16 H[n][n] = h, HX[n] = h;\n    global bf16 G[n][n] = g, GX[n] = g;\n"            \
    "    global i8 Q[n][n] = q, QX[n] = q;\n    global i32 Z[n] = z;\n"                            \
    "    i32 j = block.x * 24;\n    reg f32 acc[24] = 0;\n"
#define RUN_TIME "kernel k" HEAD
#define LOOP "    for (i32 p = 0; p < n; p++)\n"
#define END "    C[j +: 24] = acc;\n}\n"

static const char *const products[] = {
    /* one row; either order of the factors; weights that lie [n][k] */
    RUN_TIME LOOP "acc += X[p] * W[p][j +: 24];\n" END,
    RUN_TIME LOOP "acc = W[p][j +: 24] * X[p] + acc;\n" END,
    RUN_TIME LOOP "acc += X[p] * W[j +: 24][p];\n" END,
    RUN_TIME LOOP "acc += R[2][p] * W[p][j +: 24];\n" END,
    /* variables of the turn */
    RUN_TIME LOOP "{ f32 x = X[p]; reg f32 w[24] = W[p][j +: 24]; acc += x * w; }\n" END,
    /* not from 0 on, nor from a sum of 0 */
    RUN_TIME "for (i32 p = 3; p < n; p++)\nacc += X[p] * W[p][j +: 24];\n" END,
    RUN_TIME "acc = X[j +: 24] - 1;\n" LOOP "acc += X[p] * W[p][j +: 24];\nacc = acc * 2;\n" END,
    /* two sums, of which one has its own loop, too */
    RUN_TIME "reg f32 up[24] = -0.0;\n" LOOP
             "{ acc += X[p] * W[p][j +: 24]; up += X[p] * A[p][j +: 24]; }\n" LOOP
             "up += X[p] * W[p][j +: 24];\nacc = acc * up;\n" END,
    /* types */
    RUN_TIME LOOP "acc += (f32) HX[p] * (f32) H[p][j +: 24];\n" END,
    RUN_TIME LOOP "acc += X[p] * (f32) H[p][j +: 24];\n" END,
    RUN_TIME LOOP "acc += (f32) GX[p] * (f32) G[p][j +: 24];\n" END,
    RUN_TIME LOOP "acc += (f32) GX[p] * (f32) G[j +: 24][p];\n" END,
    RUN_TIME LOOP "acc += X[p] * (f32) G[p][j +: 24];\n" END,
    RUN_TIME LOOP "acc += (f32) HX[p] * W[j +: 24][p];\n" END,
    RUN_TIME "reg i32 t[24] = 5;\n" LOOP
             "t += (i32) QX[p] * (i32) Q[p][j +: 24];\nZ[j +: 24] = t;\n}\n",
    RUN_TIME "reg i32 t[24] = 0;\n" LOOP
             "t += (i32) Q[j +: 24][p] * (i32) QX[p];\nZ[j +: 24] = t;\n}\n",
    /* tiles of several rows, and columns */
    RUN_TIME "reg f32 t[7][24] = 0;\n" LOOP "t += A[5 +: 7][p +: 1] * W[p][j +: 24];\n"
             "D[5 +: 7][j +: 24] = t;\n}\n",
    RUN_TIME "reg f32 t[20][24] = 1;\n" LOOP "t += W[p +: 1][j +: 24] * (f32) H[3 +: 20][p +: 1];\n"
             "D[3 +: 20][j +: 24] = t;\n}\n",
    RUN_TIME "reg f32 t[1][24] = 0;\n" LOOP "t += A[1 +: 1][p +: 1] * W[p +: 1][j +: 24];\n"
             "D[1 +: 1][j +: 24] = t;\n}\n",
    RUN_TIME "reg f32 t[24][1] = 0;\n" LOOP "t += W[j +: 24][p +: 1] * X[p];\n"
             "D[j +: 24][2 +: 1] = t;\n}\n",
    RUN_TIME "reg f32 t[24][9] = 0;\n" LOOP "t += W[j +: 24][p +: 1] * A[0 +: 9][p];\n"
             "D[j +: 24][0 +: 9] = t;\n}\n",
};

static void products_are_as_written(void **state)
{
    static const int64_t sizes[] = {3, 25, 64, 65, 127, 150, 200};
    (void)state;
    for (size_t i = 0; i < sizeof products / sizeof *products; i++) {
        if (!multiplies(products[i], 200))
            fail_msg("no product\n%s", products[i]);
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
            cpu_expect_as_written(products[i], sizes[s]);
    }
}

static const char *const kept[] = {
    /* past the edge of a view: a fault, if the loop reaches it */
    RUN_TIME "for (i32 p = 0; p < n + 1; p++)\nacc += X[p] * W[p][j +: 24];\n" END,
    RUN_TIME "for (i32 p = -1; p < n; p++)\nacc += X[p] * W[p][j +: 24];\n" END,
    RUN_TIME LOOP "acc += R[block.x][p] * W[p][j +: 24];\n" END,
    /* other steps, other indices */
    RUN_TIME "for (i32 p = 0; p < n; p += 2)\nacc += X[p] * W[p][j +: 24];\n" END,
    RUN_TIME LOOP "acc += X[n - 1 - p] * W[p][j +: 24];\n" END,
    RUN_TIME LOOP "acc += X[p] * W[p][p +: 24];\n" END,
    /* the sum is read in the loop, or is not one of products alone */
    RUN_TIME LOOP "{ acc += X[p] * W[p][j +: 24]; C[j +: 24] = acc; }\n" END,
    RUN_TIME LOOP "acc += X[p] * W[p][j +: 24] + 1;\n" END,
    RUN_TIME LOOP "acc = X[p] * W[p][j +: 24] - acc;\n" END,
    RUN_TIME LOOP "if (X[p] > 0) acc += X[p] * W[p][j +: 24];\n" END,
    RUN_TIME LOOP "acc += X[p] * acc;\n" END,
    /* products that are rounded before they are added, or in another type */
    RUN_TIME LOOP "{ reg f32 w[24] = X[p] * W[p][j +: 24]; acc += w; }\n" END,
    RUN_TIME LOOP "acc += (f32) (HX[p] * H[p][j +: 24]);\n" END,
    RUN_TIME LOOP "acc += (f32) (f16) X[p] * W[p][j +: 24];\n" END,
    RUN_TIME "reg f16 t[24] = 0;\n" LOOP "t += HX[p] * H[p][j +: 24];\nacc = (f32) t;\n" END,
    RUN_TIME
    "for (i32 p = 0; p < n; p += 8)\n"
    "acc += reshape(sum(reshape(X[p +: 8], 8, 1) * W[p +: 8][j +: 24], axis = 0), 24);\n" END,
    /* elements, not matrices */
    RUN_TIME LOOP "acc += A[p][j +: 24] * W[p][j +: 24];\n" END,
    RUN_TIME "reg f32 t[24][24] = 0;\n" LOOP "t += X[p] * W[p][j +: 24];\n"
             "D[j +: 24][0 +: 24] = t;\n}\n",
};

static void others_are_kept(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        if (multiplies(kept[i], 200))
            fail_msg("a product\n%s", kept[i]);
        cpu_expect_as_written(kept[i], 40);
        cpu_expect_as_written(kept[i], 100);
    }
}

/* Random spellings, types, tiles and depths that are known. */
static void random_products_are_as_written(void **state)
{
    static const char *const types[] = {"f32", "f16", "bf16", "e4m3", "f64"};
    static const char *const left[] = {"(S) X[p]", "(S) A[0][p]", "(S) A[0 +: M][p +: 1]"};
    static const char *const right[] = {"(S) W[p][j +: N]", "(S) V[j +: N][p]",
                                        "(S) W[p +: 1][j +: N]"};
    (void)state;
    for (uint32_t at = 1; at <= 100; at++) {
        uint32_t seed = at * 7919;
        const char *type = types[cpu_draw(&seed, 5)], *x = left[cpu_draw(&seed, 3)],
                   *y = right[cpu_draw(&seed, 3)];
        const bool tile = x == left[2] || y == right[2], turned = cpu_draw(&seed, 2);
        int m = x == left[2] ? 1 + (int)cpu_draw(&seed, 18) : 1, n = 8 + (int)cpu_draw(&seed, 40);
        int depth = 1 + (int)cpu_draw(&seed, cpu_draw(&seed, 2) ? 40 : 300);
        char text[4096];
        snprintf(text, sizeof text,
                 "type S = {%s};\nconst i32 M = %d, N = %d, K = %d;\n"
                 "kernel k(i32 n, const %s *x, const %s *w, S *c) grid(cdiv(n, N)) warps(1)\n{\n"
                 "    global %s X[K] = x, A[M][K] = x, W[K][n] = w, V[n][K] = w;\n"
                 "    global S C[M][n] = c;\n    i32 j = block.x * N;\n"
                 "    reg S acc%s[N] = %s;\n    for (i32 p = %d; p < K; p++)\n"
                 "        acc += %s * %s;\n    C[0 +: M][j +: N] = %s;\n}\n",
                 strcmp(type, "f64") == 0 ? "f64" : "f32", m, n, depth, type, type, type,
                 tile ? "[M]" : "", cpu_draw(&seed, 3) ? "0" : "-1.5", (int)cpu_draw(&seed, 3),
                 turned ? y : x, turned ? x : y, tile ? "acc" : "reshape(acc, M, N)");
        cpu_expect_as_written(text, 1 + (int)cpu_draw(&seed, 120));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_are_as_written),
        cmocka_unit_test(others_are_kept),
        cmocka_unit_test(random_products_are_as_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
