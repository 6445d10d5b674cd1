#include "base/text.h"
#include "tile/numbering.h"

#include <assert.h>
#include <string.h>

int kernel_block_threads(const struct kernel *k)
{
    if (!kernel_thread_level(k))
        return k->warps * WARP_LANES;
    int threads = 1;
    for (int axis = 0; axis < 3; axis++)
        threads *= k->threads[axis] > 0 ? k->threads[axis] : 1;
    return threads;
}

/* --- types --- */

struct type type_scalar(enum dtype t)
{
    return (struct type){.dtype = t};
}

struct type type_tile(enum dtype t, int rank, const int64_t *extent)
{
    assert(rank >= 0 && rank <= MAX_RANK);
    struct type type = {.dtype = t, .rank = rank};
    for (int i = 0; i < rank; i++)
        type.extent[i] = extent[i];
    return type;
}

bool type_same_shape(const struct type *a, const struct type *b)
{
    if (a->rank != b->rank)
        return false;
    for (int i = 0; i < a->rank; i++)
        if (a->extent[i] != b->extent[i])
            return false;
    return true;
}

int64_t type_elements(const struct type *t)
{
    int64_t elements = 1;
    for (int i = 0; i < t->rank; i++)
        elements *= t->extent[i];
    return elements;
}

int64_t type_bytes(const struct type *t)
{
    return type_elements(t) * (int64_t)dtype_size(t->dtype);
}

/* Joins the extents of one axis. A known extent other than 1 wins over one that is known only at
 * the launch. Returns false if the extents do not fit. */
static bool broadcast_extent(int64_t a, int64_t b, int64_t *out)
{
    *out = a == 1 || (a == EXTENT_RUNTIME && b != 1) ? b : a;
    return a == b || a == 1 || b == 1 || a == EXTENT_RUNTIME || b == EXTENT_RUNTIME;
}

bool type_broadcast(const struct type *a, const struct type *b, struct type *out)
{
    struct type result = {.dtype = a->dtype, .varying = a->varying || b->varying};
    result.rank = a->rank > b->rank ? a->rank : b->rank;
    for (int i = 1; i <= result.rank; i++) { /* from the last axis on */
        int64_t extent_a = i <= a->rank ? a->extent[a->rank - i] : 1;
        int64_t extent_b = i <= b->rank ? b->extent[b->rank - i] : 1;
        if (!broadcast_extent(extent_a, extent_b, &result.extent[result.rank - i]))
            return false;
    }
    *out = result;
    return true;
}

const char *type_text(struct arena *a, const struct type *t)
{
    struct text text;
    text_init(&text, a);
    text_add(&text, t->dtype == DT_NONE ? "nothing" : dtype_table[t->dtype].name);
    for (int i = 0; i < t->rank; i++) {
        if (t->extent[i] == EXTENT_RUNTIME)
            text_add(&text, "[?]");
        else
            text_printf(&text, "[%lld]", (long long)t->extent[i]);
    }
    return text.data;
}

/* --- kernels and symbols --- */

struct kernel *kernel_new(struct arena *a, const char *name, struct loc loc)
{
    struct kernel *k = arena_new(a, struct kernel);
    k->resident = -1;
    k->arena = a;
    k->name = name;
    k->loc = loc;
    k->last_symbol = &k->symbols;
    return k;
}

const char *kernel_unused_name(struct kernel *k, const char *name)
{
    const char *tried = name;
    for (int i = 1;; i++) {
        const struct sym *s = k->symbols;
        while (s && strcmp(s->name, tried) != 0)
            s = s->next;
        if (!s)
            return tried;
        tried = arena_printf(k->arena, "%s_%d", name, i);
    }
}

/* Makes a symbol. The index of a parameter is its number among the parameters; the caller links
 * it into k->params. */
struct sym *sym_new(struct kernel *k, const char *name, enum storage storage, struct type type,
                    struct loc loc)
{
    struct sym *s = arena_new(k->arena, struct sym);
    s->name = s->written = name;
    s->storage = storage;
    s->type = type;
    s->loc = loc;
    s->offset = -1;
    s->index = k->symbol_count++;
    if (storage == ST_PARAM)
        s->index = k->param_symbols++;
    *k->last_symbol = s;
    k->last_symbol = &s->next;
    return s;
}

void numbering_init(struct numbering *n, struct arena *a, const struct kernel *k)
{
    bool added;
    *n = (struct numbering){.count = 0};
    for (const struct sym *s = k->symbols; s; s = s->next)
        number_map_entry(a, &n->numbers, (uintptr_t)s, &added)->value = (uint64_t)n->count++;
}

int numbering_of(const struct numbering *n, const struct sym *s)
{
    const struct number_entry *found = number_map_find(&n->numbers, (uintptr_t)s);
    return found ? (int)found->value : -1;
}

/* --- expressions --- */

struct expr *expr_new(struct kernel *k, enum op op, struct type type, struct loc loc, int count)
{
    assert((unsigned)op < OP_COUNT && count >= 0);
    struct expr *e = arena_new(k->arena, struct expr);
    e->op = op;
    e->type = type;
    e->loc = loc;
    e->count = count;
    if (count > 0)
        e->args = arena_array(k->arena, struct expr *, count);
    return e;
}

struct expr *expr_unary(struct kernel *k, enum op op, struct type type, struct loc loc,
                        struct expr *a)
{
    struct expr *e = expr_new(k, op, type, loc, 1);
    assert(a);
    e->args[0] = a;
    return e;
}

