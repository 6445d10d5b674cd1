// rejected: bounds at line 19: threads past the end store too
#ifndef TPB
#define TPB 8
#endif

__global__ void prefix_sum(int n, float *out, const float *a)
{
    __shared__ float s[TPB];
    int t = threadIdx.x;

    s[t] = t < n ? a[t] : 0;
    __syncthreads();
    for (int d = 1; d < TPB; d *= 2) {
        float left = t >= d ? s[t - d] : 0;
        __syncthreads(); // everyone has read before anyone writes
        s[t] += left;
        __syncthreads(); // everyone has written before the next step reads
    }
    out[t] = s[t];
}
