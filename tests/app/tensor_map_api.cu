// Compares what the calls for tensor maps give, and copies windows out of shared memory; prints how many comparisons failed.
#include "app_same.h"

#include <cuda.h>
#include <stdint.h>

// Images of 2 pixels by 3 with 4 channels.
enum { C = 4, W = 3, H = 2, N = 2 };

// The parameters of a map, which each comparison changes in one place.
struct parameters {
    CUtensorMapDataType type = CU_TENSOR_MAP_DATA_TYPE_INT32;
    unsigned rank = 4;
    uintptr_t address;
    cuuint64_t extents[5] = {C, W, H, N, 1}, strides[4] = {C * 4, W * C * 4, H * W * C * 4, N *H *W *C * 4};
    cuuint32_t box[5] = {C, 1, 1, 1, 1}, steps[5] = {1, 1, 1, 1, 1};
    int lower[3] = {-1, -1, 0}, upper[3] = {1, 1, 0};
    unsigned channels = C, pixels = 8;
    CUtensorMapInterleave interleave = CU_TENSOR_MAP_INTERLEAVE_NONE;
    CUtensorMapSwizzle swizzle = CU_TENSOR_MAP_SWIZZLE_NONE;
    CUtensorMapL2promotion promotion = CU_TENSOR_MAP_L2_PROMOTION_NONE;
    CUtensorMapFloatOOBfill fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE;
};

static decltype(&cuTensorMapEncodeTiled) encode_tiled;
static decltype(&cuTensorMapEncodeIm2col) encode_windows;
static int *x;
static CUtensorMap map;

template <class Change> static CUresult tiles(Change change)
{
    parameters p;
    p.address = (uintptr_t)x;
    change(p);
    return encode_tiled(&map, p.type, p.rank, (void *)p.address, p.extents, p.strides, p.box, p.steps, p.interleave, p.swizzle, p.promotion, p.fill);
}

template <class Change> static CUresult windows(Change change)
{
    parameters p;
    p.address = (uintptr_t)x;
    change(p);
    return encode_windows(&map, p.type, p.rank, (void *)p.address, p.extents, p.strides, p.lower, p.upper, p.channels, p.pixels, p.steps, p.interleave,
                          p.swizzle, p.promotion, p.fill);
}

#define OF(kind, change, result) SAME(kind([](parameters &p) { (void)p, change; }), result)
#define BOTH(change, result)                                                                       \
    do {                                                                                           \
        OF(tiles, change, result);                                                                 \
        OF(windows, change, result);                                                               \
    } while (0)
#define WRONG CUDA_ERROR_INVALID_VALUE
#define MISSING CUDA_ERROR_NOT_SUPPORTED

