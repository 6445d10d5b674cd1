/* Vector width, wavefronts and sectors of an access.
 *
 * The maps give every lane's address; counting then follows the hardware's rule. Usually one
 * instruction represents all of them (is_uniform): if the other counters only shift all lanes by
 * the same amount, or xor the same bits into all, they permute the banks and change no count. If
 * lanes also add, this holds for the bits below the lowest one that they add to; an xor of a bit
 * above it must be of a bit that no lane has, because it is then a shift. An xor of bits within a
 * word moves no lane to another word if no lane adds. */
#include "layout/layout_access.h"

#include "layout/gf2.h"

#include <string.h>

enum { ROW_BYTES = 16, VECTOR_BYTES = 16, SECTOR_BYTES = 32 };

/* --- Vectors --- */

bool layout_moves_only(const struct layout *l, const struct layout_digit *d, int j, int32_t value)
{
    for (int o = 0; o < l->out_count; o++)
        if (d->xor [o] + d->add[o] != (o == j ? value : 0) || (d->xor [o] && d->add[o]))
            return false;
    return d->extent == 2;
}

/* Returns true if all digits but those in `taken`, and the constants, are multiples of `unit` in
 * result j. */
static bool aligned(const struct layout *l, int j, uint64_t taken, int32_t unit)
{
    if (l->flip[j] % unit || l->offset[j] % unit)
        return false;
    for (int d = 0; d < l->digit_count; d++)
        if (!(taken >> d & 1) && (l->digits[d].xor [j] % unit || l->digits[d].add[j] % unit))
            return false;
    return true;
}

int layout_vector(const struct layout *l, int j, int most, int32_t *weights, int *bits)
{
    int reg = layout_in_index(l, AXIS_REG), width = 1;
    uint64_t taken = 0;
    for (*bits = 0; width * 2 <= most && *bits < ACCESS_VECTOR_BITS; width *= 2) {
        int found = -1;
        for (int d = 0; d < l->digit_count && found < 0; d++)
            if (l->digits[d].in == reg && layout_moves_only(l, &l->digits[d], j, width))
                found = d;
        if (found < 0)
            break;
        taken |= (uint64_t)1 << found;
        if (!aligned(l, j, taken, width * 2))
            break;
        weights[(*bits)++] = layout_weight(l, found);
    }
    return width;
}

/* --- Where registers meet memory --- */

struct place_share layout_share(const struct layout *l, int j, enum layout_axis axis, int32_t value)
{
    struct place_share s = {0, 0};
    int i = layout_in_index(l, axis);
    for (int d = 0; d < l->digit_count; d++) {
        if (l->digits[d].in != i)
            continue;
        int32_t digit = value % l->digits[d].extent;
        value /= l->digits[d].extent;
        s.xor ^= digit ? l->digits[d].xor [j] : 0;
        s.add += digit * l->digits[d].add[j];
    }
    return s;
}

/* Returns the share of a register of a warp, with the constants. */
static struct place_share share_of_register(const struct layout *l, int j, int32_t reg,
                                            int32_t warp)
{
    struct place_share r = layout_share(l, j, AXIS_REG, reg),
                       w = layout_share(l, j, AXIS_WARP, warp);
    return (struct place_share){r.xor ^w.xor ^l->flip[j], r.add + w.add + l->offset[j]};
}

/* Computes share_of for every lane: each digit repeats the shares of the digits below it. */
static void share_of_lanes(const struct layout *l, int j, struct place_share share[LAYOUT_LANES])
{
    int i = layout_in_index(l, AXIS_LANE);
    int32_t known = 1;
    share[0] = (struct place_share){0, 0};
    for (int d = 0; d < l->digit_count && known < LAYOUT_LANES; d++) {
        if (l->digits[d].in != i)
            continue;
        int32_t end = known * l->digits[d].extent;
        for (int32_t lane = known; lane < end && lane < LAYOUT_LANES; lane++)
            share[lane] = (struct place_share){share[lane % known].xor ^l->digits[d].xor [j],
                                               share[lane - known].add + l->digits[d].add[j]};
        known = end;
    }
    for (int32_t lane = known; lane < LAYOUT_LANES; lane++)
        share[lane] = share[lane % known];
}

