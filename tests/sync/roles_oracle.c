#include "roles_oracle.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_THREADS = 9, ELEMENTS = RING_BARRIERS * RING_STAGES, MOST_EVENTS = 120 };
enum { MOST_STATES = 150000, SLOTS = 1 << 19, MOST_COPIES = 64, NOT_ENDED = 1 << 20 };

/* --- unrolled --- */

struct event {
    enum item_kind kind;
    int tile, stage, element, number;
    int ordinal; /* WAIT: number of the waits for the element before */
    int parity;  /* WAIT: that it waits for; -1: of the next phase */
    bool single;
    bool common; /* before the roles */
    int end;     /* DOT, STORE: the event that waits for it, or NOT_ENDED */
    int copy;    /* COPY: its number */
};
struct unrolled {
    struct event event[MOST_EVENTS];
    int events;
};

struct world {
    const struct ring_program *p;
    struct unrolled role[MOST_ROLES];
    int threads, role_of[MOST_THREADS], group_of[MOST_THREADS];
    bool elected[MOST_THREADS];
    int copies, copy_role[MOST_COPIES], copy_event[MOST_COPIES];
    int landed_in[MOST_COPIES];                 /* phase + 1; 0: not seen yet */
    int arrived_in[MOST_ROLES][2][MOST_EVENTS]; /* the same, by group and event */
    int returned_in[MOST_THREADS][MOST_EVENTS];
    const char *fault;
    bool too_large;
};

static int stage_of(const struct ring_program *p, const struct role_item *i, int add, int round)
{
    return (add + (i->part == IN_LOOP ? round : 0)) % p->stages;
}

static void unroll_item(struct world *w, int role, const struct role_item *i, int round,
                        bool common)
{
    struct unrolled *u = &w->role[role];
    if (u->events == MOST_EVENTS || (i->kind == ITEM_COPY && w->copies == MOST_COPIES)) {
        w->too_large = true;
        return;
    }
    struct event e = {.kind = i->kind,
                      .tile = i->tile,
                      .stage = stage_of(w->p, i, i->tile_stage, round),
                      .number = i->number,
                      .single = i->single || (!common && w->p->role[role].one_thread),
                      .common = common,
                      .parity = -1,
                      .end = NOT_ENDED};
    if (i->by_hand)
        e.parity = ((i->part == IN_LOOP ? round / w->p->stages : 0) + i->number) % 2;
    e.element = i->barrier * RING_STAGES + stage_of(w->p, i, i->barrier_stage, round);
    for (int j = 0; j < u->events; j++)
        e.ordinal += u->event[j].kind == ITEM_WAIT && u->event[j].element == e.element &&
                     u->event[j].parity < 0;
    if (e.kind == ITEM_COPY && (!common || role == 0)) {
        w->copy_role[w->copies] = role;
        w->copy_event[w->copies] = u->events;
        e.copy = w->copies++;
    }
    u->event[u->events++] = e;
}

/* Finds the wait that ends each product or store: it leaves at most `number` later ones. */
static void find_ends(struct unrolled *u, enum item_kind kind, enum item_kind wait)
{
    for (int i = 0; i < u->events; i++) {
        int later = 0;
        for (int j = i + 1; j < u->events && u->event[i].kind == kind; j++) {
            later += u->event[j].kind == kind;
            if (u->event[j].kind == wait && later + 1 > u->event[j].number) {
                u->event[i].end = j;
                break;
            }
        }
    }
}

static void unroll(struct world *w, int role, int rounds)
{
    const struct ring_role *r = &w->p->role[role];
    for (int i = 0; i < w->p->befores; i++)
        unroll_item(w, role, &w->p->before[i], 0, true);
    for (int part = BEFORE_LOOP; part <= AFTER_LOOP; part++)
        for (int round = 0; round < (part == IN_LOOP ? rounds : 1); round++)
            for (int i = 0; i < r->items; i++)
                if ((int)r->item[i].part == part)
                    unroll_item(w, role, &r->item[i], round, false);
    find_ends(&w->role[role], ITEM_DOT, ITEM_DOT_WAIT);
    find_ends(&w->role[role], ITEM_STORE, ITEM_STORE_WAIT);
}

static void add_thread(struct world *w, int role, int group, bool elected)
{
    w->role_of[w->threads] = role;
    w->group_of[w->threads] = group;
    w->elected[w->threads++] = elected;
}

/* --- states --- */

