/* The objects that the handles of tilewright.h point to, and the way a public call works.
 *
 *   status.c      status names, element types
 *   context.c     contexts, messages, the guard around every public call
 *   sized.c       structs that carry their size
 *   modules.c     modules, kernels and their parameters; written.c: the places of declarations
 *   launch_set.c  launches: the values that the caller gives; launch_values.c: as a launch holds them
 *   resolve.c     the values that follow from those: types, tuned values, sizes
 *   choice.c      tuned values, types and statics; variant.c: one compiled version for each, kept
 *   launch_prepare.c   arrays and sizes, checked; launch_run.c: run, verify
 *   launch_host.c launches on the host: at once, in the background, by entries
 *   look.c        check, show, devices; editing.c: queries of an editor about a text
 *   executor.c   the host and a GPU as a table
 *   launch_gpu.c, simulate.c   launches on a GPU and on the simulator; launch_params.c: the
 *                 parameters that both pass
 *   entry.c       launches by position from many threads; entry_arguments.c: their arguments;
 *                 entry_table.h: their look-up of variants
 *   family.c      kernels of one meaning; family.h lists its files
 *   device.c      the GPU of a context: memory, streams, events
 *   ahead.c       kernels as C to ship
 *   tuning.c      keys, estimates and expected values for tuning; tuning_store.c: stored results
 *   explain.c     the model's reasons for a kernel's speed; explain_*.c
 *   dlpack.c      arrays of other libraries
 *   ptx_program.c PTX programs of any compiler; simulation.c: one run of the simulator; trace.c:
 *                 the description of a launch for its trace
 *
 * Memory: a context holds three arenas that live for one call (messages until the next one); a
 * module, a launch and a variant hold one each. If memory runs out, all of them recover to
 * context_call, the only place with a setjmp. The public function holds the object that the call
 * was making, outside of the guard's frame, and frees it then. */
#ifndef TW_OBJECTS_H
#define TW_OBJECTS_H

#include "api/executor.h"
#include "base/diag.h"
#include "cpu/cpu.h"
#include "cuda/cuda.h"
#include "lang/lang.h"
#include "oracle/ensures.h"
#include "plan/lowered.h"
#include "tile/launch_sizes.h"
#include "tile/overlay.h"
#include "tile/passes.h"
#include "tilewright.h"
#include "tilewright_build.h"
#include "tilewright_entry.h"
#include "tilewright_gpu.h"
#include "tilewright_family.h"
#include "tilewright_look.h"
#include "tilewright_sim.h"
#include "tilewright_tuning.h"

/* The size of the stack on which public calls run, so that a caller's thread needs little:
 * several times the address space that the deepest program takes. tests/unit/test_stack.c
 * measures it. */
enum { STACK_BYTES = 512 << 20 };

/* Ends a public call if there is no handle, and with a message if an argument is wrong. */
#define REFUSE_IF(handle, context, wrong, message)                                                 \
    do {                                                                                           \
        if (!(handle))                                                                             \
            return TW_BAD_ARGUMENT;                                                                \
        if (wrong)                                                                                 \
            return context_refuse(context, message);                                               \
    } while (0)

/* Removes an object from a list. */
#define UNLINK(type, first, object)                                                                \
    do {                                                                                           \
        type **at = &(first);                                                                      \
        while (*at && *at != (object))                                                             \
            at = &(*at)->next;                                                                     \
        if (*at)                                                                                   \
            *at = (object)->next;                                                                  \
    } while (0)

enum { VARIANTS_KEPT = 64 }; /* of one kernel; the least recently used is dropped first */

