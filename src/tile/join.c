/* Joining: neighbouring blocks become one block with larger tiles, for the CPU engine.
 *
 * A GPU's blocks are small, because its multiprocessors share the work. A core prefers large ones:
 * it computes an operand that does not depend on block.y once for all columns, and it starts
 * fewer steps. The values of a kernel do not depend on where its blocks end, if
 *
 *   - block.x occurs only as block.x * S, where slices `block.x * S +: S` of views begin, and in
 *     `block.x * S + iota()`; it may have other names;
 *   - no operation moves elements along these slices (widen.h);
 *   - the grid has cdiv(n, S) blocks along x, and all views that are stored at such slices have n
 *     elements there, so what a joined block has beyond the grid is stored nowhere;
 *   - blocks do not communicate: no locks, no atomics, no `print`.
 *
 * If the blocks of a product are joined along both axes, a second copy is joined along the columns
 * alone, for launches with few rows; if the product unpacks weights, two more are for launches with
 * one row of blocks.
 *
 * `if (block.x == 0)` around statements that do not depend on x may stay as it is.
 * Under the same conditions, a block without products whose tiles are too large for a cache is split.
 * Joining adds order between blocks, but splitting takes the order of a block's statements away. So a
 * kernel that is split stores at one place alone, at slices of its block, and reads no memory that it
 * may write.
 *
 *     grid(cdiv(m, 32), cdiv(n, 64))               grid(cdiv(m, 128), cdiv(n, 512))
 *     i32 i = block.x * 32, j = block.y * 64;  =>  i32 i = block.x * 128, j = block.y * 512;
 *     reg f32 acc[32][64] = 0;                     reg f32 acc[128][512] = 0; */
#include "tile/copy.h"
#include "tile/passes.h"
#include "tile/widen.h"

enum {
    MOST_TILE = 1 << 16,   /* elements of a joined tile: 256 KiB of f32 */
    MOST_PLAIN = 1 << 14,  /* and without products, which use elements only a few times */
    MOST_THREADS = 1 << 10 /* of a joined block at thread level */
};

/* Most extents of a joined block: along the rows and the columns that it stores, of blocks that
 * store no tiles with rows, and of blocks that turn rows into columns. */
struct extents {
    int64_t rows, columns, elements, turned;
};
static const struct extents large = {128, 512, 1 << 13, 128};
/* For small grids, and for many workers. */
static const struct extents small = {64, 128, 1 << 11, 64};
/* Columns of a row of weights that are unpacked: a turn of such a loop does so little work that its own
 * time counts. */
enum { MOST_COLUMNS = 2048 };

/* --- what the blocks depend on --- */

struct search {
    struct widening *w;
    struct kernel *kernel;
    const struct expr *extent; /* n of the grid's cdiv(n, S); NULL: the number of blocks is known */
    int64_t blocks;
    bool fails;
    bool has_dot, has_trans, has_weights;
    bool stores_tiles;       /* a store has slices along several axes */
    bool is_column;          /* elements along the axis are neighbours in memory in some store */
    int stores, wide_stores; /* those at joined slices */
    bool reads_writable;     /* reads memory that the kernel may write, perhaps by another name */
};

/* Finds out how the grid covers an array: by cdiv(n, S) blocks of S elements, or by a known number
 * of blocks. false: in another way. */
static bool find_grid(struct search *s)
{
    const struct expr *blocks = s->kernel->grid[s->w->block_axis];
    int64_t step;
    if (blocks && expr_is_integer(blocks, &s->blocks))
        return s->blocks > 1;
    if (!blocks || blocks->op != OP_CDIV || !expr_is_integer(blocks->args[1], &step))
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
    return expr_is_integer(dim, &n) && (n + s->w->step - 1) / s->w->step == s->blocks;
}

static bool is_block_zero(const struct widening *w, const struct expr *e)
{
    int64_t zero;
    return e->op == OP_EQ && e->args[0]->op == OP_BLOCK && e->args[0]->axis == w->block_axis &&
           expr_is_integer(e->args[1], &zero) && zero == 0;
}

/* --- statements --- */

