/* Streams: the lines of global memory that each warp of a block requests, in order, with the
 * barriers between them. The model of the caches replays them. An observer of blocks that run
 * one by one. */
#ifndef TW_MODEL_STREAMS_H
#define TW_MODEL_STREAMS_H

#include "base/arena.h"
#include "sim/sim_events.h"
#include "target/targets.h"

/* One line of a request of a warp, as its number and its sectors as bits, or a barrier. */
enum stream_kind { STREAM_LOAD, STREAM_PAST_L1, STREAM_STORE, STREAM_UPDATE, STREAM_BARRIER };
struct stream_entry {
    uint64_t line;
    uint8_t sectors, kind;
};
struct stream {
    VEC(struct stream_entry) entries;
};

/* The requests of one instruction to global memory. */
struct stream_instruction {
    const struct ptx_instruction *ins;
    double lines;
    /* Cycles of L1's data path: one for each line, and one for each 128 bytes to registers; 0
     * for accesses that bypass L1. */
    double wavefronts;
};

struct stream_block {
    int warps;
    struct stream *warp;
};

struct streams {
    struct arena *arena;
    struct sim_observer observer;
    struct stream_block *block; /* the running block; NULL: none since the last clear */
    VEC(struct stream_instruction) instructions;
    uint64_t multiplying; /* bits: warps of the block that issued products of warpgroups */
    size_t latest;
};

void model_streams_init(struct streams *s, struct arena *arena);
/* Discards the records before the next block. */
void model_streams_clear(struct streams *s);

#endif
