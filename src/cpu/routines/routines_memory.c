/* Moving elements: strided copies, blends, gathers, scatters, and their masks and offsets. Only
 * the size of an element matters, so values are moved as bits. */
#include "cpu/routines/routines_transpose.h"

#include <string.h>

/* Types through which arrays of any type are read and written. */
#if defined(__GNUC__)
#define ANY_TYPE __attribute__((may_alias))
#else
#define ANY_TYPE
#endif
typedef uint8_t ANY_TYPE bits8;
typedef uint16_t ANY_TYPE bits16;
typedef uint32_t ANY_TYPE bits32;
typedef uint64_t ANY_TYPE bits64;

/* Bytes copied at a time. Most rows have few elements, and a call of memcpy would cost more than
 * the row. */
enum { PIECE = 32 };
#if defined(__GNUC__)
typedef uint64_t piece __attribute__((vector_size(PIECE))); /* otherwise gcc moves it in halves */
#else
typedef struct {
    uint64_t part[PIECE / 8];
} piece;
#endif

static inline void copy_bytes(void *dst, const void *src, size_t n)
{
    unsigned char *to = dst;
    const unsigned char *from = src;
    if (n % PIECE != 0 || n > 16 * PIECE) {
        memcpy(to, from, n);
        return;
    }
    for (size_t i = 0; i < n; i += PIECE) {
        piece whole;
        memcpy(&whole, from + i, sizeof whole);
        memcpy(to + i, &whole, sizeof whole);
    }
}

/* Transposes rows: dst[r + c * to] = src[r * from + c]. From a plain loop the compiler
 * generates gathers, one element at a time. */
#define TRANSPOSE_ELEMENTS(B)                                                                      \
    static APART void transpose_##B(B *dst, const B *src, int64_t rows, int64_t columns,           \
                                    int64_t to, int64_t from)                                      \
    {                                                                                              \
        int64_t r = 0;                                                                             \
        for (; r + 4 <= rows; r += 4)                                                              \
            for (int64_t c = 0; c < columns; c++) {                                                \
                const B *in = src + r * from + c;                                                  \
                B *out = dst + r + c * to, x0 = in[0], x1 = in[from];                              \
                B x2 = in[2 * from], x3 = in[3 * from];                                            \
                out[0] = x0;                                                                       \
                out[1] = x1;                                                                       \
                out[2] = x2;                                                                       \
                out[3] = x3;                                                                       \
            }                                                                                      \
        for (; r < rows; r++)                                                                      \
            for (int64_t c = 0; c < columns; c++)                                                  \
                dst[r + c * to] = src[r * from + c];                                               \
    }
TRANSPOSE_ELEMENTS(bits8)
TRANSPOSE_ELEMENTS(bits16)
TRANSPOSE_ELEMENTS(bits64)

static APART void transpose_bits32(bits32 *dst, const bits32 *src, int64_t rows, int64_t columns,
                                   int64_t to, int64_t from)
{
    transpose_words((unsigned char *)dst, to * 4, (const unsigned char *)src, from * 4,
                    (size_t)rows, (size_t)columns, 0, false);
}

/* The last two axes of a nest are mostly one of few cases: rows that are copied, rows of one
 * value, and rows that repeat the first. */
