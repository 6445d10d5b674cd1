/* A shared layout by linear algebra alone: "Linear Layouts: Robust Code Generation of Efficient
 * Tensor Computation Using F2", section 5.4.
 *
 * The coordinates of a tile whose extents are powers of two are vectors over GF(2), and so are the
 * elements that an access touches. A place is written [vector | bank | line], and a layout is a
 * choice of basis for the three:
 *
 *   vector   steps of registers, the same for all accesses that can share them
 *   line     a subspace whose only common vector with U is 0; U is what one phase touches
 *   bank     the rest
 *
 * With such lines, two lanes of a phase never have the same bank and different lines.
 *
 * An access has the vector only if none of its other steps contributes to it, so bank and line
 * must span those steps. For two accesses with the same vector such lines always exist, as many
 * as needed; they are found one by one, preferably as sums of few unit vectors, because those
 * make short addresses. */
#include "layout/layout_swizzle.h"

#include "layout/gf2.h"

/* As powers of two: bits of a line of banks, of a vector, and of a tile's coordinates. */
enum { LINE_BITS = 10, VECTOR_BITS = 7, TILE_BITS = 16 };

struct problem {
    const struct shared_wish *wish;
    int bits;    /* of a tile's coordinates */
    int within;  /* bits of an element's number within a line of banks (128 bytes) */
    int base[6]; /* lowest bit of each axis; the last axis is lowest */
    int vectors; /* log2 of the elements of a vector */
    uint64_t vector[VECTOR_BITS];
    struct gf2_space rest; /* a complement of the vector, which contains bank and line */
    struct gf2_space touched[SHARED_ACCESSES]; /* U and the lines found so far */
};

static bool is_power(int32_t n)
{
    return (n & (n - 1)) == 0;
}

static bool find_bits(struct problem *p)
{
    const struct shared_wish *w = p->wish;
    for (int i = w->rank - 1; i >= 0; i--) {
        if (!is_power(w->extents[i]))
            return false;
        p->base[i] = p->bits;
        p->bits += gf2_highest((uint64_t)w->extents[i]);
    }
    p->within = LINE_BITS - gf2_highest((uint64_t)w->bits);
    return p->bits <= TILE_BITS && is_power(w->bits) && p->within > 0;
}

/* Gives the coordinates that one step of a counter's weight leads to, as one vector. Returns
 * false if the layout is not linear. */
static bool step_of(const struct problem *p, const struct layout *l, enum layout_axis in,
                    int32_t weight, uint64_t *step)
{
    int i = layout_in_index(l, in);
    *step = 0;
    for (int d = 0; d < l->digit_count; d++) {
        if (l->digits[d].in != i || layout_weight(l, d) != weight)
            continue;
        for (int j = 0; j < l->out_count; j++) {
            if (l->digits[d].add[j])
                return false;
            *step |= (uint64_t)l->digits[d].xor [j] << p->base[l->outs[j].axis - AXIS_D0];
        }
    }
    return true;
}

/* Returns true if v is a step of one of l's registers. */
static bool has_register(const struct problem *p, const struct layout *l, uint64_t v)
{
    uint64_t step;
    for (int32_t weight = 1; weight < layout_in_extent(l, AXIS_REG); weight *= 2)
        if (step_of(p, l, AXIS_REG, weight, &step) && step == v)
            return true;
    return false;
}

static bool all_have(const struct problem *p, uint64_t v)
{
    for (int i = 0; i < p->wish->count; i++)
        if (!has_register(p, p->wish->access[i].regs, v))
            return false;
    return true;
}

/* Appends steps of `regs` to the vector, lowest registers first: those that all accesses have
 * (common), or the others. */
static void extend_vector(struct problem *p, const struct layout *regs, bool common, int most)
{
    uint64_t step;
    for (int32_t weight = 1; weight < layout_in_extent(regs, AXIS_REG); weight *= 2)
        if (p->vectors < most && step_of(p, regs, AXIS_REG, weight, &step) && step &&
            all_have(p, step) == common)
            p->vector[p->vectors++] = step;
}

