/* Variance: finds values that differ between the threads of a block, and refuses operations that
 * need all threads at places that only some threads reach.
 *
 * A scalar or per-thread array is varying if it is ever given a varying value, or is given any
 * value at a place that only some of the threads that declared it reach. (A loop counter declared
 * under a varying `if` is the same in all threads that get there: it stays uniform.) A varying
 * symbol never becomes uniform again, so the pass walks the kernel until nothing changes, and then
 * once more for the messages.
 *
 * Control flow splits at a varying condition and joins again after the statement. Threads that
 * left a loop by `break` wait after it; those that `continue` wait at its step. Threads that
 * returned have ended: values do not become varying through that, but a later barrier would wait
 * for them forever. */
#include "tile/numbering.h"
#include "tile/passes.h"

enum split_kind { SPLIT_IF, SPLIT_LOOP, SPLIT_LAZY, SPLIT_BREAK, SPLIT_CONTINUE, SPLIT_RETURN };

/* A place where the threads split. */
struct split {
    enum split_kind kind;
    int depth;                    /* number of splits around it, including itself */
    struct loc loc;               /* of the condition, or of the statement by which some threads
                                   * leave */
    const struct expr *condition; /* NULL: it has no condition of its own */
};

/* The threads that reach a statement. */
struct flow {
    int depth;                   /* number of splits around; 0: all threads that have not
                                  * returned */
    const struct split *split;   /* the innermost split around; NULL at depth 0 */
    const struct split *returns; /* the split by which some threads may have returned before;
                                  * NULL: none */
};

/* The splits by which some threads leave the statements around; NULL: none. */
struct leaving {
    const struct split *breaks, *continues, *returns;
};

/* The reason why a symbol is varying: the value that it is given, or the place. */
struct cause {
    const struct expr *value;
    const struct split *split;
};

/* Facts about a loop that are kept from one walk to the next. */
struct loop_split {
    const struct split *split;   /* set if not all threads run it equally often */
    const struct split *returns; /* some threads return from inside */
};

struct variance {
    struct kernel *kernel;
    struct diag *diag;
    struct numbering numbers;
    int *depth;                   /* by symbol: number of splits around its declaration */
    struct cause *cause;          /* by symbol */
    VEC(struct loop_split) loops; /* in the order of the walk */
    size_t next_loop;
    bool changed;
    bool reporting; /* the last walk, which changes nothing */
};

/* --- values --- */

static void note_varying(struct variance *v, struct sym *s, const struct expr *value,
                         const struct split *split)
{
    int number = numbering_of(&v->numbers, s);
    if (s->type.varying || number < 0)
        return;
    s->type.varying = true;
    v->cause[number] = (struct cause){value, split};
    v->changed = true;
}

static bool leaf_varies(const struct expr *e)
{
    switch (e->op) {
    case OP_THREAD: return true;
    case OP_REF: return e->sym->type.varying;
    case OP_ACCESS: return e->sym->storage == ST_ARRAY && e->sym->type.varying;
    default: return op_is_atomic_of_thread(e->op); /* each thread gets an old value of its own */
    }
}

/* Sets type.varying in the whole tree. */
static bool mark(struct expr *e)
{
    bool varying = false;
    for (int i = 0; i < expr_children(e); i++)
        if (expr_child(e, i))
            varying |= mark(expr_child(e, i));
    e->type.varying = varying || leaf_varies(e);
    return e->type.varying;
}

/* --- messages --- */

static const struct expr *varying_leaf(const struct expr *e)
{
    for (int i = 0; i < e->count; i++)
        if (e->args[i]->type.varying && !leaf_varies(e))
            return varying_leaf(e->args[i]);
    for (int i = 0; i < e->indices; i++)
        if (e->index[i].value && e->index[i].value->type.varying)
            return varying_leaf(e->index[i].value);
    if (e->otherwise && e->otherwise->type.varying)
        return varying_leaf(e->otherwise);
    return e;
}

enum { MOST_STEPS_BACK = 4 };

