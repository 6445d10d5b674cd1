/* Calls handlers of values directly, for their tests: an instruction's text goes through the
 * parser and the choice of a handler, with a decoder of this file's own in place of the
 * machine's (value_decoder.c), and runs on registers of random bits. */
#ifndef VALUE_DECODER_H
#define VALUE_DECODER_H

#include "base/dtype.h"
#include "base/float_bits.h"
#include "ptx/ptx_choose.h"
#include "sim/sim_own.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VALUE_SLOT_BYTES = 256, VALUE_SLOTS = 96, VALUE_CARRY = 95 };

struct sim_decoder {
    struct arena arena;
    jmp_buf out_of_memory;
    const struct ptx_function *function;
    uint8_t width[64]; /* bytes a lane of a register, by number; 0: predicate */
    uint32_t next;     /* the next free slot */
    uint8_t *file;     /* constants are written in order */
};

/* Returns the bytes a lane of a register of that type; 0: a predicate. */
static inline int value_type_bytes(enum ptx_mod type)
{
    return type == PTX_PRED ? 0 : ptx_mods[type].bits <= 16 ? 2 : ptx_mods[type].bits / 8;
}

/* The families, compiled for any machine and, if the compiler can, most of them for AVX2. */
#if defined(__x86_64__) && (__GNUC__ >= 11 || __clang_major__ >= 12)
#define VALUE_VARIANTS 2
#define VALUE_FAMILY(name)                                                                         \
    {                                                                                              \
        sim_choose_##name, sim_choose_##name##_v3                                                  \
    }
#define VALUE_FAMILY_ONCE(name)                                                                    \
    {                                                                                              \
        sim_choose_##name, sim_choose_##name                                                       \
    }
extern sim_choose sim_choose_integer_v3, sim_choose_bits_v3, sim_choose_float_v3,
    sim_choose_compare_v3;
#else
#define VALUE_VARIANTS 1
#define VALUE_FAMILY(name)                                                                         \
    {                                                                                              \
        sim_choose_##name                                                                          \
    }
#define VALUE_FAMILY_ONCE VALUE_FAMILY
#endif
static sim_choose *const value_families[][VALUE_VARIANTS] = {
    VALUE_FAMILY(integer),     VALUE_FAMILY(float),   VALUE_FAMILY_ONCE(half),
    VALUE_FAMILY(bits),        VALUE_FAMILY(compare), VALUE_FAMILY_ONCE(convert),
    VALUE_FAMILY_ONCE(approx),
};

static int value_variants(void)
{
#if VALUE_VARIANTS > 1
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
        return 1;
#endif
    return VALUE_VARIANTS;
}

/* Fills op; returns the number of families that accept the instruction. */
static int value_takers(struct sim_decoder *d, const struct ptx_instruction *ins, int variant,
                        struct sim_op *op)
{
    int takers = 0;
    for (size_t i = 0; i < sizeof value_families / sizeof *value_families; i++) {
        struct sim_op mine = {.ins = ins};
        for (int k = 0; k < SIM_MOST_SLOTS; k++)
            mine.slot[k] = SIM_NO_SLOT;
        if (value_families[i][variant](d, ins, &mine)) {
            *op = mine;
            takers++;
        }
    }
    return takers;
}

/* Returns false unless exactly one family accepts it. Rare instructions are in the first variant
 * alone. */
static bool value_choose(struct sim_decoder *d, const struct ptx_instruction *ins, int variant,
                         struct sim_op *op)
{
    int takers = value_takers(d, ins, variant, op);
    if (takers == 0)
        takers = value_takers(d, ins, 0, op);
    return takers == 1;
}

/* --- random operands --- */

static uint64_t value_state = 88172645463325252u;
static inline uint64_t value_random(void)
{
    value_state ^= value_state << 13;
    value_state ^= value_state >> 7;
    value_state ^= value_state << 17;
    return value_state * 0x2545f4914f6cdd1du;
}
/* Returns the bits of a register of `bytes` bytes: corner values of integers and floats, their
 * neighbours, or random bits. */