/* Finds the lanes' shares in a result outside of which some registers lie. */
static void meet_mask(const struct layout *regs, int j, struct layout_mask *mask)
{
    mask->result = j;
    mask->xors = mask->least = mask->most = 0;
    share_of_lanes(regs, j, mask->lane);
    for (int lane = 0; lane < LAYOUT_LANES; lane++) {
        const struct place_share *s = &mask->lane[lane];
        mask->xors |= s->xor ;
        mask->least = s->add < mask->least ? s->add : mask->least;
        mask->most = s->add > mask->most ? s->add : mask->most;
    }
}

/* Returns the lanes that hold an element in a register of a warp. */
static uint32_t active_lanes(const struct layout_meeting *m, int32_t reg, int32_t warp)
{
    uint32_t active = UINT32_MAX;
    for (const struct layout_mask *k = m->mask; k < m->mask + m->masks; k++) {
        const struct place_share s = share_of_register(m->regs, k->result, reg, warp);
        const int32_t extent = m->regs->outs[k->result].extent;
        const int32_t least = (s.xor &~k->xors) + s.add + k->least,
                      most = (s.xor | k->xors) + s.add + k->most;
        if (most < 0 || least >= extent)
            return 0;
        for (int lane = 0; (least < 0 || most >= extent) && lane < LAYOUT_LANES; lane++) {
            int32_t at = (s.xor ^k->lane[lane].xor) + s.add + k->lane[lane].add;
            if (at < 0 || at >= extent)
                active &= ~((uint32_t)1 << lane);
        }
    }
    return active;
}

void layout_meet(struct layout_meeting *m, const struct layout *regs, const struct layout *memory,
                 int bits)
{
    m->regs = regs;
    m->memory = memory;
    m->bits = bits;
    m->linear = layout_compose(memory, regs, &m->composed);
    m->masks = 0;
    m->single = layout_free_extent(regs, AXIS_REG) == 1;
    if (m->linear)
        share_of_lanes(&m->composed, 0, m->lane);
    else
        memset(m->lane, 0, sizeof m->lane);
    for (int j = 0; j < regs->out_count; j++) {
        int32_t least, greatest;
        layout_range(regs, j, &least, &greatest);
        if (least < 0 || greatest >= regs->outs[j].extent)
            meet_mask(regs, j, &m->mask[m->masks++]);
    }
}

static uint32_t in_bytes(const struct layout_meeting *m, int32_t place)
{
    return (uint32_t)((int64_t)place * m->bits / 8);
}

/* Gives the byte addresses of the active lanes for a register of a warp. */
static void addresses(const struct layout_meeting *m, int32_t reg, int32_t warp, uint32_t active,
                      uint32_t address[LAYOUT_LANES])
{
    int32_t at[LAYOUT_OUTS];
    struct place_share r = {0, 0};
    if (m->linear)
        r = share_of_register(&m->composed, 0, reg, warp);
    for (int32_t lane = 0; lane < LAYOUT_LANES; lane++) {
        int32_t place = (m->lane[lane].xor ^r.xor) + m->lane[lane].add + r.add;
        bool inside = active >> lane & 1;
        if (!m->linear && inside) {
            layout_element(m->regs, reg, lane, warp, at);
            int32_t in[LAYOUT_INS] = {0};
            for (int j = 0; j < m->regs->out_count; j++) {
                int i = layout_in_index(m->memory, m->regs->outs[j].axis);
                if (i >= 0)
                    in[i] = at[j];
            }
            layout_apply(m->memory, in, at);
            place = at[0];
        }
        address[lane] = inside ? in_bytes(m, place) : 0;
    }
}

/* Gives the matrix rows in the order in which the lanes give them: lane l has row l % 8 of
 * matrix l / 8. */
