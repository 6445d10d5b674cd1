/* Declarations that the files of src/emit share. */
#ifndef TW_EMIT_OWN_H
#define TW_EMIT_OWN_H

#include "base/number_map.h"
#include "emit/emit.h"
#include "plan/plan_room.h"
#include "tile/tile_facts.h"
#include "thread/thread_build.h"

enum {
    EMIT_WARPGROUP = 4, /* warps */
    EMIT_ROWS = 64,     /* of a product of one warpgroup */
    EMIT_OF_WARP = -1,
    EMIT_PIECE = 16,            /* bytes that a swizzle moves together */
    EMIT_MOST_ARGS = 3,         /* of an operation on elements */
    EMIT_SCRATCH_ALIGNMENT = 16 /* bytes */
};

/* --- values --- */

/* A scalar: a value of thread IR, or a constant. */
struct scalar {
    struct thread_operand o;
    enum dtype dtype;
};

/* A symbol's value in the present role: its slots. A register tile to which products add has one more slot, a bool: whether the
 * sums count, or are still zeros. */
struct slot {
    struct thread_operand o;
    struct thread_type type;
};
struct variable {
    const struct sym *sym; /* a scalar, a register tile; mbarriers: the next phases' parities */
    struct slot *slots;
    int count;
    struct thread_value *memory; /* address of an array in local memory; NULL: it has slots */
    bool sums;    /* a register tile to which products add: the last slot is a bool */
    int flight;   /* number of its latest product; 0: none is under way */
    int since;    /* of slots in flight: products begun before they got their values */
    bool factors; /* products under way read factors in registers */
};

struct variable_list {
    VEC(struct variable *) list;
};

enum loop_start { LOOP_NOTHING, LOOP_SCRATCH, LOOP_BARRIER };

/* A loop around the statement, which `continue` and `break` jump in or out of. */
struct flow_loop {
    const struct stmt *s;
    const struct thread_source_loop *in;
    struct thread_operation *operation;
    struct variable_list variables;
    struct thread_operand *exit; /* by slot: the constant at all exits, or a value */
    bool *exits_differ;
    struct thread_type *exit_type;
    int *exit_age; /* by variable: the least number of products begun after its own */
    int exit_begun;
    int exits, slots;
    bool *late;            /* by variable: in flight after an iteration, and not before the loop */
    bool first;            /* the first iteration is certain */
    bool in_body;          /* the present statement is in its body, and not in its step */
    enum loop_start start; /* the first thing in each iteration: a use of scratch or a barrier */
    size_t stretches;      /* of scratch that were taken before the loop */
    int64_t barriers;      /* that had been then */
    int copies;            /* of the body in an iteration, under one test */
    int bodies;            /* of the body in an iteration */
    struct scalar limit;   /* several copies run while the counter is less than this */
    const struct stmt *tail; /* statements that end the body */
    VEC(const struct stmt *)
    falls; /* `continue` at the end of an arm; the other arm has the rest */
    struct flow_loop *outer;
};

/* --- the state --- */

struct position {
    int role;         /* its first warp; -1: the whole block */
    int first, warps; /* of the role */
    int replicas;
    int barrier; /* of its first replica; 0: the block's; EMIT_OF_WARP: none, the role is one warp */
    struct scalar warp;  /* within the replica, u32 */
    struct scalar group; /* warpgroup within the replica, u32 */
    struct scalar lane;
    struct scalar number;  /* of the thread in its block or role, u32; if tiles have layouts */
    struct scalar replica; /* u32 */
    struct scalar
        scratch; /* u32: where the replica's scratch begins after the first one's, in EMIT_SCRATCH_ALIGNMENT bytes */
    struct thread_operation *
        scratch_step; /* … an operation that multiplies by the scratch of a replica; NULL: there is one */
    struct thread_value *elected; /* bool: the role's one thread */
    /* True if threads may have used shared memory since their last barrier; in a kernel without roles: shared tiles. */
    bool touched;
    bool one_thread;
};

