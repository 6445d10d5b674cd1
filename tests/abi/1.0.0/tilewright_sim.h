/* Simulation: the PTX of a launch, or of any compiler, on the host. */
#ifndef TILEWRIGHT_SIM_H
#define TILEWRIGHT_SIM_H

#include "tilewright.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The simulator runs PTX on the host as a GPU would, in warps of 32 lanes, and looks at it while it
 * runs. No GPU is needed. */
enum {
    TW_WATCH_RACES = 1, /* accesses of the same bytes that nothing orders, copies not waited for */
    TW_WATCH_BARRIERS = 2, /* divergence, counts, phases, who waits for whom in a deadlock */
    TW_WATCH_MEMORY = 4,   /* bounds, alignment, bytes read that nobody wrote */
    TW_WATCH_COUNTERS = 8, /* what the hardware counts: instructions, wavefronts, sectors */
    TW_WATCH_CHECKS = 7,
    TW_WATCH_ALL = 15,
    /* Barriers of a block that open without threads that have left the kernel, and
     * TW_WATCH_BARRIERS. Since sm_70 such a barrier waits for those that are left. */
    TW_WATCH_EXITS = 16,
    /* tw_launch_simulate: what arrays hold of which the kernel's `ensures` speaks counts as never
     * written, for TW_WATCH_MEMORY. */
    TW_WATCH_OUTPUTS = 32
};

/* The severity of findings that are warnings by default. */
typedef enum tw_counts {
    TW_COUNTS_WARNING,
    TW_COUNTS_ERROR, /* they fail the run */
    TW_COUNTS_NOT    /* they are not reported */
} tw_counts;

/* A trace: what one block did, event by event (docs/trace.md). */
typedef enum tw_trace_format {
    TW_TRACE_BINARY, /* columns for typed arrays, with a head in JSON */
    TW_TRACE_CHROME  /* JSON, the trace events of Chrome and Perfetto */
} tw_trace_format;
typedef struct tw_trace_options {
    size_t size; /* tw_trace_options_init sets it */
    tw_trace_format format;
    int64_t block[3]; /* the block that is traced, by its index in the grid */
    int64_t from; /* leaves out events before the block has executed this many warp instructions */
    int64_t events; /* events that are kept at most; 0: 200000 */
    /* Asks where bytes of an array come from (tw_sim_result.why): its parameter; NULL: asks nothing.
     * The path is that of the traced block, of which no events must be left out. */
    const char *why;
    int64_t why_offset, why_bytes;
} tw_trace_options;
TW_SIZED(tw_trace_options);

/* One entry of a chosen order: a warp of the block, and how many instructions it may do then; 0: until
 * it waits for others or ends. */
typedef struct tw_sim_turn {
    int warp;
    int64_t steps;
} tw_sim_turn;

/* A write of another block of the launch, of a value that the traced block read. */
typedef struct tw_why_writer {
    int64_t block[3];
    int warp, lane;
    int line, column; /* 0: not known */
    const char *text; /* the expression there; NULL: not known */
    int64_t write;    /* which of the block's writes and updates of global memory, from 0 */
} tw_why_writer;

/* A part of the way of a value. */
typedef struct tw_why_step {
    const char *kind; /* of the trace: "read", "write", "update", "compute", "mma", "release" */
    int64_t time;
    int warp;
    uint32_t lanes;
    int line, column; /* 0: not known */
    const char *text; /* the expression there; NULL: not known */
    int64_t event;    /* of the trace; -1: it is not in there */
    int64_t products; /* multiplications that the value comes from */
    /* "as[0][1]": what it reads or writes of the value's origins. */
    int element_count;
    const char *const *elements;
    /* The event in which another warp writes one of them between the same barriers: nothing orders
     * the two. -1: there is none. */
    int64_t races;
    /* Writes of other blocks that it read: the value's way goes on there. */
    int writer_count;
    const tw_why_writer *writers;
} tw_why_step;
/* The origin of an element's value: the writes, reads and products, back to the arrays as
 * the launch found them; conditions and addresses are no part of it. */
