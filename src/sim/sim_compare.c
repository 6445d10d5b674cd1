/* Comparison and selection: PTX ISA, comparison-and-selection-instructions and
 * half-precision-comparison-instructions.
 *
 * A comparison makes a word of flags, a bit for each lane; setp and set are two ways to use it.
 * There are few comparisons: a > b is b < a, and for integers a <= b is not b < a; the choice
 * swaps operands and inverts. For floats, `ne` is true only for numbers, and an unordered
 * comparison is the opposite ordered one inverted. */
#include "sim/sim_value.h"

/* Slots of setp and set: the result, setp's second result, a, b, the predicate to combine with
 * (true if the instruction has none). */
enum { FIRST, SECOND, LEFT, RIGHT, WITH };
/* op->small */
enum { WITH_OR = 1, WITH_XOR = 2, INVERTED = 4 };

static inline uint32_t combined(const struct sim_op *op, uint32_t flags, uint32_t with)
{
    return op->small & WITH_OR ? flags | with : op->small & WITH_XOR ? flags ^ with : flags & with;
}
static inline uint32_t inversion(const struct sim_op *op)
{
    return op->small & INVERTED ? UINT32_MAX : 0;
}

/* Sets half `which` of each lane: op->imm if the lane's flag is set, otherwise 0. */
static SIM_APART bool set_halves(struct sim_warp *w, const struct sim_op *op, uint32_t mask,
                                 uint32_t flags, int which)
{
    uint16_t *d = sim_lanes(w, op, FIRST);
    for (int i = 0; i < SIM_LANES; i++)
        if (mask & sim_bit[i])
            d[2 * i + which] = flags & sim_bit[i] ? (uint16_t)op->imm : 0;
    return true;
}
static SIM_APART bool set_lanes(struct sim_warp *w, const struct sim_op *op, uint32_t mask,
                                uint32_t flags, int values)
{
    if (values == 2)
        return set_halves(w, op, mask, flags, 0);
    uint32_t *words = sim_lanes(w, op, FIRST);
    uint16_t *halves = sim_lanes(w, op, FIRST);
    if (op->bytes == 4) {
        for (int i = 0; i < SIM_LANES; i++)
            if (mask & sim_bit[i])
                words[i] = flags & sim_bit[i] ? (uint32_t)op->imm : 0;
    } else {
        for (int i = 0; i < SIM_LANES; i++)
            if (mask & sim_bit[i])
                halves[i] = flags & sim_bit[i] ? (uint16_t)op->imm : 0;
    }
    return true;
}

static SIM_APART bool setp_of(struct sim_warp *w, const struct sim_op *op, uint32_t mask,
                              uint32_t flags)
{
    const uint32_t with = sim_condition(w, op, WITH);
    sim_set_predicate(sim_predicate(w, op, FIRST), combined(op, flags, with), mask);
    if (op->slot[SECOND] != SIM_NO_SLOT)
        sim_set_predicate(sim_predicate(w, op, SECOND), combined(op, ~flags, with), mask);
    return true;
}
static SIM_APART bool set_of(struct sim_warp *w, const struct sim_op *op, uint32_t mask,
                             uint32_t flags)
{
    return set_lanes(w, op, mask, combined(op, flags, sim_condition(w, op, WITH)), 1);
}

/* Defines a comparison of one value in each lane: the flags, setp, set. op->imm is the value
 * that set writes for true, op->bytes its width. */
