/* How and when tiles are packed: in which view, by which block, over which memory. */
#include "packed_helper.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

enum { WIDE_ARRAY = 56 * 4096 * 4 };

/* Runs the text with n = 96; its last array shares the memory of the array of that name. */
static void run_over(const char *text, const struct routine_set *set, bool plain, const char *name,
                     unsigned char *data)
{
    struct cpu_run r;
    cpu_open_plain(&r, text, (const struct given[]){{"n", 96}, {NULL, 0}}, set, plain);
    const struct param *a = r.kernel->params->next;
    packed_fill(a, cpu_array(&r, "a", PACKED_ARRAY));
    packed_fill(a, cpu_array(&r, "b", PACKED_ARRAY));
    struct cpu_argument *c = &r.args[r.kernel->param_count - 1], own = *c;
    c->data = r.args[strcmp(name, "a") == 0 ? a->sym->index : a->next->sym->index].data;
    c->bytes = PACKED_ARRAY;
    cpu_go(&r, 1);
    assert_int_equal(r.fault.kind, CPU_OK);
    memcpy(data, c->data, PACKED_ARRAY);
    *c = own;
    cpu_close(&r);
}

/* A block stores its sums over its left operand: it has read all of it before. */
static void sums_may_go_where_operands_came_from(void **state)
{
    static const char text[] =
        "kernel k(i32 n, const f32 *a, const f32 *b, f32 *c) grid(2) warps(1)\n{\n"
        "global f32 A[80][n] = a, B[n][40] = b, C[80][n] = c;\ni32 i = block.x * 40;\n"
        "reg f32 acc[40][40] = 0;\nfor (i32 p = 0; p < n; p += 24) {\n"
        "reg f32 ra[40][24] = A[i +: 40][p +: 24], rb[24][40] = B[p +: 24][0 +: 40];\n"
        "acc += dot(ra, rb);\n}\nC[i +: 40][%d +: 40] = acc;\n}\n";
    static unsigned char data[2][PACKED_ARRAY];
    (void)state;
    for (int column = 0; column <= 72; column += 24)
        for (int s = 0; routine_set_at(s); s++) {
            char written[PACKED_TEXT];
            snprintf(written, sizeof written, text, column);
            for (int plain = 0; plain < 2; plain++)
                run_over(written, routine_set_at(s), plain, "a", data[plain]);
            assert_memory_equal(data[0], data[1], PACKED_ARRAY);
        }
}

/* As above with the right operand, whose panels are packed one after the other: the sums of the
 * first panel overwrite the second. */
static void sums_may_go_where_panels_came_from(void **state)
{
    static const char text[] =
        "kernel k(i32 n, const %s *a, const %s *b, %s *c) grid(2) warps(1)\n{\n"
        "global %s A[80][n] = a, B[n][64] = b;\nglobal %s C[40][64] = c + 32;\n"
        "i32 i = block.x * 40;\nreg f32 acc[40][64] = 0;\n"
        "for (i32 p = 0; p < n; p += 24) {\n"
        "reg %s ra[40][24] = A[i +: 40][p +: 24], rb[24][64] = B[p +: 24][0 +: 64];\n"
        "acc += dot(ra, rb);\n}\nC[i +: 40][0 +: 64] = %s;\n}\n";
    static unsigned char data[2][PACKED_ARRAY];
    static const char *const types[][2] = {
        {"f32", "acc"}, {"f16", "(f16) acc"}, {"bf16", "(bf16) acc"}};
    (void)state;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        for (int s = 0; routine_set_at(s); s++) {
            const char *t = types[i][0];
            char written[PACKED_TEXT];
            snprintf(written, sizeof written, text, t, t, t, t, t, t, types[i][1]);
            for (int plain = 0; plain < 2; plain++)
                run_over(written, routine_set_at(s), plain, "b", data[plain]);
            if (memcmp(data[0], data[1], PACKED_ARRAY) != 0)
                fail_msg("%s, %s: other values", t, routine_set_at(s)->name);
        }
}

