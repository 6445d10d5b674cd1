/* PTX to machine code: from the cache, or by the driver's linker, whose output can be kept. */
#include "cuda/cuda_own.h"

#include "base/platform.h"

#include <stdio.h>
#include <string.h>

/* CUjitInputType, CUjit_option. */
enum { INPUT_PTX = 1, LINK_ERROR_LOG = 5, LINK_ERROR_LOG_BYTES = 6 };

/* --- the linker --- */

void cuda_linking_end(struct cuda *c)
{
    if (c->linking.state)
        c->driver.link_free(c->linking.state);
    c->linking.state = NULL;
}

/* The cubin stays the linker's, until cuda_linking_end. In the context. */
static const void *link_text(struct cuda *c, const struct cuda_text *t, size_t *length,
                             char why[CUDA_WHY])
{
    struct cuda_linking *l = &c->linking;
    void *cubin = NULL;
    *l = (struct cuda_linking){.options = {LINK_ERROR_LOG, LINK_ERROR_LOG_BYTES}};
    l->values[0] = l->log;
    l->values[1] = (void *)(uintptr_t)sizeof l->log;
    if (!cuda_good(c, c->driver.link_new(2, l->options, l->values, &l->state), "cuLinkCreate", why))
        return NULL;
    /* the text with its '\0', as cuModuleLoadData takes it */
    int result = c->driver.link_add(l->state, INPUT_PTX, (void *)(uintptr_t)t->ptx, t->length + 1,
                                    "kernel.ptx", 0, NULL, NULL);
    if (!result)
        result = c->driver.link_complete(l->state, &cubin, length);
    if (cuda_good(c, result, "assembling", why))
        return cubin;
    cuda_say_image(c, t->ptx, why);
    if (l->log[0])
        cuda_say_more(why, "\n", l->log);
    return NULL;
}

/* Into scratch memory. NULL: why. */
static const void *assemble(struct cuda *c, const struct cuda_text *t, size_t *length,
                            char why[CUDA_WHY])
{
    if (!cuda_enter(c, why))
        return NULL;
    cuda_linking_end(c); /* of a call that memory ran out in */
    const void *cubin = link_text(c, t, length, why);
    cuda_leave(c);
    const void *copy = cubin ? arena_copy(t->scratch, cubin, *length) : NULL;
    char ignored[CUDA_WHY];
    if (cuda_enter_to_free(c, ignored)) {
        cuda_linking_end(c);
        cuda_leave(c);
    }
    return copy;
}

/* --- with the cache --- */

/* The driver's own version too, where the system tells it: CUDA's is the same for many. */
static const char *assembler_of(struct cuda *c, struct arena *scratch)
{
    size_t length;
    const char *why;
    if (c->assembler[0])
        return c->assembler;
    const char *kernel = platform_read_file(scratch, "/proc/driver/nvidia/version", &length, &why);
    int line = kernel ? (int)strcspn(kernel, "\n") : 0;
    snprintf(c->assembler, sizeof c->assembler, "CUDA %d %.*s", c->device.driver, line,
             kernel ? kernel : "");
    return c->assembler;
}

static struct cuda_cache_key key_of(struct cuda *c, const struct cuda_text *t)
{
    char target[16];
    snprintf(target, sizeof target, "sm_%d", c->device.capability);
    return cuda_cache_key(&(struct cuda_cache_source){.compiler = t->compiler,
                                                      .ptx = t->ptx,
                                                      .ptx_length = t->length,
                                                      .assembler = assembler_of(c, t->scratch),
                                                      .target = target,
                                                      .options = ""});
}

bool cuda_assemble(struct cuda *c, const struct cuda_text *t, char why[CUDA_WHY])
{
    size_t length = 0;
    struct cuda_cache_key key = key_of(c, t);
    why[0] = '\0';
    if (cuda_cache_find(t->cache, t->scratch, &key, &length))
        return true;
    const void *cubin = assemble(c, t, &length, why);
    if (cubin)
        cuda_cache_store(t->cache, t->scratch, &key, cubin, length);
    return cubin != NULL;
}

/* What the cache has may be refused all the same: by another build of the driver. And what the
 * linker refuses the driver may take, or say better what is wrong with it. */
struct cuda_module *cuda_load_text(struct cuda *c, const struct cuda_text *t, const char *kernel,
                                   char why[CUDA_WHY])
{
    size_t length = 0;
    if (!cuda_cache_on(t->cache))
        return cuda_load(c, t->ptx, kernel, why);
    struct cuda_cache_key key = key_of(c, t);
    const void *cubin = cuda_cache_find(t->cache, t->scratch, &key, &length);
    struct cuda_module *m = cubin ? cuda_load(c, cubin, kernel, why) : NULL;
    if (m)
        return m;
    cubin = assemble(c, t, &length, why);
    m = cuda_load(c, cubin ? cubin : t->ptx, kernel, why);
    if (m && cubin)
        cuda_cache_store(t->cache, t->scratch, &key, cubin, length);
    return m;
}
