/* Scalars at run time: a graph of values, hash-consed, so equal ones are one.
 *
 * A value is what a pure scalar expression means; making one emits nothing. It is emitted when
 * somebody asks for its operand, once, and as far out of the loops as its parts allow (the code
 * in front of the outermost loop around the place in which they are all the same). Integer sums
 * and products are kept as polynomials: p * n + (4 * p + 12), so constants end up in the
 * immediate offset of an address, what does not change in a loop is computed before it, and what
 * is linear in a loop's counter becomes a pointer that is stepped (strength reduction). "Value
 * numbering": Alpern, Wegman, Zadeck 1988; strength reduction of polynomials: Cocke & Kennedy
 * 1977.
 *
 * Arithmetic in i32 wraps. value_index widens to i64 as if no i32 operation in it had wrapped:
 * an index that overflows its type has no meaning (the launch diagnoses it where it can,
 * tile/overflow.c).
 *
 * A value has facts: a divisor and a range, as far as they are known.
 *
 * PTX registers by element type: f64 f32 f16 bf16 (.b16) i64 u64 (.b64) i32 u32 (.b32); i16 u16
 * i8 u8 in .b32, always sign- or zero-extended; bool a predicate.
 */
#ifndef TW_LOWER_VALUE_H
#define TW_LOWER_VALUE_H

#include "lower/lower_state.h"
#include "nvptx/nvptx_scalars.h"

void values_init(struct lower *l);

/* The PTX type of a register for an element type (MOD_F32, MOD_B16, MOD_PRED …), and the type
 * suffix of arithmetic on it (MOD_F32, MOD_F16, MOD_S32, MOD_U64 …; small integers: MOD_S32,
 * MOD_U32). */
static inline enum ptx_mod lower_register_type(enum dtype t)
{
    return nvptx_register_of(t);
}
static inline enum ptx_mod lower_type(enum dtype t)
{
    return nvptx_type_of(t);
}

/* --- making values --- */

const struct value *value_int(struct lower *l, enum dtype t, int64_t v);
const struct value *value_literal(struct lower *l, enum dtype t, struct literal v);
const struct value *value_add(struct lower *l, const struct value *a, const struct value *b);
const struct value *value_sub(struct lower *l, const struct value *a, const struct value *b);
const struct value *value_mul(struct lower *l, const struct value *a, const struct value *b);
/* a * factor + addend, in a's type. */
const struct value *value_affine(struct lower *l, const struct value *a, int64_t factor,
                                 int64_t addend);
/* Any pure elementwise op of ops.def on scalars, operands already of the types that the typed IR
 * gives them; `result`: the op's own. CAST and BITS too. Folds constants, knows identities (x &
 * 0, x / 1, x % 2^n of what is not negative …). */
const struct value *value_apply(struct lower *l, enum op op, enum dtype result,
                                const struct value *const *args, int count);
const struct value *value_apply1(struct lower *l, enum op op, enum dtype result,
                                 const struct value *a);
const struct value *value_apply2(struct lower *l, enum op op, enum dtype result,
                                 const struct value *a, const struct value *b);
/* An i32 (or u32, i64 …) value as i64, as if nothing in it had wrapped. */
const struct value *value_index(struct lower *l, const struct value *a);
/* Returns bits [low, low + count) of a non-negative integer of 32 bits, such as a lane. */
const struct value *value_bits(struct lower *l, const struct value *a, int low, int count);
const struct value *value_xor(struct lower *l, const struct value *a, const struct value *b);
/* A special register: %ctaid.x, %nctaid.x, %tid.x … as i32, with the range that the kernel gives
 * it. */
const struct value *value_special(struct lower *l, enum ptx_special special);
/* thread.x/y/z (0, 1, 2) of the source; the linear index of the thread; its lane, its warp.
 * Warps kernels are launched as warps × 32 threads along x, thread-level ones as they say. */
const struct value *value_thread(struct lower *l, int axis);
const struct value *value_thread_linear(struct lower *l);
const struct value *value_lane(struct lower *l);
const struct value *value_warp(struct lower *l);

