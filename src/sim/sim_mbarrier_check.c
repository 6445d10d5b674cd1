/* The rules of mbarriers (PTX ISA, parallel-synchronization-and-communication-instructions-
 * mbarrier): initialised before use, invalidated before they are initialised again, and in each
 * phase waited for before any thread arrives in the next one. Errors that stop the machine
 * itself (counts, widths) come as SIM_MBARRIER_NONE and _BROKEN. */
#include "sim/sim_mbarrier_check.h"

#include "sim/sim_heap.h"

/* A place that is or was an mbarrier. */
struct sim_seen_mbarrier {
    struct sim_seen_mbarrier *next;
    uint64_t address;
    bool valid;
    bool waited;            /* a thread waited for the previous phase; true in the first phase */
    int64_t phase;          /* from 0 */
    int64_t pending, bytes; /* at the last wait that failed */
    /* 1 + the last phase to which a bulk copy brought bytes, and that a thread waited for. */
    int64_t copied_in, waited_for;
    struct sim_place copy; /* the last of these copies */
    uint32_t copied_by;
    struct sim_place made, unmade; /* the last initialisation, the last invalidation */
    struct sim_place over, wait;   /* end of the last phase; last wait that failed */
    uint32_t made_by, unmade_by, over_by;
    uint32_t *waiting; /* by warp: lanes whose last wait failed and was for this mbarrier */
};

static struct sim_seen_mbarrier *seen_at(const struct sim_mbarrier_check *c, uint64_t address)
{
    struct sim_seen_mbarrier *m = c->first;
    while (m && m->address != address)
        m = m->next;
    return m;
}

static struct sim_seen_mbarrier *made_at(struct sim_mbarrier_check *c, uint64_t address)
{
    struct sim_seen_mbarrier *m = seen_at(c, address);
    if (m)
        return m;
    m = sim_heap_new(c->arena, sizeof *m);
    m->waiting = sim_heap_new(c->arena, (size_t)c->warps * sizeof *m->waiting);
    m->address = address;
    m->next = c->first;
    return c->first = m;
}

void sim_mbarrier_check_free(struct sim_mbarrier_check *c)
{
    while (c->first) {
        struct sim_seen_mbarrier *m = c->first;
        c->first = m->next;
        sim_heap_free(c->arena, m->waiting, (size_t)c->warps * sizeof *m->waiting);
        sim_heap_free(c->arena, m, sizeof *m);
    }
}

/* --- findings --- */

static struct sim_finding_access side(const struct sim_mbarrier_check *c,
                                      const struct sim_place *at, uint32_t mask, const char *does,
                                      uint64_t address)
{
    return (struct sim_finding_access){.at = *at,
                                       .lane = mask ? __builtin_ctz(mask) : -1,
                                       .does = does,
                                       .memory = true,
                                       .space = SIM_SHARED,
                                       .address = address,
                                       .bytes = 8,
                                       .memory_name =
                                           sim_report_memory_name(c->report, SIM_SHARED, address)};
}

static const char *does(enum sim_sync kind)
{
    switch (kind) {
    case SIM_MBARRIER_INIT: return "mbarrier.init";
    case SIM_MBARRIER_ARRIVE: return "arrival";
    case SIM_MBARRIER_BYTES: return "count of bytes";
    case SIM_MBARRIER_INVAL: return "mbarrier.inval";
    case SIM_MBARRIER_WAIT:
    case SIM_MBARRIER_FAILED: return "wait";
    default: return "operation on an mbarrier";
    }
}

/* Reports an event. `before`: the place, by lanes of `mask`, that conflicts with it; NULL: not
 * known. */
