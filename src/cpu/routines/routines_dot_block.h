/* The blocks of a product in registers, for one type: included with
 *
 *   T, SUM             types of the elements of a and b; of c (if not defined: T)
 *   NAME(x)            the type's name before x
 *   VECTOR, LANES      a vector of sums, and the number of its elements
 *   MASK               selects elements of a vector
 *   LOAD STORE LOAD_MASKED STORE_MASKED       on vectors of sums
 *   OPERAND            LANES elements of b, or one element of a repeated: GET GET_MASKED BROADCAST (if
 *                      not defined: VECTOR, LOAD and LOAD_MASKED)
 *   FUSED              a sum plus the product of two operands
 *   FUSED_WITH         optional: a sum plus the product of an operand and one element of a vector
 *   ROWS, EACH_ROWS(X) the most rows of a block, and X(1) … X(ROWS); EDGE_ROWS: the same for blocks
 *                      at the right edge
 *   VECTORS            the most vectors of a row
 *   EDGE_VECTORS, EACH_EDGE_VECTORS(X)        the same for blocks at the right edge, and X(1) …
 *                      X(EDGE_VECTORS)
 *   FOUR_STEPS_OF_MANY optional: 4 steps of k for blocks of 4 rows or more
 *   UNROLLS_LINES      1 if the steps of k between two prefetches are to be unrolled in blocks of
 *                      many rows, else 0
 *   ROW_TERMS, ADD_TERM
 *                      optional: compute, for rows of a, what their sums lack if the bytes of b are
 *                      flipped (dot_strides.flipped); add a row's term to a vector of sums
 *   FEW_ROWS           optional: makes the functions for few rows (routines_dot_few.h)
 *   PACKS              optional: operands may have to be packed on the way
 *   GET_HALVES, PUT_HALVES, PUT_BF16, GET_HALF, PUT_HALF
 *                      optional: f16 in memory: load a vector or one element as an operand, and
 *                      store one of sums
 *   PUT_BLOCK          optional: the function that stores sums as 16 bits (put_block_fn); defined here
 *                      if there is PUT_HALVES
 *
 * Strides ld* are in elements. `rows`, `vectors` and `whole` are constants wherever block() is
 * inlined, so its loops over them are unrolled and `sum` is in registers. `lines` is passed by
 * address: passed as a copy it would be read in wider pieces than it was just written in, and
 * that read would wait until the sums of the block before are stored. */

#if !defined(SUM)
#define SUM T
#endif
#if !defined(OPERAND)
#define OPERAND VECTOR
#define GET LOAD
#define GET_MASKED LOAD_MASKED
#endif

enum { NAME(width) = VECTORS * LANES };
#if UNROLLS_LINES
#define WITH_LINES_UNROLLED UNROLLED
#else
#define WITH_LINES_UNROLLED ROLLED
#endif

/* Loads vector v of `vectors` in a row; the last one has the masked elements only, unless
 * `whole`. */
static INLINED OPERAND NAME(get)(const T *row, int v, int vectors, bool whole, MASK mask)
{
    return whole || v < vectors - 1 ? GET(row + v * LANES) : GET_MASKED(row + v * LANES, mask);
}

static INLINED VECTOR NAME(load)(const SUM *row, int v, int vectors, bool whole, MASK mask)
{
    return whole || v < vectors - 1 ? LOAD(row + v * LANES) : LOAD_MASKED(row + v * LANES, mask);
}

/* Loads the sums to begin with. Zeros are loaded, too, which takes less code than to set them. */
static INLINED void NAME(begin)(const int rows, const int vectors, const bool whole,
                                VECTOR sum[ROWS][VECTORS], const SUM *c, const int32_t *terms,
                                const struct dot_strides *s, MASK mask)
{
    static const SUM zeros[NAME(width)];
    const SUM *from = s->fresh ? zeros : c;
    const size_t step = s->fresh ? 0 : s->c;
    UNROLLED
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < vectors; v++)
            sum[r][v] = NAME(load)(from + (size_t)r * step, v, vectors, whole, mask);
