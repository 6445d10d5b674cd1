#include "bench/bench_values.h"
#include "cli/tool.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- tolerances --- */

#define SAFETY 2.0

/* Unit roundoff of a type, and half of its smallest step. */
struct rounding {
    double unit, half_step;
};
static struct rounding rounding_of(tw_dtype t)
{
    switch (t) {
    case TW_F64: return (struct rounding){0x1p-53, 0};
    case TW_F32: return (struct rounding){0x1p-24, 0x1p-150};
    case TW_TF32: return (struct rounding){0x1p-11, 0x1p-137};
    case TW_F16: return (struct rounding){0x1p-11, 0x1p-25};
    case TW_BF16: return (struct rounding){0x1p-8, 0x1p-134};
    case TW_E4M3: return (struct rounding){0x1p-4, 0x1p-10};
    case TW_E5M2: return (struct rounding){0x1p-3, 0x1p-17};
    default: return (struct rounding){0, 0}; /* integers are exact */
    }
}

static double terms_bound(double terms, double unit, double magnitude)
{
    return (terms > 64 ? 8 * sqrt(terms) : terms) * unit * magnitude;
}

/* Returns the error bound of a sum of K products whose magnitudes add up to `magnitude`,
 * computed in f32 (f64 for f64), and of the parts that a unit sums in 14 bits. */
static double sum_bound(const struct gemm *g, double magnitude)
{
    double terms = (double)g->k + 2, unit = g->a == TW_F64 ? 0x1p-53 : 0x1p-24;
    double weak = (double)(g->unit_terms < g->k ? g->unit_terms : g->k) + 2;
    if (rounding_of(g->a).unit <= 0)
        return 0;
    return terms_bound(terms, unit, magnitude) +
           (g->unit_terms > 0 ? terms_bound(weak, 0x1p-13, magnitude) : 0);
}

static double store_bound(const struct gemm *g, double v)
{
    struct rounding r = rounding_of(g->c);
    return r.unit * fabs(v) + r.half_step;
}

static inline void judge(struct value_check *v, double got, double want, double tolerance,
                         int64_t at)
{
    double error = got == want ? 0 : fabs(got - want);
    bool right = error <= tolerance; /* false of NaN */
    v->compared++;
    if (isnan(v->max_error)) /* no other element is worse */
        return;
    if (right && v->tolerance >= 0 && error <= v->max_error &&
        error * v->tolerance <= v->worst_error * tolerance)
        return;
    v->ok &= right;
    if (!(error <= v->max_error))
        v->max_error = error;
    if (v->tolerance < 0 || !(error * v->tolerance <= v->worst_error * tolerance) ||
        (!right && error > v->worst_error)) {
        v->worst_error = error;
        v->tolerance = tolerance;
        v->at = at;
    }
}

/* --- factors --- */

static double load(tw_dtype t, const void *data, int64_t index)
{
    return tw_dtype_load(t, (const char *)data + (size_t)index * tw_dtype_size(t));
}

/* Loads `count` elements, `stride` apart in the factor, `to_stride` apart in `to`. */
static void load_line(const struct factor *f, int64_t first, int64_t stride, int64_t count,
                      double *to, int64_t to_stride)
{
    int64_t at = first % f->period, step = stride % f->period;
    for (int64_t i = 0; i < count; i++) {
        to[i * to_stride] = load(f->dtype, f->data, at);
        at += step;
        at -= at >= f->period ? f->period : 0;
    }
}

/* --- samples --- */

enum {
    SAMPLES = 4096,
    LEAST_SAMPLES = 64,
    BATCHES = 16, /* from which samples are taken */
    LANES = 8,    /* elements of a row that are summed together */
    RUN = 512,    /* products of a partial sum: see src/oracle/ensures.c */
    LOAD = 8      /* time of loading an element, in products */
};
static const double products_most = 1 << 26;

/* Sums of the samples of one matrix, and space for a run of its factors. */
struct sums {
    int64_t rows, width;       /* width: columns, rounded up to LANES */
    double *value, *magnitude; /* [rows][width] */
    double *all;               /* likewise: magnitudes of all products */
    double *a, *b;             /* [rows][RUN] and [RUN][width] */
};

