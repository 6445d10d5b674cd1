/* The model of GPUs (docs/model.md): the work that a launch gives to each part of a GPU, and so
 * the least time that it takes. It counts by simulation of some of the launch's blocks and needs
 * no GPU. May change with a minor version (docs/versions.md). */
#ifndef TILEWRIGHT_MODEL_H
#define TILEWRIGHT_MODEL_H

#include "tilewright_sim.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A figure that is not known exactly: `middle` is the most likely value, and the true value is
 * mostly between `low` and `high`. */
typedef struct tw_range {
    double low, middle, high;
} tw_range;

/* A GPU that the model knows. Rates are those of the whole GPU at `clock`, dense; a multiply-add
 * is two operations; 0: the GPU has no such units. */
typedef struct tw_gpu {
    size_t size;         /* tw_gpu_init sets it */
    const char *name;    /* "H200 SXM" */
    const char *aliases; /* other names that tw_gpu_find knows, with commas: "h200,NVIDIA H200" */
    const char *target;  /* the target of kernels for it: "sm_90" */
    const char *memory;  /* the kind of its memory: "HBM3e" */
    const char *source;  /* the source of the figures */
    int capability;      /* 90: compute capability 9.0 */
    int multiprocessors;
    double clock; /* Hz, boost */
    /* Hz of heavy work of the tensor units under the power limit; `clock` if that is not known. */
    double tensor_clock;
    double f64, f32;                       /* operations a second, without tensor units */
    double tensor_f64;                     /* at `clock`; 0: the tensor units have no f64 */
    double tensor_tf32, tensor_f16;        /* f16 and bf16, sums in f32 */
    double tensor_i8, tensor_fp8;          /* sums in i32, f32 */
    double memory_bytes, memory_bandwidth; /* bytes, bytes a second: HBM or GDDR */
    double l2_bytes;
    tw_range l2_bandwidth;   /* bytes a second, to all multiprocessors; the roof uses `high` */
    double shared_bandwidth; /* bytes a second: 128 for each cycle and multiprocessor */
    int l1_bytes;            /* bytes that L1 and shared memory of a multiprocessor share */
    /* Cycles from a load to its result: from shared memory; from global memory by the first cache that
     * has it; from memory while many blocks read. */
    int shared_latency, l1_latency, l2_latency, memory_latency;
    /* Limits: shared memory of a multiprocessor and of a block, and the system's bytes for each block in
     * addition; the registers, threads, warps and blocks of a multiprocessor; threads of a block. */
    int shared_of_multiprocessor, shared_of_block, system_shared_bytes;
    int registers, registers_of_thread;
    int threads, warps, blocks;
    int threads_of_block;
} tw_gpu;
TW_SIZED(tw_gpu);

/* Fills `out` with GPU number `index` of the model. Returns false past the last. Any thread. */
TW_API bool tw_gpu_at(int index, tw_gpu *out);

/* Fills `out` with the GPU of that name, alias or driver's name; case and blanks have no effect.
 * Returns false if the model does not know it. Any thread. */
TW_API bool tw_gpu_find(const char *name, tw_gpu *out);

/* The settings of an explanation. */
typedef struct tw_explain_options {
    size_t size;     /* tw_explain_options_init sets it */
    const char *gpu; /* a name for tw_gpu_find; NULL: the first GPU of the kernel's target */
    /* Registers of a thread, from tw_occupancy or `ptxas -v`. 0: the model estimates them. */
    int registers;
    int64_t step_limit; /* warp instructions of one block; 0: 50000000 */
} tw_explain_options;
TW_SIZED(tw_explain_options);

