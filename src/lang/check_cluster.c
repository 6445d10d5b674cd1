/* Clusters: the head's `cluster(x, y, z)`, memory of a peer, copies to several blocks, and the barrier
 * of all blocks. docs/language.md, "Clusters". */
#include "lang/check_internal.h"

#include <string.h>

void check_cluster(struct checker *c, const struct node *cluster)
{
    int64_t v, total = 1, size[3] = {1, 1, 1};
    int axis = 0;
    if (!cluster)
        return;
    /* If the extents are refused, the kernel has clusters nevertheless: it may use their constructs. */
    for (int i = 0; i < 3; i++)
        c->kernel->cluster[i] = i ? 1 : LANG_MOST_CLUSTER;
    for (const struct node *n = cluster->list; n; n = n->next, axis++) {
        if (axis == 3) {
            diag_error(c->diag, n->loc, "a cluster has up to three extents");
            return;
        }
        if (!check_constant_in(c, n, "the number of blocks of a cluster", 1, LANG_MOST_CLUSTER, &v))
            return;
        size[axis] = v;
        total *= v;
    }
    if (total > LANG_MOST_CLUSTER) {
        diag_error(c->diag, cluster->loc, "a cluster of %lld blocks; there may be up to %d",
                   (long long)total, LANG_MOST_CLUSTER);
        return;
    }
    for (int i = 0; i < 3; i++)
        c->kernel->cluster[i] = (int)size[i];
}

void check_cluster_level(struct checker *c, const struct node *cluster)
{
    if (!cluster || !c->thread_level)
        return;
    diag_error(c->diag, cluster->loc, "a cluster of blocks in a kernel with `threads(…)`");
    diag_note(c->diag, cluster->loc, "clusters are for kernels with `warps(n)`");
}

/* Reports a construct of clusters in a kernel that has none. */
static bool has_cluster(struct checker *c, struct loc at, const char *what)
{
    if (c->kernel->cluster[0] > 0)
        return true;
    diag_error(c->diag, at, "`%s` in a kernel without clusters", what);
    diag_note(c->diag, c->kernel->loc, "write `cluster(2)` in the kernel's head");
    return false;
}

bool check_has_no_cluster(struct checker *c, const struct node *n)
{
    if (c->kernel->cluster[0] == 0)
        return true;
    diag_error(c->diag, n->loc, "`%s` in a kernel with clusters", n->text);
    diag_note(c->diag, n->loc,
              "let a kernel without clusters do what needs an order of blocks, or add by "
              "`atomic_add`");
    return false;
}

struct expr *check_take_peer(struct checker *c, const struct node *n, struct expr *e)
{
    int64_t rank;
    if (!e || !n->peer)
        return e;
    if (!has_cluster(c, n->loc, "peer"))
        return NULL;
    if (e->op != OP_ACCESS || (e->sym->storage != ST_SHARED && e->sym->storage != ST_MBARRIER)) {
        diag_error(c->diag, n->loc, "`%s` is neither a shared tile nor an mbarrier",
                   check_place_text(n));
        diag_note(c->diag, n->loc, "only these of another block can be used: `peer(sa[s], rank)`");
        return NULL;
    }
    struct expr *value = check_scalar_int(c, n->peer, "the rank of a block");
    if (!value)
        return NULL;
    int blocks = kernel_cluster_blocks(c->kernel);
    if (eval_int(value, NULL, &rank) && (rank < 0 || rank >= blocks)) {
        diag_error(c->diag, n->peer->loc, "the cluster has blocks 0 to %d, no block %lld",
                   blocks - 1, (long long)rank);
        return NULL;
    }
    e->args = arena_array(c->kernel->arena, struct expr *, 1);
    e->args[0] = check_cast_to(c, value, DT_I32);
    e->count = 1;
    e->loc = n->loc;
    return e;
}

bool check_is_own_place(struct checker *c, const struct node *n, const char *what)
{
    if (!n || !n->peer)
        return true;
    diag_error(c->diag, n->loc, "%s is this block's own, and `peer` names another block's", what);
    diag_note(c->diag, n->loc,
              "a block reads a peer's tile, stores to it, and arrives at its mbarriers; a copy to "
              "other blocks is `async(full[s]) sa[s] = A[…][…] multicast(3)`");
    return false;
}

struct expr *check_multicast(struct checker *c, const struct node *n)
{
    int64_t bits;
    int blocks = kernel_cluster_blocks(c->kernel);
    if (!has_cluster(c, n->peer->loc, "multicast"))
        return NULL;
    if (!n->c) {
        diag_error(c->diag, n->peer->loc, "a copy to several blocks completes on an mbarrier");
        diag_note(c->diag, n->loc, "write `async(full[s]) … multicast(3)`");
        return NULL;
    }
    struct expr *value = check_scalar_int(c, n->peer, "the blocks of a copy, a bit for each");
    if (!value)
        return NULL;
    if (eval_int(value, NULL, &bits) && (bits < 1 || bits >= 1 << blocks)) {
        diag_error(c->diag, n->peer->loc,
                   "blocks of the cluster are bits 0 to %d, and this is %lld", blocks - 1,
                   (long long)bits);
        diag_note(c->diag, n->peer->loc, "all of them are `multicast(%d)`", (1 << blocks) - 1);
        return NULL;
    }
    return check_cast_to(c, value, DT_I32);
}

void check_cluster_sync(struct checker *c, const struct node *n)
{
    if (!check_arguments(c, n, 0, 0, NULL, "cluster_sync()") ||
        !has_cluster(c, n->loc, "cluster_sync"))
        return;
    if (c->in_role) {
        diag_error(c->diag, n->loc, "`cluster_sync` is the work of all warps, and this is a role");
        diag_note(c->diag, n->loc, "write it before the roles, or after the last one");
        return;
    }
    c->left_roles |= c->role_warps != 0;
    struct stmt *s = check_emit(c, STMT_EFFECT, n->loc);
    s->value = expr_new(c->kernel, OP_CLUSTER_SYNC, type_scalar(DT_I32), n->loc, 0);
}
