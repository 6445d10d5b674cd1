/* Declarations that the files of the checker share: the parsed module, and the state of checking
 * one kernel.
 *
 *   import.c         the files of a program         parse_family.c   families
 *   module.c         module-level names, duplicates, tune lists, lang_parse
 *   module_names.c   look-ups of names at module level
 *   module_uses.c    the module-level names that a kernel reaches
 *   module_kernel.c  queries of a kernel: parameters, tuned names, types
 *   module_tunes.c   require: the combinations of tuned values, and the first allowed one
 *   check.c          a kernel: attributes, body    check_params.c   its parameters
 *   check_scope.c    names: scopes, unique names   check_help.c     help for unknown names
 *   check_const.c    constants: module constants, tuned values, other values known at compile time
 *   check_type.c     types as written, extents, conversions
 *   check_expr.c     expressions, by their kind    check_operand.c  operands and operators
 *   check_call.c     calls (elementwise, reductions)   check_argument.c   their arguments
 *   check_shape.c    calls about shapes   check_effect.c   calls with effects
 *   check_access.c   names and accesses   check_fn.c       inlining
 *   check_return.c   early returns of fns    check_uncalled.c   names in fns that no kernel calls
 *   check_decl.c     declarations         check_view.c     global views
 *   check_emit.c     statements that are added         check_assignment.c   assignments
 *   check_stmt.c     statements, by their kind         check_loop.c     loops and pipelines
 *   check_role.c     Hopper's constructs: mbarriers, roles
 *   check_ensures.c  ensures              check_assigned.c reads of variables without a value
 *   ensured.c        the ensures of a kernel as text
 *
 * Two conventions hold everywhere. A function that returns NULL (or false, or DT_NONE) has
 * reported the reason, and its caller continues without a report of its own. A literal whose
 * type the context decides is an OP_LITERAL of dtype DT_NONE, an "untyped" literal: it stays so
 * until an operator, a conversion or check_settle_literal() gives it a type. */
#ifndef TW_CHECK_INTERNAL_H
#define TW_CHECK_INTERNAL_H

#include "base/name_table.h"
#include "base/number_map.h"
#include "lang/lang.h"
#include "lang/syntax.h"

/* --- the module --- */

enum entry_kind { ENTRY_CONST, ENTRY_TUNE, ENTRY_TYPE, ENTRY_FN, ENTRY_KERNEL };

/* Indices into module.entries or module.conditions, in increasing order. */
struct index_list {
    int *data;
    size_t count, capacity;
};

/* A name of the module. */
struct entry {
    const char *name;
    struct loc loc;
    enum entry_kind kind;
    const struct node *node;
    int index;                 /* index in module.entries */
    int group, member;         /* TUNE: the number of the list's group, the position among the
                                * group's names */
    enum dtype dtype;          /* TUNE: I32, F32 or BOOL */
    const enum dtype *choices; /* TYPE */
    int choice_count;          /* TYPE */
    struct index_list uses;    /* KERNEL: the entries that it reaches, also through conditions */
    struct index_list concern; /* KERNEL: the conditions that use its tuned names or types */
};

/* One `tune` line. */
struct tune_list {
    const struct node *node;
    const char *target;      /* NULL: the common list */
    int group, names, count; /* values: `count` rows of `names` values */
    struct literal *values;
    int next; /* the next list of the group; -1: none */
};

/* A condition at module level, and the entries that it uses. */
struct module_condition {
    const struct node *node; /* N_REQUIRE, N_STATIC_ASSERT */
    struct index_list uses;  /* entries */
    bool is_tuned;           /* one of them is a tuned name or a type */
};

struct module {
    const struct source *source;
    struct lang_sources sources; /* the text of the program, then the imported ones */
    const struct node *items;
    struct entry *entries;   /* the kernels are last */
    struct name_table names; /* number: the index of the entry */
    int entry_count;
    int known_count; /* number of entries that are not kernels */
    struct tune_list *lists;
    int list_count, group_count;
    int *first_lists; /* by group */
    struct module_condition *conditions;
    int condition_count;
    int *kernels; /* entry indices */
    int kernel_count;
    struct node_list families; /* N_FAMILY, of the program's own text */
};

