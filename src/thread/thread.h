/* Thread IR: what one thread of a kernel does.
 *
 * A function is a tree of operations in static single assignment: an operation defines values, which the operations after it in
 * its region, and in their regions, may use. Control is structured: `if`, `loop` and `roles` have regions; a loop's region has
 * arguments, whose first values are operands of the loop and whose next ones are operands of `continue`; `loop unroll 4` asks
 * the passes to combine four iterations into one. `break` and `break_if` leave the innermost loop and give its results. `yield`
 * ends a region of an `if` and gives its results; a region without results may end without it.
 *
 * A value is an element of the language's types, or a group of them, which a target packs into 32-bit words. Registers that an
 * operation under way reads or writes are seen in the types: `product` returns a group in flight, which only further products,
 * product_commit and product_wait take, each as its last use. So such a group keeps one set of registers from its first product
 * to its wait, also over loops. A group is committed before it is waited for or passed, and a group whose products read factors
 * in registers is not passed.
 *
 * The text (thread_print, thread_parse):
 *
 *     kernel scale(map %out, u32 %n multiple 8) threads 128 target sm_90a {
 *         table f32 levels = 0.0, 0.5, 1.0
 *         local i32 seen[1000]
 *         shared bf16 tile[8192] at 0
 *         mbarrier full[2] at 16384
 *         %thread = tid_x
 *         %first = eq.u32 %thread, 0
 *         if %first {
 *             mbarrier_init full[0], 1
 *         }
 *         %sum = loop (%i: u32 = 0, %s: u32 = %n) {
 *             %done = ge.u32 %i, 4
 *             break_if %done, %s
 *             %j = add.u32 %i, 1
 *             continue %j, %s
 *         }
 *     }
 *
 * Elements of shared arrays are written tile[%i + 8], in elements; only a target makes addresses. */
#ifndef TW_THREAD_H
#define TW_THREAD_H

#include "base/diag.h"
#include "base/dtype.h"
#include "ptx/ptx.h"

enum thread_opcode {
#define THREAD_OP(name, text, types, results, operands, effects) THREAD_##name,
#include "thread/thread_ops.def"
#undef THREAD_OP
    THREAD_OPS
};

enum { THREAD_TYPES = 3 };
enum thread_effects { THREAD_PURE, THREAD_READS, THREAD_WRITES, THREAD_SYNC, THREAD_CONTROL };

struct thread_op_info {
    const char *text;
    int types; /* element types after the name, 0 to THREAD_TYPES */
    const char *results, *operands;
    enum thread_effects effects;
};
extern const struct thread_op_info thread_op_table[THREAD_OPS];

/* --- values --- */

struct thread_type {
    enum dtype dtype; /* DT_NONE: a tensor map */
    uint16_t count;   /* elements; 1: a scalar */
    bool in_flight;
};

static inline bool thread_same_type(struct thread_type a, struct thread_type b)
{
    return a.dtype == b.dtype && a.count == b.count && a.in_flight == b.in_flight;
}

struct thread_value {
    const char *name; /* without its %; NULL: its number is its name */
    struct thread_type type;
    struct loc where;
    uint32_t number;  /* of the function's values */
    uint32_t divisor; /* of a parameter: a number that divides it; 0: none is stated */
    /* A variable of the program holds this i32. An index takes it as it is, not as the sum that it was, if it wraps. */
    bool wraps;  /* the sum may have left the type */
    bool leaves; /* the same, also where it left it for a number that is the index of no element */
};

/* --- memory --- */

struct thread_operand;

/* An array in shared memory; DT_NONE: of mbarriers, 8 bytes each. Or a table in global memory, or a local array, which each
 * thread has for itself. */
struct thread_object {
    const char *name;
    enum dtype dtype;
    uint32_t count, at; /* elements; byte at which it begins */
    struct loc where;
    const struct thread_operand *values; /* of a table: constants; NULL: it is none */
    bool is_local;
    bool overlays; /* it may lie on arrays before it, which are not in use at the same time */
};
static inline uint32_t thread_element_bytes(const struct thread_object *o)
{
    return o->dtype == DT_NONE ? 8 : (uint32_t)dtype_size(o->dtype);
}
static inline int64_t thread_object_end(const struct thread_object *o)
{
    return o->at + (int64_t)o->count * thread_element_bytes(o);
}
/* Returns whether two arrays of shared memory have bytes in common. */
static inline bool thread_objects_overlap(const struct thread_object *a,
                                          const struct thread_object *b)
{
    return a->at < thread_object_end(b) && b->at < thread_object_end(a);
}

/* --- operations --- */

enum thread_operand_kind {
    THREAD_VALUE,
    THREAD_INTEGER,
    THREAD_FLOAT,
    THREAD_ELEMENT,
    THREAD_TEXT
};