/* Returns the value of a register that an instruction at this place has written, and that is not written again. It is valid
 * within this scope. */
const struct value *value_of_register(struct lower *l, enum dtype t, struct ptx_operand reg);
/* The same for a register that is written again later: it is good until then. Values made of
 * such a one must be asked for before (value_is_fleeting). */
const struct value *value_of_variable(struct lower *l, enum dtype t, struct ptx_operand reg);
bool value_is_fleeting(const struct value *v);

/* --- facts --- */

enum dtype value_dtype(const struct value *v);
/* Integers and bool (0, 1). */
bool value_known(const struct value *v, int64_t *number);
bool value_known_literal(const struct value *v, struct literal *number);
/* A number > 0 that surely divides it; 0 is divided by everything: then INT64_MAX. */
int64_t value_divisor(const struct value *v);
/* INT64_MIN, INT64_MAX: not known. */
int64_t value_least(const struct value *v);
int64_t value_greatest(const struct value *v);
/* Something more is known of a leaf (a parameter, a loaded value): narrows what was known. */
void value_learn(struct lower *l, const struct value *leaf, int64_t divisor, int64_t least,
                 int64_t greatest);

/* --- asking for them --- */

/* A register, or an immediate where the value is a constant. bool: a predicate register, never
 * an immediate. */
struct ptx_operand value_operand(struct lower *l, const struct value *v);
struct ptx_operand value_register(struct lower *l, const struct value *v); /* never an immediate */
/* Copies the value to a new register. */
struct ptx_operand value_copy(struct lower *l, const struct value *v);
/* Into a register that exists already. */
void value_into(struct lower *l, const struct value *v, struct ptx_operand reg);
/* [register + constant] for an address in bytes, i64 (global) or i32 (shared: of an address
 * within .shared). The constant is kept within 24 bits. */
struct ptx_operand value_address(struct lower *l, const struct value *v);

/* --- loops and scopes --- */

struct frame {
    struct frame *outer;
    int depth; /* 1: outermost */
    /* the rest is lower_value.c's own */
    struct ptx_code before, body;
    struct ptx_code *enclosing;
    struct stream *streams;
    struct counter *counters;
    size_t region;
    bool latched;
};

/* Opens a loop: from now on code goes to its body; what does not change in it is emitted in
 * front. */
void frame_open(struct lower *l, struct frame *f);
/* A counter of the innermost loop: `reg` holds `start` before the loop (emitted by the caller)
 * and `step` more in each iteration; frame_latch steps it. step is the same in all iterations;
 * in reg's type. wraps: it may leave its type and come in at the other end. The result is its value
 * in the current iteration, of which value_learn may say more. */
const struct value *frame_counter(struct lower *l, enum dtype t, struct ptx_operand reg,
                                  const struct value *start, const struct value *step, bool wraps);
/* Steps the counters and all pointers that follow them: once an iteration, last in the body.
 * What was made of the counter before is then of the past: frame_counter_next is the stepped
 * value, for the condition behind. */
void frame_latch(struct lower *l);
const struct value *frame_counter_next(struct lower *l, const struct value *counter);
/* Ends the loop: what was hoisted and the body go where the loop stands. */
void frame_close(struct lower *l, struct frame *f);

/* A part of the code that is not always executed (an arm of an if): what is computed in it is
 * forgotten at its end. */
struct scope {
    size_t region; /* lower_value.c's own */
};
void scope_open(struct lower *l, struct scope *s);
void scope_close(struct lower *l, struct scope *s);

/* --- conditions --- */

/* When something is to happen: always, never, or where a predicate holds. */
struct guard {
    bool always, never;
    struct ptx_operand predicate; /* may be negated (ptx_when takes it) */
};
struct guard guard_of(struct lower *l, const struct value *condition); /* NULL: always */
struct guard guard_always(void);
/* ptx_when(ins, …) if the guard is not `always`. Never: do not emit at all, ask guard.never
 * before. */
struct ptx_instruction *guard_apply(struct ptx_instruction *ins, struct guard g);

#endif
