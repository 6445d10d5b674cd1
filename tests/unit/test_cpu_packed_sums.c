/* Sums of delayed products: where they begin, and where they are stored. */
#include "packed_helper.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

/* Sums that no loop adds to, and sums that do not begin with 0. */
static void sums_begin_as_declared(void **state)
{
    static const char form[] =
        "kernel k(i32 n, const f32 *a, const f32 *b, f32 *c) grid(2, 2) warps(1)\n{\n"
        "global f32 A[24][n] = a, B[n][40] = b, C[24][40] = c;\n"
        "i32 i = block.x * 12, j = block.y * 20;\nreg f32 acc[12][20] = %s;\n"
        "for (i32 p = %s; p < n; p += 24) {\n%s"
        "reg f32 ra[12][24] = A[i +: 12][p +: 24], rb[24][20] = B[p +: 24][j +: 20];\n"
        "acc += dot(ra, rb);\n}\nC[i +: 12][j +: 20] = acc;\n}\n";
    static const char *const starts[] = {"0", "-0.0", "2.5", "(f32) n"};
    static const char *const firsts[] = {"0", "n", "24 * block.x"};
    static const char *const leaves[] = {"", "if (block.y == 1 && p >= 24) break;\n",
                                         "if (block.y == 1) continue;\n"};
    (void)state;
    for (int i = 0; i < 4 * 3 * 3; i++) {
        char text[PACKED_TEXT];
        uint32_t packed;
        snprintf(text, sizeof text, form, starts[i / 9], firsts[i / 3 % 3], leaves[i % 3]);
        packed_expect_same(text, 48, &packed);
        assert_int_equal(packed, 2);
    }
}

/* A product adds in place to a summand that is computed from its own sum, and not if an operand is the
 * sum, too; a product without a summand sets all of its sum, which may hold other values. */
static void summands_are_computed_in_place(void **state)
{
    static const char form[] =
        "kernel k(i32 n, const f32 *a, const f32 *b, f32 *c) grid(2, 2) warps(1)\n{\n"
        "global f32 A[40][n] = a, B[n][40] = b, C[40][40] = c;\n"
        "i32 i = block.x * 20, j = block.y * 20;\nreg f32 acc[20][20] = 1, sum[20][20] = 3;\n"
        "for (i32 p = 0; p < n; p += 20) {\n"
        "reg f32 ra[20][20] = A[i +: 20][p +: 20], rb[20][20] = B[p +: 20][j +: 20];\n"
        "reg f32 e[20][20] = rb * 0.25;\n%s}\nC[i +: 20][j +: 20] = acc + sum;\n}\n";
    static const char *const bodies[] = {
        "acc = acc * 0.5 + dot(ra, rb);\n",
        "acc = where(iota(1, 20) < p, acc, -acc) + dot(e, rb);\n",
        "acc = acc * 0.5 + dot(acc, rb);\n",
        "acc = acc * 0.5 + dot(e, acc);\n",
        "acc = trans(acc) + dot(e, rb);\n",
        "acc = acc * 0.5 + dot(e, rb) + dot(rb, e);\n",
        "sum = dot(e, rb);\nacc += sum;\nsum = dot(ra, rb);\n",
        "sum = dot(sum, e);\nsum = dot(e, sum) * 0.125;\n",
    };
    (void)state;
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        char text[PACKED_TEXT];
        uint32_t packed;
        snprintf(text, sizeof text, form, bodies[i]);
        packed_expect_same(text, 48, &packed);
    }
}

#define PLACED(acc, body)                                                                          \
    "kernel k(i32 n, const f32 *a, const f32 *b, f32 *c) grid(4, 2) warps(1)\n{\n"                 \
    "global f32 A[n][n] = a, B[n][n] = b, C[n][n] = c;\ni32 i = block.x * 12, j = block.y * 20;\n" \
    "shared f32 sa[12][8], sx[12][8];\nreg f32 acc" acc " = 0;\ni32 p = 0;\n" body "}\n"
#define ADDED(rows)                                                                                \
    "while (p < n) {\n"                                                                            \
    "reg f32 ra[" rows "][8] = A[i +: " rows "][p +: 8], rb[8][20] = B[p +: 8][j +: 20];\n"        \
    "acc += dot(ra, rb);\np += 8;\n}\n"

