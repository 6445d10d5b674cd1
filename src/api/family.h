/* The insides of a family (tilewright_family.h).
 *
 *   family.c            the object: loading, its kernels and types, launches of a choice
 *   family_files.c      from a path to the files and kernels of the members
 *   family_signature.c  the comparison of the members
 *   family_results.c    measured times in memory, by device and types; those of a store
 *   family_table.c      measured times of a file
 *   family_choose.c     the choice for given sizes
 *   family_model.c      the time of a variant by the model
 *   family_order.c      members whose results depend on the order of blocks
 *   family_ship.c       the choice of the variants that a build ships
 *   family_build.c      a family in a build; family_versions.c: the versions of a variant
 *   family_own.c        the family's own context, for choices and starts from any thread
 *   family_start.c      starts; family_cache.h: the entries by sizes
 *
 * Memory: the caller's thread adds results in the arena of the caller's context. Everything that a
 * choice makes is in the family's own context, which one thread uses at a time under the lock. */
#ifndef TW_FAMILY_INTERNAL_H
#define TW_FAMILY_INTERNAL_H

#include "api/entry_table.h"
#include "api/launch_params.h"
#include "base/platform.h"
#include "target/gpus.h"
#include "model/occupancy.h"
#include "tile/block_work.h"
#include "tile/launch_sizes.h"
#include "tilewright_family.h"
#include "store/predict.h"

/* A file of kernels, and the kernels of it that are members. */
struct family_file {
    const char *path;
    const char *kernel; /* NULL: `all`, or its only one */
    bool all;
    struct loc at, kernel_at; /* in the family's declaration; no source: there is none */
    tw_module *module;        /* NULL: not read yet */
    bool shares;              /* an earlier file has the same module */
};

/* A kernel with tuned values. */
struct family_variant {
    int member;
    const char *tune; /* "BM=128,BN=64", in the order of the kernel's names */
    const char *name; /* the kernel's, a blank, and those */
    bool refused;     /* the target does not take it */
    bool accepted;    /* the target was asked, and takes it */
    struct launch_sizes grid;
    int cluster;                   /* blocks of a cluster, once `grid` is compiled */
    bool has_grid;                 /* `grid` is compiled; else the number of blocks is not known */
    struct copied_views copied;    /* for a GPU: those that tensor copies reach */
    struct block_program *program; /* for the model; NULL: it does not know the variant */
    tw_entry *entry;               /* of the own context; NULL: not made yet */
};

struct family_member {
    tw_kernel *kernel; /* for the family's target */
    const char *path;  /* of its file */
    struct loc at;     /* in the family's declaration, or the kernel itself */
    const char *program;
    /* In the family's own context. */
    tw_kernel *own;
    struct family_variant *plain; /* with its default tuned values; NULL: not made yet */
    struct block_needs needs;     /* of that, without the blocks */
    bool estimated, refused;      /* `needs` is known; the target does not take it */
    bool varies;                  /* left out: its results may differ between runs */
    /* Variants with each other listed value, of a kernel for one target alone. */
    struct family_variant *listed; /* NULL: not made yet */
    int listed_count;
    bool listed_compiled; /* for the view's types */
};

/* The times at some sizes. */
struct family_row {
    const int64_t *sizes;
    const char *text; /* "m=16,n=4096,k=4096" */
    VEC(float) us;    /* by column; those past the end, and 0: not measured */
};

/* The results of one device with some types. */
struct family_group {
    struct family_group *next;
    const char *device;
    const char *types;           /* "T=f16" */
    VEC(int) columns;            /* a variant each */
    VEC(int) resident;           /* by column: blocks on a multiprocessor; 0: not known */
    VEC(struct family_row) rows; /* by sizes, */
    struct name_table row_of;    /* whose bytes are the name */
    struct name_table column_of; /* by the variant's name */
};

/* The results that choices use, for the family's types. */
struct family_view {
    const struct family_group *group; /* NULL: there are none */
    bool is_own;                      /* they are the family's device's */
    bool of_twins;                    /* they are those with f16 for bf16 */
    struct predict_table table;
    struct predict_facts *facts; /* by column */
};

