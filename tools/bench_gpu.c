#include "bench_gpu.h"
#include "bench_arrays.h"
#include "bench_settings.h"
#include "bench_triton.h"
#include "bench_values.h"
#include "tensor.h"

#include <stdlib.h>
#include <string.h>

enum { SAMPLES = 4096 };
static const double ensures_most = 512.0 * 512 * 512; /* multiply-adds */
static const double ensures_bytes = 64e6;             /* of a kernel that is not a product */

/* Measurement of one kernel at one size. */
struct job {
    struct gpu_bench *b;
    const struct bench_entry *entry;
    struct gpu_row *row;
    struct bench_arrays arrays;
    tw_launch *first;     /* prepared with the arrays of copy 0 */
    tw_launch **launches; /* one for each copy */
    struct gemm gemm;     /* of a product */
    struct bench_array *a, *bm, *c;
    struct slab turned; /* B as [n][k] for cuBLASLt's 8-bit kernels */
    struct cublaslt_plan plans[2];
    const struct cublaslt_plan *plan; /* the better one, */
    int way;                          /* and its best way */
    struct contender ours, libraries[LIBRARIES];
};

/* --- contenders --- */

static bool start_ours(struct contender *c, int copy)
{
    struct job *j = c->user;
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
    struct job *j = c->user;
    if (cublas_gemm(&j->b->cublas, &j->gemm, slab_at(&j->a->device, copy),
                    slab_at(&j->bm->device, copy), slab_at(&j->c->device, copy)))
        return true;
    snprintf(c->why, sizeof c->why, "%s", j->b->cublas.why);
    return false;
}

static bool start_cublaslt(struct contender *c, int copy)
{
    struct job *j = c->user;
    bool turned = j->plan->gemm.b_turned != j->gemm.b_turned;
    if (cublaslt_start(&j->b->cublas, j->plan, j->way, slab_at(&j->a->device, copy),
                       slab_at(turned ? &j->turned : &j->bm->device, copy),
                       slab_at(&j->c->device, copy)))
        return true;
    snprintf(c->why, sizeof c->why, "%s", j->b->cublas.why);
    return false;
}

static struct contender new_contender(struct job *j, const char *name,
                                      bool (*start)(struct contender *, int))
{
    struct contender c = {.start = start, .user = j, .copies = j->arrays.copies};
    snprintf(c.name, sizeof c.name, "%s", name);
    return c;
}

/* --- cuBLASLt's ways --- */

static bool turn_b(struct job *j)
{
    size_t bytes = tensor_bytes(&j->bm->host);
    void *turned = need_memory(bytes);
    values_turn(&j->bm->host, j->gemm.batch, j->gemm.k, j->gemm.n, turned);
    bool ok = slab_open(&j->turned, &j->b->gpu, j->arrays.copies, turned, bytes);
    free(turned);
    return ok;
}

/* Times each of a plan's algorithms and keeps the fastest if it takes less than *best
 * milliseconds (*best < 0: none was timed yet). */
static void try_ways(struct job *j, struct contender *c, const struct cublaslt_plan *plan,
                     double *best)
{
    const struct cublaslt_plan *old_plan = j->plan;
    int old_way = j->way;
    for (int way = 0; way < plan->way_count; way++) {
        j->plan = plan;
        j->way = way;
        c->why[0] = '\0';
        double ms = contender_estimate(&j->b->gpu, c);
        if (ms >= 0 && (*best < 0 || ms < *best)) {
            *best = ms;
            old_plan = plan;
            old_way = way;
        }
    }
    j->plan = old_plan;
    j->way = old_way;
    if (*best >= 0)
        c->why[0] = '\0';
}

/* Prepares cuBLASLt. Its kernels for 8-bit elements take B by columns (cuBLAS documentation,
 * cublasLtMatmul: "TN"), so they also get B in that layout. The row names the layout if that was
 * timed. */
static void prepare_cublaslt(struct job *j)
{
    struct contender *c = &j->libraries[1];
    struct cublas *x = &j->b->cublas;
    double best = -1;
    const struct slab *w = j->b->workspace;
    if (cublaslt_plan_open(&j->plans[0], x, &j->gemm, w->base, w->stride))
        try_ways(j, c, &j->plans[0], &best);
    else
        snprintf(c->why, sizeof c->why, "%s", x->why);
    struct gemm turned = j->gemm;
    turned.b_turned = true;
    if (tw_dtype_size(j->gemm.b) == 1 && !j->gemm.b_turned && turn_b(j) &&
        cublaslt_plan_open(&j->plans[1], x, &turned, w->base, w->stride))
        try_ways(j, c, &j->plans[1], &best);
    if (best >= 0 && j->plan == &j->plans[1])
        snprintf(c->note, sizeof c->note, "B given to it as [n][k]");
    if (best >= 0)
        snprintf(c->name, sizeof c->name, "%s", x->lt_name);
}

