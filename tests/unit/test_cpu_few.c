/* Products of few rows (src/cpu/exec/exec_few.c), compared with the plain way: the same bits, with
 * every set of routines, on one worker and on three. */
#include "cpu_helper.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { ARRAY = 1 << 19, MOST_TEXT = 2048 };

static double element(size_t i)
{
    return (double)(i * 37 % 101) / 8 - 6;
}

static void fill(enum dtype t, unsigned char *data)
{
    static unsigned char filled[DT_COUNT][ARRAY];
    static bool made[DT_COUNT];
    size_t size = dtype_size(t);
    for (size_t i = 0; i < ARRAY / size && !made[t]; i++)
        dtype_store_f64(t, filled[t] + i * size, element(i));
    made[t] = true;
    memcpy(data, filled[t], ARRAY);
}

static void run_once(const char *text, const struct given *given, const struct routine_set *set,
                     bool plain, int threads, unsigned char *c)
{
    struct cpu_run r;
    cpu_open_plain(&r, text, given, set, plain);
    for (const struct param *p = r.kernel->params; p; p = p->next)
        if (p->sym->is_pointer) {
            unsigned char *data = cpu_array(&r, p->sym->name, ARRAY);
            if (p->sym->is_const)
                fill(p->sym->type.dtype, data);
        }
    cpu_go(&r, threads);
    if (r.fault.kind != CPU_OK)
        fail_msg("%s\n%s", r.fault.message, text);
    memcpy(c, r.args[r.kernel->param_count - 1].data, ARRAY);
    cpu_close(&r);
}

static void expect_same(const char *text, const struct given *given)
{
    unsigned char *plain = malloc(ARRAY), *got = malloc(ARRAY);
    assert_true(plain && got);
    run_once(text, given, routine_set_at(0), true, 1, plain);
    for (int s = 0; routine_set_at(s); s++)
        for (int threads = 1; threads <= 3; threads += 2) {
            run_once(text, given, routine_set_at(s), false, threads, got);
            if (memcmp(plain, got, ARRAY) != 0)
                fail_msg("%s, %d threads: other values\n%s", routine_set_at(s)->name, threads,
                         text);
        }
    free(plain);
    free(got);
}

/* --- sizes, types and layouts --- */

static void write_text(char *text, const char *type, bool turned, int bm, int bn, int bk)
{
    const char *weights = turned ? "W[n][k]" : "W[k][n]";
    char fill[128];
    if (turned)
        snprintf(fill, sizeof fill, "reg %s rb[%d][%d] = W[j +: %d][p +: %d];", type, bn, bk, bn,
                 bk);
    else
        snprintf(fill, sizeof fill, "reg %s rb[%d][%d] = W[p +: %d][j +: %d];", type, bk, bn, bk,
                 bn);
    snprintf(text, MOST_TEXT,
             "kernel few(i32 m, i32 n, i32 k, const %s *x, const %s *w, f32 *y) "
             "grid(cdiv(m, %d), cdiv(n, %d)) warps(1)\n{\n"
             "global %s X[m][k] = x, %s = w;\nglobal f32 Y[m][n] = y;\n"
             "i32 i = block.x * %d, j = block.y * %d;\nreg f32 acc[%d][%d] = 0;\n"
             "for (i32 p = 0; p < k; p += %d) {\nreg %s ra[%d][%d] = X[i +: %d][p +: %d];\n%s\n"
             "acc += dot(ra, %s);\n}\nY[i +: %d][j +: %d] = acc;\n}\n",
             type, type, bm, bn, type, weights, bm, bn, bm, bn, bk, type, bm, bk, bm, bk, fill,
             turned ? "trans(rb)" : "rb", bm, bn);
}

static void shapes_are_the_same(void **state)
{
    static const char *const types[] = {"f32", "f16", "bf16", "e4m3"};
    static const int shapes[][6] = {
        /* m, n, k, BM, BN, BK */
        {1, 300, 70, 16, 32, 16},   {1, 1, 5, 16, 16, 16},      {3, 200, 530, 16, 64, 32},
        {9, 130, 40, 16, 64, 16},   {16, 96, 1040, 16, 32, 16}, {17, 70, 40, 32, 32, 16},
        {2, 77, 1100, 128, 16, 16}, {1, 64, 600, 1, 16, 50},    {6, 150, 129, 16, 128, 64},
        {4, 83, 67, 16, 32, 16},    {1, 1100, 96, 16, 64, 32},  {8, 160, 192, 16, 128, 64}};
    char text[MOST_TEXT];
    (void)state;
    for (size_t t = 0; t < sizeof types / sizeof *types; t++)
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
            for (int turned = 0; turned < 2; turned++) {
                const int *s = shapes[i];
                const struct given given[] = {{"m", s[0]}, {"n", s[1]}, {"k", s[2]}, {NULL, 0}};
                write_text(text, types[t], turned, s[3], s[4], s[5]);
                expect_same(text, given);
            }
}

