/* Loops of the source for traces: the variable, its bounds in this launch, and the places of the
 * iterations in the code. */
#include "api/trace.h"

#include "sim/sim_trace.h"

#include <string.h>

/* A scalar that only its declaration assigns, with that declaration. */
struct search {
    const struct sym *sym;
    const struct stmt *declared;
    bool assigned;
};

static void look_at(void *user, struct stmt *s)
{
    struct search *f = user;
    if (s->kind == STMT_DECL && s->sym == f->sym)
        f->declared = s;
    if (s->kind == STMT_ASSIGN && s->target->sym == f->sym)
        f->assigned = true;
}

struct bounds {
    struct kernel kernel; /* a copy, for new expressions in another arena */
    const tw_launch *launch;
    const int64_t *block;
    bool by_ticket; /* blocks draw their index: it is not the launch's */
    int replaced;
};

/* The most declarations to replace. Each may name others several times, and so on, so larger
 * expressions are left unevaluated. */
enum { MOST_REPLACED = 64 };

static void replace(void *user, struct expr **at)
{
    struct bounds *b = user;
    struct expr *e = *at, *to = NULL;
    int64_t extent = 1;
    if (b->replaced == MOST_REPLACED)
        return;
    if (e->op == OP_BLOCK && !b->by_ticket) {
        to = expr_int(&b->kernel, e->type.dtype, b->block[e->axis], e->loc);
    } else if (e->op == OP_GRID) {
        struct scalar_env env = launch_env(b->launch);
        const struct expr *given = b->kernel.grid[e->axis];
        if (!given || eval_int(given, &env, &extent))
            to = expr_int(&b->kernel, e->type.dtype, extent, e->loc);
    } else if (e->op == OP_REF && e->sym->storage == ST_SCALAR) {
        struct search f = {.sym = e->sym};
        stmt_walk(b->kernel.body, look_at, &f);
        if (f.declared && f.declared->value && !f.assigned)
            to = expr_cast(&b->kernel, expr_copy(&b->kernel, f.declared->value), e->type.dtype);
    }
    b->replaced += to != NULL;
    *at = to ? to : e;
}

/* Evaluates an expression in this launch and block. Returns false if they do not determine it. */
static bool find_value(struct bounds *b, const struct expr *e, int64_t *out)
{
    struct scalar_env env = launch_env(b->launch);
    struct expr *now = expr_copy(&b->kernel, e);
    int before = -1;
    for (b->replaced = 0; b->replaced != before;) {
        before = b->replaced;
        expr_walk(&now, replace, b);
    }
    return eval_int(now, &env, out);
}

static const struct expr *without_casts(const struct expr *e)
{
    while (e->op == OP_CAST)
        e = e->args[0];
    return e;
}

/* Returns v of `v < bound`, `bound > v` and the like; NULL for another condition. *up: v goes up
 * to the bound; *reached: v may equal the bound. */
static const struct sym *counted(const struct expr *c, const struct expr **bound, bool *up,
                                 bool *reached)
{
    if (!c || (c->op != OP_LT && c->op != OP_LE && c->op != OP_GT && c->op != OP_GE))
        return NULL;
    *up = c->op == OP_LT || c->op == OP_LE;
    *reached = c->op == OP_LE || c->op == OP_GE;
    for (int side = 0; side < 2; side++) {
        const struct expr *e = without_casts(c->args[side]);
        *bound = c->args[1 - side];
        if (e->op == OP_REF && e->sym->storage == ST_SCALAR)
            return e->sym;
        *up = !*up;
    }
    return NULL;
}

/* Returns n of v = v + n, n + v or v - n, with *sign. */
static const struct expr *amount_of(const struct stmt *steps, const struct sym *v, int *sign)
{
    for (const struct stmt *s = steps; s; s = s->next) {
        if (s->kind != STMT_ASSIGN || s->target->sym != v)
            continue;
        const struct expr *e = without_casts(s->value);
        *sign = e->op == OP_SUB ? -1 : 1;
        for (int side = 0; side < 2 && (e->op == OP_ADD || (e->op == OP_SUB && !side)); side++) {
            const struct expr *from = without_casts(e->args[side]);
            if (from->op == OP_REF && from->sym == v)
                return e->args[1 - side];
        }
    }
    return NULL;
}

static const struct expr *start_of(const struct stmt *init, const struct sym *v)
{
    for (const struct stmt *s = init; s; s = s->next)
        if ((s->kind == STMT_DECL && s->sym == v) ||
            (s->kind == STMT_ASSIGN && s->target->op == OP_REF && s->target->sym == v))
            return s->value;
    return NULL;
}

