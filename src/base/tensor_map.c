/* Limits of tensor maps: CUDA Driver API, cuTensorMapEncodeTiled. */
#include "base/tensor_map.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define MOST_EXTENT (UINT64_C(1) << 32)
#define STRIDE_END (UINT64_C(1) << 40)
enum { ALIGNMENT = 16, MOST_BOX = 256, MOST_STEP = 8 };

#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
static bool
refuse(char *why, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(why, TENSOR_MAP_MESSAGE, format, args);
    va_end(args);
    return false;
}

static bool check_whole(const struct tensor_map *map, char *why)
{
    if (map->rank < 1 || map->rank > TENSOR_MAP_AXES)
        return refuse(why, "a tensor map has 1 to %d axes, not %d", TENSOR_MAP_AXES, map->rank);
    if ((unsigned)map->type >= DT_COUNT || map->type == DT_BOOL)
        return refuse(why, "a tensor map needs a type of numbers for its elements");
    if ((unsigned)map->swizzle >= SWIZZLE_COUNT)
        return refuse(why, "a swizzle is one of none, 32, 64 and 128 bytes");
    if (map->address % ALIGNMENT)
        return refuse(why, "the array's address 0x%llx is not a multiple of %d bytes",
                      (unsigned long long)map->address, ALIGNMENT);
    return true;
}

static bool check_axis(const struct tensor_map *map, int axis, char *why)
{
    unsigned long long extent = map->extents[axis], stride = map->strides[axis];
    if (!extent || extent > MOST_EXTENT)
        return refuse(why, "the extent of axis %d is %llu: 1 to %llu elements", axis, extent,
                      (unsigned long long)MOST_EXTENT);
    if (axis && stride % ALIGNMENT)
        return refuse(why, "the stride of axis %d, %llu bytes, is not a multiple of %d", axis,
                      stride, ALIGNMENT);
    if (axis && stride >= STRIDE_END)
        return refuse(why, "the stride of axis %d is %llu bytes: less than %llu", axis, stride,
                      (unsigned long long)STRIDE_END);
    if (!map->box[axis] || map->box[axis] > MOST_BOX)
        return refuse(why, "the box has %u elements along axis %d: 1 to %d", map->box[axis], axis,
                      MOST_BOX);
    if (axis && (!map->steps[axis] || map->steps[axis] > MOST_STEP))
        return refuse(why, "the step along axis %d is %u elements: 1 to %d", axis, map->steps[axis],
                      MOST_STEP);
    return true;
}

bool tensor_map_check(const struct tensor_map *map, char why[TENSOR_MAP_MESSAGE])
{
    if (!check_whole(map, why))
        return false;
    for (int axis = 0; axis < map->rank; axis++)
        if (!check_axis(map, axis, why))
            return false;
    uint64_t row = map->box[0] * dtype_size(map->type);
    if (row % ALIGNMENT)
        return refuse(why, "the box has %llu bytes along axis 0, not a multiple of %d",
                      (unsigned long long)row, ALIGNMENT);
    if (map->swizzle != SWIZZLE_NONE && row > tensor_swizzle_span(map->swizzle))
        return refuse(why, "the box has %llu bytes along axis 0, and the swizzle at most %u",
                      (unsigned long long)row, tensor_swizzle_span(map->swizzle));
    return true;
}

uint64_t tensor_map_box_bytes(const struct tensor_map *map)
{
    uint64_t bytes = dtype_size(map->type);
    for (int axis = 0; axis < map->rank; axis++)
        bytes *= tensor_map_count(map, axis);
    return bytes;
}

int tensor_map_type(enum dtype t)
{
    switch (t) { /* cuda.h. A copy keeps all bits, so one number serves several types. */
    case DT_BOOL:
    case DT_I8:
    case DT_U8:
    case DT_E4M3:
    case DT_E5M2: return 0;
    case DT_I16:
    case DT_U16: return 1;
    case DT_U32: return 2;
    case DT_I32: return 3;
    case DT_U64: return 4;
    case DT_I64: return 5;
    case DT_F16: return 6;
    case DT_F32:
    case DT_TF32: return 7;
    case DT_F64: return 8;
    case DT_BF16: return 9;
    case DT_COUNT:
    case DT_NONE: break;
    }
    return -1;
}

struct tensor_map tensor_map_of(const struct map_request *r, enum dtype t)
{
    struct tensor_map map = {.address = r->address,
                             .type = t == DT_BOOL ? DT_U8 : t,
                             .rank = r->rank,
                             .swizzle = (enum tensor_swizzle)r->swizzle};
    for (int axis = 0; axis < r->rank && axis < TENSOR_MAP_AXES; axis++) {
        map.extents[axis] = r->extent[axis];
        map.strides[axis] = r->stride[axis];
        map.box[axis] = r->box[axis];
        map.steps[axis] = 1;
    }
    return map;
}

/* --- the simulator's encoding --- */

static const char mark[8] = "tw-map1";

struct encoded {
    char mark[8];
    uint64_t address, strides[TENSOR_MAP_AXES];
    uint32_t last[TENSOR_MAP_AXES]; /* extents less 1 */
    uint16_t box[TENSOR_MAP_AXES];
    uint8_t steps[TENSOR_MAP_AXES], type, rank, swizzle;
};
_Static_assert(sizeof(struct encoded) <= TENSOR_WINDOW_AT, "the windows come after the map");
_Static_assert(TENSOR_WINDOW_AT + sizeof(struct tensor_window) <= TENSOR_MAP_BYTES,
               "a map has 128 bytes");

void tensor_map_encode(const struct tensor_map *map, uint8_t *bytes)
{
    struct encoded e;
    memset(&e, 0, sizeof e);
    memcpy(e.mark, mark, sizeof mark);
    e.address = map->address;
    e.type = (uint8_t)map->type;
    e.rank = (uint8_t)map->rank;
    e.swizzle = (uint8_t)map->swizzle;
    for (int axis = 0; axis < map->rank; axis++) {
        e.strides[axis] = map->strides[axis];
        e.last[axis] = (uint32_t)(map->extents[axis] - 1);
        e.box[axis] = (uint16_t)map->box[axis];
        e.steps[axis] = (uint8_t)map->steps[axis];
    }
    memset(bytes, 0, TENSOR_MAP_BYTES);
    memcpy(bytes, &e, sizeof e);
}

bool tensor_map_decode(const uint8_t *bytes, struct tensor_map *map)
{
    struct encoded e;
    char why[TENSOR_MAP_MESSAGE];
    memcpy(&e, bytes, sizeof e);
    if (memcmp(e.mark, mark, sizeof mark) != 0)
        return false;
    *map = (struct tensor_map){.address = e.address,
                               .type = (enum dtype)e.type,
                               .rank = e.rank,
                               .swizzle = (enum tensor_swizzle)e.swizzle};
    for (int axis = 0; axis < TENSOR_MAP_AXES && axis < e.rank; axis++) {
        map->strides[axis] = e.strides[axis];
        map->extents[axis] = (uint64_t)e.last[axis] + 1;
        map->box[axis] = e.box[axis];
        map->steps[axis] = e.steps[axis];
    }
    return tensor_map_check(map, why);
}