#define COPY(B)                                                                                    \
    static inline void spread_##B(B *dst, B value, size_t n)                                       \
    {                                                                                              \
        enum { MANY = PIECE / sizeof(B) };                                                         \
        B whole[MANY];                                                                             \
        size_t i = 0;                                                                              \
        for (size_t k = 0; k < MANY; k++)                                                          \
            whole[k] = value;                                                                      \
        for (; i + MANY <= n; i += MANY)                                                           \
            memcpy(dst + i, whole, sizeof whole);                                                  \
        for (; i < n; i++)                                                                         \
            dst[i] = value;                                                                        \
    }                                                                                              \
    static inline void row_##B(B *dst, const B *src, size_t n, int64_t to, int64_t from)           \
    {                                                                                              \
        if (to == 1 && from == 1) {                                                                \
            copy_bytes(dst, src, n * sizeof *dst);                                                 \
        } else if (to == 1 && from == 0) {                                                         \
            spread_##B(dst, *src, n);                                                              \
        } else {                                                                                   \
            VECTORISE for (size_t i = 0; i < n; i++)                                               \
            {                                                                                      \
                dst[(int64_t)i * to] = src[(int64_t)i * from];                                     \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
    static inline void plane_##B(B *dst, const B *src, const struct nest *nest, int axis,          \
                                 bool once)                                                        \
    {                                                                                              \
        int64_t rows = nest->extent[axis], to = nest->dst[axis], from = nest->src[axis];           \
        int64_t n = nest->extent[axis + 1];                                                        \
        int64_t next = nest->dst[axis + 1], last = nest->src[axis + 1];                            \
        if (next == 1 && from == 0 && to >= n) {                                                   \
            row_##B(dst, src, (size_t)n, next, last);                                              \
            for (int64_t i = 1; i < rows; i++)                                                     \
                copy_bytes(dst + i * to, dst, (size_t)n * sizeof *dst);                            \
        } else if (next == 1 && last == 1) {                                                       \
            for (int64_t i = 0; i < rows; i++)                                                     \
                copy_bytes(dst + i * to, src + i * from, (size_t)n * sizeof *dst);                 \
        } else if (next == 1 && last == 0) {                                                       \
            for (int64_t i = 0; i < rows; i++)                                                     \
                spread_##B(dst + i * to, src[i * from], (size_t)n);                                \
        } else if (once && next == 1 && from == 1) {                                               \
            transpose_##B(dst, src, n, rows, to, last);                                            \
        } else if (once && to == 1 && last == 1) {                                                 \
            transpose_##B(dst, src, rows, n, next, from);                                          \
        } else {                                                                                   \
            for (int64_t i = 0; i < rows; i++)                                                     \
                row_##B(dst + i * to, src + i * from, (size_t)n, next, last);                      \
        }                                                                                          \
    }                                                                                              \
    static void axis_##B(B *dst, const B *src, const struct nest *nest, int axis, bool once)       \
    {                                                                                              \
        int64_t n = nest->extent[axis], to = nest->dst[axis], from = nest->src[axis];              \
        if (axis == nest->rank - 2) {                                                              \
            plane_##B(dst, src, nest, axis, once);                                                 \
            return;                                                                                \
        }                                                                                          \
        for (int64_t i = 0; i < n; i++)                                                            \
            axis_##B(dst + i * to, src + i * from, nest, axis + 1, once);                          \
    }                                                                                              \
    static inline void nest_##B(B *dst, const B *src, const struct nest *nest, bool once)          \
    {                                                                                              \
        if (nest->rank == 0)                                                                       \
            memcpy(dst, src, sizeof(B));                                                           \
        else if (nest->rank == 1)                                                                  \
            row_##B(dst, src, (size_t)nest->extent[0], nest->dst[0], nest->src[0]);                \
        else                                                                                       \
            axis_##B(dst, src, nest, 0, once);                                                     \
    }                                                                                              \
    static void copy_##B(void *dst, const void *src, const struct nest *nest)                      \
    {                                                                                              \
        nest_##B(dst, src, nest, false);                                                           \
    }                                                                                              \
    static void copy_once_##B(void *dst, const void *src, const struct nest *nest)                 \
    {                                                                                              \
        nest_##B(dst, src, nest, true);                                                            \
    }

#define BLEND(B)                                                                                   \
    static void blend_##B(void *dst, const void *src, const uint8_t *mask, size_t n)               \
    {                                                                                              \
        B *out = dst;                                                                              \
        const B *in = src;                                                                         \
        VECTORISE for (size_t i = 0; i < n; i++)                                                   \
        {                                                                                          \
            B new = in[i], old = out[i];                                                           \
            out[i] = mask[i] ? new : old;                                                          \
        }                                                                                          \
    }                                                                                              \
    static void fill_##B(void *dst, const void *value, size_t n)                                   \
    {                                                                                              \
        B *out = dst, v;                                                                           \
        memcpy(&v, value, sizeof v);                                                               \
        for (size_t i = 0; i < n; i++)                                                             \
            out[i] = v;                                                                            \
    }

#define GATHER(B, width)                                                                           \
    static void gather##width##_##B(void *dst, const void *src, const int##width##_t *off,         \
                                    size_t n)                                                      \
    {                                                                                              \
        B *out = dst;                                                                              \
        const B *in = src;                                                                         \
        VECTORISE for (size_t i = 0; i < n; i++)                                                   \
        {                                                                                          \
            out[i] = in[off[i]];                                                                   \
        }                                                                                          \
    }                                                                                              \
    static void scatter##width##_##B(void *dst, const void *src, const int##width##_t *off,        \
                                     const uint8_t *mask, size_t n)                                \
    {                                                                                              \
        B *out = dst;                                                                              \
        const B *in = src;                                                                         \
        if (!mask) {                                                                               \
            for (size_t i = 0; i < n; i++)                                                         \
                out[off[i]] = in[i];                                                               \
            return;                                                                                \
        }                                                                                          \
        for (size_t i = 0; i < n; i++)                                                             \
            if (mask[i])                                                                           \
                out[off[i]] = in[i];                                                               \
    }

