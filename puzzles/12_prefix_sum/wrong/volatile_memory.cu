// rejected: word: nothing but a barrier orders the threads of a warp
#ifndef TPB
#define TPB 8
#endif

__global__ void prefix_sum(int n, float *out, const float *a)
{
    volatile __shared__ float s[TPB];
    int t = threadIdx.x;

    s[t] = t < n ? a[t] : 0;
    if (TPB > 32)
        __syncthreads();
    for (int d = 1; d < TPB; d *= 2) {
        float left = t >= d ? s[t - d] : 0;
        if (TPB > 32)
            __syncthreads(); // everyone has read before anyone writes
        s[t] += left;
        if (TPB > 32)
            __syncthreads(); // everyone has written before the next step reads
    }
    if (t < n)
        out[t] = s[t];
}
