// stream-race: the default stream clears an array, and a stream that does not wait for it adds to the array.
#include "app_check.h"

__global__ void add(int *x)
{
    x[threadIdx.x] += threadIdx.x;
}

int main(int argc, char **argv)
{
    int *x, got[2];
    cudaStream_t other;
    CHECK(cudaMalloc(&x, 32 * sizeof(int)));
    CHECK(cudaStreamCreateWithFlags(&other, is_broken(argc, argv) ? cudaStreamNonBlocking : cudaStreamDefault));
    CHECK(cudaMemset(x, 0, 32 * sizeof(int)));
    add<<<1, 32, 0, other>>>(x);
    CHECK(cudaGetLastError());
    CHECK(cudaStreamSynchronize(other));
    CHECK(cudaMemcpy(got, x, sizeof got, cudaMemcpyDeviceToHost));
    CHECK(cudaStreamDestroy(other));
    CHECK(cudaFree(x));
    printf("%d %d\n", got[0], got[1]);
    return 0;
}
