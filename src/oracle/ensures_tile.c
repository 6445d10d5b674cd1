/* Tiles of the oracle: memory, broadcasting, elementwise ops over threads. */
#include "oracle/ensures_internal.h"

#include "base/number.h"
#include "base/platform.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

/* --- memory: pieces of the arena that are reused --- */

struct piece {
    struct piece *next; /* next free piece, while this one is free */
    size_t bytes;       /* after this header */
};
enum { PIECE_HEADER = 16 };
_Static_assert(sizeof(struct piece) <= PIECE_HEADER, "what follows is aligned to 16");

void *oracle_memory(struct oracle *o, size_t bytes)
{
    for (struct piece **at = &o->pieces; *at; at = &(*at)->next)
        if ((*at)->bytes >= bytes && (*at)->bytes / 2 <= bytes) {
            struct piece *p = *at;
            *at = p->next;
            return (char *)p + PIECE_HEADER;
        }
    struct piece *p = arena_alloc(o->arena, bytes + PIECE_HEADER);
    p->bytes = bytes;
    return (char *)p + PIECE_HEADER;
}

void oracle_memory_free(struct oracle *o, void *memory)
{
    if (!memory)
        return;
    struct piece *p = (struct piece *)(void *)((char *)memory - PIECE_HEADER);
    p->next = o->pieces;
    o->pieces = p;
}

struct oracle_tile oracle_tile_new(struct oracle *o, enum dtype t, int rank, const int64_t *extent,
                                   bool with_error)
{
    struct oracle_tile x = {.dtype = t, .rank = rank, .count = 1};
    for (int i = 0; i < rank; i++) {
        x.extent[i] = extent[i];
        x.count *= extent[i];
    }
    size_t bytes = (size_t)x.count * sizeof(double);
    if (dtype_is_float(t))
        x.v = oracle_memory(o, bytes);
    else
        x.i = oracle_memory(o, bytes);
    if (with_error)
        x.error = oracle_memory(o, bytes);
    return x;
}

struct oracle_tile oracle_tile_scalar(struct oracle *o, enum dtype t, struct number x)
{
    struct oracle_tile s = oracle_tile_new(o, t, 0, NULL, x.error != 0);
    oracle_tile_put(&s, 0, x);
    return s;
}

void oracle_tile_free(struct oracle *o, struct oracle_tile *x)
{
    oracle_memory_free(o, x->v);
    oracle_memory_free(o, x->i);
    oracle_memory_free(o, x->error);
    x->v = x->error = NULL;
    x->i = NULL;
}

struct oracle_tile oracle_tile_copy(struct oracle *o, const struct oracle_tile *x)
{
    struct oracle_tile copy = oracle_tile_new(o, x->dtype, x->rank, x->extent, x->error != NULL);
    size_t bytes = (size_t)x->count * sizeof(double);
    if (bytes)
        memcpy(x->v ? (void *)copy.v : (void *)copy.i, x->v ? (void *)x->v : (void *)x->i, bytes);
    if (bytes && x->error)
        memcpy(copy.error, x->error, bytes);
    return copy;
}

struct number oracle_tile_get(const struct oracle_tile *x, int64_t at)
{
    double error = x->error ? x->error[at] : 0;
    return x->v ? (struct number){.v = x->v[at], .error = error}
                : (struct number){.i = x->i[at], .error = error};
}

void oracle_tile_put(struct oracle_tile *x, int64_t at, struct number n)
{
    if (x->v)
        x->v[at] = n.v;
    else
        x->i[at] = n.i;
    if (x->error)
        x->error[at] = n.error;
}

const char *oracle_tile_shape_text(struct oracle *o, const struct oracle_tile *x)
{
    struct text out;
    text_init(&out, o->arena);
    text_add(&out, dtype_table[x->dtype].name);
    for (int i = 0; i < x->rank; i++)
        text_printf(&out, "[%lld]", (long long)x->extent[i]);
    return out.data;
}

void oracle_outside(struct oracle *o)
{
    o->report->outside |= !o->report->message[0]; /* the first message counts */
}

bool oracle_fail(struct oracle *o, const char *format, ...)
{
    if (o->report->message[0])
        return false;
    va_list args;
    va_start(args, format);
    number_vformat(o->report->message, sizeof o->report->message, format, args);
    va_end(args);
    return false;
}

/* --- threads --- */

/* LEAST_WORK: nanoseconds of work for which starting threads pays. WORK_AT_ONCE: nanoseconds of
 * work between two polls of the caller. */
