/* What stands behind the handles of tilewright.h, and how a public call is made.
 *
 *   status.c      status names, element types
 *   context.c     contexts, messages, the guard around every public call
 *   sized.c       structs that carry their size
 *   modules.c     modules, kernels and what they take; written.c: the places of what a text declares
 *   launch_set.c  launches: what the caller gives
 *   resolve.c     what follows from it: types, tuned values, sizes
 *   variant.c     one compiled version for each choice, kept
 *   launch_run.c  prepare, run, verify
 *   launch_host.c launches on the host: at once, in the background, by entries
 *   look.c        check, show, devices; editing.c: what an editor asks of a text
 *   launch_gpu.c, simulate.c   launches on a GPU and on the simulator; launch_params.c: what both
 *                 pass
 *   entry.c       launches by position from many threads; entry_table.h: how they find variants
 *   device.c      the GPU of a context: memory, streams, events
 *   ahead.c       kernels as C to ship
 *   tuning.c      keys, estimates and expected values for tuning; tuning_store.c: stored results
 *   explain.c     why a kernel is as fast as it is: what the model says; explain_*.c
 *   dlpack.c      arrays of other libraries
 *   ptx_program.c PTX programs of any compiler; simulation.c: one run of the simulator; trace.c:
 *                 what its trace is told of a launch
 *
 * Memory: a context holds three arenas that live for one call (messages until the next one); a
 * module, a launch and a variant hold one each. All of them recover to context_call, the only place
 * with a setjmp. What a call was making when memory ran out is freed by the public function, which
 * holds it outside of the guard's frame.
 */
#ifndef TW_OBJECTS_H
#define TW_OBJECTS_H

#include "base/diag.h"
#include "cpu/cpu.h"
#include "cuda/cuda.h"
#include "lang/lang.h"
#include "lower/lower.h"
#include "tile/overlay.h"
#include "tile/passes.h"
#include "tilewright.h"
#include "tilewright_build.h"
#include "tilewright_entry.h"
#include "tilewright_look.h"
#include "tilewright_sim.h"
#include "tilewright_tuning.h"

/* The stack on which public calls work, so that a caller's thread needs little: several times the
 * address space that the deepest program takes. tests/unit/test_stack.c measures it. */
enum { STACK_BYTES = 512 << 20 };

enum { VARIANTS_KEPT = 64 }; /* of one kernel; the least recently used goes first */

struct tw_context {
    struct allocator allocator;
    tw_config config;
    jmp_buf recovery;            /* of the public call in progress */
    struct poll poll;            /* asks tw_config.cancelled */
    struct arena message_memory; /* until the next call */
    struct arena scratch;        /* until the end of the call */
    struct arena probe;          /* freed many times in a call: for searching combinations */
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
    struct platform_stack *stack; /* of the public calls; see STACK_BYTES */
    struct platform_pool *pool;   /* NULL: the caller has one */
    struct parallel parallel;     /* that, or the caller's */
    struct platform_queue *queue; /* of launches begun; NULL: none was */
    struct cuda *cuda;            /* opened when first needed */
    struct cuda_cache *cache;
    char *import_path; /* all folders where imported files are looked for */
    tw_entry *entries;
    struct cpu_kept kept;
    void *marks[2]; /* its events around what is timed; NULL: not made yet */
};

/* Runs body(call) with fresh messages and scratch memory; TW_NO_MEMORY when an allocation in it
 * failed, TW_CANCELLED when tw_config.cancelled ended it. Renders the messages at the end. Not to be nested. */
tw_status context_call(tw_context *ctx, tw_status (*body)(void *call), void *call);
/* Within context_call: runs body on the caller's own stack. For the caller's callbacks, and for what
 * needs little. */
void context_outside(tw_context *ctx, void (*body)(void *call), void *call);
/* Object memory straight from the allocator, zeroed; NULL when there is none. */
void *context_object(tw_context *ctx, size_t size);
tw_status context_no_memory(tw_context *ctx); /* says so; TW_NO_MEMORY */
/* Says what is wrong with a call's arguments; TW_BAD_ARGUMENT. */
tw_status context_refuse(tw_context *ctx, const char *why);
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
    const char *target;                /* "cpu", "sm_80" */
    const struct lower_target *device; /* NULL: the host */
    tw_kernel *targeted;               /* the host's: it for other targets, made when asked for */
    tw_kernel *next;                   /* in that list */
    const struct lang_kernel *info;    /* as the target sees it */
    const tw_value **tune_values;      /* by tune */
    const tw_dtype **type_choices;     /* by type variable */
    struct tune_rules *rules;          /* its `require`s; NULL: not asked for yet */
    struct variant *variants;          /* the most recently used first */
    int variant_count;
};

