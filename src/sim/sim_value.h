/* Declarations that the files of values (sim_integer.c, sim_bits.c, sim_float.c, …) share: handlers
 * as loops over lanes, and the choice of a handler from a table.
 *
 * A value instruction reads sources and writes a destination lane by lane. Macros make most
 * handlers from an expression of a, b, c. The handler computes it for all 32 lanes, in a loop
 * that the C compiler vectorises; with a partial mask, the other lanes keep their values. So an
 * expression must be defined for any bits that a lane may have. SIM_RARE* make handlers for
 * expensive expressions, which visit the lanes of the mask one by one. */
#ifndef TW_SIM_VALUE_H
#define TW_SIM_VALUE_H

#include "base/float_bits.h"
#include "sim/sim_own.h"

#include <string.h>

/* The turns of the following loop do not depend on each other, though a destination may be a
 * source. */
#if defined(__clang__)
#pragma clang diagnostic ignored "-Wpass-failed" /* a loop that stays scalar is not a mistake */
#define SIM_VECTORISE _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__)
#define SIM_VECTORISE _Pragma("GCC ivdep")
#else
#define SIM_VECTORISE
#endif

/* The bit of a lane in a mask: a table, because baseline x86-64 has no vector shift by lane. */
static const uint32_t sim_bit[SIM_LANES] = {
    1u << 0,  1u << 1,  1u << 2,  1u << 3,  1u << 4,  1u << 5,  1u << 6,  1u << 7,
    1u << 8,  1u << 9,  1u << 10, 1u << 11, 1u << 12, 1u << 13, 1u << 14, 1u << 15,
    1u << 16, 1u << 17, 1u << 18, 1u << 19, 1u << 20, 1u << 21, 1u << 22, 1u << 23,
    1u << 24, 1u << 25, 1u << 26, 1u << 27, 1u << 28, 1u << 29, 1u << 30, 1u << 31};

/* Returns the lanes of an operand. */
static inline void *sim_lanes(struct sim_warp *w, const struct sim_op *op, int operand)
{
#if defined(__GNUC__)
    return __builtin_assume_aligned(w->file + op->slot[operand], 64);
#else
    return w->file + op->slot[operand];
#endif
}

/* Return the word of a predicate, and the value of a source predicate with its `!` applied. */
static inline uint32_t *sim_predicate(struct sim_warp *w, const struct sim_op *op, int operand)
{
    return (uint32_t *)(void *)(w->file + op->slot[operand]);
}
static inline uint32_t sim_condition(struct sim_warp *w, const struct sim_op *op, int operand)
{
    return *sim_predicate(w, op, operand) ^ (0u - (uint32_t)(op->small2 >> operand & 1));
}
static inline void sim_set_predicate(uint32_t *p, uint32_t value, uint32_t mask)
{
    *p = (*p & ~mask) | (value & mask);
}

/* --- floats as bits --- */

static inline bool sim_f32_nan(uint32_t a)
{
    return (a & 0x7fffffffu) > 0x7f800000u;
}
static inline bool sim_f64_nan(uint64_t a)
{
    return (a & 0x7fffffffffffffffu) > 0x7ff0000000000000u;
}
/* Applies .ftz: a subnormal value becomes a zero of its sign. */
static inline uint32_t sim_f32_flush(uint32_t a)
{
    return a & 0x7f800000u ? a : a & 0x80000000u;
}
/* Replaces any NaN by the one that arithmetic gives. */
static inline uint32_t sim_f32_canonical(uint32_t a)
{
    return sim_f32_nan(a) ? 0x7fffffffu : a;
}
/* Applies .sat: clamps to [0, 1]; NaN and -0 become +0. */
static inline uint32_t sim_f32_saturate(uint32_t a)
{
    int32_t ordered = (int32_t)a; /* values from 0 to 1 are in the order of their bits */
    return ordered <= 0 || ordered > 0x7f800000 ? 0 : ordered > 0x3f800000 ? 0x3f800000u : a;
}
static inline uint64_t sim_f64_quiet(uint64_t a)
{
    return a | 0x0008000000000000u;
}