struct tw_family {
    tw_context *ctx;
    tw_family *next; /* of the context */
    struct arena arena, loading;
    const char *name;
    const char *folder; /* of the table, with its '/' */
    struct source source;
    struct family_file *files;
    int file_count;
    struct family_member *members;
    int member_count;
    tw_dtype *types; /* by type variable of the first member */
    /* The arguments of a start. */
    int argument_count, least_arguments;
    int argument_of[ENTRY_PARAMS]; /* the parameter of each */
    int size_count;                /* integers among them: */
    int size_argument[ENTRY_PARAMS], size_param[ENTRY_PARAMS];
    int64_t preset[ENTRY_PARAMS]; /* their defaults */
    struct launch_sizes derive;   /* parameters that the launch computes */
    bool derives;
    const struct executor *executor; /* of all members */
    /* The device. */
    const char *device; /* as results name it; NULL: there is none */
    bool is_named;      /* the caller named it */
    int capability, multiprocessors;
    /* Results. */
    VEC(struct family_variant *) variants;
    struct name_table variant_of; /* by name */
    struct family_group *groups;  /* the first added first */
    bool same_bits;               /* members whose results may differ between runs are left out */
    bool started;                 /* they and the types do not change any more */
    /* Under the lock. */
    struct platform_lock *lock;
    tw_context *own;
    struct arena kept, viewed; /* of the own context; `viewed`: the view's */
    struct family_view view;
    bool has_view;    /* it is up to date with types and results */
    tw_error refusal; /* why the first variant was refused; TW_OK: none was */
    /* Read without the lock; NULL: the family was not started. */
    _Atomic(struct family_cache *) cache;
};

/* The sizes of a call: the integers in their order, and the values of all parameters as
 * launch_sizes_run takes them. */
struct family_sizes {
    int64_t size[ENTRY_PARAMS];
    uint64_t value[ENTRY_PARAMS];
    bool underivable; /* a parameter that the launch computes has no value */
};

bool family_has_kernel(const tw_family *f, const tw_kernel *k);
/* Makes a call on the caller's context that changes types or results. */
tw_status family_change(tw_family *f, tw_status (*body)(void *call), void *call);
/* Finds the family's name and files. Returns TW_OK, or reports. `name`: NULL for the only one. */
tw_status family_find(tw_family *f, const char *path, const char *name);
/* Makes a list of the members from the modules of the files, for the host. Returns TW_OK, or
 * reports. */
tw_status family_take_members(tw_family *f);
/* Compares all members with the first. Returns TW_OK, or TW_BAD_PROGRAM after reporting the first
 * difference of each. */
tw_status family_compare(tw_family *f);
/* Returns the index of a kernel's type variable; -1: none. */
int family_type_named(const struct lang_kernel *info, const char *name);
/* Returns true if a member lists the family's types, and is not for another target alone. */
bool family_takes(const tw_family *f, int member);
/* Returns true if results with `types` are of the family's; twins: with f16 in place of bf16, which
 * runs equally fast on a GPU. */
bool family_is_of_types(const tw_family *f, const char *types, bool twins);
/* Gives a launch of a member the family's types and tuned values. Returns TW_OK, or
 * TW_BAD_ARGUMENT after a report: the kernel lacks a type or a name. */
tw_status family_set_up(const tw_family *f, tw_launch *l, const char *tune);

/* Within a call on the caller's context, as all functions that add results. Returns the group of a
 * device and types. */
struct family_group *family_group(tw_family *f, const char *device, const char *types);
/* Returns types as groups have them: "U=f16,T=f32" in the order of the first member. NULL: the text
 * is damaged. */
const char *family_types_text(tw_family *f, const char *types);
/* Returns the column of a variant, which is added if the group does not have it; -1: the tuned
 * values are not those of the kernel. */
