// rejected: race at line 14 with a hidden case: __syncwarp() orders one warp, and the shown blocks are no more
#ifndef TPB
#define TPB 8
#endif

__global__ void prefix_sum(int n, float *out, const float *a)
{
    __shared__ float s[TPB];
    int t = threadIdx.x;

    s[t] = t < n ? a[t] : 0;
    __syncwarp();
    for (int d = 1; d < TPB; d *= 2) {
        float left = t >= d ? s[t - d] : 0;
        __syncwarp();
        s[t] += left;
        __syncwarp();
    }
    if (t < n)
        out[t] = s[t];
}
