// rejected: barrier at line 19: threads past the end return and copy neither halo nor taps
#define K 5
#ifndef TPB
#define TPB 8
#endif

__global__ void convolution_1d(int n, float *out, const float *a, const float *b)
{
    __shared__ float piece[TPB + K - 1], taps[K];
    int t = threadIdx.x, i = blockIdx.x * TPB + t;

    if (i >= n)
        return;
    piece[t] = a[i];
    if (t < K - 1)               // … and the halo, by the first K - 1 threads
        piece[TPB + t] = i + TPB < n ? a[i + TPB] : 0;
    if (t < K)
        taps[t] = b[t];
    __syncthreads();
    if (i < n) {
        float total = 0;
        for (int j = 0; j < K; j++)
            total += piece[t + j] * taps[j];
        out[i] = total;
    }
}