typedef struct tw_why {
    int64_t block[3]; /* the block that wrote it last; -1, -1, -1: none did */
    int thread;       /* of the traced block; -1: that block did not write it */
    int64_t products;
    int64_t global_reads, global_writes, shared_reads, shared_writes; /* elements */
    bool complete;                                                    /* no events are missing */
    int step_count;
    const tw_why_step *steps; /* in order of time, with the barriers that the warp left meanwhile */
} tw_why;

typedef struct tw_sim_options {
    size_t size; /* tw_sim_options_init sets it */
    /* TW_WATCH_…; 0: only what ends a launch by itself: bounds, traps, deadlock, and an `assume` or
     * a slice marked `inside` that is false. These claims are not checked with TW_WATCH_COUNTERS,
     * which counts the program as a GPU runs it. */
    unsigned watch;
    uint64_t seed;   /* of the order of warps and blocks: the same seed, the same run; 0: in turn */
    bool late;       /* asynchronous copies land as late as the rules allow; else at once */
    int64_t late_by; /* with `late`: a copy lands after this many instructions of its warp, if
                        nothing waits for it before; 0: when something waits for it */
    int64_t step_limit; /* warp instructions; 0: 2^40 */
    /* Findings to let pass: lines "kind [place [place]]", '#' starts a comment; a place is
     * file:line or the name of a function, '*' in it any text. NULL: none. */
    const char *suppressions;
    const char *suppressions_name; /* their file, for messages; may be NULL */
    tw_counts same_value;          /* "same-value": unordered writes of one value */
    /* "volatile": volatile accesses that nothing orders; TW_COUNTS_NOT: nor is "volatile-race"
     * reported, volatile writes of different values, which is an error otherwise. */
    tw_counts volatiles;
    /* Traces a block. As with TW_WATCH_COUNTERS, claims are not checked then. A block that the grid
     * does not have is TW_BAD_ARGUMENT. NULL: no trace. */
    const tw_trace_options *trace;
    /* The order in which the warps of each block get their turns, over and over; warps that it does
     * not have come after it, each until it waits. NULL: in the order of their numbers. Blocks run
     * one after the other. With an order `seed` is 0. */
    const tw_sim_turn *order;
    int order_count;
    bool source_only; /* the text of a finding leaves out the place in the PTX if .loc says the
                         place in the source */
} tw_sim_options;
TW_SIZED(tw_sim_options);

/* The counts of the hardware (TW_WATCH_COUNTERS): the name, how counts of two launches are joined, and what
 * it counts. The counts are of the accesses as the PTX has them; JSON and docs/messages.md have the same
 * names. async_overlap is a mean, of which the greater one is kept. */
#define TW_COUNTER_LIST(X)                                                                         \
    X(warp_instructions, SUM, "instructions, once a warp")                                         \
    X(thread_instructions, SUM, "instructions, once a thread")                                     \
    X(busiest_warp, MOST, "instructions of the warp that runs the most; of no line")               \
    X(shared_loads, SUM, "warp instructions that read shared memory, ldmatrix too")                \
    X(shared_stores, SUM,                                                                          \
      "warp instructions that write it, stmatrix too, asynchronous copies not")                    \
    X(shared_atomics, SUM, "atomic ones on it; their wavefronts are not counted")                  \
    X(shared_wavefronts, SUM, "wavefronts of shared memory")                                       \
    X(shared_wavefronts_ideal, SUM, "the fewest that these accesses could take")                   \
    X(bank_conflicts, SUM, "wavefronts above those")                                               \
    X(global_loads, SUM, "warp instructions that read global memory")                              \
    X(global_stores, SUM, "that write it")                                                         \
    X(global_atomics, SUM, "atomic ones on it; not among requests and sectors")                    \
    X(global_requests, SUM, "loads, stores and asynchronous copies from global memory")            \
    X(global_sectors, SUM, "sectors of 32 bytes that those touch")                                 \
    X(block_sectors, MOST, "sectors of the block that touches the most; of no line")               \
    X(local_accesses, SUM, "warp instructions on local memory")                                    \
    X(async_copies, SUM, "asynchronous copies, once a warp")                                       \
    X(async_bytes, SUM, "bytes that they write")                                                   \
    X(async_depth, MOST, "groups of them under way at most, while a thread reads shared memory")   \
    X(async_overlap, MOST,                                                                         \
      "bytes of a warp's copies under way, on average, when it reads shared memory")

