/* Compiles Tile IR to a program: declarations that the compile_*.c files share. */
#ifndef TW_CPU_COMPILE_H
#define TW_CPU_COMPILE_H

#include "base/name_table.h"
#include "base/number_map.h"
#include "cpu/program.h"

/* A value in the frame: dense, [element][lane]. */
struct value {
    uint32_t at;
    enum dtype dtype;
    int rank;
    int64_t extent[MAX_RANK];
    uint32_t lanes; /* 1, or the block's threads */
};

/* A place to jump to; the jumps to it may be emitted before its address is known. */
struct label {
    bool placed;
    uint32_t pc;
    VEC(uint32_t) uses; /* jumps to patch */
};

/* Records whether and how a tile is packed (compile_packed.c). */
struct packed_use {
    bool used, refused;
    enum cpu_slow why; /* refused: the first reason, and its place */
    struct loc why_at;
    struct packed_form form;
    int64_t repeat;           /* > 0: its declaration fills it with weights (struct weights) */
    enum dtype codes;         /* the type of their codes */
    bool unpacks;             /* and they are not just these codes (weights_are_codes) */
    const struct expr *value; /* the last value that was read as weights, and the result */
    const struct weights *weights;
    struct packed_tile *tile; /* NULL: the tile is not packed */
};

/* Statements that run under one mask. Once no lane runs, they are skipped to `end`. */
struct region {
    uint32_t mask;
    struct label *end;
    struct region *outer;
};

struct loop {
    struct loop *outer;
    bool masked;                   /* lanes leave it one by one */
    uint32_t loop_mask, body_mask; /* lanes still in the loop; lanes still in this turn */
    struct label *next, *end;
    struct scope *scope; /* the scope of the body */
};

/* A scope. No copy into one of its tiles may be under way when it is left. */
struct scope {
    struct scope *outer;
    VEC(const struct sym *) tiles; /* tiles declared here that async copies fill */
};

struct slot {
    const struct sym *sym;
    struct value value; /* the value, if it is in the frame and was declared */
    int view;           /* ST_VIEW */
    uint32_t shared_at; /* ST_SHARED */
    uint32_t waited_at; /* ST_MBARRIER: struct mbarrier_detail.waited */
    bool async;         /* ST_SHARED: some async copy writes the tile */
    uint32_t mask;      /* the mask under which it was declared */
    bool assigned;      /* assigned again after its declaration */
    bool touched;       /* a global array: some block reads, writes or changes it */
    enum op touch;      /* the op of the latest touch: ACCESS or an atomic */
    struct packed_use packed;
    bool is_shown;          /* ST_REG, one row: its elements may still be in a view
                                   * (compile_row.c) */
    uint32_t shown_at;      /* place in the frame of the row's address */
    const struct expr *sum; /* ST_REG, one row: the sum that the step which computed it also
                                   * computed, to sum_value; NULL: none */
    struct value sum_value;
    bool gets_dot;                /* ST_REG: some product is added to it */
    const struct tile_seen *seen; /* the elements that are needed; NULL: all */
    unsigned block_axes;          /* a scalar: bits of the grid axes that its value depends on */
    /* Facts found by compile_known.c. */
    bool is_known; /* the counter of a loop that is being unrolled */
    struct literal known;
    bool is_thread;   /* declared as thread.x */
    int block_axis;   /* declared as block.x: 1, .y: 2, .z: 3; 0: none of them */
    int64_t split_by; /* n, if computed from a division of thread.x by n; else 0 */
    bool affine;      /* a varying i32 that is affine in the thread's index */
    int64_t step[3];
    bool first_is_known; /* the value in the first lane is known: `first` */
    struct literal first;
};

/* A loop whose products are deferred until they are deep enough. */
struct deferral {
    struct deferral *outer;
    const struct stmt *loop;
    const struct stmt *sum;          /* the first assignment to the sum; NULL: none */
    uint32_t deferred;               /* its struct dot_deferred, in the frame */
    struct value value;              /* the sum */
    const struct stmt *store;        /* statement after the loop that stores the sum; NULL: none */
    const struct dot_detail *detail; /* of the last product, after it is compiled */
};

/* The number of statements that compile_seen.c visits in all. The limit keeps the compile time
 * of a large kernel short; tiles that were not surveyed are computed whole. */