/* import.c: parses the declarations of a text and of all that it imports. */
struct node *parse_program(struct arena *a, struct diag *d, const struct source *source,
                           const struct lang_search *search, struct lang_sources *sources);

void module_sort_indices(struct index_list *list);
const struct entry *module_entry(const struct module *m, const char *name); /* NULL: none */
/* Returns the list of a group that applies to a target; a NULL target means cpu. */
const struct tune_list *module_tune_list(const struct module *m, int group, const char *target);
/* Calls visit on each node directly below n, in the order of the text. */
void module_visit_children(const struct node *n,
                           void (*visit)(void *user, const struct node *child), void *user);
/* Collects the names of the module that trees reach, also through constants and fns. One object
 * serves many trees, one after the other. */
struct module_reach {
    struct arena *arena;
    const struct module *module;
    bool *reached; /* by entry index */
    int *hidden;   /* by entry index: number of local names in scope that hide the entry */
    struct index_list found, locals;
    struct index_list entered; /* constants and fns whose trees are not visited yet */
};
void module_reach_init(struct module_reach *r, struct arena *a, const struct module *m);
/* Adds the entries that the tree below n reaches to r->found. Entries that are already there are
 * not entered again. */
void module_reach_add(struct module_reach *r, const struct node *n);
/* Adds an entry, without the entries that it reaches. */
void module_reach_entry(struct module_reach *r, int index);
/* Returns a copy of the entries found, and clears r for the next tree. */
struct index_list module_reach_take(struct module_reach *r);
/* Returns true if n reaches a tuned name or a type. */
bool module_is_tuned(struct arena *a, const struct module *m, const struct node *n);
struct literal
module_param_value(const struct node *literal); /* the value of a parameter's `= literal` */
bool module_known_target(const char *target);   /* cpu, sim, cuda, sm_90, sm_90a, … */
void module_unknown_target(struct diag *d, struct loc loc,
                           const char *name); /* notes the names that
                                                                        * exist */
/* Sets `entries` to the entry indices of the tuned names of a kernel, in the order of
 * lang_kernel.tunes. Returns their number. */
int module_kernel_tunes(const struct module *m, int index, int *entries);
const struct entry *module_kernel_entry(const struct module *m, int index);

/* --- checking --- */

enum {
    MAX_DEPTH = 25000,
    MAX_EXPR_DEPTH = 12000,
    MAX_LAUNCH_DEPTH = 300, /* greatest depth of an expression that a launch computes: extents,
                             * strides, the grid */
    MAX_RESULTS = 8,
    MAX_INLINED = 4000,
    MAX_COPIED = 400000
};
#define MAX_ELEMENTS ((int64_t)1 << 31)
enum { MAX_TABLE = 4096 }; /* most values of a table */

enum bind_kind {
    BIND_ANY, /* in look-ups: any kind */
    BIND_SYM,
    BIND_VALUE,  /* fn parameter: an expression that replaces it */
    BIND_PLACE,  /* fn parameter by reference: an ACCESS of shared or global memory whose indices
                 * come first */
    BIND_EXTENT, /* extent that the argument of a fn parameter brought */
    BIND_DTYPE,  /* element type that the argument of a fn parameter brought */
    BIND_POISON  /* its declaration was wrong: no further errors about it */
};
struct binding {
    const char *name;
    struct loc loc;
    enum bind_kind kind;
    struct sym *sym;
    struct expr *value;
    int64_t extent;
    enum dtype dtype;
    int level;              /* level of the scope */
    struct binding *next;   /* the binding declared before it */
    struct binding *hidden; /* the next older binding of the same name */
};

/* The names in scope: a list from the newest on, and a table of them. The object of a name in
 * the table is its newest binding; NULL after its scopes are closed. */
struct names {
    struct binding *newest, *oldest;
    struct name_table table;
};

