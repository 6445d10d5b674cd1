// rejected: race at line 12: each thread waits for its own copies alone
#include <cuda_pipeline.h>
#ifndef TPB
#define TPB 32
#endif

// Starts the copy of row[first], row[first + 1], … row[first + TPB + 1] to s, with 0 behind the row's end.
__device__ void start(float *s, const float *row, int first, int n)
{
    for (int j = threadIdx.x; j < TPB + 2; j += TPB) {
        if (first + j < n)
            __pipeline_memcpy_async(&s[j], &row[first + j], sizeof(float));
        else
            s[j] = 0;
    }
    __pipeline_commit();
}

__global__ void sums_along_rows(int m, int n, float *out, const float *a)
{
    __shared__ float s[2][TPB + 2];
    int t = threadIdx.x, r = blockIdx.x;

    start(s[0], a + r * n, 0, n);
    __pipeline_wait_prior(0);
    for (int p = 0, now = 0; p < n; p += TPB, now = 1 - now) {
        if (p + TPB < n)
            start(s[1 - now], a + r * n, p + TPB, n);
        if (p + t < n)
            out[r * n + p + t] = s[now][t] + s[now][t + 1] + s[now][t + 2];
        __pipeline_wait_prior(0);
    }
}
