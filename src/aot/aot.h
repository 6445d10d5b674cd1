/* Ahead of time: lowered kernels as C to ship, NAME.h and NAME.c.
 *
 *   aot.c         functions, versions, images, and the rule by which a launch takes a version
 *   aot_sizes.c   the sizes of a launch as tables, and the evaluator that computes them
 *   aot_pick.c    the version that a launch takes, as a function of C
 *   aot_family.c  families: the variant that a launch takes, from a table of sizes
 *   aot_header.c  NAME.h, with the parameters of each function
 *   aot_source.c  NAME.c: images, tables, functions
 *   aot_needs.c   questions about what is built
 *   aot_call.c, aot_text.c  pieces of C
 *   aot_cpu.c     programs of the CPU engine in NAME.c
 *   aot_module.*.in  the constant parts of both; aot_choice.c.in: that of families
 *
 * A *function* of NAME.h launches one kernel for one choice of element types. It has *rows*: the
 * values for which a launch takes a *version*, a kernel compiled once. Versions are in *images*:
 * PTX, and the machine code that an assembler made of it; or, for the CPU, programs of the engine,
 * one for each set of instructions.
 *
 * The function of a *family* has rows of several kernels with the same parameters. Each row is of a
 * *variant*, a kernel with tuned values, and tables give the order of the variants at some sizes. A
 * launch takes the order of the nearest of these sizes, and of the first variant in it that has a
 * row for the launch the first such row. */
#ifndef TW_AOT_H
#define TW_AOT_H

#include "plan/lowered.h"
#include "tile/launch_sizes.h"

struct aot_param {
    const char *name;
    const char *c_name; /* set by aot_add: another name, if C has a use for the parameter's */
    bool is_pointer, is_const;
    bool is_static; /* in the kernel that was added first */
    enum dtype dtype;
    const char *shape; /* shape of a pointer, as written: "[m][k]"; "": no view has it */
    bool has_default;
    struct literal default_value;
    enum device_number device;  /* the number of the GPU for which the function asks */
    const struct expr *derived; /* the expression that the function computes; NULL: the caller
                                 * passes the value */
    const char *derived_text;   /* as written */
};
/* Returns true if the function computes the parameter, and the caller does not give it. */
static inline bool aot_is_computed(const struct aot_param *p)
{
    return p->derived || p->device;
}

/* Range of a parameter's values for which a row is meant, bounds included. */
struct aot_range {
    int param;
    int64_t least, most;
};

struct aot_row {
    int version;
    int variant; /* of the function's family; 0: the function is the kernel's own */
    const struct target *target;
    const char *device;    /* the GPU's own name; NULL: any */
    const bool *is_static; /* by parameter: compiled in */
    const bool *absent;    /* by parameter: a number of the device that the kernel does not use */
    const struct literal *values; /* values of static parameters, by parameter */
    const int *divisor;           /* by parameter: 16, 8 or 1, which divides it */
    int alignment; /* alignment of each address in bytes, 16 … 1, or the element's size if that
                    * is more */
    int range_count;
    const struct aot_range *ranges;
    const char *tuned; /* "BM = 128, BN = 64", for people */
};

/* Sizes, and the order of a family's variants there. */
struct aot_point {
    const int64_t *sizes;
    const int *order; /* of as many variants as its table has, the fastest first */
};

/* The order of the variants on one device. */
struct aot_table {
    const struct target *target;
    const char *device; /* its name, "NVIDIA H200"; NULL: no results: by the model, or on a CPU
                         * in the order of the family */
    int variant_count;
    int compared; /* variants that were compared to choose these */
    double
        mean; /* geometric mean of the ratios of their fastest to the fastest of all; 0: not known */
    int measured; /* points with measured times; the others are predicted from these */
    VEC(struct aot_point) points;
};

/* The choice of a function among the variants of a family. */
struct aot_family {
    int size_count;
    const int *sizes;           /* the parameters that are the sizes of the tables */
    VEC(const char *) variants; /* "matmul_v6 BM=128,BN=64" */
    VEC(struct aot_table) tables;
};

struct aot_function {
    const char *name;            /* in C */
    const char *kernel, *file;   /* the kernel it launches, and the file that declares it; of a
                                * family, its name and file */
    const char *types;           /* "T = f16", "" */
    struct aot_family *family;   /* NULL: the function is of one kernel */
    int all_params, param_count; /* with and without those that aot_settle leaves out */
    const struct aot_param *params;
    int rooms;          /* most views in the workspace */
    const char *derive; /* steps that compute the derived parameters, as an initialiser of C */
    int derive_count;   /* steps; 0: no parameter is derived */
    VEC(struct aot_row) rows;
};