/* Facts about a symbol that the checker needs and the IR does not have. */
struct sym_info {
    struct expr *init;  /* const scalars: the value, for messages and for views */
    bool waits;         /* the value is found to wait for a static parameter's value */
    bool ensures_index; /* an index of `ensures for (…)` */
    bool varying;       /* a scalar that was given a value that differs between threads */
    bool freed;
    struct loc freed_at;
    int loop_depth;    /* loops around the declaration */
    int order;         /* constants: place in the order of the module */
    struct type shape; /* tables: the declared shape */
};

struct const_slot {
    enum { CONST_NEW, CONST_BUSY, CONST_DONE, CONST_BAD } state;
    struct sym *sym;
    struct expr *init; /* ENTRY_CONST: the value, in the constant's type */
};

/* An expression that messages show at another place than its own: a value that a fn returned is
 * shown at the call, an argument at the parameter's name. */
struct placed {
    const struct expr *value;
    struct loc at;
    const struct placed *before;
};

/* A fn being inlined. */
struct fn_frame {
    const struct entry *fn;
    const struct node *call;
    const struct inlining *inlined; /* the same call, for the IR */
    struct fn_frame *outer;
    const struct early *early; /* set if the fn returns early; NULL: only its last statement
                                * returns */
};

struct checker;
/* The checks of parts of a construct, which are constructs of all kinds. The wrappers check_expr,
 * check_stmts … call them; check_set_up gives them to a checker. */
struct check_parts {
    struct expr *(*expr)(struct checker *c, const struct node *n, const struct type *want);
    void (*stmts)(struct checker *c, const struct node *list, const struct node *stop);
    struct stmt *(*body)(struct checker *c, const struct node *n);
    void (*statement)(struct checker *c, const struct node *n);
    void (*if_and)(struct checker *c, const struct node *n, const struct node *rest, bool in_body);
};

struct checker {
    const struct check_parts *parts;
    struct arena *arena;
    struct diag *diag;
    const struct module *module;
    struct kernel *kernel;
    const struct literal *tunes; /* by entry index; NULL: tuned names have no values here */
    const enum dtype *types;     /* by entry index; NULL: types have no values here */
    struct const_slot *consts;   /* by entry index */
    VEC(struct sym *) made;      /* constants, in the order in which they were made */
    struct names names;
    int level;
    VEC(struct sym_info) infos; /* by sym->index; not for parameters */
    VEC(struct sym *) freed;
    struct name_table unique;   /* names that the kernel's symbols have */
    struct name_table numbered; /* names that others were numbered from (x for x_1); number: the
                                 * last number tried */
    struct name_table own;      /* names that the kernel's own text declares anywhere */
    struct stmt **tail;         /* the place of the next statement */
    struct loc start;           /* start of the statement being checked */
    const struct node *node;    /* the kernel being checked; NULL: none */
    bool hoistable;             /* statements may be added before the one being checked */
    const struct node *whole;   /* the call that is a statement, or a scalar's initial value */
    struct number_map unknown;  /* conditions whose values were found to be unknown */
    int never; /* number of branches around that the constants exclude; errors of evaluation are
                * not reported there */
    bool in_ensures;
    bool wants_mbarrier; /* the operand being checked may be an mbarrier */
    bool in_role;
    bool left_roles;     /* a cluster_sync() came after roles */
    uint32_t role_warps; /* warps that have a role: bit by number */
    bool any_extent;     /* views of any extent may be used whole: in typeof, as arguments by
                     * reference */
    const struct sym *wants_static; /* the parameter that was reported last as known too late */
    struct loc axis_like; /* the latest max(t, 1) of a tile: Triton's spelling of an axis */
    bool thread_level;
    bool any_threads;   /* as in lang_choice */
    int depth;          /* of nested expressions and statements, to limit recursion */
    int loops;          /* loops around the statement, within the fn */
    int loop_depth;     /* loops around the statement, in the whole kernel */
    int pipeline_level; /* scope level of the innermost pipeline body; 0: none */
    struct fn_frame *frames;
    const struct placed *placed; /* a list, the newest first */
    int inlined;
    int64_t written; /* number of iterations that are written out (check_loop.c) */
    int64_t copied;  /* number of expression nodes copied in place of fn parameters */
};

