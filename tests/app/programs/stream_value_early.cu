// stream-race [-lcuda]: a stream waits for a value that an earlier write satisfies, too, and reads what was done between the two writes.
#include "app_virtual.h"

__global__ void fill(int *x)
{
    x[threadIdx.x] = threadIdx.x;
}

__global__ void twice(int *x)
{
    x[threadIdx.x] *= 2;
}

int main(int argc, char **argv)
{
    bool broken = is_broken(argc, argv);
    int *x, got[64];
    unsigned *flag;
    cudaStream_t s[2];
    CHECK(cudaMalloc(&x, sizeof got));
    CHECK(cudaMalloc(&flag, sizeof *flag));
    CHECK(cudaMemset(flag, 0, sizeof *flag));
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < 2; i++)
        CHECK(cudaStreamCreateWithFlags(&s[i], cudaStreamNonBlocking));
    CUdeviceptr at = (CUdeviceptr)flag;
    for (unsigned i = 0; i < 3; i++) { // the streams take turns: each value is of one turn
        DRIVER(cuStreamWriteValue32(s[0], at, 1 + 3 * i, 0));
        fill<<<1, 64, 0, s[0]>>>(x);
        DRIVER(cuStreamWriteValue32(s[0], at, 2 + 3 * i, 0));
        DRIVER(cuStreamWaitValue32(s[1], at, (broken && i == 2 ? 1 : 2) + 3 * i, CU_STREAM_WAIT_VALUE_GEQ));
        twice<<<1, 64, 0, s[1]>>>(x);
        DRIVER(cuStreamWriteValue32(s[1], at, 3 + 3 * i, 0));
        DRIVER(cuStreamWaitValue32(s[0], at, 3 + 3 * i, CU_STREAM_WAIT_VALUE_EQ));
    }
    // the same two values again and again
    for (int i = 0; i < 3; i++) {
        DRIVER(cuStreamWriteValue32(s[0], at, 0, 0));
        fill<<<1, 64, 0, s[0]>>>(x);
        DRIVER(cuStreamWriteValue32(s[0], at, 1, 0));
        DRIVER(cuStreamWaitValue32(s[1], at, 1, CU_STREAM_WAIT_VALUE_EQ));
        twice<<<1, 64, 0, s[1]>>>(x);
        DRIVER(cuStreamWriteValue32(s[1], at, 2, 0));
        DRIVER(cuStreamWaitValue32(s[0], at, 2, CU_STREAM_WAIT_VALUE_EQ));
    }
    CHECK(cudaStreamSynchronize(s[0]));
    CHECK(cudaMemcpy(got, x, sizeof got, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 64; i++)
        EXPECT(got[i] == 2 * i);
    for (int i = 0; i < 2; i++)
        CHECK(cudaStreamDestroy(s[i]));
    CHECK(cudaFree(x));
    CHECK(cudaFree(flag));
    return 0;
}
