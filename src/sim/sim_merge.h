/* The accesses of a PTX program that an assembler may merge, and the memory hardware's work for
 * the merged ones. They are in one basic block under one guard, are all loads or all stores, and
 * are at constant distances from one address. Nothing between them forbids the merge: no barrier,
 * fence, atomic operation or call; no store that may write the bytes of a load; no access that may
 * touch the bytes of a store. */
#ifndef TW_SIM_MERGE_H
#define TW_SIM_MERGE_H

#include "ptx/accesses.h"
#include "sim/sim_events.h"

enum { SIM_WIDEST = 16 }; /* most bytes of a lane that an instruction reads or writes */

struct sim_merged {
    const struct ptx_instruction *ins;
    int64_t distance; /* from the address of the first access */
    int bytes;
};

/* Accesses that may become fewer, in program order. */
struct sim_merge {
    enum coded_access_kind kind;
    struct sim_merged *list;
    size_t count;
    struct sim_pieces *pieces; /* see sim_merge_pieces */
};

struct sim_merges {
    struct sim_merge *list;
    size_t count;
};

/* Finds all of a function; accesses without a partner are left out. The result lives in the
 * arena. */
void sim_merges_find(struct arena *a, const struct ptx_function *f, struct sim_merges *out);

/* Computes the merged accesses at the addresses of the first one and tells them one by one: each
 * as wide as possible, aligned, without a byte that none of the accesses asks for. */
void sim_merge_pieces(struct arena *a, struct sim_merge *m, const struct sim_access *first,
                      void (*tell)(void *user, const struct sim_access *piece), void *user);

#endif
