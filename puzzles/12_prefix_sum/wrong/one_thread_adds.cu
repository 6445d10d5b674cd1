// rejected: f32: right values, one number after the other
#ifndef TPB
#define TPB 8
#endif

__global__ void prefix_sum(int n, float *out, const float *a)
{
    __shared__ float s[TPB];
    int t = threadIdx.x;

    s[t] = t < n ? a[t] : 0;
    __syncthreads();
    if (t == 0)
        for (int i = 1; i < TPB; i++)
            s[i] += s[i - 1];
    __syncthreads();
    if (t < n)
        out[t] = s[t];
}
