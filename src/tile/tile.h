/* Tile IR: the typed program of one kernel, for one choice of types and tuned values.
 *
 * It is a tree of statements over trees of expressions, and its printed form is the language itself
 * (print.c): you can read, save, edit and compile again the result of a pass. `lang` makes it from
 * text; passes (passes.h) rewrite it in place; `cpu` runs it; later `lower` makes PTX of it.
 * Everything lives in one arena.
 *
 * Scalars are *uniform* (one value for a block) or *varying* (one value for each thread; only
 * with threads(x, y)). A tile is a rectangle of elements with constant extents that the block's
 * threads hold or share; a per-thread array is a small rectangle that each thread has for
 * itself. So a type is: element type, extents, varying or not. */
#ifndef TW_TILE_H
#define TW_TILE_H

#include "base/arena.h"
#include "base/diag.h"
#include "base/dtype.h"
#include "tile/ops.h"

enum { MAX_RANK = 6, MAX_WARPS = 32, MAX_THREADS = 1024, MAX_RESIDENT = 32, WARP_LANES = 32 };

/* An extent known only at the launch. It occurs only in the whole-view expressions of `ensures`. */
#define EXTENT_RUNTIME ((int64_t)-1)

struct type {
    enum dtype dtype;
    int rank;                 /* 0: a scalar */
    bool varying;             /* each thread has its own; set by the variance pass */
    int64_t extent[MAX_RANK]; /* elements along each axis; row-major: the last axis is contiguous */
};

/* --- symbols --- */

enum storage {
    ST_PARAM,   /* scalar parameter (is_static: compiled in) or pointer parameter (is_pointer) */
    ST_CONST,   /* named constant of the module, or a tuned value: `value` holds it */
    ST_TABLE,   /* constant values, in `table`; has one axis, and only OP_LOOKUP reads it */
    ST_SCALAR,  /* local scalar variable (or const local computed at run time) */
    ST_ARRAY,   /* `f32 sum[R][R]`: one for each thread at thread level, one for the block in
                * warps kernels */
    ST_REG,     /* register tile of the block */
    ST_SHARED,  /* shared tile of the block */
    ST_VIEW,    /* `global`: a view of a pointer parameter, or workspace */
    ST_MBARRIER /* mbarriers of the block: u64, one for each element */
};

struct literal {
    bool is_float;
    int64_t i; /* integers and bool */
    double f;
};
/* Compares bits, not values: a NaN equals itself, and -0 differs from 0. build.c */
bool literal_same(struct literal a, struct literal b);

/* Stores the literal's value in memory as an element of type t. */
void literal_store(enum dtype t, void *to, const struct literal *v);

struct sym {
    const char *name;    /* unique within the kernel */
    const char *written; /* the name in the source; of a value that a pass names, its array's */
    enum storage storage;
    struct type type; /* element type and constant extents; a view's extents are in `dims` */
    struct loc loc;
    bool is_static, is_pointer;
    bool is_const; /* pointer or view: not written during the launch; scalar: assigned once */
    bool is_tuned; /* ST_CONST that comes from `tune` */
    struct literal value; /* ST_CONST; ST_PARAM that is static and bound (has_value) */
    bool has_value;
    const struct literal *table; /* ST_TABLE: a value for each element of its type */
    bool has_default;          /* ST_PARAM that is not static: `value` is the default of a launch */
    enum device_number device; /* ST_PARAM: the launch asks its device for the default */
    struct expr
        *derived; /* ST_PARAM: the expression over earlier parameters that the launch computes;
                   * NULL: the caller gives the value */
    int index;    /* ST_PARAM: position in the parameter list. Others: number within the kernel */
    /* ST_VIEW */
    struct expr *dims[MAX_RANK];    /* i64/i32 scalar expressions over parameters and constants */
    struct expr *strides[MAX_RANK]; /* in elements; all NULL: row-major, contiguous */
    struct sym *base;               /* pointer parameter; NULL: workspace from the runtime */
    struct expr *base_offset;       /* in elements; NULL: 0 */
    bool zeroed;                    /* workspace that is 0 before each launch */
    bool clean; /* each launch leaves it 0: it is set to 0 once, when it is allocated */
    /* ST_SHARED */
    int64_t offset; /* bytes in the block's shared memory, or the value of at(…); -1 before
                     * planning */
    /* ST_SHARED: filled from a const view inside a pipeline body, which stages it */
    bool staged;
    /* ST_MBARRIER. PTX ISA, "Parallel Synchronization and Communication Instructions: mbarrier" */
    bool ready;       /* a phase counts as complete at first: the first wait does not wait */
    int arrivals;     /* number of arrivals that complete a phase */
    struct sym *next; /* next symbol of the kernel, in order of declaration */
};