/* A module of the same texts in another context, whatever the files hold now. Reports there. */
tw_status module_again(tw_context *ctx, const tw_module *m, tw_module **out);
struct tune_rules *kernel_rules(tw_kernel *k);
void module_launch_gone(tw_module *m); /* a launch of it was freed */

/* What a variant was made for. Arrays by the kernel's tunes, types and parameters. */
struct choice {
    struct literal *tunes;
    enum dtype *types;
    struct literal *values; /* of scalar parameters */
    bool *known;
    /* A fact about a run-time integer: 16 or 1; bytes that divide a pointer's address: up to 16. */
    int *divisor;
    bool any_threads;   /* as in lang_choice: to count what a block does, never to run it */
    bool despite_races; /* as in pass_context: for the simulator alone */
    struct probe_request *probe; /* of this launch alone; NULL: none */
};

/* The views of a pointer parameter, in the order of their declarations. */
struct view_list {
    VEC(const struct sym *) all;
};

struct variant {
    struct variant *next;
    struct arena arena;
    struct choice key;           /* values and known: of statics only */
    struct kernel *ir;           /* after all passes */
    struct view_list *views;     /* by parameter */
    struct overlay overlay;      /* which arrays must not share memory */
    struct cpu_program *program; /* the host's */
    struct lowered *lowered;     /* a GPU's */
    struct cuda_module *module;  /* loaded when first run */
    const struct source *ptx;    /* the lowered program's text and what was read back from it, */
    const struct ptx_module *read_back; /* when first simulated */
    struct claimed
        *claimed; /* the same with what it claims checked; NULL: not made yet, or it claims
                                nothing */
};

/* A variant for the simulator alone (tile/claims.h). */
struct claimed {
    struct lowered *lowered;
    const struct source *ptx;
    const struct ptx_module *read_back;
};

struct choice choice_new(struct arena *a, const struct lang_kernel *info);
/* Structs that carry their size, sized.c. With a message, if ctx is not NULL, about a caller's struct
 * that was not made as tilewright.h says. */
#define READ_SIZED(ctx, type, to, from) sized_read(ctx, #type, to, sizeof(type), from)
#define SIZED_FITS(ctx, type, object) sized_fits(ctx, #type, object)
#define FILL_SIZED(to, from) sized_fill(to, &(from), sizeof(from))
/* Copies a caller's struct into `to`, which has `known` bytes; fields that the caller's lacks are 0.
 * TW_BAD_ARGUMENT: its size is none. TW_UNSUPPORTED: it sets fields that `to` lacks. */
tw_status sized_read(tw_context *ctx, const char *type, void *to, size_t known, const void *from);
/* Tells whether a caller's struct can be filled. */
bool sized_fits(tw_context *ctx, const char *type, const void *object);
/* Fills a caller's struct that fits; its `size` stays. */
void sized_fill(void *to, const void *from, size_t known);

/* A literal of the compiler as a public value. */
static inline tw_value value_of(struct literal v)
{
    return v.is_float ? tw_float(v.f) : tw_int(v.i);
}

/* A public integer or float as a double. */
static inline double value_number(tw_value v)
{
    return v.kind == TW_FLOAT ? v.f : (double)v.i;
}

/* A tuned value as the caller has it, into the compiler's. false: it is none of that name, which is
 * reported. launch_set.c */
bool tune_value_read(struct diag *d, const struct lang_tune *tune, tw_value given,
                     struct literal *out);
/* The variant for c, compiled if there is none. Reports; TW_BAD_PROGRAM,
 * TW_UNSYNCHRONISED or TW_UNSUPPORTED. */
tw_status variant_for(tw_kernel *k, const struct choice *c, struct variant **out);
void variants_free(tw_kernel *k);
/* The same for one that the caller keeps: v is zeroed but for its arena. What it is lowered to
 * lives in `lowered`. */
tw_status variant_compile(tw_kernel *k, struct variant *v, const struct choice *c,
                          struct arena *lowered);
void variant_free(tw_context *ctx, struct variant *v);
/* The program as the simulator reads it; kept with the variant. TW_OK, or reported. simulate.c */
tw_status variant_read_back(tw_context *ctx, struct variant *v);
/* Makes v->claimed, if it claims anything. TW_OK, or reported. simulate.c */
tw_status variant_read_claims(tw_kernel *k, struct variant *v);
/* Typed IR for c in arena a, before any pass; statics that are not known stay names. NULL:
 * reported. */
