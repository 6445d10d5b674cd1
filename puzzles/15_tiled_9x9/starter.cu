// Puzzle 15, tiled matmul: each block computes a tile of out, in steps.
#ifndef TPB
#define TPB 3 // blocks and tiles are TPB × TPB; the judge tries other values too
#endif

__global__ void tiled(int n, float *out, const float *a, const float *b)
{
    __shared__ float as[TPB][TPB], bs[TPB][TPB];
    int x = threadIdx.x, y = threadIdx.y;
    int row = blockIdx.y * TPB + y, col = blockIdx.x * TPB + x; // n is a multiple of TPB
    float acc = 0;

    // Yours: the steps. In each: copy two tiles, wait, multiply, wait.

    out[row * n + col] = acc;
}