enum { MOST_SURVEYED = 1 << 16 };
/* The part of a tile that is seen (compile_seen.c), until the indices of its stores are
 * computed. */
struct pending_seen {
    const struct stmt *from; /* the indices are computed before this statement */
    const struct sym *tile;
    int count;
    const struct expr *target[MOST_SEEN];
};

/* The key of a constant in compiler.constants: the bytes of this struct. */
struct constant {
    uint64_t bits, dtype;
};

/* A condition that holds where statements are compiled. */
struct holds {
    const struct expr *condition;
    const struct holds *outer;
};

struct compiler {
    struct arena *arena;
    /* The recursion: compile_expr and compile_scope call these, because an expression is part of
     * accesses, chains and products, and statements are part of roles. compile_body sets them. */
    struct value (*emit_expr)(struct compiler *c, const struct expr *e, const struct value *into);
    void (*emit_scope)(struct compiler *c, const struct stmt *body);
    const struct kernel *kernel;
    const struct routine_set *set;
    struct cpu_program *program;
    const char *why; /* the first construct that cannot be compiled */
    VEC(struct instr) code;
    uint32_t labelled; /* the latest place that a jump may target */
    struct loc loc;    /* source place of the instructions emitted now */
    uint32_t lanes;
    uint32_t top, high; /* the frame's memory is a stack of values */
    uint32_t mask;      /* the mask under which statements are compiled now */
    struct region *region;
    struct loop *loop;
    struct scope *scope;
    const struct holds *holds; /* conditions of the `if`s around */
    struct slot *slots;        /* sorted by sym */
    size_t slot_count;
    unsigned char *image;
    bool divides_powers; /* the store divides powers of a step_row_map (ROW_QUOTIENTS) */
    struct number_map
        *varying; /* results of compile_expr_varying, by expression with two operands */
    struct name_table constants; /* key: struct constant; number: offset in the image */
    uint32_t constants_end, thread_at[3];
    int64_t split; /* divisor of thread.x in a block with one axis; 0: it is not divided */
    uint32_t async_buffer;
    bool plain;        /* compile without short cuts */
    bool first_lane;   /* the expression compiled now is the value in the first lane, uniform */
    int unrolling;     /* number of loops around that are unrolled */
    size_t unrolled;   /* nodes made by unrolling up to now */
    bool has_unrolled; /* the kernel asks for unrolling somewhere */
    bool seldom;       /* the code compiled now runs rarely: it should be short */
    VEC(struct strided) strided;
    VEC(const struct access *) rows;       /* see struct cpu_program */
    VEC(struct strip_detail *) row_chains; /* those run by step_row */
    VEC(const struct lane_product *) products;
    VEC(struct packed_plan) packed;
    int unchained;             /* > 0: each elementwise operation is its own step */
    struct deferral *deferral; /* of the innermost loop */
    struct {
        const struct stmt *loop; /* its sum is not set to 0; the first product overwrites it */
        struct value sum;
        uint32_t deferred;        /* struct dot_deferred, which is kept after the loop */
        const struct stmt *store; /* for this store */
    } fresh;
    struct deferral complete; /* a loop just compiled whose sum is still to be stored */
    bool defers_dot;          /* the expression compiled now is the product of that loop */
    bool
        starts_in_place; /* its third operand may be computed in the variable that it is assigned to */
    const struct tile_seen *dot_seen; /* the part needed of the tile to which the product is
                                       * added; NULL: it is added to no tile */
    const struct stmt *list;          /* first statement of the list that contains the statement
                                       * compiled now */
    VEC(struct pending_seen) pending;
    struct roles_detail *roles; /* NULL: the kernel has neither roles nor mbarriers */
    int role;                   /* the one that is compiled now; 0: the block before its roles */
    int arrivals;               /* by which arrive() in it counts */
    bool one_thread;            /* in a body of one_thread */
    int seen_budget;            /* number of statements that surveys may still visit */
    VEC(struct cpu_slow_path) slow;
};

/* Most nodes that unrolling makes of one loop, and of all loops. */
enum { MOST_UNROLLED_LOOP = 1024, MOST_UNROLLED = 8192 };

