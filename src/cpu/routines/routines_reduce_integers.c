/* Reductions of integers and truth values over the middle axis of [outer][n][inner]. The result
 * is the same in any order, so one loop is enough, which compilers vectorise; it also serves for
 * pieces. */
#include "cpu/routines/routines_reduce_rows.h"

#define ADD_RUN(name, T, combine)                                                                  \
    static void name##_add(void *to, const void *src, size_t n)                                    \
    {                                                                                              \
        T *part = to;                                                                              \
        *part = n > 0 ? combine(*part, name##_run(src, n)) : *part;                                \
    }

/* `first`: expression of x[0]; `next`: expression of the total and x[i]. */
#define REDUCE(name, T, combine, first, next)                                                      \
    static APART T name##_run(const T *x, size_t n)                                                \
    {                                                                                              \
        T total = (T)(first);                                                                      \
        for (size_t i = 1; i < n; i++)                                                             \
            total = (T)(next);                                                                     \
        return total;                                                                              \
    }                                                                                              \
    END_RUN(name, T)                                                                               \
    ADD_RUN(name, T, combine)                                                                      \
    REDUCE_ALL(name, T, combine, name##_run)
#define INTEGER(name, T, combine) REDUCE(name, T, combine, x[0], combine(total, x[i]))

#define PLUS(x, y) ((x) + (y))
#define LESSER(x, y) ((y) < (x) ? (y) : (x))
#define GREATER(x, y) ((x) < (y) ? (y) : (x))

/* Sums are computed unsigned, so that they wrap; the same routine serves the signed type. */
INTEGER(u32_sum, uint32_t, PLUS)
INTEGER(u64_sum, uint64_t, PLUS)
INTEGER(i32_max, int32_t, GREATER)
INTEGER(u32_max, uint32_t, GREATER)
INTEGER(i64_max, int64_t, GREATER)
INTEGER(u64_max, uint64_t, GREATER)
INTEGER(i32_min, int32_t, LESSER)
INTEGER(u32_min, uint32_t, LESSER)
INTEGER(i64_min, int64_t, LESSER)
INTEGER(u64_min, uint64_t, LESSER)

#define BOTH(x, y) ((uint8_t)(((x) != 0) & ((y) != 0)))
#define EITHER(x, y) ((uint8_t)(((x) != 0) | ((y) != 0)))
REDUCE(bool_all, uint8_t, BOTH, x[0] != 0, total &(x[i] != 0))
REDUCE(bool_any, uint8_t, EITHER, x[0] != 0, total | (x[i] != 0))

#define ORDER_ROW(name)                                                                            \
    [COMPUTE_I32] = i32_##name, [COMPUTE_U32] = u32_##name, [COMPUTE_I64] = i64_##name,            \
    [COMPUTE_U64] = u64_##name
#define REDUCTIONS(part)                                                                           \
    {                                                                                              \
        [REDUCTION_SUM] = {[COMPUTE_I32] = u32_sum##part,                                          \
                           [COMPUTE_U32] = u32_sum##part,                                          \
                           [COMPUTE_I64] = u64_sum##part,                                          \
                           [COMPUTE_U64] = u64_sum##part},                                         \
        [REDUCTION_MAX] = {ORDER_ROW(max##part), [COMPUTE_BOOL] = bool_any##part},                 \
        [REDUCTION_MIN] = {ORDER_ROW(min##part), [COMPUTE_BOOL] = bool_all##part},                 \
        [REDUCTION_ANY] = {[COMPUTE_BOOL] = bool_any##part}, [REDUCTION_ALL] = {                   \
            [COMPUTE_BOOL] = bool_all##part                                                        \
        }                                                                                          \
    }

extern const struct reduce_routines ROUTINE(routines_reduce_integers);
const struct reduce_routines ROUTINE(routines_reduce_integers) = {
    .reduce = REDUCTIONS(), .add = REDUCTIONS(_add), .end = REDUCTIONS(_end)};
