/* Reductions: registers of a thread as a tree, lanes by exchanging with their neighbours, warps
 * through shared memory.
 *
 * Every holder of a result computes it in the same order of the same operands (sums commute), so
 * all have the same bits, and so it is in every run. What a layout masks must not take part: it is
 * replaced by what changes nothing.
 */
#include "lower/lower_tile_own.h"

#include <math.h>
#include <string.h>

/* -0 + x is x for every x, and of a number and a NaN min and max give the number. */
struct ptx_operand reduce_idle(struct lower *l, enum op op, enum dtype t)
{
    struct literal v = op_neutral(op, t);
    if (dtype_is_float(t) && op == OP_ADD)
        v.f = -0.0;
    if (dtype_is_float(t) && (op == OP_MIN || op == OP_MAX))
        v.f = NAN;
    return op_constant(l, t, v);
}

struct ptx_operand reduce_combine(struct lower *l, enum op op, enum dtype t, struct ptx_operand a,
                                  struct ptx_operand b)
{
    if (a.kind == PTX_NOTHING)
        return b;
    return b.kind == PTX_NOTHING ? a : op_emit2(l, op, t, t, a, b);
}

/* Elements that are surely outside become PTX_NOTHING. */
struct ptx_operand *tile_inside_elements(struct lower *l, enum op op, const struct regtile *x,
                                         unsigned axes)
{
    struct ptx_operand *e =
        arena_copy(l->arena, tile_elements(l, x), (size_t)x->elements * sizeof *e);
    for (int r = 0; r < x->elements; r++) {
        const struct value *inside = tile_inside_axes(l, x->layout, r, axes);
        int64_t known;
        if (!inside)
            continue;
        if (value_known(inside, &known)) {
            e[r].kind = PTX_NOTHING;
            continue;
        }
        struct ptx_operand idle = reduce_idle(l, op, x->dtype), is_in = value_operand(l, inside);
        e[r] = tile_select(l, x->dtype, is_in, e[r], idle);
    }
    return e;
}

/* --- Axes and digits --- */

/* Lanes that the axis runs over, as a mask of the lane's bits. */
static int32_t lanes_of(const struct layout *l, int axis)
{
    int in = layout_in_index(l, AXIS_LANE);
    int32_t mask = 0;
    for (int d = 0; d < l->digit_count; d++)
        if (l->digits[d].in == in && plan_moves_axis(l, d, axis))
            mask |= layout_weight(l, d);
    return mask;
}

/* --- Warps --- */

struct ptx_operand *tile_of_warps(struct lower *l, const struct layout *whole, int axis,
                                  int32_t above, enum dtype t, const struct ptx_operand *element,
                                  int32_t *warps, const struct value **mine)
{
    struct warp_totals layouts;
    if (!plan_warp_totals(&l->layouts, whole, axis, above, &layouts))
        return NULL;
    const int32_t *registers = layouts.registers;
    *warps = layouts.warps;
    int32_t held = plan_registers(&layouts.totals);
    struct ptx_operand *e = arena_array(l->arena, struct ptx_operand, held);
    for (int32_t r = 0; r < held; r++)
        e[r] = element[registers[r]];
    struct regtile tile = tile_of_elements(l, t, &layouts.totals, e);
    *mine = tile_coordinate_of(l, tile.layout, axis < 0 ? 0 : axis, 0);
    struct regtile got = tile_convert(l, &tile, plan_keep(&l->layouts, &layouts.all));
    struct ptx_operand *side = tile_elements(l, &got);
    struct ptx_operand *out =
        arena_array(l->arena, struct ptx_operand, plan_registers(whole) * *warps);
    for (int32_t r = 0; r < held; r++)
        for (int32_t w = 0; w < *warps; w++)
            out[registers[r] * *warps + w] = side[r * *warps + w];
    return out;
}

/* --- Lanes --- */

