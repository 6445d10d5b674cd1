// Puzzle 17, coalescing: transposes a matrix. This does it, with stores that go down columns.
#ifndef TPB
#define TPB 32
#endif

__global__ void transpose(int rows, int cols, float *out, const float *a)
{
    int x = threadIdx.x, y = threadIdx.y;
    int row = blockIdx.y * TPB + y, col = blockIdx.x * TPB + x;

    // Yours: go through a shared tile, so that the stores go along rows, too.
    if (row < rows && col < cols)
        out[col * rows + row] = a[row * cols + col];
}
