/* Makes a race into a finding: both sides, an order that goes wrong, and the resulting value. */
#include "sim/race/sim_race_own.h"

#include "base/dtype.h"

#include <stdio.h>

static uint64_t address_of(const struct race_try *t, const struct race_record *record, int lane)
{
    if (record->whole_warp || record->pattern == RACE_UNIFORM)
        return record->address;
    if (record->pattern == RACE_LINEAR)
        return record->address + (uint64_t)lane * record->stride;
    if (record->pattern == RACE_HALVES)
        return record->address + (uint64_t)(lane % RACE_HALF) * record->stride +
               (lane / RACE_HALF ? (uint64_t)record->apart : 0);
    return race_listed_address(t->pool, record, record == &t->self ? t->a->address : NULL, lane);
}

static bool is_product(const struct race_record *record)
{
    return record->site->ins && record->site->ins->op == PTX_WGMMA_MMA_ASYNC;
}

static const char *does(const struct race_record *record)
{
    if (record->by && is_product(record))
        return "product's read";
    if (record->by)
        return record->kind == SIM_READ    ? "bulk copy's read"
               : record->kind == SIM_WRITE ? "bulk copy's write"
                                           : "bulk copy's count of bytes";
    if (record->async)
        return record->kind == SIM_READ ? "asynchronous read" : "asynchronous write";
    if (record->kind == SIM_UPDATE)
        return "atomic update";
    if (record->order == SIM_VOLATILE)
        return record->kind == SIM_READ ? "volatile read" : "volatile write";
    if (record->order != SIM_WEAK)
        return record->kind == SIM_READ ? "strong read" : "strong write";
    return record->kind == SIM_READ ? "read" : "write";
}

static struct sim_place place_of(const struct race_try *t, const struct race_record *record)
{
    uint64_t id = record->by ? record->by : record->id & ~RACE_COPIES;
    return (struct sim_place){.block = (int64_t)(id >> 6),
                              .warp = (int)(id & 63) - 1,
                              .warps = t->a->at.warps,
                              .threads = t->a->at.threads,
                              .ins = record->site->ins,
                              .function = record->site->function,
                              .where = record->site->where};
}

/* Returns the lane that made, or issued, an access of the record; -1: the whole warp. */
static int lane_of(const struct race_record *record, int lane)
{
    return record->by ? record->by_lane : lane;
}

static struct sim_finding_access side(const struct race_try *t, const struct race_record *record,
                                      int lane)
{
    struct sim_finding_access a = {.at = place_of(t, record),
                                   .lane = lane_of(record, lane),
                                   .does = does(record),
                                   .memory = true,
                                   .space = t->a->space,
                                   .address = address_of(t, record, lane),
                                   .bytes = record->bytes,
                                   .barriers = record->passed,
                                   .passes = true};
    a.memory_name = sim_report_memory_name(t->r->report, a.space, a.address);
    if (record->barrier) {
        a.barrier = record->barrier->ins;
        a.barrier_where = record->barrier->where;
    }
    return a;
}

/* --- values --- */

/* The bytes at which two accesses meet: their values now, before the last write, and after this
 * one. NULL: not known. */
struct meeting {
    uint64_t byte;
    int bytes;
    const uint8_t *now, *was, *will;
    enum dtype type; /* type of the values; DT_COUNT: not known */
};

static struct meeting meet(const struct race_try *t, uint64_t byte, int bytes, int lane)
{
    struct meeting m = {.byte = byte, .bytes = bytes, .type = DT_COUNT};
    for (int l = 0; t->self.whole_warp && l < SIM_LANES; l++) /* the row that contains the byte */
        if (t->a->mask >> l & 1 && byte - t->a->address[l] < t->self.bytes)
            lane = l;
    uint64_t offset = byte - t->a->address[lane];
    if (offset + (uint64_t)bytes > t->self.bytes)
        m.bytes = t->self.bytes - (int)offset;
    if (t->a->before[lane])
        m.now = t->a->before[lane] + offset;
    if ((t->a->kind & SIM_WRITE) && t->a->value[lane])
        m.will = t->a->value[lane] + offset;
    if (t->a->space == SIM_SHARED) {
        if (t->home->old)
            m.was = t->home->old + byte;
    } else {
        const struct race_page *page = race_page_of(t->r, byte);
        if (page->old)
            m.was = page->old + byte % RACE_PAGE;
    }
    return m;
}

