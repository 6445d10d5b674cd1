/* Goes back over the steps of a block, from the last one to the first, with a set of wanted bytes:
 * bytes of registers, lane by lane, and bytes of memory whose origin is requested. A step that
 * wrote wanted bytes removes them from the set and adds the bytes that it made them of:
 *
 *     st     the bytes of its value's registers       ld     the bytes of memory
 *     cp.async   the bytes at its source              mma    a row of A, a column of B, C
 *     others     their operands, in the same lane; of shfl.sync in the lane that it names
 *
 * Conditions and addresses are not part of the path. The bytes that are left at the end existed
 * before the launch: parameters, constants, arrays. "Program Slicing", Weiser 1981. */
#include "sim/sim_trace_own.h"

#include "ptx/ptx_choose.h"
#include "sim/sim_flops.h"

#include <inttypes.h>
#include <string.h>

enum { WHOLE = 0xff, MOST_ENTRIES = 20000, GRANULE = 4 };

struct why {
    struct sim_trace *t;
    const struct ptx_function *kernel;
    uint8_t **registers;              /* by warp: the wanted bytes of each register, lane by lane */
    struct number_map memory;         /* of a byte's address: 1: wanted */
    int64_t wanted;                   /* number of wanted bytes of memory and lanes of registers */
    VEC(struct sim_why_step) entries; /* the latest first */
    int64_t products, reads[2], writes[2]; /* elements of global, of shared memory */
    int64_t first, last;                   /* time */
    int warp, lane;                        /* those that wrote the element; -1: none did */
    bool cut;
    struct number_map writers; /* of an epoch and a granule of shared memory: event + 1 */
    uint32_t *epochs;          /* of events: barriers that their warp has left */
};

/* --- the set --- */

static uint8_t *wanted_of(struct why *y, int warp, uint32_t reg)
{
    if (!y->registers[warp])
        y->registers[warp] =
            arena_array(y->t->arena, uint8_t, (y->kernel->registers.count + 1) * SIM_LANES);
    return y->registers[warp] + (size_t)reg * SIM_LANES;
}

static void want_register(struct why *y, int warp, uint32_t reg, int lane, unsigned bytes)
{
    if (ptx_register_type(y->kernel, reg) == MOD_PRED || !bytes)
        return;
    uint8_t *at = wanted_of(y, warp, reg) + lane;
    y->wanted += !*at;
    *at |= (uint8_t)bytes;
}

/* Returns the wanted bytes of a lane's register, which are then not wanted any more. */
static unsigned take_register(struct why *y, int warp, uint32_t reg, int lane)
{
    if (!y->registers[warp])
        return 0;
    uint8_t *at = wanted_of(y, warp, reg) + lane;
    unsigned bytes = *at;
    y->wanted -= *at != 0;
    *at = 0;
    return bytes;
}

static void want_memory(struct why *y, uint32_t at)
{
    bool added;
    struct number_entry *e = number_map_entry(y->t->arena, &y->memory, at, &added);
    y->wanted += !e->value;
    e->value = 1;
}

/* Returns a mask of the wanted bytes from `at` on; they stay wanted. */
static uint32_t wanted_memory(const struct why *y, uint32_t at, int bytes)
{
    uint32_t found = 0;
    for (int i = 0; i < bytes; i++) {
        const struct number_entry *e = number_map_find(&y->memory, at + (uint32_t)i);
        found |= e && e->value ? 1u << i : 0;
    }
    return found;
}

static void forget_memory(struct why *y, uint32_t at, uint32_t bytes)
{
    for (; bytes; bytes &= bytes - 1) {
        struct number_entry *e = number_map_find(&y->memory, at + (uint32_t)__builtin_ctz(bytes));
        y->wanted -= e->value != 0;
        e->value = 0;
    }
}

/* --- the trace --- */

static uint32_t address_of(const struct sim_trace *t, const struct trace_event *e, int lane)
{
    if (e->flags & TRACE_ROW)
        return e->base + (uint32_t)t->rows.data[e->stride].offset[lane];
    return e->base + (uint32_t)(e->stride * (lane - __builtin_ctz(e->mask)));
}