static void row_addresses(const struct layout_meeting *m, const struct access *a, int32_t reg,
                          int32_t warp, uint32_t address[LAYOUT_LANES])
{
    const struct layout *l = &m->composed;
    const bool plain = a->kind == ACCESS_MATRIX; /* otherwise a register holds two rows */
    struct place_share w = layout_share(l, 0, AXIS_WARP, warp), x[4][2];
    for (int matrix = 0; matrix < a->matrices; matrix++)
        for (int half = 0; half < 2; half++) {
            int32_t r = reg + (matrix & 1) * a->matrix[0] + (matrix >> 1) * a->matrix[1];
            x[matrix][half] =
                layout_share(l, 0, AXIS_REG, r + (plain ? 0 : half * (a->elements / 2)));
        }
    w.xor ^= l->flip[0];
    w.add += l->offset[0];
    for (int i = 0; i < LAYOUT_LANES; i++) {
        int row = i % 8, lane = plain ? row * 4 : row >> 1;
        struct place_share s = x[i / 8 % a->matrices][row & 1];
        int32_t place = (s.xor ^w.xor ^m->lane[lane].xor) + s.add + w.add + m->lane[lane].add;
        address[i] = in_bytes(m, place);
    }
}

static bool is_base(const struct access *a, int32_t reg)
{
    for (int b = 0; b < a->vector_bits; b++)
        if (reg / a->vector[b] % 2)
            return false;
    for (int b = 0; 1 << b < a->matrices; b++)
        if (reg / a->matrix[b] % 2)
            return false;
    return true;
}

/* Returns true if every digit of reg that moves nothing is 0: only then does the instruction
 * move the element. */
static bool is_first_holder(const struct layout *regs, int32_t reg)
{
    int i = layout_in_index(regs, AXIS_REG);
    for (int d = 0; d < regs->digit_count; d++) {
        if (regs->digits[d].in != i)
            continue;
        bool moves = false;
        for (int j = 0; j < regs->out_count; j++)
            moves |= regs->digits[d].xor [j] || regs->digits[d].add[j];
        if (!moves && reg % regs->digits[d].extent)
            return false;
        reg /= regs->digits[d].extent;
    }
    return true;
}

bool layout_access_base(const struct layout *regs, const struct access *access, int32_t reg)
{
    return is_base(access, reg) && (access->single || is_first_holder(regs, reg));
}

/* Returns true if all instructions with the same active lanes take the same wavefronts, as explained
 * at the top. */
static bool is_uniform(const struct layout_meeting *m, const struct access *a)
{
    const struct layout *l = &m->composed;
    int32_t lane_xor = 0, lane_add = 0, other_xor = l->flip[0];
    int32_t unit = a->bytes < 4 ? 32 : a->bytes * 8;
    if (!m->linear || unit % m->bits)
        return false;
    unit /= m->bits;
    int32_t finer = l->flip[0] % unit; /* bits below the unit that others than lanes xor */
    int lane = layout_in_index(l, AXIS_LANE);
    for (int d = 0; d < l->digit_count; d++) {
        if (l->digits[d].in == lane) {
            lane_xor |= l->digits[d].xor [0];
            lane_add |= l->digits[d].add[0];
            continue;
        }
        int32_t weight = layout_weight(l, d);
        bool within = l->ins[l->digits[d].in].axis == AXIS_REG && !is_base(a, weight);
        if (!within && l->digits[d].add[0] % unit)
            return false;
        finer |= within ? 0 : l->digits[d].xor [0] % unit;
        other_xor |= l->digits[d].xor [0];
    }
    int32_t kept = lane_add ? (lane_add & -lane_add) - 1 : -1; /* bits that no lane adds to */
    if (finer && (a->bytes >= 4 || lane_add))
        return false;
    return l->offset[0] % unit == 0 && !(lane_xor & other_xor & ~kept);
}

/* Counts the wavefronts of an instruction with some active lanes; those of a matrix access are all
 * active. */
