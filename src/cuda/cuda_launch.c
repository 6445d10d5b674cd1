/* Launches. */
#include "cuda/cuda_own.h"

#include "base/grid.h"

#include <assert.h>
#include <stdio.h>

/* In the context. */
static bool start(struct cuda *c, struct cuda_module *m, const struct cuda_launch *launch,
                  void *stream, char why[CUDA_WHY])
{
    enum { COOPERATIVE_LAUNCH_TOO_LARGE = 720 };
    unsigned g[3], b[3], shared = (unsigned)launch->shared_bytes;
    for (int i = 0; i < 3; i++) {
        assert(launch->grid[i] <= grid_limits[i]);
        g[i] = (unsigned)launch->grid[i];
        b[i] = (unsigned)launch->block[i];
    }
    if (!launch->cooperative)
        return cuda_good(c,
                         c->driver.launch(m->function, g[0], g[1], g[2], b[0], b[1], b[2], shared,
                                          stream, launch->arguments, NULL),
                         "cuLaunchKernel", why);
    int result = c->driver.launch_together(m->function, g[0], g[1], g[2], b[0], b[1], b[2], shared,
                                           stream, launch->arguments);
    if (result == COOPERATIVE_LAUNCH_TOO_LARGE) {
        snprintf(why, CUDA_WHY,
                 "a cooperative grid of %u x %u x %u blocks: the GPU cannot run all of them at the "
                 "same time; take fewer or smaller blocks",
                 g[0], g[1], g[2]);
        return false;
    }
    return cuda_good(c, result, "cuLaunchCooperativeKernel", why);
}

bool cuda_start(struct cuda *c, struct cuda_module *m, const struct cuda_launch *launch,
                void *stream, char why[CUDA_WHY])
{
    const int64_t *g = launch->grid;
    if (g[0] <= 0 || g[1] <= 0 || g[2] <= 0)
        return true; /* no blocks */
    if (!cuda_enter(c, why))
        return false;
    bool done = start(c, m, launch, stream, why);
    cuda_leave(c);
    return done;
}

struct cuda_quick cuda_quick(const struct cuda *c, const struct cuda_module *m, const int block[3],
                             int64_t shared_bytes)
{
    struct cuda_quick q = {.function = m->function, .shared_bytes = (unsigned)shared_bytes};
    q.launch = c->driver.launch;
    for (int i = 0; i < 3; i++)
        q.block[i] = (unsigned)block[i];
    return q;
}
