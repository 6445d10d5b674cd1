/* Counts are kept for each instruction and summed by line and kind on request: an event costs a
 * look-up and a few additions. Instructions are in the order in which they first ran, so the
 * next event is mostly of the next instruction in that order. */
#include "sim/sim_counters.h"

#include "sim/sim_groups.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_CAPACITY = 1024 };

/* The accesses of a function that may be merged. */
struct merges_of {
    const struct ptx_function *function;
    struct sim_merges merges;
};

/* A block that runs. */
struct block_of {
    int64_t block, sectors;
};

struct sim_counters {
    struct arena *arena;
    struct sim_observer observer;
    struct sim_counted *entries; /* room for half the capacity */
    uint32_t *table;             /* a hash of their instructions: number + 1 */
    size_t capacity, used;       /* capacity: a power of two */
    size_t last;                 /* looked up */
    bool merging;
    VEC(struct merges_of) merges;
    struct sim_groups groups;
    VEC(struct block_of) blocks;
    size_t last_block;     /* looked up */
    int64_t block_sectors; /* the most of any block that has ended */
    int64_t busiest_warp;  /* the most of any warp of those blocks */
};

/* --- kinds --- */

const char *const sim_instruction_kinds[SIM_KIND_COUNT] = {
    "f64",   "f32",     "f16",    "integer", "bits",   "compare", "convert",
    "move",  "shared",  "global", "local",   "const",  "generic", "atomic",
    "async", "barrier", "lanes",  "control", "matrix", "other",
};

/* The table that an instruction belongs to. */
enum family { ARITHMETIC, BITWISE, MEMORY, ASYNCHRONOUS, CONTROLLING, MATRICES };
static const uint8_t family_of[PTX_OP_COUNT] = {
#define FORM(...)
#define OP(id, name, what) [PTX_##id] = ARITHMETIC,
#include "ptx/ptx_arithmetic.def"
#undef OP
#define OP(id, name, what) [PTX_##id] = BITWISE,
#include "ptx/ptx_bits.def"
#undef OP
#define OP(id, name, what) [PTX_##id] = MEMORY,
#include "ptx/ptx_memory.def"
#undef OP
#define OP(id, name, what) [PTX_##id] = ASYNCHRONOUS,
#include "ptx/ptx_async.def"
#undef OP
#define OP(id, name, what) [PTX_##id] = CONTROLLING,
#include "ptx/ptx_control.def"
#undef OP
#define OP(id, name, what) [PTX_##id] = MATRICES,
#include "ptx/ptx_matrix.def"
#include "ptx/ptx_tensor.def"
#undef OP
#undef FORM
};

static enum sim_instruction_kind arithmetic_kind(const struct ptx_instruction *ins)
{
    switch ((int)ins->op) {
    case PTX_SETP:
    case PTX_SET:
    case PTX_SELP:
    case PTX_SLCT: return SIM_KIND_COMPARE;
    case PTX_CVT:
    case PTX_CVT_PACK: return SIM_KIND_CONVERT;
    default: break;
    }
    switch ((int)ptx_type(ins, 0)) {
    case MOD_F64: return SIM_KIND_F64;
    case MOD_F32:
    case MOD_F32X2: return SIM_KIND_F32;
    case MOD_F16:
    case MOD_F16X2:
    case MOD_BF16:
    case MOD_BF16X2: return SIM_KIND_F16;
    default: return SIM_KIND_INTEGER;
    }
}

static enum sim_instruction_kind space_kind(const struct ptx_instruction *ins)
{
    switch ((int)ptx_find(ins, PTX_CLASS_SPACE, 0)) {
    case MOD_SHARED:
    case MOD_SHARED_CTA:
    case MOD_SHARED_CLUSTER: return SIM_KIND_SHARED;
    case MOD_GLOBAL: return SIM_KIND_GLOBAL;
    case MOD_LOCAL: return SIM_KIND_LOCAL;
    case MOD_CONST:
    case MOD_PARAM:
    case MOD_PARAM_ENTRY:
    case MOD_PARAM_FUNC: return SIM_KIND_CONST;
    default: return SIM_KIND_GENERIC;
    }
}

static enum sim_instruction_kind memory_kind(const struct ptx_instruction *ins)
{
    switch ((int)ins->op) {
    case PTX_LD:
    case PTX_LDU:
    case PTX_ST: return space_kind(ins);
    case PTX_ATOM:
    case PTX_RED:
    case PTX_MULTIMEM_RED: return SIM_KIND_ATOMIC;
    case PTX_MOV:
    case PTX_CVTA:
    case PTX_MAPA: return SIM_KIND_MOVE;
    default: return SIM_KIND_OTHER;
    }
}

