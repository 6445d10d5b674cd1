/* Choosing a shared layout.
 *
 * "Linear Layouts: Robust Code Generation of Efficient Tensor Computation Using F2", section 5.4:
 * write a place as [line | bank | word]. The elements that one phase of an access touches span a
 * subspace U; the places that share a bank form the subspace S of the lines. The access has no
 * conflict exactly if 0 is the only vector in both U and S. So S should be a common complement of
 * the U of all accesses.
 *
 * We take S as a graph over the lines of the plain order: line bit i has a mask m(i) of bank bits:
 *
 *     place = plain place ^ (xor of m(i) over the set bits i of the line)
 *
 * That keeps any 128 bytes in a row free of conflicts, costs one xor a lane, and contains the
 * swizzles of CuTe and of bulk tensor copies. Masks are chosen bit by bit; each is the least that
 * lowers the lost ranks. If conflicts remain, the bits are few, and no more general layout is
 * allowed, all masks are tried. Masks start above the widest vector, so vectors stay whole.
 *
 * Candidates are the plain orders (each axis fastest in turn), padded rows if allowed, rows cut
 * into panels while that gains something, the swizzles of all of these except the padded, and,
 * if allowed, the result of the method without the restriction to graphs, with vectors along any
 * common registers (layout_complement.c). Each candidate is rated by counting (layout_access.c),
 * never by the estimate that found it. The cost of an access is twice its wavefronts plus its
 * instructions; at equal cost fewer bytes win, then the simpler form. */
#include "layout/layout_swizzle.h"

#include "layout/gf2.h"
#include "layout/layout_named.h"

#include <string.h>

enum {
    RANK_MAX = 6,
    LINE_BITS = 7,
    WORD_BITS = 2,
    LINES_MAX = 12,
    TRIALS_MAX = 4096,
    SECTOR_BITS = 256,
    ROW_BITS = 1024 /* bits of a row that one instruction of a copy should load at least, if the
                     * row has them */
};

const char *const layout_shared_form_names[SHARED_FORMS] = {"plain",  "swizzled",        "padded",
                                                            "panels", "panels swizzled", "linear"};

/* --- Rating --- */

static int64_t cost_of(const struct access *a)
{
    return 2 * a->wavefronts + a->instructions;
}

/* Returns true if a lane's vector goes along the axis. */
static bool goes_along(const struct layout *regs, const struct access *a, int axis)
{
    int32_t first[LAYOUT_OUTS], next[LAYOUT_OUTS];
    int j = layout_out_index(regs, AXIS_DIM(axis));
    layout_element(regs, 0, 0, 0, first);
    for (int b = 0; b < a->vector_bits; b++) {
        layout_element(regs, a->vector[b], 0, 0, next);
        if (j >= 0 && next[j] != first[j])
            return true;
    }
    return false;
}

static void rate_lanes(const struct shared_access *wish, const struct layout_meeting *m,
                       struct access *out)
{
    layout_meeting_lanes(m, wish->most, out);
    if (wish->apart > 0 && goes_along(wish->regs, out, wish->apart - 1))
        layout_meeting_lanes(m, (m->bits + 7) / 8, out);
}

/* Finds the cheapest way of making an access. *bound: its cost without conflicts. */
static bool rate_access(const struct shared_access *wish, const struct layout_meeting *m,
                        struct access *out, int64_t *bound)
{
    bool found = false;
    *bound = INT64_MAX;
    for (int kind = ACCESS_LANES; kind <= ACCESS_MATRIX_TRANS; kind++) {
        struct access a;
        if (!(wish->kinds >> kind & 1))
            continue;
        if (kind == ACCESS_LANES)
            rate_lanes(wish, m, &a);
        else if (!layout_meeting_matrix(m, kind == ACCESS_MATRIX_TRANS, &a))
            continue;
        if (a.bytes < wish->needed)
            continue;
        if (2 * a.least + a.instructions < *bound)
            *bound = 2 * a.least + a.instructions;
        if (found && cost_of(&a) >= cost_of(out))
            continue;
        *out = a;
        found = true;
    }
    return found;
}

