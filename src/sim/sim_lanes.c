/* Instructions that lanes of a warp execute together: shfl, vote, match, redux, elect, activemask.
 * PTX ISA, "Parallel Synchronization and Communication Instructions".
 *
 * sim_gather returns the lanes whose members have all arrived; those lanes run, each together
 * with its members. A member that has exited does not take part. If shfl takes a value from a
 * lane that does not take part, it gets the last value of that lane's register: PTX leaves it
 * undefined, and programs that discard it are legal. Observers hear if such a value is used. */
#include "sim/sim_value.h"

#include <string.h>

enum { OPERANDS_MOST = 4 };

/* Sets the lanes of `mask` to theirs of 32 values. */
static inline void put(uint32_t *to, const uint32_t *from, uint32_t mask)
{
    if (mask == SIM_ALL) {
        memcpy(to, from, SIM_LANES * sizeof *to);
        return;
    }
    for (int i = 0; i < SIM_LANES; i++)
        to[i] = mask >> i & 1 ? from[i] : to[i];
}

static inline void put_predicate(uint32_t *to, uint32_t from, uint32_t mask)
{
    *to = (*to & ~mask) | (from & mask);
}

/* --- shfl.sync: slots d, p, a, b, c, members --- */

/* Returns the position of a lane's source, and whether it is in range; PTX ISA, shfl.sync,
 * Semantics. */
static inline int source_of(enum ptx_mod mode, int lane, uint32_t b, uint32_t c, bool *in_range)
{
    int by = (int)(b & 31), clamp = (int)(c & 31), segment = (int)(c >> 8 & 31), from;
    int highest = (lane & segment) | (clamp & ~segment), lowest = lane & segment;
    switch ((int)mode) {
    case MOD_UP:
        from = lane - by;
        *in_range = from >= highest; /* c's clamp is 0 for this mode */
        break;
    case MOD_DOWN:
        from = lane + by;
        *in_range = from <= highest;
        break;
    case MOD_BFLY:
        from = lane ^ by;
        *in_range = from <= highest;
        break;
    default:
        from = lowest | (by & ~segment);
        *in_range = from <= highest;
        break;
    }
    return *in_range ? from : lane;
}

/* Tells observers of undefined values which lane each lane's value comes from. Rarely called, so
 * not inline. */
static SIM_APART void trace_shuffle(struct sim_warp *w, const struct sim_op *op, uint32_t mask,
                                    uint32_t done, enum ptx_mod mode)
{
    const uint32_t *b = sim_u32(w->file, op->slot[3]), *c = sim_u32(w->file, op->slot[4]),
                   *members = sim_u32(w->file, op->slot[5]);
    uint32_t lost = 0;
    uint8_t from[SIM_LANES] = {0};
    for (uint32_t m = done; m; m &= m - 1) {
        int i = __builtin_ctz(m);
        bool in_range;
        from[i] = (uint8_t)source_of(mode, i, b[i], c[i], &in_range);
        if (in_range && !(members[i] & mask & (UINT32_C(1) << from[i])))
            lost |= UINT32_C(1) << i;
    }
    if (lost || w->undefined)
        sim_undefined_shuffled(w, op, done, from, lost);
}

static inline bool shuffle(struct sim_warp *w, const struct sim_op *op, uint32_t mask,
                           enum ptx_mod mode)
{
    uint32_t sent[SIM_LANES], predicate = 0;
    const uint32_t *a = sim_u32(w->file, op->slot[2]), *b = sim_u32(w->file, op->slot[3]),
                   *c = sim_u32(w->file, op->slot[4]);
    uint32_t done = sim_gather(w, op, mask, sim_u32(w->file, op->slot[5]));
    if (done) {
        bool whole = mask == SIM_ALL && *sim_u32(w->file, op->slot[5]) == SIM_ALL;
        if (w->watched && (!whole || w->undefined) && sim_traces(w))
            trace_shuffle(w, op, mask, done, mode);
        for (int i = 0; i < SIM_LANES; i++) {
            bool in_range;
            sent[i] = a[source_of(mode, i, b[i], c[i], &in_range)];
            predicate |= (uint32_t)in_range << i;
        }
        put(sim_u32(w->file, op->slot[0]), sent, done);
        put_predicate(sim_u32(w->file, op->slot[1]), predicate, done);
    }
    return sim_goes_on(w, op, sim_proceed(w, op, mask, done));
}