enum { LEAST_WORK = 400000, MOST_THREADS = 64, WORK_AT_ONCE = 50000000 };

struct split {
    void (*body)(void *user, int64_t begin, int64_t end);
    void *user;
    int64_t from, count;
    int parts;
};

/* Returns the first element of part `index` of `parts`. */
static int64_t part_begin(int64_t count, int64_t parts, int64_t index)
{
    return count / parts * index + count % parts * index / parts;
}

static void run_part(void *user, int index)
{
    const struct split *s = user;
    int64_t begin = part_begin(s->count, s->parts, index);
    int64_t end = part_begin(s->count, s->parts, index + 1);
    if (begin < end)
        s->body(s->user, s->from + begin, s->from + end);
}

void oracle_parallel(const struct oracle *o, int64_t count, double work,
                     void (*body)(void *user, int64_t begin, int64_t end), void *user)
{
    int threads = o->parallel.threads < MOST_THREADS ? o->parallel.threads : MOST_THREADS;
    bool alone = work < LEAST_WORK || !o->parallel.run || threads <= 1 || count < 2;
    double rounds = work / WORK_AT_ONCE / (alone ? 1 : threads);
    int64_t turns = rounds < 1 ? 1 : rounds < (double)count ? (int64_t)rounds : count;
    for (int64_t t = 0; t < turns; t++) {
        int64_t begin = part_begin(count, turns, t), end = part_begin(count, turns, t + 1);
        struct split s = {body, user, begin, end - begin, alone ? 1 : threads};
        arena_ask(o->arena);
        if (alone)
            run_part(&s, 0);
        else
            o->parallel.run(o->parallel.user, threads, run_part, &s);
    }
}

/* --- broadcasting --- */

bool oracle_tile_strides(const struct oracle_tile *x, int rank, const int64_t *extent,
                         int64_t *strides)
{
    int64_t step = 1;
    for (int i = 0; i < rank; i++)
        strides[i] = 0;
    for (int from = x->rank - 1; from >= 0; from--) {
        int to = from + rank - x->rank;
        bool stretched = x->extent[from] == 1;
        if (stretched ? false : to < 0 || x->extent[from] != extent[to])
            return false;
        if (!stretched)
            strides[to] = step;
        step *= x->extent[from];
    }
    return true;
}

struct elementwise {
    const struct rule *rule;
    const struct oracle_tile *args;
    int count;
    int64_t strides[RULE_OPERANDS][MAX_RANK];
    struct oracle_tile *out;
    int64_t row;        /* elements of the last axis */
    atomic_bool failed; /* set by any thread */
};

/* Returns where row `index` of the result begins in operand `arg`. */
static int64_t row_start(const struct elementwise *w, int arg, int64_t index)
{
    int64_t at = 0;
    for (int axis = w->out->rank - 2; axis >= 0; axis--) {
        at += index % w->out->extent[axis] * w->strides[arg][axis];
        index /= w->out->extent[axis];
    }
    return at;
}

/* One row of an operand. */
struct run {
    const double *v, *error; /* error NULL: exact */
    int64_t step;            /* 0: the same element for the whole row */
};

/* Computes sums, differences and products of finite floats, by far the most frequent ops, with
 * the same result as oracle_rule_apply. Stops with false at an element *at that needs oracle_rule_apply. */
static bool apply_plain(const struct rule *r, const struct run *a, const struct run *b, double *v,
                        double *error, int64_t count, int64_t *at)
{
    for (int64_t i = *at; i < count; i++) {
        double x = a->v[i * a->step], y = b->v[i * b->step];
        double ex = a->error ? a->error[i * a->step] : 0;
        double ey = b->error ? b->error[i * b->step] : 0;
        double value = r->op == OP_MUL ? x * y : r->op == OP_ADD ? x + y : x - y;
        double bound = r->op == OP_MUL ? fabs(x) * ey + fabs(y) * ex + ex * ey : ex + ey;
        double size = fabs(value) + bound;
        if (!(size > 0 && size < r->overflow / 2)) {
            *at = i;
            return false;
        }
        v[i] = value;
        error[i] = bound + r->unit * size + r->half_step;
    }
    return true;
}

static bool is_plain(const struct elementwise *w)
{
    const struct rule *r = w->rule;
    bool plain = r->op == OP_ADD || r->op == OP_SUB || r->op == OP_MUL;
    return plain && !r->converts && w->out->v && w->args[0].v && w->args[1].v;
}