/* Rates a layout. An access whose address is not a sum and xor of the shares of register and
 * lane (layout_compose) needs code of its own for every register, so such a layout is allowed
 * only if there is no alternative (any). Returns false also if the layout would cost more than
 * `limit` even without conflicts. */
static bool rate(const struct shared_wish *wish, const struct layout *layout, bool any,
                 int64_t limit, struct shared_choice *out, int64_t *bound)
{
    layout_copy(&out->layout, layout);
    out->bytes = ((int64_t)layout_out_extent(layout, AXIS_AT) * wish->bits + 7) / 8;
    out->cost = *bound = 0;
    for (int i = 0; i < wish->count && *bound <= limit; i++) {
        int64_t least;
        struct layout_meeting m;
        layout_meet(&m, wish->access[i].regs, layout, wish->bits);
        if ((!any && !m.linear) || !rate_access(&wish->access[i], &m, &out->access[i], &least)) {
            out->cost = INT64_MAX;
            return false;
        }
        out->cost += wish->access[i].weight * cost_of(&out->access[i]);
        *bound += wish->access[i].weight * least;
    }
    return *bound <= limit;
}

bool layout_rate_shared(const struct shared_wish *wish, const struct layout *layout,
                        struct shared_choice *out)
{
    int64_t bound;
    return rate(wish, layout, true, INT64_MAX, out, &bound);
}

static bool better(const struct shared_choice *a, const struct shared_choice *b)
{
    if (a->cost != b->cost)
        return a->cost < b->cost;
    if (a->bytes != b->bytes)
        return a->bytes < b->bytes;
    return a->form < b->form;
}

static void consider(const struct shared_wish *wish, const struct layout *layout,
                     enum shared_form form, struct shared_choice *best)
{
    struct shared_choice choice; /* large, so only what is read is set */
    choice.form = form;
    int64_t bound;
    if (rate(wish, layout, false, best->cost, &choice, &bound) && better(&choice, best))
        *best = choice;
}

/* --- Masks --- */

/* The bytes that the phases of all accesses touch, as addresses in the plain layout. */
struct phases {
    int count;
    uint64_t vector[SHARED_ACCESSES]
                   [5]; /* generators: one for each bit of the lane's number within the phase */
    int vectors[SHARED_ACCESSES];
    int unit[SHARED_ACCESSES];       /* address bits within a lane's vector (at least a word) */
    int rank[SHARED_ACCESSES];       /* rank of the addresses above the unit */
    int64_t weight[SHARED_ACCESSES]; /* phases that the tile takes, times the access's weight */
};

/* Returns the byte address that one step of a counter's weight leads to, or 0 if it is not a
 * step of the atom or a lone addition. */
static uint64_t step_of(const struct layout *l, enum layout_axis axis, int32_t weight, int bits)
{
    int i = layout_in_index(l, axis);
    for (int d = 0; d < l->digit_count; d++)
        if (l->digits[d].in == i && layout_weight(l, d) == weight)
            return (uint64_t)(l->digits[d].xor [0] + l->digits[d].add[0]) * (uint64_t)bits / 8;
    return 0;
}

static void find_phase(const struct shared_access *wish, const struct layout *plain,
                       const struct access *a, int bits, struct phases *p)
{
    static const int32_t rows[3] = {4, 8, 16}, columns[2] = {1, 2};
    struct layout composed;
    int n = 0;
    if (!layout_compose(plain, wish->regs, &composed))
        return;
    uint64_t *v = p->vector[p->count];
    if (a->kind == ACCESS_MATRIX)
        for (int b = 0; b < 3; b++)
            v[n++] = step_of(&composed, AXIS_LANE, rows[b], bits);
    if (a->kind == ACCESS_MATRIX_TRANS) {
        v[n++] = step_of(&composed, AXIS_REG, a->elements / 2, bits);
        for (int b = 0; b < 2; b++)
            v[n++] = step_of(&composed, AXIS_LANE, columns[b], bits);
    }
    if (a->kind == ACCESS_LANES)
        for (int b = 0; b < (a->bytes == 16 ? 3 : a->bytes == 8 ? 4 : 5); b++)
            v[n++] = step_of(&composed, AXIS_LANE, 1 << b, bits);
    p->vectors[p->count] = n;
    p->unit[p->count] = a->bytes <= 4 ? WORD_BITS : gf2_highest((uint64_t)a->bytes);
    uint64_t above[5];
    for (int i = 0; i < n; i++)
        above[i] = v[i] >> p->unit[p->count];
    p->rank[p->count] = gf2_rank(above, n);
    p->weight[p->count++] = wish->weight * (a->least > 0 ? a->least : 1);
}