/* Each is a sum but busiest_warp, block_sectors and async_depth, the most of any, and async_overlap. */
typedef struct tw_counters {
#define TW_COUNTER_FIELD(name, joined, what) int64_t name;
    TW_COUNTER_LIST(TW_COUNTER_FIELD)
#undef TW_COUNTER_FIELD
} tw_counters;

/* Kinds of instructions, and their names. */
#define TW_KIND_LIST(X)                                                                            \
    X(TW_KIND_F64, "f64")                                                                          \
    X(TW_KIND_F32, "f32")                                                                          \
    X(TW_KIND_F16, "f16")                                                                          \
    X(TW_KIND_INTEGER, "integer")                                                                  \
    X(TW_KIND_BITS, "bits")                                                                        \
    X(TW_KIND_COMPARE, "compare")                                                                  \
    X(TW_KIND_CONVERT, "convert")                                                                  \
    X(TW_KIND_MOVE, "move")                                                                        \
    X(TW_KIND_SHARED, "shared")                                                                    \
    X(TW_KIND_GLOBAL, "global")                                                                    \
    X(TW_KIND_LOCAL, "local")                                                                      \
    X(TW_KIND_CONST, "const")                                                                      \
    X(TW_KIND_GENERIC, "generic")                                                                  \
    X(TW_KIND_ATOMIC, "atomic")                                                                    \
    X(TW_KIND_ASYNC, "async")                                                                      \
    X(TW_KIND_BARRIER, "barrier")                                                                  \
    X(TW_KIND_LANES, "lanes")                                                                      \
    X(TW_KIND_CONTROL, "control")                                                                  \
    X(TW_KIND_MATRIX, "matrix")                                                                    \
    X(TW_KIND_OTHER, "other")

typedef enum tw_kind {
#define TW_KIND_ENUM(name, text) name,
    TW_KIND_LIST(TW_KIND_ENUM)
#undef TW_KIND_ENUM
        TW_KIND_COUNT
} tw_kind;

/* The counters of a line of the source, or of the PTX where it has no .loc; line 0: not known. */
typedef struct tw_line_counters {
    const char *file;
    int line;
    tw_counters counters;
} tw_line_counters;

typedef struct tw_counted {
    tw_counters total;
    int64_t instructions[TW_KIND_COUNT]; /* warp instructions of each kind */
    int line_count;
    const tw_line_counters *lines; /* by file and line */
} tw_counted;

typedef struct tw_sim_finding {
    /* "race", "out-of-bounds", "divergent-barrier", …; of what ended a launch and no other finding
     * says: "deadlock", "endless" (the step limit), "fault", "unsupported", "stopped" */
    const char *kind;
    const char *message; /* one line */
    bool fails;          /* false: a warning, or suppressed */
    bool suppressed;
    const char *file; /* of the first access, as .loc says it or else in the PTX; NULL: no place */
    int line, column;
    const char *other_file; /* of the second, NULL: there is none */
    int other_line, other_column;
    tw_code code; /* of `kind` */
    const tw_access *const *accesses;
    int access_count;
    int64_t count;    /* how often it was seen */
    const char *text; /* with source lines, both accesses, and an order of events that goes wrong */
    const char *json; /* one object: kind, fails, count, message, accesses, steps */
} tw_sim_finding;

