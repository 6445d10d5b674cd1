#include "sim/sim_groups.h"

#include <string.h>

enum { LANES = 32, GROUPS = 64 };

struct sim_warp_groups {
    struct sim_warp_groups *next; /* in its chain, or in the list of unused ones */
    int64_t block;
    int warp;
    uint32_t open;         /* lanes that have copies outside any group */
    uint64_t group[LANES]; /* bit n: the group of n commits ago has copies not waited for */
    int64_t under_way;     /* bytes that those copies and the open ones read */
    uint32_t open_bytes[LANES];
    uint8_t commits[LANES];        /* modulo GROUPS */
    uint32_t bytes[LANES][GROUPS]; /* bytes of a lane's groups, by the number of the commit */
};

static struct sim_warp_groups **slot_of(const struct sim_groups *g, const struct sim_place *at)
{
    uint64_t key = (uint64_t)at->block * 0x9e3779b97f4a7c15u + (uint64_t)at->warp;
    struct sim_warp_groups **slot = &g->table[(key ^ key >> 32) & (SIM_GROUPS_CHAINS - 1)];
    while (*slot && ((*slot)->block != at->block || (*slot)->warp != at->warp))
        slot = &(*slot)->next;
    return slot;
}

static struct sim_warp_groups *groups_of(struct sim_groups *g, const struct sim_place *at)
{
    if (!g->table)
        g->table = arena_array(g->arena, struct sim_warp_groups *, SIM_GROUPS_CHAINS);
    struct sim_warp_groups **slot = slot_of(g, at), *w = *slot;
    if (w)
        return w;
    if ((w = g->unused)) {
        g->unused = w->next;
        memset(w, 0, sizeof *w);
    } else {
        w = arena_new(g->arena, struct sim_warp_groups);
    }
    w->block = at->block;
    w->warp = at->warp;
    g->used++;
    return *slot = w;
}

static void issue(struct sim_warp_groups *w, const struct sim_async_event *e)
{
    w->open |= e->mask;
    for (uint32_t rest = e->bytes ? e->mask : 0; rest; rest &= rest - 1) {
        int lane = __builtin_ctz(rest);
        w->open_bytes[lane] += e->bytes[lane];
        w->under_way += e->bytes[lane];
    }
}

static void commit(struct sim_warp_groups *w, uint32_t mask)
{
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        int lane = __builtin_ctz(rest);
        uint32_t *bytes = &w->bytes[lane][w->commits[lane]++ % GROUPS];
        if (w->group[lane] >> (GROUPS - 1)) /* the oldest group is forgotten */
            w->under_way -= *bytes;
        *bytes = w->open_bytes[lane];
        w->open_bytes[lane] = 0;
        w->group[lane] = w->group[lane] << 1 | (w->open >> lane & 1);
    }
    w->open &= ~mask;
}

static void wait(struct sim_warp_groups *w, const struct sim_async_event *e)
{
    uint64_t kept = e->all || e->pending <= 0 ? 0
                    : e->pending < GROUPS     ? ((uint64_t)1 << e->pending) - 1
                                              : UINT64_MAX;
    for (uint32_t rest = e->mask; rest; rest &= rest - 1) {
        int lane = __builtin_ctz(rest);
        for (uint64_t done = w->group[lane] & ~kept; done; done &= done - 1) {
            int number = w->commits[lane] - 1 - __builtin_ctzll(done);
            w->under_way -= w->bytes[lane][number & (GROUPS - 1)];
        }
        w->group[lane] &= kept;
        if (!e->all)
            continue;
        w->under_way -= w->open_bytes[lane];
        w->open_bytes[lane] = 0;
    }
    if (e->all)
        w->open &= ~e->mask;
}

void sim_groups_see(struct sim_groups *g, const struct sim_async_event *event)
{
    switch (event->kind) {
    case SIM_ASYNC_ISSUE: issue(groups_of(g, &event->at), event); break;
    case SIM_ASYNC_COMMIT: commit(groups_of(g, &event->at), event->mask); break;
    case SIM_ASYNC_WAIT: wait(groups_of(g, &event->at), event); break;
    default: break; /* landing early or late has no effect here: only waiting counts */
    }
}

int sim_groups_under_way(const struct sim_groups *g, const struct sim_place *at, uint32_t mask,
                         int64_t *bytes)
{
    const struct sim_warp_groups *w = g->used ? *slot_of(g, at) : NULL;
    int most = 0;
    *bytes = w ? w->under_way : 0;
    for (uint32_t rest = w ? mask : 0; rest; rest &= rest - 1) {
        int lane = __builtin_ctz(rest);
        int count = __builtin_popcountll(w->group[lane]) + (int)(w->open >> lane & 1);
        most = count > most ? count : most;
    }
    return most;
}

static void forget(struct sim_groups *g, struct sim_warp_groups **slot)
{
    struct sim_warp_groups *w = *slot;
    *slot = w->next;
    w->next = g->unused;
    g->unused = w;
    g->used--;
}

void sim_groups_end_block(struct sim_groups *g, const struct sim_block_event *event)
{
    struct sim_place at = {.block = event->block};
    for (; at.warp < event->warps && g->used; at.warp++) {
        struct sim_warp_groups **slot = slot_of(g, &at);
        if (*slot)
            forget(g, slot);
    }
}

void sim_groups_clear(struct sim_groups *g)
{
    for (size_t i = 0; i < SIM_GROUPS_CHAINS && g->used; i++)
        while (g->table[i])
            forget(g, &g->table[i]);
}
