/* The CPU engine: runs Tile IR on the host, block by block over the cores.
 *
 *   compile*.c  Tile IR -> a flat program of steps over whole tiles (program.h, docs/cpu-engine.md)
 *   exec_*.c    the steps: what an instruction does to a block's frame
 *   routines_*  what a step does to arrays: plain C, one table a family; faster ones are chosen
 *               beside them (dispatch.c)
 *   frame.c     a block's state: program counter, values, shared memory, copies under way. It can
 *               be suspended at a lock and resumed; no system thread belongs to it
 *   launch.c    blocks over cores, workspace, locks and deadlock, faults
 *   ensures.c   evaluates `ensures` in double over whole views, with an error bound for the
 *               tolerance
 *
 * It is exact about bounds and deterministic: the same program and data give the same bits,
 * whatever the cores. Shared memory starts as a poison pattern (NaNs), register tiles without a
 * value too, and an asynchronous copy happens as late as the program allows, so what is missing
 * shows.
 */
#ifndef TW_CPU_H
#define TW_CPU_H

#include "base/platform.h"
#include "tile/tile.h"

#include <stdatomic.h>

struct cpu_program;

/* Compiles a kernel that has been through the passes. Lives in `a`. NULL: *why says what the engine
 * cannot hold (too many bytes of tiles, say). */
struct cpu_program *cpu_compile(struct arena *a, const struct kernel *k, const char **why);

/* One argument, by parameter. Scalars in `scalar`; pointers in data, `bytes` long. */
struct cpu_argument {
    struct literal scalar;
    void *data;
    size_t bytes;
};

enum cpu_fault_kind {
    CPU_OK,
    CPU_BAD_ARGUMENT, /* a view does not fit its array, a negative extent, too large a grid */
    CPU_BOUNDS,       /* element access or an `inside` slice outside its view or tile */
    CPU_ASYNC,        /* tile touched, or scope left, while a copy into it is under way */
    CPU_DEADLOCK,     /* a lock that no running block can release */
    CPU_ENDLESS,      /* a loop that waits for memory that nothing changes */
    CPU_ASSUME,       /* assume() does not hold */
    CPU_DIVIDE,       /* integer division by zero */
    CPU_DIRTY,        /* `clean` workspace that is not 0 after the launch */
    CPU_CANCELLED,    /* the caller said so; no fault is described */
    CPU_NO_MEMORY
};

/* What went wrong, first in order of block id. */
struct cpu_fault {
    enum cpu_fault_kind kind;
    struct loc loc;
    int64_t block[3];
    int thread[3]; /* -1 in all: not one thread's */
    char message[256];
    char way_out[192]; /* "": none */
};

/* Memory of launches that are over, for later ones by the same allocator, which may run at the same
 * time. Begins as all zeros; at most 256 MiB. */
enum { MOST_KEPT_BLOCKS = 32 };
struct kept_block {
    void *memory;
    size_t bytes;
};
struct cpu_kept {
    atomic_flag busy;
    size_t total;
    struct kept_block blocks[MOST_KEPT_BLOCKS];
};
void cpu_kept_free(struct cpu_kept *kept, const struct allocator *allocator);

struct cpu_options {
    const struct allocator *allocator;                          /* NULL: libc */
    struct cpu_kept *kept;                                      /* NULL: none is kept */
    struct parallel parallel;                                   /* .run NULL: the caller's thread */
    void (*print)(void *user, const char *text, size_t length); /* print(); NULL: dropped */
    void *print_user;
    /* Polled between blocks and now and then in loops, by any thread; NULL: never. */
    bool (*cancelled)(void *user);
    void *cancelled_user;
    /* Told "running" and how many blocks have begun, by any thread; NULL: never. */
    void (*progress)(void *user, const char *doing, int64_t done, int64_t total);
    void *progress_user;
};

/* Runs the grid. `args` has kernel->param_count entries. Blocks until done. CPU_OK or the fault's
 * kind. Arrays of a faulting launch hold whatever had been written. */
enum cpu_fault_kind cpu_launch(const struct cpu_program *p, const struct cpu_argument *args,
                               const struct cpu_options *o, struct cpu_fault *fault);

/* An element that is not what `ensures` says. */
struct ensures_wrong {
    const char *view; /* its name, axes and extents */
    int rank;
    int64_t extent[MAX_RANK], at[MAX_RANK]; /* in the view */
    const char *param;                      /* the array, and which of its elements it is */
    int64_t element;
    double got, want;
};
struct ensures_listener {
    void (*wrong)(void *user, const struct ensures_wrong *w);
    void *user;
};

/* Evaluates every `ensures` of k on the arrays as they are after a launch (inputs must be what they
 * were before). */
struct ensures_report {
    bool ok;
    struct loc loc;   /* of the ensures that failed, or of the last one */
    double max_error; /* largest |got - want| */
    double tolerance; /* allowed at the worst element (largest error / allowed) */
    double got, want; /* at the worst element */
    int rank;
    int64_t at[MAX_RANK]; /* its index in the view, `over` indices included as the view has them */
    const char *view;     /* name of the view */
    int64_t checked;      /* elements compared */
    int64_t undecided;    /* of these, how many could have any value */
    char message[256];    /* set when it could not be evaluated */
};
/* true: evaluated, see report->ok. false: it could not be (report->message). */
bool ensures_check(struct arena *a, const struct kernel *k, const struct cpu_argument *args,
                   struct parallel parallel, struct ensures_report *report);

/* What `ensures` says for some inputs, kept, to judge several variants' results by: the costly part
 * is done once. */
struct ensures_kept;
struct ensures_kept *ensures_kept_new(struct arena *a); /* lives there with all that it keeps */
/* As ensures_check. The first that is evaluated fills `kept`; later ones use it where their
 * statements are the same. The inputs must be, too: that is the caller's to see to. kept, listener:
 * NULL where there is none. */
bool ensures_check_with(struct arena *a, const struct kernel *k, const struct cpu_argument *args,
                        struct parallel parallel, struct ensures_kept *kept,
                        const struct ensures_listener *listener, struct ensures_report *report);

#endif
