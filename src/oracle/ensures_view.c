/* Finds the elements that an access of a view denotes, and loads them. */
#include "oracle/ensures_internal.h"

#include <string.h>

static bool eval_extent(struct oracle *o, const struct expr *e, const struct sym *view,
                        int64_t *out)
{
    return eval_int(e, &o->env, out) || oracle_eval_int(o, e, out) ||
           oracle_fail(o, "an extent of `%s` is not known", view->name);
}

/* Describes the view itself: where it begins, and its axes. */
static bool resolve_view(struct oracle *o, const struct sym *view, struct ensures_access *x)
{
    if (!view->base)
        return oracle_fail(o, "`%s` is workspace: it has no content after the launch", view->name);
    const struct cpu_argument *arg = &o->args[view->base->index];
    x->view = view;
    x->dtype = view->type.dtype;
    x->axes = view->type.rank;
    int64_t size = (int64_t)dtype_size(x->dtype), offset = 0, row_major = 1, reach = 1;
    bool empty = false;
    for (int i = x->axes - 1; i >= 0; i--) {
        struct ensures_axis *axis = &x->axis[i];
        if (!eval_extent(o, view->dims[i], view, &axis->extent))
            return false;
        axis->stride = row_major;
        if (view->strides[i] && !eval_extent(o, view->strides[i], view, &axis->stride))
            return false;
        empty = empty || axis->extent <= 0;
        row_major *= axis->extent;
        reach += (axis->extent - 1) * axis->stride;
    }
    if (view->base_offset && !eval_extent(o, view->base_offset, view, &offset))
        return false;
    if (!empty && (offset < 0 || (uint64_t)(offset + reach) > arg->bytes / (size_t)size))
        return oracle_fail(o, "view `%s` reaches beyond its array", view->name);
    x->data = arg->data ? (const char *)arg->data + offset * size : NULL;
    return true;
}

bool oracle_view_elements(struct oracle *o, const struct sym *view, int64_t *out)
{
    struct ensures_access x = {0};
    if (!resolve_view(o, view, &x))
        return false;
    *out = 1;
    for (int i = 0; i < x.axes; i++)
        *out *= x.axis[i].extent > 0 ? x.axis[i].extent : 0;
    return true;
}

static void add_axis(struct ensures_access *x, struct ensures_axis *axis, int64_t start,
                     int64_t extent)
{
    axis->start = start;
    axis->out = x->rank;
    x->extent[x->rank++] = extent > 0 ? extent : 0;
}

/* Returns whether the positions are consecutive: then the access is a slice, which loads faster. */
static bool in_a_row(const struct oracle_tile *positions)
{
    for (int64_t i = 1; i < positions->count; i++)
        if (positions->i[i] != positions->i[i - 1] + 1)
            return false;
    return positions->count > 0;
}

static bool is_exact(const struct oracle_tile *x)
{
    for (int64_t i = 0; x->error && i < x->count; i++)
        if (x->error[i] != 0)
            return false;
    return true;
}

static bool resolve_gather(struct oracle *o, const struct index *ix, struct ensures_access *x,
                           struct ensures_axis *axis)
{
    struct oracle_tile *positions = &x->gather[x->gathers];
    if (!oracle_eval(o, ix->value, NULL, positions))
        return false;
    if (positions->rank != 1 || !positions->i || !is_exact(positions))
        return oracle_fail(o, "`%s` is indexed by %s: expected exact integers of one axis",
                           x->view->name, oracle_tile_shape_text(o, positions));
    x->gathers++;
    bool row = in_a_row(positions);
    axis->positions = row ? NULL : positions->i;
    add_axis(x, axis, row ? positions->i[0] : 0, positions->count);
    return true;
}

static bool resolve_index(struct oracle *o, const struct index *ix, int number,
                          struct ensures_access *x)
{
    struct ensures_axis *axis = &x->axis[number];
    int64_t at;
    switch (ix->kind) {
    case IX_ALL: add_axis(x, axis, 0, axis->extent); return true;
    case IX_GATHER: return resolve_gather(o, ix, x, axis);
    case IX_SLICE:
        if (!oracle_eval_int(o, ix->value, &at))
            return false;
        add_axis(x, axis, at, ix->extent);
        return true;
    case IX_ELEMENT: break;
    }
    if (!oracle_eval_int(o, ix->value, &at))
        return false;
    if (at < 0 || at >= axis->extent) {
        oracle_outside(o);
        return oracle_fail(o, "element %lld of axis %d of `%s` is outside (0 to %lld)",
                           (long long)at, number, x->view->name, (long long)axis->extent - 1);
    }
    axis->out = -1;
    axis->start = at;
    return true;
}

