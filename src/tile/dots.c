/* Finds products that are written without `dot`: loops that add the products of one step of k in
 * each turn become loops of `dot`, which adds the same products in the same order.
 *
 *     reg f32 acc[N] = 0;                         reg f32 acc[N] = 0;
 *     for (i32 p = 0; p < k; p++)                 reg f32 sum0[1][N] = 0;
 *         acc += X[p] * W[p][j +: N];             for (i32 p = 0; p < k; p += D) {
 *                                           =>        reg f32 left0[1][D] = X_1[0 +: 1][p +: D];
 *                                                     reg f32 right0[D][N] = W[p +: D][j +: N];
 *                                                     sum0 = dot(left0, right0, sum0);
 *                                                 }
 *                                                 acc = reshape(sum0, N);
 *
 * A turn adds `column * row` to a tile (A[i +: M][p +: 1] * B[p][j +: N]), or `one * row`, in either
 * order, or `column * one` to a column. Each factor is an element or a slice of a read-only view, at
 * the counter along one axis, or such a value after a conversion that keeps it; variables of the
 * turn may hold it. `fma` of the same steps in the same order gives the same bits as `dot`, and
 * integers wrap in any order. The counter must stay inside the views, because an element outside is
 * a fault, which slices do not report. Turns that are left over keep the original loop.
 *
 * A sum in another order stays as it is: `sum(X * W[r +: R], axis = 1)` rounds each product, and adds
 * partial sums in the order of `sum`. */
#include "tile/passes.h"

#include <math.h>

enum {
    DEEP = 512,    /* steps that become one turn, if their number is known */
    USUAL = 64,    /* and if it is not known */
    SHALLOW = 16,  /* steps that are not worth a turn */
    FEWEST = 8,    /* elements of a sum that are worth it */
    MOST_SUMS = 4, /* of a loop */
    MOST_VARIABLES = 8
};

/* A factor of the products. */
struct factor {
    const struct expr *access;
    int step_at, slice_at; /* its indices: the counter; a slice or, in a factor of one element, an
                            * element that gets an axis of its own; -1: none, so the view gets one */
    int64_t extent;        /* elements of a turn */
    bool is_column;        /* they lie along the last axis but one of the sum */
};

struct sum {
    const struct stmt *of;
    struct factor left, right;
    int64_t rows, columns; /* of the product */
    struct sym *product;   /* the sum of products; it is not the tile itself if the shape differs */
};

struct loop {
    struct kernel *kernel;
    struct stmt *of, **first; /* the link to the list of the loop */
    const struct sym *counter;
    const struct expr *limit;
    int64_t start, depth;
    bool rest; /* turns may be left over */
    int sums, variables;
    struct sum sum[MOST_SUMS];
    const struct stmt *variable[MOST_VARIABLES];
};

static bool is_counter(const struct loop *l, const struct expr *e)
{
    return e->op == OP_REF && e->sym == l->counter;
}

/* --- factors --- */

/* Returns whether e has the same value in all turns, and reads no memory. */
static bool is_fixed(const struct loop *l, const struct expr *e)
{
    bool fixed = op_table[e->op].flags & OP_PURE && e->type.rank == 0 && !op_divides(e->op);
    if (e->op == OP_REF) {
        fixed &= e->sym != l->counter;
        for (int i = 0; i < l->variables; i++)
            fixed &= e->sym != l->variable[i]->sym;
    }
    for (int i = 0; i < e->count && fixed; i++)
        fixed = is_fixed(l, e->args[i]);
    return fixed;
}

static const struct expr *without_widening(const struct expr *e)
{
    bool widens = e->op == OP_CAST && e->type.dtype == DT_I64 && e->args[0]->type.dtype == DT_I32;
    return widens ? e->args[0] : e;
}

/* Returns whether all turns stay inside an axis of this extent. */
static bool stays_inside(const struct loop *l, const struct expr *dim)
{
    int64_t limit, extent;
    dim = without_widening(dim);
    if (expr_is_integer(l->limit, &limit) && expr_is_integer(dim, &extent))
        return limit <= extent;
    return expr_same(dim, l->limit);
}

