/* Bits: PTX ISA, logic-and-shift-instructions, and the integer-arithmetic-instructions that
 * count, find, extract and insert bits. Shift counts above the width act as the width.
 * Predicates are words with a bit for each lane. */
#include "sim/sim_value.h"

/* --- logic --- */

#define LOGIC(bits)                                                                                \
    SIM_BINARY(and_##bits, uint##bits##_t, uint##bits##_t, uint##bits##_t, a &b)                   \
    SIM_BINARY(or_##bits, uint##bits##_t, uint##bits##_t, uint##bits##_t, a | b)                   \
    SIM_BINARY(xor_##bits, uint##bits##_t, uint##bits##_t, uint##bits##_t, a ^ b)                  \
    SIM_UNARY(not_##bits, uint##bits##_t, uint##bits##_t, ~a)                                      \
    SIM_UNARY(cnot_##bits, uint##bits##_t, uint##bits##_t, a == 0)
LOGIC(16)
LOGIC(32)
LOGIC(64)

#define PREDICATES(name, x)                                                                        \
    SIM_HANDLER(name)                                                                              \
    {                                                                                              \
        const uint32_t a = sim_condition(w, op, 1), b = sim_condition(w, op, 2);                   \
        sim_set_predicate(sim_predicate(w, op, 0), x, mask);                                       \
        return true;                                                                               \
    }
PREDICATES(and_predicates, a &b)
PREDICATES(or_predicates, a | b)
PREDICATES(xor_predicates, a ^ b)
SIM_HANDLER(not_predicates)
{
    sim_set_predicate(sim_predicate(w, op, 0), ~sim_condition(w, op, 1), mask);
    return true;
}

/* Computes the function whose truth table is in imm: its bit (a << 2 | b << 1 | c). Common
 * tables have a loop of their own; the general function adds eight products. */
static inline uint32_t lop3(uint32_t a, uint32_t b, uint32_t c, const uint32_t t[8])
{
    return (~a & ~b & ~c & t[0]) | (~a & ~b & c & t[1]) | (~a & b & ~c & t[2]) |
           (~a & b & c & t[3]) | (a & ~b & ~c & t[4]) | (a & ~b & c & t[5]) | (a & b & ~c & t[6]) |
           (a & b & c & t[7]);
}
static inline void lop3_table(const struct sim_op *op, uint32_t t[8])
{
    for (int i = 0; i < 8; i++)
        t[i] = op->imm >> i & 1 ? UINT32_MAX : 0;
}
SIM_HANDLER(lop3_any)
{
    uint32_t *d = sim_lanes(w, op, 0);
    SIM_OPERAND(uint32_t, pa, 1)
    SIM_OPERAND(uint32_t, pb, 2)
    SIM_OPERAND(uint32_t, pc, 3)
    uint32_t t[8];
    lop3_table(op, t);
    SIM_LOOPS(uint32_t, SIM_LANES, SIM_LOAD3(uint32_t, uint32_t, uint32_t), lop3(a, b, c, t))
}
SIM_TERNARY(lop3_xor, uint32_t, uint32_t, uint32_t, uint32_t, a ^ b ^ c)
SIM_TERNARY(lop3_or, uint32_t, uint32_t, uint32_t, uint32_t, a | b | c)
SIM_TERNARY(lop3_and, uint32_t, uint32_t, uint32_t, uint32_t, a &b &c)
SIM_TERNARY(lop3_and_or, uint32_t, uint32_t, uint32_t, uint32_t, (a & b) | c)
SIM_TERNARY(lop3_and_xor, uint32_t, uint32_t, uint32_t, uint32_t, (a & b) ^ c)

/* lop3.or d|p, a, b, c, table, q: p is (d != 0) or q. Slots: d p a b c table q; q is in slot 5. */
enum { LOP3_Q = 5 };
SIM_HANDLER(lop3_predicate)
{
    uint32_t *d = sim_lanes(w, op, 0);
    SIM_OPERAND(uint32_t, pa, 2)
    SIM_OPERAND(uint32_t, pb, 3)
    SIM_OPERAND(uint32_t, pc, 4)
    uint32_t t[8], flags = 0, q = sim_condition(w, op, LOP3_Q);
    lop3_table(op, t);
    for (int i = 0; i < SIM_LANES; i++) {
        const uint32_t result = lop3(pa[i], pb[i], pc[i], t);
        flags |= result ? sim_bit[i] : 0;
        d[i] = mask & sim_bit[i] ? result : d[i];
    }
    sim_set_predicate(sim_predicate(w, op, 1), op->small ? flags & q : flags | q, mask);
    return true;
}

/* --- shifts --- */

static inline uint32_t shl_u32(uint32_t a, uint32_t n)
{
    return n > 31 ? 0 : a << n;
}
static inline uint32_t shr_u32(uint32_t a, uint32_t n)
{
    return n > 31 ? 0 : a >> n;
}
static inline uint64_t shl_u64(uint64_t a, uint32_t n)
{
    return n > 63 ? 0 : a << (n & 63);
}
static inline uint64_t shr_u64(uint64_t a, uint32_t n)
{
    return n > 63 ? 0 : a >> (n & 63);
}
static inline int32_t sar_s32(int32_t a, uint32_t n)
{
    return a >> (n > 31 ? 31 : n);
}
static inline int64_t sar_s64(int64_t a, uint32_t n)
{
    return a >> (n > 63 ? 63 : n);
}
SIM_BINARY(shl_16, uint16_t, uint16_t, uint32_t, shl_u32(a, b))
SIM_BINARY(shl_32, uint32_t, uint32_t, uint32_t, shl_u32(a, b))
SIM_BINARY(shl_64, uint64_t, uint64_t, uint32_t, shl_u64(a, b))
#define RIGHT(bits, wide)                                                                          \
    SIM_BINARY(right_##bits, uint##bits##_t, uint##bits##_t, uint32_t, shr_u##wide(a, b))          \
    SIM_BINARY(right_signed_##bits, int##bits##_t, int##bits##_t, uint32_t, sar_s##wide(a, b))
RIGHT(16, 32)
RIGHT(32, 32)
RIGHT(64, 64)

/* Funnel shifts of b:a, n from 0 to 32: left shifts give the high word, right shifts the low
 * word. */
static inline uint32_t funnel_left(uint32_t a, uint32_t b, uint32_t n)
{
    return (uint32_t)((((uint64_t)b << 32 | a) << n) >> 32);
}
static inline uint32_t funnel_right(uint32_t a, uint32_t b, uint32_t n)
{
    return (uint32_t)(((uint64_t)b << 32 | a) >> n);
}
SIM_TERNARY(shf_l_clamp, uint32_t, uint32_t, uint32_t, uint32_t, funnel_left(a, b, c > 32 ? 32 : c))
SIM_TERNARY(shf_r_clamp, uint32_t, uint32_t, uint32_t, uint32_t,
            funnel_right(a, b, c > 32 ? 32 : c))
SIM_TERNARY(shf_l_wrap, uint32_t, uint32_t, uint32_t, uint32_t, funnel_left(a, b, c & 31))
SIM_TERNARY(shf_r_wrap, uint32_t, uint32_t, uint32_t, uint32_t, funnel_right(a, b, c & 31))

/* --- bytes --- */

/* Returns byte `select` & 7 of b:a; if bit 3 of `select` is set, the byte's sign in all bits. */
static inline uint32_t pick(uint32_t a, uint32_t b, uint32_t select)
{
    uint64_t both = (uint64_t)b << 32 | a;
    uint32_t byte = (uint32_t)(both >> (select & 7) * 8) & 0xff;
    return select & 8 ? (byte & 0x80 ? 0xff : 0) : byte;
}
static inline uint32_t prmt(uint32_t a, uint32_t b, uint32_t s)
{
    return pick(a, b, s) | pick(a, b, s >> 4) << 8 | pick(a, b, s >> 8) << 16 |
           pick(a, b, s >> 12) << 24;
}
SIM_TERNARY(prmt_any, uint32_t, uint32_t, uint32_t, uint32_t, prmt(a, b, c))

#if !defined(SIM_V3) /* seldom */
/* The selectors of each mode, indexed by the low two bits of c. */
static const uint16_t prmt_f4e[4] = {0x3210, 0x4321, 0x5432, 0x6543};
static const uint16_t prmt_b4e[4] = {0x5670, 0x6701, 0x7012, 0x0123};
static const uint16_t prmt_rc8[4] = {0x0000, 0x1111, 0x2222, 0x3333};
static const uint16_t prmt_ecl[4] = {0x3210, 0x3211, 0x3222, 0x3333};
static const uint16_t prmt_ecr[4] = {0x0000, 0x1110, 0x2210, 0x3210};
static const uint16_t prmt_rc16[4] = {0x1010, 0x3232, 0x1010, 0x3232};
SIM_RARE3(prmt_to_f4e, uint32_t, uint32_t, uint32_t, uint32_t, prmt(a, b, prmt_f4e[c & 3]))
SIM_RARE3(prmt_to_b4e, uint32_t, uint32_t, uint32_t, uint32_t, prmt(a, b, prmt_b4e[c & 3]))
SIM_RARE3(prmt_to_rc8, uint32_t, uint32_t, uint32_t, uint32_t, prmt(a, b, prmt_rc8[c & 3]))
SIM_RARE3(prmt_to_ecl, uint32_t, uint32_t, uint32_t, uint32_t, prmt(a, b, prmt_ecl[c & 3]))
SIM_RARE3(prmt_to_ecr, uint32_t, uint32_t, uint32_t, uint32_t, prmt(a, b, prmt_ecr[c & 3]))
SIM_RARE3(prmt_to_rc16, uint32_t, uint32_t, uint32_t, uint32_t, prmt(a, b, prmt_rc16[c & 3]))

/* --- counts and places --- */

static inline uint32_t popc_u32(uint32_t a)
{
    a -= a >> 1 & 0x55555555u;
    a = (a & 0x33333333u) + (a >> 2 & 0x33333333u);
    a = (a + (a >> 4)) & 0x0f0f0f0fu;
    return a * 0x01010101u >> 24;
}
static inline uint32_t brev_u32(uint32_t a)
{
    a = (a >> 1 & 0x55555555u) | (a & 0x55555555u) << 1;
    a = (a >> 2 & 0x33333333u) | (a & 0x33333333u) << 2;
    a = (a >> 4 & 0x0f0f0f0fu) | (a & 0x0f0f0f0fu) << 4;
    a = (a >> 8 & 0x00ff00ffu) | (a & 0x00ff00ffu) << 8;
    return a >> 16 | a << 16;
}
/* Counts the zeros above the highest set bit: sets all bits below it, then counts. */
static inline uint32_t clz_u32(uint32_t a)
{
    a |= a >> 1;
    a |= a >> 2;
    a |= a >> 4;
    a |= a >> 8;
    a |= a >> 16;
    return popc_u32(~a);
}
static inline uint32_t clz_u64(uint64_t a)
{
    return a >> 32 ? clz_u32((uint32_t)(a >> 32)) : 32 + clz_u32((uint32_t)a);
}
SIM_UNARY(popc_32, uint32_t, uint32_t, popc_u32(a))
SIM_UNARY(popc_64, uint32_t, uint64_t, popc_u32((uint32_t)a) + popc_u32((uint32_t)(a >> 32)))
SIM_UNARY(clz_32, uint32_t, uint32_t, clz_u32(a))
SIM_UNARY(clz_64, uint32_t, uint64_t, clz_u64(a))
SIM_UNARY(brev_32, uint32_t, uint32_t, brev_u32(a))
SIM_UNARY(brev_64, uint64_t, uint64_t,
          (uint64_t)brev_u32((uint32_t)a) << 32 | brev_u32((uint32_t)(a >> 32)))

/* Finds the highest set bit, for a signed number the highest bit that differs from the sign; all
 * ones: none. shiftamt: the left shift that moves it to the top. */
#define BFIND(type, bits, flip)                                                                    \
    SIM_UNARY(bfind_##type, uint32_t, uint##bits##_t, bits - 1 - clz_u##bits(flip))                \
    SIM_UNARY(bfind_amount_##type, uint32_t, uint##bits##_t,                                       \
              (flip) ? clz_u##bits(flip) : UINT32_MAX)
BFIND(u32, 32, a)
BFIND(u64, 64, a)
BFIND(s32, 32, a >> 31 ? ~a : a)
BFIND(s64, 64, a >> 63 ? ~a : a)

/* Returns the place of the |n|-th set bit of the mask, counted from `base` upwards, or downwards
 * if n is negative. n = 0: `base`, if that bit is set. All ones: none. */
static uint32_t find_nth_set(uint32_t bits, uint32_t base, int32_t n)
{
    if (n == 0)
        return base < 32 && (bits >> base & 1) ? base : UINT32_MAX;
    int64_t left = n < 0 ? -(int64_t)n : n;
    for (int64_t at = base; at >= 0 && at < 32; at += n < 0 ? -1 : 1)
        if ((bits >> at & 1) && --left == 0)
            return (uint32_t)at;
    return UINT32_MAX;
}
SIM_RARE3(fns, uint32_t, uint32_t, uint32_t, int32_t, find_nth_set(a, b, c))

/* --- fields --- */

/* Returns `length` low ones: the bits of a field. */
static inline uint64_t field_mask(uint32_t length)
{
    return length > 63 ? UINT64_MAX : ((uint64_t)1 << length) - 1;
}
/* Returns the part of a place or length that counts. PTX takes the low 8 bits. GPUs take all
 * bits for 64-bit fields, which take several machine instructions. */
static inline uint32_t field_number(uint32_t n, uint32_t bits)
{
    return bits == 64 ? n : n & 0xff;
}
static inline uint64_t bfe_unsigned(uint64_t a, uint32_t at, uint32_t length, uint32_t bits)
{
    return shr_u64(a, field_number(at, bits)) & field_mask(field_number(length, bits));
}
/* Extracts a field of a number that was sign-extended to 64 bits; its low `bits` bits count. */
static inline uint64_t bfe_signed(int64_t a, uint32_t at, uint32_t length, uint32_t bits)
{
    at = field_number(at, bits);
    length = field_number(length, bits);
    if (length == 0)
        return 0;
    uint64_t end = (uint64_t)at + length;
    uint32_t last = end < bits ? (uint32_t)end - 1 : bits - 1;
    uint64_t field = (uint64_t)sar_s64(a, at) & field_mask(length);
    uint64_t above = ~field_mask(length);
    return a >> last & 1 ? field | above : field;
}
static inline uint64_t bfi(uint64_t a, uint64_t b, uint32_t at, uint32_t length, uint32_t bits)
{
    at = field_number(at, bits);
    length = field_number(length, bits);
    if (at >= bits)
        return b;
    uint64_t field = field_mask(length) << at;
    return (b & ~field) | (a << at & field);
}
SIM_TERNARY(bfe_u32, uint32_t, uint32_t, uint32_t, uint32_t, bfe_unsigned(a, b, c, 32))
SIM_TERNARY(bfe_u64, uint64_t, uint64_t, uint32_t, uint32_t, bfe_unsigned(a, b, c, 64))
SIM_TERNARY(bfe_s32, uint32_t, int32_t, uint32_t, uint32_t, bfe_signed(a, b, c, 32))
SIM_TERNARY(bfe_s64, uint64_t, int64_t, uint32_t, uint32_t, bfe_signed(a, b, c, 64))
#define INSERT(bits)                                                                               \
    SIM_HANDLER(bfi_##bits)                                                                        \
    {                                                                                              \
        uint##bits##_t *d = sim_lanes(w, op, 0);                                                   \
        SIM_OPERAND(uint##bits##_t, pa, 1)                                                         \
        SIM_OPERAND(uint##bits##_t, pb, 2)                                                         \
        SIM_OPERAND(uint32_t, pc, 3)                                                               \
        SIM_OPERAND(uint32_t, length, 4)                                                           \
        SIM_LOOPS(uint##bits##_t, SIM_LANES, SIM_LOAD3(uint##bits##_t, uint##bits##_t, uint32_t),  \
                  bfi(a, b, c, length[i], bits))                                                   \
    }
INSERT(32)
INSERT(64)

/* bmsk: b ones from bit a on. */
SIM_BINARY(bmsk_clamp, uint32_t, uint32_t, uint32_t,
           shl_u32((uint32_t)field_mask(b > 32 ? 32 : b), a))
SIM_BINARY(bmsk_wrap, uint32_t, uint32_t, uint32_t, (uint32_t)field_mask(b & 31) << (a & 31))
/* szext: the low b bits, extended. */
static inline uint32_t szext_s32(uint32_t a, uint32_t length)
{
    if (length == 0)
        return 0;
    if (length > 31)
        return a;
    uint32_t sign = 1u << (length - 1);
    return ((a & (uint32_t)field_mask(length)) ^ sign) - sign;
}
SIM_BINARY(szext_u32_clamp, uint32_t, uint32_t, uint32_t, a &field_mask(b))
SIM_BINARY(szext_u32_wrap, uint32_t, uint32_t, uint32_t, a &field_mask(b & 31))
SIM_BINARY(szext_s32_clamp, uint32_t, uint32_t, uint32_t, szext_s32(a, b))
SIM_BINARY(szext_s32_wrap, uint32_t, uint32_t, uint32_t, szext_s32(a, b & 31))
#endif

/* --- choice --- */

#define LONG_ROWS(handler, id)                                                                     \
    SIM_ROW(handler##_32, id, MOD_B32), SIM_ROW(handler##_64, id, MOD_B64)
#define WIDTH_ROWS(handler, id) SIM_ROW(handler##_16, id, MOD_B16), LONG_ROWS(handler, id)
#define LOGIC_ROWS(handler, id) WIDTH_ROWS(handler, id), SIM_ROW(handler##_predicates, id, MOD_PRED)
#define RIGHT_ROWS(bits)                                                                           \
    SIM_ROW(right_##bits, SHR, MOD_B##bits), SIM_ROW(right_##bits, SHR, MOD_U##bits),              \
        SIM_ROW(right_signed_##bits, SHR, MOD_S##bits)
#define EDGE_ROWS(handler, id, ...)                                                                \
    SIM_ROW(handler##_clamp, id, MOD_CLAMP, __VA_ARGS__),                                          \
        SIM_ROW(handler##_wrap, id, MOD_WRAP, __VA_ARGS__)
#define PRMT_ROW(mode, MODE) SIM_ROW(prmt_to_##mode, PRMT, MOD_B32, MOD_##MODE)
/* The rows of a type: finding its highest bit and extracting fields. */
#define FIELD_ROWS(type, TYPE)                                                                     \
    SIM_ROW(bfind_##type, BFIND, MOD_##TYPE),                                                      \
        SIM_ROW(bfind_amount_##type, BFIND, MOD_SHIFT_AMOUNT, MOD_##TYPE),                         \
        SIM_ROW(bfe_##type, BFE, MOD_##TYPE)
static const struct sim_value_row bits_rows[] = {
    LOGIC_ROWS(and, AND),
    LOGIC_ROWS(or, OR),
    LOGIC_ROWS(xor, XOR),
    LOGIC_ROWS(not, NOT),
    WIDTH_ROWS(cnot, CNOT),
    SIM_ROW(lop3_any, LOP3, MOD_B32),
    SIM_ROW(lop3_predicate, LOP3, MOD_OR, MOD_B32),
    SIM_ROW(lop3_predicate, LOP3, MOD_AND, MOD_B32),
    WIDTH_ROWS(shl, SHL),
    RIGHT_ROWS(16),
    RIGHT_ROWS(32),
    RIGHT_ROWS(64),
    EDGE_ROWS(shf_l, SHF, MOD_LEFT, MOD_B32),
    EDGE_ROWS(shf_r, SHF, MOD_RIGHT, MOD_B32),
    SIM_ROW(prmt_any, PRMT, MOD_B32),
#if !defined(SIM_V3)
    PRMT_ROW(f4e, F4E),
    PRMT_ROW(b4e, B4E),
    PRMT_ROW(rc8, RC8),
    PRMT_ROW(ecl, ECL),
    PRMT_ROW(ecr, ECR),
    PRMT_ROW(rc16, RC16),
    LONG_ROWS(popc, POPC),
    LONG_ROWS(clz, CLZ),
    LONG_ROWS(brev, BREV),
    SIM_ROW(fns, FNS, MOD_B32),
    FIELD_ROWS(u32, U32),
    FIELD_ROWS(u64, U64),
    FIELD_ROWS(s32, S32),
    FIELD_ROWS(s64, S64),
    LONG_ROWS(bfi, BFI),
    EDGE_ROWS(bmsk, BMSK, MOD_B32),
    EDGE_ROWS(szext_u32, SZEXT, MOD_U32),
    EDGE_ROWS(szext_s32, SZEXT, MOD_S32),
#endif
};

/* Returns the handler of a table with a loop of its own. */
static sim_handler *lop3_handler(int64_t table)
{
    switch (table) {
    case 0x96: return lop3_xor;
    case 0xfe: return lop3_or;
    case 0x80: return lop3_and;
    case 0xea: return lop3_and_or;
    case 0x6a: return lop3_and_xor;
    default: return lop3_any;
    }
}

bool sim_choose_bits(struct sim_decoder *d, const struct ptx_instruction *ins, struct sim_op *op)
{
    if (!sim_value_choose(d, ins, op, bits_rows, sizeof bits_rows / sizeof *bits_rows))
        return false;
    if (op->run == lop3_any)
        op->run = lop3_handler(op->imm);
    op->small = op->run == lop3_predicate && ptx_has(ins, MOD_AND);
    return true;
}
