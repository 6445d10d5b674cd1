/* Products of few rows by a right operand whose columns are contiguous (dot_turned_fn), with AVX-512:
 * squares of 16 columns of 16 groups of 4 bytes are transposed in registers. A group is an f32, or
 * two f16 or bf16. Each line of the cache is read by one load: lines of columns that are a power of
 * two apart may fall in one set of the first-level cache. */
#ifndef TW_ROUTINES_DOT_TURNED_H
#define TW_ROUTINES_DOT_TURNED_H

#include "cpu/routines/routines.h"

#include <immintrin.h>

/* Columns, and groups of a column, that are transposed together; squares whose sums are computed
 * together, because each sum waits for its last addition. */
enum { SQUARE = 16, SQUARES = 2, WIDTH = SQUARES * SQUARE };
enum { TURNED_ROWS = 4 }; /* most rows of sums in registers */

enum turned_kind { TURNED_F32, TURNED_F16, TURNED_BF16 };

/* Two squares, transposed: a row has a group of each column. The second half of a row of f16 has
 * the columns whose numbers are odd (split_halves). */
struct squares {
    _Alignas(CACHE_LINE) float at[SQUARE][WIDTH];
};

/* Compilers must not combine loads after it with stores before it. */
#define KEEP_ORDER __asm__ volatile("" ::: "memory")

/* The number of squares, for loops that compilers must not unroll. */
static INLINED size_t all_squares(void)
{
    size_t count = SQUARES;
    __asm__("" : "+r"(count));
    return count;
}

static INLINED __m512i get_groups(const float *from)
{
    return _mm512_load_si512((const void *)from);
}

/* Splits a row of groups of f16: its first half becomes the first f16 of the groups, its second half
 * the second, with the columns in order. */
static INLINED void split_halves(float *row)
{
    enum { FIRST_OR_SECOND = 0xca }; /* (x & y) | (~x & z) */
    const __m512i low = _mm512_set1_epi32(0xffff), even = get_groups(row),
                  odd = get_groups(row + SQUARE);
    _mm512_store_si512(
        row, _mm512_ternarylogic_epi32(low, even, _mm512_slli_epi32(odd, 16), FIRST_OR_SECOND));
    _mm512_store_si512(row + SQUARE, _mm512_ternarylogic_epi32(low, _mm512_srli_epi32(even, 16),
                                                               odd, FIRST_OR_SECOND));
    KEEP_ORDER; /* a conversion that loads needs no shuffle */
}

/* Loads the steps of k that a row of groups has, in the order in which they are added. */
static INLINED void get_steps(const enum turned_kind kind, __m512 y[2][SQUARES], float *row)
{
    const __m512i mask = _mm512_set1_epi32(-0x10000);
    if (kind == TURNED_F16)
        split_halves(row);
    UNROLLED
    for (size_t v = 0; v < SQUARES; v++) {
        const __m256i *halves = (const __m256i *)(const void *)row;
        const __m512i groups = get_groups(row + v * SQUARE);
        switch (kind) {
        case TURNED_F32: y[0][v] = _mm512_castsi512_ps(groups); break;
        case TURNED_F16:
            y[0][v] = _mm512_cvtph_ps(_mm256_load_si256(halves + v));
            y[1][v] = _mm512_cvtph_ps(_mm256_load_si256(halves + SQUARES + v));
            break;
        case TURNED_BF16:
            y[0][v] = _mm512_castsi512_ps(_mm512_and_si512(groups, mask));
            y[1][v] = _mm512_castsi512_ps(_mm512_slli_epi32(groups, 16));
            break;
        default: break;
        }
    }
}

static INLINED size_t group_steps(const enum turned_kind kind)
{
    return kind == TURNED_F32 ? 1 : 2;
}

/* Adds the steps of k that row `u` has to sums of one row. */
static INLINED void add_group(const enum turned_kind kind, __m512 sum[SQUARES], const float *a,
                              float *row, size_t u)
{
    const size_t steps = group_steps(kind);
    __m512 y[2][SQUARES];
    get_steps(kind, y, row + u * WIDTH);
    UNROLLED
    for (size_t t = 0; t < steps; t++)
        UNROLLED
    for (size_t v = 0; v < SQUARES; v++)
        sum[v] = _mm512_fmadd_ps(_mm512_set1_ps(a[u * steps + t]), y[t][v], sum[v]);
}

