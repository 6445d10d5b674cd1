// deadlock [-lcuda]: a stream waits for a value that the host never writes; in the clean one another thread of the host writes it.
#include "app_virtual.h"

#include <thread>

int main(int argc, char **argv)
{
    bool broken = is_broken(argc, argv);
    volatile unsigned *flag;
    cudaStream_t s;
    CHECK(cudaStreamCreate(&s));
    CHECK(cudaMallocHost((void **)&flag, sizeof *flag));
    *flag = 0;
    std::thread other;
    if (!broken)
        other = std::thread([flag] { *flag = 5; });
    CUresult result = cuStreamWaitValue32(s, (CUdeviceptr)flag, 5, CU_STREAM_WAIT_VALUE_EQ);
    if (broken)
        return result == CUDA_SUCCESS;
    EXPECT(result == CUDA_SUCCESS);
    other.join();
    CHECK(cudaStreamSynchronize(s));
    CHECK(cudaFreeHost((void *)flag));
    CHECK(cudaStreamDestroy(s));
    return 0;
}
