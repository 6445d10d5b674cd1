/* The passes that change tiles for the host: operands, deepen and join. Each program runs as it is
 * written, in the plain way, and with the passes, with every set of routines: the same bits. The
 * programs that the passes must leave alone differ from those by one thing each. */
#include "cpu_helper.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* --- programs whose blocks may be joined --- */

#define HEAD(parameters)                                                                           \
    "kernel k(" parameters ", const f32 *a, const f32 *b, f32 *c, f32 *h)\n"                       \
    "grid(cdiv(n, 12), cdiv(n, 16)) warps(1)\n{\n"                                                 \
    "global f32 A[n][n] = a, B[n][n] = b, G[n] = b, C[n][n] = c, H[n][n] = h;\n"                   \
    "i32 i = block.x * 12, j = block.y * 16;\nreg f32 acc[12][16] = 0;\n"
#define RUN_TIME HEAD("i32 n")
#define STATIC HEAD("static i32 n")
#define TAIL "C[i +: 12][j +: 16] = acc;\n}\n"
#define LOOP "for (i32 p = 0; p < n; p += 8) {\n"

#define NORMED                                                                                     \
    "reg f32 ss[12][1] = 0;\n" LOOP "reg f32 t[12][8] = A[i +: 12][p +: 8] + 0.5;\n"               \
    "ss += sum(square(t), axis = 1);\nif (block.y == 0)\nH[i +: 12][p +: 8] = t;\n}\n"             \
    "reg f32 inv[12][1] = rsqrt(ss / n + 1);\n" LOOP                                               \
    "reg f32 t[12][8] = A[i +: 12][p +: 8] + 0.5;\nt = t * inv * G[p +: 8];\n"                     \
    "acc += dot(t, B[p +: 8][j +: 16]);\n}\n"

static const char *const joined[] = {
    RUN_TIME LOOP "acc += dot(A[i +: 12][p +: 8], B[p +: 8][j +: 16]);\n}\n" TAIL,
    RUN_TIME NORMED TAIL,
    STATIC NORMED TAIL,
    /* bias and an activation, several stores */
    RUN_TIME LOOP
    "reg f32 x[12][8] = A[i +: 12][p +: 8], w[16][8] = B[j +: 16][p +: 8];\n"
    "acc += dot(x, trans(w));\n}\n"
    "H[i +: 12][j +: 16] = acc;\nacc = max(acc + G[j +: 16], 0) * A[i +: 12][j +: 16];\n" TAIL,
    /* transposed, computed operands */
    RUN_TIME LOOP
    "acc += dot(trans(A[p +: 8][i +: 12] * 2), exp(B[p +: 8][j +: 16] * 0.01));\n}\n" TAIL,
    /* masks made of iota, in shared tiles */
    RUN_TIME
    "reg i32 row[12][1] = iota() + i, col[1][16] = j + iota();\n" LOOP
    "shared f32 sa[12][8], sb[8][16];\nsa = A[i +: 12][p +: 8];\nsb = B[p +: 8][j +: 16];\n"
    "sync();\nacc += dot(sa, sb);\nsync();\n}\n"
    "acc = where(row >= col, acc, -1.0);\n" TAIL,
    /* softmax of scores along a loop, as attention has it: joined along x alone */
    "kernel k(i32 n, const f32 *a, const f32 *b, f32 *c) grid(cdiv(n, 12), 2) warps(1)\n{\n"
    "global f32 A[2][n][8] = a, B[2][n][8] = b, C[2][n][8] = c;\n"
    "i32 i = block.x * 12, y = block.y;\nreg f32 q[12][8] = A[y][i +: 12][0 +: 8];\n"
    "reg f32 top[12][1] = -inf, den[12][1] = 0, acc[12][8] = 0;\n"
    "reg i32 col[1][16] = iota();\n"
    "for (i32 j = 0; j < n; j += 16) {\nreg f32 kv[16][8] = B[y][j +: 16][0 +: 8];\n"
    "reg f32 s[12][16] = dot(q, trans(kv)) * 0.1;\ns = where(col + j < n, s, -inf);\n"
    "reg f32 next[12][1] = max(top, max(s, axis = 1));\n"
    "reg f32 e[12][16] = exp2(s - next), old[12][1] = exp2(top - next);\n"
    "den = den * old + sum(e, axis = 1);\nacc = acc * old + dot(e, kv);\ntop = next;\n}\n"
    "C[y][i +: 12][0 +: 8] = acc / den;\n}\n",
    /* copies under way, in stages */
    RUN_TIME
    "shared f32 sa[3][12][8], sb[3][8][16];\nunroll for (i32 s = 0; s < 2; s++) {\n"
    "async sa[s] = A[i +: 12][s * 8 +: 8];\nasync sb[s] = B[s * 8 +: 8][j +: 16];\n"
    "async_commit();\n}\nfor (i32 p = 0, s = 0; p < n; p += 8, s = (s + 1) % 3) {\n"
    "async_wait(1);\nsync();\ni32 t = (s + 2) % 3, q = p + 16;\n"
    "async sa[t] = A[i +: 12][q +: 8];\nasync sb[t] = B[q +: 8][j +: 16];\nasync_commit();\n"
    "acc += dot(sa[s], sb[s]);\n}\nasync_wait(0);\n" TAIL,
    /* a stage that nothing filled, and copies that nothing waits for */
    RUN_TIME "shared f32 sa[2][12][8], sb[2][8][16];\nasync sa[0] = A[i +: 12][0 +: 8];\n"
             "async sb[1] = B[0 +: 8][j +: 16];\nasync_commit();\n"
             "async_wait(0);\nsync();\nacc += dot(sa[0], sb[0]);\n" TAIL,
    RUN_TIME "shared f32 sa[12][8], sb[8][16];\nasync sa = A[i +: 12][0 +: 8];\n"
             "async sb = B[0 +: 8][j +: 16];\nasync_commit();\n"
             "acc += dot(sa, sb);\nasync_wait(0);\n" TAIL,
    /* the starts of slices without a name */
    RUN_TIME LOOP
    "acc += dot(A[block.x * 12 +: 12][p +: 8], B[p +: 8][block.y * 16 +: 16]);\n}\n" TAIL,
    RUN_TIME LOOP "acc += dot(A[i +: 12][p +: 8], B[p +: 8][j +: 16]);\n}\n"
                  "C[block.x * 12 +: 12][block.y * 16 +: 16] = acc;\n}\n",
    RUN_TIME LOOP
    "acc += dot(A[i +: 12][p +: 8], B[p +: 8][j +: 16]);\n}\n"
    "reg i32 row[12][1] = block.x * 12 + iota(), "
    "col[1][16] = block.y * 16 + iota();\nacc += where(row + col < n, 1.0, 0.0);\n" TAIL,
    /* a part of the row at another place, as gated activations have it */
    RUN_TIME
    "reg f32 gate[12][16] = A[i +: 12][j + 3 +: 16];\n" LOOP
    "acc += dot(A[i +: 12][p +: 8] * G[p +: 8], B[p +: 8][j +: 16]);\n}\nacc *= gate;\n" TAIL,
};

