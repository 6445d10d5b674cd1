// rejected: bounds at line 13: copies from behind the end of a
#include <cuda_pipeline.h>
#ifndef TPB
#define TPB 32
#endif

__global__ void sums_of_three(int n, float *out, const float *a)
{
    __shared__ float s[TPB + 2];
    int t = threadIdx.x, first = blockIdx.x * TPB, i = first + t;

    for (int j = t; j < TPB + 2; j += TPB) {
        __pipeline_memcpy_async(&s[j], &a[first + j], sizeof(float));
    }
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    if (i < n)
        out[i] = s[t] + s[t + 1] + s[t + 2];
}