static inline uint64_t value_operand(int bytes)
{
    static const uint16_t halves[] = {0,      0x8000, 1,      0x8001, 0x3ff,  0x400,  0x83ff,
                                      0x8400, 0x3c00, 0xbc00, 0x3c01, 0x3bff, 0x7bff, 0xfbff,
                                      0x7c00, 0xfc00, 0x7c01, 0x7e00, 0x7fff, 0xffff, 0x3f80,
                                      0xbf80, 0x7f7f, 0xff7f, 0x7f80, 0xff80, 0x7f81, 0x7fc0,
                                      0x80,   0x7f,   0x8080, 31,     32,     0x4b00, 0x5c00};
    static const uint32_t words[] = {
        0,          0x80000000, 1,          0x80000001, 0x7fffff,   0x800000,   0x807fffff,
        0x80800000, 0x3f800000, 0xbf800000, 0x3f7fffff, 0x3f800001, 0x7f7fffff, 0xff7fffff,
        0x7f800000, 0xff800000, 0x7fc00000, 0x7f800001, 0xffc12345, 0x7fffffff, 0xffffffff,
        0x00ffffff, 0x7effffff, 0x3f000000, 0x3effffff, 0x33800000, 0x33000001, 0x4f000000,
        0x4effffff, 0xcf000000, 0x4f800000, 0x5f000000, 0x477ff000, 0x477fefff, 0x38800000,
        0x387fffff, 0x33ffffff, 0x7f7f8000, 0x43e00000, 0x43e80000, 31,         32,
        33,         0x3fc00000, 0x40200000, 0xc0200000};
    static const uint64_t wides[] = {0,
                                     1ull << 63,
                                     1,
                                     0x000fffffffffffff,
                                     0x0010000000000000,
                                     0x8010000000000000,
                                     0x3ff0000000000000,
                                     0xbff0000000000000,
                                     0x3fefffffffffffff,
                                     0x7fefffffffffffff,
                                     0xffefffffffffffff,
                                     0x7ff0000000000000,
                                     0xfff0000000000000,
                                     0x7ff8000000000000,
                                     0x7ff0000000000001,
                                     0xfff8123456789abc,
                                     UINT64_MAX,
                                     INT64_MAX,
                                     0x43e0000000000000,
                                     0xc3e0000000000000,
                                     0x43f0000000000000,
                                     0x41dfffffffc00000,
                                     0x41e0000000000000,
                                     0x380fffffffffffff,
                                     0x3810000000000000,
                                     0x380ffffff0000000,
                                     0x47efffffe0000000,
                                     0x47effffff0000000,
                                     0x40effe0000000000,
                                     0x3fe0000000000000};
    uint64_t r = value_random(), v;
    if (r % 4 == 0) { /* of a few bits */
        v = value_random() >> (r >> 8) % 64;
        return r & 16 ? 0 - v : v;
    }
    if (r % 4 == 1)
        return value_random();
    if (r % 4 == 2 && bytes >= 4) { /* floats that are close to each other */
        v = bytes == 4 ? 0x3f000000 + (value_random() & 0x81ffffff) : 0x3fe0000000000000;
        return bytes == 4 ? v : v + (value_random() & 0x803fffffffffffff);
    }
    switch (bytes) {
    case 2: v = halves[r / 4 % (sizeof halves / sizeof *halves)]; break;
    case 4: v = words[r / 4 % (sizeof words / sizeof *words)]; break;
    default: v = wides[r / 4 % (sizeof wides / sizeof *wides)]; break;
    }
    return r >> 60 == 0 ? v + 1 : r >> 60 == 1 ? v - 1 : v;
}

/* --- running --- */

/* Computes results by destination from sources, in the order of the operands; predicates are 0
 * or 1. x[7], results[7]: carry. */
typedef void value_reference(uint64_t *results, const uint64_t *x);

