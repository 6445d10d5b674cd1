/* Products in tile registers (src/cpu/routines/routines_dot_tiles.h), on a model of the registers: any machine
 * can run it. The model follows the pseudo code of Intel's Software Developer's Manual, volume 2:
 * LDTILECFG, TILELOADD, TILESTORED, TILEZERO, TDPBSSD, TDPBSUD, TDPBUSD, TDPBUUD, TDPBF16PS. The
 * results are compared with loops over the elements. */
#include "cpu_helper.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- the model --- */

static _Thread_local struct model {
    bool configured;
    int row_bytes[8], rows[8];
    unsigned char tile[8][16][64];
    long opened, closed, loaded, multiplied;
} model;

static void model_open(const void *config)
{
    const unsigned char *c = config;
    model = (struct model){.opened = model.opened + 1, .closed = model.closed};
    assert_int_equal(c[0], 1); /* the palette */
    assert_int_equal(c[1], 0); /* the row to start with */
    for (int i = 2; i < 16; i++)
        assert_int_equal(c[i], 0);
    for (int t = 0; t < 16; t++) {
        int bytes = c[16 + 2 * t] | c[17 + 2 * t] << 8, rows = c[48 + t];
        assert_true(t < 8 ? bytes <= 64 && rows <= 16 : bytes == 0 && rows == 0);
        assert_true((bytes == 0) == (rows == 0));
        if (t < 8) {
            model.row_bytes[t] = bytes;
            model.rows[t] = rows;
        }
    }
    model.configured = true;
}

static void model_close(void)
{
    assert_true(model.configured);
    model.configured = false;
    model.closed++; /* a later test reads what was configured */
}

static void model_zero(int t)
{
    assert_true(model.configured && model.rows[t] > 0);
    memset(model.tile[t], 0, sizeof model.tile[t]);
}

static void model_load(int t, const void *at, size_t step)
{
    model_zero(t);
    for (int i = 0; i < model.rows[t]; i++)
        memcpy(model.tile[t][i], (const unsigned char *)at + (size_t)i * step,
               (size_t)model.row_bytes[t]);
    model.loaded++;
}

static void model_store(int t, void *at, size_t step)
{
    assert_true(model.configured && model.rows[t] > 0);
    for (int i = 0; i < model.rows[t]; i++)
        memcpy((unsigned char *)at + (size_t)i * step, model.tile[t][i],
               (size_t)model.row_bytes[t]);
}

/* An instruction faults unless the three shapes fit. */
static void check_shapes(int c, int a, int b)
{
    assert_true(model.configured && c != a && c != b && a != b);
    assert_int_equal(model.rows[c], model.rows[a]);
    assert_int_equal(model.row_bytes[c], model.row_bytes[b]);
    assert_int_equal(model.row_bytes[a], 4 * model.rows[b]);
    model.multiplied++;
}

static int32_t byte_of(unsigned char byte, bool is_signed)
{
    return is_signed ? (int8_t)byte : byte;
}

static void model_bytes(int c, int a, int b, bool a_signed, bool b_signed)
{
    check_shapes(c, a, b);
    for (int m = 0; m < model.rows[c]; m++)
        for (int k = 0; k < model.row_bytes[a] / 4; k++)
            for (int n = 0; n < model.row_bytes[c] / 4; n++) {
                uint32_t sum;
                memcpy(&sum, &model.tile[c][m][4 * n], sizeof sum);
                for (int i = 0; i < 4; i++)
                    sum += (uint32_t)(byte_of(model.tile[a][m][4 * k + i], a_signed) *
                                      byte_of(model.tile[b][k][4 * n + i], b_signed));
                memcpy(&model.tile[c][m][4 * n], &sum, sizeof sum);
            }
}

/* Subnormal operands and results count as 0. */
static float flushed(float x)
{
    return fpclassify(x) == FP_SUBNORMAL ? copysignf(0, x) : x;
}

static float from_bf16(const unsigned char *at)
{
    uint32_t bits = (uint32_t)at[0] << 16 | (uint32_t)at[1] << 24;
    float x;
    memcpy(&x, &bits, sizeof x);
    return flushed(x);
}

