// rejected: global_sectors with a hidden case: right values; neighbouring threads go down a column
#ifndef TPB
#define TPB 4
#endif

__global__ void map_2d(int rows, int cols, float *out, const float *a)
{
    int x = threadIdx.y, y = threadIdx.x;

    if (x < cols && y < rows)
        out[y * cols + x] = a[y * cols + x] + 10;
}