struct map_param {
    const struct sym *view;
    const struct lowered_map *map;
    struct thread_value *value;
};

/* Shared memory through which the threads of a role exchange elements. */
struct scratch_object {
    int role; /* its first warp; -1: of the whole block */
    struct thread_object *object;
};

/* A layout of register tiles whose variables have one slot for several registers. */
struct slot_layout {
    const struct layout *layout; /* plan_keep of the plan */
    enum dtype dtype;
    int32_t each; /* registers that one instruction moves, or adds to */
};

/* A counter that grows by `step` until a bound ends the loop. */
struct rising {
    const struct sym *counter;
    int64_t step;
    bool from_0; /* it begins at 0 or above */
};

/* Facts about an expression, in a loop. */
struct remembered {
    const struct expr *e;
    const struct stmt *loop;
    bool in_body;
    struct facts facts;
};

enum { EMIT_REMEMBERED = 8 };

struct emit;
struct fragment;
/* Functions for the parts of a program's tree. A loop has statements, an operation has operands, and the index of an access is a
 * value: a file that emits one of them calls these for the parts inside, so that it calls no file that calls it. emit.c names the
 * functions. */
struct emit_tree {
    void (*list)(struct emit *m, const struct stmt *first);
    struct scalar (*scalar)(struct emit *m, const struct expr *e);
    struct scalar *(*elements)(struct emit *m, const struct expr *e);
    struct fragment (*fragment)(struct emit *m, const struct expr *e, const struct layout *wanted);
};

struct emit {
    struct arena *arena;
    const struct emit_tree *tree;
    struct kernel *kernel;
    const struct lowered_options *options;
    struct diag *diag;
    struct lowered *out;
    bool roles; /* the kernel has roles, or mbarriers */
    const struct by_threads *by_threads;
    struct layouts *layouts; /* the plan of layouts, of the present role if there is one */
    bool fragments;          /* register tiles have the plan's layouts */
    const struct own_arrays *own_arrays;  /* of a kernel without roles */
    VEC(const struct sym *) local;        /* its arrays of a thread in local memory */
    VEC(struct slot_layout) slot_layouts; /* of register tiles that matrix instructions take */
    struct thread_builder b;
    struct number_map variables; /* sym → struct variable */
    struct number_map fixed;     /* sym → struct scalar: parameters */
    struct number_map objects;   /* sym → struct thread_object */
    struct parts *parts;         /* of the kernel; NULL: not asked for yet */
    struct number_map accessed;  /* access → the layout of its last load or store */
    struct number_map assigned;  /* symbols that statements assign to, once knows_assigned */
    bool knows_assigned;
    struct number_map index_tiles; /* sym → struct index_tile of emit_fragment_index.c, or NULL */
    struct number_map apart;       /* group → its values of emit_take_apart */

    struct number_map sums; /* sym of a register tile to which products add */
    VEC(struct map_param) map_list;
    VEC(struct known_way *) ways; /* of emit_fragment_shared.c */
    VEC(struct thread_value *) function_parameters;
    VEC(struct variable *) live; /* in order of declaration */
    struct position place;
    struct flow_loop *loop;
    int64_t product_rows; /* of the sums of a product; -1: it is promoted; 0: there is none */
    bool products_differ; /* in these */
    int begun;            /* 1 + the products of the role that every run to this place has begun */
    int product_groups;   /* of a product */
    int barriers;         /* numbers of barriers that are in use */
    int64_t copies;       /* of bodies of loops that are emitted whole, as the program says */
    VEC(struct scratch_object) scratch;
    struct room room;     /* of the present role; of a kernel without roles: of the block */
    int64_t shared_bytes; /* of the block, scratch included */
    struct tile_facts *facts;
    VEC(const struct stmt *) learned; /* loops whose conditions the facts have learned */
    size_t learned_facts;             /* changes of the facts, these conditions included */
    struct remembered remembered[EMIT_REMEMBERED]; /* by address of the expression */
    VEC(struct rising) rising;                     /* of the loops around */
    struct thread_value *ticket; /* where blocks draw their numbers; NULL: they do not */
    struct scalar block[3];      /* the drawn number's parts: i32 */
    bool copies_stores;          /* tensor copies access views that threads store to */
    bool publishes;              /* blocks of a cluster order ordinary accesses by mbarriers */
    bool ended;                  /* the present list of statements ended with a jump */
    bool failed;
};

