/* Converting register layouts: finding the cheapest way.
 *
 * travel = inverse(from) o to gives, for each (register, lane, warp) of the new layout, the
 * present holder of its element ("Linear Layouts: Robust Code Generation of Efficient Tensor
 * Computation Using F2", section 5.3). If the old layout holds an element several times, it
 * gives the holder in the same lane and warp. If travel changes no warp, moves and shuffles may
 * suffice (layout_shuffle.c); shared memory always does, if there is room. */
#include "layout/layout_convert.h"

#include <stdint.h>

const char *const layout_convert_kind_names[4] = {"nothing", "moves", "shuffles", "shared memory"};

/* shfl: 32 lanes a clock; memory: a wavefront a clock; selects and prmt are twice as fast (CUDA
 * C++ Programming Guide, "Throughput of Native Arithmetic Instructions"). A barrier with a store
 * and a load around it costs about 40 cycles, which little other work can hide. */
const struct convert_costs layout_convert_costs_usual = {
    .permute = 1, .select = 1, .shuffle = 2, .wavefront = 2, .barrier = 80, .warp_barrier = 50};

/* --- Where elements come from --- */

/* Completes the inverse for digits of `from` that move nothing: the element is taken from the
 * same register, lane and warp. */
static void stay_in_place(const struct layout *from, const struct layout *to, enum layout_axis axis,
                          struct layout *travel)
{
    int i = layout_in_index(from, axis), o = layout_out_index(travel, axis);
    for (int d = 0; d < from->digit_count; d++) {
        bool moves = false;
        for (int j = 0; j < from->out_count; j++)
            moves |= from->digits[d].xor [j] || from->digits[d].add[j];
        if (from->digits[d].in != i || moves)
            continue;
        for (int t = 0; t < travel->digit_count; t++)
            if (travel->digits[t].in == layout_in_index(to, axis) &&
                travel->digits[t].extent == from->digits[d].extent &&
                layout_weight(travel, t) == layout_weight(from, d))
                travel->digits[t].add[o] += layout_weight(from, d);
    }
}

static bool find_travel(const struct layout *from, const struct layout *to, struct layout *travel)
{
    struct layout inverse;
    if (!layout_invert(from, &inverse) || !layout_compose(&inverse, to, travel))
        return false;
    stay_in_place(from, to, AXIS_REG, travel);
    stay_in_place(from, to, AXIS_LANE, travel);
    stay_in_place(from, to, AXIS_WARP, travel);
    layout_normalise(travel);
    return true;
}

/* Returns true if the warp stays the same for every register and lane. */
static bool warps_stay(const struct layout *travel)
{
    int w = layout_in_index(travel, AXIS_WARP), o = layout_out_index(travel, AXIS_WARP);
    if (o < 0)
        return w < 0 || travel->ins[w].extent == 1;
    if (travel->flip[o] || travel->offset[o])
        return false;
    for (int d = 0; d < travel->digit_count; d++) {
        int32_t step = travel->digits[d].xor [o] + travel->digits[d].add[o];
        if (step != (travel->digits[d].in == w ? layout_weight(travel, d) : 0))
            return false;
    }
    return true;
}

/* --- Shared memory --- */

static void wish_scratch(const struct convert_wish *wish, const struct layout *from,
                         const struct layout *to, struct shared_wish *out)
{
    *out = (struct shared_wish){.bits = wish->bits, .count = 2};
    for (int j = 0; j < to->out_count; j++)
        out->extents[out->rank++] = to->outs[j].extent;
    out->access[0] =
        (struct shared_access){from, wish->store_kinds | 1u << ACCESS_LANES, 16, 0, 1, 0};
    out->access[1] = (struct shared_access){to, wish->load_kinds | 1u << ACCESS_LANES, 16, 0, 1, 0};
    out->may_pad = out->may_be_linear = true;
}

static bool part_fits(const struct convert_wish *wish, int axis, int32_t part,
                      struct convert_plan *plan)
{
    struct layout from, to;
    struct shared_wish scratch;
    enum layout_axis a = wish->to->outs[axis].axis;
    if (!layout_slice_out(wish->from, a, 0, part, &from) ||
        !layout_slice_out(wish->to, a, 0, part, &to))
        return false;
    wish_scratch(wish, &from, &to, &scratch);
    return layout_choose_shared(&scratch, &plan->scratch) &&
           plan->scratch.bytes <= wish->shared_bytes;
}

static int64_t barriers_cost(const struct convert_costs *costs, const struct convert_plan *plan)
{
    return (int64_t)plan->barriers * (plan->within_warps ? costs->warp_barrier : costs->barrier);
}

/* Returns true if the way through memory may cost less: every byte is written once and read
 * once, 128 a wavefront. */
static bool may_cost_less(const struct convert_wish *wish, struct convert_plan *plan, int passes,
                          int64_t limit)
{
    int64_t wavefronts = layout_size_out(wish->to) * wish->bits / 8 / 128 * 2;
    plan->barriers = 2 * passes - 1;
    return wavefronts * wish->costs->wavefront + barriers_cost(wish->costs, plan) < limit;
}

/* Divides the tile along one axis into the fewest parts that fit. */
static bool find_parts(const struct convert_wish *wish, int64_t limit, struct convert_plan *plan)
{
    for (int passes = 1; passes <= 64 && may_cost_less(wish, plan, passes, limit); passes++)
        for (int axis = 0; axis < wish->to->out_count; axis++) {
            int32_t extent = wish->to->outs[axis].extent;
            if (extent % passes || (passes == 1 && axis > 0))
                continue;
            int64_t bytes = layout_size_out(wish->to) / passes * wish->bits / 8;
            if (bytes > wish->shared_bytes || !part_fits(wish, axis, extent / passes, plan))
                continue;
            plan->passes = passes;
            plan->part_axis = axis;
            plan->part = extent / passes;
            return true;
        }
    return false;
}

/* Returns false if it is impossible or would cost `limit` or more. */
static bool plan_shared(const struct convert_wish *wish, bool within_warps, int64_t limit,
                        struct convert_plan *out)
{
    int32_t warps = layout_in_extent(wish->to, AXIS_WARP);
    if (layout_in_extent(wish->from, AXIS_WARP) > warps)
        warps = layout_in_extent(wish->from, AXIS_WARP);
    *out =
        (struct convert_plan){.kind = CONVERT_SHARED, .within_warps = within_warps || warps == 1};
    if (!find_parts(wish, limit, out))
        return false;
    int64_t wavefronts = out->scratch.access[0].wavefronts + out->scratch.access[1].wavefronts;
    out->cost = wavefronts * out->passes * wish->costs->wavefront + barriers_cost(wish->costs, out);
    return out->cost < limit;
}

bool layout_plan_conversion(const struct convert_wish *wish_in, struct arena *arena,
                            struct convert_plan *out)
{
    struct convert_wish wish = *wish_in;
    struct convert_plan shared;
    struct layout travel;
    wish.costs = wish.costs ? wish.costs : &layout_convert_costs_usual;
    bool known = find_travel(wish.from, wish.to, &travel);
    bool within_warps = known && warps_stay(&travel);
    bool by_shuffles = within_warps && layout_plan_shuffles(&travel, &wish, arena, out);
    if (by_shuffles && out->kind <= CONVERT_MOVES)
        return true;
    bool by_memory = plan_shared(&wish, within_warps, by_shuffles ? out->cost : INT64_MAX, &shared);
    if (by_memory)
        *out = shared;
    return by_memory || by_shuffles;
}