/* A mask for each line bit, starting at address bit `first`. */
struct masks {
    int low; /* masks are multiples of 1 << low */
    int lines;
    int line[LINES_MAX]; /* address bits, 7 and up */
    uint64_t mask[LINES_MAX];
};

static uint64_t apply_masks(const struct masks *m, uint64_t address)
{
    for (int i = 0; i < m->lines; i++)
        if (address >> m->line[i] & 1)
            address ^= m->mask[i];
    return address;
}

/* Returns the wavefronts of these masks: for each phase 2^(rank lost between the addresses and
 * the banks). Stops counting at `enough`. */
static int64_t estimate(const struct phases *p, const struct masks *m, int64_t enough)
{
    int64_t sum = 0;
    for (int a = 0; a < p->count && sum < enough; a++) {
        uint64_t bank[5];
        for (int i = 0; i < p->vectors[a]; i++)
            bank[i] = (apply_masks(m, p->vector[a][i]) & ((1 << LINE_BITS) - 1)) >> p->unit[a];
        sum += p->weight[a] << (p->rank[a] - gf2_rank(bank, p->vectors[a]));
    }
    return sum;
}

/* Returns a lower bound for all masks: bits below the masks stay as they are, so the rank of a
 * phase is the one they give, plus at most one for each bit above. */
static int64_t lower_bound(const struct phases *p, const struct masks *m)
{
    int64_t sum = 0;
    for (int a = 0; a < p->count; a++) {
        uint64_t under[5];
        int above = LINE_BITS - (m->low > p->unit[a] ? m->low : p->unit[a]);
        for (int i = 0; i < p->vectors[a]; i++)
            under[i] = (p->vector[a][i] & (((uint64_t)1 << m->low) - 1)) >> p->unit[a];
        int lost = p->rank[a] - gf2_rank(under, p->vectors[a]) - above;
        sum += p->weight[a] << (lost > 0 ? lost : 0);
    }
    return sum;
}

static void choose_greedily(const struct phases *p, struct masks *m)
{
    for (int i = 0; i < m->lines; i++) {
        uint64_t best = 0;
        int64_t least = estimate(p, m, INT64_MAX);
        for (uint64_t mask = (uint64_t)1 << m->low; mask < 1 << LINE_BITS; mask += 1u << m->low) {
            m->mask[i] = mask;
            int64_t cost = estimate(p, m, least);
            if (cost < least) {
                least = cost;
                best = mask;
            }
        }
        m->mask[i] = best;
    }
}

/* Tries all masks, if they are few. */
static void choose_exhaustively(const struct phases *p, struct masks *m)
{
    int bits = LINE_BITS - m->low;
    if (bits * m->lines > gf2_highest(TRIALS_MAX))
        return;
    struct masks trial = *m;
    int64_t least = estimate(p, m, INT64_MAX), bound = lower_bound(p, m);
    for (uint64_t n = 0; least > bound && n < (uint64_t)1 << (bits * m->lines); n++) {
        for (int i = 0; i < m->lines; i++)
            trial.mask[i] = (n >> (bits * i) & ((1u << bits) - 1)) << m->low;
        int64_t cost = estimate(p, &trial, least);
        if (cost < least) {
            least = cost;
            *m = trial;
        }
    }
}

/* Makes the masks a layout from places to places. */
static void masks_to_layout(const struct masks *m, int bits, int32_t extent, struct layout *out)
{
    int top = gf2_highest((uint64_t)extent) + 1;
    layout_init(out);
    layout_add_out(out, AXIS_AT, extent);
    for (int b = 0; b < top; b++) {
        int32_t xor = (int32_t)1 << b;
        for (int i = 0; i < m->lines; i++)
            if ((uint64_t) xor *(uint64_t)bits / 8 == (uint64_t)1 << m->line[i])
                xor |= (int32_t)(m->mask[i] * 8 / (uint64_t)bits);
        layout_add_bit(out, AXIS_AT, &xor);
    }
    layout_normalise(out);
}

