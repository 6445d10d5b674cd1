#include "base/number_map.h"

#include <assert.h>

/* Mixes all 64 bits (the finaliser of MurmurHash3, Appleby 2011). */
static uint64_t hash_of(uint64_t x)
{
    x = (x ^ x >> 33) * UINT64_C(0xff51afd7ed558ccd);
    x = (x ^ x >> 33) * UINT64_C(0xc4ceb9fe1a85ec53);
    return x ^ x >> 33;
}

/* Returns the entry of the key, or the free entry for it. The table is never full. */
static struct number_entry *place_of(const struct number_map *map, uint64_t key)
{
    assert(map->count < map->capacity);
    size_t mask = map->capacity - 1;
    for (size_t i = hash_of(key) & mask;; i = (i + 1) & mask)
        if (!map->entries[i].used || map->entries[i].key == key)
            return &map->entries[i];
}

struct number_entry *number_map_find(const struct number_map *map, uint64_t key)
{
    if (!map->count)
        return NULL;
    struct number_entry *found = place_of(map, key);
    return found->used ? found : NULL;
}

static void grow(struct arena *a, struct number_map *map)
{
    struct number_map larger = {.count = map->count,
                                .capacity = map->capacity ? 2 * map->capacity : 16};
    larger.entries = arena_array(a, struct number_entry, larger.capacity);
    for (size_t i = 0; i < map->capacity; i++)
        if (map->entries[i].used)
            *place_of(&larger, map->entries[i].key) = map->entries[i];
    *map = larger;
}

struct number_entry *number_map_entry(struct arena *a, struct number_map *map, uint64_t key,
                                      bool *added)
{
    struct number_entry *found = number_map_find(map, key);
    *added = !found;
    if (found)
        return found;
    if (2 * map->count >= map->capacity)
        grow(a, map);
    found = place_of(map, key);
    *found = (struct number_entry){.key = key, .used = true};
    map->count++;
    return found;
}

bool number_map_add_object(struct arena *a, struct number_map *set, const void *object)
{
    bool added;
    number_map_entry(a, set, (uintptr_t)object, &added);
    return added;
}