/* Returns whether the operation can fault on the zeros that a block reads beyond an edge. */
static bool may_fault(const struct expr *e)
{
    int64_t divisor;
    bool divides = op_divides(e->op) && !dtype_is_float(e->type.dtype) && e->type.rank > 0;
    return e->op == OP_LOOKUP ||
           (divides && (!expr_is_integer(e->args[1], &divisor) || divisor == 0));
}

static void note_op(void *user, struct expr **at)
{
    struct search *s = user;
    const struct expr *e = *at;
    s->fails |= !(op_table[e->op].flags & OP_PURE) && e->op != OP_ACCESS;
    s->fails |= may_fault(e);
    s->has_dot |= e->op == OP_DOT;
    s->has_trans |= e->op == OP_TRANS;
    s->has_weights |= e->op == OP_REPEAT_INTERLEAVE;
    bool of_view = (e->op == OP_ACCESS || e->op == OP_REF) && e->sym->storage == ST_VIEW;
    s->reads_writable |= of_view && !e->sym->is_const;
}

/* Checks a store: every view that is stored at joined slices ends where the grid does. */
static void check_store(struct search *s, const struct expr *target)
{
    int slices = 0;
    bool is_wide = false;
    for (int i = 0; i < target->indices; i++) {
        const struct index *index = &target->index[i];
        slices += index->kind != IX_ELEMENT;
        if (!index->value || !widen_names_base(s->w, index->value))
            continue;
        is_wide = true;
        s->is_column |= i == target->sym->type.rank - 1;
        s->fails |= index->kind != IX_SLICE || !widen_is_base(s->w, index->value) ||
                    !grid_covers(s, target->sym->dims[i]);
    }
    s->stores_tiles |= slices > 1;
    s->stores++;
    s->wide_stores += is_wide;
}

/* Returns whether the value is the same for all blocks: it consists of parameters and constants. */
static bool is_of_launch(const struct expr *e)
{
    bool same = e->op != OP_BLOCK && e->op != OP_GRID && e->op != OP_ACCESS &&
                (e->op != OP_REF || e->sym->storage == ST_PARAM || e->sym->storage == ST_CONST);
    for (int i = 0; i < e->count && same; i++)
        same = is_of_launch(e->args[i]);
    return same;
}

