#include "bench_arrays.h"
#include "bench_values.h"
#include "operands.h"
#include "tensor.h"
#include "tool.h"
#include "tilewright_gpu.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 256, COPIES_MOST = 1024, CACHES = 3 };

void *slab_at(const struct slab *s, int copy)
{
    return s->base + (size_t)copy * s->stride;
}

bool slab_open(struct slab *s, struct gpu *g, int copies, const void *data, size_t bytes)
{
    s->stride = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    void *base = NULL;
    size_t all = s->stride * (size_t)copies;
    tw_status status = tw_device_allocate(g->ctx, all ? all : ALIGNMENT, &base);
    s->base = base;
    if (status == TW_OK && !data)
        status = tw_device_fill(g->ctx, base, 0, all, g->stream);
    for (int i = 0; data && i < copies && status == TW_OK; i++)
        status = tw_device_copy_in(g->ctx, slab_at(s, i), data, bytes, g->stream);
    return status == TW_OK;
}

void slab_close(struct slab *s, struct gpu *g)
{
    if (s->base)
        tw_device_free(g->ctx, s->base);
    s->base = NULL;
}

/* --- arrays --- */

static void say(struct bench_arrays *x, const tw_context *ctx, const char *otherwise)
{
    tw_message m = {.size = sizeof m, .text = otherwise};
    tw_context_message(ctx, 0, &m);
    snprintf(x->why, sizeof x->why, "%s", m.text);
}

static bool find_arrays(struct bench_arrays *x, struct gpu *g, tw_launch *l, tw_kernel *k)
{
    int count = tw_kernel_param_count(k);
    x->list = need_memory((size_t)count * sizeof *x->list);
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

static bool make_host(struct bench_arrays *x, tw_launch *l, double scale)
{
    double bytes = 0;
    int64_t limit = INT64_MAX;
    for (int i = 0; i < x->count; i++)
        limit = index_limit(&x->list[i].host, limit);
    for (int i = 0; i < x->count; i++) {
        struct bench_array *a = &x->list[i];
        if (!tensor_fits(&a->host, &bytes) || !tensor_allocate(&a->host)) {
            snprintf(x->why, sizeof x->why, "there is no memory for `%s` on the host",
                     a->param.name);
            return false;
        }
        struct fill_options fill = {.kind = FILL_RAND, .seed = 1 + (uint64_t)i, .scale = scale};
        if (a->param.is_const && tensor_elements(&a->host) > 0) {
            limit_integers(&fill, l, &a->param, limit);
            values_fill(&a->host, &fill);
        }
    }
    return true;
}

/* Fills an output with bytes 0xff: NaN or -1. An element that the kernel does not write is then
 * wrong. */
static bool leave_unwritten(const struct bench_array *a, struct gpu *g, int copies)
{
    const struct slab *s = &a->device;
    return !is_output(&a->param) ||
           tw_device_fill(g->ctx, s->base, 0xff, s->stride * (size_t)copies, g->stream) == TW_OK;
}

bool bench_arrays_open(struct bench_arrays *x, struct gpu *g, tw_launch *l, tw_kernel *k,
                       double scale)
{
    *x = (struct bench_arrays){0};
    if (!find_arrays(x, g, l, k) || !make_host(x, l, scale))
        return false;
    double copies = x->bytes > 0 ? ceil(CACHES * (double)g->l2_bytes / x->bytes) : 1;
    x->copies = copies < 1 ? 1 : copies > COPIES_MOST ? COPIES_MOST : (int)copies;
    for (int i = 0; i < x->count; i++) {
        struct bench_array *a = &x->list[i];
        const void *data = a->param.is_const ? a->host.data : NULL;
        if (!slab_open(&a->device, g, x->copies, data, tensor_bytes(&a->host)) ||
            !leave_unwritten(a, g, x->copies))
            return say(x, g->ctx, "there is no memory for the arrays on the GPU"), false;
    }
    return true;
}

void bench_arrays_close(struct bench_arrays *x, struct gpu *g)
{
    for (int i = 0; i < x->count; i++) {
        free(x->list[i].host.data);
        slab_close(&x->list[i].device, g);
    }
    free(x->list);
    *x = (struct bench_arrays){0};
}

tw_status bench_arrays_give(const struct bench_arrays *x, tw_launch *l, int copy)
{
    tw_status s = TW_OK;
    for (int i = 0; i < x->count && s == TW_OK; i++) {
        tw_array array = x->list[i].host;
        array.data = slab_at(&x->list[i].device, copy);
        array.place = TW_ON_DEVICE;
        s = tw_launch_array(l, x->list[i].param.name, &array);
    }
    return s;
}

tw_status bench_arrays_give_host(const struct bench_arrays *x, tw_launch *l)
{
    tw_status s = TW_OK;
    for (int i = 0; i < x->count && s == TW_OK; i++)
        s = tw_launch_array(l, x->list[i].param.name, &x->list[i].host);
    return s;
}

tw_status bench_arrays_start(struct bench_arrays *x, struct gpu *g, const struct options *given)
{
    tw_status s = TW_OK;
    for (int i = 0; i < x->count && s == TW_OK; i++) {
        struct bench_array *a = &x->list[i];
        if (a->param.is_const)
            continue;
        operand_start(&a->param, &a->host, 1, given);
        s = tw_device_copy_in(g->ctx, a->device.base, a->host.data, tensor_bytes(&a->host),
                              g->stream);
    }
    return s;
}

tw_status bench_arrays_fetch(struct bench_arrays *x, struct gpu *g)
{
    tw_status s = tw_stream_wait(g->ctx, g->stream);
    for (int i = 0; i < x->count && s == TW_OK; i++) {
        struct bench_array *a = &x->list[i];
        if (!a->param.is_const)
            s = tw_device_copy_out(g->ctx, a->host.data, a->device.base, tensor_bytes(&a->host),
                                   g->stream);
    }
    return s == TW_OK ? tw_stream_wait(g->ctx, g->stream) : s;
}
