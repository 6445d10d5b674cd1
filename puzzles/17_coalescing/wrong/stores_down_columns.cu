// rejected: global_sectors at line 12: right values, a sector for each element that is stored
#ifndef TPB
#define TPB 32
#endif

__global__ void transpose(int rows, int cols, float *out, const float *a)
{
    int x = threadIdx.x, y = threadIdx.y;
    int row = blockIdx.y * TPB + y, col = blockIdx.x * TPB + x;

    if (row < rows && col < cols)
        out[col * rows + row] = a[row * cols + col];
}
