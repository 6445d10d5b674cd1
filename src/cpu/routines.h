/* Routines: what a tile op does to arrays. They know nothing of frames or programs.
 *
 * The routines_*.c files, one a family, are plain loops that the C compiler vectorises. They are
 * compiled once for any machine and, on x86-64, once more for AVX2 + FMA + F16C (with ROUTINES_V3
 * defined) and for AVX-512 (ROUTINES_V4), on AArch64 for NEON, which every one has (ROUTINES_NEON);
 * each compilation fills a struct routine_set, and routine_set_choose picks one when a program is
 * compiled. A faster routine for one instruction set is a better entry in that set. The sets agree
 * bit for bit (only the payload of a NaN may differ): nothing is contracted, sums are taken in the
 * order written here, fused steps are fused in all.
 */
#ifndef TW_ROUTINES_H
#define TW_ROUTINES_H

#include "base/dtype.h"
#include "tile/ops.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Names of what each compilation defines. */
#if defined(ROUTINES_V4)
#define ROUTINE(name) name##_v4
#elif defined(ROUTINES_V3)
#define ROUTINE(name) name##_v3
#elif defined(ROUTINES_NEON)
#define ROUTINE(name) name##_neon
#else
#define ROUTINE(name) name##_any
#endif

/* VECTORISE: the loop that follows carries nothing from one turn to the next, though an output may
 * be an input. UNROLLED: it turns a number of times that is known, 14 at most. ROLLED: it stays a
 * loop. INLINED: a function that is made for arguments that are known. APART: one that stays whole
 * and single. OFTEN: such a one whose loops are unrolled as well, which makes it larger: for what
 * long rows go through again and again. */
#if defined(__clang__)
#pragma clang diagnostic ignored "-Wpass-failed" /* a loop that stays scalar is no mistake */
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

/* From here on the compiler knows nothing of the pointer's value. */
#if defined(__GNUC__)
#define OPAQUE(pointer) __asm__("" : "+r"(pointer))
#else
#define OPAQUE(pointer) (void)(pointer)
#endif

/* A line into the first-level cache, or the second-level one; an address that is nobody's does no
 * harm. */
#if defined(__GNUC__)
#define PREFETCH(at) __builtin_prefetch(at)
#define PREFETCH_SECOND(at) __builtin_prefetch(at, 0, 2)
#define PREFETCH_TO_WRITE(at) __builtin_prefetch(at, 1)
#else
#define PREFETCH(at) (void)(at)
#define PREFETCH_SECOND(at) (void)(at)
#define PREFETCH_TO_WRITE(at) (void)(at)
#endif

/* Lines that are asked for ahead where rows are packed, which keeps memory busy. */
enum { PACK_LINES_AHEAD = 48 };

/* A line of the cache, to be moved at once. */
enum { CACHE_LINE = 64 };
#if defined(__GNUC__)
typedef unsigned char cache_line __attribute__((vector_size(64), aligned(1), may_alias));
#else
typedef struct {
    unsigned char bytes[CACHE_LINE];
} cache_line;
#endif

/* The types that arithmetic is done in. f16 and bf16 go through f32, the small integers through 32
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
enum compute compute_of(enum dtype t);
enum dtype compute_dtype(enum compute c);

enum { SIZE_COUNT = 4 }; /* routines that only move elements: by log2 of the element's bytes */

/* n elements; dst may be a, b or c itself. Comparisons write bytes, 0 or 1. Missing operands are
 * NULL. */
typedef void elementwise_fn(void *dst, const void *a, const void *b, const void *c, size_t n);
/* n elements of another type; dst and src do not overlap. */
typedef void convert_fn(void *dst, const void *src, size_t n);
/* dst[outer][inner] = src[outer][n][inner] over the middle axis, n >= 1. */
typedef void reduce_fn(void *dst, const void *src, size_t outer, size_t n, size_t inner);
/* dst, src: [outer][n][inner]; running op over the middle axis. first: NULL, or what an exclusive
 * scan begins with. */
