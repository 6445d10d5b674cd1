/* Reductions of floats over the middle axis of [outer][n][inner]. The order of a sum affects its
 * value, so it is fixed: contiguous elements are added in parts (128 parts from 256 elements on,
 * 32 from 32 on) that are combined as a tree; fewer than 32 elements, and elements in different
 * rows, are added one after another. Other reductions give the same result in any order. */
#include "cpu/float_order.h"
#include "cpu/routines/routines_reduce_rows.h"
#include "cpu/routines/routines_tree.h"

#include <math.h>
#include <string.h>

enum {
    MANY = REDUCTION_PARTS, /* parts of a long row: enough that no addition waits for the one
                             * before */
    FEW = 32,
    LONG_ROW = REDUCTION_LONG
};

/* part[j] takes x[j], x[j + parts], …; then the second half of the parts is combined with the
 * first, and so on. term(k): the value of element k, which is x[k] or a product. */
#define ELEMENT(k) x[k]
#define PRODUCT(k) (x[k] * y[k])
#define SQUARE(k) (x[k] * x[k])
#define ADD_TERMS(combine, parts, term)                                                            \
    size_t i = 0;                                                                                  \
    for (; i + parts <= n; i += parts)                                                             \
        for (size_t j = 0; j < parts; j++)                                                         \
            part[j] = combine(part[j], term(i + j));                                               \
    for (size_t j = 0; j < parts && i + j < n; j++)                                                \
        part[j] = combine(part[j], term(i + j));
#define ADD(name, T, combine, parts)                                                               \
    static void name##_add(void *to, const void *src, size_t n)                                    \
    {                                                                                              \
        T *restrict part = to;                                                                     \
        const T *restrict x = src;                                                                 \
        ADD_TERMS(combine, parts, ELEMENT)                                                         \
    }
#define PLAIN_PARTS(name, T, combine, parts)                                                       \
    ADD(name, T, combine, parts)                                                                   \
    PLAIN_ENDS(name, T, combine, parts)
#define PLAIN_ENDS(name, T, combine, parts)                                                        \
    static void name##_end(void *to)                                                               \
    {                                                                                              \
        T *part = to;                                                                              \
        for (size_t half = parts / 2; half > 0; half /= 2)                                         \
            for (size_t j = 0; j < half; j++)                                                      \
                part[j] = combine(part[j], part[j + half]);                                        \
    }

/* Reduces a whole row of at least `parts` elements; each part begins with `first`. `of`: name of
 * the routine whose end combines the parts. */
#define PLAIN_ROW(name, of, T, combine, parts, term)                                               \
    static T name(const T *x, const T *y, size_t n, T first)                                       \
    {                                                                                              \
        T part[parts];                                                                             \
        (void)y;                                                                                   \
        for (size_t j = 0; j < parts; j++)                                                         \
            part[j] = first;                                                                       \
        ADD_TERMS(combine, parts, term)                                                            \
        of##_end(part);                                                                            \
        return part[0];                                                                            \
    }