struct kernel *choice_check(struct arena *a, struct diag *d, const tw_kernel *k,
                            const struct choice *c, const bool *statics_known);
/* Runs the passes up to `last` (NULL: all) over it. TW_OK, TW_UNSYNCHRONISED or TW_BAD_PROGRAM,
 * reported. */
tw_status choice_passes(const tw_kernel *k, struct kernel *ir, const struct choice *c,
                        const bool *statics_known, const char *last);

/* Lowers the IR, after all passes, for the kernel's target. NULL: reported. */
struct lowered *choice_lower(struct arena *a, const tw_kernel *k, struct kernel *ir,
                             const struct choice *c, const bool *statics_known);
/* A note behind the error that a variant takes more than the target has: listed tuned values with
 * which it does not. */
void note_fitting(const tw_kernel *k, const struct choice *wanted, const bool *statics_known,
                  enum lower_excess excess);
/* Lines that `show --stage ptx` prints before the launch's PTX. look.c */
int look_lines_before(const tw_launch *l);
/* For people: the layouts and accesses of a lowered kernel. show_layout.c */
void show_layout(struct text *out, const struct lowered *lowered, const char *target);

/* A launch in the background: what it runs with, and what came of it. */
struct begun {
    struct platform_job job;
    struct variant *variant; /* NULL: none is under way */
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
    struct arena shown;               /* text of the latest tw_launch_show, */
    struct printed_lines shown_lines; /* and its statements */
    struct arena simulated;           /* result of the latest tw_launch_simulate */
    struct arena key;                 /* texts of the latest tw_launch_tuning_key */
    struct arena explained;           /* result of the latest tw_launch_explain */
    /* given */
    bool *value_set, *tune_set, *type_set, *array_set;
    bool *array_refused; /* the one given last, which stands in `refused`; none is set */
    tw_value *values;    /* by parameter */
    struct literal *tunes;
    enum dtype *types;
    tw_array *arrays, *refused; /* by parameter */
    /* worked out */
    struct choice choice;
    bool
        resolved; /* `choice` is that of the values and arrays set now; prepared: the program, too */
    bool prepared;
    struct variant *variant; /* while prepared */
    struct arena started;    /* what stands behind `gpu` */
    struct gpu_launch *gpu;  /* while prepared: what a GPU is given; NULL: not worked out yet */
    struct begun begun;
    bool allows_overlap, keeps_inputs, despite_races;
    struct probe_request *probe; /* of tw_launch_probe; NULL: none */
    struct arena kept_memory;
    void **kept; /* by parameter: a copy of an input that the latest run may have overwritten */
};

/* Returns what is wrong with the array by itself; NULL: nothing. a: NULL, or memory for a text that
 * says numbers. */
const char *array_fault(struct arena *a, const tw_array *x);
int64_t array_length(const tw_array *x);
const char *array_text(struct arena *a, enum dtype t, int rank, const int64_t *shape);
const char *param_text(struct arena *a, const struct lang_kernel *info, int param); /* f16[m][k] */
/* "BM = 128, BN = 64" of a resolved launch, in scratch memory; only_set: those that were set. */
const char *tunes_text(const tw_launch *l, bool only_set);
void add_literal(struct text *out, struct literal v);

/* Fills l->choice from what was given. strict: every scalar parameter must be known, else reported;
 * not strict: what is not known stays so. TW_OK or TW_BAD_ARGUMENT. */
tw_status launch_resolve(tw_launch *l, bool strict);
/* The same, not strict, for a build: values of parameters that are not static only say what 16
 * divides, so nothing is derived from them. */
tw_status launch_resolve_facts(tw_launch *l);

/* The value of scalar parameter p, rounded to its type, into l->choice. Reports what does not fit. */
void launch_take_value(tw_launch *l, int p, tw_value v);
/* Computes derived parameter p into l->choice, if what it follows from is known there; else it is
 * what the caller gave, or stays unknown. statics_alone: the values of other parameters do not
 * count. Reports what overflows, divides by zero or is not what the caller gave. derive.c */
void launch_derive(tw_launch *l, int p, bool statics_alone);
/* " with h = 5, stride = 0": the parameters that e needs, all known. In scratch memory. */
const char *values_text(tw_launch *l, const struct expr *e);

/* Notes, behind an error that something was not given, which arrays were, and why they were
 * refused. */
void launch_note_refused(tw_launch *l);

/* Whether parameter p of type t can be v; reports if not. */
bool value_fits(tw_launch *l, int p, enum dtype t, tw_value v);

