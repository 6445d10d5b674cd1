/* Layouts as values: building, the normal form, evaluation, queries.
 *
 * The normal form rests on one fact: adding a bit and xoring it give the same result if no other
 * digit touches that bit of the result's exclusive or. So (1) such private bits become
 * additions, (2) neighbouring digits that continue each other are joined, (3) factors of two are
 * split off, lowest first, and (4) the addition of a digit of 2 becomes a bit of the atom again
 * if nothing else has its bits and nothing carries into them. */
#include "layout/layout.h"

#include "layout/gf2.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

const char *const layout_axis_names[AXIS_COUNT] = {
    "reg", "lane", "warp", "block", "stage", "d0", "d1", "d2", "d3", "d4", "d5", "at",
};

void layout_init(struct layout *l)
{
    memset(l, 0, offsetof(struct layout, digits));
    memset(l->flip, 0, sizeof l->flip);
    memset(l->offset, 0, sizeof l->offset);
}

void layout_copy(struct layout *to, const struct layout *from)
{
    assert(from->digit_count <= LAYOUT_DIGITS);
    size_t head = offsetof(struct layout, digits);
    memcpy(to, from, head + (size_t)from->digit_count * sizeof *from->digits);
    memcpy(to->flip, from->flip, sizeof to->flip);
    memcpy(to->offset, from->offset, sizeof to->offset);
}

void layout_add_out(struct layout *l, enum layout_axis axis, int32_t extent)
{
    assert(l->out_count < LAYOUT_OUTS && l->digit_count == 0);
    int at = l->out_count++;
    for (; at > 0 && l->outs[at - 1].axis > axis; at--)
        l->outs[at] = l->outs[at - 1];
    l->outs[at] = (struct layout_dim){axis, extent};
}

/* Returns the index of a counter, and adds the counter if it is new. */
static int counter(struct layout *l, enum layout_axis axis)
{
    int at = 0;
    while (at < l->in_count && l->ins[at].axis < axis)
        at++;
    if (at < l->in_count && l->ins[at].axis == axis)
        return at;
    assert(l->in_count < LAYOUT_INS);
    for (int i = l->in_count++; i > at; i--)
        l->ins[i] = l->ins[i - 1];
    l->ins[at] = (struct layout_dim){axis, 1};
    for (int d = 0; d < l->digit_count; d++)
        l->digits[d].in += l->digits[d].in >= at;
    return at;
}

static struct layout_digit *new_digit(struct layout *l, enum layout_axis in, int32_t extent)
{
    int i = counter(l, in), at = l->digit_count;
    if (extent == 1)
        return NULL;
    assert(l->digit_count < LAYOUT_DIGITS && extent > 0);
    for (; at > 0 && l->digits[at - 1].in > i; at--)
        l->digits[at] = l->digits[at - 1];
    l->digit_count++;
    l->ins[i].extent *= extent;
    l->digits[at] = (struct layout_digit){.in = i, .extent = extent};
    return &l->digits[at];
}

void layout_add_digit(struct layout *l, enum layout_axis in, int32_t extent, enum layout_axis out,
                      int32_t step)
{
    int j = layout_out_index(l, out);
    assert(j >= 0);
    struct layout_digit *d = new_digit(l, in, extent);
    if (d)
        d->add[j] = step;
}

void layout_add_free(struct layout *l, enum layout_axis in, int32_t extent)
{
    new_digit(l, in, extent);
}

void layout_add_bit(struct layout *l, enum layout_axis in, const int32_t * xor)
{
    struct layout_digit *d = new_digit(l, in, 2);
    assert(d);
    memcpy(d->xor, xor, (size_t)l->out_count * sizeof *xor);
}

/* --- The normal form --- */

/* Returns the bits of result j that exactly one digit (or the flip) affects. */
static int32_t private_bits(const struct layout *l, int j)
{
    int32_t seen = l->flip[j], twice = 0;
    for (int d = 0; d < l->digit_count; d++) {
        twice |= seen & l->digits[d].xor [j];
        seen |= l->digits[d].xor [j];
    }
    return seen & ~twice;
}