static int count_one(const struct layout_meeting *m, const struct access *a, int32_t reg,
                     int32_t warp, uint32_t active, int *least)
{
    uint32_t address[LAYOUT_LANES];
    if (a->kind != ACCESS_LANES) {
        row_addresses(m, a, reg, warp, address);
        *least = a->matrices;
        return layout_matrix_wavefronts(address, a->matrices);
    }
    addresses(m, reg, warp, active, address);
    *least = layout_shared_wavefronts_least(active, a->bytes);
    return layout_shared_wavefronts(address, active, a->bytes);
}

/* Counts the base registers: those whose bits of vectors, matrices and broadcasts are all 0. */
static int64_t bases(const struct layout_meeting *m, const struct access *a)
{
    int64_t moved = ((int64_t)1 << a->vector_bits) * a->matrices;
    return layout_in_extent(m->regs, AXIS_REG) / (moved * layout_free_extent(m->regs, AXIS_REG));
}

/* The wavefronts of instructions with the same active lanes. */
struct counted {
    uint32_t active; /* 0: not counted yet */
    int wavefronts, least;
};

static void count(const struct layout_meeting *m, struct access *a)
{
    enum { KEPT = 15 };
    struct counted kept[KEPT] = {{0}};

    const int32_t regs = layout_in_extent(m->regs, AXIS_REG),
                  warps = layout_in_extent(m->regs, AXIS_WARP);
    const bool uniform = is_uniform(m, a);
    a->instructions = a->wavefronts = a->least = 0;
    if (uniform && !m->masks) {
        int least, wavefronts = count_one(m, a, 0, 0, UINT32_MAX, &least);
        a->instructions = bases(m, a) * warps;
        a->wavefronts = a->instructions * wavefronts;
        a->least = a->instructions * least;
        return;
    }
    for (int32_t reg = 0; reg < regs; reg++) {
        if (!layout_access_base(m->regs, a, reg))
            continue;
        for (int32_t warp = 0; warp < warps; warp++) {
            const uint32_t active = active_lanes(m, reg, warp);
            if (!active)
                continue;
            struct counted *c = &kept[active % KEPT];
            if (!uniform || active != c->active) {
                c->active = active;
                c->wavefronts = count_one(m, a, reg, warp, active, &c->least);
            }
            a->instructions++;
            a->wavefronts += c->wavefronts;
            a->least += c->least;
        }
    }
}

/* Returns true if a mask could cut a vector of several elements, which an instruction moves as a
 * whole. The vector is then given up. */
static bool mask_cuts(const struct layout_meeting *m, const struct access *a)
{
    for (int b = 0; m->masks && b < a->vector_bits; b++) {
        struct layout_digit share = {.extent = 2};
        int i = layout_in_index(m->regs, AXIS_REG);
        int32_t rest = a->vector[b];
        for (int d = 0; d < m->regs->digit_count; d++) {
            if (m->regs->digits[d].in != i)
                continue;
            int32_t digit = rest % m->regs->digits[d].extent;
            rest /= m->regs->digits[d].extent;
            for (int j = 0; j < m->regs->out_count; j++)
                share.add[j] += digit * (m->regs->digits[d].xor [j] + m->regs->digits[d].add[j]);
        }
        for (int j = 0; j < m->regs->out_count; j++)
            if (share.add[j] && m->regs->outs[j].extent % (2 * share.add[j]))
                return true;
    }
    return false;
}

void layout_meeting_lanes(const struct layout_meeting *m, int most, struct access *out)
{
    *out = (struct access){.kind = ACCESS_LANES, .elements = 1, .matrices = 1, .single = m->single};
    if (most > VECTOR_BYTES)
        most = VECTOR_BYTES;
    if (m->linear)
        out->elements =
            layout_vector(&m->composed, 0, most * 8 / m->bits, out->vector, &out->vector_bits);
    if (mask_cuts(m, out)) {
        out->elements = 1;
        out->vector_bits = 0;
    }
    out->bytes = (out->elements * m->bits + 7) / 8;
    count(m, out);
}

