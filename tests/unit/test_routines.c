/* The CPU engine's routines: every elementwise op on every type is compared with the constant
 * evaluator, conversions with the table of types, and the sets of routines with each other, bit
 * for bit. */
#include "cpu_helper.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { ELEMENTS = 384 };

static uint64_t random_state = 1;

static uint64_t random_bits(void)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (random_state >> 32) | (random_state << 32);
}

/* Fills with small values, the ends of the range, and random bits. */
static void fill(enum dtype t, void *data)
{
    static const double special[] = {0,
                                     -0.0,
                                     1,
                                     -1,
                                     2,
                                     3,
                                     7,
                                     0.5,
                                     -2.5,
                                     31,
                                     32,
                                     33,
                                     63,
                                     64,
                                     127,
                                     128,
                                     -128,
                                     255,
                                     256,
                                     32767,
                                     -32768,
                                     65504,
                                     65520,
                                     1e-8,
                                     1e-40,
                                     1e30,
                                     -1e30,
                                     1e300,
                                     1e-310,
                                     2147483647.0,
                                     -2147483648.0,
                                     4294967295.0,
                                     INFINITY,
                                     -INFINITY,
                                     NAN};
    size_t size = dtype_size(t), count = sizeof special / sizeof *special;
    for (size_t i = 0; i < ELEMENTS; i++) {
        unsigned char *at = (unsigned char *)data + i * size;
        uint64_t bits = random_bits();
        size_t kind = bits >> 60;
        if (kind < 6)
            dtype_store_f64(t, at, special[(bits >> 8) % count]);
        else if (kind < 12)
            dtype_store_f64(t, at, (double)(int64_t)(bits % 2001) - 1000);
        else if (t == DT_BOOL)
            *at = (unsigned char)(bits & 1);
        else
            memcpy(at, &bits, size);
        if (t == DT_TF32 || t == DT_E5M2) /* rounds; makes no infinity */
            dtype_store_f64(t, at, dtype_load_f64(t, at));
    }
}

static struct literal literal_at(enum dtype t, const void *data, size_t i)
{
    const unsigned char *at = (const unsigned char *)data + i * dtype_size(t);
    if (dtype_is_float(t))
        return (struct literal){.is_float = true, .f = dtype_load_f64(t, at)};
    return (struct literal){.i = dtype_load_i64(t, at)};
}

static bool same_bits_or_nan(enum dtype t, const void *a, const void *b)
{
    if (memcmp(a, b, dtype_size(t)) == 0)
        return true;
    return dtype_is_float(t) && isnan(dtype_load_f64(t, a)) && isnan(dtype_load_f64(t, b));
}

/* Returns true if functions agree within one step of the type. */
static bool close_enough(enum dtype t, const void *got, const void *want)
{
    double a = dtype_load_f64(t, got), b = dtype_load_f64(t, want);
    if (same_bits_or_nan(t, got, want))
        return true;
    return fabs(a - b) <= fabs(b) * 8 * dtype_table[t].roundoff + 1e-44;
}

static const char *expression(enum op op, char *text, size_t size)
{
    const struct op_info *info = &op_table[op];
    if (info->form == FORM_PREFIX)
        snprintf(text, size, "%sA", info->text);
    else if (info->form == FORM_INFIX)
        snprintf(text, size, "A %s B", info->text);
    else
        snprintf(text, size, "%s(%s)", info->text,
                 info->arity == 1   ? "A"
                 : info->arity == 2 ? "A, B"
                                    : "A, B, D");
    return text;
}

static void program_text(char *text, size_t size, enum dtype in, enum dtype out,
                         const char *expression)
{
    const char *t = dtype_table[in].name;
    snprintf(text, size,
             "kernel k(const %s *a, const %s *b, const %s *d, %s *o) grid(1) warps(1)\n{\n"
             "global %s VA[%d] = a, VB[%d] = b, VD[%d] = d; global %s O[%d] = o;\n"
             "reg %s A[%d] = VA, B[%d] = VB, D[%d] = VD;\nO = %s;\n}\n",
             t, t, t, dtype_table[out].name, t, ELEMENTS, ELEMENTS, ELEMENTS, dtype_table[out].name,
             ELEMENTS, t, ELEMENTS, ELEMENTS, ELEMENTS, expression);
}

static bool divides(enum op op)
{
    return op == OP_DIV || op == OP_REM || op == OP_CDIV;
}

