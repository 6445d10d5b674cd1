#include "sim/sim_groups.h"

#include <string.h>

enum { LANES = 32, FIRST_CAPACITY = 64 };

struct sim_warp_groups {
    int64_t block;
    int warp;
    uint32_t open;         /* lanes that have copies of no group */
    uint64_t group[LANES]; /* bit n: the group n commits ago has copies that were not waited for */
};

static struct sim_warp_groups **slot_of(const struct sim_groups *g, const struct sim_place *at)
{
    uint64_t key = (uint64_t)at->block * 0x9e3779b97f4a7c15u + (uint64_t)at->warp;
    size_t i = (size_t)(key ^ key >> 32) & (g->capacity - 1);
    while (g->table[i] && (g->table[i]->block != at->block || g->table[i]->warp != at->warp))
        i = (i + 1) & (g->capacity - 1);
    return &g->table[i];
}

static void grow(struct sim_groups *g)
{
    struct sim_warp_groups **old = g->table;
    size_t count = g->capacity;
    g->capacity = count ? 2 * count : FIRST_CAPACITY;
    g->table = arena_array(g->arena, struct sim_warp_groups *, g->capacity);
    for (size_t i = 0; i < count; i++)
        if (old[i]) {
            struct sim_place at = {.block = old[i]->block, .warp = old[i]->warp};
            *slot_of(g, &at) = old[i];
        }
}

static struct sim_warp_groups *groups_of(struct sim_groups *g, const struct sim_place *at)
{
    if (2 * g->used >= g->capacity)
        grow(g);
    struct sim_warp_groups **slot = slot_of(g, at);
    if (!*slot) {
        *slot = arena_new(g->arena, struct sim_warp_groups);
        (*slot)->block = at->block;
        (*slot)->warp = at->warp;
        g->used++;
    }
    return *slot;
}

static void commit(struct sim_warp_groups *w, uint32_t mask)
{
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        int lane = __builtin_ctz(rest);
        w->group[lane] = w->group[lane] << 1 | (w->open >> lane & 1);
    }
    w->open &= ~mask;
}

static void wait(struct sim_warp_groups *w, const struct sim_async_event *e)
{
    uint64_t kept = e->all || e->pending <= 0 ? 0
                    : e->pending < 64         ? ((uint64_t)1 << e->pending) - 1
                                              : UINT64_MAX;
    for (uint32_t rest = e->mask; rest; rest &= rest - 1)
        w->group[__builtin_ctz(rest)] &= kept;
    if (e->all)
        w->open &= ~e->mask;
}

void sim_groups_see(struct sim_groups *g, const struct sim_async_event *event)
{
    switch (event->kind) {
    case SIM_ASYNC_ISSUE: groups_of(g, &event->at)->open |= event->mask; break;
    case SIM_ASYNC_COMMIT: commit(groups_of(g, &event->at), event->mask); break;
    case SIM_ASYNC_WAIT: wait(groups_of(g, &event->at), event); break;
    case SIM_ASYNC_LAND: break; /* early or late: what counts is who has waited */
    }
}

int sim_groups_under_way(const struct sim_groups *g, const struct sim_place *at, uint32_t mask)
{
    const struct sim_warp_groups *w = g->used ? *slot_of(g, at) : NULL;
    int most = 0;
    for (uint32_t rest = w ? mask : 0; rest; rest &= rest - 1) {
        int lane = __builtin_ctz(rest);
        int count = __builtin_popcountll(w->group[lane]) + (int)(w->open >> lane & 1);
        most = count > most ? count : most;
    }
    return most;
}

void sim_groups_clear(struct sim_groups *g)
{
    if (g->capacity)
        memset(g->table, 0, g->capacity * sizeof *g->table);
    g->used = 0;
}
