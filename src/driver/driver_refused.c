/* The reasons of refused launches. A program gets a code alone, such as "invalid argument"; the finding
 * about a launch whose error it never asks for has the reason, too. */
#include "driver/driver_task.h"

#include "base/grid.h"

#include <string.h>

struct refusal {
    const char *place, *why;
};
static VEC(struct refusal) refusals; /* the first one at each place */

static const char *shape_text(struct arena *a, const unsigned shape[3])
{
    return arena_printf(a, "%u x %u x %u", shape[0], shape[1], shape[2]);
}

/* Returns the reason of a launch that driver_launch_check refuses; "": its code says it. */
static const char *reason(struct arena *a, const struct driver_launched *l)
{
    const struct sim_launch *s = &l->launch;
    long long threads = (long long)s->block[0] * s->block[1] * s->block[2];
    for (int i = 0; i < 3; i++)
        if (!s->grid[i] || !s->block[i])
            return arena_printf(a, "its %s is %s, and no size may be 0",
                                s->grid[i] ? "block" : "grid",
                                shape_text(a, s->grid[i] ? s->block : s->grid));
    for (int i = 0; i < 3; i++)
        if (s->grid[i] > grid_limits[i])
            return arena_printf(a, "its grid is %s, and the limit is %lld x %lld x %lld",
                                shape_text(a, s->grid), (long long)grid_limits[0],
                                (long long)grid_limits[1], (long long)grid_limits[2]);
    if (threads > 1024)
        return arena_printf(a, "its blocks, %s, have %lld threads, and the limit is 1024",
                            shape_text(a, s->block), threads);
    if (s->block[2] > 64)
        return arena_printf(a, "its blocks are %s, and the third size is at most 64",
                            shape_text(a, s->block));
    if (s->dynamic_shared > l->kernel->dynamic_shared)
        return arena_printf(a,
                            "it asks for %lld bytes of dynamic shared memory, and the kernel is "
                            "allowed %d; cudaFuncSetAttribute with "
                            "cudaFuncAttributeMaxDynamicSharedMemorySize allows more",
                            (long long)s->dynamic_shared, l->kernel->dynamic_shared);
    return "";
}

void driver_note_refused(const struct driver_launched *l)
{
    struct arena *a = &driver.arena;
    struct driver_site here;
    driver_site_here(&here);
    const struct driver_place *place = driver_site_place(&here, l->kernel->function->name);
    if (!driver_why_refused(place))
        vec_push(a, &refusals, ((struct refusal){place->text, reason(a, l)}));
}

const char *driver_why_refused(const struct driver_place *place)
{
    for (size_t i = 0; i < refusals.count; i++)
        if (strcmp(refusals.data[i].place, place->text) == 0)
            return refusals.data[i].why;
    return NULL;
}