static void check_op(enum op op, enum dtype t, enum dtype result, const struct routine_set *set)
{
    char text[1024], formula[64];
    struct cpu_run r;
    program_text(text, sizeof text, t, result, expression(op, formula, sizeof formula));
    cpu_open_with(&r, text, NULL, set);
    const void *x[3];
    const char *names[3] = {"a", "b", "d"};
    for (int i = 0; i < 3; i++) {
        void *data = cpu_array(&r, names[i], ELEMENTS * dtype_size(t));
        fill(t, data);
        for (size_t e = 0; i == 1 && divides(op) && !dtype_is_float(t) && e < ELEMENTS; e++)
            if (literal_at(t, data, e).i == 0)
                dtype_store_i64(t, (unsigned char *)data + e * dtype_size(t), 3);
        x[i] = data;
    }
    const unsigned char *got = cpu_array(&r, "o", ELEMENTS * dtype_size(result));
    assert_int_equal(cpu_go(&r, 1), CPU_OK);
    for (size_t i = 0; i < ELEMENTS; i++) {
        struct literal args[3], out;
        uint64_t want = 0;
        for (int j = 0; j < 3; j++)
            args[j] = literal_at(t, x[j], i);
        if (!eval_op(op, t, args, op_table[op].arity, &out))
            fail_msg("%s of %s is not evaluated", op_table[op].id, dtype_table[t].name);
        if (out.is_float)
            dtype_store_f64(result, &want, out.f);
        else
            dtype_store_i64(result, &want, out.i);
        const void *at = got + i * dtype_size(result);
        bool rounds = op_table[op].class == CLASS_FLOAT || op == OP_POW;
        bool exact = !rounds || op == OP_SQRT || op == OP_ROUND || op == OP_FLOOR || op == OP_CEIL;
        if (!(exact ? same_bits_or_nan : close_enough)(result, at, &want))
            fail_msg("%s of %s with %s: (%g, %g, %g) gives %g, not %g", op_table[op].id,
                     dtype_table[t].name, set->name,
                     dtype_load_f64(t, (const char *)x[0] + i * dtype_size(t)),
                     dtype_load_f64(t, (const char *)x[1] + i * dtype_size(t)),
                     dtype_load_f64(t, (const char *)x[2] + i * dtype_size(t)),
                     dtype_load_f64(result, at), dtype_load_f64(result, &want));
    }
    cpu_close(&r);
}

static bool op_takes(enum op op, enum dtype t)
{
    const struct op_info *info = &op_table[op];
    if (info->form == FORM_LEAF || info->form == FORM_OTHER || info->arity < 1)
        return false;
    switch (info->class) {
    case CLASS_ARITH:
        if (op == OP_CDIV || op == OP_POW2_CEIL)
            return dtype_is_int(t);
        return op == OP_POW ? dtype_is_float(t) : t != DT_BOOL;
    case CLASS_COMPARE: return true;
    case CLASS_BITWISE:
        return dtype_is_int(t) || (t == DT_BOOL && (op == OP_AND || op == OP_OR || op == OP_XOR));
    case CLASS_FLOAT: return dtype_is_float(t);
    case CLASS_LOGIC: return t == DT_BOOL;
    default: return false;
    }
}

static void every_op_agrees_with_the_evaluator(void **state)
{
    (void)state;
    for (int i = 0; routine_set_at(i); i++)
        for (int op = 0; op < OP_COUNT; op++)
            for (int t = 0; t < DT_COUNT; t++) {
                enum op_class class = op_table[op].class;
                bool truth = class == CLASS_COMPARE || class == CLASS_LOGIC;
                if (op_takes((enum op)op, (enum dtype)t))
                    check_op((enum op)op, (enum dtype)t, truth ? DT_BOOL : (enum dtype)t,
                             routine_set_at(i));
            }
}

static void conversions_agree_with_the_table(void **state)
{
    static unsigned char from[ELEMENTS * 8], to[ELEMENTS * 8];
    (void)state;
    for (int s = 0; routine_set_at(s); s++)
        for (int a = 0; a < DT_COUNT; a++)
            for (int b = 0; b < DT_COUNT; b++) {
                enum dtype in = (enum dtype)a, out = (enum dtype)b;
                convert_fn *convert = routine_set_at(s)->convert->convert[out][in];
                assert_non_null(convert);
                fill(in, from);
                convert(to, from, ELEMENTS);
                for (size_t i = 0; i < ELEMENTS; i++) {
                    struct literal x = literal_at(in, from, i), y = eval_cast(out, in, &x);
                    uint64_t want = 0;
                    if (y.is_float)
                        dtype_store_f64(out, &want, y.f);
                    else
                        dtype_store_i64(out, &want, y.i);
                    if (!same_bits_or_nan(out, to + i * dtype_size(out), &want))
                        fail_msg("%s to %s with %s: %.17g gives %.17g, not %.17g",
                                 dtype_table[in].name, dtype_table[out].name,
                                 routine_set_at(s)->name, x.is_float ? x.f : (double)x.i,
                                 dtype_load_f64(out, to + i * dtype_size(out)),
                                 dtype_load_f64(out, &want));
                }
            }
}

/* Products, reductions, scans, functions: all sets give the same bits. */
static const char mixed[] =
    "kernel k(const f32 *a, const f64 *b, const f16 *h, const i32 *i, f32 *o, f64 *p, i32 *q)\n"
    "    grid(1) warps(1)\n{\n"
    "    global f32 A[37][53] = a, O[37][37] = o, S[37][1] = o + 1400, T[1][53] = o + 1500, U[8] = "
    "o + 1600;\n"
    "    global f64 B[19][23] = b, P[19][19] = p, V[2] = p + 400;\n"
    "    global f16 H[37][53] = h;\n"
    "    global i32 I[31][17] = i, Q[31][31] = q, R[31][17] = q + 1000;\n"
    "    reg f32 x[37][53] = A;\n    reg f64 y[19][23] = B;\n    reg f16 z[37][53] = H;\n"
    "    reg i32 w[31][17] = I;\n"
    "    O = dot(x, trans(z));\n    S = sum(x, axis = 1);\n    T = sum(x * x, axis = 0);\n"
    "    U[0] = sum(x); U[1] = max(x); U[2] = min(z); U[3] = sum(z); U[4] = sum(exp(x) * "
    "tanh(x));\n"
    "    U[5] = sum(scan(add, x, axis = 1)); U[6] = sum(scan(mul, 1 + x / 64, axis = 0));\n"
    "    P = dot(y, trans(y));\n    V[0] = sum(y);\n    V[1] = sum(rsqrt(abs(y)));\n"
    "    Q = dot(w, trans(w));\n    R = scan(xor, w, axis = 0, exclusive = true);\n}\n";

