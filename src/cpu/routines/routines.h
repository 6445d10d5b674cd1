/* Routines: apply a tile op to arrays. They know nothing of frames or programs.
 *
 * The routines_*.c files, one for each family, are plain loops that the C compiler vectorises.
 * They are compiled once for any machine. On x86-64 they are compiled again for AVX2 + FMA +
 * F16C (with ROUTINES_V3 defined) and for AVX-512 (ROUTINES_V4); on AArch64 for NEON, which
 * every such machine has (ROUTINES_NEON). Each compilation fills a struct routine_set, and
 * routine_set_choose picks one when a program is compiled. A faster routine for one instruction
 * set is a better entry in that set. The sets agree bit for bit (only the payload of a NaN may
 * differ): no operations are contracted, sums are taken in the order written here, fused steps
 * are fused in all sets. */
#ifndef TW_ROUTINES_H
#define TW_ROUTINES_H

#include "base/dtype.h"
#include "tile/ops.h"
#include "tile/rows.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Gives the names that a compilation defines its suffix. */
#if defined(ROUTINES_V4)
#define ROUTINE(name) name##_v4
#elif defined(ROUTINES_V3)
#define ROUTINE(name) name##_v3
#elif defined(ROUTINES_NEON)
#define ROUTINE(name) name##_neon
#else
#define ROUTINE(name) name##_any
#endif

/* VECTORISE: the loop that follows carries nothing from one turn to the next, though an output
 * may be an input. UNROLLED: the loop has a known number of turns, 14 at most. ROLLED: it stays
 * a loop. INLINED: the function is specialised for constant arguments. APART: the function is
 * neither inlined nor cloned. OFTEN: as APART, but its loops are unrolled as well, which makes
 * it larger; for code that processes long rows. */
#if defined(__clang__)
#pragma clang diagnostic ignored "-Wpass-failed" /* a loop that stays scalar is allowed */
#define VECTORISE _Pragma("clang loop vectorize(assume_safety)")
#define UNROLLED _Pragma("clang loop unroll(full)")
#define ROLLED _Pragma("clang loop unroll(disable)")
#elif defined(__GNUC__)
#define VECTORISE _Pragma("GCC ivdep")
#define UNROLLED _Pragma("GCC unroll 14")
#define ROLLED _Pragma("GCC unroll 1")
#else
#define VECTORISE
#define UNROLLED
#define ROLLED
#endif
#if defined(__GNUC__)
#define INLINED inline __attribute__((always_inline))
#else
#define INLINED inline
#endif
#if defined(__GNUC__) && !defined(__clang__)
#define APART __attribute__((noinline, noclone))
#define OFTEN __attribute__((noinline, noclone, optimize("unroll-loops")))
#else
#define APART
#define OFTEN
#endif

/* Hides the pointer's value from the compiler's optimisations from here on. */
#if defined(__GNUC__)
#define OPAQUE(pointer) __asm__("" : "+r"(pointer))
#else
#define OPAQUE(pointer) (void)(pointer)
#endif

/* Fetch a line into the first-level cache, or into the second-level one. An invalid address does
 * no harm. */
#if defined(__GNUC__)
#define PREFETCH(at) __builtin_prefetch(at)
#define PREFETCH_SECOND(at) __builtin_prefetch(at, 0, 2)
#define PREFETCH_TO_WRITE(at) __builtin_prefetch(at, 1)
#else
#define PREFETCH(at) (void)(at)
#define PREFETCH_SECOND(at) (void)(at)
#define PREFETCH_TO_WRITE(at) (void)(at)
#endif

/* Lines that are fetched ahead while rows are packed; the number keeps memory busy. */
enum { PACK_LINES_AHEAD = 48 };

/* A line of the cache, moved as one value. */
enum { CACHE_LINE = 64 };
#if defined(__GNUC__)
typedef unsigned char cache_line __attribute__((vector_size(64), aligned(1), may_alias));
#else
typedef struct {
    unsigned char bytes[CACHE_LINE];
} cache_line;
#endif

/* The types that arithmetic is done in. f16 and bf16 are computed in f32, small integers in 32
 * bits. */
