/* Who holds what: layouts interned, the layouts of operands that are broadcast, coordinates as
 * values.
 *
 * A register layout here always has the counters reg, lane (32) and warp (all of the block's), and
 * an axis for each of its tile's, with its extent; what is held several times has free digits.
 */
#include "lower/lower_tile_own.h"

#include "layout/gf2.h"

#include <assert.h>
#include <string.h>

struct tiles *tiles_of(struct lower *l)
{
    if (!l->tiles)
        l->tiles = arena_new(l->arena, struct tiles);
    return l->tiles;
}

/* --- What lane and warp decide of a coordinate --- */

static struct layout_values *values_of(struct lower *l, const struct layout *layout)
{
    struct pointer_map *map = &tiles_of(l)->values;
    const struct layout *kept = plan_keep(&l->layouts, layout);
    struct layout_values *v = pointer_map_get(map, kept);
    if (!v) {
        v = arena_new(l->arena, struct layout_values);
        v->layout = kept;
        v->runs = plan_runs(&l->layouts, kept);
        pointer_map_put(l->arena, map, kept, v);
    }
    return v;
}

/* Thread index / weight % extent (its whole rest where `top`). */
static const struct value *thread_digit(struct lower *l, int32_t weight, int32_t extent)
{
    const struct value *thread = value_thread_linear(l);
    int32_t threads = 32 * l->warps;
    bool top = (int64_t)weight * extent >= threads;
    int low = gf2_highest((uint64_t)weight), count = gf2_highest((uint64_t)extent);
    if (weight == 1 && top)
        return thread;
    if (weight == 1 << low && (extent == 1 << count || top)) {
        while (1 << count < extent)
            count++;
        return value_bits(l, thread, low, count);
    }
    const struct value *v = value_apply2(l, OP_DIV, DT_I32, thread, value_int(l, DT_I32, weight));
    return top ? v : value_apply2(l, OP_REM, DT_I32, v, value_int(l, DT_I32, extent));
}

/* A digit of the linear thread index, and what it adds to one coordinate. */
struct thread_run {
    int32_t weight, extent, step;
};

/* Digits of lane and warp that add to result j, those that continue each other joined. */
static int find_runs(const struct layout *l, int j, struct thread_run runs[LAYOUT_DIGITS])
{
    int count = 0;
    for (int d = 0; d < l->digit_count; d++) {
        enum layout_axis in = l->ins[l->digits[d].in].axis;
        if (in == AXIS_REG || !l->digits[d].add[j])
            continue;
        int32_t weight = layout_weight(l, d) * (in == AXIS_WARP ? LAYOUT_LANES : 1);
        struct thread_run run = {weight, l->digits[d].extent, l->digits[d].add[j]};
        struct thread_run *last = count > 0 ? &runs[count - 1] : NULL;
        if (last && last->weight * last->extent == run.weight &&
            (int64_t)last->step * last->extent == run.step)
            last->extent *= run.extent;
        else
            runs[count++] = run;
    }
    return count;
}

/* The exclusive or of thread bits: bit k of the thread index goes to the bits to[k] of the
 * coordinate. Bits that go side by side go together. */
static const struct value *xor_of_bits(struct lower *l, uint32_t to[16])
{
    const struct value *sum = NULL, *thread = value_thread_linear(l);
    for (int k = 0; k < 16; k++)
        while (to[k]) {
            int low = gf2_highest(to[k] & -to[k]), count = 0;
            while (k + count < 16 && to[k + count] >> (low + count) & 1) {
                to[k + count] &= ~(1u << (low + count));
                count++;
            }
            const struct value *part =
                value_affine(l, value_bits(l, thread, k, count), (int64_t)1 << low, 0);
            sum = sum ? value_xor(l, sum, part) : part;
        }
    return sum;
}