struct tw_context {
    struct allocator allocator;
    tw_config config;
    jmp_buf recovery;            /* of the public call in progress */
    struct poll poll;            /* asks tw_config.cancelled */
    struct arena message_memory; /* until the next call */
    struct arena scratch;        /* until the end of the call */
    struct arena probe;          /* for tried combinations; freed many times in a call */
    struct diag diag;
    const char *rendered;
    const tw_message *messages;
    int message_count;
    tw_module *modules;
    tw_launch *launches;
    tw_ptx *programs;
    tw_build *builds;
    tw_expected *expected;
    tw_store *stores;
    tw_family *families;
    /* Functions that free the objects above. The file that makes an object sets its function, so that
     * tw_context_free calls no file above context.c. */
    struct {
        void (*module)(tw_module *);
        void (*launch)(tw_launch *);
        void (*ptx)(tw_ptx *);
        void (*build)(tw_build *);
        void (*expected)(tw_expected *);
        void (*store)(tw_store *);
        void (*family)(tw_family *);
        void (*entry)(tw_entry *);
    } frees;
    struct platform_stack *stack; /* of the public calls; see STACK_BYTES */
    struct platform_pool *pool;   /* NULL: the caller has its own */
    struct parallel parallel;     /* the pool's, or the caller's */
    struct platform_queue *queue; /* of launches begun; NULL: none was */
    struct cuda *cuda;            /* opened when first needed */
    bool looked;                  /* the driver was asked for the GPU: */
    struct cuda_device gpu;       /* its multiprocessors are 0 if there is none */
    int64_t clean_starts;         /* number of starts in a stream that have `clean` workspace */
    struct cuda_cache *cache;
    char *import_path; /* all folders that are searched for imported files */
    tw_entry *entries;
    struct cpu_kept kept;
    void *marks[2]; /* events around a timed piece; NULL: not made yet */
};

/* Joins the folders where imported files are looked for as "first:second:…:", the caller's first
 * (import_folders.c). Returns NULL if out of memory. The caller frees. */
char *import_folders_path_new(const struct allocator *allocator, const char *given);

/* Runs body(call) with no messages and empty scratch memory, and renders the messages at the
 * end. Returns TW_NO_MEMORY if an allocation in it failed, TW_CANCELLED if tw_config.cancelled
 * ended it, else the status of body. It must not be nested. */
tw_status context_call(tw_context *ctx, tw_status (*body)(void *call), void *call);
/* Within context_call: runs body on the caller's own stack. For the caller's callbacks, and for
 * work that needs little stack. */
void context_outside(tw_context *ctx, void (*body)(void *call), void *call);
/* Makes a context with the settings of `owner`, whose threads and folders it shares. Returns the
 * statuses of tw_context_new. */
tw_status context_again(const tw_context *owner, tw_context **out);
/* Returns zeroed memory for an object straight from the allocator; NULL: out of memory. */
void *context_object(tw_context *ctx, size_t size);
tw_status context_no_memory(tw_context *ctx); /* reports it; TW_NO_MEMORY */
/* Reports an error in a call's arguments. Returns TW_BAD_ARGUMENT. */
tw_status context_refuse(tw_context *ctx, const char *why);
/* Fills a caller's error, which fits, with the first message of the context. entry.c */
void context_fill_error(const tw_context *ctx, tw_status status, tw_error *error);
void context_object_free(tw_context *ctx, void *object, size_t size);
void context_arena(tw_context *ctx, struct arena *a); /* an arena that recovers to context_call */

struct tw_module {
    tw_context *ctx;
    tw_module *next;
    struct arena arena;
    struct source source;
    struct module *parsed;
    struct sync_memory sync; /* of its kernels, for all targets */
    tw_kernel *kernels;
    int kernel_count;
    int launches; /* not freed yet */
    bool released;
};

struct tw_kernel {
    tw_module *module;
    int index;
    const char *target; /* "cpu", "sm_80" */
    const struct executor *executor;
    const struct target *device;    /* NULL: the host */
    const struct target *asked;     /* that was asked for: sm_90 too, if `device` is sm_90a */
    tw_kernel *targeted;            /* of the host's kernel: its versions for other targets */
    tw_kernel *next;                /* in that list */
    const struct lang_kernel *info; /* as the target sees it */
    const tw_value **tune_values;   /* by tune */
    const tw_dtype **type_choices;  /* by type variable */
    struct tune_rules *rules;       /* its `require`s; NULL: not read yet */
    struct variant *variants;       /* the most recently used first */
    int variant_count;
};

/* Makes a module of the same texts in another context, even if the files have changed. Reports
 * there. */
