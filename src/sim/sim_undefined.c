/* Registers with undefined values, while an observer wants to hear of their uses: values that a
 * load got from memory that was never written, or that shfl.sync got from a lane that takes no
 * part. As in Memcheck (Seward, Nethercote, 2005) a program may copy such values and compute with
 * them; only a use counts: a branch, an address, a value that leaves the thread.
 *
 * A frame has a shadow of its file: for each register, the undefined lanes and the undefined
 * bytes. It is made at the first undefined value; a warp without any runs at full speed, a warp
 * with some runs instruction by instruction. A result is undefined if an operand is; selp, and,
 * or and setp with a predicate are more precise, because compilers make branches of them. */
#include "sim/sim_machine.h"

#include "ptx/ptx_choose.h"

#include <string.h>

enum { ALL_BYTES = 0xffff };

/* The state of a register; its slot is the index in the array. */
struct sim_shadow {
    uint32_t lanes;
    uint16_t bytes; /* bytes that are undefined in any lane */
    bool computed;  /* not just copied */
    struct sim_origin *origin;
};

/* The registers that an instruction reads and writes. */
struct sim_flow {
    uint8_t targets, sources;
    uint32_t *target, *source; /* slots */
};

/* --- shadows --- */

static struct sim_shadow *shadow_of(const struct sim_frame *frame, uint32_t slot)
{
    return frame->shadow && slot != SIM_NO_SLOT ? &frame->shadow[slot / 4] : NULL;
}

static uint32_t lanes_of(const struct sim_frame *frame, uint32_t slot)
{
    const struct sim_shadow *s = shadow_of(frame, slot);
    return s ? s->lanes : 0;
}

/* Makes `lanes` of those in `mask` undefined, and the others defined. */
static void set(struct sim_warp *w, struct sim_frame *frame, uint32_t slot, uint32_t mask,
                const struct sim_shadow *value)
{
    uint32_t lanes = value->lanes & mask;
    if (!frame->shadow && !lanes)
        return;
    if (!frame->shadow)
        frame->shadow = arena_array(w->sim->arena, struct sim_shadow, frame->code->file_bytes / 4);
    struct sim_shadow *s = shadow_of(frame, slot);
    uint32_t now = (s->lanes & ~mask) | lanes;
    if (now && !s->lanes && !w->undefined++)
        w->switches = true;
    if (!now && s->lanes)
        w->undefined--;
    if (lanes) {
        bool keeps = s->lanes & ~mask;
        s->bytes = (uint16_t)(keeps ? s->bytes | value->bytes : value->bytes);
        s->computed = value->computed || (keeps && s->computed);
        s->origin = value->origin;
    }
    s->lanes = now;
}

void sim_undefined_forget(struct sim_warp *w, struct sim_frame *frame)
{
    for (uint32_t i = 0; i < frame->code->file_bytes / 4; i++) {
        w->undefined -= frame->shadow[i].lanes != 0;
        frame->shadow[i].lanes = 0;
    }
}

/* --- the origin of undefined values --- */

static struct sim_origin *origin_of(struct sim_warp *w, const struct sim_op *op)
{
    struct sim_origin *o = w->origins;
    while (o && (o->at.ins != op->ins || o->at.where.offset != op->where.offset))
        o = o->next;
    if (!o) {
        o = arena_new(w->sim->arena, struct sim_origin);
        o->next = w->origins;
        w->origins = o;
    }
    sim_place_of(w, op, &o->at);
    return o;
}

/* Returns true if the origin is on the line of the instruction. */
static bool of_one_line(const struct sim_origin *a, const struct ptx_instruction *ins)
{
    const struct ptx_line *x = a && a->at.ins ? a->at.ins->line : NULL, *y = ins ? ins->line : NULL;
    return x && y && x->file == y->file && x->line == y->line;
}