enum compute {
    COMPUTE_F32,
    COMPUTE_F64,
    COMPUTE_I32,
    COMPUTE_U32,
    COMPUTE_I64,
    COMPUTE_U64,
    COMPUTE_BOOL, /* bytes, 0 or 1 */
    COMPUTE_COUNT
};
enum compute routine_compute_of(enum dtype t);
enum dtype routine_compute_dtype(enum compute c);

enum { SIZE_COUNT = 4 }; /* routines that only move elements: by log2 of the element's bytes */

/* Computes n elements; dst may be a, b or c itself. Comparisons write bytes, 0 or 1. Missing
 * operands are NULL. */
typedef void elementwise_fn(void *dst, const void *a, const void *b, const void *c, size_t n);
/* Converts n elements; dst and src do not overlap. */
typedef void convert_fn(void *dst, const void *src, size_t n);
/* Computes dst[outer][inner] = src[outer][n][inner], reduced over the middle axis, n >= 1. */
typedef void reduce_fn(void *dst, const void *src, size_t outer, size_t n, size_t inner);
/* Scans the middle axis of dst, src: [outer][n][inner]. first: NULL, or the value with which an
 * exclusive scan begins. */
typedef void scan_fn(void *dst, const void *src, size_t outer, size_t n, size_t inner,
                     const void *first);
/* An operand of a product that is packed on the way: its first row, and the elements from row to
 * row. from == NULL: it is packed already. */
struct dot_unpacked {
    const void *from;
    size_t step;
    bool halves; /* f16, computed in f32; requires dot_routines.has_halves */
};
/* Stores rows of sums of f32 as f16 or bf16. Steps in elements from row to row. */
typedef void put_block_fn(uint16_t *to, size_t to_step, const float *from, size_t from_step,
                          size_t rows, size_t columns, bool bf16);
/* The type of the sums that a product writes. OUT_F16, OUT_BF16: of a product whose sums are f32;
 * require dot_routines.has_halves. */
enum out_type { OUT_SUMS, OUT_F16, OUT_BF16 };
/* Steps in elements from one row of c, of a, of b to the next. b may be in panels of
 * dot_routines.width columns; `panel` is the step from one to the next (if b is not in panels:
 * `width`). A panel is finished before the next one begins, so panels that are packed on the way
 * may all use the same memory: 0. */
struct dot_strides {
    size_t c, a, b, panel;
    const struct dot_prefetch *prefetch; /* NULL: nothing */
    bool fresh;                          /* c counts as zeros, whatever it holds */
    bool settled;                        /* 0 is added at the end, so that no sum is -0 */
    bool flipped;                        /* the top bits of the bytes of b are (dot_int8.c) */
    void *out;                           /* destination of c + a · b; NULL: c itself */
    size_t out_step;                     /* elements from row to row of `out` */
    enum out_type out_type;
    size_t most_rows; /* rows of a that are read at the same time; 0: as many as registers hold */
    /* Require dot_routines.packs: a, b are then memory to write (whole panels of b, for any n). */
    struct dot_unpacked a_unpacked, b_unpacked;
    /* Requires dot_routines.packs: several calls share the product's panels, and each call takes
     * a panel that no other has taken while there is one. NULL: all panels belong to this call. */
    _Atomic int *untaken;
};
/* Memory that is needed next, fetched while the product runs: `rows` rows of `lines` lines of
 * the cache each, `apart` bytes apart; then the memory of `next`. Two lines are fetched every
 * LINE_STEPS steps of k. */
struct dot_prefetch {
    const void *from;
    size_t rows, lines;
    ptrdiff_t apart;
    const struct dot_prefetch *next;
};
/* Elements from one row of c, of a, of b to the next. */
struct dot_few_strides {
    size_t c, a, b;
    size_t ahead; /* bytes; 0: no line is fetched ahead */
};
/* Computes c[m][n] += a[m][k] · b[k][n]. Floats: each element of c takes one fma for each step
 * of k, in order. */
typedef void dot_fn(void *c, const void *a, const void *b, size_t m, size_t n, size_t k,
                    const struct dot_strides *strides);

