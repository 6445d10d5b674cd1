/* Layouts made from layouts.
 *
 * Composing works digit by digit: a digit of the inner layout adds something to a coordinate, or
 * xors something into it; the outer layout splits that coordinate in its own mixed radix. If no sum
 * carries from one outer digit into the next, each inner digit reaches each outer digit
 * independently, and the composition has the same digits with other steps. If a carry is possible
 * (a swizzle of rows whose length is not a power of two), the result has no such form, and the
 * operation returns false.
 *
 * Inverting: below a power of two t of each result only the atom moves it, above it only
 * additions do. The atom is inverted by elimination over GF(2); the additions of a result must
 * follow each other as the weights of a mixed radix, and are then its digits. */
#include "layout/layout.h"
#include "layout/gf2.h"

#include <assert.h>
#include <string.h>

/* --- Composition --- */

/* An outer digit during a composition, with everything that reaches it. */
struct part {
    int32_t weight; /* weight in the counter of outer */
    bool top;       /* the highest digit of its counter: it cannot carry */
    int32_t flip, offset;
    int32_t xors; /* all bits that may be xored in */
    bool mixed;   /* two digits xor the same bit */
    int64_t most; /* the greatest sum of additions, offset included */
};

/* Writes x as the sum of q[k] * weight of part k, largest weights first. The parts of counter i
 * are [first, end). */
static bool take_apart(const struct part *parts, int first, int end, int32_t x, int32_t *q)
{
    for (int k = end - 1; k >= first; k--) {
        assert(parts[k].weight > 0);
        int32_t part = x / parts[k].weight;
        if (x < 0 && x % parts[k].weight)
            return false;
        q[k] = part;
        x -= part * parts[k].weight;
    }
    return x == 0;
}

static void find_parts(const struct layout *outer, struct part *parts)
{
    for (int k = 0; k < outer->digit_count; k++) {
        bool top = k + 1 == outer->digit_count || outer->digits[k + 1].in != outer->digits[k].in;
        parts[k] = (struct part){.weight = layout_weight(outer, k), .top = top};
    }
}

/* Gives the range of the digits of outer's counter i. */
static void digits_of(const struct layout *l, int i, int *first, int *end)
{
    assert(i >= 0 && i < l->in_count);
    for (*first = 0; *first < l->digit_count && l->digits[*first].in != i;)
        ++*first;
    for (*end = *first; *end < l->digit_count && l->digits[*end].in == i;)
        ++*end;
}

/* Splits the additions of `inner` to its result j at the borders of outer digits. */
static void split_at_parts(struct layout *inner, int j, const struct part *parts,
                           const struct layout *outer, int first, int end)
{
    assert(j >= 0 && j < inner->out_count);
    for (int d = 0; d < inner->digit_count; d++) {
        struct layout_digit *digit = &inner->digits[d];
        int32_t step = digit->add[j];
        int k = end - 1;
        while (k > first && parts[k].weight > step)
            k--;
        if (step <= 0 || k < first || parts[k].top || step % parts[k].weight)
            continue;
        int32_t q = step / parts[k].weight, room = outer->digits[k].extent / q;
        if (outer->digits[k].extent % q || room >= digit->extent || room < 2 ||
            digit->extent % room || inner->digit_count == LAYOUT_DIGITS)
            continue;
        memmove(digit + 1, digit, (size_t)(inner->digit_count - d) * sizeof *digit);
        inner->digit_count++;
        digit[0].extent = room;
        digit[1].extent /= room;
        for (int o = 0; o < inner->out_count; o++)
            digit[1].add[o] *= room;
    }
}

/* Distributes inner's result j over the outer digits: xors and adds by inner digit, the rest
 * into `parts`. */
