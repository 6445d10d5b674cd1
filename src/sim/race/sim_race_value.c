/* Knowledge that is passed on by values in memory, and by fences.
 *
 * Release and acquire (PTX ISA 8.8): a strong write that releases carries all that its thread
 * knew at the write; other strong writes carry what it knew at its last releasing fence. Atomic
 * updates add to the knowledge in the value that they overwrite (observation order). A strong
 * read that acquires takes the knowledge at once, other strong reads at the next acquiring
 * fence. Knowledge that is released at the block's scope stays within the block. fence.sc is
 * treated as .acq_rel: the order of two such fences is an accident of the run, and relying on it
 * would hide races. */
#include "sim/race/sim_race_own.h"

static bool acquires(enum sim_order order)
{
    return order == SIM_ACQUIRE || order == SIM_ACQ_REL || order == SIM_SC;
}

static bool releases(enum sim_order order)
{
    return order == SIM_RELEASE || order == SIM_ACQ_REL || order == SIM_SC;
}

/* Returns true if the scope has other blocks. A cluster's is treated as the device's: threads of
 * other clusters have no access to what such operations are about. */
static bool is_wide(const struct sim_races *r, enum sim_order order, enum sim_scope scope)
{
    return order == SIM_VOLATILE || scope >= (r->clustered ? SIM_CLUSTER : SIM_GPU);
}

/* --- locations --- */

static struct race_location *slot_of(struct race_location *table, size_t capacity, uint64_t key)
{
    size_t i = sim_hash(key) & (capacity - 1);
    while (table[i].key && table[i].key != key)
        i = (i + 1) & (capacity - 1);
    return &table[i];
}

static struct race_location *location(struct sim_races *r, struct race_locations *l,
                                      uint64_t address, bool make)
{
    uint64_t key = address + 1;
    if (!l->count && !make)
        return NULL;
    if (make && 2 * l->count >= l->capacity) {
        size_t capacity = l->capacity ? 2 * l->capacity : 16;
        struct race_location *table = race_resize(r, NULL, 0, capacity * sizeof *table);
        for (size_t i = 0; i < l->capacity; i++)
            if (l->table[i].key)
                *slot_of(table, capacity, l->table[i].key) = l->table[i];
        race_resize(r, l->table, l->capacity * sizeof *table, 0);
        l->table = table;
        l->capacity = capacity;
    }
    struct race_location *slot = slot_of(l->table, l->capacity, key);
    if (!slot->key && !make)
        return NULL;
    l->count += !slot->key;
    slot->key = key;
    return slot;
}

static void forget(struct sim_races *r, struct race_location *l)
{
    race_vc_drop(r, l->wide);
    race_vc_drop(r, l->local);
    l->wide = l->local = NULL;
    l->writer = 0;
}

void race_locations_free(struct sim_races *r, struct race_locations *l)
{
    for (size_t i = 0; i < l->capacity; i++)
        if (l->table[i].key)
            forget(r, &l->table[i]);
    race_resize(r, l->table, l->capacity * sizeof *l->table, 0);
    *l = (struct race_locations){0};
}

static struct race_locations *locations_of(struct race_try *t)
{
    return t->a->space == SIM_SHARED ? &t->home->locations : &t->r->locations;
}

/* Returns the location of an address, if its last write is the one that the location is about.
 * An access of another width takes no knowledge from it (PTX ISA 8.7: not morally strong), and
 * after such a write the location is forgotten. */
static struct race_location *valid_location(struct race_try *t, uint64_t address)
{
    struct race_location *l = location(t->r, locations_of(t), address, false);
    if (!l)
        return NULL;
    bool valid = race_wrote_last(t, address, l->record, l->epoch);
    bool other = valid && t->pool->records[l->record].element != t->self.element;
    if (!valid || (other && t->a->kind & SIM_WRITE))
        forget(t->r, l);
    return other ? NULL : l;
}

/* --- fences --- */

struct race_fences *race_fences_of(struct sim_races *r, struct race_warp *w)
{
    if (!w->fences)
        w->fences = race_resize(r, NULL, 0, sizeof *w->fences);
    return w->fences;
}

void race_fences_free(struct sim_races *r, struct race_warp *w)
{
    if (!w->fences)
        return;
    for (int s = 0; s < 2; s++)
        for (int l = 0; l < SIM_LANES; l++) {
            race_vc_drop(r, w->fences->view[s].vc[l]);
            race_vc_drop(r, w->fences->seen[s][l]);
        }
    race_resize(r, w->fences, sizeof *w->fences, 0);
    w->fences = NULL;
}