tw_status modules_again(tw_context *ctx, const tw_module *m, tw_module **out);
struct tune_rules *modules_kernel_rules(tw_kernel *k);
void modules_launch_gone(tw_module *m); /* a launch of it was freed */

/* The values and facts that a variant is compiled for. Arrays are indexed by the kernel's tunes,
 * types and parameters. */
struct choice {
    struct literal *tunes;
    enum dtype *types;
    struct literal *values; /* of scalar parameters */
    bool *known;
    /* A known divisor: of a run-time integer 16, 8 or 1, of a pointer's address up to 16 bytes. */
    int *divisor;
    bool any_threads;            /* as in lang_choice: for counting alone, never for a run */
    bool despite_races;          /* as in pass_context: for the simulator alone */
    struct probe_request *probe; /* of this launch alone; NULL: none */
};

/* The views of a pointer parameter, in the order of their declarations. */
struct view_list {
    VEC(const struct sym *) all;
};

struct variant {
    struct variant *next;
    struct arena arena;
    struct choice key;              /* values and known: of statics only */
    struct kernel *ir;              /* after all passes */
    struct view_list *views;        /* by parameter */
    struct launch_sizes sizes;      /* of the kernel and of `sized` */
    const struct sym *const *sized; /* all views */
    struct overlay overlay;         /* which arrays must not share memory */
    struct cpu_program *program;    /* the host's */
    struct lowered *lowered;        /* a GPU's */
    struct cuda_module *module;     /* loaded when first run */
    const struct source *ptx;       /* text of the lowered program and the module parsed from it, */
    const struct ptx_module *read_back; /* when first simulated */
    struct claimed
        *claimed; /* a version with its claims checked; NULL: not made yet, or no claims */
};

/* A variant for the simulator alone (tile/claims.h). */
struct claimed {
    struct lowered *lowered;
    const struct source *ptx;
    const struct ptx_module *read_back;
};

struct choice choice_new(struct arena *a, const struct lang_kernel *info);
/* Returns the alignments by parameter that the choice's divisors give. */
int *choice_alignment(struct arena *a, const tw_kernel *k, const struct choice *c);
/* Returns true if both choices compile to the same program. */
bool choice_same(const struct lang_kernel *info, const struct choice *a, const struct choice *b);
/* Copies the parts of a choice that select the program. */
struct choice choice_copy(struct arena *a, const struct lang_kernel *info, const struct choice *c);
/* Structs that carry their size, sized.c. If ctx is not NULL, these functions report a caller's
 * struct that was not made as tilewright.h demands. */
#define READ_SIZED(ctx, type, to, from) sized_read(ctx, #type, to, sizeof(type), from)
#define SIZED_FITS(ctx, type, object) sized_fits(ctx, __func__, #type, object)
#define FILL_SIZED(to, from) sized_fill(to, &(from), sizeof(from))
/* Copies a caller's struct into `to`, which has `known` bytes, with 0 for the fields that the
 * caller's struct lacks. Returns TW_BAD_ARGUMENT if its size is invalid, TW_UNSUPPORTED if it
 * sets fields that `to` lacks. */
tw_status sized_read(tw_context *ctx, const char *type, void *to, size_t known, const void *from);
/* Returns true if the struct that a caller gave as `out` can be filled. call: the name of the public
 * function, for the message that it is NULL. */
bool sized_fits(tw_context *ctx, const char *call, const char *type, const void *object);
/* Fills a caller's struct that fits, except its `size`. */
void sized_fill(void *to, const void *from, size_t known);
/* For calls from any thread: returns a caller's error if it can be filled, else NULL, which
 * sized_error_of_null takes, too: it reports that an argument of the call is NULL. */
tw_error *sized_error_to_fill(tw_error *error);
tw_status sized_error_of_null(tw_error *error, const char *call, const char *argument);

/* Returns a literal of the compiler as a public value. */
static inline tw_value value_of(struct literal v)
{
    return v.is_float ? tw_float(v.f) : tw_int(v.i);
}

/* Returns a public integer or float as a double. */
static inline double value_number(tw_value v)
{
    return v.kind == TW_FLOAT ? v.f : (double)v.i;
}

/* Converts a tuned value from the caller to a value of the compiler. Reports and returns false
 * if the name does not take such a value. launch_values.c */