/* Makes the next operations come from `where`. Returns the place before it, to which the caller returns later. */
static inline struct loc emit_at(struct emit *m, struct loc where)
{
    const struct loc before = m->b.where;
    m->b.where = where;
    return before;
}

/* --- emit_value.c --- */

/* Returns the value as a scalar. */
static inline struct scalar emit_of_value(struct thread_value *v, enum dtype t)
{
    return (struct scalar){thread_use(v), t};
}
struct scalar emit_constant(enum dtype t, int64_t v);
struct scalar emit_as(struct emit *m, struct scalar v, enum dtype t); /* a cast */
struct thread_operand emit_cast(struct emit *m, enum dtype to, enum dtype from,
                                struct thread_operand v);
/* Returns one of two scalars of a type, by a bool. */
struct scalar emit_select(struct emit *m, struct scalar condition, struct scalar yes,
                          struct scalar no);
/* Returns the scalar as a value, also if it is a constant: for operations on other lanes. */
struct scalar emit_value_of(struct emit *m, struct scalar v);
/* Returns a shift's amount as a u32. All amounts from the type's width on give the same result. */
struct scalar emit_shift_amount(struct emit *m, struct scalar v);
/* Emits an operation on two scalars of type t. Folds integers. */
struct scalar emit_op2(struct emit *m, enum thread_opcode op, enum dtype t, struct scalar a,
                       struct scalar b);
/* emit_op2 on a u32 and a constant. */
struct scalar emit_by(struct emit *m, enum thread_opcode op, struct scalar a, int64_t b);
/* *a becomes a and b, bools. */
void emit_and(struct emit *m, struct scalar *a, struct scalar b);
/* Returns whether the thread is the role's one thread: a bool. */
struct scalar emit_elected(const struct emit *m);
/* Returns the scalar as an operand of type u32. */
struct thread_operand emit_u32(struct emit *m, struct scalar v);
/* Returns a bool as a value, also if it is a constant. */
struct thread_operand emit_predicate(struct emit *m, struct scalar v);
struct scalar emit_not(struct emit *m, struct scalar v);

/* --- emit_state.c --- */

/* Emits statements of the program. */
void emit_list(struct emit *m, const struct stmt *first);
/* Emits a scalar value. */
struct scalar emit_scalar(struct emit *m, const struct expr *e);
/* Returns the elements, row-major, of an expression that each thread has for itself; a scalar is one element. */
struct scalar *emit_elements(struct emit *m, const struct expr *e);

/* Reports an error of the user's program, and fails. */
void emit_error(struct emit *m, struct loc loc, const char *format, ...) DIAG_FORMAT(3, 4);
/* Reports that `what` is not compiled in such a kernel. way_out: the note that follows; NULL: none. */
void emit_missing(struct emit *m, struct loc loc, const char *what, const char *way_out);
/* Returns what a program can do instead of an operation that has no code. */
const char *emit_way_out(enum op op);
struct variable *emit_variable(struct emit *m, const struct sym *s); /* NULL: none is declared */
struct variable *emit_declare(struct emit *m, const struct sym *s, int count);
/* Makes the objects of the shared arrays. */
void emit_list_objects(struct emit *m);
struct thread_object *emit_object(struct emit *m, const struct sym *s);
/* Emits an operation without operands that says where the thread is: a u32. */
struct scalar emit_place(struct emit *m, enum thread_opcode op);
/* Returns what is known of a scalar in this place. */
struct facts emit_facts_of(struct emit *m, const struct expr *e);
/* Emits the barrier of the present role. */
void emit_sync(struct emit *m);
/* Emits a barrier if scratch was read since the last one. It precedes control flow, after which that is not known. */
void emit_settle(struct emit *m);
/* The same before a branch and after a list of statements. It leaves the barrier to the next use of shared memory, which may have
 * one anyway, unless the next iteration of a loop may use it at once. */