void layout_access_lanes(const struct layout *regs, const struct layout *memory, int bits, int most,
                         struct access *out)
{
    struct layout_meeting m;
    layout_meet(&m, regs, memory, bits);
    layout_meeting_lanes(&m, most, out);
}

/* --- Matrix accesses --- */

static bool has_bit(const struct layout *l, enum layout_axis axis, int32_t weight)
{
    int i = layout_in_index(l, axis);
    for (int d = 0; d < l->digit_count; d++)
        if (l->digits[d].in == i && l->digits[d].extent == 2 && layout_weight(l, d) == weight)
            return true;
    return false;
}

/* Returns true if the digit of `axis` with this weight moves the place by `value` (for value 0:
 * by any multiple of the unit). */
static bool digit_is(const struct layout *l, enum layout_axis axis, int32_t weight, int32_t value,
                     int32_t unit)
{
    struct place_share s = layout_share(l, 0, axis, weight);
    if (value)
        return s.xor +s.add == value && !(s.xor &&s.add);
    return s.xor % unit == 0 && s.add % unit == 0;
}

/* Checks the fragment of a matrix access with e elements in a 32-bit register: it has the step
 * that each bit of lane (and of reg within the register) must have, or 0 for a step from row to
 * row. With .trans the halves of a register belong to two rows; bytes stay in pairs. */
static bool fragment_fits(const struct layout *l, int e, bool trans)
{
    int32_t unit = 4 * e, half = e / 2, lane_step[5] = {e, 2 * e, 0, 0, 0};
    if (trans) {
        const int32_t column[5] = {0, 0, half, 2 * half, 4 * half};
        memcpy(lane_step, column, sizeof column);
    }
    for (int b = 0; 1 << b < e; b++)
        if (!has_bit(l, AXIS_REG, 1 << b) ||
            !digit_is(l, AXIS_REG, 1 << b, trans && 1 << b == half ? 0 : 1 << b, unit))
            return false;
    for (int b = 0; b < 5; b++)
        if (!digit_is(l, AXIS_LANE, 1 << b, lane_step[b], unit))
            return false;
    return true;
}

static bool rest_is_aligned(const struct layout *l, int e)
{
    int32_t unit = 4 * e;
    for (int d = 0; d < l->digit_count; d++) {
        enum layout_axis axis = l->ins[l->digits[d].in].axis;
        if (axis == AXIS_LANE || (axis == AXIS_REG && layout_weight(l, d) < e))
            continue;
        if (l->digits[d].xor [0] % unit || l->digits[d].add[0] % unit)
            return false;
    }
    return l->flip[0] % unit == 0 && l->offset[0] % unit == 0;
}

/* Finds the digits of reg that distinguish up to `most` matrices: the lowest ones above the
 * word. */
static void find_matrices(const struct layout *l, int e, int most, struct access *a)
{
    int reg = layout_in_index(l, AXIS_REG);
    a->matrices = 1;
    for (int d = 0; d < l->digit_count && a->matrices < most; d++) {
        int32_t weight = layout_weight(l, d);
        const struct layout_digit *digit = &l->digits[d];
        if (digit->in != reg || weight < e || digit->extent != 2 ||
            (!digit->xor [0] && !digit->add[0]))
            continue;
        a->matrix[a->matrices / 2] = weight;
        a->matrices *= 2;
    }
}

/* Returns 1 if the elements that an instruction moves are all inside, 0 if all are masked, -1
 * otherwise. */
static int inside(const struct layout_meeting *m, const struct access *a, int32_t reg, int32_t warp)
{
    bool some = false, all = true;
    for (int matrix = 0; matrix < a->matrices; matrix++)
        for (int e = 0; e < a->elements; e++) {
            int32_t r = reg + e + (matrix & 1) * a->matrix[0] + (matrix >> 1) * a->matrix[1];
            uint32_t active = active_lanes(m, r, warp);
            some |= active != 0;
            all &= active == UINT32_MAX;
        }
    return all ? 1 : some ? -1 : 0;
}

