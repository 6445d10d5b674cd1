/* What the files of the checker share: the module as parsed, and the state of checking one kernel.
 *
 *   import.c         the files of a program
 *   module.c         module-level names, duplicates, tune lists, lang_parse
 *   module_uses.c    which module-level names a kernel reaches
 *   module_kernel.c  what callers may ask of a kernel: parameters, tuned names, types
 *   module_tunes.c   require: which tuned values go together, and the first that do
 *   check.c          a kernel: parameters, attributes, body
 *   check_scope.c    names: scopes, unique names, help for unknown ones
 *   check_const.c    constants: module constants, tuned values, what must be known while compiling
 *   check_type.c     types as written, extents, conversions
 *   check_expr.c     operators            check_call.c    calls (elementwise, reductions)
 *   check_shape.c    calls about shapes   check_effect.c  calls with effects
 *   check_access.c   names and accesses   check_fn.c      inlining
 *   check_return.c   early returns of fns
 *   check_decl.c     declarations         check_view.c    global views
 *   check_stmt.c     statements           check_loop.c    loops and pipelines
 *   check_ensures.c  ensures           check_assigned.c reads of what has no value
 *
 * Two conventions run through all of it. A function that returns NULL (or false, or DT_NONE) has
 * reported why, and its caller goes on without another word. A literal whose type the context
 * decides is an OP_LITERAL of dtype DT_NONE: it lives until an operator, a conversion or
 * settle_literal() gives it one.
 */
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
    int index;                 /* in module.entries */
    int group, member;         /* TUNE: the list's number, position among its names */
    enum dtype dtype;          /* TUNE: I32, F32 or BOOL */
    const enum dtype *choices; /* TYPE */
    int choice_count;          /* TYPE */
    struct index_list uses;    /* KERNEL: the entries that it reaches, conditions included */
    struct index_list concern; /* KERNEL: the conditions that speak of its tuned names or types */
};

/* One `tune` line. */
struct tune_list {
    const struct node *node;
    const char *target;      /* NULL: common */
    int group, names, count; /* values: count rows of `names` */
    struct literal *values;
    int next; /* the following list of the group, -1: none */
};

/* A condition at module level, and what it speaks of. */
struct module_condition {
    const struct node *node; /* N_REQUIRE, N_STATIC_ASSERT */
    struct index_list uses;  /* entries */
    bool is_tuned;           /* one of these is a tuned name or a type */
};

struct module {
    const struct source *source;
    struct lang_sources sources; /* that one, then imported ones */
    const struct node *items;
    struct entry *entries;   /* kernels last */
    struct name_table names; /* number: the index of the entry */
    int entry_count;
    int known_count; /* entries that are no kernels */
    struct tune_list *lists;
    int list_count, group_count;
    int *first_lists; /* by group */
    struct module_condition *conditions;
    int condition_count;
    int *kernels; /* entry indices */
    int kernel_count;
};

/* import.c: the declarations of a text and of all that it imports. */
struct node *parse_program(struct arena *a, struct diag *d, const struct source *source,
                           const struct lang_search *search, struct lang_sources *sources);

void sort_indices(struct index_list *list);
const struct entry *module_entry(const struct module *m, const char *name); /* NULL: none */
/* The list of a group that a target sees; NULL target: cpu. */
const struct tune_list *module_tune_list(const struct module *m, int group, const char *target);
/* Calls visit on each node right below n, in the order of the text. */
void visit_children(const struct node *n, void (*visit)(void *user, const struct node *child),
                    void *user);
/* The names that trees of the module reach, through constants and fns too. One object serves many
 * trees. */
struct module_reach {
    struct arena *arena;
    const struct module *module;
    bool *reached; /* by entry index */
    int *hidden;   /* by entry index: local names in sight that hide the entry */
    struct index_list found, locals;
    struct index_list entered; /* constants and fns whose trees are still to be visited */
};
void module_reach_init(struct module_reach *r, struct arena *a, const struct module *m);
/* Adds what the tree below n reaches to r->found; what is there already is not entered again. */
void module_reach_add(struct module_reach *r, const struct node *n);
/* Adds an entry, but not what it reaches. */
void module_reach_entry(struct module_reach *r, int index);
/* Returns a copy of what was found, and forgets it. */
struct index_list module_reach_take(struct module_reach *r);
/* Does what n reaches have a tuned name or a type? */
bool module_is_tuned(struct arena *a, const struct module *m, const struct node *n);
struct literal param_value(const struct node *literal); /* of a parameter's `= literal` */
bool known_target(const char *target);                  /* cpu, sim, cuda, sm_90, sm_90a, … */
void unknown_target(struct diag *d, struct loc loc, const char *name); /* what there is */
/* Tuned names of a kernel in the order of lang_kernel.tunes: entry indices. Returns how many. */
int kernel_tunes(const struct module *m, int index, int *entries);

