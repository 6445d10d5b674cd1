/* Simulation: PTX of a launch, or of any compiler, run on the host. The simulator runs warps of 32
 * lanes as a GPU does, and checks and counts while they run. It needs no GPU. May change with a
 * minor version (docs/versions.md). */
#ifndef TILEWRIGHT_SIM_H
#define TILEWRIGHT_SIM_H

#include "tilewright.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The checks and counters of tw_sim_options.watch. */
enum {
    TW_WATCH_RACES = 1, /* accesses of the same bytes that nothing orders, copies not waited for */
    TW_WATCH_BARRIERS = 2, /* divergence, counts, phases, which threads wait in a deadlock */
    TW_WATCH_MEMORY = 4,   /* bounds, alignment, reads of bytes that were never written */
    TW_WATCH_COUNTERS = 8, /* counts of the hardware: instructions, wavefronts, sectors */
    TW_WATCH_CHECKS = 7,
    TW_WATCH_ALL = 15,
    /* With TW_WATCH_BARRIERS: barriers of a block that open although threads have left the kernel. Since
     * sm_70 such a barrier waits for the remaining threads. */
    TW_WATCH_EXITS = 16,
    /* With TW_WATCH_MEMORY and tw_launch_simulate: the contents of arrays that `ensures` describes count
     * as never written. */
    TW_WATCH_OUTPUTS = 32
};

/* The severity of findings that are warnings by default. */
typedef enum tw_counts {
    TW_COUNTS_WARNING,
    TW_COUNTS_ERROR, /* they fail the run */
    TW_COUNTS_NOT    /* they are not reported */
} tw_counts;

/* The formats of a trace, the events of one block in order (docs/trace.md). */
typedef enum tw_trace_format {
    TW_TRACE_BINARY, /* columns for typed arrays, with a head in JSON */
    TW_TRACE_CHROME  /* JSON, the trace events of Chrome and Perfetto */
} tw_trace_format;

/* The block that is traced, and the form of the trace. */
typedef struct tw_trace_options {
    size_t size; /* tw_trace_options_init sets it */
    tw_trace_format format;
    int64_t block[3]; /* the block that is traced, by its index in the grid */
    int64_t from;     /* warp instructions of the block before the first event of the trace */
    int64_t events;   /* the most events kept; 0: 200000 */
    /* Asks for the origin of bytes of an array (tw_sim_result.why): the array's parameter; NULL: no
     * question. The answer is the traced block's, and needs all of its events. */
    const char *why;
    int64_t why_offset, why_bytes;
} tw_trace_options;
TW_SIZED(tw_trace_options);

/* A time slice of a chosen schedule: a warp of the block, and the number of instructions that it issues.
 * 0: until it waits for others or ends. */
typedef struct tw_sim_turn {
    int warp;
    int64_t steps;
} tw_sim_turn;

/* A write of another block of the launch, whose value the traced block read. */
typedef struct tw_why_writer {
    int64_t block[3];
    int warp, lane;
    int line, column; /* 0: not known */
    const char *text; /* the expression there; NULL: not known */
    int64_t write;    /* number among the block's writes and updates of global memory, from 0 */
} tw_why_writer;

/* A step on the path of a value. */
typedef struct tw_why_step {
    const char *kind; /* of the trace: "read", "write", "update", "compute", "mma", "release" */
    int64_t time;
    int warp;
    uint32_t lanes;
    int line, column; /* 0: not known */
    const char *text; /* the expression there; NULL: not known */
    int64_t event;    /* number in the trace; -1: not in the trace */
    int64_t products; /* number of multiplications that the value comes from */
    /* The elements of the value's origins that the step reads or writes: "as[0][1]". */
    int element_count;
    const char *const *elements;
    /* The event in which another warp writes one of these elements between the same barriers, without
     * an order of the two. -1: no such event. */
    int64_t races;
    /* Writes of other blocks that the step read: the path goes on there. */
    int writer_count;
    const tw_why_writer *writers;
} tw_why_step;

/* The origin of an element's value: the writes, reads and products, back to the arrays as the
 * launch found them. Conditions and addresses are not part of it. */
typedef struct tw_why {
    int64_t block[3]; /* the block that wrote it last; -1, -1, -1: none did */
    int thread;       /* of the traced block; -1: that block did not write it */
    int64_t products;
    int64_t global_reads, global_writes, shared_reads, shared_writes; /* elements */
    bool complete;                                                    /* no events are missing */
    int step_count;
    const tw_why_step
        *steps; /* in the order of time, with the barriers that the warp passed between them */
} tw_why;