/* The sizes of a launch. */
struct aot_sizes {
    const char *steps, *texts; /* as initialisers of C: of the program, and of its roots' texts */
    int count;                 /* steps */
    int rooms;                 /* of the workspace */
    uint64_t zeroed;           /* by bit: the rooms that are zero before each launch */
    uint64_t compiled_in; /* by bit: the parameters that the kernel does not take, in a family */
    /* Tensor maps, and what the kernel takes in its order (parameters, rooms, maps): as initialisers of C. */
    const char *maps, *passed;
    int map_count, passed_count;
    uint64_t mapped; /* by bit: the parameters whose views have maps */
};

struct aot_version {
    int image;
    const char *entry;
    int block[3];
    int64_t shared_bytes;
    bool cooperative;
    int cluster; /* blocks along x; 0: the launch says none */
    int of_cluster
        [3];       /* blocks of a cluster along each axis, for device.clusters; 0: no clusters */
    bool early;    /* lowered.begins_early */
    int alignment; /* as of its rows */
    struct aot_sizes sizes;
};

/* A program of the CPU engine for one set of instructions. */
struct aot_program {
    const char *set; /* "avx2" */
    const uint64_t *words;
    size_t count;
};

struct aot_image {
    const char *ptx; /* NULL: programs of the CPU engine */
    VEC(struct aot_program) programs;
    const struct target *target; /* that it was built for, */
    const struct target *code;   /* and whose code it is: the same, or sm_90a for sm_90 */
    const unsigned char *cubin;  /* NULL: none */
    size_t cubin_length;
};

struct aot_build {
    struct arena *arena;
    const char *name;
    const char *version; /* version of the compiler: "1.0.0" */
    VEC(struct aot_function) functions;
    VEC(struct aot_version) versions;
    VEC(struct aot_image) images;
    VEC(const char *) devices; /* that rows name */
};

/* A compiled kernel to add. Texts are copied; `kernel` has passed all passes. */
struct aot_given {
    const struct kernel *kernel;
    const struct lowered *lowered; /* NULL: for the CPU */
    int program_count;
    const struct aot_program *programs; /* for the CPU */
    const struct target *target;        /* aot_cpu: for the CPU */
    const struct target *code;          /* for a GPU: the target whose code it is */
    const char *family;                 /* whose function it is for; NULL: the kernel's own */
    const char *variant;                /* of a family: "matmul_v6 BM=128,BN=64" */
    const char *file;                   /* of the kernel's text; of a family, its own */
    const char *types;                  /* "T = f16" */
    const char *suffix;                 /* suffix of the function's name: "f16"; "": none */
    int param_count;
    const struct aot_param *params;
    struct aot_row row; /* without version, variant and target */
};

/* The order of a family's variants on one device, to add. Texts are copied. */
struct aot_given_table {
    const char *family, *file, *types; /* as of its versions */
    const struct target *target;
    const char *device; /* NULL: no results */
    int size_count;
    const int *sizes; /* parameters */
    int variant_count;
    const char *const *variants; /* as of its versions */
    int compared;
    double mean;
    int measured;
    int point_count;
    const struct aot_point *points; /* orders of these variants */
};

/* The target of programs for the CPU, "cpu". */
extern const struct target *const aot_cpu;
/* Returns whether some image is for the CPU, and whether some is for a GPU. */
bool aot_has_cpu(const struct aot_build *b);
bool aot_has_gpu(const struct aot_build *b);
/* Returns whether some kernel has tensor maps or clusters. */
bool aot_has_hopper(const struct aot_build *b);
/* Returns the parameter that is `device.clusters` of versions that run in clusters; -1: none. */
int aot_clusters_param(const struct aot_build *b, const struct aot_function *f);
/* Returns whether some function has such a parameter. */
bool aot_asks_clusters(const struct aot_build *b);
/* Returns whether some launch has attributes, or a question about one: Hopper's constructs, an early
 * begin, device.clusters. */
bool aot_has_attributes(const struct aot_build *b);

/* Returns true if names of files and of C may start with it. */
bool aot_name_good(const char *name);
/* Adds a row. A launch takes the first row of its function that fits. Returns false after a
 * report. */
bool aot_add(struct aot_build *b, const struct aot_given *given, struct diag *diag);

/* Adds a table to a function that has a version of each of its variants. */
void aot_add_table(struct aot_build *b, const struct aot_given_table *given);

/* Removes rows that never decide, and versions and images that only they used. Call it before
 * images are read. */
void aot_settle(struct aot_build *b);

void aot_header(struct text *out, struct aot_build *b);
void aot_source(struct text *out, struct aot_build *b);

/* --- between the files of this folder --- */

/* Makes the sizes of one version. Returns false after a report. */
bool aot_sizes(struct arena *a, const struct aot_given *given, struct aot_sizes *out,
               struct diag *diag);