/* Elements of b in memory, for products of few rows. Each 4 bytes of *_PAIRS and *_FOURS are a column's
 * elements of two or four steps of k. FEW_BF16*: the steps of each pair of b are added in the other
 * order, and a has them in that order. */
enum few_kind {
    FEW_F32,
    FEW_F16,
    FEW_BF16,
    FEW_F16_PAIRS,
    FEW_BF16_PAIRS,
    FEW_I8_FOURS,
    FEW_KINDS
};
static inline size_t few_size(enum few_kind kind)
{
    return kind == FEW_F16 || kind == FEW_BF16 ? sizeof(uint16_t) : sizeof(uint32_t);
}
/* Returns the number of steps of k that a row of b has. */
static inline int few_together(enum few_kind kind)
{
    return kind == FEW_I8_FOURS ? 4 : kind == FEW_F16_PAIRS || kind == FEW_BF16_PAIRS ? 2 : 1;
}
/* Computes c[m][n] += a[m][k] · b[k][n] in the same way for few rows, m = 1, 2 or 4, and long
 * rows of b, which it reads once; lines `ahead` bytes after each one that it reads are fetched. */
enum { DOT_FEW_ROWS = 4 };
static inline size_t dot_few_rows(size_t m) /* that are computed first, of m rows */
{
    return m >= DOT_FEW_ROWS ? DOT_FEW_ROWS : m >= 2 ? 2 : 1;
}
typedef void dot_few_fn(float *c, const float *a, const void *b, size_t m, size_t n, size_t k,
                        const struct dot_few_strides *strides);

/* Computes c[m][n] += a[m][k] · trans(b[n][k]) in the same way: n is a multiple of 32, and the bytes
 * of a column are one of 64. strides->b: bytes from one column of b to the next. */
typedef void dot_turned_fn(float *c, const float *a, const void *b, size_t m, size_t n, size_t k,
                           const struct dot_few_strides *strides);

/* A nest of loops over two arrays; strides in elements. */
enum { NEST_RANK = 14 };
struct nest {
    int rank;
    int64_t extent[NEST_RANK];
    int64_t dst[NEST_RANK], src[NEST_RANK];
};
typedef void copy_fn(void *dst, const void *src, const struct nest *nest);

/* Computes dst[i] = mask[i] ? src[i] : dst[i]. */
typedef void blend_fn(void *dst, const void *src, const uint8_t *mask, size_t n);
typedef void fill_fn(void *dst, const void *value, size_t n);

/* Computes dst[i] = src[off[i]]; off in elements. */
typedef void gather32_fn(void *dst, const void *src, const int32_t *off, size_t n);
typedef void gather64_fn(void *dst, const void *src, const int64_t *off, size_t n);
/* Computes dst[off[i]] = src[i] where mask[i] (NULL: everywhere), in order of i. */
typedef void scatter32_fn(void *dst, const void *src, const int32_t *off, const uint8_t *mask,
                          size_t n);
typedef void scatter64_fn(void *dst, const void *src, const int64_t *off, const uint8_t *mask,
                          size_t n);

struct memory_routines {
    copy_fn *copy[SIZE_COUNT];      /* in the nest's order */
    copy_fn *copy_once[SIZE_COUNT]; /* in any order: no element of dst is written twice */
    blend_fn *blend[SIZE_COUNT];
    void (*count)(int32_t *dst, size_t n); /* writes 0, 1, 2, … */
    fill_fn *fill[SIZE_COUNT];
    gather32_fn *gather32[SIZE_COUNT];
    gather64_fn *gather64[SIZE_COUNT];
    scatter32_fn *scatter32[SIZE_COUNT];
    scatter64_fn *scatter64[SIZE_COUNT];
    /* Computes off[i] += index[i] * stride; returns whether an index with mask[i] (NULL: any
     * index) is outside 0 … extent-1. */
    bool (*offsets32)(int32_t *off, const int32_t *index, int32_t stride, int64_t extent,
                      const uint8_t *mask, size_t n);
    bool (*offsets64)(int64_t *off, const int64_t *index, int64_t stride, int64_t extent,
                      const uint8_t *mask, size_t n);
    /* Computes a mask and returns the number of its ones. Masks are bytes, 0 or 1. dst may be
     * `mask`. NULL mask: all 1. */
    size_t (*mask_and)(uint8_t *dst, const uint8_t *mask, const uint8_t *condition, size_t n);
    size_t (*mask_and_not)(uint8_t *dst, const uint8_t *mask, const uint8_t *condition, size_t n);
};