typedef void scan_fn(void *dst, const void *src, size_t outer, size_t n, size_t inner,
                     const void *first);
/* An operand of a product that is packed on the way: where its rows begin, so many elements from
 * each other. from == NULL: it is packed. */
struct dot_unpacked {
    const void *from;
    size_t step;
    bool halves; /* f16, to be f32: where dot_routines.has_halves */
};
/* In elements: from a row of c, a, b to the next one; `panel`: b may lie in panels of
 * dot_routines.width columns, from one to the next (where it does not: `width`). A panel is done
 * with before the next one begins, so those that are packed on the way may all go to one place: 0.
 * */
struct dot_strides {
    size_t c, a, b, panel;
    const struct dot_prefetch *prefetch; /* NULL: nothing */
    bool fresh;                          /* c counts as zeros, whatever is there */
    bool settled;                        /* 0 is added at last, so that no sum is -0 */
    void *out;                           /* where c + a · b goes in place of c; NULL: there */
    size_t out_step;                     /* elements from row to row of it, */
    bool out_halves;                     /* which are f16: where dot_routines.has_halves */
    size_t most_rows; /* of a that are read at the same time; 0: as many as registers take */
    /* Only where dot_routines.packs: a, b (whole panels, whatever n is) are memory to write. */
    struct dot_unpacked a_unpacked, b_unpacked;
    /* The same: several calls share the product's panels, and each takes one that nobody has taken
     * as long as there are any. NULL: all are this call's. */
    _Atomic int *untaken;
};
/* What is needed next, and is asked for while the product goes on: `rows` of `lines` lines of the
 * cache each, `apart` bytes apart; then what `next` says. Two lines every LINE_STEPS steps of k. */
struct dot_prefetch {
    const void *from;
    size_t rows, lines;
    ptrdiff_t apart;
    const struct dot_prefetch *next;
};
/* c[m][n] += a[m][k] · b[k][n]. Floats: for each element of c one fma a step of k, in order. */
typedef void dot_fn(void *c, const void *a, const void *b, size_t m, size_t n, size_t k,
                    const struct dot_strides *strides);

/* A nest of loops over two arrays; strides in elements. */
enum { NEST_RANK = 14 };
struct nest {
    int rank;
    int64_t extent[NEST_RANK];
    int64_t dst[NEST_RANK], src[NEST_RANK];
};
typedef void copy_fn(void *dst, const void *src, const struct nest *nest);

/* dst[i] = mask[i] ? src[i] : dst[i] */
typedef void blend_fn(void *dst, const void *src, const uint8_t *mask, size_t n);
typedef void fill_fn(void *dst, const void *value, size_t n);

/* dst[i] = src[off[i]]; off in elements. */
typedef void gather32_fn(void *dst, const void *src, const int32_t *off, size_t n);
typedef void gather64_fn(void *dst, const void *src, const int64_t *off, size_t n);
/* dst[off[i]] = src[i] where mask[i] (NULL: everywhere), in order of i. */
typedef void scatter32_fn(void *dst, const void *src, const int32_t *off, const uint8_t *mask,
                          size_t n);
typedef void scatter64_fn(void *dst, const void *src, const int64_t *off, const uint8_t *mask,
                          size_t n);

