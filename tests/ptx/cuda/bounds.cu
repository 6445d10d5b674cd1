// Launch bounds and several kernels in a file.
__global__ void __launch_bounds__(256, 2) first(float *x)
{
    x[threadIdx.x] *= 2;
}
__global__ void __launch_bounds__(1024) second(float *x)
{
    x[threadIdx.x] += 3;
}
extern "C" __global__ void __maxnreg__(40) third(float *x)
{
    x[threadIdx.x] -= x[threadIdx.x ^ 1];
}
static __global__ void fourth(float *x)
{
    x[0] = 4;
}
void *keep[] = {(void *)first, (void *)second, (void *)fourth};
