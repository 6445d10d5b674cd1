/* Packed tiles and delayed products (src/cpu/packed.h), compared with the plain way, in which
 * tiles are stored as declared and every product is added at once: the same bits and the same
 * faults, with every set of routines, on one worker and on three. */
#include "cpu_helper.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

enum { ARRAY = 1 << 19, WIDE_ARRAY = 56 * 4096 * 4, MOST_TEXT = 2048 };

struct outcome {
    struct cpu_fault fault;
    int line;
    unsigned char c[ARRAY];
};

static double usual(size_t i)
{
    return (double)(i * 37 % 101) / 7 - 6;
}

static double sometimes_infinite(size_t i)
{
    return i * 37 % 101 == 100 ? INFINITY : usual(i);
}

/* Products of two are too small for f32, and most values are negative. */
static double tiny(size_t i)
{
    return i % 3 == 1 ? 1e-30 : -1e-30;
}

static double (*element)(size_t i) = usual; /* of an array */

static void fill(const struct param *p, unsigned char *data)
{
    static unsigned char filled[DT_COUNT][ARRAY];
    static double (*made[DT_COUNT])(size_t i); /* the fill function of each type */
    enum dtype t = p->sym->type.dtype;
    size_t size = dtype_size(t);
    for (size_t i = 0; i < ARRAY / size && made[t] != element; i++)
        dtype_store_f64(t, filled[t] + i * size, element(i));
    made[t] = element;
    memcpy(data, filled[t], ARRAY);
}

/* *packed: the number of tiles that the engine packs. */
static void run_once(const char *text, int64_t n, const struct routine_set *set, bool plain,
                     int threads, struct outcome *out, uint32_t *packed)
{
    struct cpu_run r;
    cpu_open_plain(&r, text, (const struct given[]){{"n", n}, {NULL, 0}}, set, plain);
    *packed = r.program->packed_states;
    for (const struct param *p = r.kernel->params; p; p = p->next)
        if (p->sym->is_pointer) {
            unsigned char *data = cpu_array(&r, p->sym->name, ARRAY);
            if (p->sym->is_const)
                fill(p, data);
        }
    cpu_go(&r, threads);
    out->fault = r.fault;
    out->line = r.line;
    memcpy(out->c, r.args[r.kernel->param_count - 1].data, ARRAY);
    cpu_close(&r);
}

/* Runs the text on three workers; returns the fault, and in *packed the number of packed stages
 * of tiles. */
static struct cpu_fault look_for_races(const char *text, int64_t n, uint32_t *packed)
{
    static struct outcome got;
    run_once(text, n, NULL, false, 3, &got, packed);
    return got.fault;
}

/* Runs the text each way; returns the fault, and in *packed the number of packed stages of
 * tiles. */
static struct cpu_fault expect_same(const char *text, int64_t n, uint32_t *packed)
{
    if (TW_TEST_RACES_ONLY)
        return look_for_races(text, n, packed);
    struct outcome *plain = calloc(1, sizeof *plain), *got = calloc(1, sizeof *got);
    uint32_t none;
    assert_true(plain && got);
    run_once(text, n, routine_set_at(0), true, 1, plain, &none);
    assert_int_equal(none, 0);
    for (int s = 0; routine_set_at(s); s++)
        for (int threads = 1; threads <= 3; threads += 2) {
            const char *name = routine_set_at(s)->name;
            run_once(text, n, routine_set_at(s), false, threads, got, packed);
            if (plain->fault.kind != got->fault.kind || plain->line != got->line ||
                strcmp(plain->fault.message, got->fault.message) != 0)
                fail_msg("n = %d: plain: line %d: %s; %s: line %d: %s\n%s", (int)n, plain->line,
                         plain->fault.message, name, got->line, got->fault.message, text);
            if (plain->fault.kind == CPU_OK && memcmp(plain->c, got->c, ARRAY) != 0)
                fail_msg("n = %d, %s, %d threads: other values\n%s", (int)n, name, threads, text);
        }
    struct cpu_fault fault = plain->fault;
    free(plain);
    free(got);
    return fault;
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
            struct cpu_fault fault = expect_same(samples[i].text, sizes[n], &packed);
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
        expect_same(text, depths[i], &packed);
        assert_int_equal(packed, 2);
    }
}

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
        char text[MOST_TEXT];
        uint32_t packed;
        snprintf(text, sizeof text, form, starts[i / 9], firsts[i / 3 % 3], leaves[i % 3]);
        expect_same(text, 48, &packed);
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
        char text[MOST_TEXT];
        uint32_t packed;
        snprintf(text, sizeof text, form, bodies[i]);
        expect_same(text, 48, &packed);
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
        expect_same(texts[i], 31, &packed);
        assert_true(packed > 0);
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
    } cases[] = {{usual, 25}, {sometimes_infinite, 25}, {tiny, 25}, {usual, 530}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        element = cases[i].element;
        for (size_t j = 0; j < sizeof texts / sizeof *texts; j++) {
            uint32_t packed;
            expect_same(texts[j], cases[i].depth, &packed);
            assert_int_equal(packed, 2);
        }
    }
    element = usual;
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
    } cases[] = {{usual, 25}, {sometimes_infinite, 25}, {usual, 530}};
    (void)state;
    for (size_t i = 0; i < sizeof seen_cases / sizeof *seen_cases; i++) {
        const struct seen_case *s = &seen_cases[i];
        if (is_clipped(s->text) != s->clipped)
            fail_msg("products are %sclipped\n%s", s->clipped ? "not " : "", s->text);
        for (size_t j = 0; j < sizeof cases / sizeof *cases; j++) {
            uint32_t packed;
            element = cases[j].element;
            expect_same(s->text, cases[j].depth, &packed);
        }
    }
    element = usual;
}

