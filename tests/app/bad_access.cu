// A kernel reads outside of its array, or at an address that is no multiple of the element, or ends itself; what the next calls give.
#include <cassert>
#include <cstdio>
#include <cstring>

__global__ void copy(const int *from, int *to)
{
    to[threadIdx.x] = *from;
}

__global__ void stop(const int *x, bool asserts)
{
    if (asserts)
        assert(*x == 1);
    else
        __trap();
}

int main(int argc, char **argv)
{
    enum { N = 32 };
    int *x, *y;
    char *from;
    const char *what = argc > 1 ? argv[1] : "";
    bool outside = strcmp(what, "outside") == 0, asserts = strcmp(what, "assert") == 0;
    cudaMalloc(&x, N * sizeof(int));
    cudaMalloc(&y, N * sizeof(int));
    cudaMemset(x, 0, N * sizeof(int));
    from = (char *)x + (outside ? N * sizeof(int) : 1);
    if (asserts || strcmp(what, "trap") == 0)
        stop<<<1, 1>>>(x, asserts);
    else
        copy<<<1, N>>>((const int *)from, y);
    copy<<<1, N>>>(x, y);
    cudaError_t first = cudaDeviceSynchronize(), second = cudaMemset(y, 0, sizeof(int)), third = cudaStreamSynchronize(0);
    printf("%s %s %s\n", cudaGetErrorName(first), cudaGetErrorName(second), cudaGetErrorName(third));
    return 0;
}
