/* The CPU engine: runs Tile IR on the host, block by block over the cores.
 *
 *   compile/    Tile IR -> a flat program of steps over whole tiles (program.h, docs/cpu-engine.md)
 *   exec/       the steps: each applies one instruction to a block's frame
 *   routines/   array operations that steps call: plain C, one table for each family, and faster
 *               versions for some instruction sets (dispatch.c chooses)
 *   frame.c     a block's state: program counter, values, shared memory, copies under way. It can
 *               be suspended at a lock and resumed; no system thread belongs to it
 *   launch.c    blocks over cores, workspace, locks and deadlock, faults
 *
 * The engine is exact about bounds and deterministic: the same program and data give the same
 * bits on any number of cores. It makes missing writes and waits visible: shared memory and
 * register tiles without a value start as a poison pattern (NaNs), and an asynchronous copy
 * happens as late as the program allows. */
#ifndef TW_CPU_H
#define TW_CPU_H

#include "base/platform.h"
#include "tile/tile.h"

#include <stdatomic.h>

struct cpu_program;

/* Compiles a kernel that has been through the passes. The program lives in `a`. Returns NULL if
 * the engine cannot run the kernel (its tiles need too many bytes, for example); *why then names
 * the reason. `any_bits`: products of bf16 may have other bits than on other machines. */
struct cpu_program *cpu_compile(struct arena *a, const struct kernel *k, bool any_bits,
                                const char **why);

/* One argument of a launch, in the order of the parameters. Scalars are in `scalar`; pointers
 * are in `data`, which has `bytes` bytes. */
struct cpu_argument {
    struct literal scalar;
    void *data;
    size_t bytes;
};

enum cpu_fault_kind {
    CPU_OK,
    CPU_BAD_ARGUMENT, /* a view does not fit its array, an extent is negative, or the grid is too
                       * large */
    CPU_BOUNDS,    /* an element access, or an `inside` slice, outside its view or tile; memory of a
                       * block that the cluster does not have */
    CPU_ASYNC,     /* a tile touched, or its scope left, while a copy into it is under way */
    CPU_DEADLOCK,  /* a lock that no running block can release, or roles that wait for each other */
    CPU_MBARRIER,  /* an arrival, a copy or a wait that does not fit the phase of an mbarrier */
    CPU_ENDLESS,   /* a loop that waits for memory that no block changes */
    CPU_ASSUME,    /* a condition of assume() does not hold */
    CPU_DIVIDE,    /* integer division by zero */
    CPU_DIRTY,     /* `clean` workspace that is not 0 after the launch */
    CPU_CANCELLED, /* the caller cancelled the launch; no fault is described */
    CPU_NO_MEMORY
};

/* The fault of a launch: that of the lowest block id that faulted. */
struct cpu_fault {
    enum cpu_fault_kind kind;
    struct loc loc;
    int64_t block[3];
    int thread[3]; /* -1 in all: the fault belongs to no single thread */
    char message[512];
    char way_out[192]; /* "": there is none */
};

/* Memory that finished launches leave for later ones with the same allocator; several launches
 * may use it at the same time. Initialise it to all zeros. It keeps at most 256 MiB, and a block
 * for each of 256 workers. */
enum { MOST_KEPT_BLOCKS = 288 };
struct kept_block {
    void *memory;
    size_t bytes;
    int worker; /* that used it, or will */
};
struct cpu_kept {
    atomic_bool busy;
    size_t total; /* bytes of all blocks */
    int count;
    struct kept_block blocks[MOST_KEPT_BLOCKS];
};
void cpu_kept_free(struct cpu_kept *kept, const struct allocator *allocator);

/* --- ways that are not the fastest --- */

/* Why the engine does not take its fastest way: CPU_SLOW_TILE_READ, … (slow_paths.def). */
enum cpu_slow {
#define SLOW(id, code, reason, way_out) CPU_SLOW_##id,
#include "cpu/slow_paths.def"
#undef SLOW
    CPU_SLOW_COUNT
};
struct cpu_slow_path {
    enum cpu_slow slow;
    struct loc loc, cause; /* of the product, loop or kernel; of what prevents the fastest way */
    const char *name;      /* of a tile or view; NULL: none */
};
/* Returns reason number `index` of a program, in the order of the text; NULL past the last. */
const struct cpu_slow_path *cpu_slow_path_at(const struct cpu_program *p, size_t index);
const char *cpu_slow_code(enum cpu_slow slow);
/* Return the reason as a sentence, and the way out, in the arena. */
const char *cpu_slow_reason(struct arena *a, const struct cpu_slow_path *s);
const char *cpu_slow_way_out(const struct cpu_slow_path *s);