static const char *redux_name(enum op op, enum dtype t)
{
    bool is_signed = dtype_is_signed(t);
    switch (op) {
    case OP_ADD: return is_signed ? "redux.sync.add.s32" : "redux.sync.add.u32";
    case OP_MIN: return is_signed ? "redux.sync.min.s32" : "redux.sync.min.u32";
    case OP_MAX: return is_signed ? "redux.sync.max.s32" : "redux.sync.max.u32";
    case OP_AND: return "redux.sync.and.b32";
    case OP_OR: return "redux.sync.or.b32";
    case OP_XOR: return "redux.sync.xor.b32";
    default: return NULL;
    }
}

/* The lanes that share a result with this one, a bit each. */
static const struct value *lane_group(struct lower *l, int32_t lanes)
{
    uint32_t mask = 0;
    for (int32_t lane = 0; lane < LAYOUT_LANES; lane++)
        if (!(lane & ~lanes))
            mask |= 1u << lane;
    const struct value *first = value_apply2(l, OP_AND, DT_I32, value_lane(l),
                                             value_int(l, DT_I32, ~lanes & (LAYOUT_LANES - 1)));
    return value_apply2(l, OP_SHL, DT_I32, value_int(l, DT_I32, (int32_t)mask), first);
}

static struct ptx_operand vote(struct lower *l, enum op op, int32_t lanes, struct ptx_operand p)
{
    struct ptx_operand r = ptx_reg(&l->b, PTX_PRED);
    if (lanes == LAYOUT_LANES - 1) {
        ptx_emit(&l->b, op == OP_AND ? "vote.sync.all.pred" : "vote.sync.any.pred", r, p,
                 ptx_int(-1));
        return r;
    }
    struct ptx_operand all = ptx_reg(&l->b, PTX_B32), of_group = ptx_reg(&l->b, PTX_B32);
    struct ptx_operand group = value_register(l, lane_group(l, lanes));
    ptx_emit(&l->b, "vote.sync.ballot.b32", all, p, ptx_int(-1));
    ptx_emit(&l->b, "and.b32", of_group, all, group);
    ptx_emit(&l->b, op == OP_AND ? "setp.eq.b32" : "setp.ne.b32", r, of_group,
             op == OP_AND ? group : ptx_int(0));
    return r;
}

static void across_lanes(struct lower *l, enum op op, enum dtype t, int32_t lanes,
                         struct ptx_operand *e, int32_t count)
{
    bool is_word = !dtype_is_float(t) && dtype_table[t].bits <= 32;
    if (lanes == 0)
        return;
    if (t == DT_BOOL) {
        for (int32_t r = 0; r < count; r++)
            e[r] = vote(l, op, lanes, e[r]);
        return;
    }
    if (is_word && lanes == LAYOUT_LANES - 1 && redux_name(op, t)) {
        for (int32_t r = 0; r < count; r++) {
            struct ptx_operand sum = op_register(l, t);
            ptx_emit(&l->b, redux_name(op, t), sum, e[r], ptx_int(-1));
            e[r] = sum;
        }
        return;
    }
    for (int32_t bit = LAYOUT_LANES / 2; bit > 0; bit /= 2)
        for (int32_t r = 0; lanes & bit && r < count; r++) {
            struct ptx_operand other = tile_shuffle(l, t, false, e[r], SHUFFLE_BFLY, ptx_int(bit));
            e[r] = op_emit2(l, op, t, t, e[r], other);
        }
}

/* --- Registers --- */

/* Neighbours pairwise: as deep as need be, and always the same. */
static struct ptx_operand tree(struct lower *l, enum op op, enum dtype t, struct ptx_operand *e,
                               int32_t count)
{
    for (; count > 1; count = (count + 1) / 2)
        for (int32_t i = 0; 2 * i < count; i++)
            e[i] = 2 * i + 1 < count ? reduce_combine(l, op, t, e[2 * i], e[2 * i + 1]) : e[2 * i];
    return e[0];
}