/* Computes row `row` of the result, from element `from` of the row up to `end`. */
static bool apply_run(struct elementwise *w, int64_t row, int64_t from, int64_t end)
{
    int64_t at[RULE_OPERANDS] = {0}, step[RULE_OPERANDS] = {0};
    for (int a = 0; a < w->count; a++) {
        at[a] = row_start(w, a, row);
        step[a] = w->out->rank ? w->strides[a][w->out->rank - 1] : 0;
    }
    for (int64_t i = from; i < end; i++) {
        struct number x[RULE_OPERANDS], result;
        for (int a = 0; a < w->count; a++)
            x[a] = oracle_tile_get(&w->args[a], at[a] + i * step[a]);
        if (!oracle_rule_apply(w->rule, x, &result))
            return false;
        oracle_tile_put(w->out, row * w->row + i, result);
    }
    return true;
}

static struct run row_of(const struct elementwise *w, int arg, int64_t row)
{
    const struct oracle_tile *x = &w->args[arg];
    int64_t at = row_start(w, arg, row);
    return (struct run){.v = x->v + at,
                        .error = x->error ? x->error + at : NULL,
                        .step = w->out->rank ? w->strides[arg][w->out->rank - 1] : 0};
}

static void apply_rows(void *user, int64_t begin, int64_t end)
{
    struct elementwise *w = user;
    bool plain = is_plain(w);
    for (int64_t row = begin; row < end; row++) {
        if (!plain) {
            if (!apply_run(w, row, 0, w->row)) {
                w->failed = true;
                return;
            }
            continue;
        }
        struct run a = row_of(w, 0, row), b = row_of(w, 1, row);
        double *v = w->out->v + row * w->row, *error = w->out->error + row * w->row;
        for (int64_t at = 0; !apply_plain(w->rule, &a, &b, v, error, w->row, &at); at++)
            apply_run(w, row, at, at + 1);
    }
}

static bool common_shape(struct oracle *o, const struct oracle_tile *args, int count, int *rank,
                         int64_t *extent)
{
    *rank = 0;
    for (int a = 0; a < count; a++)
        *rank = args[a].rank > *rank ? args[a].rank : *rank;
    for (int i = 0; i < *rank; i++)
        extent[i] = 1;
    for (int a = 0; a < count; a++)
        for (int i = 0; i < args[a].rank; i++) {
            int64_t *to = &extent[i + *rank - args[a].rank];
            if (args[a].extent[i] == 1)
                continue;
            if (*to != 1 && *to != args[a].extent[i])
                return oracle_fail(o, "shapes do not match: %s and %s",
                                   oracle_tile_shape_text(o, &args[0]),
                                   oracle_tile_shape_text(o, &args[a]));
            *to = args[a].extent[i];
        }
    return true;
}

enum { ELEMENT_WORK = 8 }; /* nanoseconds for each element, about */

bool oracle_tile_elementwise(struct oracle *o, const struct rule *rule, struct oracle_tile *args,
                             int count, struct oracle_tile *out)
{
    int rank;
    int64_t extent[MAX_RANK] = {0};
    if (!common_shape(o, args, count, &rank, extent))
        return false;
    bool exact = oracle_rule_keeps_exact(rule);
    for (int a = 0; a < count; a++)
        exact = exact && !args[a].error;
    *out = oracle_tile_new(o, rule->type, rank, extent, !exact);
    struct elementwise w = {.rule = rule, .args = args, .count = count, .out = out};
    for (int a = 0; a < count; a++)
        oracle_tile_strides(&args[a], rank, extent, w.strides[a]);
    w.row = rank ? extent[rank - 1] : 1;
    if (out->count > 0)
        oracle_parallel(o, out->count / w.row, (double)out->count * ELEMENT_WORK, apply_rows, &w);
    for (int a = 0; a < count; a++)
        oracle_tile_free(o, &args[a]);
    return !w.failed ||
           oracle_fail(o, "`%s` has no value (division by zero?)", op_table[rule->op].text);
}

bool oracle_eval_int(struct oracle *o, const struct expr *e, int64_t *out)
{
    struct oracle_tile x;
    if (!oracle_eval(o, e, NULL, &x))
        return false;
    bool usable = x.count == 1 && x.i && !(x.error && x.error[0] != 0);
    if (usable)
        *out = x.i[0];
    oracle_tile_free(o, &x);
    return usable || oracle_fail(o, "an index or extent is not an exact integer");
}