static float added_product(float sum, float x, float y)
{
    return flushed(fmaf(x, y, sum));
}

/* The sums of the products of even and of odd steps of k are separate until the tile's end. */
static void model_bf16(int c, int a, int b)
{
    check_shapes(c, a, b);
    for (int m = 0; m < model.rows[c]; m++)
        for (int n = 0; n < model.row_bytes[c] / 4; n++) {
            float part[2] = {0, 0}, sum;
            for (int k = 0; k < model.row_bytes[a] / 4; k++)
                for (int i = 0; i < 2; i++)
                    part[i] = added_product(part[i], from_bf16(&model.tile[a][m][4 * k + 2 * i]),
                                            from_bf16(&model.tile[b][k][4 * n + 2 * i]));
            memcpy(&sum, &model.tile[c][m][4 * n], sizeof sum);
            sum = flushed(flushed(sum) + flushed(part[0] + part[1]));
            memcpy(&model.tile[c][m][4 * n], &sum, sizeof sum);
        }
}

#define TILES_OPEN model_open
#define TILES_CLOSE model_close
#define TILES_ZERO model_zero
#define TILES_LOAD model_load
#define TILES_STORE model_store

#define TILES_I8_I8(c, a, b) model_bytes(c, a, b, true, true)
#define TILES_I8_U8(c, a, b) model_bytes(c, a, b, true, false)
#define TILES_U8_I8(c, a, b) model_bytes(c, a, b, false, true)
#define TILES_U8_U8(c, a, b) model_bytes(c, a, b, false, false)
#define TILES_BF16 model_bf16

static void model_put(uint16_t *to, size_t to_step, const float *from, size_t from_step,
                      size_t rows, size_t columns, bool bf16)
{
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < columns; j++)
            to[i * to_step + j] =
                bf16 ? f32_to_bf16(from[i * from_step + j]) : f32_to_f16(from[i * from_step + j]);
}
#define TILES_PUT model_put
#include "cpu/routines/routines_dot_tiles.h"

/* --- problems --- */

/* A product of m × n with k groups, in memory that ends where the last element does, so that the
 * address sanitizer sees each access beyond it. */
struct problem {
    size_t m, n, k;
    size_t lda, ldb, ldc, panel; /* in groups, and elements of c */
    bool panels;                 /* b is in panels of 32 columns; otherwise its rows are dense */
    unsigned char *a, *b;
    uint32_t *c, *before; /* bits of the sums, and of those to begin with */
    size_t c_count;
};

static uint32_t state = 1;
static uint32_t random_bits(void)
{
    state = state * 1664525u + 1013904223u;
    return state >> 8;
}

static void *filled(size_t bytes)
{
    unsigned char *memory = malloc(bytes ? bytes : 1);
    assert_non_null(memory);
    for (size_t i = 0; i < bytes; i++)
        memory[i] = (unsigned char)random_bits();
    return memory;
}

static struct problem problem_new(size_t m, size_t n, size_t k, bool panels)
{
    struct problem p = {.m = m, .n = n, .k = k, .panels = panels};
    size_t count = (n + 31) / 32;
    p.lda = k + random_bits() % 5;
    p.ldc = n + random_bits() % 5;
    p.ldb = panels ? 32 : n;
    p.panel = panels ? 32 * k + random_bits() % 3 * 16 : 32;
    p.a = filled(4 * ((m - 1) * p.lda + k));
    p.b = filled(4 * (panels ? (count - 1) * p.panel + 32 * k : k * n));
    p.c_count = (m - 1) * p.ldc + n;
    p.c = filled(4 * p.c_count);
    p.before = filled(4 * p.c_count);
    return p;
}

static void problem_free(struct problem *p)
{
    free(p->a);
    free(p->b);
    free(p->c);
    free(p->before);
}

static const unsigned char *group_of_a(const struct problem *p, size_t i, size_t g)
{
    return p->a + 4 * (i * p->lda + g);
}

static const unsigned char *group_of_b(const struct problem *p, size_t g, size_t j)
{
    return p->b + 4 * (j / 32 * p->panel + g * p->ldb + j % 32);
}