/* Adds notes from a varying value back to the origin of the difference between the threads. */
static void explain(struct variance *v, const struct expr *e)
{
    for (int step = 0; e && step < MOST_STEPS_BACK; step++) {
        const struct expr *leaf = varying_leaf(e);
        int number = leaf->sym ? numbering_of(&v->numbers, leaf->sym) : -1;
        e = NULL;
        if (leaf->op == OP_THREAD) {
            diag_note(v->diag, leaf->loc, "`thread.%c` is another number in each thread",
                      "xyz"[leaf->axis]);
        } else if (op_is_atomic_of_thread(leaf->op)) {
            diag_note(v->diag, leaf->loc, "each thread gets an old value of its own here");
        } else if (number >= 0 && v->cause[number].value) {
            e = v->cause[number].value;
            diag_note(v->diag, e->loc, "`%s` differs between threads: it gets a varying value here",
                      leaf->sym->name);
        } else if (number >= 0 && v->cause[number].split) {
            const struct split *split = v->cause[number].split;
            diag_note(v->diag, split->loc,
                      "`%s` differs between threads: only some of them change it here",
                      leaf->sym->name);
            e = split->condition;
        }
    }
}

static void explain_split(struct variance *v, const struct split *split)
{
    static const char *const what[] = {
        [SPLIT_IF] = "this condition differs between threads",
        [SPLIT_LOOP] = "this condition ends the loop earlier in some threads than in others",
        [SPLIT_LAZY] = "only some threads evaluate what follows here",
        [SPLIT_BREAK] = "some threads leave the loop here",
        [SPLIT_CONTINUE] = "some threads skip the rest of the body here",
        [SPLIT_RETURN] = "some threads return here",
    };
    static const char *const way_out[] = {
        [SPLIT_IF] = "close the `if` before it, and open another one after it for what depends on "
                     "the thread",
        [SPLIT_LOOP] = "let all threads run the loop equally often, with an `if` around what "
                       "depends on the thread",
        [SPLIT_LAZY] = "evaluate it before, into a variable",
        [SPLIT_BREAK] = "let all threads stay in the loop, with an `if` around what depends on the "
                        "thread",
        [SPLIT_CONTINUE] = "use an `if` around what depends on the thread in place of `continue`",
        [SPLIT_RETURN] = "let all threads stay, with an `if` around what depends on the thread",
    };
    diag_note(v->diag, split->loc, "%s", what[split->kind]);
    if (split->condition)
        explain(v, split->condition);
    diag_note(v->diag, split->loc, "%s", way_out[split->kind]);
}

/* Returns the split by which threads are missing; NULL: all threads of the block get here. */
static const struct split *missing_threads(const struct flow *flow)
{
    return flow->split ? flow->split : flow->returns;
}

/* Reports `what` unless all threads get here. */
static bool needs_all(struct variance *v, const struct flow *flow, struct loc loc, const char *what)
{
    const struct split *split = missing_threads(flow);
    if (!split)
        return true;
    diag_error(v->diag, loc, "%s, but only some of the threads reach it", what);
    diag_code(v->diag, CODE_DIVERGENT);
    explain_split(v, split);
    return false;
}

/* --- checks of expressions --- */

/* Returns true for a tile that all threads together read or hold: a slice with uniform indices,
 * a register tile. */
static bool is_block_tile(const struct expr *e)
{
    if (e->type.rank == 0 || e->type.varying)
        return false;
    if (e->op == OP_ACCESS)
        return e->sym->storage != ST_ARRAY;
    if (e->op == OP_REF)
        return e->sym->storage == ST_REG;
    for (int i = 0; i < e->count; i++)
        if (is_block_tile(e->args[i]))
            return true;
    return false;
}

static bool is_over_tiles(enum op op)
{
    return op_is_reduction(op) || op == OP_SCAN || op == OP_DOT;
}

static void check_mixture(struct variance *v, const struct expr *e)
{
    const struct expr *tile = NULL, *varying = NULL;
    for (int i = 0; i < e->count; i++) {
        if (expr_has_register_tile(e->args[i]))
            tile = e->args[i];
        else if (e->args[i]->type.varying)
            varying = e->args[i];
    }
    if (!tile || !varying || e->type.rank == 0)
        return;
    diag_error(v->diag, e->loc,
               "a register tile belongs to the whole block; it cannot take a value of each thread");
    explain(v, varying);
    diag_note(v->diag, tile->loc,
              "each thread can have an array of its own: `%s x[…]`, without `reg`",
              dtype_table[tile->type.dtype].name);
}

static void check_expr(struct variance *v, const struct expr *e, struct flow flow);

/* Checks the operands that && || ?: skip in some threads. */
static void check_lazy(struct variance *v, const struct expr *e, struct flow flow)
{
    struct split split = {SPLIT_LAZY, flow.depth + 1, e->args[0]->loc, e->args[0]};
    check_expr(v, e->args[0], flow);
    if (e->args[0]->type.varying && e->args[0]->type.rank == 0) {
        flow.depth++;
        flow.split = &split;
    }
    for (int i = 1; i < e->count; i++)
        check_expr(v, e->args[i], flow);
}