/* Returns whether an element of the axis, the same in all turns, cannot lie outside. */
static bool is_inside(const struct loop *l, const struct expr *e, const struct expr *dim)
{
    int64_t at, extent;
    dim = without_widening(dim);
    if (expr_is_integer(e, &at))
        return expr_is_integer(dim, &extent) && at >= 0 && at < extent;
    const struct expr *blocks = e->op == OP_BLOCK ? l->kernel->grid[e->axis] : NULL;
    return blocks && expr_same(blocks, dim);
}

static bool read_index(const struct loop *l, struct factor *f, int i)
{
    const struct index *index = &f->access->index[i];
    if (index->kind != IX_ELEMENT && index->kind != IX_SLICE)
        return false;
    if (is_counter(l, index->value) && (index->kind == IX_ELEMENT || index->extent == 1)) {
        bool first = f->step_at < 0;
        f->step_at = i;
        return first && !index->promised && stays_inside(l, f->access->sym->dims[i]);
    }
    if (index->kind == IX_SLICE) {
        bool first = f->slice_at < 0;
        f->slice_at = i;
        f->extent = index->extent;
        return first && !index->promised && is_fixed(l, index->value);
    }
    return is_fixed(l, index->value);
}

/* Gives a factor of one element an axis: an element that cannot lie outside becomes a slice. */
static bool add_axis(const struct loop *l, struct factor *f)
{
    const struct sym *view = f->access->sym;
    for (int i = 0; i < f->access->indices && f->slice_at < 0; i++)
        if (i != f->step_at && is_inside(l, f->access->index[i].value, view->dims[i]))
            f->slice_at = i;
    if (f->slice_at >= 0)
        return true;
    const struct stmt *s = l->kernel->body;
    while (s && !(s->kind == STMT_DECL && s->sym == view))
        s = s->next;
    return s && view->type.rank == 1 && !view->strides[0]; /* a view of one row can be declared */
}

/* Reads an access as a factor of products that are added to a tile of type `to`. */
static bool read_access(const struct loop *l, struct factor *f, const struct type *to)
{
    const struct expr *e = f->access;
    if (e->op != OP_ACCESS || e->sym->storage != ST_VIEW || !e->sym->is_const || !e->sym->base ||
        e->otherwise || e->type.dtype != e->sym->type.dtype || e->indices != e->sym->type.rank)
        return false;
    for (int i = 0; i < e->indices; i++)
        if (!read_index(l, f, i))
            return false;
    if (f->step_at < 0)
        return false;
    int at = 0; /* the axis of the sum, from the last one on, along which it has elements */
    for (int i = e->type.rank - 1; i >= 0 && e->type.extent[i] == 1; i--)
        at++;
    if (f->slice_at < 0 || f->extent == 1)
        return f->slice_at >= 0 || add_axis(l, f);
    f->is_column = at == 1;
    return at <= 1 && to->rank > at && to->extent[to->rank - 1 - at] == f->extent;
}

/* Returns whether products of factors of this type are exact in the type of the sum, so that `dot`
 * and `fma` round alike, and the engine packs them. */
static bool takes_type(enum dtype from, enum dtype sum)
{
    if (sum == DT_I32)
        return dtype_is_byte_int(from);
    return (from == sum && (sum == DT_F32 || sum == DT_F64)) ||
           (sum == DT_F32 && dtype_is_float(from) && dtype_size(from) < dtype_size(DT_F32));
}

/* Returns the variable of the turn that the expression names; NULL: none. */
static const struct stmt *variable_of(const struct loop *l, const struct expr *e)
{
    for (int i = 0; e->op == OP_REF && i < l->variables; i++)
        if (l->variable[i]->sym == e->sym)
            return l->variable[i];
    return NULL;
}