void race_fence(struct sim_races *r, struct race_warp *w, const struct sim_sync_event *e)
{
    bool both = !acquires(e->order) && !releases(e->order);
    int wide = is_wide(r, e->order, e->scope);
    struct race_fences *f = race_fences_of(r, w);
    if (both || acquires(e->order))
        for (uint32_t m = e->mask; m; m &= m - 1) {
            int l = __builtin_ctz(m);
            race_learn(r, w, m & -m, f->seen[0][l]);
            if (wide)
                race_learn(r, w, m & -m, f->seen[1][l]);
        }
    if (!both && !releases(e->order))
        return;
    w->epoch = race_tick(r);
    r->passed_on = true;
    for (uint32_t m = e->mask; m; m &= m - 1) {
        int l = __builtin_ctz(m);
        f->bound[wide][l] = w->epoch;
        f->view[wide].block_base[l] = w->view.block_base[l];
        f->view[wide].warp_base[l] = w->view.warp_base[l];
        race_vc_drop(r, f->view[wide].vc[l]);
        f->view[wide].vc[l] = race_vc_keep(w->view.vc[l]);
    }
}

/* --- values --- */

/* Gives a lane the knowledge of a location that it reads. */
static void take(struct race_try *t, int lane, const struct race_location *l)
{
    bool wide = is_wide(t->r, t->a->order, t->a->scope), near = l->block == t->a->at.block;
    uint32_t mask = (uint32_t)1 << lane;
    if (acquires(t->a->order)) {
        if (near)
            race_learn(t->r, t->warp, mask, l->local);
        if (wide)
            race_learn(t->r, t->warp, mask, l->wide);
        return;
    }
    if (!(near && l->local) && !(wide && l->wide))
        return;
    struct race_fences *f = race_fences_of(t->r, t->warp);
    if (near)
        race_vc_add(t->r, &f->seen[0][lane], l->local);
    if (wide)
        race_vc_add(t->r, &f->seen[1][lane], l->wide);
}

void race_acquire(struct race_try *t)
{
    if (!locations_of(t)->count)
        return;
    for (uint32_t m = t->a->mask; m; m &= m - 1) {
        int l = __builtin_ctz(m);
        const struct race_location *at = valid_location(t, t->a->address[l]);
        if (at && (t->a->kind & SIM_READ) && (at->wide || at->local))
            take(t, l, at);
    }
}

struct race_vc *race_known_at_fence(struct sim_races *r, const struct race_warp *w, uint64_t id,
                                    int lane, int wide)
{
    const struct race_fences *f = w->fences;
    if (!f || !f->bound[wide][lane])
        return NULL;
    return race_knowledge(r, id, &f->view[wide], (uint32_t)1 << lane, f->bound[wide][lane]);
}

/* Gives references to the knowledge that a lane's write carries: [0] within the block, [1] on
 * the device. */
static void let_out(struct race_try *t, int lane, struct race_vc *out[2])
{
    uint32_t mask = (uint32_t)1 << lane;
    bool wide = is_wide(t->r, t->a->order, t->a->scope);
    out[0] = out[1] = NULL;
    if (releases(t->a->order)) {
        out[0] = race_knowledge(t->r, t->self.id, &t->warp->view, mask, t->warp->epoch);
        out[1] = wide ? race_vc_keep(out[0]) : NULL;
        return;
    }
    for (int s = 0; s < 2; s++) {
        struct race_vc *k = race_known_at_fence(t->r, t->warp, t->self.id, lane, s);
        race_vc_add(t->r, &out[0], k);
        if (s && wide)
            race_vc_add(t->r, &out[1], k);
        race_vc_drop(t->r, k);
    }
}

static void write_location(struct race_try *t, int lane)
{
    struct sim_races *r = t->r;
    struct race_vc *out[2];
    let_out(t, lane, out);
    struct race_location *l = location(r, locations_of(t), t->a->address[lane], out[0] || out[1]);
    if (!l)
        return;
    uint64_t writer = t->self.id << 5 | (uint64_t)lane;
    if (t->a->kind == SIM_UPDATE)
        take(t, lane, l);
    else if (l->writer != writer) /* the thread's own later strong write keeps the pattern */
        forget(r, l);
    if (l->block != t->a->at.block) {
        race_vc_drop(r, l->local);
        l->local = NULL;
        l->block = t->a->at.block;
    }
    race_vc_take(r, &l->local, out[0]);
    race_vc_take(r, &l->wide, out[1]);
    l->writer = writer;
    l->record = t->record;
    l->epoch = t->self.epoch;
}

void race_release(struct race_try *t)
{
    if (!releases(t->a->order) && !t->warp->fences && !locations_of(t)->count)
        return;
    if (releases(t->a->order)) {
        t->warp->epoch = race_tick(t->r); /* later accesses are not released */
        t->r->passed_on = true;
    }
    for (uint32_t m = t->a->mask; m; m &= m - 1)
        write_location(t, __builtin_ctz(m));
}