struct barrier_now {
    uint8_t completed, arrivals;
    int8_t bytes; /* announced and not landed, in copies */
};
struct now {
    uint64_t landed;
    uint8_t at[MOST_THREADS];
    struct barrier_now barrier[ELEMENTS];
    uint8_t padding[5];
};

struct space {
    struct now *state;
    uint32_t *slot;
    int states;
};

static uint64_t hash_of(const struct now *s)
{
    uint64_t h = 1469598103934665603u, word;
    const char *bytes = (const char *)s;
    for (size_t i = 0; i + sizeof word <= sizeof *s; i += sizeof word) {
        memcpy(&word, bytes + i, sizeof word);
        h = (h ^ word) * 0x9e3779b97f4a7c15u;
        h ^= h >> 29;
    }
    return h;
}

static void add_state(struct world *w, struct space *space, const struct now *s)
{
    size_t i = hash_of(s) % SLOTS;
    for (; space->slot[i]; i = (i + 1) % SLOTS)
        if (memcmp(&space->state[space->slot[i] - 1], s, sizeof *s) == 0)
            return;
    if (space->states == MOST_STATES) {
        w->too_large = true;
        return;
    }
    space->state[space->states++] = *s;
    space->slot[i] = (uint32_t)space->states;
}

static const struct event *next_event(const struct world *w, const struct now *s, int thread)
{
    const struct unrolled *u = &w->role[w->role_of[thread]];
    return s->at[thread] < u->events ? &u->event[s->at[thread]] : NULL;
}

/* --- conflicts --- */

/* An access that happens, or is under way. */
struct touching {
    int role, event;
    int thread;      /* -1: in the background */
    bool common;     /* before the roles */
    bool lasts;      /* a thread did it before, and has not released it since */
    int tile, stage; /* tile -1: both */
    bool writes;
};

static bool meet(const struct touching *a, const struct touching *b)
{
    bool same = a->role == b->role && (a->event == b->event || a->thread == b->thread);
    same = same || (a->common && b->common && a->event == b->event);
    bool tiles = a->tile < 0 || b->tile < 0 || a->tile == b->tile;
    return !same && tiles && a->stage == b->stage && (a->writes || b->writes);
}

static struct touching touching_of(const struct world *w, int role, int event, int thread)
{
    const struct event *e = &w->role[role].event[event];
    return (struct touching){.role = role,
                             .event = event,
                             .thread = thread,
                             .common = e->common,
                             .tile = e->kind == ITEM_DOT ? -1 : e->tile,
                             .stage = e->stage,
                             .writes = e->kind == ITEM_WRITE || e->kind == ITEM_COPY};
}

static bool touches(const struct event *e)
{
    return e->kind == ITEM_READ || e->kind == ITEM_WRITE || e->kind == ITEM_DOT ||
           e->kind == ITEM_STORE || e->kind == ITEM_COPY;
}

/* Returns true if an event's work goes on in the background. */
static bool under_way(const struct world *w, const struct now *s, int role, int event)
{
    const struct event *e = &w->role[role].event[event];
    if (e->common && role > 0) /* the first role starts it */
        return false;
    for (int group = 0; group < w->p->role[role].groups; group++) {
        int first = 0;
        for (int t = 0; t < w->threads; t++) {
            bool counts = w->role_of[t] == role && w->group_of[t] == group &&
                          (e->kind == ITEM_DOT || w->elected[t]);
            first = counts && s->at[t] > first ? s->at[t] : first;
        }
        if (e->kind == ITEM_COPY ? first > event && !(s->landed >> e->copy & 1)
                                 : first > event && first <= e->end)
            return true;
    }
    return false;
}

/* Returns true for an event after which other threads may know of all accesses before. */
static bool releases(const struct event *e)
{
    return e->kind == ITEM_SYNC || e->kind == ITEM_ARRIVE;
}