static bool reach(const struct layout *inner, int j, struct part *parts, int first, int end,
                  int32_t (*xors)[LAYOUT_DIGITS], int32_t (*adds)[LAYOUT_DIGITS])
{
    int32_t flip[LAYOUT_DIGITS], offset[LAYOUT_DIGITS];
    if (!take_apart(parts, first, end, inner->flip[j], flip) ||
        !take_apart(parts, first, end, inner->offset[j], offset))
        return false;
    int32_t mask = inner->flip[j];
    for (int k = first; k < end; k++) {
        parts[k].flip = parts[k].xors = flip[k];
        parts[k].offset = offset[k];
        parts[k].most = offset[k];
    }
    for (int d = 0; d < inner->digit_count; d++) {
        mask |= inner->digits[d].xor [j];
        if (!take_apart(parts, first, end, inner->digits[d].xor [j], xors[d]) ||
            !take_apart(parts, first, end, inner->digits[d].add[j], adds[d]))
            return false;
        for (int k = first; k < end; k++) {
            parts[k].mixed |= (parts[k].xors & xors[d][k]) != 0;
            parts[k].xors |= xors[d][k];
            if (adds[d][k] < 0)
                return false;
            parts[k].most += (int64_t)adds[d][k] * (inner->digits[d].extent - 1);
        }
    }
    for (int k = first; k < end; k++) /* an xor is distributed bit by bit */
        if (parts[k].weight <= mask && (parts[k].weight & (parts[k].weight - 1)))
            return false;
    return true;
}

static bool no_carries(const struct layout *outer, const struct part *parts)
{
    for (int k = 0; k < outer->digit_count; k++)
        if (!parts[k].top &&
            (parts[k].offset < 0 || parts[k].xors + parts[k].most >= outer->digits[k].extent))
            return false;
    return true;
}

/* Passes a contribution to outer digit k (x xored, a added) on to the results. */
static void pass_on(const struct layout_digit *k, const struct part *part, int outs, int32_t x,
                    int32_t a, int32_t * xor, int32_t *add)
{
    for (int o = 0; o < outs; o++) {
        add[o] += a * k->add[o];
        if (part->mixed)
            xor[o] ^= x * k->add[o];
        else
            add[o] += x * k->add[o];
        if (k->xor [o] && (x + a) != 0)
            xor[o] ^= k->xor [o];
    }
}

/* Returns true if xors may pass the outer digits. Through an addition they may if its steps are
 * powers of two and its bits are its own; through a bit of the atom, if that bit sees only 0 and
 * 1. */
static bool xors_pass(const struct layout *outer, const struct part *parts)
{
    for (int o = 0; o < outer->out_count; o++) {
        int64_t taken = outer->flip[o];
        for (int k = 0; k < outer->digit_count; k++)
            taken |= outer->digits[k].xor [o];
        for (int k = 0; k < outer->digit_count; k++) {
            int32_t step = outer->digits[k].add[o];
            if (!parts[k].mixed || step == 0)
                continue;
            int64_t bits = (int64_t)parts[k].xors * step;
            if (step < 0 || (step & (step - 1)) || (bits & taken))
                return false;
            taken |= bits;
        }
    }
    for (int k = 0; k < outer->digit_count; k++)
        if (layout_digit_xors(outer, &outer->digits[k]) &&
            (parts[k].offset < 0 || parts[k].xors + parts[k].most > 1))
            return false;
    return true;
}

/* Composes with outer as runs, but keeps every digit whole that inner's xors touch in a mixed
 * way. */
bool layout_compose(const struct layout *outer_in, const struct layout *inner_in,
                    struct layout *out)
{
    struct layout outer, inner;
    struct part parts[LAYOUT_DIGITS];
    int32_t xors[LAYOUT_DIGITS][LAYOUT_DIGITS], adds[LAYOUT_DIGITS][LAYOUT_DIGITS];
    layout_copy(&outer, outer_in);
    layout_copy(&inner, inner_in);
    layout_runs(&outer);
    layout_runs(&inner);
    find_parts(&outer, parts);
    for (int j = 0; j < inner.out_count; j++) {
        int first, end, i = layout_in_index(&outer, inner.outs[j].axis);
        if (i < 0)
            continue;
        digits_of(&outer, i, &first, &end);
        split_at_parts(&inner, j, parts, &outer, first, end);
    }
    for (int d = 0; d < inner.digit_count; d++) {
        memset(xors[d], 0, (size_t)outer.digit_count * sizeof *xors[d]);
        memset(adds[d], 0, (size_t)outer.digit_count * sizeof *adds[d]);
    }
    for (int j = 0; j < inner.out_count; j++) {
        int first, end, i = layout_in_index(&outer, inner.outs[j].axis);
        if (i < 0 && inner.outs[j].extent > 1)
            return false;
        if (i < 0)
            continue;
        digits_of(&outer, i, &first, &end);
        if (first < end && !reach(&inner, j, parts, first, end, xors, adds))
            return false;
    }
    if (!no_carries(&outer, parts) || !xors_pass(&outer, parts))
        return false;

