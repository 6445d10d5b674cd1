/* mma.h for clang: nvcuda::wmma, products of matrices that a warp holds in registers. Names, shapes and
 * types are those of the CUDA C++ Programming Guide, "Warp Matrix Functions", without the
 * experimental ones; the instructions and the numbers of registers are those of the PTX ISA,
 * "Warp-level matrix instructions: wmma". */
/* clang-format off */
#ifndef TILEWRIGHT_MMA_H
#define TILEWRIGHT_MMA_H

#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace nvcuda {
namespace wmma {
struct matrix_a;
struct matrix_b;
struct accumulator;
struct row_major;
struct col_major;
enum layout_t { mem_row_major, mem_col_major };
namespace precision {
struct tf32;
}
template <class Use, int M, int N, int K, class T, class Layout = void> struct fragment;
template <class T> struct tw_stored { typedef T type; };
template <> struct tw_stored<precision::tf32> { typedef float type; };

/* Elements of a fragment; the PTX ISA does not define which ones a lane holds. */
template <class T, int Count> struct tw_elements {
    typedef T element_type;
    typedef typename tw_stored<T>::type storage_element_type;
    static constexpr int num_elements = Count, num_storage_elements = Count;
    storage_element_type x[Count];
};

/* Registers in an instruction's text, and as operands: an array of 1, 2, 4 or 8. */
#define TW_TEXT1(r) "%[" #r "0]"
#define TW_TEXT2(r) TW_TEXT1(r) ", %[" #r "1]"
#define TW_TEXT4(r) TW_TEXT2(r) ", %[" #r "2], %[" #r "3]"
#define TW_TEXT8(r) TW_TEXT4(r) ", %[" #r "4], %[" #r "5], %[" #r "6], %[" #r "7]"
#define TW_USED1(r, c) [r##0] c(r[0])
#define TW_USED2(r, c) TW_USED1(r, c), [r##1] c(r[1])
#define TW_USED4(r, c) TW_USED2(r, c), [r##2] c(r[2]), [r##3] c(r[3])
#define TW_USED8(r, c) TW_USED4(r, c), [r##4] c(r[4]), [r##5] c(r[5]), [r##6] c(r[6]), [r##7] c(r[7])

/* --- fragments, load, store --- */

#define TW_LOAD(which, layout, shape, ptx, count, reg, c)                                          \
    do {                                                                                           \
        reg r[count];                                                                              \
        asm volatile("wmma.load." which ".sync.aligned." layout "." shape "." ptx " {" TW_TEXT##count(r) "}, [%[p]], %[n];" \
                     : TW_USED##count(r, "=" c) : [p] "l"(p), [n] "r"(n) : "memory");              \
        __builtin_memcpy(f.x, r, sizeof r);                                                        \
    } while (0)
#define TW_FACTOR(use, which, m, n_, k, T, ptx, elements, count, major, layout, reg, c)            \
    template <> struct fragment<use, m, n_, k, T, major> : tw_elements<T, elements> {};            \
    TW_D void load_matrix_sync(fragment<use, m, n_, k, T, major> &f, const tw_stored<T>::type *p, unsigned n) \
    { TW_LOAD(which, layout, "m" #m "n" #n_ "k" #k, ptx, count, reg, c); }
#define TW_FACTORS(m, n, k, T, ptx, a_elements, a_count, b_elements, b_count, reg, c)              \
    TW_FACTOR(matrix_a, "a", m, n, k, T, ptx, a_elements, a_count, row_major, "row", reg, c)       \
    TW_FACTOR(matrix_a, "a", m, n, k, T, ptx, a_elements, a_count, col_major, "col", reg, c)       \
    TW_FACTOR(matrix_b, "b", m, n, k, T, ptx, b_elements, b_count, row_major, "row", reg, c)       \
    TW_FACTOR(matrix_b, "b", m, n, k, T, ptx, b_elements, b_count, col_major, "col", reg, c)
#define TW_STORE(layout, shape, ptx, count, c)                                                     \
    asm volatile("wmma.store.d.sync.aligned." layout "." shape "." ptx " [%[p]], {" TW_TEXT##count(r) "}, %[n];" \
                 : : [p] "l"(p), [n] "r"(n), TW_USED##count(r, c) : "memory")
#define TW_SUM(m, n_, k, T, ptx, elements, count, reg, c)                                          \
    template <> struct fragment<accumulator, m, n_, k, T> : tw_elements<T, elements> {};           \
    TW_D void load_matrix_sync(fragment<accumulator, m, n_, k, T> &f, const T *p, unsigned n, layout_t l) \
    {                                                                                              \
        if (l == mem_row_major)                                                                    \
            TW_LOAD("c", "row", "m" #m "n" #n_ "k" #k, ptx, count, reg, c);                        \
        else                                                                                       \
            TW_LOAD("c", "col", "m" #m "n" #n_ "k" #k, ptx, count, reg, c);                        \
    }                                                                                              \
    TW_D void store_matrix_sync(T *p, const fragment<accumulator, m, n_, k, T> &f, unsigned n, layout_t l) \
    {                                                                                              \
        reg r[count];                                                                              \
        __builtin_memcpy(r, f.x, sizeof r);                                                        \
        if (l == mem_row_major)                                                                    \
            TW_STORE("row", "m" #m "n" #n_ "k" #k, ptx, count, c);                                 \
        else                                                                                       \
            TW_STORE("col", "m" #m "n" #n_ "k" #k, ptx, count, c);                                 \
    }
template <class Use, int M, int N, int K, class T, class Layout>
TW_D void fill_fragment(fragment<Use, M, N, K, T, Layout> &f, const typename tw_stored<T>::type &v)
{
    for (int i = 0; i < f.num_elements; i++)
        f.x[i] = v;
}
TW_D float __float_to_tf32(float v)
{
    unsigned r;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(r) : "f"(v));
    return __uint_as_float(r);
}

/* --- product --- */

#define TW_MMA(layouts, shape, types, an, bn, ar, ac, dn, dr, dc, cn, cr, cc)                      \
    do {                                                                                           \
        ar a[an], b[bn];                                                                           \
        cr c[cn];                                                                                  \
        dr d[dn];                                                                                  \
        __builtin_memcpy(a, fa.x, sizeof a);                                                       \
        __builtin_memcpy(b, fb.x, sizeof b);                                                       \
        __builtin_memcpy(c, fc.x, sizeof c);                                                       \
        asm volatile("wmma.mma.sync.aligned." layouts "." shape types " {" TW_TEXT##dn(d) "}, {" TW_TEXT##an(a) "}, {" TW_TEXT##bn(b) \
                     "}, {" TW_TEXT##cn(c) "};"                                                    \
                     : TW_USED##dn(d, "=" dc) : TW_USED##an(a, ac), TW_USED##bn(b, ac), TW_USED##cn(c, cc)); \
        __builtin_memcpy(fd.x, d, sizeof d);                                                       \
    } while (0)
#define TW_PRODUCT_OF(a_major, b_major, layouts, m, n, k, T, D, C, types, an, bn, ar, ac, ...)     \
    TW_D void mma_sync(fragment<accumulator, m, n, k, D> &fd, const fragment<matrix_a, m, n, k, T, a_major> &fa, \
                       const fragment<matrix_b, m, n, k, T, b_major> &fb, const fragment<accumulator, m, n, k, C> &fc) \
    { TW_MMA(layouts, "m" #m "n" #n "k" #k, types, an, bn, ar, ac, __VA_ARGS__); }
#define TW_PRODUCT(...)                                                                            \
    TW_PRODUCT_OF(row_major, row_major, "row.row", __VA_ARGS__)                                    \
    TW_PRODUCT_OF(row_major, col_major, "row.col", __VA_ARGS__)                                    \
    TW_PRODUCT_OF(col_major, row_major, "col.row", __VA_ARGS__)                                    \
    TW_PRODUCT_OF(col_major, col_major, "col.col", __VA_ARGS__)
#define TW_INTEGERS_OF(a_major, b_major, layouts, m, n, k, T, types, an, bn)                       \
    TW_D void mma_sync(fragment<accumulator, m, n, k, int> &fd, const fragment<matrix_a, m, n, k, T, a_major> &fa, \
                       const fragment<matrix_b, m, n, k, T, b_major> &fb, const fragment<accumulator, m, n, k, int> &fc, bool saturate = false) \
    {                                                                                              \
        if (saturate)                                                                              \
            TW_MMA(layouts, "m" #m "n" #n "k" #k, types ".satfinite", an, bn, unsigned, "r", 8, int, "r", 8, int, "r"); \
        else                                                                                       \
            TW_MMA(layouts, "m" #m "n" #n "k" #k, types, an, bn, unsigned, "r", 8, int, "r", 8, int, "r"); \
    }
#define TW_INTEGERS(...)                                                                           \
    TW_INTEGERS_OF(row_major, row_major, "row.row", __VA_ARGS__)                                   \
    TW_INTEGERS_OF(row_major, col_major, "row.col", __VA_ARGS__)                                   \
    TW_INTEGERS_OF(col_major, row_major, "col.row", __VA_ARGS__)                                   \
    TW_INTEGERS_OF(col_major, col_major, "col.col", __VA_ARGS__)

/* --- shapes and types; a warp holds each element of a half factor twice --- */

/* A shape of 16-bit and 8-bit factors. `a` and `b`: elements of 8 bits in a lane / 4. */
#define TW_SHAPE(m, n, k, a, b, a16, b16, a_elements, b_elements)                                  \
    TW_FACTORS(m, n, k, __half, "f16", 16, 8, 16, 8, unsigned, "r")                                \
    TW_FACTORS(m, n, k, __nv_bfloat16, "bf16", a_elements, a16, b_elements, b16, unsigned, "r")    \
    TW_FACTORS(m, n, k, signed char, "s8", a_elements, a, b_elements, b, unsigned, "r")            \
    TW_FACTORS(m, n, k, unsigned char, "u8", a_elements, a, b_elements, b, unsigned, "r")          \
    TW_SUM(m, n, k, __half, "f16", 8, 4, unsigned, "r")                                            \
    TW_SUM(m, n, k, float, "f32", 8, 8, float, "f")                                                \
    TW_SUM(m, n, k, int, "s32", 8, 8, int, "r")                                                    \
    TW_PRODUCT(m, n, k, __half, __half, __half, ".f16.f16", 8, 8, unsigned, "r", 4, unsigned, "r", 4, unsigned, "r") \
    TW_PRODUCT(m, n, k, __half, __half, float, ".f16.f32", 8, 8, unsigned, "r", 4, unsigned, "r", 8, float, "f") \
    TW_PRODUCT(m, n, k, __half, float, __half, ".f32.f16", 8, 8, unsigned, "r", 8, float, "f", 4, unsigned, "r") \
    TW_PRODUCT(m, n, k, __half, float, float, ".f32.f32", 8, 8, unsigned, "r", 8, float, "f", 8, float, "f") \
    TW_PRODUCT(m, n, k, __nv_bfloat16, float, float, ".f32.bf16.bf16.f32", a16, b16, unsigned, "r", 8, float, "f", 8, float, "f") \
    TW_INTEGERS(m, n, k, signed char, ".s32.s8.s8.s32", a, b)                                      \
    TW_INTEGERS(m, n, k, unsigned char, ".s32.u8.u8.s32", a, b)
TW_SHAPE(16, 16, 16, 2, 2, 4, 4, 8, 8)
TW_SHAPE(8, 32, 16, 1, 4, 2, 8, 4, 16)
TW_SHAPE(32, 8, 16, 4, 1, 8, 2, 16, 4)
TW_FACTORS(16, 16, 8, precision::tf32, "tf32", 4, 4, 4, 4, unsigned, "r")
TW_SUM(16, 16, 8, float, "f32", 8, 8, float, "f")
TW_PRODUCT(16, 16, 8, precision::tf32, float, float, ".f32.tf32.tf32.f32", 4, 4, unsigned, "r", 8, float, "f", 8, float, "f")
TW_FACTORS(8, 8, 4, double, "f64", 1, 1, 1, 1, double, "d")
TW_SUM(8, 8, 4, double, "f64", 2, 2, double, "d")
TW_PRODUCT(8, 8, 4, double, double, double, ".f64.f64.f64.f64", 1, 1, double, "d", 2, double, "d", 2, double, "d")
#undef TW_SHAPE
#undef TW_INTEGERS
#undef TW_INTEGERS_OF
#undef TW_PRODUCT
#undef TW_PRODUCT_OF
#undef TW_MMA
#undef TW_SUM
#undef TW_STORE
#undef TW_FACTORS
#undef TW_FACTOR
#undef TW_LOAD
#undef TW_USED8
#undef TW_USED4
#undef TW_USED2
#undef TW_USED1
#undef TW_TEXT8
#undef TW_TEXT4
#undef TW_TEXT2
#undef TW_TEXT1
}
}
#endif