static void fill_plain(enum dtype t, void *data, size_t count)
{
    for (size_t i = 0; i < count; i++)
        dtype_store_f64(t, (unsigned char *)data + i * dtype_size(t),
                        (double)(random_bits() % 20001) / (dtype_is_float(t) ? 1e4 : 1) - 1);
}

static void the_sets_agree_to_the_bit(void **state)
{
    enum { F32S = 1700, F64S = 500, I32S = 1600 };
    float first_o[F32S];
    double first_p[F64S];
    int32_t first_q[I32S];
    (void)state;
    for (int s = 0; routine_set_at(s); s++) {
        struct cpu_run r;
        random_state = 7;
        cpu_open_with(&r, mixed, NULL, routine_set_at(s));
        fill_plain(DT_F32, cpu_array(&r, "a", 37 * 53 * 4), 37 * 53);
        fill_plain(DT_F64, cpu_array(&r, "b", 19 * 23 * 8), 19 * 23);
        fill_plain(DT_F16, cpu_array(&r, "h", 37 * 53 * 2), 37 * 53);
        fill_plain(DT_I32, cpu_array(&r, "i", 31 * 17 * 4), 31 * 17);
        const void *o = cpu_array(&r, "o", sizeof first_o);
        const void *p = cpu_array(&r, "p", sizeof first_p);
        const void *q = cpu_array(&r, "q", sizeof first_q);
        assert_int_equal(cpu_go(&r, 1), CPU_OK);
        if (s == 0) {
            memcpy(first_o, o, sizeof first_o);
            memcpy(first_p, p, sizeof first_p);
            memcpy(first_q, q, sizeof first_q);
        }
        assert_memory_equal(first_o, o, sizeof first_o);
        assert_memory_equal(first_p, p, sizeof first_p);
        assert_memory_equal(first_q, q, sizeof first_q);
        cpu_close(&r);
    }
}

/* Multiplies f32 or f64 with one fma a step, in order of k. */
static void dot_plainly(enum dtype t, unsigned char *c, const unsigned char *a,
                        const unsigned char *b, size_t m, size_t n, size_t k)
{
    size_t size = dtype_size(t);
    for (size_t i = 0; i < m * n; i++) {
        double sum = dtype_load_f64(t, c + i * size);
        for (size_t p = 0; p < k; p++) {
            double x = dtype_load_f64(t, a + (i / n * k + p) * size);
            double y = dtype_load_f64(t, b + (p * n + i % n) * size);
            sum = t == DT_F32 ? (double)fmaf((float)x, (float)y, (float)sum) : fma(x, y, sum);
        }
        dtype_store_f64(t, c + i * size, sum);
    }
}

/* fresh: c counts as zeros; apart: the sums go to longer rows elsewhere, and c is unchanged. */
static void check_dot(enum dtype t, size_t m, size_t n, size_t k, bool fresh, bool apart)
{
    enum { MOST = 17 * 43 * 8 };
    _Alignas(8) unsigned char a[MOST], b[MOST], c[MOST], old[MOST], want[MOST], out[MOST];
    enum compute compute = routine_compute_of(t);
    size_t size = dtype_size(t), step = apart ? n + 3 : n;
    fill_plain(t, a, m * k);
    fill_plain(t, b, k * n);
    fill_plain(t, old, m * n);
    memcpy(want, old, m * n * size);
    if (fresh)
        memset(want, 0, m * n * size);
    dot_plainly(t, want, a, b, m, n, k);
    for (int s = 0; routine_set_at(s); s++) {
        const struct dot_routines *r = routine_set_at(s)->dot;
        const struct dot_strides strides = {.c = n,
                                            .a = k,
                                            .b = n,
                                            .panel = r->width[compute],
                                            .fresh = fresh,
                                            .out = apart ? out : NULL,
                                            .out_step = step};
        memcpy(c, old, m * n * size);
        memset(out, 0x55, sizeof out);
        r->dot[compute](c, a, b, m, n, k, &strides);
        const unsigned char *got = apart ? out : c;
        for (size_t i = 0; i < m; i++)
            assert_memory_equal(got + i * step * size, want + i * n * size, n * size);
        for (size_t i = 0; i < m * step * size && apart; i++)
            assert_true(i / size % step < n || out[i] == 0x55);
        if (apart)
            assert_memory_equal(c, old, m * n * size);
    }
}

/* Tries every shape of the blocked product. */
static void dot_is_an_fma_a_step(void **state)
{
    (void)state;
    for (size_t m = 1; m <= 17; m += m < 7 ? 1 : 5)
        for (size_t n = 1; n <= 40; n++)
            for (size_t k = 1; k <= 9; k += 4)
                for (int way = 0; way < 4; way++) {
                    check_dot(DT_F32, m, n, k, way & 1, way & 2);
                    check_dot(DT_F64, m, n, k, way & 1, way & 2);
                }
}

/* Any sums, among them NaNs and ties, are stored in types of 16 bits as conversions round them. The
 * columns beyond a panel, and the elements beyond each row, are left alone. */
