/* Tile IR to program: what the compile_*.c files share. */
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

/* A place to jump to, known or not yet. */
struct label {
    bool placed;
    uint32_t pc;
    VEC(uint32_t) uses; /* jumps to patch */
};

/* Whether, and how, a tile is packed (compile_packed.c). */
struct packed_use {
    bool used, refused;
    struct packed_form form;
    struct packed_tile *tile; /* NULL: it is not */
};

/* Statements that run under one mask; when no lane runs any more they are skipped to `end`. */
struct region {
    uint32_t mask;
    struct label *end;
    struct region *outer;
};

struct loop {
    struct loop *outer;
    bool masked;                   /* lanes leave it one by one */
    uint32_t loop_mask, body_mask; /* still in the loop; not yet done with this turn */
    struct label *next, *end;
    struct scope *scope; /* around the body */
};

/* A scope, for what must not be left with copies under way. */
struct scope {
    struct scope *outer;
    VEC(const struct sym *) tiles; /* declared here and filled by async copies */
};

struct slot {
    const struct sym *sym;
    struct value value; /* of what lives in the frame, once declared */
    int view;           /* ST_VIEW */
    uint32_t shared_at; /* ST_SHARED */
    bool async;         /* ST_SHARED: some copy goes there */
    uint32_t mask;      /* under which it was declared */
    bool assigned;      /* after its declaration, too */
    bool touched;       /* a global array: some block reads, writes or changes it, */
    enum op touch;      /* ACCESS or by this atomic, the latest one seen */
    struct packed_use packed;
    bool is_shown;                /* ST_REG, one row: it may lie in a view yet (compile_row.c), */
    uint32_t shown_at;            /* at the address that the frame has here */
    bool gets_dot;                /* ST_REG: some product goes there */
    const struct tile_seen *seen; /* how much is needed of them; NULL: all */
    unsigned block_axes;          /* a scalar: of the grid, that its value depends on */
    /* What compile_known.c found. */
    bool is_known; /* the counter of a loop that is being unrolled */
    struct literal known;
    bool is_thread;   /* declared as thread.x */
    int block_axis;   /* declared as block.x: 1, .y: 2, .z: 3, or 0; */
    int64_t split_by; /* made from what thread.x is divided by: this; 0: not so */
    bool affine;      /* a varying i32 that is affine in the thread's index: */
    int64_t step[3];
    bool first_is_known; /* its value in the first lane */
    struct literal first;
};

/* A loop whose products are deferred until they are deep enough. */
struct deferral {
    struct deferral *outer;
    const struct stmt *sum;          /* the assignment; NULL: none */
    uint32_t deferred;               /* struct dot_deferred */
    struct value value;              /* of it */
    const struct stmt *store;        /* behind the loop, which stores the sum; NULL: none */
    const struct dot_detail *detail; /* once compiled */
};

/* Statements that compile_seen.c looks at in all: what is large is compiled in good time, and
 * computes all of its tiles. */
enum { MOST_SURVEYED = 1 << 16 };
/* How much of a tile is seen (compile_seen.c), up to where the indices are computed. */
struct pending_seen {
    const struct stmt *from; /* in front of this */
    const struct sym *tile;
    int count;
    const struct expr *target[MOST_SEEN];
};

/* The key of a constant: the bytes of this. */
struct constant {
    uint64_t bits, dtype;
};

