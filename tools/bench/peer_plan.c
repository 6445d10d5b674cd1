/* Multiplies two matrices by one of the libraries. */
#include "bench/peer_kinds.h"
#include "cli/tool.h"

bool peer_plan_open(struct peer_plan *p, struct peer *peer, const struct gemm *g, const void *a,
                    const void *b, void *c)
{
    *p = (struct peer_plan){.peer = peer, .gemm = *g, .a = a, .b = b, .c = c};
    snprintf(peer->why, sizeof peer->why, "does not multiply %s and %s to %s", tw_dtype_name(g->a),
             tw_dtype_name(g->b), tw_dtype_name(g->c));
    return peer->handle && peer->kind->plan(p);
}

bool peer_plan_run(struct peer_plan *p)
{
    int status = p->run(p);
    if (status != 0)
        snprintf(p->peer->why, sizeof p->peer->why, "its product failed with status %d", status);
    return status == 0;
}

void peer_plan_close(struct peer_plan *p)
{
    onednn_plan_close(p);
}
