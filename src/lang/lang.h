/* From text to Tile IR.
 *
 *   import.c  reads the files of a program, each once; parse_family.c  families
 *   scan.c    bytes -> tokens                       parse*.c  tokens -> syntax tree (syntax.h), names unresolved
 *   module.c  the declarations of a module: constants, tune lists, types, fns, kernels; queries
 *   check*.c  one kernel of the tree + a choice of types, tuned values and statics -> typed Tile IR
 *
 * The tree is made once for each text. The checker runs for each variant, because extents depend
 * on the choice. */
#ifndef TW_LANG_H
#define TW_LANG_H

#include "base/diag.h"
#include "base/name_table.h"
#include "tile/tile.h"

struct module;

struct lang_sources {
    const struct source **data;
    size_t count, capacity;
};

enum { LANG_MOST_TEXT = 16 << 20 }; /* bytes of an imported file */

/* The places of imported files, in addition to the folder of the importing file. */
struct lang_search {
    const char *path; /* folders separated by ':'; NULL: none */
    /* Texts that replace the files of the same names. */
    const struct source *const *known;
    int known_count;
};

/* Parses a text and the files that it imports, and checks everything that does not depend on a
 * choice. Returns NULL only after reporting errors. Everything lives in `a`; `source` must
 * outlive it. */
struct module *lang_parse(struct arena *a, struct diag *d, const struct source *source);
struct module *lang_parse_with(struct arena *a, struct diag *d, const struct source *source,
                               const struct lang_search *search);
/* Returns the texts of the program: its own first, then those that it imports. */
const struct lang_sources *lang_program(const struct module *m);
/* Formats the text and writes it to `out`, with the same tokens and comments. Returns false,
 * after reporting, if the text does not follow the grammar. */
bool lang_format(struct arena *a, struct diag *d, const struct source *source, struct text *out);

/* --- what a kernel takes --- */

struct lang_param {
    const char *name;
    struct loc loc;
    bool is_pointer, is_const, is_static;
    bool is_ensured;   /* an `ensures` uses a view of it */
    int views;         /* pointers: number of views; those other than the first may reach beyond
                        * it */
    enum dtype dtype;  /* DT_NONE if a type variable decides */
    int type_variable; /* index into lang_kernel.types; -1: none */
    bool has_value;    /* `static i32 n = 64`: the program accepts only that value */
    bool has_default;  /* `i32 n = 64`: the value if the caller gives none */
    enum device_number device; /* the launch asks its device for that value */
    struct literal value;      /* the value for has_value and has_default */
    /* `i32 n = 2 * m`: the value that each launch computes; the index of a symbol in it is that
     * of an earlier parameter. NULL: the caller gives the value */
    const struct expr *derived;
    const char *derived_text; /* the expression as written */
    /* Pointer parameters: the shape of the first view of it without strides and offset. rank 0:
     * there is no such view. dim_param[i]: the scalar parameter that alone is the extent of axis
     * i (`A[m][k]`: m, k); -1 if the extent is another expression. */
    int rank;
    int dim_param[MAX_RANK];
    const char *dim_text[MAX_RANK]; /* the extent of the axis as written, for messages */
    const char *view_name;          /* the name of that view; NULL: there is none */
};
struct lang_tune {
    const char *name;
    struct loc loc;
    int group; /* names declared together, `tune (BM, BN) = …`, share a group: they vary together
                * and follow each other in the list */
    int count; /* number of values for the given target */
    const struct literal *values; /* the first is the default */
    enum dtype dtype;             /* I32, F32 or BOOL */
};
struct lang_type {
    const char *name;
    int count;
    const enum dtype *choices; /* the first is the default */
};
struct lang_kernel {
    const char *name;
    struct loc loc;
    bool thread_level;
    int param_count, tune_count,
        type_count; /* only those that this kernel uses, also through fns and requires */
    const struct lang_param *params;
    struct name_table param_names; /* number: the index into params */
    const struct lang_tune *tunes;
    const struct lang_type *types;
    const char *target; /* the GPU that `target(sm_90a)` names; NULL: none */
    bool has_ensures;
    struct loc ensures;    /* the place of the first */
    bool has_wrong_params; /* with the first choice of its types, a parameter does not compile */
};

