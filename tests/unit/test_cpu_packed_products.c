/* Products of packed tiles: kernels as people write them, edges of views, random ones. */
#include "packed_helper.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* Products of two are too small for f32, and most values are negative. */
static double tiny(size_t i)
{
    return i % 3 == 1 ? 1e-30 : -1e-30;
}

/* --- kernels as people write them --- */

#define HEAD                                                                                       \
    "kernel k(i32 n, const f32 *a, const f32 *b, f32 *c) grid(cdiv(n, 12), cdiv(n, 20)) "          \
    "warps(1)\n{\n"                                                                                \
    "global f32 A[n][n] = a, B[n][n] = b, C[n][n] = c;\n"                                          \
    "i32 i = block.x * 12, j = block.y * 20;\nreg f32 acc[12][20] = 0;\n"
#define TAIL "C[i +: 12][j +: 20] = acc;\n}\n"

struct sample {
    const char *text;
    uint32_t packed;
    enum cpu_fault_kind fault;
};

static const struct sample samples[] = {
    /* shared tiles, copied to registers */
    {HEAD "shared f32 sa[12][8], sb[8][20];\n"
          "for (i32 p = 0; p < n; p += 8) {\n"
          "sa = A[i +: 12][p +: 8];\nsb = B[p +: 8][j +: 20];\nsync();\n"
          "reg f32 ra[12][8] = sa, rb[8][20] = sb;\nacc += dot(ra, rb);\nsync();\n}\n" TAIL,
     4, CPU_OK},
    /* the copy keeps earlier values of the tile */
    {HEAD "shared f32 sa[12][8];\n"
          "for (i32 p = 0; p < n; p += 8) {\n"
          "sa = A[i +: 12][p +: 8];\nsync();\nreg f32 ra[12][8] = sa;\nsync();\n"
          "sa = B[i +: 12][p +: 8];\nreg f32 rb[8][20] = B[p +: 8][j +: 20];\nsync();\n"
          "acc += dot(ra, rb);\nacc += dot(sa, rb);\nsync();\n}\n" TAIL,
     3, CPU_OK},
    /* several stages, copied asynchronously */
    {HEAD "shared f32 sa[3][12][8], sb[3][8][20];\n"
          "unroll for (i32 s = 0; s < 2; s++) {\n"
          "async sa[s] = A[i +: 12][s * 8 +: 8];\nasync sb[s] = B[s * 8 +: 8][j +: 20];\n"
          "async_commit();\n}\n"
          "for (i32 p = 0, s = 0; p < n; p += 8, s = (s + 1) % 3) {\nasync_wait(1);\nsync();\n"
          "i32 t = (s + 2) % 3;\nasync sa[t] = A[i +: 12][p + 16 +: 8];\n"
          "async sb[t] = B[p + 16 +: 8][j +: 20];\nasync_commit();\nacc += dot(sa[s], sb[s]);\n}\n"
          "async_wait(0);\n" TAIL,
     6, CPU_OK},
    /* without the wait */
    {HEAD "shared f32 sa[12][8];\nasync sa = A[i +: 12][0 +: 8];\nasync_commit();\n"
          "reg f32 rb[8][20] = B[0 +: 8][j +: 20];\nacc += dot(sa, rb);\nasync_wait(0);\n" TAIL,
     2, CPU_ASYNC},
    /* a stage beyond the last one */
    {HEAD "shared f32 sa[2][12][8];\n"
          "for (i32 p = 0; p < 24; p += 8) {\nsa[p / 8] = A[i +: 12][p +: 8];\nsync();\n"
          "reg f32 rb[8][20] = B[p +: 8][j +: 20];\nacc += dot(sa[p / 8], rb);\nsync();\n}\n" TAIL,
     3, CPU_BOUNDS},
    /* a slice declared inside its view that is not */
    {HEAD "for (i32 p = 0; p < n; p += 8) {\nreg f32 ra[12][8] = A[i +: 12][p +: 8 inside];\n"
          "reg f32 rb[8][20] = B[p +: 8][j +: 20];\nacc += dot(ra, rb);\n}\n" TAIL,
     2, CPU_BOUNDS},
    /* both transposed, and read along the view's other axis */
    {HEAD "for (i32 p = 0; p < n; p += 8) {\n"
          "reg f32 ra[8][12] = A[p +: 8][i +: 12], rb[20][8] = B[j +: 20][p +: 8];\n"
          "acc += dot(trans(ra), trans(rb));\n}\n" TAIL,
     2, CPU_OK},
    /* places that are not multiples of the tile, and negative ones */
    {HEAD "for (i32 p = -3; p < n; p += 8) {\n"
          "reg f32 ra[12][8] = A[i - 2 +: 12][p +: 8], rb[8][20] = B[p +: 8][j - 5 +: 20];\n"
          "acc += dot(ra, rb);\n}\n" TAIL,
     2, CPU_OK},
    /* as above with pairs of elements, from odd places */
    {"kernel k(i32 n, const bf16 *a, const bf16 *b, f32 *c) grid(3) warps(1)\n{\n"
     "global bf16 A[n][74] = a, B[20][74] = b;\nglobal f32 C[n][20] = c;\n"
     "i32 i = block.x * 12;\nreg f32 acc[12][20] = 0;\n"
     "for (i32 p = -3; p < n; p += 8) {\n"
     "reg bf16 ra[12][8] = A[i +: 12][p +: 8], rb[20][8] = B[0 +: 20][p +: 8];\n"
     "acc += dot(ra, trans(rb));\n}\nC[i +: 12][0 +: 20] = acc;\n}\n",
     2, CPU_OK},
    /* the blocks that fault run in another order than their numbers */
    {HEAD "for (i32 p = 0; p < n; p += 8) {\n"
          "reg f32 ra[12][8] = A[i +: 12][p +: 8], rb[8][20] = B[p +: 8][j +: 20];\n"
          "acc += dot(ra, rb);\n}\n"
          "if (block.x + block.y == 1)\nacc = A[7 * block.x - 40 +: 12 inside][j +: 20];\n" TAIL,
     2, CPU_BOUNDS},
    /* a tile read by two products; an operand of one is longer */
    {"kernel k(i32 n, const f32 *a, const f32 *b, f32 *c) grid(2) warps(1)\n{\n"
     "global f32 A[24][n] = a, B[n][20] = b, D[n + 2][20] = b, C[24][20] = c;\n"
     "i32 i = block.x * 12;\nreg f32 acc[12][20] = 0;\n"
     "for (i32 p = 0; p < n; p += 8) {\nreg f32 ra[12][8] = A[i +: 12][p +: 8];\n"
     "reg f32 rb[8][20] = B[p +: 8][0 +: 20], rd[8][20] = D[p +: 8][0 +: 20];\n"
     "acc += dot(ra, rb);\nacc += dot(ra, rd);\n}\nC[i +: 12][0 +: 20] = acc;\n}\n",
     3, CPU_OK},
    /* the sum is read in the loop, left early, and started again */
    {HEAD "reg f32 top[12][20] = 0;\n"
          "for (i32 p = 0; p < n; p += 8) {\n"
          "reg f32 ra[12][8] = A[i +: 12][p +: 8], rb[8][20] = B[p +: 8][j +: 20];\n"
          "acc += dot(ra, rb);\ntop = max(top, acc);\n}\nacc = top;\n"
          "for (i32 p = 0; p < n; p += 8) {\n"
          "if (p > 16)\nbreak;\n"
          "reg f32 ra[12][8] = A[i +: 12][p +: 8], rb[8][20] = B[p +: 8][j +: 20];\n"
          "acc += dot(ra, rb);\n}\n" TAIL,
     4, CPU_OK},
    /* a tile that gets no value */
    {HEAD "shared f32 sa[12][8];\nreg f32 rb[8][20] = B[0 +: 8][j +: 20];\n"
          "acc += dot(sa, rb);\nacc = where(acc == acc, 1.0, 2.0);\n" TAIL,
     2, CPU_OK},
    /* copied twice, once to another tile */
    {HEAD "shared f32 sx[12][8], sa[12][8];\nreg f32 rb[8][20] = B[0 +: 8][j +: 20];\n"
          "acc += dot(sx, rb);\nacc += dot(sx, rb);\nsync();\nsa = sx;\nsync();\n"
          "acc += dot(sa, rb);\nacc = where(acc == acc, 1.0, 2.0);\n" TAIL,
     3, CPU_OK},
    /* and in the first iteration of a loop alone, by two products */
    {HEAD "shared f32 sa[12][8];\nreg f32 top[12][20] = 0;\n"
          "for (i32 p = 0; p < n; p += 8) {\nif (p > 0)\nsa = A[i +: 12][p +: 8];\nsync();\n"
          "reg f32 rb[8][20] = B[p +: 8][j +: 20];\nacc += dot(sa, rb);\nacc += dot(sa, rb);\n"
          "top += where(acc == acc, 1.0, 2.0);\nsync();\n}\nacc = top;\n" TAIL,
     2, CPU_OK},
    /* also read by another operation: an ordinary tile */
    {HEAD "for (i32 p = 0; p < n; p += 8) {\n"
          "reg f32 ra[12][8] = A[i +: 12][p +: 8], rb[8][20] = B[p +: 8][j +: 20];\n"
          "acc += dot(ra, rb) + sum(ra);\n}\n" TAIL,
     1, CPU_OK},
    /* filled by broadcasting, from a view and from another tile: ordinary tiles */
    {HEAD "for (i32 p = 0; p < n; p += 8) {\n"
          "reg f32 ra[12][8] = A[i +: 12][p +: 8], rb[8][20] = B[p +: 1][j +: 20];\n"
          "acc += dot(ra, rb);\n}\n" TAIL,
     1, CPU_OK},
    {HEAD "for (i32 p = 0; p < n; p += 8) {\n"
          "reg f32 rx[1][8] = A[i +: 1][p +: 8], ry[12][1] = A[i +: 12][p +: 1];\n"
          "reg f32 ra[12][8] = rx, rd[12][8] = ry, rb[8][20] = B[p +: 8][j +: 20];\n"
          "acc += dot(ra, rb);\nacc += dot(rd, rb);\n}\n" TAIL,
     1, CPU_OK},
    /* copied to a tile that is never read: rb is packed in both loops that `deepen` makes */
    {HEAD "for (i32 p = 0; p < n; p += 8) {\n"
          "reg f32 ra[12][8] = A[i +: 12][p +: 8], rb[8][20] = B[p +: 8][j +: 20];\n"
          "acc += dot(ra, rb);\nreg f32 rc[12][8] = ra;\n}\n" TAIL,
     2, CPU_OK},
    /* one operand computed, the other packed in both loops */
    {HEAD "for (i32 p = 0; p < n; p += 8) {\n"
          "reg f32 ra[12][8] = A[i +: 12][p +: 8], rb[8][20] = B[p +: 8][j +: 20];\n"
          "reg f32 twice[12][8] = ra + ra;\nacc += dot(twice, rb);\n}\n" TAIL,
     2, CPU_OK},
    /* reads see what the kernel has written before */
    {"kernel k(i32 n, const f32 *a, const f32 *b, f32 *c) grid(1) warps(1)\n{\n"
     "global f32 A[n][n] = a, C[n][n] = c;\nreg f32 x[8][8] = A[0 +: 8][0 +: 8];\n"
     "C[0 +: 8][0 +: 8] = x + x;\nreg f32 y[8][8] = C[0 +: 8][0 +: 8];\n"
     "C[0 +: 8][0 +: 8] = x;\nC[8 +: 8][0 +: 8] = dot(y, y);\n}\n",
     0, CPU_OK},
};