/* --- expressions --- */

/* One index of an access. */
enum index_kind {
    IX_ELEMENT, /* [e]        scalar; the axis disappears */
    IX_SLICE,   /* [e +: n]   n elements from e on; may reach past the edge unless `inside` */
    IX_ALL,     /* [:]        the whole axis */
    IX_GATHER   /* [t], [t[:]] rank-1 integer tile: rows t[0], t[1], …; may reach past the edge */
};
struct index {
    enum index_kind kind;
    struct expr *value; /* element, start, or the index tile; NULL for IX_ALL */
    int64_t extent; /* IX_SLICE: n. IX_ALL, IX_GATHER: their length (EXTENT_RUNTIME in ensures) */
    bool inside;    /* `[e +: n inside]`: the user promised, or a pass proved, that it lies
                     * within the axis */
    bool promised;  /* the user promised `inside` */
};

/* The part of a tile that print() shows: `count` indices of each axis from `first` on. */
struct print_window {
    int64_t first[MAX_RANK], count[MAX_RANK];
};

/* by(name, word, …): who does it, and how. Chosen for a GPU by a pass of plan/ or by the program; other
 * executors ignore it. A name has letters, digits, '_' and '.', a word also blanks. */
struct by {
    const char *name; /* "mma.m16n8k16" */
    int count;
    const char *const *words; /* "left staged" */
    struct loc loc;
};

enum { CLUSTER_RANK = 3 }; /* the axis of cluster.rank */

struct expr {
    enum op op;
    struct type type;
    struct loc loc;
    int count; /* operands. An ACCESS has one if it is peer(…): the rank of the block whose memory it is */
    struct expr **args;
    struct literal literal; /* OP_LITERAL; its dtype is type.dtype */
    struct sym *sym;        /* OP_REF, OP_ACCESS, OP_FREE; OP_LOOKUP, whose args are the literal
                      * sym->index and the index */
    struct index
        *index; /* OP_ACCESS: `indices` of them; sa[s] of a tile with 3 axes has one, the other
                * axes are whole */
    int indices;
    struct expr *otherwise; /* OP_ACCESS that loads: the value beyond the edge; NULL: zero */
    /* OP_BLOCK GRID THREAD CLUSTER: 0 x, 1 y, 2 z; CLUSTER_RANK. Reductions, scan: the axis; -1: all. OP_LOOKUP: the number
     * of axes whose indices the checker combined; 0: one index. OP_LT that compares such an index
     * with its extent: the axis + 1 (lookup.h) */
    int axis;
    enum op scan_op;                   /* OP_SCAN: ADD MUL MIN MAX AND OR XOR */
    bool exclusive;                    /* OP_SCAN */
    const char *label;                 /* OP_PRINT: text printed first, or NULL */
    const struct print_window *window; /* OP_PRINT: the part of the last value; NULL: all of it */
    const struct by *by;               /* OP_DOT, OP_ACCESS of a view; NULL: not chosen */
};

/* The children of an expression: its operands, then its indices, then its `otherwise`. Indices and
 * `otherwise` may be NULL. */
static inline int expr_children(const struct expr *e)
{
    return e->count + e->indices + 1;
}
static inline struct expr *expr_child(const struct expr *e, int i)
{
    const int index = i - e->count;
    return index < 0 ? e->args[i] : index < e->indices ? e->index[index].value : e->otherwise;
}

/* --- statements --- */

enum stmt_kind {
    STMT_DECL,       /* sym [= value]; the value may be an ACCESS of shared or global memory: a tile
                * copy */
    STMT_ASSIGN,     /* target = value; target is a REF or an ACCESS */
    STMT_ASYNC_COPY, /* async target = value; both ACCESS: one is a shared tile (or part), the other a
                      * view's slice. With `barrier`, a tensor copy that completes on an mbarrier;
                      * to a view, a tensor copy that store_wait waits for */
    STMT_EFFECT,     /* an op of class EFFECT in `value`, or a call evaluated for its effect
                  * (atomics) */
    STMT_IF,         /* condition, body, otherwise */
    STMT_FOR,        /* init; condition; step; body; unroll or pipeline */
    STMT_WHILE,      /* condition, body; is_do: the body first */
    STMT_BLOCK,      /* body: a scope */
    STMT_BREAK,
    STMT_CONTINUE,
    STMT_RETURN,     /* leaves the kernel */
    STMT_ROLE,       /* warps(a +: n) { body }: `role` */
    STMT_ONE_THREAD, /* one_thread { body }: by one thread of the role, always the same one */
    STMT_ENSURES     /* for (over[i] < bound[i]) target == value, over whole views; last in the
                  * kernel */
};

