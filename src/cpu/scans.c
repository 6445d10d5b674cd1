/* Scans over the middle axis of [outer][n][inner]. Each element waits for the one before, so
 * vectors do not help, and there is one set. */
#include "cpu/float_order.h"
#include "cpu/routines/routines.h"

#include <assert.h>

#define SCAN(name, T, combine)                                                                     \
    static void name(void *dst, const void *src, size_t outer, size_t n, size_t inner,             \
                     const void *first)                                                            \
    {                                                                                              \
        const T *x = src, *start = first;                                                          \
        T *out = dst;                                                                              \
        for (size_t o = 0; o < outer; o++, x += n * inner, out += n * inner)                       \
            for (size_t j = 0; j < inner; j++) {                                                   \
                T total = start ? *start : x[j];                                                   \
                out[j] = total;                                                                    \
                for (size_t k = 1; k < n; k++) {                                                   \
                    size_t from = start ? k - 1 : k;                                               \
                    total = combine(total, x[from * inner + j]);                                   \
                    out[k * inner + j] = total;                                                    \
                }                                                                                  \
            }                                                                                      \
    }

#define PLUS(x, y) ((x) + (y))
#define TIMES(x, y) ((x) * (y))
#define LESSER(x, y) ((y) < (x) ? (y) : (x))
#define GREATER(x, y) ((x) < (y) ? (y) : (x))
#define BOTH(x, y) ((x) & (y))
#define EITHER(x, y) ((x) | (y))
#define ODD(x, y) ((x) ^ (y))

#define FLOATS(t, T)                                                                               \
    SCAN(t##_add, T, PLUS)                                                                         \
    SCAN(t##_mul, T, TIMES)                                                                        \
    SCAN(t##_max, T, t##_most)                                                                     \
    SCAN(t##_min, T, t##_least)
FLOATS(f32, float)
FLOATS(f64, double)

/* Sums and products are computed unsigned, so that they wrap; the same function serves the
 * signed type. */
#define INTEGERS(u, U)                                                                             \
    SCAN(u##_add, U, PLUS)                                                                         \
    SCAN(u##_mul, U, TIMES)                                                                        \
    SCAN(u##_and, U, BOTH)                                                                         \
    SCAN(u##_or, U, EITHER)                                                                        \
    SCAN(u##_xor, U, ODD)
INTEGERS(u32, uint32_t)
INTEGERS(u64, uint64_t)

#define ORDER(t, T)                                                                                \
    SCAN(t##_max, T, GREATER)                                                                      \
    SCAN(t##_min, T, LESSER)
ORDER(i32, int32_t)
ORDER(u32, uint32_t)
ORDER(i64, int64_t)
ORDER(u64, uint64_t)

#define TRUTH_BOTH(x, y) ((uint8_t)(((x) != 0) & ((y) != 0)))
#define TRUTH_EITHER(x, y) ((uint8_t)(((x) != 0) | ((y) != 0)))
#define TRUTH_ODD(x, y) ((uint8_t)(((x) != 0) ^ ((y) != 0)))
SCAN(bool_and, uint8_t, TRUTH_BOTH)
SCAN(bool_or, uint8_t, TRUTH_EITHER)
SCAN(bool_xor, uint8_t, TRUTH_ODD)

#define SUMS(name)                                                                                 \
    {                                                                                              \
        [COMPUTE_F32] = f32_##name, [COMPUTE_F64] = f64_##name, [COMPUTE_I32] = u32_##name,        \
        [COMPUTE_U32] = u32_##name, [COMPUTE_I64] = u64_##name, [COMPUTE_U64] = u64_##name         \
    }
#define ORDERS(name, of_bool)                                                                      \
    {                                                                                              \
        [COMPUTE_F32] = f32_##name, [COMPUTE_F64] = f64_##name, [COMPUTE_I32] = i32_##name,        \
        [COMPUTE_U32] = u32_##name, [COMPUTE_I64] = i64_##name, [COMPUTE_U64] = u64_##name,        \
        [COMPUTE_BOOL] = bool_##of_bool                                                            \
    }
#define BITS(name)                                                                                 \
    {                                                                                              \
        [COMPUTE_I32] = u32_##name, [COMPUTE_U32] = u32_##name, [COMPUTE_I64] = u64_##name,        \
        [COMPUTE_U64] = u64_##name, [COMPUTE_BOOL] = bool_##name                                   \
    }

scan_fn *routine_scan(enum op op, enum compute c)
{
    assert((unsigned)c < COMPUTE_COUNT);
    static scan_fn *const
        add[COMPUTE_COUNT] = SUMS(add),
        *const mul[COMPUTE_COUNT] = SUMS(mul), *const most[COMPUTE_COUNT] = ORDERS(max, or),
        *const least[COMPUTE_COUNT] = ORDERS(min, and), *const both[COMPUTE_COUNT] = BITS(and),
        *const either[COMPUTE_COUNT] = BITS(or), *const odd[COMPUTE_COUNT] = BITS(xor);
    switch ((int)op) {
    case OP_ADD: return add[c];
    case OP_MUL: return mul[c];
    case OP_MAX: return most[c];
    case OP_MIN: return least[c];
    case OP_AND: return both[c];
    case OP_OR: return either[c];
    case OP_XOR: return odd[c];
    default: return NULL;
    }
}