bool launch_tune_value_read(struct diag *d, const struct lang_tune *tune, tw_value given,
                            struct literal *out);
/* Returns true unless the kernel's head names another target than the kernel's. */
bool modules_kernel_takes_target(const tw_kernel *k);
/* Returns the variant for c and compiles it if there is none. Reports; TW_BAD_PROGRAM,
 * TW_UNSYNCHRONISED or TW_UNSUPPORTED. */
tw_status variant_for(tw_kernel *k, const struct choice *c, struct variant **out);
void variant_free_all(tw_kernel *k);
/* Compiles a variant that the caller keeps: v is zeroed except for its arena. Its lowered
 * program lives in `lowered`. */
tw_status variant_compile(tw_kernel *k, struct variant *v, const struct choice *c,
                          struct arena *lowered);
void variant_free(tw_context *ctx, struct variant *v);
/* Parses the program for the simulator and keeps the result with the variant. Returns TW_OK, or
 * reports. simulate.c */
tw_status variant_read_back(tw_context *ctx, struct variant *v);
/* Returns typed IR for c in arena a, before any pass; statics that are not known stay names.
 * Returns NULL after a report. */
struct kernel *choice_check(struct arena *a, struct diag *d, const tw_kernel *k,
                            const struct choice *c, const bool *statics_known);
/* Runs the passes up to `last` (NULL: all) on the IR. Returns TW_OK, or reports and returns
 * TW_UNSYNCHRONISED or TW_BAD_PROGRAM. */
tw_status choice_passes(const tw_kernel *k, struct kernel *ir, const struct choice *c,
                        const bool *statics_known, const char *last);
/* Does the same; *passes keeps the results of the passes. */
tw_status choice_passes_kept(const tw_kernel *k, struct kernel *ir, const struct choice *c,
                             const bool *statics_known, const char *last,
                             struct pass_context *passes);

/* Lowers the IR, after all passes, for the kernel's target. Returns NULL after a report. */
struct lowered *choice_lower(struct arena *a, const tw_kernel *k, struct kernel *ir,
                             const struct choice *c, const bool *statics_known);
/* Adds a note after the error that a variant needs more than the target has; it lists tuned
 * values that fit. */
void fit_note(const tw_kernel *k, const struct choice *wanted, const bool *statics_known,
              enum lowered_excess excess);
/* Returns the number of lines that `show --stage ptx` prints before the launch's PTX. look.c */
int look_lines_before(const tw_launch *l);
/* Writes the layouts and accesses of a lowered kernel for people. show_layout.c */
void show_layout(struct text *out, const struct lowered *lowered, const char *target);

/* A launch in the background: its inputs and its outcome. */
struct begun {
    struct platform_job job;
    struct variant *variant; /* NULL: no launch is running */
    struct cpu_argument *args;
    enum cpu_fault_kind kind;
    struct cpu_fault fault;
    void (*done)(void *user, tw_launch *l, tw_status status);
    void *user;
};

struct tw_launch {
    tw_context *ctx;
    tw_launch *next;
    tw_kernel *kernel;
    struct arena arena;
    struct arena shown;               /* text of the latest tw_launch_show */
    struct printed_lines shown_lines; /* and its statements */
    struct arena simulated;           /* result of the latest tw_launch_simulate */
    struct arena key;                 /* texts of the latest tw_launch_tuning_key */
    struct arena explained;           /* result of the latest tw_launch_explain */
    struct arena profiled;            /* result of the latest tw_launch_profile */
    struct arena estimated;           /* memory of `estimate` */
    struct estimate *estimate;        /* of the latest tw_launch_estimate; NULL: none */
    /* given */
    bool *value_set, *tune_set, *type_set, *array_set;
    bool *array_refused; /* no array is set: the last one is in `refused` */
    tw_value *values;    /* by parameter */
    struct literal *tunes;
    enum dtype *types;
    tw_array *arrays, *refused; /* by parameter */
    /* worked out */
    struct choice choice;
    uint64_t *size_values; /* by parameter: the scalars of `choice` as launch_sizes.h has them */
    bool resolved;         /* `choice` is up to date with the values and arrays; prepared: so is the
                   * program */
    bool prepared;
    struct variant *variant; /* while prepared */
    struct arena started;    /* memory of `gpu` */
    struct gpu_launch *gpu;  /* while prepared: GPU parameters; NULL: not made yet */
    /* The latest start in a stream, if its `clean` workspace was not checked, and the number of
     * that start in the context. Its memory is `started`, too. */
    struct gpu_launch *unchecked;
    int64_t unchecked_start;
    struct begun begun;
    bool allows_overlap, keeps_inputs, despite_races;
    struct probe_request *probe; /* of tw_launch_probe; NULL: none */
    struct arena kept_memory;
    void **kept; /* by parameter: a copy of an input that the latest run may have overwritten */
};