enum { UNROLL_NONE = 0, UNROLL_FULL = -1 };

/* Some warps of a block that run a program of their own. */
struct role {
    int first, warps; /* numbers of its warps: first … first + warps - 1 */
    int replicas; /* how many times the body is there, each time for the next `warps` warps; 1: once */
    struct sym *replica; /* the number of the replica, an i32; NULL: not named */
    int registers;       /* of each thread; 0: not given */
};

/* A call of a fn that its body replaces: for messages. */
struct inlining {
    const char *name;
    struct loc body, call;
    const struct inlining *outer; /* the call around; NULL: it is in the kernel itself */
};

/* Two uses of one part of a view, that of `access` the later one. The same threads have the elements
 * both times, unless their layouts differ. */
struct earlier {
    const struct expr *before, *access;
    const struct earlier *next;
};

enum { SUM_IN_UNIT = -1, SUM_PROMOTED = 128, SUM_STEP = 32 };

struct stmt {
    enum stmt_kind kind;
    struct loc loc;
    struct loc start;              /* place of its first byte in the text, length 0 */
    struct loc block, other_block; /* `{ … }` of body and otherwise; without source: no braces */
    struct stmt *next;             /* the next statement of the same body */
    struct sym *sym;               /* DECL */
    struct expr *target;           /* ASSIGN, ASYNC_COPY, ENSURES */
    struct expr *value;            /* DECL (NULL: none), ASSIGN, ASYNC_COPY, EFFECT, ENSURES */
    struct expr *condition;        /* IF, FOR (NULL: forever), WHILE */
    struct stmt *init;             /* FOR: DECLs (or ASSIGNs) */
    struct stmt *step;             /* FOR: ASSIGNs */
    struct stmt *body, *otherwise; /* IF FOR WHILE BLOCK; otherwise: IF */
    int unroll;                    /* FOR: UNROLL_NONE, UNROLL_FULL, or a factor */
    int stages;                    /* FOR: pipeline(n); 0: not a pipeline */
    bool is_do;                    /* WHILE */
    bool added;                    /* by the compiler; printed with a comment */
    bool
        uncredited; /* EFFECT of an op that stmt_may_be_uncredited(): `sync() added`. It is executed, but
                      * the static check does not count it as the program's own. */
    bool divergent; /* set by variance: only some threads of the block may come here */
    const struct inlining *inlined; /* the call that it came from; NULL: none */
    const struct claim *claim;      /* EFFECT of ASSUME: the claim to check on the simulator; NULL:
                                   * none */
    const struct earlier *earlier; /* uses of views before it that no barrier separates from its own
                                * (barriers.c); NULL: none */
    const char *hint;              /* ASYNC_COPY: hint(evict_first), …; NULL: none */
    struct expr *barrier;          /* ASYNC_COPY: the mbarrier, an ACCESS; NULL: none */
    /* ASYNC_COPY with `barrier`: an i32, a bit for each block of the cluster that gets the copy; NULL:
     * this block alone */
    struct expr *multicast;
    const struct role *role; /* ROLE */
    bool in_background;      /* ASSIGN c = dot(a, b, c) that is written dot_async(c, a, b) */
    int promoted; /* in_background, of 8-bit floats: the elements of k after which the unit's sums are added to c;
                   * SUM_IN_UNIT: never. 0: not stated, SUM_PROMOTED */
    const struct products *products; /* FOR that only sums products (products.h); NULL: any other */
    const struct row_mark
        *row; /* DECL, ASSIGN: a row and its sum in one pass (rows.h); NULL: none */
    struct sym *over[MAX_RANK];   /* ENSURES: index variables, ST_SCALAR i32 … */
    struct expr *bound[MAX_RANK]; /* … and their bounds, exclusive */
    int overs;
};

/* --- kernels --- */

struct param {
    struct sym *sym;
    struct param *next;
};

