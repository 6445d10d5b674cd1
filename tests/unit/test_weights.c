/* Weights that are unpacked from bytes and scaled on their way into `dot` (tile/weights.h). Each
 * program runs as it is written, in the plain way, and with the passes and joined blocks, with every
 * set of routines: the same bits. */
#include "cpu_helper.h"
#include "halves_model.h"
#include "test_layout_random.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { ARRAY = 3 << 15 };

/* The scales of f32, f16 and bf16: as other arrays; of usual sizes, so that all products are normal
 * numbers in f16; products that are subnormal in f16; those that are too large; usual ones and a few
 * that are infinite or NaN. */
enum { SCALES_AS_OTHERS, SCALES_USUAL, SCALES_SMALL, SCALES_LARGE, SCALES_STRANGE };
static int scales;

static double scale_at(size_t i)
{
    const double usual = (i % 3 == 0 ? -1 : 1) * (0.01 + (double)(i * 37 % 10007) / 1000);
    if (scales == SCALES_STRANGE && i % 997 == 0)
        return i % 2 ? INFINITY : NAN;
    return usual * (scales == SCALES_SMALL ? 0x1p-20 : scales == SCALES_LARGE ? 0x1p13 : 1);
}

/* Fills arrays that are not written: bytes of all values, and floats of both signs, some of them 0 or
 * so small that products are subnormal in f16. */
static void fill_arrays(struct cpu_run *r)
{
    for (const struct param *p = r->kernel->params; p; p = p->next) {
        if (!p->sym->is_pointer)
            continue;
        unsigned char *data = cpu_array(r, p->sym->name, ARRAY);
        enum dtype t = p->sym->type.dtype;
        size_t size = dtype_size(t);
        for (size_t i = 0; p->sym->is_const && i < ARRAY / size; i++)
            if (size == 1)
                data[i] = (unsigned char)(i * 37 + i / 251);
            else if (scales != SCALES_AS_OTHERS && strcmp(p->sym->name, "s") == 0)
                dtype_store_f64(t, data + i * size, scale_at(i));
            else
                dtype_store_f64(t, data + i * size,
                                i % 13 == 0   ? -0.0
                                : i % 11 == 0 ? 1e-6
                                              : (double)(i * 37 % 101) / 7 - 6);
    }
}

static void run_program(struct cpu_run *r, int threads, struct cpu_outcome *out)
{
    fill_arrays(r);
    cpu_go(r, threads);
    cpu_keep_outcome(r, ARRAY, out);
    for (size_t i = 0; i + sizeof(float) <= sizeof out->bytes; i += sizeof(float)) {
        float y; /* all NaN of the result, which is f32, get one payload */
        memcpy(&y, (const char *)out->bytes + i, sizeof y);
        y = isnan(y) ? NAN : y;
        memcpy((char *)out->bytes + i, &y, sizeof y);
    }
}

/* Runs the text as written, with the passes, and with blocks joined in all ways; m rows.
 * Returns the least number of parts of views that operands are packed from. */
static unsigned expect_same(const char *text, int64_t m, int64_t n)
{
    enum { WAYS = 1 + MOST_JOINED };
    const struct given given[] = {{"m", m}, {"n", n}, {NULL, 0}};
    struct cpu_outcome *written = malloc(sizeof *written), *got = malloc(sizeof *got);
    struct cpu_run r;
    unsigned parts = UINT32_MAX;
    assert_true(written && got);
    cpu_open_as_written(&r, text, given);
    run_program(&r, 1, written);
    cpu_close(&r);
    for (int s = 0; set_at(s); s++)
        for (int way = 0; way < WAYS; way++) {
            cpu_open_with(&r, text, given, set_at(s));
            const struct kernel *joined =
                way > 0 && way <= r.joined_count ? r.joined[way - 1].kernel : NULL;
            if (joined)
                r.program = cpu_compile_with(&r.arena, joined, set_at(s), false, &r.why);
            assert_non_null(r.program);
            parts = r.program->packed_count < parts ? r.program->packed_count : parts;
            if (way == 0 || joined)
                run_program(&r, s % 2 ? 3 : 1, got);
            cpu_close(&r);
            if (way == 0 || joined)
                cpu_expect_same(written, got, set_at(s)->name, n, text);
        }
    free(written);
    free(got);
    return parts;
}