static void check_expr(struct variance *v, const struct expr *e, struct flow flow)
{
    if (op_table[e->op].flags & OP_LAZY) {
        check_lazy(v, e, flow);
        return;
    }
    for (int i = 0; i < expr_children(e); i++)
        if (expr_child(e, i))
            check_expr(v, expr_child(e, i), flow);
    if (e->op == OP_REF && e->sym->storage == ST_REG)
        needs_all(v, &flow, e->loc, "a register tile belongs to the whole block");
    if (is_over_tiles(e->op) && is_block_tile(e->args[0]) && !expr_has_register_tile(e->args[0]))
        needs_all(v, &flow, e->loc,
                  arena_printf(v->kernel->arena, "`%s` of a tile is the work of the whole block",
                               op_table[e->op].text));
    check_mixture(v, e);
}

/* --- checks of statements --- */

static bool check_uniform(struct variance *v, const struct expr *e, const char *what)
{
    if (!e->type.varying)
        return true;
    diag_error(v->diag, e->loc, "%s, so it cannot differ between threads", what);
    explain(v, e);
    return false;
}

static void check_collective(struct variance *v, enum op op, struct loc loc, struct flow flow)
{
    needs_all(
        v, &flow, loc,
        arena_printf(v->kernel->arena, "`%s()` needs all threads of the block", op_table[op].text));
}

static void check_semaphore(struct variance *v, const struct expr *e)
{
    const char *what =
        e->op == OP_ARRIVE ? "a block arrives once" : "a block takes and releases a lock once";
    for (int i = 0; i < e->count; i++)
        check_uniform(v, e->args[i], what);
}

static void check_effect(struct variance *v, const struct stmt *s, struct flow flow)
{
    const struct expr *e = s->value;
    if (op_table[e->op].flags & OP_SYNC_FLAG || e->op == OP_FREE)
        check_collective(v, e->op, s->loc, flow);
    for (int i = 0; e->op == OP_PRINT && i < e->count; i++)
        if (e->args[i]->type.rank > 0 && !expr_is_per_thread(e->args[i]))
            needs_all(v, &flow, e->args[i]->loc,
                      "`print` of a tile is the work of the whole block");
    if (e->op == OP_LOCK || e->op == OP_UNLOCK || e->op == OP_ARRIVE)
        check_semaphore(v, e);
}

static void check_async(struct variance *v, const struct stmt *s, struct flow flow)
{
    if (!needs_all(v, &flow, s->loc, "a copy in the background is the work of the whole block"))
        return;
    if (check_uniform(v, s->target, "a copy in the background fills one place of the block"))
        check_uniform(v, s->value, "a copy in the background has one start for the block");
}

static void report_same_place(struct variance *v, const struct expr *value, const struct sym *to)
{
    diag_error(v->diag, value->loc,
               "each thread would write a tile of its own to the same part of `%s`", to->name);
    explain(v, value);
    diag_note(v->diag, value->loc,
              "let all threads copy one tile, from a start that is the same for all; or give each "
              "thread its own part, `%s[…thread.x…] = …`",
              to->name);
}

/* Checks the store of a tile to shared or global memory, by all threads together or by each for
 * itself. `target` NULL: to all of `to`. */
static void check_tile_store(struct variance *v, struct loc loc, const struct sym *to,
                             const struct expr *target, const struct expr *value, struct flow flow)
{
    bool own_place = target && target->type.varying;
    if (own_place && expr_has_register_tile(value)) {
        diag_error(v->diag, loc,
                   "a register tile belongs to the whole block; it cannot be stored at a place of "
                   "each thread");
        explain(v, target);
    } else if (!own_place && !value->type.varying && !expr_has_register_tile(value)) {
        needs_all(v, &flow, loc,
                  arena_printf(v->kernel->arena, "all threads together copy this tile to `%s`",
                               to->name));
    } else if (!own_place && value->type.varying && !missing_threads(&flow)) {
        report_same_place(v, value, to);
    }
}

static void check_store(struct variance *v, struct loc loc, const struct sym *to,
                        const struct expr *target, const struct expr *value, struct flow flow)
{
    int rank = target ? target->type.rank : to->type.rank;
    if (to->storage == ST_REG) {
        if (needs_all(v, &flow, loc, "a register tile belongs to the whole block"))
            check_uniform(v, value, "a register tile belongs to the whole block");
    } else if (rank > 0 && (to->storage == ST_SHARED || to->storage == ST_VIEW)) {
        check_tile_store(v, loc, to, target, value, flow);
    }
}