static void limits()
{
    BOTH((void)0, CUDA_SUCCESS);
    BOTH(p.promotion = CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CUDA_SUCCESS);
    BOTH(p.swizzle = CU_TENSOR_MAP_SWIZZLE_32B, CUDA_SUCCESS);
    OF(windows, (p.rank = 3, p.lower[0] = -32768, p.upper[0] = 32767), CUDA_SUCCESS);
    OF(windows, (p.rank = 5, p.lower[2] = -16, p.upper[2] = 15), CUDA_SUCCESS);
    OF(windows, p.pixels = 1024, CUDA_SUCCESS);

    BOTH(p.address += 4, WRONG);
    BOTH(p.extents[1] = 0, WRONG);
    BOTH((p.extents[1] = INT64_MAX, p.lower[0] = 0, p.upper[0] = 1), WRONG);
    BOTH(p.strides[0] = 24, WRONG);
    BOTH(p.steps[1] = 9, WRONG);
    BOTH(p.type = (CUtensorMapDataType)99, WRONG);
    BOTH(p.interleave = (CUtensorMapInterleave)3, WRONG);
    BOTH(p.swizzle = (CUtensorMapSwizzle)7, WRONG);
    BOTH(p.promotion = (CUtensorMapL2promotion)4, WRONG);
    BOTH(p.fill = (CUtensorMapFloatOOBfill)2, WRONG);
    BOTH(p.fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA, WRONG); // of integers
    BOTH(p.interleave = CU_TENSOR_MAP_INTERLEAVE_32B, WRONG);                // without its swizzle
    BOTH((p.interleave = CU_TENSOR_MAP_INTERLEAVE_32B, p.swizzle = CU_TENSOR_MAP_SWIZZLE_32B), WRONG); // strides of 16 bytes
    OF(tiles, (p.interleave = CU_TENSOR_MAP_INTERLEAVE_16B, p.rank = 2), WRONG);
    OF(tiles, p.box[0] = 257, WRONG);
    OF(windows, p.channels = 257, WRONG);
    OF(windows, p.channels = 0, WRONG);
    OF(windows, p.channels = 3, WRONG); // 12 bytes
    OF(windows, (p.channels = 16, p.swizzle = CU_TENSOR_MAP_SWIZZLE_32B), WRONG);
    OF(windows, p.pixels = 1025, WRONG);
    OF(windows, p.pixels = 0, WRONG);
    OF(windows, p.lower[1] = -129, WRONG);
    OF(windows, p.upper[0] = 128, WRONG);
    OF(windows, (p.rank = 5, p.lower[2] = -17), WRONG);
    OF(windows, (p.lower[0] = 2, p.upper[0] = -1), WRONG); // no place
    OF(windows, p.rank = 2, WRONG);
    OF(windows, p.rank = 6, WRONG);

    BOTH(p.interleave = CU_TENSOR_MAP_INTERLEAVE_16B, MISSING);
    BOTH((p.interleave = CU_TENSOR_MAP_INTERLEAVE_32B, p.swizzle = CU_TENSOR_MAP_SWIZZLE_32B, p.strides[0] = p.strides[1] = 32), MISSING);
    BOTH((p.type = CU_TENSOR_MAP_DATA_TYPE_FLOAT32, p.fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA), MISSING);
    BOTH(p.type = CU_TENSOR_MAP_DATA_TYPE_TFLOAT32, MISSING);
    BOTH(p.swizzle = CU_TENSOR_MAP_SWIZZLE_128B_ATOM_32B, MISSING);
}

__device__ unsigned shared_address(const void *p)
{
    return (unsigned)__cvta_generic_to_shared(p);
}

// Writes 8 pixels, from the place (w, h) of the first image on; each channel gets the number of its pixel.
__global__ void scatter(const __grid_constant__ CUtensorMap to, int w, int h)
{
    __shared__ alignas(128) int pixels[8][C];
    pixels[threadIdx.x / C][threadIdx.x % C] = 1 + threadIdx.x / C;
    asm volatile("fence.proxy.async.shared::cta;");
    __syncthreads();
    if (threadIdx.x == 0) {
        asm volatile("cp.async.bulk.tensor.4d.global.shared::cta.im2col_no_offs.bulk_group [%0, {%1, %2, %3, %4}], [%5];" ::"l"(&to), "r"(0), "r"(w),
                     "r"(h), "r"(0), "r"(shared_address(pixels))
                     : "memory");
        asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;" ::: "memory");
    }
}

// The box goes from the first pixel of a row to the last one, without the last row.
static void stores()
{
    int got[N][H][W][C];
    CHECK(cudaMemset(x, 0, sizeof got));
    OF(windows, (p.lower[0] = p.lower[1] = p.upper[0] = 0, p.upper[1] = -1), CUDA_SUCCESS);
    scatter<<<1, 8 * C>>>(map, 1, 0);
    CHECK(cudaMemcpy(got, x, sizeof got, cudaMemcpyDeviceToHost));
    const int wanted[N][H][W] = {{{0, 1, 2}, {0, 0, 0}}, {{3, 4, 5}, {0, 0, 0}}}; // the others are outside
    for (int i = 0; i < N * H * W * C; i++)
        SAME((&got[0][0][0][0])[i], (&wanted[0][0][0])[i / C]);
}

int main(int argc, char **argv)
{
    cudaDriverEntryPointQueryResult found;
    CHECK(cudaMalloc(&x, N * H * W * C * sizeof(int)));
    CHECK(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", (void **)&encode_tiled, 12000, cudaEnableDefault, &found));
    CHECK(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeIm2col", (void **)&encode_windows, 12000, cudaEnableDefault, &found));
    if (argc > 1) { // a copy of windows by a map of tiles
        tiles([](parameters &p) { (void)p; });
        scatter<<<1, 8 * C>>>(map, 0, 0);
        return cudaDeviceSynchronize() == cudaSuccess;
    }
    stores();
    limits();
    CHECK(cudaFree(x));
    printf("%d of %d failed\n", failed, compared);
    return failed != 0;
}
