#include "plan/lowered.h"

#include <assert.h>

_Static_assert(LOWERED_MAP_RANK == (int)MAP_AXES, "a map has five axes at most");

struct map_form lowered_map_form(const struct lowered_param *p, int type)
{
    enum { LEAST_SPAN = 32 };
    const struct sym *view = p->sym;
    const struct lowered_map *map = p->map;
    assert(p->kind == LOWERED_MAP && map->rank == view->type.rank && map->rank <= MAP_AXES);
    struct map_form f = {.view = view->name,
                         .type = type,
                         .element = (int32_t)dtype_size(view->type.dtype),
                         .rank = map->rank,
                         .strided = view->strides[0] != NULL};
    for (int span = LEAST_SPAN; span <= map->swizzle; span *= 2)
        f.swizzle++;
    for (int axis = 0; axis < map->rank; axis++)
        f.box[axis] = (uint32_t)map->box[axis];
    return f;
}

bool lowered_begins_early(const struct kernel *k, const struct target *t)
{
    return target_has(t, TARGET_EARLY_LAUNCH) && !k->cooperative;
}
