/* Memory: that of the simulator, whose addresses are not valid on the host. */
#include "fake_cuda.h"

#include <stdlib.h>
#include <string.h>

void *fake_bytes(uint64_t address, size_t bytes)
{
    for (struct fake_object *o = NULL; (o = fake_next(o, FAKE_MEMORY));) {
        const struct fake_memory *m = (struct fake_memory *)o;
        if (o->device == fake_current_device() && address >= m->address &&
            address - m->address <= m->bytes && bytes <= m->bytes - (address - m->address))
            return sim_host(fake_machine(), address, bytes);
    }
    return NULL;
}

void fake_memory_free(struct fake_memory *m)
{
    sim_release(fake_machine(), m->address);
    fake_delete(m);
}

static size_t used(void)
{
    size_t sum = 0;
    for (struct fake_object *o = NULL; (o = fake_next(o, FAKE_MEMORY));)
        sum += o->device == fake_current_device() ? ((struct fake_memory *)o)->bytes : 0;
    return sum;
}

API int cuMemAlloc_v2(uint64_t *address, size_t bytes)
{
    FAKE_UNSAFE;
    size_t all = (size_t)fake_setting("FAKE_CUDA_MEMORY", (int64_t)1 << 30);
    if (!bytes)
        return INVALID_VALUE;
    if (bytes > all - used() || !fake_machine())
        return NO_MEMORY;
    struct fake_memory *m = fake_new(FAKE_MEMORY, sizeof *m);
    if (!m)
        return NO_MEMORY;
    m->address = sim_allocate(fake_machine(), bytes, NULL, "array");
    m->bytes = bytes;
    *address = m->address;
    if (m->address)
        return GOOD;
    fake_delete(m);
    return NO_MEMORY;
}

API int cuMemGetInfo_v2(size_t *unused, size_t *all)
{
    FAKE_CONTEXT;
    *all = (size_t)fake_setting("FAKE_CUDA_MEMORY", (int64_t)1 << 30);
    *unused = *all - used();
    return GOOD;
}

/* Waits for work that uses it. */
API int cuMemFree_v2(uint64_t address)
{
    FAKE_RELEASE;
    if (fake_current_device() < 0)
        return INVALID_CONTEXT;
    int faulted = fake_state();
    if (!faulted && fake_capture_forbids())
        return CAPTURE_UNSUPPORTED;
    for (struct fake_object *o = NULL; (o = fake_next(o, FAKE_MEMORY));) {
        struct fake_memory *m = (struct fake_memory *)o;
        if (o->device != fake_current_device() || m->address != address)
            continue;
        if (!faulted)
            faulted = fake_drain();
        fake_memory_free(m);
        return entered ? entered : faulted;
    }
    return INVALID_VALUE;
}

/* --- in a stream --- */

/* NULL: no memory. */
static struct fake_work *transfer(enum fake_work_kind kind, uint64_t address, size_t bytes)
{
    struct fake_work *w = fake_work_new(kind);
    if (w) {
        w->address = address;
        w->bytes = bytes;
    }
    return w;
}

/* Copies the data at once, because memory that is not pinned may change after the call has
 * returned. */
API int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, void *stream)
{
    FAKE_CONTEXT;
    struct fake_work *w = transfer(WORK_COPY_IN, to, bytes);
    if (!w)
        return NO_MEMORY;
    w->data = fake_copy(from, bytes);
    if (w->data)
        return fake_enqueue(stream, w);
    fake_work_free(w);
    return NO_MEMORY;
}

API int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, void *stream)
{
    FAKE_CONTEXT;
    struct fake_work *w = transfer(WORK_COPY_OUT, from, bytes);
    if (!w)
        return NO_MEMORY;
    w->data = to;
    return fake_enqueue(stream, w);
}

API int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes, void *stream)
{
    FAKE_CONTEXT;
    struct fake_work *w = transfer(WORK_COPY, to, bytes);
    if (!w)
        return NO_MEMORY;
    w->source = from;
    return fake_enqueue(stream, w);
}

API int cuMemsetD8Async(uint64_t to, unsigned char value, size_t bytes, void *stream)
{
    FAKE_CONTEXT;
    struct fake_work *w = transfer(WORK_FILL, to, bytes);
    if (!w)
        return NO_MEMORY;
    w->value = value;
    return fake_enqueue(stream, w);
}