/* Returns an index below `count`, which may exceed 2^32. Uses the upper bits, because the lower
 * ones are not random. */
static int64_t pick(uint64_t *state, int64_t count)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u; /* Knuth's MMIX */
    return (int64_t)((double)(*state >> 11) * 0x1p-53 * (double)count);
}

/* Picks `count` ascending indices below `of`: the first, the last, and a random one in each of
 * the equal parts between them. */
static void pick_spread(int64_t *out, int64_t count, int64_t of, uint64_t *state)
{
    for (int64_t i = 0; i < count; i++) {
        int64_t from = of * i / count, to = of * (i + 1) / count;
        out[i] = i == 0 ? 0 : i == count - 1 ? of - 1 : from + pick(state, to - from);
    }
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Chooses the numbers of matrices, rows of each and columns, so that the work is bounded. */
static void choose_counts(const struct gemm *g, int64_t *matrices, int64_t *rows, int64_t *columns)
{
    *matrices = least(g->batch, BATCHES);
    *rows = least(g->m, g->batch > 1 ? 16 : 64);
    *columns = least(g->n, SAMPLES / (*matrices * *rows));
    *rows = least(g->m, SAMPLES / (*matrices * *columns));
    while ((double)(*matrices * g->k) * (double)(*rows * *columns + LOAD * (*rows + *columns)) >
               products_most &&
           *matrices * *rows * *columns >= 2 * LEAST_SAMPLES)
        if (*rows > *columns)
            *rows /= 2;
        else
            *columns /= 2;
}

static struct sums sums_open(int64_t rows, int64_t columns)
{
    struct sums s = {.rows = rows, .width = (columns + LANES - 1) / LANES * LANES};
    const int64_t each = rows * s.width;
    s.value = need_memory((size_t)(3 * each + (rows + s.width) * RUN) * sizeof *s.value);
    s.magnitude = s.value + each;
    s.all = s.magnitude + each;
    s.a = s.all + each;
    s.b = s.a + rows * RUN;
    return s;
}

/* Adds `length` products to each sum of a row. */
static void add_run(struct sums *s, int64_t row, int64_t length)
{
    const double *a = s->a + row * RUN;
    for (int64_t j = 0; j < s->width; j += LANES) {
        double run[LANES] = {0}, all[LANES] = {0};
        for (int64_t p = 0; p < length; p++)
            for (int l = 0; l < LANES; l++) {
                double x = a[p] * s->b[p * s->width + j + l];
                run[l] += x;
                all[l] += fabs(x);
            }
        for (int l = 0; l < LANES; l++) {
            s->value[row * s->width + j + l] += run[l];
            s->magnitude[row * s->width + j + l] += fabs(run[l]);
            s->all[row * s->width + j + l] += all[l];
        }
    }
}

/* Sums the products of matrix z: rows `rows` of A and columns `columns` of B. */
static void sum_matrix(struct sums *s, const struct gemm *g, const struct factor *a,
                       const struct factor *b, int64_t z, const int64_t *rows,
                       const int64_t *columns, int64_t column_count)
{
    const int64_t step_a = g->a_turned ? g->m : 1, step_b = g->b_turned ? 1 : g->n;
    memset(s->value, 0, (size_t)(3 * s->rows * s->width) * sizeof *s->value);
    for (int64_t p = 0; p < g->k; p += RUN) {
        const int64_t length = least(RUN, g->k - p);
        for (int64_t i = 0; i < s->rows; i++)
            load_line(a, z * g->m * g->k + rows[i] * (g->a_turned ? 1 : g->k) + p * step_a, step_a,
                      length, s->a + i * RUN, 1);
        for (int64_t j = 0; j < column_count; j++)
            load_line(b, z * g->k * g->n + columns[j] * (g->b_turned ? g->k : 1) + p * step_b,
                      step_b, length, s->b + j, s->width);
        for (int64_t i = 0; i < s->rows; i++)
            add_run(s, i, length);
    }
}

/* Returns the magnitude of a sum's parts: see src/oracle/ensures.c. */
static double magnitude_of(const struct gemm *g, double runs, double all)
{
    return g->k <= 64 ? all : fmax(runs, all / 8);
}

struct value_samples *values_samples(const struct gemm *g, const struct factor *a,
                                     const struct factor *b)
{
    struct value_samples *x = need_memory(sizeof *x);
    int64_t matrices, rows, *picked;
    uint64_t state = 1;
    choose_counts(g, &matrices, &rows, &x->column_count);
    x->row_count = matrices * rows;
    x->rows = need_memory((size_t)(x->row_count + x->column_count) * sizeof *x->rows);
    x->columns = x->rows + x->row_count;
    x->values = need_memory((size_t)(2 * x->row_count * x->column_count) * sizeof *x->values);
    x->magnitudes = x->values + x->row_count * x->column_count;
    picked = need_memory((size_t)(matrices + rows) * sizeof *picked);
    pick_spread(picked, matrices, g->batch, &state);
    pick_spread(x->columns, x->column_count, g->n, &state);
    struct sums s = sums_open(rows, x->column_count);
    for (int64_t z = 0; z < matrices; z++) {
        int64_t *own = picked + matrices;
        pick_spread(own, rows, g->m, &state);
        sum_matrix(&s, g, a, b, picked[z], own, x->columns, x->column_count);
        for (int64_t i = 0; i < rows * x->column_count; i++) {
            int64_t row = i / x->column_count, at = row * s.width + i % x->column_count;
            int64_t to = z * rows * x->column_count + i;
            x->rows[z * rows + row] = picked[z] * g->m + own[row];
            x->values[to] = s.value[at];
            x->magnitudes[to] = magnitude_of(g, s.magnitude[at], s.all[at]);
        }
    }
    free(s.value);
    free(picked);
    return x;
}

void values_samples_free(struct value_samples *x)
{
    if (!x)
        return;
    free(x->rows);
    free(x->values);
    free(x);
}

struct value_check values_check(const struct gemm *g, const struct value_samples *x, const void *c,
                                bool only_rows)
{
    struct value_check v = {.ok = true, .tolerance = -1};
    for (int64_t i = 0; i < x->row_count; i++)
        for (int64_t j = 0; j < x->column_count; j++) {
            int64_t s = i * x->column_count + j;
            double got = load(g->c, c, (only_rows ? i : x->rows[i]) * g->n + x->columns[j]);
            double bound = sum_bound(g, x->magnitudes[s]) + store_bound(g, x->values[s]);
            judge(&v, got, x->values[s], SAFETY * bound, x->rows[i] * g->n + x->columns[j]);
        }
    return v;
}

/* --- against another result --- */

/* Returns sums[i]: the sum of the squares of the first i elements, for i up to the period. */
static double *square_sums(const struct factor *f)
{
    double *sums = need_memory((size_t)(f->period + 1) * sizeof *sums);
    for (int64_t i = 0; i < f->period; i++) {
        double v = load(f->dtype, f->data, i);
        sums[i + 1] = sums[i] + v * v;
    }
    return sums;
}

/* Returns the norms of `rows` rows of `columns` elements. */
static double *row_norms(const struct factor *f, int64_t rows, int64_t columns)
{
    double *sums = square_sums(f), *out = need_memory((size_t)rows * sizeof *out);
    const int64_t whole = columns / f->period, rest = columns % f->period;
    for (int64_t i = 0; i < rows; i++) {
        int64_t first = i * columns % f->period, end = first + rest;
        double part = end <= f->period ? sums[end] - sums[first]
                                       : sums[f->period] - sums[first] + sums[end - f->period];
        out[i] = sqrt((double)whole * sums[f->period] + part);
    }
    free(sums);
    return out;
}

/* Returns the norms of the columns of `batch` matrices of `rows` × `columns` elements. */
static double *column_norms(const struct factor *f, int64_t batch, int64_t rows, int64_t columns)
{
    double *sums = need_memory((size_t)(batch * columns) * sizeof *sums);
    float *squares = need_memory((size_t)f->period * sizeof *squares);
    int64_t at = 0;
    for (int64_t i = 0; i < f->period; i++) {
        double v = load(f->dtype, f->data, i);
        squares[i] = (float)(v * v);
    }
    for (int64_t y = 0; y < batch * rows; y++) {
        double *own = sums + y / rows * columns;
        for (int64_t done = 0, next; done < columns; done += next) {
            next = least(columns - done, f->period - at);
            for (int64_t x = 0; x < next; x++)
                own[done + x] += (double)squares[at + x];
            at = at + next < f->period ? at + next : 0;
        }
    }
    for (int64_t i = 0; i < batch * columns; i++)
        sums[i] = sqrt(sums[i]);
    free(squares);
    return sums;
}

struct value_norms values_norms(const struct gemm *g, const struct factor *a,
                                const struct factor *b)
{
    return (struct value_norms){
        .rows = g->a_turned ? column_norms(a, g->batch, g->k, g->m)
                            : row_norms(a, g->batch * g->m, g->k),
        .columns = g->b_turned ? row_norms(b, g->batch * g->n, g->k)
                               : column_norms(b, g->batch, g->k, g->n),
    };
}

void values_norms_free(struct value_norms *x)
{
    free(x->rows);
    free(x->columns);
    *x = (struct value_norms){0};
}

/* Returns the values of all bit patterns of a type of at most two bytes; NULL: of a longer one. */
static float *short_values(tw_dtype t)
{
    const size_t size = tw_dtype_size(t);
    if (size > 2)
        return NULL;
    float *all = need_memory(((size_t)1 << 8 * size) * sizeof *all);
    for (uint32_t i = 0; i < 1u << 8 * size; i++) {
        uint8_t one = (uint8_t)i;
        uint16_t two = (uint16_t)i;
        all[i] = (float)tw_dtype_load(t, size == 1 ? (const void *)&one : &two);
    }
    return all;
}

/* Loads elements of C. all: from short_values. */
static void load_row(const struct gemm *g, const float *all, const void *c, int64_t first,
                     double *to)
{
    const float *floats = (const float *)c + first;
    const uint16_t *halves = (const uint16_t *)c + first;
    const uint8_t *bytes = (const uint8_t *)c + first;
    if (g->c == TW_F32)
        for (int64_t i = 0; i < g->n; i++)
            to[i] = (double)floats[i];
    else if (all && tw_dtype_size(g->c) == 2)
        for (int64_t i = 0; i < g->n; i++)
            to[i] = (double)all[halves[i]];
    else if (all)
        for (int64_t i = 0; i < g->n; i++)
            to[i] = (double)all[bytes[i]];
    else
        for (int64_t i = 0; i < g->n; i++)
            to[i] = load(g->c, c, first + i);
}

struct value_check values_compare(const struct gemm *g, const struct value_norms *n,
                                  const struct value_samples *only, const void *c,
                                  const void *other)
{
    struct value_check v = {.ok = true, .tolerance = -1};
    float *all = short_values(g->c);
    double *x = need_memory((size_t)(2 * g->n) * sizeof *x), *y = x + g->n;
    const struct rounding r = rounding_of(g->c);
    struct gemm others = *g;
    others.unit_terms = 0;
    const double sum_unit = SAFETY * (sum_bound(g, 1) + sum_bound(&others, 1));
    for (int64_t i = 0; i < (only ? only->row_count : g->batch * g->m); i++) {
        const int64_t row = only ? only->rows[i] : i;
        const double *columns = n->columns + row / g->m * g->n;
        load_row(g, all, c, i * g->n, x);
        load_row(g, all, other, i * g->n, y);
        for (int64_t j = 0; j < g->n; j++) {
            double sum = sum_unit * n->rows[row] * columns[j];
            double stored = r.unit * (fabs(x[j]) + fabs(y[j])) + 2 * r.half_step;
            judge(&v, x[j], y[j], sum + SAFETY * stored, row * g->n + j);
        }
    }
    free(x);
    free(all);
    return v;
}
