/* A map from pointers to pointers. */
#include "lower/lower_state.h"

void *map_get(const struct map *m, const void *key)
{
    const struct number_entry *found = number_map_find(&m->numbers, (uintptr_t)key);
    return found ? (void *)(uintptr_t)found->value : NULL;
}

void map_put(struct arena *a, struct map *m, const void *key, void *value)
{
    bool added;
    number_map_entry(a, &m->numbers, (uintptr_t)key, &added)->value = (uintptr_t)value;
}