static void check_statement(void *user, struct stmt *st)
{
    struct search *s = user;
    bool harmless = st->kind == STMT_DECL || st->kind == STMT_ASSIGN ||
                    st->kind == STMT_ASYNC_COPY || st->kind == STMT_IF || st->kind == STMT_FOR ||
                    st->kind == STMT_BLOCK || st->kind == STMT_ENSURES;
    if (st->kind == STMT_EFFECT)
        harmless = st->value->op == OP_SYNC || st->value->op == OP_FREE ||
                   st->value->op == OP_ASYNC_COMMIT || st->value->op == OP_ASYNC_WAIT ||
                   (st->value->op == OP_ASSUME && (st->added || is_of_launch(st->value)));
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
        case STMT_ASSIGN:
        case STMT_ASYNC_COPY: widen_assignment(w, s); break;
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

/* Gives block.axis * S one name, whatever the kernel calls it: a variable that is declared at the
 * start of the kernel replaces the product, and variables that only hold it or block.axis. */
struct naming {
    struct kernel *kernel;
    int axis;
    int64_t step;
    struct sym *base;                /* NULL: no product was found yet */
    bool declared;                   /* the walk has passed its declaration */
    struct number_map block, starts; /* symbols that hold block.axis, and the base */
    struct number_map assigned;
};

static bool holds(const struct number_map *map, const struct expr *e)
{
    return e->op == OP_REF && number_map_find(map, (uintptr_t)e->sym);
}

static bool is_block(const struct naming *n, const struct expr *e)
{
    return e->op == OP_BLOCK && e->axis == n->axis;
}

static struct expr *block_number(const struct naming *n, struct loc loc)
{
    struct expr *block = expr_new(n->kernel, OP_BLOCK, type_scalar(DT_I32), loc, 0);
    block->axis = n->axis;
    return block;
}

/* Returns S of block.axis * S or S * block.axis; 0: another expression. */
static int64_t block_step(const struct naming *n, const struct expr *e)
{
    int64_t step = 0;
    for (int i = 0; e->op == OP_MUL && e->type.rank == 0 && i < 2; i++)
        if (is_block(n, e->args[i]) && expr_is_integer(e->args[1 - i], &step))
            return step > 1 && e->type.dtype == DT_I32 ? step : 0;
    return 0;
}

static void note_assigned(void *user, struct stmt *s)
{
    struct naming *n = user;
    bool added;
    if (s->kind == STMT_ASSIGN)
        number_map_entry(n->kernel->arena, &n->assigned, (uintptr_t)s->target->sym, &added);
}

static void name_base(struct naming *n, struct loc loc)
{
    struct kernel *k = n->kernel;
    struct stmt *s = stmt_new(k, STMT_DECL, loc);
    s->sym = n->base = sym_new(k, kernel_unused_name(k, n->axis == 0 ? "start_x" : "start_y"),
                               ST_SCALAR, type_scalar(DT_I32), loc);
    s->value = expr_binary(k, OP_MUL, s->sym->type, loc, block_number(n, loc),
                           expr_int(k, DT_I32, n->step, loc));
    s->added = true;
    s->next = k->body;
    k->body = s;
    n->declared = true;
}

static void replace_product(void *user, struct expr **at)
{
    struct naming *n = user;
    struct loc loc = (*at)->loc;
    if (holds(&n->block, *at))
        *at = block_number(n, loc);
    int64_t step = block_step(n, *at);
    if (step > 0 && !n->base) {
        n->step = step;
        name_base(n, loc);
    }
    if ((step > 0 && step == n->step && n->declared) || holds(&n->starts, *at))
        *at = expr_ref(n->kernel, n->base, loc);
}

static void replace_in(void *user, struct expr **root, bool is_target)
{
    (void)is_target;
    expr_walk(root, replace_product, user);
}

static bool is_constant(const struct naming *n, const struct stmt *s)
{
    return s->kind == STMT_DECL && s->sym->storage == ST_SCALAR && s->value &&
           s->sym->type.dtype == DT_I32 && !number_map_find(&n->assigned, (uintptr_t)s->sym);
}

/* Notes a variable that only holds the number of the block or the base. Returns whether no
 * statement needs the variable any more. */
static bool note_name(struct naming *n, const struct stmt *s)
{
    bool added, of_base = n->base && s->value->op == OP_REF && s->value->sym == n->base;
    if (!of_base && !is_block(n, s->value))
        return false;
    number_map_entry(n->kernel->arena, of_base ? &n->starts : &n->block, (uintptr_t)s->sym, &added);
    return true;
}

static void replace_products(struct naming *n, struct stmt **at)
{
    while (*at) {
        struct stmt *s = *at;
        bool is_base = s->kind == STMT_DECL && s->sym == n->base;
        n->declared |= is_base;
        if (!is_base)
            stmt_expressions(s, replace_in, n);
        replace_products(n, &s->init);
        replace_products(n, &s->body);
        replace_products(n, &s->otherwise);
        replace_products(n, &s->step);
        if (!is_base && is_constant(n, s) && note_name(n, s))
            *at = s->next;
        else
            at = &s->next;
    }
}

/* Takes the kernel's own name if the first product is the value of a variable of the kernel that
 * is never assigned. */
static void find_own_name(struct naming *n)
{
    for (struct stmt *s = n->kernel->body; s && !n->base; s = s->next) {
        int64_t step = is_constant(n, s) ? block_step(n, s->value) : 0;
        if (step > 0) {
            n->step = step;
            n->base = s->sym;
        }
    }
}

/* Returns the base along the axis; NULL: the kernel does not compute it. *step: its S. */
static const struct sym *find_base(struct kernel *k, int axis, int64_t *step)
{
    struct naming n = {.kernel = k, .axis = axis};
    stmt_walk(k->body, note_assigned, &n);
    find_own_name(&n);
    replace_products(&n, &k->body);
    *step = n.step;
    return n.base;
}

static void apply_base(void *user, struct stmt *s)
{
    struct widening *w = user;
    if (s->kind != STMT_DECL || s->sym != w->base)
        return;
    struct kernel *k = w->kernel;
    struct expr *block = expr_new(k, OP_BLOCK, s->value->type, s->value->loc, 0);
    block->axis = w->block_axis;
    s->value = expr_binary(
        k, OP_MUL, s->value->type, s->value->loc, block,
        expr_int(k, s->value->type.dtype, w->step * w->factor / w->divisor, s->value->loc));
}

/* --- one axis --- */

/* Returns whether blocks along the axis may be joined; *w and *s then describe them. */
static bool may_join(struct kernel *k, int axis, struct widening *w, struct search *s)
{
    int64_t step = 0;
    const struct sym *base = find_base(k, axis, &step);
    if (!base)
        return false;
    *w = (struct widening){
        .kernel = k, .base = base, .block_axis = axis, .step = step, .factor = 1, .divisor = 1};
    *s = (struct search){.w = w, .kernel = k};
    if (!find_grid(s))
        return false;
    stmt_walk(k->body, check_statement, s);
    if (s->fails)
        return false;
    do
        walk_kernel(w, WIDEN_FIND);
    while (w->changed);
    walk_kernel(w, WIDEN_CHECK);
    return !w->fails;
}

struct widest {
    const struct search *s;
    struct number_map computed; /* symbols that hold more than parts of views */
    bool changed;
    int64_t elements;
};

static const struct sym *assigned_by(const struct stmt *s)
{
    return s->kind == STMT_DECL ? s->sym : s->target ? s->target->sym : NULL;
}

static void note_computed(void *user, struct stmt *s)
{
    struct widest *all = user;
    const struct expr *v = s->value;
    const struct sym *sym = assigned_by(s);
    bool copied = v && (v->op == OP_ACCESS || v->op == OP_REF) &&
                  !number_map_find(&all->computed, (uintptr_t)v->sym);
    bool added = false;
    if (sym && v && !copied)
        number_map_entry(all->s->kernel->arena, &all->computed, (uintptr_t)sym, &added);
    all->changed |= added;
}

/* Counts a tile with the wide axis. The engine packs parts of views that only products read, so
 * they count in kernels without products alone, as does what is stored. */
static void note_widest(void *user, struct stmt *s)
{
    struct widest *all = user;
    const struct sym *sym = assigned_by(s);
    bool all_count = !all->s->has_dot;
    const struct number_entry *wide =
        s->kind == STMT_DECL ? number_map_find(&all->s->w->wide, (uintptr_t)sym) : NULL;
    int64_t n = 0;
    if (wide && wide->value && (all_count || number_map_find(&all->computed, (uintptr_t)sym)))
        n = type_elements(&sym->type);
    if (s->kind == STMT_ASSIGN && sym->storage == ST_VIEW && all_count)
        n = type_elements(&s->target->type);
    all->elements = n > all->elements ? n : all->elements;
}

/* Returns the elements of the largest tile with the wide axis that a block computes. */
static int64_t widest_tile(const struct search *s)
{
    struct widest all = {.s = s, .elements = 1};
    do {
        all.changed = false;
        stmt_walk(s->kernel->body, note_computed, &all);
    } while (all.changed);
    stmt_walk(s->kernel->body, note_widest, &all);
    return all.elements;
}

/* Makes the grid of blocks that are made of `factor` blocks, or of parts of a block. */
static void join_grid(struct kernel *k, int axis, int64_t step, int64_t factor, int64_t divisor)
{
    struct expr *blocks = k->grid[axis];
    int64_t number;
    if (expr_is_integer(blocks, &number))
        k->grid[axis] =
            expr_int(k, blocks->type.dtype, (number * divisor + factor - 1) / factor, blocks->loc);
    else
        blocks->args[1] =
            expr_int(k, blocks->args[1]->type.dtype, step * factor / divisor, blocks->args[1]->loc);
}

static void join_axis(struct widening *w, int64_t factor)
{
    struct kernel *k = w->kernel;
    w->factor = factor;
    walk_kernel(w, WIDEN_APPLY);
    widen_symbols(w);
    stmt_walk(k->body, apply_base, w);
    join_grid(k, w->block_axis, w->step, factor, w->divisor);
}

/* Returns the extent that a joined block should have along the axis. */
static int64_t wanted_extent(const struct search *s, const struct extents *most)
{
    if (!s->has_dot && s->has_trans)
        return most->turned;
    if (s->has_dot || s->stores_tiles)
        return s->is_column ? most->columns : most->rows;
    return most->elements;
}

/* Returns the number of blocks to join; 1: none. A known grid has at least as many. */
static int64_t choose_factor(const struct search *s, const struct extents *all)
{
    const struct widening *w = s->w;
    int64_t factor = 1, most = widest_tile(s), extent = wanted_extent(s, all), blocks;
    int64_t most_tile = s->has_dot ? MOST_TILE : MOST_PLAIN;
    if (!expr_is_integer(w->kernel->grid[w->block_axis], &blocks))
        blocks = INT64_MAX;
    while (2 * factor * w->step <= extent && 2 * factor * most <= most_tile && 2 * factor <= blocks)
        factor *= 2;
    return factor;
}

/* Returns the number of parts that a block without products is split into, because its tiles do not
 * stay in a cache; 1: none. */
static int64_t choose_divisor(const struct search *s, const struct extents *all)
{
    int64_t divisor = 1, most = widest_tile(s), extent = wanted_extent(s, all), step = s->w->step;
    bool is_apart = s->stores == 1 && s->wide_stores == 1 && !s->reads_writable;
    while (is_apart && !s->has_dot && step % (2 * divisor) == 0 && step / divisor > 16 &&
           (step / divisor > extent || most / divisor > MOST_PLAIN))
        divisor *= 2;
    return divisor;
}

/* Adds a copy for products of few rows: joins blocks along the columns alone, up to `most` of them.
 * row_alone: for launches with one row of blocks, if the kernel unpacks weights. */
static void join_columns(struct pass_context *c, int64_t most, bool row_alone)
{
    const struct extents extents = {.columns = most};
    struct joined_kernel *to = &c->joined[c->joined_count];
    *to = (struct joined_kernel){kernel_copy(c->kernel), {0}};
    for (int axis = 1; axis >= 0; axis--) {
        struct widening w;
        struct search s;
        if (!may_join(to->kernel, axis, &w, &s) || !s.has_dot || !s.is_column)
            continue;
        const int64_t factor = choose_factor(&s, &extents);
        if (factor > 1 && (!row_alone || s.has_weights)) {
            join_axis(&w, factor);
            to->joins[axis] = factor;
            to->joins[1 - axis] = row_alone ? ONE_BLOCK : 0;
            c->joined_count++;
        }
        return;
    }
}

/* Adds a copy with blocks of these extents, unless it has the blocks of the kernel or of the first
 * copy. */
static void join_up_to(struct pass_context *c, const struct extents *most)
{
    struct joined_kernel *to = &c->joined[c->joined_count];
    bool joins = false, same = c->joined_count > 0;
    *to = (struct joined_kernel){kernel_copy(c->kernel), {0}};
    for (int axis = 1; axis >= 0; axis--) {
        struct widening w;
        struct search s;
        if (!may_join(to->kernel, axis, &w, &s))
            continue;
        int64_t factor = choose_factor(&s, most);
        w.divisor = choose_divisor(&s, most);
        if (factor > 1 || w.divisor > 1) {
            join_axis(&w, factor);
            to->joins[axis] = factor;
            joins = true;
        }
        same = same && to->joins[axis] == c->joined[0].joins[axis];
    }
    c->joined_count += joins && !same;
}

/* --- kernels written for threads --- */

/* Blocks of threads that share nothing are joined, too, if a thread's place occurs only as
 * block.x * S + thread.x in a block of S threads. The grid of a launch must have a multiple of the
 * joined blocks, because threads beyond it would run. If a thread faults, the launch runs the kernel
 * as written again, and reports that fault; so the kernel reads only memory that it does not write. */
struct thread_search {
    struct kernel *kernel;
    int axis;
    const struct sym *base;
    struct number_map threads; /* constants that hold thread.axis */
    bool fails;
};

static bool is_thread(const struct thread_search *t, const struct expr *e)
{
    return (e->op == OP_THREAD && e->axis == t->axis) || holds(&t->threads, e);
}

static bool is_place(const struct thread_search *t, const struct expr *e)
{
    for (int i = 0; e->op == OP_ADD && i < 2; i++)
        if (e->args[i]->op == OP_REF && e->args[i]->sym == t->base && is_thread(t, e->args[1 - i]))
            return true;
    return false;
}

static void check_thread_value(struct thread_search *t, const struct expr *e)
{
    if (!e || is_place(t, e))
        return;
    bool reads = (e->op == OP_ACCESS || e->op == OP_REF) && e->sym->storage == ST_VIEW;
    bool number = (e->op == OP_BLOCK || e->op == OP_GRID) && e->axis == t->axis;
    bool pure = op_table[e->op].flags & OP_PURE || e->op == OP_ACCESS;
    t->fails |= !pure || number || is_thread(t, e) || (e->op == OP_REF && e->sym == t->base) ||
                e->type.rank > 0 || (reads && !e->sym->is_const);
    for (int i = 0; i < expr_children(e); i++)
        check_thread_value(t, expr_child(e, i));
}

static void check_thread_statement(void *user, struct stmt *s)
{
    struct thread_search *t = user;
    bool added;
    bool assumes = s->kind == STMT_EFFECT && s->value->op == OP_ASSUME && s->added;
    if (assumes || s->kind == STMT_ENSURES || (s->kind == STMT_DECL && s->sym == t->base))
        return;
    bool scalar = s->kind == STMT_DECL && s->sym->storage == ST_SCALAR;
    if (scalar && s->sym->is_const && s->value && s->value->op == OP_THREAD &&
        s->value->axis == t->axis) {
        number_map_entry(t->kernel->arena, &t->threads, (uintptr_t)s->sym, &added);
        return;
    }
    t->fails |= s->kind == STMT_ASYNC_COPY || s->kind == STMT_EFFECT ||
                (s->kind == STMT_DECL && !scalar && s->sym->storage != ST_VIEW);
    check_thread_value(t, s->value);
    check_thread_value(t, s->condition);
    if (s->target) {
        t->fails |= s->target->type.rank > 0;
        for (int i = 0; i < s->target->indices; i++)
            check_thread_value(t, s->target->index[i].value);
    }
}

static bool may_join_threads(struct kernel *k, int axis, struct widening *w, struct search *s)
{
    int64_t step = 0;
    struct thread_search t = {.kernel = k, .axis = axis, .base = find_base(k, axis, &step)};
    *w = (struct widening){
        .kernel = k, .base = t.base, .block_axis = axis, .step = step, .factor = 1, .divisor = 1};
    *s = (struct search){.w = w, .kernel = k};
    if (!t.base || step != k->threads[axis] || !find_grid(s))
        return false;
    stmt_walk(k->body, check_thread_statement, &t);
    return !t.fails;
}

/* Adds a copy with up to `most` threads in a block, and up to `most_row` along x if they have two
 * axes. */
static void join_threads(struct pass_context *c, int64_t most, int64_t most_row)
{
    struct joined_kernel *to = &c->joined[c->joined_count];
    *to = (struct joined_kernel){kernel_copy(c->kernel), {0}};
    struct kernel *k = to->kernel;
    for (int axis = 0; axis < 2; axis++) {
        struct widening w;
        struct search s;
        int64_t factor = 1, blocks, limit = axis == 0 && k->threads[1] > 1 ? most_row : most;
        if (!may_join_threads(k, axis, &w, &s))
            continue;
        if (!expr_is_integer(k->grid[axis], &blocks))
            blocks = 0;
        while (2 * factor * k->threads[axis] <= limit &&
               2 * factor * kernel_block_threads(k) <= most && blocks % (2 * factor) == 0)
            factor *= 2;
        if (factor == 1)
            continue;
        w.factor = factor;
        stmt_walk(k->body, apply_base, &w);
        join_grid(k, axis, w.step, factor, 1);
        k->threads[axis] *= (int)factor;
        to->joins[axis] = factor;
    }
    c->joined_count += to->joins[0] > 1 || to->joins[1] > 1;
}

void pass_join(struct pass_context *c)
{
    if (c->sm != 0 || c->kernel->cooperative)
        return;
    if (kernel_thread_level(c->kernel)) {
        join_threads(c, MOST_THREADS, MOST_THREADS / 8);
        if (c->joined_count > 0)
            join_threads(c, MOST_THREADS / 4, MOST_THREADS / 16);
        return;
    }
    join_up_to(c, &large);
    if (c->joined_count == 0)
        return;
    const bool both = c->joined[0].joins[0] > 1 && c->joined[0].joins[1] > 1;
    if (both) {
        join_columns(c, MOST_COLUMNS, true);
        join_columns(c, large.columns, false);
    }
    join_up_to(c, &small);
    if (both)
        join_columns(c, MOST_COLUMNS / 8, true);
}
