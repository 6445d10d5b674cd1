/* Programs on a device. */
#include "cuda/cuda_own.h"
#include "target/targets.h"

#include <stdio.h>
#include <string.h>

/* CUjit_option */
enum {
    JIT_ERROR_LOG = 5,
    JIT_ERROR_LOG_BYTES = 6,
};

static bool load_image(struct cuda *c, struct cuda_module *m, const char *image, char why[CUDA_WHY])
{
    char log[CUDA_WHY / 2] = "";
    int options[] = {JIT_ERROR_LOG, JIT_ERROR_LOG_BYTES};
    void *values[] = {log, (void *)(uintptr_t)sizeof log};
    int result = c->driver.module_load(&m->module, image, 2, options, values);
    if (cuda_good(c, result, "cuModuleLoadData", why))
        return true;
    cuda_say_image(c, image, why);
    if (log[0])
        cuda_say_more(why, "\n", log);
    return false;
}

static bool load(struct cuda *c, struct cuda_module *m, const char *image, const char *kernel,
                 char why[CUDA_WHY])
{
    if (!load_image(c, m, image, why) ||
        !cuda_good(c, c->driver.module_function(&m->function, m->module, kernel),
                   "cuModuleGetFunction", why))
        return false;
    /* A driver that loads lazily would load at the first launch, which is not possible in a
     * capture. */
    return !c->driver.function_load ||
           cuda_good(c, c->driver.function_load(m->function), "cuFuncLoad", why);
}

struct cuda_module *cuda_load(struct cuda *c, const char *image, const char *kernel,
                              char why[CUDA_WHY])
{
    struct cuda_module *m = cuda_take(c, sizeof *m);
    why[0] = '\0';
    if (!m)
        return NULL;
    m->shared_bytes = GPU_STATIC_SHARED;
    snprintf(m->name, sizeof m->name, "%s", kernel);
    bool loaded = cuda_enter_to_make(c, why);
    if (loaded) {
        loaded = load(c, m, image, kernel, why);
        cuda_leave(c);
    }
    if (loaded)
        return m;
    cuda_unload(c, m);
    return NULL;
}

void cuda_unload(struct cuda *c, struct cuda_module *m)
{
    char why[CUDA_WHY];
    if (!m)
        return;
    if (c->started == m)
        c->started = NULL;
    if (m->module) {
        bool entered = cuda_enter_to_free(c, why);
        c->driver.module_unload(m->module);
        if (entered)
            cuda_leave(c);
    }
    cuda_give(c, m, sizeof *m);
}

bool cuda_allow_shared(struct cuda *c, struct cuda_module *m, int64_t bytes, char why[CUDA_WHY])
{
    char what[64];
    if (bytes <= m->shared_bytes)
        return true;
    if (!cuda_enter(c, why))
        return false;
    int result = c->driver.function_set(m->function, FUNCTION_MAX_DYNAMIC_SHARED, (int)bytes);
    snprintf(what, sizeof what, "asking for %lld bytes of shared memory", (long long)bytes);
    bool done = cuda_good(c, result, what, why);
    cuda_leave(c);
    if (done)
        m->shared_bytes = bytes;
    return done;
}

static bool attribute(struct cuda *c, struct cuda_module *m, int which, int *value,
                      char why[CUDA_WHY])
{
    return cuda_good(c, c->driver.function_attribute(value, which, m->function),
                     "cuFuncGetAttribute", why);
}

bool cuda_occupancy(struct cuda *c, struct cuda_module *m, int threads, int64_t shared_bytes,
                    struct cuda_occupancy *out, char why[CUDA_WHY])
{
    if (!cuda_enter(c, why))
        return false;
    bool done =
        attribute(c, m, FUNCTION_REGISTERS, &out->registers, why) &&
        attribute(c, m, FUNCTION_LOCAL, &out->local_bytes, why) &&
        attribute(c, m, FUNCTION_SHARED, &out->shared_bytes, why) &&
        cuda_good(c, c->driver.occupancy(&out->blocks, m->function, threads, (size_t)shared_bytes),
                  "cuOccupancyMaxActiveBlocksPerMultiprocessor", why);
    cuda_leave(c);
    return done;
}
