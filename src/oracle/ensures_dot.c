/* Products of matrices: the value, and the sums of magnitudes that its error bound needs.
 *
 * A sum of K products in any order, with or without fused steps, has the bound of ensures.c,
 * with K + 2 terms: the extra ones are the rounding of c, and slack for second-order terms.
 * Operands off by ea and eb add sum (|a| + ea)(|b| + eb) - |a| |b|. */
#include "cpu/routines/magnitude.h"
#include "cpu/routines/routines.h"
#include "oracle/ensures_internal.h"

#include <math.h>
#include <string.h>

/* A panel of b, MAGNITUDE_PANEL columns wide and up to DEPTH rows deep, is copied so that it
 * stays in the first-level cache; then ROWS rows of a at a time are multiplied by it. */
enum { PANEL = MAGNITUDE_PANEL, DEPTH = SUM_RUN, ROWS = 64 };

struct product {
    const double *a, *b; /* m × k, k × n */
    /* m × n. v and runs are NULL if only magnitudes are needed; the operands are then not
     * negative. */
    double *v, *magnitude, *runs;
    int64_t n, k;
    magnitude_fn *block;
};

/* Returns the block routine of this machine. All of them add in the same order. */
static magnitude_fn *choose_block(void)
{
#if defined(TILEWRIGHT_HAVE_NEON)
    return routines_magnitude_block_neon;
#elif defined(TILEWRIGHT_HAVE_V3)
    return routine_set_at(1) ? routines_magnitude_block_v3 : routines_magnitude_block_any;
#else
    return routines_magnitude_block_any;
#endif
}

static void pack_panel(const struct product *w, int64_t p, int64_t depth, int64_t column,
                       int64_t width, double *panel)
{
    for (int64_t q = 0; q < depth; q++)
        for (int64_t c = 0; c < PANEL; c++)
            panel[q * PANEL + c] = c < width ? w->b[(p + q) * w->n + column + c] : 0;
}

static void add_block(const struct product *w, int64_t row, int64_t rows, int64_t column,
                      int64_t width, const double *v, const double *magnitude)
{
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < width; c++) {
            int64_t at = (row + r) * w->n + column + c;
            if (w->v) {
                w->v[at] += v[r * PANEL + c];
                w->runs[at] += fabs(v[r * PANEL + c]);
            }
            w->magnitude[at] += magnitude[r * PANEL + c];
        }
}

static void multiply_rows(void *user, int64_t begin, int64_t end)
{
    const struct product *w = user;
    double panel[DEPTH * PANEL], v[ROWS * PANEL], magnitude[ROWS * PANEL];
    for (int64_t p = 0; p < w->k; p += DEPTH) {
        int64_t depth = w->k - p < DEPTH ? w->k - p : DEPTH;
        for (int64_t column = 0; column < w->n; column += PANEL) {
            int64_t width = w->n - column < PANEL ? w->n - column : PANEL;
            pack_panel(w, p, depth, column, width, panel);
            for (int64_t row = begin; row < end; row += ROWS) {
                int64_t rows = end - row < ROWS ? end - row : ROWS;
                w->block(&w->a[row * w->k + p], w->k, panel, depth, rows, v, magnitude);
                add_block(w, row, rows, column, width, v, magnitude);
            }
        }
    }
}

/* --- operands --- */

/* Returns x as doubles; the result takes over x's memory if x holds doubles already. */
static struct oracle_tile to_real(struct oracle *o, struct oracle_tile *x)
{
    if (x->v) {
        struct oracle_tile taken = *x;
        x->v = x->error = NULL;
        return taken;
    }
    struct oracle_tile out = oracle_tile_new(o, DT_F64, x->rank, x->extent, x->error != NULL);
    for (int64_t i = 0; i < x->count; i++) {
        struct number n = oracle_tile_get(x, i);
        oracle_tile_put(&out, i,
                        (struct number){.v = oracle_number_real(x->dtype, n), .error = n.error});
    }
    return out;
}

/* Replaces each element of x by |x| + its error. */
static void to_upper(struct oracle_tile *x)
{
    for (int64_t i = 0; i < x->count; i++)
        x->v[i] = fabs(x->v[i]) + (x->error ? x->error[i] : 0);
}

/* Returns for each row (column) whether all its elements have the same magnitude. */
static bool *rows_alike(struct oracle *o, const struct oracle_tile *x)
{
    int64_t rows = x->extent[0], n = x->extent[1];
    bool *alike = oracle_memory(o, (size_t)rows * sizeof *alike);
    for (int64_t r = 0; r < rows; r++) {
        const double *row = &x->v[r * n];
        int64_t i = 1;
        while (i < n && fabs(row[i]) == fabs(row[0]))
            i++;
        alike[r] = i >= n;
    }
    return alike;
}