/* Compiles e and returns its value. If `into` is given and usable (the result then has the shape
 * and type of e), the value is in *into; otherwise it may be anywhere, also in a variable.
 * Temporaries stay on the stack; the caller frees them. */
static inline struct value compile_expr(struct compiler *c, const struct expr *e,
                                        const struct value *into)
{
    return c->emit_expr(c, e, into);
}
/* Compiles statements in a scope of their own. */
static inline void compile_scope(struct compiler *c, const struct stmt *body)
{
    c->emit_scope(c, body);
}

/* Most bytes of one frame; a kernel with larger tiles is refused when it is compiled. */
#define MOST_FRAME_BYTES ((size_t)1 << 30)

/* --- compile_emit.c --- */

#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
void compile_error(struct compiler *c, const char *format, ...);
struct instr *compile_add_step(struct compiler *c, step_fn *step); /* valid until the next call */
void compile_label_place(struct compiler *c, struct label *l);
void compile_add_jump(struct compiler *c, step_fn *step, uint32_t condition, struct label *l);
/* Emits a jump to the end of the region, taken when none of its lanes run any more. */
void compile_add_leave_if_none(struct compiler *c);
/* Makes the slots of the kernel's symbols. */
void compile_slots_make(struct compiler *c);
struct slot *compile_slot_of(const struct compiler *c, const struct sym *s);

uint32_t compile_memory_new(struct compiler *c, size_t bytes);
struct value compile_value_new(struct compiler *c, enum dtype t, int rank, const int64_t *extent,
                               uint32_t lanes);
struct value compile_value_of_type(struct compiler *c, const struct type *t, uint32_t lanes);
struct value compile_value_constant(struct compiler *c, enum dtype t, struct literal v);
int64_t compile_value_elements(const struct value *v);
size_t compile_value_bytes(const struct value *v);
/* Computes row-major strides; `innermost`: elements from one to the next along the last axis. */
void compile_dense_strides(int rank, const int64_t *extent, int64_t innermost, int64_t *stride);
bool compile_value_same_shape(const struct value *a,
                              const struct value *b); /* also compares lanes */

/* --- compile_value.c --- */

/* Returns whether e has a value for each thread. */
bool compile_expr_varying(const struct compiler *c, const struct expr *e);
/* Compiles e like compile_expr; converts, broadcasts and spreads the value over lanes as *to
 * requires. The value is in *to if `to->at` is given. */
void compile_into(struct compiler *c, const struct expr *e, const struct value *to);
struct value compile_value_convert(struct compiler *c, struct value v, enum dtype t);
/* Does the same, with the value in *to. */
struct value compile_value_convert_into(struct compiler *c, struct value v, const struct value *to);
/* Returns the place for e's result: *into if that has e's shape, otherwise a new value. */
struct value compile_result_place(struct compiler *c, const struct expr *e,
                                  const struct value *into);
/* Emits dst = src, converted, broadcast and spread over lanes. */
void compile_value_transfer(struct compiler *c, const struct value *dst, const struct value *src);
/* Returns v in the shape, type and lanes of *like; returns v itself if it has them already. */
struct value compile_value_like(struct compiler *c, struct value v, const struct value *like);
/* Emits dst = src in the lanes where the current mask runs. */
void compile_value_assign(struct compiler *c, const struct value *dst, const struct value *src);
/* Emits an elementwise step. computed[i]: the type that operand i (0: the result) has in the
 * routine. */
void compile_add_elementwise(struct compiler *c, elementwise_fn *kernel, int operands,
                             const struct value *values, const enum dtype *computed);

/* An operation on each element: the routine, and the types that the result (0) and the operands
 * have in it. */
struct operation {
    elementwise_fn *kernel; /* NULL: that type has no routine */
    int operands;           /* the result counts, too */
    enum dtype types[MOST_OPERANDS];
};
/* Describes the operation of e. false: e is another kind of expression (or philox, or a cast). */
bool compile_describe_operation(const struct compiler *c, const struct expr *e,
                                struct operation *o);

/* --- compile_expr.c --- */

/* Compiles an expression by its op: compiler->emit_expr. */
struct value compile_expr_by_op(struct compiler *c, const struct expr *e, const struct value *into);

/* --- compile_chain.c --- */

/* Returns whether e is an elementwise operation on tiles that one step can execute together with
 * others. */