#define KERNEL(type, codes, scale, views)                                                          \
    "kernel k(i32 m, i32 n, const " type " *x, const " codes " *w, const " scale " *s,"            \
    " const u8 *z, f32 *y) grid(cdiv(m, 12), cdiv(n, 16)) warps(1)\n{\n"                           \
    "global " type " X[m][n] = x;\nglobal f32 Y[m][n] = y;\n" views                                \
    "i32 i = block.x * 12, j = block.y * 16;\nreg f32 acc[12][16] = 0;\n"
/* Two elements a byte, and a scale for 8 steps and a column. */
#define HALVES(type, scale)                                                                        \
    KERNEL(type, "u8", scale,                                                                      \
           "global u8 W[cdiv(n, 2)][n] = w;\nglobal " scale " S[cdiv(n, 8)][n] = s;\n"             \
           "reg i32 shift[8][1] = (iota() & 1) * 4;\n")
#define LOOP "for (i32 p = 0; p < n; p += 8) {\n"
#define CODES                                                                                      \
    "reg u8 b[4][16] = W[p / 2 +: 4][j +: 16];\n"                                                  \
    "reg i32 q[8][16] = (i32) repeat_interleave(b, 2, 1) >> shift & 15;\n"
#define SCALES(type) "reg " type " t[1][16] = S[p / 8 +: 1][j +: 16];\n"
#define DOT(value) "acc += dot(X[i +: 12][p +: 8], " value ");\n"
#define TAIL "Y[i +: 12][j +: 16] = acc;\n}\n"

#define BEFORE "for (i32 p = -8; p < n; p += 8) {\n"
#define AFTER(value) "acc += dot(X[i +: 12][p + 8 +: 8], " value ");\n"