    struct layout *l = out;
    layout_copy(l, &inner);
    l->out_count = outer.out_count;
    memcpy(l->outs, outer.outs, sizeof l->outs);
    memcpy(l->flip, outer.flip, sizeof l->flip);
    memcpy(l->offset, outer.offset, sizeof l->offset);
    for (int d = 0; d < inner.digit_count; d++) {
        memset(l->digits[d].xor, 0, sizeof l->digits[d].xor);
        memset(l->digits[d].add, 0, sizeof l->digits[d].add);
    }
    for (int k = 0; k < outer.digit_count; k++) {
        pass_on(&outer.digits[k], &parts[k], l->out_count, parts[k].flip, parts[k].offset, l->flip,
                l->offset);
        for (int d = 0; d < inner.digit_count; d++)
            pass_on(&outer.digits[k], &parts[k], l->out_count, xors[d][k], adds[d][k],
                    l->digits[d].xor, l->digits[d].add);
    }
    layout_normalise(l);
    return true;
}

/* --- Inversion --- */

/* The bits of the atom in each result, and their positions when all results are written as one
 * number. */
struct atom {
    int bits[LAYOUT_OUTS], base[LAYOUT_OUTS], total;
};

static struct atom find_atom(const struct layout *l)
{
    struct atom a = {.total = 0};
    for (int j = 0; j < l->out_count; j++) {
        int32_t mask = l->flip[j];
        for (int d = 0; d < l->digit_count; d++)
            mask |= l->digits[d].xor [j];
        a.bits[j] = gf2_highest((uint64_t)mask) + 1;
        a.base[j] = a.total;
        a.total += a.bits[j];
    }
    return a;
}

static uint64_t joined(const struct layout *l, const struct atom *a, const int32_t * xor)
{
    uint64_t v = 0;
    for (int j = 0; j < l->out_count; j++)
        v |= (uint64_t) xor [j] << a->base[j];
    return v;
}

/* Returns the one result that a digit adds to; -1: none; -2: several, or the digit xors bits
 * too. */
static int sole_out(const struct layout *l, const struct layout_digit *d)
{
    int sole = -1;
    bool bits = layout_digit_xors(l, d);
    for (int j = 0; j < l->out_count; j++)
        if (d->add[j])
            sole = sole == -1 && !bits ? j : -2;
    return sole;
}

/* Collects the atom's rows, and unit vectors for the bits that it does not reach, so that every
 * bit has a preimage (an empty one for those). */
static bool invert_atom(const struct layout *l, const struct atom *a, struct gf2_space *s)
{
    gf2_init(s);
    if (a->total > 64)
        return false;
    for (int d = 0; d < l->digit_count; d++)
        if (layout_digit_xors(l, &l->digits[d]))
            gf2_insert(s, joined(l, a, l->digits[d].xor), (uint64_t)1 << d);
    for (int b = 0; b < a->total; b++)
        gf2_insert(s, (uint64_t)1 << b, 0);
    return true;
}

/* Makes the digits of the inverse's counter j above the atom: l's additions to j, smallest step
 * first. */