static bool read_factor(const struct loop *l, struct factor *f, const struct expr *e,
                        const struct type *to)
{
    const struct stmt *variable;
    const enum dtype sum = to->dtype;
    *f = (struct factor){.step_at = -1, .slice_at = -1, .extent = 1};
    if (e->type.dtype != sum)
        return false;
    while ((variable = variable_of(l, e)) || e->op == OP_CAST) {
        if (variable ? !type_same_shape(&variable->sym->type, &variable->value->type)
                     : e->type.dtype != sum) /* a conversion to a smaller type rounds */
            return false;
        e = variable ? variable->value : e->args[0];
        if (e->type.dtype != sum && !takes_type(e->type.dtype, sum))
            return false;
    }
    f->access = e;
    return takes_type(e->type.dtype, sum) && read_access(l, f, to);
}

/* --- sums --- */

/* Decides which factor is the left operand. false: their product is not one of matrices. */
static bool arrange(struct sum *s, const struct factor *x, const struct factor *y,
                    const struct type *to)
{
    const int64_t columns = to->extent[to->rank - 1], rows = to->rank > 1 ? to->extent[0] : 1;
    if (y->extent == 1 || (x->extent > 1 && y->is_column)) {
        const struct factor *z = x;
        x = y;
        y = z;
    }
    s->left = *x;
    s->right = *y;
    s->rows = x->extent;
    s->columns = y->extent;
    if (x->extent > 1)
        return x->is_column && !y->is_column && y->extent > 1;
    return y->extent >= FEWEST && (y->is_column ? columns == 1 : rows == 1);
}

static bool read_sum(struct loop *l, const struct stmt *s)
{
    const struct expr *e = s->value, *product = e;
    const struct expr *t = s->target;
    if (l->sums == MOST_SUMS || t->op != OP_REF || t->sym->storage != ST_REG || t->type.rank < 1 ||
        t->type.rank > 2 || !type_same_shape(&t->type, &e->type))
        return false;
    if (e->op == OP_ADD && e->type.dtype == DT_I32) {
        int own = expr_same(e->args[0], t) ? 0 : 1;
        product = e->args[1 - own];
        if (product->op != OP_MUL || !expr_same(e->args[own], t))
            return false;
    } else if (e->op != OP_FMA || !expr_same(e->args[2], t)) {
        return false;
    }
    struct factor x, y;
    struct sum *sum = &l->sum[l->sums++];
    *sum = (struct sum){.of = s};
    return read_factor(l, &x, product->args[0], &t->type) &&
           read_factor(l, &y, product->args[1], &t->type) && arrange(sum, &x, &y, &t->type);
}

static bool read_variable(struct loop *l, const struct stmt *s)
{
    struct factor f;
    const enum storage storage = s->sym->storage;
    if (l->variables == MOST_VARIABLES || (storage != ST_SCALAR && storage != ST_REG) ||
        !s->value || s->value->op != OP_ACCESS || s->value->type.dtype != s->sym->type.dtype)
        return false;
    f = (struct factor){.access = s->value, .step_at = -1, .slice_at = -1, .extent = 1};
    l->variable[l->variables++] = s;
    for (int i = 0; i < f.access->indices; i++)
        if (f.access->sym->storage != ST_VIEW || !read_index(l, &f, i))
            return false;
    return f.step_at >= 0;
}

/* Returns whether the sums are all that the loop changes, and no sum is read in it. */
static bool read_body(struct loop *l)
{
    for (const struct stmt *s = l->of->body; s; s = s->next)
        if (!(s->kind == STMT_DECL     ? read_variable(l, s)
              : s->kind == STMT_ASSIGN ? read_sum(l, s)
                                       : false))
            return false;
    for (int i = 0; i < l->sums; i++)
        if (stmt_mentions(l->of->body, l->sum[i].of->target->sym) != 2)
            return false;
    return l->sums > 0;
}

/* --- the loop --- */