/* The reductions in the order of their ops. */
enum reduction {
#define REDUCTION(name) REDUCTION_##name = OP_REDUCE_##name - OP_REDUCE_SUM
    REDUCTION(SUM), /* for bool: the number of true elements */
    REDUCTION(MAX),
    REDUCTION(MIN),
    REDUCTION(ANY), /* ANY and ALL: COMPUTE_BOOL only */
    REDUCTION(ALL),
#undef REDUCTION
    REDUCTION_COUNT
};

/* Partial results of a row of at least REDUCTION_LONG, see routines_reduce.c. */
enum { REDUCTION_PARTS = 128, REDUCTION_LONG = 256 };

/* Reduces a row that comes piece by piece. The parts start as its first elements; then n
 * elements are added for each piece (a multiple of REDUCTION_PARTS, except for the last piece).
 * At the end part[0] is the result. */
typedef void reduce_add_fn(void *part, const void *src, size_t n);
typedef void reduce_end_fn(void *part);
/* Adds the products of two rows in the same way; they are rounded before they are added. */
typedef void reduce_products_fn(void *part, const void *x, const void *y, size_t n);

/* Results of a row_map_fn for powers, in addition to the powers and their sum. */
struct powers_seen {
    bool medium; /* all powers are from 2^-65 to 2^64 */
    /* Private to the routine: the parts of the sum, and the part (in vectors) that the next
     * power is added to. */
    _Alignas(CACHE_LINE) float part[REDUCTION_PARTS];
    size_t done;
};
/* Computes a row of f32 from x[i] and the one value `less`, and its sum (enum row_rule). `to` may
 * be x, and `sum` may be `less`. If `ahead` is not NULL, the same number of bytes from there on is
 * fetched meanwhile. */
typedef void row_map_fn(void *sum, void *to, const void *x, const void *less, const void *ahead,
                        struct powers_seen *seen, size_t n);

struct reduce_routines {
    reduce_products_fn *f32_products; /* added to the parts of a sum */
    reduce_products_fn
        *f32_sum_of_products;   /* the sum, of a whole row of at least REDUCTION_LONG */
    row_map_fn *f32_difference; /* of a row of at least REDUCTION_LONG */
    reduce_add_fn *add[REDUCTION_COUNT][COMPUTE_COUNT];
    reduce_end_fn *end[REDUCTION_COUNT][COMPUTE_COUNT];
    reduce_fn *reduce[REDUCTION_COUNT][COMPUTE_COUNT];
};

/* The routines of one op, by type; NULL: the type has none. */
struct elementwise_row {
    enum op op;
    elementwise_fn *of[COMPUTE_COUNT];
    /* f32 routine where b is one value, which is not in dst; NULL: the op has none. For a
     * function of one operand it computes the function of a minus that value; it also fetches
     * about as many bytes from c on (NULL: nothing) as it writes. */
    elementwise_fn *f32_by_one;
};
/* Computes dst[i] = a[i] * s * b[i] + c[i], with the last two steps fused; or a[i] * s * b[i]. */
typedef void scaled_fn(void *dst, const void *a, const void *b, const void *c, const void *s,
                       size_t n);
/* Routines of f32 that write past the caches: dst begins at a line of the cache, and its lines are
 * whole. NULL: there is none. */