static int type_size(const char *type)
{
    static const struct {
        const char *name;
        int bytes;
    } sizes[] = {{"f64", 8}, {"f32", 4}, {"tf32", 4}, {"f16", 2}, {"bf16", 2}, {"i64", 8},
                 {"u64", 8}, {"i32", 4}, {"u32", 4},  {"i16", 2}, {"u16", 2}};
    for (size_t i = 0; type && i < sizeof sizes / sizeof *sizes; i++)
        if (strcmp(sizes[i].name, type) == 0)
            return sizes[i].bytes;
    return type ? 1 : 4;
}

static int64_t element_at(const struct sim_trace_memory *m, uint32_t first, uint32_t at, int size)
{
    int64_t count = 1, place = (at - first) / (uint32_t)size;
    for (int i = 0; i < m->rank; i++)
        count *= m->shape[i];
    for (int64_t e = 0; m->places && e < count; e++)
        if (m->places[e] == at - (at - first) % (uint32_t)size)
            return e;
    return place;
}

/* Returns "as[0][1]" for an address that the site accesses. */
static const char *element_name(const struct sim_trace *t, const struct trace_site *s, uint32_t at,
                                int *size)
{
    const bool shared = s->space == SIM_SHARED;
    *size = 4;
    if (s->variable < 0)
        return arena_printf(t->arena, "shared memory, byte %u", at);
    const struct trace_memory *m =
        shared ? &t->shared.data[s->variable] : &t->arrays.data[s->variable];
    *size = type_size(m->is.type);
    int64_t e = element_at(&m->is, m->at, at, *size);
    struct text out;
    text_init(&out, t->arena);
    text_add(&out, m->is.name ? m->is.name : "?");
    int64_t below = 1;
    for (int i = 0; i < m->is.rank; i++)
        below *= m->is.shape[i];
    for (int i = 0; i < m->is.rank; i++) {
        below /= m->is.shape[i] ? m->is.shape[i] : 1;
        text_printf(&out, "[%" PRId64 "]", below ? e / below : 0);
        e = below ? e % below : 0;
    }
    if (!m->is.rank)
        text_printf(&out, "[%" PRId64 "]", e);
    return out.data;
}

/* --- entries --- */

static struct sim_why_step begin_entry(struct why *y, enum trace_kind kind, int64_t time, int warp,
                                       uint32_t lanes, const struct ptx_instruction *ins)
{
    struct trace_text at = sim_trace_text(y->t, ins, kind);
    return (struct sim_why_step){.kind = sim_trace_kinds[kind],
                                 .time = time,
                                 .warp = warp,
                                 .lanes = lanes,
                                 .line = at.line,
                                 .column = at.column,
                                 .text = at.text,
                                 .event = -1,
                                 .races = -1};
}

static void end_entry(struct why *y, const struct sim_why_step *e)
{
    y->first = e->time;
    if (y->entries.count < MOST_ENTRIES)
        vec_push(y->t->arena, &y->entries, *e);
    else
        y->cut = true;
}

/* Returns another warp's write of the same bytes between the same barriers; TRACE_NO_EVENT:
 * none. */
static uint32_t racing(const struct why *y, uint32_t event, uint32_t at)
{
    const struct trace_event *e = &y->t->events.data[event];
    uint64_t key = (uint64_t)y->epochs[event] << 32 | at / GRANULE;
    const struct number_entry *w = number_map_find(&y->writers, 2 * key);
    for (int i = 0; w && i < 2; w = number_map_find(&y->writers, 2 * key + 1), i++)
        if (y->t->events.data[w->value - 1].warp != e->warp)
            return (uint32_t)w->value - 1;
    return TRACE_NO_EVENT;
}

