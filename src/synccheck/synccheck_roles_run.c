/* Runs the traces of all roles against each other, with vector clocks. */
#include "synccheck/synccheck_roles.h"

#include <limits.h>
#include <string.h>

/* --- accesses --- */

static void note_race(struct roles_run *u, const struct role_record *a, struct role_place late,
                      int tile, bool gone)
{
    const struct role_thread *t = late.role >= 0 ? &u->threads[late.role] : NULL;
    struct role_finding f = {.kind = gone ? ROLE_PENDING : ROLE_RACE,
                             .early = a->place,
                             .late = late,
                             .tile = u->r->k->code.tiles.data[tile],
                             .at_scope = gone};
    if (t && a->place.work != WORK_NONE && t->clock[a->component] >= a->time)
        f.waited = t->waited;
    if (a->place.work == WORK_COPY)
        sync_barrier_note_few(u, a, &f);
    sync_add_finding(u->r, &f);
}

static bool kinds_conflict(int a, int b)
{
    return (a != TOUCH_READ || b != TOUCH_READ) && !(a == TOUCH_ATOMIC && b == TOUCH_ATOMIC);
}

/* Returns true for two accesses of one statement that the compiler orders: it reads all tiles
 * before it writes any, but each thread reads an element when it gets there. */
static bool ordered_within(const struct roles_run *u, const struct role_record *a,
                           const struct role_record *b)
{
    const struct touch *touches = u->r->k->code.touches.data;
    return a->trace == b->trace && a->statement == b->statement &&
           !touches[access_at(u->r->k, a->access)->site].element;
}

/* Returns true if sync_access_meet finds that the two never meet, for any facts. */
static bool boxes_apart(const struct role_box *a, const struct role_box *b)
{
    for (int i = 0; i < a->rank; i++)
        if (a->low[i] >= b->end[i] || b->low[i] >= a->end[i])
            return true;
    return false;
}

/* Returns the only part of the tile that the box touches; -1: it touches several. */
static int single_part(const struct role_box *box)
{
    return box->parts & (box->parts - 1) ? -1 : __builtin_ctz(box->parts);
}

/* Checks an access against those before that the clock does not cover. A tile that goes may have
 * no work in the background left. */
static void check_access(struct roles_run *u, const struct role_record *b, const int *clock,
                         int block, bool gone)
{
    struct sync_check *k = u->r->k;
    const struct sync_access *late = access_at(k, b->access);
    const struct role_box *box = &u->boxes[b->access];
    struct meeting_at where;
    const struct role_tile *tile = role_tile_at(u, block, late->tile);
    int part = single_part(box);
    size_t count = part >= 0 ? tile->at[part].count : tile->records.count;
    for (size_t i = 0; i < count; i++) {
        const struct role_record *a =
            &tile->records.data[part >= 0 ? (size_t)tile->at[part].data[i] : i];
        if (clock[a->component] >= a->time || boxes_apart(&u->boxes[a->access], box))
            continue;
        if ((gone && a->place.work == WORK_NONE) || ordered_within(u, a, b) ||
            (!gone && !kinds_conflict(access_at(k, a->access)->kind, late->kind)))
            continue;
        enum meeting met = sync_access_meet(k, u->r->state, a->access, b->access, true, &where);
        if (met == MEET_SURE && where.constraints &&
            !sync_solve(k, u->r->state, where.constraint, where.constraints))
            met = MEET_MAYBE;
        if (met == MEET_MAYBE)
            u->r->doubtful = true;
        if (met == MEET_SURE)
            note_race(u, a, b->place, late->tile, gone);
    }
}

static void keep_record(struct roles_run *u, const struct role_record *b, int block)
{
    struct arena *arena = u->r->k->arena;
    struct role_tile *tile = role_tile_at(u, block, access_at(u->r->k, b->access)->tile);
    uint32_t parts = u->boxes[b->access].parts;
    int any = __builtin_ctz(parts);
    for (size_t i = 0; i < tile->at[any].count; i++) {
        struct role_record *a = &tile->records.data[tile->at[any].data[i]];
        if (a->access == b->access && a->component == b->component) {
            *a = *b;
            return;
        }
    }
    for (int i = 0; i < ROLE_PARTS; i++)
        if (parts >> i & 1)
            vec_push(arena, &tile->at[i], (int)tile->records.count);
    vec_push(arena, &tile->records, *b);
}