/* check_stmt.c: the parts of constructs. `want`: the type that the context gives to iota() and to
 * untyped literals; NULL: none. */
static inline struct expr *check_expr(struct checker *c, const struct node *n,
                                      const struct type *want)
{
    return c->parts->expr(c, n, want);
}
static inline void check_stmts(struct checker *c, const struct node *list, const struct node *stop)
{
    c->parts->stmts(c, list, stop);
}
/* Checks a statement as a list of its own, in a scope of its own. */
static inline struct stmt *check_body(struct checker *c, const struct node *n)
{
    return c->parts->body(c, n);
}
static inline void check_statement(struct checker *c, const struct node *n)
{
    c->parts->statement(c, n);
}
/* Checks an `if`; one of its branches also takes the statements `rest`. */
static inline void check_if_and(struct checker *c, const struct node *n, const struct node *rest,
                                bool in_body)
{
    c->parts->if_and(c, n, rest, in_body);
}
/* Returns the braces of a body; a place without source if it has none. */
static inline struct loc check_block_of(const struct node *n)
{
    return n->kind == N_BLOCK ? n->loc : LOC_NONE;
}
void check_set_up(struct checker *c, struct arena *a, struct diag *d, const struct module *m,
                  const char *name, struct loc loc);

/* check_params.c */
void check_bind_params(struct checker *c, const struct node *kernel,
                       const struct lang_choice *choice);

/* check.c */
/* Return the choice's tuned values and types by entry; tuned values NULL: reported. */
const struct literal *check_chosen_tunes(struct arena *a, struct diag *d, const struct module *m,
                                         int index, const struct lang_choice *choice);
const enum dtype *check_chosen_types(struct arena *a, const struct module *m, int index,
                                     const struct lang_choice *choice);
/* Returns the parameters of a kernel, checked with the first choice of its types, with the
 * values after their `=`. Does not report errors; lang_check does. Sets *wrong if there are any. */
const struct param *check_params_alone(struct arena *a, const struct module *m, int index,
                                       bool *wrong);

/* check_pasted.c: each adds a fix to the latest error, for a kernel pasted from CUDA C */
void check_fix_with_view(struct checker *c,
                         const struct sym *pointer); /* a view of it, used everywhere */
void check_fix_with_grid(struct checker *c);
void check_fix_with_threads(struct checker *c);
/* Returns a new name for a pointer whose view takes over its name. */
const char *check_pointer_name(struct checker *c, const char *name);
void check_fix_block_extent(struct checker *c, const struct node *member); /* blockDim.x */

/* check_scope.c, check_help.c */
/* Enters a nested expression or statement; reports if the nesting is too deep. The caller undoes
 * each call, also one that returned false, by c->depth--. */
bool check_deeper(struct checker *c, struct loc at);
/* Returns the text at a place, on one line and shortened: for messages. */
const char *check_source_snippet(struct checker *c, struct loc at);
const char *check_place_text(const struct node *n);
int check_scope_open(struct checker *c);
void check_scope_close(struct checker *c, int outer); /* outer: the result of check_scope_open */
/* Binds a name in the innermost scope. NULL: it is declared twice there, which is reported. */
struct binding *check_bind_name(struct checker *c, const char *name, struct loc loc,
                                enum bind_kind kind);
struct binding *check_lookup_name(const struct checker *c, const char *name);
struct binding *check_lookup_name_of_kind(const struct checker *c, const char *name,
                                          enum bind_kind kind);
/* Declares a symbol of the kernel under a name that no other symbol has, and binds it to the
 * name as written. */
struct sym *check_declare_sym(struct checker *c, const char *name, enum storage storage,
                              struct type type, struct loc loc);
/* Declares a symbol without a binding: for values that inlining keeps. */
struct sym *check_declare_hidden(struct checker *c, const char *name, enum storage storage,
                                 struct type type, struct loc loc);
struct sym_info *check_sym_info(struct checker *c, const struct sym *s);
/* Makes messages about e point at `at`; e itself keeps its place in the text. */
void check_place_expr(struct checker *c, const struct expr *e, struct loc at);
struct loc check_expr_place(const struct checker *c, const struct expr *e);
const char *check_expr_snippet(struct checker *c,
                               const struct expr *e); /* the text at that place */
