/* Checks of products in `bench`: samples against plain sums, and wrong elements that they find. */
#include "bench/bench_values.h"
#include "cli/tool.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Replaces the function of support.c, which needs the rest of the program. */
void *need_memory(size_t size)
{
    void *p = calloc(1, size ? size : 1);
    assert_non_null(p);
    return p;
}

enum { PERIOD = 1009 };

struct product {
    struct gemm g;
    float a[PERIOD], b[PERIOD];
    struct factor fa, fb;
    double *exact;
    float *c;
};

static double element(const struct product *x, int64_t z, int64_t i, int64_t j)
{
    const struct gemm *g = &x->g;
    double sum = 0;
    for (int64_t p = 0; p < g->k; p++) {
        int64_t a = z * g->m * g->k + (g->a_turned ? p * g->m + i : i * g->k + p);
        int64_t b = z * g->k * g->n + (g->b_turned ? j * g->k + p : p * g->n + j);
        sum += (double)x->a[a % PERIOD] * (double)x->b[b % PERIOD];
    }
    return sum;
}

static int64_t elements(const struct product *x)
{
    return x->g.batch * x->g.m * x->g.n;
}

static struct product *make(struct gemm g)
{
    struct product *x = need_memory(sizeof *x);
    uint32_t state = 1;
    x->g = g;
    for (int i = 0; i < PERIOD; i++) {
        x->a[i] = (float)(state = state * 1664525 + 1013904223) * 0x1p-32f - 0.5f;
        x->b[i] = (float)(state = state * 1664525 + 1013904223) * 0x1p-32f - 0.5f;
    }
    x->fa = (struct factor){TW_F32, x->a, PERIOD};
    x->fb = (struct factor){TW_F32, x->b, PERIOD};
    x->exact = need_memory((size_t)elements(x) * sizeof *x->exact);
    x->c = need_memory((size_t)elements(x) * sizeof *x->c);
    for (int64_t at = 0; at < elements(x); at++) {
        x->exact[at] = element(x, at / (g.m * g.n), at / g.n % g.m, at % g.n);
        x->c[at] = (float)x->exact[at];
    }
    return x;
}

static void discard(struct product *x)
{
    free(x->exact);
    free(x->c);
    free(x);
}

