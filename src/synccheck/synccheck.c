/* The static synchronisation check (docs/language.md, "Synchronisation"). synccheck_core.h
 * explains how it works. */
#include "synccheck/synccheck.h"
#include "synccheck/synccheck_roles.h"

#include "base/text.h"

#include <string.h>

/* Limits on the steps of the two explorations. A step is an instruction of the skeleton and
 * takes well under a microsecond. */
enum { STEPS = 24000, STEPS_HASTY = 200000, BYTES = 64 << 20 };
/* Limit on the values tried to find inputs for findings, for all findings together. A try takes
 * about as long as a step. */
enum { TRIES = 1000000 };
enum { PROGRAMS_KEPT = 64 }; /* most undecided programs kept for a module */

static int line_of_site(const struct sync_check *k, int site)
{
    int line = 0, column = 0;
    struct loc at = k->code.touches.data[site].loc;
    if (at.source)
        loc_line_column(at, &line, &column);
    return line;
}

/* Returns a text that names the tile and the lines of the first accesses that may meet. It lives
 * in the kernel's arena. */
static const char *doubt_text(const struct sync_check *k)
{
    static const char general[] = "it depends on values that are not known here";
    for (size_t i = 0; i < k->findings.count; i++) {
        const struct sync_finding *f = &k->findings.data[i];
        if (f->confirmed || f->kind > FIND_FLIGHT)
            continue;
        int early = line_of_site(k, f->early), late = line_of_site(k, f->late);
        const char *name = k->code.tiles.data[f->tile]->name;
        if (early == late)
            return arena_printf(k->kernel->arena, "%s whether accesses of `%s` in line %d meet",
                                general, name, late);
        return arena_printf(k->kernel->arena, "%s whether accesses of `%s` in lines %d and %d meet",
                            general, name, early < late ? early : late,
                            early < late ? late : early);
    }
    return general;
}

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
    *why = doubt_text(k);
    return SYNC_UNDECIDED;
}

static void explore(struct sync_check *k, bool exact, bool hasty)
{
    k->gave_up = NULL;
    k->exact = exact;
    k->hasty = hasty;
    k->step_limit = hasty ? STEPS_HASTY : STEPS;
    k->store_limit = BYTES;
    if (hasty && k->steps_left && *k->steps_left < k->step_limit)
        k->step_limit = *k->steps_left;
    sync_explore(k);
    if (hasty && k->steps_left)
        *k->steps_left -= k->steps;
}

static enum sync_verdict check(struct sync_check *k, const char **why)
{
    sync_values_init(k);
    sync_interner_init(&k->accesses, k->arena);
    sync_interner_init(&k->finding_keys, k->arena);
    sync_interner_init(&k->pairs, k->arena);
    sync_interner_init(&k->solved, k->arena);
    k->tries_left = TRIES;
    if (kernel_uses_roles(k->kernel))
        return sync_check_roles(k, why);
    if (!sync_skeleton_make(k))
        return SYNC_CLEAN;
    if (k->gave_up) {
        *why = k->gave_up;
        return SYNC_UNDECIDED;
    }
    explore(k, false, false);
    if (k->gave_up) {
        k->findings.count = 0;
        sync_interner_init(&k->finding_keys, k->arena);
        explore(k, false, true);
    }
    const char *widened = k->gave_up;
    if (!widened && !k->findings.count)
        return SYNC_CLEAN;
    explore(k, true, false);
    if (k->gave_up && !k->confirmed)
        explore(k, true, true);
    return verdict(k, widened, why);
}

/* Checks c's kernel without the memory, reports the findings, and returns the verdict. */
static enum sync_verdict check_kernel(struct pass_context *c, const char **why)
{
    struct arena *kernels = c->kernel->arena, *messages = c->diag->arena;
    jmp_buf out_of_memory, *outer = kernels->out_of_memory, *beside = messages->out_of_memory;
    struct arena *own = arena_new(kernels, struct arena);
    arena_init(own, kernels->allocator, &out_of_memory);
    own->poll = kernels->poll;
    arena_doing(own, "checking synchronisation");
    messages->out_of_memory = kernels->out_of_memory = &out_of_memory; /* while `own` lives */
    if (setjmp(out_of_memory)) {
        messages->out_of_memory = beside;
        kernels->out_of_memory = outer;
        arena_free(own);
        longjmp(*outer, 1);
    }
    struct sync_check *k = arena_new(own, struct sync_check);
    k->arena = own;
    k->eval = sync_eval_value;
    k->kernel = c->kernel;
    k->diag = c->diag;
    k->threads = kernel_block_threads(c->kernel);
    k->steps_left = c->sync_memory ? c->sync_memory->steps_left : NULL;
    enum sync_verdict result = check(k, why);
    sync_report_findings(k);
    messages->out_of_memory = beside;
    kernels->out_of_memory = outer;
    arena_free(own);
    arena_doing(kernels, "compiling a kernel");
    return result;
}

/* Computes the digest of the printed kernel. The check depends on nothing else, because the
 * printed kernel compiles to the same one. */
static void name_program(const struct kernel *kernel, unsigned char program[BLAKE2S_BYTES])
{
    struct text text;
    text_init(&text, kernel->arena);
    kernel_print(&text, kernel);
    blake2s_of(text.data, text.length, program);
}

static const struct sync_undecided *find_undecided(const struct pass_context *c)
{
    const struct sync_memory *m = c->sync_memory;
    unsigned char program[BLAKE2S_BYTES];
    if (!m || !m->undecided.count)
        return NULL;
    name_program(c->kernel, program);
    for (size_t i = 0; i < m->undecided.count; i++)
        if (memcmp(m->undecided.data[i].program, program, sizeof program) == 0)
            return &m->undecided.data[i];
    return NULL;
}

/* Keeps the reason of an undecided verdict. Only these verdicts take long and have no findings
 * to report again. Returns the reason, which lives as long as the memory. */
static const char *keep_undecided(const struct pass_context *c, const char *why)
{
    struct sync_memory *m = c->sync_memory;
    struct sync_undecided entry = {.why = why ? arena_string(m->arena, why, strlen(why)) : NULL};
    name_program(c->kernel, entry.program);
    if (m->undecided.count < PROGRAMS_KEPT)
        vec_push(m->arena, &m->undecided, entry);
    else
        m->undecided.data[m->explored % PROGRAMS_KEPT] = entry;
    return entry.why;
}

enum sync_verdict synccheck_kernel(struct pass_context *c, const char **why_undecided)
{
    const struct sync_undecided *known = find_undecided(c);
    const char *why = known ? known->why : NULL;
    enum sync_verdict result = known ? SYNC_UNDECIDED : check_kernel(c, &why);
    if (c->sync_memory && !known) {
        c->sync_memory->explored++;
        if (result == SYNC_UNDECIDED)
            why = keep_undecided(c, why);
    }
    if (why_undecided)
        *why_undecided = why;
    return result;
}

void synccheck_pass(struct pass_context *c)
{
    if (!c->despite_races)
        c->sync = synccheck_kernel(c, &c->sync_undecided);
    blockcheck_kernel(c);
}