/* Marks an undeclared name as wrong for the rest of the function, so that it is reported only
 * once. */
void check_poison_outermost(struct checker *c, const char *name, struct loc loc);
void check_poison_name(struct checker *c, const char *name, struct loc loc); /* marks a name that is
                                                                        * not bound here */
void check_unknown_name(struct checker *c, const char *name, struct loc loc);
/* Reports an unknown `name` in `name.part`. */
void check_unknown_base(struct checker *c, const char *name, const char *part, struct loc loc);
void check_unknown_call(struct checker *c, const struct node *n);
void check_unknown_type(struct checker *c, const char *name, struct loc loc);
const char *check_storage_text(const struct sym *s); /* "a register tile", … */

/* check_const.c */
/* Returns the symbol of a module constant or a tuned name. The first use, at `used`, makes it. */
struct sym *check_const_sym(struct checker *c, const struct entry *e, struct loc used);
/* Moves the constants to their place in the kernel, after all are made. */
void check_link_constants(struct checker *c);
/* Makes a local constant whose value is known. */
struct sym *check_const_local(struct checker *c, const char *name, struct type type, struct loc loc,
                              struct literal value);
/* Evaluates a checked expression. If the value is not known, reports it as `what` ("the extent
 * of an axis") with the reason. */
bool check_constant_value(struct checker *c, const struct expr *e, const char *what,
                          struct literal *out);
bool check_constant_int(struct checker *c, const struct node *n, const char *what, int64_t *out);
/* Evaluates an integer and checks that it is within low … high; reports if not. */
bool check_constant_in(struct checker *c, const struct node *n, const char *what, int64_t low,
                       int64_t high, int64_t *out);
bool check_constant_condition(struct checker *c, const struct node *n, const char *what, bool *out);
/* Declares a table in a kernel or fn: const f32 T[16] = {…}; */
void check_table_local(struct checker *c, const struct node *n);
/* Checks `require` or `static_assert`: its value must be known, unless it depends on a static
 * parameter that has no value yet. */
void check_stated(struct checker *c, const struct node *n, bool must_hold);

/* Appends the extents in a list of constant expressions to t. */
bool check_extents(struct checker *c, const struct node *dims, const char *name, struct type *t);

/* check_type.c */
bool check_is_untyped(const struct expr *e);           /* true for a literal that has no type yet */
bool check_are_untyped(struct expr **args, int count); /* all of them */
enum dtype check_dtype(struct checker *c, const struct node *type);
bool check_size(struct checker *c, const struct type *t, struct loc at);
struct expr *check_settle_literal(struct checker *c, struct expr *e);
/* Converts the untyped literal e to type t; reports a value that does not fit. */
struct expr *check_adapt_literal(struct checker *c, struct expr *e, enum dtype t);
/* Converts e to type t; a typed literal becomes a literal of the other type. */
struct expr *check_cast_to(struct checker *c, struct expr *e, enum dtype t);
/* Converts a value implicitly: gives untyped literals a type, adds a cast if no range is lost,
 * and reports otherwise. `into` names the destination ("`C`", "the index"). */
/* Adds a cast as the fix. whole: the operand needs no parentheses. */
void check_fix_with_cast(struct checker *c, struct loc at, enum dtype t, bool whole);
struct expr *check_convert_to(struct checker *c, struct expr *e, enum dtype t, const char *into);
struct expr *check_to_bool(struct checker *c, struct expr *e);
const char *check_type_name(struct checker *c, const struct expr *e); /* as type_text, but gives
                                                                 * untyped literals their type
                                                                 * first */
/* Returns true if a value of type `from` broadcasts to exactly `to`. */
bool check_broadcasts_to(const struct type *to, const struct type *from);
void check_shape_error(struct checker *c, struct loc at, const char *left, const struct type *a,
                       const char *right, const struct type *b);
/* Joins two shapes as type_broadcast does; reports shapes that do not fit. */
bool check_join_shapes(struct checker *c, struct loc at, const struct expr *a, const struct expr *b,
                       struct type *out);

