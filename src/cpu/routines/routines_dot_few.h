/* Products of few rows (dot_few_fn), for one set of vectors. routines_dot_block.h includes it and
 * has the macros; also
 *
 *   GET_HALVES, GET_BF16            a vector of f16, of bf16, as an operand
 *   LOW_HALVES, HIGH_HALVES         the lower, the upper f16 of each 4 bytes of an operand
 *   LOW_BF16, HIGH_BF16             the same for bf16
 *   GET_BYTE                        byte u of each 4 bytes, with a sign
 *
 * `kind`, `rows` and `steps` are constants wherever these functions are inlined. */

/* Loads `steps` steps of a vector of columns, in the order in which they are added. */
static INLINED void NAME(few_get)(const enum few_kind kind, const int steps, OPERAND y[MORE_STEPS],
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
        case FEW_I8_FOURS: y[u] = GET_BYTE(b + (size_t)(u / 4) * row, u % 4); break;
        default: break;
        }
    }
}

/* Adds `steps` steps of k, at most FEW_STEPS, to columns that few_steps leaves. There are few of
 * them, so one function serves all numbers of rows and steps. */
static INLINED void NAME(few_rest)(const enum few_kind kind, size_t rows, size_t steps, SUM *c,
                                   const T *a, const unsigned char *b, size_t n,
                                   const struct dot_few_strides *s)
{
    const size_t size = few_size(kind), row = s->b * size;
    const size_t b_rows = steps / (size_t)few_together(kind);
    for (size_t some; n > 0; n -= some, c += some, b += some * size) {
        unsigned char room[FEW_STEPS][LANES * sizeof(float)] = {{0}};
        OPERAND y[MORE_STEPS];
        some = n < LANES ? n : LANES;
        const MASK mask = NAME(mask)(some);
        for (size_t u = 0; u < b_rows; u++)
            memcpy(room[u], b + u * row, some * size);
        NAME(few_get)(kind, FEW_STEPS, y, room[0], sizeof room[0]);
        for (size_t r = 0; r < rows; r++) {
            VECTOR sum = NAME(load)(c + r * s->c, 0, 1, false, mask);
            ROLLED
            for (size_t u = 0; u < steps; u++)
                sum = FUSED(BROADCAST(a + r * s->a + u), y[u], sum);
            NAME(store)(c + r * s->c, 0, 1, false, mask, sum);
        }
    }
}

/* Adds `steps` steps of k to rows of sums, which stay in the first-level cache. Returns the number of
 * columns: whole vectors of b. */
static INLINED size_t NAME(few_steps)(const enum few_kind kind, const int rows, const int steps,
                                      SUM *c, const T *a, const unsigned char *b, size_t n,
                                      const struct dot_few_strides *s)
{
    const size_t size = few_size(kind), row = s->b * size, to_row = s->c, ahead = s->ahead;
    const size_t some = LANES * sizeof(float) / size; /* columns in a vector's bytes */
    const int b_rows = steps / few_together(kind);
    OPERAND x[DOT_FEW_ROWS][MORE_STEPS], y[MORE_STEPS];
    size_t done = 0;
    UNROLLED
    for (int r = 0; r < rows; r++)
        UNROLLED
    for (int u = 0; u < steps; u++)
        x[r][u] = BROADCAST(a + (size_t)r * s->a + u);
    for (; done + some <= n; done += some) {
        if (ahead > 0) {
            UNROLLED
            for (int u = 0; u < b_rows; u++)
                PREFETCH_SECOND(b + (size_t)u * row + ahead);
        }
        ROLLED
        for (size_t v = 0; v < some; v += LANES, c += LANES, b += LANES * size) {
            NAME(few_get)(kind, steps, y, b, row);
            UNROLLED
            for (int r = 0; r < rows; r++) {
                VECTOR sum = LOAD(c + (size_t)r * to_row);
                UNROLLED
                for (int u = 0; u < steps; u++)
                    sum = FUSED(x[r][u], y[u], sum);
                STORE(c + (size_t)r * to_row, sum);
            }
        }
    }
    return done;
}

#define FEW_CASE(rows)                                                                             \
    case rows: done = NAME(few_steps)(kind, rows, FEW_STEPS, c, a, from, n, s); break;

static INLINED void NAME(few)(const enum few_kind kind, SUM *c, const T *a, const void *b, size_t m,
                              size_t n, size_t k, const struct dot_few_strides *s)
{
    const size_t size = few_size(kind), row = s->b * size / (size_t)few_together(kind);
    const unsigned char *from = b;
    const bool halves =
        kind == FEW_F16 || kind == FEW_F16_PAIRS; /* not faster: converting takes long */
    const bool whole = !halves && n * size % (LANES * sizeof(float)) == 0;
    for (; m == 1 && whole && k >= MORE_STEPS; k -= MORE_STEPS, a += MORE_STEPS) {
        NAME(few_steps)(kind, 1, MORE_STEPS, c, a, from, n, s);
        from += MORE_STEPS * row;
    }
    for (size_t steps; k > 0; k -= steps, a += steps, from += steps * row) {
        size_t done = 0;
        steps = k < FEW_STEPS ? k : FEW_STEPS;
        if (steps == FEW_STEPS)
            switch (m) {
                EACH_FEW_ROWS(FEW_CASE)
            default: break;
            }
        if (done < n)
            NAME(few_rest)(kind, m, steps, c + done, a, from + done * size, n - done, s);
    }
}
#undef FEW_ROWS
#undef FEW_CASE