/* --- agents --- */

static struct role_thread *thread_of(const struct roles_run *u, const struct role_group *g)
{
    return &u->threads[g->trace];
}

static int block_of_group(const struct roles_run *u, const struct role_group *g)
{
    return u->r->traces.data[g->trace].block;
}

static struct role_record record_of(struct roles_run *u, const struct role_group *g,
                                    const struct role_step *s)
{
    const struct role_thread *t = thread_of(u, g);
    struct sync_check *k = u->r->k;
    const struct touch *touch = &k->code.touches.data[access_at(k, s->access)->site];
    return (struct role_record){.access = s->access,
                                .component = s->thread ? t->own : g->own,
                                .time = s->thread ? t->now : g->now,
                                .trace = s->common ? -1 - block_of_group(u, g) : g->trace,
                                .statement = s->statement,
                                .place = sync_role_place_of(u->r, g->trace, s, touch)};
}

/* --- steps --- */

static void step_access(struct roles_run *u, struct role_group *g, const struct role_step *s,
                        int *released)
{
    struct role_thread *t = thread_of(u, g);
    struct role_record b = record_of(u, g, s);
    struct phase_step step = {t->own, t->now, b.place};
    if (s->thread) { /* what the other threads know, this one knows, too */
        sync_clock_join(u, t->clock, g->clock);
        t->clock[t->own] = t->now;
    }
    check_access(u, &b, s->thread ? t->clock : g->clock, s->block, s->kind == STEP_GONE);
    switch (s->kind) {
    case STEP_COPY:
        b.component = u->barriers[s->barrier].component;
        b.time = u->barriers[s->barrier].completed + 1;
        sync_cluster_remote(u, g, s, t->clock, b.component, b.time);
        keep_record(u, &b, s->block);
        sync_role_release(u, g, true, released);
        sync_barrier_copy(u, s, released, &step);
        return;
    case STEP_STORE:
        b.component = t->stores;
        b.time = ++t->issued;
        break;
    case STEP_DOT:
        b.component = g->dots;
        b.time = (int)s->number;
        g->begun[s->number] = g->now;
        break;
    case STEP_LOAD:
        b.load = g->loads + 1;
        b.time = INT32_MAX;
        break;
    case STEP_GONE: return;
    default: break;
    }
    sync_cluster_remote(u, g, s, s->thread ? t->clock : g->clock, b.component, b.time);
    keep_record(u, &b, s->block);
}

static bool step_arrive(struct roles_run *u, struct role_group *g, const struct role_step *s,
                        int *released)
{
    const struct role_thread *t = thread_of(u, g);
    struct phase_step step = {s->thread ? t->own : g->came, s->thread ? t->now : g->now,
                              sync_role_place_of(u->r, g->trace, s, NULL)};
    sync_cluster_remote(u, g, s, s->thread ? t->clock : g->clock, step.component, step.time);
    sync_role_release(u, g, s->thread, released);
    return sync_barrier_arrive(u, s, released, &step);
}

static int *waits_of(const struct roles_run *u, const struct role_group *g,
                     const struct role_step *s)
{
    return s->thread ? &thread_of(u, g)->waits[s->barrier] : &g->waits[s->barrier];
}