/* Without products, with the starts of slices under several names. */
#define BARE                                                                                       \
    "kernel k(i32 n, const f32 *a, const f32 *b, f32 *c, f32 *h)\n"                                \
    "grid(cdiv(n, 12), cdiv(n, 16)) warps(1)\n{\n"                                                 \
    "global f32 A[n][n] = a, B[n][n] = b, G[n] = b, C[n][n] = c, H[n][n] = h;\n"

static const char *const joined_plain[] = {
    BARE "i32 i = block.x * 12, j = block.y * 16;\nreg f32 t[12][16] = A[i +: 12][j +: 16];\n"
         "t = t * t + G[j +: 16];\nC[i +: 12][j +: 16] = exp(t * 0.01) * t;\n}\n",
    BARE "C[block.x * 12 +: 12][16 * block.y +: 16] = trans(A[block.y * 16 +: 16][block.x * 12 +: "
         "12]);\n}\n",
    BARE "i32 x = block.x, y = block.y, i = x * 12, j = y * 16, i2 = i;\n"
         "H[i2 +: 12][j +: 16] = A[block.x * 12 +: 12][block.y * 16 +: 16];\n"
         "C[12 * x +: 12][j +: 16] = A[i - 1 +: 12][j +: 16] + A[i + 1 +: 12][j - 1 +: 16];\n}\n",
    /* rows of a block are reduced along a loop, with a mask; the other axis is joined alone */
    BARE "i32 i = block.x * 12;\nreg f32 top[12][1] = -inf;\nreg i32 col[1][8] = iota();\n"
         "reg i32 row[12][1] = iota() + i;\n" LOOP
         "reg f32 t[12][8] = where(col + p <= row, A[i +: 12][p +: 8], -inf);\n"
         "top = max(top, max(t, axis = 1));\n}\n"
         "if (block.y == 0)\nH[i +: 12][0 +: 1] = top;\n"
         "C[i +: 12][block.y * 16 +: 16] = A[i +: 12][block.y * 16 +: 16] - top;\n}\n",
    /* a joined block computes twice what it overwrites */
    BARE "i32 i = block.x * 12, j = block.y * 16;\nC[i +: 12][j +: 16] = A[i +: 12][j +: 16];\n"
         "C[i +: 12][j +: 16] = C[i +: 12][j +: 16] * 2 + H[i +: 12][j +: 16];\n"
         "H[i +: 12][j +: 16] = C[i +: 12][j +: 16] - 1;\n}\n",
    /* rows and columns change places: x counts columns */
    "kernel k(i32 n, const f32 *a, const f32 *b, f32 *c) grid(cdiv(n, 16), cdiv(n, 12)) warps(1)\n"
    "{\nglobal f32 A[n][n] = a, C[n][n] = c, G[n] = b;\ni32 j = block.x * 16, i = block.y * 12;\n"
    "C[i +: 12][j +: 16] = A[i +: 12][j +: 16] / G[j +: 16];\n}\n",
    /* tiles that are too large are split */
    "kernel k(i32 n, const f32 *a, const f32 *b, f32 *c, f32 *h)\n"
    "grid(cdiv(n, 128), cdiv(n, 256)) warps(1)\n{\n"
    "global f32 A[n][n] = a, G[n] = b, C[n][n] = c, H[n][n] = h;\n"
    "i32 i = block.x * 128, j = block.y * 256;\nreg i32 row[128][1] = i + iota();\n"
    "reg f32 t[128][256] = A[i +: 128][j +: 256] * G[j +: 256] + row;\n"
    "H[j +: 256][i +: 128] = trans(t);\n}\n",
    /* one axis, one row of memory */
    "kernel k(i32 n, const f32 *a, const f32 *b, f32 *c) grid(cdiv(n, 16)) warps(1)\n{\n"
    "global f32 A[n] = a, B[n] = b, C[n] = c;\ni32 i = block.x * 16;\nreg i32 at[16] = iota() + "
    "i;\n"
    "C[i +: 16] = where(at % 3 == 0, A[i +: 16], B[i +: 16]);\n}\n",
};

