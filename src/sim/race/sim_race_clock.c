/* The knowledge of threads about each other, beyond a block's barriers: sorted lists of "lanes
 * of that warp, up to that time", shared among the threads that know the same. */
#include "sim/race/sim_race_own.h"

#include <assert.h>

static bool is_block(const struct race_entry *e)
{
    return (e->id & 63) == 0;
}

static size_t size_of(uint32_t count)
{
    return sizeof(struct race_vc) + count * sizeof(struct race_entry);
}

void race_vc_drop(struct sim_races *r, struct race_vc *vc)
{
    if (vc && --vc->refs == 0)
        race_resize(r, vc, size_of(vc->count), 0);
}

static struct race_vc *vc_new(struct sim_races *r, uint32_t count)
{
    assert(count > 0);
    struct race_vc *vc = race_resize(r, NULL, 0, size_of(count));
    vc->refs = 1;
    vc->count = count;
    return vc;
}

static struct race_vc *fit(struct sim_races *r, struct race_vc *vc, uint32_t count)
{
    if (count == vc->count)
        return vc;
    if (!count) {
        race_vc_drop(r, vc);
        return NULL;
    }
    vc = race_resize(r, vc, size_of(vc->count), size_of(count));
    vc->count = count;
    return vc;
}

struct race_vc *race_vc_of(struct sim_races *r, const struct race_entry *entries, int count)
{
    if (!count)
        return NULL;
    struct race_vc *vc = vc_new(r, (uint32_t)count);
    memcpy(vc->entry, entries, (size_t)count * sizeof *entries);
    return vc;
}

/* Puts an entry after `count` others, whose ids are at most its own, unless they already imply
 * it; removes those that it implies. Returns the new number of entries. */
static uint32_t put(struct race_vc *vc, uint32_t count, const struct race_entry *e)
{
    uint32_t first = count;
    assert(count < vc->count && (count == 0 || vc->entry[count - 1].id <= e->id));
    while (first > 0 && vc->entry[first - 1].id == e->id)
        first--;
    /* The block's own entry comes before those of its warps. */
    for (uint32_t i = count; i > 0 && vc->entry[i - 1].id >> 6 == e->id >> 6; i--)
        if (is_block(&vc->entry[i - 1]) && !is_block(e) && vc->entry[i - 1].bound >= e->bound)
            return count;
    uint32_t out = first;
    for (uint32_t i = first; i < count; i++) {
        const struct race_entry *old = &vc->entry[i];
        if (old->id == e->id) {
            if ((e->mask & ~old->mask) == 0 && e->bound <= old->bound)
                return count; /* nothing was removed: this entry implies all that e implies */
            if ((old->mask & ~e->mask) == 0 && old->bound <= e->bound)
                continue;
        }
        vc->entry[out++] = *old;
    }
    vc->entry[out++] = *e;
    return out;
}

/* Returns a new reference to all that both know; keeps their references. */
static struct race_vc *join(struct sim_races *r, struct race_vc *a, struct race_vc *b)
{
    if (!b || a == b)
        return race_vc_keep(a);
    if (!a)
        return race_vc_keep(b);
    struct race_vc *vc = vc_new(r, a->count + b->count);
    uint32_t count = 0, i = 0, j = 0;
    while (i < a->count || j < b->count) {
        bool from_a = j == b->count || (i < a->count && a->entry[i].id <= b->entry[j].id);
        count = put(vc, count, from_a ? &a->entry[i++] : &b->entry[j++]);
    }
    struct race_vc *whole = count == a->count ? a : count == b->count ? b : NULL;
    if (whole && memcmp(whole->entry, vc->entry, count * sizeof *vc->entry) == 0) {
        race_vc_drop(r, vc);
        return race_vc_keep(whole);
    }
    return fit(r, vc, count);
}

void race_vc_add(struct sim_races *r, struct race_vc **a, struct race_vc *b)
{
    struct race_vc *joined = join(r, *a, b);
    race_vc_drop(r, *a);
    *a = joined;
}

void race_vc_take(struct sim_races *r, struct race_vc **a, struct race_vc *b)
{
    race_vc_add(r, a, b);
    race_vc_drop(r, b);
}