/* Tries `plain`, and `plain` with the best masks. Returns its cost without conflicts, or 0 if
 * that is not known. */
static int64_t consider_swizzles(const struct shared_wish *wish, const struct layout *plain,
                                 enum shared_form form, struct shared_choice *best)
{
    struct shared_choice rated, hoped; /* large, so only what is read is set */
    rated.form = form;
    struct phases p = {.count = 0};
    struct masks m = {.low = WORD_BITS};
    struct layout swizzle, swizzled;
    uint64_t lines = 0;
    int64_t bound;
    if (!rate(wish, plain, form == SHARED_PLAIN, best->cost, &rated, &bound))
        return rated.cost < INT64_MAX ? bound : 0;
    if (better(&rated, best))
        *best = rated;
    hoped.cost = bound;
    hoped.bytes = rated.bytes;
    hoped.form = form + 1;
    if (wish->no_xor || !better(&hoped, best)) /* a swizzle keeps the vectors */
        return bound;
    for (int i = 0; i < wish->count; i++) {
        int vector = gf2_highest((uint64_t)rated.access[i].bytes);
        m.low = vector > m.low ? vector : m.low;
        find_phase(&wish->access[i], plain, &rated.access[i], wish->bits, &p);
    }
    for (int a = 0; a < p.count; a++)
        for (int i = 0; i < p.vectors[a]; i++)
            lines |= p.vector[a][i] >> LINE_BITS;
    for (int b = 0; b < 32 && m.lines < LINES_MAX; b++)
        if (lines >> b & 1)
            m.line[m.lines++] = b + LINE_BITS;
    if (m.lines == 0 || estimate(&p, &m, INT64_MAX) == lower_bound(&p, &m))
        return bound;
    choose_greedily(&p, &m);
    if (!wish->may_be_linear && estimate(&p, &m, INT64_MAX) > lower_bound(&p, &m))
        choose_exhaustively(&p, &m);
    masks_to_layout(&m, wish->bits, layout_out_extent(plain, AXIS_AT), &swizzle);
    if (layout_compose(&swizzle, plain, &swizzled))
        consider(wish, &swizzled, form + 1, best);
    return bound;
}

/* --- Candidates --- */

/* Tries longer rows. They have no wider vectors, so they cost no less than `bound`, the cost of
 * the unpadded rows without conflicts; the shortest rows that reach it suffice. */
static void consider_padding(const struct shared_wish *wish, const int *order, int64_t bound,
                             struct shared_choice *best)
{
    for (int bytes = 4; wish->may_pad && bytes <= 64 && best->cost > bound; bytes *= 2) {
        struct layout padded;
        if (bytes * 8 % wish->bits == 0 &&
            layout_ordered(wish->extents, wish->rank, order, bytes * 8 / wish->bits, &padded))
            consider(wish, &padded, SHARED_PADDED, best);
    }
}

/* Returns a lower bound for all layouts: every byte once, 128 a wavefront, 512 an instruction. */
static int64_t least_cost(const struct shared_wish *wish)
{
    int64_t sum = 0;
    for (int i = 0; i < wish->count; i++) {
        const struct layout *regs = wish->access[i].regs;
        int64_t elements = (int64_t)layout_in_extent(regs, AXIS_REG) * LAYOUT_LANES *
                           layout_in_extent(regs, AXIS_WARP) / layout_free_extent(regs, AXIS_REG);
        int64_t bytes = elements * wish->bits / 8;
        sum += wish->access[i].weight * (2 * (bytes / 128) + bytes / 512);
    }
    return sum;
}

/* Tries rows cut into panels, for rows whose length is not a power of two and for accesses whose
 * steps cross such rows. */
static void consider_panels(const struct shared_wish *wish, struct shared_choice *best)
{
    int32_t row = wish->extents[wish->rank - 1], width = row & -row;
    for (width = width < row ? width : row / 2; width * wish->bits >= 128; width /= 2) {
        struct layout panels;
        if (best->cost <= least_cost(wish))
            return;
        if (layout_panels(wish->extents, wish->rank, width, &panels))
            consider_swizzles(wish, &panels, SHARED_PANELS, best);
    }
}

