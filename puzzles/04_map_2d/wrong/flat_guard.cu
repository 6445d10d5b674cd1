// rejected: race at line 12: right values; the threads right of a row do elements of the next row again
#ifndef TPB
#define TPB 4
#endif

__global__ void map_2d(int rows, int cols, float *out, const float *a)
{
    int x = threadIdx.x, y = threadIdx.y;

    int i = y * cols + x;
    if (i < rows * cols)
        out[i] = a[i] + 10;
}