static bool shuffle_up(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    return shuffle(w, op, mask, MOD_UP);
}
static bool shuffle_down(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    return shuffle(w, op, mask, MOD_DOWN);
}
static bool shuffle_butterfly(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    return shuffle(w, op, mask, MOD_BFLY);
}
static bool shuffle_index(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    return shuffle(w, op, mask, MOD_IDX);
}

static bool choose_shuffle(struct sim_decoder *d, const struct ptx_instruction *ins,
                           struct sim_op *op)
{
    const struct ptx_operand *o = ins->operands;
    bool has_predicate = o[1].joined;
    op->slot[0] = sim_slot_destination(d, &o[0], PTX_B32);
    op->slot[1] = has_predicate ? sim_slot_destination(d, &o[1], PTX_PRED) : sim_slot_new(d, 0);
    o += has_predicate ? 2 : 1;
    for (int i = 0; i < OPERANDS_MOST; i++)
        op->slot[2 + i] = sim_slot_of(d, &o[i], PTX_B32);
    op->run = ptx_has(ins, MOD_UP)     ? shuffle_up
              : ptx_has(ins, MOD_DOWN) ? shuffle_down
              : ptx_has(ins, MOD_BFLY) ? shuffle_butterfly
                                       : shuffle_index;
    return true;
}

/* --- vote.sync: slots d, p, members; small: !p --- */

static bool vote(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    const uint32_t *members = sim_u32(w->file, op->slot[2]);
    uint32_t yes = *sim_u32(w->file, op->slot[1]) ^ (op->small ? SIM_ALL : 0), result = 0;
    uint32_t done = sim_gather(w, op, mask, members);
    for (int i = 0; i < SIM_LANES; i++) {
        uint32_t who = members[i] & mask, for_it = yes & who;
        bool is = op->small2 == MOD_ALL   ? for_it == who
                  : op->small2 == MOD_ANY ? for_it != 0
                                          : for_it == who || for_it == 0;
        result |= (uint32_t)is << i;
    }
    put_predicate(sim_u32(w->file, op->slot[0]), result, done);
    return sim_proceed(w, op, mask, done);
}

static bool ballot(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    const uint32_t *members = sim_u32(w->file, op->slot[2]);
    uint32_t yes = *sim_u32(w->file, op->slot[1]) ^ (op->small ? SIM_ALL : 0), result[SIM_LANES];
    uint32_t done = sim_gather(w, op, mask, members);
    for (int i = 0; i < SIM_LANES; i++)
        result[i] = members[i] & mask & yes;
    put(sim_u32(w->file, op->slot[0]), result, done);
    return sim_proceed(w, op, mask, done);
}

static bool choose_vote(struct sim_decoder *d, const struct ptx_instruction *ins, struct sim_op *op)
{
    const struct ptx_operand *o = ins->operands;
    bool counts = ptx_has(ins, MOD_BALLOT);
    op->slot[0] = sim_slot_destination(d, &o[0], counts ? PTX_B32 : PTX_PRED);
    op->slot[1] = sim_slot_of(d, &o[1], PTX_PRED);
    op->slot[2] = sim_slot_of(d, &o[2], PTX_B32);
    op->small = o[1].negated;
    op->small2 = ptx_has(ins, MOD_ALL) ? MOD_ALL : ptx_has(ins, MOD_ANY) ? MOD_ANY : MOD_UNI;
    op->run = counts ? ballot : vote;
    return true;
}

/* --- match.sync: slots d, p, a, members --- */

/* Returns the lanes of `who` whose value is that of `lane`. */
static inline uint32_t same_as(const struct sim_warp *w, const struct sim_op *op, int lane,
                               uint32_t who)
{
    uint32_t same = 0;
    if (op->bytes == 8) {
        const uint64_t *a = sim_u64(w->file, op->slot[2]);
        for (int i = 0; i < SIM_LANES; i++)
            same |= (uint32_t)(a[i] == a[lane]) << i;
    } else {
        const uint32_t *a = sim_u32(w->file, op->slot[2]);
        for (int i = 0; i < SIM_LANES; i++)
            same |= (uint32_t)(a[i] == a[lane]) << i;
    }
    return same & who;
}

