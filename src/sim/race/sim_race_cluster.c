/* The barrier of a cluster: what its threads know when they arrive, all of them know after it.
 *
 * Blocks of a cluster begin and end at their own times (PTX ISA, cluster of cooperative thread
 * arrays; CUDA C++ Programming Guide, distributed shared memory). A use of another block's shared
 * memory has to come after something that this block did, and before something that it does. The
 * barrier of the cluster is such an order, with .relaxed, too. */
#include "sim/race/sim_race_own.h"

/* Returns what has the number, of a list whose elements have `bytes` bytes; adds it if it is missing. */
static void *find(struct sim_races *r, struct race_listed **list, uint64_t id, size_t bytes)
{
    struct race_listed *l = *list;
    while (l && l->id != id)
        l = l->next;
    if (l)
        return l;
    l = race_resize(r, NULL, 0, bytes);
    l->id = id;
    l->next = *list;
    return *list = l;
}

static void free_list(struct sim_races *r, struct race_listed **list, size_t bytes)
{
    for (struct race_listed *l = *list, *next; l; l = next) {
        next = l->next;
        race_resize(r, l, bytes, 0);
    }
    *list = NULL;
}

void race_clusters_free(struct sim_races *r)
{
    for (const struct race_listed *l = r->clusters; l; l = l->next)
        race_vc_drop(r, ((const struct race_cluster *)l)->clock);
    free_list(r, &r->clusters, sizeof(struct race_cluster));
}

void race_cluster_ends(struct sim_races *r, int64_t cluster, int blocks)
{
    struct race_listed **at = &r->clusters;
    struct race_cluster *c = find(r, at, (uint64_t)(2 * cluster), sizeof *c);
    if (++c->ended < blocks)
        return;
    while (*at) {
        c = (struct race_cluster *)*at;
        if ((int64_t)(c->listed.id / 2) != cluster) {
            at = &c->listed.next;
            continue;
        }
        *at = c->listed.next;
        race_vc_drop(r, c->clock);
        race_resize(r, c, sizeof *c, 0);
    }
}

/* All arrivals of a phase come before its first leave, and all its leaves before the first arrival
 * of the phase after the next. So two clocks serve all phases, in turn: they only grow. */
void race_cluster_told(struct sim_races *r, struct race_block *b, const struct sim_sync_event *e,
                       struct race_vc *known)
{
    struct race_warp *w = &b->warp[e->at.warp];
    bool arrives = e->kind == SIM_CLUSTER_ARRIVE;
    for (uint32_t m = e->mask; m; m &= m - 1) {
        uint32_t *phases = &w->phases[__builtin_ctz(m)];
        *phases += arrives;
        if (!arrives && *phases > b->phases)
            b->phases = *phases;
    }
    int64_t odd = w->phases[__builtin_ctz(e->mask)] & 1;
    struct race_cluster *c = find(r, &r->clusters, (uint64_t)(2 * e->cluster + odd), sizeof *c);
    if (arrives) {
        race_vc_add(r, &c->clock, known);
        return;
    }
    w->met |= e->mask;
    race_learn(r, w, e->mask, c->clock);
    w->passed++;
    w->barrier = race_site_of(r, &e->at);
}

/* --- memory of other blocks --- */

static void found(struct sim_races *r, const struct sim_finding_access *a, const char *message,
                  const char *step)
{
    if (sim_report_again(r->report, SIM_FOUND_PEER, &a->at, NULL))
        return;
    struct sim_finding f = {.kind = SIM_FOUND_PEER,
                            .message = message,
                            .access = {*a},
                            .access_count = 1,
                            .steps = {step},
                            .step_count = 1};
    f.access[0].memory_name = sim_report_memory_name(r->report, SIM_SHARED, a->address);
    sim_report_add(r->report, &f);
}

void race_uses_free(struct sim_races *r, struct race_block *b)
{
    free_list(r, &b->uses, sizeof(struct race_use));
}

void race_peer_used(struct sim_races *r, struct race_block *b, const struct sim_access *a)
{
    struct race_block *home = sim_blocks_find(&r->blocks, sim_home(a));
    const struct race_warp *w = &b->warp[a->at.warp];
    struct race_agent *agent = a->group ? race_agent_of(b, a->group) : NULL;
    if (!home || home == b)
        return;
    if (agent)
        race_agent_begins(r, agent);
    uint64_t id = agent ? agent->id[0] : race_id(b->of.number, a->at.warp);
    struct race_use *u = find(r, &home->uses, id, sizeof *u);
    uint32_t met = !agent ? w->met : agent->met ? UINT32_MAX : 0, early = a->mask & ~met;
    for (uint32_t m = a->mask; m; m &= m - 1) {
        int l = __builtin_ctz(m);
        if (early >> l & 1 &&
            race_vc_knows(agent ? agent->known[0] : w->view.vc[l], home->of.number))
            early &= ~(UINT32_C(1) << l);
        u->epoch[l] = agent ? agent->epoch : w->epoch;
        u->phase[l] = agent ? UINT32_MAX : w->phases[l];
    }
    u->mask |= a->mask;
    int lane = __builtin_ctz(early ? early : a->mask);
    u->access = (struct sim_finding_access){.at = a->at,
                                            .lane = lane,
                                            .does = a->kind == SIM_READ    ? "read"
                                                    : a->kind == SIM_WRITE ? "write"
                                                                           : "update",
                                            .memory = true,
                                            .space = SIM_SHARED,
                                            .address = a->address[lane],
                                            .bytes = a->bytes};
    if (early)
        found(r, &u->access, "shared memory of a block of the cluster that may not have begun",
              "the barrier of the cluster (cluster.sync()) has to come before the first use");
}

void race_peer_ends(struct sim_races *r, const struct race_block *b)
{
    struct race_vc *known = NULL, *previous = NULL;
    for (int i = 0; i < b->warps * SIM_LANES; i++) {
        struct race_vc *vc = b->warp[i / SIM_LANES].view.vc[i % SIM_LANES];
        if (vc != previous)
            race_vc_add(r, &known, vc);
        previous = vc;
    }
    for (const struct race_listed *at = b->uses; at; at = at->next) {
        const struct race_use *u = (const struct race_use *)at;
        for (uint32_t m = u->mask; m; m &= m - 1) {
            int l = __builtin_ctz(m);
            if (u->phase[l] < b->phases || race_vc_covers(known, at->id, m & -m, u->epoch[l]))
                continue;
            found(r, &u->access, "shared memory of a block of the cluster that may have ended",
                  "that block has to wait, as at the barrier of the cluster (cluster.sync()), "
                  "before it ends");
            break;
        }
    }
    race_vc_drop(r, known);
}
