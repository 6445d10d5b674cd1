/* The static synchronisation check (docs/language.md, "Synchronisation"); how it thinks stands in
 * synccheck_core.h. */
#include "tile/synccheck_core.h"

/* Steps of the two explorations. A step is an instruction of the skeleton, well under a
 * microsecond. */
enum { STEPS_WIDENED = 24000, STEPS_EXACT = 24000 };

static enum sync_verdict verdict(const struct sync_check *k, const char *gave_up_widened,
                                 const char **why)
{
    if (k->confirmed)
        return SYNC_RACE;
    if (k->gave_up) {
        *why = gave_up_widened ? gave_up_widened : k->gave_up;
        return SYNC_UNDECIDED;
    }
    if (!k->doubts) /* the exact run has seen every execution */
        return SYNC_CLEAN;
    *why = "it depends on values that are not known here";
    return SYNC_UNDECIDED;
}

static enum sync_verdict check(struct sync_check *k, const char **why)
{
    values_init(k);
    interner_init(&k->accesses, k->arena);
    interner_init(&k->finding_keys, k->arena);
    interner_init(&k->pairs, k->arena);
    if (!skeleton_make(k))
        return SYNC_CLEAN;
    if (k->gave_up) {
        *why = k->gave_up;
        return SYNC_UNDECIDED;
    }
    k->step_limit = STEPS_WIDENED;
    sync_explore(k);
    const char *widened = k->gave_up;
    if (!widened && !k->findings.count)
        return SYNC_CLEAN;
    k->gave_up = NULL;
    k->exact = true;
    k->step_limit = STEPS_EXACT;
    sync_explore(k);
    return verdict(k, widened, why);
}

enum sync_verdict synccheck_kernel(struct pass_context *c, const char **why_undecided)
{
    jmp_buf out_of_memory, *outer = c->kernel->arena->out_of_memory;
    struct arena *own = arena_new(c->kernel->arena, struct arena);
    arena_init(own, c->kernel->arena->allocator, &out_of_memory);
    if (setjmp(out_of_memory)) {
        arena_free(own);
        longjmp(*outer, 1);
    }
    struct sync_check *k = arena_new(own, struct sync_check);
    k->arena = own;
    k->kernel = c->kernel;
    k->diag = c->diag;
    k->threads = kernel_block_threads(c->kernel);
    const char *why = NULL;
    enum sync_verdict result = check(k, &why);
    report_findings(k);
    arena_free(own);
    if (why_undecided)
        *why_undecided = why;
    return result;
}

void pass_synccheck(struct pass_context *c)
{
    synccheck_kernel(c, NULL);
}