bool compile_is_chain(const struct compiler *c, const struct expr *e);
struct value compile_chain(struct compiler *c, const struct expr *e, const struct value *into);
/* Returns whether `target = value` may be a chain that ends in memory, or a row that can be
 * stored in the same way. */
bool compile_store_takes_chain(const struct compiler *c, const struct expr *target,
                               const struct expr *value);
/* Compiles a store that compile_store_takes_chain accepts. false: the chain is too large for one step;
 * nothing was emitted. */
bool compile_chain_store(struct compiler *c, const struct expr *target, const struct expr *value);
/* Returns whether e is a reduction of the rows of a chain. */
bool compile_reduce_takes_chain(const struct compiler *c, const struct expr *e);
struct chain_reduction {
    reduce_fn *reduce;
    reduce_add_fn *add;
    reduce_end_fn *end;
};
/* Compiles a reduction of a chain. true: *to, which is dense and has the computed type, gets the
 * result. false: the chain was compiled to *x, which is still to be reduced. */
bool compile_chain_reduce(struct compiler *c, const struct expr *e, const struct chain_reduction *r,
                          const struct value *to, struct value *x);

/* --- compile_known.c --- */

/* Returns whether e has no effect and no fault, so that it may be computed where its value is
 * not needed. */
bool compile_expr_harmless(const struct compiler *c, const struct expr *e);
/* Returns whether e divides integers by a divisor that may be 0. */
bool compile_needs_divisor_check(const struct compiler *c, const struct expr *e);
/* Returns whether e is a constant, and stores it in *out. A counter of a loop that is being
 * unrolled is one. */
bool compile_expr_constant(const struct compiler *c, const struct expr *e, struct literal *out);
/* Stores the value of e in *out if no step is needed for it: e is a constant, or an expression
 * plus the constant 0. */
bool compile_known(struct compiler *c, const struct expr *e, struct value *out);
/* Returns whether the integer scalar e is affine: its value in the first lane, plus step[i] for
 * each step along thread axis i. Sums wrap as i32. */
bool compile_expr_affine(const struct compiler *c, const struct expr *e, int64_t *step);
/* Returns n if e is thread.x / n or thread.x % n, also when written as a shift or a mask; 0: e
 * is another expression. */
int64_t compile_thread_divisor(const struct compiler *c, const struct expr *e);
/* Compiles the value that an affine expression has in the first lane; the result is uniform. */
struct value compile_first_lane(struct compiler *c, const struct expr *e);
/* Notes whether the variable declared by s is affine. */
void compile_note_affine(struct compiler *c, const struct stmt *s);
/* Returns the number of turns of a loop that may be unrolled and whose counter is known at each
 * turn; *nodes: the nodes that unrolling makes. 0: the loop is not such a loop. */
int64_t compile_loop_known_turns(struct compiler *c, const struct stmt *s, size_t *nodes);
/* Sets the known counter to its first value (compile_counter_start) or to its next one (compile_counter_step). */
void compile_counter_start(struct compiler *c, const struct stmt *s);
void compile_counter_step(struct compiler *c, const struct stmt *s);

/* --- compile_mask.c --- */

uint32_t compile_mask_new(struct compiler *c);
/* Emits a mask: dst = the lanes of `mask` where the condition holds (step_mask_and) or does not
 * hold. */
void compile_add_mask(struct compiler *c, step_fn *step, uint32_t dst, uint32_t mask,
                      uint32_t condition);

/* Emits two masks: *yes, the lanes of the current mask where a varying condition holds, and *no
 * (NULL: not wanted), the lanes where it does not. */
void compile_masks(struct compiler *c, const struct expr *condition, uint32_t *yes, uint32_t *no);

/* --- compile_product.c --- */

/* Emits one step for a nest of loops that only sums products, if s is such a nest. At run time
 * the step either does all the work and jumps to `end`, or continues with the plain loops, which
 * are emitted after it. false: s is not such a nest. */
bool compile_products(struct compiler *c, const struct stmt *s, struct label *end);

/* --- compile_shape.c --- */
struct value compile_reduce(struct compiler *c, const struct expr *e, const struct value *into);
struct value compile_shape(struct compiler *c, const struct expr *e, const struct value *into);

/* --- compile_access.c --- */

