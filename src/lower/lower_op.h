/* One elementwise op on registers: what scalars and the elements of tiles share.
 *
 * Rounding is written out everywhere (.rn); nothing is contracted here (Meaning 12). f16 and bf16:
 * one rounding an op; what the target has no instruction for is done in f32 and rounded.
 */
#ifndef TW_LOWER_OP_H
#define TW_LOWER_OP_H

#include "lower/lower_value.h"

/* The type in which a SHL or SHR is computed: as wide as its amount, which must not wrap. */
enum dtype op_shift_type(const struct expr *e);
/* A new register for an element of type t. */
struct ptx_operand op_register(struct lower *l, enum dtype t);
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
/* (to) x as the CPU engine does it: floats round to nearest even, to integers truncate, saturate,
 * NaN 0; integers wrap; to bool x != 0. */
struct ptx_operand op_cast(struct lower *l, enum dtype to, enum dtype from, struct ptx_operand x);
/* Two f32 -> f16x2 or bf16x2 in a .b32, low first. */
struct ptx_operand op_cast_pair(struct lower *l, enum dtype to, struct ptx_operand low,
                                struct ptx_operand high);
/* Four f32 -> e4m3 or e5m2 in a .b32, and such four as two f16x2, which is exact. */
struct ptx_operand op_cast_four(struct lower *l, enum dtype to, const struct ptx_operand *x);
void op_halves(struct lower *l, enum dtype from, struct ptx_operand word,
               struct ptx_operand *halves);
struct ptx_operand op_bits(struct lower *l, enum dtype to, enum dtype from, struct ptx_operand x);
/* A constant of type t as an operand: an immediate where instructions take one (f16, bool: a
 * register). */
struct ptx_operand op_constant(struct lower *l, enum dtype t, struct literal v);
/* What joins two elements of a reduction, one after the other. */
enum op op_of_reduction(enum op reduction);
/* The neutral element of ADD MUL MIN MAX AND OR XOR (floats: -inf of MAX …). */
struct literal op_neutral(enum op op, enum dtype t);
void op_move(struct lower *l, enum dtype t, struct ptx_operand to, struct ptx_operand from);

/* .b16 halves of a .b32, bytes of a .b32, and back. `extended`: i8/u8 as .b32. */
void op_unpack(struct lower *l, enum dtype t, struct ptx_operand word,
               struct ptx_operand *elements); /* 2 of 16 bits, 4 of 8 bits */
struct ptx_operand op_pack(struct lower *l, enum dtype t, const struct ptx_operand *elements);

#endif