#if defined(ROW_TERMS)
    if (!terms)
        return;
    UNROLLED
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < vectors; v++)
            sum[r][v] = ADD_TERM(sum[r][v], terms[r]);
#else
    (void)terms;
#endif
}

static INLINED void NAME(store)(SUM *row, int v, int vectors, bool whole, MASK mask, VECTOR x)
{
    if (whole || v < vectors - 1)
        STORE(row + v * LANES, x);
    else
        STORE_MASKED(row + v * LANES, mask, x);
}

/* Stores the sums, to `out` or in place of c. */
static INLINED void NAME(end)(const int rows, const int vectors, const bool whole,
                              VECTOR sum[ROWS][VECTORS], SUM *out, const struct dot_strides *s,
                              MASK mask)
{
    const size_t step = s->out ? s->out_step : s->c;
    UNROLLED
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < vectors; v++)
            NAME(store)(out + (size_t)r * step, v, vectors, whole, mask, sum[r][v]);
}

/* Multiplies a column of a by a row of b. */
static INLINED void NAME(multiply)(const int rows, const int vectors, VECTOR sum[ROWS][VECTORS],
                                   const T *a, size_t lda, const OPERAND y[VECTORS])
{
    UNROLLED
    for (int r = 0; r < rows; r++) {
        OPERAND x = BROADCAST(a + (size_t)r * lda);
        for (int v = 0; v < vectors; v++)
            sum[r][v] = FUSED(x, y[v], sum[r][v]);
    }
}

/* Computes one step of k. */
static INLINED void NAME(step)(const int rows, const int vectors, const bool whole,
                               VECTOR sum[ROWS][VECTORS], const T *a, size_t lda, const T *b,
                               MASK mask)
{
    OPERAND y[VECTORS];
    for (int v = 0; v < vectors; v++)
        y[v] = NAME(get)(b, v, vectors, whole, mask);
    NAME(multiply)(rows, vectors, sum, a, lda, y);
}

/* Returns whether a block has its own code for LINE_STEPS steps of k. Unrolling does not make blocks
 * of fewer rows faster, and there would be many copies. */
static INLINED bool NAME(unrolls)(const int rows, const int vectors, const bool whole)
{
#if defined(FUSED_WITH)
    (void)rows, (void)vectors;
    return whole;
#else
#if defined(FOUR_STEPS_OF_MANY)
    if (whole && rows >= 4 && vectors == VECTORS)
        return true;
#endif
    return whole && vectors == VECTORS && UNROLLS_LINES && rows > ROWS - ROWS / 4;
#endif
}

/* Executes LINE_STEPS steps of k, unrolled; returns the next address of b. With FUSED_WITH a row's
 * elements of a are loaded LANES at a time and stay in one register; b is loaded one vector at a
 * time, because no registers are left for more. */
static INLINED const T *NAME(steps)(const int rows, const int vectors, const bool whole,
                                    VECTOR sum[ROWS][VECTORS], const T *a, size_t lda, const T *b,
                                    size_t ldb, MASK mask)
{
#if defined(FUSED_WITH)
    (void)mask, (void)whole;
    UNROLLED
    for (int u = 0; u < LINE_STEPS; u += LANES) {
        OPERAND x[ROWS];
        UNROLLED
        for (int r = 0; r < rows; r++)
            x[r] = GET(a + (size_t)r * lda + u);
        UNROLLED
        for (int l = 0; l < LANES; l++, b += ldb)
            for (int v = 0; v < vectors; v++) {
                OPERAND y = GET(b + v * LANES);
                UNROLLED
                for (int r = 0; r < rows; r++)
                    sum[r][v] = FUSED_WITH(y, x[r], l, sum[r][v]);
            }
    }
#else
#if defined(FOUR_STEPS_OF_MANY)
    if (rows >= 4 && vectors == VECTORS) {
        WITH_LINES_UNROLLED
        for (int u = 0; u < LINE_STEPS; u += 4)
            b = FOUR_STEPS_OF_MANY(rows, sum, a + u, lda, b, ldb);
        return b;
    }
#endif
    UNROLLED
    for (int u = 0; u < LINE_STEPS; u++, a++, b += ldb) {
        OPAQUE(a);
        NAME(step)(rows, vectors, whole, sum, a, lda, b, mask);
    }
#endif
    return b;
}

