/* atom and red. Lanes take turns from lane 0 on; with a seed, from a random lane on.
 *
 * op->small: operation; op->small2: type; op->target: bytes of an element; op->more: slots of
 * the results (for atom; op->slot[0] is the first), then of the operands, then of the values
 * that cas stores. */
#include "base/dtype.h"
#include "sim/sim_machine.h"
#include "sim/sim_value.h"

#include <math.h>
#include <string.h>

struct element {
    uint64_t low, high; /* high: of .b128 */
};

static float as_f32(uint64_t bits)
{
    uint32_t word = (uint32_t)bits;
    float v;
    memcpy(&v, &word, sizeof v);
    return v;
}
static uint64_t of_f32(float v)
{
    uint32_t word;
    memcpy(&word, &v, sizeof word);
    return isnan(v) ? 0x7fffffff : word;
}

/* Flushes a subnormal: atom.add.f32 does so in global memory. PTX ISA,
 * parallel-synchronization-and-communication-instructions-atom */
static float flushed(float v)
{
    return fpclassify(v) == FP_SUBNORMAL ? copysignf(0, v) : v;
}

static uint64_t add_f32(uint64_t a, uint64_t b, bool flush)
{
    float x = as_f32(a), y = as_f32(b);
    return flush ? of_f32(flushed(flushed(x) + flushed(y))) : of_f32(x + y);
}

/* Adds f64. In global memory a NaN is passed on unchanged, the operand's before the one in
 * memory. In shared memory it is an addition of registers: the NaN in memory comes first and
 * becomes quiet. */
static uint64_t add_f64(uint64_t a, uint64_t b, bool shared)
{
    double x, y;
    memcpy(&x, &a, sizeof x);
    memcpy(&y, &b, sizeof y);
    if (isnan(x) || isnan(y)) {
        if (shared)
            return sim_f64_quiet(isnan(x) ? a : b);
        return isnan(y) ? b : a;
    }
    x += y;
    memcpy(&a, &x, sizeof a);
    return isnan(x) ? UINT64_C(0xfff8000000000000) : a;
}

/* Returns the min or max of halves: a number wins over a NaN, -0 is below 0. */
static float extreme(float x, float y, bool greater)
{
    if (isnan(x) || isnan(y))
        return isnan(x) ? y : x;
    if (x == y)
        return (signbit(x) != 0) == greater ? y : x;
    return (x > y) == greater ? x : y;
}

static uint16_t half(unsigned op, bool brain, uint16_t a, uint16_t b)
{
    float x = brain ? bf16_to_f32(a) : f16_to_f32(a), y = brain ? bf16_to_f32(b) : f16_to_f32(b);
    float z = op == MOD_ADD ? x + y : extreme(x, y, op == MOD_MAX);
    return isnan(z) ? 0x7fff : brain ? f32_to_bf16(z) : f32_to_f16(z);
}

static uint64_t halves(unsigned op, unsigned type, uint64_t a, uint64_t b)
{
    bool brain = type == MOD_BF16 || type == MOD_BF16X2;
    uint64_t low = half(op, brain, (uint16_t)a, (uint16_t)b);
    if (type == MOD_F16 || type == MOD_BF16)
        return low;
    return low | (uint64_t)half(op, brain, (uint16_t)(a >> 16), (uint16_t)(b >> 16)) << 16;
}

static bool below(unsigned type, uint64_t a, uint64_t b)
{
    switch (type) {
    case MOD_S32: return (int32_t)a < (int32_t)b;
    case MOD_S64: return (int64_t)a < (int64_t)b;
    case MOD_U32: return (uint32_t)a < (uint32_t)b;
    default: return a < b;
    }
}

static uint64_t combined(const struct sim_op *op, uint64_t a, uint64_t b)
{
    switch (op->small) {
    case MOD_AND: return a & b;
    case MOD_OR: return a | b;
    case MOD_XOR: return a ^ b;
    case MOD_INC: return (uint32_t)a >= (uint32_t)b ? 0 : a + 1;
    case MOD_DEC: return !(uint32_t)a || (uint32_t)a > (uint32_t)b ? b : a - 1;
    default: break;
    }
    switch (op->small2) {
    case MOD_F32: return add_f32(a, b, op->space != SIM_IN_SHARED);
    case MOD_F64: return add_f64(a, b, op->space == SIM_IN_SHARED);
    case MOD_F16:
    case MOD_BF16:
    case MOD_F16X2:
    case MOD_BF16X2: return halves(op->small, op->small2, a, b);
    default: break;
    }
    if (op->small == MOD_ADD)
        return a + b;
    return below(op->small2, a, b) == (op->small == MOD_MIN) ? a : b;
}