/* The GPU of the context. TW_OK, TW_UNSUPPORTED (there is none; reported) or TW_NO_MEMORY. */
tw_status context_gpu(tw_context *ctx, struct cuda **out);
/* Of the latest call on it that refused: TW_NO_MEMORY (the GPU's), TW_FAULT (a kernel failed
 * before) or `otherwise`. */
tw_status gpu_status(const struct cuda *c, tw_status otherwise);
tw_status gpu_run_status(const struct cuda *c); /* of a kernel; TW_UNSUPPORTED: it has none such */
/* Reports why a call on the context's GPU refused; `misused` where the driver was not asked. */
tw_status gpu_refuse(tw_context *ctx, const char *why, tw_status misused);
/* Milliseconds of the GPU between two marks in the default stream. */
bool context_mark(tw_context *ctx, int mark, char why[CUDA_WHY]); /* 0: from, 1: to */
bool context_marked(tw_context *ctx, double *milliseconds, char why[CUDA_WHY]);
/* PTX to be assembled, in the call in progress. */
struct cuda_text context_ptx(tw_context *ctx, const char *text, size_t length);
/* Runs a prepared launch of the host's kernel `runs` times; the time of one. Reports. */
tw_status launch_on_host(tw_launch *l, const struct cpu_argument *args, int runs,
                         double *milliseconds);
/* How a launch of this context runs on the host; for several threads at once. */
struct cpu_options host_options(tw_context *ctx);
/* What came of one, in public terms; reports what has no text of its own. kind CPU_OK: f is not
 * looked at. */
tw_status host_outcome(tw_context *ctx, enum cpu_fault_kind kind, const struct cpu_fault *f);
void context_settle(tw_context *ctx); /* waits for all launches that were begun */
void launch_settle(tw_launch *l);     /* for this one */

/* Prepares and runs a launch of a GPU's kernel `runs` times; the time of one. Reports.
 * launch_gpu.c */
tw_status launch_on_gpu(tw_launch *l, int runs, double *milliseconds);
/* Arrays on the device are copied to the host, into scratch memory, for as long as the call lasts.
 * Reports. */
tw_status launch_fetch(tw_launch *l, struct cpu_argument *given);

/* What the scalar parameters of a resolved launch are. */
struct scalar_env launch_env(const tw_launch *l);
/* Bytes from an array's first element to behind the last that a view reaches; -1: not known. */
int64_t launch_array_bytes(const tw_launch *l, int param);
/* launch_resolve, compile, arrays against views. */
tw_status launch_prepare(tw_launch *l);
/* The part of it about arrays and views: of a launch with all values and a variant. */
tw_status launch_check_sizes(tw_launch *l);
/* Refuses that the array of parameter p is at NULL, if a view of it with elements is used. */
tw_status launch_check_null(tw_launch *l, int p);
/* Nothing is compiled or loaded while the stream is captured, which is refused in these words. */
tw_status launch_not_captured(tw_launch *l, void *stream, const char *refusal);
/* A launch that has its variant: loads that on the context's GPU. launch_gpu.c */
tw_status launch_load(tw_launch *l);
/* The same and all else that it needs in the stream; starts it there, if wanted. */
tw_status launch_enqueue(tw_launch *l, void *stream, bool start);
/* By parameter, what a resolved launch was given, in scratch memory. */
struct cpu_argument *launch_given(const tw_launch *l);
/* Prepares it; into *args the same. A missing array is reported. */
tw_status launch_arguments(tw_launch *l, struct cpu_argument **args);
/* overlaps.c: refuses arrays that must not share memory, with both names and the bytes. */
tw_status launch_check_overlaps(tw_launch *l);
void launch_refuse_overlap(tw_launch *l, int written, int other);
/* Before a run: copies the inputs that it may overwrite, for `ensures`, if the launch keeps them. */
tw_status launch_keep_inputs(tw_launch *l, const struct cpu_argument *args);
/* Beneath an error: which arrays overlap. */
void launch_note_overlaps(tw_launch *l);

/* A public call's work: tw_launch_verify, by values that are kept (NULL: worked out). */
tw_status launch_verify(tw_launch *l, struct ensures_kept *kept, tw_verdict *verdict);

/* Resolves the launch; what it is kept under, in its own memory. TW_OK, or reported. tuning.c */
tw_status launch_key(tw_launch *l, const char *device, tw_tuned *out);

int name_find(const char *name, const char *const *names, int count); /* -1 */
/* "did you mean" as a note, if a name is near. */
void suggest(struct diag *d, struct arena *a, const char *name, const char *const *names,
             int count);

#endif