/* Texts are valid until the launch or program that was simulated is freed or simulated again. */
typedef struct tw_sim_result {
    size_t size;      /* tw_sim_result_init sets it */
    int64_t failures; /* findings that fail */
    int finding_count;
    const tw_sim_finding *findings; /* each kind and pair of lines once */
    int64_t warp_instructions;
    double seconds;            /* of the host */
    const char *ended;         /* what ended it before its end, with the place; NULL: it was done */
    const char *report;        /* all of it to be read; "" if there is nothing to say */
    const tw_counted *counted; /* NULL without TW_WATCH_COUNTERS */
    const char *counters; /* a table to be read, "" without TW_WATCH_COUNTERS; the same in JSON: */
    /* An object: in all, and by line in "lines"; NULL without. Of tw_ptx_simulate it has besides
     * "as_assembled", what they are for the machine code: "exact", whether that is known, a pair
     * [least, most] (null: nobody knows) for each counter of memory, "lines" with those that are
     * not exact and "why"; "assembler", null if tw_ptx_machine_code was not given any. */
    const char *counters_json;
    /* An object: "findings" (each kind, message, accesses, …), "ended", "warp_instructions" and,
     * where they were asked for, "counters". */
    const char *json;
    const void *trace; /* `trace_bytes` bytes, as tw_sim_options.trace says; NULL: none */
    size_t trace_bytes;
    const tw_why *why; /* as tw_trace_options.why asks; NULL: it does not */
} tw_sim_result;
TW_SIZED(tw_sim_result);

/* Lets tw_launch_simulate run a kernel whose accesses race (TW_UNSYNCHRONISED), so that what comes of
 * the race can be seen. false is the default. A GPU never gets such a program: other runs of the launch
 * give TW_UNSUPPORTED, and tw_launch_check reports its races all the same. TW_BAD_ARGUMENT: the kernel is
 * for the target "cpu". */
TW_API tw_status tw_launch_despite_races(tw_launch *l, bool despite);

/* Runs a launch of a kernel from tw_kernel_for_target: the very PTX that the GPU would get, on the
 * launch's arrays, in place. options NULL: all checks, in turn; result NULL is fine. TW_OK;
 * TW_FAULT: the messages say what was found, or what ended it: a fault, a deadlock, the step limit;
 * TW_UNSUPPORTED: an instruction that is not simulated, named; TW_CANCELLED. */
TW_API tw_status tw_launch_simulate(tw_launch *l, const tw_sim_options *options,
                                    tw_sim_result *result);

/* A PTX program, of any compiler. */
typedef struct tw_ptx tw_ptx;
/* Reads, verifies and copies it. On TW_BAD_PROGRAM the messages say why and *out is NULL. */
TW_API tw_status tw_ptx_from_text(tw_context *ctx, const char *name, const char *text,
                                  size_t length, tw_ptx **out);
TW_API tw_status tw_ptx_from_file(tw_context *ctx, const char *path, tw_ptx **out);
TW_API void tw_ptx_free(tw_ptx *p);
TW_API int tw_ptx_kernel_count(const tw_ptx *p);
TW_API const char *tw_ptx_kernel_at(const tw_ptx *p, int index); /* its name; NULL past the last */
/* What C++ called it, in no namespace or in any: "sum" of _Z3sumPfi and of _ZN2ns3sumIfEEvPT_i; of
 * other names the whole. Kernels may share one. NULL past the last. */
TW_API const char *tw_ptx_kernel_called(const tw_ptx *p, int index);
/* Threads of a block that it asks for (.reqntid, or .maxntid as a limit); false: it asks for none. */
TW_API bool tw_ptx_block(const tw_ptx *p, const char *kernel, int block[3]);