bool oracle_access_resolve(struct oracle *o, const struct expr *e, struct ensures_access *out)
{
    *out = (struct ensures_access){0};
    if (!e->sym || e->sym->storage != ST_VIEW)
        return oracle_fail(o, "`%s` is not a view", e->sym ? e->sym->name : "?");
    if (!resolve_view(o, e->sym, out))
        return false;
    int indices = e->op == OP_ACCESS ? e->indices : 0;
    for (int i = 0; i < indices; i++)
        if (!resolve_index(o, &e->index[i], i, out))
            return false;
    for (int i = indices; i < out->axes; i++)
        add_axis(out, &out->axis[i], 0, out->axis[i].extent);
    return true;
}

void oracle_access_free(struct oracle *o, struct ensures_access *x)
{
    for (int i = 0; i < x->gathers; i++)
        oracle_tile_free(o, &x->gather[i]);
    x->gathers = 0;
}

/* Past the last i64, the sum is negative and so outside, too. */
static int64_t position(const struct ensures_axis *axis, int64_t i)
{
    return axis->positions ? axis->positions[i] : (int64_t)((uint64_t)axis->start + (uint64_t)i);
}

bool oracle_access_place(const struct ensures_access *x, int64_t index, int64_t *at)
{
    bool inside = true;
    for (int i = x->axes - 1; i >= 0; i--) {
        const struct ensures_axis *axis = &x->axis[i];
        int64_t along = 0;
        if (axis->out >= 0) {
            along = index % x->extent[axis->out];
            index /= x->extent[axis->out];
        }
        at[i] = position(axis, along);
        inside = inside && at[i] >= 0 && at[i] < axis->extent;
    }
    return inside;
}

/* --- loading --- */

static struct number load_element(enum dtype t, const char *p)
{
    struct number n = {0};
    if (dtype_is_float(t))
        n.v = dtype_load_f64(t, p);
    else
        n.i = dtype_load_i64(t, p);
    return n;
}

struct load {
    const struct ensures_access *access;
    struct number otherwise;
    struct oracle_tile *out;
    int64_t row;
    const struct ensures_axis
        *last; /* the view's axis that is the result's last one; NULL: a scalar */
};

/* Loads `count` elements at an even stride, all inside. */
static void load_run(struct oracle_tile *out, int64_t to, const char *p, int64_t stride,
                     int64_t count)
{
    if (out->dtype == DT_F32) {
        const float *from = (const float *)(const void *)p;
        for (int64_t i = 0; i < count; i++)
            out->v[to + i] = (double)from[i * stride];
        return;
    }
    int64_t bytes = stride * (int64_t)dtype_size(out->dtype);
    for (int64_t i = 0; i < count; i++)
        oracle_tile_put(out, to + i, load_element(out->dtype, p + i * bytes));
}

static void load_rows(void *user, int64_t begin, int64_t end)
{
    const struct load *w = user;
    const struct ensures_access *x = w->access;
    int64_t size = (int64_t)dtype_size(x->dtype);
    for (int64_t row = begin; row < end; row++) {
        int64_t at[MAX_RANK], offset = 0, to = row * w->row;
        bool inside = true;
        oracle_access_place(x, to, at);
        for (int i = 0; i < x->axes; i++) {
            if (&x->axis[i] == w->last)
                continue;
            inside = inside && at[i] >= 0 && at[i] < x->axis[i].extent;
            offset += at[i] * x->axis[i].stride;
        }
        const struct ensures_axis *last = w->last;
        if (inside && last && !last->positions && last->start >= 0 &&
            last->start <= last->extent - w->row) {
            load_run(w->out, to, x->data + (offset + last->start * last->stride) * size,
                     last->stride, w->row);
            continue;
        }
        for (int64_t i = 0; i < w->row; i++) {
            int64_t along = last ? position(last, i) : 0, step = last ? last->stride : 0;
            bool there = inside && (!last || (along >= 0 && along < last->extent));
            oracle_tile_put(w->out, to + i,
                            there ? load_element(x->dtype, x->data + (offset + along * step) * size)
                                  : w->otherwise);
        }
    }
}

enum { LOAD_WORK = 4 }; /* nanoseconds for each element, about */

bool oracle_access_load(struct oracle *o, const struct ensures_access *x, struct number otherwise,
                        struct oracle_tile *out)
{
    *out = oracle_tile_new(o, x->dtype, x->rank, x->extent, otherwise.error != 0);
    struct load w = {.access = x, .otherwise = otherwise, .out = out, .row = 1};
    for (int i = 0; i < x->axes; i++)
        if (x->rank && x->axis[i].out == x->rank - 1)
            w.last = &x->axis[i];
    if (w.last)
        w.row = x->extent[x->rank - 1];
    if (out->count > 0)
        oracle_parallel(o, out->count / w.row, (double)out->count * LOAD_WORK, load_rows, &w);
    return true;
}
