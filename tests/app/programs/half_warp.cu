// warp-sync: half of a warp stores the fragment of a matrix, which all of its lanes must store.
#include "app_check.h"

#include <mma.h>

using namespace nvcuda;

template <int LANES> __global__ void square(const half *a, float *c)
{
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> rows;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> columns;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
    wmma::fill_fragment(sum, 0.0f);
    wmma::load_matrix_sync(rows, a, 16);
    wmma::load_matrix_sync(columns, a, 16);
    wmma::mma_sync(sum, rows, columns, sum);
    if (threadIdx.x < LANES)
        wmma::store_matrix_sync(c, sum, 16, wmma::mem_row_major);
}

int main(int argc, char **argv)
{
    const int n = 256;
    half *a, ones[n];
    float *c, first;
    for (int i = 0; i < n; i++)
        ones[i] = __float2half(1);
    CHECK(cudaMalloc(&a, sizeof ones));
    CHECK(cudaMalloc(&c, n * sizeof(float)));
    CHECK(cudaMemcpy(a, ones, sizeof ones, cudaMemcpyHostToDevice));
    if (is_broken(argc, argv))
        square<16><<<1, 32>>>(a, c);
    else
        square<32><<<1, 32>>>(a, c);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(&first, c, sizeof first, cudaMemcpyDeviceToHost));
    EXPECT(first == 16);
    CHECK(cudaFree(a));
    CHECK(cudaFree(c));
    return 0;
}