/* Returns the error of the array by itself; NULL: none. a: memory for a text with numbers; NULL: the
 * text has none. */
const char *launch_array_fault(struct arena *a, const tw_array *x);
int64_t launch_array_length(const tw_array *x);
/* Returns why an array cannot be given for a parameter, in scratch memory; NULL: it can. */
const char *launch_array_refusal(const tw_launch *l, int p, const tw_array *x);
/* Refuses an address, and a value that was not made by a helper such as tw_int. */
bool launch_is_number(struct diag *d, const char *name, bool is_float, tw_value v);
enum dtype launch_param_dtype(const tw_launch *l, int p);
const char *launch_array_text(struct arena *a, enum dtype t, int rank, const int64_t *shape);
const char *launch_param_text(struct arena *a, const struct lang_kernel *info,
                              int param); /* f16[m][k] */
/* Returns "BM = 128, BN = 64" for a resolved launch, in scratch memory. only_set: lists only the
 * values that were set. */
const char *resolve_tunes_text(const tw_launch *l, bool only_set);
void resolve_add_literal(struct text *out, struct literal v);

/* Fills l->choice from the values that were given. strict: reports scalar parameters that are
 * not known; not strict: leaves them unknown. Returns TW_OK or TW_BAD_ARGUMENT. */
tw_status launch_resolve(tw_launch *l, bool strict);
/* Reports parameters that do not compile for the launch's types. Otherwise they would count as
 * values that the caller did not set. Returns false after a report. */
bool launch_check_declarations(tw_launch *l);
/* Fills l->choice for a build, not strictly. The values of parameters that are not static only
 * give divisibility by 16, so nothing is derived from them. */
tw_status launch_resolve_facts(tw_launch *l);

/* Puts the value of scalar parameter p, rounded to its type, into l->choice. Reports a value
 * that does not fit. */
void launch_take_value(tw_launch *l, int p, tw_value v);
/* Sets the scalar parameter p of `choice`. */
void launch_keep_value(tw_launch *l, int p, struct literal v);
/* Computes derived parameter p into l->choice if its inputs are known; otherwise it keeps the
 * caller's value or stays unknown. statics_alone: only statics count as known. Reports overflow,
 * division by zero, and a result that differs from the caller's value. derive.c */
void launch_derive(tw_launch *l, int p, bool statics_alone);
/* Returns the blocks of the launch's clusters, 1 without clusters; the most if they are not known. */
int launch_cluster_blocks(const tw_launch *l);
/* Returns the number that parameter p, device.sms or device.clusters, has if the caller does not give
 * it: device.clusters follows from a given device.sms. Otherwise asks the device. */
int64_t launch_device_number(const tw_launch *l, int p);
/* Returns " with h = 5, stride = 0": the parameters that e needs, all known. In scratch memory. */
const char *derive_values_text(tw_launch *l, const struct expr *e);

/* Adds a note after the error that a value is missing; it lists the arrays that were refused,
 * and why. */
void launch_note_refused(tw_launch *l);

/* Returns true if parameter p of type t can have the value v; otherwise reports. */
bool resolve_value_fits(tw_launch *l, int p, enum dtype t, tw_value v);

/* Returns the GPU that the driver names without opening it, if it runs the target; else NULL. */
const struct cuda_device *context_look(tw_context *ctx, const struct target *t);
/* Returns cuda_clusters of the context's GPU, which it opens; 0 if it cannot. Reports nothing. */
int context_clusters(tw_context *ctx, int blocks);
/* Gives the GPU of the context. Returns TW_OK, TW_UNSUPPORTED (no GPU; reported) or
 * TW_NO_MEMORY. */