static void check_halves(const struct dot_routines *r, enum out_type type)
{
    enum { M = 3, N = 45, STEP = N + 2 };
    const bool bf16 = type == OUT_BF16;
    uint16_t out[M * STEP];
    float a[M], b[N], c[M * N];
    for (int i = 0; i < N; i++) {
        const uint64_t bits = random_bits();
        const uint32_t word = (uint32_t)(i % 3 > 0 ? bits : (bits & ~0xffffull) | 0x8000);
        memcpy(&b[i], &word, sizeof word);
    }
    for (int i = 0; i < M; i++)
        a[i] = (float)(1 << 8 * i) / 256;
    const struct dot_strides strides = {.c = N,
                                        .a = 1,
                                        .b = N,
                                        .panel = r->width[COMPUTE_F32],
                                        .fresh = true,
                                        .out = out,
                                        .out_step = STEP,
                                        .out_type = type};
    memset(out, 0x55, sizeof out);
    r->dot[COMPUTE_F32](c, a, b, M, N, 1, &strides);
    for (int i = 0; i < M * STEP; i++) {
        const float sum = i % STEP < N ? fmaf(a[i / STEP], b[i % STEP], 0) : 0;
        const uint16_t want = i % STEP >= N ? 0x5555 : bf16 ? f32_to_bf16(sum) : f32_to_f16(sum);
        if (isnan(sum))
            assert_true(isnan(bf16 ? bf16_to_f32(out[i]) : f16_to_f32(out[i])));
        else
            assert_int_equal(out[i], want);
    }
}

static void sums_are_rounded_as_by_conversions(void **state)
{
    (void)state;
    for (int s = 0; routine_set_at(s); s++)
        for (int i = 0; i < 2000 && routine_set_at(s)->dot->has_halves; i++)
            check_halves(routine_set_at(s)->dot, i % 2 ? OUT_BF16 : OUT_F16);
}

/* Checks products that pack their operands as they go: rows that are far apart, columns of whole
 * panels of which some may not count, and b in panels one after the other (`kept`) or all in one
 * place. */
static void dot_packs(enum dtype t, size_t m, size_t n, size_t k, bool kept)
{
    enum { ROWS = 32, COLUMNS = 96, DEPTH = 21, A_FROM = 29, A_TO = 24, B_FROM = 101 };
    static unsigned char a[ROWS * A_FROM * 8], b[DEPTH * B_FROM * 8], dense[2][DEPTH * COLUMNS * 8];
    static unsigned char to[ROWS * A_TO * 8], panels[DEPTH * COLUMNS * 8], c[ROWS * COLUMNS * 8],
        want[ROWS * COLUMNS * 8];
    enum compute compute = routine_compute_of(t);
    size_t size = dtype_size(t);
    fill_plain(t, a, ROWS * A_FROM);
    fill_plain(t, b, DEPTH * B_FROM);
    memset(want, 0, m * n * size);
    for (size_t i = 0; i < m; i++)
        memcpy(dense[0] + i * k * size, a + i * A_FROM * size, k * size);
    for (size_t p = 0; p < k; p++)
        memcpy(dense[1] + p * n * size, b + p * B_FROM * size, n * size);
    dot_plainly(t, want, dense[0], dense[1], m, n, k);
    for (int s = 0; routine_set_at(s); s++) {
        const struct dot_routines *r = routine_set_at(s)->dot;
        size_t width = r->width[compute], count = (n + width - 1) / width;
        if (!r->packs[compute])
            continue;
        const struct dot_strides strides = {.c = n,
                                            .a = A_TO,
                                            .b = width,
                                            .panel = kept ? k * width : 0,
                                            .fresh = true,
                                            .a_unpacked = {a, A_FROM},
                                            .b_unpacked = {b, B_FROM}};
        memset(to, 0x55, sizeof to);
        memset(panels, 0x55, sizeof panels);
        r->dot[compute](c, to, panels, m, n, k, &strides);
        assert_memory_equal(c, want, m * n * size);
        for (size_t i = 0; i < m; i++)
            assert_memory_equal(to + i * A_TO * size, a + i * A_FROM * size, k * size);
        for (size_t j = kept ? 0 : count - 1; j < count; j++)
            for (size_t p = 0; p < k; p++)
                assert_memory_equal(panels + (kept ? j * k + p : p) * width * size,
                                    b + (p * B_FROM + j * width) * size, width * size);
        for (size_t i = (kept ? count : 1) * k * width * size; i < sizeof panels; i++)
            assert_int_equal(panels[i], 0x55);
    }
}

static void dot_packs_on_the_way(void **state)
{
    (void)state;
    for (size_t m = 1; m <= 32; m++)
        for (size_t n = 1; n <= 96; n += n % 32 == 0 ? 1 : 31)
            for (size_t k = 1; k <= 21; k += 5)
                for (int kept = 0; kept < 2; kept++) {
                    dot_packs(DT_F32, m, n, k, kept);
                    dot_packs(DT_F64, m, n, k, kept);
                }
}

/* Returns the greater of two f32, as bits: a number wins over a NaN, signalling or not, and -0
 * is below 0. */
static uint32_t greater_bits(uint32_t a, uint32_t b)
{
    float x, y;
    memcpy(&x, &a, sizeof x);
    memcpy(&y, &b, sizeof y);
    if (isnan(x) || isnan(y))
        return isnan(y) ? a : b;
    return x > y || (x == y && !signbit(x)) ? a : b;
}

