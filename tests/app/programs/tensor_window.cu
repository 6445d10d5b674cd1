// async-race, out-of-bounds (compute_90): a convolution reads the windows of a copy before it waits for the mbarrier, and images that do not exist.
#include "app_check.h"

#include <cuda.h>
#include <stdint.h>

// Images of W x H pixels with C channels; a filter of S x R; stride 2 along W, 1 along H; padding 1.
enum { N = 2, H = 5, W = 7, C = 4, R = 3, S = 3, STRIDE_W = 2, PADDING = 1, Q = (W + 2 * PADDING - S) / STRIDE_W + 1, P = H + 2 * PADDING - R + 1 };
enum { OUTPUTS = N * P * Q, PIXELS = 16, BLOCKS = (OUTPUTS + PIXELS - 1) / PIXELS };

__device__ unsigned shared_address(const void *p)
{
    return (unsigned)__cvta_generic_to_shared(p);
}

// Each thread sums the channels of one output over the filter, whose elements are all 1 + their number.
__global__ void convolve(const __grid_constant__ CUtensorMap map, int *y, bool waits)
{
    __shared__ alignas(128) int pixels[PIXELS][C];
    __shared__ alignas(8) uint64_t full;
    int first = blockIdx.x * PIXELS, sum = 0, phase = 0;
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(&full)));
        asm volatile("fence.mbarrier_init.release.cluster;");
    }
    __syncthreads();
    for (int r = 0; r < R; r++)
        for (int s = 0; s < S; s++, phase ^= 1) {
            if (threadIdx.x == 0) {
                int q = first % Q, p = first / Q % P, n = first / (P * Q);
                asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(&full)),
                             "r"((unsigned)sizeof pixels)
                             : "memory");
                asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes "
                             "[%0], [%1, {%2, %3, %4, %5}], [%6], {%7, %8};" ::"r"(shared_address(pixels)),
                             "l"(&map), "r"(0), "r"(q * STRIDE_W - PADDING), "r"(p - PADDING), "r"(n), "r"(shared_address(&full)),
                             "h"((short)s), "h"((short)r)
                             : "memory");
            }
            unsigned done = !waits;
            while (!done)
                asm volatile("{\n.reg .pred p;\n"
                             "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
                             "selp.u32 %0, 1, 0, p;\n}"
                             : "=r"(done)
                             : "r"(shared_address(&full)), "r"(phase)
                             : "memory");
            for (int c = 0; c < C; c++)
                sum += (1 + r * S + s) * pixels[threadIdx.x][c];
            __syncthreads();
        }
    if (first + threadIdx.x < OUTPUTS)
        y[first + threadIdx.x] = sum;
}

int main(int argc, char **argv)
{
    int *x, *y, host[N][H][W][C], got[OUTPUTS], wrong = 0;
    for (int i = 0; i < N * H * W * C; i++)
        host[0][0][0][i] = i % 97;
    CHECK(cudaMalloc(&x, sizeof host));
    CHECK(cudaMalloc(&y, sizeof got));
    CHECK(cudaMemcpy(x, host, sizeof host, cudaMemcpyHostToDevice));
    void *entry;
    cudaDriverEntryPointQueryResult status;
    CHECK(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeIm2col", &entry, 12000, cudaEnableDefault, &status));
    CUtensorMap map;
    cuuint64_t extents[] = {C, W, H, N};
    const cuuint64_t strides[] = {C * sizeof(int), W * C * sizeof(int), H * W * C * sizeof(int)};
    const int lower[] = {-PADDING, -PADDING}, upper[] = {PADDING - (S - 1), PADDING - (R - 1)};
    const cuuint32_t steps[] = {1, STRIDE_W, 1, 1};
    auto encode = [&] {
        return ((decltype(&cuTensorMapEncodeIm2col))entry)(
            &map, CU_TENSOR_MAP_DATA_TYPE_INT32, 4, x, extents, strides, lower, upper, C, PIXELS, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
            CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    };
    CUresult encoded = encode();
    convolve<<<BLOCKS, PIXELS>>>(map, y, !is_broken(argc, argv));
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(got, y, sizeof got, cudaMemcpyDeviceToHost));
    if (is_broken(argc, argv)) {
        extents[3] = N + 1;
        encode();
        convolve<<<BLOCKS, PIXELS>>>(map, y, true);
    }
    for (int i = 0; i < OUTPUTS; i++) {
        int sum = 0;
        for (int r = 0; r < R; r++)
            for (int s = 0; s < S; s++)
                for (int c = 0; c < C; c++) {
                    int n = i / (P * Q), h = i / Q % P + r - PADDING, w = i % Q * STRIDE_W + s - PADDING;
                    if (h >= 0 && h < H && w >= 0 && w < W)
                        sum += (1 + r * S + s) * host[n][h][w][c];
                }
        wrong += got[i] != sum;
    }
    CHECK(cudaFree(x));
    CHECK(cudaFree(y));
    printf("%d: %d of %d wrong\n", encoded, wrong, OUTPUTS);
    return is_broken(argc, argv) || !wrong ? 0 : 2;
}