/* Sums are right wherever they are stored after their loop, whatever their operands' tiles hold
 * then. */
static void sums_are_stored_as_written(void **state)
{
    static const char *const texts[] = {
        /* computed places */
        PLACED("[12][20]",
               ADDED("12") "C[block.x * 12 + 1 +: 12][block.y * 20 - p / 8 +: 20] = acc;\n"),
        /* places so far apart that their distance overflows */
        PLACED(
            "[12][20]",
            ADDED("12") "i64 far = block.x % 2 == 0 ? 9223372036854775000 : -9223372036854775000;\n"
                        "C[far +: 12][j +: 20] = acc;\n"),
        PLACED("[12][20]",
               "i64 far = block.x % 2 == 0 ? 9223372036854775800 : -9223372036854775806;\n" ADDED(
                   "12") "C[far +: 12][j +: 20] = acc * 2;\n"),
        /* more rows than the sum has: every row gets the sum */
        PLACED("[1][20]", ADDED("1") "C[i +: 12][j +: 20] = acc;\n"),
        /* the last tile was given to a copy that has not completed */
        PLACED("[12][20]", "while (p < n) {\nsa = A[i +: 12][p +: 8];\nsync();\n"
                           "reg f32 rb[8][20] = B[p +: 8][j +: 20];\nacc += dot(sa, rb);\nsync();\n"
                           "sa = sx;\nsync();\np += 8;\n}\nC[i +: 12][j +: 20] = acc;\n"),
    };
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        uint32_t packed;
        packed_expect_same(texts[i], 31, &packed);
        assert_true(packed > 0);
    }
}

/* --- the visible part of a sum --- */

/* The operands A, B, E and Bias are larger than the views of the sums, so elements outside those
 * views are not 0. */
#define SEEN_HEAD                                                                                  \
    "kernel k(i32 n, const f32 *a, const f32 *b, f32 *c) grid(4, 3) warps(1)\n{\n"                 \
    "global f32 A[48][n] = a, B[n][60] = b, E[48][60] = b, Bias[60] = a + 7;\n"                    \
    "global f32 C[25][30] = c, D[28][45] = c + 2048, F[60][48] = c + 4096, R[48][3] = c + 8192;\n" \
    "i32 i = block.x * 12, j = block.y * 20, q = j;\n"
#define SEEN_LOOP                                                                                  \
    "for (i32 p = 0; p < n; p += 24) {\n"                                                          \
    "reg f32 ra[12][24] = A[i +: 12][p +: 24], rb[24][20] = B[p +: 24][j +: 20];\n"                \
    "acc += dot(ra, rb);\n}\n"
#define SEEN_SUM SEEN_HEAD "reg f32 acc[12][20] = 0;\n" SEEN_LOOP

struct seen_case {
    bool clipped; /* products leave out invisible elements */
    const char *text;
};