#define GRID(m, n, rows, columns, depth, t, sum)                                                   \
    "kernel k(i32 n, const " t " *a, const " t " *b, " sum " *c) grid(cdiv(" m ", " rows "), "     \
    "cdiv(" n ", " columns ")) warps(1)\n{\n"                                                      \
    "global " t " A[" m "][n] = a, B[n][" n "] = b;\nglobal " sum " C[" m "][" n "] = c;\n"        \
    "i32 i = block.x * " rows ", j = block.y * " columns ";\n"                                     \
    "reg " sum " acc[" rows "][" columns "] = 0;\nfor (i32 p = 0; p < n; p += " depth ") {\n"      \
    "reg " t " ra[" rows "][" depth "] = A[i +: " rows "][p +: " depth "];\n"                      \
    "reg " t " rb[" depth "][" columns "] = B[p +: " depth "][j +: " columns "];\n"                \
    "acc += dot(ra, rb);\n}\nC[i +: " rows "][j +: " columns "] = acc;\n}\n"

/* As above with a result of f16. */
#define HALVES(m, n, rows, columns, depth, t, strides)                                             \
    "kernel k(i32 n, const " t " *a, const " t " *b, f16 *c) grid(cdiv(" m ", " rows "), "         \
    "cdiv(" n ", " columns ")) warps(1)\n{\n"                                                      \
    "global " t " A[" m "][n] = a, B[n][" n "] = b;\n"                                             \
    "global f16 C[" m "][" n "] = c" strides ";\n"                                                 \
    "i32 i = block.x * " rows ", j = block.y * " columns ";\n"                                     \
    "reg f32 acc[" rows "][" columns "] = 0;\nfor (i32 p = 0; p < n; p += " depth ") {\n"          \
    "reg " t " ra[" rows "][" depth "] = A[i +: " rows "][p +: " depth "];\n"                      \
    "reg " t " rb[" depth "][" columns "] = B[p +: " depth "][j +: " columns "];\n"                \
    "acc += dot(ra, rb);\n}\nC[i +: " rows "][j +: " columns "] = (f16) acc;\n}\n"

/* As above with sums in a view of another extent. */
#define NARROW(m, n, rows, columns, extent)                                                        \
    "kernel k(i32 n, const f32 *a, const f32 *b, f32 *c) grid(cdiv(" m ", " rows "), "             \
    "cdiv(" n ", " columns ")) warps(1)\n{\n"                                                      \
    "global f32 A[" m "][n] = a, B[n][" n "] = b, C" extent " = c;\n"                              \
    "i32 i = block.x * " rows ", j = block.y * " columns ";\n"                                     \
    "reg f32 acc[" rows "][" columns "] = 0;\nfor (i32 p = 0; p < n; p += 32) {\n"                 \
    "reg f32 ra[" rows "][32] = A[i +: " rows "][p +: 32];\n"                                      \
    "reg f32 rb[32][" columns "] = B[p +: 32][j +: " columns "];\n"                                \
    "acc += dot(ra, rb);\n}\nC[i +: " rows "][j +: " columns "] = acc;\n}\n"

/* The first product that reads operands packs them as it goes, if only rows must be copied; also
 * at an edge, and while another worker packs the same operands. */
