// Puzzle 16, ragged tiles: the tiled product for matrices of any size.
#ifndef TPB
#define TPB 3 // blocks and tiles are TPB × TPB; the judge tries other values too
#endif

__global__ void tiled_ragged(int n, float *out, const float *a, const float *b)
{
    __shared__ float as[TPB][TPB], bs[TPB][TPB];
    int x = threadIdx.x, y = threadIdx.y;
    int row = blockIdx.y * TPB + y, col = blockIdx.x * TPB + x; // n is any size
    float acc = 0;

    // Yours: the steps of puzzle 15, with guards and zeros.

    // Yours: the store, guarded.
}
