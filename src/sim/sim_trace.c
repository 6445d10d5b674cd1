#include "base/hash.h"
#include "sim/sim_flops.h"
#include "sim/sim_own.h"
#include "sim/sim_trace_own.h"
#include "target/targets.h"
#include "sim/sim_traffic.h"

#include <string.h>

enum {
    ALIGNMENT = 256,         /* of arrays in the trace's addresses */
    MOST_SHARED = 1 << 20,   /* a block's shared memory has fewer bytes */
    MOST_INITIAL = 16 << 10, /* bytes of an array's initial content that the trace keeps */
    MOST_VALUES = 64 << 20   /* bytes */
};

const char *const sim_trace_kinds[TRACE_KIND_COUNT] = {
#define X(id, name) name,
    SIM_TRACE_KINDS(X)
#undef X
};

/* --- memory --- */

static bool see_allocated(void *user, const struct sim_allocation_event *event)
{
    struct sim_trace *t = user;
    if (event->space == SIM_GLOBAL || event->space == SIM_SHARED)
        vec_push(t->arena, &t->allocated, *event);
    return true;
}

static struct sim_trace_memory memory_of(const struct sim_trace *t,
                                         const struct sim_allocation_event *a)
{
    for (size_t i = 0; i < t->named.count; i++)
        if (t->named.data[i].space == a->space && a->space == SIM_GLOBAL &&
            t->named.data[i].address == a->address)
            return t->named.data[i];
    return (struct sim_trace_memory){
        .space = a->space, .address = a->address, .bytes = a->bytes, .name = a->name};
}

/* Returns the place of the array's bytes in `initial`; -1: they are not kept. */
static int64_t keep_initial(struct sim_trace *t, const struct sim_trace_memory *m)
{
    int64_t at = (int64_t)t->initial.count;
    if (!m->data || m->bytes > MOST_INITIAL)
        return -1;
    for (uint64_t i = 0; i < m->bytes; i++)
        vec_push(t->arena, &t->initial, ((const uint8_t *)m->data)[i]);
    return at;
}

/* Places arrays one after the other, without those that do not fit into 32 bits. Their start is
 * known when the block begins: after its shared memory. */
