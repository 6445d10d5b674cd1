#include "model/access_costs.h"
#include "target/targets.h"

#include "sim/sim_traffic.h"

#include <string.h>

/* Finds the record of an instruction. Instructions mostly follow each other in the order of the
 * previous iteration. */
static struct access_of *find(struct accesses *a, const struct sim_access *access)
{
    bool shared = access->space == SIM_SHARED, write = access->kind != SIM_READ;
    for (size_t i = 0; i < a->list.count; i++) {
        size_t at = (a->next + i) % a->list.count;
        struct access_of *x = &a->list.data[at];
        if (x->place.ins == access->at.ins && x->shared == shared && x->write == write) {
            a->next = at + 1;
            return x;
        }
    }
    struct access_of new = {.place = access->at,
                            .shared = shared,
                            .write = write,
                            .copy = shared && access->past_l1,
                            .bytes = access->bytes};
    vec_push(a->arena, &a->list, new);
    a->next = a->list.count;
    return &a->list.data[a->list.count - 1];
}

static double fewest_sectors(double bytes, double taken)
{
    double sectors = (double)(((int64_t)bytes + GPU_SECTOR_BYTES - 1) / GPU_SECTOR_BYTES);
    return sectors < taken ? sectors : taken;
}

/* Returns the cost if each element of a vector were an access of its own, as the program's text
 * may have it. `whole`: the cost of the access. */
static double by_element(const struct sim_access *access, int element, int whole,
                         int (*cost)(const struct sim_access *))
{
    if (access->group || access->matrix != SIM_LANEWISE || element <= 0 || element >= access->bytes)
        return whole;
    /* A vector is aligned to its size, so one element of each lane costs the same as any other. */
    struct sim_access part = *access;
    part.bytes = element;
    part.pattern = SIM_UNSORTED;
    return (double)cost(&part) * (access->bytes / element);
}

static void add_shared(struct access_cost *c, const struct sim_access *access)
{
    if (access->kind == SIM_UPDATE) { /* the wavefronts of atomic operations are not known */
        c->units++;
        c->ideal++;
        c->by_element++;
        c->ideal_by_element++;
        return;
    }
    int units = sim_wavefronts(access), ideal = sim_wavefronts_ideal(access);
    c->units += units;
    c->ideal += ideal;
    c->by_element += by_element(access, access->element, units, sim_wavefronts);
    c->ideal_by_element += by_element(access, access->element, ideal, sim_wavefronts_ideal);
}

/* Returns the bytes of an accessed element: of its array if that is known, otherwise of the PTX. */
static int element_of(const struct accesses *a, const struct sim_access *access)
{
    uint64_t first = access->mask ? access->address[__builtin_ctz(access->mask)] : 0;
    int element = access->element > 0 ? access->element : access->bytes;
    for (size_t i = 0; i < a->arrays.count; i++) {
        const struct accessed_array *of = &a->arrays.data[i];
        if (first - of->address < of->bytes && of->element < element)
            return of->element;
    }
    return element;
}

static void add_global(const struct accesses *a, struct access_cost *c,
                       const struct sim_access *access, double bytes)
{
    int sectors = sim_sectors(access);
    c->units += sectors;
    c->ideal += fewest_sectors(bytes, sectors);
    c->by_element += by_element(access, element_of(a, access), sectors, sim_sectors);
}

static void keep_dearest(struct access_of *x, const struct sim_access *access, double units,
                         double ideal)
{
    struct access_request *r = &x->dearest;
    bool earlier = units == r->units && access->at.block == r->block && access->at.warp < r->warp;
    if (r->mask && units <= r->units && !earlier)
        return;
    *r = (struct access_request){.block = access->at.block,
                                 .warp = access->at.warp,
                                 .mask = access->mask,
                                 .units = units,
                                 .ideal = ideal};
    memcpy(r->address, access->address, sizeof r->address);
    if (x->shared && access->kind != SIM_UPDATE)
        sim_serve(access, r->wavefront);
    else
        memset(r->wavefront, SIM_NOT_SERVED, sizeof r->wavefront);
}

static bool see_access(void *user, const struct sim_access *access)
{
    if (access->space != SIM_SHARED && access->space != SIM_GLOBAL)
        return true;
    struct access_of *x = find(user, access);
    double bytes = (double)access->bytes * __builtin_popcount(access->mask);
    const struct access_cost before = x->block;
    x->block.requests++;
    x->block.by_thread += bytes;
    if (x->shared)
        add_shared(&x->block, access);
    else
        add_global(user, &x->block, access, bytes);
    keep_dearest(x, access, x->block.units - before.units, x->block.ideal - before.ideal);
    return true;
}

void model_accesses_init(struct accesses *a, struct arena *arena)
{
    *a = (struct accesses){.arena = arena};
    a->observer = (struct sim_observer){.user = a, .access = see_access};
}

void model_accesses_know(struct accesses *a, uint64_t address, uint64_t bytes, int element,
                         const char *name)
{
    vec_push(a->arena, &a->arrays, ((struct accessed_array){address, bytes, element, name}));
}

void model_accesses_move(struct accesses *a, struct access_costs *out)
{
    out->count = a->list.count;
    out->data = arena_array(a->arena, struct access_cost, out->count + 1);
    for (size_t i = 0; i < out->count; i++) {
        out->data[i] = a->list.data[i].block;
        a->list.data[i].block = (struct access_cost){0};
    }
}

void model_accesses_add(struct accesses *a, const struct access_costs *seen, double times)
{
    for (size_t i = 0; i < seen->count; i++) {
        struct access_cost *sum = &a->list.data[i].launch;
        const struct access_cost *x = &seen->data[i];
        sum->requests += x->requests * times;
        sum->units += x->units * times;
        sum->ideal += x->ideal * times;
        sum->by_thread += x->by_thread * times;
        sum->by_element += x->by_element * times;
        sum->ideal_by_element += x->ideal_by_element * times;
    }
}
