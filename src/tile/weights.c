#include "tile/weights.h"

#include <math.h>
#include <string.h>

/* Integers up to this are exact in every type that a step may round to, and sums of two of them
 * in f32. */
#define MOST_INTEGER 256

struct reading {
    struct weights *w;
    int64_t depth, columns;
    double most; /* largest magnitude of the values so far, if they are integers */
};

/* --- elements --- */

/* The element that is evaluated: its step of depth, and its code. */
struct place {
    int64_t depth, at; /* extent of the operand, and the step */
    const struct expr *codes;
    int64_t code;
};

static bool evaluate(const struct expr *e, const struct place *p, struct literal *out);

static bool evaluate_iota(const struct expr *e, const struct place *p, struct literal *out)
{
    int axis = e->type.rank - 2;
    for (int i = 0; i < e->type.rank; i++)
        if (e->type.extent[i] > 1 && (i != axis || e->type.extent[i] != p->depth))
            return false;
    *out = (struct literal){.i = axis >= 0 && e->type.extent[axis] > 1 ? p->at : 0};
    return true;
}

static bool evaluate_lookup(const struct expr *e, const struct place *p, struct literal *out)
{
    struct literal at;
    if (!evaluate(e->args[1], p, &at) || at.i < 0 || at.i >= e->sym->type.extent[0])
        return false;
    *out = e->sym->table[at.i];
    return true;
}

static bool evaluate_operation(const struct expr *e, const struct place *p, struct literal *out)
{
    struct literal x[3];
    if (e->count < 1 || e->count > 3 || !(op_table[e->op].flags & OP_PURE))
        return false;
    for (int i = 0; i < e->count; i++)
        if (!evaluate(e->args[i], p, &x[i]))
            return false;
    const enum op_class class = op_table[e->op].class;
    return (e->op == OP_CAST || e->op == OP_WHERE || class == CLASS_ARITH ||
            class == CLASS_BITWISE || class == CLASS_COMPARE) &&
           eval_apply(e, x, out);
}

/* Returns whether e is the tile of codes, or a copy of it. */
static bool is_same_tile(const struct expr *e, const struct expr *codes)
{
    return e == codes || (codes && e->op == OP_ACCESS && expr_same(e, codes));
}

/* Evaluates an element of a tile that depends on the code and the step of depth alone. */
static bool evaluate(const struct expr *e, const struct place *p, struct literal *out)
{
    if (is_same_tile(e, p->codes)) {
        *out = (struct literal){.i = p->code};
        return true;
    }
    switch (e->op) {
    case OP_LITERAL: *out = e->literal; return true;
    case OP_IOTA: return evaluate_iota(e, p, out);
    case OP_REPEAT_INTERLEAVE:
        return is_same_tile(e->args[0], p->codes) && evaluate(e->args[0], p, out);
    case OP_LOOKUP: return evaluate_lookup(e, p, out);
    default: return evaluate_operation(e, p, out);
    }
}

bool weights_constant(const struct expr *e)
{
    const enum op_class class = op_table[e->op].class;
    bool fits = e->op == OP_LITERAL || e->op == OP_IOTA || e->op == OP_CAST ||
                class == CLASS_ARITH || class == CLASS_BITWISE || class == CLASS_COMPARE;
    for (int i = 0; i < e->count && fits; i++)
        fits = weights_constant(e->args[i]);
    return fits;
}

/* --- views --- */

/* Returns whether e is a part of a read-only view: slices that read zeros beyond the edges, and
 * elements. */
static bool is_part(const struct expr *e)
{
    if (e->op != OP_ACCESS || e->sym->storage != ST_VIEW || !e->sym->is_const || !e->sym->base ||
        e->otherwise || e->type.dtype != e->sym->type.dtype || e->indices < 1 || e->indices > 2)
        return false;
    for (int i = 0; i < e->indices; i++)
        if (e->index[i].kind != IX_SLICE && e->index[i].kind != IX_ELEMENT)
            return false;
    return (e->indices == MAX_RANK || !e->sym->dims[e->indices]) &&
           e->index[e->indices - 1].kind == IX_SLICE;
}