/* --- checking --- */

enum {
    MAX_DEPTH = 25000,
    MAX_EXPR_DEPTH = 12000,
    MAX_LAUNCH_DEPTH = 300, /* of what a launch computes: extents, strides, the grid */
    MAX_RESULTS = 8,
    MAX_INLINED = 4000,
    MAX_COPIED = 400000
};
#define MAX_ELEMENTS ((int64_t)1 << 31)
enum { MAX_TABLE = 4096 }; /* values of a table */

enum bind_kind {
    BIND_ANY, /* of lookups */
    BIND_SYM,
    BIND_VALUE, /* fn parameter: an expression that stands for it */
    BIND_PLACE, /* fn parameter by reference: an ACCESS of shared or global memory whose indices come first */
    BIND_EXTENT, /* extent that a fn parameter brought */
    BIND_DTYPE,  /* element type that a fn parameter brought */
    BIND_POISON  /* its declaration was wrong: no more words about it */
};
struct binding {
    const char *name;
    struct loc loc;
    enum bind_kind kind;
    struct sym *sym;
    struct expr *value;
    int64_t extent;
    enum dtype dtype;
    int level;              /* of the scope */
    struct binding *next;   /* declared before, outward */
    struct binding *hidden; /* likewise, of the same name */
};

/* The names in sight: a list from the newest on, and a table of them. The object of a name is its
 * newest binding, NULL once its scopes are closed. */
struct names {
    struct binding *newest, *oldest;
    struct name_table table;
};

/* What the checker knows of a symbol beyond the IR. */
struct sym_info {
    struct expr *init;  /* const scalars: the value, for messages and for views */
    bool waits;         /* for the value of a static parameter, as far as was asked */
    bool ensures_index; /* of `ensures for (…)` */
    bool varying;       /* a scalar that was given a value that differs between threads */
    bool freed;
    struct loc freed_at;
    int loop_depth;    /* loops around the declaration */
    int order;         /* of constants */
    struct type shape; /* of tables: as declared */
};

struct const_slot {
    enum { CONST_NEW, CONST_BUSY, CONST_DONE, CONST_BAD } state;
    struct sym *sym;
    struct expr *init; /* ENTRY_CONST: of the constant's type */
};

/* An expression whose place in the text in sight is not its own: what a fn returned stands at the
 * call, what an argument stands for at the parameter's name. */
struct placed {
    const struct expr *value;
    struct loc at;
    const struct placed *before;
};

/* A fn being inlined. */
struct fn_frame {
    const struct entry *fn;
    const struct node *call;
    const struct inlining *inlined; /* the same, for the IR */
    struct fn_frame *outer;
    const struct early *early; /* it returns early; NULL: its last statement alone returns */
};

struct checker {
    struct arena *arena;
    struct diag *diag;
    const struct module *module;
    struct kernel *kernel;
    const struct literal *tunes; /* by entry index; NULL: tuned names have no values here */
    const enum dtype *types;     /* by entry index; NULL: likewise */
    struct const_slot *consts;   /* by entry index */
    VEC(struct sym *) made;      /* constants in the order they were made */
    struct names names;
    int level;
    VEC(struct sym_info) infos; /* by sym->index; not for parameters */
    VEC(struct sym *) freed;
    struct name_table unique;   /* the kernel's names so far */
    struct name_table numbered; /* names that others were made of; number: the last number tried */
    struct name_table own;      /* names that its own text declares anywhere */
    struct stmt **tail;         /* where the next statement goes */
    struct loc start;           /* of the statement that is checked */
    const struct node *node;    /* the kernel that is checked, NULL outside of one */
    bool hoistable;             /* statements may be put before the one that is checked */
    struct number_map unknown;  /* conditions whose values were found to be unknown */
    int never; /* depth of arms that the constants rule out: faults there are none */
    bool in_ensures;
    bool
        any_extent; /* views may be named whole, whatever their extents: typeof, arguments by reference */
    bool thread_level;
    bool any_threads;   /* as in lang_choice */
    int depth;          /* of expressions and statements, against deep recursion */
    int loops;          /* around the statement, within the fn */
    int loop_depth;     /* around the statement in all */
    int pipeline_level; /* scope level of the innermost pipeline body, 0: in none */
    struct fn_frame *frames;
    const struct placed *placed; /* the newest first */
    int inlined;
    int64_t copied; /* expression nodes copied in place of fn parameters */
};