/* --- setting up --- */

static void copy_tuned(const struct bench_entry *e, tw_launch *from, tw_launch *to)
{
    tw_tune t = tw_tune_init();
    tw_value v;
    for (int i = 0; tw_kernel_tune(e->kernel, i, &t) == TW_OK; i++)
        if (tw_launch_value(from, t.name, &v) == TW_OK)
            tw_launch_tune(to, t.name, v);
}

static int set_up(const struct gpu_bench *b, const struct bench_entry *e, const struct shape *shape,
                  tw_dtype dtype, tw_launch *l)
{
    return bench_set_up(l, e->kernel, e->program, b->rest, shape, dtype);
}

static void describe(struct job *j)
{
    struct gpu_row *row = j->row;
    row->target = tw_kernel_target(j->entry->kernel);
    row->shape.m = bench_size_of(j->first, "m", row->shape.m);
    row->shape.n = bench_size_of(j->first, "n", row->shape.n);
    row->shape.k = bench_size_of(j->first, "k", row->shape.k);
    row->shape.batch = bench_size_of(j->first, "batch", 1);
    bench_write_config(row->common.config, sizeof row->common.config, j->first, j->entry->kernel);
}

static void find_operands(struct job *j)
{
    const struct product_of *p = &j->entry->product;
    const struct shape *s = &j->row->shape;
    j->a = &j->arrays.list[p->a];
    j->bm = &j->arrays.list[p->b];
    j->c = &j->arrays.list[p->c];
    j->gemm = (struct gemm){.a = j->a->host.dtype,
                            .b = j->bm->host.dtype,
                            .c = j->c->host.dtype,
                            .m = s->m,
                            .n = s->n,
                            .k = s->k,
                            .batch = s->batch,
                            .a_turned = p->a_turned,
                            .b_turned = p->b_turned};
}

static tw_status make_launches(struct job *j, const struct shape *shape, tw_dtype dtype)
{
    tw_status s = TW_OK;
    j->launches = need_memory((size_t)j->arrays.copies * sizeof *j->launches);
    j->launches[0] = j->first;
    for (int i = 0; i < j->arrays.copies && s == TW_OK; i++) {
        if (i > 0)
            s = tw_launch_new(j->entry->kernel, &j->launches[i]);
        if (i > 0 && s == TW_OK && set_up(j->b, j->entry, shape, dtype, j->launches[i]) != 0)
            s = TW_BAD_ARGUMENT;
        if (i > 0 && s == TW_OK)
            copy_tuned(j->entry, j->first, j->launches[i]);
        if (s == TW_OK)
            s = bench_arrays_give(&j->arrays, j->launches[i], i);
        if (s == TW_OK)
            s = tw_launch_ready(j->launches[i], j->b->gpu.stream);
    }
    /* One run finds `clean` workspace that it leaves dirty; the next one may wait for ever. */
    double once;
    return s == TW_OK ? tw_launch_time(j->first, 1, &once) : s;
}

static void close_job(struct job *j)
{
    contender_close(&j->b->gpu, &j->ours);
    for (int i = 0; i < LIBRARIES; i++)
        contender_close(&j->b->gpu, &j->libraries[i]);
    for (int i = 1; j->launches && i < j->arrays.copies; i++)
        tw_launch_free(j->launches[i]);
    free(j->launches);
    tw_launch_free(j->first);
    for (int i = 0; i < 2; i++)
        cublaslt_plan_close(&j->plans[i], &j->b->cublas);
    slab_close(&j->turned, &j->b->gpu);
    bench_arrays_close(&j->arrays, &j->b->gpu);
}

/* --- values --- */

static void check_by_ensures(struct job *j)
{
    struct bench_row *r = &j->row->common;
    tw_verdict v = tw_verdict_init();
    bench_arrays_give_host(&j->arrays, j->first);
    tw_status s = tw_launch_verify(j->first, &v);
    bench_take_verdict(r, j->entry->program->ctx, s, &v);
    bench_arrays_give(&j->arrays, j->first, 0);
}