static void kernels_are_the_same(void **state)
{
    static const int64_t sizes[] = {1, 7, 12, 20, 31, 60, 73};
    (void)state;
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++)
        for (size_t n = 0; n < sizeof sizes / sizeof *sizes; n++) {
            uint32_t packed;
            struct cpu_fault fault = packed_expect_same(samples[i].text, sizes[n], &packed);
            if (packed != samples[i].packed)
                fail_msg("%u stages are packed, not %u\n%s", packed, samples[i].packed,
                         samples[i].text);
            if (sizes[n] == 31 && fault.kind != samples[i].fault)
                fail_msg("another fault: %s\n%s", fault.message, samples[i].text);
        }
}

/* Products so deep that sums are added several times, in cached parts and in the views
 * themselves. */
static void deep_products_are_the_same(void **state)
{
    static const char text[] =
        "kernel k(i32 n, const f32 *a, const f32 *b, f32 *c) grid(2, 2) warps(1)\n{\n"
        "global f32 A[24][n] = a, B[n][40] = b, C[24][40] = c;\n"
        "i32 i = block.x * 12, j = block.y * 20;\nreg f32 acc[12][20] = 0;\n"
        "for (i32 p = 0; p < n; p += 24) {\n"
        "reg f32 ra[12][24] = A[i +: 12][p +: 24], rb[24][20] = B[p +: 24][j +: 20];\n"
        "acc += dot(ra, rb);\n}\nC[i +: 12][j +: 20] = acc;\n}\n";
    static const int64_t depths[] = {240, 503, 504, 505, 512, 527, 528, 800};
    (void)state;
    for (size_t i = 0; i < sizeof depths / sizeof *depths; i++) {
        uint32_t packed;
        packed_expect_same(text, depths[i], &packed);
        assert_int_equal(packed, 2);
    }
}