void layout_demote(struct layout *l)
{
    for (int j = 0; j < l->out_count; j++) {
        int32_t own = private_bits(l, j);
        if (!own)
            continue;
        for (int d = 0; d < l->digit_count; d++) {
            l->digits[d].add[j] += l->digits[d].xor [j] & own;
            l->digits[d].xor [j] &= ~own;
        }
        l->offset[j] += l->flip[j] & own;
        l->flip[j] &= ~own;
    }
}

bool layout_digit_xors(const struct layout *l, const struct layout_digit *d)
{
    for (int j = 0; j < l->out_count; j++)
        if (d->xor [j])
            return true;
    return false;
}

/* Returns true if b continues a: the two digits together count what one digit of extent a * b
 * counts. */
static bool continues(const struct layout *l, const struct layout_digit *a,
                      const struct layout_digit *b)
{
    if (a->in != b->in)
        return false;
    for (int j = 0; j < l->out_count; j++)
        if (b->add[j] != (int64_t)a->add[j] * a->extent)
            return false;
    return !layout_digit_xors(l, a) && !layout_digit_xors(l, b);
}

void layout_runs(struct layout *l)
{
    layout_demote(l);
    int n = 0;
    for (int d = 0; d < l->digit_count; d++) {
        if (l->digits[d].extent == 1)
            continue;
        if (n > 0 && continues(l, &l->digits[n - 1], &l->digits[d]))
            l->digits[n - 1].extent *= l->digits[d].extent;
        else if (n++ != d)
            l->digits[n - 1] = l->digits[d];
    }
    l->digit_count = n;
}

/* Splits powers of two off as digits of their own, below the odd factors. */
static void split_twos(struct layout *l)
{
    for (int i = 0; i < l->digit_count; i++) {
        struct layout_digit *d = &l->digits[i];
        if (d->extent <= 2 || d->extent % 2)
            continue;
        assert(l->digit_count < LAYOUT_DIGITS);
        memmove(d + 1, d, (size_t)(l->digit_count++ - i) * sizeof *d);
        d->extent = 2;
        d[1].extent /= 2;
        for (int j = 0; j < l->out_count; j++)
            d[1].add[j] *= 2;
    }
}

/* Bounds the sum of the contributions to result j that are not multiples of `unit` (a power of
 * two), without digit `skip`, and of the bits `xors` below the unit. Returns -1 if the sum may
 * be negative or is too large to matter. */
static int64_t below(const struct layout *l, int j, int skip, int32_t xors, int64_t unit)
{
    int64_t most = xors & (unit - 1);
    for (int d = 0; d < l->digit_count; d++) {
        int32_t add = l->digits[d].add[j];
        if (!(add & (unit - 1)) || d == skip)
            continue;
        if (add < 0)
            return -1;
        most += (int64_t)add * (l->digits[d].extent - 1);
    }
    if (l->offset[j] & (unit - 1)) {
        if (l->offset[j] < 0)
            return -1;
        most += l->offset[j];
    }
    return most;
}

/* Returns true if nothing else can reach the bits of an addition, neither directly nor by a
 * carry from lower bits. */
static bool is_clean(const struct layout *l, int d, int j, int32_t xors)
{
    int32_t add = l->digits[d].add[j];
    if (l->digits[d].extent != 2 || add <= 0)
        return false;
    int64_t lowest = add & -add, unit = (int64_t)2 << gf2_highest((uint64_t)add);
    int64_t most = below(l, j, d, xors, unit);
    return most >= 0 && most < lowest;
}

static void promote_out(struct layout *l, int j)
{
    bool clean[LAYOUT_DIGITS];
    int32_t xors = l->flip[j];
    for (int d = 0; d < l->digit_count; d++)
        xors |= l->digits[d].xor [j];
    for (int d = 0; d < l->digit_count; d++)
        clean[d] = is_clean(l, d, j, xors);
    for (int d = 0; d < l->digit_count; d++)
        if (clean[d]) {
            l->digits[d].xor [j] |= l->digits[d].add[j];
            l->digits[d].add[j] = 0;
        }
}

