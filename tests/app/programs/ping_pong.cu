// stream-race: two streams take turns on a buffer; the one that fills it again does not wait until the other has read it.
#include "app_check.h"

__global__ void produce(int *x, int round)
{
    x[threadIdx.x] = round + threadIdx.x;
}

__global__ void consume(const int *x, int *sums, int round)
{
    atomicAdd(&sums[round], x[threadIdx.x]);
}

int main(int argc, char **argv)
{
    bool broken = is_broken(argc, argv);
    int *x, *sums, got[4];
    cudaStream_t from, to;
    cudaEvent_t full, empty;
    CHECK(cudaMalloc(&x, 64 * sizeof(int)));
    CHECK(cudaMalloc(&sums, sizeof got));
    CHECK(cudaMemset(sums, 0, sizeof got));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaStreamCreateWithFlags(&from, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&to, cudaStreamNonBlocking));
    CHECK(cudaEventCreate(&full));
    CHECK(cudaEventCreate(&empty));
    for (int round = 0; round < 4; round++) {
        if (round && !broken)
            CHECK(cudaStreamWaitEvent(from, empty));
        produce<<<1, 64, 0, from>>>(x, round);
        CHECK(cudaEventRecord(full, from));
        CHECK(cudaStreamWaitEvent(to, full));
        consume<<<1, 64, 0, to>>>(x, sums, round);
        CHECK(cudaEventRecord(empty, to));
    }
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(got, sums, sizeof got, cudaMemcpyDeviceToHost));
    printf("%d %d\n", got[0], got[3]);
    CHECK(cudaEventDestroy(full));
    CHECK(cudaEventDestroy(empty));
    CHECK(cudaStreamDestroy(from));
    CHECK(cudaStreamDestroy(to));
    CHECK(cudaFree(x));
    CHECK(cudaFree(sums));
    return 0;
}
