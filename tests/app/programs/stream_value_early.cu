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

// The first stream writes the value `begun`, fills the array and writes the next value; the second one waits for `awaited`, doubles the array and writes
// the value after that.
static void take_turns(const cudaStream_t s[2], int *x, CUdeviceptr at, unsigned begun, unsigned awaited, unsigned how)
{
    DRIVER(cuStreamWriteValue32(s[0], at, begun, 0));
    fill<<<1, 64, 0, s[0]>>>(x);
    DRIVER(cuStreamWriteValue32(s[0], at, begun + 1, 0));
    DRIVER(cuStreamWaitValue32(s[1], at, awaited, how));
    twice<<<1, 64, 0, s[1]>>>(x);
    DRIVER(cuStreamWriteValue32(s[1], at, begun + 2, 0));
    DRIVER(cuStreamWaitValue32(s[0], at, begun + 2, CU_STREAM_WAIT_VALUE_EQ));
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
    make_streams(s, 2);
    CUdeviceptr at = (CUdeviceptr)flag;
    for (unsigned i = 0; i < 3; i++) // each value is of one turn
        take_turns(s, x, at, 1 + 3 * i, (broken && i == 2 ? 1 : 2) + 3 * i, CU_STREAM_WAIT_VALUE_GEQ);
    for (int i = 0; i < 3; i++) // the same values again and again
        take_turns(s, x, at, 0, 1, CU_STREAM_WAIT_VALUE_EQ);
    CHECK(cudaStreamSynchronize(s[0]));
    CHECK(cudaMemcpy(got, x, sizeof got, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 64; i++)
        EXPECT(got[i] == 2 * i);
    destroy_streams(s, 2);
    CHECK(cudaFree(x));
    CHECK(cudaFree(flag));
    return 0;
}