bool sim_undefined_loaded(struct sim_warp *w, const struct sim_op *op)
{
    struct sim_undefined *u = &w->sim->loaded;
    struct sim_origin *o = origin_of(w, op);
    o->space = u->space;
    o->copied = u->copied;
    o->bytes = op->bytes;
    memcpy(o->address, u->address, sizeof o->address);
    memcpy(o->byte, u->byte, sizeof o->byte);
    o->lanes = 0;
    for (uint32_t e = 0; e < op->more_count / 2 && e < SIM_MOST_ELEMENTS; e++) {
        uint32_t all = ((uint32_t)1 << op->small) - 1;
        struct sim_shadow value = {.lanes = u->lanes[e], .bytes = u->bytes[e], .origin = o};
        if ((value.bytes & all) == all)
            value.bytes = ALL_BYTES;
        o->lanes |= value.lanes;
        if (value.lanes)
            set(w, w->frame, op->more[e], value.lanes, &value);
    }
    o->untold += __builtin_popcount(o->lanes);
    memset(u, 0, sizeof *u);
    return sim_goes_on(w, op, true);
}

void sim_undefined_shuffled(struct sim_warp *w, const struct sim_op *op, uint32_t done,
                            const uint8_t from[SIM_LANES], uint32_t lost)
{
    const struct sim_shadow *a = shadow_of(w->frame, op->slot[2]);
    struct sim_shadow value = {.bytes = ALL_BYTES}, defined = {0};
    if (a && a->lanes) {
        value.origin = a->origin;
        value.computed = a->computed;
    }
    for (int i = 0; i < SIM_LANES; i++)
        if (done >> i & 1 && a && a->lanes >> from[i] & 1)
            value.lanes |= (uint32_t)1 << i;
    for (int k = 3; k < 6; k++) {
        const struct sim_shadow *s = shadow_of(w->frame, op->slot[k]);
        if (s && s->lanes & done) {
            value.lanes |= s->lanes & done;
            value.origin = s->origin;
            value.computed = true;
        }
    }
    if (lost) {
        /* A sum of a warp goes through several shuffles of one line: the first loss is the cause. */
        bool again = value.origin && value.origin->shuffled && of_one_line(value.origin, op->ins);
        struct sim_origin *o = again ? value.origin : origin_of(w, op);
        if (!again) {
            o->shuffled = true;
            o->lanes = lost;
            for (int i = 0; i < SIM_LANES; i++)
                o->address[i] = from[i];
        }
        o->untold += __builtin_popcount(lost);
        value.lanes |= lost;
        value.origin = o;
        value.computed = true;
    }
    set(w, w->frame, op->slot[1], done, &defined);
    set(w, w->frame, op->slot[0], done, &value);
}

/* --- registers that an instruction reads and writes --- */

static void note(const struct sim_code *code, const struct ptx_operand *o, uint32_t *list,
                 uint8_t *count)
{
    if (o->kind == PTX_REGISTER)
        list[(*count)++] = code->registers[o->reg];
    for (uint32_t i = 0; o->kind != PTX_TENSOR && i < ptx_elements(o); i++)
        note(code, &o->elements[i], list, count);
}

static uint32_t most_slots(const struct ptx_operand *o)
{
    uint32_t count = 1;
    for (uint32_t i = 0; i < ptx_elements(o); i++)
        count += most_slots(&o->elements[i]);
    return count;
}

static const struct sim_flow *flow_of(struct sim *sim, struct sim_code *code,
                                      const struct sim_op *op)
{
    const struct ptx_instruction *ins = op->ins;
    uint32_t most = 2;
    if (!code->flows)
        code->flows = arena_array(sim->arena, struct sim_flow *, code->count + 1);
    struct sim_flow **at = &code->flows[op - code->ops], *f = *at;
    if (f)
        return f;
    *at = f = arena_new(sim->arena, struct sim_flow);
    for (int i = 0; i < ins->operand_count; i++)
        most += most_slots(&ins->operands[i]);
    f->target = arena_array(sim->arena, uint32_t, most);
    f->source = arena_array(sim->arena, uint32_t, most);
    for (size_t i = 0; i < ins->operand_count; i++) {
        const struct ptx_slot *slot = ptx_slot_of(code->function, ins, i);
        bool written = slot && slot->flags & SLOT_WRITTEN;
        if (written)
            note(code, &ins->operands[i], f->target, &f->targets);
        if (!written || slot->flags & SLOT_READ)
            note(code, &ins->operands[i], f->source, &f->sources);
    }
    bool reads = ins->op == PTX_ADDC || ins->op == PTX_SUBC || ins->op == PTX_MADC;
    if (code->carry != SIM_NO_SLOT && reads)
        f->source[f->sources++] = code->carry;
    if (code->carry != SIM_NO_SLOT && ptx_has(ins, MOD_CC))
        f->target[f->targets++] = code->carry;
    return f;
}

