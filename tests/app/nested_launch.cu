// A kernel that launches a kernel; another kernel of the program runs all the same.
#include <cstdio>

__global__ void set(int *x)
{
    x[threadIdx.x] = 7;
}

__global__ void parent(int *x)
{
    if (threadIdx.x == 0)
        set<<<1, 32>>>(x);
}

int main()
{
    int *x, got = 0;
    cudaMalloc(&x, 32 * sizeof(int));
    set<<<1, 32>>>(x);
    cudaMemcpy(&got, x, sizeof got, cudaMemcpyDeviceToHost);
    parent<<<1, 32>>>(x);
    printf("%d %s\n", got, cudaGetErrorName(cudaGetLastError()));
    return 0;
}