/* Returns the operand of an operation that repeats each row, and the number of times. */
static const struct expr *without_repeat(const struct expr *e, int64_t *times)
{
    *times = 1;
    if (e->op != OP_REPEAT_INTERLEAVE || e->type.rank != 2)
        return e;
    const struct type *of = &e->args[0]->type;
    if (of->rank != 2 || of->extent[1] != e->type.extent[1])
        return e;
    *times = e->type.extent[0] / of->extent[0];
    return e->args[0];
}

static bool is_codes(const struct reading *r, const struct expr *e, int64_t times)
{
    const enum dtype t = e->type.dtype;
    return dtype_is_byte_int(t) && is_part(e) && e->type.rank == 2 && e->indices == 2 &&
           times <= MOST_REPEAT && e->type.extent[0] * times == r->depth &&
           e->type.extent[1] == r->columns;
}

/* Finds the only tile of codes in e. false: there are two. */
static bool find_codes(struct reading *r, const struct expr *e)
{
    int64_t times;
    const struct expr *of = without_repeat(e, &times);
    if (is_codes(r, of, times)) {
        bool first = !r->w->codes || (is_same_tile(of, r->w->codes) && r->w->repeat == times);
        r->w->codes = of;
        r->w->repeat = times;
        return first;
    }
    for (int i = 0; i < e->count; i++)
        if (!find_codes(r, e->args[i]))
            return false;
    return true;
}

static bool has(const struct expr *e, const struct expr *part)
{
    bool found = is_same_tile(e, part);
    for (int i = 0; i < e->count && !found; i++)
        found = has(e->args[i], part);
    return found;
}

static bool is_rounded(enum dtype t)
{
    return t == DT_F32 || dtype_is_half(t);
}

/* Reads a row of scales, with casts that keep its values. Returns its index, -1: it is not one. */
static int read_scale(struct reading *r, const struct expr *e)
{
    struct weights *w = r->w;
    while (e->op == OP_CAST) {
        enum dtype from = e->args[0]->type.dtype, to = e->type.dtype;
        bool keeps = from == to || (is_rounded(from) && to == DT_F32) ||
                     (dtype_is_byte_int(from) && (is_rounded(to) || to == DT_I32));
        if (!keeps)
            return -1;
        e = e->args[0];
    }
    int64_t times, rows = 1;
    const struct expr *of = without_repeat(e, &times);
    if (!is_part(of) || of->type.extent[of->type.rank - 1] != r->columns ||
        !(is_rounded(of->type.dtype) || dtype_is_byte_int(of->type.dtype)) ||
        w->scales == MOST_SCALES)
        return -1;
    if (of->type.rank == 2)
        rows = of->type.extent[0];
    if (rows * times != r->depth && (rows != 1 || times != 1))
        return -1;
    w->scale[w->scales] = of;
    w->every[w->scales] = of->indices == 2 ? r->depth / rows : 0;
    return w->scales++;
}

/* --- the operand --- */

static bool add_step(struct reading *r, struct weight_step step)
{
    struct weights *w = r->w;
    if (w->steps == MOST_WEIGHT_STEPS)
        return false;
    w->step[w->steps++] = step;
    return true;
}

/* Fills the table with the values of e, which has no scale. */
static bool tabulate(struct reading *r, const struct expr *e)
{
    struct weights *w = r->w;
    struct literal v;
    if (!is_rounded(e->type.dtype) && e->type.dtype != DT_I32 && !dtype_is_byte_int(e->type.dtype))
        return false;
    for (int64_t k = 0; k < w->repeat; k++)
        for (int64_t code = 0; code < CODES; code++) {
            int64_t as = w->codes->type.dtype == DT_I8 ? (int8_t)code : code;
            const struct place p = {r->depth, k, w->codes, as};
            if (!evaluate(e, &p, &v))
                return false;
            double x = dtype_is_float(e->type.dtype) ? v.f : (double)v.i;
            w->value[k][code] = (float)x;
            if (!((double)w->value[k][code] == x))
                return false;
            r->most = fabs(x) > r->most ? fabs(x) : r->most;
        }
    return true;
}