static bool step_wait(struct roles_run *u, struct role_group *g, const struct role_step *s)
{
    struct role_thread *t = thread_of(u, g);
    struct phase_step step = {s->thread ? t->own : g->came, s->thread ? t->now : g->now,
                              sync_role_place_of(u->r, g->trace, s, NULL)};
    int *waits = waits_of(u, g, s);
    int phase = sync_barrier_phase_awaited(u, s, *waits, s->thread ? t->clock : g->clock);
    if (phase >= u->barriers[s->barrier].completed)
        return false;
    sync_barrier_pass(u, s, phase, s->thread ? t->clock : g->clock, &step);
    if (!s->thread && g->number == 0)
        sync_clock_join(u, t->clock, g->clock);
    if (s->thread)
        t->waited = s->stmt;
    if (s->number >= 0) /* a wait by hand is none of the role's own */
        return true;
    ++*waits;
    if (!s->thread && g->number == 0) /* the one thread has waited, too */
        t->waits[s->barrier]++;
    return true;
}

/* Ends products. A product is one operation of all threads of a warpgroup, so all of them have come
 * to it; that orders their steps at mbarriers, and not their accesses. */
static void step_dot_wait(const struct roles_run *u, struct role_group *g,
                          const struct role_step *s)
{
    int begun = g->begun[s->number];
    g->clock[g->dots] = (int)s->number;
    g->clock[g->came] = begun > g->clock[g->came] ? begun : g->clock[g->came];
    if (g->number == 0)
        sync_clock_join(u, thread_of(u, g)->clock, g->clock);
}

/* Returns the number of tiles of all blocks. */
static size_t tile_count(const struct roles_run *u)
{
    return u->r->k->code.tiles.count * (size_t)u->r->blocks;
}

/* Makes the copies that a wait ends writes of the threads that waited: all of them, or those of
 * groups before the latest `stay`. Copies without a group stay, too. */
static void land_loads(struct roles_run *u, const struct role_group *g, int64_t stay)
{
    for (size_t tile = 0; tile < tile_count(u); tile++)
        for (size_t i = 0; i < u->tiles[tile].records.count; i++) {
            struct role_record *a = &u->tiles[tile].records.data[i];
            if (a->component != g->own || !a->load || (stay > 0 && a->load > g->loads - stay))
                continue;
            a->load = 0;
            a->time = g->now;
            a->place.work = WORK_NONE;
        }
}

/* Returns true if two groups meet at a barrier: those of a role, or of a block before its roles. */
static bool meet(const struct roles_run *u, const struct role_step *s, const struct role_group *a,
                 const struct role_group *b)
{
    return s->common ? block_of_group(u, a) == block_of_group(u, b) : a->trace == b->trace;
}

/* Joins the clocks of all groups that meet at a barrier, once they are there. */
static bool step_sync(struct roles_run *u, const struct role_group *g, const struct role_step *s,
                      int *released)
{
    int *joined = u->joined;
    memset(joined, 0, sizeof *joined * (size_t)u->components);
    for (size_t i = 0; i < u->groups.count; i++) {
        const struct role_group *other = &u->groups.data[i];
        if (!meet(u, s, g, other))
            continue;
        if (other->at != g->at)
            return false;
        sync_role_release(u, other, false, released);
        sync_clock_join(u, joined, released);
    }
    for (size_t i = 0; i < u->groups.count; i++) {
        struct role_group *other = &u->groups.data[i];
        if (!meet(u, s, g, other))
            continue;
        memcpy(other->clock, joined, sizeof *joined * (size_t)u->components);
        memcpy(thread_of(u, other)->clock, joined, sizeof *joined * (size_t)u->components);
        other->at++;
    }
    return true;
}

/* Runs the next step of the group. Returns false if it has to wait. */
static bool step(struct roles_run *u, struct role_group *g, const struct role_step *s,
                 int *released)
{
    struct role_thread *t = thread_of(u, g);
    if (s->kind == STEP_SYNC)
        return step_sync(u, g, s, released);
    if (s->kind == STEP_CLUSTER_SYNC)
        return sync_cluster_sync(u, released);
    bool elected = g->number == 0 && (!s->common || u->r->traces.data[g->trace].has_first);
    if (s->thread && !elected) {
        g->at++;
        return true;
    }
    g->now++;
    if (g->number == 0)
        t->now++;
    switch (s->kind) {
    case STEP_ARRIVE:
    case STEP_EXPECT:
        if (!step_arrive(u, g, s, released))
            return false;
        break;
    case STEP_WAIT:
        if (!step_wait(u, g, s))
            return false;
        break;
    case STEP_DOT_WAIT: step_dot_wait(u, g, s); break;
    case STEP_STORE_WAIT:
        t->waited = s->stmt;
        if (t->issued - (int)s->number > t->clock[t->stores])
            t->clock[t->stores] = t->issued - (int)s->number;
        break;
    case STEP_BEGIN: sync_cluster_begin(u, g, s); break;
    case STEP_LOAD_COMMIT: g->loads++; break;
    case STEP_LOAD_WAIT: land_loads(u, g, s->number); break;
    default: step_access(u, g, s, released); break;
    }
    g->at++;
    return true;
}

