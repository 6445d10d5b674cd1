// Calls a function of the device that no object file has: nvcc links the PTX of such a program, and a GPU's driver refuses it.
#include <cstdio>

extern __device__ int twice(int x);

__global__ void fill(int *x)
{
    *x = twice(threadIdx.x + 4);
}

int main()
{
    int *x;
    if (cudaMalloc(&x, sizeof *x))
        return 2;
    fill<<<1, 1>>>(x);
    printf("%d\n", cudaGetLastError());
    return 0;
}