void emit_settle_later(struct emit *m);

/* --- emit_parameters.c --- */

void emit_list_parameters(struct emit *m);
/* Returns the tensor map of a view, a parameter. box: elements along each axis of the view. */
struct thread_operand emit_map(struct emit *m, const struct sym *view, const int *box, int swizzle);
/* Returns the address at which a view begins, a u64. */
struct thread_operand emit_base(struct emit *m, const struct sym *view);

/* --- emit_control.c --- */

/* Begins an `if` for the threads whose predicate is true. If it is a constant, there is no `if`: the operations that follow belong
 * to the region around it, or if it is false, to none. Returns the region around it, which the caller makes m->b.region again. */
struct thread_region *emit_open_if(struct emit *m, struct scalar predicate);
/* A loop that an expression or a copy needs. */
struct open_loop {
    struct thread_operation *operation;
    struct thread_region *outer;
};
/* Begins a loop. m->b.region becomes its body. */
struct open_loop emit_open_loop(struct emit *m);
/* Adds an argument with its first value, and returns the argument. */
struct thread_operand emit_loop_argument(struct emit *m, const struct open_loop *l,
                                         struct thread_operand first, struct thread_type type);
/* Leaves the loop if the predicate is true. Returns the operation, to which the caller adds the loop's results. */
struct thread_operation *emit_loop_leave(struct emit *m, struct scalar predicate);
/* Begins the next iteration with these values of the arguments, and ends the body. */
void emit_close_loop(struct emit *m, const struct open_loop *l, const struct thread_operand *values,
                     int count);
/* An `if` with two arms, each of which gives values. */
struct choice {
    struct thread_operation *operation;
    struct thread_region *outer;
    bool touched; /* before it */
};
struct choice emit_choice(struct emit *m, struct scalar predicate);
/* Begins the next arm: first that of threads whose predicate is true, then the other. */
void emit_choice_arm(struct emit *m, const struct choice *c);
/* Ends the arm with its values. */
void emit_choice_give(struct emit *m, const struct scalar *values, int64_t count);
/* Ends the `if`. results: `count` values of this type. */
void emit_choice_end(struct emit *m, const struct choice *c, struct thread_type type,
                     struct scalar *results, int64_t count);

/* --- emit_group.c --- */

/* Returns `count` elements of a group, from `first` on, `step` apart. */
struct thread_operand emit_part(struct emit *m, enum dtype t, struct thread_operand v, int first,
                                int count, int step);
/* Joins values of equal lengths to one group. */
struct thread_operand emit_join(struct emit *m, enum dtype t, const struct thread_operand *values,
                                int count);
/* Returns a group of `count` equal elements. */
struct thread_operand emit_splat(struct emit *m, enum dtype t, struct thread_operand v, int count);
/* If the first value is a group, makes it `count` scalars. */
void emit_take_apart(struct emit *m, struct scalar *v, int count);

/* --- emit_operation.c --- */

/* Emits an elementwise operation of the language on operands of type t: scalars, or groups of equal length. Returns false if
 * thread IR has no such operation. */
bool emit_apply(struct emit *m, enum op op, enum dtype t, const struct thread_operand *args,
                int count, struct thread_operand *result);