static enum sim_instruction_kind control_kind(const struct ptx_instruction *ins)
{
    switch ((int)ins->op) {
    case PTX_BRA:
    case PTX_BRX_IDX:
    case PTX_CALL:
    case PTX_RET:
    case PTX_EXIT: return SIM_KIND_CONTROL;
    case PTX_BAR:
    case PTX_BARRIER:
    case PTX_BAR_WARP_SYNC:
    case PTX_BARRIER_CLUSTER:
    case PTX_MEMBAR:
    case PTX_MEMBAR_PROXY:
    case PTX_FENCE:
    case PTX_FENCE_PROXY: return SIM_KIND_BARRIER;
    case PTX_SHFL:
    case PTX_VOTE:
    case PTX_MATCH:
    case PTX_ACTIVEMASK:
    case PTX_REDUX:
    case PTX_ELECT: return SIM_KIND_LANES;
    default: return SIM_KIND_OTHER;
    }
}

enum sim_instruction_kind sim_kind_of(const struct ptx_instruction *ins)
{
    switch ((enum family)family_of[ins->op]) {
    case ARITHMETIC: return arithmetic_kind(ins);
    case BITWISE: return SIM_KIND_BITS;
    case MEMORY: return memory_kind(ins);
    case ASYNCHRONOUS: return SIM_KIND_ASYNC;
    case CONTROLLING: return control_kind(ins);
    case MATRICES: break;
    }
    return ins->op == PTX_LDMATRIX || ins->op == PTX_STMATRIX ? SIM_KIND_SHARED : SIM_KIND_MATRIX;
}

/* --- counting --- */

static uint32_t *slot_of(const struct sim_counters *c, const struct ptx_instruction *ins)
{
    size_t at = (size_t)(((uint64_t)(uintptr_t)ins >> 4) * 0x9e3779b97f4a7c15u >> 32);
    at &= c->capacity - 1;
    while (c->table[at] && c->entries[c->table[at] - 1].ins != ins)
        at = (at + 1) & (c->capacity - 1);
    return &c->table[at];
}

static void grow(struct sim_counters *c)
{
    const struct sim_counted *old = c->entries;
    c->capacity = c->capacity ? 2 * c->capacity : FIRST_CAPACITY;
    c->table = arena_array(c->arena, uint32_t, c->capacity);
    c->entries = arena_array(c->arena, struct sim_counted, c->capacity / 2);
    for (size_t i = 0; i < c->used; i++) {
        c->entries[i] = old[i];
        *slot_of(c, old[i].ins) = (uint32_t)i + 1;
    }
}

static const struct sim_merges *merges_of(struct sim_counters *c, const struct ptx_function *f)
{
    for (size_t i = 0; i < c->merges.count; i++)
        if (c->merges.data[i].function == f)
            return &c->merges.data[i].merges;
    struct merges_of new = {.function = f};
    sim_merges_find(c->arena, f, &new.merges);
    vec_push(c->arena, &c->merges, new);
    return &c->merges.data[c->merges.count - 1].merges;
}

static struct sim_merge *merge_of(struct sim_counters *c, const struct sim_place *at)
{
    if (!c->merging || !at->function)
        return NULL;
    const struct sim_merges *m = merges_of(c, at->function);
    for (size_t i = 0; i < m->count; i++)
        for (size_t k = 0; k < m->list[i].count; k++)
            if (m->list[i].list[k].ins == at->ins)
                return &m->list[i];
    return NULL;
}

static size_t look_up(struct sim_counters *c, const struct sim_place *at)
{
    if (2 * c->used >= c->capacity)
        grow(c);
    uint32_t *slot = slot_of(c, at->ins);
    if (!*slot) {
        c->entries[c->used] = (struct sim_counted){
            .ins = at->ins, .function = at->function, .where = at->where, .merge = merge_of(c, at)};
        *slot = (uint32_t)++c->used;
    }
    return *slot - 1;
}

static inline struct sim_counted *entry_of(struct sim_counters *c, const struct sim_place *at)
{
    size_t i = c->last;
    if (i >= c->used || c->entries[i].ins != at->ins) {
        i++;
        if (i >= c->used || c->entries[i].ins != at->ins)
            i = look_up(c, at);
        c->last = i;
    }
    return &c->entries[i];
}

static void see_executed(void *user, const struct sim_place *at, int64_t warps, int64_t lanes)
{
    struct sim_counts *n = &entry_of(user, at)->counts;
    n->warp_instructions += warps;
    n->thread_instructions += lanes;
}