/* Returns whether parts of e that have no codes are the same in all steps at the same place of their
 * bytes. */
static bool repeats(const struct reading *r, const struct expr *e)
{
    if (has(e, r->w->codes)) {
        bool same = true;
        for (int i = 0; i < e->count && same; i++)
            same = repeats(r, e->args[i]);
        return same;
    }
    for (int64_t k = 0; k < r->depth; k++) {
        struct literal x, first;
        const struct place p = {r->depth, k, NULL, 0}, q = {r->depth, k % r->w->repeat, NULL, 0};
        if (!evaluate(e, &p, &x) || !evaluate(e, &q, &first))
            return false;
        if (dtype_is_float(e->type.dtype) ? !(x.f == first.f) : x.i != first.i)
            return false;
    }
    return true;
}

static bool read(struct reading *r, const struct expr *e);

/* Reads an operation with a row of scales. */
static bool read_scaled(struct reading *r, const struct expr *e)
{
    if ((e->op != OP_MUL && e->op != OP_ADD && e->op != OP_SUB) || e->count != 2)
        return false;
    const enum dtype t = e->type.dtype;
    const int other = has(e->args[0], r->w->codes) ? 1 : 0;
    if (has(e->args[other], r->w->codes) || !read(r, e->args[1 - other]))
        return false;
    int scale = read_scale(r, e->args[other]);
    if (scale < 0)
        return false;
    for (int i = 0; i < 2; i++) {
        const enum dtype from = e->args[i]->type.dtype;
        if (from != t && !(t == DT_F32 && is_rounded(from)))
            return false;
    }
    if (t == DT_I32) { /* exact in f32 */
        if (e->op == OP_MUL || r->most > MOST_INTEGER ||
            !dtype_is_byte_int(r->w->scale[scale]->type.dtype))
            return false;
        r->most += MOST_INTEGER;
    }
    return add_step(r, (struct weight_step){e->op, other == 0, scale, t == DT_I32 ? DT_F32 : t});
}

/* Reads e, which has the codes. */
static bool read(struct reading *r, const struct expr *e)
{
    struct literal v;
    if (evaluate(e, &(struct place){r->depth, 0, r->w->codes, 0}, &v))
        return repeats(r, e) && tabulate(r, e);
    if (e->op != OP_CAST)
        return (is_rounded(e->type.dtype) || e->type.dtype == DT_I32) && read_scaled(r, e);
    const enum dtype from = e->args[0]->type.dtype, to = e->type.dtype;
    if (!is_rounded(to) || !(is_rounded(from) || from == DT_I32) || !read(r, e->args[0]))
        return false;
    return to == DT_F32 || add_step(r, (struct weight_step){OP_CAST, false, 0, to});
}

bool weights_read(const struct expr *e, struct weights *w)
{
    if (e->type.rank != 2 || !is_rounded(e->type.dtype))
        return false;
    struct reading r = {w, e->type.extent[0], e->type.extent[1], 0};
    w->codes = NULL;
    w->scales = w->steps = 0;
    return find_codes(&r, e) && w->codes && r.depth % w->repeat == 0 && read(&r, e);
}

bool weights_are_codes(const struct weights *w)
{
    bool same = w->scales == 0 && w->steps == 0 && w->repeat == 1;
    for (int code = 0; code < CODES && same; code++)
        same =
            w->value[0][code] == (float)(w->codes->type.dtype == DT_I8 ? (int)(int8_t)code : code);
    return same;
}
