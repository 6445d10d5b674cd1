#include "bench/bench_arrays.h"
#include "bench/bench_fill.h"
#include "cli/operands.h"
#include "cli/settings.h"
#include "cli/tool.h"
#include "tilewright_gpu.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 256, COPIES_MOST = 1024, CACHES = 3 };

/* --- slabs --- */

void *slab_at(const struct slab *s, int copy)
{
    return s->base + (size_t)copy * s->stride;
}

/* Repeats the first `done` bytes up to `all`. Each copy doubles what there is. */
static bool repeat(struct timing_gpu *g, char *base, size_t done, size_t all)
{
    for (; done > 0 && done < all; done *= 2)
        if (!graph_copy(&g->graphs, base + done, base, all - done < done ? all - done : done,
                        g->stream))
            return false;
    return true;
}

/* Fills one copy. */
static bool fill_copy(struct timing_gpu *g, char *base, const tw_array *period, size_t bytes)
{
    size_t first = tensor_bytes(period);
    return first == 0 ||
           (tw_device_copy_in(g->ctx, base, period->data, first, g->stream) == TW_OK &&
            repeat(g, base, first, bytes));
}

bool slab_open(struct slab *s, struct timing_gpu *g, int copies, size_t bytes,
               const tw_array *period)
{
    s->stride = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    void *base = NULL;
    size_t all = s->stride * (size_t)copies;
    tw_status status = tw_device_allocate(g->ctx, all ? all : ALIGNMENT, &base);
    s->base = base;
    if (status != TW_OK)
        return false;
    if (!period)
        return tw_device_fill(g->ctx, base, 0, all, g->stream) == TW_OK;
    return fill_copy(g, base, period, bytes) && repeat(g, base, s->stride, all);
}

void slab_close(struct slab *s, struct timing_gpu *g)
{
    if (s->base)
        tw_device_free(g->ctx, s->base);
    s->base = NULL;
}

/* --- shared arrays --- */

void array_pool_open(struct array_pool *x, const struct timing_gpu *g, double bytes)
{
    double copies = bytes > 0 ? ceil(CACHES * (double)g->l2_bytes / bytes) : 1;
    *x = (struct array_pool){0};
    x->copies = copies < 1 ? 1 : copies > COPIES_MOST ? COPIES_MOST : (int)copies;
}

void array_pool_close(struct array_pool *x, struct timing_gpu *g)
{
    for (int i = 0; i < x->count; i++) {
        slab_close(&x->list[i]->device, g);
        free(x->list[i]->period.data);
        free(x->list[i]);
    }
    free(x->list);
    *x = (struct array_pool){0};
}

static bool is_same(const struct shared_array *a, const struct shared_array *b)
{
    const struct fill_options *f = &a->fill, *h = &b->fill;
    return a->period.dtype == b->period.dtype && a->elements == b->elements &&
           a->is_const == b->is_const && f->kind == h->kind && f->seed == h->seed &&
           f->scale == h->scale && f->limit == h->limit && f->extent == h->extent &&
           f->is_index == h->is_index && f->is_starts == h->is_starts;
}

/* Returns the pool's array like this one, which is made if there is none; NULL: no memory. */
static struct shared_array *take_shared(struct array_pool *x, struct timing_gpu *g,
                                        const struct shared_array *like, const tw_array *shape)
{
    for (int i = 0; i < x->count; i++)
        if (is_same(x->list[i], like))
            return x->list[i];
    struct shared_array *made = need_memory(sizeof *made);
    *made = *like;
    ADD_TO(x->list, x->count, made);
    bool ok = values_period(&made->period, shape, &like->fill) &&
              slab_open(&made->device, g, x->copies, tensor_bytes(shape), &made->period);
    return ok ? made : NULL;
}

/* --- arrays of a launch --- */

static void say(struct bench_arrays *x, const tw_context *ctx, const char *otherwise)
{
    tw_message m = {.size = sizeof m, .text = otherwise};
    tw_context_message(ctx, 0, &m);
    snprintf(x->why, sizeof x->why, "%s", m.text);
}