static void check_statement(struct variance *v, const struct stmt *s, struct flow flow)
{
    if (s->target)
        check_expr(v, s->target, flow);
    if (s->value)
        check_expr(v, s->value, flow);
    switch (s->kind) {
    case STMT_DECL:
        if (s->value)
            check_store(v, s->loc, s->sym, NULL, s->value, flow);
        if (stmt_arrives(s)) {
            check_collective(v, OP_ARRIVE, s->value->loc, flow);
            check_semaphore(v, s->value);
        }
        break;
    case STMT_ASSIGN: check_store(v, s->loc, s->target->sym, s->target, s->value, flow); break;
    case STMT_ASYNC_COPY: check_async(v, s, flow); break;
    case STMT_EFFECT: check_effect(v, s, flow); break;
    default: break;
    }
}

/* --- the walk --- */

static struct leaving walk_list(struct variance *v, struct stmt *first, struct flow flow);

/* Makes a split. `condition` must live as long as the kernel. */
static struct split *new_split(struct variance *v, enum split_kind kind, struct loc loc,
                               const struct expr *condition)
{
    struct split *split = arena_new(v->kernel->arena, struct split);
    split->kind = kind;
    split->loc = loc;
    split->condition = condition;
    return split;
}

static struct flow deeper(struct variance *v, struct flow flow, const struct split *why)
{
    struct split *split = arena_new(v->kernel->arena, struct split);
    *split = *why;
    split->depth = ++flow.depth;
    flow.split = split;
    return flow;
}

static const struct split *first_of(const struct split *a, const struct split *b)
{
    return a ? a : b;
}

/* Returns the split that separates more threads from the others. */
static const struct split *deeper_of(const struct split *a, const struct split *b)
{
    return !a || (b && b->depth > a->depth) ? b : a;
}

static struct leaving both(struct leaving a, struct leaving b)
{
    return (struct leaving){deeper_of(a.breaks, b.breaks), deeper_of(a.continues, b.continues),
                            first_of(a.returns, b.returns)};
}

/* Walks a declaration. depth: the splits around it; later assignments are compared with it. */
static void walk_decl(struct variance *v, struct stmt *s, struct flow flow, int depth)
{
    int number = numbering_of(&v->numbers, s->sym);
    if (number >= 0)
        v->depth[number] = depth;
    bool one_a_thread = s->sym->storage == ST_SCALAR || s->sym->storage == ST_ARRAY;
    if (s->value && mark(s->value) && one_a_thread)
        note_varying(v, s->sym, s->value, NULL);
    if (v->reporting)
        check_statement(v, s, flow);
}

static void walk_assign(struct variance *v, struct stmt *s, struct flow flow)
{
    struct sym *to = s->target->sym;
    bool varying = mark(s->value);
    mark(s->target);
    if (to->storage == ST_SCALAR || to->storage == ST_ARRAY) {
        int number = numbering_of(&v->numbers, to);
        if (varying)
            note_varying(v, to, s->value, NULL);
        else if (number >= 0 && flow.depth > v->depth[number])
            note_varying(v, to, NULL, flow.split);
        for (int i = 0; i < s->target->indices; i++)
            if (s->target->index[i].value && s->target->index[i].value->type.varying)
                note_varying(v, to, s->target->index[i].value, NULL);
        mark(s->target);
    }
    if (v->reporting)
        check_statement(v, s, flow);
}

static struct leaving walk_if(struct variance *v, struct stmt *s, struct flow flow)
{
    bool varying = mark(s->condition);
    if (v->reporting)
        check_expr(v, s->condition, flow);
    if (varying)
        flow = deeper(v, flow, new_split(v, SPLIT_IF, s->condition->loc, s->condition));
    struct leaving leaving = walk_list(v, s->body, flow);
    return both(leaving, walk_list(v, s->otherwise, flow));
}

static struct loop_split *this_loop(struct variance *v, size_t index)
{
    while (v->loops.count <= index)
        vec_push(v->kernel->arena, &v->loops, (struct loop_split){0});
    return &v->loops.data[index];
}

/* Records the splits of a loop from its body and its condition. They are never removed. */
static void note_loop(struct variance *v, size_t index, const struct stmt *s, int inner_depth,
                      struct leaving leaving)
{
    struct loop_split *loop = this_loop(v, index);
    if (!loop->split && s->condition && s->condition->type.varying) {
        loop->split = new_split(v, SPLIT_LOOP, s->condition->loc, s->condition);
        v->changed = true;
    }
    if (!loop->split && leaving.breaks && leaving.breaks->depth > inner_depth) {
        loop->split = leaving.breaks;
        v->changed = true;
    }
    if (!loop->returns && leaving.returns) {
        loop->returns = leaving.returns;
        v->changed = true;
    }
}