/* Returns a if the condition holds, otherwise b. It works on words: a choice of computed floats
 * would become a branch around the computation, and a loop with a branch is not vectorised. */
static inline uint32_t sim_choice(bool condition, uint32_t a, uint32_t b)
{
    uint32_t where = 0u - (uint32_t)condition;
    return (a & where) | (b & ~where);
}

/* Converts f16 and bf16 to f32, exactly; the fraction of a NaN is kept. */
static inline uint32_t sim_f16_widen(uint16_t a)
{
    uint32_t sign = (uint32_t)(a & 0x8000u) << 16, rest = (uint32_t)(a & 0x7fffu) << 13;
    uint32_t normal = rest + (112u << 23);
    uint32_t small = f32_bits(f32_from_bits(rest + 0x38800000u) - 0x1p-14f);
    uint32_t large = rest >= 0x0f800000u ? rest | 0x7f800000u : normal;
    return sign | sim_choice(rest < 0x00800000u, small, large);
}
static inline uint32_t sim_bf16_widen(uint16_t a)
{
    return (uint32_t)a << 16;
}
static inline uint16_t sim_f16_flush(uint16_t a)
{
    return a & 0x7c00u ? a : a & 0x8000u;
}

/* --- handlers --- */

#define SIM_HANDLER(name)                                                                          \
    static bool name(struct sim_warp *w, const struct sim_op *op, uint32_t mask)

/* Not inlined: code that several handlers share exists once. */
#if defined(__GNUC__)
#define SIM_APART __attribute__((noinline))
#else
#define SIM_APART
#endif

/* Loops over `count` elements; a power of two of them are in each lane. `load` declares the
 * names that `x` uses. */
#define SIM_LOOPS(D, count, load, x)                                                               \
    if (mask == SIM_ALL) {                                                                         \
        SIM_VECTORISE                                                                              \
        for (int i = 0; i < (count); i++) {                                                        \
            load;                                                                                  \
            d[i] = (D)(x);                                                                         \
        }                                                                                          \
    } else {                                                                                       \
        SIM_VECTORISE                                                                              \
        for (int i = 0; i < (count); i++) {                                                        \
            load;                                                                                  \
            const D result = (D)(x);                                                               \
            d[i] = mask & sim_bit[i / ((count) / SIM_LANES)] ? result : d[i];                      \
        }                                                                                          \
    }                                                                                              \
    return true;
#define SIM_RARELY(D, load, x)                                                                     \
    for (int i = 0; i < SIM_LANES; i++)                                                            \
        if (mask & sim_bit[i]) {                                                                   \
            load;                                                                                  \
            d[i] = (D)(x);                                                                         \
        }                                                                                          \
    return true;

#define SIM_OPERAND(T, p, operand) const T *p = sim_lanes(w, op, operand);
#define SIM_LOAD1(A) const A a = pa[i]
#define SIM_LOAD2(A, B)                                                                            \
    const A a = pa[i];                                                                             \
    const B b = pb[i]
#define SIM_LOAD3(A, B, C)                                                                         \
    const A a = pa[i];                                                                             \
    const B b = pb[i];                                                                             \
    const C c = pc[i]

/* Declare the lanes of the destination and of one, two, three sources. */
#define SIM_TAKE1(D, A)                                                                            \
    D *d = sim_lanes(w, op, 0);                                                                    \
    SIM_OPERAND(A, pa, 1)
#define SIM_TAKE2(D, A, B) SIM_TAKE1(D, A) SIM_OPERAND(B, pb, 2)
#define SIM_TAKE3(D, A, B, C) SIM_TAKE2(D, A, B) SIM_OPERAND(C, pc, 3)

/* d = x of a; of a, b; of a, b, c. SIM_PAIRS*: 64 elements of 16 bits, two in each lane. */
#define SIM_UNARY_LOOP(name, count, D, A, x)                                                       \
    SIM_HANDLER(name)                                                                              \
    {                                                                                              \
        SIM_TAKE1(D, A) SIM_LOOPS(D, count, SIM_LOAD1(A), x)                                       \
    }