static bool invert_outer(const struct layout *l, int j, int32_t atom, struct layout *out)
{
    int64_t weight = atom;
    bool used[LAYOUT_DIGITS] = {false};
    for (;;) {
        int least = -1;
        for (int d = 0; d < l->digit_count; d++)
            if (l->digits[d].add[j] && !used[d] &&
                (least < 0 || l->digits[d].add[j] < l->digits[least].add[j]))
                least = d;
        if (least < 0)
            break;
        const struct layout_digit *digit = &l->digits[least];
        used[least] = true;
        if (digit->add[j] < weight || digit->add[j] % weight)
            return false;
        layout_add_free(out, l->outs[j].axis, (int32_t)(digit->add[j] / weight));
        layout_add_digit(out, l->outs[j].axis, digit->extent, l->ins[digit->in].axis,
                         layout_weight(l, least));
        weight = (int64_t)digit->add[j] * digit->extent;
    }
    if (weight < l->outs[j].extent)
        layout_add_free(out, l->outs[j].axis, (int32_t)((l->outs[j].extent + weight - 1) / weight));
    return true;
}

/* Adds the preimage of one bit as a bit of the inverse's atom. Weights that are not powers of
 * two cannot be xored: they are added if this bit alone needs them. */
static bool add_preimage(const struct layout *l, enum layout_axis axis, uint64_t tag,
                         const int *uses, struct layout *out)
{
    struct layout_digit bit = {.extent = 2};
    for (int d = 0; d < l->digit_count; d++) {
        if (!(tag >> d & 1))
            continue;
        int32_t weight = layout_weight(l, d);
        int j = l->digits[d].in;
        if (weight & (weight - 1)) {
            if (uses[d] != 1)
                return false;
            bit.add[j] += weight;
        } else {
            bit.xor [j] ^= weight;
        }
    }
    layout_add_free(out, axis, 2);
    for (int d = out->digit_count - 1; d >= 0; d--)
        if (out->ins[out->digits[d].in].axis == axis) {
            memcpy(out->digits[d].xor, bit.xor, sizeof bit.xor);
            memcpy(out->digits[d].add, bit.add, sizeof bit.add);
            break;
        }
    return true;
}

static bool invertible(const struct layout *l, const struct atom *a)
{
    for (int j = 0; j < l->out_count; j++)
        if (l->offset[j])
            return false;
    for (int d = 0; d < l->digit_count; d++) {
        int j = sole_out(l, &l->digits[d]);
        if (j == -2 || (j >= 0 && l->digits[d].add[j] % ((int64_t)1 << a->bits[j])))
            return false;
    }
    return true;
}

bool layout_invert(const struct layout *l, struct layout *result)
{
    struct atom a = find_atom(l);
    struct gf2_space s;
    struct layout out;
    uint64_t tags[64], flip = 0;
    int uses[LAYOUT_DIGITS] = {0};
    if (!invertible(l, &a) || l->in_count > LAYOUT_OUTS || !invert_atom(l, &a, &s))
        return false;
    layout_init(&out);
    for (int i = 0; i < l->in_count; i++)
        layout_add_out(&out, l->ins[i].axis, l->ins[i].extent);
    for (int b = 0; b < a.total; b++) {
        gf2_solve(&s, (uint64_t)1 << b, &tags[b]);
        for (int d = 0; d < l->digit_count; d++)
            uses[d] += (int)(tags[b] >> d & 1);
    }
    for (int j = 0; j < l->out_count; j++) {
        layout_add_free(&out, l->outs[j].axis, 1);
        for (int b = 0; b < a.bits[j]; b++)
            if (!add_preimage(l, l->outs[j].axis, tags[a.base[j] + b], uses, &out))
                return false;
        if (!invert_outer(l, j, 1 << a.bits[j], &out))
            return false;
    }
    gf2_solve(&s, joined(l, &a, l->flip), &flip);
    for (int d = 0; d < l->digit_count; d++)
        if (flip >> d & 1) {
            int32_t weight = layout_weight(l, d);
            if (weight & (weight - 1))
                return false;
            out.flip[l->digits[d].in] ^= weight;
        }
    layout_normalise(&out);
    *result = out;
    return true;
}

/* --- Product and quotient --- */