/* Computes rows × vectors of out = c + a · b. */
static INLINED void NAME(block)(const int rows, const int vectors, const bool whole, SUM *out,
                                const SUM *c, const T *a, const T *b, size_t k,
                                const struct dot_strides *s, MASK mask, struct dot_lines *lines)
{
    const size_t lda = s->a, ldb = s->b;
    const char *at = lines->at, *end = lines->end;
    ptrdiff_t step = lines->step;
    VECTOR sum[ROWS][VECTORS];
    NAME(begin)(rows, vectors, whole, sum, c, lines->terms, s, mask);
    const bool unrolls = NAME(unrolls)(rows, vectors, whole);
    for (size_t some; whole && k >= (unrolls ? LINE_STEPS : 1); k -= some) {
        PREFETCH_SECOND(at);
        PREFETCH_SECOND(at + CACHE_LINE);
        at += step;
        if (at >= end) {
            lines_next_row(lines);
            at = lines->at;
            end = lines->end;
            step = lines->step;
        }
        some = unrolls || k > LINE_STEPS ? LINE_STEPS : k;
        if (unrolls) {
            b = NAME(steps)(rows, vectors, whole, sum, a, lda, b, ldb, mask);
            a += LINE_STEPS;
        }
        ROLLED
        for (size_t u = unrolls ? some : 0; u < some; u++, a++, b += ldb) {
            OPAQUE(a);
            NAME(step)(rows, vectors, whole, sum, a, lda, b, mask);
        }
    }
    lines->at = at;
    for (; (!whole || unrolls) && k > 0; k--, a++, b += ldb) {
        OPAQUE(a);
        NAME(step)(rows, vectors, whole, sum, a, lda, b, mask);
    }
    NAME(end)(rows, vectors, whole, sum, out, s, mask);
}

#if defined(PACKS)
/* Returns whether the operand is still f16. */
static INLINED bool NAME(has_halves)(const struct dot_unpacked *source)
{
#if defined(GET_HALVES)
    return source->halves;
#else
    (void)source;
    return false;
#endif
}

static INLINED size_t NAME(size_of)(bool halves)
{
    return halves ? sizeof(uint16_t) : sizeof(T);
}

/* Loads LANES operands from memory. */
static INLINED OPERAND NAME(get_from)(const void *from, bool halves)
{
#if defined(GET_HALVES)
    if (halves)
        return GET_HALVES(from);
#endif
    (void)halves;
    return GET(from);
}

/* Fetches steps of k that are packed, each to the next row of a panel; a row is `row` bytes wide
 * in the source. */
static INLINED void NAME(ask_for_steps)(const char *from, ptrdiff_t step, size_t row)
{
    for (size_t at = 1; at <= row; at += CACHE_LINE) {
        PREFETCH(from + PACKS_NEAR * step + row - at);
        PREFETCH_SECOND(from + PACKS_FAR * step + row - at);
    }
}

/* Computes a whole block and packs its panel of b on the way. The panel's rows begin at `from`,
 * s->b_unpacked.step elements apart; they are far away, so they are fetched early. */
