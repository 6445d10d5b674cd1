/* Clusters: blocks that run together, and whose threads may access each other's shared memory. PTX
 * ISA, clusters of cooperative thread arrays; barrier.cluster; mapa.
 *
 * A block of one block's cluster has no other addresses than its own. In larger clusters the
 * address of a place in the cluster has the rank of its block from bit SIM_RANK_AT on. */
#include "sim/sim_machine.h"

#include <assert.h>
#include <string.h>

/* --- mapa, getctarank --- */

/* The operands. op->small: generic addresses; op->slot[2]: the rank, SIM_NO_SLOT for getctarank. */
static bool translate(struct sim_warp *w, const struct sim_op *op, int lane, uint64_t *address)
{
    const bool asks = op->slot[2] == SIM_NO_SLOT;
    const uint64_t low = (UINT64_C(1) << SIM_RANK_AT) - 1;
    struct sim_cluster *c = w->block->cluster;
    uint64_t offset = op->small ? sim_offset_of(*address) : *address;
    uint32_t rank = asks ? 0 : sim_u32(w->file, op->slot[2])[lane];
    bool own = (!op->small || sim_number_of(*address) == SIM_NUMBER_SHARED) && !(offset >> 32);
    const struct sim_block *b = own ? sim_shared_block(w, offset) : NULL;
    if ((!b || (offset & low) > w->shared_bytes) &&
        !sim_no_address(w, op, lane, "0x%llx is in no block's shared memory",
                        (unsigned long long)*address))
        return false;
    if (rank >= (uint32_t)c->count &&
        !sim_no_address(w, op, lane, SIM_NO_PEER, (int32_t)rank, c->count - 1))
        return false;
    if (asks)
        *address = b ? (uint64_t)b->rank : 0;
    else if (c->count > 1)
        *address = (*address & ~(low | UINT64_C(0xff) << SIM_RANK_AT)) | (offset & low) |
                   ((uint64_t)rank + 1) << SIM_RANK_AT;
    return true;
}

bool sim_in_cluster(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        int lane = __builtin_ctz(rest);
        uint64_t address = op->bytes == 4 ? sim_u32(w->file, op->slot[1])[lane]
                                          : sim_u64(w->file, op->slot[1])[lane];
        if (!translate(w, op, lane, &address))
            return false;
        memcpy(w->file + op->slot[0] + (size_t)lane * op->small2, &address, op->small2);
    }
    return true;
}

/* --- barrier.cluster --- */

static bool tell(struct sim_warp *w, const struct sim_op *op, enum sim_sync kind, uint32_t mask)
{
    struct sim_sync_event event = {.kind = kind,
                                   .mask = mask,
                                   .order = op->order,
                                   .scope = SIM_CLUSTER,
                                   .cluster = w->block->cluster->number};
    sim_place_of(w, op, &event.at);
    return !w->observed || sim_notify_sync(w, &event);
}

static bool is_complete(const struct sim_cluster *c)
{
    assert(c->count > 0);
    bool any = false;
    for (int i = 0; i < c->count; i++)
        for (int k = 0; c->block[i] && k < c->block[i]->warp_count; k++) {
            const struct sim_warp *w = &c->block[i]->warps[k];
            any = any || w->cluster_arrived;
            if (w->alive & ~w->cluster_arrived)
                return false;
        }
    return any;
}

/* Ends the phase if all threads that have not exited have arrived. */
static void complete(struct sim_cluster *c)
{
    if (!is_complete(c))
        return;
    for (int i = 0; i < c->count; i++)
        for (int k = 0; c->block[i] && k < c->block[i]->warp_count; k++) {
            struct sim_warp *w = &c->block[i]->warps[k];
            w->cluster_arrived = 0;
            for (int p = 0; p < w->path_count; p++)
                if (w->paths[p].wait == SIM_WAIT_CLUSTER)
                    w->paths[p].wait = SIM_WAIT_NOTHING;
            w->sim->changes++;
        }
}

static bool arrive(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    if (w->cluster_open & mask)
        return sim_stop(w, op,
                        "a thread arrives twice at the barrier of its cluster, without "
                        "barrier.cluster.wait between");
    if (!tell(w, op, SIM_CLUSTER_ARRIVE, mask))
        return false;
    w->cluster_open |= mask;
    w->cluster_arrived |= mask;
    complete(w->block->cluster);
    return true;
}

static bool wait(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    if (mask & ~w->cluster_open)
        return sim_stop(w, op,
                        "a thread waits at the barrier of its cluster, at which it has not "
                        "arrived (barrier.cluster.arrive)");
    if (w->cluster_arrived & mask)
        return sim_wait_here(w, op, mask, SIM_WAIT_CLUSTER);
    w->cluster_open &= ~mask;
    return tell(w, op, SIM_CLUSTER_LEAVE, mask);
}

void sim_cluster_after_exit(struct sim_warp *w)
{
    complete(w->block->cluster);
}

bool sim_choose_cluster(struct sim_decoder *d, const struct ptx_instruction *ins, struct sim_op *op)
{
    (void)d;
    if (ins->op != PTX_BARRIER_CLUSTER)
        return false;
    sim_decode_order(ins, op);
    bool waits = ptx_has(ins, MOD_WAIT);
    if (op->order == SIM_WEAK)
        op->order = waits ? SIM_ACQUIRE : SIM_RELEASE;
    op->run = waits ? wait : arrive;
    return true;
}

/* --- launches --- */