struct kernel {
    struct arena *arena;
    const char *name;
    struct loc loc;
    struct param *params; /* in order; sym->index counts from 0 */
    int param_count;
    struct sym *symbols;      /* all symbols, parameters and constants first */
    struct sym **last_symbol; /* the link for the next symbol */
    int symbol_count;
    int param_symbols;    /* number of symbols that are parameters */
    struct expr *grid[3]; /* i32 scalars over parameters and constants; NULL: 1 */
    int warps;            /* warps of a block in warps kernels; 0 at thread level */
    int threads[3];       /* thread level: extents of the block; {0} in warps kernels */
    int cluster[3];       /* blocks of a cluster along x, y, z; {0}: no clusters */
    int resident;         /* blocks at a time on a multiprocessor; 0: any number; -1: not given */
    bool cooperative;     /* blocks may wait for any block of the grid */
    const char *target;   /* target(sm_90a), or NULL */
    struct stmt *body;
    struct loc block; /* `{ … }` of the body */
    /* results of passes */
    bool contracted;      /* contract ran */
    bool has_claims;      /* claims_add ran */
    bool planned;         /* plan ran, so sym->offset of every shared tile and shared_bytes are
                           * set */
    int64_t shared_bytes; /* bytes of one block */
};

static inline bool kernel_thread_level(const struct kernel *k)
{
    return k->threads[0] > 0;
}
/* Returns true if the kernel has roles, mbarriers, products in the background or tensor copies: a
 * Hopper kernel, which other passes than those of all GPUs lower. walk.c */
bool kernel_uses_roles(const struct kernel *k);
/* Returns the blocks of a cluster; 1 without clusters. */
int kernel_cluster_blocks(const struct kernel *k);
/* Returns the rank of the block whose memory an access names; NULL: this block's own. */
static inline struct expr *access_peer(const struct expr *e)
{
    return e->op == OP_ACCESS && e->count > 0 ? e->args[0] : NULL;
}
/* Returns the threads of a block: warps × 32, or the product of threads(…). */
int kernel_block_threads(const struct kernel *k);

/* --- elements.c: the numbers of elements --- */

/* Finds the coordinates of an element from its row-major number. */
void type_coordinates(const struct type *t, int64_t number, int64_t *at);
/* Returns the number of the element of `from`, right-aligned, that broadcasting copies to the
 * coordinates in `to`. */
int64_t type_broadcast_number(const struct type *from, const struct type *to, const int64_t *at);
/* Returns the number of the operand's element that TRANS, RESHAPE, REPEAT, REPEAT_INTERLEAVE or
 * BROADCAST moves to the coordinates. */
int64_t expr_moved_number(const struct expr *e, const int64_t *at);
/* The elements along an axis through one place: `count` of them, `step` numbers apart. A tile has `lines` of these. */
struct line {
    int64_t count, step, lines;
};
/* Returns the lines of a tile along an axis; -1: all elements are one line. */
struct line type_line(const struct type *t, int axis);
/* Returns the number of the first element of a line. */
int64_t type_line_first(const struct line *l, int64_t line);

/* --- build.c: making IR. All nodes live in k->arena. --- */

struct type type_scalar(enum dtype t);
struct type type_tile(enum dtype t, int rank, const int64_t *extent);
bool type_same_shape(const struct type *a, const struct type *b);
int64_t type_elements(const struct type *t); /* product of the extents; 1 for a scalar */
int64_t type_bytes(const struct type *t);    /* bytes of all elements, without gaps */
/* Broadcasts two shapes as NumPy does, right-aligned. Returns false if they do not fit.
 * EXTENT_RUNTIME fits any extent. */
bool type_broadcast(const struct type *a, const struct type *b, struct type *out);
/* Returns the type as text for messages: "f16[128][16]", "i32". */
const char *type_text(struct arena *a, const struct type *t);

struct kernel *kernel_new(struct arena *a, const char *name, struct loc loc);
/* Returns `name`, or the first of name_1, … that no symbol of the kernel has. */
const char *kernel_unused_name(struct kernel *k, const char *name);
struct sym *sym_new(struct kernel *k, const char *name, enum storage storage, struct type type,
                    struct loc loc);
struct expr *expr_new(struct kernel *k, enum op op, struct type type, struct loc loc, int count);
struct expr *expr_unary(struct kernel *k, enum op op, struct type type, struct loc loc,
                        struct expr *a);