static const struct seen_case seen_cases[] = {
    {true, SEEN_SUM "C[i +: 12][j +: 20] = acc;\n}\n"},
    {true, SEEN_SUM "C[i +: 12][j +: 20] = acc + Bias[j +: 20];\n}\n"},
    {true, SEEN_SUM "reg f32 x[12][20] = acc + Bias[j +: 20];\n"
                    "C[i +: 12][j +: 20] = 0.5 * x * (1 + tanh(x + x * x));\n}\n"},
    {true, SEEN_SUM "C[i +: 12][j +: 20] = where(acc > 0, 2 * acc + 0.5 * E[i +: 12][j +: 20], "
                    "(f32) (i32) acc);\n}\n"},
    /* other tiles in between, declared before and assigned to */
    {true, SEEN_HEAD "reg f32 acc[12][20] = 0, top[12][20] = 1;\n" SEEN_LOOP
                     "acc = -acc;\nif (block.x > 0)\ntop = max(top, acc);\n"
                     "C[i +: 12][j +: 20] = top * top;\n}\n"},
    /* the largest part of any store, whichever is reached */
    {true, SEEN_SUM "D[i +: 12][j +: 20] = acc;\nC[i +: 12][j +: 20] = acc * 2;\n}\n"},
    {true, SEEN_SUM "if (block.x == block.y)\nC[i +: 12][j +: 20] = acc;\n"
                    "else\nD[i +: 12][j +: 20] = acc + 1;\n}\n"},
    {true, SEEN_SUM "C[i +: 12][j +: 20] = acc * 2;\nD[i - 8 +: 12][j - 8 +: 20] = acc * 3;\n}\n"},
    {true, SEEN_SUM "atomic_add(C[i +: 12][j +: 20], acc * 2);\n}\n"},
    /* it does not begin with 0, begins with a product, or has several */
    {true, SEEN_HEAD "reg f32 acc[12][20] = E[i +: 12][j +: 20];\n" SEEN_LOOP
                     "C[i +: 12][j +: 20] = acc;\n}\n"},
    {true, SEEN_HEAD "reg f32 ra[12][8] = A[i +: 12][0 +: 8], rb[8][20] = B[0 +: 8][j +: 20];\n"
                     "reg f32 acc[12][20] = dot(ra, rb);\n" SEEN_LOOP
                     "C[i +: 12][j +: 20] = acc * 2;\n}\n"},
    {true, SEEN_SUM "acc = acc * 0.5;\n" SEEN_LOOP "C[i +: 12][j +: 20] = acc * 2;\n}\n"},
    {true, SEEN_HEAD "reg f32 acc[12][20] = 0;\nfor (i32 p = 0; p < n; p += 24) {\n"
                     "reg f32 ra[12][24] = A[i +: 12][p +: 24], rb[24][20] = B[p +: 24][j +: 20];\n"
                     "acc = acc * 0.5 + dot(ra, rb);\nacc += dot(ra * 2, rb);\n}\n"
                     "C[i +: 12][j +: 20] = acc - 1;\n}\n"},
    /* it gets no product, or gets one in some blocks alone */
    {true, SEEN_HEAD "reg f32 acc[12][20] = 0;\nfor (i32 p = n * (block.x % 2); p < n; p += 24) {\n"
                     "reg f32 ra[12][24] = A[i +: 12][p +: 24], rb[24][20] = B[p +: 24][j +: 20];\n"
                     "acc += dot(ra, rb);\n}\nC[i +: 12][j +: 20] = acc + 2;\n}\n"},
    /* one sum after another, each in its own place */
    {true, SEEN_HEAD "for (i32 t = 0; t < 2; t++) {\nreg f32 acc[12][20] = 0;\n" SEEN_LOOP
                     "C[i + 48 - t * 48 +: 12][j +: 20] = acc * 2;\n}\n}\n"},
    {true, SEEN_HEAD "unroll for (i32 t = 0; t < 2; t++) {\nreg f32 acc[12][20] = 0;\n" SEEN_LOOP
                     "C[i + 48 - t * 48 +: 12][j +: 20] = acc * 2;\n}\n}\n"},
    /* the place changes before the sum, and after it */
    {true, SEEN_HEAD "reg f32 acc[12][20] = 0;\nq = q + 1;\ni32 r = i - 1;\n" SEEN_LOOP
                     "C[r +: 12][q +: 20] = acc * 2;\nr = r + 50;\nq = q + 50;\n}\n"},
    /* in the loop, before the store, or after one and before another */
    {false, SEEN_SUM "q = q - 9;\nC[i +: 12][q +: 20] = acc * 2;\n}\n"},
    {false, SEEN_SUM "C[i +: 12][q +: 20] = acc * 2;\nq = q - 9;\nD[i +: 12][q +: 20] = acc;\n}\n"},
    {false, SEEN_SUM "i32 r = i - 8;\nC[r +: 12][j +: 20] = acc * 2;\n}\n"},
    {false, SEEN_HEAD "unroll for (i32 t = 0; t < 2; t++) {\nreg f32 acc[12][20] = 0;\n" SEEN_LOOP
                      "i32 r = i + 48 - t * 48;\nC[r +: 12][j +: 20] = acc * 2;\n}\n}\n"},
    {false, SEEN_SUM "for (i32 t = 0; t < 2; t++)\n"
                     "D[i + 48 - t * 48 +: 12][j +: 20] = acc * 2;\n}\n"},
    {false, SEEN_HEAD "reg f32 acc[12][20] = 0;\nfor (i32 t = 0; t < 2; t++) {\n" SEEN_LOOP
                      "D[i + 48 - t * 48 +: 12][j +: 20] = acc * 2;\n}\n}\n"},
    /* another tile keeps it for the next iteration's place */
    {false, SEEN_HEAD "reg f32 last[12][20] = 0;\nfor (i32 t = 0; t < 2; t++) {\n"
                      "i32 r = i + 48 - t * 48;\nC[r +: 12][j +: 20] = last;\n"
                      "reg f32 acc[12][20] = 0;\n" SEEN_LOOP "last = acc * 2;\n}\n}\n"},
    /* all of it is visible: reductions, scans, other places, operands, memory of the block */
    {false, SEEN_SUM "C[i +: 12][j +: 20] = acc * 2;\n"
                     "R[i +: 12][block.y +: 1] = sum(acc, axis = 1);\n}\n"},
    {false, SEEN_SUM "reg f32 x[12][20] = acc * 2;\nC[i +: 12][j +: 20] = x;\n"
                     "R[i +: 12][block.y +: 1] = max(x, axis = 1);\n}\n"},
    {false, SEEN_SUM "if (sum(acc) > 0)\nacc = acc * 3;\nC[i +: 12][j +: 20] = acc;\n}\n"},
    {false, SEEN_SUM "C[i +: 12][j +: 20] = acc - max(acc, axis = 1);\n}\n"},
    {false, SEEN_SUM "C[i +: 12][j +: 20] = scan(add, acc, axis = 1);\n}\n"},
    {false, SEEN_SUM "C[i +: 12][j +: 20] = acc;\nF[j +: 20][i +: 12] = trans(acc);\n}\n"},
    {false, SEEN_SUM "C[i +: 12][j +: 20] = acc;\nreg f32 rb[20][20] = E[j +: 20][0 +: 20];\n"
                     "D[i +: 12][j +: 20] = dot(acc, rb);\n}\n"},
    {false, SEEN_SUM "C[i +: 12][j +: 20] = acc;\nshared f32 s[12][20] = acc;\nsync();\n"
                     "F[i +: 12][j +: 20] = s;\n}\n"},
    {false, SEEN_SUM "assume(sum(acc) < 0 || sum(acc) > -1);\nC[i +: 12][j +: 20] = acc;\n}\n"},
    /* a division by an element outside is a fault */
    {false, "kernel k(i32 n, const f32 *a, const f32 *b, f32 *c) grid(3) warps(1)\n{\n"
            "global f32 A[25][n] = a, B[n][20] = b, C[25][20] = c;\ni32 i = block.x * 12, j = 0;\n"
            "reg f32 acc[12][20] = 0;\n" SEEN_LOOP
            "C[i +: 12][j +: 20] = (f32) (100000 / (i32) (acc * acc * 1000));\n}\n"},
};

