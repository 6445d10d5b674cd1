#include "base/pointer_map.h"

void *pointer_map_get(const struct pointer_map *m, const void *key)
{
    const struct number_entry *found = number_map_find(&m->numbers, (uintptr_t)key);
    return found ? (void *)(uintptr_t)found->value : NULL;
}

void pointer_map_put(struct arena *a, struct pointer_map *m, const void *key, void *value)
{
    bool added;
    number_map_entry(a, &m->numbers, (uintptr_t)key, &added)->value = (uintptr_t)value;
}
