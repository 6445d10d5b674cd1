/* Clusters: blocks that run together, because they use each other's shared memory and mbarriers. A worker
 * has a frame for each block of a cluster. The frames take turns: each runs until all of its roles wait,
 * or it comes to cluster_sync(). A round in which no block goes on is a deadlock. */
#include "cpu/profile.h"

#include <assert.h>
#include <stdio.h>

void step_cluster_sync(struct frame *f, const struct instr *in)
{
    int blocks = kernel_cluster_blocks(f->program->kernel);
    (void)in;
    f->syncs += !f->at_sync;
    f->at_sync = false;
    for (int i = 0; i < blocks && !f->at_sync; i++)
        f->at_sync = f->cluster[i].syncs < f->syncs;
    f->stuck = false;
    if (!f->at_sync)
        return;
    f->pc--;
    f->state = FRAME_WAITING;
}

/* --- one cluster --- */

struct cluster_pool {
    const struct launch_state *launch;
    const struct cpu_argument *args;
    struct frame *frames; /* by worker and rank */
    int blocks;
    int64_t clusters;
    _Atomic int64_t next;
    atomic_int manned;
    struct cpu_fault *faults; /* by worker, of the cluster `at` */
    int64_t *at;
};

/* Begins the block of that rank in a cluster. Clusters are numbered as blocks are, x fastest. */
static void begin_block(const struct cluster_pool *p, struct frame *f, int64_t cluster, int rank)
{
    assert(cluster < p->clusters && rank >= 0 && rank < p->blocks);
    const int *size = p->launch->program->kernel->cluster;
    const int64_t *grid = p->launch->grid;
    int64_t place[3], rest = cluster;
    int within[3] = {rank % size[0], rank / size[0] % size[1], rank / size[0] / size[1]};
    int32_t *numbers = frame_at(f, p->launch->program->cluster_at);
    for (int i = 0; i < 3; i++) {
        assert(size[i] > 0 && grid[i] % size[i] == 0); /* the launch has checked it */
        place[i] = rest % (grid[i] / size[i]);
        rest /= grid[i] / size[i];
        numbers[i] = (int32_t)place[i];
        place[i] = place[i] * size[i] + within[i];
    }
    numbers[CLUSTER_RANK] = rank;
    int64_t id = (place[2] * grid[1] + place[1]) * grid[0] + place[0];
    frame_start(f, cluster * p->blocks + rank, id);
}

/* Notes why a block of a cluster waits forever. */
static void report_waiting(const struct cluster_pool *p, struct frame *f)
{
    int other = 0;
    if (!f->at_sync) {
        f->state = FRAME_READY;
        exec_roles_deadlock(f);
        return;
    }
    while (other < p->blocks - 1 && f->cluster[other].syncs >= f->syncs)
        other++;
    f->state = FRAME_READY;
    frame_fault(f, CPU_DEADLOCK, f->program->code[f->pc].loc, -1,
                "this cluster_sync() waits for block %d of the cluster, which %s", other,
                f->cluster[other].state == FRAME_DONE ? "has ended" : "does not come to it");
    snprintf(f->fault.way_out, sizeof f->fault.way_out,
             "all blocks of a cluster come to cluster_sync() equally often");
}

/* Returns the frame to report a deadlock of: one whose roles wait, if there is any. */
static struct frame *waiting(struct frame *frames, int blocks)
{
    struct frame *found = NULL;
    for (int i = blocks - 1; i >= 0; i--)
        if (frames[i].state == FRAME_WAITING && (!found || !frames[i].at_sync))
            found = &frames[i];
    return found;
}

/* Gives each block one turn. Returns the frame that faulted; NULL: none. */
static struct frame *run_round(struct frame *frames, int blocks, int *alive, bool *progress)
{
    *alive = 0;
    *progress = false;
    for (int i = 0; i < blocks; i++) {
        struct frame *f = &frames[i];
        if (f->state != FRAME_READY && f->state != FRAME_WAITING)
            continue;
        frame_run(f);
        *progress |= f->progressed;
        *alive += f->state == FRAME_WAITING;
        if (f->state == FRAME_FAULT)
            return f;
    }
    return NULL;
}

/* Returns the frame that faulted; NULL: none. */
static struct frame *run_cluster(const struct cluster_pool *p, struct frame *frames)
{
    struct frame *faulted = NULL;
    bool progress = true;
    for (int alive = 1; alive > 0 && !faulted && progress;) {
        if (frame_is_cancelled(p->launch))
            return NULL;
        faulted = run_round(frames, p->blocks, &alive, &progress);
    }
    if (!faulted && !progress && (faulted = waiting(frames, p->blocks)))
        report_waiting(p, faulted);
    return faulted;
}

/* --- workers --- */

static void work(void *user, int index)
{
    struct cluster_pool *p = user;
    const struct launch_state *l = p->launch;
    struct frame *frames = p->frames + (size_t)index * (size_t)p->blocks;
    struct frame_profile *profile = l->profiles ? &l->profiles[index] : NULL;
    int made = 0;
    for (; made < p->blocks && frame_init(&frames[made], l, frame_take(l, index)); made++) {
        frames[made].profile = profile;
        frames[made].cluster = frames;
        frames[made].rank = made;
        frame_set_params(&frames[made], p->args);
    }
    atomic_fetch_or(&p->manned, made == p->blocks);
    if (profile)
        profile_begin(profile);
    while (made == p->blocks && p->faults[index].kind == CPU_OK && !frame_is_cancelled(l)) {
        int64_t cluster = atomic_fetch_add(&p->next, 1);
        if (cluster >= p->clusters)
            break;
        workers_tell_progress(l, p->blocks);
        for (int i = 0; i < p->blocks; i++)
            begin_block(p, &frames[i], cluster, i);
        const struct frame *faulted = run_cluster(p, frames);
        if (!faulted)
            continue;
        p->faults[index] = faulted->fault;
        p->at[index] = cluster;
        atomic_store(&p->next, p->clusters); /* the clusters before it have begun */
    }
    if (profile)
        profile_end(profile);
    for (int i = 0; i < made; i++)
        frame_free(&frames[i]);
}

enum cpu_fault_kind clusters_run(struct arena *a, struct launch_state *l,
                                 const struct cpu_argument *args, struct cpu_fault *fault)
{
    struct cluster_pool p = {.launch = l, .args = args};
    p.blocks = kernel_cluster_blocks(l->program->kernel);
    p.clusters = l->blocks / p.blocks;
    l->workers = l->workers < p.clusters ? l->workers : (int)p.clusters;
    l->turns_a_worker = l->blocks;
    p.frames = arena_array(a, struct frame, l->workers * p.blocks);
    p.faults = arena_array(a, struct cpu_fault, l->workers);
    p.at = arena_array(a, int64_t, l->workers);
    atomic_init(&p.next, 0);
    atomic_init(&p.manned, 0);
    profiles_open(a, l, l->workers);
    if (l->workers == 1)
        work(&p, 0);
    else
        l->options->parallel.run(l->options->parallel.user, l->workers, work, &p);
    profiles_close(l, l->workers);
    int first = 0;
    for (int i = 1; i < l->workers; i++)
        if (p.faults[i].kind != CPU_OK && (p.faults[first].kind == CPU_OK || p.at[i] < p.at[first]))
            first = i;
    if (p.faults[first].kind != CPU_OK)
        *fault = p.faults[first];
    return p.faults[first].kind != CPU_OK ? p.faults[first].kind
           : !atomic_load(&p.manned)      ? CPU_NO_MEMORY
           : atomic_load(l->cancelled)    ? CPU_CANCELLED
                                          : CPU_OK;
}