/* Prints the steps of a program, a line for each root. */
void aot_steps(struct text *out, const struct launch_sizes *s);
/* Prints the sizes of all versions. */
void aot_write_sizes(struct text *out, const struct aot_build *b);
/* Prints the text that runs the programs, and the one that finds tensor maps if the build has some. */
void aot_evaluator(struct text *out, const struct aot_build *b);
/* Returns true if the function takes a workspace. That of a family for a GPU always does, so that
 * other variants do not change its parameters. On a CPU the engine makes it. */
bool aot_takes_workspace(const struct aot_function *f);
/* Prints aot_pick_INDEX, which returns the version for a launch; of a family, aot_version_INDEX, which
 * returns that of a variant. */
void aot_pick(struct text *out, const struct aot_build *b, int index,
              const struct target *const *targets, int target_count);
/* Prints the tables of a family's function, and aot_take_INDEX, which chooses by them and makes the
 * plan of the launch. */
void aot_take(struct text *out, const struct aot_build *b, int index,
              const struct target *const *targets);
/* Prints the statement that takes device.clusters of a version, if the function has it. indent: blanks
 * before it; module, version: expressions of C. */
void aot_take_clusters(struct text *out, const struct aot_build *b, const struct aot_function *f,
                       const char *indent, const char *module, const char *version);
/* Prints the constant part of families; nothing if the build has none. */
void aot_choice(struct text *out, const struct aot_build *b);
/* Prints ", int32_t m, …)" for all scalar parameters, and the start of a body that may not use
 * them. */
void aot_scalars(struct text *out, const struct aot_function *f);
/* Prints a call, "FUNCTION_INDEX(first, m, …)", with all scalar parameters. */
void aot_call(struct text *out, const struct aot_function *f, const char *function, int index,
              const char *first);
int aot_target_index(const struct target *const *targets, const struct target *t);
/* Returns the number of rows whose kernels do not take a parameter: it is compiled in, or absent. The
 * kernels of a family may differ in it. */
size_t aot_rows_without(const struct aot_function *f, int param);
/* Returns the least alignment of all rows. */
int aot_least_alignment(const struct aot_function *f);

/* Prints the programs of all images for the CPU, and a list of them by image. aot_cpu.c */
void aot_cpu_programs(struct text *out, const struct aot_build *b);
/* Prints a text as a string literal of C. */
void aot_quote(struct text *out, const char *s, size_t length);
/* Prints a text in lines of 100 columns, broken where possible. */
void aot_wrap(struct text *out, const char *text);
/* "MATMUL" */
const char *aot_upper(const struct aot_build *b);
const char *aot_c_type(enum dtype t);
/* Prints "matmul_status f(matmul_module *module, …)" without the end of the declaration. */
void aot_prototype(struct text *out, const struct aot_build *b, const struct aot_function *f);
void aot_workspace_prototype(struct text *out, const struct aot_build *b,
                             const struct aot_function *f);
/* "1.5", "-0.0", "-nan" */
void aot_show_float(struct text *out, enum dtype t, double v);
/* Returns "n = 4096, k = 4096", or "" if there are no static parameters. */
const char *aot_statics(struct arena *a, const struct aot_function *f, const struct aot_row *r);
/* Returns true if the image's PTX is shipped: it has no machine code, or it is of the least
 * target. */
bool aot_ships_ptx(const struct aot_build *b, const struct aot_image *image);
/* Gives each target that something is built for once, the best first. After them in the list are other
 * targets whose code is shipped; all counts these, too. */
int aot_targets(const struct aot_build *b, const struct target **list, int most, int *all);
/* Returns true if the version's code runs on fewer GPUs than its target's. */
bool aot_is_narrow(const struct aot_build *b, int version);

enum { AOT_MOST_TARGETS = 32 };

/* Name in a template, written as "@key@", and the text that replaces it. */
struct aot_slot {
    const char *key, *value;
};
void aot_fill(struct text *out, const unsigned char *form, size_t length,
              const struct aot_slot *slots, int count);
/* Copies a packed template without the lines that nothing built needs: those between "@if X@" and "@end@", where X
 * is gpu, cpu, only_cpu, attributes (of launches), clusters (device.clusters is asked for), hopper (tensor maps or clusters)
 * or not_hopper, and does not hold. */
void aot_choose_lines(struct text *out, const struct aot_build *b, const unsigned char *form,
                      size_t length);
/* Returns a constant text as it was before cmake/embed.cmake packed it. */
struct text aot_unpack(struct arena *a, const unsigned char *packed, size_t length);
/* Returns the line that names the compiler and the sources. */
const char *aot_about(struct aot_build *b);

#endif