static INLINED void NAME(packing_block)(const int rows, const bool halves, SUM *out, const SUM *c,
                                        const T *a, const char *from, T *panel, size_t k,
                                        const struct dot_strides *s)
{
    const MASK mask = NAME(mask)(LANES);
    const size_t size = NAME(size_of)(halves);
    const ptrdiff_t step = (ptrdiff_t)(s->b_unpacked.step * size);
    VECTOR sum[ROWS][VECTORS];
    NAME(begin)(rows, VECTORS, true, sum, c, NULL, s, mask);
    for (size_t p = 0; p < k; p++, a++, from += step, panel += VECTORS * LANES) {
        OPERAND y[VECTORS];
        NAME(ask_for_steps)(from, step, VECTORS * LANES * size);
        for (int v = 0; v < VECTORS; v++) {
            y[v] = NAME(get_from)(from + (size_t)v * LANES * size, halves);
            STORE(panel + v * LANES, y[v]);
        }
        NAME(multiply)(rows, VECTORS, sum, a, s->a, y);
    }
    NAME(end)(rows, VECTORS, true, sum, out, s, mask);
}

#define PACKING_CASE(rows)                                                                         \
    case rows: NAME(packing_block)(rows, halves, out, c, a, from, panel, k, s); return true;

/* Computes a block with packing_block. false: a block of so small a number of rows would wait
 * for b, and nothing was done. */
static INLINED bool NAME(packs)(size_t rows, const bool halves, SUM *out, const SUM *c, const T *a,
                                const char *from, T *panel, size_t k, const struct dot_strides *s)
{
    switch (rows) {
        EACH_PACKING_ROWS(PACKING_CASE)
    default: return false;
    }
}

static APART bool NAME(pack_and_multiply)(size_t rows, SUM *out, const SUM *c, const T *a,
                                          const char *from, T *panel, size_t k,
                                          const struct dot_strides *s)
{
    return NAME(packs)(rows, false, out, c, a, from, panel, k, s);
}

#if defined(GET_HALVES)
static APART bool NAME(pack_halves_and_multiply)(size_t rows, SUM *out, const SUM *c, const T *a,
                                                 const char *from, T *panel, size_t k,
                                                 const struct dot_strides *s)
{
    return NAME(packs)(rows, true, out, c, a, from, panel, k, s);
}
#endif
#endif

#define BLOCK_CASE(rows)                                                                           \
    case rows:                                                                                     \
        NAME(block)(rows, VECTORS, true, out, c, a, b, k, s, mask, lines);                         \
        break;
#define EDGE_CASE(rows)                                                                            \
    case rows:                                                                                     \
        NAME(block)(rows, vectors, false, out, c, a, b, k, s, mask, lines);                        \
        break;
#define EDGE_OF(vectors)                                                                           \
    case vectors: NAME(edge_rows)(vectors, rows, out, c, a, b, k, s, mask, lines); break;

static void NAME(whole_block)(size_t rows, SUM *out, const SUM *c, const T *a, const T *b, size_t k,
                              const struct dot_strides *s, struct dot_lines *lines)
{
    const MASK mask = NAME(mask)(LANES);
    switch (rows) {
        EACH_ROWS(BLOCK_CASE)
    default: break;
    }
}

static INLINED void NAME(edge_rows)(const int vectors, size_t rows, SUM *out, const SUM *c,
                                    const T *a, const T *b, size_t k, const struct dot_strides *s,
                                    MASK mask, struct dot_lines *lines)
{
    switch (rows) {
        EACH_EDGE_ROWS(EDGE_CASE)
    default: break;
    }
}

/* Computes a block of at most EDGE_ROWS rows. */
static void NAME(edge_block)(size_t rows, size_t columns, SUM *out, const SUM *c, const T *a,
                             const T *b, size_t k, const struct dot_strides *s,
                             struct dot_lines *lines)
{
    const size_t vectors = (columns + LANES - 1) / LANES;
    const MASK mask = NAME(mask)(columns - (vectors - 1) * LANES);
    switch (vectors) {
        EACH_EDGE_VECTORS(EDGE_OF)
    default: break;
    }
}

