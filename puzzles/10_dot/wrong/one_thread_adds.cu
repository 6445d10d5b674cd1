// rejected: f32: right values, one number after the other
#ifndef TPB
#define TPB 8
#endif

__global__ void dot_product(int n, float *out, const float *a, const float *b)
{
    __shared__ float part[TPB];
    int t = threadIdx.x;

    part[t] = t < n ? a[t] * b[t] : 0; // past the end: 0 changes no sum
    __syncthreads();                   // all products are written before anyone reads one
    if (t == 0) {
        float total = 0;
        for (int i = 0; i < TPB; i++)
            total += part[i];
        out[0] = total;
    }
}