/* Runs the text with n = 96; its last array shares the memory of the array of that name. */
static void run_over(const char *text, const struct routine_set *set, bool plain, const char *name,
                     unsigned char *data)
{
    struct cpu_run r;
    cpu_open_plain(&r, text, (const struct given[]){{"n", 96}, {NULL, 0}}, set, plain);
    const struct param *a = r.kernel->params->next;
    fill(a, cpu_array(&r, "a", ARRAY));
    fill(a, cpu_array(&r, "b", ARRAY));
    struct cpu_argument *c = &r.args[r.kernel->param_count - 1], own = *c;
    c->data = r.args[strcmp(name, "a") == 0 ? a->sym->index : a->next->sym->index].data;
    c->bytes = ARRAY;
    cpu_go(&r, 1);
    assert_int_equal(r.fault.kind, CPU_OK);
    memcpy(data, c->data, ARRAY);
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
    static unsigned char data[2][ARRAY];
    (void)state;
    for (int column = 0; column <= 72; column += 24)
        for (int s = 0; routine_set_at(s); s++) {
            char written[MOST_TEXT];
            snprintf(written, sizeof written, text, column);
            for (int plain = 0; plain < 2; plain++)
                run_over(written, routine_set_at(s), plain, "a", data[plain]);
            assert_memory_equal(data[0], data[1], ARRAY);
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
    static unsigned char data[2][ARRAY];
    static const char *const types[][2] = {
        {"f32", "acc"}, {"f16", "(f16) acc"}, {"bf16", "(bf16) acc"}};
    (void)state;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        for (int s = 0; routine_set_at(s); s++) {
            const char *t = types[i][0];
            char written[MOST_TEXT];
            snprintf(written, sizeof written, text, t, t, t, t, t, t, types[i][1]);
            for (int plain = 0; plain < 2; plain++)
                run_over(written, routine_set_at(s), plain, "b", data[plain]);
            if (memcmp(data[0], data[1], ARRAY) != 0)
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
        assert_int_equal(expect_same(cases[i].text, cases[i].depth, &packed).kind, CPU_OK);
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
    fill(a, cpu_array(&r, "a", WIDE_ARRAY));
    fill(b, cpu_array(&r, "b", WIDE_ARRAY));
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
    assert_int_equal(expect_same(text, 530, &packed).kind, CPU_OK);
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
            assert_int_equal(expect_same(texts[i], n, &packed).kind, CPU_OK);
            assert_int_equal(packed, 2);
        }
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
    snprintf(text, MOST_TEXT,
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
    char text[MOST_TEXT];
    (void)state;
    for (int i = 0; i < (TW_TEST_RACES_ONLY ? 40 : 400); i++) {
        struct shape s = draw_shape(&seed);
        uint32_t packed;
        write_text(&s, text);
        expect_same(text, 1 + cpu_draw(&seed, s.batch ? 40 : 60), &packed);
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
    char text[MOST_TEXT];
    int last = 0;
    (void)state;
    while (routine_set_at(last + 1))
        last++;
    for (int i = 0; i < (TW_TEST_RACES_ONLY ? 40 : 300); i++) {
        struct shape s = draw_integers(&seed);
        uint32_t packed;
        element = strcmp(s.type[0], "i16") == 0 ? any_i16 : any_byte;
        write_text(&s, text);
        expect_same(text, 1 + cpu_draw(&seed, i % 8 == 0 ? 250 : 60), &packed);
        assert_int_equal(packed, packs_integers(routine_set_at(last), &s));
    }
    element = usual;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_are_the_same),
        cmocka_unit_test(deep_products_are_the_same),
        cmocka_unit_test(sums_begin_as_declared),
        cmocka_unit_test(summands_are_computed_in_place),
        cmocka_unit_test(sums_are_stored_as_written),
        cmocka_unit_test(edges_are_the_same),
        cmocka_unit_test(what_is_not_seen_is_left_out),
        cmocka_unit_test(sums_may_go_where_operands_came_from),
        cmocka_unit_test(sums_may_go_where_panels_came_from),
        cmocka_unit_test(operands_are_packed_on_the_way),
        cmocka_unit_test(parts_are_packed_once),
        cmocka_unit_test(many_tiles_are_the_same),
        cmocka_unit_test(many_sums_are_compiled_in_time),
        cmocka_unit_test(views_are_read_as_they_lie),
        cmocka_unit_test(random_products_are_the_same),
        cmocka_unit_test(random_integers_are_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
