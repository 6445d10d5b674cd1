/* Deepening: several turns of a loop that adds products become one turn with deeper tiles.
 *
 *     for (i32 p = 0; p < k; p += 32) {            for (i32 p = 0; p < 512; p += 256) {
 *         reg f32 t[M][32] = X[i +: M][p +: 32]        reg f32 t[M][256] = X[i +: M][p +: 256]
 *                            * G[p +: 32];   =>                            * G[p +: 256];
 *         acc = dot(t, W[p +: 32][j +: N], acc);       acc = dot(t, W[p +: 256][j +: N], acc);
 *     }                                            }
 *
 * `dot` adds its products in the order of k, so the bits of the sum are the same. A loop without
 * products that stores each turn's part of a row is deepened in the same way. Turns that are left
 * over, or all turns if their number is not known, get a second loop of the original turns
 * after the deep one. A loop whose operands are all packed (parts of read-only views that only
 * `dot` reads) is left as it is: the engine defers such products by itself. */
#include "tile/copy.h"
#include "tile/passes.h"
#include "tile/weights.h"
#include "tile/widen.h"

enum {
    DEEP = 512,              /* depth at which a product reads and writes its sum seldom enough */
    SHALLOW = 64,            /* a depth that is not worth the change */
    MOST_ELEMENTS = 1 << 16, /* of a deep tile: it should stay in the second-level cache */
    MOST_PLAIN = 1 << 14     /* the same in a loop without products */
};

struct deepening {
    struct pass_context *pass;
    struct stmt *loop;
    struct stmt **at; /* the link to the loop */
    int64_t turns;    /* 0: not known */
};

/* --- the loop --- */

/* Returns the S of for (i32 p = …; p < limit; p += S), where only the step assigns p; else 0. */
static int64_t loop_step(const struct stmt *s)
{
    const struct stmt *init = s->init, *step = s->step;
    if (!init || init->next || init->kind != STMT_DECL || init->sym->storage != ST_SCALAR ||
        init->sym->type.dtype != DT_I32 || !init->value || !step || step->next ||
        step->kind != STMT_ASSIGN || step->target->op != OP_REF || step->target->sym != init->sym)
        return 0;
    const struct expr *v = step->value, *c = s->condition;
    int64_t n;
    bool counts = v->op == OP_ADD && v->args[0]->op == OP_REF && v->args[0]->sym == init->sym &&
                  expr_is_integer(v->args[1], &n) && n > 0;
    bool ends = c && c->op == OP_LT && c->args[0]->op == OP_REF && c->args[0]->sym == init->sym &&
                !expr_mentions(c->args[1], init->sym) && c->args[1]->type.dtype == DT_I32;
    return counts && ends ? n : 0;
}

static int64_t known_turns(const struct stmt *s, int64_t step)
{
    int64_t first, limit;
    if (!expr_is_integer(s->init->value, &first) || !expr_is_integer(s->condition->args[1], &limit))
        return 0;
    return limit > first ? (limit - first + step - 1) / step : 0;
}

/* --- the body --- */

struct body {
    struct widening *w;
    const struct stmt *loop;
    bool fails;
    bool computes;   /* an operand of a product along the loop has to be computed */
    bool multiplies; /* the loop has products */
    /* The loop reads memory that the kernel may write, perhaps under another name. */
    bool reads_writable;
};

/* Returns whether the view is written in the body. */
static bool is_written(const struct stmt *body, const struct sym *view)
{
    for (const struct stmt *s = body; s; s = s->next)
        if (s->kind == STMT_ASSIGN && s->target->sym->base == view->base &&
            s->target->sym->storage == ST_VIEW)
            return true;
    return false;
}

/* Fails on reads of memory that the loop may write, because the turns no longer alternate. */
static void check_reads(void *user, struct expr **at)
{
    struct body *b = user;
    const struct expr *e = *at;
    bool of_view = (e->op == OP_ACCESS || e->op == OP_REF) && e->sym->storage == ST_VIEW;
    b->fails |= of_view && !e->sym->is_const && is_written(b->loop->body, e->sym);
    b->reads_writable |= of_view && !e->sym->is_const;
    b->multiplies |= e->op == OP_DOT;
}

/* Returns whether the engine packs the operand: a part of a read-only view, or a tile that holds
 * one, or weights, and that no elementwise operation reads or changes. */