static bool match(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    const uint32_t *members = sim_u32(w->file, op->slot[3]);
    uint32_t result[SIM_LANES] = {0}, predicate = 0;
    uint32_t done = sim_gather(w, op, mask, members);
    for (int i = 0; i < SIM_LANES; i++) {
        if (!(done >> i & 1))
            continue;
        uint32_t who = members[i] & mask, same = same_as(w, op, i, who);
        bool all = same == who;
        result[i] = op->small == MOD_ANY || all ? same : 0;
        predicate |= (uint32_t)all << i;
    }
    put(sim_u32(w->file, op->slot[0]), result, done);
    put_predicate(sim_u32(w->file, op->slot[1]), predicate, done);
    return sim_proceed(w, op, mask, done);
}

static bool choose_match(struct sim_decoder *d, const struct ptx_instruction *ins,
                         struct sim_op *op)
{
    const struct ptx_operand *o = ins->operands;
    bool has_predicate = o[1].joined;
    enum ptx_mod type = ptx_type(ins, 0);
    op->slot[0] = sim_slot_destination(d, &o[0], PTX_B32);
    op->slot[1] = has_predicate ? sim_slot_destination(d, &o[1], PTX_PRED) : sim_slot_new(d, 0);
    o += has_predicate ? 2 : 1;
    op->slot[2] = sim_slot_of(d, &o[0], type);
    op->slot[3] = sim_slot_of(d, &o[1], PTX_B32);
    op->bytes = type == PTX_B64 ? 8 : 4;
    op->small = ptx_has(ins, MOD_ANY) ? MOD_ANY : MOD_ALL;
    op->run = match;
    return true;
}

/* --- redux.sync: slots d, a, members; small: operation, small2: type, imm: REDUX_… of .f32 --- */

enum { REDUX_ABS = 1, REDUX_NAN = 2 };
enum { NAN_BITS = 0x7fffffff, INFINITY_BITS = 0x7f800000 };

static inline uint32_t combine(int operation, bool is_signed, uint32_t a, uint32_t b)
{
    bool less = is_signed ? (int32_t)a < (int32_t)b : a < b;
    switch (operation) {
    case MOD_ADD: return a + b;
    case MOD_MIN: return less ? a : b;
    case MOD_MAX: return less ? b : a;
    case MOD_AND: return a & b;
    case MOD_OR: return a | b;
    default: return a ^ b;
    }
}

static uint32_t reduce_integers(const struct sim_op *op, const uint32_t *a, uint32_t who)
{
    int first = __builtin_ctz(who);
    uint32_t sum = a[first];
    for (int i = first + 1; i < SIM_LANES; i++)
        if (who >> i & 1)
            sum = combine(op->small, op->small2 == MOD_S32, sum, a[i]);
    return sum;
}

/* Returns a float's bits in the order of integers, -0 before +0. */
static inline int32_t ordered(uint32_t bits)
{
    return bits >> 31 ? (int32_t)(~bits ^ 0x80000000u) : (int32_t)bits;
}

static uint32_t reduce_floats(const struct sim_op *op, const uint32_t *a, uint32_t who)
{
    uint32_t best = NAN_BITS;
    bool any = false;
    for (int i = 0; i < SIM_LANES; i++) {
        if (!(who >> i & 1))
            continue;
        uint32_t v = op->imm & REDUX_ABS ? a[i] & 0x7fffffffu : a[i];
        if ((v & 0x7fffffffu) > INFINITY_BITS) {
            if (op->imm & REDUX_NAN)
                return NAN_BITS;
            continue;
        }
        bool less = ordered(v) < ordered(best);
        if (!any || less == (op->small == MOD_MIN))
            best = v;
        any = true;
    }
    return best;
}