struct memory_routines {
    copy_fn *copy[SIZE_COUNT];      /* in the nest's order */
    copy_fn *copy_once[SIZE_COUNT]; /* in any: no element of dst is written twice */
    blend_fn *blend[SIZE_COUNT];
    void (*count)(int32_t *dst, size_t n); /* 0, 1, 2, … */
    fill_fn *fill[SIZE_COUNT];
    gather32_fn *gather32[SIZE_COUNT];
    gather64_fn *gather64[SIZE_COUNT];
    scatter32_fn *scatter32[SIZE_COUNT];
    scatter64_fn *scatter64[SIZE_COUNT];
    /* off[i] += index[i] * stride; whether an index with mask[i] (NULL: any) is outside 0 …
     * extent-1. */
    bool (*offsets32)(int32_t *off, const int32_t *index, int32_t stride, int64_t extent,
                      const uint8_t *mask, size_t n);
    bool (*offsets64)(int64_t *off, const int64_t *index, int64_t stride, int64_t extent,
                      const uint8_t *mask, size_t n);
    /* Masks are bytes, 0 or 1; the results are how many are 1. dst may be `mask`. NULL mask: all 1.
     */
    size_t (*mask_and)(uint8_t *dst, const uint8_t *mask, const uint8_t *condition, size_t n);
    size_t (*mask_and_not)(uint8_t *dst, const uint8_t *mask, const uint8_t *condition, size_t n);
};

enum reduction {
    REDUCTION_SUM, /* also for bool: how many */
    REDUCTION_MAX,
    REDUCTION_MIN,
    REDUCTION_ANY, /* COMPUTE_BOOL only, as ALL */
    REDUCTION_ALL,
    REDUCTION_COUNT
};

/* Partial results of a row of at least REDUCTION_LONG, see routines_reduce.c. */
enum { REDUCTION_PARTS = 128, REDUCTION_LONG = 256 };

/* A row that comes piece by piece: the parts start as its first elements; n more are added (of all
 * pieces but the last one a multiple of REDUCTION_PARTS); at the end part[0] is the result. */
typedef void reduce_add_fn(void *part, const void *src, size_t n);
typedef void reduce_end_fn(void *part);
/* The same with the products of two rows, which are rounded before they are added. */
typedef void reduce_products_fn(void *part, const void *x, const void *y, size_t n);

/* difference[i] = x[i] - *less, and the sum of their squares, of a row of at least REDUCTION_LONG;
 * `difference` may be x, and `sum` may be `less`. As many bytes from `ahead` on, if that is not
 * NULL, are fetched meanwhile. */
typedef void squared_differences_fn(void *sum, void *difference, const void *x, const void *less,
                                    const void *ahead, size_t n);

struct reduce_routines {
    reduce_products_fn *f32_products; /* to the parts of a sum */
    reduce_products_fn
        *f32_sum_of_products; /* the sum, of a whole row of at least REDUCTION_LONG */
    squared_differences_fn *f32_sum_of_squared_differences;
    reduce_add_fn *add[REDUCTION_COUNT][COMPUTE_COUNT];
    reduce_end_fn *end[REDUCTION_COUNT][COMPUTE_COUNT];
    reduce_fn *reduce[REDUCTION_COUNT][COMPUTE_COUNT];
};

/* Of one op, by type; NULL where there is none. */
struct elementwise_row {
    enum op op;
    elementwise_fn *of[COMPUTE_COUNT];
    /* Of f32 where b is one value, which is not in dst; functions of one operand: of what a is more
     * than that value, and from c on (NULL: none) about as many bytes as are written are fetched.
     * NULL: there is none. */
    elementwise_fn *f32_by_one;
};
/* dst[i] = a[i] * s * b[i] + c[i], the last two steps fused; or a[i] * s * b[i]. */
typedef void scaled_fn(void *dst, const void *a, const void *b, const void *c, const void *s,
                       size_t n);
/* A routine that writes past the caches what the usual one does: dst begins where a line does, and
 * its lines are whole. */
struct past_routine {
    elementwise_fn *usual, *past;
};
/* Of a row of powers besides them. */
struct powers_seen {
    bool medium; /* all powers are from 2^-65 to 2^64 */
    /* For the routine alone: parts of the sum, and to which one the next power goes, by vectors. */
    _Alignas(CACHE_LINE) float part[REDUCTION_PARTS];
    size_t done;
};
/* dst[i] = e^(x[i] - *less). Returns the sum. n is at least REDUCTION_LONG and divides by 16; what
 * is `ahead` is asked for. */
typedef float exp_sum_fn(float *dst, const float *x, const float *less, const float *ahead,
                         struct powers_seen *seen, size_t n);
