// A kernel reads outside of its array, or at an address that is no multiple of the element; what the next calls give.
#include <cstdio>
#include <cstring>

__global__ void copy(const int *from, int *to)
{
    to[threadIdx.x] = *from;
}

int main(int argc, char **argv)
{
    enum { N = 32 };
    int *x, *y;
    char *from;
    bool outside = argc > 1 && strcmp(argv[1], "outside") == 0;
    cudaMalloc(&x, N * sizeof(int));
    cudaMalloc(&y, N * sizeof(int));
    cudaMemset(x, 0, N * sizeof(int));
    from = (char *)x + (outside ? N * sizeof(int) : 1);
    copy<<<1, N>>>((const int *)from, y);
    copy<<<1, N>>>(x, y);
    cudaError_t first = cudaDeviceSynchronize(), second = cudaMemset(y, 0, sizeof(int)), third = cudaStreamSynchronize(0);
    printf("%s %s %s\n", cudaGetErrorName(first), cudaGetErrorName(second), cudaGetErrorName(third));
    return 0;
}