struct compiler {
    struct arena *arena;
    const struct kernel *kernel;
    const struct routine_set *set;
    struct cpu_program *program;
    const char *why; /* the first thing that cannot be compiled */
    VEC(struct instr) code;
    uint32_t labelled; /* the latest place where a jump may go to */
    struct loc loc;    /* of instructions made now */
    uint32_t lanes;
    uint32_t top, high; /* the frame's memory is a stack of values */
    uint32_t mask;      /* under which statements are compiled now */
    struct region *region;
    struct loop *loop;
    struct scope *scope;
    struct slot *slots; /* sorted by sym */
    size_t slot_count;
    unsigned char *image;
    struct number_map *varying;  /* by expression of two operands: what expr_varying found */
    struct name_table constants; /* by struct constant; number: where in the image */
    uint32_t constants_end, thread_at[3];
    int64_t split; /* thread.x of blocks of one axis is taken apart by this; 0: it is not */
    uint32_t async_buffer;
    bool plain;        /* no short cuts */
    bool first_lane;   /* what is compiled now is the value in the first lane, uniform */
    int unrolling;     /* loops around */
    size_t unrolled;   /* nodes made by unrolling so far */
    bool has_unrolled; /* the kernel asks for it somewhere */
    bool seldom;       /* what is compiled now seldom runs: it should be short */
    VEC(struct strided) strided;
    VEC(const struct access *) rows;       /* struct cpu_program's */
    VEC(struct strip_detail *) row_chains; /* of step_row */
    VEC(const struct lane_product *) products;
    VEC(struct packed_plan) packed;
    int unchained;             /* > 0: elementwise operations are a step each */
    struct deferral *deferral; /* the innermost loop's */
    struct {
        const struct stmt *loop; /* its sum is not set to 0, but begins with its first product */
        struct value sum;
        uint32_t deferred;        /* struct dot_deferred: it outlives the loop, */
        const struct stmt *store; /* for this one */
    } fresh;
    struct deferral complete;         /* a loop just compiled, whose sum is still to be stored */
    bool defers_dot;                  /* what is compiled now is its product */
    const struct tile_seen *dot_seen; /* of the tile that it is added to; NULL: to none */
    const struct stmt *list;          /* of the statement that is compiled now, the first one */
    VEC(struct pending_seen) pending;
    int seen_budget; /* statements that surveys may look at yet */
};

/* Unrolling stops at so many nodes of a loop, and of all loops. */
enum { MOST_UNROLLED_LOOP = 1024, MOST_UNROLLED = 8192 };

/* --- compile.c --- */

#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
void compile_error(struct compiler *c, const char *format, ...);
struct instr *emit_step(struct compiler *c, step_fn *step); /* valid until the next one */
void label_place(struct compiler *c, struct label *l);
void emit_jump(struct compiler *c, step_fn *step, uint32_t condition, struct label *l);
/* Jumps to the end of the region when none of its lanes run any more. */
void emit_leave_if_none(struct compiler *c);
struct slot *slot_of(const struct compiler *c, const struct sym *s);

uint32_t memory_new(struct compiler *c, size_t bytes);
struct value value_new(struct compiler *c, enum dtype t, int rank, const int64_t *extent,
                       uint32_t lanes);
struct value value_of_type(struct compiler *c, const struct type *t, uint32_t lanes);
struct value value_constant(struct compiler *c, enum dtype t, struct literal v);
int64_t value_elements(const struct value *v);
size_t value_bytes(const struct value *v);
/* Row-major: `innermost` elements from one to the next along the last axis. */
void dense_strides(int rank, const int64_t *extent, int64_t innermost, int64_t *stride);
bool value_same_shape(const struct value *a, const struct value *b); /* lanes too */

/* --- compile_expr.c --- */

/* Whether it has a value for each thread. */
bool expr_varying(const struct compiler *c, const struct expr *e);
/* The value of e. It lies in *into if that was given and could be used (then its shape and type are
 * those of e), or wherever it is already. Temporaries stay on the stack: the caller gives them
 * back. */
struct value compile_expr(struct compiler *c, const struct expr *e, const struct value *into);
/* The same, converted, broadcast and spread over lanes as *to says; lies in *to when `to->at` is
 * given. */
void compile_into(struct compiler *c, const struct expr *e, const struct value *to);
struct value value_convert(struct compiler *c, struct value v, enum dtype t);
/* Where e's result goes: into *into if it has that shape, else new. */
struct value result_place(struct compiler *c, const struct expr *e, const struct value *into);
/* dst = src: converted, broadcast, spread. */
void value_transfer(struct compiler *c, const struct value *dst, const struct value *src);
/* v in the shape, type and lanes of *like; v itself if it has them. */
struct value value_like(struct compiler *c, struct value v, const struct value *like);
/* dst = src where the current mask runs. */
void value_assign(struct compiler *c, const struct value *dst, const struct value *src);
/* An elementwise step. computed[i]: the type operand i (0: the result) has in the routine. */
void emit_elementwise(struct compiler *c, elementwise_fn *kernel, int operands,
                      const struct value *values, const enum dtype *computed);
uint32_t mask_new(struct compiler *c);
/* dst = the lanes of `mask` where the condition holds (step_mask_and), or does not. */
void emit_mask(struct compiler *c, step_fn *step, uint32_t dst, uint32_t mask, uint32_t condition);

