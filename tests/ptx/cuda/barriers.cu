// Barriers that count, and fences.
extern "C" __global__ void barriers(const int *x, int *y, volatile int *flag)
{
    y[0] = __syncthreads_count(x[threadIdx.x] > 0);
    y[1] = __syncthreads_and(x[threadIdx.x] > 1);
    y[2] = __syncthreads_or(x[threadIdx.x] > 2);
    y[3] = threadIdx.x;
    __threadfence();
    flag[0] = 1;
    __threadfence_block();
    __threadfence_system();
    while (flag[1] == 0)
        __nanosleep(100);
    if (x[5])
        __trap();
}
