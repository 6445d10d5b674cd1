// race: tiles in shared memory are multiplied by wmma before all warps have stored theirs.
#include "app_check.h"

#include <mma.h>

using namespace nvcuda;

template <bool WAITS> __global__ void product(const half *a, const half *b, float *c, int n)
{
    __shared__ half tile_a[32][16], tile_b[16][32];
    int warp = threadIdx.x / 32, row = warp / 2 * 16, column = warp % 2 * 16;
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> fb;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
    wmma::fill_fragment(sum, 0.0f);
    for (int k = 0; k < n; k += 16) {
        for (int i = threadIdx.x; i < 512; i += blockDim.x) {
            tile_a[i / 16][i % 16] = a[(blockIdx.y * 32 + i / 16) * n + k + i % 16];
            tile_b[i / 32][i % 32] = b[(k + i / 32) * n + blockIdx.x * 32 + i % 32];
        }
        if (WAITS)
            __syncthreads();
        wmma::load_matrix_sync(fa, &tile_a[row][0], 16);
        wmma::load_matrix_sync(fb, &tile_b[0][column], 32);
        wmma::mma_sync(sum, fa, fb, sum);
        __syncthreads();
    }
    float *to = c + (blockIdx.y * 32 + row) * n + blockIdx.x * 32 + column;
    wmma::store_matrix_sync(to, sum, n, wmma::mem_row_major);
}

int main(int argc, char **argv)
{
    const int n = 64;
    static half ha[n * n], hb[n * n];
    static float got[n * n];
    half *a, *b;
    float *c;
    for (int i = 0; i < n * n; i++) {
        ha[i] = __float2half((float)(i % 7) - 3);
        hb[i] = __float2half((float)(i % 5) - 2);
    }
    CHECK(cudaMalloc(&a, sizeof ha));
    CHECK(cudaMalloc(&b, sizeof hb));
    CHECK(cudaMalloc(&c, sizeof got));
    CHECK(cudaMemcpy(a, ha, sizeof ha, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(b, hb, sizeof hb, cudaMemcpyHostToDevice));
    if (is_broken(argc, argv))
        product<false><<<dim3(2, 2), 128>>>(a, b, c, n);
    else
        product<true><<<dim3(2, 2), 128>>>(a, b, c, n);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(got, c, sizeof got, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(a));
    CHECK(cudaFree(b));
    CHECK(cudaFree(c));
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            float want = 0;
            for (int k = 0; k < n; k++)
                want += (float)((i * n + k) % 7 - 3) * (float)((k * n + j) % 5 - 2);
            EXPECT(is_broken(argc, argv) || got[i * n + j] == want);
        }
    return 0;
}
