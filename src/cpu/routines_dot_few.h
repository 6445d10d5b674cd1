/* Products of few rows (dot_few_fn), for one set of vectors. routines_dot_block.h includes it and
 * has the macros; also
 *
 *   GET_HALVES, GET_BF16            a vector of f16, of bf16, as an operand
 *   LOW_HALVES, HIGH_HALVES         the lower, the upper f16 of each 4 bytes of an operand
 *   LOW_BF16, HIGH_BF16             the same for bf16
 *
 * `kind`, `rows` and `steps` are constants wherever these functions are inlined. */

/* Loads `steps` steps of a vector of columns, in the order in which they are added. */
static INLINED void NAME(few_get)(const enum few_kind kind, const int steps, OPERAND y[FEW_STEPS],
                                  const unsigned char *b, size_t row)
{
    UNROLLED
    for (int u = 0; u < steps; u++) {
        const unsigned char *at = b + (size_t)u * row, *pair = b + (size_t)(u / 2) * row;
        switch (kind) {
        case FEW_F32: y[u] = GET((const T *)(const void *)at); break;
        case FEW_F16: y[u] = GET_HALVES(at); break;
        case FEW_BF16: y[u] = GET_BF16(b + (size_t)(u ^ 1) * row); break;
        case FEW_F16_PAIRS: y[u] = u % 2 == 0 ? LOW_HALVES(pair) : HIGH_HALVES(pair); break;
        case FEW_BF16_PAIRS: y[u] = u % 2 == 0 ? HIGH_BF16(pair) : LOW_BF16(pair); break;
        default: break;
        }
    }
}

/* Adds these steps to a vector of each row's sums. */
static INLINED void NAME(few_add)(const int rows, const int steps, const bool whole, SUM *c,
                                  size_t to_row, OPERAND x[DOT_FEW_ROWS][FEW_STEPS],
                                  const OPERAND y[FEW_STEPS], MASK mask)
{
    UNROLLED
    for (int r = 0; r < rows; r++) {
        VECTOR sum = NAME(load)(c + (size_t)r * to_row, 0, 1, whole, mask);
        UNROLLED
        for (int u = 0; u < steps; u++)
            sum = FUSED(x[r][u], y[u], sum);
        NAME(store)(c + (size_t)r * to_row, 0, 1, whole, mask, sum);
    }
}

/* Adds the last n columns, not more than a vector has. */
static INLINED void NAME(few_edge)(const enum few_kind kind, const int rows, const int steps,
                                   SUM *c, size_t to_row, OPERAND x[DOT_FEW_ROWS][FEW_STEPS],
                                   const unsigned char *b, size_t row, size_t n)
{
    unsigned char room[FEW_STEPS][LANES * sizeof(float)] = {{0}};
    OPERAND y[FEW_STEPS];
    for (int u = 0; u < (few_has_pairs(kind) ? steps / 2 : steps); u++)
        memcpy(room[u], b + (size_t)u * row, n * few_size(kind));
    NAME(few_get)(kind, steps, y, room[0], sizeof room[0]);
    NAME(few_add)(rows, steps, false, c, to_row, x, y, NAME(mask)(n));
}

/* Adds `steps` steps of k to whole rows of sums, which stay in the first-level cache. */
static INLINED void NAME(few_steps)(const enum few_kind kind, const int rows, const int steps,
                                    SUM *c, const T *a, const unsigned char *b, size_t n,
                                    const struct dot_few_strides *s)
{
    const size_t size = few_size(kind), row = s->b * size, to_row = s->c, ahead = s->ahead;
    const size_t some = LANES * sizeof(float) / size; /* columns in a vector's bytes */
    const int b_rows = few_has_pairs(kind) ? steps / 2 : steps;
    OPERAND x[DOT_FEW_ROWS][FEW_STEPS], y[FEW_STEPS];
    UNROLLED
    for (int r = 0; r < rows; r++)
        UNROLLED
    for (int u = 0; u < steps; u++)
        x[r][u] = BROADCAST(a + (size_t)r * s->a + u);
    const MASK all = NAME(mask)(LANES);
    for (; n >= some; n -= some) {
        UNROLLED
        for (int u = 0; u < b_rows; u++)
            PREFETCH_SECOND(b + (size_t)u * row + ahead);
        UNROLLED
        for (size_t v = 0; v < some; v += LANES, c += LANES, b += LANES * size) {
            NAME(few_get)(kind, steps, y, b, row);
            NAME(few_add)(rows, steps, true, c, to_row, x, y, all);
        }
    }
    for (size_t some_left; n > 0; n -= some_left, c += some_left, b += some_left * size) {
        some_left = n < LANES ? n : LANES;
        NAME(few_edge)(kind, rows, steps, c, to_row, x, b, row, some_left);
    }
}

static INLINED void NAME(few_of)(const enum few_kind kind, const int rows, SUM *c, const T *a,
                                 const unsigned char *b, size_t n, size_t k,
                                 const struct dot_few_strides *s)
{
    const size_t row = s->b * few_size(kind) / (few_has_pairs(kind) ? 2 : 1);
    const int least = few_least(kind);
    size_t p = 0;
    for (; p + FEW_STEPS <= k; p += FEW_STEPS)
        NAME(few_steps)(kind, rows, FEW_STEPS, c, a + p, b + p * row, n, s);
    for (; p < k; p += (size_t)least)
        NAME(few_steps)(kind, rows, least, c, a + p, b + p * row, n, s);
}

#define FEW_CASE(rows)                                                                             \
    case rows: NAME(few_of)(kind, rows, c, a, b, n, k, s); break;

static INLINED void NAME(few)(const enum few_kind kind, SUM *c, const T *a, const void *b, size_t m,
                              size_t n, size_t k, const struct dot_few_strides *s)
{
    switch (m) {
        EACH_FEW_ROWS(FEW_CASE)
    default: break;
    }
}
#undef FEW_ROWS
#undef FEW_CASE