/* check_expr.c: check_parts.expr */
struct expr *check_expr_by_kind(struct checker *c, const struct node *n, const struct type *want);

/* check_operand.c */
struct expr *check_operand(struct checker *c, const struct node *n); /* without a context; an
                                                                      * untyped literal gets its
                                                                      * type */
struct expr *check_scalar_int(struct checker *c, const struct node *n, const char *what);
struct expr *check_condition(struct checker *c, const struct node *n);
struct expr *check_make_binary(struct checker *c, enum op op, struct loc loc, struct expr *a,
                               struct expr *b);
struct expr *check_make_fold(struct checker *c, enum op op, struct loc loc, struct expr **args,
                             int count);
/* Converts the operands to the type of an arithmetic operation on them. */
bool check_join_operands(struct checker *c, struct loc loc, struct expr **args, int count,
                         enum dtype *out);
/* Returns true if constants, tuned values and statics decide that `condition` does not equal
 * `truth`. */
bool check_rules_out(struct checker *c, const struct expr *condition, bool truth);
bool check_expr_reads_memory(const struct expr *e);
int64_t check_expr_size(const struct expr *e);
int check_expr_depth(const struct expr *e);
/* Returns true if the text so far shows that e differs between threads. The variance pass
 * decides exactly. */
bool check_expr_varies(struct checker *c, const struct expr *e);
struct expr *check_index_value(struct checker *c, const struct node *n,
                               const char *what); /* integers */
/* Reports an operand of an operation on bits that is neither integer nor bool. */
bool check_integers(struct checker *c, enum op op, const struct expr *a);
/* Joins the shapes of all operands. */
bool check_join_all_shapes(struct checker *c, struct loc loc, struct expr **args, int count,
                           struct type *out);
/* Converts two values to one type. Each is the context of the other; `want` is the context of
 * two literals. */
bool check_join_choices(struct checker *c, struct loc loc, struct expr **arms,
                        const struct type *want, enum dtype *t);
/* Returns the context of an operand: it has the shape of `want`, but not its element type. */
struct type check_shape_of(const struct type *want);
struct expr *check_untyped_float(struct checker *c, double v, struct loc loc);
struct expr *check_untyped_int(struct checker *c, int64_t v, struct loc loc);

/* check_argument.c */
/* Returns the number of positional arguments of a call; the i-th one, or NULL; a named one, or NULL. */
static inline int check_call_argument_count(const struct node *n)
{
    int count = 0;
    for (const struct node *a = n->list; a; a = a->next)
        count += a->kind != N_NAMED;
    return count;
}
static inline const struct node *check_call_argument(const struct node *n, int i)
{
    for (const struct node *a = n->list; a; a = a->next)
        if (a->kind != N_NAMED && i-- == 0)
            return a;
    return NULL;
}
const struct node *check_named_argument(const struct node *n, const char *name);
/* Reports if a call does not have low … high positional arguments, or has a named argument that
 * is not in `names` (ended by NULL). */
bool check_arguments(struct checker *c, const struct node *n, int low, int high,
                     const char *const *names, const char *form);
/* Evaluates the `axis = n` of a reduction or scan of x; -1 if there is none, which is an error
 * if `needed`. */
bool check_axis(struct checker *c, const struct node *n, const struct expr *x, bool needed,
                int *axis);
/* Returns the tile that a reduction reads, converted to the type of the reduction. */
struct expr *check_reduction_operand(struct checker *c, const struct node *n, enum op op);
/* Returns the type that sums elements of type t; it has at least 32 bits. */
enum dtype check_sum_type(enum dtype t);

/* check_emit.c */
struct stmt *check_emit(struct checker *c, enum stmt_kind kind, struct loc loc);
/* Reports a value whose shape does not fit `to`, and the way out. `name` is for messages. */
bool check_value_shape_fits(struct checker *c, const struct expr *value, const struct type *to,
                            const char *name, struct loc declared);
/* Converts the value for storing it to `to`, and checks its shape. `name` is for messages. */
struct expr *check_fit_value(struct checker *c, struct expr *value, const struct type *to,
                             const char *name, struct loc declared);