#define EDGED(views, step, place)                                                                  \
    "kernel k(i32 n, const f32 *a, const f32 *b, f32 *c) grid(3, 3) warps(1)\n{\n" views           \
    "i32 i = block.x * 12, j = block.y * 20, q = j;\nreg f32 acc[12][20] = 0;\n"                   \
    "for (i32 p = 0; p < n; p += 24) {\n"                                                          \
    "reg f32 ra[12][24] = A[i +: 12][p +: 24], rb[24][20] = B[p +: 24][j +: 20];\n"                \
    "acc += dot(ra, rb);\n" step "}\nC" place " = acc;\n}\n"

/* Tiles that reach beyond their views, along each axis by different amounts. */
static void edges_are_the_same(void **state)
{
    static const char *const texts[] = {
        EDGED("global f32 A[27][n] = a, B[n][45] = b, C[27][45] = c;\n", "", "[i +: 12][j +: 20]"),
        /* the sum's view is smaller than the operands' views, and larger */
        EDGED("global f32 A[36][n] = a, B[n][60] = b, C[25][30] = c;\n", "", "[i +: 12][j +: 20]"),
        EDGED("global f32 A[26][n] = a, B[n][41] = b, C[35][59] = c;\n", "", "[i +: 12][j +: 20]"),
        /* one operand ends before the other */
        EDGED("global f32 A[27][n] = a, B[n / 2][45] = b, C[27][45] = c;\n", "",
              "[i +: 12][j +: 20]"),
        EDGED("global f32 A[27][n - 3] = a, B[n][45] = b, C[27][45] = c;\n", "",
              "[i +: 12][j +: 20]"),
        /* the place of the sum is known before the loop, is not known, or is outside */
        EDGED("global f32 A[27][n] = a, B[n][45] = b, C[2][27][45] = c;\n", "",
              "[1][2 * i - 5 +: 12][j + i +: 20]"),
        EDGED("global f32 A[27][n] = a, B[n][45] = b, C[27][45] = c;\n", "q = q + 1;\n",
              "[i +: 12][q +: 20]"),
        EDGED("global f32 A[27][n] = a, B[n][45] = b, C[27][45] = c;\n", "",
              "[i + 5 +: 12][j - 7 +: 20]"),
        EDGED("global f32 A[27][n] = a, B[n][45] = b, C[27][45] = c;\n", "",
              "[i +: 12][j +: 20 inside]"),
    };
    static const struct {
        double (*element)(size_t i);
        int64_t depth;
    } cases[] = {
        {packed_usual, 25}, {packed_sometimes_infinite, 25}, {tiny, 25}, {packed_usual, 530}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        packed_element = cases[i].element;
        for (size_t j = 0; j < sizeof texts / sizeof *texts; j++) {
            uint32_t packed;
            packed_expect_same(texts[j], cases[i].depth, &packed);
            assert_int_equal(packed, 2);
        }
    }
    packed_element = packed_usual;
}