/* check.c */
void checker_init(struct checker *c, struct arena *a, struct diag *d, const struct module *m,
                  const char *name, struct loc loc);
void bind_params(struct checker *c, const struct node *kernel, const struct lang_choice *choice);
/* The parameters of a kernel with its types' first choices, and what their `= …` say. What is wrong
 * there is left to lang_check. */
const struct param *params_alone(struct arena *a, const struct module *m, int index);
/* Reports a nesting that is too deep; every call that returned true is undone by c->depth--. */
bool check_deeper(struct checker *c, struct loc at);
/* The text of a place as it is written, on one line and short: for messages. */
const char *source_snippet(struct checker *c, struct loc at);

/* check_pasted.c: fixes for what kernels of CUDA C leave open, of the latest error */
void fix_with_view(struct checker *c,
                   const struct sym *pointer); /* a view of it, used everywhere */
void fix_with_grid(struct checker *c);
void fix_with_threads(struct checker *c);
void fix_block_extent(struct checker *c, const struct node *member); /* blockDim.x */

/* check_scope.c, check_help.c */
int check_scope_open(struct checker *c);
void check_scope_close(struct checker *c, int outer); /* what check_scope_open returned */
/* NULL: declared twice, reported. */
struct binding *bind_name(struct checker *c, const char *name, struct loc loc, enum bind_kind kind);
struct binding *lookup_name(const struct checker *c, const char *name);
struct binding *lookup_name_of_kind(const struct checker *c, const char *name, enum bind_kind kind);
/* A symbol of the kernel with a name that no other has, bound to the name as written. */
struct sym *declare_sym(struct checker *c, const char *name, enum storage storage, struct type type,
                        struct loc loc);
/* Likewise without a binding: for values that inlining keeps. */
struct sym *declare_hidden(struct checker *c, const char *name, enum storage storage,
                           struct type type, struct loc loc);
struct sym_info *sym_info(struct checker *c, const struct sym *s);
/* Messages about e speak of the text at `at`; e itself keeps where it was written. */
void place_expr(struct checker *c, const struct expr *e, struct loc at);
struct loc expr_place(const struct checker *c, const struct expr *e);
const char *expr_snippet(struct checker *c, const struct expr *e); /* the text there */
/* A name that nothing declares is reported once in a function: from here on it is known as wrong. */
void poison_outermost(struct checker *c, const char *name, struct loc loc);
void poison_name(struct checker *c, const char *name, struct loc loc); /* if it is not bound here */
void unknown_name(struct checker *c, const char *name, struct loc loc);
/* Of `name.part`. */
void unknown_base(struct checker *c, const char *name, const char *part, struct loc loc);
void unknown_call(struct checker *c, const struct node *n);
void unknown_type(struct checker *c, const char *name, struct loc loc);
const char *storage_text(const struct sym *s); /* "a register tile", … */

/* check_const.c */
/* The symbol of a module constant or a tuned name, made when it is first used, here at `used`. */
struct sym *const_sym(struct checker *c, const struct entry *e, struct loc used);
/* Moves the constants to their place in the kernel, when all are made. */
void link_constants(struct checker *c);
/* A local constant whose value is known. */
struct sym *const_local(struct checker *c, const char *name, struct type type, struct loc loc,
                        struct literal value);
/* Evaluates a checked expression; reports with `what` ("the extent of an axis") and why it is not
 * known. */
bool constant_value(struct checker *c, const struct expr *e, const char *what, struct literal *out);
bool constant_int(struct checker *c, const struct node *n, const char *what, int64_t *out);
/* An int within low … high, else reported. */
bool constant_in(struct checker *c, const struct node *n, const char *what, int64_t low,
                 int64_t high, int64_t *out);
bool constant_condition(struct checker *c, const struct node *n, const char *what, bool *out);
/* const f32 T[16] = {…}; in a kernel or fn */
void table_local(struct checker *c, const struct node *n);
/* `require` and `static_assert`: known, unless statics have no value yet. */
void check_stated(struct checker *c, const struct node *n, bool must_hold);

/* check_type.c */
bool is_untyped(const struct expr *e); /* a literal without a type yet */
enum dtype check_dtype(struct checker *c, const struct node *type);
/* Appends the extents of a list of constant expressions to t. */
bool check_extents(struct checker *c, const struct node *dims, const char *name, struct type *t);
bool check_size(struct checker *c, const struct type *t, struct loc at);
struct expr *settle_literal(struct checker *c, struct expr *e);
/* The untyped literal e as a t; reports what does not fit. */
struct expr *adapt_literal(struct checker *c, struct expr *e, enum dtype t);
/* x as a t; a literal with a type becomes one of the other type. */
struct expr *cast_to(struct checker *c, struct expr *e, enum dtype t);
/* Implicit conversion of a value: settles literals, casts where no range is lost, else reports.
 * `into` names what takes the value ("`C`", "the index"). */