static const uint32_t special_bits[] = {0,          0x80000000, 0x3f800000, 0xbf800000, 0x7f800000,
                                        0xff800000, 0x7fc00000, 0x7fa00000, 0xffa00000};
enum { SPECIALS = sizeof special_bits / sizeof *special_bits };

static void greatest_of_zeros_and_nans(void **state)
{
    enum { COUNT = 9 }; /* a vector and a remainder */
    (void)state;
    for (int s = 0; routine_set_at(s); s++)
        for (size_t i = 0; i < SPECIALS * SPECIALS; i++) {
            const struct routine_set *set = routine_set_at(s);
            uint32_t x[2][COUNT], row[COUNT], column[COUNT];
            uint32_t a = special_bits[i / SPECIALS], b = special_bits[i % SPECIALS];
            uint32_t want = greater_bits(a, b);
            for (size_t j = 0; j < COUNT; j++) {
                x[0][j] = a;
                x[1][j] = b;
            }
            routine_elementwise(set, OP_MAX, COMPUTE_F32)(row, x[0], x[1], NULL, COUNT);
            set->reduce->reduce[REDUCTION_MAX][COMPUTE_F32](column, x, 1, 2, COUNT);
            for (size_t j = 0; j < COUNT; j++) {
                assert_true(same_bits_or_nan(DT_F32, &row[j], &want));
                assert_true(same_bits_or_nan(DT_F32, &column[j], &want));
            }
        }
}

/* Computes the extremes of rows of 1 to 700 elements. The rows have few different values, so
 * that zeros, infinities and NaNs are often the result. */
static void greatest_and_least_of_rows(void **state)
{
    enum { MOST = 700 };
    static const uint32_t sign = 0x80000000;
    uint32_t x[MOST];
    (void)state;
    for (size_t n = 1; n <= MOST; n++) {
        size_t first = random_bits() % SPECIALS, kinds = 1 + random_bits() % SPECIALS;
        for (size_t i = 0; i < n; i++)
            x[i] = special_bits[(first + random_bits() % kinds) % SPECIALS];
        uint32_t most = x[0], least = x[0];
        for (size_t i = 1; i < n; i++) {
            most = greater_bits(most, x[i]);
            least = greater_bits(least ^ sign, x[i] ^ sign) ^ sign;
        }
        for (int s = 0; routine_set_at(s); s++) {
            const struct reduce_routines *r = routine_set_at(s)->reduce;
            uint32_t got[2];
            r->reduce[REDUCTION_MAX][COMPUTE_F32](&got[0], x, 1, n, 1);
            r->reduce[REDUCTION_MIN][COMPUTE_F32](&got[1], x, 1, n, 1);
            if (!same_bits_or_nan(DT_F32, &got[0], &most) ||
                !same_bits_or_nan(DT_F32, &got[1], &least))
                fail_msg("%d elements with %s: max %08x, not %08x; min %08x, not %08x", (int)n,
                         routine_set_at(s)->name, got[0], most, got[1], least);
        }
    }
}

/* Returns the sum in the order that docs/cpu-engine.md defines; overwrites x. */
static float sum_in_order(float *x, size_t n)
{
    size_t parts = n >= REDUCTION_LONG ? REDUCTION_PARTS : n >= 32 ? 32 : 1;
    for (size_t i = parts; i < n; i++)
        x[i % parts] += x[i];
    for (size_t half = parts / 2; half > 0; half /= 2)
        for (size_t i = 0; i < half; i++)
            x[i] += x[i + half];
    return x[0];
}

static void expect_sum(const char *what, const char *set, size_t n, float got, float want)
{
    if (!same_bits_or_nan(DT_F32, &got, &want))
        fail_msg("%s of %d elements with %s: %a, not %a", what, (int)n, set, (double)got,
                 (double)want);
}

/* Also tries zeros alone: the sum of -0 and -0 is -0. */
static void sums_of_rows(void **state)
{
    enum { MOST = 700 };
    float x[MOST], y[MOST], terms[MOST], got;
    (void)state;
    for (size_t n = 1; n <= MOST; n++) {
        for (size_t i = 0; i < n; i++) {
            memcpy(&x[i], &special_bits[random_bits() % 4], sizeof *x);
            x[i] = n % 3 == 0 ? -0.0f : x[i] * (float)(random_bits() % 1000) / 7;
            y[i] = n % 3 == 0 ? 0.0f : (float)(random_bits() % 1000) / 9 - 50;
        }
        for (int s = 0; routine_set_at(s); s++) {
            const struct reduce_routines *r = routine_set_at(s)->reduce;
            const char *set = routine_set_at(s)->name;
            r->reduce[REDUCTION_SUM][COMPUTE_F32](&got, x, 1, n, 1);
            memcpy(terms, x, sizeof terms);
            expect_sum("sum", set, n, got, sum_in_order(terms, n));
            for (int same = 0; same < 2 && n >= REDUCTION_LONG; same++) {
                for (size_t i = 0; i < n; i++)
                    terms[i] = x[i] * (same ? x[i] : y[i]);
                r->f32_sum_of_products(&got, x, same ? x : y, n);
                expect_sum("sum of products", set, n, got, sum_in_order(terms, n));
            }
        }
    }
}