bool sim_cluster_suits(struct sim *sim, const struct sim_launch *l, struct diag *diag)
{
    const struct ptx_function *f = sim->program->kernel;
    uint64_t blocks = 1;
    memcpy(sim->cluster, l->cluster, sizeof sim->cluster);
    bool given = l->cluster[0] > 1 || l->cluster[1] > 1 || l->cluster[2] > 1;
    for (size_t i = 0; i < f->limits.count; i++) {
        const struct ptx_limit *limit = &f->limits.data[i];
        for (uint32_t k = 0; limit->directive == PTX_REQNCTAPERCLUSTER && k < 3; k++) {
            unsigned wanted = k < limit->count ? limit->values[k] : 1;
            if (given && sim->cluster[k] != wanted) {
                diag_error(diag, f->where, "%s needs clusters of %u blocks along axis %u, not %u",
                           f->name, wanted, k, sim->cluster[k]);
                return false;
            }
            sim->cluster[k] = wanted;
        }
    }
    for (int k = 0; k < 3; k++) {
        sim->cluster[k] += !sim->cluster[k];
        blocks *= sim->cluster[k];
        if (l->grid[k] % sim->cluster[k]) {
            diag_error(diag, f->where,
                       "a grid of %u blocks along axis %d has no whole clusters of %u blocks",
                       l->grid[k], k, sim->cluster[k]);
            return false;
        }
    }
    if (blocks > GPU_CLUSTER_MOST) {
        diag_error(diag, f->where, "a cluster has 1 to %d blocks", GPU_CLUSTER_MOST);
        return false;
    }
    return true;
}

int sim_cluster_blocks(const struct sim *sim)
{
    return (int)(sim->cluster[0] * sim->cluster[1] * sim->cluster[2]);
}

int64_t sim_cluster_of(const struct sim *sim, int64_t block)
{
    const unsigned *size = sim->cluster, *grid = sim->launch->grid;
    int64_t cluster = 0, along = 1;
    for (int k = 0; k < 3; k++) {
        cluster += block % grid[k] / size[k] * along;
        along *= grid[k] / size[k];
        block /= grid[k];
    }
    return cluster;
}

/* Gives the place in the grid of the n-th block that begins: cluster by cluster, each in the order
 * of ranks. */
void sim_cluster_place(const struct sim *sim, int64_t n, struct sim_block *b)
{
    const unsigned *size = sim->cluster, *grid = sim->launch->grid;
    int64_t count = (int64_t)size[0] * size[1] * size[2], cluster = n / count;
    uint32_t rank = (uint32_t)(n % count);
    uint32_t within[3] = {rank % size[0], rank / size[0] % size[1], rank / size[0] / size[1]};
    b->rank = (int)rank;
    for (int k = 0; k < 3; k++) {
        uint32_t clusters = grid[k] / size[k];
        b->id[k] = (uint32_t)(cluster % clusters) * size[k] + within[k];
        cluster /= clusters;
    }
    b->number = b->id[0] + (int64_t)grid[0] * (b->id[1] + (int64_t)grid[1] * b->id[2]);
}

void sim_cluster_join(struct sim *sim, int64_t n, struct sim_block *b)
{
    int count = sim_cluster_blocks(sim);
    if (b->rank == 0) {
        struct sim_cluster *c = sim->unused_clusters;
        if (c)
            sim->unused_clusters = c->next;
        else
            c = arena_new(sim->arena, struct sim_cluster);
        *c = (struct sim_cluster){.number = n / count, .count = count};
        sim->joining = c;
    }
    b->cluster = sim->joining;
    b->cluster->block[b->rank] = b;
    for (int i = 0; i < b->warp_count; i++)
        b->warps[i].cluster_open = b->warps[i].cluster_arrived = 0;
}

void sim_cluster_leave(struct sim *sim, struct sim_block *b)
{
    struct sim_cluster *c = b->cluster;
    for (int i = 0; i < c->count && c->count > 1; i++)
        if (c->block[i])
            sim_bulks_land_at(c->block[i], b);
    c->block[b->rank] = NULL;
    for (int i = 0; i < c->count; i++)
        if (c->block[i])
            return;
    c->next = sim->unused_clusters;
    sim->unused_clusters = c;
}

uint32_t sim_cluster_special(const struct sim_warp *w, unsigned special)
{
    const unsigned *size = w->sim->cluster, *grid = w->sim->launch->grid;
    const struct sim_block *b = w->block;
    switch (special) {
    case PTX_SREG_CLUSTERID_X: return b->id[0] / size[0];
    case PTX_SREG_CLUSTERID_Y: return b->id[1] / size[1];
    case PTX_SREG_CLUSTERID_Z: return b->id[2] / size[2];
    case PTX_SREG_NCLUSTERID_X: return grid[0] / size[0];
    case PTX_SREG_NCLUSTERID_Y: return grid[1] / size[1];
    case PTX_SREG_NCLUSTERID_Z: return grid[2] / size[2];
    case PTX_SREG_CLUSTER_CTAID_X: return b->id[0] % size[0];
    case PTX_SREG_CLUSTER_CTAID_Y: return b->id[1] % size[1];
    case PTX_SREG_CLUSTER_CTAID_Z: return b->id[2] % size[2];
    case PTX_SREG_CLUSTER_NCTAID_X: return size[0];
    case PTX_SREG_CLUSTER_NCTAID_Y: return size[1];
    case PTX_SREG_CLUSTER_NCTAID_Z: return size[2];
    case PTX_SREG_CLUSTER_CTARANK: return (uint32_t)b->rank;
    case PTX_SREG_CLUSTER_NCTARANK: return (uint32_t)b->cluster->count;
    default: return b->cluster->count > 1; /* %is_explicit_cluster */
    }
}
