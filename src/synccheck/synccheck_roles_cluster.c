/* Blocks of a cluster: their beginnings, ends and barrier. */
#include "synccheck/synccheck_roles.h"

#include <string.h>

static int block_of(const struct roles_run *u, const struct role_group *g)
{
    return u->r->traces.data[g->trace].block;
}

void sync_cluster_init(struct roles_run *u)
{
    struct arena *a = u->r->k->arena;
    int blocks = u->r->blocks;
    u->begun = arena_array(a, struct sync_begun, blocks);
    u->remote = arena_array(a, struct phase_step, blocks > 1 ? blocks * u->components : 1);
}

void sync_cluster_begin(struct roles_run *u, const struct role_group *g, const struct role_step *s)
{
    const struct role_thread *t = &u->threads[g->trace];
    struct sync_begun now = {t->own, t->now};
    if (s->barrier < 0)
        u->begun[s->block] = now;
    for (int i = s->barrier; s->barrier >= 0 && i < s->barrier + (int)s->number; i++)
        u->barriers[i].begun = now;
}

static void note(struct roles_run *u, enum role_finding_kind kind, struct role_place place,
                 int barrier)
{
    struct roles_check *r = u->r;
    struct role_finding f = {.kind = kind, .early = place, .late = place, .barrier = barrier};
    if (place.site >= 0)
        f.tile = r->k->code.tiles.data[r->k->code.touches.data[place.site].tile];
    sync_add_finding(r, &f);
}

void sync_cluster_remote(struct roles_run *u, const struct role_group *g, const struct role_step *s,
                         const int *clock, int component, int time)
{
    if (s->block == block_of(u, g))
        return;
    const struct sync_check *k = u->r->k;
    const struct touch *touch =
        s->access >= 0 ? &k->code.touches.data[access_at(k, s->access)->site] : NULL;
    struct sync_begun begun = s->barrier >= 0 ? u->barriers[s->barrier].begun : u->begun[s->block];
    struct role_place place = sync_role_place_of(u->r, g->trace, s, touch);
    if (!begun.time || clock[begun.component] < begun.time)
        note(u, ROLE_UNBEGUN, place, s->barrier);
    u->remote[s->block * u->components + component] = (struct phase_step){s->barrier, time, place};
}

bool sync_cluster_sync(struct roles_run *u, int *released)
{
    size_t size = sizeof *released * (size_t)u->components;
    for (size_t i = 0; i < u->groups.count; i++) {
        const struct role_step *s = sync_role_next_step(u, &u->groups.data[i]);
        if (!s || s->kind != STEP_CLUSTER_SYNC)
            return false;
    }
    memset(u->joined, 0, size);
    for (size_t i = 0; i < u->groups.count; i++) {
        sync_role_release(u, &u->groups.data[i], false, released);
        sync_clock_join(u, u->joined, released);
    }
    for (size_t i = 0; i < u->groups.count; i++) {
        struct role_group *g = &u->groups.data[i];
        memcpy(g->clock, u->joined, size);
        memcpy(u->threads[g->trace].clock, u->joined, size);
        g->at++;
    }
    return true;
}

/* Returns true if an agent of the block knows that a step is done. */
static bool is_known(const struct roles_run *u, int block, int component, int time)
{
    for (size_t i = 0; i < u->groups.count; i++) {
        const struct role_group *g = &u->groups.data[i];
        if (block_of(u, g) == block &&
            (g->clock[component] >= time || u->threads[g->trace].clock[component] >= time))
            return true;
    }
    return false;
}

void sync_cluster_ends(struct roles_run *u)
{
    for (int block = 0; block < u->r->blocks && u->r->blocks > 1; block++)
        for (int c = 0; c < u->components; c++) {
            const struct phase_step *last = &u->remote[block * u->components + c];
            if (last->time && !is_known(u, block, c, last->time))
                note(u, ROLE_LEFT, last->place, last->component);
        }
}