static bool reduce(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    const uint32_t *members = sim_u32(w->file, op->slot[2]), *a = sim_u32(w->file, op->slot[1]);
    uint32_t result[SIM_LANES], done = sim_gather(w, op, mask, members), before = 0, sum = 0;
    for (int i = 0; i < SIM_LANES; i++) {
        uint32_t who = members[i] & mask;
        if (!(done >> i & 1))
            continue;
        if (who != before && who)
            sum = op->small2 == MOD_F32 ? reduce_floats(op, a, who) : reduce_integers(op, a, who);
        before = who;
        result[i] = sum;
    }
    put(sim_u32(w->file, op->slot[0]), result, done);
    return sim_proceed(w, op, mask, done);
}

static bool choose_reduce(struct sim_decoder *d, const struct ptx_instruction *ins,
                          struct sim_op *op)
{
    static const uint16_t operations[] = {MOD_ADD, MOD_MIN, MOD_MAX, MOD_AND, MOD_OR, MOD_XOR};
    enum ptx_mod type = ptx_type(ins, 0);
    op->slot[0] = sim_slot_destination(d, &ins->operands[0], type);
    op->slot[1] = sim_slot_of(d, &ins->operands[1], type);
    op->slot[2] = sim_slot_of(d, &ins->operands[2], PTX_B32);
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++)
        if (ptx_has(ins, (enum ptx_mod)operations[i]))
            op->small = operations[i];
    op->small2 = (uint16_t)type;
    op->imm = (ptx_has(ins, MOD_ABS) ? REDUX_ABS : 0) | (ptx_has(ins, MOD_NAN_OUT) ? REDUX_NAN : 0);
    op->run = reduce;
    return true;
}

/* --- elect.sync: slots d, p, members; activemask: slot d --- */

/* Elects the lowest lane, so the same members always elect the same lane. */
static bool elect(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    const uint32_t *members = sim_u32(w->file, op->slot[2]);
    uint32_t leader[SIM_LANES] = {0}, predicate = 0, done = sim_gather(w, op, mask, members);
    for (int i = 0; i < SIM_LANES; i++) {
        uint32_t who = members[i] & mask;
        if (!(done >> i & 1) || !who)
            continue;
        leader[i] = (uint32_t)__builtin_ctz(who);
        predicate |= (uint32_t)(leader[i] == (uint32_t)i) << i;
    }
    put(sim_u32(w->file, op->slot[0]), leader, done);
    put_predicate(sim_u32(w->file, op->slot[1]), predicate, done);
    return sim_proceed(w, op, mask, done);
}

static bool active(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    uint32_t result[SIM_LANES];
    for (int i = 0; i < SIM_LANES; i++)
        result[i] = mask;
    put(sim_u32(w->file, op->slot[0]), result, mask);
    return true;
}

static bool choose(struct sim_decoder *d, const struct ptx_instruction *ins, struct sim_op *op)
{
    switch ((int)ins->op) {
    case PTX_SHFL: return choose_shuffle(d, ins, op);
    case PTX_VOTE: return choose_vote(d, ins, op);
    case PTX_MATCH: return choose_match(d, ins, op);
    case PTX_REDUX: return choose_reduce(d, ins, op);
    case PTX_ELECT:
        op->slot[0] = sim_slot_destination(d, &ins->operands[0], PTX_B32);
        op->slot[1] = sim_slot_destination(d, &ins->operands[1], PTX_PRED);
        op->slot[2] = sim_slot_of(d, &ins->operands[2], PTX_B32);
        op->run = elect;
        return true;
    case PTX_ACTIVEMASK:
        op->slot[0] = sim_slot_destination(d, &ins->operands[0], PTX_B32);
        op->run = active;
        return true;
    default: return false;
    }
}

/* Returns the number of slots of an instruction. */
static int slots_of(enum ptx_op op)
{
    switch ((int)op) {
    case PTX_SHFL: return 6;
    case PTX_MATCH: return 4;
    case PTX_ACTIVEMASK: return 1;
    default: return 3;
    }
}

bool sim_choose_lanes(struct sim_decoder *d, const struct ptx_instruction *ins, struct sim_op *op)
{
    if (!choose(d, ins, op))
        return false;
    for (int i = 0; i < slots_of((enum ptx_op)ins->op); i++)
        if (op->slot[i] == SIM_NO_SLOT)
            return false;
    return true;
}