static void join_keeps_bits_without_products(void **state)
{
    static const int64_t sizes[] = {1, 12, 31, 100, 150};
    (void)state;
    for (size_t i = 0; i < sizeof joined_plain / sizeof *joined_plain; i++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
            if (!cpu_expect_as_written(joined_plain[i], sizes[s]) && sizes[s] > 64)
                fail_msg("the blocks were not joined\n%s", joined_plain[i]);
}

static void join_keeps_bits(void **state)
{
    static const int64_t sizes[] = {1, 7, 12, 31, 64, 100, 150};
    (void)state;
    for (size_t i = 0; i < sizeof joined / sizeof *joined; i++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
            if (!cpu_expect_as_written(joined[i], sizes[s]) && sizes[s] > 64)
                fail_msg("the blocks were not joined\n%s", joined[i]);
}

/* Small types: the operands are converted, and bf16 and i8 are added in groups. */
static void join_keeps_bits_of_small_types(void **state)
{
    static const char *const types[][2] = {{"f16", "f32"}, {"bf16", "f32"}, {"i8", "i32"}};
    char text[1024];
    (void)state;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        const char *t = types[i][0], *sum = types[i][1];
        snprintf(text, sizeof text,
                 "kernel k(i32 n, const %s *a, const %s *b, %s *c)\n"
                 "grid(cdiv(n, 12), cdiv(n, 16)) warps(1)\n{\n"
                 "global %s A[n][n] = a, B[n][n] = b;\nglobal %s C[n][n] = c;\n"
                 "i32 i = block.x * 12, j = block.y * 16;\nreg %s acc[12][16] = 0;\n"
                 "for (i32 p = 0; p < n; p += 8) {\nreg %s t[12][8] = max(A[i +: 12][p +: 8], 0);\n"
                 "acc += dot(t, B[p +: 8][j +: 16]);\n}\nC[i +: 12][j +: 16] = acc;\n}\n",
                 t, t, sum, t, sum, sum, t);
        for (int64_t n = 65; n < 130; n += 31)
            assert_true(cpu_expect_as_written(text, n));
    }
}

/* --- tiles that are read in parts --- */

/* n: i32; %s: types of elements, sums; the fills and reads of two tiles of 12 x 16 and 16 x 16 */
#define PARTS(fills, reads)                                                                        \
    "kernel k(i32 n, const %s *a, const %s *b, %s *c)\n"                                           \
    "grid(cdiv(n, 12), cdiv(n, 16)) warps(1)\n{\n"                                                 \
    "global %s A[n][n] = a, B[n][n] = b;\nglobal %s C[n][n] = c;\n"                                \
    "i32 i = block.x * 12, j = block.y * 16;\nreg %s acc[12][16] = 0;\n"                           \
    "shared %s sa[2][12][16], sb[2][16][16];\n"                                                    \
    "for (i32 p = 0, s = 0; p < n; p += 16, s = 1 - s) {\n" fills reads "}\n"                      \
    "C[i +: 12][j +: 16] = acc;\n}\n"
#define FILLS                                                                                      \
    "async sa[s] = A[i +: 12][p +: 16];\nasync sb[s] = B[p +: 16][j +: 16];\nasync_commit();\n"    \
    "async_wait(0);\nsync();\n"
#define HALF(start) "acc += dot(sa[s][0 +: 12][" start " +: 8], sb[s][" start " +: 8][0 +: 16]);\n"

static const char *const read_in_parts[] = {
    PARTS(FILLS, HALF("0") HALF("8")),
    PARTS(FILLS, HALF("8") HALF("0")),
    PARTS(FILLS, HALF("8")),
    PARTS(FILLS, "acc += dot(sa[s][:][8 +: 8], sb[s][8 +: 8][:]);\n" HALF("0")),
    /* transposed, in quarters */
    PARTS("sa[s] = A[i +: 12][p +: 16];\nsb[s] = B[j +: 16][p +: 16];\nsync();\n",
          "acc += dot(sa[s][0 +: 12][0 +: 4], trans(sb[s][0 +: 16][0 +: 4]));\n"
          "acc += dot(sa[s][0 +: 12][12 +: 4], trans(sb[s][0 +: 16][4 +: 4]));\n"),
    /* parts along the other axis, and of one tile only */
    PARTS(FILLS, "acc += dot(sa[s], sb[s]);\nsync();\n"),
    PARTS("sa[s] = A[i +: 12][p +: 16];\nsb[s] = B[p +: 16][j +: 16];\nsync();\n",
          "reg %s x[12][8] = sa[s][0 +: 12][8 +: 8];\nacc += dot(x, sb[s][0 +: 8][0 +: 16]);\n"
          "acc += dot(x, sb[s][8 +: 8][0 +: 16]);\n"),
    /* parts that are not of one width, that overlap, or whose place is not known */
    PARTS(FILLS, HALF("0") "acc += dot(sa[s][0 +: 12][8 +: 4], sb[s][8 +: 4][0 +: 16]);\n"),
    PARTS(FILLS, HALF("0") HALF("4")),
    PARTS(FILLS, HALF("s * 8")),
    /* read in another way, too; filled in another way */
    PARTS(FILLS, HALF("0") "acc += sb[s][0 +: 12][0 +: 16];\n"),
    PARTS(FILLS "sa[s][3][9] = 7;\n", HALF("0") HALF("8")),
    PARTS("sa[s] = A[i +: 12][p +: 16] + A[i +: 12][p +: 16];\nsb[s] = 3;\n"
          "sb[s] = B[p +: 16][j +: 16];\nsync();\n",
          HALF("0") HALF("8")),
};

static void parts_keep_bits(void **state)
{
    static const char *const types[][2] = {
        {"f32", "f32"}, {"f16", "f32"}, {"bf16", "f32"}, {"i8", "i32"}};
    char text[2048];
    (void)state;
    for (size_t i = 0; i < sizeof read_in_parts / sizeof *read_in_parts; i++)
        for (size_t t = 0; t < sizeof types / sizeof *types; t++)
            for (int64_t n = t == 0 ? 37 : 125; n < 130; n += 88) {
                const char *type = types[t][0], *sum = types[t][1];
                snprintf(text, sizeof text, read_in_parts[i], type, type, sum, type, sum, sum, type,
                         type);
                cpu_expect_as_written(text, n);
            }
}

/* A shared tile without stages; places whose type wraps, as the whole tile's does not. */
static const char *const other_parts[] = {
    RUN_TIME "shared f32 sb[16][16];\nfor (i32 p = 0; p < n; p += 16) {\nsync();\n"
             "sb = B[p +: 16][j +: 16];\nsync();\n"
             "acc += dot(A[i +: 12][p +: 8], sb[0 +: 8][0 +: 16]);\n"
             "acc += dot(A[i +: 12][p + 8 +: 8], sb[8 +: 8][0 +: 16]);\n}\n" TAIL,
    RUN_TIME "u8 s = 240;\nfor (i32 p = 0; p < 3; p += 1) {\n"
             "reg f32 t[12][32] = A[i +: 12][s +: 32];\n"
             "acc += dot(t[0 +: 12][0 +: 16], B[0 +: 16][j +: 16]);\n"
             "acc += dot(t[0 +: 12][16 +: 16], B[0 +: 16][j +: 16]);\ns += 5;\n}\n" TAIL,
    RUN_TIME "for (i8 s = 110; s < 120; s += 9) {\n"
             "reg f32 t[12][32] = A[i +: 12][s +: 32];\n"
             "acc += dot(t[0 +: 12][0 +: 16], B[0 +: 16][j +: 16]);\n"
             "acc += dot(t[0 +: 12][16 +: 16], B[0 +: 16][j +: 16]);\n}\n" TAIL,
};

/* Runs each text with n from `first` on, in steps, below `end`. */
static void each_keeps_bits(const char *const *texts, size_t count, int64_t first, int64_t step,
                            int64_t end)
{
    for (size_t i = 0; i < count; i++)
        for (int64_t n = first; n < end; n += step)
            cpu_expect_as_written(texts[i], n);
}
#define EACH_KEEPS_BITS(texts, first, step, end)                                                   \
    each_keeps_bits(texts, sizeof(texts) / sizeof *(texts), first, step, end)

static void parts_of_other_tiles_keep_bits(void **state)
{
    (void)state;
    EACH_KEEPS_BITS(other_parts, 37, 106, 256);
}

/* --- several products that are added to one sum --- */

static const char *const several[] = {
    RUN_TIME "for (i32 p = 0; p < n; p += 16) {\n"
             "reg f32 x[12][8] = A[i +: 12][p +: 8], y[12][8] = A[i +: 12][p + 8 +: 8];\n"
             "reg f32 v[8][16] = B[p +: 8][j +: 16], w[8][16] = B[p + 8 +: 8][j +: 16];\n"
             "acc += dot(x, v);\nacc += dot(y, w);\n}\n" TAIL,
    /* the tile of the first product gets its value in the turn before */
    RUN_TIME "reg f32 x[12][8] = A[i +: 12][0 +: 8], v[8][16] = B[0 +: 8][j +: 16];\n"
             "for (i32 p = 0; p < n; p += 16) {\n"
             "reg f32 y[12][8] = A[i +: 12][p + 8 +: 8], w[8][16] = B[p + 8 +: 8][j +: 16];\n"
             "acc += dot(x, v);\nx = A[i +: 12][p + 16 +: 8];\nv = B[p + 16 +: 8][j +: 16];\n"
             "acc += dot(y, w);\n}\n" TAIL,
    /* of different depths, of different forms, at the same place twice */
    RUN_TIME "for (i32 p = 0; p < n; p += 12) {\n"
             "reg f32 x[12][8] = A[i +: 12][p +: 8], y[12][4] = A[i +: 12][p + 8 +: 4];\n"
             "reg f32 v[8][16] = B[p +: 8][j +: 16], w[4][16] = B[p + 8 +: 4][j +: 16];\n"
             "acc += dot(x, v);\nacc += dot(y, w);\n}\n" TAIL,
    RUN_TIME "for (i32 p = 0; p < n; p += 8) {\n"
             "reg f32 x[12][8] = A[i +: 12][p +: 8], y[8][12] = A[p +: 8][i +: 12];\n"
             "reg f32 v[8][16] = B[p +: 8][j +: 16];\n"
             "acc += dot(x, v);\nacc += dot(trans(y), v);\n}\n" TAIL,
    RUN_TIME "for (i32 p = 0; p < n; p += 8) {\n"
             "reg f32 x[12][8] = A[i +: 12][p +: 8], v[8][16] = B[p +: 8][j +: 16];\n"
             "acc += dot(x, v);\nacc += dot(x, v);\n}\n" TAIL,
    /* the sum is read in between, or one of the products is left out at times */
    RUN_TIME "for (i32 p = 0; p < n; p += 8) {\n"
             "reg f32 x[12][8] = A[i +: 12][p +: 8], v[8][16] = B[p +: 8][j +: 16];\n"
             "acc += dot(x, v);\nacc = max(acc, -5);\nacc += dot(x, v);\n}\n" TAIL,
    RUN_TIME "for (i32 p = 0; p < n; p += 8) {\n"
             "reg f32 x[12][8] = A[i +: 12][p +: 8], v[8][16] = B[p +: 8][j +: 16];\n"
             "acc += dot(x, v);\nif (p > 40)\nacc += dot(x, v);\n}\n" TAIL,
    RUN_TIME "for (i32 p = 0; p < n; p += 8) {\n"
             "reg f32 x[12][8] = A[i +: 12][p +: 8], v[8][16] = B[p +: 8][j +: 16];\n"
             "acc += dot(x, v);\nif (p > 40)\nbreak;\nacc += dot(x, v);\n}\n" TAIL,
    RUN_TIME "reg f32 other[12][16] = 1;\nfor (i32 p = 0; p < n; p += 8) {\n"
             "reg f32 x[12][8] = A[i +: 12][p +: 8], v[8][16] = B[p +: 8][j +: 16];\n"
             "acc += dot(x, v);\nother += dot(x, v);\nacc += dot(x, v);\n}\nacc -= other;\n" TAIL,
};

static void several_products_keep_bits(void **state)
{
    (void)state;
    EACH_KEEPS_BITS(several, 37, 61, 150);
}

/* --- kernels written for threads --- */

#define THREADS(statements)                                                                        \
    "kernel k(i32 n, const f32 *a, const f32 *b, f32 *c, f32 *h)\n"                                \
    "grid(cdiv(n, 4), cdiv(n, 3)) threads(4, 3)\n{\n"                                              \
    "global f32 A[n][n] = a, B[n][n] = b, G[n] = b, C[n][n] = c, H[n][n] = h;\n"                   \
    "i32 x = block.x * 4 + thread.x, y = block.y * 3 + thread.y;\n" statements "}\n"
#define GUARDED(statements) THREADS("if (x < n && y < n) {\n" statements "}\n")

static const char *const threads_joined[] = {
    GUARDED("C[y][x] = A[y][x] * G[x] + 1;\n"),
    GUARDED("f32 s = 0;\nfor (i32 p = 0; p < n; p++)\ns += A[y][p] * B[p][x];\nC[y][x] = s;\n"),
    THREADS("if (x >= n || y >= n)\nreturn;\nC[y][x] = x > y ? A[x][y] : exp(A[y][x]);\n"),
    THREADS("if (x > 0 && x < n - 1 && y > 0 && y < n - 1)\n"
            "C[y][x] = A[y - 1][x] + A[y + 1][x] + A[y][x - 1] + A[y][x + 1];\n"),
    GUARDED("i32 i = x;\nwhile (i > 3)\ni = i / 2;\nH[y][x] = i * 10 + y % 7;\n"),
    "kernel k(i32 n, const f32 *a, f32 *c) grid(cdiv(n, 4)) threads(4)\n{\n"
    "global f32 A[n] = a, C[n] = c;\nconst i32 t = thread.x;\ni32 first = block.x * 4;\n"
    "if (first + t < n)\nC[first + t] = A[n - 1 - (first + t)];\n}\n",
};

static const char *const threads_kept[] = {
    GUARDED("C[y][x] = thread.x + block.x * thread.y + block.y;\n"),
    GUARDED("C[y][x] = grid.x + grid.y;\n"),
    GUARDED("C[y][x] = A[thread.y][thread.x];\n"),
    GUARDED("C[y][x] = C[y][x] + 1;\nH[y][x] = C[y][x];\n"),
    GUARDED("atomic_add(H[0][0], 1);\n"),
    THREADS("shared f32 s[3][4];\ns[thread.y][thread.x] = x;\nsync();\n"
            "if (x < n && y < n)\nC[y][x] = s[2 - thread.y][3 - thread.x];\n"),
    "kernel k(i32 n, const f32 *a, f32 *c) grid(cdiv(n, 8)) threads(4)\n{\n"
    "global f32 A[n] = a, C[n] = c;\ni32 x = block.x * 8 + thread.x;\n"
    "if (x < n)\nC[x] = A[x];\nif (x + 4 < n)\nC[x + 4] = A[x];\n}\n",
};

static void threads_keep_their_bits(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof threads_joined / sizeof *threads_joined; i++)
        for (int64_t n = 48; n < 150; n += 47)
            assert_true(cpu_expect_as_written(threads_joined[i], n));
    for (size_t i = 0; i < sizeof threads_kept / sizeof *threads_kept; i++)
        if (cpu_expect_as_written(threads_kept[i], 48))
            fail_msg("blocks were joined\n%s", threads_kept[i]);
}

