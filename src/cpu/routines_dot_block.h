/* The blocks of a product in registers, for one type: routines_dot.c includes this with
 *
 *   T                  the element            NAME(x)            the type's name before x
 *   VECTOR, LANES      a vector of them       MASK               which of its elements there are
 *   LOAD STORE LOAD_MASKED STORE_MASKED BROADCAST FUSED          on vectors
 *
 * Strides ld* are in elements. `rows` is a constant wherever block() is inlined.
 */

struct NAME(edge) {
    MASK first, second; /* columns of the two vectors; used when there are fewer */
};

static inline VECTOR NAME(get)(const T *at, bool whole, MASK mask)
{
    return whole ? LOAD(at) : LOAD_MASKED(at, mask);
}

static inline void NAME(put)(T *at, bool whole, MASK mask, VECTOR v)
{
    if (whole)
        STORE(at, v);
    else
        STORE_MASKED(at, mask, v);
}

/* rows × two vectors of c += a · b. edge NULL: all columns are there. */
static inline __attribute__((always_inline)) void NAME(block)(const int rows, T *c, const T *a,
                                                              const T *b, const struct strides *s,
                                                              const struct NAME(edge) * edge)
{
    const bool whole = !edge;
    const MASK first = whole ? (MASK){0} : edge->first, second = whole ? (MASK){0} : edge->second;
    const size_t ldc = s->ldc, lda = s->lda, ldb = s->ldb;
    VECTOR sum[ROWS][2];
    for (int r = 0; r < rows; r++) {
        sum[r][0] = NAME(get)(c + (size_t)r * ldc, whole, first);
        sum[r][1] = NAME(get)(c + (size_t)r * ldc + LANES, whole, second);
    }
    for (size_t p = 0; p < s->k; p++, a++, b += ldb) {
        VECTOR b0 = NAME(get)(b, whole, first), b1 = NAME(get)(b + LANES, whole, second);
        for (int r = 0; r < rows; r++) {
            VECTOR x = BROADCAST(a + (size_t)r * lda);
            sum[r][0] = FUSED(x, b0, sum[r][0]);
            sum[r][1] = FUSED(x, b1, sum[r][1]);
        }
    }
    for (int r = 0; r < rows; r++) {
        NAME(put)(c + (size_t)r * ldc, whole, first, sum[r][0]);
        NAME(put)(c + (size_t)r * ldc + LANES, whole, second, sum[r][1]);
    }
}

/* All m rows of two vectors of columns. */
static void NAME(columns)(T *c, const T *a, const T *b, size_t m, const struct strides *s)
{
    for (; m >= ROWS; m -= ROWS, c += ROWS * s->ldc, a += ROWS * s->lda)
        NAME(block)(ROWS, c, a, b, s, NULL);
    switch (m) {
    case 5: NAME(block)(5, c, a, b, s, NULL); break;
    case 4: NAME(block)(4, c, a, b, s, NULL); break;
    case 3: NAME(block)(3, c, a, b, s, NULL); break;
    case 2: NAME(block)(2, c, a, b, s, NULL); break;
    case 1: NAME(block)(1, c, a, b, s, NULL); break;
    default: break;
    }
}

/* The same for the last columns, fewer than two vectors. */
static void NAME(last_columns)(T *c, const T *a, const T *b, size_t m, const struct strides *s,
                               size_t columns)
{
    const struct NAME(edge)
        edge = {NAME(mask)(columns), NAME(mask)(columns > LANES ? columns - LANES : 0)};
    for (; m >= ROWS; m -= ROWS, c += ROWS * s->ldc, a += ROWS * s->lda)
        NAME(block)(ROWS, c, a, b, s, &edge);
    for (; m > 0; m--, c += s->ldc, a += s->lda)
        NAME(block)(1, c, a, b, s, &edge);
}

static void NAME(dot)(void *c, const void *a, const void *b, size_t m, size_t n, size_t k,
                      size_t ldc, size_t lda, size_t ldb)
{
    const struct strides s = {.k = k, .ldc = ldc, .lda = lda, .ldb = ldb};
    T *out = c;
    const T *columns = b;
    size_t j = 0;
    for (; j + 2 * LANES <= n; j += 2 * LANES)
        NAME(columns)(out + j, a, columns + j, m, &s);
    if (j < n)
        NAME(last_columns)(out + j, a, columns + j, m, &s, n - j);
}

#undef T
#undef NAME
#undef VECTOR
#undef LANES
#undef MASK
#undef LOAD
#undef STORE
#undef LOAD_MASKED
#undef STORE_MASKED
#undef BROADCAST
#undef FUSED