tw_status context_gpu(tw_context *ctx, struct cuda **out);
/* Returns the status of the latest call that the GPU refused: TW_NO_MEMORY (of the GPU),
 * TW_FAULT (an earlier kernel failed) or `otherwise`. */
tw_status gpu_status(const struct cuda *c, tw_status otherwise);
tw_status gpu_run_status(const struct cuda *c); /* of a kernel; TW_UNSUPPORTED: the GPU lacks it */
/* Reports why a call on the context's GPU failed. Returns `misused` if the call never reached
 * the driver. */
tw_status gpu_refuse(tw_context *ctx, const char *why, tw_status misused);
/* context_mark sets a mark in the default stream; context_marked gives the GPU's milliseconds
 * between the two marks. */
bool context_mark(tw_context *ctx, int mark, char why[CUDA_WHY]); /* 0: from, 1: to */
bool context_marked(tw_context *ctx, double *milliseconds, char why[CUDA_WHY]);
/* Returns PTX for the assembler, in the call in progress. */
struct cuda_text context_ptx(tw_context *ctx, const char *text, size_t length);
/* Runs a prepared launch of the host's kernel `runs` times, and adds the profile of the runs to
 * `profile`. Reports. */
tw_status launch_on_host_profiled(tw_launch *l, const struct cpu_argument *args, int runs,
                                  struct cpu_profile *profile);
/* Returns the options of the context's launches on the host; several threads may use them at
 * once. */
struct cpu_options host_options(tw_context *ctx);
/* Returns the public status of a launch on the host; reports a fault that has no text of its
 * own. Ignores f if kind is CPU_OK. */
tw_status host_outcome(tw_context *ctx, enum cpu_fault_kind kind, const struct cpu_fault *f);
void context_settle(tw_context *ctx); /* waits for all launches begun */
void launch_settle(tw_launch *l);     /* for this one */

/* Checks the `clean` workspace of the launch that tw_launch_start started last, if no other launch
 * was started since. Reports what is left there, and sets it to 0. */
tw_status launch_check_clean(tw_launch *l);
/* Copies arrays on the device to the host, into scratch memory that lives until the call ends.
 * Reports. */
tw_status launch_fetch(tw_launch *l, struct cpu_argument *given);
/* Before a run: if the launch keeps its inputs, copies those that the run may overwrite, for
 * `ensures`. */
tw_status launch_keep_inputs(tw_launch *l, const struct cpu_argument *args);

/* Names the call that makes the entry ready, for the message to a capture. entry.c */
void entry_made_ready_by(tw_entry *e, const char *call);

/* Returns the values of the scalar parameters of a resolved launch. */
struct scalar_env launch_env(const tw_launch *l);
/* Computes the grid of another version of the kernel. Returns false if it cannot be computed. */
bool launch_grid_of(const tw_launch *l, const struct kernel *ir, int64_t grid[3]);
/* Compute the grid and the numbers of a view at this launch. They return false if one cannot be
 * computed. */
bool launch_grid(const tw_launch *l, int64_t grid[3]);
bool launch_view(const tw_launch *l, const struct sym *view, struct view_sizes *out);
/* Returns the bytes from an array's first element to the end of the last one that a view
 * reaches; -1: not known. */
int64_t launch_array_bytes(const tw_launch *l, int param);
/* Returns the number of elements from the array's first to the end of the view's last; 0: the view
 * has none; -n: it begins n elements before the array; INT64_MIN: it is larger than memory, or
 * cannot be computed. */
int64_t launch_view_reach(const tw_launch *l, const struct sym *view);
/* Returns the first view of a pointer parameter, a plain one if it has one; NULL: none. */
const struct sym *launch_view_of(const tw_launch *l, int param);
/* Gives the view's extents at this launch. Returns false if they cannot be computed. */
bool launch_view_shape(const tw_launch *l, const struct sym *view, int64_t *shape);
/* Returns the view that gives the array's shape: a plain one that no other view reaches beyond.
 * Returns NULL if there is none; the array then has as many elements as the farthest view
 * reaches. */
