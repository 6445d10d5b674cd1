/* Evaluates ops that move elements, reductions and scans. Each views a tile as [outer][n][inner]
 * around one axis. */
#include "oracle/ensures_internal.h"

#include <math.h>
#include <string.h>

/* --- moving elements --- */

/* Computes out[at] = x[from(at)], errors too; frees x. */
static bool moved(struct oracle *o, struct oracle_tile *x, struct oracle_tile *out,
                  int64_t (*from)(const struct oracle_tile *x, const struct oracle_tile *out,
                                  int64_t at))
{
    for (int64_t at = 0; at < out->count; at++)
        oracle_tile_put(out, at, oracle_tile_get(x, from(x, out, at)));
    oracle_tile_free(o, x);
    return true;
}

static int64_t from_transposed(const struct oracle_tile *x, const struct oracle_tile *out,
                               int64_t at)
{
    int64_t rows = out->extent[out->rank - 2], columns = out->extent[out->rank - 1];
    int64_t matrix = at / (rows * columns), rest = at % (rows * columns);
    (void)x;
    return matrix * rows * columns + rest % columns * rows + rest / columns;
}

bool oracle_tile_trans(struct oracle *o, struct oracle_tile *x, struct oracle_tile *out)
{
    if (x->rank < 2)
        return oracle_fail(o, "trans of %s: two axes are needed", oracle_tile_shape_text(o, x));
    int64_t extent[MAX_RANK];
    memcpy(extent, x->extent, sizeof extent);
    extent[x->rank - 2] = x->extent[x->rank - 1];
    extent[x->rank - 1] = x->extent[x->rank - 2];
    *out = oracle_tile_new(o, x->dtype, x->rank, extent, x->error != NULL);
    return moved(o, x, out, from_transposed);
}

/* Finds the extents from the op's operands, or else from its type. At most one may be unknown to
 * both: *unknown is its axis, -1 if none. */
static bool written_extents(struct oracle *o, const struct expr *e, int64_t *extent, int *unknown)
{
    *unknown = -1;
    for (int i = 0; i < e->type.rank; i++) {
        extent[i] = e->type.extent[i];
        if (e->count > i + 1 && !oracle_eval_int(o, e->args[i + 1], &extent[i]))
            return false;
        if (extent[i] != EXTENT_RUNTIME)
            continue;
        if (*unknown >= 0)
            return oracle_fail(o, "`%s`: more than one extent is not known before launch",
                               op_table[e->op].text);
        *unknown = i;
    }
    return true;
}

bool oracle_tile_reshape(struct oracle *o, const struct expr *e, struct oracle_tile *x,
                         struct oracle_tile *out)
{
    int64_t extent[MAX_RANK], count = 1;
    int unknown, rank = e->type.rank;
    if (!written_extents(o, e, extent, &unknown))
        return false;
    for (int i = 0; i < rank; i++)
        count *= i == unknown ? 1 : extent[i];
    if (unknown >= 0 && count > 0)
        count *= extent[unknown] = x->count / count;
    if (count != x->count)
        return oracle_fail(o, "reshape of %s to %lld elements", oracle_tile_shape_text(o, x),
                           (long long)count);
    *out = *x;
    *x = (struct oracle_tile){0};
    out->rank = rank;
    memcpy(out->extent, extent, sizeof extent);
    return true;
}

/* Returns the element of x that is copied to element `at` of out, where axes were multiplied: by
 * copies of the whole tile, or (interleaved) of each element. */
static int64_t from_multiplied(const struct oracle_tile *x, const struct oracle_tile *out,
                               int64_t at, bool interleaved)
{
    int64_t from = 0, step = 1;
    for (int i = out->rank - 1; i >= 0; i--) {
        int64_t along = at % out->extent[i];
        at /= out->extent[i];
        int axis = i - (out->rank - x->rank);
        if (axis < 0)
            continue;
        int64_t n = x->extent[axis];
        from += step * (interleaved ? along / (out->extent[i] / n) : along % n);
        step *= n;
    }
    return from;
}

