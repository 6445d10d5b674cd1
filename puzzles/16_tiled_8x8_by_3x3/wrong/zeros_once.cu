// rejected: values with a shown case: the last tiles keep what the step before left there
#ifndef TPB
#define TPB 3
#endif

__global__ void tiled_ragged(int n, float *out, const float *a, const float *b)
{
    __shared__ float as[TPB][TPB], bs[TPB][TPB];
    int x = threadIdx.x, y = threadIdx.y;
    int row = blockIdx.y * TPB + y, col = blockIdx.x * TPB + x;
    float acc = 0;

    as[y][x] = 0;
    bs[y][x] = 0;
    for (int p = 0; p < n; p += TPB) {
        if (row < n && p + x < n)
            as[y][x] = a[row * n + p + x];
        if (p + y < n && col < n)
            bs[y][x] = b[(p + y) * n + col];
        __syncthreads();
        for (int q = 0; q < TPB; q++)
            acc += as[y][q] * bs[q][x];
        __syncthreads();
    }
    if (row < n && col < n)
        out[row * n + col] = acc;
}
