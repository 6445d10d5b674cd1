// stream-race: two threads of the host launch in streams of their own, and their kernels use one array.
#include "app_check.h"

#include <thread>

__global__ void add(int *x, int value)
{
    x[blockIdx.x * blockDim.x + threadIdx.x] += value;
}

static void work(int *x, int value)
{
    cudaStream_t s;
    CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    for (int i = 0; i < 5; i++)
        add<<<2, 64, 0, s>>>(x, value);
    CHECK(cudaGetLastError());
    CHECK(cudaStreamDestroy(s)); // its work goes on
}

int main(int argc, char **argv)
{
    int *x, got[256];
    CHECK(cudaMalloc(&x, sizeof got));
    CHECK(cudaMemset(x, 0, sizeof got));
    CHECK(cudaDeviceSynchronize());
    std::thread one(work, x, 1), two(work, is_broken(argc, argv) ? x : x + 128, 2);
    one.join();
    two.join();
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(got, x, sizeof got, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(x));
    EXPECT(is_broken(argc, argv) || (got[0] == 5 && got[200] == 10));
    return 0;
}
