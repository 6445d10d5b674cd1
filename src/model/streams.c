#include "model/streams.h"

static bool see_block(void *user, const struct sim_block_event *event)
{
    struct streams *s = user;
    s->block = arena_new(s->arena, struct stream_block);
    s->block->warps = event->warps;
    s->block->warp = arena_array(s->arena, struct stream, event->warps);
    return true;
}

static struct stream_instruction *instruction_of(struct streams *s,
                                                 const struct ptx_instruction *ins)
{
    struct stream_instruction *all = s->instructions.data;
    size_t count = s->instructions.count, i = s->latest;
    if (i < count && all[i].ins != ins)
        i++; /* mostly the next one */
    if (i >= count || all[i].ins != ins)
        for (i = 0; i < count && all[i].ins != ins;)
            i++;
    if (i == count) {
        struct stream_instruction new = {.ins = ins};
        vec_push(s->arena, &s->instructions, new);
    }
    s->latest = i;
    return &s->instructions.data[i];
}

/* Adds the lines of one access, each once; neighbouring lanes mostly share a line. Returns their
 * number. */
static size_t add_lines(struct streams *s, struct stream *to, const struct sim_access *a,
                        enum stream_kind kind)
{
    size_t first = to->entries.count;
    for (int lane = 0; lane < SIM_LANES; lane++) {
        if (!(a->mask >> lane & 1))
            continue;
        uint64_t from = a->address[lane] / GPU_SECTOR_BYTES,
                 end = (a->address[lane] + (uint64_t)a->bytes - 1) / GPU_SECTOR_BYTES;
        for (uint64_t sector = from; sector <= end; sector++) {
            uint64_t line = sector / 4;
            size_t i = to->entries.count;
            while (i > first && to->entries.data[i - 1].line != line)
                i--;
            if (i == first) {
                struct stream_entry new = {line, 0, (uint8_t)kind};
                vec_push(s->arena, &to->entries, new);
                i = to->entries.count;
            }
            uint8_t *sectors = &to->entries.data[i - 1].sectors;
            *sectors = (uint8_t)(*sectors | 1u << sector % 4);
        }
    }
    return to->entries.count - first;
}

static bool see_access(void *user, const struct sim_access *a)
{
    struct streams *s = user;
    if (a->space != SIM_GLOBAL)
        return true;
    struct stream *to = &s->block->warp[a->at.warp];
    bool past = a->past_l1 || a->order != SIM_WEAK;
    double lines = (double)add_lines(s, to, a,
                                     a->kind == SIM_UPDATE  ? STREAM_UPDATE
                                     : a->kind == SIM_WRITE ? STREAM_STORE
                                     : past                 ? STREAM_PAST_L1
                                                            : STREAM_LOAD);
    struct stream_instruction *n = instruction_of(s, a->at.ins);
    n->lines += lines;
    double bytes = (double)a->bytes * __builtin_popcount(a->mask);
    if (!a->past_l1)
        n->wavefronts += lines > bytes / GPU_LINE_BYTES ? lines : bytes / GPU_LINE_BYTES;
    return true;
}

static bool see_sync(void *user, const struct sim_sync_event *e)
{
    struct streams *s = user;
    if (e->kind == SIM_BARRIER_ARRIVE && e->waits && e->expected < 0) {
        struct stream_entry barrier = {0, 0, STREAM_BARRIER};
        vec_push(s->arena, &s->block->warp[e->at.warp].entries, barrier);
    }
    return true;
}

static bool see_async(void *user, const struct sim_async_event *e)
{
    struct streams *s = user;
    if (e->kind == SIM_PRODUCT_ISSUE)
        s->multiplying |= UINT64_C(1) << e->at.warp;
    return true;
}

void model_streams_init(struct streams *s, struct arena *arena)
{
    *s = (struct streams){.arena = arena};
    s->observer = (struct sim_observer){.user = s,
                                        .block_begins = see_block,
                                        .access = see_access,
                                        .sync = see_sync,
                                        .async = see_async};
}

void model_streams_clear(struct streams *s)
{
    s->block = NULL;
    s->multiplying = 0;
    s->instructions.data = NULL; /* a copy made by the caller stays in use */
    s->instructions.count = s->instructions.capacity = s->latest = 0;
}
