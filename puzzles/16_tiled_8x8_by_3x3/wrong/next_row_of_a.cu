// rejected: values with a hidden case: behind the end of a row it reads the next row, and a zero of b hides it
#ifndef TPB
#define TPB 3
#endif

__global__ void tiled_ragged(int n, float *out, const float *a, const float *b)
{
    __shared__ float as[TPB][TPB], bs[TPB][TPB];
    int x = threadIdx.x, y = threadIdx.y;
    int row = blockIdx.y * TPB + y, col = blockIdx.x * TPB + x;
    float acc = 0;

    for (int p = 0; p < n; p += TPB) {
        as[y][x] = row < n && row * n + p + x < n * n ? a[row * n + p + x] : 0;
        bs[y][x] = p + y < n && col < n ? b[(p + y) * n + col] : 0;
        __syncthreads();
        for (int q = 0; q < TPB; q++)
            acc += as[y][q] * bs[q][x];
        __syncthreads();
    }
    if (row < n && col < n)
        out[row * n + col] = acc;
}
