/* The mbarriers of a run: phases, their arrivals and bytes, and the rules that make the phases the
 * same in all orders. */
#include "synccheck/synccheck_roles.h"

#include <string.h>

/* Limits on the steps at one phase that are kept. */
enum { MOST_KEPT = 1024 };

void sync_barriers_init(struct roles_run *u, int first_component)
{
    struct roles_check *r = u->r;
    u->barriers = arena_array(r->k->arena, struct barrier_state, r->barrier_count + 1);
    for (size_t i = 0; i < r->barriers.count * (size_t)r->blocks; i++) {
        size_t of = i % r->barriers.count;
        const struct sym *sym = r->barriers.data[of];
        int64_t count = type_elements(&sym->type);
        int first = r->first_barrier.data[of] + (int)(i / r->barriers.count) * r->barriers_each;
        for (int j = first; j < first + count; j++) {
            struct barrier_state *b = &u->barriers[j];
            b->component = first_component + j;
            b->wanted = sym->arrivals;
            b->completed = sym->ready;
            b->phase.clock = arena_array(r->k->arena, int, u->components);
            b->before.clock = arena_array(r->k->arena, int, u->components);
            b->before.clock[b->component] = sym->ready;
        }
    }
}

static void note(struct roles_run *u, int barrier, struct role_finding f)
{
    struct barrier_state *b = &u->barriers[barrier];
    if (b->failed)
        return;
    b->failed = true;
    f.barrier = barrier;
    sync_add_finding(u->r, &f);
}

static void keep(struct roles_run *u, struct sync_phase *p, const struct phase_step *step, int list)
{
    size_t kept = p->arrived.count + p->copies.count + p->waited.count;
    if (kept > MOST_KEPT) {
        sync_give_up(u->r, "a phase of an mbarrier has very many steps");
        return;
    }
    if (list == 0)
        vec_push(u->r->k->arena, &p->arrived, *step);
    else if (list == 1)
        vec_push(u->r->k->arena, &p->copies, *step);
    else
        vec_push(u->r->k->arena, &p->waited, *step);
}

/* Returns an arrival or copy of the phase before that need not come before a step with this clock;
 * NULL: none. */
static const struct phase_step *not_before(const struct barrier_state *b, const int *clock)
{
    if (clock[b->component] >= b->completed)
        return NULL;
    if (b->before.copies.count)
        return &b->before.copies.data[0];
    for (size_t i = 0; i < b->before.arrived.count; i++) {
        const struct phase_step *a = &b->before.arrived.data[i];
        if (clock[a->component] < a->time)
            return a;
    }
    return NULL;
}

/* Completes the phase if all has come. Then each wait for the phase before must have returned,
 * in every order: a wait sees only the parity of a phase. */
static void try_complete(struct roles_run *u, int barrier)
{
    struct barrier_state *b = &u->barriers[barrier];
    if (b->phase.arrivals < b->wanted || b->phase.announced != b->phase.bytes)
        return;
    for (size_t i = 0; i < b->before.waited.count; i++) {
        const struct phase_step *w = &b->before.waited.data[i];
        if (b->phase.clock[w->component] < w->time)
            note(u, barrier,
                 (struct role_finding){.kind = ROLE_OVERTAKEN,
                                       .late = w->place,
                                       .early = b->phase.arrived.data[0].place});
    }
    struct sync_phase over = b->before;
    b->completed++;
    b->phase.clock[b->component] = b->completed;
    b->before = b->phase;
    b->phase = over;
    b->phase.announced = b->phase.bytes = b->phase.arrivals = 0;
    b->phase.arrived.count = b->phase.copies.count = b->phase.waited.count = 0;
    memset(b->phase.clock, 0, sizeof *b->phase.clock * (size_t)u->components);
}

bool sync_barrier_arrive(struct roles_run *u, const struct role_step *s, const int *clock,
                         const struct phase_step *step)
{
    struct barrier_state *b = &u->barriers[s->barrier];
    if (b->phase.arrivals >= b->wanted)
        return false;
    const struct phase_step *early = not_before(b, clock);
    if (early)
        note(u, s->barrier,
             (struct role_finding){.kind = ROLE_EARLY, .late = step->place, .early = early->place});
    keep(u, &b->phase, step, 0);
    sync_clock_join(u, b->phase.clock, clock);
    b->phase.arrivals++;
    if (s->kind == STEP_EXPECT)
        b->phase.announced += s->number;
    try_complete(u, s->barrier);
    return true;
}

void sync_barrier_copy(struct roles_run *u, const struct role_step *s, const int *clock,
                       const struct phase_step *step)
{
    struct barrier_state *b = &u->barriers[s->barrier];
    const struct phase_step *early = not_before(b, clock);
    if (early)
        note(u, s->barrier,
             (struct role_finding){
                 .kind = ROLE_EARLY_COPY, .late = step->place, .early = early->place});
    keep(u, &b->phase, step, 1);
    sync_clock_join(u, b->phase.clock, clock);
    b->phase.bytes += s->number;
    try_complete(u, s->barrier);
}

int sync_barrier_phase_awaited(const struct roles_run *u, const struct role_step *s, int waits,
                               const int *clock)
{
    if (s->number < 0)
        return waits;
    int known = clock[u->barriers[s->barrier].component];
    return known % 2 == s->number ? known : known - 1;
}

void sync_barrier_pass(struct roles_run *u, const struct role_step *s, int phase, int *clock,
                       const struct phase_step *step)
{
    struct barrier_state *b = &u->barriers[s->barrier];
    if (phase < b->completed - 1)
        note(u, s->barrier,
             (struct role_finding){
                 .kind = ROLE_OVERTAKEN,
                 .late = step->place,
                 .early = b->before.arrived.count ? b->before.arrived.data[0].place : step->place});
    else
        keep(u, &b->before, step, 2);
    if (phase >= 0)
        sync_clock_join(u, clock, b->before.clock);
}

void sync_barrier_note_few(const struct roles_run *u, const struct role_record *copy,
                           struct role_finding *f)
{
    const struct barrier_state *b = u->barriers;
    while (b->component != copy->component)
        b++;
    const struct sync_phase *full = &b->before;
    if (copy->time != b->completed + 1 || b->phase.arrivals || !full->copies.count)
        return;
    const struct phase_step *last = &full->copies.data[full->copies.count - 1];
    for (size_t i = 0; i < full->arrived.count; i++) {
        const struct phase_step *expect = &full->arrived.data[i];
        if (expect->component != last->component || expect->time > last->time)
            continue;
        f->few = expect->place.stmt;
        f->announced = full->announced;
        f->bytes = full->announced + b->phase.bytes;
    }
}

bool sync_barriers_explain(struct roles_run *u)
{
    bool found = false;
    for (int i = 0; i < u->r->barrier_count; i++) {
        const struct barrier_state *b = &u->barriers[i];
        const struct sync_phase *p = &b->phase;
        bool full = p->arrivals >= b->wanted, copied = p->copies.count > 0;
        if (p->announced == p->bytes || (!full && p->announced > p->bytes))
            continue;
        if (!p->arrived.count && !copied)
            continue;
        struct role_finding f = {.kind = ROLE_BYTES, .announced = p->announced, .bytes = p->bytes};
        f.early = p->arrived.count ? p->arrived.data[p->arrived.count - 1].place
                                   : p->copies.data[0].place;
        f.late = copied ? p->copies.data[p->copies.count - 1].place : f.early;
        found = true;
        note(u, i, f);
    }
    return found;
}
