// rejected: word: nothing but a barrier orders the threads of a warp
#ifndef TPB
#define TPB 8
#endif

__global__ void dot_product(int n, float *out, const float *a, const float *b)
{
    volatile __shared__ float part[TPB];
    int t = threadIdx.x;

    part[t] = t < n ? a[t] * b[t] : 0; // past the end: 0 changes no sum
    __syncthreads();                   // all products are written before anyone reads one
    for (int half = TPB / 2; half > 0; half /= 2) {
        if (t < half)
            part[t] += part[t + half];
        if (half > 32)
            __syncthreads(); // this step is written before the next one reads
    }
    if (t == 0)
        out[0] = part[0];
}
