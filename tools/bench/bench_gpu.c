#include "bench/bench_gpu_rounds.h"
#include "bench/bench_launch.h"
#include "bench/bench_settings.h"
#include "tilewright_look.h"

#include <stdlib.h>
#include <string.h>

/* --- one kernel --- */

static void describe(struct gpu_job *j)
{
    struct gpu_row *row = j->row;
    row->target = tw_kernel_target(j->kernel);
    row->shape.m = bench_size_of(j->first, "m", row->shape.m);
    row->shape.n = bench_size_of(j->first, "n", row->shape.n);
    row->shape.k = bench_size_of(j->first, "k", row->shape.k);
    row->shape.batch = bench_size_of(j->first, "batch", 1);
    bench_write_config(row->common.config, sizeof row->common.config, j->first, j->kernel);
}

static void find_gemm(struct gpu_job *j)
{
    const struct product_of *p = &j->entry->product;
    const struct shape *s = &j->row->shape;
    const struct bench_array *list = j->arrays.list;
    j->gemm = (struct gemm){.a = list[p->a].host.dtype,
                            .b = list[p->b].host.dtype,
                            .c = list[p->c].host.dtype,
                            .m = s->m,
                            .n = s->n,
                            .k = s->k,
                            .batch = s->batch,
                            .a_turned = p->a_turned,
                            .b_turned = p->b_turned};
    tw_launch_unit_terms(j->first, &j->gemm.unit_terms); /* it has compiled */
}

/* Sets the result of a row that is not timed, or whose kernel the GPU refused. */
static void judge_load(struct gpu_job *j, tw_status s)
{
    const tw_occupancy *o = &j->row->occupancy;
    if (s != TW_OK) {
        gpu_refuse(j, s, "");
        return;
    }
    j->row->common.result = BENCH_UNCHECKED;
    snprintf(j->row->common.why, sizeof j->row->common.why,
             "%d threads, %d registers, %d bytes spilled, %lld shared; %d block%s at a time",
             o->threads, o->registers, o->local_bytes, (long long)o->shared_bytes, o->blocks,
             o->blocks == 1 ? "" : "s");
}

/* Compiles and loads the kernel, and finds its arrays. */
static void load_job(struct gpu_job *j)
{
    tw_status s = tw_launch_prepare(j->first);
    if (s != TW_OK) {
        gpu_refuse(j, s, "");
        return;
    }
    describe(j);
    j->row->occupancy = tw_occupancy_init();
    s = tw_launch_occupancy(j->first, &j->row->occupancy);
    if (s != TW_OK || j->b->only_load) {
        judge_load(j, s);
        return;
    }
    j->row->dtype = bench_type_read(j->first, j->kernel);
    j->ready = bench_arrays_find(&j->arrays, &j->b->gpu, j->first, j->kernel);
    if (!j->ready)
        gpu_refuse(j, TW_NO_MEMORY, j->arrays.why);
    else if (j->entry->is_product)
        find_gemm(j);
}

static int open_job(struct gpu_job *j, const struct shape *shape, tw_dtype dtype)
{
    const struct bench_entry *e = j->entry;
    int status;
    *j->row = (struct gpu_row){.common.is_product = e->is_product, .dtype = dtype};
    if (shape)
        j->row->shape = *shape;
    progress_step(&j->b->progress, "%s: compiling", tw_kernel_name(e->kernel));
    tw_status s =
        bench_launch(e, j->b->rest, shape, dtype, &j->row->common, &j->kernel, &j->first, &status);
    progress_clear(&j->b->progress);
    if (s != TW_OK)
        gpu_refuse(j, s, "");
    else if (status == STATUS_OK)
        load_job(j);
    return status;
}

/* --- all of a size --- */

/* Returns whether two kernels compute the same product, so that they take turns. */
static bool take_turns(const struct gpu_job *a, const struct gpu_job *b)
{
    const struct gemm *g = &a->gemm, *h = &b->gemm;
    return a->entry->is_product && b->entry->is_product && a->row->dtype == b->row->dtype &&
           g->a == h->a && g->b == h->b && g->c == h->c && g->m == h->m && g->n == h->n &&
           g->k == h->k && g->batch == h->batch && g->a_turned == h->a_turned &&
           g->b_turned == h->b_turned;
}

/* Times the jobs from the first one on that take turns with it. Marks them as done. */
static void run_turns(struct gpu_job *jobs, int count, int first, bool *done,
                      const struct shape *shape, tw_dtype dtype)
{
    struct gpu_rounds x = {.b = jobs[first].b};
    x.jobs = need_memory((size_t)count * sizeof(struct gpu_job *));
    for (int i = first; i < count; i++) {
        if (done[i] || (i > first && !take_turns(&jobs[first], &jobs[i])))
            continue;
        done[i] = true;
        jobs[i].row->turns = first + 1;
        x.jobs[x.count++] = &jobs[i];
    }
    gpu_rounds_open(&x, shape, dtype);
    gpu_rounds_time(&x);
    gpu_rounds_check(&x);
    gpu_rounds_close(&x);
    free(x.jobs);
}

int gpu_measure(struct gpu_bench *b, const struct bench_entry *const *entries, int count,
                const struct shape *shape, tw_dtype dtype, struct gpu_row *rows)
{
    struct gpu_job *jobs = need_memory((size_t)count * sizeof *jobs);
    bool *done = need_memory((size_t)count * sizeof *done);
    int status = STATUS_OK;
    for (int i = 0; i < count && status == STATUS_OK; i++) {
        jobs[i] = (struct gpu_job){.b = b, .entry = entries[i], .row = &rows[i]};
        status = open_job(&jobs[i], shape, dtype);
        done[i] = !jobs[i].ready;
    }
    for (int i = 0; i < count && status == STATUS_OK; i++)
        if (!done[i])
            run_turns(jobs, count, i, done, shape, dtype);
    for (int i = 0; i < count; i++) {
        tw_launch_free(jobs[i].first);
        bench_arrays_close(&jobs[i].arrays);
    }
    free(jobs);
    free(done);
    return status;
}