/* Adds the write of another block whose value the step's event read at an address, each once. */
static void name_writer(struct why *y, uint32_t event, uint32_t at, struct sim_why_step *out)
{
    int lane;
    const struct trace_writer *w = sim_trace_writer_of(y->t, event, at, &lane);
    struct sim_why_writer *list = (struct sim_why_writer *)(uintptr_t)out->writers;
    if (!w)
        return;
    for (int i = 0; i < out->writer_count; i++)
        if (list[i].block == w->block && list[i].write == w->write)
            return;
    struct trace_text place = sim_trace_text(y->t, w->ins, TRACE_WRITE);
    list[out->writer_count++] = (struct sim_why_writer){.block = w->block,
                                                        .warp = w->warp,
                                                        .lane = lane,
                                                        .line = place.line,
                                                        .column = place.column,
                                                        .text = place.text,
                                                        .write = w->write};
}

/* Adds the names of the elements that a lane's bytes belong to, each once. */
static void name_elements(struct why *y, uint32_t event, int lane, uint32_t bytes, bool writes,
                          struct sim_why_step *out)
{
    struct sim_trace *t = y->t;
    const struct trace_event *e = &t->events.data[event];
    const struct trace_site *s = &t->sites.data[e->site];
    bool shared = s->space == SIM_SHARED;
    const char **names = (const char **)(uintptr_t)out->elements;
    for (int i = 0, size; i < 32; i += size) {
        uint32_t at = address_of(t, e, lane) + (uint32_t)i;
        size = 1;
        if (!(bytes >> i & 1))
            continue;
        names[out->element_count++] = element_name(t, s, at, &size);
        (writes ? y->writes : y->reads)[shared]++;
        if (!shared && e->kind != TRACE_WRITE)
            name_writer(y, event, at, out);
        uint32_t other = shared ? racing(y, event, at) : TRACE_NO_EVENT;
        if (other != TRACE_NO_EVENT && out->races < 0)
            out->races = other;
    }
}

static void add_accessed(struct why *y, uint32_t event, const uint32_t bytes[SIM_LANES],
                         bool writes)
{
    struct sim_trace *t = y->t;
    const struct trace_event *e = &t->events.data[event];
    const struct trace_site *s = &t->sites.data[e->site];
    uint32_t lanes = 0;
    int most = 0;
    for (int lane = 0; lane < SIM_LANES; lane++) {
        lanes |= bytes[lane] ? 1u << lane : 0;
        most += __builtin_popcount(bytes[lane]);
    }
    struct sim_why_step one =
        begin_entry(y, (enum trace_kind)e->kind, e->time, e->warp, lanes, s->ins);
    one.event = event;
    one.elements = arena_array(t->arena, const char *, most + 1);
    one.writers = arena_array(t->arena, struct sim_why_writer, most + 1);
    for (uint32_t rest = lanes; rest; rest &= rest - 1) {
        int lane = __builtin_ctz(rest);
        name_elements(y, event, lane, bytes[lane], writes, &one);
    }
    end_entry(y, &one);
}

/* Returns the event that contains the step's arithmetic: the last one of its warp that began by
 * that time; -1: it is not in the trace. */
static int64_t gathered(const struct sim_trace *t, const struct trace_step *step, int64_t time)
{
    int64_t found = -1;
    for (size_t i = step->event; i < t->events.count; i++) {
        const struct trace_event *e = &t->events.data[i];
        if (e->warp != step->warp || (e->kind != TRACE_COMPUTE && e->kind != TRACE_MMA))
            continue;
        if (e->from > time)
            break;
        found = (int64_t)i;
    }
    return found;
}

static void add_products(struct why *y, const struct trace_step *step, int64_t time, uint32_t lanes,
                         int64_t products, bool matrix)
{
    struct sim_why_step one = begin_entry(y, matrix ? TRACE_MMA : TRACE_COMPUTE, time, step->warp,
                                          lanes, y->t->codes.data[step->code].ins);
    one.event = gathered(y->t, step, time);
    one.products = products;
    y->products += products;
    end_entry(y, &one);
}

/* --- memory --- */