/* --- random products --- */

struct shape {
    int m, n, k, stages;
    bool turn_a, turn_b, batch;
    const char *type[2], *sum, *stored; /* type: of a, b */
    const char *half;                   /* type of 16 bits of the result; NULL: that of the sum */
};

static struct shape draw_shape(uint32_t *seed)
{
    static const char *const types[] = {"f32", "f16", "bf16", "f64", "e4m3"};
    static const char *const stored[] = {"acc", "acc * 2 - 1", "acc * max(acc, 0)"};
    struct shape s = {.stages = 1 + (int)cpu_draw(seed, 3)};
    s.type[0] = s.type[1] = types[cpu_draw(seed, 5)];
    s.sum = strcmp(s.type[0], "f64") == 0 ? "f64" : "f32";
    s.stored = stored[cpu_draw(seed, 3)];
    s.m = 1 + (int)cpu_draw(seed, 40);
    s.n = 1 + (int)cpu_draw(seed, 70);
    s.k = 1 + (int)cpu_draw(seed, 20);
    s.turn_a = cpu_draw(seed, 2);
    s.turn_b = cpu_draw(seed, 2);
    s.batch = cpu_draw(seed, 2);
    if (strcmp(s.sum, "f64") != 0 && cpu_draw(seed, 3) == 0) {
        const bool bf16 = cpu_draw(seed, 2);
        s.half = bf16 ? "bf16" : "f16";
        s.stored = bf16 ? "(bf16) acc" : "(f16) acc";
    }
    return s;
}