/* Declares a variable of the kernel for a value that inlining keeps. value NULL: it is assigned
 * later. */
struct sym *check_keep_value(struct checker *c, const char *name, const struct type *type,
                             struct expr *value, struct loc loc);
/* Takes the offset of at(…). */
void check_placement(struct checker *c, const struct node *n, struct sym *s);

/* check_call.c */
struct expr *check_call(struct checker *c, const struct node *n, const struct type *want);
/* check_made.c: calls that are made of other ops */
/* Returns e for several uses: a variable if a statement may be added before, else e itself,
 * which the uses copy. */
struct expr *check_keep_for_uses(struct checker *c, const char *name, struct expr *e);
struct expr *check_arg_reduce(struct checker *c, const struct node *n, enum op op);
struct expr *check_random(struct checker *c, const struct node *n, enum op op,
                          const struct type *want);
/* check_shape.c */
struct expr *check_shape_call(struct checker *c, const struct node *n, enum op op,
                              const struct type *want);
bool check_is_shape_call(enum op op);
/* check_effect.c */
struct expr *check_atomic(struct checker *c, const struct node *n, enum op op);
/* Checks arrive(element [, n]). If it is only a part of a value, a declaration before the statement
 * takes the old value, and the result is the declared variable. */
struct expr *check_arrive(struct checker *c, const struct node *n, const struct type *want);
void check_effect_call(struct checker *c, const struct node *n, enum op op);

/* check_table.c: checks table[…][…]. */
struct expr *check_lookup(struct checker *c, struct sym *table, const struct node *n);

/* check_access.c */
struct expr *check_name(struct checker *c, const struct node *n);
struct expr *check_access(struct checker *c, const struct node *n);
struct expr *check_member(struct checker *c, const struct node *n);
/* Checks an lvalue; `why` says how it is used ("assigned to"). */
struct expr *check_target(struct checker *c, const struct node *n, const char *why);
/* Gives by(…) of a name or access to its expression e. Reports it if e is not a part of a view. */
struct expr *check_take_by(struct checker *c, const struct node *n, struct expr *e);
/* Returns the binding of an access or of a name, without counting as a use. NULL: it is neither,
 * or the name is unknown (reported). */
struct binding *check_place_binding(struct checker *c, const struct node *n);

/* check_fn.c */
struct fn_results {
    struct expr *value[MAX_RESULTS];
    int count;
};
struct result_types {
    struct type type[MAX_RESULTS];
    int count;
};
bool check_inline_fn(struct checker *c, const struct node *call, const struct entry *fn,
                     struct fn_results *out);
struct expr *check_fn_value(struct checker *c, const struct node *call, const struct entry *fn);

/* check_return.c */
/* The variables that an early return assigns. */
struct early {
    const struct result_types *types;
    struct sym *kept[MAX_RESULTS];
    struct sym *returned; /* true after a return; NULL: no path needs it */
};
/* Checks the returned values and converts them to the result types. There must be as many values
 * as results. Returns false after a report. */
bool check_returned_values(struct checker *c, const struct entry *fn, const struct node *ret,
                           const struct result_types *types, struct fn_results *out);
/* Repeats e to the shape of `to`. */
struct expr *check_stretch(struct checker *c, struct expr *e, const struct type *to);
bool check_fn_has_return(const struct node *fn);    /* true if every path returns */
bool check_fn_returns_early(const struct node *fn); /* also at another place than its end */
/* Returns true if the fn is one expression, or a chain of `if (c) return …;` that becomes one. */
bool check_fn_is_choice(const struct node *fn);
void check_fn_returns(struct diag *d, const struct node *fn); /* reports paths without a return */
struct expr *check_choice(struct checker *c, const struct entry *fn, const struct type *type);
bool check_inline_early(struct checker *c, const struct entry *fn, const struct result_types *types,
                        struct fn_results *out);
void check_early_return(struct checker *c, const struct node *n);
/* Returns true if the statement returns on some paths, in a fn whose returns become statements. */
bool check_returns_within(const struct checker *c, const struct node *n);
/* Checks a statement for which check_returns_within is true. Returns true if it has also checked the
 * statements after it. */
