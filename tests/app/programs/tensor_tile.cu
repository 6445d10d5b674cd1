// async-race (compute_90): a block reads a tile of the copy engine without waiting for its mbarrier.
#include "app_check.h"

#include <cuda.h>
#include <stdint.h>

enum { SIDE = 32, TILE = 16 };

__device__ unsigned shared_address(const void *p)
{
    return (unsigned)__cvta_generic_to_shared(p);
}

// Sums each row of a tile, which one thread copies by the tensor map.
__global__ void sum_rows(const __grid_constant__ CUtensorMap map, int *sums, bool waits)
{
    __shared__ alignas(128) int tile[TILE][TILE];
    __shared__ alignas(8) uint64_t full;
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(&full)));
        asm volatile("fence.mbarrier_init.release.cluster;");
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(&full)),
                     "r"((unsigned)sizeof tile)
                     : "memory");
        asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
                     "[%0], [%1, {%2, %3}], [%4];" ::"r"(shared_address(tile)),
                     "l"(&map), "r"(blockIdx.x * TILE), "r"(blockIdx.y * TILE), "r"(shared_address(&full))
                     : "memory");
    }
    unsigned done = !waits;
    while (!done)
        asm volatile("{\n.reg .pred p;\n"
                     "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0;\n"
                     "selp.u32 %0, 1, 0, p;\n}"
                     : "=r"(done)
                     : "r"(shared_address(&full))
                     : "memory");
    int sum = 0;
    for (int i = 0; i < TILE; i++)
        sum += tile[threadIdx.x][i];
    sums[(blockIdx.y * gridDim.x + blockIdx.x) * TILE + threadIdx.x] = sum;
}

int main(int argc, char **argv)
{
    int *x, *sums, host[SIDE * SIDE], got[SIDE * SIDE / TILE];
    for (int i = 0; i < SIDE * SIDE; i++)
        host[i] = i % SIDE;
    CHECK(cudaMalloc(&x, sizeof host));
    CHECK(cudaMalloc(&sums, sizeof got));
    CHECK(cudaMemcpy(x, host, sizeof host, cudaMemcpyHostToDevice));
    void *entry;
    cudaDriverEntryPointQueryResult status;
    CHECK(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &entry, 12000, cudaEnableDefault, &status));
    CUtensorMap map;
    const cuuint64_t extents[] = {SIDE, SIDE}, strides[] = {SIDE * sizeof(int)};
    const cuuint32_t box[] = {TILE, TILE}, steps[] = {1, 1};
    CUresult encoded = ((decltype(&cuTensorMapEncodeTiled))entry)(
        &map, CU_TENSOR_MAP_DATA_TYPE_INT32, 2, x, extents, strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
        CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    sum_rows<<<dim3(2, 2), TILE>>>(map, sums, !is_broken(argc, argv));
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(got, sums, sizeof got, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(x));
    CHECK(cudaFree(sums));
    printf("%d %d %d\n", encoded, got[0], got[TILE]);
    return is_broken(argc, argv) || (got[0] == 120 && got[TILE] == 376) ? 0 : 2;
}
