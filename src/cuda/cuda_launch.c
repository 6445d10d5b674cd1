/* Launches. */
#include "cuda/cuda_own.h"

#include "base/grid.h"

#include <assert.h>
#include <stdio.h>

/* What is asked of the GPU, for whoever must change it. */
static void describe(struct cuda *c, const struct cuda_module *m, const struct cuda_launch *launch,
                     char *out, size_t size)
{
    const int *b = launch->block;
    int registers = 0;
    c->driver.function_attribute(&registers, FUNCTION_REGISTERS, m->function);
    snprintf(out, size,
             "starting %s (%lld x %lld x %lld blocks of %d threads with %d registers each and %lld "
             "bytes of shared memory)",
             m->name, (long long)launch->grid[0], (long long)launch->grid[1],
             (long long)launch->grid[2], b[0] * b[1] * b[2], registers,
             (long long)launch->shared_bytes);
}

/* In the context. */
static bool start(struct cuda *c, struct cuda_module *m, const struct cuda_launch *launch,
                  void *stream, char why[CUDA_WHY])
{
    char what[256];
    unsigned g[3], b[3], shared = (unsigned)launch->shared_bytes;
    for (int i = 0; i < 3; i++) {
        assert(launch->grid[i] <= grid_limits[i]);
        g[i] = (unsigned)launch->grid[i];
        b[i] = (unsigned)launch->block[i];
    }
    int result = launch->cooperative
                     ? c->driver.launch_together(m->function, g[0], g[1], g[2], b[0], b[1], b[2],
                                                 shared, stream, launch->arguments)
                     : c->driver.launch(m->function, g[0], g[1], g[2], b[0], b[1], b[2], shared,
                                        stream, launch->arguments, NULL);
    c->started = m;
    if (result == 0)
        return true;
    describe(c, m, launch, what, sizeof what);
    return cuda_good(c, result, what, why);
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
