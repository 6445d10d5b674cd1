// host-race: the host reads pinned memory that a kernel writes, without a look at the flag that the kernel sets afterwards.
#include "app_check.h"

__global__ void compute(int *data, volatile int *flag)
{
    data[threadIdx.x] = 3 * threadIdx.x;
    __threadfence_system();
    __syncthreads();
    if (threadIdx.x == 0)
        *flag = 1;
}

int main(int argc, char **argv)
{
    int *data;
    volatile int *flag;
    CHECK(cudaMallocHost(&data, 32 * sizeof(int)));
    CHECK(cudaMallocHost((void **)&flag, sizeof(int)));
    *flag = 0;
    compute<<<1, 32>>>(data, flag);
    if (!is_broken(argc, argv))
        while (!*flag)
            ;
    printf("%d\n", data[31]);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFreeHost(data));
    CHECK(cudaFreeHost((void *)flag));
    return 0;
}