static struct dot_strides strides_of(const struct problem *p)
{
    return (struct dot_strides){.c = p->ldc, .a = p->lda, .b = p->ldb, .panel = p->panel};
}

static const size_t sizes[][3] = {{1, 1, 1},    {1, 32, 16},  {16, 16, 16}, {32, 32, 32},
                                  {32, 32, 48}, {17, 33, 17}, {31, 15, 5},  {33, 31, 31},
                                  {64, 96, 40}, {5, 70, 100}, {47, 1, 3},   {100, 17, 16}};
enum { SIZES = sizeof sizes / sizeof *sizes };

/* --- bytes --- */

struct bytes_case {
    enum tiles_kind kind;
    bool a_signed, b_signed;
};
static const struct bytes_case bytes_cases[] = {{TILES_OF_I8_I8, true, true},
                                                {TILES_OF_I8_U8, true, false},
                                                {TILES_OF_U8_I8, false, true},
                                                {TILES_OF_U8_U8, false, false}};

static uint32_t bytes_sum(const struct problem *p, const struct bytes_case *x, size_t i, size_t j)
{
    uint32_t sum = 0;
    for (size_t g = 0; g < p->k; g++)
        for (int e = 0; e < 4; e++)
            sum += (uint32_t)(byte_of(group_of_a(p, i, g)[e], x->a_signed) *
                              byte_of(group_of_b(p, g, j)[e], x->b_signed));
    return sum;
}

/* Compares sums at ld elements from row to row with `start` (NULL: 0) plus the products. Elements
 * between the rows keep the values of `kept`. */
static void expect_sums(const struct problem *p, const struct bytes_case *x, const uint32_t *got,
                        const uint32_t *start, const uint32_t *kept)
{
    for (size_t at = 0; at < p->c_count; at++) {
        size_t i = at / p->ldc, j = at % p->ldc;
        uint32_t want = j < p->n ? bytes_sum(p, x, i, j) + (start ? start[at] : 0) : kept[at];
        if (got[at] != want)
            fail_msg("%zu x %zu x %zu, signs %d%d, [%zu][%zu]: %08x, expected %08x", p->m, p->n,
                     p->k, x->a_signed, x->b_signed, i, j, got[at], want);
    }
}

static void bytes_have_exact_sums(void **unused)
{
    (void)unused;
    for (size_t x = 0; x < sizeof bytes_cases / sizeof *bytes_cases; x++)
        for (size_t s = 0; s < SIZES; s++)
            for (int kind = 0; kind < 2 * 3; kind++) {
                struct problem p = problem_new(sizes[s][0], sizes[s][1], sizes[s][2], kind % 2);
                struct dot_strides strides = strides_of(&p);
                const bool fresh = kind / 2 == 1, elsewhere = kind / 2 == 2;
                uint32_t *out = filled(4 * p.c_count), *kept = filled(4 * p.c_count);
                memcpy(p.before, p.c, 4 * p.c_count);
                memcpy(kept, out, 4 * p.c_count);
                strides.fresh = fresh;
                strides.out = elsewhere ? out : NULL;
                strides.out_step = p.ldc;
                tiles_dot(bytes_cases[x].kind, p.c, p.a, p.b, p.m, p.n, p.k, &strides);
                expect_sums(&p, &bytes_cases[x], elsewhere ? out : p.c, fresh ? NULL : p.before,
                            elsewhere ? kept : p.before);
                if (elsewhere)
                    assert_memory_equal(p.c, p.before, 4 * p.c_count);
                free(out);
                free(kept);
                problem_free(&p);
            }
    assert_true(model.opened > 0 && model.opened == model.closed);
}

/* --- bf16 --- */

/* Fills with numbers from -2 to 2 that have all 8 bits, so that the order of sums matters. */
static void fill_bf16(unsigned char *at, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        at[2 * i] = (unsigned char)random_bits();
        at[2 * i + 1] = (unsigned char)(0x3f | (random_bits() & 0x80));
    }
}