/* Has e no effect and no fault, so that it may be computed where it is not needed? */
bool expr_harmless(const struct compiler *c, const struct expr *e);

/* An operation on each element: the routine, and the types that the result (0) and the operands
 * have in it. */
struct operation {
    elementwise_fn *kernel; /* NULL: there is none for that type */
    int operands;           /* with the result */
    enum dtype types[MOST_OPERANDS];
};
/* false: e is something else (or philox, or a cast). */
bool describe_operation(const struct compiler *c, const struct expr *e, struct operation *o);
/* Is it a division of integers by what may be 0? */
bool needs_divisor_check(const struct compiler *c, const struct expr *e);

/* --- compile_chain.c --- */

/* Is e an elementwise operation on tiles that one step can do together with others? */
bool is_chain(const struct compiler *c, const struct expr *e);
struct value compile_chain(struct compiler *c, const struct expr *e, const struct value *into);
/* May `target = value` be a chain that ends in memory, or a row that is stored as one is? */
bool store_takes_chain(const struct compiler *c, const struct expr *target,
                       const struct expr *value);
/* false: it is too much for one step; nothing was made. */
bool compile_chain_store(struct compiler *c, const struct expr *target, const struct expr *value);
/* Is e a reduction of the rows of a chain? */
bool reduce_takes_chain(const struct compiler *c, const struct expr *e);
struct chain_reduction {
    reduce_fn *reduce;
    reduce_add_fn *add;
    reduce_end_fn *end;
};
/* true: *to, dense and of the type computed in, gets the result. false: *x is what is to be
 * reduced. */
bool compile_chain_reduce(struct compiler *c, const struct expr *e, const struct chain_reduction *r,
                          const struct value *to, struct value *x);

/* --- compile_known.c --- */

/* Is this a constant, and which? Counters of loops that are being unrolled are. */
bool expr_constant(const struct compiler *c, const struct expr *e, struct literal *out);
/* The value if nothing has to be computed for it: a constant, or something plus a constant 0. */
bool compile_known(struct compiler *c, const struct expr *e, struct value *out);
/* Is e, an integer scalar, its value in the first lane and step[i] more for each step along thread
 * axis i? Sums wrap as i32. */
bool expr_affine(const struct compiler *c, const struct expr *e, int64_t *step);
/* Is it thread.x, or a variable that is declared as that (and may be assigned to)? */
bool expr_is_thread(const struct compiler *c, const struct expr *e);
/* thread.x / n and thread.x % n, also as shift and mask: by which n; 0: something else. */
int64_t thread_divisor(const struct compiler *c, const struct expr *e);
/* The value in the first lane, uniform, of an expression that is affine. */
struct value compile_first_lane(struct compiler *c, const struct expr *e);
/* Notes whether the variable declared by s is affine. */
void note_affine(struct compiler *c, const struct stmt *s);
/* How often a loop turns whose counter is known at each turn, and that may be unrolled, into
 * *nodes of them; 0: not so. */
int64_t loop_known_turns(struct compiler *c, const struct stmt *s, size_t *nodes);
/* Sets the counter as the loop's init or step does. */
void counter_start(struct compiler *c, const struct stmt *s);
void counter_step(struct compiler *c, const struct stmt *s);

/* --- compile_mask.c --- */

/* The lanes of the current mask where a varying condition holds, and (no: not NULL) where it does
 * not. */
void compile_masks(struct compiler *c, const struct expr *condition, uint32_t *yes, uint32_t *no);

/* --- compile_product.c --- */

/* Emits a step for a nest of loops that does nothing but sum products, if s is one. It jumps to
 * `end` when it has done them; else the loops, which follow, do. false: it is none. */
bool compile_products(struct compiler *c, const struct stmt *s, struct label *end);

/* --- compile_shape.c --- */
struct value compile_reduce(struct compiler *c, const struct expr *e, const struct value *into);
struct value compile_shape(struct compiler *c, const struct expr *e, const struct value *into);

/* --- compile_access.c --- */

/* The access of e, an ACCESS or a REF to all of a tile; its index values stay on the stack. */
struct access *access_new(struct compiler *c, const struct expr *e);
struct value compile_load(struct compiler *c, const struct expr *e, const struct value *into);
/* *to = e, a load, in the lanes that run under `mask`; the others keep what they have, or get
 * *rest, one value. false: not a load that this is for. */