/* Computes blocks at the edge, for any number of rows, EDGE_VECTORS vectors at a time. */
static APART void NAME(edge)(size_t rows, size_t columns, SUM *out, const SUM *c, const T *a,
                             const T *b, size_t k, const struct dot_strides *s,
                             struct dot_lines *lines)
{
    const size_t blocks = (rows + EDGE_ROWS - 1) / EDGE_ROWS, to_row = s->out ? s->out_step : s->c;
    for (size_t i = 0, at = 0; i < blocks; i++) {
        size_t some = (rows - at) / (blocks - i);
        for (size_t j = 0; j < columns; j += EDGE_VECTORS * LANES)
            NAME(edge_block)
        (some, columns - j < EDGE_VECTORS * LANES ? columns - j : EDGE_VECTORS * LANES,
         out + at * to_row + j, c + at * s->c + j, a + at * s->a, b + j, k, s, lines);
#if defined(ROW_TERMS)
        lines->terms = lines->terms ? lines->terms + some : NULL;
#endif
        at += some;
    }
}

#if defined(PUT_HALVES)
APART void PUT_BLOCK(uint16_t *to, size_t to_step, const SUM *from, size_t from_step, size_t rows,
                     size_t columns, bool bf16)
{
    for (size_t r = 0; r < rows; r++, to += to_step, from += from_step) {
        size_t j = 0;
        if (bf16)
            for (; j + LANES <= columns; j += LANES)
                PUT_BF16(to + j, LOAD(from + j));
        for (; j + LANES <= columns; j += LANES)
            PUT_HALVES(to + j, LOAD(from + j));
        for (; j < columns; j++)
            PUT_HALF(to + j, from[j], bf16);
    }
}
#endif

static INLINED void NAME(any_block)(size_t rows, size_t columns, SUM *out, const SUM *c, const T *a,
                                    const T *b, size_t k, const struct dot_strides *s,
                                    struct dot_lines *lines)
{
    if (columns == NAME(width))
        NAME(whole_block)(rows, out, c, a, b, k, s, lines);
    else
        NAME(edge)(rows, columns, out, c, a, b, k, s, lines);
}

#if defined(PACKS)
/* Packs n contiguous elements. */
static INLINED void NAME(pack_run)(T *to, const char *from, size_t n, const bool halves)
{
    size_t p = 0;
    for (; p + LANES <= n; p += LANES)
        STORE(to + p, NAME(get_from)(from + p * NAME(size_of)(halves), halves));
#if defined(GET_HALVES)
    for (; halves && p < n; p++)
        to[p] = GET_HALF(from + p * sizeof(uint16_t));
#endif
    for (; p < n; p++)
        to[p] = ((const T *)(const void *)from)[p];
}

/* Packs `rows` rows of a, `depth` elements of each. */
static INLINED void NAME(pack_rows_of)(T *to, size_t to_step, const char *from, size_t rows,
                                       size_t depth, const struct dot_unpacked *source,
                                       const bool halves)
{
    enum { LINE = CACHE_LINE / sizeof(T) };
    const size_t size = NAME(size_of)(halves);
    const ptrdiff_t step = (ptrdiff_t)(source->step * size);
    for (size_t r = 0; r < rows; r++, to += to_step, from += step) {
        size_t p = 0;
        for (; p + LINE <= depth; p += LINE) {
            PREFETCH_SECOND(from + 6 * step + p * size);
            PREFETCH(from + step + p * size);
            PREFETCH_TO_WRITE(to + 2 * to_step + p);
            NAME(pack_run)(to + p, from + p * size, LINE, halves);
        }
        NAME(pack_run)(to + p, from + p * size, depth - p, halves);
    }
}

static APART void NAME(pack_rows)(T *to, size_t to_step, const char *from, size_t rows,
                                  size_t depth, const struct dot_unpacked *source)
{
    if (NAME(has_halves)(source))
        NAME(pack_rows_of)(to, to_step, from, rows, depth, source, true);
    else
        NAME(pack_rows_of)(to, to_step, from, rows, depth, source, false);
}