struct expr *expr_binary(struct kernel *k, enum op op, struct type type, struct loc loc,
                         struct expr *a, struct expr *b);
struct expr *expr_int(struct kernel *k, enum dtype t, int64_t v, struct loc loc);
struct expr *expr_float(struct kernel *k, enum dtype t, double v, struct loc loc);
struct expr *expr_ref(struct kernel *k, struct sym *s, struct loc loc);
struct expr *expr_access(struct kernel *k, struct sym *s, int indices,
                         struct loc loc); /* the caller sets the type */
/* Returns x itself if it has that element type, else a cast of it. */
struct expr *expr_cast(struct kernel *k, struct expr *x, enum dtype t);
struct expr *expr_copy(struct kernel *k, const struct expr *x); /* a deep copy that shares
                                                                 * symbols */
struct stmt *stmt_new(struct kernel *k, enum stmt_kind kind, struct loc loc);
struct stmt *stmt_effect(struct kernel *k, enum op op, struct loc loc,
                         struct expr *arg);                 /* arg may be NULL */
bool expr_same(const struct expr *a, const struct expr *b); /* equal trees; ignores loc */
/* Returns whether e is an integer literal; *value is then its value, otherwise 0. NULL is none. */
bool expr_is_integer(const struct expr *e, int64_t *value);

/* --- by.c --- */

bool by_same(const struct by *a, const struct by *b); /* either may be NULL; ignores loc */
/* Returns true if the printed by(…) reads back as the same. */
bool by_reads_back(const struct by *by);
void by_print(struct text *out, const struct by *by);

/* --- walk.c: visiting --- */

/* Every walk goes in program order; in a FOR: init, condition, body, step. */

/* Calls visit on each expression below *root, operands (index values and `otherwise` included)
 * before their parent; visit may replace *at. */
void expr_walk(struct expr **root, void (*visit)(void *user, struct expr **at), void *user);
/* Returns the number of times that e (may be NULL) names s, indices included. */
int expr_mentions(const struct expr *e, const struct sym *s);
/* Returns the number of times that a list of statements, and all statements in them, name s,
 * `ensures` included. */
int stmt_mentions(struct stmt *first, const struct sym *s);
/* Returns true if e, indices included, has an atomic. */
bool expr_has_atomic(const struct expr *e);
/* Returns true for arrive(…) as a statement or as the value of a declaration: a barrier of the
 * block. */
bool stmt_arrives(const struct stmt *s);
/* Returns true for sync, async_commit, async_wait and fence_async: `added` may follow their calls. */
bool stmt_may_be_uncredited(enum op op);
/* Returns the factor of a product in the background without its conversion from an 8-bit type: such products
 * have factors of two types. */
const struct expr *expr_unconverted_factor(const struct expr *factor);
/* Returns true if the product in the background multiplies 8-bit floats, whose units keep fewer bits of the sums. */
bool expr_product_is_small(const struct stmt *s);
/* Returns the most elements of k over which such a product of the kernel sums in its unit's bits: INT64_MAX for all of k; 0 if there
 * is none. */
int64_t kernel_unit_terms(const struct kernel *k);
/* Returns true if the value of e is made of register tiles, which the whole block holds: e names one,
 * outside of indices and of values of rank 0. */
bool expr_has_register_tile(const struct expr *e);
/* Returns true if each thread has a value of e, of rank > 0, for itself: it differs between
 * threads, or comes from a per-thread array and from no register tile. Returns false for a tile
 * that all threads of the block hold or read together. Requires variance. */
bool expr_is_per_thread(const struct expr *e);
/* Returns whether the value differs between threads of a thread-level kernel. Ignores e->type.varying, which a pass may have
 * left out. */
bool expr_is_varying(const struct kernel *k, const struct expr *e);
/* Returns whether the part of memory, or the value for it, is each thread's own. */
bool expr_is_own(const struct kernel *k, const struct expr *e);
/* Calls visit on each statement of the list at *first and below it, the outer statement first. */
void stmt_walk(struct stmt *first, void (*visit)(void *user, struct stmt *s), void *user);
/* Calls visit on each root expression of s itself (not of its body); `is_target` is true for the
 * expression that is written. */
void stmt_expressions(struct stmt *s, void (*visit)(void *user, struct expr **root, bool is_target),
                      void *user);

/* Calls visit on each expression of s itself, not of its body, operands before their parent. */
void stmt_own_expressions(struct stmt *s, void (*visit)(void *user, struct expr **at), void *user);