static void add_all_joined(struct cpu_run *r)
{
    for (int i = 0; i < r->joined_count; i++)
        cpu_add_joined(&r->arena, r->program, r->joined[i].kernel, r->joined[i].joins);
}

/* Without a guard, threads fault if n is not a multiple of 12, or at places of their own. Launches
 * report the thread and the block that the kernel has, and join blocks if all of them are full. */
static void launches_of_threads_fault_alike(void **state)
{
    static const char *const texts[] = {
        THREADS("C[y][x] = A[y][x];\n"),
        THREADS("C[y][x] = A[y][x + (y == 40 ? 1 : 0)];\n"),
        THREADS("C[y][x] = A[y][x / (x < 7 || y != 50 ? 1 : 0)];\n"),
        GUARDED("C[y][x] = A[(i32) (x * 1.1)][y];\n"),
    };
    struct cpu_outcome *written = malloc(sizeof *written), *got = malloc(sizeof *got);
    (void)state;
    assert_true(written && got);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        for (int64_t n = 100; n < 200; n += 92)
            for (int way = 0; way < 2; way++) {
                struct cpu_run r;
                cpu_open(&r, texts[i], (const struct given[]){{"n", n}, {NULL, 0}});
                assert_true(r.joined_count > 0);
                if (way)
                    add_all_joined(&r);
                cpu_run_filled(&r, 1, way ? got : written);
                cpu_close(&r);
                if (way)
                    cpu_expect_same(written, got, "launch", n, texts[i]);
                if (way)
                    assert_memory_equal(&written->fault, &got->fault, sizeof got->fault);
            }
    free(written);
    free(got);
}