static int64_t from_repeated(const struct oracle_tile *x, const struct oracle_tile *out, int64_t at)
{
    return from_multiplied(x, out, at, false);
}

static int64_t from_interleaved(const struct oracle_tile *x, const struct oracle_tile *out,
                                int64_t at)
{
    return from_multiplied(x, out, at, true);
}

/* Finds how many times an axis is repeated: from the operands, or from the ratio of the types'
 * extents. */
static bool repeat_factor(struct oracle *o, const struct expr *e, int axis, int64_t *factor)
{
    if (e->count > axis + 1)
        return oracle_eval_int(o, e->args[axis + 1], factor);
    const struct type *from = &e->args[0]->type;
    int source = axis - (e->type.rank - from->rank);
    int64_t to = e->type.extent[axis], n = source < 0 ? 1 : from->extent[source];
    *factor = n > 0 && to > 0 ? to / n : 1;
    return (to != EXTENT_RUNTIME && n != EXTENT_RUNTIME) ||
           oracle_fail(o, "`%s` of an extent that is not known before launch",
                       op_table[e->op].text);
}

bool oracle_tile_repeat(struct oracle *o, const struct expr *e, struct oracle_tile *x,
                        struct oracle_tile *out)
{
    int64_t extent[MAX_RANK], factor;
    int rank = e->type.rank;
    for (int i = 0; i < rank; i++) {
        if (!repeat_factor(o, e, i, &factor))
            return false;
        if (factor < 1)
            return oracle_fail(o, "`%s` %lld times", op_table[e->op].text, (long long)factor);
        int source = i - (rank - x->rank);
        extent[i] = factor * (source < 0 ? 1 : x->extent[source]);
    }
    *out = oracle_tile_new(o, x->dtype, rank, extent, x->error != NULL);
    return moved(o, x, out, e->op == OP_REPEAT ? from_repeated : from_interleaved);
}

/* Returns the extent of an axis of the op's result: a constant, or that of the shape that the
 * context requires. */
static int64_t hinted_extent(const struct type *t, int axis, const struct hint *hint)
{
    if (t->extent[axis] != EXTENT_RUNTIME || !hint)
        return t->extent[axis];
    int from = axis - (t->rank - hint->rank);
    return from < 0 ? 1 : hint->extent[from];
}

static int64_t from_stretched(const struct oracle_tile *x, const struct oracle_tile *out,
                              int64_t at)
{
    int64_t strides[MAX_RANK], from = 0;
    oracle_tile_strides(x, out->rank, out->extent, strides);
    for (int i = out->rank - 1; i >= 0; i--) {
        from += at % out->extent[i] * strides[i];
        at /= out->extent[i];
    }
    return from;
}

bool oracle_tile_broadcast(struct oracle *o, const struct expr *e, const struct hint *hint,
                           struct oracle_tile *x, struct oracle_tile *out)
{
    int64_t extent[MAX_RANK], strides[MAX_RANK];
    for (int i = 0; i < e->type.rank; i++) {
        extent[i] = hinted_extent(&e->type, i, hint);
        if (e->count > i + 1 && !oracle_eval_int(o, e->args[i + 1], &extent[i]))
            return false;
        int source = i - (e->type.rank - x->rank);
        if (extent[i] == EXTENT_RUNTIME)
            extent[i] = source < 0 ? 1 : x->extent[source];
    }
    if (!oracle_tile_strides(x, e->type.rank, extent, strides))
        return oracle_fail(o, "%s cannot be broadcast to this shape", oracle_tile_shape_text(o, x));
    *out = oracle_tile_new(o, x->dtype, e->type.rank, extent, x->error != NULL);
    return moved(o, x, out, from_stretched);
}

