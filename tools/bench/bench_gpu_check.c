#include "bench/bench_gpu_rounds.h"

#include <stdlib.h>
#include <string.h>

static const double ensures_most = 256.0 * 256 * 256; /* multiply-adds */
static const double ensures_bytes = 64e6;             /* of a kernel that is not a product */
static const int64_t fetched_most = 16 << 20;         /* elements of C */

static struct factor factor_of(const struct shared_array *a)
{
    return (struct factor){a->period.dtype, a->period.data, tensor_elements(&a->period)};
}

/* --- the reference --- */

static const struct value_samples *samples_of(struct gpu_rounds *x)
{
    struct factor a = factor_of(x->a), b = factor_of(x->bm);
    if (!x->reference.samples)
        x->reference.samples = values_samples(&x->gemm, &a, &b);
    return x->reference.samples;
}

static const struct value_norms *norms_of(struct gpu_rounds *x)
{
    struct factor a = factor_of(x->a), b = factor_of(x->bm);
    if (!x->reference.norms.rows)
        x->reference.norms = values_norms(&x->gemm, &a, &b);
    return &x->reference.norms;
}

/* Returns the rows of the samples if only these are compared, or NULL: all rows. */
static const struct value_samples *compared_rows(struct gpu_rounds *x)
{
    return x->c->elements > fetched_most ? samples_of(x) : NULL;
}

/* Fetches C, or the compared rows of it, into *to, which is allocated at the first use. */
static bool fetch(struct gpu_rounds *x, const struct shared_array *c, void **to)
{
    struct timing_gpu *g = &x->b->gpu;
    const struct value_samples *only = compared_rows(x);
    const size_t row = (size_t)x->gemm.n * tw_dtype_size(x->gemm.c);
    const int64_t count = only ? only->row_count : 1;
    const size_t bytes = only ? row : row * (size_t)(x->gemm.batch * x->gemm.m);
    if (!*to)
        *to = need_memory((size_t)count * bytes);
    bool ok = tw_stream_wait(g->ctx, g->stream) == TW_OK;
    for (int64_t i = 0; i < count && ok; i++)
        ok = tw_device_copy_out(g->ctx, (char *)*to + (size_t)i * bytes,
                                c->device.base + (only ? (size_t)only->rows[i] * row : 0), bytes,
                                g->stream) == TW_OK;
    return ok;
}

/* Returns the last library that took part. */
static struct contender *library_of(struct gpu_rounds *x)
{
    for (int i = LIBRARIES - 1; i >= 0; i--)
        if (*x->libraries[i].name && !*x->libraries[i].why)
            return &x->libraries[i];
    return NULL;
}

/* Computes the library's result, unless that was done. */
static bool has_theirs(struct gpu_rounds *x, struct contender *library)
{
    return x->reference.theirs ||
           (library->start(library, 0) && fetch(x, x->c, &x->reference.theirs));
}

/* --- a kernel --- */

static void check_by_ensures(struct gpu_job *j)
{
    struct bench_row *r = &j->row->common;
    tw_verdict v = tw_verdict_init();
    tw_status s = bench_arrays_to_host(&j->arrays, &j->b->gpu, j->first);
    if (s == TW_OK)
        s = tw_launch_verify(j->first, &v);
    bench_take_verdict(r, j->entry->program->ctx, s, &v);
    bench_arrays_give(&j->arrays, j->first, 0);
}

/* Makes one more run, on unwritten outputs. The verdict on a kernel that adds to its outputs
 * needs exactly one run. */
static bool run_once(struct gpu_job *j)
{
    struct bench_row *r = &j->row->common;
    tw_status s = bench_arrays_start(&j->arrays, &j->b->gpu);
    if (s == TW_OK && !gpu_start_ours(&j->ours, 0))
        s = TW_FAULT;
    if (s == TW_OK)
        s = tw_stream_wait(j->b->gpu.ctx, j->b->gpu.stream);
    if (s == TW_OK)
        return true;
    r->result = BENCH_FAIL;
    snprintf(r->why, sizeof r->why, "%s", *j->ours.why ? j->ours.why : tw_status_text(s));
    return false;
}

static void compare_with(struct gpu_rounds *x, struct gpu_job *j, const struct contender *library)
{
    const struct value_samples *only = compared_rows(x);
    struct value_check v =
        values_compare(&j->gemm, norms_of(x), only, x->reference.ours, x->reference.theirs);
    char with[96] = "all elements";
    if (only)
        snprintf(with, sizeof with, "%lld rows", (long long)only->row_count);
    size_t at = strlen(with);
    snprintf(with + at, sizeof with - at, " compared with %s's", library->name);
    bench_take_check(&j->row->common, &v, with);
}

static void check_product(struct gpu_rounds *x, struct gpu_job *j, bool ensured)
{
    struct contender *library = library_of(x);
    const struct shared_array *c = j->arrays.list[j->entry->product.c].shared;
    if (ensured && !library)
        return;
    if (!fetch(x, c, &x->reference.ours)) {
        j->row->common.result = BENCH_FAIL;
        snprintf(j->row->common.why, sizeof j->row->common.why, "its values cannot be fetched");
        return;
    }
    if (!ensured) {
        const struct value_samples *samples = samples_of(x);
        struct value_check v =
            values_check(&j->gemm, samples, x->reference.ours, compared_rows(x) != NULL);
        bench_take_samples(&j->row->common, &v);
    }
    if (library && has_theirs(x, library))
        compare_with(x, j, library);
}

static void check_job(struct gpu_rounds *x, struct gpu_job *j)
{
    const struct bench_entry *e = j->entry;
    struct bench_row *r = &j->row->common;
    bool small = e->is_product ? multiply_adds(&j->row->shape) <= ensures_most
                               : j->arrays.bytes <= ensures_bytes;
    bool ensured = (small || x->b->all_ensures) && tw_kernel_has_ensures(j->kernel);
    bool alone = e->is_product && e->product.alone;
    if (!run_once(j))
        return;
    r->result = BENCH_UNCHECKED;
    if (ensured)
        check_by_ensures(j);
    else if (alone)
        r->result = BENCH_PASS;
    else
        snprintf(r->why, sizeof r->why, "not compared at this size; --ensures does");
    if (alone)
        check_product(x, j, ensured);
}

void gpu_rounds_check(struct gpu_rounds *x)
{
    for (int i = 0; i < x->count; i++) {
        progress_step(&x->b->progress, "%s: comparing values", x->jobs[i]->row->common.kernel);
        if (x->jobs[i]->ready)
            check_job(x, x->jobs[i]);
    }
}