/* --- programs that must keep their blocks --- */

#define PRODUCT LOOP "acc += dot(A[i +: 12][p +: 8], B[p +: 8][j +: 16]);\n}\n"

#define LARGE                                                                                      \
    "kernel k(i32 n, const f32 *a, const f32 *b, f32 *c, f32 *h)\n"                                \
    "grid(cdiv(n, 128), cdiv(n, 256)) warps(1)\n{\n"                                               \
    "global f32 A[n][n] = a, C[n][n] = c, H[n][n] = h;\n"                                          \
    "i32 i = block.x * 128, j = block.y * 256;\n"

static const char *const kept[] = {
    /* reductions along both joined axes */
    RUN_TIME PRODUCT
    "acc += sum(A[i +: 12][j +: 16], axis = 0) + sum(A[i +: 12][j +: 16], axis = 1);\n" TAIL,
    /* the block's number is used as a number */
    RUN_TIME PRODUCT "acc += block.x + block.y;\n" TAIL,
    RUN_TIME PRODUCT "acc += i + j;\n" TAIL,
    RUN_TIME PRODUCT "acc += grid.x + grid.y;\n" TAIL,
    /* an element at the start of the slice */
    RUN_TIME PRODUCT "acc += A[min(i, n - 1)][min(j, n - 1)];\n" TAIL,
    /* a store at another place than the slice's */
    RUN_TIME PRODUCT "C[i + 1 +: 12][j + 1 +: 16] = acc;\n}\n",
    /* places counted within the block */
    RUN_TIME PRODUCT "reg i32 row[12][1] = iota(), col[1][16] = iota();\nacc += row * col;\n" TAIL,
    /* only some blocks store: which part is stored depends on the block */
    RUN_TIME PRODUCT "if (block.x == 0)\nH[0 +: 12][j +: 16] = acc;\nif (block.y == 0)\n"
                     "H[i +: 12][0 +: 16] = acc;\n" TAIL,
    /* blocks add to the same elements */
    RUN_TIME PRODUCT "atomic_add(H[i +: 12][j +: 16], acc);\n" TAIL,
    /* slices that overlap or leave gaps */
    RUN_TIME PRODUCT "acc += sum(A[i +: 24][j +: 32]);\n" TAIL,
    /* promised slices: a fault would name another one */
    RUN_TIME PRODUCT "if (n % 48 == 0)\nacc += A[i +: 12 inside][j +: 16 inside];\n" TAIL,
    /* a quotient of zeros beyond the edge */
    RUN_TIME PRODUCT "reg i32 q[12][16] = (i32) A[i +: 12][j +: 16] * 0 + 1;\nacc += 4 / q;\n" TAIL,
    /* places that iota counts from, at half and at twice the distance */
    RUN_TIME PRODUCT
    "reg i32 row[12][1] = block.x * 6 + iota(), "
    "col[1][16] = block.y * 32 + iota();\nacc += where(row + col < n, 1.0, 0.0);\n" TAIL,
    /* the start is changed, or known too late */
    BARE "i32 i = block.x * 12, j = block.y * 16;\nif (n > 100) {\ni = 0;\nj = 0;\n}\n"
         "C[i +: 12][j +: 16] = A[i +: 12][j +: 16];\n}\n",
    BARE "C[block.x * 12 +: 12][block.y * 16 +: 16] = 1;\n"
         "i32 i = block.x * 12, j = block.y * 16;\nH[i +: 12][j +: 16] = C[i +: 12][j +: 16];\n}\n",
    BARE "i32 x = block.x, y = block.y;\nif (n > 100) {\nx = 0;\ny = 0;\n}\n"
         "C[x * 12 +: 12][y * 16 +: 16] = A[x * 12 +: 12][y * 16 +: 16];\n}\n",
    BARE "i32 i = block.x * 12, j = block.y * 16, x = block.x, y = block.y;\n"
         "C[i +: 12][j +: 16] = A[i +: 12][j +: 16] + x + y;\n}\n",
    /* sums and scans along the blocks' axes, without a product */
    BARE "i32 i = block.x * 12, j = block.y * 16;\n"
         "H[i +: 12][j +: 16] = sum(A[i +: 12][j +: 16], axis = 0) + sum(A[i +: 12][j +: 16], "
         "axis = 1);\n}\n",
    BARE "i32 i = block.x * 12, j = block.y * 16;\nreg f32 t[12][16] = A[i +: 12][j +: 16];\n"
         "C[i +: 12][j +: 16] = scan(add, t, axis = 0) + scan(add, t, axis = 1);\n}\n",
    /* rows that a tile of numbers chooses */
    BARE "i32 i = block.x * 12, j = block.y * 16;\n"
         "reg i32 row[12] = iota();\nC[i +: 12][j +: 16] = A[row][0 +: 16];\n}\n",
    /* variables that only some blocks assign */
    RUN_TIME "i32 end = n, rows = n;\nif (block.x == 0)\nend = n / 2;\nif (block.y == 0)\nrows = "
             "5;\n" PRODUCT "acc *= end + rows;\n" TAIL,
    RUN_TIME "reg f32 x[1][16] = 0, y[12][1] = 0;\nif (block.x == 0)\nx = B[0 +: 1][j +: 16];\n"
             "if (block.y == 0)\ny = A[i +: 12][0 +: 1];\n" PRODUCT "acc += x + y;\n" TAIL,
    /* blocks on the diagonal: a joined one would store what is off it, too */
    BARE "i32 i = block.x * 12;\nC[i +: 12][i +: 12] = A[i +: 12][i +: 12] * 2;\n}\n",
    BARE "i32 i = block.x * 12;\nreg f32 acc[12][12] = 0;\n" LOOP
         "acc += dot(A[i +: 12][p +: 8], trans(A[i +: 12][p +: 8]));\n}\n"
         "C[i +: 12][i +: 12] = acc;\n}\n",
    /* blocks with large tiles that may not be split: one statement follows another */
    LARGE "C[i +: 128][j +: 256] = A[i +: 128][j +: 256];\n"
          "C[i +: 128][j +: 256] = C[i - 1 +: 128][j + 1 +: 256] * 2;\n}\n",
    LARGE "C[i +: 128][j +: 256] = A[i +: 128][j +: 256];\nif (block.x == 0)\n"
          "C[20 +: 2][j +: 256] = -5;\n}\n",
    LARGE "global f32 D[n][n] = c + 1;\nC[i +: 128][j +: 256] = A[i +: 128][j +: 256];\n"
          "D[i +: 128][j +: 256] = -A[i +: 128][j +: 256];\n}\n",
    LARGE "C[i +: 128][j +: 256] = A[i +: 128][j +: 256];\nH[0 +: 4][0 +: 4] += 1;\n}\n",
    LARGE "C[i +: 128][j +: 256] = A[i +: 128][j +: 256];\n"
          "C[i +: 128][j +: 256] = max(C[n - 8 +: 8][0 +: 8]);\n}\n",
    /* the grid does not cover the view */
    "kernel k(i32 n, const f32 *a, const f32 *b, f32 *c) grid(cdiv(n / 2, 12), cdiv(n / 2, 16)) "
    "warps(1)\n{\nglobal f32 A[n][n] = a, B[n][n] = b, C[n][n] = c;\n"
    "i32 i = block.x * 12, j = block.y * 16;\nreg f32 acc[12][16] = 0;\n" PRODUCT TAIL,
};