static const char *const weights[] = {
    HALVES("f16", "f16") LOOP CODES SCALES("f16") DOT("(f16) (q - 8) * t") "}\n" TAIL,
    HALVES("bf16", "bf16") LOOP CODES SCALES("bf16") DOT("(bf16) (q - 8) * t") "}\n" TAIL,
    HALVES("f32", "f32") LOOP CODES SCALES("f32") DOT("t * (f32) q") "}\n" TAIL,
    /* the author names the operand; shared tiles; a rest of the depth */
    HALVES("f16", "f16") LOOP
    "shared u8 b[4][16] = W[p / 2 +: 4][j +: 16];\n"
    "reg f16 d[8][16] = (f16) (((i32) repeat_interleave(b, 2, 1) >> shift & 15) - 8)"
    " * S[min(p / 8, n / 8)][j +: 16];\n" DOT("d") "}\n" TAIL,
    /* a pipeline */
    HALVES("f16",
           "f16") "pipeline(3) " LOOP "shared f16 sx[12][8] = X[i +: 12][p +: 8];\n"
                  "shared u8 b[4][16] = W[p / 2 +: 4][j +: 16];\nshared f16 t[1][16] = S[p / 8 +: "
                  "1][j +: 16];\n"
                  "reg i32 q[8][16] = ((i32) repeat_interleave(b, 2, 1) >> shift & 15) - 8;\n"
                  "acc += dot(sx, (f16) q * t);\n}\n" TAIL,
    /* the upper half first; numbers with a sign */
    HALVES("f16", "f16")
        LOOP CODES SCALES("f16") "}\n" LOOP "reg u8 b[4][16] = W[p / 2 +: 4][j +: 16];\n"
                                 "reg i32 q[8][16] = ((i32) repeat_interleave(b, 2, 1) >> 4 - "
                                 "shift & 15 ^ 8) - 8;\n" SCALES("f16")
                                     DOT("(f16) q * t") "}\n" TAIL,
    /* zero points, and a scale that is subtracted from */
    HALVES("f16", "f16") "global u8 Z[cdiv(n, 8)][n] = z;\n" LOOP CODES
        SCALES("f16") "reg i32 zero[1][16] = (i32) Z[p / 8 +: 1][j +: 16];\n" DOT(
            "(f16) (q - zero) * t") "}\n" TAIL,
    HALVES("bf16", "bf16") "global bf16 G[n] = s;\n" LOOP CODES DOT(
        "(G[j +: 16] - (bf16) q) * S[p / 8 +: 1][j +: 16]") "}\n" TAIL,
    /* each scale is for 4 steps */
    KERNEL("f16", "u8", "f16",
           "global u8 W[cdiv(n, 2)][n] = w;\n"
           "global f16 S[cdiv(n, 4)][n] = s;\nreg i32 shift[8][1] = (iota() & 1) * 4;\n") LOOP CODES
    "reg f16 t[8][16] = repeat_interleave(S[p / 4 +: 2][j +: 16], 4, 1);\n" DOT(
        "(f16) (q - 8) * t") "}\n" TAIL,
    /* four elements a byte, none of them a scale's neighbour; bytes with a sign, for all steps */
    KERNEL("f32", "u8", "f32", "global u8 W[cdiv(n, 4)][n] = w;\nglobal f32 S[n] = s;\n") LOOP
    "reg u8 b[2][16] = W[p / 4 +: 2][j +: 16];\n"
    "reg i32 q[8][16] = (i32) repeat_interleave(b, 4, 1) >> (iota(8, 1) & 3) * 2 & 3;\n" DOT(
        "(f32) (q - 2) * S[j +: 16]") "}\n" TAIL,
    KERNEL("f16", "i8", "f16", "global i8 W[n][n] = w;\nglobal f16 S[n] = s;\n")
        LOOP DOT("(f16) W[p +: 8][j +: 16] * S[j +: 16]") "}\n" TAIL,
    KERNEL("bf16", "i8", "f32", "global i8 W[n][n] = w;\n")
        LOOP DOT("(bf16) W[p +: 8][j +: 16]") "}\n" TAIL,
    /* bytes as numbers, transposed, on both sides */
    KERNEL("f16", "i8", "f16", "global i8 W[n][n] = w;\n") LOOP
    "shared i8 b[16][8] = W[j +: 16][p +: 8];\nreg f16 d[16][8] = (f16) b;\n" DOT(
        "trans(d)") "}\n" TAIL,
    KERNEL("bf16", "i8", "f16", "global i8 W[n][n] = w;\n")
        LOOP DOT("trans((bf16) W[j +: 16][p +: 8])") "}\n" TAIL,
    KERNEL("f32", "u8", "f16", "global u8 W[n][n] = w;\nglobal u8 L[m][n] = z;\n") LOOP
    "reg f32 l[12][8] = (f32) L[i +: 12][p +: 8];\n"
    "acc += dot(l, (f32) W[p +: 8][j +: 16]);\n}\n" TAIL,
    /* any function of the byte, one of both halves */
    KERNEL("f32", "u8", "f32", "global u8 W[n][n] = w;\n")
        LOOP DOT("where(W[p +: 8][j +: 16] > 99, 1.5, (f32) (W[p +: 8][j +: 16] / 3))") "}\n" TAIL,
    KERNEL("f16", "i8", "f16", "global i8 W[cdiv(n, 2)][n] = w;\n") LOOP
    "reg i8 b[4][16] = W[p / 2 +: 4][j +: 16];\n"
    "reg i8 q[8][16] = (repeat_interleave(b, 2, 1) << 4 - (iota(8, 1) & 1) * 4) >> 4;\n" DOT(
        "(f16) q * 0.1") "}\n" TAIL,
    /* scales of another place: other groups, other columns, always the first, of no group at all */
    HALVES("f16", "f16") LOOP CODES DOT("(f16) q * S[p / 8 + 1 +: 1][j +: 16]") "}\n" TAIL,
    HALVES("f16", "f16") LOOP CODES DOT("(f16) q * S[p / 8 +: 1][j + 3 +: 16]") "}\n" TAIL,
    HALVES("f16", "f16") LOOP CODES DOT("(f16) q * S[0][j +: 16]") "}\n" TAIL,
    HALVES("f16", "f16") "for (i32 p = 8; p < n; p += 8) {\n" CODES SCALES("f16")
        DOT("(f16) q * t") "}\n" TAIL,
    HALVES("f16", "f16") "for (i32 p = 0; p < n; p += 2) {\n" CODES SCALES("f16")
        DOT("(f16) q * t") "}\n" TAIL,
    /* from an odd step; before the first row, where the left operand has elements all the same */
    KERNEL("bf16", "i8", "f16", "global i8 W[n][n] = w;\n") "for (i32 p = 1; p < n; p += 8) "
                                                            "{\n" DOT("(bf16) ((i32) W[p +: 8][j "
                                                                      "+: 16] - 3)") "}\n" TAIL,
    HALVES("f32", "f32") BEFORE CODES AFTER("(f32) (q - 8)") "}\n" TAIL,
    KERNEL("f32", "i8", "f32", "global i8 W[n][n] = w;\nglobal f32 S[cdiv(n, 4)][n] = s;\n")
        BEFORE AFTER(
            "(f32) W[p +: 8][j +: 16] - repeat_interleave(S[p / 4 +: 2][j +: 16], 4, 1)") "}"
                                                                                          "\n" TAIL,
    KERNEL("f32", "i8", "f32", "global i8 W[n][n] = w;\nglobal f32 S[cdiv(n, 8)][n] = s;\n")
        BEFORE AFTER("((f32) W[p +: 8][j +: 16] - 8) * repeat_interleave(S[p / 8 +: 1][j +: 16], "
                     "8, 1)") "}\n" TAIL,
    /* no loop, and two products of the same codes with different scales */
    HALVES("f16", "f16") "i32 p = 0;\n" CODES SCALES("f16") DOT("(f16) q * t") TAIL,
    HALVES("f16", "f16") LOOP CODES SCALES("f16")
        DOT("(f16) q * t") "reg u8 c[4][16] = W[p / 2 +: 4][j +: 16];\n" DOT(
            "(f16) ((i32) repeat_interleave(c, 2, 1) >> shift & 15) * S[p / 8 +: 1][j + 1 +: "
            "16]") "}\n" TAIL,
};