static enum dtype number_of(const struct ptx_instruction *ins)
{
    static const struct {
        enum ptx_mod mod;
        enum dtype type;
    } numbers[] = {{PTX_F32, DT_F32}, {PTX_F64, DT_F64}, {PTX_F16, DT_F16}, {PTX_BF16, DT_BF16},
                   {PTX_S8, DT_I8},   {PTX_S16, DT_I16}, {PTX_S32, DT_I32}, {PTX_S64, DT_I64},
                   {PTX_U8, DT_U8},   {PTX_U16, DT_U16}, {PTX_U32, DT_U32}, {PTX_U64, DT_U64}};
    for (size_t i = 0; ins && i < sizeof numbers / sizeof *numbers; i++)
        if (ptx_type(ins, 0) == numbers[i].mod)
            return numbers[i].type;
    return DT_COUNT;
}

/* Returns the type of the values: the one that an instruction gives, floats preferred, if the
 * bytes are whole values. */
static enum dtype type_of(const struct race_try *t, const struct race_clash *c,
                          const struct meeting *m)
{
    enum dtype type = number_of(t->self.site->ins);
    enum dtype other = c->old ? number_of(c->old->site->ins) : DT_COUNT;
    if (other != DT_COUNT && (type == DT_COUNT || !dtype_is_float(type)))
        type = other;
    unsigned size = type == DT_COUNT ? 1 : (unsigned)dtype_size(type);
    return m->byte % size == 0 && (unsigned)m->bytes % size == 0 ? type : DT_COUNT;
}

static void add_number(struct text *out, enum dtype type, const uint8_t *at)
{
    if (dtype_is_float(type))
        text_printf(out, "%.9g", dtype_load_f64(type, at));
    else if (type == DT_U64)
        text_printf(out, "%llu", (unsigned long long)dtype_load_i64(type, at));
    else
        text_printf(out, "%lld", (long long)dtype_load_i64(type, at));
}

/* Returns "12"; with its bits "12 (0x41400000)"; the bits alone if the type is not known. */
static const char *value_text(const struct race_try *t, const struct meeting *m,
                              const uint8_t *bytes, bool bits)
{
    char hex[2 * 16 + 1];
    int count = m->bytes < 16 ? m->bytes : 16;
    if (!bytes)
        return "another value";
    for (int i = 0; i < count; i++)
        snprintf(hex + 2 * i, 3, "%02x", bytes[count - 1 - i]);
    if (m->type == DT_COUNT)
        return arena_printf(t->r->arena, "0x%s", hex);
    struct text out;
    text_init(&out, t->r->arena);
    for (int i = 0; i < count; i += (int)dtype_size(m->type)) {
        text_add(&out, i ? ", " : "");
        add_number(&out, m->type, bytes + i);
    }
    if (bits)
        text_printf(&out, " (0x%s)", hex);
    return out.data;
}

/* Two values that differ, with their bits if they print alike. */
struct two_values {
    const char *a, *b;
};

static struct two_values two_values(const struct race_try *t, const struct meeting *m,
                                    const uint8_t *a, const uint8_t *b)
{
    struct two_values v = {value_text(t, m, a, false), value_text(t, m, b, false)};
    if (a && b && strcmp(v.a, v.b) == 0)
        v = (struct two_values){value_text(t, m, a, true), value_text(t, m, b, true)};
    return v;
}

/* --- words --- */

static const char *space_name(enum sim_space space)
{
    return space == SIM_SHARED ? "shared" : "global";
}

/* Returns "out[3] in global memory", or "bytes 0x… to 0x… of global memory" if the array is not
 * known. */
