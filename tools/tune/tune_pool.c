/* The arrays of timed runs: one piece of memory for each parameter, which all problems share.
 *
 * On a GPU, a problem's runs go over copies of its arrays that together exceed the cache, as those
 * of `bench` do, so that a run finds no data of the previous run there. A copy is a range of the
 * piece. The pieces hold random numbers that repeat after some megabytes. Arrays whose values
 * depend on the shape, such as indices, are written again for each problem. */
#include "cli/product.h"
#include "cli/settings.h"
#include "tune/tune.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 256, COPIES_MOST = 1024, CACHES = 3 };
enum { PATTERN_BYTES = 16 << 20 };

static size_t stride_of(const tw_array *shape)
{
    return (tensor_bytes(shape) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

void *pool_at(const struct pool *p, int array, int problem, int copy)
{
    const struct pool_array *a = &p->list[array];
    return a->base + (size_t)copy * stride_of(&a->shapes[problem]);
}

/* --- the plan --- */

static void find_arrays(struct tuning *t)
{
    tw_kernel *k = t->members[0].kernel;
    int count = tw_kernel_param_count(k);
    struct pool *p = &t->pool;
    p->list = need_memory((size_t)(count + 1) * sizeof *p->list);
    p->copies = need_memory((size_t)(t->problem_count + 1) * sizeof *p->copies);
    for (int i = 0; i < count; i++) {
        struct pool_array *a = &p->list[p->count];
        a->param = tw_param_init();
        tw_kernel_param(k, i, &a->param);
        if (!a->param.is_pointer)
            continue;
        a->shapes = need_memory((size_t)t->problem_count * sizeof *a->shapes);
        p->count++;
    }
}

/* Returns a candidate whose program compiles for the problem; -1: nothing is to be measured. */
static int example_of(const struct tuning *t, int problem)
{
    const struct problem *p = &t->problems[problem];
    if (p->order_count > 0)
        return p->order[0];
    return problem_fastest(t, p, -1);
}

static int find_shapes(struct tuning *t, int problem, int candidate)
{
    int member = t->candidates[candidate].member;
    tw_launch *l = t->members[member].launch;
    tw_status s = problem_set(t, problem, member, l);
    double bytes = 0;
    if (s == TW_OK)
        s = candidate_apply(t, candidate, l);
    operands_forget(l, t->members[member].kernel);
    for (int i = 0; i < t->pool.count && s == TW_OK; i++) {
        struct pool_array *a = &t->pool.list[i];
        a->shapes[problem] = tw_array_init();
        s = tw_launch_shape(l, a->param.name, &a->shapes[problem]);
        if (s == TW_OK && !tensor_fits(&a->shapes[problem], &bytes)) {
            tensor_say_no_memory(&a->shapes[problem], a->param.name, bytes, NULL);
            return STATUS_USAGE;
        }
    }
    if (s == TW_OK)
        return STATUS_OK;
    complain_library(NULL, t->ctx, s);
    return STATUS_USAGE;
}

/* Chooses the number of copies, and grows the pieces to hold them. */
static void find_room(struct tuning *t, int problem)
{
    struct pool *p = &t->pool;
    double bytes = 0;
    for (int i = 0; i < p->count; i++)
        bytes += (double)tensor_bytes(&p->list[i].shapes[problem]);
    double copies = t->on_gpu && bytes > 0 ? ceil(CACHES * (double)t->l2_bytes / bytes) : 1;
    p->copies[problem] = copies < 1 ? 1 : copies > COPIES_MOST ? COPIES_MOST : (int)copies;
    for (int i = 0; i < p->count; i++) {
        struct pool_array *a = &p->list[i];
        size_t room = stride_of(&a->shapes[problem]) * (size_t)p->copies[problem];
        a->bytes = room > a->bytes ? room : a->bytes;
    }
}

int pool_plan(struct tuning *t)
{
    int status = STATUS_OK;
    find_arrays(t);
    for (int i = 0; i < t->problem_count && status == STATUS_OK; i++) {
        int candidate = example_of(t, i);
        if (candidate < 0)
            continue;
        status = find_shapes(t, i, candidate);
        if (status == STATUS_OK)
            find_room(t, i);
    }
    return status;
}

void pool_close(struct tuning *t)
{
    for (int i = 0; i < t->pool.count; i++)
        free(t->pool.list[i].shapes);
    free(t->pool.list);
    free(t->pool.copies);
    t->pool = (struct pool){0};
}

/* --- contents --- */

/* Returns the scale of random floats: sums of products stay finite at the longest sums. */
static double scale_of(const struct tuning *t, tw_dtype dtype)
{
    int64_t longest = 0;
    for (int i = 0; i < t->problem_count; i++) {
        const struct problem *p = &t->problems[i];
        tw_value v;
        if (p->operations > 0 && p->shape.m > 0)
            longest = p->shape.k > longest ? p->shape.k : longest;
        else if (p->operations > 0 && tw_launch_value(t->members[0].launch, "k", &v) == TW_OK)
            longest = v.i > longest ? v.i : longest;
    }
    return product_scale(longest, dtype);
}

static void fill_host(const struct tuning *t, int array, tw_array *x, tw_launch *l, int64_t least,
                      bool *is_exact)
{
    const struct pool_array *a = &t->pool.list[array];
    uint64_t seed = 1 + (uint64_t)array;
    struct fill_options fill = {.kind = FILL_RAND, .seed = seed, .scale = scale_of(t, x->dtype)};
    if (!a->param.is_const) {
        operand_start(&a->param, x, seed, t->given);
        *is_exact = settings_fill(t->given, a->param.name) != FILL_NONE;
        return;
    }
    limit_integers(&fill, l, &a->param, least);
    *is_exact = fill.is_index || fill.is_starts;
    tensor_fill(x, &fill);
}

static tw_status copy_to(const struct tuning *t, void *to, const void *from, size_t bytes)
{
    if (t->on_gpu)
        return tw_device_copy_in(t->ctx, to, from, bytes, NULL);
    memcpy(to, from, bytes);
    return TW_OK;
}

/* Makes the pattern that fills a piece. */
static tw_status make_pattern(struct tuning *t, int array, tw_launch *l)
{
    struct pool_array *a = &t->pool.list[array];
    tw_dtype dtype = TW_DTYPE_NONE;
    for (int i = 0; i < t->problem_count && dtype == TW_DTYPE_NONE; i++)
        dtype = a->shapes[i].size ? a->shapes[i].dtype : TW_DTYPE_NONE;
    size_t each = tw_dtype_size(dtype);
    size_t bytes = a->bytes < PATTERN_BYTES ? a->bytes : PATTERN_BYTES;
    tw_array x = {.size = sizeof x, .dtype = dtype, .rank = 1, .shape = {(int64_t)(bytes / each)}};
    if (!tensor_allocate(&x))
        return TW_NO_MEMORY;
    fill_host(t, array, &x, l, INT64_MAX, &a->is_exact);
    a->pattern = x.data;
    a->pattern_bytes = bytes;
    return TW_OK;
}

/* Fills the first bytes of a piece with its pattern, which repeats. The rest follows when a larger
 * problem needs it, because the arrays of the largest take seconds. */
static tw_status fill_piece(const struct tuning *t, struct pool_array *a, size_t bytes)
{
    tw_status s = TW_OK;
    while (a->filled < bytes && s == TW_OK) {
        size_t left = a->bytes - a->filled,
               part = left < a->pattern_bytes ? left : a->pattern_bytes;
        s = copy_to(t, a->base + a->filled, a->pattern, part);
        a->filled += part;
    }
    return s;
}

/* The memory is not written here, because that takes seconds for the arrays of the largest problem. */
static tw_status allocate(const struct tuning *t, struct pool_array *a)
{
    void *base = NULL;
    tw_status s = TW_OK;
    if (t->on_gpu)
        s = tw_device_allocate(t->ctx, a->bytes ? a->bytes : 1, &base);
    else if (!(base = aligned_alloc(ALIGNMENT, (a->bytes / ALIGNMENT + 1) * ALIGNMENT)))
        s = TW_NO_MEMORY;
    a->base = base;
    return s;
}

tw_status pool_open(struct tuning *t, tw_launch *l)
{
    tw_status s = TW_OK;
    for (int i = 0; i < t->pool.count && !t->pool.open && s == TW_OK; i++) {
        s = allocate(t, &t->pool.list[i]);
        if (s == TW_OK && t->pool.list[i].bytes > 0)
            s = make_pattern(t, i, l);
    }
    t->pool.open = s == TW_OK;
    return s;
}

tw_status pool_fill(struct tuning *t, int problem, tw_launch *l)
{
    int64_t least = INT64_MAX;
    tw_status s = TW_OK;
    for (int i = 0; i < t->pool.count; i++)
        least = index_limit(&t->pool.list[i].shapes[problem], least);
    for (int i = 0; i < t->pool.count && s == TW_OK; i++) {
        struct pool_array *a = &t->pool.list[i];
        tw_array x = a->shapes[problem];
        if (!a->is_exact) {
            s = fill_piece(t, a, stride_of(&x) * (size_t)t->pool.copies[problem]);
            continue;
        }
        if (!tensor_allocate(&x))
            return TW_NO_MEMORY;
        fill_host(t, i, &x, l, least, &a->is_exact);
        for (int copy = 0; copy < t->pool.copies[problem] && s == TW_OK; copy++)
            s = copy_to(t, pool_at(&t->pool, i, problem, copy), x.data, tensor_bytes(&x));
        free(x.data);
    }
    return s;
}