static void check_samples(struct job *j)
{
    struct value_check v =
        values_sample(&j->gemm, j->a->host.data, j->bm->host.data, j->c->host.data, SAMPLES);
    j->row->common.result = BENCH_PASS;
    bench_take_check(&j->row->common, &v, "4096 elements in double precision");
}

/* Compares the values with a library's result for the same arrays. */
static void compare_with(struct job *j, struct contender *library)
{
    size_t bytes = tensor_bytes(&j->c->host);
    void *ours = need_memory(bytes);
    memcpy(ours, j->c->host.data, bytes);
    if (library->start(library, 0) && bench_arrays_fetch(&j->arrays, &j->b->gpu) == TW_OK) {
        struct value_check v =
            values_compare(&j->gemm, j->a->host.data, j->bm->host.data, ours, j->c->host.data);
        char with[96];
        snprintf(with, sizeof with, "all elements compared with %s's", library->name);
        bench_take_check(&j->row->common, &v, with);
    }
    free(ours);
}

/* Returns the last library that took part. */
static struct contender *library_of(struct job *j)
{
    for (int i = LIBRARIES - 1; i >= 0; i--)
        if (*j->libraries[i].name && !*j->libraries[i].why)
            return &j->libraries[i];
    return NULL;
}

static double multiply_adds(const struct shape *s)
{
    return (double)s->m * (double)s->n * (double)s->k * (double)s->batch;
}

/* Makes one more run, on unwritten outputs. The verdict on a kernel that adds to its outputs
 * needs exactly one run. */
static bool run_once(struct job *j)
{
    struct bench_row *r = &j->row->common;
    tw_status s = bench_arrays_start(&j->arrays, &j->b->gpu, j->b->rest);
    if (s == TW_OK && !start_ours(&j->ours, 0))
        s = TW_FAULT;
    if (s == TW_OK)
        s = bench_arrays_fetch(&j->arrays, &j->b->gpu);
    if (s == TW_OK)
        return true;
    r->result = BENCH_FAIL;
    snprintf(r->why, sizeof r->why, "%s", *j->ours.why ? j->ours.why : tw_status_text(s));
    return false;
}

static void check_values(struct job *j)
{
    const struct bench_entry *e = j->entry;
    struct bench_row *r = &j->row->common;
    bool small = e->is_product ? multiply_adds(&j->row->shape) <= ensures_most
                               : j->arrays.bytes <= ensures_bytes;
    if (!run_once(j))
        return;
    r->result = BENCH_UNCHECKED;
    if ((small || j->b->all_ensures) && tw_kernel_has_ensures(e->kernel))
        check_by_ensures(j);
    else if (e->is_product && e->product.alone)
        check_samples(j);
    else
        snprintf(r->why, sizeof r->why, "not compared at this size; --ensures does");
    struct contender *library = library_of(j);
    if (library && e->product.alone)
        compare_with(j, library);
}

/* --- timing --- */

static void take_library(struct job *j, int i)
{
    const struct contender *c = &j->libraries[i];
    struct library_row *l = &j->row->libraries[i];
    const struct gpu *g = &j->b->gpu;
    snprintf(l->name, sizeof l->name, "%s", c->name);
    snprintf(l->note, sizeof l->note, "%s", *c->why ? c->why : c->note);
    if (!*c->name || *c->why)
        return;
    l->ms = contender_ms(g, c);
    l->ratio = contender_ratio(g, &j->ours, c);
    if (j->row->best_ratio <= 0 || l->ratio < j->row->best_ratio)
        j->row->best_ratio = l->ratio;
}

/* Times Triton on its own, because it runs in a separate process and cannot take turns. */
static void take_triton(struct job *j)
{
    struct library_row *l = &j->row->triton;
    progress_step(&j->b->progress, "Triton");
    struct triton_time x = triton_time(&j->gemm);
    snprintf(l->name, sizeof l->name, "%s", x.name);
    snprintf(l->note, sizeof l->note, "%s", x.ms > 0 ? "not in turn: its own process" : x.why);
    l->ms = x.ms;
    l->ratio = x.ms / j->row->common.ms;
}