/* Adds the digits and constants of `from` to `to`, with results multiplied by `scale`. */
static bool add_scaled(struct layout *to, const struct layout *from, const int32_t *scale)
{
    for (int j = 0; j < from->out_count; j++) {
        int o = layout_out_index(to, from->outs[j].axis);
        to->offset[o] += from->offset[j] * scale[o];
        to->flip[o] ^= from->flip[j] * scale[o];
    }
    for (int d = 0; d < from->digit_count; d++) {
        layout_add_free(to, from->ins[from->digits[d].in].axis, from->digits[d].extent);
        int i = layout_in_index(to, from->ins[from->digits[d].in].axis), at = 0;
        for (int n = 0; n < to->digit_count; n++)
            if (to->digits[n].in == i)
                at = n;
        for (int j = 0; j < from->out_count; j++) {
            int o = layout_out_index(to, from->outs[j].axis);
            if (from->digits[d].xor [j] && (scale[o] & (scale[o] - 1)))
                return false;
            to->digits[at].xor [o] = from->digits[d].xor [j] * scale[o];
            to->digits[at].add[o] = from->digits[d].add[j] * scale[o];
        }
    }
    for (int i = 0; i < from->in_count; i++)
        layout_add_free(to, from->ins[i].axis, 1);
    return true;
}

bool layout_product(const struct layout *inner_in, const struct layout *outer_in,
                    struct layout *result)
{
    struct layout inner = *inner_in, outer = *outer_in, out;
    int32_t scale[LAYOUT_OUTS], ones[LAYOUT_OUTS] = {1, 1, 1, 1, 1, 1};
    layout_runs(&inner);
    layout_runs(&outer);
    layout_init(&out);
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        bool either = layout_out_index(&inner, (enum layout_axis)axis) >= 0 ||
                      layout_out_index(&outer, (enum layout_axis)axis) >= 0;
        if (!either)
            continue;
        scale[out.out_count] = layout_out_extent(&inner, (enum layout_axis)axis);
        layout_add_out(&out, (enum layout_axis)axis,
                       scale[out.out_count] * layout_out_extent(&outer, (enum layout_axis)axis));
    }
    if (!add_scaled(&out, &inner, ones) || !add_scaled(&out, &outer, scale))
        return false;
    layout_normalise(&out);
    *result = out;
    return true;
}

/* --- Parts --- */

/* Removes counter i, which has no digits left. */
static void drop_counter(struct layout *l, int i)
{
    for (int n = i; n + 1 < l->in_count; n++)
        l->ins[n] = l->ins[n + 1];
    l->in_count--;
    for (int d = 0; d < l->digit_count; d++)
        l->digits[d].in -= l->digits[d].in > i;
}

static void move_by(struct layout *l, const struct layout_digit *d, int32_t value)
{
    for (int j = 0; j < l->out_count; j++) {
        l->flip[j] ^= value ? d->xor [j] : 0;
        l->offset[j] += value * d->add[j];
    }
}

bool layout_fix(const struct layout *l, enum layout_axis in, int32_t value, struct layout *out)
{
    int i = layout_in_index(l, in), kept = 0;
    if (i < 0 || value < 0 || value >= l->ins[i].extent)
        return false;
    *out = *l;
    for (int d = 0; d < l->digit_count; d++) {
        if (l->digits[d].in != i) {
            out->digits[kept++] = l->digits[d];
            continue;
        }
        move_by(out, &l->digits[d], value % l->digits[d].extent);
        value /= l->digits[d].extent;
    }
    out->digit_count = kept;
    drop_counter(out, i);
    layout_normalise(out);
    return true;
}