static void weights_keep_bits(void **state)
{
    static const int64_t rows[] = {1, 29}, columns[] = {6, 31, 150};
    (void)state;
    for (size_t i = 0; i < sizeof weights / sizeof *weights; i++)
        for (size_t m = 0; m < sizeof rows / sizeof *rows; m++)
            for (size_t n = 0; n < sizeof columns / sizeof *columns; n++)
                if (expect_same(weights[i], rows[m], columns[n]) < 2)
                    fail_msg("the weights are not packed\n%s", weights[i]);
}

/* With scales of usual sizes, few rows round weights in another way, with
 * tables that allow it and that do not. */
static void usual_scales_keep_bits(void **state)
{
    static const char *const texts[] = {
        HALVES("f16", "f16") LOOP CODES SCALES("f16") DOT("(f16) (q - 8) * t") "}\n" TAIL,
        HALVES("bf16", "bf16") LOOP CODES SCALES("bf16") DOT("(bf16) (q - 8) * t") "}\n" TAIL,
        HALVES("f32", "f32") LOOP CODES SCALES("f32") DOT("(f32) (q - 8) * t") "}\n" TAIL,
        /* values of many bits, and of more than the type has */
        HALVES("f16", "f16") LOOP CODES SCALES("f16")
            DOT("(f16) ((f32) (q * 35 + 481) / 64) * t") "}\n" TAIL,
        HALVES("bf16", "bf16") LOOP CODES SCALES("bf16")
            DOT("(bf16) ((f32) (q * 35 + 481) / 64) * t") "}\n" TAIL,
        HALVES("f16", "f16") LOOP CODES SCALES("f16")
            DOT("(f16) ((f32) (q * 137 + 4097) / 1024 * (f32) t)") "}\n" TAIL,
        /* zero points: bytes, and numbers of the type */
        HALVES("f16", "f16") "global u8 Z[cdiv(n, 8)][n] = z;\n" LOOP CODES SCALES("f16")
            DOT("(f16) (q - (i32) Z[p / 8 +: 1][j +: 16]) * t") "}\n" TAIL,
        HALVES("bf16", "bf16") "global u8 Z[n] = z;\n" LOOP CODES SCALES("bf16")
            DOT("((bf16) q - (bf16) Z[j +: 16]) * t") "}\n" TAIL,
        HALVES("f16", "f16") "global f16 G[n] = s;\n" LOOP CODES SCALES("f16")
            DOT("((f16) q - G[j +: 16]) * t") "}\n" TAIL,
        /* values beyond 16, and below 1/2 */
        HALVES("f16", "f16") LOOP CODES SCALES("f16") DOT("(f16) (q * 4096) * t") "}\n" TAIL,
        HALVES("f16", "f16") LOOP CODES SCALES("f16") DOT("(f16) ((f32) q / 65536) * t") "}\n" TAIL,
    };
    (void)state;
    scales = SCALES_USUAL;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        for (int64_t n = 128; n <= 300; n += 172)
            if (expect_same(texts[i], 1, n) < 2)
                fail_msg("the weights are not packed\n%s", texts[i]);
    scales = SCALES_AS_OTHERS;
}

/* Random chains of weights of 4 bits: the order of the halves, the form of the codes, zero points, the
 * types, and the sizes of scales. */