static const char *place_text(const struct race_try *t, const struct meeting *m)
{
    int unit = sim_value_bytes(t->self.site->ins);
    struct arena *a = t->r->arena;
    const char *space = space_name(t->a->space);
    const char *element = sim_report_element(t->r->report, t->a->space, m->byte, unit);
    unsigned long long from = m->byte, to = from + (unsigned)m->bytes - 1;
    if (element)
        return arena_printf(a, "%s in %s memory", element, space);
    return m->bytes == 1 ? arena_printf(a, "byte 0x%llx of %s memory", from, space)
                         : arena_printf(a, "bytes 0x%llx to 0x%llx of %s memory", from, to, space);
}

/* Returns true if the warps passed their last barrier together, at different instructions. */
static bool met_apart(const struct race_record *a, const struct race_record *b)
{
    return a->passed && a->passed == b->passed && a->barrier && b->barrier &&
           a->barrier->ins != b->barrier->ins;
}

static const char *why(const struct race_record *a, int lane, const struct race_record *b)
{
    if (a->pending >> lane & 1)
        return "the copy is under way until its thread has waited for its group "
               "(cp.async.wait_group, then a barrier for the other threads)";
    if (a->by)
        return is_product(a) ? "the product may read until a warp has waited for its group "
                               "(wgmma.wait_group)"
               : a->site->ins && ptx_has(a->site->ins, MOD_BULK_GROUP)
                   ? "the copy is under way until its thread has waited for its group "
                     "(cp.async.bulk.wait_group, .read for what it reads)"
                   : "the copy arrives at an mbarrier: only a thread that waits there for its "
                     "phase knows that it is done";
    if (a->id & RACE_COPIES)
        return "the copy arrives at an mbarrier: only a thread that waits there, even the one that "
               "issued it, knows that it is done";
    if (b->by && is_product(b))
        return "nothing orders it before the product, which may read at any time from its "
               "instruction on";
    if (b->by)
        return "nothing orders it before the copy, which may read and write at any time from its "
               "instruction on";
    if (b->async)
        return "the copy was issued before: it may read and write at any time until it is waited "
               "for";
    if (a->id >> 6 != b->id >> 6)
        return "no barrier is between threads of two blocks: only what one releases and the other "
               "acquires (scope .gpu or .sys) orders them";
    if (a->id == b->id)
        return "threads of a warp do not run in step: only a barrier, of the block or of the warp, "
               "orders them";
    if (met_apart(a, b))
        return "no barrier that both took part in lies between them: the warps passed their last "
               "barrier together, each at another place";
    return "no barrier that both took part in lies between them";
}

/* Returns true if each of two lanes reads its place and then writes it, as `x[i] += 1` does: one
 * instruction reads and the other writes, with one address operand in one line. */
static bool is_update(const struct race_record *a, const struct race_record *b)
{
    const struct ptx_instruction *ins[2] = {a->site->ins, b->site->ins};
    const struct ptx_operand *at[2] = {NULL, NULL};
    for (int i = 0; i < 2; i++)
        for (int k = 0; ins[i] && k < ins[i]->operand_count; k++)
            if (ptx_address_in(&ins[i]->operands[k]))
                at[i] = ptx_address_in(&ins[i]->operands[k]);
    bool reads_one = (a->kind == SIM_READ) != (b->kind == SIM_READ);
    return reads_one && a->site->function == b->site->function && at[0] && at[1] &&
           ptx_same_address(at[0], at[1]) && ins[0]->line && ins[1]->line &&
           ins[0]->line->line == ins[1]->line->line;
}

static void add_step(struct sim_finding *f, const char *text)
{
    if (f->step_count < SIM_FINDING_STEPS)
        f->steps[f->step_count++] = text;
}

/* Returns true if only a fence is missing: a lane of the block has read, with a strong
 * operation, a value that a release of old's side carries, and executed no fence since. */
static bool misses_fence(const struct race_try *t, const struct race_record *old, int old_lane,
                         struct sim_place *at, int *lane)
{
    for (int w = 0; w < t->block->warps; w++) {
        const struct race_fences *f = t->block->warp[w].fences;
        for (int l = 0; f && l < SIM_LANES; l++)
            for (int level = 0; level < 2; level++)
                if (f->seen[level][l] && race_vc_covers(f->seen[level][l], old->id,
                                                        (uint32_t)1 << old_lane, old->epoch)) {
                    *at = t->a->at;
                    at->warp = w;
                    *lane = l;
                    return true;
                }
    }
    return false;
}