struct thread_operand {
    uint8_t kind;               /* enum thread_operand_kind */
    uint8_t length;             /* in the text; 0: it is from no text */
    uint32_t offset;            /* in the text, which has the operation, too */
    struct thread_value *value; /* element: its index; NULL: 0 */
    union {
        int64_t integer; /* element: added to the index */
        double real;
        const char *text;
    };
    const struct thread_object *object; /* element */
};

/* Returns where an operand of an operation is. */
static inline struct loc thread_place_of(const struct thread_operand *o, struct loc operation)
{
    return o->length ? (struct loc){operation.source, o->offset, o->length} : operation;
}

/* A loop of the program, in one place of the code: in each copy of a loop's body, the loops within are others. */
struct thread_turn;
struct thread_source_loop {
    const void *loop;                /* the program's statement */
    const struct thread_turn *outer; /* that the loop is in */
};
/* A copy of a loop's body, for traces. */
struct thread_turn {
    const struct thread_source_loop *in; /* NULL: outside of all loops */
    int copy; /* iterations since the iteration of the code began; -1: in the loop, in no copy of its body */
};

extern const struct thread_turn thread_outside; /* of all loops. thread_build.c */

/* The values that hold a variable of the program, for traces and `show`. */
struct thread_holder {
    const void *of; /* the program's symbol */
    VEC(struct thread_value *) values;
    VEC(const char *) registers; /* named by src/nvptx; none: a pass dropped a value */
};

struct thread_operation;

struct thread_region {
    VEC(struct thread_value *) arguments;
    VEC(struct thread_operation *) operations;
    /* of `roles`: */
    uint32_t first_warp, warps;
    uint32_t registers; /* of each thread from here on; 0: as launched */
};

struct thread_operation {
    enum thread_opcode op;
    enum dtype types[THREAD_TYPES];
    struct loc where;
    VEC(struct thread_operand) operands;
    VEC(struct thread_value *) results;
    VEC(struct thread_region *) regions;
    uint32_t unroll; /* of a loop: iterations that are to become one; 0: not stated */
    /* where it is among the program's loops; of a loop that is one of the program: copy -1 of it. NULL: where the operation
     * before it is */
    const struct thread_turn *turn;
};

struct thread_function {
    const char *name;
    struct ptx_target target;
    uint32_t cluster[3];      /* blocks of a cluster along x, y, z; {0}: no clusters */
    uint32_t threads, blocks; /* of a block; of a multiprocessor, at least; 0: not stated */
    uint32_t shape[3];        /* threads along x, y and z; {0}: all along x */
    VEC(struct thread_value *) parameters;
    VEC(struct thread_object *) objects, tables, locals;
    struct thread_region *body;
    VEC(struct thread_holder *) holders;
    uint32_t values; /* number of all values */
    bool lines;      /* the places of operations are lines of a program, for its PTX */
    struct loc where;
};

/* Returns whether the text has the number of the result's elements. */
static inline bool thread_states_count(enum thread_opcode op)
{
    return op == THREAD_UNDEFINED || op == THREAD_LOAD || op == THREAD_LOAD_CONST ||
           op == THREAD_LOAD_SHARED || op == THREAD_LOAD_LOCAL || op == THREAD_LOAD_MATRIX;
}

static inline bool thread_is_atomic(enum thread_opcode op)
{
    return op >= THREAD_ATOMIC_ADD && op <= THREAD_ATOMIC_CAS;
}
static inline bool thread_is_comparison(enum thread_opcode op)
{
    return op >= THREAD_EQ && op <= THREAD_GE;
}
/* Returns whether the operation is about a row of text for the host. */
static inline bool thread_is_printing(enum thread_opcode op)
{
    return op >= THREAD_PRINT_ROW && op <= THREAD_CLAIM;
}
/* Returns whether the operation is an unconditional load or store of the block's own shared memory. */
static inline bool thread_is_shared_access(enum thread_opcode op)
{
    return op == THREAD_LOAD_SHARED || op == THREAD_STORE_SHARED;
}
/* Returns whether the operation is an unconditional load or store of an element at an address: of global or local memory. */
static inline bool thread_is_addressed(enum thread_opcode op)
{
    return op == THREAD_LOAD || op == THREAD_LOAD_CONST || op == THREAD_STORE ||
           op == THREAD_LOAD_LOCAL || op == THREAD_STORE_LOCAL;
}
/* Returns whether the operation is a load under a predicate, its first operand. */
static inline bool thread_is_guarded_load(enum thread_opcode op)
{
    return op == THREAD_LOAD_IF || op == THREAD_LOAD_SHARED_IF;
}
/* Returns whether the operation is a load or a store. */
static inline bool thread_is_access(enum thread_opcode op)
{
    const enum thread_effects e = thread_op_table[op].effects;
    return e == THREAD_READS || e == THREAD_WRITES;
}
/* Returns the type of the elements that a load or a store moves. thread_table.c */
struct thread_type thread_moved_type(const struct thread_operation *op);
/* Returns whether the operation computes an integer from its operands alone. thread_table.c */
bool thread_is_integer(const struct thread_operation *op);
/* Returns whether the operands have equal bits. thread_number.c */
bool thread_same_operand(const struct thread_operand *a, const struct thread_operand *b);
/* Returns whether the operations have equal opcodes, types and operands. thread_number.c */
bool thread_same_operation(const struct thread_operation *a, const struct thread_operation *b);
/* Returns a number that is the same for such operations. thread_number.c */
uint32_t thread_hash_operation(const struct thread_operation *op);

