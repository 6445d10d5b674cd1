#include "bench_values.h"
#include "tensor.h"
#include "tool.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PERIOD = 1048583 }; /* prime, so that matrix rows differ */

/* Fills with random values; i8 and u8 that are not indices get nearly all of theirs. */
static void fill_once(tw_array *a, const struct fill_options *o)
{
    struct fill_options random = *o;
    if (a->dtype == TW_U8 || (a->dtype == TW_I8 && !o->is_index))
        random.limit = o->extent > 0 && o->extent < 255 ? o->extent : 255;
    if (a->dtype != TW_I8 || o->is_index) {
        tensor_fill(a, &random);
        return;
    }
    tw_array bytes = *a;
    bytes.dtype = TW_U8;
    tensor_fill(&bytes, &random);
    int8_t *v = a->data;
    for (int64_t i = 0; i < tensor_elements(a); i++)
        v[i] = (int8_t)(((const uint8_t *)a->data)[i] - 127);
}

void values_fill(tw_array *a, const struct fill_options *o)
{
    int64_t count = tensor_elements(a);
    tw_array first = {.size = sizeof first, .data = a->data, .dtype = a->dtype, .rank = 1};
    if (o->is_starts) {
        tensor_fill(a, o);
        return;
    }
    first.shape[0] = count < PERIOD ? count : PERIOD;
    fill_once(&first, o);
    size_t size = tw_dtype_size(a->dtype), done = (size_t)first.shape[0] * size;
    const size_t all = (size_t)count * size, period = done;
    for (; done < all; done += period) /* repeats the first period */
        memcpy((char *)a->data + done, a->data, all - done < period ? all - done : period);
}

void values_turn(const tw_array *from, int64_t batch, int64_t rows, int64_t columns, void *to)
{
    enum { BLOCK = 64 };
    const size_t size = tw_dtype_size(from->dtype);
    for (int64_t z = 0; z < batch; z++) {
        const char *in = (const char *)from->data + (size_t)(z * rows * columns) * size;
        char *out = (char *)to + (size_t)(z * rows * columns) * size;
        for (int64_t i = 0; i < rows; i += BLOCK)
            for (int64_t j = 0; j < columns; j += BLOCK)
                for (int64_t y = i; y < rows && y < i + BLOCK; y++)
                    for (int64_t x = j; x < columns && x < j + BLOCK; x++)
                        memcpy(out + (size_t)(x * rows + y) * size,
                               in + (size_t)(y * columns + x) * size, size);
    }
}

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

/* Returns the error bound of a sum of K products whose magnitudes add up to `magnitude`,
 * computed in f32 (f64 for f64). */
static double sum_bound(const struct gemm *g, double magnitude)
{
    double terms = (double)g->k + 2, unit = g->a == TW_F64 ? 0x1p-53 : 0x1p-24;
    if (rounding_of(g->a).unit <= 0)
        return 0;
    return (terms > 64 ? 8 * sqrt(terms) : terms) * unit * magnitude;
}

static double store_bound(const struct gemm *g, double v)
{
    struct rounding r = rounding_of(g->c);
    return r.unit * fabs(v) + r.half_step;
}

static void judge(struct value_check *v, double got, double want, double tolerance, int64_t at)
{
    double error = got == want ? 0 : fabs(got - want);
    bool right = error <= tolerance; /* false of NaN */
    v->compared++;
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

/* --- elements made here --- */

static double load(tw_dtype t, const void *data, int64_t index)
{
    return tw_dtype_load(t, (const char *)data + (size_t)index * tw_dtype_size(t));
}

struct element {
    double value, magnitude; /* magnitude of the sum's parts: see src/cpu/ensures.c */
};
static struct element make_element(const struct gemm *g, const void *a, const void *b, int64_t z,
                                   int64_t i, int64_t j)
{
    enum { RUN = 512 };
    struct element e = {0};
    double all = 0, run = 0;
    for (int64_t p = 0; p < g->k; p++) {
        int64_t at_a = g->a_turned ? p * g->m + i : i * g->k + p;
        int64_t at_b = g->b_turned ? j * g->k + p : p * g->n + j;
        double x = load(g->a, a, z * g->m * g->k + at_a) * load(g->b, b, z * g->k * g->n + at_b);
        all += fabs(x);
        run += x;
        e.value += x;
        if (p % RUN == RUN - 1 || p == g->k - 1) {
            e.magnitude += fabs(run);
            run = 0;
        }
    }
    if (g->k <= 64)
        e.magnitude = all;
    else if (e.magnitude < all / 8)
        e.magnitude = all / 8;
    return e;
}

/* Returns an index below `count`, which may exceed 2^32. Uses the upper bits, because the lower
 * ones are not random. */
static int64_t pick(uint64_t random, int64_t count)
{
    return (int64_t)((double)(random >> 11) * 0x1p-53 * (double)count);
}

struct value_check values_sample(const struct gemm *g, const void *a, const void *b, const void *c,
                                 int64_t samples)
{
    struct value_check v = {.ok = true, .tolerance = -1};
    int64_t count = g->batch * g->m * g->n;
    uint64_t state = 1;
    for (int64_t s = 0; s < samples; s++) {
        state = state * 6364136223846793005u + 1442695040888963407u; /* Knuth's MMIX */
        int64_t at = s == 0   ? 0
                     : s == 1 ? count - 1 /* the corners first */
                              : pick(state, count);
        int64_t z = at / (g->m * g->n), i = at / g->n % g->m, j = at % g->n;
        struct element e = make_element(g, a, b, z, i, j);
        double tolerance = SAFETY * (sum_bound(g, e.magnitude) + store_bound(g, e.value));
        judge(&v, load(g->c, c, at), e.value, tolerance, at);
    }
    return v;
}

/* --- against another result --- */

/* Returns the Euclidean norms of the rows of A or the columns of B. By Cauchy and Schwarz, the
 * magnitudes of the products of a row and a column add up to at most the product of their norms. */
static double *norms(tw_dtype t, const void *data, int64_t batch, int64_t count, int64_t k,
                     bool along_rows)
{
    double *sums = need_memory((size_t)(batch * count) * sizeof *sums);
    for (int64_t z = 0; z < batch; z++)
        for (int64_t y = 0; y < (along_rows ? count : k); y++)
            for (int64_t x = 0; x < (along_rows ? k : count); x++) {
                int64_t width = along_rows ? k : count;
                double v = load(t, data, z * count * k + y * width + x);
                sums[z * count + (along_rows ? y : x)] += v * v;
            }
    for (int64_t i = 0; i < batch * count; i++)
        sums[i] = sqrt(sums[i]);
    return sums;
}

struct value_check values_compare(const struct gemm *g, const void *a, const void *b, const void *c,
                                  const void *other)
{
    struct value_check v = {.ok = true, .tolerance = -1};
    double *rows = norms(g->a, a, g->batch, g->m, g->k, !g->a_turned);
    double *columns = norms(g->b, b, g->batch, g->n, g->k, g->b_turned);
    const double sum_unit = sum_bound(g, 1);
    for (int64_t z = 0; z < g->batch; z++)
        for (int64_t i = 0; i < g->m; i++)
            for (int64_t j = 0; j < g->n; j++) {
                int64_t at = (z * g->m + i) * g->n + j;
                double x = load(g->c, c, at), y = load(g->c, other, at);
                double sum = sum_unit * rows[z * g->m + i] * columns[z * g->n + j];
                double tolerance = SAFETY * (2 * sum + store_bound(g, x) + store_bound(g, y));
                judge(&v, x, y, tolerance, at);
            }
    free(rows);
    free(columns);
    return v;
}