/* --- functions of f32 --- */

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static const struct {
    enum op op;
    double (*f)(double);
    double ulp; /* the greatest error that docs/cpu-engine.md allows */
} functions[] = {{OP_EXP, exp, 1.14},     {OP_EXP2, exp2, 1.16},   {OP_LOG, log, 0.90},
                 {OP_LOG2, log2, 1.20},   {OP_SIN, sin, 0.51},     {OP_COS, cos, 0.51},
                 {OP_TANH, tanh, 1.20},   {OP_ERF, erf, 1.13},     {OP_ERFC, erfc, 4.05},
                 {OP_EXPM1, expm1, 1.56}, {OP_LOG1P, log1p, 0.90}, {OP_SIGMOID, sigmoid, 2.80}};

/* Returns |got - want| in units in the last place of an f32; infinities and NaNs must be equal. */
static double ulps(float got, double want)
{
    int exponent;
    if (isnan(want))
        return isnan(got) ? 0 : INFINITY;
    if (isinf((float)want) || isinf(got))
        return (float)want == got ? 0 : INFINITY;
    frexp(want, &exponent);
    return fabs((double)got - want) / ldexp(1, (exponent < -125 ? -125 : exponent) - 24);
}

static void check_function(size_t i, const float *x, const double *want, size_t n)
{
    enum { MOST = 4096 };
    static float got[MOST], first[MOST];
    for (int s = 0; routine_set_at(s); s++) {
        elementwise_fn *f = routine_elementwise(routine_set_at(s), functions[i].op, COMPUTE_F32);
        memcpy(got, x, n * sizeof *x);
        f(got, got, NULL, NULL, n); /* in place, as steps call them */
        for (size_t j = 0; j < n; j++)
            if (!(ulps(got[j], want[j]) <= functions[i].ulp))
                fail_msg("%s with %s: %a gives %a, not %a", op_table[functions[i].op].text,
                         routine_set_at(s)->name, (double)x[j], (double)got[j], want[j]);
        if (s == 0)
            memcpy(first, got, n * sizeof *x);
        for (size_t j = 0; j < n; j++)
            assert_true(same_bits_or_nan(DT_F32, &first[j], &got[j]));
    }
}

/* Half a million bit patterns, evenly spaced over all: subnormals, infinities, NaNs too; the
 * last part has an odd length, to reach the loops' ends. */
static void functions_are_as_exact_as_said(void **state)
{
    enum { BATCH = 4093 };
    static float x[BATCH];
    static double want[BATCH];
    (void)state;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        for (uint64_t bits = 0; bits <= UINT32_MAX;) {
            size_t n = 0;
            for (; n < BATCH && bits <= UINT32_MAX; n++, bits += 8191) {
                uint32_t b = (uint32_t)bits;
                memcpy(&x[n], &b, sizeof b);
                want[n] = functions[i].f((double)x[n]);
            }
            check_function(i, x, want, n);
        }
}

static void functions_of_special_values(void **state)
{
    static const float x[] = {0.0f,           -0.0f,           1,         -1,         0x1p-149f,
                              -0x1p-149f,     0x1p-126f,       88.72283f, 88.7229f,   -87.4f,
                              -103.9f,        -104.0f,         128,       127.99999f, -149,
                              -149.6f,        INFINITY,        -INFINITY, NAN,        0x1p20f,
                              0x1.000002p20f, 0x1.fffffep127f, 0.65f,     4};
    double want[sizeof x / sizeof *x];
    (void)state;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        for (size_t j = 0; j < sizeof x / sizeof *x; j++)
            want[j] = functions[i].f((double)x[j]);
        check_function(i, x, want, sizeof x / sizeof *x);
    }
    for (int s = 0; routine_set_at(s); s++) { /* for -0 they give -0 */
        static const enum op odd[] = {OP_TANH, OP_ERF, OP_SIN, OP_EXPM1, OP_LOG1P};
        for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
            float zero = -0.0f;
            routine_elementwise(routine_set_at(s), odd[i], COMPUTE_F32)(&zero, &zero, NULL, NULL,
                                                                        1);
            assert_true(zero == 0 && signbit(zero));
        }
    }
}

/* Returns an argument of usual size; sometimes random bits, or the ends of ranges that are
 * computed in another way. */
static float some_argument(void)
{
    static const float ends[] = {44.36f, -44.36f, 63.9f, -64.1f, 87.3f, -87.4f, -INFINITY, NAN};
    uint64_t bits = random_bits();
    uint32_t any = (uint32_t)(bits >> 32);
    float x;
    memcpy(&x, &any, sizeof x);
    if (bits % 64 == 1)
        return x;
    if (bits % 64 == 2)
        return ends[any % (sizeof ends / sizeof *ends)];
    return ldexpf((float)(int32_t)any, -29);
}

/* All sets agree on special values, random bits and powers of usual size. */
static void powers_are_as_exact_as_said(void **state)
{
    enum { COUNT = 4000 };
    static const float special[] = {0,        -0.0f,     1,   -1,        0.5f,    -2,    3,
                                    INFINITY, -INFINITY, NAN, 0x1p-149f, 0x1p24f, -2.5f, 7e30f};
    const size_t count = sizeof special / sizeof *special;
    static float x[COUNT], y[COUNT], got[COUNT], first[COUNT];
    (void)state;
    for (int turn = 0; turn < 50; turn++) {
        for (size_t i = 0; i < COUNT; i++) {
            x[i] = fabsf(some_argument());
            y[i] = 150 * some_argument() / log2f(x[i]);
            if (i < count * count) {
                x[i] = special[i % count];
                y[i] = special[i / count];
            }
        }
        for (int s = 0; routine_set_at(s); s++) {
            const struct routine_set *set = routine_set_at(s);
            routine_elementwise(set, OP_POW, COMPUTE_F32)(got, x, y, NULL, COUNT);
            for (size_t i = 0; i < COUNT; i++)
                if (!(ulps(got[i], pow((double)x[i], (double)y[i])) <= 0.51))
                    fail_msg("pow with %s: %a to %a gives %a", set->name, (double)x[i],
                             (double)y[i], (double)got[i]);
            if (s == 0)
                memcpy(first, got, sizeof got);
            for (size_t i = 0; i < COUNT; i++)
                assert_true(same_bits_or_nan(DT_F32, &first[i], &got[i]));
        }
    }
}