/* Returns true if a part of the machine makes the access by itself: the copy engine or the tensor
 * cores, whose accesses take no wavefronts of the warps' own. */
static bool is_of_agent(const struct sim_access *access)
{
    enum ptx_op op = access->group && access->at.ins ? (enum ptx_op)access->at.ins->op : PTX_LD;
    return op == PTX_CP_ASYNC_BULK || op == PTX_CP_ASYNC_BULK_TENSOR || op == PTX_WGMMA_MMA_ASYNC;
}

static void see_copied(struct sim_counts *n, const struct sim_access *access)
{
    if (access->kind == SIM_WRITE)
        n->async_bytes += (int64_t)access->bytes * __builtin_popcount(access->mask);
}

static void see_shared(struct sim_counts *n, const struct sim_access *access)
{
    if (is_of_agent(access)) {
        see_copied(n, access);
        return;
    }
    if (access->kind == SIM_UPDATE) {
        n->shared_atomics++;
        return;
    }
    int taken = sim_wavefronts(access), least = sim_wavefronts_ideal(access);
    n->shared_wavefronts += taken;
    n->shared_wavefronts_ideal += least;
    n->bank_conflicts += taken - least;
    if (access->group) {
        n->async_copies++;
        n->async_bytes += (int64_t)access->bytes * __builtin_popcount(access->mask);
    } else if (access->kind == SIM_WRITE) {
        n->shared_stores++;
    } else {
        n->shared_loads++;
    }
}

static void see_global(struct sim_counts *n, const struct sim_access *access)
{
    if (access->kind == SIM_UPDATE) {
        n->global_atomics++;
        return;
    }
    n->global_requests++;
    n->global_sectors += sim_sectors(access);
    if (is_of_agent(access))
        see_copied(n, access);
    else if (access->kind == SIM_WRITE)
        n->global_stores++;
    else if (!access->group)
        n->global_loads++;
}

/* Returns true if the access passes a parameter or result. Functions pass these in registers if
 * enough are free, so they are not counted. */
static bool passes_parameters(const struct ptx_instruction *ins)
{
    return ins && (ins->op == PTX_CALL || space_kind(ins) == SIM_KIND_CONST);
}

static void count(struct sim_counts *n, const struct sim_access *access)
{
    switch (access->space) {
    case SIM_SHARED: see_shared(n, access); break;
    case SIM_GLOBAL: see_global(n, access); break;
    case SIM_LOCAL: n->local_accesses += !passes_parameters(access->at.ins); break;
    case SIM_CONST:
    case SIM_PARAM: break;
    }
}

/* Returns the counts of a block that runs. Few blocks run at the same time, so a search is fast. */
static struct block_of *block_of(struct sim_counters *c, int64_t block)
{
    size_t i = c->last_block;
    if (i >= c->blocks.count || c->blocks.data[i].block != block)
        for (i = 0; i < c->blocks.count && c->blocks.data[i].block != block;)
            i++;
    if (i == c->blocks.count)
        vec_push(c->arena, &c->blocks, ((struct block_of){.block = block}));
    c->last_block = i;
    return &c->blocks.data[i];
}

static void end_block(struct sim_counters *c, const struct block_of *b)
{
    if (b->sectors > c->block_sectors)
        c->block_sectors = b->sectors;
}

static bool see_block_end(void *user, const struct sim_block_event *event)
{
    struct sim_counters *c = user;
    struct block_of *b = block_of(c, event->block);
    end_block(c, b);
    if (event->warp_steps > c->busiest_warp)
        c->busiest_warp = event->warp_steps;
    sim_groups_end_block(&c->groups, event);
    *b = c->blocks.data[--c->blocks.count];
    return true;
}

static void count_piece(void *user, const struct sim_access *piece)
{
    count(&((struct sim_counted *)user)->merged, piece);
}

static void see_depth(const struct sim_counters *c, struct sim_counts *n,
                      const struct sim_access *access)
{
    if (access->space != SIM_SHARED || access->kind != SIM_READ || access->group || !c->groups.used)
        return;
    int64_t bytes, depth = sim_groups_under_way(&c->groups, &access->at, access->mask, &bytes);
    n->overlapped += bytes;
    n->async_overlap = n->overlapped / n->shared_loads;
    n->async_depth = depth > n->async_depth ? depth : n->async_depth;
}

static bool see_access(void *user, const struct sim_access *access)
{
    struct sim_counters *c = user;
    struct sim_counted *e = entry_of(c, &access->at);
    int64_t before = e->counts.global_sectors;
    count(&e->counts, access);
    if (e->counts.global_sectors != before)
        block_of(c, access->at.block)->sectors += e->counts.global_sectors - before;
    see_depth(c, &e->counts, access);
    if (e->merge && e->merge->list[0].ins == e->ins)
        sim_merge_pieces(c->arena, e->merge, access, count_piece, e);
    return true;
}