/* --- loops in which blocks differ --- */

#define HEAD                                                                                       \
    "kernel few(i32 n, const f32 *x, const f32 *w, f32 *y) grid(cdiv(n, 32)) warps(1)\n{\n"        \
    "global f32 X[2][600] = x, W[600][n] = w, Y[2][n] = y;\ni32 j = block.x * 32;\n"               \
    "reg f32 acc[4][32] = 0;\n"
#define ADD                                                                                        \
    "reg f32 ra[4][16] = X[0 +: 4][p +: 16], rb[16][32] = W[p +: 16][j +: 32];\n"                  \
    "acc += dot(ra, rb);\n"
#define TAIL "Y[0 +: 4][j +: 32] = acc;\n}\n"

static void blocks_may_differ(void **state)
{
    static const char *const texts[] = {
        /* each block adds less than the one before it, or more */
        HEAD "for (i32 p = 0; p < 600 - block.x * 48; p += 16) {\n" ADD "}\n" TAIL,
        HEAD "for (i32 p = 0; p < 64 + block.x * 96; p += 16) {\n" ADD "}\n" TAIL,
        HEAD "for (i32 p = block.x % 3 * 16; p < 600; p += 16) {\n" ADD "}\n" TAIL,
        HEAD "for (i32 p = 0; p < 600; p += 16) {\nif (block.x > 2 && p > 512) break;\n" ADD
             "}\n" TAIL,
        HEAD "for (i32 p = 0; p < 600; p += 16) {\nif (p == 16 * block.x) continue;\n" ADD
             "}\n" TAIL,
        /* the sum is used in another way after the loop, and twice */
        HEAD "for (i32 p = 0; p < 600; p += 16) {\n" ADD "}\nacc = acc * 2 + 1;\n" TAIL,
        HEAD "for (i32 r = 0; r < 2; r++)\nfor (i32 p = 0; p < 600; p += 16) {\n" ADD "}\n" TAIL,
        HEAD "for (i32 p = 0; p < 592; p += 16) {\n" ADD "}\n"
             "for (i32 p = 0; p < 592; p += 16) {\n" ADD "}\n" TAIL,
        /* later parts of the left operand are the block's own, each at the same address */
        HEAD "for (i32 p = 0; p < 600; p += 16) {\ni32 q = p == 0 ? 0 : -3 * (block.x + 1);\n"
             "reg f32 ra[4][16] = X[0 +: 4][q +: 16], rb[16][32] = W[p +: 16][j +: 32];\n"
             "acc += dot(ra, rb);\n}\n" TAIL,
        /* two sums share the weights */
        HEAD "reg f32 more[4][32] = 0;\nfor (i32 p = 0; p < 600; p += 16) {\n" ADD
             "more += dot(ra, rb);\n}\nacc += more;\n" TAIL};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        for (int64_t n = 31; n <= 211; n += 90)
            expect_same(texts[i], (const struct given[]){{"n", n}, {NULL, 0}});
}

/* The sums are stored over the weights, which other blocks still read. One block reads and
 * writes only its own columns. */
static void sums_may_go_where_weights_came_from(void **state)
{
    static const char text[] =
        "kernel few(i32 n, const f32 *x, f32 *y) grid(cdiv(n, 32)) warps(1)\n{\n"
        "global f32 X[1][64] = x;\nglobal f32 W[64][n] = y, Y[1][n] = y;\n"
        "i32 j = block.x * 32;\nreg f32 acc[1][32] = 0;\n"
        "for (i32 r = 0; r < 64; r++)\nW[r +: 1][j +: 32] = 1.5;\n"
        "for (i32 p = 0; p < 64; p += 16) {\n"
        "reg f32 ra[1][16] = X[0 +: 1][p +: 16], rb[16][32] = W[p +: 16][j +: 32];\n"
        "acc += dot(ra, rb);\n}\nY[0 +: 1][j +: 32] = acc;\n}\n";
    (void)state;
    expect_same(text, (const struct given[]){{"n", 300}, {NULL, 0}});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes_are_the_same),
        cmocka_unit_test(blocks_may_differ),
        cmocka_unit_test(sums_may_go_where_weights_came_from),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