bool check_returning(struct checker *c, const struct node *n);
/* Checks a body and the statements after it as one list. Either may be NULL: none. */
struct stmt *check_arm_and(struct checker *c, const struct node *arm, const struct node *rest);

/* check_uncalled.c: checks the names in a fn that no kernel calls. */
void check_uncalled(struct checker *c, const struct node *fn);

/* check_decl.c, check_view.c */
void check_decls(struct checker *c, const struct node *n);
void check_destructure(struct checker *c, const struct node *n);
void check_view(struct checker *c, const struct node *n);
/* Checks an integer scalar over parameters and constants; replaces const locals with their
 * values. */
struct expr *check_launch_whole(struct checker *c, const struct node *n, const char *what);
/* Does the same as check_launch_whole, and converts the value to i64 unless it is i32. */
struct expr *check_launch_int(struct checker *c, const struct node *n, const char *what);
struct expr *check_launch_known(struct checker *c, struct expr *e, const char *what);

/* check_assignment.c, check_loop.c */
void check_assign(struct checker *c, const struct node *n);
void check_for(struct checker *c, const struct node *n);
void check_while(struct checker *c, const struct node *n);
/* check_pipeline.c */
/* Returns true if `what` may be inside a pipeline body; reports if not. */
bool check_allowed_in_pipeline(struct checker *c, struct loc at, const char *what);
bool check_staged(struct checker *c, const struct node *n, const struct sym *s,
                  const struct expr *value);
void check_pipeline(struct checker *c,
                    struct stmt *loop); /* checks the addresses and writes of its checked body */

/* check_ensures.c */
void check_ensures(struct checker *c, const struct node *n);
/* Refuses `ensures` that read memory that the kernel writes. Runs after the whole body is
 * checked. */
void check_ensured_inputs(struct checker *c);

/* check_assigned.c */
/* Refuses reads of scalars, arrays and register tiles that no statement gave a value. Runs after
 * the whole body is checked. */
void check_assigned(struct checker *c);

/* check_shape.c */
/* Checks dot(a, b) or dot(a, b, c), of a call with these arguments. */
struct expr *check_dot(struct checker *c, const struct node *n, const struct type *want);
/* check_role.c */
void check_mbarrier(struct checker *c, const struct node *n);       /* N_DECL */
bool check_names_mbarrier(struct checker *c, const struct node *n); /* reports nothing */
/* Returns the access of one mbarrier; NULL: reported. */
struct expr *check_mbarrier_place(struct checker *c, const struct node *n);

/* --- check_cluster.c --- */

/* The attribute, or NULL. check_cluster_level needs to know whether the kernel has threads. */
void check_cluster(struct checker *c, const struct node *cluster);
void check_cluster_level(struct checker *c, const struct node *cluster);
/* Makes e, the place that n names, that of another block if n is peer(…). NULL: reported, or e is. */
struct expr *check_take_peer(struct checker *c, const struct node *n, struct expr *e);
/* Reports peer(…) where a block's own tile or mbarrier must be. n may be NULL. */
bool check_is_own_place(struct checker *c, const struct node *n, const char *what);
/* Returns the blocks of `multicast(…)` of an N_ASYNC that has it. NULL: reported. */
struct expr *check_multicast(struct checker *c, const struct node *n);
/* Reports a call of `lock` or `unlock` in a kernel with clusters. */
bool check_has_no_cluster(struct checker *c, const struct node *n);
void check_cluster_sync(struct checker *c, const struct node *n);

/* --- check_role.c --- */

/* Checks a call of wait, expect, arrive on an mbarrier, dot_async, dot_wait, store_wait or
 * fence_async. */
void check_role_call(struct checker *c, const struct node *n, enum op op);
void check_role(struct checker *c, const struct node *n);
void check_one_thread(struct checker *c, const struct node *n);
/* Reports a statement of the kernel's own body that follows a role, and is none. */
bool check_allowed_after_roles(struct checker *c, const struct node *n);

#endif