/* --- uses --- */

static bool tell_use(struct sim_warp *w, const struct sim_op *op, struct sim_shadow *s,
                     uint32_t lanes, const char *how)
{
    struct sim_use use = {.lane = __builtin_ctz(lanes),
                          .how = how,
                          .origin = s->origin,
                          .name = ptx_ops[op->ins->op].name};
    sim_place_of(w, op, &use.at);
    s->lanes &= ~lanes; /* reported once */
    w->undefined -= s->lanes == 0;
    for (struct sim_observer *o = w->sim->observers; o; o = o->next)
        if (o->used && !o->used(o->user, &use)) {
            sim_over(w->sim, SIM_ASKED, "an observer asked to stop");
            return false;
        }
    return true;
}

static bool use_of(struct sim_warp *w, const struct sim_op *op, uint32_t slot, uint32_t mask,
                   const char *how)
{
    struct sim_shadow *s = shadow_of(w->frame, slot);
    return !s || !(s->lanes & mask) || tell_use(w, op, s, s->lanes & mask, how);
}

/* Returns true if the instruction does more than write its registers. */
static bool has_effect(const struct ptx_instruction *ins, const struct sim_flow *f)
{
    switch (ins->op) {
    case PTX_PREFETCH:
    case PTX_PREFETCHU: return false;
    case PTX_ATOM:
    case PTX_BAR:
    case PTX_BARRIER:
    case PTX_MBARRIER_ARRIVE:
    case PTX_MBARRIER_ARRIVE_DROP:
    case PTX_CALL: return true;
    default: return !f->targets;
    }
}

/* Tells observers of the uses: address registers, and for an instruction with effects all that
 * it reads. */
static bool tell_uses(struct sim_warp *w, const struct sim_op *op, const struct sim_flow *f,
                      uint32_t mask)
{
    const struct ptx_instruction *ins = op->ins;
    struct sim_code *code = w->frame->code;
    for (int i = 0; i < ins->operand_count; i++) {
        const struct ptx_operand *o = ptx_address_in(&ins->operands[i]);
        if (o && o->base == PTX_BASE_REGISTER &&
            !use_of(w, op, code->registers[o->reg], mask, "is an address"))
            return false;
    }
    if (ins->op == PTX_CALL)
        return use_of(w, op, op->slot[0], mask, "is the address of a function");
    for (int i = 0; ins->op != PTX_ST && has_effect(ins, f) && i < f->sources; i++)
        if (!use_of(w, op, f->source[i], mask, "is an operand"))
            return false;
    return true;
}

/* Notes the undefined bytes that a store writes. The observer of memory decides whether that is
 * a use. */
static void note_stored(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    struct sim_undefined *u = &w->sim->stored;
    memset(u->lanes, 0, sizeof u->lanes);
    for (uint32_t e = 0; e < op->more_count / 2 && e < SIM_MOST_ELEMENTS; e++) {
        const struct sim_shadow *s = shadow_of(w->frame, op->more[e]);
        u->lanes[e] = s->lanes & mask;
        u->bytes[e] = s->bytes;
        u->computed[e] = s->computed;
        u->origin[e] = s->origin;
        u->any |= u->lanes[e] != 0;
    }
}

/* --- results --- */

/* Returns true if the op picks bits of a register. If some bytes of the register are defined,
 * the picked bits may be, so the result is not blamed. */
