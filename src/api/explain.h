/* The state of one tw_launch_explain, which its parts share. */
#ifndef TW_EXPLAIN_H
#define TW_EXPLAIN_H

#include "api/ptx_program.h"
#include "api/simulation.h"
#include "model/access_costs.h"
#include "target/gpus.h"
#include "model/occupancy.h"
#include "model/caches.h"
#include "model/latency.h"
#include "tilewright_model.h"

struct explain {
    tw_context *ctx;
    tw_launch *launch; /* NULL: explains a PTX launch, */
    tw_ptx *ptx;       /* of this program */
    const tw_ptx_launch *ptx_launch;
    const struct ptx_function *ptx_kernel;
    const struct target *target;
    const tw_explain_options *options;
    const struct gpu *gpu;
    struct arena *results; /* texts of the explanation */
    struct simulation simulation;
    bool blocks_wait; /* for others: not all counted blocks ran to their end */
    /* Registers of a thread by the estimate, and the most that the GPU and the kernel's limits allow. */
    int registers_wanted, most_registers;
    int warpgroups;    /* of a block, that multiply; 0: products of warps, or none */
    double waves_gain; /* time of the waves, over the time with all places full; >= 1 */
    tw_explanation out;
};

/* Time from one launch to the next, when launches follow each other. */
enum { LAUNCH_NANOSECONDS = 3000 };

/* The counts of a launch. */
struct explain_counts {
    struct work launch;
    struct accesses accesses; /* of the whole launch */
    /* The instructions of the grid's first block; the latencies follow from them. */
    const struct ptx_function *function;
    struct paced *paced; /* by statement */
    struct l2_grid l2;
    /* Sectors of the whole launch: loads through L1 (missed; all), loads past L1, stores,
     * atomics. */
    double missed, load_sectors, past, stores, updates;
    double tags;               /* requests of a line to L2 */
    double wavefronts;         /* of L1, for global memory */
    double product_wavefronts; /* of the products of warpgroups, which read shared memory */
    double awaited;            /* share of the L2 requests that wait for memory */
    int warps;
    int multiplying; /* warps of a block that issue products of warpgroups; 0: none */
    double order;    /* time of all blocks in their order, in times of a mean block; 0: not known */
    double longest;  /* work of the longest block that was run, over the mean */
};

/* Simulates some of the launch's blocks and counts. Returns TW_OK, or reports. explain_count.c */
tw_status explain_count(struct explain *e, struct explain_counts *out);
/* Finds the pieces of L2 that each block of a persistent grid reads by copies in the background.
 * explain_persistent.c */
void explain_persistent(struct explain *e, struct explain_counts *c);
/* Returns the useful operations of the launch; 0: not known. explain_flops.c */
double explain_flops(const tw_launch *l);
/* Lists accesses by line, and fills in the traffic that follows from them alone.
 * explain_access.c */
void explain_accesses(struct explain *e, const struct accesses *accesses);
/* Fills in the rest of the traffic, roofs, time and words. explain_time.c, explain_advice.c */
void explain_time(struct explain *e, struct explain_counts *c);
/* Returns the speedup of the launch if everything except the launch overhead gets `times` as
 * fast. */
double explain_gain(const tw_explanation *o, double times);
void explain_advice(struct explain *e, const struct explain_counts *c);

/* Fills in the public description of a GPU. */
void explain_gpu(const struct gpu *g, tw_gpu *out);

#endif
