/* Open addressing with linear probing; nothing is ever taken out. */
#include "lower/lower_state.h"

static size_t slot_of(const struct map *m, const void *key)
{
    uint64_t hash = (uint64_t)(uintptr_t)key * UINT64_C(0x9e3779b97f4a7c15);
    size_t i = (size_t)(hash >> 32) & (m->capacity - 1);
    while (m->entries[i].key && m->entries[i].key != key)
        i = (i + 1) & (m->capacity - 1);
    return i;
}

void *map_get(const struct map *m, const void *key)
{
    return m->count > 0 ? m->entries[slot_of(m, key)].value : NULL;
}

static void grow(struct arena *a, struct map *m)
{
    struct map wider = {.capacity = m->capacity ? 2 * m->capacity : 16, .count = m->count};
    wider.entries = arena_array(a, struct map_entry, wider.capacity);
    for (size_t i = 0; i < m->capacity; i++)
        if (m->entries[i].key)
            wider.entries[slot_of(&wider, m->entries[i].key)] = m->entries[i];
    *m = wider;
}

void map_put(struct arena *a, struct map *m, const void *key, void *value)
{
    if (4 * (m->count + 1) > 3 * m->capacity)
        grow(a, m);
    struct map_entry *e = &m->entries[slot_of(m, key)];
    m->count += e->key == NULL;
    *e = (struct map_entry){key, value};
}
