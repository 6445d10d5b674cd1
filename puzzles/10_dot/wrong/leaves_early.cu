// rejected: barrier at line 14: threads past the end return, their places stay unwritten
#ifndef TPB
#define TPB 8
#endif

__global__ void dot_product(int n, float *out, const float *a, const float *b)
{
    __shared__ float part[TPB];
    int t = threadIdx.x;

    if (t >= n)
        return;
    part[t] = a[t] * b[t];
    __syncthreads();                   // all products are written before anyone reads one
    for (int half = TPB / 2; half > 0; half /= 2) {
        if (t < half)
            part[t] += part[t + half];
        __syncthreads(); // this step is written before the next one reads
    }
    if (t == 0)
        out[0] = part[0];
}