/* Elements of x by the register of the result that they belong to. */
static struct ptx_operand *within_thread(struct lower *l, enum op op, enum dtype t,
                                         const struct ptx_operand *e, int32_t elements,
                                         const int32_t *to, int32_t results)
{
    struct ptx_operand *out = arena_array(l->arena, struct ptx_operand, results);
    struct ptx_operand *of_one = arena_array(l->arena, struct ptx_operand, elements);
    for (int32_t r = 0; r < results; r++) {
        int32_t count = 0;
        for (int32_t i = 0; i < elements; i++)
            if (to[i] == r)
                of_one[count++] = e[i];
        out[r] = count > 0 ? tree(l, op, t, of_one, count) : (struct ptx_operand){0};
        if (out[r].kind == PTX_NOTHING)
            out[r] = op_in_register(l, t, reduce_idle(l, op, t));
    }
    return out;
}

/* Elements of 16 bits, two at a time: words whose elements go to the same results become one. */
static bool combine_words(struct lower *l, enum op op, const struct regtile *x, const int32_t *to,
                          struct regtile *left, int32_t *left_to)
{
    struct ptx_operand *of_one = arena_array(l->arena, struct ptx_operand, x->words);
    bool *taken = arena_array(l->arena, bool, x->words);
    *left = (struct regtile){.dtype = x->dtype};
    left->word = arena_array(l->arena, struct ptx_operand, x->words);
    for (int w = 0; w < x->words; w++) {
        int count = 0;
        for (int v = w; v < x->words && !taken[w]; v++)
            if (!taken[v] && to[2 * v] == to[2 * w] && to[2 * v + 1] == to[2 * w + 1]) {
                taken[v] = v > w;
                of_one[count++] = x->word[v];
            }
        for (; count > 1; count = (count + 1) / 2)
            for (int i = 0; 2 * i < count; i++) {
                struct ptx_operand args[2] = {of_one[2 * i], of_one[2 * i]};
                if (2 * i + 1 < count)
                    args[1] = of_one[2 * i + 1];
                of_one[i] = args[0];
                if (2 * i + 1 < count && !op_emit_pair(l, op, x->dtype, args, 2, &of_one[i]))
                    return false;
            }
        if (count == 0)
            continue;
        left_to[left->elements++] = to[2 * w];
        left_to[left->elements++] = to[2 * w + 1];
        left->word[left->words++] = of_one[0];
    }
    return true;
}

/* Is there something that x masks along the axes? */
static bool any_masked(struct lower *l, const struct layout *layout, unsigned axes)
{
    for (int32_t r = 0; r < plan_registers(layout); r++)
        if (tile_inside_axes(l, layout, r, axes))
            return true;
    return false;
}

static void across_warps(struct lower *l, enum op op, enum dtype t, const struct layout *whole,
                         int axis, const int32_t *to, struct ptx_operand *result)
{
    int32_t elements = plan_registers(whole), warps;
    const struct value *mine;
    struct ptx_operand *e = arena_array(l->arena, struct ptx_operand, elements);
    for (int32_t r = 0; r < elements; r++)
        e[r] = result[to[r]];
    struct ptx_operand *all = tile_of_warps(l, whole, axis, INT32_MAX, t, e, &warps, &mine);
    for (int32_t r = elements - 1; all && r >= 0; r--)
        if (all[r * warps].kind != PTX_NOTHING)
            result[to[r]] = tree(l, op, t, all + r * warps, warps);
}

/* From what threads have to what the block has. */
static struct regtile finish(struct lower *l, enum op op, enum dtype t, const struct layout *whole,
                             int axis, const struct layout *left, const int32_t *to,
                             struct ptx_operand *sum)
{
    across_lanes(l, op, t, lanes_of(whole, axis), sum, plan_registers(left));
    across_warps(l, op, t, whole, axis, to, sum);
    return tile_of_elements(l, t, left, sum);
}