/* Wants the register of an operand that has the byte of a vector in memory. */
static void want_stored(struct why *y, int warp, int lane, const struct ptx_operand *o, int element,
                        int byte)
{
    uint32_t i = (uint32_t)(byte / element);
    const struct ptx_operand *part = o->kind == PTX_VECTOR && i < o->count ? &o->elements[i] : o;
    if (part->kind == PTX_REGISTER)
        want_register(y, warp, part->reg, lane, 1u << byte % element);
}

/* Finds the lane that holds byte b of row `row` of a matrix of 16-bit elements, and the byte of
 * its register. */
static void held_by(bool turned, int row, int b, int *lane, int *byte)
{
    int column = b / 2, major = turned ? column : row, minor = turned ? row : column;
    *lane = 4 * major + minor / 2;
    *byte = minor % 2 * 2 + b % 2;
}

static void want_value(struct why *y, const struct trace_event *e,
                       const struct ptx_instruction *ins, int lane, uint32_t bytes)
{
    bool matrix = e->flags & TRACE_MATRIX, atomic = ins->op == PTX_ATOM;
    int last = ins->operand_count - 1;
    const struct ptx_operand *o = &ins->operands[atomic && last >= 2 ? 2 : 1 < last ? 1 : last];
    int element = ptx_mods[ptx_type(ins, 0)].bits / 8;
    for (; bytes && element; bytes &= bytes - 1) {
        int byte = __builtin_ctz(bytes), holder = lane, in = byte;
        if (matrix) {
            held_by(ptx_has(ins, MOD_TRANS), lane % 8, byte, &holder, &in);
            uint32_t i = (uint32_t)lane / 8;
            const struct ptx_operand *part =
                o->kind == PTX_VECTOR && i < o->count ? &o->elements[i] : o;
            if (part->kind == PTX_REGISTER)
                want_register(y, e->warp, part->reg, holder, 1u << in);
        } else {
            want_stored(y, e->warp, lane, o, element, byte);
        }
    }
}

/* Wants the bytes of a copy's source. */
static void want_copied(struct why *y, uint32_t event, const uint32_t bytes[SIM_LANES])
{
    struct sim_trace *t = y->t;
    uint32_t from = TRACE_NO_EVENT;
    for (size_t i = 0; i < t->copies.count; i++)
        if (t->copies.data[i].write == event)
            from = t->copies.data[i].read;
    if (from == TRACE_NO_EVENT) /* zeros */
        return;
    const struct trace_event *e = &t->events.data[from];
    int most = t->sites.data[e->site].bytes;
    uint32_t read[SIM_LANES] = {0};
    for (int lane = 0; lane < SIM_LANES; lane++) {
        read[lane] = e->mask >> lane & 1 ? bytes[lane] & (uint32_t)((1ull << most) - 1) : 0;
        for (uint32_t rest = read[lane]; rest; rest &= rest - 1)
            want_memory(y, address_of(t, e, lane) + (uint32_t)__builtin_ctz(rest));
    }
    add_accessed(y, from, read, false);
}

static void pass_write(struct why *y, uint32_t event)
{
    struct sim_trace *t = y->t;
    const struct trace_event *e = &t->events.data[event];
    const struct trace_site *s = &t->sites.data[e->site];
    uint32_t found[SIM_LANES] = {0}, any = 0;
    for (int lane = SIM_LANES - 1; lane >= 0; lane--) { /* the last lane wins */
        if (!(e->mask >> lane & 1))
            continue;
        uint32_t at = address_of(t, e, lane);
        any |= found[lane] = wanted_memory(y, at, s->bytes);
        if (e->kind == TRACE_WRITE && found[lane])
            forget_memory(y, at, found[lane]);
        if (found[lane] && y->warp < 0) {
            y->warp = e->warp;
            y->lane = lane;
            y->last = e->time;
        }
    }
    if (!any)
        return;
    add_accessed(y, event, found, true);
    if (e->flags & TRACE_COPY) {
        want_copied(y, event, found);
        return;
    }
    for (int lane = 0; lane < SIM_LANES; lane++)
        if (found[lane])
            want_value(y, e, s->ins, lane, found[lane]);
}

