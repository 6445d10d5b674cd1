// rejected: race at line 11: rows are cols elements long, so two of them overlap
#ifndef TPB
#define TPB 4
#endif

__global__ void map_2d(int rows, int cols, float *out, const float *a)
{
    int x = threadIdx.x, y = threadIdx.y;

    if (x < cols && y < rows)
        out[y * rows + x] = a[y * rows + x] + 10;
}
