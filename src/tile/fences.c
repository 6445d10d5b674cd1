/* Adds fences between the two ways to shared memory. Threads store to it in program order; tensor copies and products
 * in the background read it by another way, the async proxy (PTX ISA, "Async proxy"), which sees a store only
 * after a fence of the thread that stored, and a barrier or an mbarrier after the fence. */
#include "tile/passes.h"

struct fences {
    struct kernel *kernel;
    bool *read; /* by sym->index: read in the background */
};

static void note_factor(void *user, struct expr **at)
{
    const struct fences *f = user;
    if ((*at)->op == OP_ACCESS && (*at)->sym->storage == ST_SHARED)
        f->read[(*at)->sym->index] = true;
}

static void note_reads(void *user, struct stmt *s)
{
    bool stores = s->kind == STMT_ASYNC_COPY && s->target->sym->storage == ST_VIEW;
    if (stores || s->in_background)
        expr_walk(&s->value, note_factor, user);
}

/* Returns the shared tile that threads store to; NULL: none. */
static const struct sym *stored(const struct stmt *s)
{
    const struct sym *to = s->kind == STMT_DECL && s->value              ? s->sym
                           : s->kind == STMT_ASSIGN && !s->in_background ? s->target->sym
                           : s->kind == STMT_ASYNC_COPY && !s->barrier   ? s->target->sym
                                                                         : NULL;
    return to && to->storage == ST_SHARED ? to : NULL;
}

static bool needs_fence(const struct fences *f, const struct stmt *s)
{
    const struct sym *to = stored(s);
    return to && f->read[to->index];
}

static bool is_fence(const struct stmt *s)
{
    return s && s->kind == STMT_EFFECT && s->value->op == OP_FENCE_ASYNC;
}

/* One fence serves all stores of a run. */
static void add_fences(struct fences *f, struct stmt *first)
{
    for (struct stmt *s = first; s; s = s->next) {
        add_fences(f, s->body);
        add_fences(f, s->otherwise);
        if (!needs_fence(f, s) || is_fence(s->next) || (s->next && needs_fence(f, s->next)))
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
    f.read = arena_array(c->kernel->arena, bool, c->kernel->symbol_count + 1);
    stmt_walk(c->kernel->body, note_reads, &f);
    add_fences(&f, c->kernel->body);
}
