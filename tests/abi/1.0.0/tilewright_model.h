/* The model of GPUs: why a kernel is as fast as it is. */
#ifndef TILEWRIGHT_MODEL_H
#define TILEWRIGHT_MODEL_H

#include "tilewright_sim.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A model of GPUs (docs/model.md): what a launch asks of each part of one, and so how long it takes
 * at least. It counts by simulation of some of the launch's blocks; no GPU is needed. */

/* What is not known exactly: `middle` is the most likely, the true value is mostly in the rest. */
typedef struct tw_range {
    double low, middle, high;
} tw_range;

/* A GPU that the model knows. Rates are of the whole GPU at `clock`, dense; a multiply-add is two
 * operations; 0: it has no such units. */
typedef struct tw_gpu {
    size_t size;         /* tw_gpu_init sets it */
    const char *name;    /* "H200 SXM" */
    const char *aliases; /* other names that tw_gpu_find takes, with commas: "h200,NVIDIA H200" */
    const char *target;  /* what kernels for it are compiled for: "sm_90" */
    const char *memory;  /* of which kind its memory is: "HBM3e" */
    const char *source;  /* where the figures are from */
    int capability;      /* 90: compute capability 9.0 */
    int multiprocessors;
    double clock; /* Hz, boost */
    /* Hz that heavy work of the tensor units runs at under the power limit; the same as `clock`
     * where that is not known. */
    double tensor_clock;
    double f64, f32;                       /* operations a second, without tensor units */
    double tensor_f64;                     /* at `clock`; 0: f64 is done without them */
    double tensor_tf32, tensor_f16;        /* f16 and bf16, sums in f32 */
    double tensor_i8, tensor_fp8;          /* sums in i32, f32 */
    double memory_bytes, memory_bandwidth; /* bytes, bytes a second: HBM or GDDR */
    double l2_bytes;
    tw_range l2_bandwidth;   /* bytes a second, to all multiprocessors; high: its roof's */
    double shared_bandwidth; /* bytes a second: 128 a cycle and multiprocessor */
    int l1_bytes;            /* L1 and shared memory of a multiprocessor, which divide it */
    /* Cycles from a load to when its result can be used: of shared memory, and of global memory by
     * the first cache that has it; memory: while many blocks read. */
    int shared_latency, l1_latency, l2_latency, memory_latency;
    /* Limits: shared memory of a multiprocessor and a block (of which the system has
     * system_shared_bytes besides), what else a multiprocessor holds, threads of a block. */
    int shared_of_multiprocessor, shared_of_block, system_shared_bytes;
    int registers, registers_of_thread;
    int threads, warps, blocks;
    int threads_of_block;
} tw_gpu;
TW_SIZED(tw_gpu);
TW_API bool tw_gpu_at(int index, tw_gpu *out); /* false past the last */
/* By name, alias or the driver's name, without regard to case and blanks. false: there is none. */
TW_API bool tw_gpu_find(const char *name, tw_gpu *out);

typedef struct tw_explain_options {
    size_t size;     /* tw_explain_options_init sets it */
    const char *gpu; /* of tw_gpu_find; NULL: the table's first of the kernel's target */
    /* Of a thread, where it is known: tw_occupancy has it, `ptxas -v` prints it. 0: estimated. */
    int registers;
    int64_t step_limit; /* warp instructions of one block; 0: 50000000 */
} tw_explain_options;
TW_SIZED(tw_explain_options);

/* Bytes that one part of the memory moves, counted in different ways. 0: not counted there. */
typedef struct tw_traffic {
    const char *name;  /* "registers", "shared", "L2", "HBM" */
    double by_thread;  /* each thread's own elements, whoever shares them */
    double by_request; /* what warps ask for: sectors of 32 bytes, wavefronts of 128 */
    /* The two parts of these, as the program has its accesses, for shared memory and at L2; atomic
     * operations are writes. */
    double read_by_thread, written_by_thread, read_by_request, written_by_request;
    /* At L2, sectors of 32 bytes too, if each element of a vector were asked for by itself. */
    double read_by_element, written_by_element;
    tw_range moved;         /* behind the caches above it */
    tw_range read, written; /* which are the two parts of `moved`; 0 for registers and shared */
    double compulsory;      /* each array once, as far as the kernel uses it */
    /* Useful FLOPs a byte: of by_thread, by_request, moved.middle; 0 where those are. */
    double intensity_by_thread, intensity_by_request, intensity;
} tw_traffic;
enum { TW_AT_REGISTERS, TW_AT_SHARED, TW_AT_L2, TW_AT_HBM, TW_TRAFFIC_COUNT };

/* A roof: one part of the GPU, and how long it works at full rate for what the launch asks of it.
 * No launch is faster than its slowest part. */
typedef struct tw_roof {
    /* "HBM", "L2", "L2 requests", "shared" (wavefronts of shared memory and L1), "load/store",
     * "issue", "fma" (of f32 and f16), "f64", "tensor" */
    const char *name;
    const char *title; /* for people: "shared memory's wavefronts" */
    const char *unit;  /* of work: "bytes", "wavefronts", "warp instructions", "FLOP" */
    tw_range work;     /* of the launch */
    double rate;       /* of the whole GPU, a second */
    tw_range seconds;  /* work / rate */
    double share;      /* of the predicted time that it works: 0 to 1 */
    double flops; /* the roof of a roofline: useful FLOP a second that this part allows at most */
} tw_roof;
enum { TW_MOST_ROOFS = 12 };