static struct regtile reduce(struct lower *l, enum op op, const struct regtile *x, int axis,
                             enum dtype t)
{
    const struct layout *left = plan_reduced_layout(&l->layouts, x->layout, axis);
    struct type type = {.rank = axis < 0 ? 0 : x->layout->out_count};
    for (int i = 0; i < type.rank; i++)
        type.extent[i] = left->outs[i].extent;
    const int32_t *to = plan_operand_registers(&l->layouts, x->layout, left, &type);
    unsigned axes = axis < 0 ? ~0u : 1u << axis;
    int32_t *left_to = arena_array(l->arena, int32_t, x->elements);
    struct regtile words;
    if (x->dtype == t && dtype_is_float(t) && tile_per_word(t) == 2 && x->elements % 2 == 0 &&
        !any_masked(l, x->layout, axes) && combine_words(l, op, x, to, &words, left_to)) {
        int32_t count = plan_registers(left);
        struct ptx_operand *sum =
            within_thread(l, op, t, tile_elements(l, &words), words.elements, left_to, count);
        return finish(l, op, t, x->layout, axis, left, to, sum);
    }
    struct ptx_operand *e = tile_inside_elements(l, op, x, axes);
    for (int r = 0; r < x->elements && x->dtype != t; r++)
        if (e[r].kind != PTX_NOTHING)
            e[r] = op_cast(l, t, x->dtype, e[r]);
    struct ptx_operand *sum = within_thread(l, op, t, e, x->elements, to, plan_registers(left));
    return finish(l, op, t, x->layout, axis, left, to, sum);
}

/* --- From outside --- */

/* Result in the layout that is left of x's when the axis is reduced (plan_reduced_layout), axis
 * < 0: a scalar, the same in all threads. */
static struct regtile tile_reduce(struct lower *l, enum op op, const struct regtile *x, int axis,
                                  enum dtype result)
{
    if (axis < 0 || !plan_axis_mixed(x->layout, axis))
        return reduce(l, op_of_reduction(op), x, axis, result);
    struct type type = {.dtype = x->dtype, .rank = x->layout->out_count};
    for (int i = 0; i < type.rank; i++)
        type.extent[i] = x->layout->outs[i].extent;
    struct regtile plain = tile_convert(l, x, plan_blocked(&l->layouts, &type, 0));
    plain = reduce(l, op_of_reduction(op), &plain, axis, result);
    return tile_convert(l, &plain, plan_reduced_layout(&l->layouts, x->layout, axis));
}

static bool same_registers(const struct regtile *a, const struct regtile *b)
{
    bool same = a->layout == b->layout && a->dtype == b->dtype && a->words == b->words;
    for (int w = 0; same && w < a->words; w++)
        same = a->word[w].kind == b->word[w].kind && a->word[w].reg == b->word[w].reg;
    return same;
}

const struct value *tile_reduce_all(struct lower *l, enum op op, const struct regtile *x,
                                    enum dtype result)
{
    struct tiles *tiles = tiles_of(l);
    for (size_t i = 0; tiles->depth > 0 && i < tiles->reduced.count; i++) {
        const struct reduction_done *d = &tiles->reduced.data[i];
        if (d->op == op && same_registers(&d->x, x) && value_dtype(d->result) == result)
            return d->result;
    }
    struct regtile r = tile_reduce(l, op, x, -1, result);
    const struct value *v = value_of_register(l, result, tile_elements(l, &r)[0]);
    struct reduction_done done = {op, *x, v};
    if (tiles->depth > 0)
        vec_push(l->arena, &tiles->reduced, done);
    return v;
}

struct regtile reduce_eval(struct lower *l, const struct expr *e, const struct layout *wanted)
{
    struct regtile x = tile_eval_natural(l, e->args[0]);
    struct regtile r = tile_reduce(l, e->op, &x, e->axis, e->type.dtype);
    return tile_convert(l, &r, wanted);
}