/* Emits an operation of the language on two scalars of type t. */
struct scalar emit_pair(struct emit *m, enum op op, enum dtype t, struct scalar a, struct scalar b);
/* Returns the neutral element of the operation: combined with x, it gives x. */
struct scalar emit_neutral(enum op op, enum dtype t);
/* Returns the constant that changes no element with which it is combined, not even the sign of 0. */
struct scalar emit_idle(enum op op, enum dtype t);
/* Returns the neutral element if the scan is exclusive, else the idle one. */
struct scalar emit_scan_start(const struct expr *scan, enum dtype t);
/* Emits the elementwise operation of e on scalars, one for each argument. */
struct scalar emit_apply_scalars(struct emit *m, const struct expr *e, struct scalar *args);
/* Returns whether an element of e depends on one element of each argument only; lookup, bits and philox count, too. */
bool emit_is_of_elements(const struct expr *e);
/* Emits an element of such a value. args: one element of each argument, EMIT_MOST_ARGS in all. */
struct scalar emit_of_elements(struct emit *m, const struct expr *e, struct scalar *args);

/* --- emit_scalar.c --- */

/* emit_scalar of struct emit_tree. */
struct scalar emit_scalar_expr(struct emit *m, const struct expr *e);

/* --- emit_flow.c --- */

/* Returns whether a statement of the list is an `if` whose first arm ends with `continue`. The rest of the loop's body is then
 * a part of its other arm. */
bool emit_skips_rest(const struct emit *m, const struct stmt *list, const struct stmt *s);
/* Emits an `if`. rest: the statements after it that its first arm skips; NULL: none. */
void emit_branch(struct emit *m, const struct stmt *s, const struct stmt *rest);
void emit_leave(struct emit *m, const struct stmt *s);
/* Emits `body` for the role's one thread. */
void emit_one_thread(struct emit *m, const struct stmt *body);

/* Returns the number of such statements of a loop's body. */
int emit_count_skips(const struct stmt *body);
/* How a loop of a kernel without roles is emitted. */
struct unrolling {
    const struct thread_source_loop *in; /* the loop, in its place in the code */
    bool whole; /* all iterations one after the other: the condition is constant in each */
    bool jumps; /* … and the body leaves or continues the loop */
    int copies; /* of the body in an iteration, while enough are left; then one at a time */
    int64_t step;
    const struct sym *counter;
    const struct expr *bound;
    bool even;  /* no iteration is left after the copies */
    int period; /* copies of the body, for variables that repeat their constants */
    VEC(const struct sym *) cycles; /* these variables */
};
/* Makes the next operations belong to a copy of the loop's body; -1: to none. */
void emit_turn(struct emit *m, const struct thread_source_loop *in, int copy);
/* Emits a loop whose iterations have `copies` copies of the body, under one test: that the counter is less than the limit. If
 * copies is 1, an iteration has as many copies as the loop's period, each with a test of its own. emit_flow.c */
void emit_loop_of_copies(struct emit *m, const struct stmt *s, const struct unrolling *t,
                         int copies, struct scalar limit);

/* --- emit_unroll.c --- */

/* Emits a loop of the program. */
void emit_loop(struct emit *m, const struct stmt *s);
/* Returns the rising counter of a loop around e if e is that counter, or the counter plus a constant up to its step, which then
 * does not wrap; NULL: it is not. */
const struct rising *emit_rises(const struct emit *m, const struct expr *e);
/* Returns whether that counter rises from 0, so that e is certainly not negative. */
bool emit_rises_from_0(const struct emit *m, const struct expr *e);

/* --- emit_stmt.c --- */

/* emit_list of struct emit_tree. */
void emit_statements(struct emit *m, const struct stmt *first);
void emit_statement(struct emit *m, const struct stmt *s);

/* --- emit_scratch.c --- */