/* Computes the first block of a panel of b. The panel is packed from `from`, by the block itself
 * or before it. */
static INLINED void NAME(first_block)(size_t rows, size_t columns, SUM *out, const SUM *c,
                                      const T *a, const char *from, T *panel, size_t k,
                                      const struct dot_strides *s, struct dot_lines *lines)
{
    const bool halves = NAME(has_halves)(&s->b_unpacked);
    const size_t step = s->b_unpacked.step * NAME(size_of)(halves);
#if defined(GET_HALVES)
    if (columns == NAME(width) && halves &&
        NAME(pack_halves_and_multiply)(rows, out, c, a, from, panel, k, s))
        return;
#endif
    if (columns == NAME(width) && !halves &&
        NAME(pack_and_multiply)(rows, out, c, a, from, panel, k, s))
        return;
    for (size_t p = 0; p < k; p++, from += step) {
        NAME(ask_for_steps)(from, (ptrdiff_t)step, NAME(width) * NAME(size_of)(halves));
        NAME(pack_run)(panel + p * NAME(width), from, NAME(width), halves);
    }
    NAME(any_block)(rows, columns, out, c, a, panel, k, s, lines);
}
#endif

/* Turns sums of -0 into 0. */
static void NAME(settle)(SUM *sum, size_t step, size_t rows, size_t columns)
{
    for (size_t i = 0; i < rows; i++, sum += step)
        VECTORISE for (size_t j = 0; j < columns; j++)
        {
            sum[j] += 0;
        }
}

/* Fetches the lines that a block writes at its end: `bytes` bytes of each row; rows are `apart`
 * bytes apart. */
static INLINED void NAME(ask_for)(char *row, size_t apart, size_t rows, size_t bytes)
{
    for (size_t r = 0; r < rows; r++, row += apart) {
        for (size_t at = 0; at < bytes; at += CACHE_LINE)
            PREFETCH_TO_WRITE(row + at);
        if ((uintptr_t)row % CACHE_LINE > 0)
            PREFETCH_TO_WRITE(row + bytes - 1);
    }
}

#if defined(PACKS)
static INLINED const char *NAME(unpacked)(const struct dot_unpacked *source, size_t element)
{
    return (const char *)source->from + element * NAME(size_of)(NAME(has_halves)(source));
}
#endif

/* Computes the block that begins at row `at` and column j. Blocks of the first rows pack their
 * panel of b, and blocks of the first columns pack their rows of a, if these are not packed. */
static INLINED void NAME(block_at)(size_t at, size_t rows, size_t j, size_t columns, SUM *out,
                                   const SUM *c, const T *a, const T *panel, size_t k,
                                   const struct dot_strides *s, struct dot_lines *lines)
{
#if defined(PACKS)
    if (s->a_unpacked.from && j == 0) {
        const char *source = NAME(unpacked)(&s->a_unpacked, at * s->a_unpacked.step);
        NAME(pack_rows)((T *)(uintptr_t)a, s->a, source, rows, k, &s->a_unpacked);
    }
    if (s->b_unpacked.from && at == 0) {
        const char *source = NAME(unpacked)(&s->b_unpacked, j);
        NAME(first_block)(rows, columns, out, c, a, source, (T *)(uintptr_t)panel, k, s, lines);
        return;
    }
#else
    (void)at;
    (void)j;
#endif
    NAME(any_block)(rows, columns, out, c, a, panel, k, s, lines);
}

#if defined(ROW_TERMS)
struct NAME(terms) {
    SUM of[MOST_TERMS];
    size_t known; /* number of rows, from the first one, whose terms are kept */
};