static int list_touching(const struct world *w, const struct now *s, struct touching *list)
{
    int count = 0;
    for (int t = 0; t < w->threads; t++) {
        const struct event *e = next_event(w, s, t);
        if (e && touches(e))
            list[count++] = touching_of(w, w->role_of[t], s->at[t], t);
        for (int i = s->at[t] - 1; i >= 0 && !releases(&w->role[w->role_of[t]].event[i]); i--) {
            enum item_kind kind = w->role[w->role_of[t]].event[i].kind;
            if (kind != ITEM_READ && kind != ITEM_WRITE)
                continue;
            list[count] = touching_of(w, w->role_of[t], i, t);
            list[count++].lasts = true;
        }
    }
    for (int r = 0; r < w->p->roles; r++)
        for (int i = 0; i < w->role[r].events; i++) {
            enum item_kind kind = w->role[r].event[i].kind;
            if ((kind == ITEM_COPY || kind == ITEM_DOT || kind == ITEM_STORE) &&
                under_way(w, s, r, i))
                list[count++] = touching_of(w, r, i, -1);
        }
    return count;
}

static bool happens(const struct touching *a)
{
    return a->thread >= 0 && !a->lasts;
}

static void find_conflicts(struct world *w, const struct now *s)
{
    struct touching list[(MOST_THREADS + MOST_ROLES) * MOST_EVENTS];
    int count = list_touching(w, s, list);
    for (int i = 0; i < count; i++)
        for (int j = 0; j < i; j++)
            if ((happens(&list[i]) || happens(&list[j])) && meet(&list[i], &list[j]))
                w->fault = "two accesses meet";
}

/* --- steps --- */

static void set_phase(struct world *w, int *seen, int phase)
{
    if (*seen && *seen != phase + 1)
        w->fault = "phases differ between orders";
    *seen = phase + 1;
}

static void complete(struct barrier_now *b, int wanted)
{
    if (b->arrivals == wanted && b->bytes == 0) {
        b->completed++;
        b->arrivals = 0;
    }
}

static void arrive(struct world *w, struct now *s, const struct event *e, int *seen, int bytes)
{
    struct barrier_now *b = &s->barrier[e->element];
    int wanted = w->p->arrivals[e->element / RING_STAGES];
    if (b->arrivals == wanted) {
        w->fault = "one arrival too many";
        return;
    }
    set_phase(w, seen, b->completed);
    b->arrivals++;
    b->bytes = (int8_t)(b->bytes + bytes);
    complete(b, wanted);
}

static void land(struct world *w, struct now *s, int copy)
{
    const struct event *e = &w->role[w->copy_role[copy]].event[w->copy_event[copy]];
    struct barrier_now *b = &s->barrier[e->element];
    set_phase(w, &w->landed_in[copy], b->completed);
    s->landed |= UINT64_C(1) << copy;
    b->bytes--;
    complete(b, w->p->arrivals[e->element / RING_STAGES]);
}

static bool of_elected(const struct event *e)
{
    return e->single || e->kind == ITEM_COPY || e->kind == ITEM_EXPECT || e->kind == ITEM_STORE ||
           e->kind == ITEM_STORE_WAIT;
}

/* Lets threads pass the events that only the elected one has. */
static void pass_foreign(const struct world *w, struct now *s)
{
    for (int t = 0; t < w->threads; t++) {
        const struct event *e;
        while ((e = next_event(w, s, t)) && of_elected(e) &&
               (!w->elected[t] || (e->common && w->role_of[t] > 0)))
            s->at[t]++;
    }
}

static bool group_passed(const struct world *w, const struct now *s, int thread, int event)
{
    for (int t = 0; t < w->threads; t++)
        if (w->role_of[t] == w->role_of[thread] && w->group_of[t] == w->group_of[thread] &&
            s->at[t] <= event)
            return false;
    return true;
}

/* Returns true if a wait for products can end: a product is one operation of all threads of a
 * warpgroup, so it is not done before they all have come to it. */
static bool products_done(const struct world *w, const struct now *s, int thread)
{
    const struct unrolled *u = &w->role[w->role_of[thread]];
    for (int i = 0; i < s->at[thread]; i++)
        if (u->event[i].kind == ITEM_DOT && u->event[i].end <= s->at[thread] &&
            !group_passed(w, s, thread, i))
            return false;
    return true;
}

/* Steps all threads of a role, or of the block, past a barrier. Returns false if some are not
 * there. */
static bool step_sync(const struct world *w, struct now *s, int thread, bool common)
{
    int at = s->at[thread];
    for (int t = 0; t < w->threads; t++)
        if ((common || w->role_of[t] == w->role_of[thread]) && s->at[t] != at)
            return false;
    for (int t = 0; t < w->threads; t++)
        s->at[t] = (uint8_t)(s->at[t] + (common || w->role_of[t] == w->role_of[thread]));
    return true;
}