void layout_normalise(struct layout *l)
{
    layout_runs(l);
    split_twos(l);
    for (int j = 0; j < l->out_count; j++)
        promote_out(l, j);
}

/* --- Asking --- */

int layout_in_index(const struct layout *l, enum layout_axis axis)
{
    for (int i = 0; i < l->in_count; i++)
        if (l->ins[i].axis == axis)
            return i;
    return -1;
}

int layout_out_index(const struct layout *l, enum layout_axis axis)
{
    for (int j = 0; j < l->out_count; j++)
        if (l->outs[j].axis == axis)
            return j;
    return -1;
}

int32_t layout_in_extent(const struct layout *l, enum layout_axis axis)
{
    int i = layout_in_index(l, axis);
    return i < 0 ? 1 : l->ins[i].extent;
}

int32_t layout_out_extent(const struct layout *l, enum layout_axis axis)
{
    int j = layout_out_index(l, axis);
    return j < 0 ? 1 : l->outs[j].extent;
}

int64_t layout_size_in(const struct layout *l)
{
    int64_t size = 1;
    for (int i = 0; i < l->in_count; i++)
        size *= l->ins[i].extent;
    return size;
}

int64_t layout_size_out(const struct layout *l)
{
    int64_t size = 1;
    for (int j = 0; j < l->out_count; j++)
        size *= l->outs[j].extent;
    return size;
}

void layout_apply(const struct layout *l, const int32_t *in, int32_t *out)
{
    int32_t xors[LAYOUT_OUTS], adds[LAYOUT_OUTS], rest = 0;
    memcpy(xors, l->flip, sizeof xors);
    memcpy(adds, l->offset, sizeof adds);
    for (int i = 0; i < l->digit_count; i++) {
        const struct layout_digit *d = &l->digits[i];
        if (i == 0 || l->digits[i - 1].in != d->in)
            rest = in[d->in];
        assert(d->extent > 0 && rest >= 0);
        int32_t value = rest % d->extent;
        rest /= d->extent;
        if (!value)
            continue;
        for (int j = 0; j < l->out_count; j++) {
            xors[j] ^= d->xor [j];
            adds[j] += value * d->add[j];
        }
    }
    for (int j = 0; j < l->out_count; j++)
        out[j] = xors[j] + adds[j];
}

bool layout_inside(const struct layout *l, const int32_t *out)
{
    for (int j = 0; j < l->out_count; j++)
        if (out[j] < 0 || out[j] >= l->outs[j].extent)
            return false;
    return true;
}

bool layout_element(const struct layout *l, int32_t reg, int32_t lane, int32_t warp, int32_t *out)
{
    int32_t in[LAYOUT_INS] = {0};
    for (int i = 0; i < l->in_count; i++)
        switch ((int)l->ins[i].axis) {
        case AXIS_REG: in[i] = reg; break;
        case AXIS_LANE: in[i] = lane; break;
        case AXIS_WARP: in[i] = warp; break;
        default: break;
        }
    layout_apply(l, in, out);
    return layout_inside(l, out);
}

int32_t layout_weight(const struct layout *l, int digit)
{
    assert(digit >= 0 && digit < l->digit_count);
    int32_t weight = 1;
    for (int d = digit - 1; d >= 0 && l->digits[d].in == l->digits[digit].in; d--)
        weight *= l->digits[d].extent;
    return weight;
}

/* As layout_demote does, private bits count as additions; a mask of the others says which bits they reach. */
void layout_range(const struct layout *l, int out, int32_t *least, int32_t *greatest)
{
    assert(out >= 0 && out < l->out_count);
    const int32_t own = private_bits(l, out);
    int32_t xors = l->flip[out];
    *least = *greatest = l->offset[out] + (xors & own);
    for (int d = 0; d < l->digit_count; d++) {
        const struct layout_digit *digit = &l->digits[d];
        xors |= digit->xor [out];
        int32_t most = (digit->add[out] + (digit->xor [out] & own)) * (digit->extent - 1);
        *(most < 0 ? least : greatest) += most;
    }
    *greatest += xors & ~own;
}

