/* Text to Tile IR.
 *
 *   import.c  the files of a program, each once
 *   scan.c    bytes -> tokens                       parse*.c  tokens -> syntax tree (syntax.h), names unresolved
 *   module.c  what a module declares: constants, tune lists, types, fns, kernels; what callers may ask of it
 *   check*.c  one kernel of the tree + a choice of types, tuned values and statics -> typed Tile IR
 *
 * The tree is made once a text; `check` runs for each variant, since extents depend on the choice.
 */
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

/* Where imported files are found, besides the folder of the file that imports them. */
struct lang_search {
    const char *path; /* folders with ':' between them; NULL: none */
    /* Texts that are taken instead of the files of their names. */
    const struct source *const *known;
    int known_count;
};

/* Parses a text and the files that it imports, and checks what does not depend on a choice. Never
 * NULL unless errors were reported. Everything lives in `a`; `source` must outlive it. */
struct module *lang_parse(struct arena *a, struct diag *d, const struct source *source);
struct module *lang_parse_with(struct arena *a, struct diag *d, const struct source *source,
                               const struct lang_search *search);
/* The texts of the program: its own first, then those that it imports. */
const struct lang_sources *lang_program(const struct module *m);
/* Lays the text out anew, in `out`: the same tokens and comments. false: it does not follow the grammar,
 * which was reported. */
bool lang_format(struct arena *a, struct diag *d, const struct source *source, struct text *out);

/* --- what a kernel takes --- */

struct lang_param {
    const char *name;
    struct loc loc;
    bool is_pointer, is_const, is_static;
    bool is_ensured;   /* an `ensures` speaks of a view of it */
    int views;         /* of a pointer: how many; others than the one below may reach beyond it */
    enum dtype dtype;  /* DT_NONE when a type variable decides */
    int type_variable; /* index into lang_kernel.types, -1 if none */
    bool has_value;    /* `static i32 n = 64`: the program is for that value alone */
    bool has_default;  /* `i32 n = 64`: the value where the caller gives none */
    struct literal value; /* of either */
    /* `i32 n = 2 * m`: computed at the launch, over symbols whose index is that of an earlier
     * parameter; NULL: the caller gives it */
    const struct expr *derived;
    const char *derived_text; /* as written */
    /* Pointer parameters: the first view of it without strides and offset. rank 0: none.
     * dim_param[i]: the scalar parameter that is axis i by itself (`A[m][k]`: m, k), -1 when the
     * axis is another expression. */
    int rank;
    int dim_param[MAX_RANK];
    const char *dim_text[MAX_RANK]; /* the axis as written, for messages */
};
struct lang_tune {
    const char *name;
    struct loc loc;
    int group; /* names declared together, `tune (BM, BN) = …`, share a group: they vary together,
                  and come one after the other */
    int count; /* values for the asked target */
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
        type_count; /* only what this kernel uses, fns and requires included */
    const struct lang_param *params;
    struct name_table param_names; /* number: the index into params */
    const struct lang_tune *tunes;
    const struct lang_type *types;
    bool has_ensures;
};

int lang_kernel_count(const struct module *m);
/* Kernel `index` as the target sees it ("cpu", "sim", "sm_90"; NULL = cpu); a target's own tune
 * list replaces the common one. Lives in `a`. */
const struct lang_kernel *lang_kernel(struct arena *a, const struct module *m, int index,
                                      const char *target);
/* The parameter of that name; -1 if there is none. */
int lang_param_find(const struct lang_kernel *k, const char *name);
int lang_kernel_index(const struct module *m, const char *name); /* -1 if there is none */

/* --- what its text says --- */

struct node; /* syntax.h */
struct node_list {
    const struct node **data;
    size_t count, capacity;
};
struct lang_shared {
    const struct node *declared; /* N_DECL */
    struct node_list elements;   /* N_ACCESS */
    bool by_element;             /* the text uses its elements alone */
};
struct lang_written {
    VEC(struct lang_shared) shared;
    struct node_list numbers; /* N_CONST, N_DECL: a name for a literal */
};
/* Finds how the text of kernel `index` declares and uses arrays in shared memory, and which numbers it
 * names. Names that it declares twice are left out. */
struct lang_written lang_written(struct arena *a, const struct module *m, int index);

/* A name that a text declares. */
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
    SYMBOL_LOCAL
};
struct lang_symbol {
    enum lang_symbol_kind kind;
    const char *name, *declaration; /* as the text has it, on one line */
    struct loc at;                  /* of the name */
    struct loc whole;               /* of the declaration; of a kernel or fn with its body */
    struct loc scope;               /* where it is known */
    int owner;                      /* index of its kernel or fn; -1: of the module */
    VEC(struct loc) uses;           /* in the order of the text */
};
struct lang_symbols {
    struct lang_symbol *data;
    size_t count, capacity;
};
/* Finds the names that the text declares, as far as it follows the grammar. Reports nothing. */
struct lang_symbols lang_symbols(struct arena *a, const struct source *source);

/* --- one variant --- */

struct lang_choice {
    const char *target; /* NULL = cpu */
    const struct literal
        *tunes; /* by lang_kernel.tunes; NULL: the defaults (the first that `require` allows) */
    const enum dtype *types;       /* by lang_kernel.types; NULL: the defaults */
    const struct literal *statics; /* by parameter; used where statics_known[i] */
    const bool *
        statics_known; /* NULL: none. A static that an extent needs and that is not known is an error. */
    bool any_threads; /* blocks of more threads than any GPU takes are no error */
};

/* The default tuned values for the target: the first combination that every `require` allows, in
 * the order of the lists (first list slowest). false: an error was reported (nothing satisfies).
 * `out` has tune_count entries. */
bool lang_default_tunes(struct arena *a, struct diag *d, const struct module *m, int index,
                        const char *target, struct literal *out);
/* The `require`s that concern a kernel, for many questions: they are read once. Lives in `a`. */
struct tune_rules;
struct tune_rules *lang_tune_rules(struct arena *a, const struct module *m, int index,
                                   const char *target);
/* As lang_tunes_allowed. If not allowed, the first *decided names alone decide it: whatever listed
 * values the others have, or those given here, it stays so. */
bool lang_tune_rules_allow(struct tune_rules *r, const struct literal *tunes, int *decided,
                           struct loc *violated);
/* Whether every `require` allows these values; *violated (may be NULL) gets the place of the first
 * condition that does not. */
bool lang_tunes_allowed(struct arena *a, const struct module *m, int index, const char *target,
                        const struct literal *tunes, struct loc *violated);

/* Threads of a block along each axis that `threads` asks for, also more than there may be. false:
 * the kernel has none, or they cannot be known. Reports nothing. */
bool lang_block_threads(struct arena *a, const struct module *m, int index,
                        const struct lang_choice *choice, int64_t threads[3]);

/* Typed Tile IR of kernel `index`, before any pass. NULL when errors were reported. */
struct kernel *lang_check(struct arena *a, struct diag *d, const struct module *m, int index,
                          const struct lang_choice *choice);

#endif