int family_column(tw_family *f, struct family_group *g, int member, const char *tune, int resident);
/* Returns whether a row holds the time in microseconds: a float has it as a normal number. */
bool family_is_time(double us);
/* Adds a time in microseconds, of which family_is_time is true. */
void family_add_time(tw_family *f, struct family_group *g, const int64_t *sizes, int column,
                     double us);
/* Returns the member whose kernel has that name; -1: none. */
int family_member_named(const tw_family *f, const char *name);
/* Makes `device`, whose results were read, the own device of a family without one. */
void family_take_device(tw_family *f, const char *device);
/* Reads the table next to the family's file, if there is one. A damaged one adds nothing; warns. */
void family_read_default_table(tw_family *f);

/* Under the lock, outside of any call: makes the own context with its copies of the kernels. The
 * reports of these functions are messages of the own context, if there is one. */
tw_status family_open_own(tw_family *f);
/* Chooses a variant for sizes. `out` is filled, except its size. Returns TW_OK, or reports. */
tw_status family_choose(tw_family *f, const struct family_sizes *s, tw_choice *out,
                        struct family_variant **variant);
/* Within a call on the own context: returns true if a member's results may differ between runs with
 * the same arguments, for the family's types. */
bool family_varies(tw_family *f, int member);
/* Makes the view of the results for the family's types and device, unless it is up to date. */
tw_status family_make_view(tw_family *f);
/* Marks the variants of the view that may run at these sizes, and computes their times by the model.
 * asked: by column, negative for those that may not; NULL: all may. */
void family_mark(tw_family *f, const struct family_sizes *s, const int *asked);
/* Estimates a member with its default values, once. The sizes give values to static parameters.
 * Returns TW_OK, or reports. */
tw_status family_estimate(tw_family *f, int member, const struct family_sizes *s);
/* Returns a cost of an estimated member with its default values: the model's time in microseconds, also
 * in *model, or a number by occupancy for a GPU that the model does not know. All GPUs are the same
 * in that. Negative: it is not estimated, or no GPU takes its grid. */
double family_cost(const tw_family *f, int member, const struct family_sizes *s, double *model);
void family_close_own(tw_family *f);
/* Reads the integers among the arguments of a call. Returns TW_OK, or reports. */
tw_status family_take(tw_family *f, const tw_value *arguments, int count, struct family_sizes *s);
/* Fills the values of the parameters of a variant whose grid is compiled: the sizes, and the numbers of
 * the device. multiprocessors: of the GPU; 0: as a launch finds them. Clusters are supposed to fill all
 * of them. */
void family_values(const tw_family *f, const struct family_variant *v, const struct family_sizes *s,
                   int multiprocessors, uint64_t values[ENTRY_PARAMS]);
/* Sets the values of parameters from the sizes. */
void family_derive(const tw_family *f, struct family_sizes *s);
/* Returns the microseconds of a variant at these sizes on a GPU, by the model; 0: not known.
 * resident: blocks on a multiprocessor. */
double family_model_time(const tw_family *f, const struct family_variant *v,
                         const struct family_sizes *s, const struct gpu *gpu, int resident);
/* For public calls from any thread: fills the caller's error with the first message of the own
 * context; refuses calls without a family, and arguments that are NULL. */
void family_fill_error(const tw_family *f, tw_status status, tw_error *error);
tw_status family_check_call(const tw_family *f, const tw_value *arguments, int count,
                            tw_error *error, const char *call);
/* Before a choice: forgets the refusals of members with statics, because these may depend on the
 * values of the statics. */
void family_forget_refusals(tw_family *f);
/* Keeps the error of the first variant that was refused, for a call that finds no other. */
void family_note_refusal(tw_family *f, const tw_error *error);
/* Returns true if a status means that the target or its driver does not take a variant. */
static inline bool family_is_refusal(tw_status status)
{
    return status == TW_BAD_PROGRAM || status == TW_UNSYNCHRONISED || status == TW_UNSUPPORTED;
}
/* Reports an error in the own context and returns `status`. */
tw_status family_refuse(tw_family *f, tw_status status, const char *format, ...) DIAG_FORMAT(3, 4);

#endif