static struct element read_slot(const struct sim_warp *w, uint32_t slot, int lane, size_t bytes)
{
    struct element e = {0, 0};
    memcpy(&e, w->file + slot + (size_t)lane * bytes, bytes);
    return e;
}

/* Updates one element of one lane and puts the old value into the result. Returns true if the
 * value changed. */
static bool update(struct sim_warp *w, const struct sim_op *op, uint8_t *host, uint32_t e, int lane,
                   uint32_t count)
{
    size_t bytes = op->target;
    const uint32_t *result = op->slot[0] != SIM_NO_SLOT ? op->more : NULL;
    const uint32_t *operand = op->more + (result ? count : 0);
    struct element old = {0, 0}, b = read_slot(w, operand[e], lane, bytes), new;
    memcpy(&old, host, bytes);
    if (op->small == MOD_CAS)
        new = old.low == b.low &&old.high == b.high ? read_slot(w, operand[count + e], lane, bytes)
                                                    : old;
    else if (op->small == MOD_EXCH)
        new = b;
    else
        new = (struct element){combined(op, old.low, b.low), 0};
    memcpy(host, &new, bytes);
    if (result)
        memcpy(w->file + result[e] + (size_t)lane * bytes, &old, bytes);
    return memcmp(&old, &new, bytes) != 0;
}

static bool atom(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    struct sim_want want = {
        .kind = SIM_UPDATE, .bytes = op->bytes, .alignment = op->bytes, .element = (int)op->target};
    uint8_t *host[SIM_LANES];
    if (!sim_reach(w, op, mask, &want, host))
        return false;
    uint32_t count = op->bytes / op->target, first = 0;
    bool changed = false;
    if (w->sim->launch->options.seed)
        first = sim_random(w->sim, SIM_LANES);
    for (uint32_t i = 0; i < SIM_LANES; i++) {
        int lane = (int)((i + first) % SIM_LANES);
        if (mask >> lane & 1)
            for (uint32_t e = 0; e < count; e++)
                changed |= update(w, op, host[lane] + e * (size_t)op->target, e, lane, count);
    }
    w->sim->changes += changed;
    if (!changed)
        sim_polls(w, op, mask, false);
    return true;
}

static bool choose_atom(struct sim_decoder *d, const struct ptx_instruction *ins, struct sim_op *op)
{
    enum ptx_mod type = ptx_type(ins, 0);
    bool results = ins->op == PTX_ATOM;
    int at = results ? 1 : 0, sources = ptx_has(ins, MOD_CAS) ? 2 : 1;
    if (!sim_decode_address(d, ins, &ins->operands[at], 0, op))
        return false;
    sim_decode_order(ins, op);
    if (op->order == SIM_WEAK)
        op->order = SIM_RELAXED; /* the default of atom and red */
    op->small = (uint16_t)ptx_find(ins, PTX_CLASS_OPERATION, 0);
    op->small2 = (uint16_t)type;
    op->target = ptx_mods[type].bits / 8;
    if (results && !sim_more_of(d, op, &ins->operands[0], type))
        return false;
    for (int i = 0; i < sources; i++)
        if (!sim_more_of(d, op, &ins->operands[at + 1 + i], type))
            return false;
    uint32_t count = op->more_count / (uint32_t)(sources + results);
    op->bytes = (uint8_t)(count * op->target);
    op->slot[0] = results ? op->more[0] : SIM_NO_SLOT;
    op->run = atom;
    for (int i = 0; i < ins->operand_count; i++) /* registers must be as wide as the type */
        if (ins->operands[i].kind == PTX_REGISTER && i != at && i <= at + sources &&
            sim_operand_bytes(d, &ins->operands[i], type) != (int)op->target)
            return false;
    return op->small != MOD_NONE;
}

bool sim_choose_atomic(struct sim_decoder *d, const struct ptx_instruction *ins, struct sim_op *op)
{
    return (ins->op == PTX_ATOM || ins->op == PTX_RED) && choose_atom(d, ins, op);
}