static bool mask_cuts_matrices(const struct layout_meeting *m, const struct access *a)
{
    for (int32_t reg = 0; m->masks && reg < layout_in_extent(m->regs, AXIS_REG); reg++)
        for (int32_t warp = 0; warp < layout_in_extent(m->regs, AXIS_WARP); warp++)
            if (is_base(a, reg) && inside(m, a, reg, warp) < 0)
                return true;
    return false;
}

bool layout_meeting_matrix(const struct layout_meeting *m, bool trans, struct access *out)
{
    int e = m->bits <= 32 ? 32 / m->bits : 0;
    if (!m->linear || e == 0 || (trans && m->bits != 16 && m->bits != 8) ||
        layout_in_extent(m->regs, AXIS_LANE) != LAYOUT_LANES ||
        layout_in_extent(m->regs, AXIS_REG) % e || !fragment_fits(&m->composed, e, trans) ||
        !rest_is_aligned(&m->composed, e))
        return false;
    *out = (struct access){.kind = trans ? ACCESS_MATRIX_TRANS : ACCESS_MATRIX,
                           .bytes = ROW_BYTES,
                           .elements = e,
                           .single = m->single};
    for (int b = 0; 1 << b < e; b++)
        out->vector[out->vector_bits++] = 1 << b;
    int most = 4;
    for (find_matrices(&m->composed, e, most, out); mask_cuts_matrices(m, out);
         find_matrices(&m->composed, e, most, out)) {
        if (out->matrices == 1)
            return false;
        most = out->matrices / 2;
    }
    count(m, out);
    return true;
}

bool layout_access_matrix(const struct layout *regs, const struct layout *memory, int bits,
                          bool trans, struct access *out)
{
    struct layout_meeting m;
    layout_meet(&m, regs, memory, bits);
    return layout_meeting_matrix(&m, trans, out);
}

uint32_t layout_access_addresses(const struct layout *regs, const struct layout *memory, int bits,
                                 const struct access *access, int32_t reg, int32_t warp,
                                 uint32_t address[LAYOUT_LANES])
{
    struct layout_meeting m;
    layout_meet(&m, regs, memory, bits);
    const uint32_t active = active_lanes(&m, reg, warp);
    if (access->kind == ACCESS_LANES)
        addresses(&m, reg, warp, active, address);
    else
        row_addresses(&m, access, reg, warp, address);
    return active;
}

/* --- Global memory --- */

/* A register tile in a global array, with its place counted in elements from the array's start. */
struct spread {
    const struct layout *regs;
    const int64_t *strides;
    int bits, bytes; /* bits of an element; bytes of a lane's vector */
    /* The place is a sum of the counters' shares: no two digits xor the same bit, and nothing is
     * masked. */
    bool sums;
    struct layout apart;
    int64_t lane[LAYOUT_LANES];
    int sectors[SECTOR_BYTES *
                8]; /* sectors of an instruction, by the number of bits from a sector's start to its
              * first place; 0: not known */
};

/* Returns the share of a counter's value in the place. */
static int64_t place_of(const struct spread *s, enum layout_axis axis, int32_t value)
{
    const struct layout *l = &s->apart;
    int64_t place = 0;
    int i = layout_in_index(l, axis);
    for (int d = 0; d < l->digit_count; d++) {
        if (l->digits[d].in != i)
            continue;
        int32_t digit = value % l->digits[d].extent;
        value /= l->digits[d].extent;
        for (int j = 0; digit && j < l->out_count; j++)
            place += digit * l->digits[d].add[j] * s->strides[j];
    }
    return place;
}

static void spread_out(struct spread *s)
{
    s->apart = *s->regs;
    layout_demote(&s->apart);
    s->sums = !layout_masked(s->regs);
    for (int j = 0; j < s->apart.out_count; j++) {
        s->sums &= !s->apart.flip[j] && !s->apart.offset[j];
        for (int d = 0; d < s->apart.digit_count; d++)
            s->sums &= !s->apart.digits[d].xor [j];
    }
    for (int lane = 0; s->sums && lane < LAYOUT_LANES; lane++)
        s->lane[lane] = place_of(s, AXIS_LANE, lane);
}