/* --- registers --- */

/* Returns the event of the step's load; TRACE_NO_EVENT: it loads memory that is not traced. */
static uint32_t load_of(const struct sim_trace *t, const struct trace_step *step, uint32_t end)
{
    for (uint32_t i = step->event; i < end; i++)
        if ((t->events.data[i].kind == TRACE_READ || t->events.data[i].kind == TRACE_UPDATE) &&
            t->events.data[i].warp == step->warp && !(t->events.data[i].flags & TRACE_COPY))
            return i;
    return TRACE_NO_EVENT;
}

/* Wanted bytes of a destination: register number `number` of its vector. */
struct made {
    const struct trace_step *step;
    const struct ptx_instruction *ins;
    int64_t time;
    int number, lane;
    unsigned bytes;
};

static void want_loaded(struct why *y, const struct made *m, uint32_t event,
                        uint32_t read[SIM_LANES])
{
    struct sim_trace *t = y->t;
    const struct trace_event *e = &t->events.data[event];
    int element = ptx_mods[ptx_type(m->ins, 0)].bits / 8;
    if (m->ins->op == PTX_LDMATRIX)
        element = 4;
    for (unsigned rest = m->bytes; rest; rest &= rest - 1) {
        int byte = __builtin_ctz(rest), lane = m->lane, in = m->number * element + byte;
        if (byte >= element) /* extended */
            continue;
        if (m->ins->op == PTX_LDMATRIX) {
            bool turned = ptx_has(m->ins, MOD_TRANS);
            int major = m->lane / 4, minor = m->lane % 4 * 2 + byte / 2;
            lane = 8 * m->number + (turned ? minor : major);
            in = 2 * (turned ? major : minor) + byte % 2;
        }
        want_memory(y, address_of(t, e, lane) + (uint32_t)in);
        read[lane] |= 1u << in;
    }
}

/* Wants all registers of an operand, whole, in a lane. */
static void want_operand(struct why *y, int warp, const struct ptx_operand *o, int lane)
{
    if (o->kind == PTX_REGISTER)
        want_register(y, warp, o->reg, lane, WHOLE);
    for (uint32_t i = 0; o->kind == PTX_VECTOR && i < o->count; i++)
        want_operand(y, warp, &o->elements[i], lane);
}

static const struct ptx_operand *part_of(const struct ptx_operand *o, uint32_t i)
{
    return o->kind == PTX_VECTOR ? i < o->count ? &o->elements[i] : NULL : i ? NULL : o;
}

/* Wants the factors of an element; sim_mma.c says which lane has which elements. Returns the
 * number of products of one element of D. */
static int want_factors(struct why *y, const struct made *m)
{
    int rows, columns, depth, warp = m->step->warp;
    const struct ptx_operand *o = m->ins->operands;
    ptx_shape(ptx_find(m->ins, PTX_CLASS_SHAPE, 0), &rows, &columns, &depth);
    bool halves = ptx_type(m->ins, 0) == MOD_F16;
    bool known = m->ins->op == PTX_MMA && columns == 8 && rows % 8 == 0 &&
                 !(rows == 8 && ptx_type(m->ins, 1) == MOD_F16);
    for (int lane = 0; lane < SIM_LANES && !known; lane++)
        for (int i = 1; i < m->ins->operand_count; i++)
            want_operand(y, warp, &o[i], lane);
    if (!known)
        return depth;
    int blocks = rows / 8, block = halves ? m->number : m->number / 2;
    for (int word = 0; word < 4; word++) {
        for (uint32_t i = (uint32_t)block; part_of(&o[1], i); i += (uint32_t)blocks)
            want_operand(y, warp, part_of(&o[1], i), m->lane / 4 * 4 + word);
        for (int odd = 0; odd < 2; odd++) {
            bool wanted = halves ? m->bytes >> 2 * odd & 3 : m->number % 2 == odd;
            for (uint32_t i = 0; wanted && part_of(&o[2], i); i++)
                want_operand(y, warp, part_of(&o[2], i), (m->lane % 4 * 2 + odd) * 4 + word);
        }
    }
    const struct ptx_operand *c = part_of(&o[3], (uint32_t)m->number);
    if (c && c->kind == PTX_REGISTER)
        want_register(y, warp, c->reg, m->lane, m->bytes);
    return depth;
}

