// rejected: bounds at line 11: down has an element for each row, not for each column
#ifndef TPB
#define TPB 4
#endif

__global__ void times_table(int rows, int cols, float *out, const float *down, const float *across)
{
    int x = threadIdx.x, y = threadIdx.y;

    if (x < cols && y < rows)
        out[y * cols + x] = down[x] * across[y];
}