/* Describes the access e: an ACCESS, or a REF to a whole tile. Its index values stay on the
 * stack. */
struct access *compile_access_new(struct compiler *c, const struct expr *e);
/* Notes a varying access whose lanes lie at even steps. A store into a per-thread array is
 * excluded: the value may be another part of the same array, and the two could overlap. */
bool compile_note_strided(struct compiler *c, struct access *a, bool store);
/* Returns whether `a` loads a row of a view of which other blocks load other rows. */
bool compile_loads_row(const struct compiler *c, const struct access *a);
/* Registers the access as one of a row of a view that may be dense at run time: struct
 * exec_row_place. */
void compile_note_row_access(struct compiler *c, struct access *a);
/* Returns a new row prefetch, so that the rows of the next block are fetched while this block
 * computes; NO_SLOT: there are too many. */
uint32_t compile_row_prefetch_new(struct compiler *c);

/* Emits the load of a row that is still in its view (compile_row.c) into its own memory, for code
 * that needs the elements in the frame. */
void compile_row_load(struct compiler *c, const struct sym *s);

/* --- compile_memory.c --- */

struct value compile_load(struct compiler *c, const struct expr *e, const struct value *into);
/* Emits the load *to = e in the lanes that run under `mask`; the other lanes keep their values,
 * or get the one value *rest. false: e is not a load that this step supports. */
bool compile_load_masked(struct compiler *c, const struct expr *e, uint32_t mask,
                         const struct value *to, const struct value *rest);
void compile_store(struct compiler *c, const struct expr *target, const struct expr *value);
void compile_async(struct compiler *c, const struct stmt *s);
struct value compile_atomic(struct compiler *c, const struct expr *e, bool wanted);
void compile_lock(struct compiler *c, const struct expr *e);
/* Emits the poisoning of a shared tile. whole: a REF to it. */
void compile_shared_poison(struct compiler *c, const struct expr *whole);
/* Stores in *out the value of a part of an array at a constant place, without a copy. */
bool compile_access_alias(struct compiler *c, const struct expr *e, struct value *out);

/* --- compile_row.c --- */

/* Compiles the declaration of a register tile as a row of a view; the elements stay in the view
 * until the tile is assigned. false: s is another declaration. */
bool compile_shown_row(struct compiler *c, const struct stmt *s, const struct value *v);
/* Returns the slot (its value and shown_at) of such a row: of the variable that e names, if its
 * elements are in a view now; or of a row of a read-only view, whose address the emitted code
 * looks up here. Otherwise NULL. */
const struct slot *compile_row_as_shown(struct compiler *c, const struct expr *e);
/* Lets the last step, which computed the tile *v that s declares or assigns, also compute the sum
 * that s->row names, if the step maps one row and the set has a routine for both. */
void compile_row_map(struct compiler *c, const struct stmt *s, const struct value *v);
/* Returns the sum e that a step has computed with its row; NULL: none has. */
const struct value *compile_row_sum(const struct compiler *c, const struct expr *e);

/* --- compile_packed.c --- */

/* Decides which tiles are packed, before anything is compiled, and lays out their memory. */
void packed_survey(struct compiler *c);
/* Returns how the kernel uses the tile; e: as dot_tile returns it. NULL: e names no whole tile. */
const struct packed_use *packed_use_of(const struct compiler *c, const struct expr *e);
/* Returns whether products with this operand can read it packed, by its type. */
bool packed_takes_type(const struct compiler *c, const struct expr *dot, const struct expr *tile);
/* Returns the tile that e names, whole or in part, if it is packed; else NULL. */
const struct packed_tile *packed_tile_of(const struct compiler *c, const struct expr *e);
/* Decides how a packed tile is laid out that is the right operand of a product of m rows. The
 * product is compiled before the tile's fill runs. */
void packed_for_product(struct compiler *c, const struct expr *right, size_t m);
/* How a product, of rank 2, adds steps of k (packed.h): `group` of them at a time, by `routine` if
 * that is not NULL, of operands of type `to`, with the top bits of the right operand's bytes flipped
 * (dot_int8.c). */
struct dot_grouping {
    int group;
    dot_fn *routine;
    enum dtype to;
    bool flipped;
};
/* Returns what the product multiplies, without the transposition and without casts of 8-bit
 * integers that keep their values. */