/* Shared memory of the compiler's own, for the present role: at least `elements` elements of type t. */
struct scratch {
    const struct thread_object *object;
    struct scalar first; /* u32: the first element of the replica */
};
struct scratch emit_scratch(struct emit *m, enum dtype t, int64_t elements);
/* Returns element `index`, a u32, of the scratch. */
struct thread_operand emit_scratch_at(struct emit *m, const struct scratch *s, struct scalar index);
/* Ends an exchange, after scratch was read. The next write to the scratch emits the barrier that must come before it. */
void emit_was_read(struct emit *m, const struct scratch *s);
/* Loads one element. A barrier must follow the last one. */
struct thread_operand emit_from_scratch(struct emit *m, const struct scratch *s,
                                        struct scalar index);
/* Begins the scratch of a role, or of the whole block in a kernel with roles; gives it its place after the shared tiles. */
void emit_open_room(struct emit *m);
void emit_close_room(struct emit *m);
/* Marks the shared memory that several arrays use. */
void emit_mark_overlays(struct emit *m);

/* --- emit_shared.c --- */

/* Returns the block of the cluster that an access with `peer` names, for operations on its memory. */
struct scalar emit_peer(struct emit *m, const struct expr *e);

/* A part of a shared tile: its last two axes whole, or slices of them. */
struct shared_part {
    const struct sym *sym;
    const struct thread_object *object;
    struct scalar stage; /* number of the matrix, by the axes before the last two; u32 */
    int rows, columns;   /* of the whole matrix */
    int row, column;     /* where the part begins in the matrix */
    int part_rows, part_columns;
    struct scalar further; /* u32: rows to add, known when the kernel runs; a multiple of 8 */
    struct scalar peer;    /* emit_peer of the access */
    bool of_peer;
    bool swizzled;
    int panel; /* columns of a panel; not swizzled: all columns */
};
bool emit_shared_part(struct emit *m, const struct expr *access, struct shared_part *out);

/* --- emit_lock.c --- */

/* Emits lock(…) or unlock(…) for all warps of the role. */
void emit_lock(struct emit *m, const struct expr *e);
enum thread_opcode emit_atomic_opcode(enum op op);
/* Returns whether the target has the atomic; if not, reports it. */
bool emit_has_atomic(struct emit *m, const struct expr *e);

/* --- emit_element.c --- */

/* An access to a part of a view, a shared array or a thread's own array, element by element. */
struct part_access {
    const struct expr *e;
    struct scalar start[MAX_RANK]; /* of each axis of the symbol */
    struct scalar *rows[MAX_RANK]; /* of a gather: the index of each element; else NULL */
    struct scalar limit[MAX_RANK]; /* the axis's extent, if elements may lie past the edge */
    bool guarded[MAX_RANK];
    int axis[MAX_RANK]; /* axis of the part; -1: an element */
};
/* Returns the elements of a thread's array. */
struct scalar *emit_own_elements(struct emit *m, const struct sym *s);
/* Returns the extent of an axis of a view or an array. */
struct scalar emit_extent(struct emit *m, const struct sym *s, int axis);
/* Returns the start of a slice in a type of which its other indices are values, too: i32 or i64. */
struct scalar emit_start(struct emit *m, const struct index *slice);
/* Returns the start as an i32. One that is beyond all parts of shared memory and all boxes stays so. */
struct scalar emit_start_i32(struct emit *m, const struct index *slice);
bool emit_find_part(struct emit *m, const struct expr *e, struct part_access *p);
/* Finds the indices of element `number` of the part. Returns whether it is inside. */
struct scalar emit_element_of(struct emit *m, const struct part_access *p, int64_t number,
                              struct scalar *index);