/* Returns true if an entry is of the part that race_vc_without returns. */
static bool is_kept(uint64_t id, int64_t block)
{
    return block == RACE_ENDED ? race_agent_is_shared(id) : id >> 6 != (uint64_t)block;
}

struct race_vc *race_vc_without(struct sim_races *r, struct race_vc *vc, int64_t block)
{
    if (!vc)
        return NULL;
    uint32_t count = 0;
    for (uint32_t i = 0; i < vc->count; i++)
        count += is_kept(vc->entry[i].id, block);
    if (count == vc->count)
        return race_vc_keep(vc);
    if (!count)
        return NULL;
    struct race_vc *rest = vc_new(r, count);
    count = 0;
    for (uint32_t i = 0; i < vc->count; i++)
        if (is_kept(vc->entry[i].id, block))
            rest->entry[count++] = vc->entry[i];
    return rest;
}

/* Returns the index of the first entry with this id or a higher one. */
static uint32_t find(const struct race_vc *vc, uint64_t id)
{
    uint32_t low = 0, high = vc->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (vc->entry[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool race_vc_knows(const struct race_vc *vc, int64_t block)
{
    uint32_t i = vc ? find(vc, (uint64_t)block << 6) : 0;
    return vc && i < vc->count && vc->entry[i].id >> 6 == (uint64_t)block;
}

bool race_vc_covers(const struct race_vc *vc, uint64_t id, uint32_t lanes, race_time epoch)
{
    if (!vc || epoch == RACE_NEVER)
        return false;
    uint32_t i = find(vc, id & ~(uint64_t)63);
    if (i < vc->count && vc->entry[i].id == (id & ~(uint64_t)63) && epoch < vc->entry[i].bound)
        return true;
    for (i = find(vc, id); i < vc->count && vc->entry[i].id == id; i++)
        if (epoch < vc->entry[i].bound)
            lanes &= ~vc->entry[i].mask;
    return lanes == 0;
}

struct race_vc *race_knowledge(struct sim_races *r, uint64_t id, const struct race_view *v,
                               uint32_t mask, race_time bound)
{
    race_time block = 0, warp = 0;
    struct race_vc *known = NULL, *previous = NULL;
    for (int l = 0; l < SIM_LANES; l++) {
        if (!(mask >> l & 1))
            continue;
        block = v->block_base[l] > block ? v->block_base[l] : block;
        warp = v->warp_base[l] > warp ? v->warp_base[l] : warp;
        if (v->vc[l] != previous)
            race_vc_add(r, &known, v->vc[l]);
        previous = v->vc[l];
    }
    struct race_entry entries[3];
    int count = 0;
    if (block)
        entries[count++] = (struct race_entry){id & ~(uint64_t)63, UINT32_MAX, block};
    if (warp > block)
        entries[count++] = (struct race_entry){id, UINT32_MAX, warp};
    entries[count++] = (struct race_entry){id, mask, bound};
    struct race_vc *own = race_vc_of(r, entries, count);
    race_vc_take(r, &own, known);
    return own;
}

void race_learn(struct sim_races *r, struct race_warp *w, uint32_t mask, struct race_vc *vc)
{
    if (!vc)
        return;
    struct race_vc *before = NULL, *after = NULL; /* references */
    bool any = false;
    for (int l = 0; l < SIM_LANES; l++) {
        if (!(mask >> l & 1))
            continue;
        if (!any || w->view.vc[l] != before) {
            race_vc_drop(r, before);
            race_vc_drop(r, after);
            before = race_vc_keep(w->view.vc[l]);
            after = join(r, before, vc);
            any = true;
        }
        race_vc_drop(r, w->view.vc[l]);
        w->view.vc[l] = race_vc_keep(after);
    }
    race_vc_drop(r, before);
    race_vc_drop(r, after);
    w->view.plain = false;
}

void race_update_minima(struct race_warp *w)
{
    race_time block = RACE_NEVER, warp = RACE_NEVER;
    for (int l = 0; l < SIM_LANES; l++)
        if (w->live >> l & 1) {
            block = w->view.block_base[l] < block ? w->view.block_base[l] : block;
            warp = w->view.warp_base[l] < warp ? w->view.warp_base[l] : warp;
        }
    w->block_min = w->live ? block : 0;
    w->warp_min = w->live ? warp : 0;
}
