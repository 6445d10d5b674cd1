/* The other blocks of a cluster, whose memory and mbarriers a block uses. */
#include "cpu/profile.h"

struct frame *clusters_block(struct frame *f, int rank, const struct sym *sym, struct loc loc)
{
    int blocks = kernel_cluster_blocks(f->program->kernel);
    if (rank < 0 || rank >= blocks) {
        frame_fault(f, CPU_BOUNDS, loc, -1,
                    "%s of block %d of the cluster is used, which has blocks 0 to %d", sym->name,
                    rank, blocks - 1);
        return NULL;
    }
    struct frame *of = &f->cluster[rank];
    if (of != f && f->syncs == 0) {
        frame_fault(f, CPU_MBARRIER, loc, -1,
                    "%s of block %d of the cluster is used, and that block may not have begun; "
                    "cluster_sync() must come first",
                    sym->name, rank);
        return NULL;
    }
    if (of->state == FRAME_DONE) {
        frame_fault(f, CPU_MBARRIER, loc, -1,
                    "%s of block %d of the cluster is used, and that block has ended; a "
                    "cluster_sync() at the kernel's end keeps it",
                    sym->name, rank);
        return NULL;
    }
    return of;
}

struct frame *clusters_frame(struct frame *f, const struct access *a, struct loc loc)
{
    if (a->peer == NO_SLOT)
        return f;
    return clusters_block(f, *(const int32_t *)frame_at(f, a->peer), a->sym, loc);
}
