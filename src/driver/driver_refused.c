/* The limits of a launch, and the reasons why launches were refused. A program gets only an error code,
 * such as "invalid argument". If it never reads the error, the finding about that gives the reason. */
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

static bool is_any_0(const unsigned shape[3])
{
    return !shape[0] || !shape[1] || !shape[2];
}

/* Returns the threads of a block; a wrong shape may have more than an int64_t holds. */
static double threads_of(const unsigned block[3])
{
    return (double)block[0] * block[1] * block[2];
}

enum driver_refusal driver_refusal(const struct driver_launched *l)
{
    const struct sim_launch *s = &l->launch;
    if (is_any_0(s->grid) || is_any_0(s->block))
        return DRIVER_EMPTY_SHAPE;
    for (int i = 0; i < 3; i++)
        if (s->grid[i] > grid_limits[i])
            return DRIVER_LARGE_GRID;
    if (threads_of(s->block) > BLOCK_THREADS)
        return DRIVER_LARGE_BLOCK;
    if (s->block[2] > BLOCK_DEPTH)
        return DRIVER_DEEP_BLOCK;
    return s->dynamic_shared > l->kernel->dynamic_shared ? DRIVER_LARGE_SHARED : DRIVER_NOT_REFUSED;
}

/* Returns the reason why driver_launch_check refused a launch; "": its error code says it. */
static const char *reason(struct arena *a, const struct driver_launched *l)
{
    const struct sim_launch *s = &l->launch;
    switch (driver_refusal(l)) {
    case DRIVER_NOT_REFUSED: break;
    case DRIVER_EMPTY_SHAPE: {
        bool of_grid = is_any_0(s->grid);
        return arena_printf(a, "its %s is %s, and no size may be 0", of_grid ? "grid" : "block",
                            shape_text(a, of_grid ? s->grid : s->block));
    }
    case DRIVER_LARGE_GRID:
        return arena_printf(a, "its grid is %s, and the limit is %lld x %lld x %lld",
                            shape_text(a, s->grid), (long long)grid_limits[0],
                            (long long)grid_limits[1], (long long)grid_limits[2]);
    case DRIVER_LARGE_BLOCK:
        return arena_printf(a, "its blocks, %s, have %.0f threads, and the limit is %d",
                            shape_text(a, s->block), threads_of(s->block), BLOCK_THREADS);
    case DRIVER_DEEP_BLOCK:
        return arena_printf(a, "its blocks are %s, and the third size is at most %d",
                            shape_text(a, s->block), BLOCK_DEPTH);
    case DRIVER_LARGE_SHARED:
        return arena_printf(a,
                            "it asks for %lld bytes of dynamic shared memory, and the kernel is "
                            "allowed %d; cudaFuncSetAttribute with "
                            "cudaFuncAttributeMaxDynamicSharedMemorySize allows more",
                            (long long)s->dynamic_shared, l->kernel->dynamic_shared);
    }
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