/* What one line of the text costs. */
typedef struct tw_explained_line {
    const char *file;
    int line;
    double instructions; /* warp instructions */
    /* Without what asynchronous copies write past L1, which takes no turn of others. */
    double shared_accesses, shared_wavefronts, shared_wavefronts_ideal;
    double conflict_ways; /* wavefronts for each that would do; 1: no bank conflict */
    double requests, sectors, sectors_ideal; /* of global memory */
    double by_thread;                        /* bytes of global memory, each thread's own */
} tw_explained_line;

/* One request of a warp, lane by lane. */
typedef struct tw_explained_request {
    const char *array; /* or the tile in shared memory; NULL: memory of the compiler's own */
    int64_t block;     /* number in the grid, x fastest */
    int warp;          /* in its block */
    uint32_t mask;     /* lanes that take part */
    /* For each lane in the mask: bytes from the array's start, or from that of the block's shared
     * memory. */
    int64_t address[32];
    /* For each lane the wavefront of shared memory that serves it, from 0. -1: none does, as of
     * global memory, of atomic operations, and of a copy that a later lane's copy replaces. */
    int wavefront[32];
    double units, units_ideal; /* as below, of this request */
} tw_explained_request;

/* Accesses of one line that are alike, as the program has them: an assembler may merge some. Of an
 * asynchronous copy there are two, a load of global and a store of shared memory. */
typedef struct tw_explained_access {
    const char *file;
    int line, column;          /* from 1; column 0: not known */
    bool shared;               /* of shared memory; else of global memory */
    bool store;                /* or an atomic operation; else a load */
    bool copy;                 /* that of a copy past L1 (16 bytes a thread) to shared memory: no
                                  banks conflict, `units` are the lines of 128 bytes it goes by */
    int bytes;                 /* of a thread */
    double requests;           /* of warps */
    double units, units_ideal; /* wavefronts of shared memory, sectors of global memory; the fewest
                                  of them for as many bytes */
    double ways;               /* units / units_ideal; of shared memory 1: no bank conflict */
    /* Of shared memory, if each element of a vector were asked for by itself; else 1. */
    double ways_by_element;
    tw_explained_request lanes; /* of those simulated that take the most units, the lowest warp's */
} tw_explained_access;

typedef struct tw_explanation {
    size_t size; /* tw_explanation_init sets it */
    tw_gpu gpu;
    const char *kernel;

    /* Whether it can be launched at all. If not, `why_not` says so in words, and below there is
     * what a block does, if it could be simulated, and nothing of caches, roofs and time. */
    bool launches;
    const char *why_not; /* "cannot launch: 4096 threads a block, the limit is 1024" */

    int64_t grid[3];
    int block[3];
    int64_t blocks;       /* of the grid */
    int threads;          /* of a block */
    int64_t shared_bytes; /* of a block */

    /* Occupancy: what a multiprocessor holds at the same time. */
    int registers;        /* of a thread */
    bool registers_known; /* as given; else estimated */
    int resident_blocks, resident_warps;
    double occupancy;    /* resident_warps of those that it could hold at most */
    const char *limiter; /* "registers", "shared memory", "threads", "blocks" */
    int blocks_by_registers, blocks_by_shared, blocks_by_threads, blocks_by_limit;
    double waves;           /* blocks / (resident_blocks * multiprocessors) */
    double wave_efficiency; /* of the places in all these waves, those that have a block */

    double flops;          /* useful: 2 m n k of a product; as executed where nobody says */
    double flops_executed; /* with those on padding, masked or done twice */

    tw_traffic traffic[TW_TRAFFIC_COUNT];
    double l1_hit_rate; /* of the sectors that loads ask for */
    double l2_hit_rate;

    double shared_wavefronts, shared_wavefronts_ideal; /* bank conflicts: what is between them */
    int line_count;
    const tw_explained_line *lines; /* in the order of the text, those with accesses */
    int access_count;
    const tw_explained_access *accesses; /* in the order of the text */

    int roof_count;
    tw_roof roofs[TW_MOST_ROOFS]; /* the slowest first */
    /* Of what binds: a roof's name, or "latency" where all parts wait; with its words. */
    const char *bound;
    const char *bound_title;

    tw_range seconds;        /* predicted */
    double flops_per_second; /* useful, of seconds.middle */

    const char *verdict; /* a sentence: what it is held up by, and how the figures say so */
    const char *advice;  /* a sentence: the one change that would help most */
    int note_count;
    const char *const *notes; /* what was assumed, and what cannot be known: sentences */

    int64_t sampled_blocks;       /* that were simulated, */
    int64_t sampled_instructions; /* with that many warp instructions */
    double host_seconds;
} tw_explanation;
TW_SIZED(tw_explanation);

/* Explains a launch of a kernel from tw_kernel_for_target. Sizes must be set or follow from arrays;
 * arrays may be missing. Where they are given, only their values are read, and nothing is written
 * to them. TW_OK also if it cannot launch (out->launches). Texts and lines are valid until the
 * launch is freed or explained again. TW_NOT_FOUND: no such GPU; TW_BAD_ARGUMENT: the kernel is the
 * host's, or a size is missing, or the GPU is not one for the kernel's target; TW_UNSUPPORTED,
 * TW_FAULT: it cannot be simulated. options NULL: all defaults. */
TW_API tw_status tw_launch_explain(tw_launch *l, const tw_explain_options *options,
                                   tw_explanation *out);
/* The same of a launch of PTX. It works on copies of the arrays. Useful operations are those that it
 * executes, and compulsory traffic is all of its arrays. The texts live until the program is explained
 * again or freed. TW_NOT_FOUND: no such kernel, or GPU; TW_UNSUPPORTED also where the model knows no GPU of
 * its target. */
TW_API tw_status tw_ptx_explain(tw_ptx *p, const tw_ptx_launch *launch,
                                const tw_explain_options *options, tw_explanation *out);

#ifdef __cplusplus
}
#endif
#endif
