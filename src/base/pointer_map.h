/* A map from pointers to pointers, which lives in an arena. */
#ifndef TW_POINTER_MAP_H
#define TW_POINTER_MAP_H

#include "base/number_map.h"

struct pointer_map {
    struct number_map numbers;
};
void *pointer_map_get(const struct pointer_map *m, const void *key); /* NULL: none */
void pointer_map_put(struct arena *a, struct pointer_map *m, const void *key, void *value);

#endif