/* Checks a routine on n elements, to other memory or in place: each result is that of the first
 * set for that element alone, less `by` before, and no more elements are read or written than n. */
static void check_each(elementwise_fn *f, enum op op, const float *by, size_t n, bool in_place)
{
    enum { MOST = 256, UNTOUCHED = 77 };
    elementwise_fn *first = routine_elementwise(routine_set_at(0), op, COMPUTE_F32);
    float *x = malloc(n * sizeof *x + 1), copy[MOST], to[MOST], want; /* with ends */
    const size_t skip = n % 5 + 1;
    for (size_t j = 0; j < MOST; j++)
        to[j] = UNTOUCHED;
    for (size_t j = 0; j < n; j++)
        x[j] = copy[j] = some_argument();
    f(in_place ? x : to + skip, x, by, NULL, n);
    for (size_t j = 0; j < n; j++) {
        const float *got = in_place ? &x[j] : &to[skip + j];
        float argument = by ? copy[j] - *by : copy[j];
        first(&want, &argument, NULL, NULL, 1);
        if (!same_bits_or_nan(DT_F32, &want, got))
            fail_msg("%s: %a is %a alone and %a as element %zu of %zu", op_table[op].text,
                     (double)argument, (double)want, (double)*got, j, n);
        assert_true(in_place || memcmp(&x[j], &copy[j], sizeof *x) == 0);
    }
    for (size_t j = 0; j < MOST; j++)
        assert_true(to[j] == UNTOUCHED || (!in_place && j >= skip && j < skip + n));
    free(x);
}

/* A function's result for an element depends neither on other elements nor on its place. */
static void functions_take_each_by_itself(void **state)
{
    enum { MOST = 210 };
    static const float less[] = {0, 1.5f, 95, INFINITY};
    (void)state;
    for (int s = 0; routine_set_at(s); s++)
        for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
            const struct elementwise_row *row =
                routine_row(routine_set_at(s)->math, functions[i].op);
            for (size_t n = 0; n <= MOST; n++) {
                check_each(row->of[COMPUTE_F32], row->op, NULL, n, n % 2);
                if (row->f32_by_one)
                    check_each(row->f32_by_one, row->op, &less[n % 4], n, n / 4 % 2);
            }
        }
}

/* --- operations with one value --- */

static uint32_t inverse_of_odd(uint32_t y)
{
    uint32_t inverse = y;
    for (int i = 0; i < 5; i++)
        inverse *= 2 - y * inverse;
    return inverse;
}

/* Returns a number whose quotient by y, odd and of 24 bits, is almost half way between two
 * numbers: x 2^25 = m y + rest with m odd and of 25 bits. Returns 1 if there is no such x. */
static float hard_dividend(uint32_t y, int32_t rest)
{
    uint64_t m = (0 - (uint32_t)rest * inverse_of_odd(y)) & ((1u << 25) - 1);
    uint64_t x = (uint64_t)((int64_t)(m * y) + rest) >> 25;
    return m % 2 == 1 && m >> 24 == 1 && x >> 23 == 1 ? (float)x : 1;
}

/* Checks it in place and to other memory. */
static void check_by_one(const struct elementwise_row *row, const float *x, float y,
                         const char *set)
{
    const bool binary = op_table[row->op].arity == 2; /* or a function of the difference */
    enum { COUNT = ELEMENTS };
    float want[COUNT], got[COUNT], one[COUNT];
    for (int i = 0; i < COUNT; i++)
        one[i] = binary ? y : x[i] - y;
    row->of[COMPUTE_F32](want, binary ? x : one, one, NULL, COUNT);
    memcpy(got, x, sizeof got);
    row->f32_by_one(got, got, &y, NULL, COUNT);
    row->f32_by_one(one, x, &y, NULL, COUNT);
    for (int i = 0; i < COUNT; i++)
        if (!same_bits_or_nan(DT_F32, &want[i], &got[i]) ||
            !same_bits_or_nan(DT_F32, &want[i], &one[i]))
            fail_msg("%s with %s: %a and %a give %a or %a, not %a", op_table[row->op].id, set,
                     (double)x[i], (double)y, (double)got[i], (double)one[i], (double)want[i]);
}

static void check_family_by_one(const struct elementwise_routines *r, const float *x, float y,
                                const char *set)
{
    for (size_t i = 0; i < r->count; i++)
        if (r->rows[i].f32_by_one)
            check_by_one(&r->rows[i], x, y, set);
}

/* Operations with one value give the same as with a tile of it: on random bits, on medium
 * numbers, and on the quotients that are hardest to round. */
