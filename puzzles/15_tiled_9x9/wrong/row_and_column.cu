// rejected: values: thread.x runs down the rows of out
#ifndef TPB
#define TPB 3
#endif

__global__ void tiled(int n, float *out, const float *a, const float *b)
{
    __shared__ float as[TPB][TPB], bs[TPB][TPB];
    int x = threadIdx.x, y = threadIdx.y;
    int row = blockIdx.y * TPB + y, col = blockIdx.x * TPB + x;
    float acc = 0;

    for (int p = 0; p < n; p += TPB) {
        as[y][x] = a[row * n + p + x];
        bs[y][x] = b[(p + y) * n + col];
        __syncthreads(); // both tiles are written before anyone reads them
        for (int q = 0; q < TPB; q++)
            acc += as[y][q] * bs[q][x];
        __syncthreads(); // everyone has read them before the next step overwrites
    }
    out[col * n + row] = acc;
}