/* The settings of a simulation. */
typedef struct tw_sim_options {
    size_t size; /* tw_sim_options_init sets it */
    /* TW_WATCH_…; 0: only errors that end a launch: bounds, traps, deadlock, and a false `assume` or
     * `inside`. TW_WATCH_COUNTERS leaves out `assume` and `inside`, because it counts the program as a
     * GPU runs it. */
    unsigned watch;
    uint64_t seed;      /* of the order of warps and blocks; 0: in turn */
    bool late;          /* asynchronous copies land as late as the rules allow; else at once */
    int64_t late_by;    /* with `late`: the instructions of its warp after which a copy lands, if
                        nothing waits for it before; 0: a copy lands when something waits for it */
    int64_t step_limit; /* warp instructions; 0: 2^40 */
    /* Findings that do not fail: lines "kind [place [place]]"; '#' starts a comment. A place is
     * file:line or the name of a function; '*' matches any text. NULL: none. */
    const char *suppressions;
    const char *suppressions_name; /* their file, for messages; may be NULL */
    tw_counts same_value;          /* "same-value": unordered writes of one value */
    /* "volatile": volatile accesses without an order. TW_COUNTS_NOT also removes "volatile-race",
     * volatile writes of different values, which is an error otherwise. */
    tw_counts volatiles;
    /* Traces a block, and leaves out `assume` and `inside`. A block outside the grid is
     * TW_BAD_ARGUMENT. NULL: no trace. */
    const tw_trace_options *trace;
    /* The schedule of each block: time slices of its warps, repeated. Warps that are not in it come after
     * it, each until it waits. Blocks run one after another, and `seed` must be 0. NULL: the order of
     * their numbers. */
    const tw_sim_turn *order;
    int order_count;
    bool source_only; /* the text of a finding leaves out the place in the PTX if .loc says the
                         place in the source */
} tw_sim_options;
TW_SIZED(tw_sim_options);

/* The counts of the hardware (TW_WATCH_COUNTERS): the name, how counts of two launches are joined,
 * and what it counts. The counts are of the accesses as the PTX has them; JSON and
 * docs/messages.md have the same names. async_overlap is a mean, of which the greater one is kept. */
#define TW_COUNTER_LIST(X)                                                                         \
    X(warp_instructions, SUM, "instructions, once a warp")                                         \
    X(thread_instructions, SUM, "instructions, once a thread")                                     \
    X(busiest_warp, MOST,                                                                          \
      "instructions of the warp that runs the most; a number for the run alone")                   \
    X(shared_loads, SUM, "warp instructions that read shared memory, ldmatrix too")                \
    X(shared_stores, SUM,                                                                          \
      "warp instructions that write shared memory, stmatrix too; no asynchronous copies")          \
    X(shared_atomics, SUM,                                                                         \
      "atomic instructions on shared memory; their wavefronts are not counted")                    \
    X(shared_wavefronts, SUM, "wavefronts of shared memory")                                       \
    X(shared_wavefronts_ideal, SUM, "the fewest that these accesses could take")                   \
    X(bank_conflicts, SUM, "wavefronts above those")                                               \
    X(global_loads, SUM, "warp instructions that read global memory")                              \
    X(global_stores, SUM, "warp instructions that write global memory")                            \
    X(global_atomics, SUM, "atomic instructions on global memory; not among requests and sectors") \
    X(global_requests, SUM, "loads, stores and asynchronous copies from global memory")            \
    X(global_sectors, SUM, "sectors of 32 bytes that those touch")                                 \
    X(block_sectors, MOST,                                                                         \
      "sectors of the block that touches the most; a number for the run alone")                    \
    X(local_accesses, SUM, "warp instructions on local memory")                                    \
    X(async_copies, SUM, "asynchronous copies, once a warp")                                       \
    X(async_bytes, SUM, "bytes that they write")                                                   \
    X(async_depth, MOST, "groups of them under way at most, while a thread reads shared memory")   \
    X(async_overlap, MOST,                                                                         \
      "bytes of a warp's copies under way, on average, when it reads shared memory")

/* The counters of TW_COUNTER_LIST. busiest_warp, block_sectors and async_depth are the most of
 * any warp or block; async_overlap is a mean; the others are sums. */
typedef struct tw_counters {
#define TW_COUNTER_FIELD(name, joined, what) int64_t name;
    TW_COUNTER_LIST(TW_COUNTER_FIELD)
#undef TW_COUNTER_FIELD
} tw_counters;

/* Lists the kinds of instructions and their names. */
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

/* The kinds of instructions. */
typedef enum tw_kind {
#define TW_KIND_ENUM(name, text) name,
    TW_KIND_LIST(TW_KIND_ENUM)
#undef TW_KIND_ENUM
        TW_KIND_COUNT
} tw_kind;