typedef struct tw_ptx_param {
    size_t size;      /* tw_ptx_param_init sets it */
    const char *name; /* "reduce_param_0" */
    const char *type; /* ".u64", ".f32", ".b8[24]" */
    size_t bytes, alignment;
} tw_ptx_param;
TW_SIZED(tw_ptx_param);
TW_API int tw_ptx_param_count(const tw_ptx *p, const char *kernel); /* -1: no such kernel */
TW_API tw_status tw_ptx_param_at(const tw_ptx *p, const char *kernel, int index, tw_ptx_param *out);
/* The files that .loc lines name; NULL past the last. */
TW_API const char *tw_ptx_source_at(const tw_ptx *p, int index);
/* The text of such a file, copied, so that reports show its lines. */
TW_API tw_status tw_ptx_source(tw_ptx *p, const char *name, const char *text, size_t length);
/* What it says it is for: "sm_90". */
TW_API const char *tw_ptx_target(const tw_ptx *p);
/* What `ptxas -lineinfo` made of the text: a cubin, copied. An assembler may merge accesses, or
 * move them; with it counters are those of the accesses that the machine code has. TW_BAD_PROGRAM:
 * it is none, or has no lines. */
TW_API tw_status tw_ptx_machine_code(tw_ptx *p, const void *cubin, size_t length);

/* A pointer within a value, as a struct has them: what it points to, as in tw_ptx_argument. */
typedef struct tw_ptx_pointer {
    size_t offset;    /* in the value: its 8 bytes get the address */
    const char *name; /* in reports; NULL: "PARAMETER+OFFSET" */
    void *data;
    size_t bytes;
    bool uninitialised;
    size_t initialised;
    bool structs;
} tw_ptx_pointer;

/* What a kernel is given for a parameter: a value (`data` has as many bytes as the parameter), or
 * the address of memory that is the caller's and is used in place. Memory that is given twice, or
 * overlaps, is the same memory for the kernel too. */
typedef struct tw_ptx_argument {
    const char *name; /* in reports; NULL: the parameter's */
    void *data;
    size_t bytes;
    bool is_array;
    bool uninitialised; /* an array: what it holds counts as never written */
    size_t initialised; /* if uninitialised: the bytes at the start that count as written */
    const tw_ptx_pointer *pointers; /* of a value */
    int pointer_count;
    /* For a value: `bytes` flags, one for each byte. A byte whose flag is not 0 counts as never
     * written, and the simulator reports its use. NULL: all bytes count as written. */
    const unsigned char *unwritten;
    /* An array whose elements may be structs: a kernel may copy bytes there that were never written,
     * as it does with padding. In other arrays that is a finding, "uninitialised". */
    bool structs;
} tw_ptx_argument;

typedef struct tw_ptx_launch {
    size_t size;        /* tw_ptx_launch_init sets it */
    const char *kernel; /* NULL: the only one */
    int64_t grid[3];    /* 0 counts as 1 in these three */
    int block[3], cluster[3];
    int64_t shared_bytes; /* dynamic shared memory of a block */
    const tw_ptx_argument *arguments;
    int argument_count;
    /* All blocks run at the same time, so that they may wait for each other: a grid's sync() of
     * cooperative groups. */
    bool cooperative;
} tw_ptx_launch;
TW_SIZED(tw_ptx_launch);
/* As tw_launch_simulate. TW_NOT_FOUND: no such kernel. */
TW_API tw_status tw_ptx_simulate(tw_ptx *p, const tw_ptx_launch *launch,
                                 const tw_sim_options *options, tw_sim_result *result);
/* On the GPU that is here: arrays are copied there and back. milliseconds (of the kernel) may be
 * NULL. TW_UNSUPPORTED: there is none, or it does not take the program. */
TW_API tw_status tw_ptx_run(tw_ptx *p, const tw_ptx_launch *launch, double *milliseconds);

#ifdef __cplusplus
}
#endif
#endif