/* The same with small integers, of one signedness or of two; most depths are multiples of four. */
static struct shape draw_integers(uint32_t *seed)
{
    struct shape s = draw_shape(seed);
    for (int i = 0; i < 2; i++)
        s.type[i] = cpu_draw(seed, 2) ? "i8" : "u8";
    if (cpu_draw(seed, 4) == 0)
        s.type[0] = s.type[1] = "i16";
    s.sum = "i32";
    s.half = NULL;
    s.stored = cpu_draw(seed, 2) ? "acc" : "acc * 2 - 1";
    if (cpu_draw(seed, 5) > 0)
        s.k = 4 * (1 + s.k / 2);
    return s;
}

/* A product by tiles in `stages` shared stages; with `batch` on views of three axes. */
static void write_text(const struct shape *s, char *text)
{
    char a[80], b[80], ta[32], tb[32];
    const char *outer = s->batch ? "[block.z]" : "", *axis = s->batch ? "[2]" : "";
    const char *c = s->half ? s->half : s->sum;
    snprintf(ta, sizeof ta, "[%d][%d]", s->turn_a ? s->k : s->m, s->turn_a ? s->m : s->k);
    snprintf(tb, sizeof tb, "[%d][%d]", s->turn_b ? s->n : s->k, s->turn_b ? s->k : s->n);
    if (s->turn_a)
        snprintf(a, sizeof a, "A%s[p +: %d][i +: %d]", outer, s->k, s->m);
    else
        snprintf(a, sizeof a, "A%s[i +: %d][p +: %d]", outer, s->m, s->k);
    if (s->turn_b)
        snprintf(b, sizeof b, "B%s[j +: %d][p +: %d]", outer, s->n, s->k);
    else
        snprintf(b, sizeof b, "B%s[p +: %d][j +: %d]", outer, s->k, s->n);
    snprintf(text, PACKED_TEXT,
             "kernel k(i32 n, const %s *a, const %s *b, %s *c) grid(cdiv(n, %d), cdiv(n, %d), %d) "
             "warps(1)\n{\n"
             "global %s A%s[n][n] = a;\nglobal %s B%s[n][n] = b;\nglobal %s C%s[n][n] = c;\n"
             "i32 i = block.x * %d, j = block.y * %d;\nreg %s acc[%d][%d] = 0;\n"
             "shared %s sa[%d]%s;\nshared %s sb[%d]%s;\n"
             "for (i32 p = 0, s = 0; p < n; p += %d, s = (s + 1) %% %d) {\n"
             "sa[s] = %s;\nsb[s] = %s;\nsync();\nacc += dot(%s, %s);\nsync();\n}\n"
             "C%s[i +: %d][j +: %d] = %s;\n}\n",
             s->type[0], s->type[1], c, s->m, s->n, s->batch ? 2 : 1, s->type[0], axis, s->type[1],
             axis, c, axis, s->m, s->n, s->sum, s->m, s->n, s->type[0], s->stages, ta, s->type[1],
             s->stages, tb, s->k, s->stages, a, b, s->turn_a ? "trans(sa[s])" : "sa[s]",
             s->turn_b ? "trans(sb[s])" : "sb[s]", outer, s->m, s->n, s->stored);
}