static void time_all(struct job *j)
{
    struct gpu *g = &j->b->gpu;
    struct contender *list[1 + LIBRARIES] = {&j->ours};
    struct bench_row *r = &j->row->common;
    int count = 1;
    j->ours = new_contender(j, r->kernel, start_ours);
    if (j->b->has_cublas && j->entry->is_product) {
        j->libraries[0] = new_contender(j, j->b->cublas.name, start_cublas);
        j->libraries[1] = new_contender(j, "cuBLASLt", start_cublaslt);
        prepare_cublaslt(j);
        list[count++] = &j->libraries[0];
        list[count++] = &j->libraries[1];
    }
    contenders_time(g, list, count);
    if (*j->ours.why) {
        r->result = BENCH_FAIL;
        snprintf(r->why, sizeof r->why, "%s", j->ours.why);
        return;
    }
    r->ms = contender_ms(g, &j->ours);
    r->runs = (int)j->ours.runs;
    j->row->graphs = j->ours.graph != NULL;
    r->gbytes = j->arrays.bytes / r->ms * 1e-6;
    if (j->entry->is_product)
        j->row->tflops = 2 * multiply_adds(&j->row->shape) / r->ms * 1e-9;
    for (int i = 0; i < count - 1; i++)
        take_library(j, i);
    if (j->b->triton && j->entry->is_product)
        take_triton(j);
}

/* Marks the row as skipped. A size or type that the kernel does not accept is not a failure. */
static void refuse(struct job *j, tw_status s, const char *why)
{
    struct bench_row *r = &j->row->common;
    tw_message m = {.size = sizeof m, .text = tw_status_text(s)};
    tw_context_message(j->entry->program->ctx, 0, &m);
    snprintf(r->why, sizeof r->why, "%s", *why ? why : m.text);
    bool failed = s == TW_FAULT || s == TW_WRONG_VALUES || s == TW_CANCELLED;
    r->result = failed ? BENCH_FAIL : BENCH_SKIPPED;
}

/* Sets the result of a row that is not timed, or whose kernel the GPU refused. */
static void judge_load(struct job *j, tw_status s)
{
    const tw_occupancy *o = &j->row->occupancy;
    if (s != TW_OK) {
        refuse(j, s, "");
        return;
    }
    j->row->common.result = BENCH_UNCHECKED;
    snprintf(j->row->common.why, sizeof j->row->common.why,
             "%d threads, %d registers, %d bytes spilled, %lld shared; %d block%s at a time",
             o->threads, o->registers, o->local_bytes, (long long)o->shared_bytes, o->blocks,
             o->blocks == 1 ? "" : "s");
}

static void run_job(struct job *j, const struct shape *shape, tw_dtype dtype)
{
    struct gpu *g = &j->b->gpu;
    tw_status s = tw_launch_prepare(j->first);
    if (s != TW_OK) {
        refuse(j, s, "");
        return;
    }
    describe(j);
    j->row->occupancy = tw_occupancy_init();
    s = tw_launch_occupancy(j->first, &j->row->occupancy);
    if (s != TW_OK || j->b->only_load) {
        judge_load(j, s);
        return;
    }
    j->row->dtype = bench_type_read(j->first, j->entry->kernel);
    double scale = bench_scale(j->entry->takes_sizes ? j->row->shape.k : 0, j->row->dtype);
    if (!bench_arrays_open(&j->arrays, g, j->first, j->entry->kernel, scale)) {
        refuse(j, TW_NO_MEMORY, j->arrays.why);
        return;
    }
    j->row->copies = j->arrays.copies;
    j->row->rounds = g->rounds;
    if (j->entry->is_product)
        find_operands(j);
    s = make_launches(j, shape, dtype);
    if (s != TW_OK) {
        refuse(j, s, "");
        return;
    }
    time_all(j);
    if (j->row->common.result != BENCH_FAIL)
        check_values(j);
}

int gpu_measure(struct gpu_bench *b, const struct bench_entry *e, const struct shape *shape,
                tw_dtype dtype, struct gpu_row *row)
{
    struct job j = {.b = b, .entry = e, .row = row};
    *row = (struct gpu_row){.common = {.kernel = tw_kernel_name(e->kernel),
                                       .file = e->program->path,
                                       .is_product = e->is_product},
                            .dtype = dtype};
    if (shape)
        row->shape = *shape;
    progress_step(&b->progress, "%s", row->common.kernel);
    tw_status s = tw_launch_new(e->kernel, &j.first);
    if (s != TW_OK) {
        refuse(&j, s, "");
        return STATUS_OK;
    }
    int status = set_up(b, e, shape, dtype, j.first);
    progress_clear(&b->progress);
    if (status == STATUS_OK)
        status = bench_take_tuned(j.first, e->kernel, e->program, b->rest, &row->common.from);
    if (status == STATUS_OK)
        run_job(&j, shape, dtype);
    close_job(&j);
    return status;
}
