/* The windows of convolutions: the order in which a copy goes through them (PTX ISA, "Tensor Access Modes",
 * im2col). From its first pixel a copy goes on along axis 1; after the end of the box it begins again at the
 * box's start, one step further along axis 2, and so on to the last axis, the images. The offset in the
 * window is added to each pixel, so one copy takes the same element of many windows. */
#include "sim/sim_bulk.h"

#include <assert.h>

/* Goes `*steps` steps along an axis of the box, from the copy's first pixel on. Returns the place, and in
 * *steps the steps that the next axis has to go. */
static int64_t walk(const struct sim_bulk *c, int axis, uint64_t *steps)
{
    const struct tensor_map *map = &c->map;
    assert(axis > 0 && map->steps[axis] > 0);
    int64_t step = map->steps[axis], lower = c->window.lower[axis - 1];
    int64_t last = (int64_t)map->extents[axis] - 1 + c->window.upper[axis - 1];
    int64_t first = c->start[axis], rest = first > last ? 1 : (last - first) / step + 1;
    if (*steps < (uint64_t)rest) {
        first += (int64_t)*steps * step;
        *steps = 0;
        return first;
    }
    uint64_t beyond = *steps - (uint64_t)rest, row = (uint64_t)((last - lower) / step + 1);
    *steps = 1 + beyond / row;
    return lower + (int64_t)(beyond % row) * step;
}

void sim_window_place(const struct sim_bulk *c, uint64_t pixel, int64_t place[TENSOR_MAP_AXES])
{
    int last = c->map.rank - 1;
    assert(last > 0 && last < TENSOR_MAP_AXES);
    for (int axis = 1; axis < last; axis++)
        place[axis] = walk(c, axis, &pixel) + c->offset[axis - 1];
    place[last] = c->start[last] + (int64_t)pixel * c->map.steps[last];
}
