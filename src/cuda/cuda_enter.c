/* The context of the driver on the thread, and memory of the host: every call needs them. */
#include "cuda/cuda_own.h"

#include <string.h>

void *cuda_take(const struct cuda *c, size_t size)
{
    void *memory = c->allocator->resize(c->allocator->user, NULL, 0, size);
    if (memory)
        memset(memory, 0, size);
    return memory;
}

void cuda_give(const struct cuda *c, void *memory, size_t size)
{
    if (memory)
        c->allocator->resize(c->allocator->user, memory, size, 0);
}

bool cuda_usable(struct cuda *c, char why[CUDA_WHY])
{
    if (c->lost)
        cuda_say_lost(c, why);
    return !c->lost;
}

bool cuda_enter(struct cuda *c, char why[CUDA_WHY])
{
    return cuda_usable(c, why) && cuda_enter_to_free(c, why);
}

bool cuda_enter_to_free(struct cuda *c, char why[CUDA_WHY])
{
    void *current = NULL;
    why[0] = '\0';
    c->result = 0;
    c->pushed = false;
    if (!cuda_good(c, c->driver.context_current(&current), "cuCtxGetCurrent", why))
        return false;
    if (current == c->context)
        return true;
    if (!current) {
        c->bound = cuda_good(c, c->driver.context_bind(c->context), "cuCtxSetCurrent", why);
        return c->bound;
    }
    c->pushed = cuda_good(c, c->driver.context_push(c->context), "cuCtxPushCurrent", why);
    return c->pushed;
}

bool cuda_enter_to_make(struct cuda *c, char why[CUDA_WHY])
{
    enum { RELAXED = 2 }; /* CUstreamCaptureMode */
    if (!cuda_enter(c, why))
        return false;
    if (!c->driver.capture_mode)
        return true;
    c->capture_mode = RELAXED;
    c->relaxed = cuda_good(c, c->driver.capture_mode(&c->capture_mode),
                           "cuThreadExchangeStreamCaptureMode", why);
    if (!c->relaxed)
        cuda_leave(c);
    return c->relaxed;
}

void cuda_leave(struct cuda *c)
{
    void *popped;
    if (c->relaxed)
        c->driver.capture_mode(&c->capture_mode);
    c->relaxed = false;
    if (c->pushed)
        c->driver.context_pop(&popped);
    c->pushed = false;
}
