/* The barrier of a cluster: what its threads know when they arrive, all of them know after it. */
#include "sim/sim_race_own.h"

static struct race_cluster *cluster_of(struct sim_races *r, int64_t number)
{
    struct race_cluster *c = r->clusters;
    while (c && c->number != number)
        c = c->next;
    if (c)
        return c;
    c = race_resize(r, NULL, 0, sizeof *c);
    c->number = number;
    c->next = r->clusters;
    return r->clusters = c;
}

void race_clusters_free(struct sim_races *r)
{
    for (struct race_cluster *c = r->clusters, *next; c; c = next) {
        next = c->next;
        race_vc_drop(r, c->clock);
        race_resize(r, c, sizeof *c, 0);
    }
    r->clusters = NULL;
}

/* A phase's arrivals all come before its first leave, so one clock serves all phases: it only
 * grows. A thread that arrives in the next phase before others leave this one passes on what those
 * do not know yet; that may miss a race, but reports no false one. */
void race_cluster_told(struct sim_races *r, struct race_block *b, const struct sim_sync_event *e,
                       struct race_vc *known)
{
    struct race_cluster *c = cluster_of(r, e->cluster);
    struct race_warp *w = &b->warp[e->at.warp];
    if (e->kind == SIM_CLUSTER_ARRIVE) {
        race_vc_add(r, &c->clock, known);
        return;
    }
    race_learn(r, w, e->mask, c->clock);
    w->passed++;
    w->barrier = race_site_of(r, &e->at);
}