static void walk_init(struct variance *v, struct stmt *s, struct flow flow, int inner_depth)
{
    for (struct stmt *i = s->init; i; i = i->next) {
        if (i->kind == STMT_DECL)
            walk_decl(v, i, flow, inner_depth);
        else
            walk_assign(v, i, flow);
    }
}

static struct leaving walk_loop(struct variance *v, struct stmt *s, struct flow flow)
{
    size_t index = v->next_loop++;
    const struct loop_split known = *this_loop(v, index);
    struct flow inner = known.split ? deeper(v, flow, known.split) : flow;
    inner.returns = first_of(flow.returns, known.returns);

    walk_init(v, s, flow, inner.depth);
    if (s->condition) {
        mark(s->condition);
        if (v->reporting)
            check_expr(v, s->condition, inner);
    }
    if (v->reporting && s->stages > 0)
        needs_all(v, &inner, s->loc, "a pipeline is the work of the whole block");
    struct leaving leaving = walk_list(v, s->body, inner);
    for (struct stmt *step = s->step; step; step = step->next)
        walk_assign(v, step, inner);
    note_loop(v, index, s, inner.depth, leaving);
    return (struct leaving){.returns = leaving.returns};
}

/* Makes the split by which the threads that get here leave. All of them leave; the depth of the
 * split shows whether these are only a part of the threads around. */
static const struct split *leave(struct variance *v, const struct stmt *s, enum split_kind kind,
                                 struct flow flow)
{
    struct split *split = new_split(v, kind, s->loc, flow.split ? flow.split->condition : NULL);
    split->depth = flow.depth;
    return split;
}

static struct leaving walk_statement(struct variance *v, struct stmt *s, struct flow flow)
{
    struct leaving leaving = {0};
    s->divergent = missing_threads(&flow) != NULL;
    switch (s->kind) {
    case STMT_DECL: walk_decl(v, s, flow, flow.depth); break;
    case STMT_ASSIGN: walk_assign(v, s, flow); break;
    case STMT_IF: return walk_if(v, s, flow);
    case STMT_FOR:
    case STMT_WHILE: return walk_loop(v, s, flow);
    case STMT_BLOCK:
    case STMT_ROLE:
    case STMT_ONE_THREAD: return walk_list(v, s->body, flow);
    case STMT_BREAK: leaving.breaks = leave(v, s, SPLIT_BREAK, flow); break;
    case STMT_CONTINUE: leaving.continues = leave(v, s, SPLIT_CONTINUE, flow); break;
    case STMT_RETURN:
        if (flow.depth > 0)
            leaving.returns = leave(v, s, SPLIT_RETURN, flow);
        break;
    case STMT_ASYNC_COPY:
    case STMT_EFFECT:
        mark(s->value);
        if (s->target)
            mark(s->target);
        if (v->reporting)
            check_statement(v, s, flow);
        break;
    case STMT_ENSURES: break; /* threads do not run it */
    }
    return leaving;
}

/* Returns true if threads left by a split deeper than `flow`, so that they are missing in the
 * rest of the list. */
static bool parts(const struct split *split, struct flow flow)
{
    return split && split->depth > flow.depth;
}

static struct leaving walk_list(struct variance *v, struct stmt *first, struct flow flow)
{
    struct leaving all = {0};
    for (struct stmt *s = first; s; s = s->next) {
        struct leaving leaving = walk_statement(v, s, flow);
        all = both(all, leaving);
        flow.returns = first_of(flow.returns, leaving.returns);
        if (parts(leaving.breaks, flow))
            flow = deeper(v, flow, leaving.breaks);
        else if (parts(leaving.continues, flow))
            flow = deeper(v, flow, leaving.continues);
    }
    return all;
}

static void walk_kernel(struct variance *v)
{
    v->next_loop = 0;
    v->changed = false;
    walk_list(v, v->kernel->body, (struct flow){0});
}

void pass_variance(struct pass_context *c)
{
    struct kernel *k = c->kernel;
    if (!kernel_thread_level(k))
        return; /* each value belongs to the block: type.varying is already false */
    struct variance v = {.kernel = k, .diag = c->diag};
    numbering_init(&v.numbers, k->arena, k);
    v.depth = arena_array(k->arena, int, v.numbers.count + 1);
    v.cause = arena_array(k->arena, struct cause, v.numbers.count + 1);
    do
        walk_kernel(&v);
    while (v.changed);
    v.reporting = true;
    walk_kernel(&v);
}