/* --- text, checks --- */

/* Reads a function. NULL: the text is wrong, and d has the errors. */
struct thread_function *thread_parse(struct arena *a, const struct source *source, struct diag *d);
/* Adds the function's text. It reads back as the same function, without its shape and the notes about its values that only
 * a program has (wraps). */
void thread_print(struct text *out, const struct thread_function *f);
void thread_type_print(struct text *out, struct thread_type type);
/* Checks the rules of this page and of thread_ops.def. Returns whether all hold; d gets the errors. */
bool thread_verify(struct arena *a, const struct thread_function *f, struct diag *d);

/* Returns the registers of a thread at the launch: the most that let the blocks be resident. */
uint32_t thread_launch_registers(const struct thread_function *f);
/* Checks the registers of the regions of a `roles` operation: together at most those of their threads at the
 * launch. Returns false, with an error in d, if they have more. */
bool thread_registers_fit(struct arena *a, const struct thread_function *f,
                          const struct thread_operation *roles, struct diag *d);

/* --- passes: each takes a verified function and leaves a verified one --- */

/* Runs all passes, in their order. */
void thread_optimise(struct arena *a, struct thread_function *f);

/* Computes each scalar once in the regions that its first computation dominates, also loads under a predicate from memory that
 * nothing writes; computes operations on constant integers, and drops those that change nothing, such as an addition of 0. An
 * argument of a loop that keeps the constant with which it begins is that constant. Drops computations of values that it knows
 * already. Breaks: operations may become unused. */
void thread_number(struct arena *a, struct thread_function *f);
/* Combines `unroll` iterations into one, in each loop that asks for it. */
void thread_unroll(struct arena *a, struct thread_function *f);
/* Returns the `continue` of a loop if there is one, as the last operation of its region; NULL: there is none, or there
 * are others. */
const struct thread_operation *thread_only_continue(const struct thread_operation *loop);
/* Moves scalars that do not change in a loop out of it. */
void thread_hoist(struct arena *a, struct thread_function *f);
/* Decides conditions that always hold, or never, by facts, and the branches and exits that they guard; reduces remainders. Leaves
 * comparisons of constants, which thread_number computes. thread_decide.c */
void thread_decide(struct arena *a, struct thread_function *f);
/* Moves operations on integers out of short branches. thread_lift.c */
void thread_lift(struct arena *a, struct thread_function *f);
/* Reaches elements of memory by stepped pointers and constant distances. Requires that invariant scalars were hoisted;
 * leaves scalars that thread_number and thread_drop_unused make fewer. thread_reach.c */
void thread_reach(struct arena *a, struct thread_function *f);
/* Fuses an integer product and an addition to it. Leaves products that thread_drop_unused drops. thread_fuse.c */
void thread_fuse(struct arena *a, struct thread_function *f);
/* Computes scalars that are joined to a group as groups, if that takes fewer instructions. Leaves scalars that thread_drop_unused
 * drops. thread_pack.c */
void thread_pack(struct arena *a, struct thread_function *f);
/* Drops loads of elements that an earlier load of the region has loaded, if nothing between them may write the element.
 * thread_reuse.c */
void thread_reuse(struct arena *a, struct thread_function *f);
/* Combines loads, and stores, of neighbouring elements: 8 or 16 bytes in one. thread_combine.c */
void thread_combine(struct arena *a, struct thread_function *f);
/* Computes integers again after loops of many registers, in place of keeping them. Leaves those that thread_drop_unused drops.
 * thread_rematerialise.c */
void thread_rematerialise(struct arena *a, struct thread_function *f);
/* Computes what only a loop needs after the test with which its first iteration begins. thread_enter.c */
void thread_enter(struct arena *a, struct thread_function *f);
/* Skips choices that all take their first operand by one branch. thread_skip.c */
void thread_skip(struct arena *a, struct thread_function *f);
/* Drops operations without effects whose results nothing needs, and what is passed to arguments of loops, and to results
 * of loops and branches, that nothing needs. thread_live.c */
void thread_drop_unused(struct arena *a, struct thread_function *f);

/* Adds product_fence before products whose registers other operations may have written since the last fence (PTX ISA,
 * wgmma.fence). Fences of the text stay. */
void thread_add_fences(struct arena *a, struct thread_function *f);

/* Returns the opcode of that name, THREAD_OPS if there is none. */
enum thread_opcode thread_opcode_of(const char *text, size_t length);

#endif