static bool picks_bits(enum ptx_op op)
{
    switch ((int)op) {
    case PTX_AND:
    case PTX_OR:
    case PTX_SHL:
    case PTX_SHR:
    case PTX_SHF:
    case PTX_BFE:
    case PTX_BFI:
    case PTX_PRMT:
    case PTX_LOP3:
    case PTX_CVT: return true;
    default: return false;
    }
}

/* Returns the lanes in which an operand has the value that decides an `and` (0) or an `or` (all
 * ones). */
static uint32_t deciding(const struct sim_frame *frame, const struct ptx_operand *o, uint32_t slot,
                         bool ones, int bytes)
{
    const uint8_t *at = frame->file + slot;
    uint32_t lanes = 0;
    uint64_t all = bytes == 8 ? UINT64_MAX : ((uint64_t)1 << bytes * 8) - 1;
    if (o->kind != PTX_REGISTER && o->kind != PTX_IMMEDIATE)
        return 0;
    if (!bytes) {
        memcpy(&lanes, at, sizeof lanes);
        return ones != o->negated ? lanes : ~lanes;
    }
    for (int i = 0; i < SIM_LANES; i++) {
        uint64_t v = 0;
        memcpy(&v, at + i * bytes, (size_t)bytes);
        lanes |= (uint32_t)(v == (ones ? all : 0)) << i;
    }
    return lanes;
}

static uint32_t operand_lanes(const struct sim_frame *frame, const struct ptx_operand *o)
{
    return o->kind == PTX_REGISTER ? lanes_of(frame, frame->code->registers[o->reg]) : 0;
}

/* Returns the lanes of a result that stay defined though an operand is undefined. */
static uint32_t rescued(const struct sim_frame *frame, const struct sim_op *op)
{
    const struct ptx_instruction *ins = op->ins;
    const struct ptx_operand *o = ins->operands, *last = &o[ins->operand_count - 1];
    uint32_t lanes;
    switch (ins->op) {
    case PTX_AND:
    case PTX_OR: {
        bool ones = ins->op == PTX_OR;
        int bytes = ptx_mods[ptx_type(ins, 0)].bits / 8;
        bytes = ptx_type(ins, 0) == MOD_PRED ? 0 : bytes;
        lanes = deciding(frame, &o[1], op->slot[1], ones, bytes) & ~operand_lanes(frame, &o[1]);
        return lanes |
               (deciding(frame, &o[2], op->slot[2], ones, bytes) & ~operand_lanes(frame, &o[2]));
    }
    case PTX_SELP:
        if (last->kind != PTX_REGISTER)
            return 0;
        memcpy(&lanes, frame->file + frame->code->registers[last->reg], sizeof lanes);
        lanes ^= last->negated ? SIM_ALL : 0;
        return ((lanes & ~operand_lanes(frame, &o[1])) | (~lanes & ~operand_lanes(frame, &o[2]))) &
               ~operand_lanes(frame, last);
    case PTX_SETP:
    case PTX_SET: {
        bool ones = ptx_has(ins, MOD_OR);
        if (last->kind != PTX_REGISTER || !(ones || ptx_has(ins, MOD_AND)) ||
            ptx_register_type(frame->code->function, last->reg) != MOD_PRED)
            return 0;
        return deciding(frame, last, frame->code->registers[last->reg], ones, 0) &
               ~operand_lanes(frame, last);
    }
    default: return 0;
    }
}

static bool of_whole_warp(enum ptx_op op)
{
    switch ((int)op) {
    case PTX_VOTE:
    case PTX_MATCH:
    case PTX_REDUX:
    case PTX_ELECT:
    case PTX_MOVMATRIX:
    case PTX_MMA:
    case PTX_WMMA_MMA:
    case PTX_WGMMA_MMA_ASYNC: return true;
    default: return false;
    }
}

/* Returns the bytes that `and` with a constant, as for a bit field, does not clear. */
static uint16_t kept_bytes(const struct ptx_instruction *ins)
{
    uint16_t kept = 0;
    int bytes = ptx_mods[ptx_type(ins, 0)].bits / 8;
    for (int i = 1; ins->op == PTX_AND && i < 3; i++)
        for (int b = 0; ins->operands[i].kind == PTX_IMMEDIATE && b < bytes; b++)
            kept = (uint16_t)(kept | (ins->operands[i].bits >> 8 * b & 0xff ? 1u << b : 0));
    return kept && kept != (1u << bytes) - 1 ? kept : ALL_BYTES;
}