static bool is_vector(const struct problem *p, uint64_t v)
{
    for (int n = 0; n < p->vectors; n++)
        if (p->vector[n] == v)
            return true;
    return false;
}

/* Puts all steps of an access except those of the vector into the rest. Its vectors are then
 * aligned. */
static bool add_to_rest(struct problem *p, const struct layout *regs)
{
    static const enum layout_axis axes[3] = {AXIS_REG, AXIS_LANE, AXIS_WARP};
    uint64_t step;
    for (int a = 0; a < 3; a++)
        for (int32_t weight = 1; weight < layout_in_extent(regs, axes[a]); weight *= 2) {
            if (!step_of(p, regs, axes[a], weight, &step))
                return false;
            if (!(a == 0 && is_vector(p, step)))
                gf2_insert(&p->rest, step, 0);
        }
    return true;
}

/* Finds the rest for the accesses that are to have the vector. Returns false if one of their
 * steps lies in the vector's span. */
static bool find_rest(struct problem *p, int leader)
{
    gf2_init(&p->rest);
    for (int i = 0; i < p->wish->count; i++)
        if ((leader < 0 || i == leader) && !add_to_rest(p, p->wish->access[i].regs))
            return false;
    struct gf2_space all = p->rest;
    for (int n = 0; n < p->vectors; n++)
        if (!gf2_insert(&all, p->vector[n], 0))
            return false;
    for (int b = p->bits - 1; b >= 0; b--)
        if (gf2_insert(&all, (uint64_t)1 << b, 0))
            gf2_insert(&p->rest, (uint64_t)1 << b, 0);
    return true;
}

/* For elements smaller than a word: decides which of them share a word, before the lines are
 * found. Lanes may share one too. */
static void fill_word(struct problem *p, const struct layout *regs)
{
    int word = 5 - gf2_highest((uint64_t)p->wish->bits);
    struct gf2_space known;
    uint64_t step;
    gf2_init(&known);
    for (int n = 0; n < p->vectors; n++)
        gf2_insert(&known, p->vector[n], 0);
    for (int b = 0; b < 5 && p->vectors < word; b++)
        if (step_of(p, regs, AXIS_LANE, 1 << b, &step) && gf2_insert(&known, step, 0))
            p->vector[p->vectors++] = step;
    for (int b = 0; b < p->bits && p->vectors < word; b++)
        if (gf2_insert(&known, (uint64_t)1 << b, 0))
            p->vector[p->vectors++] = (uint64_t)1 << b;
}

/* Returns the number n of the vector's steps that this access has registers for: it moves 2^n
 * elements at once. */
static int width_of(const struct problem *p, const struct layout *regs)
{
    int n = 0;
    while (n < p->vectors && has_register(p, regs, p->vector[n]))
        n++;
    return n;
}

/* Finds U of an access: the lanes of a phase, each with its vector, and the rest of the words
 * that contain them. */
static bool find_touched(struct problem *p, int access)
{
    const struct layout *regs = p->wish->access[access].regs;
    int width = width_of(p, regs), word = 5 - gf2_highest((uint64_t)p->wish->bits);
    int bytes = (p->wish->bits << width) / 8, lanes = bytes >= 16 ? 3 : bytes == 8 ? 4 : 5;
    struct gf2_space *u = &p->touched[access];
    uint64_t step;
    gf2_init(u);
    for (int n = 0; n < p->vectors && (n < width || n < word); n++)
        gf2_insert(u, p->vector[n], 0);
    for (int b = 0; b < lanes; b++) {
        if (!step_of(p, regs, AXIS_LANE, 1 << b, &step))
            return false;
        gf2_insert(u, step, 0);
    }
    return true;
}

/* Returns the weight of the accesses that would conflict if v were a line. */
static int conflicts(const struct problem *p, uint64_t v)
{
    int sum = 0;
    for (int i = 0; i < p->wish->count; i++)
        if (gf2_contains(&p->touched[i], v))
            sum += p->wish->access[i].weight;
    return sum;
}

/* The best line found so far. */
struct line {
    uint64_t vector; /* 0: none */
    int conflicts;
};

