/* The entries of a family by sizes: a cache of fixed size, read without a lock by any number of
 * threads while one thread, which holds the family's lock, writes it.
 *
 * The sizes choose a set of WAYS places. A place has a version, which is odd while it is written. A
 * reader takes what it read only if the version was even and did not change meanwhile. An entry
 * lives as long as its family, so it is valid even if its place is overwritten.
 *
 * Order: a writer makes the version odd before its first release of a word. A reader that
 * acquires any new word therefore sees an odd or later version at its second look. */
#ifndef TW_FAMILY_CACHE_H
#define TW_FAMILY_CACHE_H

#include "tilewright_entry.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { CACHE_SETS = 1024, CACHE_WAYS = 4, PLACE_VERSION = 0, PLACE_ENTRY = 1, PLACE_SIZES = 2 };

struct family_cache {
    int size_count;
    size_t bytes; /* of this struct with its places */
    _Atomic(uint64_t) place[];
};

static inline size_t family_cache_bytes(int size_count)
{
    size_t words = (size_t)CACHE_SETS * CACHE_WAYS * (size_t)(PLACE_SIZES + size_count);
    return sizeof(struct family_cache) + words * sizeof(_Atomic(uint64_t));
}

/* Returns the first place of the set of these sizes. Every bit of every size affects the set. */
static inline _Atomic(uint64_t) *family_cache_set(struct family_cache *c, const int64_t *sizes)
{
    uint64_t h = 0;
    for (int i = 0; i < c->size_count; i++) {
        h = (h ^ (uint64_t)sizes[i]) * 0x9E3779B97F4A7C15u; /* 2^64 over the golden ratio */
        h ^= h >> 32;
    }
    h = h * 0x9E3779B97F4A7C15u >> 54;
    return &c->place[h * CACHE_WAYS * (size_t)(PLACE_SIZES + c->size_count)];
}

/* Returns the entry in a place if the place has these sizes, else NULL. */
static inline tw_entry *family_cache_read(const struct family_cache *c, _Atomic(uint64_t) *place,
                                          const int64_t *sizes)
{
    uint64_t version = atomic_load_explicit(&place[PLACE_VERSION], memory_order_acquire);
    if (version == 0 || version & 1)
        return NULL;
    for (int i = 0; i < c->size_count; i++)
        if (atomic_load_explicit(&place[PLACE_SIZES + i], memory_order_acquire) !=
            (uint64_t)sizes[i])
            return NULL;
    uint64_t entry = atomic_load_explicit(&place[PLACE_ENTRY], memory_order_acquire);
    bool same = atomic_load_explicit(&place[PLACE_VERSION], memory_order_relaxed) == version;
    return same ? (tw_entry *)(uintptr_t)entry : NULL;
}

/* Returns the entry for these sizes; NULL: the cache does not have it (any more). */
static inline tw_entry *family_cache_find(struct family_cache *c, const int64_t *sizes)
{
    _Atomic(uint64_t) *place = family_cache_set(c, sizes);
    for (int way = 0; way < CACHE_WAYS; way++, place += PLACE_SIZES + c->size_count) {
        tw_entry *found = family_cache_read(c, place, sizes);
        if (found)
            return found;
    }
    return NULL;
}

/* Adds an entry. If the set is full, the place that was written the fewest times is overwritten. */
static inline void family_cache_put(struct family_cache *c, const int64_t *sizes, tw_entry *entry)
{
    _Atomic(uint64_t) *place = family_cache_set(c, sizes), *into = place;
    uint64_t version = UINT64_MAX;
    for (int way = 0; way < CACHE_WAYS; way++, place += PLACE_SIZES + c->size_count) {
        uint64_t own = atomic_load_explicit(&place[PLACE_VERSION], memory_order_relaxed);
        into = own < version ? place : into;
        version = own < version ? own : version;
    }
    atomic_store_explicit(&into[PLACE_VERSION], version + 1, memory_order_relaxed);
    for (int i = 0; i < c->size_count; i++)
        atomic_store_explicit(&into[PLACE_SIZES + i], (uint64_t)sizes[i], memory_order_release);
    atomic_store_explicit(&into[PLACE_ENTRY], (uintptr_t)entry, memory_order_release);
    atomic_store_explicit(&into[PLACE_VERSION], version + 2, memory_order_release);
}

#endif
