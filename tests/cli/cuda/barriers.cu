/* Barriers and shuffles that not all threads reach; for tests/cli/test_check_cuda.py. Stored PTX:
 * nvcc -ptx -lineinfo -O3 -arch=sm_80 -o barriers.ptx barriers.cu */

/* Warps meet at different barriers. */
__global__ void branches(float *a)
{
    __shared__ float s[64];
    int t = threadIdx.x;
    if (t < 32) {
        s[t] = a[t];
        __syncthreads();
        a[t] = s[63 - t];
    } else {
        s[t] = 2 * a[t];
        __syncthreads();
        a[t] = s[63 - t] + 1;
    }
}

/* Warp 1 leaves the loop one round before warp 0. */
__global__ void rounds(float *a, int n)
{
    int t = threadIdx.x;
    for (int i = t / 32; i < n; i++) {
        a[t + 64] += 1;
        __syncthreads();
    }
    a[t] = 2 * t;
    __syncthreads();
    a[t + 128] = a[t ^ 32];
}

/* Lanes 0 to 19 wait in the shuffle for lanes that wait at the barrier. */
__global__ void part_shuffles(float *a)
{
    int t = threadIdx.x;
    if (t < 20)
        a[t] += __shfl_down_sync(0xffffffffu, a[t], 4);
    __syncthreads();
    a[t] += 1;
}

/* Never ends if the step is 0. */
__global__ void spins(volatile int *out, int n, int step)
{
    for (int i = 0; i < n; i += step)
        *out = i * step;
}

__global__ void __launch_bounds__(256) bounded(float *a, int n)
{
    if (threadIdx.x < n)
        a[threadIdx.x] += 1;
}