/* Wants the source of shfl.sync. With constants the lane is known; otherwise it may be any lane. */
static void want_shuffled(struct why *y, const struct made *m)
{
    const struct ptx_operand *o = m->ins->operands;
    int warp = m->step->warp, lane = -1, by = o[2].kind == PTX_IMMEDIATE ? (int)o[2].bits : -1;
    if (m->ins->op == PTX_SHFL && by >= 0)
        lane = ptx_has(m->ins, MOD_BFLY)   ? m->lane ^ by
               : ptx_has(m->ins, MOD_DOWN) ? m->lane + by
               : ptx_has(m->ins, MOD_UP)   ? m->lane - by
                                           : by;
    if (lane >= 0 && lane < SIM_LANES && m->step->mask >> lane & 1) {
        want_operand(y, warp, &o[1], lane);
        return;
    }
    for (lane = 0; lane < SIM_LANES; lane++)
        if (m->step->mask >> lane & 1)
            want_operand(y, warp, &o[1], lane);
}

/* Wants the sources of a mov between a register and the parts of a vector, byte by byte. */
static void want_moved(struct why *y, const struct made *m)
{
    const struct ptx_operand *to = &m->ins->operands[0], *from = &m->ins->operands[1];
    int whole = ptx_mods[ptx_type(m->ins, 0)].bits / 8;
    int outs = to->kind == PTX_VECTOR ? (int)to->count : 1;
    int ins = from->kind == PTX_VECTOR ? (int)from->count : 1;
    for (unsigned rest = m->bytes; rest; rest &= rest - 1) {
        int at = m->number * (whole / outs) + __builtin_ctz(rest);
        const struct ptx_operand *part = part_of(from, (uint32_t)(at / (whole / ins)));
        if (part && part->kind == PTX_REGISTER)
            want_register(y, m->step->warp, part->reg, m->lane, 1u << at % (whole / ins));
    }
}

/* Wants the sources of prmt: each byte of the result is one of the eight bytes of two operands. */
static void want_permuted(struct why *y, const struct made *m)
{
    const struct ptx_operand *o = m->ins->operands;
    for (unsigned rest = m->bytes & 15; rest; rest &= rest - 1) {
        unsigned from = o[3].bits >> 4 * __builtin_ctz(rest) & 7;
        if (o[1 + from / 4].kind == PTX_REGISTER)
            want_register(y, m->step->warp, o[1 + from / 4].reg, m->lane, 1u << from % 4);
    }
}

static bool acts_across(const struct ptx_instruction *ins)
{
    return ins->op == PTX_SHFL || ins->op == PTX_REDUX || ins->op == PTX_VOTE ||
           ins->op == PTX_MATCH || ins->op == PTX_MOVMATRIX;
}