static void operands_are_packed_on_the_way(void **state)
{
    static const struct {
        const char *text;
        int64_t depth;
    } cases[] = {
        {GRID("32", "32", "8", "32", "64", "f32", "f32"), 1024},  /* rows 4096 bytes apart: both
                                                                   * operands */
        {GRID("24", "192", "12", "64", "32", "f32", "f32"), 160}, /* one part a column of blocks */
        {GRID("84", "192", "28", "64", "32", "f32", "f32"), 160}, /* a block of registers packs */
        {GRID("26", "180", "12", "64", "32", "f32", "f32"), 150}, /* edges */
        {GRID("24", "31", "8", "16", "64", "f32", "f32"), 1030},  /* rows begin within lines */
        {GRID("56", "64", "14", "32", "48", "f32", "f32"), 1056}, /* deeper than a product */
        {GRID("56", "64", "14", "32", "1040", "f32", "f32"), 1040}, /* one deep tile */
        {NARROW("28", "64", "14", "32", "[28][40]"), 128}, /* not all columns are needed, */
        {NARROW("28", "64", "14", "32", "[17][64]"), 128}, /* or not all rows */
        {NARROW("28", "64", "14", "32", "[14][32]"), 128}, /* or none */
        {GRID("30", "32", "3", "16", "32", "f64", "f64"), 512},
        {GRID("24", "48", "8", "16", "32", "f32", "f32"), 160},   /* half a panel */
        {GRID("24", "192", "12", "64", "32", "f16", "f32"), 160}, /* converted while packing, */
        {GRID("84", "192", "28", "64", "32", "f16", "f32"), 160},
        {GRID("26", "180", "12", "64", "32", "f16", "f32"), 150}, /* up to edges, */
        {GRID("56", "64", "14", "32", "1035", "f16", "f32"), 1035},
        {GRID("32", "32", "8", "32", "64", "f16", "f32"), 2048},  /* from rows 4096 bytes apart */
        {HALVES("84", "192", "28", "64", "32", "f16", ""), 160},  /* back when stored, */
        {HALVES("26", "180", "12", "64", "32", "f32", ""), 150},  /* to the edge of a row, */
        {HALVES("56", "64", "14", "32", "48", "bf16", ""), 1056}, /* of each type, */
        {HALVES("56", "64", "14", "32", "48", "f32", " strides(1, 56)"), 96}, /* or through f32 */
        {GRID("24", "192", "12", "64", "32", "bf16", "f32"), 160},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint32_t packed;
        assert_int_equal(packed_expect_same(cases[i].text, cases[i].depth, &packed).kind, CPU_OK);
        assert_int_equal(packed, 2);
    }
}

/* Two blocks of 28 by 32, along `axis` of the grid, each adding the products of the loop. */
#define SHARES(axis, tiles, loop)                                                                  \
    "kernel k(i32 n, const f32 *a, const f32 *b, f32 *c) grid(" axis ") warps(1)\n{\n"             \
    "global f32 A[56][n] = a, B[640][64] = b, C[28][64] = c;\n"                                    \
    "i32 i = block.x * 28, j = block.y * 32;\nreg f32 acc[28][32] = 0;\n" loop "{\n" tiles         \
    "}\nC[0 +: 28][j +: 32] = acc;\n}\n"
#define LOADED "reg f32 ra[28][64] = A[i +: 28][p +: 64], rb[64][32] = B[p +: 64][j +: 32];\n"

/* Gives the sums of the second block, after the first one. `written`: both blocks store to the
 * beginning of the array of that name; NULL: to an array of their own. */
static void take_sums(const char *text, const struct routine_set *set, const char *written,
                      float sums[28][32])
{
    struct cpu_run r;
    cpu_open_plain(&r, text, (const struct given[]){{"n", 4096}, {NULL, 0}}, set, false);
    const struct param *a = r.kernel->params->next, *b = a->next, *c = b->next;
    packed_fill(a, cpu_array(&r, "a", WIDE_ARRAY));
    packed_fill(b, cpu_array(&r, "b", WIDE_ARRAY));
    memset(cpu_array(&r, "c", WIDE_ARRAY), 0, WIDE_ARRAY);
    struct cpu_argument *to = &r.args[c->sym->index], own = *to;
    if (written)
        to->data = r.args[strcmp(written, "a") == 0 ? a->sym->index : b->sym->index].data;
    cpu_go(&r, 1);
    assert_int_equal(r.fault.kind, CPU_OK);
    size_t column = r.program->kernel->grid[1] ? 32 : 0;
    for (size_t i = 0; i < 28; i++)
        memcpy(sums[i], (const float *)to->data + i * 64 + column, sizeof sums[i]);
    *to = own;
    cpu_close(&r);
}

/* Operands that several blocks read are packed once: the first block stores its sums over its
 * operands, and the second block does not notice. (No kernel may do that; here it shows when
 * operands are read.) */