/* A cast as the fix; whole: without parentheses around what is cast. */
void fix_with_cast(struct checker *c, struct loc at, enum dtype t, bool whole);
struct expr *convert_to(struct checker *c, struct expr *e, enum dtype t, const char *into);
struct expr *to_bool(struct checker *c, struct expr *e);
const char *type_name(struct checker *c, const struct expr *e); /* type_text; literals settle */
/* Does a value of type `from` broadcast to exactly `to`? */
bool broadcasts_to(const struct type *to, const struct type *from);
void shape_error(struct checker *c, struct loc at, const char *left, const struct type *a,
                 const char *right, const struct type *b);
/* type_broadcast with the message. */
bool join_shapes(struct checker *c, struct loc at, const struct expr *a, const struct expr *b,
                 struct type *out);

/* check_expr.c. `want`: the type that the context gives to iota() and to bare literals; NULL:
 * none. */
struct expr *check_expr(struct checker *c, const struct node *n, const struct type *want);
struct expr *check_scalar_int(struct checker *c, const struct node *n, const char *what);
struct expr *check_condition(struct checker *c, const struct node *n);
struct expr *make_binary(struct checker *c, enum op op, struct loc loc, struct expr *a,
                         struct expr *b);
struct expr *check_where(struct checker *c, const struct node *n, const struct type *want);
struct expr *make_fold(struct checker *c, enum op op, struct loc loc, struct expr **args,
                       int count);
/* Casts or adapts both to the type of an arithmetic operation on them. */
bool join_operands(struct checker *c, struct loc loc, struct expr **args, int count,
                   enum dtype *out);
/* Whether constants, tuned values and statics decide that `condition` is not `truth`. */
bool rules_out(struct checker *c, const struct expr *condition, bool truth);
bool expr_reads_memory(const struct expr *e);
int64_t expr_size(const struct expr *e);
int expr_depth(const struct expr *e);

/* check_call.c, check_shape.c, check_effect.c */
struct expr *check_call(struct checker *c, const struct node *n, const struct type *want);
int call_argument_count(const struct node *n); /* of a call, named ones not counted */
const struct node *call_argument(const struct node *n, int i);
/* Reports when a call has not low … high positional arguments, or a named one that is not in
 * `names` (NULL-ended). */
bool check_arguments(struct checker *c, const struct node *n, int low, int high,
                     const char *const *names, const char *form);
struct expr *check_operand(struct checker *c, const struct node *n); /* settled, no context */
/* The `axis = n` of a reduction or scan of x; -1: there is none, which `needed` forbids. */
bool check_axis(struct checker *c, const struct node *n, const struct expr *x, bool needed,
                int *axis);
/* The tile that a reduction is over, in the type that it is taken in. */
struct expr *reduction_operand(struct checker *c, const struct node *n, enum op op);
/* check_made.c: calls that are made of other ops */
/* e for more than one use: a variable where a statement may come before, else to be copied. */
struct expr *keep_for_uses(struct checker *c, const char *name, struct expr *e);
struct expr *check_arg_reduce(struct checker *c, const struct node *n, enum op op);
struct expr *check_random(struct checker *c, const struct node *n, enum op op,
                          const struct type *want);
struct expr *check_shape_call(struct checker *c, const struct node *n, enum op op,
                              const struct type *want);
bool is_shape_call(enum op op);
struct expr *check_atomic(struct checker *c, const struct node *n, enum op op);
void check_effect_call(struct checker *c, const struct node *n, enum op op);

/* check_access.c */
struct expr *check_name(struct checker *c, const struct node *n);
struct expr *check_access(struct checker *c, const struct node *n);
struct expr *index_value(struct checker *c, const struct node *n, const char *what); /* integers */
struct expr *check_lookup(struct checker *c, struct sym *table,
                          const struct node *n); /* check_table.c: table[…][…] */
struct expr *check_member(struct checker *c, const struct node *n);
/* An lvalue; `why` says what is done to it ("assigned to"). */
struct expr *check_target(struct checker *c, const struct node *n, const char *why);
/* The name behind an access or a bare name, without a use: NULL when it is neither, or unknown
 * (reported). */