static void add_fence_step(const struct race_try *t, struct sim_finding *f,
                           const struct race_record *old, int old_lane)
{
    struct sim_place at;
    int lane;
    if (misses_fence(t, old, old_lane, &at, &lane))
        add_step(
            f, arena_printf(t->r->arena,
                            "%s has fenced and signalled by an atomic operation, and %s has read "
                            "the signal; the reader's fence is missing: __threadfence() after its "
                            "atomic operation or strong read, before the accesses that it guards",
                            sim_thread_text(t->r->report, &f->access[0].at, old_lane),
                            sim_thread_text(t->r->report, &at, lane)));
}

static void add_scope_step(const struct race_try *t, struct sim_finding *f,
                           const struct race_record *old)
{
    static const char *const scopes[] = {"cta", "cluster", "gpu", "sys"};
    if (old->element != t->self.element)
        add_step(f, "both are strong, but not of the same bytes as a whole, so they may tear");
    else
        add_step(f, arena_printf(t->r->arena,
                                 "both are strong, but their scopes (.%s and .%s) do not both "
                                 "include the other's block, so neither is atomic to the other",
                                 scopes[old->scope], scopes[t->self.scope]));
}

/* Returns true if the bytes are the same in either order this time. */
static bool reads_the_same(const struct meeting *m, const uint8_t *instead)
{
    return m->now && instead && memcmp(m->now, instead, (size_t)m->bytes) == 0;
}

/* Returns a text of the effect of the other order. */
static const char *outcome(const struct race_try *t, const struct race_clash *c,
                           const struct meeting *m, const char *first, const char *second)
{
    struct arena *a = t->r->arena;
    const struct two_values before = two_values(t, m, m->was, m->now),
                            after = two_values(t, m, m->will, m->now);
    if (!c->old)
        return arena_printf(a, "the bytes end up with the value of either lane");
    if (t->self.kind == SIM_READ && c->past != RACE_LAST)
        return arena_printf(a,
                            "the read (%s) may come first and get what was there before %s wrote",
                            second, first);
    if (t->self.kind == SIM_READ && reads_the_same(m, m->was))
        return arena_printf(a, "the read (%s) may come before %s has written", second, first);
    if (t->self.kind == SIM_READ)
        return arena_printf(a, "the read (%s) may come first: it then gets %s, not the %s of %s",
                            second, before.a, before.b, first);
    if (c->old->kind == SIM_READ && reads_the_same(m, m->will))
        return arena_printf(a, "the write (%s) may come before %s has read", second, first);
    if (c->old->kind == SIM_READ)
        return arena_printf(a, "the write (%s) may come first: the read of %s then gets %s%s%s",
                            second, first, after.a, c->past ? ", not " : "",
                            c->past ? after.b : "");
    if (!m->will || (c->past && (!m->now || reads_the_same(m, m->will))))
        return arena_printf(a, "the bytes end up as %s or as %s left them, whichever comes last",
                            first, second);
    if (!c->past)
        return arena_printf(a,
                            "the bytes end up as %s wrote them or as %s (%s), whichever comes last",
                            first, after.a, second);
    return arena_printf(a, "the bytes end up as %s (%s) or as %s (%s), whichever comes last",
                        after.b, first, after.a, second);
}

/* Returns true if the race is with a copy under way, which may write at any time, whatever it
 * writes. */
static bool is_of_copy(const struct race_try *t, const struct race_clash *c)
{
    return c->old && (t->self.async || c->old->pending & c->old_lanes || c->old->by ||
                      c->old->id & RACE_COPIES);
}

static enum sim_found kind_of(const struct race_try *t, const struct race_clash *c)
{
    bool same = race_same_value(t, c);
    const struct race_record *other = c->old ? c->old : &t->self;
    if (race_volatile_pair(t, other) && other->element == t->self.element)
        return !same && t->self.kind == SIM_WRITE && other->kind == SIM_WRITE
                   ? SIM_FOUND_VOLATILE_RACE
                   : SIM_FOUND_VOLATILE;
    if (!c->old)
        return same ? SIM_FOUND_SAME_VALUE : SIM_FOUND_RACE;
    if (is_of_copy(t, c))
        return SIM_FOUND_ASYNC_RACE;
    if (c->old->order != SIM_WEAK && t->self.order != SIM_WEAK)
        return SIM_FOUND_SCOPE;
    return same ? SIM_FOUND_SAME_VALUE : SIM_FOUND_RACE;
}