/* Reads for (i32 p = start; p < limit; p++). */
static bool read_counter(struct loop *l)
{
    const struct stmt *s = l->of, *init = s->init, *step = s->step;
    int64_t by;
    if (!init || init->next || init->kind != STMT_DECL || init->sym->storage != ST_SCALAR ||
        init->sym->type.dtype != DT_I32 || init->sym->type.varying || !init->value ||
        !expr_is_integer(init->value, &l->start) || l->start < 0 || s->stages > 0 || !step ||
        step->next || step->kind != STMT_ASSIGN || !s->condition)
        return false;
    l->counter = init->sym;
    const struct expr *next = step->value, *c = s->condition;
    if (step->target->op != OP_REF || step->target->sym != l->counter || next->op != OP_ADD ||
        !is_counter(l, next->args[0]) || !expr_is_integer(next->args[1], &by) || by != 1 ||
        c->op != OP_LT || !is_counter(l, c->args[0]) || c->args[1]->type.dtype != DT_I32)
        return false;
    l->limit = c->args[1];
    return l->limit->op == OP_LITERAL || (l->limit->op == OP_REF && l->limit->sym != l->counter &&
                                          l->limit->sym->storage == ST_PARAM);
}

/* Chooses the steps of a turn. false: there are too few. */
static bool choose_depth(struct loop *l)
{
    int64_t limit;
    l->depth = USUAL;
    l->rest = true;
    if (!expr_is_integer(l->limit, &limit))
        return true;
    int64_t turns = limit - l->start, even = DEEP;
    while (even > SHALLOW && (turns % even != 0 || even > turns))
        even /= 2;
    if (turns >= SHALLOW && turns % even == 0) {
        l->depth = even;
        l->rest = false;
    }
    return turns >= l->depth;
}

/* --- the new statements --- */

static void append(struct stmt ***at, struct stmt *s)
{
    s->next = **at;
    **at = s;
    *at = &s->next;
}

static struct stmt *declaration(struct kernel *k, struct sym *sym, struct expr *value)
{
    struct stmt *s = stmt_new(k, STMT_DECL, value ? value->loc : sym->loc);
    s->sym = sym;
    s->value = value;
    s->added = true;
    return s;
}

static struct stmt *assignment(struct kernel *k, struct sym *sym, struct expr *value)
{
    struct stmt *s = stmt_new(k, STMT_ASSIGN, value->loc);
    s->target = expr_ref(k, sym, value->loc);
    s->value = value;
    s->added = true;
    return s;
}

static struct expr *reshaped(struct kernel *k, const struct sym *from, const struct type *to,
                             struct loc loc)
{
    struct type type = *to;
    type.dtype = from->type.dtype;
    return expr_unary(k, OP_RESHAPE, type, loc, expr_ref(k, (struct sym *)(uintptr_t)from, loc));
}

static struct sym *tile_new(struct kernel *k, const char *name, enum dtype t, int64_t rows,
                            int64_t columns, struct loc loc)
{
    struct type type = type_tile(t, 2, (const int64_t[]){rows, columns});
    return sym_new(k, kernel_unused_name(k, name), ST_REG, type, loc);
}

/* Declares a view of one row with the elements of a view of one axis. */
static struct sym *row_view(struct kernel *k, const struct sym *view)
{
    struct stmt **at = &k->body;
    while ((*at)->sym != view || (*at)->kind != STMT_DECL)
        at = &(*at)->next;
    struct type type = type_tile(view->type.dtype, 2, (const int64_t[]){1, view->type.extent[0]});
    struct sym *row = sym_new(k, kernel_unused_name(k, view->name), ST_VIEW, type, view->loc);
    row->written = view->written;
    row->dims[0] = expr_int(k, DT_I32, 1, view->loc);
    row->dims[1] = view->dims[0];
    row->base = view->base;
    row->base_offset = view->base_offset;
    row->is_const = view->is_const;
    struct stmt *s = declaration(k, row, NULL);
    s->next = (*at)->next;
    (*at)->next = s;
    return row;
}

