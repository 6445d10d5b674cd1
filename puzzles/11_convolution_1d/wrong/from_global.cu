// rejected: global_loads at line 15: each element is read five times
#define K 5
#ifndef TPB
#define TPB 8
#endif

__global__ void convolution_1d(int n, float *out, const float *a, const float *b)
{
    int t = threadIdx.x, i = blockIdx.x * TPB + t;

    if (i < n) {
        float total = 0;
        for (int j = 0; j < K; j++)
            if (i + j < n)
                total += a[i + j] * b[j];
        out[i] = total;
    }
}