static bool is_packed(const struct stmt *loop, const struct expr *e)
{
    while (e->op == OP_CAST && dtype_is_float(e->args[0]->type.dtype) && e->type.dtype == DT_F32)
        e = e->args[0];
    const bool turned = e->op == OP_TRANS;
    if (turned)
        e = e->args[0];
    if (e->op == OP_ACCESS && e->sym->storage == ST_VIEW)
        return e->sym->is_const;
    if (e->op != OP_REF)
        return false;
    int mentions = 0;
    const struct expr *from = NULL;
    for (const struct stmt *s = loop->body; s; s = s->next) {
        bool fills =
            (s->kind == STMT_DECL && s->sym == e->sym) ||
            (s->kind == STMT_ASSIGN && s->target->op == OP_REF && s->target->sym == e->sym);
        if (fills && s->value)
            from = s->value;
        mentions += fills && s->kind == STMT_ASSIGN;
        mentions += s->value ? expr_mentions(s->value, e->sym) : 0;
    }
    struct weights w;
    return mentions <= 1 && from && from->op != OP_DOT &&
           (is_packed(loop, from) ||
            (weights_read(from, &w) && (!turned || weights_are_codes(&w))));
}

static bool is_sum(const struct stmt *s)
{
    const struct expr *v = s->value;
    return s->kind == STMT_ASSIGN && s->target->op == OP_REF && v->op == OP_DOT && v->count == 3 &&
           v->args[2]->op == OP_REF && v->args[2]->sym == s->target->sym;
}

/* Checks a variable that the body assigns and does not declare: only products may be added to it,
 * and nothing may read it meanwhile. */
static void check_outer(struct body *b, const struct stmt *s)
{
    const struct sym *sym = s->target->sym;
    if (sym->storage == ST_VIEW || number_map_find(&b->w->wide, (uintptr_t)sym))
        return;
    struct stmt alone = *b->loop;
    alone.next = NULL;
    b->fails |= !is_sum(s) || stmt_mentions(&alone, sym) != 2;
    for (int i = 0; i < 2 && is_sum(s); i++)
        b->computes |= !is_packed(b->loop, s->value->args[i]);
}

/* Returns whether the statement may be widened. A shared tile keeps its extents, because `plan` says
 * how much shared memory a block takes on a GPU. */
static bool is_tile(const struct stmt *s)
{
    if (s->kind == STMT_ASSIGN)
        return s->target->op == OP_REF || s->target->sym->storage == ST_VIEW;
    return s->kind == STMT_DECL && s->sym->storage != ST_SHARED;
}

static void walk(struct widening *w, const struct stmt *loop, enum widen_phase phase)
{
    widen_begin(w, phase);
    for (struct stmt *s = loop->body; s; s = s->next)
        widen_assignment(w, s);
}

/* Returns whether the turns may be joined and it pays. *multiplies: they have products. */
static bool may_deepen(struct widening *w, const struct stmt *loop, bool *multiplies)
{
    struct body b = {.w = w, .loop = loop};
    struct expr *condition = loop->condition;
    int stores = 0;
    bool overlap = false; /* rows of a view with strides of its own may */
    expr_walk(&condition, check_reads, &b);
    for (struct stmt *s = loop->body; s; s = s->next) {
        if (!is_tile(s))
            return false;
        if (s->value)
            expr_walk(&s->value, check_reads, &b);
        bool is_store = s->kind == STMT_ASSIGN && s->target->sym->storage == ST_VIEW;
        stores += is_store;
        overlap |= is_store && s->target->sym->strides[0];
    }
    /* The stores of a later turn may overlap those of an earlier one. */
    if (stores > 1 || overlap)
        return false;
    do
        walk(w, loop, WIDEN_FIND);
    while (w->changed);
    walk(w, loop, WIDEN_CHECK);
    for (const struct stmt *s = loop->body; s; s = s->next)
        if (s->kind == STMT_ASSIGN)
            check_outer(&b, s);
    *multiplies = b.multiplies;
    bool stores_row = stores == 1 && !b.reads_writable;
    return !w->fails && !b.fails && (b.multiplies ? b.computes : stores_row);
}

/* Returns the elements of the largest tile with the wide axis that the loop computes. */
static int64_t widest_tile(const struct widening *w, const struct stmt *loop)
{
    int64_t most = w->step;
    for (const struct stmt *s = loop->body; s; s = s->next) {
        const struct number_entry *wide =
            s->kind == STMT_DECL ? number_map_find(&w->wide, (uintptr_t)s->sym) : NULL;
        bool of_view = s->value && s->value->op == OP_ACCESS && s->value->sym->storage == ST_VIEW;
        int64_t n = wide && wide->value && !of_view ? type_elements(&s->sym->type) : 0;
        if (s->kind == STMT_ASSIGN && s->target->sym->storage == ST_VIEW)
            n = type_elements(&s->target->type);
        most = n > most ? n : most;
    }
    return most;
}