static const struct gemm shapes[] = {
    {TW_F32, TW_F32, TW_F32, 1, 1, 1, 1, false, false, 0},
    {TW_F32, TW_F32, TW_F32, 1, 700, 33, 1, false, false, 0},
    {TW_F32, TW_F32, TW_F32, 130, 90, 600, 1, false, false, 0},
    {TW_F32, TW_F32, TW_F32, 70, 131, 65, 1, true, false, 0},
    {TW_F32, TW_F32, TW_F32, 67, 9, 1030, 1, false, true, 0},
    {TW_F32, TW_F32, TW_F32, 20, 30, 40, 18, true, true, 0},
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static void samples_are_sums(void **state)
{
    (void)state;
    for (int s = 0; s < SHAPES; s++) {
        struct product *x = make(shapes[s]);
        struct value_samples *v = values_samples(&x->g, &x->fa, &x->fb);
        int64_t last = v->row_count - 1, rows = x->g.batch * x->g.m;
        assert_true(v->rows[0] == 0 && v->rows[last] == rows - 1);
        assert_true(v->columns[0] == 0 && v->columns[v->column_count - 1] == x->g.n - 1);
        assert_true(v->row_count * v->column_count <= 4096);
        for (int64_t i = 0; i <= last; i++) {
            assert_true(i == 0 || v->rows[i] > v->rows[i - 1]);
            for (int64_t j = 0; j < v->column_count; j++) {
                double want = x->exact[v->rows[i] * x->g.n + v->columns[j]];
                assert_true(fabs(v->values[i * v->column_count + j] - want) < 1e-12);
                double magnitude = v->magnitudes[i * v->column_count + j];
                assert_true(magnitude >= fabs(want) - 1e-12 && magnitude <= (double)x->g.k / 4);
            }
        }
        values_samples_free(v);
        discard(x);
    }
}

/* Returns the rows of the samples. */
static float *sampled_rows(const struct product *x, const struct value_samples *v)
{
    float *rows = need_memory((size_t)(v->row_count * x->g.n) * sizeof *rows);
    for (int64_t i = 0; i < v->row_count; i++)
        memcpy(rows + i * x->g.n, x->c + v->rows[i] * x->g.n, (size_t)x->g.n * sizeof *rows);
    return rows;
}

static void wrong_samples_are_found(void **state)
{
    (void)state;
    for (int s = 0; s < SHAPES; s++) {
        struct product *x = make(shapes[s]);
        struct value_samples *v = values_samples(&x->g, &x->fa, &x->fb);
        float *rows = sampled_rows(x, v);
        assert_true(values_check(&x->g, v, x->c, false).ok);
        assert_true(values_check(&x->g, v, rows, true).ok);
        const int64_t row = v->row_count / 2, column = v->columns[v->column_count / 2];
        const int64_t at = v->rows[row] * x->g.n + column;
        static const float wrong[] = {0.01f, NAN};
        for (int w = 0; w < 2; w++) {
            x->c[at] = (float)x->exact[at] + wrong[w];
            rows[row * x->g.n + column] = x->c[at];
            struct value_check all = values_check(&x->g, v, x->c, false);
            struct value_check some = values_check(&x->g, v, rows, true);
            assert_true(!all.ok && all.at == at && !some.ok && some.at == at);
        }
        free(rows);
        values_samples_free(v);
        discard(x);
    }
}

static void wrong_elements_are_found(void **state)
{
    (void)state;
    for (int s = 0; s < SHAPES; s++) {
        struct product *x = make(shapes[s]);
        struct value_norms n = values_norms(&x->g, &x->fa, &x->fb);
        float *other = need_memory((size_t)elements(x) * sizeof *other);
        for (int64_t i = 0; i < elements(x); i++)
            other[i] = (float)(x->exact[i] * (1 + (double)(i % 3 - 1) * 0x1p-24));
        struct value_check v = values_compare(&x->g, &n, NULL, x->c, other);
        assert_true(v.ok && v.compared == elements(x) && v.tolerance > 0);
        for (int64_t at = 0; at < elements(x); at += 1 + elements(x) / 7) {
            float right = other[at];
            other[at] = at % 2 ? NAN : right + 0.01f;
            v = values_compare(&x->g, &n, NULL, x->c, other);
            assert_true(!v.ok && v.at == at);
            other[at] = right;
        }
        free(other);
        values_norms_free(&n);
        discard(x);
    }
}

static void wrong_elements_of_rows_are_found(void **state)
{
    (void)state;
    for (int s = 0; s < SHAPES; s++) {
        struct product *x = make(shapes[s]);
        struct value_samples *only = values_samples(&x->g, &x->fa, &x->fb);
        struct value_norms n = values_norms(&x->g, &x->fa, &x->fb);
        float *rows = sampled_rows(x, only), *other = sampled_rows(x, only);
        struct value_check v = values_compare(&x->g, &n, only, rows, other);
        assert_true(v.ok && v.compared == only->row_count * x->g.n);
        int64_t row = only->row_count - 1, column = x->g.n / 3;
        other[row * x->g.n + column] += 0.01f;
        v = values_compare(&x->g, &n, only, rows, other);
        assert_true(!v.ok && v.at == only->rows[row] * x->g.n + column);
        free(rows);
        free(other);
        values_norms_free(&n);
        values_samples_free(only);
        discard(x);
    }
}

/* f16: the values differ by their rounding, which the tolerance allows; wrong ones are found. */
static void rounded_results(void **state)
{
    (void)state;
    struct product *x = make((struct gemm){TW_F32, TW_F32, TW_F16, 64, 80, 96, 1, false, false, 0});
    uint16_t *c = need_memory((size_t)elements(x) * sizeof *c);
    uint16_t *other = need_memory((size_t)elements(x) * sizeof *other);
    for (int64_t i = 0; i < elements(x); i++) {
        tw_dtype_store(TW_F16, &c[i], x->exact[i]);
        other[i] = (uint16_t)(c[i] ^ (i % 5 == 0));
    }
    struct value_norms n = values_norms(&x->g, &x->fa, &x->fb);
    struct value_samples *s = values_samples(&x->g, &x->fa, &x->fb);
    assert_true(values_check(&x->g, s, c, false).ok);
    assert_true(values_compare(&x->g, &n, NULL, c, other).ok);
    other[77] = (uint16_t)(c[77] + 64);
    assert_true(!values_compare(&x->g, &n, NULL, c, other).ok);
    c[0] = (uint16_t)(c[0] + 64);
    assert_true(!values_check(&x->g, s, c, false).ok);
    values_samples_free(s);
    values_norms_free(&n);
    free(c);
    free(other);
    discard(x);
}

/* Returns a sum as a unit makes it that keeps 14 bits, added to a full one after `terms` products. */
static double unit_sum(const struct product *x, int64_t i, int64_t j, int64_t terms)
{
    double all = 0, part = 0;
    for (int64_t p = 0; p < x->g.k; p++) {
        int exponent;
        part += (double)x->a[(i * x->g.k + p) % PERIOD] * (double)x->b[(p * x->g.n + j) % PERIOD];
        frexp(part, &exponent);
        if (p % 32 == 31)
            part = ldexp(trunc(ldexp(part, 14 - exponent)), exponent - 14);
        if (p % terms != terms - 1)
            continue;
        all += part;
        part = 0;
    }
    return all + part;
}

/* Sums in a unit's fewer bits are right if the product says so, and only then. */
static void sums_of_a_unit(void **state)
{
    (void)state;
    static const int64_t terms[] = {INT64_MAX, 128};
    for (int t = 0; t < 2; t++) {
        struct product *x =
            make((struct gemm){TW_F32, TW_F32, TW_F32, 64, 64, 4096, 1, false, false, terms[t]});
        for (int64_t at = 0; at < elements(x); at++)
            x->c[at] = (float)unit_sum(x, at / x->g.n, at % x->g.n, terms[t]);
        struct value_norms n = values_norms(&x->g, &x->fa, &x->fb);
        struct value_samples *s = values_samples(&x->g, &x->fa, &x->fb);
        float *other = need_memory((size_t)elements(x) * sizeof *other);
        for (int64_t at = 0; at < elements(x); at++)
            other[at] = (float)x->exact[at];
        assert_true(values_check(&x->g, s, x->c, false).ok);
        assert_true(values_compare(&x->g, &n, NULL, x->c, other).ok);
        x->g.unit_terms = 0;
        assert_true(!values_check(&x->g, s, x->c, false).ok);
        x->g.unit_terms = terms[t];
        x->c[0] += 40;
        assert_true(!values_check(&x->g, s, x->c, false).ok);
        values_samples_free(s);
        values_norms_free(&n);
        free(other);
        discard(x);
    }
}

/* Long sums get fewer samples, so that the work is bounded. */
static void work_is_bounded(void **state)
{
    (void)state;
    static const int64_t sizes[][4] = {
        {128, 128, 65536, 1}, {1, 14336, 4096, 1}, {8, 4, 1 << 20, 1}, {64, 64, 4096, 1000}};
    float zeros[3] = {0};
    for (int i = 0; i < 4; i++) {
        const int64_t *z = sizes[i];
        struct gemm g = {TW_F32, TW_F32, TW_F32, z[0], z[1], z[2], z[3], false, false, 0};
        struct factor f = {TW_F32, zeros, 3};
        struct value_samples *v = values_samples(&g, &f, &f);
        int64_t count = v->row_count * v->column_count;
        assert_true(count <= 4096 && count * g.k <= 1 << 26);
        assert_true(count >= 64 || count == g.batch * g.m * g.n);
        values_samples_free(v);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_are_sums),
        cmocka_unit_test(wrong_samples_are_found),
        cmocka_unit_test(wrong_elements_are_found),
        cmocka_unit_test(wrong_elements_of_rows_are_found),
        cmocka_unit_test(rounded_results),
        cmocka_unit_test(sums_of_a_unit),
        cmocka_unit_test(work_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