/* The bytes that one part of the memory moves, counted in different ways. 0: not counted there. */
typedef struct tw_traffic {
    const char *name;  /* "registers", "shared", "L2", "HBM" */
    double by_thread;  /* the elements of each thread, also those that threads share */
    double by_request; /* requests of warps: sectors of 32 bytes, wavefronts of 128 */
    /* Reads and writes of these, as the program has its accesses, for shared memory and at L2. Atomic
     * operations are writes. */
    double read_by_thread, written_by_thread, read_by_request, written_by_request;
    /* Sectors of 32 bytes at L2 if each element of a vector were requested alone. */
    double read_by_element, written_by_element;
    tw_range moved;         /* bytes that the caches above do not serve */
    tw_range read, written; /* the parts of `moved`; 0 for registers and shared memory */
    double compulsory;      /* each array once, counting the bytes that the kernel uses */
    /* Useful FLOPs for each byte of by_thread, by_request, moved.middle; 0 if those are 0. */
    double intensity_by_thread, intensity_by_request, intensity;
} tw_traffic;
/* The parts of tw_explanation.traffic. */
enum { TW_AT_REGISTERS, TW_AT_SHARED, TW_AT_L2, TW_AT_HBM, TW_TRAFFIC_COUNT };

/* A roof: one part of the GPU, and the time that it works at full rate for this launch. No launch
 * is faster than its slowest part. */
typedef struct tw_roof {
    /* "HBM", "L2", "L2 requests", "shared" (wavefronts of shared memory and L1), "load/store",
     * "issue", "fma" (f32 and f16), "f64", "special" (exp2 …; kernels with products of warpgroups),
     * "tensor" */
    const char *name;
    const char *title; /* the name in words: "shared memory's wavefronts" */
    const char *unit;  /* of work: "bytes", "wavefronts", "warp instructions", "FLOP" */
    tw_range work;     /* of the launch */
    double rate;       /* of the whole GPU, a second */
    tw_range seconds;  /* work / rate */
    double share;      /* the part of the predicted time that it works: 0 to 1 */
    double flops;      /* the roof of a roofline: the most useful FLOP a second that it allows */
} tw_roof;
/* The most roofs of an explanation. */
enum { TW_MOST_ROOFS = 12 };

/* The cost of one line of the text. */
typedef struct tw_explained_line {
    const char *file;
    int line;
    double instructions; /* warp instructions */
    /* As an assembler may merge the accesses; copies past L1 count, too. */
    double shared_accesses, shared_wavefronts, shared_wavefronts_ideal;
    double conflict_ways; /* wavefronts / ideal wavefronts; 1: no bank conflict */
    double requests, sectors, sectors_ideal; /* of global memory */
    double by_thread; /* bytes of global memory, the elements of each thread */
} tw_explained_line;

/* One request of a warp, lane by lane. */
typedef struct tw_explained_request {
    const char *array; /* or the tile in shared memory; NULL: memory that the compiler added */
    int64_t block;     /* number in the grid, x fastest */
    int warp;          /* in its block */
    uint32_t mask;     /* lanes that take part */
    /* For each lane in the mask: bytes from the array's start, or from the start of the block's shared
     * memory. */
    int64_t address[32];
    /* For each lane: the wavefront of shared memory that serves it, from 0. -1: none, as for global
     * memory, atomic operations, and a copy that a later lane's copy replaces. */
    int wavefront[32];
    double units, units_ideal; /* as in tw_explained_access, of this request */
} tw_explained_request;

/* Accesses of one line that are alike in the program; an assembler may merge some. An
 * asynchronous copy is two: a load of global memory and a store of shared memory. */
typedef struct tw_explained_access {
    const char *file;
    int line, column; /* from 1; column 0: not known */
    bool shared;      /* shared memory; else global memory */
    bool store;       /* a store or an atomic operation; else a load */
    bool copy;        /* a copy past L1 (16 bytes for each thread) to shared memory: it takes
                                  a wavefront for each pair of 128-byte rows that it reads and
                                  writes, and other accesses do not wait for it */
    int bytes;        /* of a thread */
    double requests;  /* of warps */
    double units, units_ideal; /* wavefronts of shared memory, sectors of global memory; the fewest
                                  for these bytes */
    double ways;               /* units / units_ideal; shared memory, 1: no bank conflict */
    /* Shared memory: `ways` if each element of a vector were requested alone; else 1. */
    double ways_by_element;
    tw_explained_request lanes; /* the simulated request with the most units, of the lowest warp */
} tw_explained_access;

/* The explanation of a launch. Its texts and lists are valid until the launch or program is freed
 * or explained again. */