static void random_chains_keep_bits(void **state)
{
    static const char *const types[] = {"f16", "f16", "bf16", "f32"};
    static const char *const forms[] = {"q - 8", "q", "(q ^ 8) - 8", "q * 3 - 20"};
    static const char *const zeros[] = {"", "", " - (i32) Z[p / 8 +: 1][j +: 16]"};
    uint64_t seed = 32;
    (void)state;
    for (int round = 0, rounds = random_rounds(12); round < rounds; round++) {
        char text[2000], value[200];
        const char *type = types[random_below(&seed, 4)], *by = types[random_below(&seed, 4)];
        const bool same = random_below(&seed, 4) > 0, upper = random_below(&seed, 4) == 0;
        by = same ? type : by;
        snprintf(value, sizeof value, "(%s) (%s%s)", type, forms[random_below(&seed, 4)],
                 zeros[random_below(&seed, 3)]);
        if (random_below(&seed, 4) == 0) /* a zero point of the scales' type */
            snprintf(value + strlen(value), sizeof value - strlen(value), " - (%s) G[j +: 16]",
                     type);
        snprintf(
            text, sizeof text,
            "kernel k(i32 m, i32 n, const %s *x, const u8 *w, const %s *s, const u8 *z, f32 *y) "
            "grid(cdiv(m, 12), cdiv(n, 16)) warps(1)\n{\n"
            "global %s X[m][n] = x;\nglobal f32 Y[m][n] = y;\nglobal u8 W[cdiv(n, 2)][n] = w;\n"
            "global %s S[cdiv(n, 8)][n] = s, G[n] = s;\nglobal u8 Z[cdiv(n, 8)][n] = z;\n"
            "reg i32 shift[8][1] = (iota() & 1) * 4;\n"
            "i32 i = block.x * 12, j = block.y * 16;\nreg f32 acc[12][16] = 0;\n"
            "for (i32 p = 0; p < n; p += 8) {\nreg u8 b[4][16] = W[p / 2 +: 4][j +: 16];\n"
            "reg i32 q[8][16] = (i32) repeat_interleave(b, 2, 1) >> %sshift & 15;\n"
            "acc += dot(X[i +: 12][p +: 8], (%s) ((%s) * (%s) S[p / 8 +: 1][j +: 16]));\n}\n"
            "Y[i +: 12][j +: 16] = acc;\n}\n",
            type, by, type, by, upper ? "4 - " : "", type, value, type);
        scales = SCALES_USUAL + random_below(&seed, 4);
        expect_same(text, 1 + random_below(&seed, 3), 128 + random_below(&seed, 150));
    }
    scales = SCALES_AS_OTHERS;
}

static int refused_calls;

static size_t refuse_halves(float *c, const float *a, const uint8_t *codes,
                            const struct weight_halves *w, size_t rows, size_t columns)
{
    (void)c, (void)a, (void)codes, (void)w, (void)rows, (void)columns;
    refused_calls++;
    return 0;
}

/* A routine that looks up bytes is only asked for integers of 8 bits times scales of f16, rounded to
 * f16. Two or three rows would unpack weights that it refuses once for each row. */
static void bytes_alone_ask_the_routine(void **state)
{
    static const struct {
        const char *text;
        bool bytes;
    } cases[] = {
        {HALVES("f16", "f16") LOOP CODES SCALES("f16") DOT("(f16) (q - 8) * t") "}\n" TAIL, true},
        {HALVES("f16", "f16") LOOP CODES SCALES("f16") DOT("(f16) q * t * 2") "}\n" TAIL, false},
        {HALVES("f16", "f16") LOOP CODES SCALES("f16") DOT("(f16) (q * 9) * t") "}\n" TAIL, false},
        {HALVES("f16", "f16") LOOP CODES SCALES("f16") DOT("-(f16) q * t") "}\n" TAIL, false},
        {HALVES("f16", "f32") LOOP CODES SCALES("f32") DOT("(f16) ((f32) q * t)") "}\n" TAIL,
         false},
        {HALVES("f32", "f16") LOOP CODES SCALES("f16") DOT("(f32) q * (f32) t") "}\n" TAIL, false},
    };
    struct routine_set set = *routine_set_at(0);
    (void)state;
    set.few_halves = refuse_halves;
    set.halves_are_bytes = true;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct given given[] = {{"m", 1}, {"n", 128}, {NULL, 0}};
        struct cpu_run r;
        cpu_open_with(&r, cases[i].text, given, &set);
        refused_calls = 0;
        for (int j = 0; j < r.joined_count; j++) {
            r.program = cpu_compile_with(&r.arena, r.joined[j].kernel, &set, false, &r.why);
            fill_arrays(&r);
            cpu_go(&r, 1);
        }
        cpu_close(&r);
        if ((refused_calls > 0) != cases[i].bytes)
            fail_msg("the routine is asked %d times\n%s", refused_calls, cases[i].text);
    }
}