static struct index slice(struct expr *start, int64_t extent)
{
    return (struct index){.kind = IX_SLICE, .value = start, .extent = extent, .inside = true};
}

/* Returns the factor's elements of all steps of a turn, a part of a view. *turned: the steps lie
 * along its first axis. */
static struct expr *part_of(const struct loop *l, const struct factor *f, bool *turned)
{
    struct kernel *k = l->kernel;
    struct expr *e = expr_copy(k, f->access);
    struct expr *step = e->index[f->step_at].value;
    if (f->slice_at < 0) {
        e = expr_access(k, row_view(k, e->sym), 2, e->loc);
        e->type.dtype = f->access->type.dtype;
        e->index[0] = slice(expr_int(k, DT_I32, 0, e->loc), 1);
        e->index[1] = slice(step, l->depth);
        *turned = false;
    } else {
        e->index[f->step_at] = slice(step, l->depth);
        if (e->index[f->slice_at].kind == IX_ELEMENT)
            e->index[f->slice_at] = slice(e->index[f->slice_at].value, 1);
        *turned = f->step_at < f->slice_at;
    }
    e->type.rank = 2;
    e->type.extent[*turned ? 0 : 1] = l->depth;
    e->type.extent[*turned ? 1 : 0] = f->extent;
    return e;
}

/* Appends the declaration of an operand's tile to the body, and returns the operand. */
static struct expr *operand(const struct loop *l, const struct factor *f, bool is_left,
                            const struct expr *sum, struct stmt ***body)
{
    struct kernel *k = l->kernel;
    bool turned;
    struct expr *part = part_of(l, f, &turned);
    struct sym *tile = tile_new(k, is_left ? "left0" : "right0", part->type.dtype,
                                part->type.extent[0], part->type.extent[1], part->loc);
    tile->written = f->access->sym->written;
    append(body, declaration(k, tile, part));
    struct expr *e = expr_ref(k, tile, part->loc);
    if (turned == is_left) {
        struct type type = e->type;
        type.extent[0] = e->type.extent[1];
        type.extent[1] = e->type.extent[0];
        e = expr_unary(k, OP_TRANS, type, e->loc, e);
    }
    return expr_cast(k, e, sum->type.dtype);
}

/* Returns whether the sum begins with 0 at the loop: it is declared so, and not named in between. */
static bool begins_with_zero(const struct loop *l, const struct sym *sym)
{
    bool zero = false;
    for (const struct stmt *s = *l->first; s && s != l->of; s = s->next) {
        struct stmt alone = *s;
        alone.next = NULL;
        if (s->kind == STMT_DECL && s->sym == sym)
            zero = s->value && s->value->op == OP_LITERAL &&
                   (dtype_is_float(s->value->type.dtype)
                        ? s->value->literal.f == 0 && !signbit(s->value->literal.f)
                        : s->value->literal.i == 0);
        else if (stmt_mentions(&alone, sym) > 0)
            zero = false;
    }
    return zero;
}

/* Declares the sum of products before the loop, if the tile itself has another shape. */
static void declare_product(const struct loop *l, struct sum *s, struct stmt ***at)
{
    struct kernel *k = l->kernel;
    struct sym *tile = s->of->target->sym;
    struct loc loc = s->of->target->loc;
    s->product = tile;
    if (tile->type.rank == 2 && tile->type.extent[0] == s->rows)
        return;
    s->product = tile_new(k, "sum0", tile->type.dtype, s->rows, s->columns, loc);
    s->product->written = tile->written;
    struct expr *start = reshaped(k, tile, &s->product->type, loc);
    if (begins_with_zero(l, tile))
        start = dtype_is_float(tile->type.dtype) ? expr_float(k, tile->type.dtype, 0, loc)
                                                 : expr_int(k, tile->type.dtype, 0, loc);
    append(at, declaration(k, s->product, start));
}

