// host-race: the main thread reads what a function of the stream reads, without waiting for the copy.
#include "app_check.h"

__global__ void square(int *x)
{
    x[threadIdx.x] *= x[threadIdx.x];
}

static int sums[2];

static void CUDART_CB add(void *user)
{
    for (int i = 0; i < 64; i++)
        sums[0] += ((int *)user)[i];
}

static void CUDART_CB add_again(cudaStream_t, cudaError_t status, void *user)
{
    for (int i = 0; i < 64 && status == cudaSuccess; i++)
        sums[1] += ((int *)user)[i];
}

int main(int argc, char **argv)
{
    int *x, *host, first = 0;
    cudaStream_t s;
    CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    CHECK(cudaMallocHost(&host, 64 * sizeof(int)));
    CHECK(cudaMalloc(&x, 64 * sizeof(int)));
    for (int i = 0; i < 64; i++)
        host[i] = i;
    CHECK(cudaMemcpyAsync(x, host, 64 * sizeof(int), cudaMemcpyHostToDevice, s));
    square<<<1, 64, 0, s>>>(x);
    CHECK(cudaMemcpyAsync(host, x, 64 * sizeof(int), cudaMemcpyDeviceToHost, s));
    CHECK(cudaLaunchHostFunc(s, add, host));
    CHECK(cudaStreamAddCallback(s, add_again, host, 0));
    if (is_broken(argc, argv))
        first = host[3];
    CHECK(cudaStreamSynchronize(s));
    first = host[3];
    CHECK(cudaStreamDestroy(s));
    CHECK(cudaFree(x));
    CHECK(cudaFreeHost(host));
    EXPECT(first == 9 && sums[0] == 85344 && sums[1] == 85344);
    return 0;
}
