/* Tensor maps: the driver's limits, and the simulator's encoding. */
#include "fake_cuda.h"

#include "base/tensor_map.h"

#ifndef FAKE_CUDA_OLD

/* Returns the type of elements that a CUtensorMapDataType names; DT_COUNT: none. */
static enum dtype type_of(int number)
{
    static const enum dtype types[] = {DT_U8,  DT_U16, DT_U32, DT_I32, DT_U64,
                                       DT_I64, DT_F16, DT_F32, DT_F64, DT_BF16};
    return number >= 0 && number < (int)(sizeof types / sizeof *types) ? types[number] : DT_COUNT;
}

/* Takes only maps without interleaving, with any promotion to L2 and zeros beyond the edge. */
API int cuTensorMapEncodeTiled(void *code, int type, unsigned rank, uint64_t address,
                               const uint64_t *extents, const uint64_t *strides,
                               const unsigned *box, const unsigned *steps, int interleave,
                               int swizzle, int promotion, int fill)
{
    enum { PROMOTIONS = 4 };
    char why[TENSOR_MAP_MESSAGE];
    FAKE;
    struct tensor_map map = {.address = address,
                             .type = type_of(type),
                             .rank = (int)rank,
                             .swizzle = (enum tensor_swizzle)swizzle};
    if (!code || (uintptr_t)code % TENSOR_MAP_ALIGNMENT || !extents || !strides || !box || !steps ||
        interleave || promotion < 0 || promotion >= PROMOTIONS || fill || rank > TENSOR_MAP_AXES)
        return INVALID_VALUE;
    for (int axis = 0; axis < map.rank; axis++) {
        map.extents[axis] = extents[axis];
        map.strides[axis] = axis ? strides[axis - 1] : 0;
        map.box[axis] = box[axis];
        map.steps[axis] = steps[axis];
    }
    if (!tensor_map_check(&map, why))
        return INVALID_VALUE;
    tensor_map_encode(&map, code);
    return GOOD;
}

#endif
