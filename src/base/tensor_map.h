/* A tensor map: the description of an array in global memory that Hopper's copy engine reads, for
 * copies of boxes (cp.async.bulk.tensor). The fields are those of cuTensorMapEncodeTiled without
 * interleaving, with out-of-bounds elements read as zero. CUDA Driver API, "Tensor Map Object
 * Management".
 *
 * A GPU's driver has an encoding of its own; the simulator reads the one of this file. */
#ifndef TW_TENSOR_MAP_H
#define TW_TENSOR_MAP_H

#include "base/dtype.h"
#include "base/view_map.h"

enum { TENSOR_MAP_AXES = 5, TENSOR_MAP_BYTES = 128, TENSOR_MAP_ALIGNMENT = 64 };

/* The bits of a shared address that are XORed into the number of a 16-byte piece: none, or as
 * many as make a pattern of this width. */
enum tensor_swizzle { SWIZZLE_NONE, SWIZZLE_32B, SWIZZLE_64B, SWIZZLE_128B, SWIZZLE_COUNT };

/* Returns the bytes of a row of the pattern: 32, 64, 128; 16 without a swizzle. */
static inline unsigned tensor_swizzle_span(enum tensor_swizzle s)
{
    return 16u << s;
}

/* Returns the shared address at which the copy engine puts the byte that belongs at `address`:
 * bits 4 and up are XORed with bits 7 and up. */
static inline uint64_t tensor_swizzled(enum tensor_swizzle s, uint64_t address)
{
    return address ^ ((address >> 7 & ((1u << s) - 1)) << 4);
}

/* Axis 0 is the innermost one, whose elements are neighbours. */
struct tensor_map {
    uint64_t address; /* in global memory */
    enum dtype type;
    int rank;                          /* 1 to 5 */
    uint64_t extents[TENSOR_MAP_AXES]; /* elements */
    uint64_t strides[TENSOR_MAP_AXES]; /* bytes; that of axis 0 is not read */
    uint32_t box[TENSOR_MAP_AXES];     /* elements that a copy takes, before its steps */
    uint32_t steps[TENSOR_MAP_AXES];   /* each step-th element is taken; axis 0 takes all */
    enum tensor_swizzle swizzle;
};

/* The windows of a convolution (cuTensorMapEncodeIm2col): a copy takes box[0] channels of `pixels` places,
 * which follow each other along the axes 1 to rank - 2 in steps, within a box that begins `lower`
 * elements after the first element of the array and ends `upper` elements after the last one. `box` is 1
 * along the other axes. */
struct tensor_window {
    uint16_t pixels; /* 0: the map is one of tiles */
    int16_t lower[TENSOR_MAP_AXES - 2], upper[TENSOR_MAP_AXES - 2];
};
/* The place of the windows in the bytes of a map, after those of tensor_map_encode, which sets them to
 * 0. */
enum { TENSOR_WINDOW_AT = 112 };

enum { TENSOR_MAP_MESSAGE = 160 };
/* Returns true if the copy engine takes the map. Otherwise writes a message that names the field
 * and its limit into `why` (TENSOR_MAP_MESSAGE bytes). */
bool tensor_map_check(const struct tensor_map *map, char why[TENSOR_MAP_MESSAGE]);

/* Writes a map that tensor_map_check takes as TENSOR_MAP_BYTES bytes, for the simulator. */
void tensor_map_encode(const struct tensor_map *map, uint8_t *bytes);
/* Reads such bytes. Returns false if they are none. */
bool tensor_map_decode(const uint8_t *bytes, struct tensor_map *map);

/* Returns the driver's number of a type of elements, a CUtensorMapDataType; -1: it has none. */
int tensor_map_type(enum dtype t);
/* Returns the map that a launch asks for; its elements are of type t. */
struct tensor_map tensor_map_of(const struct map_request *r, enum dtype t);

/* Returns the number of elements that a copy takes along an axis. */
static inline uint32_t tensor_map_count(const struct tensor_map *map, int axis)
{
    return axis ? (map->box[axis] + map->steps[axis] - 1) / map->steps[axis] : map->box[0];
}
/* Returns the bytes that a copy writes to, or reads from, shared memory. */
uint64_t tensor_map_box_bytes(const struct tensor_map *map);

#endif