static float bf16_sum(const struct problem *p, float sum, size_t i, size_t j)
{
    for (size_t first = 0; first < p->k; first += 16) {
        float part[2] = {0, 0};
        for (size_t g = first; g < first + 16 && g < p->k; g++)
            for (int e = 0; e < 2; e++)
                part[e] = fmaf(from_bf16(group_of_a(p, i, g) + 2 * e),
                               from_bf16(group_of_b(p, g, j) + 2 * e), part[e]);
        sum += part[0] + part[1];
    }
    return sum;
}

static void bf16_adds_even_and_odd_steps_apart(void **unused)
{
    (void)unused;
    for (size_t s = 0; s < SIZES; s++)
        for (int kind = 0; kind < 2 * 2; kind++) {
            struct problem p = problem_new(sizes[s][0], sizes[s][1], sizes[s][2], kind % 2);
            struct dot_strides strides = strides_of(&p);
            size_t count = (p.n + 31) / 32;
            fill_bf16(p.a, 2 * ((p.m - 1) * p.lda + p.k));
            fill_bf16(p.b, 2 * (p.panels ? (count - 1) * p.panel + 32 * p.k : p.k * p.n));
            strides.fresh = kind / 2;
            float *c = (float *)(void *)p.c;
            for (size_t i = 0; i < p.c_count; i++)
                c[i] = (float)(i % 13) / 3;
            memcpy(p.before, c, 4 * p.c_count);
            tiles_dot(TILES_OF_BF16, c, p.a, p.b, p.m, p.n, p.k, &strides);
            for (size_t i = 0; i < p.m; i++)
                for (size_t j = 0; j < p.n; j++) {
                    float start = ((float *)(void *)p.before)[i * p.ldc + j];
                    float want = bf16_sum(&p, strides.fresh ? 0 : start, i, j);
                    if (c[i * p.ldc + j] != want)
                        fail_msg("%zu x %zu x %zu [%zu][%zu]: %a, expected %a", p.m, p.n, p.k, i, j,
                                 c[i * p.ldc + j], want);
                }
            problem_free(&p);
        }
}

/* Elements beyond the sums' rows and columns keep their bits. */
static void sums_are_stored_as_16_bits(void **unused)
{
    (void)unused;
    for (size_t s = 0; s < SIZES; s++)
        for (int bf16 = 0; bf16 < 2; bf16++) {
            struct problem p = problem_new(sizes[s][0], sizes[s][1], sizes[s][2], true);
            struct dot_strides strides = strides_of(&p);
            const size_t columns = (p.n + 31) / 32, step = p.n + 3;
            fill_bf16(p.a, 2 * ((p.m - 1) * p.lda + p.k));
            fill_bf16(p.b, 2 * ((columns - 1) * p.panel + 32 * p.k));
            const size_t count = (p.m - 1) * step + p.n;
            uint16_t *out = filled(2 * count), *kept = filled(2 * count);
            memcpy(kept, out, 2 * count);
            strides.fresh = true;
            strides.out = out;
            strides.out_step = step;
            strides.out_type = bf16 ? OUT_BF16 : OUT_F16;
            tiles_dot(TILES_OF_BF16, p.c, p.a, p.b, p.m, p.n, p.k, &strides);
            for (size_t at = 0; at < count; at++) {
                const size_t i = at / step, j = at % step;
                float sum = j < p.n ? bf16_sum(&p, 0, i, j) : 0;
                assert_int_equal(out[at], j >= p.n ? kept[at]
                                          : bf16   ? f32_to_bf16(sum)
                                                   : f32_to_f16(sum));
            }
            free(out);
            free(kept);
            problem_free(&p);
        }
}

/* A sum that is not settled may be -0. */
static void settled_sums_are_not_negative_zeros(void **unused)
{
    unsigned char a[4] = {0, 0, 0, 0}, b[4] = {0, 0, 0, 0};
    struct dot_strides s = {.c = 1, .a = 1, .b = 1, .panel = 32, .settled = true};
    float c = -0.0f;
    (void)unused;
    tiles_dot(TILES_OF_BF16, &c, a, b, 1, 1, 0, &s);
    assert_true(c == 0 && !signbit(c));
}