/* Transposes 4 × 4 groups in each quarter: from four columns to four groups. */
static INLINED void turn_quarters(__m512 x[4])
{
    const __m512d low01 = _mm512_castps_pd(_mm512_unpacklo_ps(x[0], x[1])),
                  low23 = _mm512_castps_pd(_mm512_unpacklo_ps(x[2], x[3])),
                  high01 = _mm512_castps_pd(_mm512_unpackhi_ps(x[0], x[1])),
                  high23 = _mm512_castps_pd(_mm512_unpackhi_ps(x[2], x[3]));
    x[0] = _mm512_castpd_ps(_mm512_unpacklo_pd(low01, low23));
    x[1] = _mm512_castpd_ps(_mm512_unpackhi_pd(low01, low23));
    x[2] = _mm512_castpd_ps(_mm512_unpacklo_pd(high01, high23));
    x[3] = _mm512_castpd_ps(_mm512_unpackhi_pd(high01, high23));
}

/* Transposes a square whose columns are `column` bytes apart. Meanwhile adds half of the rows of
 * other squares, `now`, to sums (NULL: nothing), so that the additions, which wait for each other,
 * and the shuffles run together. */
static INLINED void turn_square(const enum turned_kind kind, float *to, const unsigned char *b,
                                size_t column, __m512 *sum, const float *a, float *now)
{
    enum { EVEN = 0x88, ODD = 0xdd }; /* quarters 0 and 2, 1 and 3 of two vectors */
    __m512 x[4][4];
    UNROLLED
    for (size_t q = 0; q < 4; q++) {
        UNROLLED
        for (size_t i = 0; i < 4; i++)
            x[q][i] = _mm512_loadu_ps(b + i * column);
        turn_quarters(x[q]);
        b += 4 * column;
        OPAQUE(b); /* compilers must not keep 16 multiples of `column` */
        if (sum)
            add_group(kind, sum, a, now, q);
    }
    UNROLLED
    for (size_t i = 0; i < 4; i++) {
        const __m512 even01 = _mm512_shuffle_f32x4(x[0][i], x[1][i], EVEN),
                     even23 = _mm512_shuffle_f32x4(x[2][i], x[3][i], EVEN),
                     odd01 = _mm512_shuffle_f32x4(x[0][i], x[1][i], ODD),
                     odd23 = _mm512_shuffle_f32x4(x[2][i], x[3][i], ODD);
        _mm512_store_ps(to + i * WIDTH, _mm512_shuffle_f32x4(even01, even23, EVEN));
        _mm512_store_ps(to + (4 + i) * WIDTH, _mm512_shuffle_f32x4(odd01, odd23, EVEN));
        _mm512_store_ps(to + (8 + i) * WIDTH, _mm512_shuffle_f32x4(even01, even23, ODD));
        _mm512_store_ps(to + (12 + i) * WIDTH, _mm512_shuffle_f32x4(odd01, odd23, ODD));
        if (sum)
            add_group(kind, sum, a, now, 4 + i);
    }
}

/* The bytes from one column of a square to the next, and from one square to the other: each has
 * every other column of f16. */
static INLINED size_t across(const enum turned_kind kind, size_t column)
{
    return kind == TURNED_F16 ? 2 * column : column;
}
static INLINED size_t to_other(const enum turned_kind kind, size_t column)
{
    return kind == TURNED_F16 ? column : SQUARE * column;
}

/* Transposes two squares, and adds the rows of `now` to the sums of one row of a. */
static INLINED void turn_and_add(const enum turned_kind kind, struct squares *to,
                                 const unsigned char *b, size_t column, __m512 sum[SQUARES],
                                 const float *a, struct squares *now)
{
    enum { HALF = SQUARE / SQUARES };
    ROLLED
    for (size_t v = 0, count = all_squares(); v < count; v++)
        turn_square(kind, to->at[0] + v * SQUARE, b + v * to_other(kind, column),
                    across(kind, column), sum, a + v * HALF * group_steps(kind), now->at[v * HALF]);
}

/* Computes one row of c. Squares are added while the next ones are transposed. */
static INLINED void add_row(const enum turned_kind kind, float *c, const float *a,
                            const unsigned char *b, size_t n, size_t k, size_t column)
{
    struct squares first = {0}, second, *now = &first, *next = &second;
    const size_t steps = SQUARE * group_steps(kind);
    const unsigned char *from = b;
    float none[WIDTH], *to = none;
    __m512 sum[SQUARES] = {_mm512_setzero_ps(), _mm512_setzero_ps()};
    size_t j = 0; /* columns whose first squares are transposed */
    for (size_t p = k - steps, then;;
         p = then) { /* the first turn adds zeros to sums of no column */
        then = p + steps < k ? p + steps : 0;
        turn_and_add(kind, next, from, column, sum, a + p, now);
        struct squares *const turned = next;
        next = now;
        now = turned;
        from += CACHE_LINE;
        if (then == 0) {
            UNROLLED
            for (size_t v = 0; v < SQUARES; v++)
                _mm512_storeu_ps(to + v * SQUARE, sum[v]);
            if (j == n)
                return;
            to = c + j;
            UNROLLED
            for (size_t v = 0; v < SQUARES; v++)
                sum[v] = _mm512_loadu_ps(to + v * SQUARE);
            j += WIDTH;
        }
        if (then + steps == k) /* after the last columns, nothing new is transposed */
            from = b + (j < n ? j : 0) * column;
    }
}