/* The counters of a line of the source, or of the PTX without .loc. Line 0: not known. */
typedef struct tw_line_counters {
    const char *file;
    int line;
    tw_counters counters;
} tw_line_counters;

/* The counters of a launch, in all and by line. */
typedef struct tw_counted {
    tw_counters total;
    int64_t instructions[TW_KIND_COUNT]; /* warp instructions of each kind */
    int line_count;
    const tw_line_counters *lines; /* by file and line */
} tw_counted;

/* A finding of the simulator. */
typedef struct tw_sim_finding {
    /* "race", "out-of-bounds", "divergent-barrier", …; for an end that no other finding explains
     * "deadlock", "endless" (the step limit), "fault", "unsupported" or "stopped" */
    const char *kind;
    const char *message; /* one line */
    bool fails;          /* false: a warning, or suppressed */
    bool suppressed;
    const char *file; /* of the first access, by .loc or else in the PTX; NULL: no place */
    int line, column;
    const char *other_file; /* of the second access; NULL: there is one access */
    int other_line, other_column;
    tw_code code; /* of `kind` */
    const tw_access *const *accesses;
    int access_count;
    int64_t count;    /* number of times that it was seen */
    const char *text; /* with source lines, both accesses, and an order of events that goes wrong */
    const char *json; /* one object: kind, fails, count, message, bytes, accesses, steps */
} tw_sim_finding;

/* The result of a simulation. Its texts are valid until the launch or program is freed or
 * simulated again. */
typedef struct tw_sim_result {
    size_t size;      /* tw_sim_result_init sets it */
    int64_t failures; /* findings that fail */
    int finding_count;
    const tw_sim_finding *findings; /* each kind and pair of lines once */
    int64_t warp_instructions;
    double seconds;            /* of the host */
    const char *ended;         /* the event that ended it early, with its place; NULL: it ended */
    const char *report;        /* all findings as text; "" without findings */
    const tw_counted *counted; /* NULL without TW_WATCH_COUNTERS */
    const char *counters;      /* a table as text; "" without TW_WATCH_COUNTERS */
    /* The same as a JSON object, with "lines" by line; NULL without TW_WATCH_COUNTERS. After
     * tw_ptx_simulate it also has "as_assembled", the counters of the machine code: "exact", true if
     * they are known; for each counter of memory a pair [least, most], or null; "lines" that are not
     * exact; "why"; "assembler", null without tw_ptx_machine_code. */
    const char *counters_json;
    /* A JSON object: "findings" (kind, message, accesses, …), "ended", "warp_instructions", and "counters"
     * with TW_WATCH_COUNTERS. */
    const char *json;
    const void *trace; /* `trace_bytes` bytes in the format of tw_sim_options.trace; NULL: none */
    size_t trace_bytes;
    const tw_why *why; /* the answer to tw_trace_options.why; NULL: no question */
} tw_sim_result;
TW_SIZED(tw_sim_result);

/* Lets tw_launch_simulate run a kernel whose accesses race (TW_UNSYNCHRONISED), to see the
 * effect, or not (false, the default). A GPU never gets such a program: other runs of the launch
 * return TW_UNSUPPORTED, and tw_launch_check still reports the races. Returns TW_OK, or
 * TW_BAD_ARGUMENT for a kernel of the host. */
TW_API tw_status tw_launch_despite_races(tw_launch *l, bool despite);

/* Simulates a launch of a kernel from tw_kernel_for_target: the PTX that the GPU would get, on
 * the launch's arrays, in place. options: NULL for all checks, with warps in turn. result: may be
 * NULL. Returns TW_OK; TW_FAULT with the findings, or the fault, deadlock or step limit that
 * ended it, as messages; TW_UNSUPPORTED with the instruction that the simulator lacks;
 * TW_CANCELLED; the statuses of tw_launch_prepare. */
TW_API tw_status tw_launch_simulate(tw_launch *l, const tw_sim_options *options,
                                    tw_sim_result *result);

/* A PTX program, of any compiler. */
typedef struct tw_ptx tw_ptx;

/* Reads and verifies a PTX program. name: the file in messages. The text is copied. Returns
 * TW_OK; TW_BAD_PROGRAM with the reasons as messages. *out is NULL unless TW_OK. The context owns
 * the program. */
TW_API tw_status tw_ptx_from_text(tw_context *ctx, const char *name, const char *text,
                                  size_t length, tw_ptx **out);

/* Does the same for a file. Returns TW_NO_FILE also if the file cannot be read. */
TW_API tw_status tw_ptx_from_file(tw_context *ctx, const char *path, tw_ptx **out);

/* Frees a program. NULL is allowed. */
TW_API void tw_ptx_free(tw_ptx *p);