static void one_value_is_as_many(void **state)
{
    float x[3][ELEMENTS], y;
    (void)state;
    for (int turn = 0; turn < 2000; turn++) {
        uint32_t odd = (uint32_t)random_bits() >> 8 | 0x800001u;
        fill(DT_F32, x[0]);
        for (int i = 0; i < ELEMENTS; i++) {
            uint64_t bits = random_bits();
            x[1][i] =
                i % 9 == 0 ? 0.0f * (float)(i % 2 - 1) : ldexpf((float)(int32_t)bits, i % 60 - 60);
            x[2][i] = hard_dividend(odd, i / 2 * (i % 2 ? 1 : -1));
        }
        memcpy(&y, &x[0][turn % ELEMENTS], sizeof y);
        const float values[3] = {y, ldexpf((float)odd, turn % 60 - 53), (float)odd};
        for (int s = 0; routine_set_at(s); s++) {
            const struct routine_set *set = routine_set_at(s);
            for (int i = 0; i < 3; i++)
                check_family_by_one(set->elementwise, x[i], values[i], set->name);
            if (turn < 20)
                check_family_by_one(set->math, x[0], values[0], set->name);
        }
    }
}

/* Gives dense strides to axes, in a random order. */
static void lay_axes(const struct nest *nest, int64_t *stride)
{
    bool taken[NEST_RANK] = {false};
    int64_t step = 1;
    for (int i = 0; i < nest->rank; i++) {
        int axis = (int)(random_bits() % (unsigned)nest->rank);
        while (taken[axis])
            axis = (axis + 1) % nest->rank;
        taken[axis] = true;
        stride[axis] = step;
        step *= nest->extent[axis] + (int64_t)(random_bits() % 2);
    }
}

static void copy_plainly(unsigned char *dst, const unsigned char *src, const struct nest *nest,
                         int axis, size_t size)
{
    if (axis == nest->rank) {
        memcpy(dst, src, size);
        return;
    }
    for (int64_t i = 0; i < nest->extent[axis]; i++)
        copy_plainly(dst + i * nest->dst[axis] * (int64_t)size,
                     src + i * nest->src[axis] * (int64_t)size, nest, axis + 1, size);
}

/* Rows, transposed planes and broadcast values, in every order of axes. */
static void copies_follow_their_strides(void **state)
{
    enum { ROOM = 20 * 20 * 20 * 8 };
    static unsigned char src[ROOM], want[ROOM], got[ROOM];
    (void)state;
    for (size_t i = 0; i < ROOM; i++)
        src[i] = (unsigned char)random_bits();
    for (int run = 0; run < 2000; run++) {
        struct nest nest = {.rank = (int)(random_bits() % 4)};
        int index = (int)(random_bits() % SIZE_COUNT);
        for (int i = 0; i < nest.rank; i++)
            nest.extent[i] = 1 + (int64_t)(random_bits() % (random_bits() % 2 ? 18 : 5));
        lay_axes(&nest, nest.dst);
        lay_axes(&nest, nest.src);
        if (nest.rank > 0 && random_bits() % 3 == 0)
            nest.src[random_bits() % (unsigned)nest.rank] = 0;
        memset(want, 0, ROOM);
        copy_plainly(want, src, &nest, 0, (size_t)1 << index);
        for (int s = 0; routine_set_at(s); s++)
            for (int once = 0; once < 2; once++) {
                const struct memory_routines *m = routine_set_at(s)->memory;
                struct nest settled = nest;
                if (once)
                    exec_nest_settle(&settled);
                memset(got, 0, ROOM);
                (once ? m->copy_once : m->copy)[index](got, src, &settled);
                assert_memory_equal(got, want, ROOM);
            }
    }
}

/* The known answers of the Random123 library. */
static void philox_gives_the_known_numbers(void **state)
{
    struct cpu_run r;
    (void)state;
    cpu_open(&r,
             "kernel k(u64 seed, u64 at, u32 *o) grid(1) warps(1)\n{\n"
             "    global u32 O[4] = o;\n    O = philox(seed, at, iota(4));\n}\n",
             (const struct given[]){{"seed", 0}, {"at", 0}, {NULL, 0}});
    const uint32_t *o = cpu_array(&r, "o", 16);
    assert_int_equal(cpu_go(&r, 1), CPU_OK);
    assert_int_equal(o[0], 0x6627e8d5);
    assert_int_equal(o[1], 0xe169c58d);
    assert_int_equal(o[2], 0xbc57ac4c);
    assert_int_equal(o[3], 0x9b00dbd8);
    cpu_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_op_agrees_with_the_evaluator),
        cmocka_unit_test(conversions_agree_with_the_table),
        cmocka_unit_test(the_sets_agree_to_the_bit),
        cmocka_unit_test(dot_is_an_fma_a_step),
        cmocka_unit_test(sums_are_rounded_as_by_conversions),
        cmocka_unit_test(dot_packs_on_the_way),
        cmocka_unit_test(greatest_of_zeros_and_nans),
        cmocka_unit_test(greatest_and_least_of_rows),
        cmocka_unit_test(sums_of_rows),
        cmocka_unit_test(functions_are_as_exact_as_said),
        cmocka_unit_test(functions_of_special_values),
        cmocka_unit_test(powers_are_as_exact_as_said),
        cmocka_unit_test(functions_take_each_by_itself),
        cmocka_unit_test(one_value_is_as_many),
        cmocka_unit_test(copies_follow_their_strides),
        cmocka_unit_test(philox_gives_the_known_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