static void other_programs_keep_their_blocks(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        for (int64_t n = 31; n < 160; n += 65)
            if (cpu_expect_as_written(kept[i], n))
                fail_msg("blocks were joined\n%s", kept[i]);
}

/* --- loops that must keep their turns --- */

#define COMPUTED "reg f32 t[12][8] = A[i +: 12][p +: 8] * 2;\n"
#define ADDED "acc += dot(t, B[p +: 8][j +: 16]);\n"

static const char *const kept_loops[] = {
    /* a sum along the loop, in an order of its own */
    RUN_TIME "reg f32 ss[12][1] = 0;\n" LOOP COMPUTED "ss += sum(t, axis = 1);\n" ADDED
             "}\nacc += ss;\n" TAIL,
    /* the sum is read in between */
    RUN_TIME "reg f32 top[12][16] = 0;\n" LOOP COMPUTED ADDED
             "top = max(top, acc);\n}\nacc = top;\n" TAIL,
    /* the sum is scaled in each turn */
    RUN_TIME LOOP COMPUTED "acc = acc * 0.5 + dot(t, B[p +: 8][j +: 16]);\n}\n" TAIL,
    /* a product that starts again in each turn */
    RUN_TIME LOOP COMPUTED
    "reg f32 one[12][16] = 0;\none += dot(t, B[p +: 8][j +: 16]);\nacc = max(acc, one);\n}\n" TAIL,
    /* the counter as a number, and as an element */
    RUN_TIME LOOP COMPUTED "t *= p;\n" ADDED "}\n" TAIL,
    RUN_TIME LOOP COMPUTED "t *= G[p];\n" ADDED "}\n" TAIL,
    /* memory that is written in one turn and read in the next */
    RUN_TIME LOOP "reg f32 t[12][8] = A[i +: 12][p +: 8] + H[i +: 12][p - 8 +: 8];\nH[i +: 12][p "
                  "+: 8] = t;\n" ADDED "}\n" TAIL,
    /* another place of the same row is not the same step, but the same distance from it */
    RUN_TIME LOOP COMPUTED "t += A[i +: 12][p + 1 +: 8];\n" ADDED "}\n" TAIL,
    /* the loop ends early */
    RUN_TIME LOOP COMPUTED ADDED "if (p > 16)\nbreak;\n}\n" TAIL,
    /* stores of two turns overlap */
    RUN_TIME LOOP COMPUTED ADDED
    "H[i +: 12][p +: 8] = t;\nH[i +: 12][p + 8 +: 8] = t + 1000;\n}\n" TAIL,
    /* the end is read from memory that the loop stores */
    RUN_TIME "C[i][j] = n;\nfor (i32 p = 0; p < (i32) C[i][j]; p += 8) {\n" COMPUTED ADDED
             "C[i +: 12][j +: 16] = 0;\n}\n" TAIL,
    /* the end changes */
    RUN_TIME "i32 end = n;\nfor (i32 p = 0; p < end; p += 8) {\n" COMPUTED ADDED
             "end -= 8;\n}\n" TAIL,
};