#define SIM_BINARY_LOOP(name, count, D, A, B, x)                                                   \
    SIM_HANDLER(name)                                                                              \
    {                                                                                              \
        SIM_TAKE2(D, A, B) SIM_LOOPS(D, count, SIM_LOAD2(A, B), x)                                 \
    }
#define SIM_TERNARY_LOOP(name, count, D, A, B, C, x)                                               \
    SIM_HANDLER(name)                                                                              \
    {                                                                                              \
        SIM_TAKE3(D, A, B, C) SIM_LOOPS(D, count, SIM_LOAD3(A, B, C), x)                           \
    }
#define SIM_UNARY(name, D, A, x) SIM_UNARY_LOOP(name, SIM_LANES, D, A, x)
#define SIM_BINARY(name, D, A, B, x) SIM_BINARY_LOOP(name, SIM_LANES, D, A, B, x)
#define SIM_TERNARY(name, D, A, B, C, x) SIM_TERNARY_LOOP(name, SIM_LANES, D, A, B, C, x)
#define SIM_PAIRS1(name, T, x) SIM_UNARY_LOOP(name, 2 * SIM_LANES, T, T, x)
#define SIM_PAIRS2(name, T, x) SIM_BINARY_LOOP(name, 2 * SIM_LANES, T, T, T, x)
#define SIM_PAIRS3(name, T, x) SIM_TERNARY_LOOP(name, 2 * SIM_LANES, T, T, T, T, x)

/* The same for expensive expressions: only the lanes of the mask. */
#define SIM_RARE1(name, D, A, x)                                                                   \
    SIM_HANDLER(name)                                                                              \
    {                                                                                              \
        SIM_TAKE1(D, A) SIM_RARELY(D, SIM_LOAD1(A), x)                                             \
    }
#define SIM_RARE2(name, D, A, B, x)                                                                \
    SIM_HANDLER(name)                                                                              \
    {                                                                                              \
        SIM_TAKE2(D, A, B) SIM_RARELY(D, SIM_LOAD2(A, B), x)                                       \
    }
#define SIM_RARE3(name, D, A, B, C, x)                                                             \
    SIM_HANDLER(name)                                                                              \
    {                                                                                              \
        SIM_TAKE3(D, A, B, C) SIM_RARELY(D, SIM_LOAD3(A, B, C), x)                                 \
    }

/* Makes a predicate: the lanes for which x holds. */
#define SIM_WHERE(flags, load, x)                                                                  \
    uint32_t flags = 0;                                                                            \
    for (int i = 0; i < SIM_LANES; i++) {                                                          \
        load;                                                                                      \
        flags |= (x) ? sim_bit[i] : 0;                                                             \
    }

/* --- choice (sim_value.c) --- */

/* A row: the instruction with exactly these modifiers, in any order. */
struct sim_value_row {
    uint16_t op;
    uint16_t mods[5];
    sim_handler *run;
};
#define SIM_ROW(handler, id, ...)                                                                  \
    {                                                                                              \
        .op = PTX_##id, .mods = {__VA_ARGS__}, .run = handler                                      \
    }

/* Finds the instruction's row and decodes its operands; returns false if there is none. */
bool sim_value_choose(struct sim_decoder *d, const struct ptx_instruction *ins, struct sim_op *op,
                      const struct sim_value_row *rows, size_t count);

/* Fills slots by the instruction's form. slot[k]: operand k of the form, without immediates
 * (SIM_NO_SLOT for a missing optional destination); bit k of small2: source predicate k has `!`;
 * imm: an immediate; more: a vector's elements. Returns false for an operand that no value
 * instruction has. */
bool sim_value_operands(struct sim_decoder *d, const struct ptx_instruction *ins,
                        struct sim_op *op);

/* Returns true if it has only these modifiers and types. `allowed` ends with MOD_NONE. */
bool sim_value_only(const struct ptx_instruction *ins, const uint16_t *allowed);

#endif