static void random_products_are_the_same(void **state)
{
    uint32_t seed = 20;
    char text[PACKED_TEXT];
    (void)state;
    for (int i = 0; i < (TW_TEST_RACES_ONLY ? 40 : 400); i++) {
        struct shape s = draw_shape(&seed);
        uint32_t packed;
        write_text(&s, text);
        packed_expect_same(text, 1 + cpu_draw(&seed, s.batch ? 40 : 60), &packed);
        assert_int_equal(packed, 2 * s.stages);
    }
}

static double any_byte(size_t i)
{
    return (double)(i * 37 % 256) - (i % 3 == 0 ? 128 : 0);
}

/* The least value is frequent: a pair of its squares overflows the sum. */
static double any_i16(size_t i)
{
    return i % 3 > 0 ? -32768 : (double)(i * 26437 % 65536) - 32768;
}

/* Returns the number of tiles of such a product that the set packs. */
static uint32_t packs_integers(const struct routine_set *set, const struct shape *s)
{
    bool bytes = strcmp(s->type[0], "i16") != 0 && strcmp(s->type[1], "i16") != 0;
    bool packs = (bytes && set->dot_i8 && s->k % 4 == 0) || (set->dot_i16 && s->k % 2 == 0);
    return packs ? 2 * (uint32_t)s->stages : 0;
}

/* Tiles of integers are packed if the machine multiplies them (dot_int8.c, dot_int16.c). */
static void random_integers_are_the_same(void **state)
{
    uint32_t seed = 30;
    char text[PACKED_TEXT];
    int last = 0;
    (void)state;
    while (routine_set_at(last + 1))
        last++;
    for (int i = 0; i < (TW_TEST_RACES_ONLY ? 40 : 300); i++) {
        struct shape s = draw_integers(&seed);
        uint32_t packed;
        packed_element = strcmp(s.type[0], "i16") == 0 ? any_i16 : any_byte;
        write_text(&s, text);
        packed_expect_same(text, 1 + cpu_draw(&seed, i % 8 == 0 ? 250 : 60), &packed);
        assert_int_equal(packed, packs_integers(routine_set_at(last), &s));
    }
    packed_element = packed_usual;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_are_the_same),
        cmocka_unit_test(deep_products_are_the_same),
        cmocka_unit_test(edges_are_the_same),
        cmocka_unit_test(random_products_are_the_same),
        cmocka_unit_test(random_integers_are_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