/* Returns the origin of a value that has two, the second. If both are of one line, as in a loop that
 * the compiler unrolled, it gets the reads of both. */
static struct sim_origin *both(struct sim_origin *a, struct sim_origin *b)
{
    if (a != b && of_one_line(a, b->at.ins)) {
        b->untold += a->untold;
        a->untold = 0;
    }
    return b;
}

/* Returns the undefined bytes of a product by a power of two, which `shl` computes from a value with
 * these undefined bytes; 0: the op is another, or it moves whole bytes, as in packing. */
static uint16_t multiplied_bytes(const struct ptx_instruction *ins, uint16_t undefined)
{
    const struct ptx_operand *count = &ins->operands[2];
    unsigned size = (unsigned)ptx_mods[ptx_type(ins, 0)].bits / 8;
    if (ins->op != PTX_SHL || count->kind != PTX_IMMEDIATE || count->bits % 8 == 0 ||
        count->bits / 8 >= size)
        return 0;
    uint32_t moved = (uint32_t)undefined << count->bits / 8;
    return (uint16_t)((moved | moved << 1) & ((1u << size) - 1));
}

static void pass_on(struct sim_warp *w, const struct sim_op *op, const struct sim_flow *f,
                    uint32_t mask, uint32_t unsure)
{
    struct sim_frame *frame = w->frame;
    bool copies = op->ins->op == PTX_MOV || op->ins->op == PTX_SELP;
    bool rearranges = copies || picks_bits((enum ptx_op)op->ins->op);
    struct sim_shadow value = {
        .lanes = unsure, .bytes = ALL_BYTES, .computed = !rearranges || unsure};
    uint16_t bytes = 0, products = 0;
    if (unsure)
        value.origin = shadow_of(frame, op->guard)->origin;
    for (int i = 0; i < f->sources && op->ins->op != PTX_LD; i++) {
        const struct sim_shadow *s = shadow_of(frame, f->source[i]);
        bool partial = s->bytes != ALL_BYTES && picks_bits((enum ptx_op)op->ins->op);
        uint16_t product = partial ? multiplied_bytes(op->ins, s->bytes) : 0;
        if (!(s->lanes & mask) || (partial && !product))
            continue;
        products |= product;
        value.lanes |= s->lanes & mask;
        value.origin = both(value.origin, s->origin);
        value.computed |= s->computed;
        bytes |= s->bytes;
    }
    value.computed |= products != 0;
    value.bytes = copies && f->targets == 1 ? bytes
                  : unsure                  ? ALL_BYTES
                  : products                ? products
                                            : kept_bytes(op->ins);
    if (value.lanes & ~unsure) {
        value.lanes &= ~rescued(frame, op) | unsure;
        if (of_whole_warp((enum ptx_op)op->ins->op) && value.lanes)
            value.lanes = mask;
    }
    for (int i = 0; i < f->targets; i++)
        set(w, frame, f->target[i], mask | unsure, &value);
}

bool sim_undefined_before(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    struct sim_frame *frame = w->frame;
    if (!frame->shadow || !op->ins)
        return true;
    const struct sim_flow *f = flow_of(w->sim, frame->code, op);
    uint32_t unsure = op->ins->guarded ? lanes_of(frame, op->guard) & w->path_mask : 0;
    if (unsure && has_effect(op->ins, f)) {
        if (!use_of(w, op, op->guard, unsure,
                    op->ins->op == PTX_BRA ? "decides a branch"
                                           : "decides whether this is executed"))
            return false;
        unsure = 0;
    }
    if (mask && !tell_uses(w, op, f, mask))
        return false;
    if (op->ins->op == PTX_ST && mask && frame->shadow)
        note_stored(w, op, mask);
    else if (op->ins->op != PTX_CALL && op->ins->op != PTX_SHFL)
        pass_on(w, op, f, mask, unsure);
    return true;
}