/* Returns the number of parameters that a caller gives; device.sms and the like come after them. */
static inline int lang_caller_params(const struct lang_kernel *k)
{
    int count = k->param_count;
    while (count > 0 && k->params[count - 1].device != DEVICE_NONE)
        count--;
    return count;
}

/* Returns true if the parameter is device.clusters after device.sms: if the caller gives only that, it
 * follows from it. */
static inline bool lang_follows_sms(const struct lang_kernel *k, int param)
{
    return param > 0 && k->params[param].device == DEVICE_CLUSTERS &&
           k->params[param - 1].device == DEVICE_SMS;
}

int lang_kernel_count(const struct module *m);
/* Returns kernel `index` as the target sees it ("cpu", "sim", "sm_90"; NULL: cpu). A target's
 * own tune list replaces the common one. Lives in `a`. */
const struct lang_kernel *lang_kernel(struct arena *a, const struct module *m, int index,
                                      const char *target);
struct lang_choice;
/* Returns the `ensures` of a kernel with the views that they name, in one spelling: kernels whose
 * texts are equal compute the same. NULL: reported. Lives in `a`. ensured.c */
const char *lang_ensured(struct arena *a, struct diag *d, const struct module *m, int index,
                         const struct lang_choice *choice);
/* Checks the parameters of a kernel for one choice of its types. Returns false if it reported an
 * error. */
bool lang_check_params(struct arena *a, struct diag *d, const struct module *m, int index,
                       const struct lang_choice *choice);
/* Returns the index of the parameter of that name; -1: none. */
int lang_param_find(const struct lang_kernel *k, const char *name);

/* --- families --- */

/* A kernel of a family. */
struct lang_member {
    struct loc at, kernel_at; /* of the file's name, of the kernel's */
    const char *file;         /* as written */
    const char *kernel;       /* NULL: the only one of the file */
    const char *path;         /* the file; NULL: not looked for, or not found */
};
struct lang_family {
    const char *name;
    struct loc loc;
    VEC(struct lang_member) members;
};
int lang_family_count(const struct module *m);
struct lang_family lang_family(struct arena *a, const struct module *m, int index);
/* Finds the files of a family that `source` declares. Returns false after reporting a file that is
 * missing, or a kernel that is there twice. */
bool lang_find_members(struct arena *a, struct diag *d, const struct source *source,
                       const struct lang_search *search, struct lang_family *f);

/* --- what its text says --- */

struct node; /* syntax.h */
struct node_list {
    const struct node **data;
    size_t count, capacity;
};
struct lang_shared {
    const struct node *declared; /* N_DECL */
    struct node_list elements;   /* N_ACCESS */
    bool by_element;             /* the text uses only its elements */
};
struct lang_written {
    VEC(struct lang_shared) shared;
    struct node_list numbers; /* N_CONST, N_DECL: a name for a literal */
};
/* Returns how the text of kernel `index` declares and uses arrays in shared memory, and the
 * numbers that it names. A name that it declares twice is left out. */
struct lang_written lang_written(struct arena *a, const struct module *m, int index);

/* The kinds of names that a text declares. */
enum lang_symbol_kind {
    SYMBOL_CONST,
    SYMBOL_TUNE,
    SYMBOL_TYPE,
    SYMBOL_FN,
    SYMBOL_KERNEL,
    SYMBOL_PARAM,
    SYMBOL_EXTENT, /* of a fn's parameter, bound by the call */
    SYMBOL_VIEW,
    SYMBOL_SHARED,
    SYMBOL_REG,
    SYMBOL_LOCAL,
    SYMBOL_FAMILY
};
struct lang_symbol {
    enum lang_symbol_kind kind;
    const char *name, *declaration; /* the declaration is the text's, on one line */
    struct loc at;                  /* the name's place */
    struct loc whole;               /* the declaration; of a kernel or fn including its body */
    struct loc scope;               /* the range in which it is known */
    int owner;                      /* index of its kernel or fn; -1: the module */
    VEC(struct loc) uses;           /* in the order of the text */
};
struct lang_symbols {
    struct lang_symbol *data;
    size_t count, capacity;
};
/* Returns the names that the text declares. It reads the parts of the text that follow the
 * grammar. Reports nothing. */
