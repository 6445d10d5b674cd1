#include "gpu_compare.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool say(tw_context *ctx, const char *what, tw_status status)
{
    printf("%s: %s: %s\n", what, tw_status_name(status), tw_context_messages(ctx));
    return false;
}

/* --- on the host --- */

static bool make_array(struct compared_array *a, tw_launch *host, const char *name, int param,
                       compare_element element, uint64_t *seed)
{
    a->name = name;
    a->array = tw_array_init();
    if (tw_launch_shape(host, name, &a->array) != TW_OK)
        return false;
    a->elements = 1;
    for (int i = 0; i < a->array.rank; i++)
        a->elements *= (size_t)a->array.shape[i];
    size_t size = tw_dtype_size(a->array.dtype);
    a->bytes = a->elements * size;
    a->given = malloc(a->bytes + 1);
    a->wanted = malloc(a->bytes + 1);
    a->array.data = malloc(a->bytes + 1);
    if (!a->given || !a->wanted || !a->array.data)
        return false;
    for (size_t i = 0; i < a->elements; i++)
        tw_dtype_store(a->array.dtype, (char *)a->given + i * size,
                       element((enum dtype)a->array.dtype, param, seed));
    return true;
}

static tw_status give(struct compared *c, tw_launch *l)
{
    tw_status status = TW_OK;
    for (int i = 0; i < c->count && status == TW_OK; i++) {
        struct compared_array *a = &c->list[i];
        memcpy(a->array.data, a->given, a->bytes);
        status = tw_launch_array(l, a->name, &a->array);
    }
    return status;
}

static bool make_arrays(struct compared *c, tw_kernel *k, tw_launch *host, compare_element element,
                        uint64_t seed)
{
    for (int i = 0; i < tw_kernel_param_count(k); i++) {
        tw_param p = tw_param_init();
        if (tw_kernel_param(k, i, &p) != TW_OK)
            return false;
        if (!p.is_pointer)
            continue;
        if (c->count == COMPARED_ARRAYS ||
            !make_array(&c->list[c->count++], host, p.name, i, element, &seed))
            return false;
    }
    return true;
}

bool compared_open(struct compared *c, tw_context *ctx, tw_kernel *k, tw_launch *host,
                   compare_element element, uint64_t seed)
{
    *c = (struct compared){0};
    tw_status status = tw_launch_prepare(host);
    if (status != TW_OK)
        return say(ctx, "on the host", status);
    bool good = make_arrays(c, k, host, element, seed);
    status = good ? give(c, host) : TW_NO_MEMORY;
    if (status == TW_OK)
        status = tw_launch_run(host);
    if (status != TW_OK) {
        compared_close(c);
        return say(ctx, "on the host", status);
    }
    for (int i = 0; i < c->count; i++)
        memcpy(c->list[i].wanted, c->list[i].array.data, c->list[i].bytes);
    return true;
}

void compared_close(struct compared *c)
{
    for (int i = 0; i < c->count; i++) {
        free(c->list[i].given);
        free(c->list[i].wanted);
        free(c->list[i].array.data);
    }
    c->count = 0;
}

/* --- on the GPU --- */

/* Returns the first element that differs; -1: none. */
static int64_t difference(const struct compared_array *a)
{
    tw_dtype t = a->array.dtype;
    if (memcmp(a->array.data, a->wanted, a->bytes) == 0)
        return -1;
    for (size_t i = 0; i < a->elements; i++) {
        size_t at = i * tw_dtype_size(t);
        double is = tw_dtype_load(t, (const char *)a->array.data + at);
        double should = tw_dtype_load(t, (const char *)a->wanted + at);
        if (is != should && !(isnan(is) && isnan(should)))
            return (int64_t)i;
    }
    return -1; /* 0 and -0 */
}

static bool same(const struct compared *c, bool print)
{
    for (int i = 0; i < c->count; i++) {
        const struct compared_array *a = &c->list[i];
        int64_t at = difference(a);
        if (at < 0)
            continue;
        size_t offset = (size_t)at * tw_dtype_size(a->array.dtype);
        if (print)
            printf("%s[%lld] is %g, on the host %g\n", a->name, (long long)at,
                   tw_dtype_load(a->array.dtype, (const char *)a->array.data + offset),
                   tw_dtype_load(a->array.dtype, (const char *)a->wanted + offset));
        return false;
    }
    return true;
}

/* The elements differ. */
static enum outcome judge(const struct compared *c, tw_context *ctx, tw_kernel *k, tw_launch *gpu)
{
    if (!tw_kernel_has_ensures(k)) {
        same(c, true);
        return OUTCOME_WRONG;
    }
    tw_status status = tw_launch_verify(gpu, NULL);
    if (status == TW_OK)
        return OUTCOME_WITHIN;
    say(ctx, "`ensures`", status);
    same(c, true);
    return OUTCOME_WRONG;
}

enum outcome compared_run(struct compared *c, tw_context *ctx, tw_kernel *k, tw_launch *gpu)
{
    tw_status status = tw_launch_prepare(gpu);
    if (status == TW_BAD_PROGRAM) /* the host accepts it */
        return OUTCOME_REFUSED;
    if (status == TW_OK)
        status = give(c, gpu);
    if (status == TW_OK)
        status = tw_launch_run(gpu);
    if (status != TW_OK) {
        say(ctx, "on the GPU", status);
        return OUTCOME_WRONG;
    }
    return same(c, false) ? OUTCOME_SAME : judge(c, ctx, k, gpu);
}