static void want_sources(struct why *y, const struct made *m)
{
    const struct ptx_instruction *ins = m->ins;
    const struct ptx_operand *o = ins->operands;
    enum ptx_mod to = ptx_type(ins, 0);
    int warp = m->step->warp;
    if (acts_across(ins)) {
        want_shuffled(y, m);
    } else if (ins->op == PTX_MOV && (o[0].kind == PTX_VECTOR || o[1].kind == PTX_VECTOR)) {
        want_moved(y, m);
    } else if (ins->op == PTX_CVT && (to == MOD_F16X2 || to == MOD_BF16X2) &&
               ins->operand_count > 2) {
        if (m->bytes & 0xc)
            want_operand(y, warp, &o[1], m->lane);
        if (m->bytes & 0x3)
            want_operand(y, warp, &o[2], m->lane);
    } else if (ins->op == PTX_SELP) {
        want_operand(y, warp, &o[m->step->chosen >> m->lane & 1 ? 1 : 2], m->lane);
    } else if (ins->op == PTX_PRMT && o[3].kind == PTX_IMMEDIATE && ins->mod_count == 1) {
        want_permuted(y, m);
    } else if (ins->op == PTX_MOV && o[1].kind == PTX_REGISTER) {
        want_register(y, warp, o[1].reg, m->lane, m->bytes);
    } else {
        for (int i = 0; i < ins->operand_count; i++) {
            const struct ptx_slot *slot = ptx_slot_of(y->kernel, ins, (size_t)i);
            if (!slot || !(slot->flags & SLOT_WRITTEN) || slot->flags & SLOT_READ)
                want_operand(y, warp, &o[i], m->lane);
        }
    }
}

/* The results of a step so far. */
struct passing {
    uint32_t event; /* of its load */
    uint32_t read[SIM_LANES];
    uint32_t lanes; /* lanes for which it computes */
    int64_t products;
};

static void pass_register(struct why *y, const struct made *m, struct passing *p)
{
    const struct ptx_instruction *ins = m->ins;
    double matrix = sim_flops_of_matrix(ins);
    bool loads = ins->op == PTX_LD || ins->op == PTX_LDMATRIX || ins->op == PTX_ATOM;
    if (loads) {
        if (p->event != TRACE_NO_EVENT)
            want_loaded(y, m, p->event, p->read);
        return;
    }
    if (matrix > 0)
        p->products += want_factors(y, m);
    else
        want_sources(y, m);
    bool multiplies = ins->op == PTX_FMA || ins->op == PTX_MUL || ins->op == PTX_MAD;
    if (matrix == 0 && sim_flops_of_thread(ins)) {
        p->lanes |= 1u << m->lane;
        p->products += multiplies;
    }
    if (matrix > 0)
        p->lanes |= 1u << m->lane;
}

static void pass_destination(struct why *y, struct made *m, const struct ptx_operand *o,
                             struct passing *p)
{
    for (uint32_t i = 0; o->kind == PTX_VECTOR && i < o->count; i++) {
        m->number = (int)i;
        pass_destination(y, m, &o->elements[i], p);
    }
    if (o->kind != PTX_REGISTER)
        return;
    for (uint32_t rest = m->step->mask; rest; rest &= rest - 1) {
        m->lane = __builtin_ctz(rest);
        m->bytes = take_register(y, m->step->warp, o->reg, m->lane);
        if (m->bytes)
            pass_register(y, m, p);
    }
}

static void pass_step(struct why *y, size_t number)
{
    struct sim_trace *t = y->t;
    const struct trace_step *step = &t->steps.data[number];
    const struct trace_code *code = &t->codes.data[step->code];
    uint32_t end =
        number + 1 < t->steps.count ? t->steps.data[number + 1].event : (uint32_t)t->events.count;
    for (uint32_t i = end; i > step->event; i--)
        if (t->events.data[i - 1].kind == TRACE_WRITE || t->events.data[i - 1].kind == TRACE_UPDATE)
            pass_write(y, i - 1);
    if (code->function != y->kernel || !y->registers[step->warp] || !step->mask)
        return;
    struct made m = {.step = step, .ins = code->ins, .time = (int64_t)number + 1};
    struct passing p = {.event = load_of(t, step, end)};
    for (int i = 0; i < code->ins->operand_count; i++) {
        const struct ptx_slot *slot = ptx_slot_of(y->kernel, code->ins, (size_t)i);
        m.number = 0;
        if (slot && slot->flags & SLOT_WRITTEN)
            pass_destination(y, &m, &code->ins->operands[i], &p);
    }
    uint32_t any = 0;
    for (int lane = 0; lane < SIM_LANES; lane++)
        any |= p.read[lane];
    if (any)
        add_accessed(y, p.event, p.read, false);
    if (p.lanes)
        add_products(y, step, m.time, p.lanes, p.products, sim_flops_of_matrix(code->ins) > 0);
}