static void parts_are_packed_once(void **state)
{
    static const struct {
        const char *text, *written;
    } cases[] = {
        /* blocks that share B, whose first rows, as many as C has, are overwritten */
        {SHARES("2", LOADED "acc += dot(ra, rb);\n", "for (i32 p = 0; p < 640; p += 64)"), "b"},
        {SHARES("2", LOADED "acc = acc * 0.5;\nacc += dot(ra, rb);\n",
                "for (i32 p = 0; p < 640; p += 64)"),
         "b"},
        {SHARES("2", LOADED "reg f32 e[28][64] = ra * 2;\nacc += dot(e, rb);\n",
                "for (i32 p = 0; p < 640; p += 64)"),
         "b"},
        {SHARES("2", LOADED "acc += dot(ra, rb);\nacc += dot(ra, rb);\n",
                "for (i32 p = 0; p < 640; p += 64)"),
         "b"},
        /* the product begins or ends in the middle of a part */
        {SHARES("2", LOADED "acc += dot(ra, rb);\n", "for (i32 p = 64; p < 640; p += 64)"), "b"},
        /* blocks that share A, whose rows lie 16 KiB apart */
        {SHARES("1, 2", LOADED "acc += dot(ra, rb);\n", "for (i32 p = 0; p < 640; p += 64)"), "a"},
        {SHARES("1, 2", LOADED "acc = acc * 0.5;\nacc += dot(ra, rb);\n",
                "for (i32 p = 0; p < 640; p += 64)"),
         "a"},
    };
    float want[28][32], got[28][32];
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int s = 0; routine_set_at(s); s++) {
            take_sums(cases[i].text, routine_set_at(s), NULL, want);
            take_sums(cases[i].text, routine_set_at(s), cases[i].written, got);
            if (memcmp(want, got, sizeof want) != 0)
                fail_msg("%s: the second block packed again\n%s", routine_set_at(s)->name,
                         cases[i].text);
        }
}

#define VIEWED(t, a, a_place, b, b_place)                                                          \
    "kernel k(i32 n, const " t " *a, const " t " *b, " t " *c) grid(3, 3, 2) warps(1)\n{\n"        \
    "global " t " A" a ", B" b ", C[2][20][96] = c;\n"                                             \
    "i32 i = block.x * 8, j = block.y * 32, z = block.z;\nreg " t " acc[8][32] = 0;\n"             \
    "for (i32 p = 0; p < n; p += 64) {\n"                                                          \
    "reg " t " ra[8][64] = A" a_place "[p +: 64], rb[64][32] = B" b_place "[j +: 32];\n"           \
    "acc += dot(ra, rb);\n}\nC[z][i +: 8][j +: 32] = acc;\n}\n"

/* Packed tiles of more than half a large page, whose memory therefore begins at a page. The
 * array is far smaller, because its view's rows overlap. */
static void many_tiles_are_the_same(void **state)
{
    static const char text[] =
        "kernel k(i32 n, const f32 *a, const f32 *b, f32 *c) grid(2, cdiv(n, 64)) warps(1)\n{\n"
        "global f32 A[16][n] = a, B[n][n] = b strides(3, 1), C[16][n] = c;\n"
        "i32 i = block.x * 8, j = block.y * 64;\nreg f32 acc[8][64] = 0;\n"
        "for (i32 p = 0; p < n; p += 64) {\n"
        "reg f32 ra[8][64] = A[i +: 8][p +: 64], rb[64][64] = B[p +: 64][j +: 64];\n"
        "acc += dot(ra, rb);\n}\nC[i +: 8][j +: 64] = acc;\n}\n";
    uint32_t packed;
    (void)state;
    assert_int_equal(packed_expect_same(text, 530, &packed).kind, CPU_OK);
    assert_int_equal(packed, 2);
}

/* Each tile is looked up in all statements. Above a limit it is not, so that compiling takes
 * seconds. */
static void many_sums_are_compiled_in_time(void **state)
{
    enum { SUMS = 1000, ROOM = SUMS * 160 };
    char *text = malloc(ROOM), *at = text;
    struct cpu_run r;
    (void)state;
    assert_non_null(text);
    at += sprintf(at, "kernel k(i32 n, const f32 *a, f32 *c) grid(1) warps(1)\n{\n"
                      "global f32 A[16][16] = a, C[16][16] = c;\n");
    for (int i = 0; i < SUMS; i++)
        at += sprintf(at, "reg f32 x%d[16][16] = A[0 +: 16][0 +: 16];\n", i);
    for (int i = 0; i < SUMS; i++)
        at += sprintf(at, "x%d = dot(x%d, x%d, x%d);\n", i, (i + 1) % SUMS, (i + 2) % SUMS, i);
    for (int i = 0; i < SUMS; i++)
        at += sprintf(at, "C[0 +: 16][0 +: 16] = x%d * 2;\n", i);
    sprintf(at, "}\n");
    clock_t begun = clock();
    cpu_open_plain(&r, text, (const struct given[]){{"n", 1}, {NULL, 0}}, routine_set_at(0), false);
    double seconds = (double)(clock() - begun) / CLOCKS_PER_SEC;
    cpu_close(&r);
    free(text);
    if (seconds > 10)
        fail_msg("%g s", seconds);
}