static bool see_async(void *user, const struct sim_async_event *event)
{
    struct sim_counters *c = user;
    sim_groups_see(&c->groups, event);
    if (event->kind == SIM_BULK_ISSUE)
        entry_of(c, &event->at)->counts.async_copies++;
    return true;
}

static bool see_end(void *user)
{
    struct sim_counters *c = user;
    sim_groups_clear(&c->groups);
    for (size_t i = 0; i < c->blocks.count; i++) /* blocks of a launch that broke off */
        end_block(c, &c->blocks.data[i]);
    c->blocks.count = 0;
    return true;
}

struct sim_counters *sim_counters_new(struct arena *arena)
{
    struct sim_counters *c = arena_new(arena, struct sim_counters);
    c->arena = c->groups.arena = arena;
    c->observer = (struct sim_observer){.user = c,
                                        .later = true,
                                        .executed = see_executed,
                                        .access = see_access,
                                        .async = see_async,
                                        .block_ends = see_block_end,
                                        .ended = see_end};
    return c;
}

void sim_counters_merge(struct sim_counters *c)
{
    c->merging = true;
}

struct sim_observer *sim_counters_observer(struct sim_counters *c)
{
    return &c->observer;
}

void sim_counters_clear(struct sim_counters *c)
{
    if (c->capacity)
        memset(c->table, 0, c->capacity * sizeof *c->table);
    c->used = c->last = c->blocks.count = 0;
    c->block_sectors = c->busiest_warp = 0;
}

const struct sim_counted *sim_counters_all(const struct sim_counters *c, size_t *count)
{
    *count = c->used;
    return c->entries;
}

/* --- sums --- */

static void add(struct sim_counts *sum, const struct sim_counts *n)
{
    int64_t depth = sum->async_depth > n->async_depth ? sum->async_depth : n->async_depth;
    for (int i = 0; i < SIM_COUNTER_COUNT; i++)
        ((int64_t *)sum)[i] += sim_counts_row(n)[i];
    sum->async_depth = depth;
    sum->overlapped += n->overlapped;
    sum->async_overlap = sum->shared_loads ? sum->overlapped / sum->shared_loads : 0;
}

void sim_counters_total(const struct sim_counters *c, struct sim_counts *total)
{
    *total = (struct sim_counts){0};
    for (size_t i = 0; i < c->used; i++)
        add(total, &c->entries[i].counts);
    total->block_sectors = c->block_sectors;
    total->busiest_warp = c->busiest_warp;
}

void sim_counters_kinds(const struct sim_counters *c, int64_t kinds[SIM_KIND_COUNT])
{
    memset(kinds, 0, SIM_KIND_COUNT * sizeof *kinds);
    for (size_t i = 0; i < c->used; i++)
        kinds[sim_kind_of(c->entries[i].ins)] += c->entries[i].counts.warp_instructions;
}

uint32_t sim_counted_line(const struct sim_counted *e, const struct ptx_module *module,
                          const char **file)
{
    int line = 0, column = 0;
    if (e->ins->line) {
        const char *name = ptx_file_name(module, e->ins->line->file);
        *file = name ? name : "?";
        return e->ins->line->line;
    }
    if (e->where.source)
        loc_line_column(e->where, &line, &column);
    *file = e->where.source ? e->where.source->name : "?";
    return (uint32_t)line;
}

static int by_place(const void *left, const void *right)
{
    const struct sim_line_counts *a = left, *b = right;
    int order = strcmp(a->file, b->file);
    return order ? order : (a->line > b->line) - (a->line < b->line);
}

size_t sim_counters_lines(const struct sim_counters *c, const struct ptx_module *module,
                          struct arena *arena, struct sim_line_counts **lines)
{
    struct sim_line_counts *all = arena_array(arena, struct sim_line_counts, c->used + 1);
    size_t count = 0, kept = 0;
    for (size_t i = 0; i < c->used; i++) {
        all[count].line = sim_counted_line(&c->entries[i], module, &all[count].file);
        all[count++].counts = c->entries[i].counts;
    }
    qsort(all, count, sizeof *all, by_place);
    for (size_t i = 0; i < count; i++) {
        if (kept && by_place(&all[kept - 1], &all[i]) == 0)
            add(&all[kept - 1].counts, &all[i].counts);
        else
            all[kept++] = all[i];
    }
    *lines = all;
    return kept;
}