/* --- loops that store a row, part by part --- */

static const char *const stored_rows[] = {
    RUN_TIME LOOP "H[i +: 12][p +: 8] = exp(A[i +: 12][p +: 8] * 0.01) * G[p +: 8];\n}\n" TAIL,
    STATIC LOOP "reg f32 t[12][8] = A[i +: 12][p + 3 +: 8];\nt = t * t - G[p +: 8];\n"
                "H[i +: 12][p +: 8] = where(t > 0, t, -t);\n}\n" TAIL,
    /* from another start, to another end; half of the turns; other places of the row */
    RUN_TIME "for (i32 p = 3; p < n - 5; p += 8)\nH[i +: 12][p +: 8] = A[i +: 12][p +: 8];\n" TAIL,
    RUN_TIME "for (i32 p = 0; p < n / 2; p += 8)\nH[i +: 12][p +: 8] = A[i +: 12][p +: 8];\n" TAIL,
    RUN_TIME LOOP "H[i +: 12][p + 5 +: 8] = A[i +: 12][p +: 8];\n}\n" TAIL,
    /* stores that overlap from turn to turn, at one place, or at a multiple of the place */
    RUN_TIME "for (i32 p = 0; p < n; p += 4)\nH[i +: 12][p +: 8] = A[i +: 12][p +: 8];\n" TAIL,
    RUN_TIME LOOP "H[i +: 12][0 +: 8] = A[i +: 12][p +: 8];\n}\n" TAIL,
    RUN_TIME LOOP "H[i +: 12][p / 2 +: 8] = A[i +: 12][p +: 8];\n}\n" TAIL,
    /* what a turn stores, the next one reads */
    RUN_TIME "if (block.y == 0)\n" LOOP
             "H[i +: 12][p +: 8] = H[i +: 12][p - 3 +: 8] + A[i +: 12][p +: 8];\n}\n" TAIL,
    RUN_TIME LOOP "H[i +: 12][p +: 8] = A[i +: 12][p +: 8];\n"
                  "C[i +: 12][j +: 16] = H[i +: 12][p - 9 +: 16];\n}\n}\n",
    /* a sum, a maximum and a scan of the turn's part; the counter; a tile from turn to turn */
    RUN_TIME LOOP
    "H[i +: 12][p +: 8] = A[i +: 12][p +: 8] - sum(A[i +: 12][p +: 8], axis = 1);\n}\n" TAIL,
    RUN_TIME LOOP
    "H[i +: 12][p +: 8] = A[i +: 12][p +: 8] - max(A[i +: 12][p +: 8], axis = 0);\n}\n" TAIL,
    RUN_TIME LOOP "reg f32 t[12][8] = A[i +: 12][p +: 8];\n"
                  "H[i +: 12][p +: 8] = scan(add, t, axis = 1);\n}\n" TAIL,
    RUN_TIME LOOP "H[i +: 12][p +: 8] = A[i +: 12][p +: 8] * p;\n}\n" TAIL,
    RUN_TIME "reg f32 t[12][8] = 0;\n" LOOP
             "t = t + A[i +: 12][p +: 8];\nH[i +: 12][p +: 8] = t;\n}"
             "\n" TAIL,
    RUN_TIME LOOP "if (p == 16)\ncontinue;\nH[i +: 12][p +: 8] = A[i +: 12][p +: 8];\n}\n" TAIL,
    RUN_TIME LOOP "H[i +: 12][p +: 8] = A[i +: 12][p +: 8];\nprint(p);\n}\n" TAIL,
    RUN_TIME LOOP "atomic_add(H[i +: 12][p +: 8], A[i +: 12][p +: 8]);\n}\n" TAIL,
    /* the diagonal, and rows of a view that overlap */
    STATIC LOOP "H[p +: 8][p +: 8] = A[p +: 8][p +: 8] * 2;\n}\n" TAIL,
    "kernel k(static i32 n, const f32 *a, const f32 *b, f32 *c) grid(1) warps(1)\n{\n"
    "global f32 A[4][n] = a, C[4][n] = c strides(32, 1);\n" LOOP
    "C[0 +: 4][p +: 8] = A[0 +: 4][p +: 8] * 2;\n}\n}\n",
};