#define COMPARE(name, T, x)                                                                        \
    static SIM_APART uint32_t flags_##name(struct sim_warp *w, const struct sim_op *op)            \
    {                                                                                              \
        SIM_OPERAND(T, pa, LEFT)                                                                   \
        SIM_OPERAND(T, pb, RIGHT)                                                                  \
        SIM_WHERE(flags, SIM_LOAD2(T, T), x)                                                       \
        return flags ^ inversion(op);                                                              \
    }                                                                                              \
    SIM_HANDLER(setp_##name)                                                                       \
    {                                                                                              \
        return setp_of(w, op, mask, flags_##name(w, op));                                          \
    }                                                                                              \
    SIM_HANDLER(set_##name)                                                                        \
    {                                                                                              \
        return set_of(w, op, mask, flags_##name(w, op));                                           \
    }

/* --- comparisons --- */

COMPARE(eq_16, uint16_t, a == b)
COMPARE(eq_32, uint32_t, a == b)
COMPARE(eq_64, uint64_t, a == b)
COMPARE(lt_u16, uint16_t, a < b)
COMPARE(lt_s16, int16_t, a < b)
COMPARE(lt_u32, uint32_t, a < b)
COMPARE(lt_s32, int32_t, a < b)
COMPARE(lt_u64, uint64_t, a < b)
COMPARE(lt_s64, int64_t, a < b)

/* `v` makes a C float of a register's bits. */
#define FLOATS(WHICH, type, v)                                                                     \
    WHICH(type, eq, v(a) == v(b))                                                                  \
    WHICH(type, ne, v(a) < v(b) || v(a) > v(b))                                                    \
    WHICH(type, lt, v(a) < v(b))                                                                   \
    WHICH(type, le, v(a) <= v(b))                                                                  \
    WHICH(type, num, v(a) == v(a) && v(b) == v(b))
#define OF_32_BITS(type, how, x) COMPARE(how##_##type, uint32_t, x)
#define OF_64_BITS(type, how, x) COMPARE(how##_##type, uint64_t, x)
#define FLUSHED(a) f32_from_bits(sim_f32_flush(a))
FLOATS(OF_32_BITS, f32, f32_from_bits)
FLOATS(OF_32_BITS, f32_ftz, FLUSHED)
FLOATS(OF_64_BITS, f64, f64_from_bits)

/* --- 16-bit floats, which are rare --- */

#if !defined(SIM_V3)

static SIM_APART bool setp_of_pairs(struct sim_warp *w, const struct sim_op *op, uint32_t mask,
                                    uint32_t low, uint32_t high)
{
    const uint32_t with = sim_condition(w, op, WITH);
    sim_set_predicate(sim_predicate(w, op, FIRST), combined(op, low, with), mask);
    sim_set_predicate(sim_predicate(w, op, SECOND), combined(op, high, with), mask);
    return true;
}
static SIM_APART bool set_of_pairs(struct sim_warp *w, const struct sim_op *op, uint32_t mask,
                                   uint32_t low, uint32_t high)
{
    const uint32_t with = sim_condition(w, op, WITH);
    set_lanes(w, op, mask, combined(op, low, with), 2);
    return set_halves(w, op, mask, combined(op, high, with), 1);
}

/* Defines a comparison of two values in each lane: setp has a predicate for the lower value and
 * one for the upper. */
#define COMPARE_PAIRS(name, x)                                                                     \
    static SIM_APART uint32_t flags_##name(struct sim_warp *w, const struct sim_op *op, int half)  \
    {                                                                                              \
        SIM_OPERAND(uint16_t, pa, LEFT)                                                            \
        SIM_OPERAND(uint16_t, pb, RIGHT)                                                           \
        SIM_WHERE(flags, const uint16_t a = pa[2 * i + half];                                      \
                  const uint16_t b = pb[2 * i + half], x)                                          \
        return flags ^ inversion(op);                                                              \
    }                                                                                              \
    SIM_HANDLER(setp_##name)                                                                       \
    {                                                                                              \
        return setp_of_pairs(w, op, mask, flags_##name(w, op, 0), flags_##name(w, op, 1));         \
    }                                                                                              \
    SIM_HANDLER(set_##name)                                                                        \
    {                                                                                              \
        return set_of_pairs(w, op, mask, flags_##name(w, op, 0), flags_##name(w, op, 1));          \
    }

#define OF_16_BITS(type, how, x)                                                                   \
    COMPARE(how##_##type, uint16_t, x) COMPARE_PAIRS(how##_##type##x2, x)
#define OF_F16(a) f32_from_bits(sim_f16_widen(a))
#define OF_F16_FLUSHED(a) f32_from_bits(sim_f16_widen(sim_f16_flush(a)))
#define OF_BF16(a) f32_from_bits(sim_bf16_widen(a))
FLOATS(OF_16_BITS, f16, OF_F16)
FLOATS(OF_16_BITS, f16_ftz, OF_F16_FLUSHED)
FLOATS(OF_16_BITS, bf16, OF_BF16)

#endif

/* --- choice of a comparison --- */

struct comparison {
    sim_handler *setp, *set;
};
#define HANDLERS(name)                                                                             \
    {                                                                                              \
        setp_##name, set_##name                                                                    \
    }
enum { EQUAL, DIFFERENT, LESS, LESS_EQUAL, NUMBERS, COMPARISONS };
/* Comparisons of a type; integers need only `less` and `equal`. */
struct comparisons {
    uint16_t type;
    bool ftz;
    struct comparison how[COMPARISONS];
};
#define INTEGER_ROW(mod, eq, lt)                                                                   \
    {                                                                                              \
        MOD_##mod, false,                                                                          \
        {                                                                                          \
            [EQUAL] = HANDLERS(eq), [LESS] = HANDLERS(lt)                                          \
        }                                                                                          \
    }
#define FLOAT_ROW(mod, ftz, type)                                                                  \
    {                                                                                              \
        MOD_##mod, ftz,                                                                            \
        {                                                                                          \
            [EQUAL] = HANDLERS(eq_##type), [DIFFERENT] = HANDLERS(ne_##type),                      \
            [LESS] = HANDLERS(lt_##type), [LESS_EQUAL] = HANDLERS(le_##type),                      \
            [NUMBERS] = HANDLERS(num_##type)                                                       \
        }                                                                                          \
    }
static const struct comparisons comparisons[] = {
    INTEGER_ROW(B16, eq_16, lt_u16), INTEGER_ROW(B32, eq_32, lt_u32),
    INTEGER_ROW(B64, eq_64, lt_u64), INTEGER_ROW(U16, eq_16, lt_u16),
    INTEGER_ROW(U32, eq_32, lt_u32), INTEGER_ROW(U64, eq_64, lt_u64),
    INTEGER_ROW(S16, eq_16, lt_s16), INTEGER_ROW(S32, eq_32, lt_s32),
    INTEGER_ROW(S64, eq_64, lt_s64), FLOAT_ROW(F32, false, f32),
    FLOAT_ROW(F32, true, f32_ftz),   FLOAT_ROW(F64, false, f64),
#if !defined(SIM_V3)
    FLOAT_ROW(F16, false, f16),      FLOAT_ROW(F16, true, f16_ftz),
    FLOAT_ROW(F16X2, false, f16x2),  FLOAT_ROW(F16X2, true, f16_ftzx2),
    FLOAT_ROW(BF16, false, bf16),    FLOAT_ROW(BF16X2, false, bf16x2),
#endif
};

/* Each comparison in terms of the few that have handlers. */
static const struct {
    uint16_t mod;
    uint8_t integer, number; /* of integers, of floats */
    bool swapped, inverted;  /* of integers; of floats: */
    bool float_swapped, float_inverted;
} spellings[] = {
    {MOD_EQ, EQUAL, EQUAL, false, false, false, false},
    {MOD_NE, EQUAL, DIFFERENT, false, true, false, false},
    {MOD_LT, LESS, LESS, false, false, false, false},
    {MOD_LE, LESS, LESS_EQUAL, true, true, false, false},
    {MOD_GT, LESS, LESS, true, false, true, false},
    {MOD_GE, LESS, LESS_EQUAL, false, true, true, false},
    {MOD_LO, LESS, COMPARISONS, false, false, false, false},
    {MOD_LS, LESS, COMPARISONS, true, true, false, false},
    {MOD_HI, LESS, COMPARISONS, true, false, false, false},
    {MOD_HS, LESS, COMPARISONS, false, true, false, false},
    {MOD_EQU, COMPARISONS, DIFFERENT, false, false, false, true},
    {MOD_NEU, COMPARISONS, EQUAL, false, false, false, true},
    {MOD_LTU, COMPARISONS, LESS_EQUAL, false, false, true, true},
    {MOD_LEU, COMPARISONS, LESS, false, false, true, true},
    {MOD_GTU, COMPARISONS, LESS_EQUAL, false, false, false, true},
    {MOD_GEU, COMPARISONS, LESS, false, false, false, true},
    {MOD_NUM, COMPARISONS, NUMBERS, false, false, false, false},
    {MOD_IS_NAN, COMPARISONS, NUMBERS, false, false, false, true},
};

static const struct comparisons *comparisons_of(const struct ptx_instruction *ins,
                                                enum ptx_mod type)
{
    bool ftz = ptx_has(ins, MOD_FTZ);
    for (size_t i = 0; i < sizeof comparisons / sizeof *comparisons; i++)
        if (comparisons[i].type == type && comparisons[i].ftz == ftz)
            return &comparisons[i];
    return NULL;
}

/* Puts operands into the slots that handlers expect: not every form has a second result. */
static bool place_operands(struct sim_decoder *d, const struct ptx_instruction *ins,
                           struct sim_op *op, bool combines)
{
    if (!sim_value_operands(d, ins, op))
        return false;
    if (ptx_forms[ins->form].slot[SECOND].kind != SLOT_DESTINATION) {
        op->slot[WITH] = op->slot[WITH - 1];
        op->slot[RIGHT] = op->slot[RIGHT - 1];
        op->slot[LEFT] = op->slot[LEFT - 1];
        op->slot[SECOND] = SIM_NO_SLOT;
        op->small2 = (uint16_t)(op->small2 << 1);
    }
    if (!combines)
        op->slot[WITH] = sim_slot_constant(d, 1, 0);
    return true;
}

/* Sets the value that set writes for true, and its width. */
static bool choose_true(struct sim_op *op, enum ptx_mod type, enum ptx_mod source)
{
    bool pairs = source == PTX_F16X2 || source == PTX_BF16X2;
    switch ((int)type) {
    case MOD_U32:
    case MOD_S32: op->imm = pairs ? 0xffff : 0xffffffff; break;
    case MOD_F32: op->imm = 0x3f800000; break;
    case MOD_U16:
    case MOD_S16: op->imm = 0xffff; break;
    case MOD_F16:
    case MOD_F16X2: op->imm = 0x3c00; break;
    case MOD_BF16:
    case MOD_BF16X2: op->imm = 0x3f80; break;
    default: return false;
    }
    op->bytes = (uint8_t)(ptx_mods[type].bits / 8);
    return true;
}

static bool choose_comparison(struct sim_decoder *d, const struct ptx_instruction *ins,
                              struct sim_op *op)
{
    bool set = ins->op == PTX_SET;
    enum ptx_mod type = ptx_type(ins, set ? 1 : 0);
    const struct comparisons *row = comparisons_of(ins, type);
    size_t k = 0, count = sizeof spellings / sizeof *spellings;
    while (k < count && !ptx_has(ins, (enum ptx_mod)spellings[k].mod))
        k++;
    if (!row || k == count || (set && !choose_true(op, ptx_type(ins, 0), type)))
        return false;
    bool number = row->how[NUMBERS].setp;
    uint8_t how = number ? spellings[k].number : spellings[k].integer;
    if (how == COMPARISONS)
        return false;
    bool swapped = number ? spellings[k].float_swapped : spellings[k].swapped;
    bool inverted = number ? spellings[k].float_inverted : spellings[k].inverted;
    bool with_or = ptx_has(ins, MOD_OR), with_xor = ptx_has(ins, MOD_XOR);
    op->run = set ? row->how[how].set : row->how[how].setp;
    op->small =
        (uint16_t)((inverted ? INVERTED : 0) | (with_or ? WITH_OR : 0) | (with_xor ? WITH_XOR : 0));
    if (!place_operands(d, ins, op, with_or || with_xor || ptx_has(ins, MOD_AND)))
        return false;
    if (swapped) {
        uint32_t left = op->slot[LEFT];
        op->slot[LEFT] = op->slot[RIGHT];
        op->slot[RIGHT] = left;
    }
    return true;
}

/* --- selection --- */

#define SELECT(bits)                                                                               \
    SIM_HANDLER(selp_##bits)                                                                       \
    {                                                                                              \
        uint##bits##_t *d = sim_lanes(w, op, 0);                                                   \
        SIM_OPERAND(uint##bits##_t, pa, 1)                                                         \
        SIM_OPERAND(uint##bits##_t, pb, 2)                                                         \
        const uint32_t p = sim_condition(w, op, 3);                                                \
        SIM_LOOPS(uint##bits##_t, SIM_LANES, SIM_LOAD2(uint##bits##_t, uint##bits##_t),            \
                  p &sim_bit[i] ? a : b)                                                           \
    }                                                                                              \
    SIM_TERNARY(slct_s32_##bits, uint##bits##_t, uint##bits##_t, uint##bits##_t, int32_t,          \
                c >= 0 ? a : b)                                                                    \
    SIM_TERNARY(slct_f32_##bits, uint##bits##_t, uint##bits##_t, uint##bits##_t, uint32_t,         \
                f32_from_bits(c) >= 0 ? a : b)                                                     \
    SIM_TERNARY(slct_ftz_##bits, uint##bits##_t, uint##bits##_t, uint##bits##_t, uint32_t,         \
                FLUSHED(c) >= 0 ? a : b)
SELECT(16)
SELECT(32)
SELECT(64)

static bool choose_selection(struct sim_decoder *d, const struct ptx_instruction *ins,
                             struct sim_op *op)
{
    static sim_handler *const handlers[4][3] = {
        {selp_16, selp_32, selp_64},
        {slct_s32_16, slct_s32_32, slct_s32_64},
        {slct_f32_16, slct_f32_32, slct_f32_64},
        {slct_ftz_16, slct_ftz_32, slct_ftz_64},
    };
    int bits = ptx_mods[ptx_type(ins, 0)].bits;
    int width = bits == 16 ? 0 : bits == 32 ? 1 : bits == 64 ? 2 : -1;
    int way = 0;
    if (ins->op == PTX_SLCT)
        way = ptx_type(ins, 1) == PTX_S32 ? 1 : ptx_has(ins, MOD_FTZ) ? 3 : 2;
    if (width < 0)
        return false;
    op->run = handlers[way][width];
    return sim_value_operands(d, ins, op);
}

bool sim_choose_compare(struct sim_decoder *d, const struct ptx_instruction *ins, struct sim_op *op)
{
    switch (ins->op) {
    case PTX_SETP:
    case PTX_SET: return choose_comparison(d, ins, op);
    case PTX_SELP:
    case PTX_SLCT: return choose_selection(d, ins, op);
    default: return false;
    }
}
