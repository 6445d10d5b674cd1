// Barriers in memory, as PTX 7 had them.
#include <cuda_awbarrier_primitives.h>
extern "C" __global__ void mbarriers(int *x)
{
    __shared__ __mbarrier_t bar;
    if (threadIdx.x == 0)
        __mbarrier_init(&bar, blockDim.x);
    __syncthreads();
    __mbarrier_token_t token = __mbarrier_arrive(&bar);
    while (!__mbarrier_test_wait(&bar, token))
        ;
    x[threadIdx.x] = (int)__mbarrier_token_pending_count(__mbarrier_arrive_and_drop(&bar));
}