/* Returns the number of bytes from `byte` on that both lanes access. */
static int common_bytes(const struct race_try *t, const struct race_record *old, uint64_t byte,
                        int old_lane, int lane)
{
    int bytes = 1;
    uint32_t theirs = (uint32_t)1 << old_lane, ours = (uint32_t)1 << lane;
    while (bytes < 16 &&
           race_lanes_at(t->pool, old, byte + (uint64_t)bytes,
                         old == &t->self ? t->a->address : NULL) &
               theirs &&
           race_lanes_at(t->pool, &t->self, byte + (uint64_t)bytes, t->a->address) & ours)
        bytes++;
    return bytes;
}

/* Returns the number of bytes from the meeting place on. *here: those within the range of the
 * check. */
static int met_bytes(const struct race_try *t, const struct race_clash *c, int *here)
{
    int common =
        common_bytes(t, c->old ? c->old : &t->self, c->byte, __builtin_ctz(c->old_lanes), c->lane);
    *here = common < c->bytes ? common : c->bytes;
    return common;
}

bool race_same_value(const struct race_try *t, const struct race_clash *c)
{
    int here;
    const uint8_t *mine, *theirs = NULL;
    if (t->self.kind != SIM_WRITE || (c->old && c->old->kind != SIM_WRITE) || is_of_copy(t, c))
        return false;
    met_bytes(t, c, &here);
    struct meeting m = meet(t, c->byte, here, c->lane);
    mine = m.will;
    if (!c->old)
        theirs = meet(t, c->byte, here, __builtin_ctz(c->old_lanes)).will;
    else if (c->past)
        theirs = m.now;
    return mine && theirs && memcmp(mine, theirs, (size_t)here) == 0;
}

bool race_leaves_value(const struct race_try *t, uint64_t address, int bytes)
{
    if (t->self.kind != SIM_WRITE)
        return false;
    for (int b = 0; b < bytes; b++)
        for (int l = 0; l < SIM_LANES; l++) {
            uint64_t byte = address + (uint64_t)b, offset = byte - t->a->address[l];
            if (!(t->a->mask >> l & 1) || offset >= t->self.bytes)
                continue;
            if (!t->a->before[l] || !t->a->value[l] ||
                t->a->before[l][offset] != t->a->value[l][offset])
                return false;
        }
    return true;
}

static void describe(struct race_try *t, enum sim_found kind, const struct race_clash *c,
                     const struct meeting *m)
{
    struct arena *a = t->r->arena;
    int old_lane = __builtin_ctz(c->old_lanes), lane = c->lane;
    const struct race_record *old = c->old, *other = old ? old : &t->self;
    struct sim_finding f = {.kind = kind, .access_count = 2};
    f.access[0] = side(t, other, old_lane);
    f.access[1] = side(t, &t->self, lane);
    const char *place = place_text(t, m);
    bool same =
        kind == SIM_FOUND_SAME_VALUE || (kind == SIM_FOUND_VOLATILE && race_same_value(t, c));
    if (same)
        f.message = arena_printf(a, "unordered %swrites of the same value to %s",
                                 kind == SIM_FOUND_VOLATILE ? "volatile " : "", place);
    else if (kind == SIM_FOUND_VOLATILE_RACE && old)
        f.message = arena_printf(
            a, "volatile writes of different values to %s with no order between them", place);
    else if (!old)
        f.message = arena_printf(a, "lanes of one instruction write different values to %s", place);
    else
        f.message = arena_printf(a, "%s and %s of %s with no order between them", does(other),
                                 does(&t->self), place);
    if (kind == SIM_FOUND_SCOPE)
        add_scope_step(t, &f, other);
    else if (old && kind == SIM_FOUND_RACE && is_update(old, &t->self))
        add_step(&f,
                 "each of the threads reads the element and then writes it, so an update may be "
                 "lost; no barrier helps: an atomic operation reads and writes at once "
                 "(`atomic_add(x[i], v)`, in CUDA C atomicAdd)");
    else if (old)
        add_step(&f, why(old, old_lane, &t->self));
    if (old && !same)
        add_fence_step(t, &f, old, old_lane);
    if (kind == SIM_FOUND_VOLATILE || kind == SIM_FOUND_VOLATILE_RACE)
        add_step(&f,
                 "volatile promises that each access is made, as ld.relaxed.sys and "
                 "st.relaxed.sys are (PTX ISA, \"volatile Operation\"), and no order: a barrier, "
                 "or an atomic operation with fences, makes one");
    const char *first = sim_thread_text(t->r->report, &f.access[0].at, f.access[0].lane);
    const char *second = sim_thread_text(t->r->report, &f.access[1].at, f.access[1].lane);
    if (!same)
        add_step(&f, outcome(t, c, m, first, second));
    sim_report_add(t->r->report, &f);
}