static bool *columns_alike(struct oracle *o, const struct oracle_tile *x)
{
    int64_t rows = x->extent[0], n = x->extent[1];
    bool *alike = oracle_memory(o, (size_t)n * sizeof *alike);
    for (int64_t c = 0; c < n; c++) {
        int64_t r = 1;
        while (r < rows && fabs(x->v[r * n + c]) == fabs(x->v[c]))
            r++;
        alike[c] = r >= rows;
    }
    return alike;
}

static void clear(double *x, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        x[i] = 0;
}

/* --- integers: exact, wrapped --- */

struct int_product {
    const int64_t *a, *b;
    int64_t *out;
    int64_t n, k;
};

static void multiply_int_rows(void *user, int64_t begin, int64_t end)
{
    const struct int_product *w = user;
    for (int64_t row = begin; row < end; row++)
        for (int64_t p = 0; p < w->k; p++) {
            uint64_t x = (uint64_t)w->a[row * w->k + p];
            const int64_t *b = &w->b[p * w->n];
            int64_t *out = &w->out[row * w->n];
            for (int64_t c = 0; c < w->n; c++)
                out[c] = (int64_t)((uint64_t)out[c] + x * (uint64_t)b[c]);
        }
}

static void dot_ints(struct oracle *o, const struct oracle_tile *a, const struct oracle_tile *b,
                     const struct oracle_tile *c, struct oracle_tile *out)
{
    int64_t m = a->extent[0], k = a->extent[1], n = b->extent[1];
    struct int_product w = {.a = a->i, .b = b->i, .out = out->i, .n = n, .k = k};
    for (int64_t i = 0; i < out->count; i++)
        out->i[i] = 0;
    oracle_parallel(o, m, (double)m * (double)n * (double)k, multiply_int_rows, &w);
    int64_t strides[MAX_RANK] = {0};
    if (c)
        oracle_tile_strides(c, 2, out->extent, strides);
    for (int64_t i = 0; i < out->count; i++) {
        uint64_t start = c ? (uint64_t)c->i[i / n * strides[0] + i % n * strides[1]] : 0;
        out->i[i] = dtype_wrap(out->dtype, (int64_t)((uint64_t)out->i[i] + start));
    }
}

/* --- floats, and integers that are not exact --- */

/* Sums of a unit that keeps fewer bits than their type: their unit roundoff, and over how many elements of k they go. */
struct weak_sum {
    double unit;
    int64_t k;
};

struct finish {
    struct rule rule;
    struct weak_sum weak;
    struct oracle_tile *out;
    const double *a, *b; /* the operands */
    const double *v, *magnitude, *runs;
    const double *upper; /* sum (|a| + ea)(|b| + eb); NULL: exact operands */
    const bool *rows_alike, *columns_alike;
    const struct oracle_tile *c;
    int64_t strides[MAX_RANK], n, k;
};

/* Returns whether the finite products of an infinite sum may overflow, to the other infinity too:
 * then its order decides. */
static bool rest_may_overflow(const struct finish *f, int64_t at)
{
    const double *a = &f->a[at / f->n * f->k], *b = &f->b[at % f->n];
    double size = 0;
    for (int64_t p = 0; p < f->k; p++) {
        double product = fabs(a[p] * b[p * f->n]);
        size += isfinite(product) ? product : 0;
    }
    return size >= f->rule.overflow;
}

static void finish_element(struct finish *f, int64_t at)
{
    struct number c = {0};
    if (f->c)
        c = oracle_tile_get(f->c, at / f->n * f->strides[0] + at % f->n * f->strides[1]);
    double v = f->v[at] + c.v, error = c.error;
    double size = f->upper ? f->upper[at] : f->magnitude[at], start = fabs(c.v) + c.error;
    double inherited = f->upper ? fabs(f->upper[at] - f->magnitude[at]) : 0;
    struct magnitudes m = {.size = size + start,
                           .runs = f->runs[at] + inherited + start,
                           .alike = f->rows_alike[at / f->n] && f->columns_alike[at % f->n]};
    error += inherited + oracle_sum_error((double)f->k + 2, f->rule.unit, &m);
    if (f->weak.unit > 0)
        error += oracle_sum_error((double)f->weak.k + 2, f->weak.unit, &m);
    if (oracle_sum_may_overflow(v, m.size, f->rule.overflow))
        error = INFINITY;
    if (!isfinite(v)) /* the sums of magnitudes are useless then */
        error = f->upper || c.error != 0 || (isinf(v) && rest_may_overflow(f, at)) ? INFINITY : 0;
    double reach = fabs(v) + error;
    if (!(error >= 0) || (!f->rule.is_root && reach >= f->rule.overflow && isfinite(v)))
        error = INFINITY;
    struct number result = {.v = v, .error = error};
    if (!dtype_is_float(f->out->dtype)) {
        bool fits = reach < 0x1p62 && dtype_wrap(f->out->dtype, (int64_t)reach) == (int64_t)reach;
        result = (struct number){.i = fits ? (int64_t)v : 0, .error = fits ? error : INFINITY};
    }
    oracle_tile_put(f->out, at, result);
}