/* --- profiles --- */

/* Operations on floats that steps executed, a fused multiply-add counts as two, and bytes of
 * global memory that they read and wrote. Elements past a view's edge do not count. */
struct cpu_work {
    double flops, read, written;
};

/* The kinds of steps: CPU_STEP_PRODUCT, … */
enum cpu_step_kind {
#define KIND(id, name, title) CPU_STEP_##id,
#include "cpu/steps.def"
    CPU_STEP_KINDS
};
const char *cpu_step_kind_name(enum cpu_step_kind kind);
const char *cpu_step_kind_title(enum cpu_step_kind kind);

/* The ways in which a product of tiles reads an operand. */
enum cpu_operand_path {
    CPU_OPERAND_PLAIN,    /* a value as it was computed, not packed */
    CPU_OPERAND_SHARED,   /* packed once for all blocks of the launch */
    CPU_OPERAND_IN_PLACE, /* in the view */
    CPU_OPERAND_OWN,      /* packed by the block for itself */
    CPU_OPERAND_PATHS
};

/* A step of a program in a profile. `product` is the time of multiplications and `seconds` that
 * of all else. */
struct cpu_step_profile {
    double seconds, product;
    int64_t runs;
    struct cpu_work work;
    int64_t operand[2][CPU_OPERAND_PATHS]; /* products, by path of the left, of the right operand */
};
struct cpu_thread_profile {
    double busy; /* seconds in blocks, and in products of other threads' blocks */
    int64_t blocks;
};
/* The profile of the launches of one program, added up. The caller makes the lists, zeroed:
 * `steps` has cpu_program_most_steps entries, and `threads` most_threads. `calls` is
 * &cpu_profile_calls: the functions that a profiled launch needs, and others do not (profile.h). */
extern const struct profile_calls cpu_profile_calls;
struct cpu_profile {
    const struct profile_calls *calls;
    const struct cpu_program *program; /* the one that ran: the given one, or its joined blocks */
    struct cpu_step_profile *steps;
    struct cpu_thread_profile *threads;
    int most_threads, thread_count; /* thread_count: of the launch with the most */
    int64_t launches, blocks, bound_blocks;
    double seconds;   /* from the beginning to the end of each launch */
    double mechanism; /* seconds of all threads that profiling took; in no step */
};

/* A step for a report. */
struct cpu_step {
    enum cpu_step_kind kind;
    struct loc loc;
    bool is_product;       /* a product of tiles: it has paths of its operands */
    const char *operation; /* "exp, -, sum", in the arena; "" */
};
size_t cpu_program_steps(const struct cpu_program *p);
size_t cpu_program_most_steps(const struct cpu_program *p); /* with joined blocks or without */
struct cpu_step cpu_program_step(struct arena *a, const struct cpu_program *p, size_t index);
/* Returns the name of the program's set of routines: "avx512". */
const char *cpu_program_set(const struct cpu_program *p);

/* --- launches --- */

struct cpu_options {
    const struct allocator *allocator;                          /* NULL: libc */
    struct cpu_kept *kept;                                      /* NULL: no memory is kept */
    struct parallel parallel;                                   /* .run NULL: run on the caller's
                                                                 * thread */
    void (*print)(void *user, const char *text, size_t length); /* gets the text of print();
                                                                 * NULL: it is dropped */
    void *print_user;
    /* Polled between blocks, and from time to time in loops, on any thread; NULL: never. */
    bool (*cancelled)(void *user);
    void *cancelled_user;
    /* Called with "running" and the number of blocks that have begun, on any thread; NULL:
     * never. */
    void (*progress)(void *user, const char *doing, int64_t done, int64_t total);
    void *progress_user;
    struct cpu_profile *profile; /* NULL: the launch is not profiled */
    /* The role that runs whenever it can, from 1 on; the others take turns after it. 0: all take
     * turns from the first one on. Results do not depend on it, unless a wait is missing. */
    int first_role;
};

/* Runs the grid and blocks until it is done. `args` has kernel->param_count entries. Returns
 * CPU_OK or the kind of the fault. After a fault, arrays hold the values written up to then. */
enum cpu_fault_kind cpu_launch(const struct cpu_program *p, const struct cpu_argument *args,
                               const struct cpu_options *o, struct cpu_fault *fault);

#endif
