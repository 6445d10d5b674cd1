// bad-tensor-map (compute_90): the rows of an array are not whole pieces of 16 bytes, which a tensor map needs.
#include "app_check.h"

#include <cuda.h>

int main(int argc, char **argv)
{
    enum { ROWS = 16, PITCH = 64 };
    unsigned char *x;
    CHECK(cudaMalloc(&x, ROWS * PITCH));
    void *encode, *replace;
    cudaDriverEntryPointQueryResult status;
    CHECK(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &encode, 12000, cudaEnableDefault, &status));
    CHECK(cudaGetDriverEntryPointByVersion("cuTensorMapReplaceAddress", &replace, 12000, cudaEnableDefault, &status));
    CUtensorMap map;
    const cuuint64_t extents[] = {30, ROWS}, strides[] = {is_broken(argc, argv) ? 30u : PITCH};
    const cuuint32_t box[] = {16, 4}, steps[] = {1, 1};
    CUresult result = ((decltype(&cuTensorMapEncodeTiled))encode)(
        &map, CU_TENSOR_MAP_DATA_TYPE_UINT8, 2, x, extents, strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
        CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    if (result == CUDA_SUCCESS)
        result = ((decltype(&cuTensorMapReplaceAddress))replace)(&map, x + PITCH);
    CHECK(cudaFree(x));
    printf("%d\n", result);
    return 0;
}