const struct sym *launch_array_shape(const tw_launch *l, int param);
/* Resolves the launch, compiles its variant, and checks its arrays against the views. */
tw_status launch_prepare(tw_launch *l);
/* Refuses probes of a block or a thread that the launch does not have. */
tw_status launch_check_probe(tw_launch *l);
/* Checks the arrays against the views, for a launch that has all values and a variant. */
tw_status launch_check_sizes(tw_launch *l);
/* Refuses a NULL array for parameter p if a view of it with elements is used. */
tw_status launch_check_null(tw_launch *l, int p);
/* Refuses a stream that is being captured, with this text, because capturing forbids compiling
 * and loading. */
tw_status launch_not_captured(tw_launch *l, void *stream, const char *refusal);
/* Loads the variant of a launch on the context's GPU. launch_gpu.c */
tw_status launch_load(tw_launch *l);
/* Finds the occupancy of a launch of a GPU's kernel, and its bytes of workspace, 0 if it is not ready.
 * Reports. */
tw_status launch_occupancy(tw_launch *l, tw_occupancy *out, int64_t *workspace_bytes);
/* Loads the variant and prepares everything else that the launch needs in the stream; starts it
 * there if `start` is set. */
tw_status launch_enqueue(tw_launch *l, void *stream, bool start);
/* Returns the arguments of a resolved launch by parameter, in scratch memory. */
struct cpu_argument *launch_given(const tw_launch *l);
/* Prepares the launch and puts its arguments, by parameter, into *args. Reports a missing array. */
tw_status launch_arguments(tw_launch *l, struct cpu_argument **args);
/* overlaps.c: refuses arrays that must not share memory; the message has both names and the
 * bytes. */
tw_status launch_check_overlaps(tw_launch *l);
void launch_refuse_overlap(tw_launch *l, int written, int other);
bool overlaps_of_arrays(const tw_launch *l, int p, int q);
bool overlaps_is_in(uint64_t set, int p);
/* Adds a note under an error: the arrays that overlap. */
void launch_note_overlaps(tw_launch *l);
/* Adds a note under wrong values: what may have made the NaN, if the worst one is a NaN and
 * `ensures` expects a number. */
void launch_note_nan(tw_launch *l, const struct ensures_report *r, const struct cpu_argument *args);

/* Does the work of tw_launch_verify, with values kept from before (NULL: computes them). */
tw_status launch_verify(tw_launch *l, struct ensures_kept *kept, tw_verdict *verdict);

/* Resolves the launch and gives the key of its tuned values, in the launch's memory. Returns
 * TW_OK, or reports. tuning.c */
tw_status launch_key(tw_launch *l, const char *device, tw_tuned *out);
/* Returns the tuned values of a resolved launch: "BM=128,BN=64". */
const char *launch_tunes_text(struct arena *a, const tw_launch *l);
/* Returns the hash of the kernel's program as results have it (tw_tuned). */
const char *tuning_kernel_program(struct arena *a, struct arena *scratch, const tw_kernel *k);
const tw_context *tuning_store_context(const tw_store *s);
/* Finds the results of a store as tw_store_find does, and leaves those that it found before. The
 * rows live in `a`, which is freed before. tuning_store.c */
tw_status tuning_store_rows(tw_store *s, struct arena *a, const tw_tuned *filter, tw_tuned **rows,
                            int *count);

/* A tuned value that a text gives, or not. */
struct stored_value {
    bool given;
    struct literal value;
};
/* Reads all of "BM=128,BN=64": names that the kernel has, and a number for each. values: one for
 * each name of the kernel. Returns false if the text is not such a list. tuning_store.c */
bool tunes_read(const struct lang_kernel *info, const char *text, struct stored_value *values);
/* Gives a launch the values that were not set by hand. */
void tunes_take(tw_launch *l, const struct stored_value *values);

int context_name_find(const char *name, const char *const *names, int count); /* -1 */
/* Adds the note "did you mean" if a name is similar. */
void context_suggest(struct diag *d, struct arena *a, const char *name, const char *const *names,
                     int count);

#endif