bool compile_load_masked(struct compiler *c, const struct expr *e, uint32_t mask,
                         const struct value *to, const struct value *rest);
void compile_store(struct compiler *c, const struct expr *target, const struct expr *value);
void compile_async(struct compiler *c, const struct stmt *s);
struct value compile_atomic(struct compiler *c, const struct expr *e, bool wanted);
void compile_lock(struct compiler *c, const struct expr *e);
/* whole: a REF to a shared tile. */
void compile_shared_poison(struct compiler *c, const struct expr *whole);
/* A part of an array at a constant place: the value there. */
bool access_alias(struct compiler *c, const struct expr *e, struct value *out);

/* A row of a view, which other blocks load other rows of. */
bool loads_row(const struct compiler *c, const struct access *a);
/* The access is of a row that lies in a view, or may lie so: struct row_place. */
void note_row_access(struct compiler *c, struct access *a);
/* So that other blocks' rows are fetched while one is computed; NO_SLOT: there are too many. */
uint32_t row_prefetch_new(struct compiler *c);

/* --- compile_row.c --- */

/* The declaration of a register tile as a row of a view, which stays there until it is assigned to.
 * false: s is another one. */
bool compile_shown_row(struct compiler *c, const struct stmt *s, const struct value *v);
/* The variable that e names, if it is such a row now, or a row of a view that nobody writes, which
 * is looked up here: its value and shown_at. Else NULL. */
const struct slot *shown_row(struct compiler *c, const struct expr *e);
/* Loads it after all, for those who do not know where it lies. */
void compile_row_load(struct compiler *c, const struct sym *s);

/* --- compile_packed.c --- */

/* Decides which tiles are packed, before anything is compiled, and lays their memory. */
void packed_survey(struct compiler *c);
/* The tile that e names, a part of it or all, if it is packed; else NULL. */
const struct packed_tile *packed_tile_of(const struct compiler *c, const struct expr *e);
/* Decides how that tile is packed, if it is: the right operand of a product of m rows, which is
 * compiled before its fill runs. */
void packed_for_product(struct compiler *c, const struct expr *right, size_t m);
/* Whether the product, of rank 2, adds pairs of steps of k (packed.h). */
bool dot_pairs(const struct expr *dot);
/* Do all left operands move with block.x alone, and all right ones with block.y? Then blocks along
 * y read the same left operand, which the second cache keeps for them, since its rows may be far
 * apart; the right one's panels follow on in memory. */
bool packed_by_columns(const struct compiler *c);
/* The fill of a packed tile; index values stay on the stack. */
struct packed_fill *packed_fill_new(struct compiler *c, const struct expr *target,
                                    const struct expr *value);
/* target = value; the declaration. false: the target is no packed tile. */
bool compile_packed_fill(struct compiler *c, const struct expr *target, const struct expr *value);
bool compile_packed_decl(struct compiler *c, const struct stmt *s);

/* --- compile_dot.c --- */

struct value compile_dot(struct compiler *c, const struct expr *e, const struct value *into);
/* Around a loop: its product may be deferred. */
void deferral_begin(struct compiler *c, const struct stmt *loop, struct deferral *d);
void deferral_end(struct compiler *c, struct deferral *d);
/* Need the declaration of a sum, v, not set it to 0, since a loop that defers its products follows,
 * before which nothing names it? */
bool sum_begins(struct compiler *c, const struct stmt *s, const struct value *v);
/* The store of a sum whose last product may be deferred; false: it is another one. */
bool compile_sum_store(struct compiler *c, const struct expr *target);
/* Sets the loop's sum to 0 after all: its products will not be deferred. */
void sum_settle(struct compiler *c, const struct stmt *loop);
/* The statement of the list that names the symbol next. */
const struct stmt *next_mention(const struct stmt *s, const struct sym *sym);

/* --- compile_seen.c --- */

/* Finds out how much of the tile that s declares is seen, from a product that is added to it. */
void seen_survey(struct compiler *c, const struct stmt *s);
/* In front of each statement: computes the indices that are to be known by then. */
void seen_place(struct compiler *c, const struct stmt *s);

/* --- compile_stmt.c --- */
void compile_body(struct compiler *c);

#endif