/* Returns the number of turns to join; 1: none. If the number of turns is known, no turn should be
 * left over. */
static int64_t choose_factor(const struct widening *w, const struct stmt *loop, int64_t turns,
                             int64_t most_elements)
{
    int64_t factor = 1, most = widest_tile(w, loop);
    while (2 * factor * w->step <= DEEP && 2 * factor * most <= most_elements &&
           (turns == 0 || 2 * factor <= turns))
        factor *= 2;
    int64_t even = factor;
    while (turns > 0 && even > 1 && turns % even != 0)
        even /= 2;
    return even * w->step >= DEEP / 4 ? even : factor;
}

/* --- the new loops --- */

/* Makes the condition (i64) p + (factor - 1) * step < limit: all the joined turns would run. */
static struct expr *all_turns_run(struct kernel *k, const struct widening *w,
                                  const struct expr *condition)
{
    struct loc loc = condition->loc;
    struct expr *p = expr_cast(k, expr_copy(k, condition->args[0]), DT_I64);
    struct expr *ahead = expr_int(k, DT_I64, (w->factor - 1) * w->step, loc);
    struct expr *last = expr_binary(k, OP_ADD, type_scalar(DT_I64), loc, p, ahead);
    struct expr *limit = expr_cast(k, expr_copy(k, condition->args[1]), DT_I64);
    return expr_binary(k, OP_LT, type_scalar(DT_BOOL), loc, last, limit);
}

/* Makes the loop of the turns that are left over, which continues with the same counter. */
static struct stmt *rest_loop(struct kernel *k, const struct stmt *loop)
{
    struct stmt one = *loop;
    one.next = one.init = NULL;
    return stmts_copy(k, &one);
}

/* { init; deep loop; rest } */
static struct stmt *both_loops(struct kernel *k, struct stmt *loop, struct stmt *rest)
{
    struct stmt *block = stmt_new(k, STMT_BLOCK, loop->loc);
    block->body = loop->init;
    block->next = loop->next;
    block->body->next = loop;
    loop->init = NULL;
    loop->next = rest;
    rest->next = NULL;
    return block;
}

static void deepen(struct deepening *d, struct widening *w)
{
    struct kernel *k = w->kernel;
    struct stmt *loop = d->loop;
    struct stmt *rest = d->turns > 0 && d->turns % w->factor == 0 ? NULL : rest_loop(k, loop);
    walk(w, loop, WIDEN_APPLY);
    widen_symbols(w);
    loop->step->value->args[1] =
        expr_int(k, DT_I32, w->step * w->factor, loop->step->value->args[1]->loc);
    loop->stages = 0;
    if (!rest)
        return;
    rest->stages = 0;
    loop->condition = all_turns_run(k, w, loop->condition);
    *d->at = both_loops(k, loop, rest);
}

static void try_loop(struct pass_context *c, struct stmt **at)
{
    struct stmt *loop = *at;
    int64_t step = loop_step(loop);
    if (step == 0 || step >= DEEP || loop->unroll != UNROLL_NONE)
        return;
    struct deepening d = {.pass = c, .loop = loop, .at = at, .turns = known_turns(loop, step)};
    struct widening w = {.kernel = c->kernel,
                         .base = loop->init->sym,
                         .block_axis = -1,
                         .step = step,
                         .factor = 1,
                         .deepens = true};
    bool multiplies;
    if (!may_deepen(&w, loop, &multiplies))
        return;
    w.factor = choose_factor(&w, loop, d.turns, multiplies ? MOST_ELEMENTS : MOST_PLAIN);
    if (w.factor > 1 && w.factor * step > SHALLOW)
        deepen(&d, &w);
}

static void visit(struct pass_context *c, struct stmt **first)
{
    for (struct stmt **at = first; *at; at = &(*at)->next) {
        visit(c, &(*at)->body);
        visit(c, &(*at)->otherwise);
        if ((*at)->kind == STMT_FOR)
            try_loop(c, at);
    }
}

void pass_deepen(struct pass_context *c)
{
    if (c->sm == 0 && !kernel_thread_level(c->kernel))
        visit(c, &c->kernel->body);
}