static const struct value *find_xored(struct lower *l, const struct layout *runs, int j,
                                      int32_t *touched)
{
    uint32_t to[16] = {0};
    bool any = false;
    *touched = runs->flip[j];
    for (int d = 0; d < runs->digit_count; d++) {
        enum layout_axis in = runs->ins[runs->digits[d].in].axis;
        int32_t bits = runs->digits[d].xor [j];
        if (in == AXIS_REG || !bits)
            continue;
        int32_t weight = layout_weight(runs, d) * (in == AXIS_WARP ? LAYOUT_LANES : 1);
        assert((weight & (weight - 1)) == 0);
        to[gf2_highest((uint64_t)weight)] |= (uint32_t)bits;
        *touched |= bits;
        any = true;
    }
    if (!any && !runs->flip[j])
        return NULL;
    const struct value *flip = value_int(l, DT_I32, runs->flip[j]), *bits = xor_of_bits(l, to);
    return !bits ? flip : runs->flip[j] ? value_xor(l, bits, flip) : bits;
}

static const struct kept_coordinate *coordinate_of(struct lower *l, struct layout_values *k, int j)
{
    struct kept_coordinate *c = &k->coordinate[j];
    struct thread_run runs[LAYOUT_DIGITS];
    if (c->known)
        return c;
    c->known = true;
    c->xored = find_xored(l, k->runs, j, &c->touched);
    c->added = value_int(l, DT_I32, k->runs->offset[j]);
    int count = find_runs(k->runs, j, runs);
    for (int i = 0; i < count; i++) {
        const struct value *digit = thread_digit(l, runs[i].weight, runs[i].extent);
        c->added = value_add(l, c->added, value_affine(l, digit, runs[i].step, 0));
    }
    return c;
}

/* Returns the number that the register's digits xor into result j. *added: the number that they add. */
static int32_t register_share(const struct layout *runs, int j, int32_t reg, int32_t *added)
{
    int in = layout_in_index(runs, AXIS_REG);
    int32_t xored = 0;
    *added = 0;
    for (int d = 0; d < runs->digit_count; d++) {
        if (runs->digits[d].in != in)
            continue;
        int32_t digit = reg % runs->digits[d].extent;
        reg /= runs->digits[d].extent;
        xored ^= digit ? runs->digits[d].xor [j] : 0;
        *added += digit * runs->digits[d].add[j];
    }
    return xored;
}

const struct value *tile_coordinate_of(struct lower *l, const struct layout *layout, int axis,
                                       int32_t reg)
{
    struct layout_values *k = values_of(l, layout);
    const struct kept_coordinate *c = coordinate_of(l, k, axis);
    int32_t added, bits = register_share(k->runs, axis, reg, &added);
    const struct value *v = value_affine(l, c->added, 1, added + (bits & ~c->touched));
    if (!c->xored)
        return v;
    bits &= c->touched;
    return value_add(l, v, bits ? value_xor(l, c->xored, value_int(l, DT_I32, bits)) : c->xored);
}

const struct value *tile_coordinate(struct lower *l, const struct layout *layout, int axis,
                                    bool *additive)
{
    struct layout_values *k = values_of(l, layout);
    const struct kept_coordinate *c = coordinate_of(l, k, axis);
    int reg = layout_in_index(k->runs, AXIS_REG);
    *additive = true;
    for (int d = 0; d < k->runs->digit_count; d++)
        if (k->runs->digits[d].in == reg && k->runs->digits[d].xor [axis] & c -> touched)
            *additive = false;
    return tile_coordinate_of(l, layout, axis, 0);
}

int32_t tile_coordinate_offset(const struct layout *layout, int axis, int32_t reg)
{
    int32_t added, bits = register_share(layout, axis, reg, &added);
    return bits + added;
}

/* --- Masks and holders --- */

static const struct value *both(struct lower *l, const struct value *a, const struct value *b)
{
    return !a ? b : !b ? a : value_apply2(l, OP_AND, DT_BOOL, a, b);
}

static const struct value *true_is_null(const struct value *v)
{
    int64_t known;
    return v && value_known(v, &known) && known ? NULL : v;
}

