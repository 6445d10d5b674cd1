#include "bench/bench_gpu_rounds.h"
#include "bench/bench_fill.h"
#include "bench/bench_triton.h"

#include <stdlib.h>
#include <string.h>

double multiply_adds(const struct shape *s)
{
    return (double)s->m * (double)s->n * (double)s->k * (double)s->batch;
}

/* --- contenders --- */

bool gpu_start_ours(struct contender *c, int copy)
{
    struct gpu_job *j = c->user;
    tw_status s = tw_launch_start(j->launches[copy], j->b->gpu.stream);
    if (s == TW_OK)
        return true;
    tw_message m = {.size = sizeof m, .text = tw_status_text(s)};
    tw_context_message(j->entry->program->ctx, 0, &m);
    snprintf(c->why, sizeof c->why, "%s", m.text);
    return false;
}

static bool start_cublas(struct contender *c, int copy)
{
    struct gpu_rounds *x = c->user;
    struct cublas *blas = &x->b->cublas;
    if (cublas_gemm(blas, &x->gemm, slab_at(&x->a->device, copy), slab_at(&x->bm->device, copy),
                    slab_at(&x->c->device, copy)))
        return true;
    snprintf(c->why, sizeof c->why, "%s", blas->why);
    return false;
}

static bool start_cublaslt(struct contender *c, int copy)
{
    struct gpu_rounds *x = c->user;
    bool turned = x->plan->gemm.b_turned != x->gemm.b_turned;
    const struct slab *b = turned ? &x->turned : &x->bm->device;
    if (cublaslt_start(&x->b->cublas, x->plan, x->way, slab_at(&x->a->device, copy),
                       slab_at(b, copy), slab_at(&x->c->device, copy)))
        return true;
    snprintf(c->why, sizeof c->why, "%s", x->b->cublas.why);
    return false;
}

static struct contender new_contender(const struct gpu_rounds *x, const char *name, void *user,
                                      bool (*start)(struct contender *, int))
{
    struct contender c = {.start = start, .user = user, .copies = x->copies};
    snprintf(c.name, sizeof c.name, "%s", name);
    return c;
}

/* --- cuBLASLt's ways --- */

static bool turn_b(struct gpu_rounds *x)
{
    tw_array turned = tw_array_init();
    turned.dtype = x->gemm.b;
    turned.rank = 1;
    turned.shape[0] = x->bm->elements;
    bool ok = tensor_allocate(&turned);
    if (ok) {
        values_turn(&x->bm->period, x->gemm.batch, x->gemm.k, x->gemm.n, turned.data);
        ok = slab_open(&x->turned, &x->b->gpu, x->copies, tensor_bytes(&turned), &turned);
    }
    free(turned.data);
    return ok;
}

/* Times each of a plan's algorithms and keeps the fastest if it takes less than *best
 * milliseconds (*best < 0: none was timed yet). */
static void try_ways(struct gpu_rounds *x, struct contender *c, const struct cublaslt_plan *plan,
                     double *best)
{
    const struct cublaslt_plan *old_plan = x->plan;
    int old_way = x->way;
    for (int way = 0; way < plan->way_count; way++) {
        x->plan = plan;
        x->way = way;
        c->why[0] = '\0';
        double ms = contender_estimate(&x->b->gpu, c);
        if (ms >= 0 && (*best < 0 || ms < *best)) {
            *best = ms;
            old_plan = plan;
            old_way = way;
        }
    }
    x->plan = old_plan;
    x->way = old_way;
    if (*best >= 0)
        c->why[0] = '\0';
}

/* Prepares cuBLASLt. Its kernels for 8-bit elements take B by columns (cuBLAS documentation,
 * cublasLtMatmul: "TN"), so they also get B in that layout. The row names the layout if that was
 * timed. */
static void prepare_cublaslt(struct gpu_rounds *x)
{
    struct contender *c = &x->libraries[1];
    struct cublas *blas = &x->b->cublas;
    double best = -1;
    const struct slab *w = x->b->workspace;
    if (cublaslt_plan_open(&x->plans[0], blas, &x->gemm, w->base, w->stride))
        try_ways(x, c, &x->plans[0], &best);
    else
        snprintf(c->why, sizeof c->why, "%s", blas->why);
    struct gemm turned = x->gemm;
    turned.b_turned = true;
    if (tw_dtype_size(x->gemm.b) == 1 && !x->gemm.b_turned && turn_b(x) &&
        cublaslt_plan_open(&x->plans[1], blas, &turned, w->base, w->stride))
        try_ways(x, c, &x->plans[1], &best);
    if (best >= 0 && x->plan == &x->plans[1])
        snprintf(c->note, sizeof c->note, "B given to it as [n][k]");
    if (best >= 0)
        snprintf(c->name, sizeof c->name, "%s", blas->lt_name);
}

