// out-of-bounds: a kernel uses memory that was freed before it in the order of its stream.
#include "app_check.h"

__global__ void fill(int *x)
{
    x[threadIdx.x] = 7;
}

int main(int argc, char **argv)
{
    int *x;
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaMallocAsync(&x, 64 * sizeof(int), stream));
    if (is_broken(argc, argv))
        CHECK(cudaFreeAsync(x, stream));
    fill<<<1, 64, 0, stream>>>(x);
    if (!is_broken(argc, argv))
        CHECK(cudaFreeAsync(x, stream));
    cudaError_t error = cudaStreamSynchronize(stream);
    printf("%s\n", cudaGetErrorString(error));
    return 0;
}
