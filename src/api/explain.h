/* One tw_launch_explain: what its parts hand on. */
#ifndef TW_EXPLAIN_H
#define TW_EXPLAIN_H

#include "api/ptx_program.h"
#include "api/simulation.h"
#include "model/access_costs.h"
#include "model/devices.h"
#include "model/occupancy.h"
#include "model/caches.h"
#include "model/latency.h"
#include "tilewright_model.h"

struct explain {
    tw_context *ctx;
    tw_launch *launch; /* NULL: it is of PTX, */
    tw_ptx *ptx;       /* and this is its program, */
    const tw_ptx_launch *ptx_launch;
    const struct ptx_function *ptx_kernel;
    const struct lower_target *target;
    const tw_explain_options *options;
    const struct gpu *gpu;
    struct arena *results; /* texts of the explanation */
    struct simulation simulation;
    bool blocks_wait;  /* for others: those that were counted did not all come to their end */
    double waves_gain; /* how many times as long waves take as if all places had blocks, >= 1 */
    tw_explanation out;
};

/* From one launch to the next, where they follow each other. */
enum { LAUNCH_NANOSECONDS = 3000 };

/* What was counted. */
struct explain_counts {
    struct work launch;
    struct accesses accesses; /* of the whole launch */
    /* Of the grid's first block, by instruction: what the latencies follow from. */
    const struct ptx_function *function;
    struct paced *paced; /* by statement */
    struct l2_grid l2;
    /* Sectors of the whole launch: of loads through L1 (not there; asked for), past it; of stores;
     * of atomics. */
    double missed, load_sectors, past, stores, updates;
    double tags;       /* requests of a line to L2 */
    double wavefronts; /* of L1, for global memory */
    double awaited;    /* of what L2 is asked for, the share that is waited for in memory */
    int warps;
    double longest; /* block that was run: what it executes, of the mean */
};

/* Simulates some of the launch's blocks, and counts. TW_OK, or reported. explain_count.c */
tw_status explain_count(struct explain *e, struct explain_counts *out);
/* Useful operations of the launch; 0: nothing says. explain_flops.c */
double explain_flops(const tw_launch *l);
/* Accesses by line, and what of the traffic follows from them alone. explain_access.c */
void explain_accesses(struct explain *e, const struct accesses *accesses);
/* Then the rest of the traffic, roofs, time and words. explain_time.c, explain_words.c */
void explain_time(struct explain *e, struct explain_counts *c);
/* How many times as fast, if all but the launch itself were so many times as fast. */
double explain_gain(const tw_explanation *o, double times);
void explain_words(struct explain *e, const struct explain_counts *c);

/* The GPU as the public table has it. */
void explain_gpu(const struct gpu *g, tw_gpu *out);

#endif