/* Returns true if only the loop changes its variable, and once per iteration. */
static bool steps_once(const struct stmt *s, const struct sym *v)
{
    struct search body = {.sym = v};
    int steps = 0;
    stmt_walk(s->body, look_at, &body);
    for (const struct stmt *step = s->step; step; step = step->next)
        steps += step->kind == STMT_ASSIGN && step->target->sym == v;
    return !body.assigned && steps == 1;
}

/* Returns the name in the text: the compiler numbers names that are declared twice. */
static const char *written_name(struct arena *a, const struct sym *v)
{
    const struct source *s = v->loc.source;
    bool known = s && v->loc.length && v->loc.length <= strlen(v->name) &&
                 strncmp(s->text + v->loc.offset, v->name, v->loc.length) == 0;
    return known ? arena_string(a, v->name, v->loc.length) : v->name;
}

static void note_collective(void *user, struct stmt *s)
{
    bool *found = user;
    *found |=
        s->kind == STMT_ASYNC_COPY || stmt_arrives(s) ||
        (s->kind == STMT_EFFECT && !op_is_atomic(s->value->op) && s->value->op != OP_ASSUME) ||
        (s->kind == STMT_DECL && (s->sym->storage == ST_SHARED || s->sym->storage == ST_REG));
}

/* Returns whether the body is more than arithmetic and accesses of single threads. */
static bool is_collective(const struct bounds *b, const struct stmt *loop)
{
    bool found = !kernel_thread_level(&b->kernel);
    stmt_walk(loop->body, note_collective, &found);
    return found;
}

static struct sim_trace_loop described(struct bounds *b, const struct stmt *s)
{
    struct sim_trace_loop out = {.warp = is_collective(b, s)};
    const struct expr *bound = NULL, *start, *amount;
    bool up = false, reached = false;
    int sign = 1;
    if (s->loc.source) {
        out.file = s->loc.source->name;
        loc_line_column(s->loc, &out.line, &out.column);
    }
    const struct sym *v = s->kind == STMT_FOR ? counted(s->condition, &bound, &up, &reached) : NULL;
    start = v ? start_of(s->init, v) : NULL;
    amount = v ? amount_of(s->step, v, &sign) : NULL;
    if (!start || !amount || v->loc.source != s->loc.source)
        return out;
    out.variable = written_name(b->kernel.arena, v);
    out.bounded = steps_once(s, v) && find_value(b, start, &out.from) &&
                  find_value(b, bound, &out.to) && find_value(b, amount, &out.step) &&
                  !__builtin_mul_overflow(out.step, sign, &out.step) &&
                  !__builtin_add_overflow(out.to,
                                          !reached ? 0
                                          : up     ? 1
                                                   : -1,
                                          &out.to);
    out.bounded = out.bounded && out.step != 0 && (out.step > 0) == up;
    return out;
}

void trace_loops(struct simulation *s, const tw_launch *l)
{
    const struct lowered *lowered = l->variant->lowered;
    struct bounds b = {.kernel = *l->variant->ir, .launch = l, .block = s->options.trace->block};
    VEC(const struct stmt *) known = {0};
    b.kernel.arena = &s->arena;
    for (size_t i = 0; i < lowered->params.count; i++)
        b.by_ticket = b.by_ticket || lowered->params.data[i].kind == LOWERED_TICKET;
    for (size_t i = 0; i < lowered->function->marks.count; i++) {
        const struct ptx_mark *m = &lowered->function->marks.data[i];
        size_t loop = 0;
        while (loop < known.count && known.data[loop] != m->loop)
            loop++;
        if (loop == known.count) {
            struct sim_trace_loop found = described(&b, m->loop);
            vec_push(&s->arena, &known, (const struct stmt *)m->loop);
            sim_trace_add_loop(s->trace, &found);
        }
        static const enum sim_trace_mark_kind kinds[] = {[PTX_LOOP_BEGINS] = SIM_TRACE_LOOP_BEGINS,
                                                         [PTX_COPY_BEGINS] = SIM_TRACE_COPY_BEGINS,
                                                         [PTX_BRANCH_NEXT] = SIM_TRACE_BRANCH_NEXT,
                                                         [PTX_LOOP_ENDS] = SIM_TRACE_LOOP_ENDS};
        struct sim_trace_mark mark = {.kind = kinds[m->kind],
                                      .instruction = m->instruction,
                                      .loop = (int)loop,
                                      .copy = m->copy};
        sim_trace_mark(s->trace, &mark);
    }
}
