// rejected: race at line 15: a place is written while a neighbour reads it
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
        if (t >= d)
            s[t] += s[t - d];
        __syncthreads(); // everyone has written before the next step reads
    }
    if (t < n)
        out[t] = s[t];
}
