/* Follows the scalars of one block through the program, and adds up what its statements do.
 *
 * A scalar whose value is known counts as a constant from its assignment on, so eval_scalar reads
 * it. A loop is walked once: its iterations follow from the first value, the bound and the step of
 * its variable. */
#include "tile/block_program.h"

#include <math.h>

enum { SAMPLES = 5 }; /* blocks, from the first to the last of the grid */

struct walk {
    const struct block_program *p;
    const struct scalar_env *values;
    struct block_work *sum;
    double times;      /* iterations of the loops around */
    int undecided;     /* branches around whose condition is not known */
    bool left;         /* the block has ended, */
    bool jumped;       /* or a loop's iteration */
    bool works;        /* the loop's body reads global memory or multiplies */
    double role_steps; /* of the longest role so far */
};

/* --- making the program --- */

/* Returns the place of a block in its cluster along an axis, or that of its cluster: block.x % 2 or / 2. */
static struct expr *place_of(struct block_program *p, const struct expr *e, int axis, enum op op)
{
    struct kernel *k = p->kernel;
    struct expr *size = expr_int(k, DT_I32, k->cluster[axis], e->loc);
    return expr_binary(k, op, e->type, e->loc,
                       expr_cast(k, expr_ref(k, p->block[axis], e->loc), DT_I32), size);
}

/* The rank of a block: x fastest. */
static struct expr *rank_of(struct block_program *p, const struct expr *e)
{
    struct kernel *k = p->kernel;
    struct expr *rank = place_of(p, e, 2, OP_REM);
    for (int axis = 1; axis >= 0; axis--) {
        struct expr *size = expr_int(k, DT_I32, k->cluster[axis], e->loc);
        rank = expr_binary(k, OP_MUL, e->type, e->loc, rank, size);
        rank = expr_binary(k, OP_ADD, e->type, e->loc, rank, place_of(p, e, axis, OP_REM));
    }
    return rank;
}

/* Replaces block.x and grid.x by constants that each evaluation sets. */
static void replace_place(void *user, struct expr **at)
{
    struct block_program *p = user;
    struct expr *e = *at;
    if (e->op == OP_CLUSTER)
        *at = e->axis == CLUSTER_RANK ? rank_of(p, e) : place_of(p, e, e->axis, OP_DIV);
    if (e->op == OP_BLOCK || e->op == OP_GRID) {
        struct sym *s = (e->op == OP_BLOCK ? p->block : p->grid)[e->axis];
        *at = expr_cast(p->kernel, expr_ref(p->kernel, s, e->loc), e->type.dtype);
    }
}

static void replace_in_root(void *user, struct expr **root, bool is_target)
{
    (void)is_target;
    expr_walk(root, replace_place, user);
}

static void replace_in_stmt(void *user, struct stmt *s)
{
    stmt_expressions(s, replace_in_root, user);
}

struct block_program *block_program_new(struct arena *a, struct kernel *k)
{
    struct block_program *p = arena_new(a, struct block_program);
    p->kernel = k;
    for (int i = 0; i < 3; i++) {
        p->block[i] = sym_new(k, "block", ST_CONST, type_scalar(DT_I64), k->loc);
        p->grid[i] = sym_new(k, "grid", ST_CONST, type_scalar(DT_I64), k->loc);
    }
    stmt_walk(k->body, replace_in_stmt, p);
    return p;
}

/* --- what statements do --- */

static double threads_of(const struct walk *w, const struct expr *e)
{
    return e->type.varying || (e->type.rank == 0 && kernel_thread_level(w->p->kernel))
               ? kernel_block_threads(w->p->kernel)
               : 1;
}

static double bytes_of(const struct walk *w, const struct expr *e)
{
    return (double)type_bytes(&e->type) * threads_of(w, e) * w->times;
}

static bool is_global(const struct expr *e)
{
    return e->op == OP_ACCESS && e->sym->storage == ST_VIEW;
}