/* Returns true if v is optimal. */
static bool try_line(const struct problem *p, const struct gf2_space *known, uint64_t v,
                     struct line *best)
{
    if (!gf2_contains(&p->rest, v) || gf2_contains(known, v))
        return false;
    int cost = conflicts(p, v);
    if (!best->vector || cost < best->conflicts)
        *best = (struct line){v, cost};
    return best->conflicts == 0;
}

/* Tries sums of one, two and three unit vectors, the high ones first, then any vector. `known`:
 * the vector and the lines found so far. */
static uint64_t next_line(const struct problem *p, const struct gf2_space *known)
{
    struct line best = {0, 0};
    uint64_t one = 1;
    for (int i = p->bits - 1; i >= 0; i--)
        if (try_line(p, known, one << i, &best))
            return best.vector;
    for (int i = p->bits - 1; i >= 0; i--)
        for (int j = i - 1; j >= 0; j--)
            if (try_line(p, known, one << i | one << j, &best))
                return best.vector;
    for (int i = p->bits - 1; i >= 0; i--)
        for (int j = i - 1; j >= 0; j--)
            for (int k = j - 1; k >= 0; k--)
                if (try_line(p, known, one << i | one << j | one << k, &best))
                    return best.vector;
    for (uint64_t v = (one << p->bits) - 1; v > 0 && (p->bits <= 12 || !best.vector); v--)
        if (try_line(p, known, v, &best))
            break;
    return best.vector;
}

/* Finds the basis: bit b of the place represents basis[b]. */
static void find_basis(struct problem *p, uint64_t *basis)
{
    struct gf2_space known;
    int lines = p->bits > p->within ? p->bits - p->within : 0, low = p->vectors;
    gf2_init(&known);
    for (int n = 0; n < p->vectors; n++) {
        basis[n] = p->vector[n];
        gf2_insert(&known, p->vector[n], 0);
    }
    for (int n = 0; n < lines; n++) {
        uint64_t v = next_line(p, &known);
        gf2_insert(&known, v, 0);
        for (int i = 0; i < p->wish->count; i++)
            gf2_insert(&p->touched[i], v, 0);
        basis[p->bits - lines + n] = v;
    }
    for (int b = 0; b < p->bits; b++)
        if (gf2_contains(&p->rest, (uint64_t)1 << b) && gf2_insert(&known, (uint64_t)1 << b, 0))
            basis[low++] = (uint64_t)1 << b;
    for (int b = 0; b < p->bits; b++)
        if (p->rest.row[b] && gf2_insert(&known, p->rest.row[b], 0))
            basis[low++] = p->rest.row[b];
}

bool layout_from_complement(const struct shared_wish *wish, int leader, struct layout *out)
{
    struct problem p = {.wish = wish};
    struct layout places;
    uint64_t basis[TILE_BITS + VECTOR_BITS];
    if (!find_bits(&p))
        return false;
    int most = VECTOR_BITS - gf2_highest((uint64_t)wish->bits);
    most = most < 0 ? 0 : most < p.bits ? most : p.bits;
    extend_vector(&p, wish->access[leader < 0 ? 0 : leader].regs, true, most);
    if (leader >= 0)
        extend_vector(&p, wish->access[leader].regs, false, most);
    if (!find_rest(&p, leader)) {
        p.vectors = 0;
        if (leader >= 0 || !find_rest(&p, leader))
            return false;
    }
    fill_word(&p, wish->access[leader < 0 ? 0 : leader].regs);
    for (int i = 0; i < wish->count; i++)
        if (!find_touched(&p, i))
            return false;
    find_basis(&p, basis);

    layout_init(&places);
    for (int i = 0; i < wish->rank; i++)
        layout_add_out(&places, AXIS_DIM(i), wish->extents[i]);
    for (int b = 0; b < p.bits; b++) {
        int32_t xor [LAYOUT_OUTS] = {0};
        for (int i = 0; i < wish->rank; i++)
            xor[i] = (int32_t)(basis[b] >> p.base[i]) & (wish->extents[i] - 1);
        layout_add_bit(&places, AXIS_AT, xor);
    }
    layout_normalise(&places);
    return layout_invert(&places, out);
}