static void found(struct sim_mbarrier_check *c, const struct sim_sync_event *e,
                  const struct sim_place *before, uint32_t mask, const char *did,
                  const char *message)
{
    uint64_t address = e->address[__builtin_ctz(e->mask)];
    if (sim_report_again(c->report, SIM_FOUND_MBARRIER, &e->at, before))
        return;
    struct sim_finding f = {
        .kind = SIM_FOUND_MBARRIER, .message = message, .access_count = before ? 2 : 1};
    f.access[0] = side(c, &e->at, e->mask, does(e->kind), address);
    f.access[0].memory =
        e->kind != SIM_MBARRIER_BROKEN || before; /* otherwise the address may be impossible */
    if (before)
        f.access[1] = side(c, before, mask, did, address);
    sim_report_add(c->report, &f);
}

static void there_is_none(struct sim_mbarrier_check *c, const struct sim_sync_event *e,
                          const struct sim_seen_mbarrier *m)
{
    if (m)
        found(c, e, &m->unmade, m->unmade_by, "mbarrier.inval",
              "an mbarrier is used after it was invalidated");
    else
        found(c, e, NULL, 0, NULL, "an mbarrier is used where none was ever initialised");
}

/* --- events --- */

static void init(struct sim_mbarrier_check *c, const struct sim_sync_event *e, uint64_t address)
{
    struct sim_seen_mbarrier *m = made_at(c, address);
    if (m->valid)
        found(c, e, &m->made, m->made_by, "mbarrier.init",
              "an mbarrier is initialised where there is one: mbarrier.inval must come first");
    m->valid = m->waited = true;
    m->phase = m->copied_in = m->waited_for = 0;
    m->made = e->at;
    m->made_by = e->mask;
}

static void inval(struct sim_seen_mbarrier *m, const struct sim_sync_event *e)
{
    m->valid = false;
    m->unmade = e->at;
    m->unmade_by = e->mask;
}

static void arrive(struct sim_mbarrier_check *c, const struct sim_sync_event *e,
                   struct sim_seen_mbarrier *m)
{
    if (m->waited)
        return;
    found(c, e, &m->over, m->over_by, "end of the phase before",
          "arrival in a phase, though no thread waited for the phase before");
    m->waited = true; /* once */
}

static void phase(struct sim_seen_mbarrier *m, const struct sim_sync_event *e)
{
    m->phase++;
    m->waited = false;
    m->over = e->at;
    m->over_by = e->mask;
}

static void bytes(struct sim_seen_mbarrier *m, const struct sim_sync_event *e)
{
    if (!e->group)
        return;
    m->copied_in = m->phase + 1;
    m->copy = e->at;
    m->copied_by = e->mask;
}

void sim_mbarrier_check_ends(struct sim_mbarrier_check *c)
{
    for (const struct sim_seen_mbarrier *m = c->first; m; m = m->next) {
        if (m->copied_in <= m->waited_for ||
            sim_report_again(c->report, SIM_FOUND_ASYNC_PENDING, &m->copy, NULL))
            continue;
        struct sim_finding f = {
            .kind = SIM_FOUND_ASYNC_PENDING,
            .message = "the block ends, and no thread has waited for the mbarrier's phase in which "
                       "a copy arrives",
            .access_count = 1};
        f.access[0] = side(c, &m->copy, m->copied_by, "asynchronous copy", m->address);
        f.steps[f.step_count++] = "the copy may still write to shared memory that already belongs "
                                  "to another block";
        sim_report_add(c->report, &f);
    }
}

void sim_mbarrier_check_leave(struct sim_mbarrier_check *c, int warp, uint32_t mask)
{
    for (struct sim_seen_mbarrier *m = c->first; m; m = m->next)
        m->waiting[warp] &= ~mask;
}

static void failed(struct sim_mbarrier_check *c, const struct sim_sync_event *e,
                   struct sim_seen_mbarrier *m)
{
    sim_mbarrier_check_leave(c, e->at.warp, e->mask);
    m->waiting[e->at.warp] |= e->mask;
    m->wait = e->at;
    m->pending = e->pending;
    m->bytes = e->bytes;
}