bool oracle_tile_iota(struct oracle *o, const struct expr *e, const struct hint *hint,
                      struct oracle_tile *out)
{
    int64_t extent[MAX_RANK] = {0};
    int axis = -1;
    for (int i = 0; i < e->type.rank; i++) {
        extent[i] = hinted_extent(&e->type, i, hint);
        if (i < e->count && !oracle_eval_int(o, e->args[i], &extent[i]))
            return false;
        if (i < e->count && extent[i] < 0)
            return oracle_fail(o, "a length is %lld: it must be at least 0", (long long)extent[i]);
        if (extent[i] == EXTENT_RUNTIME)
            return oracle_fail(o, "iota() needs its extents written out here");
        if (extent[i] != 1)
            axis = i;
    }
    *out = oracle_tile_new(o, e->type.dtype, e->type.rank, extent, false);
    int64_t inner = 1;
    for (int i = axis + 1; axis >= 0 && i < e->type.rank; i++)
        inner *= extent[i];
    for (int64_t at = 0; at < out->count; at++) {
        int64_t along = axis < 0 ? 0 : at / inner % extent[axis];
        oracle_tile_put(out, at, (struct number){.i = dtype_wrap(out->dtype, along)});
    }
    return true;
}

/* --- reductions --- */

struct lane {
    const struct oracle_tile *x;
    int64_t first, step, n;
};

static struct number lane_get(const struct lane *l, int64_t i)
{
    return oracle_tile_get(l->x, l->first + i * l->step);
}

/* The state of a sum that is being computed. */
struct total {
    uint64_t whole; /* integers, wrapping */
    double sum, error, size;
    double finite;                     /* `size` of the finite terms */
    double runs, run, least, greatest; /* input of oracle_sum_error */
    int64_t n;
};

static void total_add(struct total *t, enum dtype from, struct number x)
{
    double v = oracle_number_real(from, x);
    if (!dtype_is_float(from))
        t->whole += (uint64_t)x.i;
    t->sum += v;
    t->error += x.error;
    double size = fabs(v) + x.error;
    t->size += size;
    t->finite += isfinite(size) ? size : 0;
    t->least = t->n == 0 || size < t->least ? size : t->least;
    t->greatest = t->n == 0 || size > t->greatest ? size : t->greatest;
    t->run += v;
    if (++t->n % SUM_RUN != 0)
        return;
    t->runs += fabs(t->run);
    t->run = 0;
}

static struct number total_value(const struct total *t, enum dtype to, bool is_root)
{
    if (!dtype_is_float(to)) {
        struct number exact = {.i = dtype_wrap(to, (int64_t)t->whole)};
        if (t->error != 0)
            exact.error = oracle_number_real(to, exact) == t->sum ? t->error : INFINITY;
        return exact;
    }
    if (!isfinite(t->sum)) { /* finite terms that overflow may give the other infinity, and NaN */
        bool order_decides = isinf(t->sum) && t->finite >= oracle_float_overflow(to);
        bool known = isfinite(t->error) && !order_decides;
        return (struct number){.v = t->sum, .error = known ? 0 : INFINITY};
    }
    struct magnitudes m = {.size = t->size,
                           .runs = t->runs + fabs(t->run) + t->error,
                           .alike = t->least == t->greatest};
    double error = t->error + oracle_sum_error((double)t->n, oracle_float_unit(to), &m);
    if (oracle_sum_may_overflow(t->sum, t->size, oracle_float_overflow(to)))
        error = INFINITY;
    if (!(error >= 0) || (!is_root && fabs(t->sum) + error >= oracle_float_overflow(to)))
        error = INFINITY;
    return (struct number){.v = t->sum, .error = error};
}

static struct number sum_lane(const struct lane *l, enum dtype t, bool is_root)
{
    struct total total = {0};
    for (int64_t i = 0; i < l->n; i++)
        total_add(&total, l->x->dtype, lane_get(l, i));
    return total_value(&total, t, is_root);
}

