// rejected: global_sectors: right values; neighbouring threads go down a column
#ifndef TX
#define TX 3
#endif
#ifndef TY
#define TY 2
#endif

__global__ void blocks_2d(int rows, int cols, float *out, const float *a)
{
    int y = (blockIdx.y * gridDim.x + blockIdx.x) * TX * TY + threadIdx.y * TX + threadIdx.x;

    if (y < rows)
        for (int x = 0; x < cols; x++)
            out[y * cols + x] = a[y * cols + x] * 2;
}