struct past_routine {
    enum op op;
    elementwise_fn *whole, *by_one; /* b is a row; b is one value */
};
struct elementwise_routines {
    const struct elementwise_row *rows;
    size_t count;
    /* Has the ops and types that the rows lack; NULL: there are no more. */
    const struct elementwise_routines *other_types;
    elementwise_fn *select[SIZE_COUNT]; /* a: bytes, 0 or not; b, c: elements */
    scaled_fn *f32_scaled_fma, *f32_scaled_product;
    scaled_fn *f32_scaled_fma_past, *f32_scaled_product_past; /* past the caches; NULL: none */
    const struct past_routine *past; /* list, ended by an entry without routines */
    /* Writes x / y past the caches, y one value; x is 0 or from 2^-100 to 2^100. NULL: none. */
    elementwise_fn *f32_medium_div_one_past;
    row_map_fn *f32_powers; /* of a row of at least REDUCTION_LONG, a multiple of 16; NULL: none */
    elementwise_fn *fma_f16, *fma_bf16; /* on the 16-bit values themselves: rounded once */
    elementwise_fn *philox;             /* u32 from u64 key, u64 counter, u32 word */
};

struct convert_routines {
    convert_fn *convert[DT_COUNT][DT_COUNT]; /* [to][from] */
};

/* memcpy to memory that is not read soon. Other threads see the streamed data after `end`. */
struct stream_routines {
    void (*copy)(void *dst, const void *src, size_t bytes);
    void (*end)(void);
};

struct dot_routines {
    dot_fn *dot[COMPUTE_COUNT];
    size_t width[COMPUTE_COUNT];
    dot_few_fn *few[FEW_KINDS]; /* computed in f32; NULL: not for elements of this kind */
    /* By elements of b: f32, FEW_F16 or FEW_BF16. NULL: there is none */
    dot_turned_fn *turned_f32, *turned_f16, *turned_bf16;
    bool has_halves; /* f32: reads f16 from memory (dot_unpacked), and writes it */
    /* The most rows of a block; and the fewest of a block that packs its panel while it
     * multiplies. */
    size_t rows, packing_rows;
    bool packs[COMPUTE_COUNT]; /* the routine supports a_unpacked, b_unpacked, untaken */
};

/* Copies rows of pieces*piece bytes. In the source, rows are from_row bytes apart. In the
 * destination, the pieces of a row are `apart` bytes apart, and rows are to_row bytes apart.
 * Memory some rows ahead is fetched. */
typedef void pack_rows_fn(void *to, ptrdiff_t to_row, ptrdiff_t apart, const void *from,
                          ptrdiff_t from_row, size_t rows, size_t pieces, size_t piece);
/* Interleaves n elements of each row of a group: pairs of rows of 2-byte elements, or fours of rows
 * of bytes. The rows are `row` elements apart. The results are panels of `width` groups of 4 bytes,
 * `apart` elements apart; n is a multiple of width. The bits of `flip` are flipped in each group. */
typedef void interleave_fn(void *to, ptrdiff_t apart, const void *from, ptrdiff_t row, size_t n,
                           size_t width, uint32_t flip);
/* Transposes `lines` lines of `groups` groups of 4 bytes. Lines of the source and rows of the
 * destination are `line` and `row` bytes apart. The bits of `flip` are flipped in each group. */
typedef void transpose_groups_fn(void *to, ptrdiff_t row, const void *from, ptrdiff_t line,
                                 size_t lines, size_t groups, uint32_t flip);
/* Computes to[i] = table[codes[i]], or with shift >= 0 to[i] = table[codes[i] >> shift & 15]. */
typedef void unpack_fn(float *to, const uint8_t *codes, const float *table, int shift, size_t n);
/* The same, with shift >= 0, times by[i] and rounded to a type, unless `by` is NULL. */
typedef void unpack_scaled_fn(float *to, const uint8_t *codes, const float *table, int shift,
                              const float *by, enum dtype round, size_t n);
/* Weights of 4 bits, two steps of k for each row of codes: (t - zero) * scale, rounded to a type, where
 * t is one of 16 values of a table for each step. All that is computed from t and zeros is exact in
 * that type. */
