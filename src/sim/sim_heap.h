/* Memory of the checks that grows, shrinks and is freed before the arena is. It comes from the
 * arena's allocator; a failed allocation jumps to the arena's recovery point. */
#ifndef TW_SIM_HEAP_H
#define TW_SIM_HEAP_H

#include "base/arena.h"

#include <assert.h>
#include <string.h>

/* Resizes memory as realloc does. Size 0 frees the memory. */
static inline void *sim_heap_grow(struct arena *a, void *old, size_t old_size, size_t size)
{
    if (!size && !old)
        return NULL;
    void *p = a->allocator->resize(a->allocator->user, old, old_size, size);
    if (!size)
        return NULL;
    if (!p) {
        assert(a->out_of_memory);
        longjmp(*a->out_of_memory, 1);
    }
    return p;
}
/* Does the same; new bytes are zero. */
static inline void *sim_heap_resize(struct arena *a, void *old, size_t old_size, size_t size)
{
    void *p = sim_heap_grow(a, old, old_size, size);
    if (size > old_size)
        memset((char *)p + old_size, 0, size - old_size);
    return p;
}
static inline void *sim_heap_new(struct arena *a, size_t size)
{
    return sim_heap_resize(a, NULL, 0, size);
}
static inline void sim_heap_free(struct arena *a, void *p, size_t size)
{
    sim_heap_resize(a, p, size, 0);
}

/* Returns a well-mixed hash of 64 bits (the finaliser of MurmurHash3, Appleby 2011). */
static inline uint64_t sim_hash(uint64_t x)
{
    x = (x ^ x >> 33) * 0xff51afd7ed558ccdULL;
    x = (x ^ x >> 33) * 0xc4ceb9fe1a85ec53ULL;
    return x ^ x >> 33;
}

#endif