/* --- the end --- */

/* Notes the groups that wait, one of each role. */
static void note_stuck(struct roles_run *u)
{
    struct role_finding f = {.kind = ROLE_STUCK};
    int last = -1;
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < u->groups.count && f.waiting < MOST_WAITING; i++) {
            const struct role_group *g = &u->groups.data[i];
            const struct role_step *s = sync_role_next_step(u, g);
            bool sync = s && (s->kind == STEP_SYNC || s->kind == STEP_CLUSTER_SYNC);
            if (!s || sync != (pass == 1) || (pass == 0 && g->trace == last) ||
                (pass == 1 && f.waiting))
                continue;
            last = g->trace;
            struct role_waiting w = {.place = sync_role_place_of(u->r, g->trace, s, NULL),
                                     .barrier = s->barrier};
            if (s->barrier >= 0) {
                const struct barrier_state *b = &u->barriers[s->barrier];
                w.phase = b->completed;
                w.arrivals = b->phase.arrivals;
            }
            f.waits[f.waiting++] = w;
        }
    f.late = f.early = f.waits[0].place;
    f.barrier = f.waits[0].barrier;
    sync_add_finding(u->r, &f);
}

/* Returns true if an agent that the end of the kernel waits for knows that the work is done. */
static bool is_over(const struct roles_run *u, const struct role_record *a)
{
    for (size_t i = 0; i < u->groups.count; i++)
        if (u->groups.data[i].clock[a->component] >= a->time)
            return true;
    for (size_t i = 0; i < u->r->traces.count; i++)
        if (u->threads[i].clock[a->component] >= a->time)
            return true;
    return false;
}

static void note_left(struct roles_run *u)
{
    for (size_t tile = 0; tile < tile_count(u); tile++)
        for (size_t i = 0; i < u->tiles[tile].records.count; i++) {
            const struct role_record *a = &u->tiles[tile].records.data[i];
            bool work = a->place.work == WORK_COPY || a->place.work == WORK_STORE ||
                        a->place.work == WORK_LOAD;
            if (!work || is_over(u, a))
                continue;
            struct role_finding f = {
                .kind = ROLE_PENDING,
                .early = a->place,
                .late = a->place,
                .tile = u->r->k->code.tiles.data[tile % u->r->k->code.tiles.count]};
            sync_add_finding(u->r, &f);
        }
}

/* --- the whole --- */

/* Returns true for a role that starts copies on mbarriers. Such roles run first, so that a use
 * without a wait is reported as the use of a part that a copy may write. */
static bool starts_copies(const struct role_trace *t)
{
    for (size_t i = 0; i < t->steps.count; i++) {
        const struct role_step *s = &t->steps.data[i];
        if (s->kind == STEP_COPY && (!s->common || t->has_first))
            return true;
    }
    return false;
}

/* Adds the agents of a trace, and numbers their components from `next` on. Returns the number after
 * the last. */