struct elementwise_routines {
    const struct elementwise_row *rows;
    size_t count;
    elementwise_fn *select[SIZE_COUNT]; /* a: bytes, 0 or not; b, c: elements */
    scaled_fn *f32_scaled_fma, *f32_scaled_product;
    scaled_fn *f32_scaled_fma_past, *f32_scaled_product_past; /* past the caches; NULL: none */
    const struct past_routine *past;                          /* up to one of NULL */
    /* x / y past the caches, y one value; x is 0 or from 2^-100 to 2^100. NULL: none */
    elementwise_fn *f32_medium_div_one_past;
    exp_sum_fn *f32_exp_sum;            /* NULL: none */
    elementwise_fn *fma_f16, *fma_bf16; /* on the 16-bit values themselves: rounded once */
    elementwise_fn *philox;             /* u32 from u64 key, u64 counter, u32 word */
};

struct convert_routines {
    convert_fn *convert[DT_COUNT][DT_COUNT]; /* [to][from] */
};

/* memcpy to memory that is not read soon. Other threads see what was streamed after `end`. */
struct stream_routines {
    void (*copy)(void *dst, const void *src, size_t bytes);
    void (*end)(void);
};

struct dot_routines {
    dot_fn *dot[COMPUTE_COUNT];
    size_t width[COMPUTE_COUNT];
    bool has_halves; /* of f32: f16 in memory, read (dot_unpacked) and written */
    /* The most rows of a block, and from how many on one packs its panel as it multiplies. */
    size_t rows, packing_rows;
    bool packs[COMPUTE_COUNT]; /* it knows a_unpacked, b_unpacked, untaken */
};

/* Copies rows of pieces*piece bytes: a row begins from_row bytes behind the last, and its pieces go
 * `apart` bytes apart to places to_row bytes behind those of the last row. What lies some rows
 * further on is asked for ahead. */
typedef void pack_rows_fn(void *to, ptrdiff_t to_row, ptrdiff_t apart, const void *from,
                          ptrdiff_t from_row, size_t rows, size_t pieces, size_t piece);
/* Elements of two rows in turn, n of each. */
typedef void interleave_fn(uint16_t *to, const uint16_t *first, const uint16_t *second, size_t n);
struct pack_routines {
    pack_rows_fn *rows;
    interleave_fn *interleave;
};

struct routine_set {
    const char *name; /* "portable", "avx2" */
    const struct elementwise_routines *elementwise, *math;
    const struct convert_routines *convert;
    const struct reduce_routines *reduce, *reduce_integers;
    const struct dot_routines *dot;
    /* Of bf16 operands in pairs (dot_bf16.c), in panels of dot->width[COMPUTE_F32] columns; k and
     * the strides of a and b count pairs. NULL: there is none. */
    dot_fn *dot_pairs;
    const struct memory_routines *memory;
    const struct pack_routines *pack;
    const struct stream_routines *stream;
};

/* The op's row, NULL if the family has none. */
const struct elementwise_row *routine_row(const struct elementwise_routines *family, enum op op);
/* The routine for the op on that type; NULL if the set has none. */
elementwise_fn *routine_elementwise(const struct routine_set *set, enum op op, enum compute c);
/* The routines that reduce that type. */
const struct reduce_routines *routine_reductions(const struct routine_set *set, enum compute c);
/* The scan with that op, the same on every machine: an element waits for the one before. */
scan_fn *routine_scan(enum op op, enum compute c);

/* The best set for this machine. */
const struct routine_set *routine_set_choose(void);
/* All sets that this machine can run, the plainest first; NULL past the last. For tests. */
const struct routine_set *routine_set_at(int index);

/* log2 of an element's bytes. */
static inline int bytes_index(size_t bytes)
{
    return bytes == 8 ? 3 : bytes == 4 ? 2 : bytes == 2 ? 1 : 0;
}
static inline int size_index(enum dtype t)
{
    return bytes_index(dtype_size(t));
}

#endif