static const char *const others[] = {
    /* another statement reads the operand, or one of its tiles */
    HALVES("f16", "f16") LOOP CODES SCALES("f16") "reg f16 d[8][16] = (f16) q * t;\n" DOT(
        "d") "acc += sum((f32) d);\n}\n" TAIL,
    HALVES("f16", "f16") LOOP CODES SCALES("f16")
        DOT("(f16) q * t") "acc += sum((f32) q);\n}\n" TAIL,
    /* the operand, or a variable of an index, changes in between */
    HALVES("f16", "f16") LOOP CODES SCALES("f16") "reg f16 d[8][16] = (f16) q * t;\n"
                                                  "d = d * 2;\n" DOT("d") "}\n" TAIL,
    HALVES("f16", "f16") "i32 r = 0;\n" LOOP "reg u8 b[4][16] = W[r +: 4][j +: 16];\nr += 4;\n"
                         "reg i32 q[8][16] = (i32) repeat_interleave(b, 2, 1) >> shift & 15;\n" DOT(
                             "(f16) q") "}\n" TAIL,
    /* the shift depends on more than the place in the byte; on a parameter; on the column */
    HALVES("f16", "f16") "reg i32 by[8][1] = iota() / 2;\n" LOOP
                         "reg u8 b[4][16] = W[p / 2 +: 4][j +: 16];\n" DOT(
                             "(f16) ((i32) repeat_interleave(b, 2, 1) >> by & 15)") "}\n" TAIL,
    HALVES("f16", "f16") LOOP CODES DOT("(f16) (q - m)") "}\n" TAIL,
    /* the shift is a constant that atomics change */
    HALVES("f16", "f16") "shared i32 by[8][1] = (iota() & 1) * 4;\nsync();\n"
                         "atomic_add(by[0 +: 8][0 +: 1], 1);\nsync();\n" LOOP
                         "reg u8 b[4][16] = W[p / 2 +: 4][j +: 16];\n" DOT(
                             "(f16) ((i32) repeat_interleave(b, 2, 1) >> by & 15)") "}\n" TAIL,
    HALVES("f16",
           "f16") "reg i32 by[1][16] = iota() & 1;\n" LOOP CODES DOT("(f16) (q >> by)") "}\n" TAIL,
    /* a sum of a product; a scale for each step, and two tiles of codes */
    HALVES("f16", "f16") LOOP CODES SCALES("f16") DOT("(f16) q * t + t") "}\n" TAIL,
    HALVES("f16", "f16") LOOP CODES DOT("(f16) q * trans(X[0 +: 1][p +: 8])") "}\n" TAIL,
    HALVES("f16", "f16") LOOP CODES
    "reg i32 r[8][16] = (i32) W[p +: 8][j +: 16];\n" DOT("(f16) (q + r)") "}\n" TAIL,
    /* rows of columns: the operand is transposed */
    KERNEL("f16", "i8", "f16", "global i8 W[n][n] = w;\nglobal f16 S[n] = s;\n") LOOP
    "if (p > 1000)\nbreak;\n" /* so that deepen leaves it alone */
    "reg f16 d[16][8] = (f16) W[j +: 16][p +: 8] * S[p +: 8];\n" DOT("trans(d)") "}\n" TAIL,
};

static void other_operands_keep_bits(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        for (int64_t n = 6; n < 160; n += 72)
            if (expect_same(others[i], n % 31 + 1, n) > 1)
                fail_msg("the operand is packed\n%s", others[i]);
}

/* A row of scales outside its view is a fault, also where only the operand reads it. */
static void faults_stay(void **state)
{
    static const char text[] =
        HALVES("f16", "f16") LOOP CODES DOT("(f16) q * S[p / 8 + 1][j +: 16]") "}\n" TAIL;
    struct cpu_run r;
    (void)state;
    expect_same(text, 5, 40);
    cpu_open_with(&r, text, (const struct given[]){{"m", 5}, {"n", 40}, {NULL, 0}},
                  routine_set_at(0));
    fill_arrays(&r);
    cpu_go(&r, 1);
    assert_int_not_equal(r.fault.kind, CPU_OK);
    cpu_close(&r);
}

/* --- the routine for one row --- */

/* GROUP rows have the scales of their columns, the next ones those of the columns NEXT further. */
enum { ROWS = 3, STEPS = 2 * ROWS, GROUP = 2, NEXT = 16, SCALES = HALVES_COLUMNS + NEXT };