/* Returns true if an mbarrier ends after its last use: a lane of the user's warp is known to have
 * gone on, as in the destructor of cuda::pipeline. There the lanes of a warp meet in match.sync,
 * which orders no memory, and one of them counts the warp out (libcu++, pipeline::quit). A use
 * that does come later is a finding of the barrier check. */
static bool ends_mbarrier(const struct race_try *t, const struct race_clash *c)
{
    const struct ptx_instruction *ins = t->self.site->ins;
    if (!ins || ins->op != PTX_MBARRIER_INVAL || !c->old || c->old->kind != SIM_UPDATE)
        return false;
    bool gone_on = c->old->id == t->self.id;
    for (int l = 0; l < SIM_LANES && !gone_on; l++)
        gone_on =
            race_vc_covers(t->warp->view.vc[c->lane], c->old->id, UINT32_C(1) << l, c->old->epoch);
    return gone_on;
}

void race_found(struct race_try *t, const struct race_clash *clash)
{
    struct race_clash c = *clash;
    if (ends_mbarrier(t, &c))
        return;
    if (c.old && c.old->pending & c.old_lanes) /* these say the most */
        c.old_lanes &= c.old->pending;
    int here, common = met_bytes(t, &c, &here);
    enum sim_found kind = kind_of(t, &c);
    struct sim_place first = c.old ? place_of(t, c.old) : t->a->at;
    struct sim_finding *known = sim_report_again(t->r->report, kind, &first, &t->a->at);
    if (!known) {
        struct meeting m = meet(t, c.byte, common, c.lane);
        m.type = type_of(t, &c, &m);
        describe(t, kind, &c, &m);
        known = t->r->report->last;
    }
    if (known->count) /* 0: it is not kept */
        known->bytes += common;
}

void race_found_unfenced(struct race_try *t, const struct race_record *old, uint64_t byte)
{
    struct sim_place first = place_of(t, old);
    if (sim_report_again(t->r->report, SIM_FOUND_PROXY, &first, &t->a->at))
        return;
    struct sim_finding f = {.kind = SIM_FOUND_PROXY, .access_count = 2};
    uint32_t lanes = race_lanes_at(t->pool, old, byte, NULL);
    f.access[0] = side(t, old, __builtin_ctz(lanes ? lanes : old->mask));
    f.access[1] = side(t, &t->self, __builtin_ctz(t->a->mask));
    bool init = old->site->ins && old->site->ins->op == PTX_MBARRIER_INIT;
    f.message = init ? "an mbarrier is initialised, and a copy arrives there, without a fence "
                       "between them"
                     : arena_printf(t->r->arena,
                                    "a write, and a %s of the same bytes, without a fence between "
                                    "them: the second is of the async proxy",
                                    does(&t->self));
    add_step(&f, init ? "the thread that initialises it has to execute fence.mbarrier_init (or "
                        "fence.proxy.async) after that, before the barrier"
                      : "copies of the copy engine, and wgmma, access memory by the async proxy: "
                        "the thread that writes has to execute fence.proxy.async after its write, "
                        "before the barrier");
    sim_report_add(t->r->report, &f);
}