static void place_arrays(struct sim_trace *t)
{
    const uint64_t most = UINT32_MAX - MOST_SHARED;
    uint64_t at = 0;
    for (size_t i = 0; i < t->allocated.count; i++) {
        const struct sim_allocation_event *a = &t->allocated.data[i];
        bool added;
        if (a->space != SIM_GLOBAL || a->bytes > most || at > most - a->bytes)
            continue;
        struct trace_memory m = {.is = memory_of(t, a), .at = (uint32_t)at};
        m.is.bytes = a->bytes;
        m.initial = keep_initial(t, &m.is);
        vec_push(t->arena, &t->arrays, m);
        number_map_entry(t->arena, &t->array_of, a->address >> SIM_OFFSET_BITS, &added)->value =
            t->arrays.count;
        at = (at + a->bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    }
}

/* Places the tiles that the caller names, or the variables that the PTX declares. */
static void place_shared(struct sim_trace *t)
{
    for (size_t i = 0; i < t->named.count; i++)
        if (t->named.data[i].space == SIM_SHARED)
            vec_push(t->arena, &t->shared,
                     ((struct trace_memory){.is = t->named.data[i],
                                            .at = (uint32_t)t->named.data[i].address}));
    if (t->shared.count)
        return;
    for (size_t i = 0; i < t->allocated.count; i++)
        if (t->allocated.data[i].space == SIM_SHARED)
            vec_push(t->arena, &t->shared,
                     ((struct trace_memory){.is = memory_of(t, &t->allocated.data[i]),
                                            .at = (uint32_t)t->allocated.data[i].address}));
}

static bool trace_address(const struct sim_trace *t, enum sim_space space, uint64_t address,
                          uint32_t *at)
{
    *at = (uint32_t)address;
    if (space == SIM_SHARED)
        return true;
    const struct trace_memory *m = sim_trace_array_at(t, address);
    if (m)
        *at = m->at + (uint32_t)(address & ((UINT64_C(1) << SIM_OFFSET_BITS) - 1));
    return m;
}

static bool see_launch(void *user, const struct ptx_function *kernel, const unsigned grid[3],
                       const unsigned block[3])
{
    struct sim_trace *t = user;
    const int64_t *b = t->settings.block;
    t->kernel = kernel;
    memcpy(t->grid, grid, sizeof t->grid);
    memcpy(t->block, block, sizeof t->block);
    t->number = b[0] + (int64_t)grid[0] * (b[1] + (int64_t)grid[1] * b[2]);
    sim_trace_find_loops(t);
    place_arrays(t);
    return true;
}

static bool see_block(void *user, const struct sim_block_event *event)
{
    struct sim_trace *t = user;
    if (event->block != t->number)
        return true;
    t->warps = event->warps;
    t->threads = event->threads;
    t->shared_bytes = (uint64_t)event->shared_bytes;
    for (size_t i = 0; i < t->arrays.count; i++)
        t->arrays.data[i].at += (uint32_t)(t->shared_bytes + ALIGNMENT) / ALIGNMENT * ALIGNMENT;
    place_shared(t);
    for (int i = 0; i < t->warps; i++)
        vec_push(t->arena, &t->warp,
                 ((struct trace_warp){
                     .turns = arena_array(t->arena, struct trace_turns, t->loops.count + 1)}));
    return true;
}

/* --- events --- */

/* Adds an event of an instruction that does not access memory. */
static uint32_t add_plain(struct sim_trace *t, const struct sim_place *at, struct trace_event e)
{
    int site = sim_trace_site(t, at, false, SIM_GLOBAL, 0, 0, (enum trace_kind)e.kind);
    return sim_trace_add_event(t, at->warp, &e, site);
}

/* --- accesses --- */

static int row_number(struct sim_trace *t, const struct trace_row *row)
{
    bool added;
    uint64_t hash = hash_bytes(HASH_BEGIN, row, sizeof *row);
    struct number_entry *e = number_map_entry(t->arena, &t->row_of, hash, &added);
    if (!added && memcmp(&t->rows.data[e->value], row, sizeof *row) == 0)
        return (int)e->value;
    vec_push(t->arena, &t->rows, *row);
    e->value = t->rows.count - 1;
    return (int)e->value;
}

/* Sets base, stride and flags. Returns false for memory that has no address in the trace. */
static bool find_addresses(struct sim_trace *t, const struct sim_access *a, struct trace_event *e)
{
    int lowest = __builtin_ctz(a->mask);
    uint32_t rest = a->mask & (a->mask - 1);
    struct trace_row row = {{0}};
    bool line = true;
    if (!trace_address(t, a->space, a->address[lowest], &e->base))
        return false;
    int second = rest ? __builtin_ctz(rest) : lowest;
    for (; rest; rest &= rest - 1) {
        int lane = __builtin_ctz(rest);
        uint32_t at;
        if (!trace_address(t, a->space, a->address[lane], &at))
            return false;
        row.offset[lane] = (int32_t)(at - e->base);
    }
    if (second > lowest)
        e->stride = row.offset[second] / (second - lowest);
    for (rest = a->mask; rest; rest &= rest - 1) {
        int lane = __builtin_ctz(rest);
        line = line && row.offset[lane] == e->stride * (lane - lowest);
    }
    if (!line) {
        e->flags |= TRACE_ROW;
        e->stride = row_number(t, &row);
    }
    return true;
}

static uint8_t at_most_255(int n)
{
    return (uint8_t)(n > 255 ? 255 : n);
}

static void find_cost(const struct sim_access *a, struct trace_event *e)
{
    enum { SECTOR = GPU_SECTOR_BYTES };
    int bytes = a->bytes * __builtin_popcount(a->mask);
    if (a->kind == SIM_UPDATE)
        return;
    bool shared = a->space == SIM_SHARED;
    int units = shared ? sim_wavefronts(a) : sim_sectors(a);
    int least = shared ? sim_wavefronts_ideal(a) : (bytes + SECTOR - 1) / SECTOR;
    if (!shared && least > units) /* lanes that share bytes */
        least = units;
    e->units = at_most_255(units);
    e->least = at_most_255(least);
}

/* Notes which wavefront serves which lane, if this has changed since the last access of the same
 * site. */
static void keep_served(struct sim_trace *t, const struct sim_access *a, uint32_t event)
{
    struct trace_site *site = &t->sites.data[t->events.data[event].site];
    uint8_t wavefront[SIM_LANES];
    struct trace_row row;
    bool first = true;
    if (a->space != SIM_SHARED || a->kind == SIM_UPDATE)
        return;
    sim_serve(a, wavefront);
    for (int lane = 0; lane < SIM_LANES; lane++) {
        row.offset[lane] = wavefront[lane] == SIM_NOT_SERVED ? -1 : wavefront[lane];
        first = first && (row.offset[lane] == 0 || !(a->mask >> lane & 1));
    }
    uint32_t number = first ? 0 : (uint32_t)row_number(t, &row) + 1;
    if (number == site->served)
        return;
    site->served = number;
    vec_push(t->arena, &t->served_event, event);
    vec_push(t->arena, &t->served_row, number);
}

/* Returns true if the lanes read the array's values from before the launch, and the trace has
 * them. */
static bool reads_initial(const struct sim_trace *t, const struct sim_access *a,
                          const struct trace_memory *m)
{
    for (uint32_t rest = a->mask; rest; rest &= rest - 1) {
        int lane = __builtin_ctz(rest);
        uint64_t offset = a->address[lane] - m->is.address;
        size_t at = (size_t)m->initial + (size_t)offset;
        bool inside = offset < m->is.bytes && (uint64_t)a->bytes <= m->is.bytes - offset;
        if (!inside || !a->before[lane] ||
            memcmp(&t->initial.data[at], a->before[lane], (size_t)a->bytes) != 0)
            return false;
    }
    return true;
}

/* Returns true if the trace must keep the values of an access. A reader of the trace already
 * knows the values of three kinds of reads: from shared memory, those that were written there;
 * by a copy, those that it writes; and from an array that the trace has, its initial ones. */
static bool has_values(const struct sim_trace *t, const struct sim_access *a)
{
    if (a->kind != SIM_READ)
        return true;
    const struct trace_memory *m =
        a->space == SIM_GLOBAL ? sim_trace_array_at(t, a->address[__builtin_ctz(a->mask)]) : NULL;
    return m && !a->group && (m->initial < 0 || m->written || !reads_initial(t, a, m));
}

/* Keeps the values from `start` on only once, if the same values are there already. */
static size_t share_values(struct sim_trace *t, size_t start)
{
    size_t count = t->values.count - start;
    bool added;
    uint64_t hash = hash_bytes(HASH_BEGIN, t->values.data + start, count);
    struct number_entry *e = number_map_entry(t->arena, &t->value_of, hash, &added);
    if (!added && e->value + count <= start &&
        memcmp(t->values.data + e->value, t->values.data + start, count) == 0) {
        t->values.count = start;
        return (size_t)e->value;
    }
    e->value = start;
    return start;
}

static void keep_values(struct sim_trace *t, const struct sim_access *a, uint32_t event)
{
    size_t start = t->values.count, late = t->late.count;
    if (!has_values(t, a) || start > MOST_VALUES)
        return;
    for (uint32_t rest = a->mask; rest; rest &= rest - 1) {
        int lane = __builtin_ctz(rest);
        bool known = a->kind == SIM_READ || (a->kind == SIM_WRITE && a->value[lane]);
        const uint8_t *from = a->kind == SIM_WRITE && known ? a->value[lane] : a->before[lane];
        if (!known)
            vec_push(t->arena, &t->late,
                     ((struct trace_late){t->values.count, a->bytes, a->before[lane]}));
        for (int i = 0; i < a->bytes; i++)
            vec_push(t->arena, &t->values, from ? from[i] : 0);
    }
    if (late == t->late.count)
        start = share_values(t, start);
    vec_push(t->arena, &t->value_event, event);
    vec_push(t->arena, &t->value_start, (uint32_t)start);
}

/* Takes the bytes of writes that were reported before their values were known: the step is done
 * now. */
static void settle_late(struct sim_trace *t)
{
    for (size_t i = 0; i < t->late.count; i++) {
        const struct trace_late *l = &t->late.data[i];
        if (l->host)
            memcpy(&t->values.data[l->value], l->host, (size_t)l->bytes);
    }
    t->late.count = 0;
}

static struct trace_copy *copy_of(struct sim_trace *t, uint32_t number, uint32_t *row)
{
    const struct number_entry *e = number_map_find(&t->copy_of, number);
    if (!e)
        return NULL;
    *row = (uint32_t)e->value;
    return &t->copies.data[e->value];
}

static bool see_access(void *user, const struct sim_access *a)
{
    static const uint8_t kinds[] = {
        [SIM_READ] = TRACE_READ, [SIM_WRITE] = TRACE_WRITE, [SIM_UPDATE] = TRACE_UPDATE};
    struct sim_trace *t = user;
    struct trace_event e = {.mask = a->mask, .warp = (uint16_t)a->at.warp, .kind = kinds[a->kind]};
    if (a->at.block != t->number || (a->space != SIM_GLOBAL && a->space != SIM_SHARED) ||
        !a->mask || !find_addresses(t, a, &e))
        return true;
    if (a->kind != SIM_READ)
        sim_trace_flush(t, a->at.warp);
    if (a->kind != SIM_READ && a->space == SIM_GLOBAL)
        sim_trace_array_at(t, a->address[__builtin_ctz(a->mask)])->written = true;
    e.flags |=
        (uint8_t)((a->group ? TRACE_COPY : 0) | (a->past_l1 ? TRACE_PAST_L1 : 0) |
                  (a->matrix != SIM_LANEWISE ? TRACE_MATRIX : 0) |
                  (a->kind == SIM_READ && a->undefined && a->undefined->any ? TRACE_UNDEFINED : 0));
    find_cost(a, &e);
    int site = sim_trace_site(t, &a->at, true, a->space, a->bytes, e.base, (enum trace_kind)e.kind);
    uint32_t event = sim_trace_put_event(t, &e, site), row;
    if (event == TRACE_NO_EVENT)
        return true;
    keep_values(t, a, event);
    if (t->settings.why && a->space == SIM_GLOBAL && a->kind != SIM_WRITE)
        sim_trace_note_writers(t, a, event);
    keep_served(t, a, event);
    struct trace_copy *copy = a->group ? copy_of(t, a->group, &row) : NULL;
    if (copy)
        *(a->kind == SIM_READ ? &copy->read : &copy->write) = event;
    return true;
}

/* --- asynchronous copies --- */

static uint32_t begin_copy(struct sim_trace *t, const struct sim_async_event *e)
{
    struct trace_copy c = {.warp = e->at.warp};
    bool added;
    c.issue = c.commit = c.land = c.read = c.write = c.wait = TRACE_NO_EVENT;
    for (uint32_t rest = e->mask; rest; rest &= rest - 1)
        c.bytes += e->bytes ? e->bytes[__builtin_ctz(rest)] : 0;
    vec_push(t->arena, &t->copies, c);
    uint32_t row = (uint32_t)t->copies.count - 1;
    number_map_entry(t->arena, &t->copy_of, e->group, &added)->value = row;
    return row;
}

static void see_commit(struct sim_trace *t, const struct sim_async_event *e)
{
    struct trace_warp *w = &t->warp.data[e->at.warp];
    struct trace_event made = {.mask = e->mask, .base = w->commits, .kind = TRACE_COMMIT};
    uint32_t event = add_plain(t, &e->at, made);
    for (size_t i = 0; i < t->copies.count; i++) {
        struct trace_copy *c = &t->copies.data[i];
        if (c->warp != e->at.warp || c->commit != TRACE_NO_EVENT)
            continue;
        c->commit = event;
        c->group = w->commits;
    }
    w->commits++;
}

static void see_wait(struct sim_trace *t, const struct sim_async_event *e)
{
    uint32_t pending = e->all ? 0 : (uint32_t)e->pending;
    struct trace_event made = {.mask = e->mask, .base = pending, .kind = TRACE_WAIT};
    uint32_t event = add_plain(t, &e->at, made), commits = t->warp.data[e->at.warp].commits;
    for (size_t i = 0; i < t->copies.count; i++) {
        struct trace_copy *c = &t->copies.data[i];
        bool committed = c->commit != TRACE_NO_EVENT;
        if (c->warp == e->at.warp && c->wait == TRACE_NO_EVENT &&
            (e->all || (committed && c->group + pending < commits)))
            c->wait = event;
    }
}

static bool see_async(void *user, const struct sim_async_event *e)
{
    struct sim_trace *t = user;
    uint32_t row;
    if (e->at.block != t->number)
        return true;
    if (e->kind == SIM_ASYNC_COMMIT)
        see_commit(t, e);
    if (e->kind == SIM_ASYNC_WAIT)
        see_wait(t, e);
    if (e->kind != SIM_ASYNC_ISSUE && e->kind != SIM_ASYNC_LAND)
        return true;
    bool issues = e->kind == SIM_ASYNC_ISSUE;
    if (issues)
        begin_copy(t, e);
    struct trace_copy *c = copy_of(t, e->group, &row);
    if (!c)
        return true;
    struct trace_event made = {.mask = e->mask,
                               .base = row,
                               .stride = (int32_t)c->bytes,
                               .kind = issues ? TRACE_ISSUE : TRACE_LAND};
    *(issues ? &c->issue : &c->land) = add_plain(t, &e->at, made);
    return true;
}

/* --- barriers --- */

static bool see_sync(void *user, const struct sim_sync_event *e)
{
    struct sim_trace *t = user;
    struct trace_event made = {.mask = e->mask};
    if (e->at.block != t->number || !e->mask)
        return true;
    switch (e->kind) {
    case SIM_BARRIER_ARRIVE:
    case SIM_BARRIER_LEAVE:
        made.kind = e->kind == SIM_BARRIER_ARRIVE ? TRACE_ARRIVE : TRACE_RELEASE;
        made.base = (uint32_t)e->id;
        made.stride = (int32_t)e->generation;
        break;
    case SIM_WARP_SYNC:
        made.kind = TRACE_WARP;
        made.base = e->members;
        break;
    case SIM_FENCE:
    case SIM_PROXY_FENCE:
    case SIM_INIT_FENCE: made.kind = TRACE_FENCE; break;
    case SIM_MBARRIER_ARRIVE:
    case SIM_MBARRIER_WAIT:
        made.kind = e->kind == SIM_MBARRIER_ARRIVE ? TRACE_ARRIVE : TRACE_RELEASE;
        made.flags = TRACE_MBARRIER;
        made.base = (uint32_t)e->address[__builtin_ctz(e->mask)];
        made.stride = (int32_t)e->count;
        break;
    default: return true;
    }
    add_plain(t, &e->at, made);
    return true;
}

/* --- instructions --- */

static void compute(struct sim_trace *t, const struct sim_step *step, enum trace_kind kind,
                    double flops)
{
    const struct sim_place *at = &step->at;
    struct trace_pending *p = &t->warp.data[at->warp].pending;
    const struct ptx_line *line = at->ins->line;
    bool same = p->instructions && p->kind == kind && p->mask == step->mask && line && p->line &&
                line->line == p->line->line && line->column == p->line->column;
    t->flops += flops;
    if (!same || p->flops + flops > UINT32_MAX) {
        int site = sim_trace_site(t, at, false, SIM_GLOBAL, 0, 0, kind);
        sim_trace_flush(t, at->warp);
        *p = (struct trace_pending){.line = line, .mask = step->mask, .kind = (uint8_t)kind};
        p->site = (uint16_t)(site < 0 ? 0 : site);
        p->from = (uint32_t)t->time;
    }
    p->instructions++;
    p->flops += flops;
}

static bool is_exit(const struct sim_step *step)
{
    return step->mask && (step->at.ins->op == PTX_EXIT ||
                          (step->at.ins->op == PTX_RET && step->at.function->entry));
}

static uint32_t chosen_by(const struct sim_step *step)
{
    const struct ptx_instruction *ins = step->at.ins;
    const struct ptx_operand *by = &ins->operands[3];
    int bytes;
    if (ins->op != PTX_SELP || by->kind != PTX_REGISTER)
        return 0;
    const uint32_t *lanes = sim_register_lanes(step, by->reg, &bytes);
    return by->negated ? ~*lanes : *lanes;
}

static void keep_step(struct sim_trace *t, const struct sim_step *step)
{
    bool added;
    struct number_entry *e =
        number_map_entry(t->arena, &t->code_of, (uintptr_t)step->at.ins, &added);
    if (added) {
        vec_push(t->arena, &t->codes, ((struct trace_code){step->at.ins, step->at.function}));
        e->value = t->codes.count - 1;
    }
    vec_push(t->arena, &t->steps,
             ((struct trace_step){.code = (uint32_t)e->value,
                                  .mask = step->mask,
                                  .event = (uint32_t)t->events.count,
                                  .chosen = chosen_by(step),
                                  .warp = (uint16_t)step->at.warp}));
}

static bool see_step(void *user, const struct sim_step *step)
{
    struct sim_trace *t = user;
    const struct ptx_instruction *ins = step->at.ins;
    settle_late(t);
    t->time++;
    if (t->settings.why)
        keep_step(t, step);
    if (t->settings.from && t->time == t->settings.from)
        t->shared_at_start =
            arena_copy(t->arena, step->warp->shared, (size_t)step->warp->shared_bytes);
    sim_trace_turn(t, step);
    int lanes = __builtin_popcount(step->mask);
    if (!step->mask)
        return true;
    double matrix = sim_flops_of_matrix(ins);
    int flops = matrix > 0 ? 0 : sim_flops_of_thread(ins);
    if (matrix > 0)
        compute(t, step, TRACE_MMA, matrix);
    else if (flops)
        compute(t, step, TRACE_COMPUTE, (double)flops * lanes);
    if (is_exit(step)) {
        sim_trace_leave_loops(t, step);
        struct trace_event e = {.mask = step->mask, .kind = TRACE_EXIT};
        sim_trace_keep_registers(t, step, add_plain(t, &step->at, e));
    }
    return true;
}

/* Notes a trap or an access that does not happen. The lanes of one instruction come one after
 * the other. */
static bool see_fault(void *user, const struct sim_fault *f, bool *go_on)
{
    struct sim_trace *t = user;
    uint32_t event = TRACE_NO_EVENT, lane = UINT32_C(1) << f->lane,
             last = (uint32_t)t->events.count;
    (void)go_on;
    if (f->at.block == t->number) {
        struct trace_event *before = last ? &t->events.data[last - 1] : NULL;
        if (before && before->kind == TRACE_FAULT && before->time == (uint32_t)t->time &&
            before->warp == f->at.warp) {
            before->mask |= lane;
            return true;
        }
        struct trace_event e = {.mask = lane, .kind = TRACE_FAULT};
        event = add_plain(t, &f->at, e);
    }
    if (t->fault.block < 0)
        t->fault = (struct trace_fault){f->at.block, f->at.warp, f->lane, event};
    return true;
}

static bool see_ended(void *user)
{
    struct sim_trace *t = user;
    settle_late(t);
    for (size_t i = 0; i < t->warp.count; i++)
        sim_trace_flush(t, (int)i);
    return true;
}

/* --- made --- */

struct sim_trace *sim_trace_new(struct arena *arena)
{
    struct sim_trace *t = arena_new(arena, struct sim_trace);
    t->arena = arena;
    t->number = t->why_block = t->fault.block = -1;
    t->observer = (struct sim_observer){.user = t,
                                        .only = &t->number,
                                        .launch = see_launch,
                                        .block_begins = see_block,
                                        .step = see_step,
                                        .access = see_access,
                                        .sync = see_sync,
                                        .async = see_async,
                                        .allocated = see_allocated,
                                        .fault = see_fault,
                                        .ended = see_ended};
    return t;
}

struct sim_observer *sim_trace_observer(struct sim_trace *t)
{
    return &t->observer;
}

struct sim_trace_settings *sim_trace_settings(struct sim_trace *t)
{
    return &t->settings;
}

void sim_trace_name(struct sim_trace *t, const struct sim_trace_memory *m)
{
    vec_push(t->arena, &t->named, *m);
}

void sim_trace_hold(struct sim_trace *t, const struct sim_trace_variable *v)
{
    vec_push(t->arena, &t->variables, *v);
}

void sim_trace_means(struct sim_trace *t, const struct sim_trace_access *a)
{
    vec_push(t->arena, &t->accesses, *a);
}