/* Returns the number of kernels. */
TW_API int tw_ptx_kernel_count(const tw_ptx *p);

/* Returns the name of kernel number `index`, or NULL past the last. */
TW_API const char *tw_ptx_kernel_at(const tw_ptx *p, int index);

/* Returns the C++ name of kernel number `index`, without namespaces: "sum" for _Z3sumPfi and
 * _ZN2ns3sumIfEEvPT_i. Another name is returned whole. Kernels may share a name. NULL past the
 * last. */
TW_API const char *tw_ptx_kernel_called(const tw_ptx *p, int index);

/* Returns whether the kernel fixes or limits the threads of a block (.reqntid, .maxntid), and
 * fills `block` with them. */
TW_API bool tw_ptx_block(const tw_ptx *p, const char *kernel, int block[3]);

/* A parameter of a PTX kernel. Its texts are valid until the next call on the context. */
typedef struct tw_ptx_param {
    size_t size;      /* tw_ptx_param_init sets it */
    const char *name; /* "reduce_param_0" */
    const char *type; /* ".u64", ".f32", ".b8[24]" */
    size_t bytes, alignment;
} tw_ptx_param;
TW_SIZED(tw_ptx_param);

/* Returns the number of parameters of a kernel, or -1 if there is no such kernel. */
TW_API int tw_ptx_param_count(const tw_ptx *p, const char *kernel);

/* Fills `out` with parameter number `index`. Returns TW_OK or TW_NOT_FOUND. */
TW_API tw_status tw_ptx_param_at(const tw_ptx *p, const char *kernel, int index, tw_ptx_param *out);

/* Returns the name of file number `index` that .loc lines name, or NULL past the last. */
TW_API const char *tw_ptx_source_at(const tw_ptx *p, int index);

/* Gives the text of such a file, so that reports show its lines. The text is copied. */
TW_API tw_status tw_ptx_source(tw_ptx *p, const char *name, const char *text, size_t length);

/* Returns the target that the program names: "sm_90". */
TW_API const char *tw_ptx_target(const tw_ptx *p);

/* Gives the cubin that `ptxas -lineinfo` made of the text. An assembler may merge or move
 * accesses; with a cubin, counters are those of the machine code. The bytes are copied. Returns
 * TW_OK, or TW_BAD_PROGRAM if they are not a cubin or have no lines. */
TW_API tw_status tw_ptx_machine_code(tw_ptx *p, const void *cubin, size_t length);

/* A pointer within a value, as structs have them. It points to memory, as a tw_ptx_argument does.
 */
typedef struct tw_ptx_pointer {
    size_t offset;    /* in the value: its 8 bytes get the address */
    const char *name; /* in reports; NULL: "PARAMETER+OFFSET" */
    void *data;
    size_t bytes;
    bool uninitialised;
    size_t initialised;
    bool structs;
} tw_ptx_pointer;

/* The argument of a parameter: a value (`data` has as many bytes as the parameter), or memory of
 * the caller's, used in place. Memory that overlaps, or is given twice, is one memory for the
 * kernel. */
typedef struct tw_ptx_argument {
    const char *name; /* in reports; NULL: the parameter's */
    void *data;
    size_t bytes;
    bool is_array;
    bool uninitialised; /* an array: its contents count as never written */
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

/* A launch of a PTX kernel. */
typedef struct tw_ptx_launch {
    size_t size;        /* tw_ptx_launch_init sets it */
    const char *kernel; /* NULL: the only one */
    int64_t grid[3];    /* 0 counts as 1 in these three */
    int block[3], cluster[3];
    int64_t shared_bytes; /* dynamic shared memory of a block */
    const tw_ptx_argument *arguments;
    int argument_count;
    /* All blocks run at the same time, so they may wait for each other, as with a grid's sync() of
     * cooperative groups. */
    bool cooperative;
} tw_ptx_launch;
TW_SIZED(tw_ptx_launch);

/* Simulates a launch of a PTX kernel. Options, result and statuses are those of
 * tw_launch_simulate. Returns TW_NOT_FOUND also if there is no such kernel. */
TW_API tw_status tw_ptx_simulate(tw_ptx *p, const tw_ptx_launch *launch,
                                 const tw_sim_options *options, tw_sim_result *result);

/* Runs a launch of a PTX kernel on the GPU of this machine, with copies of the arrays to the GPU
 * and back. *milliseconds: the kernel's time; may be NULL. Returns TW_OK, TW_FAULT, TW_NOT_FOUND,
 * or TW_UNSUPPORTED if there is no GPU or it refuses the program. */
TW_API tw_status tw_ptx_run(tw_ptx *p, const tw_ptx_launch *launch, double *milliseconds);

#ifdef __cplusplus
}
#endif
#endif
