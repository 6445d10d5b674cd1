// stream-race: a copy in one stream reads what a kernel in another still writes: the event is recorded too early.
#include "app_check.h"

__global__ void square(int *x)
{
    x[threadIdx.x] *= x[threadIdx.x];
}

int main(int argc, char **argv)
{
    bool broken = is_broken(argc, argv);
    int *x, *host;
    cudaStream_t work, copies;
    cudaEvent_t done;
    CHECK(cudaMalloc(&x, 32 * sizeof(int)));
    CHECK(cudaMallocHost(&host, 32 * sizeof(int)));
    CHECK(cudaStreamCreateWithFlags(&work, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&copies, cudaStreamNonBlocking));
    CHECK(cudaEventCreate(&done));
    for (int i = 0; i < 32; i++)
        host[i] = i;
    CHECK(cudaMemcpyAsync(x, host, 32 * sizeof(int), cudaMemcpyHostToDevice, work));
    if (broken)
        CHECK(cudaEventRecord(done, work));
    square<<<1, 32, 0, work>>>(x);
    if (!broken)
        CHECK(cudaEventRecord(done, work));
    CHECK(cudaStreamWaitEvent(copies, done));
    CHECK(cudaMemcpyAsync(host, x, 32 * sizeof(int), cudaMemcpyDeviceToHost, copies));
    CHECK(cudaStreamSynchronize(copies));
    printf("%d\n", host[31]);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaEventDestroy(done));
    CHECK(cudaStreamDestroy(work));
    CHECK(cudaStreamDestroy(copies));
    CHECK(cudaFree(x));
    CHECK(cudaFreeHost(host));
    return 0;
}