static struct number neutral(enum op op, enum dtype t)
{
    const struct literal v = op_neutral(op, t);
    return v.is_float ? (struct number){.v = v.f} : (struct number){.i = v.i};
}

/* Folds a lane with the rule of a binary op, beginning with `start`. */
static struct number fold_lane(const struct lane *l, const struct rule *r, struct number start)
{
    struct number so_far = start;
    for (int64_t i = 0; i < l->n; i++) {
        struct number pair[RULE_OPERANDS] = {so_far, lane_get(l, i)};
        oracle_rule_apply(r, pair, &so_far);
    }
    return so_far;
}

static struct rule fold_rule(enum op op, enum dtype t, enum dtype from)
{
    enum dtype types[RULE_OPERANDS] = {t, from, t};
    return oracle_rule_for(op, t, types, 2);
}

/* Returns whether a correct kernel may find b as large as a, or larger. A NaN is skipped. */
static bool may_reach(enum dtype t, struct number a, struct number b)
{
    double away = oracle_number_real(t, a) - oracle_number_real(t, b), error = a.error + b.error;
    return error != 0 && !(fabs(away) > 2 * error) && !isnan(oracle_number_real(t, b));
}

/* Finds the first greatest or least element. It is certain if no other element could be it after
 * rounding: two orders of rounding differ by twice the error. */
static struct number first_extreme(const struct lane *l, bool want_max)
{
    enum dtype t = l->x->dtype;
    int64_t at = 0;
    struct number best = l->n ? lane_get(l, 0) : (struct number){0};
    for (int64_t i = 1; i < l->n; i++) {
        struct number x = lane_get(l, i);
        bool first_number = dtype_is_float(t) && isnan(best.v) && !isnan(x.v);
        if (first_number ||
            (want_max ? oracle_number_below(t, best, x) : oracle_number_below(t, x, best))) {
            best = x;
            at = i;
        }
    }
    struct number out = {.i = at};
    for (int64_t i = 0; i < l->n && l->x->error; i++)
        if (i != at && may_reach(t, best, lane_get(l, i)))
            out.error = INFINITY;
    return out;
}

static struct number reduce_lane(const struct expr *e, const struct lane *l, bool is_root)
{
    enum dtype t = e->type.dtype, from = l->x->dtype;
    struct rule r;
    switch (e->op) {
    case OP_REDUCE_SUM: return sum_lane(l, t, is_root);
    case OP_REDUCE_ARGMAX:
    case OP_REDUCE_ARGMIN: return first_extreme(l, e->op == OP_REDUCE_ARGMAX);
    default:
        r = fold_rule(op_of_reduction(e->op), t, from);
        return fold_lane(l, &r, neutral(op_of_reduction(e->op), t));
    }
}

struct along {
    const struct expr *e;
    const struct oracle_tile *x;
    struct oracle_tile *out;
    int64_t n, inner;
    bool is_root;
};

/* Splits the tile into [outer][n][inner]; axis -1: n is all of it. */
static struct along split_axis(struct oracle *o, const struct expr *e, const struct oracle_tile *x,
                               struct oracle_tile *out)
{
    struct along w = {
        .e = e, .x = x, .out = out, .n = x->count, .inner = 1, .is_root = e == o->root};
    if (e->axis < 0)
        return w;
    w.n = x->extent[e->axis];
    for (int i = e->axis + 1; i < x->rank; i++)
        w.inner *= x->extent[i];
    return w;
}

static void reduce_lanes(void *user, int64_t begin, int64_t end)
{
    const struct along *w = user;
    for (int64_t i = begin; i < end; i++) {
        struct lane l = {.x = w->x,
                         .first = i / w->inner * w->n * w->inner + i % w->inner,
                         .step = w->inner,
                         .n = w->n};
        oracle_tile_put(w->out, i, reduce_lane(w->e, &l, w->is_root));
    }
}