/* Adds k steps to some rows of sums. */
static INLINED void add_some_rows(const size_t rows, float *c, const float *a, const float *from,
                                  size_t k, const struct dot_few_strides *s)
{
    __m512 sum[TURNED_ROWS][SQUARES];
    UNROLLED
    for (size_t r = 0; r < rows; r++)
        UNROLLED
    for (size_t v = 0; v < SQUARES; v++)
        sum[r][v] = _mm512_loadu_ps(c + r * s->c + v * SQUARE);
    ROLLED
    for (; k > 0; k--, a++, from += WIDTH)
        UNROLLED
    for (size_t r = 0; r < rows; r++)
        UNROLLED
    for (size_t v = 0; v < SQUARES; v++)
        sum[r][v] = _mm512_fmadd_ps(_mm512_set1_ps(a[r * s->a]), _mm512_load_ps(from + v * SQUARE),
                                    sum[r][v]);
    UNROLLED
    for (size_t r = 0; r < rows; r++)
        UNROLLED
    for (size_t v = 0; v < SQUARES; v++)
        _mm512_storeu_ps(c + r * s->c + v * SQUARE, sum[r][v]);
}

/* Adds k steps to m rows of sums. */
static void add_all_rows(float *c, const float *a, const float *from, size_t m, size_t k,
                         const struct dot_few_strides *s)
{
    for (size_t rows; m > 0; m -= rows, c += rows * s->c, a += rows * s->a) {
        rows = m >= TURNED_ROWS ? TURNED_ROWS : 1;
        if (rows == TURNED_ROWS)
            add_some_rows(TURNED_ROWS, c, a, from, k, s);
        else
            add_some_rows(1, c, a, from, k, s);
    }
}

/* Transposes two squares, whose second one is `other` bytes after the first one. */
static APART void turn_squares(struct squares *to, const unsigned char *b, size_t column,
                               size_t other)
{
    ROLLED
    for (size_t v = 0, count = all_squares(); v < count; v++)
        turn_square(TURNED_F32, to->at[0] + v * SQUARE, b + v * other, column, NULL, NULL, NULL);
}

/* Computes rows of c. */
static APART void add_rows(enum turned_kind kind, float *c, const float *a, const unsigned char *b,
                           size_t m, size_t n, size_t k, const struct dot_few_strides *s)
{
    const size_t each = group_steps(kind), steps = SQUARE * each;
    struct squares room;
    _Alignas(CACHE_LINE) float all[2 * SQUARE][WIDTH];
    for (size_t j = 0; j < n; j += WIDTH, c += WIDTH, b += WIDTH * s->b)
        for (size_t p = 0; p < k; p += steps) {
            const unsigned char *from = b + p / steps * CACHE_LINE;
            turn_squares(&room, from, across(kind, s->b), to_other(kind, s->b));
            ROLLED
            for (size_t u = 0; kind != TURNED_F32 && u < SQUARE; u++) {
                __m512 y[2][SQUARES];
                if (kind == TURNED_F16)
                    get_steps(TURNED_F16, y, room.at[u]);
                else
                    get_steps(TURNED_BF16, y, room.at[u]);
                UNROLLED
                for (size_t t = 0; t < 2; t++)
                    UNROLLED
                for (size_t v = 0; v < SQUARES; v++)
                    _mm512_store_ps(all[2 * u + t] + v * SQUARE, y[t][v]);
            }
            add_all_rows(c, a + p, kind == TURNED_F32 ? room.at[0] : all[0], m, steps, s);
        }
}

static INLINED void add_turned(const enum turned_kind kind, float *c, const float *a, const void *b,
                               size_t m, size_t n, size_t k, const struct dot_few_strides *s)
{
    if (n == 0 || k == 0)
        return;
    if (m == 1)
        add_row(kind, c, a, b, n, k, s->b);
    else
        add_rows(kind, c, a, b, m, n, k, s);
}

#define TURNED_OF(name, kind)                                                                      \
    static void turned_##name(float *c, const float *a, const void *b, size_t m, size_t n,         \
                              size_t k, const struct dot_few_strides *s)                           \
    {                                                                                              \
        add_turned(kind, c, a, b, m, n, k, s);                                                     \
    }
TURNED_OF(f32, TURNED_F32)
TURNED_OF(f16, TURNED_F16)
TURNED_OF(bf16, TURNED_BF16)
#undef TURNED_OF
#undef KEEP_ORDER

#endif