static inline uint64_t value_get(uint8_t *file, uint32_t slot, int bytes, int lane)
{
    switch (bytes) {
    case 0: return sim_u32(file, slot)[0] >> lane & 1;
    case 2: return sim_u16(file, slot)[lane];
    case 4: return sim_u32(file, slot)[lane];
    default: return sim_u64(file, slot)[lane];
    }
}
static inline void value_fill_with(uint8_t *file, uint32_t slot, int bytes, uint64_t v)
{
    for (int i = 0; i < SIM_LANES; i++)
        switch (bytes) {
        case 0: sim_u32(file, slot)[0] = v ? SIM_ALL : 0; break;
        case 2: sim_u16(file, slot)[i] = (uint16_t)v; break;
        case 4: sim_u32(file, slot)[i] = (uint32_t)v; break;
        default: sim_u64(file, slot)[i] = v; break;
        }
}
static inline void value_fill(uint8_t *file, uint32_t slot, int bytes)
{
    if (bytes == 0)
        sim_u32(file, slot)[0] = (uint32_t)value_random();
    for (int i = 0; i < SIM_LANES && bytes; i++)
        switch (bytes) {
        case 2: sim_u16(file, slot)[i] = (uint16_t)value_operand(2); break;
        case 4: sim_u32(file, slot)[i] = (uint32_t)value_operand(4); break;
        default: sim_u64(file, slot)[i] = value_operand(8); break;
        }
}

struct value_program {
    struct sim_decoder d;
    struct diag diag;
    struct source source;
    const struct ptx_instruction *ins;
    uint8_t *before, *after; /* files */
};

/* Registers: %h0 to 7 of 16 bits, %r of 32, %d of 64, %p predicates. */
static void value_open(struct value_program *p, const char *instruction)
{
    static const char head[] = ".version 8.8\n.target %s\n.address_size 64\n.entry k() {\n"
                               ".reg .b16 %%h<8>; .reg .b32 %%r<8>; .reg .b64 %%d<8>; "
                               ".reg .pred %%p<8>;\n%s\nret;\n}\n";
    memset(p, 0, sizeof *p);
    if (setjmp(p->d.out_of_memory))
        fail_msg("out of memory");
    arena_init(&p->d.arena, &allocator_libc, &p->d.out_of_memory);
    diag_init(&p->diag, &p->d.arena);
    char *text = arena_printf(&p->d.arena, head, "sm_100a", instruction);
    p->source = (struct source){"value.ptx", text, strlen(text)};
    struct ptx_module *m = ptx_parse(&p->d.arena, &p->source, &p->diag);
    if (!m)
        fail_msg("not PTX: %s", instruction);
    p->d.function = ptx_find_function(m, "k");
    for (size_t i = 0; i < p->d.function->body.count && !p->ins; i++)
        if (p->d.function->body.data[i].kind == PTX_AT_INSTRUCTION)
            p->ins = p->d.function->body.data[i].instruction;
    for (uint32_t i = 0; i < p->d.function->registers.count; i++) {
        enum ptx_mod type = ptx_register_type(p->d.function, i);
        p->d.width[i] = (uint8_t)value_type_bytes(type);
    }
    size_t bytes = (size_t)VALUE_SLOTS * VALUE_SLOT_BYTES;
    p->before = aligned_alloc(64, bytes);
    p->after = aligned_alloc(64, bytes);
    memset(p->before, 0, bytes);
}
static void value_close(struct value_program *p)
{
    free(p->before);
    free(p->after);
    arena_free(&p->d.arena);
}

static bool value_is_written(const struct value_program *p, int operand)
{
    const struct ptx_slot *slot = ptx_slot_of(p->d.function, p->ins, (size_t)operand);
    return slot->flags & SLOT_WRITTEN;
}