/* --- work --- */

/* A product of few rows has no rows of zeros in its tiles. */
static void few_rows_make_short_tiles(void **unused)
{
    struct problem p = problem_new(3, 32, 16, true);
    struct dot_strides strides = strides_of(&p);
    (void)unused;
    strides.fresh = true;
    tiles_dot(TILES_OF_I8_I8, p.c, p.a, p.b, p.m, p.n, p.k, &strides);
    assert_int_equal(model.rows[0], 3);
    assert_int_equal(model.rows[4], 3);
    assert_int_equal(model.rows[6], 16);
    problem_free(&p);
}

/* In the interior each tile is loaded once for two products: no more loads than necessary. */
static void tiles_are_used_twice(void **unused)
{
    struct problem p = problem_new(32, 32, 64, true);
    struct dot_strides strides = strides_of(&p);
    (void)unused;
    strides.fresh = true;
    tiles_dot(TILES_OF_I8_I8, p.c, p.a, p.b, p.m, p.n, p.k, &strides);
    assert_int_equal(model.multiplied, 4 * 4);
    assert_int_equal(model.loaded, 4 * 4);
    problem_free(&p);
}

/* Several calls may share the panels of a product. */
static void calls_share_panels(void **unused)
{
    _Atomic int untaken = 3;
    struct problem p = problem_new(20, 70, 20, true);
    struct dot_strides strides = strides_of(&p);
    (void)unused;
    strides.untaken = &untaken;
    memcpy(p.before, p.c, 4 * p.c_count);
    tiles_dot(TILES_OF_U8_U8, p.c, p.a, p.b, p.m, p.n, p.k, &strides);
    expect_sums(&p, &bytes_cases[3], p.c, p.before, p.before);
    memcpy(p.before, p.c, 4 * p.c_count);
    tiles_dot(TILES_OF_U8_U8, p.c, p.a, p.b, p.m, p.n, p.k, &strides); /* no panel is left */
    assert_memory_equal(p.c, p.before, 4 * p.c_count);
    problem_free(&p);
}

/* --- kernels --- */

static void model_i8_i8(void *c, const void *a, const void *b, size_t m, size_t n, size_t k,
                        const struct dot_strides *s)
{
    tiles_dot(TILES_OF_I8_I8, c, a, b, m, n, k, s);
}

static void model_i8_u8(void *c, const void *a, const void *b, size_t m, size_t n, size_t k,
                        const struct dot_strides *s)
{
    tiles_dot(TILES_OF_I8_U8, c, a, b, m, n, k, s);
}

static void model_u8_i8(void *c, const void *a, const void *b, size_t m, size_t n, size_t k,
                        const struct dot_strides *s)
{
    tiles_dot(TILES_OF_U8_I8, c, a, b, m, n, k, s);
}

static void model_u8_u8(void *c, const void *a, const void *b, size_t m, size_t n, size_t k,
                        const struct dot_strides *s)
{
    tiles_dot(TILES_OF_U8_U8, c, a, b, m, n, k, s);
}

static void model_bf16_dot(void *c, const void *a, const void *b, size_t m, size_t n, size_t k,
                           const struct dot_strides *s)
{
    tiles_dot(TILES_OF_BF16, c, a, b, m, n, k, s);
}

/* Makes the set of a machine with AMX from one whose panels have the width of two tiles. */
static bool set_with_tiles(struct routine_set *set)
{
    for (int i = 0; routine_set_at(i); i++)
        if (routine_set_at(i)->dot->width[COMPUTE_F32] == TILES_WIDTH) {
            *set = *routine_set_at(i);
            set->dot_i8 = model_i8_u8;
            set->dot_u8 = model_u8_i8;
            set->dot_i8_i8 = model_i8_i8;
            set->dot_u8_u8 = model_u8_u8;
            set->dot_bf16 = model_bf16_dot;
            return true;
        }
    return false;
}

enum { SIDE = 150 };