const struct expr *dot_tile(const struct expr *dot, int index);
struct dot_grouping dot_grouping(const struct compiler *c, const struct expr *dot);
/* Returns whether all left operands move with block.x alone, and all right operands with block.y
 * alone. Blocks along y then read the same left operand, and the second-level cache keeps it for
 * them. That pays because the left operand's rows may be far apart, while the right operand's
 * panels are contiguous in memory. */
bool packed_by_columns(const struct compiler *c);
/* Describes the fill of a packed tile; index values stay on the stack. */
struct packed_fill *packed_fill_new(struct compiler *c, const struct expr *target,
                                    const struct expr *value);
/* Compile `target = value`, and a declaration. false: the target is not a packed tile. */
bool compile_packed_fill(struct compiler *c, const struct expr *target, const struct expr *value);
bool compile_packed_decl(struct compiler *c, const struct stmt *s);

/* --- compile_dot.c --- */

struct value compile_dot(struct compiler *c, const struct expr *e, const struct value *into);
/* Returns whether the loop may defer the product of s: its body has sum = dot(tile, tile, sum) once
 * or several times, in one form, and nothing else in the loop names the sum. */
bool compile_may_defer(const struct compiler *c, const struct stmt *loop, const struct stmt *s);
/* Returns whether s is such a statement of the innermost loop, which defers its products. */
bool compile_deferral_takes(const struct compiler *c, const struct stmt *s);
/* Begin and end a loop whose product may be deferred. */
void compile_deferral_begin(struct compiler *c, const struct stmt *loop, struct deferral *d);
void compile_deferral_end(struct compiler *c, struct deferral *d);
/* Returns whether the declaration of the sum v need not set it to 0: a loop that defers its
 * products follows, and no statement before it names the sum. */
bool compile_sum_begins(struct compiler *c, const struct stmt *s, const struct value *v);
/* Compiles the store of a sum whose last product may be deferred; false: it is another store. */
bool compile_sum_store(struct compiler *c, const struct expr *target);
/* Emits the setting of the loop's sum to 0 that compile_sum_begins left out, because its products will
 * not be deferred. */
void compile_sum_settle(struct compiler *c, const struct stmt *loop);
/* Returns the next statement of the list that names the symbol. */
const struct stmt *compile_next_mention(const struct stmt *s, const struct sym *sym);

/* --- compile_seen.c --- */

/* Finds which part of the tile that s declares is seen, if a product is added to it. */
void compile_seen_survey(struct compiler *c, const struct stmt *s);
/* Emits, before statement s, the indices of stores that must be known by then. Called before
 * each statement. */
void compile_seen_place(struct compiler *c, const struct stmt *s);

/* --- compile_slow.c: the reasons for which the fastest way is not taken --- */

/* Notes a reason, once for each place. */
void compile_note_slow(struct compiler *c, enum cpu_slow slow, struct loc loc, struct loc cause,
                       const char *name);
/* Notes why operands of products are not packed, after packed_survey. */
void compile_slow_operands(struct compiler *c);
/* Notes reasons that are known when the whole program is compiled, and gives it all reasons. */
void compile_slow_program(struct compiler *c);
/* Returns whether the body of the loop adds a product to a variable, so that compile_products
 * should take it. */
bool compile_slow_is_sum_of_products(const struct stmt *loop);

/* --- compile_sizes.c --- */

/* Notes the texts of extents and grid that their source does not give (struct size_text). */
void compile_sizes(struct compiler *c);

/* --- compile_role.c --- */

/* Prepares a kernel with roles, before its statements are compiled. */
void compile_roles_open(struct compiler *c);
void compile_mbarrier(struct compiler *c, const struct sym *s);
/* Compiles wait, expect or arrive. */
void compile_phase(struct compiler *c, const struct expr *e);
/* Describes one mbarrier; its index stays on the stack. */
struct mbarrier_detail *compile_mbarrier_new(struct compiler *c, const struct expr *e,
                                             const struct expr *value); /* value: an i32, or NULL */
void compile_role(struct compiler *c, const struct stmt *s);
void compile_one_thread(struct compiler *c, const struct stmt *s);

/* --- compile_stmt.c --- */
void compile_body(struct compiler *c);

#endif
