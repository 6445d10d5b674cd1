/* One elementwise operation on registers: scalars, and the elements of groups and of tiles.
 *
 * Rounding is written out everywhere (.rn); nothing is contracted here. f16 and bf16 are rounded once an operation; if
 * the target has no instruction, it is done in f32 and rounded.
 *
 * PTX registers by element type: f64, f32, tf32 (.f32), f16 and bf16 (.b16), i64 and u64 (.b64), i32 and u32 (.b32);
 * i16, u16, i8 and u8 in a .b32, always extended by their sign or by zeros; e4m3 and e5m2 a byte in a .b32, zeros
 * above; bool a predicate. */
#ifndef TW_NVPTX_SCALARS_H
#define TW_NVPTX_SCALARS_H

#include "ptx/ptx_build.h"
#include "thread/thread.h"

struct nvptx_scalars {
    struct ptx_builder *build;
    bool without_code; /* an operation had no instructions; what was emitted for it is of no use */
};

/* Returns the PTX type of a register for an element type (MOD_F32, MOD_B16, MOD_PRED …); nvptx_type_of: of arithmetic
 * on it (MOD_F32, MOD_F16, MOD_S32, MOD_U64 …; of small integers MOD_S32, MOD_U32). */
enum ptx_mod nvptx_register_of(enum dtype t);
enum ptx_mod nvptx_type_of(enum dtype t);
/* Makes a register for an element of type t. */
struct ptx_operand nvptx_new_register(struct nvptx_scalars *out, enum dtype t);
void nvptx_move(struct nvptx_scalars *out, enum dtype t, struct ptx_operand to,
                struct ptx_operand from);
/* Emits an instruction whose first operand is a new register of PTX type `type`. Returns that register. */
struct ptx_operand nvptx_new(struct nvptx_scalars *out, enum ptx_mod type, const char *mnemonic,
                             const uint16_t *types, const struct ptx_operand *sources,
                             size_t count);

/* Emits an operation whose operands have type t each: arithmetic, comparisons, logic, functions, and `select`, whose
 * first operand is a predicate. A shift's amount is a u32. 32- and 64-bit integers and floats may be immediates.
 * Returns a register of its own with the result, of type t (of a comparison: bool); small integers are extended.
 * Functions agree with the CPU engine to 2 units in the last place of f32 (f64: 2 of f64). */
struct ptx_operand nvptx_op(struct nvptx_scalars *out, enum thread_opcode op, enum dtype t,
                            const struct ptx_operand *args, int count);
/* Returns whether an elementwise operation is defined for elements of the type. */
bool nvptx_is_defined(enum thread_opcode op, enum dtype t);
/* Emits an operation on the elements of words, 2 of 16 bits or 4 of 8 bits, in registers. Returns false if no
 * instruction does it. */
bool nvptx_op_pair(struct nvptx_scalars *out, enum thread_opcode op, enum dtype t,
                   const struct ptx_operand *args, struct ptx_operand *result);
/* Returns a word of Philox-4x32-10. args: seed and offset of type t, u64 or u32, the word (0 if count is 2) as u32. */
struct ptx_operand nvptx_random(struct nvptx_scalars *out, enum dtype t,
                                const struct ptx_operand *args, int count);

/* Converts as the CPU engine does: floats round to nearest even, to integers truncate, saturate, NaN is 0; integers
 * wrap; to bool x != 0. */
struct ptx_operand nvptx_cast(struct nvptx_scalars *out, enum dtype to, enum dtype from,
                              struct ptx_operand x);
/* Two f32 -> f16x2 or bf16x2 in a .b32, low first. */
struct ptx_operand nvptx_cast_pair(struct nvptx_scalars *out, enum dtype to, struct ptx_operand low,
                                   struct ptx_operand high);
/* Four f32 -> e4m3 or e5m2 in a .b32, and such four as two f16x2, which is exact. */
struct ptx_operand nvptx_cast_four(struct nvptx_scalars *out, enum dtype to,
                                   const struct ptx_operand *x);
void nvptx_halves(struct nvptx_scalars *out, enum dtype from, struct ptx_operand word,
                  struct ptx_operand *halves);
/* The same into registers that are there; count: 2, or 1 for the lower two alone. */
void nvptx_halves_into(struct nvptx_scalars *out, enum dtype from, struct ptx_operand word,
                       const struct ptx_operand *to, int count);
/* Returns the same bits as another type of equal size. */
struct ptx_operand nvptx_bits(struct nvptx_scalars *out, enum dtype to, enum dtype from,
                              struct ptx_operand x);
/* Returns a constant as an operand: an immediate where instructions take one, else a register (f16, bf16, bool).
 * nvptx_integer: of any type, too. */
struct ptx_operand nvptx_real(struct nvptx_scalars *out, enum dtype t, double v);
struct ptx_operand nvptx_integer(struct nvptx_scalars *out, enum dtype t, int64_t v);

/* Takes a word apart, 2 elements of 16 bits or 4 of 8 bits; nvptx_pack: puts it together again. */
void nvptx_unpack(struct nvptx_scalars *out, enum dtype t, struct ptx_operand word,
                  struct ptx_operand *elements);
/* Returns element i of the word, smaller than a word and no half. */
struct ptx_operand nvptx_unpack_one(struct nvptx_scalars *out, enum dtype t,
                                    struct ptx_operand word, int i);
struct ptx_operand nvptx_pack(struct nvptx_scalars *out, enum dtype t,
                              const struct ptx_operand *elements);

/* Returns a word of elements e[0 … count - 1] of the words `from`, counted from the first one's; a negative number: any.
 * Elements of 32 bits or more are words. */
struct ptx_operand nvptx_gather(struct nvptx_scalars *out, enum dtype t,
                                const struct ptx_operand *from, const int32_t *e, int count);
/* Another lane. how: THREAD_SHUFFLE; THREAD_SHUFFLE_XOR, of which `lane` has the bits that differ; or
 * THREAD_SHUFFLE_UP. */
struct nvptx_lane {
    enum thread_opcode how;
    struct ptx_operand lane;
    /* of THREAD_SHUFFLE_UP: */
    int64_t width;
    struct ptx_operand there; /* the predicate that the instruction sets */
};
/* Returns the value of another lane. word: x is a word of several elements, if elements of t share words. */
struct ptx_operand nvptx_shuffle(struct nvptx_scalars *out, enum dtype t, bool word,
                                 struct ptx_operand x, const struct nvptx_lane *from);

/* Returns whether the atomic has no instruction of its own on the target, but a loop. */
bool nvptx_atomic_loops(const struct nvptx_scalars *out, enum thread_opcode op, enum dtype t);
/* Emits it. at: the address in shared or global memory; result: a register for the old value; NULL: it is not wanted */
void nvptx_atomic_loop(struct nvptx_scalars *out, enum thread_opcode op, enum dtype t, bool shared,
                       struct ptx_operand at, struct ptx_operand value,
                       const struct ptx_operand *result);

/* The formats of matrix units, which are computed in f32. */
static inline bool is_matrix_format(enum dtype t)
{
    return t == DT_TF32 || dtype_is_byte_float(t);
}
static inline bool is_small(enum dtype t)
{
    return dtype_is_int(t) && dtype_table[t].bits < 32;
}
static inline bool is_wide(enum dtype t)
{
    return dtype_table[t].bits == 64;
}

#endif