/* Returns the terms of `rows` rows of m, from row `at` on, which begins at a. */
static INLINED const SUM *NAME(terms_of)(struct NAME(terms) * terms, size_t at, size_t rows,
                                         size_t m, const T *a, size_t k,
                                         const struct dot_strides *s)
{
    SUM *of = m <= MOST_TERMS ? terms->of + at : terms->of;
    if (m > MOST_TERMS || at >= terms->known) {
        ROW_TERMS(of, rows, a, s->a, k);
        terms->known = at + rows;
    }
    return of;
}
#endif

/* Multiplies in blocks of nearly equal numbers of rows, because blocks with few rows keep the
 * units less busy. */
static void NAME(dot)(void *c, const void *a, const void *b, size_t m, size_t n, size_t k,
                      const struct dot_strides *strides)
{
    const struct dot_strides *s = strides;
    const size_t most = s->most_rows > 0 && s->most_rows < ROWS ? s->most_rows : ROWS;
    const size_t blocks = (m + most - 1) / most;
    const size_t panels = (n + NAME(width) - 1) / NAME(width);
    const size_t to_row = s->out ? s->out_step : s->c;
    const size_t to_size = s->out_type != OUT_SUMS ? sizeof(uint16_t) : sizeof(SUM);
    struct dot_lines lines;
#if defined(ROW_TERMS)
    struct NAME(terms) terms;
    terms.known = 0;
#endif
#if defined(PUT_BLOCK)
    _Alignas(CACHE_LINE) SUM full[ROWS * NAME(width)]; /* sums that are stored as halves */
    struct dot_strides own;
    if (s->out_type != OUT_SUMS) {
        own = *s;
        own.out = full;
        own.out_step = NAME(width);
        s = &own;
    }
#endif
    lines_open(&lines, s->prefetch);
    for (size_t x = dot_next_panel(s, panels, SIZE_MAX); x < panels;
         x = dot_next_panel(s, panels, x)) {
        const size_t j = x * NAME(width);
        const T *panel = (const T *)b + x * s->panel;
        for (size_t i = 0, at = 0; i < blocks; i++) {
            size_t rows = (m - at) / (blocks - i);
            size_t columns = n - j < NAME(width) ? n - j : NAME(width);
            SUM *sums = (SUM *)c + at * s->c + j, *to = sums;
            void *out = sums;
            const T *from = (const T *)a + at * s->a;
            if (s->out)
                to = out = (char *)strides->out + (at * to_row + j) * to_size;
            NAME(ask_for)(out, to_row * to_size, rows, columns * to_size);
#if defined(PUT_BLOCK)
            if (s->out_type != OUT_SUMS)
                to = full;
#endif
#if defined(ROW_TERMS)
            lines.terms = s->flipped ? NAME(terms_of)(&terms, at, rows, m, from, k, s) : NULL;
#endif
            NAME(block_at)(at, rows, j, columns, to, sums, from, panel, k, s, &lines);
            if (s->settled)
                NAME(settle)(to, s->out ? s->out_step : s->c, rows, columns);
#if defined(PUT_BLOCK)
            if (s->out_type != OUT_SUMS)
                PUT_BLOCK(out, to_row, full, NAME(width), rows, columns, s->out_type == OUT_BF16);
#endif
            at += rows;
        }
    }
}

#if defined(FEW_ROWS)
#include "cpu/routines/routines_dot_few.h"
#endif

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
#undef OPERAND
#undef SUM
#undef GET
#undef GET_MASKED
#undef UNROLLS_LINES
#undef WITH_LINES_UNROLLED
#undef FOUR_STEPS_OF_MANY
#undef BLOCK_CASE
#undef EDGE_CASE
#undef EDGE_OF
#undef FUSED_WITH
#undef ROW_TERMS
#undef ADD_TERM
#undef PACKS
#undef GET_HALVES
#undef GET_HALF
#undef PUT_HALVES
#undef PUT_BF16
#undef PUT_HALF
#undef PUT_BLOCK
#undef PACKING_CASE