bool layout_masked(const struct layout *l)
{
    for (int j = 0; j < l->out_count; j++) {
        int32_t least, greatest;
        layout_range(l, j, &least, &greatest);
        if (least < 0 || greatest >= l->outs[j].extent)
            return true;
    }
    return false;
}

static bool is_free(const struct layout *l, const struct layout_digit *d)
{
    for (int j = 0; j < l->out_count; j++)
        if (d->xor [j] || d->add[j])
            return false;
    return true;
}

int32_t layout_free_extent(const struct layout *l, enum layout_axis axis)
{
    int i = layout_in_index(l, axis);
    int32_t extent = 1;
    for (int d = 0; d < l->digit_count; d++)
        if (l->digits[d].in == i && is_free(l, &l->digits[d]))
            extent *= l->digits[d].extent;
    return extent;
}

static bool same_dims(const struct layout *a, const struct layout *b)
{
    bool same = a->in_count == b->in_count && a->out_count == b->out_count;
    for (int i = 0; same && i < a->in_count; i++)
        same = a->ins[i].axis == b->ins[i].axis && a->ins[i].extent == b->ins[i].extent;
    for (int j = 0; same && j < a->out_count; j++)
        same = a->outs[j].axis == b->outs[j].axis && a->outs[j].extent == b->outs[j].extent;
    return same;
}

/* Counts `in` up by one in mixed radix. Returns false after the last value. */
static bool next(const struct layout *l, int32_t *in)
{
    for (int i = 0; i < l->in_count; i++) {
        if (++in[i] < l->ins[i].extent)
            return true;
        in[i] = 0;
    }
    return false;
}

bool layout_same(const struct layout *a, const struct layout *b)
{
    size_t outs = (size_t)a->out_count * sizeof(int32_t);
    return same_dims(a, b) && a->digit_count == b->digit_count && !memcmp(a->flip, b->flip, outs) &&
           !memcmp(a->offset, b->offset, outs) &&
           !memcmp(a->digits, b->digits, (size_t)a->digit_count * sizeof *a->digits);
}

bool layout_equal(const struct layout *a, const struct layout *b)
{
    if (!same_dims(a, b))
        return false;
    if (layout_same(a, b))
        return true;
    size_t outs = (size_t)a->out_count * sizeof(int32_t);
    int32_t in[LAYOUT_INS] = {0}, from_a[LAYOUT_OUTS], from_b[LAYOUT_OUTS];
    do {
        layout_apply(a, in, from_a);
        layout_apply(b, in, from_b);
        if (memcmp(from_a, from_b, outs))
            return false;
    } while (next(a, in));
    return true;
}

void layout_take_census(const struct layout *l, struct arena *scratch, struct layout_census *out)
{
    *out = (struct layout_census){.injective = true, .surjective = true};
    int64_t size = layout_size_out(l), reached = 0;
    uint32_t *holders = arena_array(scratch, uint32_t, size);
    int32_t in[LAYOUT_INS] = {0}, at[LAYOUT_OUTS], frees = 1;
    for (int d = 0; d < l->digit_count; d++)
        frees *= is_free(l, &l->digits[d]) ? l->digits[d].extent : 1;
    do {
        layout_apply(l, in, at);
        if (!layout_inside(l, at)) {
            out->masked = true;
            continue;
        }
        int64_t index = 0;
        for (int j = 0; j < l->out_count; j++)
            index = index * l->outs[j].extent + at[j];
        reached += holders[index]++ == 0;
        if ((int32_t)holders[index] > out->holders)
            out->holders = (int32_t)holders[index];
    } while (next(l, in));
    out->injective = out->holders <= frees;
    out->surjective = reached == size;
}
