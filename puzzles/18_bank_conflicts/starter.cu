// Puzzle 18, bank conflicts: a times b transposed. One access takes 32 wavefronts.
#ifndef TPB
#define TPB 32
#endif

__global__ void product_nt(int m, int n, int k, float *out, const float *a, const float *b)
{
    __shared__ float as[TPB][TPB], bs[TPB][TPB];
    int x = threadIdx.x, y = threadIdx.y;
    int row = blockIdx.y * TPB + y, col = blockIdx.x * TPB + x;
    float acc = 0;

    // Yours: the same without conflicts.
    for (int p = 0; p < k; p += TPB) {
        int line = blockIdx.x * TPB + y; // the row of b that this thread copies from
        as[y][x] = row < m && p + x < k ? a[row * k + p + x] : 0;
        bs[y][x] = line < n && p + x < k ? b[line * k + p + x] : 0;
        __syncthreads();
        for (int q = 0; q < TPB; q++)
            acc += as[y][q] * bs[x][q];
        __syncthreads();
    }
    if (row < m && col < n)
        out[row * n + col] = acc;
}
