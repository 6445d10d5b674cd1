// stream-race: memory is freed in one stream while a kernel in another may still use it.
#include "app_check.h"

__global__ void fill(int *x)
{
    x[threadIdx.x] = 1;
}

int main(int argc, char **argv)
{
    bool broken = is_broken(argc, argv);
    int *x;
    cudaStream_t one, two;
    CHECK(cudaStreamCreate(&one));
    CHECK(cudaStreamCreate(&two));
    CHECK(cudaMallocAsync(&x, 64 * sizeof(int), one));
    CHECK(cudaStreamSynchronize(one));
    fill<<<1, 64, 0, two>>>(x);
    if (!broken)
        CHECK(cudaStreamSynchronize(two));
    CHECK(cudaFreeAsync(x, one));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaStreamDestroy(one));
    CHECK(cudaStreamDestroy(two));
    printf("freed\n");
    return 0;
}