static void run_kernel(const char *text, int64_t n, const struct routine_set *set, bool plain,
                       int threads, unsigned char *result)
{
    struct cpu_run r;
    cpu_open_plain(&r, text, (const struct given[]){{"n", n}, {NULL, 0}}, set, plain);
    for (const struct param *p = r.kernel->params; p; p = p->next) {
        if (!p->sym->is_pointer)
            continue;
        enum dtype t = p->sym->type.dtype;
        size_t size = dtype_size(t);
        unsigned char *data = cpu_array(&r, p->sym->name, SIDE * SIDE * size);
        for (size_t i = 0; i < SIDE * SIDE && p->sym->is_const; i++)
            dtype_store_f64(t, data + i * size, (double)(i * 37 % 256) - (t == DT_U8 ? 0 : 128));
    }
    assert_int_equal(cpu_go(&r, threads), CPU_OK);
    memcpy(result, r.args[r.kernel->param_count - 1].data, 4 * SIDE * SIDE);
    cpu_close(&r);
}

/* The packed operands have the layout that tiles read, for all types, sizes and transpositions. The
 * sums of bf16 are exact here, because all values are small integers. */
static void kernels_give_the_same(void **unused)
{
    static const char *const types[][3] = {{"i8", "i8", "i32"},
                                           {"i8", "u8", "i32"},
                                           {"u8", "i8", "i32"},
                                           {"u8", "u8", "u32"},
                                           {"bf16", "bf16", "f32"}};
    static const int64_t sides[] = {1, 7, 16, 33, 64, 100, SIDE};
    static unsigned char want[4 * SIDE * SIDE], got[4 * SIDE * SIDE];
    struct routine_set set;
    (void)unused;
    if (!set_with_tiles(&set))
        skip();
    for (int kind = 0; kind < 5 * 4; kind++)
        for (size_t i = 0; i < sizeof sides / sizeof *sides; i++) {
            char text[1024];
            const char *const *t = types[kind / 4];
            const bool turned = kind % 2, deep = kind / 2 % 2;
            snprintf(text, sizeof text,
                     "kernel k(i32 n, const %s *a, const %s *b, %s *c) grid(cdiv(n, 40), "
                     "cdiv(n, 48)) warps(1)\n{\n"
                     "global %s A[n][n] = a;\nglobal %s B[n][n] = b;\nglobal %s C[n][n] = c;\n"
                     "i32 i = block.x * 40, j = block.y * 48;\nreg %s acc[40][48] = 0;\n"
                     "for (i32 p = 0; p < n; p += %d) {\n"
                     "shared %s sa[40][%d] = A[i +: 40][p +: %d];\n"
                     "shared %s sb%s = %s;\nsync();\nacc += dot(sa, %s);\nsync();\n}\n"
                     "C[i +: 40][j +: 48] = acc;\n}\n",
                     t[0], t[1], t[2], t[0], t[1], t[2], t[2], deep ? 72 : 20, t[0], deep ? 72 : 20,
                     deep ? 72 : 20, t[1],
                     turned ? (deep ? "[48][72]" : "[48][20]") : (deep ? "[72][48]" : "[20][48]"),
                     turned ? (deep ? "B[j +: 48][p +: 72]" : "B[j +: 48][p +: 20]")
                            : (deep ? "B[p +: 72][j +: 48]" : "B[p +: 20][j +: 48]"),
                     turned ? "trans(sb)" : "sb");
            run_kernel(text, sides[i], routine_set_at(0), true, 1, want);
            for (int threads = 1; threads <= 3; threads += 2) {
                run_kernel(text, sides[i], &set, false, threads, got);
                if (memcmp(want, got, sizeof want) != 0)
                    fail_msg("n = %d, %d threads: other values\n%s", (int)sides[i], threads, text);
            }
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_have_exact_sums),
        cmocka_unit_test(bf16_adds_even_and_odd_steps_apart),
        cmocka_unit_test(sums_are_stored_as_16_bits),
        cmocka_unit_test(settled_sums_are_not_negative_zeros),
        cmocka_unit_test(few_rows_make_short_tiles),
        cmocka_unit_test(tiles_are_used_twice),
        cmocka_unit_test(calls_share_panels),
        cmocka_unit_test(kernels_give_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
