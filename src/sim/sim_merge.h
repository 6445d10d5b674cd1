/* Which accesses of a PTX program an assembler may make one of, and what the memory hardware makes
 * of them then. They stand in one basic block under one guard, are loads or stores, at constant
 * distances from one address, with nothing between them that forbids it: a barrier, a fence, an
 * atomic operation, a call; for loads a store, for stores any access, that may be of the same
 * bytes. */
#ifndef TW_SIM_MERGE_H
#define TW_SIM_MERGE_H

#include "ptx/accesses.h"
#include "sim/sim_events.h"

enum { SIM_WIDEST = 16 }; /* bytes of a lane that an instruction reads or writes at most */

struct sim_merged {
    const struct ptx_instruction *ins;
    int64_t distance; /* from the address of the first */
    int bytes;
};

/* Some that may become fewer; the first is the one that comes first. */
struct sim_merge {
    enum access_kind kind;
    struct sim_merged *list;
    size_t count;
    struct sim_pieces *pieces; /* see sim_merge_pieces */
};

struct sim_merges {
    struct sim_merge *list;
    size_t count;
};

/* All of a function; what has no partner is not among them. Lives in the arena. */
void sim_merges_find(struct arena *a, const struct ptx_function *f, struct sim_merges *out);

/* What the accesses become at the addresses that the first one has: told one by one, each as wide
 * as it can be, aligned, without a byte that nobody asks for. */
void sim_merge_pieces(struct arena *a, struct sim_merge *m, const struct sim_access *first,
                      void (*tell)(void *user, const struct sim_access *piece), void *user);

#endif
