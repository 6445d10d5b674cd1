/* One elementwise op on registers, of scalars and of the elements of tiles: src/nvptx/nvptx_scalars.h
 * emits it. */
#ifndef TW_LOWER_OP_H
#define TW_LOWER_OP_H

#include "lower/lower_value.h"
#include "nvptx/nvptx_scalars.h"

/* The type in which a SHL or SHR is computed: as wide as its amount, which must not wrap. */
enum dtype op_shift_type(const struct expr *e);
/* Returns what src/nvptx emits with. */
static inline struct nvptx_scalars lower_scalars(struct lower *l)
{
    return (struct nvptx_scalars){.build = &l->b};
}
/* Makes a register for an element of type t. */
static inline struct ptx_operand op_register(struct lower *l, enum dtype t)
{
    return nvptx_new_register(&(struct nvptx_scalars){.build = &l->b}, t);
}
/* Reports that the op has no code for GPUs. Gives `instead`, so that emission can go on. */
struct ptx_operand op_without_code(struct lower *l, enum op op, struct ptx_operand instead);

/* Emits `op`: operands of type `t` each (joined; of CAST, see op_cast; of WHERE and SELECT args[0]
 * is a predicate, the others of type t; of SHL, SHR the count too), immediates allowed for 32- and
 * 64-bit integers and floats. Result: of type `result` (bool for comparisons), in a register of its
 * own, normalised (small integers extended). Every op of class ARITH, COMPARE, LOGIC, FLOAT,
 * BITWISE, and WHERE, BITS, PHILOX, CDIV, POW2_CEIL. Functions agree with the CPU engine to 2 units
 * in the last place of f32 (f64: 2 of f64). */
struct ptx_operand op_emit(struct lower *l, enum op op, enum dtype result, enum dtype t,
                           const struct ptx_operand *args, int count);
struct ptx_operand op_emit1(struct lower *l, enum op op, enum dtype result, enum dtype t,
                            struct ptx_operand a);
struct ptx_operand op_emit2(struct lower *l, enum op op, enum dtype result, enum dtype t,
                            struct ptx_operand a, struct ptx_operand b);
/* The same on two f16 or bf16 in a .b32 each; false: no instruction does it, take them apart. */
bool op_emit_pair(struct lower *l, enum op op, enum dtype t, const struct ptx_operand *args,
                  int count, struct ptx_operand *result);
/* These call nvptx_bits, nvptx_cast, nvptx_cast_pair, nvptx_cast_four and nvptx_halves. */
static inline struct ptx_operand op_bits(struct lower *l, enum dtype to, enum dtype from,
                                         struct ptx_operand x)
{
    struct nvptx_scalars s = lower_scalars(l);
    return nvptx_bits(&s, to, from, x);
}
static inline struct ptx_operand op_cast(struct lower *l, enum dtype to, enum dtype from,
                                         struct ptx_operand x)
{
    struct nvptx_scalars s = lower_scalars(l);
    return nvptx_cast(&s, to, from, x);
}
static inline struct ptx_operand op_cast_pair(struct lower *l, enum dtype to,
                                              struct ptx_operand low, struct ptx_operand high)
{
    struct nvptx_scalars s = lower_scalars(l);
    return nvptx_cast_pair(&s, to, low, high);
}
static inline struct ptx_operand op_cast_four(struct lower *l, enum dtype to,
                                              const struct ptx_operand *x)
{
    struct nvptx_scalars s = lower_scalars(l);
    return nvptx_cast_four(&s, to, x);
}
static inline void op_halves(struct lower *l, enum dtype from, struct ptx_operand word,
                             struct ptx_operand *halves)
{
    struct nvptx_scalars s = lower_scalars(l);
    nvptx_halves(&s, from, word, halves);
}
/* A constant of type t as an operand: an immediate where instructions take one (f16, bool: a
 * register). */
struct ptx_operand op_constant(struct lower *l, enum dtype t, struct literal v);
static inline void op_move(struct lower *l, enum dtype t, struct ptx_operand to,
                           struct ptx_operand from)
{
    struct nvptx_scalars s = lower_scalars(l);
    nvptx_move(&s, t, to, from);
}

/* These call nvptx_unpack and nvptx_pack. */
static inline void op_unpack(struct lower *l, enum dtype t, struct ptx_operand word,
                             struct ptx_operand *elements)
{
    struct nvptx_scalars s = lower_scalars(l);
    nvptx_unpack(&s, t, word, elements);
}
static inline struct ptx_operand op_pack(struct lower *l, enum dtype t,
                                         const struct ptx_operand *elements)
{
    struct nvptx_scalars s = lower_scalars(l);
    return nvptx_pack(&s, t, elements);
}

#endif