static bool step_wait(struct world *w, const struct now *s, int thread, const struct event *e)
{
    int completed = s->barrier[e->element].completed;
    int parity = e->parity < 0 ? e->ordinal % 2 : e->parity;
    if (e->parity < 0 && completed >= e->ordinal + 2)
        w->fault = "a phase is overtaken";
    if (completed % 2 == parity) /* the parity of the phase that runs */
        return false;
    if (e->parity >= 0)
        set_phase(w, &w->returned_in[thread][s->at[thread]], completed);
    return true;
}

/* Steps a thread. Returns false if it has to wait. */
static bool step(struct world *w, struct now *s, int thread)
{
    const struct event *e = next_event(w, s, thread);
    int at = s->at[thread], role = w->role_of[thread], group = w->group_of[thread];
    if (!e)
        return false;
    if (e->kind == ITEM_SYNC)
        return step_sync(w, s, thread, e->common);
    if (e->kind == ITEM_WAIT && !step_wait(w, s, thread, e))
        return false;
    if (e->kind == ITEM_DOT_WAIT && !products_done(w, s, thread))
        return false;
    s->at[thread]++;
    int *seen = &w->arrived_in[role][group][at];
    if (e->kind == ITEM_EXPECT)
        arrive(w, s, e, seen, e->number);
    if (e->kind == ITEM_ARRIVE && e->single)
        arrive(w, s, e, seen, 0);
    else if (e->kind == ITEM_ARRIVE && group_passed(w, s, thread, at))
        arrive(w, s, e, seen, 0);
    return true;
}

/* --- ends --- */

static void judge_end(struct world *w, const struct now *s, bool moved)
{
    bool ended = true;
    for (int t = 0; t < w->threads; t++)
        ended = ended && !next_event(w, s, t);
    if (!ended) {
        if (!moved)
            w->fault = "no thread can go on";
        return;
    }
    for (int r = 0; r < w->p->roles; r++)
        for (int i = 0; i < w->role[r].events; i++) {
            enum item_kind kind = w->role[r].event[i].kind;
            if ((kind == ITEM_COPY || kind == ITEM_DOT || kind == ITEM_STORE) &&
                under_way(w, s, r, i))
                w->fault = "work is under way at the end";
        }
    for (int e = 0; e < ELEMENTS && !moved; e++) {
        const struct barrier_now *b = &s->barrier[e];
        if (b->bytes && b->arrivals == w->p->arrivals[e / RING_STAGES])
            w->fault = "a phase misses bytes";
    }
}

static void expand(struct world *w, struct space *space, int number)
{
    struct now s = space->state[number];
    bool moved = false;
    find_conflicts(w, &s);
    for (int t = 0; t < w->threads && !w->fault; t++) {
        struct now next = s;
        if (!step(w, &next, t))
            continue;
        moved = true;
        pass_foreign(w, &next);
        add_state(w, space, &next);
    }
    for (int c = 0; c < w->copies && !w->fault; c++) {
        struct now next = s;
        if (!under_way(w, &s, w->copy_role[c], w->copy_event[c]))
            continue;
        moved = true;
        land(w, &next, c);
        add_state(w, space, &next);
    }
    if (!w->fault)
        judge_end(w, &s, moved);
}

const char *ring_fault(const struct ring_program *p, int rounds, bool *too_large)
{
    struct world *w = calloc(1, sizeof *w);
    struct space space = {malloc(sizeof(struct now) * MOST_STATES), calloc(SLOTS, sizeof(uint32_t)),
                          0};
    struct now begin;
    if (!w || !space.state || !space.slot)
        abort();
    w->p = p;
    for (int r = 0; r < p->roles; r++) {
        unroll(w, r, rounds);
        add_thread(w, r, 0, true);
        if (!p->role[r].one_thread || p->befores)
            add_thread(w, r, 0, false);
        if (p->role[r].groups > 1)
            add_thread(w, r, 1, false);
    }
    memset(&begin, 0, sizeof begin);
    for (int e = 0; e < ELEMENTS; e++)
        begin.barrier[e].completed = p->ready[e / RING_STAGES];
    pass_foreign(w, &begin);
    add_state(w, &space, &begin);
    for (int i = 0; i < space.states && !w->fault && !w->too_large; i++)
        expand(w, &space, i);
    *too_large |= w->too_large && !w->fault;
    const char *fault = w->fault;
    free(space.state);
    free(space.slot);
    free(w);
    return fault;
}