/* Compares one lane with the reference, or, outside the mask, with its old value. */
static void value_compare(const struct value_program *p, const char *instruction, int lane,
                          bool active, value_reference *reference)
{
    uint64_t x[8] = {0}, results[8] = {0};
    int sources = 0, written = 0;
    const uint32_t carry = VALUE_CARRY * VALUE_SLOT_BYTES;
    for (int i = 0; i < p->ins->operand_count; i++) {
        const struct ptx_operand *o = &p->ins->operands[i];
        if (value_is_written(p, i))
            continue;
        if (o->kind == PTX_REGISTER)
            x[sources++] =
                value_get(p->before, o->reg * VALUE_SLOT_BYTES, p->d.width[o->reg], lane) ^
                (o->negated ? 1 : 0);
        else
            x[sources++] = o->bits;
    }
    x[7] = results[7] = value_get(p->before, carry, 0, lane);
    reference(results, x);
    for (int i = 0; i < p->ins->operand_count; i++) {
        const struct ptx_operand *o = &p->ins->operands[i];
        if (!value_is_written(p, i))
            continue;
        uint64_t want = results[written++];
        if (o->kind != PTX_REGISTER)
            continue;
        int bytes = p->d.width[o->reg];
        uint64_t got = value_get(p->after, o->reg * VALUE_SLOT_BYTES, bytes, lane);
        if (!active)
            want = value_get(p->before, o->reg * VALUE_SLOT_BYTES, bytes, lane);
        else if (bytes < 8)
            want &= bytes ? ((uint64_t)1 << bytes * 8) - 1 : 1;
        if (got != want)
            fail_msg("%s of %llx %llx %llx %llx (carry %llu): %llx, should be %llx%s", instruction,
                     (unsigned long long)x[0], (unsigned long long)x[1], (unsigned long long)x[2],
                     (unsigned long long)x[3], (unsigned long long)x[7], (unsigned long long)got,
                     (unsigned long long)want, active ? "" : " (not in the mask)");
    }
    if (value_get(p->after, carry, 0, lane) != (active ? results[7] : x[7]))
        fail_msg("%s: carry", instruction);
}

/* Checks an instruction on `rounds` sets of operands, each with a full and a partial mask, in
 * all variants. */
static inline void value_check_rounds(const char *instruction, value_reference *reference,
                                      int rounds)
{
    struct value_program p;
    size_t bytes = (size_t)VALUE_SLOTS * VALUE_SLOT_BYTES;
    for (int variant = 0; variant < value_variants(); variant++) {
        value_open(&p, instruction);
        for (int round = 0; round < 2 * rounds; round++) {
            for (uint32_t r = 0; r < p.d.function->registers.count; r++)
                value_fill(p.before, r * VALUE_SLOT_BYTES, p.d.width[r]);
            value_fill(p.before, VALUE_CARRY * VALUE_SLOT_BYTES, 0);
            struct sim_op op;
            p.d.next = 40;
            p.d.file = p.before;
            if (!value_choose(&p.d, p.ins, variant, &op))
                fail_msg("no handler, or two: %s", instruction);
            memcpy(p.after, p.before, bytes);
            struct sim_warp w = {.file = p.after};
            uint32_t mask = round % 2 ? (uint32_t)value_random() | 1u : SIM_ALL;
            assert_true(op.run(&w, &op, mask));
            for (int lane = 0; lane < SIM_LANES; lane++)
                value_compare(&p, instruction, lane, mask >> lane & 1, reference);
        }
        value_close(&p);
    }
}
/* Checks it on these operands, in all lanes. */
static inline void value_check_on(const char *instruction, value_reference *reference, uint64_t a,
                                  uint64_t b, uint64_t c)
{
    const uint64_t values[] = {a, b, c};
    for (int variant = 0; variant < value_variants(); variant++) {
        struct value_program p;
        value_open(&p, instruction);
        p.d.next = 40;
        p.d.file = p.before;
        for (int i = 0, k = 0; i < p.ins->operand_count; i++) {
            const struct ptx_operand *o = &p.ins->operands[i];
            if (!value_is_written(&p, i) && o->kind == PTX_REGISTER)
                value_fill_with(p.before, o->reg * VALUE_SLOT_BYTES, p.d.width[o->reg],
                                values[k++]);
        }
        struct sim_op op;
        assert_true(value_choose(&p.d, p.ins, variant, &op));
        memcpy(p.after, p.before, (size_t)VALUE_SLOTS * VALUE_SLOT_BYTES);
        struct sim_warp w = {.file = p.after};
        assert_true(op.run(&w, &op, SIM_ALL));
        for (int lane = 0; lane < SIM_LANES; lane++)
            value_compare(&p, instruction, lane, true, reference);
        value_close(&p);
    }
}
static inline void value_check(const char *instruction, value_reference *reference)
{
    value_check_rounds(instruction, reference, 60);
}

#endif