static void add_product(struct walk *w, const struct expr *e)
{
    const struct type *left = &e->args[0]->type;
    double depth = left->rank > 0 ? (double)left->extent[left->rank - 1] : 1;
    w->sum->flops += 2 * depth * (double)type_elements(&e->type) * threads_of(w, e) * w->times;
    w->sum->factor = left->dtype;
    w->works = true;
}

static void add_reads(struct walk *w, const struct expr *e);

static void add_operands(struct walk *w, const struct expr *e, int from)
{
    for (int i = from; i < expr_children(e); i++)
        add_reads(w, expr_child(e, i));
}

static void add_reads(struct walk *w, const struct expr *e)
{
    if (!e)
        return;
    if (op_is_atomic(e->op) && e->count > 0) {
        bool meets = e->op == OP_ARRIVE;
        w->sum->meetings += meets ? w->times : 0;
        w->sum->added += !meets && is_global(e->args[0]) ? bytes_of(w, e->args[0]) : 0;
        add_operands(w, e, 1);
        return;
    }
    if (e->op == OP_DOT)
        add_product(w, e);
    if (is_global(e)) {
        w->sum->read += bytes_of(w, e);
        w->works = true;
    }
    add_operands(w, e, 0);
}

static void add_target(struct walk *w, const struct expr *target)
{
    if (is_global(target))
        w->sum->written += bytes_of(w, target);
    add_operands(w, target, 0);
}

static void follow(struct walk *w, struct stmt *first);

/* Returns the iterations that follow from `v < end`, or the like, and the step; 1: not known. */
static double iterations(const struct walk *w, const struct stmt *s, const struct sym *v,
                         int64_t from)
{
    const struct expr *c = s->condition;
    struct literal end, after;
    if (!v || !c || c->count != 2 || !s->step || s->step->kind != STMT_ASSIGN ||
        s->step->target->sym != v || !block_evaluate(w->values, s->step->value, DT_I64, &after))
        return 1;
    int64_t step = after.i - from;
    const struct expr *left = c->args[0];
    while (left->op == OP_CAST)
        left = left->args[0];
    if (step == 0 || left->op != OP_REF || left->sym != v ||
        !block_evaluate(w->values, c->args[1], DT_I64, &end))
        return 1;
    bool equal = c->op == OP_LE || c->op == OP_GE;
    double count =
        ceil(((double)end.i - (double)from + (equal ? (step > 0 ? 1 : -1) : 0)) / (double)step);
    return count > 0 ? count : 0;
}

static void follow_loop(struct walk *w, struct stmt *s)
{
    struct walk inner = *w;
    follow(&inner, s->init);
    struct sym *v = s->init && s->init->kind == STMT_DECL ? s->init->sym : NULL;
    bool counts = v && block_scalar(v) && v->storage == ST_CONST;
    inner.times = w->times * (counts ? iterations(&inner, s, v, v->value.i) : 1);
    inner.works = false;
    if (inner.times > 0)
        follow(&inner, s->body);
    w->sum->steps += inner.works ? inner.times : 0;
    w->left |= inner.left && counts;
}

static void follow_branch(struct walk *w, struct stmt *s)
{
    struct literal c;
    add_reads(w, s->condition);
    if (block_evaluate(w->values, s->condition, DT_I64, &c)) {
        follow(w, c.i ? s->body : s->otherwise);
        return;
    }
    w->undecided++;
    follow(w, s->body);
    follow(w, s->otherwise);
    w->undecided--;
}

/* Roles run at the same time, so the steps of the longest one count. */
static void follow_role(struct walk *w, struct stmt *s)
{
    double before = w->sum->steps;
    follow(w, s->body);
    double own = w->sum->steps - before, more = own - w->role_steps;
    w->sum->steps = before + (more > 0 ? more : 0);
    w->role_steps = own > w->role_steps ? own : w->role_steps;
}