const struct value *tile_inside_axes(struct lower *l, const struct layout *layout, int32_t reg,
                                     unsigned axes)
{
    const struct value *inside = NULL;
    for (int j = 0; j < layout->out_count; j++) {
        int32_t least, greatest, extent = layout->outs[j].extent;
        if (!(axes >> j & 1))
            continue;
        layout_range(layout, j, &least, &greatest);
        if (least >= 0 && greatest < extent)
            continue;
        const struct value *at = tile_coordinate_of(l, layout, j, reg);
        if (value_greatest(at) >= extent)
            inside =
                both(l, inside, value_apply2(l, OP_LT, DT_BOOL, at, value_int(l, DT_I32, extent)));
        if (value_least(at) < 0)
            inside = both(l, inside, value_apply2(l, OP_GE, DT_BOOL, at, value_int(l, DT_I32, 0)));
    }
    return true_is_null(inside);
}

const struct value *tile_inside_of(struct lower *l, const struct layout *layout, int32_t reg)
{
    return tile_inside_axes(l, layout, reg, ~0u);
}

/* Returns the bits of all results, as one number, that digit d moves; 0: none. *plain false: it moves more than bits. */
static uint64_t vector_of(const struct layout *l, int d, bool *plain)
{
    uint64_t v = 0;
    int at = 0;
    *plain = l->digits[d].extent == 2;
    for (int j = 0; j < l->out_count; j++) {
        int32_t bits = 0;
        for (int n = 0; n < l->digit_count; n++)
            bits |= l->digits[n].xor [j];
        v |= (uint64_t)(uint32_t)l->digits[d].xor [j] << at;
        at += gf2_highest((uint64_t)(uint32_t)bits) + 1;
        *plain = *plain && !l->digits[d].add[j];
    }
    return v;
}

/* Returns whether the thread is the first holder: its digits of lane and warp that reach no other element are 0. */
static const struct value *find_first_holder(struct lower *l, const struct layout *layout,
                                             bool whole_warps)
{
    struct gf2_space space;
    int64_t mask = 0;
    const struct value *first = NULL, *zero = value_int(l, DT_I32, 0);
    gf2_init(&space);
    for (int d = 0; d < layout->digit_count; d++) {
        bool plain;
        uint64_t vector = vector_of(layout, d, &plain);
        bool nothing = !plan_moves_axis(layout, d, -1);
        enum layout_axis in = layout->ins[layout->digits[d].in].axis;
        int32_t weight = layout_weight(layout, d) * (in == AXIS_WARP ? LAYOUT_LANES : 1);
        if ((plain && gf2_insert(&space, vector, 0)) || (!plain && !nothing) || in == AXIS_REG ||
            (whole_warps && in == AXIS_LANE))
            continue;
        if (layout->digits[d].extent == 2 && (weight & (weight - 1)) == 0) {
            mask |= weight;
            continue;
        }
        const struct value *digit = thread_digit(l, weight, layout->digits[d].extent);
        first = both(l, first, value_apply2(l, OP_EQ, DT_BOOL, digit, zero));
    }
    if (!mask)
        return first;
    const struct value *bits =
        value_apply2(l, OP_AND, DT_I32, value_thread_linear(l), value_int(l, DT_I32, mask));
    return both(l, value_apply2(l, OP_EQ, DT_BOOL, bits, zero), first);
}

const struct value *tile_is_first_holder(struct lower *l, const struct layout *layout)
{
    struct layout_values *k = values_of(l, layout);
    if (!k->holder_known)
        k->first_holder = true_is_null(find_first_holder(l, k->layout, false));
    k->holder_known = true;
    return k->first_holder;
}

const struct value *tile_is_first_warp(struct lower *l, const struct layout *layout)
{
    struct layout_values *k = values_of(l, layout);
    if (!k->warp_known)
        k->first_warp = true_is_null(find_first_holder(l, k->layout, true));
    k->warp_known = true;
    return k->first_warp;
}
