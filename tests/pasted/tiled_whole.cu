#include <cuda_runtime.h>
#include <stdio.h>
#define BLOCK 16

// Sizes are multiples of BLOCK.
extern "C" __global__ void __launch_bounds__(256)
matmul(float *C, const float *A, const float *B, int N)
{
    __shared__ float As[BLOCK][BLOCK], Bs[BLOCK][BLOCK];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const unsigned int row = blockIdx.y * blockDim.y + ty;
    const unsigned int col = blockIdx.x * blockDim.x + tx;
    float acc = 0.f;
    for (int m = 0; m < N / BLOCK; m++) {
        As[ty][tx] = A[row * N + (m * BLOCK + tx)];
        Bs[ty][tx] = B[(m * BLOCK + ty) * N + col];
        __syncthreads();
#pragma unroll
        for (int k = 0; k < BLOCK; k++)
            acc = fmaf(As[ty][k], Bs[k][tx], acc);
        __syncthreads();
    }
    if (row < N && col < N)
        C[row * N + col] = acc;
}