/* Checks an operation on an existing mbarrier. */
static void used(struct sim_mbarrier_check *c, const struct sim_sync_event *e,
                 struct sim_seen_mbarrier *m)
{
    switch (e->kind) {
    case SIM_MBARRIER_ARRIVE: arrive(c, e, m); break;
    case SIM_MBARRIER_PHASE: phase(m, e); break;
    case SIM_MBARRIER_INVAL: inval(m, e); break;
    case SIM_MBARRIER_BYTES: bytes(m, e); break;
    case SIM_MBARRIER_FAILED: failed(c, e, m); break;
    case SIM_MBARRIER_WAIT:
        m->waited = true;
        m->waited_for = m->phase;
        sim_mbarrier_check_leave(c, e->at.warp, e->mask);
        break;
    case SIM_MBARRIER_BROKEN: found(c, e, &m->made, m->made_by, "mbarrier.init", e->why); break;
    default: break;
    }
}

void sim_mbarrier_check_told(struct sim_mbarrier_check *c, const struct sim_sync_event *e)
{
    uint64_t address = e->address[__builtin_ctz(e->mask)];
    struct sim_seen_mbarrier *m = seen_at(c, address);
    if (e->kind == SIM_MBARRIER_INIT)
        init(c, e, address);
    else if (m && m->valid)
        used(c, e, m);
    else if (e->kind == SIM_MBARRIER_BROKEN)
        found(c, e, NULL, 0, NULL, e->why);
    else
        there_is_none(c, e, m);
}

/* --- deadlock --- */

static const char *who_waits(const struct sim_mbarrier_check *c, const struct sim_seen_mbarrier *m)
{
    enum { NAMED = 8 };
    struct text t;
    int count = 0;
    text_init(&t, c->arena);
    for (int w = 0; w < c->warps; w++)
        if (m->waiting[w] && count++ < NAMED)
            text_printf(&t, "%swarp %d (lanes 0x%08x)", count > 1 ? ", " : "waiting: ", w,
                        m->waiting[w]);
    if (count > NAMED)
        text_printf(&t, " and %d more", count - NAMED);
    return t.data;
}

static bool explain(struct sim_mbarrier_check *c, const struct sim_seen_mbarrier *m)
{
    int first = 0;
    struct text message;
    while (first < c->warps && !m->waiting[first])
        first++;
    if (first == c->warps)
        return false;
    struct sim_place at = m->wait;
    at.warp = first;
    if (sim_report_again(c->report, SIM_FOUND_DEADLOCK, &at, &m->made))
        return true;
    text_init(&message, c->arena);
    const char *name = sim_report_element(c->report, SIM_SHARED, m->address, 8);
    text_printf(&message, "phase %lld of %s is never complete: ", (long long)m->phase,
                name ? name : "an mbarrier");
    if (m->pending)
        text_printf(&message, "%lld arrival%s%s", (long long)m->pending, m->pending > 1 ? "s" : "",
                    m->bytes ? " and " : "");
    if (m->bytes > 0)
        text_printf(&message, "%lld bytes", (long long)m->bytes);
    if (m->bytes < 0)
        text_printf(&message, "an expectation of %lld bytes that arrived", -(long long)m->bytes);
    text_add(&message, " to come");
    struct sim_finding f = {.kind = SIM_FOUND_DEADLOCK, .message = message.data, .access_count = 2};
    f.access[0] = side(c, &at, m->waiting[first], "wait", m->address);
    f.access[1] = side(c, &m->made, m->made_by, "mbarrier.init", m->address);
    f.steps[f.step_count++] = who_waits(c, m);
    sim_report_add(c->report, &f);
    return true;
}

bool sim_mbarrier_check_deadlock(struct sim_mbarrier_check *c)
{
    bool explained = false;
    for (const struct sim_seen_mbarrier *m = c->first; m; m = m->next)
        explained |= explain(c, m);
    return explained;
}
