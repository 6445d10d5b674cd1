// race: a product by tiles in shared memory, whose threads write the next tiles while others read these; `clean N`: of N x N values.
#include "app_check.h"

#include <sys/resource.h>

enum { TILE = 16 };

__global__ void clear(float *c)
{
    *c = 0;
}

template <bool BARRIER> __global__ void product(const float *a, const float *b, float *c, int n)
{
    __shared__ float a_tile[TILE][TILE], b_tile[TILE][TILE];
    int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * TILE + y, column = blockIdx.x * TILE + x;
    float sum = 0;
    for (int k = 0; k < n; k += TILE) {
        a_tile[y][x] = a[row * n + k + x];
        b_tile[y][x] = b[(k + y) * n + column];
        __syncthreads();
        for (int i = 0; i < TILE; i++)
            sum += a_tile[y][i] * b_tile[i][x];
        if (BARRIER)
            __syncthreads();
    }
    c[row * n + column] = sum;
}

int main(int argc, char **argv)
{
    const int n = argc > 2 ? atoi(argv[2]) : 2 * TILE;
    const size_t bytes = (size_t)n * n * sizeof(float);
    float *a, *b, *c, got = 0;
    CHECK(cudaMalloc(&a, bytes));
    CHECK(cudaMalloc(&b, bytes));
    CHECK(cudaMalloc(&c, bytes));
    CHECK(cudaMemset(a, 0, bytes));
    CHECK(cudaMemset(b, 0, bytes));
    clear<<<1, 1>>>(c);
    if (is_broken(argc, argv))
        product<false><<<dim3(n / TILE, n / TILE), dim3(TILE, TILE)>>>(a, b, c, n);
    else
        product<true><<<dim3(n / TILE, n / TILE), dim3(TILE, TILE)>>>(a, b, c, n);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(&got, c, sizeof got, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(a));
    CHECK(cudaFree(b));
    CHECK(cudaFree(c));
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("%g, with at most %ld KiB\n", got, usage.ru_maxrss);
    return 0;
}
