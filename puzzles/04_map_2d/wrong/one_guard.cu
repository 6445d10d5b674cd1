// rejected: bounds at line 11: x goes past the end of the row, into the next one or out of the matrix
#ifndef TPB
#define TPB 4
#endif

__global__ void map_2d(int rows, int cols, float *out, const float *a)
{
    int x = threadIdx.x, y = threadIdx.y;

    if (y < rows)
        out[y * cols + x] = a[y * cols + x] + 10;
}
