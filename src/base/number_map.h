/* A hash table in an arena whose keys are numbers or host addresses. */
#ifndef TW_NUMBER_MAP_H
#define TW_NUMBER_MAP_H

#include "base/arena.h"

struct number_entry {
    uint64_t key, value;
    bool used;
};

/* All zeros: empty. */
struct number_map {
    struct number_entry *entries; /* open addressing; at most half of them are used */
    size_t count, capacity;
};

/* Returns NULL if the map has no such key. */
struct number_entry *number_map_find(const struct number_map *map, uint64_t key);
/* Returns the entry of the key. If the map did not have it, sets *added, and the value is 0. The
 * entry stays in place until the next key is added. */
struct number_entry *number_map_entry(struct arena *a, struct number_map *map, uint64_t key,
                                      bool *added);
/* Adds the object to a set of objects. Returns false if the set has it already. */
bool number_map_add_object(struct arena *a, struct number_map *set, const void *object);

#endif
