/* Follows the scalars of one block, every turn of every loop that copies. Other loops are left out:
 * the scalars that they assign are not known after them. */
#include "tile/block_copies.h"

#include "tile/block_program.h"

enum { MOST_STATEMENTS = 1 << 20 };

enum leave { STAYS, CONTINUES, BREAKS, RETURNS };

struct copies {
    const struct scalar_env *values;
    void (*see)(void *user, const struct block_copy *copy);
    void *user;
    int statements;
    enum leave leave;
    bool failed; /* a decision depends on values that are not known */
};

static void note_copy(void *user, struct stmt *s)
{
    *(bool *)user |= s->kind == STMT_ASYNC_COPY;
}

static bool copies_within(struct stmt *s)
{
    bool any = s->kind == STMT_ASYNC_COPY;
    stmt_walk(s->body, note_copy, &any);
    stmt_walk(s->otherwise, note_copy, &any);
    return any;
}

static void forget_assigned(void *user, struct stmt *s)
{
    (void)user;
    struct sym *v = s->kind == STMT_ASSIGN && s->target->op == OP_REF ? s->target->sym
                    : s->kind == STMT_DECL                            ? s->sym
                                                                      : NULL;
    if (v && block_scalar(v))
        block_set_scalar(v, false, (struct literal){0});
}

/* Tells a copy, if its view's side is known. */
static void copy(struct copies *w, const struct stmt *s)
{
    bool stores = s->target->sym->storage == ST_VIEW;
    const struct expr *e = stores ? s->target : s->value;
    struct block_copy out = {.by = s, .view = e->sym, .stores = stores};
    if (e->sym->storage != ST_VIEW)
        return;
    for (int i = 0; i < e->sym->type.rank && !w->failed; i++) {
        const struct index *x = i < e->indices ? &e->index[i] : NULL;
        bool whole = !x || x->kind == IX_ALL;
        struct literal at = {0};
        w->failed = whole
                        ? !eval_int(e->sym->dims[i], w->values, &out.extent[i])
                        : x->kind == IX_GATHER || !block_evaluate(w->values, x->value, DT_I64, &at);
        out.start[i] = at.i;
        if (!whole)
            out.extent[i] = x->kind == IX_SLICE ? x->extent : 1;
    }
    if (!w->failed)
        w->see(w->user, &out);
}

static void follow(struct copies *w, struct stmt *first);

static bool holds(struct copies *w, const struct expr *condition)
{
    struct literal c = {.i = 1};
    if (condition && !block_evaluate(w->values, condition, DT_I64, &c))
        w->failed = true;
    return !w->failed && c.i != 0;
}

static void follow_loop(struct copies *w, struct stmt *s)
{
    if (!copies_within(s)) {
        stmt_walk(s->body, forget_assigned, NULL);
        return;
    }
    follow(w, s->init);
    while (holds(w, s->condition) && w->leave == STAYS) {
        follow(w, s->body);
        if (w->leave == CONTINUES)
            w->leave = STAYS;
        if (w->leave == STAYS)
            follow(w, s->step);
    }
    if (w->leave == BREAKS)
        w->leave = STAYS;
}

static void follow_branch(struct copies *w, struct stmt *s)
{
    struct literal c;
    if (block_evaluate(w->values, s->condition, DT_I64, &c)) {
        follow(w, c.i ? s->body : s->otherwise);
        return;
    }
    w->failed |= copies_within(s);
    stmt_walk(s->body, forget_assigned, NULL);
    stmt_walk(s->otherwise, forget_assigned, NULL);
}

static void follow_one(struct copies *w, struct stmt *s)
{
    switch (s->kind) {
    case STMT_DECL:
        if (block_scalar(s->sym))
            block_assign(w->values, s->sym, s->value);
        break;
    case STMT_ASSIGN:
        if (s->target->op == OP_REF && block_scalar(s->target->sym))
            block_assign(w->values, s->target->sym, s->value);
        break;
    case STMT_ASYNC_COPY: copy(w, s); break;
    case STMT_IF: follow_branch(w, s); break;
    case STMT_FOR:
    case STMT_WHILE: follow_loop(w, s); break;
    case STMT_ROLE:
    case STMT_BLOCK:
    case STMT_ONE_THREAD: follow(w, s->body); break;
    case STMT_BREAK: w->leave = BREAKS; break;
    case STMT_CONTINUE: w->leave = CONTINUES; break;
    case STMT_RETURN: w->leave = RETURNS; break;
    case STMT_EFFECT:
    case STMT_ENSURES: break;
    }
}

static void follow(struct copies *w, struct stmt *first)
{
    for (struct stmt *s = first; s && w->leave == STAYS && !w->failed; s = s->next) {
        w->failed = ++w->statements > MOST_STATEMENTS;
        follow_one(w, s);
    }
}

bool block_copies(struct block_program *p, const struct scalar_env *values, const int64_t grid[3],
                  const int64_t at[3], void (*see)(void *user, const struct block_copy *copy),
                  void *user)
{
    struct copies w = {.values = values, .see = see, .user = user};
    block_program_start(p, grid, at);
    follow(&w, p->kernel->body);
    return !w.failed;
}