enum { LANE_WORK = 6 }; /* nanoseconds an element, about */

bool oracle_tile_reduce(struct oracle *o, const struct expr *e, struct oracle_tile *x,
                        struct oracle_tile *out)
{
    int64_t extent[MAX_RANK];
    memcpy(extent, x->extent, sizeof extent);
    if (e->axis >= x->rank)
        return oracle_fail(o, "`%s` over axis %d of %s", op_table[e->op].text, e->axis,
                           oracle_tile_shape_text(o, x));
    if (e->axis >= 0)
        extent[e->axis] = 1;
    bool rounds = e->op == OP_REDUCE_SUM && dtype_is_float(e->type.dtype);
    *out = oracle_tile_new(o, e->type.dtype, e->axis < 0 ? 0 : x->rank, extent, x->error || rounds);
    struct along w = split_axis(o, e, x, out);
    oracle_parallel(o, out->count, (double)x->count * LANE_WORK, reduce_lanes, &w);
    oracle_tile_free(o, x);
    return true;
}

/* --- scans --- */

/* An inclusive scan begins with its first element: of a number and a NaN, min and max give the number. */
static struct number scan_start(enum op op, enum dtype t, bool exclusive)
{
    if (!exclusive && dtype_is_float(t) && (op == OP_MIN || op == OP_MAX))
        return (struct number){.v = (double)NAN};
    return neutral(op, t);
}

static void scan_sums(const struct lane *l, struct oracle_tile *out, bool exclusive, bool is_root)
{
    struct total total = {0};
    for (int64_t i = 0; i < l->n; i++) {
        if (exclusive)
            oracle_tile_put(out, l->first + i * l->step, total_value(&total, out->dtype, is_root));
        total_add(&total, l->x->dtype, lane_get(l, i));
        if (!exclusive)
            oracle_tile_put(out, l->first + i * l->step, total_value(&total, out->dtype, is_root));
    }
}

static void scan_lanes(void *user, int64_t begin, int64_t end)
{
    const struct along *w = user;
    enum dtype t = w->out->dtype;
    struct rule r = fold_rule(w->e->scan_op, t, w->x->dtype);
    r.is_root = w->is_root;
    for (int64_t lane = begin; lane < end; lane++) {
        struct lane l = {.x = w->x,
                         .first = lane / w->inner * w->n * w->inner + lane % w->inner,
                         .step = w->inner,
                         .n = w->n};
        if (w->e->scan_op == OP_ADD && dtype_is_float(t)) {
            scan_sums(&l, w->out, w->e->exclusive, w->is_root);
            continue;
        }
        struct number so_far = scan_start(w->e->scan_op, t, w->e->exclusive);
        for (int64_t i = 0; i < l.n; i++) {
            struct number pair[RULE_OPERANDS] = {so_far, lane_get(&l, i)};
            if (w->e->exclusive)
                oracle_tile_put(w->out, l.first + i * l.step, so_far);
            oracle_rule_apply(&r, pair, &so_far);
            if (!w->e->exclusive)
                oracle_tile_put(w->out, l.first + i * l.step, so_far);
        }
    }
}

bool oracle_tile_scan(struct oracle *o, const struct expr *e, struct oracle_tile *x,
                      struct oracle_tile *out)
{
    if (e->axis >= x->rank)
        return oracle_fail(o, "scan over axis %d of %s", e->axis, oracle_tile_shape_text(o, x));
    *out = oracle_tile_new(o, e->type.dtype, x->rank, x->extent,
                           x->error || dtype_is_float(e->type.dtype));
    struct along w = split_axis(o, e, x, out);
    int64_t lanes = w.n ? x->count / w.n : 0;
    oracle_parallel(o, lanes, (double)x->count * LANE_WORK, scan_lanes, &w);
    oracle_tile_free(o, x);
    return true;
}