/* Returns the sums that the kernel's products in the background have in their unit, if e is a product of 8-bit floats. */
static struct weak_sum weak_sum_of(struct oracle *o, const struct expr *e, int64_t k)
{
    struct weak_sum weak = {0};
    if (dtype_is_byte_float(expr_unconverted_factor(e->args[0])->type.dtype) &&
        dtype_is_byte_float(expr_unconverted_factor(e->args[1])->type.dtype))
        weak.k = kernel_unit_terms(o->kernel);
    if (weak.k > 0)
        weak.unit = 0x1p-13; /* of 14 bits, truncated */
    weak.k = weak.k < k ? weak.k : k;
    return weak;
}

static void dot_reals(struct oracle *o, const struct expr *e, struct oracle_tile *a,
                      struct oracle_tile *b, const struct oracle_tile *c, struct oracle_tile *out)
{
    int64_t m = a->extent[0], k = a->extent[1], n = b->extent[1];
    double work = (double)m * (double)n * (double)k;
    size_t bytes = (size_t)out->count * sizeof(double);
    bool in_place = out->v && out->error; /* use the result's own memory until it is finished */
    double *v = in_place ? out->v : oracle_memory(o, bytes);
    double *magnitude = in_place ? out->error : oracle_memory(o, bytes), *upper = NULL;
    double *runs = oracle_memory(o, bytes);
    clear(v, out->count);
    clear(magnitude, out->count);
    clear(runs, out->count);
    struct product w = {.a = a->v, .b = b->v, .v = v, .magnitude = magnitude, .n = n, .k = k};
    w.runs = runs;
    w.block = choose_block();
    oracle_parallel(o, m, work, multiply_rows, &w);
    bool *a_alike = rows_alike(o, a), *b_alike = columns_alike(o, b);
    if (a->error || b->error) {
        upper = oracle_memory(o, bytes);
        clear(upper, out->count);
        to_upper(a);
        to_upper(b);
        w.v = w.runs = NULL;
        w.magnitude = upper;
        oracle_parallel(o, m, work, multiply_rows, &w);
    }
    struct finish f = {.out = out, .v = v, .magnitude = magnitude, .upper = upper, .c = c};
    f.runs = runs;
    f.a = a->v;
    f.b = b->v;
    f.rows_alike = a_alike;
    f.columns_alike = b_alike;
    enum dtype from[RULE_OPERANDS] = {e->type.dtype, e->type.dtype, e->type.dtype};
    f.rule = oracle_rule_for(OP_ADD, out->dtype, from, 2);
    f.rule.is_root = e == o->root;
    f.weak = weak_sum_of(o, e, k);
    f.n = n;
    f.k = k;
    if (c)
        oracle_tile_strides(c, 2, out->extent, f.strides);
    for (int64_t i = 0; i < out->count; i++)
        finish_element(&f, i);
    oracle_memory_free(o, upper);
    oracle_memory_free(o, runs);
    oracle_memory_free(o, a_alike);
    oracle_memory_free(o, b_alike);
    if (!in_place) {
        oracle_memory_free(o, v);
        oracle_memory_free(o, magnitude);
    }
}

bool oracle_tile_dot(struct oracle *o, const struct expr *e, struct oracle_tile *a,
                     struct oracle_tile *b, struct oracle_tile *c, struct oracle_tile *out)
{
    if (a->rank != 2 || b->rank != 2 || a->extent[1] != b->extent[0])
        return oracle_fail(o, "dot of %s and %s", oracle_tile_shape_text(o, a),
                           oracle_tile_shape_text(o, b));
    int64_t extent[2] = {a->extent[0], b->extent[1]}, ignored[MAX_RANK];
    if (c && !oracle_tile_strides(c, 2, extent, ignored))
        return oracle_fail(o, "dot of %s and %s added to %s", oracle_tile_shape_text(o, a),
                           oracle_tile_shape_text(o, b), oracle_tile_shape_text(o, c));
    enum dtype t = e->type.dtype;
    bool exact = !dtype_is_float(t) && !a->error && !b->error && !(c && c->error);
    *out = oracle_tile_new(o, t, 2, extent, !exact);
    if (exact) {
        dot_ints(o, a, b, c, out);
    } else {
        struct oracle_tile real_a = to_real(o, a), real_b = to_real(o, b);
        struct oracle_tile real_c = {0};
        if (c)
            real_c = to_real(o, c);
        dot_reals(o, e, &real_a, &real_b, c ? &real_c : NULL, out);
        oracle_tile_free(o, &real_a);
        oracle_tile_free(o, &real_b);
        oracle_tile_free(o, &real_c);
    }
    oracle_tile_free(o, a);
    oracle_tile_free(o, b);
    if (c)
        oracle_tile_free(o, c);
    return true;
}