/* Returns emit_elements, broadcast to a type. */
struct scalar *emit_elements_as(struct emit *m, const struct expr *e, const struct type *to);
/* Loads the elements of a part for the thread alone; stores them. */
struct scalar *emit_load_part(struct emit *m, const struct expr *e);
void emit_store_part(struct emit *m, const struct expr *target, const struct scalar *v);
/* Returns how many elements, `elements` at most, a thread may move together along the last axis of the part. */
int emit_access_width(struct emit *m, const struct expr *e, int elements);
/* Declares a thread's own array; gives each element its value, or a single one to all. */
void emit_declare_array(struct emit *m, const struct stmt *s);
void emit_give_elements(struct emit *m, struct variable *v, const struct expr *value);
/* Returns the number of an element of a view or of a thread's array in its memory, an i64. */
struct scalar emit_view_at(struct emit *m, const struct sym *s, const struct scalar *indices);
struct thread_operand emit_shared_at(struct emit *m, const struct sym *s,
                                     const struct scalar *indices);
/* Gives the operands that address an element in loads, stores and atomics. Returns how many of them loads and stores take: one
 * for shared memory, else three. Atomics take all three. */
size_t emit_memory_at(struct emit *m, const struct sym *s, const struct scalar *index,
                      struct thread_operand place[3]);
/* Loads `count` neighbours, the first one at the indices; if they are outside, returns `otherwise`, a value of `count`
 * elements. */
struct scalar emit_load_if(struct emit *m, const struct expr *e, const struct scalar *index,
                           int count, struct scalar inside, struct scalar otherwise);
void emit_store_if(struct emit *m, const struct expr *e, const struct scalar *index,
                   struct scalar inside, struct scalar value);

/* --- emit_threads.c, emit_tiles.c --- */

/* The functions that emit the scalars and statements of thread-level kernels, of tile-level kernels, and of those with roles. */
struct by_threads {
    const char *heads; /* the name of such kernels in messages */
    /* Finds where the thread is in its block; NULL: a kernel with roles. */
    void (*enter)(struct emit *m);
    /* Emits a scalar. Returns false if emit_scalar emits it as in other kernels. */
    bool (*scalar)(struct emit *m, const struct expr *e, struct scalar *out);
    void (*store)(struct emit *m, const struct expr *target, const struct expr *value);
    /* Declare an array that each thread has for itself; assign to it. */
    void (*declare)(struct emit *m, const struct stmt *s);
    void (*assign)(struct emit *m, struct variable *v, const struct stmt *s);
    /* Emits an atomic whose old values are not wanted. */
    void (*atomic)(struct emit *m, const struct expr *e);
    void (*copy_async)(struct emit *m, const struct stmt *s);
    /* Returns the place of an element in its shared tile, a u32; NULL: tiles lie row by row. */
    struct scalar (*place_in_shared)(struct emit *m, const struct sym *s,
                                     const struct scalar *indices);
};
extern const struct by_threads emit_by_threads, emit_by_tiles, emit_by_roles;
/* Emits an atomic of one element, by one thread. Returns its old value, which all threads have if `wanted`. */
struct scalar emit_atomic_once(struct emit *m, const struct expr *e, bool wanted);
/* Makes register tiles have the layouts of the plan. thread: the thread's number in its block, a u32. */
void emit_use_fragments(struct emit *m, struct scalar thread);

/* --- emit_print.c: of kernels without roles --- */

/* Emits a print(). */
void emit_print(struct emit *m, const struct stmt *s);

/* --- emit_claim.c --- */

/* Emits the check of a claim. */
void emit_claim(struct emit *m, const struct stmt *s);

/* --- emit_ticket.c: of kernels without roles --- */

/* Returns whether blocks of the kernel wait for others, so that they draw their numbers. */
bool emit_draws(const struct emit *m);
/* Draws the block's number, if blocks do. */
void emit_draw_block(struct emit *m);
/* Gives block.x, block.y or block.z. Returns false if blocks do not draw numbers. */
bool emit_drawn_block(const struct emit *m, const struct expr *e, struct scalar *out);

/* --- emit_array.c: of thread-level kernels --- */

/* emit_elements of struct emit_tree. */
struct scalar *emit_array_expr(struct emit *m, const struct expr *e);
/* Returns whether no thread has the expression, a scalar or a tile, for itself. */
bool emit_is_collective(const struct expr *e);
/* Returns whether threads exchange elements to compute the expression. */
bool emit_exchanges(const struct expr *e);
/* Returns whether the block computes the tile together, in layouts of the plan: its threads exchange elements, or it reads a
 * register tile. */