typedef struct tw_explanation {
    size_t size; /* tw_explanation_init sets it */
    tw_gpu gpu;
    const char *kernel;

    /* True if the GPU can launch it. If false, `why_not` is the reason, and the fields below have a
     * block's work, if it could be simulated, without caches, roofs and time. */
    bool launches;
    const char *why_not; /* "cannot launch: 4096 threads a block, the limit is 1024" */

    int64_t grid[3];
    int block[3];
    int64_t blocks;       /* of the grid */
    int threads;          /* of a block */
    int64_t shared_bytes; /* of a block */

    /* Occupancy: the blocks that a multiprocessor holds at the same time. */
    int registers;        /* of a thread */
    bool registers_known; /* as given; else estimated */
    int resident_blocks, resident_warps;
    double occupancy;    /* resident_warps / the most warps of a multiprocessor */
    const char *limiter; /* "registers", "shared memory", "threads", "blocks" */
    int blocks_by_registers, blocks_by_shared, blocks_by_threads, blocks_by_limit;
    double waves;           /* blocks / (resident_blocks * multiprocessors) */
    double wave_efficiency; /* the part of the places in all waves that has a block: 0 to 1 */

    double flops;          /* useful: 2 m n k of a product; else as executed */
    double flops_executed; /* also those on padding, masked or done twice */

    tw_traffic traffic[TW_TRAFFIC_COUNT];
    double l1_hit_rate; /* of the sectors that loads request */
    double l2_hit_rate;

    double shared_wavefronts, shared_wavefronts_ideal; /* their difference is bank conflicts */
    int line_count;
    const tw_explained_line *lines; /* lines with accesses, in the order of the text */
    int access_count;
    const tw_explained_access *accesses; /* in the order of the text */

    int roof_count;
    tw_roof roofs[TW_MOST_ROOFS]; /* the slowest first */
    /* The part that limits the launch: a roof's name, or "latency" if all parts wait; and in words. */
    const char *bound;
    const char *bound_title;

    tw_range seconds;        /* predicted */
    double flops_per_second; /* useful, with seconds.middle */

    const char *verdict; /* a sentence: the limit, and the figures that show it */
    const char *advice;  /* a sentence: the one change that would help most */
    int note_count;
    const char *const *notes; /* sentences: assumptions, and figures that cannot be known */

    int64_t sampled_blocks;       /* number of simulated blocks */
    int64_t sampled_instructions; /* their warp instructions */
    double host_seconds;          /* time that the explanation took */

    /* For each of `accesses`: the operation of an atomic one as PTX names it, "add"; NULL: a plain load
     * or store. */
    const char *const *atomics;

    /* The wavefronts of copies past L1, which are among `shared_wavefronts`. Other accesses do not
     * wait for them, so the predicted time does not count them. */
    double copy_wavefronts, copy_wavefronts_ideal;
    /* shared_wavefronts of the PTX as written, as the counters have them: they differ if an assembler
     * may merge neighbouring accesses of a thread. */
    double wavefronts_as_written, wavefronts_ideal_as_written;
    /* For each of `accesses`: its `ways` in the PTX as written. */
    const double *ways_as_written;
} tw_explanation;
TW_SIZED(tw_explanation);

/* Explains a launch of a kernel from tw_kernel_for_target. Sizes must be set or follow from
 * arrays. Arrays may be missing; their values are read and never written. options: NULL for all
 * defaults. Returns TW_OK, also if the GPU cannot launch it (out->launches is false);
 * TW_NOT_FOUND if the model does not know the GPU; TW_BAD_ARGUMENT if the kernel is the host's, a
 * size is missing, or the GPU is not one for the kernel's target; TW_UNSUPPORTED or TW_FAULT if
 * it cannot be simulated. */
TW_API tw_status tw_launch_explain(tw_launch *l, const tw_explain_options *options,
                                   tw_explanation *out);

/* Explains a launch of a PTX kernel, on copies of its arrays. Useful operations are those
 * executed, and compulsory traffic is all of its arrays. options: NULL for all defaults. Returns
 * the statuses of tw_launch_explain; TW_NOT_FOUND also without such a kernel; TW_UNSUPPORTED also
 * if the model knows no GPU of its target. */
TW_API tw_status tw_ptx_explain(tw_ptx *p, const tw_ptx_launch *launch,
                                const tw_explain_options *options, tw_explanation *out);

#ifdef __cplusplus
}
#endif
#endif