/* --- setting up --- */

void gpu_refuse(struct gpu_job *j, tw_status s, const char *why)
{
    struct bench_row *r = &j->row->common;
    tw_message m = {.size = sizeof m, .text = tw_status_text(s)};
    tw_context_message(j->entry->program->ctx, 0, &m);
    snprintf(r->why, sizeof r->why, "%s", *why ? why : m.text);
    bool failed = s == TW_FAULT || s == TW_WRONG_VALUES || s == TW_CANCELLED;
    r->result = failed ? BENCH_FAIL : BENCH_SKIPPED;
    j->ready = false;
}

static void copy_tuned(tw_kernel *k, tw_launch *from, tw_launch *to)
{
    tw_tune t = tw_tune_init();
    tw_value v;
    for (int i = 0; tw_kernel_tune(k, i, &t) == TW_OK; i++)
        if (tw_launch_value(from, t.name, &v) == TW_OK)
            tw_launch_tune(to, t.name, v);
}

static tw_status make_launch(struct gpu_job *j, const struct shape *shape, tw_dtype dtype,
                             tw_launch **out)
{
    const struct bench_entry *e = j->entry;
    tw_status s = tw_launch_new(j->kernel, out);
    if (s != TW_OK)
        return s;
    j->launch_count++;
    if (bench_set_up(*out, j->kernel, e->program, j->b->rest, shape, dtype) != STATUS_OK)
        return TW_BAD_ARGUMENT;
    copy_tuned(j->kernel, j->first, *out);
    return TW_OK;
}

static tw_status make_launches(struct gpu_job *j, int copies, const struct shape *shape,
                               tw_dtype dtype)
{
    tw_status s = TW_OK;
    j->launches = need_memory((size_t)copies * sizeof(tw_launch *));
    j->launches[0] = j->first;
    j->launch_count = 1;
    for (int i = 0; i < copies && s == TW_OK; i++) {
        if (i > 0)
            s = make_launch(j, shape, dtype, &j->launches[i]);
        if (s == TW_OK)
            s = bench_arrays_give(&j->arrays, j->launches[i], i);
        if (s == TW_OK)
            s = tw_launch_ready(j->launches[i], j->b->gpu.stream);
    }
    /* One run finds `clean` workspace that it leaves dirty; the next one may wait for ever. */
    double once;
    return s == TW_OK ? tw_launch_time(j->first, 1, &once) : s;
}

/* Returns the bytes of one copy: of a product's matrices, or of all arrays. */
static double bytes_of_copy(const struct gpu_job *j)
{
    const struct product_of *p = &j->entry->product;
    const struct bench_array *list = j->arrays.list;
    if (!j->entry->is_product)
        return j->arrays.bytes;
    return (double)tensor_bytes(&list[p->a].host) + (double)tensor_bytes(&list[p->b].host) +
           (double)tensor_bytes(&list[p->c].host);
}

static void open_job(struct gpu_rounds *x, struct gpu_job *j, const struct shape *shape,
                     tw_dtype dtype)
{
    const struct product_of *product = j->entry->is_product ? &j->entry->product : NULL;
    double scale = product_scale(j->entry->takes_sizes ? j->row->shape.k : 0, j->row->dtype);
    if (!bench_arrays_make(&j->arrays, &x->pool, &x->b->gpu, j->first, product, scale,
                           x->b->rest)) {
        gpu_refuse(j, TW_NO_MEMORY, j->arrays.why);
        return;
    }
    j->row->copies = x->copies;
    j->row->rounds = x->b->gpu.rounds;
    tw_status s = make_launches(j, x->copies, shape, dtype);
    if (s != TW_OK)
        gpu_refuse(j, s, "");
    else if (product && !x->c) {
        x->a = j->arrays.list[product->a].shared;
        x->bm = j->arrays.list[product->b].shared;
        x->c = j->arrays.list[product->c].shared;
        x->gemm = j->gemm;
    }
}

void gpu_rounds_open(struct gpu_rounds *x, const struct shape *shape, tw_dtype dtype)
{
    array_pool_open(&x->pool, &x->b->gpu, bytes_of_copy(x->jobs[0]));
    x->copies = x->pool.copies;
    for (int i = 0; i < x->count; i++)
        open_job(x, x->jobs[i], shape, dtype);
    x->has_libraries = x->b->has_cublas && x->c;
}