/* Finds the best layout that costs at most `limit`. */
static bool choose(const struct shared_wish *wish, int64_t limit, struct shared_choice *out)
{
    struct shared_choice best = {.cost = limit, .bytes = INT64_MAX};
    for (int fastest = wish->rank - 1; fastest >= 0; fastest--) {
        int order[RANK_MAX] = {fastest}, n = 1;
        struct layout plain;
        for (int i = wish->rank - 1; i >= 0; i--)
            if (i != fastest)
                order[n++] = i;
        if (wish->extents[fastest] == 1 && fastest != wish->rank - 1)
            continue;
        layout_ordered(wish->extents, wish->rank, order, 0, &plain);
        int64_t bound = consider_swizzles(wish, &plain, SHARED_PLAIN, &best);
        consider_padding(wish, order, bound, &best);
    }
    consider_panels(wish, &best);
    for (int leader = -1; leader < wish->count && best.cost > least_cost(wish); leader++) {
        struct layout linear;
        if (wish->may_be_linear && layout_from_complement(wish, leader, &linear))
            consider(wish, &linear, SHARED_LINEAR, &best);
    }
    *out = best;
    return best.bytes < INT64_MAX;
}

bool layout_choose_shared(const struct shared_wish *wish, struct shared_choice *out)
{
    return choose(wish, INT64_MAX, out);
}

/* --- Copies --- */

/* Returns the lanes along the last axis, which come first. */
static int lanes_along(const struct layout *copy, int last)
{
    int i = layout_in_index(copy, AXIS_LANE), along = 1;
    for (int d = 0; d < copy->digit_count; d++)
        if (copy->digits[d].in == i && (copy->digits[d].xor [last] || copy->digits[d].add[last]))
            along *= copy->digits[d].extent;
    return along;
}

/* Returns the number of rows that a lane's vectors lie in: each takes a pointer, and a mask if
 * it may be past the edge. */
static int64_t rows_of_lane(const struct layout *copy, int last)
{
    int64_t rows = 1;
    int i = layout_in_index(copy, AXIS_REG);
    for (int d = 0; d < copy->digit_count; d++) {
        bool across = false;
        for (int j = 0; j < last; j++)
            across |= copy->digits[d].xor [j] || copy->digits[d].add[j];
        rows *= copy->digits[d].in == i && across ? copy->digits[d].extent : 1;
    }
    return rows;
}

/* Chooses the copy that costs least. Among copies of equal cost that load long enough parts of
 * rows, it takes the one with the fewest rows a lane, then the one with the longest parts. */
bool layout_choose_with_copy(const struct shared_wish *wish, int vector, int warps,
                             struct layout *copy, struct shared_choice *out)
{
    struct shared_wish trial = *wish;
    struct shared_choice choice;
    struct layout regs;
    int64_t fewest = 0;
    int last = wish->rank - 1, sector = SECTOR_BITS / wish->bits, row = ROW_BITS / wish->bits;
    if (!layout_blocked(wish->extents, wish->rank, wish->bits, vector, warps, &regs))
        return false;
    int usual = lanes_along(&regs, last);
    for (int along = usual; along == usual || along * vector >= sector; along /= 2) {
        layout_blocked_lanes(wish->extents, wish->rank, vector, warps, along, &regs);
        trial.access[0].regs = &regs;
        int64_t rows = rows_of_lane(&regs, last);
        if (choose(&trial, fewest > 0 ? out->cost : INT64_MAX, &choice)) {
            bool same = fewest > 0 && choice.cost == out->cost && choice.bytes == out->bytes;
            if (fewest == 0 ||
                (same ? along * vector >= row && rows < fewest : better(&choice, out))) {
                *out = choice;
                *copy = regs;
                fewest = rows;
            }
        }
        bool longer = along * vector >= 2 * row && fewest > 1;
        if (along == 1 || (fewest > 0 && out->cost <= least_cost(&trial) && !longer))
            break;
    }
    return fewest > 0;
}