/* Views whose rows go backwards, coincide, overlap or lie apart, and batches. */
static void views_are_read_as_they_lie(void **state)
{
    static const char *const texts[] = {
        VIEWED("f32", "[20][n] = a + 19 * n + 1 strides(-n, 1)", "[i +: 8]",
               "[n][96] = b + (n - 1) * 40 strides(-40, 1)", "[p +: 64]"),
        VIEWED("f32", "[20][n] = a + 3 strides(0, 1)", "[i +: 8]", "[n][96] = b + 5 strides(0, 1)",
               "[p +: 64]"),
        VIEWED("f32", "[20][n] = a + 1 strides(7, 1)", "[i +: 8]", "[n][96] = b + 2 strides(13, 1)",
               "[p +: 64]"),
        VIEWED("f32", "[20][n] = a strides(1024, 1)", "[i +: 8]", "[n][96] = b + 1 strides(49, 1)",
               "[p +: 64]"),
        VIEWED("f32", "[2][20][n] = a + 20 * n strides(-n, n, 1)", "[z][i +: 8]",
               "[n][2][96] = b strides(48, 17, 1)", "[p +: 64][z]"),
        VIEWED("f32", "[20][n] = a + (n - 1) strides(n, -1)", "[i +: 8]",
               "[n][96] = b + 95 strides(48, -1)", "[p +: 64]"),
        /* zeros outside: below, on the right, beyond the depth */
        VIEWED("f32", "[18][n] = a strides(1024, 1)", "[i +: 8]", "[n - 30][90] = b strides(48, 1)",
               "[p +: 64]"),
        VIEWED("f32", "[20][n - 30] = a strides(1024, 1)", "[i +: 8]", "[n][70] = b strides(48, 1)",
               "[p +: 64]"),
        /* one row, and a distance to the next one that overflows */
        VIEWED("f32", "[1][n] = a strides(1000000000000000000, 1)", "[i +: 8]",
               "[1][96] = b strides(1000000000000000000, 1)", "[p +: 64]"),
        "kernel k(i32 n, const f16 *a, const f16 *b, f32 *c) grid(2, 2) warps(1)\n{\n"
        "global f16 A[1][n] = a strides(1000000000000000000, 1);\n"
        "global f16 B[1][n] = b strides(1000000000000000000, 1);\nglobal f32 C[25][30] = c;\n"
        "i32 i = block.x * 12, j = block.y * 20;\nreg f32 acc[12][20] = 0;\n"
        "for (i32 p = 0; p < n; p += 24) {\n"
        "reg f16 ra[12][24] = A[i +: 12][p +: 24], rb[24][20] = B[p +: 24][j +: 20];\n"
        "acc += dot(ra, rb);\n}\nC[i +: 12][j +: 20] = acc * 2;\n}\n",
        VIEWED("f64", "[20][n] = a + 19 * 512 strides(-512, 1)", "[i +: 8]",
               "[n][96] = b + (n - 1) * 20 + 1 strides(-20, 1)", "[p +: 64]"),
    };
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        for (int64_t n = 128; n <= 600; n += 236) {
            uint32_t packed;
            assert_int_equal(packed_expect_same(texts[i], n, &packed).kind, CPU_OK);
            assert_int_equal(packed, 2);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_may_go_where_operands_came_from),
        cmocka_unit_test(sums_may_go_where_panels_came_from),
        cmocka_unit_test(operands_are_packed_on_the_way),
        cmocka_unit_test(parts_are_packed_once),
        cmocka_unit_test(many_tiles_are_the_same),
        cmocka_unit_test(many_sums_are_compiled_in_time),
        cmocka_unit_test(views_are_read_as_they_lie),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