static void close_job(struct gpu_job *j)
{
    contender_close(&j->b->gpu, &j->ours);
    for (int i = 1; i < j->launch_count; i++)
        tw_launch_free(j->launches[i]);
    free(j->launches);
    j->launches = NULL;
    j->launch_count = 0;
}

void gpu_rounds_close(struct gpu_rounds *x)
{
    struct timing_gpu *g = &x->b->gpu;
    for (int i = 0; i < x->count; i++)
        close_job(x->jobs[i]);
    for (int i = 0; i < LIBRARIES; i++)
        contender_close(g, &x->libraries[i]);
    for (int i = 0; i < 2; i++)
        cublaslt_plan_close(&x->plans[i], &x->b->cublas);
    slab_close(&x->turned, g);
    array_pool_close(&x->pool, g);
    values_samples_free(x->reference.samples);
    values_norms_free(&x->reference.norms);
    free(x->reference.ours);
    free(x->reference.theirs);
}

/* --- timing --- */

static void take_library(struct gpu_job *j, const struct gpu_rounds *x, int i)
{
    const struct contender *c = &x->libraries[i];
    struct library_row *l = &j->row->libraries[i];
    const struct timing_gpu *g = &x->b->gpu;
    snprintf(l->name, sizeof l->name, "%s", c->name);
    snprintf(l->note, sizeof l->note, "%s", *c->why ? c->why : c->note);
    if (!*c->name || *c->why)
        return;
    l->ms = contender_ms(g, c);
    l->ratio = contender_ratio(g, &j->ours, c);
    if (j->row->best_ratio <= 0 || l->ratio < j->row->best_ratio)
        j->row->best_ratio = l->ratio;
}

static void take_triton(struct gpu_job *j, const struct triton_time *t)
{
    struct library_row *l = &j->row->triton;
    snprintf(l->name, sizeof l->name, "%s", t->name);
    snprintf(l->note, sizeof l->note, "%s", t->ms > 0 ? "not in turn: its own process" : t->why);
    l->ms = t->ms;
    l->ratio = t->ms / j->row->common.ms;
}

static void take_job(struct gpu_job *j, const struct gpu_rounds *x)
{
    struct bench_row *r = &j->row->common;
    if (*j->ours.why) {
        r->result = BENCH_FAIL;
        snprintf(r->why, sizeof r->why, "%s", j->ours.why);
        j->ready = false;
        return;
    }
    r->ms = contender_ms(&x->b->gpu, &j->ours);
    r->runs = (int)j->ours.runs;
    j->row->graphs = j->ours.graph != NULL;
    r->gbytes = j->arrays.bytes / r->ms * 1e-6;
    if (j->entry->is_product)
        j->row->tflops = 2 * multiply_adds(&j->row->shape) / r->ms * 1e-9;
    for (int i = 0; x->has_libraries && i < LIBRARIES; i++)
        take_library(j, x, i);
}

/* Times Triton on its own, because it runs in a separate process and cannot take part in rounds. */
static void time_triton(struct gpu_rounds *x)
{
    progress_step(&x->b->progress, "Triton");
    struct triton_time t = triton_time(&x->gemm);
    for (int i = 0; i < x->count; i++)
        if (x->jobs[i]->ready)
            take_triton(x->jobs[i], &t);
}

void gpu_rounds_time(struct gpu_rounds *x)
{
    struct contender **list = need_memory((size_t)(x->count + LIBRARIES) * sizeof(void *));
    int count = 0;
    for (int i = 0; i < x->count; i++) {
        struct gpu_job *j = x->jobs[i];
        if (!j->ready)
            continue;
        j->ours = new_contender(x, j->row->common.kernel, j, gpu_start_ours);
        list[count++] = &j->ours;
    }
    if (count > 0 && x->has_libraries) {
        x->libraries[0] = new_contender(x, x->b->cublas.name, x, start_cublas);
        x->libraries[1] = new_contender(x, "cuBLASLt", x, start_cublaslt);
        prepare_cublaslt(x);
        list[count++] = &x->libraries[0];
        list[count++] = &x->libraries[1];
    }
    contenders_time(&x->b->gpu, list, count);
    free(list);
    for (int i = 0; i < x->count; i++)
        if (x->jobs[i]->ready)
            take_job(x->jobs[i], x);
    if (count > 0 && x->b->triton && x->c)
        time_triton(x);
}