struct expr *expr_binary(struct kernel *k, enum op op, struct type type, struct loc loc,
                         struct expr *a, struct expr *b)
{
    struct expr *e = expr_new(k, op, type, loc, 2);
    assert(a && b);
    e->args[0] = a;
    e->args[1] = b;
    return e;
}

struct expr *expr_int(struct kernel *k, enum dtype t, int64_t v, struct loc loc)
{
    struct expr *e = expr_new(k, OP_LITERAL, type_scalar(t), loc, 0);
    e->literal = (struct literal){.i = v};
    return e;
}

struct expr *expr_float(struct kernel *k, enum dtype t, double v, struct loc loc)
{
    struct expr *e = expr_new(k, OP_LITERAL, type_scalar(t), loc, 0);
    e->literal = (struct literal){.is_float = true, .f = v};
    return e;
}

struct expr *expr_ref(struct kernel *k, struct sym *s, struct loc loc)
{
    struct expr *e = expr_new(k, OP_REF, s->type, loc, 0);
    e->sym = s;
    return e;
}

struct expr *expr_access(struct kernel *k, struct sym *s, int indices, struct loc loc)
{
    assert(indices >= 0 && indices <= MAX_RANK);
    struct expr *e = expr_new(k, OP_ACCESS, type_scalar(s->type.dtype), loc, 0);
    e->sym = s;
    e->indices = indices;
    if (indices > 0)
        e->index = arena_array(k->arena, struct index, indices);
    return e;
}

struct expr *expr_cast(struct kernel *k, struct expr *x, enum dtype t)
{
    if (x->type.dtype == t)
        return x;
    struct type type = x->type;
    type.dtype = t;
    return expr_unary(k, OP_CAST, type, x->loc, x);
}

struct expr *expr_copy(struct kernel *k, const struct expr *x)
{
    if (!x)
        return NULL;
    struct expr *copy = arena_new(k->arena, struct expr);
    *copy = *x;
    if (x->count > 0)
        copy->args = arena_array(k->arena, struct expr *, x->count);
    for (int i = 0; i < x->count; i++)
        copy->args[i] = expr_copy(k, x->args[i]);
    if (x->indices > 0)
        copy->index = arena_array(k->arena, struct index, x->indices);
    for (int i = 0; i < x->indices; i++) {
        copy->index[i] = x->index[i];
        copy->index[i].value = expr_copy(k, x->index[i].value);
    }
    copy->otherwise = expr_copy(k, x->otherwise);
    return copy;
}

void literal_store(enum dtype t, void *to, const struct literal *v)
{
    if (dtype_is_float(t))
        dtype_store_f64(t, to, v->is_float ? v->f : (double)v->i);
    else
        dtype_store_i64(t, to, v->i);
}

bool literal_same(struct literal a, struct literal b)
{
    if (a.is_float != b.is_float)
        return false;
    return a.is_float ? memcmp(&a.f, &b.f, sizeof a.f) == 0 : a.i == b.i;
}

static bool same_index(const struct index *a, const struct index *b)
{
    return a->kind == b->kind && a->inside == b->inside &&
           (a->kind != IX_SLICE || a->extent == b->extent) && expr_same(a->value, b->value);
}

static bool same_node(const struct expr *a, const struct expr *b)
{
    if (a->op != b->op || a->type.dtype != b->type.dtype || !type_same_shape(&a->type, &b->type) ||
        a->count != b->count || a->indices != b->indices || a->sym != b->sym || a->axis != b->axis)
        return false;
    if (a->op == OP_LITERAL && !literal_same(a->literal, b->literal))
        return false;
    if (a->op != OP_ACCESS && !by_same(a->by, b->by)) /* who moves a part changes no value */
        return false;
    if (a->op == OP_SCAN && (a->scan_op != b->scan_op || a->exclusive != b->exclusive))
        return false;
    if (!a->label || !b->label)
        return a->label == b->label;
    return strcmp(a->label, b->label) == 0;
}

bool expr_is_integer(const struct expr *e, int64_t *value)
{
    bool is = e && e->op == OP_LITERAL && !dtype_is_float(e->type.dtype);
    *value = is ? e->literal.i : 0;
    return is;
}

bool expr_same(const struct expr *a, const struct expr *b)
{
    if (!a || !b)
        return a == b;
    if (!same_node(a, b))
        return false;
    for (int i = 0; i < a->count; i++)
        if (!expr_same(a->args[i], b->args[i]))
            return false;
    for (int i = 0; i < a->indices; i++)
        if (!same_index(&a->index[i], &b->index[i]))
            return false;
    return expr_same(a->otherwise, b->otherwise);
}

/* --- statements --- */

struct stmt *stmt_new(struct kernel *k, enum stmt_kind kind, struct loc loc)
{
    struct stmt *s = arena_new(k->arena, struct stmt);
    s->kind = kind;
    s->loc = loc;
    return s;
}

/* Makes a statement without a result. Its type is not used and is a scalar i32. */
struct stmt *stmt_effect(struct kernel *k, enum op op, struct loc loc, struct expr *arg)
{
    struct stmt *s = stmt_new(k, STMT_EFFECT, loc);
    s->value = expr_new(k, op, type_scalar(DT_I32), loc, arg ? 1 : 0);
    if (arg)
        s->value->args[0] = arg;
    return s;
}
