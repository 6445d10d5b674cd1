/* Joining: neighbouring blocks become one block with larger tiles, for the CPU engine.
 *
 * A GPU's blocks are small, because its multiprocessors share the work. A core prefers large ones:
 * it computes an operand that does not depend on block.y once for all columns, and it starts
 * fewer steps. The values of a kernel do not depend on where its blocks end, if
 *
 *   - block.x occurs only as block.x * S, where slices `block.x * S +: S` of views begin, and in
 *     `block.x * S + iota()`;
 *   - no operation moves elements along these slices (widen.h);
 *   - the grid has cdiv(n, S) blocks along x, and all views that are stored at such slices have n
 *     elements there, so what a joined block has beyond the grid is stored nowhere;
 *   - blocks do not communicate: no locks, no atomics, no `print`.
 *
 * `if (block.x == 0)` around statements that do not depend on x may stay as it is.
 *
 *     grid(cdiv(m, 32), cdiv(n, 64))               grid(cdiv(m, 128), cdiv(n, 512))
 *     i32 i = block.x * 32, j = block.y * 64;  =>  i32 i = block.x * 128, j = block.y * 512;
 *     reg f32 acc[32][64] = 0;                     reg f32 acc[128][512] = 0; */
#include "tile/copy.h"
#include "tile/passes.h"
#include "tile/widen.h"

enum {
    MOST_ROWS = 128, /* extents of a joined block along x and y */
    MOST_COLUMNS = 512,
    MOST_TILE = 1 << 16 /* elements of a joined tile: 256 KiB of f32 */
};

/* --- what the blocks depend on --- */

struct search {
    struct widening *w;
    struct kernel *kernel;
    const struct expr *extent; /* n of the grid's cdiv(n, S); NULL: the number of blocks is known */
    int64_t blocks;
    bool fails;
    bool has_dot;
};

static bool is_literal(const struct expr *e, int64_t *n)
{
    *n = e->op == OP_LITERAL ? e->literal.i : 0;
    return e->op == OP_LITERAL && !dtype_is_float(e->type.dtype);
}

/* Finds out how the grid covers an array: by cdiv(n, S) blocks of S elements, or by a known number
 * of blocks. false: in another way. */
static bool find_grid(struct search *s)
{
    const struct expr *blocks = s->kernel->grid[s->w->block_axis];
    int64_t step;
    if (blocks && is_literal(blocks, &s->blocks))
        return s->blocks > 1;
    if (!blocks || blocks->op != OP_CDIV || !is_literal(blocks->args[1], &step))
        return false;
    s->extent = blocks->args[0];
    return step == s->w->step;
}

/* Returns whether the blocks end where this axis of a view ends. */
static bool grid_covers(const struct search *s, const struct expr *dim)
{
    int64_t n;
    if (s->extent)
        return expr_same(dim, s->extent);
    return is_literal(dim, &n) && (n + s->w->step - 1) / s->w->step == s->blocks;
}

static bool is_block_zero(const struct widening *w, const struct expr *e)
{
    int64_t zero;
    return e->op == OP_EQ && e->args[0]->op == OP_BLOCK && e->args[0]->axis == w->block_axis &&
           is_literal(e->args[1], &zero) && zero == 0;
}

/* --- statements --- */

/* Returns whether the operation can fault on the zeros that a block reads beyond an edge. */
static bool may_fault(const struct expr *e)
{
    int64_t divisor;
    bool divides = op_divides(e->op) && !dtype_is_float(e->type.dtype) && e->type.rank > 0;
    return e->op == OP_LOOKUP || (divides && (!is_literal(e->args[1], &divisor) || divisor == 0));
}

static void note_op(void *user, struct expr **at)
{
    struct search *s = user;
    const struct expr *e = *at;
    s->fails |= !(op_table[e->op].flags & OP_PURE) && e->op != OP_ACCESS;
    s->fails |= may_fault(e);
    s->has_dot |= e->op == OP_DOT;
}

/* Checks a store: every view that is stored at joined slices ends where the grid does. */
static void check_store(struct search *s, const struct expr *target)
{
    for (int i = 0; i < target->indices; i++) {
        const struct index *index = &target->index[i];
        if (!index->value || !widen_names_base(s->w, index->value))
            continue;
        s->fails |= index->kind != IX_SLICE || !widen_is_base(s->w, index->value) ||
                    !grid_covers(s, target->sym->dims[i]);
    }
}

static void check_statement(void *user, struct stmt *st)
{
    struct search *s = user;
    bool harmless = st->kind == STMT_DECL || st->kind == STMT_ASSIGN || st->kind == STMT_IF ||
                    st->kind == STMT_FOR || st->kind == STMT_BLOCK || st->kind == STMT_ENSURES;
    if (st->kind == STMT_EFFECT)
        harmless = st->value->op == OP_SYNC || st->value->op == OP_FREE ||
                   (st->value->op == OP_ASSUME && st->added);
    s->fails |= !harmless;
    if (st->kind == STMT_EFFECT || st->kind == STMT_ENSURES)
        return;
    expr_walk(&st->value, note_op, s);
    expr_walk(&st->condition, note_op, s);
    s->fails |= st->kind == STMT_DECL && st->sym->storage == ST_SHARED && st->sym->offset >= 0;
    if (st->kind == STMT_ASSIGN && st->target->sym->storage == ST_VIEW)
        check_store(s, st->target);
}

static void walk(struct widening *w, struct stmt *first);

/* Walks a scalar condition. The statements under `if (block.x == 0)` must not depend on x. */
static void walk_if(struct widening *w, struct stmt *s)
{
    if (is_block_zero(w, s->condition)) {
        w->fails |= w->phase == WIDEN_CHECK && s->otherwise;
        w->alone++;
        walk(w, s->body);
        w->alone--;
        return;
    }
    widen_expr(w, s->condition);
    walk(w, s->body);
    walk(w, s->otherwise);
}