bool layout_slice_in(const struct layout *l, enum layout_axis in, int32_t start, int32_t extent,
                     struct layout *result)
{
    struct layout out = *l, runs = *l;
    int i = layout_in_index(l, in);
    if (i < 0 || start < 0 || extent < 1 || start + extent > l->ins[i].extent)
        return false;
    layout_runs(&runs);
    out = runs;
    out.digit_count = 0;
    out.ins[i].extent = 1;
    int32_t rest = start, most = extent - 1;
    for (int d = 0; d < runs.digit_count; d++) {
        struct layout_digit digit = runs.digits[d];
        if (digit.in == i) {
            int32_t here = rest % digit.extent,
                    needed = most < digit.extent ? most + 1 : digit.extent;
            if (here + needed > digit.extent)
                return false;
            move_by(&out, &digit, here);
            rest /= digit.extent;
            most /= digit.extent;
            digit.extent = needed;
            out.ins[i].extent *= needed;
        }
        if (digit.extent > 1)
            out.digits[out.digit_count++] = digit;
    }
    layout_normalise(&out);
    *result = out;
    return true;
}

/* Removes digit d by fixing it at the value that holds the part. Result j is (less than step) +
 * step * digit + (multiples of step * digit's extent), so d alone decides between inside and
 * outside. */
static void hold(struct layout *l, int d, int j, int32_t start, int32_t extent)
{
    struct layout_digit digit = l->digits[d];
    int32_t step = digit.add[j], below = 0;
    if (layout_digit_xors(l, &digit) || step < extent || start % step + extent > step)
        return;
    for (int n = 0; n < l->digit_count; n++) {
        int32_t one = l->digits[n].xor [j] + l->digits[n].add[j];
        if (n == d)
            continue;
        if (one < step)
            below += one * (l->digits[n].extent - 1);
        else if (one % (step * digit.extent))
            return;
    }
    if (below >= step)
        return;
    l->ins[digit.in].extent /= digit.extent;
    for (int n = d; n + 1 < l->digit_count; n++)
        l->digits[n] = l->digits[n + 1];
    l->digit_count--;
    move_by(l, &digit, start / step % digit.extent);
}

/* Cuts a run of result j in two at the end of the part, so that the upper half decides. */
static void cut(struct layout *l, int d, int j, int32_t extent)
{
    struct layout_digit *digit = &l->digits[d];
    int32_t step = digit->add[j];
    if (step <= 0 || extent % step || extent / step <= 1 || digit->extent <= extent / step ||
        digit->extent % (extent / step) || l->digit_count == LAYOUT_DIGITS)
        return;
    memmove(digit + 1, digit, (size_t)(l->digit_count - d) * sizeof *digit);
    l->digit_count++;
    digit[0].extent = extent / step;
    digit[1].extent /= extent / step;
    for (int o = 0; o < l->out_count; o++)
        digit[1].add[o] *= extent / step;
}

bool layout_slice_out(const struct layout *l, enum layout_axis axis, int32_t start, int32_t extent,
                      struct layout *result)
{
    struct layout out = *l;
    int j = layout_out_index(l, axis), reg = layout_in_index(l, AXIS_REG);
    if (j < 0 || start < 0 || extent < 1 || start + extent > l->outs[j].extent)
        return false;
    layout_runs(&out);
    for (int d = out.digit_count - 1; d >= 0; d--)
        if (out.digits[d].in == reg)
            cut(&out, d, j, extent);
    bool plain = out.flip[j] == 0 && out.offset[j] == 0;
    for (int d = out.digit_count - 1; d >= 0; d--)
        if (plain && out.digits[d].in == reg && out.digits[d].add[j] > 0)
            hold(&out, d, j, start, extent);
    out.offset[j] -= start;
    out.outs[j].extent = extent;
    layout_normalise(&out);
    *result = out;
    return true;
}

void layout_register_places(const struct layout *l, int32_t *places)
{
    for (int32_t reg = 0; reg < layout_in_extent(l, AXIS_REG); reg++)
        layout_element(l, reg, 0, 0, places + reg * LAYOUT_OUTS);
}