struct lang_symbols lang_symbols(struct arena *a, const struct source *source);

struct lang_import {
    struct loc at;    /* the quoted name */
    const char *path; /* the file; if none is found, the place in the text's folder */
    bool found;
};
struct lang_imports {
    struct lang_import *data;
    size_t count, capacity;
};
/* Returns the imports and the files of families of the text, in its order, and looks for the files.
 * Reports nothing. */
struct lang_imports lang_imports(struct arena *a, const struct source *source,
                                 const struct lang_search *search);

/* --- one variant --- */

struct lang_choice {
    const char *target; /* NULL: cpu */
    const struct literal
        *tunes; /* in the order of lang_kernel.tunes; NULL: the defaults (the first that
                 * `require` allows) */
    const enum dtype *types;       /* in the order of lang_kernel.types; NULL: the defaults */
    const struct literal *statics; /* by parameter; used if statics_known[i] */
    const bool
        *statics_known; /* NULL: none. A static that an extent needs and that is not known is an
                        * error. */
    bool any_threads;   /* blocks with more threads than any GPU accepts are not an error */
};

/* Sets `out` to the default tuned values for the target: the first combination that every
 * `require` allows, in the order of the lists (the first list varies slowest). Returns false
 * after reporting an error (no combination is allowed). `out` has tune_count entries. */
bool lang_default_tunes(struct arena *a, struct diag *d, const struct module *m, int index,
                        const char *target, struct literal *out);
/* The `require`s that concern a kernel, read once for many queries. Lives in `a`. */
struct tune_rules;
struct tune_rules *lang_tune_rules(struct arena *a, const struct module *m, int index,
                                   const char *target);
/* Checks values as lang_tunes_allowed does. If they are not allowed, the first *decided names
 * alone decide it: the other names may take any value of their lists, or the value given here,
 * and no such combination is allowed. */
bool lang_tune_rules_allow(struct tune_rules *r, const struct literal *tunes, int *decided,
                           struct loc *violated);
/* Returns true if every `require` allows these values. If not, *violated (may be NULL) gets the
 * place of the first condition that does not hold. */
bool lang_tunes_allowed(struct arena *a, const struct module *m, int index, const char *target,
                        const struct literal *tunes, struct loc *violated);

/* Gets the threads of a block that `threads` asks for along each axis, even if there are too
 * many. Returns false if the kernel has no `threads` or the numbers cannot be known. Reports
 * nothing. */
bool lang_block_threads(struct arena *a, const struct module *m, int index,
                        const struct lang_choice *choice, int64_t threads[3]);

/* Blocks of a cluster that every GPU with clusters can run (target/targets.def). */
enum { LANG_MOST_CLUSTER = 8 };
/* Returns the blocks of a cluster; 1 without clusters. Returns the most if the number cannot be known
 * or is refused. Reports nothing. */
int lang_cluster_blocks(struct arena *a, const struct module *m, int index,
                        const struct lang_choice *choice);

/* Returns a kernel of the parameters and the grid of kernel `index` alone, for launch_sizes_compile:
 * statics that are not known stay parameters. NULL: errors were reported. */
struct kernel *lang_grid(struct arena *a, struct diag *d, const struct module *m, int index,
                         const struct lang_choice *choice);

/* Returns the typed Tile IR of kernel `index`, before any pass. NULL: errors were reported. */
struct kernel *lang_check(struct arena *a, struct diag *d, const struct module *m, int index,
                          const struct lang_choice *choice);

#endif
