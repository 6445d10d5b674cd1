/* Tensor maps as the driver encodes them: CUDA Driver API, "Tensor Map Object Management". */
#include "cuda/cuda_own.h"

#include "base/tensor_map.h"

#include <stdio.h>
#include <string.h>

_Static_assert(MAP_WORDS * sizeof(uint64_t) == TENSOR_MAP_BYTES, "a map has 128 bytes");

bool cuda_encode_map(const struct cuda_encoder *e, const struct tensor_map *map, int *result,
                     uint64_t code[MAP_WORDS])
{
    /* CUtensorMapInterleave, CUtensorMapL2promotion, CUtensorMapFloatOOBfill */
    enum { INTERLEAVE_NONE = 0, PROMOTE_256_BYTES = 3, FILL_ZEROS = 0 };
    _Alignas(MAP_ALIGNMENT) uint64_t made[MAP_WORDS] = {0};
    uint64_t spare[1] = {0}; /* a map of one axis has no strides */
    const uint64_t *strides = map->rank > 1 ? &map->strides[1] : spare;
    char problem[TENSOR_MAP_MESSAGE];
    *result = 0;
    if (!e->tensor_map || !tensor_map_check(map, problem))
        return false;
    *result = e->tensor_map(made, tensor_map_type(map->type), (unsigned)map->rank, map->address,
                            map->extents, strides, map->box, map->steps, INTERLEAVE_NONE,
                            (int)map->swizzle, PROMOTE_256_BYTES, FILL_ZEROS);
    memcpy(code, made, sizeof made);
    return *result == 0;
}

struct cuda_encoder cuda_encoder(const struct cuda *c)
{
    return (struct cuda_encoder){c->driver.tensor_map};
}

void cuda_say_map(struct cuda *c, const struct tensor_map *map, int result, char why[CUDA_WHY])
{
    char problem[TENSOR_MAP_MESSAGE];
    c->result = 0;
    if (!c->driver.tensor_map)
        snprintf(why, CUDA_WHY,
                 "it copies with tensor maps: those need a driver for CUDA 12.0 (it has no "
                 "cuTensorMapEncodeTiled)");
    else if (!tensor_map_check(map, problem))
        snprintf(why, CUDA_WHY, "%s", problem);
    else
        cuda_good(c, result, "encoding a tensor map", why);
}
