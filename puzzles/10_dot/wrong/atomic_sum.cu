// rejected: shared_atomics: right values, added up one after the other
#ifndef TPB
#define TPB 8
#endif

__global__ void dot_product(int n, float *out, const float *a, const float *b)
{
    __shared__ float sum;
    int t = threadIdx.x;

    if (t == 0)
        sum = 0;
    __syncthreads();
    if (t < n)
        atomicAdd(&sum, a[t] * b[t]);
    __syncthreads();
    if (t == 0)
        out[0] = sum;
}
