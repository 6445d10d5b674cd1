/* Adds fences between the two ways to memory. Threads store in program order; tensor copies and products in the
 * background read by another way, the async proxy (PTX ISA, "Async proxy"), which sees a store only after a fence of the
 * thread that stored, and a barrier or an mbarrier after the fence. For views that blocks fill for each other, a thread
 * that has acquired the stores by `lock`, or by the value of `arrive`, adds a fence, too. */
#include "tile/passes.h"

struct fences {
    struct kernel *kernel;
    bool *read;   /* by memory_of: a copy or product in the background reads or writes it */
    bool *stored; /* by memory_of: threads store to it, also by atomics */
    bool needed;  /* a store since this was set to false needs a fence */
};

/* Returns the number of a tile, or the first view's of an array: a copy through one view reads the stores through
 * another. */
static int memory_of(const struct fences *f, const struct sym *s)
{
    const struct sym *v = f->kernel->symbols;
    if (s->storage != ST_VIEW || !s->base)
        return s->index;
    while (v->storage != ST_VIEW || v->base != s->base)
        v = v->next;
    return v->index;
}

static void note_factor(void *user, struct expr **at)
{
    const struct fences *f = user;
    if ((*at)->op == OP_ACCESS)
        f->read[memory_of(f, (*at)->sym)] = true;
}

static void note_store(struct fences *f, const struct sym *to)
{
    if (to->storage != ST_SHARED && to->storage != ST_VIEW)
        return;
    f->stored[memory_of(f, to)] = true;
    f->needed |= f->read[memory_of(f, to)];
}

static void note_atomic(void *user, struct expr **at)
{
    if (op_is_atomic_of_thread((*at)->op))
        note_store(user, (*at)->args[0]->sym);
}

/* True for copies by the copy engine: from a view with an mbarrier, or to a view. */
static bool is_copy(const struct stmt *s)
{
    return s->kind == STMT_ASYNC_COPY && (s->barrier || s->target->sym->storage == ST_VIEW);
}

static void note_accesses(void *user, struct stmt *s)
{
    struct fences *f = user;
    if (is_copy(s) || s->in_background)
        expr_walk(&s->value, note_factor, f);
    if (is_copy(s))
        expr_walk(&s->target, note_factor, f);
    if (s->kind == STMT_DECL && s->value)
        note_store(f, s->sym);
    if ((s->kind == STMT_ASSIGN && !s->in_background) ||
        (s->kind == STMT_ASYNC_COPY && !is_copy(s)))
        note_store(f, s->target->sym);
    stmt_own_expressions(s, note_atomic, f);
}

static bool needs_fence(struct fences *f, struct stmt *s)
{
    f->needed = false;
    note_accesses(f, s);
    return f->needed;
}

static bool is_effect(const struct stmt *s, enum op op)
{
    return s && s->kind == STMT_EFFECT && s->value->op == op;
}

static void find_accesses(struct fences *f)
{
    f->read = arena_array(f->kernel->arena, bool, f->kernel->symbol_count + 1);
    f->stored = arena_array(f->kernel->arena, bool, f->kernel->symbol_count + 1);
    stmt_walk(f->kernel->body, note_accesses, f);
}

static bool copies_stores(const struct fences *f)
{
    bool any = false;
    for (const struct sym *s = f->kernel->symbols; s; s = s->next)
        any |= s->storage == ST_VIEW && f->read[s->index] && f->stored[s->index];
    return any;
}

bool kernel_copies_stores(struct kernel *k)
{
    struct fences f = {.kernel = k};
    find_accesses(&f);
    return copies_stores(&f);
}

static void add_fence(const struct fences *f, struct stmt **at)
{
    if (is_effect(*at, OP_FENCE_ASYNC))
        return;
    struct stmt *fence = stmt_effect(f->kernel, OP_FENCE_ASYNC, LOC_NONE, NULL);
    fence->uncredited = true;
    fence->next = *at;
    *at = fence;
}

/* One fence serves all stores of a run. After an atomic in a condition, both ways on have a fence. */
static void add_fences(struct fences *f, struct stmt *first)
{
    for (struct stmt *s = first; s; s = s->next) {
        add_fences(f, s->body);
        add_fences(f, s->otherwise);
        bool acquires = is_effect(s, OP_LOCK) || (s->kind == STMT_DECL && stmt_arrives(s));
        if (!(acquires && copies_stores(f)) && !needs_fence(f, s))
            continue;
        if (s->body)
            add_fence(f, &s->body);
        if (s->otherwise)
            add_fence(f, &s->otherwise);
        if (!s->next || s->next->body || !needs_fence(f, s->next))
            add_fence(f, &s->next);
    }
}

void pass_fences(struct pass_context *c)
{
    struct fences f = {.kernel = c->kernel};
    if (c->sm == 0 || !kernel_uses_roles(c->kernel))
        return;
    find_accesses(&f);
    add_fences(&f, c->kernel->body);
}
