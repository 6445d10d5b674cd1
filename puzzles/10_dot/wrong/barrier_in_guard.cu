// rejected: barrier at line 13: threads past the end wait at another barrier
#ifndef TPB
#define TPB 8
#endif

__global__ void dot_product(int n, float *out, const float *a, const float *b)
{
    __shared__ float part[TPB];
    int t = threadIdx.x;

    if (t < n) {
        part[t] = a[t] * b[t];
        __syncthreads();
    } else {
        part[t] = 0;
    }
    for (int half = TPB / 2; half > 0; half /= 2) {
        if (t < half)
            part[t] += part[t + half];
        __syncthreads(); // this step is written before the next one reads
    }
    if (t == 0)
        out[0] = part[0];
}