enum { HALVES_COLUMNS = 64 };
struct weight_halves {
    const float *table[2];
    int shift[2];
    const void *scale, *zero; /* of the columns, in the view; zero: DT_U8 or DT_F16, or NULL */
    enum dtype scale_type, zero_type, round;
    size_t row;                   /* bytes from one row of codes to the next */
    size_t group;                 /* rows of codes for which scales and zeros hold */
    size_t scale_step, zero_step; /* bytes from those of one group to those of the next */
    size_t ahead;                 /* lines `ahead` bytes after each one that is read are fetched */
};
/* Adds the products of one row of a with `rows` rows of codes, in order, to `columns` sums, a multiple
 * of HALVES_COLUMNS. Returns the number of columns, from the first one on, that it has added: it stops
 * at HALVES_COLUMNS columns with values that it cannot round. */
typedef size_t few_halves_fn(float *c, const float *a, const uint8_t *codes,
                             const struct weight_halves *w, size_t rows, size_t columns);
struct pack_routines {
    pack_rows_fn *rows;
    interleave_fn *interleave_pairs, *interleave_fours;
    transpose_groups_fn *transpose_groups;
    unpack_fn *unpack;
    unpack_scaled_fn *unpack_scaled; /* NULL: there is none */
    /* To f32; the elements of each pair change places. The last pair may lack an element, whose place
     * is not written. */
    convert_fn *swapped_bf16;
};

struct routine_set {
    const char *name; /* "portable", "avx2" */
    const struct elementwise_routines *elementwise, *math;
    const struct convert_routines *convert;
    const struct reduce_routines *reduce, *reduce_f64, *reduce_integers;
    const struct dot_routines *dot;
    /* Products of operands in groups of steps of k: pairs of bf16 (dot_bf16.c), four 8-bit
     * integers, by the left operand's type (dot_int8.c), and pairs of 16-bit integers
     * (dot_int16.c). Panels have dot->width[COMPUTE_F32] columns; k and the strides of a and b
     * count groups. NULL: there is none. */
    dot_fn *dot_bf16, *dot_u8, *dot_i8, *dot_i16;
    bool takes_one_sign; /* dot_u8, dot_i8: b is of a's type; else of the other type */
    /* The processor fetches long pieces of rows ahead so well that prefetch instructions only occupy
     * the buffers which loads wait for. */
    bool fetches_rows;
    /* Products of 8-bit integers of one type (dot_amx.c). NULL: dot_u8 and dot_i8 do them. */
    dot_fn *dot_u8_u8, *dot_i8_i8;
    const struct memory_routines *memory;
    const struct pack_routines *pack;
    few_halves_fn *few_halves; /* dot_halves.c, dot_halves_bytes.c; NULL: there is none */
    /* It takes 8-bit integers times a scale of f16, rounded to f16, and no others. */
    bool halves_are_bytes;
    const struct stream_routines *stream;
};

/* Returns the op's row; NULL if the family has none. */
const struct elementwise_row *routine_row(const struct elementwise_routines *family, enum op op);
/* Returns the routine for the op on that type; NULL if the set has none. */
elementwise_fn *routine_elementwise(const struct routine_set *set, enum op op, enum compute c);
/* Returns the routine that computes a row of n elements and its sum; NULL: there is none for that
 * n. */
row_map_fn *routine_row_map(const struct routine_set *set, enum row_rule rule, size_t n);
/* Returns the routines that reduce that type. */
const struct reduce_routines *routine_reductions(const struct routine_set *set, enum compute c);
/* Returns the scan with that op. It is the same on every machine, because each element waits for
 * the one before. */
scan_fn *routine_scan(enum op op, enum compute c);

/* Returns the best set for this machine. `any_bits`: its products of bf16 may have other bits than
 * those of the other sets, if the machine has a fast instruction for them (dot_amx.c). */
const struct routine_set *routine_set_choose(bool any_bits);
/* Returns one of the sets that this machine can run, the plainest first; NULL past the last. All of
 * them compute the same bits. For tests. */
const struct routine_set *routine_set_at(int index);

/* Returns one of the sets in the same order, also if this machine cannot run it. */
const struct routine_set *routine_set_listed(int index);

/* Returns log2 of an element's bytes. */
static inline int bytes_index(size_t bytes)
{
    return bytes == 8 ? 3 : bytes == 4 ? 2 : bytes == 2 ? 1 : 0;
}
static inline int size_index(enum dtype t)
{
    return bytes_index(dtype_size(t));
}

#endif