static struct stmt *make_body(const struct loop *l)
{
    struct kernel *k = l->kernel;
    struct stmt *first = NULL, **body = &first;
    for (int i = 0; i < l->sums; i++) {
        const struct sum *s = &l->sum[i];
        const struct expr *value = s->of->value;
        struct expr *x = operand(l, &s->left, true, value, &body);
        struct expr *y = operand(l, &s->right, false, value, &body);
        struct expr *dot = expr_new(k, OP_DOT, s->product->type, value->loc, 3);
        dot->args[0] = x;
        dot->args[1] = y;
        dot->args[2] = expr_ref(k, s->product, value->loc);
        struct stmt *add = assignment(k, s->product, dot);
        add->loc = s->of->loc;
        append(&body, add);
    }
    return first;
}

/* Makes the condition (i64) p + (depth - 1) < limit: all steps of the turn would run. */
static struct expr *all_steps_run(struct loop *l)
{
    struct kernel *k = l->kernel;
    const struct expr *c = l->of->condition;
    struct loc loc = c->loc;
    struct expr *p = expr_cast(k, expr_copy(k, c->args[0]), DT_I64);
    struct expr *last =
        expr_binary(k, OP_ADD, type_scalar(DT_I64), loc, p, expr_int(k, DT_I64, l->depth - 1, loc));
    struct expr *limit = expr_cast(k, expr_copy(k, c->args[1]), DT_I64);
    return expr_binary(k, OP_LT, type_scalar(DT_BOOL), loc, last, limit);
}

static struct stmt *deep_loop(struct loop *l, struct stmt *body)
{
    struct kernel *k = l->kernel;
    const struct stmt *s = l->of;
    struct stmt *deep = stmt_new(k, STMT_FOR, s->loc);
    deep->start = s->start;
    deep->body = body;
    deep->added = true;
    deep->condition = l->rest ? all_steps_run(l) : s->condition;
    struct expr *p = expr_ref(k, (struct sym *)(uintptr_t)l->counter, s->loc);
    deep->step = assignment(k, p->sym,
                            expr_binary(k, OP_ADD, type_scalar(DT_I32), s->step->value->loc, p,
                                        expr_int(k, DT_I32, l->depth, s->loc)));
    deep->step->added = false;
    return deep;
}

/* Puts the new loop at the place of the old one, which continues with the turns that are left.
 * Returns the link after all of them. */
static struct stmt **replace_loop(struct loop *l, struct stmt **at)
{
    struct kernel *k = l->kernel;
    struct stmt *old = l->of, *first = NULL, **to = &first;
    for (int i = 0; i < l->sums; i++)
        declare_product(l, &l->sum[i], &to);
    struct stmt *deep = deep_loop(l, make_body(l));
    if (l->rest)
        append(&to, old->init);
    else
        deep->init = old->init;
    append(&to, deep);
    for (int i = 0; i < l->sums; i++) {
        struct sum *s = &l->sum[i];
        struct sym *tile = s->of->target->sym;
        if (s->product != tile)
            append(&to, assignment(k, tile, reshaped(k, s->product, &tile->type, s->of->loc)));
    }
    struct stmt *next = old->next;
    if (l->rest) {
        append(&to, old);
        old->init = NULL;
    }
    *to = next;
    *at = first;
    return to;
}

static struct stmt **try_loop(struct kernel *k, struct stmt **first, struct stmt **at)
{
    struct loop l = {.kernel = k, .of = *at, .first = first};
    if (!read_counter(&l) || !read_body(&l) || !choose_depth(&l))
        return &(*at)->next;
    return replace_loop(&l, at);
}

static void visit(struct kernel *k, struct stmt **first)
{
    for (struct stmt **at = first; *at;) {
        visit(k, &(*at)->body);
        visit(k, &(*at)->otherwise);
        at = (*at)->kind == STMT_FOR ? try_loop(k, first, at) : &(*at)->next;
    }
}

void pass_dots(struct pass_context *c)
{
    if (c->sm == 0 && !kernel_thread_level(c->kernel))
        visit(c->kernel, &c->kernel->body);
}