/* The operands of the routine, and the sums that it adds to. */
struct halves {
    uint8_t codes[ROWS][HALVES_COLUMNS];
    float table[16], a[STEPS], by[SCALES], sum[HALVES_COLUMNS];
    enum dtype zero_type; /* of zero points that are subtracted; DT_F32: there are none */
    uint8_t bytes[SCALES];
    uint16_t numbers[SCALES];
};

static struct halves usual_halves(void)
{
    struct halves h = {.zero_type = DT_F32};
    for (int i = 0; i < 16; i++)
        h.table[i] = (float)(i - 8);
    for (int r = 0; r < ROWS; r++)
        for (int j = 0; j < HALVES_COLUMNS; j++)
            h.codes[r][j] = (uint8_t)((r * HALVES_COLUMNS + j) * 37 + j / 16);
    for (int i = 0; i < STEPS; i++)
        h.a[i] = (float)(i * 5 % 7 - 3) / 4;
    for (int i = 0; i < HALVES_COLUMNS; i++)
        h.sum[i] = (float)(i % 3) * 0.1f;
    for (int i = 0; i < SCALES; i++) {
        h.by[i] = (float)(2 * (i % 61) - 61) / 128; /* exact in bf16 */
        h.bytes[i] = (uint8_t)(i * 37);
        h.numbers[i] = (uint16_t)(i * 0x1235);
    }
    return h;
}

/* Compares the sums of all sets' routines. A routine that leaves the work to others adds nothing.
 * Returns whether one has added something. */
static bool expect_sums(const struct halves *h, const struct weight_halves *w, const float *plain)
{
    bool added = false;
    for (int i = 0; set_at(i); i++) {
        few_halves_fn *add = set_at(i)->few_halves;
        float got[HALVES_COLUMNS];
        if (!add)
            continue;
        memcpy(got, h->sum, sizeof got);
        const bool adds = add(got, h->a, h->codes[0], w, ROWS, HALVES_COLUMNS) > 0;
        added |= adds;
        for (int j = 0; j < HALVES_COLUMNS && !adds; j++)
            assert_memory_equal(&got[j], &h->sum[j], sizeof got[j]);
        if (!adds)
            continue;
        for (int j = 0; j < HALVES_COLUMNS; j++)
            if (!isnan(plain[j]) || !isnan(got[j]))
                assert_memory_equal(&plain[j], &got[j], sizeof got[j]);
    }
    return added;
}

/* Rounds x to a type. */
static double rounded(enum dtype type, double x)
{
    uint16_t bits;
    dtype_store_f64(type, &bits, x);
    return dtype_load_f64(type, &bits);
}

/* Computes the sums with each weight rounded by itself. */
static void add_plainly(const struct halves *h, const struct weight_halves *w, float *sum)
{
    for (int j = 0; j < HALVES_COLUMNS; j++) {
        sum[j] = h->sum[j];
        for (int i = 0; i < STEPS; i++) {
            const int at = j + i / (2 * GROUP) * NEXT;
            const double zero = h->zero_type == DT_U8    ? h->bytes[at]
                                : h->zero_type == DT_F16 ? dtype_load_f64(DT_F16, &h->numbers[at])
                                                         : 0;
            double x = (double)h->table[h->codes[i / 2][j] >> w->shift[i % 2] & 15];
            if (w->zero)
                x = rounded(w->round, x - zero);
            sum[j] = fmaf(h->a[i], (float)rounded(w->round, x * (double)h->by[at]), sum[j]);
        }
    }
}

/* Returns whether the model takes these operands. */
static bool may_model(const struct halves *h)
{
    bool exact = models_halves();
    for (int i = 0; i < 16; i++)
        exact &= rounded(DT_F16, (double)h->table[i]) == (double)h->table[i];
    return exact;
}

/* Compares the routines of all sets with each weight rounded by itself; upper: the first step is the
 * upper half of a byte. Returns whether one has added scales of the type. */
