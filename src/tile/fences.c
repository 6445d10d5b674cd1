/* Adds fences between the two ways to memory. Threads store in program order; tensor copies and products in the
 * background read by another way, the async proxy (PTX ISA, "Async proxy"), which sees a store only after a fence of the
 * thread that stored, and a barrier or an mbarrier after the fence. For views that blocks fill for each other, a thread
 * that has acquired the stores by `lock` adds a fence, too. */
#include "tile/passes.h"

struct fences {
    struct kernel *kernel;
    bool *read;   /* by sym->index: read in the background */
    bool *stored; /* by sym->index: threads store to it */
};

static void note_factor(void *user, struct expr **at)
{
    const struct fences *f = user;
    if ((*at)->op == OP_ACCESS)
        f->read[(*at)->sym->index] = true;
}

/* Returns the shared tile or the view that threads store to; NULL: none. */
static const struct sym *stored(const struct stmt *s)
{
    const struct sym *to = s->kind == STMT_DECL && s->value              ? s->sym
                           : s->kind == STMT_ASSIGN && !s->in_background ? s->target->sym
                           : s->kind == STMT_ASYNC_COPY && !s->barrier   ? s->target->sym
                                                                         : NULL;
    bool to_view = to && to->storage == ST_VIEW && s->kind == STMT_ASSIGN;
    return to && (to->storage == ST_SHARED || to_view) ? to : NULL;
}

static void note_accesses(void *user, struct stmt *s)
{
    const struct fences *f = user;
    bool copies = s->kind == STMT_ASYNC_COPY && (s->barrier || s->target->sym->storage == ST_VIEW);
    if (copies || s->in_background)
        expr_walk(&s->value, note_factor, user);
    if (stored(s))
        f->stored[stored(s)->index] = true;
}

static bool needs_fence(const struct fences *f, const struct stmt *s)
{
    const struct sym *to = stored(s);
    return to && f->read[to->index];
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

/* One fence serves all stores of a run. */
static void add_fences(struct fences *f, struct stmt *first)
{
    for (struct stmt *s = first; s; s = s->next) {
        add_fences(f, s->body);
        add_fences(f, s->otherwise);
        bool acquires = is_effect(s, OP_LOCK) && copies_stores(f);
        if (!(acquires || needs_fence(f, s)) || is_effect(s->next, OP_FENCE_ASYNC) ||
            (s->next && needs_fence(f, s->next)))
            continue;
        struct stmt *fence = stmt_effect(f->kernel, OP_FENCE_ASYNC, LOC_NONE, NULL);
        fence->uncredited = true;
        fence->next = s->next;
        s->next = fence;
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