/* --- barriers --- */

/* Finds, for races, two writers of each granule, of different warps, between two barriers. */
static void find_writers(struct why *y)
{
    struct sim_trace *t = y->t;
    uint32_t *left = arena_array(t->arena, uint32_t, t->warps + 1);
    y->epochs = arena_array(t->arena, uint32_t, t->events.count + 1);
    for (uint32_t i = 0; i < t->events.count; i++) {
        const struct trace_event *e = &t->events.data[i];
        const struct trace_site *s = &t->sites.data[e->site];
        if (e->kind == TRACE_RELEASE && !(e->flags & TRACE_MBARRIER))
            left[e->warp]++;
        y->epochs[i] = left[e->warp];
        if (e->kind != TRACE_WRITE || s->space != SIM_SHARED || e->flags & TRACE_COPY)
            continue;
        for (uint32_t rest = e->mask; rest; rest &= rest - 1) {
            uint32_t at = address_of(t, e, __builtin_ctz(rest));
            for (uint32_t b = 0; b < (uint32_t)s->bytes; b += GRANULE) {
                uint64_t key = 2 * ((uint64_t)y->epochs[i] << 32 | (at + b) / GRANULE);
                bool added;
                struct number_entry *w = number_map_entry(t->arena, &y->writers, key, &added);
                if (!added && t->events.data[w->value - 1].warp != e->warp)
                    w = number_map_entry(t->arena, &y->writers, key + 1, &added);
                w->value = i + 1;
            }
        }
    }
}

/* Writes the path in order of time, with the barriers that the element's warp left meanwhile. */
static void write_path(struct why *y, struct sim_why *out)
{
    struct sim_trace *t = y->t;
    size_t at = y->entries.count, most = at + t->events.count;
    struct sim_why_step *steps = arena_array(t->arena, struct sim_why_step, most + 1);
    for (uint32_t i = 0; i < t->events.count; i++) {
        const struct trace_event *e = &t->events.data[i];
        if (e->kind != TRACE_RELEASE || e->warp != y->warp || e->time < y->first ||
            e->time > y->last)
            continue;
        while (at > 0 && y->entries.data[at - 1].time < e->time)
            steps[out->count++] = y->entries.data[--at];
        steps[out->count] =
            begin_entry(y, TRACE_RELEASE, e->time, e->warp, e->mask, t->sites.data[e->site].ins);
        steps[out->count++].event = i;
    }
    while (at > 0)
        steps[out->count++] = y->entries.data[--at];
    out->steps = steps;
}

void sim_trace_why(struct sim_trace *t, struct sim_why *out)
{
    const struct sim_trace_settings *s = &t->settings;
    struct why y = {.t = t, .kernel = t->kernel, .warp = -1};
    const struct trace_memory *m = NULL;
    y.registers = arena_array(t->arena, uint8_t *, t->warps + 1);
    for (size_t i = 0; i < t->arrays.count; i++)
        if (t->arrays.data[i].is.name && strcmp(t->arrays.data[i].is.name, s->why) == 0)
            m = &t->arrays.data[i];
    find_writers(&y);
    int64_t end = m ? (int64_t)m->is.bytes : 0, from = s->why_offset;
    for (int64_t i = 0; i < s->why_bytes && from >= 0 && from < end - i; i++)
        want_memory(&y, m->at + (uint32_t)(from + i));
    for (size_t i = t->steps.count; i > 0 && y.wanted > 0; i--)
        pass_step(&y, i - 1);
    *out = (struct sim_why){.block = t->why_block,
                            .thread = y.warp < 0 ? -1 : y.warp * SIM_LANES + y.lane,
                            .products = y.products,
                            .complete = !y.cut && !t->truncated && s->from <= 0};
    for (int i = 0; i < 2; i++) {
        out->reads[i] = y.reads[i];
        out->writes[i] = y.writes[i];
    }
    write_path(&y, out);
}