struct binding *place_binding(struct checker *c, const struct node *n);
const char *place_text(const struct node *n);

/* check_fn.c */
/* A variable of the kernel for a value that inlining keeps; value NULL: it is assigned later. */
struct sym *keep_value(struct checker *c, const char *name, const struct type *type,
                       struct expr *value, struct loc loc);
struct fn_results {
    struct expr *value[MAX_RESULTS];
    int count;
};
struct result_types {
    struct type type[MAX_RESULTS];
    int count;
};
/* A returned value as the result of that type, as many as the results; false, NULL: reported. */
struct expr *check_returned(struct checker *c, const struct entry *fn, const struct node *n,
                            const struct type *type);
bool check_returned_values(struct checker *c, const struct entry *fn, const struct node *ret,
                           const struct result_types *types, struct fn_results *out);
bool inline_fn(struct checker *c, const struct node *call, const struct entry *fn,
               struct fn_results *out);
struct expr *check_fn_value(struct checker *c, const struct node *call, const struct entry *fn);

/* check_return.c */
/* What an early return gives values to. */
struct early {
    const struct result_types *types;
    struct sym *kept[MAX_RESULTS];
    struct sym *returned; /* true after a return; NULL: no path needs it */
};
bool fn_returns(const struct node *fn);       /* on every path */
bool fn_returns_early(const struct node *fn); /* elsewhere than at its end, too */
/* Is it one expression, or a chain of `if (c) return …;` that makes one? */
bool fn_is_choice(const struct node *fn);
void check_fn_returns(struct diag *d, const struct node *fn); /* reports paths without a return */
struct expr *check_choice(struct checker *c, const struct entry *fn, const struct type *type);
bool inline_early(struct checker *c, const struct entry *fn, const struct result_types *types,
                  struct fn_results *out);
void check_early_return(struct checker *c, const struct node *n);
/* Does the statement return on some paths, in a fn whose returns become statements? */
bool returns_within(const struct checker *c, const struct node *n);
/* Checks it. Returns true if it checked the statements after it, too. */
bool check_returning(struct checker *c, const struct node *n);
/* A body, NULL: none, and the statements after it, NULL: none, as one list. */
struct stmt *check_arm_and(struct checker *c, const struct node *arm, const struct node *rest);

/* check_decl.c, check_view.c */
void check_decls(struct checker *c, const struct node *n);
void check_destructure(struct checker *c, const struct node *n);
void check_view(struct checker *c, const struct node *n);
struct stmt *check_emit(struct checker *c, enum stmt_kind kind, struct loc loc);
/* The value as it is stored to something of type `to`: converted, its shape checked. `name` for
 * messages. */
struct expr *fit_value(struct checker *c, struct expr *value, const struct type *to,
                       const char *name, struct loc declared);
/* An integer scalar over parameters and constants; const locals are replaced by their values. */
struct expr *launch_int(struct checker *c, const struct node *n, const char *what);
struct expr *launch_known(struct checker *c, struct expr *e, const char *what);

/* check_stmt.c, check_loop.c */
void check_stmts(struct checker *c, const struct node *list, const struct node *stop);
void check_statement(struct checker *c, const struct node *n);
/* An `if`, with further statements in one of its branches. */
void check_if_and(struct checker *c, const struct node *n, const struct node *rest, bool in_body);
/* A statement as a list of its own, in a scope of its own. */
struct stmt *check_body(struct checker *c, const struct node *n);
/* The braces of a body; without source: it has none. */
struct loc block_of(const struct node *n);
void check_assign(struct checker *c, const struct node *n);
void check_for(struct checker *c, const struct node *n);
void check_while(struct checker *c, const struct node *n);
/* Does it differ between threads, as far as the text up to here tells? The variance pass knows for
 * sure. */
bool expr_varies(struct checker *c, const struct expr *e);
/* check_pipeline.c */
/* Reports what cannot be inside a pipeline body; true if it may stay. */
bool allowed_in_pipeline(struct checker *c, struct loc at, const char *what);
bool check_staged(struct checker *c, const struct node *n, const struct sym *s,
                  const struct expr *value);
void check_pipeline(struct checker *c,
                    struct stmt *loop); /* its body is checked: addresses, writes */

/* check_ensures.c */
void check_ensures(struct checker *c, const struct node *n);
/* Refuses `ensures` that read what the kernel writes; the whole body is checked. */
void check_ensured_inputs(struct checker *c);

/* check_assigned.c */
/* Refuses reads of scalars, arrays and register tiles that nothing gave a value; the whole body is
 * checked. */
void check_assigned(struct checker *c);

#endif