bool bench_arrays_find(struct bench_arrays *x, struct timing_gpu *g, tw_launch *l, tw_kernel *k)
{
    int count = tw_kernel_param_count(k);
    *x = (struct bench_arrays){.list = need_memory((size_t)count * sizeof *x->list)};
    for (int i = 0; i < count; i++) {
        struct bench_array *a = &x->list[x->count];
        a->param = tw_param_init();
        tw_kernel_param(k, i, &a->param);
        if (!a->param.is_pointer)
            continue;
        a->host = tw_array_init();
        if (tw_launch_shape(l, a->param.name, &a->host) != TW_OK)
            return say(x, g->ctx, "the shapes of its arrays cannot be known"), false;
        x->bytes += (double)tensor_bytes(&a->host);
        x->count++;
    }
    return true;
}

static uint64_t seed_of(const struct product_of *p, int index)
{
    if (!p)
        return ROLE_OTHER + (uint64_t)index;
    return index == p->a   ? ROLE_A
           : index == p->b ? ROLE_B
           : index == p->c ? ROLE_C
                           : ROLE_OTHER + (uint64_t)index;
}

/* Returns the contents of an array before a run. FILL_NONE: those of unwritten memory. */
static struct fill_options fill_of(const struct bench_array *a, tw_launch *l, int64_t limit,
                                   double scale, const struct options *given)
{
    struct fill_options fill = {.kind = FILL_RAND, .scale = scale};
    if (a->param.is_const) {
        if (tensor_elements(&a->host) > 0)
            limit_integers(&fill, l, &a->param, limit);
        return fill;
    }
    fill.kind = settings_fill(given, a->param.name);
    fill.scale = 1;
    fill.limit = index_limit(&a->host, 8);
    if (fill.kind == FILL_NONE && !is_output(&a->param))
        fill.kind = FILL_ZERO;
    return fill;
}

bool bench_arrays_make(struct bench_arrays *x, struct array_pool *pool, struct timing_gpu *g,
                       tw_launch *l, const struct product_of *product, double scale,
                       const struct options *given)
{
    int64_t limit = INT64_MAX;
    for (int i = 0; i < x->count; i++)
        limit = index_limit(&x->list[i].host, limit);
    for (int i = 0; i < x->count; i++) {
        struct bench_array *a = &x->list[i];
        struct shared_array like = {.period.dtype = a->host.dtype,
                                    .elements = tensor_elements(&a->host),
                                    .is_const = a->param.is_const,
                                    .fill = fill_of(a, l, limit, scale, given)};
        like.fill.seed = seed_of(product, i);
        a->shared = take_shared(pool, g, &like, &a->host);
        if (!a->shared)
            return say(x, g->ctx, "there is no memory for the arrays"), false;
    }
    return true;
}

void bench_arrays_close(struct bench_arrays *x)
{
    for (int i = 0; i < x->count; i++)
        free(x->list[i].host.data);
    free(x->list);
    *x = (struct bench_arrays){0};
}

tw_status bench_arrays_give(const struct bench_arrays *x, tw_launch *l, int copy)
{
    tw_status s = TW_OK;
    for (int i = 0; i < x->count && s == TW_OK; i++) {
        tw_array array = x->list[i].host;
        array.data = slab_at(&x->list[i].shared->device, copy);
        array.place = TW_ON_DEVICE;
        s = tw_launch_array(l, x->list[i].param.name, &array);
    }
    return s;
}

tw_status bench_arrays_to_host(struct bench_arrays *x, struct timing_gpu *g, tw_launch *l)
{
    tw_status s = tw_stream_wait(g->ctx, g->stream);
    for (int i = 0; i < x->count && s == TW_OK; i++) {
        struct bench_array *a = &x->list[i];
        if (!a->host.data && !tensor_allocate(&a->host))
            return TW_NO_MEMORY;
        if (a->param.is_const)
            values_repeat(&a->host, &a->shared->period);
        else
            s = tw_device_copy_out(g->ctx, a->host.data, a->shared->device.base,
                                   tensor_bytes(&a->host), g->stream);
        if (s == TW_OK)
            s = tw_launch_array(l, a->param.name, &a->host);
    }
    return s;
}

tw_status bench_arrays_start(struct bench_arrays *x, struct timing_gpu *g)
{
    bool ok = true;
    for (int i = 0; i < x->count && ok; i++) {
        const struct bench_array *a = &x->list[i];
        if (!a->param.is_const)
            ok = fill_copy(g, a->shared->device.base, &a->shared->period, tensor_bytes(&a->host));
    }
    return ok ? TW_OK : TW_FAULT;
}