/* Returns the sectors of one instruction, or 0 if no lane has an element. */
static int sectors_of_one(const struct spread *s, int32_t reg, int32_t warp)
{
    uint64_t address[LAYOUT_LANES] = {0};
    int32_t at[LAYOUT_OUTS];
    uint32_t active = 0;
    for (int32_t lane = 0; lane < LAYOUT_LANES; lane++) {
        active |= (uint32_t)layout_element(s->regs, reg, lane, warp, at) << lane;
        int64_t place = 0;
        for (int j = 0; j < s->regs->out_count; j++)
            place += at[j] * s->strides[j];
        address[lane] = (uint64_t)(place * s->bits / 8);
    }
    return layout_global_sectors(address, active, s->bytes);
}

/* Returns the same if places are sums: then only the offset of the first place in its sector
 * matters. */
static int sectors_from(struct spread *s, int64_t first)
{
    uint64_t address[LAYOUT_LANES];
    uint64_t within = (uint64_t)(first * s->bits) % (SECTOR_BYTES * 8);
    if (!s->sectors[within]) {
        for (int lane = 0; lane < LAYOUT_LANES; lane++)
            address[lane] = (within + (uint64_t)(s->lane[lane] * s->bits)) / 8;
        s->sectors[within] = layout_global_sectors(address, UINT32_MAX, s->bytes);
    }
    return s->sectors[within];
}

int64_t layout_sectors(const struct layout *regs, const int64_t *strides, int bits,
                       int64_t *instructions)
{
    struct access a = {.kind = ACCESS_LANES, .matrices = 1};
    struct spread s = {.regs = regs, .strides = strides, .bits = bits};
    int64_t sectors = 0;
    int elements =
        layout_vector(regs, regs->out_count - 1, VECTOR_BYTES * 8 / bits, a.vector, &a.vector_bits);
    s.bytes = (elements * bits + 7) / 8;
    spread_out(&s);
    *instructions = 0;
    for (int32_t reg = 0; reg < layout_in_extent(regs, AXIS_REG); reg++) {
        if (!layout_access_base(regs, &a, reg))
            continue;
        int64_t first = s.sums ? place_of(&s, AXIS_REG, reg) : 0;
        for (int32_t warp = 0; warp < layout_in_extent(regs, AXIS_WARP); warp++) {
            int more = s.sums ? sectors_from(&s, first + place_of(&s, AXIS_WARP, warp))
                              : sectors_of_one(&s, reg, warp);
            sectors += more;
            *instructions += more > 0;
        }
    }
    return sectors;
}

/* --- Addresses as instructions compute them --- */

void layout_split_addresses(const struct layout *l, struct address_split *out)
{
    int reg = layout_in_index(l, AXIS_REG);
    *out = (struct address_split){.touched = l->flip[0]};
    for (int d = 0; d < l->digit_count; d++)
        if (l->digits[d].in != reg)
            out->touched |= l->digits[d].xor [0];
    struct gf2_space space;
    gf2_init(&space);
    out->variants = 1;
    for (int d = 0; d < l->digit_count; d++) {
        int32_t v = l->digits[d].xor [0] & out -> touched;
        if (l->digits[d].in != reg || !gf2_insert(&space, (uint64_t)v, 0))
            continue;
        if (out->variants > 8) {
            out->variants = 17;
            return;
        }
        for (int n = 0; n < out->variants; n++)
            out->variant[out->variants + n] = out->variant[n] ^ v;
        out->variants *= 2;
    }
}

int32_t layout_split_constant(const struct layout *l, const struct address_split *split,
                              int32_t reg, int *variant)
{
    struct place_share s = layout_share(l, 0, AXIS_REG, reg);
    *variant = 0;
    while (*variant < split->variants - 1 && *variant < 15 &&
           split->variant[*variant] != (s.xor &split->touched))
        ++*variant;
    return (s.xor &~split->touched) + s.add + l->offset[0];
}