static void walk(struct widening *w, struct stmt *first)
{
    for (struct stmt *s = first; s; s = s->next) {
        switch (s->kind) {
        case STMT_DECL:
        case STMT_ASSIGN: widen_assignment(w, s); break;
        case STMT_IF: walk_if(w, s); break;
        case STMT_FOR:
            walk(w, s->init);
            if (s->condition)
                widen_expr(w, s->condition);
            walk(w, s->body);
            walk(w, s->step);
            break;
        case STMT_BLOCK: walk(w, s->body); break;
        default: break;
        }
    }
}

static void walk_kernel(struct widening *w, enum widen_phase phase)
{
    widen_begin(w, phase);
    walk(w, w->kernel->body);
}

/* --- the base --- */

struct base_search {
    int axis;
    const struct sym *base;
    int64_t step;
    bool assigned;
};

static void find_base(void *user, struct stmt *s)
{
    struct base_search *b = user;
    const struct expr *v = s->value;
    int64_t step;
    if (s->kind == STMT_DECL && s->sym->storage == ST_SCALAR && v && !b->base && v->op == OP_MUL &&
        v->type.dtype == s->sym->type.dtype && v->args[0]->op == OP_BLOCK &&
        v->args[0]->axis == b->axis && is_literal(v->args[1], &step) && step > 1) {
        b->base = s->sym;
        b->step = step;
    }
    b->assigned |= s->kind == STMT_ASSIGN && b->base && s->target->sym == b->base;
}

static void apply_base(void *user, struct stmt *s)
{
    struct widening *w = user;
    if (s->kind != STMT_DECL || s->sym != w->base)
        return;
    struct kernel *k = w->kernel;
    struct expr *block = expr_new(k, OP_BLOCK, s->value->type, s->value->loc, 0);
    block->axis = w->block_axis;
    s->value = expr_binary(k, OP_MUL, s->value->type, s->value->loc, block,
                           expr_int(k, s->value->type.dtype, w->step * w->factor, s->value->loc));
}

/* --- one axis --- */

/* Returns whether blocks along the axis may be joined; *w then describes them. */
static bool may_join(struct kernel *k, int axis, struct widening *w)
{
    struct base_search b = {.axis = axis};
    stmt_walk(k->body, find_base, &b);
    if (!b.base || b.assigned)
        return false;
    *w = (struct widening){
        .kernel = k, .base = b.base, .block_axis = axis, .step = b.step, .factor = 1};
    struct search s = {.w = w, .kernel = k};
    if (!find_grid(&s))
        return false;
    stmt_walk(k->body, check_statement, &s);
    if (s.fails || !s.has_dot)
        return false;
    do
        walk_kernel(w, WIDEN_FIND);
    while (w->changed);
    walk_kernel(w, WIDEN_CHECK);
    return !w->fails;
}

struct widest {
    const struct widening *w;
    int64_t elements;
};

static void note_widest(void *user, struct stmt *s)
{
    struct widest *all = user;
    const struct number_entry *wide =
        s->kind == STMT_DECL ? number_map_find(&all->w->wide, (uintptr_t)s->sym) : NULL;
    bool of_view = s->value && s->value->op == OP_ACCESS && s->value->sym->storage == ST_VIEW;
    if (!wide || !wide->value || of_view)
        return;
    int64_t n = type_elements(&s->sym->type);
    all->elements = n > all->elements ? n : all->elements;
}

/* Returns the elements of the largest tile with the wide axis that a block computes. */
static int64_t widest_tile(const struct widening *w)
{
    struct widest all = {w, 1};
    stmt_walk(w->kernel->body, note_widest, &all);
    return all.elements;
}

static void join_axis(struct widening *w, int64_t factor)
{
    struct kernel *k = w->kernel;
    struct expr *blocks = k->grid[w->block_axis];
    w->factor = factor;
    walk_kernel(w, WIDEN_APPLY);
    widen_symbols(w);
    stmt_walk(k->body, apply_base, w);
    int64_t number;
    if (is_literal(blocks, &number))
        k->grid[w->block_axis] =
            expr_int(k, blocks->type.dtype, (number + factor - 1) / factor, blocks->loc);
    else
        blocks->args[1] =
            expr_int(k, blocks->args[1]->type.dtype, w->step * factor, blocks->args[1]->loc);
}

/* Returns the number of blocks to join; 1: none. A known grid has at least as many. */
static int64_t factor_up_to(const struct widening *w, int64_t extent)
{
    int64_t factor = 1, most = widest_tile(w), blocks;
    if (!is_literal(w->kernel->grid[w->block_axis], &blocks))
        blocks = INT64_MAX;
    while (2 * factor * w->step <= extent && 2 * factor * most <= MOST_TILE && 2 * factor <= blocks)
        factor *= 2;
    return factor;
}

void pass_join(struct pass_context *c)
{
    static const int64_t most[2] = {MOST_ROWS, MOST_COLUMNS};
    struct kernel *k = c->kernel, *joined = NULL;
    if (c->sm != 0 || kernel_thread_level(k) || k->cooperative)
        return;
    for (int axis = 1; axis >= 0; axis--) {
        struct widening w;
        if (!may_join(joined ? joined : k, axis, &w))
            continue;
        int64_t factor = factor_up_to(&w, most[axis]);
        if (factor == 1)
            continue;
        if (!joined) {
            joined = kernel_copy(k);
            if (!may_join(joined, axis, &w))
                continue;
        }
        join_axis(&w, factor);
        c->joins[axis] = factor;
        c->joined = joined;
    }
}