static void follow_one(struct walk *w, struct stmt *s)
{
    switch (s->kind) {
    case STMT_DECL:
        add_reads(w, s->value);
        if (block_scalar(s->sym))
            block_assign(w->values, s->sym, s->value);
        break;
    case STMT_ASSIGN:
        add_reads(w, s->value);
        w->sum->by_warpgroups = w->sum->by_warpgroups || s->in_background;
        if (s->target->op == OP_REF && block_scalar(s->target->sym))
            block_assign(w->values, s->target->sym, w->undecided ? NULL : s->value);
        else
            add_target(w, s->target);
        break;
    case STMT_ASYNC_COPY:
        add_reads(w, s->value);
        add_target(w, s->target);
        break;
    case STMT_EFFECT:
        w->sum->meetings += s->value->op == OP_LOCK ? w->times : 0;
        add_reads(w, s->value);
        break;
    case STMT_IF: follow_branch(w, s); break;
    case STMT_FOR:
    case STMT_WHILE: follow_loop(w, s); break;
    case STMT_ROLE: follow_role(w, s); break;
    case STMT_BLOCK:
    case STMT_ONE_THREAD: follow(w, s->body); break;
    case STMT_BREAK:
    case STMT_CONTINUE: w->jumped = w->undecided == 0; break;
    case STMT_RETURN: w->left = w->undecided == 0; break;
    case STMT_ENSURES: break;
    }
}

static void follow(struct walk *w, struct stmt *first)
{
    for (struct stmt *s = first; s && !w->left && !w->jumped; s = s->next)
        follow_one(w, s);
}

/* --- the whole --- */

/* Scalars that an earlier walk has made constants are variables again. */
static void forget_scalars(const struct stmt *s)
{
    for (; s; s = s->next) {
        if (s->kind == STMT_DECL && block_scalar(s->sym))
            s->sym->storage = ST_SCALAR;
        forget_scalars(s->init);
        forget_scalars(s->body);
        forget_scalars(s->otherwise);
    }
}

void block_program_start(struct block_program *p, const int64_t grid[3], const int64_t at[3])
{
    for (int axis = 0; axis < 3; axis++) {
        p->block[axis]->value = (struct literal){.i = at[axis]};
        p->grid[axis]->value = (struct literal){.i = grid[axis]};
    }
    forget_scalars(p->kernel->body);
}

struct block_work block_work_at(struct block_program *p, const struct scalar_env *values,
                                const int64_t grid[3])
{
    struct block_work sum = {.factor = DT_F32};
    double blocks = (double)grid[0] * (double)grid[1] * (double)grid[2];
    int samples = blocks < SAMPLES ? (int)blocks : SAMPLES;
    for (int i = 0; i < samples; i++) {
        int64_t at = samples > 1 ? (int64_t)((blocks - 1) * i / (samples - 1)) : 0;
        block_program_start(
            p, grid, (int64_t[]){at % grid[0], at / grid[0] % grid[1], at / grid[0] / grid[1]});
        double flops = sum.flops, steps = sum.steps;
        struct walk w = {.p = p, .values = values, .sum = &sum, .times = 1.0 / samples};
        follow(&w, p->kernel->body);
        sum.most_flops = fmax(sum.most_flops, (sum.flops - flops) * samples);
        sum.most_steps = fmax(sum.most_steps, (sum.steps - steps) * samples);
    }
    return sum;
}

double block_program_bytes(const struct block_program *p, const struct scalar_env *values)
{
    double sum = 0;
    for (const struct sym *s = p->kernel->symbols; s; s = s->next) {
        double bytes = s->storage == ST_VIEW && s->base ? (double)dtype_size(s->type.dtype) : 0;
        int64_t extent;
        for (int d = 0; d < s->type.rank && bytes > 0; d++)
            bytes *= eval_int(s->dims[d], values, &extent) ? (double)extent : 1;
        sum += bytes;
    }
    return sum;
}
