/* Profiles of launches on the CPU engine: the time of each line and kind of step, the work that
 * they did, how products read their operands, and why some do not take the engine's fastest way
 * (docs/profile.md). May change with a minor version (docs/versions.md). */
#ifndef TILEWRIGHT_PROFILE_H
#define TILEWRIGHT_PROFILE_H

#include "tilewright.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A reason for which the engine does not take its fastest way. */
typedef struct tw_slow_path {
    size_t size;      /* tw_slow_path_init sets it */
    const char *code; /* "tile-read"; docs/profile.md lists the codes */
    /* Place of the product, the loop or the kernel; line and column from 1. NULL, 0: not known. */
    const char *file;
    int line, column;
    int cause_line;      /* line of what prevents the fastest way; 0: not known */
    const char *reason;  /* a sentence: "`s` is not packed for this product, because line 7 …" */
    const char *way_out; /* how the kernel gets the fastest way: "fill a second tile …" */
} tw_slow_path;
TW_SIZED(tw_slow_path);

/* Fills `out` with reason number `index` of a launch of a CPU kernel, in the order of the text.
 * The launch is prepared first if necessary. Returns TW_OK; TW_NOT_FOUND past the last;
 * TW_BAD_ARGUMENT for a GPU's kernel; the statuses of tw_launch_prepare. The texts are valid until
 * the next call on the context. */
TW_API tw_status tw_launch_slow_path(tw_launch *l, int index, tw_slow_path *out);

/* A part of a profile: a step of the program, all steps of one line, or all steps of one kind.
 * Times are sums over all threads. */
typedef struct tw_profile_part {
    const char *file; /* NULL: a kind, or the place is not known */
    int line, column; /* from 1; 0: of a line, its column; not known */
    const char *text; /* the source line, without blanks around it; NULL: a kind, or not known */
    /* A step or a kind: its name ("product", "elementwise", …), and that in words. NULL: a line. */
    const char *kind, *title;
    const char *operation; /* a step: "exp, -, sum"; "": none is known */
    int64_t runs;          /* executions, over all blocks and launches */
    double seconds;
    double share; /* of the seconds of all parts: 0 to 1 */
    /* Operations on floats; a fused multiply-add is two. Bytes of arrays that the blocks read and
     * wrote. Elements past the edges of arrays do not count. */
    double flops, read, written;
} tw_profile_part;

/* The ways in which a product reads an operand. */
typedef enum tw_operand_path {
    TW_OPERAND_PLAIN,    /* a value as it was computed, not packed */
    TW_OPERAND_SHARED,   /* packed once for all blocks of a launch */
    TW_OPERAND_IN_PLACE, /* in the array itself */
    TW_OPERAND_OWN,      /* packed by each block for itself */
    TW_OPERAND_PATHS = 4 /* their number */
} tw_operand_path;

/* Returns the name of a path: "plain", "shared", "in place", "own". */
TW_API const char *tw_operand_path_name(tw_operand_path path);

/* A product of tiles, `dot`. */
typedef struct tw_profile_product {
    const char *file;
    int line, column;
    int64_t runs;           /* calls of `dot` */
    double seconds;         /* of the multiplications */
    double packing_seconds; /* of packing the operands before them, and looking them up */
    double flops;
    /* Calls of `dot` by the path of the left and of the right operand. */
    int64_t left[TW_OPERAND_PATHS], right[TW_OPERAND_PATHS];
    const char *type; /* the type of the multiplications: "f32", "bf16", "i8"; "": not known */
} tw_profile_product;

/* A thread of the engine. */
typedef struct tw_profile_thread {
    double busy; /* seconds in blocks, its own or those that it helped with; the rest is waiting */
    int64_t blocks;
} tw_profile_thread;

/* The profile of one launch or several. Its texts and lists are valid until the launch is freed
 * or profiled again. */
typedef struct tw_profile {
    size_t size; /* tw_profile_init sets it */
    const char *kernel;
    const char *instructions; /* the set of routines: "avx2", "avx512" */
    int64_t launches, blocks;
    double seconds;        /* of all launches, from beginning to end */
    double thread_seconds; /* of all parts, over all threads */
    double profiler;       /* seconds of all threads that profiling took; in no part */
    double flops, read, written;
    double array_bytes; /* of all arrays of the launch, each once */
    /* Steps of the program that ran, in its order; lines in the order of the text; kinds with the
     * most time first; products in the order of the program. */
    int step_count, line_count, kind_count, product_count;
    const tw_profile_part *steps, *lines, *kinds;
    const tw_profile_product *products;
    int thread_count;
    const tw_profile_thread *threads;
    int reason_count;
    const tw_slow_path *reasons; /* as tw_launch_slow_path has them */
    int64_t bound_blocks;        /* blocks whose steps over rows were bound in advance */
} tw_profile;
TW_SIZED(tw_profile);

/* Runs a launch of a CPU kernel `runs` times (at least once) as tw_launch_time does, and fills
 * `out` with the profile of these runs. Profiling makes a run slower: it reads a clock before and
 * after each step. The time of that is subtracted from the parts, and not from `seconds`. Returns
 * the statuses of tw_launch_run, and TW_BAD_ARGUMENT if the kernel is a GPU's. */
TW_API tw_status tw_launch_profile(tw_launch *l, int runs, tw_profile *out);

/* The roofs of this machine: the most that its processor can do, with all of a context's threads.
 * Rates are FLOPs a second (a multiply-add is two), of i8 operations, and bytes a second that are
 * read; 0: the processor has no such instruction or cache, or it was not measured. */
typedef struct tw_cpu_roofs {
    size_t size; /* tw_cpu_roofs_init sets it */
    const char *processor, *instructions;
    int threads;
    bool kept; /* read from the file that an earlier call left */
    double f32, f64, bf16, i8;
    double cache_bytes[3]; /* of the first-, second- and third-level cache */
    double bandwidth[4];   /* of these caches, and of memory */
} tw_cpu_roofs;
TW_SIZED(tw_cpu_roofs);

/* Fills `out` with the roofs of this machine. The first call measures for about a second and
 * keeps the figures in the folder of assembled kernels (tw_config.cache). Later calls read them, if
 * the processor, the routines, the number of threads and the library's version are the same.
 * measure: measures in any case. The texts are valid until the next call on the context. Returns
 * TW_OK, TW_NO_MEMORY, or TW_BAD_ARGUMENT for NULL. */
TW_API tw_status tw_context_roofs(tw_context *ctx, bool measure, tw_cpu_roofs *out);

#ifdef __cplusplus
}
#endif
#endif