static void stored_rows_keep_their_bits(void **state)
{
    (void)state;
    EACH_KEEPS_BITS(stored_rows, 16, 101, 230);
}

static void other_loops_keep_their_bits(void **state)
{
    (void)state;
    EACH_KEEPS_BITS(kept_loops, 7, 47, 160);
}

/* --- which program a launch takes --- */

static void note_total(void *user, const char *doing, int64_t done, int64_t total)
{
    (void)doing;
    (void)done;
    *(int64_t *)user = total;
}

/* Returns the number of blocks of a launch; `image`: of the program that is loaded from an image. */
static int64_t blocks_of(const char *text, int64_t n, int threads, bool image)
{
    struct cpu_run r;
    int64_t blocks = 0;
    cpu_open(&r, text, (const struct given[]){{"n", n}, {NULL, 0}});
    add_all_joined(&r);
    if (image)
        cpu_take_image(&r);
    assert_non_null(r.program->joined);
    cpu_fill(&r, 4 * 600 * 600);
    r.options.progress = note_total;
    r.options.progress_user = &blocks;
    cpu_go(&r, threads);
    assert_int_equal(r.fault.kind, CPU_OK);
    cpu_close(&r);
    return blocks;
}

static int64_t blocks_run(int64_t n, int threads, bool image)
{
    return blocks_of(joined[1], n, threads, image);
}

/* Unpacks weights of 4 bits; one row of blocks for n < 2600. */
static const char unpacks[] =
    "kernel k(i32 n, const f16 *x, const u8 *w, f32 *y) grid(cdiv(n / 200, 12), cdiv(n, 16)) "
    "warps(1)\n{\nglobal f16 X[n / 200][8] = x;\nglobal u8 W[4][n] = w;\n"
    "global f32 Y[n / 200][n] = y;\ni32 i = block.x * 12, j = block.y * 16;\n"
    "reg u8 b[4][16] = W[0 +: 4][j +: 16];\n"
    "Y[i +: 12][j +: 16] = dot(X[i +: 12][0 +: 8], (f16) ((i32) repeat_interleave(b, 2, 1) >> "
    "(iota(8, 1) & 1) * 4 & 15));\n}\n";

/* Blocks of 12 × 16 become blocks of 96 × 512, unless that leaves too few for the workers, or the
 * grid is smaller than one of them; else blocks of 12 × 512 or 48 × 128 in the same way. If they
 * unpack weights and are one row of blocks, they become blocks of 12 × 2048 or 12 × 256. */
static void a_launch_joins_blocks_if_that_pays(void **state)
{
    (void)state;
    for (int image = 0; image < 2; image++) {
        assert_int_equal(blocks_run(600, 1, image), 7 * 2);
        assert_int_equal(blocks_run(600, 7, image), 7 * 2);
        assert_int_equal(blocks_run(600, 8, image), 50 * 2);
        assert_int_equal(blocks_run(600, 51, image), 50 * 38);
        assert_int_equal(blocks_run(250, 1, image), 6 * 2); /* 512 columns are 32 blocks */
        assert_int_equal(blocks_run(250, 7, image), 21 * 16);
        assert_int_equal(blocks_run(60, 1, image), 5 * 4);
        assert_int_equal(blocks_of(unpacks, 2100, 1, image), 2);
        assert_int_equal(blocks_of(unpacks, 2100, 3, image), 9);
        assert_int_equal(blocks_of(unpacks, 2600, 1, image), 2 * 6); /* of 12 × 512 */
        /* blocks of 4 × 3 threads become blocks of 64 × 3 if the grid has a multiple of these */
        assert_int_equal(blocks_of(threads_joined[0], 192, 1, image), 3 * 64);
        assert_int_equal(blocks_of(threads_joined[0], 193, 1, image), 49 * 65);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(join_keeps_bits),
        cmocka_unit_test(join_keeps_bits_without_products),
        cmocka_unit_test(join_keeps_bits_of_small_types),
        cmocka_unit_test(threads_keep_their_bits),
        cmocka_unit_test(launches_of_threads_fault_alike),
        cmocka_unit_test(parts_keep_bits),
        cmocka_unit_test(parts_of_other_tiles_keep_bits),
        cmocka_unit_test(several_products_keep_bits),
        cmocka_unit_test(other_programs_keep_their_blocks),
        cmocka_unit_test(other_loops_keep_their_bits),
        cmocka_unit_test(stored_rows_keep_their_bits),
        cmocka_unit_test(a_launch_joins_blocks_if_that_pays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