#if defined(VECTOR)
#define ELEMENT_WIDE(k) LOAD(x + k)
#define PRODUCT_WIDE(k) (LOAD(x + k) * LOAD(y + k))
#define SQUARE_WIDE(k) (LOAD(x + k) * LOAD(x + k))
#define ADD_TERMS_F32(combine, parts, term)                                                        \
    enum { LANES = sizeof(VECTOR) / 4, COUNT = parts / LANES < 8 ? parts / LANES : 8 };            \
    size_t whole = n / parts * parts;                                                              \
    for (size_t j = 0; j < parts && whole > 0; j += COUNT * LANES) {                               \
        VECTOR p[COUNT];                                                                           \
        UNROLLED                                                                                   \
        for (size_t v = 0; v < COUNT; v++)                                                         \
            p[v] = LOAD(part + j + v * LANES);                                                     \
        for (size_t i = j; i < j + whole; i += parts) {                                            \
            UNROLLED                                                                               \
            for (size_t v = 0; v < COUNT; v++)                                                     \
                p[v] = WIDE(combine)(p[v], term##_WIDE(i + v * LANES));                            \
        }                                                                                          \
        UNROLLED                                                                                   \
        for (size_t v = 0; v < COUNT; v++)                                                         \
            STORE(part + j + v * LANES, p[v]);                                                     \
    }                                                                                              \
    for (size_t j = 0; j < parts && whole + j < n; j++)                                            \
        part[j] = combine(part[j], term(whole + j));
#define F32_PARTS(name, T, combine, parts)                                                         \
    static void name##_add(void *to, const void *src, size_t n)                                    \
    {                                                                                              \
        float *part = to;                                                                          \
        const float *x = src;                                                                      \
        ADD_TERMS_F32(combine, parts, ELEMENT)                                                     \
    }                                                                                              \
    F32_ENDS(name, T, combine, parts)                                                              \
    static void name##_end(void *to)                                                               \
    {                                                                                              \
        VECTOR p[parts * 4 / sizeof(VECTOR)];                                                      \
        UNROLLED                                                                                   \
        for (size_t v = 0; v < parts * 4 / sizeof(VECTOR); v++)                                    \
            p[v] = LOAD((float *)to + v * (sizeof(VECTOR) / 4));                                   \
        *(float *)to = name##_tree(p);                                                             \
    }
#define F32_ROW(name, of, T, combine, parts, term)                                                 \
    static APART float name(const float *x, const float *y, size_t n, float first)                 \
    {                                                                                              \
        (void)y;                                                                                   \
        F32_ROW_BODY(of, combine, parts, term)                                                     \
    }
#define F32_ROW_BODY(of, combine, parts, term)                                                     \
    enum { LANES = sizeof(VECTOR) / 4, ALL = parts / LANES, COUNT = ALL < 8 ? ALL : 8 };           \
    const size_t whole = n / parts * parts;                                                        \
    VECTOR p[ALL];                                                                                 \
    UNROLLED                                                                                       \
    for (size_t j = 0; j < ALL; j += COUNT) {                                                      \
        UNROLLED                                                                                   \
        for (size_t v = j; v < j + COUNT; v++)                                                     \
            p[v] = ONE_IN_ALL(first);                                                              \
        for (size_t i = 0; i < whole; i += parts) {                                                \
            UNROLLED                                                                               \
            for (size_t v = j; v < j + COUNT; v++)                                                 \
                p[v] = WIDE(combine)(p[v], term##_WIDE(i + v * LANES));                            \
        }                                                                                          \
    }                                                                                              \
    if (whole < n) {                                                                               \
        float part[parts];                                                                         \
        memcpy(part, p, sizeof part);                                                              \
        for (size_t j = 0; whole + j < n; j++)                                                     \
            part[j] = combine(part[j], term(whole + j));                                           \
        memcpy(p, part, sizeof part);                                                              \
    }                                                                                              \
    return of##_tree(p);

#else
#define ADD_TERMS_F32 ADD_TERMS
#define F32_PARTS PLAIN_PARTS
#define F32_ENDS PLAIN_ENDS
#define F32_ROW PLAIN_ROW
#endif

/* PARTS, ENDS, ROW: the loops over the parts; they are the PLAIN_ ones unless there are better
 * ones. The parts of a sum begin with -0, because adding a number to -0 gives that number. */
#define REDUCE_RUN(name, T, combine, PARTS, ENDS, ROW)                                             \
    PARTS(name, T, combine, MANY)                                                                  \
    ENDS(name##_short, T, combine, FEW)                                                            \
    ROW(name##_row, name, T, combine, MANY, ELEMENT)                                               \
    ROW(name##_short_row, name##_short, T, combine, FEW, ELEMENT)                                  \
    static T name##_run(const T *x, size_t n)                                                      \
    {                                                                                              \
        if (n >= LONG_ROW)                                                                         \
            return name##_row(x, x, n, (T)-0.0);                                                   \
        if (n >= FEW)                                                                              \
            return name##_short_row(x, x, n, (T)-0.0);                                             \
        T total = x[0];                                                                            \
        for (size_t i = 1; i < n; i++)                                                             \
            total = combine(total, x[i]);                                                          \
        return total;                                                                              \
    }

/* For reductions with the same result in any order: FEW parts for a row of any length; the same
 * routine combines the parts of pieces. */
#define RUN_ANY_ORDER(name, T, combine)                                                            \
    PLAIN_PARTS(name##_few, T, combine, FEW)                                                       \
    static APART T name##_run(const T *x, size_t n)                                                \
    {                                                                                              \
        T part[FEW], total = x[0];                                                                 \
        if (n >= FEW) {                                                                            \
            memcpy(part, x, sizeof part);                                                          \
            name##_few_add(part, x + FEW, n - FEW);                                                \
            name##_few_end(part);                                                                  \
            return part[0];                                                                        \
        }                                                                                          \
        for (size_t i = 1; i < n; i++)                                                             \
            total = combine(total, x[i]);                                                          \
        return total;                                                                              \
    }                                                                                              \
    END_RUN(name, T)

#define REDUCE(name, T, combine, PARTS, ENDS, ROW)                                                 \
    REDUCE_RUN(name, T, combine, PARTS, ENDS, ROW)                                                 \
    REDUCE_ALL(name, T, combine, name##_run)

/* The greatest or least of floats. In nearly all cases it takes one comparison for each element:
 * the start is the infinity that every number beats, and a NaN never wins. If no number won, or
 * a zero did, whose sign then matters, the exact order decides. */
#define REDUCE_ORDER(name, T, least, simple, exact, ENDS, ROW)                                     \
    RUN_ANY_ORDER(name, T, exact)                                                                  \
    ADD(name, T, exact, MANY)                                                                      \
    ENDS(name##_simple, T, simple, MANY)                                                           \
    ENDS(name##_simple_short, T, simple, FEW)                                                      \
    ROW(name##_simple_row, name##_simple, T, simple, MANY, ELEMENT)                                \
    ROW(name##_simple_short_row, name##_simple_short, T, simple, FEW, ELEMENT)                     \
    static T name##_quick(const T *x, size_t n)                                                    \
    {                                                                                              \
        T best = n < LONG_ROW ? name##_simple_short_row(x, x, n, least)                            \
                              : name##_simple_row(x, x, n, least);                                 \
        return best == 0 || best == least ? name##_run(x, n) : best;                               \
    }                                                                                              \
    REDUCE_ALL(name, T, exact, name##_quick)

#define PLUS(x, y) ((x) + (y))
#define ABOVE(x, y) ((y) > (x) ? (y) : (x)) /* a NaN as y does not win */
#define BELOW(x, y) ((y) < (x) ? (y) : (x))

#define FLOATS(t, T, PARTS, ENDS, ROW)                                                             \
    REDUCE(t##_sum, T, PLUS, PARTS, ENDS, ROW)                                                     \
    REDUCE_ORDER(t##_max, T, -INFINITY, ABOVE, t##_most, ENDS, ROW)                                \
    REDUCE_ORDER(t##_min, T, INFINITY, BELOW, t##_least, ENDS, ROW)
FLOATS(f32, float, F32_PARTS, F32_ENDS, F32_ROW)
#if !defined(ROUTINES_V4) /* which takes those for AVX2 */
FLOATS(f64, double, PLAIN_PARTS, PLAIN_ENDS, PLAIN_ROW)
#endif

static void f32_products(void *to, const void *a, const void *b, size_t n)
{
    float *restrict part = to;
    const float *restrict x = a, *restrict y = b;
    ADD_TERMS_F32(PLUS, MANY, PRODUCT)
}

F32_ROW(f32_products_row, f32_sum, float, PLUS, MANY, PRODUCT)
F32_ROW(f32_squares_row, f32_sum, float, PLUS, MANY, SQUARE)

static void f32_sum_of_products(void *dst, const void *x, const void *y, size_t n)
{
    *(float *)dst = x == y ? f32_squares_row(x, x, n, -0.0f) : f32_products_row(x, y, n, -0.0f);
}

/* Computes to = x - less and returns its square; also fetches a line at `ahead`. */
#if defined(VECTOR)
static INLINED VECTOR squared_difference_wide(float *to, const float *x, float less,
                                              const float *ahead)
{
    PREFETCH_SECOND(ahead);
    VECTOR difference = LOAD(x) - ONE_IN_ALL(less);
    STORE(to, difference);
    return difference * difference;
}
static inline float squared_difference(float *to, float x, float less)
{
    *to = x - less;
    return *to * *to;
}
#define SQUARED_DIFFERENCE(k) squared_difference(to + (k), x[k], less)
#define SQUARED_DIFFERENCE_WIDE(k) squared_difference_wide(to + (k), x + (k), less, ahead + (k))
static APART float squared_differences(float *to, const float *x, float less, const float *ahead,
                                       size_t n)
{
    const float first = -0.0f;
    F32_ROW_BODY(f32_sum, PLUS, MANY, SQUARED_DIFFERENCE)
}
#else
static float squared_differences(float *to, const float *x, float less, const float *ahead,
                                 size_t n)
{
    (void)ahead;
    VECTORISE for (size_t i = 0; i < n; i++)
    {
        to[i] = x[i] - less;
    }
    return f32_squares_row(to, to, n, -0.0f);
}
#endif

static void f32_difference(void *sum, void *to, const void *x, const void *less, const void *ahead,
                           struct powers_seen *seen, size_t n)
{
    (void)seen;
    *(float *)sum = squared_differences(to, x, *(const float *)less, ahead ? ahead : to, n);
}

#if defined(ROUTINES_V4)
#define OF_FLOATS(name)                                                                            \
    {                                                                                              \
        [COMPUTE_F32] = f32_##name                                                                 \
    }
#else
#define OF_FLOATS(name)                                                                            \
    {                                                                                              \
        [COMPUTE_F32] = f32_##name, [COMPUTE_F64] = f64_##name                                     \
    }
#endif
#define REDUCTIONS(part)                                                                           \
    {                                                                                              \
        [REDUCTION_SUM] = OF_FLOATS(sum##part), [REDUCTION_MAX] = OF_FLOATS(max##part),            \
        [REDUCTION_MIN] = OF_FLOATS(min##part)                                                     \
    }

extern const struct reduce_routines ROUTINE(routines_reduce);
const struct reduce_routines ROUTINE(routines_reduce) = {.f32_products = f32_products,
                                                         .f32_sum_of_products = f32_sum_of_products,
                                                         .f32_difference = f32_difference,
                                                         .reduce = REDUCTIONS(),
                                                         .add = REDUCTIONS(_add),
                                                         .end = REDUCTIONS(_end)};