static bool expect_plain_order(const struct halves *h, enum dtype type, bool upper)
{
    struct weight_halves w = {.table = {h->table, h->table},
                              .shift = {4 * upper, 4 - 4 * upper},
                              .zero = h->zero_type == DT_U8    ? (const void *)h->bytes
                                      : h->zero_type == DT_F16 ? h->numbers
                                                               : NULL,
                              .zero_type = h->zero_type,
                              .zero_step = NEXT * (h->zero_type == DT_U8 ? 1 : sizeof(uint16_t)),
                              .row = HALVES_COLUMNS,
                              .group = GROUP,
                              .round = type};
    float plain[HALVES_COLUMNS];
    uint16_t own[SCALES];
    bool same = true; /* the scales are numbers of the type */
    add_plainly(h, &w, plain);
    for (int j = 0; j < SCALES; j++) {
        dtype_store_f64(type, &own[j], (double)h->by[j]);
        same &= (float)dtype_load_f64(type, &own[j]) == h->by[j] || isnan(h->by[j]);
    }
    w.scale_type = DT_F32;
    w.scale = h->by;
    w.scale_step = NEXT * sizeof *h->by;
    expect_sums(h, &w, plain);
    w.scale_type = type;
    w.scale = own;
    w.scale_step = NEXT * sizeof *own;
    const bool added = same && expect_sums(h, &w, plain);
    if (same && type == DT_F16 && may_model(h)) /* the model takes all numbers of f16 */
        assert_true(added);
    return added;
}

/* The same in the order of the type: the later step of a pair of bf16 is added first. */
static void expect_plain_sums(const struct halves *h, enum dtype type)
{
    expect_plain_order(h, type, type == DT_BF16);
}

/* All scales of each type, those of each 64 next to each other. */
static void every_scale_keeps_bits(void **state)
{
    static const enum dtype types[] = {DT_F16, DT_BF16};
    struct halves h = usual_halves();
    (void)state;
    for (int t = 0; t < 2; t++)
        for (int first = 0; first < 1 << 16; first += HALVES_COLUMNS) {
            for (int j = 0; j < SCALES; j++) {
                const uint16_t bits = (uint16_t)(first + j);
                h.by[j] = (float)dtype_load_f64(types[t], &bits);
            }
            expect_plain_order(&h, types[t], false);
            expect_plain_order(&h, types[t], true);
        }
}

/* Zero points of both types, whose differences are rounded if they are not exact. The routine of AVX-512
 * takes bytes up to 240. */
static void zero_points_keep_bits(void **state)
{
    static const enum dtype types[] = {DT_U8, DT_F16};
    struct halves h = usual_halves();
    (void)state;
    for (int t = 0; t < 2; t++)
        for (int first = 0; first < 1 << 16; first += 9 * HALVES_COLUMNS + 1) {
            const bool small = first % 2 == 0 && t == 0;
            h.zero_type = types[t];
            for (int j = 0; j < SCALES; j++) {
                h.numbers[j] = (uint16_t)(first + j);
                h.bytes[j] = (uint8_t)((first / 3 + j) % (small ? 241 : 256));
            }
            if (!small)
                h.bytes[first % HALVES_COLUMNS] = (uint8_t)(241 + first % 15);
            for (int upper = 0; upper < 2; upper++) {
                expect_plain_order(&h, DT_F16, upper);
                const bool added = expect_plain_order(&h, DT_BF16, upper);
                assert_true(!models_halves() || added == small);
            }
        }
}

/* One scale, sum, or element of the left operand that is not of usual size, in many places. */
static void one_strange_value_keeps_bits(void **state)
{
    static const float strange[] = {0,    -0.0f,    0x1p-14f, -0x1p-24f, 4096,      -65504,
                                    1.1f, 0x1p-41f, 0x1p97f,  INFINITY,  -INFINITY, NAN};
    (void)state;
    for (size_t i = 0; i < sizeof strange / sizeof *strange; i++)
        for (int j = (int)i % 3; j < HALVES_COLUMNS; j += 3) {
            struct halves h = usual_halves();
            float *const place[] = {&h.by[j], &h.sum[j], &h.a[j % STEPS], &h.table[j % 16]};
            for (size_t p = 0; p < sizeof place / sizeof *place; p++) {
                const float before = *place[p];
                *place[p] = strange[i];
                expect_plain_sums(&h, DT_F16);
                expect_plain_sums(&h, DT_BF16);
                *place[p] = before;
            }
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weights_keep_bits),
        cmocka_unit_test(usual_scales_keep_bits),
        cmocka_unit_test(other_operands_keep_bits),
        cmocka_unit_test(faults_stay),
        cmocka_unit_test(every_scale_keeps_bits),
        cmocka_unit_test(one_strange_value_keeps_bits),
        cmocka_unit_test(zero_points_keep_bits),
        cmocka_unit_test(random_chains_keep_bits),
        cmocka_unit_test(bytes_alone_ask_the_routine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