void layout_slice_registers(const struct layout *whole, const int32_t *places,
                            const struct layout *part, enum layout_axis axis, int32_t start,
                            int32_t *source)
{
    int32_t wanted[LAYOUT_OUTS], next = 0; /* probably the one after the last */
    int j = layout_out_index(whole, axis);
    int32_t registers = layout_in_extent(whole, AXIS_REG);
    for (int32_t reg = 0; reg < layout_in_extent(part, AXIS_REG); reg++) {
        layout_element(part, reg, 0, 0, wanted);
        wanted[j] += start;
        source[reg] = 0;
        for (int32_t tried = 0; tried < registers; tried++) {
            int32_t r = (next + tried) % registers;
            if (places[r * LAYOUT_OUTS + j] == wanted[j] &&
                memcmp(places + r * LAYOUT_OUTS, wanted,
                       (size_t)whole->out_count * sizeof *wanted) == 0) {
                source[reg] = r;
                next = r + 1;
                break;
            }
        }
    }
}

/* --- Names --- */

static bool keeps_order(const struct layout_dim *dims, int count,
                        const enum layout_axis map[AXIS_COUNT])
{
    for (int i = 1; i < count; i++)
        if (map[dims[i - 1].axis] >= map[dims[i].axis])
            return false;
    return true;
}

void layout_rename(const struct layout *l, const enum layout_axis map[AXIS_COUNT],
                   struct layout *result)
{
    struct layout out;
    if (keeps_order(l->ins, l->in_count, map) && keeps_order(l->outs, l->out_count, map)) {
        if (result != l)
            layout_copy(result, l);
        for (int i = 0; i < l->in_count; i++)
            result->ins[i].axis = map[result->ins[i].axis];
        for (int j = 0; j < l->out_count; j++)
            result->outs[j].axis = map[result->outs[j].axis];
        layout_normalise(result);
        return;
    }
    int from[LAYOUT_OUTS];
    layout_init(&out);
    for (int j = 0; j < l->out_count; j++)
        layout_add_out(&out, map[l->outs[j].axis], l->outs[j].extent);
    for (int j = 0; j < l->out_count; j++)
        from[layout_out_index(&out, map[l->outs[j].axis])] = j;
    int32_t ones[LAYOUT_OUTS] = {1, 1, 1, 1, 1, 1};
    struct layout renamed;
    layout_copy(&renamed, l);
    for (int i = 0; i < l->in_count; i++)
        renamed.ins[i].axis = map[l->ins[i].axis];
    for (int o = 0; o < out.out_count; o++) {
        int j = from[o];
        renamed.outs[o] = out.outs[o];
        renamed.flip[o] = l->flip[j];
        renamed.offset[o] = l->offset[j];
        for (int d = 0; d < l->digit_count; d++) {
            renamed.digits[d].xor [o] = l->digits[d].xor [j];
            renamed.digits[d].add[o] = l->digits[d].add[j];
        }
    }
    add_scaled(&out, &renamed, ones);
    layout_normalise(&out);
    layout_copy(result, &out);
}

void layout_transpose(const struct layout *l, struct layout *out)
{
    enum layout_axis map[AXIS_COUNT];
    for (int axis = 0; axis < AXIS_COUNT; axis++)
        map[axis] = (enum layout_axis)axis;
    map[AXIS_D0] = AXIS_D1;
    map[AXIS_D1] = AXIS_D0;
    layout_rename(l, map, out);
}

void layout_drop_out(const struct layout *l, enum layout_axis axis, struct layout *result)
{
    struct layout out = *l;
    int j = layout_out_index(l, axis);
    for (int n = j; n >= 0 && n + 1 < out.out_count; n++) {
        out.outs[n] = out.outs[n + 1];
        out.flip[n] = out.flip[n + 1];
        out.offset[n] = out.offset[n + 1];
        for (int d = 0; d < out.digit_count; d++) {
            out.digits[d].xor [n] = out.digits[d].xor [n + 1];
            out.digits[d].add[n] = out.digits[d].add[n + 1];
        }
    }
    if (j >= 0) {
        int last = --out.out_count;
        out.flip[last] = out.offset[last] = 0;
        for (int d = 0; d < out.digit_count; d++)
            out.digits[d].xor [last] = out.digits[d].add[last] = 0;
    }
    layout_normalise(&out);
    *result = out;
}