bool emit_has_layout(const struct emit *m, const struct expr *e);
/* Returns whether the block computes a reduction to a scalar together. */
bool emit_is_reduced_by_block(const struct emit *m, const struct expr *e);
/* Emits an atomic of each element of its target. Returns the old values. */
struct scalar *emit_atomic(struct emit *m, const struct expr *e);
/* Emits the atomic of one element in threads whose `inside` is true. wanted: whether the old value is returned, which is 0 in
 * other threads. */
struct scalar emit_atomic_at(struct emit *m, const struct expr *e, const struct scalar *index,
                             const struct scalar *values, struct scalar inside, bool wanted);

/* --- emit_copy.c: of thread-level kernels whose threads are not whole warps --- */

void emit_copy(struct emit *m, const struct expr *target, const struct expr *value);

/* --- emit_tensor.c --- */

void emit_tensor_copy(struct emit *m, const struct stmt *s);
void emit_mbarrier_effect(struct emit *m, const struct stmt *s);
/* Declares the mbarriers that the role waits for: their phases are variables. */
void emit_phases(struct emit *m, const struct stmt *body);
void emit_init_mbarriers(struct emit *m);
/* Finds whether the blocks of a cluster use mbarriers to order ordinary accesses. */
void emit_note_order(struct emit *m);
/* Notes that a loop begins: each iteration begins in the state that the one before it left. */
void emit_note_iterations(struct emit *m, const struct stmt *loop);
/* Returns whether the mbarrier counts warps, because a role arrives at it. */
bool emit_counts_warps(const struct emit *m, const struct sym *s);

/* --- emit_product.c --- */

void emit_product(struct emit *m, const struct stmt *s);
void emit_product_wait(struct emit *m, int64_t most);
/* Finds the register tiles to which products add. */
void emit_find_sums(struct emit *m, struct stmt *body);

/* --- emit_note.c: for `show --stage layout`, traces and explanations --- */

/* Notes accesses of single elements, or of `count` neighbours together, that each thread makes for itself. */
void emit_note_elements(struct emit *m, const struct expr *e, int count, bool store);
/* Notes accesses that all threads make together: `vectors` of each thread, of `count` neighbours. */
void emit_note_vectors(struct emit *m, const struct expr *e, int count, int64_t vectors,
                       bool store);
/* Notes an atomic of a part: `count` instructions of each thread, for `elements` elements each. wanted: they return old
 * values. */
void emit_note_atomics(struct emit *m, const struct expr *e, int elements, int64_t count,
                       bool wanted);
/* Notes a copy in the background to a shared tile. */
struct access;
void emit_note_async(struct emit *m, const struct stmt *s, const struct access *how);
/* Notes the values that hold a variable, unless values are noted already. */
void emit_note_holder(struct emit *m, const struct variable *v, struct thread_value *const *values);
/* Notes the last values of the variables without noted values. */
void emit_note_last_values(struct emit *m);
/* Lists the registers of the noted values, after src/nvptx has named them. */
void emit_list_held(struct arena *a, const struct kernel *k, const struct thread_function *f,
                    struct lowered *out);
/* Notes the layout of a register tile of a role. */
void emit_note_tile(struct emit *m, const struct sym *s);
/* Notes the accesses of a tensor copy, which moves boxes: to global and to shared memory. */
void emit_note_boxes(struct emit *m, const struct stmt *s, const struct shared_part *p, int rows,
                     int columns);
/* Notes the reads of a factor by products. rows: of the factor, for one instruction; products: instructions of a warpgroup; n:
 * columns of the sums. */
void emit_note_factor(struct emit *m, const struct expr *e, const struct shared_part *p, int rows,
                      int64_t products, int n);

#endif