#define ALL(B)                                                                                     \
    COPY(B)                                                                                        \
    BLEND(B)                                                                                       \
    GATHER(B, 32)                                                                                  \
    GATHER(B, 64)
ALL(bits8)
ALL(bits16)
ALL(bits32)
ALL(bits64)

#define OFFSETS(width, I, U)                                                                       \
    static bool offsets##width(I *off, const I *index, I stride, int64_t extent,                   \
                               const uint8_t *mask, size_t n)                                      \
    {                                                                                              \
        U limit = (U)extent, step = (U)stride;                                                     \
        U outside = 0;                                                                             \
        if (mask) {                                                                                \
            VECTORISE for (size_t i = 0; i < n; i++)                                               \
            {                                                                                      \
                U at = (U)index[i];                                                                \
                outside |= (U)(at >= limit) & (U)mask[i];                                          \
                off[i] = (I)((U)off[i] + at * step);                                               \
            }                                                                                      \
            return outside != 0;                                                                   \
        }                                                                                          \
        VECTORISE for (size_t i = 0; i < n; i++)                                                   \
        {                                                                                          \
            U at = (U)index[i];                                                                    \
            outside |= (U)(at >= limit);                                                           \
            off[i] = (I)((U)off[i] + at * step);                                                   \
        }                                                                                          \
        return outside != 0;                                                                       \
    }
OFFSETS(32, int32_t, uint32_t)
OFFSETS(64, int64_t, uint64_t)

static size_t count_ones(const uint8_t *mask, size_t n)
{
    uint32_t count = 0; /* a block has at most 1024 lanes */
    for (size_t i = 0; i < n; i++)
        count += mask[i];
    return count;
}

static size_t mask_and(uint8_t *dst, const uint8_t *mask, const uint8_t *condition, size_t n)
{
    if (mask) {
        VECTORISE for (size_t i = 0; i < n; i++)
        {
            dst[i] = mask[i] & (condition[i] != 0);
        }
    } else {
        VECTORISE for (size_t i = 0; i < n; i++)
        {
            dst[i] = condition[i] != 0;
        }
    }
    return count_ones(dst, n);
}

static size_t mask_and_not(uint8_t *dst, const uint8_t *mask, const uint8_t *condition, size_t n)
{
    if (mask) {
        VECTORISE for (size_t i = 0; i < n; i++)
        {
            dst[i] = mask[i] & (condition[i] == 0);
        }
    } else {
        VECTORISE for (size_t i = 0; i < n; i++)
        {
            dst[i] = condition[i] == 0;
        }
    }
    return count_ones(dst, n);
}

#define SIZES(name)                                                                                \
    {                                                                                              \
        name##_bits8, name##_bits16, name##_bits32, name##_bits64                                  \
    }

static void count(int32_t *dst, size_t n)
{
    VECTORISE for (size_t i = 0; i < n; i++)
    {
        dst[i] = (int32_t)i;
    }
}

extern const struct memory_routines ROUTINE(routines_memory);
const struct memory_routines ROUTINE(routines_memory) = {
    .copy = SIZES(copy),
    .copy_once = SIZES(copy_once),
    .count = count,
    .blend = SIZES(blend),
    .fill = SIZES(fill),
    .gather32 = SIZES(gather32),
    .gather64 = SIZES(gather64),
    .scatter32 = SIZES(scatter32),
    .scatter64 = SIZES(scatter64),
    .offsets32 = offsets32,
    .offsets64 = offsets64,
    .mask_and = mask_and,
    .mask_and_not = mask_and_not,
};