/* Returns true if the kernel reads or writes through the view. Uses in `ensures` do not count. */
bool kernel_uses(const struct kernel *k, const struct sym *view);

/* --- order.c --- */

/* Returns true if the order of blocks and threads may change the bits of results: an atomic adds,
 * exchanges or compares floats, or a number that a block draws by an atomic decides its turn, or
 * the place or the value of a store. */
bool kernel_order_matters(const struct kernel *k);

/* --- eval.c: integer and float values at compile or launch time --- */

/* Values of scalar parameters at a launch; NULL entries or a NULL env: not known. */
struct scalar_env {
    const struct literal *values; /* by sym->index of ST_PARAM */
    const bool *known;
    int count;
};
/* Evaluates a scalar expression of literals, constants, bound statics and env. Returns false if
 * it needs any other value or divides by zero. Wraps and rounds as the type does. */
bool eval_scalar(const struct expr *e, const struct scalar_env *env, struct literal *out);
/* Returns the operand, 0 or 1, of a sum or difference of floats that is a product and becomes
 * one fma with it in the pass `contract`, or -1. */
int expr_contracted(const struct expr *e);
bool eval_int(const struct expr *e, const struct scalar_env *env, int64_t *out);
/* Applies the op to constants of element type t, as every executor does. Returns false if the op
 * cannot be folded. t is the joined type of the operands; for CAST, BITS, SELECT and WHERE it is
 * the type of the result. CAST takes integers as i64: see eval_cast. */
bool eval_op(enum op op, enum dtype t, const struct literal *args, int count, struct literal *out);
/* Applies the op of e to constants for its operands, as eval_scalar does; *args changes. */
bool eval_apply(const struct expr *e, struct literal *args, struct literal *out);
/* Returns `(to) x` for a constant x of type from. */
struct literal eval_cast(enum dtype to, enum dtype from, const struct literal *x);

/* --- overflow.c --- */

/* Returns the innermost part of e that does not fit its type, for the values that are known;
 * NULL: none. It checks signed types; strict: unsigned types and casts too. */
const struct expr *eval_overflow(const struct expr *e, const struct scalar_env *env, bool strict);
/* Returns the text of e in its source if that is at most 80 bytes of one line; otherwise NULL. */
const char *expr_written(const struct expr *e, size_t *length);
/* Returns the text "`m * n` = 70000 * 70000 overflows i32: write `(i64) m * n`". code: the text of e;
 * operands: NULL if they are not known; name: the parameter whose whole value e is, which the text
 * advises to declare as i64; NULL: none. */
const char *overflow_message(struct arena *a, const struct expr *e, const char *code, size_t length,
                             const int64_t operands[2], const char *name);

/* Returns overflow_message for a result of eval_overflow without values. */
const char *overflow_text(struct arena *a, const struct expr *e);

/* --- print.c --- */

/* Prints the kernel as a module that compiles again to the same kernel. The constants that it
 * still names come before it. */
void kernel_print(struct text *out, const struct kernel *k);
/* A line of kernel_print_lines, which prints the same text and lists the line of each statement,
 * and its place in the source. */
struct printed_line {
    int line; /* from 1 */
    struct loc loc;
    bool added; /* the compiler added the statement */
};
struct printed_lines {
    VEC(struct printed_line) list;
};
void kernel_print_lines(struct text *out, const struct kernel *k, struct printed_lines *lines);
void stmt_print(struct text *out, const struct stmt *s, int indent); /* s alone, not s->next */
/* print_expr.c */
void expr_print(struct text *out, const struct expr *e);

/* --- verify.c --- */

/* Returns NULL if every invariant of this header holds, else a text that names the fault (in the
 * arena). For debug builds and tests: a failure is a bug of the compiler, never the user's. It
 * checks arities, the types of every op by its class, shapes, that symbols are declared before
 * use, assignable targets, and numbers of indices. */
const char *kernel_verify(struct arena *a, const struct kernel *k);

/* --- combine.c --- */

/* Returns the op that combines two elements of a reduction. */
enum op op_of_reduction(enum op reduction);
/* Returns the name of the operation of a scan, "add"; NULL: no scan has it. */
const char *op_scan_name(enum op op);
/* Returns the neutral element of ADD MUL MIN MAX AND OR XOR (floats: -inf of MAX …). */
struct literal op_neutral(enum op op, enum dtype t);

#endif