static int add_agents(struct roles_run *u, int trace, int next)
{
    struct roles_check *r = u->r;
    struct arena *a = r->k->arena;
    const struct role_trace *made = &r->traces.data[trace];
    struct role_thread *t = &u->threads[trace];
    t->own = next++;
    t->stores = next++;
    t->clock = arena_array(a, int, u->components);
    t->waits = arena_array(a, int, r->barrier_count + 1);
    for (int j = 0; j < made->groups; j++) {
        struct role_group g = {.trace = trace, .number = j};
        g.own = next++;
        g.came = next++;
        g.dots = next++;
        g.begun = arena_array(a, int, made->dots + 1);
        g.clock = arena_array(a, int, u->components);
        g.waits = arena_array(a, int, r->barrier_count + 1);
        vec_push(a, &u->groups, g);
    }
    return next;
}

static uint32_t parts_of(const struct role_box *box)
{
    uint32_t parts = 0;
    if (!box->rank || (int64_t)box->end[0] - box->low[0] >= ROLE_PARTS)
        return (UINT32_C(1) << ROLE_PARTS) - 1;
    for (int i = box->low[0]; i < box->end[0]; i++)
        parts |= UINT32_C(1) << i % ROLE_PARTS;
    return parts;
}

/* Lists the boxes of all accesses. A place that differs by thread has none. */
static void make_boxes(struct roles_run *u)
{
    struct sync_check *k = u->r->k;
    u->boxes = arena_array(k->arena, struct role_box, k->accesses.item.count + 1);
    for (size_t a = 0; a < k->accesses.item.count; a++) {
        const struct sync_access *from = access_at(k, (int)a);
        struct role_box *box = &u->boxes[a];
        bool threads = sync_access_has_lanes(k, (int)a);
        box->rank = from->rank;
        for (int i = 0; i < from->rank; i++) {
            int64_t low;
            bool known =
                !threads && !(from->gathers >> i & 1) && sync_value_number(k, from->start[i], &low);
            box->low[i] = known ? (int)low : INT_MIN;
            box->end[i] = known ? (int)low + from->extent[i] : INT_MAX;
        }
        box->parts = parts_of(box);
    }
}

static void run_init(struct roles_run *u)
{
    struct roles_check *r = u->r;
    struct arena *a = r->k->arena;
    int next = 0;
    for (size_t i = 0; i < r->traces.count; i++)
        u->components += 2 + 3 * r->traces.data[i].groups;
    int first_barrier = u->components;
    u->components += r->barrier_count;
    u->components = (u->components + CLOCK_PART - 1) / CLOCK_PART * CLOCK_PART;
    make_boxes(u);
    u->threads = arena_array(a, struct role_thread, r->traces.count + 1);
    u->tiles = arena_array(a, struct role_tile, tile_count(u) + 1);
    sync_cluster_init(u);
    sync_barriers_init(u, first_barrier);
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < r->traces.count; i++)
            if (starts_copies(&r->traces.data[i]) == (pass == 0))
                next = add_agents(u, (int)i, next);
    for (int i = 0; i < r->barrier_count; i++) /* a phase that is complete at first is known */
        for (size_t j = 0; j < u->groups.count; j++) {
            const struct barrier_state *b = &u->barriers[i];
            u->groups.data[j].clock[b->component] = b->completed;
            thread_of(u, &u->groups.data[j])->clock[b->component] = b->completed;
        }
}

void sync_run_traces(struct roles_check *r)
{
    struct roles_run u = {.r = r};
    run_init(&u);
    int *released = arena_array(r->k->arena, int, u.components + 1);
    u.joined = arena_array(r->k->arena, int, u.components + 1);
    bool stuck = false;
    for (bool moved = true; moved;) {
        moved = false;
        stuck = false;
        for (size_t i = 0; i < u.groups.count; i++) {
            struct role_group *g = &u.groups.data[i];
            const struct role_step *s;
            while ((s = sync_role_next_step(&u, g)) && step(&u, g, s, released))
                moved = true;
            stuck |= s != NULL;
            if (r->k->gave_up)
                return;
        }
    }
    bool explained = sync_barriers_explain(&u);
    if (stuck && (!explained || r->blocks > 1)) /* bytes may lack because a peer waits forever */
        note_stuck(&u);
    if (!stuck) {
        note_left(&u);
        sync_cluster_ends(&u);
    }
}
