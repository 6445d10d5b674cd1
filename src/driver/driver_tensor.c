/* Tensor maps: the driver describes an array for Hopper's copy engine in 128 bytes, whose layout is the
 * driver's own (base/tensor_map.h has that of the simulator). */
#include "driver/driver.h"

#include "base/tensor_map.h"

#include <string.h>

/* The numbers of CUtensorMapDataType whose elements are copied bit by bit. */
static const enum dtype types[] = {DT_U8,  DT_U16, DT_U32, DT_I32, DT_U64,
                                   DT_I64, DT_F16, DT_F32, DT_F64, DT_BF16};
enum { TYPES = sizeof types / sizeof types[0] };

/* Returns the first thing of a map that the simulator does not have; NULL: it has all. */
static const char *not_modelled(int type, int interleave, int swizzle, int fill)
{
    if (type >= TYPES)
        return "a tensor map of FLOAT32_FTZ, TFLOAT32 or 4-bit or 6-bit elements is not simulated; "
               "FLOAT32 and UINT8 copy the same bits";
    if (interleave)
        return "an interleaved tensor map is not simulated; use CU_TENSOR_MAP_INTERLEAVE_NONE";
    if (swizzle >= SWIZZLE_COUNT)
        return "a tensor map's swizzle of pieces larger than 16 bytes is not simulated; use "
               "CU_TENSOR_MAP_SWIZZLE_128B";
    return fill ? "a tensor map that reads NaN outside of its array is not simulated; use "
                  "CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE"
                : NULL;
}

struct encode_call {
    struct tensor_map map;
    void *to;
};

/* Reports a map that the copy engine would not take: the real driver says only "invalid value". */
static int encode(void *user)
{
    const struct encode_call *call = user;
    char why[TENSOR_MAP_MESSAGE];
    bool misaligned = (uintptr_t)call->to % TENSOR_MAP_ALIGNMENT;
    if (misaligned || !tensor_map_check(&call->map, why)) {
        driver_refuse("bad-tensor-map", driver_memory_at(call->map.address),
                      misaligned ? "a tensor map has to be aligned to 64 bytes"
                                 : arena_string(&driver.arena, why, strlen(why)));
        return DRIVER_INVALID_VALUE;
    }
    tensor_map_encode(&call->map, call->to);
    return DRIVER_SUCCESS;
}

int cuTensorMapEncodeTiled(void *map, int type, unsigned rank, void *address,
                           const uint64_t *extents, const uint64_t *strides, const unsigned *box,
                           const unsigned *steps, int interleave, int swizzle, int promotion,
                           int fill)
{
    ENTER;
    (void)promotion; /* of L2, for speed alone */
    if (!map || !extents || (rank > 1 && !strides) || !box || !steps || type < 0 || rank < 1 ||
        rank > TENSOR_MAP_AXES)
        return DRIVER_INVALID_VALUE;
    int result = driver_prepare();
    const char *why = not_modelled(type, interleave, swizzle, fill);
    if (result != DRIVER_SUCCESS || why)
        return why ? driver_unsupported(why) : result;
    struct encode_call call = {.to = map,
                               .map = {.address = (uintptr_t)address,
                                       .type = types[type],
                                       .rank = (int)rank,
                                       .swizzle = (enum tensor_swizzle)swizzle}};
    for (unsigned i = 0; i < rank; i++) {
        call.map.extents[i] = extents[i];
        call.map.strides[i] = i ? strides[i - 1] : 0;
        call.map.box[i] = box[i];
        call.map.steps[i] = steps[i];
    }
    return driver_guard(encode, &call);
}

int cuTensorMapReplaceAddress(void *map, void *address)
{
    ENTER;
    struct encode_call call = {.to = map};
    if (!map || !tensor_map_decode(map, &call.map) || driver_prepare() != DRIVER_SUCCESS)
        return DRIVER_INVALID_VALUE;
    call.map.address = (uintptr_t)address;
    return driver_guard(encode, &call);
}
