// stream-race [-lcuda]: a stream writes the value that another one waits for before its kernel, not after it.
#include "app_virtual.h"

__global__ void fill(int *x)
{
    x[threadIdx.x] = threadIdx.x;
}

__global__ void twice(int *x, unsigned *ready)
{
    x[threadIdx.x] *= 2;
    __threadfence_system();
    __syncthreads();
    if (threadIdx.x == 0)
        atomicExch_system(ready, 8u);
}

__global__ void add_one(int *x)
{
    x[threadIdx.x] += 1;
}

int main(int argc, char **argv)
{
    bool broken = is_broken(argc, argv);
    int *x, got[64];
    unsigned *flag;
    cudaStream_t s[3];
    CHECK(cudaMalloc(&x, sizeof got));
    CHECK(cudaMalloc(&flag, 4 * sizeof *flag));
    CHECK(cudaMemset(flag, 0, 4 * sizeof *flag));
    CHECK(cudaDeviceSynchronize());
    make_streams(s, 3);
    CUdeviceptr at = (CUdeviceptr)flag;
    if (broken)
        DRIVER(cuStreamWriteValue32(s[0], at, 3, 0));
    fill<<<1, 64, 0, s[0]>>>(x);
    if (!broken)
        DRIVER(cuStreamWriteValue32(s[0], at, 3, 0));
    DRIVER(cuStreamWaitValue32(s[1], at, 2, CU_STREAM_WAIT_VALUE_GEQ));
    twice<<<1, 64, 0, s[1]>>>(x, flag);
    // the kernel's own value, then two values in one call
    CUstreamBatchMemOpParams batch[2] = {};
    batch[0].waitValue.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
    batch[0].waitValue.address = at;
    batch[0].waitValue.value = 8;
    batch[0].waitValue.flags = CU_STREAM_WAIT_VALUE_AND;
    batch[1].writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_64;
    batch[1].writeValue.address = at + 8;
    batch[1].writeValue.value64 = 1ull << 40;
    DRIVER(cuStreamBatchMemOp(s[2], 2, batch, 0));
    add_one<<<1, 64, 0, s[2]>>>(x);
    DRIVER(cuStreamWaitValue64(s[0], at + 8, 1ull << 40, CU_STREAM_WAIT_VALUE_EQ));
    CHECK(cudaStreamSynchronize(s[2]));
    CHECK(cudaMemcpy(got, x, sizeof got, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 64; i++)
        EXPECT(got[i] == 2 * i + 1);
    destroy_streams(s, 3);
    CHECK(cudaFree(x));
    CHECK(cudaFree(flag));
    return 0;
}