/* Returns true if some product knows the visible part of its sum. */
static bool is_clipped(const char *text)
{
    struct cpu_run r;
    bool found = false;
    cpu_open_plain(&r, text, (const struct given[]){{"n", 25}, {NULL, 0}}, routine_set_at(0),
                   false);
    for (size_t i = 0; i < r.program->count; i++) {
        const struct instr *in = &r.program->code[i];
        found |= in->step == step_dot && ((const struct dot_detail *)in->detail)->seen;
    }
    cpu_close(&r);
    return found;
}

/* Products leave out elements beyond the edges of the views that their sums end in, and results
 * do not change. */
static void what_is_not_seen_is_left_out(void **state)
{
    static const struct {
        double (*element)(size_t i);
        int64_t depth;
    } cases[] = {{packed_usual, 25}, {packed_sometimes_infinite, 25}, {packed_usual, 530}};
    (void)state;
    for (size_t i = 0; i < sizeof seen_cases / sizeof *seen_cases; i++) {
        const struct seen_case *s = &seen_cases[i];
        if (is_clipped(s->text) != s->clipped)
            fail_msg("products are %sclipped\n%s", s->clipped ? "not " : "", s->text);
        for (size_t j = 0; j < sizeof cases / sizeof *cases; j++) {
            uint32_t packed;
            packed_element = cases[j].element;
            packed_expect_same(s->text, cases[j].depth, &packed);
        }
    }
    packed_element = packed_usual;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_begin_as_declared),
        cmocka_unit_test(summands_are_computed_in_place),
        cmocka_unit_test(sums_are_stored_as_written),
        cmocka_unit_test(what_is_not_seen_is_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
